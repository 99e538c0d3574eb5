"""What xpc_node publishes, against JSBSim's own properties and figures worked out by hand."""

import math

from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Imu, NavSatFix

from xplane_bridge.msg import AirData, Datarefs, FlightControls
from xplane_bridge.nodes.xpc import XpcNode
from xplane_bridge.simulators.aircraft import Aircraft, Initial
from xplane_bridge.simulators.world import World

FOOT = 0.3048
KNOT = 1852.0 / 3600.0
POUND_PER_SQUARE_FOOT = 4.4482216152605 / FOOT ** 2
SLUG_PER_CUBIC_FOOT = 14.5939029372 / FOOT ** 3
G = 9.80665

TOPICS = {
    'fix': NavSatFix, 'fix_velocity': TwistStamped, 'imu/data': Imu, 'odom': Odometry,
    'air_data': AirData, 'controls': FlightControls,
}


def turning():
    """Return a world with an aircraft in a banked, climbing, slipping turn, in wind."""
    aircraft = Aircraft(initial=Initial(lat_deg=47.31, lon_deg=8.62))
    aircraft.set_wind(4.0, -7.0, 0.5)
    aircraft.set_controls(
        elevator=0.25, aileron=0.2, rudder=-0.15, throttle=0.9, flaps=0.33, speedbrake=0.4)
    aircraft.advance(2.5)
    return World(aircraft)


def parked():
    """Return a world with an aircraft at rest on the ground."""
    return World(Aircraft(initial=Initial(parked=True)))


def paused(ros, peer, prefix='/'):
    """Let time stand still; return a message of each topic from then on."""
    for topic, kind in TOPICS.items():
        ros.subscribe(kind, prefix + topic)
    ros.next(prefix + 'controls')
    peer.pause()
    # The first may have been under way.
    ros.next(prefix + 'controls', 2)
    last = {topic: ros.messages[prefix + topic][-1] for topic in TOPICS}
    stamp = last['controls'].header.stamp
    return {
        topic: ros.wait_for(
            lambda topic=topic: next((
                message for message in reversed(ros.messages[prefix + topic])
                if message.header.stamp == stamp), None),
            f'{topic} of the same stamp')
        for topic in TOPICS
    }


def array(vector):
    return np.array([vector.x, vector.y, vector.z])


def body_axes(peer):
    """Return forward, left and up of the aircraft in east, north, up, from JSBSim's angles."""
    phi, theta, psi = (peer.jsbsim(f'attitude/{name}-rad') for name in ('phi', 'theta', 'psi'))
    sin_phi, cos_phi = math.sin(phi), math.cos(phi)
    sin_theta, cos_theta = math.sin(theta), math.cos(theta)
    sin_psi, cos_psi = math.sin(psi), math.cos(psi)
    forward = np.array([cos_theta * sin_psi, cos_theta * cos_psi, sin_theta])
    # Of level wings, both; the bank turns them about the forward axis.
    level_left = np.array([-cos_psi, sin_psi, 0.0])
    level_up = np.array([-sin_theta * sin_psi, -sin_theta * cos_psi, cos_theta])
    left = cos_phi * level_left + sin_phi * level_up
    up = cos_phi * level_up - sin_phi * level_left
    return forward, left, up


def turned(quaternion, vector):
    """Return a vector turned by a message's quaternion."""
    w, axis = quaternion.w, np.array([quaternion.x, quaternion.y, quaternion.z])
    return vector + 2.0 * np.cross(axis, np.cross(axis, vector) + w * np.asarray(vector))


def axes_of(quaternion):
    return [turned(quaternion, axis) for axis in np.eye(3)]


def east_north_up(lat_deg, lon_deg):
    """Return the unit vectors of a place, as rows, in earth-centred axes."""
    lat, lon = math.radians(lat_deg), math.radians(lon_deg)
    return np.array([
        [-math.sin(lon), math.cos(lon), 0.0],
        [-math.sin(lat) * math.cos(lon), -math.sin(lat) * math.sin(lon), math.cos(lat)],
        [math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)]])


def earth_centred(lat_deg, lon_deg, height):
    """Return a place on the WGS-84 ellipsoid in earth-centred axes, in metres."""
    a, f = 6378137.0, 1.0 / 298.257223563
    squared = f * (2.0 - f)
    east, north, up = east_north_up(lat_deg, lon_deg)
    normal = a / math.sqrt(1.0 - squared * up[2] ** 2)
    return np.array([
        (normal + height) * up[0], (normal + height) * up[1],
        (normal * (1.0 - squared) + height) * up[2]])


def velocity_enu(peer):
    north, east, down = (
        peer.jsbsim(f'velocities/v-{name}-fps') * FOOT for name in ('north', 'east', 'down'))
    return np.array([east, north, -down])


def specific_force(peer):
    """Return all forces but the weight, by the mass, forward, left, up."""
    x, y, z = (peer.jsbsim(f'forces/fb{axis}-total-lbs') for axis in 'xyz')
    mass = peer.jsbsim('inertia/mass-slugs')
    return np.array([x, -y, -z]) / mass * FOOT


def test_every_field_in_a_climbing_turn_is_jsbsims(ros, x_plane):
    peer = x_plane(turning)
    ros.start(XpcNode, port=peer.port, undulation=47.5, datum=[47.3, 8.6, 1400.0])
    said = paused(ros, peer)
    fps = {name: peer.jsbsim(f'velocities/{name}-fps') * FOOT for name in 'uvw'}
    # It is a case that tells all signs and axes apart.
    assert math.degrees(peer.jsbsim('attitude/phi-rad')) > 10.0
    assert math.degrees(peer.jsbsim('attitude/theta-rad')) > 3.0
    assert velocity_enu(peer)[2] > 1.0
    assert abs(peer.jsbsim('aero/beta-rad')) > 0.02

    fix = said['fix']
    lat, lon = peer.jsbsim('position/lat-geod-deg'), peer.jsbsim('position/long-gc-deg')
    height = peer.jsbsim('position/h-sl-meters') + 47.5
    assert (fix.latitude, fix.longitude) == pytest.approx((lat, lon), abs=1e-12)
    assert fix.altitude == pytest.approx(height, abs=1e-6)
    assert (fix.status.status, fix.status.service) == (fix.status.STATUS_FIX, 0)
    assert fix.position_covariance_type == NavSatFix.COVARIANCE_TYPE_UNKNOWN

    velocity = array(said['fix_velocity'].twist.linear)
    assert velocity == pytest.approx(velocity_enu(peer), abs=2e-5)
    assert not array(said['fix_velocity'].twist.angular).any()

    imu = said['imu/data']
    for axis, expected in zip(axes_of(imu.orientation), body_axes(peer), strict=True):
        assert axis == pytest.approx(expected, abs=1e-6)
    p, q, r = (peer.jsbsim(f'velocities/{name}-rad_sec') for name in 'pqr')
    assert array(imu.angular_velocity) == pytest.approx((p, -q, -r), abs=1e-7)
    assert array(imu.linear_acceleration) == pytest.approx(specific_force(peer), abs=1e-4)
    for covariance in (imu.orientation_covariance, imu.angular_velocity_covariance,
                       imu.linear_acceleration_covariance):
        assert not covariance.any()

    odom = said['odom']
    datum = east_north_up(47.3, 8.6)
    offset = earth_centred(lat, lon, height) - earth_centred(47.3, 8.6, 1400.0)
    assert array(odom.pose.pose.position) == pytest.approx(datum @ offset, abs=1e-3)
    here = east_north_up(lat, lon)
    for axis, expected in zip(
            axes_of(odom.pose.pose.orientation), body_axes(peer), strict=True):
        assert axis == pytest.approx(datum @ here.T @ expected, abs=2e-5)
    assert array(odom.twist.twist.linear) == pytest.approx(
        (fps['u'], -fps['v'], -fps['w']), abs=1e-4)
    assert array(odom.twist.twist.angular) == pytest.approx((p, -q, -r), abs=1e-7)
    assert not odom.pose.covariance.any() and not odom.twist.covariance.any()

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
    upward_parts = np.array([axis[2] for axis in body_axes(peer)])
    assert array(said['imu/data'].linear_acceleration) == pytest.approx(
        G * upward_parts, abs=1e-5)
    # JSBSim's own contact forces are not quite that, so the guard is at work.
    assert np.linalg.norm(specific_force(peer) - G * upward_parts) > 1e-4
    assert array(said['fix_velocity'].twist.linear) == pytest.approx((0.0, 0.0, 0.0), abs=0.02)


def test_specific_force_from_acceleration_is_that_and_gravity(ros, x_plane):
    peer = x_plane(turning)
    ros.start(XpcNode, port=peer.port, specific_force='acceleration')
    said = paused(ros, peer)
    rates = np.array([peer.jsbsim(f'velocities/{name}-rad_sec') for name in 'pqr'])
    velocity = np.array([peer.jsbsim(f'velocities/{name}-fps') for name in 'uvw'])
    change = np.array([peer.jsbsim(f'accelerations/{name}dot-ft_sec2') for name in 'uvw'])
    forward, right, down = (change + np.cross(rates, velocity)) * FOOT
    upward_parts = np.array([axis[2] for axis in body_axes(peer)])
    expected = np.array([forward, -right, -down]) + G * upward_parts
    force = array(said['imu/data'].linear_acceleration)
    assert force == pytest.approx(expected, abs=1e-4)
    # Both ways agree but for what gravity really is there.
    assert force == pytest.approx(specific_force(peer), abs=0.02)
    assert np.linalg.norm(force) > 10.0
    _, _, values = ros.diagnosed('telemetry')
    assert float(values['g loads against acceleration, m/s^2']) < 0.02


def test_one_stamp_and_the_frames_of_the_parameters(ros, x_plane):
    peer = x_plane(turning)
    ros.start(
        XpcNode, port=peer.port, frame_prefix='uav1/', base_frame='body', imu_frame='imu',
        gps_frame='antenna', odom_frame='world')
    said = paused(ros, peer)
    assert {topic: message.header.frame_id for topic, message in said.items()} == {
        'fix': 'uav1/antenna', 'fix_velocity': 'uav1/world', 'imu/data': 'uav1/imu',
        'odom': 'uav1/world', 'air_data': 'uav1/body', 'controls': 'uav1/body'}
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
            (odom.twist.covariance, (0.25, 0.25, 0.25, 0.04, 0.04, 0.04))):
        assert list(covariance) == pytest.approx(list(np.diag(diagonal).flat))


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
    # The first fix was no more than a few updates before, and the aircraft has flown on since.
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
    """A world in which the frame's number is in the altitude and in the rudder, and no more."""

    FIRST = 1000.0

    def __init__(self):
        super().__init__(Aircraft())
        self.number = 0

    def advance(self, frame_seconds):
        """Go on to the next frame: far up, and the rudder moved."""
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
    ros.start(XpcNode, port=peer.port, rate=rate)
    ros.next('/controls', 60)
    altitudes = {stamp_of(m): m.altitude for m in ros.messages['/fix']}
    rudders = {stamp_of(m): m.rudder for m in ros.messages['/controls']}
    both = sorted(altitudes.keys() & rudders.keys())
    assert len(both) >= 55
    by_position = [round(altitudes[stamp] - Numbered.FIRST) for stamp in both]
    by_controls = [round(rudders[stamp] * 10000.0) for stamp in both]
    assert by_position == by_controls
    steps = np.diff(by_position)
    assert steps.min() >= 1
    if rate == 0.0:
        # Each frame once; a busy machine may make the node miss some.
        assert steps.mean() < 1.2
    else:
        # Every third frame of 60.
        assert 2.0 < steps.mean() < 4.0
