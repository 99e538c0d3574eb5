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

"""Frames and accuracy in the common topics, without a simulator."""

from collections import defaultdict
from copy import deepcopy
from dataclasses import replace
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import NavSatFix

from xplane_bridge.bridges.conversions.topics import AIR_TOPICS
from xplane_bridge.bridges.conversions.vehicle import Air, Controls, EngineControls, VehicleState
from xplane_bridge.bridges.nodes.common.datagrams import values_status
from xplane_bridge.bridges.nodes.common.diagnostics import OK, WARN
from xplane_bridge.bridges.nodes.vehicle.plausibility import make_gate, plausibility_status
from xplane_bridge.bridges.nodes.vehicle.publisher import VehicleParameters, VehiclePublisher
from xplane_bridge.msg import AirData, FlightControls

# Heading east, level: x east, y north, z up, the axes of ENU. Then nose up by 90 degrees.
EAST = (1.0, 0.0, 0.0, 0.0)
UP = (math.sqrt(0.5), 0.0, -math.sqrt(0.5), 0.0)
NOWHERE = [0.0] * 9
ABSENT = [-1.0] + [0.0] * 8


class Node:
    """A node with subscribers on all its topics but the ``deaf``; records what it publishes."""

    def __init__(self):
        self.deaf = set()
        self.said = defaultdict(list)
        self.warned = []
        self.kinds = {}

    def make_publisher(self, kind, topic, qos=10):
        self.kinds[topic] = kind
        return SimpleNamespace(
            publish=lambda message: self.said[topic].append(
                deserialize_message(message, kind) if isinstance(message, bytes)
                else deepcopy(message)),
            handle=SimpleNamespace(
                get_subscription_count=lambda: int(topic not in self.deaf)))

    def get_logger(self):
        return SimpleNamespace(warning=lambda sentence: None)

    def warn(self, kind, sentence):
        self.warned.append(sentence)


def said_of(state, stamp_ns=7_000_000_000, **given):
    """Return the messages for a state, by topic."""
    node = Node()
    VehiclePublisher(node, VehicleParameters(undulation=47.0, **given)).publish(state, stamp_ns)
    return {topic: messages[-1] for topic, messages in node.said.items()}


def state(**given):
    return VehicleState(47.0, 8.0, 1500.0, **{
        'orientation': EAST, 'velocity': (60.0, 3.0, 1.0), 'angular_velocity': (0.1, 0.2, 0.3),
        'specific_force': (0.0, 0.0, 9.8), 'air': Air(wind=(0.0, 6.0, 0.0)), **given})


# Impossible values.

def test_an_impossible_position_withholds_fix_and_odom_alone():
    node = Node()
    vehicle = VehiclePublisher(node, VehicleParameters(undulation=47.0))
    vehicle.publish(replace(state(), longitude_deg=1e300), 1)
    assert set(node.said) == {'fix_velocity', 'imu/data', 'air_data', 'wind'}
    assert node.warned == ['longitude 1e+300 is impossible: not published']
    vehicle.publish(state(), 2)
    assert {'fix', 'odom', 'datum'} <= set(node.said)
    status = plausibility_status({'': vehicle.plausibility})
    assert status.level == WARN
    assert 'longitude 1e+300 (1 time, for 0 s)' in status.message
    assert status.values == (('longitude, withheld', '1'),)


def test_what_is_not_known_any_more_leaves_no_old_value_behind():
    node = Node()
    vehicle = VehiclePublisher(node, VehicleParameters(undulation=47.0))
    vehicle.publish(state(orientation=UP), 1)
    vehicle.publish(state(orientation=UP, angular_velocity=None, specific_force=None), 2)
    vehicle.publish(state(orientation=None), 3)
    _, second, third = node.said['imu/data']
    assert (second.angular_velocity.x, second.linear_acceleration.z) == (0.0, 0.0)
    assert (third.orientation.w, third.orientation.y) == (1.0, 0.0)


def test_an_impossible_velocity_is_not_known():
    node = Node()
    VehiclePublisher(node, VehicleParameters(undulation=47.0)).publish(
        state(velocity=(0.0, 1e38, 0.0)), 1)
    assert 'fix_velocity' not in node.said
    assert 'fix' in node.said
    odom = node.said['odom'][0]
    assert odom.twist.twist.linear.y == 0.0
    assert odom.twist.covariance[0] == 1e6


# Accuracy.

@pytest.mark.parametrize(('given', 'kind', 'diagonal'), [
    ({}, NavSatFix.COVARIANCE_TYPE_UNKNOWN, (0.0, 0.0, 0.0)),
    ({'position_stddev': 5.0}, NavSatFix.COVARIANCE_TYPE_APPROXIMATED, (25.0, 25.0, 1e6)),
    ({'altitude_stddev': 3.0}, NavSatFix.COVARIANCE_TYPE_APPROXIMATED, (1e6, 1e6, 9.0)),
    ({'position_stddev': 2.0, 'altitude_stddev': 3.0},
     NavSatFix.COVARIANCE_TYPE_DIAGONAL_KNOWN, (4.0, 4.0, 9.0)),
])
def test_one_stddev_does_not_make_the_other_known(given, kind, diagonal):
    said = said_of(state(), **given)
    # The datum is the first fix, and no more accurate.
    for fix in (said['fix'], said['datum']):
        assert fix.position_covariance_type == kind
        assert list(fix.position_covariance) == list(np.diag(diagonal).flat)


def test_a_given_datum_is_of_unknown_accuracy():
    datum = said_of(state(), position_stddev=2.0, datum=(47.0, 8.0, 1500.0))['datum']
    assert datum.position_covariance_type == NavSatFix.COVARIANCE_TYPE_UNKNOWN
    assert not datum.position_covariance.any()


@pytest.mark.parametrize(('given', 'orientation', 'rates', 'force', 'pose', 'twist'), [
    ({}, 0.0, 0.0, 0.0, [1e6] * 6, [1e6] * 6),
    ({'orientation_stddev': 0.1}, 0.01, 0.0, 0.0, [1e6] * 3 + [0.01] * 3, [1e6] * 6),
    ({'angular_velocity_stddev': 0.2}, 0.0, 0.04, 0.0, [1e6] * 6, [1e6] * 3 + [0.04] * 3),
    ({'linear_acceleration_stddev': 0.3}, 0.0, 0.0, 0.09, [1e6] * 6, [1e6] * 6),
    ({'velocity_stddev': 0.5}, 0.0, 0.0, 0.0, [1e6] * 6, [0.25] * 3 + [1e6] * 3),
    ({'altitude_stddev': 3.0}, 0.0, 0.0, 0.0, [1e6] * 2 + [9.0] + [1e6] * 3, [1e6] * 6),
])
def test_each_quantity_is_known_or_unknown_by_itself(
        given, orientation, rates, force, pose, twist):
    said = said_of(state(), **given)
    imu, odom, velocity = said['imu/data'], said['odom'], said['fix_velocity']
    for covariance, variance in (
            (imu.orientation_covariance, orientation),
            (imu.angular_velocity_covariance, rates),
            (imu.linear_acceleration_covariance, force)):
        assert list(covariance) == pytest.approx(list((variance * np.eye(3)).flat))
    for covariance, diagonal in (
            (odom.pose.covariance, pose), (odom.twist.covariance, twist),
            # A rate is not included.
            (velocity.twist.covariance, twist[:3] + [1e6] * 3)):
        assert list(covariance) == pytest.approx(list(np.diag(diagonal).flat))


def test_odom_does_not_repeat_a_velocity_that_is_not_known_any_more():
    node = Node()
    vehicle = VehiclePublisher(node, VehicleParameters(
        undulation=47.0, velocity_stddev=0.5, angular_velocity_stddev=0.2))
    for stamp, given in enumerate((
            {}, {'velocity': None}, {'angular_velocity': None}, {})):
        vehicle.publish(state(**given), stamp)
    known, slow, unturned, again = (message.twist for message in node.said['odom'])
    assert (known.twist.linear.x, known.twist.angular.z) == (60.0, 0.3)
    linear = slow.twist.linear
    assert (linear.x, linear.y, linear.z) == (0.0, 0.0, 0.0)
    assert list(slow.covariance) == list(np.diag([1e6] * 3 + [0.2**2] * 3).flat)
    angular = unturned.twist.angular
    assert (angular.x, angular.y, angular.z) == (0.0, 0.0, 0.0)
    assert list(unturned.covariance) == list(np.diag([0.5**2] * 3 + [1e6] * 3).flat)
    assert again == known


def test_controls_and_air_are_said_as_they_are_and_the_datum_once():
    node = Node()
    vehicle = VehiclePublisher(node, VehicleParameters(undulation=47.0))
    for stamp in (1, 2):
        vehicle.publish(state(
            controls=Controls(elevator=0.25, gear=1.0),
            air=Air(true_airspeed=61.0, temperature=281.5)), stamp)
    assert (len(node.said['datum']), len(node.said['odom'])) == (1, 2)
    assert node.said['datum'][0].altitude == 1547.0
    controls = node.said['controls'][-1]
    assert (controls.elevator, controls.gear) == (0.25, 1.0)
    assert controls.fields == FlightControls.ELEVATOR | FlightControls.GEAR
    air = node.said['air_data'][-1]
    assert (air.true_airspeed, air.temperature) == (61.0, 281.5)
    assert math.isnan(air.sideslip)
    assert math.isnan(air.density)
    assert node.kinds['controls'] is FlightControls
    assert node.kinds['datum'] is NavSatFix
    assert node.kinds['air_data'] is AirData


def test_what_a_simulator_does_not_say_is_no_zero_that_could_be_believed():
    given = {'velocity_stddev': 0.5, 'angular_velocity_stddev': 0.2,
             'linear_acceleration_stddev': 0.3}
    said = said_of(
        state(velocity=None, angular_velocity=None, specific_force=None), **given)
    assert 'fix_velocity' not in said
    imu, odom = said['imu/data'], said['odom']
    assert list(imu.orientation_covariance) == NOWHERE
    assert list(imu.angular_velocity_covariance) == ABSENT
    assert list(imu.linear_acceleration_covariance) == ABSENT
    assert (odom.twist.twist.linear.x, odom.twist.twist.angular.x) == (0.0, 0.0)
    assert list(odom.twist.covariance) == list(np.diag([1e6] * 6).flat)
    assert list(said_of(state(orientation=None))['imu/data'].orientation_covariance) == ABSENT


# Frames.

@pytest.mark.parametrize('datum', [(47.0, 8.0, 0.0), (-80.0, 170.0, 0.0)])
def test_velocity_and_wind_are_east_north_up_at_the_aircraft_wherever_the_datum(datum):
    said = said_of(state(), datum=datum, frame_prefix='uav1/')
    velocity, air = said['fix_velocity'], said['air_data']
    assert velocity.header.frame_id == air.header.frame_id == 'uav1/base_link_enu'
    linear = velocity.twist.twist.linear
    assert (linear.x, linear.y, linear.z) == (60.0, 3.0, 1.0)
    assert (air.wind.x, air.wind.y, air.wind.z) == (0.0, 6.0, 0.0)
    linear = said['wind'].twist.twist.linear
    assert said['wind'].header.frame_id == 'uav1/base_link_enu'
    assert (linear.x, linear.y, linear.z) == (0.0, 6.0, 0.0)
    assert list(np.diag(np.reshape(said['wind'].twist.covariance, (6, 6)))) == [1e6] * 6


# Parts of the air data, as standard messages.

AIR = Air(static_pressure=90000.0, dynamic_pressure=1200.0, temperature=278.15)


def test_air_data_is_said_in_standard_messages_too():
    said = said_of(state(air=AIR), frame_prefix='uav1/')
    assert said['air_data'].temperature == 278.15
    # sensor_msgs/Temperature is in degrees Celsius.
    assert said['temperature'].temperature == pytest.approx(5.0)
    assert said['static_pressure'].fluid_pressure == 90000.0
    assert said['dynamic_pressure'].fluid_pressure == 1200.0
    for topic in ('temperature', 'static_pressure', 'dynamic_pressure'):
        header = said[topic].header
        assert (header.frame_id, header.stamp.sec) == ('uav1/base_link', 7)
    # No wind is not a calm.
    assert 'wind' not in said


def test_what_nobody_subscribes_to_is_asked_for_ten_times_per_second_of_the_stamps():
    node, asked, heard = Node(), [], set()
    make = node.make_publisher

    def counting(kind, topic, qos=10):
        found = make(kind, topic, qos)
        if topic in AIR_TOPICS:
            found.handle.get_subscription_count = (
                lambda: asked.append(topic) or topic in heard)
        return found

    node.make_publisher = counting
    vehicle = VehiclePublisher(node, VehicleParameters(undulation=47.0))

    def fly(updates, begin):
        for number in range(updates):
            vehicle.publish(state(air=AIR), begin + number * 20_000_000)

    fly(50, 7_000_000_000)
    assert len(asked) == 10 * len(AIR_TOPICS)
    assert not set(AIR_TOPICS) & node.said.keys()
    heard.add('static_pressure')
    fly(50, 8_000_000_000)
    assert len(node.said['static_pressure']) == 50
    assert not set(AIR_TOPICS) & node.said.keys() - heard
    # Nor is anything missed when time begins anew.
    heard.clear()
    fly(1, 9_000_000_000)
    heard.add('temperature')
    fly(1, 1_000_000_000)
    assert len(node.said['temperature']) == 1


def test_the_transform_of_the_enu_axes_turns_the_velocity_into_the_body(monkeypatch):
    monkeypatch.setitem(
        sys.modules, 'tf2_msgs.msg', SimpleNamespace(TFMessage=lambda transforms: (
            SimpleNamespace(transforms=transforms))))
    said = said_of(
        state(orientation=UP), datum=(-80.0, 170.0, 0.0), publish_enu_tf=True,
        frame_prefix='uav1/')
    transform, = said['/tf'].transforms
    velocity = said['fix_velocity']
    assert transform.header.frame_id == 'uav1/base_link'
    assert transform.child_frame_id == velocity.header.frame_id
    assert transform.header.stamp == velocity.header.stamp
    # robot_localization adds (origin of the axes in the body) x (rate of rotation).
    origin = transform.transform.translation
    assert (origin.x, origin.y, origin.z) == (0.0, 0.0, 0.0)
    # The nose points up and the belly east: forward is up, up is west.
    rotation = transform.transform.rotation
    w, u = rotation.w, np.array((rotation.x, rotation.y, rotation.z))
    v = np.array((60.0, 3.0, 1.0))
    in_the_body = v + 2.0 * np.cross(u, np.cross(u, v) + w * v)
    assert in_the_body == pytest.approx((1.0, 3.0, -60.0))
    twist = said['odom'].twist.twist.linear
    assert in_the_body == pytest.approx((twist.x, twist.y, twist.z))


# Missing values.

def test_a_specific_force_is_published_without_orientation_and_rates():
    said = said_of(state(orientation=None, angular_velocity=None))
    imu = said['imu/data']
    assert imu.linear_acceleration.z == 9.8
    assert imu.orientation_covariance[0] == imu.angular_velocity_covariance[0] == -1.0
    assert 'imu/data' not in said_of(
        state(orientation=None, angular_velocity=None, specific_force=None))


def test_diagnostics_name_the_values_that_do_not_come_and_since_when():
    wanted = [f'v{n}' for n in range(9)]
    assert values_status(wanted, {}, 50.0).level == OK
    status = values_status(wanted, {'v1': 47.0, 'v3': 10.0}, 50.0)
    assert status.level == WARN
    assert status.message == '2 of 9 values do not arrive: v1 (for 3 s), v3 (for 40 s)'
    status = values_status(wanted, dict.fromkeys(wanted, 49.0), 50.0)
    assert status.message.endswith('v4 (for 1 s) and 4 more')


def test_diagnostics_name_five_impossible_values_and_count_the_others():
    def status_of(count):
        gate = make_gate(Node())
        for number in range(count):
            gate.withhold(f'value {number}', 1e38)
        return plausibility_status({'uav/': gate})

    none, five, seven = map(status_of, (0, 5, 7))
    assert (none.name, none.level, none.message) == ('plausibility', OK, 'nothing impossible')
    assert (five.level, seven.level) == (WARN, WARN)
    assert five.message.startswith(
        'impossible values received, not published: uav/value 0 1e+38 (1 time, ')
    assert five.message.count('uav/') == 5
    assert 'more' not in five.message
    assert seven.message.count('uav/') == 5
    assert seven.message.endswith(' and 2 more')
    assert len(seven.values) == 7


def test_what_is_derived_is_as_uncertain_as_it_says_beside_what_is_given():
    """Standard deviations 0.2 and 0.3, and derived ones of 0.1 and 0.4: their squares add up."""
    known = {'angular_velocity_stddev': 0.2, 'linear_acceleration_stddev': 0.3,
             'velocity_stddev': 0.5, 'orientation_stddev': 0.6}
    found = said_of(state(derived_stddev=(0.1, 0.4)), **known)
    imu, odom = found['imu/data'], found['odom']

    def diagonal(covariance, size):
        matrix = [*covariance]
        assert all(value == 0.0 for n, value in enumerate(matrix) if n % (size + 1))
        return [matrix[n * (size + 1)] for n in range(size)]

    assert diagonal(imu.orientation_covariance, 3) == pytest.approx([0.36] * 3)
    assert diagonal(imu.angular_velocity_covariance, 3) == pytest.approx([0.05] * 3)
    assert diagonal(imu.linear_acceleration_covariance, 3) == pytest.approx([0.25] * 3)
    assert diagonal(odom.twist.covariance, 6) == pytest.approx([0.25] * 3 + [0.05] * 3)
    plain = said_of(state(), **known)
    assert diagonal(plain['imu/data'].angular_velocity_covariance, 3) == pytest.approx([0.04] * 3)
    assert diagonal(plain['odom'].twist.covariance, 6) == pytest.approx([0.25] * 3 + [0.04] * 3)
    assert diagonal(plain['odom'].pose.covariance, 6) == pytest.approx([1e6] * 3 + [0.36] * 3)
    assert diagonal(plain['fix_velocity'].twist.covariance, 6) == pytest.approx(
        [0.25] * 3 + [1e6] * 3)
    lacking = said_of(state(velocity=None, angular_velocity=None), **known)['odom']
    assert diagonal(lacking.twist.covariance, 6) == [1e6] * 6


def test_frames_have_their_prefix_and_that_of_the_aircraft():
    node = Node()
    VehiclePublisher(node, VehicleParameters(
        undulation=0.0, frame_prefix='u/', base_frame='b', imu_frame='i', gps_frame='g',
        odom_frame='o', enu_frame='e'), 'aircraft_1/').publish(
        state(controls=Controls(0.5), engines=EngineControls((0.5,))), 3)
    said = {topic.removeprefix('aircraft_1/'): messages[-1] for topic, messages in
            node.said.items()}
    assert {topic: one.header.frame_id for topic, one in said.items()} == {
        topic: f'u/aircraft_1/{frame}' for topic, frame in {
            'fix': 'g', 'fix_velocity': 'e', 'imu/data': 'i', 'odom': 'o', 'datum': 'o',
            'air_data': 'e', 'wind': 'e', 'controls': 'b', 'engines': 'b'}.items()}
    assert said['odom'].child_frame_id == 'u/aircraft_1/b'
    assert {(one.header.stamp.sec, one.header.stamp.nanosec) for one in said.values()} == {(0, 3)}


def test_only_the_topics_that_are_wanted_and_heard_are_published():
    node = Node()
    vehicle = VehiclePublisher(node, VehicleParameters(undulation=0.0))
    assert vehicle.subscribed() == {
        'fix', 'fix_velocity', 'imu/data', 'odom', 'datum', 'air_data', 'controls', 'engines',
        *AIR_TOPICS}
    vehicle.publish(state(), 1, ('imu/data', 'air_data'))
    # What air_data says is said by standard messages, too.
    assert set(node.said) == {'imu/data', 'air_data', 'wind'}
    node.said.clear()
    node.deaf |= {'imu/data', 'air_data', 'fix_velocity'}
    vehicle.publish(state(), 2)
    assert set(node.said) == {'fix', 'odom', 'datum', 'wind'}
    assert vehicle.subscribed() == {'fix', 'odom', 'datum', 'controls', 'engines', *AIR_TOPICS}
    few = Node()
    VehiclePublisher(few, VehicleParameters(undulation=0.0), topics=('imu/data',)).publish(
        state(), 1)
    assert set(few.said) == {'imu/data'}
