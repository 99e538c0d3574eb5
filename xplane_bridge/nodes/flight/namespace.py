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

"""The namespace that a flight through ROS is flown in."""

from __future__ import annotations

from rclpy.exceptions import InvalidNamespaceException
from rclpy.validate_namespace import validate_namespace

from xplane_bridge.flights.scenario.scenario import ScenarioError


def check_namespace(namespace: str) -> None:
    """
    Check a namespace that was given as ``--namespace``, with its slash.

    Raises ScenarioError if ROS does not accept it, or if it is the root.
    """
    try:
        validate_namespace(namespace)
    except InvalidNamespaceException as error:
        raise ScenarioError(f'--namespace: {str(error).splitlines()[0]}') from None
    if namespace == '/':
        raise ScenarioError('--namespace: expected a name, such as uav1')
