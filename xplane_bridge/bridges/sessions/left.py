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

"""How a conversation ends: what was not given back, and whether its peer has ended."""

from __future__ import annotations

from dataclasses import dataclass

REFUSED_FOR = 0.5
"""Seconds for which the peer's port refuses what gives back, until the peer counts as ended."""

_FEWEST = 3


@dataclass(frozen=True, slots=True)
class Left:
    """
    How stop() has ended: what the peer has not shown to be given back.

    ``unconfirmed`` names it as Session.taken does, empty if nothing is left. ``reason`` is a
    sentence for people: why, and how to undo it. ``is_error``: the peer was there, or loading;
    nobody can do anything about one that was away already. ``has_ended``: it ended before it
    showed all, and nothing is owed to it any more.
    """

    unconfirmed: tuple[str, ...] = ()
    reason: str = ''
    is_error: bool = False
    has_ended: bool = False


class Refused:
    """
    What was refused since something was heard, because nothing listens at the peer's port.

    Once is not enough: a program may open its port anew.
    """

    def __init__(self) -> None:
        self.count = 0
        self._first = self._last = 0.0

    def note(self, now: float) -> None:
        """Note a refusal."""
        if not self.count:
            self._first = now
        self.count += 1
        self._last = now

    def forget(self) -> None:
        """Note that something was heard."""
        self.count = 0

    @property
    def shows_end(self) -> bool:
        """Return whether the peer has ended: it refuses everything for REFUSED_FOR."""
        return self.count >= _FEWEST and self._last >= self._first + REFUSED_FOR
