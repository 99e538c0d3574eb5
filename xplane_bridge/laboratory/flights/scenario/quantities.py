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

"""What a criterion of a scenario may be about: the quantities of a flight, and their units."""

from __future__ import annotations

from functools import cache

from xplane_bridge.common import quantities
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.quantities import AIR_DATA, KEPT, OF_CONTACTS, OF_ENGINES, TABLE
from xplane_bridge.simulation.aircraft import plant

TARGETS = ('altitude', 'heading', 'airspeed')
"""What is held, and so has an error."""

QUANTITIES = (
    *(one.name for one in KEPT), *(f'command_{name}' for name in FLOWN),
    *(f'target_{name}' for name in TARGETS),
)
"""What is kept of each flight."""

DERIVED = tuple(one.name for one in TABLE if one.formula)
"""What follows from others; see analysis.motion."""

MOTION = tuple(
    one.name for one in TABLE if not (one.is_kept or one.formula)
    and one.topic in ('odom', 'imu/data', AIR_DATA))
"""What the common topics say besides."""

AIRFRAME = tuple(
    one.name for one in TABLE if one.topic == quantities.AIRFRAME and not one.formula)
"""What only a simulator of this package says of its aircraft: the topic airframe."""

_PLANT = 'plant.'
# By the end of a name; what has none is a ratio or a count.
_UNITS = {
    **{one.name: one.unit for one in (*TABLE, *OF_ENGINES, *OF_CONTACTS)},
    'velocity_up': 'm/s', 'wind_up': 'm/s', 'range': 'm', 'separation': 'm', 'formation': 'm',
    'course': 'rad', 'time': 's'}


@cache
def unit_of(name: str) -> str:
    """
    Return the unit of a quantity, or of a column of a recording; '' for a ratio or a count.

    'plant.NAME' is what a plant differs in. The full deflection of a control is 1.
    """
    if name.startswith(_PLANT):
        return plant.unit_of(name.removeprefix(_PLANT))
    plain = name.removesuffix('_deg').removesuffix('_error')
    words = plain.split('_')
    ends = ('_'.join(words[first:]) for first in range(len(words)))
    found = next((_UNITS[end] for end in ends if end in _UNITS), '')
    return found.replace('rad', 'deg') if name.endswith('_deg') else found


def shown_unit(name: str) -> str:
    """Return the unit that people are shown a quantity in: degrees instead of radians."""
    return unit_of(name).replace('rad', 'deg')


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
