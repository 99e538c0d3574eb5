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


"""
simulator_node with telemetry: direct: the common topics and commands, without a bridge.

The topics are those of the bridges, made by the same code; the state is the simulated aircraft's
own, and commands go to it as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
import time
from typing import Any, TypeAlias

from xplane_bridge.bridges.conversions import simulated
from xplane_bridge.bridges.conversions.geoid import msl_to_ellipsoid
from xplane_bridge.bridges.conversions.plausibility import Plausibility
from xplane_bridge.bridges.conversions.vehicle import Controls, EngineControls, TrafficTarget
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.diagnostics import OK, Status, WARN
from xplane_bridge.bridges.nodes.common.stamps import write_stamp
from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.bridges.nodes.vehicle.clock import SimulatorTime
from xplane_bridge.bridges.nodes.vehicle.controls import CommandGate, WatchdogParameters
from xplane_bridge.bridges.nodes.vehicle.engines import EngineGate
from xplane_bridge.bridges.nodes.vehicle.plausibility import plausibility_status
from xplane_bridge.bridges.nodes.vehicle.publisher import (
    make_undulation,
    TopicParameters,
    VehiclePublisher,
)
from xplane_bridge.bridges.nodes.vehicle.traffic import TrafficParameters, TrafficTopic
from xplane_bridge.bridges.nodes.vehicle.transforms import MapFrame
from xplane_bridge.bridges.sessions.ledger import Ledger
from xplane_bridge.common.controls import BRAKES, SURFACES
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.node.studies import offer_studies
from xplane_bridge.simulation.peers.direct import DirectFrontend
from xplane_bridge.simulation.peers.server import Server
from xplane_bridge.simulation.peers.world import World

BRIDGE, DIRECT = 'bridge', 'direct'

# A state that does not change is published again after so many seconds: to whom it is new, and
# for a command that was lost.
_AGAIN = 0.1

_Value: TypeAlias = float | tuple[float, ...]


@dataclass(frozen=True)
class DirectParameters(TrafficParameters, TopicParameters, WatchdogParameters):
    """Parameters of simulator_node with telemetry: direct."""

    telemetry: str = parameter(
        BRIDGE, 'How ROS reaches the aircraft: through the protocol of sim and its bridge; or by '
        'the common topics and command/controls of this node, without a port.',
        choices=(BRIDGE, DIRECT), refused={'wire': 'is now called bridge'})
    telemetry_every: int = parameter(
        1, 'Publish the common topics (telemetry: direct) every so many frames; in lockstep it is '
        'every one.', low=1, high=1000)
    namespaces: tuple[str, ...] = parameter(
        (), 'Namespace of each aircraft, below that of the node; empty: uav1, uav2, ... of a '
        'fleet, none of one aircraft. With telemetry: bridge diagnostics alone use it.')


class Direct:
    """
    The common topics of an aircraft, and its commands; for one configuration of the node.

    ``key`` tells it from others: 0 is the first. ``prefix`` is that of its topics and frames, ''
    or such as 'uav2/'.
    """

    def __init__(
        self, node: BridgeNode[Any], given: DirectParameters, simulated_time: SimulatorTime,
        frontend: DirectFrontend, key: int = 0, prefix: str = '',
        map_frame: MapFrame | None = None,
    ) -> None:
        self._node = node
        self.frontend = frontend
        self._key = key
        self._made: list[Any] = []
        self._prefix = prefix
        self._every = given.telemetry_every
        self._time = simulated_time
        self._ledger: Ledger[_Value] = Ledger()
        self._seen: Any = None
        self._count = 0
        self._again_at = 0.0
        undulation = make_undulation(given)
        if not key:
            node.get_logger().info(undulation.description)
        if given.datum:
            # That of simulator_node is above mean sea level, that of odom above the ellipsoid.
            latitude, longitude, height = map(float, given.datum)
            given = replace(given, datum=(latitude, longitude, msl_to_ellipsoid(
                height, undulation.height_m(latitude, longitude))))
        with node.gathering(self._made):
            self._publisher = VehiclePublisher(
                node, given, prefix, undulation, map_frame=map_frame)
            self.traffic = TrafficTopic(node, given, undulation, prefix)
        self.had_company = False

    def listen(self, server: Server, aircraft: Aircraft) -> None:
        """Take commands for an aircraft of a server."""
        self._server, self._aircraft = server, aircraft
        with self._node.gathering(self._made):
            self._gate = CommandGate(
                self._node, self._send, self._release, self._prefix, neutral=self._centre)
            self._engines = EngineGate(self._node, self._send_engines, self._prefix)
            offer_studies(self._node, server, aircraft, self._prefix)

    def end(self) -> None:
        """Give back what was taken."""
        self._gate.watchdog.disarm()
        self.frontend.drop()
        self._release()

    def close(self) -> None:
        """Forget the commands; the publishers go with the node's."""
        self._gate.watchdog.close()

    def leave(self) -> None:
        """Take its topics away: the aircraft is there no more."""
        self.close()
        self._node.drop(self._made)
        self._time.forget(self._key)

    def changed(self, given: DirectParameters) -> None:
        """Use new live parameters."""
        if given.command_timeout != self._node.parameters.command_timeout:
            self._gate.watchdog.set_timeout(given.command_timeout)

    def forget(self) -> None:
        """Forget what was taken: the flight begins anew."""
        self._ledger.clear()

    # In the simulation's thread, or the executor's if that steps.

    def publish(self, world: World) -> None:
        """Publish a frame's state, unless it is one of those left out."""
        state = self._aircraft.state
        pose = (state.lat_deg, state.lon_deg, state.altitude_msl, state.phi, state.theta,
                state.psi)
        seen = (world.total_running_time, pose)
        now = time.monotonic()
        if seen != self._seen:
            self._seen = seen
            self._count += 1
            if (self._count - 1) % self._every:
                return
        elif now < self._again_at:
            return
        self._again_at = now + _AGAIN
        stamp = self._time.stamp(world.total_running_time, False, pose, self._key)
        if stamp is None:
            return
        self._publisher.publish(
            simulated.vehicle_state(state, world.total_running_time), stamp)
        self.frontend.count_sent()

    def target(self) -> TrafficTarget:
        """Return how the others of a fleet see it."""
        return simulated.traffic_target(self.name or f'aircraft_{self._key}', self._aircraft.state)

    # Commands: in the executor.

    def _send(self, controls: Controls) -> None:
        self._take(controls.given())
        self._command(simulated.by_cockpit(controls))

    def _send_engines(self, engines: EngineControls) -> None:
        self._command({
            name: values[0] if len(values) == 1 else values
            for name, values in engines.given().items()})

    def _command(self, given: dict[str, Any]) -> None:
        if self._server.error is not None:
            raise ValueError(f'the simulation has ended: {self._server.error}')
        self.frontend.send(partial(_set_controls, aircraft=self._aircraft, given=given))

    def _take(self, given: dict[str, float]) -> None:
        """Record what each control was before it was commanded."""
        new = [name for name in given if (0, name) not in self._ledger]
        if new:
            state = self._server.call(lambda _: self._aircraft.state)
            before = simulated.controls(state).given() | {
                'throttle': tuple(engine.throttle for engine in state.engines)}
            for name in new:
                self._ledger.take(0, name, before[name])

    def _centre(self) -> None:
        """Centre the surfaces that commands have moved, and no others."""
        self._put({name: 0.0 for name in SURFACES if (0, name) in self._ledger})

    def _release(self) -> None:
        """Return what commands have moved to where it was before the first of them."""
        self._put({
            BRAKES.get(entry.value, entry.value): entry.before
            for entry in self._ledger.give_back()})

    def _put(self, given: dict[str, Any]) -> None:
        def put(_: World) -> None:
            # This is no reply to a state, for which lockstep waits.
            aircraft = self._aircraft
            commanded = set(aircraft.commanded)
            aircraft.set_controls(**given)
            aircraft.commanded.intersection_update(commanded)

        if self._server.error is None:
            self._server.call(put)

    # Diagnostics.

    @property
    def name(self) -> str:
        """Return its namespace below the node's, '' if it has none of its own."""
        return self._prefix.rstrip('/')

    @property
    def stopped(self) -> bool:
        """Return whether commands came, and stopped arriving."""
        return self._gate.watchdog.expired

    def rivalry(self) -> str:
        """Return in a sentence which nodes command it at the same time, '' for one at most."""
        return self._gate.rivalry()

    def values(self) -> Sequence[tuple[str, str]]:
        """Return what is said of its commands, by topic if it has a namespace of its own."""
        before = f'{self.name}: ' if self.name else ''
        return ((f'{before}commands', str(self._gate.commands)),
                (f'{before}commands of engines', str(self._engines.commands)),
                (f'{before}taken', ', '.join(self._ledger.names) or 'nothing'))

    @property
    def plausibility(self) -> tuple[str, Plausibility]:
        """Return the prefix of its topics, and the gate for its impossible values."""
        return self._prefix, self._publisher.plausibility


def publish_traffic(fleet: Sequence[Direct], now: float, rate: float) -> None:
    """
    Publish what is around each, at a simulated time in seconds, ``rate`` times per second.

    One that is alone has no traffic; it is told once that the others have left.
    """
    company = len(fleet) > 1
    due = [one for one in fleet
           if (company or one.had_company) and one.traffic.is_due(now, rate)]
    if not due:
        return
    targets = [(one, one.target()) for one in fleet]
    for one in due:
        message = one.traffic.message(
            (target, 0.0) for other, target in targets if other is not one)
        write_stamp(message, round(now * 1e9))
        one.traffic.publish(message)
        one.had_company = company


def diagnose(fleet: Sequence[Direct]) -> Sequence[Status]:
    """Return the status of telemetry, commands and plausibility of all aircraft."""
    stopped = [one for one in fleet if one.stopped]
    whose = ', '.join(one.name for one in stopped if one.name)
    fault = ('commands stopped arriving' + (f' for {whose}' if whose else '') if stopped
             else next(filter(None, (one.rivalry() for one in fleet)), ''))
    return (
        Status('telemetry', OK, 'direct', (
            ('states published', str(fleet[0].frontend.counters.sent)),)),
        Status('commands', WARN if fault else OK, fault or 'watched',
               tuple(value for one in fleet for value in one.values())),
        plausibility_status(dict(one.plausibility for one in fleet)))


def _set_controls(_: World, aircraft: Aircraft, given: dict[str, Any]) -> None:
    aircraft.set_controls(**given)
