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

"""Which run of X-Plane answers: told by its running time."""

from __future__ import annotations

# The running time is a float32, and steps back by no more than its resolution. An X-Plane that was
# frozen reports again within this many seconds of its own.
_TOLERANCE = 0.1
_FIRST_REPORT = 0.5


class Identity:
    """The running time that was reported last, and when."""

    def __init__(self) -> None:
        self._time: float | None = None
        self._at = 0.0

    @property
    def is_known(self) -> bool:
        """Return whether one run can be told from the next: the rows of 7 have no time."""
        return self._time is not None

    def is_same(self, time: float, now: float) -> bool:
        """
        Return, from the running time, whether it is the same X-Plane as before.

        It never goes back. A frozen X-Plane continues where it was; one that was only not heard
        has continued for as long; one that was started since has not run for longer than that.
        """
        before, silence = self._time, now - self._at
        if before is None:
            return True
        return time >= before - _TOLERANCE and not before + _FIRST_REPORT < time <= silence

    def learn(self, time: float, now: float) -> None:
        """Record a running time: from now on, that run is the one that is known."""
        self._time, self._at = time, now

    def forget(self) -> None:
        """Forget which run of X-Plane it was."""
        self._time = None
