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

"""Send commands to an aircraft until killed: commander.py TOPIC NAME=VALUE..."""

import sys

import rclpy
from rclpy.node import Node

from xplane_bridge.msg import FlightControls

topic, *given = sys.argv[1:]
command = FlightControls()
for name, _, value in (item.partition('=') for item in given):
    setattr(command, name, float(value))
    command.fields |= getattr(FlightControls, name.upper())

rclpy.init()
node = Node('commander')
publisher = node.create_publisher(FlightControls, topic, 1)
node.create_timer(0.02, lambda: publisher.publish(command))
rclpy.spin(node)
