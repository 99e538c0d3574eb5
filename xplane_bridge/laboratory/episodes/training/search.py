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
Learn the parameters of holding.py from nothing, by evolution: CMA-ES of the package cma.

What moves the aircraft up, down and forward hardly moves it sideways, so the two are searched for
separately, in the same flights. All candidates of a generation fly in the same turbulence, and so
does the shipped autopilot: a candidate's loss is its errors' ratio to the autopilot's, plus a
little of how much more it moves the controls. To it comes how far it strays from the corridors
of manoeuvres, all candidates through the same. Equal plans give equal parameters, whatever the
number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
from typing import Any

import numpy as np

from xplane_bridge.common import optional
from xplane_bridge.common.fields import LARGEST_SEED
from xplane_bridge.laboratory.episodes.training import manoeuvre
from xplane_bridge.laboratory.episodes.training.candidate import fly, Score
from xplane_bridge.laboratory.episodes.training.holding import PARAMETERS
from xplane_bridge.laboratory.episodes.training.manoeuvre import Strayed
from xplane_bridge.laboratory.episodes.training.parallel import Mapping, mapping

# Flights of training start here, those of tests have smaller seeds; each plan has so many.
_FIRST_SEED = 100_000
LARGEST_PLAN_SEED = (LARGEST_SEED + 1) // _FIRST_SEED - 1
"""Flights of larger ones would have seeds that there are not; the smallest is 1."""
# Losing an aircraft at once is this bad, just before the end half of it; keeping it is below.
_LOST = 20.0
# What counts of the altitude's error, of the controls' rates lengthwise and sideways.
_ALTITUDE, _LENGTHWISE, _SIDEWAYS = 0.3, 0.05, 0.1

_LATERAL = [
    name.startswith(('aileron.', 'rudder.')) or name == 'limit.heading_error'
    for name in PARAMETERS]
PARTS = {
    'longitudinal': [index for index, lateral in enumerate(_LATERAL) if not lateral],
    'lateral': [index for index, lateral in enumerate(_LATERAL) if lateral]}
"""The parameters of each search, by their indices."""


@dataclass(frozen=True, slots=True)
class Stage:
    """
    Generations: for each candidate ``flights`` of ``seconds`` in turbulence, and ``manoeuvres``.

    ``strayed`` is what straying from a corridor by the width of its band counts. With a
    ``spread`` the search starts anew, around the best of the stages before.
    """

    generations: int
    flights: int
    seconds: float
    manoeuvres: int = 0
    strayed: float = 0.4
    spread: float | None = None

    def count(self, candidates: int) -> int:
        """Return the number of flights, those of the autopilot included."""
        return self.generations * (
            self.flights * (candidates + 1) + self.manoeuvres * candidates)

    def flown(self, candidates: int) -> float:
        """Return how long (s) they last together."""
        return self.generations * (
            self.flights * (candidates + 1) * self.seconds
            + self.manoeuvres * candidates * manoeuvre.DURATION)


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """What is flown; the parameters of the first candidates are spread around 0 by ``spread``."""

    stages: tuple[Stage, ...] = (
        Stage(50, 1, 24.0, 1), Stage(40, 1, 60.0, 1), Stage(20, 1, 60.0, 2, 1.0, 0.15))
    candidates: int = 12
    seed: int = 2
    spread: float = 0.4

    @property
    def flights(self) -> int:
        """Return the number of flights, those of the autopilot included."""
        return sum(stage.count(self.candidates) for stage in self.stages)

    @property
    def seconds(self) -> float:
        """Return how long they last together."""
        return sum(stage.flown(self.candidates) for stage in self.stages)


@dataclass(frozen=True, slots=True)
class Generation:
    """One generation: the median and the least loss of each part; ``share`` of all flown."""

    number: int
    median: dict[str, float]
    least: dict[str, float]
    share: float


def losses(scores: Sequence[Score], references: Sequence[Score],
           manoeuvres: Sequence[Strayed] = (), strayed: float = 0.0) -> dict[str, float]:
    """
    Return the loss of each part.

    ``references`` are the autopilot's ``scores``, in the same turbulence; ``strayed`` is that of
    Stage.
    """
    shares = [*(one.flown for one in scores), *(one.flown for one in manoeuvres)]
    if min(shares) < 1.0:
        return dict.fromkeys(PARTS, _LOST * (1.0 - 0.5 * float(np.mean(shares))))
    altitude, heading, airspeed = _ratios([score.errors for score in scores],
                                          [score.errors for score in references])
    elevator, aileron, rudder, throttle = _ratios([score.rates for score in scores],
                                                  [score.rates for score in references])
    high, aside, fast, steep = (
        np.sqrt(np.mean(np.square([one.errors for one in manoeuvres]), axis=0)).tolist()
        if manoeuvres else (0.0, 0.0, 0.0, 0.0))
    return {
        'longitudinal': (airspeed + _ALTITUDE * altitude ** 2
                         + _LENGTHWISE * math.hypot(elevator, throttle)
                         + strayed * (high + fast)),
        'lateral': (heading + _SIDEWAYS * math.hypot(aileron, rudder)
                    + strayed * (aside + steep))}


def _ratios(values: Sequence[Sequence[float]], others: Sequence[Sequence[float]]) -> list[float]:
    """Return the ratios of the root mean squares over all flights."""
    squares = np.square(values).mean(axis=0) / np.square(others).mean(axis=0)
    return [float(value) for value in np.sqrt(squares)]


def train(plan: SearchPlan, workers: int = 1,
          tell: Callable[[Generation], None] = lambda generation: None) -> list[float]:
    """
    Return the parameters found; ``tell`` is called after each generation.

    ``workers`` processes fly. Raises ImportError with a sentence if cma is not installed.
    """
    optional.require('training', 'cma', extra='train')
    with mapping(workers) as each:
        return _evolve(plan, each, tell)


def _evolve(plan: SearchPlan, each: Mapping,
            tell: Callable[[Generation], None]) -> list[float]:
    best: dict[str, Sequence[float]] = {
        part: [0.0] * len(indices) for part, indices in PARTS.items()}
    searches = _searches(best, plan.spread, plan)
    number, seed, flown = 0, _FIRST_SEED * plan.seed, 0.0
    for stage in plan.stages:
        if stage.spread is not None:
            searches = _searches(best, stage.spread, plan)
        for _ in range(stage.generations):
            seeds = range(seed, seed := seed + max(stage.flights, stage.manoeuvres))
            asked = {part: search.ask() for part, search in searches.items()}
            candidates = [_joined({part: asked[part][index] for part in PARTS})
                          for index in range(plan.candidates)]
            found = _flown(each, candidates, seeds, stage)
            for part, search in searches.items():
                search.tell(asked[part], [loss[part] for loss in found])
            number += 1
            flown += stage.flown(plan.candidates) / stage.generations
            median, least = (
                {part: float(pick([loss[part] for loss in found])) for part in PARTS}
                for pick in (np.median, min))
            tell(Generation(number, median, least, flown / plan.seconds))
        best = {part: search.result.xfavorite for part, search in searches.items()}
    return _joined(best)


def _searches(
    around: dict[str, Sequence[float]], spread: float, plan: SearchPlan
) -> dict[str, Any]:
    """Return a search for the parameters of each part."""
    import cma
    return {
        part: cma.CMAEvolutionStrategy(values, spread, {
            'popsize': plan.candidates, 'seed': 1000 * plan.seed + number, 'verbose': -9})
        for number, (part, values) in enumerate(around.items(), 1)}


def _joined(parts: dict[str, Sequence[float]]) -> list[float]:
    """Return all parameters, in their order."""
    joined = [0.0] * len(PARAMETERS)
    for part, values in parts.items():
        for index, value in zip(PARTS[part], values, strict=True):
            joined[index] = float(value)
    return joined


def _flown(each: Mapping, candidates: Sequence[list[float]], seeds: Sequence[int],
           stage: Stage) -> list[dict[str, float]]:
    """Return the losses of the candidates, all flown in the same turbulence and manoeuvres."""
    scores = _spread(each, fly, [None, *candidates], seeds[:stage.flights], stage.seconds)
    strayed = _spread(each, manoeuvre.fly, candidates, seeds[:stage.manoeuvres])
    return [losses(flights, scores[0], manoeuvres, stage.strayed)
            for flights, manoeuvres in zip(scores[1:], strayed, strict=True)]


def _spread(each: Mapping, flown: Callable[..., Any], flyers: Sequence[list[float] | None],
            seeds: Sequence[int], *given: Any) -> list[list[Any]]:
    """Return for each flyer what it flew, with each of the seeds."""
    orders = [(flyer, seed, *given) for flyer in flyers for seed in seeds]
    found = iter(each(flown, *zip(*orders, strict=True)) if orders else ())
    return [[next(found) for _ in seeds] for _ in flyers]
