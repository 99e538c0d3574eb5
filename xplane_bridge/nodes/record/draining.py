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
_QUIET = 0.3
# The middleware drops what a process that gets no processor time does not take, and sends it again
# with its next heartbeat: Fast DDS every 3 s.
_STARVED = 0.2
SENT_AGAIN = 3.5
# Longer than that only from a publisher whose clock is behind.
LONGEST = 15.0
# A topic flows if its newest two messages were published within that time, ns ...
_CLOSE = 300_000_000
# ... and the newest within that time before the question: what the middleware has dropped, and all
# that follows it, arrives up to 3 s later.
_HELD_BACK = 3_500_000_000
# A topic has stopped before its node's others if these went on for so long, ns, and for so many of
# its periods.
_STOPPED = 100_000_000
_PERIODS = 3


class Flow:
    """When the newest two messages of a topic were published, ns since 1970."""

    __slots__ = ('newest', 'previous')

    def __init__(self) -> None:
        self.newest = 0
        self.previous = 0

    def add(self, published: int) -> None:
        """Take note of a message's publication."""
        self.previous = self.newest
        self.newest = published


def is_behind(flows: Collection[tuple[str, Flow]], asked: int) -> bool:
    """
    Return whether something published before ``asked`` (ns since 1970) is still on its way.

    ``flows`` are pairs of a node's name and one of its topics. A node that has published on one of
    its topics since then will have done so on the others that flow: messages of one topic arrive
    in order. In lockstep no node publishes after the end: there it is a topic that stops before
    the others of its node.
    """
    newest: dict[str, int] = {}
    for node, flow in flows:
        newest[node] = max(newest.get(node, 0), flow.newest)
    return any(
        asked - _HELD_BACK < flow.newest <= asked and flow.newest - flow.previous < _CLOSE
        and (newest[node] > asked or newest[node] - flow.newest > max(
            _STOPPED, _PERIODS * (flow.newest - flow.previous)))
        for node, flow in flows)


class Quiet:
    """
    How long nothing may arrive for everything to count as received: longer if starved.

    What was dropped then is sent again within ``sent_again`` s.
    """

    def __init__(self, sent_again: float = SENT_AGAIN) -> None:
        self._sent_again = sent_again
        self._ticked = time.monotonic()
        self._starved_at = -math.inf

    def tick(self) -> None:
        """Notice, each TICK_PERIOD, whether this process gets processor time."""
        now = time.monotonic()
        if now - self._ticked > TICK_PERIOD + _STARVED:
            self._starved_at = now
        self._ticked = now

    def until(self) -> float:
        """Return the end of the quiet that begins now, on the monotonic clock."""
        self.tick()
        starved = self._ticked - self._starved_at < LONGEST
        return self._ticked + (max(self._sent_again, _QUIET) if starved else _QUIET)
