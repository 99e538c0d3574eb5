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

"""How long the plugin has not answered, and whether commands wait for it."""

from __future__ import annotations

from collections.abc import Collection

from xplane_bridge.sessions.round_trip import RoundTrip

# Without any reply for this long, the peer counts as away. Even before, when it has as many
# requests as it can read in a frame, it is only probed now and then with a small one. Both are
# longer over a slow network.
_SILENCE = 1.0
_STALL = 0.25
_SILENCE_TIMEOUTS = 2.0
_PROBE_PERIOD = 0.5
# A plugin that loads keeps what it is sent, reads 20 of them in its first frame and drops the
# rest, which must not be what is given back: it is probed ever more seldom.
_FIRST_PROBE_PERIOD = 1.0
_PROBE_PERIOD_GROWTH = 3.0
_LONGEST_PROBE_PERIOD = 30.0

# Replies required from a peer that has fallen silent before commands continue: they tell whether
# it is the same.
_IDENTITY = frozenset({'position', 'state'})


class Contact:
    """
    Notice that the plugin has stopped answering.

    ::

        a reply ------> nothing for _STALL: commands wait ----> nothing for _SILENCE: away
            ^                                  |
            '---- it is the same X-Plane ------'

    ``identifies`` says whether replies identify the peer; otherwise commands never wait.
    """

    def __init__(self, round_trip: RoundTrip, *, identifies: bool) -> None:
        self._round_trip = round_trip
        self._identifies = identifies
        self._waiting_since: float | None = None
        self._asked_at = 0.0
        self._probe_at = 0.0
        self._probe_period = _FIRST_PROBE_PERIOD
        self._is_silent = False
        # How many datagrams the silent peer may not have read.
        self.unread = 0
        self._unseen: frozenset[str] = frozenset()

    def reset(self) -> None:
        """Start over."""
        self.settle()
        self._unseen = frozenset()
        self._is_silent = False
        self.unread = 0

    def settle(self) -> None:
        """Stop waiting for replies."""
        self._waiting_since = None

    def ask(self, now: float) -> None:
        """Record that a reply is outstanding."""
        self._asked_at = now
        if self._waiting_since is None:
            self._wait_from(now)

    def hear(self, now: float, *, unanswered: bool) -> None:
        """Record a reply, and whether others are outstanding."""
        self._waiting_since = None
        self._is_silent = False
        self.unread = 0
        if unanswered:
            self._wait_from(now)

    def _wait_from(self, now: float) -> None:
        self._waiting_since = now
        self._probe_at = now + self._stall

    @property
    def _stall(self) -> float:
        return max(_STALL, self._round_trip.usual_timeout)

    @property
    def _silence(self) -> float:
        return max(_SILENCE, _SILENCE_TIMEOUTS * self._round_trip.usual_timeout)

    @property
    def silent_at(self) -> float | None:
        """Return when the peer counts as away, None if no reply is outstanding."""
        return None if self._waiting_since is None else self._waiting_since + self._silence

    # Whether commands wait.

    def holds(self, now: float) -> bool:
        """Return whether commands wait until it is known who answers."""
        if self._waiting_since is not None and now >= self._waiting_since + self._stall:
            self.doubt(_IDENTITY)
        return bool(self._unseen)

    def doubt(self, replies: Collection[str] = _IDENTITY) -> None:
        """Let commands wait for these replies."""
        if self._identifies:
            self._unseen |= frozenset(replies)

    def see(self, reply: str) -> None:
        """Record one of the replies that identify the peer."""
        self._unseen -= {reply}

    # Small requests that probe the peer.

    @property
    def idle_at(self) -> float:
        """Return when to probe the peer if nothing else is requested before."""
        return self._asked_at + _PROBE_PERIOD

    @property
    def probe_at(self) -> float:
        """Return when to probe a silent peer again."""
        return self._probe_at

    def probe(self, now: float, *, may_load: bool = False) -> bool:
        """
        Return whether to probe a silent peer now, and count it as probed.

        One that ``may_load`` has requests to answer when it goes on, and needs few probes.
        """
        if now < self._probe_at:
            return False
        if not self._is_silent:
            # After a stall of 0.25 s, 0.5 s and 1 s.
            since = now if self._waiting_since is None else self._waiting_since
            self._probe_at = now + max(_STALL, min(_PROBE_PERIOD, now - since))
            return True
        if not may_load:
            self._probe_at = now + _PROBE_PERIOD
            return True
        self._probe_at = now + self._probe_period
        self._probe_period = min(
            _PROBE_PERIOD_GROWTH * self._probe_period, _LONGEST_PROBE_PERIOD)
        self.unread += 1
        return True

    def probe_now(self, now: float) -> None:
        """Probe a peer that answers at once: only a reply shows what it has read."""
        if not self._is_silent:
            self._probe_at = min(self._probe_at, now)

    def fall_silent(self, now: float, unread: int) -> None:
        """Record that the peer has stopped answering, with so many datagrams unread."""
        self._is_silent = True
        self.unread = unread
        self._probe_period = _FIRST_PROBE_PERIOD
        self._probe_at = now

    def probe_again(self, now: float) -> None:
        """Probe a silent peer that shows a sign of life: it has read nothing yet."""
        self.fall_silent(now, 0)
