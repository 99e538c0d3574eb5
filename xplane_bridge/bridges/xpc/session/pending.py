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

"""Values that X-Plane shall have in the end: sent again until a report shows them."""

from __future__ import annotations

from dataclasses import dataclass
import math

from xplane_bridge.bridges.sessions.pending import Pending
from xplane_bridge.bridges.xpc.session.items import Values

# How long after a value was sent it is sent again, if no report shows it; in seconds.
_FIRST_AGAIN = 0.1
# What is commanded over and over is sent again only if no newer command comes.
_FIRST_AGAIN_OF_STREAM = 0.3
_LATEST_AGAIN = 0.5
_UNREPORTED_AGAIN = 0.2

# How often something that X-Plane does not report is sent.
_UNREPORTED = 6


@dataclass(slots=True)
class PendingItem(Pending[Values, int]):
    """
    Absolute values of one item, and how often they were sent; none if X-Plane does not report it.

    ``proof`` is the number of commands sent when it was first sent: only a report that was asked
    for after it counts.
    """

    is_stream: bool = False
    times: int = 0

    def sent(self, now: float, serial: int, patience: float) -> None:
        """Record that it was sent; a reply takes about ``patience`` seconds."""
        first = _FIRST_AGAIN_OF_STREAM if self.is_stream else _FIRST_AGAIN
        wait = min(_LATEST_AGAIN, first * 2.0 ** self.times) if self.desired else (
            _UNREPORTED_AGAIN)
        if not self.times:
            self.proof = serial
        self.times += 1
        self.again_at = math.inf if self.is_waiting else now + max(patience, wait)

    @property
    def is_waiting(self) -> bool:
        """Return whether it was sent often enough, and only a reply must follow."""
        return not self.desired and self.times >= _UNREPORTED

    def shown_by(self, row: Values) -> bool:
        """Return whether a report has these values."""
        return len(row) >= len(self.desired) and all(map(same, row, self.desired))


def last_pending(what: str, now: float, at: float) -> PendingItem:
    """Return something that X-Plane does not report, to be sent once more then."""
    return PendingItem(what, (), 0, now, again_at=at, times=_UNREPORTED - 1)


def same(one: float, other: float) -> bool:
    """Return whether two values are equal as float32, or as the integer that X-Plane keeps."""
    return abs(one - other) <= 1e-6 * max(1.0, abs(one), abs(other))
