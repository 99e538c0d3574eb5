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
A policy that holds altitude, heading and airspeed by the controls, with gains that are learnt.

Each control is a weighted sum of errors, their integrals, rates and attitude; what is learnt is
the weights, the time constants of three filters, and how much of an error counts: a step of a
target is flown as the largest error that counts, so gently. Only fields are used that every bridge
of a whole vehicle provides, so that it flies all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
from operator import mul
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FIELDS = (
    *(f'imu/data.orientation.{axis}' for axis in 'xyzw'),
    *(f'imu/data.angular_velocity.{axis}' for axis in 'xyz'),
    'fix.altitude', 'air_data.indicated_airspeed', 'air_data.true_airspeed',
    'target.altitude', 'target.true_heading', 'target.airspeed', 'target.course')
"""What it is told. Without an indicated airspeed, which is then 0, the true one is held."""

RATE = 60.0
"""Frames per second that the filters and the integrals are made for."""


@dataclass(frozen=True, slots=True)
class Feature:
    """What controls are summed of: its name, and the size (SI) that counts as 1."""

    name: str
    scale: float


FEATURES = tuple(Feature(*item) for item in (
    ('constant', 1.0), ('altitude_error', 5.0), ('altitude_integral', 10.0), ('climb', 3.0),
    ('airspeed_error', 3.0), ('airspeed_integral', 10.0), ('slow_airspeed_error', 3.0),
    ('acceleration', 2.0), ('pitch', 0.05), ('pitch_rate', 0.05), ('bank_squared', 0.02),
    ('heading_error', 0.05), ('heading_integral', 0.2), ('bank', 0.1), ('roll_rate', 0.1),
    ('yaw_rate', 0.05)))
_INDEX = {feature.name: index for index, feature in enumerate(FEATURES)}

_LONGITUDINAL = (
    'altitude_error', 'altitude_integral', 'climb', 'airspeed_error', 'airspeed_integral',
    'slow_airspeed_error', 'acceleration', 'pitch', 'pitch_rate')
_LATERAL = ('heading_error', 'heading_integral', 'bank', 'roll_rate', 'yaw_rate')
SUMMED = {
    'elevator': ('constant', *_LONGITUDINAL, 'bank_squared'), 'aileron': _LATERAL,
    'rudder': _LATERAL, 'throttle': ('constant', *_LONGITUDINAL)}
"""Of which features each control is the sum."""

_UNITS = {'elevator': 0.1, 'aileron': 0.1, 'rudder': 0.1, 'throttle': 0.2}
CRUISE_THROTTLE = 0.7
"""To this the throttle's sum is added; the surfaces are centred in trim."""

FILTERS = (('climb', 0.3), ('acceleration', 0.3), ('slow_airspeed_error', 2.0))
"""The time constants (s) that a parameter of 0 stands for; it is their natural logarithm."""

LIMITS = (('altitude_error', 4.0), ('airspeed_error', 4.0), ('heading_error', 0.06))
"""The largest error that counts (m, m/s, sine), likewise."""

PARAMETERS = tuple(
    [f'{control}.{name}' for control, names in SUMMED.items() for name in names]
    + [f'filter.{name}' for name, _ in FILTERS] + [f'limit.{name}' for name, _ in LIMITS])
"""The names of all parameters, in their order; with all 0 the controls stay in trim."""

# Of a filter's parameter and of a limit's: factors of 20 and of 2.7, each way.
_FILTER_RANGE, _LIMIT_RANGE = 3.0, 1.0
# Climb rate (m/s) and acceleration (m/s^2), before they are filtered.
LARGEST_CHANGE = 20.0
# Largest error that is integrated (m, m/s, -), so that no step of a target winds an integral up;
# and largest integral (m s, m, s).
INTEGRATED = ((2.0, 20.0), (2.0, 20.0), (0.05, 0.5))

STATE = ('started', 'altitude', 'airspeed', 'climb', 'acceleration', 'slow_airspeed_error',
         'altitude_integral', 'airspeed_integral', 'heading_integral')
"""What it remembers from one observation to the next; all 0 at the start."""


def to_weights(parameters: Sequence[float]) -> list[list[float]]:
    """Return the weights of the features, in SI, a row for each control."""
    rows, given = [], iter(parameters)
    for control, names in SUMMED.items():
        row = [0.0] * len(FEATURES)
        for name in names:
            row[_INDEX[name]] = next(given) * _UNITS[control] / FEATURES[_INDEX[name]].scale
        rows.append(row)
    rows[-1][0] += CRUISE_THROTTLE
    return rows


def to_shares(parameters: Sequence[float]) -> list[float]:
    """Return which share of a new value each filter takes in a frame."""
    return [1.0 / (1.0 + RATE * time) for time in _scaled(
        FILTERS, parameters[-len(FILTERS) - len(LIMITS):-len(LIMITS)], _FILTER_RANGE)]


def to_limits(parameters: Sequence[float]) -> list[float]:
    """Return the largest error that counts, of altitude, airspeed and heading."""
    return _scaled(LIMITS, parameters[-len(LIMITS):], _LIMIT_RANGE)


def _scaled(usual: Sequence[tuple[str, float]], parameters: Sequence[float],
            most: float) -> list[float]:
    return [value * math.exp(min(max(parameter, -most), most))
            for (_, value), parameter in zip(usual, parameters, strict=True)]


class Arithmetic(Protocol):
    """What the policy is computed with: plain numbers, or the nodes of a graph."""

    def sine(self, angle: Any) -> Any:
        """Return the sine of an angle in rad."""

    def cosine(self, angle: Any) -> Any:
        """Return the cosine of an angle in rad."""

    def limited(self, value: Any, low: float, high: float) -> Any:
        """Return a value within limits."""

    def within(self, value: Any, most: float) -> Any:
        """Return a value, or 0 if its size is above ``most``."""

    def choice(self, value: Any, positive: Any, otherwise: Any) -> Any:
        """Return what belongs to a value above 0, or to another one."""

    def total(self, values: Sequence[Any], weights: Sequence[float]) -> Any:
        """Return the weighted sum of values."""


class Numbers:
    """Plain numbers."""

    sine, cosine = staticmethod(math.sin), staticmethod(math.cos)

    @staticmethod
    def limited(value: float, low: float, high: float) -> float:
        """Return a value within limits."""
        return min(max(value, low), high)

    @staticmethod
    def within(value: float, most: float) -> float:
        """Return a value, or 0 if its size is above ``most``."""
        return value if -most <= value <= most else 0.0

    @staticmethod
    def choice(value: float, positive: float, otherwise: float) -> float:
        """Return what belongs to a value above 0, or to another one."""
        return positive if value > 0.0 else otherwise

    @staticmethod
    def total(values: Sequence[float], weights: Sequence[float]) -> float:
        """Return the weighted sum of values."""
        return sum(map(mul, values, weights), 0.0)


def step(by: Arithmetic, observation: Sequence[Any], state: Sequence[Any],
         weights: Sequence[Sequence[float]], shares: Sequence[float],
         limits: Sequence[float]) -> tuple[list[Any], list[Any]]:
    """Return the action for the values of FIELDS, and the next state, those of STATE."""
    (x, y, z, w, roll_rate, left_rate, up_rate, altitude, indicated, true, wanted_altitude,
     wanted_heading, wanted_airspeed, wanted_course) = observation
    started, last_altitude, last_airspeed, climb, acceleration, slow, *integrals = state
    airspeed = by.choice(indicated, indicated, true)
    errors = (wanted_altitude - altitude, wanted_airspeed - airspeed,
              _heading_error(by, (x, y, z, w), wanted_heading + wanted_course))
    altitude_error, airspeed_error, heading_error = (
        by.limited(error, -most, most) for error, most in zip(errors, limits, strict=True))
    # Nothing has changed before the first observation.
    climb = climb + shares[0] * (by.limited(
        (altitude - last_altitude) * started * RATE, -LARGEST_CHANGE, LARGEST_CHANGE) - climb)
    acceleration = acceleration + shares[1] * (by.limited(
        (airspeed - last_airspeed) * started * RATE, -LARGEST_CHANGE, LARGEST_CHANGE)
        - acceleration)
    slow = slow + shares[2] * (airspeed_error - slow)
    of_altitude, of_airspeed, of_heading = integrals
    bank = 2.0 * (y * z + w * x)
    features = (
        1.0, altitude_error, of_altitude, climb, airspeed_error, of_airspeed, slow, acceleration,
        2.0 * (x * z - w * y), -left_rate, bank * bank, heading_error, of_heading, bank,
        roll_rate, -up_rate)
    action = [
        by.limited(by.total(features, row), low, 1.0)
        for row, low in zip(weights, (-1.0, -1.0, -1.0, 0.0), strict=True)]
    throttle = action[-1]
    integrated = [by.within(error, most) for error, (most, _) in zip(
        errors, INTEGRATED, strict=True)]
    # At its stops the throttle can do no more for the airspeed.
    integrated[1] = by.choice(throttle * (1.0 - throttle), integrated[1], 0.0)
    integrals = [
        by.limited(integral + value * (1.0 / RATE), -limit, limit)
        for integral, value, (_, limit) in zip(integrals, integrated, INTEGRATED, strict=True)]
    return action, [1.0, altitude, airspeed, climb, acceleration, slow, *integrals]


def _heading_error(by: Arithmetic, orientation: Sequence[Any], wanted: Any) -> Any:
    """Return the sine of the angle from the nose to a heading, 1 beyond a right angle."""
    x, y, z, w = orientation
    east, north = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z)
    sine, cosine = by.sine(wanted), by.cosine(wanted)
    off = sine * north - cosine * east
    return by.choice(cosine * north + sine * east, off, by.choice(off, 1.0, -1.0))


class Holding:
    """The policy with these parameters; ValueError if their number is not that of PARAMETERS."""

    fields = FIELDS
    level = 'controls'

    def __init__(self, parameters: Sequence[float]) -> None:
        if len(parameters) != len(PARAMETERS):
            raise ValueError(
                f'the policy has {len(PARAMETERS)} parameters, got {len(parameters)}')
        self.weights, self.shares = to_weights(parameters), to_shares(parameters)
        self.limits = to_limits(parameters)
        self.reset()

    def reset(self) -> None:
        """Start anew."""
        self._state = [0.0] * len(STATE)

    def __call__(self, observation: Sequence[float] | NDArray[np.floating]) -> list[float]:
        """Return elevator, aileron, rudder and throttle for the values of ``fields``."""
        values = observation.tolist() if isinstance(observation, np.ndarray) else observation
        action, self._state = step(
            _NUMBERS, values, self._state, self.weights, self.shares, self.limits)
        return action


_NUMBERS = Numbers()
