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

"""Outgoing queue to X-Plane: requests, commands, and the newest controls, in turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from xplane_bridge.sessions.base import CommandDone, Outgoing, Tickets
from xplane_bridge.sessions.lifetimes import CommandQueue, expired, LatestValues

# Number of requests on priority channels that may precede the others.
_PASSED_OVER = 4

# When it hurries, all that waits is sent within this time, in seconds.
_HURRY = 0.7

# Interval between two sets of controls that do not wait: shorter than any frame.
_SHORTEST_GAP = 0.002

_CONTROLS = 'command/controls'
_WHY = 'datagrams are sent pacing apart, and others were before it'


@dataclass(frozen=True, slots=True)
class Command:
    """Datagrams sent together; ``departed(now)`` is called when they are."""

    channel: str
    datagrams: tuple[bytes, ...]
    departed: Callable[[float], None] = lambda now: None


class Outbox:
    """
    Send waiting datagrams ``pacing`` seconds apart.

    Of datagrams sent back to back X-Plane 6.51 lost about half; 10 ms apart none
    (docs/wire/xplane_udp.md, section 3). Controls, commands and requests take turns; the datagrams
    of one command are sent together. Requests take turns by channel, those of the channels
    ``first`` before the others, which still get every fifth turn. Commands and controls wait at
    most ``lifetime`` seconds. ``controls_wait`` False sends controls immediately, besides the
    others: X-Plane 10 and later reads everything pending in each frame. ``make_controls(values,
    now)`` returns the datagrams of controls when it is their turn.
    """

    def __init__(
        self, pacing: float, lifetime: float, tickets: Tickets, first: Collection[str] = (),
    ) -> None:
        self.pacing = pacing
        self.controls_wait = True
        self.make_controls: Callable[[Mapping[str, float], float], list[Outgoing]] = (
            lambda values, now: [])
        self.commands = CommandQueue[Command](tickets, lifetime=lifetime, why=_WHY)
        self._tickets = tickets
        self._first = first
        # By channel, the next one first.
        self._requests: dict[str, deque[bytes | None]] = {}
        self._passed_over = 0
        self._controls = LatestValues[float](lifetime)
        self._ended: list[CommandDone] = []
        self._turn = 0
        self._free_at = 0.0
        self._controls_at = 0.0

    def __len__(self) -> int:
        return sum(map(len, self._requests.values())) + len(self.commands) + bool(self._controls)

    def push(self, channel: str, datagrams: Iterable[bytes | None]) -> None:
        """
        Queue requests; None closes the channel when its turn comes.

        One that waits already takes the newer one's content, and keeps its turn.
        """
        waiting = self._requests.get(channel, deque())
        new = list(datagrams)
        newest = {asked: data for data in new if data is not None and (asked := _asked(data))}
        closing = max((n for n, data in enumerate(waiting) if data is None), default=-1)
        for n in range(closing + 1, len(waiting)):
            waiting[n] = newest.pop(_asked(waiting[n] or b''), waiting[n])
        waiting.extend(
            data for data in new
            if data is None or not (asked := _asked(data)) or newest.get(asked) is data)
        if waiting:
            self._requests[channel] = waiting

    def drop(self, channel: str) -> None:
        """Forget the requests waiting for a channel."""
        self._requests.pop(channel, None)

    def holds(self, channel: str) -> bool:
        """Return whether requests are waiting for a channel."""
        return channel in self._requests

    def set_controls(self, values: Mapping[str, float], now: float) -> bool:
        """Queue controls, newer values replacing older ones; return whether some waited."""
        return self._controls.set(values, now)

    def drop_commands(self, reason: str) -> None:
        """End all waiting commands, including controls, unsent."""
        self.commands.drop(reason)
        if self._controls.take():
            self._end_controls(reason)

    def drop_controls(self, names: Collection[str] | None = None) -> None:
        """Forget waiting controls, or these of them: something newer replaces them."""
        self._controls.clear(names)

    def take(self, now: float, *, hurries: bool = False) -> list[Outgoing]:
        """Return what to send now; if it ``hurries``, all that waits within a second."""
        self.commands.expire(now)
        if self._controls.expire(now):
            self._end_controls(expired(self._controls.lifetime, _WHY))
        ready: list[Outgoing] = []
        if self._controls and not self.controls_wait and now >= self._controls_at:
            self._controls_at = now + _SHORTEST_GAP
            ready += self.make_controls(self._controls.take(), now)
        sources = (self._take_controls, self._take_command, self._take_request)
        while True:
            ready += self._take_closings()
            if now < self._free_at or not self._has_paced:
                return ready
            self._free_at = now + (
                min(self.pacing, _HURRY / len(self)) if hurries else self.pacing)
            taken: list[Outgoing] = []
            while not taken:
                taken = sources[self._turn](now)
                self._turn = (self._turn + 1) % len(sources)
            ready += taken

    def ended(self) -> list[CommandDone]:
        """Return the commands that ended since the last call."""
        ended, self._ended = self._ended, []
        return [*self.commands.ended(), *ended]

    def deadline(self) -> float | None:
        """Return when take() has something, None if nothing waits."""
        deadlines: list[float | None] = [self.commands.deadline, self._controls.deadline]
        if self._has_paced:
            deadlines.append(self._free_at)
        if self._controls and not self.controls_wait:
            deadlines.append(self._controls_at)
        return min((at for at in deadlines if at is not None), default=None)

    @property
    def _has_paced(self) -> bool:
        return bool(
            self._requests or len(self.commands) or (self._controls and self.controls_wait))

    def _take_controls(self, now: float) -> list[Outgoing]:
        if not self._controls or not self.controls_wait:
            return []
        return self.make_controls(self._controls.take(), now)

    def _take_command(self, now: float) -> list[Outgoing]:
        if not len(self.commands):
            return []
        command = self.commands.take()
        command.departed(now)
        return [(command.channel, data) for data in command.datagrams]

    def _take_closings(self) -> list[Outgoing]:
        """Return the channels to close now: nothing is sent, so no turn is needed."""
        closing: list[Outgoing] = []
        for channel, waiting in list(self._requests.items()):
            while waiting and waiting[0] is None:
                closing.append((channel, waiting.popleft()))
            if not waiting:
                del self._requests[channel]
        return closing

    def _take_request(self, now: float) -> list[Outgoing]:
        if not self._requests:
            return []
        others = [channel for channel in self._requests if channel not in self._first]
        goes_first = len(others) < len(self._requests) and not (
            others and self._passed_over >= _PASSED_OVER)
        if goes_first:
            channel = next(channel for channel in self._requests if channel in self._first)
            self._passed_over += 1
        else:
            channel = others[0]
            self._passed_over = 0
        waiting = self._requests.pop(channel)
        data = waiting.popleft()
        if waiting:
            # After all others.
            self._requests[channel] = waiting
        return [(channel, data)]

    def _end_controls(self, reason: str) -> None:
        self._ended.append(CommandDone(self._tickets.draw(), _CONTROLS, f'not sent: {reason}'))


def _asked(data: bytes) -> bytes:
    """Return what a request for datarefs or the pose asks for, at any rate; else nothing."""
    if data.startswith(b'RREF'):
        # After the frequency: its number and its name.
        return data[9:]
    return b'RPOS' if data.startswith(b'RPOS') else b''
