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

"""Expressions over parameters: arithmetic and a few functions on arrays, nothing else."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
import operator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
_Evaluate: TypeAlias = Callable[[Mapping[str, Array]], Any]

_LONGEST = 500
_MOST_NODES = 200

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide,
    ast.Pow: np.power, ast.Mod: np.mod,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}
# By name: the function, and how many values it takes.
_FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    **{name: (getattr(np, name), 1) for name in (
        'sqrt', 'exp', 'log', 'log10', 'sin', 'cos', 'tan', 'abs', 'sign', 'floor', 'radians',
        'degrees')},
    'asin': (np.arcsin, 1), 'acos': (np.arccos, 1), 'atan': (np.arctan, 1),
    'atan2': (np.arctan2, 2), 'hypot': (np.hypot, 2),
    'min': (np.minimum, 2), 'max': (np.maximum, 2),
    'clip': (np.clip, 3), 'where': (np.where, 3),
}
_CONSTANTS = {'pi': np.pi}
FUNCTIONS = tuple(sorted(_FUNCTIONS))


class Expression:
    """
    A parsed expression; ``names`` are the parameters in it, in order of appearance.

    ``tree`` has only what can be evaluated. Raises ValueError, which says what is not understood.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: tuple[str, ...] = ()
        if len(text) > _LONGEST:
            raise ValueError(f'expected at most {_LONGEST} characters, got {len(text)}')
        try:
            tree = ast.parse(text.strip(), mode='eval')
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error)
            raise ValueError(f'{text!r} is not an expression: {reason}') from None
        if sum(1 for _ in ast.walk(tree)) > _MOST_NODES:
            raise ValueError('it is too long: split it into several')
        self.tree = tree.body
        self._evaluate = self._compiled(tree.body)
        if not self.names:
            raise ValueError(f'{text!r} has no parameter in it')

    def __call__(self, values: Mapping[str, Array]) -> Array:
        """Return the results for arrays of values, one for each name, all of one length."""
        with np.errstate(all='ignore'):
            result = np.asarray(self._evaluate(values), np.float64)
        return np.broadcast_to(result, values[self.names[0]].shape)

    def _compiled(self, node: ast.expr) -> _Evaluate:
        """Return a function that evaluates a node; nothing but what is listed here passes."""
        if isinstance(node, ast.Constant) and not isinstance(node.value, bool) and isinstance(
                node.value, int | float):
            number = np.float64(_number(node.value))
            return lambda values: number
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            operand = self._compiled(node.operand)
            if isinstance(node.op, ast.UAdd):
                return operand
            return lambda values: -operand(values)
        if isinstance(node, ast.BinOp) and (binary := _BINARY.get(type(node.op))):
            return _applied(binary, self._compiled(node.left), self._compiled(node.right))
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and (
                comparison := _COMPARISONS.get(type(node.ops[0]))):
            return _applied(
                _as_number(comparison), self._compiled(node.left),
                self._compiled(node.comparators[0]))
        if isinstance(node, ast.Call):
            return self._called(node)
        raise ValueError(
            f'{ast.unparse(node)!r} is not supported: numbers, parameters, + - * / % **, one '
            'comparison at a time, and functions are')

    def _named(self, name: str) -> _Evaluate:
        if name in _CONSTANTS:
            constant = np.float64(_CONSTANTS[name])
            return lambda values: constant
        self.names += (name,) * (name not in self.names)
        return lambda values: values[name]

    def _called(self, node: ast.Call) -> _Evaluate:
        known = _FUNCTIONS.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if known is None:
            raise ValueError(f'there is no function {ast.unparse(node.func)!r}, expected one of '
                             f'{", ".join(FUNCTIONS)}')
        function, count = known
        if len(node.args) != count or node.keywords:
            raise ValueError(f'{ast.unparse(node)!r}: expected {count} '
                             f'value{"s" * (count > 1)}')
        return _applied(function, *map(self._compiled, node.args))


def _applied(function: Callable[..., Any], *operands: _Evaluate) -> _Evaluate:
    return lambda values: function(*[operand(values) for operand in operands])


def _as_number(comparison: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    # NumPy refuses to negate and to subtract truth values.
    return lambda left, right: np.multiply(comparison(left, right), 1.0)


def _number(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f'a number of {len(str(value))} digits is too large') from None
