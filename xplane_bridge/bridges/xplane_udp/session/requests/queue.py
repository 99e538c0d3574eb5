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

"""Requests to X-Plane that wait to be sent, in turns by channel."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

from xplane_bridge.bridges.sessions.base import Outgoing

# Number of requests on priority channels that may precede the others.
_PASSED_OVER = 4


class RequestQueue:
    """
    Waiting requests. They take turns by channel.

    Those of the channels ``first`` go before the others, which still get every fifth turn.
    """

    def __init__(self, first: Collection[str] = ()) -> None:
        self._first = first
        # By channel, the next one first; looked at all the time, and mostly empty.
        self.waiting: dict[str, deque[bytes | None]] = {}
        self._passed_over = 0

    def __len__(self) -> int:
        return sum(map(len, self.waiting.values())) if self.waiting else 0

    def __contains__(self, channel: object) -> bool:
        """Return whether requests are waiting for a channel."""
        return channel in self.waiting

    def push(self, channel: str, datagrams: Iterable[bytes | None]) -> None:
        """
        Queue requests; None closes the channel when its turn comes.

        One that waits already takes the newer one's content, and keeps its turn.
        """
        if not (new := list(datagrams)):
            return
        waiting = self.waiting.get(channel, deque())
        newest = {asked: data for data in new if data is not None and (asked := _asked(data))}
        closing = max((n for n, data in enumerate(waiting) if data is None), default=-1)
        for n in range(closing + 1, len(waiting)):
            waiting[n] = newest.pop(_asked(waiting[n] or b''), waiting[n])
        waiting.extend(
            data for data in new
            if data is None or not (asked := _asked(data)) or newest.get(asked) is data)
        self.waiting[channel] = waiting

    def drop(self, channel: str) -> None:
        """Forget the requests waiting for a channel."""
        self.waiting.pop(channel, None)

    def take_closings(self) -> list[Outgoing]:
        """Remove and return the channels to close now: nothing is sent, so it needs no turn."""
        closing: list[Outgoing] = []
        for channel, waiting in list(self.waiting.items()):
            while waiting and waiting[0] is None:
                closing.append((channel, waiting.popleft()))
            if not waiting:
                del self.waiting[channel]
        return closing

    def take(self) -> Outgoing:
        """Remove and return the request whose turn it is; KeyError if none waits."""
        others = [channel for channel in self.waiting if channel not in self._first]
        goes_first = len(others) < len(self.waiting) and not (
            others and self._passed_over >= _PASSED_OVER)
        if goes_first:
            channel = next(channel for channel in self.waiting if channel in self._first)
            self._passed_over += 1
        else:
            channel = others[0]
            self._passed_over = 0
        waiting = self.waiting.pop(channel)
        data = waiting.popleft()
        if waiting:
            # After all others.
            self.waiting[channel] = waiting
        return channel, data


def _asked(data: bytes) -> bytes:
    """Return what a request for datarefs or the pose asks for, at any rate; else nothing."""
    if data.startswith(b'RREF'):
        # After the frequency: its number and its name.
        return data[9:]
    return b'RPOS' if data.startswith(b'RPOS') else b''
