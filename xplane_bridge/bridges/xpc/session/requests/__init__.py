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

"""What is requested of the plugin, continuously and once: telemetry first, then the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
import math
from typing import Any

from xplane_bridge.bridges.sessions.leases import Leases
from xplane_bridge.bridges.sessions.lifetimes import expired
from xplane_bridge.bridges.sessions.round_trip import RoundTrip
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session.events import Polled, Statistics
from xplane_bridge.bridges.xpc.session.flow import Flow
from xplane_bridge.bridges.xpc.session.items import REPORTED
from xplane_bridge.bridges.xpc.session.requests.checks import Checks
from xplane_bridge.bridges.xpc.session.requests.others import Others
from xplane_bridge.bridges.xpc.session.requests.polls import RUNNING_TIME, split_channel, StatePoll
from xplane_bridge.bridges.xpc.session.requests.reads import Reads
from xplane_bridge.bridges.xpc.session.requests.telemetry import AircraftPoll, Said
from xplane_bridge.bridges.xpc.session.requests.watch import Watch

PROBE_CHANNEL = 'probe'
"""A silent peer is probed on a separate channel: it answers all requests when X-Plane goes on."""

# Telemetry has priority; but after this many polls, reads and watched datarefs get a turn.
_PASSED_OVER = 4
# How often a simulator in lockstep is polled while no commands arrive.
_LOCKSTEP_RATE = 10.0

_Request = tuple[str, bytes]


@dataclass(slots=True)
class _Beside:
    """Requests with lower priority than telemetry: reads, watched datarefs."""

    is_due: Callable[[float], bool]
    start: Callable[[float, Flow, bool], _Request | None]
    # How many telemetry polls were sent while it was due.
    passed_over: int = 0


class Requests:
    """
    Share the allowed requests, by budget and frame, among telemetry, reads and watched datarefs.

    Telemetry of ``aircraft`` is polled when due, ``rate`` times per second, or in ``lockstep``
    after controls. Reads and the watch share the rest in turns; if that is too little, each still
    gets a turn after some telemetry polls. A read that changes something waits no longer than
    ``lifetime`` seconds. In the same way the first of the telemetry polls has priority over the
    others, and of these the requests of several aircraft over those of one. What is asked because
    of commands (Checks) never waits.
    """

    def __init__(
        self, aircraft: Mapping[int, Polled], statistics: Statistics, round_trip: RoundTrip, *,
        rate: float, lifetime: float, lockstep: bool,
    ) -> None:
        self.reads = Reads(statistics, round_trip)
        self.checks = Checks(statistics, round_trip)
        self._statistics = statistics
        self._round_trip = round_trip
        self._lifetime = lifetime
        self._watch: Watch | None = None
        self._watch_serial = 0
        self._closing: list[str] = []
        self._probe = PROBE_CHANNEL, xpc.encode(xpc.GetPosition(next(iter(aircraft), 0)))
        period = to_period(_LOCKSTEP_RATE if lockstep else rate)
        # The first identifies the peer, by what only it is asked for.
        shared = {
            number: polled for place, (number, polled) in enumerate(aircraft.items())
            if place and polled.pose is not None}
        sizes = {name: size for polled in aircraft.values() for name, size in polled.sizes.items()}
        self._alone = [
            AircraftPoll(
                # The pose of the datarefs is single precision. Which of the two replies comes
                # first must not decide what is flown by.
                number, replace(polled, pose=None) if lockstep else polled, period, statistics,
                () if place else REPORTED, round_trip)
            for place, (number, polled) in enumerate(aircraft.items()) if number not in shared]
        self._others = Others(shared, sizes, period, statistics, round_trip)
        self._regrouped(())
        self._poll_of_stem = {
            stem: poll for poll in self._alone
            for stem in (poll.position_stem, poll.state_stem)}
        # Lower-priority requests, the next one first.
        self._beside = [
            _Beside(self._read_is_due, self._start_read),
            _Beside(self._watch_is_due, self._start_watch)]
        # The poll that waits for the budget, if it is counted.
        self._held_poll: StatePoll | None = None
        # How many commands were sent, and whether others wait for the peer.
        self._commands = 0
        self._held = False

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the names of all values that are polled continuously."""
        return tuple(key for leases in self._leases for key in leases.keys)

    def missing(self, now: float) -> dict[str, float]:
        """Return those of ``wanted`` that do not arrive, and since when each is missing."""
        missing: dict[str, float] = {}
        for leases in self._leases:
            missing.update(leases.missing(now))
        return missing

    @property
    def _leases(self) -> list[Leases[str]]:
        watched = [self._watch.leases] if self._watch is not None else []
        return [*(poll.leases for poll in (*self._alone, *self._others.members)), *watched]

    @property
    def shared(self) -> tuple[int, ...]:
        """Return the numbers of the aircraft that are polled in requests of several."""
        return self._others.shared

    @property
    def frame(self) -> float | None:
        """Return how long X-Plane's frames usually last, None while unknown."""
        return self._polls[0].pace.usual_frame if self._polls else None

    @property
    def polls(self) -> bool:
        """Return whether any telemetry is polled, and with it what shows what was taken."""
        return bool(self._polls)

    def begin(self, now: float) -> None:
        """Want telemetry from now on."""
        for poll in self._alone:
            poll.begin(now)
        self._others.begin(now)

    def forget(self, until: float) -> None:
        """Forget what is outstanding and what was learnt about the peer; then start over."""
        self.checks.forget()
        for poll in self._alone:
            poll.suspend(until)
        self._regrouped(self._others.suspend(until))
        if self._watch is not None:
            self.watch(self._watch.names, self._watch.period, until)

    def watch(self, names: tuple[str, ...], period: float, now: float) -> None:
        """Poll these datarefs on new channels: late replies on the old ones are ignored."""
        if self._watch is not None:
            self._closing.extend(self._watch.channels)
            self._watch_serial = self._watch.serial
        self._watch = None
        if names:
            self._watch = Watch(
                names, period, self._watch_serial, self._statistics, self._round_trip, now)

    def poll_now(self, now: float, *, first: bool = False) -> None:
        """Make telemetry due at once, of all aircraft or of the first."""
        for poll in self._polls[:1 if first else None]:
            poll.poll_now(now)

    def ask_anew(self, now: float, since: float) -> None:
        """Poll the first aircraft at once, where copies of replies from before do not come."""
        for poll in self._polls[:1]:
            poll.ask_anew(now, since)

    def _regrouped(self, closed: Sequence[str]) -> None:
        self._closing.extend(closed)
        self._polls: list[StatePoll] = [*self._alone, *self._others.polls]
        # The first aircraft, requests of several, those of one; and how often each rank was due
        # when one before it was polled.
        alone = 2 if self._others.shared else 1
        self._ranks = {poll: 1 if poll.cost == 1 else alone for poll in self._polls}
        self._ranks.update((poll, 0) for poll in self._polls[:1])
        self._passed_over = [0, 0, 0]

    # Replies.

    def said(self, channel: str, reply: xpc.Reply) -> Said | None:
        """Return AircraftPoll.said() of a reply with the state of an aircraft, else None."""
        poll = self._poll_of_stem.get(split_channel(channel)[0])
        return None if poll is None else poll.said(channel, reply)

    def channels_since(self, channel: str) -> float:
        """Return since when a channel can have been in use: copies reach only older ones."""
        poll = self._poll_of_stem.get(split_channel(channel)[0])
        asked = None if poll is None else poll.poll_on(channel)
        return -math.inf if asked is None else asked.channels_since

    def on_reply(self, channel: str, reply: xpc.Reply, now: float) -> Sequence[Any]:
        """Handle a reply to anything but Checks; return the events that it completes."""
        if channel == PROBE_CHANNEL:
            self._statistics.replies += 1
            return ()
        poll = self._poll_of_stem.get(split_channel(channel)[0])
        event: Any = None
        if poll is not None:
            event = poll.receive(channel, reply, now)
            if event is not None:
                self._statistics.updates[poll.aircraft] += 1
        elif self._others.handles(channel):
            updates = self._others.receive(channel, reply, now)
            self._statistics.updates.update(update.vehicle for update in updates)
            return updates
        elif channel in self.reads:
            event = self.reads.receive(channel, reply, now)
        elif self._watch is not None and channel in self._watch:
            event = self._watch.receive(channel, reply, now)
        else:
            self._statistics.unexpected += 1
        return () if event is None else (event,)

    def give_up(self, now: float) -> list[Any]:
        """Time out what has not arrived; return the resulting events."""
        events: list[Any] = []
        if self._others.regroup_at is not None and (
                closed := self._others.regroup(now)) is not None:
            self._regrouped(closed)
        for poll in self._polls:
            poll.give_up(now)
        if self._watch is not None:
            if self._watch.waiting and now >= self._watch.deadline:
                lacking = self._watch.give_up(now)
                if lacking is not None:
                    events.append(lacking)
            self._closing.extend(self._watch.regroup())
        if self.reads:
            events += self.reads.expire(now, expired(
                self._lifetime, 'other reads and the budget of datagrams had priority'))
            events += self.reads.give_up(now)
        return events

    def closed(self) -> list[str]:
        """Return the channels to close, since the last call."""
        closing, self._closing = self._closing, []
        for poll in self._polls:
            closing += poll.closed()
        return self.checks.closed() + closing + self.reads.close_given_up()

    # Requests.

    def due(self, now: float, flow: Flow, commands: int, held: bool) -> list[_Request]:
        """
        Return the requests to send now, with their channels.

        ``commands`` is how many were sent, for which reads may wait; while others are ``held``, no
        read is sent that changes something.
        """
        if held and not self._held and self._watch is not None:
            # It may be another X-Plane, whose datarefs have other sizes.
            self._closing.extend(self._watch.relearn())
        self._commands, self._held = commands, held
        flow.stalled = self._round_trip.backs_off
        flow.distance = max([poll.pace.distance for poll in self._polls], default=0.0)
        requests: list[_Request] = []
        if self._watch is None and not self.reads:
            self._ask_aircraft(now, flow, requests, ())
            return requests
        while self._ask_beside(now, flow, requests, overdue=True):
            pass
        self._ask_aircraft(
            now, flow, requests, [beside for beside in self._beside if beside.is_due(now)])
        while self._ask_beside(now, flow, requests):
            pass
        return requests

    def probe(self) -> _Request:
        """Return a small request that any peer answers."""
        self._statistics.requests += 1
        return self._probe

    def check(
        self, names: tuple[str, ...], now: float, flow: Flow, *, polling: bool
    ) -> list[_Request]:
        """
        Ask what X-Plane has of these datarefs, or poll it now; return the requests.

        ``polling`` is False if nothing is polled any more: then also how long X-Plane has been
        running, which shows whether it is still the same.
        """
        names = self.unpolled(names) if polling else (RUNNING_TIME, *(names or REPORTED[:1]))
        if names:
            return self.checks.read_after(names, now, flow)
        self.poll_now(now, first=True)
        return []

    def unpolled(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return those datarefs of X-Plane's own state that are not polled anyway."""
        return tuple(name for name in names if name not in REPORTED) if self.polls else names

    def deadlines(self, now: float, flow: Flow) -> list[float | None]:
        """
        Return when to send or to time out next; known after due().

        None is among them if a reply decides when telemetry or the watch may send.
        """
        deadlines: list[float | None] = [
            due for poll in self._polls if (due := poll.deadline(now)) < math.inf]
        if self._others.regroup_at is not None:
            deadlines.append(self._others.regroup_at)
        if (ready := self._ready_poll(now)) is not None:
            deadlines.append(
                flow.when_poll(ready.cost, now, leave=self._leave_for_first(ready)))
        if (at := self.reads.deadline(now)) is not None:
            deadlines.append(at)
            if self._read_is_due(now) and (at := flow.when_read(now)) is not None:
                deadlines.append(at)
        if self._watch is not None:
            deadlines.append(
                flow.when_watch(now, room=self._room_for_telemetry) if self._watch_is_due(now)
                else self._watch.deadline)
        return deadlines

    def _ready_poll(self, now: float) -> StatePoll | None:
        """Return the telemetry poll that is due, of several the one waiting longest."""
        first: StatePoll | None = None
        for poll in self._polls:
            if poll.is_ready(now) and (first is None or poll.pace.due < first.pace.due):
                first = poll
        if first is None or not self._others.members:
            return first
        ready = [poll for poll in self._polls if poll.is_ready(now)]
        ranks = sorted({self._ranks[poll] for poll in ready})
        rank = next(
            (rank for rank in ranks if self._passed_over[rank] >= _PASSED_OVER), ranks[0])
        return min((poll for poll in ready if self._ranks[poll] == rank), key=_due_of)

    def _leave_for_first(self, poll: StatePoll) -> int:
        """Return how many datagrams a poll must leave, so that the first need not wait."""
        rank = self._ranks[poll]
        if not rank or not self._others.members or self._passed_over[rank] >= _PASSED_OVER:
            return 0
        return self._polls[0].cost

    def _ask_aircraft(
        self, now: float, flow: Flow, requests: list[_Request], waiting: Sequence[_Beside]
    ) -> None:
        """Poll aircraft, while these are ``waiting``; none of one rank overtakes another."""
        while (ready := self._ready_poll(now)) and flow.take_poll(
                ready.cost, now, leave=self._leave_for_first(ready)):
            self._held_poll = None
            self._pass_over(ready, now)
            for beside in waiting:
                beside.passed_over += 1
            for request in ready.start(now):
                flow.ask(request[0])
                requests.append(request)
        if ready is not None and ready is not self._held_poll:
            self._count_held(ready, now, flow)

    def _count_held(self, ready: StatePoll, now: float, flow: Flow) -> None:
        """Count a poll that is due, if it has to wait for the budget."""
        at = flow.when_poll(ready.cost, now, leave=self._leave_for_first(ready))
        if at is not None and at > now:
            self._held_poll = ready
            self._statistics.held_by_budget += 1

    def _pass_over(self, taken: StatePoll, now: float) -> None:
        """Count that polls of the next rank have been passed over, if they are due."""
        rank = self._ranks[taken]
        self._passed_over[rank] = 0
        if self._others.members and any(
                poll.is_ready(now) for poll in self._polls if self._ranks[poll] == rank + 1):
            self._passed_over[rank + 1] += 1

    def _ask_beside(
        self, now: float, flow: Flow, requests: list[_Request], *, overdue: bool = False
    ) -> bool:
        """
        Request one part of a read or of the watch, in turns; return whether one was requested.

        With ``overdue`` only for one that telemetry has preceded too often.
        """
        for beside in self._beside:
            if overdue and beside.passed_over < _PASSED_OVER:
                continue
            request = beside.start(now, flow, overdue)
            if request is not None:
                beside.passed_over = 0
                self._beside.remove(beside)
                self._beside.append(beside)
                flow.ask(request[0])
                requests.append(request)
                return True
        return False

    def _read_is_due(self, now: float) -> bool:
        return self.reads.is_due(now, self._commands, held=self._held)

    def _start_read(self, now: float, flow: Flow, overdue: bool) -> _Request | None:
        if not self._read_is_due(now) or not flow.take_read(now, overdue=overdue):
            return None
        return self.reads.start(now, self._commands, held=self._held)

    def _watch_is_due(self, now: float) -> bool:
        return self._watch is not None and not self._watch.waiting and now >= self._watch.due

    def _start_watch(self, now: float, flow: Flow, overdue: bool) -> _Request | None:
        if self._watch is None or not self._watch_is_due(now) or not flow.take_watch(
                now, room=self._room_for_telemetry, overdue=overdue):
            return None
        return self._watch.start(now)

    @property
    def _room_for_telemetry(self) -> int:
        """Return how many datagrams telemetry may still send before the next frame."""
        return sum(poll.cost for poll in self._polls if not poll.waiting)


def _due_of(poll: StatePoll) -> float:
    return poll.pace.due


def to_period(rate: float) -> float:
    """Return the seconds between updates, 0 for a rate of 0."""
    if not 0.0 <= rate < math.inf:
        raise ValueError(f'rate: got {rate:g} updates per second, expected 0 or more')
    return 1.0 / rate if rate else 0.0
