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

"""What the silence of plugins 0.8 to 1.4 says about action groups."""

from __future__ import annotations

# The status comes with every frame of the game while a group is on.
_SILENCE = 0.5
# A game that stands still sends nothing else either: more than this between two packets does not
# count as time in which the status was missing.
_LONGEST_GAP = 0.2


class ActionSilence:
    """
    Tell when no action group is on, which plugins before 2.0 never say.

    They send the action status in each frame while a group is on, and nothing once the last one
    goes off (docs/wire/simpit.md, section 3). So half a second of other telemetry without it means
    that all are off. Times are in seconds.
    """

    def __init__(self) -> None:
        self._flowed = 0.0
        self._packet_at: float | None = None
        self._said = False

    def heard_status(self, now: float) -> None:
        """Take note of an action status."""
        self._flowed = 0.0
        self._packet_at = now
        self._said = False

    def heard_other(self, now: float) -> bool:
        """Take note of other telemetry; tell, once, that all groups are off."""
        if self._packet_at is not None:
            self._flowed += min(max(now - self._packet_at, 0.0), _LONGEST_GAP)
        self._packet_at = now
        if self._said or self._flowed < _SILENCE:
            return False
        self._said = True
        return True
