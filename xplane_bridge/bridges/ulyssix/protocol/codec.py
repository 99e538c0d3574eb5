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
Ulyssix packets to messages and back.

Every length and count is checked before anything is allocated. These messages have no declared
fields: all but a few bytes are samples, which are decoded by column.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
import struct

import numpy as np

from xplane_bridge.bridges.protocols.base import checked_int, Message, Sender
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.ulyssix.protocol.columns import (
    read_columns,
    SAMPLE_LAYOUTS,
    write_columns,
)
from xplane_bridge.bridges.ulyssix.protocol.layouts import PacketLayouts
from xplane_bridge.bridges.ulyssix.protocol.messages import (
    Control,
    DataPacket,
    MAX_DATAGRAM,
    Packet,
    PacketFlag,
    SkippedPacket,
    UNUSED_BITS,
)
from xplane_bridge.common.text import counted

START = bytes(range(8))  # printed as the integer 0x0706050403020100, sent little-endian
END = START[::-1]
NAME_SEPARATOR = '\x1f'
SIZE_WITHOUT_DATA = 28  # size of a payload header as counted by payload size, of 36 bytes

_HEADER = struct.Struct('<IB')
_NAMES_LENGTH = struct.Struct('<H')
# start string, payload size, packet type, samples in payload, total samples, time
_PAYLOAD_HEADER = struct.Struct('<8sIIIQ8s')
_TYPE_END = 16  # of the payload header
_END_STRING = struct.Struct('8s')
_START_STRINGS = (START, END)

_TIME_TAGGED = int(Control.TIME_TAGGED)  # plain integers: an IntFlag's & takes a microsecond
_NAMES = int(Control.NAMES)
_INTEGER = int(Control.INTEGER)


def decode(
    data: bytes | bytearray | memoryview, sender: Sender, *, integer_width: int | None = None,
    layouts: PacketLayouts | None = None,
) -> Packet:
    """
    Decode one datagram of the publisher, the only side that sends.

    integer_width: bytes per value in integer mode, 4 or 8. None detects it: the counts must end
    exactly where the payload size says and add up to samples in payload, and there must be as many
    parameters as names; if both widths fit, 8 is used, with a flag. layouts: those of earlier
    packets, which only make decoding faster; new ones are added.

    The result holds copies, so the buffer of data may be reused. Harmless oddities are flagged.
    One of these is a sum of counts that differs from samples in payload while the width is
    certain, because the payload size has proved the counts: no publisher could be examined, and
    one that counts samples differently should still be heard.

    Raises ProtocolError for bytes that are not a Ulyssix packet, ValueError for another
    integer_width. Source: docs/wire/ulyssix.md.
    """
    if sender != 'peer':
        raise ProtocolError('nothing is sent to a publisher')
    if integer_width not in SAMPLE_LAYOUTS:
        raise ValueError(f'integer_width is {integer_width}, expected 4, 8 or None')
    if not isinstance(data, bytes):
        data = memoryview(data).cast('B')
    if layouts is not None:
        known = layouts.decode(data, integer_width)
        if known is not None:
            return known
    return _decode(memoryview(data), integer_width, layouts)


def _decode(
    view: memoryview, integer_width: int | None, layouts: PacketLayouts | None
) -> Packet:
    """Walk through a datagram, and learn its layout."""
    if len(view) < _HEADER.size:
        raise ProtocolError(f'header: {counted(len(view), "byte")}, need {_HEADER.size}')
    counter, control = _HEADER.unpack_from(view)
    names, payload, odd = _read_names(view) if control & _NAMES else (None, _HEADER.size, ())
    try:
        start_string, size, packet_type, samples_in_payload, total_samples, bcd = (
            _PAYLOAD_HEADER.unpack_from(view, payload))
    except struct.error:
        raise ProtocolError(
            f'payload header: {counted(len(view) - payload, "byte")} left at offset {payload}, '
            f'need {_PAYLOAD_HEADER.size}') from None
    end, flags = _read_frame(view, payload, start_string, size)
    flags += odd
    if control & UNUSED_BITS:
        flags += (PacketFlag.RESERVED_BITS,)
    if packet_type != 0:
        rest = bytes(view[payload + _TYPE_END:end])
        return SkippedPacket(counter, control, names, packet_type, rest, flags)

    start = payload + _PAYLOAD_HEADER.size
    tagged = control & _TIME_TAGGED != 0
    width = integer_width if control & _INTEGER else None
    detected = control & _INTEGER != 0 and width is None
    if detected:
        width, odd = _find_width(view, start, end, tagged, samples_in_payload, names)
        flags += odd
    layout = SAMPLE_LAYOUTS[width][tagged]
    counts, values, times = read_columns(view, start, end, layout)
    if len(values) != samples_in_payload:
        flags += (PacketFlag.SAMPLE_COUNT_MISMATCH,)
    if names is not None and len(names) != len(counts):
        names = None
        flags += (PacketFlag.NAME_COUNT_MISMATCH,)
    packet = DataPacket(
        counter, control, names, samples_in_payload, total_samples, bcd.hex(), width, counts,
        values, times, flags)
    # A detected width depends on the data, a wrong number of samples is flagged.
    if layouts is not None and not detected and len(values) == samples_in_payload:
        layouts.learn(view, integer_width, payload, end, layout, packet)
    return packet


def _read_names(
    view: memoryview,
) -> tuple[tuple[str, ...] | None, int, tuple[PacketFlag, ...]]:
    """Return the names (None if their length is 0), the payload's offset, and oddities."""
    at = _HEADER.size
    if len(view) < at + _NAMES_LENGTH.size:
        raise ProtocolError(
            'names length: '
            f'{counted(len(view) - at, "byte")} left at offset {at}, need {_NAMES_LENGTH.size}'
        )
    (length,) = _NAMES_LENGTH.unpack_from(view, at)
    at += _NAMES_LENGTH.size
    if len(view) - at < length:
        raise ProtocolError(
            f'names: {counted(len(view) - at, "byte")} left at offset {at}, need {length}')
    if length == 0:
        return None, at, ()
    end = at + length
    if view[end:end + len(START)] not in _START_STRINGS:
        end_of_characters = _find_end(view, at, length)
        if end_of_characters is not None:
            names = _split_names(bytes(view[at:end_of_characters]))
            return names, end_of_characters, (PacketFlag.NAMES_LENGTH_IN_CHARACTERS,)
    return _split_names(bytes(view[at:end])), end, ()


def _find_end(view: memoryview, at: int, length: int) -> int | None:
    """
    Return where that many UTF-8 characters end, as the document counts the names' length.

    None if no payload begins there.
    """
    text = np.frombuffer(view, np.uint8)[at:]
    first_bytes = np.flatnonzero((text & 0xC0) != 0x80)
    if len(first_bytes) <= length:
        return None
    end = at + int(first_bytes[length])
    return end if view[end:end + len(START)] in _START_STRINGS else None


@lru_cache(maxsize=16)  # a publisher repeats the same names in each packet
def _split_names(raw: bytes) -> tuple[str, ...]:
    try:
        text = raw.decode()
    except UnicodeDecodeError:  # the document counts characters, meaning a single-byte code page
        text = raw.decode('latin-1')
    return tuple(text.split(NAME_SEPARATOR))


def _read_frame(
    view: memoryview, payload: int, start_string: bytes, size: int
) -> tuple[int, tuple[PacketFlag, ...]]:
    """Return the offset of the end string, and the oddities of the frame."""
    if start_string == START:
        end_string = END
        flags: tuple[PacketFlag, ...] = ()
    elif start_string == END:
        end_string = START
        flags = (PacketFlag.MIRRORED_STRINGS,)
    else:
        raise ProtocolError(
            f'start string at offset {payload}: '
            f'expected {START.hex()}, got {start_string.hex()}'
        )
    if size < SIZE_WITHOUT_DATA:
        raise ProtocolError(f'payload size: {size}, expected at least {SIZE_WITHOUT_DATA}')
    end = payload + len(START) + size
    left = len(view) - end
    if left < len(END):
        raise ProtocolError(
            'end string: '
            f'{counted(max(0, left), "byte")} left at offset {end}, where payload size {size} '
            f'puts it, need {len(END)}'
        )
    (found,) = _END_STRING.unpack_from(view, end)
    if found != end_string:
        raise ProtocolError(
            f'end string at offset {end}, where payload size {size} puts it: '
            f'expected {end_string.hex()}, got {found.hex()}'
        )
    if left > len(END):
        flags += (PacketFlag.TRAILING_BYTES,)
    return end, flags


def _find_width(
    view: memoryview,
    start: int,
    end: int,
    tagged: bool,
    samples_in_payload: int,
    names: Sequence[str] | None,
) -> tuple[int, tuple[PacketFlag, ...]]:
    """
    Detect the width of integer values (docs/wire/ulyssix.md, section 2, row 7).

    Returns the width, and a flag if the other one would also have fitted.
    """
    parameters = None if names is None else len(names)
    landed = {}
    reasons = []
    for width in (8, 4):
        try:
            counts, values, _ = read_columns(view, start, end, SAMPLE_LAYOUTS[width][tagged])
        except ProtocolError as error:
            reasons.append(f'as {width}-byte values, {error}')
            continue
        if len(values) == samples_in_payload:
            landed[width] = len(counts)
        else:
            reasons.append(
                f'as {width}-byte values, {len(values)} samples, expected {samples_in_payload}'
            )
    if not landed:
        raise ProtocolError('; '.join(reasons))
    widths = [width for width in landed if landed[width] == parameters] or list(landed)
    return widths[0], (PacketFlag.INTEGER_WIDTH_AMBIGUOUS,) if len(widths) > 1 else ()


def encode(message: Message) -> bytes:
    """
    Encode a packet as its fields say; of its flags only MIRRORED_STRINGS counts.

    Names are sent as UTF-8; a control byte that announces names which are None gets a length of 0.
    samples_in_payload is sent unchanged. Raises ValueError if fields contradict each other, do not
    fit their size on the wire, or exceed one UDP datagram.
    """
    if isinstance(message, SkippedPacket):
        packet_type, payload = _unsigned(message, 'packet_type', 4), message.payload
        if not message.packet_type:
            raise ValueError('packet_type is 0, expected another in a skipped packet')
        if len(payload) < SIZE_WITHOUT_DATA - 8:
            raise ValueError(f'payload: {counted(len(payload), "byte")}, expected at least 20')
    elif isinstance(message, DataPacket):
        packet_type, payload = bytes(4), _data(message)
    else:
        raise TypeError(f'not a message of Ulyssix: {message!r}')
    start, end = (END, START) if PacketFlag.MIRRORED_STRINGS in message.flags else (START, END)
    datagram = b''.join((
        _unsigned(message, 'counter', 4), _unsigned(message, 'control', 1), _names(message),
        start, (8 + len(payload)).to_bytes(4, 'little'), packet_type, payload, end))
    if len(datagram) > MAX_DATAGRAM:
        raise ValueError('packet: '
                         f'{counted(len(datagram), "byte")}, expected at most {MAX_DATAGRAM}')
    return datagram


def _unsigned(packet: Packet, name: str, size: int) -> bytes:
    value = checked_int(f'{packet.tag} {name}', getattr(packet, name), 0, 2**(8 * size) - 1)
    return value.to_bytes(size, 'little')


def _names(packet: Packet) -> bytes:
    names = packet.names
    if not packet.control & Control.NAMES:
        if names is not None:
            raise ValueError('names are given, but the control byte announces none')
        return b''
    if not names:
        return _NAMES_LENGTH.pack(0)
    if isinstance(packet, DataPacket) and len(names) != len(packet.counts):
        raise ValueError(f'names: {len(names)}, expected {len(packet.counts)}, one per parameter')
    if any(NAME_SEPARATOR in name for name in names):
        raise ValueError('names: the separator 0x1f cannot be part of a name')
    raw = NAME_SEPARATOR.join(names).encode()
    if not 0 < len(raw) < 2**16:
        raise ValueError(f'names: {counted(len(raw), "byte")}, expected at most 65535' if raw else
                         'names: one empty name reads as no names')
    return _NAMES_LENGTH.pack(len(raw)) + raw


def _data(packet: DataPacket) -> bytes:
    """Return the rest of the payload header, and the columns."""
    if bool(packet.control & Control.INTEGER) != (packet.integer_width is not None):
        raise ValueError('integer_width and the control byte contradict each other')
    tagged = packet.times is not None
    if bool(packet.control & Control.TIME_TAGGED) != tagged:
        raise ValueError('times and the control byte contradict each other')
    if packet.integer_width not in SAMPLE_LAYOUTS:
        raise ValueError(f'integer_width is {packet.integer_width}, expected 4, 8 or None')
    bcd = bytes.fromhex(packet.bcd_hex_on_wire)
    if len(bcd) != 8:
        raise ValueError(f'bcd_hex_on_wire: {counted(len(bcd), "byte")}, expected 8')
    return b''.join((
        _unsigned(packet, 'samples_in_payload', 4), _unsigned(packet, 'total_samples', 8), bcd,
        write_columns(packet.counts, packet.values, packet.times,
                      SAMPLE_LAYOUTS[packet.integer_width][tagged])))
