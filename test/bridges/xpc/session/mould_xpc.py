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

"""X-Plane with the X-Plane Connect plugin, as an adapter for mould.py."""

from fake_xpc import BEACON, Plugin
from mould import Adapter, Peer

from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.protocol import SimulationOp
from xplane_bridge.bridges.xpc.session import (
    BEACON_CHANNEL,
    Polled,
    Telemetry,
    WatchedDatarefs,
    XpcSession,
)

SCALE = 10_000
NUMBER = 'test/number'
TIME = 'sim/time/total_running_time_sec'
HELD = 'sim/operation/override/override_planepath'
JOYSTICK = 'sim/operation/override/override_joystick'
BRAKES = 'sim/operation/override/override_toe_brakes'
THROTTLE = 'sim/flightmodel/engine/ENGN_thro_override'
PLACE = tuple(f'sim/flightmodel/position/{name}' for name in (
    'latitude', 'longitude', 'elevation'))
STATE = (*PLACE, TIME, 'test/roll', 'test/airspeed')
WATCHED = ('test/one', 'test/two', 'test/array')
SURFACES = ('elevator', 'aileron', 'rudder')
OWN_YOKES = {f'sim/joystick/yoke_{axis}_ratio': f'{surface} of 0' for axis, surface in zip(
    ('pitch', 'roll', 'heading'), SURFACES, strict=True)}
YOKES = {'yolk_pitch': 'elevator', 'yolk_roll': 'aileron', 'yolk_yaw': 'rudder'}
OTHER = 'sim/multiplayer/position/plane3_'
AIRCRAFT = (0, 3)
PER_FRAME = 20


def pause(number):
    """Return the name of the cell that says whether an aircraft is paused."""
    return f'pause of {number}'


class CellPlugin(Plugin, Peer):
    """Answer once per frame, at most 20 datagrams; keep surfaces, overrides, pauses and text."""

    def __init__(self, version, started):
        cells = {f'{surface} of {number}': 0.0 for surface in SURFACES for number in AIRCRAFT}
        cells |= {pause(number): 0.0 for number in range(xpc.AIRCRAFT_COUNT)}
        Plugin.__init__(self)
        Peer.__init__(self, version, started, {
            **cells, JOYSTICK: 0.0, BRAKES: 0.0, THROTTLE: -2.0, 'text': ''})
        self.plugin_version = version
        self._now = started
        self._requests = []
        self._beacon_at = started + 1.0

    def receive(self, channel, data, now):
        """Keep the datagram for the next frame."""
        self._requests.append((channel, data))

    def frame(self, now):
        """Handle the datagrams received; any after the 20th are lost."""
        self._now = now
        replies = [
            (channel, reply) for channel, data in self._requests[:PER_FRAME]
            if (reply := self.answer(data))]
        self._requests.clear()
        if self.version != '1.2.1' and now >= self._beacon_at:
            self._beacon_at += 1.0
            replies.append((BEACON_CHANNEL, BEACON))
        return replies

    def obey(self, request, data):
        """Apply a command's writes."""
        if isinstance(request, xpc.SetControls):
            self._control(request)
        elif isinstance(request, xpc.SetDatarefs):
            for name, values in request.items:
                self._write(name, values)
        elif isinstance(request, xpc.Text):
            self.cells.write('text', request.text)
        elif isinstance(request, xpc.Simulation):
            self._pause(request.op)

    def read(self, name):
        """Return the value of a cell."""
        if name in self.hidden:
            return ()
        if name == TIME:
            return (self._now - self.started,)
        if name == HELD:
            return tuple(self.cells.values[pause(n)] for n in range(xpc.AIRCRAFT_COUNT))
        if name in OWN_YOKES or name.startswith(OTHER + 'yolk'):
            name = OWN_YOKES.get(name) or f'{YOKES[name.removeprefix(OTHER)]} of 3'
        if name in self.cells.values:
            return (self.cells.values[name],)
        places = dict(zip(PLACE, self.place(0), strict=True))
        return (places.get(name, 1.0),)

    def _write(self, name, values):
        if name == HELD:
            for number, value in enumerate(values):
                if value != self.cells.values[pause(number)]:
                    self.cells.write(pause(number), value)
        elif name in self.cells.values:
            self.cells.write(name, values[0])
        elif name.startswith(OTHER + 'yolk'):
            self.cells.write(f'{YOKES[name.removeprefix(OTHER)]} of 3', values[0])

    def _control(self, controls):
        for surface in SURFACES:
            value = getattr(controls, surface)
            if value is not None:
                self.cells.write(f'{surface} of {controls.aircraft}', value)
        if controls.throttle is not None and controls.aircraft == 0:
            self.cells.write(THROTTLE, controls.throttle)

    def _pause(self, op):
        if op > SimulationOp.TOGGLE and self.version == '1.2.1':
            return
        if op in (SimulationOp.RUN, SimulationOp.PAUSE):
            numbers = range(xpc.AIRCRAFT_COUNT)
        else:
            numbers = [op - (SimulationOp.PAUSE_AIRCRAFT if op < SimulationOp.RUN_AIRCRAFT
                             else SimulationOp.RUN_AIRCRAFT)]
        for number in numbers:
            if op == SimulationOp.RUN or op >= SimulationOp.RUN_AIRCRAFT:
                self.cells.let_go(pause(number), 0.0)
            else:
                self.cells.write(pause(number), 1.0)


def all_pauses(value):
    """Return the cells of all pauses with one value."""
    return {pause(number): value for number in range(xpc.AIRCRAFT_COUNT)}


# What take_all() takes, and what becomes of it; a text cannot be seen.
TAKEN = {'elevator of 0': None, 'elevator of 3': None, THROTTLE: None, JOYSTICK: None,
         **all_pauses(None)}


class XpcAdapter(Adapter):
    """X-Plane Connect: polled, with commands on a budget."""

    versions = ('rc6', 'rc5', '1.2.1')
    channels = (BEACON_CHANNEL,)
    commands = (
        lambda s, n, now: s.send(xpc.SetDatarefs(((NUMBER, (float(n),)),)), now),
        lambda s, n, now: s.set_controls({'elevator': n / SCALE}, now),
        lambda s, n, now: s.set_controls({'throttle': n / SCALE}, now),
        lambda s, n, now: s.set_controls({'rudder': n / SCALE}, now, 3),
        lambda s, n, now: s.send(xpc.Simulation(SimulationOp.PAUSE), now),
        lambda s, n, now: s.send(xpc.Simulation(SimulationOp.PAUSE_AIRCRAFT + 3), now),
        lambda s, n, now: s.take_joystick(now),
        lambda s, n, now: s.send(xpc.Text(0, 0, str(n)), now),
        lambda s, n, now: s.send(xpc.Simulation(SimulationOp.RUN), now),
        lambda s, n, now: s.set_controls({'gear': 1.0}, now),
    )
    others = (
        ('elevator of 0', 0.25), ('aileron of 3', 0.5), (JOYSTICK, 1.0), (pause(3), 1.0),
        (pause(7), 1.0), (THROTTLE, 0.75), (JOYSTICK, 0.0), (pause(3), 0.0), (THROTTLE, -2.0))
    reported = frozenset((JOYSTICK, pause(3), pause(7), THROTTLE))
    # What is taken is sent again until it is shown.
    repeats = True
    musts = {
        'release': (lambda s, now: s.release(now), TAKEN),
        'stop': (lambda s, now: s.stop(now), TAKEN),
        'neutral': (lambda s, now: s.centre(now), {'elevator of 0': 0.0}),
        'pause': (lambda s, now: s.send(xpc.Simulation(SimulationOp.RUN), now),
                  all_pauses(0.0)),
        'override': (lambda s, now: s.send(xpc.SetDatarefs(((THROTTLE, (0.75,)),)), now),
                     {THROTTLE: 0.75}),
    }
    optional = ('test/roll', 'test/one', 'test/array')

    def make_session(self):
        """Return a session for two aircraft."""
        return XpcSession(
            {0: Polled(STATE, PLACE), 3: Polled((*PLACE, 'test/roll'), PLACE)}, rate=10.0,
            budget=60.0, port=xpc.PORT)

    def start(self, session, now):
        """Also watch some datarefs."""
        session.start(now)
        session.watch(WATCHED, 2.0, now)

    def take_all(self, session, now):
        """Take surfaces, overrides and pauses."""
        session.take_joystick(now)
        session.set_controls({'elevator': 0.5, 'throttle': 0.5}, now)
        session.set_controls({'elevator': -0.5}, now, 3)
        session.send(xpc.Simulation(SimulationOp.PAUSE), now)

    def make_peer(self, version, started):
        """Return a plugin of one version."""
        return CellPlugin(version, started)

    def numbers_in(self, data):
        """Return the numbers in a command."""
        request = xpc.decode(data, 'bridge')
        if isinstance(request, xpc.SetControls):
            values = [getattr(request, name) for name in (*SURFACES, 'throttle')]
            return [round(value * SCALE) for value in values if value]
        if isinstance(request, xpc.SetDatarefs) and request.items[0][0] == NUMBER:
            return [round(request.items[0][1][0])]
        if isinstance(request, xpc.Text) and request.text:
            return [int(request.text)]
        return []

    def wanted(self, peer):
        """Return what is polled and watched."""
        return {*STATE, *WATCHED}

    def values_in(self, event):
        """Return the names of the values received."""
        if isinstance(event, Telemetry):
            return list(event.values) if event.vehicle == 0 else []
        if isinstance(event, WatchedDatarefs):
            return [name for name, value in zip(event.names, event.values, strict=True) if value]
        return []

    def neutral(self, name, before):
        """Return 0 for surfaces; everything else keeps its value."""
        return 0.0 if ' of ' in name and not name.startswith('pause') else before
