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
Start xplane_udp_node: X-Plane 6 to 12 by its own UDP, without a plugin.

ros2 launch xplane_bridge xplane_udp.launch.py discover:=true namespace:=uav1
"""

from xplane_bridge.nodes.launching import bridge_description


def generate_launch_description():
    """Return the launch description."""
    return bridge_description('xplane_udp_node', 'xplane_udp.yaml', {
        'host': (str, "Address or name of X-Plane's computer."),
        'port': (int, 'UDP port that X-Plane listens on.'),
        'discover': (bool, 'Take host and port from the beacon of X-Plane 10 and later.'),
        'version': (str, 'Version of X-Plane: auto, or 6 to 12.'),
        'data_port': (int, 'Local UDP port for rows.'),
    })
