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
The Ulyssix UDP parameter packet, as Altair and the DEWESoft plug-in publish it.

Sources: the Ulyssix UDP Parameter Packet Format document and docs/wire/ulyssix.md. Everything
is little-endian. The document contradicts itself in about twenty places; the table
there (section 2) has the readings that are followed here.
"""

from xplane_bridge.protocols.ulyssix.decoder import decode
from xplane_bridge.protocols.ulyssix.encoder import data_packet, encode
from xplane_bridge.protocols.ulyssix.packet import (
    Control,
    COUNTER_MODULUS,
    DataPacket,
    MAX_DATAGRAM,
    Packet,
    PacketFlag,
    SkippedPacket,
)
from xplane_bridge.protocols.ulyssix.readable import from_readable, ReadablePacket, to_readable
from xplane_bridge.protocols.ulyssix.time import (
    bcd_to_micros,
    decode_bcd,
    encode_bcd,
    MICROS_PER_DAY,
    MICROS_PER_HOUR,
    MICROS_PER_MINUTE,
    MICROS_PER_SECOND,
    micros_since_jan1,
    PacketTime,
    WordOrder,
)

__all__ = [
    'COUNTER_MODULUS',
    'Control',
    'DataPacket',
    'MAX_DATAGRAM',
    'MICROS_PER_DAY',
    'MICROS_PER_HOUR',
    'MICROS_PER_MINUTE',
    'MICROS_PER_SECOND',
    'Packet',
    'PacketFlag',
    'PacketTime',
    'ReadablePacket',
    'SkippedPacket',
    'WordOrder',
    'bcd_to_micros',
    'data_packet',
    'decode',
    'decode_bcd',
    'encode',
    'encode_bcd',
    'from_readable',
    'micros_since_jan1',
    'to_readable',
]
