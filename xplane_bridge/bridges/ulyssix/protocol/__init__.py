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

Sources: the Ulyssix UDP Parameter Packet Format document and docs/wire/ulyssix.md. Everything is
little-endian. The document contradicts itself in about twenty places; the table in section 2 lists
the readings followed here.
"""

from xplane_bridge.bridges.ulyssix.protocol.codec import decode, encode
from xplane_bridge.bridges.ulyssix.protocol.dialect import Dialect
from xplane_bridge.bridges.ulyssix.protocol.layouts import PacketLayouts
from xplane_bridge.bridges.ulyssix.protocol.messages import (
    Control,
    COUNTER_MODULUS,
    data_packet,
    DataPacket,
    MAX_DATAGRAM,
    MESSAGES,
    Packet,
    PacketFlag,
    SkippedPacket,
)
from xplane_bridge.bridges.ulyssix.protocol.time import (
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
    'Control', 'COUNTER_MODULUS', 'data_packet', 'DataPacket', 'decode',
    'decode_bcd', 'Dialect', 'encode', 'encode_bcd', 'MAX_DATAGRAM', 'MESSAGES', 'MICROS_PER_DAY',
    'MICROS_PER_HOUR', 'MICROS_PER_MINUTE', 'MICROS_PER_SECOND', 'micros_since_jan1', 'Packet',
    'PacketFlag', 'PacketLayouts', 'PacketTime', 'SkippedPacket', 'WordOrder']
