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
"""Several nodes alike in one process, each in a namespace of its own."""

from __future__ import annotations

from typing import Any

from rcl_interfaces.msg import ParameterDescriptor
import rclpy


def given_at_start(name: str, *parameters: str) -> tuple[str, dict[str, Any]]:
    """
    Return the namespace of a node of this name, without a slash at its end, and parameters.

    Whichever way they were given to the process; a parameter that was not is None.
    """
    node = rclpy.create_node(name, start_parameter_services=False, enable_rosout=False)
    try:
        # An empty list of a parameter file has no type.
        untyped = ParameterDescriptor(dynamic_typing=True)
        return node.get_namespace().rstrip('/'), {
            one: node.declare_parameter(one, None, untyped).value for one in parameters}
    finally:
        node.destroy_node()


def in_namespace(namespace: str) -> list[str]:
    """Return a node's arguments for a namespace; they override those of the command line."""
    return ['--ros-args', '-r', f'__ns:={namespace}']
