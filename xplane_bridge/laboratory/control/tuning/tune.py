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
Gains of the cascade from a linear model, by closing its loops one after the other.

From the surfaces up: pitch rate, yaw damper, roll rate, roll, pitch, then airspeed, flight path
angle, altitude and course. Each loop gets the largest gain with which it crosses over no later
than wanted and keeps its margins, all loops below it closed. Frequency responses with the delay
of the whole loop, so no approximation of it is needed; see docs/explanation/control.md and, for
the method, Stevens and Lewis, Aircraft Control and Simulation, chapter 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math

import numpy as np

from xplane_bridge.common.controls import FLOWN, SURFACES
from xplane_bridge.common.units import STANDARD_GRAVITY
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.loops import clamp
from xplane_bridge.simulation.aircraft.linear_model import LinearModel, Responses

BANDWIDTHS = {
    'pitch_rate': 4.0, 'yaw_rate': 1.5, 'roll_rate': 4.0, 'roll': 1.6, 'pitch': 1.4,
    'airspeed': 0.6, 'path_angle': 0.5, 'altitude': 0.25, 'course': 0.4,
    'heading': 0.4}
"""Wanted crossover frequencies, in rad/s."""

_FREQUENCIES = np.logspace(-2.5, 1.9, 400)
_STATES = ('true_airspeed', 'angle_of_attack', 'pitch_rate', 'roll_rate', 'yaw_rate')
_OUTPUTS = ('pitch_rate', 'yaw_rate', 'roll_rate', 'roll', 'pitch', 'true_airspeed',
            'flight_path_angle', 'altitude_msl', 'course', 'heading')
# Integrals begin to act below the crossover by this factor.
_INTEGRAL_BELOW = 5.0
_AIRSPEED_INTEGRAL_BELOW = 10.0
# A flight path angle is held by the integral above all: pitch follows it at once.
_PATH_INTEGRAL_ABOVE = 0.6
# The outermost loops keep more: this share of how far the sensitivity may be above 1.
_OUTER = 0.875
# Gains that are tried: from that of the wanted crossover down to 1/50 of it.
_TRIALS = np.logspace(0.0, -1.7, 60)
# By the whole control, of the derivative of any state.
_MOVES_NOTHING = 1e-6
# A crossover counts as wanted if it misses by less than this factor.
_REACHED = 0.9


@dataclass(frozen=True, slots=True)
class LoopRequirements:
    """
    What loops must keep.

    ``sensitivity``: the largest value of the sensitivity function, at most; 1.6 keeps a phase
    margin of 36 degrees and a gain margin of 8.5 dB. ``phase_margin`` in rad, at least.
    ``delay`` (s) from measurement to surface, ``engine_lag`` (s) the time constant of the thrust.
    """

    sensitivity: float = 1.6
    phase_margin: float = math.radians(40.0)
    delay: float = 0.06
    engine_lag: float = 1.0

    def __post_init__(self) -> None:
        if not self.sensitivity > 1.0:
            raise ValueError(f'sensitivity is {self.sensitivity:g}, must be above 1')
        if not 0.0 < self.phase_margin < math.pi / 2.0:
            raise ValueError('phase_margin must be between 0 and 90 degrees')
        for name in ('delay', 'engine_lag'):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ValueError(f'{name} is {getattr(self, name):g} s, must be at least 0')


@dataclass(frozen=True, slots=True)
class Loop:
    """
    A closed loop: its crossover (rad/s) wanted and reached, its margins in degrees and dB.

    A loop that is never above 0 dB has no crossover (0).
    """

    name: str
    wanted: float
    crossover: float
    phase_margin: float
    gain_margin: float
    sensitivity: float

    @property
    def reached(self) -> bool:
        """Return whether the loop is as fast as wanted."""
        return self.crossover >= _REACHED * self.wanted

    def complaint(self) -> str:
        """Return why it is slower than wanted; empty if it is not."""
        if self.reached:
            return ''
        return (f'{self.name}: {self.wanted:g} rad/s cannot be reached with these margins and '
                f'this delay, only {self.crossover:.2g} rad/s')


@dataclass(frozen=True, slots=True)
class Tuning:
    """Gains, the limits of the envelope that follow from the model, and the loops reached."""

    gains: Gains
    tuned: frozenset[str]
    envelope: Mapping[str, float]
    loops: tuple[Loop, ...]


def tune(model: LinearModel, bandwidths: Mapping[str, float] | None = None,
         limits: LoopRequirements | None = None) -> Tuning:
    """
    Return gains for an aircraft by its linear model at the speed of its flight.

    ``bandwidths``: wanted crossovers by name, others are those of BANDWIDTHS. Raises ValueError
    for unknown names, for a model whose controls do nothing, and for a part of a model.
    """
    given = dict(bandwidths or {})
    for name, value in given.items():
        if name not in BANDWIDTHS:
            raise ValueError(f'there is no loop {name}: expected {", ".join(BANDWIDTHS)}')
        if not 0.0 < value < math.inf:
            raise ValueError(f'the bandwidth of {name} is {value:g} rad/s, must be above 0')
    _refuse_part(model)
    return _Tuner(model, BANDWIDTHS | given, limits or LoopRequirements()).run()


def _refuse_part(model: LinearModel) -> None:
    """Raise ValueError for a model without pitching, speed, or roll and yaw."""
    of_all = 'gains are those of a whole aircraft: pitching, speed, and roll and yaw'
    for kind, needed in (('states', _STATES), ('outputs', _OUTPUTS), ('inputs', SURFACES)):
        there = {one.name for one in getattr(model, kind)}
        if missing := [name for name in needed if name not in there]:
            raise ValueError(f'the model has no {", ".join(missing)} among its {kind}: {of_all}; '
                             'what no flight showed is in no identified model')
    states = [one.name for one in model.states]
    for rate, flow in (('pitch_rate', 'angle_of_attack'), ('roll_rate', 'sideslip')):
        row = dict(zip(states, model.a[states.index(rate)], strict=True))
        if not row[rate] and not row.get(flow):
            raise ValueError(f'in the model the {rate.replace("_", " ")} follows neither itself '
                             f'nor the {flow.replace("_", " ")}, as of no aircraft: {of_all}')


class _Tuner:
    """The loops that are closed so far: ``feedback`` is u = -K y at each frequency."""

    def __init__(
        self, model: LinearModel, wanted: Mapping[str, float], limits: LoopRequirements
    ) -> None:
        self._model = model
        self._wanted = wanted
        self._limits = limits
        self._speed = model.state('true_airspeed')
        self._has_engine = model.has_input('throttle')
        self._inputs = FLOWN if self._has_engine else SURFACES
        self._s = 1j * _FREQUENCIES
        plant = model.responses(_FREQUENCIES, _OUTPUTS, self._inputs)
        plant = plant * np.exp(-self._s * limits.delay)[:, None, None]
        if self._has_engine:
            plant[:, :, self._inputs.index('throttle')] /= (
                1.0 + self._s * limits.engine_lag)[:, None]
        self._plant = plant
        self._feedback = np.zeros(
            (len(_FREQUENCIES), len(self._inputs), len(_OUTPUTS)), dtype=np.complex128)
        self._gains: dict[str, float] = {}
        self._loops: list[Loop] = []

    def run(self) -> Tuning:
        """Close all loops."""
        surfaces = self._rates()
        roll, pitch = self._attitude(*surfaces)
        if self._has_engine:
            self._airspeed()
            self._path(pitch)
        else:
            self._airspeed_by_pitch(pitch)
        self._course(roll)
        rest, envelope = self._rest()
        found = {'airspeed': self._model.airspeed, **self._gains, **rest}
        return Tuning(Gains(**found), frozenset(found), envelope, tuple(self._loops))

    # Levels.

    def _rates(self) -> tuple[Responses, Responses]:
        gains = self._gains
        wanted = self._wanted['pitch_rate']
        shape = self._with_integral(wanted / _INTEGRAL_BELOW)
        gain = self._close('pitch_rate', self._response('pitch_rate', 'elevator') * shape)
        gains['pitch_rate_to_elevator'] = gain
        gains['pitch_rate_to_elevator_integral'] = gain * wanted / _INTEGRAL_BELOW
        elevator = gain * shape
        self._set('elevator', 'pitch_rate', elevator)

        # Its gain is that of a rate well above the aircraft's own modes.
        effect = self._effect('yaw_rate', 'rudder')
        if not self._moves('rudder'):
            gain = 0.0
        elif not effect > 0.0:
            raise ValueError('the rudder does not yaw this model to the side that it is moved to')
        else:
            gain = self._close('yaw_rate', self._response('yaw_rate', 'rudder'), effect=effect)
        gains['yaw_rate_to_rudder'] = gain
        # Relative to the yaw rate of a coordinated turn at this bank.
        self._set('rudder', 'yaw_rate', gain)
        self._set('rudder', 'roll', -gain * STANDARD_GRAVITY / self._speed)

        wanted = self._wanted['roll_rate']
        shape = self._with_integral(wanted / _INTEGRAL_BELOW)
        gain = self._close('roll_rate', self._response('roll_rate', 'aileron') * shape)
        gains['roll_rate_to_aileron'] = gain
        gains['roll_rate_to_aileron_integral'] = gain * wanted / _INTEGRAL_BELOW
        aileron = gain * shape
        self._set('aileron', 'roll_rate', aileron)
        return elevator, aileron

    def _attitude(self, elevator: Responses, aileron: Responses) -> tuple[Responses, Responses]:
        gains = self._gains
        gain = self._close('roll', self._response('roll', 'aileron') * aileron)
        gains['roll_to_roll_rate'] = gain
        roll = aileron * gain
        self._set('aileron', 'roll', roll)
        gain = self._close('pitch', self._response('pitch', 'elevator') * elevator)
        gains['pitch_to_pitch_rate'] = gain
        pitch = elevator * gain
        self._set('elevator', 'pitch', pitch)
        return roll, pitch

    def _airspeed(self) -> None:
        wanted = self._wanted['airspeed'] / _AIRSPEED_INTEGRAL_BELOW
        shape = self._with_integral(wanted)
        gain = self._close('airspeed', self._response('true_airspeed', 'throttle') * shape)
        # The model's airspeed is the true one, that of the cascade the indicated one.
        ratio = self._speed / self._model.airspeed
        self._gains['airspeed_to_throttle'] = gain * ratio
        self._gains['airspeed_to_throttle_integral'] = gain * ratio * wanted
        self._set('throttle', 'true_airspeed', gain * shape)

    def _path(self, pitch: Responses) -> None:
        wanted = self._wanted['path_angle'] / _PATH_INTEGRAL_ABOVE
        shape = self._with_integral(wanted)
        gain = self._close(
            'path_angle', self._response('flight_path_angle', 'elevator') * pitch * shape)
        self._gains['path_angle_to_pitch'] = gain
        self._gains['path_angle_to_pitch_integral'] = gain * wanted
        path = pitch * gain * shape
        self._set('elevator', 'flight_path_angle', path)
        gain = self._close(
            'altitude', self._response('altitude_msl', 'elevator') * path / self._speed,
            smoother=_OUTER)
        self._gains['altitude_to_climb'] = gain
        self._set('elevator', 'altitude_msl', path * gain / self._speed)

    def _airspeed_by_pitch(self, pitch: Responses) -> None:
        wanted = self._wanted['airspeed'] / _AIRSPEED_INTEGRAL_BELOW
        shape = self._with_integral(wanted)
        gain = self._close(
            'airspeed', -self._response('true_airspeed', 'elevator') * pitch * shape)
        ratio = self._speed / self._model.airspeed
        self._gains.update(
            airspeed_to_pitch=gain * ratio, airspeed_to_pitch_integral=gain * ratio * wanted,
            airspeed_to_throttle=0.0, airspeed_to_throttle_integral=0.0,
            path_angle_to_throttle=0.0)
        self._set('elevator', 'true_airspeed', -pitch * gain * shape)

    def _course(self, roll: Responses) -> None:
        # They differ by the sideslip, such as that of adverse yaw.
        for name in ('course', 'heading'):
            self._gains[f'{name}_to_turn_rate'] = self._close(
                name, self._response(name, 'aileron') * roll * self._speed / STANDARD_GRAVITY,
                smoother=_OUTER)

    def _rest(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return what the model tells of limits: gains, and the envelope."""
        model, speed = self._model, self._speed
        rolling = abs(self._effect('roll_rate', 'aileron')) / max(
            abs(model.a[(model.index('states', 'roll_rate'),) * 2]), 0.1)
        gains = {
            # Half of what full ailerons do, and pitching that the load factor allows.
            'roll_rate_limit': clamp(0.5 * rolling, 0.1, 0.6),
            'pitch_rate_limit': clamp(1.5 * STANDARD_GRAVITY / speed, 0.05, 0.3)}
        if self._has_engine:
            throttle = model.inputs[model.index('inputs', 'throttle')].value
            thrust = max(self._effect('true_airspeed', 'throttle'), 0.5)
            more, less = thrust * (1.0 - throttle), thrust * throttle
            to_climb = speed / STANDARD_GRAVITY
            gains |= {
                'path_angle_to_throttle': STANDARD_GRAVITY / thrust,
                'climb_limit': clamp(0.6 * more * to_climb, 0.5, 10.0),
                'sink_limit': clamp(0.6 * less * to_climb, 0.5, 10.0),
                'airspeed_rate_limit': clamp(0.5 * min(more, less), 0.2, 0.6),
                'cruise_throttle': throttle}
        return gains, {'airspeed_low': 0.6 * model.airspeed, 'airspeed_high': 1.4 * model.airspeed}

    # A loop.

    def _with_integral(self, corner: float) -> Responses:
        """Return a proportional part with an integral one below a frequency."""
        return np.asarray(1.0 + corner / self._s, dtype=np.complex128)

    def _moves(self, control: str) -> bool:
        """Return whether a control changes anything: a flying wing's rudder does not."""
        return bool(np.abs(
            self._model.b[:, self._model.index('inputs', control)]).max() > _MOVES_NOTHING)

    def _effect(self, state: str, control: str) -> float:
        model = self._model
        return float(model.b[model.index('states', state), model.index('inputs', control)])

    def _response(self, output: str, control: str) -> Responses:
        """Return the response to a control with the loops closed so far."""
        one = np.eye(len(_OUTPUTS))
        plant = self._plant
        row, column = _OUTPUTS.index(output), self._inputs.index(control)
        solved: Responses = np.linalg.solve(
            one + plant @ self._feedback, plant[:, :, column, None])[:, row, 0]
        return solved

    def _set(self, control: str, output: str, gain: Responses | float) -> None:
        self._feedback[:, self._inputs.index(control), _OUTPUTS.index(output)] = gain

    def _close(self, name: str, response: Responses, smoother: float = 1.0,
               effect: float | None = None) -> float:
        """
        Return the gain of a loop, and keep what it reaches.

        ``effect``: what its input does to the derivative of its output, where that decides on the
        gain rather than the response.
        """
        wanted = self._wanted[name]
        limits = self._limits
        sensitivity = 1.0 + (limits.sensitivity - 1.0) * smoother
        size = float(effect / wanted if effect is not None
                     else np.interp(wanted, _FREQUENCIES, np.abs(response)))
        if not size > 0.0:
            raise ValueError(f'{name}: the control has no effect')
        for share in _TRIALS:
            gain = float(share / size)
            crossover, phase, gain_margin, peak = margins(response * gain)
            if (peak <= sensitivity and phase >= limits.phase_margin
                    and not (smoother < 1.0 and encircles(response * gain))):
                if effect is not None:
                    crossover = share * wanted
                self._loops.append(Loop(
                    name, wanted, crossover, math.degrees(phase), gain_margin, peak))
                return gain
        raise ValueError(
            f'{name}: no gain keeps a sensitivity of {sensitivity:.2f} and a phase margin of '
            f'{math.degrees(limits.phase_margin):.0f} degrees; allow less, or a shorter delay')


def margins(loop: Responses) -> tuple[float, float, float, float]:
    """
    Return crossover, phase margin, gain margin and largest sensitivity of an open loop.

    In rad/s (the last crossover; 0 if there is none), rad (the smallest, or pi), dB (or inf).
    """
    size = np.abs(loop)
    above = size >= 1.0
    crossings = np.flatnonzero(above[:-1] != above[1:])
    phase = min((abs(math.remainder(float(np.angle(loop[n])) + math.pi, math.tau))
                 for n in crossings), default=math.pi)
    last = np.flatnonzero(above[:-1] & ~above[1:])
    crossover = float(_FREQUENCIES[last[-1]]) if len(last) else 0.0
    imaginary = np.sign(loop.imag)
    negative = np.flatnonzero((imaginary[:-1] != imaginary[1:]) & (loop.real[:-1] < 0.0))
    gain_margin = min((abs(20.0 * math.log10(size[n])) for n in negative), default=math.inf)
    return crossover, phase, gain_margin, float((1.0 / np.abs(1.0 + loop)).max())


def encircles(loop: Responses) -> bool:
    """Return whether an open loop, without unstable poles, encircles -1: unstable when closed."""
    angle = np.unwrap(np.angle(1.0 + loop))
    # It begins with one or two integrals: between -180 and 0 degrees, seen from afar.
    begin = math.remainder(float(angle[0]), math.tau)
    if begin > math.pi / 2.0:
        begin -= math.tau
    return abs(float(angle[-1] - angle[0]) + begin) > math.pi
