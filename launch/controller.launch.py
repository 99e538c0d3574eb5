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
Launch a file of another package in the namespace of a vehicle: as experiment does it.

ros2 launch xplane_bridge controller.launch.py package:=xplane_bridge file:=autopilot.launch.py
"""

from dataclasses import dataclass
import os

from ament_index_python.packages import get_package_share_directory, PackageNotFoundError
from launch.actions import GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import AnyLaunchDescriptionSource
from launch_ros.actions import PushRosNamespace, SetParameter

from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.laboratory.nodes.launching import checked_description


@dataclass(frozen=True)
class Arguments:
    """Arguments of this file."""

    package: str = parameter('', 'Package that contains the launch file.')
    file: str = parameter('', 'Name of the launch file, or its path.')
    namespace: str = parameter('', 'Namespace of the vehicle, such as uav1.')
    use_sim_time: bool = parameter(False, 'Take the time from /clock.')
    lockstep: bool = parameter(
        False, 'Set the parameter lockstep of all nodes: the simulation waits for each command.')
    behind_sensors: bool = parameter(
        False, 'Set the parameter behind_sensors of all nodes: sensors_node stands before them.')


def make(given):
    """Return the group that includes it."""
    return [GroupAction([
        *([PushRosNamespace(given['namespace'])] if given.get('namespace') else []),
        *(SetParameter(name, True) for name in ('use_sim_time', 'lockstep', 'behind_sensors')
          if given.get(name)),
        IncludeLaunchDescription(AnyLaunchDescriptionSource(
            path(given.get('package', ''), given.get('file', ''))))])]


def path(package, file):
    """Return the path of a package's launch file."""
    if not package:
        raise missing('package')
    try:
        share = get_package_share_directory(package)
    except (PackageNotFoundError, ValueError):
        raise ValueError(
            f'launch argument package: there is no package {package!r}; build it, and source its '
            'install space') from None
    if not file:
        raise missing('file')
    for found in (file, os.path.join(share, 'launch', file), os.path.join(share, file)):
        if os.path.isfile(found):
            return found
    raise ValueError(
        f'launch argument file: there is no {file!r} in the folder launch of {package}')


def missing(argument):
    """Return the error for an argument that is not given."""
    return ValueError(
        f'launch argument {argument}: it is required; for example package:=xplane_bridge '
        'file:=autopilot.launch.py')


def generate_launch_description():
    """Return the launch description."""
    return checked_description('controller.launch.py', make, Arguments)
