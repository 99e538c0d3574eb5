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

"""xpc_node: X-Plane through NASA's X-Plane Connect plugin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from xplane_bridge.bridges.conversions.vehicle import Controls, EngineControls
from xplane_bridge.bridges.conversions.xplane import levers as xplane_levers
from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.links.captures.replay import ReplayLoop
from xplane_bridge.bridges.links.loop import SessionLoop, UdpLoop
from xplane_bridge.bridges.links.udp import LinkError, resolve, UdpSocket
from xplane_bridge.bridges.nodes.common.datagrams import RateMeter, values_status
from xplane_bridge.bridges.nodes.common.diagnostics import OK, Status, WARN
from xplane_bridge.bridges.nodes.common.lists import watched
from xplane_bridge.bridges.nodes.common.running import run
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge, Handler
from xplane_bridge.bridges.nodes.vehicle.clock import SimulatorClock, SimulatorTime
from xplane_bridge.bridges.nodes.vehicle.controls import CommandGate
from xplane_bridge.bridges.nodes.vehicle.engines import EngineGate
from xplane_bridge.bridges.nodes.vehicle.publisher import make_undulation
from xplane_bridge.bridges.sessions.base import PeerChanged, PeerState
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.node.commands import XpcCommands
from xplane_bridge.bridges.xpc.node.messages import polled, Publisher
from xplane_bridge.bridges.xpc.node.parameters import XpcParameters
from xplane_bridge.bridges.xpc.session import (
    BEACON_CHANNEL,
    PeerReplaced,
    PluginVersion,
    Telemetry,
    WatchedDatarefs,
    XpcSession,
)
from xplane_bridge.bridges.xpc.sockets import PluginSockets
from xplane_bridge.common.controls import CONTROLS

# Whether xpc_node's telemetry arrives as often as asked, and why not.

# Less than this of a rate is too little; a whole frame more or less in a second is not.
_ENOUGH = 0.9
# This many diagnostics in a row: at first it is found out how far away the plugin is.
_PATIENCE = 5
# What counts as a reason: the share of updates that waited for the budget, of lost replies.
_HELD = 0.05
_LOST = 0.02


class RatesReport:
    """Compare the rates of telemetry and datarefs with those asked for, once per diagnostics."""

    def __init__(self) -> None:
        self._rates = RateMeter()
        self._short_for: dict[str, int] = {}

    def status(
        self, session: XpcSession, given: XpcParameters, now: float, *, applies: bool
    ) -> Status:
        """Return the status; with ``applies`` False no rate is promised now."""
        statistics = session.statistics
        rates = self._rates.per_second({
            **statistics.updates, 'datarefs': statistics.watched,
            'requests': statistics.requests, 'lost': statistics.lost,
            'held': statistics.held_by_budget}, now)
        wanted = self._wanted(session, given) if applies else {}
        short = {
            name: rates.get(number, 0.0) for name, (number, asked) in wanted.items()
            if rates.get(number, 0.0) < _ENOUGH * asked}
        self._short_for = {name: self._short_for.get(name, 0) + 1 for name in short}
        values = tuple(
            (f'{name}: asked, 1/s', f'{asked:.1f}') for name, (_, asked) in wanted.items())
        for name, got in short.items():
            asked = wanted[name][1]
            if self._short_for[name] >= _PATIENCE:
                return Status(
                    'rates', WARN, f'{name}: {got:.1f} updates per second instead of {asked:.1f}; '
                    + _reason(session, given, asked, rates), values)
        return Status('rates', OK, 'as asked' if wanted else 'none asked', values)

    @staticmethod
    def _wanted(session: XpcSession, given: XpcParameters) -> dict[str, tuple[Any, float]]:
        """Return the keys of the counters, and the rates asked for, by name."""
        asked = given.rate or session.frame_rate
        wanted: dict[str, tuple[Any, float]] = {}
        if asked:
            wanted = {f'aircraft {number}': (number, asked) for number in given.aircraft}
        if any(given.datarefs):
            wanted['datarefs'] = 'datarefs', given.datarefs_rate
        return wanted


def _reason(
    session: XpcSession, given: XpcParameters, asked: float, rates: Mapping[Any, float]
) -> str:
    """Return why a rate is not reached."""
    frames, trip = session.frame_rate, session.round_trip
    if rates['held'] > _HELD * asked:
        return f'max_datagrams_per_second ({given.max_datagrams_per_second:g}) is used up'
    if frames is not None and frames < asked:
        return f'X-Plane draws {frames:.0f} frames per second'
    if rates['lost'] > _LOST * rates['requests']:
        share = 100.0 * rates['lost'] / max(rates['requests'], 1.0)
        return f'{share:.0f} % of the replies are lost, or late'
    if trip is not None and trip > 1.0 / asked:
        return f'the round trip of {1e3 * trip:.0f} ms is too long'
    return 'the plugin answers too slowly'


# X-Plane has neither brakes nor trims of other aircraft.
_OF_OTHERS = tuple(name for name in CONTROLS if name not in xplane_levers.LEVERS)


class XpcNode(Bridge[XpcParameters, XpcSession]):
    """Bridge one X-Plane with the X-Plane Connect plugin."""

    peer = 'X-Plane Connect'

    def __init__(self, **options: Any) -> None:
        super().__init__('xpc_node', XpcParameters, **options)
        self._simulator_time = SimulatorTime()

    # Lifecycle.

    def make_session(self) -> XpcSession:
        """Return the session, which needs to know whether beacons can be received."""
        given = self.parameters
        self._sockets = PluginSockets(resolve(given.host), given.port, given.bind_address)
        # A bad bind address must stop configuring, not the first datagram.
        self._sockets.open('').close()
        self._beacons = {} if given.capture_file else self._open_beacon()
        return XpcSession(
            polled(given.aircraft, given.derive),
            rate=given.rate,
            budget=given.max_datagrams_per_second,
            lifetime=given.command_lifetime,
            plugin_version=None if given.plugin == 'auto' else PluginVersion(given.plugin),
            hears_beacons=bool(self._beacons or given.capture_file),
            address=self.peer_address(),
            port=given.port,
            lockstep=given.lockstep,
        )

    def make_replay(self) -> ReplayLoop:
        """Accept the plugin's replies to anybody, and its beacons."""
        return self.replay(
            channels={xpc.BEACON_PORT: BEACON_CHANNEL}, peer_port=self.parameters.port)

    def make_link(self) -> SessionLoop:
        """Open channels to the plugin."""
        return UdpLoop(
            self.session, self._sockets.open, self.on_event, self.on_failure,
            channels=self._beacons, name='xpc link')

    def _open_beacon(self) -> dict[str, UdpSocket]:
        """Listen for the plugin's beacon, if the network has multicast."""
        try:
            return {BEACON_CHANNEL: self._sockets.open_beacon()}
        except LinkError as error:
            self.get_logger().info(
                f'no beacons ({error}); a loading simulator cannot be told from an absent one')
            return {}

    def make_topics(self) -> None:
        """Create publishers, a gate for each aircraft, other commands and services."""
        given = self.parameters
        undulation = make_undulation(given)
        self.get_logger().info(undulation.description)
        self.publisher = Publisher(self, undulation)
        for number, vehicle in self.publisher.vehicles.items():
            prefix = given.prefix_of(number)
            self.plausibilities[f'aircraft {number}: ' if number else ''] = vehicle.plausibility
            self.gates[prefix] = CommandGate(
                self, partial(self._send, number), partial(self._release, number),
                prefix, neutral=partial(self._centre, number),
                takes=_OF_OTHERS if number else CONTROLS)
        if 0 in given.aircraft:
            self._engines = EngineGate(self, self._send_engines, given.prefix_of(0))
        if given.stamp == 'simulator':
            self.simulator_clock = SimulatorClock(self, self._simulator_time)
        self._commands = XpcCommands(self, undulation, self.publisher)
        self._datarefs_rate = RateMeter()
        self._rates_report = RatesReport()

    def begin(self) -> None:
        """Start polling."""
        super().begin()
        self._watch(self.parameters)

    def changed(self, given: XpcParameters) -> None:
        """Use new live parameters."""
        old = self.parameters
        # This may be refused: then nothing has changed.
        if (given.datarefs, given.datarefs_rate) != (old.datarefs, old.datarefs_rate):
            self._watch(given)
        super().changed(given)

    def _watch(self, given: XpcParameters) -> None:
        self.link.call(self.session.watch, watched(given.datarefs), given.datarefs_rate)

    def peer_address(self) -> str:
        """Return where the plugin is."""
        return f'{self.parameters.host}:{self.parameters.port}'

    # Commands: in the executor.

    def _send(self, number: int, controls: Controls) -> None:
        if number == 0 and self.parameters.override_joystick:
            self.link.call(self.session.take_joystick)
        given = controls.given()
        levers = {name: given.pop(name) for name in xplane_levers.LEVERS if name in given}
        if given:
            self.link.call(partial(self.session.set_controls, vehicle=number), given)
        if levers:
            self.link.call(self.session.set_levers, xplane_levers.lever_datarefs(levers))

    def _send_engines(self, engines: EngineControls) -> None:
        self.link.call(self.session.set_levers, xplane_levers.engine_datarefs(engines))

    def _centre(self, number: int) -> None:
        self.link.call(partial(self.session.centre, vehicle=number))

    def _release(self, number: int) -> None:
        self.link.call(partial(self.session.release, vehicle=number))

    # From the peer: in the link's thread.

    def handlers(self) -> dict[type, Handler]:
        """Return the handlers of the session's own events."""
        return {
            Telemetry: self._publish,
            WatchedDatarefs: self.publisher.publish_datarefs,
            PeerReplaced: self._on_replaced,
            PeerChanged: self._on_changed,
        }

    def _publish(self, event: Telemetry, stamp_ns: int) -> None:
        if self.active:
            self.publisher.publish(event, stamp_ns)

    def _on_changed(self, event: PeerChanged, stamp_ns: int) -> None:
        self.tell(event.state)
        if self.active and event.state is not PeerState.ANSWERING:
            self.publisher.fall_silent(stamp_ns)

    def _on_replaced(self, event: PeerReplaced, _: int) -> None:
        self.warn(
            'replaced', f'another X-Plane answers at {self.parameters.host}: {event.reason}')

    # Diagnostics.

    def peer_values(self) -> Sequence[tuple[str, str]]:
        """Return what is known about the plugin, and the outcome of requests."""
        session, statistics = self.session, self.session.statistics
        plugin_version, beacon = session.plugin_version, session.beacon
        return (
            ('plugin version', plugin_version.value if plugin_version else 'not known yet'),
            ('X-Plane version', str(beacon.xplane_version) if beacon else 'no beacon heard'),
            ('requests', str(statistics.requests)),
            ('replies', str(statistics.replies)),
            ('lost', str(statistics.lost)),
            ('late or unexpected', str(statistics.unexpected)),
            ('round trip, ms', '' if session.round_trip is None
             else f'{1e3 * session.round_trip:.1f}'),
            ('replies from two frames', str(statistics.split)),
            ('overtaken by newer ones', str(statistics.overtaken)),
            ('frames answered twice', str(statistics.repeated)),
            ('taken from the user', ', '.join(sorted(session.taken)) or 'nothing'),
            ('held, but not by this node', ', '.join(session.held_by_others) or 'nothing'),
        )

    def diagnose_values(self, now: float) -> Sequence[Status]:
        """Return the missing datarefs, except those that another one replaces."""
        if not self.active:
            return super().diagnose_values(now)
        missing = self.session.missing(now)
        return (values_status(
            self.session.wanted, {name: missing[name] for name in xplane.missed(missing)}, now),)

    def telemetry_values(
        self, rates: Mapping[Any, float], now: float
    ) -> Sequence[tuple[str, str]]:
        """Return the rates, and an indication of whether local_ay contains gravity."""
        count = self.session.statistics.watched
        datarefs = self._datarefs_rate.per_second({'datarefs': count}, now)['datarefs']
        difference = self.publisher.force_difference()
        return (
            *((f'aircraft {number}: updates/s', f'{rates.get(number, 0.0):.1f}')
              for number in self.parameters.aircraft),
            ('aircraft in shared requests',
             ', '.join(map(str, self.session.shared)) or 'none'),
            ('datarefs: updates/s', f'{datarefs:.1f}'),
            ('g loads against acceleration, m/s^2',
             '' if difference is None else f'{difference:.3f}'),
        )

    def diagnose_more(self, now: float) -> Iterable[Status]:
        """Return additional statuses."""
        yield from super().diagnose_more(now)
        given = self.parameters
        yield self._rates_report.status(
            self.session, given, now,
            applies=self.active and self.session.peer_state is PeerState.ANSWERING
            and not given.lockstep and not given.capture_file)

    def command_values(self) -> Iterable[tuple[str, str]]:
        """Return how many commands arrived."""
        given = self.parameters
        return (
            *((f'aircraft {number}: commands', str(self.gates[given.prefix_of(number)].commands))
              for number in given.aircraft),
            ('merged, budget used up', str(self.session.statistics.held_back)),
        )


def main(args: Sequence[str] | None = None) -> int:
    """Run xpc_node; return the process's exit code."""
    return run(XpcNode, XpcParameters, args)
