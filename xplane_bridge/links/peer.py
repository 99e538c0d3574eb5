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

"""Which port of the peer's computer is the peer: UDP itself does not tell."""

from __future__ import annotations

from typing import Protocol

ANY_PORT = 0


class SenderPort(Protocol):
    """Decides whether a datagram from a port of the peer's address is the peer's."""

    def admits(self, port: int) -> bool:
        """Tell whether a datagram that came from this port is to be taken."""

    @property
    def only(self) -> int:
        """Return the port that alone is the peer's now, ANY_PORT if there is no such."""


class FixedPort:
    """One port, of a peer that answers from where it listens; ANY_PORT admits all."""

    def __init__(self, port: int) -> None:
        self._port = port

    def admits(self, port: int) -> bool:
        """Tell whether it is the port."""
        return self._port in (ANY_PORT, port)

    @property
    def only(self) -> int:
        """Return the port."""
        return self._port


class Conversation(Protocol):
    """What a session tells of its peer, so that the port of that can be learnt."""

    @property
    def has_peer(self) -> bool:
        """Tell whether a peer is heard. Only a datagram of a peer makes that true."""

    @property
    def had_peer(self) -> bool:
        """Tell whether a peer has answered requests before, as it will when it comes back."""


class LearntPort:
    """
    The port of a peer that sends from another one than it listens on, learnt from what it sends.

    The datagram by which a session meets its peer locks the port that it came from, for all
    sockets of the link, until the session takes the peer for silent: another program of the same
    computer is not heard meanwhile. What comes without being asked for (``unasked``) is no proof
    of anything: of a peer that answers requests it is taken from the former port alone until the
    peer has answered again. Who forges the very address and port cannot be told apart.
    """

    def __init__(self, session: Conversation) -> None:
        self.unasked: SenderPort = _Unasked(self)
        self._session = session
        self._port = ANY_PORT
        self._locked = False

    @property
    def only(self) -> int:
        """Return the port that is the peer's, ANY_PORT while none is locked."""
        return ANY_PORT if self._is_open() else self._port

    def admits(self, port: int) -> bool:
        """Tell whether an answer from this port is to be taken."""
        return self._is_open() or port == self._port

    def settle(self, port: int) -> None:
        """Lock the port of the datagram that the session was just given, if it met its peer."""
        if self._is_open() and self._session.has_peer:
            self._locked, self._port = True, port

    def _is_open(self) -> bool:
        # Asked before each datagram, so no silence between two of them goes unnoticed.
        self._locked = self._locked and self._session.has_peer
        return not self._locked

    def admits_unasked(self, port: int) -> bool:
        """Tell whether what comes from this port without being asked for is to be taken."""
        return port == self._port or (self._is_open() and not self._session.had_peer)


class _Unasked:
    """A LearntPort, for sockets on which nothing is asked."""

    def __init__(self, learnt: LearntPort) -> None:
        self._learnt = learnt

    def admits(self, port: int) -> bool:
        """Tell whether a datagram from this port is to be taken."""
        return self._learnt.admits_unasked(port)

    @property
    def only(self) -> int:
        """Return the port that is the peer's, ANY_PORT while none is locked."""
        return self._learnt.only
