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

"""Throttling of log messages that the outside world can cause."""

from __future__ import annotations

import threading

PERIOD = 1.0
"""Minimum interval between messages of one kind, in seconds."""

MOST = 10
"""Maximum number of messages of all kinds within a period."""


class Throttle:
    """
    Decide which messages are logged: one of a kind in a PERIOD, and MOST in all.

    May be called from any thread. Kinds may be chosen by whoever causes the message: no more than
    MOST are remembered.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # When a message of each kind was logged, within the last period.
        self._written: dict[str, float] = {}
        self.suppressed = 0

    def admits(self, kind: str, now: float) -> bool:
        """Return whether a message of this kind may be logged at ``now``; count it if not."""
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
