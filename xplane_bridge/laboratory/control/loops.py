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

"""The parts that control loops are made of."""

from __future__ import annotations

from dataclasses import dataclass
import math


def clamp(value: float, low: float, high: float) -> float:
    """Return the value within the limits."""
    # In half of the time of min and max, of which a frame has 14.
    if value < low:
        value = low
    return high if value > high else value


def known_or(value: float, otherwise: float) -> float:
    """Return the value, or if it is not known (NaN) another one."""
    return otherwise if math.isnan(value) else value


@dataclass(slots=True)
class Integral:
    """An integral that stops where its output is limited (anti-windup by clamping)."""

    value: float = 0.0

    def start(self, output: float, proportional: float) -> None:
        """Set the value so that the next output is continuous with ``output``."""
        self.value = output - proportional

    def update(self, error: float, gain: float, dt: float, proportional: float,
               low: float, high: float) -> float:
        """Return the limited sum of both parts; integrate unless that saturates further."""
        output = proportional + self.value
        step = gain * error * dt
        if (output < high or step < 0.0) and (output > low or step > 0.0):
            self.value += step
        return clamp(proportional + self.value, low, high)
