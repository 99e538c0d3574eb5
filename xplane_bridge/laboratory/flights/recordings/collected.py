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

"""What a flight in this process keeps to be recorded, frame by frame: plain numbers. No ROS."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
import math
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.conversions.axes import Quaternion, Vector
from xplane_bridge.bridges.conversions.vehicle import Air, air_numbers
from xplane_bridge.common.controls import CONTROLS, FLOWN
from xplane_bridge.laboratory.control.targets import Target
from xplane_bridge.laboratory.sensors.gnss import Fix, Velocity
from xplane_bridge.laboratory.sensors.imu import ImuReading
from xplane_bridge.laboratory.sensors.odometry import Pose
from xplane_bridge.laboratory.sensors.range_finder import RangeReading
from xplane_bridge.laboratory.sensors.specification import RangeFinderFigures
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.sample import (
    AIRFRAME_STATE,
    ENGINE,
    SAMPLE,
    SampleRow,
    SURROUNDINGS,
)

Array = NDArray[np.float64]

MOST_SECONDS = 7200.0
"""How long a recorded flight may be (s): until its end it is in memory, up to 300 MB of it."""

# Controls that no frame moves: read when somebody has.
_AT_REST = (
    'flaps', 'gear', 'speedbrake', 'left_brake', 'right_brake', 'elevator_trim', 'aileron_trim',
    'rudder_trim')
_LEVERS = ('throttle', 'mixture', 'propeller')
_PLAIN = (*SURROUNDINGS, 'altitude', 'east', 'north', 'up', *AIRFRAME_STATE)
_TARGET = ('altitude', 'heading', 'airspeed', 'course', 'climb_rate')
_OTHERS = len(CONTROLS) - len(FLOWN)
_UNKNOWN = (math.nan,) * 4


class TimedRows:
    """
    Rows of plain numbers, each with a time; ``width`` is how many a row has.

    ``append(pack(time, ...))`` is ``add`` of a row that is still in parts.

    They are kept in one array: objects that stay in memory drive JSBSim out of the cache.
    """

    def __init__(self, width: int) -> None:
        self._columns = 1 + width
        self._numbers = array('d')
        # A fifth of the time that array.extend takes.
        self.pack, self.append = Struct(f'{1 + width}d').pack, self._numbers.frombytes

    def add(self, time: float, row: Iterable[float]) -> None:
        """Keep the row of a time."""
        self.append(self.pack(time, *row))

    def __len__(self) -> int:
        return len(self._numbers) // self._columns

    @property
    def times(self) -> array[float]:
        """Return the time of each row."""
        return self._numbers[::self._columns]

    def last(self, column: int) -> float:
        """Return the newest value of a column, NaN if there is none."""
        return self._numbers[1 + column - self._columns] if self._numbers else math.nan

    def rows(self, first: int = 0) -> NDArray[np.float64]:
        """Return the rows from one on, each with its time in front."""
        return np.array(self._numbers[first * self._columns:]).reshape(-1, self._columns)


@dataclass(frozen=True, slots=True)
class Collected:
    """
    What was kept of a flight.

    ``frames`` has a column for each number of a frame, shape (n,), ``time`` among them: those of
    aircraft.sample, position in the axes at the first one, altitude above the ellipsoid, and
    controls set by hand; ``engines`` the same of each engine. The others are rows with times (s)
    in front, shape (m, 1 + k): commands of CONTROLS, targets (see Target; NaN is not held),
    contacts, and by topic what sensors delivered, with stamps (ns) behind the times.
    """

    frames: Mapping[str, Array]
    engines: Sequence[Mapping[str, Array]]
    commands: Array
    targets: Array
    contacts: Array
    sensed: Mapping[str, Array]


class Collector:
    """
    Keeps numbers of each frame of an aircraft: ``add`` takes what was read of it anyway.

    ``time`` (s) is that of the newest frame. With ``each_frame`` all of its controls may have
    moved in each, those of each engine by themselves.
    """

    def __init__(self, aircraft: Aircraft, *, each_frame: bool = False) -> None:
        """Make room for what its airframe has."""
        self._aircraft, self._each_frame = aircraft, each_frame
        self._engines = aircraft.engine_count
        self._rows = TimedRows(len(_PLAIN) + len(ENGINE) * self._engines)
        self._pack, self._append = self._rows.pack, self._rows.append
        # By the time from which on they are so.
        self._at_rest: dict[float, tuple[float, ...]] = {}
        self._targets: dict[float, tuple[float, ...]] = {}
        self._others: dict[float, tuple[float, ...]] = {}
        self._delivered: dict[str, TimedRows] = {}
        self.time = 0.0
        self.has_moved = True

    def add(self, time: float, more: SampleRow, altitude: float, position: Vector) -> None:
        """Keep a frame: at a time (s), besides its SAMPLE, its SURROUNDINGS, and where that is."""
        self.time, aircraft = time, self._aircraft
        if self.has_moved or self._each_frame or aircraft.commanded:
            self._look_at_controls()
        self._append(self._pack(
            time, *more, altitude, *position, *aircraft.sampler.airframe()))

    def _look_at_controls(self) -> None:
        state = self._aircraft.state
        self._at_rest[self.time] = (
            *[getattr(state, name) for name in _AT_REST],
            *[getattr(engine, name) for engine in state.engines for name in _LEVERS])
        self._aircraft.commanded.clear()
        self.has_moved = False

    def command(self, others: Sequence[float | None]) -> None:
        """Keep controls of a command that no law commands, None for those that are not set."""
        self._others[self.time] = tuple(math.nan if one is None else one for one in others)

    def target(self, target: Target) -> None:
        """Keep a new target."""
        self._targets[self.time] = tuple(getattr(target, name) for name in _TARGET)

    # What sensors deliver in that frame, with a stamp (ns).

    def fix(self, stamp: int, fix: Fix) -> None:
        """Keep a fix."""
        self._sensed('fix', (stamp, *fix))

    def velocity(self, stamp: int, velocity: Velocity) -> None:
        """Keep a velocity."""
        self._sensed('fix_velocity', (
            stamp, *velocity.enu, velocity.horizontal, velocity.vertical))

    def air(self, stamp: int, air: Air) -> None:
        """Keep air data."""
        self._sensed('air_data', (stamp, *air_numbers(air)))

    def range(self, stamp: int, reading: RangeReading, of: RangeFinderFigures) -> None:
        """Keep a distance to the ground, and what its sensor says of itself."""
        self._sensed('range', (
            stamp, *reading, of.field_of_view, of.minimum, of.maximum))

    def imu(self, stamp: int, reading: ImuReading, pose: Pose | None) -> None:
        """Keep the newest of the IMU, and the pose of odom, if there is one."""
        orientation, rates, force = reading.motion
        turned: Quaternion | tuple[float, ...] = orientation or _UNKNOWN
        self._sensed('imu/data', (
            stamp, *turned, *(rates or _UNKNOWN[1:]), *(force or _UNKNOWN[1:]), reading.tilt,
            reading.heading, reading.angular_velocity, reading.specific_force))
        if pose is not None:
            self._sensed('odom', (
                stamp, *pose.position, *pose.orientation, *pose.velocity,
                *(rates or (0.0, 0.0, 0.0)), pose.horizontal, pose.vertical, reading.tilt,
                reading.heading, reading.angular_velocity, pose.horizontal_velocity,
                pose.vertical_velocity))

    def _sensed(self, topic: str, row: tuple[float, ...]) -> None:
        rows = self._delivered.get(topic)
        if rows is None:
            rows = self._delivered[topic] = TimedRows(len(row))
        rows.add(self.time, row)

    # After the flight.

    def collected(
        self, samples: TimedRows, commanded: TimedRows, touched: TimedRows | None
    ) -> Collected:
        """Return it with rows of SAMPLE, of commands of FLOWN, and of contacts, if any."""
        # Column by column in memory: each is used on its own.
        sampled = np.ascontiguousarray(samples.rows().T)
        kept = np.ascontiguousarray(self._rows.rows().T[1:])
        times = sampled[0]
        since = np.searchsorted([*self._at_rest], times, 'right') - 1
        at_rest = np.ascontiguousarray(np.array([*self._at_rest.values()])[since].T)
        engines = []
        for n in range(self._engines):
            first, levers = len(_PLAIN) + n * len(ENGINE), len(_AT_REST) + n * len(_LEVERS)
            engines.append({
                **dict(zip(ENGINE, kept[first:first + len(ENGINE)], strict=True)),
                **dict(zip(_LEVERS, at_rest[levers:levers + len(_LEVERS)], strict=True)),
                # Every frame moves all of them together.
                **({} if self._each_frame else {'throttle': sampled[-1]})})
        return Collected(
            {**dict(zip(('time', *SAMPLE), sampled, strict=True)),
             **dict(zip(_PLAIN, kept, strict=False)),
             **dict(zip(_AT_REST, at_rest, strict=False))},
            engines, self._commands(commanded.rows()),
            np.array([(time, *row) for time, row in self._targets.items()]).reshape(
                -1, 1 + len(_TARGET)),
            np.empty((0, 4)) if touched is None else touched.rows(),
            {topic: rows.rows() for topic, rows in self._delivered.items()})

    def _commands(self, flown: Array) -> Array:
        found = np.full((len(flown), 1 + len(CONTROLS)), math.nan)
        found[:, :1 + len(FLOWN)] = flown
        if self._others:
            times = flown[:, 0].tolist()
            for row, time in enumerate(times):
                if time in self._others:
                    found[row, -_OTHERS:] = self._others[time]
        return found
