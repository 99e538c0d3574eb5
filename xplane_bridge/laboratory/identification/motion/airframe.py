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

from dataclasses import dataclass
from typing import Any

from xplane_bridge.common import plain_yaml
from xplane_bridge.common.fields import declared, in_file, read, REQUIRED, table_of
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


def _positive(meaning: str, unit: str) -> Any:
    return declared(REQUIRED, meaning, unit=unit, above=0.0)


@dataclass(frozen=True, slots=True)
class Airframe:
    """Mass, moments of inertia in body axes, and reference sizes."""

    mass: float = _positive('of the whole aircraft', 'kg')
    i_xx: float = _positive('moment of inertia in roll', 'kg m²')
    i_yy: float = _positive('moment of inertia in pitch', 'kg m²')
    i_zz: float = _positive('moment of inertia in yaw', 'kg m²')
    i_xz: float = declared(REQUIRED, 'product of inertia, the integral of x z dm', unit='kg m²')
    wing_area: float = _positive('of reference', 'm²')
    wing_span: float = _positive('of reference', 'm')
    chord: float = _positive('of reference, mean aerodynamic', 'm')
    angular_momentum: float = declared(
        0.0, 'of engines and propellers about the forward axis, + is clockwise from behind',
        unit='kg m²/s')

    def length(self, rate: str) -> float:
        """Return the length (m) by which an angular rate is reduced."""
        return self.chord if rate == 'pitch_rate' else self.wing_span

    def __post_init__(self) -> None:
        """Raise ValueError for what no body has."""
        for name, one in table_of(Airframe).items():
            one.check(getattr(self, name), name)
        if self.i_xz ** 2 >= self.i_xx * self.i_zz:
            raise ValueError(f'i_xz: expected less than the root of i_xx i_zz, got {self.i_xz:g}')


def load(path: str) -> Airframe:
    """Return the airframe of a YAML file with its fields. Raises OSError and ValueError."""
    content = plain_yaml.load_file(path)
    with in_file(path):
        return read(Airframe, content)


def read_airframe(model: Model) -> Airframe:
    """Return the airframe of a simulated aircraft as it is loaded now, as if no engine ran."""
    return Airframe(**{
        name: model.get(node) * factor for name, (node, factor) in _PROPERTIES.items()})
