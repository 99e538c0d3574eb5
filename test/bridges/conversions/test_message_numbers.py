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


"""Messages of the common topics become an observation, field by field as they are named."""

import math
from types import SimpleNamespace

import numpy as np

from xplane_bridge.bridges.conversions.message_numbers import NUMBERS, TARGET_BITS
from xplane_bridge.laboratory.control.policy.observation import FIELDS, NAMES, SIZE, SLICES, TOPICS


def _message(topic):
    """Return a message whose fields hold their own place in the observation, from 1 on."""
    root = SimpleNamespace(
        **{f'{name}_covariance': [0.0] * 9
           for name in ('orientation', 'angular_velocity', 'linear_acceleration')},
        **{name.upper(): bit for name, bit in TARGET_BITS.items()})
    for number, field in enumerate(FIELDS, start=1):
        *path, last = field.name.removeprefix(f'{topic}.').split('.')
        if field.topic != topic:
            continue
        place = root
        for name in path:
            if not hasattr(place, name):
                setattr(place, name, SimpleNamespace())
            place = getattr(place, name)
        setattr(place, last, float(number))
    if topic == 'target':
        root.fields = sum(TARGET_BITS.values())
    return root


def test_each_number_is_in_the_place_of_its_name():
    assert set(NUMBERS) == set(TOPICS)
    observation = np.zeros(SIZE)
    for topic in TOPICS:
        observation[SLICES[topic]] = NUMBERS[topic](_message(topic))
    expected = np.arange(1.0, SIZE + 1.0)
    expected[NAMES.index('target.fields')] = 31.0
    assert observation.tolist() == expected.tolist()


def test_what_is_not_known_is_0():
    imu = _message('imu/data')
    imu.angular_velocity_covariance[0] = -1.0
    numbers = NUMBERS['imu/data'](imu)
    assert numbers[4:7] == (0.0, 0.0, 0.0)
    assert all(numbers[:4])
    assert all(numbers[7:])
    air = _message('air_data')
    air.density = air.wind.y = math.nan
    numbers = NUMBERS['air_data'](air)
    assert (numbers[7], numbers[9]) == (0.0, 0.0)
    assert numbers[8]
    target = _message('target')
    target.fields = TARGET_BITS['altitude'] | TARGET_BITS['course']
    assert [bool(number) for number in NUMBERS['target'](target)] == [
        True, True, False, False, True, False]
