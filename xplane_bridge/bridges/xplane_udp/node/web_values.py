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


"""Datarefs by X-Plane's WebSocket in xplane_udp_node: doubles, arrays and text, both ways."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Sequence
import threading
import time
from typing import Any

from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.bridges.nodes.common.lists import check_count, dataref_values, named, watched
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge
from xplane_bridge.bridges.xplane_udp.node.parameters import XplaneUdpParameters
from xplane_bridge.bridges.xplane_udp.session import XplaneUdpSession
from xplane_bridge.bridges.xplane_udp.web.socket import ValuesChanged
from xplane_bridge.bridges.xplane_udp.web.web_client import WebClient
from xplane_bridge.common.text import printable
from xplane_bridge.msg import DatarefValues

# Seconds from one attempt to be sent the datarefs to the next.
_RETRY = 2.0
# Datarefs that wait to be written: newer values replace those of the same name.
_MOST_WAITING = 1000
_COMMAND = 'command/dataref_values'


class WebValues:
    """
    The topics dataref_values and command/dataref_values.

    ``begin`` begins a conversation; due() and what it returns run in the queue's thread.
    ``names`` are the datarefs to publish.
    """

    def __init__(
        self, node: Bridge[XplaneUdpParameters, XplaneUdpSession], client: WebClient,
        begin: Callable[[Any, Callable[[Any, Exception | None], None]], None],
    ) -> None:
        self._node = node
        self._client = client
        self._begin = begin
        self._publisher = node.make_publisher(DatarefValues, 'dataref_values', LATCHED)
        node.make_command(DatarefValues, _COMMAND, self._command)
        self.names: Sequence[str] = watched(node.parameters.web_datarefs)
        # What the connection was asked for last.
        self._watched: Sequence[str] = ()
        self._retry = 0.0
        self._writing = threading.Lock()
        self._to_write: dict[str, tuple[Sequence[float], str]] = {}

    # Reading.

    def select(self, names: Sequence[str]) -> None:
        """Publish these from now on. From any thread."""
        self.names = watched(names)
        self._retry = 0.0

    def progress(self) -> str:
        """Return how far X-Plane is with what is to be published."""
        if not self.names:
            return 'none'
        return (f'{len(self.names)} wanted, {self._client.found(self.names)} found, '
                f'{self._client.socket.arrived} arrive')

    def due(self, now: float) -> tuple[Generator[Any, Any, Any] | None, float | None]:
        """Return a conversation that is due, and when to ask again."""
        is_watching = self._client.socket.is_watching and self._watched == self.names
        if is_watching or not (self.names or self._watched):
            return None, None
        if now < self._retry:
            return None, self._retry
        self._retry = now + _RETRY
        return self._watch(self.names), None

    def _watch(self, names: Sequence[str]) -> Generator[Any, Any, None]:
        failed: dict[str, str] = yield from self._client.watch(names)
        self._watched = names
        if failed:
            self._node.warn('web_datarefs', 'not sent by X-Plane: ' + named(
                [f'{name} ({why})' for name, why in failed.items()], '; '))

    def publish(self, event: ValuesChanged) -> None:
        """Publish all that is known: in the connection's thread."""
        message = DatarefValues()
        if not self._node.stamp(message, time.time_ns()):
            return
        known = [(name, event.values[name]) for name in self.names if name in event.values]
        numbers = [() if isinstance(reading.value, bytes) else reading.value
                   for _, reading in known]
        message.names = [name for name, _ in known]
        message.sizes = array('I', map(len, numbers))
        message.values = array('d', [value for values in numbers for value in values])
        message.texts = [printable(reading.text) for _, reading in known]
        self._publisher.publish(message)

    # Writing: in the executor.

    def _command(self, message: DatarefValues) -> None:
        items = dataref_values(message.names, message.sizes, message.values)
        texts = message.texts or [''] * len(items)
        if len(texts) != len(items):
            raise ValueError(f'{len(items)} names and {len(texts)} texts do not match')
        given = {name: (values, text) for (name, values), text in zip(items, texts, strict=True)}
        with self._writing:
            is_waiting = bool(self._to_write)
            together = self._to_write | given
            check_count('datarefs that wait to be written', len(together), _MOST_WAITING)
            self._to_write = together
        if not is_waiting:
            try:
                self._begin(self._write(), self._written)
            except ValueError:
                self._take()
                raise

    def _take(self) -> dict[str, tuple[Sequence[float], str]]:
        with self._writing:
            given, self._to_write = self._to_write, {}
        return given

    def _write(self) -> Generator[Any, Any, None]:
        given = self._take()
        yield from self._client.set_values([
            (name, values, text) for name, (values, text) in given.items()])

    def _written(self, _: Any, error: Exception | None) -> None:
        if error is not None:
            self._take()
            self._node.refuse(_COMMAND, error)
