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
from flown import Client, Flown
from geometry_msgs.msg import PoseStamped
from masked import masked
from nav_msgs.msg import Path
from sensor_msgs.msg import Joy

from xplane_bridge.action import FlyRoute
from xplane_bridge.msg import (
    AttitudeCommand,
    AutopilotTarget,
    RateCommand,
    Route,
)

FEET = 0.3048


def test_each_level_flies_what_it_is_told_and_the_last_one_wins(ros):
    flown = Flown(ros)
    assert flown.level() == 'off'
    altitude, heading = flown.altitude, flown.state.psi
    flown.publish('/command/target', masked(
        AutopilotTarget, altitude=altitude + 10.0, course=heading))
    flown.fly(6.0)
    assert flown.level() == 'target'
    assert flown.altitude > altitude + 5.0
    flown.publish('/command/attitude', masked(AttitudeCommand, roll=0.3, pitch=0.06))
    flown.fly(4.0)
    assert flown.level() == 'attitude'
    assert flown.state.phi == pytest.approx(0.3, abs=0.03)
    assert flown.state.theta == pytest.approx(0.06, abs=0.02)
    flown.publish('/command/rates', masked(RateCommand, roll_rate=-0.1, throttle=0.5))
    flown.fly(3.0)
    assert flown.level() == 'rates'
    assert flown.state.p == pytest.approx(-0.1, abs=0.04)
    assert flown.command.throttle == 0.5
    # What is not given is held as it is.
    flown.publish('/command/target', masked(AutopilotTarget, climb_rate=1.0))
    held = ros.messages['/autopilot/active_target'][-1]
    assert held.fields == AutopilotTarget.COURSE | AutopilotTarget.AIRSPEED | \
        AutopilotTarget.CLIMB_RATE
    assert flown.level() == 'target'
    flown.publishers['/command/target'].publish(AutopilotTarget(fields=AutopilotTarget.RELEASE))
    ros.wait_for(lambda: flown.level() == 'off', 'the release')


def test_routes_and_paths_are_flown_and_their_end_is_held(ros):
    flown = Flown(ros)
    start, corner, end = flown.east_north, flown.ahead(700.0), flown.ahead(1300.0, 500.0)
    places = [flown.at(*corner), flown.at(*end)]
    flown.publish('/command/route', Route(
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
    flown.publish('/command/path', path)
    assert "expected 'odom'" in flown.said[-1]
    path.header.frame_id = 'odom'
    flown.publish('/command/path', path)
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


def route_to(*places, **values):
    """Return the goal of a route."""
    return FlyRoute.Goal(route=Route(
        latitude=[place[0] for place in places], longitude=[place[1] for place in places],
        **values))


def test_fly_route_reports_its_way_and_holds_when_it_is_cancelled(ros):
    flown = Flown(ros)
    client = Client(flown, FlyRoute, '/fly_route')
    first = client.send(route_to(
        flown.at(*flown.ahead(700.0)), flown.at(*flown.ahead(1300.0, 500.0))))
    result = first.get_result_async()
    flown.fly(5.0)
    ros.wait_for(lambda: len(client.feedback) > 5, 'feedback')
    first_told, told = client.feedback[0], client.feedback[-1]
    assert told.distance == pytest.approx(first_told.distance - 5.0 * 50.0, abs=100.0)
    assert told.distance_left > told.distance
    assert abs(told.cross_track) < 5.0
    # Another goal takes its place.
    second = client.send(route_to(flown.at(*flown.ahead(3000.0))))
    ended = client.wait(result, 'the first result')
    assert (ended.status, ended.result.success) == (GoalStatus.STATUS_ABORTED, False)
    assert 'another goal' in ended.result.message
    # What cannot be flown is aborted with the reason.
    refused = client.wait(client.send(route_to((48.0, 200.0))).get_result_async(), 'the refusal')
    assert refused.status == GoalStatus.STATUS_ABORTED
    assert 'km away' in refused.result.message
    ended = client.wait(second.get_result_async(), 'the second result')
    assert 'another goal' in ended.result.message
    third = client.send(route_to(
        flown.at(*flown.ahead(3000.0)), altitude=[flown.altitude + 100.0]))
    flown.fly(2.0)
    assert flown.level() == 'path'
    client.wait(third.cancel_goal_async(), 'the answer')
    ended = client.wait(third.get_result_async(), 'the third result')
    assert ended.status == GoalStatus.STATUS_CANCELED
    held = ros.messages['/autopilot/active_target'][-1]
    assert held.altitude == pytest.approx(flown.altitude, abs=1.0)
    assert held.fields & AutopilotTarget.COURSE
    fourth = client.send(route_to(flown.at(*flown.ahead(150.0))))
    result = fourth.get_result_async()
    flown.fly(10.0, until=result.done)
    ended = client.wait(result, 'the fourth result')
    assert (ended.status, ended.result.success) == (GoalStatus.STATUS_SUCCEEDED, True)
    assert ended.result.legs == 1
    assert flown.level() == 'target'


def test_a_joystick_takes_over_at_once_and_gives_back_on_a_button(ros):
    flown = Flown(ros)
    client = Client(flown, FlyRoute, '/fly_route')
    goal = client.send(route_to(flown.at(*flown.ahead(5000.0))))
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
    flown.publish('/command/target', masked(AutopilotTarget, airspeed=45.0))
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


def test_scheduled_gains_are_flown_and_what_is_no_schedule_is_refused(ros):
    schedule = {
        'schedule.airspeed': [30.0, 70.0], 'schedule.altitude': [0.0, 3000.0],
        'schedule.roll_to_roll_rate': [1.0, 2.0, 3.0, 4.0]}
    flown = Flown(ros, **{name.replace('.', '__'): value for name, value in schedule.items()})
    flown.publish('/command/attitude', masked(AttitudeCommand, roll=0.3, pitch=0.06))
    flown.fly(1.0)
    cascade = flown.node._cascade
    now, gain = cascade._now, cascade.gains.roll_to_roll_rate
    assert gain == pytest.approx(
        1.0 + (now.airspeed - 30.0) / 40.0 * 2.0 + now.altitude / 3000.0, abs=0.02)
    refused = ros.change(flown.node, **{'schedule.altitude': [0.0]})
    assert 'schedule: roll_to_roll_rate has 4 values, expected 2' in refused.reason
    refused = ros.change(flown.node, **{'schedule.roll_to_roll_rate': [1.0, math.nan, 3.0, 4.0]})
    assert 'schedule.roll_to_roll_rate: expected a finite number, got nan' in refused.reason
    assert ros.change(
        flown.node, **schedule | {'schedule.roll_to_roll_rate': [1.6] * 4}).successful
    flown.fly(1.0)
    assert cascade.gains.roll_to_roll_rate == pytest.approx(1.6)


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
    flown.publish('/command/attitude', masked(AttitudeCommand, roll=1.0, pitch=0.05))
    assert flown.said[-1] == 'command/attitude: roll 1 rad is limited to 0.35 rad'
    assert flown.values('envelope') == {'commands limited': '1'}
    flown.fly(3.0)
    assert flown.state.phi == pytest.approx(0.35, abs=0.08)
    latitude, longitude = flown.at(0.0, 6000.0)
    flown.publish('/command/route', Route(latitude=[latitude], longitude=[longitude]))
    assert 'geofence' in flown.said[-1]
    assert flown.level() == 'attitude'
    flown.publish('/command/target', masked(AutopilotTarget, course=here.psi))
    # It would leave it after 40 s.
    flown.fly(60.0, until=lambda: flown.values('autopilot')['level'] == 'path')
    status = next(one for one in flown.node.diagnose() if one.name == 'envelope')
    assert 'circle' in status.message


def test_a_goal_ends_with_the_node_that_flies_it(ros):
    flown = Flown(ros)
    client = Client(flown, FlyRoute, '/fly_route')
    result = client.send(route_to(flown.at(*flown.ahead(5000.0)))).get_result_async()
    flown.fly(0.5)
    ros.run_in(flown.node, flown.node.trigger_deactivate)
    ended = client.wait(result, 'the result')
    assert ended.status == GoalStatus.STATUS_ABORTED
    assert 'deactivated' in ended.result.message
    assert flown.level() == 'off'
    inactive = client.wait(
        client.send(route_to(flown.at(*flown.ahead(5000.0)))).get_result_async(), 'the refusal')
    assert 'not active' in inactive.result.message
    ros.run_in(flown.node, flown.node.trigger_cleanup)
    ros.wait_for(lambda: not client.client.server_is_ready(), 'the end of the server')
