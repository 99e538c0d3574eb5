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
The aircraft as entities of a scene: names, poses and velocities in frames.

The scene's own frame is east, north, up in the earth's tangent plane at a datum; each aircraft is
a frame too: forward, left, up (REP-103). The standard simulator interface (standard.py) works with
these; here is only what they mean for a World.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

from xplane_bridge.common.text import printable
from xplane_bridge.simulation.aircraft import terrain
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.geometry import (
    euler_angles,
    Matrix,
    matrix_ned_body,
    multiply,
    Quaternion,
    quaternion,
    quaternion_to_matrix,
    transform,
    transpose,
    Vector,
    XplaneLocalFrame,
)
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.limits import MAX_ALTITUDE, MAX_LAT_DEG, MAX_SPEED
from xplane_bridge.simulation.peers.joining import join, part
from xplane_bridge.simulation.peers.standard.filters import Filters, posix_pattern
from xplane_bridge.simulation.peers.traffic import FASTEST, OtherAircraft
from xplane_bridge.simulation.peers.world import AIRCRAFT_COUNT, World

ROBOT = 1
DYNAMIC_OBJECT = 4

LONGEST_NAME = 64
_PREFIX = 'aircraft_'
# An aircraft that starts nearer to the ground (m) stands on it.
_STANDS_BELOW = 5.0
_MAX_RATE = 10.0
# Tolerance for heights above ground, unit quaternions and directions of flight.
_GROUND_TOLERANCE = 0.5
_NORM_TOLERANCE = 1e-3
_SIDEWAYS_TOLERANCE = 0.5
_SWAP: Matrix = ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, -1.0))
_FLIP: Matrix = ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0))
_STILL = (0.0, 0.0, 0.0)
_UNKNOWN = (math.nan, math.nan, math.nan)


class UnknownNameError(ValueError):
    """No entity or frame has this name."""


class BadPoseError(ValueError):
    """No aircraft can have this pose."""


@dataclass(frozen=True, slots=True)
class EntityMotion:
    """
    Pose and motion of an entity in a frame: SI, the frame's axes.

    orientation (w, x, y, z) rotates forward, left, up to the frame; velocities are relative to
    the earth, accelerations their derivatives; NaN where they are not modelled.
    """

    position: Vector
    orientation: Quaternion
    velocity: Vector = _STILL
    angular_velocity: Vector = _STILL
    acceleration: Vector = _UNKNOWN
    angular_acceleration: Vector = _UNKNOWN


@dataclass(frozen=True, slots=True)
class Info:
    """What an entity is."""

    category: int
    description: str
    tags: tuple[str, ...]


class Entities:
    """
    The aircraft of a world, number 0 (the first that is flown) to ``count`` - 1.

    datum is latitude and longitude in deg and height above mean sea level in m; frame is the name
    of the frame there.
    """

    def __init__(self, world: World, datum: Vector, frame: str,
                 count: int = AIRCRAFT_COUNT) -> None:
        latitude, longitude, self._height = datum
        self._world = world
        self._axes = XplaneLocalFrame(latitude, longitude)
        self.frame = frame
        self.names = [f'{_PREFIX}{n}' for n in range(count)]
        self.spawned: set[str] = set()

    @property
    def is_full(self) -> bool:
        """Return whether no more aircraft can fly."""
        return len(self._world.flown) >= AIRCRAFT_COUNT

    def info(self, name: str) -> Info:
        """Return the description of an entity. Raises UnknownNameError."""
        n = self._number(name)
        if n < len(self._world.flown):
            model = self._world.flown[n].model
            which = ('the aircraft that is flown' if len(self._world.flown) == 1
                     else 'one of the aircraft that are flown')
            tags = ('aircraft', 'flown', model)
            return Info(ROBOT, f'{model}, {which}: JSBSim',
                        (*tags, 'spawned') if name in self.spawned else tags)
        return Info(DYNAMIC_OBJECT, f"X-Plane's aircraft {n}: kinematics, no flight model",
                    ('aircraft', 'traffic'))

    def select(self, filters: Filters) -> list[str]:
        """Return the names of those that match. Raises ValueError for a bad pattern."""
        pattern = posix_pattern(filters.pattern) if filters.pattern else None
        wanted = set(filters.tags)

        def is_meant(name: str) -> bool:
            info = self.info(name)
            common = wanted & set(info.tags)
            return ((pattern is None or pattern.fullmatch(name) is not None)
                    and (not filters.categories or info.category in filters.categories)
                    and (not wanted or (common == wanted if filters.all_tags else bool(common)))
                    and (filters.bounds is None
                         or filters.bounds.holds(self.motion(name).position)))

        return [name for name in self.names if is_meant(name)]

    def motion(self, name: str) -> EntityMotion:
        """Return where an entity is and how it moves, in the scene. Raises UnknownNameError."""
        n = self._number(name)
        other = self._world.others[n - 1]
        if n and isinstance(other, OtherAircraft):
            return self._traffic(other)
        s = self._world.flown[n].state
        return self._motion(
            s.lat_deg, s.lon_deg, s.altitude_msl, (s.phi, s.theta, s.psi),
            (s.v_north, s.v_east, s.v_down), (s.p, s.q, s.r),
            (s.a_north, s.a_east, s.a_down), (s.p_dot, s.q_dot, s.r_dot))

    def start(self, motion: EntityMotion, frame: str = '') -> Initial:
        """
        Return the initial state of an aircraft that starts with the pose of ``motion``.

        It is trimmed in level flight with that heading, or stands on the ground if it is near it.
        frame is as in place(). Raises UnknownNameError or BadPoseError.
        """
        origin, axes = self._frame(frame)
        _check_pose(motion)
        lat_deg, lon_deg, altitude = self._geodetic(
            _add(origin, transform(axes, motion.position)))
        airfield = self._world.aircraft.initial.airfield
        _check_place(lat_deg, lon_deg, altitude, airfield)
        ned_enu = transpose(self._matrix_from_ned(lat_deg, lon_deg))
        turn = multiply(axes, quaternion_to_matrix(motion.orientation))
        heading = euler_angles(multiply(multiply(ned_enu, turn), _FLIP))[2]
        return Initial(
            lat_deg=lat_deg, lon_deg=lon_deg, altitude_msl=altitude,
            heading_deg=math.degrees(heading) % 360.0,
            airfield=airfield, parked=altitude < _STANDS_BELOW + terrain.elevation_around(
                airfield, lat_deg, lon_deg))

    def add(self, name: str, aircraft: Aircraft) -> None:
        """Let an aircraft fly as a new entity. Raises ValueError if the world is full."""
        join(self._world, aircraft)
        self.names.insert(len(self._world.flown) - 1, name)
        self.spawned.add(name)

    def remove(self, name: str) -> int:
        """Remove an entity that is flown; return its number. Raises ValueError for the first."""
        number = self._number(name)
        if not number:
            raise ValueError(f'{name} cannot be deleted: it is the one that the services and '
                             'topics of the node itself are about')
        part(self._world, number)
        del self.names[number]
        self.spawned.discard(name)
        return number

    def place(self, name: str, motion: EntityMotion, frame: str = '', with_pose: bool = True,
              with_velocity: bool = True, trimmed: bool = False) -> None:
        """
        Set an entity's pose and velocity as ``motion`` has them.

        frame is the scene's ('' too) or an entity's, as it is now. What is not given stays.
        trimmed: in steady level flight with the given airspeed and heading; bank, pitch, controls
        and track follow from that. Traffic moves along its nose, and turns with its bank.

        Raises UnknownNameError, BadPoseError or, for an impossible motion, ValueError, changing
        nothing.
        """
        n = self._number(name)
        now = self.motion(name)
        origin, axes = self._frame(frame)
        position, turn = now.position, quaternion_to_matrix(now.orientation)
        if with_pose:
            _check_pose(motion)
            position = _add(origin, transform(axes, motion.position))
            turn = multiply(axes, quaternion_to_matrix(motion.orientation))
        velocity, rates = now.velocity, now.angular_velocity
        if with_velocity:
            _check_finite('velocity', motion.velocity)
            _check_finite('angular velocity', motion.angular_velocity)
            velocity = transform(axes, motion.velocity)
            rates = transform(axes, motion.angular_velocity)
        elif with_pose:
            # It keeps flying in its own direction, see Aircraft.teleport.
            turned = multiply(turn, transpose(quaternion_to_matrix(now.orientation)))
            velocity, rates = transform(turned, velocity), transform(turned, rates)
        lat_deg, lon_deg, altitude = self._geodetic(position)
        ned_enu = transpose(self._matrix_from_ned(lat_deg, lon_deg))
        phi, theta, psi = euler_angles(multiply(multiply(ned_enu, turn), _FLIP))
        velocity_ned = transform(ned_enu, velocity)
        body_rates = transform(_FLIP, transform(transpose(turn), rates))
        _check_place(lat_deg, lon_deg, altitude, self._world.aircraft.initial.airfield)
        attitude = (math.degrees(theta), math.degrees(phi), math.degrees(psi))
        if n >= len(self._world.flown):
            self._place_traffic(n, (lat_deg, lon_deg, altitude), attitude, velocity_ned, trimmed)
            return
        if math.hypot(*velocity_ned) > MAX_SPEED:
            raise ValueError(f'{math.hypot(*velocity_ned):.0f} m/s is beyond {MAX_SPEED:g} m/s')
        if max(map(abs, body_rates)) > _MAX_RATE:
            raise ValueError(f'{max(map(abs, body_rates)):.0f} rad/s is beyond {_MAX_RATE:g} '
                             'rad/s')
        if not trimmed:
            self._world.teleport(
                n, lat_deg, lon_deg, altitude, *attitude, velocity_ned=velocity_ned,
                rates=body_rates)
            return
        aircraft = self._world.flown[n]
        speed = math.dist(velocity_ned, aircraft.wind) if with_velocity else aircraft.state.tas
        self._world.trim_at(lat_deg, lon_deg, altitude, attitude[2], speed, n)

    def _place_traffic(self, n: int, place: Vector, attitude: Vector, velocity_ned: Vector,
                       trimmed: bool) -> None:
        pitch_deg, roll_deg, heading_deg = attitude
        nose = transform(
            matrix_ned_body(0.0, math.radians(pitch_deg), math.radians(heading_deg)),
            (1.0, 0.0, 0.0))
        speed = math.hypot(*velocity_ned)
        if speed > FASTEST:
            raise ValueError(f'{_PREFIX}{n} flies at most {FASTEST:g} m/s, not {speed:.1f} m/s')
        ahead = tuple(speed * component for component in nose)
        if not trimmed and math.dist(ahead, velocity_ned) > _SIDEWAYS_TOLERANCE:
            raise ValueError(f'{_PREFIX}{n} has no flight model: it moves along its nose, so a '
                             'velocity in another direction cannot be set')
        other = self._world.others[n - 1]
        assert isinstance(other, OtherAircraft)
        other.place(*place, pitch_deg, roll_deg, heading_deg, speed)
        if trimmed:
            other.hold()

    def _number(self, name: str) -> int:
        if name not in self.names:
            raise UnknownNameError(
                f"no entity is named '{printable(name, LONGEST_NAME)}'; there "
                f"{'are' if len(self.names) > 1 else 'is'} {', '.join(self.names)}")
        return self.names.index(name)

    def _frame(self, name: str) -> tuple[Vector, Matrix]:
        """Return a frame's origin and axes in the scene."""
        if name in ('', self.frame):
            return _STILL, ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        if name not in self.names:
            raise UnknownNameError(
                f"unknown frame '{printable(name, LONGEST_NAME)}'; there are '{self.frame}' "
                "(east, north, up at the datum) and each entity's name (forward, left, up)")
        motion = self.motion(name)
        return motion.position, quaternion_to_matrix(motion.orientation)

    def _matrix_from_ned(self, lat_deg: float, lon_deg: float) -> Matrix:
        """Return the rotation from NED at a place to the scene's axes."""
        return multiply(_SWAP, self._axes.matrix_from_ned(lat_deg, lon_deg))

    def _geodetic(self, position: Vector) -> Vector:
        east, north, up = position
        return self._axes.to_geodetic(east, up + self._height, -north)

    def _traffic(self, other: OtherAircraft) -> EntityMotion:
        roll_rate, pitch_rate, turn = other.euler_rates
        sf, cf = math.sin(other.phi), math.cos(other.phi)
        st, ct = math.sin(other.theta), math.cos(other.theta)
        sp, cp = math.sin(other.psi), math.cos(other.psi)
        rates = (roll_rate - turn * st, pitch_rate * cf + turn * sf * ct,
                 turn * cf * ct - pitch_rate * sf)
        north, east, down = other.velocity_ned
        quicker, speed = other.speed_rate, other.speed
        acceleration = (
            quicker * ct * cp - speed * st * cp * pitch_rate - east * turn,
            quicker * ct * sp - speed * st * sp * pitch_rate + north * turn,
            -quicker * st - speed * ct * pitch_rate)
        return self._motion(
            other.lat_deg, other.lon_deg, other.altitude_msl,
            (other.phi, other.theta, other.psi), (north, east, down), rates, acceleration,
            _UNKNOWN)

    def _motion(self, lat_deg: float, lon_deg: float, altitude: float, attitude: Vector,
                velocity_ned: Vector, rates: Vector, acceleration_ned: Vector,
                rate_changes: Vector) -> EntityMotion:
        from_ned = self._matrix_from_ned(lat_deg, lon_deg)
        from_body = multiply(from_ned, matrix_ned_body(*attitude))
        east, up, south = self._axes.to_local(lat_deg, lon_deg, altitude)
        return EntityMotion(
            (east, -south, up - self._height), _matrix_to_quaternion(multiply(from_body, _FLIP)),
            transform(from_ned, velocity_ned), transform(from_body, rates),
            transform(from_ned, acceleration_ned), transform(from_body, rate_changes))


def _add(a: Vector, b: Vector) -> Vector:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def _matrix_to_quaternion(matrix: Matrix) -> Quaternion:
    w, x, y, z = quaternion(*euler_angles(matrix))
    return (w, x, y, z) if w >= 0.0 else (-w, -x, -y, -z)


def _check_finite(name: str, values: Sequence[float]) -> None:
    if not all(map(math.isfinite, values)):
        raise ValueError(f'{name} is {tuple(values)}, must be finite')


def _check_pose(motion: EntityMotion) -> None:
    try:
        _check_finite('position', motion.position)
        _check_finite('orientation', motion.orientation)
    except ValueError as error:
        raise BadPoseError(str(error)) from None
    norm = math.hypot(*motion.orientation)
    if abs(norm - 1.0) > _NORM_TOLERANCE:
        raise BadPoseError(f'the norm of the orientation is {norm:.4g}, must be 1')


def _check_place(
    lat_deg: float, lon_deg: float, altitude: float, airfield: terrain.Airfield
) -> None:
    if abs(lat_deg) > MAX_LAT_DEG:
        raise BadPoseError(f'latitude {lat_deg:.3f} is beyond {MAX_LAT_DEG} degrees')
    ground = terrain.elevation_around(airfield, lat_deg, lon_deg)
    if altitude < ground - _GROUND_TOLERANCE:
        raise BadPoseError(f'{altitude:.1f} m above mean sea level is below the ground, which is '
                           f'{ground:.1f} m there')
    if altitude > MAX_ALTITUDE:
        raise BadPoseError(f'{altitude:.0f} m above mean sea level is beyond {MAX_ALTITUDE:g} m')
