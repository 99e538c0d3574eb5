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

"""The end of a conversation with a plugin: what stop() has given back. Time is passed in."""

from __future__ import annotations

from collections.abc import Iterable

from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.sessions.machine import What

# Without telemetry for this long, or twice the usual pause, a deregistration has been obeyed.
_QUIET = 0.3
# Until then a packet may still be one of before it.
_UNDER_WAY = 0.15
_PERIOD = 0.5
# The last repetition leaves release_timeout after the first one, which may be a little late.
_GRACE = 0.25

_TELEMETRY = 'telemetry channels'


class Leaving:
    """
    What is still to be shown after stop(), and for how long to wait for it.

    ``owed`` was given back. ``quiet`` is for how long telemetry must be missing, ``streaming``
    says that it was arriving, ``was_away`` that nobody answered. No plugin shows what it forces;
    an echo of a request sent after it was given back shows that the plugin still reads. Times are
    in seconds.
    """

    def __init__(
        self, owed: tuple[str, ...], now: float, timeout: float, *, quiet: float,
        streaming: bool, was_away: bool,
    ) -> None:
        self._until = now + timeout
        self._quiet = max(_QUIET, quiet)
        self._streaming = streaming
        self._was_away = was_away
        self._heard_at = now
        self._deregistered_at = now
        self._is_read = False
        self._owed = owed
        self._talks_on = False

    def hear_telemetry(self, now: float) -> None:
        """Note that telemetry still arrives."""
        self._heard_at = now

    def hear_echo(self) -> None:
        """Note that the plugin has read what was sent before an echo request."""
        self._is_read = True

    @property
    def _sends_on(self) -> bool:
        """Return whether telemetry has arrived well after the last deregistration."""
        return self._heard_at >= self._deregistered_at + _UNDER_WAY

    def begin_again(self, now: float) -> bool:
        """Begin another period if telemetry still arrives, to be deregistered; return whether."""
        if now < self._deregistered_at + _PERIOD or not self._sends_on:
            return False
        self._deregistered_at = now
        return True

    def look(self, giving: bool, now: float) -> Iterable[What]:
        """Yield whether nothing is left to be given back, or no time; ``giving``: it goes on."""
        self._talks_on = self._streaming and now < self._heard_at + self._quiet
        # What has been repeated for long enough counts as given back only if it was read.
        if now >= self._ends_at or not (self._was_away or giving or self._talks_on):
            yield What.EXPIRED if self._is_unread or self._talks_on else What.SHOWN

    @property
    def _ends_at(self) -> float:
        """Return when there is no more time; one that is away may still come back until then."""
        return self._until if self._was_away else self._until + _GRACE

    @property
    def _is_unread(self) -> bool:
        """Return whether a plugin that should have echoed has not shown that it reads."""
        return bool(self._owed) and not self._is_read and (
            self._streaming or self._was_away)

    @property
    def deadline(self) -> float:
        """Return when look() and begin_again() have to be asked."""
        at = self._ends_at
        if self._talks_on:
            at = min(at, self._heard_at + self._quiet)
        if self._sends_on:
            at = min(at, self._deregistered_at + _PERIOD)
        return at

    def left(self, name: str, *, is_open: bool, answers: bool) -> Left:
        """Return what was not shown; ``name`` is the port, ``answers`` whether a plugin did."""
        answers = answers and is_open
        if self._is_unread:
            if answers:
                return Left(self._owed, (
                    f'the plugin on {name} answers no echo, so it may not have read it: it ends '
                    'with the flight scene (revert, or leave to the space centre)'),
                    is_error=self._streaming)
            why = f'nothing answers on {name}' if is_open else f'{name} is gone'
            return Left(self._owed, (
                f'{why}: what the plugin forces ends with the flight scene '
                '(revert, or leave to the space centre)'))
        if self._talks_on and answers:
            return Left((_TELEMETRY,), (
                f'the plugin on {name} still sends them: it stops when its port is closed, or at '
                'the next handshake'), is_error=True)
        return Left()
