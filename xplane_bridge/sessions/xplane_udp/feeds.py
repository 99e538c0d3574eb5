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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xplane_bridge.protocols import xplane_udp as wire
from xplane_bridge.protocols.xplane_udp import Data, FIRST_WITH_DATAREFS, RposReply, RrefReply
from xplane_bridge.sessions.xplane_udp.aircraft import Aircraft
from xplane_bridge.sessions.xplane_udp.commander import DATA_CHANNEL
from xplane_bridge.sessions.xplane_udp.commands import check_rows
from xplane_bridge.sessions.xplane_udp.events import (
    DataArrived,
    RowTelemetry,
    Statistics,
    TELEMETRY,
)
from xplane_bridge.sessions.xplane_udp.formats import RowFormat, Wire
from xplane_bridge.sessions.xplane_udp.outbox import Outbox
from xplane_bridge.sessions.xplane_udp.reports import INTERNAL_VERSION, REPORTED
from xplane_bridge.sessions.xplane_udp.selection import RowSelection
from xplane_bridge.sessions.xplane_udp.subscription import Subscription
from xplane_bridge.sessions.xplane_udp.taken import Taken
from xplane_bridge.sessions.xplane_udp.watch import Watch

TELEMETRY_CHANNEL = 'telemetry'
REPORT_CHANNEL = 'reports'
_CHANNELS = (TELEMETRY_CHANNEL, REPORT_CHANNEL, DATA_CHANNEL)

# After a silence X-Plane may go on by itself with what it was asked before.
_RESUMING = 0.25

_REPORT_RATE = 10
_FIRST_WITH_INTERNAL_VERSION = 11

# Blocks of RREF numbers, so that no late value is taken for another dataref's.
_STATE_INDEX = 0
_REPORT_INDEX = 500


@dataclass(frozen=True, slots=True)
class Sources:
    """What telemetry is made of: datarefs (10 and later) and rows, by version."""

    datarefs: Mapping[int, tuple[str, ...]]
    rows: Mapping[int, tuple[int, ...]]


class Feeds:
    """
    Everything that one X-Plane is asked to send, from begin() to end().

    Rows are selected and datarefs are subscribed, each until it comes, and again when it stops;
    requests go to the outbox. ``taken`` is where selected rows are noted.
    """

    def __init__(self, sources: Sources, rate: int, by_rows: bool, wire_format: Wire,
                 outbox: Outbox, statistics: Statistics, taken: Taken) -> None:
        self.aircraft: Aircraft | None = None
        self.format = RowFormat(wire_format)
        self._sources = sources
        self._rate = rate
        self._by_rows = by_rows
        self._outbox = outbox
        self._statistics = statistics
        self._taken = taken
        self._rows = RowSelection((), (), taken)
        self._reports: Subscription | None = None
        self._watch = Watch(outbox, statistics)
        self._version: int | None = None
        self._host = ''
        self._chosen: frozenset[int] = frozenset()

    def _subscribed(self) -> list[tuple[str, Aircraft | Subscription]]:
        """Return what is asked for by datarefs, with its channel."""
        feeds = ((TELEMETRY_CHANNEL, self.aircraft),
                 (self._watch.channel, self._watch.subscription),
                 (REPORT_CHANNEL, self._reports))
        return [(channel, feed) for channel, feed in feeds if feed is not None]

    @property
    def every_frame(self) -> bool:
        """Tell whether every frame had to be asked for to get datarefs of the same frame."""
        return self.aircraft is not None and self.aircraft.every_frame

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the names of all that is asked for."""
        names = [name for _, feed in self._subscribed() for name in feed.names]
        return tuple(dict.fromkeys((*names, *map(_row_name, sorted(self._rows.wanted)))))

    def missing(self, now: float) -> dict[str, float]:
        """Return what does not come, by name, with since when."""
        missing: dict[str, float] = {}
        for _, feed in self._subscribed():
            missing |= feed.missing(now)
        if (self._version or 0) < _FIRST_WITH_INTERNAL_VERSION:
            missing.pop(INTERNAL_VERSION, None)
        return missing | {
            _row_name(row): since for row, since in self._rows.missing(now).items()}

    def missing_rows(self, now: float) -> tuple[int, ...]:
        """Return the rows that are wanted and do not come."""
        return self._rows.absent(now)

    # What is wanted.

    def watch(self, names: Sequence[str], rate: float, now: float) -> None:
        """Subscribe to these datarefs from now on; raise ValueError for what cannot be."""
        self._watch.choose(names, rate)
        self._watch.end()
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
                    wire.encode(wire.Usel(gone, self.format.own(self._version)))])

    # From beginning to end.

    def begin(self, version: int, host: str, now: float) -> None:
        """Subscribe and select what this version's telemetry needs."""
        self._version, self._host = version, host
        self.format.begin(version)
        by_rows = self._by_rows or version < FIRST_WITH_DATAREFS
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
        self.resume(now, anew=True)

    def _begin_watch(self, now: float) -> None:
        if (self._version or 0) >= FIRST_WITH_DATAREFS:
            self._watch.begin(now)

    def end(self) -> None:
        """End all of it; what waits to be asked is not asked any more."""
        version = self._version
        if version is None:
            return
        for channel in _CHANNELS:
            self._outbox.drop(channel)
        self._watch.end()
        if self.aircraft is not None:
            self._outbox.push(TELEMETRY_CHANNEL, [
                self.aircraft.pose_request(0), *self.aircraft.state.cancel()])
        if self._reports is not None:
            self._outbox.push(REPORT_CHANNEL, [*self._reports.cancel(), None])
        usel = self._rows.cancel(self.format.own(version))
        if usel is not None:
            self._outbox.push(DATA_CHANNEL, [usel])
        # The target of rows is left as it is: what it was before cannot be read, and to end it
        # would end an output that the user of X-Plane may have set himself.
        self._version = None
        self.aircraft = self._reports = None
        self._rows = RowSelection((), (), self._taken)

    def forget(self) -> None:
        """X-Plane is silent: what waits to be asked would only be lost."""
        for channel in (*_CHANNELS, self._watch.channel):
            self._outbox.drop(channel)
        for _, feed in self._subscribed():
            feed.end()
        self._rows.end()

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
        self._select(self._version, self._rows.probe(self.format.probing(self._version)))

    def disown(self) -> None:
        """Take note that it is another run of X-Plane than the one that had our rows."""
        self._rows.disown()

    def resume(self, now: float, *, anew: bool = False) -> None:
        """Ask for what does not come by itself: all of it of another run of X-Plane."""
        at = now if anew else now + _RESUMING
        for _, feed in self._subscribed():
            feed.begin(at)
        if self._rows.wanted and self._version is not None:
            self._aim(self._version)
        self._rows.begin(now)

    def ask(self, now: float, answered: bool) -> float | None:
        """Ask an X-Plane, which has answered or not, for what does not come; return when next."""
        if self._version is None:
            return None
        deadlines = []
        for channel, feed in self._subscribed():
            self._outbox.push(channel, feed.due(now))
            deadlines.append(feed.deadline)
        if answered or self._reports is None:
            self._select(self._version, self._rows.due(
                now, self.format.own(self._version), answered))
            deadlines.append(self._rows.deadline)
        return min((at for at in deadlines if at is not None), default=None)

    def _select(self, version: int, selection: bytes | None) -> None:
        """Send a selection of rows, and before it where they shall go."""
        if selection is not None:
            self._aim(version)
            self._outbox.push(DATA_CHANNEL, [selection])

    def _aim(self, version: int) -> None:
        self._outbox.push(DATA_CHANNEL, self.format.target(version, self._host))

    # What comes.

    def receive_rows(self, message: Data, now: float) -> list[Any]:
        """Take rows; return the events that they complete."""
        self.format.hear(message.layout)
        self._statistics.rows += len(message.segments)
        events: list[Any] = [DataArrived(message.segments)]
        group = self._rows.receive(message.segments, now)
        if group is not None and self._version is not None:
            self._statistics.updates[TELEMETRY] += 1
            events.append(RowTelemetry(self._version, group))
        return events

    def wants_any(self, segments: Iterable[wire.Segment]) -> bool:
        """Tell whether one of these rows was asked for."""
        return any(segment.index in self._rows.wanted for segment in segments)

    def receive_pose(self, pose: RposReply, now: float) -> list[Any]:
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

    def receive_values(self, channel: str, reply: RrefReply, now: float) -> list[Any] | None:
        """Take datarefs; return the events that they complete, None if they are not from here."""
        if channel == TELEMETRY_CHANNEL and self.aircraft is not None:
            telemetry = self.aircraft.receive_state(reply, now)
            return [telemetry] if telemetry else []
        return self._watch.receive(channel, reply, now)


def _row_name(row: int) -> str:
    return f'row {row}'
