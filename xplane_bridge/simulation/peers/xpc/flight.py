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

"""The plugin's access to X-Plane's aircraft: the datarefs that it reads and writes for each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
from struct import Struct

from xplane_bridge.bridges.xpc.protocol import (
    AIRCRAFT_COUNT,
    ControlsReply,
    LEAVE,
    PositionReply,
    Terrain,
    TerrainStatus,
)
from xplane_bridge.common.controls import FLOWN, SURFACES
from xplane_bridge.simulation.aircraft import terrain
from xplane_bridge.simulation.aircraft.geometry import (
    euler_angles,
    matrix_ned_body,
    multiply,
    transform,
    transpose,
)
from xplane_bridge.simulation.peers.faults import SimulatorCrashError
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xpc.buffer import ReceiveBuffer
from xplane_bridge.simulation.peers.xpc.plugin_versions import PluginBehaviour
from xplane_bridge.simulation.peers.xplane.datarefs import DatarefStore

# What the plugin reads as "leave it unchanged", an open interval (docs/wire/xpc.md, section 2).
_LEAVE_ABOVE = -999.1
_LEAVE_BELOW = -997.9

THROTTLES = 8
_WHEELS = 10
_THROTTLE_OVERRIDE = 'sim/flightmodel/engine/ENGN_thro_override'
_GEAR_HANDLE = 'sim/cockpit/switches/gear_handle_status'

_CTRL = Struct('<4fbf')
_FLOAT32 = Struct('<f')
_PLACE_32 = Struct('<3f')
_PLACE_64 = Struct('<3d')
_ATTITUDE = Struct('<3f')


@dataclass(frozen=True, slots=True)
class _Datarefs:
    """
    The names of the datarefs that the plugin reads and writes for one aircraft.

    ``yoke`` is written and ``yoke_reading`` read, each pitch, roll, heading. For aircraft other
    than the user's the plugin has no yoke to read, and reads 0.
    """

    yoke: tuple[str, str, str]
    yoke_reading: tuple[str, str, str] | None
    throttle: str
    flaps: str
    speedbrake: str
    gear: str
    place: tuple[str, str, str]
    attitude: tuple[str, str, str]


def _names(base: str, *names: str) -> tuple[str, str, str]:
    first, second, third = (base + name for name in names)
    return (first, second, third)


_YOKE = ('yoke_pitch_ratio', 'yoke_roll_ratio', 'yoke_heading_ratio')
_USER = _Datarefs(
    yoke=_names('sim/joystick/', *_YOKE),
    yoke_reading=_names('sim/cockpit2/controls/', *_YOKE),
    throttle='sim/flightmodel/engine/ENGN_thro',
    flaps='sim/flightmodel/controls/flaprqst',
    speedbrake='sim/flightmodel/controls/sbrkrqst',
    gear='sim/aircraft/parts/acf_gear_deploy',
    place=_names('sim/flightmodel/position/', 'latitude', 'longitude', 'elevation'),
    attitude=_names('sim/flightmodel/position/', 'theta', 'phi', 'psi'))


def _other(n: int) -> _Datarefs:
    base = f'sim/multiplayer/position/plane{n}_'
    return _Datarefs(
        yoke=_names(base, 'yolk_pitch', 'yolk_roll', 'yolk_yaw'), yoke_reading=None,
        throttle=base + 'throttle', flaps=base + 'flap_ratio',
        speedbrake=base + 'speedbrake_ratio', gear=base + 'gear_deploy',
        place=_names(base, 'lat', 'lon', 'el'), attitude=_names(base, 'the', 'phi', 'psi'))


# Number 20 is one past the end of the plugin's table, and was seen to reach the user's aircraft.
_TABLE = (_USER, *(_other(n) for n in range(1, AIRCRAFT_COUNT)), _USER)


def leaves(value: float) -> bool:
    """Return whether the plugin takes a value for "leave it unchanged"."""
    return _LEAVE_ABOVE < value < _LEAVE_BELOW


class AircraftAccess:
    """Reads and writes aircraft as the plugin does. An aircraft number beyond 20 crashes it."""

    def __init__(self, world: World, store: DatarefStore, plugin_version: PluginBehaviour) -> None:
        self._world = world
        self._store = store
        self._plugin_version = plugin_version
        # What reads a dataref, or its first element: each is asked for again and again.
        self._readers: dict[str, Callable[[], float]] = {}

    # Controls

    def write_controls(self, buffer: ReceiveBuffer) -> None:
        """Handle CTRL."""
        if buffer.size not in (26, 27, 31):
            return
        *yoke, throttle, gear, flaps = buffer.unpack(_CTRL, 5)
        number = buffer[26] if buffer.size > 26 else 0
        speedbrake = buffer.unpack(_FLOAT32, 27)[0] if buffer.size == 31 else LEAVE
        if number == 0 and gear == -1 and leaves(flaps) and leaves(speedbrake) and (
                self._fly_by(yoke, throttle)):
            return
        for axis, value in enumerate(yoke):
            if not leaves(value):
                self._write(_aircraft(number).yoke[axis], value)
        if not leaves(throttle):
            self._store.write(
                _aircraft(number).throttle, [throttle] * THROTTLES, checked=False)
            if number == 0:
                self._write(_THROTTLE_OVERRIDE, throttle)
        if gear != -1:
            self._set_gear(gear, number)
        if not leaves(flaps):
            self._write(_aircraft(number).flaps, flaps)
        if not leaves(speedbrake):
            self._write(_aircraft(number).speedbrake, speedbrake)

    def _fly_by(self, yoke: Sequence[float], throttle: float) -> bool:
        """Do what writing each of these does, in a fifth of the time; return whether possible."""
        world, aircraft = self._world, self._world.aircraft
        if not 0.0 <= throttle <= 1.0 or not math.isfinite(sum(yoke)) or any(
                map(leaves, yoke)) or world.overrides['override_throttles']:
            return False
        elevator, aileron, rudder = yoke
        world.fly_by(elevator, aileron, rudder, throttle, THROTTLES, True)
        aircraft.commanded.update(FLOWN if aircraft.engine_count else SURFACES)
        return True

    def controls(self, number: int) -> ControlsReply:
        """Return the answer to GETC."""
        names = _aircraft(number)
        elevator = aileron = rudder = 0.0
        if names.yoke_reading is not None:
            elevator, aileron, rudder = map(self._read, names.yoke_reading)
        gear = (self._read(_GEAR_HANDLE) if number == 0 else float(self._read(names.gear) > 0.5))
        return ControlsReply(
            elevator, aileron, rudder, self._read(names.throttle), int(gear),
            self._read(names.flaps), number, self._read(names.speedbrake))

    def write_throttles(self, value: float) -> None:
        """Set the user's throttles as DATA does: all values but NaN are set, even "leave"."""
        self._store.write(_USER.throttle, [value] * THROTTLES)

    def move_gear(self, gear: float, number: int = 0) -> None:
        """Set the gear, handle and legs together, as POSI and DATA do."""
        self._set_gear(gear, number, at_once=True)

    def _set_gear(self, gear: float, number: int, at_once: bool = False) -> None:
        if not 0.0 <= gear <= 1.0:
            return
        if number == 0:
            self._write(_GEAR_HANDLE, gear)
        if number != 0 or at_once:
            self._store.write(_aircraft(number).gear, [gear] * _WHEELS)

    # Position

    def write_position(self, buffer: ReceiveBuffer) -> None:
        """Handle POSI, and the first half of POST."""
        lengths = self._plugin_version.position_lengths
        if buffer.size not in lengths if lengths is not None else buffer.size < 34:
            return
        number = buffer[5]
        wide = lengths is not None and buffer.size == 46
        place = buffer.unpack(_PLACE_64 if wide else _PLACE_32, 6)
        attitude = buffer.unpack(_ATTITUDE, 30 if wide else 18)
        stray = wide or self._plugin_version.stray_gear
        gear, = buffer.unpack(_FLOAT32, 42 if stray else 30)
        self.set_place(place, number)
        self.set_attitude(attitude, number)
        if gear >= 0.0:
            self.move_gear(gear, number)

    def position(self, number: int) -> PositionReply:
        """Return the answer to GETP."""
        names = _aircraft(number)
        # Not this aircraft's (docs/wire/xpc.md, section 3): X-Plane has one gear handle.
        lat, lon, alt, pitch, roll, heading, gear, handle = self._world.read([
            self._reader(name)
            for name in (*names.place, *names.attitude, names.gear, _GEAR_HANDLE)])
        return PositionReply(
            int(handle) if names is _USER else 0, lat, lon, alt, pitch, roll, heading, gear,
            precision=64 if self._plugin_version.position_reply == 46 else 32)

    def set_place(self, place: Sequence[float], number: int = 0) -> None:
        """Move an aircraft to latitude, longitude (deg) and altitude (m); NaN drops all three."""
        # Plugin 1.2 stores positions as float32, although it reads back all three of them.
        rounds = self._plugin_version.position_lengths is None
        if not math.isfinite(sum(place)) or (all(map(leaves, place)) and not rounds):
            return
        given = [self._read(name) if leaves(value) else value
                 for name, value in zip(_aircraft(number).place, place, strict=True)]
        if rounds:
            given = [_FLOAT32.unpack(_FLOAT32.pack(value))[0] for value in given]
        lat, lon, alt = given
        self._move(number, (lat, lon, alt, None, None, None))

    def set_attitude(self, attitude: Sequence[float], number: int = 0) -> None:
        """
        Turn an aircraft to pitch, roll and heading (deg); NaN drops all three.

        They are relative to X-Plane's local frame, like the datarefs that the plugin uses.
        """
        if not math.isfinite(sum(attitude)) or all(map(leaves, attitude)):
            return
        theta, phi, psi = (
            math.radians(self._read(name) if leaves(value) else value)
            for name, value in zip(_aircraft(number).attitude, attitude, strict=True))
        lat, lon, _ = map(self._read, _aircraft(number).place)
        ned_frame = transpose(self._world.frame.matrix_from_ned(lat, lon))
        phi, theta, psi = euler_angles(multiply(ned_frame, matrix_ned_body(phi, theta, psi)))
        self._move(number, (None, None, None, *map(math.degrees, (theta, phi, psi))))

    def _move(self, number: int, to: Sequence[float | None]) -> None:
        """Move an aircraft; velocity over ground and rates stay (docs/wire/xpc.md, section 10)."""
        world, number = self._world, number % AIRCRAFT_COUNT
        lat_deg, lon_deg, altitude, pitch, roll, heading = to
        if number >= len(world.flown):
            world.teleport(number, lat_deg, lon_deg, altitude, pitch, roll, heading)
            return
        now = world.flown[number].state
        world.teleport(
            number, lat_deg, lon_deg, altitude, pitch, roll, heading,
            (now.v_north, now.v_east, now.v_down), (now.p, now.q, now.r))

    # Terrain, and freezing

    def ground_below(self, number: int) -> Terrain | None:
        """Return what a terrain probe finds below an aircraft, or None if it misses."""
        lat, lon, _ = map(self._read, _aircraft(number).place)
        return self.ground(lat, lon, number)

    def ground(self, lat: float, lon: float, number: int) -> Terrain | None:
        """Return what a terrain probe finds at a place, or None if it misses: off the earth."""
        if not -90.0 <= lat <= 90.0 or not math.isfinite(lon):
            return None
        lon = math.remainder(lon, 360.0)
        airfield = self._world.aircraft.initial.airfield
        east, north, up = terrain.normal(lat, lon, airfield)
        north, east, down = transform(
            self._world.frame.matrix_from_ned(lat, lon), (north, east, -up))
        return Terrain(
            number, lat, lon, terrain.elevation_around(airfield, lat, lon),
            normal=(east, -down, -north), velocity=(0.0, 0.0, 0.0),
            is_wet=int(terrain.is_wet(lat, lon, airfield)),
            status=TerrainStatus.HIT)

    def hold(self, op: int) -> None:
        """Handle SIMU, which freezes aircraft and is not X-Plane's own pause."""
        world = self._world
        if op in (0, 1):
            world.freeze(None, op == 1)
        elif op == 2:
            for n in range(AIRCRAFT_COUNT):
                world.freeze(n, not world.frozen(n))
        elif self._plugin_version.pauses_one_aircraft:
            n = op % 100
            if op >= 100 and n < AIRCRAFT_COUNT:
                world.freeze(n, op < 200)

    def _read(self, name: str) -> float:
        return self._reader(name)()

    def _reader(self, name: str) -> Callable[[], float]:
        read = self._readers.get(name)
        if read is None:
            read = self._readers[name] = self._store.element_reader(name, 0) or (lambda: 0.0)
        return read

    def _write(self, name: str, value: float) -> None:
        """Write as the plugin does, which checks nothing."""
        self._store.write(name, [value], checked=False)


def _aircraft(number: int) -> _Datarefs:
    if number >= len(_TABLE):
        raise SimulatorCrashError(
            f'X-Plane has crashed: aircraft {number} is beyond the table of X-Plane Connect, '
            f'which ends at {AIRCRAFT_COUNT - 1}')
    return _TABLE[number]
