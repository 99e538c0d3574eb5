"""Command an aircraft without end, until killed: commander.py TOPIC NAME=VALUE..."""

import sys

import rclpy
from rclpy.node import Node

from xplane_bridge.msg import FlightControls

topic, *given = sys.argv[1:]
command = FlightControls()
for name in ('elevator', 'aileron', 'rudder', 'throttle', 'flaps', 'gear', 'speedbrake'):
    setattr(command, name, float('nan'))
for name, _, value in (item.partition('=') for item in given):
    setattr(command, name, float(value))

rclpy.init()
node = Node('commander')
publisher = node.create_publisher(FlightControls, topic, 1)
node.create_timer(0.02, lambda: publisher.publish(command))
rclpy.spin(node)
