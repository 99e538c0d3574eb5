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

"""The aircraft of an identification: its mass, inertia and reference sizes."""

from __future__ import annotations

from dataclasses import dataclass, fields
import math

from xplane_bridge.common import plain_yaml
from xplane_bridge.common.fields import FieldError, mapping, number
from xplane_bridge.simulation.aircraft.model import Model

_FOOT = 0.3048
_SLUG = 14.593902937206365
_SQUARE_FOOT = _FOOT ** 2
SLUG_SQUARE_FOOT = _SLUG * _SQUARE_FOOT
_PROPERTIES = {
    'mass': ('inertia/mass-slugs', _SLUG),
    'i_xx': ('inertia/ixx-slugs_ft2', SLUG_SQUARE_FOOT),
    'i_yy': ('inertia/iyy-slugs_ft2', SLUG_SQUARE_FOOT),
    'i_zz': ('inertia/izz-slugs_ft2', SLUG_SQUARE_FOOT),
    # JSBSim's is the element of the inertia matrix, which has the other sign.
    'i_xz': ('inertia/ixz-slugs_ft2', -SLUG_SQUARE_FOOT),
    'wing_area': ('metrics/Sw-sqft', _SQUARE_FOOT),
    'wing_span': ('metrics/bw-ft', _FOOT),
    'chord': ('metrics/cbarw-ft', _FOOT),
}


@dataclass(frozen=True, slots=True)
class Airframe:
    """
    Mass (kg), moments of inertia in body axes (kg m^2), and reference sizes (m^2, m).

    The product of inertia ``i_xz`` is the integral of x z dm.
    """

    mass: float
    i_xx: float
    i_yy: float
    i_zz: float
    i_xz: float
    wing_area: float
    wing_span: float
    chord: float

    def length(self, rate: str) -> float:
        """Return the length (m) by which an angular rate is reduced."""
        return self.chord if rate == 'pitch_rate' else self.wing_span

    def __post_init__(self) -> None:
        """Raise ValueError for what no body has."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not math.isfinite(value) or (field.name != 'i_xz' and value <= 0.0):
                raise ValueError(f'{field.name}: expected above 0, got {value:g}')
        if self.i_xz ** 2 >= self.i_xx * self.i_zz:
            raise ValueError(f'i_xz: expected less than the root of i_xx i_zz, got {self.i_xz:g}')


def load(path: str) -> Airframe:
    """Return the airframe of a YAML file with its fields. Raises OSError and ValueError."""
    names = [field.name for field in fields(Airframe)]
    given = mapping(plain_yaml.load_file(path), path, names)
    try:
        return Airframe(**{
            name: number(given[name], f'{path}: {name}') for name in names})
    except FieldError:
        raise
    except ValueError as error:
        raise ValueError(f'{path}: {error}') from None


def read_airframe(model: Model) -> Airframe:
    """Return the airframe of a simulated aircraft as it is loaded now."""
    return Airframe(**{
        name: model.get(node) * factor for name, (node, factor) in _PROPERTIES.items()})
