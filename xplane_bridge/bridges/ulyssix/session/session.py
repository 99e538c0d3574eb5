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
from typing import Any

import numpy as np

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.sessions.base import Address, Outgoing, PeerState, Session, soonest
from xplane_bridge.bridges.sessions.machine import Action, Event, State
from xplane_bridge.bridges.ulyssix import protocol as ulyssix
from xplane_bridge.bridges.ulyssix.protocol import DataPacket, PacketFlag, SkippedPacket
from xplane_bridge.bridges.ulyssix.session.counting import NEW, Verdict
from xplane_bridge.bridges.ulyssix.session.events import (
    NamesChanged,
    PacketReceived,
    PublisherRestarted,
    Reminder,
    Statistics,
)
from xplane_bridge.bridges.ulyssix.session.peer import Peer, SILENCE
from xplane_bridge.bridges.ulyssix.session.senders import Sender, Senders
from xplane_bridge.bridges.ulyssix.session.timeline import Timeline
from xplane_bridge.common.text import printable

# The only channel of this session: the publisher is only listened to.
CHANNEL = 'packets'

# A reminder that is due within this many intervals of packets comes with the packet before: the
# thread need not wake up for it, nor would what it has just handled have left the caches.
_INTERVALS_EARLY = 1.5

# Looking up a member of an Enum costs as much as everything else for a packet.
_OFF, _CONFIRMED = State.OFF, Verdict.CONFIRMED


class UlyssixSession(Session):
    """
    Follow a publisher: packet numbers, parameter names, and how to read its packets.

    integer_width is 8 or 4 bytes per value in integer mode, None to detect it. names are those of
    the parameters for packets without names. rates are (pattern, samples per second) pairs; the
    first whose glob pattern (or exact name) matches a parameter gives the rate of its samples
    without time tags. timeline places packets in time.

    Packets may arrive in any order within a window; PacketCounting detects losses, duplicates and
    restarts. If several publishers send, the packets of all are delivered, but Senders has them
    counted by sender. A publisher is only listened to: nothing is ever sent, taken or requested.
    """

    sentences = {
        PeerState.UNKNOWN: 'nothing heard yet',
        PeerState.STREAMING: 'sending',
        PeerState.SILENT: 'no longer sending',
    }
    advice = dict.fromkeys((PeerState.UNKNOWN, PeerState.SILENT), (
        'check that the publisher is running, that it sends to this computer (or to the group or '
        'broadcast address) and to this port, and that no firewall drops UDP'))

    statistics: Statistics
    _peer: Peer

    def __init__(
        self,
        timeline: Timeline,
        *,
        integer_width: int | None = None,
        names: Sequence[str] = (),
        rates: Sequence[tuple[str, float]] = (),
    ) -> None:
        super().__init__(timeline.statistics)
        self._peer = Peer()
        self.timeline = timeline
        self.integer_width = integer_width
        self.names: tuple[str, ...] = ()
        self.parameter_count: int | None = None
        self._fixed_width = integer_width
        self._layouts = ulyssix.PacketLayouts()
        self._rates = tuple(rates)
        self._given_names = tuple(names)
        # The names of the last packet that had some, as received and as shown.
        self._names_on_wire: tuple[str, ...] | None = None
        self._names_shown: tuple[str, ...] = ()
        self._senders = Senders(self.statistics, timeline.is_later, SILENCE)
        self._heard_at = 0.0
        self._remind_at: float | None = None

    # Called by the owner.

    @property
    def awaited(self) -> int:
        """Return how many packets are missing but may still arrive."""
        return self._senders.awaited

    @property
    def senders(self) -> tuple[Sender, ...]:
        """Return who sends; several whose packets alternate are a mistake of somebody."""
        return self._senders.heard

    @property
    def mixed(self) -> tuple[Sender, ...]:
        """Return who has sent alternately with others, since the start; most often nobody."""
        return self._senders.mixed

    def remind(self, after: float) -> None:
        """
        Have a Reminder ``after`` seconds from the last packet at most, unless one is due already.

        For what is done between packets, in the link's thread. It comes right after a packet if
        it would otherwise be due before the next one.
        """
        if self._remind_at is None:
            self._remind_at = self._heard_at + after

    def stop(self, now: float) -> None:
        """Ignore packets from now on; a gap meanwhile is not a loss."""
        self._happen([Event.STOP], now)

    # Called by the link.

    def receive(
        self, channel: str, data: bytes, sender: Address | None, now: float
    ) -> Sequence[Any]:
        """Handle one datagram; return its events. While stopped, not even bad ones count."""
        if self._peer.state is _OFF:
            return ()
        return super().receive(channel, data, sender, now)

    def poll(self, now: float) -> Sequence[Outgoing]:
        """Notice silence; there is never anything to send, a thousand times per second."""
        if self._remind_at is not None and now >= self._remind_at:
            self._expired.append(self._reminder())
        deadline = self._peer.deadline
        return () if deadline is None or now < deadline else super().poll(now)

    def next_deadline(self) -> float | None:
        """Return when silence is to be noticed, or a reminder is due."""
        return soonest(self._peer.deadline, self._remind_at)

    def _do(self, action: Action, reason: str, now: float) -> Sequence[Any]:
        match action:
            case Action.SETTLE:
                self._senders.close()
            case Action.FORGET:
                self._senders.forget()
            case Action.TELL:
                self.timeline.restart()
                return (PublisherRestarted(),)
            case _:
                return super()._do(action, reason, now)
        return ()

    def _decode(self, channel: str, data: bytes) -> ulyssix.Packet:
        """Decode with the settled width; detect it again if that fails."""
        if self._fixed_width is not None:
            return self._decode_as(data, self._fixed_width)
        if self.integer_width is not None:
            try:
                packet = self._decode_as(data, self.integer_width)
                if PacketFlag.SAMPLE_COUNT_MISMATCH not in packet.flags:
                    return packet
            except ProtocolError:
                pass
        packet = self._decode_as(data, None)
        if isinstance(packet, DataPacket) and packet.integer_width is not None:
            if PacketFlag.INTEGER_WIDTH_AMBIGUOUS not in packet.flags:
                self.integer_width = packet.integer_width
            elif self.parameter_count not in (None, len(packet.counts)):
                # A false reading does not have as many parameters as last time (row 7).
                narrow = ulyssix.decode(data, 'peer', integer_width=4)
                if isinstance(narrow, DataPacket) and len(narrow.counts) == self.parameter_count:
                    return narrow
        return packet

    def _decode_as(self, data: bytes, integer_width: int | None) -> ulyssix.Packet:
        return ulyssix.decode(
            data, 'peer', integer_width=integer_width, layouts=self._layouts)

    def _kind(self, data: bytes, error: ProtocolError) -> str:
        """Name what the decoder rejects: its words before a number or a position."""
        text = str(error)
        if text.startswith('as '):
            return 'integer values'
        found = re.match(r'[a-z ]*?[a-z]+(?=:| at | \d)', text)
        return found.group() if found else 'other'

    def _on_datagram(
        self, channel: str, packet: ulyssix.Packet, sender: Address | None, now: float
    ) -> list[Any]:
        for flag in packet.flags:
            self.statistics.flags[flag] += 1
        before, self._heard_at = self._heard_at, now
        happened = self._peer.on_reply(now)
        events = self._happen(happened, now) if happened else []
        if isinstance(packet, SkippedPacket):
            self.statistics.skipped.add(str(packet.packet_type))
            self._senders.skip(sender, packet.counter)
            return events
        senders = self._senders
        stream = senders.current
        if stream is None or sender != stream.address or now >= senders.due:
            if senders.turn_to(sender, packet, now):
                self.statistics.restarts += 1
                events += self._happen([Event.OTHER], now)
            stream = senders.current
            assert stream is not None
        stream.heard_at = now
        stream.packets += 1
        verdict = stream.counting.take(packet, now)
        if verdict is not NEW:
            if verdict is Verdict.DROPPED:
                return events
            events += self._happen([Event.OTHER], now)
        for each in stream.counting.take_confirmed() if verdict is _CONFIRMED else (packet,):
            self._deliver(each, events)
        if self._remind_at is not None and (
                now + _INTERVALS_EARLY * (now - before) >= self._remind_at):
            events.append(self._reminder())
        return events

    def _reminder(self) -> Reminder:
        self._remind_at = None
        return Reminder()

    def _deliver(self, packet: DataPacket, events: list[Any]) -> None:
        self.statistics.packets += 1
        self.statistics.samples += len(packet.values)
        self.parameter_count = len(packet.counts)
        names = self._find_names(packet)
        if names and names != self.names:
            self.names = names
            self.statistics.renamed += 1
            self.timeline.periods_ns = self._periods(names)
            events.append(NamesChanged(names))
        # A publisher never sends one without samples; there is nothing to report.
        if len(packet.values):
            events.append(PacketReceived(packet, names))

    # Names.

    def _find_names(self, packet: DataPacket) -> tuple[str, ...]:
        """Return the names of a packet's parameters, its own or earlier ones; none if unknown."""
        if packet.names is not None:
            if packet.names != self._names_on_wire:
                self._names_on_wire = packet.names
                self._names_shown = tuple(map(printable, packet.names))
            return self._names_shown
        for names in (self.names, self._given_names):
            if len(names) == len(packet.counts):
                return names
        self.statistics.unnamed += 1
        return ()

    def _periods(self, names: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
        """Return the spacing of each parameter's samples in ns, 0 if no rate is given."""
        if not self._rates:
            return None
        return np.array([
            next((round(1e9 / rate) for pattern, rate in self._rates
                  if name == pattern or fnmatchcase(name, pattern)), 0)
            for name in names
        ], np.int64)


def named_rate(text: str) -> tuple[str, float]:
    """Return the pattern and the samples per second in 'name=rate'. Raises ValueError."""
    pattern, _, number = text.rpartition('=')
    try:
        rate = float(number)
    except ValueError:
        rate = 0.0
    if not pattern or not 0.0 < rate < 1e9:
        raise ValueError(f"'{text}' is not like 'name=100', samples per second")
    return pattern, rate
