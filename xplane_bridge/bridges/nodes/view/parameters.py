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


"""Parameters of view_node."""

from __future__ import annotations

from dataclasses import dataclass

from xplane_bridge.bridges.nodes.common.base import BaseParameters
from xplane_bridge.bridges.nodes.managed.parameters import parameter


@dataclass(frozen=True)
class ViewParameters(BaseParameters):
    """Parameters of view_node."""

    urdf: str = parameter(
        '', 'URDF of the aircraft. Empty: data/view/aircraft.urdf of this package.')
    frame_prefix: str = parameter(
        '', "Prefix of the aircraft's frames, for example \"uav1/\"; as the bridge has it.")
    base_frame: str = parameter(
        'base_link', "Frame of the URDF's root, without prefix; as the bridge has it.")
    publish_tf: bool = parameter(
        True, 'Publish base_frame to the moving parts on /tf, if tf2 is installed.')
    publish_odom_tf: bool = parameter(
        True, 'Publish the frames of odom on /tf, if tf2 is installed; false where the bridge '
        'does that (its parameter publish_tf).')
    from_commands: bool = parameter(
        False, 'Move the surfaces as command/controls says, for a simulator that does not report '
        'its controls.')
    rate: float = parameter(
        30.0, 'At most this many joint_states per second, in real time.', low=0.1,
        high=1000.0)
    path_spacing: float = parameter(
        10.0, 'Metres between two positions of the path flown.', low=0.1, high=100000.0)
    path_length: int = parameter(
        1000, 'Positions of the path flown; then the oldest ones go.', low=2, high=100000)
