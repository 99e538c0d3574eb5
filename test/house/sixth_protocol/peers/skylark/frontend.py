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

"""The aircraft as Skylark presents it."""

from dataclasses import asdict
import math

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.skylark import protocol as skylark
from xplane_bridge.simulation.peers.base import Frontend
from xplane_bridge.simulation.peers.world import World


class SkylarkFrontend(Frontend):
    """Skylark at one UDP endpoint."""

    name = 'Skylark'

    def _begin(self, world: World, now: float) -> None:
        self._aircraft = world.aircraft

    def frame(self, now: float) -> None:
        """Answer requests, and apply controls."""
        endpoint = self.endpoints[0]
        while (received := endpoint.receive(now)) is not None:
            data, sender = received
            try:
                message = skylark.decode(data, 'bridge')
            except ProtocolError:
                continue
            if isinstance(message, skylark.Controls):
                self._aircraft.set_controls(**asdict(message))
            else:
                endpoint.send(skylark.encode(self._report()), sender, now)

    def _report(self) -> skylark.Report:
        state = self._aircraft.state
        return skylark.Report(
            state.lat_deg, state.lon_deg, state.altitude_msl, math.degrees(state.phi),
            math.degrees(state.theta), math.degrees(state.psi) % 360.0)
