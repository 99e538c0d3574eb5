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

"""X-Plane's native UDP, versions 6 to 12: codec between bytes and frozen dataclasses."""

from xplane_bridge.bridges.xplane_udp.protocol.codec import (
    decode,
    DREF_SIZE,
    encode,
    MOST_RREF_VALUES,
)
from xplane_bridge.bridges.xplane_udp.protocol.conversion import (
    quantities,
    RowQuantities,
    rows_for,
    to_segments,
    Value,
)
from xplane_bridge.bridges.xplane_udp.protocol.data import (
    Data,
    DataLayout,
    Dcoc,
    decode_data,
    default_layout,
    Dsel,
    encode_data,
    INTEGER_INPUTS,
    MOST_ROWS,
    NO_DATA,
    Segment,
    Selection,
    Ucoc,
    Usel,
    VALUES_PER_ROW,
    VERSIONS,
)
from xplane_bridge.bridges.xplane_udp.protocol.dialect import Dialect
from xplane_bridge.bridges.xplane_udp.protocol.messages import (
    Acfn,
    Acpr,
    Alrt,
    BEACON_GROUP,
    BEACON_PORT,
    Becn,
    Cmnd,
    DATA_OUTPUT_TARGET,
    Dref,
    Fail,
    Ise4,
    Ise6,
    Iset,
    Lsnd,
    MESSAGES,
    Nfal,
    Nrec,
    Objl,
    Objn,
    PORT,
    Prel,
    Quit,
    RadrPoint11,
    RadrPoint12,
    RadrReply,
    RadrRequest,
    Reco,
    Rese,
    RposReply,
    RposRequest,
    RrefReply,
    RrefRequest,
    Shut,
    Simo,
    Soun,
    Ssnd,
    Veh1,
    Vehs,
    Vehx,
)
from xplane_bridge.bridges.xplane_udp.protocol.rows import (
    Column,
    Row,
    ROW_COUNTS,
    row_name,
    ROWS,
    Unit,
)

__all__ = [
    'Acfn', 'Acpr', 'Alrt', 'BEACON_GROUP', 'BEACON_PORT', 'Becn', 'Cmnd', 'Column',
    'DATA_OUTPUT_TARGET', 'DREF_SIZE', 'Data', 'Dcoc', 'Dialect', 'Dref', 'Dsel', 'Fail',
    'INTEGER_INPUTS', 'Ise4', 'Ise6', 'Iset', 'DataLayout', 'Lsnd', 'MOST_ROWS',
    'MOST_RREF_VALUES', 'MESSAGES', 'NO_DATA', 'Nfal',
    'Nrec', 'Objl', 'Objn', 'PORT', 'Prel', 'RowQuantities', 'Quit', 'ROWS', 'ROW_COUNTS',
    'RadrPoint11', 'RadrPoint12', 'RadrReply', 'RadrRequest', 'Reco', 'Rese', 'Row', 'RposReply',
    'RposRequest', 'RrefReply', 'RrefRequest', 'Segment', 'Selection', 'Shut', 'Simo',
    'Soun', 'Ssnd', 'Ucoc', 'Unit', 'Usel', 'VALUES_PER_ROW', 'VERSIONS', 'Value', 'Veh1', 'Vehs',
    'Vehx', 'decode', 'decode_data', 'default_layout', 'encode', 'encode_data', 'quantities',
    'row_name', 'rows_for', 'to_segments',
]
