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


"""
A flight shown live in Foxglove or Lichtblick, without ROS: the Foxglove SDK's WebSocket server.

Topics: /tf, /aircraft, /path, /target and /route for the 3D panel, /fix for the map, /state and
/controls for plots, and /log. Their time is that of the flight, from when it began.
"""

from __future__ import annotations

from collections.abc import Callable
import math
import re
import time

from xplane_bridge.bridges.conversions import aircraft_model
from xplane_bridge.bridges.conversions.frames import (
    euler_to_quaternion,
    heading_to_yaw,
    Quaternion,
    Vector,
)
from xplane_bridge.common import optional
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.data import folder
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.experiments.live_gate import Gate, hidden_address
from xplane_bridge.laboratory.experiments.live_scene import Scene
from xplane_bridge.laboratory.experiments.settings import Experiment
from xplane_bridge.laboratory.flights.route import Telemetry
from xplane_bridge.laboratory.flights.script import Script

_HOST = '127.0.0.1'
_PACKAGE = 'foxglove-sdk'
# Seconds of real time between two states, and between two drawings of what changes slowly: who
# connects later sees it then.
_PERIOD = 1.0 / 30.0
_SLOW_PERIOD = 1.0
# Positions of the path flown; when there are more, every second one goes.
_LONGEST_PATH = 2000
_SPACING = 5.0
# The target is drawn so far ahead (m).
_AHEAD = 100.0

# How a message of the Foxglove protocol begins that has data, before its time: what a viewer's
# subscription is called, in four bytes.
_DATA = rb'\x01.{4}'

_COMMANDS = tuple(f'command_{name}' for name in FLOWN)
# Name in /state, quantity, factor.
_STATE = (
    ('altitude_m', 'altitude', 1.0), ('airspeed_m_s', 'airspeed', 1.0),
    ('roll_deg', 'roll', 1.0 / DEGREE), ('pitch_deg', 'pitch', 1.0 / DEGREE),
    ('heading_deg', 'heading', 1.0 / DEGREE),
    ('roll_rate_deg_s', 'roll_rate', 1.0 / DEGREE),
    ('pitch_rate_deg_s', 'pitch_rate', 1.0 / DEGREE),
    ('yaw_rate_deg_s', 'yaw_rate', 1.0 / DEGREE),
    ('angle_of_attack_deg', 'angle_of_attack', 1.0 / DEGREE),
    ('sideslip_deg', 'sideslip', 1.0 / DEGREE),
    ('east_m', 'east', 1.0), ('north_m', 'north', 1.0),
    ('target_altitude_m', 'target_altitude', 1.0),
    ('target_heading_deg', 'target_heading', 1.0 / DEGREE),
    ('target_airspeed_m_s', 'target_airspeed', 1.0))
_STATE_NAMES = ('flight_time_s', *(name for name, _, _ in _STATE))


class Live:
    """
    Serve a flight to viewers: ``begin``, then ``update`` as it goes on; ``say`` for its events.

    ``address`` is what viewers open. Use as a context manager. Raises ImportError without the
    Foxglove SDK, ValueError if the port cannot be opened.
    """

    def __init__(self, port: int, name: str) -> None:
        try:
            import foxglove
            import foxglove.messages
        except ImportError:
            raise optional.missing('the live view', _PACKAGE, extra='live') from None
        # A viewer that leaves is no error of the flight.
        foxglove.set_log_level('CRITICAL')
        # The server and the channels do not keep it.
        self._context = context = foxglove.Context()
        self._scene = Scene(
            aircraft_model.load(folder('view') / 'aircraft.urdf'),
            {'/state': _STATE_NAMES, '/controls': (*FLOWN, *_COMMANDS)}, context)
        try:
            self._server = foxglove.start_server(
                name=name, host=(hidden := hidden_address()), port=0, context=context,
                capabilities=[foxglove.Capability.Time])
            try:
                self._gate = Gate(port, (hidden, self._server.port))
            except (OSError, OverflowError):
                self._server.stop()
                raise
        except (RuntimeError, OSError, OverflowError) as error:
            raise ValueError(
                f'port {port} cannot be opened for the live view ({error}): is another one '
                'running, or foxglove_bridge? Choose another with --live PORT') from None
        self.address = f'ws://{_HOST}:{self._gate.port}'
        self._flight: Script | None = None
        self._telemetry: Telemetry | None = None
        self._shown_at = self._slow_at = -math.inf
        self._began_ns = time.time_ns()
        self._now_ns = self._began_ns
        self._flown = self._turned_at = 0.0
        self._height = math.nan
        self._propeller = 0.0
        self._path: list[Vector] = []
        self._spacing = _SPACING

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        if self._telemetry is not None:
            # A server that is stopped forgets what it has not sent: the end is shown once more,
            # with a time of its own, and that is waited for.
            self._now_ns += 1
            self._gate.expect(re.compile(
                _DATA + re.escape(self._now_ns.to_bytes(8, 'little')), re.DOTALL))
            self._show(self._telemetry.last, slowly=True)
            self._gate.wait_passed()
        self._server.stop()
        self._gate.close()

    def begin(self, flight: Script, telemetry: Telemetry) -> None:
        """Show this flight, and what its telemetry says, from now on."""
        self._flight, self._telemetry = flight, telemetry
        self._began_ns = self._now_ns = time.time_ns()

    def say(self, text: str) -> None:
        """Log what happens."""
        self._scene.say(text, self._now_ns)

    def update(self, progress: float) -> None:
        """Show the newest state; ``progress`` is 0..1 of the flight."""
        now = time.monotonic()
        if self._flight is None or self._telemetry is None or (
                now - self._shown_at < _PERIOD and progress < 1.0):
            return
        self._shown_at = now
        self._flown = progress * self._flight.scenario.duration
        self._now_ns = self._began_ns + round(self._flown * 1e9)
        # The end is drawn whenever it comes.
        slowly = now - self._slow_at >= _SLOW_PERIOD or progress >= 1.0
        if self._show(self._telemetry.last, slowly) and slowly:
            self._slow_at = now

    def _show(self, last: Callable[[str], float], slowly: bool) -> bool:
        """Show the state, and ``slowly`` what changes so; return whether its place is known."""
        self._server.broadcast_time(self._now_ns)
        # What a simulator does not report is drawn as it was commanded.
        controls = {name: last(f'command_{name}') if math.isnan(value := last(name)) else value
                    for name in FLOWN}
        self._propeller = aircraft_model.turned(
            self._propeller, controls['throttle'], self._flown - self._turned_at)
        self._turned_at = self._flown
        self._show_numbers(last, controls)
        if (place := self._place(last)) is None:
            return False
        self._show_aircraft(place, controls, last)
        if slowly:
            self._show_slow(last)
        return True

    def _place(self, last: Callable[[str], float]) -> Vector | None:
        """Return where it is from where the flight began: metres east, north and up."""
        east, north, altitude = last('east'), last('north'), last('altitude')
        if not math.isfinite(east + north + altitude):
            return None
        if math.isnan(self._height):
            self._height = altitude
        return east, north, altitude - self._height

    def _show_numbers(self, last: Callable[[str], float], controls: dict[str, float]) -> None:
        state = {name: last(quantity) * factor for name, quantity, factor in _STATE}
        # Continuous in flight, and a plot against a target is not.
        for name in ('heading_deg', 'target_heading_deg'):
            state[name] %= 360.0
        self._scene.numbers('/state', {'flight_time_s': self._flown, **state}, self._now_ns)
        self._scene.numbers('/controls', controls | {
            name: last(name) for name in _COMMANDS}, self._now_ns)

    def _show_aircraft(
        self, place: Vector, controls: dict[str, float], last: Callable[[str], float]
    ) -> None:
        attitude = _attitude(last('roll'), last('pitch'), last('heading'))
        self._scene.aircraft(place, attitude, controls, self._propeller, self._now_ns)
        if not self._path or math.dist(place, self._path[-1]) >= self._spacing:
            self._path.append(place)
            if len(self._path) > _LONGEST_PATH:
                self._path = self._path[::2]
                self._spacing *= 2.0
        heading, altitude = last('target_heading'), last('target_altitude')
        if math.isfinite(heading) or math.isfinite(altitude):
            # On a path there is no heading to hold.
            yaw = heading_to_yaw(last('heading') if math.isnan(heading) else heading)
            east, north, up = place
            if math.isfinite(altitude):
                up = altitude - self._height
            self._scene.target(
                (east + _AHEAD * math.cos(yaw), north + _AHEAD * math.sin(yaw), up),
                euler_to_quaternion(0.0, 0.0, yaw), self._now_ns)

    def _show_slow(self, last: Callable[[str], float]) -> None:
        """Draw what changes slowly, again for those who have come later."""
        assert self._flight is not None
        self._scene.shapes(self._now_ns)
        self._scene.line('/path', self._path, self._now_ns)
        self._scene.fix(
            last('latitude'), last('longitude'), last('altitude'), self._now_ns)
        if (route := self._flight.route) is not None:
            altitude = last('target_altitude')
            up = 0.0 if math.isnan(altitude) else altitude - self._height
            self._scene.line('/route', [
                (east, north, up) for east, north in route.path.drawn()], self._now_ns)


def served(experiment: Experiment) -> Live:
    """Start the live view of an experiment, and say where it is."""
    live = Live(experiment.live, experiment.title)
    print(f'live at {live.address}: open it in Foxglove or Lichtblick, with the layout '
          f'{folder("view") / "foxglove_live.json"}', flush=True)
    return live


def _attitude(roll: float, pitch: float, heading: float) -> Quaternion:
    """Return q_enu_flu for roll, pitch (+ up) and heading; level where one is not known."""
    known = [0.0 if math.isnan(angle) else angle for angle in (roll, pitch, heading)]
    # In FLU a positive rotation about y lowers the nose.
    return euler_to_quaternion(known[0], -known[1], heading_to_yaw(known[2]))
