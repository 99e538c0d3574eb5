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
A policy as an ONNX graph: its formula, evaluated with nodes instead of numbers.

Inputs ``observation`` [1, n] and ``state`` [1, m], outputs ``action`` [1, k] and ``next_state``
[1, m], all float32; a state of 0 starts it. ``metadata_props`` has ``fields`` (JSON) and
``level``: docs/reference/policies.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import json
from typing import Any

import numpy as np

from xplane_bridge.common import optional
from xplane_bridge.laboratory.episodes.training import holding

try:
    import onnx
    from onnx import helper, numpy_helper
except ImportError:
    pass

# What onnxruntime 1.17 reads.
_OPSET, _IR_VERSION = 17, 8


@dataclass(frozen=True, slots=True)
class Node:
    """A value of the graph, by its name; sums and products of them are nodes again."""

    graph: Graph
    name: str

    def __add__(self, other: Any) -> Node:
        return self.graph.add('Add', self, other)

    def __radd__(self, other: Any) -> Node:
        return self.graph.add('Add', other, self)

    def __sub__(self, other: Any) -> Node:
        return self.graph.add('Sub', self, other)

    def __rsub__(self, other: Any) -> Node:
        return self.graph.add('Sub', other, self)

    def __mul__(self, other: Any) -> Node:
        return self.graph.add('Mul', self, other)

    def __rmul__(self, other: Any) -> Node:
        return self.graph.add('Mul', other, self)

    def __neg__(self) -> Node:
        return self.graph.add('Neg', self)


class Graph:
    """The nodes of a graph, as the policy's arithmetic; each value is of shape [1, 1]."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def add(self, operator: str, *values: Any, **attributes: Any) -> Node:
        """Return the node of an operator of ONNX with these inputs, numbers or nodes."""
        name = f'{operator.lower()}_{len(self.nodes)}'
        self.nodes.append(helper.make_node(
            operator, [self.name_of(value) for value in values], [name], **attributes))
        return Node(self, name)

    def name_of(self, value: Any) -> str:
        """Return the name of a node, or of a constant: a number, or an array."""
        if isinstance(value, Node):
            return value.name
        array = (np.full((1, 1), value, np.float32) if isinstance(value, int | float)
                 else np.asarray(value))
        key = f'{array.dtype}_{"x".join(map(str, array.shape))}_{array.tobytes().hex()}'
        known = self.constants.setdefault(key, numpy_helper.from_array(
            array, f'constant_{len(self.constants)}'))
        return str(known.name)

    def split(self, name: str, size: int) -> list[Node]:
        """Return the columns of an input of shape [1, size]."""
        names = [f'{name}_{column}' for column in range(size)]
        self.nodes.append(helper.make_node(
            'Split', [name, self.name_of(np.ones(size, np.int64))], names, axis=1))
        return [Node(self, column) for column in names]

    def output(self, name: str, values: Sequence[Any]) -> None:
        """Join values to an output of shape [1, number of values]."""
        self.nodes.append(helper.make_node(
            'Concat', [self.name_of(value) for value in values], [name], axis=1))

    def model(self, name: str, fields: Sequence[str], level: str, actions: int,
              states: int = 0) -> Any:
        """
        Return a policy, checked, as an onnx.ModelProto.

        Its input is ``observation``, the ``fields`` in their order, its output ``action``; if
        there are ``states``, also ``state`` and ``next_state``.
        """
        inputs, outputs = {'observation': len(fields)}, {'action': actions}
        if states:
            inputs['state'] = outputs['next_state'] = states
        given, made = ([helper.make_tensor_value_info(value, onnx.TensorProto.FLOAT, [1, size])
                        for value, size in sizes.items()] for sizes in (inputs, outputs))
        model = helper.make_model(
            helper.make_graph(self.nodes, name, given, made, list(self.constants.values())),
            producer_name='xplane_bridge', ir_version=_IR_VERSION,
            opset_imports=[helper.make_opsetid('', _OPSET)])
        helper.set_model_props(model, {'fields': json.dumps(list(fields)), 'level': level})
        onnx.checker.check_model(model, full_check=True)
        return model

    # The arithmetic.

    def sine(self, angle: Node) -> Node:
        """Return the sine of an angle in rad."""
        return self.add('Sin', angle)

    def cosine(self, angle: Node) -> Node:
        """Return the cosine of an angle in rad."""
        return self.add('Cos', angle)

    def limited(self, value: Node, low: float, high: float) -> Node:
        """Return a value within limits."""
        return self.add('Clip', value, np.array(low, np.float32), np.array(high, np.float32))

    def within(self, value: Node, most: float) -> Node:
        """Return a value, or 0 if its size is above ``most``."""
        return self.choice(self.add('Sub', self.add('Abs', value), most), 0.0, value)

    def choice(self, value: Node, positive: Any, otherwise: Any) -> Node:
        """Return what belongs to a value above 0, or to another one."""
        return self.add('Where', self.add('Greater', value, 0.0), positive, otherwise)

    def total(self, values: Sequence[Any], weights: Sequence[float]) -> Node:
        """Return the weighted sum of values."""
        joined = self.add('Concat', *values, axis=1)
        return self.add('MatMul', joined, np.array(weights, np.float32).reshape(-1, 1))


def to_model(policy: holding.Holding) -> Any:
    """Return the policy as an onnx.ModelProto; ImportError with a sentence without onnx."""
    optional.require('writing a policy', 'onnx', extra='train')
    graph = Graph()
    observation = graph.split('observation', len(holding.FIELDS))
    state = graph.split('state', len(holding.STATE))
    action, after = holding.step(
        graph, observation, state, policy.weights, policy.shares, policy.limits)
    graph.output('action', action)
    graph.output('next_state', after)
    return graph.model('holding', policy.fields, policy.level, len(action), len(after))
