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

"""Echoes: one outstanding at a time, since plugins 1.2 to 1.4 answer only the last of a burst."""

from __future__ import annotations

from collections import deque
import struct
from typing import NamedTuple

from xplane_bridge.bridges.sessions.base import Tickets
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import Profile
from xplane_bridge.bridges.simpit.session.dialect import LONG_ANSWER, SHORT_ANSWER
from xplane_bridge.bridges.simpit.session.events import EchoDone, Statistics

_TIMEOUT = 1.0
_LARGEST_QUEUE = 64


class _Echo(NamedTuple):
    ticket: int
    payload: bytes
    data: bytes


class Reads:
    """
    Send echo requests one after another and time their answers.

    Besides the user's there is a heartbeat every ``period`` seconds, with ticket 0 and no event.
    """

    def __init__(self, period: float, statistics: Statistics, tickets: Tickets) -> None:
        self.round_trip: float | None = None
        # How many of 32 bytes came back: 28 from plugins before 2.0.
        self.answer_size: int | None = None
        # How many in a row came back (positive) or were lost (negative).
        self.streak = 0
        self._period = period
        self._statistics = statistics
        self._queue: deque[_Echo] = deque()
        self._outstanding: _Echo | None = None
        self._sent_at = 0.0
        self._beat_at = 0.0
        self._tickets = tickets
        self._beats = 0

    @property
    def deadline(self) -> float:
        """Return when to call give_up() or start() next."""
        return self._beat_at if self._outstanding is None else self._sent_at + _TIMEOUT

    def add(self, payload: bytes, data: bytes, now: float) -> int:
        """
        Queue an echo for the user with payload ``data``; return its ticket.

        Raises ValueError if too many are queued.
        """
        if len(self._queue) >= _LARGEST_QUEUE:
            raise ValueError(f'{_LARGEST_QUEUE} echoes are queued already; send fewer')
        ticket = self._tickets.draw()
        self._queue.append(_Echo(ticket, payload, data))
        if self._outstanding is None:
            self._beat_at = now
        return ticket

    def start(self, profile: Profile, now: float) -> list[bytes]:
        """Return the request to send now, if any."""
        if self._outstanding is not None or now < self._beat_at:
            return []
        echo = self._queue.popleft() if self._queue else self._beat(profile)
        self._outstanding = echo
        self._sent_at = now
        self._statistics.echoes += 1
        return [echo.data]

    def _beat(self, profile: Profile) -> _Echo:
        self._beats += 1
        payload = struct.pack('<I', self._beats & 0xffffffff)
        # How much of a long one comes back tells plugins 2.0 and 2.1 from older ones.
        if profile.framing == 'aa50' and self.answer_size is None:
            payload *= LONG_ANSWER // len(payload)
        return _Echo(
            0, payload, simpit.encode(simpit.EchoRequest(payload), 'bridge', profile))

    def give_up(self, now: float) -> list[EchoDone]:
        """Treat an overdue answer as lost; return the end of the user's echo, if any."""
        echo = self._outstanding
        if echo is None or now < self._sent_at + _TIMEOUT:
            return []
        self._finish(now)
        self._statistics.echoes_lost += 1
        self.streak = min(self.streak, 0) - 1
        return self._ends(echo, None, (
            f'no echo within {_TIMEOUT:g} s; plugins before 2.3 answer in the flight scene only'))

    def receive(self, payload: bytes, now: float) -> list[EchoDone] | None:
        """Accept an answer; return the end of the user's echo, if any; None if unsolicited."""
        echo = self._outstanding
        if (
            echo is None
            or not echo.payload.startswith(payload)
            or len(payload) < min(len(echo.payload), SHORT_ANSWER)
        ):
            return None
        self.round_trip = now - self._sent_at
        self.streak = max(self.streak, 0) + 1
        if len(echo.payload) == LONG_ANSWER:
            self.answer_size = len(payload)
        self._finish(now)
        return self._ends(echo, payload)

    def end(self, reason: str) -> list[EchoDone]:
        """End all echoes with ``reason``."""
        echoes = [*([self._outstanding] if self._outstanding else []), *self._queue]
        self._outstanding = None
        self._queue.clear()
        return [done for echo in echoes for done in self._ends(echo, None, reason)]

    def forget(self, now: float) -> None:
        """Start over with a plugin that may be another one."""
        self.round_trip = self.answer_size = self._outstanding = None
        self.streak = 0
        self._beat_at = now

    def _ends(self, echo: _Echo, payload: bytes | None, error: str = '') -> list[EchoDone]:
        """Return the end of an echo; the heartbeat's concerns nobody."""
        if not echo.ticket:
            return []
        if payload is None:
            return [EchoDone(echo.ticket, b'', None, error)]
        return [EchoDone(echo.ticket, payload, self.round_trip)]

    def _finish(self, now: float) -> None:
        self._outstanding = None
        self._beat_at = now if self._queue else max(now, self._sent_at + self._period)
