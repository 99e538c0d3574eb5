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

"""xplane_udp_node: X-Plane 6 to 12 over its native UDP interface, without a plugin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from xplane_bridge.bridges.conversions.vehicle import Controls, EngineControls
from xplane_bridge.bridges.conversions.xplane import levers as xplane_levers
from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.conversions.xplane.traffic import FIRST_VERSION, no_targets
from xplane_bridge.bridges.links.captures.replay import ReplayLoop
from xplane_bridge.bridges.links.loop import SessionLoop, UdpLoop
from xplane_bridge.bridges.links.udp import resolve
from xplane_bridge.bridges.nodes.common.datagrams import values_status
from xplane_bridge.bridges.nodes.common.diagnostics import Status
from xplane_bridge.bridges.nodes.common.lists import watched
from xplane_bridge.bridges.nodes.common.running import run
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge, Handler
from xplane_bridge.bridges.nodes.vehicle.clock import SimulatorClock, SimulatorTime
from xplane_bridge.bridges.nodes.vehicle.controls import CommandGate
from xplane_bridge.bridges.nodes.vehicle.engines import EngineGate
from xplane_bridge.bridges.nodes.vehicle.publisher import make_undulation
from xplane_bridge.bridges.protocols.xplane_versions import FIRST_WITH_DATAREFS
from xplane_bridge.bridges.sessions.base import PeerState
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.xplane_udp import protocol as xplane_udp
from xplane_bridge.bridges.xplane_udp.conversion import telemetry_rows
from xplane_bridge.bridges.xplane_udp.node.commands import XplaneUdpCommands
from xplane_bridge.bridges.xplane_udp.node.messages import Publisher
from xplane_bridge.bridges.xplane_udp.node.parameters import XplaneUdpParameters
from xplane_bridge.bridges.xplane_udp.node.poses import Poses
from xplane_bridge.bridges.xplane_udp.node.traffic import Targets
from xplane_bridge.bridges.xplane_udp.node.web_api import WebApi
from xplane_bridge.bridges.xplane_udp.protocol import DataLayout, VERSIONS
from xplane_bridge.bridges.xplane_udp.session import (
    BEACON_CHANNEL,
    DATA_CHANNEL,
    DataArrived,
    DATAREFS,
    RowTelemetry,
    Sources,
    TELEMETRY,
    Telemetry,
    TRAFFIC,
    VersionFound,
    WatchedDatarefs,
    Wire,
    XplaneUdpSession,
)
from xplane_bridge.bridges.xplane_udp.sockets import data_target, Places, Sockets

# These also ran on Macs with the opposite byte order. The platform byte of 6 names the order;
# whether X-Plane respects a client's is not documented.
_ON_OLD_MACS = (6, 7, 8, 9)
_WITH_PLATFORM = 6

_ORDERS: Mapping[str, Literal['little', 'big'] | None] = {
    'auto': None, 'little': 'little', 'big': 'big'}
_TRAILERS = {'auto': None, 'with': True, 'without': False}


class XplaneUdpNode(Bridge[XplaneUdpParameters, XplaneUdpSession]):
    """Bridge one X-Plane over its native UDP interface."""

    peer = 'X-Plane'
    def __init__(self, **options: Any) -> None:
        super().__init__('xplane_udp_node', XplaneUdpParameters, **options)
        self._simulator_time = SimulatorTime()

    # Lifecycle.

    def make_session(self) -> XplaneUdpSession:
        """Return the session, with X-Plane at the given host or one to be discovered."""
        given = self.parameters
        session = XplaneUdpSession(
            Sources(
                {version: _asked(xplane.own_datarefs(version))
                 for version in VERSIONS if version >= FIRST_WITH_DATAREFS},
                {version: telemetry_rows(version) for version in VERSIONS},
            ),
            rate=given.rate,
            version=given.number,
            peer=None if given.discover else (resolve(given.host), given.port),
            by_rows=given.telemetry == 'rows',
            wire_format=Wire(
                byte_order=_ORDERS[given.byte_order],
                trailer=_TRAILERS[given.trailer],
                pacing=given.pacing,
                data_target=self._data_target if given.set_data_target else None,
            ),
            row_kind='trim' if given.command_rows == 'trim' else 'joystick',
            override_joystick=given.override_joystick,
            lifetime=given.command_lifetime,
        )
        self._sockets = Sockets(
            session, Places(given.bind_address, given.data_port, given.peer_port),
            needs_rows=given.needs_rows, on_deaf=lambda error: self.get_logger().info(
                f'no beacons ({error}); a loading simulator cannot be told from an absent one'))
        return session

    def _data_target(self, peer: str) -> tuple[str, int]:
        given = self.parameters
        return data_target(
            peer, given.port, Places(given.bind_address, given.data_port),
            lambda reason: self.warn('route', reason))

    def make_replay(self) -> ReplayLoop:
        """Replay datagrams from a capture: rows by their port, datarefs by their requests."""
        given = self.parameters
        peer = self.session.peer
        # X-Plane 6 has a single port both ways: there the sender tells the directions apart.
        both_ways = given.data_port == given.port
        return self.replay(
            channels={given.data_port: DATA_CHANNEL, xplane_udp.BEACON_PORT: BEACON_CHANNEL},
            peer_port=None if both_ways else given.port,
            sender=peer[0] if both_ways and peer is not None else None)

    def make_link(self) -> SessionLoop:
        """Open the sockets that exist from the start."""
        return UdpLoop(
            self.session, self._sockets.open, self.on_event, self.on_failure,
            channels=self._sockets.open_all(), port=self._sockets.peer_port,
            name='xplane_udp link')

    def make_topics(self) -> None:
        """Create publishers, the gate of command/controls, other commands and services."""
        given = self.parameters
        undulation = make_undulation(given)
        self.get_logger().info(undulation.description)
        self._publisher = Publisher(self, undulation)
        self.plausibilities[''] = self._publisher.vehicle.plausibility
        self.gates[''] = CommandGate(
            self, self._send_controls, partial(self.link.call, self.session.release),
            neutral=partial(self.link.call, self.session.centre))
        self._engines = EngineGate(self, self._send_engines)
        if given.stamp == 'simulator':
            self.simulator_clock = SimulatorClock(self, self._simulator_time)
        self._targets = Targets(self, undulation)
        poses = Poses(undulation, self._publisher.flown)
        self._web = WebApi(self, poses)
        self._web.watch(given.web_datarefs)
        self._commands = XplaneUdpCommands(self, poses, self._web)

    def begin(self) -> None:
        """Start talking."""
        given = self.parameters

        def start(now: float) -> None:
            # In a single call: the first one starts a capture.
            self.session.watch(watched(given.datarefs), given.datarefs_rate, now)
            self._targets.ask(given, now)
            self.session.choose_rows(given.data_rows, now)
            self.session.start(now)

        self.link.call(start)
        if self.session.version is not None:
            self._explain(self.session.version)

    def end(self) -> None:
        """Stop talking, and give back what was taken."""
        if self.plays_capture:
            # Nobody would show it.
            self.session.release_timeout = 0.0
        self._web.give_back()
        super().end()
        if (left := self._web.end()).unconfirmed:
            with self.link.lock:
                self.left = Left(
                    (*self.left.unconfirmed, *left.unconfirmed), left.reason,
                    self.left.is_error or left.is_error)
            self.tell_left(left)

    def tell(self, state: PeerState) -> None:
        """Log a new state of X-Plane; one that is back may be another one."""
        super().tell(state)
        if state is not self.good:
            self._web.forget()
        elif self.active:
            self._web.greet()

    def changed(self, given: XplaneUdpParameters) -> None:
        """Use new live parameters."""
        super().changed(given)
        old = self.parameters
        if (given.datarefs, given.datarefs_rate) != (old.datarefs, old.datarefs_rate):
            self.link.call(self.session.watch, watched(given.datarefs), given.datarefs_rate)
        if (given.traffic, given.traffic_rate) != (old.traffic, old.traffic_rate):
            self.link.call(self._targets.ask, given)
        if given.web_datarefs != old.web_datarefs:
            self._web.watch(given.web_datarefs)
        if given.data_rows != old.data_rows:
            self.link.call(self.session.choose_rows, given.data_rows)

    def peer_address(self) -> str:
        """Return where X-Plane listens."""
        peer = self.session.peer
        return 'no address yet' if peer is None else f'{peer[0]}:{peer[1]}'

    def hint(self, state: PeerState) -> str:
        """Return what to check when nothing arrives."""
        hint = super().hint(state)
        if state not in (PeerState.LOADING, PeerState.AWAY) or self.session.source != 'rows':
            return hint
        given, version = self.parameters, self.session.version
        hint += (f"; and that X-Plane's data output goes to this computer's port "
                 f'{given.data_port} (for 6 to 8 its settings say where)')
        if version in _ON_OLD_MACS and given.byte_order == 'auto':
            hint += '; X-Plane on an old Mac that sends no row yet needs byte_order: big'
        if version is None:
            hint += '; X-Plane 6 to 9 is detected by the rows it sends, so tick some, or set ' \
                    'the parameter version'
        return hint

    def _explain(self, version: int) -> None:
        """Log once what is special about this version."""
        if self.parameters.traffic and version < FIRST_VERSION:
            self.warn('no targets', f'parameter traffic: {no_targets(version)}')
        if version >= FIRST_WITH_DATAREFS:
            return
        if self.parameters.command_rows == 'joystick':
            self.warn(
                'joystick',
                f'X-Plane {version}: command/controls writes the joystick row; the first command '
                "locks the user's own joystick out until X-Plane is restarted")
        else:
            self.inform(
                'trims',
                f'X-Plane {version}: command/controls moves the trims, the joystick remains the '
                "user's; command_rows: joystick has full authority")
        if any(self.parameters.datarefs):
            self.warn(
                'no datarefs',
                f'X-Plane {version} sends no datarefs; see the parameter data_rows')

    # Commands: in the executor.

    def _send_controls(self, controls: Controls) -> None:
        self.link.call(self.session.set_controls, controls.given())

    def _send_engines(self, engines: EngineControls) -> None:
        self.link.call(self.session.set_controls, xplane_levers.flat(engines))

    # From the peer: in the link's thread.

    def handlers(self) -> dict[type, Handler]:
        """Return the handlers of the session's own events."""
        return {
            Telemetry: self._publisher.publish_telemetry,
            RowTelemetry: self._publisher.publish_rows,
            DataArrived: self._publisher.publish_data,
            WatchedDatarefs: self._on_watched,
            VersionFound: self._on_version,
        }

    def _on_watched(self, event: WatchedDatarefs, stamp_ns: int) -> None:
        publisher = self._publisher.publish_datarefs if event.watch == DATAREFS else (
            self._targets.publish)
        publisher(event, stamp_ns)

    def _on_version(self, event: VersionFound, _: int) -> None:
        self.inform('version', f'this is X-Plane {event.version}')
        self._explain(event.version)

    # Diagnostics.

    def diagnose_link(self, counters: Any) -> Status:
        """Return the status of the link."""
        statistics = self.session.statistics
        return self._report.status(
            counters, statistics.malformed, statistics.last_error,
            ('peer address', self.peer_address()),
            ('data port', str(self.parameters.data_port)),
            ('X-Plane sends from port', str(self._sockets.peer_port.only or 'not known yet')),
            advice='; if it is X-Plane, it is accepted once the other is silent, or set '
                   'peer_port')

    def peer_values(self) -> Sequence[tuple[str, str]]:
        """Return which X-Plane it is, and the outcome of requests."""
        session = self.session
        beacon = session.beacon
        return (
            ('X-Plane version', str(session.version or 'not known yet')),
            ('beacon', f'{beacon.name}, {beacon.version}' if beacon else 'none heard'),
            ('requested again', str(session.statistics.asked_again)),
            ('late or unexpected', str(session.statistics.unexpected)),
            ('taken from the user', ', '.join(sorted(session.taken)) or 'nothing'),
        )

    def diagnose_values(self, now: float) -> Sequence[Status]:
        """Return which values do not arrive, but those that another dataref makes up for."""
        missing = self.session.missing(now)
        spared = {*_asked(xplane.OWN_DATAREFS)}.intersection(missing)
        spared.difference_update(xplane.missed(spared))
        return (values_status(self.session.wanted, {
            name: since for name, since in missing.items() if name not in spared}, now),)

    def telemetry_values(
        self, rates: Mapping[Any, float], now: float
    ) -> Sequence[tuple[str, str]]:
        """Return where telemetry comes from, and what is missing."""
        session, statistics = self.session, self.session.statistics
        missing_rows = ', '.join(map(str, session.missing_rows(now)))
        return (
            ('source', session.source),
            ('updates/s', f'{rates.get(TELEMETRY, 0.0):.1f}'),
            ('datarefs: updates/s', f'{rates.get(DATAREFS, 0.0):.1f}'),
            ('traffic: updates/s', f'{rates.get(TRAFFIC, 0.0):.1f}'),
            ('rows received', str(statistics.rows)),
            ('byte order of rows', _byte_order(session.layout)),
            ('missing rows', missing_rows or 'none'),
            ('datarefs from two frames', str(statistics.split)),
            ('g loads against acceleration, m/s^2', self._publisher.force_difference()),
        )

    def diagnose_more(self, now: float) -> Iterable[Status]:
        """Return additional statuses."""
        yield self._web.diagnose()
        yield from super().diagnose_more(now)

    def command_values(self) -> Iterable[tuple[str, str]]:
        """Return the outcome of commands."""
        return (
            ('commands', str(self.gates[''].commands)),
            ('commands to engines', str(self._engines.commands)),
            ('merged, faster than pacing', str(self.session.statistics.held_back)),
        )


def _byte_order(layout: DataLayout | None) -> str:
    """Return the byte order of the rows received, and with X-Plane 6 the platform byte."""
    if layout is None:
        return 'none received'
    if layout.framing != _WITH_PLATFORM:
        return layout.byte_order
    platform = '0, a PC' if layout.byte_order == 'little' else '1, a Mac'
    return f'{layout.byte_order}: platform {platform}'


def _asked(names: Iterable[str]) -> tuple[str, ...]:
    """Return what RREF requests: for an array, elements of it."""
    return tuple(element for name in names for element in xplane_levers.elements(name))


def main(args: Sequence[str] | None = None) -> int:
    """Run xplane_udp_node; return the process's exit code."""
    return run(XplaneUdpNode, XplaneUdpParameters, args)
