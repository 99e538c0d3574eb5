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

"""X-Plane's native UDP for tools: the layout of rows is detected and remembered."""

from __future__ import annotations

from argparse import Namespace
from types import ModuleType

from xplane_bridge.bridges.protocols import dialect
from xplane_bridge.bridges.protocols.base import Message, Sender
from xplane_bridge.bridges.xplane_udp.protocol.codec import decode, encode
from xplane_bridge.bridges.xplane_udp.protocol.data import Data, DataLayout, VERSIONS

_NEWEST = 12


class Dialect(dialect.Dialect):
    """X-Plane's native UDP of one version."""

    options = {'--version': {
        'type': int, 'choices': VERSIONS,
        'help': "X-Plane's; decides what the bytes leave open, and how JSON is encoded (12)"}}

    def __init__(self, protocol: ModuleType, arguments: Namespace) -> None:
        super().__init__(protocol, arguments)
        self._layout: DataLayout | None = None

    def decode_from(self, data: bytes, sender: Sender) -> object:
        """Return the message in a datagram, using the layout of the last rows received."""
        message = decode(data, sender, self.arguments.version, previous=self._layout)
        if isinstance(message, Data):
            self._layout = message.layout
        return message

    def encode(self, message: Message) -> bytes:
        """Return the datagram for a message of the version, 12 if none is given."""
        return encode(message, self.arguments.version or _NEWEST)
