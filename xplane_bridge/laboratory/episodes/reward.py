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
Reward and termination of an episode: those of its scenario, unless others are given.

Both are functions of a Step; see docs/reference/episodes.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
import math
from typing import NamedTuple

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.geoid import ellipsoid_to_msl, usual_undulation
from xplane_bridge.bridges.conversions.message_numbers import TARGET_BITS
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.control.policy.observation import INDEX, Numbers, Vector, vector
from xplane_bridge.laboratory.flights.laws import make_autopilot
from xplane_bridge.laboratory.flights.scenario.criteria import Criterion
from xplane_bridge.laboratory.flights.scenario.scenario import Scenario
from xplane_bridge.simulation.aircraft.initial import DEFAULT_MODEL
from xplane_bridge.simulation.aircraft.loading import parameter_file
from xplane_bridge.simulation.aircraft.terrain import elevation_m, HIGHEST


@dataclass(slots=True)
class Step:
    """
    A step of an episode.

    ``time`` is the scenario's (s); ``truth_before`` and ``truth`` are the observations without
    sensors, as plain numbers. ``action`` is in the order of its level's fields.
    """

    scenario: Scenario
    time: float
    truth_before: Numbers
    action: tuple[float, ...]
    truth: Numbers
    _seen: JudgedState | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def before(self) -> Vector:
        """Return the true observation before the step."""
        return vector(self.truth_before)

    @property
    def after(self) -> Vector:
        """Return the true observation after it."""
        return vector(self.truth)

    @property
    def seen(self) -> JudgedState:
        """Return what is judged of it."""
        if self._seen is None:
            self._seen = seen(self.truth)
        return self._seen


Reward = Callable[[Step], float]
Termination = Callable[[Step], str]
"""Returns why the episode ends here, or ''."""

_ALTITUDE = INDEX['fix.altitude']
_INDICATED, _TRUE = INDEX['air_data.indicated_airspeed'], INDEX['air_data.true_airspeed']
_FIX = slice(INDEX['fix.latitude'], INDEX['fix.altitude'] + 1)
_QUATERNION = slice(INDEX['imu/data.orientation.x'], INDEX['imu/data.orientation.w'] + 1)
_VELOCITY = slice(INDEX['odom.twist.twist.linear.x'], INDEX['odom.twist.twist.linear.z'] + 1)
_TARGET = slice(INDEX['target.fields'], INDEX['target.climb_rate'] + 1)

_ALTITUDE_SET, _HEADING_SET, _AIRSPEED_SET, _COURSE_SET, _ = TARGET_BITS.values()

# A tracking error's scale where no criterion limits its rms: m, deg, m/s.
_SCALES = {'altitude_error': 10.0, 'heading_error_deg': 5.0, 'airspeed_error': 2.5}
# Quantities that a criterion may bound in flight.
_BOUNDED = ('roll_deg', 'pitch_deg', 'altitude', 'airspeed', *_SCALES)
# The episode ends at so many times the bank and the pitch that the autopilot keeps, and so far
# beyond its airspeeds.
_ATTITUDE_MARGIN = 2.0
_AIRSPEED_MARGIN = 0.2
# Nearer to the ground (m) an aircraft of any size touches it.
_GROUND = 5.0
# Above this (m, ellipsoid) there is none: the undulation is at most 86 m.
_NEAR_GROUND = HIGHEST + 100.0


class JudgedState(NamedTuple):
    """What is judged of an observation: m, m/s, deg; an error is NaN without its target."""

    roll_deg: float
    pitch_deg: float
    altitude: float
    airspeed: float
    altitude_error: float
    heading_error_deg: float
    airspeed_error: float


def seen(numbers: Numbers) -> JudgedState:
    """Return what is judged of an observation; a heading's error may be a course's."""
    x, y, z, w = numbers[_QUATERNION]
    roll, pitch, yaw = axes.quaternion_to_euler((w, x, y, z))
    altitude = numbers[_ALTITUDE]
    # X-Plane 6 sends no indicated airspeed.
    airspeed = numbers[_INDICATED] or numbers[_TRUE]
    given, to_altitude, to_heading, to_airspeed, to_course, _ = numbers[_TARGET]
    is_set, direction = int(given), math.nan
    if is_set & _HEADING_SET:
        direction = axes.yaw_to_heading(yaw) - to_heading
    elif is_set & _COURSE_SET:
        forward, left, up = numbers[_VELOCITY]
        east, north, _ = axes.rotate((w, x, y, z), (forward, left, up))
        direction = math.atan2(east, north) - to_course
    return JudgedState(
        roll / DEGREE, -pitch / DEGREE, altitude, airspeed,
        altitude - to_altitude if is_set & _ALTITUDE_SET else math.nan,
        math.remainder(direction, math.tau) / DEGREE,
        airspeed - to_airspeed if is_set & _AIRSPEED_SET else math.nan)


class TrackingReward:
    """
    The default reward: how near the targets are, 0 to 1 in each step.

    The mean of 1 / (1 + (error / scale)^2) over the targets that are set, of altitude, heading or
    course, and airspeed. A scale is the limit of a criterion on that error's rms, else 10 m,
    5 deg, 2.5 m/s. Never negative, so that ending an episode early gains nothing.
    """

    def __init__(self, scenario: Scenario) -> None:
        limits = {
            criterion.name: criterion.at_most for criterion in scenario.criteria
            if criterion.statistic == 'rms' and criterion.at_most > 0.0}
        self.scales = {name: limits.get(name, scale) for name, scale in _SCALES.items()}
        self._divisors = tuple(self.scales.values())

    def __call__(self, step: Step) -> float:
        """Return the reward of a step; 0 without any target."""
        total, targets = 0.0, 0
        now = step.seen
        errors = now.altitude_error, now.heading_error_deg, now.airspeed_error
        for error, scale in zip(errors, self._divisors, strict=True):
            # NaN without its target.
            if error == error:
                error /= scale
                total += 1.0 / (1.0 + error * error)
                targets += 1
        return total / (targets or 1)


class EnvelopeLeft:
    """
    The default termination: the flight is lost.

    At twice the bank or the pitch that the autopilot's envelope of this aircraft allows, 20 %
    beyond its airspeeds, 5 m above the simulators' ground (unless it begins there), or when a
    criterion of the scenario on the min, max or max_abs of roll, pitch, altitude, airspeed or a
    tracking error can no longer be met.
    """

    def __init__(self, scenario: Scenario) -> None:
        model, path, named = (scenario.initial.get(name, default) for name, default in (
            ('model', DEFAULT_MODEL), ('aircraft_path', ''), ('gains', '')))
        is_known = bool(named) or parameter_file.find_file(model, path) is not None
        limits = make_autopilot(model, path, named).envelope
        self._bank = _ATTITUDE_MARGIN * limits.bank_limit / DEGREE
        self._up = _ATTITUDE_MARGIN * limits.pitch_limit_up / DEGREE
        self._down = -_ATTITUDE_MARGIN * limits.pitch_limit_down / DEGREE
        self._slowest = (
            (1.0 - _AIRSPEED_MARGIN) * limits.airspeed_low if is_known else -math.inf)
        self._fastest = (
            (1.0 + _AIRSPEED_MARGIN) * limits.airspeed_high if is_known else math.inf)
        self._undulation = usual_undulation()
        self._parked = bool(scenario.initial.get('parked', False))
        self._criteria = [
            criterion for criterion in scenario.criteria
            if criterion.name in _BOUNDED and criterion.statistic in ('min', 'max', 'max_abs')]

    def __call__(self, step: Step) -> str:
        """Return why the episode ends here, or ''."""
        now = step.seen
        # Compared so that NaN ends it too.
        if not abs(now.roll_deg) <= self._bank:
            return f'bank {now.roll_deg:.0f} deg is beyond {self._bank:.0f} deg'
        if not self._down <= now.pitch_deg <= self._up:
            return (f'pitch {now.pitch_deg:.0f} deg is not in '
                    f'{self._down:.0f} .. {self._up:.0f} deg')
        if not self._parked:
            if not self._slowest <= now.airspeed <= self._fastest:
                return (f'airspeed {now.airspeed:.1f} m/s is not in {self._slowest:.1f} .. '
                        f'{self._fastest:.1f} m/s')
            if now.altitude < _NEAR_GROUND and self._height(step.truth) < _GROUND:
                return 'the ground is reached'
        for criterion in self._criteria:
            if is_missed(criterion, step.time, getattr(now, criterion.name)):
                return f'{criterion.statistic} of {criterion.name} is missed'
        return ''

    def _height(self, numbers: Numbers) -> float:
        """Return the height above the simulators' ground in m."""
        latitude, longitude, altitude = numbers[_FIX]
        above_sea: float = ellipsoid_to_msl(
            altitude, self._undulation.height_m(latitude, longitude))
        return above_sea - elevation_m(latitude, longitude)


def is_missed(criterion: Criterion, time: float, value: float) -> bool:
    """Return whether a criterion on an extreme value can no longer be met."""
    if time < criterion.begin or time > criterion.end:
        return False
    if criterion.statistic == 'min':
        return value < criterion.at_least
    return (abs(value) if criterion.statistic == 'max_abs' else value) > criterion.at_most
