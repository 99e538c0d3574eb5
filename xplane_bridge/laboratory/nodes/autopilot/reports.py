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

"""What autopilot_node says of itself: its level, what it holds, and the path that it follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from std_msgs.msg import String

from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.diagnostics import OK, STALE, Status, WARN
from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.bridges.nodes.common.stamps import write_stamp
from xplane_bridge.common.text import known
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.path import PathFollower
from xplane_bridge.laboratory.control.targets import Level, Target
from xplane_bridge.laboratory.nodes.autopilot.telemetry import AutopilotTelemetry
from xplane_bridge.laboratory.nodes.messages.targets import TARGET_MASK
from xplane_bridge.msg import AutopilotTarget

OFF, JOYSTICK = 'off', 'joystick'


def autopilot_status(
    engaged: bool, telemetry: AutopilotTelemetry, target: Target, silence: str,
    *values: tuple[str, str],
) -> Status:
    """
    Return the diagnostics status of the autopilot, with ``values`` first.

    ``silence`` says why no telemetry arrives, if that is known.
    """
    fresh = telemetry.is_fresh
    level = OK if fresh else WARN if engaged else STALE
    text = 'engaged' if engaged else 'not engaged'
    if not fresh:
        text += '; no telemetry arrives' + (silence and f': {silence}')
    return Status('autopilot', level, text, (
        *values,
        ('lockstep waits for', ', '.join(telemetry.waits_for)),
        *((f'target {name}', known(value, '{:.1f}', 'none')) for name, value in (
            ('altitude, m', target.altitude), ('true heading, deg', target.heading / DEGREE),
            ('course, deg', target.course / DEGREE), ('airspeed, m/s', target.airspeed),
            ('climb rate, m/s', target.climb_rate)))))


def envelope_status(limits: Sequence[str], limited: int) -> Status:
    """Return the diagnostics status of the envelope, and of commands that it has limited."""
    return Status(
        'envelope', WARN if limits else OK, '; '.join(limits) or 'within its limits',
        (('commands limited', str(limited)),))


class AutopilotReports:
    """
    Publishes ``autopilot/level``, ``active_target`` and ``active_path``, each when it has changed.

    The path is in the frame of odom, at the altitude of the target, and empty when it has ended.
    """

    def __init__(self, node: BridgeNode[Any], telemetry: AutopilotTelemetry) -> None:
        self._telemetry = telemetry
        self._level = ''
        self._target: Target | None = None
        self._follower: PathFollower | None = None
        self._altitude = 0.0
        self._level_publisher = node.make_publisher(String, 'autopilot/level', LATCHED)
        self._target_publisher = node.make_publisher(
            AutopilotTarget, 'autopilot/active_target', LATCHED)
        self._path_publisher = node.make_publisher(Path, 'autopilot/active_path', LATCHED)
        # For the first line of a process rclpy looks through all modules: 30 ms, not in flight.
        node.get_logger().info('not engaged: nothing is commanded')

    def publish(self, level: str, cascade: Cascade, stamp: int, again: bool = False) -> None:
        """Publish what has changed at a state of that stamp (ns); the target also ``again``."""
        target = cascade.target
        has_changed = level != self._level
        if has_changed:
            self._level_publisher.publish(String(data=level))
        if level != OFF and (has_changed or again or target is not self._target):
            self._publish_target(level, target, stamp)
        self._level, self._target = level, target
        follower = cascade.follower if level == Level.PATH else None
        # A leg may have its own altitude.
        altitude = self._altitude if follower is None else target.altitude
        if follower is not self._follower or altitude != self._altitude:
            self._follower, self._altitude = follower, altitude
            self._publish_path(follower, altitude, stamp)

    def _publish_path(
        self, follower: PathFollower | None, altitude: float, stamp: int
    ) -> None:
        local, datum = self._telemetry.local, self._telemetry.datum
        message = Path()
        message.header.frame_id = self._telemetry.odom_frame
        write_stamp(message, stamp)
        if follower is not None and local is not None and datum is not None:
            for east, north in follower.drawn():
                latitude, longitude, _ = local.enu_to_geodetic((east, north, 0.0))
                pose = PoseStamped(header=message.header)
                point = pose.pose.position
                point.x, point.y, point.z = datum.geodetic_to_enu(latitude, longitude, altitude)
                message.poses.append(pose)
        self._path_publisher.publish(message)

    def _publish_target(self, level: str, target: Target, stamp: int) -> None:
        message = AutopilotTarget()
        # At the other levels nothing of it is held.
        TARGET_MASK.fill(message, target.fields() if level in (Level.PATH, Level.TARGET) else {})
        write_stamp(message, stamp)
        self._target_publisher.publish(message)
