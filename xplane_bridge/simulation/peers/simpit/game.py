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

"""The game beside the vessel: camera, navball, keyboard and log."""

from __future__ import annotations

from collections import deque

from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import KeyModifiers, LogFlags, Message
from xplane_bridge.common.text import printable

# Effects of a camera step of 1 of 32767, of public plugin sources from 2.0 on: read, not run.
_PITCH_STEP = 0.00002
_YAW_STEP = 0.00006
_ZOOM_STEP = 0.001
_INSIDE_STEP = 0.003
_CAMERAS = {1: 'flight', 10: 'inside', 20: 'map'}
_SUBMODES = ('auto', 'free', 'orbital', 'chase', 'locked')
_NEXT, _PREVIOUS = 52, 53
_NAVBALL_MODES = ('surface', 'orbit', 'target')
_HEADER = 'Simpit : '
_LINES = 1000


class Game:
    """
    Camera, navball, keys and log of a game whose plugin obeys a device.

    ``camera`` and ``submode`` (of the flight camera) are names. ``pitch`` and ``yaw`` are turned
    by steps, in radians, inside the vessel in degrees; ``distance`` is in metres. ``keys`` are
    the key codes held down, ``lines`` what was written to the log, ``screen`` to the screen, with
    the NULs that device libraries pad it with.
    """

    def __init__(self) -> None:
        self.camera = _CAMERAS[1]
        self.submode = _SUBMODES[0]
        self.pitch = self.yaw = 0.0
        self.distance = 50.0
        self.navball = _NAVBALL_MODES[0]
        self.keys: set[int] = set()
        self.lines: deque[str] = deque(maxlen=_LINES)
        self.screen: deque[str] = deque(maxlen=_LINES)

    def obey(self, message: Message) -> str:
        """Do what a device's message says; return a line about it, empty for steps and others."""
        if isinstance(message, simpit.CameraMode):
            return self._choose(message.mode)
        if isinstance(message, simpit.CameraRotation):
            self._turn(message)
        elif isinstance(message, simpit.NavballMode):
            self.navball = _NAVBALL_MODES[
                (_NAVBALL_MODES.index(self.navball) + 1) % len(_NAVBALL_MODES)]
            return f'navball: {self.navball}'
        elif isinstance(message, simpit.Keyboard):
            return self._press(message)
        elif isinstance(message, simpit.Log):
            return self._write(message)
        return ''

    def _choose(self, mode: int) -> str:
        if mode in _CAMERAS:
            self.camera = _CAMERAS[mode]
        elif self.camera == _CAMERAS[1] and mode in (_NEXT, _PREVIOUS):
            step = 1 if mode == _NEXT else -1
            self.submode = _SUBMODES[(_SUBMODES.index(self.submode) + step) % len(_SUBMODES)]
        elif self.camera == _CAMERAS[1] and mode - 2 in range(len(_SUBMODES)):
            self.submode = _SUBMODES[mode - 2]
        else:
            return f'camera: mode {mode} has no effect while it is {self.camera}'
        return f'camera: {self.camera}' + (
            f', {self.submode}' if self.camera == _CAMERAS[1] else '')

    def _turn(self, step: simpit.CameraRotation) -> None:
        inside = self.camera == _CAMERAS[10]
        if step.mask & 1:
            self.pitch += step.pitch * (_INSIDE_STEP if inside else _PITCH_STEP)
        if step.mask & 4:
            self.yaw += step.yaw * (_INSIDE_STEP if inside else _YAW_STEP)
        if step.mask & 8 and not inside:
            self.distance += step.zoom * _ZOOM_STEP

    def _press(self, message: simpit.Keyboard) -> str:
        flags = KeyModifiers(message.modifiers)
        how = 'pressed'
        if KeyModifiers.DOWN_ONLY in flags:
            how = 'held down'
            self.keys.add(message.key)
        elif KeyModifiers.UP_ONLY in flags:
            how = 'released'
            self.keys.discard(message.key)
        names = [name for name, bit in (
            ('shift', KeyModifiers.SHIFT), ('control', KeyModifiers.CONTROL),
            ('alt', KeyModifiers.ALT)) if bit in flags]
        return f'key: {"+".join([*names, str(message.key)])} {how}'

    def _write(self, message: simpit.Log) -> str:
        text = message.text if message.flags & LogFlags.NO_HEADER else _HEADER + message.text
        if message.flags & LogFlags.SCREEN:
            self.screen.append(text)
        # The plugin's setting Verbose is off.
        if not message.flags & LogFlags.VERBOSE_ONLY:
            self.lines.append(text)
        elif not message.flags & LogFlags.SCREEN:
            return ''
        return f'{"screen" if message.flags & LogFlags.SCREEN else "log"}: {printable(text)}'
