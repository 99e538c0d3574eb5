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

"""Polling of the other aircraft, many in one request."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from xplane_bridge.bridges.sessions.round_trip import RoundTrip
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session.events import Polled, Statistics, Telemetry
from xplane_bridge.bridges.xpc.session.requests.polls import split_channel, StatePoll
from xplane_bridge.bridges.xpc.session.requests.telemetry import AircraftPoll

_HEADER = 6
_MOST_NAMES = 255

# Aircraft that join or leave groups within this time, in seconds, do so together.
_GATHERING = 0.2
# An aircraft whose datarefs do not give its pose this often in a row leaves its group.
_FAILURES = 5


class GroupPoll(StatePoll):
    """Poll several aircraft with one GETD, so that all are of the same frame."""

    def __init__(
        self, stem: str, names: tuple[str, ...], period: float, statistics: Statistics,
        round_trip: RoundTrip,
    ) -> None:
        self.names = names
        request = xpc.encode(xpc.GetDatarefs(names))
        super().__init__({stem: request}, period, statistics, round_trip)

    def receive(self, channel: str, reply: xpc.Reply, now: float) -> dict[str, float] | None:
        """Handle a reply; return its values by name, None if it is not of another frame."""
        poll = self.poll_on(channel)
        if (
            poll is None
            or not isinstance(reply, xpc.Datarefs) or len(reply.rows) != len(self.names)
        ):
            self._statistics.unexpected += 1
            return None
        self._take(channel, poll, reply, now)
        self._finish(poll, now)
        values = {name: row[0] for name, row in zip(self.names, reply.rows, strict=True) if row}
        if poll.is_void or not self._is_next(poll, values, now):
            return None
        return values


class Others:
    """
    Poll aircraft in groups, as far as their datarefs give their poses.

    One whose datarefs do not is polled alone (AircraftPoll), until they do.
    """

    def __init__(
        self, aircraft: Mapping[int, Polled], sizes: Mapping[str, int], period: float,
        statistics: Statistics, round_trip: RoundTrip,
    ) -> None:
        self.members = tuple(
            AircraftPoll(number, polled, period, statistics, round_trip=round_trip)
            for number, polled in aircraft.items())
        self._round_trip = round_trip
        self._sizes = sizes
        self._period = period
        self._statistics = statistics
        self._serial = 0
        self._groups: dict[str, GroupPoll] = {}
        self._members_of: dict[str, tuple[AircraftPoll, ...]] = {}
        self._alone: dict[str, AircraftPoll] = {}
        # How often in a row the datarefs of an aircraft gave no pose.
        self._failures = dict.fromkeys(aircraft, 0)
        self.regroup_at: float | None = None
        self._group()

    @property
    def polls(self) -> list[StatePoll]:
        """Return the polls of groups, and of aircraft that are polled alone."""
        return [*self._groups.values(), *dict.fromkeys(self._alone.values())]

    @property
    def shared(self) -> tuple[int, ...]:
        """Return the numbers of the aircraft in groups."""
        return tuple(
            member.aircraft for members in self._members_of.values() for member in members)

    def begin(self, now: float) -> None:
        """Want every value from now on."""
        for member in self.members:
            member.begin(now)

    def suspend(self, due: float) -> list[str]:
        """Forget what was learnt about the peer; return the channels no longer used."""
        self._failures = dict.fromkeys(self._failures, 0)
        for member in self.members:
            member.suspend(due)
        return self._group(due)

    def handles(self, channel: str) -> bool:
        """Return whether a channel is one of these polls'."""
        stem = split_channel(channel)[0]
        return stem in self._groups or stem in self._alone

    def receive(self, channel: str, reply: xpc.Reply, now: float) -> list[Telemetry]:
        """Handle a reply on one of these channels; return the telemetry that it completes."""
        stem = split_channel(channel)[0]
        group = self._groups.get(stem)
        if group is None:
            member = self._alone[stem]
            update = member.receive(channel, reply, now)
            if update is None:
                return []
            self._judge(member, member.pose is not None and member.pose(update.values), now)
            return [update]
        values = group.receive(channel, reply, now)
        if values is None:
            return []
        updates = []
        for member in self._members_of[stem]:
            pose = None if member.pose is None else member.pose(values)
            if pose is not None:
                member.on_reply(values, now)
                updates.append(Telemetry(member.aircraft, values, pose))
            self._judge(member, pose, now)
        return updates

    def _judge(self, member: AircraftPoll, pose: object, now: float) -> None:
        """Record whether the datarefs of an aircraft gave its pose."""
        before = self._failures[member.aircraft]
        failures = self._failures[member.aircraft] = 0 if pose else before + 1
        leaves_or_joins = failures == _FAILURES or before >= _FAILURES > failures
        if leaves_or_joins and self.regroup_at is None:
            self.regroup_at = now + _GATHERING

    def regroup(self, now: float) -> list[str] | None:
        """Form new groups if it is time, and return the channels no longer used."""
        if self.regroup_at is None or now < self.regroup_at:
            return None
        alone = set(self._alone.values())
        for member in self.members:
            if self._fails(member) != (member in alone):
                member.suspend(now)
        return self._group(now)

    def _fails(self, member: AircraftPoll) -> bool:
        return self._failures[member.aircraft] >= _FAILURES

    def _group(self, due: float = 0.0) -> list[str]:
        """Divide the aircraft among as few requests as possible; return the unused channels."""
        self.regroup_at = None
        before = self.polls
        self._alone = {
            stem: member for member in self.members if self._fails(member)
            for stem in (member.position_stem, member.state_stem)}
        self._groups.clear()
        self._members_of.clear()
        for members in _share(
                [member for member in self.members if not self._fails(member)], self._sizes):
            # A late reply to an earlier group must not be taken for one to this.
            self._serial += 1
            stem = f'others {self._serial}'
            group = GroupPoll(
                stem, _names(members), self._period, self._statistics, self._round_trip)
            group.suspend(due)
            self._groups[stem] = group
            self._members_of[stem] = tuple(members)
        alone = self._alone.values()
        return [channel for poll in before if poll not in alone for channel in poll.close()]


def _share(
    members: Sequence[AircraftPoll], sizes: Mapping[str, int]
) -> list[Sequence[AircraftPoll]]:
    """Divide aircraft evenly among as few requests as possible."""
    total = len(members)
    for count in range(1, total + 1):
        groups = [
            members[number * total // count:(number + 1) * total // count]
            for number in range(count)]
        if all(_fits(_names(group), sizes) for group in groups):
            return groups
    return [[member] for member in members]


def _names(members: Sequence[AircraftPoll]) -> tuple[str, ...]:
    """Return the datarefs of all; some are common to them."""
    return tuple(dict.fromkeys(name for member in members for name in member.names))


def _fits(names: Collection[str], sizes: Mapping[str, int]) -> bool:
    """Return whether request and reply fit into the plugin's buffers (docs/wire/xpc.md, 1)."""
    request = _HEADER + sum(1 + len(name.encode()) for name in names)
    reply = _HEADER + sum(1 + 4 * sizes.get(name, 1) for name in names)
    return (
        len(names) <= _MOST_NAMES and request <= xpc.REQUEST_LIMIT and reply <= xpc.RESP_LIMIT)
