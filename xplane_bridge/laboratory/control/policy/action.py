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
What a policy may command: the controls, or a higher level of the cascade.

The names are the fields of the message: ``command/controls`` FlightControls,
``command/attitude`` AttitudeCommand, ``command/target`` AutopilotTarget; signs and units too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
import math

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.controls import FLOWN, LIMITS
from xplane_bridge.laboratory.control.policy.observation import Field


def real_numbers(values: object) -> NDArray[np.float64]:
    """
    Return numbers as an array of float64.

    Raises TypeError for what only could be read as numbers: texts, complex numbers, dates.
    """
    given = np.asarray(values)
    if given.dtype == np.float64:
        return given
    if given.dtype.kind not in 'biuf':
        raise TypeError(f'expected real numbers, got {given.dtype}')
    return given.astype(np.float64)


@dataclass(frozen=True)
class ActionSpec:
    """A level of command, and the fields of its message that are commanded."""

    level: str
    fields: tuple[Field, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the fields in the message."""
        return tuple(field.name for field in self.fields)

    @cached_property
    def _bounds(self) -> tuple[tuple[float, float], ...]:
        return tuple((field.low, field.high) for field in self.fields)

    @cached_property
    def _shape(self) -> tuple[int]:
        return (len(self.fields),)

    def check_shape(self, action: NDArray[np.floating]) -> None:
        """Raise ValueError unless an action has a number for each field."""
        if action.shape != self._shape:
            raise ValueError(
                f'an action has {len(self.fields)} numbers ({", ".join(self.names)}), '
                f'got shape {action.shape}')

    def checked(self, values: Sequence[float] | NDArray[np.floating]) -> tuple[float, ...]:
        """
        Return an action as plain numbers, limited to its bounds.

        Raises ValueError if its shape is wrong or a number is not finite.
        """
        action = self._array(values)
        if action.shape != self._shape:
            self.check_shape(action)
        found = tuple(action.tolist())
        for value, (low, high) in zip(found, self._bounds, strict=True):
            if not low <= value <= high:
                return self._limited(found)
        return found

    def _limited(self, found: tuple[float, ...]) -> tuple[float, ...]:
        for name, value in zip(self.names, found, strict=True):
            if not math.isfinite(value):
                raise ValueError(f"the action's {name} is {value}")
        return tuple(
            min(max(value, low), high)
            for value, (low, high) in zip(found, self._bounds, strict=True))

    def _array(self, values: object) -> NDArray[np.float64]:
        try:
            return real_numbers(values)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f'an action has {len(self.fields)} numbers ({", ".join(self.names)}), '
                f'got {values!r:.80}') from None


CONTROLS = ActionSpec('controls', tuple(
    Field(name, '', *LIMITS[name]) for name in FLOWN))
ATTITUDE = ActionSpec('attitude', (
    Field('roll', 'rad', -math.pi, math.pi), Field('pitch', 'rad', -math.pi / 2, math.pi / 2),
    Field('throttle', '', 0.0, 1.0)))
TARGET = ActionSpec('target', (
    Field('altitude', 'm', -1000.0, 30000.0), Field('true_heading', 'rad', -math.pi, math.pi),
    Field('airspeed', 'm/s', 1.0, 1000.0)))

LEVELS = {action.level: action for action in (CONTROLS, ATTITUDE, TARGET)}
"""The levels, by name."""
