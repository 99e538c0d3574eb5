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

"""fdmdata_node between ROS and a Huginn: topics, commands, services, faults of the peer."""

from contextlib import contextmanager
import math
import os
import signal
import socket
import struct
import sys
import threading

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from dripping import dripping
from kept_ports import kept_endpoint, kept_port
from lifecycle_msgs.msg import State
from masked import masked
from nav_msgs.msg import Odometry
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from sensor_msgs.msg import FluidPressure, Imu, MagneticField, NavSatFix, Temperature
from std_srvs.srv import SetBool, Trigger

from harness import DEADLINE, process
from xplane_bridge.bridges.fdmdata.node import FdmdataNode
from xplane_bridge.bridges.nodes.vehicle.publisher import LATCHED
from xplane_bridge.bridges.sessions.base import PeerState
from xplane_bridge.msg import AirData, EngineControls, FlightControls, Navigation
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.fdmdata import FdmdataFrontend
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.world import World

WARN = b'\x01'
OK = b'\x00'
STALE = b'\x03'
NAN = math.nan
FOOT = 0.3048
KNOT = 1852.0 / 3600.0
PSF = 4.4482216152605 / FOOT ** 2

TOPICS = {
    'fix': NavSatFix, 'gps': Navigation, 'imu/data': Imu, 'odom': Odometry, 'ins': Navigation,
    'air_data': AirData, 'temperature': Temperature, 'static_pressure': FluidPressure,
    'dynamic_pressure': FluidPressure,
}


class Scripted:
    """
    A Huginn that sends what the test says: the values for each command, packed by hand.

    It is banked 30 degrees to the right, nose 10 degrees up, heading east, at 38 degrees north.
    The last accelerometer value flickers, since no simulation stands perfectly still.
    """

    def __init__(self):
        self.figures = {
            0: (37.8130, 23.9, 609.6, 46.3, 91.0),
            1: (1.0, 2.0, -9.0),
            2: (10.0, 20.0, 30.0),
            3: (0.0, 0.0, 0.0),
            4: (284.19,),
            5: (1238.0,),
            6: (94214.0,),
            7: (30.0, 10.0, 90.0, 37.8131, 23.9001, 46.4, 609.7),
        }
        self.refused = set()
        self.still = False
        self.requests = []
        self.data = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.data.bind(('127.0.0.1', 0))
        self.controls = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.controls.bind(('127.0.0.1', 0))
        self.controls.settimeout(5.0)
        self.parameters = {
            'data_port': self.data.getsockname()[1],
            'controls_port': self.controls.getsockname()[1],
            'rpc_port': 1,
        }
        self._flicker = 0

    def serve(self):
        while True:
            request, sender = self.data.recvfrom(100)
            if request == b'end':
                return
            self.requests.append(request[0])
            self.data.sendto(self._answer(request[0]), sender)

    def _answer(self, command):
        if command in self.refused:
            return b'\xff'
        figures = list(self.figures[command])
        if command == 1 and math.isfinite(figures[2]):
            self._flicker ^= not self.still
            figures[2] += 1e-5 * self._flicker
        return struct.pack(f'>BB{len(figures)}f', 0, command, *figures)

    def taken(self):
        """Return the next controls datagram."""
        return struct.unpack('>4f', self.controls.recv(100))


@pytest.fixture
def scripted():
    peer = Scripted()
    thread = threading.Thread(target=peer.serve, daemon=True)
    thread.start()
    yield peer
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ender:
        ender.sendto(b'end', peer.data.getsockname())
    thread.join(60.0)
    peer.data.close()
    peer.controls.close()


@contextmanager
def flying(aircraft=None, held=False, frontends=None, **options):
    """
    Run the simulated Huginn; yield its server, and the node's parameters for it.

    ``frontends`` is a list to put the frontend into.
    """
    frontend = FdmdataFrontend(
        kept_endpoint(), kept_endpoint(), ('127.0.0.1', kept_port()), held)
    if frontends is not None:
        frontends.append(frontend)
    with running(frontend, make_world=lambda: World(aircraft or Aircraft()), **options) as server:
        yield server, {
            'data_port': frontend.data.address[1], 'controls_port': frontend.controls.address[1],
            'rpc_port': frontend.rpc_address[1]}


def started(ros, parameters, *topics, **others):
    """Start the node, with subscribers of these topics."""
    for topic in topics or TOPICS:
        ros.subscribe(TOPICS[topic], topic)
    node = ros.start(FdmdataNode, **parameters, **others)
    # Before the first answer commands are rejected.
    ros.wait_for(lambda: node.session.peer_state is not PeerState.UNKNOWN, 'an answer')
    return node


def jsbsim(server, *names):
    return [server.call(lambda world, n=name: world.aircraft.property_value(n)) for name in names]


def commanded(server):
    """Return aileron, elevator, rudder, throttle as JSBSim has them."""
    return jsbsim(server, *(
        f'fcs/{name}-cmd-norm' for name in ('aileron', 'elevator', 'rudder', 'throttle')))


def controls(**values):
    return masked(FlightControls, **values)


def vector(message):
    return (message.x, message.y, message.z)


def turned(q, v):
    """Rotate a vector by a quaternion message, the long way: q v q*."""
    def product(a, b):
        return (
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        )
    return product(product((q.w, q.x, q.y, q.z), (0.0, *v)), (q.w, -q.x, -q.y, -q.z))[1:]


# Topics, by hand.


def test_hand_computed_case(ros, scripted):
    started(ros, scripted.parameters, undulation=25.0)
    got = {topic: ros.next(topic) for topic in TOPICS}

    fix = got['fix']
    # The GPS's, not the INS's, as sent; float32 resolves 4e-6 degrees here.
    assert (fix.latitude, fix.longitude) == pytest.approx((37.8130, 23.9), abs=4e-6)
    assert fix.altitude == pytest.approx(634.6, abs=1e-3)
    assert fix.header.frame_id == 'base_link'

    imu = got['imu/data']
    # Heading east, the nose points east and 10 degrees up.
    sin_10, cos_10 = math.sin(math.radians(10.0)), math.cos(math.radians(10.0))
    assert turned(imu.orientation, (1.0, 0.0, 0.0)) == pytest.approx(
        (cos_10, 0.0, sin_10), abs=1e-6)
    # Right wing 30 degrees down: the left one points north, and up by half of cos 10 degrees.
    left = turned(imu.orientation, (0.0, 1.0, 0.0))
    assert left[1] == pytest.approx(math.cos(math.radians(30.0)), abs=1e-6)
    assert left[2] == pytest.approx(0.5 * cos_10, abs=1e-6)
    # Roll right, pitch up, yaw right are +, -, - about forward, left, up.
    assert vector(imu.angular_velocity) == pytest.approx(
        [math.radians(10.0), math.radians(-20.0), math.radians(-30.0)], rel=1e-6)
    # Forward 1, right 2, up 9.
    assert vector(imu.linear_acceleration) == pytest.approx((1.0, -2.0, 9.0), abs=1e-4)
    assert imu.orientation_covariance[0] == imu.angular_velocity_covariance[0] == 0.0

    odom = got['odom']
    assert vector(odom.pose.pose.position) == pytest.approx((0.0, 0.0, 0.0), abs=1e-3)
    assert turned(odom.pose.pose.orientation, (1.0, 0.0, 0.0)) == pytest.approx(
        (cos_10, 0.0, sin_10), abs=1e-5)
    # There is no velocity on the wire.
    assert [odom.twist.covariance[n] for n in (0, 7, 14, 21, 28, 35)] == [1e6] * 6
    assert vector(odom.twist.twist.linear) == (0.0, 0.0, 0.0)
    assert odom.twist.twist.angular.x == pytest.approx(math.radians(10.0), rel=1e-6)

    air = got['air_data']
    assert air.temperature == pytest.approx(284.19, abs=1e-3)
    assert air.static_pressure == 94214.0
    assert air.dynamic_pressure == 1238.0
    assert air.true_airspeed == pytest.approx(46.3, abs=1e-4)
    # Equivalent airspeed sqrt(2 * 1238 / 1.225) is 44.96 m/s; compressibility adds nothing yet.
    assert air.indicated_airspeed == pytest.approx(44.96, abs=0.03)
    assert air.density == pytest.approx(94214.0 / (287.05 * 284.19), rel=1e-4)
    for unknown in (air.angle_of_attack, air.sideslip, *vector(air.wind)):
        assert math.isnan(unknown)

    assert got['temperature'].temperature == pytest.approx(284.19 - 273.15, abs=1e-3)
    assert got['static_pressure'].fluid_pressure == 94214.0
    assert got['dynamic_pressure'].fluid_pressure == 1238.0

    # Nothing from the wire is lost: its own terms, in SI.
    gps, ins = got['gps'], got['ins']
    assert (gps.latitude, gps.longitude, gps.altitude_msl) == pytest.approx(
        (37.8130, 23.9, 609.6), abs=1e-4)
    assert gps.true_airspeed == pytest.approx(46.3, abs=1e-5)
    assert gps.true_heading == pytest.approx(math.radians(91.0), rel=1e-6)
    assert math.isnan(gps.roll)
    assert math.isnan(gps.pitch)
    assert (ins.latitude, ins.longitude, ins.altitude_msl, ins.true_airspeed) == pytest.approx(
        (37.8131, 23.9001, 609.7, 46.4), abs=1e-4)
    assert (ins.roll, ins.pitch, ins.true_heading) == pytest.approx(
        (math.radians(30.0), math.radians(10.0), math.radians(90.0)), rel=1e-6)


def test_odom_is_the_ins_against_the_datum(ros, scripted):
    ros.subscribe(NavSatFix, 'datum', LATCHED)
    started(ros, scripted.parameters, 'odom', undulation=0.0, datum=[37.8031, 23.9001, 609.7])
    # 0.01 degrees north is 1110 m at this latitude (1109.9 by the ellipsoid), 10 cm below.
    east, north, up = vector(ros.next('odom').pose.pose.position)
    assert (east, north, up) == pytest.approx((0.0, 1109.9, -0.1), abs=0.5)
    datum = ros.wait_for(lambda: ros.messages['datum'], 'the datum')[0]
    assert (datum.latitude, datum.longitude, datum.altitude) == (37.8031, 23.9001, 609.7)


@pytest.mark.parametrize(('unit', 'sent', 'kelvin'), [
    ('auto', 284.19, 284.19), ('auto', 11.04, 284.19), ('auto', -40.0, 233.15),
    ('celsius', 11.04, 284.19), ('celsius', 284.19, 557.34), ('kelvin', 284.19, 284.19),
    ('kelvin', 11.04, 11.04)])
def test_temperature_unit(ros, scripted, unit, sent, kelvin):
    scripted.figures[4] = (sent,)
    started(ros, scripted.parameters, 'temperature', temperature_unit=unit)
    assert ros.next('temperature').temperature == pytest.approx(kelvin - 273.15, abs=1e-3)


def test_latitude_is_converted_on_demand_in_fix_and_odom_not_in_gps_and_ins(ros, scripted):
    # atan(tan(geocentric) / (1 - e2)): docs/wire/fdmdata.md, section 2.
    fix, ins = (
        math.degrees(math.atan(math.tan(math.radians(latitude)) / (1.0 - 0.00669438)))
        for latitude in (37.8130, 37.8131))
    started(ros, scripted.parameters, latitude='geocentric', undulation=0.0,
            datum=[ins, 23.9001, 609.7])
    assert fix == pytest.approx(37.8130 + 0.187, abs=1e-3)
    assert ros.next('fix').latitude == pytest.approx(fix, abs=3e-5)
    assert ros.next('odom').pose.pose.position.y == pytest.approx(0.0, abs=3.0)
    assert ros.next('gps').latitude == pytest.approx(37.8130, abs=4e-6)
    assert ros.next('ins').latitude == pytest.approx(37.8131, abs=4e-6)


def test_magnetic_field_appears_with_the_first_that_is_not_zero(ros, scripted):
    ros.subscribe(MagneticField, 'magnetic_field')
    started(ros, scripted.parameters, 'fix', magnetometer_rate=20.0)
    ros.wait_for(lambda: scripted.requests.count(3) > 5, 'requests to the magnetometer')
    assert not ros.messages['magnetic_field']
    scripted.figures[3] = (1e-5, 2e-5, 4e-5)
    field = ros.next('magnetic_field').magnetic_field
    assert vector(field) == pytest.approx((1e-5, -2e-5, -4e-5))


def test_stddevs_fill_covariances_and_frames_are_named(ros, scripted):
    started(ros, scripted.parameters, 'fix', 'imu/data', 'odom', 'temperature',
            position_stddev=2.0, altitude_stddev=3.0, orientation_stddev=0.1,
            angular_velocity_stddev=0.2, linear_acceleration_stddev=0.3, frame_prefix='uav1/',
            gps_frame='gps', imu_frame='imu')
    fix, imu, odom = ros.next('fix'), ros.next('imu/data'), ros.next('odom')
    assert list(fix.position_covariance[::4]) == pytest.approx([4.0, 4.0, 9.0])
    assert imu.orientation_covariance[0] == pytest.approx(0.01)
    assert imu.angular_velocity_covariance[4] == pytest.approx(0.04)
    assert imu.linear_acceleration_covariance[8] == pytest.approx(0.09)
    assert list(odom.twist.covariance[::7]) == pytest.approx([1e6] * 3 + [0.04] * 3)
    assert (fix.header.frame_id, imu.header.frame_id) == ('uav1/gps', 'uav1/imu')
    assert (odom.header.frame_id, odom.child_frame_id) == ('uav1/odom', 'uav1/base_link')
    assert ros.next('temperature').header.frame_id == 'uav1/base_link'


# Topics, against JSBSim.


def test_topics_are_what_jsbsim_says(ros):
    aircraft = Aircraft(initial=Initial(lat_deg=38.0, lon_deg=23.9))
    aircraft.set_wind(4.0, -7.0, 0.5)
    aircraft.set_controls(elevator=0.25, aileron=0.2, rudder=-0.15, throttle=0.9)
    aircraft.advance(2.5)
    with flying(aircraft, held=True) as (server, parameters):
        started(ros, parameters, latitude='geocentric', undulation=0.0)
        got = {topic: ros.next(topic) for topic in TOPICS}
        lat, lon, height = jsbsim(
            server, 'position/lat-geod-deg', 'position/long-gc-deg', 'position/h-sl-ft')
        rates = jsbsim(server, *(f'velocities/{axis}-rad_sec' for axis in 'pqr'))
        force = jsbsim(server, *(f'accelerations/a-pilot-{axis}-ft_sec2' for axis in 'xyz'))
        phi, theta, psi = jsbsim(server, *(f'attitude/{n}-rad' for n in ('phi', 'theta', 'psi')))
        pressure, qbar, rankine, airspeed, calibrated = jsbsim(
            server, 'atmosphere/P-psf', 'aero/qbar-psf', 'atmosphere/T-R', 'velocities/vtrue-kts',
            'velocities/vc-kts')
    fix, imu, air = got['fix'], got['imu/data'], got['air_data']
    # Half a step of float32 at 38 degrees, and what JSBSim's ellipsoid leaves of the formula.
    assert fix.latitude == pytest.approx(lat, abs=4e-6)
    assert fix.longitude == pytest.approx(lon, abs=1e-6)
    assert fix.altitude == pytest.approx(height * FOOT, abs=1e-3)
    assert vector(imu.angular_velocity) == pytest.approx(
        (rates[0], -rates[1], -rates[2]), abs=1e-6)
    assert vector(imu.linear_acceleration) == pytest.approx(
        (force[0] * FOOT, -force[1] * FOOT, -force[2] * FOOT), abs=1e-5)
    nose = (math.cos(theta) * math.sin(psi), math.cos(theta) * math.cos(psi), math.sin(theta))
    assert turned(imu.orientation, (1.0, 0.0, 0.0)) == pytest.approx(nose, abs=1e-6)
    assert turned(imu.orientation, (0.0, 1.0, 0.0))[2] == pytest.approx(
        math.sin(phi) * math.cos(theta), abs=1e-6)
    assert phi > 0.2
    assert abs(theta) > 0.03
    assert air.static_pressure == pytest.approx(pressure * PSF, rel=1e-6)
    assert air.dynamic_pressure == pytest.approx(qbar * PSF, rel=1e-6)
    assert air.temperature == pytest.approx(rankine * 5.0 / 9.0, rel=1e-6)
    assert air.true_airspeed == pytest.approx(airspeed * KNOT, rel=1e-5)
    assert air.indicated_airspeed == pytest.approx(calibrated * KNOT, rel=1e-3)


def test_parts_of_a_message_belong_together_while_the_aircraft_rolls(ros):
    seen = {}

    def remember(_, state):
        # The float32 gyroscope is precise enough to tell frames apart.
        seen[struct.pack('>f', math.degrees(state.p))] = (len(seen), state)

    with flying(on_frame=remember) as (server, parameters):
        started(ros, parameters, 'imu/data', 'air_data')
        server.call(lambda world: world.aircraft.set_controls(aileron=0.6))
        ros.next('imu/data', 100)
        server.call(lambda world: setattr(world, 'paused', True))
    offsets = []
    for message in ros.messages['imu/data'][-100:]:
        rate = struct.pack('>f', math.degrees(message.angular_velocity.x))
        if rate not in seen or message.orientation_covariance[0] == -1.0:
            continue
        number, state = seen[rate]
        near = [s for n, s in seen.values() if abs(n - number) <= 1]
        up = turned(message.orientation, (0.0, 1.0, 0.0))[2]
        rolls = [math.sin(s.phi) * math.cos(s.theta) for s in near]
        assert min(abs(up - roll) for roll in rolls) < 1e-5
        offsets.append(abs(up - math.sin(state.phi) * math.cos(state.theta)) < 1e-5)
    assert len(offsets) > 80
    # Requests that leave together may rarely straddle the end of a step.
    assert sum(offsets) / len(offsets) > 0.9


def test_rates_are_reached_and_are_live(ros):
    with flying() as (_, parameters):
        node = started(ros, parameters)
        ros.next('air_data', 3)

        def rates():
            """Return the rates over the next full second."""
            ros.diagnosed('telemetry', hurry=False)
            _, _, values = ros.diagnosed('telemetry', hurry=False)
            return [float(values[f'{name}: updates/s']) for name in ('imu', 'gps', 'ins', 'air')]

        def reach(expected):
            # A loaded machine may need a few seconds before it has time for it.
            ros.wait_for(lambda: rates() == pytest.approx(expected, rel=0.15), f'{expected}')

        reach([50.0, 20.0, 20.0, 10.0])
        results = ros.run_in(node, node.set_parameters, [Parameter('gps_rate', value=40.0)])
        assert results[0].successful
        reach([50.0, 40.0, 20.0, 10.0])
        results = ros.run_in(node, node.set_parameters, [Parameter('gps_rate', value=-1.0)])
        assert not results[0].successful


def test_only_what_is_subscribed_to_is_asked_for(ros, scripted):
    started(ros, scripted.parameters, 'temperature')
    ros.next('temperature')
    scripted.requests.clear()
    ros.next('temperature', 20)
    # Thermometer, pitot tube, static pressure and GPS yield the air data; accelerometer and
    # gyroscope tell whether it is held, the INS whether it is the same run.
    assert set(scripted.requests) == {0, 1, 2, 4, 5, 6, 7}
    assert scripted.requests.count(1) <= 8
    ros.subscribe(MagneticField, 'magnetic_field')
    ros.wait_for(lambda: 3 in scripted.requests, 'a request to the magnetometer')


def test_another_bridge_in_the_namespace_and_who_commands_are_said(ros, scripted):
    node = started(ros, scripted.parameters, 'fix')
    ros.next('fix')
    ros.subscribe(Imu, 'imu/data')
    ros.publisher(Imu, 'imu/data')
    ros.publisher(FlightControls, 'command/controls')
    ros.diagnosed('telemetry', lambda level, message, values: (
        level == WARN and message == 'another node publishes /imu/data too: is another bridge '
                                     'running?'), node=node)
    *_, values = ros.diagnosed('commands', node=node)
    assert values['publishers of command/controls'].count('/') == 1


def test_telemetry_at_a_slow_rate_is_not_called_stale_between_two_polls(ros, scripted):
    node = started(ros, scripted.parameters, 'fix', gps_rate=0.4)
    ros.next('fix')
    level, message, values = ros.diagnosed('telemetry', lambda level, message, values: (
        float(values['age of the last, s']) > 1.5), node=node)
    assert (level, message) == (OK, 'arriving')


def test_telemetry_of_which_all_rates_are_zero_is_no_fault(ros, scripted):
    started(ros, scripted.parameters, 'fix', gps_rate=0.0)
    ros.diagnosed('telemetry', lambda level, message, values: (
        level == OK and message == 'nothing is polled: the rates are 0'))


def test_a_sensor_that_is_refused_is_marked_as_missing(ros, scripted):
    scripted.refused = {7}
    started(ros, scripted.parameters, 'imu/data', 'odom')
    imu = ros.next('imu/data', 5)
    assert imu.orientation_covariance[0] == -1.0
    assert imu.angular_velocity_covariance[0] == 0.0
    level, message, values = ros.diagnosed(
        'peer', lambda level, message, values: values['refused'] == 'ins')
    assert level == WARN
    assert 'refuses ins' in message
    _, message, _ = ros.diagnosed('values', lambda level, *_: level == WARN)
    assert 'values do not arrive: ins (for ' in message
    assert not ros.messages['odom']


# Commands.


def test_controls_reach_jsbsim_with_the_right_signs(ros):
    with flying() as (server, parameters):
        started(ros, parameters, 'imu/data', command_timeout=0.0)
        publisher = ros.publisher(FlightControls, 'command/controls')
        publisher.publish(controls(elevator=0.5, aileron=0.25, rudder=0.125, throttle=0.75))
        # JSBSim's elevator and rudder are positive nose down and nose left.
        ros.wait_for(lambda: commanded(server) == [0.25, -0.5, -0.125, 0.75], 'controls')
        q, p = (ros.wait_for(
            lambda n=name: (v := jsbsim(server, n)[0]) > 0.02 and [v], f'{name} to respond')[0]
            for name in ('velocities/q-rad_sec', 'velocities/p-rad_sec'))
        assert q > 0.02
        assert p > 0.02


def test_one_throttle_for_all_engines_and_no_other_lever(ros, scripted):
    node = started(ros, scripted.parameters, 'fix', command_timeout=0.0)
    publisher = ros.publisher(EngineControls, 'command/engines')
    publisher.publish(masked(EngineControls, throttle=[0.75]))
    assert scripted.taken() == (0.0, 0.0, 0.0, 0.75)
    for count, given in enumerate(({'throttle': [0.5, 0.6]}, {'mixture': [0.5]}), 1):
        publisher.publish(masked(EngineControls, **given))
        ros.wait_for(lambda count=count: node.refused['command/engines'] == count, 'a refusal')


def test_what_is_not_set_repeats_the_last_value_sent(ros, scripted):
    started(ros, scripted.parameters, 'fix', command_timeout=0.0)
    publisher = ros.publisher(FlightControls, 'command/controls')
    publisher.publish(controls(elevator=0.5, aileron=0.25, rudder=0.125, throttle=0.75))
    assert scripted.taken() == (0.25, -0.5, -0.125, 0.75)
    publisher.publish(controls(rudder=-1.0))
    assert scripted.taken() == (0.25, -0.5, 1.0, 0.75)


def test_controls_are_clamped_as_huginn_clamps(ros, scripted):
    started(ros, scripted.parameters, 'fix', command_timeout=0.0)
    publisher = ros.publisher(FlightControls, 'command/controls')
    publisher.publish(controls(elevator=-3.0, aileron=2.0, rudder=1e300, throttle=-0.5))
    assert scripted.taken() == (1.0, 1.0, -1.0, 0.0)
    publisher.publish(controls(throttle=7.0))
    assert scripted.taken() == (1.0, 1.0, -1.0, 1.0)


def test_what_the_wire_has_not_is_left_out_and_counted(ros, scripted):
    started(ros, scripted.parameters, 'fix', command_timeout=0.0)
    publisher = ros.publisher(FlightControls, 'command/controls')
    publisher.publish(controls(elevator=0.5, throttle=0.75, flaps=0.5, gear=1.0))
    assert scripted.taken() == (0.0, -0.5, 0.0, 0.75)
    ros.diagnosed('commands', lambda level, message, values: (
        values['with flaps, gear or speedbrake, ignored'] == '1'))


def test_a_command_of_which_the_wire_has_nothing_is_refused(ros, scripted):
    node = started(ros, scripted.parameters, 'fix', command_timeout=0.0)
    publisher = ros.publisher(FlightControls, 'command/controls')
    publisher.publish(controls(flaps=0.5, gear=1.0))
    ros.wait_for(lambda: node.refused['command/controls'] == 1, 'the refusal')
    publisher.publish(controls(throttle=0.5))
    assert scripted.taken() == (0.0, 0.0, 0.0, 0.5)


def test_first_command_without_throttle_is_refused(ros, scripted):
    started(ros, scripted.parameters, 'fix', command_timeout=0.0)
    publisher = ros.publisher(FlightControls, 'command/controls')
    publisher.publish(controls(elevator=0.5))
    ros.diagnosed('refused', lambda level, message, values: values['command/controls'] == '1')
    publisher.publish(controls(throttle=0.5))
    assert scripted.taken() == (0.0, 0.0, 0.0, 0.5)


COMMANDER = """
import rclpy, sys
from rclpy.node import Node
from xplane_bridge.msg import FlightControls
rclpy.init()
node = Node('commander')
publisher = node.create_publisher(FlightControls, 'command/controls', 1)
node.create_timer(0.05, lambda: publisher.publish(FlightControls(
    fields=15, elevator=0.25, aileron=0.0625, rudder=-0.125, throttle=0.75)))
rclpy.spin(node)
"""


@pytest.mark.parametrize(('action', 'after'), [
    ('neutral', [0.0, 0.0, 0.0, 0.75]), ('hold', [0.0625, -0.25, 0.125, 0.75])])
def test_the_aircraft_when_the_commander_is_killed_in_flight(ros, action, after):
    with flying() as (server, parameters):
        started(ros, parameters, 'imu/data', command_timeout=0.5, on_command_timeout=action)
        with process(sys.executable, '-P', '-c', COMMANDER) as commander:
            ros.wait_for(
                lambda: commanded(server) == [0.0625, -0.25, 0.125, 0.75], 'the commander')
            os.kill(commander.pid, signal.SIGKILL)
            commander.wait()
        level, message, _ = ros.diagnosed(
            'commands', lambda level, message, values: message == 'commands stopped arriving')
        assert level == WARN
        ros.wait_for(lambda: commanded(server) == after, 'what comes after')


def test_release_is_refused_for_there_is_nobody_to_release_to(ros, scripted):
    node = ros.start(
        FdmdataNode, configure=False, on_command_timeout='release', **scripted.parameters)
    assert node.trigger_configure() == TransitionCallbackReturn.FAILURE
    assert 'neutral' in node.failed
    node = ros.start(FdmdataNode, namespace='other', **scripted.parameters)
    results = ros.run_in(
        node, node.set_parameters, [Parameter('on_command_timeout', value='release')])
    assert not results[0].successful
    assert 'neutral' in results[0].reason


def test_deactivation_centres_the_surfaces_and_stops_asking(ros, scripted):
    node = started(ros, scripted.parameters, 'fix', command_timeout=0.0)
    publisher = ros.publisher(FlightControls, 'command/controls')
    publisher.publish(controls(elevator=0.5, aileron=0.25, rudder=0.125, throttle=0.75))
    assert scripted.taken()[3] == 0.75
    ros.next('fix')
    ros.run_in(node, node.trigger_deactivate)
    assert scripted.taken() == (0.0, 0.0, 0.0, 0.75)
    ros.diagnosed('peer', lambda level, message, values: message == 'not active')
    asked = len(scripted.requests)
    publisher.publish(controls(elevator=0.5, throttle=0.75))
    ros.diagnosed('peer')
    assert len(scripted.requests) == asked
    ros.run_in(node, node.trigger_activate)
    ros.next('fix', 3)
    ros.run_in(node, node.trigger_deactivate)
    ros.run_in(node, node.trigger_cleanup)
    assert node._state_machine.current_state[0] == State.PRIMARY_STATE_UNCONFIGURED
    ros.run_in(node, node.trigger_configure)
    ros.run_in(node, node.trigger_activate)
    ros.next('fix', 3)


# Services.


def test_pause_resume_and_reset(ros):
    with flying(held=True) as (server, parameters):
        started(ros, parameters, 'fix')
        response = ros.call(SetBool, 'pause', SetBool.Request(data=False))
        assert (response.success, response.message) == (True, 'resumed: its data change')
        assert not server.call(lambda world: world.paused)
        assert ros.call(SetBool, 'pause', SetBool.Request(data=True)).success
        assert server.call(lambda world: world.paused)
        server.call(lambda world: world.teleport(0, altitude_msl=3000.0))
        response = ros.call(Trigger, 'reset', Trigger.Request())
        assert response.success
        assert server.state().altitude_msl == pytest.approx(Initial().altitude_msl, abs=5.0)
        # Held as before.
        assert server.call(lambda world: world.paused)


def test_a_reset_that_says_true_and_does_nothing_is_not_done(ros):
    """What it has done is seen in the data alone, and what was commanded still holds."""
    frontends = []
    with flying(frontends=frontends) as (_, parameters):
        node = started(ros, parameters, 'fix')
        frontends[0].huginn.reset = lambda: True
        node.link.call(node.session.set_controls, {'elevator': 0.25, 'throttle': 0.5})
        response = ros.call(Trigger, 'reset', Trigger.Request())
        assert not response.success
        assert 'reset: sent; not shown within 3 s' in response.message
        assert 'elevator' in node.session.taken


def test_deactivation_resumes_what_was_paused_here(ros):
    with flying() as (server, parameters):
        node = started(ros, parameters, 'fix')
        assert ros.call(SetBool, 'pause', SetBool.Request(data=True)).success
        assert server.call(lambda world: world.paused)
        ros.run_in(node, node.trigger_deactivate)
        assert not server.call(lambda world: world.paused)


def test_services_say_why_they_fail(ros, scripted):
    node = started(ros, scripted.parameters, 'fix')
    response = ros.call(Trigger, 'reset', Trigger.Request())
    assert not response.success
    assert 'refused' in response.message
    ros.run_in(node, node.trigger_deactivate)
    response = ros.call(SetBool, 'pause', SetBool.Request(data=True))
    assert not response.success
    assert 'not active' in response.message


def test_reset_that_fails_says_what_it_needs(ros):
    with flying() as (server, parameters):
        node = started(ros, parameters, 'fix')
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as somebody:
            somebody.sendto(
                struct.pack('>4f', NAN, 0, 0, 0.5), ('127.0.0.1', parameters['controls_port']))
        ros.wait_for(lambda: node.session.peer_state is PeerState.BROKEN, 'the NaN')
        response = ros.call(Trigger, 'reset', Trigger.Request())
        assert not response.success
        assert 'reset failed' in response.message
        assert 'resume' in response.message


def test_a_service_that_waits_delays_no_command(ros, scripted):
    with socket.socket() as deaf:
        deaf.bind(('127.0.0.1', 0))
        deaf.listen()
        started(ros, {**scripted.parameters, 'rpc_port': deaf.getsockname()[1]}, 'fix',
                command_timeout=0.0)
        client = ros.observer.create_client(Trigger, 'reset')
        assert client.wait_for_service(10.0)
        future = client.call_async(Trigger.Request())
        taken, _ = deaf.accept()
        with taken:  # If dropped, it would be closed when garbage collected, ending the wait.
            publisher = ros.publisher(FlightControls, 'command/controls')
            publisher.publish(controls(throttle=0.5))
            assert scripted.taken()[3] == 0.5
            assert not future.done()
        ros.wait_for(future.done, 'the service to give up')
        assert not future.result().success


def test_what_huginn_answers_and_shows_decides_about_a_pause(ros):
    frontends = []
    with flying(frontends=frontends) as (server, parameters):
        node = started(ros, parameters, 'fix')
        huginn = frontends[0].huginn
        # Neither an answer that is no boolean counts, nor one that the data do not bear out.
        for answer, text in ((lambda: 'paused', 'expected a boolean'),
                             (lambda: True, 'sent; not shown within 3 s: its data still change')):
            huginn.pause = answer
            response = ros.call(SetBool, 'pause', SetBool.Request(data=True))
            assert not response.success
            assert text in response.message
            # It may be paused all the same.
            assert node.session.taken == ('pause',)
        ros.diagnosed('commands', lambda level, message, values: (
            level == WARN and 'somebody else has resumed it' in message))
        del huginn.pause
        assert ros.call(SetBool, 'pause', SetBool.Request(data=True)).success
        ros.run_in(node, node.trigger_deactivate)
        assert not server.call(lambda world: world.paused)
        assert not node.left.unconfirmed


@pytest.mark.parametrize(('number', 'still'), [(signal.SIGINT, False), (signal.SIGTERM, True)])
def test_the_end_does_not_wait_for_a_server_that_never_ends_its_answer(
        ros, scripted, number, still):
    """The pending call is abandoned before the last ones, which have a second each, are made."""
    with dripping() as (rpc_port, happened):
        scripted.still = still
        ports = {**scripted.parameters, 'rpc_port': rpc_port}
        with process('fdmdata_node', '--ros-args', *(
                word for name, port in ports.items() for word in ('-p', f'{name}:={port}'))
                ) as child:
            client = ros.observer.create_client(SetBool, 'pause')
            assert client.wait_for_service(DEADLINE)
            asked = client.call_async(SetBool.Request(data=True))
            assert happened.get(timeout=DEADLINE) == 'pause asked'
            child.send_signal(number)
            assert [happened.get(timeout=DEADLINE) for _ in range(2)] in (
                ['pause given up', 'resume asked'], ['resume asked', 'pause given up'])
            assert happened.get(timeout=DEADLINE) == 'resume given up'
            # It may have been paused: its data tell.
            assert child.wait(5.0) == int(still)
            assert ('may stay as it was left: pause' in child.stdout.read()) is still
        assert not asked.done()
        ros.observer.destroy_client(client)


def test_deactivation_ends_calls_and_says_so(ros, scripted):
    with dripping() as (rpc_port, happened):
        node = started(ros, {**scripted.parameters, 'rpc_port': rpc_port}, 'fix')
        client = ros.observer.create_client(Trigger, 'reset')
        assert client.wait_for_service(DEADLINE)
        futures = [client.call_async(Trigger.Request()) for _ in range(6)]
        for _ in range(4):
            assert happened.get(timeout=DEADLINE) == 'reset asked'
        # The others are rejected, at once.
        ros.wait_for(lambda: sum(future.done() for future in futures) == 2, 'the refusals')
        refused = [future.result().message for future in futures if future.done()]
        assert all('4 calls' in text and 'already waiting' in text for text in refused)
        ros.run_in(node, node.trigger_deactivate)
        ros.wait_for(lambda: all(future.done() for future in futures), 'the end of all')
        ended = [future.result() for future in futures if future.result().message not in refused]
        assert [answer.success for answer in ended] == 4 * [False]
        assert all('cancelled before it was answered' in answer.message for answer in ended)
        # Nothing was paused, so nothing is resumed.
        assert sorted(happened.get(timeout=DEADLINE) for _ in range(4)) == 4 * ['reset given up']
        assert happened.empty()


# The peer starts, freezes and exits.


def test_held_is_said_with_what_to_do(ros):
    with flying(held=True) as (_, parameters):
        started(ros, parameters, 'fix')
        level, message, values = ros.diagnosed(
            'peer', lambda level, message, values: values['state'] == 'held')
        assert level == WARN
        assert 'pause' in message
        assert ros.call(SetBool, 'pause', SetBool.Request(data=False)).success
        ros.diagnosed('peer', lambda level, message, values: (
            level == OK and values['state'] == 'answering'))


def test_huginn_that_is_not_there_yet_is_awaited(ros):
    frontend = FdmdataFrontend(kept_endpoint(), kept_endpoint(), ('127.0.0.1', kept_port()))
    with running(frontend) as server:
        parameters = {'data_port': frontend.data.address[1]}
        server.switch_off()
        started(ros, parameters, 'fix')
        level, message, _ = ros.diagnosed(
            'peer', lambda level, message, values: values['state'] == 'away')
        assert level == WARN
        assert 'its address and port' in message
        assert 'firewall' in message
        level, message, _ = ros.diagnosed('telemetry')
        assert (level, message) == (STALE, 'nothing arrives')
        server.switch_on()
        ros.next('fix', 3)
        ros.diagnosed('peer', lambda level, message, values: level == OK)


@pytest.mark.parametrize('how', ['freeze', 'restart'])
def test_recovery(ros, how):
    with flying() as (server, parameters):
        node = started(ros, parameters, 'fix', 'imu/data', command_timeout=0.0)
        ros.next('imu/data', 10)
        publisher = ros.publisher(FlightControls, 'command/controls')
        publisher.publish(controls(elevator=0.5, throttle=0.75))
        ros.wait_for(lambda: commanded(server)[3] == 0.75, 'controls')
        server.freeze() if how == 'freeze' else server.switch_off()
        ros.diagnosed('peer', lambda level, message, values: values['state'] == 'away')
        ros.diagnosed('telemetry', lambda level, message, values: level == STALE)
        publisher.publish(controls(elevator=1.0, throttle=1.0))
        ros.wait_for(lambda: node.refused['command/controls'] == 1, 'a refusal')
        server.resume() if how == 'freeze' else server.switch_on()
        ros.next('imu/data', 50)
        ros.diagnosed('peer', lambda level, message, values: level == OK)
        ros.diagnosed('telemetry', lambda level, message, values: (
            float(values['imu: updates/s']) == pytest.approx(50.0, rel=0.1)), hurry=False)
        ros.diagnosed('values', lambda level, message, values: level == OK)
        publisher.publish(controls(elevator=0.25))
        if how == 'freeze':
            # The same one: it holds what it was sent.
            ros.wait_for(lambda: commanded(server)[1] == -0.25, 'controls')
            assert commanded(server)[3] == 0.75
        else:
            ros.wait_for(lambda: node.refused['command/controls'] == 2, 'another refusal')
            assert commanded(server)[1] == 0.0


def test_a_poisoned_huginn_publishes_nothing_and_is_named(ros, scripted):
    # The magnetometer keeps sending zeros, none of which are published.
    ros.subscribe(MagneticField, 'magnetic_field')
    started(ros, scripted.parameters, 'fix', 'imu/data', magnetometer_rate=10.0)
    ros.next('fix')
    for command in (0, 1, 2, 7):
        scripted.figures[command] = tuple(NAN for _ in scripted.figures[command])
    level, message, values = ros.diagnosed(
        'peer', lambda level, message, values: values['state'] == 'broken')
    assert level == WARN
    assert 'restart Huginn' in message
    ros.diagnosed('telemetry', lambda level, message, values: level == STALE)
    level, message, _ = ros.diagnosed('plausibility', lambda level, message, values: (
        int(values.get('gps latitude, withheld', 0)) > 0))
    assert level == WARN
    assert ' nan (' in message
    assert all(math.isfinite(message.latitude) for message in ros.messages['fix'])


def test_an_impossible_longitude_reaches_no_topic_and_stops_nothing_else(ros, scripted):
    started(ros, scripted.parameters, 'fix', 'gps', 'imu/data', 'odom', 'air_data')
    ros.next('fix')
    gps = scripted.figures[0]
    scripted.figures[0] = (gps[0], 1e30, *gps[2:])
    _, message, _ = ros.diagnosed('plausibility', lambda level, *_: level == WARN)
    assert 'gps longitude 1e+30' in message
    for topic in ('imu/data', 'odom', 'air_data'):
        ros.next(topic, 5)
    given = ros.next('gps')
    assert math.isnan(given.longitude)
    assert given.true_airspeed == pytest.approx(gps[3])
    assert all(abs(fix.longitude) <= 180.0 for fix in ros.messages['fix'])
    scripted.figures[0] = gps
    ros.next('fix', 2)


def test_datagrams_that_make_no_sense_are_counted(ros, scripted):
    scripted.figures[0] = (1.0,) * 4
    started(ros, scripted.parameters, 'fix', 'temperature')
    level, message, values = ros.diagnosed(
        'link', lambda level, message, values: int(values.get('malformed gps', 0)) > 0)
    assert level == WARN
    assert '18 bytes, expected 22' in message
    assert not ros.messages['fix']


@pytest.mark.parametrize(('parameter', 'value', 'text'), [
    ('host', 'no.such.host.invalid', 'no IPv4 address'), ('latitude', 'astronomic', 'latitude'),
    ('gps_rate', 1000.0, 'gps_rate'), ('bind_address', '192.0.2.1', 'no such address')])
def test_bad_parameters_are_refused_with_a_sentence(ros, parameter, value, text):
    node = ros.start(FdmdataNode, configure=False, **{parameter: value})
    assert node.trigger_configure() == TransitionCallbackReturn.FAILURE
    assert text in node.failed


def test_all_topics_are_in_the_namespace(ros, scripted):
    ros.subscribe(NavSatFix, '/uav1/fix')
    ros.start(FdmdataNode, namespace='uav1', **scripted.parameters)
    ros.next('/uav1/fix')


# One aircraft, two protocols.


def test_x_plane_connect_and_fdmdata_agree_about_one_aircraft(ros):
    from xplane_bridge.bridges.xpc.node import XpcNode
    from xplane_bridge.simulation.peers.xpc import XpcFrontend
    xpc = XpcFrontend(UdpEndpoint())
    huginn = FdmdataFrontend(UdpEndpoint(), UdpEndpoint())
    aircraft = Aircraft(initial=Initial(lat_deg=38.0, lon_deg=23.9))
    aircraft.set_controls(elevator=0.2, aileron=0.1, throttle=0.8)
    aircraft.advance(1.5)
    with running(xpc, huginn, make_world=lambda: World(aircraft)) as server:
        # JSBSim is paused, so both report the same instant.
        server.call(lambda world: setattr(world, 'paused', True))
        kinds = {'fix': NavSatFix, 'imu/data': Imu, 'air_data': AirData}
        for topic, kind in kinds.items():
            for name in ('xpc', 'geocentric', 'geodetic'):
                ros.subscribe(kind, f'/{name}/{topic}')
        ports = {'data_port': huginn.data.address[1], 'controls_port': 1, 'undulation': 0.0}
        ros.start(XpcNode, namespace='xpc', port=xpc.endpoint.address[1], undulation=0.0)
        ros.start(FdmdataNode, namespace='geocentric', latitude='geocentric', **ports)
        ros.start(FdmdataNode, namespace='geodetic', **ports)
        exact, converted, plain = (
            {topic: ros.next(f'/{name}/{topic}') for topic in kinds}
            for name in ('xpc', 'geocentric', 'geodetic'))
    # float32 has steps of 3.8e-6 degrees at 38 (0.42 m), of 1.9e-6 at 23.9; half of them.
    assert converted['fix'].latitude == pytest.approx(exact['fix'].latitude, abs=2.1e-6)
    assert converted['fix'].longitude == pytest.approx(exact['fix'].longitude, abs=1e-6)
    assert converted['fix'].altitude == pytest.approx(exact['fix'].altitude, abs=1e-3)
    # As sent, the latitude is 0.187 degrees too far south: 20.7 km.
    assert exact['fix'].latitude - plain['fix'].latitude == pytest.approx(0.187, abs=1e-3)
    assert plain['fix'].longitude == converted['fix'].longitude

    imu, other = exact['imu/data'], converted['imu/data']
    for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)):
        assert turned(imu.orientation, axis) == pytest.approx(
            turned(other.orientation, axis), abs=1e-6)
    assert vector(other.angular_velocity) == pytest.approx(
        vector(imu.angular_velocity), abs=1e-6)
    # One is measured at the centre of gravity, the other at the pilot's eye, half a metre ahead
    # and above: they differ by the terms due to rotation.
    assert vector(other.linear_acceleration) == pytest.approx(
        vector(imu.linear_acceleration), abs=0.5)

    air, other = exact['air_data'], converted['air_data']
    assert other.static_pressure == pytest.approx(air.static_pressure, rel=1e-6)
    assert other.temperature == pytest.approx(air.temperature, abs=1e-3)
    assert other.true_airspeed == pytest.approx(air.true_airspeed, abs=1e-3)
    assert other.indicated_airspeed == pytest.approx(air.indicated_airspeed, abs=0.05)
    assert other.density == pytest.approx(air.density, rel=1e-5)
    # From calibrated airspeed there, from qbar here: equal at low speed.
    assert other.dynamic_pressure == pytest.approx(air.dynamic_pressure, rel=0.01)
