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

"""skylark_node: the simulator Skylark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import time
from typing import Any

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.bridges.links.loop import SessionLoop, UdpLoop
from xplane_bridge.bridges.links.udp import resolve, UdpSocket
from xplane_bridge.bridges.nodes.common.running import run
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge, Handler
from xplane_bridge.bridges.nodes.vehicle.controls import CommandGate
from xplane_bridge.bridges.nodes.vehicle.publisher import VehiclePublisher
from xplane_bridge.bridges.sessions.base import Telemetry
from xplane_bridge.bridges.skylark.conversion import vehicle_state
from xplane_bridge.bridges.skylark.node.parameters import SkylarkParameters
from xplane_bridge.bridges.skylark.session import SkylarkSession

_CONTROLS = ('elevator', 'aileron', 'rudder', 'throttle')


class SkylarkNode(Bridge[SkylarkParameters, SkylarkSession]):
    """Bridge one Skylark."""

    peer = 'Skylark'

    def __init__(self, **options: Any) -> None:
        super().__init__('skylark_node', SkylarkParameters, **options)

    def make_session(self) -> SkylarkSession:
        """Return the session for these parameters."""
        return SkylarkSession(self.parameters.rate)

    def make_link(self) -> SessionLoop:
        """Open the link to Skylark."""
        host, port = resolve(self.parameters.host), self.parameters.port
        return UdpLoop(
            self.session, lambda _: UdpSocket(peer=(host, port), sender=host, sender_port=port),
            self.on_event, self.on_failure, name='skylark link')

    def make_topics(self) -> None:
        """Create the publishers and the gate of command/controls."""
        self._publisher = VehiclePublisher(
            self, self.parameters, topics=('fix', 'odom', 'datum'))
        self.plausibilities[''] = self._publisher.plausibility
        self.gates[''] = CommandGate(
            self, self._send, self._centre, takes=_CONTROLS, neutral=self._centre)

    def peer_address(self) -> str:
        """Return where Skylark is."""
        return f'{self.parameters.host}:{self.parameters.port}'

    def handlers(self) -> dict[type, Handler]:
        """Return the handlers of telemetry."""
        return {Telemetry: self._publish}

    def _send(self, controls: Controls) -> None:
        self.link.call(self.session.set_controls, {
            name: value for name in _CONTROLS
            if (value := getattr(controls, name)) is not None})

    def _centre(self) -> None:
        self.link.call(self.session.centre)

    def _publish(self, event: Telemetry, stamp_ns: int) -> None:
        stamp = self.stamps.received(stamp_ns)
        if self.active and stamp is not None:
            self._publisher.publish(vehicle_state(event.values), stamp)
            self.last_update = time.monotonic()

    def telemetry_values(
        self, rates: Mapping[Any, float], now: float
    ) -> Sequence[tuple[str, str]]:
        """Return the diagnostics of incoming reports."""
        return (('reports/s', f'{rates.get("reports", 0.0):.1f}'),)

    def command_values(self) -> Iterable[tuple[str, str]]:
        """Return the diagnostics of commands."""
        return (('commands', str(self.gates[''].commands)),
                ('taken from the user', ', '.join(self.session.taken) or 'nothing'))


def main(args: Sequence[str] | None = None) -> int:
    """Run skylark_node; return the process's exit code."""
    return run(SkylarkNode, SkylarkParameters, args)
