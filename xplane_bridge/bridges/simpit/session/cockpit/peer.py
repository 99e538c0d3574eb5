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

"""A cockpit, as it is shown to the owner of its session."""

from __future__ import annotations

from dataclasses import dataclass

from xplane_bridge.bridges.sessions.base import PeerState


@dataclass(slots=True)
class CockpitPeer:
    """
    The facts of which each tells something else about a cockpit; ``shown`` follows from them.

    ``is_started``: its session is. ``is_open``: its port is. ``heard``: it has said anything.
    ``has_game``: there is a game for it. ``wants``: it has registered a channel.
    """

    is_started: bool = False
    is_open: bool = False
    heard: bool = False
    has_game: bool = False
    wants: bool = False

    @property
    def shown(self) -> str:
        """Return what the owner sees: the value of a PeerState."""
        if not self.is_started:
            state = PeerState.UNKNOWN
        elif not self.is_open:
            state = PeerState.CLOSED
        elif not self.heard:
            state = PeerState.AWAY
        elif not self.has_game:
            state = PeerState.HELD
        else:
            state = PeerState.STREAMING if self.wants else PeerState.ANSWERING
        return state.value
