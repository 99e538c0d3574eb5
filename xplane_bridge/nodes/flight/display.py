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

"""Progress display of an experiment: a live view in a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

from xplane_bridge.common import optional
from xplane_bridge.common.command_line import terminal
from xplane_bridge.common.text import printable, printable_lines
from xplane_bridge.experiments.live import Live
from xplane_bridge.nodes.flight.monitor import Monitor

_REFRESHES = 8
_LINE_PERIOD = 2.0
_DEGREE = math.pi / 180.0


class View:
    """
    Show a Monitor's newest values.

    Use as a context manager. ``update(phase, progress)`` redraws, at most a few times per second;
    ``say(text)`` prints a permanent line. ``served``, if set, shows the same to other viewers.
    """

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self.served: Live | None = None
        self._live: Any = None
        self._drawn_at = 0.0
        self._rates_at = math.nan
        self._rates_from: dict[str, int] = {}
        self._rates: dict[str, float] = {}

    def __enter__(self) -> View:
        if sys.stdout.isatty():
            try:
                from rich.console import Console
                from rich.live import Live
            except ImportError:
                print(optional.missing('the live view', 'rich', extra='fly'), flush=True)
                return self
            self._live = Live(
                console=Console(file=terminal(sys.stdout)), refresh_per_second=_REFRESHES,
                transient=True)
            self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.__exit__(None, None, None)

    def say(self, text: str) -> None:
        """Print a permanent line."""
        if self.served is not None:
            self.served.say(text)
        if self._live is not None:
            # Text from files or peers is not markup.
            self._live.console.print(printable_lines(text), highlight=False, markup=False)
        else:
            print(text, flush=True)

    def update(self, phase: str, progress: float) -> None:
        """Show ``phase`` and the overall progress (0..1)."""
        if self.served is not None:
            self.served.update(progress)
        now = time.monotonic()
        if now - self._drawn_at < (1.0 / _REFRESHES if self._live else _LINE_PERIOD):
            return
        self._drawn_at = now
        with self._monitor.arrived:
            last = {name: series.last for name, series in self._monitor.series.items()}
            last['latency'] = self._monitor.latency
            counts = dict(self._monitor.counts)
        if not now - self._rates_at < 1.0:
            self._rates = {
                topic: (counts[topic] - count) / (now - self._rates_at)
                for topic, count in self._rates_from.items()
            }
            self._rates_at, self._rates_from = now, counts
        if self._live is not None:
            self._live.update(self._panel(phase, progress, last))
        else:
            print(
                f'{progress * 100.0:4.0f} %  altitude {last["altitude"]:7.1f} m  '
                f'heading {last["heading"] / _DEGREE % 360.0:5.1f} deg  '
                f'airspeed {last["airspeed"]:5.1f} m/s  roll {last["roll"] / _DEGREE:5.1f} deg  '
                f'pitch {last["pitch"] / _DEGREE:5.1f} deg  {phase}', flush=True)

    def _panel(self, phase: str, progress: float, last: dict[str, float]) -> Any:
        from rich.console import Group
        from rich.markup import escape
        from rich.panel import Panel
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        table = Table(expand=True, box=None)
        for heading, justify in (('', 'left'), ('measured', 'right'), ('target', 'right'),
                                 ('', 'left'), ('control', 'right'), ('', 'left')):
            table.add_column(heading, justify=justify)  # type: ignore[arg-type]
        rows = (
            ('altitude', 'altitude', 1.0, 'm', 'elevator'),
            ('heading', 'heading', 1.0 / _DEGREE, 'deg', 'aileron'),
            ('airspeed', 'airspeed', 1.0, 'm/s', 'rudder'),
            ('roll', 'roll', 1.0 / _DEGREE, 'deg', 'throttle'),
            ('pitch', 'pitch', 1.0 / _DEGREE, 'deg', ''),
        )
        for label, name, factor, unit, control in rows:
            value = last[name] * factor
            target = last.get(f'target_{name}', math.nan) * factor
            if name == 'heading':
                value, target = value % 360.0, target % 360.0
            table.add_row(
                label, f'{value:.1f} {unit}', '' if math.isnan(target) else f'{target:.1f} {unit}',
                control, f'{last[control]:+.3f}' if control else '',
                _bar(last[control]) if control else '')
        rates = '   '.join(f'{topic} {rate:.0f}/s' for topic, rate in sorted(self._rates.items())
                           if rate > 2.0)
        return Panel(Group(
            ProgressBar(total=1.0, completed=progress), '', table, '',
            f'position  {last["east"]:.0f} m east, {last["north"]:.0f} m north of the datum',
            f'topics    {rates}',
            'latency   ' + (
                'unknown: stamps are simulated time' if math.isnan(last['latency'])
                else f'{last["latency"] * 1e3:.2f} ms from the datagram to this subscriber'),
        ), title=escape(printable(phase)))


def _bar(value: float) -> str:
    """Return a control's deflection as a small bar, -1..1."""
    width = 10
    place = 0 if math.isnan(value) else round(max(-1.0, min(1.0, value)) * width)
    left = ''.join('#' if -place >= width - column else ' ' for column in range(width))
    right = ''.join('#' if place > column else ' ' for column in range(width))
    return f'[{left}|{right}]'.replace('[', '\\[')
