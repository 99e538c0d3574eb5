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

"""All that X-Plane is asked to send: continuously, once, and no more."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
import math
from typing import Any

from xplane_bridge.bridges.protocols.base import Message
from xplane_bridge.bridges.protocols.xplane_versions import FIRST_WITH_DATAREFS
from xplane_bridge.bridges.sessions.base import Outgoing, ReadDone, soonest, Tickets
from xplane_bridge.bridges.xplane_udp import protocol as wire
from xplane_bridge.bridges.xplane_udp.protocol import Data, DataLayout, RposReply, RrefReply
from xplane_bridge.bridges.xplane_udp.session.commands import (
    check_rows,
    COMMAND_CHANNEL,
    DATA_CHANNEL,
)
from xplane_bridge.bridges.xplane_udp.session.dialect import (
    ask_version,
    INTERNAL_VERSION,
    SpokenDialect,
    VERSION_NUMBERS,
    VERSION_RATE,
)
from xplane_bridge.bridges.xplane_udp.session.events import (
    DataArrived,
    RowTelemetry,
    Statistics,
    TELEMETRY,
    WATCHES,
)
from xplane_bridge.bridges.xplane_udp.session.reports import REPORTED
from xplane_bridge.bridges.xplane_udp.session.requests.aircraft import AircraftSubscription
from xplane_bridge.bridges.xplane_udp.session.requests.queue import RequestQueue
from xplane_bridge.bridges.xplane_udp.session.requests.reads import Reads
from xplane_bridge.bridges.xplane_udp.session.requests.rows import Rows
from xplane_bridge.bridges.xplane_udp.session.requests.subscription import Subscription
from xplane_bridge.bridges.xplane_udp.session.requests.unsubscribes import (
    Ending,
    Key,
    read_keys,
    Unsubscribes,
)
from xplane_bridge.bridges.xplane_udp.session.requests.watch import Watch
from xplane_bridge.bridges.xplane_udp.session.states import Contact

TELEMETRY_CHANNEL = 'telemetry'
REPORT_CHANNEL = 'reports'
VERSION_CHANNEL = 'version'
# Of what is requested from begin() on.
_FEEDS = (TELEMETRY_CHANNEL, REPORT_CHANNEL, DATA_CHANNEL)
# Their requests have priority over those of reads and watched datarefs.
_FIRST = (*_FEEDS, VERSION_CHANNEL)
_ALL = (*_FEEDS, COMMAND_CHANNEL, VERSION_CHANNEL)

# After a silence X-Plane may continue by itself with earlier requests.
_RESUMING = 0.25

_REPORT_RATE = 10
_FIRST_WITH_INTERNAL_VERSION = 11

# Blocks of RREF numbers, so that no late value is mistaken for another dataref's.
_STATE_INDEX = 0
_REPORT_INDEX = 500


@dataclass(frozen=True, slots=True)
class Sources:
    """Sources of telemetry: datarefs (10 and later) and rows, by version."""

    datarefs: Mapping[int, tuple[str, ...]]
    rows: Mapping[int, tuple[int, ...]]


class Requests:
    """
    Everything that one X-Plane is asked to send, and to send no more.

    Rows are selected and datarefs subscribed, each until it arrives, and again when it stops.
    What X-Plane speaks is lent for each call.
    """

    def __init__(
        self, sources: Sources, rate: int, pacing: float, tickets: Tickets, statistics: Statistics
    ) -> None:
        self.aircraft: AircraftSubscription | None = None
        self._sources = sources
        self._rate = rate
        self._pacing = pacing
        self._statistics = statistics
        self._queue = RequestQueue(_FIRST)
        self._unsubscribes = Unsubscribes()
        self._reads = Reads(tickets)
        self._rows = Rows()
        self._reports: Subscription | None = None
        self._watches = {name: Watch(name, pacing, statistics) for name in WATCHES}
        self._version: int | None = None
        self._host = ''
        self._chosen: frozenset[int] = frozenset()

    def __len__(self) -> int:
        """Return how many wait to be sent."""
        return len(self._queue)

    def _subscribed(self) -> list[tuple[str, AircraftSubscription | Subscription]]:
        """Return the subscriptions to datarefs, with their channels."""
        feeds: list[tuple[str, AircraftSubscription | Subscription]] = []
        if self.aircraft is not None:
            feeds += ((TELEMETRY_CHANNEL, self.aircraft),)
        feeds += [(watch.channel, watch.subscription) for watch in self._watches.values()
                  if watch.subscription is not None]
        if self._reports is not None:
            feeds += ((REPORT_CHANNEL, self._reports),)
        return feeds

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the names of everything that is requested."""
        names = [name for _, feed in self._subscribed() for name in feed.names]
        return tuple(dict.fromkeys((*names, *map(_row_name, sorted(self._rows.wanted)))))

    def missing(self, now: float) -> dict[str, float]:
        """Return since when values are missing, by name."""
        missing: dict[str, float] = {}
        for _, feed in self._subscribed():
            missing |= feed.missing(now)
        if (self._version or 0) < _FIRST_WITH_INTERNAL_VERSION:
            missing.pop(INTERNAL_VERSION, None)
        return missing | {
            _row_name(row): since for row, since in self._rows.missing(now).items()}

    def missing_rows(self, now: float) -> tuple[int, ...]:
        """Return the missing rows."""
        return self._rows.absent(now)

    # What is wanted.

    def watch(
        self, names: Sequence[str], rate: float, now: float, waiting: int, name: str
    ) -> None:
        """
        Subscribe to these datarefs for one of WATCHES; raise ValueError for invalid ones.

        ``waiting`` is how many datagrams besides these requests wait to be sent.
        """
        watch = self._watches[name]
        watch.choose(names, rate, waiting + len(self._queue))
        self._end_watch(watch)
        self._begin_watch(watch, now)

    def choose_rows(self, rows: Iterable[int], dialect: SpokenDialect, now: float) -> None:
        """Select these rows besides those for telemetry; raise ValueError for invalid ones."""
        chosen = frozenset(rows)
        check_rows(chosen)
        self._chosen = chosen
        if self._version is not None:
            gone = self._rows.choose(chosen, now)
            self._deselect(dialect.own(self._version), gone)

    def read(self, names: Sequence[str], now: float) -> int:
        """Read datarefs once; return the ticket. ValueError for a bad name or too many."""
        return self._reads.add(names, now)

    # What the table says.

    def begin(self, version: int, host: str, dialect: SpokenDialect, now: float) -> None:
        """Subscribe and select what this version's telemetry needs."""
        self.end(dialect)
        self._version, self._host = version, host
        for channel in _FEEDS:
            self._unsubscribes.forget(channel)
        by_rows = not dialect.sends_datarefs
        self._rows = self._rows.successor(
            self._sources.rows[version] if by_rows else (), self._chosen)
        if version >= FIRST_WITH_DATAREFS:
            self._reports = Subscription(
                REPORTED, _REPORT_RATE, _REPORT_INDEX, self._pacing, self._statistics)
        if not by_rows:
            self.aircraft = AircraftSubscription(
                self._sources.datarefs[version], self._rate, _STATE_INDEX, self._pacing,
                self._statistics, version)
        for watch in self._watches.values():
            self._begin_watch(watch, now)
        self.resume(dialect, now, restarted=True)

    def _begin_watch(self, watch: Watch, now: float) -> None:
        if (self._version or 0) >= FIRST_WITH_DATAREFS:
            watch.begin(now)

    def resume(self, dialect: SpokenDialect, now: float, *, restarted: bool = False) -> None:
        """Request what does not arrive by itself: everything after a restart of X-Plane."""
        at = now if restarted else now + _RESUMING
        for _, feed in self._subscribed():
            feed.begin(at)
        if self._rows.wanted and self._version is not None:
            # Rows that arrive by themselves are heard only where the channel is open.
            self._queue.push(DATA_CHANNEL, [b''])
            self._aim(dialect, self._version)
        self._rows.begin(now)

    def forget(self) -> None:
        """Drop waiting requests, which would be lost, as X-Plane is silent."""
        for channel in (*_FEEDS, *[watch.channel for watch in self._watches.values()]):
            self._queue.drop(channel)
        for _, feed in self._subscribed():
            feed.end()
        self._rows.end()
        self._unsubscribes.lose(self._queue)

    def hold(self) -> None:
        """Put on hold which rows are ours."""
        self._rows.hold()

    def restore(self) -> None:
        """Count rows on hold as ours again: it is the same run of X-Plane."""
        self._rows.restore()

    def disown(self) -> None:
        """Forget what another run of X-Plane was asked."""
        self._rows.disown()
        self._unsubscribes.disown(self._queue)

    def abandon(self, reason: str) -> list[ReadDone]:
        """End all reads with ``reason``."""
        done = self._reads.abandon(reason)
        self._end_reads()
        return done

    def leave(self, dialect: SpokenDialect) -> None:
        """End everything but the reports, which show what was given back."""
        version = self._version
        if version is None:
            return
        self._queue.drop(TELEMETRY_CHANNEL)
        for watch in self._watches.values():
            self._end_watch(watch)
        if self.aircraft is not None:
            self._unsubscribes.end(Ending(
                TELEMETRY_CHANNEL, self.aircraft.keys, self.aircraft.cancel, 1.0 / self._rate,
                closes=False))
            self.aircraft = None
        if version >= FIRST_WITH_DATAREFS:
            self._end_rows(dialect.own(version))

    def end(self, dialect: SpokenDialect) -> None:
        """End all of it; waiting requests are not sent any more."""
        version = self._version
        if version is None:
            return
        self.leave(dialect)
        if self._reports is not None:
            self._queue.drop(REPORT_CHANNEL)
            self._unsubscribes.end(Ending(
                REPORT_CHANNEL, self._reports.indices, self._reports.cancel, 1.0 / _REPORT_RATE,
                closes=False))
            self._reports = None
        else:
            self._end_rows(dialect.own(version))
        # The target of rows is left unchanged: its previous value cannot be read, and ending it
        # would end an output that the user of X-Plane may have set.
        self._version = None

    def look_back(self, dialect: SpokenDialect) -> None:
        """Forget everything: the conversation is over."""
        self.end(dialect)
        self._unsubscribes.disown(self._queue)
        self._rows.forget()

    def close(self) -> None:
        """Close all channels: X-Plane has another address."""
        for channel in _ALL:
            self._queue.drop(channel)
            self._queue.push(channel, [None])

    def search(self) -> None:
        """Use the channel of the search for the version again."""
        self._unsubscribes.forget(VERSION_CHANNEL)

    def end_search(self) -> None:
        """End what was requested in the search for the version."""
        self._queue.drop(VERSION_CHANNEL)
        self._unsubscribes.end(Ending(
            VERSION_CHANNEL, VERSION_NUMBERS, partial(ask_version, 0), 1.0 / VERSION_RATE))

    def _end_watch(self, watch: Watch) -> None:
        channel, ending = watch.channel, watch.end()
        if ending is not None:
            self._queue.drop(channel)
            self._unsubscribes.end(ending)

    def _end_rows(self, layout: DataLayout) -> None:
        self._queue.drop(DATA_CHANNEL)
        self._deselect(layout, self._rows.cancel(), self._rows.selected_at)
        self._rows = self._rows.emptied()

    def _deselect(
        self, layout: DataLayout, rows: Sequence[int], selected_at: float = -math.inf
    ) -> None:
        """Deselect rows; those that go on arriving, or again, once more."""
        if rows:
            self._unsubscribes.end(Ending(
                DATA_CHANNEL, rows, partial(_deselection, rows, layout), self._rows.period,
                closes=False, begun_at=selected_at))

    def _end_reads(self) -> None:
        """End what X-Plane sends for reads that have ended."""
        for ending in self._reads.ended():
            self._queue.drop(ending.channel)
            if ending.keys:
                self._unsubscribes.end(ending)

    # What is sent.

    def ask(self, dialect: SpokenDialect, now: float, contact: Contact) -> list[ReadDone]:
        """Request what is due while there is such a contact; return reads that timed out."""
        answers = contact is Contact.ANSWERS
        if asked := dialect.ask(now):
            self._queue.push(VERSION_CHANNEL, asked)
        if answers and self._unsubscribes.unsubscribes:
            self._unsubscribes.ask(now, self._queue, listens=True)
        if contact is not Contact.SILENT:
            self._ask_feeds(dialect, now, answers)
        if not self._reads:
            return []
        done = self._reads.poll(now, self._queue)
        self._end_reads()
        return done

    def _ask_feeds(self, dialect: SpokenDialect, now: float, answers: bool) -> None:
        if self._version is None:
            return
        for channel, feed in self._subscribed():
            if due := feed.due(now):
                self._queue.push(channel, due)
        if answers or self._reports is None:
            self._select(dialect, self._version, self._rows.due(
                now, dialect.own(self._version), answers))

    def ask_last(self, now: float, *, listens: bool) -> bool:
        """
        Request what one that is left is still asked; return whether nothing is left to ask.

        ``listens`` False does not wait for the effect.
        """
        if self._reports is not None:
            self._queue.push(REPORT_CHANNEL, self._reports.due(now))
        self._unsubscribes.ask(now, self._queue, listens=listens)
        return self._version is None and not self._unsubscribes and not self._queue

    def take_closings(self) -> list[Outgoing]:
        """Remove and return the channels to close now."""
        return self._queue.take_closings()

    def take(self) -> Outgoing:
        """Remove and return the request whose turn it is."""
        return self._queue.take()

    def deadline(self, contact: Contact) -> float | None:
        """Return when ask() has something."""
        answers = contact is Contact.ANSWERS
        return soonest(
            self._reads.deadline(self._queue) if self._reads else None,
            self._unsubscribes.deadline(self._queue)
            if answers and self._unsubscribes.unsubscribes else None,
            None if contact is Contact.SILENT else self._feeds_deadline(answers))

    @property
    def last_deadline(self) -> float | None:
        """Return when ask_last() has something."""
        return soonest(
            self._reads.deadline(self._queue), self._unsubscribes.deadline(self._queue),
            None if self._reports is None else self._reports.deadline)

    @property
    def left(self) -> bool:
        """Return whether something waits to be sent, or goes on although it was ended."""
        return bool(self._queue or self._unsubscribes)

    def _feeds_deadline(self, answers: bool) -> float | None:
        if self._version is None:
            return None
        rows = self._rows.deadline if answers or self._reports is None else None
        return soonest(rows, *[feed.deadline for _, feed in self._subscribed()])

    def probe(self, dialect: SpokenDialect) -> None:
        """Probe a silent X-Plane with one dataref, or a row."""
        if self._version is None:
            return
        if self._reports is not None:
            # The running time, which shows whether it is another run of X-Plane.
            self._queue.push(REPORT_CHANNEL, [self._reports.first()])
            return
        layout = dialect.draw_probe(self._version)
        self._select(dialect, self._version, self._rows.probe(layout))

    def _select(self, dialect: SpokenDialect, version: int, selection: bytes | None) -> None:
        """Send a selection of rows, preceded by their destination."""
        if selection is not None:
            self._aim(dialect, version)
            self._queue.push(DATA_CHANNEL, [selection])

    def _aim(self, dialect: SpokenDialect, version: int) -> None:
        self._queue.push(DATA_CHANNEL, dialect.target(version, self._host))

    # What is heard.

    def on_ended(self, channel: str, message: Message, now: float) -> bool:
        """Record what came; return whether something is being ended on that channel."""
        if channel not in self._unsubscribes.unsubscribes:
            return False
        self._unsubscribes.on_reply(channel, read_keys(message), now)
        return True

    def receive_rows(self, message: Data, now: float) -> list[Any]:
        """Handle rows; return the events that they complete."""
        self._statistics.rows += len(message.segments)
        events: list[Any] = [DataArrived(message.segments)]
        group = self._rows.receive(message.segments, now)
        if group is not None and self._version is not None:
            self._statistics.updates[TELEMETRY] += 1
            events.append(RowTelemetry(self._version, group))
        return events

    def wants_any(self, segments: Iterable[wire.Segment]) -> bool:
        """Return whether one of these rows was requested."""
        return any(segment.index in self._rows.wanted for segment in segments)

    def receive_pose(self, pose: RposReply, now: float) -> list[Any]:
        """Handle a pose; return the events that it completes."""
        telemetry = self.aircraft.receive_pose(pose, now) if self.aircraft else None
        return [telemetry] if telemetry else []

    def receive_reports(self, reply: RrefReply, now: float) -> dict[str, float]:
        """Handle datarefs that X-Plane reports about itself; return them by name."""
        if self._reports is None:
            return {}
        self._reports.receive(reply, now)
        return {REPORTED[index - _REPORT_INDEX]: value for index, value in reply.values
                if index in self._reports.indices}

    def receive_values(self, channel: str, reply: RrefReply, now: float) -> list[Any]:
        """Handle datarefs; return the events that they complete."""
        if channel == TELEMETRY_CHANNEL and self.aircraft is not None:
            telemetry = self.aircraft.receive_state(reply, now)
            return [telemetry] if telemetry else []
        for watch in self._watches.values():
            if (events := watch.receive(channel, reply, now)) is not None:
                return events
        if not self._reads.owns(channel):
            self._statistics.unexpected += 1
            return []
        done = self._reads.receive(channel, reply)
        self._end_reads()
        return [] if done is None else [done]


def _row_name(row: int) -> str:
    return f'row {row}'


def _deselection(rows: Iterable[int], layout: DataLayout, keys: Collection[Key]) -> list[bytes]:
    """Return the request that deselects those of the rows."""
    return [wire.encode(wire.Usel(tuple(row for row in rows if row in keys), layout))]
