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


"""Values of parameters as messages: of the type that a parameter of that kind has."""

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from rclpy.parameter import parameter_value_to_python

from xplane_bridge.bridges.nodes.common.parameter_values import value_message


@pytest.mark.parametrize('value', [True, 3, 0.5, [1, 2], [0.5, 2], []])
def test_a_value_is_the_same_in_its_message(value):
    found = parameter_value_to_python(value_message(value))
    assert (found if isinstance(value, bool | int | float) else list(found)) == value
    assert isinstance(found, bool) == isinstance(value, bool)
