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


"""Whose axes are whose, where cockpits and ROS command the same vessel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
import math

from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import AXES, axis_message, axis_values, THROTTLE
from xplane_bridge.bridges.simpit.session.commands import Part

STACK = ''
"""The source of commands from ROS; any other source is a cockpit, by its name."""

RULES = ('last', 'cockpit', 'stack')
"""Who wins an axis: the last mover, a cockpit, or the stack (Ownership)."""

_FULL = 32767


class Ownership:
    """
    Which source holds each axis; values of others are withheld.

    A free axis is held by the first source that commands it. The stack holds an axis while it
    commands it, and ``lease`` seconds longer (0: until it is released). A cockpit holds an axis
    from moving it until it returns it to the centre; it never returns the throttle. A source
    *moves* an axis when its value differs by more than ``threshold`` (of full scale) from where it
    stood, which its first value tells; the first value of the stack after a pause is a move too.
    A move to the centre takes nothing from anybody. A move takes the axis from its holder, except
    that with rule 'cockpit' the stack takes nothing from a cockpit, and with rule 'stack' no
    cockpit takes anything from the stack, which takes an axis by commanding it.

    Times are in seconds; values are as on the wire, -32768..32767. ``withheld`` counts values by
    source.
    """

    def __init__(
        self, rule: str = 'last', *, threshold: float = 0.02, lease: float = 1.0
    ) -> None:
        self.configure(rule=rule, threshold=threshold, lease=lease)
        self.withheld: Counter[str] = Counter()
        self._holders: dict[str, str] = {}
        # Who sent the last value of an axis: the plugin forces it until it gets another one.
        self._senders: dict[str, str] = {}
        self._stood: dict[tuple[str, str], float] = {}
        self._leased_until: dict[str, float] = {}

    def configure(
        self, *, rule: str | None = None, threshold: float | None = None,
        lease: float | None = None,
    ) -> None:
        """Change the rule, the threshold or the lease; what is not given stays."""
        if rule is not None:
            if rule not in RULES:
                raise ValueError(f"rule '{rule}': must be one of {', '.join(RULES)}")
            self.rule = rule
        if threshold is not None:
            self.threshold = threshold
        if lease is not None:
            self.lease = lease

    def admit_parts(self, source: str, parts: Sequence[Part], now: float) -> list[Part]:
        """Return the packets of a command without the axes that others hold."""
        kept = []
        for part in parts:
            message = part.message
            if isinstance(message, simpit.Axes):
                values = self.admit(source, axis_values(message), now)
                if not values:
                    continue
                message = axis_message(message.channel, values)
            kept.append(part._replace(message=message))
        return kept

    def admit(self, source: str, values: Mapping[str, float], now: float) -> dict[str, float]:
        """Return those of the values that are to be sent, and count the others."""
        admitted = {
            axis: value for axis, value in values.items()
            if self._admits(source, axis, value, now)}
        self.withheld[source] += len(values) - len(admitted)
        return admitted

    def release(self, source: str) -> tuple[str, ...]:
        """Forget a source that is gone; return the axes that still have its values."""
        axes = tuple(axis for axis, sender in self._senders.items() if sender == source)
        for axis in axes:
            del self._senders[axis]
        for axis in self.held_by(source):
            del self._holders[axis]
        for key in [key for key in self._stood if key[0] == source]:
            del self._stood[key]
        return axes

    def clear(self) -> None:
        """Forget who holds what: the flight or the plugin is another one."""
        self._holders.clear()
        self._senders.clear()
        self._leased_until.clear()

    def held_by(self, source: str) -> tuple[str, ...]:
        """Return the axes that a source holds."""
        return tuple(axis for axis, holder in self._holders.items() if holder == source)

    def without_cockpits(self, axes: Collection[str] | None) -> tuple[str, ...]:
        """Return those of ``axes``, by default all, that no cockpit holds."""
        return tuple(
            axis for axis in (AXES if axes is None else axes)
            if self._holders.get(axis, STACK) == STACK)

    def _admits(self, source: str, axis: str, value: float, now: float) -> bool:
        holder = self._holder(axis, now)
        stood = self._stood.get((source, axis))
        if source == STACK:
            # After a pause it does not stand anywhere.
            if now >= self._leased_until.get(axis, 0.0):
                stood = None
            self._leased_until[axis] = now + self.lease if self.lease else math.inf
        far = self.threshold * _FULL
        centred = abs(value) <= far and axis != THROTTLE
        moved = (source == STACK) if stood is None else abs(value - stood) > far
        if holder in (None, source) or (
                self._may_take(source, holder) and (
                    (moved and not centred) or (self.rule == 'stack' and source == STACK))):
            self._stood[source, axis] = value
            self._senders[axis] = source
            if source == STACK or not centred:
                self._holders[axis] = source
            else:
                self._holders.pop(axis, None)
            return True
        if stood is None or moved:
            self._stood[source, axis] = value
        return False

    def _may_take(self, source: str, holder: str | None) -> bool:
        """Return whether a source may take an axis from another one."""
        if self.rule == 'cockpit':
            return source != STACK
        return self.rule == 'last' or holder != STACK

    def _holder(self, axis: str, now: float) -> str | None:
        holder = self._holders.get(axis)
        if holder == STACK and now >= self._leased_until.get(axis, 0.0):
            del self._holders[axis]
            return None
        return holder
