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

"""The conversation with Skylark: it is polled for reports and holds its controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from xplane_bridge.protocols import skylark
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.sessions.base import (
    Address,
    Outgoing,
    PeerAbsentError,
    PeerChanged,
    PeerState,
    Session,
    Statistics,
    Telemetry,
)
from xplane_bridge.sessions.ledger import Ledger

CHANNEL = 'skylark'
SILENCE = 1.0
_SURFACES = ('elevator', 'aileron', 'rudder')


class SkylarkSession(Session):
    """Poll one Skylark ``rate`` times per second, and send it controls."""

    sentences = {
        PeerState.UNKNOWN: 'nothing heard yet',
        PeerState.ANSWERING: 'answering',
        PeerState.AWAY: 'stopped answering',
    }

    def __init__(self, rate: float) -> None:
        super().__init__(Statistics())
        self._period = 1.0 / rate
        self._taken = Ledger[float]()
        self._outbox: list[bytes] = []
        self._silent_at = 0.0

    @property
    def taken(self) -> tuple[str, ...]:
        """Return the controls that were commanded."""
        return self._taken.names

    def start(self, now: float) -> None:
        """Start polling."""
        self._active, self._deadline = True, now

    def stop(self, now: float) -> None:
        """Stop polling, and centre what was deflected."""
        self.centre(now)
        self._active, self._deadline = False, None
        self.peer_state = PeerState.UNKNOWN

    def set_controls(
        self, controls: Mapping[str, float], now: float, vehicle: int = 0
    ) -> None:
        """Move controls; those not named stay as they are."""
        if self.peer_state is not PeerState.ANSWERING:
            raise PeerAbsentError('Skylark does not answer')
        self._send(controls)
        for name in controls:
            self._taken.take(vehicle, name)

    def centre(self, now: float, vehicle: int = 0) -> None:
        """Centre the surfaces that commands have deflected."""
        surfaces = {entry.value for entry in self._taken.give_back()}.intersection(_SURFACES)
        if surfaces:
            self._send(dict.fromkeys(surfaces, 0.0))

    def poll(self, now: float) -> Sequence[Outgoing]:
        """Return commands, and the next request if it is due; notice silence."""
        if self._deadline is not None and now >= self._deadline:
            self._deadline = now + self._period
            self._outbox.append(skylark.encode(skylark.Poll()))
            if self.peer_state is PeerState.ANSWERING and now >= self._silent_at:
                self.peer_state = PeerState.AWAY
                self._taken.clear()
                self._expired.append(PeerChanged(self.peer_state))
        outgoing = [(CHANNEL, data) for data in self._outbox]
        self._outbox.clear()
        return outgoing

    def _send(self, controls: Mapping[str, float]) -> None:
        self._outbox.append(skylark.encode(skylark.Controls(**controls)))

    def _decode(self, channel: str, data: bytes) -> Any:
        return skylark.decode(data, 'peer')

    def _kind(self, data: bytes, error: ProtocolError) -> str:
        """Name the kind of a malformed datagram: its tag."""
        return data[:4].decode('latin-1')

    def _hear(
        self, channel: str, report: Any, sender: Address | None, now: float
    ) -> Sequence[Any]:
        if not self._active:
            return ()
        self._silent_at = now + SILENCE
        self.statistics.updates['reports'] += 1
        telemetry = Telemetry(0, asdict(report))
        if self.peer_state is PeerState.ANSWERING:
            return (telemetry,)
        self.peer_state = PeerState.ANSWERING
        return (PeerChanged(self.peer_state), telemetry)
