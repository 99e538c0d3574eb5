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

"""Skylark's datagrams to messages and back."""

from typing import Any

from xplane_bridge.bridges.protocols.base import Body, Message, Sender
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.skylark.protocol.messages import MESSAGES

_BODIES: dict[Sender, dict[bytes, Body[Any]]] = {
    sender: {tag.encode(): Body(kind, '<', header=tag.encode()) for tag, kind in kinds.items()}
    for sender, kinds in MESSAGES.items()}


def decode(data: bytes, sender: Sender) -> Message:
    """
    Decode one datagram.

    Raises ProtocolError for anything that is not a message of this sender.
    """
    body = _BODIES[sender].get(data[:4])
    if body is None:
        raise ProtocolError(f'tag at offset 0: {data[:4]!r} is none that a {sender} sends')
    message: Message = body.unpack(data)
    return message


def encode(message: Message) -> bytes:
    """
    Encode any message.

    Raises ValueError or TypeError for what must not be sent.
    """
    tag = message.tag.encode()
    for bodies in _BODIES.values():
        if tag in bodies:
            return bodies[tag].pack(message)
    raise TypeError(f'not a message of Skylark: {message!r}')
