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

"""Datagrams of a Ulyssix publisher to blocks of samples, in the units of a map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.ulyssix.conversion import (
    AppliedMap,
    Derived,
    PacketSamples,
    ParameterMap,
)
from xplane_bridge.bridges.ulyssix.conversion.alarms import listed
from xplane_bridge.bridges.ulyssix.protocol import DataPacket
from xplane_bridge.bridges.ulyssix.session import (
    CHANNEL,
    LONGEST_KEPT,
    PacketReceived,
    Placed,
    PublisherRestarted,
    Quality,
    Reminder,
    Sender,
    UlyssixSession,
)
from xplane_bridge.laboratory.export.parameters import columns, numbered
from xplane_bridge.laboratory.export.tables import TableColumn
from xplane_bridge.laboratory.export.ulyssix.blocks import Block, RecordedParameter
from xplane_bridge.laboratory.export.ulyssix.sources import Arrival

PAUSE = 1.0
"""Longer without a packet is a pause, in s."""

# A block ends with this many samples, or cells of a wide table.
_MOST_SAMPLES = 1_000_000
_MOST_CELLS = 16_000_000
# Sets of parameters: a file each. The names are the sender's.
_MOST_SETS = 100
# Parameters in a sentence.
_MOST_NAMED = 200


class UlyssixRecorder:
    """
    Follow a publisher, and ``write`` what it sends, in blocks of ``period`` seconds.

    Memory holds one block: at most a million samples, or 16 million cells of a wide table.
    ``only`` are patterns of the names to record, sent or derived; without any, all.
    """

    def __init__(
        self, session: UlyssixSession, write: Callable[[Block], None], period: float, *,
        given: ParameterMap | None = None, only: Sequence[str] = (),
        constant_after: float, is_wide: bool,
    ) -> None:
        self.session = session
        self.quality = Quality(
            constant_after, None if given is None else given.good)
        self.start_ns: int | None = None
        self.end_ns: int | None = None
        self.samples = 0
        self.filled = 1.0
        """How much of a wide table has values, where that is least."""
        self.warnings: list[str] = []
        self.mixed: tuple[Sender, ...] = ()
        """Those that sent alternately, when it is finished."""
        self.pauses = 0
        """How often nothing came for more than a second."""
        self.longest_pause = 0.0
        self._now = 0.0
        self._heard: float | None = None
        self._write = write
        self._period = period
        self._map = None if given is None else AppliedMap(given)
        self._only = tuple(only)
        self._is_wide = is_wide
        self._known: tuple[tuple[str, ...], str] | None = None
        self._chosen: NDArray[np.int64] = np.zeros(0, np.int64)
        self._derived: dict[str, int] = {}
        self.channels: tuple[RecordedParameter, ...] = ()
        # One for each set of channels: two publishers on one port alternate.
        self._blocks: dict[tuple[RecordedParameter, ...], Block] = {}
        self._block: Block | None = None
        self._sets: set[tuple[RecordedParameter, ...]] = set()
        self._until = 0.0

    def start(self, now: float) -> None:
        """Start listening."""
        self.session.start(now)

    def take(self, arrival: Arrival | None, now: float) -> None:
        """
        Take what arrived, and write a block if it is time.

        Raises OSError, and ValueError if there is nothing to record by ``only``.
        """
        self._now = now
        self.session.poll(now)
        if any(isinstance(event, Reminder) for event in self.session.expired()):
            self.quality.follow()
            if self._map is not None:
                self._map.alarms.settle()
        if arrival is not None:
            for event in self.session.receive(CHANNEL, arrival.data, arrival.sender, now):
                if isinstance(event, PublisherRestarted):
                    self.quality.restart()
                    if self._map is not None:
                        self._map.restart()
                elif isinstance(event, PacketReceived):
                    self._look_at_pause(now)
                    self._add(event, arrival.stamp_ns)
        blocks = self._blocks.values()
        if blocks and (
                now >= self._until or sum(block.samples for block in blocks) >= _MOST_SAMPLES
                or (self._is_wide and sum(block.cells for block in blocks) >= _MOST_CELLS)):
            self.flush()
            self._until = now + self._period

    def _look_at_pause(self, now: float) -> None:
        if self.silence > PAUSE:
            self.pauses += 1
            self.longest_pause = max(self.longest_pause, self.silence)
        self._heard = now

    def flush(self) -> None:
        """Write what is waiting. Raises OSError."""
        blocks, self._blocks, self._block = self._blocks, {}, None
        for block in blocks.values():
            if not block.samples:
                continue
            self._write(block)
            self.filled = min(self.filled, block.samples / block.cells)

    @property
    def silence(self) -> float:
        """Return for how long there has been no packet, in s; 0 before the first."""
        return 0.0 if self._heard is None else self._now - self._heard

    def wants(self, name: str) -> bool:
        """Return whether a parameter of this name is recorded."""
        return not self._only or any(
            name == one or fnmatchcase(name, one) for one in self._only)

    def out_of_limits(self) -> list[str]:
        """Return what is out of limits since the last call, with the value and the limit."""
        return [] if self._map is None else [
            f'{name} {text}' for group in self._map.alarms.report(self._now)
            for name, text in group.now.items()]

    @property
    def advice(self) -> str:
        """Return ``unsent`` as text, with the names that may be meant."""
        return '' if self._map is None else ', '.join(self._map.advice())

    @property
    def unsent(self) -> tuple[str, ...]:
        """Return what the map mentions and nobody sends."""
        return () if self._map is None else tuple(map(str, self._map.unsent))

    def finish(self) -> None:
        """Write the rest, and count what never came. Raises OSError."""
        self.mixed = self.session.mixed
        self.session.stop(0.0)
        self.flush()

    def _warn(self, sentence: str) -> None:
        if not any(sentence[-40:] == known[-40:] for known in self.warnings):
            self.warnings.append(sentence)

    def _add(self, event: PacketReceived, received_ns: int) -> None:
        packet = event.packet
        placed = self.session.timeline.place(packet, received_ns)
        if self.start_ns is None:
            self.start_ns = placed.first_ns
        self.end_ns = max(self.end_ns or 0, placed.first_ns)
        kind = 'float32' if packet.integer_width is None else 'int64'
        names = event.names or numbered(len(packet.counts))
        if self._known != (names, kind):
            self._rename(names, kind, bool(event.names))
        derived: Sequence[Derived] = ()
        if self._map is not None:
            times = placed.times
            if times is None:
                times = np.full(len(packet.values), placed.first_ns)
            derived, _ = self._map.take(PacketSamples(packet.counts, packet.values, times), ())
        self.quality.take(event.names, packet, placed, received_ns, derived)
        self.session.remind(LONGEST_KEPT)
        if not self.channels:
            return
        # To hash the channels takes longer than all the rest.
        block = self._block or self._blocks.get(self.channels)
        if block is None:
            if self.channels not in self._sets and len(self._sets) >= _MOST_SETS:
                self._warn(
                    f'the names of the parameters changed more than {_MOST_SETS} times; packets '
                    'with further ones are not recorded: if two publishers send to this port, '
                    'give --sender')
                return
            self._sets.add(self.channels)
            block = self._blocks[self.channels] = Block(self.channels, self.start_ns)
        self._block = block
        self._collect(block, packet, placed, received_ns, derived)

    def _rename(self, names: tuple[str, ...], kind: str, are_named: bool) -> None:
        """Record other parameters from now on."""
        self._block = None
        self._known = names, kind
        if self._map is not None:
            self._map.follow(names)
        wanted = list(map(self.wants, names))
        entries = (None,) * len(names) if self._map is None else self._map.entries
        # Different columns for equal names.
        plain = columns(names, kind)[3:]
        found = []
        for column, entry, keep in zip(plain, entries, wanted, strict=True):
            if keep and entry is None:
                found.append(RecordedParameter(column))
            elif keep and entry is not None:
                scaled = entry.scale != 1.0 or entry.offset != 0.0
                found.append(RecordedParameter(
                    TableColumn(column.name, 'float64' if scaled else kind, entry.symbol),
                    entry.scale, entry.offset))
        self._chosen = np.where(wanted, np.cumsum(wanted) - 1, -1)
        self._derived = {}
        taken = {one.column.name for one in found}
        for one in () if self._map is None else self._map.derived:
            if one.pattern not in taken and self.wants(one.pattern):
                self._derived[one.pattern] = len(found)
                found.append(RecordedParameter(
                    TableColumn(one.pattern, 'float64', one.symbol), 1 / one.unit.factor,
                    -one.unit.offset / one.unit.factor))
        self.channels = tuple(found)
        # Packets without names may come before those with names.
        if not found and are_named:
            derived = () if self._map is None else self._map.derived
            available = listed([*names, *(one.pattern for one in derived)], _MOST_NAMED)
            sentence = f'no parameter matches --only {" ".join(self._only)}: there are {available}'
            if not self._sets:
                raise ValueError(sentence)
            self._warn(sentence)

    def _collect(
        self, block: Block, packet: DataPacket, placed: Placed, received_ns: int,
        derived: Sequence[Derived],
    ) -> None:
        counts, values, times = packet.counts, packet.values, placed.times
        rows = int(counts.max(initial=0))
        if times is None:
            times = np.full(len(values), placed.first_ns)
        elif self._is_wide:
            rows = len(np.unique(times))
        for one in derived:
            if (number := self._derived.get(one.name)) is not None:
                self.samples += len(one.values)
                block.add(np.full(len(one.values), number), one.times, one.values, received_ns)
        channels = np.repeat(self._chosen, counts)
        if self._only:
            keep = channels >= 0
            channels, times, values = channels[keep], times[keep], values[keep]
        self.samples += len(values)
        block.add(channels, times, values, received_ns, rows)


def about(source: str, options: dict[str, Any]) -> dict[str, str]:
    """Return what is said of a recording in its file."""
    return {'source': source, 'made_by': 'xplane_bridge ulyssix record',
            **{name: str(value) for name, value in options.items() if value}}
