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

"""Values of ROS parameters as messages."""

from collections.abc import Sequence

from rcl_interfaces.msg import ParameterType, ParameterValue


def value_message(value: bool | int | float | Sequence[float]) -> ParameterValue:
    """Return the message of a value; an empty list is one of integers."""
    if isinstance(value, bool):
        return ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=value)
    if isinstance(value, int):
        return ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=value)
    if isinstance(value, float):
        return ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value)
    if all(isinstance(number, int) for number in value):
        return ParameterValue(
            type=ParameterType.PARAMETER_INTEGER_ARRAY, integer_array_value=list(value))
    return ParameterValue(
        type=ParameterType.PARAMETER_DOUBLE_ARRAY, double_array_value=list(value))
