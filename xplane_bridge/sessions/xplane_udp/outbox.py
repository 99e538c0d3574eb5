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

"""What is on its way to X-Plane: a datagram, or one set of controls, at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

Outgoing = tuple[str, bytes | None]

LARGEST = 1024

# Between two sets of controls that do not wait: faster than any frame.
_SHORTEST_GAP = 0.002


class Outbox:
    """
    Send waiting datagrams ``pacing`` seconds apart.

    Of datagrams sent back to back X-Plane 6.51 lost about half; 10 ms apart none (X-Plane UDP
    wire notes, section 3). Controls and other datagrams take turns; the datagrams of one set of
    controls leave together. ``controls_wait`` False lets controls out beside the others, as soon
    as they come: X-Plane since 10 reads all that waits in each frame.
    """

    def __init__(self, pacing: float) -> None:
        self.pacing = pacing
        self._queue: deque[Outgoing] = deque()
        self._controls: Sequence[Outgoing] = ()
        self._controls_next = True
        self._free_at = 0.0
        self._controls_at = 0.0
        self.controls_wait = True

    def __len__(self) -> int:
        return len(self._queue) + bool(self._controls)

    @property
    def has_controls(self) -> bool:
        """Tell whether a set of controls waits."""
        return bool(self._controls)

    def push(self, channel: str, datagrams: Iterable[bytes | None]) -> None:
        """Let datagrams wait for their turn; None closes the channel when it comes."""
        self._queue.extend((channel, data) for data in datagrams)

    def set_controls(self, channel: str, datagrams: Sequence[bytes]) -> None:
        """Let a set of controls wait, in the place of the one that waits."""
        self._controls = [(channel, data) for data in datagrams]

    def drop(self, channel: str) -> None:
        """Forget what waits for a channel."""
        self._queue = deque(item for item in self._queue if item[0] != channel)

    def drop_controls(self) -> None:
        """Forget the controls that wait."""
        self._controls = ()

    def take(self, now: float) -> list[Outgoing]:
        """Return what is to be sent now."""
        ready: list[Outgoing] = []
        if self._controls and not self.controls_wait and now >= self._controls_at:
            self._controls_at = now + _SHORTEST_GAP
            ready += self._controls
            self._controls = ()
        while self._queue or (self._controls and self.controls_wait):
            if self._queue and self._queue[0][1] is None:
                ready.append(self._queue.popleft())
                continue
            if now < self._free_at:
                break
            self._free_at = now + self.pacing
            if self._controls and self.controls_wait and (self._controls_next or not self._queue):
                ready += self._controls
                self._controls = ()
                self._controls_next = False
            else:
                ready.append(self._queue.popleft())
                self._controls_next = True
        return ready

    def take_all(self) -> list[Outgoing]:
        """Return everything that waits, paced or not."""
        everything = [*self._queue, *self._controls]
        self._queue.clear()
        self._controls = ()
        return everything

    def deadline(self) -> float | None:
        """Return when take() has something, None when nothing waits."""
        deadlines = []
        if self._queue or (self._controls and self.controls_wait):
            deadlines.append(self._free_at)
        if self._controls and not self.controls_wait:
            deadlines.append(self._controls_at)
        return min(deadlines, default=None)
