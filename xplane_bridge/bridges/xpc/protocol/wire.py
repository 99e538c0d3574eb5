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

"""Common wire format of requests and replies."""

from __future__ import annotations

import struct
from typing import Any, TypeVar

from xplane_bridge.bridges.protocols.base import Body, Message, Pair
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.common.text import counted

HEADER_SIZE = 5
"""The tag, and byte 4, once a length; peers write 0 or 255 and none reads it."""

# RESP arrives at frame rate with dozens of rows: one prepared format for each possible count.
FLOATS = tuple(struct.Struct(f'<{count}f') for count in range(256))

KindT = TypeVar('KindT', bound=Message)


def header(tag: str) -> bytes:
    """Return the first five bytes of a datagram."""
    return tag.encode('ascii') + b'\0'


def body(kind: type[KindT], **options: Any) -> Body[KindT]:
    """Return the codec of a message that is a sequence of its declared fields."""
    return Body(kind, '<', header=header(kind.tag), **options)


def placed(kind: type[KindT]) -> Pair[KindT]:
    """Return the codec of POSI: its position is three float64, or float32 in 34 bytes."""
    forms: dict[Any, Body[KindT]] = {
        32: body(kind, count=8, rest=(32,), narrow=('lat', 'lon', 'alt')),
        64: body(kind, count=8, rest=(64,))}
    by_size = {form.size: form for form in forms.values()}

    def pack(message: KindT) -> bytes:
        bits = getattr(message, 'precision')  # noqa: B009
        if bits not in forms:
            raise ValueError(f'{message.tag} precision: got {bits!r}, expected 32 or 64')
        return forms[bits].pack(message)

    def unpack(data: bytes) -> KindT:
        if len(data) not in by_size:
            check_size(data, *by_size)
        return by_size[len(data)].unpack(data)

    return Pair(pack, unpack)


# Checks of received data.

def read_tag(data: bytes) -> str:
    """Return the first four letters of a datagram."""
    return data[:4].decode('ascii')


def check_size(data: bytes, *sizes: int) -> None:
    """Raise ProtocolError if a datagram has none of these sizes."""
    if len(data) not in sizes:
        *others, last = map(str, sizes)
        expected = f'{", ".join(others)} or {last}' if others else last
        raise ProtocolError(f'{read_tag(data)}: {counted(len(data), "byte")}, expected {expected}')


def need(data: bytes, what: str, offset: int, size: int) -> None:
    """Raise ProtocolError if the datagram has fewer bytes left."""
    left = len(data) - offset
    if left < size:
        raise ProtocolError(
            f'{read_tag(data)} {what}: {counted(left, "byte")} left at offset {offset}, '
            f'need {size}')


def check_end(data: bytes, what: str, offset: int) -> None:
    """Raise ProtocolError if the datagram does not end here."""
    if offset != len(data):
        raise ProtocolError(f'{read_tag(data)}: '
                            f'{counted(len(data), "byte")}, expected {offset} for {what}')


def need_floats(data: bytes, what: str, offset: int) -> None:
    """Raise ProtocolError if the datagram ends before a count and that many float32."""
    need(data, f'{what} count', offset, 1)
    start = offset + 1
    left = len(data) - start
    if left < FLOATS[data[offset]].size:
        need(data, f'{what} value {left // 4 + 1}', start + left // 4 * 4, 4)
