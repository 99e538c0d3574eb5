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

"""What is asked of Huginn: sensors, each a lease, polled together or separately."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from xplane_bridge.bridges.fdmdata.protocol import Command, SensorReply
from xplane_bridge.bridges.fdmdata.session.events import PollEntry, Statistics
from xplane_bridge.bridges.fdmdata.session.plan import PollPlan
from xplane_bridge.bridges.fdmdata.session.polls import Polls, SensorPoll
from xplane_bridge.bridges.sessions.base import Outgoing
from xplane_bridge.bridges.sessions.leases import Leases

# One that is silent is asked for a single small reply, this often.
_PROBE_PERIOD = 0.5

# A sensor that has not answered for this long, and for this many polls, is missing: the others
# continue without it, and it is polled separately, after these pauses.
_PATIENCE = 0.5
_POLLS = 4
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 5.0


class Requests:
    """
    The sensors that are polled, when, and the ``outstanding`` polls.

    A sensor that does not answer is left out of the polls and polled separately, forever. An error
    reply names no command, and anybody can forge the single byte: a sensor counts as refused only
    while it does not answer. ``probes`` is whether only probes are sent.
    """

    def __init__(self, statistics: Statistics) -> None:
        self._plan = PollPlan()
        self._leases = Leases[Command](_PATIENCE, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE)
        self._refused: set[Command] = set()
        self._polls = Polls(statistics)
        self.outstanding: Mapping[str, SensorPoll] = self._polls.outstanding
        # Sensors of entries that are polled together, and the last of each entry, while all of
        # them answer.
        self._together: dict[tuple[str, ...], tuple[Sequence[Command], Collection[Command]]] = {}
        self._probe_at = 0.0

    @property
    def entries(self) -> Mapping[str, PollEntry]:
        """Return the entries of the plan by name."""
        return self._plan.entries

    @property
    def sensors(self) -> Collection[Command]:
        """Return the sensors that are polled."""
        return self._leases.keys

    @property
    def refused(self) -> frozenset[Command]:
        """Return the sensors that are answered only with errors."""
        return frozenset(self._refused)

    def missing(self, now: float) -> dict[Command, float]:
        """Return the sensors that do not answer, and since when."""
        return self._leases.missing(now)

    def is_fresh(self, command: Command, now: float) -> bool:
        """Return whether this sensor is wanted, and has answered lately."""
        return self._leases.is_fresh(command, now)

    def deadlines(self, *, probes: bool) -> Sequence[float | None]:
        """Return when something is due."""
        if probes:
            return (self._probe_at,)
        return self._plan.deadline, self._leases.deadline, self._polls.deadline

    def set(self, plan: Mapping[str, PollEntry], now: float) -> None:
        """
        Poll these from now on.

        Raises ValueError for a rate that is not above 0, or an entry without a sensor.
        """
        self._plan.set(plan, now)
        self._together.clear()
        rates = self._plan.rates()
        self._leases.want(rates, now, {
            command: max(_PATIENCE, _POLLS / rate) for command, rate in rates.items()})
        self._refused &= rates.keys()

    def begin(self, now: float) -> None:
        """Poll everything from now on, as if for the first time."""
        self._plan.restart(now)
        self._leases.renew(now)
        self._refused.clear()

    def hurry(self, at: float) -> None:
        """Poll then at the latest what shows whether it is the same Huginn."""
        self._plan.hurry(at)

    def draw(self, now: float, *, probes: bool) -> list[Outgoing]:
        """Return what is due, and count it as sent."""
        if probes:
            if now < self._probe_at:
                return []
            self._probe_at = now + _PROBE_PERIOD
            return self._polls.send({}, [Command.THERMOMETER], (), now)
        outgoing: list[Outgoing] = []
        again = self._leases.due(now)
        is_due = self._plan.deadline <= now
        if not (again or is_due):
            return []
        missing = self._leases.missing(now) if self._leases.are_awaited else {}
        for command in again:
            if command in missing:
                outgoing += self._polls.send({}, [command], (), now)
        if is_due:
            entries = self._plan.due(now)
            names = tuple(entries)
            if missing:
                together = _together(entries, missing)
            elif names in self._together:
                together = self._together[names]
            else:
                together = self._together[names] = _together(entries, ())
            outgoing += self._polls.send(entries, *together, now)
        return outgoing

    def refuse(self, channel: str) -> None:
        """Count an error reply for its poll."""
        self._polls.refuse(channel)

    def take(self, channel: str, reply: SensorReply, now: float) -> SensorPoll | None:
        """Add a reply to its poll, and return the poll; None if it is late or a duplicate."""
        poll = self._polls.take(channel, reply)
        if poll is not None:
            if self._refused:
                self._refused.discard(reply.command)
            self._leases.heard((reply.command,), now)
        return poll

    def note(self, command: Command, now: float) -> None:
        """Note that this sensor has answered, whoever asked."""
        self._leases.heard((command,), now)

    def keep(self, now: float) -> tuple[str, Sequence[Command]] | None:
        """Give up the oldest poll, but not its channel; return this, and what is unanswered."""
        for channel, poll in self._polls.give_up(now, every=True):
            self._end(poll, now)
            return channel, tuple(poll.waiting)
        return None

    def give_up(self, now: float, *, every: bool = False) -> None:
        """Count polls that have timed out, or ``every`` one, as lost."""
        deadline = self._polls.deadline
        if deadline is None or (now < deadline and not every):
            return
        for channel, poll in self._polls.give_up(now, every=every):
            self._end(poll, now)
            self._polls.drop(channel)

    def forget(self, now: float) -> None:
        """Forget all polls; probe at once if that is all."""
        self._polls.forget()
        self._refused.clear()
        self._probe_at = now

    def drop(self, channel: str | None) -> None:
        """Close a channel that was kept, if any."""
        if channel is not None:
            self._polls.drop(channel)

    def closed(self) -> list[Outgoing]:
        """Return the channels to close."""
        return self._polls.closed()

    def _end(self, poll: SensorPoll, now: float) -> None:
        if poll.lone and poll.errors and poll.commands[0] in self._leases:
            # Polled separately, and answered only with errors.
            self._refused.add(poll.commands[0])
            self._leases.unknown(poll.commands[0], now)


def _together(
    entries: Mapping[str, tuple[Command, ...]], missing: Collection[Command]
) -> tuple[Sequence[Command], Collection[Command]]:
    """Return the sensors of entries in order, but the missing ones, and the last of each entry."""
    asked = [sorted(set(wanted).difference(missing)) for wanted in entries.values()]
    return (sorted(set[Command]().union(*asked)),
            {wanted[-1] for wanted in asked if wanted})
