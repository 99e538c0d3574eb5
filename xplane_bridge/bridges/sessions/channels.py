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

"""Pool of channels for requests, so that a late reply is never taken for another one."""

from __future__ import annotations

from collections import deque


class ChannelPool:
    """
    At most ``count`` channels at a time, named after ``prefix``; as few as are in use at once.

    A channel whose requests are all answered is reused. One on which a reply may still arrive is
    closed and replaced by a new one.
    """

    def __init__(self, prefix: str, count: int) -> None:
        self._prefix = prefix
        self._free: deque[str] = deque()
        self._left = count
        self._serial = 0
        self._first = 0
        # What closed() returns next; mostly nothing.
        self.closing: list[str] = []

    def __bool__(self) -> bool:
        """Return whether a channel is free."""
        return bool(self._free or self._left)

    def take(self) -> str | None:
        """Return a channel for a request, None if all are in use."""
        if self._free:
            return self._free.popleft()
        if not self._left:
            return None
        self._left -= 1
        self._serial += 1
        return f'{self._prefix} {self._serial - 1}'

    def give(self, channel: str) -> None:
        """Reuse a channel: all its requests are answered."""
        if int(channel[len(self._prefix):]) < self._first:
            self.drop(channel)
        else:
            self._free.append(channel)

    def renew(self) -> None:
        """
        Take new channels from now on: what comes late or again reaches none of them.

        Those that are free are closed, the others when they are given back.
        """
        self._first = self._serial
        while self._free:
            self.drop(self._free.popleft())

    def drop(self, channel: str) -> None:
        """Close a channel: a late reply belongs to nobody."""
        self.closing.append(channel)
        self._left += 1

    def closed(self) -> list[str]:
        """Return the channels to close, since the last call."""
        closing, self.closing = self.closing, []
        return closing
