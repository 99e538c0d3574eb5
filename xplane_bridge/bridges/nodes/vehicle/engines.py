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

"""Controls of each engine: command/engines, validated, and the report engines."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection
from typing import Any

from xplane_bridge.bridges.conversions.masks import Mask
from xplane_bridge.bridges.conversions.vehicle import EngineControls
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.vehicle.templates import Template
from xplane_bridge.msg import EngineControls as EngineMessage

ENGINE_CONTROLS = EngineControls.__slots__
ENGINES_MASK = Mask(EngineMessage)
_BITS = {name: ENGINES_MASK.sum_of((name,)) for name in ENGINE_CONTROLS}
_ALL_BITS = ENGINES_MASK.sum_of(ENGINE_CONTROLS)

# X-Plane 12 has the most.
MOST_ENGINES = 16


def checked_engines(message: EngineMessage, *, clamp: bool = False) -> EngineControls:
    """
    Return a command as values, None for those not set.

    Raises ValueError for an invalid mask, for arrays of different sizes or without a value, and
    for a value that is not in 0..1, unless ``clamp``.
    """
    given: dict[str, tuple[float, ...]] = {
        name: tuple(values) for name, values in ENGINES_MASK.given(message).items()}
    for name, values in given.items():
        if not 1 <= len(values) <= MOST_ENGINES:
            raise ValueError(
                f'{name} has {len(values)} values; give one for all engines, or one for each '
                f'(at most {MOST_ENGINES})')
        if clamp:
            given[name] = tuple(min(max(value, 0.0), 1.0) for value in values)
            continue
        for value in values:
            if not 0.0 <= value <= 1.0:
                raise ValueError(f'{name} {value:g} is not in 0 .. 1')
    if len({len(values) for values in given.values()} - {1}) > 1:
        sizes = ', '.join(f'{name} {len(values)}' for name, values in given.items())
        raise ValueError(f'arrays for different numbers of engines: {sizes}')
    return EngineControls(**given)


class EngineReport:
    """
    The message engines, in a frame.

    Where all of an aircraft's engines are known it is prepared for their number, as templates are;
    that changes with the aircraft only.
    """

    def __init__(self, frame: str) -> None:
        self._message = EngineMessage()
        self._message.header.frame_id = frame
        self._sizes: tuple[int, ...] = ()
        self._template: Template | None = None

    def filled(self, stamp: tuple[int, int], engines: EngineControls) -> Any:
        """Return it with what is known, for publish() before the next; other arrays are empty."""
        throttle, mixture, propeller = engines.throttle, engines.mixture, engines.propeller
        if throttle and mixture and propeller:
            sizes = len(throttle), len(mixture), len(propeller)
            if self._template is None or sizes != self._sizes:
                self._sizes = sizes
                self._fill(engines)
                self._template = Template(
                    self._message, 'header.stamp', 'fields', *ENGINE_CONTROLS)
            return self._template.filled(*stamp, _ALL_BITS, *throttle, *mixture, *propeller)
        self._message.header.stamp.sec, self._message.header.stamp.nanosec = stamp
        self._fill(engines)
        return self._message

    def _fill(self, engines: EngineControls) -> None:
        fields = 0
        for name in ENGINE_CONTROLS:
            values = getattr(engines, name)
            setattr(self._message, name, array('d', values or ()))
            if values:
                fields |= _BITS[name]
        self._message.fields = fields


class EngineGate:
    """
    Passes command/engines to a simulator: validated.

    ``send(engines)`` sends them. ``takes`` are the arrays that it supports: a command that sets
    only others is refused. Levers stay where they are put, so no watchdog waits for more: that of
    command/controls must not take these commands for those that move the surfaces.
    """

    def __init__(
        self, node: BridgeNode[Any], send: Callable[[EngineControls], None], prefix: str = '', *,
        clamp: bool = False, takes: Collection[str] = ENGINE_CONTROLS,
    ) -> None:
        self._send = send
        self._clamp = clamp
        self._takes = takes
        self._taken_bits = ENGINES_MASK.sum_of(takes)
        self.commands = 0
        node.make_command(EngineMessage, prefix + 'command/engines', self._take)

    def _take(self, message: EngineMessage) -> None:
        engines = checked_engines(message, clamp=self._clamp)
        if not message.fields & self._taken_bits:
            raise ValueError(
                f'this simulator supports only {", ".join(self._takes)} of each engine; none of '
                'them is set')
        self._send(engines)
        self.commands += 1
