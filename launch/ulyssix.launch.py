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
Start ulyssix_node: Altair or DEWESoft that publishes parameters by UDP.

ros2 launch xplane_bridge ulyssix.launch.py port:=5000 namespace:=telemetry
"""

from xplane_bridge.nodes.launching import bridge_description


def generate_launch_description():
    """Return the launch description."""
    return bridge_description('ulyssix_node', 'ulyssix.yaml', {
        'port': (int, 'UDP port that the publisher sends to; required here or there.'),
        'group': (str, 'Multicast group to join.'),
        'sender': (str, 'Address or name of the only computer to listen to.'),
        'capture_file': (str, 'pcap file to play instead of listening.'),
        'capture_speed': (float, 'Multiple of the recorded speed; 0 is as fast as possible.'),
    })
