"""
The protocol of X-Plane Connect, NASA's plugin for X-Plane: UDP, little-endian.

The real plugin and its document differ; this speaks what the plugin was measured to speak
(XPC wire notes, sections 2, 3 and 5). "Leave as it is" is None here and -998 on the wire.
"""

from xplane_bridge.protocols.xpc.decoding import decode_reply, decode_request
from xplane_bridge.protocols.xpc.encoding import encode, resp_size
from xplane_bridge.protocols.xpc.messages import (
    AIRCRAFT_COUNT,
    Beacon,
    BEACON_GROUP,
    BEACON_PORT,
    Camera,
    Command,
    CommandBegin,
    CommandEnd,
    Connect,
    Connected,
    Controls,
    ControlsReply,
    Datarefs,
    DataRows,
    Forwarded,
    FORWARDED_TAGS,
    GetControls,
    GetDatarefs,
    GetPosition,
    GetTerrain,
    LEAVE,
    MAX_AIRCRAFT,
    MAX_DATA_ROWS,
    MAX_VALUES,
    MAX_WAYPOINTS,
    PlaceAndProbe,
    PORT,
    Position,
    PositionReply,
    Reply,
    REPLY_CLASSES,
    Request,
    REQUEST_CLASSES,
    REQUEST_LIMIT,
    RESP_LIMIT,
    SelectCockpitRows,
    SelectRows,
    SetDatarefs,
    SetView,
    Simulation,
    SimulationOp,
    Terrain,
    TerrainStatus,
    Text,
    UnselectCockpitRows,
    UnselectRows,
    View,
    WaypointOp,
    Waypoints,
)

__all__ = [
    'AIRCRAFT_COUNT', 'BEACON_GROUP', 'BEACON_PORT', 'Beacon', 'Camera', 'Command',
    'CommandBegin', 'CommandEnd', 'Connect', 'Connected', 'Controls', 'ControlsReply',
    'DataRows', 'Datarefs', 'FORWARDED_TAGS', 'Forwarded', 'GetControls', 'GetDatarefs',
    'GetPosition', 'GetTerrain', 'LEAVE', 'MAX_AIRCRAFT', 'MAX_DATA_ROWS', 'MAX_VALUES',
    'MAX_WAYPOINTS', 'PORT', 'PlaceAndProbe', 'Position', 'PositionReply', 'REPLY_CLASSES',
    'REQUEST_CLASSES', 'REQUEST_LIMIT', 'RESP_LIMIT', 'Reply', 'Request', 'SelectCockpitRows',
    'SelectRows', 'SetDatarefs', 'SetView', 'Simulation', 'SimulationOp', 'Terrain',
    'TerrainStatus', 'Text', 'UnselectCockpitRows', 'UnselectRows', 'View', 'WaypointOp',
    'Waypoints', 'decode_reply', 'decode_request', 'encode', 'resp_size']
