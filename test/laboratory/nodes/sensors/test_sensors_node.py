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

"""sensors_node, through real topics: what becomes of a truth."""

from functools import partial
import math

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from geometry_msgs.msg import TwistWithCovarianceStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import (
    FluidPressure,
    Imu,
    MagneticField,
    NavSatFix,
    NavSatStatus,
    Range,
    Temperature,
)

from xplane_bridge.bridges.nodes.common.diagnostics import OK, STALE, WARN
from xplane_bridge.bridges.nodes.vehicle.publisher import LATCHED
from xplane_bridge.laboratory.nodes.autopilot import AutopilotNode
from xplane_bridge.laboratory.nodes.sensors import node as sensors_node
from xplane_bridge.laboratory.nodes.sensors import SensorsNode
from xplane_bridge.laboratory.sensors.specification import load
from xplane_bridge.msg import AirData, FlightControls

STEP = 20_000_000
KINDS = {
    'fix': NavSatFix, 'fix_velocity': TwistWithCovarianceStamped, 'air_data': AirData,
    'imu/data': Imu}


class Truth:
    """Publishes states of a vehicle that flies straight on, level, to the east."""

    def __init__(self, ros, topics=tuple(KINDS)):
        self.ros = ros
        for topic, kind in {**KINDS, 'odom': Odometry}.items():
            ros.subscribe(kind, f'/{topic}', 100)
        self.publishers = {
            topic: ros.publisher(KINDS[topic], f'/truth/{topic}', 50) for topic in topics}
        self.datum = ros.publisher(NavSatFix, '/datum', LATCHED)
        datum = NavSatFix(latitude=47.0, longitude=8.0, altitude=1000.0)
        datum.header.frame_id = 'uav1/odom'
        self.datum.publish(datum)
        self.stamp = 10_000_000_000

    def publish(self, order=tuple(KINDS)):
        """Publish the next state."""
        self.stamp += STEP
        self.repeat(order)

    def repeat(self, order=tuple(KINDS)):
        """Publish this state again."""
        for topic in order:
            if topic not in self.publishers:
                continue
            message = KINDS[topic]()
            stamp = message.header.stamp
            stamp.sec, stamp.nanosec = divmod(self.stamp, 1_000_000_000)
            message.header.frame_id = f'uav1/{topic}'
            if topic == 'fix':
                message.latitude, message.longitude, message.altitude = 47.0, 8.0, 1010.0
            elif topic == 'fix_velocity':
                message.twist.twist.linear.x = 50.0
            elif topic == 'air_data':
                message.indicated_airspeed, message.static_pressure = 50.0, 90000.0
                message.wind.x = message.temperature = math.nan
            else:
                message.orientation.w = 1.0
                message.linear_acceleration.z = 9.8
            self.publishers[topic].publish(message)

    def run(self, states, **options):
        """Publish states until the last one is measured; return the messages of each topic."""
        for _ in range(states):
            self.publish(**options)
            self.ros.wait_for(lambda: [
                one for one in self.ros.messages['/imu/data'] if at(one) == self.stamp],
                f'imu/data of {self.stamp}')
        return {topic: list(self.ros.messages[f'/{topic}']) for topic in (*KINDS, 'odom')}


def at(message):
    return message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec


def test_perfect_sensors_pass_the_truth_on_in_its_frames(ros):
    node = ros.start(SensorsNode, sensors='perfect')
    assert ros.diagnosed('sensors', node=node)[0] == STALE
    ros.subscribe(FluidPressure, '/static_pressure', 100)
    ros.subscribe(Temperature, '/temperature', 100)
    truth = Truth(ros)
    truth.run(2)
    heard = truth.run(3)
    assert [at(one) for one in heard['fix'][-3:]] == [at(one) for one in heard['imu/data'][-3:]]
    fix, imu, air, odom = (heard[name][-1] for name in ('fix', 'imu/data', 'air_data', 'odom'))
    assert (fix.latitude, fix.altitude, fix.header.frame_id) == (47.0, 1010.0, 'uav1/fix')
    assert fix.position_covariance_type == NavSatFix.COVARIANCE_TYPE_UNKNOWN
    assert (imu.orientation.w, imu.linear_acceleration.z) == (1.0, 9.8)
    assert (air.indicated_airspeed, air.static_pressure) == (50.0, 90000.0)
    assert math.isnan(air.temperature)
    assert not ros.messages['/temperature']
    pressure = ros.messages['/static_pressure'][-1]
    assert (at(pressure), pressure.fluid_pressure) == (at(air), 90000.0)
    assert pressure.header.frame_id == 'uav1/air_data'
    assert (odom.header.frame_id, odom.child_frame_id) == ('uav1/odom', 'uav1/imu/data')
    position = odom.pose.pose.position
    assert (position.x, position.y, position.z) == pytest.approx((0.0, 0.0, 10.0), abs=1e-6)
    assert odom.twist.twist.linear.x == pytest.approx(50.0)
    assert ros.diagnosed('sensors', node=node)[0] == OK


def test_ground_and_magnetic_field_are_measured_where_they_are_known(ros, monkeypatch):
    # East, north and up, in T.
    monkeypatch.setattr(
        sensors_node, 'EarthField', lambda year: lambda place: (1e-6, 21e-6, -43e-6))
    for kind, topic in ((Range, '/range'), (MagneticField, '/imu/mag')):
        ros.subscribe(kind, topic, 100)
    node = ros.start(SensorsNode, sensors='tactical', seed=3)
    truth = Truth(ros)
    truth.run(2)
    field = ros.wait_for(lambda: ros.messages['/imu/mag'], 'imu/mag')[-1]
    assert field.header.frame_id == 'uav1/imu/data'
    assert (field.magnetic_field.y, field.magnetic_field.z) == pytest.approx(
        (21e-6, -43e-6), abs=2e-6)
    assert field.magnetic_field_covariance[0] == pytest.approx(1e-7 ** 2, rel=0.1)
    assert not ros.messages['/range']
    # The truth is at 1,010 m.
    assert ros.change(node, ground_elevation=990.0).successful
    truth.run(3)
    ros.wait_for(lambda: ros.messages['/range'], 'range')
    reading = ros.messages['/range'][-1]
    assert reading.range == pytest.approx(20.0, abs=0.6)
    assert (reading.min_range, reading.max_range) == pytest.approx((0.1, 180.0))
    assert reading.variance == pytest.approx(0.02 ** 2 + 0.03 ** 2, rel=0.1)
    assert (reading.header.frame_id, reading.radiation_type) == (
        'uav1/imu/range_finder', Range.INFRARED)


def test_consumer_sensors_are_noisy_slow_and_late_and_say_how_noisy(ros):
    ros.start(SensorsNode, seed=3)
    heard = Truth(ros).run(40)
    figures = load('consumer')
    # The first one at once; of the others the last is not there yet.
    assert len(heard['fix']) in (4, 5)
    assert len(heard['imu/data']) == 40
    for fix in heard['fix']:
        assert fix.status.status == NavSatStatus.STATUS_FIX
        assert fix.position_covariance[0] == pytest.approx(2.1 ** 2 + 0.15 ** 2)
        assert fix.position_covariance[8] == pytest.approx(3.5 ** 2 + 0.25 ** 2)
    rates = [one.angular_velocity.x for one in heard['imu/data']]
    assert len(set(rates)) > 5
    assert max(map(abs, rates)) < 0.03
    gyroscope = figures.imu.gyroscope
    assert heard['imu/data'][5].angular_velocity_covariance[0] == pytest.approx(
        gyroscope.variance(0.02, 0.1), rel=0.01)
    assert all(math.isnan(one.angle_of_attack) for one in heard['air_data'])


def test_an_outage_by_parameter_is_fixes_without_a_position(ros):
    node = ros.start(SensorsNode, sensors='perfect')
    truth = Truth(ros)
    truth.run(2)
    assert ros.change(node, gnss_outage=True).successful
    before = len(ros.messages['/fix_velocity'])
    fix = truth.run(3)['fix'][-1]
    assert fix.status.status == NavSatStatus.STATUS_NO_FIX
    assert math.isnan(fix.latitude)
    assert len(ros.messages['/fix_velocity']) == before
    level, message, _ = ros.diagnosed('sensors', node=node)
    assert (level, message) == (WARN, 'broken by parameter: gnss_outage')
    assert ros.change(node, gnss_outage=False).successful
    truth.run(1)
    ros.wait_for(lambda: ros.messages['/fix'][-1].altitude == 1010.0, 'a fix')


def test_in_lockstep_each_state_has_an_imu_message_with_its_stamp(ros, tmp_path):
    file = tmp_path / 'slow.yaml'
    file.write_text('imu: {rate: 25.0, latency: 0.04, gyroscope: {noise: 0.1}}\n')
    ros.start(SensorsNode, sensors=str(file), lockstep=True, seed=5)
    truth = Truth(ros)
    first = truth.run(6)['imu/data']
    truth.repeat()
    again = ros.next('/imu/data')
    second = truth.run(6, order=('imu/data', 'air_data', 'fix', 'fix_velocity'))['imu/data']
    assert [at(one) for one in first] == [10_000_000_000 + STEP * (n + 1) for n in range(6)]
    assert at(again) == at(first[-1])
    assert again.angular_velocity.x == first[-1].angular_velocity.x
    rates = [one.angular_velocity.x for one in second]
    # Two states each, and the repeated one; the first lasts for the latency too.
    assert [rates.count(one) for one in dict.fromkeys(rates)][:3] == [4, 3, 2]


def test_sensors_that_there_are_not_are_refused(ros):
    node = ros.start(SensorsNode, sensors='best')
    assert "no sensors 'best': expected a file" in node.failed


def test_the_autopilot_answers_each_state_in_lockstep_also_in_an_outage(ros):
    node = ros.start(SensorsNode, sensors='consumer', lockstep=True, seed=2)
    ros.subscribe(FlightControls, '/command/controls', 100)
    ros.start(AutopilotNode, lockstep=True, behind_sensors=True, engage=True)
    truth = Truth(ros)
    controls = ros.publisher(FlightControls, '/controls', 50)

    def answered():
        return [at(one) for one in ros.messages['/command/controls']]

    def fly(states):
        for _ in range(states):
            truth.publish()
            message = FlightControls()
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(
                truth.stamp, 1_000_000_000)
            controls.publish(message)
            ros.wait_for(lambda: truth.stamp in answered(), f'a command for {truth.stamp}')

    # Until all have discovered each other, the state is repeated, as a simulator does.
    truth.publish()

    def started():
        truth.repeat()
        message = FlightControls()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(
            truth.stamp, 1_000_000_000)
        controls.publish(message)
        return answered()

    ros.wait_for(started, 'the first command')
    begin = truth.stamp
    fly(20)
    assert ros.change(node, gnss_outage=True).successful
    fly(30)
    assert ros.messages['/fix'][-1].status.status == NavSatStatus.STATUS_NO_FIX
    commanded = [stamp for stamp in answered() if stamp > begin]
    assert commanded == [begin + STEP * (number + 1) for number in range(50)]
    assert all(math.isfinite(one.elevator + one.aileron + one.throttle)
               for one in ros.messages['/command/controls'])


def test_of_several_in_one_process_each_has_the_next_seed(ros, capfd):
    names = ['uav1', 'uav2']
    for number, name in enumerate(names):
        ros.start(partial(SensorsNode, namespaces=names, number=number), namespace=name,
                  namespaces=names, seed=7)
    said = capfd.readouterr().err
    assert [f'uav{number + 1}.sensors_node]: measuring as consumer, random seed {7 + number};'
            in said for number in range(2)] == [True, True]
