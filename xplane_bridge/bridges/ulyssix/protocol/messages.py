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

"""The contents of a Ulyssix packet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import enum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xplane_bridge.bridges.protocols.base import Message, messages
from xplane_bridge.bridges.ulyssix.protocol.columns import fitted, SAMPLE_LAYOUTS
from xplane_bridge.bridges.ulyssix.protocol.time import encode_bcd, PacketTime

COUNTER_MODULUS = 2**32
MAX_DATAGRAM = 65507  # of UDP over IPv4


class Control(enum.IntFlag):
    """Bits of the control byte; 3 to 7 are unused."""

    TIME_TAGGED = 1
    NAMES = 2
    INTEGER = 4


UNUSED_BITS = 0xF8


class PacketFlag(enum.Enum):
    """Oddities of a packet that could be decoded nevertheless."""

    RESERVED_BITS = 'unused bits of the control byte are set'
    MIRRORED_STRINGS = 'start and end string are sent most significant byte first'
    TRAILING_BYTES = 'bytes follow the end string'
    NAMES_LENGTH_IN_CHARACTERS = 'the length of the names counts characters'
    NAME_COUNT_MISMATCH = 'as many names as parameters were expected; the names are dropped'
    SAMPLE_COUNT_MISMATCH = 'samples in payload is not the sum of the counts'
    INTEGER_WIDTH_AMBIGUOUS = 'the data can be read with 8-byte and with 4-byte values'


# Not frozen, unlike all other messages: that would take 0.9 of a decode's 9 us.
@dataclass(slots=True, eq=False)
class DataPacket(Message):
    """
    A data packet (type 0), its numbers as on the wire.

    counter: modulo 2^32. control: the whole control byte, see Control. names: of the parameters in
    order, or None. samples_in_payload, total_samples: as the header says. bcd_hex_on_wire: the
    eight bytes of the packet's time, as hex digits in the order sent; decode_bcd interprets them.
    integer_width: 8 or 4 bytes per value in integer mode, None for floating point. counts: samples
    of each parameter, int64, shape (parameters,). values: all samples, parameters in order,
    float32, or int64 in integer mode; shape (samples,). times: of each sample, since 1 January
    00:00: float64 in seconds, or uint64 in microseconds in integer mode; None without time tags.
    flags: oddities of the packet.
    """

    tag: ClassVar[str] = 'data'

    counter: int
    control: int
    names: tuple[str, ...] | None
    samples_in_payload: int
    total_samples: int
    bcd_hex_on_wire: str
    integer_width: int | None
    counts: NDArray[np.int64]
    values: NDArray[np.float32] | NDArray[np.int64]
    times: NDArray[np.float64] | NDArray[np.uint64] | None
    flags: tuple[PacketFlag, ...] = ()


@dataclass(frozen=True, slots=True)
class SkippedPacket(Message):
    """
    A packet of a type other than 0, which the document does not describe.

    payload: the bytes between the packet type and the end string, at least 20.
    """

    tag: ClassVar[str] = 'skipped'

    counter: int
    control: int
    names: tuple[str, ...] | None
    packet_type: int
    payload: bytes
    flags: tuple[PacketFlag, ...] = ()


Packet = DataPacket | SkippedPacket

MESSAGES = messages(bridge=(), peer=(DataPacket, SkippedPacket))


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
    Make a data packet from parameters.

    values: one array per parameter, which may be empty; times: likewise, as long as the values, in
    seconds (in integer mode microseconds) since 1 January 00:00, or None for no time tags.
    integer_width: 4 or 8 for integer mode, None for floating point. reserved_bits: bits 3 to 7 of
    the control byte. The word order is that of the time.

    Raises ValueError if the parts do not fit together or into their types, TypeError for
    non-integer values in integer mode.
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


def _join(arrays: Sequence[ArrayLike], kind: np.dtype[Any], what: str) -> NDArray[Any]:
    """Join the parameters' arrays into one, of a type that holds every value."""
    parts = [fitted(np.asarray(each).reshape(-1), kind, what) for each in arrays]
    return np.concatenate([np.empty(0, kind), *parts])
