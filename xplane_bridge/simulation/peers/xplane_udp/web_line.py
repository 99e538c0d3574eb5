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


"""A WebSocket connection of the simulated X-Plane: a thread at one end, frames at the other."""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, SimpleQueue
import socket

from xplane_bridge.bridges.links.frames import Frames
from xplane_bridge.bridges.links.websocket import TextLine
from xplane_bridge.simulation.peers.xplane_udp.web_socket import WebSocketPeer

_MOST_UNREAD = 64
"""Messages of a client that one frame reads: about as many wait, more are left in its socket."""


class WebLine:
    """
    What passes between the thread of a connection and the frames of the simulator.

    converse() is the thread's; frame() is called between two frames; end() by anyone.
    """

    def __init__(self, peer: WebSocketPeer) -> None:
        self._peer = peer
        self._heard: SimpleQueue[str] = SimpleQueue()
        self._line = TextLine(
            self._heard.put, may_read=lambda: self._heard.qsize() < _MOST_UNREAD)

    def end(self) -> None:
        """Close the connection: its X-Plane has gone."""
        self._line.end()

    def frame(self) -> bool:
        """Answer what has arrived and say what is due; return whether there will be more."""
        if self._line.ended:
            self._peer.close()
            return False
        for text in self._read():
            self._line.say(self._peer.receive(text))
        for text in self._peer.step():
            self._line.say(text)
        return True

    def converse(self, connection: socket.socket, frames: Frames) -> None:
        """Carry messages until either end closes."""
        self._line.carry(connection, frames)

    def _read(self) -> list[str]:
        """Return what has arrived, of much the first: the rest is for the next frame."""
        texts: list[str] = []
        with suppress(Empty):
            while len(texts) < _MOST_UNREAD:
                texts.append(self._heard.get_nowait())
        return texts
