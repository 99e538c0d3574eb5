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

"""Sessions with X-Plane 6 to 12 over its native UDP interface."""

from xplane_bridge.bridges.xplane_udp.session.commands import check_rows, DATA_CHANNEL, RowKind
from xplane_bridge.bridges.xplane_udp.session.dialect import Wire
from xplane_bridge.bridges.xplane_udp.session.events import (
    DataArrived,
    DATAREFS,
    FLIGHT_IDS,
    RowTelemetry,
    Statistics,
    TELEMETRY,
    Telemetry,
    TRAFFIC,
    VersionFound,
    WatchedDatarefs,
)
from xplane_bridge.bridges.xplane_udp.session.requests import Sources
from xplane_bridge.bridges.xplane_udp.session.requests.watch import check_watched
from xplane_bridge.bridges.xplane_udp.session.session import BEACON_CHANNEL, XplaneUdpSession

__all__ = [
    'BEACON_CHANNEL',
    'DATAREFS',
    'DATA_CHANNEL',
    'DataArrived',
    'FLIGHT_IDS',
    'RowKind',
    'RowTelemetry',
    'Sources',
    'Statistics',
    'TELEMETRY',
    'TRAFFIC',
    'Telemetry',
    'VersionFound',
    'WatchedDatarefs',
    'Wire',
    'XplaneUdpSession',
    'check_rows',
    'check_watched',
]
