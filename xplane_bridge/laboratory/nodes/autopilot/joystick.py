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

"""A pilot's joystick: takes over from the cascade at once, and gives back on a button."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
import math
from typing import Any

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.common.fields import declared

# Time constant (s) of the positions around which the surfaces are moved: the trim.
_TRIM = 3.0


def _axis(default: int, what: str) -> Any:
    return declared(
        default, f'Axis of joy that moves the {what}; -1 is none.', low=-1, high=63)


def _scale(default: float, what: str) -> Any:
    return declared(
        default, f'{what} per full deflection of its axis, which in joy is + to the left or '
        'forwards.', low=-10.0, high=10.0)


@dataclass(frozen=True, slots=True)
class JoystickSettings:
    """Axes, buttons and feel of a joystick; the defaults are those of a common gamepad."""

    aileron_axis: int = _axis(3, 'ailerons')
    elevator_axis: int = _axis(4, 'elevator')
    rudder_axis: int = _axis(0, 'rudder')
    throttle_axis: int = _axis(1, 'throttle')
    aileron_scale: float = _scale(-1.0, 'Aileron (+ is right wing down)')
    elevator_scale: float = _scale(-1.0, 'Elevator (+ is nose up)')
    rudder_scale: float = _scale(-1.0, 'Rudder (+ is nose right)')
    throttle_scale: float = _scale(0.5, 'Throttle')
    throttle_is_rate: bool = declared(
        True, 'The throttle axis returns to its centre: throttle_scale is per second. Otherwise '
        'it stays where it is, and its middle is half throttle.')
    take_over_button: int = declared(4, 'Button that takes over; -1 is none.', low=-1, high=63)
    give_back_button: int = declared(5, 'Button that gives back; -1 is none.', low=-1, high=63)
    threshold: float = declared(
        0.3, 'Deflection of the axis of a surface beyond which the joystick takes over; more than '
        '1 is never.', low=0.01, high=2.0)
    dead_zone: float = declared(0.05, 'Deflection that counts as none.', low=0.0, high=0.9)
    expo: float = declared(
        0.3, 'Share of the cubic part of the response: 0 is linear, 1 is softest near the centre.',
        low=0.0, high=1.0)
    timeout: float = declared(
        0.5, 'Seconds of flight without joy after which a joystick in charge gives back.',
        low=0.05, high=60.0)


class JoystickRequest(Enum):
    """What a message of the joystick asks for."""

    NOTHING = 'nothing'
    TAKE_OVER = 'take over'
    GIVE_BACK = 'give back'


class Joystick:
    """
    What the joystick says, and, while it is ``in_charge``, the controls that follow from it.

    Its surfaces are added to the trim: where the cascade had them, on average. A stick that was
    deflected already when it was first heard, or when the controls were given back, has to come
    back before its deflection takes over.
    """

    def __init__(self, settings: JoystickSettings) -> None:
        self.settings = settings
        self.in_charge = False
        self._axes: Sequence[float] = ()
        self._buttons: Sequence[int] = ()
        self._was_deflected = True
        self._heard_at: float | None = None
        self._trim: tuple[float, float, float] | None = None
        self._throttle = 0.0

    def on_joy(self, axes: Sequence[float], buttons: Sequence[int], now: float) -> JoystickRequest:
        """
        Take the joystick's state at a time (s); return what it asks for.

        Raises ValueError if it lacks an axis or a button, or an axis is not finite.
        """
        settings = self.settings
        for name in ('aileron', 'elevator', 'rudder', 'throttle'):
            if (axis := getattr(settings, f'{name}_axis')) >= len(axes):
                raise ValueError(f'it has {len(axes)} axes, but joystick.{name}_axis is {axis}')
        for name in ('take_over', 'give_back'):
            if (button := getattr(settings, f'{name}_button')) >= len(buttons):
                raise ValueError(
                    f'it has {len(buttons)} buttons, but joystick.{name}_button is {button}')
        if not all(map(math.isfinite, axes)):
            raise ValueError('an axis is not finite')
        pressed = [
            bool(buttons[button]) and not (self._buttons and self._buttons[button])
            if button >= 0 else False
            for button in (settings.take_over_button, settings.give_back_button)]
        self._axes, self._buttons, self._heard_at = axes, buttons, now
        deflected = any(
            abs(axes[axis]) > settings.threshold
            for axis in (settings.aileron_axis, settings.elevator_axis, settings.rudder_axis)
            if axis >= 0)
        moved, self._was_deflected = deflected and not self._was_deflected, deflected
        if self.in_charge:
            return JoystickRequest.GIVE_BACK if pressed[1] else JoystickRequest.NOTHING
        return JoystickRequest.TAKE_OVER if moved or pressed[0] else JoystickRequest.NOTHING

    def follow(self, controls: Controls, dt: float) -> None:
        """Learn the trim from what is commanded without the joystick."""
        now = (controls.elevator or 0.0, controls.aileron or 0.0, controls.rudder or 0.0)
        share = 1.0 if self._trim is None else dt / (_TRIM + dt)
        old = self._trim or now
        self._trim = (
            old[0] + share * (now[0] - old[0]), old[1] + share * (now[1] - old[1]),
            old[2] + share * (now[2] - old[2]))
        if controls.throttle is not None:
            self._throttle = controls.throttle

    def forget(self) -> None:
        """Forget the trim: something else commands."""
        self._trim = None

    def is_silent(self, now: float) -> bool:
        """Return whether it has not been heard for too long."""
        return self._heard_at is None or now - self._heard_at > self.settings.timeout

    def controls(self, dt: float) -> Controls:
        """Return the controls, ``dt`` seconds after the last ones."""
        settings = self.settings
        elevator, aileron, rudder = self._trim or (0.0, 0.0, 0.0)
        throttle = settings.throttle_scale * self._deflection(settings.throttle_axis)
        if settings.throttle_axis >= 0:
            self._throttle = min(max(
                self._throttle + throttle * dt if settings.throttle_is_rate
                else (1.0 + throttle) / 2.0, 0.0), 1.0)
        return Controls(
            elevator=self._surface(elevator, settings.elevator_axis, settings.elevator_scale),
            aileron=self._surface(aileron, settings.aileron_axis, settings.aileron_scale),
            rudder=self._surface(rudder, settings.rudder_axis, settings.rudder_scale),
            throttle=self._throttle)

    def _surface(self, trim: float, axis: int, scale: float) -> float:
        return min(max(trim + scale * self._deflection(axis), -1.0), 1.0)

    def _deflection(self, axis: int) -> float:
        """Return an axis with its dead zone and response."""
        if not 0 <= axis < len(self._axes):
            return 0.0
        value, settings = self._axes[axis], self.settings
        beyond = (abs(value) - settings.dead_zone) / (1.0 - settings.dead_zone)
        if beyond <= 0.0:
            return 0.0
        return math.copysign(
            (1.0 - settings.expo) * beyond + settings.expo * beyond ** 3, value)
