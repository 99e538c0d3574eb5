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

"""What a controller subscribes to and publishes, and the short life of one: controllers.md."""

import math

from nav_msgs.msg import Odometry
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Imu, NavSatFix

from harness import DEADLINE, process
from xplane_bridge.msg import AirData, AutopilotTarget, FlightControls

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
HELD = {'altitude': 1500.0, 'true_heading': 1.0, 'airspeed': 50.0}


def target(fields, stamp, **values):
    message = AutopilotTarget(fields=fields, **values)
    message.header.stamp.sec = stamp
    return message


def state(sec, nanosec=0, wave=0.0, without_indicated=False):
    """Return the line of a script for a state; ``wave`` moves everything in it."""
    roll, pitch, yaw = 0.8 * math.sin(wave), 0.2 * math.sin(1.3 * wave + 1.0), 3.0 * wave
    cr, sr, cp, sp, cy, sy = (
        function(0.5 * angle) for angle in (roll, pitch, yaw) for function in (math.cos, math.sin))
    values = (
        cr * cp * cy + sr * sp * sy, sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy, *(0.3 * math.sin(wave + k) for k in range(3)),
        1500.0 + 20.0 * math.sin(wave),
        math.nan if without_indicated else 50.0 + 5.0 * math.sin(wave),
        55.0 + 5.0 * math.sin(wave), 50.0, math.sin(wave), -2.0, 0.02, 0.7)
    return f'state {sec} {nanosec} ' + ' '.join(map(repr, values))


def sensed(*arguments):
    """Return the line of a script for a state of which sensors deliver imu/data only."""
    return state(*arguments).replace('state', 'sensed')


def messages(line):
    """Return topics and messages of a script's line, as script.cpp says them."""
    kind, sec, nanosec, *words = line.split()
    if kind == 'target':
        fields, altitude, heading, course, airspeed = words
        found = {'command/target': AutopilotTarget(
            fields=int(fields), altitude=float(altitude), true_heading=float(heading),
            course=float(course), airspeed=float(airspeed))}
    else:
        found = {'fix': NavSatFix(), 'imu/data': Imu(), 'air_data': AirData(),
                 'controls': FlightControls(), 'odom': Odometry()}
        imu, air, controls = found['imu/data'], found['air_data'], found['controls']
        q, rates, v = imu.orientation, imu.angular_velocity, found['odom'].twist.twist.linear
        (q.w, q.x, q.y, q.z, rates.x, rates.y, rates.z, found['fix'].altitude,
         air.indicated_airspeed, air.true_airspeed, v.x, v.y, v.z, controls.elevator,
         controls.throttle) = map(float, words)
    for message in found.values():
        message.header.stamp.sec, message.header.stamp.nanosec = int(sec), int(nanosec)
    if kind == 'sensed':
        return {topic: found[topic] for topic in ('controls', 'imu/data')}
    return found


def check_short_life(ros, *command):
    """Engage a controller at state 2, release it at 4, engage it at 5: it answers 2, 3 and 5."""
    with process(*command):
        publishers = {
            topic: ros.publisher(type(message), topic, 10)
            for topic, message in messages(state(0)).items()}
        targets = ros.publisher(AutopilotTarget, 'command/target', LATCHED)
        ros.subscribe(FlightControls, 'command/controls')
        ros.wait_for(lambda: ros.observer.count_publishers('command/controls'), 'its publisher')

        def hold(fields, sec, **values):
            targets.publish(target(fields, sec, **values))
            assert targets.wait_for_all_acked(Duration(seconds=DEADLINE))

        def fly(sec):
            for topic, message in messages(state(sec)).items():
                publishers[topic].publish(message)

        def fly_until_answered(sec):
            before = len(ros.messages['command/controls'])

            def answered():
                fly(sec)
                return len(ros.messages['command/controls']) > before

            ros.wait_for(answered, f'a command for state {sec}')

        hold(7, 2, **HELD)
        fly(1)
        fly_until_answered(2)
        fly_until_answered(3)
        hold(AutopilotTarget.RELEASE, 4)
        fly(4)
        hold(7, 5, **HELD)
        fly_until_answered(5)
    heard = ros.messages['command/controls']
    assert [one.header.stamp.sec for one in heard] == [2, 3, 5]
    assert {one.fields for one in heard} == {15}
    assert all(abs(one.aileron) <= 1.0 and 0.0 <= one.throttle <= 1.0 for one in heard)
