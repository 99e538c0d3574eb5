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
The table of a campaign: the rows of all its files, sorted by flight, and its hash.

A window of flights at a time is in memory, whatever the number of rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
import hashlib
import math
from pathlib import Path
from typing import Any

from xplane_bridge.common import plain_files
from xplane_bridge.laboratory.campaigns.table import parts, rows
from xplane_bridge.laboratory.campaigns.table.lost import LostFlights
from xplane_bridge.laboratory.campaigns.table.rows import FIGURE, JUDGED

# Flights, which are a group of rows in the file: of many small ones its footer becomes too large.
_WINDOW = 20_000
_SLICE = 250


@dataclass(slots=True)
class Summary:
    """
    What a table says: its ``digest``, and how often each controller had which outcome.

    ``reasons`` has for each controller why the first of its flights was not flown to its end, if
    one was not. ``missed`` counts by criterion the flights that were judged, and did not meet it.
    ``lost`` are those that are not in it.
    The digest is the SHA-256 of all rows but for rows.NOT_COMPARED: equal for equal flights.
    """

    digest: str = ''
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, str] = field(default_factory=dict)
    lost: LostFlights = field(default_factory=LostFlights)

    @property
    def flights(self) -> int:
        """Return the number of rows."""
        return self.outcomes.total()

    @property
    def flown(self) -> int:
        """Return the number of flights that came to a verdict."""
        return sum(count for (_, outcome), count in self.outcomes.items()
                   if outcome in (rows.PASSED, rows.MISSED, rows.CRASHED))

    @property
    def by_controller(self) -> dict[str, Counter[str]]:
        """Return how often each controller had which outcome."""
        found: dict[str, Counter[str]] = {}
        for (controller, outcome), count in self.outcomes.items():
            found.setdefault(controller, Counter())[outcome] += count
        return found


def write(files: Sequence[Path], path: Path, lost: LostFlights | None = None) -> Summary:
    """
    Write the table of files of rows; return what it says. No rows are twice in it.

    It says of the flights that are ``lost`` how many they are, and why.
    """
    from pyarrow import parquet
    schema = _schema(files)
    summary, found = Summary(lost=lost or LostFlights()), hashlib.sha256()
    with plain_files.output(path) as stream, parquet.ParquetWriter(stream, schema) as writer:
        for window in _windows(files, schema):
            writer.write_table(window)
            for begin in range(0, window.num_rows, _SLICE):
                for row in window.slice(begin, _SLICE).to_pylist():
                    found.update(rows.canonical(row))
                    summary.outcomes[row['controller'], row['outcome']] += 1
                    if row['outcome'] in rows.NOT_FLOWN:
                        summary.reasons.setdefault(row['controller'], row['reason'])
                    summary.missed.update(
                        name.removeprefix(JUDGED) for name, passed in row.items()
                        if passed is False and name.startswith(JUDGED))
        writer.add_key_value_metadata(summary.lost.metadata())
    summary.digest = found.hexdigest()
    return summary


def _schema(files: Sequence[Path]) -> Any:
    """Return the columns of all files together, in a table's order."""
    import pyarrow
    fields: dict[str, Any] = {}
    for part in files:
        fields |= {one.name: one for one in parts.schema(part)}
    return pyarrow.schema([fields[name] for name in rows.sort_columns(fields) if name in fields])


def _windows(files: Sequence[Path], schema: Any) -> Iterator[Any]:
    """Yield the rows in the order of flights, a table for each window."""
    import pyarrow
    from pyarrow import compute
    ranges = {}
    for part in files:
        flights = parts.read(part, ['flight'])[0]
        limits = compute.min_max(flights)
        ranges[part] = limits['min'].as_py(), limits['max'].as_py()
    last = max((high for _, high in ranges.values()), default=-1)
    for begin in range(0, last + 1, _WINDOW):
        end = begin + _WINDOW
        found = [
            _conform(part, (compute.field('flight') >= begin) & (compute.field('flight') < end),
                     schema)
            for part, (low, high) in ranges.items() if low < end and high >= begin]
        window = pyarrow.concat_tables(found).sort_by('flight') if found else None
        if window is not None and window.num_rows:
            yield _once(window)


def _once(window: Any) -> Any:
    """Return sorted rows without those of a flight that the one before has."""
    flights = window['flight'].to_pylist()
    kept = [n for n, flight in enumerate(flights) if not n or flight != flights[n - 1]]
    return window.take(kept) if len(kept) < len(flights) else window.combine_chunks()


def _conform(path: Path, chosen: Any, schema: Any) -> Any:
    """Return chosen rows of a file with all columns: a figure that they have not is NaN."""
    import pyarrow
    with parts.damaged(path):
        part = parts.read(path).filter(chosen)
        have = set(part.column_names)
        columns = [
            part[one.name] if one.name in have else
            pyarrow.array([math.nan] * part.num_rows, one.type) if one.name.startswith(FIGURE) else
            pyarrow.nulls(part.num_rows, one.type)
            for one in schema]
        return pyarrow.Table.from_arrays(columns, schema=schema)
