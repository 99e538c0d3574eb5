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
The errors of one sensor: noise, bias, scale factor, quantisation, saturation. SI units throughout.

The error model is that of IEEE Std 952 (annex C), which describes a sensor by its Allan deviation;
``allan.expected_deviation`` draws it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
import math
from math import isfinite
from typing import NamedTuple

import numpy as np

from xplane_bridge.common.fields import declared

# The highest point of the Allan deviation of a Gauss-Markov process of standard deviation 1, which
# is at 1.89 time constants (IEEE Std 952, C.1.5).
_PEAK = 0.6174
# Normal numbers drawn at once, in samples.
_BLOCK = 256
# Per axis and sample: for the white noise, the drifting bias, the walking bias.
_DRAWS = 3
# White noise is that of the time between samples, but of no less and no more than this (s).
_SHORTEST, _LONGEST = 1e-3, 1.0
# Times between samples of which the figures are kept.
_MOST_INTERVALS = 16


@dataclass(frozen=True, slots=True)
class Errors:
    """Figures of the errors of a sensor, each per axis; U is its unit. 0: has no such error."""

    noise: float = declared(0.0, 'standard deviation of a sample, whatever the rate, U', low=0.0)
    noise_density: float = declared(
        0.0, "of white noise, U/√Hz: the Allan deviation at 1 s. A sample's standard deviation is "
        'this by the root of the time since the last one', low=0.0)
    bias_turn_on: float = declared(
        0.0, 'standard deviation of a constant bias, which each flight draws anew, U', low=0.0)
    bias_instability: float = declared(
        0.0, 'the flat part of the Allan deviation, U: a Gauss-Markov process of `time_constant`, '
        'with its highest point there, at 1.89 time constants', low=0.0)
    drift: float = declared(
        0.0, 'the same process by its standard deviation, U: for GNSS, attitude and pressure',
        low=0.0)
    time_constant: float = declared(
        100.0, 'of `bias_instability` and `drift`', unit='s', low=1e-3)
    bias_random_walk: float = declared(
        0.0, 'rate random walk, U/s/√Hz: the bias walks by this in 1 s', low=0.0)
    scale_factor: float = declared(
        0.0, "standard deviation of the scale's relative error", low=0.0)
    quantisation: float = declared(0.0, 'step of the output, U', low=0.0)
    saturation: float = declared(math.inf, 'the largest output, both ways, U', low=0.0)

    @property
    def gauss_markov(self) -> float:
        """Return the standard deviation of the Gauss-Markov process."""
        return math.hypot(self.bias_instability / _PEAK, self.drift)

    def white(self, interval: float) -> float:
        """Return the standard deviation of the white noise of a sample after ``interval`` s."""
        return math.hypot(self.noise, self.noise_density / math.sqrt(interval))

    def variance(self, interval: float, elapsed: float) -> float:
        """
        Return the variance of all but scale factor and saturation.

        Of a sample ``interval`` seconds after the last one and ``elapsed`` after the first.
        """
        return (
            self.white(interval) ** 2 + self.bias_turn_on ** 2 + self.gauss_markov ** 2
            + self.bias_random_walk ** 2 * elapsed + self.quantisation ** 2 / 12.0)


PERFECT = Errors()


class _Interval(NamedTuple):
    """What the errors do in a time between samples, and the variance that does not grow."""

    white: float
    keep: float
    stir: float
    step: float
    variance: float


class Axes:
    """
    Some axes of a sensor, each with errors of its own by the same figures.

    The errors are a function of the generator and the times of the samples only. A sensor without
    errors gives back what it is given, to the last bit.
    """

    def __init__(self, errors: Errors, count: int, generator: np.random.Generator) -> None:
        self.errors = errors
        self._axes = range(count)
        self._exact = errors == PERFECT
        self._limit, self._quantum = errors.saturation, errors.quantisation
        self._normal = _normal(generator, _DRAWS * count)
        scale, turn_on, bias = generator.standard_normal((3, count)).tolist()
        self._scale = [1.0 + errors.scale_factor * one for one in scale]
        self._turn_on = [errors.bias_turn_on * one for one in turn_on]
        self._markov = [errors.gauss_markov * one for one in bias]
        self._walk = [0.0] * count
        self._walk_variance = errors.bias_random_walk ** 2
        self._converter_variance = errors.quantisation ** 2 / 12.0
        # By intervals: rounded stamps have two or three.
        self._known: dict[float, _Interval] = {}
        self._now = _Interval(0.0, 0.0, 0.0, 0.0, math.nan)
        self.elapsed = 0.0

    def measure(self, values: Sequence[float], interval: float) -> tuple[float, ...]:
        """Return what the sensor reads ``interval`` seconds after its last sample."""
        if self._exact:
            return tuple(values)
        self._now = self._known.get(interval) or self._interval(interval)
        self.elapsed += interval
        white, keep, stir, step, _ = self._now
        markov, walk, limit, quantum = self._markov, self._walk, self._limit, self._quantum
        measured = []
        numbers = self._normal
        for axis, value, scale, turn_on, noise, stirred, stepped in zip(
                self._axes, values, self._scale, self._turn_on, numbers, numbers, numbers,
                strict=False):
            markov[axis] = slow = keep * markov[axis] + stir * stirred
            walk[axis] = walked = walk[axis] + step * stepped
            value = value * scale + turn_on + slow + walked + white * noise
            value = -limit if value < -limit else limit if value > limit else value
            measured.append(
                quantum * round(value / quantum) if quantum and isfinite(value) else value)
        return tuple(measured)

    @property
    def variance(self) -> float:
        """Return the variance of the newest sample, but for scale factor and saturation."""
        if self._exact:
            return 0.0
        return (self._now.variance + self._walk_variance * self.elapsed
                + self._converter_variance)

    def _interval(self, interval: float) -> _Interval:
        errors = self.errors
        white = errors.white(_limited(interval))
        keep = math.exp(-interval / errors.time_constant)
        if len(self._known) >= _MOST_INTERVALS:
            self._known.clear()
        found = self._known[interval] = _Interval(
            white, keep, errors.gauss_markov * math.sqrt(1.0 - keep ** 2),
            errors.bias_random_walk * math.sqrt(interval),
            white ** 2 + errors.bias_turn_on ** 2 + errors.gauss_markov ** 2)
        return found


def _limited(interval: float) -> float:
    return min(max(interval, _SHORTEST), _LONGEST)


def _normal(generator: np.random.Generator, count: int) -> Iterator[float]:
    """Return endless normal numbers, drawn for many samples of ``count`` at once."""
    blocks = iter(lambda: generator.standard_normal(_BLOCK * count).tolist(), None)
    return chain.from_iterable(blocks)
