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
A controller that does not keep its contract from its 30th command on: faulty_controller.py MODE.

dies; hangs; late; spoils: every tenth command in turn is not finite, wrongly stamped first, or
sent twice; own: nothing but that it has its own goals, and does not subscribe to command/target.
It imports nothing of this package but messages, and holds the controls where they were.
"""

import collections
import contextlib
import os
import sys

import rclpy
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Imu

from xplane_bridge.msg import AutopilotTarget, FlightControls

BEGIN = 30
FOUR = (FlightControls.ELEVATOR | FlightControls.AILERON | FlightControls.RUDDER
        | FlightControls.THROTTLE)


class Faulty(Node):
    """Answer each state with the controls at its start, until the fault."""

    def __init__(self, mode):
        super().__init__('faulty_controller')
        self.mode = mode
        self.start = None
        self.engaged_from = None
        self.count = 0
        self.stamps = collections.deque(maxlen=20)
        self.publisher = self.create_publisher(FlightControls, 'command/controls', 10)
        if mode == 'own':
            self.engaged_from = (0, 0)
        else:
            self.create_subscription(AutopilotTarget, 'command/target', self.on_target, QoSProfile(
                depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self.create_subscription(FlightControls, 'controls', self.on_controls, 10)
        self.create_subscription(Imu, 'imu/data', self.on_imu, 10)

    def on_target(self, target):
        stamp = (target.header.stamp.sec, target.header.stamp.nanosec)
        self.engaged_from = None if target.fields & AutopilotTarget.RELEASE else (
            self.engaged_from or stamp)

    def on_controls(self, controls):
        self.start = self.start or controls

    def on_imu(self, imu):
        stamp = (imu.header.stamp.sec, imu.header.stamp.nanosec)
        if self.engaged_from is None or stamp < self.engaged_from or self.start is None:
            return
        # In lockstep a state is repeated while it waits for its command.
        if self.stamps and stamp <= self.stamps[-1]:
            return
        self.stamps.append(stamp)
        self.count += 1
        command = FlightControls(fields=FOUR)
        command.header.stamp = imu.header.stamp
        for name in ('elevator', 'aileron', 'rudder', 'throttle'):
            setattr(command, name, getattr(self.start, name))
        if self.count >= BEGIN:
            self.spoil(command)
        if not ((self.mode == 'hangs' and self.count >= BEGIN)
                or (self.mode == 'late' and self.count < BEGIN)):
            self.publisher.publish(command)

    def spoil(self, command):
        tens, rest = divmod(self.count, 10)
        if self.mode == 'dies':
            print('cannot go on: no solution', flush=True)
            os._exit(3)
        elif self.mode == 'late':
            # It has taken it until now to compute the command for this one.
            command.header.stamp.sec, command.header.stamp.nanosec = self.stamps[0]
        elif self.mode == 'spoils' and not rest:
            if tens % 3 == 0:
                command.aileron = float('nan')
            elif tens % 3 == 1:
                right, command.header.stamp = command.header.stamp, self.get_clock().now().to_msg()
                self.publisher.publish(command)
                command.header.stamp = right
            else:
                self.publisher.publish(command)


rclpy.init()
with contextlib.suppress(KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
    rclpy.spin(Faulty(sys.argv[1]))
