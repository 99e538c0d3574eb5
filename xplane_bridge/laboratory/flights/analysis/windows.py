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
What each test input of a flight did: a window from its start to the end of its free response.

    for window in windows(scenario, occurrences, flight, flown):
        print(window)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
import math
from typing import Any

import numpy as np

from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.flights.analysis.broken_loop import broken_loop, BrokenLoop
from xplane_bridge.laboratory.flights.analysis.frequency_response import (
    COHERENT,
    frequency_response,
    FrequencyResponse,
)
from xplane_bridge.laboratory.flights.analysis.low_order import low_order
from xplane_bridge.laboratory.flights.analysis.series import History, Series
from xplane_bridge.laboratory.flights.analysis.verdict import Occurrence
from xplane_bridge.laboratory.flights.scenario.events import ScenarioEvent
from xplane_bridge.laboratory.flights.scenario.excitation import Excitation, MEASURED
from xplane_bridge.laboratory.flights.scenario.quantities import shown_unit
from xplane_bridge.laboratory.flights.scenario.scenario import Scenario

_SWEPT = ('chirp', 'multisine')
# The least movement worth a word, in the unit that it is shown in; of all others it is 1.
_LEAST = {'altitude': 2.0, 'airspeed': 0.5}
_MODES = {
    'natural_frequency': 'natural frequency {:.2f} rad/s', 'damping': 'damping {:.2f}',
    'time_constant': 'time constant {:.2f} s', 'delay': 'delay {:.3f} s'}


@dataclass(frozen=True, slots=True)
class Movement:
    """
    How far a quantity went from its value at the start (SI): up, down, and the larger of both.

    ``time_to_peak`` is that from the start to the larger one (s).
    """

    peak: float = math.nan
    time_to_peak: float = math.nan
    highest: float = math.nan
    lowest: float = math.nan


@dataclass(frozen=True, slots=True)
class Window:
    """
    What moved from the ``begin`` of an input to ``until``, the end of its free response (s).

    ``name`` is that of its figures. ``responses`` has the frequency responses of outputs after a
    chirp or a multisine, ``modes`` what low_order() found in them, ``loop`` that of the control if
    the input was in closed loop, and ``problem`` a sentence if they could not be computed. What
    was not flown has NaN.
    """

    name: str
    event: ScenarioEvent
    begin: float = math.nan
    until: float = math.nan
    moved: dict[str, Movement] = field(default_factory=dict)
    responses: dict[str, FrequencyResponse] = field(default_factory=dict)
    modes: dict[str, dict[str, float]] = field(default_factory=dict)
    loop: BrokenLoop | None = None
    problem: str = ''

    def lines(self) -> list[str]:
        """Return what is worth a line in a summary."""
        if math.isnan(self.begin):
            return [f'{self.event}: not flown to its end']
        moved = [
            text for name, movement in self.moved.items()
            if (text := _moved(name, movement, name in self._outputs))]
        found = [f'{self.event}, from {self.begin:.1f} s: '
                 + (', '.join(moved) or 'nothing moved')]
        for output, response in self.responses.items():
            coherent = response.where(COHERENT)
            text = f'  {self._axis} to {output}: '
            if not len(coherent.frequencies):
                found.append(f'{text}nowhere a coherence of {COHERENT}')
                continue
            most = int(np.argmax(coherent.magnitude_db))
            modes = ', '.join(
                form.format(self.modes[output][key]) for key, form in _MODES.items()
                if not math.isnan(self.modes.get(output, {}).get(key, math.nan)))
            found.append(
                f'{text}{coherent.frequencies[0]:.2f} to {coherent.frequencies[-1]:.2f} Hz, mean '
                f'coherence {response.coherence.mean():.2f}, largest '
                f'{coherent.magnitude_db[most]:+.1f} dB at {coherent.frequencies[most]:.2f} Hz'
                + (f'; {modes}' if modes else ''))
        if self.loop is not None:
            found.append(f'  {self.loop}')
        return [*found, *([f'  {self.problem}'] if self.problem else [])]

    @property
    def _axis(self) -> str:
        return self.event.value.axis if isinstance(self.event.value, Excitation) else ''

    @property
    def _outputs(self) -> Sequence[str]:
        return self.event.value.outputs if isinstance(self.event.value, Excitation) else ()

    def figures(self) -> dict[str, Any]:
        """Return its figures by name; those of a response are NaN where there is none."""
        moved = {name: self.moved.get(name, Movement()) for name in MEASURED}
        found: dict[str, Any] = {
            'event': str(self.event), 'begin': self.begin, 'end': self.begin + self.event.lasts,
            'until': self.until, 'moved': {name: asdict(one) for name, one in moved.items()}}
        if self.event.action in _SWEPT:
            found['responses'] = {
                output: _compute_figures(self._axis, output, self.responses.get(output),
                                    self.modes.get(output))
                for output in self._outputs}
        if self.loop is not None:
            found['loop'] = self.loop.figures()
        if self.problem:
            found['problem'] = self.problem
        return found


def windows(
    scenario: Scenario, occurrences: Sequence[Occurrence], flight: History, flown: float
) -> list[Window]:
    """Return a window of each event that lasts, in the order of the scenario."""
    found: list[Window] = []
    used: dict[str, int] = {}
    starts = {id(occurrence.event): occurrence.at for occurrence in occurrences}
    for event in scenario.events:
        if not event.lasts:
            continue
        name = event.action + (
            f'_{event.value.axis}' if isinstance(event.value, Excitation) else '')
        used[name] = used.get(name, 0) + 1
        if used[name] > 1:
            name = f'{name}_{used[name]}'
        begin = starts.get(id(event), math.nan)
        if begin + event.lasts > flown or math.isnan(begin):
            found.append(Window(name, event))
            continue
        later = [other.at for other in scenario.events if other.at >= event.at + event.lasts]
        found.append(_window(name, event, flight, begin, min(
            begin + event.lasts + event.free, flown, *later)))
    return found


def _window(
    name: str, event: ScenarioEvent, flight: History, begin: float, until: float
) -> Window:
    moved = {name: _movement(flight.series[name], begin, until) for name in MEASURED}
    responses: dict[str, FrequencyResponse] = {}
    modes: dict[str, dict[str, float]] = {}
    loop = None
    problem = ''
    if isinstance(event.value, Excitation) and event.action in _SWEPT:
        axis = event.value.axis
        command = flight.series[f'command_{axis}'].between(begin, until)
        for output in event.value.outputs:
            try:
                responses[output] = frequency_response(
                    event.value, command, flight.series[output].between(begin, until))
                modes[output] = low_order(axis, output, responses[output].where(COHERENT))
            except (ImportError, ValueError) as error:
                problem = f'no frequency response of {output}: {error}'
        if event.value.closed_loop:
            try:
                loop = broken_loop(event.value, begin, {
                    control: flight.series[f'command_{control}'].between(begin, until)
                    for control in FLOWN})
            except (ImportError, ValueError) as error:
                problem = f'no margins of {axis}: {error}'
    return Window(name, event, begin, until, moved, responses, modes, loop, problem)


def _movement(series: Series, begin: float, until: float) -> Movement:
    times, values = series.between(begin, until)
    if not len(values) or not np.isfinite(values).all():
        return Movement()
    deviation = values - values[0]
    most = int(np.argmax(np.abs(deviation)))
    return Movement(
        float(deviation[most]), float(times[most] - times[0]), float(deviation.max()),
        float(deviation.min()))


def _moved(name: str, movement: Movement, always: bool) -> str:
    """Return how far a quantity moved as a phrase; empty if hardly."""
    unit, least = shown_unit(name), _LEAST.get(name, 1.0)
    peak = math.degrees(movement.peak) if unit.startswith('deg') else movement.peak
    if math.isnan(peak) or (abs(peak) < least and not always):
        return ''
    return f'{name} {peak:+.1f} {unit} after {movement.time_to_peak:.1f} s'


def _compute_figures(
    axis: str, output: str, response: FrequencyResponse | None, modes: dict[str, float] | None
) -> dict[str, Any]:
    """Return the figures of a response, all of them NaN without one."""
    empty = np.empty(0)
    found = response or FrequencyResponse(empty, empty.astype(np.complex128), empty)
    coherent = found.where(COHERENT)
    frequencies = coherent.frequencies
    most = int(np.argmax(coherent.magnitude_db)) if len(frequencies) else None
    return {
        'coherence': float(found.coherence.mean()) if len(found.coherence) else math.nan,
        'from_hz': float(frequencies[0]) if len(frequencies) else math.nan,
        'to_hz': float(frequencies[-1]) if len(frequencies) else math.nan,
        'peak_db': math.nan if most is None else float(coherent.magnitude_db[most]),
        'peak_hz': math.nan if most is None else float(frequencies[most]),
        **(modes if modes is not None else low_order(axis, output, coherent)),
        'curve': {
            'frequency_hz': frequencies.tolist(), 'magnitude_db': coherent.magnitude_db.tolist(),
            'phase_deg': coherent.phase_deg.tolist(), 'coherence': coherent.coherence.tolist()}}
