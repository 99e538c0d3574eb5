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

"""Which X-Plane to talk to, by the beacons that come."""

from __future__ import annotations

from xplane_bridge.protocols.xplane_udp import Becn

Address = tuple[str, int]

_X_PLANE = 1
_MASTER = 1

BEACON_TIMEOUT = 3.5
"""X-Plane beacons about once a second."""

_MISSED_BEACON = 2.0


class Discovery:
    """
    Follow one X-Plane by its beacons.

    The first master heard is taken. When its beacons stop, it is followed to another address
    under the same name, and then any other is taken. A computer on two networks is heard from two
    addresses all the time, and the first one stays.
    """

    def __init__(self) -> None:
        self._name = ''
        self._heard_at = 0.0
        self.peer: Address | None = None

    def hear(self, beacon: Becn, address: str, now: float) -> bool:
        """Take a beacon; tell whether the peer is another one now."""
        if beacon.host_id != _X_PLANE or beacon.role != _MASTER:
            return False
        found = (address, beacon.port)
        if self.peer is not None and found != self.peer:
            patience = _MISSED_BEACON if beacon.name == self._name else BEACON_TIMEOUT
            if now - self._heard_at < patience:
                return False
        moved = found != self.peer
        self.peer = found
        self._name = beacon.name
        self._heard_at = now
        return moved
