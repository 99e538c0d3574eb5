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

"""Datarefs watched for the user, or of TCAS targets: one subscription at a time for each."""

from __future__ import annotations

from collections.abc import Sequence

from xplane_bridge.bridges.xplane_udp.protocol import encode, RrefReply, RrefRequest
from xplane_bridge.bridges.xplane_udp.session.events import Statistics, WatchedDatarefs, WATCHES
from xplane_bridge.bridges.xplane_udp.session.requests.subscription import Subscription
from xplane_bridge.bridges.xplane_udp.session.requests.unsubscribes import Ending

MOST_WATCHED = 1000
"""Datarefs that may be watched at once."""
# Blocks of RREF numbers, so that no late value is mistaken for another dataref's.
_FIRST_INDEX = 1000
_BLOCKS = 90 // len(WATCHES)
# Watching others cancels the previous ones: this many datagrams may wait for that.
_MOST_WAITING = 4 * MOST_WATCHED


def check_watched(names: Sequence[str]) -> None:
    """Raise ValueError for datarefs that are too many to watch, or that cannot be requested."""
    if len(names) > MOST_WATCHED:
        raise ValueError(f'{len(names)} datarefs, at most {MOST_WATCHED} can be watched')
    for name in names:
        encode(RrefRequest(1, 0, name))


class Watch:
    """
    What is watched for ``name``, with a new channel and new numbers each time it changes.

    ``subscription`` is None while nothing is requested.
    """

    def __init__(self, name: str, pacing: float, statistics: Statistics) -> None:
        self.subscription: Subscription | None = None
        self._name = name
        self._first_index = _FIRST_INDEX + MOST_WATCHED * _BLOCKS * WATCHES.index(name)
        self._pacing = pacing
        self._statistics = statistics
        self._names: tuple[str, ...] = ()
        self._rate = 1
        self._serial = 0

    @property
    def channel(self) -> str:
        """Return the channel of the requests."""
        return f'watch {self._name} {self._serial}'

    def choose(self, names: Sequence[str], rate: float, waiting: int) -> None:
        """
        Watch these from the next begin() on; raise ValueError for invalid ones.

        ``waiting`` is how many datagrams wait to be sent.
        """
        if not 1.0 <= rate <= 1000.0:
            raise ValueError(
                f'{self._name}_rate: got {rate:g} per second, expected 1 to 1000')
        check_watched(names)
        if waiting > _MOST_WAITING:
            raise ValueError(
                f'{self._name}: {waiting} datagrams wait to be sent; change it less often')
        self._names, self._rate = tuple(names), round(rate)

    def begin(self, now: float) -> None:
        """Subscribe to the selected datarefs."""
        if not self._names:
            return
        self._serial += 1
        first = self._first_index + MOST_WATCHED * (self._serial % _BLOCKS)
        self.subscription = Subscription(
            self._names, self._rate, first, self._pacing, self._statistics)
        self.subscription.begin(now)

    def end(self) -> Ending | None:
        """End the subscription; return what to end, if there was one."""
        ended, self.subscription = self.subscription, None
        if ended is None:
            return None
        return Ending(self.channel, ended.indices, ended.cancel, 1.0 / self._rate)

    def receive(self, channel: str, reply: RrefReply, now: float) -> list[WatchedDatarefs] | None:
        """Handle datarefs; return what they complete, None if not requested here."""
        watched = self.subscription
        if watched is None or channel != self.channel:
            return None
        if not watched.receive(reply, now):
            return []
        self._statistics.updates[self._name] += 1
        return [WatchedDatarefs(
            watched.names, tuple(map(watched.take().get, watched.names)), self._name)]
