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

"""Huginn, as an adapter for mould.py."""

from dataclasses import replace

from mould import Adapter, Peer

from xplane_bridge.bridges.fdmdata import protocol as fdmdata
from xplane_bridge.bridges.fdmdata.protocol import Command
from xplane_bridge.bridges.fdmdata.session import (
    CONTROLS_CHANNEL,
    FdmdataSession,
    PollEntry,
    Telemetry,
)
from xplane_bridge.bridges.protocols.errors import ProtocolError

SCALE = 10_000
SURFACES = ('aileron', 'elevator', 'rudder')
REPLIES = {
    Command.GPS: fdmdata.GpsReply, Command.ACCELEROMETER: fdmdata.AccelerometerReply,
    Command.GYROSCOPE: fdmdata.GyroscopeReply, Command.MAGNETOMETER: fdmdata.MagnetometerReply,
    Command.THERMOMETER: fdmdata.ThermometerReply, Command.PITOT_TUBE: fdmdata.PitotTubeReply,
    Command.STATIC_PRESSURE: fdmdata.StaticPressureReply, Command.INS: fdmdata.InsReply}
PLAN = {
    'gps': PollEntry((Command.GPS,), 5.0),
    'imu': PollEntry((Command.ACCELEROMETER, Command.GYROSCOPE, Command.INS), 10.0),
    'air': PollEntry((Command.THERMOMETER, Command.PITOT_TUBE, Command.STATIC_PRESSURE), 2.0)}


class Huginn(Peer):
    """Answer each request at once; hold the controls. Each run begins at another position."""

    def __init__(self, version, started):
        super().__init__(version, started, dict.fromkeys(SURFACES, 0.0))
        self._replies = []

    def receive(self, channel, data, now):
        """Apply controls, or answer a request."""
        if channel == CONTROLS_CHANNEL:
            controls = fdmdata.decode(data, 'bridge')
            for name in SURFACES:
                self.cells.write(name, getattr(controls, name))
            return
        try:
            command = fdmdata.decode(data, 'bridge').command
        except ProtocolError:
            command = None
        if command is None or command.name.lower() in self.hidden:
            reply = fdmdata.ErrorReply()
        else:
            kind = REPLIES[command]
            reply = kind(*[(now - self.started) % 80.0 + 1.0 for _ in kind.__slots__])
            if command in (Command.GPS, Command.INS):
                reply = replace(
                    reply, latitude=47.0, longitude=self.started % 90.0, altitude=600.0)
        self._replies.append((channel, fdmdata.encode(reply)))

    def frame(self, now):
        """Return the replies."""
        replies, self._replies = self._replies, []
        return replies


class FdmdataAdapter(Adapter):
    """FDMData: polled, with all controls in one datagram."""

    commands = (
        lambda session, number, now: session.set_controls(
            {'aileron': number / SCALE, 'throttle': 0.5}, now),
        lambda session, number, now: session.set_controls(
            {'elevator': number / SCALE, 'throttle': 0.5}, now),
    )
    others = (('aileron', -0.25), ('rudder', -0.5))
    optional = ('thermometer', 'gyroscope', 'gps')
    # Only its position, which is polled twice per second, tells another run of Huginn.
    settling_takes = 1.0
    # Silence counts as another run too, and so may a bad link.
    known_dead_for = known_lossy_for = 1.0
    repeats = True
    musts = {
        'neutral': (lambda session, now: session.centre(now), dict.fromkeys(SURFACES)),
        'stop': (lambda session, now: session.stop(now), dict.fromkeys(SURFACES))}

    def take_all(self, session, now):
        """Deflect all surfaces."""
        session.set_controls(
            {'aileron': 0.25, 'elevator': 0.5, 'rudder': -0.5, 'throttle': 0.75}, now)

    def make_session(self):
        """Return a session that asks for three groups of sensors."""
        return FdmdataSession()

    def start(self, session, now):
        """Ask for three groups of sensors."""
        session.set_plan(PLAN, now)
        session.start(now)

    def make_peer(self, version, started):
        """Return a Huginn."""
        return Huginn(version, started)

    def numbers_in(self, data):
        """Return the numbers in a datagram of controls."""
        if len(data) != 16:
            return []
        controls = fdmdata.decode(data, 'bridge')
        return [round(value * SCALE) for value in (controls.aileron, controls.elevator)
                if value > 0.0]

    def wanted(self, peer):
        """Return all sensors of the plan."""
        return {command.name.lower() for wanted in PLAN.values() for command in wanted.commands}

    def values_in(self, event):
        """Return the sensors of a sample."""
        return ([command.name.lower() for command in event.values]
                if isinstance(event, Telemetry) else [])

    def release(self, session, now):
        """Centre the surfaces."""
        session.centre(now)

    def missing(self, session, now):
        """Return the sensors that the session reports as missing."""
        return session.missing(now)

    def neutral(self, name, before):
        """Return 0: Huginn has nobody to hand the controls back to."""
        return 0.0
