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

"""The fields of a file: each mistake is an error that says where, expected and found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any, TypeAlias

from xplane_bridge.common.text import abbreviated
from xplane_bridge.common.units import DEGREE

LARGEST = 1e9
"""No flown quantity exceeds it, in any unit."""

LARGEST_SEED = 2 ** 31 - 3
"""The largest random seed; the smallest is 0. So many are told apart by JSBSim's generator."""

DAY = 86_400.0
"""In seconds: nothing that is flown lasts longer."""


class FieldError(ValueError):
    """A value in a file cannot be used; the text says where and why."""


ScenarioError: TypeAlias = FieldError


def si(name: str, value: float) -> float:
    """Return a field's value in SI units: a name that ends in _deg is in degrees."""
    return value * DEGREE if name.endswith('_deg') else value


def mapping(
    value: Any, where: str, required: Sequence[str] = (), optional: Sequence[str] = ()
) -> Mapping[str, Any]:
    """Return the names with their values; FieldError for unknown and missing names."""
    if not isinstance(value, Mapping):
        raise FieldError(f'{where}: expected names with values, got {abbreviated(value)}')
    for name in value:
        if name not in required and name not in optional:
            raise FieldError(
                f'{where}: unknown name {abbreviated(name)}, expected '
                f'{", ".join((*required, *optional))}')
    for name in required:
        if name not in value:
            raise FieldError(f'{where}: {name} is missing')
    return value


def items(value: Any, where: str) -> Sequence[Any]:
    """Return the items of a list; FieldError if it is none."""
    if not isinstance(value, list):
        raise FieldError(f'{where}: expected a list, got {abbreviated(value)}')
    return value


def number(
    value: Any, where: str, above: float = -math.inf, at_least: float = -LARGEST,
    at_most: float = LARGEST,
) -> float:
    """Return a finite number within limits; FieldError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise FieldError(f'{where}: expected a number, got {abbreviated(value)}')
    if not (value > above and at_least <= value <= at_most):
        limit = (f'above {above:g}' if value <= above else
                 f'at least {at_least:g}' if value < at_least else f'at most {at_most:g}')
        raise FieldError(f'{where}: expected {limit}, got {value:g}')
    return float(value)


def boolean(value: Any, where: str) -> bool:
    """Return true or false; FieldError for anything else."""
    if not isinstance(value, bool):
        raise FieldError(f'{where}: expected true or false, got {abbreviated(value)}')
    return value


def choice(value: Any, where: str, known: Sequence[str]) -> str:
    """Return one of the ``known`` names; FieldError for any other."""
    if not isinstance(value, str) or value not in known:
        raise FieldError(f'{where}: expected one of {", ".join(known)}, got {abbreviated(value)}')
    return value


def text(value: Any, where: str) -> str:
    """Return a text of a file."""
    if not isinstance(value, str):
        raise FieldError(f'{where}: expected a name, got {abbreviated(value)}')
    return value
