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
from enum import Enum
import math
from typing import NamedTuple

from xplane_bridge.bridges.fdmdata.protocol import (
    Command,
    ErrorReply,
    GpsReply,
    InsReply,
    Reply,
    SensorReply,
)
from xplane_bridge.bridges.fdmdata.session.motion import STEP

# Within this time after the first reply that ends a silence, a Huginn that was only frozen has
# answered the requests sent meanwhile.
_RECOGNITION = 0.25

# How far an aircraft may be from where it could have flown, in m: this much, and per second of
# unknown wind and per second squared of manoeuvres. One that is only a little off is elsewhere
# only if there is more to show it.
_STRAY, _WIND, _TURNS = 115.0, 50.0, 50.0
_LITTLE, _GUST, _SWERVE = 10.0, 10.0, 10.0
# For this long it does not move, although it did just before: no pause between two steps of a
# slow simulation.
_STILL, _JUST_BEFORE = STEP, 0.3
# A silence after which it is still known where the aircraft must be if it flew on as before, in s;
# how near to that in m, and per second; and the way that shows that it flies, in m.
_LONGEST_GAP = 10.0
_EXPECTED, _PER_SECOND, _FLIGHT = 15.0, 10.0, 5.0
# Over which time a velocity is measured.
_BASELINE = 0.4
# In each direction, that is within _LITTLE.
_STEP = 5.0
# The time between two replies is known no better than this.
_SHORTEST = 0.01
# How near to its initial conditions an aircraft is still there, in m.
_NEAR = 20.0
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


class Elsewhere(Enum):
    """Whether the aircraft is where it could have flown."""

    NO = 'it is where it could have flown'
    PERHAPS = 'one reply says that it is not; the next one will show it'
    YES = 'it is not, as a second reply shows'


class _Fix(NamedTuple):
    """A reply with a position, when it came, and when it was asked for."""

    asked_at: float
    at: float
    reply: GpsReply | InsReply


class Track:
    """
    Detect that the aircraft is suddenly elsewhere: Huginn was restarted, exchanged, or reset.

    That may take less time than what counts as silence. A single reply may be a late one, so a
    second one has to show it. One that is only a little off is elsewhere if it no longer moves, as
    a Huginn that was just started does not; or if a reset is ``expected``.

    ``goes_on`` is whether an aircraft that was in flight before a silence, which on_silence()
    begins, has flown on as before: again two replies show it.
    """

    def __init__(self) -> None:
        self.goes_on = False
        self._before: tuple[_Fix, tuple[float, float]] | None = None
        self._again: _Fix | None = None
        self._measured: _Fix | None = None
        # Where it was after it was suddenly elsewhere: at its initial conditions.
        self._initial: _Fix | None = None
        self._last: _Fix | None = None
        self._velocity = (0.0, 0.0)
        self._moved_at = -math.inf
        # A place that is far off, and one that is a little off.
        self._odd: _Fix | None = None
        self._near: _Fix | None = None

    def follow(
        self, reply: SensorReply, asked_at: float, now: float, *, expected: bool = False
    ) -> Elsewhere:
        """Note a reply; return whether the aircraft is elsewhere."""
        if not isinstance(reply, GpsReply | InsReply) or not _is_place(reply):
            return Elsewhere.NO
        fix, last = _Fix(asked_at, now, reply), self._last
        if last is None:
            self._last = fix
            return Elsewhere.NO
        if self._before is not None:
            self.goes_on = self._flies_on(fix, *self._before)
        took = now - last.asked_at + _SHORTEST
        north, east, up = _moved(last, fix)
        # Mostly it has flown less than it may stray, and nothing is in doubt.
        if self._odd is self._near is None and (
                -_STEP < north < _STEP and -_STEP < east < _STEP and -_STEP < up < _STEP):
            return self._go_on(fix, north, east)
        off = self._off(last, fix)
        if self._odd is not None:
            if self._off(self._odd, fix) < off:
                return self._begin_at(self._odd)
            self._odd = None
        little = off > _LITTLE + (_GUST + _SWERVE * took) * took
        if off > _STRAY + (_WIND + _TURNS * took) * took or expected and little:
            self._odd = fix
            return Elsewhere.PERHAPS
        near = self._stays_near(fix, took, little)
        if near is not None:
            return self._begin_at(near)
        return self._go_on(fix, north, east)

    def _go_on(self, fix: _Fix, north: float, east: float) -> Elsewhere:
        """Note where it has flown."""
        if north or east:
            self._moved_at = fix.at
        begun = self._measured
        if begun is None or fix.at >= begun.at + _BASELINE:
            if begun is not None:
                north, east, _ = _moved(begun, fix)
                self._velocity = north / (fix.at - begun.at), east / (fix.at - begun.at)
            self._measured = fix
        self._last = fix
        return Elsewhere.NO

    def on_silence(self) -> None:
        """Remember how it flies: nothing was heard for long."""
        self._before = None if self._last is None else (self._last, self._velocity)
        self._again, self.goes_on = None, False

    def decide(self) -> None:
        """Forget how it flew before a silence: it is known whether it is the same."""
        self._before, self.goes_on = None, False
        self._odd = self._near = None

    def _flies_on(self, fix: _Fix, before: _Fix, velocity: tuple[float, float]) -> bool:
        """Return whether it is where it must be after a silence, and flies as before."""
        took = fix.at - before.at
        north, east, up = _moved(before, fix)
        there = math.hypot(north - velocity[0] * took, east - velocity[1] * took, up)
        if took > _LONGEST_GAP or there > _EXPECTED + _PER_SECOND * took:
            self._again = None
            return False
        again = self._again = self._again or fix
        passed = fix.at - again.at
        north, east, _ = _moved(again, fix)
        way = math.hypot(*velocity) * passed
        return way >= _FLIGHT and math.hypot(
            north - velocity[0] * passed, east - velocity[1] * passed) <= way / 2.0

    def _stays_near(self, fix: _Fix, took: float, little: bool) -> _Fix | None:
        """Return the place, a little off, where an aircraft that has just moved stays."""
        if little and fix.at <= self._moved_at + took + _JUST_BEFORE:
            self._near = fix
        near = self._near
        if near is not None and _moved(near, fix) != (0.0, 0.0, 0.0):
            near = self._near = None
        return near if near is not None and fix.at >= near.at + _STILL else None

    def is_back(self, reply: SensorReply, seconds: float) -> bool:
        """Return whether it is where its last reset has put it, ``seconds`` ago at most."""
        if self._initial is None or not (
                isinstance(reply, GpsReply | InsReply) and _is_place(reply)):
            return False
        distance = math.hypot(*_moved(self._initial, _Fix(0.0, 0.0, reply)))
        return distance <= _NEAR + abs(reply.airspeed) * seconds

    def _begin_at(self, fix: _Fix) -> Elsewhere:
        """Follow another aircraft, or one that was reset, which was first seen there."""
        self._initial = self._last = self._measured = fix
        self._velocity = (0.0, 0.0)
        self._odd = self._near = None
        return Elsewhere.YES

    def _off(self, before: _Fix, fix: _Fix) -> float:
        """Return how far a position is from where the aircraft could have flown, in m."""
        took = fix.at - before.asked_at
        north, east, up = _moved(before, fix)
        speed = max(abs(before.reply.airspeed), abs(fix.reply.airspeed))
        off = min(
            _beside(north, east, along, took)
            for along in (self._velocity, _through_air(before), _through_air(fix)))
        return math.hypot(off, max(abs(up) - speed * took, 0.0))


def _beside(north: float, east: float, velocity: tuple[float, float], longest: float) -> float:
    """Return how far it is to the way flown with a velocity in a time, or in a part of it."""
    along, across = velocity
    squared = along * along + across * across
    took = min(max((north * along + east * across) / squared, 0.0), longest) if squared else 0.0
    return math.hypot(north - along * took, east - across * took)


def _through_air(fix: _Fix) -> tuple[float, float]:
    heading = math.radians(fix.reply.heading)
    return fix.reply.airspeed * math.cos(heading), fix.reply.airspeed * math.sin(heading)


def _is_place(reply: GpsReply | InsReply) -> bool:
    # A sum with infinity or NaN is not finite.
    return -90.0 <= reply.latitude <= 90.0 and math.isfinite(
        reply.longitude + reply.altitude + reply.airspeed + reply.heading)


def _moved(one: _Fix, other: _Fix) -> tuple[float, float, float]:
    """Return how far north, east and up one is of another, in m; precise enough for near ones."""
    here, there = one.reply, other.reply
    east = (there.longitude - here.longitude + 180.0) % 360.0 - 180.0
    return (
        (there.latitude - here.latitude) * _DEGREE,
        east * _DEGREE * math.cos(math.radians(here.latitude)), there.altitude - here.altitude)
