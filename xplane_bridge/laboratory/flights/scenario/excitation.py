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
Test inputs of flight test: doublet, 3-2-1-1, frequency sweep, multisine. Pure functions of time.

    chirp = Excitation('chirp', 'elevator', 0.05, 40.0, f0=0.1, f1=3.0)
    deflection = chirp.value(12.5)

What they are for, and how to choose them: Tischler and Remple, Aircraft and Rotorcraft System
Identification, 2nd ed., AIAA 2012, chapter 5; Klein and Morelli, Aircraft System Identification,
AIAA 2006, chapter 9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
import math
from typing import Any

import numpy as np

from xplane_bridge.common.fields import (
    Declaration,
    FieldError,
    number,
    read_table,
    REQUIRED,
    Table,
)
from xplane_bridge.common.timing import ROUNDED_TIME

KINDS = ('doublet', '3211', 'chirp', 'multisine')
AXES = {'elevator': -1.0, 'aileron': -1.0, 'rudder': -1.0, 'throttle': 0.0}
"""The axes, each with its lowest deflection; the highest is 1."""
OUTPUTS = {
    'elevator': ('pitch_rate',), 'aileron': ('roll_rate',), 'rudder': ('yaw_rate',),
    'throttle': ('airspeed',)}
"""What an axis moves in the first place."""
MEASURED = (
    'roll', 'pitch', 'heading', 'roll_rate', 'pitch_rate', 'yaw_rate', 'angle_of_attack',
    'sideslip', 'altitude', 'airspeed')

# Signs of the pulses of equal length that make up an input.
_PULSES = {'doublet': (1.0, -1.0), '3211': (1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0)}
# Hz: a third of the fastest frames.
_FASTEST = 20.0
_MOST_FREQUENCIES = 100
_LONGEST_PERIOD = 600.0
# Values per cycle of the highest frequency, to find the peak of a sum.
_PER_CYCLE = 32

INPUT: Table = {
    'axis': Declaration(REQUIRED, 'the control that is moved', str, choices=tuple(AXES)),
    'amplitude': Declaration(
        REQUIRED, 'the largest deflection either way, as a ratio', low=-1.0, high=1.0),
    'closed_loop': Declaration(
        False, 'whether it is added to what the controller commands; otherwise the controls are '
        'held', bool),
    'outputs': Declaration(
        None, 'quantities that are expected to respond; by default what the axis moves first',
        tuple[str, ...], choices=MEASURED, form=f'a list of {", ".join(MEASURED)}')}
"""Of every input."""

OWN: Mapping[str, Table] = {
    'chirp': {
        'f0': Declaration(REQUIRED, 'the frequency at its begin', unit='Hz', above=0.0,
                          high=_FASTEST),
        'f1': Declaration(REQUIRED, 'the frequency at its end, which is higher', unit='Hz',
                          above=0.0, high=_FASTEST)},
    'multisine': {
        'frequencies': Declaration(
            REQUIRED, f'1 to {_MOST_FREQUENCIES}, of which each has whole cycles, and all '
            f'together at least two periods of at most {_LONGEST_PERIOD:g} s', tuple[float, ...],
            'Hz', above=0.0, high=_FASTEST, form='a list')}}
"""Of a kind of input, besides."""


@dataclass(frozen=True, slots=True)
class Excitation:
    """
    An input added to one control for ``lasts`` seconds, at most ``amplitude`` either way.

    ``f0`` and ``f1`` (Hz) are those of a chirp, ``frequencies`` (Hz) those of a multisine. Without
    ``closed_loop`` the controls are held otherwise; with it, it is added to what the controller
    commands. ``outputs`` are the quantities that are expected to respond.
    """

    kind: str
    axis: str
    amplitude: float
    lasts: float
    f0: float = math.nan
    f1: float = math.nan
    frequencies: tuple[float, ...] = ()
    closed_loop: bool = False
    outputs: tuple[str, ...] = ()

    def __str__(self) -> str:
        what = {
            'chirp': f', {self.f0:g} to {self.f1:g} Hz',
            'multisine': f', {len(self.frequencies)} frequencies',
        }.get(self.kind, '')
        loop = ', closed loop' if self.closed_loop else ''
        return (f'{self.kind} on {self.axis}, {self.amplitude:+.3g}{what}, '
                f'{self.lasts:.1f} s{loop}')

    @property
    def period(self) -> float:
        """Return the time (s) after which a multisine repeats."""
        return self.lasts / math.gcd(*(round(f * self.lasts) for f in self.frequencies))

    def value(self, t: float) -> float:
        """Return the deflection ``t`` seconds after its start; 0 before and after it."""
        if not -ROUNDED_TIME <= t < self.lasts - ROUNDED_TIME:
            return 0.0
        if self.kind in _PULSES:
            pulses = _PULSES[self.kind]
            return self.amplitude * pulses[
                int((t + ROUNDED_TIME) / self.lasts * len(pulses))]
        if self.kind == 'chirp':
            return self.amplitude * _sweep(t, self.lasts, self.f0, self.f1)
        shift, peak = _shift_and_peak(self.frequencies, self.period)
        return self.amplitude / peak * _sum(t + shift, self.frequencies)


def _sweep(t: float, lasts: float, f0: float, f1: float) -> float:
    """Return a sine whose frequency grows exponentially: each octave takes the same time."""
    growth = math.log(f1 / f0)
    return math.sin(math.tau * f0 * lasts / growth * math.expm1(growth * t / lasts))


def _sum(t: float, frequencies: tuple[float, ...]) -> float:
    """
    Return the sum of cosines of unit amplitude with phases that keep its peak low.

    The phases are Schroeder's for a flat spectrum: IEEE Transactions on Information Theory 16
    (1970), pages 85 to 89.
    """
    count = len(frequencies)
    return sum(
        math.cos(math.tau * f * t - math.pi * n * (n - 1) / count)
        for n, f in enumerate(frequencies, start=1))


@cache
def _shift_and_peak(frequencies: tuple[float, ...], period: float) -> tuple[float, float]:
    """
    Return where in its period a multisine starts (s), and its largest value.

    It starts where it passes zero, so that the control does not jump (Morelli, Journal of
    Aircraft 49 (2012), pages 1079 ff.).
    """
    steps = math.ceil(period * max(frequencies) * _PER_CYCLE)
    values = np.array([_sum(n * period / steps, frequencies) for n in range(steps + 1)])
    n = int(np.flatnonzero(values[:-1] * values[1:] <= 0.0)[0])
    part = values[n] / (values[n] - values[n + 1]) if values[n] != values[n + 1] else 0.0
    return (n + float(part)) * period / steps, float(np.abs(values).max())


def parse(kind: str, item: Any, where: str, lasts: float) -> Excitation:
    """Return the excitation of an event. Raises FieldError."""
    given = read_table({**INPUT, **OWN.get(kind, {})}, item, where)
    if not given['amplitude']:
        raise FieldError(f'{where}.amplitude: an amplitude of 0 has no effect')
    if kind == 'chirp':
        number(given['f1'], f'{where}.f1', above=given['f0'], unit='Hz')
    elif kind == 'multisine':
        _check_frequencies(given['frequencies'], f'{where}.frequencies', lasts)
    return Excitation(kind, lasts=lasts, **{'outputs': OUTPUTS[given['axis']], **given})


def _check_frequencies(found: tuple[float, ...], where: str, lasts: float) -> None:
    """Raise FieldError for those that do not have at least two whole periods together."""
    if not 1 <= len(found) <= _MOST_FREQUENCIES:
        raise FieldError(f'{where}: expected 1 to {_MOST_FREQUENCIES}, got {len(found)}')
    cycles = [round(f * lasts) for f in found]
    for n, f in enumerate(found):
        if not cycles[n] or abs(f * lasts - cycles[n]) > 1e-6 * cycles[n]:
            raise FieldError(
                f'{where}[{n}]: expected a multiple of {1.0 / lasts:g} Hz, whole cycles in '
                f'{lasts:g} s, got {f:g}')
        if cycles[n] in cycles[:n]:
            raise FieldError(f'{where}[{n}]: {f:g} Hz is there twice')
    periods = math.gcd(*cycles)
    if periods < 2 or lasts / periods > _LONGEST_PERIOD:
        raise FieldError(
            f'{where}: expected at least two periods of at most {_LONGEST_PERIOD:g} s, got '
            f'{periods} of {lasts / periods:g} s; choose multiples of {2.0 / lasts:g} Hz, or a '
            'longer "for"')
