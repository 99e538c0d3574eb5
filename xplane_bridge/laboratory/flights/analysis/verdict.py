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

"""Verdict on a flight: each criterion of its scenario with its value. No ROS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math
from typing import Any

import numpy as np

from xplane_bridge.bridges.conversions.airframe_events import AirframeEvent
from xplane_bridge.common.text import known
from xplane_bridge.common.timing import ROUNDED_TIME
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.flights.analysis.history import expressed, quantity, statistic
from xplane_bridge.laboratory.flights.analysis.series import History, Series
from xplane_bridge.laboratory.flights.scenario.criteria import Criterion
from xplane_bridge.laboratory.flights.scenario.events import ScenarioEvent
from xplane_bridge.laboratory.flights.scenario.scenario import Scenario

# Step response figures: rise time, overshoot, settling time. Pure functions on time series.

@dataclass(frozen=True, slots=True)
class StepResponse:
    """
    How a quantity followed one step of its target.

    Times are in seconds after the step; rise is from 10 % to 90 % of the step, overshoot a
    fraction of the step, settling the time after which the quantity stays within ``band`` of the
    target. NaN: it never happened. error is the steady-state error.
    """

    rise: float
    overshoot: float
    settling: float
    band: float
    error: float


def step_response(
    times: Sequence[float], values: Sequence[float], start: float, target: float, band: float
) -> StepResponse:
    """
    Return the figures of a step from ``start`` to ``target`` at times[0].

    times and values have one shape (n,), n >= 2; units are those of the quantity. Raises
    ValueError for fewer, and for a step of zero.
    """
    if len(times) < 2 or len(times) != len(values):
        raise ValueError(f'{len(times)} times and {len(values)} values are not a step response')
    if start == target:
        raise ValueError('a step needs a target other than its start')
    time = np.asarray(times, dtype=float) - times[0]
    progress = (np.asarray(values, dtype=float) - start) / (target - start)
    reached = [_first(time, progress >= level) for level in (0.1, 0.9)]
    outside = np.flatnonzero(np.abs(progress - 1.0) * abs(target - start) > band)
    if not len(outside):
        settling = 0.0
    elif outside[-1] == len(time) - 1:
        settling = math.nan
    else:
        settling = float(time[outside[-1] + 1])
    return StepResponse(
        rise=reached[1] - reached[0],
        overshoot=max(0.0, float(progress.max()) - 1.0),
        settling=settling,
        band=band,
        error=float(values[-1]) - target,
    )


def _first(time: np.ndarray, where: np.ndarray) -> float:
    found = np.flatnonzero(where)
    return float(time[found[0]]) if len(found) else math.nan


# A flight's last sample is never exactly at its end.
_LAST_SAMPLE = 0.2

UNITS = {'altitude': ('m', 1.0), 'heading': ('deg', DEGREE), 'airspeed': ('m/s', 1.0)}


STEP_HEAD = (
    'step', 'by', 'rise, s', 'overshoot, %', 'settles to', 'settling, s', 'steady-state error')
"""What the cells of flown steps are."""
_NOT_REACHED = 'not reached'


@dataclass(frozen=True, slots=True)
class Judgement:
    """
    One criterion: the requirement, the value found (NaN: it never happened), and the result.

    ``form`` formats the value. What was not ``reached``, since a crash ended the flight before,
    is not passed; its value is that until then.
    """

    criterion: str
    value: float
    passed: bool
    form: str = '{:.4g}'
    reached: bool = True

    def __str__(self) -> str:
        if not self.reached:
            return f'{self.criterion}: not reached' + (
                f'; until the crash {self.form}'.format(self.value)
                if math.isfinite(self.value) else '')
        unknown = 'never' if math.isnan(self.value) else 'without limit'
        return f'{self.criterion}: {known(self.value, self.form, unknown)}'


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An event and the scenario time (s) at which it happened; ``before``: the previous target."""

    event: ScenarioEvent
    at: float
    before: float = math.nan


@dataclass(frozen=True, slots=True)
class FlownStep:
    """The response to one change of a target; times in seconds of the scenario, values SI."""

    quantity: str
    begin: float
    start: float
    target: float
    response: StepResponse

    def __str__(self) -> str:
        quantity, by, rise, overshoot, band, settling, error = self.cells()
        return (f'{quantity} by {by}: rise {_seconds(rise)}, overshoot {overshoot}%, settling to '
                f'{band} {_seconds(settling)}, steady-state error {error}')

    def cells(self) -> tuple[str, ...]:
        """Return it as a row below STEP_HEAD."""
        unit, factor = UNITS[self.quantity]
        response = self.response
        rise, settling = (
            known(time, '{:.1f}', _NOT_REACHED)
            for time in (response.rise, response.settling))
        return (
            self.quantity, f'{(self.target - self.start) / factor:+.1f} {unit}', rise,
            f'{100.0 * response.overshoot:.1f}', f'+-{response.band / factor:.1f} {unit}',
            settling, f'{response.error / factor:+.2f} {unit}')


def _seconds(cell: str) -> str:
    return cell if cell == _NOT_REACHED else f'{cell} s'


def flown_step(series: Mapping[str, Series], occurrence: Occurrence) -> FlownStep:
    """
    Return the response to a change of a target that has an expectation.

    ``series`` has the changed quantity at scenario times. Raises ValueError if it was not flown to
    its end.
    """
    expect = occurrence.event.expect
    assert expect is not None
    (name, change), = occurrence.event.value.items()
    end = occurrence.at + expect.until - occurrence.event.at
    measured = series[name]
    if not len(measured.times) or measured.times[-1] < end - _LAST_SAMPLE:
        raise ValueError(f'{occurrence.event}: was not flown to its end')
    measured = measured.between(occurrence.at, end)
    start = occurrence.before
    if name == 'heading':
        # The measured heading is continuous, the target may differ by full turns.
        start += math.tau * round((float(measured.values[0]) - start) / math.tau)
    return FlownStep(name, occurrence.at, start, start + change, step_response(
        measured.times.tolist(), measured.values.tolist(), start, start + change, expect.band))


def judge_step(event: ScenarioEvent, step: FlownStep) -> list[Judgement]:
    """Return the judgements of a response's expectations."""
    assert event.expect is not None
    response, expect = step.response, event.expect
    return [
        Judgement(
            f'{event}: settles to +-{response.band / UNITS[step.quantity][1]:g} '
            f'{UNITS[step.quantity][0]} within {expect.settling:g} s',
            response.settling, response.settling <= expect.settling, '{:.1f} s'),
        Judgement(
            f'{event}: overshoots by at most {expect.overshoot:.0%}',
            response.overshoot, response.overshoot <= expect.overshoot, '{:.1%}'),
    ]


def judge(
    scenario: Scenario, flight: History, figures: Mapping[str, Any], flown: float,
    steps: Sequence[tuple[ScenarioEvent, FlownStep]], crash: AirframeEvent | None = None,
    is_cut: bool = False,
) -> list[Judgement]:
    """
    Return all criteria of a scenario, evaluated on a flight that got to ``flown`` (s).

    Anything beyond that is missed, or, where a crash has cut it, not reached: then also what is
    about the whole flight, unless the scenario expects its own ``crash``.
    """
    found = [judgement for event, step in steps for judgement in judge_step(event, step)]
    done = [event for event, _ in steps]
    found += [
        Judgement(f'{event}: is flown', math.nan, False, reached=not is_cut)
        for event in scenario.events if event.expect is not None and event not in done]
    if scenario.expect_crash:
        found.append(Judgement(
            'ends by a crash', math.nan if crash is None else crash.at, crash is not None,
            '{:.1f} s'))
    is_expected = scenario.expect_crash and crash is not None
    return found + [_judge(criterion, flight, figures, flown, is_cut, is_expected)
                    for criterion in scenario.criteria]


def _judge(
    criterion: Criterion, flight: History, figures: Mapping[str, Any], flown: float,
    is_cut: bool, is_expected: bool,
) -> Judgement:
    # The end of a flight that was to be longer is not the one that was meant.
    reached = not is_cut or is_expected
    if criterion.statistic:
        begin = 0.0 if math.isnan(criterion.begin) else criterion.begin
        # What happens at the end does not belong to what was before, however that is rounded.
        end = flown if math.isnan(criterion.end) else criterion.end - ROUNDED_TIME
        series = (expressed(flight, criterion.expression) if criterion.expression
                  else quantity(flight, criterion.name))
        value = (statistic(series.between(begin, end), criterion.statistic)
                 if end <= flown or is_cut else math.nan)
        if is_cut and (begin > flown or not math.isnan(criterion.end)):
            reached = end <= flown and not math.isnan(criterion.end)
    else:
        try:
            value = figure(figures, criterion.name)
        except KeyError:
            if not is_cut:
                raise
            # What it is made of was to come.
            value, reached = math.nan, False
    # NaN satisfies no limit.
    passed = (
        reached and not math.isnan(value)
        and (math.isnan(criterion.at_least) or value >= criterion.at_least)
        and (math.isnan(criterion.at_most) or value <= criterion.at_most))
    return Judgement(describe(criterion), value, passed, reached=reached)


def figure(figures: Mapping[str, Any], name: str) -> float:
    """Return a figure by its dotted name; KeyError if there is none."""
    found: Any = figures
    for part in name.split('.'):
        if not isinstance(found, Mapping) or part not in found:
            raise KeyError(
                f'there is no figure {name!r}: '
                + (f'expected one of {", ".join(found)} for {part!r}'
                   if isinstance(found, Mapping) else f'nothing is below {part!r}'))
        found = found[part]
    if isinstance(found, Mapping):
        raise KeyError(f'{name!r} is not a figure: expected one of {", ".join(found)} of it')
    if isinstance(found, list):
        raise KeyError(f'{name!r} is a list, not a figure')
    return float(found)


def describe(criterion: Criterion) -> str:
    """Return a criterion as a phrase."""
    limits = [f'{words} {limit:g}' for words, limit in (
        ('at least', criterion.at_least), ('at most', criterion.at_most))
        if not math.isnan(limit)]
    name = criterion.name
    if criterion.expression is not None:
        name = f'({name})' + (f' in {criterion.unit}' if criterion.unit else '')
    what = f'{criterion.statistic} of {name}' if criterion.statistic else name
    window = [f'{word} {time:g} s' for word, time in (
        ('from', criterion.begin), ('to', criterion.end)) if not math.isnan(time)]
    return ' '.join([what, *window, ' and '.join(limits)])


def plain(value: Any) -> Any:
    """Return a value for JSON: NaN and infinities, which JSON lacks, become null."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
