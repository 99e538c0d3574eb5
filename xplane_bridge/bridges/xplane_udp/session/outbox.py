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

"""Commands and the newest controls that wait to be sent to X-Plane, in turns with requests."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import Literal, TypeAlias

from xplane_bridge.bridges.sessions.base import CommandDone, soonest, Tickets
from xplane_bridge.bridges.sessions.lifetimes import CommandQueue, expired, LatestValues
from xplane_bridge.bridges.xplane_udp.session.commands import CommandDatagrams

# When it hurries, all that waits is sent within this time, in seconds.
_HURRY = 0.7

# Interval between two sets of controls that do not wait: shorter than any frame. A simulator in
# lockstep draws its frames faster; so a frame that was seen ends it.
_SHORTEST_GAP = 0.002

_CONTROLS = 'command/controls'
_WHY = 'datagrams are sent pacing apart, and others were before it'


class Turn(Enum):
    """Whose turn it may be, besides that of commands and controls."""

    REQUEST = 'request'


Drawn: TypeAlias = CommandDatagrams | dict[str, float] | Literal[Turn.REQUEST]
"""What is sent next: a command, controls by name, or a request."""


class Outbox:
    """
    Commands and controls that wait, and the turns in which they and requests are sent.

    Datagrams leave ``pacing`` seconds apart: of those sent back to back X-Plane 6.51 lost about
    half; 10 ms apart none (docs/wire/xplane_udp.md, section 3). Controls, commands and requests
    take turns; the datagrams of one command are sent together. Commands and controls wait at most
    ``lifetime`` seconds. ``controls_wait`` False sends controls immediately, besides the others,
    once per frame: X-Plane 10 and later reads everything pending in each.
    """

    def __init__(self, pacing: float, lifetime: float, tickets: Tickets) -> None:
        self.controls_wait = True
        self._pacing = pacing
        self._commands = CommandQueue[CommandDatagrams](tickets, lifetime=lifetime, why=_WHY)
        self._tickets = tickets
        self._controls = LatestValues[float](lifetime)
        self._ended: list[CommandDone] = []
        self._turn = 0
        self._free_at = 0.0
        self._controls_at = 0.0

    def __len__(self) -> int:
        return len(self._commands.waiting) + bool(self._controls.waiting)

    # What waits.

    def put(
        self, commands: Sequence[CommandDatagrams], what: str, now: float, awaited: bool
    ) -> int:
        """Queue commands, all or none; return the ticket of the last."""
        self._commands.check_room(what, len(commands))
        ticket = 0
        for place, command in enumerate(commands, 1):
            ticket = self._commands.put(
                command, what, now, awaited=awaited and place == len(commands))
        return ticket

    def set_controls(self, values: Mapping[str, float], now: float) -> bool:
        """Queue controls, newer values replacing older ones; return whether some waited."""
        return self._controls.set(values, now)

    def drop(self, reason: str) -> None:
        """End all that waits unsent."""
        self._commands.drop(reason)
        if self._controls.take():
            self._end_controls(reason)

    def drop_controls(self, names: Collection[str] | None = None) -> None:
        """Forget waiting controls, or these of them: something newer replaces them."""
        self._controls.clear(names)

    def expire(self, now: float) -> None:
        """End what has waited too long."""
        if self._commands.waiting:
            self._commands.expire(now)
        if self._controls.waiting and self._controls.expire(now):
            self._end_controls(expired(self._controls.lifetime, _WHY))

    def ended(self) -> list[CommandDone]:
        """Return the commands that ended since the last call."""
        ended, self._ended = self._ended, []
        return [*self._commands.ended(), *ended]

    # What is sent.

    def take_urgent(self, now: float) -> dict[str, float]:
        """Remove and return controls that need no turn."""
        if self.controls_wait or not self._controls.waiting or now < self._controls_at:
            return {}
        self._controls_at = now + _SHORTEST_GAP
        return self._controls.take()

    def see_frame(self) -> None:
        """Record that X-Plane has drawn a frame: the next controls are for the one after it."""
        self._controls_at = 0.0

    def take(self, now: float, requests: int, *, hurries: bool) -> Drawn | None:
        """
        Remove and return what is sent next, None if nothing may be sent now.

        ``requests`` is how many requests wait. If it ``hurries``, all leave within a second.
        """
        if now < self._free_at or not self._waits(requests):
            return None
        waiting = requests + len(self)
        self._free_at = now + (min(self._pacing, _HURRY / waiting) if hurries else self._pacing)
        while True:
            turn, self._turn = self._turn, (self._turn + 1) % 3
            if turn == 0 and self._controls.waiting and self.controls_wait:
                return self._controls.take()
            if turn == 1 and self._commands.waiting:
                return self._commands.take()
            if turn == 2 and requests:
                return Turn.REQUEST

    def deadline(self, requests: int) -> float | None:
        """Return when something is sent or expires, None if nothing waits."""
        if not (requests or self._commands.waiting or self._controls.waiting):
            return None
        urgent = self._controls.waiting and not self.controls_wait
        return soonest(
            self._commands.deadline, self._controls.deadline,
            self._free_at if self._waits(requests) else None,
            self._controls_at if urgent else None)

    def _waits(self, requests: int) -> bool:
        """Return whether anything waits for its turn."""
        return bool(requests or self._commands.waiting or (
            self._controls.waiting and self.controls_wait))

    def _end_controls(self, reason: str) -> None:
        self._ended.append(CommandDone(self._tickets.draw(), _CONTROLS, f'not sent: {reason}'))
