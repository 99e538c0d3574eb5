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
class _Unsubscribe:
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


class Unsubscribes:
    """
    What X-Plane is asked to send no more, by channel.

    That a request was lost shows when X-Plane goes on: then it is made again. Once nothing has
    come for as long as that takes, the channel is closed. While X-Plane is silent the requests are
    kept: what waits in its socket should be little. The queue of requests is lent for each call.
    """

    def __init__(self) -> None:
        # By channel; looked at with each datagram, and mostly empty.
        self.unsubscribes: dict[str, _Unsubscribe] = {}

    def __bool__(self) -> bool:
        return bool(self.unsubscribes)

    def end(self, ending: Ending) -> None:
        """End something on a channel."""
        keys = frozenset(ending.keys)
        patience = _TRANSIT + 1.5 * ending.period
        self.unsubscribes[ending.channel] = _Unsubscribe(
            ending.make, keys, patience, ending.closes,
            ending.begun_at + RELEASE_TIMEOUT + patience, set(keys))

    def forget(self, channel: str) -> None:
        """Forget a channel: it is used again."""
        self.unsubscribes.pop(channel, None)

    def on_reply(self, channel: str, keys: Iterable[Key], now: float) -> None:
        """Record what came on a channel on which something is being ended."""
        unsubscribe = self.unsubscribes[channel]
        if unsubscribe.asked_at is not None and now >= unsubscribe.asked_at + _TRANSIT:
            unsubscribe.late |= unsubscribe.keys.intersection(keys)

    def ask(self, now: float, queue: RequestQueue, *, listens: bool) -> None:
        """Make the requests that are due; ``listens`` False does not wait for their effect."""
        for channel, unsubscribe in list(self.unsubscribes.items()):
            if unsubscribe.unsent:
                queue.push(channel, unsubscribe.make(unsubscribe.unsent))
                unsubscribe.unsent = set()
                unsubscribe.asked_at = None
            elif channel in queue:
                continue
            elif unsubscribe.asked_at is None:
                unsubscribe.asked_at = now
                unsubscribe.until = min(
                    unsubscribe.until, max(now + _LONGEST, unsubscribe.copied_until))
            if unsubscribe.asked_at is None:
                continue
            if unsubscribe.late and now < unsubscribe.until:
                unsubscribe.unsent, unsubscribe.late = unsubscribe.late, set()
            elif not listens or now >= max(
                    unsubscribe.asked_at + unsubscribe.patience, unsubscribe.copied_until):
                del self.unsubscribes[channel]
                if unsubscribe.closes:
                    queue.push(channel, [None])

    def lose(self, queue: RequestQueue) -> None:
        """Make all requests again later: X-Plane is silent, and may not have read them."""
        for channel, unsubscribe in self.unsubscribes.items():
            queue.drop(channel)
            unsubscribe.unsent, unsubscribe.asked_at = set(unsubscribe.keys), None
            unsubscribe.late.clear()

    def disown(self, queue: RequestQueue) -> None:
        """Close the channels: it is another run of X-Plane, which sends nothing there."""
        for channel, unsubscribe in self.unsubscribes.items():
            queue.drop(channel)
            if unsubscribe.closes:
                queue.push(channel, [None])
        self.unsubscribes.clear()

    def deadline(self, queue: RequestQueue) -> float | None:
        """Return when ask() must be called; known after the queue was emptied."""
        return min((
            self._due(unsubscribe) for channel, unsubscribe in self.unsubscribes.items()
            if channel not in queue), default=None)

    def _due(self, unsubscribe: _Unsubscribe) -> float:
        if unsubscribe.asked_at is None or unsubscribe.unsent:
            return 0.0
        if unsubscribe.late:
            return unsubscribe.asked_at + _TRANSIT
        return max(unsubscribe.asked_at + unsubscribe.patience, unsubscribe.copied_until)


def read_keys(message: Message) -> Iterable[Key]:
    """Return what a message has brought."""
    if isinstance(message, RrefReply):
        return (index for index, _ in message.values)
    if isinstance(message, Data):
        return (segment.index for segment in message.segments)
    return (POSE,)
