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

# How long after a value was sent it is sent again, if no report shows it; in seconds.
_FIRST_AGAIN = 0.1
# What is commanded over and over is sent again only if no newer command comes.
_FIRST_AGAIN_OF_STREAM = 0.3
_LATEST_AGAIN = 0.5
_UNREPORTED_AGAIN = 0.2

# How often something that X-Plane does not report is sent.
_UNREPORTED = 6


@dataclass(slots=True)
class Pending:
    """
    Absolute values of one item, and what was done for them.

    ``serial`` is the number of commands sent when it was first sent: only a report that was asked
    for after it counts.
    """

    values: tuple[float, ...]
    since: float
    is_stream: bool = False
    times: int = 0
    serial: int = 0
    again_at: float = 0.0

    def sent(self, now: float, serial: int, patience: float) -> None:
        """Record that it was sent; a reply takes about ``patience`` seconds."""
        first = _FIRST_AGAIN_OF_STREAM if self.is_stream else _FIRST_AGAIN
        wait = min(_LATEST_AGAIN, first * 2.0 ** self.times) if self.values else (
            _UNREPORTED_AGAIN)
        wait = max(patience, wait)
        self.again_at = now + wait
        if not self.times:
            self.serial = serial
        self.times += 1

    @property
    def is_waiting(self) -> bool:
        """Return whether it was sent often enough, and only a reply must follow."""
        return not self.values and self.times >= _UNREPORTED

    def shown_by(self, row: tuple[float, ...]) -> bool:
        """Return whether a report has these values."""
        return len(row) >= len(self.values) and all(map(same, row, self.values))


def last_pending(now: float, at: float) -> Pending:
    """Return something that X-Plane does not report, to be sent once more then."""
    return Pending((), now, times=_UNREPORTED - 1, again_at=at)


def same(one: float, other: float) -> bool:
    """Return whether two values are equal as float32, or as the integer that X-Plane keeps."""
    return abs(one - other) <= 1e-6 * max(1.0, abs(one), abs(other))
