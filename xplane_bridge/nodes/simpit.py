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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
import time
from typing import Any

from xplane_bridge.conversions import simpit as conversions
from xplane_bridge.conversions.vehicle import Controls
from xplane_bridge.links.serial import check_port, PortChanged, SerialCounters, SerialLoop
from xplane_bridge.nodes.base import BridgeNode, OK, run, STALE, Status, WARN
from xplane_bridge.nodes.datagrams import values_status
from xplane_bridge.nodes.parameters import parameter
from xplane_bridge.nodes.plausibility import plausibility_status
from xplane_bridge.nodes.simpit_commands import SimpitCommands
from xplane_bridge.nodes.simpit_telemetry import SimpitTelemetry
from xplane_bridge.nodes.vehicle import CommandGate, CommandParameters
from xplane_bridge.protocols import simpit
from xplane_bridge.protocols.simpit import Profile, PROFILES
from xplane_bridge.sessions.base import CommandDone
from xplane_bridge.sessions.simpit import (
    Connected,
    EchoDone,
    Event,
    PeerChanged,
    PeerState,
    ProfileHint,
    ProfileKnown,
    registrable,
    SimpitSession,
    Telemetry,
)

_AUTO = 'auto'
_EVERYTHING = '*'
_FRESH = 1.0
# Vessels have no flaps or speedbrake.
_SURFACES = frozenset(('pitch', 'roll', 'yaw'))
_CONTROLS = ('elevator', 'aileron', 'rudder', 'throttle', 'gear')
# A byte with its start and stop bit.
_BITS = 10.0


@dataclass(frozen=True)
class SimpitParameters(CommandParameters):
    """Parameters of simpit_node."""

    frame_prefix: str = parameter('', 'Put before every frame name, for example "uav1/".')
    base_frame: str = parameter('base_link', 'Frame of the vessel: forward, left, up.')
    port: str = parameter(
        '', 'Serial port whose other end the plugin has: a device (/dev/serial/by-id/... keeps '
        'its name), or a URL of pyserial (socket://host:port, rfc2217://host:port). Required.')
    baud: int = parameter(
        115200, "Baud rate, as in the plugin's Settings.cfg.", minimum=1, maximum=4_000_000)
    profile: str = parameter(
        _AUTO, 'Generation of the plugin: '
        + ', '.join(f'{profile.name} is {profile.plugins}' for profile in PROFILES.values())
        + '. auto finds out: the framing at once, which of the older ones it is in the flight '
        'scene. cobs is 2.2, 2.3 or KSP2, and sends nothing that harms one of them.',
        choices=(_AUTO, *PROFILES))
    channels: tuple[str, ...] = parameter(
        (_EVERYTHING,), 'Telemetry to ask for: names, patterns with * and ?, or numbers of '
        'channels. "*" is all that the plugin has.', live=True)
    release_throttle: bool = parameter(
        False, "On release and deactivation give the throttle to the player's lever too, which "
        'closes it first: the engines stop. Only plugins from 2.3 on can. Without it the throttle '
        'stays as it was last commanded.')
    action_groups_extended: bool = parameter(
        False, 'The game has the mod Action Groups Extended: custom action groups go to 250.')


def channels_of(given: SimpitParameters) -> tuple[str | int, ...]:
    """Return the channels that are asked for. Raises ValueError for a pattern that fits none."""
    known = dict.fromkeys(
        row.name for profile in _profiles(given) for row in registrable(profile))
    found: dict[str | int, None] = {}
    for pattern in given.channels:
        if isinstance(pattern, int) or pattern.isdecimal():
            found[int(pattern)] = None
        elif '*' in pattern or '?' in pattern:
            fitting = [name for name in known if fnmatchcase(name, pattern)]
            if not fitting:
                raise ValueError(
                    f"parameter channels: '{pattern}' fits none of {', '.join(known)}")
            found |= dict.fromkeys(fitting)
        elif pattern:
            found[pattern] = None
    return tuple(found)


def _profiles(given: SimpitParameters) -> tuple[Profile, ...]:
    """Return the generations that the plugin may be of."""
    return tuple(PROFILES.values()) if given.profile == _AUTO else (PROFILES[given.profile],)


class SimpitNode(BridgeNode[SimpitParameters]):
    """Bridge one Kerbal Space Program, as the device at the other end of a plugin's cable."""

    def __init__(self, **options: Any) -> None:
        super().__init__('simpit_node', SimpitParameters, **options)

    def check(self, given: SimpitParameters) -> None:
        """Ask for the port; refuse channels that do not exist."""
        if not given.port:
            raise ValueError(
                'parameter port: it is required, for example /dev/ttyUSB0; /dev/serial/by-id has '
                'names that stay')
        check_port(given.port, given.baud)
        SimpitSession(channels_of(given), profile=given.profile)

    # Lifecycle.

    def open(self) -> None:
        """Make the session, the port's thread, and everything that ROS sees."""
        given = self.parameters
        self.session = SimpitSession(
            channels_of(given), profile=given.profile, agx=given.action_groups_extended,
            line_rate=given.baud / _BITS, lifetime=given.command_lifetime,
            release_throttle=given.release_throttle, name=given.port)
        self.link = SerialLoop(
            self.session, given.port, given.baud, self._on_event, self._on_failure,
            name='simpit link')
        self._telemetry = SimpitTelemetry(self, given.frame_prefix + given.base_frame)
        self._telemetry.offer(channels_of(given), _profiles(given))
        self.gate = CommandGate(
            self, self._send_controls, self.release, takes=_CONTROLS, neutral=self._centre)
        self._commands = SimpitCommands(self, self.session, self.link)
        self._state = self.session.peer_state
        self._without_axis = 0
        self._last_update = 0.0
        self._seen = (time.monotonic(), dict(self.session.statistics.updates))
        self.link.start()

    def begin(self) -> None:
        """Start to search for the plugin."""
        self.link.call(self.session.start)

    def end(self) -> None:
        """Give back the axes, deregister all channels, and stop talking."""
        self.gate.watchdog.disarm()
        self._commands.watchdog.disarm()
        self.link.call(self.session.stop)

    def close(self) -> None:
        """Close the port and join the thread."""
        self.link.close()
        self.gate.watchdog.close()
        self._commands.watchdog.close()

    def changed(self, given: SimpitParameters) -> None:
        """Use new live parameters."""
        if given.command_timeout != self.parameters.command_timeout:
            self.gate.watchdog.set_timeout(given.command_timeout)
            self._commands.watchdog.set_timeout(given.command_timeout)
        if given.channels != self.parameters.channels:
            self._telemetry.offer(channels_of(given), _profiles(given))
            self.link.call(self.session.set_channels, channels_of(given))

    # From the peer: these run in the link's thread.

    def _on_event(self, event: Event | PortChanged, stamp_ns: int) -> None:
        if isinstance(event, Telemetry):
            if self.active:
                self._telemetry.publish(event, self.stamps.received(stamp_ns))
                self._last_update = time.monotonic()
        elif isinstance(event, EchoDone | CommandDone):
            self._commands.finish(event)
        else:
            if isinstance(event, PeerChanged) and self.active:
                if event.state is PeerState.STREAMING:
                    self._telemetry.tell_flight(self.stamps.received(stamp_ns))
                elif self._state is PeerState.STREAMING:
                    self._telemetry.withdraw(self.stamps.received(stamp_ns))
            self._log(event)

    def _log(self, event: Event | PortChanged) -> None:
        """Say what has changed."""
        if isinstance(event, PortChanged):
            if event.is_open:
                self.inform('open', event.text)
            else:
                self.warn('closed', event.text)
        elif isinstance(event, Connected):
            self._telemetry.reset()
            plugins = PROFILES[event.profile].plugins
            self.inform(
                'connected',
                f"{event.game.value} answers; profile '{event.profile}' (plugins {plugins})")
        elif isinstance(event, ProfileHint):
            self.warn('hint', event.text)
        elif isinstance(event, ProfileKnown):
            self.inform(
                'profile', f"the plugin is of profile '{event.profile}': {event.text}")
        elif isinstance(event, PeerChanged):
            if event.state is PeerState.STREAMING:
                self.inform('streaming', event.state.value)
            elif event.state is PeerState.AWAY:
                self.warn('away', self.session.advice)
            elif event.state is PeerState.ANSWERING and self._state is PeerState.STREAMING:
                self.inform(
                    'scene', 'no telemetry comes any more; has the flight scene been left?')
            self._state = event.state

    def _on_failure(self, error: Exception) -> None:
        self.warn('failure', f'{type(error).__name__} while handling a packet: {error}')

    # For commands: these run in the executor.

    def release(self) -> None:
        """Give back all axes that were taken."""
        self.link.call(self.session.release)

    def _centre(self) -> None:
        """Give back the axes of command/controls that were taken, but not the throttle."""
        self.link.call(lambda now: self.session.release(now, _SURFACES))

    def _send_controls(self, controls: Controls) -> None:
        if not (controls.flaps is controls.speedbrake is None):
            self._without_axis += 1
        asked = [conversions.to_rotation(controls), conversions.to_throttle(controls)]
        # An action, not an axis: sent when the plugin reports another state, not each time.
        groups = {} if controls.gear is None else {simpit.ActionGroup.GEAR: controls.gear >= 0.5}
        self._commands.send(
            'command/controls', *(message for message in asked if message is not None),
            groups=groups)

    # Diagnostics.

    def diagnose(self) -> Sequence[Status]:
        """Return the state of port, plugin, telemetry and commands."""
        now = time.monotonic()
        counters = self.link.counters()
        with self.link.lock:
            updates = dict(self.session.statistics.updates)
            before, seen = self._seen
            self._seen = (now, updates)
            rates = {
                name: (count - seen.get(name, 0)) / max(now - before, 1e-6)
                for name, count in sorted(updates.items())}
            return (
                self._diagnose_link(counters),
                self._diagnose_peer(),
                self._diagnose_telemetry(now, rates),
                self._diagnose_values(now),
                self._diagnose_commands(),
                plausibility_status({'': self._telemetry.plausibility}),
            )

    def _diagnose_link(self, counters: SerialCounters) -> Status:
        status, statistics = self.link.status, self.session.statistics
        framing = self.session.framing
        malformed = sum(statistics.malformed.values())
        level, text = OK, status.text
        if not status.is_open:
            level = WARN
        elif malformed or framing.bad_checksum:
            level = WARN
            text = (f'{malformed + framing.bad_checksum} damaged packets'
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

    def _diagnose_peer(self) -> Status:
        session, statistics = self.session, self.session.statistics
        state, profile = session.peer_state, session.profile
        if not self.active:
            level, text = STALE, 'not active'
        elif state is PeerState.STREAMING:
            level, text = OK, state.value
        else:
            level = WARN
            text = f'{state.value}; {session.advice}' if session.advice else state.value
        trip = session.round_trip
        return Status('peer', level, text, (
            ('state', state.name.lower()),
            ('profile', profile.name if profile else 'not known yet'),
            ('plugins of that profile', profile.plugins if profile else ''),
            ('game', session.game.value if session.game else 'not known yet'),
            ('handshakes', str(statistics.handshakes)),
            ('tries', str(statistics.syns)),
            ('round trip, s', 'none yet' if trip is None else f'{trip:.4f}'),
            ('echoes', str(statistics.echoes)),
            ('echoes without an answer', str(statistics.echoes_lost)),
            ('taken from the player', ', '.join(session.taken) or 'nothing'),
        ))

    def _diagnose_telemetry(self, now: float, rates: dict[str, float]) -> Status:
        session = self.session
        age = now - self._last_update if self._last_update else None
        fresh = age is not None and age < _FRESH
        missing = () if _EVERYTHING in self.parameters.channels else session.unavailable
        text = 'arriving' if fresh else 'nothing arrives'
        if missing:
            text += f'; this plugin does not have {", ".join(missing)}'
        return Status('telemetry', (WARN if missing else OK) if fresh else STALE, text, (
            ('channels registered', str(len(session.registered))),
            *((f'{name}: packets/s', f'{rate:.1f}') for name, rate in rates.items()),
            ('age of the last, s', 'none yet' if age is None else f'{age:.3f}'),
            ('not asked for', str(session.statistics.unexpected)),
        ))

    def _diagnose_values(self, now: float) -> Status:
        """Name the channels that do not come: named in the parameter, or once there."""
        if self.session.peer_state is not PeerState.STREAMING:
            return Status('values', OK, 'none are expected outside the flight scene')
        wanted = set(self.parameters.channels)
        missing = self.session.missing(now)
        never = sorted(
            name for name, (_, came) in missing.items() if not came and name not in wanted)
        status = values_status(
            [name for name in self.session.expected if name not in never],
            {name: since for name, (since, _) in missing.items() if name not in never}, now)
        return replace(status, values=(
            ('never came from this plugin', ', '.join(never) or 'none'),))

    def _diagnose_commands(self) -> Status:
        stopped = self.gate.watchdog.expired or self._commands.watchdog.expired
        statistics = self.session.statistics
        return Status(
            'commands', WARN if stopped else OK,
            'commands stopped coming' if stopped else 'watched', (
                ('controls', str(self.gate.commands)),
                ('packets sent', str(statistics.commands)),
                ('merged into newer ones', str(statistics.held_back)),
                ('flaps or speedbrake, which no vessel has', str(self._without_axis)),
            ))


def main(args: Sequence[str] | None = None) -> int:
    """Run simpit_node; return the process's exit code."""
    return run(SimpitNode, SimpitParameters, args)
