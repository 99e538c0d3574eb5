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

"""What a Ulyssix packet holds, and the layout that decoder and encoder share."""

from dataclasses import dataclass
import enum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

COUNTER_MODULUS = 2**32
MAX_DATAGRAM = 65507  # of UDP over IPv4

START = bytes(range(8))  # printed as the integer 0x0706050403020100, sent little-endian
END = START[::-1]
NAME_SEPARATOR = '\x1f'
SIZE_WITHOUT_DATA = 28  # what payload size counts of a payload header, of 36 bytes


class Control(enum.IntFlag):
    """Bits of the control byte; 3 to 7 are unused."""

    TIME_TAGGED = 1
    NAMES = 2
    INTEGER = 4


UNUSED_BITS = 0xF8


class PacketFlag(enum.Enum):
    """What was odd about a packet that could be decoded all the same."""

    RESERVED_BITS = 'unused bits of the control byte are set'
    MIRRORED_STRINGS = 'start and end string are sent most significant byte first'
    TRAILING_BYTES = 'bytes follow the end string'
    NAMES_LENGTH_IN_CHARACTERS = 'the length of the names counts characters'
    NAME_COUNT_MISMATCH = 'as many names as parameters were expected; the names are dropped'
    SAMPLE_COUNT_MISMATCH = 'samples in payload is not the sum of the counts'
    INTEGER_WIDTH_AMBIGUOUS = 'the data can be read with 8-byte and with 4-byte values'


# Not frozen, alone among the messages: that would take 0.9 of a decode's 9 us.
@dataclass(slots=True, eq=False)
class DataPacket:
    """
    A data packet (type 0), its numbers as they stand on the wire.

    counter: modulo 2^32. control: the whole control byte, see Control. names: of the parameters
    in order, or None. samples_in_payload, total_samples: as the header says.
    bcd_hex_on_wire: the eight bytes of the packet's time, as hex digits in the order sent; what
    they may mean is for decode_bcd.
    integer_width: 8 or 4 bytes a value in integer mode, None for floating point.
    counts: samples of each parameter, int64, shape (parameters,).
    values: all samples, parameters in order, float32, or int64 in integer mode; shape (samples,).
    times: of each sample, since 1 January 00:00: float64 in seconds, or uint64 in microseconds in
    integer mode; None without time tags.
    flags: what was odd.
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
class SkippedPacket:
    """
    A packet of another type than 0, which the document does not describe.

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


@dataclass(frozen=True, slots=True)
class SampleLayout:
    """
    One sample on the wire.

    sample: the value's type, or with a time tag a structure of `value` and `time`; narrow:
    whether values are delivered in a wider type, int64.
    """

    sample: np.dtype[Any]
    tagged: bool
    narrow: bool


def _layouts(value: str, time: str) -> dict[bool, SampleLayout]:
    pair = np.dtype([('value', value), ('time', time)])
    narrow = value == '<i4'
    return {
        False: SampleLayout(np.dtype(value), False, narrow),
        True: SampleLayout(pair, True, narrow),
    }


# By integer width (None: floating point), then by time tag (docs/wire/ulyssix.md, section 1).
SAMPLE_LAYOUTS = {
    None: _layouts('<f4', '<f8'),
    8: _layouts('<i8', '<u8'),
    4: _layouts('<i4', '<u8'),
}
