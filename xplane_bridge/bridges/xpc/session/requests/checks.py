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

"""What X-Plane is asked because of commands: before they are sent, and afterwards."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from xplane_bridge.bridges.sessions.round_trip import RoundTrip
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session.events import Statistics
from xplane_bridge.bridges.xpc.session.flow import Flow
from xplane_bridge.bridges.xpc.session.items import HELD, THROTTLE
from xplane_bridge.bridges.xpc.session.requests.polls import RUNNING_TIME
from xplane_bridge.bridges.xpc.session.requests.reads import batches

_LARGEST = 8
# X-Plane's own, whose sizes are fixed: scalars, or arrays of aircraft or engines.
_ARRAYS = {HELD, THROTTLE}
_ARRAY, _SCALAR = 64, 8
# How long a reply to these may take near the plugin.
_SHORTEST_TIMEOUT = 0.1

_Request = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class Checked:
    """
    Values of datarefs, asked for at that time after so many commands, or before they are written.

    With X-Plane's running time, if that was asked for too.
    """

    values: Mapping[str, tuple[float, ...]]
    asked_at: float
    serial: int
    is_before: bool
    running_time: float | None


@dataclass(frozen=True, slots=True)
class _Asked:
    names: tuple[str, ...]
    asked_at: float
    serial: int
    is_before: bool
    ends_at: float


class Checks:
    """
    Read overrides just before they are written, and what was written afterwards.

    The plugin handles datagrams in order of arrival, and these never wait. Each has a channel of
    its own, which is closed when it is answered, or is not in time.
    """

    def __init__(self, statistics: Statistics, round_trip: RoundTrip) -> None:
        self._statistics = statistics
        self._round_trip = round_trip
        # By the channel on which a reply is expected.
        self.asked: dict[str, _Asked] = {}
        self._serial = 0
        self._closing: list[str] = []

    @property
    def patience(self) -> float:
        """Return how long a reply usually takes at most."""
        return max(_SHORTEST_TIMEOUT, self._round_trip.usual_timeout)

    @property
    def deadline(self) -> float | None:
        """Return when expire() has something to do, None if nothing is asked."""
        return min((asked.ends_at for asked in self.asked.values()), default=None)

    def awaits_before(self, names: Collection[str]) -> bool:
        """Return whether one of these is already being read before it is written."""
        return any(
            asked.is_before and not set(asked.names).isdisjoint(names)
            for asked in self.asked.values())

    def read_before(self, names: tuple[str, ...], now: float, flow: Flow) -> list[_Request]:
        """Read what is about to be written; return the requests."""
        return self._ask(names, {}, now, flow, is_before=True)

    def read_after(self, names: tuple[str, ...], now: float, flow: Flow) -> list[_Request]:
        """Read what was written; return the requests."""
        sizes = {name: _ARRAY if name in _ARRAYS else _SCALAR for name in names}
        return self._ask(names, sizes, now, flow, is_before=False)

    def _ask(
        self, names: tuple[str, ...], sizes: Mapping[str, int], now: float, flow: Flow, *,
        is_before: bool,
    ) -> list[_Request]:
        requests = []
        for batch in batches(names, sizes):
            self._serial += 1
            channel = f'{"before" if is_before else "check"} {self._serial}'
            flow.charge(1, now)
            self.asked[channel] = _Asked(
                batch, now, flow.sent_commands, is_before, now + 2.0 * self.patience)
            self._statistics.requests += 1
            requests.append((channel, xpc.encode(xpc.GetDatarefs(batch))))
            flow.ask(channel)
        while len(self.asked) > _LARGEST:
            # Its reply was lost.
            self._close(next(iter(self.asked)))
        return requests

    def on_reply(self, channel: str, reply: xpc.Reply) -> Checked | None:
        """Handle a reply on one of these channels; return the values, None if it has none."""
        asked = self.asked[channel]
        self._close(channel)
        if not isinstance(reply, xpc.Datarefs) or len(reply.rows) != len(asked.names):
            self._statistics.unexpected += 1
            return None
        self._statistics.replies += 1
        values = dict(zip(asked.names, reply.rows, strict=True))
        running_time = values.pop(RUNNING_TIME, ())
        return Checked(values, asked.asked_at, asked.serial, asked.is_before,
                       running_time[0] if running_time else None)

    def expire(self, now: float) -> None:
        """Wait no longer for what is not answered in time."""
        for channel, asked in list(self.asked.items()):
            if now >= asked.ends_at:
                self._close(channel)

    def forget(self) -> None:
        """Wait for nothing any more."""
        for channel in list(self.asked):
            self._close(channel)

    def closed(self) -> list[str]:
        """Return the channels to close, since the last call."""
        closing, self._closing = self._closing, []
        return closing

    def _close(self, channel: str) -> None:
        del self.asked[channel]
        self._closing.append(channel)
