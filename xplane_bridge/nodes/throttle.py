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

"""How many lines the world outside may write into a node's log."""

from __future__ import annotations

import threading

PERIOD = 1.0
"""A line of one kind is repeated at most this often, in seconds."""

MOST = 10
"""Lines of all kinds together within a period."""


class Throttle:
    """
    Decide which lines are written: one of a kind in a PERIOD, and MOST in all.

    Any thread may ask. A kind may be made up by whoever causes the line: of no more than MOST is
    anything kept.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # When a line of each kind was written, within the last period.
        self._written: dict[str, float] = {}
        self.suppressed = 0

    def admits(self, kind: str, now: float) -> bool:
        """Tell whether a line of this kind may be written at ``now``, and count it if not."""
        with self._lock:
            at = self._written.get(kind)
            if at is None and len(self._written) >= MOST:
                self._written = {
                    other: at for other, at in self._written.items() if now - at < PERIOD}
            if len(self._written) >= MOST if at is None else now - at < PERIOD:
                self.suppressed += 1
                return False
            self._written[kind] = now
            return True
