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

"""Stamps of messages: the receive time, in wall time or in ROS time."""

from __future__ import annotations

from typing import Any

from rclpy.clock import JumpThreshold

from xplane_bridge.bridges.nodes.common.diagnostics import OK, Status, WARN
from xplane_bridge.common.timing import SECOND_NS


def write_stamp(message: Any, stamp_ns: int) -> None:
    """Stamp a message that has a header."""
    stamp = message.header.stamp
    stamp.sec, stamp.nanosec = divmod(stamp_ns, SECOND_NS)


class Stamps:
    """
    The receive times of one node, as stamped on its messages.

    Without ``use_sim_time`` it is the kernel's, in wall time. With it, it is the node's ROS time
    when the datagram is handled; until the first /clock there is none, and nothing is published: 0
    would be valid for tf2, and wall time is 57 years away.

    May be called from any thread. rclpy's clock is a number that only /clock writes, in the
    executor; whether it is followed is cached, because querying costs as much as a whole message.
    """

    def __init__(self, node: Any) -> None:
        self._clock = node.get_clock()
        self._logger = node.get_logger()
        self._said = False
        self.withheld = 0
        # Whether the node follows /clock, which may change at any time.
        self.simulated = bool(self._clock.ros_time_is_active)
        self._jumps = self._clock.create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=None, on_clock_change=True),
            post_callback=self._changed)

    def _changed(self, _: Any) -> None:
        self.simulated = bool(self._clock.ros_time_is_active)

    @property
    def now_ns(self) -> int:
        """Return the node's ROS time; 0 if there is none yet."""
        return int(self._clock.now().nanoseconds)

    def received(self, kernel_ns: int) -> int | None:
        """Return the stamp for data received by the kernel at that time; None if none yet."""
        if not self.simulated:
            return kernel_ns
        now_ns = self.now_ns
        # The parameter may have changed in between: this would then be wall time.
        if now_ns and self.simulated:
            self._said = False
            return now_ns
        self.withheld += 1
        if not self._said:
            self._said = True
            self._logger.warning(
                'use_sim_time is set, but no /clock has arrived: nothing is published until then')
        return None

    def diagnose(self) -> Status:
        """Return whether there is a ROS time, under use_sim_time."""
        now_ns = self.now_ns
        return Status(
            'ROS time', OK if now_ns else WARN,
            'by /clock' if now_ns else
            'use_sim_time is set, but no /clock has arrived: messages stamped with it are not '
            'published; start a /clock publisher, or set use_sim_time: false',
            (('ROS time, s', f'{now_ns / 1e9:.3f}'),
             ('withheld for want of it', str(self.withheld))))
