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

"""Whether X-Plane is there: what was heard of it, and when a silent one is asked again."""

from __future__ import annotations

from collections.abc import Callable

from xplane_bridge.sessions.base import Address, PeerState

_PROBE_PERIOD = 1.0


class Presence:
    """
    The state of the peer, by what was heard of it.

    ``tell(state)`` is called when it has become another. ``has_peer``: since it was last silent,
    X-Plane has sent what it was asked for. ``had_peer``: it answers requests, as it has done
    before.
    """

    def __init__(self, tell: Callable[[PeerState], None]) -> None:
        self.state = PeerState.UNKNOWN
        self.has_peer = self.had_peer = False
        self.probe_at = 0.0
        self._heard_at = 0.0
        self._tell = tell

    @property
    def silent(self) -> bool:
        """Tell whether it was or would have been heard, and is not."""
        return self.state in (PeerState.LOADING, PeerState.AWAY)

    @property
    def answering(self) -> bool:
        """Tell whether it is heard."""
        return self.state is PeerState.ANSWERING

    def start(self, state: PeerState, now: float) -> None:
        """Begin to listen, in this state."""
        self.has_peer = self.had_peer = False
        self._heard_at = now
        self.probe_at = now + _PROBE_PERIOD
        self.become(state)

    def hear(self, now: float) -> None:
        """Note that something came, or that nothing is expected before ``now``."""
        self._heard_at = max(now, self._heard_at)

    def hear_reply(self) -> None:
        """Note that what came answers a request."""
        self.has_peer = self.had_peer = True

    def overdue_at(self, patience: float) -> float:
        """Return when it counts as silent if nothing comes."""
        return self._heard_at + patience

    def fall_silent(self, quiet: PeerState, now: float) -> None:
        """Take it as silent, and ask it at once."""
        self.has_peer = False
        self.probe_at = now
        self.become(quiet)

    def must_probe(self, now: float) -> bool:
        """Tell whether a silent one is to be asked now, and count it as asked."""
        if now < self.probe_at:
            return False
        self.probe_at = now + _PROBE_PERIOD
        return True

    def become(self, state: PeerState) -> None:
        """Change the state."""
        if state is not self.state:
            self.state = state
            self._tell(state)

    def absence(self, peer: Address | None, version: int | None) -> str:
        """Return why a command would not be taken, '' if it would."""
        if peer is None:
            return 'no X-Plane was discovered yet'
        address = f'{peer[0]}:{peer[1]}'
        if self.state is PeerState.AWAY:
            return f'nothing answers at {address}'
        if self.state is PeerState.LOADING:
            return f'X-Plane at {address} is loading, or its data output is not set'
        if version is None:
            return (f'the version of X-Plane at {address} is not known yet; give the parameter '
                    'version if it does not find out')
        if not self.answering:
            return f'waiting for the first reply from X-Plane at {address}'
        return ''
