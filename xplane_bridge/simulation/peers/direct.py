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


"""
The simulated aircraft, or a fleet, flown from this process, without a wire.

A frontend as those of the protocols are: commands wait until a frame takes them, and in lockstep a
frame waits for a command that follows its state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
import threading
from typing import TypeAlias

from xplane_bridge.simulation.peers.base import Frontend
from xplane_bridge.simulation.peers.endpoints import Address, Endpoint, Outgoing
from xplane_bridge.simulation.peers.world import World

Command: TypeAlias = Callable[[World], None]

# As many as fit into a receive buffer; older ones are lost.
_MOST_WAITING = 277


class Inbox(Endpoint):
    """Where commands of this process wait; ``counters.sent`` counts the states told to it."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[Command] = deque(maxlen=_MOST_WAITING)
        self._arrived = threading.Event()

    @property
    def address(self) -> Address:
        """Return that there is none."""
        return ('', 0)

    def put(self, command: Command) -> None:
        """Let the next frame take a command. From any thread."""
        self._waiting.append(command)
        self._arrived.set()

    def take(self) -> Command | None:
        """Return the next command, or None if none waits or it must not be read yet."""
        if not self._waiting or (self.may_read is not None and not self.may_read()):
            return None
        self.counters.received += 1
        return self._waiting.popleft()

    def pause(self, seconds: float) -> None:
        """Wait for some seconds, or until a command comes."""
        self._arrived.wait(seconds)
        self._arrived.clear()

    def _listen(self) -> None:
        pass

    def _stop_listening(self) -> None:
        self._waiting.clear()

    def _arrivals(self, now: float) -> Iterable[tuple[float, bytes, Address]]:
        return ()

    def _transmit(self, outgoing: Outgoing) -> None:
        pass


class DirectFrontend(Frontend):
    """
    Serves the aircraft to this process.

    ``send`` commands it; ``told`` says that its state, or that of one of a fleet, was made known,
    which lockstep waits for.
    """

    name = 'direct'

    def __init__(self) -> None:
        self._inbox = Inbox()
        super().__init__(self._inbox)

    def send(self, command: Command) -> None:
        """Let the next frame take a command. From any thread."""
        self._inbox.put(command)

    def count_sent(self) -> None:
        """Count a state that was made known."""
        self._inbox.counters.sent += 1

    def drop(self) -> None:
        """Forget the commands that wait."""
        self._inbox.close()

    def frame(self, _: float) -> None:
        """Take the commands that have arrived."""
        while (command := self._inbox.take()) is not None:
            command(self._world)

    def _begin(self, world: World, _: float) -> None:
        self._world = world
