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


"""Ulyssix parameters to rows: a column for each parameter, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.laboratory.export.tables import TableColumn, TIME_COLUMNS, TIMES

PACKET = 'xplane_bridge/msg/UlyssixPacket'
NAMES = 'xplane_bridge/msg/UlyssixParameters'
SAMPLES = 'xplane_bridge/msg/UlyssixSamples'

# A packet is of 64 KB, whatever a recording of one says.
_MOST_PARAMETERS = 2000
_MOST_VALUES = 2_000_000
_LONGEST_NAME = 255

Times = tuple[float, float | None, float]
Found = tuple[tuple[TableColumn, ...], list[tuple[Any, ...]]]


class Parameters:
    """The names of the parameters, by the topic's namespace."""

    def __init__(self) -> None:
        self._names: dict[str, tuple[str, ...]] = {}

    def learn(self, topic: str, names: Sequence[str]) -> None:
        """Remember the names that a topic says. Raises ValueError for more than a packet has."""
        if len(names) > _MOST_PARAMETERS:
            raise ValueError(
                f'it has {len(names)} names, expected at most {_MOST_PARAMETERS}')
        self._names[topic.rpartition('/')[0]] = tuple(name[:_LONGEST_NAME] for name in names)

    def has_names(self, topic: str) -> bool:
        """Return whether those of the packets of a topic are known."""
        return topic.rpartition('/')[0] in self._names

    def read_packet(self, topic: str, message: Any, start_ns: int, times: Times) -> Found:
        """Return columns and rows of a UlyssixPacket."""
        counts = np.asarray(message.counts, np.int64)
        names = self._names.get(topic.rpartition('/')[0], ())
        kind, values = _values(message)
        return (columns(names if len(names) == len(counts) else numbered(len(counts)), kind),
                rows(counts, values, _or_none(message.times), start_ns, times))

    def read_samples(self, message: Any, start_ns: int, times: Times) -> Found:
        """Return columns and rows of a UlyssixSamples."""
        kind, values = _values(message)
        return columns((message.name,), kind), rows(
            np.array([len(values)]), values, _or_none(message.times), start_ns, times)


def _values(message: Any) -> tuple[str, NDArray[Any]]:
    if len(message.integers):
        return 'int64', np.asarray(message.integers)
    return 'float32', np.asarray(message.values)


def _or_none(times: Any) -> NDArray[np.int64] | None:
    return np.asarray(times, np.int64) if len(times) else None


def numbered(count: int) -> tuple[str, ...]:
    """Return names for parameters of which none are known."""
    return tuple(f'parameter_{number}' for number in range(1, count + 1))


def columns(names: Sequence[str], kind: str) -> tuple[TableColumn, ...]:
    """Return a column for each name, different ones for equal names, behind the times."""
    taken = set(TIMES)
    newest: dict[str, int] = {}
    found = []
    for name in names:
        unique, number = name, newest.get(name, 1)
        while unique in taken:
            number += 1
            unique = f'{name}_{number}'
        newest[name] = number
        taken.add(unique)
        found.append(TableColumn(unique, kind))
    return (*TIME_COLUMNS, *found)


def rows(
    counts: NDArray[np.int64], values: NDArray[Any], times: NDArray[np.int64] | None,
    start_ns: int, read_packet: Times,
) -> list[tuple[Any, ...]]:
    """
    Return the samples of a packet as rows, each with a value or None for each parameter.

    There is a row for each sample time of any parameter, in order. Without ``times`` (ns since the
    epoch) the n-th samples of all parameters share a row, with the time of the packet. Raises
    ValueError for a packet that cannot be one.
    """
    if len(counts) > _MOST_PARAMETERS:
        raise ValueError(f'it has {len(counts)} parameters, expected at most {_MOST_PARAMETERS}')
    if (counts < 0).any() or (counts > len(values)).any() or counts.sum() != len(values) or (
            times is not None and len(times) != len(values)):
        raise ValueError(f'it has {len(values)} samples, its counts or times are of others')
    ends = np.cumsum(counts)
    parameter = np.repeat(np.arange(len(counts)), counts)
    index = np.arange(len(values)) - np.repeat(ends - counts, counts)
    if times is None:
        number, row = int(counts.max(initial=0)), index
        leading = [read_packet] * number
    else:
        # The n-th sample of a parameter at one time has the n-th row of that time.
        order = np.lexsort((index, parameter, times))
        same = (np.diff(times[order]) == 0) & (np.diff(parameter[order]) == 0)
        repeated = np.zeros(len(times), np.int64)
        for at in np.flatnonzero(same) + 1:
            repeated[order[at]] = repeated[order[at - 1]] + 1
        keys, row = np.unique(np.stack((times, repeated)), axis=1, return_inverse=True)
        row = row.reshape(-1)
        leading = [((ns - start_ns) / SECOND_NS, read_packet[1], read_packet[2])
                   for ns in keys[0].tolist()]
    if len(leading) * len(counts) > _MOST_VALUES:
        raise ValueError(f'it has {len(leading)} sample times of {len(counts)} parameters')
    table = np.full((len(leading), len(counts)), None, object)
    table[row, parameter] = values.tolist()
    return [(*first, *rest) for first, rest in zip(leading, table.tolist(), strict=True)]
