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

"""Who sends the packets: each sender has packet numbers of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
from typing import NamedTuple

from xplane_bridge.bridges.sessions.base import Address
from xplane_bridge.bridges.ulyssix.protocol import COUNTER_MODULUS, DataPacket
from xplane_bridge.bridges.ulyssix.session.counting import PacketCounting, WINDOW
from xplane_bridge.bridges.ulyssix.session.events import Statistics
from xplane_bridge.common.text import counted

# Whoever reaches the port is a sender: the one that was silent for longest makes room.
_MOST_SENDERS = 8
# A sender that was replaced may still be heard, by packets that were under way: for so many times
# the silence, and so often, that is no sending.
_FORGOTTEN = 3.0
_STRAGGLES = 2
_MOST_NAMED = 3


class Sender(NamedTuple):
    """A sender: where it sends from as host:port, and its packets received and lost."""

    address: str
    packets: int
    lost: int


class PacketStream:
    """The packets of one sender: their numbers, how many there were, and when the last came."""

    __slots__ = ('address', 'counting', 'heard_at', 'packets', 'returns')

    def __init__(
        self, address: Address | None, statistics: Statistics,
        is_later: Callable[[str, str, int], bool | None], now: float,
    ) -> None:
        self.address = address
        self.counting = PacketCounting(statistics, is_later)
        self.heard_at = now
        self.packets = 0
        # How often it went on after another one had sent.
        self.returns = 0


class Senders:
    """
    Tell senders apart, so that the packet numbers of one are not gaps in those of another.

    A sender is an address and a port. A packet from a new port of a known host that continues
    the numbers of that host is the same sender, which opens a new socket now and then. A sender
    that has been silent for three times ``silence`` seconds while another one sends is forgotten.

    ``alternations`` of the statistics counts how often a sender went on after another one had
    sent: two publishers send to one port. One that was restarted does not go on, but for a
    straggler or two, which do not count.
    """

    def __init__(
        self, statistics: Statistics, is_later: Callable[[str, str, int], bool | None],
        silence: float,
    ) -> None:
        self._statistics = statistics
        self._is_later = is_later
        self._silence = silence
        self._streams: dict[Address | None, PacketStream] = {}
        self._mixed: list[PacketStream] = []
        self.current: PacketStream | None = None
        self.due = math.inf
        """When somebody may have been silent for long, if there are several."""

    @property
    def awaited(self) -> int:
        """Return how many packets are missing but may still arrive."""
        return sum(one.counting.awaited for one in self._streams.values())

    @property
    def heard(self) -> tuple[Sender, ...]:
        """Return those that send, or did when a packet was last heard."""
        newest = max((one.heard_at for one in self._streams.values()), default=0.0)
        return tuple(_sender(one) for one in self._streams.values()
                     if newest < one.heard_at + self._silence)

    @property
    def mixed(self) -> tuple[Sender, ...]:
        """Return those that have ever sent alternately, the first few."""
        return tuple(map(_sender, self._mixed))

    def turn_to(self, address: Address | None, packet: DataPacket, now: float) -> bool:
        """Make the sender of a packet the current one; return whether it replaces another."""
        self._forget_silent(address, now)
        before, found = self.current, self._streams.get(address)
        is_new = False
        if found is not None:
            if before is not None and found is not before:
                found.returns += 1
                if found.returns > _STRAGGLES:
                    self._statistics.alternations += 1
                    self._mix(found, before)
        elif (found := self._moved(address, packet)) is not None:
            del self._streams[found.address]
            found.address = address
        else:
            is_new = before is not None
            if len(self._streams) >= _MOST_SENDERS:
                self._drop(min(self._streams.values(), key=lambda one: one.heard_at))
            found = PacketStream(address, self._statistics, self._is_later, now)
        self._streams[address] = self.current = found
        self.due = now + self._silence if len(self._streams) > 1 else math.inf
        return is_new

    def skip(self, address: Address | None, counter: int) -> None:
        """Count a packet of another type."""
        if (found := self._streams.get(address)) is not None:
            found.counting.skip(counter)

    def close(self) -> None:
        """Count everything still missing as lost: nothing more will arrive."""
        for one in self._streams.values():
            one.counting.close()

    def forget(self) -> None:
        """Forget all; the next packet is the first."""
        self._streams, self._mixed = {}, []
        self.current, self.due = None, math.inf

    def _mix(self, *streams: PacketStream) -> None:
        for one in streams:
            if len(self._mixed) < _MOST_SENDERS and one not in self._mixed:
                self._mixed.append(one)

    def _moved(self, address: Address | None, packet: DataPacket) -> PacketStream | None:
        """Return the sender whose numbers a packet from another port of its host continues."""
        if address is None:
            return None
        return next((
            one for one in self._streams.values()
            if one.address is not None and one.address[0] == address[0]
            and (newest := one.counting.newest) is not None
            and 0 < (step := (packet.counter - newest.counter) % COUNTER_MODULUS) <= WINDOW
            and packet.total_samples >= newest.total_samples + step), None)

    def _forget_silent(self, address: Address | None, now: float) -> None:
        for one in tuple(self._streams.values()):
            if one.address != address and one is not self.current and (
                    now >= one.heard_at + _FORGOTTEN * self._silence):
                self._drop(one)

    def _drop(self, one: PacketStream) -> None:
        one.counting.close()
        del self._streams[one.address]


def _sender(one: PacketStream) -> Sender:
    address = 'unknown' if one.address is None else f'{one.address[0]}:{one.address[1]}'
    return Sender(address, one.packets, one.counting.lost)


def mixed(senders: Sequence[Sender], how: str) -> str:
    """
    Return the sentence that several senders are mixed, and ``how`` one of them is selected.

    ``how`` precedes one of them, as the parameter sender takes it.
    """
    shown = [f'{one.address} ({counted(one.packets, "packet")}, {one.lost} lost)'
             for one in senders[:_MOST_NAMED]]
    if len(senders) > len(shown):
        shown.append(f'{len(senders) - len(shown)} more')
    hosts = [one.address.rpartition(':')[0] for one in senders]
    choice = senders[0].address if len(set(hosts)) < len(hosts) else hosts[0]
    return (f'{len(senders)} senders are mixed: {", ".join(shown[:-1])} and {shown[-1]}; '
            f'{how} {choice}')
