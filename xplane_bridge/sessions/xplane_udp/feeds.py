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
from dataclasses import dataclass
from typing import Literal

from xplane_bridge.protocols import xplane_udp as wire
from xplane_bridge.protocols.xplane_udp import Data, Layout, RposReply, RrefReply
from xplane_bridge.sessions.xplane_udp.aircraft import Aircraft
from xplane_bridge.sessions.xplane_udp.commands import FIRST_WITH_DATAREFS
from xplane_bridge.sessions.xplane_udp.discovery import Address
from xplane_bridge.sessions.xplane_udp.events import (
    DataArrived,
    Event,
    RowTelemetry,
    Statistics,
    WatchedDatarefs,
)
from xplane_bridge.sessions.xplane_udp.outbox import Outbox
from xplane_bridge.sessions.xplane_udp.selection import RowSelection
from xplane_bridge.sessions.xplane_udp.subscription import Subscription

TELEMETRY_CHANNEL = 'telemetry'
DATA_CHANNEL = 'data'

# After a silence X-Plane may go on by itself with what it was asked before.
_RESUMING = 0.25
_POSE_PERIOD = 1.0

# Blocks of RREF numbers, so that no late value is taken for another dataref's.
_STATE_INDEX = 0
_WATCH_INDEX = 1000
_WATCH_BLOCK = 1000
_WATCH_BLOCKS = 90


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

    ``patience`` is how long something that should come may stay away. Rows are selected and
    datarefs are subscribed until they come; requests go to the outbox.
    """

    def __init__(self, needs: Needs, rate: int, by_rows: bool, wire_format: Wire,
                 outbox: Outbox, statistics: Statistics) -> None:
        self.aircraft: Aircraft | None = None
        self.rows = RowSelection((), ())
        self._needs = needs
        self._rate = rate
        self._by_rows = by_rows
        self._wire = wire_format
        self._outbox = outbox
        self._statistics = statistics
        self._version: int | None = None
        self._host = ''
        self._layout: Layout | None = None
        self._chosen: frozenset[int] = frozenset()
        self._watched: tuple[tuple[str, ...], int] = ((), 0)
        self._watch: Subscription | None = None
        self._watch_serial = 0
        self._targeted = False
        self._ask_pose_at = 0.0

    @property
    def layout(self) -> Layout | None:
        """Return how the rows look that came last."""
        return self._layout

    def own_layout(self, version: int) -> Layout:
        """Return how what we send is framed: in the order of what came, if anything did."""
        order = self._wire.byte_order or (self._layout.byte_order if self._layout else 'little')
        trailer = self._wire.trailer if version <= 7 else None
        return wire.default_layout(version, 'bridge', byte_order=order, trailer=trailer)

    # What is wanted.

    def watch(self, names: Sequence[str], rate: float, now: float) -> None:
        """Subscribe to these datarefs from now on; raise ValueError for what cannot be."""
        if not 1.0 <= rate <= 1000.0:
            raise ValueError(f'datarefs_rate: got {rate:g} a second, expected 1 to 1000')
        if len(names) > _WATCH_BLOCK:
            raise ValueError(f'{len(names)} datarefs, at most {_WATCH_BLOCK} can be watched')
        Subscription(names, round(rate), _WATCH_INDEX)
        self._watched = (tuple(names), round(rate))
        if self._version is not None:
            self._end_watch()
            self._begin_watch(now)

    def choose_rows(self, rows: Iterable[int], now: float) -> None:
        """Select these rows beside those that the telemetry needs; raise ValueError if bad."""
        chosen = frozenset(rows)
        if chosen:
            wire.encode(wire.Dsel(tuple(chosen)))
        self._chosen = chosen
        if self._version is not None:
            gone = self.rows.choose(chosen, now)
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
        self.rows = RowSelection(self._needs.rows[version] if by_rows else (), self._chosen)
        self.rows.ask(now)
        if not by_rows:
            self.aircraft = Aircraft(self._needs.datarefs[version], self._rate, _STATE_INDEX,
                                     self._statistics, version)
            self.aircraft.state.ask(now)
            self._ask_pose_at = now
        self._begin_watch(now)

    def end(self) -> None:
        """End all of it; what waits to be asked is not asked any more."""
        version = self._version
        if version is None:
            return
        for channel in (TELEMETRY_CHANNEL, DATA_CHANNEL):
            self._outbox.drop(channel)
        self._end_watch()
        if self.aircraft is not None:
            self._outbox.push(TELEMETRY_CHANNEL, [
                self.aircraft.pose_request(0), *self.aircraft.state.cancel()])
        usel = self.rows.cancel(self.own_layout(version))
        if usel is not None:
            self._outbox.push(DATA_CHANNEL, [usel])
        if self._targeted:
            self._outbox.push(DATA_CHANNEL, [self._target(version, 0)])
        self._targeted = False
        self._version = None
        self.aircraft = None
        self.rows = RowSelection((), ())

    def forget(self) -> None:
        """Take X-Plane as restarted; what waits to be asked would only be lost."""
        for channel in (TELEMETRY_CHANNEL, DATA_CHANNEL, self._watch_channel):
            self._outbox.drop(channel)
        if self.aircraft is not None:
            self.aircraft.forget()
        if self._watch is not None:
            self._watch.forget()
        self.rows.forget()

    def probe(self) -> None:
        """Ask a silent X-Plane for one dataref and the pose, or for the rows."""
        if self._version is None:
            return
        if self.aircraft is not None:
            self._outbox.push(TELEMETRY_CHANNEL, [
                self.aircraft.pose_request(), self.aircraft.state.first()])
        if self.rows.wanted:
            self._select(self._version, wire.encode(wire.Dsel(
                tuple(sorted(self.rows.wanted)), self.own_layout(self._version))))

    def resume(self, now: float) -> None:
        """Ask an X-Plane that is heard again for what does not come by itself."""
        self._ask_pose_at = now + _RESUMING
        if self.aircraft is not None:
            self.aircraft.state.ask(now + _RESUMING)
        if self._watch is not None:
            self._watch.ask(now + _RESUMING)
        self.rows.ask(now + _RESUMING)

    def ask(self, now: float, patience: float) -> float | None:
        """Ask for what does not come yet; return when to look again."""
        if self._version is None:
            return None
        deadlines: list[float | None] = []
        if self.aircraft is not None:
            deadlines.append(self._ask_for_pose(self.aircraft, now, patience))
            deadlines.append(self._ask_for(self.aircraft.state, TELEMETRY_CHANNEL, now))
        if self._watch is not None:
            deadlines.append(self._ask_for(self._watch, self._watch_channel, now))
        dsel = self.rows.due(now, self.own_layout(self._version))
        if dsel is not None:
            self._select(self._version, dsel)
        deadlines.append(self.rows.deadline)
        return min((at for at in deadlines if at is not None), default=None)

    # What comes.

    def receive_rows(self, message: Data) -> list[Event]:
        """Take rows; return the events that they complete."""
        self._layout = message.layout
        self._statistics.rows += len(message.segments)
        events: list[Event] = [DataArrived(message.segments)]
        group = self.rows.receive(message.segments)
        if group is not None and self._version is not None:
            self._statistics.updates += 1
            events.append(RowTelemetry(self._version, group))
        return events

    def receive_pose(self, pose: RposReply, now: float) -> list[Event]:
        """Take a pose; return the events that it completes."""
        telemetry = self.aircraft.receive_pose(pose, now) if self.aircraft else None
        return [telemetry] if telemetry else []

    def receive_values(self, channel: str, reply: RrefReply, now: float) -> list[Event] | None:
        """Take datarefs; return the events that they complete, None if they are not from here."""
        if channel == TELEMETRY_CHANNEL and self.aircraft is not None:
            telemetry = self.aircraft.receive_state(reply, now)
            return [telemetry] if telemetry else []
        if channel == self._watch_channel and self._watch is not None:
            if self._watch.receive(reply):
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
        first = _WATCH_INDEX + _WATCH_BLOCK * (self._watch_serial % _WATCH_BLOCKS)
        self._watch = Subscription(names, rate, first)
        self._watch.ask(now)

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._outbox.drop(self._watch_channel)
            self._outbox.push(self._watch_channel, [*self._watch.cancel(), None])
            self._watch = None

    def _select(self, version: int, dsel: bytes) -> None:
        """Tell X-Plane 9 and later where to send rows, and all versions which."""
        if self._wire.data_target is not None and version in wire.DATA_OUTPUT_TARGET:
            self._outbox.push(DATA_CHANNEL, [self._target(version, 1)])
            self._targeted = True
        self._outbox.push(DATA_CHANNEL, [dsel])

    def _target(self, version: int, use: int) -> bytes:
        assert self._wire.data_target is not None
        kind = wire.Iset if version <= 9 else wire.Ise4
        address, port = self._wire.data_target(self._host)
        return wire.encode(
            kind(wire.DATA_OUTPUT_TARGET[version], address, port, use), version)

    def _ask_for(self, subscription: Subscription, channel: str, now: float) -> float | None:
        requests = subscription.due(now, self._outbox.pacing)
        if requests and len(requests) < len(subscription.names):
            self._statistics.asked_again += len(requests)
        self._outbox.push(channel, requests)
        return subscription.deadline

    def _ask_for_pose(self, aircraft: Aircraft, now: float, patience: float) -> float:
        """Ask for the pose until it comes, and again when it stays away while the rest comes."""
        if aircraft.pose_at is not None and now - aircraft.pose_at < patience:
            return aircraft.pose_at + patience
        if now >= self._ask_pose_at:
            self._ask_pose_at = now + _POSE_PERIOD
            self._outbox.push(TELEMETRY_CHANNEL, [aircraft.pose_request()])
        return self._ask_pose_at
