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

from xplane_bridge.bridges.protocols.base import Message
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.protocols.xplane_versions import FIRST_WITH_DATAREFS
from xplane_bridge.bridges.sessions.base import (
    Address,
    CommandDone,
    Outgoing,
    PeerAbsentError,
    PeerState,
    Session,
    Tickets,
)
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.sessions.lifetimes import DEFAULT_LIFETIME
from xplane_bridge.bridges.sessions.machine import Action, Event
from xplane_bridge.bridges.xplane_udp import protocol as wire
from xplane_bridge.bridges.xplane_udp.protocol import (
    Becn,
    Data,
    DataLayout,
    RposReply,
    RrefReply,
    VERSIONS,
)
from xplane_bridge.bridges.xplane_udp.session.commands import (
    CommandDatagrams,
    RowKind,
    SHOWN_BY_ROWS,
    to_commands,
)
from xplane_bridge.bridges.xplane_udp.session.dialect import (
    INTERNAL_VERSION,
    SpokenDialect,
    TIME,
    to_version,
    Wire,
)
from xplane_bridge.bridges.xplane_udp.session.events import DATAREFS, Statistics, VersionFound
from xplane_bridge.bridges.xplane_udp.session.giving_back import look_back
from xplane_bridge.bridges.xplane_udp.session.identity import Sign
from xplane_bridge.bridges.xplane_udp.session.outbox import Outbox, Turn
from xplane_bridge.bridges.xplane_udp.session.overrides import Overrides
from xplane_bridge.bridges.xplane_udp.session.peer import Peer
from xplane_bridge.bridges.xplane_udp.session.reports import Sieve
from xplane_bridge.bridges.xplane_udp.session.requests import (
    REPORT_CHANNEL,
    Requests,
    Sources,
    VERSION_CHANNEL,
)
from xplane_bridge.bridges.xplane_udp.session.requests.rows import LISTENING
from xplane_bridge.bridges.xplane_udp.session.states import Contact
from xplane_bridge.common.text import printable

BEACON_CHANNEL = 'beacon'

# How long after release_timeout what was requested may still be ended, in seconds; and after late
# copies were watched for, which ends later.
_LAST = 0.4
_LAST_WATCHED = 0.8

_CHECK = ('check that X-Plane is running, its address and port, and that no firewall drops '
          'UDP')
_OTHER_VERSION = 'X-Plane now has a different version'


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
    advice = {
        PeerState.SEARCHING: 'check that X-Plane 10 or later is running in this network and that '
                             'multicast gets through, or set discover: false and host',
        PeerState.UNKNOWN: 'waiting for the first datagram',
        PeerState.LOADING: _CHECK,
        PeerState.AWAY: _CHECK,
    }

    # Of all: whoever follows the node's state sees what it does.
    unannounced = frozenset()

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
        form = wire_format or Wire()
        tickets = Tickets()
        dialect = SpokenDialect(version, by_rows, form)
        self._peer: Peer = Peer(peer, dialect, round(rate))
        self._requests = Requests(sources, round(rate), form.pacing, tickets, self.statistics)
        self._outbox = Outbox(form.pacing, lifetime, tickets)
        self._sieve = Sieve()
        self._overrides = Overrides(
            tickets, row_kind, override_joystick, lambda: self.release_timeout)

    # For the owner, at any time.

    @property
    def peer(self) -> Address | None:
        """Return where X-Plane listens, None if that is not known yet."""
        return self._peer.address

    @property
    def beacon(self) -> Becn | None:
        """Return the last beacon of X-Plane, None if none was heard."""
        return self._peer.discovery.beacon

    @property
    def has_peer(self) -> bool:
        """Return whether X-Plane has sent what was requested, since it was last silent."""
        return self._peer.has_peer

    @property
    def had_peer(self) -> bool:
        """Return whether X-Plane has answered requests before."""
        return self._peer.had_peer

    @property
    def version(self) -> int | None:
        """Return the version of X-Plane, None if not known yet."""
        return self._peer.dialect.version

    @property
    def layout(self) -> DataLayout | None:
        """Return the layout of the last rows received, None before any."""
        return self._peer.dialect.layout

    @property
    def source(self) -> str:
        """Return where telemetry comes from: rows, or datarefs, or those of every frame."""
        aircraft = self._requests.aircraft
        if aircraft is None:
            return 'rows'
        return 'datarefs, every frame' if aircraft.every_frame else 'datarefs'

    @property
    def taken(self) -> tuple[str, ...]:
        """Return what release() would give back: 'joystick', 'elevator', 'pause' ..."""
        return self._overrides.names

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the names of everything that is requested."""
        return self._requests.wanted

    def missing(self, now: float) -> dict[str, float]:
        """Return since when values are missing, by name."""
        return {} if self._peer.contact is Contact.SILENT else self._requests.missing(now)

    def missing_rows(self, now: float) -> tuple[int, ...]:
        """Return the rows that are wanted and have not arrived lately."""
        return self._requests.missing_rows(now)

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Return what was given back and is not yet shown."""
        return self._overrides.unconfirmed

    @property
    def leaving(self) -> bool:
        """Return whether stop() still gives back; not while X-Plane is left for a new address."""
        return self._peer.leaving

    def contradictions(self, now: float) -> tuple[str, ...]:
        """Return where what is commanded, held and reported disagree."""
        return tuple(
            self._overrides.contradictions(now)
            if self._peer.contact is Contact.ANSWERS else ())

    # Commands.

    def stop(self, now: float) -> None:
        """Stop talking: give back what was taken, end what was subscribed and selected."""
        self._expired += self._happen((Event.STOP,), now, 'the node was deactivated')

    def check_peer(self, what: str, now: float) -> None:
        """Raise PeerAbsentError if X-Plane cannot receive a command."""
        if reason := self._peer.absence:
            raise PeerAbsentError(f'{what}: {reason}')

    def _check_datarefs(self, what: str) -> None:
        """Raise ValueError if this version has none."""
        if self.version is not None and not self._peer.dialect.has_datarefs:
            raise ValueError(
                f'{what}: X-Plane {self.version} has only data rows; datarefs, commands and '
                f'placing by UDP exist from X-Plane {FIRST_WITH_DATAREFS} on')

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
            self._check_datarefs(what)
        self.check_peer(what, now)
        assert self.version is not None
        commands = to_commands(messages, what, self.version, self._layout)
        return self._outbox.put(commands, what, now, awaited)

    def set_controls(
        self, controls: Mapping[str, float], now: float, vehicle: int = 0
    ) -> None:
        """
        Set controls, by the names of FlightControls.

        If they arrive faster than they can be sent, the newest value of each control is sent.
        """
        self.check_peer('command/controls', now)
        if controls:
            self._overrides.command(controls, self._layout)
            self.statistics.held_back += self._outbox.set_controls(controls, now)

    def centre(self, now: float, vehicle: int = 0) -> None:
        """Centre the axes that commands have moved, and no others; repeated until shown."""
        if self._peer.doubted:
            # Once the same run is back.
            self._overrides.centre_later()
            return
        self.check_peer('command/controls', now)
        self._outbox.drop_controls(self._overrides.moved)
        self._overrides.centre(now)

    def pause(self, on: bool, now: float) -> int:
        """Pause X-Plane, or resume it; return the ticket of the CommandDone that will come."""
        self._check_datarefs('pause')
        self.check_peer('pause', now)
        return self._overrides.pause(on, now)

    def release(self, now: float, vehicle: int | None = None) -> None:
        """
        Give back what was taken: override, axes that were moved, flight model, pause.

        What was taken before a silence is given back once X-Plane is known to be the same run.
        """
        self._release(now)

    def read_datarefs(self, names: Sequence[str], now: float) -> int:
        """Read datarefs once; return the ticket of the ReadDone that will come."""
        self._check_datarefs('reading datarefs')
        self.check_peer('reading datarefs', now)
        return self._requests.read(names, now)

    def watch(
        self, names: Sequence[str], rate: float, now: float, watch: str = DATAREFS
    ) -> None:
        """Subscribe to these datarefs at ``rate`` (1..1000) for one of WATCHES; none stop it."""
        if names and self._peer.dialect.given is not None:
            self._check_datarefs(watch)
        self._requests.watch(names, rate, now, len(self._outbox), watch)

    def choose_rows(self, rows: Iterable[int], now: float) -> None:
        """Select these rows besides those needed for telemetry."""
        self._requests.choose_rows(rows, self._peer.dialect, now)

    # For the link: what is sent.

    def _send(self, now: float) -> list[Outgoing]:
        peer = self._peer
        if peer.leaves:
            self._go_on_leaving(now)
        if peer.talks:
            self._request(now)
        outgoing: list[Outgoing] = []
        if self._overrides.has_pending:
            outgoing += self._overrides.due(now, self._layout, tells=not peer.leaves)
        outgoing += self._take_turns(now)
        self._expired += [*self._overrides.ended(), *self._outbox.ended()]
        return outgoing

    def _request(self, now: float) -> None:
        """Request what is due, and see which version answers."""
        peer = self._peer
        found = peer.dialect.found(now)
        if found is not None:
            self._end_search()
            self._expired += self._recognize(found, now)
        if peer.must_probe(now):
            self._requests.probe(peer.dialect)
        self._expired += self._requests.ask(peer.dialect, now, peer.contact)

    def _go_on_leaving(self, now: float) -> None:
        """Repeat what is given back until it is shown, then end the reports that show it."""
        if not self._overrides.has_pending and now >= self._watched_until:
            if self._requests.wanted and not self._overrides.unconfirmed:
                self._peer.leave_until(max(
                    self._peer.leaves_at, now + min(_LAST_WATCHED, self.release_timeout)))
            self._requests.end(self._peer.dialect)
        if self._requests.ask_last(now, listens=self._peer.listens) and not self._outbox:
            # All has been asked; what was not shown until now never is.
            over = Event.EXPIRED if self._overrides.unconfirmed else Event.SHOWN
            self._expired += self._happen((over,), now)

    @property
    def _watched_until(self) -> float:
        """Return until when one that is left, and is heard, is watched for late copies."""
        if not self._peer.listens:
            return 0.0
        return min(self._overrides.watched_until, self._peer.overdue_at)

    def _take_turns(self, now: float) -> list[Outgoing]:
        """Return what waits and may be sent now."""
        self._outbox.expire(now)
        outgoing = self._write(self._outbox.take_urgent(now), now)
        while True:
            outgoing += self._requests.take_closings()
            drawn = self._outbox.take(now, len(self._requests), hurries=self._peer.leaves)
            if drawn is None:
                return outgoing
            if drawn is Turn.REQUEST:
                outgoing.append(self._requests.take())
            elif isinstance(drawn, CommandDatagrams):
                if drawn.stops is not None:
                    self._overrides.depart(drawn.stops, now)
                outgoing += [(drawn.channel, data) for data in drawn.datagrams]
            else:
                outgoing += self._write(drawn, now)

    def _write(self, controls: Mapping[str, float], now: float) -> list[Outgoing]:
        return self._overrides.write(controls, self._layout, now) if controls else []

    @property
    def _layout(self) -> DataLayout:
        """Return the layout of the rows that we send: there are none before it is known."""
        return self._peer.dialect.own(self._overrides.version or VERSIONS[-1])

    def _deadlines(self, now: float) -> Sequence[float | None]:
        peer = self._peer
        deadlines = [self._overrides.deadline, self._outbox.deadline(len(self._requests))]
        if peer.leaves:
            deadlines.append(self._requests.last_deadline)
            if not (self._requests.left or self._outbox or self._overrides.has_pending):
                deadlines.append(max(now, self._watched_until))
        elif peer.talks:
            deadlines += peer.dialect.deadline, self._requests.deadline(peer.contact)
        return deadlines

    def _recognize(self, version: int | None, now: float) -> list[Any]:
        """Talk to an X-Plane of this version from now on."""
        found = tuple(self._peer.recognize(version))
        if version is None or not found:
            return []
        return [VersionFound(version), *self._happen(found, now, _OTHER_VERSION)]

    # For the link: what is heard.

    def _decode(self, channel: str, data: bytes) -> Any:
        dialect = self._peer.dialect
        return wire.decode(data, 'peer', dialect.version, previous=dialect.layout)

    def _kind(self, data: bytes, error: ProtocolError) -> str:
        """Return the kind of a malformed datagram: its label, if it has one."""
        tag = data[:4].decode('latin-1')
        return tag if len(tag) == 4 and tag.isascii() and tag.isalnum() else 'no label'

    def _on_datagram(
        self, channel: str, message: Any, sender: Address | None, now: float
    ) -> Sequence[Any]:
        if channel == BEACON_CHANNEL:
            if isinstance(message, Becn) and sender is not None:
                self._on_beacon(message, sender, now)
            return ()
        if not (self._peer.talks or self._peer.leaves):
            return ()
        self._peer.expect(now)
        if not isinstance(message, Data | RposReply | RrefReply):
            self.statistics.unexpected += 1
            return self.expired()
        events = self.expired()
        if self._peer.unheard:
            events += self._happen(self._peer.on_reply(now), now)
        ended = self._requests.on_ended(channel, message, now)
        if isinstance(message, Data):
            return events + self._on_rows(message, now)
        if ended:
            return events
        self._peer.answer()
        self._peer.dialect.on_reply(now)
        if isinstance(message, RposReply):
            self._outbox.see_frame()
            return events + self._requests.receive_pose(message, now)
        return events + self._on_values(channel, message, now)

    def _on_beacon(self, beacon: Becn, sender: Address, now: float) -> None:
        beacon = replace(beacon, name=printable(beacon.name))
        try:
            self._expired += self._happen(
                self._peer.on_beacon(beacon, sender, now), now,
                'X-Plane has another address now')
        except ValueError as error:
            self.statistics.reject(beacon.tag, error)

    def _on_rows(self, message: Data, now: float) -> list[Any]:
        self._peer.dialect.on_rows(message.layout, now)
        events = self._requests.receive_rows(message, now)
        if self.version is not None and not self._peer.dialect.has_datarefs:
            # Before 10, X-Plane answers only with rows.
            self._peer.has_peer |= self._requests.wants_any(message.segments)
            if self._peer.leaves and not self._requests.wanted:
                # All was ended: only late copies still come.
                return events
            known = wire.quantities(self.version, message.segments)
            self._on_reports(
                {name: getattr(known, name) for name in SHOWN_BY_ROWS}, known.total_time, now)
        return events

    def _on_values(self, channel: str, reply: RrefReply, now: float) -> list[Any]:
        if channel == VERSION_CHANNEL:
            self._peer.dialect.on_values(dict(reply.values))
            return []
        if channel != REPORT_CHANNEL:
            return self._requests.receive_values(channel, reply, now)
        values = self._requests.receive_reports(reply, now)
        credible = self._on_reports(values, values.get(TIME), now)
        return self._recognize(to_version(credible.get(INTERNAL_VERSION)), now)

    def _on_reports(
        self, values: Mapping[str, float | None], time: float | None, now: float
    ) -> Mapping[str, float]:
        """Handle what X-Plane reports about itself, by name; return what of it is of now."""
        sign = self._peer.identity.on_reply(time, now)
        if sign is Sign.LATE:
            return {}
        self._expired += self._happen(self._peer.identify(sign), now, 'X-Plane was restarted')
        credible = self._sieve.take(values, dated=sign in (Sign.NEWER, Sign.OTHER))
        self._overrides.on_reply(credible, now)
        return credible

    # What the table says.

    def _do(  # noqa: C901 -- one branch for each word of the table
        self, action: Action, reason: str, now: float
    ) -> Sequence[Any]:
        match action:
            case Action.BEGIN:
                self._begin(now)
            case Action.RESUME:
                self._requests.resume(self._peer.dialect, now)
            case Action.AGAIN:
                self._requests.resume(self._peer.dialect, now, restarted=True)
            case Action.CHECK:
                if self.version is not None:
                    self._search(now)
            case Action.DROP:
                self._outbox.drop(reason)
            case Action.END:
                return self._requests.abandon(reason)
            case Action.FORGET:
                self._peer.dialect.lose()
                self._requests.forget()
                self._overrides.lose(self._peer.heard_at)
            case Action.HOLD:
                self._requests.hold()
                self._overrides.hold()
            case Action.RESTORE:
                self._requests.restore()
                self._overrides.restore()
            case Action.SEND_RELEASES:
                self._overrides.resume(now)
            case Action.FORGET_TAKEN:
                self._requests.disown()
                self._overrides.disown()
            case Action.LEAVE:
                return self._leave(now)
            case Action.LOOK_BACK:
                self._look_back()
            case Action.TELL:
                return self._tell_left()
            case Action.CLOSE:
                self._requests.close()
            case _:
                return super()._do(action, reason, now)
        return ()

    def _begin(self, now: float) -> None:
        version, address = self.version, self.peer
        assert address is not None
        if version is None:
            self._search(now)
            return
        self._peer.dialect.begin(version)
        self._overrides.begin(version)
        self._outbox.controls_wait = version < FIRST_WITH_DATAREFS
        self._requests.begin(version, address[0], self._peer.dialect, now)
        if version < FIRST_WITH_DATAREFS:
            # Rows are listened for before any is selected.
            self._peer.expect(now + LISTENING)

    def _search(self, now: float) -> None:
        """Search for the version."""
        if self._peer.dialect.search(now):
            self._requests.search()

    def _end_search(self) -> None:
        if self._peer.dialect.end_search():
            self._requests.end_search()

    def _release(self, now: float) -> None:
        """Give back what was taken; waiting controls, which could take it again, are dropped."""
        self._outbox.drop_controls()
        self._overrides.release(now)

    def _leave(self, now: float) -> Sequence[Any]:
        """Give back what was taken, and end what shows nothing of it."""
        self._end_search()
        self._peer.leave_until(
            now + self.release_timeout + min(_LAST, self.release_timeout))
        self._release(now)
        self._requests.leave(self._peer.dialect)
        return self._outbox.ended()

    def _look_back(self) -> None:
        """Note what X-Plane has not shown, and forget it."""
        self._left = look_back(
            self._peer.was, self._overrides.unconfirmed, self.version, self.release_timeout)
        self._requests.look_back(self._peer.dialect)
        self._overrides.forget()
        self._peer.forget()

    def _tell_left(self) -> Sequence[Any]:
        """Tell what stays as it was left at an address that X-Plane has no more."""
        left, self._left = self._left, Left()
        if not left.unconfirmed:
            return ()
        return [CommandDone(
            0, 'release', f'may stay as it was left at the old address of X-Plane: '
            f'{", ".join(left.unconfirmed)}; {left.reason}')]
