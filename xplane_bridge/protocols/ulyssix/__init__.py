"""
The Ulyssix UDP parameter packet, as Altair and the DEWESoft plug-in publish it.

Sources: the Ulyssix UDP Parameter Packet Format document and the Ulyssix wire notes. Everything
is little-endian. The document contradicts itself in about twenty places; the notes' table
(section 2) has the readings that are followed here.
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
