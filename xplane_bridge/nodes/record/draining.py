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

"""When everything that was published before the end of a recording has arrived."""

from __future__ import annotations

from collections.abc import Collection
import math
import time

# How often a recorder calls tick(), in seconds.
TICK_PERIOD = 0.1
# Where a tick is so late, the machine is busy: publishers and the middleware wait for time too.
_QUIET, _BUSY_QUIET = 0.3, 1.0
_LATE = 0.05
# The middleware drops what a process that gets no processor time does not take, and sends it again
# with its next heartbeat: Fast DDS every 3 s.
_STARVED = 0.2
SENT_AGAIN = 3.5
# Longer than that only where something is known to be missing: a machine without processor time
# answered heartbeats after 8 s, and a publisher's clock may be behind.
LONGEST = 15.0
# A topic flows if it had so many messages, and the newest two or the two before were published
# within that time, ns: a machine may have paused once ...
_MANY = 10
_CLOSE = 300_000_000
# ... and the newest within that time before the question: what the middleware has dropped, and all
# that follows it, arrives up to 3 s later.
_HELD_BACK = 3_500_000_000
# A topic has stopped before its node's others if these went on for so long, ns, and for so many of
# its periods.
_STOPPED = 100_000_000
_PERIODS = 3


class Flow:
    """How many messages of a topic came; when the newest was published, ns since 1970."""

    __slots__ = ('_gaps', 'count', 'newest')

    def __init__(self) -> None:
        self.count = 0
        self.newest = 0
        self._gaps: tuple[float, float] = (math.inf, math.inf)

    def add(self, published: int) -> None:
        """Take note of a message's publication."""
        self.count += 1
        self._gaps = (published - self.newest, self._gaps[0])
        self.newest = published

    def period(self) -> float:
        """Return the time between two of the newest messages, ns; infinite if it does not flow."""
        gap = min(self._gaps)
        return gap if self.count >= _MANY and gap < _CLOSE else math.inf


def is_behind(
    flows: Collection[tuple[str, Flow]], asked: int, starved: int | None = None
) -> bool:
    """
    Return whether something published before ``asked`` (ns since 1970) is still on its way.

    ``flows`` are pairs of a node's name and one of its topics. A node that has published on one of
    its topics since then will have done so on the others that flow: messages of one topic arrive
    in order. In lockstep no node publishes after the end: there it is a topic that stops before
    the others of its node. If this process was ``starved`` from a time on, it is one that
    flowed until then and stops before any other.
    """
    newest: dict[str, int] = {}
    for node, flow in flows:
        newest[node] = max(newest.get(node, 0), flow.newest)
    latest = min(asked, max(newest.values(), default=0))
    for node, flow in flows:
        if flow.newest > asked or (period := flow.period()) == math.inf:
            continue
        stopped = flow.newest + max(_STOPPED, _PERIODS * period)
        if asked - _HELD_BACK < flow.newest and (
                newest[node] > asked or newest[node] > stopped):
            return True
        if starved is not None and starved - _CLOSE < flow.newest and latest > stopped:
            return True
    return False


class Quiet:
    """
    How long nothing may arrive for everything to count as received: longer if busy or starved.

    What was dropped then is sent again within ``sent_again`` s.
    """

    def __init__(self, sent_again: float = SENT_AGAIN) -> None:
        self._sent_again = sent_again
        self._ticked = time.monotonic()
        self._late_at = self._starved_from = self._starved_until = -math.inf

    def tick(self) -> None:
        """Notice, each TICK_PERIOD, whether this process gets processor time."""
        now = time.monotonic()
        late = now - self._ticked - TICK_PERIOD
        if late > _LATE:
            self._late_at = now
        if late > _STARVED:
            if self._ticked - self._starved_until > LONGEST:
                self._starved_from = self._ticked
            self._starved_until = now
        self._ticked = now

    def starved(self) -> int | None:
        """Return since when this process got no time, ns since 1970; None if it had enough."""
        if self._ticked - self._starved_until >= LONGEST:
            return None
        return time.time_ns() - round((time.monotonic() - self._starved_from) * 1e9)

    def is_busy(self) -> bool:
        """Return whether the machine was too busy for a tick in time, not long ago."""
        return self._ticked - self._late_at < LONGEST

    def until(self) -> float:
        """Return the end of the quiet that begins now, on the monotonic clock."""
        self.tick()
        if self.starved() is not None:
            return self._ticked + max(self._sent_again, _BUSY_QUIET)
        return self._ticked + (_BUSY_QUIET if self.is_busy() else _QUIET)
