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

"""The physics behind SITL as a peer on the network: one UDP port."""

from __future__ import annotations

from xplane_bridge.bridges.ardupilot_json.protocol import decode_servos, Servos
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.simulation.peers.ardupilot.exchange import Exchange
from xplane_bridge.simulation.peers.ardupilot.physics import Channels, Physics
from xplane_bridge.simulation.peers.ardupilot.record import Record
from xplane_bridge.simulation.peers.base import Frontend
from xplane_bridge.simulation.peers.endpoints import Endpoint
from xplane_bridge.simulation.peers.world import World

# Without a frame for this long the program is considered frozen and answers nothing.
_STOPPED_AFTER = 0.25
# So many datagrams are read at a time.
_MOST_AT_A_TIME = 100


class ArdupilotFrontend(Frontend):
    """
    The physics behind SITL at a UDP endpoint; answers go to where the frames come from.

    ``exchange`` is the conversation; ``malformed`` counts what was no frame. Without
    ``time_sync`` SITL is told not to keep to real time. What is flown is put into a ``record``.
    """

    name = "physics of ArduPilot's SITL (JSON)"

    def __init__(self, endpoint: Endpoint, channels: Channels | None = None,
                 lockstep: bool = True, time_sync: bool = True,
                 record: Record | None = None) -> None:
        super().__init__(endpoint)
        self._record = record
        self.channels = channels or Channels()
        self.lockstep, self.time_sync = lockstep, time_sync

    def _begin(self, world: World, now: float) -> None:
        """Wait for SITL."""
        if self._record is not None:
            self._record.open()
        self.physics = Physics(world, self.channels, self.lockstep, self.time_sync)
        self.exchange = Exchange(self.physics, self.report, self._keep)
        self.malformed = 0
        self._framed_at = now

    def frame(self, now: float) -> None:
        """Process what has arrived; in real time, send the state."""
        self._framed_at = now
        self._converse(now)
        if not self.lockstep and self.exchange.peer is not None:
            self.endpoints[0].send(self.physics.line(), self.exchange.peer, now)

    def poll(self, now: float) -> None:
        """In lockstep, answer what has arrived."""
        if self.lockstep and now - self._framed_at < _STOPPED_AFTER:
            self._converse(now)
        super().poll(now)

    def next_due(self) -> float | None:
        """Return when to call poll() next, or None if frames are often enough."""
        times, own = [super().next_due()], self.exchange.next_due()
        # In real time frames are often enough; and once it is frozen it has nothing to say.
        if self.lockstep and own is not None and own < self._framed_at + _STOPPED_AFTER:
            times.append(own)
        return min((time for time in times if time is not None), default=None)

    @property
    def awaited(self) -> Endpoint | None:
        """Return the endpoint whose frames are answered at once: in lockstep its own."""
        return self.endpoints[0] if self.lockstep else None

    def _keep(self, servos: Servos, line: bytes) -> None:
        if self._record is not None:
            self._record.add(servos, line, self.physics.world.flight_time)

    def _converse(self, now: float) -> None:
        self._listen(now)
        for line, to in self.exchange.answers(now):
            self.endpoints[0].send(line, to, now)

    def _listen(self, now: float) -> None:
        for _ in range(_MOST_AT_A_TIME):
            received = self.endpoints[0].receive(now)
            if received is None:
                return
            data, sender = received
            try:
                servos = decode_servos(data)
            except ProtocolError:
                self.malformed += 1
                continue
            self.exchange.hear(servos, sender, now)
