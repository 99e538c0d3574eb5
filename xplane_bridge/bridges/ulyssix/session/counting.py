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

"""Following a publisher's packet numbers: lost, late and duplicate packets, and restarts."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from itertools import pairwise

from xplane_bridge.bridges.ulyssix.protocol import COUNTER_MODULUS, DataPacket
from xplane_bridge.bridges.ulyssix.session.events import Statistics
from xplane_bridge.common.timing import SECOND_NS

WINDOW = 128
"""A packet that this many newer ones have overtaken is lost."""

# The network's duplicates arrive at once; the same packet later than this was sent again, as from
# a short recording played in a loop.
_LONGEST_ECHO = 1.0
# An old packet overtakes nothing: so many of them at once, or for so many seconds while nothing
# newer comes, are no burst that the network has held back, but a recording that is played again.
_LARGEST_BURST, _LONGEST_BURST = 256, 0.5
# The first data point may be a slow parameter's, and older than the previous packet's.
_OUT_OF_ORDER = SECOND_NS
# The packets of the run before that may still be under way: some seconds of them.
_UNDER_WAY = 2**16
# Hours without a network; a greater step ahead needs a second packet to be believed.
_LONGEST_GAP = 1_000_000
_HALF = COUNTER_MODULUS // 2


class Verdict(Enum):
    """What to do with a packet."""

    NEW = 'deliver it'
    DROPPED = 'it is a duplicate, too late, or waits for evidence'
    RESTARTED = 'counting restarted with it'
    CONFIRMED = 'counting restarted with packets that were held: deliver these'


# Looking up a member of an Enum costs as much as everything else for a packet in order.
NEW = Verdict.NEW


# A received packet: its total of samples, its time as hex digits, its arrival, its samples.
_Seen = tuple[int, str, float, int]


class PacketCounting:
    """
    Tell new packets from duplicates and restarts, and count losses.

    Numbers are modulo 2^32. Within a window of WINDOW packets they may arrive in any order and any
    number of times; what is still missing when the window has passed is lost. The window reaches
    back beyond the first packet received, too.

    A restart needs evidence: a number received before with other contents; a total of samples that
    falls while the number rises; a lower number with a later time. Any other number far back, or
    very far ahead, is held until the next packet: if that follows it and both are newer than all
    before, counting restarted. So it did if older ones go on for half a second while nothing newer
    comes: a recording is played again. If something does, they were stragglers. So are those that
    are older than a restart, and have numbers of before it.

    ``lost`` are those of this publisher alone; the statistics may count several.
    """

    def __init__(
        self, statistics: Statistics, is_later: Callable[[str, str, int], bool | None]
    ) -> None:
        self._statistics = statistics
        self._is_later = is_later
        self.lost = 0
        self.forget()

    def forget(self) -> None:
        """Forget all packets; the next one is the first."""
        self._newest: DataPacket | None = None
        # Held packets, each with whether its number was received before, and when it came.
        self._held: list[tuple[DataPacket, bool, float]] = []
        # Those with which counting restarted, to be delivered.
        self._confirmed: list[DataPacket] = []
        # The newest packet of the run before, and the first of this one.
        self._past: tuple[DataPacket, DataPacket] | None = None
        # The next counter in order. All other numbers continue beyond 2^32.
        self._next = 0
        self._number = 0
        self._seen: dict[int, _Seen] = {}
        # Numbers of packets of other types; the document does not say whether these are counted.
        self._others: set[int] = set()
        # The lowest number that may still arrive, and the lowest of all.
        self._floor = self._base = 0
        self._settled_total = 0
        self._gap = False

    @property
    def newest(self) -> DataPacket | None:
        """Return the packet with the highest number."""
        return self._newest

    @property
    def awaited(self) -> int:
        """Return how many numbers within the window are still missing."""
        if self._newest is None:
            return 0
        others = sum(
            1 for number in self._others
            if self._floor <= number <= self._number and number not in self._seen)
        return self._number + 1 - self._floor - len(self._seen) - others

    def take(self, packet: DataPacket, now: float) -> Verdict:
        """Count the next data packet."""
        newest = self._newest
        if newest is None:
            self._begin(packet, now)
            return NEW
        if packet.counter == self._next and not self._held:
            added = packet.total_samples - newest.total_samples
            if added >= 0:
                samples = packet.samples_in_payload
                if added != samples and added != newest.samples_in_payload:
                    # The total may or may not include the packet that states it (row 15).
                    self._statistics.total_mismatches += 1
                self._newest = packet
                self._next = (packet.counter + 1) % COUNTER_MODULUS
                self._number = number = self._number + 1
                self._seen[number] = packet.total_samples, packet.bcd_hex_on_wire, now, samples
                if number - self._floor >= WINDOW:
                    self._settle(number - WINDOW + 1)
                return NEW
        step = (packet.counter - newest.counter + _HALF) % COUNTER_MODULUS - _HALF
        added = packet.total_samples - newest.total_samples
        if self._is_from_before(packet, self._number + step):
            self._statistics.too_late += 1
            return Verdict.DROPPED
        if step <= 0:
            return self._take_older(packet, self._number + step, newest, now)
        if added < 0:
            return self._restart(packet, now)
        if step > _LONGEST_GAP:
            return self._hold(packet, False, now)
        self._let_go()
        self._advance(packet, self._number + step, now)
        return NEW

    def skip(self, counter: int) -> None:
        """Count a packet of another type: if those are counted too, its number has arrived."""
        if self._newest is None:
            return
        step = (counter - self._newest.counter + _HALF) % COUNTER_MODULUS - _HALF
        number = self._number + step
        # Numbers below the floor are settled, and would never be forgotten.
        if step <= WINDOW and number >= self._floor and number not in self._seen:
            self._others.add(number)

    def close(self) -> None:
        """Count everything still missing as lost: nothing more will arrive."""
        self._let_go()
        if self._newest is not None:
            self._settle(self._number + 1)

    def _begin(self, packet: DataPacket, now: float) -> None:
        self.forget()
        self._newest = packet
        self._next = (packet.counter + 1) % COUNTER_MODULUS
        self._number = self._floor = self._base = packet.counter
        self._seen[self._number] = _seen(packet, now)

    def _advance(self, packet: DataPacket, number: int, now: float) -> None:
        """Count a packet that is newer than all others."""
        floor = number - WINDOW + 1
        if floor > self._floor:
            reach = self._number + 1
            if floor > reach:
                self._settle(reach)
                # None of these was received.
                unseen = floor - reach
                passed = {other for other in self._others if other < floor}
                self._others -= passed
                self._lose(unseen - len(passed))
                self._floor, self._gap = floor, True
            else:
                self._settle(floor)
        self._newest = packet
        self._next = (packet.counter + 1) % COUNTER_MODULUS
        self._number = number
        self._seen[number] = _seen(packet, now)

    def _settle(self, floor: int) -> None:
        """Let the window begin at ``floor``: numbers before it that are missing are lost."""
        for number in range(self._floor, floor):
            seen = self._seen.pop(number, None)
            other = number in self._others
            if other:
                self._others.remove(number)
            if seen is not None:
                if self._gap:
                    self._gap = False
                    total, _, _, samples = seen
                    self._statistics.missing_samples += max(
                        0, total - self._settled_total - samples)
                self._settled_total = seen[0]
            elif not other:
                self._lose(1)
                self._gap = True
        if floor > self._floor:
            self._floor = floor

    def _lose(self, packets: int) -> None:
        self.lost += packets
        self._statistics.lost += packets

    def _take_older(
        self, packet: DataPacket, number: int, newest: DataPacket, now: float
    ) -> Verdict:
        """Count a packet whose number is not above all others."""
        seen = self._seen.get(number)
        again = seen is not None
        if seen is not None:
            total, bcd, at, _ = seen
            if total != packet.total_samples or bcd != packet.bcd_hex_on_wire:
                return self._restart(packet, now)
            if now - at < _LONGEST_ECHO:
                self._statistics.duplicates += 1
                return Verdict.DROPPED
        elif self._is_later(packet.bcd_hex_on_wire, newest.bcd_hex_on_wire, _OUT_OF_ORDER):
            return self._restart(packet, now)
        elif (
            number > self._number - WINDOW and packet.total_samples <= newest.total_samples
            and (number >= self._floor or self._floor == self._base)
        ):
            if number < self._floor:
                # It was overtaken by the first packet received.
                self._floor = self._base = number
            self._seen[number] = _seen(packet, now)
            self._others.discard(number)
            self._statistics.late += 1
            return NEW
        return self._hold(packet, again, now)

    def _is_from_before(self, packet: DataPacket, number: int) -> bool:
        """Return whether a packet was sent before counting restarted, and has only come now."""
        if self._past is None or self._floor - WINDOW < number < self._floor:
            return False
        newest, first = self._past
        behind = (newest.counter - packet.counter + WINDOW) % COUNTER_MODULUS - WINDOW
        return behind < _UNDER_WAY and bool(
            self._is_later(first.bcd_hex_on_wire, packet.bcd_hex_on_wire, 0))

    def _restart(self, packet: DataPacket, now: float) -> Verdict:
        self._begin_again(packet, now)
        return Verdict.RESTARTED

    def _begin_again(self, first: DataPacket, now: float) -> None:
        """Let counting restart with a packet."""
        newest = self._newest
        self.close()
        self._begin(first, now)
        self._statistics.restarts += 1
        if newest is not None:
            self._past = newest, first

    def _hold(self, packet: DataPacket, again: bool, now: float) -> Verdict:
        """Hold a packet until it is known whether counting restarted."""
        held = self._held
        goes_on = bool(held) and 0 < (
            packet.counter - held[-1][0].counter) % COUNTER_MODULUS <= WINDOW
        if goes_on:
            held.append((packet, again, now))
        if len(held) > 1 and (self._are_run(now) or goes_on and self._are_new()):
            self._confirm()
            if not goes_on and self.take(packet, now) is not Verdict.DROPPED:
                self._confirmed.append(packet)
            return Verdict.CONFIRMED
        if not goes_on:
            self._let_go()
            self._held = [(packet, again, now)]
        return Verdict.DROPPED

    def _are_new(self) -> bool:
        """Return whether nothing shows that the held packets were sent before the newest one."""
        assert self._newest is not None
        than = self._newest.bcd_hex_on_wire
        return not any(
            again or self._is_later(held.bcd_hex_on_wire, than, 0) is False
            for held, again, _ in self._held)

    def _are_run(self, now: float) -> bool:
        """Return whether the held packets are too many for a burst, and most of their numbers."""
        (first, _, begun), (last, _, _) = self._held[0], self._held[-1]
        many = len(self._held)
        return (many >= _LARGEST_BURST or now >= begun + _LONGEST_BURST) and (
            last.counter - first.counter) % COUNTER_MODULUS < 2 * many

    def _confirm(self) -> None:
        """Let counting restart with the held packets."""
        held, self._held = self._held, []
        self._begin_again(held[0][0], held[0][2])
        for (before, _, _), (packet, _, at) in pairwise(held):
            self._advance(
                packet, self._number + (packet.counter - before.counter) % COUNTER_MODULUS, at)
        self._confirmed = [packet for packet, _, _ in held]

    def take_confirmed(self) -> list[DataPacket]:
        """Remove and return the packets to be delivered with which counting restarted."""
        confirmed, self._confirmed = self._confirmed, []
        return confirmed

    def _let_go(self) -> None:
        """Count the held packets for what they were: nothing new."""
        for _, again, _ in self._held:
            if again:
                self._statistics.duplicates += 1
            else:
                self._statistics.too_late += 1
        self._held = []


def _seen(packet: DataPacket, now: float) -> _Seen:
    return packet.total_samples, packet.bcd_hex_on_wire, now, packet.samples_in_payload
