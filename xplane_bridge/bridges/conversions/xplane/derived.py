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

"""What X-Plane does not report of aircraft 1 to 19, from their successive states."""

from __future__ import annotations

from dataclasses import replace
import math
from typing import NamedTuple

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.axes import Quaternion, Vector
from xplane_bridge.bridges.conversions.vehicle import VehicleState

UNKNOWN_STDDEV = 1e3
"""Of rates and forces (rad/s, m/s^2) that are not known yet: a filter gives them no weight."""

# Two states further apart than this (s), or with a greater change of attitude (rad/s) or velocity
# (m/s^2) than this, are not of one flight: the aircraft was moved, or replaced.
_LONGEST_STEP = 0.5
_FASTEST_TURN = 20.0
_STRONGEST = 500.0
# How much the newest change counts among the last ones.
_NEWEST = 0.1
# Half of the steps in which float32 has angles up to 360 degrees (rad), and speeds up to 64 m/s.
_STEPS = 2.7e-7, 1.9e-6

_ZERO = (0.0, 0.0, 0.0)
_UNKNOWN = UNKNOWN_STDDEV, UNKNOWN_STDDEV


class _Motion(NamedTuple):
    """Time (s), orientation from body FLU to ENU, and velocity in ENU, m/s."""

    time: float
    orientation: Quaternion
    velocity: Vector


class _Means(NamedTuple):
    """Angular velocity in body FLU (rad/s) and acceleration in ENU (m/s^2), over some seconds."""

    rates: Vector
    acceleration: Vector
    elapsed: float


class Derivation:
    """
    Derives angular velocity and specific force of one aircraft from its successive states.

    They are means over the time since the state before: late by half of it. Their standard
    deviations say so: half of their last changes (root mean square), and what rounding makes of
    X-Plane's time (which is a float32: after three hours in steps of 1 ms), angles and velocities.
    """

    def __init__(self) -> None:
        self._last: _Motion | None = None
        self._means: _Means | None = None
        # Mean squares of half of their changes.
        self._changes: tuple[float, float] | None = None
        self._stddev = _UNKNOWN

    def complete(self, state: VehicleState) -> VehicleState:
        """
        Return a state with these two; unchanged without attitude, velocity or time.

        While they are not known yet, they are those of steady flight: no turn, and gravity.
        """
        if state.orientation is None or state.velocity is None or state.time is None:
            self._last = self._means = None
            return state
        now = _Motion(state.time, state.orientation, state.velocity)
        # The same once more: the simulator waits for a command, or is paused.
        if now != self._last:
            before, self._means = self._means, _means(self._last, now)
            self._changes = _changes(self._changes, before, self._means)
            self._stddev = _stddev(self._changes, self._means, now.time)
            self._last = now
        rates, acceleration = self._means[:2] if self._means else (_ZERO, _ZERO)
        return replace(
            state, angular_velocity=rates, derived_stddev=self._stddev,
            specific_force=axes.acceleration_to_specific_force(acceleration, now.orientation))


def _means(last: _Motion | None, now: _Motion) -> _Means | None:
    """Return the rates of attitude and velocity between two states, None if they do not tell."""
    elapsed = now.time - last.time if last is not None else 0.0
    if last is None or not 0.0 < elapsed <= _LONGEST_STEP:
        return None
    w, x, y, z = axes.multiply(axes.conjugate(last.orientation), now.orientation)
    half = math.hypot(x, y, z)
    # Of the two ways round the shorter one.
    turned = 2.0 * math.atan2(half, abs(w)) / half if half else 2.0
    scale = math.copysign(turned, w) / elapsed
    v0, v1, v2 = (
        (after - before) / elapsed
        for after, before in zip(now.velocity, last.velocity, strict=True))
    means = _Means((x * scale, y * scale, z * scale), (v0, v1, v2), elapsed)
    if math.hypot(*means.rates) > _FASTEST_TURN or math.hypot(v0, v1, v2) > _STRONGEST:
        return None
    return means


def _changes(
    known: tuple[float, float] | None, before: _Means | None, means: _Means | None
) -> tuple[float, float] | None:
    """Return mean squares of half of the changes of rates and acceleration, with the newest."""
    if before is None or means is None:
        return None
    rates = 0.25 * math.dist(means.rates, before.rates) ** 2
    acceleration = 0.25 * math.dist(means.acceleration, before.acceleration) ** 2
    if known is None:
        return rates, acceleration
    return (known[0] + _NEWEST * (rates - known[0]),
            known[1] + _NEWEST * (acceleration - known[1]))


def _stddev(
    changes: tuple[float, float] | None, means: _Means | None, time: float
) -> tuple[float, float]:
    """Return standard deviations of rates and acceleration, at a time (s) of the simulator."""
    if changes is None or means is None:
        return _UNKNOWN
    # Half a step of float32, at both ends.
    time_error = math.sqrt(2.0) * 2.0 ** (math.frexp(time)[1] - 25)
    rate, force = (
        math.hypot(math.sqrt(change), math.hypot(*now) * time_error / means.elapsed,
                   step / means.elapsed)
        for change, now, step in zip(changes, means[:2], _STEPS, strict=True))
    return rate, force
