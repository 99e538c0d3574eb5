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
The fields of what people write: each is declared once, and read with a sentence for each mistake.

A field has a name, a unit, bounds, a default, and a sentence that says what it is::

    @dataclass(frozen=True, slots=True)
    class Midair:
        radius: float = declared(10.0, 'nearer than this two have met', unit='m', above=0.0)
        ends: bool = declared(True, 'whether that ends the flight')

    read(Midair, {'radius': 5}, 'midair')

Files are read so. Parameters of nodes are declared by ``parameter()``, which adds what only they
have; fields of messages have a wire form. All three refuse a value in the same words, which say
where, expected and got. The tables of docs/reference are made of the declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, Field, field, fields, is_dataclass, MISSING, replace
from functools import cache
import math
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints, TypeAlias, TypeVar

from xplane_bridge.common.text import abbreviated, did_you_mean
from xplane_bridge.common.units import DEGREE

LARGEST = 1e9
"""No flown quantity exceeds it, in any unit."""

LARGEST_SEED = 2 ** 31 - 3
"""The largest random seed; the smallest is 0. So many are told apart by JSBSim's generator."""

DAY = 86_400.0
"""In seconds: nothing that is flown lasts longer."""

REQUIRED = MISSING
"""The default of a field that has to be there."""

_DECLARATION = 'declaration'
# Of a name that is looked for among others.
_LONGEST_NAME = 100


class FieldError(ValueError):
    """A field has a value that cannot be used; the text says where, expected and got."""


@contextmanager
def in_file(where: str, error: type[ValueError] = FieldError) -> Iterator[None]:
    """Put a file, or what else is around a field, before what is said of it, as an ``error``."""
    try:
        yield
    except FieldError as mistake:
        raise error(f'{where}: {mistake}') from None


Reader: TypeAlias = Callable[[Any, str], Any]
"""Reads a value that is there, and says where that is if it is refused."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """
    What is declared of a field.

    ``meaning`` goes on after its name, as in "the largest velocity". ``kind`` is its type: a
    number, truth value or text, a dataclass, or a tuple of these. Numbers are ``above`` a bound,
    or at least ``low``, and at most ``high``. ``name`` is that in a file, if it differs from the
    attribute's: one that ends in _deg, while the attribute's does not, is in degrees there, and
    in radians here. What is none of these kinds is read by ``reader``, with its value and where it
    is, and written as ``form`` says.
    """

    default: Any
    meaning: str
    kind: Any = float
    unit: str = ''
    low: float | None = None
    high: float | None = None
    above: float | None = None
    choices: tuple[str, ...] = ()
    name: str = ''
    form: str = ''
    reader: Reader | None = None

    @property
    def allowed(self) -> str:
        """Return which values it may have in words, '' for any."""
        if self.choices:
            return f'one of {", ".join(self.choices)}'
        return self.form or limits(self.low, self.high, self.above)

    def check(self, value: Any, where: str) -> Any:
        """Return a value of a file as its attribute has it. Raises FieldError."""
        return _checked(self, self.kind, value, where)


def declared(
    default: Any, meaning: str, *, unit: str = '', low: float | None = None,
    high: float | None = None, above: float | None = None, choices: Sequence[str] = (),
    name: str = '', form: str = '', reader: Reader | None = None,
) -> Any:
    """Declare a field of a dataclass, whose type it has: see Declaration."""
    return as_field(Declaration(
        default, meaning, None, unit, low, high, above, tuple(choices), name, form, reader))


def as_field(declaration: Declaration, **more: Any) -> Any:
    """Return the field of a dataclass for a declaration, with more that is said of it."""
    return field(default=declaration.default, metadata={_DECLARATION: declaration, **more})


def declaration_of(item: Field[Any]) -> Declaration:
    """Return what is declared of a field of a dataclass."""
    found: Declaration = item.metadata[_DECLARATION]
    return found


def name_of(item: Field[Any]) -> str:
    """Return the name of a declared field as people write it."""
    return declaration_of(item).name or item.name


Table: TypeAlias = Mapping[str, Declaration]
"""Declarations by the names of attributes."""

Kind = TypeVar('Kind')


def table_of(kind: type[Any]) -> Table:
    """Return the declared fields of a dataclass, each with its type."""
    return _table_of(kind)  # type: ignore[arg-type]


@cache
def _table_of(kind: Any) -> Table:
    hints = get_type_hints(kind)
    return {item.name: _typed(declaration_of(item), hints[item.name])
            for item in fields(kind) if _DECLARATION in item.metadata}


def _typed(one: Declaration, kind: Any) -> Declaration:
    # An optional one is either there, or it is not.
    present = [part for part in get_args(kind) if part is not NoneType]
    if get_origin(kind) is not tuple and len(present) == 1:
        kind = present[0]
    return replace(one, kind=kind)


def read(kind: type[Kind], content: Any, where: str = '', **given: Any) -> Kind:
    """
    Return the dataclass of a file's section, with what is ``given`` in place of its file.

    ``where`` is empty for the file itself. Raises FieldError, also for what the dataclass says is
    wrong when it is made.
    """
    values = read_table(table_of(kind), content, where)
    try:
        return kind(**given, **values)
    except FieldError:
        raise
    except ValueError as error:
        raise FieldError(f'{where}: {error}' if where else str(error)) from None


def read_table(table: Table, content: Any, where: str = '') -> dict[str, Any]:
    """
    Return the values that are there, by the names of attributes.

    Raises FieldError for an unknown or missing name, and for a value that is refused.
    """
    by_name = {one.name or attribute: attribute for attribute, one in table.items()}
    required = [name for name, attribute in by_name.items()
                if table[attribute].default is REQUIRED]
    found = {}
    for name, value in mapping(content, where or 'the file', required, by_name).items():
        attribute = by_name[name]
        value = table[attribute].check(value, f'{where}.{name}' if where else name)
        is_turned = name.endswith('_deg') and not attribute.endswith('_deg')
        found[attribute] = value * DEGREE if is_turned else value
    return found


def as_it_is(value: Any, where: str) -> Any:
    """Return a value that is read later: the reader of what needs more than itself."""
    return value


def _checked(one: Declaration, kind: Any, value: Any, where: str) -> Any:
    if one.reader is not None:
        return one.reader(value, where)
    if kind is float:
        return number(value, where, one.low, one.high, one.above, one.unit)
    if kind is int:
        return whole(value, where, one.low, one.high, one.unit)
    if kind is bool:
        return boolean(value, where)
    if kind is str:
        return choice(value, where, one.choices) if one.choices else text(value, where)
    if is_dataclass(kind) and isinstance(kind, type):
        # An empty section has all defaults, if it may be missing.
        return read(kind, {} if value is None and one.default is not REQUIRED else value, where)
    parts = get_args(kind)
    if parts[1:] == (...,):
        return tuple(_checked(one, parts[0], item, f'{where}[{n}]')
                     for n, item in enumerate(items(value, where)))
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != len(parts):
        raise FieldError(
            f'{where}: expected {one.form or f"a list of {len(parts)}"}, got {abbreviated(value)}')
    return tuple(_checked(one, part, item, f'{where}[{n}]')
                 for n, (part, item) in enumerate(zip(parts, value, strict=True)))


# The words of each mistake.

def wrong_kind(where: str, expected: str, value: Any) -> str:
    """Return the sentence about a value of another kind than expected."""
    return f'{where}: expected {expected}, got {abbreviated(value)}'


def out_of_limits(
    where: str, value: float, low: float | None, high: float | None, above: float | None = None,
    unit: str = '',
) -> str:
    """Return the sentence about a number that is none, or out of its limits."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'{where}: expected a finite number, got {value}'
    expected = limits(low, high, above) + (f' {unit}' if unit else '')
    return f'{where}: expected {expected}, got {shown(value)}'


def limits(low: float | None, high: float | None, above: float | None = None) -> str:
    """Return the limits of a number in words, such as "0 to 1"; '' for none."""
    if low is not None and high is not None:
        return f'{shown(low)} to {shown(high)}'
    return ' and '.join(
        f'{word} {shown(bound)}' for word, bound in (
            ('above', above), ('at least', low), ('at most', high)) if bound is not None)


def shown(value: float) -> str:
    """Return a number with as many digits as it has, and no more."""
    if isinstance(value, int):
        return abbreviated(int(value))
    short = f'{value:g}'
    # Of what is so large, nobody counts the digits.
    return short if float(short) == value or abs(value) >= 1e15 else f'{value:.10g}'


# The checks.

def mapping(
    value: Any, where: str, required: Collection[str] = (), optional: Collection[str] = ()
) -> Mapping[str, Any]:
    """Return the names with their values; FieldError for unknown and missing names."""
    if not isinstance(value, Mapping):
        raise FieldError(wrong_kind(where, 'names with values', value))
    for name in value:
        if name not in optional and name not in required:
            # Those that are required come first, and each once.
            known = tuple(dict.fromkeys((*required, *optional)))
            near = did_you_mean(name, known) if isinstance(name, str) and (
                len(name) <= _LONGEST_NAME) else ''
            raise FieldError(f'{where}: unknown name {abbreviated(name)}, expected '
                             f'{", ".join(known)}{near}')
    for name in required:
        if name not in value:
            raise FieldError(f'{where}: {name} is missing')
    return value


def items(value: Any, where: str) -> Sequence[Any]:
    """Return the items of a list; FieldError if it is none."""
    if not isinstance(value, list):
        raise FieldError(wrong_kind(where, 'a list', value))
    return value


def number(
    value: Any, where: str, low: float | None = None, high: float | None = None,
    above: float | None = None, unit: str = '', largest: float = LARGEST,
) -> float:
    """Return a finite number within limits, and within the ``largest``; FieldError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError(wrong_kind(where, 'a number', value))
    if not (abs(value) <= largest and is_within(value, low, high, above)):
        # Of what has no other bound, the one that nothing exceeds.
        bound = abs(value) > largest
        raise FieldError(out_of_limits(
            where, value, -largest if bound and low is None and above is None else low,
            largest if bound and high is None else high, above, unit))
    return float(value)


def whole(
    value: Any, where: str, low: float | None = None, high: float | None = None, unit: str = '',
) -> int:
    """Return a whole number within limits; FieldError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(wrong_kind(where, 'a whole number', value))
    if not is_within(value, low, high):
        raise FieldError(out_of_limits(where, value, low, high, unit=unit))
    return value


def is_within(
    value: float, low: float | None, high: float | None, above: float | None = None
) -> bool:
    """Return whether a number is within the limits that there are; NaN is not."""
    return value == value and (low is None or value >= low) and (
        high is None or value <= high) and (above is None or value > above)


def boolean(value: Any, where: str) -> bool:
    """Return true or false; FieldError for anything else."""
    if not isinstance(value, bool):
        raise FieldError(wrong_kind(where, 'true or false', value))
    return value


def choice(value: Any, where: str, known: Sequence[str]) -> str:
    """Return one of the ``known`` names; FieldError for any other."""
    if not isinstance(value, str) or value not in known:
        raise FieldError(wrong_kind(where, f'one of {", ".join(known)}', value))
    return value


def text(value: Any, where: str) -> str:
    """Return a text; FieldError for anything else."""
    if not isinstance(value, str):
        raise FieldError(wrong_kind(where, 'a text', value))
    return value
