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

"""What X-Plane is asked to send: the aircraft or its rows, chosen rows, watched datarefs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from xplane_bridge.protocols import xplane_udp as wire
from xplane_bridge.protocols.xplane_udp import (
    Data,
    FIRST_WITH_DATAREFS,
    Layout,
    RposReply,
    RrefReply,
)
from xplane_bridge.sessions.xplane_udp.aircraft import Aircraft, POSE
from xplane_bridge.sessions.xplane_udp.commander import DATA_CHANNEL
from xplane_bridge.sessions.xplane_udp.commands import check_rows
from xplane_bridge.sessions.xplane_udp.discovery import Address
from xplane_bridge.sessions.xplane_udp.events import (
    DataArrived,
    Event,
    RowTelemetry,
    Statistics,
    WatchedDatarefs,
)
from xplane_bridge.sessions.xplane_udp.outbox import Outbox
from xplane_bridge.sessions.xplane_udp.reports import INTERNAL_VERSION, REPORTED
from xplane_bridge.sessions.xplane_udp.selection import RowSelection
from xplane_bridge.sessions.xplane_udp.subscription import Subscription
from xplane_bridge.sessions.xplane_udp.taken import Taken

TELEMETRY_CHANNEL = 'telemetry'
REPORT_CHANNEL = 'reports'

# After a silence X-Plane may go on by itself with what it was asked before.
_RESUMING = 0.25

_REPORT_RATE = 10
_FIRST_WITH_INTERNAL_VERSION = 11

# Blocks of RREF numbers, so that no late value is taken for another dataref's.
_STATE_INDEX = 0
_REPORT_INDEX = 500
_WATCH_INDEX = 1000
MOST_WATCHED = 1000
"""Datarefs that may be watched at once."""
_WATCH_BLOCKS = 90
# To watch others cancels what was watched before: so many datagrams may wait for that.
_MOST_WAITING = 4 * MOST_WATCHED


def check_watched(names: Sequence[str]) -> None:
    """Raise ValueError for datarefs that are too many to be watched, or that cannot be asked."""
    if len(names) > MOST_WATCHED:
        raise ValueError(f'{len(names)} datarefs, at most {MOST_WATCHED} can be watched')
    for name in names:
        wire.encode(wire.RrefRequest(1, 0, name))


@dataclass(frozen=True, slots=True)
class Needs:
    """What telemetry is made of: datarefs (10 and later) and rows, by version."""

    datarefs: Mapping[int, tuple[str, ...]]
    rows: Mapping[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Wire:
    """
    How datagrams look and travel; None finds out, or takes what the version has.

    ``data_target`` tells, for the peer's address, the address and port that X-Plane 9 and later
    shall send rows to; None leaves that to its settings.
    """

    byte_order: Literal['little', 'big'] | None = None
    trailer: bool | None = None
    pacing: float = 0.01
    data_target: Callable[[str], Address] | None = None


class Feeds:
    """
    Everything that one X-Plane is asked to send, from begin() to end().

    Rows are selected and datarefs are subscribed, each until it comes, and again when it stops;
    requests go to the outbox. ``taken`` is where selected rows are noted.
    """

    def __init__(self, needs: Needs, rate: int, by_rows: bool, wire_format: Wire,
                 outbox: Outbox, statistics: Statistics, taken: Taken) -> None:
        self.aircraft: Aircraft | None = None
        self._needs = needs
        self._rate = rate
        self._by_rows = by_rows
        self._wire = wire_format
        self._outbox = outbox
        self._statistics = statistics
        self._taken = taken
        self._rows = RowSelection((), (), taken)
        self._reports: Subscription | None = None
        self._version: int | None = None
        self._host = ''
        self._layout: Layout | None = None
        # The byte orders of all rows that came: 'little', 'big'.
        self._orders: set[str] = set()
        self._swapped = False
        self._chosen: frozenset[int] = frozenset()
        self._watched: tuple[tuple[str, ...], int] = ((), 0)
        self._watch: Subscription | None = None
        self._watch_serial = 0

    @property
    def layout(self) -> Layout | None:
        """Return how the rows look that came last."""
        return self._layout

    def own_layout(self, version: int) -> Layout:
        """Return how what we send is framed: in the order of what came, if anything did."""
        order = self._wire.byte_order or (self._layout.byte_order if self._layout else 'little')
        trailer = self._wire.trailer if version <= 7 else None
        return wire.default_layout(version, 'bridge', byte_order=order, trailer=trailer)

    def missing(self, now: float) -> dict[str, float]:
        """Return what does not come, by name, with since when."""
        missing: dict[str, float] = {}
        if self.aircraft is not None:
            missing |= self.aircraft.missing(now)
        if self._watch is not None:
            missing |= self._watch.missing(now)
        if self._reports is not None:
            missing |= self._reports.missing(now)
            if (self._version or 0) < _FIRST_WITH_INTERNAL_VERSION:
                missing.pop(INTERNAL_VERSION, None)
        return missing | {
            _row_name(row): since for row, since in self._rows.missing(now).items()}

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the names of all that is asked for."""
        names = [] if self.aircraft is None else [POSE, *self.aircraft.state.names]
        for subscription in (self._watch, self._reports):
            if subscription is not None:
                names += subscription.names
        return tuple(dict.fromkeys((*names, *map(_row_name, sorted(self._rows.wanted)))))

    def missing_rows(self, now: float) -> tuple[int, ...]:
        """Return the rows that are wanted and do not come."""
        return self._rows.absent(now)

    # What is wanted.

    def watch(self, names: Sequence[str], rate: float, now: float) -> None:
        """Subscribe to these datarefs from now on; raise ValueError for what cannot be."""
        if not 1.0 <= rate <= 1000.0:
            raise ValueError(f'datarefs_rate: got {rate:g} per second, expected 1 to 1000')
        check_watched(names)
        if len(self._outbox) > _MOST_WAITING:
            raise ValueError(
                f'datarefs: {len(self._outbox)} datagrams wait to leave; change it less often')
        self._watched = (tuple(names), round(rate))
        if self._version is not None:
            self._end_watch()
            self._begin_watch(now)

    def choose_rows(self, rows: Iterable[int], now: float) -> None:
        """Select these rows beside those that the telemetry needs; raise ValueError if bad."""
        chosen = frozenset(rows)
        check_rows(chosen)
        self._chosen = chosen
        if self._version is not None:
            gone = self._rows.choose(chosen, now)
            if gone:
                self._outbox.push(DATA_CHANNEL, [
                    wire.encode(wire.Usel(gone, self.own_layout(self._version)))])

    # From beginning to end.

    def begin(self, version: int, host: str, now: float) -> None:
        """Subscribe and select what this version's telemetry needs."""
        self._version, self._host = version, host
        if self._wire.byte_order is not None:
            self._layout = wire.default_layout(version, 'peer', byte_order=self._wire.byte_order)
        by_rows = self._by_rows or version < FIRST_WITH_DATAREFS
        self._rows = self._rows.successor(
            self._needs.rows[version] if by_rows else (), self._chosen)
        if version >= FIRST_WITH_DATAREFS:
            self._reports = Subscription(
                REPORTED, _REPORT_RATE, _REPORT_INDEX, self._outbox.pacing, self._statistics)
        if not by_rows:
            self.aircraft = Aircraft(
                self._needs.datarefs[version], self._rate, _STATE_INDEX, self._outbox.pacing,
                self._statistics, version)
        self._begin_watch(now)
        self.resume(now, anew=True)

    def end(self) -> None:
        """End all of it; what waits to be asked is not asked any more."""
        version = self._version
        if version is None:
            return
        for channel in (TELEMETRY_CHANNEL, REPORT_CHANNEL, DATA_CHANNEL):
            self._outbox.drop(channel)
        self._end_watch()
        if self.aircraft is not None:
            self._outbox.push(TELEMETRY_CHANNEL, [
                self.aircraft.pose_request(0), *self.aircraft.state.cancel()])
        if self._reports is not None:
            self._outbox.push(REPORT_CHANNEL, [*self._reports.cancel(), None])
        usel = self._rows.cancel(self.own_layout(version))
        if usel is not None:
            self._outbox.push(DATA_CHANNEL, [usel])
        # The target of rows is left as it is: what it was before cannot be read, and to end it
        # would end an output that the user of X-Plane may have set himself.
        self._version = None
        self.aircraft = self._reports = None
        self._rows = RowSelection((), (), self._taken)

    def forget(self) -> None:
        """X-Plane is silent: what waits to be asked would only be lost."""
        for channel in (TELEMETRY_CHANNEL, REPORT_CHANNEL, DATA_CHANNEL, self._watch_channel):
            self._outbox.drop(channel)
        for feed in (self.aircraft, self._reports, self._watch, self._rows):
            if feed is not None:
                feed.end()

    def probe(self) -> None:
        """Ask a silent X-Plane for one dataref and the pose, or for a row."""
        if self._version is None:
            return
        if self.aircraft is not None:
            self._outbox.push(TELEMETRY_CHANNEL, [
                self.aircraft.pose_request(), self.aircraft.state.first()])
        if self._reports is not None:
            # The running time, which tells whether it is another run of X-Plane.
            self._outbox.push(REPORT_CHANNEL, [self._reports.first()])
            return
        row = self._rows.probe(self._probing_layout(self._version))
        if row is not None:
            self._aim(self._version)
            self._outbox.push(DATA_CHANNEL, [row])

    def _probing_layout(self, version: int) -> Layout:
        """Return how a silent X-Plane is asked: rows of both orders came, so in both by turns."""
        layout = self.own_layout(version)
        if self._wire.byte_order is not None or len(self._orders) < 2:
            return layout
        # Some were forged or damaged; what does not understand a request stays silent for ever.
        self._swapped = not self._swapped
        return replace(layout, byte_order='big' if self._swapped else 'little')

    def disown(self) -> None:
        """Take note that it is another run of X-Plane than the one that had our rows."""
        self._rows.disown()

    def resume(self, now: float, *, anew: bool = False) -> None:
        """Ask for what does not come by itself: all of it of another run of X-Plane."""
        at = now if anew else now + _RESUMING
        for feed in (self.aircraft, self._reports, self._watch):
            if feed is not None:
                feed.begin(at)
        if self._rows.wanted and self._version is not None:
            self._aim(self._version)
        self._rows.begin(now)

    def ask(self, now: float, answered: bool) -> float | None:
        """Ask an X-Plane, which has answered or not, for what does not come; return when next."""
        if self._version is None:
            return None
        deadlines = []
        for channel, feed in (
                (TELEMETRY_CHANNEL, self.aircraft), (REPORT_CHANNEL, self._reports),
                (self._watch_channel, self._watch)):
            if feed is not None:
                self._outbox.push(channel, feed.due(now))
                deadlines.append(feed.deadline)
        if answered or self._reports is None:
            dsel = self._rows.due(now, self.own_layout(self._version), answered)
            if dsel is not None:
                self._aim(self._version)
                self._outbox.push(DATA_CHANNEL, [dsel])
            deadlines.append(self._rows.deadline)
        return min((at for at in deadlines if at is not None), default=None)

    # What comes.

    def receive_rows(self, message: Data, now: float) -> list[Event]:
        """Take rows; return the events that they complete."""
        self._layout = message.layout
        if message.layout is not None:
            self._orders.add(message.layout.byte_order)
        self._statistics.rows += len(message.segments)
        events: list[Event] = [DataArrived(message.segments)]
        group = self._rows.receive(message.segments, now)
        if group is not None and self._version is not None:
            self._statistics.updates += 1
            events.append(RowTelemetry(self._version, group))
        return events

    def wants_any(self, segments: Iterable[wire.Segment]) -> bool:
        """Tell whether one of these rows was asked for."""
        return any(segment.index in self._rows.wanted for segment in segments)

    def receive_pose(self, pose: RposReply, now: float) -> list[Event]:
        """Take a pose; return the events that it completes."""
        telemetry = self.aircraft.receive_pose(pose, now) if self.aircraft else None
        return [telemetry] if telemetry else []

    def receive_reports(self, reply: RrefReply, now: float) -> dict[str, float]:
        """Take datarefs that X-Plane reports of itself; return them by name."""
        if self._reports is None:
            return {}
        self._reports.receive(reply, now)
        return {REPORTED[index - _REPORT_INDEX]: value for index, value in reply.values
                if index in self._reports.indices}

    def receive_values(self, channel: str, reply: RrefReply, now: float) -> list[Event] | None:
        """Take datarefs; return the events that they complete, None if they are not from here."""
        if channel == TELEMETRY_CHANNEL and self.aircraft is not None:
            telemetry = self.aircraft.receive_state(reply, now)
            return [telemetry] if telemetry else []
        if channel == self._watch_channel and self._watch is not None:
            if self._watch.receive(reply, now):
                self._statistics.watched += 1
                return [WatchedDatarefs(self._watch.names, self._watch.take())]
            return []
        return None

    # Inside

    @property
    def _watch_channel(self) -> str:
        return f'watch {self._watch_serial}'

    def _begin_watch(self, now: float) -> None:
        names, rate = self._watched
        if not names or (self._version or 0) < FIRST_WITH_DATAREFS:
            return
        self._watch_serial += 1
        first = _WATCH_INDEX + MOST_WATCHED * (self._watch_serial % _WATCH_BLOCKS)
        self._watch = Subscription(names, rate, first, self._outbox.pacing, self._statistics)
        self._watch.begin(now)

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._outbox.drop(self._watch_channel)
            self._outbox.push(self._watch_channel, [*self._watch.cancel(), None])
            self._watch = None

    def _aim(self, version: int) -> None:
        """Tell X-Plane 9 and later where to send rows."""
        if self._wire.data_target is not None and version in wire.DATA_OUTPUT_TARGET:
            kind = wire.Iset if version <= 9 else wire.Ise4
            address, port = self._wire.data_target(self._host)
            self._outbox.push(DATA_CHANNEL, [wire.encode(
                kind(wire.DATA_OUTPUT_TARGET[version], address, port, 1), version)])


def _row_name(row: int) -> str:
    return f'row {row}'
