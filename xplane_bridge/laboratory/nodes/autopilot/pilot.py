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

"""The pilot's joystick as a topic: joy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sensor_msgs.msg import Joy

from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.diagnostics import OK, Status
from xplane_bridge.laboratory.nodes.autopilot.joystick import Joystick, JoystickSettings, Request


class Pilot:
    """
    Hears ``joy``; calls ``take_over()`` and ``give_back()`` when the pilot asks for it.

    ``in_charge`` says whether the joystick's controls are commanded; ``now`` is the time of the
    newest state, in seconds.
    """

    def __init__(
        self, node: BridgeNode[Any], settings: JoystickSettings, take_over: Callable[[], None],
        give_back: Callable[[], None],
    ) -> None:
        self._node = node
        self._take_over = take_over
        self._give_back = give_back
        self.now = 0.0
        self._taken_over = self._fell_silent = 0
        self.joystick = Joystick(settings)
        node.make_command(Joy, 'joy', self._on_joy)

    @property
    def in_charge(self) -> bool:
        """Return whether the joystick flies."""
        return self.joystick.in_charge

    @in_charge.setter
    def in_charge(self, value: bool) -> None:
        self.joystick.in_charge = value

    def check_not_in_charge(self) -> None:
        """Raise ValueError while the joystick flies."""
        if self.in_charge:
            raise ValueError(
                'the joystick is in charge: its button joystick.give_back_button '
                f'({self.joystick.settings.give_back_button}) gives back')

    def mind_silence(self) -> None:
        """Give back if a joystick in charge has fallen silent."""
        if self.in_charge and self.joystick.is_silent(self.now):
            self._fell_silent += 1
            self._node.warn('joystick', (
                f'joy has been silent for {self.joystick.settings.timeout:g} s while the joystick '
                'was in charge: altitude, course and airspeed are held'))
            self._give_back()

    def _on_joy(self, message: Joy) -> None:
        asked = self.joystick.hear(message.axes, message.buttons, self.now)
        if asked is Request.TAKE_OVER:
            self._take_over()
            self._taken_over += 1
            self._node.inform('joystick', 'the joystick has taken over')
        elif asked is Request.GIVE_BACK:
            self._give_back()
            self._node.inform(
                'joystick', 'the joystick has given back: altitude, course and airspeed are held')

    def diagnose(self) -> Status:
        """Return whether the joystick is in charge."""
        return Status(
            'joystick', OK,
            'in charge' if self.in_charge else 'not in charge',
            (('taken over', str(self._taken_over)), ('fell silent', str(self._fell_silent))))
