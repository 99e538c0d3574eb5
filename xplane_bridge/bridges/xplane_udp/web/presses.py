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


"""Commands that are held by presses, each until its lease ends."""

from __future__ import annotations

from dataclasses import dataclass
import math

MOST_HELD = 20
"""Maximum number of commands held at a time."""

LONGEST_LEASE = 3600.0

# X-Plane ends a press at a frame; presses that overlap would count separately.
_BETWEEN = 0.03
# A shorter press is no longer worth a request.
_SHORTEST = 0.02


@dataclass(slots=True)
class _Hold:
    until: float
    # When the press under way has ended for certain; -inf before the first.
    pressed_until: float = -math.inf


class Presses:
    """
    What is held, and which presses are due for it.

    X-Plane's Web API presses a command for a given time, and cannot release it before. So a
    command is held by presses of at most ``longest`` seconds, one after the other: whatever
    happens here, X-Plane releases it that soon. Each has a lease, which begin() renews; end()
    means no further press. Time is an argument, in seconds.
    """

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._holds: dict[str, _Hold] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Return what is held."""
        return tuple(self._holds)

    def begin(self, name: str, lease: float, now: float) -> bool:
        """
        Hold a command for ``lease`` seconds from now; return whether it is new.

        Raises ValueError for a lease that is too long, or too many commands.
        """
        check_lease(lease)
        if (hold := self._holds.get(name)) is not None:
            hold.until = now + lease
            return False
        check_count(len(self._holds))
        self._holds[name] = _Hold(now + lease)
        return True

    def end(self, name: str, now: float) -> float:
        """
        Press it no more; return after how many seconds X-Plane has released it.

        Raises ValueError if it is not held.
        """
        hold = self._holds.pop(name, None)
        if hold is None:
            raise ValueError(f'{name} is not held')
        return max(hold.pressed_until - now, 0.0)

    def end_all(self) -> None:
        """Press none any more."""
        self._holds.clear()

    def take(self, now: float) -> tuple[str, float] | None:
        """Return the next command to press, and for how long; None if none is due."""
        for name, hold in list(self._holds.items()):
            if hold.pressed_until > now:
                continue
            length = min(hold.until - now, self._longest)
            if length < _SHORTEST:
                del self._holds[name]
                continue
            # Until the reply: as long as this press would take if it began right now.
            hold.pressed_until = now + length + _BETWEEN
            return name, length
        return None

    def pressed(self, name: str, length: float, now: float) -> None:
        """Note that X-Plane has accepted a press, at the latest just now."""
        if (hold := self._holds.get(name)) is not None:
            hold.pressed_until = now + length + _BETWEEN

    def drop(self, name: str, now: float, length: float = 0.0) -> None:
        """Press it no more; X-Plane may yet press it for ``length`` seconds."""
        if not length:
            self._holds.pop(name, None)
        elif (hold := self._holds.get(name)) is not None:
            hold.until, hold.pressed_until = now, now + length

    def deadline(self) -> float | None:
        """Return when the next press is due, None for never."""
        return min((hold.pressed_until for hold in self._holds.values()), default=None)


def check_lease(lease: float) -> None:
    """Raise ValueError for a lease that is too long."""
    if not 0.0 < lease <= LONGEST_LEASE:
        raise ValueError(f'duration {lease:g} s is not in 0 .. {LONGEST_LEASE:g} s')


def check_count(held: int) -> None:
    """Raise ValueError if so many are held that there may not be one more."""
    if held >= MOST_HELD:
        raise ValueError(f'{MOST_HELD} commands are held already: end one')
