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
Units of the simulators, as factors to SI.

A value in one of these units times its constant is the value in SI, and an SI value divided by
it is the value in that unit: ``speed = indicated_knots * KNOT``. Only temperatures, which have
an offset, need functions.
"""

import math

DEGREE = math.pi / 180.0
"""Degree in radians; also degree per second in rad/s."""

FOOT = 0.3048
"""International foot in metres (exact); also ft/s in m/s and ft/s^2 in m/s^2."""

FOOT_PER_MINUTE = FOOT / 60.0
"""Foot per minute in m/s (exact): vertical speed of row 4 and of vh_ind_fpm."""

NAUTICAL_MILE = 1852.0
"""Nautical mile in metres (exact)."""

KNOT = NAUTICAL_MILE / 3600.0
"""Knot in m/s (exact)."""

MILE_PER_HOUR = 1609.344 / 3600.0
"""Statute mile per hour in m/s (exact)."""

STANDARD_GRAVITY = 9.80665
"""Standard acceleration of free fall, one g, in m/s^2 (exact, CGPM 1901)."""

POUND = 0.45359237
POUND_FORCE = POUND * STANDARD_GRAVITY
"""Pound force in newtons (exact)."""

POUND_PER_SQUARE_FOOT = POUND_FORCE / FOOT**2
"""Pound force per square foot (psf) in pascals."""

INCH_OF_MERCURY = 3386.389
"""Conventional inch of mercury at 0 degC in pascals (NIST SP 811, appendix B)."""

RANKINE = 5.0 / 9.0
"""Degree Rankine, measured from absolute zero, in kelvin (exact)."""

ZERO_CELSIUS = 273.15
"""Freezing point of water in kelvin: the zero of the Celsius scale (exact)."""

_LOWEST_KELVIN = 150.0


def celsius_to_kelvin(temperature_celsius: float) -> float:
    """Return a temperature in kelvin."""
    return temperature_celsius + ZERO_CELSIUS


def kelvin_to_celsius(temperature: float) -> float:
    """Return a temperature in degrees Celsius."""
    return temperature - ZERO_CELSIUS


def celsius_or_kelvin_to_kelvin(temperature: float) -> float:
    """
    Return an air temperature in kelvin, given in either Celsius or kelvin.

    Huginn documents its thermometer as Celsius and sends kelvin. The two cannot be confused:
    no air encountered by an aircraft is above 150 degC or below 150 K (section 2 of
    docs/wire/fdmdata.md).
    """
    return temperature if temperature > _LOWEST_KELVIN else temperature + ZERO_CELSIUS
