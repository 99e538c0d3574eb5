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

"""The names of the quantities of a flight: what a criterion of a scenario may be about."""

from __future__ import annotations

from functools import cache

from xplane_bridge.common.controls import FLOWN
from xplane_bridge.simulation.aircraft import plant

TARGETS = ('altitude', 'heading', 'airspeed')
"""What is held, and so has an error."""

QUANTITIES = (
    'latitude', 'longitude', 'altitude', 'roll', 'pitch', 'heading', 'east', 'north', 'airspeed',
    'roll_rate', 'pitch_rate', 'yaw_rate', 'angle_of_attack', 'sideslip',
    *FLOWN, *(f'command_{name}' for name in FLOWN),
    *(f'target_{name}' for name in TARGETS),
)
"""What is kept of each flight, in SI units and radians."""

MOTION = (
    'up', 'velocity_north', 'velocity_east', 'velocity_down', 'specific_force_forward',
    'specific_force_left', 'specific_force_up', 'true_airspeed', 'static_pressure',
    'dynamic_pressure', 'temperature', 'density', 'wind_north', 'wind_east', 'wind_down')
"""What the common topics say besides."""

AIRFRAME = (
    'elevator_deflection', 'aileron_deflection', 'rudder_deflection', 'flaps_position',
    'gear_position', 'speedbrake_position', 'roll_acceleration', 'pitch_acceleration',
    'yaw_acceleration', 'turbulence_north', 'turbulence_east', 'turbulence_down', 'mass', 'fuel',
    'ground_elevation', 'height_above_ground')
"""What only a simulator of this package says of its aircraft: the topic airframe."""

DERIVED = (
    'climb_rate', 'ground_speed', 'flight_path_angle', 'load_factor', 'energy_height',
    'specific_excess_power')
"""What follows from these; see analysis.motion."""

_PLANT = 'plant.'
# By the end of a name, the first that fits; what has none is a ratio or a count.
_UNITS = (
    ('latitude', 'deg'), ('longitude', 'deg'), ('ground_elevation', 'm'), ('roll_rate', 'rad/s'),
    ('pitch_rate', 'rad/s'), ('yaw_rate', 'rad/s'), ('acceleration', 'rad/s^2'),
    ('climb_rate', 'm/s'), ('airspeed', 'm/s'), ('ground_speed', 'm/s'),
    ('specific_excess_power', 'm/s'),
    *((f'{of}_{axis}', 'm/s') for of in ('velocity', 'wind', 'turbulence')
      for axis in ('north', 'east', 'down', 'up')),
    *((f'specific_force_{axis}', 'm/s^2') for axis in ('forward', 'left', 'up')),
    ('pressure', 'Pa'), ('temperature', 'K'), ('density', 'kg/m^3'), ('deflection', 'rad'),
    ('mass', 'kg'), ('fuel', 'kg'), ('rpm', '1/min'), ('power', 'W'), ('thrust', 'N'),
    ('fuel_flow', 'kg/s'), ('height_above_ground', 'm'), ('energy_height', 'm'),
    ('altitude', 'm'), ('east', 'm'), ('north', 'm'), ('up', 'm'), ('range', 'm'),
    ('separation', 'm'), ('formation', 'm'), ('heading', 'rad'), ('course', 'rad'),
    ('roll', 'rad'), ('pitch', 'rad'), ('angle_of_attack', 'rad'), ('sideslip', 'rad'),
    ('flight_path_angle', 'rad'), ('time', 's'))


@cache
def unit_of(name: str) -> str:
    """
    Return the unit of a quantity, or of a column of a recording; '' for a ratio or a count.

    'plant.NAME' is what a plant differs in. The full deflection of a control is 1.
    """
    if name.startswith(_PLANT):
        return plant.unit_of(name.removeprefix(_PLANT))
    plain = name.removesuffix('_deg').removesuffix('_error')
    found = next((unit for end, unit in _UNITS if plain == end or plain.endswith(f'_{end}')), '')
    return found.replace('rad', 'deg') if name.endswith('_deg') else found


def known() -> tuple[str, ...]:
    """Return the names of all quantities, without those in degrees."""
    return (*QUANTITIES, *(f'{target}_error' for target in TARGETS), *MOTION, *AIRFRAME, *DERIVED)


def is_known(name: str) -> bool:
    """Return whether it is the name of a quantity; what is an angle may end in _deg."""
    plain = name.removesuffix('_deg')
    return plain in known() and (plain == name or unit_of(plain).startswith('rad'))


def needs_more(name: str) -> bool:
    """Return whether a quantity needs more of each frame than what is always kept."""
    return name.removesuffix('_deg') in (*MOTION, *AIRFRAME, *DERIVED)
