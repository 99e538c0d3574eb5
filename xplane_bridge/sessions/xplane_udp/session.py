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

"""The session with X-Plane over its native UDP. Time is passed in; there is no socket."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from xplane_bridge.protocols import xplane_udp as wire
from xplane_bridge.protocols.base import Message
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.protocols.foreign import printable
from xplane_bridge.protocols.xplane_udp import Becn, Data
from xplane_bridge.sessions.base import (
    Address,
    Left,
    Outgoing,
    PeerChanged,
    PeerState,
    Session,
    Tickets,
)
from xplane_bridge.sessions.lifetimes import DEFAULT_LIFETIME
from xplane_bridge.sessions.xplane_udp.commander import Commander
from xplane_bridge.sessions.xplane_udp.commands import RowKind
from xplane_bridge.sessions.xplane_udp.conversation import Conversation, FIRST
from xplane_bridge.sessions.xplane_udp.discovery import Discovery
from xplane_bridge.sessions.xplane_udp.events import Statistics
from xplane_bridge.sessions.xplane_udp.farewells import Farewells
from xplane_bridge.sessions.xplane_udp.feeds import Feeds, Sources
from xplane_bridge.sessions.xplane_udp.formats import Wire
from xplane_bridge.sessions.xplane_udp.outbox import Outbox
from xplane_bridge.sessions.xplane_udp.reads import Reads
from xplane_bridge.sessions.xplane_udp.reports import Reports
from xplane_bridge.sessions.xplane_udp.taken import Taken

BEACON_CHANNEL = 'beacon'


class XplaneUdpSession(Session):
    """
    Subscribe to datarefs or select rows of one X-Plane, read, write and command it.

    ``rate`` (1..1000) is in updates per second, for datarefs; rows arrive as fast as X-Plane is
    set to. ``version`` None detects it: 10 and later by querying, 6 to 9 by the rows they send.
    ``by_rows`` takes telemetry from rows in every version; before 10 there is nothing else.
    ``peer`` None waits for a beacon. ``lifetime`` is how long a command may wait.

    Everything that sends raises ValueError with the reason if it must not be sent;
    PeerAbsentError if X-Plane is absent. There is a CommandDone for a command if it was not sent
    after all, or if it was ``awaited``. What must be true in the end (a pause, an override, the
    neutral position, what is given back) is written again until X-Plane's reports show it, at most
    ``release_timeout`` seconds.
    """

    sentences = {
        PeerState.SEARCHING: 'no X-Plane beacon heard yet',
        PeerState.UNKNOWN: 'nothing heard yet',
        PeerState.ANSWERING: 'answering',
        PeerState.LOADING: 'X-Plane is running but sends nothing: it is loading, or its data '
                           'output is not set',
        PeerState.LEAVING: 'giving back what was taken',
        PeerState.AWAY: 'nothing received: X-Plane is off, unreachable, or sends its data '
                        'elsewhere',
    }

    statistics: Statistics

    def __init__(
        self,
        sources: Sources,
        *,
        rate: float,
        version: int | None = None,
        peer: Address | None = None,
        by_rows: bool = False,
        wire_format: Wire | None = None,
        row_kind: RowKind = 'trim',
        override_joystick: bool = True,
        lifetime: float = DEFAULT_LIFETIME,
    ) -> None:
        if not 1.0 <= rate <= 1000.0:
            raise ValueError(f'rate: got {rate:g} updates per second, expected 1 to 1000')
        super().__init__(Statistics())
        self.discovery = Discovery(peer)
        form = wire_format or Wire()
        tickets = Tickets()
        taken, reports = Taken(), Reports()
        self._taken = taken
        self._outbox = Outbox(form.pacing, lifetime, tickets, FIRST)
        self._farewells = Farewells(self._outbox)
        self.feeds = Feeds(
            sources, round(rate), by_rows, form, self._outbox, self._farewells,
            self.statistics, taken)
        self._commander = Commander(
            self._outbox, reports, taken, tickets, row_kind, override_joystick,
            self.feeds.format.own, lambda: self.release_timeout)
        self._reads = Reads(self._outbox, self._farewells, tickets)
        self._conversation = Conversation(
            self.feeds, self._commander, self._outbox, self._farewells, self._reads,
            self.discovery, reports, taken, self.statistics, rate=round(rate), version=version,
            patience=lambda: self.release_timeout, tell=self._tell)
        self.presence = self._conversation.presence

    # For the owner, at any time.

    @property
    def peer(self) -> Address | None:
        """Return where X-Plane listens, None if that is not known yet."""
        return self._conversation.peer

    @property
    def version(self) -> int | None:
        """Return the version of X-Plane, None if not known yet."""
        return self._conversation.version

    @property
    def taken(self) -> tuple[str, ...]:
        """Return what release() would give back: 'joystick', 'elevator', 'pause' ..."""
        return self._taken.names

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the names of everything that is requested."""
        return self.feeds.wanted

    def missing(self, now: float) -> dict[str, float]:
        """Return what is missing, by name, with since when."""
        return {} if self.presence.silent else self.feeds.missing(now)

    @property
    def owed(self) -> tuple[str, ...]:
        """Return what was given back and is not yet shown."""
        return self._taken.owed

    @property
    def leaving(self) -> bool:
        """Return whether stop() is still giving back."""
        return self._conversation.leaving

    @property
    def left(self) -> Left:
        """Return how the last stop(), or change of address, has ended."""
        return self._conversation.left

    def contradictions(self, now: float) -> tuple[str, ...]:
        """Return where what is commanded, held and reported disagree."""
        if not self.presence.answering:
            return ()
        return tuple(self._commander.contradictions(now))

    # Commands.

    def start(self, now: float) -> None:
        """Start talking."""
        self._conversation.start(now)

    def stop(self, now: float) -> None:
        """Stop talking: give back what was taken, end what was subscribed and selected."""
        self._conversation.stop(now)

    def check_peer(self, what: str, now: float) -> None:
        """Raise PeerAbsentError if X-Plane cannot receive a command."""
        self._conversation.need_peer(what)

    def send(
        self, messages: Message | Sequence[Message], now: float, *, what: str = '',
        awaited: bool = False,
    ) -> int:
        """
        Queue a command, or several of one kind, all or none.

        Return the ticket of the last. ``what`` names them for people.
        """
        if isinstance(messages, Message):
            messages = (messages,)
        what = what or messages[0].tag
        if not isinstance(messages[0], Data):
            self._conversation.need_datarefs(what)
        self._conversation.need_peer(what)
        return self._commander.send(messages, now, what, awaited)

    def set_controls(
        self, controls: Mapping[str, float], now: float, vehicle: int = 0
    ) -> None:
        """
        Set controls, by the names of FlightControls.

        If they arrive faster than they can be sent, the newest value of each control is sent.
        """
        self._conversation.need_peer('command/controls')
        if controls:
            self._conversation.keep_controls()
            self.statistics.held_back += self._commander.set_controls(controls, now)

    def centre(self, now: float, vehicle: int = 0) -> None:
        """Centre the axes that commands have moved, and no others; repeated until shown."""
        self._conversation.centre(now)

    def pause(self, on: bool, now: float) -> int:
        """Pause X-Plane, or resume it; return the ticket of the CommandDone that will come."""
        self._conversation.need_datarefs('pause')
        self._conversation.need_peer('pause')
        return self._commander.pause(on, now)

    def release(self, now: float, vehicle: int | None = None) -> None:
        """
        Give back what was taken: override, axes that were moved, flight model, pause.

        What was taken before a silence is given back once X-Plane is known to be the same run.
        """
        self._conversation.release(now)

    def read_datarefs(self, names: Sequence[str], now: float) -> int:
        """Read datarefs once; return the ticket of the ReadDone that will come."""
        self._conversation.need_datarefs('reading datarefs')
        self._conversation.need_peer('reading datarefs')
        return self._reads.add(names, now)

    def watch(self, names: Sequence[str], rate: float, now: float) -> None:
        """Subscribe to these datarefs at ``rate`` (1..1000); no names stop it."""
        if names and self._conversation.finder.given is not None:
            self._conversation.need_datarefs('datarefs')
        self.feeds.watch(names, rate, now)

    def choose_rows(self, rows: Iterable[int], now: float) -> None:
        """Select these rows besides those needed for telemetry."""
        self.feeds.choose_rows(rows, now)

    # For the link.

    def poll(self, now: float) -> list[Outgoing]:
        """Return what to send now, by channel; None closes a channel."""
        deadlines = [self._conversation.ask(now)]
        outgoing = self._commander.take(now)
        outgoing += self._outbox.take(now)
        deadlines += [self._commander.deadline, self._outbox.deadline(), self._reads.deadline]
        if self.presence.answering or self.peer_state is PeerState.LEAVING:
            deadlines.append(self._farewells.deadline)
        if self.peer_state is PeerState.LEAVING and not (
                self._outbox or self._farewells or self._commander.has_goals):
            deadlines.append(now)
        self._expired += [*self._commander.ended(), *self._outbox.ended()]
        if self._expired:
            deadlines.append(now)
        self._deadline = min((at for at in deadlines if at is not None), default=None)
        return outgoing

    def _decode(self, channel: str, data: bytes) -> Any:
        return wire.decode(data, 'peer', self.version, previous=self.feeds.format.layout)

    def _kind(self, data: bytes, error: ProtocolError) -> str:
        """Return the kind of a malformed datagram: its label, if it has one."""
        tag = data[:4].decode('latin-1')
        return tag if len(tag) == 4 and tag.isascii() and tag.isalnum() else 'no label'

    def _hear(
        self, channel: str, message: Any, sender: Address | None, now: float
    ) -> Sequence[Any]:
        if channel == BEACON_CHANNEL:
            if isinstance(message, Becn) and sender is not None:
                self._hear_beacon(message, sender, now)
            return ()
        events = self._conversation.hear(channel, message, now)
        # Changes of state precede what was received in the new state.
        return [*self.expired(), *events]

    def _hear_beacon(self, beacon: Becn, sender: Address, now: float) -> None:
        beacon = replace(beacon, name=printable(beacon.name))
        try:
            moved = self.discovery.hear(beacon, sender, now, self.presence.answering)
        except ValueError as error:
            self.statistics.reject(beacon.tag, error)
            return
        if moved and self.discovery.peer is not None:
            self._conversation.move(self.discovery.peer, now)

    def _tell(self, event: Any) -> None:
        if isinstance(event, PeerChanged):
            self.peer_state = event.state
        self._expired.append(event)
