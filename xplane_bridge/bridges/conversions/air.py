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
Air: density, pressures, airspeeds, flow angles, the standard atmosphere.

SI throughout: Pa, K, kg/m^3, m/s, m, radians. Indicated airspeed is taken as calibrated
airspeed: the simulators model no position error. The airspeed relations are those of
subsonic flow (Mach below 1).

A non-positive pressure, density or temperature (a dataref that the simulator lacks reads 0, a
vacuum has no air) gives NaN, never an exception.
Sources: ICAO Doc 7488 (standard atmosphere); docs/wire/xplane_datarefs.md, section 2.
"""

import math

from xplane_bridge.bridges.conversions.axes import Quaternion, rotate_inverse, Vector
from xplane_bridge.common.units import STANDARD_GRAVITY

SEA_LEVEL_PRESSURE = 101325.0
"""Pa, standard atmosphere."""

SEA_LEVEL_TEMPERATURE = 288.15
"""K, standard atmosphere."""

SEA_LEVEL_DENSITY = 1.225
"""kg/m^3, standard atmosphere: the density that airspeed indicators are calibrated for."""

GAS_CONSTANT = 287.05287
"""Specific gas constant of dry air, J/(kg K)."""

HEAT_CAPACITY_RATIO = 1.4
"""Ratio of specific heats of air."""


def density(pressure: float, temperature: float) -> float:
    """Return the air density in kg/m^3 from pressure in Pa and temperature in K."""
    if not temperature > 0.0:
        return math.nan
    return pressure / (GAS_CONSTANT * temperature)


def speed_of_sound(temperature: float) -> float:
    """Return the speed of sound in m/s at a temperature in K."""
    if not temperature > 0.0:
        return math.nan
    return math.sqrt(HEAT_CAPACITY_RATIO * GAS_CONSTANT * temperature)


def mach_number(true_airspeed: float, temperature: float) -> float:
    """Return the Mach number of a true airspeed in m/s in air of a temperature in K."""
    if not temperature > 0.0:
        return math.nan
    return true_airspeed / speed_of_sound(temperature)


# Pressures: total = static + impact; impact = dynamic at low speed, more at high


def dynamic_pressure(true_airspeed: float, air_density: float) -> float:
    """
    Return the dynamic pressure (qbar) in Pa: half density times speed squared.

    For an equivalent airspeed, pass SEA_LEVEL_DENSITY.
    """
    return 0.5 * air_density * true_airspeed * true_airspeed


def dynamic_to_impact_pressure(dynamic: float, static: float) -> float:
    """
    Return the impact pressure (pitot minus static) in Pa of a dynamic pressure in Pa.

    Huginn's pitot value is the dynamic pressure; at Mach 0.3 the impact pressure is 2 % higher.
    A dynamic pressure below 0 gives 0.
    """
    if not static > 0.0:
        return math.nan
    return static * (_stagnation_ratio(2.0 * dynamic / (HEAT_CAPACITY_RATIO * static)) - 1.0)


def calibrated_airspeed_to_impact_pressure(calibrated_airspeed: float) -> float:
    """
    Return the impact pressure (pitot minus static) in Pa of a calibrated airspeed in m/s.

    A negative airspeed, as X-Plane indicates in backward flight, gives the same pressure.
    """
    mach_squared = (calibrated_airspeed / _SEA_LEVEL_SPEED_OF_SOUND) ** 2
    return SEA_LEVEL_PRESSURE * (_stagnation_ratio(mach_squared) - 1.0)


def impact_pressure_to_calibrated_airspeed(impact: float) -> float:
    """Return the calibrated airspeed in m/s of an impact pressure in Pa; 0 when it is below 0."""
    return _SEA_LEVEL_SPEED_OF_SOUND * _impact_to_mach(impact, SEA_LEVEL_PRESSURE)


# Airspeeds


def true_to_equivalent_airspeed(true_airspeed: float, air_density: float) -> float:
    """Return the equivalent airspeed in m/s: the same dynamic pressure at sea level."""
    if not air_density > 0.0:
        return math.nan
    return true_airspeed * math.sqrt(air_density / SEA_LEVEL_DENSITY)


def equivalent_to_true_airspeed(equivalent_airspeed: float, air_density: float) -> float:
    """Return the true airspeed in m/s of an equivalent airspeed in m/s."""
    if not air_density > 0.0:
        return math.nan
    return equivalent_airspeed * math.sqrt(SEA_LEVEL_DENSITY / air_density)


def true_to_calibrated_airspeed(
    true_airspeed: float, static: float, temperature: float
) -> float:
    """Return the calibrated airspeed in m/s at a static pressure in Pa and temperature in K."""
    if not static > 0.0:
        return math.nan
    mach = mach_number(true_airspeed, temperature)
    return impact_pressure_to_calibrated_airspeed(static * (_stagnation_ratio(mach * mach) - 1.0))


def calibrated_to_true_airspeed(
    calibrated_airspeed: float, static: float, temperature: float
) -> float:
    """Return the true airspeed in m/s at a static pressure in Pa and temperature in K."""
    if not static > 0.0:
        return math.nan
    impact = calibrated_airspeed_to_impact_pressure(calibrated_airspeed)
    return speed_of_sound(temperature) * _impact_to_mach(impact, static)


def _stagnation_ratio(mach_squared: float) -> float:
    # Isentropic flow: total over static pressure, exponent gamma / (gamma - 1).
    # The 0 is max()'s second argument, here and below, so that NaN stays NaN.
    try:
        return float((1.0 + 0.2 * max(mach_squared, 0.0)) ** 3.5)
    except OverflowError:
        return math.inf


def _impact_to_mach(impact: float, static: float) -> float:
    ratio = 1.0 + max(impact / static, 0.0)
    return math.sqrt(5.0 * (ratio ** (2.0 / 7.0) - 1.0))


_SEA_LEVEL_SPEED_OF_SOUND = speed_of_sound(SEA_LEVEL_TEMPERATURE)


# Flow angles


def air_relative_velocity(
    velocity_enu: Vector, wind_enu: Vector, q_enu_flu: Quaternion
) -> Vector:
    """
    Return the velocity of the aircraft through the air, body FLU, m/s.

    The wind is the velocity of the air over ground: it points downwind (2.23).
    """
    vx, vy, vz = velocity_enu
    wx, wy, wz = wind_enu
    return rotate_inverse(q_enu_flu, (vx - wx, vy - wy, vz - wz))


def angle_of_attack(air_velocity_flu: Vector) -> float:
    """
    Return the angle of attack in radians, + when the air comes from below (nose above path).

    Meaningless at walking pace: 0 at rest, any angle in a light breeze.
    """
    forward, _, up = air_velocity_flu
    return math.atan2(-up, forward)


def sideslip(air_velocity_flu: Vector) -> float:
    """
    Return the sideslip angle in radians, + when the wind comes from the right (2.7).

    X-Plane's own beta is not used, as its documents contradict each other about the sign (2.6).
    Meaningless at walking pace, like ``angle_of_attack``.
    """
    forward, left, up = air_velocity_flu
    return math.atan2(-left, math.hypot(forward, up))


# Standard atmosphere


# Base of each layer: geopotential altitude m, temperature K, lapse rate K/m (ICAO Doc 7488).
_LAYERS = (
    (0.0, 288.15, -0.0065),
    (11000.0, 216.65, 0.0),
    (20000.0, 216.65, 0.0010),
    (32000.0, 228.65, 0.0028),
    (47000.0, 270.65, 0.0),
    (51000.0, 270.65, -0.0028),
    (71000.0, 214.65, -0.0020),
)


def _layer_pressure(layer: int, base_pressure: float, altitude: float) -> float:
    base, temperature, lapse = _LAYERS[layer]
    if lapse == 0.0:
        exponent = -STANDARD_GRAVITY * (altitude - base) / (GAS_CONSTANT * temperature)
        return base_pressure * math.exp(exponent)
    ratio = 1.0 + lapse * (altitude - base) / temperature
    # Beyond the last layer the temperature would fall below zero: there is no air.
    if ratio <= 0.0:
        return 0.0
    return float(base_pressure * ratio ** (-STANDARD_GRAVITY / (GAS_CONSTANT * lapse)))


def _base_pressures() -> tuple[float, ...]:
    pressures = [SEA_LEVEL_PRESSURE]
    for layer in range(len(_LAYERS) - 1):
        pressures.append(_layer_pressure(layer, pressures[layer], _LAYERS[layer + 1][0]))
    return tuple(pressures)


_BASE_PRESSURES = _base_pressures()


def pressure_altitude_to_pressure(pressure_altitude: float) -> float:
    """
    Return the pressure in Pa of the standard atmosphere at a pressure altitude in metres.

    Valid from -5 to 86 km (geopotential); the outer layers are extrapolated beyond.
    """
    layer = 0
    while layer + 1 < len(_LAYERS) and pressure_altitude >= _LAYERS[layer + 1][0]:
        layer += 1
    return _layer_pressure(layer, _BASE_PRESSURES[layer], pressure_altitude)


def pressure_to_pressure_altitude(pressure: float) -> float:
    """
    Return the pressure altitude in metres of a static pressure in Pa.

    The geopotential altitude at which the standard atmosphere has this pressure, as read on an
    altimeter set to 1013.25 hPa.
    """
    if not pressure > 0.0:
        return math.nan
    layer = 0
    while layer + 1 < len(_LAYERS) and pressure <= _BASE_PRESSURES[layer + 1]:
        layer += 1
    base, temperature, lapse = _LAYERS[layer]
    ratio = pressure / _BASE_PRESSURES[layer]
    if lapse == 0.0:
        return base - GAS_CONSTANT * temperature / STANDARD_GRAVITY * math.log(ratio)
    exponent = -GAS_CONSTANT * lapse / STANDARD_GRAVITY
    return float(base + temperature / lapse * (ratio**exponent - 1.0))


def standard_temperature(pressure_altitude: float) -> float:
    """Return the temperature in K of the standard atmosphere at a pressure altitude in m."""
    layer = 0
    while layer + 1 < len(_LAYERS) and pressure_altitude >= _LAYERS[layer + 1][0]:
        layer += 1
    base, temperature, lapse = _LAYERS[layer]
    return temperature + lapse * (pressure_altitude - base)
