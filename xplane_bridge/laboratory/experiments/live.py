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
A flight shown live in a browser, Foxglove or Lichtblick: the Foxglove SDK's WebSocket server.

Topics: /tf, /aircraft, /path, /target and /route for the 3D panel, /fix for the map, /state and
/controls for plots, and /log. Of several aircraft the 3D panel has all, and each of them has its
map and its plots below its name. Their time is that of the flight, from when it began. The page
data/view/live.html, served at the same port, reads some of them, and /flight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math
import re
import struct
import time
from typing import Any

from xplane_bridge.bridges.conversions import aircraft_model
from xplane_bridge.bridges.conversions.aircraft_model import AircraftModel, Shape
from xplane_bridge.bridges.conversions.axes import (
    euler_to_quaternion,
    heading_to_yaw,
    Quaternion,
    Vector,
)
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.common import optional
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.data import folder
from xplane_bridge.common.text import printable
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.experiments.live_gate import hidden_address, LiveGate
from xplane_bridge.laboratory.experiments.settings import Experiment
from xplane_bridge.laboratory.flights.flight import Flight
from xplane_bridge.laboratory.flights.scenario.quantities import shown_unit, unit_of
from xplane_bridge.laboratory.flights.script import Script

# What a live view shows, as messages of the Foxglove SDK.

_WORLD, _BODY = 'odom', 'base_link'
_COLOURS = {'/path': (0.12, 0.37, 0.66, 1.0), '/route': (0.20, 0.70, 0.30, 1.0),
            '/target': (0.95, 0.30, 0.20, 0.8)}
# How a message of CDR begins: little endian, no options.
_CDR = b'\x00\x01\x00\x00'
# Of lines, in pixels.
_THICKNESS = 3.0
# Of the arrow that shows the target, in metres: shaft, then head, each length and diameter.
_ARROW = (12.0, 1.5, 6.0, 4.0)


class Scene:
    """
    The topics of a live view, on channels of a Foxglove context; times in ns.

    ``vehicles`` are named, one alone ''. ``numbers`` are names by topic. They are served as ROS
    2's messages are (CDR, with their definition): PlotJuggler reads nothing else here.
    """

    def __init__(
        self, model: AircraftModel, vehicles: Sequence[str],
        numbers: Mapping[str, Sequence[str]], context: Any,
    ) -> None:
        from foxglove import Channel, channels, messages, Schema
        self._m = messages
        self._model = model
        self._tf = channels.FrameTransformsChannel('/tf', context=context)
        self._fix = {
            vehicle: channels.LocationFixChannel(
                f'/{_frame(vehicle, "fix")}', context=context) for vehicle in vehicles}
        self._log = channels.LogChannel('/log', context=context)
        self._flight = Channel('/flight', context=context)
        self._scenes = {
            topic: channels.SceneUpdateChannel(topic, context=context)
            for topic in ('/aircraft', '/path', '/target', '/route')}
        self._numbers = {
            (vehicle, topic): Channel(
                f'/{_frame(vehicle, topic[1:])}', message_encoding='cdr', context=context,
                schema=Schema(
                    name=f'xplane_bridge/msg/Live{topic[1:].capitalize()}', encoding='ros2msg',
                    data=''.join(f'float64 {name}\n' for name in names).encode()))
            for vehicle in vehicles for topic, names in numbers.items()}
        self._names = {topic: tuple(names) for topic, names in numbers.items()}

    def say(self, text: str, now: int) -> None:
        """Log a sentence."""
        m = self._m
        self._log.log(m.Log(
            timestamp=self._stamp(now), level=m.LogLevel.Info, message=text, name='experiment'),
            log_time=now)

    def flight(
        self, duration: float, events: Sequence[tuple[float, str]], is_over: bool, now: int
    ) -> None:
        """Show what is known of the whole flight (s): who comes later has not seen its events."""
        self._flight.log({
            'duration_s': duration if math.isfinite(duration) else None, 'is_over': is_over,
            'events': [{'time_s': at, 'text': text} for at, text in events]}, log_time=now)

    def numbers(
        self, vehicle: str, topic: str, values: Mapping[str, float], now: int
    ) -> None:
        """Show numbers by name; those that are not known are NaN, which viewers do not draw."""
        names = self._names[topic]
        self._numbers[vehicle, topic].log(
            _CDR + struct.pack(f'<{len(names)}d', *(values[name] for name in names)),
            log_time=now)

    def fix(self, vehicle: str, place: Vector, now: int) -> None:
        """Show a position on a map: latitude and longitude (deg), and height (m)."""
        latitude, longitude, altitude = place
        self._fix[vehicle].log(self._m.LocationFix(
            timestamp=self._stamp(now), frame_id=_frame(vehicle, _BODY), latitude=latitude,
            longitude=longitude, altitude=altitude), log_time=now)

    def aircraft(
        self, vehicle: str, place: Vector, attitude: Quaternion, controls: Mapping[str, float],
        propeller: float, now: int,
    ) -> None:
        """Move the aircraft and its surfaces."""
        angles = {**self._model.positions(controls), aircraft_model.PROPELLER: propeller}
        body = _frame(vehicle, _BODY)
        moved = [self._transform(_WORLD, body, place, attitude, now)]
        moved += [
            self._transform(body, _frame(vehicle, joint.child), joint.position,
                            joint.rotation(angles[name]), now)
            for name, joint in self._model.joints.items()]
        self._tf.log(self._m.FrameTransforms(transforms=moved), log_time=now)

    def shapes(self, vehicle: str, now: int) -> None:
        """Draw the aircraft: each link in its own frame, which moves."""
        m = self._m
        entities = []
        for link, shapes in self._model.links.items():
            made = {kind: [self._shape(shape) for shape in shapes if shape.kind == kind]
                    for kind in ('box', 'cylinder', 'sphere')}
            entities.append(m.SceneEntity(
                timestamp=self._stamp(now), id=_frame(vehicle, link), frame_locked=True,
                frame_id=_frame(vehicle, _BODY if link == self._model.root else link),
                cubes=made['box'], cylinders=made['cylinder'], spheres=made['sphere']))
        self._scenes['/aircraft'].log(m.SceneUpdate(entities=entities), log_time=now)

    def line(self, vehicle: str, topic: str, points: Sequence[Vector], now: int) -> None:
        """Draw a line through points."""
        m = self._m
        self._draw(vehicle, topic, now, lines=[m.LinePrimitive(
            type=m.LinePrimitiveLineType.LineStrip, thickness=_THICKNESS, scale_invariant=True,
            points=[m.Point3(x=x, y=y, z=z) for x, y, z in points],
            color=_colour(m, _COLOURS[topic]), pose=self._pose(
                (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)))])

    def target(
        self, vehicle: str, place: Vector, orientation: Quaternion, now: int
    ) -> None:
        """Draw the target: an arrow."""
        m = self._m
        shaft, shaft_diameter, head, head_diameter = _ARROW
        self._draw(vehicle, '/target', now, arrows=[m.ArrowPrimitive(
            pose=self._pose(place, orientation), shaft_length=shaft,
            shaft_diameter=shaft_diameter, head_length=head, head_diameter=head_diameter,
            color=_colour(m, _COLOURS['/target']))], lifetime=m.Duration(sec=1, nsec=0))

    def _draw(self, vehicle: str, topic: str, now: int, **primitives: Any) -> None:
        m = self._m
        self._scenes[topic].log(m.SceneUpdate(entities=[m.SceneEntity(
            timestamp=self._stamp(now), frame_id=_WORLD, id=_frame(vehicle, topic.strip('/')),
            **primitives)]),
            log_time=now)

    def _shape(self, shape: Shape) -> Any:
        m = self._m
        pose, colour = self._pose(shape.position, shape.orientation), _colour(m, shape.colour)
        if shape.kind == 'box':
            x, y, z = shape.size
            return m.CubePrimitive(pose=pose, size=m.Vector3(x=x, y=y, z=z), color=colour)
        width = 2.0 * shape.size[0]
        if shape.kind == 'sphere':
            return m.SpherePrimitive(
                pose=pose, size=m.Vector3(x=width, y=width, z=width), color=colour)
        return m.CylinderPrimitive(
            pose=pose, size=m.Vector3(x=width, y=width, z=shape.size[1]), bottom_scale=1.0,
            top_scale=1.0, color=colour)

    def _transform(
        self, parent: str, child: str, place: Vector, rotation: Quaternion, now: int
    ) -> Any:
        m = self._m
        x, y, z = place
        w, i, j, k = rotation
        return m.FrameTransform(
            timestamp=self._stamp(now), parent_frame_id=parent, child_frame_id=child,
            translation=m.Vector3(x=x, y=y, z=z), rotation=m.Quaternion(x=i, y=j, z=k, w=w))

    def _pose(self, place: Vector, rotation: Quaternion) -> Any:
        m = self._m
        x, y, z = place
        w, i, j, k = rotation
        return m.Pose(position=m.Vector3(x=x, y=y, z=z),
                      orientation=m.Quaternion(x=i, y=j, z=k, w=w))

    def _stamp(self, now: int) -> Any:
        seconds, nanoseconds = divmod(now, SECOND_NS)
        return self._m.Timestamp(sec=seconds, nsec=nanoseconds)


def _frame(vehicle: str, name: str) -> str:
    """Return the name of what is a vehicle's."""
    return f'{vehicle}/{name}' if vehicle else name


def _colour(messages: Any, colour: tuple[float, float, float, float]) -> Any:
    red, green, blue, opacity = colour
    return messages.Color(r=red, g=green, b=blue, a=opacity)


_HOST = '127.0.0.1'
_PACKAGE = 'foxglove-sdk'
# Seconds of real time between two states, and between two drawings of what changes slowly: who
# connects later sees it then.
_PERIOD = 1.0 / 30.0
_SLOW_PERIOD = 1.0
# Events that who comes later is shown, and characters of one.
_MOST_EVENTS, _LONGEST_EVENT = 200, 1000
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
_STATE = tuple(
    (f'{name}_{shown_unit(name).replace("/", "_")}', name,
     1.0 if shown_unit(name) == unit_of(name) else 1.0 / DEGREE)
    for name in (
        'altitude', 'airspeed', 'roll', 'pitch', 'heading', 'roll_rate', 'pitch_rate', 'yaw_rate',
        'angle_of_attack', 'sideslip', 'east', 'north', 'target_altitude', 'target_heading',
        'target_airspeed'))
_STATE_NAMES = ('flight_time_s', *(name for name, _, _ in _STATE))


class Live:
    """
    Serve a flight to viewers: ``begin``, then ``update`` as it goes on; ``say`` for its events.

    ``vehicles`` are the names of those that fly together. ``page`` is what a browser opens,
    ``address`` what other viewers do. Use as a context manager. Raises ImportError without the
    Foxglove SDK, ValueError if the port cannot be opened.
    """

    def __init__(self, port: int, name: str, vehicles: Sequence[str] = ('',)) -> None:
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
            aircraft_model.load(folder('view') / 'aircraft.urdf'), vehicles,
            {'/state': _STATE_NAMES, '/controls': (*FLOWN, *_COMMANDS)}, context)
        try:
            self._server = foxglove.start_server(
                name=name, host=(hidden := hidden_address()), port=0, context=context,
                capabilities=[foxglove.Capability.Time])
            try:
                self._gate = LiveGate(
                    port, (hidden, self._server.port), (folder('view') / 'live.html').read_bytes())
            except (OSError, OverflowError):
                self._server.stop()
                raise
        except (RuntimeError, OSError, OverflowError) as error:
            raise ValueError(
                f'port {port} cannot be opened for the live view ({error}): is another one '
                'running, or foxglove_bridge? Choose another with --live PORT') from None
        self.page = f'http://{_HOST}:{self._gate.port}'
        self.address = f'ws://{_HOST}:{self._gate.port}'
        self._events: list[tuple[float, str]] = []
        self._duration = math.nan
        self._shown: list[_LiveVehicle] = []
        self._shown_at = self._slow_at = -math.inf
        self._began_ns = time.time_ns()
        self._now_ns = self._began_ns
        self._flown = 0.0

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            # A server that is stopped forgets what it has not sent: the end is shown once more,
            # each at a time of its own, and the last of these is waited for.
            end = self._now_ns + len(self._shown)
            self._show_flight(is_over=True)
            self._gate.expect(re.compile(_DATA + re.escape(end.to_bytes(8, 'little')), re.DOTALL))
            for one in self._shown:
                self._now_ns += 1
                self._server.broadcast_time(self._now_ns)
                one.show(self._flown, self._now_ns, slowly=True)
            self._gate.wait_passed()
        self._server.stop()
        self._gate.close()

    def begin(self, flight: Flight) -> None:
        """Show this flight, and what the telemetry of its vehicles says, from now on."""
        self._duration = flight.order.scenario.duration
        origin = _Origin()
        self._shown = [
            _LiveVehicle(self._scene, name, one.script, one.telemetry.last, origin)
            for name, one in flight.vehicles.items()]
        self._began_ns = self._now_ns = time.time_ns()

    def say(self, text: str) -> None:
        """Log what happens."""
        self._scene.say(text, self._now_ns)
        event = self._flown, printable(text, _LONGEST_EVENT)
        self._events = [*self._events[1 - _MOST_EVENTS:], event]
        self._show_flight()

    def _show_flight(self, is_over: bool = False) -> None:
        self._scene.flight(self._duration, self._events, is_over, self._now_ns)

    def update(self, progress: float) -> None:
        """Show the newest state; ``progress`` is 0..1 of the flight."""
        now = time.monotonic()
        if not self._shown or (now - self._shown_at < _PERIOD and progress < 1.0):
            return
        self._shown_at = now
        self._flown = progress * self._duration
        self._now_ns = self._began_ns + round(self._flown * 1e9)
        # The end is drawn whenever it comes.
        slowly = now - self._slow_at >= _SLOW_PERIOD or progress >= 1.0
        self._server.broadcast_time(self._now_ns)
        placed = [one.show(self._flown, self._now_ns, slowly) for one in self._shown]
        if all(placed) and slowly:
            self._slow_at = now
            self._show_flight()


class _Origin:
    """Where the world of a live view has its origin: where its first aircraft began."""

    # Axes where the first was seen first, where that is in its own, and how high.
    _seen: tuple[LocalFrame, float, float, float] | None = None

    def moved(self, last: Callable[[str], float]) -> Vector:
        """Return how far that of an aircraft's own axes is from it: m east, north and up."""
        place = last('latitude'), last('longitude'), last('altitude')
        east, north = last('east'), last('north')
        if self._seen is None:
            self._seen = LocalFrame(*place), east, north, place[2]
            return 0.0, 0.0, -place[2]
        frame, first_east, first_north, height = self._seen
        away_east, away_north, _ = frame.geodetic_to_enu(*place)
        return first_east + away_east - east, first_north + away_north - north, -height


class _LiveVehicle:
    """One aircraft of a live view: how it is shown, and what was drawn of it."""

    def __init__(
        self, scene: Scene, name: str, script: Script, last: Callable[[str], float],
        origin: _Origin,
    ) -> None:
        self._scene, self._name, self._script, self._last = scene, name, script, last
        self._origin = origin
        self._moved: Vector | None = None
        self._turned_at = self._propeller = 0.0
        self._path: list[Vector] = []
        self._spacing = _SPACING

    def show(self, flown: float, now: int, slowly: bool) -> bool:
        """Show the state, and ``slowly`` what changes so; return whether its place is known."""
        last = self._last
        # What a simulator does not report is drawn as it was commanded.
        controls = {name: last(f'command_{name}') if math.isnan(value := last(name)) else value
                    for name in FLOWN}
        self._propeller = aircraft_model.turned(
            self._propeller, controls['throttle'], flown - self._turned_at)
        self._turned_at = flown
        self._show_numbers(flown, controls, now)
        if (place := self._place()) is None:
            return False
        self._show_aircraft(place, controls, now)
        if slowly:
            self._show_slow(now)
        return True

    def _place(self) -> Vector | None:
        """Return where it is from where the first aircraft began: metres east, north and up."""
        last = self._last
        east, north, altitude = last('east'), last('north'), last('altitude')
        if not math.isfinite(east + north + altitude):
            return None
        if self._moved is None:
            self._moved = self._origin.moved(last)
        return east + self._moved[0], north + self._moved[1], altitude + self._moved[2]

    def _show_numbers(self, flown: float, controls: dict[str, float], now: int) -> None:
        last = self._last
        state = {name: last(quantity) * factor for name, quantity, factor in _STATE}
        # Continuous in flight, and a plot against a target is not.
        for name in ('heading_deg', 'target_heading_deg'):
            state[name] %= 360.0
        self._scene.numbers(self._name, '/state', {'flight_time_s': flown, **state}, now)
        self._scene.numbers(self._name, '/controls', controls | {
            name: last(name) for name in _COMMANDS}, now)

    def _show_aircraft(self, place: Vector, controls: dict[str, float], now: int) -> None:
        last = self._last
        attitude = _attitude(last('roll'), last('pitch'), last('heading'))
        self._scene.aircraft(self._name, place, attitude, controls, self._propeller, now)
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
            self._scene.target(self._name, (
                east + _AHEAD * math.cos(yaw), north + _AHEAD * math.sin(yaw),
                self._up(altitude, up)), euler_to_quaternion(0.0, 0.0, yaw), now)

    def _show_slow(self, now: int) -> None:
        """Draw what changes slowly, again for those who have come later."""
        last, name = self._last, self._name
        self._scene.shapes(name, now)
        self._scene.line(name, '/path', self._path, now)
        self._scene.fix(name, (last('latitude'), last('longitude'), last('altitude')), now)
        if (route := self._script.route) is not None:
            assert self._moved is not None
            (east, north, _), up = self._moved, self._up(last('target_altitude'), 0.0)
            self._scene.line(name, '/route', [
                (east + x, north + y, up) for x, y in route.path.drawn()], now)

    def _up(self, altitude: float, otherwise: float) -> float:
        """Return an altitude above where the first aircraft began, if it is known."""
        assert self._moved is not None
        return altitude + self._moved[2] if math.isfinite(altitude) else otherwise


def served(experiment: Experiment) -> Live:
    """Start the live view of an experiment, and say where it is."""
    live = Live(experiment.live, experiment.title, [*experiment.order.of_vehicles()])
    print(f'live at {live.page}: open it in a browser (Foxglove and PlotJuggler: {live.address})',
          flush=True)
    return live


def _attitude(roll: float, pitch: float, heading: float) -> Quaternion:
    """Return q_enu_flu for roll, pitch (+ up) and heading; level where one is not known."""
    known = [0.0 if math.isnan(angle) else angle for angle in (roll, pitch, heading)]
    # In FLU a positive rotation about y lowers the nose.
    return euler_to_quaternion(known[0], -known[1], heading_to_yaw(known[2]))
