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

"""Discovery of X-Plane by its beacons."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from xplane_bridge.bridges.sessions.base import Address
from xplane_bridge.bridges.xplane_udp.protocol import Becn

_X_PLANE = 1
_MASTER = 1

BEACON_TIMEOUT = 3.5
"""X-Plane sends a beacon about once per second."""

_MISSED_BEACON = 2.0

# Beacons exist since X-Plane 10; its version 12.1.0 is 121000.
_VERSIONS = range(100_000, 1_000_000)

# Number of beacons from another one, and none from the present one, before it takes over.
_CONFIRMATIONS = 3
_MOST_OTHERS = 16


class _Identity(NamedTuple):
    """What distinguishes one X-Plane's beacons from another's."""

    peer: Address
    version: int
    name: str
    sent_from: int


class Discovery:
    """
    Follow one X-Plane by its beacons.

    ``peer`` None uses the first master heard, and follows it to another address when its beacons
    stop there; if given, only beacons of that address and port count. Anybody can send a beacon: a
    different one counts only after it was confirmed, when the previous ones have stopped; the port
    it is sent from counts too. A computer on two networks is heard from two addresses
    continuously, and the first one stays. The version in the beacon is for people only: X-Plane
    itself is queried.
    """

    def __init__(self, peer: Address | None) -> None:
        self.peer = peer
        self.beacon: Becn | None = None
        self._fixed = peer is not None
        self._identity: _Identity | None = None
        self._heard_at: float | None = None
        self._others: Counter[_Identity] = Counter()

    def is_heard(self, now: float) -> bool:
        """Return whether the followed X-Plane sends beacons."""
        return self._heard_at is not None and now - self._heard_at < BEACON_TIMEOUT

    def on_reply(self, beacon: Becn, sender: Address, now: float, answering: bool) -> bool:
        """
        Handle a beacon from ``sender``; return whether the peer has changed.

        A peer that is ``answering`` is kept. Raises ValueError for a beacon that cannot be
        X-Plane's.
        """
        if not beacon.port:
            raise ValueError('BECN: port 0, expected 1 to 65535')
        if beacon.version not in _VERSIONS:
            raise ValueError(f'BECN: version {beacon.version}, expected a number like 121001')
        if beacon.host_id != _X_PLANE or beacon.role != _MASTER:
            return False
        found = (sender[0], beacon.port)
        if self._fixed and (self.peer is None or beacon.port != self.peer[1]):
            return False
        identity = _Identity(found, beacon.version, beacon.name, sender[1])
        if identity == self._identity:
            self._others.clear()
        elif self._identity is not None and not self._is_confirmed(identity, now, answering):
            return False
        moved = not self._fixed and found != self.peer
        if not self._fixed:
            self.peer = found
        self._identity = identity
        self._heard_at = now
        self.beacon = beacon
        return moved

    def _is_confirmed(self, identity: _Identity, now: float, answering: bool) -> bool:
        """Count the beacon of another one; return whether it replaces the present one."""
        assert self._identity is not None
        assert self._heard_at is not None
        if len(self._others) > _MOST_OTHERS:
            self._others.clear()
        self._others[identity] += 1
        patience = _MISSED_BEACON if identity.name == self._identity.name else BEACON_TIMEOUT
        if self._others[identity] < _CONFIRMATIONS or now - self._heard_at < patience:
            return False
        if answering and not self._fixed and identity.peer != self.peer:
            return False
        self._others.clear()
        return True
