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

"""A Ulyssix publisher: whether it sends. Time is passed in, in seconds."""

from __future__ import annotations

from collections.abc import Sequence

from xplane_bridge.bridges.sessions import machine
from xplane_bridge.bridges.sessions.machine import Event, State
from xplane_bridge.bridges.ulyssix.session.states import TABLE

SILENCE = 2.0
"""
Seconds without any packet after which a publisher has stopped.

Packets arrive every 10 to 50 ms while there are samples; slow parameters alone may take longer.
"""

# Looking up a member of an Enum costs as much as everything else for a packet.
_STREAMING = State.STREAMING
_HEARD = (Event.HEARD,)


class Peer(machine.Peer):
    """A publisher, which is only listened to."""

    def __init__(self) -> None:
        super().__init__(TABLE)
        self._silent_at: float | None = None

    @property
    def absence(self) -> str:
        """Return that it never accepts commands."""
        return 'a publisher is only listened to'

    def on_reply(self, now: float) -> Sequence[Event]:
        """Note any packet; return what has happened."""
        self._silent_at = now + SILENCE
        return () if self.state is _STREAMING else _HEARD

    def check_timeouts(self, now: float) -> Sequence[Event]:
        """Return what has happened because time passed: nothing was heard for long."""
        return () if self._silent_at is None or now < self._silent_at else (Event.GONE,)

    @property
    def deadline(self) -> float | None:
        """Return when it has been silent for long, None if that is known."""
        return self._silent_at

    def process(self, event: Event, now: float) -> tuple[machine.Action, ...]:
        """Let something happen; return what to do."""
        if event is Event.START:
            self._silent_at = now + SILENCE
        elif event in (Event.STOP, Event.GONE):
            self._silent_at = None
        return super().process(event, now)
