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


"""
Frames of a WebSocket (RFC 6455) by wsproto, for either end: bytes in, texts out.

There is no socket here. Whatever comes, nothing is raised: with a peer that breaks the rules the
conversation is over, and ``ended`` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.common import optional

if TYPE_CHECKING:
    from wsproto.events import Event

LARGEST_MESSAGE = 1 << 20
"""Bytes of a message, by default."""

_MOST_FRAGMENTS = 10_000
"""Of a message: an empty one makes it no longer, and there may be any number of them."""

# Codes of RFC 6455, section 7.4.1.
_NORMAL, _BROKEN, _NOT_TEXT, _TOO_BIG = 1000, 1002, 1003, 1009
_REFUSED = b'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'


def check_installed() -> None:
    """Raise LinkError if wsproto is not installed; its text says how to get it."""
    try:
        optional.require("X-Plane's WebSocket", 'wsproto', extra='web')
    except ImportError as error:
        raise LinkError(str(error)) from error


class WebSocketConnection:
    """
    One end of a WebSocket.

    What is to be sent to the peer collects here until take(). ``is_open`` is whether the
    handshake is over; ``ended`` is why nothing more can be said, '' as long as it can.
    """

    def __init__(self, *, is_client: bool, largest: int = LARGEST_MESSAGE) -> None:
        import h11
        import wsproto
        import wsproto.events
        import wsproto.utilities
        self.is_open = False
        self.ended = ''
        self._events = wsproto.events
        # wsproto decodes headers without further ado.
        self._broken = (wsproto.utilities.ProtocolError, h11.ProtocolError, ValueError)
        self._connection = wsproto.WSConnection(
            wsproto.ConnectionType.CLIENT if is_client else wsproto.ConnectionType.SERVER)
        self._largest = largest
        self._parts: list[str] = []
        self._length = self._fragments = 0
        self._out = b''

    @classmethod
    def client(cls, host: str, target: str, largest: int = LARGEST_MESSAGE) -> WebSocketConnection:
        """Return the end that asks for a WebSocket."""
        frames = cls(is_client=True, largest=largest)
        frames._send(frames._events.Request(host=host, target=target))
        return frames

    @classmethod
    def server(
        cls, headers: Iterable[tuple[str, str]], target: str, largest: int = LARGEST_MESSAGE
    ) -> WebSocketConnection:
        """Return the end that was asked for one by this request, which may not be one."""
        frames = cls(is_client=False, largest=largest)

        def upgrade() -> None:
            frames._connection.initiate_upgrade_connection(
                [(name.encode('latin-1'), value.encode('latin-1')) for name, value in headers],
                target)

        frames._advance(upgrade)
        if not frames.is_open:
            frames._out = _REFUSED
        return frames

    def take(self) -> bytes:
        """Return what is to be sent to the peer."""
        out, self._out = self._out, b''
        return out

    def send(self, text: str) -> None:
        """Say something; nothing happens when it is not open, or over."""
        if self.is_open and not self.ended:
            self._send(self._events.TextMessage(data=text))

    def ping(self) -> None:
        """Ask whether the peer is there: it has to answer."""
        if self.is_open and not self.ended:
            self._send(self._events.Ping())

    def close(self) -> None:
        """Say goodbye."""
        self._end('closed here', _NORMAL)

    def receive(self, data: bytes) -> list[str]:
        """Return the messages that these bytes complete; none are the peer's end."""
        if not self.ended and not data:
            self.ended = 'the connection was closed'
        return [] if self.ended else self._advance(lambda: self._connection.receive_data(data))

    def _advance(self, step: Callable[[], None]) -> list[str]:
        texts: list[str] = []
        try:
            step()
            for event in self._connection.events():
                if text := self._process_event(event):
                    texts.append(text)
                if self.ended:
                    break
        except self._broken as error:
            self._end(f'not a WebSocket ({error})', _BROKEN)
        return texts

    def _process_event(self, event: Event) -> str:
        """Do what an event asks for; return the message that it completes, '' for none."""
        events = self._events
        if isinstance(event, events.Request):
            self._send(events.AcceptConnection())
            self.is_open = True
        elif isinstance(event, events.AcceptConnection):
            self.is_open = True
        elif isinstance(event, events.RejectConnection):
            self.ended = f'refused with HTTP status {event.status_code}'
        elif isinstance(event, events.TextMessage):
            self._fragments += event.frame_finished
            return self._joined(event.data, event.message_finished)
        elif isinstance(event, events.BytesMessage):
            self._end('a message that is not text', _NOT_TEXT)
        elif isinstance(event, events.Ping):
            self._send(event.response())
        elif isinstance(event, events.CloseConnection):
            self._send(event.response())
            reason = f' ({event.reason})' if event.reason else ''
            self.ended = f'closed with code {int(event.code)}{reason}'
        return ''

    def _joined(self, text: str, is_finished: bool) -> str:
        self._length += len(text)
        if self._length > self._largest:
            self._end(f'a message is longer than {self._largest} characters', _TOO_BIG)
            return ''
        if self._fragments > _MOST_FRAGMENTS:
            self._end(f'a message has more than {_MOST_FRAGMENTS} fragments', _TOO_BIG)
            return ''
        if text:
            self._parts.append(text)
        if not is_finished:
            return ''
        whole = ''.join(self._parts)
        self._parts, self._length, self._fragments = [], 0, 0
        return whole

    def _end(self, why: str, code: int) -> None:
        if self.ended:
            return
        if self.is_open:
            # Unless it has ended on the wire already.
            with suppress(*self._broken):
                self._send(self._events.CloseConnection(code=code))
        self.ended = why

    def _send(self, event: Event) -> None:
        self._out += self._connection.send(event)
