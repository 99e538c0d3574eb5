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

"""Listening to a Ulyssix publisher. Time is passed in; there is no socket."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
import re

import numpy as np

from xplane_bridge.protocols import ulyssix
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.protocols.ulyssix import COUNTER_MODULUS, DataPacket, PacketFlag, SkippedPacket
from xplane_bridge.sessions.ulyssix.events import (
    Event,
    NamesChanged,
    PacketReceived,
    PublisherChanged,
    PublisherRestarted,
    PublisherState,
    Statistics,
)
from xplane_bridge.sessions.ulyssix.timeline import Timeline

# The one channel of this session: the publisher is only listened to.
CHANNEL = 'packets'

# Packets come every 10 to 50 ms while there are samples; slow parameters alone may take longer.
_SILENCE = 2.0
# A packet overtaken by more than this many is not late, it is another publisher's.
_WINDOW = 64
# The network's duplicates come at once; the same packet later than this was sent again, as by a
# short recording that is played in a loop.
_LONGEST_ECHO = 1.0


class UlyssixSession:
    """
    Follow one publisher: its packets' numbers, its parameters' names, and how it is to be read.

    integer_width is 8 or 4 bytes a value in integer mode, None to find out. names are those of
    the parameters for packets without names. rates are (pattern, samples a second) pairs, the
    first whose glob pattern (or exact name) fits a parameter being that of its samples without
    time tags. timeline places packets in time.

    Packets are counted modulo 2^32. A gap is a loss until what is missing comes late; a number
    that has just come with the same time and total is a duplicate, which is dropped. Anything
    else that goes backwards is a restart.
    """

    def __init__(
        self,
        timeline: Timeline,
        *,
        integer_width: int | None = None,
        names: Sequence[str] = (),
        rates: Sequence[tuple[str, float]] = (),
    ) -> None:
        self.timeline = timeline
        self.statistics: Statistics = timeline.statistics
        self.publisher_state = PublisherState.UNKNOWN
        self.integer_width = integer_width
        self.names: tuple[str, ...] = ()
        self.parameter_count: int | None = None
        self._fixed_width = integer_width
        self._rates = tuple(rates)
        self._given_names = tuple(names)
        self._active = False
        self._deadline: float | None = None
        self._expired: list[Event] = []
        self._forget_packets()

    def start(self, now: float) -> None:
        """Begin to listen."""
        self._active = True
        self._deadline = now + _SILENCE
        self._forget_packets()

    def stop(self, now: float) -> None:
        """Ignore what comes from now on; a gap meanwhile is no loss."""
        self._active = False
        self._deadline = None
        self.publisher_state = PublisherState.UNKNOWN

    def receive(self, channel: str, data: bytes, now: float) -> list[Event]:
        """Take one datagram; return what it tells."""
        if not self._active:
            return []
        try:
            packet = self._decode(data)
        except ProtocolError as error:
            self.statistics.malformed[_kind(str(error))] += 1
            self.statistics.last_error = str(error)
            return []
        for flag in packet.flags:
            self.statistics.flags[flag] += 1
        events: list[Event] = []
        self._deadline = now + _SILENCE
        if self.publisher_state is not PublisherState.SENDING:
            self.publisher_state = PublisherState.SENDING
            events.append(PublisherChanged(self.publisher_state))
        if isinstance(packet, SkippedPacket):
            # Whether these take part in the counting is not said.
            self.statistics.skipped[packet.packet_type] += 1
            return events
        if not self._count(packet, events, now):
            return events
        self.statistics.packets += 1
        self.statistics.samples += len(packet.values)
        self.parameter_count = len(packet.counts)
        names = self._names_of(packet)
        if names and names != self.names:
            self.names = names
            self.timeline.periods_ns = self._periods(names)
            events.append(NamesChanged(names))
        # A publisher never sends one without samples; there is nothing to tell.
        if len(packet.values):
            events.append(PacketReceived(packet, names))
        return events

    def poll(self, now: float) -> list[tuple[str, bytes | None]]:
        """Notice silence; there is never anything to send."""
        if self._deadline is not None and now >= self._deadline:
            self._deadline = None
            if self.publisher_state is PublisherState.SENDING:
                self.publisher_state = PublisherState.SILENT
            self._expired.append(PublisherChanged(self.publisher_state))
        return []

    def next_deadline(self) -> float | None:
        """Return when silence is to be noticed."""
        return self._deadline

    def expired(self) -> list[Event]:
        """Return what time has caused."""
        events, self._expired = self._expired, []
        return events

    def _decode(self, data: bytes) -> ulyssix.Packet:
        """Decode with the width that was settled; find out anew where that does not do."""
        if self._fixed_width is not None:
            return ulyssix.decode(data, integer_width=self._fixed_width)
        if self.integer_width is not None:
            try:
                packet = ulyssix.decode(data, integer_width=self.integer_width)
                if PacketFlag.SAMPLE_COUNT_MISMATCH not in packet.flags:
                    return packet
            except ProtocolError:
                pass
        packet = ulyssix.decode(data)
        if isinstance(packet, DataPacket) and packet.integer_width is not None:
            if PacketFlag.INTEGER_WIDTH_AMBIGUOUS not in packet.flags:
                self.integer_width = packet.integer_width
            elif self.parameter_count not in (None, len(packet.counts)):
                # As many parameters as last time is what a false reading does not have (row 7).
                narrow = ulyssix.decode(data, integer_width=4)
                if isinstance(narrow, DataPacket) and len(narrow.counts) == self.parameter_count:
                    return narrow
        return packet

    # Counting.

    def _forget_packets(self) -> None:
        self._newest: DataPacket | None = None
        self._seen: dict[int, tuple[tuple[int, str], float]] = {}

    def _count(self, packet: DataPacket, events: list[Event], now: float) -> bool:
        """Follow counter and total of samples; tell whether the packet is a new one."""
        newest = self._newest
        identity = (packet.total_samples, packet.bcd_hex_on_wire)
        if newest is None:
            self._seen[packet.counter] = identity, now
            self._newest = packet
            return True
        gap = (packet.counter - newest.counter) % COUNTER_MODULUS
        step = packet.total_samples - newest.total_samples
        known, then = self._seen.get(packet.counter, (None, 0.0))
        if known == identity and now - then < _LONGEST_ECHO:
            self.statistics.duplicates += 1
            return False
        behind = COUNTER_MODULUS - gap
        if behind < _WINDOW and packet.counter not in self._seen and step <= 0:
            if self._missed(packet.counter):
                self.statistics.late += 1
                self._seen[packet.counter] = identity, now
                return True
        elif 0 < gap < COUNTER_MODULUS // 2 and step >= 0:
            self._advance(gap, step, packet, newest)
            self._seen[packet.counter] = identity, now
            self._newest = packet
            return True
        self.statistics.restarts += 1
        self.timeline.restart()
        self._forget_packets()
        self._seen[packet.counter] = identity, now
        self._newest = packet
        events.append(PublisherRestarted())
        return True

    def _missed(self, counter: int) -> bool:
        """Tell whether a number is between those seen, and not before the first of them."""
        oldest = next(iter(self._seen))
        return (counter - oldest) % COUNTER_MODULUS < COUNTER_MODULUS // 2

    def _advance(self, gap: int, step: int, packet: DataPacket, newest: DataPacket) -> None:
        statistics = self.statistics
        if gap > 1:
            statistics.missing += gap - 1
            statistics.missing_samples += max(0, step - packet.samples_in_payload)
        elif step not in (packet.samples_in_payload, newest.samples_in_payload):
            # The total may or may not include the packet that states it (row 15).
            statistics.total_mismatches += 1
        while len(self._seen) >= _WINDOW:
            del self._seen[next(iter(self._seen))]

    # Names.

    def _names_of(self, packet: DataPacket) -> tuple[str, ...]:
        """Return the names of a packet's parameters, from it or from another; none if unknown."""
        if packet.names is not None:
            return packet.names
        for names in (self.names, self._given_names):
            if len(names) == len(packet.counts):
                return names
        self.statistics.unnamed += 1
        return ()

    def _periods(self, names: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
        """Return the spacing of each parameter's samples in ns, 0 where no rate is given."""
        if not self._rates:
            return None
        return np.array([
            next((round(1e9 / rate) for pattern, rate in self._rates
                  if name == pattern or fnmatchcase(name, pattern)), 0)
            for name in names
        ], np.int64)


def _kind(text: str) -> str:
    """Return what a decoder's complaint is about: its words before a number or a place."""
    if text.startswith('as '):
        return 'integer values'
    found = re.match(r'[a-z ]*?[a-z]+(?=:| at | \d)', text)
    return found.group() if found else 'other'
