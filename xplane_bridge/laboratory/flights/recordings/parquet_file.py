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
The time series of a flight in this process as one Parquet table, a row for each frame. No ROS.

Columns are the package's quantities, SI and radians, with their units in the metadata; latitude
and longitude are in degrees. Null: there is nothing of that in the row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
import json
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.common import optional, plain_files
from xplane_bridge.common.controls import CONTROLS
from xplane_bridge.common.quantities import (
    AIR,
    AIR_DATA,
    fields_of,
    OF_CONTACTS,
    OF_ENGINES,
    TABLE,
)
from xplane_bridge.common.tables.bounds import TableError
from xplane_bridge.common.tables.parquet import MAGIC, Parquet
from xplane_bridge.laboratory.flights.recordings.collected import Collected
from xplane_bridge.laboratory.flights.recordings.derived import computed
from xplane_bridge.laboratory.flights.recordings.topics import RecordingError
from xplane_bridge.laboratory.flights.scenario.quantities import unit_of

Array = NDArray[np.float64]

FACTS = b'xplane_bridge'
"""The key of the file's metadata with the facts of the flight, as JSON."""

# Of what is read of a table: two hours of 70 columns.
_MOST_NUMBERS = 60_000_000
_MOST_COLUMNS = 1000
_LONGEST_FACTS = 1024 * 1024
_TARGETS = ('altitude', 'heading', 'airspeed', 'course', 'climb_rate')
_SENSED = {
    **{topic: tuple(one.name for one in fields_of(topic)) for topic in ('fix', 'odom')},
    'fix_velocity': ('velocity_east', 'velocity_north', 'velocity_up'),
    AIR_DATA: (*(one.name for one in AIR), 'wind_east', 'wind_north', 'wind_up'),
    'range': ('range',)}
_MOTION = ('roll', 'pitch', 'heading', *(one.name for one in fields_of('imu/data')))


class FlightTable(NamedTuple):
    """A table that was read: columns with NaN for null, their units, and the flight's facts."""

    columns: Mapping[str, Array]
    units: Mapping[str, str]
    facts: Mapping[str, Any]


def to_columns(flown: Collected) -> dict[str, Array | tuple[Array, NDArray[np.bool_]]]:
    """Return all columns by name; those that have nulls with a mask of where."""
    return dict(_columns(flown))


def _columns(flown: Collected) -> Iterator[tuple[str, Any]]:
    state = flown.frames
    times = state['time']
    yield 'time', times
    more = computed(flown)
    for one in TABLE:
        if one.state:
            yield one.name, state[one.state]
        elif one.name in more:
            yield one.name, more[one.name]
    for number, engine in enumerate(flown.engines):
        for one in OF_ENGINES:
            yield f'engine_{number}_{one.name}', engine[one.state]
    yield from _placed('command_', CONTROLS, times, flown.commands)
    yield from _in_force(times, flown.targets)
    if len(flown.contacts):
        yield from _placed(
            '', [one.name for one in OF_CONTACTS], times, flown.contacts)
    for topic, rows in flown.sensed.items():
        # Behind times and stamps.
        found = np.delete(rows, 1, axis=1)
        if topic == 'imu/data':
            yield from _sensed_motion(times, found)
        else:
            yield from _placed('sensed_', _SENSED[topic], times, found)


def _sensed_motion(times: Array, rows: Array) -> Iterator[tuple[str, Any]]:
    euler = np.array([axes.quaternion_to_euler((w, x, y, z))
                      for w, x, y, z in rows[:, 1:5].tolist()])
    heading = np.array([axes.yaw_to_heading(yaw) for yaw in euler[:, 2].tolist()])
    rates, force = rows[:, 5:8] * (1.0, -1.0, -1.0), rows[:, 8:11]
    yield from _placed('sensed_', _MOTION, times, np.column_stack((
        rows[:, 0], euler[:, 0], -euler[:, 1], heading, rates, force)))


def _placed(
    prefix: str, names: Sequence[str], times: Array, rows: Array
) -> Iterator[tuple[str, Any]]:
    """Yield columns of rows that not every frame has: null in all others, and where unknown."""
    at = np.searchsorted(times, rows[:, 0])
    for number, name in enumerate(names, 1):
        values = np.full(len(times), np.nan)
        values[at] = rows[:, number]
        missing = np.isnan(values)
        yield prefix + name, (values, missing) if missing.any() else values


def _in_force(times: Array, targets: Array) -> Iterator[tuple[str, Any]]:
    """Yield the targets in force: null before the first one, and what is not held."""
    since = np.searchsorted(targets[:, 0], times, 'right') - 1
    for number, name in enumerate(_TARGETS, 1):
        values = np.full(len(times), np.nan)
        if len(targets):
            values = np.where(since < 0, np.nan, targets[since, number])
        yield f'target_{name}', (values, np.isnan(values))


def write(stream: BinaryIO, flown: Collected, facts: str) -> None:
    """Write a table with the facts of its flight."""
    import pyarrow
    from pyarrow import parquet
    fields, arrays = [], []
    for name, content in _columns(flown):
        values, missing = content if isinstance(content, tuple) else (content, None)
        unit = unit_of(name)
        fields.append(pyarrow.field(
            name, pyarrow.float64(), metadata={'unit': unit} if unit else None))
        arrays.append(pyarrow.array(values, mask=missing))
    schema = pyarrow.schema(fields, metadata={
        FACTS: facts, 'units': json.dumps(
            {one.name: unit_of(one.name) for one in fields if unit_of(one.name)})})
    parquet.write_table(
        pyarrow.Table.from_arrays(arrays, schema=schema), stream, compression='zstd',
        use_dictionary=False, write_statistics=False)


def is_table(path: Path) -> bool:
    """Return whether a file is Parquet; OSError if it cannot be read."""
    if not path.is_file():
        return False
    with plain_files.open_regular(path) as stream:
        return stream.read(len(MAGIC)) == MAGIC


def is_recording(path: Path) -> bool:
    """Return whether a file is a table of a flight; OSError if it cannot be read."""
    try:
        return is_table(path) and FACTS in Parquet(path).metadata
    except TableError:
        return False


def read(path: Path, wanted: Collection[str] = ()) -> FlightTable:
    """
    Read a table: its times, and all columns or those of ``wanted`` that it has.

    Raises ImportError without pyarrow, OSError if there is no such file, and RecordingError for
    one that is no recording of a flight.
    """
    optional.require('reading a Parquet recording', 'pyarrow', extra='export')
    try:
        file = Parquet(path)
        facts = _facts(file)
        if 'time' not in file.names:
            raise TableError('it has no column time')
        if len(file.names) > _MOST_COLUMNS:
            raise TableError(
                f'it has {len(file.names)} columns, expected at most {_MOST_COLUMNS}')
        names = [name for name in file.names if not wanted or name in (*wanted, 'time')]
        columns = file.numbers(names, _MOST_NUMBERS // len(names))
        times = columns['time']
        if not len(times) or not np.isfinite(times).all() or (np.diff(times) <= 0.0).any():
            raise TableError('expected times that increase')
    except TableError as error:
        raise RecordingError(f'{path} is not read as a recording: {error}') from None
    return FlightTable(columns, {
        name: (file.schema.field(name).metadata or {}).get(b'unit', b'').decode(errors='replace')
        for name in names}, facts)


def _facts(file: Parquet) -> Mapping[str, Any]:
    """Return what a table says of its flight; TableError if that is nothing."""
    text = file.metadata.get(FACTS, b'')
    if len(text) > _LONGEST_FACTS:
        raise TableError(f'the facts of its flight have more than {_LONGEST_FACTS} bytes')
    try:
        facts = json.loads(text)
        assert isinstance(facts, dict)
    except (AssertionError, ValueError, RecursionError):
        raise TableError(
            f'its metadata have no facts of a flight ({FACTS.decode()})') from None
    return facts
