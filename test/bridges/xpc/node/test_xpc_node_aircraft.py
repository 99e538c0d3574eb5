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

"""xpc_node with several aircraft, with each version of the plugin and of X-Plane."""

import math

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import TwistWithCovarianceStamped
from jsbsim_expectations import array, axes_of, body_axes, velocity_enu
from masked import masked
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, NavSatFix
from std_srvs.srv import SetBool
from xpc_peer import paused, turning

from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.bridges.xpc.node.messages import polled
from xplane_bridge.msg import AircraftPose, CameraView, FlightControls
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.srv import GetTerrain, PlaceAndProbe, RunCommand


def controls(**values):
    return masked(FlightControls, **values)


def pose(**values):
    return masked(AircraftPose, **values)


# Several aircraft.

def traffic():
    """Return a world in which aircraft 1 is banked and climbs, far from the local origin."""
    world = World(Aircraft())
    other = world.others[0]
    other.place(
        lat_deg=47.3, lon_deg=8.9, altitude_msl=2000.0, pitch_deg=10.0, roll_deg=30.0,
        heading_deg=90.0, speed=60.0)
    other.yoke_pitch, other.yoke_roll, other.yoke_yaw = 0.1, 0.2, -0.3
    other.throttle[0], other.flaps, other.speedbrake = 0.6, 0.5, 0.25
    other.gear[:] = [0.0] * 10
    world.paused = True
    return world


def test_aircraft_1_has_its_own_topics_and_figures(ros, x_plane):
    peer = x_plane(traffic)
    kinds = {'fix': NavSatFix, 'fix_velocity': TwistWithCovarianceStamped, 'imu/data': Imu,
             'odom': Odometry, 'controls': FlightControls}
    for topic, kind in kinds.items():
        ros.subscribe(kind, f'/aircraft_1/{topic}')
    ros.start(
        XpcNode, port=peer.port, aircraft=[0, 1, 7], velocity_stddev=0.5, undulation=0.0)
    said = {topic: ros.next(f'/aircraft_1/{topic}') for topic in kinds}
    fix = said['fix']
    assert (fix.latitude, fix.longitude, fix.altitude) == pytest.approx((47.3, 8.9, 2000.0))
    assert fix.header.frame_id == 'aircraft_1/base_link'
    # Heading east, nose ten degrees up, the right wing thirty down, at 60 m/s.
    velocity = array(said['fix_velocity'].twist.twist.linear)
    assert velocity == pytest.approx((59.088, 0.0, 10.419), abs=1e-3)
    forward, left, up = axes_of(said['imu/data'].orientation)
    assert forward == pytest.approx((0.98481, 0.0, 0.17365), abs=2e-5)
    assert left == pytest.approx((-0.08682, 0.86603, 0.49240), abs=2e-5)
    assert up == pytest.approx((-0.15038, -0.50000, 0.85287), abs=2e-5)
    # What the simulator does not report about it is marked as unknown.
    imu, odom = said['imu/data'], said['odom']
    assert imu.orientation_covariance[0] == 0.0
    assert imu.angular_velocity_covariance[0] == imu.linear_acceleration_covariance[0] == -1.0
    assert array(odom.twist.twist.linear) == pytest.approx((60.0, 0.0, 0.0), abs=1e-3)
    assert list(np.diag(odom.twist.covariance.reshape(6, 6))) == [0.25] * 3 + [1e6] * 3
    set_to = said['controls']
    assert (set_to.elevator, set_to.aileron, set_to.rudder) == pytest.approx((0.1, 0.2, -0.3))
    assert (set_to.throttle, set_to.flaps, set_to.gear, set_to.speedbrake) == pytest.approx(
        (0.6, 0.5, 0.0, 0.25))


# Each of 19 others has its own place: 1 is north-west of the local origin, 19 south-east.
def scattered():
    """Return a world with aircraft in a row across the local origin, 47.5 N 8.5 E, each level."""
    world = World(Aircraft())
    for number, other in enumerate(world.others, 1):
        other.place(
            lat_deg=47.9 - 0.04 * number, lon_deg=8.1 + 0.04 * number,
            altitude_msl=1000.0 + 100.0 * number, heading_deg=10.0 * number, roll_deg=0.0,
            pitch_deg=0.0, speed=50.0)
    world.paused = True
    return world


def test_19_others_in_shared_requests_are_where_they_are(ros, x_plane):
    """In centimetres, not in the steps of 0.4 m that latitude and longitude arrive in."""
    peer = x_plane(scattered)
    numbers = range(1, 20)
    node = ros.start(
        XpcNode, port=peer.port, aircraft=[0, *numbers], datum=[47.5, 8.5, 0.0], undulation=0.0)
    ros.wait_for(lambda: node.session.shared == tuple(numbers), 'shared requests')
    for number in numbers:
        ros.subscribe(NavSatFix, f'/aircraft_{number}/fix')
        ros.subscribe(Odometry, f'/aircraft_{number}/odom')
    for number in numbers:
        fix = ros.next(f'/aircraft_{number}/fix', 2)
        assert fix.latitude == pytest.approx(47.9 - 0.04 * number, abs=1e-7)
        assert fix.longitude == pytest.approx(8.1 + 0.04 * number, abs=1e-7)
        assert fix.altitude == pytest.approx(1000.0 + 100.0 * number, abs=0.01)
        odom = ros.next(f'/aircraft_{number}/odom')
        assert array(odom.pose.pose.position) == pytest.approx(
            east_north_up(fix_of(number)), abs=0.02)
        # Level flight at 50 m/s along its nose; a heading of 90 degrees is east.
        assert array(odom.twist.twist.linear) == pytest.approx((50.0, 0.0, 0.0), abs=1e-3)
        forward, _, up = axes_of(odom.pose.pose.orientation)
        heading = math.radians(10.0 * number)
        assert forward[:2] == pytest.approx((math.sin(heading), math.cos(heading)), abs=0.01)
        assert up[2] == pytest.approx(1.0, abs=1e-4)


def test_others_stay_where_they_are_when_x_plane_moves_its_origin(ros, x_plane):
    """The local axes jump by 100 km; position and origin are of the same frame."""
    peer = x_plane(scattered)
    node = ros.start(XpcNode, port=peer.port, aircraft=[0, 4, 16], undulation=0.0)
    ros.wait_for(lambda: node.session.shared == (4, 16), 'shared requests')
    for number in (4, 16):
        ros.subscribe(NavSatFix, f'/aircraft_{number}/fix')
        ros.next(f'/aircraft_{number}/fix')
    before = peer.dataref('sim/flightmodel/position/lat_ref')
    peer.server.call(lambda world: world.teleport(0, 48.5, 8.5))
    assert peer.dataref('sim/flightmodel/position/lat_ref') != before
    for number in (4, 16):
        ros.next(f'/aircraft_{number}/fix', 20)
        for fix in ros.messages[f'/aircraft_{number}/fix']:
            assert fix.latitude == pytest.approx(47.9 - 0.04 * number, abs=2e-7)
            assert fix.longitude == pytest.approx(8.1 + 0.04 * number, abs=2e-7)
            assert fix.altitude == pytest.approx(1000.0 + 100.0 * number, abs=0.02)
    assert node.session.shared == (4, 16)


def fix_of(number):
    """Return latitude, longitude (rad) and altitude (m) of a scattered aircraft."""
    return (math.radians(47.9 - 0.04 * number), math.radians(8.1 + 0.04 * number),
            1000.0 + 100.0 * number)


def east_north_up(place):
    """Return a place's offset from 47.5 N 8.5 E on WGS-84 along the axes there, in metres."""
    def geocentric(latitude, longitude, altitude):
        n = 6378137.0 / math.sqrt(1.0 - 6.69437999014e-3 * math.sin(latitude) ** 2)
        across = (n + altitude) * math.cos(latitude)
        return np.array([
            across * math.cos(longitude), across * math.sin(longitude),
            (n * (1.0 - 6.69437999014e-3) + altitude) * math.sin(latitude)])

    lat, lon = math.radians(47.5), math.radians(8.5)
    offset = geocentric(*place) - geocentric(lat, lon, 0.0)
    east = np.array([-math.sin(lon), math.cos(lon), 0.0])
    up = np.array([
        math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)])
    return [offset @ east, offset @ np.cross(up, east), offset @ up]


def test_topics_that_an_aircraft_has_nothing_for_do_not_exist(ros, x_plane):
    peer = x_plane(traffic)
    node = ros.start(XpcNode, port=peer.port, aircraft=[0, 7])

    def topics():
        return {name for name, _ in node.get_publisher_names_and_types_by_node('xpc_node', '/')}

    ros.wait_for(lambda: '/aircraft_7/controls' in topics(), 'its topics')
    assert {'/air_data', '/fix', '/aircraft_7/fix', '/aircraft_7/odom'} <= topics()
    assert '/aircraft_7/air_data' not in topics()
    assert '/aircraft_1/fix' not in topics()


def test_commands_go_to_the_aircraft_whose_they_are(ros, x_plane):
    peer = x_plane(traffic)
    node = ros.start(
        XpcNode, port=peer.port, aircraft=[0, 1, 7], command_timeout=0.0, undulation=50.0)
    ros.wait_for(lambda: all(map(node.publisher.last_state, (0, 1, 7))), 'telemetry of all')
    before = peer.jsbsim('fcs/elevator-cmd-norm'), peer.jsbsim('position/lat-geod-deg')
    ros.publisher(FlightControls, '/aircraft_1/command/controls').publish(
        controls(elevator=0.75, aileron=-0.5, rudder=0.25, throttle=1.0, flaps=1.0, gear=1.0,
                 speedbrake=-0.5))
    ros.wait_for(lambda: peer.world('others')[0].yoke_pitch == 0.75, 'the yoke')
    other = peer.world('others')[0]
    assert (other.yoke_roll, other.yoke_yaw, other.throttle[0], other.flaps, other.gear[0],
            other.speedbrake) == (-0.5, 0.25, 1.0, 1.0, 1.0, -0.5)
    ros.publisher(AircraftPose, '/aircraft_7/command/pose').publish(
        pose(latitude=47.25, longitude=8.25, altitude=1550.0, roll=0.2, pitch=-0.1,
             true_heading=1.0))
    ros.wait_for(lambda: abs(peer.world('others')[6].lat_deg - 47.25) < 1e-9, 'the place')
    ros.wait_for(lambda: abs(peer.world('others')[6].psi - 1.0) < 1e-5, 'the heading')
    other = peer.world('others')[6]
    assert (other.lon_deg, other.altitude_msl) == pytest.approx((8.25, 1500.0), abs=1e-6)
    assert (other.phi, other.theta) == pytest.approx((0.2, -0.1), abs=1e-5)
    # Only altitude: the rest is taken from that aircraft, not from the first one.
    ros.publisher(AircraftPose, '/aircraft_1/command/pose').publish(pose(altitude=2550.0))
    ros.wait_for(lambda: abs(peer.world('others')[0].altitude_msl - 2500.0) < 1e-6, 'altitude')
    assert peer.world('others')[0].lat_deg == pytest.approx(47.3, abs=1e-9)
    assert before == (
        peer.jsbsim('fcs/elevator-cmd-norm'), peer.jsbsim('position/lat-geod-deg'))


def test_the_users_aircraft_comes_first_whatever_the_order():
    assert list(polled([3, 0, 12])) == [0, 3, 12]
    assert list(polled([3, 12])) == [3, 12]


def test_others_share_what_the_first_leaves_of_the_budget(ros, x_plane):
    peer = x_plane()
    ros.start(XpcNode, port=peer.port, aircraft=[0, 1, 7], max_datagrams_per_second=120.0)
    for _ in range(3):
        _, _, values = ros.diagnosed('telemetry', hurry=False)
    rates = [float(values[f'aircraft {number}: updates/s']) for number in (0, 1, 7)]
    # Two datagrams for the first, one for both others.
    assert 2.0 * rates[0] + rates[1] < 132.0
    # On a busy computer with few frames, all have one update per frame.
    assert rates[0] > rates[1] - 2.0 > 3.0
    assert abs(rates[1] - rates[2]) < 2.0


# Versions of the plugin and of X-Plane.

PLUGIN_VERSIONS = ('1.2.1', 'rc5', 'rc6', 'develop')


@pytest.fixture(params=PLUGIN_VERSIONS)
def plugin_version(request):
    return request.param


def test_each_plugin_version_is_recognised_placed_and_paused(ros, x_plane, plugin_version):
    peer = x_plane(turning, plugin_version=plugin_version, beacon_interfaces=['127.0.0.1'])
    # Values that cannot be detected are configured.
    given = {'plugin': 'develop'} if plugin_version == 'develop' else {}
    node = ros.start(XpcNode, port=peer.port, undulation=0.0, **given)
    ros.wait_for(lambda: node.session.plugin_version, 'the plugin version')
    assert node.session.plugin_version.value == plugin_version
    _, _, values = ros.diagnosed('peer', node=node)
    assert values['plugin version'] == plugin_version

    # Telemetry.
    said = paused(ros, peer)
    exact = 1e-5 if plugin_version in ('1.2.1', 'rc5') else 1e-12
    fix = said['fix']
    assert fix.latitude == pytest.approx(peer.jsbsim('position/lat-geod-deg'), abs=exact)
    assert fix.longitude == pytest.approx(peer.jsbsim('position/long-gc-deg'), abs=exact)
    assert fix.altitude == pytest.approx(peer.jsbsim('position/h-sl-meters'), abs=1e-3)
    assert array(said['fix_velocity'].twist.twist.linear) == pytest.approx(
        velocity_enu(peer.jsbsim), abs=1e-4)

    # Poses.
    ros.publisher(AircraftPose, '/command/pose').publish(
        pose(latitude=47.456789, longitude=8.123456, altitude=2345.6, gear=0.0))
    exact = 1e-5 if plugin_version == '1.2.1' else 1e-9
    ros.wait_for(
        lambda: abs(peer.jsbsim('position/lat-geod-deg') - 47.456789) < exact, 'the place')
    assert peer.jsbsim('position/long-gc-deg') == pytest.approx(8.123456, abs=exact)
    assert peer.jsbsim('position/h-sl-meters') == pytest.approx(2345.6, abs=1e-3)
    ros.wait_for(lambda: peer.jsbsim('gear/gear-cmd-norm') == 0.0, 'the gear')

    # Pause.
    def pause(service):
        return ros.call(SetBool, service, SetBool.Request(data=True))

    assert pause('/aircraft_0/pause').success
    ros.wait_for(lambda: peer.world('planepath')[0] == 1, 'the pause')


def test_what_a_plugin_version_cannot_do_is_refused(ros, x_plane, plugin_version):
    peer = x_plane(plugin_version=plugin_version)
    node = ros.start(XpcNode, port=peer.port, plugin=plugin_version)
    ros.wait_for(lambda: node.publisher.last_state(0), 'telemetry')

    def run(action):
        return ros.call(RunCommand, '/run_command', RunCommand.Request(
            name='sim/flight_controls/flaps_down', action=action))

    once, begin, end = run(RunCommand.Request.ONCE), run(1), run(2)
    terrain = ros.call(GetTerrain, '/get_terrain', GetTerrain.Request())
    placed = ros.call(PlaceAndProbe, '/place_and_probe', PlaceAndProbe.Request(
        pose=pose(true_heading=1.0)))
    has_commands = plugin_version in ('rc6', 'develop')
    for response, what in (
            (once, 'running a command'), (terrain, 'probing the terrain'),
            (placed, 'placing an aircraft and probing the terrain')):
        assert response.success == has_commands
        if not has_commands:
            assert f'{what} needs plugin 1.3-rc6 or later; this one is {plugin_version}' == (
                response.message)
    for response, tag in ((begin, 'BCOM'), (end, 'ECOM')):
        assert response.success == (plugin_version == 'develop')
        if not response.success:
            assert response.message.startswith(f'holding a command ({tag}) exists only')

    views = ros.publisher(CameraView, '/command/view', 10)
    refused = node.refused['command/view']
    views.publish(masked(
        CameraView, view=CameraView.RUNWAY, location=[47.5, 8.5, 600.0],
        direction=[0.0, 0.25, 0.5], zoom=1.0))
    if has_commands:
        ros.wait_for(lambda: peer.screen.view and peer.screen.view.camera, 'the camera')
        assert peer.screen.view.camera.direction[2] == pytest.approx(math.degrees(0.5))
    else:
        ros.wait_for(lambda: node.refused['command/view'] == refused + 1, 'the refusal')
        assert peer.screen.view is None
    if plugin_version == 'rc5':
        views.publish(masked(
            CameraView, view=CameraView.RUNWAY, location=[47.5, 8.5, 600.0]))
        ros.wait_for(lambda: peer.screen.view and peer.screen.view.camera, 'the camera')
        assert peer.screen.view.camera.loc == (47.5, 8.5, 600.0)


def test_a_held_command_is_held_with_the_develop_branch(ros, x_plane):
    peer = x_plane(plugin_version='develop')
    node = ros.start(XpcNode, port=peer.port, plugin='develop')
    ros.wait_for(lambda: node.publisher.last_state(0), 'telemetry')

    def run(action):
        assert ros.call(RunCommand, '/run_command', RunCommand.Request(
            name='sim/engines/throttle_down', action=action)).success

    run(RunCommand.Request.BEGIN)
    ros.wait_for(lambda: peer.jsbsim('fcs/throttle-cmd-norm') == 0.0, 'the throttle to be shut')
    run(RunCommand.Request.END)


@pytest.mark.parametrize('version', [9, 10, 11, 12])
def test_each_x_plane_gives_orientation_and_weather(ros, x_plane, version):
    peer = x_plane(turning, xplane_version=version)
    ros.start(XpcNode, port=peer.port, aircraft=[0, 7])
    said = paused(ros, peer)
    # Weather and attitude have other names in other versions; nothing else is missing in any.
    assert ros.diagnosed('values')[0] == DiagnosticStatus.OK
    # X-Plane 9 has the attitude relative to its local axes only.
    for axis, expected in zip(
            axes_of(said['imu/data'].orientation), body_axes(peer.jsbsim), strict=True):
        assert axis == pytest.approx(expected, abs=1e-6)
    air = said['air_data']
    assert air.static_pressure == pytest.approx(
        peer.jsbsim('atmosphere/P-psf') * 47.880259, rel=1e-6)
    assert air.temperature == pytest.approx(peer.jsbsim('atmosphere/T-R') * 5.0 / 9.0, abs=1e-4)
    assert array(air.wind) == pytest.approx((-7.0, 4.0, -0.5), abs=1e-5)
    assert air.sideslip == pytest.approx(peer.jsbsim('aero/beta-rad'), abs=1e-6)
