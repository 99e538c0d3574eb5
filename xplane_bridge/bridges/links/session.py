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

"""What a link needs of the session that it runs, and what it says when that has failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

Address: TypeAlias = tuple[str, int]


class LinkSession(Protocol):
    """
    The interface of a session to its link. It knows neither sockets nor clocks.

    A channel is the name of one of our sockets; sending on a new channel opens it.
    """

    rests: bool
    """Whether poll() has nothing to do before next_deadline(), as after most of what it got."""

    def receive(
        self, channel: str, data: bytes, sender: Address | None, now: float
    ) -> Sequence[Any]:
        """Handle one datagram, with sender None if there are no addresses; return its events."""

    def poll(self, now: float) -> Sequence[tuple[str, bytes | None]]:
        """Return what to send now, by channel; None instead of bytes closes the channel."""

    def next_deadline(self) -> float | None:
        """Return when poll() must be called next; None if only data matter."""

    def expired(self) -> Sequence[Any]:
        """Return the events caused by poll() or a call: time-outs, changes of state."""


class UdpSession(LinkSession, Protocol):
    """The same of one whose link knows what is refused."""

    def port_refused(self, now: float) -> None:
        """Note that nothing listens where a datagram was sent: see UdpSocket.watch_refusals()."""


class SessionError(Exception):
    """
    A session has raised ``__cause__`` in the link's thread: a mistake in this package.

    ``in_a_row`` is how many calls of this kind (receive, poll ...) have raised, this one included,
    since one returned.
    """

    def __init__(self, error: Exception, in_a_row: int) -> None:
        super().__init__(f'{type(error).__name__}: {error}')
        self.__cause__ = error
        self.in_a_row = in_a_row
