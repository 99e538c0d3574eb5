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

"""simpit_node: Kerbal Space Program with Kerbal Simpit, over a serial port."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
import time
from typing import Any

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.bridges.links.ports import check_port
from xplane_bridge.bridges.links.serial import PortChanged, SerialCounters, SerialLoop
from xplane_bridge.bridges.nodes.common.datagrams import values_status
from xplane_bridge.bridges.nodes.common.diagnostics import OK, STALE, Status, WARN
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge, Handler
from xplane_bridge.bridges.nodes.vehicle.controls import CommandGate
from xplane_bridge.bridges.nodes.vehicle.watchdog import CommandWatchdog
from xplane_bridge.bridges.sessions.base import PeerChanged, PeerState
from xplane_bridge.bridges.simpit import conversion as conversions
from xplane_bridge.bridges.simpit.node.cockpits import Cockpits
from xplane_bridge.bridges.simpit.node.commands import SimpitCommands
from xplane_bridge.bridges.simpit.node.messages import Publisher
from xplane_bridge.bridges.simpit.node.parameters import (
    EVERYTHING,
    read_channels,
    read_cockpits,
    read_games,
    read_profiles,
    SimpitParameters,
)
from xplane_bridge.bridges.simpit.node.topics import all_topics
from xplane_bridge.bridges.simpit.protocol import PROFILES
from xplane_bridge.bridges.simpit.session import (
    Connected,
    EchoDone,
    Lapsed,
    ProfileHint,
    ProfileKnown,
    SimpitSession,
    STACK,
    Telemetry,
)
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.text import counted

# Vessels have no flaps or speedbrake.
_CONTROLS = (*FLOWN, 'gear')
# A byte with its start and stop bit.
_BITS = 10.0
# Echoes in a row that do not come back in flight: what a plugin cannot read ends its reader, while
# its telemetry goes on (docs/wire/simpit.md, section 2.1).
_DEAF = 5


class SimpitNode(Bridge[SimpitParameters, SimpitSession]):
    """Bridge one Kerbal Space Program, acting as the device at the plugin's serial port."""

    peer = 'the plugin'
    piece = 'packet'
    good = PeerState.STREAMING

    link: SerialLoop

    def __init__(self, **options: Any) -> None:
        super().__init__('simpit_node', SimpitParameters, **options)
        # Ports of other nodes in this process.
        self.elsewhere: Collection[str] = ()

    def check(self, given: SimpitParameters) -> None:
        """Require the port; refuse channels that do not exist."""
        if given.ports:
            read_games(given.ports)
            raise ValueError(
                'parameter ports: give either port or ports, at the start of the process')
        if not given.port:
            raise ValueError(
                'parameter port: it is required, for example /dev/ttyUSB0; /dev/serial/by-id has '
                'stable names')
        check_port(given.port, given.baud)
        read_cockpits(given, self.elsewhere)
        SimpitSession(read_channels(given), profile=given.profile)

    # Lifecycle.

    def open(self) -> None:
        """Open the game's port, then those of the cockpits."""
        super().open()
        self._cockpits.start()

    def close(self) -> None:
        """Close the ports, the game's first: what cockpits command then goes nowhere."""
        super().close()
        self._cockpits.close()

    def make_session(self) -> SimpitSession:
        """Return the session with the plugin."""
        given = self.parameters
        return SimpitSession(
            read_channels(given), profile=given.profile, agx=given.action_groups_extended,
            line_rate=given.baud / _BITS, lifetime=given.command_lifetime,
            release_throttle=given.release_throttle, name=given.port)

    def make_link(self) -> SerialLoop:
        """Return the port, which may disappear and return."""
        given = self.parameters
        return SerialLoop(
            self.session, given.port, given.baud, self.on_event, self.on_failure,
            name='simpit link')

    def make_topics(self) -> None:
        """Create publishers, the gate of command/controls, other commands and services."""
        given = self.parameters
        self._publisher = Publisher(self, given.frame_prefix + given.base_frame)
        self._publisher.offer(read_channels(given), read_profiles(given))
        self.plausibilities[''] = self._publisher.plausibility
        self.gates[''] = CommandGate(
            self, self._send, self._release, takes=_CONTROLS, neutral=self._centre)
        self._commands = SimpitCommands(self)
        self._state = self.session.peer_state
        self._without_axis = 0
        self._cockpits = Cockpits(self)

    def made_later(self) -> Sequence[str]:
        """Return the topics of all channels, as the parameter is live."""
        return all_topics()

    def watchdogs(self) -> Iterable[CommandWatchdog]:
        """Return the watchdogs of command/controls and command/axes."""
        return (*super().watchdogs(), self._commands.watchdog)

    def changed(self, given: SimpitParameters) -> None:
        """Use new live parameters."""
        super().changed(given)
        self._cockpits.changed(given)
        if given.channels != self.parameters.channels:
            self._publisher.offer(read_channels(given), read_profiles(given))
            self.link.call(self.session.set_channels, read_channels(given))

    def peer_address(self) -> str:
        """Return the port."""
        return self.parameters.port

    # Commands: in the executor.

    def _send(self, controls: Controls) -> None:
        if not controls.given().keys() <= set(_CONTROLS):
            self._without_axis += 1
        axes = conversions.to_wire(controls)
        self.link.call(
            lambda now: self.session.set_controls(axes, now, what='command/controls'))

    def _release(self) -> None:
        self.link.call(self.session.release)

    def _centre(self) -> None:
        self.link.call(self.session.centre)

    # From the peer: in the link's thread.

    def on_event(self, event: Any, stamp_ns: int) -> None:
        """Pass an event to its handler, and to the cockpits."""
        super().on_event(event, stamp_ns)
        self._cockpits.on_game_event(event)

    def handlers(self) -> dict[type, Handler]:
        """Return the handlers of the events of the session and the port."""
        return {
            Telemetry: self._publish,
            Lapsed: self._lapse,
            EchoDone: lambda event, _: self.pending.end(event),
            PeerChanged: self._on_state,
            PortChanged: self._on_port,
            Connected: self._on_connected,
            ProfileHint: lambda event, _: self.warn('hint', event.text),
            ProfileKnown: lambda event, _: self.inform(
                'profile', f"the plugin has profile '{event.profile}': {event.text}"),
        }

    def _publish(self, event: Telemetry, stamp_ns: int) -> None:
        if self.active:
            self._publisher.publish(event, self.stamps.received(stamp_ns))
            self.last_update = time.monotonic()

    def _lapse(self, event: Lapsed, stamp_ns: int) -> None:
        if self.active:
            self._publisher.lapse(event.channels, self.stamps.received(stamp_ns))

    def _on_state(self, event: PeerChanged, stamp_ns: int) -> None:
        if self.active:
            if event.state is PeerState.STREAMING:
                if self.stamps.received(stamp_ns) is not None:
                    self._publisher.tell_flight(True)
            elif self._state is PeerState.STREAMING:
                self._publisher.withdraw(self.stamps.received(stamp_ns))
        self.tell(event.state)
        self._state = event.state

    def tell(self, state: PeerState) -> None:
        """Log a new state of the plugin."""
        if state is PeerState.STREAMING:
            self.inform('streaming', self.session.sentences[state])
        elif state is PeerState.AWAY:
            self.warn('away', self.hint(state))
        elif state is PeerState.ANSWERING and self._state is PeerState.STREAMING:
            self.inform('scene', 'no more telemetry arrives; has the flight scene been left?')

    def _on_port(self, event: PortChanged, _: int) -> None:
        if event.is_open:
            self.inform('open', event.text)
        else:
            self.warn('closed', event.text)

    def _on_connected(self, event: Connected, _: int) -> None:
        self._publisher.forget()
        self.inform(
            f'connected {event.profile}', f"{event.game.value} answers; profile '{event.profile}' "
            f'(plugins {PROFILES[event.profile].plugins})')

    # Diagnostics.

    def peer_fault(self) -> str:
        """Return the status for telemetry that arrives while nothing that we send is read."""
        if self.session.lost_echoes < _DEAF:
            return ''
        return (
            'telemetry arrives, but no echo comes back: the plugin no longer reads this port; '
            'restart the game')

    def diagnose_link(self, counters: SerialCounters) -> Status:
        """Return the status of the port and its packets."""
        status, statistics = self.link.status, self.session.statistics
        framing = self.session.framing
        malformed = sum(statistics.malformed.values())
        level, text = OK, status.text
        if not status.is_open:
            level = WARN
        elif malformed or framing.bad_checksum:
            level = WARN
            text = (counted(malformed + framing.bad_checksum, 'damaged packet')
                    + (f': {statistics.last_error}' if malformed else ''))
        return Status('link', level, text, (
            ('port', self.parameters.port),
            ('baud', str(self.parameters.baud)),
            ('bytes received', str(counters.received)),
            ('bytes sent', str(counters.sent)),
            ('opened', str(counters.opened)),
            ('lost', str(counters.lost)),
            ('stuck', str(counters.stuck)),
            ('packets', str(framing.packets)),
            ('noise, bytes', str(framing.noise_bytes)),
            ('bad sizes', str(framing.bad_size + framing.oversize)),
            ('bad checksums', str(framing.bad_checksum)),
            ('bad COBS frames', str(framing.bad_cobs)),
            ('frames without an end', str(framing.stalled)),
            *((f'malformed {name}', str(count))
              for name, count in sorted(statistics.malformed.items())),
        ))

    def peer_values(self) -> Sequence[tuple[str, str]]:
        """Return what is known about the plugin."""
        session, statistics = self.session, self.session.statistics
        trip, profile, game = session.round_trip, session.profile, session.game
        return (
            ('profile', profile.name if profile else 'not known yet'),
            ('plugins of that profile', profile.plugins if profile else ''),
            ('game', game.value if game else 'not known yet'),
            ('handshakes', str(statistics.handshakes)),
            ('tries', str(statistics.syns)),
            ('round trip, s', 'none yet' if trip is None else f'{trip:.4f}'),
            ('echoes', str(statistics.echoes)),
            ('echoes unanswered', str(statistics.echoes_lost)),
            ('taken from the player', ', '.join(session.taken) or 'nothing'),
        )

    def diagnose_values(self, now: float) -> Sequence[Status]:
        """List the missing channels: listed in the parameter, or received before."""
        session = self.session
        if session.peer_state is not PeerState.STREAMING:
            return (Status('values', OK, 'none are expected outside the flight scene'),)
        missing = session.missing(now)
        never = missing.keys() - session.came - set(self.parameters.channels)
        status = values_status(
            [name for name in session.wanted if name not in never],
            {name: since for name, since in missing.items() if name not in never}, now)
        unknown = ', '.join(session.unknown)
        if unknown:
            status = replace(status, level=WARN, message=(
                f'{status.message}; unknown until it changes, as packets were lost: {unknown}'))
        return (replace(status, values=(
            ('never came from this plugin', ', '.join(sorted(never)) or 'none'),
            ('lost, and sent on a change only', unknown or 'none'))),)

    def diagnose_telemetry(self, now: float) -> Status:
        """Return what arrives, and which requested channels this plugin does not have."""
        status, session = super().diagnose_telemetry(now), self.session
        missing = () if EVERYTHING in self.parameters.channels else session.unavailable
        if not missing:
            return status
        return replace(
            status, level=STALE if status.level == STALE else WARN,
            message=f'{status.message}; this plugin does not have {", ".join(missing)}')

    def telemetry_values(
        self, rates: Mapping[Any, float], now: float
    ) -> Sequence[tuple[str, str]]:
        """Return the packet rate of each channel."""
        return (
            ('channels registered', str(len(self.session.registered))),
            *((f'{name}: packets/s', f'{rate:.1f}') for name, rate in sorted(rates.items())),
            ('not requested', str(self.session.statistics.unexpected)),
        )

    def diagnose_more(self, now: float) -> Iterable[Status]:
        """Return the state of the cockpits too."""
        return (*super().diagnose_more(now), *self._cockpits.diagnose())

    def command_values(self) -> Iterable[tuple[str, str]]:
        """Return the outcome of commands."""
        statistics = self.session.statistics
        return (
            ('controls', str(self.gates[''].commands)),
            ('packets sent', str(statistics.commands)),
            ('superseded by newer ones', str(statistics.held_back)),
            ('values withheld, as a cockpit has the axis', str(self.session.withheld[STACK])),
            ('flaps or speedbrake, which no vessel has', str(self._without_axis)),
        )
