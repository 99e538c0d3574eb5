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

"""Parameters of skylark_node."""

from dataclasses import dataclass

from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.bridges.nodes.vehicle.publisher import VehicleParameters
from xplane_bridge.bridges.skylark import protocol as skylark


@dataclass(frozen=True)
class SkylarkParameters(VehicleParameters):
    """Parameters of skylark_node."""

    host: str = parameter('127.0.0.1', "Address or name of Skylark's computer.")
    port: int = parameter(skylark.PORT, 'UDP port of Skylark.', low=1, high=65535)
    rate: float = parameter(20.0, 'Reports per second.', low=0.1, high=500.0)
