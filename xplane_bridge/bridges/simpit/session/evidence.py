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

"""What in the telemetry shows that a command was carried out. Time is passed in, in seconds."""

from __future__ import annotations

from collections.abc import Iterable
import math
from typing import Any, Literal, TypeAlias

from xplane_bridge.bridges.sessions.base import CommandDone
from xplane_bridge.bridges.sessions.pending import Pending, PendingTable, SHOWN_WITHIN
from xplane_bridge.bridges.simpit import protocol as simpit

Shows: TypeAlias = Literal['stage', 'resent', 'nothing']
"""What shows a command: another stage, a packet of what is sent on change, or nothing."""

_WHY = {
    'stage': ': the stage is still {0}; was it the last one, or is staging locked?',
    'resent': ': nothing has arrived on the channels that are sent on change'}


class Evidence:
    """
    Commands that are over when telemetry shows them.

    The stage is known from the flight status, if that is requested and says it.
    """

    def __init__(self) -> None:
        self._stage: int | None = None
        # By ticket: commands that were sent, or wait to be; any other stage is desired.
        self._expected = PendingTable[int, Pending[int | None, Shows]]()

    def expect(self, ticket: int, what: str, shows: Shows, *, requested: bool) -> None:
        """Expect that a command with this ticket shows; ``requested``: what is sent on change."""
        if (shows == 'stage' and self._stage is not None) or (shows == 'resent' and requested):
            self._expected[ticket] = Pending(
                what, None, shows, reported=self._stage, ticket=ticket)

    def sent(self, ended: Iterable[CommandDone], now: float) -> list[CommandDone]:
        """Return which of the commands that have left, or have not, are over."""
        over = []
        for done in ended:
            pending = self._expected.get(done.ticket)
            if pending is None or done.error:
                self._expected.pop(done.ticket, None)
                over.append(done)
            else:
                pending.since, pending.until = now, now + SHOWN_WITHIN
        return over

    def on_message(self, message: Any, lasting: bool) -> list[CommandDone]:
        """Return the commands that a message shows; ``lasting``: its channel is sent on change."""
        if isinstance(message, simpit.FlightStatus):
            self._stage = message.stage
        return [
            self._expected.pop(pending.ticket).done(
                f'the stage is now {self._stage}' if pending.proof == 'stage'
                else 'values arrive again')
            for pending in self._awaited if (
                lasting if pending.proof == 'resent'
                else self._stage is not None and self._stage != pending.reported)]

    def expire(self, now: float) -> list[CommandDone]:
        """Return the commands that were not shown in time."""
        return [
            pending.done(error=(
                f'{pending.what}: sent; not shown within {SHOWN_WITHIN:g} s'
                + _WHY[pending.proof].format(pending.reported)))
            for pending in self._expected.expire(now)]

    def abandon(self, reason: str) -> list[CommandDone]:
        """End the commands that were sent and are not shown yet, with the reason."""
        return [
            self._expected.pop(pending.ticket).done(
                error=f'{pending.what}: sent; not shown: {reason}')
            for pending in self._awaited]

    def forget(self) -> None:
        """Forget the stage: the flight, the vessel or the plugin may be another one."""
        self._stage = None

    @property
    def deadline(self) -> float | None:
        """Return when expire() has something."""
        return self._expected.deadline if self._expected else None

    @property
    def _awaited(self) -> list[Pending[int | None, Shows]]:
        return [
            pending for pending in self._expected.values() if pending.since < math.inf
        ] if self._expected else []
