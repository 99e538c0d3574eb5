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


"""One command that is held over the WebSocket: what is wanted, asked, and known of it."""

from __future__ import annotations

from dataclasses import dataclass, field
import math

NEVER = -math.inf


@dataclass(slots=True)
class Waiting:
    """Those who wait for the same, and until when."""

    tickets: list[int] = field(default_factory=list)
    until: float = math.inf

    def join(self, ticket: int | None, until: float) -> None:
        """Wait too, without a ticket in vain."""
        if ticket is not None:
            self.tickets.append(ticket)
            self.until = min(self.until, until)

    def leave(self) -> tuple[int, ...]:
        """Return who has waited; nobody does any more."""
        left, self.tickets, self.until = tuple(self.tickets), [], math.inf
        return left


@dataclass(slots=True)
class Hold:
    """One command; ``due`` is when something is to be asked about it, but for its wish."""

    # Until when it is to be held, of which X-Plane has not been asked yet, and since when; with a
    # length it is that long from when X-Plane is asked.
    wish: float | None = None
    wished: float = 0.0
    length: float | None = None
    begins: Waiting = field(default_factory=Waiting)
    # What X-Plane is being asked: until when, by whom, for how long if the request has left.
    asking: float | None = None
    asked_length: float | None = None
    askers: tuple[int, ...] = ()
    seconds: float | None = None
    # Until when it is held, and over which connection. By ``over`` X-Plane has released it for
    # certain, but not before ``floor``.
    until: float = NEVER
    connection: int = -1
    over: float = NEVER
    floor: float = NEVER
    # It is owed. Over which connection X-Plane has accepted its release, over which it was asked
    # to look, and what it has reported since.
    ends: bool = False
    ended: Waiting = field(default_factory=Waiting)
    accepted: int = -1
    looked: int = -1
    report: bool | None = None
    due: float = math.inf

    @property
    def since(self) -> float:
        """From when on X-Plane is to be asked something."""
        if self.asking is not None:
            return math.inf
        return self.wished if self.wish is not None and not self.ends else self.due

    @property
    def may_be_active(self) -> bool:
        """Whether X-Plane may have been asked to hold it."""
        return self.over > NEVER or self.seconds is not None

    @property
    def is_anothers(self) -> bool:
        """Whether it is active though X-Plane has accepted its release."""
        return self.report is True and self.accepted == self.looked != -1

    def is_shown(self, connection: int) -> bool:
        """Return whether X-Plane has said that it is released."""
        return self.report is False and connection in (self.accepted, self.looked)

    def must_release(self, connection: int) -> bool:
        """Return whether X-Plane is to be asked to release it, rather than to look."""
        return self.ends and self.accepted != connection and (
            self.connection == connection or self.looked == connection and self.report is True)

    def owe(self, now: float) -> None:
        """Have it released from now on."""
        self.ends, self.due = True, now
        self.accepted, self.looked, self.report = -1, -1, None
