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
Which fields of a message are set: the bits of its mask ``fields``.

ROS initialises unset fields with 0, and 0 is a value: level surfaces, a closed throttle, the
equator. So a command states which of its fields are set, and one that sets nothing is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
import math
from typing import Any


def _is_finite_array(values: Sequence[float]) -> bool:
    return all(map(math.isfinite, values))


def _choose_check(kind: str) -> Callable[[Any], bool] | None:
    """Return the finiteness check for a field of this type; None if it is always finite."""
    if kind.startswith('sequence<'):
        return _is_finite_array if kind.startswith(('sequence<double', 'sequence<float')) else None
    if not kind.startswith(('double', 'float')):
        return None
    return _is_finite_array if '[' in kind else math.isfinite


class Mask:
    """
    The mask of one kind of message, read from its definition once.

    By default a bit is a constant with the name of a field in capitals. ``bits`` names the
    constants if one stands for several fields, or if only some of them apply.
    ``needs`` is the bit that every command must set.
    """

    def __init__(
        self, kind: type[Any], bits: Mapping[str, Sequence[str]] | None = None, needs: str = '',
    ) -> None:
        types = kind.get_fields_and_field_types()
        if bits is None:
            bits = {name.upper(): (name,) for name in types if hasattr(kind, name.upper())}
        self._bits: dict[str, int] = {name: getattr(kind, name) for name in bits}
        self._covered = {name: tuple(covered) for name, covered in bits.items()}
        self._single = tuple(
            (covered[0], self._bits[name]) for name, covered in self._covered.items()
            if len(covered) == 1)
        self._needs = needs
        self._checks = {
            name: _choose_check(types[name]) for covered in bits.values() for name in covered}
        self._resolved: dict[int, tuple[tuple[str, Callable[[Any], bool] | None], ...]] = {}

    def given(self, message: Any) -> dict[str, Any]:
        """
        Return the fields of a command that are set, by name; the others are ignored.

        Raises ValueError if none is set, if a bit is undefined, if a required one is missing, or
        if a field that is set is not finite.
        """
        fields = self._resolved.get(message.fields)
        if fields is None:
            fields = self._resolve(message.fields)
        values = {}
        for name, is_finite in fields:
            values[name] = value = getattr(message, name)
            if is_finite is not None and not is_finite(value):
                raise ValueError(
                    f'{name} is {value}, but fields says that it is set; leave its bit out to '
                    'leave it as it is')
        return values

    def sum_of(self, names: Container[str]) -> int:
        """Return the mask of these fields."""
        return sum(bit for name, bit in self._single if name in names)

    def names_of(self, fields: int) -> list[str]:
        """Return the fields of a mask, by name."""
        return [name for name, bit in self._single if fields & bit]

    def is_defined(self, fields: int) -> bool:
        """Return whether all bits of a mask have a meaning."""
        return not fields & ~sum(self._bits.values())

    def known(self, message: Any) -> dict[str, Any]:
        """Return the fields of a report that are known, by name."""
        fields = message.fields
        return {name: getattr(message, name) for name, bit in self._single if fields & bit}

    def fill(self, message: Any, values: Mapping[str, float | None]) -> None:
        """Set numbers and their bits; values that are missing, None or NaN become NaN."""
        fields = 0
        for name, bit in self._single:
            value = values.get(name)
            if value is None or value != value:
                setattr(message, name, math.nan)
            else:
                setattr(message, name, value)
                fields |= bit
        message.fields = fields

    def _resolve(self, fields: int) -> tuple[tuple[str, Callable[[Any], bool] | None], ...]:
        """Return the names and checks for a mask, and cache them."""
        if not fields:
            raise ValueError(
                f'fields is 0, so nothing is set: add {self._list()} for what you set')
        if not self.is_defined(fields):
            unknown = fields & ~sum(self._bits.values())
            raise ValueError(
                f'fields is {fields}, but {unknown} is not defined here: add {self._list()}')
        if self._needs and not fields & self._bits[self._needs]:
            raise ValueError(
                f'fields is {fields}, but nothing can be done without {self._needs} '
                f'({self._bits[self._needs]})')
        self._resolved[fields] = found = tuple(
            (name, self._checks[name])
            for constant, bit in self._bits.items() if fields & bit
            for name in self._covered[constant])
        return found

    def _list(self) -> str:
        return ', '.join(f'{name} ({bit})' for name, bit in self._bits.items())


def known_or_nan(message: Any, name: str) -> float:
    """
    Return a number of a message if its mask says that it is set, otherwise NaN.

    Accepts messages of rclpy and rosbags, and those of recordings older than the mask, which
    used NaN alone.
    """
    value: float = getattr(message, name)
    fields = getattr(message, 'fields', None)
    if fields is None or fields & getattr(message, name.upper()):
        return value
    return math.nan
