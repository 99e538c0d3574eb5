# Copyright 2026 xplane_bridge contributors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Peers that say something else each time, but always as much: for counting what it costs."""

from fake_xpc import Plugin

from xplane_bridge.bridges.conversions.xplane import levers
from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.fdmdata import protocol as fdmdata
from xplane_bridge.bridges.fdmdata.protocol import Command
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xplane_udp import protocol as wire

LAT, LON, HEIGHT = 47.5, 11.25, 500.0
XPLANE = ('127.0.0.1', 49000)
_SAID = {
    xplane.LATITUDE: LAT, xplane.LONGITUDE: LON, xplane.PAUSED: 0.0,
    'sim/flightmodel/position/lat_ref': 47.0, 'sim/flightmodel/position/lon_ref': 11.0,
    'sim/flightmodel/position/local_vx': 60.0, 'sim/flightmodel/failures/onground_any': 0.0,
    'sim/weather/aircraft/barometer_current_pas': 95_000.0, levers.ENGINE_COUNT: 1.0,
    'sim/version/xplane_internal_version': 121001.0}
_REPLIES = {
    Command.GPS: fdmdata.GpsReply, Command.ACCELEROMETER: fdmdata.AccelerometerReply,
    Command.GYROSCOPE: fdmdata.GyroscopeReply, Command.MAGNETOMETER: fdmdata.MagnetometerReply,
    Command.THERMOMETER: fdmdata.ThermometerReply, Command.PITOT_TUBE: fdmdata.PitotTubeReply,
    Command.STATIC_PRESSURE: fdmdata.StaticPressureReply, Command.INS: fdmdata.InsReply}


def _value(name, now):
    """Return a dataref: time and height change."""
    return {xplane.TIME: now, xplane.ELEVATION: HEIGHT + now}.get(name, _SAID.get(name, 1.0))


class SteadyPlugin(Plugin):
    """X-Plane Connect: answers at once; ``now`` is X-Plane's running time."""

    now = 0.0

    def __init__(self):
        super().__init__()
        self.commands = 0

    def place(self, aircraft):
        """Return where the aircraft is."""
        return LAT, LON, HEIGHT + self.now

    def read(self, name):
        """Return a dataref."""
        return (0.5,) * 8 if name in levers.ENGINES.values() else (_value(name, self.now),)

    def obey(self, request, data):
        """Count controls."""
        self.commands += isinstance(request, xpc.SetControls)


class SteadyXPlane:
    """X-Plane 12: sends what was requested, all of it with each frame."""

    def __init__(self):
        self.commands = 0
        self._asked, self._poses = {}, set()

    def take(self, channel, data):
        """Take a request or a command."""
        message = wire.decode(data, 'bridge', 12)
        if isinstance(message, wire.RrefRequest):
            self._asked[channel, message.index] = message.dataref
        elif isinstance(message, wire.RposRequest):
            self._poses.add(channel)
        elif isinstance(message, wire.Dref):
            self.commands += 1

    def frame(self, now):
        """Return what is sent, by channel."""
        sent = [(channel, wire.encode(wire.RposReply(
            lon=LON, lat=LAT, ele_m=HEIGHT + now, agl_m=100.0, pitch_deg=2.0,
            heading_true_deg=90.0, roll_deg=0.0, v_east=60.0, v_up=0.0, v_south=0.0, p_rad_s=0.0,
            q_rad_s=0.0, r_rad_s=0.0), 12)) for channel in self._poses]
        values = {}
        for (channel, index), name in self._asked.items():
            values.setdefault(channel, []).append((index, _value(name, now)))
        return sent + [(channel, wire.encode(wire.RrefReply(tuple(pairs)), 12))
                       for channel, pairs in values.items()]


def huginn_reply(data, now):
    """Return Huginn's reply to a request, b'' to controls."""
    message = fdmdata.decode(data, 'bridge')
    if not isinstance(message, fdmdata.SensorRequest):
        return b''
    kind = _REPLIES[message.command]
    # So slowly that it is no jump, as that of a Huginn that was restarted.
    return fdmdata.encode(kind(*[1.0 + 1e-4 * now for _ in kind.__slots__]))
