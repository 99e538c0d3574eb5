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

"""Whether X-Plane is there: what was received from it, and when to probe a silent one."""

from __future__ import annotations

from collections.abc import Callable

from xplane_bridge.sessions.base import Address, PeerState

# Seconds between two probes, by how long X-Plane has been silent. What waits unread in a loading
# X-Plane's socket stays so little that what is given back is among what it reads: of the some 150
# datagrams that fit in, probes take a third within ten minutes.
_PROBE_PERIODS = ((20.0, 1.0), (120.0, 5.0), (600.0, 30.0))
_LONGEST_PROBE_PERIOD = 60.0


class Presence:
    """
    The state of the peer, from what was received.

    ``tell(state)`` is called when it changes. ``has_peer``: since it was last silent, X-Plane has
    sent something that was requested. ``had_peer``: it has answered requests before.
    """

    def __init__(self, tell: Callable[[PeerState], None]) -> None:
        self.state = PeerState.UNKNOWN
        self.has_peer = self.had_peer = False
        self.probe_at = 0.0
        self._heard_at = 0.0
        self._silent_since = 0.0
        self._tell = tell

    @property
    def silent(self) -> bool:
        """Return whether it is silent although it was or should have been heard."""
        return self.state in (PeerState.LOADING, PeerState.AWAY)

    @property
    def answering(self) -> bool:
        """Return whether it is heard."""
        return self.state is PeerState.ANSWERING

    def start(self, state: PeerState, now: float) -> None:
        """Start listening, in this state."""
        self.has_peer = self.had_peer = False
        self._heard_at = now
        self.probe_at = now + _PROBE_PERIODS[0][1]
        self.become(state)

    def leave(self) -> None:
        """Give back what was taken, and end what was requested."""
        self.become(PeerState.LEAVING)

    def hear(self, now: float) -> None:
        """Record that something arrived, or that nothing is expected before ``now``."""
        self._heard_at = max(now, self._heard_at)

    def hear_reply(self) -> None:
        """Record that what arrived answers a request."""
        self.has_peer = self.had_peer = True

    def overdue_at(self, patience: float) -> float:
        """Return when it counts as silent if nothing arrives."""
        return self._heard_at + patience

    def fall_silent(self, quiet: PeerState, now: float) -> None:
        """Treat it as silent, and probe it at once."""
        self.has_peer = False
        self.probe_soon(now)
        self.become(quiet)

    def probe_soon(self, now: float) -> None:
        """Probe it at once, and often again."""
        self.probe_at = self._silent_since = now

    def must_probe(self, now: float) -> bool:
        """Return whether to probe a silent one now, and count it as probed."""
        if now < self.probe_at:
            return False
        silence = now - self._silent_since
        self.probe_at = now + next(
            (period for until, period in _PROBE_PERIODS if silence < until),
            _LONGEST_PROBE_PERIOD)
        return True

    def become(self, state: PeerState) -> None:
        """Change the state."""
        if state is not self.state:
            self.state = state
            self._tell(state)

    def absence(self, peer: Address | None, version: int | None) -> str:
        """Return why a command would not be accepted, '' if it would."""
        if peer is None:
            return 'no X-Plane was discovered yet'
        address = f'{peer[0]}:{peer[1]}'
        if self.state is PeerState.AWAY:
            return f'nothing answers at {address}'
        if self.state is PeerState.LOADING:
            return f'X-Plane at {address} is loading, or its data output is not set'
        if version is None:
            return (f'the version of X-Plane at {address} is not known yet; set the parameter '
                    'version if it is not detected')
        if not self.answering:
            return f'waiting for the first reply from X-Plane at {address}'
        return ''
