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

"""What can be held has the names, the order and the bits of AutopilotTarget."""

from pathlib import Path
import re

from xplane_bridge.bridges.conversions.message_numbers import TARGET_BITS
from xplane_bridge.laboratory.control.targets import Target

MESSAGE = Path(__file__).resolve().parents[3] / 'msg' / 'AutopilotTarget.msg'


def test_bits_and_order_are_those_of_the_message():
    text = MESSAGE.read_text(encoding='utf-8')
    bits = {name.lower(): int(bit) for name, bit in re.findall(
        r'^uint32 (\w+) = (\d+)', text, re.MULTILINE)}
    assert bits.pop('release') == 32
    assert [*bits.items()] == [*TARGET_BITS.items()]
    assert re.findall(r'^float64 (\w+)', text, re.MULTILINE) == [*TARGET_BITS]


def test_a_target_gives_each_field_its_own_value():
    target = Target(altitude=1.0, heading=2.0, airspeed=3.0, course=4.0, climb_rate=5.0)
    assert target.fields() == {
        'altitude': 1.0, 'true_heading': 2.0, 'airspeed': 3.0, 'course': 4.0, 'climb_rate': 5.0}
