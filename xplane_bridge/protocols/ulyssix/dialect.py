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

"""Ulyssix for people: packets as they are read, not as they are stored."""

from __future__ import annotations

from collections.abc import Iterable

from xplane_bridge.protocols import dialect
from xplane_bridge.protocols.base import Message, Sender
from xplane_bridge.protocols.ulyssix.decoder import decode
from xplane_bridge.protocols.ulyssix.encoder import encode
from xplane_bridge.protocols.ulyssix.readable import from_readable, to_readable


class Dialect(dialect.Dialect):
    """Ulyssix, which only the publisher sends."""

    def decode(self, data: bytes, sender: Sender) -> Iterable[object]:
        """Return the packet in a datagram, whoever sent it."""
        return (to_readable(decode(data)),)

    def encode(self, message: Message) -> bytes:
        """Return the datagram for a packet that people can read."""
        return encode(from_readable(message))
