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

"""Ulyssix packets to bytes, in every variant that the decoder understands."""

from collections.abc import Sequence
import struct
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xplane_bridge.protocols.ulyssix.packet import (
    Control,
    DataPacket,
    END,
    MAX_DATAGRAM,
    NAME_SEPARATOR,
    Packet,
    PacketFlag,
    SAMPLE_LAYOUTS,
    SIZE_WITHOUT_DATA,
    SkippedPacket,
    START,
    UNUSED_BITS,
)
from xplane_bridge.protocols.ulyssix.time import encode_bcd, PacketTime


def data_packet(
    counter: int,
    total_samples: int,
    time: PacketTime,
    values: Sequence[ArrayLike],
    times: Sequence[ArrayLike] | None = None,
    *,
    names: Sequence[str] | None = None,
    integer_width: int | None = None,
    mirrored: bool = False,
    reserved_bits: int = 0,
) -> DataPacket:
    """
    Make a data packet of parameters.

    values: one array a parameter, which may be empty; times: likewise, as long as the values, in
    seconds (in integer mode microseconds) since 1 January 00:00, or None for no time tags.
    integer_width: 4 or 8 for integer mode, None for floating point. reserved_bits: bits 3 to 7 of
    the control byte. The word order is the time's.

    Raises ValueError where the parts do not fit together or into their types, TypeError for
    values in integer mode that are no integers.
    """
    if integer_width not in SAMPLE_LAYOUTS:
        raise ValueError(f'integer_width is {integer_width}, expected 4, 8 or None')
    if reserved_bits & ~UNUSED_BITS:
        raise ValueError(f'reserved_bits is 0x{reserved_bits:02x}, expected bits 3 to 7 only')
    integer = integer_width is not None
    value_type = np.dtype('i8' if integer else 'f4')
    time_type = np.dtype('u8' if integer else 'f8')
    counts = [np.size(each) for each in values]
    if times is not None and [np.size(each) for each in times] != counts:
        raise ValueError('times: expected as many as values for each parameter')
    control = reserved_bits
    control |= Control.TIME_TAGGED if times is not None else 0
    control |= Control.NAMES if names is not None else 0
    control |= Control.INTEGER if integer else 0
    return DataPacket(
        counter=counter,
        control=int(control),
        names=tuple(names) if names is not None else None,
        samples_in_payload=sum(counts),
        total_samples=total_samples,
        bcd_hex_on_wire=encode_bcd(time).hex(),
        integer_width=integer_width,
        counts=np.array(counts, np.int64),
        values=_join(values, value_type, 'values'),
        times=None if times is None else _join(times, time_type, 'times'),
        flags=(PacketFlag.MIRRORED_STRINGS,) if mirrored else (),
    )


def encode(packet: Packet) -> bytes:
    """
    Encode a packet as its fields say; of its flags only MIRRORED_STRINGS counts.

    Names go as UTF-8; a control byte that announces names which are None gets a length of 0.
    samples_in_payload is sent as it stands. Raises ValueError where fields contradict each other,
    do not fit their size on the wire, or make more than one UDP datagram.
    """
    header = _pack('<IB', packet.counter, packet.control) + _names(packet)
    if isinstance(packet, SkippedPacket):
        if packet.packet_type == 0:
            raise ValueError('packet_type is 0, expected another in a skipped packet')
        packet_type, payload = packet.packet_type, packet.payload
        if len(payload) < SIZE_WITHOUT_DATA - 8:
            raise ValueError(f'payload: {len(payload)} bytes, expected at least 20')
    else:
        packet_type, payload = 0, _data_header(packet) + _data(packet)
    start, end = (END, START) if PacketFlag.MIRRORED_STRINGS in packet.flags else (START, END)
    datagram = b''.join(
        (header, start, _pack('<II', 8 + len(payload), packet_type), payload, end)
    )
    if len(datagram) > MAX_DATAGRAM:
        raise ValueError(f'packet: {len(datagram)} bytes, expected at most {MAX_DATAGRAM}')
    return datagram


def _names(packet: Packet) -> bytes:
    names = packet.names
    if not packet.control & Control.NAMES:
        if names is not None:
            raise ValueError('names are given, but the control byte announces none')
        return b''
    if not names:
        return b'\x00\x00'
    if isinstance(packet, DataPacket) and len(names) != len(packet.counts):
        raise ValueError(f'names: {len(names)}, expected {len(packet.counts)}, one a parameter')
    if any(NAME_SEPARATOR in name for name in names):
        raise ValueError('names: the separator 0x1f cannot be part of a name')
    raw = NAME_SEPARATOR.join(names).encode()
    if not raw:
        raise ValueError('names: one empty name reads as no names')
    return _pack('<H', len(raw)) + raw


def _data_header(packet: DataPacket) -> bytes:
    bcd = bytes.fromhex(packet.bcd_hex_on_wire)
    if len(bcd) != 8:
        raise ValueError(f'bcd_hex_on_wire: {len(bcd)} bytes, expected 8')
    return _pack('<IQ', packet.samples_in_payload, packet.total_samples) + bcd


def _data(packet: DataPacket) -> bytes:
    """Return each parameter's count and samples."""
    if bool(packet.control & Control.INTEGER) != (packet.integer_width is not None):
        raise ValueError('integer_width and the control byte contradict each other')
    if bool(packet.control & Control.TIME_TAGGED) != (packet.times is not None):
        raise ValueError('times and the control byte contradict each other')
    if packet.integer_width not in SAMPLE_LAYOUTS:
        raise ValueError(f'integer_width is {packet.integer_width}, expected 4, 8 or None')
    samples = len(packet.values)
    if packet.counts.sum() != samples or (packet.counts < 0).any():
        raise ValueError(f'counts: expected a sum of {samples}, got {packet.counts.sum()}')
    layout = SAMPLE_LAYOUTS[packet.integer_width][packet.times is not None]
    records = np.empty(samples, layout.sample)
    if packet.times is None:
        records[:] = _fit(packet.values, layout.sample, 'values')
    else:
        if len(packet.times) != samples:
            raise ValueError(f'times: {len(packet.times)}, expected {samples}')
        records['value'] = _fit(packet.values, layout.sample['value'], 'values')
        records['time'] = _fit(packet.times, layout.sample['time'], 'times')
    raw = records.tobytes()
    parts = []
    at = 0
    for count in packet.counts.tolist():
        after = at + count * layout.sample.itemsize
        parts += [_pack('<I', count), raw[at:after]]
        at = after
    return b''.join(parts)


def _pack(layout: str, *values: int) -> bytes:
    try:
        return struct.pack(layout, *values)
    except struct.error as error:
        raise ValueError(f'{values}: {error}') from None


def _join(arrays: Sequence[ArrayLike], kind: np.dtype[Any], what: str) -> NDArray[Any]:
    """Join the parameters' arrays into one, whose type holds every value."""
    fitted = [_fit(np.asarray(each).reshape(-1), kind, what) for each in arrays]
    return np.concatenate([np.empty(0, kind), *fitted])


def _fit(array: NDArray[Any], kind: np.dtype[Any], what: str) -> NDArray[Any]:
    """Convert to kind; raise where that would change a value by more than rounding."""
    if array.size == 0:
        return array.astype(kind)
    if kind.kind == 'f':
        with np.errstate(over='ignore'):
            fitted = array.astype(kind)
        if (np.isinf(fitted) & ~np.isinf(array)).any():
            raise ValueError(f'{what}: a value is too large for {kind.name}')
        return fitted
    if array.dtype.kind not in 'iu':
        raise TypeError(f'{what}: expected integers, got {array.dtype.name}')
    limits = np.iinfo(kind)
    if int(array.min()) < limits.min or int(array.max()) > limits.max:
        raise ValueError(f'{what}: a value is out of the range of {kind.name}')
    return array.astype(kind)
