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

"""Commands and services of simpit_node specific to Kerbal Simpit."""

from __future__ import annotations

from array import array
from typing import Any

from std_msgs.msg import String
from std_srvs.srv import Trigger

from xplane_bridge.bridges.conversions.masks import Mask
from xplane_bridge.bridges.nodes.common.lists import check_count
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge
from xplane_bridge.bridges.nodes.vehicle.watchdog import CommandWatchdog
from xplane_bridge.bridges.sessions.base import CommandDone
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.conversion import axis_to_wire
from xplane_bridge.bridges.simpit.node.messages import AXES_MASK
from xplane_bridge.bridges.simpit.protocol import (
    ActionGroup,
    GroupSetting,
    KeyModifiers,
    Verb,
    WarpInstant,
)
from xplane_bridge.bridges.simpit.session import (
    axes_in,
    EchoDone,
    request_for,
    Shows,
    SimpitSession,
)
from xplane_bridge.msg import (
    SimpitActionCommand,
    SimpitAxes,
    SimpitCamera,
    SimpitKey,
    SimpitLog,
    SimpitPacket,
    SimpitSas,
    SimpitTimeWarp,
)
from xplane_bridge.srv import SimpitPing

# Queue depth for commands that must all arrive: as many as the session lets wait.
_DEPTH = 128

_VERBS: dict[int, Verb] = {
    SimpitActionCommand.ACTIVATE: 'activate',
    SimpitActionCommand.DEACTIVATE: 'deactivate',
    SimpitActionCommand.TOGGLE: 'toggle',
}
# Standard groups above these exist only in KSP2, where they have their own message.
_STANDARD_GROUPS = 7

# In one message; the plugins accept packets of at most 32 bytes.
_MOST_GROUPS = 32

# Bytes of text in one packet, behind the flags.
_LONGEST_LINE = simpit.MAX_PAYLOAD - 1

# Warp targets; the session knows the plugin's names.
_INSTANTS = {
    SimpitTimeWarp.TO_MANOEUVRE: WarpInstant.MANOEUVRE,
    SimpitTimeWarp.TO_NEXT_SPHERE_OF_INFLUENCE: WarpInstant.NEXT_SPHERE_OF_INFLUENCE,
    SimpitTimeWarp.TO_APOAPSIS: WarpInstant.APOAPSIS,
    SimpitTimeWarp.TO_PERIAPSIS: WarpInstant.PERIAPSIS,
    SimpitTimeWarp.TO_MORNING: WarpInstant.MORNING,
    SimpitTimeWarp.TO_BURN: WarpInstant.BURN,
    SimpitTimeWarp.BY_DELAY: WarpInstant.NOW,
}

_CONTROLS = frozenset({'pitch', 'roll', 'yaw', simpit.THROTTLE})
_AXIS_NAMES = frozenset(simpit.AXES) - _CONTROLS
_KEYS = range(1, 255)
# AVAILABLE is only used in reports.
_SAS = Mask(SimpitSas, {'MODE': ('mode',)})
_TIME_WARP = Mask(SimpitTimeWarp, needs='COMMAND')
_CAMERA = Mask(SimpitCamera)
_CAMERA_STEPS: tuple[tuple[type[Any], tuple[str, ...]], ...] = (
    (simpit.CameraRotation, ('pitch', 'roll', 'yaw', 'zoom')),
    (simpit.CameraTranslation, ('x', 'y', 'z')))


class SimpitCommands:
    """Subscriptions and services of one simpit_node; each checks, converts and sends."""

    def __init__(self, node: Bridge[Any, SimpitSession]) -> None:
        self._node = node
        self.watchdog = CommandWatchdog(node, node.parameters.command_timeout, self._expired)
        node.make_command(
            SimpitActionCommand, 'command/action_groups', self._action_groups, _DEPTH)
        node.make_command(
            SimpitActionCommand, 'command/custom_action_groups', self._custom_groups, _DEPTH)
        node.make_command(SimpitAxes, 'command/axes', self._axes)
        node.make_command(SimpitSas, 'command/sas', self._sas)
        node.make_command(SimpitTimeWarp, 'command/time_warp', self._time_warp, _DEPTH)
        node.make_command(SimpitCamera, 'command/camera', self._camera, _DEPTH)
        node.make_command(SimpitKey, 'command/key', self._key, _DEPTH)
        node.make_command(String, 'command/text', self._text, _DEPTH)
        node.make_command(SimpitLog, 'command/log', self._log, _DEPTH)
        node.make_command(String, 'command/resend', self._resend_one, _DEPTH)
        node.make_command(SimpitPacket, 'command/packets', self._packet, _DEPTH)
        node.make_service(Trigger, 'stage', self._stage)
        node.make_service(Trigger, 'next_navball_mode', self._next_navball_mode)
        node.make_service(Trigger, 'resend', self._resend)
        node.make_service(SimpitPing, 'ping', self._ping)

    def _send(self, what: str, *messages: simpit.SimpitMessage | simpit.Packet) -> None:
        """Send the commands of a message on topic ``what``, all or none. Raises ValueError."""
        if messages:
            self._node.link.call(
                lambda now: self._node.session.send(messages, now, what=what))

    async def _send_and_wait(
        self, what: str, message: simpit.SimpitMessage, response: Trigger.Response,
        shows: Shows = 'nothing',
    ) -> None:
        """Send a service's request; succeed when telemetry shows it, if anything can."""
        done: CommandDone = await self._node.pending.wait(
            self._node.link.call,
            lambda now: self._node.session.send_and_see(message, now, what=what, shows=shows))
        response.success = True
        response.message = done.message or 'sent; this protocol cannot confirm it'

    # Topics.

    def _action_groups(self, message: SimpitActionCommand) -> None:
        verb = _verb(message)
        bits = sum(1 << group for group in set(message.groups) if group < _STANDARD_GROUPS)
        commands: list[simpit.SimpitMessage] = [
            simpit.SetActionGroup(False, group, GroupSetting[verb.upper()])
            for group in message.groups if group >= _STANDARD_GROUPS]
        if bits:
            commands.append(simpit.ActionGroups(verb, ActionGroup(bits)))
        self._send('command/action_groups', *commands)

    def _custom_groups(self, message: SimpitActionCommand) -> None:
        self._send(
            'command/custom_action_groups',
            simpit.CustomActionGroups(_verb(message), tuple(message.groups)))

    def _axes(self, message: SimpitAxes) -> None:
        axes = {
            name: axis_to_wire(name, value) for name, value in AXES_MASK.given(message).items()}
        self._node.link.call(
            lambda now: self._node.session.set_controls(axes, now, what='command/axes'))
        self.watchdog.feed()

    def _expired(self) -> None:
        what = self._node.parameters.on_command_timeout
        self._node.warn(
            'timeout command/axes',
            f'command/axes: no command for {self._node.parameters.command_timeout:g} s: {what}')
        if what != 'hold':
            self._node.link.call(self._node.session.give_back, _AXIS_NAMES)

    def _sas(self, message: SimpitSas) -> None:
        self._send('command/sas', simpit.SasMode(_SAS.given(message)['mode']))

    def _time_warp(self, message: SimpitTimeWarp) -> None:
        given = _TIME_WARP.given(message)
        command, delay = given['command'], given.get('delay')
        if command == SimpitTimeWarp.BY_DELAY and delay is None:
            raise ValueError('BY_DELAY needs DELAY')
        instant = _INSTANTS.get(command)
        if instant is not None:
            # Refused by the session if the plugin does not support it.
            self._send('command/time_warp', simpit.TimeWarpTo(instant, delay or 0.0))
        elif delay:
            raise ValueError(f'command {command} takes no delay')
        else:
            self._send('command/time_warp', simpit.TimeWarp(command))

    def _camera(self, message: SimpitCamera) -> None:
        given = _CAMERA.given(message)
        commands: list[simpit.SimpitMessage] = []
        if 'mode' in given:
            commands.append(simpit.CameraMode(given.pop('mode')))
        steps = {name: axis_to_wire(name, value) for name, value in given.items()}
        for kind, names in _CAMERA_STEPS:
            mask = sum(1 << bit for bit, name in enumerate(names) if name in steps)
            if mask:
                commands.append(kind(*(steps.get(name, 0) for name in names), mask))
        self._send('command/camera', *commands)

    def _key(self, message: SimpitKey) -> None:
        if message.key not in _KEYS:
            raise ValueError(
                f'key {message.key}: must be a virtual key code, {_KEYS[0]}..{_KEYS[-1]}')
        held = message.modifiers & (KeyModifiers.DOWN_ONLY | KeyModifiers.UP_ONLY)
        if held == KeyModifiers.DOWN_ONLY | KeyModifiers.UP_ONLY:
            raise ValueError('DOWN_ONLY and UP_ONLY exclude each other')
        self._send('command/key', simpit.Keyboard(message.modifiers, message.key))

    def _text(self, message: String) -> None:
        self._write('command/text', simpit.LogFlags.SCREEN, message.data)

    def _log(self, message: SimpitLog) -> None:
        self._write('command/log', message.flags, message.text)

    def _write(self, what: str, flags: int, text: str) -> None:
        if not text:
            raise ValueError('the text is empty')
        size = len(text.encode())
        if size > _LONGEST_LINE:
            raise ValueError(f'the text has {size} bytes, a packet takes {_LONGEST_LINE}')
        self._send(what, simpit.Log(flags, text))

    def _resend_one(self, message: String) -> None:
        profile = self._node.session.profile
        # Without a plugin the session says why it is refused.
        self._send('command/resend', simpit.RequestMessage(0) if profile is None else (
            request_for(message.data, profile)))

    def _packet(self, message: SimpitPacket) -> None:
        packet = simpit.Packet(message.channel, bytes(message.payload))
        self._send('command/packets', packet)
        axes = axes_in(packet, self._node.session.profile)
        if axes & _CONTROLS:
            self._node.gates[''].watchdog.feed()
        if axes & _AXIS_NAMES:
            self.watchdog.feed()

    # Services.

    async def _stage(self, _: Trigger.Request, response: Trigger.Response) -> None:
        await self._send_and_wait(
            'stage', simpit.ActionGroups('activate', ActionGroup.STAGE), response,
            shows='stage')

    async def _next_navball_mode(
        self, _: Trigger.Request, response: Trigger.Response
    ) -> None:
        await self._send_and_wait('next_navball_mode', simpit.NavballMode(), response)

    async def _resend(self, _: Trigger.Request, response: Trigger.Response) -> None:
        await self._send_and_wait(
            'resend', simpit.RequestMessage(0), response, shows='resent')

    async def _ping(self, request: SimpitPing.Request, response: SimpitPing.Response) -> None:
        done: EchoDone = await self._node.pending.wait(
            self._node.link.call, self._node.session.ping, bytes(request.payload))
        response.success = True
        response.payload = array('B', done.payload)
        response.round_trip = done.round_trip


def _verb(message: SimpitActionCommand) -> Verb:
    if message.verb not in _VERBS:
        raise ValueError(f'verb {message.verb} is not one of ACTIVATE, DEACTIVATE, TOGGLE')
    if not message.groups:
        raise ValueError('no action group given')
    check_count('action groups', len(message.groups), _MOST_GROUPS)
    return _VERBS[message.verb]
