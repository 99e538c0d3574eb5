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

"""The profiles for Fast DDS 2 and 3: the same, each with the names of its release."""

from xml.etree import ElementTree

import pytest

from xplane_bridge.common.data import folder

pytestmark = pytest.mark.pure


def test_both_profiles_say_the_same():
    two, three = (
        ElementTree.tostring(ElementTree.parse(folder('discovery') / f'fastdds{release}.xml')
                             .getroot(), encoding='unicode') for release in (2, 3))
    assert 'heartbeatPeriod' in two
    assert two.replace('heartbeatPeriod', 'heartbeat_period') == three
