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

"""All parameters of a node to a file and back, as ros2 param dump and load do it."""

from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.parameter import parameter_dict_from_yaml_file, parameter_value_to_python
import yaml


def dumped(ros, node, path):
    """Write all parameters of a node to a file; return its path."""
    names = ros.call(ListParameters, f'/{node}/list_parameters', ListParameters.Request())
    names = names.result.names
    values = ros.call(
        GetParameters, f'/{node}/get_parameters', GetParameters.Request(names=names)).values
    nested = {}
    for name, value in zip(names, values, strict=True):
        *folders, last = name.split('.')
        inner = nested
        for folder in folders:
            inner = inner.setdefault(folder, {})
        inner[last] = parameter_value_to_python(value)
    path.write_text(yaml.dump({f'/{node}': {'ros__parameters': nested}}))
    return path


def loaded(ros, node, path):
    """Set all parameters of a file; return what was refused."""
    given = parameter_dict_from_yaml_file(str(path), True)
    results = ros.call(SetParameters, f'/{node}/set_parameters', SetParameters.Request(
        parameters=list(given.values()))).results
    return [result.reason for result in results if not result.successful]
