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
What no aircraft has: derivatives of a flight in which a signal or a size is in a wrong unit.

The ranges are our own, wide about what the aircraft of benchmarks/identification_coverage.py have:
they tell a wrong unit or sign, not a good aircraft.
The lift slope is compared with that of a wing of the same aspect ratio, by Helmbold's equation
with Prandtl's and Glauert's factor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
import math
from typing import NamedTuple

from xplane_bridge.bridges.conversions import air
from xplane_bridge.laboratory.identification.estimation.output_error import Estimate
from xplane_bridge.laboratory.identification.motion.airframe import Airframe
from xplane_bridge.laboratory.identification.motion.equations import Derivative
from xplane_bridge.laboratory.identification.motion.signals import IdentificationError

# By rad, reduced rate or full control, with the signs of this package.
RANGES: Mapping[str, tuple[float, float]] = {
    'C_L_alpha': (0.5, 12.0), 'C_L_q': (-40.0, 80.0), 'C_L_delta_e': (-5.0, 5.0),
    'C_m_alpha': (-15.0, 5.0), 'C_m_q': (-250.0, 0.0), 'C_m_delta_e': (0.0, 10.0),
    'C_Y_beta': (-5.0, 0.0), 'C_Y_delta_r': (-3.0, 3.0),
    'C_l_beta': (-2.0, 1.0), 'C_l_p': (-2.0, 0.0), 'C_l_r': (-1.5, 3.0),
    'C_l_delta_a': (0.0, 2.0), 'C_l_delta_r': (-1.0, 1.0),
    'C_n_beta': (-1.0, 2.0), 'C_n_p': (-2.0, 2.0), 'C_n_r': (-4.0, 0.2),
    'C_n_delta_a': (-1.0, 1.0), 'C_n_delta_r': (0.0, 2.0),
    'C_D_delta_t': (-20.0, 0.0)}
"""What a derivative is between."""

# So many standard deviations outside.
_CERTAIN = 4.0
# Of a wing's lift slope: fuselages, tails, sweep, wash.
_LEAST_LIFT, _MOST_LIFT = 0.4, 1.8
_LIKELY_LEAST, _LIKELY_MOST = 0.55, 1.5
# Of span times chord: taper, and reference sizes that differ.
_LEAST_AREA, _MOST_AREA = 0.45, 1.8
# Of a moment of inertia, how many times the sum of the others': 1 of any body, but simulated ones
# have up to 1.6. And the radius of gyration in roll by the span: JSBSim's aeroplanes have 0.10 to
# 0.26 with little fuel.
_MOST_INERTIA = 2.0
_LEAST_RADIUS, _MOST_RADIUS = 0.05, 0.45
# Towards the speed of sound the factor is not that.
_LEAST_ROOT = 0.5
# What a lift slope is multiplied by if something is in another unit, and by what an area is.
_SLIPS: Mapping[str, tuple[float, float]] = {
    'mass in lb': (2.2046, 1.0), 'mass in slug': (0.06852, 1.0),
    'wing_area in ft^2': (1.0 / 10.764, 10.764), 'density in slug/ft^3': (515.38, 1.0),
    'density in lb/ft^3': (16.018, 1.0), 'true_airspeed in kt': (1.0 / 1.9438 ** 2, 1.0),
    'true_airspeed in ft/s': (1.0 / 3.2808 ** 2, 1.0),
    'true_airspeed in km/h': (1.0 / 3.6 ** 2, 1.0),
    'specific_force_z in ft/s^2': (3.2808, 1.0), 'specific_force_z in g': (1.0 / 9.80665, 1.0),
    'angle_of_attack in deg': (1.0 / 57.296, 1.0)}
# What is probably wrong about the others.
_SUSPECTS: Mapping[str, str] = {
    'C_m_q': 'pitch_rate, chord or i_yy', 'C_m_alpha': 'angle_of_attack, chord or i_yy',
    'C_m_delta_e': 'elevator', 'C_L_delta_e': 'elevator', 'C_L_q': 'pitch_rate or chord',
    'C_Y_beta': 'sideslip or specific_force_y', 'C_Y_delta_r': 'rudder or specific_force_y',
    'C_l_delta_a': 'aileron', 'C_n_delta_a': 'aileron', 'C_n_delta_r': 'rudder',
    'C_l_delta_r': 'rudder', 'C_D_delta_t': 'throttle or specific_force_x'}
_TURNED: Mapping[str, str] = {
    'C_m_delta_e': 'elevator: + is nose up', 'C_l_delta_a': 'aileron: + is right wing down',
    'C_n_delta_r': 'rudder: + is nose right'}


class Condition(NamedTuple):
    """A flight's source, mean true airspeed (m/s) and density (kg/m^3)."""

    source: str
    true_airspeed: float
    density: float


def check_sizes(frame: Airframe) -> None:
    """Raise IdentificationError for a wing, or moments of inertia, that no aircraft has."""
    _check_wing(frame)
    _check_inertia(frame)


def _check_wing(frame: Airframe) -> None:
    ratio = frame.wing_area / (frame.wing_span * frame.chord)
    if _LEAST_AREA <= ratio <= _MOST_AREA:
        return
    suspects = {
        'wing_area in ft^2': 10.764, 'wing_span in ft': 1.0 / 3.2808, 'chord in ft': 1.0 / 3.2808,
        'wing_span and chord in ft': 1.0 / 10.764}
    likely = [name for name, factor in suspects.items()
              if _LEAST_AREA <= ratio / factor <= _MOST_AREA]
    raise IdentificationError(
        f'wing_area is {frame.wing_area:.4g} m^2, and {ratio:.2g} times wing_span times chord '
        f'({frame.wing_span:.4g} m, {frame.chord:.4g} m), expected about 1{_asked(likely)}')


def _check_inertia(frame: Airframe) -> None:
    moments = {name: float(getattr(frame, name)) for name in ('i_xx', 'i_yy', 'i_zz')}
    for name, moment in moments.items():
        if moment > _MOST_INERTIA * (sum(moments.values()) - moment):
            raise IdentificationError(
                f'{name} is {moment:.3g} kg m^2, more than both others together, which no body '
                'has: is it in lb ft^2?')
    radius = math.sqrt(frame.i_xx / frame.mass) / frame.wing_span
    if not _LEAST_RADIUS <= radius <= _MOST_RADIUS:
        raise IdentificationError(
            f'i_xx is {frame.i_xx:.3g} kg m^2, with {frame.mass:.3g} kg a radius of gyration of '
            f'{radius:.2g} times wing_span, expected {_LEAST_RADIUS:g} to {_MOST_RADIUS:g}'
            + (': are moments of inertia in lb ft^2, or is mass in slug?'
               if radius > _MOST_RADIUS else ': is wing_span in ft, or mass in lb?'))


def check_derivatives(
    found: Mapping[Derivative, Estimate], frame: Airframe, at: Condition
) -> None:
    """Raise IdentificationError for derivatives that no aircraft has."""
    for derivative, one in found.items():
        name = str(derivative)
        if name == 'C_L_alpha':
            _check_lift(one, frame, at)
        low, high = RANGES.get(name, (-math.inf, math.inf))
        if low - _CERTAIN * one.deviation <= one.value <= high + _CERTAIN * one.deviation:
            continue
        turned = _TURNED.get(name)
        suspects = _SUSPECTS.get(name, 'an angular rate, wing_span or a moment of inertia')
        asked = (f': is the sign turned of {turned}' if turned and one.value < low else
                 f': is it in another unit, or of another sign, {suspects}')
        raise IdentificationError(
            f'{at.source}: {name} is {one.value:.4g} +- {2.0 * one.deviation:.2g}, expected '
            f'{low:g} to {high:g} of any aircraft{asked}?')


def _check_lift(one: Estimate, frame: Airframe, at: Condition) -> None:
    ratio = one.value / lift_slope(frame, at)
    apart = _CERTAIN * one.deviation / abs(one.value) if one.value else math.inf
    low, high = RANGES['C_L_alpha']
    if low <= one.value <= high and (
            _LEAST_LIFT * (1.0 - apart) <= ratio <= _MOST_LIFT * (1.0 + apart)):
        return
    likely = {
        name: abs(math.log(right)) for name, (factor, wider) in _SLIPS.items()
        if one.value > 0.0 and _LIKELY_LEAST < (right := one.value / factor / lift_slope(
            replace(frame, wing_area=frame.wing_area / wider), at)) < _LIKELY_MOST}
    wing = lift_slope(frame, at)
    raise IdentificationError(
        f'{at.source}: C_L_alpha is {one.value:.4g} +- {2.0 * one.deviation:.2g}, expected '
        f'{low:g} to {high:g} of any aircraft, and {_LEAST_LIFT * wing:.2g} to '
        f'{_MOST_LIFT * wing:.2g} of a wing with this aspect ratio'
        f'{_asked(sorted(likely, key=lambda name: likely[name])[:3])}')


def lift_slope(frame: Airframe, at: Condition) -> float:
    """Return the lift slope of a plain wing (1/rad), by Helmbold, with Prandtl and Glauert."""
    aspect = frame.wing_span ** 2 / frame.wing_area
    # Where the air is so dense, to one or two per cent.
    warm = air.standard_temperature(0.0) * min(max((at.density / 1.225), 0.05), 1.2) ** 0.235
    mach = at.true_airspeed / math.sqrt(1.4 * 287.05 * warm)
    root = math.sqrt(max(1.0 - mach ** 2, _LEAST_ROOT ** 2))
    return math.tau * aspect / (2.0 + math.sqrt(4.0 + (aspect * root) ** 2))


def _asked(names: list[str]) -> str:
    return f': is {", or ".join(names)}?' if names else ''
