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

"""The controls that a plugin forces on the game, for one flight scene."""

from __future__ import annotations

from xplane_bridge.bridges.simpit.protocol import Axes, axis_values, Message, Profile, THROTTLE


class AxisHold:
    """
    Axes held for a device, and the game's throttle, which the player moves too.

    A nonzero value is forced on whatever vessel is active, whoever else moves the stick. A 0
    releases the axis; but before 2.3 a throttle is forced indefinitely, 0 included, and from 2.3
    on a 0 closes the throttle once and then leaves it to the player
    (docs/reference/peers/simpit.md, "2.2 or 2.3").
    """

    def __init__(self, profile: Profile) -> None:
        self.axes: dict[str, int] = {}
        self.throttle = 0
        self._lets_go = profile.throttle_lets_go

    def take(self, message: Message) -> None:
        """Handle an axis message; others do not matter here."""
        if not isinstance(message, Axes):
            return
        for name, value in axis_values(message).items():
            if name == THROTTLE and (value or name in self.axes or not self._lets_go):
                self.throttle = value
            if value or (name == THROTTLE and not self._lets_go):
                self.axes[name] = value
            else:
                self.axes.pop(name, None)

    def move_throttle(self, value: int) -> None:
        """Move the throttle as the player does, 0..32767; without effect while it is forced."""
        self.throttle = self.axes.get(THROTTLE, value)

    def clear(self) -> None:
        """Start another flight scene: nothing is forced."""
        self.axes.clear()
