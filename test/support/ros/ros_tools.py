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

"""Which of ROS 2's own tools the tests run with: the genuine ones, or stand-ins."""

from importlib.util import find_spec
import os
from pathlib import Path
from xml.etree import ElementTree

# Python modules by package, and what takes the place of one that is not installed; tests that need
# one without a stand-in are skipped.
TOOLS = {
    'launch': ('launch', ''),
    'launch_ros': ('launch_ros', ''),
    'launch_testing': ('launch_testing', ''),
    'ros2cli': ('ros2cli', 'tools/ros2'),
    'tf2_msgs': ('tf2_msgs', 'messages that tests catch'),
    'tf2_ros_py': ('tf2_ros', 'Buffer of test_sim_time.py'),
    'rosbag2_py': ('rosbag2_py', ''),
    'simulation_interfaces': ('simulation_interfaces', ''),
}


def version(package):
    """Return the version of an installed ROS 2 package, '' if none is in the ament index."""
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if (Path(prefix) / 'share/ament_index/resource_index/packages' / package).exists():
            manifest = Path(prefix) / 'share' / package / 'package.xml'
            return ElementTree.parse(manifest).findtext('version', '')
    return ''


def used():
    """Return a sentence: which tools are genuine, which have stand-ins, and which are missing."""
    kinds = {'genuine': [], 'stand-ins': [], 'missing': []}
    for package, (module, replacement) in TOOLS.items():
        found = find_spec(module)
        # A folder of that name, such as launch/ of this repository, is no package.
        if found is None or found.origin is None:
            kind, more = ('stand-ins', replacement) if replacement else ('missing', '')
        elif more := version(package):
            kind = 'genuine'
        else:
            kind, more = 'stand-ins', f'{found.origin}: not an installed ROS 2 package'
        kinds[kind].append(f'{package} ({more})' if more else package)
    # Its tests compile against the stub wherever they run.
    kinds['stand-ins'].append('rclcpp (rclcpp_stub/)')
    return "ROS 2's own tools here: " + '; '.join(
        f'{kind}: {", ".join(packages) or "none"}' for kind, packages in kinds.items())
