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

"""What tuning has reached: a table, and the parameter file with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
import math

from xplane_bridge.common.text import aligned
from xplane_bridge.laboratory.control.gains import Gains, SCHEDULE
from xplane_bridge.laboratory.control.runway.performance import GROUP, Performance
from xplane_bridge.laboratory.control.schedule import AXES
from xplane_bridge.laboratory.control.tuning.tune import Loop, LoopRequirements, Tuning
from xplane_bridge.simulation.aircraft.linear_model import LinearModel

_HEAD = ('loop', 'wanted', 'crossover', 'phase margin', 'gain margin', 'sensitivity')


def table(found: Tuning) -> str:
    """Return the loops with their margins, a line each."""
    return '\n'.join(aligned([_HEAD, *map(_row, found.loops)]))


def parameter_file(
    model: LinearModel, found: Tuning, limits: LoopRequirements, command: str,
    performance: Performance | None = None, schedule: Mapping[str, Sequence[float]] | None = None,
) -> str:
    """
    Return the text of a parameter file with the gains, and how they were found.

    The table in it is that of the one point ``found``, also where there is a schedule (lists by
    name, see Schedule.of); of that only what differs from point to point is written.
    """
    comment = [
        f'Gains of the cascade for the {model.model}, found by',
        f'  {command}',
        f'Linear model at {model.altitude_msl:.0f} m and {model.airspeed:.1f} m/s (calibrated), '
        f'{1e3 * limits.delay:.0f} ms of delay.',
        '', *table(found).splitlines()]
    complaints = [loop.complaint() for loop in found.loops if not loop.reached]
    if complaints:
        comment += ['', *complaints]
    lines = [f'# {line}'.rstrip() for line in comment]
    lines += ['', '/**:', '  ros__parameters:', '    gains:']
    default = Gains()
    lines += [
        f'      {item.name}: {_number(getattr(found.gains, item.name))}' for item in fields(Gains)
        if item.name in found.tuned or getattr(found.gains, item.name) != getattr(
            default, item.name)]
    lines += ['    envelope:']
    lines += [f'      {name}: {_number(value)}' for name, value in found.envelope.items()]
    if schedule:
        lines += [f'    {SCHEDULE}:']
        # Axes as they are: rounded, two of their values might be one.
        lines += [f'      {name}: [{", ".join(map(repr if name in AXES else _number, values))}]'
                  for name, values in schedule.items()
                  if name in AXES or len({*map(_number, values)}) > 1]
    if performance is not None:
        lines += [f'    {GROUP}:']
        lines += [f'      {item.name}: {_number(getattr(performance, item.name))}'
                  for item in fields(Performance)]
    return '\n'.join(lines) + '\n'


def _row(loop: Loop) -> tuple[str, ...]:
    gain = '-' if math.isinf(loop.gain_margin) else f'{loop.gain_margin:.0f} dB'
    crossover = f'{loop.crossover:.2f} rad/s' if loop.crossover else 'none'
    return (loop.name, f'{loop.wanted:.2f} rad/s', crossover, f'{loop.phase_margin:.0f} deg', gain,
            f'{loop.sensitivity:.2f}')


def _number(value: float) -> str:
    """Return a number with four digits, as YAML has a float."""
    text = f'{value:.4g}'
    return text if '.' in text or 'e' in text else f'{text}.0'
