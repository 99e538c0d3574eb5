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

from xplane_bridge.aircraft import plant
from xplane_bridge.common.controls import FLOWN

TARGETS = ('altitude', 'heading', 'airspeed')
"""What is held, and so has an error."""

QUANTITIES = (
    'latitude', 'longitude', 'altitude', 'roll', 'pitch', 'heading', 'east', 'north', 'airspeed',
    'roll_rate', 'pitch_rate', 'yaw_rate', 'angle_of_attack', 'sideslip',
    *FLOWN, *(f'command_{name}' for name in FLOWN),
    *(f'target_{name}' for name in TARGETS),
)
"""What is recorded of each flight, in SI units and radians."""


_PLANT = 'plant.'
_UNITS = {
    'm': ('altitude', 'east', 'north', 'separation', 'formation'), 'm/s': ('airspeed',),
    'deg': ('latitude', 'longitude'),
    'rad/s': ('roll_rate', 'pitch_rate', 'yaw_rate'),
    'rad': ('roll', 'pitch', 'heading', 'angle_of_attack', 'sideslip')}


def unit_of(name: str) -> str:
    """
    Return the unit of a quantity, '' for a control, whose full deflection is 1.

    'plant.NAME' is what a plant differs in.
    """
    if name.startswith(_PLANT):
        return plant.unit_of(name.removeprefix(_PLANT))
    plain = name.removesuffix('_deg').removesuffix('_error').removeprefix('target_')
    found = next((unit for unit, names in _UNITS.items() if plain in names), '')
    return found.replace('rad', 'deg') if name.endswith('_deg') else found


def known() -> tuple[str, ...]:
    """Return the names of all quantities, without those in degrees."""
    return (*QUANTITIES, *(f'{target}_error' for target in TARGETS))
