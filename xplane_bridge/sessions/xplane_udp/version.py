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

"""Detection of X-Plane's version: by requesting two datarefs, or from the rows received."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping

from xplane_bridge.protocols.xplane_udp import encode, FIRST_WITH_DATAREFS, RrefRequest, VERSIONS
from xplane_bridge.sessions.xplane_udp.farewells import Farewells
from xplane_bridge.sessions.xplane_udp.outbox import Outbox
from xplane_bridge.sessions.xplane_udp.reports import INTERNAL_VERSION, TIME

VERSION_CHANNEL = 'version'

# The first exists only in 11 and 12 (docs/wire/xplane_datarefs.md, row 5.21), the other in all: so
# a reply to the second alone is X-Plane 10.
_DATAREFS = (INTERNAL_VERSION, TIME)
_FIRST_INDEX = 900
_INDICES = range(_FIRST_INDEX, _FIRST_INDEX + len(_DATAREFS))
_RATE = 2
_PERIOD = 1.0
_PATIENCE = 1.5
# After a silence it may be another version: how long to wait then for the first dataref.
CHECKING = 5.0
# Rows with the framing of 8 and later, and no reply to RREF for this long: 8 or 9.
_ROWS_PATIENCE = 3.0
_SAME_FRAME_SINCE = 8

_NUMBERS = range(100_000, 1_000_000)


def version_of(number: float | None) -> int | None:
    """Return the version, 10 to 12, for a number like 115501; later ones count as 12."""
    if number is None or not _NUMBERS.start <= number < _NUMBERS.stop:
        return None
    return min(int(number) // 10_000, VERSIONS[-1])


class VersionFinder:
    """
    What is known so far about the version of one X-Plane, while it is being queried.

    It is not queried if it is ``given``.
    """

    def __init__(self, outbox: Outbox, farewells: Farewells, given: int | None) -> None:
        self.given = given
        self._outbox = outbox
        self._farewells = farewells
        self._asking = False
        self._begin(0.0, _PATIENCE)

    def start(self, now: float, patience: float = _PATIENCE) -> None:
        """
        Start querying.

        ``patience`` is how long to wait for the dataref that only 11 and 12 have after another one
        has arrived.
        """
        if self.given is None:
            self._asking = True
            self._farewells.forget(VERSION_CHANNEL)
            self._begin(now, patience)

    def _begin(self, now: float, patience: float) -> None:
        self._patience = patience
        self._ask_at = now
        self.lose()

    def lose(self) -> None:
        """Forget what came: nothing is concluded from a silence."""
        self._version: int | None = None
        self._answered_at: float | None = None
        self._framing: int | None = None
        self._framed_at = 0.0

    def end(self) -> None:
        """Stop querying, if it was queried at all."""
        if self._asking:
            self._asking = False
            self._outbox.drop(VERSION_CHANNEL)
            self._farewells.end(
                VERSION_CHANNEL, _INDICES, lambda keys: _requests(0, keys), 1.0 / _RATE)

    def ask(self, now: float) -> int | None:
        """Query again if it is time; return the version once it is known, and stop."""
        if not self._asking:
            return None
        version = self._found(now)
        if version is not None:
            self.end()
        elif now >= self._ask_at:
            self._ask_at = now + _PERIOD
            self._outbox.push(VERSION_CHANNEL, _requests(_RATE))
        return version

    @property
    def deadline(self) -> float | None:
        """Return when ask() may have something new."""
        if not self._asking:
            return None
        if self._answered_at is None:
            return self._ask_at
        return min(self._ask_at, self._answered_at + self._patience)

    def hear_values(self, values: Mapping[int, float]) -> None:
        """Handle values from VERSION_CHANNEL."""
        self._version = version_of(values.get(_FIRST_INDEX)) or self._version

    def hear_reply(self, now: float) -> None:
        """Record that a dataref or the pose arrived: it is 10 or later."""
        if self._answered_at is None:
            self._answered_at = now

    def hear_rows(self, framing: int, now: float) -> None:
        """Record that rows arrived, with this framing."""
        if self._framing is None:
            self._framed_at = now
        self._framing = framing

    def _found(self, now: float) -> int | None:
        if self._version is not None:
            return self._version
        if self._framing is not None and self._framing < _SAME_FRAME_SINCE:
            return self._framing
        if self._answered_at is not None:
            return FIRST_WITH_DATAREFS if now - self._answered_at >= self._patience else None
        if self._framing is not None and now - self._framed_at >= _ROWS_PATIENCE:
            return FIRST_WITH_DATAREFS - 1
        return None


def _requests(rate: int, indices: Collection[Hashable] = _INDICES) -> list[bytes]:
    return [encode(RrefRequest(rate, index, name))
            for index, name in zip(_INDICES, _DATAREFS, strict=True) if index in indices]
