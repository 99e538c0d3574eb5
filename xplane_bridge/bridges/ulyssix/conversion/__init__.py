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
Maps of telemetry parameters: from names and raw values to quantities, limits and vehicle states.

The flight-test engineer's map.yaml. Pure: used by ulyssix_node, and by ``ulyssix record``.
"""

from xplane_bridge.bridges.ulyssix.conversion.applying import (
    AppliedMap,
    Derived,
    PacketSamples,
    TopicQuantities,
)
from xplane_bridge.bridges.ulyssix.conversion.reading import (
    load,
    MapEntry,
    MapError,
    ParameterMap,
    parse,
)

__all__ = [
    'AppliedMap', 'Derived', 'load', 'MapError', 'PacketSamples', 'MapEntry', 'ParameterMap',
    'parse', 'TopicQuantities',
]
