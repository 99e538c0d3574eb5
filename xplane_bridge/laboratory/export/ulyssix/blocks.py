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

"""Samples of a Ulyssix publisher, collected into blocks, as tables or by parameter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.laboratory.export.tables import RowBatch, TableColumn, TIME_COLUMNS

SOURCE = 'ulyssix'
TABLE = 'ulyssix/packets'
LONG_COLUMNS = (*TIME_COLUMNS, TableColumn('parameter', 'str'), TableColumn('value'))


@dataclass(frozen=True, slots=True)
class RecordedParameter:
    """A recorded parameter: its column, and how its value follows from the raw one."""

    column: TableColumn
    scale: float = 1.0
    offset: float = 0.0

    def convert(self, raw: NDArray[Any]) -> NDArray[Any]:
        """Return values in the column's unit and type."""
        if self.scale == 1.0 and self.offset == 0.0:
            return raw.astype(self.column.kind, copy=False)
        return raw.astype(np.float64) * self.scale + self.offset


class Block:
    """
    Samples of some packets.

    ``add`` takes them as channel numbers, times (ns, int64), values and the time of reception.
    """

    def __init__(self, channels: tuple[RecordedParameter, ...], start_ns: int) -> None:
        self.channels = channels
        self.start_ns = start_ns
        self.samples = 0
        self._rows = 0
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any], int]] = []

    def add(
        self, channels: NDArray[np.int64], times: NDArray[np.int64], values: NDArray[Any],
        received_ns: int, rows: int | None = None,
    ) -> None:
        """Add samples, which have this many different times."""
        self._parts.append((channels, times, values, received_ns))
        self.samples += len(values)
        self._rows += len(values) if rows is None else rows

    @property
    def cells(self) -> int:
        """Return how many values a wide table has."""
        return self._rows * len(self.channels)

    def _joined(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return channel, time, value and reception of all samples, by time and channel."""
        channel, times, values = (
            np.concatenate([part[n] for part in self._parts]) for n in range(3))
        received = np.repeat(
            np.array([part[3] for part in self._parts]),
            [len(part[1]) for part in self._parts])
        order = np.lexsort((channel, times))
        return channel[order], times[order], values[order], received[order]

    def by_channel(self) -> Iterator[tuple[RecordedParameter, NDArray[np.float64], NDArray[Any]]]:
        """Yield each channel that has samples, their times (s since the start) and values."""
        channel, times, values, _ = self._joined()
        order = np.argsort(channel, kind='stable')
        ends = np.searchsorted(channel[order], np.arange(len(self.channels) + 1))
        for number, one in enumerate(self.channels):
            chosen = order[ends[number]:ends[number + 1]]
            if len(chosen):
                yield one, (times[chosen] - self.start_ns) / SECOND_NS, one.convert(values[chosen])

    def long(self) -> RowBatch:
        """Return a table with a row for each sample: times, name, value."""
        channel, times, values, received = self._joined()
        scale = np.array([one.scale for one in self.channels])[channel]
        offset = np.array([one.offset for one in self.channels])[channel]
        names = np.array([one.column.name for one in self.channels], object)[channel]
        return RowBatch(TABLE, SOURCE, LONG_COLUMNS, [
            *self._times(times, received), names, values * scale + offset])

    def wide(self) -> RowBatch:
        """
        Return a table with a row for each sample time of any channel, and a column for each.

        The n-th sample of a channel at one time has the n-th row of that time. Where a channel
        has no sample, its column is masked.
        """
        channel, times, values, received = self._joined()
        number = np.arange(len(times))
        begins = np.ones(len(times), bool)
        begins[1:] = (times[1:] != times[:-1]) | (channel[1:] != channel[:-1])
        repeated = number - np.maximum.accumulate(np.where(begins, number, 0))
        if repeated.any():
            order = np.lexsort((repeated, times))
            channel, times, values, received, repeated = (
                each[order] for each in (channel, times, values, received, repeated))
        begins = np.ones(len(times), bool)
        begins[1:] = (times[1:] != times[:-1]) | (repeated[1:] != repeated[:-1])
        row = np.cumsum(begins) - 1
        rows = int(row[-1]) + 1 if len(row) else 0
        order = np.argsort(channel, kind='stable')
        ends = np.searchsorted(channel[order], np.arange(len(self.channels) + 1))
        columns: list[Any] = []
        for at, one in enumerate(self.channels):
            chosen = order[ends[at]:ends[at + 1]]
            if len(chosen) == rows:
                columns.append(one.convert(values[chosen]))
                continue
            data, missing = np.zeros(rows, one.column.kind), np.ones(rows, bool)
            data[row[chosen]] = one.convert(values[chosen])
            missing[row[chosen]] = False
            columns.append(np.ma.MaskedArray(data, missing))
        return RowBatch(TABLE, SOURCE, (*TIME_COLUMNS, *(one.column for one in self.channels)), [
            *self._times(times[begins], received[begins]), *columns])

    def _times(
        self, times: NDArray[np.int64], received: NDArray[np.int64]
    ) -> list[Any]:
        return [(times - self.start_ns) / SECOND_NS, times / SECOND_NS, received / SECOND_NS]
