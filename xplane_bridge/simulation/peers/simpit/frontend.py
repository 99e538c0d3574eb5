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

"""The plugin's ports: one conversation each, for one vessel."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
import threading
from typing import Any

from xplane_bridge.bridges.links.ports import check_port
from xplane_bridge.bridges.links.serial import PortChanged, SerialLoop
from xplane_bridge.bridges.links.udp import LinkError, SocketCounters
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import KeyModifiers, LogFlags, PROFILES, SimpitMessage
from xplane_bridge.common.text import printable
from xplane_bridge.simulation.peers.base import Frontend
from xplane_bridge.simulation.peers.faults import Faults
from xplane_bridge.simulation.peers.simpit.events import DeviceCommand, PortDeaf
from xplane_bridge.simulation.peers.simpit.line import FaultyLine
from xplane_bridge.simulation.peers.simpit.plugin import PluginSession
from xplane_bridge.simulation.peers.simpit.vessel import Vessel
from xplane_bridge.simulation.peers.world import World

# The game beside the vessel: camera, navball, keyboard and log.

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


class SimulatedGame:
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

    def obey(self, message: SimpitMessage) -> str:
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


# A plugin checks for changed values about as often as it sends the others.
_CHANGE_PERIOD = 0.125
_OPEN_TIMEOUT = 5.0
_MOST_COMMANDS = 4096
# The plugins' name for the timing of a channel that is sent when its value has changed.
_ON_CHANGE = ('change', 'subscription')


class _Line:
    """One port of the plugin, and the thread that serves it."""

    def __init__(
        self, profile: str, port: str, baud: int, faults: Faults, report: Callable[[str], None],
    ) -> None:
        self._report = report
        self.session = PluginSession(profile)
        # They wait for a frame; if none is drawn for long, only the newest are kept.
        self.commands: deque[SimpitMessage] = deque(maxlen=_MOST_COMMANDS)
        self.failure: Exception | None = None
        self._tried = threading.Event()
        self.loop = SerialLoop(
            FaultyLine(self.session, faults), port, baud, self._on_event, self._on_failure,
            name='simpit plugin')

    def open(self) -> None:
        """Open the port. Raises LinkError if it is not available."""
        self.loop.start()
        self._tried.wait(_OPEN_TIMEOUT)
        if not self.loop.is_open:
            raise LinkError(self.loop.status.text)
        self.loop.call(self.session.set_flight, True)

    def provide(self, messages: Sequence[SimpitMessage]) -> None:
        """Set the values of the channels of this plugin's profile."""
        def provide(now: float) -> None:
            for message in messages:
                self.session.provide(message, now)

        self.loop.call(provide)

    def _on_event(self, event: Any, stamp_ns: int) -> None:
        if isinstance(event, PortChanged):
            self._tried.set()
        elif isinstance(event, DeviceCommand):
            self.commands.append(event.message)
        elif isinstance(event, PortDeaf):
            self._report(
                f'{self.loop.path}: a real plugin would now be deaf on this port: {event.text}; '
                f'only {event.remedy} revives it. So is this one, until the simulator restarts')

    def _on_failure(self, error: Exception) -> None:
        self.failure = error


class SimpitFrontend(Frontend):
    """
    The plugin Kerbal Simpit on one or more serial ports, in the flight scene.

    profile is one of PROFILES. ports are as for open_port(); ``pty:`` makes a pseudo-terminal,
    ``pty:/some/link`` one with a symbolic link that survives restarts. Each port has a thread
    that answers with or without frames, as in the real plugin; commands take effect at the next
    frame: on the aircraft, and on ``game``. Raises ValueError for an invalid profile or port.
    """

    def __init__(
        self, profile: str = 'cobs', ports: Sequence[str] = ('pty:',), baud: int = 115200,
        faults: Faults | None = None,
    ) -> None:
        super().__init__()
        self.profile = profile
        self._ports = tuple(ports)
        self._baud = baud
        self._faults = faults if faults is not None else Faults()
        self._past = SocketCounters()
        self._lines: list[_Line] = []
        PluginSession(profile)
        for port in self._ports:
            check_port(port, baud)
        self._channels = {
            row.name: row for row in PROFILES[profile].channels if row.sender == 'peer'}
        self.name = f'Kerbal Simpit {PROFILES[profile].plugins} ({profile})'

    @property
    def paths(self) -> tuple[str, ...]:
        """Return where devices find the ports; known once it has been open."""
        return tuple(line.loop.path for line in self._lines) or self._ports

    @property
    def address(self) -> str:
        """Return where devices find the ports; known once it has been open."""
        return ', '.join(self.paths)

    @property
    def counters(self) -> SocketCounters:
        """Return the counts of packets received and sent."""
        total = SocketCounters(self._past.received, self._past.sent)
        for line in self._lines:
            total.received += line.session.statistics.packets
            total.sent += sum(line.session.statistics.sent.values())
        return total

    def _begin(self, world: World, now: float) -> None:
        """Start like a game that has just been launched. Raises LinkError for a port."""
        self._vessel = Vessel(world, load=PROFILES[self.profile].framing == 'cobs')
        self._changes_at = now
        self.game = SimulatedGame()
        self._lines = [
            _Line(self.profile, port, self._baud, self._faults, self.report)
            for port in self._ports]
        for line in self._lines:
            line.open()
        self._provide(now)

    def frame(self, now: float) -> None:
        """Carry out received commands, and provide the aircraft's new state."""
        for line in self._lines:
            if line.failure is not None:
                raise line.failure
            while line.commands:
                message = line.commands.popleft()
                self._vessel.obey(message)
                if done := self.game.obey(message):
                    self.report(f'{line.loop.path}: {done}')
        self._provide(now)

    def close(self) -> None:
        """Close the ports; closing twice is fine."""
        self._past = self.counters
        lines, self._lines = self._lines, []
        for line in lines:
            line.loop.close()

    def _provide(self, now: float) -> None:
        """Provide new values: most with every frame, those sent on change less often."""
        changes = now >= self._changes_at
        if changes:
            self._changes_at = now + _CHANGE_PERIOD
        messages = [
            message for message in self._vessel.telemetry()
            if (row := self._channels.get(message.channel)) is not None
            and (changes or row.sent not in _ON_CHANGE)]
        for line in self._lines:
            line.provide(messages)
