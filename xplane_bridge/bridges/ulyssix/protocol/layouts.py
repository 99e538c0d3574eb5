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
Ulyssix packets laid out like earlier ones, decoded without walking through them.

Only walking from count to count finds the samples, and for dozens of parameters that takes longer
than everything else. But the names and rates of a publisher are constant, so its headers and
counts recur: what never changes in a header is compared at once, and one gather at the places of
all counts proves that they are known, or tells the first that differs.

Packets are first copied to a fixed place, so that views of it are prepared once for each layout.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.ulyssix.protocol.columns import copy_columns, COUNT, SampleLayout
from xplane_bridge.bridges.ulyssix.protocol.messages import DataPacket

_LARGEST = 2**16
# Each number of samples makes a frame of another length.
_MOST_FRAMES = 64
# Parameters of all known divisions, and branches between them; each takes about 250 bytes.
_MOST_KNOWN = 2**16
# Divisions of a frame that were seen once.
_MOST_NEW = 256

_COUNTER_SIZE = 4
# Beyond the offset of the payload: start string, payload size, packet type.
_CONSTANT_OF_PAYLOAD = 16
_PAYLOAD_HEADER = 36
_END_STRING = 8


@dataclass(slots=True, eq=False)
class _Division:
    """
    How counts divide the data of a frame.

    words: the counts as on the wire, raw: their bytes, places: of each in words of the data.
    grid: all samples in place, which requires equal counts; otherwise None, and parts are the
    samples of each parameter. packet: one divided so, for what is not data.

    branches: by the index and value of the first count that differs, a division that shares it
    and all before it. next: the division of the following packet, last time.
    """

    words: NDArray[np.uint32]
    raw: bytes
    places: NDArray[np.int64]
    grid: NDArray[Any] | None
    parts: list[memoryview]
    packet: DataPacket
    branches: dict[tuple[int, int], _Division] = field(default_factory=dict)
    next: _Division | None = None


class _Frame:
    """Packets of one length that have all but the numbers of their header in common."""

    def __init__(
        self, view: memoryview, payload: int, end: int, layout: SampleLayout,
        owner: PacketLayouts,
    ) -> None:
        start = payload + _PAYLOAD_HEADER
        length = payload + _CONSTANT_OF_PAYLOAD - _COUNTER_SIZE
        self.constant = bytes(view[_COUNTER_SIZE:_COUNTER_SIZE + length])
        self._end_string = bytes(view[end:end + _END_STRING])
        # counter, what is constant, samples in payload, total samples, time, end string
        self._read_header = struct.Struct(
            f'<I{length}sIQ8s{end - start}x{_END_STRING}s').unpack_from
        self._owner = owner
        self._layout = layout
        self._start = start
        # Counts are aligned, as numpy would copy all words otherwise.
        offset = -start % COUNT.itemsize
        self._data = owner.memory[offset:offset + len(view)]
        self._words = np.frombuffer(self._data[start:end], COUNT)
        self._divisions: dict[bytes, _Division] = {}
        self._first: _Division | None = None
        self._last: _Division | None = None
        # Hashes of counts seen once.
        self._new: set[int] = set()
        # Where the search for the division of a packet ended, for want of a branch.
        self._missed: list[tuple[_Division, tuple[int, int]]] = []

    def decode(self, data: bytes | memoryview) -> DataPacket | None:
        """Decode a packet of this length, None if anything is not as in an earlier one."""
        counter, constant, samples, total, bcd, end_string = self._read_header(data)
        last = self._last
        if last is None or constant != self.constant or end_string != self._end_string:
            return None
        self._data[:] = data
        division = self._find(last)
        if division is None:
            return None
        self._last = last.next = division
        like = division.packet
        if samples != like.samples_in_payload:
            return None
        grid = division.grid
        if grid is None:
            grid = np.frombuffer(b''.join(division.parts), self._layout.sample)
        values, times = copy_columns(grid, self._layout)
        return DataPacket(
            counter, like.control, like.names, samples, total, bcd.hex(), like.integer_width,
            like.counts.copy(), values, times, like.flags)

    def _find(self, last: _Division) -> _Division | None:
        """Return the division of the data, by what followed the last one; None if unknown."""
        self._missed = []
        for start in (last.next, self._first):
            division = start
            while division is not None:
                words = self._words[division.places]
                if words.tobytes() == division.raw:
                    self._branch(division)
                    return division
                at = int((words != division.words).argmax())
                # All counts before this one are as expected, so this one is in its place, too.
                branch = at, int(words[at])
                missed = division, branch
                division = division.branches.get(branch)
            self._missed.append(missed)
        return None

    def _branch(self, division: _Division) -> None:
        """Have the next search that ends where the last one did lead to this division."""
        for missed, branch in self._missed:
            missed.branches[branch] = division
            self._owner.count(1)
        self._missed.clear()

    def learn(self, packet: DataPacket) -> None:
        """Learn the division of a packet that ``decode`` did not know, if it has come before."""
        words = packet.counts.astype(COUNT)
        raw = words.tobytes()
        division = self._divisions.get(raw)
        if division is None:
            if hash(raw) not in self._new:
                if len(self._new) >= _MOST_NEW:
                    self._new.clear()
                self._new.add(hash(raw))
                return
            division = self._divisions[raw] = self._divide(packet, words)
            self._owner.count(len(words))
        self._branch(division)
        if self._first is None:
            self._first = division
        if self._last is not None:
            self._last.next = division
        self._last = division

    def _divide(self, packet: DataPacket, words: NDArray[np.uint32]) -> _Division:
        counts, size = packet.counts.copy(), self._layout.sample.itemsize
        ends = np.cumsum(counts * size + COUNT.itemsize)
        begins = ends - counts * size
        grid, parts = None, []
        first = self._start + COUNT.itemsize
        if not len(packet.values):
            grid = np.empty(0, self._layout.sample)
        elif (counts == counts[0]).all():
            grid = np.ndarray(
                (len(counts), int(counts[0])), self._layout.sample, self._data, first,
                (int(ends[0]), size))
            if len(counts) == 1:  # a single row copies faster
                grid = grid[0]
        else:
            parts = [
                self._data[self._start + begin:self._start + end]
                for begin, end in zip(begins.tolist(), ends.tolist(), strict=True) if begin < end]
        like = replace(packet, counts=counts, values=packet.values[:0].copy(), times=None)
        division = _Division(
            words, words.tobytes(), begins // COUNT.itemsize - 1, grid, parts, like)
        division.next = division
        return division


class PacketLayouts:
    """
    The layouts of a publisher's packets, by which ``codec.decode`` recognises further ones.

    They take at most about 16 MB; then all are forgotten, and learnt again. Not for two threads at
    the same time.
    """

    def __init__(self) -> None:
        # Beyond the largest packet: what aligns its counts.
        self.memory = memoryview(bytearray(_LARGEST + COUNT.itemsize))
        self._frames: dict[tuple[int, int | None], _Frame] = {}
        self._known = 0

    def decode(self, data: bytes | memoryview, integer_width: int | None) -> DataPacket | None:
        """
        Decode a packet that is laid out like an earlier one, None if it is not.

        integer_width: as asked for, as in ``learn``.
        """
        frame = self._frames.get((len(data), integer_width))
        return frame.decode(data) if frame is not None else None

    def learn(
        self, view: memoryview, integer_width: int | None, payload: int, end: int,
        layout: SampleLayout, packet: DataPacket,
    ) -> None:
        """
        Learn from a packet that ``decode`` did not know.

        payload, end: the offsets of start and end string. Everything but the data must follow from
        the bytes between counter and samples in payload.
        """
        if len(view) > _LARGEST:
            return
        key = len(view), integer_width
        frame = self._frames.get(key)
        constant = view[_COUNTER_SIZE:payload + _CONSTANT_OF_PAYLOAD]
        if frame is None or frame.constant != constant:
            if len(self._frames) >= _MOST_FRAMES:
                self._forget()
            frame = self._frames[key] = _Frame(view, payload, end, layout, self)
        frame.learn(packet)

    def count(self, known: int) -> None:
        """Count parameters and branches that have become known; forget all if too many are."""
        self._known += known
        if self._known > _MOST_KNOWN:
            self._forget()

    def _forget(self) -> None:
        self._frames.clear()
        self._known = 0
