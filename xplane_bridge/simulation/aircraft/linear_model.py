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
A linear model of an aircraft: dx/dt = A x + B u, y = C x + D u, of deviations from a point.

It is a JSON file between programs: ``linearize`` writes it, ``tune`` and anything else that reads
JSON takes it from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Frequencies = NDArray[np.float64]
Responses = NDArray[np.complex128]

_MATRICES = ('A', 'B', 'C', 'D')
_LISTS = ('states', 'inputs', 'outputs')


RATIO = 'ratio'
"""The unit of an input that is a command: a part of what it can be at most."""


@dataclass(frozen=True, slots=True)
class ModelVariable:
    """A state, input or output: its name, its unit, and its value where the model holds."""

    name: str
    unit: str
    value: float


@dataclass(frozen=True, slots=True)
class LinearModel:
    """
    A linear model of ``model`` at altitude_msl (m) and a calibrated airspeed (m/s).

    ``method`` says where it comes from. SI units and radians; inputs have FlightControls' signs.
    """

    model: str
    method: str
    altitude_msl: float
    airspeed: float
    states: tuple[ModelVariable, ...]
    inputs: tuple[ModelVariable, ...]
    outputs: tuple[ModelVariable, ...]
    a: Array
    b: Array
    c: Array
    d: Array

    def to_json(self) -> str:
        """Return the text of its file."""
        def signals(items: Sequence[ModelVariable]) -> str:
            rows = ',\n  '.join(
                json.dumps({'name': s.name, 'unit': s.unit, 'value': s.value}) for s in items)
            return f'[\n  {rows}]'

        def matrix(rows: Array) -> str:
            return '[\n  ' + ',\n  '.join(json.dumps(row) for row in rows.tolist()) + ']'

        head = {name: getattr(self, name)
                for name in ('model', 'method', 'altitude_msl', 'airspeed')}
        lines = [f'{json.dumps(name)}: {json.dumps(value)}' for name, value in head.items()]
        lines += [f'"{name}": {signals(getattr(self, name))}' for name in _LISTS]
        lines += [f'"{name}": {matrix(getattr(self, name.lower()))}' for name in _MATRICES]
        return '{\n' + ',\n'.join(lines) + '\n}\n'

    def index(self, kind: str, name: str) -> int:
        """Return the index of a state, input or output. Raises ValueError if there is none."""
        names = [signal.name for signal in getattr(self, kind)]
        if name not in names:
            raise ValueError(f'the model has no {name} among its {kind}: {", ".join(names)}')
        return names.index(name)

    def has_input(self, name: str) -> bool:
        """Return whether it has an input of this name."""
        return any(signal.name == name for signal in self.inputs)

    def state(self, name: str) -> float:
        """Return the value of a state where the model holds."""
        return self.states[self.index('states', name)].value

    def responses(self, frequencies: Frequencies, outputs: Sequence[str],
                  inputs: Sequence[str]) -> Responses:
        """Return the frequency responses (rad/s): frequency x output x input."""
        rows = [self.index('outputs', name) for name in outputs]
        columns = [self.index('inputs', name) for name in inputs]
        c, d = self.c[rows], self.d[np.ix_(rows, columns)]
        b, one = self.b[:, columns], np.eye(len(self.states))
        return np.array([
            c @ np.linalg.solve(1j * frequency * one - self.a, b) + d
            for frequency in frequencies])


def from_json(text: str) -> LinearModel:
    """Return the model in the text of a file. Raises ValueError, saying what is wrong."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ValueError(f'it is not JSON: {error}') from None
    if not isinstance(content, Mapping):
        raise ValueError('it is not a linear model: expected names with values')
    if 'altitude' in content:
        raise ValueError('it is of an earlier release, which said altitude where it is now '
                         'altitude_msl: make it again with the command linearize')
    missing = [name for name in ('model', 'altitude_msl', 'airspeed', *_LISTS, *_MATRICES)
               if name not in content]
    if missing:
        raise ValueError(f'it is not a linear model: {", ".join(missing)} missing')
    try:
        signals = [tuple(_signal(item) for item in content[name]) for name in _LISTS]
        matrices = [np.array(content[name], dtype=np.float64) for name in _MATRICES]
        altitude_msl, airspeed = float(content['altitude_msl']), float(content['airspeed'])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f'it is not a linear model: {error!r}') from None
    states, inputs, outputs = map(len, signals)
    for name, matrix, shape in zip(_MATRICES, matrices, (
            (states, states), (states, inputs), (outputs, states), (outputs, inputs)),
            strict=True):
        if matrix.shape != shape or not np.isfinite(matrix).all():
            raise ValueError(
                f'{name} must be {shape[0]} x {shape[1]} finite numbers, by the lists of signals')
    return LinearModel(
        str(content['model']), str(content.get('method', '')), altitude_msl, airspeed, signals[0],
        signals[1], signals[2], *matrices)


def _signal(item: Mapping[str, Any]) -> ModelVariable:
    value = float(item['value'])
    if not math.isfinite(value):
        raise ValueError(f'the value of {item["name"]} is {value}')
    return ModelVariable(str(item['name']), str(item['unit']), value)
