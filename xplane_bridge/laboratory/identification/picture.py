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

"""
Pictures of an identification: its manoeuvres, sensors, correlations and residuals, and a PDF.

Each manoeuvre is drawn measured over estimated. Figures have a width in inches, 0 for the usual;
in a column of a paper panels are below one another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import textwrap
from typing import Any

import numpy as np

from xplane_bridge.common.drawing import (
    BLUE,
    GREEN,
    GREY,
    in_column,
    legend_above,
    ORANGE,
    plain_ticks,
    PURPLE,
    pyplot,
    RED,
)
from xplane_bridge.laboratory.identification.compatibility import Compatibility
from xplane_bridge.laboratory.identification.identify import Identified
from xplane_bridge.laboratory.identification.motion.signals import Array, SIGNALS
from xplane_bridge.laboratory.identification.paper import correlations, formula
from xplane_bridge.laboratory.identification.reconstruction import OUTPUTS
from xplane_bridge.laboratory.identification.residual_spectrum import spectra

_DEGREES = {'rad': 'deg', 'rad/s': 'deg/s'}
_ACCELERATIONS = ('lift_acceleration', 'specific_force_y', 'path_acceleration')
_COLOURS = {'elevator': GREEN, 'aileron': BLUE, 'rudder': ORANGE, 'throttle': PURPLE}
_RATES = (BLUE, ORANGE, GREEN)
_WIDE, _SQUARE = 11.0, 7.0
# A page of text, in inches, with letters (pt) and what fits on it.
_PAGE, _LETTERS, _MOST_LETTERS, _MOST_LINES = (11.0, 8.5), 7.0, 165, 78
# Numbers in the cells of a matrix, if these are so wide (inches).
_CELL = 0.3


def manoeuvre_figure(found: Identified, at: int, width: float = 0.0) -> Any:
    """Return one manoeuvre of a form. Raises ImportError without matplotlib."""
    fit, motion = found.fit, found.motions[at]
    names, wide = fit.form.outputs, width or _WIDE
    narrow = in_column(wide)
    above = 0.5 if narrow else 0.28
    height = (1.25 if narrow else 0.19 * wide) * (len(names) + 1)
    figure, rows = pyplot().subplots(
        len(names) + 1, 1 if narrow else 2, figsize=(wide, height), sharex=True, squeeze=False)
    figure.subplots_adjust(
        left=0.8 / wide if narrow else 0.09, right=0.985, top=1.0 - above / height,
        bottom=0.46 / height, hspace=0.2, wspace=0.16)
    times, letters = motion.times, 8 if narrow else 9
    for row, name in enumerate(names):
        measured = motion.output(fit.form, name)
        factor, unit = _shown(name)
        left = rows[row][0]
        _dots(left, times, measured * factor, 'measured')
        left.plot(times, fit.outputs[at][:, row] * factor, color=RED, lw=1.3, label='estimated')
        left.set_ylabel(_label(name, unit), fontsize=letters)
        if not narrow:
            right = rows[row][1]
            right.plot(times, fit.residuals[at][:, row] * factor, color=GREY, lw=0.9)
            right.axhline(0.0, color='black', lw=0.5)
    legend_above(rows[0][0])
    _title(rows[0][0], found.manoeuvres[at], narrow)
    _controls(rows[-1][0], motion, letters)
    if not narrow:
        rows[0][1].set_title('residuals: measured minus estimated', loc='left', fontsize=10)
        rows[-1][1].set_axis_off()
        rows[-2][1].tick_params(labelbottom=True)
        rows[-2][1].set_xlabel('time, s')
    _finish(figure, rows[-1][0], 'time, s', letters)
    return figure


def compatibility_figure(found: Compatibility) -> Any:
    """Return the reconstructed over the measured signals. Raises ImportError."""
    count = len(found.motions)
    wide = max(6.0, 3.6 * count)
    figure, rows = pyplot().subplots(
        len(OUTPUTS), count, figsize=(wide, 9.0), sharex='col', squeeze=False)
    figure.subplots_adjust(
        left=0.9 / wide, right=0.99, top=0.96, bottom=0.06, hspace=0.15, wspace=0.25)
    for column, (motion, reconstructed) in enumerate(
            zip(found.motions, found.reconstructed, strict=True)):
        for row, name in enumerate(OUTPUTS):
            axes = rows[row][column]
            factor, unit = _shown(name)
            raw = found.raw[column].values.get(name)
            if raw is not None:
                _dots(axes, motion.times, raw * factor, 'measured')
            axes.plot(motion.times, reconstructed[:, row] * factor, color=RED, lw=1.2,
                      label='without gusts' if motion.has_gusts else 'reconstructed')
            if not column:
                axes.set_ylabel(_label(name, unit), fontsize=9)
        rows[0][column].set_title(
            motion.measured.manoeuvres[0].name, loc='left', fontsize=10)
        rows[-1][column].set_xlabel('time, s')
    rows[0][-1].legend(loc='best', fontsize=8, frameon=False)
    return figure


def correlation_figure(found: Identified, width: float = 0.0) -> Any:
    """Return the correlation matrix of a form's derivatives. Raises ImportError."""
    names = [*found.fit.derivatives]
    values = correlations(found.fit.covariance)
    wide = width or _SQUARE
    narrow = in_column(wide)
    letters = 7 if narrow else 10
    figure, axes = pyplot().subplots(figsize=(wide, 0.86 * wide), layout='constrained')
    cell = 0.75 * wide / len(names)
    shown = axes.imshow(values, cmap='RdBu_r', vmin=-1.0, vmax=1.0)
    for axis in (axes.xaxis, axes.yaxis):
        # Their indices have indices; but none is wider than its cell.
        axis.set_ticks(range(len(names)), [formula(one) for one in names],
                       fontsize=min(1.3 * letters, 33.0 * cell))
        for label in axis.get_ticklabels():
            label.set_parse_math(True)
    axes.tick_params(length=0.0)
    if cell >= _CELL:
        for (row, column), value in np.ndenumerate(values):
            axes.text(column, row, f'{value:.2f}', ha='center', va='center',
                      fontsize=min(20.0 * cell, 9.0),
                      color='white' if abs(value) > 0.6 else 'black')
    bar = figure.colorbar(shown, ax=axes, shrink=0.88)
    bar.set_label('correlation', fontsize=letters)
    bar.ax.tick_params(labelsize=letters)
    _title(axes, f'{found.fit.form.name}: correlation of the estimates', narrow)
    return figure


def spectrum_figure(found: Identified, width: float = 0.0) -> Any:
    """Return the spectra of the residuals of each output of a form. Raises ImportError."""
    fit, wide = found.fit, width or _SQUARE
    names, narrow = fit.form.outputs, in_column(wide)
    height = (1.5 if narrow else 0.3 * wide) * len(names) + 0.5
    figure, rows = pyplot().subplots(
        len(names), 1, figsize=(wide, height), sharex=True, squeeze=False)
    figure.subplots_adjust(left=(0.85 if narrow else 1.0) / wide, right=0.97,
                           top=1.0 - (0.5 if narrow else 0.3) / height,
                           bottom=0.46 / height, hspace=0.12)
    letters = 8 if narrow else 9
    times = [motion.times for motion in found.motions]
    for row, name in enumerate(names):
        axes = rows[row][0]
        factor, unit = _shown(name)
        shown = spectra(times, [factor * each[:, row] for each in fit.residuals])
        for n, one in enumerate(shown):
            # At zero there is what is left of the constants.
            colour = _RATES[n % len(_RATES)]
            axes.loglog(one.frequencies[1:], one.densities[1:], color=colour, lw=1.2,
                        label='residuals' if len(shown) == 1 else
                        f'of {2.0 * one.frequencies[-1]:.3g} Hz')
            axes.axhline(one.white, color=colour, lw=1.0, ls='--',
                         label='' if n else 'if it were white')
        plain_ticks(axes.xaxis)
        plain_ticks(axes.yaxis)
        axes.set_ylabel(_label(name, f'({unit})²/Hz'), fontsize=letters)
        axes.grid(alpha=0.3, lw=0.5)
    legend_above(rows[0][0])
    if not narrow:
        _title(rows[0][0], f'{fit.form.name}: residuals', narrow)
    _finish(figure, rows[-1][0], 'frequency, Hz', letters)
    return figure


def text_figures(lines: Sequence[str]) -> Iterator[Any]:
    """Yield pages of a text. Raises ImportError."""
    every = [part for line in '\n'.join(lines).split('\n') for part in textwrap.wrap(
        line, _MOST_LETTERS, subsequent_indent='    ', drop_whitespace=False) or ['']]
    for begin in range(0, len(every), _MOST_LINES):
        figure = pyplot().figure(figsize=_PAGE)
        figure.text(0.06, 0.95, '\n'.join(every[begin:begin + _MOST_LINES]), va='top',
                    family='monospace', fontsize=_LETTERS)
        yield figure


def _label(name: str, unit: str) -> str:
    return f'{name.replace("_", " ")}\n{unit}'


def _title(axes: Any, text: str, narrow: bool) -> None:
    # In a column the legend is below it.
    axes.set_title(text, loc='left', fontsize=8 if narrow else 10,
                   pad=18 if narrow and axes.get_legend() else None)


def _finish(figure: Any, axes: Any, label: str, letters: int) -> None:
    """Name the axis below all panels, and put the names of the others below one another."""
    axes.set_xlabel(label, fontsize=letters)
    figure.align_ylabels()
    if in_column(figure.get_figwidth()):
        for one in figure.axes:
            one.tick_params(labelsize=7)


def _shown(name: str) -> tuple[float, str]:
    unit = 'm/s2' if name in _ACCELERATIONS else SIGNALS[name].unit
    return (float(np.degrees(1.0)), _DEGREES[unit]) if unit in _DEGREES else (1.0, unit)


def _dots(axes: Any, times: Array, values: Array, label: str) -> None:
    axes.plot(times, values, color=BLUE, marker='.', ms=2.5, lw=0.0, label=label)


def _controls(axes: Any, motion: Any, letters: int) -> None:
    names = [one for one in _COLOURS if one in motion.flight.values]
    surfaces = motion.flight.surfaces
    for name in names:
        moves = name in surfaces
        axes.plot(motion.times, np.degrees(motion[name]) if moves else motion[name],
                  color=_COLOURS[name], lw=1.1,
                  label=f'{name}, deg' if moves and not surfaces >= {*names} else name,
                  drawstyle='default' if moves else 'steps-pre')
    axes.set_ylabel('deflections\ndeg' if surfaces >= {*names} else 'controls\nof full',
                    fontsize=letters)
    # Inputs are at the beginning.
    axes.legend(loc='upper right', fontsize=letters - 1, frameon=False)
