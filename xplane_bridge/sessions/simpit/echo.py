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

"""Echoes: one outstanding at a time, as plugins 1.2 to 1.4 answer a burst with its last."""

from __future__ import annotations

from collections import deque
import struct
from typing import NamedTuple

from xplane_bridge.sessions.base import Tickets
from xplane_bridge.sessions.simpit.events import EchoDone, Statistics

_TIMEOUT = 1.0
_LARGEST_QUEUE = 64
# Plugins before 2.0 cut an answer to this (docs/wire/simpit.md, section 2.2).
SHORT_ANSWER = 28
LONG_ANSWER = 32


class _Echo(NamedTuple):
    ticket: int
    payload: bytes


class Echoes:
    """
    Send echo requests one after another and time their answers.

    Beside the user's there is a heartbeat every ``period`` seconds, of ticket 0, without an event.
    """

    def __init__(self, period: float, statistics: Statistics, tickets: Tickets) -> None:
        self.round_trip: float | None = None
        # How much of 32 bytes came back: 28 from plugins before 2.0.
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

    def reset(self, now: float) -> None:
        """Begin anew with a plugin that may be another one."""
        self.round_trip = self.answer_size = self._outstanding = None
        self.streak = 0
        self._beat_at = now

    def add(self, payload: bytes, now: float) -> int:
        """Queue an echo of the user's; return its ticket. ValueError if too many wait."""
        if len(self._queue) >= _LARGEST_QUEUE:
            raise ValueError(f'{_LARGEST_QUEUE} echoes wait already; ask less often')
        ticket = self._tickets.draw()
        self._queue.append(_Echo(ticket, payload))
        if self._outstanding is None:
            self._beat_at = now
        return ticket

    def start(self, now: float, *, long: bool) -> bytes | None:
        """Return the payload to send now, if any; ``long`` makes the heartbeat 32 bytes."""
        if self._outstanding is not None or now < self._beat_at:
            return None
        if self._queue:
            echo = self._queue.popleft()
        else:
            self._beats += 1
            payload = struct.pack('<I', self._beats & 0xffffffff)
            echo = _Echo(0, payload * (LONG_ANSWER // 4) if long else payload)
        self._outstanding = echo
        self._sent_at = now
        self._statistics.echoes += 1
        return echo.payload

    def give_up(self, now: float) -> EchoDone | None:
        """Take an answer that is overdue as lost; return the end of the user's echo."""
        echo = self._outstanding
        if echo is None or now < self._sent_at + _TIMEOUT:
            return None
        self._finish(now)
        self._statistics.echoes_lost += 1
        self.streak = min(self.streak, 0) - 1
        if not echo.ticket:
            return None
        return EchoDone(echo.ticket, b'', None, (
            f'no echo within {_TIMEOUT:g} s; plugins before 2.3 answer in the flight scene only'))

    def receive(self, payload: bytes, now: float) -> tuple[bool, EchoDone | None]:
        """Take an answer; tell whether it is the outstanding one's, and the user's echo's end."""
        echo = self._outstanding
        if (
            echo is None
            or not echo.payload.startswith(payload)
            or len(payload) < min(len(echo.payload), SHORT_ANSWER)
        ):
            return False, None
        self.round_trip = now - self._sent_at
        self.streak = max(self.streak, 0) + 1
        if len(echo.payload) == LONG_ANSWER:
            self.answer_size = len(payload)
        self._finish(now)
        if not echo.ticket:
            return True, None
        return True, EchoDone(echo.ticket, payload, self.round_trip)

    def abandon(self, reason: str) -> list[EchoDone]:
        """End all echoes with ``reason``."""
        echoes = [*([self._outstanding] if self._outstanding else []), *self._queue]
        self._outstanding = None
        self._queue.clear()
        return [EchoDone(echo.ticket, b'', None, reason) for echo in echoes if echo.ticket]

    def _finish(self, now: float) -> None:
        self._outstanding = None
        self._beat_at = now if self._queue else max(now, self._sent_at + self._period)
