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
Policies in ONNX files, run by onnxruntime.

Inputs are ``observation`` (float32, [1, n]) and, if the policy remembers, ``state`` (float32,
[1, m], zeros at each start); outputs are ``action`` ([1, k]) and ``next_state`` ([1, m]). The
file's metadata may have ``fields``, a JSON list of the observation's fields (default: all), and
``level`` (default: controls).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.optional import require
from xplane_bridge.laboratory.control.policy.action import CONTROLS, LEVELS
from xplane_bridge.laboratory.control.policy.observation import NAMES, Vector

_OBSERVATION, _STATE, _ACTION, _NEXT_STATE = 'observation', 'state', 'action', 'next_state'
_FLOAT = 'tensor(float)'


class OnnxPolicy:
    """A policy in an ONNX file: see control.policy."""

    def __init__(self, path: str | Path) -> None:
        """Load it; ImportError without onnxruntime, ValueError for a file that is no policy."""
        self._session = _session(Path(path))
        metadata = self._session.get_modelmeta().custom_metadata_map
        self.level = metadata.get('level', CONTROLS.level)
        self.fields = _fields(metadata.get('fields'))
        inputs = _shapes(self._session.get_inputs(), (_OBSERVATION, _STATE))
        outputs = _shapes(self._session.get_outputs(), (_ACTION, _NEXT_STATE))
        _check_width(_OBSERVATION, inputs, len(self.fields), 'fields')
        if self.level in LEVELS:
            _check_width(
                _ACTION, outputs, len(LEVELS[self.level].fields), f'fields at level {self.level}')
        if (_STATE in inputs) != (_NEXT_STATE in outputs):
            raise ValueError(f'it has one of {_STATE} and {_NEXT_STATE}: expected both or none')
        self._memory: NDArray[np.float32] | None = None
        if _STATE in inputs:
            width = inputs[_STATE][1]
            if not isinstance(width, int):
                raise ValueError(f'its {_STATE} has no fixed width')
            _check_width(_NEXT_STATE, outputs, width, f'numbers of {_STATE}')
            self._memory = np.zeros((1, width), dtype=np.float32)
        self._outputs = [_ACTION, *([] if self._memory is None else [_NEXT_STATE])]
        self._try()

    def reset(self) -> None:
        """Forget what it remembers."""
        if self._memory is not None:
            self._memory = np.zeros_like(self._memory)

    def __call__(self, observation: Vector) -> NDArray[np.float32]:
        """Return the action for an observation of its fields."""
        inputs = {_OBSERVATION: observation.astype(np.float32)[np.newaxis]}
        if self._memory is not None:
            inputs[_STATE] = self._memory
        found = self._session.run(self._outputs, inputs)
        if self._memory is not None:
            if found[1].shape != self._memory.shape:
                raise ValueError(
                    f'its {_NEXT_STATE} has shape {found[1].shape}, expected '
                    f'{self._memory.shape}')
            self._memory = found[1]
        action: NDArray[np.float32] = found[0]
        if action.ndim != 2 or len(action) != 1:
            raise ValueError(f'its {_ACTION} has shape {action.shape}, expected (1, k)')
        numbers: NDArray[np.float32] = action[0]
        return numbers

    def _try(self) -> None:
        """Run it once, as some of what is wrong shows only then."""
        try:
            action = self(np.zeros(len(self.fields)))
        except Exception as error:
            raise ValueError(f'it cannot be run: {error}') from error
        if self.level in LEVELS:
            LEVELS[self.level].check_shape(action)
        self.reset()


def _session(path: Path) -> Any:
    require('a policy in an ONNX file', 'onnxruntime', extra='campaign')
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Equal numbers on each run, and none of the processor that the simulation needs.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    # It would print what it also raises.
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(
            str(path), options, providers=['CPUExecutionProvider'])
    except Exception as error:
        raise ValueError(f'{path} cannot be loaded by onnxruntime: {error}') from error


def _fields(text: str | None) -> list[str]:
    if text is None:
        return list(NAMES)
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ValueError(f'its metadata fields are {text[:80]!r}: expected a JSON list of names')
    return found


def _shapes(nodes: Any, names: tuple[str, str]) -> dict[str, tuple[Any, ...]]:
    """Return the shapes by name; ValueError unless the first is there and all are [1, n]."""
    found = {}
    for node in nodes:
        if node.name not in names:
            raise ValueError(
                f'it has {node.name!r}: expected {names[0]} and perhaps {names[1]}')
        if node.type != _FLOAT or len(node.shape) != 2 or (
                isinstance(node.shape[0], int) and node.shape[0] != 1):
            raise ValueError(
                f'its {node.name} is a {node.type} of shape {node.shape}: expected float32 of '
                'shape [1, n]')
        found[node.name] = tuple(node.shape)
    if names[0] not in found:
        raise ValueError(f'it has no {names[0]}')
    return found


def _check_width(name: str, shapes: dict[str, tuple[Any, ...]], width: int, what: str) -> None:
    """Raise ValueError if the last dimension is known and another one."""
    found = shapes[name][1]
    if isinstance(found, int) and found != width:
        raise ValueError(f'its {name} has {found} numbers, but there are {width} {what}')
