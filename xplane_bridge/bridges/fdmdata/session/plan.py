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

"""Which of Huginn's sensors are polled together, and when."""

from __future__ import annotations

from collections.abc import Mapping
import math

from xplane_bridge.bridges.fdmdata.protocol import Command
from xplane_bridge.bridges.fdmdata.session.events import PollEntry

# Polls that are due this close together are merged.
_SLACK = 0.001

WATCH = ''
"""
The entry that always exists.

Even a parked aircraft's accelerometer and gyroscope change; a position that jumps is another run.
"""

RESTLESS = (Command.ACCELEROMETER, Command.GYROSCOPE, Command.INS)
"""Sensors that change with every step of a simulation that runs, one of them at least."""

_ALWAYS = {WATCH: PollEntry(RESTLESS, 2.0)}


class PollPlan:
    """Entries, each with sensors and a rate, and when each is due."""

    def __init__(self) -> None:
        self._entries: dict[str, PollEntry] = dict(_ALWAYS)
        self._due = dict.fromkeys(_ALWAYS, 0.0)
        # When the next entry is due: asked for twice as often as it changes.
        self.deadline = 0.0
        self._started_at = 0.0

    @property
    def entries(self) -> Mapping[str, PollEntry]:
        """Return the entries by name."""
        return self._entries

    def set(self, entries: Mapping[str, PollEntry], now: float) -> None:
        """
        Use these entries from now on; new ones are due at once.

        Raises ValueError for a rate that is not above 0, or an entry without a sensor.
        """
        for name, wanted in entries.items():
            if not 0.0 < wanted.rate < math.inf or not wanted.commands:
                raise ValueError(f'{name}: {wanted} is nothing to poll')
        old = self._entries
        self._entries = {**entries, **_ALWAYS}
        self._due = {
            name: self._due[name] if old.get(name) == wanted else now
            for name, wanted in self._entries.items()
        }
        self._look()

    def hurry(self, at: float) -> None:
        """Make the entry that always exists due then at the latest."""
        self._due[WATCH] = min(self._due[WATCH], at)
        self._look()

    def restart(self, now: float) -> None:
        """Make all entries due now, and start their grids now."""
        self._started_at = now
        self._due = dict.fromkeys(self._entries, now)
        self._look()

    def rates(self) -> dict[Command, float]:
        """Return the sensors of all entries, each with its highest rate."""
        rates: dict[Command, float] = {}
        for wanted in self._entries.values():
            for command in wanted.commands:
                rates[command] = max(wanted.rate, rates.get(command, 0.0))
        return rates

    def _look(self) -> None:
        self.deadline = min(self._due.values())

    def due(self, now: float) -> dict[str, tuple[Command, ...]]:
        """Return the sensors of the entries that are due, and count these as polled."""
        entries = {}
        for name, due in self._due.items():
            if due <= now + _SLACK:
                wanted = self._entries[name]
                entries[name] = wanted.commands
                # A late poll does not delay the next one; missed ones are not made up for.
                self._due[name] = self._next_due(max(due, now - 1.0 / wanted.rate), wanted.rate)
        self._look()
        return entries

    def _next_due(self, after: float, rate: float) -> float:
        """Return the next time on an entry's grid; all grids start together."""
        periods = math.floor((after - self._started_at) * rate + 1e-6)
        return self._started_at + (periods + 1) / rate
