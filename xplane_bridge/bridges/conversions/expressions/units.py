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

"""Units as people write them, by pint, as a factor and an offset to the unit of ROS."""

from __future__ import annotations

from functools import lru_cache
import math
import re
from typing import Any, NamedTuple

from xplane_bridge.common.optional import require

_LONGEST = 40
# A number may only be an exponent, or the 1 of 1/s: pint would compute anything else.
_EXPONENT = re.compile(r'(\*\*|\^)\s*-?[1-4](?![\d.])')
_ONE = re.compile(r'^\s*1\s*/')
# In pint g is the gram, and others are missing; in flight test they mean this.
_OWN = {
    'g': 'standard_gravity', 'fpm': 'foot/minute', 'kts': 'knot', 'kn': 'knot',
    'psf': 'force_pound/foot**2', 'pph': 'pound/hour',
}
_NAMED = re.compile(r'\b(' + '|'.join(_OWN) + r')\b')
# How pint abbreviates units, and how people do.
_SYMBOLS = {'g_0': 'g', 'g': 'gram', 'kn': 'kt', '°C': 'degC', '°F': 'degF'}
_SHORT = re.compile(r'\bg_0\b|\bg\b|\bkn\b|°C|°F')
# What a quantity without a name is converted to: these, or else base units.
_PREFERRED = ('Pa', 'N', 'N*m', 'W', 'V')


class UnitConversion(NamedTuple):
    """``value * factor + offset`` is the value in the unit named ``si``."""

    factor: float
    offset: float
    si: str


class Scale(NamedTuple):
    """
    ``value * factor + offset`` is the value in another unit.

    same is whether both measure the same; a share has the dimension of an angle, but is none.
    """

    factor: float
    offset: float
    same: bool


@lru_cache(maxsize=1)
def _registry() -> Any:
    require('the check of units', 'pint', extra='export')
    import pint
    return pint.UnitRegistry()


@lru_cache(maxsize=1000)
def find_unit(text: str, wanted: str = '') -> UnitConversion | None:
    """
    Return how a unit is converted to the ``wanted`` one, or to its SI unit if that is empty.

    None if it measures something else than ``wanted``. Raises ValueError if there is no such unit,
    ImportError without pint.
    """
    if text == wanted:
        return UnitConversion(1.0, 0.0, wanted)
    registry = _registry()
    unit = _parsed(registry, text)
    try:
        target = registry.parse_units(_spelled(wanted)) if wanted else _si(registry, unit)
        # Not the dimension alone: a share has none, and neither has an angle.
        if _root(registry, unit) != _root(registry, target):
            return None
        offset, one, two = (
            float(registry.Quantity(float(n), unit).to(target).magnitude) for n in range(3))
    except (ArithmeticError, ValueError, TypeError, AttributeError, registry_error()) as error:
        raise ValueError(f'unit {text!r} cannot be converted: {error}') from None
    factor = one - offset
    if not factor or not math.isclose(two - offset, 2 * factor, rel_tol=1e-9):
        raise ValueError(f'unit {text!r} is not linear')
    if not offset:
        factor = one
    return UnitConversion(
        factor, offset, wanted or f'{target:~}'.replace('**', '^').replace(' ', ''))


def unit_named(text: str) -> Any:
    """Return a unit of pint. Raises ValueError if there is none, ImportError without pint."""
    return _parsed(_registry(), text)


def named(unit: Any) -> str:
    """Return the name of a unit of pint, as it is written in maps."""
    text = _SHORT.sub(lambda found: _SYMBOLS[found.group()], f'{unit:~}')
    return text.replace('**', '^').replace(' ', '') or '1'


def scale_between(unit: Any, wanted: Any) -> Scale | None:
    """Return how values in one unit of pint become those in another; None if they cannot."""
    registry = _registry()
    try:
        offset, one = (
            float(registry.Quantity(float(n), unit).to(wanted).magnitude) for n in range(2))
    except (ArithmeticError, ValueError, TypeError, AttributeError, registry_error()):
        return None
    # A value of 0 in degC is not computed as exactly 273.15 K less that.
    offset = offset if abs(offset) > 1e-9 else 0.0
    return Scale(one - offset, offset, _root(registry, unit) == _root(registry, wanted))


def registry_error() -> type[Exception]:
    """Return the base of pint's errors."""
    import pint
    return pint.PintError


def _spelled(text: str) -> str:
    return _NAMED.sub(lambda found: f'({_OWN[found.group()]})', text)


def _parsed(registry: Any, text: str) -> Any:
    rest = _ONE.sub('', _EXPONENT.sub('', text))
    if len(text) > _LONGEST or re.search(r'[\d^]|\*\*', rest):
        raise ValueError(f'{text!r} is not a unit')
    try:
        return registry.parse_units(_spelled(text))
    # pint raises whatever its parser meets.
    except Exception:
        raise ValueError(f'{text!r} is not a unit') from None


def _root(registry: Any, unit: Any) -> Any:
    return registry.Quantity(1.0, unit).to_root_units().units


def _si(registry: Any, unit: Any) -> Any:
    root = _root(registry, unit)
    for name in _PREFERRED:
        preferred = registry.parse_units(name)
        if _root(registry, preferred) == root:
            return preferred
    return registry.Quantity(1.0, unit).to_base_units().units
