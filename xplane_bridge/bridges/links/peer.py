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

"""Which port on the peer's computer is the peer's: UDP itself does not say."""

from __future__ import annotations

from typing import Protocol

ANY_PORT = 0


class SenderPort(Protocol):
    """Decides whether a datagram from a port of the peer's address is the peer's."""

    def admits(self, port: int) -> bool:
        """Return whether a datagram from this port should be accepted."""

    @property
    def only(self) -> int:
        """Return the only port that is now the peer's, ANY_PORT if there is none."""


class FixedPort:
    """A fixed port, of a peer that replies from where it listens; ANY_PORT accepts all."""

    def __init__(self, port: int) -> None:
        self._port = port

    def admits(self, port: int) -> bool:
        """Return whether it is the port."""
        return self._port in (ANY_PORT, port)

    @property
    def only(self) -> int:
        """Return the port."""
        return self._port


class Conversation(Protocol):
    """What a session reports about its peer, so that its port can be learnt."""

    @property
    def has_peer(self) -> bool:
        """Return whether a peer is heard. Only a datagram from a peer makes that true."""

    @property
    def had_peer(self) -> bool:
        """Return whether a peer has answered requests before, as it will when it returns."""


class LearntPort:
    """
    The port of a peer that sends from a different port than it listens on, learnt from replies.

    The datagram that establishes contact with the peer locks its source port, for all sockets of
    the link, until the session considers the peer silent: other programs on the same computer are
    ignored meanwhile. Unrequested data (``unasked``) prove nothing: from a peer that answers
    requests they are accepted only from the previous port until the peer has answered again.
    Forged datagrams with the same address and port cannot be distinguished.
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
        """Return whether a reply from this port should be accepted."""
        return self._is_open() or port == self._port

    def settle(self, port: int) -> None:
        """Lock the port of the datagram just handled, if it established contact with the peer."""
        if self._is_open() and self._session.has_peer:
            self._locked, self._port = True, port

    def _is_open(self) -> bool:
        # Checked before each datagram, so no silence between two of them goes unnoticed.
        self._locked = self._locked and self._session.has_peer
        return not self._locked

    def admits_unasked(self, port: int) -> bool:
        """Return whether unrequested data from this port should be accepted."""
        return port == self._port or (self._is_open() and not self._session.had_peer)


class _Unasked:
    """A LearntPort for sockets that send no requests."""

    def __init__(self, learnt: LearntPort) -> None:
        self._learnt = learnt

    def admits(self, port: int) -> bool:
        """Return whether a datagram from this port should be accepted."""
        return self._learnt.admits_unasked(port)

    @property
    def only(self) -> int:
        """Return the port that is the peer's, ANY_PORT while none is locked."""
        return self._learnt.only
