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

"""Whether Huginn's data change, and whether they are NaN. Time is passed in, in seconds."""

from __future__ import annotations

from collections.abc import Callable
import math

from xplane_bridge.bridges.fdmdata.protocol import Command, SensorReply
from xplane_bridge.bridges.sessions.base import PeerState

# Data change with every step of 17 ms while the simulation runs; if none changes for this long
# it is held (docs/wire/fdmdata.md, section 1).
_HELD_AFTER = 2.0

_ANSWERING, _HELD, _BROKEN = (
    state.value for state in (PeerState.ANSWERING, PeerState.HELD, PeerState.BROKEN))


class Health:
    """
    Detect data that do not change, and data that are NaN.

    ``shown`` is what one that answers is shown as, the value of a PeerState; ``has_changed`` is
    whether the last reply differs from the one before of its sensor.
    """

    def __init__(self) -> None:
        self.shown: str = _ANSWERING
        self.has_changed = False
        self._last: dict[Command, tuple[float, ...]] = {}
        self._changed_at: float | None = None
        self._broken: set[Command] = set()

    def hear(self, reply: SensorReply, now: float) -> None:
        """Note a reply."""
        command, values = reply.command, reply.values
        if not all(map(math.isfinite, values)):
            self._broken.add(command)
        elif self._broken:
            self._broken.discard(command)
        self.has_changed = command in self._last and self._last[command] != values
        if self._changed_at is None or self.has_changed:
            self._changed_at = now
        self._last[command] = values

    def judge(self, is_fresh: Callable[[Command, float], bool], now: float) -> None:
        """Find out what it is shown as now; stale data are ignored."""
        if self._broken and any(is_fresh(command, now) for command in self._broken):
            self.shown = _BROKEN
        elif self._changed_at is not None and now - self._changed_at >= _HELD_AFTER:
            self.shown = _HELD
        else:
            self.shown = _ANSWERING
