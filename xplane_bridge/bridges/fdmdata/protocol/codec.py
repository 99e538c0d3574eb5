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

"""FDMData datagrams to messages and back."""

from __future__ import annotations

from xplane_bridge.bridges.fdmdata.protocol.messages import (
    Command,
    ControlPositions,
    ErrorReply,
    SENSOR_REPLIES,
    SensorReply,
    SensorRequest,
)
from xplane_bridge.bridges.protocols.base import Body, Message, Sender
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.common.text import counted

_OK = 0x00
_ERROR = 0xff

# The document's "12-16" for the throttle should be 12-15.
_CONTROLS = Body(ControlPositions, '>')
_REPLIES: dict[int, Body[SensorReply]] = {
    kind.command: Body(kind, '>', header=bytes((_OK, kind.command)))
    for kind in SENSOR_REPLIES}
_BY_HEADER = {bytes((_OK, command)): body for command, body in _REPLIES.items()}


def decode(data: bytes | bytearray | memoryview, sender: Sender) -> Message:
    """
    Decode one datagram of the bridge (a request or controls) or of Huginn (a reply).

    Values are passed on unchanged, including NaN: a Huginn that was once sent a NaN answers with
    nothing else, and how it treats out-of-range controls depends on the aircraft.

    Raises ProtocolError for anything else: what Huginn answers with 0xFF, or ignores.
    """
    return decode_reply(data) if sender == 'peer' else _decode_request(data)


def _decode_request(data: bytes | bytearray | memoryview) -> SensorRequest | ControlPositions:
    if len(data) == _CONTROLS.size:
        return _CONTROLS.unpack(data)
    if len(data) != 1:
        raise ProtocolError(
            f'{counted(len(data), "byte")}, expected 1 of a request or {_CONTROLS.size} of '
            'controls')
    if data[0] not in _REPLIES:
        raise ProtocolError(f'request: unknown command 0x{data[0]:02x}, expected 0x00 to 0x07')
    return SensorRequest(Command(data[0]))


def decode_reply(data: bytes | bytearray | memoryview) -> SensorReply | ErrorReply:
    """Decode one datagram of Huginn; see decode()."""
    header = bytes(data[:2])
    if header in _BY_HEADER:
        return _BY_HEADER[header].unpack(data)
    size = len(data)
    if size == 0:
        raise ProtocolError('reply: empty datagram')
    if data[0] == _ERROR and size == 1:
        return ErrorReply()
    if data[0] != _OK:
        raise ProtocolError(
            f'reply: response code 0x{data[0]:02x} in {counted(size, "byte")}, '
            'expected 0x00 or the single byte 0xff')
    if size < 2:
        raise ProtocolError('reply: 0 bytes left at offset 1, need the command')
    raise ProtocolError(f'reply: unknown command 0x{data[1]:02x}, expected 0x00 to 0x07')


def encode(message: Message) -> bytes:
    """
    Encode any FDMData message; a reply may carry NaN, as Huginn's do.

    Raises ValueError for an unknown command, for controls that are not finite or out of range (NaN
    enters Huginn's flight model unclamped and stays there: docs/wire/fdmdata.md, section 3), and
    for a reply value that float32 cannot represent.
    """
    if isinstance(message, SensorRequest):
        return bytes((Command(message.command),))
    if isinstance(message, ErrorReply):
        return bytes((_ERROR,))
    if isinstance(message, ControlPositions):
        return _CONTROLS.pack(message)
    if isinstance(message, SensorReply):
        return _REPLIES[message.command].pack(message)
    raise TypeError(f'not a message of FDMData: {message!r}')
