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

"""The Parquet table of a flight in core, to tables of other formats. No ROS."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from xplane_bridge.laboratory.export.tables import (
    is_named,
    RowBatch,
    TableColumn,
    TIME_COLUMNS,
    Warn,
)
from xplane_bridge.laboratory.flights.recordings.parquet_file import read as read_table

TABLE = 'flight'
"""The name of the table."""
# At a time.
_ROWS = 5000


def read(path: Path, topics: Collection[str], warn: Warn) -> Iterator[RowBatch]:
    """
    Yield the table of a flight; ``topics`` may name it.

    Raises ImportError without pyarrow, OSError, and RecordingError for any other file.
    """
    table = read_table(path)
    if topics and not any(is_named(TABLE, name) for name in topics):
        warn(f'{", ".join(topics)}: there is no such topic; recorded is the table {TABLE}')
        return
    times = table.columns['time']
    names = [name for name in table.columns if name != 'time']
    columns = (*TIME_COLUMNS, *(TableColumn(name, unit=table.units[name]) for name in names))
    for begin in range(0, len(times), _ROWS):
        rows = slice(begin, begin + _ROWS)
        stamps = times[rows].tolist()
        # It was recorded at its stamps.
        yield RowBatch(TABLE, 'flight in core', columns, [
            stamps, stamps, stamps, *(table.columns[name][rows].tolist() for name in names)])
