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

"""A log of PX4 or ArduPilot as a table of columns on one time base. No ROS."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
import math
from pathlib import Path

import numpy as np

from xplane_bridge.common.tables.bounds import TableError
from xplane_bridge.laboratory.flights.logs import files
from xplane_bridge.laboratory.flights.logs.log import LogTable
from xplane_bridge.laboratory.identification.motion.signals import Array

_TIME = 'time'
_TURNS = {'deg': 360.0, 'rad': math.tau}
# Of PX4, which has a quaternion instead, and no flow angles.
_ATTITUDE, _VELOCITY, _WIND = 'vehicle_attitude', 'vehicle_local_position', 'wind'
_QUATERNION = tuple(f'{_ATTITUDE}.q[{at}]' for at in range(4))
_OF_VELOCITY = tuple(f'{_VELOCITY}.v{axis}' for axis in 'xyz')
_OF_WIND = tuple(f'{_WIND}.windspeed_{side}' for side in ('north', 'east'))


class LogColumns:
    """
    The columns of a log: ``names`` of the numbers, ``ATT.Roll``, and of times, ``ATT.time``.

    Of PX4 also ``vehicle_attitude.roll`` and ``pitch``, of its quaternion, and
    ``angle_of_attack`` and ``sideslip`` (rad), of the velocity over ground and the estimated wind.
    ``cut`` is a sentence if not all of it could be read.
    """

    def __init__(self, path: Path) -> None:
        """Raise OSError, and RecordingError for what is no log."""
        log = files.read(path)
        self.cut = f'{path}: {log.faults[0]}' if log.faults else ''
        self._tables = {table.name: table for table in log.tables}
        self._units = {
            f'{table.name}.{one.name}': one.unit for table in log.tables for one in table.columns
            if not one.is_list and one.kind != 'str'}
        self._derived = {
            f'{_ATTITUDE}.{name}': find for name, (find, needed) in _DERIVED.items()
            if all(one in self._units for one in needed)}
        self.names = [*self._units, *self._derived, *(f'{one}.{_TIME}' for one in self._tables)]

    def numbers(self, names: Iterable[str], most: int) -> dict[str, Array]:
        """
        Return columns at the times of the one that is a time, shape (rows,).

        Numbers are linear between two rows, angles (deg, rad) the shorter way round; before the
        first and after the last row of their own table they are NaN. Raises TableError for more
        than ``most`` rows, and if not exactly one column is a time.
        """
        wanted = list(names)
        bases = [name for name in wanted if name.rpartition('.')[2] == _TIME
                 and name.rpartition('.')[0] in self._tables]
        if len(bases) != 1:
            raise TableError('expected one time, that of the table on whose times all are, such '
                             f'as {next(iter(self._tables), "ATT")}.{_TIME}')
        base = self._column(bases[0], most)[0]
        times = base[np.append(np.diff(base) > 0.0, True)] if len(base) else base
        return {name: times if name == bases[0] else self._at(name, times, most)
                for name in wanted}

    def _at(self, name: str, times: Array, most: int) -> Array:
        stamps, values = self._column(name, most)
        kept = np.isfinite(values)
        stamps, first = np.unique(stamps[kept], return_index=True)
        values = values[kept][first]
        if turn := _TURNS.get('rad' if name in self._derived else self._units[name]):
            values = np.unwrap(values, period=turn)
        if not len(values):
            return np.full(len(times), math.nan)
        found: Array = np.interp(times, stamps, values, left=math.nan, right=math.nan)
        return found

    def _column(self, name: str, most: int) -> tuple[Array, Array]:
        """Return stamps and values of a column."""
        if name in self._derived:
            stamps, _ = self._column(_QUATERNION[0], most)
            return stamps, self._derived[name](
                lambda column: self._at(column, stamps, most)
                if column in self._units else np.zeros(len(stamps)))
        table, own = self._parted(name)
        if table.rows > most:
            raise TableError(f'{table.name} has {table.rows} rows, expected at most {most}')
        index = next((at for at, one in enumerate(table.columns) if one.name == own), None)
        parts = [(stamps, stamps if index is None else np.asarray(values[index], np.float64))
                 for stamps, values in table.blocks()]
        stamps, values = (np.concatenate(one) for one in zip(*parts, strict=True))
        return stamps, values

    def _parted(self, name: str) -> tuple[LogTable, str]:
        # A name within a message may have dots, as the name of a table has none.
        table, _, own = name.partition('.')
        return self._tables[table], own


Get = Callable[[str], Array]


def _roll(get: Get) -> Array:
    w, x, y, z = map(get, _QUATERNION)
    found: Array = np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    return found


def _pitch(get: Get) -> Array:
    w, x, y, z = map(get, _QUATERNION)
    found: Array = np.arcsin(np.clip(2.0 * (w * y - z * x), -1.0, 1.0))
    return found


def _flow(get: Get) -> tuple[Array, Array, Array]:
    """Return the velocity through the air in body axes (m/s): forward, right, down."""
    w, x, y, z = map(get, _QUATERNION)
    north, east, down = map(get, _OF_VELOCITY)
    wind_north, wind_east = map(get, _OF_WIND)
    north, east = north - wind_north, east - wind_east
    return (
        (1.0 - 2.0 * (y * y + z * z)) * north + 2.0 * (x * y + w * z) * east
        + 2.0 * (x * z - w * y) * down,
        2.0 * (x * y - w * z) * north + (1.0 - 2.0 * (x * x + z * z)) * east
        + 2.0 * (y * z + w * x) * down,
        2.0 * (x * z + w * y) * north + 2.0 * (y * z - w * x) * east
        + (1.0 - 2.0 * (x * x + y * y)) * down)


def _angle_of_attack(get: Get) -> Array:
    forward, _, down = _flow(get)
    found: Array = np.arctan2(down, forward)
    return found


def _sideslip(get: Get) -> Array:
    forward, right, down = _flow(get)
    found: Array = np.arctan2(right, np.hypot(forward, down))
    return found


_DERIVED: Mapping[str, tuple[Callable[[Get], Array], tuple[str, ...]]] = {
    'roll': (_roll, _QUATERNION), 'pitch': (_pitch, _QUATERNION),
    'angle_of_attack': (_angle_of_attack, (*_QUATERNION, *_OF_VELOCITY)),
    'sideslip': (_sideslip, (*_QUATERNION, *_OF_VELOCITY))}
