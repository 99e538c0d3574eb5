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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from xplane_bridge.protocols import xplane_udp as wire
from xplane_bridge.protocols.base import Message
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.protocols.foreign import printable
from xplane_bridge.protocols.xplane_udp import (
    Becn,
    Data,
    FIRST_WITH_DATAREFS,
    Layout,
    RposReply,
    RrefReply,
)
from xplane_bridge.sessions.base import (
    Address,
    CommandDone,
    Left,
    Outgoing,
    PeerAbsentError,
    PeerState,
    Session,
    Tickets,
)
from xplane_bridge.sessions.lifetimes import DEFAULT_LIFETIME
from xplane_bridge.sessions.machine import Do, What
from xplane_bridge.sessions.xplane_udp.commander import COMMAND_CHANNEL, Commander, DATA_CHANNEL
from xplane_bridge.sessions.xplane_udp.commands import RowKind, SHOWN_BY_ROWS
from xplane_bridge.sessions.xplane_udp.dialect import (
    ask_version,
    Dialect,
    INTERNAL_VERSION,
    TIME,
    VERSION_NUMBERS,
    version_of,
    VERSION_RATE,
    Wire,
)
from xplane_bridge.sessions.xplane_udp.events import Statistics, VersionFound
from xplane_bridge.sessions.xplane_udp.farewells import Farewells, keys_of
from xplane_bridge.sessions.xplane_udp.feeds import (
    Feeds,
    REPORT_CHANNEL,
    Sources,
    TELEMETRY_CHANNEL,
)
from xplane_bridge.sessions.xplane_udp.leaving import look_back
from xplane_bridge.sessions.xplane_udp.outbox import Outbox
from xplane_bridge.sessions.xplane_udp.peer import Peer
from xplane_bridge.sessions.xplane_udp.reads import Reads
from xplane_bridge.sessions.xplane_udp.reports import Reports
from xplane_bridge.sessions.xplane_udp.selection import LISTENING
from xplane_bridge.sessions.xplane_udp.taken import Taken

VERSION_CHANNEL = 'version'

# Their requests have priority over those of reads and watched datarefs.
FIRST = (TELEMETRY_CHANNEL, REPORT_CHANNEL, DATA_CHANNEL, VERSION_CHANNEL)

_CHANNELS = (TELEMETRY_CHANNEL, REPORT_CHANNEL, DATA_CHANNEL, COMMAND_CHANNEL, VERSION_CHANNEL)

# How long after release_timeout what was requested may still be ended, in seconds.
_LAST = 0.4

_OTHER_VERSION = 'X-Plane now has a different version'

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

    # Of all: whoever follows the node's state sees what it does.
    untold = frozenset()

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
        reports = Reports()
        dialect = Dialect(version, by_rows, form)
        self._peer: Peer = Peer(peer, dialect, round(rate))
        self._taken = Taken()
        self._outbox = Outbox(form.pacing, lifetime, tickets, FIRST)
        self._farewells = Farewells(self._outbox)
        self._feeds = Feeds(
            sources, round(rate), dialect, self._outbox, self._farewells,
            self.statistics, self._taken)
        self._commander = Commander(
            self._outbox, reports, self._taken, tickets, row_kind, override_joystick,
            dialect.own, lambda: self.release_timeout)
        self._reads = Reads(self._outbox, self._farewells, tickets)
        self._reports = reports
        self._left = Left()

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
    def layout(self) -> Layout | None:
        """Return the layout of the last rows received, None before any."""
        return self._peer.dialect.layout

    @property
    def source(self) -> str:
        """Return where telemetry comes from: rows, or datarefs, or those of every frame."""
        if not self._feeds.aircraft:
            return 'rows'
        return 'datarefs, every frame' if self._feeds.aircraft.every_frame else 'datarefs'

    @property
    def taken(self) -> tuple[str, ...]:
        """Return what release() would give back: 'joystick', 'elevator', 'pause' ..."""
        return self._taken.names

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the names of everything that is requested."""
        return self._feeds.wanted

    def missing(self, now: float) -> dict[str, float]:
        """Return what is missing, by name, with since when."""
        return {} if self._peer.silent else self._feeds.missing(now)

    def missing_rows(self, now: float) -> tuple[int, ...]:
        """Return the rows that are wanted and have not arrived lately."""
        return self._feeds.missing_rows(now)

    @property
    def owed(self) -> tuple[str, ...]:
        """Return what was given back and is not yet shown."""
        return self._taken.owed

    @property
    def leaving(self) -> bool:
        """Return whether stop() is still giving back."""
        return self._peer.leaving

    @property
    def left(self) -> Left:
        """Return how the last stop() has ended."""
        return self._left

    def contradictions(self, now: float) -> tuple[str, ...]:
        """Return where what is commanded, held and reported disagree."""
        return tuple(self._commander.contradictions(now)) if self._peer.answers else ()

    # Commands.

    def start(self, now: float) -> None:
        """Start talking."""
        self._expired += self._happen((What.START,), now)
        self._left = Left()

    def stop(self, now: float) -> None:
        """Stop talking: give back what was taken, end what was subscribed and selected."""
        self._expired += self._happen((What.STOP,), now, 'the node was deactivated')

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
        return self._commander.send(messages, now, what, awaited)

    def set_controls(
        self, controls: Mapping[str, float], now: float, vehicle: int = 0
    ) -> None:
        """
        Set controls, by the names of FlightControls.

        If they arrive faster than they can be sent, the newest value of each control is sent.
        """
        self.check_peer('command/controls', now)
        if controls:
            self._taken.release_owed = False
            self.statistics.held_back += self._commander.set_controls(controls, now)

    def centre(self, now: float, vehicle: int = 0) -> None:
        """Centre the axes that commands have moved, and no others; repeated until shown."""
        if self._peer.doubted:
            # Once the same run is back.
            self._commander.centre_later()
            return
        self.check_peer('command/controls', now)
        self._commander.centre(now)

    def pause(self, on: bool, now: float) -> int:
        """Pause X-Plane, or resume it; return the ticket of the CommandDone that will come."""
        self._check_datarefs('pause')
        self.check_peer('pause', now)
        return self._commander.pause(on, now)

    def release(self, now: float, vehicle: int | None = None) -> None:
        """
        Give back what was taken: override, axes that were moved, flight model, pause.

        What was taken before a silence is given back once X-Plane is known to be the same run.
        """
        self._commander.release(now)

    def read_datarefs(self, names: Sequence[str], now: float) -> int:
        """Read datarefs once; return the ticket of the ReadDone that will come."""
        self._check_datarefs('reading datarefs')
        self.check_peer('reading datarefs', now)
        return self._reads.add(names, now)

    def watch(self, names: Sequence[str], rate: float, now: float) -> None:
        """Subscribe to these datarefs at ``rate`` (1..1000); no names stop it."""
        if names and self._peer.dialect.given is not None:
            self._check_datarefs('datarefs')
        self._feeds.watch(names, rate, now)

    def choose_rows(self, rows: Iterable[int], now: float) -> None:
        """Select these rows besides those needed for telemetry."""
        self._feeds.choose_rows(rows, now)

    # For the link: what is sent.

    def _send(self, now: float) -> list[Outgoing]:
        if self._peer.leaves:
            self._go_on_leaving(now)
        if self._peer.talks:
            self._request(now)
        outgoing = self._commander.take(now, tells=not self._peer.leaves)
        outgoing += self._outbox.take(now, hurries=self._peer.leaves)
        self._expired += [*self._commander.ended(), *self._outbox.ended()]
        return outgoing

    def _request(self, now: float) -> None:
        """Request what is missing."""
        if self._peer.must_probe(now):
            self._feeds.probe()
        dialect = self._peer.dialect
        found = dialect.found(now)
        if found is not None:
            self._end_search()
            self._expired += self._recognize(found, now)
        self._outbox.push(VERSION_CHANNEL, dialect.ask(now))
        if self._peer.answers:
            self._farewells.ask(now)
        if not self._peer.silent:
            self._feeds.ask(now, self._peer.answers)
        self._expired += self._reads.poll(now)

    def _go_on_leaving(self, now: float) -> None:
        """Repeat what is given back until it is shown, then end the reports that show it."""
        if not self._commander.has_goals:
            self._feeds.end()
        self._feeds.ask_reports(now)
        self._farewells.ask(now, listens=self._peer.listens)
        if self._feeds.ended and not self._farewells and not self._outbox:
            self._expired += self._happen((What.SHOWN,), now)

    def _deadlines(self, now: float) -> Iterator[float | None]:
        yield self._commander.deadline
        yield self._outbox.deadline()
        yield self._reads.deadline
        if self._peer.answers or self._peer.leaves:
            yield self._farewells.deadline
        if self._peer.leaves:
            yield self._feeds.reports_deadline
            if not (self._outbox or self._farewells or self._commander.has_goals):
                yield now
        elif self._peer.talks:
            yield self._peer.dialect.deadline
            if not self._peer.silent:
                yield self._feeds.deadline(self._peer.answers)

    def _recognize(self, version: int | None, now: float) -> list[Any]:
        """Talk to an X-Plane of this version from now on."""
        found = tuple(self._peer.recognize(version))
        if version is None or not found:
            return []
        return [VersionFound(version), *self._happen(found, now, _OTHER_VERSION)]

    # For the link: what is heard.

    def _decode(self, channel: str, data: bytes) -> Any:
        return wire.decode(data, 'peer', self.version, previous=self.layout)

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
        if not (self._peer.talks or self._peer.leaves):
            return ()
        self._peer.expect(now)
        if not isinstance(message, Data | RposReply | RrefReply):
            self.statistics.unexpected += 1
            return self.expired()
        events = [*self.expired(), *self._happen(self._peer.hear(now), now)]
        ended = self._farewells.hear(channel, keys_of(message), now)
        if isinstance(message, Data):
            return events + self._hear_rows(message, now)
        if ended:
            return events
        self._peer.answer()
        self._peer.dialect.hear_reply(now)
        if isinstance(message, RposReply):
            return events + self._feeds.receive_pose(message, now)
        return events + self._hear_values(channel, message, now)

    def _hear_beacon(self, beacon: Becn, sender: Address, now: float) -> None:
        beacon = replace(beacon, name=printable(beacon.name))
        try:
            self._expired += self._happen(
                self._peer.hear_beacon(beacon, sender, now), now,
                'X-Plane has another address now')
        except ValueError as error:
            self.statistics.reject(beacon.tag, error)

    def _hear_rows(self, message: Data, now: float) -> list[Any]:
        events = self._feeds.receive_rows(message, now)
        if self.version is not None and not self._peer.dialect.has_datarefs:
            # Before 10, X-Plane answers only with rows.
            self._peer.has_peer |= self._feeds.wants_any(message.segments)
            known = wire.quantities(self.version, message.segments)
            self._identify(known.total_time, now)
            self._commander.hear({name: getattr(known, name) for name in SHOWN_BY_ROWS}, now)
        return events

    def _hear_values(self, channel: str, reply: RrefReply, now: float) -> list[Any]:
        if channel == REPORT_CHANNEL:
            values = self._feeds.receive_reports(reply, now)
            self._identify(values.get(TIME), now)
            self._commander.hear(values, now)
            return self._recognize(version_of(values.get(INTERNAL_VERSION)), now)
        events = self._feeds.receive_values(channel, reply, now)
        if events is not None:
            return events
        if channel == VERSION_CHANNEL:
            self._peer.dialect.hear_values(dict(reply.values))
            return []
        done = self._reads.receive(channel, reply)
        if done is None and not self._reads.owns(channel):
            self.statistics.unexpected += 1
        return [] if done is None else [done]

    def _identify(self, time: float | None, now: float) -> None:
        self._expired += self._happen(
            self._peer.identify(time, now), now, 'X-Plane was restarted')

    # What the table says.

    def _do(  # noqa: C901 -- one branch for each word of the table
        self, action: Do, reason: str, now: float
    ) -> Sequence[Any]:
        match action:
            case Do.BEGIN:
                self._begin(now)
            case Do.RESUME:
                self._feeds.resume(now)
            case Do.AGAIN:
                self._feeds.resume(now, restarted=True)
            case Do.CHECK:
                if self.version is not None:
                    self._search(now)
            case Do.DROP:
                self._outbox.drop_commands(reason)
            case Do.END:
                return self._reads.abandon(reason)
            case Do.FORGET:
                self._forget()
            case Do.HOLD:
                self._reports.clear()
                self._taken.hold()
            case Do.RESTORE:
                self._taken.restore()
            case Do.PAY:
                self._commander.resume(now)
            case Do.DISOWN:
                self._disown()
            case Do.LEAVE:
                return self._leave(now)
            case Do.LOOK_BACK:
                self._look_back()
            case Do.TELL:
                return self._tell_left()
            case Do.CLOSE:
                self._close()
            case _:
                return super()._do(action, reason, now)
        return ()

    def _begin(self, now: float) -> None:
        version, address = self.version, self.peer
        assert address is not None
        if version is None:
            self._search(now)
            return
        self._feeds.end()
        self._commander.begin(version)
        self._feeds.begin(version, address[0], now)
        if not self._peer.dialect.has_datarefs:
            # Rows are listened for before any is selected.
            self._peer.expect(now + LISTENING)

    def _search(self, now: float) -> None:
        """Search for the version."""
        if self._peer.dialect.given is None:
            self._farewells.forget(VERSION_CHANNEL)
        self._peer.dialect.search(now)

    def _end_search(self) -> None:
        if self._peer.dialect.end_search():
            self._outbox.drop(VERSION_CHANNEL)
            self._farewells.end(
                VERSION_CHANNEL, VERSION_NUMBERS, partial(ask_version, 0), 1.0 / VERSION_RATE)

    def _forget(self) -> None:
        """Forget what is outstanding."""
        self._peer.dialect.lose()
        self._feeds.forget()
        self._farewells.lose()
        self._commander.lose()
        self._reports.clear()

    def _disown(self) -> None:
        """Forget what was done to another run of X-Plane."""
        self._feeds.disown()
        self._farewells.disown()
        self._commander.disown()
        self._taken.drop()

    def _leave(self, now: float) -> Sequence[Any]:
        """Give back what was taken, and end what shows nothing of it."""
        self._end_search()
        self._peer.leave_until(
            now + self.release_timeout + min(_LAST, self.release_timeout))
        self._commander.release(now)
        self._feeds.leave()
        return self._outbox.ended()

    def _look_back(self) -> None:
        """Note what X-Plane has not shown, and forget it."""
        self._left = look_back(
            self._peer.was, self._taken.owed, self.version, self.release_timeout)
        self._feeds.end()
        self._farewells.disown()
        self._commander.disown()
        self._taken.clear()
        self._reports.clear()
        self._peer.identity.forget()
        self._peer.dialect.forget()

    def _tell_left(self) -> Sequence[Any]:
        """Tell what stays as it was left at an address that X-Plane has no more."""
        left, self._left = self._left, Left()
        if not left.owed:
            return ()
        return [CommandDone(
            0, 'release', f'may stay as it was left at the old address of X-Plane: '
            f'{", ".join(left.owed)}; {left.reason}')]

    def _close(self) -> None:
        for channel in _CHANNELS:
            self._outbox.drop(channel)
            self._outbox.push(channel, [None])
