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

"""What xpc_node publishes, against JSBSim's own properties and values worked out by hand."""

from contextlib import closing
import math
import socket
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from fake_xpc import Plugin
from jsbsim_expectations import (
    array,
    axes_of,
    body_axes,
    earth_centred,
    east_north_up,
    FOOT,
    specific_force,
    velocity_enu,
)
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Log
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, NavSatFix
from xpc_peer import paused, turning

from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.nodes.vehicle.transforms import TransformPublisher
from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.msg import Datarefs, FlightControls
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.world import World

KNOT = 1852.0 / 3600.0
POUND_PER_SQUARE_FOOT = 4.4482216152605 / FOOT ** 2
SLUG_PER_CUBIC_FOOT = 14.5939029372 / FOOT ** 3
G = 9.80665


def parked():
    """Return a world with an aircraft at rest on the ground."""
    return World(Aircraft(initial=Initial(parked=True)))


def test_every_field_in_a_climbing_turn_is_jsbsims(ros, x_plane):
    peer = x_plane(turning)
    ros.start(XpcNode, port=peer.port, undulation=47.5, datum=[47.3, 8.6, 1400.0])
    said = paused(ros, peer)
    fps = {name: peer.jsbsim(f'velocities/{name}-fps') * FOOT for name in 'uvw'}
    # A case that distinguishes all signs and axes.
    assert math.degrees(peer.jsbsim('attitude/phi-rad')) > 10.0
    assert math.degrees(peer.jsbsim('attitude/theta-rad')) > 3.0
    assert velocity_enu(peer.jsbsim)[2] > 1.0
    assert abs(peer.jsbsim('aero/beta-rad')) > 0.02

    fix = said['fix']
    lat, lon = peer.jsbsim('position/lat-geod-deg'), peer.jsbsim('position/long-gc-deg')
    height = peer.jsbsim('position/h-sl-meters') + 47.5
    assert (fix.latitude, fix.longitude) == pytest.approx((lat, lon), abs=1e-12)
    assert fix.altitude == pytest.approx(height, abs=1e-6)
    assert (fix.status.status, fix.status.service) == (fix.status.STATUS_FIX, 0)
    assert fix.position_covariance_type == NavSatFix.COVARIANCE_TYPE_UNKNOWN

    velocity = array(said['fix_velocity'].twist.twist.linear)
    assert velocity == pytest.approx(velocity_enu(peer.jsbsim), abs=2e-5)
    assert not array(said['fix_velocity'].twist.twist.angular).any()

    imu = said['imu/data']
    for axis, expected in zip(axes_of(imu.orientation), body_axes(peer.jsbsim), strict=True):
        assert axis == pytest.approx(expected, abs=1e-6)
    p, q, r = (peer.jsbsim(f'velocities/{name}-rad_sec') for name in 'pqr')
    assert array(imu.angular_velocity) == pytest.approx((p, -q, -r), abs=1e-7)
    assert array(imu.linear_acceleration) == pytest.approx(specific_force(peer.jsbsim), abs=1e-4)
    for covariance in (imu.orientation_covariance, imu.angular_velocity_covariance,
                       imu.linear_acceleration_covariance):
        assert not covariance.any()

    odom = said['odom']
    datum = east_north_up(47.3, 8.6)
    offset = earth_centred(lat, lon, height) - earth_centred(47.3, 8.6, 1400.0)
    assert array(odom.pose.pose.position) == pytest.approx(datum @ offset, abs=1e-3)
    here = east_north_up(lat, lon)
    for axis, expected in zip(
            axes_of(odom.pose.pose.orientation), body_axes(peer.jsbsim), strict=True):
        assert axis == pytest.approx(datum @ here.T @ expected, abs=2e-5)
    assert array(odom.twist.twist.linear) == pytest.approx(
        (fps['u'], -fps['v'], -fps['w']), abs=1e-4)
    assert array(odom.twist.twist.angular) == pytest.approx((p, -q, -r), abs=1e-7)
    for unknown in (odom.pose, odom.twist, said['fix_velocity'].twist):
        assert (unknown.covariance.reshape(6, 6) == np.diag([1e6] * 6)).all()

    air = said['air_data']
    indicated = peer.jsbsim('velocities/vc-kts') * KNOT
    assert air.indicated_airspeed == pytest.approx(indicated, rel=1e-6)
    assert air.true_airspeed == pytest.approx(peer.jsbsim('velocities/vt-fps') * FOOT, rel=1e-6)
    assert air.angle_of_attack == pytest.approx(peer.jsbsim('aero/alpha-rad'), abs=1e-7)
    assert air.sideslip == pytest.approx(peer.jsbsim('aero/beta-rad'), abs=1e-6)
    assert air.static_pressure == pytest.approx(
        peer.jsbsim('atmosphere/P-psf') * POUND_PER_SQUARE_FOOT, rel=1e-6)
    # Calibrated, not equivalent airspeed: at 50 m/s compressibility is 0.5 %.
    assert air.dynamic_pressure == pytest.approx(
        peer.jsbsim('aero/qbar-psf') * POUND_PER_SQUARE_FOOT, rel=1e-2)
    assert air.dynamic_pressure == pytest.approx(0.5 * 1.225 * indicated ** 2, rel=1e-5)
    assert air.temperature == pytest.approx(peer.jsbsim('atmosphere/T-R') * 5.0 / 9.0, abs=1e-4)
    assert air.density == pytest.approx(
        peer.jsbsim('atmosphere/rho-slugs_ft3') * SLUG_PER_CUBIC_FOOT, rel=1e-4)
    assert array(air.wind) == pytest.approx((-7.0, 4.0, -0.5), abs=1e-5)

    controls = said['controls']
    for name, expected in (
            ('elevator', -peer.jsbsim('fcs/elevator-cmd-norm')),
            ('aileron', peer.jsbsim('fcs/aileron-cmd-norm')),
            ('rudder', -peer.jsbsim('fcs/rudder-cmd-norm')),
            ('throttle', peer.jsbsim('fcs/throttle-cmd-norm')),
            ('flaps', peer.jsbsim('fcs/flap-cmd-norm')),
            ('gear', peer.jsbsim('gear/gear-cmd-norm')),
            ('speedbrake', peer.jsbsim('fcs/speedbrake-cmd-norm'))):
        assert getattr(controls, name) == pytest.approx(expected, abs=1e-7), name
    assert (controls.elevator, controls.aileron, controls.rudder) == pytest.approx(
        (0.25, 0.2, -0.15), abs=1e-7)


def test_thirty_degrees_right_bank_nose_ten_up_heading_east(ros, x_plane):
    def make_world():
        world = World(Aircraft())
        world.teleport(0, pitch_deg=10.0, roll_deg=30.0, heading_deg=90.0)
        world.paused = True
        return world

    peer = x_plane(make_world)
    ros.start(XpcNode, port=peer.port)
    ros.subscribe(Imu, '/imu/data')
    forward, left, up = axes_of(ros.next('/imu/data').orientation)
    # East and up; north and, the right wing being down, up; south of straight up and back.
    assert forward == pytest.approx((0.98481, 0.0, 0.17365), abs=1e-5)
    assert left == pytest.approx((-0.08682, 0.86603, 0.49240), abs=1e-5)
    assert up == pytest.approx((-0.15038, -0.50000, 0.85287), abs=1e-5)


def test_a_parked_aircraft_feels_gravity_along_its_attitude(ros, x_plane):
    peer = x_plane(parked)
    ros.start(XpcNode, port=peer.port)
    said = paused(ros, peer)
    upward_parts = np.array([axis[2] for axis in body_axes(peer.jsbsim)])
    assert array(said['imu/data'].linear_acceleration) == pytest.approx(
        G * upward_parts, abs=1e-5)
    # JSBSim's own contact forces deviate from that, so the guard is active.
    assert np.linalg.norm(specific_force(peer.jsbsim) - G * upward_parts) > 1e-4
    assert array(said['fix_velocity'].twist.twist.linear) == pytest.approx(
        (0.0, 0.0, 0.0), abs=0.02)


def test_specific_force_from_acceleration_is_that_and_gravity(ros, x_plane):
    peer = x_plane(turning)
    node = ros.start(XpcNode, port=peer.port, specific_force='acceleration')
    said = paused(ros, peer)
    rates = np.array([peer.jsbsim(f'velocities/{name}-rad_sec') for name in 'pqr'])
    velocity = np.array([peer.jsbsim(f'velocities/{name}-fps') for name in 'uvw'])
    change = np.array([peer.jsbsim(f'accelerations/{name}dot-ft_sec2') for name in 'uvw'])
    forward, right, down = (change + np.cross(rates, velocity)) * FOOT
    upward_parts = np.array([axis[2] for axis in body_axes(peer.jsbsim)])
    expected = np.array([forward, -right, -down]) + G * upward_parts
    force = array(said['imu/data'].linear_acceleration)
    assert force == pytest.approx(expected, abs=1e-4)
    # Both ways agree except for the actual gravity there.
    assert force == pytest.approx(specific_force(peer.jsbsim), abs=0.02)
    assert np.linalg.norm(force) > 10.0
    _, _, values = ros.diagnosed('telemetry', node=node)
    assert float(values['g loads against acceleration, m/s^2']) < 0.02


def test_one_stamp_and_the_frames_of_the_parameters(ros, x_plane):
    peer = x_plane(turning)
    ros.start(
        XpcNode, port=peer.port, frame_prefix='uav1/', base_frame='body', imu_frame='imu',
        gps_frame='antenna', odom_frame='world',
        enu_frame='body_enu')
    said = paused(ros, peer)
    assert {topic: message.header.frame_id for topic, message in said.items()} == {
        'fix': 'uav1/antenna', 'fix_velocity': 'uav1/body_enu', 'imu/data': 'uav1/imu',
        'odom': 'uav1/world', 'air_data': 'uav1/body_enu', 'controls': 'uav1/body'}
    assert said['odom'].child_frame_id == 'uav1/body'


def test_standard_deviations_fill_the_diagonals(ros, x_plane):
    peer = x_plane()
    ros.start(
        XpcNode, port=peer.port, position_stddev=2.0, altitude_stddev=3.0, velocity_stddev=0.5,
        orientation_stddev=0.1, angular_velocity_stddev=0.2, linear_acceleration_stddev=0.3)
    said = paused(ros, peer)
    fix, imu, odom = said['fix'], said['imu/data'], said['odom']
    assert fix.position_covariance_type == NavSatFix.COVARIANCE_TYPE_DIAGONAL_KNOWN
    for covariance, diagonal in (
            (fix.position_covariance, (4.0, 4.0, 9.0)),
            (imu.orientation_covariance, (0.01,) * 3),
            (imu.angular_velocity_covariance, (0.04,) * 3),
            (imu.linear_acceleration_covariance, (0.09,) * 3),
            (odom.pose.covariance, (4.0, 4.0, 9.0, 0.01, 0.01, 0.01)),
            (odom.twist.covariance, (0.25, 0.25, 0.25, 0.04, 0.04, 0.04)),
            (said['fix_velocity'].twist.covariance, (0.25, 0.25, 0.25, 1e6, 1e6, 1e6))):
        assert list(covariance) == pytest.approx(list(np.diag(diagonal).flat))


class Lost(Plugin):
    """A plugin whose aircraft has no position (NaN) until it is ``found``."""

    def __init__(self):
        super().__init__()
        self.found = False
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(('127.0.0.1', 0))
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def place(self, aircraft):
        return 47.25 if self.found else math.nan, 8.5, 500.0

    def read(self, name):
        place = dict(zip(xplane.OWN_PLACE, self.place(0), strict=True))
        return (place[name],) if name in place else ()

    def run(self):
        while True:
            request, client = self.socket.recvfrom(5000)
            if request == b'stop':
                return
            if reply := self.answer(request):
                self.socket.sendto(reply, client)

    def close(self):
        self.socket.sendto(b'stop', self.socket.getsockname())
        self.thread.join()
        self.socket.close()


def test_a_position_that_is_no_number_is_not_published_but_counted(ros):
    with closing(Lost()) as peer:
        ros.subscribe(NavSatFix, '/fix')
        ros.start(XpcNode, port=peer.port)
        ros.diagnosed('plausibility', lambda level, message, values: 'latitude nan' in message)
        assert not ros.messages['/fix']
        peer.found = True
        message = ros.next('/fix')
        assert (message.latitude, message.longitude) == (47.25, 8.5)


def test_the_first_fix_is_the_datum_and_late_subscribers_get_it(ros, x_plane):
    peer = x_plane(turning)
    ros.subscribe(Odometry, '/odom')
    ros.subscribe(NavSatFix, '/fix')
    ros.start(XpcNode, port=peer.port, undulation=10.0)
    ros.next('/odom', 5)
    ros.subscribe(
        NavSatFix, '/datum', QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    datum = ros.wait_for(lambda: ros.messages['/datum'], 'the latched datum')[0]
    assert datum.header.frame_id == 'odom'
    odom, fix = ros.messages['/odom'][0], ros.messages['/fix'][0]
    assert odom.header.stamp == fix.header.stamp
    east, north, up = east_north_up(datum.latitude, datum.longitude) @ (
        earth_centred(fix.latitude, fix.longitude, fix.altitude)
        - earth_centred(datum.latitude, datum.longitude, datum.altitude))
    assert array(odom.pose.pose.position) == pytest.approx((east, north, up), abs=1e-3)
    # The first fix was only a few updates earlier, and the aircraft has flown on since.
    assert np.linalg.norm((east, north, up)) < 5.0
    assert np.linalg.norm(array(ros.next('/odom').pose.pose.position)) > 0.1


def test_a_datum_from_the_parameter_is_latched_as_it_is(ros, x_plane):
    peer = x_plane()
    ros.start(XpcNode, port=peer.port, datum=[47, 8, 400])
    ros.subscribe(
        NavSatFix, '/datum', QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    datum = ros.wait_for(lambda: ros.messages['/datum'], 'the latched datum')[0]
    assert (datum.latitude, datum.longitude, datum.altitude) == (47.0, 8.0, 400.0)


def test_qos_can_be_overridden(ros, x_plane):
    peer = x_plane()
    ros.start(XpcNode, port=peer.port, **{
        'qos_overrides./imu/data.publisher.reliability': 'best_effort',
        'qos_overrides./imu/data.publisher.depth': 3,
        'qos_overrides./command/controls.subscription.depth': 7})
    observer = ros.observer

    def qos(topic):
        found = ros.wait_for(
            lambda: [info for info in observer.get_publishers_info_by_topic(topic)
                     if info.node_name == 'xpc_node'], f'the publisher of {topic}')
        return found[0].qos_profile.reliability

    assert qos('/imu/data') == ReliabilityPolicy.BEST_EFFORT
    assert qos('/fix') == ReliabilityPolicy.RELIABLE


def test_chosen_datarefs_come_at_their_own_rate_and_may_change(ros, x_plane):
    peer = x_plane(turning)
    name = 'sim/flightmodel/engine/ENGN_thro'
    unknown = 'sim/no/such/dataref'
    node = ros.start(
        XpcNode, port=peer.port, datarefs=[name, unknown], datarefs_rate=200.0)
    ros.subscribe(Datarefs, '/datarefs')
    message = ros.next('/datarefs')
    assert list(message.names) == [name, unknown]
    assert list(message.sizes) == [8, 0] or list(message.sizes) == [16, 0]
    assert message.values[0] == pytest.approx(peer.jsbsim('fcs/throttle-cmd-norm'), abs=1e-6)
    assert message.header.stamp.sec > 0

    def change(**values):
        return ros.change(node, **values)

    roll = 'sim/flightmodel/position/true_phi'
    assert change(datarefs=[roll], datarefs_rate=50.0).successful
    message = ros.next('/datarefs', where=lambda message: list(message.names) == [roll])
    assert list(message.sizes) == [1]
    assert not change(datarefs=['x' * 300]).successful
    assert not change(datarefs_rate=0.0).successful
    assert ros.next('/datarefs').names == [roll]
    assert change(datarefs=['']).successful
    ros.subscribe(NavSatFix, '/fix')
    ros.next('/fix', 5)
    before = len(ros.messages['/datarefs'])
    ros.next('/fix', 10)
    assert len(ros.messages['/datarefs']) == before


class Numbered(World):
    """A world in which altitude and rudder encode the frame number, and nothing else changes."""

    FIRST = 1000.0

    def __init__(self):
        super().__init__(Aircraft())
        self.number = 0

    def advance(self, frame_seconds):
        """Advance to the next frame: far up, and the rudder moved."""
        self.total_running_time += frame_seconds
        self.number += 1
        self.teleport(0, altitude_msl=self.FIRST + self.number)
        self.aircraft.set_controls(rudder=self.number / 10000.0)


def stamp_of(message):
    return message.header.stamp.sec, message.header.stamp.nanosec


@pytest.mark.parametrize('rate', [0.0, 20.0])
def test_the_parts_of_an_update_are_of_one_frame_and_no_frame_comes_twice(ros, x_plane, rate):
    peer = x_plane(Numbered)
    ros.subscribe(NavSatFix, '/fix', 1000)
    ros.subscribe(FlightControls, '/controls', 1000)
    ros.start(XpcNode, port=peer.port, rate=rate, undulation=0.0)
    ros.next('/controls', 60 if rate == 0.0 else 30)
    altitudes = {stamp_of(m): m.altitude for m in ros.messages['/fix']}
    rudders = {stamp_of(m): m.rudder for m in ros.messages['/controls']}
    both = sorted(altitudes.keys() & rudders.keys())
    assert len(both) >= 25
    by_position = [round(altitudes[stamp] - Numbered.FIRST) for stamp in both]
    by_controls = [round(rudders[stamp] * 10000.0) for stamp in both]
    assert by_position == by_controls
    steps = np.diff(by_position)
    assert steps.min() >= 1
    if rate == 0.0:
        # Each frame once; a loaded machine may make the node miss some.
        assert steps.mean() < 1.5
    else:
        # Every third frame of 60.
        assert 2.0 < steps.mean() < 4.0


# Time.

def test_stamps_are_when_the_datagram_came(ros, x_plane):
    peer = x_plane()
    late = []

    def note(message):
        now = time.time_ns()
        stamp = message.header.stamp
        late.append((now - stamp.sec * 1_000_000_000 - stamp.nanosec) * 1e-9)

    ros.observer.create_subscription(NavSatFix, '/fix', note, 10)
    ros.start(XpcNode, port=peer.port)
    ros.wait_for(lambda: len(late) >= 20, '20 messages')
    assert min(late) >= 0.0
    # Far below the age of any wrong timestamp, far above the delays of a loaded machine.
    assert sorted(late)[len(late) // 2] < 0.5


def seconds(stamp):
    return stamp.sec + stamp.nanosec * 1e-9


def test_the_clock_is_the_simulators_and_stamps_are_its(ros, x_plane):
    peer = x_plane()
    ros.subscribe(Clock, '/clock', 1000)
    ros.subscribe(NavSatFix, '/fix', 1000)
    ros.subscribe(Datarefs, '/datarefs', 1000)
    ros.start(
        XpcNode, port=peer.port, stamp='simulator', use_sim_time=True,
        datarefs=['sim/time/total_running_time_sec'])

    def clock():
        return seconds(ros.next('/clock').clock)

    def standing():
        """Stop time, and return both clocks."""
        peer.pause()
        # Updates from before the pause may still be in transit.
        ros.wait_for(lambda: len({
            seconds(message.clock) for message in ros.messages['/clock'][-3:]}) == 1, 'a pause')
        return clock(), peer.world('total_running_time')

    ros.next('/datarefs', 3)
    first, simulated = standing()
    before = len(ros.messages['/clock'])
    assert clock() == clock() == first
    peer.pause(False)
    ros.next('/clock', 20)
    second, simulated_later = standing()
    assert second - first == pytest.approx(simulated_later - simulated, abs=1e-4)
    assert second - first > 0.2
    times = [seconds(message.clock) for message in ros.messages['/clock']]
    assert times[before] == first
    for topic in ('/fix', '/datarefs'):
        stamps = {seconds(message.header.stamp) for message in ros.messages[topic]}
        # A subscription may match before the clock's does.
        stamps = {stamp for stamp in stamps if stamp >= times[0]}
        assert len(stamps) > 3
        assert stamps <= set(times)


# Transforms.

def test_without_tf2_a_sentence_says_so_and_the_rest_goes_on(ros, x_plane, monkeypatch):
    monkeypatch.setitem(sys.modules, 'tf2_msgs.msg', None)
    peer = x_plane()
    ros.subscribe(Log, '/rosout', 1000)
    ros.subscribe(Odometry, '/odom')
    ros.start(XpcNode, port=peer.port, publish_tf=True)
    ros.next('/odom', 3)
    ros.wait_for(
        lambda: any('tf2_msgs is not installed' in log.msg for log in ros.messages['/rosout']),
        'the sentence')


@pytest.mark.ros_tools
def test_with_tf2_the_transform_is_that_of_odom(ros, x_plane):
    messages = pytest.importorskip(
        'tf2_msgs.msg', reason='tf2_msgs is not installed (it has no wheel)')
    peer = x_plane(turning)
    ros.subscribe(messages.TFMessage, '/tf', 100)
    ros.subscribe(Odometry, '/odom', 100)
    node = ros.start(XpcNode, port=peer.port, publish_tf=True, frame_prefix='uav1/')
    ros.next('/odom', 3)
    odom = {seconds(message.header.stamp): message for message in ros.messages['/odom']}
    transform, = ros.wait_for(
        lambda: [message for message in ros.messages['/tf']
                 if seconds(message.transforms[0].header.stamp) in odom],
        'a transform')[0].transforms
    is_that_of(transform, odom[seconds(transform.header.stamp)])
    for name in ('deactivate', 'cleanup'):
        ros.run_in(node, getattr(node, f'trigger_{name}'))
    ros.wait_for(lambda: node.count_publishers('/tf') == 0, 'the end of the publisher')


def test_the_transform_is_that_of_odom_without_tf2_to_carry_it(monkeypatch):
    class TFMessage:

        def __init__(self, transforms):
            self.transforms = transforms

    class Node:
        published = []

        def make_publisher(self, kind, topic, depth):
            assert (kind, topic, depth) == (TFMessage, '/tf', 100)
            return self

        def publish(self, message):
            self.published.append(message)

    monkeypatch.setitem(sys.modules, 'tf2_msgs.msg', SimpleNamespace(TFMessage=TFMessage))
    odom = Odometry()
    odom.header.frame_id, odom.child_frame_id = 'uav1/odom', 'uav1/base_link'
    odom.header.stamp.sec = 7
    odom.pose.pose.position.x, odom.pose.pose.position.z = 1.0, 3.0
    odom.pose.pose.orientation.w, odom.pose.pose.orientation.z = 0.6, 0.8
    publisher = TransformPublisher(Node())
    for _ in range(2):
        publisher.publish(odom.header, odom.child_frame_id, (1.0, 0.0, 3.0), (0.6, 0.0, 0.0, 0.8))
    # tf2 would warn about a repeated one.
    message, = Node.published
    transform, = message.transforms
    is_that_of(transform, odom)


def is_that_of(transform, odom):
    assert transform.header == odom.header
    assert (transform.header.frame_id, transform.child_frame_id) == (
        'uav1/odom', 'uav1/base_link')
    assert array(transform.transform.translation) == pytest.approx(
        array(odom.pose.pose.position))
    assert transform.transform.rotation == odom.pose.pose.orientation
