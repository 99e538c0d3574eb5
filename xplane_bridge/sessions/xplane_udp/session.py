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

"""The conversation with X-Plane over its own UDP. Time is passed in; there is no socket."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from xplane_bridge.protocols import xplane_udp as wire
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.protocols.foreign import printable
from xplane_bridge.protocols.xplane_udp import (
    Becn,
    Data,
    FIRST_WITH_DATAREFS,
    RposReply,
    RrefReply,
)
from xplane_bridge.sessions.base import PeerAbsentError, Tickets
from xplane_bridge.sessions.lifetimes import DEFAULT_LIFETIME
from xplane_bridge.sessions.xplane_udp.commander import COMMAND_CHANNEL, Commander, DATA_CHANNEL
from xplane_bridge.sessions.xplane_udp.commands import RowKind, TRIMS
from xplane_bridge.sessions.xplane_udp.discovery import Address, Discovery
from xplane_bridge.sessions.xplane_udp.events import (
    BeaconHeard,
    Event,
    PeerState,
    Statistics,
    VersionFound,
)
from xplane_bridge.sessions.xplane_udp.feeds import (
    Feeds,
    Needs,
    REPORT_CHANNEL,
    TELEMETRY_CHANNEL,
    Wire,
)
from xplane_bridge.sessions.xplane_udp.outbox import Outbox, Outgoing
from xplane_bridge.sessions.xplane_udp.presence import Presence
from xplane_bridge.sessions.xplane_udp.reads import Reads
from xplane_bridge.sessions.xplane_udp.reports import INTERNAL_VERSION, Reports, TIME
from xplane_bridge.sessions.xplane_udp.selection import LISTENING
from xplane_bridge.sessions.xplane_udp.taken import Taken
from xplane_bridge.sessions.xplane_udp.version import (
    VERSION_CHANNEL,
    version_of,
    VersionFinder,
)

BEACON_CHANNEL = 'beacon'

# Their requests come before those of reads and watched datarefs.
_FIRST = (TELEMETRY_CHANNEL, REPORT_CHANNEL, DATA_CHANNEL, VERSION_CHANNEL)

# Without anything for this long, or for some periods of a slow rate, X-Plane counts as away.
_SILENCE = 1.0
_SILENT_PERIODS = 2.5

# After a silence it may be another version: how long the dataref may stay away that 10 has not.
_CHECKING = 5.0


class XplaneUdpSession:
    """
    Subscribe to datarefs or select rows of one X-Plane, read, write and command it.

    ``rate`` (1..1000) is in updates per second, for datarefs; rows come as fast as X-Plane is set
    to. ``version`` None finds out: 10 and later by asking, 6 to 9 by the rows they send.
    ``by_rows`` takes telemetry from rows in every version; before 10 there is nothing else.
    ``peer`` None waits for hear() to discover one. ``lifetime`` is how long a command may wait.

    Everything that sends raises ValueError with a sentence if it must not be sent; that is a
    PeerAbsentError if X-Plane is not there to take it. A command's CommandDone comes if it was not
    sent after all, and if it was ``awaited``.
    """

    def __init__(
        self,
        needs: Needs,
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
        self.statistics = Statistics()
        self.version = version
        self.peer = peer
        self._presence = Presence()
        self._rate = round(rate)
        self._fixed_version = version
        self._discovery = Discovery(peer)
        form = wire_format or Wire()
        tickets = Tickets()
        self._outbox = Outbox(form.pacing, lifetime, tickets, _FIRST)
        self._taken = Taken()
        self._reports = Reports()
        self._feeds = Feeds(
            needs, self._rate, by_rows, form, self._outbox, self.statistics, self._taken)
        self._commander = Commander(
            self._outbox, self._reports, self._taken, row_kind, override_joystick,
            self._feeds.own_layout)
        self._reads = Reads(self._outbox, tickets)
        self._finder: VersionFinder | None = None
        self._release_owed = False
        self._identified = True
        self._has_peer = self._had_peer = False
        self._active = False
        self._next_peer: Address | None = None
        self._deadline: float | None = None
        self._expired: list[Event] = []

    # What the owner may ask at any time.

    @property
    def peer_state(self) -> PeerState:
        """Return how the peer seems."""
        return self._presence.state

    @property
    def has_peer(self) -> bool:
        """Tell whether X-Plane has sent, since it was last silent, what it was asked for."""
        return self._has_peer

    @property
    def had_peer(self) -> bool:
        """Tell whether this X-Plane answers requests, as it has done before."""
        return self._had_peer

    @property
    def beacon(self) -> Becn | None:
        """Return the beacon that was heard last of this X-Plane."""
        return self._discovery.beacon

    @property
    def taken(self) -> frozenset[str]:
        """Return what release() would give back: 'joystick', 'elevator', 'pause' ..."""
        return self._taken.names

    @property
    def uses_datarefs(self) -> bool:
        """Tell whether telemetry is asked for by RREF and RPOS."""
        return self._feeds.aircraft is not None

    @property
    def every_frame(self) -> bool:
        """Tell whether every frame had to be asked for to get datarefs of the same frame."""
        aircraft = self._feeds.aircraft
        return aircraft is not None and aircraft.every_frame

    @property
    def layout(self) -> wire.Layout | None:
        """Return how the rows look that came last, None before any came."""
        return self._feeds.layout

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the names of all that is asked for."""
        return self._feeds.wanted

    def missing(self, now: float) -> dict[str, float]:
        """Return what is asked for and does not come, by name, with since when."""
        return {} if self._presence.silent else self._feeds.missing(now)

    def missing_rows(self, now: float) -> tuple[int, ...]:
        """Return the rows that are wanted and do not come."""
        return self._feeds.missing_rows(now)

    @property
    def drained(self) -> bool:
        """Tell whether nothing waits to be sent."""
        return not self._outbox and not self._commander.urgent

    # Commands.

    def start(self, now: float) -> None:
        """Begin to talk."""
        self._active = True
        self._has_peer = self._had_peer = False
        self._presence.start(
            PeerState.SEARCHING if self.peer is None else PeerState.UNKNOWN, now)
        if self.peer is None:
            return
        if self.version is None:
            self._finder = VersionFinder(now)
        else:
            self._begin(self.version, now)

    def stop(self, now: float) -> None:
        """Stop talking: give back what was taken, end what was subscribed and selected."""
        self._leave('the node was deactivated', now)
        self._active = self._has_peer = self._had_peer = False
        self._presence.become(PeerState.UNKNOWN)

    def flush(self, now: float) -> None:
        """Send everything that waits at the next poll(), however much it is."""
        self._commander.urgent += self._outbox.take_requests()

    def check_peer(self, what: str, now: float) -> None:
        """Raise PeerAbsentError if X-Plane is not there to take a command."""
        self._need_peer(what)

    def send(
        self, message: wire.Message, now: float, *, what: str = '', awaited: bool = False
    ) -> int:
        """Send one command, with its turn; return its ticket. ``what`` names it for a person."""
        return self.send_all([message], now, what=what, awaited=awaited)

    def send_all(
        self, messages: Sequence[wire.Message], now: float, *, what: str = '',
        awaited: bool = False,
    ) -> int:
        """Send commands of one kind, all or none; return the ticket of the last."""
        what = what or messages[0].tag
        if not isinstance(messages[0], Data):
            self._need_datarefs(what)
        self._need_peer(what)
        return self._commander.send(messages, now, what, awaited)

    def set_controls(self, controls: Mapping[str, float], now: float) -> None:
        """
        Set controls, by the names of FlightControls.

        When they come faster than they can leave, the newest value of each control is sent.
        """
        self._need_peer('command/controls')
        if controls:
            self._release_owed = False
            self.statistics.held_back += self._commander.set_controls(controls, now)

    def pause(self, on: bool, now: float, *, awaited: bool = False) -> int:
        """Pause X-Plane, or let it go on; return the ticket."""
        self._need_datarefs('pause')
        self._need_peer('pause')
        return self._commander.pause(on, now, awaited)

    def release(self, now: float) -> None:
        """
        Give back what was taken: override, axes that were moved, flight model, pause.

        What was taken before a silence waits for X-Plane, and is given back if it is the same run.
        """
        self._release_owed = self._taken.on_hold
        self._commander.release(now)

    def read_datarefs(self, names: Sequence[str], now: float) -> int:
        """Read datarefs once; return the ticket of the ReadDone that will come."""
        self._need_datarefs('reading datarefs')
        self._need_peer('reading datarefs')
        return self._reads.add(names, now)

    def watch(self, names: Sequence[str], rate: float, now: float) -> None:
        """Subscribe to these datarefs at ``rate`` (1..1000); no names ends it."""
        if names and self._fixed_version is not None:
            self._need_datarefs('datarefs')
        self._feeds.watch(names, rate, now)

    def choose_rows(self, rows: Iterable[int], now: float) -> None:
        """Select these rows beside those that the telemetry needs."""
        self._feeds.choose_rows(rows, now)

    def hear(self, beacon: Becn, sender: Address, now: float) -> None:
        """Take a beacon and the address and port that it came from."""
        try:
            moved = self._discovery.hear(beacon, sender, now, self._presence.answering)
        except ValueError as error:
            self.statistics.malformed.add(beacon.tag)
            self.statistics.last_error = str(error)
            return
        if moved and self._discovery.peer is not None:
            self._move(self._discovery.peer, now)

    # What the link calls.

    def next_deadline(self) -> float | None:
        """Return when poll() is due; known after poll()."""
        return self._deadline

    def expired(self) -> list[Event]:
        """Return the events that time has caused, since the last call."""
        events, self._expired = [*self._presence.changes(), *self._expired], []
        return events

    def receive(self, channel: str, data: bytes, now: float) -> list[Event]:
        """Take one datagram of the peer; return the events that it completes."""
        try:
            message = wire.decode(data, 'peer', self.version, previous=self._feeds.layout)
        except ProtocolError as error:
            self.statistics.malformed.add(_kind(data))
            self.statistics.last_error = str(error)
            return []
        if channel == BEACON_CHANNEL:
            return [BeaconHeard(replace(message, name=printable(message.name)))] if isinstance(
                message, Becn) else []
        if not self._active:
            return []
        self._presence.hear(now)
        events: list[Event] = []
        if isinstance(message, Data):
            self._wake_up(now)
            events += self._receive_data(message, now)
        elif isinstance(message, RposReply):
            self._wake_up(now)
            self._hear_reply(now)
            events += self._feeds.receive_pose(message, now)
        elif isinstance(message, RrefReply):
            self._wake_up(now)
            self._hear_reply(now)
            events += self._receive_values(channel, message, now)
        else:
            self.statistics.unexpected += 1
        # Changes of state come before what was received in the new one.
        return [*self.expired(), *events]

    def poll(self, now: float) -> list[Outgoing]:
        """Return what to send now, by channel; None closes a channel."""
        deadlines: list[float | None] = []
        if self._next_peer is not None:
            # The farewell to the old one has left: what is sent from now on goes to the new one.
            if not self._commander.urgent:
                self._arrive(self._next_peer, now)
            deadlines.append(now)
        elif self._active and self.peer is not None:
            deadlines.append(self._find_version(now))
            deadlines.append(self._watch_peer(now))
            if not self._presence.silent:
                deadlines.append(self._feeds.ask(now, self._presence.answering))
            self._expired += self._reads.poll(now)
        outgoing = self._commander.urgent
        self._commander.urgent = []
        outgoing += self._outbox.take(now)
        deadlines += [self._outbox.deadline(), self._reads.deadline]
        self._expired += self._outbox.ended()
        if self._expired or self._presence.has_changed:
            deadlines.append(now)
        self._deadline = min((at for at in deadlines if at is not None), default=None)
        self.statistics.asked += sum(
            1 for channel, data in outgoing if data is not None and channel != COMMAND_CHANNEL)
        return outgoing

    # Receiving.

    def _receive_data(self, message: Data, now: float) -> list[Event]:
        events = self._feeds.receive_rows(message, now)
        if self._finder is not None and message.layout is not None:
            self._finder.hear_rows(message.layout.framing)
        if self.version is not None and self.version < FIRST_WITH_DATAREFS:
            # Before 10 rows are all that X-Plane answers with.
            self._has_peer = self._has_peer or self._feeds.wants_any(message.segments)
            known = wire.quantities(self.version, message.segments)
            self._reports.hear({name: getattr(known, name) for name in TRIMS}, now)
            self._commander.compare(now)
            self._identify(known.total_time, now)
        return events

    def _receive_values(self, channel: str, reply: RrefReply, now: float) -> list[Event]:
        if channel == REPORT_CHANNEL:
            values = self._feeds.receive_reports(reply, now)
            self._reports.hear(values, now)
            self._identify(values.get(TIME), now)
            self._commander.compare(now)
            self._learn_version(version_of(values.get(INTERNAL_VERSION)), now)
            return []
        events = self._feeds.receive_values(channel, reply, now)
        if events is not None:
            return events
        if channel == VERSION_CHANNEL:
            if self._finder is not None:
                self._finder.hear_values(dict(reply.values), now)
            return []
        done = self._reads.receive(channel, reply)
        if done is None and not self._reads.owns(channel):
            self.statistics.unexpected += 1
        return [] if done is None else [done]

    def _hear_reply(self, now: float) -> None:
        self._has_peer = self._had_peer = True
        if self._finder is not None:
            self._finder.hear_reply(now)

    # Which X-Plane it is.

    def _identify(self, time: float | None, now: float) -> None:
        """See by the running time whether it is the X-Plane of before, and what that means."""
        if time is None:
            return
        identified, self._identified = self._identified, True
        if self._reports.is_same_run(time, now):
            if not identified:
                self._taken.restore()
            if self._release_owed:
                self.release(now)
            return
        if identified:
            # It was restarted so fast that no silence was noticed.
            self._outbox.drop_commands('X-Plane was restarted')
            self._reports.clear()
            self._taken.hold()
            self._feeds.resume(now, anew=True)
        self._feeds.disown()
        self._taken.drop()
        self._release_owed = False

    def _find_version(self, now: float) -> float | None:
        """Ask for the version until it is known; return when to ask again."""
        if self._finder is None:
            return None
        version = self._finder.found(now)
        if version is not None:
            self._outbox.drop(VERSION_CHANNEL)
            self._outbox.push(VERSION_CHANNEL, [*self._finder.cancel(), None])
            self._finder = None
            self._learn_version(version, now)
            return None
        self._outbox.push(VERSION_CHANNEL, self._finder.due(now))
        return self._finder.deadline

    def _learn_version(self, version: int | None, now: float) -> None:
        if version is None or self._fixed_version is not None or version == self.version:
            return
        if self.version is not None:
            # What was taken before a silence was taken from another X-Plane.
            self._taken.drop()
            self._outbox.drop_commands('X-Plane is of another version now')
            self._feeds.end()
        self.version = version
        self._had_peer &= version >= FIRST_WITH_DATAREFS
        self._expired.append(VersionFound(version))
        if self._active and self.peer is not None:
            self._begin(version, now)

    def _begin(self, version: int, now: float) -> None:
        assert self.peer is not None
        self._commander.begin(version)
        self._feeds.begin(version, self.peer[0], now)
        if version < FIRST_WITH_DATAREFS:
            # Rows are listened for before any is selected.
            self._presence.hear(now + LISTENING)

    # Whether it is there.

    def _need_datarefs(self, what: str) -> None:
        if self.version is not None and self.version < FIRST_WITH_DATAREFS:
            raise ValueError(
                f'{what}: X-Plane {self.version} knows only rows of data; datarefs, commands and '
                f'placing by UDP are there since X-Plane {FIRST_WITH_DATAREFS}')

    def _need_peer(self, what: str) -> None:
        """Raise PeerAbsentError with the reason if X-Plane is not there to take a command."""
        reason = self._absence()
        if reason:
            raise PeerAbsentError(f'{what}: {reason}')

    def _absence(self) -> str:
        if not self._active:
            return 'not sent, the node is not active'
        peer = self.peer if self._next_peer is None else None
        return self._presence.absence(peer, self.version)

    def _watch_peer(self, now: float) -> float | None:
        """Notice silence, and ask the silent peer a small thing; return when to look again."""
        quiet = PeerState.LOADING if self._discovery.is_heard(now) else PeerState.AWAY
        if not self._presence.silent:
            patience = _SILENCE
            if self.uses_datarefs:
                patience = max(patience, _SILENT_PERIODS / self._rate)
            at = self._presence.overdue_at(patience)
            if now < at:
                return at
            self._fall_silent(quiet, now)
        self._presence.become(quiet)
        if self._presence.must_probe(now):
            self._feeds.probe()
        return self._presence.probe_at

    def _fall_silent(self, quiet: PeerState, now: float) -> None:
        answered = self._presence.answering
        self._has_peer = False
        self._presence.fall_silent(quiet, now)
        reason = self._absence()
        self._outbox.drop_commands(reason)
        self._expired += self._reads.abandon(reason)
        self._feeds.forget()
        self._reports.clear()
        self._taken.hold()
        if not answered:
            # Nobody was there to take anything from.
            self._taken.drop()

    def _wake_up(self, now: float) -> None:
        """Start anew at the first datagram after silence."""
        if self._presence.answering:
            return
        if self._presence.silent:
            self._feeds.resume(now)
            self._identified = False
            if not self._reports.knows_run:
                self._taken.drop()
                self._feeds.disown()
            if self.version is not None and self._fixed_version is None:
                self._finder = VersionFinder(now, _CHECKING)
        self._presence.become(PeerState.ANSWERING)

    def _leave(self, reason: str, now: float) -> None:
        """End all that goes on with the peer, and give back what was taken from it."""
        if self._presence.silent:
            # It may be the same run, which reads this when it goes on.
            self._taken.restore()
        self._taken.drop()
        self._release_owed = False
        self._outbox.drop_commands(reason)
        self._commander.release(now)
        self._feeds.end()
        if self._finder is not None:
            self._outbox.drop(VERSION_CHANNEL)
            self._outbox.push(VERSION_CHANNEL, [*self._finder.cancel(), None])
            self._finder = None
        self._reports.clear()
        self._reports.forget_run()
        self._identified = True
        self._expired += [*self._reads.abandon(reason), *self._outbox.ended()]

    def _move(self, peer: Address, now: float) -> None:
        """Talk to another address from now on, on new sockets."""
        if self.peer is None or not self._active:
            self._arrive(peer, now)
            return
        self._leave('X-Plane has another address now', now)
        self.flush(now)
        self._commander.urgent += [(channel, None) for channel in (
            TELEMETRY_CHANNEL, DATA_CHANNEL, COMMAND_CHANNEL, VERSION_CHANNEL)]
        self._next_peer = peer

    def _arrive(self, peer: Address, now: float) -> None:
        self.peer = peer
        self._next_peer = None
        if self._active:
            if self._fixed_version is None:
                self.version = None
            self.start(now)


def _kind(data: bytes) -> str:
    """Name the kind of a malformed datagram: its label, if it is one."""
    tag = data[:4].decode('latin-1')
    return tag if len(tag) == 4 and tag.isascii() and tag.isalnum() else 'no label'
