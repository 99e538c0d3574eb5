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

"""fdmdata_node: the Huginn simulator over its FDMData protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
import time
from typing import Any

from xplane_bridge.bridges.conversions.vehicle import Controls, EngineControls
from xplane_bridge.bridges.fdmdata import conversion as huginn
from xplane_bridge.bridges.fdmdata.node.commands import FdmdataCommands
from xplane_bridge.bridges.fdmdata.node.messages import ENTRIES, plan, Publisher, TOPICS
from xplane_bridge.bridges.fdmdata.node.parameters import FdmdataParameters
from xplane_bridge.bridges.fdmdata.session import (
    FdmdataListener,
    FdmdataSession,
    PeerRecognized,
    Telemetry,
)
from xplane_bridge.bridges.fdmdata.sockets import HuginnSockets
from xplane_bridge.bridges.links.captures.replay import ReplayLoop
from xplane_bridge.bridges.links.loop import SessionLoop, UdpLoop
from xplane_bridge.bridges.links.udp import resolve
from xplane_bridge.bridges.links.xmlrpc import XmlRpc
from xplane_bridge.bridges.nodes.common.diagnostics import OK, Status
from xplane_bridge.bridges.nodes.common.running import run
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge, FRESH, Handler
from xplane_bridge.bridges.nodes.vehicle.controls import CommandGate
from xplane_bridge.bridges.nodes.vehicle.engines import EngineGate
from xplane_bridge.bridges.nodes.vehicle.publisher import make_undulation
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.timing import SECOND_NS

# The controls in the protocol.

# How often to check for subscribers, in seconds: while there is telemetry, in the thread that
# publishes it. To wake the executor for that takes as much as all the rest of it.
_SUBSCRIBERS_PERIOD = 0.2
_MEANWHILE = 1.0


class FdmdataNode(Bridge[FdmdataParameters, FdmdataSession]):
    """Bridge one Huginn."""

    peer = 'Huginn'

    def __init__(self, **options: Any) -> None:
        super().__init__('fdmdata_node', FdmdataParameters, **options)

    # Lifecycle.

    def make_session(self) -> FdmdataSession:
        """Return the session: with Huginn, or with a capture of another client's."""
        given = self.parameters
        if not given.capture_file:
            return FdmdataSession(f'{given.host}:{given.data_port}')
        session = FdmdataListener()
        # Later subscribers should get the beginning; and the first call would start playing.
        session.set_plan(plan(given, TOPICS), 0.0)
        return session

    def make_replay(self) -> ReplayLoop:
        """Accept Huginn's replies to anybody."""
        return self.replay(source_port=self.parameters.data_port)

    def make_link(self) -> SessionLoop:
        """Open channels to Huginn."""
        given = self.parameters
        sockets = HuginnSockets(
            resolve(given.host), given.data_port, given.controls_port, given.bind_address)
        # A bad bind address should fail configuration, not the first datagram.
        sockets.open('').close()
        return UdpLoop(
            self.session, sockets.open, self.on_event, self.on_failure, name='fdmdata link')

    def make_topics(self) -> None:
        """Create publishers, the gate of command/controls, and services."""
        given = self.parameters
        undulation = make_undulation(given)
        self.get_logger().info(undulation.description)
        self._publisher = Publisher(self, given, undulation)
        self.plausibilities[''] = self._publisher.vehicle.plausibility
        self.gates[''] = CommandGate(
            self, self._send, lambda: None, clamp=True, takes=FLOWN, neutral=self._centre)
        self._engines = EngineGate(
            self, self._send_engines, clamp=True, takes=('throttle',))
        self._commands = FdmdataCommands(self, XmlRpc(resolve(given.host), given.rpc_port))
        self._not_on_the_wire = 0
        self._subscribed: frozenset[str] = frozenset()
        self._look_at = 0.0
        self._subscribers_timer = self.create_timer(
            _SUBSCRIBERS_PERIOD, self._follow_subscribers, clock=self.steady_clock)

    def end(self) -> None:
        """Centre the surfaces and resume, if they were moved or it was paused; stop polling."""
        self._commands.leave()
        try:
            super().end()
        finally:
            self._commands.left()

    def close(self) -> None:
        """Close the sockets and join the thread."""
        self.destroy_timer(self._subscribers_timer)
        super().close()

    def changed(self, given: FdmdataParameters) -> None:
        """Use new live parameters."""
        super().changed(given)
        self._set_plan(given)

    def peer_address(self) -> str:
        """Return the address that Huginn replies from."""
        return f'{self.parameters.host}:{self.parameters.data_port}'

    def _follow_subscribers(self) -> None:
        """Poll for what has subscribers."""
        subscribed = self._publisher.subscribed()
        if subscribed != self._subscribed:
            self._subscribed = subscribed
            self._subscribers_timer.timer_period_ns = round(
                SECOND_NS * (_MEANWHILE if subscribed else _SUBSCRIBERS_PERIOD))
            self._set_plan(self.parameters)

    def _set_plan(self, given: FdmdataParameters) -> None:
        if not given.capture_file:
            self.link.call(self.session.set_plan, plan(given, self._subscribed))

    # Commands: in the executor.

    def _send(self, controls: Controls) -> None:
        if not controls.given().keys() <= set(FLOWN):
            self._not_on_the_wire += 1
        self.link.call(self.session.set_controls, huginn.to_huginn(controls))

    def _send_engines(self, engines: EngineControls) -> None:
        if engines.throttle is None or len(engines.throttle) > 1:
            raise ValueError(
                "Huginn's packet has one throttle: give one value, for all engines")
        self.link.call(self.session.set_controls, {'throttle': engines.throttle[0]})

    def _centre(self) -> None:
        self.link.call(self.session.centre)

    # From the peer: in the link's thread.

    def handlers(self) -> dict[type, Handler]:
        """Return the handlers of the session's own events."""
        return {Telemetry: self._publish, PeerRecognized: self._on_recognized}

    def _publish(self, event: Telemetry, stamp_ns: int) -> None:
        if not self._begun:
            return
        replies = huginn.plausible(event.values, self._publisher.vehicle.plausibility.withhold)
        if not replies:
            return
        stamp, now = self.stamps.received(stamp_ns), time.monotonic()
        if stamp is None or self._publisher.publish(event.name, replies, stamp):
            self.last_update = now
        if now >= self._look_at and not self.plays_capture:
            self._look_at = now + _SUBSCRIBERS_PERIOD
            self._follow_subscribers()

    def _on_recognized(self, event: PeerRecognized, _: int) -> None:
        """Continue with a Huginn that was only frozen, or start over with a restarted one."""
        gate = self.gates['']
        if not event.same:
            self.inform('restarted', f'{event.why}: earlier commands are forgotten')
        elif gate.watchdog.expired and self.parameters.on_command_timeout == 'neutral':
            # Commands stopped while it was silent.
            try:
                self._centre()
            except ValueError as error:
                self.refuse('command/controls', error)

    # Diagnostics.

    def peer_fault(self) -> str:
        """Return which sensors are refused."""
        refused = self._refused()
        return f'it refuses {refused}: another version of Huginn?' if refused else ''

    def peer_values(self) -> Sequence[tuple[str, str]]:
        """Return the outcome of requests."""
        statistics = self.session.statistics
        return (
            ('requests', str(statistics.requests)),
            ('replies', str(statistics.replies)),
            ('lost', str(statistics.lost)),
            ('error replies', str(statistics.errors)),
            ('refused', self._refused() or 'nothing'),
            ('late or unexpected', str(statistics.unexpected)),
        )

    def _refused(self) -> str:
        return ', '.join(sorted(command.name.lower() for command in self.session.refused))

    def diagnose_values(self, now: float) -> Sequence[Status]:
        """Return which sensors do not answer; in a capture nobody polls them."""
        return () if self.plays_capture else super().diagnose_values(now)

    def diagnose_telemetry(self, now: float) -> Status:
        """Return the status of the telemetry that has subscribers."""
        status = super().diagnose_telemetry(now)
        wanted = plan(self.parameters, self._subscribed)
        if wanted:
            return status
        return replace(status, level=OK, message=(
            'nothing is polled: the rates are 0' if self._subscribed
            else 'no subscribers'))

    def fresh_for(self) -> float:
        """Return how old telemetry may be, given low polling rates."""
        wanted = plan(self.parameters, self._subscribed)
        return max(FRESH, 1.5 * min((1.0 / entry.rate for entry in wanted.values()), default=0.0))

    def telemetry_values(
        self, rates: Mapping[Any, float], now: float
    ) -> Sequence[tuple[str, str]]:
        """Return the rates of the entries."""
        return [
            *((f'{name}: updates/s', f'{rates.get(name, 0.0):.1f}') for name in ENTRIES),
            ('polls without a step, not published', str(self.session.statistics.repeats))]

    def command_values(self) -> Iterable[tuple[str, str]]:
        """Return the outcome of commands."""
        return (
            ('commands', str(self.gates[''].commands)),
            ('controls sent', str(self.session.statistics.controls)),
            ('taken from the user', ', '.join(self.session.taken) or 'nothing'),
            ('with flaps, gear or speedbrake, ignored', str(self._not_on_the_wire)),
        )


def main(args: Sequence[str] | None = None) -> int:
    """Run fdmdata_node; return the process's exit code."""
    return run(FdmdataNode, FdmdataParameters, args)
