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

"""Skylark: whether it answers."""

from __future__ import annotations

from collections.abc import Iterable

from xplane_bridge.bridges.sessions import machine
from xplane_bridge.bridges.sessions.machine import Event, State
from xplane_bridge.bridges.skylark.session.states import TABLE

SILENCE = 1.0


class Peer(machine.Peer):
    """One Skylark, which is away if it has been silent for a second."""

    def __init__(self) -> None:
        super().__init__(TABLE)
        self._silent_at = 0.0

    @property
    def absence(self) -> str:
        """Return why it accepts no commands now; empty if it does."""
        return '' if self.state is State.ANSWERING else 'Skylark does not answer'

    def on_reply(self, now: float) -> Iterable[Event]:
        """Note a report; return what has happened."""
        self._silent_at = now + SILENCE
        return () if self.state is State.ANSWERING else (Event.HEARD,)

    def check_timeouts(self, now: float) -> Iterable[Event]:
        """Return what has happened because time passed."""
        return () if self.deadline is None or now < self.deadline else (Event.GONE,)

    @property
    def deadline(self) -> float | None:
        """Return when it counts as silent, if it answers."""
        return self._silent_at if self.state is State.ANSWERING else None
