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

"""Messages serialised once, with numbers written into the bytes."""

import math
from operator import attrgetter
import sys

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TwistWithCovarianceStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu, NavSatFix

from xplane_bridge.bridges.nodes.vehicle import templates
from xplane_bridge.bridges.nodes.vehicle.templates import Template
from xplane_bridge.msg import AirData, FlightControls, Navigation, SimpitPacket

NUMBERS = st.floats(allow_nan=False)
STAMPS = st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 999_999_999))
# Longer and shorter than an alignment of 8.
FRAMES = ['frame_of_uav'[:length] for length in range(9)]
AIR = tuple(AirData.get_fields_and_field_types())[1:]
CONTROLS = tuple(FlightControls.get_fields_and_field_types())[2:]


def leaves(*paths):
    """Return the paths of the numbers x, y, z (and w) below paths."""
    return tuple(
        f'{path}.{axis}' for path in paths
        for axis in ('xyzw' if path.endswith('orientation') else 'xyz'))


# What VehiclePublisher fills in: the slots, and the path of each number or array in them.
CASES = {
    'fix': (NavSatFix, ('latitude', 'longitude', 'altitude'),
            ('latitude', 'longitude', 'altitude')),
    'fix_velocity': (
        TwistWithCovarianceStamped, ('twist.twist.linear',), leaves('twist.twist.linear')),
    'imu/data': (
        Imu,
        ('orientation', 'orientation_covariance', 'angular_velocity',
         'angular_velocity_covariance', 'linear_acceleration', 'linear_acceleration_covariance'),
        (*leaves('orientation'), 'orientation_covariance',
         *leaves('angular_velocity'), 'angular_velocity_covariance',
         *leaves('linear_acceleration'), 'linear_acceleration_covariance')),
    'odom': (
        Odometry, ('pose.pose', 'twist'),
        (*leaves('pose.pose.position', 'pose.pose.orientation', 'twist.twist.linear',
                 'twist.twist.angular'), 'twist.covariance')),
    'air_data': (AirData, AIR, (*AIR[:-1], *leaves('wind'))),
    'controls': (FlightControls, CONTROLS, CONTROLS),
}


def size_of(message, path):
    value = attrgetter(path)(message)
    return 1 if isinstance(value, float) else len(value)


def message_of(kind, frame):
    message = kind()
    message.header.frame_id = frame
    if kind is Odometry:
        message.child_frame_id = frame[::-1] + 'x'
        message.pose.covariance = [float(number) for number in range(36)]
    if kind is FlightControls:
        message.fields = 127
    return message


@pytest.mark.parametrize('frame', FRAMES)
@pytest.mark.parametrize('case', CASES)
@settings(max_examples=5, deadline=None)
@given(data=st.data(), stamp=STAMPS)
def test_bytes_are_the_ordinary_message_in_every_field(case, frame, data, stamp):
    kind, slots, paths = CASES[case]
    template = Template(message_of(kind, frame), 'header.stamp', *slots)
    assert template.is_packed
    expected = message_of(kind, frame)
    expected.header.stamp.sec, expected.header.stamp.nanosec = stamp
    numbers = []
    for path in paths:
        size = size_of(expected, path)
        given = data.draw(st.lists(NUMBERS, min_size=size, max_size=size))
        numbers += given
        parent, _, name = path.rpartition('.')
        target = attrgetter(parent)(expected) if parent else expected
        setattr(target, name, given[0] if size == 1 else given)
    filled = template.filled(*stamp, *numbers)
    assert isinstance(filled, bytes)
    assert deserialize_message(filled, kind) == expected


def test_nan_and_a_mask_arrive():
    template = Template(FlightControls(), 'header.stamp', 'fields', *CONTROLS)
    controls = deserialize_message(
        template.filled(1, 2, FlightControls.GEAR, *[math.nan] * 5, 1.0,
                        *[math.nan] * 6),
        FlightControls)
    assert (controls.fields, controls.gear) == (FlightControls.GEAR, 1.0)
    assert math.isnan(controls.elevator)
    assert math.isnan(controls.speedbrake)


def test_what_is_serialised_in_another_way_is_filled_as_usual(monkeypatch):
    # An alignment that no middleware has.
    monkeypatch.setattr(templates, '_aligned', lambda offset, size: offset + 1)
    template = Template(NavSatFix(), 'header.stamp', 'latitude', 'position_covariance')
    assert not template.is_packed
    fix = template.filled(7, 8, 47.5, *map(float, range(9)))
    assert isinstance(fix, NavSatFix)
    assert (fix.header.stamp.sec, fix.header.stamp.nanosec, fix.latitude) == (7, 8, 47.5)
    assert list(fix.position_covariance) == list(range(9))


@pytest.mark.parametrize('size', [1, 2, 8, 32])
def test_a_sequence_of_numbers_has_the_place_that_its_length_gives_it(size):
    template = Template(
        SimpitPacket(payload=[0] * size), 'header.stamp', 'channel', 'payload')
    assert template.is_packed
    payload = range(200, 200 + size)
    expected = SimpitPacket(channel=8, payload=payload)
    expected.header.stamp.sec, expected.header.stamp.nanosec = 3, 4
    assert deserialize_message(template.filled(3, 4, 8, *payload), SimpitPacket) == expected


def test_numbers_behind_a_sequence_have_no_fixed_place():
    with pytest.raises(ValueError, match='DiagnosticArray: no numbers in status'):
        Template(DiagnosticArray(), 'header.stamp', 'status')


def test_values_that_are_no_numbers_are_refused():
    template = Template(Navigation(), 'header.stamp', 'latitude')
    with pytest.raises(Exception, match='required argument is not a float'):
        template.filled(1, 2, 'north')


if __name__ == '__main__':
    sys.exit(pytest.main(['-q', __file__]))
