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

"""The picture of a studied envelope: its modes, and margins, over the first axis."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
import itertools
import math
from typing import Any

from xplane_bridge.common import drawing
from xplane_bridge.common.drawing import BLUE, GREEN, GREY, ORANGE, PURPLE, TEAL
from xplane_bridge.common.machine import LOST
from xplane_bridge.laboratory.envelope.envelope import Row, TRIMMED
from xplane_bridge.laboratory.envelope.envelope_table import EnvelopeTable
from xplane_bridge.laboratory.envelope.grid import AXES

MOST_LINES = 12
"""So many combinations of the other axes are drawn."""

_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, TEAL, GREY)
_STYLES = ('-', '--')
# The marker of each level.
_MARKERS = {1: 'o', 2: '^', 3: 's', 4: 'X'}
_LEVELS = {1: 'level 1', 2: 'level 2', 3: 'level 3', 4: 'below level 3'}
_COLUMNS = 4
_WIDTH, _HEIGHT = 13.5, 2.75
# Slower than this (s) nothing is told from what is steady.
_LONGEST = 1e3
# Where crosses are, in parts of the height: those of one line above those of the other.
_LOWEST, _APART = 0.03, 0.04


@dataclass(frozen=True, slots=True)
class _Panel:
    """Columns of which the least is drawn, and the mode whose level marks it."""

    title: str
    unit: str
    columns: tuple[str, ...]
    mode: str = ''


_MODES = (
    _Panel('short period: frequency', 'rad/s', ('mode.short_period.frequency',), 'short_period'),
    _Panel('short period: damping', '', ('mode.short_period.damping',), 'short_period'),
    _Panel('phugoid: frequency', 'rad/s', ('mode.phugoid.frequency',), 'phugoid'),
    _Panel('phugoid: damping', '', ('mode.phugoid.damping',), 'phugoid'),
    _Panel('Dutch roll: frequency', 'rad/s', ('mode.dutch_roll.frequency',), 'dutch_roll'),
    _Panel('Dutch roll: damping', '', ('mode.dutch_roll.damping',), 'dutch_roll'),
    _Panel('roll: time constant', 's', ('mode.roll.time_constant',), 'roll'),
    _Panel('spiral: 1 / time constant', '1/s', ('mode.spiral.time_constant',), 'spiral'))


def _margins(envelope: EnvelopeTable) -> tuple[_Panel, ...]:
    if not any('margin.disk' in row for row in envelope.rows):
        return ()

    def least(kind: str) -> tuple[str, ...]:
        return tuple(f'margin.{name}.{kind}' for name in envelope.inputs)

    return (_Panel('least gain margin', 'dB', least('gain')),
            _Panel('least phase margin', 'deg', least('phase')),
            _Panel('least delay margin', 's', least('delay')),
            _Panel('disk margin of all controls', '', ('margin.disk',)))


def draw(envelope: EnvelopeTable, file: str) -> None:
    """
    Draw an envelope into a file; holes are crosses below, of the colour of their line.

    Raises ImportError if matplotlib is missing, OSError if the file cannot be written.
    """
    plot = drawing.pyplot()
    panels = _MODES + _margins(envelope)
    rows = math.ceil(len(panels) / _COLUMNS)
    figure, all_axes = plot.subplots(
        rows, _COLUMNS, figsize=(_WIDTH, _HEIGHT * rows + 1.0), squeeze=False, sharex=True,
        layout='constrained')
    first, *others = envelope.axes
    combinations = [*itertools.product(*(envelope.axes[name] for name in others))]
    lines = combinations[:MOST_LINES]
    for axes, panel in zip(all_axes.flat, panels, strict=False):
        axes.set_title(panel.title, fontsize=10)
        axes.set_ylabel(panel.unit)
        axes.grid(alpha=0.3)
        for n, values in enumerate(lines):
            at = [row for row in envelope.rows
                  if all(row[name] == value for name, value in zip(others, values, strict=True))]
            _line(axes, panel, first, at, _COLOURS[n % len(_COLOURS)],
                  _STYLES[n // len(_COLOURS) % len(_STYLES)])
            holes = [row[first] for row in at if row['outcome'] not in (TRIMMED, LOST)]
            # Without points it would have no place that a layout could be made for.
            if holes:
                axes.plot(holes, [_LOWEST + n * _APART] * len(holes), 'x', markersize=5,
                          color=_COLOURS[n % len(_COLOURS)], clip_on=False,
                          transform=axes.get_xaxis_transform())
    for axes in all_axes.flat[len(panels):]:
        axes.axis('off')
    for axes in all_axes[-1]:
        axes.set_xlabel(f'{first}, {AXES[first]}')
    _legend(plot, figure, others, lines, {
        level for panel in _MODES for level in envelope.numbers(f'mode.{panel.mode}.level')},
        bool(envelope.holes))
    figure.suptitle(envelope.model + (
        f', the first {MOST_LINES} of {len(combinations)} lines'
        if len(combinations) > MOST_LINES else ''))
    drawing.save(figure, [file])


def _line(axes: Any, panel: _Panel, first: str, rows: Sequence[Row], colour: str,
          style: str) -> None:
    places = [row[first] for row in rows]
    values = [_value(panel, row) for row in rows]
    axes.plot(places, values, style, color=colour, linewidth=1.4)
    for level, marker in _MARKERS.items():
        marked = [(place, value) for place, value, row in zip(places, values, rows, strict=True)
                  if row.get(f'mode.{panel.mode}.level', 1) == level]
        if marked:
            axes.plot(*zip(*marked, strict=True), marker, color=colour, markersize=5,
                      markerfacecolor=colour if level == 1 else 'white')


def _value(panel: _Panel, row: Row) -> float:
    """Return what is drawn of a row; NaN leaves a gap."""
    values = [value for name in panel.columns
              if not math.isnan(value := float(row.get(name, math.nan)))]
    if not values or row['outcome'] != TRIMMED:
        return math.nan
    if panel.mode == 'spiral':
        return 1.0 / values[0]
    # No limit at all is no place in a picture.
    least = min(values)
    return least if abs(least) < _LONGEST else math.nan


def _legend(plot: Any, figure: Any, others: Sequence[str], lines: Sequence[Sequence[float]],
            levels: Collection[float], has_holes: bool) -> None:
    made = plot.Line2D
    entries = [
        made([], [], color=_COLOURS[n % len(_COLOURS)],
             linestyle=_STYLES[n // len(_COLOURS) % len(_STYLES)],
             label=', '.join(f'{name} {value:g} {AXES[name]}'.removesuffix(' ratio')
                             for name, value in zip(others, values, strict=True)))
        for n, values in enumerate(lines) if others]
    entries += [
        made([], [], color=GREY, linestyle='', marker=marker, label=_LEVELS[level],
             markerfacecolor=GREY if level == 1 else 'white')
        for level, marker in _MARKERS.items() if level in levels]
    if has_holes:
        entries.append(made(
            [], [], color=GREY, linestyle='', marker='x', label='no steady flight'))
    figure.legend(handles=entries, loc='outside lower center', ncols=min(len(entries), 6),
                  frameon=False, fontsize=9)
