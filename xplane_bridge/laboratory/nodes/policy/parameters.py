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

"""Parameters of policy_node."""

from __future__ import annotations

from dataclasses import dataclass

from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.bridges.nodes.vehicle.namespaces import NamespacesParameters


@dataclass(frozen=True)
class PolicyParameters(NamespacesParameters):
    """Parameters of policy_node."""

    policy: str = parameter(
        '', 'What flies: the name of a policy of this package, file.onnx, '
        'package.module:attribute, or file.py:attribute.')
    lockstep: bool = parameter(
        False, 'Command once per stamp, when imu/data, fix, odom and air_data of that stamp have '
        'arrived: for a simulator in lockstep behind a bridge with stamp: simulator.')
    behind_sensors: bool = parameter(
        False, 'It is behind sensors_node: in lockstep wait for imu/data of a stamp only, and use '
        'the newest of the others; positions may be 2.5 s old, not 0.5 s.')
