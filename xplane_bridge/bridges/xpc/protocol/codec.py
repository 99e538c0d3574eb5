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
Codec of X-Plane Connect's datagrams.

A datagram is four letters, one unused byte, and a packed little-endian body (docs/wire/xpc.md,
sections 2 and 3). Whatever the plugin is known to crash on or misread is refused before it is
sent (section 9).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xplane_bridge.bridges.protocols.base import Codec, Message, Sender
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.xpc.protocol.messages import MESSAGES, REQUEST_LIMIT
from xplane_bridge.bridges.xpc.protocol.replies import REPLIES
from xplane_bridge.bridges.xpc.protocol.requests import REQUESTS
from xplane_bridge.bridges.xpc.protocol.wire import HEADER_SIZE
from xplane_bridge.common.text import counted

_SIDES: Mapping[Sender, Mapping[type[Any], Codec[Any]]] = {'bridge': REQUESTS, 'peer': REPLIES}
_BY_TAG = {
    sender: {tag.encode('ascii'): _SIDES[sender][kind] for tag, kind in kinds.items()}
    for sender, kinds in MESSAGES.items()}
_NAMES: Mapping[Sender, str] = {'bridge': 'request', 'peer': 'reply'}


def decode(data: bytes | bytearray | memoryview, sender: Sender) -> Message:
    """
    Decode one datagram of a client ('bridge') or of the plugin ('peer', its beacon included).

    Values are not checked: a request is shown as it is, even if encode() would refuse it. Raises
    ProtocolError for anything but one complete well-formed message.
    """
    raw = bytes(data)
    if len(raw) < HEADER_SIZE:
        raise ProtocolError('header: '
                            f'{counted(len(raw), "byte")} left at offset 0, need {HEADER_SIZE}')
    codec = _BY_TAG[sender].get(raw[:4])
    if codec is None:
        raise ProtocolError(
            f'tag at offset 0: got {raw[:4]!r}, expected that of an XPC {_NAMES[sender]}')
    message: Message = codec.unpack(raw)
    if sender == 'bridge' and len(raw) > REQUEST_LIMIT:
        raise ProtocolError(_too_long(message.tag, len(raw)))
    return message


def encode(message: Message) -> bytes:
    """
    Encode any XPC message; byte 4, which is unused, is 0.

    Raises ValueError for a request that could crash or confuse a plugin: an aircraft outside
    0..19, a number that is not finite or out of range, one that the plugin would take for
    "leave", a name that is empty, longer than 255 bytes or not printable ASCII, too many items,
    or more than 4096 bytes; TypeError if a value has the wrong type. The length of the answer to
    GetDatarefs is not checked; resp_size() helps with that. Replies are refused only if they do
    not fit into the format.
    """
    codec = REQUESTS.get(type(message))
    if codec is None:
        codec = REPLIES.get(type(message))
        if codec is None:
            raise TypeError(f'not a message of X-Plane Connect: {message!r}')
        return codec.pack(message)
    data = codec.pack(message)
    if len(data) > REQUEST_LIMIT:
        raise ValueError(_too_long(message.tag, len(data)))
    return data


def _too_long(tag: str, size: int) -> str:
    return (f'{tag}: {counted(size, "byte")}, expected at most {REQUEST_LIMIT}: '
            'the plugin truncates longer ones')
