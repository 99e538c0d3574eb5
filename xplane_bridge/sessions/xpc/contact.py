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

"""Since when the plugin has not answered, and whether commands wait for it."""

from __future__ import annotations

from collections.abc import Collection

# Without any answer for this long, the peer counts as away. Already before, when it has as many
# requests as it can read in a frame, only a small one asks now and then.
_SILENCE = 1.0
_STALL = 0.25
_PROBE_PERIOD = 0.5

# What a peer that has fallen silent has to answer before commands go on: these tell whether it is
# the same.
_IDENTITY = frozenset({'position', 'state'})


class Contact:
    """
    Notice that the plugin has stopped answering.

    ::

        an answer ----> nothing for _STALL: commands wait ----> nothing for _SILENCE: away
            ^                                  |
            '---- it is the same X-Plane ------'

    ``identifies`` tells whether replies say who answers; otherwise commands never wait.
    """

    def __init__(self, *, identifies: bool) -> None:
        self._identifies = identifies
        self._waiting_since: float | None = None
        self._asked_at = 0.0
        self._probe_at = 0.0
        self._unseen: frozenset[str] = frozenset()

    def reset(self) -> None:
        """Begin anew."""
        self.settle()
        self._unseen = frozenset()

    def settle(self) -> None:
        """Wait for no answer any more."""
        self._waiting_since = None

    def ask(self, now: float) -> None:
        """Note that an answer is outstanding."""
        self._asked_at = now
        if self._waiting_since is None:
            self._wait_from(now)

    def hear(self, now: float, *, unanswered: bool) -> None:
        """Note an answer, and whether others are outstanding."""
        self._waiting_since = None
        if unanswered:
            self._wait_from(now)

    def _wait_from(self, now: float) -> None:
        self._waiting_since = now
        self._probe_at = now + _STALL

    @property
    def silent_at(self) -> float | None:
        """Return when the peer counts as away, None if no answer is outstanding."""
        return None if self._waiting_since is None else self._waiting_since + _SILENCE

    # Whether commands wait.

    def holds(self, now: float) -> bool:
        """Tell whether commands wait until it is known who answers."""
        if self._waiting_since is not None and now >= self._waiting_since + _STALL:
            self.doubt(_IDENTITY)
        return bool(self._unseen)

    def doubt(self, replies: Collection[str] = _IDENTITY) -> None:
        """Let commands wait for these replies."""
        if self._identifies:
            self._unseen |= frozenset(replies)

    def see(self, reply: str) -> None:
        """Note one of the replies that tell who answers."""
        self._unseen -= {reply}

    # Small requests that ask whether it is there.

    @property
    def idle_at(self) -> float:
        """Return when to ask whether it is there, should nothing else be asked before."""
        return self._asked_at + _PROBE_PERIOD

    @property
    def probe_at(self) -> float:
        """Return when to ask a silent peer again."""
        return self._probe_at

    def probe(self, now: float) -> bool:
        """Tell whether to ask a silent peer now, and count it as asked."""
        if now < self._probe_at:
            return False
        self._probe_at = now + _PROBE_PERIOD
        return True

    def probe_soon(self, now: float) -> None:
        """Ask a peer at once that has fallen silent."""
        self._probe_at = now
