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

"""Listen to a recorded conversation with Huginn. Time is passed in; there is no socket."""

from __future__ import annotations

from typing import Any

from xplane_bridge.bridges.fdmdata.protocol import Command, ErrorReply, Reply, SensorReply
from xplane_bridge.bridges.fdmdata.session.events import Telemetry
from xplane_bridge.bridges.fdmdata.session.plan import RESTLESS, WATCH
from xplane_bridge.bridges.fdmdata.session.polls import TIMEOUT
from xplane_bridge.bridges.fdmdata.session.session import FdmdataSession
from xplane_bridge.bridges.sessions.base import Outgoing

# Replies to another client's requests belong together if they are less than a step of the flight
# model apart (docs/wire/fdmdata.md, section 1).
_TOGETHER = 0.0166

# Clients times entries; in a forged capture each datagram may go to another port.
_MOST_HEARD = 1024


class FdmdataListener(FdmdataSession):
    """
    Listen to another client's conversation with one Huginn, from a capture; send nothing.

    A channel is one client's port. An entry of the plan has telemetry whenever new replies of all
    its sensors have arrived at one port close together, whatever its rate.
    """

    def __init__(self) -> None:
        super().__init__()
        # By channel and entry: what arrived after the last telemetry, and when.
        self._heard: dict[tuple[str, str], dict[Command, tuple[float, SensorReply]]] = {}

    @property
    def absence(self) -> str:
        """Return why commands are not possible."""
        return 'a capture is being replayed: there is no Huginn to command'

    def missing(self, now: float) -> dict[str, float]:
        """Return nothing: nothing is requested."""
        return {}

    def _place(
        self, channel: str, reply: Reply, now: float, events: list[Any]
    ) -> list[Telemetry]:
        self._peer.waits_since = now
        if isinstance(reply, ErrorReply):
            return []
        self.statistics.replies += 1
        self._requests.note(reply.command, now)
        peer = self._peer
        peer.see(reply, now - TIMEOUT, now)
        if reply.command in RESTLESS:
            self._motion.on_reply(reply.command, peer.has_changed, now)
        self._follow(now)
        placed = []
        for name, wanted in self._requests.entries.items():
            if name == WATCH or reply.command not in wanted.commands:
                continue
            heard = self._heard.get((channel, name))
            if heard is None:
                if len(self._heard) >= _MOST_HEARD:
                    # Nearly all of it is too old to belong to what may still arrive.
                    self._heard.clear()
                heard = self._heard[channel, name] = {}
            heard[reply.command] = now, reply
            replies = {
                command: answer for command, (at, answer) in heard.items()
                if now - at < _TOGETHER
            }
            if len(replies) == len(wanted.commands):
                heard.clear()
                self.statistics.updates[name] += 1
                placed.append(Telemetry(0, replies, name))
        return placed

    def _ask(self, now: float) -> list[Outgoing]:
        return []

    def _deadlines(self, now: float) -> tuple[()]:
        return ()
