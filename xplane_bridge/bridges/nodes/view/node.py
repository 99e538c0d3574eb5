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


"""view_node: an aircraft with moving surfaces for RViz and Foxglove, its path and its target."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
import math
import time
from typing import Any

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry, Path
from sensor_msgs.msg import JointState, NavSatFix
from std_msgs.msg import Header, String

from xplane_bridge.bridges.conversions import aircraft_model, axes
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.masks import known_or_nan
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.diagnostics import OK, STALE, Status
from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.bridges.nodes.common.running import run
from xplane_bridge.bridges.nodes.vehicle.transforms import (
    fill_quaternion,
    fill_vector,
    TransformPublisher,
)
from xplane_bridge.bridges.nodes.view.parameters import ViewParameters
from xplane_bridge.common.data import folder
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.msg import AutopilotTarget, FlightControls

_DEPTH = 10
# A path of many positions is a large message: this often (s), in real time.
_PATH_PERIOD = 1.0
# Two positions further apart than this (m) are two flights.
_JUMP = 500.0
# The target is drawn so far ahead (m).
_AHEAD = 100.0
# Without odom and controls for this long (s) the diagnostics say so.
_OLDEST = 1.0
_ORIGIN = (0.0, 0.0, 0.0)
_CONTROLS = ('aileron', 'elevator', 'rudder', 'flaps', 'gear', 'throttle')


class ViewNode(BridgeNode[ViewParameters]):
    """
    Publish what a viewer draws of a vehicle: robot_description, joint_states, /tf, path, target.

    The controls move the joints. It changes nothing, and nothing needs it.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('view_node', ViewParameters, **options)

    def open(self) -> None:
        """Read the URDF, create the topics."""
        given = self.parameters
        self._model = model = aircraft_model.load(
            given.urdf or folder('view') / 'aircraft.urdf')
        self._controls: dict[str, float] = {}
        self._propeller = 0.0
        self._target: AutopilotTarget | None = None
        self._datum: LocalFrame | None = None
        self._shown_at = self._path_at = self._heard_at = -math.inf
        self._stamp = 0
        self._frames = {
            link: aircraft_model.frame_of(model, link, given.frame_prefix, given.base_frame)
            for link in model.links}
        self._joints = JointState()
        self._joints.name = list(model.joints)
        self._pose = PoseStamped()
        self._flown: deque[PoseStamped] = deque(maxlen=given.path_length)
        self._tf = TransformPublisher(self) if given.publish_tf or given.publish_odom_tf else None
        self._joints_publisher = self.make_publisher(JointState, 'joint_states')
        self._description_publisher = self.make_publisher(String, 'robot_description', LATCHED)
        self._path_publisher = self.make_publisher(Path, 'view/path', LATCHED)
        self._target_publisher = self.make_publisher(PoseStamped, 'view/target')
        self.make_command(
            FlightControls, 'command/controls' if given.from_commands else 'controls',
            self._on_controls, _DEPTH)
        self.make_command(Odometry, 'odom', self._on_odom, _DEPTH)
        self.make_command(NavSatFix, 'datum', self._on_datum, LATCHED, while_inactive=True)
        self.make_command(
            AutopilotTarget, 'autopilot/active_target', self._on_target, LATCHED,
            while_inactive=True)

    def begin(self) -> None:
        """Say what the aircraft is."""
        given = self.parameters
        self._description_publisher.publish(String(
            data=self._model.description(given.frame_prefix, given.base_frame)))

    def end(self) -> None:
        """Do nothing: nothing was taken."""

    def close(self) -> None:
        """Do nothing: only topics were opened."""

    # What is heard.

    def _on_controls(self, message: FlightControls) -> None:
        for name in _CONTROLS:
            value = known_or_nan(message, name)
            # A command sets some of them only.
            if not math.isnan(value):
                self._controls[name] = value
        self._show(message.header)

    def _on_odom(self, message: Odometry) -> None:
        pose = message.pose.pose
        if not all(map(math.isfinite, _triple(pose.position))):
            return
        self._pose.header, self._pose.pose = message.header, pose
        if self._tf is not None and self.parameters.publish_odom_tf:
            turned = pose.orientation
            self._tf.publish(
                message.header, message.child_frame_id, _triple(pose.position),
                (turned.w, turned.x, turned.y, turned.z))
        self._extend_path()
        if self._show(message.header):
            self._show_target()

    def _on_datum(self, message: NavSatFix) -> None:
        self._datum = LocalFrame(message.latitude, message.longitude, message.altitude)

    def _on_target(self, message: AutopilotTarget) -> None:
        self._target = None if message.fields & AutopilotTarget.RELEASE else message

    # What is shown.

    def _show(self, header: Header) -> bool:
        """Publish the joints, unless that was just done; return whether it was time to."""
        self._heard_at = now = time.monotonic()
        # A little early: what comes at just this rate is all shown.
        if now - self._shown_at < 0.9 / self.parameters.rate:
            return False
        self._shown_at = now
        stamp = header.stamp.sec * SECOND_NS + header.stamp.nanosec
        throttle = self._controls.get('throttle', math.nan)
        self._propeller = aircraft_model.turned(
            self._propeller, throttle, min((stamp - self._stamp) * 1e-9, 1.0))
        self._stamp = stamp
        angles = {
            **self._model.positions(self._controls), aircraft_model.PROPELLER: self._propeller}
        self._joints.header.stamp = header.stamp
        self._joints.position = [angles[name] for name in self._joints.name]
        self._joints_publisher.publish(self._joints)
        if self._tf is not None and self.parameters.publish_tf:
            for name, joint in self._model.joints.items():
                self._tf.publish(
                    Header(stamp=header.stamp, frame_id=self._frames[joint.parent]),
                    self._frames[joint.child], joint.position, joint.rotation(angles[name]))
        return True

    def _extend_path(self) -> None:
        here = self._pose.pose.position
        if self._flown:
            step = math.dist(_triple(here), _triple(self._flown[-1].pose.position))
            if step < self.parameters.path_spacing:
                return
            if step > max(_JUMP, 3.0 * self.parameters.path_spacing):
                self._flown.clear()
        self._flown.append(PoseStamped(header=self._pose.header, pose=self._pose.pose))
        now = time.monotonic()
        if now - self._path_at >= _PATH_PERIOD:
            self._path_at = now
            self._path_publisher.publish(Path(header=self._pose.header, poses=list(self._flown)))

    def _show_target(self) -> None:
        """Publish where the target is, drawn ahead of the aircraft, in the frame of odom."""
        target = self._target
        if target is None:
            return
        heading = known_or_nan(target, 'true_heading')
        if math.isnan(heading):
            heading = known_or_nan(target, 'course')
        altitude = known_or_nan(target, 'altitude')
        if math.isnan(heading) and math.isnan(altitude):
            return
        here = self._pose.pose
        east, north, up = _triple(here.position)
        turned = here.orientation
        yaw = axes.quaternion_to_euler((turned.w, turned.x, turned.y, turned.z))[2] if (
            math.isnan(heading)) else axes.heading_to_yaw(heading)
        if not math.isnan(altitude) and self._datum is not None:
            _, _, height = self._datum.enu_to_geodetic((east, north, up))
            up += altitude - height
        shown = PoseStamped(header=self._pose.header)
        fill_vector(shown.pose.position, (
            east + _AHEAD * math.cos(yaw), north + _AHEAD * math.sin(yaw), up))
        fill_quaternion(shown.pose.orientation, axes.euler_to_quaternion(0.0, 0.0, yaw))
        self._target_publisher.publish(shown)

    def diagnose(self) -> Sequence[Status]:
        """Return whether there is something to show."""
        values = (('positions of the path', str(len(self._flown))),)
        if time.monotonic() - self._heard_at > _OLDEST:
            return (Status(
                'view', STALE, 'neither odom nor controls arrives; start the bridge in this '
                'namespace', values),)
        return (Status('view', OK, 'showing the aircraft', values),)


def _triple(vector: Any) -> axes.Vector:
    return vector.x, vector.y, vector.z


def main(args: Sequence[str] | None = None) -> int:
    """Run view_node; return the process's exit code."""
    return run(ViewNode, ViewParameters, args)
