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

"""The velocity of a vehicle that reports none (Huginn), from its positions."""

from __future__ import annotations

import math

from xplane_bridge.bridges.conversions.frames import Vector

# Time constant (s) of the velocity.
_FILTER = 0.5
# A gap longer than this (s), or a velocity above this (m/s), is a jump.
_LONGEST_STEP = 1.0
_FASTEST = 1000.0


class PositionDerivative:
    """The filtered derivative of positions, such as east, north and up in metres."""

    def __init__(self) -> None:
        self._last: tuple[Vector, float] | None = None
        self._velocity: Vector | None = None

    def update(self, position: Vector, time: float) -> Vector | None:
        """Return the velocity at a position and its time (s); None if not known yet."""
        last, self._last = self._last, (position, time)
        if last is None:
            return None
        dt = time - last[1]
        if dt <= 0.0:
            return self._velocity
        x, y, z = (
            (after - before) / dt for after, before in zip(position, last[0], strict=True))
        # Also of what is not known.
        if dt > _LONGEST_STEP or not math.hypot(x, y, z) < _FASTEST:
            self._velocity = None
            return None
        if self._velocity is None:
            self._velocity = x, y, z
            return self._velocity
        share = dt / (_FILTER + dt)
        x0, y0, z0 = self._velocity
        self._velocity = x0 + share * (x - x0), y0 + share * (y - y0), z0 + share * (z - z0)
        return self._velocity
