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
The protocol of X-Plane Connect, NASA's plugin for X-Plane: UDP, little-endian.

The real plugin and its document differ; this implements what the plugin was measured to do
(docs/wire/xpc.md, sections 2, 3 and 5). "Leave unchanged" is None here and -998 on the wire.
"""

from xplane_bridge.bridges.xpc.protocol.codec import decode, encode
from xplane_bridge.bridges.xpc.protocol.messages import (
    AIRCRAFT_COUNT,
    ALTITUDE_RANGE,
    Beacon,
    BEACON_GROUP,
    BEACON_PORT,
    Camera,
    CommandBegin,
    CommandEnd,
    CommandOnce,
    Connect,
    ConnectReply,
    ControlsReply,
    Datarefs,
    DataRows,
    EditWaypoints,
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
    MESSAGES,
    PlaceAndProbe,
    PORT,
    Position,
    PositionReply,
    Reply,
    Request,
    REQUEST_LIMIT,
    RESP_LIMIT,
    SelectCockpitRows,
    SelectRows,
    SetControls,
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
)
from xplane_bridge.bridges.xpc.protocol.replies import resp_size

__all__ = [
    'AIRCRAFT_COUNT', 'ALTITUDE_RANGE', 'BEACON_GROUP', 'BEACON_PORT', 'Beacon', 'Camera',
    'CommandOnce', 'CommandBegin', 'CommandEnd', 'Connect', 'ConnectReply', 'SetControls',
    'ControlsReply',
    'DataRows', 'Datarefs', 'FORWARDED_TAGS', 'Forwarded', 'GetControls', 'GetDatarefs',
    'GetPosition', 'GetTerrain', 'LEAVE', 'MAX_AIRCRAFT', 'MAX_DATA_ROWS', 'MAX_VALUES',
    'MAX_WAYPOINTS', 'MESSAGES', 'PORT', 'PlaceAndProbe', 'Position', 'PositionReply',
    'REQUEST_LIMIT', 'RESP_LIMIT', 'Reply', 'Request', 'SelectCockpitRows', 'SelectRows',
    'SetDatarefs', 'SetView', 'Simulation', 'SimulationOp', 'Terrain', 'TerrainStatus', 'Text',
    'UnselectCockpitRows', 'UnselectRows', 'View', 'WaypointOp', 'EditWaypoints', 'decode',
    'encode', 'resp_size']
