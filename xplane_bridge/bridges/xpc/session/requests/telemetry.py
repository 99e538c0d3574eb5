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

"""Polling of one aircraft: its position and datarefs, from the same frame of the simulator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xplane_bridge.bridges.sessions.one_frame import is_same_place
from xplane_bridge.bridges.sessions.round_trip import RoundTrip
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session.events import Polled, Statistics, Telemetry
from xplane_bridge.bridges.xpc.session.requests.polls import (
    make_round_trip,
    Poll,
    split_channel,
    StatePoll,
)
from xplane_bridge.bridges.xpc.session.requests.watch import patient_leases

# Position and datarefs that disagree this often in a row are not from different frames: this
# X-Plane's two representations of a position differ, so agreement is no longer required.
_DISAGREEMENTS = 60

_RUNNING_TIME = 'sim/time/total_running_time_sec'
_PAUSED = 'sim/time/paused'


class _State(dict[str, float]):
    """First values by name, and all values of arrays."""

    arrays: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Said:
    """
    What a reply says of X-Plane itself: its running time, if there is one, and the other reports.

    ``asked_at`` is when that was asked; ``is_paused`` if the running time stands.
    """

    running_time: float | None
    is_paused: bool
    reported: Mapping[str, tuple[float, ...]]
    asked_at: float


class AircraftPoll(StatePoll):
    """
    Poll one aircraft with a GETP and a GETD, each on its own channel, both sent together.

    The plugin answers both requests in one frame or in two, which the position datarefs show. If
    the datarefs give the pose too, they suffice: where the other reply is of another frame, or
    has not arrived before. ``reported`` are additional datarefs, for the session itself.
    ``period`` is in seconds, 0 for once per frame.
    """

    def __init__(
        self, aircraft: int, polled: Polled, period: float, statistics: Statistics,
        reported: tuple[str, ...] = (), round_trip: RoundTrip | None = None,
    ) -> None:
        self.aircraft = aircraft
        self.position_stem = f'position {aircraft}'
        self.state_stem = f'state {aircraft}'
        self.names = names = polled.names
        super().__init__(
            {
                self.position_stem: xpc.encode(xpc.GetPosition(aircraft)),
                self.state_stem: xpc.encode(xpc.GetDatarefs(names + reported)),
            }, period, statistics, round_trip or make_round_trip())
        self.leases = patient_leases((), period, 0.0)
        self.pose = polled.pose
        self._place = polled.place
        self._position_name = f'position of aircraft {aircraft} (GETP)'
        self._reported = reported
        self._count = len(names) + len(reported)
        self._disagreements = 0
        self._arrays = tuple((name, names.index(name)) for name in polled.arrays)
        self._paused_row = names.index(_PAUSED) if _PAUSED in names else None
        self._time_row = names.index(_RUNNING_TIME) if _RUNNING_TIME in names else None

    def begin(self, now: float) -> None:
        """Want every value from now on."""
        self.leases.want((self._position_name, *self.names), now)
        self.leases.renew(now)

    def on_reply(self, values: Iterable[str], now: float) -> None:
        """Record the arrival of values in a request shared with other aircraft."""
        self.leases.heard((self._position_name, *values), now)

    def said(self, channel: str, reply: xpc.Reply) -> Said | None:
        """Return what a reply says of X-Plane; None if it is not the state, or late."""
        if split_channel(channel)[0] != self.state_stem:
            return None
        poll = self.poll_on(channel)
        if poll is None or poll.has_timed_out:
            return None
        if not isinstance(reply, xpc.Datarefs) or len(reply.rows) != self._count:
            return Said(None, False, {}, poll.sent_at)
        time = () if self._time_row is None else reply.rows[self._time_row]
        is_paused = self._paused_row is not None and reply.rows[self._paused_row] == (1.0,)
        return Said(time[0] if time else None, is_paused, dict(
            zip(self._reported, reply.rows[len(self.names):], strict=True)), poll.sent_at)

    def suspend(self, due: float) -> None:
        """Forget what is outstanding and what was learnt about the peer; restart at ``due``."""
        super().suspend(due)
        self._disagreements = 0

    def receive(self, channel: str, reply: xpc.Reply, now: float) -> Telemetry | None:
        """Handle one reply; return the aircraft's telemetry if it is now complete."""
        poll = self.poll_on(channel)
        stem = split_channel(channel)[0]
        if poll is not None and stem == self.position_stem and isinstance(
                reply, xpc.PositionReply):
            self._take(channel, poll, reply, now)
            self.leases.heard((self._position_name,), now)
        elif (
            poll is not None and stem == self.state_stem
            and isinstance(reply, xpc.Datarefs) and len(reply.rows) == self._count
        ):
            values = _State({
                name: row[0] for name, row in zip(self.names, reply.rows, strict=False) if row})
            values.arrays = {name: reply.rows[place] for name, place in self._arrays}
            self._take(channel, poll, values, now)
            self.leases.heard(values, now)
        else:
            # A duplicate, or nobody's.
            self._statistics.unexpected += 1
            return None
        return self._update(poll, now)

    def _update(self, poll: Poll, now: float) -> Telemetry | None:
        """Return what a poll shows, if it is enough, and newer than the last."""
        values: _State | None = poll.replies.get(self.state_stem)
        if values is None or poll.is_void or poll.is_over and not poll.has_timed_out:
            return None
        pose: xpc.PositionReply | None = poll.replies.get(self.position_stem)
        if pose is not None and not self._is_same_frame(pose, values):
            self._statistics.split += 1
            pose = None
        elif pose is None and self.pose is None:
            return None
        if pose is None and self.pose is not None:
            pose = self.pose(values)
        if pose is None:
            if len(poll.replies) == self.cost:
                self._finish(poll, now)
                self._repeat(poll, now)
            return None
        self._finish(poll, now)
        if not self._is_next(poll, values, now):
            return None
        return Telemetry(self.aircraft, values, pose, values.arrays)

    def _is_same_frame(
        self, position: xpc.PositionReply, values: Mapping[str, float]
    ) -> bool:
        """Return whether both replies contain the same position, to the last float32 bit."""
        if self._disagreements >= _DISAGREEMENTS:
            return True
        same = is_same_place(
            (position.lat, position.lon, position.alt), self._place, values)
        self._disagreements = 0 if same else self._disagreements + 1
        return same
