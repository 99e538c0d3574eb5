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

"""Logs of autopilots and X-Plane to tables. No ROS."""

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
from xplane_bridge.laboratory.flights.logs import files
from xplane_bridge.laboratory.flights.logs.log import LogTable
from xplane_bridge.laboratory.flights.recordings.topics import RecordingError

_LISTED = 20


def read(path: Path, topics: Collection[str], warn: Warn) -> Iterator[RowBatch]:
    """
    Yield the tables of a log; ``topics`` limits them, with all instances of each.

    What of it cannot be read is told to ``warn``. Raises OSError, and RecordingError for what is
    no such log, or has no messages.
    """
    log = files.read(path)
    if not log.tables:
        raise RecordingError(f'{path} has no messages that can be read'
                             + (f': {log.faults[0]}' if log.faults else ''))
    start = log.start()
    for table in log.tables:
        if not topics or any(_is_named(table, name) for name in topics):
            columns = (*TIME_COLUMNS, *(
                TableColumn(one.name, one.kind, one.unit, one.is_list)
                for one in table.columns))
            for stamps, values in table.blocks():
                # It was recorded at its stamps.
                yield RowBatch(table.name, log.kind, columns, [
                    stamps - start, stamps, stamps, *values])
    for name in topics:
        if not any(_is_named(table, name) for table in log.tables):
            warn(f'{name}: there is no such topic; recorded are '
                 f'{", ".join(one.name for one in log.tables[:_LISTED])}')
    for fault in log.faults:
        warn(f'{path}: {fault}')


def _is_named(table: LogTable, name: str) -> bool:
    return is_named(table.name, name) or is_named(table.base, name)
