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

"""The axes of a vessel by name: which axis message sets each, and messages from values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from xplane_bridge.bridges.simpit.protocol.commands import CustomAxes
from xplane_bridge.bridges.simpit.protocol.messages import Rotation, Throttle, Translation, Wheel

Axes = Rotation | Translation | Wheel | Throttle | CustomAxes

THROTTLE = 'throttle'

# In field order, which is also the order of the bits in the mask.
_NAMES: dict[type[Any], tuple[str, ...]] = {
    Rotation: ('pitch', 'roll', 'yaw'),
    Translation: ('x', 'y', 'z'),
    Wheel: ('wheel_steer', 'wheel_throttle'),
    Throttle: (THROTTLE,),
    CustomAxes: ('custom_1', 'custom_2', 'custom_3', 'custom_4'),
}
_KINDS: dict[str, type[Any]] = {kind.tag: kind for kind in _NAMES}

AXES = {name: kind.tag for kind, names in _NAMES.items() for name in names}
"""The channel that sets each axis, by the axis's name."""


def axis_values(message: Axes) -> dict[str, int]:
    """Return the axes that a message sets, by name."""
    if isinstance(message, Throttle):
        return {THROTTLE: message.throttle}
    return {
        name: getattr(message, field.name)
        for bit, (name, field) in enumerate(
            zip(_NAMES[type(message)], fields(message), strict=False))
        if message.mask >> bit & 1}


def axis_message(channel: str, values: Mapping[str, float]) -> Axes:
    """Return the message on ``channel`` that sets those of its axes that are in ``values``."""
    kind = _KINDS[channel]
    names = _NAMES[kind]
    numbers = [int(values.get(name, 0)) for name in names]
    if kind is Throttle:
        return Throttle(*numbers)
    mask = sum(1 << bit for bit, name in enumerate(names) if name in values)
    message: Axes = kind(*numbers, mask)
    return message


def axis_messages(values: Mapping[str, float]) -> list[Axes]:
    """Return the messages that set these axes; raise ValueError for an unknown axis."""
    unknown = [name for name in values if name not in AXES]
    if unknown:
        raise ValueError(f'no vessel has an axis {", ".join(unknown)}')
    return [
        axis_message(channel, values) for channel in dict.fromkeys(AXES[name] for name in values)]
