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

"""Whether the Huginn that answers is the same as before. Time is passed in, in seconds."""

from __future__ import annotations

from collections.abc import Sequence
import math

from xplane_bridge.protocols.fdmdata import Command, ErrorReply, Gps, Ins, Reply, SensorReply

# Within this time after the first reply that ends a silence, a Huginn that was only frozen has
# answered the requests sent meanwhile.
_RECOGNITION = 0.25

# What an aircraft may be off between two positions, in m, and the wind in m/s; receive times are
# late by at most the age of a poll, in seconds.
_STRAY, _WIND, _LATE = 100.0, 100.0, 0.5
_DEGREE = 111_195.0

PLACED = (Command.GPS, Command.INS)
"""The sensors whose replies have a position."""


class Identity:
    """
    Tell one run of Huginn from another, which FDMData does not support.

    A Huginn that was only frozen answers, when it resumes, the requests sent meanwhile; after a
    restart it never received them. So one poll's channel is kept through the silence as a witness.
    """

    def __init__(self) -> None:
        self.until: float | None = None
        self._witness: tuple[str, Sequence[Command]] | None = None

    def keep(self, request: tuple[str, Sequence[Command]] | None) -> None:
        """Keep an unanswered poll as the witness: its channel and sensors."""
        self._witness = request

    def begin(self, now: float) -> None:
        """Start finding out, now that it answers; without a witness there is nothing to find."""
        self.until = now if self._witness is None else now + _RECOGNITION

    def is_answered_by(self, channel: str, reply: Reply) -> bool:
        """Return whether this answers a request from before the silence: the same Huginn."""
        return (
            self._witness is not None and channel == self._witness[0]
            and not isinstance(reply, ErrorReply) and reply.command in self._witness[1])

    def settle(self) -> str | None:
        """End the doubt; return the kept channel, which is no longer needed."""
        self.until = None
        witness, self._witness = self._witness, None
        return None if witness is None else witness[0]


class Track:
    """
    Detect that the aircraft is suddenly elsewhere: Huginn was restarted, or reset by somebody.

    A restart may take less time than what counts as silence.
    """

    def __init__(self) -> None:
        self._last: tuple[float, Gps | Ins] | None = None

    def jumps_to(self, reply: SensorReply, now: float) -> bool:
        """Note a reply; return whether no aircraft could have flown to its position."""
        if not isinstance(reply, Gps | Ins) or not _is_place(reply):
            return False
        last, self._last = self._last, (now, reply)
        if last is None:
            return False
        then, before = last
        speed = 2.0 * max(abs(before.airspeed), abs(reply.airspeed)) + _WIND
        return _distance(before, reply) > _STRAY + speed * (now - then + _LATE)


def _is_place(reply: Gps | Ins) -> bool:
    values = reply.latitude, reply.longitude, reply.altitude, reply.airspeed
    return all(map(math.isfinite, values)) and abs(reply.latitude) <= 90.0


def _distance(one: Gps | Ins, other: Gps | Ins) -> float:
    """Return how far two positions are apart, in m; precise enough for nearby ones."""
    east = (other.longitude - one.longitude + 180.0) % 360.0 - 180.0
    return math.hypot(
        (other.latitude - one.latitude) * _DEGREE,
        east * _DEGREE * math.cos(math.radians(one.latitude)), other.altitude - one.altitude)
