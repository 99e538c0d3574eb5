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

"""Polling of the datarefs selected by the user, at their own rate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xplane_bridge.bridges.sessions.leases import Leases
from xplane_bridge.bridges.sessions.round_trip import RoundTrip
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session.events import Statistics, WatchedDatarefs
from xplane_bridge.bridges.xpc.session.flow import FRAME_GAP
from xplane_bridge.bridges.xpc.session.requests.reads import batches

# How long a reply may take near the plugin, whose frames may pause.
_SHORTEST_TIMEOUT = 0.25
# Every four that are not X-Plane's own take one request, and each request a socket.
MOST_WATCHED = 3000
"""Datarefs that may be watched at once."""

# How long one request of a round may take, as telemetry has priority: a value is missing after a
# round that takes longer.
_TURN = 0.05

# A group that was not answered for this long was requested about ten times.
_HOPELESS = 5.0


def check_watched(names: Sequence[str]) -> None:
    """Raise ValueError for datarefs that are too many to watch, or that cannot be requested."""
    if len(names) > MOST_WATCHED:
        raise ValueError(f'{len(names)} datarefs, at most {MOST_WATCHED} can be watched')
    for name in names:
        xpc.encode(xpc.GetDatarefs((name,)))


class Watch:
    """
    Poll a list of datarefs in as few GETDs as possible, each on its own channel.

    A channel always requests the same names, so a late reply still decodes correctly; a new
    grouping gets new channels. Sizes are learnt from each reply, as far as they are reliable: see
    reads.batches(). A group that is not answered for long leaves its rows empty, and the others
    are delivered; from then on its names are requested one by one. ``period`` is in seconds, 0 for
    once per frame.
    """

    def __init__(
        self, names: tuple[str, ...], period: float, serial: int, statistics: Statistics,
        round_trip: RoundTrip, now: float,
    ) -> None:
        self._round_trip = round_trip
        self.names = names
        self.period = period
        self.due = now
        self.serial = serial
        self._next_round = 0.0
        self._statistics = statistics
        self._sizes: dict[str, int] = {}
        self._alone: set[str] = set()
        self._learnt = False
        self._groups: dict[str, tuple[str, ...]] = {}
        # A channel always requests the same names.
        self._requests: dict[str, bytes] = {}
        self._unsent: list[str] = []
        self._rows: dict[str, tuple[tuple[float, ...], ...]] = {}
        self._sent_at: float | None = None
        self._group()
        self.leases = patient_leases(names, max(period, _TURN * len(self._groups)), now)

    def _group(self) -> None:
        """Plan the groups again from the sizes known so far, and start with the first."""
        self.serial += 1
        self._requests.clear()
        self._groups = {
            f'watch {self.serial}.{number}': group
            for number, group in enumerate(batches(self.names, self._sizes, self._alone))
        }
        self._begin()

    def _begin(self) -> None:
        self._rows.clear()
        self._unsent = list(self._groups)
        self._sent_at = None

    def __contains__(self, channel: str) -> bool:
        """Return whether this channel is in use."""
        return channel in self._groups

    @property
    def channels(self) -> tuple[str, ...]:
        """Return the channels in use."""
        return tuple(self._groups)

    @property
    def waiting(self) -> bool:
        """Return whether everything is sent and replies are outstanding."""
        return self._sent_at is not None

    @property
    def deadline(self) -> float:
        """Return when the outstanding replies time out, or the next group is due."""
        return self.due if self._sent_at is None else self._sent_at + max(
            _SHORTEST_TIMEOUT, self._round_trip.usual_timeout)

    def start(self, now: float) -> tuple[str, bytes]:
        """Start the next round, or continue it: return what to send."""
        if len(self._unsent) == len(self._groups):
            self._next_round = max(self._next_round + self.period, now)
        channel = self._unsent.pop(0)
        if not self._unsent:
            self._sent_at = now
        self._statistics.requests += 1
        request = self._requests.get(channel)
        if request is None:
            request = self._requests[channel] = xpc.encode(
                xpc.GetDatarefs(self._groups[channel]))
        return channel, request

    def give_up(self, now: float) -> WatchedDatarefs | None:
        """
        Count the outstanding replies as lost; they are requested again at once.

        Returns what has arrived if the rest is missing for long, so that it does not block them.
        """
        lost = [channel for channel in self._groups if channel not in self._rows]
        self._statistics.lost += len(lost)
        names = [name for channel in lost for name in self._groups[channel]]
        self._unsent = lost
        self._sent_at = None
        self.due = now
        missing = self.leases.missing(now)
        if not missing.keys() >= set(names):
            return None
        watched = self._watched() if self._rows else None
        if all(now >= missing[name] + _HOPELESS for name in names):
            # A long reply may be lost where a short one is not.
            self._learnt |= not self._alone.issuperset(names)
            self._alone.update(names)
        self._begin()
        return watched

    def receive(self, channel: str, reply: xpc.Reply, now: float) -> WatchedDatarefs | None:
        """Handle one reply; return all values if they are now complete."""
        names = self._groups[channel]
        if (
            channel in self._unsent
            or not isinstance(reply, xpc.Datarefs)
            or len(reply.rows) != len(names)
        ):
            self._statistics.unexpected += 1
            return None
        self._statistics.replies += 1
        self.leases.heard(
            (name for name, row in zip(names, reply.rows, strict=True) if row), now)
        sizes = dict(zip(names, map(len, reply.rows), strict=True))
        self._learnt |= any(self._sizes.get(name) != size for name, size in sizes.items())
        self._sizes.update(sizes)
        self._rows[channel] = reply.rows
        if len(self._rows) < len(self._groups):
            return None
        watched = self._watched()
        self._begin()
        self.due = max(self._next_round, now + FRAME_GAP)
        return watched

    def _watched(self) -> WatchedDatarefs:
        """Return all values, an empty row for missing ones."""
        self._statistics.watched += 1
        return WatchedDatarefs(self.names, tuple(
            row for channel, group in self._groups.items()
            for row in self._rows.get(channel, ((),) * len(group))))

    def regroup(self) -> tuple[str, ...]:
        """Between rounds, group by the sizes learnt; return the channels no longer used."""
        if not self._learnt or len(self._unsent) < len(self._groups):
            return ()
        self._learnt = False
        groups = tuple(batches(self.names, self._sizes, self._alone))
        return self._replace(groups)

    def relearn(self) -> tuple[str, ...]:
        """Forget the sizes learnt, group again, and return the channels no longer used."""
        self._sizes.clear()
        return self._replace(tuple(batches(self.names, {}, self._alone)))

    def _replace(self, groups: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
        if groups == tuple(self._groups.values()):
            return ()
        old = self.channels
        self._group()
        return old


def patient_leases(names: Iterable[str], period: float, now: float) -> Leases[str]:
    """Return leases of datarefs polled with this period, of which they may miss one."""
    leases: Leases[str] = Leases(max(1.0, 2.5 * period))
    leases.want(names, now)
    return leases
