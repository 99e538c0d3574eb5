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

"""Commands that wait: each for the first state that it is meant for."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass, field

from xplane_bridge.common.timing import SECOND_NS

# More than this many are refused: nobody plans so far ahead.
_MOST = 100
# A stamp further ahead of the state than this (ns) is of another clock.
_FURTHEST = 3600 * SECOND_NS


@dataclass(order=True, slots=True)
class _StampedCommand:
    stamp: int
    number: int
    topic: str = field(compare=False)
    do: Callable[[], None] = field(compare=False)


class StampedCommands:
    """Commands that wait for their stamp, in nanoseconds; 0 is the next state."""

    def __init__(self) -> None:
        self._commands: list[_StampedCommand] = []
        self._number = 0

    def __len__(self) -> int:
        return len(self._commands)

    def add(
        self, stamp: int, topic: str, do: Callable[[], None], now: int | None = None
    ) -> None:
        """
        Let a command wait for its stamp.

        Raises ValueError if too many do, or if the state's stamp, ``now``, is of another clock.
        """
        if now is not None and stamp > now + _FURTHEST:
            raise ValueError(
                f'its stamp is {(stamp - now) * 1e-9:.0f} s after that of imu/data: perhaps it '
                'is of another clock; a stamp of 0 means at once')
        if len(self._commands) >= _MOST:
            raise ValueError(f'{_MOST} commands are waiting for the state of their stamps')
        self._number += 1
        insort(self._commands, _StampedCommand(stamp, self._number, topic, do))

    def due(self, stamp: int) -> list[tuple[str, Callable[[], None]]]:
        """Return, and forget, what is to be done for the state of that stamp, by topic."""
        count = next((place for place, command in enumerate(self._commands)
                      if command.stamp > stamp), len(self._commands))
        found, self._commands = self._commands[:count], self._commands[count:]
        return [(command.topic, command.do) for command in found]

    def clear(self) -> None:
        """Forget all."""
        self._commands.clear()
