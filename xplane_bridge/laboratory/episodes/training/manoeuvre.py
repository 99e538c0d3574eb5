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
One flight of training in calm air: steps of altitude, heading and airspeed, in any order.

A step is judged by a corridor: until it is to be settled, anything between the old target and a
little beyond the new one, and from then on a narrow band. What the step does not change has a
band too, a wider one while the step is flown. The corridors are narrower than the criteria of
scenario ``steps``, so that these are met with something to spare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np

from xplane_bridge.laboratory.episodes.training.candidate import ERRORS, fly_policy, TARGETS
from xplane_bridge.laboratory.flights.analysis.history import quantity
from xplane_bridge.laboratory.flights.analysis.series import History, Series
from xplane_bridge.laboratory.flights.scenario.scenario import parse, Scenario


class _Kind(NamedTuple):
    """A step of a target: its sizes, seconds until it is settled, overshoot as its share."""

    target: str
    least: float
    most: float
    settled: float
    overshoot: float


_KINDS = (
    _Kind('altitude', 15.0, 60.0, 14.0, 0.03), _Kind('heading_deg', 15.0, 60.0, 15.0, 0.03),
    _Kind('airspeed', 2.0, 6.0, 9.0, 0.06))
# The band of each error (m, deg, m/s), and while another target's step is flown: rows by step.
_BANDS = (1.0, 1.0, 0.25)
_WHILE = ((math.nan, 2.0, 3.0), (2.0, math.nan, 1.0), (2.0, 1.0, math.nan))
_STEEPEST = 27.0
# The elevator's pulse before it is engaged, at most; when (s) that is, and is flown out.
_PULSE, _PULSED, _ENGAGED, _BEGIN = 0.1, 1.5, 1.6, 6.0
_CRUISE = 0.74
_APART = 19.0
DURATION = _BEGIN + len(_KINDS) * _APART


@dataclass(frozen=True, slots=True)
class Strayed:
    """
    How far a flight was outside of its corridors, as root mean squares in widths of the bands.

    In the order of ERRORS, then the bank's beyond 27 deg; ``flown`` is as in Score.
    """

    errors: tuple[float, ...]
    flown: float = 1.0


class _Step(NamedTuple):
    at: float
    kind: int
    size: float


def fly(parameters: Sequence[float] | None, seed: int) -> Strayed:
    """Fly a policy, or the shipped autopilot if None, through steps drawn by the seed."""
    scenario, steps = drawn(seed)
    flown = fly_policy(scenario, parameters, seed)
    return strayed(flown, steps) if isinstance(flown, History) else Strayed((), flown)


def drawn(seed: int) -> tuple[Scenario, list[_Step]]:
    """Return a flight with one step of each target, and these steps."""
    random = np.random.default_rng(seed)
    steps = [
        _Step(_BEGIN + number * _APART, int(index), round(float(
            random.choice((-1.0, 1.0)) * random.uniform(_KINDS[index].least, _KINDS[index].most)),
            3))
        for number, index in enumerate(random.permutation(len(_KINDS)))]
    pulse = round(float(random.uniform(-_PULSE, _PULSE)), 3)
    scenario = parse('manoeuvres', {
        'duration': DURATION, 'initial': dict(TARGETS),
        'events': [
            {'at': 0.0, 'controls': {'elevator': pulse, 'throttle': _CRUISE}, 'for': _PULSED},
            {'at': _ENGAGED, 'engage': True},
            *({'at': step.at, 'change': {_KINDS[step.kind].target: step.size}}
              for step in steps)],
        'criteria': [{'quantity': 'altitude_error', 'statistic': 'rms', 'at_most': 8.0}]})
    return scenario, steps


def strayed(flight: History, steps: Sequence[_Step]) -> Strayed:
    """Return how far a flight was outside of its corridors."""
    found = [_beyond(quantity(flight, name), index, steps) for index, name in enumerate(ERRORS)]
    bank = np.abs(quantity(flight, 'roll_deg').between(_BEGIN, math.nan).values)
    steep = np.sqrt(np.mean(np.square(np.maximum(bank - _STEEPEST, 0.0))))
    return Strayed((*found, float(steep)))


def _beyond(error: Series, index: int, steps: Sequence[_Step]) -> float:
    times, values = error.between(_BEGIN, math.nan)
    low, high = (np.full(len(times), side * _BANDS[index]) for side in (-1.0, 1.0))
    for at, kind, size in steps:
        settled, overshoot = _KINDS[kind].settled, _KINDS[kind].overshoot
        flown = (times >= at) & (times < at + settled)
        if kind == index:
            beyond = max(overshoot * abs(size), _BANDS[index])
            low[flown] = min(-size, 0.0) - _BANDS[index] if size > 0.0 else -beyond
            high[flown] = beyond if size > 0.0 else max(-size, 0.0) + _BANDS[index]
        else:
            low[flown], high[flown] = -_WHILE[kind][index], _WHILE[kind][index]
    outside = np.maximum(np.maximum(low - values, values - high), 0.0) / _BANDS[index]
    return float(np.sqrt(np.mean(np.square(outside))))
