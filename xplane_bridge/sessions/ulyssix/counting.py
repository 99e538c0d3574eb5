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

"""Following the numbers of a publisher's packets: which are lost, late, doubled, begun anew."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from xplane_bridge.protocols.ulyssix import COUNTER_MODULUS, DataPacket
from xplane_bridge.sessions.ulyssix.events import Statistics

WINDOW = 128
"""A packet that this many newer ones have overtaken is lost."""

# The network's duplicates come at once; the same packet later than this was sent again, as by a
# short recording that is played in a loop.
_LONGEST_ECHO = 1.0
# Of hours without a network; a greater step ahead needs a second packet to be believed.
_LONGEST_GAP = 1_000_000
_HALF = COUNTER_MODULUS // 2


class Verdict(Enum):
    """What is to be done with a packet."""

    NEW = 'deliver it'
    DROPPED = 'it is a duplicate, too late, or waits for evidence'
    RESTARTED = 'counting began anew with it'
    CONFIRMED = 'counting began anew with the packet that was held, which comes first'


# To look a member of an Enum up costs as much as the rest for a packet that is in order.
NEW = Verdict.NEW


# Of a packet that came: its total of samples, its time as hex digits, when it came, its samples.
_Seen = tuple[int, str, float, int]


class PacketCounting:
    """
    Tell new packets from duplicates and restarts, and count what is lost.

    Numbers are modulo 2^32. Within a window of WINDOW packets they may come in any order and any
    number of times; what has not come when the window has passed is lost. It reaches back beyond
    the first packet that came, too.

    A restart needs evidence: a number that came before with other contents; a total of samples
    that falls while the number rises; a lower number with a time that is later
    (``is_later(time, than)``; None is not known). What else goes far back, or very far ahead, is
    held until the next packet: if that follows it, counting began anew; if not, it was a
    straggler.
    """

    def __init__(
        self, statistics: Statistics, is_later: Callable[[str, str], bool | None]
    ) -> None:
        self._statistics = statistics
        self._is_later = is_later
        self.forget()

    def forget(self) -> None:
        """Forget all packets; the next one is the first."""
        self._newest: DataPacket | None = None
        # Of the packet that is held: itself, and whether it came before.
        self.held: DataPacket | None = None
        self._held_again = False
        # The counter that is next in order. All other numbers go on beyond 2^32.
        self._next = 0
        self._number = 0
        self._seen: dict[int, _Seen] = {}
        # Numbers of packets of other types, of which it is not said whether they are counted.
        self._others: set[int] = set()
        # The first number that may still come, and the first of all.
        self._floor = self._base = 0
        self._settled_total = 0
        self._gap = False

    @property
    def awaited(self) -> int:
        """Return how many numbers within the window have not come yet."""
        if self._newest is None:
            return 0
        others = sum(
            1 for number in self._others
            if self._floor <= number <= self._number and number not in self._seen)
        return self._number + 1 - self._floor - len(self._seen) - others

    def take(self, packet: DataPacket, now: float) -> Verdict:
        """Take the next data packet."""
        newest = self._newest
        if newest is None:
            self._begin(packet, now)
            return NEW
        if packet.counter == self._next and self.held is None:
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
        if step <= 0:
            return self._take_older(packet, self._number + step, newest, now)
        if added < 0:
            return self._restart(packet, now)
        if step > _LONGEST_GAP:
            return self._hold(packet, False, now)
        if self.held is not None:
            self._let_go()
        self._advance(packet, self._number + step, now)
        return NEW

    def skip(self, counter: int) -> None:
        """Take a packet of another type: if it is counted like the others, its number came."""
        if self._newest is None:
            return
        step = (counter - self._newest.counter + _HALF) % COUNTER_MODULUS - _HALF
        number = self._number + step
        # What is below the floor is settled, and would never be forgotten.
        if step <= WINDOW and number >= self._floor and number not in self._seen:
            self._others.add(number)

    def close(self) -> None:
        """Count as lost what has not come until now: nothing comes any more."""
        if self.held is not None:
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
        """Take a packet that is newer than all others."""
        floor = number - WINDOW + 1
        if floor > self._floor:
            reach = self._number + 1
            if floor > reach:
                self._settle(reach)
                # Nothing of these was seen.
                unseen = floor - reach
                passed = {other for other in self._others if other < floor}
                self._others -= passed
                self._statistics.lost += unseen - len(passed)
                self._floor, self._gap = floor, True
            else:
                self._settle(floor)
        self._newest = packet
        self._next = (packet.counter + 1) % COUNTER_MODULUS
        self._number = number
        self._seen[number] = _seen(packet, now)

    def _settle(self, floor: int) -> None:
        """Let the window begin at ``floor``: what of the numbers before has not come is lost."""
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
                self._statistics.lost += 1
                self._gap = True
        if floor > self._floor:
            self._floor = floor

    def _take_older(
        self, packet: DataPacket, number: int, newest: DataPacket, now: float
    ) -> Verdict:
        """Take a packet whose number is not above all others."""
        seen = self._seen.get(number)
        again = seen is not None
        if seen is not None:
            total, bcd, at, _ = seen
            if total != packet.total_samples or bcd != packet.bcd_hex_on_wire:
                return self._restart(packet, now)
            if now - at < _LONGEST_ECHO:
                self._statistics.duplicates += 1
                return Verdict.DROPPED
        elif self._is_later(packet.bcd_hex_on_wire, newest.bcd_hex_on_wire):
            return self._restart(packet, now)
        elif (
            number > self._number - WINDOW and packet.total_samples <= newest.total_samples
            and (number >= self._floor or self._floor == self._base)
        ):
            if number < self._floor:
                # It was overtaken by the first that came.
                self._floor = self._base = number
            self._seen[number] = _seen(packet, now)
            self._others.discard(number)
            self._statistics.late += 1
            return NEW
        return self._hold(packet, again, now)

    def _restart(self, packet: DataPacket, now: float) -> Verdict:
        self.close()
        self._begin(packet, now)
        self._statistics.restarts += 1
        return Verdict.RESTARTED

    def _hold(self, packet: DataPacket, again: bool, now: float) -> Verdict:
        """Let a packet wait for the next one; if it is that next one, begin anew."""
        held = self.held
        if held is None or not 0 < (packet.counter - held.counter) % COUNTER_MODULUS <= WINDOW:
            if held is not None:
                self._let_go()
            self.held, self._held_again = packet, again
            return Verdict.DROPPED
        self.held = None
        self.close()
        self._begin(held, now)
        self._advance(packet, self._number + (
            packet.counter - held.counter) % COUNTER_MODULUS, now)
        self.held = held
        self._statistics.restarts += 1
        return Verdict.CONFIRMED

    def take_held(self) -> DataPacket | None:
        """Remove and return the packet that was held, which is to be delivered."""
        held, self.held = self.held, None
        return held

    def _let_go(self) -> None:
        """Count the packet that was held as what it was: nothing new."""
        self.held = None
        if self._held_again:
            self._statistics.duplicates += 1
        else:
            self._statistics.too_late += 1


def _seen(packet: DataPacket, now: float) -> _Seen:
    return packet.total_samples, packet.bcd_hex_on_wire, now, packet.samples_in_payload
