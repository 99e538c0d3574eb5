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

"""Transforms on /tf, if tf2 is installed, and common geometry of messages."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import TransformStamped
from std_msgs.msg import Header

from xplane_bridge.conversions import frames
from xplane_bridge.nodes.common.base import BridgeNode

# As in tf2's own broadcaster.
_TRANSFORM_DEPTH = 100


class TransformPublisher:
    """Publish transforms on /tf if tf2 is installed; log it if not."""

    def __init__(self, node: BridgeNode[Any]) -> None:
        self._publisher = None
        try:
            from tf2_msgs.msg import TFMessage
        except ImportError:
            node.get_logger().warning(
                'publish_tf or publish_enu_tf is set but tf2_msgs is not installed, so /tf is not '
                'published (on a ROS installation: apt install ros-$ROS_DISTRO-tf2-msgs)')
            return
        self._publisher = node.make_publisher(TFMessage, '/tf', _TRANSFORM_DEPTH)
        self._transform = TransformStamped()
        self._message = TFMessage(transforms=[self._transform])
        self._last: dict[str, tuple[int, int]] = {}

    def publish(
        self, header: Header, child: str, translation: frames.Vector,
        rotation: frames.Quaternion,
    ) -> None:
        """Publish one transform, from the frame of the header to ``child``, once per stamp."""
        if self._publisher is None:
            return
        # tf2 warns about a repeated transform, and the simulator may be paused.
        stamp = header.stamp.sec, header.stamp.nanosec
        if self._last.get(child) == stamp:
            return
        self._last[child] = stamp
        self._transform.header = header
        self._transform.child_frame_id = child
        fill_vector(self._transform.transform.translation, translation)
        fill_quaternion(self._transform.transform.rotation, rotation)
        self._publisher.publish(self._message)


def fill_vector(target: Any, vector: frames.Vector) -> None:
    """Copy a vector into a message."""
    target.x, target.y, target.z = vector


def fill_quaternion(target: Any, quaternion: frames.Quaternion) -> None:
    """Copy a quaternion into a message."""
    target.w, target.x, target.y, target.z = quaternion
