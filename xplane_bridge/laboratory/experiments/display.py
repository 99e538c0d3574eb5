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

from contextlib import suppress
import math
import sys
import threading
import time
from typing import Any, TYPE_CHECKING

from xplane_bridge.common import drawing, optional
from xplane_bridge.common.command_line import Tenths, terminal
from xplane_bridge.common.text import known, printable, printable_lines
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.flights.flight import AT_ONCE, Flight

if TYPE_CHECKING:
    from xplane_bridge.laboratory.experiments.live import Live

_REFRESHES = 8
_LINE_PERIOD = 2.0
_SHOWN = ('altitude', 'heading', 'airspeed', 'roll', 'pitch', 'east', 'north')
_CONTROLS = ('elevator', 'aileron', 'rudder', 'throttle')
_TARGETS = ('altitude', 'heading', 'airspeed')


class LiveView:
    """
    Show a flight's newest values.

    Use as a context manager. ``update(phase, progress)`` redraws, at most a few times per second,
    or prints a line for each tenth; ``say(text)`` prints a permanent line. ``served`` shows the
    same to other viewers. A flight that could be faster is held back to ``pace`` times real time;
    0: it is not. ``draws``: a picture will be drawn of it.
    """

    def __init__(
        self, served: Live | None = None, pace: float = 0.0, draws: bool = False
    ) -> None:
        self._served = served
        self._draws = draws
        self._pace = pace
        self._flight: Flight | None = None
        self._began = math.nan
        self._live: Any = None
        self._drawn_at = -math.inf
        self._tenths = Tenths()
        self._rates_at = math.nan
        self._rates_from: dict[str, int] = {}
        self._rates: dict[str, float] = {}

    @property
    def frames_at_once(self) -> int:
        """Return how many frames to fly at once: where all are seen, all are in the same one."""
        return AT_ONCE if self._served is None else 1

    def __enter__(self) -> LiveView:
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

    def begin(self, flight: Flight) -> None:
        """Show this flight from now on."""
        self._flight = flight
        self._began = time.monotonic()
        if self._served is not None:
            self._served.begin(flight)

    def end(self) -> None:
        """Import what draws, which takes as long as a flight's processes take to end."""
        if self._draws:
            self._draws = False
            threading.Thread(target=_import_drawing, daemon=True).start()

    def say(self, text: str) -> None:
        """Print a permanent line."""
        if self._served is not None:
            self._served.say(text)
        if self._live is not None:
            # Text from files or peers is not markup.
            self._live.console.print(printable_lines(text), highlight=False, markup=False)
        else:
            print(text, flush=True)

    def update(self, phase: str, progress: float) -> None:
        """Show ``phase`` and the overall progress (0..1)."""
        if self._served is not None:
            self._served.update(progress)
        flight = self._flight
        if flight is None:
            return
        if self._pace:
            due = self._began + progress * flight.script.scenario.duration / self._pace
            time.sleep(max(0.0, due - time.monotonic()))
        now = time.monotonic()
        if now - self._drawn_at < (1.0 / _REFRESHES if self._live else _LINE_PERIOD):
            return
        if self._live is None and not self._tenths.has_next(progress):
            return
        self._drawn_at = now
        last = {name: flight.telemetry.last(name) for name in (
            *_SHOWN, *_CONTROLS, *(f'target_{name}' for name in _TARGETS))}
        found, last['latency'] = flight.traffic()
        counts = dict(found)
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
                f'{progress * 100.0:4.0f} %  ' + '  '.join(
                    f'{name} {known(value, form)}' for name, value, form in (
                        ('altitude', last['altitude'], '{:7.1f} m'),
                        ('heading', last['heading'] / DEGREE % 360.0, '{:5.1f} deg'),
                        ('airspeed', last['airspeed'], '{:5.1f} m/s'),
                        ('roll', last['roll'] / DEGREE, '{:5.1f} deg'),
                        ('pitch', last['pitch'] / DEGREE, '{:5.1f} deg'))) + f'  {phase}',
                flush=True)

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
            ('heading', 'heading', 1.0 / DEGREE, 'deg', 'aileron'),
            ('airspeed', 'airspeed', 1.0, 'm/s', 'rudder'),
            ('roll', 'roll', 1.0 / DEGREE, 'deg', 'throttle'),
            ('pitch', 'pitch', 1.0 / DEGREE, 'deg', ''),
        )
        for label, name, factor, unit, control in rows:
            value = last[name] * factor
            target = last.get(f'target_{name}', math.nan) * factor
            if name == 'heading':
                value, target = value % 360.0, target % 360.0
            table.add_row(
                label, known(value, f'{{:.1f}} {unit}'), known(target, f'{{:.1f}} {unit}', ''),
                control, known(last[control], '{:+.3f}') if control else '',
                _bar(last[control]) if control else '')
        rates = '   '.join(f'{topic} {rate:.0f}/s' for topic, rate in sorted(self._rates.items())
                           if rate > 2.0)
        return Panel(Group(
            ProgressBar(total=1.0, completed=progress), '', table, '',
            'position  ' + known(last['east'] + last['north'], (
                f'{last["east"]:.0f} m east, {last["north"]:.0f} m north of the datum')),
            f'topics    {rates}',
            'latency   ' + known(
                last['latency'] * 1e3, '{:.2f} ms from the datagram to this subscriber',
                'unknown: stamps are simulated time'),
        ), title=escape(printable(phase)))


def _import_drawing() -> None:
    # If it is missing, the report says so.
    with suppress(ImportError):
        drawing.pyplot()


def _bar(value: float) -> str:
    """Return a control's deflection as a small bar, -1..1."""
    width = 10
    place = 0 if math.isnan(value) else round(max(-1.0, min(1.0, value)) * width)
    left = ''.join('#' if -place >= width - column else ' ' for column in range(width))
    right = ''.join('#' if place > column else ' ' for column in range(width))
    return f'[{left}|{right}]'.replace('[', '\\[')
