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
What an expression measures, by the units of its parameters.

A number in an expression has no unit, and may stand for any: the 2.8 of HDG + 2.8 is in degrees,
the 0.3048 of ALT * 0.3048 turns feet into metres. So what is refused is certain: units that cannot
be added, or a result in another unit than the one that is stated, with no number to convert it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from itertools import product
import math
from typing import Any, NamedTuple

from xplane_bridge.bridges.conversions.expressions.units import named, scale_between, unit_named

# A conversion that people write with three digits, such as 9.81 or 57.3.
_CLOSE = 0.01
_MOST_FACTORS = 256
_SAME = ('abs', 'floor')
_AGREE = {'min': 'compared', 'max': 'compared', 'clip': 'compared', 'hypot': 'added'}
_ANGLES = ('asin', 'acos', 'atan')
_PLAIN = ('sin', 'cos', 'tan')
_UNKNOWN = ('exp', 'log', 'log10')
_TURNED = {'radians': ('deg', 'rad'), 'degrees': ('rad', 'deg')}
RULED = frozenset((*_SAME, *_AGREE, *_ANGLES, *_PLAIN, *_UNKNOWN, *_TURNED, 'atan2', 'sign',
                   'sqrt', 'where'))
"""The functions that are known here."""


class Measure(NamedTuple):
    """
    What a part of an expression measures.

    unit is that of its parameters, None if it is unknown. factors are the products of numbers by
    which they may have been brought to another unit; numbered is whether there are numbers at all.
    number is the value of one that has no parameter in it.
    """

    unit: Any = None
    factors: tuple[float, ...] = (1.0,)
    numbered: bool = False
    number: float | None = None


_ANY = Measure()


def check(tree: ast.expr, symbols: Mapping[str, str], wanted: str) -> None:
    """
    Check an expression of parameters in the units named by ``symbols``, '' for unknown.

    Raises ValueError if parts of it cannot be added or compared, or if the result is not in the
    ``wanted`` unit ('' for any); the text has the factor. Raises ImportError without pint.
    """
    known = {name: Measure(unit_named(symbol)) for name, symbol in symbols.items() if symbol}
    if not known:
        return
    found = _measure(tree, known)
    if found.unit is None or not wanted:
        return
    target = unit_named(wanted)
    scale = scale_between(found.unit, target)
    if scale is not None and not scale.same and 'revolution' in str(found.unit):
        # In pint it is an angle of 2 pi, for people one of something.
        return
    if scale is None:
        if not found.numbered:
            raise ValueError(f'it is in {named(found.unit)}, and {wanted} measures something else')
        return
    if scale.offset:
        raise ValueError(f'it is in {named(found.unit)}, not in {wanted}: '
                         f'{_by(scale.factor, "it", ", and ")}add {scale.offset:g}')
    # A number may turn degrees into a share, or anything.
    if not _close(found.factors, scale.factor) and (scale.same or not found.numbered):
        raise ValueError(f'it is in {_scaled(found)}, not in {wanted}: '
                         f'{_by(scale.factor / found.factors[0], "it")}, or state the unit it has')


def _measure(node: ast.expr, known: Mapping[str, Measure]) -> Measure:
    match node:
        case ast.Constant(value=int() | float() as value):
            return Measure(number=float(value))
        case ast.Name():
            return Measure(number=math.pi) if node.id == 'pi' else known.get(node.id, _ANY)
        case ast.UnaryOp():
            return _measure(node.operand, known)
        case ast.BinOp():
            return _binary(node, known)
        case ast.Compare():
            _agreed((node.left, node.comparators[0]), known, 'compared')
            return _ANY
        case ast.Call():
            assert isinstance(node.func, ast.Name)
            return _called(node.func.id, node.args, known)
    raise AssertionError(f'{ast.dump(node)} is no part of an expression')


def _binary(node: ast.BinOp, known: Mapping[str, Measure]) -> Measure:
    match node.op:
        case ast.Add() | ast.Sub() | ast.Mod():
            return _agreed((node.left, node.right), known, 'added')
        case ast.Pow():
            return _power(_measure(node.left, known), _measure(node.right, known).number)
    left, right = _measure(node.left, known), _measure(node.right, known)
    return _times(left, right if isinstance(node.op, ast.Mult) else _power(right, -1.0))


def _called(name: str, arguments: Sequence[ast.expr], known: Mapping[str, Measure]) -> Measure:
    if name in _AGREE:
        return _agreed(arguments, known, _AGREE[name])
    if name == 'where':
        _measure(arguments[0], known)
        return _agreed(arguments[1:], known, 'compared')
    if name == 'atan2':
        _agreed(arguments, known, 'compared')
        return Measure(unit_named('rad'))
    found = _measure(arguments[0], known)
    if name in _SAME:
        return found
    if name == 'sqrt':
        return _power(found, 0.5)
    if name in _TURNED:
        given, result = _TURNED[name]
        _expect_angle(found, given, f'{name}() takes', ast.unparse(arguments[0]))
        if found.unit is None:
            return _ANY
        # Of a rate or a product likewise.
        return found._replace(unit=found.unit / unit_named(given) * unit_named(result))
    if name in _PLAIN:
        _expect_angle(found, 'rad', f'{name}() takes', ast.unparse(arguments[0]))
    return Measure(unit_named('rad')) if name in _ANGLES else _ANY


def _expect_angle(found: Measure, symbol: str, who: str, text: str) -> None:
    """Refuse degrees where radians are expected, and the other way round."""
    if found.unit is None:
        return
    scale = scale_between(found.unit, unit_named(symbol))
    if scale is not None and scale.same and not _close(found.factors, scale.factor):
        other = ': write radians() around it' if symbol == 'rad' else ''
        raise ValueError(f'{who} {symbol}, and {text} is in {_scaled(found)}{other}')


def _agreed(parts: Sequence[ast.expr], known: Mapping[str, Measure], what: str) -> Measure:
    """Return the measure of parts that have to be in one unit."""
    measures = [_measure(part, known) for part in parts]
    if all(one.number is not None for one in measures):
        return Measure(number=math.nan)
    if any(one.unit is not None and _is_offset(one.unit) for one in measures):
        # A difference of temperatures, or 273.15 more.
        return _ANY
    # A number has the unit of the others.
    both = [(one, part) for one, part in zip(measures, parts, strict=True) if one.unit is not None]
    if not both:
        return _ANY
    (found, first), *others = both
    for one, part in others:
        scale = scale_between(one.unit, found.unit)
        numbered = found.numbered or one.numbered
        if scale is None and not numbered:
            raise ValueError(
                f'{ast.unparse(first)} is in {named(found.unit)}, {ast.unparse(part)} in '
                f'{named(one.unit)}: they cannot be {what}')
        if scale is None:
            return _ANY
        factors = tuple(mine for mine in found.factors if _close(
            one.factors, scale.factor * mine))
        if not factors and (scale.same or not numbered):
            by = scale.factor * found.factors[0] / one.factors[0]
            raise ValueError(
                f'{ast.unparse(first)} is in {_scaled(found)}, {ast.unparse(part)} in '
                f'{_scaled(one)}: {_by(by, ast.unparse(part))}')
        if not factors:
            return _ANY
        found = Measure(found.unit, factors, numbered)
    return found


def _times(left: Measure, right: Measure) -> Measure:
    if left.number is not None and right.number is not None:
        return Measure(number=left.number * right.number)
    for one, other in ((left, right), (right, left)):
        if other.number is not None:
            if one.unit is None or _is_offset(one.unit):
                return _ANY
            by = abs(other.number)
            return Measure(one.unit, _products(one.factors, (1.0, by) if by else (1.0,)), True)
    if left.unit is None or right.unit is None or _is_offset(left.unit) or _is_offset(right.unit):
        return _ANY
    return Measure(left.unit * right.unit, _products(left.factors, right.factors),
                   left.numbered or right.numbered)


def _power(base: Measure, exponent: float | None) -> Measure:
    if exponent is None or not math.isfinite(exponent):
        return _ANY
    if base.number is not None:
        try:
            return Measure(number=float(abs(base.number)**exponent))
        except (OverflowError, ZeroDivisionError):
            return Measure(number=math.nan)
    # Of other roots the exponents of units are no longer exact.
    if base.unit is None or _is_offset(base.unit) or abs(exponent) > 8 or exponent * 2 % 1:
        return _ANY
    return Measure(base.unit**exponent, tuple(each**exponent for each in base.factors),
                   base.numbered)


def _products(one: Sequence[float], other: Sequence[float]) -> tuple[float, ...]:
    found = dict.fromkeys(left * right for left, right in product(one, other))
    return tuple(each for each in found if 0.0 < each < math.inf)[:_MOST_FACTORS]


def _close(factors: Sequence[float], wanted: float) -> bool:
    return any(math.isclose(each, wanted, rel_tol=_CLOSE if each != 1.0 else 1e-6)
               for each in factors)


def _is_offset(unit: Any) -> bool:
    scale = scale_between(unit, (1 * unit).to_root_units().units)
    return scale is not None and bool(scale.offset)


def _scaled(found: Measure) -> str:
    """Return the name of a measure's unit, which a number may have changed for certain."""
    factor = found.factors[0]
    return named(found.unit) if factor == 1.0 else f'{1 / factor:.6g} {named(found.unit)}'


def _by(factor: float, what: str, then: str = '') -> str:
    """Return how to apply a factor, by that or the reciprocal, which has fewer digits."""
    if math.isclose(factor, 1.0, rel_tol=1e-9):
        return ''
    one, other = f'{factor:.6g}', f'{1 / factor:.6g}'
    if len(other) < len(one):
        return f'divide {what} by {other}{then}'
    return f'multiply {what} by {one}{then}'
