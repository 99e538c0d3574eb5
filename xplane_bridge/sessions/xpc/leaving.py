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

"""The end of a conversation: what was taken is given back until X-Plane shows it."""

from __future__ import annotations

from xplane_bridge.sessions.base import Left, PeerState

# To give back takes up to four datagrams, and one to ask what X-Plane has. Until the plugin
# answers, it is not repeated beyond this: of more than 20 it drops the last ones.
_LARGEST = 5
_MOST_UNREAD = 14

_UNDO = 'activate the node again and call its service release_all'


class Leaving:
    """
    Give back to a peer that was in ``state`` when the session stopped, until ``ends_at``.

    ::

        ANSWERING, LOADING, AWAY ---stop()---> LEAVING ---all is shown, or ends_at---> UNKNOWN

    As long as the plugin does not answer, only few datagrams may wait in its socket: ``unread``
    are waiting now.
    """

    def __init__(self, state: PeerState, address: str, unread: int, now: float, timeout: float
                 ) -> None:
        self.ends_at = now + timeout
        self._address = address
        self._timeout = timeout
        self._loads = state is PeerState.LOADING
        self._answered = False
        self._unread = unread
        self._sent = False

    def hear(self) -> None:
        """Record a reply: what was sent before was read."""
        self._answered = True
        self._unread = 0

    def hear_beacon(self) -> None:
        """Record a beacon: X-Plane runs."""
        self._loads = True

    @property
    def may_send(self) -> bool:
        """Return whether something may be sent, again or for the first time."""
        return not self._sent or self._unread + _LARGEST <= _MOST_UNREAD

    def sent(self, count: int) -> None:
        """Record that datagrams were sent."""
        self._unread += count
        self._sent = True

    def end(self, owed: tuple[str, ...]) -> Left:
        """Return how it has ended."""
        if not owed:
            return Left()
        where = f'X-Plane at {self._address}'
        if self._answered:
            return Left(owed, f'{where} answers, but does not show within {self._timeout:g} s '
                        f'that it was given back; to undo it, {_UNDO}', is_error=True)
        if self._loads:
            return Left(owed, f'{where} is loading or in a menu, and has not read it yet; if it '
                        f'does not show it when it goes on, {_UNDO}', is_error=True)
        return Left(owed, f'{where} does not respond; if it still runs, {_UNDO}')
