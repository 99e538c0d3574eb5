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

"""Pictures of an identification: each manoeuvre, measured over estimated, with its residuals."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from xplane_bridge.common.drawing import (
    BLUE,
    GREEN,
    GREY,
    legend_above,
    ORANGE,
    PURPLE,
    pyplot,
    RED,
    save,
)
from xplane_bridge.laboratory.identification.compatibility import Compatibility
from xplane_bridge.laboratory.identification.identify import Identified
from xplane_bridge.laboratory.identification.motion.signals import Array, SIGNALS
from xplane_bridge.laboratory.identification.reconstruction import OUTPUTS

_DEGREES = {'rad': 'deg', 'rad/s': 'deg/s'}
_ACCELERATIONS = ('lift_acceleration', 'specific_force_y', 'path_acceleration')
_COLOURS = {'elevator': GREEN, 'aileron': BLUE, 'rudder': ORANGE, 'throttle': PURPLE}


def draw_manoeuvre(found: Identified, at: int, path: str | PathLike[str]) -> None:
    """Draw one manoeuvre of a form. Raises ImportError without matplotlib, OSError."""
    fit, motion = found.fit, found.motions[at]
    names = fit.form.outputs
    figure, rows = pyplot().subplots(
        len(names) + 1, 2, figsize=(11.0, 2.1 * (len(names) + 1)), sharex=True)
    figure.subplots_adjust(
        left=0.09, right=0.985, top=1.0 - 0.08 / len(names), bottom=0.22 / (len(names) + 1),
        hspace=0.18, wspace=0.16)
    times = motion.times
    for row, name in enumerate(names):
        measured = motion.output(fit.form, name)
        factor, unit = _shown(name)
        left, right = rows[row]
        _dots(left, times, measured * factor, 'measured')
        left.plot(times, fit.outputs[at][:, row] * factor, color=RED, lw=1.3, label='estimated')
        left.set_ylabel(f'{name.replace("_", " ")}\n{unit}', fontsize=9)
        right.plot(times, fit.residuals[at][:, row] * factor, color=GREY, lw=0.9)
        right.axhline(0.0, color='black', lw=0.5)
    legend_above(rows[0][0])
    rows[0][0].set_title(found.manoeuvres[at], loc='left', fontsize=10)
    rows[0][1].set_title('residuals: measured minus estimated', loc='left', fontsize=10)
    _controls(rows[-1][0], motion)
    rows[-1][1].set_axis_off()
    rows[-2][1].tick_params(labelbottom=True)
    rows[-2][1].set_xlabel('time, s')
    rows[-1][0].set_xlabel('time, s')
    save(figure, [path])


def draw_compatibility(found: Compatibility, path: str | PathLike[str]) -> None:
    """Draw the reconstructed over the measured signals. Raises ImportError, OSError."""
    count = len(found.motions)
    figure, rows = pyplot().subplots(
        len(OUTPUTS), count, figsize=(max(6.0, 3.6 * count), 9.0), sharex='col', squeeze=False)
    figure.subplots_adjust(
        left=0.9 / max(6.0, 3.6 * count), right=0.99, top=0.96, bottom=0.06, hspace=0.15,
        wspace=0.25)
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
                axes.set_ylabel(f'{name.replace("_", " ")}\n{unit}', fontsize=9)
        rows[0][column].set_title(
            motion.measured.manoeuvres[0].name, loc='left', fontsize=10)
        rows[-1][column].set_xlabel('time, s')
    rows[0][-1].legend(loc='best', fontsize=8, frameon=False)
    save(figure, [path])


def _shown(name: str) -> tuple[float, str]:
    unit = 'm/s2' if name in _ACCELERATIONS else SIGNALS[name].unit
    return (float(np.degrees(1.0)), _DEGREES[unit]) if unit in _DEGREES else (1.0, unit)


def _dots(axes: Any, times: Array, values: Array, label: str) -> None:
    axes.plot(times, values, color=BLUE, marker='.', ms=2.5, lw=0.0, label=label)


def _controls(axes: Any, motion: Any) -> None:
    for name in (one for one in _COLOURS if one in motion.flight.values):
        moves = name in motion.flight.surfaces
        axes.plot(motion.times, motion[name], color=_COLOURS[name], lw=1.1,
                  label=f'{name}, rad' if moves else name,
                  drawstyle='default' if moves else 'steps-pre')
    axes.set_ylabel('controls\nof full', fontsize=9)
    axes.legend(loc='best', fontsize=8, frameon=False)
