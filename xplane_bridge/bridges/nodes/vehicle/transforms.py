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

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from std_msgs.msg import Header

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.odom_frame import OdomFrame
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.latched import LATCHED

# As in tf2's own broadcaster.
_TRANSFORM_DEPTH = 100

_NOT_TURNED = (1.0, 0.0, 0.0, 0.0)
_NOT_INSTALLED = (
    'publish_tf or publish_enu_tf is set but tf2_msgs is not installed, so /tf is not '
    'published (on a ROS installation: apt install ros-$ROS_DISTRO-tf2-msgs)')


class TransformPublisher:
    """Publish transforms on /tf if tf2 is installed; log it if not."""

    def __init__(self, node: BridgeNode[Any]) -> None:
        self._publisher = None
        try:
            from tf2_msgs.msg import TFMessage
        except ImportError:
            # Of several aircraft, once.
            node.warn('tf2', _NOT_INSTALLED)
            return
        self._publisher = node.make_publisher(TFMessage, '/tf', _TRANSFORM_DEPTH)
        self._transform = TransformStamped()
        self._message = TFMessage(transforms=[self._transform])
        self._last: dict[str, tuple[int, int]] = {}

    def publish(
        self, header: Header, child: str, translation: axes.Vector,
        rotation: axes.Quaternion,
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


class MapFrame:
    """
    The frame above the odom frames of several aircraft: on /tf_static, with all that are known.

    ``name`` is its own; its origin is that of the odom frame that is added first.
    """

    def __init__(self, node: BridgeNode[Any], name: str) -> None:
        from tf2_msgs.msg import TFMessage
        self._name = name
        self._publisher = node.make_publisher(TFMessage, '/tf_static', LATCHED)
        self._message = TFMessage()
        self._frame = OdomFrame()

    def add(self, child: str, datum: LocalFrame, stamp: Time) -> None:
        """Publish where an odom frame with this datum is, from a time on."""
        transform = TransformStamped()
        transform.header.frame_id, transform.header.stamp = self._name, stamp
        transform.child_frame_id = child
        translation, rotation = self._frame.pose(
            datum.latitude_deg, datum.longitude_deg, datum.height, _NOT_TURNED)
        fill_vector(transform.transform.translation, translation)
        fill_quaternion(transform.transform.rotation, rotation)
        # Latched messages replace one another, so each has all.
        self._message.transforms = [*self._message.transforms, transform]
        self._publisher.publish(self._message)


def make_map_frame(node: BridgeNode[Any], given: Any) -> MapFrame | None:
    """Return the frame that ``given``, TopicParameters, ask for, None without it or tf2."""
    if not (given.publish_tf and given.map_frame):
        return None
    try:
        return MapFrame(node, given.map_frame)
    except ImportError:
        # TransformPublisher says so.
        return None


def fill_vector(target: Any, vector: axes.Vector) -> None:
    """Copy a vector into a message."""
    target.x, target.y, target.z = vector


def fill_quaternion(target: Any, quaternion: axes.Quaternion) -> None:
    """Copy a quaternion into a message."""
    target.w, target.x, target.y, target.z = quaternion
