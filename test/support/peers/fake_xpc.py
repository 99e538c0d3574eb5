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

"""An X-Plane Connect plugin for tests: what it answers, without time and without a network."""

from xplane_bridge.bridges.xpc import protocol as xpc

BEACON = xpc.encode(xpc.Beacon(xpc.PORT, 12010))

# From rc6 on: 64-bit positions, commands and terrain.
_NEW = ('rc6', 'develop')


class Plugin:
    """
    The plugin of one version; tests subclass it to define the contents of its X-Plane.

    Requests are answered at once: frame timing and the network are left to others.
    """

    plugin_version = 'rc6'

    def __init__(self) -> None:
        # The same polls recur over and over.
        self._questions: dict[bytes, xpc.Request] = {}

    def place(self, aircraft: int) -> tuple[float, float, float]:
        """Return latitude, longitude and altitude of an aircraft."""
        return 47.0, 8.0, 500.0

    def read(self, name: str) -> tuple[float, ...]:
        """Return the values of a dataref, none for an unknown one."""
        return ()

    def obey(self, request: xpc.Request, data: bytes) -> None:
        """Execute a command that has no reply."""

    def answer(self, data: bytes) -> bytes:
        """Handle one datagram; return the reply, empty for none."""
        request = self._questions.get(data)
        if request is None:
            decoded = xpc.decode(data, 'bridge')
            assert isinstance(decoded, xpc.Request)
            request = decoded
            if isinstance(request, xpc.GetPosition | xpc.GetDatarefs):
                self._questions[data] = request
        reply: xpc.Reply
        if isinstance(request, xpc.GetPosition):
            reply = xpc.PositionReply(
                0, *self.place(request.aircraft), 1.0, 2.0, 3.0, 1.0,
                64 if self.plugin_version in _NEW else 32)
        elif isinstance(request, xpc.GetDatarefs):
            reply = xpc.Datarefs(tuple(map(self.read, request.names)))
        elif isinstance(
                request, xpc.GetTerrain | xpc.PlaceAndProbe) and self.plugin_version in _NEW:
            reply = xpc.Terrain(
                request.aircraft, 40.0, 8.0, 321.5, (0.0, 1.0, 0.0), (0.0, 0.0, 0.0), 1, 0)
        else:
            self.obey(request, data)
            return b''
        answer = xpc.encode(reply)
        assert len(answer) <= xpc.RESP_LIMIT, 'this would have crashed X-Plane'
        return answer
