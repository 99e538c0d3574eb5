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

"""Parts of autopilot_node alone: joystick, routes, waiting commands, odom's bytes, velocity."""

from dataclasses import replace
import math

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry, Path
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Imu, NavSatFix, NavSatStatus

from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.bridges.nodes.common.waiting import StampedCommands
from xplane_bridge.laboratory.nodes.autopilot.joystick import (
    Joystick,
    JoystickRequest,
    JoystickSettings,
)
from xplane_bridge.laboratory.nodes.autopilot.route import read_path, read_route
from xplane_bridge.laboratory.nodes.autopilot.telemetry import PositionDerivative
from xplane_bridge.laboratory.nodes.messages.serialized import (
    air_data,
    attitude,
    body_velocity,
    controls,
    position,
    read_stamp,
)
from xplane_bridge.msg import AirData, FlightControls, Route

CENTRED = (0.0,) * 8
RELEASED = (0,) * 11
LINEAR = JoystickSettings(expo=0.0, dead_zone=0.0)


def moved(**axes):
    values = list(CENTRED)
    for name, value in axes.items():
        values[int(name.removeprefix('axis'))] = value
    return tuple(values)


def pressed(button):
    return tuple(int(number == button) for number in range(len(RELEASED)))


def in_charge(settings=LINEAR, **axes):
    joystick = Joystick(settings)
    joystick.follow(Controls(elevator=-0.1, aileron=0.02, rudder=0.05, throttle=0.6), 0.02)
    joystick.on_joy(moved(**axes), RELEASED, 0.0)
    joystick.in_charge = True
    return joystick


def test_a_stick_takes_over_when_it_is_moved_not_when_it_was_deflected_before():
    joystick = Joystick(LINEAR)
    assert joystick.on_joy(moved(axis3=0.9), RELEASED, 0.0) is JoystickRequest.NOTHING
    assert joystick.on_joy(moved(axis3=0.2), RELEASED, 0.1) is JoystickRequest.NOTHING
    assert joystick.on_joy(moved(axis3=-0.4), RELEASED, 0.2) is JoystickRequest.TAKE_OVER
    # The throttle does not.
    joystick = Joystick(LINEAR)
    joystick.on_joy(CENTRED, RELEASED, 0.0)
    assert joystick.on_joy(moved(axis1=1.0), RELEASED, 0.1) is JoystickRequest.NOTHING


def test_buttons_count_when_they_are_pressed_not_while_they_are():
    joystick = Joystick(LINEAR)
    assert joystick.on_joy(CENTRED, pressed(4), 0.0) is JoystickRequest.TAKE_OVER
    joystick.in_charge = True
    assert joystick.on_joy(CENTRED, pressed(5), 0.1) is JoystickRequest.GIVE_BACK
    joystick.in_charge = False
    assert joystick.on_joy(CENTRED, pressed(5), 0.2) is JoystickRequest.NOTHING
    assert joystick.on_joy(CENTRED, pressed(4), 0.3) is JoystickRequest.TAKE_OVER


def test_stick_right_back_and_left_pedal_move_the_surfaces_from_their_trim():
    # joy: + is to the left and forwards.
    controls = in_charge(axis3=-0.5, axis4=-0.25, axis0=0.2).controls(0.02)
    assert controls.aileron == pytest.approx(0.52)
    assert controls.elevator == pytest.approx(0.15)
    assert controls.rudder == pytest.approx(-0.15)
    assert controls.throttle == 0.6


def test_the_trim_is_where_the_surfaces_were_on_average():
    joystick = Joystick(LINEAR)
    joystick.follow(Controls(elevator=-0.1), 0.02)
    joystick.follow(Controls(elevator=1.0), 0.02)
    assert joystick.controls(0.02).elevator == pytest.approx(-0.1, abs=0.01)


def test_a_throttle_that_centres_itself_is_a_rate_and_a_lever_is_a_position():
    joystick = in_charge(axis1=1.0)
    joystick.controls(0.2)
    assert joystick.controls(0.2).throttle == pytest.approx(0.8)
    assert joystick.controls(10.0).throttle == 1.0
    lever = replace(LINEAR, throttle_is_rate=False, throttle_scale=1.0)
    assert in_charge(lever, axis1=0.5).controls(0.02).throttle == pytest.approx(0.75)


def test_dead_zone_and_expo_soften_the_centre_and_leave_the_ends():
    settings = JoystickSettings(dead_zone=0.1, expo=0.5)
    at = {value: in_charge(settings, axis3=-value).controls(0.02).aileron - 0.02
          for value in (0.1, 0.55)}
    assert at[0.1] == 0.0
    assert at[0.55] == pytest.approx(0.5 * 0.5 + 0.5 * 0.5 ** 3)
    assert in_charge(settings, axis4=1.0).controls(0.02).elevator == -1.0


def test_silence_is_counted_from_the_last_message():
    joystick = in_charge()
    assert not joystick.is_silent(0.5)
    assert joystick.is_silent(0.51)


@pytest.mark.parametrize(('axes', 'buttons', 'words'), [
    ((0.0, 0.0), RELEASED, 'it has 2 axes, but joystick.aileron_axis is 3'),
    (CENTRED, (0, 0), 'it has 2 buttons, but joystick.take_over_button is 4'),
    (moved(axis7=math.nan), RELEASED, 'not finite'),
])
def test_a_joystick_that_lacks_what_is_set_is_refused(axes, buttons, words):
    with pytest.raises(ValueError, match=words):
        Joystick(LINEAR).on_joy(axes, buttons, 0.0)


def test_commands_wait_for_their_stamp_in_its_order():
    waiting, done = StampedCommands(), []
    for stamp in (30, 10, 20, 10):
        waiting.add(stamp, 'target', lambda stamp=stamp: done.append((stamp, len(done))), 5)
    for _, do in waiting.due(19):
        do()
    assert done == [(10, 0), (10, 1)]
    assert len(waiting) == 2
    with pytest.raises(ValueError, match='another clock'):
        waiting.add(3_700 * 10 ** 9, 'target', print, 5)
    for _ in range(98):
        waiting.add(40, 'target', print, 5)
    with pytest.raises(ValueError, match='100 commands are waiting'):
        waiting.add(40, 'target', print, 5)


class Other(bytes):
    """Bytes in an encoding that is not known, which rclpy reads."""

    def __getitem__(self, key):
        return 7 if key == 1 else super().__getitem__(key)


FRAMES = pytest.mark.parametrize('frames', [
    ('odom', 'base_link'), ('', ''), ('uav1/odom', 'x'), ('a' * 9, 'b' * 17)])


@FRAMES
def test_the_velocity_is_read_from_the_bytes_of_odom(frames):
    odom = Odometry()
    odom.header.frame_id, odom.child_frame_id = frames
    linear = odom.twist.twist.linear
    linear.x, linear.y, linear.z = 50.0, -1.25, 2.5
    odom.pose.covariance = [float(number) for number in range(36)]
    data = bytes(serialize_message(odom))
    for encoded in (data, Other(data)):
        assert body_velocity(encoded) == ((50.0, -1.25, 2.5), frames[0])


@FRAMES
def test_position_air_data_and_controls_are_read_from_their_bytes(frames):
    air = AirData(indicated_airspeed=50.0, true_airspeed=math.inf, static_pressure=90000.0)
    known = FlightControls(
        fields=FlightControls.AILERON | FlightControls.RUDDER_TRIM, elevator=1.0, aileron=-0.25,
        rudder_trim=0.5)
    place = {'latitude': -47.5, 'longitude': 8.25, 'altitude': 1500.0}
    fix = NavSatFix(**place, status=NavSatStatus(status=NavSatStatus.STATUS_GBAS_FIX))
    none = NavSatFix(**place, status=NavSatStatus(status=NavSatStatus.STATUS_NO_FIX))
    for message, read, expected in (
            (air, air_data, (50.0, math.inf, 90000.0)),
            (known, controls, Controls(aileron=-0.25, rudder_trim=0.5)),
            (fix, position, (True, (-47.5, 8.25, 1500.0))),
            (none, position, (False, (-47.5, 8.25, 1500.0)))):
        message.header.frame_id = frames[0]
        data = bytes(serialize_message(message))
        for encoded in (data, Other(data)):
            assert read(encoded) == expected


@FRAMES
def test_the_attitude_is_read_from_the_bytes_of_an_imu(frames):
    imu = Imu()
    imu.header.frame_id = frames[0]
    imu.header.stamp.sec, imu.header.stamp.nanosec = 12, 34
    turned, rates = imu.orientation, imu.angular_velocity
    turned.x, turned.y, turned.z, turned.w = 0.1, 0.2, 0.3, 0.9
    rates.x, rates.y, rates.z = 1.0, 2.0, 3.0
    imu.linear_acceleration.x = 5.0
    data = bytes(serialize_message(imu))
    assert read_stamp(data) == 12_000_000_034
    for encoded in (data, Other(data)):
        assert attitude(encoded) == ((0.9, 0.1, 0.2, 0.3), (1.0, 2.0, 3.0))
    for unknown in ('orientation_covariance', 'angular_velocity_covariance'):
        lacking = deserialize_message(data, Imu)
        getattr(lacking, unknown)[0] = -1.0
        data_lacking = bytes(serialize_message(lacking))
        for encoded in (data_lacking, Other(data_lacking)):
            assert attitude(encoded) is None


def test_a_velocity_follows_from_positions_but_not_over_a_jump():
    derivative = PositionDerivative()
    assert derivative.update((0.0, 0.0, 100.0), 10.0) is None
    for step in range(1, 60):
        found = derivative.update((step * 1.0, step * -2.0, 100.0), 10.0 + step * 0.05)
    assert found == pytest.approx((20.0, -40.0, 0.0))
    assert derivative.update((90000.0, 0.0, 100.0), 13.0) is None
    assert derivative.update((90001.0, 0.0, 100.0), 13.1) == pytest.approx((10.0, 0.0, 0.0))
    assert derivative.update((math.nan, 0.0, 100.0), 13.2) is None


def test_a_path_is_in_metres_from_the_datum():
    datum = LocalFrame(47.0, 8.0, 500.0)
    path = Path()
    pose = PoseStamped()
    pose.pose.position.x, pose.pose.position.y, pose.pose.position.z = 1000.0, 2000.0, 100.0
    path.poses = [pose]
    with pytest.raises(ValueError, match='which has not arrived'):
        read_path(path, None, 'odom')
    path.header.frame_id = 'map'
    with pytest.raises(ValueError, match="'map': expected 'odom'"):
        read_path(path, datum, 'odom')
    path.header.frame_id = 'odom'
    found = read_path(path, datum, 'odom')
    # 2000 m to the north, 1000 m to the east; 5 km away the ground has fallen by 0.4 m.
    assert found.positions[0] == pytest.approx((47.01799, 8.01316), abs=1e-4)
    assert found.altitudes[0] == pytest.approx(600.4, abs=0.1)
    assert found.east_north(datum)[0] == pytest.approx((1000.0, 2000.0), abs=0.1)


@pytest.mark.parametrize(('route', 'words'), [
    (Route(), '1 .. 1000 waypoints, got 0'),
    (Route(latitude=[47.0], longitude=[8.0, 9.0]), '1 latitudes and 2 longitudes'),
    (Route(latitude=[47.0, 47.1], longitude=[8.0, 9.0], altitude=[1.0]), '1 altitudes'),
    (Route(latitude=[91.0], longitude=[8.0]), 'waypoint 0 is at latitude 91'),
    (Route(latitude=[math.nan], longitude=[8.0]), 'waypoint 0 is at latitude nan'),
    (Route(latitude=[47.0], longitude=[8.0], altitude=[40000.0]), 'waypoint 0: altitude 40000 m'),
    (Route(latitude=[47.0], longitude=[8.0], airspeed=0.5), 'airspeed 0.5 m/s'),
])
def test_a_route_that_cannot_be_flown_is_refused_with_the_waypoint(route, words):
    with pytest.raises(ValueError, match=words):
        read_route(route)


def test_a_waypoint_that_is_too_far_away_is_refused():
    # Latitude and longitude the wrong way round.
    waypoints = read_route(Route(latitude=[8.0], longitude=[47.0]))
    with pytest.raises(ValueError, match='km away: at most 500 km'):
        waypoints.east_north(LocalFrame(47.0, 8.0, 500.0))
