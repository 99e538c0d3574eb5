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

"""Whether the simulation runs or is held, as the data show it. Time is passed in."""

from __future__ import annotations

from collections.abc import Callable

from xplane_bridge.bridges.fdmdata.protocol import Command
from xplane_bridge.bridges.sessions.base import CommandDone
from xplane_bridge.bridges.sessions.pending import Pending, PendingTable, SHOWN_WITHIN

# A reply that was under way when the simulation was held may still show a step.
_UNDER_WAY = 0.1
STEP = 0.4
"""Data change with every step of 17 ms; this long without a change is no pause between two."""


RESET = 'reset'

# What the data show of each, and what they show instead.
_SHOWN = {True: 'its data change', False: 'its data no longer change',
          None: 'back at the initial conditions'}
_INSTEAD = {True: 'its data do not change', False: 'its data still change',
            None: 'the aircraft is not suddenly elsewhere'}


class AwaitedMotion:
    """
    Commands that are over when the data show that the simulation runs, or is held.

    ``expected`` is what is not over. Times are in seconds.
    """

    def __init__(self) -> None:
        # By ticket: a pause (False), its end (True), or a reset (None), and what shows that it
        # has happened since a time.
        self.expected = PendingTable[int, Pending[bool | None, Callable[[float], bool]]]()
        # Since when a reset is expected, and whether it was shown.
        self._resets_at = 0.0
        self._was_reset_at: float | None = None
        self.forget()

    def forget(self) -> None:
        """Forget what was heard: nothing was, for long."""
        self._moved_at: float | None = None
        # When each sensor last replied the same as before.
        self._same_at: dict[Command, float] = {}
        # Since when, and last when, replies were the same as those before.
        self._still_from: float | None = None
        self._still_at = 0.0

    def on_reply(self, command: Command, changed: bool, now: float) -> None:
        """Note a reply of one of the sensors of which one at least changes with every step."""
        if changed:
            self._moved_at, self._still_from = now, None
            return
        if self._still_from is None:
            self._still_from = now
        self._still_at = self._same_at[command] = now

    def runs_since(self, at: float) -> bool:
        """Return whether the data have changed since then."""
        return self._moved_at is not None and self._moved_at > at

    def stands_since(self, at: float) -> bool:
        """Return whether enough replies since then have been the same."""
        return self._still_from is not None and (
            self._still_at >= max(self._still_from, at + _UNDER_WAY) + STEP)

    def expect(self, ticket: int, *, runs: bool, what: str, now: float) -> None:
        """Expect that the simulation runs, or is held, from now on."""
        self.expected[ticket] = Pending(
            what, runs, self.runs_since if runs else self.stands_since, now,
            until=now + SHOWN_WITHIN, ticket=ticket)

    def begin_reset(self, now: float) -> None:
        """Note that a reset may show from now on."""
        self._resets_at = now

    def reset(self, now: float) -> None:
        """Note that the data show a reset."""
        self._was_reset_at = now

    def was_reset_since(self, at: float) -> bool:
        """Return whether the data have shown a reset since then."""
        return self._was_reset_at is not None and self._was_reset_at >= at

    def expect_reset(self, ticket: int, now: float) -> None:
        """Expect that a reset has shown since begin_reset(), or shows from now on."""
        self.expected[ticket] = Pending(
            RESET, None, self.was_reset_since, self._resets_at, until=now + SHOWN_WITHIN,
            ticket=ticket)

    def ended(self, absence: str, now: float) -> list[CommandDone]:
        """Return what the data show now, or have not shown in time; ``absence`` says why."""
        ended = []
        for pending in tuple(self.expected.values()) if self.expected else ():
            if pending.proof(pending.since):
                ended.append(pending.done(_SHOWN[pending.desired]))
            elif now >= pending.until:
                ended.append(pending.done(error=(
                    f'{pending.what}: sent; not shown within {SHOWN_WITHIN:g} s: '
                    f'{absence or _INSTEAD[pending.desired]}')))
            else:
                continue
            del self.expected[pending.ticket]
        return ended

    def abandon(self, reason: str) -> list[CommandDone]:
        """End everything that is expected, with the reason."""
        return [pending.done(error=f'{pending.what}: {reason}')
                for pending in self.expected.empty()]

    def repeats_since(self, at: float, now: float) -> bool:
        """Return whether it runs, but all of these sensors show that it made no step since."""
        return self.runs_since(now - STEP) and not self.runs_since(at) and all(
            same_at > at for same_at in self._same_at.values())

    @property
    def deadline(self) -> float | None:
        """Return when ended() has something at the latest, None if nothing is expected."""
        return self.expected.deadline if self.expected else None
