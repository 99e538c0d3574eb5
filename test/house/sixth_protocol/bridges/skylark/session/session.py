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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.sessions.base import (
    Address,
    Outgoing,
    PeerAbsentError,
    PeerState,
    Session,
    Statistics,
    Telemetry,
)
from xplane_bridge.bridges.sessions.ledger import Ledger
from xplane_bridge.bridges.sessions.machine import Action, Event, State
from xplane_bridge.bridges.skylark import protocol as skylark
from xplane_bridge.bridges.skylark.session.peer import Peer

CHANNEL = 'skylark'
_SURFACES = ('elevator', 'aileron', 'rudder')


class SkylarkSession(Session):
    """Poll one Skylark ``rate`` times per second, and send it controls."""

    sentences = {
        PeerState.UNKNOWN: 'nothing heard yet',
        PeerState.ANSWERING: 'answering',
        PeerState.AWAY: 'stopped answering',
    }
    advice = {PeerState.AWAY: 'check that it runs, its address and port'}

    _peer: Peer

    def __init__(self, rate: float) -> None:
        super().__init__(Statistics())
        self._peer = Peer()
        self._period = 1.0 / rate
        self._poll_at = 0.0
        self._taken = Ledger[float]()
        self._outbox: list[bytes] = []

    @property
    def taken(self) -> tuple[str, ...]:
        """Return the controls that were commanded."""
        return self._taken.names

    def start(self, now: float) -> None:
        """Start polling."""
        self._expired += self._happen([Event.START], now)

    def stop(self, now: float) -> None:
        """Stop polling, and centre what was deflected."""
        self._expired += self._happen([Event.STOP], now)

    def set_controls(
        self, controls: Mapping[str, float], now: float, vehicle: int = 0
    ) -> None:
        """Move controls; those not named stay as they are."""
        if self._peer.absence:
            raise PeerAbsentError(self._peer.absence)
        self._command(controls)
        for name in controls:
            self._taken.take(vehicle, name)

    def centre(self, now: float, vehicle: int = 0) -> None:
        """Centre the surfaces that commands have deflected."""
        surfaces = {entry.value for entry in self._taken.give_back()}.intersection(_SURFACES)
        if surfaces:
            self._command(dict.fromkeys(surfaces, 0.0))

    def _command(self, controls: Mapping[str, float]) -> None:
        self._outbox.append(skylark.encode(skylark.Controls(**controls)))

    def _decode(self, channel: str, data: bytes) -> Any:
        return skylark.decode(data, 'peer')

    def _kind(self, data: bytes, error: ProtocolError) -> str:
        """Name the kind of a malformed datagram: its tag."""
        return data[:4].decode('latin-1')

    def _on_datagram(
        self, channel: str, report: Any, sender: Address | None, now: float
    ) -> Sequence[Any]:
        if self._peer.state is State.OFF:
            return ()
        self.statistics.updates['reports'] += 1
        return (*self._happen(self._peer.on_reply(now), now), Telemetry(0, asdict(report)))

    def _do(self, action: Action, reason: str, now: float) -> Sequence[Any]:
        match action:
            case Action.BEGIN:
                self._poll_at = now
            case Action.LEAVE:
                self.centre(now)
            case Action.FORGET_TAKEN:
                self._taken.clear()
            case _:
                return super()._do(action, reason, now)
        return ()

    def _send(self, now: float) -> list[Outgoing]:
        """Return commands, and the next request if it is due."""
        if self._peer.state is not State.OFF and now >= self._poll_at:
            self._poll_at = now + self._period
            self._outbox.append(skylark.encode(skylark.Poll()))
        outgoing: list[Outgoing] = [(CHANNEL, data) for data in self._outbox]
        self._outbox.clear()
        return outgoing

    def _deadlines(self, now: float) -> Iterable[float | None]:
        return () if self._peer.state is State.OFF else (self._poll_at,)
