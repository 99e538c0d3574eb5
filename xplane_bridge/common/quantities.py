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
The quantities of a flight, a row for each: whoever names one reads it from here.

That are the messages of air data and of the airframe, what is impossible in them, columns of
recordings, the names and units of criteria and expressions, observations, what identification and
export read, and the table of docs/reference/scenarios.md. CONTRIBUTING.md has how to add one.
"""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import NamedTuple

from xplane_bridge.common.controls import BRAKES, CONTROLS, FLOWN

Bounds = tuple[float, float]

COMPUTED = 'computed'
"""The formula of what motion.py of laboratory/flights/analysis has a function for."""

AIR_DATA, AIRFRAME = 'air_data', 'airframe'
"""Topics whose messages are this package's own, so that they may have more quantities."""
_FIX, _IMU, _ODOM, _CONTROLS, _CONTACTS = 'fix', 'imu/data', 'odom', 'controls', 'contacts'


class Quantity(NamedTuple):
    """
    A quantity, in SI and radians; latitude and longitude are in degrees.

    ``name`` is also that of its column in a table. It is ``sign`` times a ``field``, a dotted
    path, of the messages of ``topic``; without a field it is computed from several. ``state`` is
    what the simulated aircraft calls it (simulation/aircraft/state.py), if it is read and not
    computed. ``formula`` is an expression of other quantities. ``is_kept`` marks what is kept of
    each frame of each flight, not only where somebody asks. What is not within ``bounds`` is
    impossible; ``observed`` are those of an observation. ``meaning`` is for the page.
    """

    name: str
    symbol: str
    unit: str
    meaning: str = ''
    topic: str = ''
    field: str = ''
    state: str = ''
    sign: float = 1.0
    bounds: Bounds = (-math.inf, math.inf)
    observed: Bounds = (-math.inf, math.inf)
    formula: str = ''
    is_kept: bool = False


# Bounds of one axis. m/s: ten times the escape velocity of the earth, enough for Kerbal's sun.
_SPEED = (-1e5, 1e5)
# rad/s: a diverged flight model spins at tens.
_RATE = (-1e3, 1e3)
# m/s^2: ten thousand g, more than any crash.
_FORCE = (-1e5, 1e5)
_WIND = (-1e4, 1e4)
_TURN = (-6.5, 6.5)
# Degrees: a simulator may use longitudes up to 360, or continue past the date line, but not for
# more than one turn.
_LATITUDE, _LONGITUDE = (-90.0, 90.0), (-360.0, 360.0)
# m above mean sea level: below the deepest sea floor, and beyond the moon, which JSBSim can
# reach. Nearly half of the exponents of a random float32 are outside.
_HEIGHT = (-12_000.0, 1e9)
# Pa: Venus has 9e6. In a vacuum, or at rest, rounding errors may give values below 0.
_PRESSURE, _IMPACT = (-1.0, 1e8), (-1e5, 1e10)
# K: from absolute zero to hotter than the sun.
_TEMPERATURE = (0.0, 1e5)
_DENSITY = (-1e-3, 1e4)
# Engines with reverse or emergency power exceed -1..1.
_POWER = (-10.0, 10.0)
# The others are -1..1, 0..1 or, speedbrakes, -0.5..1.5 by definition; the rest is a margin.
_BOTH_WAYS, _ONE_WAY = (-1.6, 1.6), (-0.1, 1.1)
_OF_CONTROLS = {
    'throttle': _POWER, **dict.fromkeys(('flaps', 'gear', *BRAKES), _ONE_WAY)}
# Of an observation.
_SEEN_SPEED, _SEEN_RATE, _SEEN_FORCE = (-1e4, 1e4), (-100.0, 100.0), (-1e4, 1e4)
_SEEN_PLACE, _SEEN_ANGLE, _SEEN_PRESSURE = (-1e8, 1e8), (-math.pi, math.pi), (-1e7, 1e7)

_FORWARD, _LEFT, _UP = (f'linear_acceleration.{axis}' for axis in 'xyz')
_ROLL, _PITCH, _YAW = (f'angular_velocity.{axis}' for axis in 'xyz')
_ROLLING, _PITCHING, _YAWING = (f'angular_acceleration.{axis}' for axis in 'xyz')

TABLE: tuple[Quantity, ...] = (
    # Where it is, and how it is turned.
    Quantity('latitude', 'lat', 'deg', '', _FIX, 'latitude', 'lat_deg', 1.0,
             _LATITUDE, (-90.0, 90.0), is_kept=True),
    Quantity('longitude', 'lon', 'deg', '', _FIX, 'longitude', 'lon_deg', 1.0,
             _LONGITUDE, (-180.0, 180.0), is_kept=True),
    Quantity('altitude', 'h', 'm', 'above the ellipsoid', _FIX, 'altitude', 'altitude', 1.0,
             _HEIGHT, (-1e5, 1e6), is_kept=True),
    Quantity('east', 'x', 'm', 'of where the flight began', _ODOM, 'pose.pose.position.x',
             'east', observed=_SEEN_PLACE, is_kept=True),
    Quantity('north', 'y', 'm', '', _ODOM, 'pose.pose.position.y', 'north',
             observed=_SEEN_PLACE, is_kept=True),
    Quantity('up', 'z', 'm', '', _ODOM, 'pose.pose.position.z', 'up', observed=_SEEN_PLACE),
    Quantity('roll', 'phi', 'rad', 'right wing down', _IMU, '', 'phi', is_kept=True),
    Quantity('pitch', 'theta', 'rad', 'nose up', _IMU, '', 'theta', is_kept=True),
    Quantity('heading', 'psi', 'rad', 'true', _IMU, '', 'psi', is_kept=True),
    # How it moves.
    Quantity('roll_rate', 'p', 'rad/s', 'to the right', _IMU, _ROLL, 'p', 1.0,
             _RATE, _SEEN_RATE, is_kept=True),
    Quantity('pitch_rate', 'q', 'rad/s', 'up', _IMU, _PITCH, 'q', -1.0,
             _RATE, _SEEN_RATE, is_kept=True),
    Quantity('yaw_rate', 'r', 'rad/s', 'to the right', _IMU, _YAW, 'r', -1.0,
             _RATE, _SEEN_RATE, is_kept=True),
    Quantity('roll_acceleration', 'p_dot', 'rad/s^2', '', AIRFRAME, _ROLLING, 'p_dot'),
    Quantity('pitch_acceleration', 'q_dot', 'rad/s^2', '', AIRFRAME, _PITCHING, 'q_dot', -1.0),
    Quantity('yaw_acceleration', 'r_dot', 'rad/s^2', '', AIRFRAME, _YAWING, 'r_dot', -1.0),
    Quantity('velocity_north', 'v_n', 'm/s', 'over ground', _ODOM, '', 'v_north', 1.0, _SPEED),
    Quantity('velocity_east', 'v_e', 'm/s', '', _ODOM, '', 'v_east', 1.0, _SPEED),
    Quantity('velocity_down', 'v_d', 'm/s', '', _ODOM, '', 'v_down', 1.0, _SPEED),
    # The air. Without an indicated airspeed, the airspeed is the true one.
    Quantity('airspeed', 'V_c', 'm/s', 'indicated', AIR_DATA, 'indicated_airspeed', 'cas', 1.0,
             _SPEED, _SEEN_SPEED, is_kept=True),
    Quantity('true_airspeed', 'V', 'm/s', '', AIR_DATA, 'true_airspeed', 'tas', 1.0,
             _SPEED, _SEEN_SPEED),
    Quantity('angle_of_attack', 'alpha', 'rad', 'nose above the path', AIR_DATA,
             'angle_of_attack', 'alpha', 1.0, _TURN, _SEEN_ANGLE, is_kept=True),
    Quantity('sideslip', 'beta', 'rad', 'wind from the right', AIR_DATA, 'sideslip', 'beta', 1.0,
             _TURN, _SEEN_ANGLE, is_kept=True),
    Quantity('static_pressure', 'p_s', 'Pa', '', AIR_DATA, 'static_pressure', 'static_pressure',
             1.0, _PRESSURE, _SEEN_PRESSURE),
    Quantity('dynamic_pressure', 'qbar', 'Pa', '', AIR_DATA, 'dynamic_pressure', 'qbar', 1.0,
             _IMPACT, _SEEN_PRESSURE),
    Quantity('temperature', 'T', 'K', '', AIR_DATA, 'temperature', 'temperature', 1.0,
             _TEMPERATURE, (0.0, 1e4)),
    Quantity('density', 'rho', 'kg/m^3', '', AIR_DATA, 'density', 'density', 1.0,
             _DENSITY, (0.0, 100.0)),
    Quantity('wind_north', 'w_n', 'm/s', 'where the air goes', AIR_DATA, 'wind.y', 'wind_north',
             1.0, _WIND, _SEEN_SPEED),
    Quantity('wind_east', 'w_e', 'm/s', '', AIR_DATA, 'wind.x', 'wind_east', 1.0,
             _WIND, _SEEN_SPEED),
    Quantity('wind_down', 'w_d', 'm/s', '', AIR_DATA, 'wind.z', 'wind_down', -1.0,
             _WIND, _SEEN_SPEED),
    Quantity('turbulence_north', 'g_n', 'm/s', 'a part of the wind', AIRFRAME, 'turbulence.y',
             'turbulence_north'),
    Quantity('turbulence_east', 'g_e', 'm/s', '', AIRFRAME, 'turbulence.x', 'turbulence_east'),
    Quantity('turbulence_down', 'g_d', 'm/s', '', AIRFRAME, 'turbulence.z', 'turbulence_down',
             -1.0),
    # What moves it.
    *(Quantity(name, '', '', 'as reported', _CONTROLS, name, BRAKES.get(name, name), 1.0,
               _OF_CONTROLS.get(name, _BOTH_WAYS), is_kept=name in FLOWN) for name in CONTROLS),
    Quantity('elevator_deflection', 'delta_e', 'rad', 'nose up', AIRFRAME,
             'elevator_deflection', 'elevator_deflection'),
    Quantity('aileron_deflection', 'delta_a', 'rad', 'right wing down', AIRFRAME,
             'aileron_deflection', 'aileron_deflection'),
    Quantity('rudder_deflection', 'delta_r', 'rad', 'nose right', AIRFRAME,
             'rudder_deflection', 'rudder_deflection'),
    *(Quantity(name, '', '', 'as it stands', AIRFRAME, name, name)
      for name in ('flaps_position', 'gear_position', 'speedbrake_position')),
    Quantity('mass', 'm', 'kg', 'with fuel', AIRFRAME, 'mass', 'mass'),
    Quantity('fuel', 'm_f', 'kg', 'of all tanks', AIRFRAME, 'fuel', 'fuel'),
    Quantity('height_above_ground', 'h_g', 'm', '', AIRFRAME, 'height_above_ground',
             'altitude_agl'),
    Quantity('specific_force_forward', 'f_x', 'm/s^2', 'as accelerometers read it', _IMU,
             _FORWARD, '', 1.0, _FORCE, _SEEN_FORCE),
    Quantity('specific_force_left', 'f_y', 'm/s^2', '', _IMU, _LEFT, '', 1.0,
             _FORCE, _SEEN_FORCE),
    Quantity('specific_force_up', 'f_z', 'm/s^2', '', _IMU, _UP, '', 1.0, _FORCE, _SEEN_FORCE),
    # What follows.
    Quantity('load_factor', 'n_z', '', 'in standard gravities', AIRFRAME, 'load_factor',
             formula='specific_force_up / 9.80665'),
    Quantity('ground_elevation', 'h_t', 'm', 'above the ellipsoid', AIRFRAME,
             'ground_elevation'),
    Quantity('climb_rate', 'h_dot', 'm/s', formula='-velocity_down'),
    Quantity('ground_speed', 'V_g', 'm/s', formula='hypot(velocity_north, velocity_east)'),
    Quantity('flight_path_angle', 'gamma', 'rad',
             formula='atan2(-velocity_down, hypot(velocity_north, velocity_east))'),
    Quantity('energy_height', 'h_e', 'm',
             formula='(velocity_north * velocity_north + velocity_east * velocity_east'
             ' + velocity_down * velocity_down) / (2 * 9.80665) + altitude'),
    Quantity('specific_excess_power', 'P_s', 'm/s',
             'specific force times velocity over ground / g', formula=COMPUTED),
)
"""All, in the order of the columns of a table."""

OF_ENGINES = (
    Quantity('rpm', 'n', '1/min', '', AIRFRAME, 'rpm', 'rpm'),
    Quantity('power', 'P', 'W', '', AIRFRAME, 'power', 'power'),
    Quantity('thrust', 'F', 'N', '', AIRFRAME, 'thrust', 'thrust'),
    Quantity('fuel_flow', 'm_dot', 'kg/s', '', AIRFRAME, 'fuel_flow', 'fuel_flow'))
"""What each engine has: lists in the message, and engine_0_rpm and so on in a table."""

OF_CONTACTS = (
    Quantity('wheels_on_ground', '', '', 'how many', _CONTACTS, 'wheels'),
    Quantity('structure_on_ground', '', '', 'how many places', _CONTACTS, 'structure'),
    Quantity('strut_compression', '', '', 'of that when standing', _CONTACTS,
             'strut_compression'))
"""What touches the ground, of a flight with a runway."""

QUANTITY: Mapping[str, Quantity] = {one.name: one for one in TABLE}
"""All of TABLE by name."""


def fields_of(topic: str) -> tuple[Quantity, ...]:
    """Return those that are fields of a topic's messages; vectors behind numbers, x before y."""
    found = [one for one in TABLE if one.topic == topic and one.field]
    vectors = [one.field.rpartition('.')[0] for one in found]

    def place(one: Quantity) -> tuple[int, str]:
        vector, _, axis = one.field.rpartition('.')
        # Numbers stay in the order of the table.
        return (vectors.index(vector), axis) if vector else (-1, '')

    return tuple(sorted(found, key=place))


AIR: tuple[Quantity, ...] = tuple(
    one for one in fields_of(AIR_DATA) if '.' not in one.field)
"""The numbers of air_data, in the message's order; its wind is behind them."""

KEPT: tuple[Quantity, ...] = tuple(one for one in TABLE if one.is_kept)
"""What is kept of each frame of each flight."""
