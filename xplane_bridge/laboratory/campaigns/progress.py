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

"""How far a campaign is, and how long the rest takes: a bar in a terminal, otherwise lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
import sys
import time
from types import TracebackType
from typing import Any

from xplane_bridge.common.command_line import Tenths, terminal
from xplane_bridge.laboratory.campaigns.table.rows import LOST, OUTCOMES, Row

# Seconds between two lines where there is no terminal, at least.
_PERIOD = 10.0


def duration(seconds: float) -> str:
    """Return a time in the units that suit it: 12 s, 3:05 min, 2:40 h."""
    whole = round(seconds)
    if whole < 60:
        return f'{whole} s' if whole or not seconds else f'{seconds:.1g} s'
    if whole < 3600:
        return f'{whole // 60}:{whole % 60:02} min'
    return f'{whole // 3600}:{whole % 3600 // 60:02} h'


class CampaignProgress:
    """
    Shows the flights of a campaign as they end; a context.

    ``total`` is the number of flights; ``before`` counts the outcomes of those that had ended
    before. The rest is taken to fly as fast as those since the start.
    """

    def __init__(self, total: int, before: Mapping[str, int]) -> None:
        done = sum(before.values())
        self._total, self._before, self._ended = total, done, 0
        self._begin = self._said = time.monotonic()
        self._outcomes = Counter(before)
        self._processor = self._jsbsim = 0.0
        self._tenths = Tenths()
        self._bar = _Bar.of(total, done)

    def __enter__(self) -> CampaignProgress:
        """Begin to show it."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        """Show the last state."""
        if self._bar is not None:
            self._bar.stop()
        if self._ended:
            print(self._line(), flush=True)

    def ended(self, row: Row) -> None:
        """Show that a flight has ended."""
        self._ended += 1
        self._outcomes[row['outcome']] += 1
        self._processor += row.get('processor_seconds', 0.0)
        self._jsbsim += row.get('jsbsim_seconds', 0.0)
        if self._bar is not None:
            self._bar.show(self._before + self._ended, self._counts())
        elif time.monotonic() - self._said > _PERIOD and self._tenths.has_next(
                (self._before + self._ended) / self._total):
            self._said = time.monotonic()
            print(self._line(), flush=True)

    def _counts(self) -> str:
        return ', '.join(f'{self._outcomes[name]} {name}' for name in (*OUTCOMES, LOST)
                         if self._outcomes[name])

    def _line(self) -> str:
        elapsed = time.monotonic() - self._begin
        ended = self._before + self._ended
        rest = (f'{duration(elapsed / self._ended * (self._total - ended))} left'
                if ended < self._total else f'in {duration(elapsed)}')
        # Flights through ROS have their processor time in processes of their own.
        share = (f", {self._jsbsim / self._processor:.0%} of the processor time is JSBSim's"
                 if self._processor else '')
        return (f'{ended} of {self._total} flights ({self._counts()}), {rest}; '
                f'{self._ended / elapsed:.3g} flights per second{share}')


class _Bar:
    """A bar of rich."""

    @staticmethod
    def of(total: int, done: int) -> _Bar | None:
        """Return a bar if this is a terminal and rich is installed."""
        if not sys.stdout.isatty():
            return None
        try:
            return _Bar(total, done)
        except ImportError:
            return None

    def __init__(self, total: int, done: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress
        self._rich: Any = RichProgress(
            MofNCompleteColumn(), BarColumn(), TextColumn('{task.description}'),
            TimeRemainingColumn(), transient=True, console=Console(file=terminal(sys.stdout)))
        self._task = self._rich.add_task('', total=total, completed=done)
        self._rich.start()

    def show(self, ended: int, counts: str) -> None:
        self._rich.update(self._task, completed=ended, description=counts)

    def stop(self) -> None:
        self._rich.stop()
