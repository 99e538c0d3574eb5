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


"""Cockpits that share the game of one simpit_node: their ports, topics and diagnostics."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Any

from xplane_bridge.bridges.conversions.masks import Mask
from xplane_bridge.bridges.links.serial import PortChanged, SerialLoop
from xplane_bridge.bridges.nodes.common.diagnostics import OK, Status, WARN
from xplane_bridge.bridges.nodes.common.stamps import write_stamp
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge
from xplane_bridge.bridges.nodes.vehicle.controls import CONTROLS_MASK
from xplane_bridge.bridges.sessions.base import PeerAbsentError, PeerChanged, PeerState
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.conversion import axes_from_wire, groups_in
from xplane_bridge.bridges.simpit.node.messages import AXES_MASK
from xplane_bridge.bridges.simpit.node.parameters import (
    CockpitPort,
    read_cockpits,
    SimpitParameters,
)
from xplane_bridge.bridges.simpit.session import (
    CockpitCommand,
    CockpitLeft,
    CockpitSession,
    CockpitWants,
    Connected,
    Presence,
    ProfileHint,
    ProfileKnown,
    Shared,
    SimpitSession,
)
from xplane_bridge.common.text import printable
from xplane_bridge.msg import FlightControls, SimpitActionCommand, SimpitAxes, SimpitPacket

# A byte with its start and stop bit.
_BITS = 10.0
# After these events of the game's session a cockpit may find another game.
_NEWS = (PeerChanged, Connected, ProfileHint, ProfileKnown)
_VERBS = {
    'activate': SimpitActionCommand.ACTIVATE, 'deactivate': SimpitActionCommand.DEACTIVATE,
    'toggle': SimpitActionCommand.TOGGLE}
_DEPTH = 50


class Cockpits:
    """
    The cockpits of one node; without any, nothing.

    Each has a session and a link of its own, whose thread settles its events. What the game's
    link receives is passed on in that link's thread.
    """

    def __init__(self, node: Bridge[SimpitParameters, SimpitSession]) -> None:
        self._node = node
        self._presence = Presence()
        ports = read_cockpits(node.parameters)
        topics = _Topics(node) if ports else None
        self._cockpits = [_Cockpit(node, port, topics) for port in ports if topics]
        self.changed(node.parameters)

    def changed(self, given: SimpitParameters) -> None:
        """Use new live parameters."""
        self._node.session.configure_ownership(
            rule=given.cockpit_rule, threshold=given.cockpit_threshold,
            lease=given.command_timeout)

    def start(self) -> None:
        """Open the ports."""
        for cockpit in self._cockpits:
            cockpit.link.start()
            cockpit.link.call(cockpit.session.start)

    def close(self) -> None:
        """Close the ports and join their threads."""
        for cockpit in self._cockpits:
            cockpit.link.close()

    def on_game_event(self, event: Any) -> None:
        """Pass on what concerns cockpits; in the thread of the game's link."""
        if not self._cockpits:
            return
        if isinstance(event, Shared):
            for cockpit in self._cockpits:
                cockpit.link.call(cockpit.session.forward, event.name, event.packet)
        elif isinstance(event, _NEWS):
            with self._node.link.lock:
                presence = self._node.session.presence
            if presence != self._presence:
                self._presence = presence
                for cockpit in self._cockpits:
                    cockpit.link.call(cockpit.session.set_game, presence)

    def diagnose(self) -> Iterable[Status]:
        """Return a status for each cockpit."""
        return [cockpit.diagnose() for cockpit in self._cockpits]


class _Cockpit:
    """One cockpit: its session, its link, and what becomes of its events."""

    def __init__(
        self, node: Bridge[SimpitParameters, SimpitSession], port: CockpitPort, topics: _Topics
    ) -> None:
        self._node = node
        self._port = port
        self.session = CockpitSession(profile=port.profile, line_rate=port.baud / _BITS)
        self._topics = topics
        self.link = SerialLoop(
            self.session, port.port, port.baud, self._on_event, node.on_failure,
            name=f'cockpit {port.port}', tells_closed=True)

    # In the thread of its link.

    def _on_event(self, event: Any, stamp_ns: int) -> None:
        if isinstance(event, CockpitCommand):
            self._command(event, stamp_ns)
        elif isinstance(event, CockpitWants):
            self._node.link.call(
                self._node.session.share, self._port.port, event.channels, event.again)
        elif isinstance(event, CockpitLeft):
            what = self._node.parameters.on_command_timeout
            self._node.link.call(self._node.session.let_go, self._port.port, what)
            self._say('left', f'{event.why}; its axes: {what}')
        elif isinstance(event, PortChanged):
            self._say('port', event.text)
        elif isinstance(event, PeerChanged) and event.state not in (
                PeerState.UNKNOWN, PeerState.CLOSED):
            self._say(event.state.value, CockpitSession.sentences[event.state])

    def _command(self, event: CockpitCommand, stamp_ns: int) -> None:
        message = event.message
        if self._node.active:
            self._topics.publish(self._port.port, event, self._node.stamps.received(stamp_ns))
        if isinstance(message, simpit.Log):
            self._say('log', f'says "{message.text.rstrip(chr(0))}"')
        try:
            self._node.link.call(lambda now: self._node.session.send(
                message, now, what=f'{self._port.port}: {message.tag}', source=self._port.port))
        except PeerAbsentError:
            with self.link.lock:
                self.session.statistics.refused.add(message.tag)
        except (ValueError, TypeError) as error:
            with self.link.lock:
                self.session.statistics.dropped.add(message.tag)
                self.session.statistics.last_error = str(error)

    def _say(self, kind: str, text: str) -> None:
        self._node.inform(
            f'{self._port.port} {kind}', f'cockpit {self._port.port}: {printable(text)}')

    # In the executor, with the game's session locked.

    def diagnose(self) -> Status:
        """Return the state of the cockpit."""
        game = self._node.session
        counters = self.link.counters()
        with self.link.lock:
            session, statistics = self.session, self.session.statistics
            profile = session.profile
            state = session.peer_state
            text = session.sentences[state]
            if state is PeerState.CLOSED:
                text = self.link.status.text
            level = OK if state in (PeerState.STREAMING, PeerState.ANSWERING) else WARN
            lacking = session.lacking
            if level == OK and lacking:
                text += f'; the game does not have {", ".join(lacking)}'
            return Status(f'cockpit {self._port.port}', level, text, (
                ('state', state.value),
                ('profile', profile.name if profile else 'not known yet'),
                ('profile is', 'set' if session.chosen else 'recognised'),
                ('channels registered', str(len(session.registered))),
                ('channels that the game lacks', ', '.join(lacking) or 'none'),
                ('opened', str(counters.opened)),
                ('bytes from it', str(counters.received)),
                ('bytes that are no packet', str(session.noise)),
                ('packets from it', str(statistics.received)),
                ('packets to it', str(statistics.sent)),
                ('replaced by newer ones', str(statistics.held_back)),
                ('axes that it holds',
                 ', '.join(game.held_by(self._port.port)) or 'none'),
                ('values withheld from it', str(game.withheld[self._port.port])),
                ('refused: no game in flight', _counts_text(statistics.refused)),
                ('dropped', _counts_text(statistics.dropped)),
                ('damaged', _counts_text(statistics.malformed)),
                ('last problem', statistics.last_error or 'none'),
            ))


def _counts_text(kinds: Any) -> str:
    """Return counts by kind, for people."""
    return ', '.join(f'{kind} {count}' for kind, count in sorted(kinds.items())) or '0'


class _Topics:
    """Publishers of what cockpits command, below cockpit/; frame_id is the cockpit's port."""

    def __init__(self, node: Bridge[SimpitParameters, SimpitSession]) -> None:
        self._publishers = {
            topic: node.make_publisher(kind, f'cockpit/{topic}', _DEPTH)
            for topic, kind in (
                ('controls', FlightControls), ('axes', SimpitAxes),
                ('action_groups', SimpitActionCommand),
                ('custom_action_groups', SimpitActionCommand), ('packets', SimpitPacket))}

    def publish(self, port: str, event: CockpitCommand, stamp_ns: int | None) -> None:
        """
        Publish a command, converted and raw; nothing while there is no time yet.

        The links' threads may call this at the same time: no message is shared.
        """
        if stamp_ns is None:
            return
        message = event.message
        if isinstance(message, simpit.Axes):
            controls, axes = axes_from_wire(simpit.axis_values(message))
            if controls:
                self._send('controls', _filled(FlightControls, CONTROLS_MASK, controls), port,
                           stamp_ns)
            if axes:
                self._send('axes', _filled(SimpitAxes, AXES_MASK, axes), port, stamp_ns)
        elif isinstance(message, simpit.ActionGroups):
            self._publishers['action_groups'].publish(SimpitActionCommand(
                verb=_VERBS[message.verb],
                groups=array('B', groups_in(int(message.action_bits)))))
        elif isinstance(message, simpit.CustomActionGroups):
            self._publishers['custom_action_groups'].publish(SimpitActionCommand(
                verb=_VERBS[message.verb], groups=array('B', message.groups)))
        self._send('packets', SimpitPacket(
            channel=event.packet.channel, payload=array('B', event.packet.payload)), port,
            stamp_ns)

    def _send(self, topic: str, out: Any, port: str, stamp_ns: int) -> None:
        out.header.frame_id = port
        write_stamp(out, stamp_ns)
        self._publishers[topic].publish(out)


def _filled(kind: type[Any], mask: Mask, values: Mapping[str, float]) -> Any:
    out = kind()
    mask.fill(out, values)
    return out
