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

"""What X-Plane is asked to send: the aircraft or its rows, selected rows, watched datarefs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xplane_bridge.protocols import xplane_udp as wire
from xplane_bridge.protocols.xplane_udp import Data, FIRST_WITH_DATAREFS, RposReply, RrefReply
from xplane_bridge.sessions.base import soonest
from xplane_bridge.sessions.xplane_udp.aircraft import Aircraft
from xplane_bridge.sessions.xplane_udp.commander import DATA_CHANNEL
from xplane_bridge.sessions.xplane_udp.commands import check_rows
from xplane_bridge.sessions.xplane_udp.dialect import Dialect, INTERNAL_VERSION
from xplane_bridge.sessions.xplane_udp.events import (
    DataArrived,
    RowTelemetry,
    Statistics,
    TELEMETRY,
)
from xplane_bridge.sessions.xplane_udp.farewells import Farewells
from xplane_bridge.sessions.xplane_udp.outbox import Outbox
from xplane_bridge.sessions.xplane_udp.reports import REPORTED
from xplane_bridge.sessions.xplane_udp.selection import RowSelection
from xplane_bridge.sessions.xplane_udp.subscription import Subscription
from xplane_bridge.sessions.xplane_udp.taken import Taken
from xplane_bridge.sessions.xplane_udp.watch import Watch

TELEMETRY_CHANNEL = 'telemetry'
REPORT_CHANNEL = 'reports'
_CHANNELS = (TELEMETRY_CHANNEL, REPORT_CHANNEL, DATA_CHANNEL)

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


class Feeds:
    """
    Everything that one X-Plane is asked to send, from begin() to end().

    Rows are selected and datarefs subscribed, each until it arrives, and again when it stops;
    requests go to the outbox, those that end something to ``farewells``. ``taken`` records the
    selected rows.
    """

    def __init__(self, sources: Sources, rate: int, dialect: Dialect,
                 outbox: Outbox, farewells: Farewells, statistics: Statistics,
                 taken: Taken) -> None:
        self.aircraft: Aircraft | None = None
        self._dialect = dialect
        self._sources = sources
        self._rate = rate
        self._outbox = outbox
        self._farewells = farewells
        self._statistics = statistics
        self._taken = taken
        self._rows = RowSelection((), (), taken)
        self._reports: Subscription | None = None
        self._watch = Watch(outbox, farewells, statistics)
        self._version: int | None = None
        self._host = ''
        self._chosen: frozenset[int] = frozenset()

    def _subscribed(self) -> list[tuple[str, Aircraft | Subscription]]:
        """Return the subscriptions to datarefs, with their channels."""
        feeds = ((TELEMETRY_CHANNEL, self.aircraft),
                 (self._watch.channel, self._watch.subscription),
                 (REPORT_CHANNEL, self._reports))
        return [(channel, feed) for channel, feed in feeds if feed is not None]

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the names of everything that is requested."""
        names = [name for _, feed in self._subscribed() for name in feed.names]
        return tuple(dict.fromkeys((*names, *map(_row_name, sorted(self._rows.wanted)))))

    def missing(self, now: float) -> dict[str, float]:
        """Return what is missing, by name, with since when."""
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

    # Requests.

    def watch(self, names: Sequence[str], rate: float, now: float) -> None:
        """Subscribe to these datarefs from now on; raise ValueError for invalid ones."""
        self._watch.choose(names, rate)
        self._watch.end()
        self._begin_watch(now)

    def choose_rows(self, rows: Iterable[int], now: float) -> None:
        """Select these rows besides those for telemetry; raise ValueError for invalid ones."""
        chosen = frozenset(rows)
        check_rows(chosen)
        self._chosen = chosen
        if self._version is not None:
            gone = self._rows.choose(chosen, now)
            self._deselect(self._version, gone)

    # Start and stop.

    def begin(self, version: int, host: str, now: float) -> None:
        """Subscribe and select what this version's telemetry needs."""
        self._version, self._host = version, host
        for channel in _CHANNELS:
            self._farewells.forget(channel)
        self._dialect.begin(version)
        by_rows = not self._dialect.sends_datarefs
        self._rows = self._rows.successor(
            self._sources.rows[version] if by_rows else (), self._chosen)
        if version >= FIRST_WITH_DATAREFS:
            self._reports = Subscription(
                REPORTED, _REPORT_RATE, _REPORT_INDEX, self._outbox.pacing, self._statistics)
        if not by_rows:
            self.aircraft = Aircraft(
                self._sources.datarefs[version], self._rate, _STATE_INDEX, self._outbox.pacing,
                self._statistics, version)
        self._begin_watch(now)
        self.resume(now, restarted=True)

    def _begin_watch(self, now: float) -> None:
        if (self._version or 0) >= FIRST_WITH_DATAREFS:
            self._watch.begin(now)

    def leave(self) -> None:
        """End everything but the reports, which show what was given back."""
        version = self._version
        if version is None:
            return
        self._outbox.drop(TELEMETRY_CHANNEL)
        self._watch.end()
        if self.aircraft is not None:
            self._farewells.end(
                TELEMETRY_CHANNEL, self.aircraft.keys, self.aircraft.cancel, 1.0 / self._rate,
                closes=False)
            self.aircraft = None
        if version >= FIRST_WITH_DATAREFS:
            self._end_rows(version)

    def end(self) -> None:
        """End all of it; waiting requests are not sent any more."""
        version = self._version
        if version is None:
            return
        self.leave()
        if self._reports is not None:
            self._outbox.drop(REPORT_CHANNEL)
            self._farewells.end(
                REPORT_CHANNEL, self._reports.indices, self._reports.cancel, 1.0 / _REPORT_RATE,
                closes=False)
            self._reports = None
        else:
            self._end_rows(version)
        # The target of rows is left unchanged: its previous value cannot be read, and ending it
        # would end an output that the user of X-Plane may have set.
        self._version = None

    def _end_rows(self, version: int) -> None:
        self._outbox.drop(DATA_CHANNEL)
        self._deselect(version, self._rows.cancel())
        self._rows = RowSelection((), (), self._taken)

    def _deselect(self, version: int, rows: Iterable[int]) -> None:
        """Deselect rows; those that go on arriving, again."""
        if rows:
            self._farewells.end(
                DATA_CHANNEL, rows,
                lambda keys: [wire.encode(wire.Usel(
                    tuple(row for row in rows if row in keys), self._dialect.own(version)))],
                self._rows.period, closes=False)

    def forget(self) -> None:
        """Drop waiting requests, which would be lost, as X-Plane is silent."""
        for channel in (*_CHANNELS, self._watch.channel):
            self._outbox.drop(channel)
        for _, feed in self._subscribed():
            feed.end()
        self._rows.end()

    def probe(self) -> None:
        """Probe a silent X-Plane with one dataref, or a row."""
        if self._version is None:
            return
        if self._reports is not None:
            # The running time, which shows whether it is another run of X-Plane.
            self._outbox.push(REPORT_CHANNEL, [self._reports.first()])
            return
        self._select(self._version, self._rows.probe(self._dialect.draw_probe(self._version)))

    def disown(self) -> None:
        """Record that it is another run of X-Plane than the one that had our rows."""
        self._rows.disown()

    def resume(self, now: float, *, restarted: bool = False) -> None:
        """Request what does not arrive by itself: everything after a restart of X-Plane."""
        at = now if restarted else now + _RESUMING
        for _, feed in self._subscribed():
            feed.begin(at)
        if self._rows.wanted and self._version is not None:
            # Rows that arrive by themselves are heard only where the channel is open.
            self._outbox.push(DATA_CHANNEL, [b''])
            self._aim(self._version)
        self._rows.begin(now)

    def ask_reports(self, now: float) -> None:
        """Request only the reports that are missing."""
        if self._reports is not None:
            self._outbox.push(REPORT_CHANNEL, self._reports.due(now))

    @property
    def reports_deadline(self) -> float | None:
        """Return when ask_reports() has something."""
        return None if self._reports is None else self._reports.deadline

    def ask(self, now: float, answered: bool) -> None:
        """Request what is missing."""
        if self._version is None:
            return
        for channel, feed in self._subscribed():
            self._outbox.push(channel, feed.due(now))
        if answered or self._reports is None:
            self._select(self._version, self._rows.due(
                now, self._dialect.own(self._version), answered))

    def deadline(self, answered: bool) -> float | None:
        """Return when ask() has something."""
        if self._version is None:
            return None
        rows = self._rows.deadline if answered or self._reports is None else None
        return soonest(rows, *(feed.deadline for _, feed in self._subscribed()))

    @property
    def ended(self) -> bool:
        """Return whether nothing is requested."""
        return self._version is None

    def _select(self, version: int, selection: bytes | None) -> None:
        """Send a selection of rows, preceded by their destination."""
        if selection is not None:
            self._aim(version)
            self._outbox.push(DATA_CHANNEL, [selection])

    def _aim(self, version: int) -> None:
        self._outbox.push(DATA_CHANNEL, self._dialect.target(version, self._host))

    # Receiving.

    def receive_rows(self, message: Data, now: float) -> list[Any]:
        """Handle rows; return the events that they complete."""
        self._dialect.hear_rows(message.layout, now)
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

    def receive_values(self, channel: str, reply: RrefReply, now: float) -> list[Any] | None:
        """Handle datarefs; return the events that they complete, None if not requested here."""
        if channel == TELEMETRY_CHANNEL and self.aircraft is not None:
            telemetry = self.aircraft.receive_state(reply, now)
            return [telemetry] if telemetry else []
        return self._watch.receive(channel, reply, now)


def _row_name(row: int) -> str:
    return f'row {row}'
