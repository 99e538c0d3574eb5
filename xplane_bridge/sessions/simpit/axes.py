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

"""The axes of a vessel by name: what each axis message sets, and messages out of values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from xplane_bridge.protocols import simpit

Axes = (
    simpit.Rotation | simpit.Translation | simpit.Wheel | simpit.Throttle | simpit.CustomAxes)

THROTTLE = 'throttle'

# In the order of the fields, which is that of the bits in the mask.
_NAMES: dict[type[Any], tuple[str, ...]] = {
    simpit.Rotation: ('pitch', 'roll', 'yaw'),
    simpit.Translation: ('x', 'y', 'z'),
    simpit.Wheel: ('wheel_steer', 'wheel_throttle'),
    simpit.Throttle: (THROTTLE,),
    simpit.CustomAxes: ('custom_1', 'custom_2', 'custom_3', 'custom_4'),
}
KINDS: dict[str, type[Any]] = {kind.tag: kind for kind in _NAMES}
AXES = frozenset(name for names in _NAMES.values() for name in names)


def to_values(message: Axes) -> dict[str, int]:
    """Return the axes that a message sets, by name."""
    names = _NAMES[type(message)]
    if isinstance(message, simpit.Throttle):
        return {THROTTLE: message.throttle}
    return {
        name: getattr(message, field.name)
        for bit, (name, field) in enumerate(zip(names, fields(message), strict=False))
        if message.mask >> bit & 1}


def to_message(channel: str, values: Mapping[str, float]) -> Axes:
    """Return the message on ``channel`` that sets these axes, and no others."""
    kind = KINDS[channel]
    names = _NAMES[kind]
    numbers = [int(values.get(name, 0)) for name in names]
    if kind is simpit.Throttle:
        return simpit.Throttle(*numbers)
    mask = sum(1 << bit for bit, name in enumerate(names) if name in values)
    message: Axes = kind(*numbers, mask)
    return message


def channel_of(axis: str) -> str:
    """Return the channel whose messages set this axis."""
    return next(channel for channel, kind in KINDS.items() if axis in _NAMES[kind])
