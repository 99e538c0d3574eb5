#!/usr/bin/env python3
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

"""
Hold altitude, heading or course, and airspeed of a Cessna 172P: a law of 20 lines, 60 around it.

    python3 examples/controllers/minimal.py
    python3 examples/controllers/minimal.py --ros-args -p lockstep:=true

It imports ROS and messages only, and keeps the contract of docs/reference/controllers.md. The
other examples are other laws in the same node.
"""

from math import asin, atan2, cos, isnan, pi, remainder, sin, tan, tau
from types import SimpleNamespace

from nav_msgs.msg import Odometry
import rclpy
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Imu, NavSatFix

from xplane_bridge.msg import AirData, AutopilotTarget, FlightControls


class Law:
    """Altitude -> climb -> pitch -> elevator; course -> bank -> aileron; airspeed -> throttle."""

    def __init__(self, now, controls):
        self.pitch, self.altitude, self.climb = now.pitch, now.altitude, 0.0
        self.elevator, self.throttle = controls.elevator, controls.throttle

    def update(self, now, target, dt):
        """Return elevator, aileron, rudder and throttle, from SI units and radians."""
        self.climb += (now.altitude - self.altitude - self.climb * dt) / (0.5 + dt)
        self.altitude = now.altitude
        climb = limited(0.3 * (target['altitude'] - now.altitude), 3.5)
        self.pitch = limited(self.pitch + 0.008 * (climb - self.climb) * dt, 0.2)
        error = limited(self.pitch + 0.025 * (climb - self.climb), 0.2) - now.pitch
        self.elevator = limited(self.elevator + 0.8 * error * dt)
        off = (target['course'] - now.course if 'course' in target
               else target['true_heading'] - now.heading)
        bank = limited(2.2 * remainder(off, tau), 0.44)
        turn = 9.81 * tan(limited(now.roll)) / max(now.airspeed, 15.0)
        slow = limited(target['airspeed'] - now.airspeed, 3.0)
        self.throttle = limited(self.throttle + 0.01 * slow * dt)
        return (limited(self.elevator + 2.2 * error - 0.7 * now.pitch_rate),
                limited(1.5 * (bank - now.roll) - 0.35 * now.roll_rate),
                limited(0.5 * (turn * cos(now.roll) - now.yaw_rate)),
                max(0.0, limited(self.throttle + 0.15 * slow + 0.1 * climb)))


class Controller(Node):
    """Hear the aircraft and what is to be held; answer each state once."""

    def __init__(self, law):
        super().__init__('my_controller')
        self.new_law, self.law, self.target = law, None, {}
        self.heard, self.coming, self.answered = {}, [], 0
        self.lockstep = self.declare_parameter('lockstep', False).value
        # What comes with each state; sensors deliver the others more seldom, and later. There
        # a state is answered when all that has arrived is heard: guards come after subscriptions.
        self.of_state = ('imu/data', 'controls', 'fix', 'air_data', 'odom')
        self.due = None
        if self.declare_parameter('behind_sensors', False).value:
            self.of_state = ('imu/data', 'controls')
            self.due = self.create_guard_condition(self.answer)
        self.publisher = self.create_publisher(FlightControls, 'command/controls', 1)
        # Without rclpy's warnings of others' quality of service its executor, which looks for
        # them with each message, takes a quarter less time.
        quiet = SubscriptionEventCallbacks(use_default_callbacks=False)
        # The first subscription: what was heard together is handled in this order.
        self.create_subscription(AutopilotTarget, 'command/target', self.on_target, QoSProfile(
            depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL), event_callbacks=quiet)
        for topic, kind in (('imu/data', Imu), ('fix', NavSatFix), ('air_data', AirData),
                            ('odom', Odometry), ('controls', FlightControls)):
            self.create_subscription(
                kind, topic, lambda m, t=topic: self.on_message(t, m), 10, event_callbacks=quiet)

    def on_target(self, message):
        self.coming.append(message)
        self.answer()

    def on_message(self, topic, message):
        if topic == 'fix' and isnan(message.altitude):
            return    # Without a fix the last one is as good as any.
        self.heard[topic] = message
        if self.due is not None:
            self.due.trigger()
        elif self.lockstep or topic == 'imu/data':
            self.answer()

    def answer(self):
        """Command for the newest state, unless that is done or nothing is to be held."""
        stamps = {topic: nanoseconds(message) for topic, message in self.heard.items()}
        if not stamps.keys() >= {'imu/data', 'fix', 'air_data'} or (
                self.lockstep and len({stamps[topic] for topic in self.of_state
                                       if topic in stamps}) > 1):
            return    # There is more to come. In lockstep the simulator waits for the command.
        now = stamps['imu/data']
        while self.coming and nanoseconds(self.coming[0]) <= now:
            self.take(self.coming.pop(0))
        if not self.target or now <= self.answered:
            return
        state = measured(self.heard)
        self.law = self.law or self.new_law(
            state, self.heard.get('controls', FlightControls(throttle=0.74)))
        command = FlightControls(fields=15)
        command.header.stamp = self.heard['imu/data'].header.stamp
        command.elevator, command.aileron, command.rudder, command.throttle = self.law.update(
            state, self.target, min((now - self.answered) * 1e-9, 0.2))
        self.publisher.publish(command)
        self.answered = now

    def take(self, message):
        """Hold what is set, and what was held before; or release the aircraft."""
        if message.fields & AutopilotTarget.RELEASE:
            self.target, self.law = {}, None
        for name, other in (('altitude', ''), ('airspeed', ''),
                            ('true_heading', 'course'), ('course', 'true_heading')):
            if message.fields & getattr(AutopilotTarget, name.upper()):
                self.target.pop(other, None)
                self.target[name] = getattr(message, name)


def limited(value, limit=1.0):
    return max(-limit, min(value, limit))


def nanoseconds(message):
    return message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec


def measured(heard):
    """Return what a law needs: roll + is right wing down, pitch + is nose up."""
    imu, air, odom = heard['imu/data'], heard['air_data'], heard.get('odom', Odometry())
    q, rates, v = imu.orientation, imu.angular_velocity, odom.twist.twist.linear
    roll = atan2(2 * (q.w * q.x + q.y * q.z), 1 - 2 * (q.x**2 + q.y**2))
    heading = pi / 2 - atan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y**2 + q.z**2))
    return SimpleNamespace(
        roll=roll, pitch=-asin(limited(2 * (q.w * q.y - q.z * q.x))), heading=heading,
        course=heading + atan2(v.z * sin(roll) - v.y * cos(roll), v.x),
        roll_rate=rates.x, pitch_rate=-rates.y, yaw_rate=-rates.z,
        altitude=heard['fix'].altitude,
        # Some simulators report the true airspeed only.
        airspeed=air.true_airspeed if isnan(air.indicated_airspeed) else air.indicated_airspeed)


def main(law=Law):
    """Fly until Ctrl-C."""
    rclpy.init()
    try:
        rclpy.spin(Controller(law))
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except Exception:
        # After Ctrl-C nothing can be published any more.
        if rclpy.ok():
            raise


if __name__ == '__main__':
    main()
