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

"""autopilot_node flies a JSBSim aircraft in lockstep, commanded at each of its levels."""

import math

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import PoseStamped
from masked import masked
from nav_msgs.msg import Odometry, Path
from rclpy.action import ActionClient
from sensor_msgs.msg import Imu, Joy, NavSatFix
from std_msgs.msg import String

from xplane_bridge.action import FlyRoute
from xplane_bridge.aircraft.aircraft import Aircraft
from xplane_bridge.conversions import frames
from xplane_bridge.conversions.geodesy import LocalFrame
from xplane_bridge.msg import (
    AirData,
    AttitudeTarget,
    AutopilotTarget,
    FlightControls,
    RateTarget,
    Route,
)
from xplane_bridge.nodes.autopilot import AutopilotNode
from xplane_bridge.nodes.common.latched import LATCHED

FRAME = 1.0 / 30.0
FEET = 0.3048


class Flown:
    """A JSBSim aircraft behind the common topics: it flies a frame with each command."""

    def __init__(self, ros, **parameters):
        self.ros = ros
        self.aircraft = Aircraft()
        self.frames = self.until = 0
        self.command = None
        self.publishers = {}
        ros.subscribe(String, '/autopilot/level', LATCHED)
        ros.subscribe(AutopilotTarget, '/autopilot/active_target', LATCHED)
        ros.subscribe(Path, '/autopilot/active_path', LATCHED)
        self.node = ros.start(AutopilotNode, lockstep=True, **parameters)
        ros.observer.create_subscription(FlightControls, '/command/controls', self._take, 10)
        self.topics = {
            topic: ros.publisher(kind, f'/{topic}', 10) for topic, kind in (
                ('fix', NavSatFix), ('air_data', AirData), ('controls', FlightControls),
                ('imu/data', Imu), ('odom', Odometry))}
        ros.wait_for(lambda: self.node.count_subscribers('/command/controls'), 'who hears it')
        state = self.aircraft.state
        self.datum = LocalFrame(state.lat_deg, state.lon_deg, state.altitude_msl)
        ros.observer.create_publisher(NavSatFix, '/datum', LATCHED).publish(NavSatFix(
            latitude=state.lat_deg, longitude=state.lon_deg, altitude=state.altitude_msl))
        ros.wait_for(lambda: self.node._telemetry.datum, 'the datum')
        self.said = []
        refuse, warn = self.node.refuse, self.node.warn
        self.node.refuse = lambda what, error: (self.said.append(str(error)), refuse(what, error))
        self.node.warn = lambda kind, text: (self.said.append(text), warn(kind, text))
        self._publish()

    @property
    def state(self):
        return self.aircraft.state

    @property
    def altitude(self):
        return self.state.altitude_msl

    @property
    def east_north(self):
        state = self.state
        return self.datum.geodetic_to_enu(state.lat_deg, state.lon_deg, self.altitude)[:2]

    def ahead(self, forward, right=0.0):
        """Return where something is from the datum, east and north, seen from the aircraft."""
        east, north = self.east_north
        sine, cosine = math.sin(self.state.psi), math.cos(self.state.psi)
        return east + forward * sine + right * cosine, north + forward * cosine - right * sine

    def at(self, east, north):
        """Return the latitude and longitude of a position from the datum."""
        return self.datum.enu_to_geodetic((east, north, 0.0))[:2]

    def _publish(self):
        state = self.state
        orientation = frames.ned_frd_to_enu_flu(frames.euler_to_quaternion(
            state.phi, state.theta, state.psi))
        imu, odom = Imu(), Odometry()
        turned = imu.orientation
        turned.w, turned.x, turned.y, turned.z = orientation
        rates = imu.angular_velocity
        rates.x, rates.y, rates.z = state.p, -state.q, -state.r
        odom.header.frame_id, odom.child_frame_id = 'odom', 'base_link'
        linear = odom.twist.twist.linear
        linear.x, linear.y, linear.z = frames.rotate_inverse(
            orientation, (state.v_east, state.v_north, -state.v_down))
        for topic, message in (
            ('fix', NavSatFix(
                latitude=state.lat_deg, longitude=state.lon_deg, altitude=self.altitude)),
            ('air_data', AirData(indicated_airspeed=state.cas, true_airspeed=state.tas)),
            ('controls', masked(
                FlightControls, elevator=state.elevator, aileron=state.aileron,
                rudder=state.rudder, throttle=state.engines[0].throttle)),
            ('imu/data', imu), ('odom', odom),
        ):
            stamp = message.header.stamp
            stamp.sec, stamp.nanosec = divmod(self.stamp, 1_000_000_000)
            self.topics[topic].publish(message)

    @property
    def stamp(self):
        return round((self.frames + 1) * FRAME * 1e9)

    def _take(self, command):
        stamp = command.header.stamp
        assert stamp.sec * 1_000_000_000 + stamp.nanosec == self.stamp, 'one command a stamp'
        assert self.command is None, 'one command a stamp'
        self.command = command
        self._advance()

    def _advance(self):
        if self.command is None or self.frames >= self.until:
            return
        command, self.command = self.command, None
        self.aircraft.set_controls(
            elevator=command.elevator, aileron=command.aileron, rudder=command.rudder,
            throttle=command.throttle)
        self.aircraft.advance(FRAME)
        self.frames += 1
        self._publish()

    def fly(self, seconds, until=lambda: False):
        """Fly on, and wait for the command that follows."""
        end = self.frames + round(seconds / FRAME)
        step = max(1, round(1.0 / FRAME))
        while self.frames < end and not until():
            self.until = min(self.frames + step, end)
            self.ros.run_in(self.ros.observer, self._advance)
            self.ros.wait_for(
                lambda: self.frames >= self.until and self.command is not None, 'the commands')

    def publish(self, topic, message):
        """Command, and wait until that has been taken."""
        if topic not in self.publishers:
            self.publishers[topic] = self.ros.publisher(type(message), topic, 10)
        count = len(self.ros.messages['/autopilot/active_target']) + len(self.said)
        self.publishers[topic].publish(message)
        if topic != '/joy':
            self.ros.wait_for(lambda: count < len(self.said) + len(
                self.ros.messages['/autopilot/active_target']), f'what {topic} does')

    def level(self):
        return self.ros.messages['/autopilot/level'][-1].data

    def values(self, part):
        """Return the values of a status."""
        return {key: value for status in self.node.diagnose() if status.name == part
                for key, value in status.values}


def test_each_level_flies_what_it_is_told_and_the_last_one_wins(ros):
    flown = Flown(ros)
    assert flown.level() == 'off'
    altitude, heading = flown.altitude, flown.state.psi
    flown.publish('/target', masked(AutopilotTarget, altitude=altitude + 10.0, course=heading))
    flown.fly(6.0)
    assert flown.level() == 'target'
    assert flown.altitude > altitude + 5.0
    flown.publish('/attitude', masked(AttitudeTarget, roll=0.3, pitch=0.06))
    flown.fly(4.0)
    assert flown.level() == 'attitude'
    assert flown.state.phi == pytest.approx(0.3, abs=0.03)
    assert flown.state.theta == pytest.approx(0.06, abs=0.02)
    flown.publish('/rates', masked(RateTarget, roll_rate=-0.1, throttle=0.5))
    flown.fly(3.0)
    assert flown.level() == 'rates'
    assert flown.state.p == pytest.approx(-0.1, abs=0.04)
    assert flown.command.throttle == 0.5
    # What is not given is held as it is.
    flown.publish('/target', masked(AutopilotTarget, climb_rate=1.0))
    held = ros.messages['/autopilot/active_target'][-1]
    assert held.fields == AutopilotTarget.COURSE | AutopilotTarget.AIRSPEED | \
        AutopilotTarget.CLIMB_RATE
    assert flown.level() == 'target'
    flown.publishers['/target'].publish(AutopilotTarget(fields=AutopilotTarget.RELEASE))
    ros.wait_for(lambda: flown.level() == 'off', 'the release')


def test_routes_and_paths_are_flown_and_their_end_is_held(ros):
    flown = Flown(ros)
    start, corner, end = flown.east_north, flown.ahead(700.0), flown.ahead(1300.0, 500.0)
    places = [flown.at(*corner), flown.at(*end)]
    flown.publish('/route', Route(
        latitude=[place[0] for place in places], longitude=[place[1] for place in places]))
    flown.fly(2.0)
    assert flown.level() == 'path'
    is_drawn(flown, end, 0.0)
    across = []
    flown.fly(40.0, until=lambda: across.append(
        flown.node._cascade.at.across) or flown.level() == 'target')
    assert flown.level() == 'target'
    assert max(map(abs, across)) < 15.0
    assert math.dist(flown.east_north, end) < 60.0
    ros.wait_for(lambda: not ros.messages['/autopilot/active_path'][-1].poses, 'its end')
    # Back, in the frame of odom, 20 m higher than the datum.
    path = Path()
    path.header.frame_id = 'map'
    for east, north in (corner, start):
        pose = PoseStamped()
        pose.pose.position.x, pose.pose.position.y, pose.pose.position.z = east, north, 20.0
        path.poses.append(pose)
    flown.publish('/path', path)
    assert "expected 'odom'" in flown.said[-1]
    path.header.frame_id = 'odom'
    flown.publish('/path', path)
    flown.fly(0.2)
    assert flown.level() == 'path'
    assert ros.messages['/autopilot/active_target'][-1].altitude == pytest.approx(
        flown.datum.height + 20.0, abs=0.1)
    is_drawn(flown, start, 20.0)


def is_drawn(flown, end, up):
    """Wait for the path that is followed, in the frame of odom, which ends there."""
    def drawn():
        path = flown.ros.messages['/autopilot/active_path'][-1:]
        if not path or not path[0].poses or path[0].header.frame_id != 'odom':
            return False
        last = path[0].poses[-1].pose.position
        return math.dist((last.x, last.y, last.z), (*end, up)) < 1.0

    flown.ros.wait_for(drawn, f'a path that ends at {end}, {up}')


class Client:
    """A client of fly_route, whose goals are sent while the simulation waits."""

    def __init__(self, flown):
        self.flown, self.ros = flown, flown.ros
        self.feedback = []
        self.client = ActionClient(self.ros.observer, FlyRoute, '/fly_route')
        assert self.client.wait_for_server(60.0)

    def send(self, *places, **values):
        """Send a goal; return its handle."""
        future = self.client.send_goal_async(
            FlyRoute.Goal(route=Route(
                latitude=[place[0] for place in places],
                longitude=[place[1] for place in places], **values)),
            lambda message: self.feedback.append(message.feedback))
        return self.wait(future, 'the goal')

    def wait(self, future, what):
        return self.ros.wait_for(lambda: [future.result()] if future.done() else None, what)[0]


def test_fly_route_reports_its_way_and_holds_when_it_is_cancelled(ros):
    flown = Flown(ros)
    client = Client(flown)
    first = client.send(flown.at(*flown.ahead(700.0)), flown.at(*flown.ahead(1300.0, 500.0)))
    result = first.get_result_async()
    flown.fly(5.0)
    ros.wait_for(lambda: len(client.feedback) > 5, 'feedback')
    first_told, told = client.feedback[0], client.feedback[-1]
    assert told.distance == pytest.approx(first_told.distance - 5.0 * 50.0, abs=100.0)
    assert told.distance_left > told.distance
    assert abs(told.cross_track) < 5.0
    # Another goal takes its place.
    second = client.send(flown.at(*flown.ahead(3000.0)))
    ended = client.wait(result, 'the first result')
    assert (ended.status, ended.result.success) == (GoalStatus.STATUS_ABORTED, False)
    assert 'another goal' in ended.result.message
    # What cannot be flown is aborted with the reason.
    refused = client.wait(client.send((48.0, 200.0)).get_result_async(), 'the refusal')
    assert refused.status == GoalStatus.STATUS_ABORTED
    assert 'km away' in refused.result.message
    ended = client.wait(second.get_result_async(), 'the second result')
    assert 'another goal' in ended.result.message
    third = client.send(flown.at(*flown.ahead(3000.0)), altitude=[flown.altitude + 100.0])
    flown.fly(2.0)
    assert flown.level() == 'path'
    client.wait(third.cancel_goal_async(), 'the answer')
    ended = client.wait(third.get_result_async(), 'the third result')
    assert ended.status == GoalStatus.STATUS_CANCELED
    held = ros.messages['/autopilot/active_target'][-1]
    assert held.altitude == pytest.approx(flown.altitude, abs=1.0)
    assert held.fields & AutopilotTarget.COURSE
    fourth = client.send(flown.at(*flown.ahead(150.0)))
    result = fourth.get_result_async()
    flown.fly(10.0, until=result.done)
    ended = client.wait(result, 'the fourth result')
    assert (ended.status, ended.result.success) == (GoalStatus.STATUS_SUCCEEDED, True)
    assert ended.result.legs == 1
    assert flown.level() == 'target'


def test_a_joystick_takes_over_at_once_and_gives_back_on_a_button(ros):
    flown = Flown(ros)
    client = Client(flown)
    goal = client.send(flown.at(*flown.ahead(5000.0)))
    flown.fly(1.0)
    joy = Joy(axes=[0.0] * 8, buttons=[0] * 11)
    heard = flown.node._pilot.joystick

    def move(**axes):
        for name, value in axes.items():
            joy.axes[int(name.removeprefix('axis_'))] = value
        flown.publish('/joy', joy)
        ros.wait_for(lambda: list(heard._axes) == list(joy.axes)
                     and list(heard._buttons) == list(joy.buttons), 'the joystick')

    move()
    assert flown.level() == 'path'
    before = flown.command
    # The stick to the right: + in joy is to the left.
    move(axis_3=-1.0)
    ros.wait_for(lambda: flown.level() == 'joystick', 'the joystick in charge')
    ended = client.wait(goal.get_result_async(), 'the result')
    assert 'joystick' in ended.result.message
    flown.fly(0.3)
    assert flown.command.aileron == pytest.approx(1.0, abs=0.1)
    assert flown.command.elevator == pytest.approx(before.elevator, abs=0.1)
    assert flown.command.throttle == pytest.approx(before.throttle, abs=0.1)
    flown.publish('/target', masked(AutopilotTarget, airspeed=45.0))
    assert 'in charge' in flown.said[-1]
    move(axis_3=0.0)
    joy.buttons[5] = 1
    move()
    ros.wait_for(lambda: flown.level() == 'target', 'the cascade in charge')
    flown.fly(8.0)
    assert abs(flown.state.phi) < 0.1
    # Silent while in charge.
    joy.buttons = [0] * 11
    move()
    joy.buttons[4] = 1
    move()
    ros.wait_for(lambda: flown.level() == 'joystick', 'the joystick in charge')
    flown.fly(1.0)
    ros.wait_for(lambda: flown.level() == 'target', 'the cascade in charge')
    assert 'silent' in flown.said[-1]
    assert flown.values('joystick') == {'taken over': '2', 'fell silent': '1'}


def test_the_envelope_limits_what_is_commanded_and_says_so(ros):
    flown = Flown(ros, envelope__bank_limit=0.35)
    here = flown.state
    fence = [number for corner in ((-2e3, -2e3), (-2e3, 2e3), (2e3, 2e3), (2e3, -2e3))
             for number in flown.at(*corner)]
    assert ros.change(flown.node, **{'envelope.geofence_deg': fence}).successful
    refused = ros.change(flown.node, **{'envelope.geofence_deg': fence[:4]})
    assert 'at least 3 corners' in refused.reason
    refused = ros.change(flown.node, **{'envelope.airspeed_low': 90.0})
    assert 'airspeed_low' in refused.reason
    flown.publish('/attitude', masked(AttitudeTarget, roll=1.0, pitch=0.05))
    assert flown.said[-1] == 'attitude: roll 1 rad is limited to 0.35 rad'
    assert flown.values('envelope') == {'commands limited': '1'}
    flown.fly(3.0)
    assert flown.state.phi == pytest.approx(0.35, abs=0.08)
    latitude, longitude = flown.at(0.0, 6000.0)
    flown.publish('/route', Route(latitude=[latitude], longitude=[longitude]))
    assert 'geofence' in flown.said[-1]
    assert flown.level() == 'attitude'
    flown.publish('/target', masked(AutopilotTarget, course=here.psi))
    # It would leave it after 40 s.
    flown.fly(60.0, until=lambda: flown.values('autopilot')['level'] == 'path')
    status = next(one for one in flown.node.diagnose() if one.name == 'envelope')
    assert 'circle' in status.message


def test_a_goal_ends_with_the_node_that_flies_it(ros):
    flown = Flown(ros)
    client = Client(flown)
    result = client.send(flown.at(*flown.ahead(5000.0))).get_result_async()
    flown.fly(0.5)
    ros.run_in(flown.node, flown.node.trigger_deactivate)
    ended = client.wait(result, 'the result')
    assert ended.status == GoalStatus.STATUS_ABORTED
    assert 'deactivated' in ended.result.message
    assert flown.level() == 'off'
    inactive = client.wait(
        client.send(flown.at(*flown.ahead(5000.0))).get_result_async(), 'the refusal')
    assert 'not active' in inactive.result.message
    ros.run_in(flown.node, flown.node.trigger_cleanup)
    ros.wait_for(lambda: not client.client.server_is_ready(), 'the end of the server')
