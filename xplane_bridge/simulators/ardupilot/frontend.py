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

from xplane_bridge.protocols.ardupilot_json import decode_servos, Servos
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.simulators.ardupilot.physics import Channels, Physics
from xplane_bridge.simulators.base import Frontend
from xplane_bridge.simulators.endpoints import Address, Endpoint
from xplane_bridge.simulators.world import World

# Another sender is heard once the peer has been silent for so long: SITL that was restarted.
_SILENT_AFTER = 1.0
# Without a frame for this long the program is considered frozen and answers nothing.
_STOPPED_AFTER = 0.25
# So many datagrams are read at a time.
_MOST_AT_A_TIME = 100


class ArdupilotFrontend(Frontend):
    """
    The physics behind SITL at a UDP endpoint; answers go to where the frames come from.

    The first sender is the peer, until it is silent for a second; ``strangers`` counts what others
    sent, ``malformed`` what was no frame.
    """

    name = "physics of ArduPilot's SITL (JSON)"

    def __init__(self, endpoint: Endpoint, channels: Channels | None = None,
                 lockstep: bool = True) -> None:
        super().__init__(endpoint)
        self.channels = channels or Channels()
        self.lockstep = lockstep

    def _begin(self, world: World, now: float) -> None:
        """Wait for SITL."""
        self.physics = Physics(world, self.channels, self.lockstep)
        self.strangers = self.malformed = 0
        self._peer: Address | None = None
        self._heard_at = self._framed_at = now

    def frame(self, now: float) -> None:
        """Process what has arrived; in real time, send the state."""
        self._framed_at = now
        self._listen(now)
        if not self.lockstep and self._peer is not None:
            self.endpoints[0].send(self.physics.line(), self._peer, now)

    def poll(self, now: float) -> None:
        """In lockstep, answer what has arrived."""
        if self.lockstep and now - self._framed_at < _STOPPED_AFTER:
            self._listen(now)
        super().poll(now)

    @property
    def awaited(self) -> Endpoint | None:
        """Return the endpoint whose frames are answered at once: in lockstep its own."""
        return self.endpoints[0] if self.lockstep else None

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
            if self._is_peer(sender, now):
                self._hear(servos, sender, now)

    def _is_peer(self, sender: Address, now: float) -> bool:
        if sender != self._peer:
            if self._peer is not None:
                if now - self._heard_at < _SILENT_AFTER:
                    self.strangers += 1
                    return False
                self.physics.restart()
            self._peer = sender
            self.report(f'SITL at {sender[0]}:{sender[1]}')
        self._heard_at = now
        return True

    def _hear(self, servos: Servos, sender: Address, now: float) -> None:
        if self.lockstep:
            self.endpoints[0].send(self.physics.answer(servos), sender, now)
        else:
            self.physics.take(servos)
