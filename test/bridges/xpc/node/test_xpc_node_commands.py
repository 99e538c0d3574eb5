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

"""Each command and service of xpc_node, against the resulting state of aircraft and plugin."""

import math

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from masked import masked
from sensor_msgs.msg import NavSatFix
from std_srvs.srv import SetBool, Trigger
from xpc_peer import bridged

from harness import free_port
from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.msg import (
    AircraftPose,
    CameraView,
    Datarefs,
    DataRows,
    EngineControls,
    FlightControls,
    ScreenText,
    Waypoints,
)
from xplane_bridge.simulation.aircraft import terrain
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane.entries import DatarefEntry, DatarefType
from xplane_bridge.srv import GetDatarefs, GetTerrain, PlaceAndProbe, RunCommand, SetDatarefs

NAN = math.nan
INF = math.inf


def answering(ros, node):
    """Wait until the node knows the plugin and its aircraft's positions."""
    ros.wait_for(
        lambda: all(map(node.publisher.last_state, node.parameters.aircraft)), 'telemetry')


def controls(**values):
    return masked(FlightControls, **values)


def pose(**values):
    return masked(AircraftPose, **values)


@pytest.fixture
def peer(x_plane):
    """Return an X-Plane in its own pause, where only commands change the aircraft."""
    peer = x_plane()
    peer.pause()
    return peer


def near(ros, read, expected, what, **tolerance):
    """Wait until ``read()`` is near a value."""
    ros.wait_for(
        lambda: read() == pytest.approx(expected, **tolerance), f'{what} of {expected}', 5.0)


def sent_nothing(ros, node, publisher, messages, topic):
    """Publish commands that must be rejected, and check that nothing is sent."""
    for count, message in enumerate(messages, node.refused[topic] + 1):
        publisher.publish(message)
        ros.wait_for(
            lambda count=count: node.refused[topic] == count, f'the refusal of {message}')
    # The command socket is opened by the first command sent.
    with node.link.lock:
        assert 'command' not in node.link._links


# Controls.

@pytest.mark.parametrize(('name', 'value', 'node', 'expected'), [
    # Nose up, right wing down, nose right; JSBSim's elevator and rudder have the other sign.
    ('elevator', 0.5, 'fcs/elevator-cmd-norm', -0.5),
    ('aileron', 0.25, 'fcs/aileron-cmd-norm', 0.25),
    ('rudder', -0.75, 'fcs/rudder-cmd-norm', 0.75),
    ('throttle', 0.375, 'fcs/throttle-cmd-norm', 0.375),
    ('flaps', 0.5, 'fcs/flap-cmd-norm', 0.5),
    ('gear', 0.0, 'gear/gear-cmd-norm', 0.0),
    ('speedbrake', 0.625, 'fcs/speedbrake-cmd-norm', 0.625),
])
def test_one_control_moves_and_nan_leaves_the_others(ros, peer, name, value, node, expected):
    others = {
        other: peer.jsbsim(other) for other in (
            'fcs/elevator-cmd-norm', 'fcs/aileron-cmd-norm', 'fcs/rudder-cmd-norm',
            'fcs/throttle-cmd-norm', 'fcs/flap-cmd-norm', 'gear/gear-cmd-norm',
            'fcs/speedbrake-cmd-norm')
        if other != node}
    bridged(ros, peer, command_timeout=0.0)
    publisher = ros.publisher(FlightControls, '/command/controls')
    publisher.publish(controls(**{name: value}))
    near(ros, lambda: peer.jsbsim(node), expected, node, abs=1e-7)
    assert {other: peer.jsbsim(other) for other in others} == others


def test_brakes_trims_and_engines_each_way_and_given_back(ros, x_plane):
    peer = x_plane(lambda: World(Aircraft('737')))
    peer.pause()
    node = bridged(ros, peer, command_timeout=0.0)
    for kind, topic in ((FlightControls, 'controls'), (EngineControls, 'engines')):
        ros.subscribe(kind, topic)
    publisher = ros.publisher(FlightControls, '/command/controls')
    publisher.publish(controls(throttle=0.9, brake_left=0.5, elevator_trim=0.25,
                               aileron_trim=-0.125, rudder_trim=0.375))
    near(ros, lambda: peer.jsbsim('fcs/throttle-cmd-norm[1]'), 0.9, 'throttle', abs=1e-7)
    # After the throttles were forced by the other command.
    ros.publisher(EngineControls, '/command/engines').publish(
        masked(EngineControls, throttle=[0.25, 0.75], mixture=[0.5]))
    for name, expected in (
            ('fcs/throttle-cmd-norm[0]', 0.25), ('fcs/throttle-cmd-norm[1]', 0.75),
            ('fcs/mixture-cmd-norm[1]', 0.5), ('fcs/left-brake-cmd-norm', 0.5),
            # JSBSim's elevator and rudder have the other sign.
            ('fcs/pitch-trim-cmd-norm', -0.25), ('fcs/roll-trim-cmd-norm', -0.125),
            ('fcs/yaw-trim-cmd-norm', -0.375)):
        near(ros, lambda name=name: peer.jsbsim(name), expected, name, abs=1e-7)
    report = ros.next('controls', where=lambda message: message.brake_left == 0.5)
    assert (report.fields, report.brake_right) == (4095, 0.0)
    assert (report.elevator_trim, report.aileron_trim, report.rudder_trim) == (
        0.25, -0.125, 0.375)
    engines = ros.next('engines', where=lambda message: list(message.throttle) == [0.25, 0.75])
    assert (list(engines.mixture), list(engines.propeller)) == ([0.5, 0.5], [1.0, 1.0])
    node.trigger_deactivate()
    near(ros, lambda: peer.jsbsim('fcs/left-brake-cmd-norm'), 0.0, 'brake', abs=1e-7)
    assert peer.dataref('sim/operation/override/override_toe_brakes') == (0,)


def test_the_aircraft_does_what_is_commanded(ros, x_plane):
    peer = x_plane()
    bridged(ros, peer)
    publisher = ros.publisher(FlightControls, '/command/controls')
    publisher.publish(controls(elevator=0.4, aileron=0.4, rudder=0.2))
    ros.wait_for(lambda: peer.jsbsim('velocities/p-rad_sec') > 0.1, 'roll to the right')
    ros.wait_for(lambda: peer.jsbsim('velocities/q-rad_sec') > 0.05, 'pitch up')
    assert peer.jsbsim('attitude/phi-rad') > 0.0


def test_controls_out_of_range_are_refused_and_nothing_is_sent(ros, peer):
    node = bridged(ros, peer)
    publisher = ros.publisher(FlightControls, '/command/controls', 20)
    bad = [controls(**{name: value}) for name, value in (
        ('elevator', 1.01), ('aileron', -1.01), ('rudder', INF), ('throttle', -0.01),
        ('flaps', 1.5), ('gear', 2.0), ('speedbrake', -0.6), ('speedbrake', 1.6),
        ('throttle', -INF))]
    sent_nothing(ros, node, publisher, bad, 'command/controls')
    assert not node.gates[''].watchdog.expired
    _, message, values = ros.diagnosed('refused', node=node)
    assert (message, values) == ('9 commands refused', {'command/controls': '9'})
    _, _, values = ros.diagnosed('commands', node=node)
    assert values['aircraft 0: commands'] == '0'


def test_the_joystick_is_overridden_from_the_first_command_if_asked(ros, peer):
    bridged(ros, peer, override_joystick=True)
    publisher = ros.publisher(FlightControls, '/command/controls')
    assert peer.world('overrides')['override_joystick'] == 0
    publisher.publish(controls(elevator=0.1))
    ros.wait_for(lambda: peer.world('overrides')['override_joystick'] == 1, 'the override')


# Pose.

def test_altitudes_are_above_the_ellipsoid_without_further_settings(ros, peer):
    ros.subscribe(NavSatFix, '/fix')
    node = bridged(ros, peer)
    answering(ros, node)
    ros.publisher(AircraftPose, '/command/pose').publish(
        pose(latitude=47.4, longitude=8.5, altitude=2000.0))
    near(ros, lambda: peer.jsbsim('position/lat-geod-deg'), 47.4, 'latitude', abs=1e-7)
    peer.pause()
    fix = ros.next('/fix', 5)
    # The geoid at Zurich from EGM96's full grid, and the packaged grid's permitted error.
    above_sea = fix.altitude - peer.jsbsim('position/h-sl-meters')
    assert above_sea == pytest.approx(47.40, abs=0.8)
    # Altitude in is altitude out: less than a few metres are flown before the pause.
    assert fix.altitude == pytest.approx(2000.0, abs=20.0)


def test_a_pose_is_taken_with_all_its_values(ros, peer):
    node = bridged(ros, peer, undulation=47.0)
    answering(ros, node)
    publisher = ros.publisher(AircraftPose, '/command/pose')
    publisher.publish(pose(
        latitude=47.5, longitude=8.75, altitude=2047.0, roll=0.25, pitch=0.125, true_heading=4.0,
        gear=0.0))
    near(ros, lambda: peer.jsbsim('position/lat-geod-deg'), 47.5, 'latitude', abs=1e-7)
    near(ros, lambda: peer.jsbsim('attitude/psi-rad'), 4.0, 'heading', abs=1e-6)
    assert peer.jsbsim('position/long-gc-deg') == pytest.approx(8.75, abs=1e-9)
    assert peer.jsbsim('position/h-sl-meters') == pytest.approx(2000.0, abs=1e-3)
    assert peer.jsbsim('attitude/phi-rad') == pytest.approx(0.25, abs=1e-6)
    assert peer.jsbsim('attitude/theta-rad') == pytest.approx(0.125, abs=1e-6)
    assert peer.jsbsim('gear/gear-cmd-norm') == 0.0


def test_nan_leaves_what_a_pose_does_not_say(ros, peer):
    before = {name: peer.jsbsim(name) for name in (
        'position/lat-geod-deg', 'position/long-gc-deg', 'attitude/theta-rad')}
    node = bridged(ros, peer, undulation=-30.0)
    answering(ros, node)
    publisher = ros.publisher(AircraftPose, '/command/pose')
    publisher.publish(pose(roll=-0.5))
    near(ros, lambda: peer.jsbsim('attitude/phi-rad'), -0.5, 'roll', abs=1e-5)
    publisher.publish(pose(altitude=1234.0))
    near(ros, lambda: peer.jsbsim('position/h-sl-meters'), 1264.0, 'altitude', abs=1e-3)
    assert {name: peer.jsbsim(name) for name in before} == pytest.approx(before, abs=1e-5)
    assert peer.jsbsim('gear/gear-cmd-norm') == 1.0


def test_poses_that_cannot_be_are_refused(ros, peer):
    node = bridged(ros, peer)
    publisher = ros.publisher(AircraftPose, '/command/pose', 20)
    bad = [pose(**{name: value}) for name, value in (
        ('latitude', 90.5), ('longitude', 181.0), ('altitude', INF), ('roll', INF),
        ('pitch', -INF), ('true_heading', INF), ('gear', 1.5))]
    sent_nothing(ros, node, publisher, bad, 'command/pose')


# Datarefs and rows.

def test_datarefs_are_written(ros, peer):
    bridged(ros, peer)
    publisher = ros.publisher(Datarefs, '/command/datarefs')
    publisher.publish(Datarefs(
        names=['sim/flightmodel/engine/ENGN_mixt', 'sim/cockpit2/controls/flap_ratio'],
        sizes=[2, 1], values=[0.5, 0.5, 0.25]))
    near(ros, lambda: peer.jsbsim('fcs/flap-cmd-norm'), 0.25, 'flaps')
    near(ros, lambda: peer.jsbsim('fcs/mixture-cmd-norm'), 0.5, 'mixture')


def test_datarefs_that_do_not_add_up_are_refused(ros, peer):
    node = bridged(ros, peer)
    publisher = ros.publisher(Datarefs, '/command/datarefs')
    sent_nothing(ros, node, publisher, [
        Datarefs(),
        Datarefs(names=['sim/a'], sizes=[1, 1], values=[1.0, 2.0]),
        Datarefs(names=['sim/a'], sizes=[2], values=[1.0]),
        Datarefs(names=['sim/a'], sizes=[0]),
        Datarefs(names=['sim/a'], sizes=[256], values=[0.0] * 256),
        Datarefs(names=['sim/a'], sizes=[1], values=[NAN]),
        Datarefs(names=['sim/a'], sizes=[1], values=[INF]),
        Datarefs(names=[''], sizes=[1], values=[1.0]),
        Datarefs(names=['x' * 256], sizes=[1], values=[1.0]),
        Datarefs(names=['sim/ä'], sizes=[1], values=[1.0]),
        # More than 4096 bytes.
        Datarefs(names=['sim/a'] * 5, sizes=[255] * 5, values=[0.0] * 1275),
    ], 'command/datarefs')


def test_rows_of_the_data_table_are_written(ros, peer):
    bridged(ros, peer, command_timeout=0.0)
    publisher = ros.publisher(DataRows, '/command/data')
    # Row 17: pitch, roll, heading; row 25: throttle. In X-Plane's own units.
    publisher.publish(DataRows(rows=[17, 25], values=[
        5.0, -10.0, 200.0, *[NAN] * 5, 0.75, *[NAN] * 7]))
    near(ros, lambda: peer.jsbsim('fcs/throttle-cmd-norm'), 0.75, 'throttle')
    # These angles are X-Plane's, relative to its local axes.
    assert peer.dataref('sim/flightmodel/position/phi')[0] == pytest.approx(-10.0, abs=1e-4)
    assert peer.dataref('sim/flightmodel/position/theta')[0] == pytest.approx(5.0, abs=1e-4)
    publisher.publish(DataRows(rows=[17], values=[NAN, 20.0, *[NAN] * 6]))
    near(ros, lambda: peer.dataref('sim/flightmodel/position/phi')[0], 20.0, 'roll', abs=1e-4)
    assert peer.dataref('sim/flightmodel/position/theta')[0] == pytest.approx(5.0, abs=1e-4)


def test_a_position_row_as_x_plane_sends_it_places_the_aircraft(ros, peer):
    node = bridged(ros, peer)
    publisher = ros.publisher(DataRows, '/command/data')
    # Latitude, longitude, feet above mean sea level.
    publisher.publish(DataRows(rows=[20], values=[47.25, 8.75, 5000.0, *[NAN] * 5]))
    near(ros, lambda: peer.jsbsim('position/lat-geod-deg'), 47.25, 'latitude', abs=1e-5)
    assert peer.jsbsim('position/long-gc-deg') == pytest.approx(8.75, abs=1e-5)
    assert peer.jsbsim('position/h-sl-ft') == pytest.approx(5000.0, abs=0.1)
    publisher.publish(DataRows(rows=[17, 20], values=[
        5.0, *[NAN] * 7, 47.0, 8.0, 5000.0, 400.0, *[NAN] * 4]))
    ros.wait_for(lambda: node.refused['command/data'] == 1, 'the refusal')
    assert peer.jsbsim('position/lat-geod-deg') == pytest.approx(47.25, abs=1e-5)


def test_rows_that_would_crash_x_plane_are_refused(ros, peer):
    node = bridged(ros, peer)
    publisher = ros.publisher(DataRows, '/command/data', 20)
    sent_nothing(ros, node, publisher, [
        DataRows(rows=[17] * 32, values=[0.0] * 256), DataRows(rows=[17], values=[0.0] * 7),
        DataRows(rows=[4] * 2000, values=[0.0] * 16_000),
        DataRows(rows=[256], values=[0.0] * 8), DataRows(rows=[25], values=[INF] + [0.0] * 7),
    ], 'command/data')
    _, message, values = ros.diagnosed('refused', node=node)
    assert (message, values) == ('5 commands refused', {'command/data': '5'})
    # 31 is the most it survives.
    publisher.publish(DataRows(rows=[25] * 31, values=[0.25] * 248))
    near(ros, lambda: peer.jsbsim('fcs/throttle-cmd-norm'), 0.25, 'throttle')


# The screen.

def test_text_is_shown_and_cleared(ros, peer):
    node = bridged(ros, peer)
    publisher = ros.publisher(ScreenText, '/command/text')
    publisher.publish(ScreenText(
        fields=ScreenText.TEXT | ScreenText.POSITION, x=20, y=-1, text='Grüezi\n1500 m'))
    ros.wait_for(lambda: peer.screen.text, 'the text')
    text = peer.screen.text
    assert (text.x, text.y) == (20, 600)
    assert text.text.encode('latin-1' if 'Ã' in text.text else 'utf-8').decode() == (
        'Grüezi\n1500 m')
    publisher.publish(masked(ScreenText, text=''))
    ros.wait_for(lambda: peer.screen.text is None, 'the text to go')
    publisher.publish(masked(ScreenText, text='ü' * 128))
    ros.wait_for(lambda: node.refused['command/text'] == 1, 'the refusal')
    assert peer.screen.text is None


def test_a_view_is_chosen_and_the_camera_placed(ros, peer):
    node = bridged(ros, peer)
    answering(ros, node)
    publisher = ros.publisher(CameraView, '/command/view')
    publisher.publish(masked(CameraView, view=CameraView.TOWER))
    ros.wait_for(lambda: peer.screen.view, 'the view')
    assert (peer.screen.view.view, peer.screen.view.camera) == (78, None)
    publisher.publish(masked(
        CameraView, view=CameraView.CHASE, location=[20.0, -3.0, 5.0],
        direction=[0.0, math.radians(-10.0), 0.0], zoom=2.0))
    ros.wait_for(lambda: peer.screen.view.camera, 'the camera')
    camera = peer.screen.view.camera
    assert camera.loc == (20.0, -3.0, 5.0)
    assert camera.zoom == 2.0
    assert camera.direction == pytest.approx((0.0, -10.0, 0.0))
    publisher.publish(masked(CameraView, view=CameraView.CHASE, location=[20.0, -3.0, 5.0]))
    ros.wait_for(lambda: peer.screen.view.camera.zoom == 1.0, 'the camera without a direction')
    assert peer.screen.view.camera.direction == (None, None, None)


def test_views_that_are_none_are_refused(ros, peer):
    node = bridged(ros, peer)
    publisher = ros.publisher(CameraView, '/command/view')
    sent_nothing(ros, node, publisher, [
        # 0 is the pause key.
        masked(CameraView, view=0), masked(CameraView, view=72), masked(CameraView, view=86),
        masked(CameraView, view=79, location=[91.0, 0.0, 0.0]),
        masked(CameraView, view=80, location=[0.0, 0.0, INF]),
        masked(CameraView, view=80, location=[0.0] * 3, direction=[-4.0, 0.0, 0.0]),
        masked(CameraView, view=80, location=[0.0] * 3, zoom=NAN),
        # X-Plane's zoom if nothing is set.
        masked(CameraView, view=80, location=[0.0] * 3, zoom=0.0),
        masked(CameraView, view=80, location=[0.0] * 3, zoom=-1.0),
        # In other views the plugin does not position the camera.
        masked(CameraView, view=78, location=[0.0] * 3),
        # A camera without a position is nowhere; without the view it has no effect.
        masked(CameraView, view=80, zoom=2.0),
        masked(CameraView, location=[0.0] * 3),
        masked(CameraView, view=79, location=[0.0] * 3, direction=[0.0, NAN, 0.0]),
        masked(CameraView, view=79, location=[0.0] * 3, direction=[1e308, 0.0, 0.0]),
    ], 'command/view')


def test_waypoints_are_added_removed_and_cleared(ros, peer):
    bridged(ros, peer)
    publisher = ros.publisher(Waypoints, '/command/waypoints')

    def points():
        return peer.screen.waypoints

    publisher.publish(Waypoints(
        operation=Waypoints.ADD, latitude=[47.25, 47.5, 47.75], longitude=[8.5, 8.25, 8.0],
        altitude_msl=[500.0, 600.0, 700.0]))
    ros.wait_for(lambda: len(points()) == 3, 'three points')
    publisher.publish(Waypoints(
        operation=Waypoints.REMOVE, latitude=[47.5], longitude=[8.25], altitude_msl=[600.0]))
    ros.wait_for(lambda: len(points()) == 2, 'two points')
    assert points() == [(47.25, 8.5, 500.0), (47.75, 8.0, 700.0)]
    publisher.publish(Waypoints(operation=Waypoints.CLEAR))
    ros.wait_for(lambda: not points(), 'no points')


def test_waypoints_that_cannot_be_are_refused(ros, peer):
    node = bridged(ros, peer)
    publisher = ros.publisher(Waypoints, '/command/waypoints')
    sent_nothing(ros, node, publisher, [
        Waypoints(),
        Waypoints(operation=4),
        Waypoints(operation=1),
        Waypoints(operation=2),
        Waypoints(operation=1, latitude=[1.0], longitude=[1.0]),
        Waypoints(operation=1, latitude=[91.0], longitude=[1.0], altitude_msl=[1.0]),
        Waypoints(operation=1, latitude=[1.0], longitude=[1.0], altitude_msl=[NAN]),
        Waypoints(operation=2, latitude=[1.0] * 2, longitude=[1.0] * 2, altitude_msl=[1.0] * 2),
        Waypoints(operation=2, latitude=[1.0] * 129, longitude=[1.0] * 129,
                  altitude_msl=[1.0] * 129),
    ], 'command/waypoints')


# Services.

def test_datarefs_are_read_and_unknown_ones_named(ros, peer):
    bridged(ros, peer)
    names = [
        'sim/flightmodel/position/true_phi', 'sim/no/such', 'sim/flightmodel/engine/ENGN_thro']
    response = ros.call(GetDatarefs, '/get_datarefs', GetDatarefs.Request(names=names))
    assert response.success
    assert response.message == 'unknown datarefs: sim/no/such'
    assert list(response.sizes) == [1, 0, len(peer.dataref(names[2]))]
    assert response.values[0] == pytest.approx(
        math.degrees(peer.jsbsim('attitude/phi-rad')), abs=1e-4)
    assert response.values[1] == pytest.approx(peer.jsbsim('fcs/throttle-cmd-norm'), abs=1e-6)


def test_more_datarefs_than_one_answer_may_hold_are_read(ros, peer):
    bridged(ros, peer)
    names = ['sim/flightmodel/position/elevation', 'sim/flightmodel/weight/m_fuel'] * 30
    response = ros.call(GetDatarefs, '/get_datarefs', GetDatarefs.Request(names=names))
    assert response.success
    assert list(response.sizes) == [1, 9] * 30
    assert response.values[-10] == pytest.approx(peer.jsbsim('position/h-sl-meters'), abs=1e-3)


@pytest.mark.parametrize(('names', 'sentence'), [
    ([], 'at least one'), (['x'] * 2001, '2001 datarefs, at most 2000'),
    (['x' * 256], 'at most 255 fit'), (['sim/ä'], 'ASCII')])
def test_reads_that_cannot_be_are_answered_with_the_reason(ros, peer, names, sentence):
    node = bridged(ros, peer)
    response = ros.call(GetDatarefs, '/get_datarefs', GetDatarefs.Request(names=names))
    assert not response.success
    assert sentence in response.message
    assert node.refused['get_datarefs'] == 1


def test_written_datarefs_are_read_back(ros, peer):
    bridged(ros, peer)

    def write(name, *values):
        return ros.call(SetDatarefs, '/set_datarefs', SetDatarefs.Request(
            names=[name], sizes=[len(values)], values=values))

    response = write('sim/cockpit2/controls/flap_ratio', 0.3)
    assert (response.success, response.message) == (True, '')
    assert peer.jsbsim('fcs/flap-cmd-norm') == pytest.approx(0.3, abs=1e-7)
    response = write('sim/no/such', 1.0)
    assert (response.success, response.message) == (False, 'sim/no/such is unknown')
    response = write('sim/flightmodel/misc/machno', 3.0)
    assert not response.success
    assert response.message.startswith('sim/flightmodel/misc/machno reads back as [0.')
    response = write('sim/cockpit2/controls/flap_ratio', 0.4, 0.5)
    assert (response.success, response.message) == (
        False, 'sim/cockpit2/controls/flap_ratio holds only 1 of the 2 values')
    response = write('sim/cockpit2/controls/flap_ratio', NAN)
    assert not response.success
    assert 'finite' in response.message
    response = ros.call(SetDatarefs, '/set_datarefs', SetDatarefs.Request(
        names=['sim/a'], sizes=[2], values=[1.0]))
    assert not response.success
    assert 'do not match' in response.message


def test_a_command_is_run_once_and_holding_is_refused_without_develop(ros, peer):
    node = bridged(ros, peer)
    answering(ros, node)

    def run(name, action=RunCommand.Request.ONCE):
        return ros.call(
            RunCommand, '/run_command', RunCommand.Request(name=name, action=action))

    before = peer.jsbsim('fcs/flap-cmd-norm')
    assert run('sim/flight_controls/flaps_down').success
    ros.wait_for(lambda: peer.jsbsim('fcs/flap-cmd-norm') > before, 'the flaps')
    for action in (RunCommand.Request.BEGIN, RunCommand.Request.END):
        response = run('sim/flight_controls/flaps_down', action)
        assert not response.success
        assert 'develop' in response.message
    assert run('', RunCommand.Request.ONCE).success is False
    assert 'not one of ONCE, BEGIN, END' in run('sim/a', 3).message


def test_terrain_at_a_place_and_under_the_aircraft(ros, peer):
    node = bridged(ros, peer, undulation=47.0)
    answering(ros, node)

    def probe(**place):
        return ros.call(GetTerrain, '/get_terrain', GetTerrain.Request(
            fields=GetTerrain.Request.POSITION if 'latitude' in place else 0, **place))

    # In the hills, where the ground slopes.
    response = probe(latitude=47.75, longitude=8.75, altitude=3000.0)
    assert response.success, response.message
    assert (response.latitude, response.longitude) == pytest.approx((47.75, 8.75), abs=1e-6)
    assert response.altitude == pytest.approx(terrain.elevation_m(47.75, 8.75) + 47.0, abs=1e-3)
    east, north, up = terrain.normal(47.75, 8.75)
    assert abs(east) + abs(north) > 0.005
    assert (response.normal.x, response.normal.y, response.normal.z) == pytest.approx(
        (east, north, up), abs=1e-6)
    assert not response.is_wet
    # At sea: the nearest is 55 km to the east.
    lon = next(lon for lon in (9.2 + 0.05 * n for n in range(20)) if terrain.is_wet(47.4, lon))
    response = probe(latitude=47.4, longitude=lon, altitude=1000.0)
    assert response.is_wet
    assert response.altitude == pytest.approx(47.0, abs=1e-3)
    response = probe()
    lat, lon = peer.jsbsim('position/lat-geod-deg'), peer.jsbsim('position/long-gc-deg')
    assert (response.latitude, response.longitude) == pytest.approx((lat, lon), abs=1e-6)
    assert response.altitude == pytest.approx(terrain.elevation_m(lat, lon) + 47.0, abs=1e-3)
    response = probe(latitude=91.0, longitude=8.0, altitude=0.0)
    assert not response.success
    assert '91' in response.message
    response = probe(aircraft=20)
    assert not response.success
    assert '0 to 19' in response.message


def test_place_and_probe_does_both(ros, peer):
    node = bridged(ros, peer, undulation=0.0)
    answering(ros, node)
    response = ros.call(PlaceAndProbe, '/place_and_probe', PlaceAndProbe.Request(
        pose=pose(latitude=47.75, longitude=8.75, altitude=3000.0, true_heading=1.0)))
    assert response.success, response.message
    assert response.altitude == pytest.approx(terrain.elevation_m(47.75, 8.75), abs=1e-3)
    assert peer.jsbsim('position/lat-geod-deg') == pytest.approx(47.75, abs=1e-9)
    assert peer.jsbsim('position/h-sl-meters') == pytest.approx(3000.0, abs=1e-3)
    assert peer.jsbsim('attitude/psi-rad') == pytest.approx(1.0, abs=1e-5)


def test_all_or_one_aircraft_are_paused(ros, peer):
    bridged(ros, peer, aircraft=[0, 3])

    def held():
        return peer.world('planepath')

    def pause(service, on):
        response = ros.call(SetBool, service, SetBool.Request(data=on))
        assert response.success, response.message

    pause('/pause', True)
    ros.wait_for(lambda: held() == [1] * 20, 'all to be held')
    pause('/pause', False)
    ros.wait_for(lambda: held() == [0] * 20, 'all to go on')
    pause('/aircraft_3/pause', True)
    ros.wait_for(lambda: held() == [0, 0, 0, 1] + [0] * 16, 'aircraft 3 to be held')
    pause('/aircraft_0/pause', True)
    ros.wait_for(lambda: held() == [1, 0, 0, 1] + [0] * 16, 'aircraft 0 to be held')
    response = ros.call(Trigger, '/toggle_pause', Trigger.Request())
    assert response.success
    ros.wait_for(lambda: held() == [0, 1, 1, 0] + [1] * 16, 'each to be turned over')
    pause('/aircraft_3/pause', False)
    pause('/pause', False)
    ros.wait_for(lambda: held() == [0] * 20, 'all to go on')


def test_without_a_plugin_all_is_refused_at_once_and_nothing_is_done_later(ros, x_plane):
    port = free_port()
    node = ros.start(XpcNode, port=port)
    ros.diagnosed('peer', lambda level, message, values: 'not responding' in message, node)
    for kind, service, request in (
            (SetBool, '/pause', SetBool.Request(data=True)),
            (RunCommand, '/run_command', RunCommand.Request(
                name='sim/flight_controls/flaps_down')),
            (SetDatarefs, '/set_datarefs', SetDatarefs.Request(
                names=['sim/cockpit2/controls/flap_ratio'], sizes=[1], values=[1.0])),
            (PlaceAndProbe, '/place_and_probe', PlaceAndProbe.Request(
                pose=pose(latitude=47.0, longitude=8.0)))):
        response = ros.call(kind, service, request)
        assert (response.success, response.message) == (
            False, f'nothing answers at 127.0.0.1:{port}')
    publisher = ros.publisher(AircraftPose, '/command/pose')
    publisher.publish(pose(latitude=47.0, longitude=8.0))
    ros.wait_for(lambda: node.refused['command/pose'] == 1, 'the refusal')
    peer = x_plane(port=port)
    answering(ros, node)
    assert not any(peer.world('planepath'))
    assert peer.jsbsim('fcs/flap-cmd-norm') == 0.0
    assert peer.jsbsim('position/lat-geod-deg') > 47.2
    response = ros.call(SetBool, '/pause', SetBool.Request(data=True))
    assert response.success, response.message
    # It has been read by now.
    assert all(peer.world('planepath'))


def test_arrays_of_another_plugin_that_grow_do_not_end_x_plane(ros, peer):
    values = [1.0] * 8
    names = [f'radar/{n}/targets' for n in range(19)]

    def load(_):
        for name in names:
            peer.frontend.store._entries[name] = DatarefEntry(
                DatarefType.FLOAT_ARRAY, lambda: list(values))

    peer.server.call(load)
    ros.subscribe(Datarefs, '/datarefs')
    bridged(ros, peer, datarefs=names, datarefs_rate=20.0)
    assert list(ros.next('/datarefs', 5).sizes) == [8] * 19
    values *= 75
    message = ros.next('/datarefs', where=lambda message: message.sizes[0] == 255)
    assert list(ros.next('/datarefs', 2).sizes) == [255] * 19, message


def test_services_of_an_inactive_node_say_so(ros, peer):
    ros.start(XpcNode, port=peer.port, activate=False)
    for kind, service in (
            (GetDatarefs, '/get_datarefs'), (SetDatarefs, '/set_datarefs'),
            (RunCommand, '/run_command'), (GetTerrain, '/get_terrain'),
            (PlaceAndProbe, '/place_and_probe'), (SetBool, '/pause'),
            (SetBool, '/aircraft_0/pause'), (Trigger, '/toggle_pause')):
        response = ros.call(kind, service, kind.Request())
        assert (response.success, response.message) == (False, 'xpc_node is not active')
    assert peer.received == 0


def test_a_read_without_an_answer_fails_with_a_reason_and_delays_nothing(ros, peer):
    node = bridged(ros, peer, command_timeout=0.1)
    answering(ros, node)
    publisher = ros.publisher(FlightControls, '/command/controls')
    client = ros.observer.create_client(GetDatarefs, '/get_datarefs')
    assert client.wait_for_service(5.0)
    peer.server.freeze()
    answer = client.call_async(GetDatarefs.Request(names=['sim/time/paused']))
    publisher.publish(controls(elevator=0.1))
    ros.wait_for(lambda: node.gates[''].watchdog.expired, 'the watchdog')
    assert not answer.done()
    ros.wait_for(answer.done, 'the answer')
    assert not answer.result().success
    assert any(words in answer.result().message for words in (
        'no answer', f'nothing answers at 127.0.0.1:{peer.port}'))
    peer.server.resume()
    # The late answer belongs to nobody: the next read gets its own.
    ros.wait_for(
        lambda: ros.call(GetDatarefs, '/get_datarefs', GetDatarefs.Request(
            names=['sim/flightmodel/position/true_psi'])).values[:1], 'an answer')
    response = ros.call(GetDatarefs, '/get_datarefs', GetDatarefs.Request(
        names=['sim/flightmodel/position/true_psi']))
    assert list(response.values) == pytest.approx(
        [math.degrees(peer.jsbsim('attitude/psi-rad'))], abs=1e-3)
