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

import os
from queue import Empty, SimpleQueue
import select
import socket
import time
import weakref

from xplane_bridge.links.frames import Frames
from xplane_bridge.simulators.http import PATIENCE
from xplane_bridge.simulators.xplane_udp.web_socket import WebSocketPeer

_BLOCK = 65536
_MOST_UNREAD = 64
"""Messages of a client that no frame has read yet: more are left in its socket."""

_MOST_UNSENT = 256
"""Messages that a client has not taken: then its connection is closed. Updates of 25 s."""

_SILENCE = 4.0 * PATIENCE
"""Seconds without a byte after which a client is pinged, and again after which it has gone."""


class WebLine:
    """
    What passes between the thread of a connection and the frames of the simulator.

    converse() is the thread's; frame() is called between two frames; end() by anyone.
    """

    def __init__(self, peer: WebSocketPeer) -> None:
        self._peer = peer
        self._heard: SimpleQueue[str] = SimpleQueue()
        self._said: SimpleQueue[str] = SimpleQueue()
        self._is_over = False
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        weakref.finalize(self, os.close, self._wake)

    def end(self) -> None:
        """Close the connection."""
        self._is_over = True
        os.eventfd_write(self._wake, 1)

    def frame(self) -> bool:
        """Answer what has arrived and say what is due; return whether there will be more."""
        if self._is_over:
            self._peer.close()
            return False
        said = [self._peer.receive(text) for text in _all(self._heard)] + self._peer.step()
        for text in said:
            self._said.put(text)
        if self._said.qsize() > _MOST_UNSENT:
            self.end()
        elif said:
            os.eventfd_write(self._wake, 1)
        return True

    def converse(self, connection: socket.socket, frames: Frames) -> None:
        """Carry messages until either end closes."""
        connection.settimeout(PATIENCE)
        heard, is_asked = time.monotonic(), False
        try:
            while True:
                for text in _all(self._said):
                    frames.send(text)
                if self._is_over:
                    frames.close()
                connection.sendall(frames.take())
                if frames.ended:
                    break
                ready = self._wait(connection, heard + _SILENCE - time.monotonic())
                if ready:
                    heard, is_asked = time.monotonic(), False
                    for text in frames.receive(connection.recv(_BLOCK)):
                        self._heard.put(text)
                elif time.monotonic() >= heard + _SILENCE:
                    if is_asked:
                        break
                    frames.ping()
                    heard, is_asked = time.monotonic(), True
        except OSError:
            # The client has gone, or takes nothing any more.
            pass
        finally:
            self._is_over = True

    def _wait(self, connection: socket.socket, seconds: float) -> bool:
        """Wait until there is something to say or to read; return whether to read."""
        poller = select.poll()
        poller.register(self._wake, select.POLLIN)
        if self._heard.qsize() < _MOST_UNREAD:
            poller.register(connection, select.POLLIN)
        ready = {number for number, _ in poller.poll(max(seconds, 0.0) * 1000.0)}
        if self._wake in ready:
            os.eventfd_read(self._wake)
        return connection.fileno() in ready


def _all(queue: SimpleQueue[str]) -> list[str]:
    """Return what is in a queue, and leave it empty."""
    texts: list[str] = []
    try:
        while True:
            texts.append(queue.get_nowait())
    except Empty:
        return texts
