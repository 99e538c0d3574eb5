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

from typing import NamedTuple

from xplane_bridge.sessions.base import CommandDone

SHOWN_WITHIN = 3.0
"""Seconds in which the data must show that a pause or its end has taken effect."""

# A reply that was under way when the simulation was held may still show a step.
_UNDER_WAY = 0.1
# Data change with every step of 17 ms; this long without a change is no pause between two steps.
_STILL = 0.4


class _Expected(NamedTuple):
    """A pause (``runs`` False) or its end, the time of the call, and its name for people."""

    ticket: int
    runs: bool
    since: float
    what: str


class Motion:
    """
    Commands that are over when the data show that the simulation runs, or is held.

    Times are in seconds.
    """

    def __init__(self) -> None:
        self._expected: list[_Expected] = []
        self.forget()

    def forget(self) -> None:
        """Forget what was heard: nothing was, for long."""
        self._moved_at: float | None = None
        # Since when, and last when, replies were the same as those before.
        self._still_from: float | None = None
        self._still_at = 0.0

    def hear(self, changed: bool, now: float) -> None:
        """Note a reply of a sensor that changes with every step."""
        if changed:
            self._moved_at, self._still_from = now, None
            return
        if self._still_from is None:
            self._still_from = now
        self._still_at = now

    def runs_since(self, at: float) -> bool:
        """Return whether the data have changed since then."""
        return self._moved_at is not None and self._moved_at > at

    def stands_since(self, at: float) -> bool:
        """Return whether enough replies since then have been the same."""
        return self._still_from is not None and (
            self._still_at >= max(self._still_from, at + _UNDER_WAY) + _STILL)

    def expect(self, ticket: int, *, runs: bool, what: str, now: float) -> None:
        """Expect that the simulation runs, or is held, from now on."""
        self._expected.append(_Expected(ticket, runs, now, what))

    def ended(self, absence: str, now: float) -> list[CommandDone]:
        """Return what the data show now, or have not shown in time; ``absence`` says why."""
        ended = []
        for item in tuple(self._expected):
            shown = self.runs_since if item.runs else self.stands_since
            if shown(item.since):
                ended.append(CommandDone(item.ticket, item.what, message=(
                    'its data change' if item.runs else 'its data no longer change')))
            elif now >= item.since + SHOWN_WITHIN:
                why = absence or f'its data {"do not" if item.runs else "still"} change'
                ended.append(CommandDone(item.ticket, item.what, (
                    f'{item.what}: sent; not shown within {SHOWN_WITHIN:g} s: {why}')))
            else:
                continue
            self._expected.remove(item)
        return ended

    def abandon(self, reason: str) -> list[CommandDone]:
        """End everything that is expected, with the reason."""
        expected, self._expected = self._expected, []
        return [CommandDone(item.ticket, item.what, f'{item.what}: {reason}')
                for item in expected]

    @property
    def deadline(self) -> float | None:
        """Return when ended() has something at the latest, None if nothing is expected."""
        if not self._expected:
            return None
        return min(item.since + SHOWN_WITHIN for item in self._expected)
