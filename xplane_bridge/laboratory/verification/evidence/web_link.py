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

"""What carries requests to X-Plane's Web API and its answers while it is verified."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from queue import Empty, SimpleQueue
import time
from typing import TypeVar

from xplane_bridge.bridges.links.http import HttpExchange, NoHttpError
from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.bridges.links.websocket import WebSocket
from xplane_bridge.bridges.sessions.base import Address
from xplane_bridge.bridges.xplane_udp.protocol.web_api import (
    CONTENT_TYPE,
    LARGEST_REPLY,
    WebRequest,
    WebResponse,
)
from xplane_bridge.bridges.xplane_udp.protocol.web_socket import SOCKET
from xplane_bridge.bridges.xplane_udp.web.socket import Event, WebApiSession
from xplane_bridge.bridges.xplane_udp.web.web_client import Steps
from xplane_bridge.laboratory.verification.evidence.line import Heard

_T = TypeVar('_T')
# How long an answer is awaited, and how often a condition is looked at, in seconds.
_PATIENCE, _LOOK = 5.0, 0.02
_MOST_WAITING = 4000


class WebLink(ABC):
    """Carries the requests of one client, one after the other, and what X-Plane says unasked."""

    def __init__(self, session: WebApiSession) -> None:
        self.session = session

    @abstractmethod
    def now(self) -> float:
        """Return the time in seconds."""

    @abstractmethod
    def ask(self, request: WebRequest) -> WebResponse:
        """Return the answer. Raises LinkError, and UnansweredError if it may have been heard."""

    @abstractmethod
    def listen(self, seconds: float, until: Callable[[], bool] | None = None) -> list[Heard]:
        """Let time pass, at most until a condition holds; return what X-Plane has said."""

    @abstractmethod
    def cut(self) -> None:
        """End the connection of the WebSocket: the next request opens another one."""

    @abstractmethod
    def close(self) -> None:
        """End all; closing twice is fine."""

    def converse(self, steps: Steps[_T]) -> _T:
        """Hold a conversation; return its result. Raises what it raises."""
        try:
            request = next(steps)
            while True:
                try:
                    answer = self.ask(request)
                except LinkError as error:
                    request = steps.throw(error)
                else:
                    request = steps.send(answer)
        except StopIteration as end:
            result: _T = end.value
            return result


class TcpWebLink(WebLink):
    """Requests over TCP, in real time."""

    def __init__(self, address: Address, session: WebApiSession) -> None:
        super().__init__(session)
        self._address = address
        self._what = f'Web API at {address[0]}:{address[1]}'
        self._heard: SimpleQueue[Heard] = SimpleQueue()
        self._web_socket = WebSocket(
            address, 'the Web API', session, on_event=self._on_event, on_lost=lambda _: None,
            largest=LARGEST_REPLY)

    def now(self) -> float:
        return time.monotonic()

    def ask(self, request: WebRequest) -> WebResponse:
        deadline = time.monotonic() + _PATIENCE
        if request.method == SOCKET:
            answer: WebResponse = self._web_socket.ask(request, deadline, self._web_socket.ends)
            return answer
        exchange = HttpExchange(self._address)
        try:
            return exchange.run(
                request.method, request.path, request.body, CONTENT_TYPE, deadline=deadline,
                largest=LARGEST_REPLY)
        except (OSError, NoHttpError) as error:
            raise exchange.failure(self._what, error, _PATIENCE) from error
        finally:
            exchange.close()

    def listen(self, seconds: float, until: Callable[[], bool] | None = None) -> list[Heard]:
        end = time.monotonic() + seconds
        heard: list[Heard] = []
        while until is None or not until():
            left = end - time.monotonic()
            try:
                heard.append(self._heard.get(left > 0.0, min(max(left, 0.0), _LOOK)))
            except Empty:
                if left <= 0.0:
                    break
        return heard

    def cut(self) -> None:
        self._web_socket.end()

    def close(self) -> None:
        self._web_socket.end()

    def _on_event(self, event: Event) -> None:
        # While a person is asked nobody takes them.
        if self._heard.qsize() < _MOST_WAITING:
            self._heard.put(Heard(time.monotonic(), event))
