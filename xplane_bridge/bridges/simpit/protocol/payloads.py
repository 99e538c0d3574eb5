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
Declaring, reading and writing packet payloads.

All numbers are little-endian, without padding, floats single precision. Beside the fields that
bridges/protocols/base.py declares there are fields implied by the channel's name, and a final
one that takes the rest of the payload.
"""

from __future__ import annotations

from collections.abc import Callable
import struct
from typing import Any, ClassVar, Generic, TypeVar

from xplane_bridge.bridges.protocols import base
from xplane_bridge.bridges.protocols.base import Body, Codec, declared, forms, WireForm
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.common.text import counted

# Marker in place of a struct code.
_FROM_CHANNEL, _REST = 'from_channel', 'rest'

LONGEST_TEXT = 32


class SimpitMessage(base.Message):
    """
    Base of every typed payload.

    tag is the message's label and, if one channel carries it, the channel's name. older is the
    number of fields in older plugins, where the message has grown at its end: fields missing from
    a shorter one are None. sizes are the payload lengths in bytes, () for any, None for those of
    the declared fields.
    """

    __slots__ = ()

    older: ClassVar[tuple[int, ...]] = ()
    sizes: ClassVar[tuple[int, ...] | None] = None

    @property
    def channel(self) -> str:
        """Return the name of the channel that carries this message."""
        return self.tag


MessageT = TypeVar('MessageT', bound=SimpitMessage)


def from_channel(tell: Callable[[str], Any]) -> Any:
    """Declare a field that is not in the payload: ``tell`` derives it from the channel's name."""
    return declared(WireForm(_FROM_CHANNEL, unpack=lambda _, name: tell(name)))


def rest(
    pack: Callable[[str, Any], bytes], unpack: Callable[[str, bytes], Any], **default: Any
) -> Any:
    """Declare a field that takes the rest of the payload."""
    return declared(WireForm(_REST, pack, unpack), **default)


def raw(**default: Any) -> Any:
    """Declare bytes that take the rest of the payload."""
    return rest(lambda _, value: bytes(value), lambda _, data: data, **default)


def encoded_text(encoding: str) -> Any:
    """Declare an unterminated string that takes the rest of the payload."""
    def unpack(what: str, data: bytes) -> str:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            raise ProtocolError(
                f'{what.partition(" ")[0]}: byte {data[error.start]:#04x} at text offset '
                f'{error.start}, need {encoding}') from None

    return rest(_text_packer(encoding), unpack)


def _text_packer(encoding: str) -> Callable[[str, Any], bytes]:
    def pack(what: str, value: str) -> bytes:
        if encoding == 'ascii' and (
                not value.isascii() or not 1 <= len(value) <= LONGEST_TEXT):
            raise ValueError(f'{what}: must be 1..{LONGEST_TEXT} ASCII characters')
        return value.encode(encoding)

    return pack


class Payload(Generic[MessageT]):
    """Codec of a message with fields implied by its channel, or one that takes the rest."""

    def __init__(self, kind: type[MessageT], channel: str) -> None:
        declared_fields = forms(kind)
        self._kind = kind
        self._from_channel = [
            form.unpack(name, channel) for name, form in declared_fields
            if form.code == _FROM_CHANNEL]
        self._fixed = [
            (name, f'{kind.tag} {name}', form) for name, form in declared_fields
            if form.code not in (_FROM_CHANNEL, _REST)]
        self._rest = next((
            (name, f'{kind.tag} {name}', form) for name, form in declared_fields
            if form.code == _REST), None)
        # Resources make up most of the traffic: they need no conversion.
        self._plain = self._rest is None and not any(form.converts for _, _, form in self._fixed)
        self._struct = struct.Struct('<' + ''.join(form.code for _, _, form in self._fixed))
        self.sizes = kind.sizes if kind.sizes is not None else (
            (self._struct.size,) if self._rest is None else ())

    def pack(self, message: MessageT) -> bytes:
        """Return the payload; raise ValueError or TypeError for what must not be sent."""
        data = self._struct.pack(*(
            form.pack(what, getattr(message, name)) for name, what, form in self._fixed))
        if self._rest is not None:
            name, what, form = self._rest
            data += form.pack(what, getattr(message, name))
        return data

    def unpack(self, data: bytes) -> MessageT:
        """Return the message in a payload, or raise ProtocolError."""
        if len(data) < self._struct.size:
            raise ProtocolError(
                f'{self._kind.tag}: '
                f'{counted(len(data), "byte")}, need {self._struct.size} or more')
        if self._plain:
            return self._kind(*self._from_channel, *self._struct.unpack_from(data))
        values = [
            *self._from_channel,
            *(form.unpack(what, value) for (_, what, form), value in zip(
                self._fixed, self._struct.unpack_from(data), strict=True))]
        if self._rest is not None:
            _, what, form = self._rest
            values.append(form.unpack(what, data[self._struct.size:]))
        return self._kind(*values)


class Grown(Generic[MessageT]):
    """Codec of a message that has grown at its end."""

    def __init__(self, kind: type[MessageT]) -> None:
        bodies = [Body(kind, '<', count=count) for count in (*kind.older, None)]
        self._by_count = {len(body.names): body for body in bodies}
        self._by_size = {body.size: body for body in bodies}
        self._names = bodies[-1].names
        self.sizes = tuple(self._by_size)

    def pack(self, message: MessageT) -> bytes:
        """Return the payload; raise ValueError or TypeError for what must not be sent."""
        values = [getattr(message, name) for name in self._names]
        while values and values[-1] is None:
            values.pop()
        body = self._by_count.get(len(values))
        if body is None:
            raise ValueError(f'{message}: no version of this message has {len(values)} values')
        return body.pack(message)

    def unpack(self, data: bytes) -> MessageT:
        """Return the message in a payload of one of ``sizes``."""
        return self._by_size[len(data)].unpack(data)


def codec_of(kind: type[MessageT], channel: str) -> tuple[Codec[MessageT], tuple[int, ...]]:
    """Return the codec of a message on a channel of this name, and the lengths it accepts."""
    if kind.sizes is not None or any(
            form.code in (_FROM_CHANNEL, _REST) for _, form in forms(kind)):
        payload = Payload(kind, channel)
        return payload, payload.sizes
    if kind.older:
        grown = Grown(kind)
        return grown, grown.sizes
    body = Body(kind, '<')
    return body, (body.size,)
