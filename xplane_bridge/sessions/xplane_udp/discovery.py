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
