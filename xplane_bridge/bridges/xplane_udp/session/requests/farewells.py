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

"""Requests that end what X-Plane sends: made again while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, field
import math
from typing import TypeAlias

from xplane_bridge.bridges.protocols.base import Message
from xplane_bridge.bridges.sessions.base import RELEASE_TIMEOUT
from xplane_bridge.bridges.xplane_udp.protocol import Data, RrefReply
from xplane_bridge.bridges.xplane_udp.session.requests.aircraft import POSE
from xplane_bridge.bridges.xplane_udp.session.requests.queue import RequestQueue

Key: TypeAlias = Hashable
"""What is sent: an RREF number, a row, POSE."""

# What arrives within this time after a request may have been sent before it was read, in seconds.
_TRANSIT = 0.25
# For so long it is asked to stop.
_LONGEST = 3.0


@dataclass(frozen=True, slots=True)
class Ending:
    """
    What to end on a channel, sent every ``period`` seconds; ``make`` returns the requests.

    ``closes``: the channel is closed then. A copy of what began it at ``begun_at`` may come later,
    and is ended too.
    """

    channel: str
    keys: Iterable[Key]
    make: Callable[[Collection[Key]], list[bytes]]
    period: float
    closes: bool = True
    begun_at: float = -math.inf


@dataclass(slots=True)
class _Farewell:
    """One channel: what to end, who is heard though it was ended, when that was asked."""

    make: Callable[[Collection[Key]], list[bytes]]
    keys: frozenset[Key]
    patience: float
    closes: bool
    copied_until: float
    unsent: set[Key]
    late: set[Key] = field(default_factory=set)
    asked_at: float | None = None
    until: float = math.inf


class Farewells:
    """
    What X-Plane is asked to send no more, by channel.

    That a request was lost shows when X-Plane goes on: then it is made again. Once nothing has
    come for as long as that takes, the channel is closed. While X-Plane is silent the requests are
    kept: what waits in its socket should be little. The queue of requests is lent for each call.
    """

    def __init__(self) -> None:
        # By channel; looked at with each datagram, and mostly empty.
        self.farewells: dict[str, _Farewell] = {}

    def __bool__(self) -> bool:
        return bool(self.farewells)

    def end(self, ending: Ending) -> None:
        """End something on a channel."""
        keys = frozenset(ending.keys)
        patience = _TRANSIT + 1.5 * ending.period
        self.farewells[ending.channel] = _Farewell(
            ending.make, keys, patience, ending.closes,
            ending.begun_at + RELEASE_TIMEOUT + patience, set(keys))

    def forget(self, channel: str) -> None:
        """Forget a channel: it is used again."""
        self.farewells.pop(channel, None)

    def on_reply(self, channel: str, keys: Iterable[Key], now: float) -> None:
        """Record what came on a channel on which something is being ended."""
        farewell = self.farewells[channel]
        if farewell.asked_at is not None and now >= farewell.asked_at + _TRANSIT:
            farewell.late |= farewell.keys.intersection(keys)

    def ask(self, now: float, queue: RequestQueue, *, listens: bool) -> None:
        """Make the requests that are due; ``listens`` False does not wait for their effect."""
        for channel, farewell in list(self.farewells.items()):
            if farewell.unsent:
                queue.push(channel, farewell.make(farewell.unsent))
                farewell.unsent = set()
                farewell.asked_at = None
            elif channel in queue:
                continue
            elif farewell.asked_at is None:
                farewell.asked_at = now
                farewell.until = min(
                    farewell.until, max(now + _LONGEST, farewell.copied_until))
            if farewell.asked_at is None:
                continue
            if farewell.late and now < farewell.until:
                farewell.unsent, farewell.late = farewell.late, set()
            elif not listens or now >= max(
                    farewell.asked_at + farewell.patience, farewell.copied_until):
                del self.farewells[channel]
                if farewell.closes:
                    queue.push(channel, [None])

    def lose(self, queue: RequestQueue) -> None:
        """Make all requests again later: X-Plane is silent, and may not have read them."""
        for channel, farewell in self.farewells.items():
            queue.drop(channel)
            farewell.unsent, farewell.asked_at = set(farewell.keys), None
            farewell.late.clear()

    def disown(self, queue: RequestQueue) -> None:
        """Close the channels: it is another run of X-Plane, which sends nothing there."""
        for channel, farewell in self.farewells.items():
            queue.drop(channel)
            if farewell.closes:
                queue.push(channel, [None])
        self.farewells.clear()

    def deadline(self, queue: RequestQueue) -> float | None:
        """Return when ask() must be called; known after the queue was emptied."""
        return min((
            self._due(farewell) for channel, farewell in self.farewells.items()
            if channel not in queue), default=None)

    def _due(self, farewell: _Farewell) -> float:
        if farewell.asked_at is None or farewell.unsent:
            return 0.0
        if farewell.late:
            return farewell.asked_at + _TRANSIT
        return max(farewell.asked_at + farewell.patience, farewell.copied_until)


def keys_of(message: Message) -> Iterable[Key]:
    """Return what a message has brought."""
    if isinstance(message, RrefReply):
        return (index for index, _ in message.values)
    if isinstance(message, Data):
        return (segment.index for segment in message.segments)
    return (POSE,)
