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

"""Commanded until shown: what a peer was told and has not shown yet. Time is passed in."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
import math
from typing import Any, Generic, TypeVar

from xplane_bridge.bridges.sessions.base import CommandDone

SHOWN_WITHIN = 3.0
"""Seconds in which a peer must show a command, where no parameter says otherwise."""

PERIOD = 0.25
"""Seconds between two repetitions of what cannot be shown: a few per second harm no peer."""

_Value = TypeVar('_Value')
_Proof = TypeVar('_Proof')
_Key = TypeVar('_Key', bound=Hashable)


@dataclass(slots=True)
class Pending(Generic[_Value, _Proof]):
    """
    Something that a peer shall have or do, from the command for it until the peer shows it.

    ``what`` is its name. ``desired`` is the value that it shall have, ``reported`` the one that it
    had before, None if that is unknown. ``proof`` is what the protocol needs to tell whether a
    report shows it. ``since`` is when it was commanded, or may first be shown. It is sent, or sent
    again, at ``again_at``, and given up at ``until``. These three are in seconds, and infinite as
    long as they are not known. ``ticket`` is that of who waits for it, 0 for nobody.
    """

    what: str
    desired: _Value
    proof: _Proof
    since: float = math.inf
    reported: _Value | None = None
    again_at: float = math.inf
    until: float = math.inf
    ticket: int = 0

    def done(self, message: str = '', error: str = '') -> CommandDone:
        """Return its end, for who waits for it: how it was shown, or why not."""
        return CommandDone(self.ticket, self.what, error, message)


_Row = TypeVar('_Row', bound=Pending[Any, Any])


class PendingTable(dict[_Key, _Row], Generic[_Key, _Row]):
    """
    All that is pending, in the order in which it was commanded.

    Mostly that is nothing, and it is asked for all the time.
    """

    def due(self, now: float) -> list[_Key]:
        """Return what is to be sent now."""
        return [key for key, pending in self.items() if now >= pending.again_at]

    def expire(self, now: float) -> list[_Row]:
        """Give up what was not shown in time, and return it."""
        if not self:
            return []
        late = {key: pending for key, pending in self.items() if now >= pending.until}
        for key in late:
            del self[key]
        return [*late.values()]

    def empty(self) -> list[_Row]:
        """Give up everything, and return it."""
        pending = [*self.values()]
        self.clear()
        return pending

    def repeat(self, now: float, seconds: float) -> list[_Key]:
        """
        Return what is to be sent now where no report can show it, and count it as sent.

        Each is sent every PERIOD seconds, for the last time so many seconds after the first: then
        it is given up. Only absolute values may be repeated.
        """
        if not self:
            return []
        due = self.due(now)
        for key in due:
            pending = self[key]
            if pending.until == math.inf:
                pending.until = now + seconds
            pending.again_at = min(now + PERIOD, pending.until)
        self.expire(now)
        return due

    def restart(self, now: float) -> None:
        """Repeat all of them anew from now on: the peer may not have heard any."""
        for pending in self.values():
            pending.again_at, pending.until = now, math.inf

    @property
    def deadline(self) -> float | None:
        """Return when due() or expire() has something, None if never."""
        if not self:
            return None
        at = min([min(pending.again_at, pending.until) for pending in self.values()])
        return None if at == math.inf else at
