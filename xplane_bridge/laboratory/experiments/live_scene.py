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


"""What a live view shows, as messages of the Foxglove SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import struct
from typing import Any

from xplane_bridge.bridges.conversions import aircraft_model
from xplane_bridge.bridges.conversions.aircraft_model import AircraftModel, Shape
from xplane_bridge.bridges.conversions.frames import Quaternion, Vector
from xplane_bridge.common.timing import SECOND_NS

_WORLD, _BODY = 'odom', 'base_link'
_COLOURS = {'/path': (0.12, 0.37, 0.66, 1.0), '/route': (0.20, 0.70, 0.30, 1.0),
            '/target': (0.95, 0.30, 0.20, 0.8)}
# How a message of CDR begins: little endian, no options.
_CDR = b'\x00\x01\x00\x00'
# Of lines, in pixels.
_THICKNESS = 3.0
# Of the arrow that shows the target, in metres: shaft, then head, each length and diameter.
_ARROW = (12.0, 1.5, 6.0, 4.0)


class Scene:
    """
    The topics of a live view, on channels of a Foxglove context; times in ns.

    ``numbers`` are names by topic. They are served as ROS 2's messages are (CDR, with the text of
    the definition): PlotJuggler reads nothing else by this protocol.
    """

    def __init__(
        self, model: AircraftModel, numbers: Mapping[str, Sequence[str]], context: Any
    ) -> None:
        from foxglove import Channel, channels, messages, Schema
        self._m = messages
        self._model = model
        self._tf = channels.FrameTransformsChannel('/tf', context=context)
        self._fix = channels.LocationFixChannel('/fix', context=context)
        self._log = channels.LogChannel('/log', context=context)
        self._scenes = {
            topic: channels.SceneUpdateChannel(topic, context=context)
            for topic in ('/aircraft', '/path', '/target', '/route')}
        self._numbers = {
            topic: Channel(topic, message_encoding='cdr', context=context, schema=Schema(
                name=f'xplane_bridge/msg/Live{topic[1:].capitalize()}', encoding='ros2msg',
                data=''.join(f'float64 {name}\n' for name in names).encode()))
            for topic, names in numbers.items()}
        self._names = {topic: tuple(names) for topic, names in numbers.items()}

    def say(self, text: str, now: int) -> None:
        """Log a sentence."""
        m = self._m
        self._log.log(m.Log(
            timestamp=self._stamp(now), level=m.LogLevel.Info, message=text, name='experiment'),
            log_time=now)

    def numbers(self, topic: str, values: Mapping[str, float], now: int) -> None:
        """Show numbers by name; those that are not known are NaN, which viewers do not draw."""
        names = self._names[topic]
        self._numbers[topic].log(
            _CDR + struct.pack(f'<{len(names)}d', *(values[name] for name in names)),
            log_time=now)

    def fix(self, latitude: float, longitude: float, altitude: float, now: int) -> None:
        """Show the position on a map."""
        self._fix.log(self._m.LocationFix(
            timestamp=self._stamp(now), frame_id=_BODY, latitude=latitude, longitude=longitude,
            altitude=altitude), log_time=now)

    def aircraft(
        self, place: Vector, attitude: Quaternion, controls: Mapping[str, float],
        propeller: float, now: int,
    ) -> None:
        """Move the aircraft and its surfaces."""
        angles = {**self._model.positions(controls), aircraft_model.PROPELLER: propeller}
        moved = [self._transform(_WORLD, _BODY, place, attitude, now)]
        moved += [
            self._transform(_BODY, joint.child, joint.position, joint.rotation(angles[name]), now)
            for name, joint in self._model.joints.items()]
        self._tf.log(self._m.FrameTransforms(transforms=moved), log_time=now)

    def shapes(self, now: int) -> None:
        """Draw the aircraft: each link in its own frame, which moves."""
        m = self._m
        entities = []
        for link, shapes in self._model.links.items():
            made = {kind: [self._shape(shape) for shape in shapes if shape.kind == kind]
                    for kind in ('box', 'cylinder', 'sphere')}
            entities.append(m.SceneEntity(
                timestamp=self._stamp(now), id=link, frame_locked=True,
                frame_id=_BODY if link == self._model.root else link,
                cubes=made['box'], cylinders=made['cylinder'], spheres=made['sphere']))
        self._scenes['/aircraft'].log(m.SceneUpdate(entities=entities), log_time=now)

    def line(self, topic: str, points: Sequence[Vector], now: int) -> None:
        """Draw a line through points."""
        m = self._m
        self._draw(topic, now, lines=[m.LinePrimitive(
            type=m.LinePrimitiveLineType.LineStrip, thickness=_THICKNESS, scale_invariant=True,
            points=[m.Point3(x=x, y=y, z=z) for x, y, z in points],
            color=_colour(m, _COLOURS[topic]), pose=self._pose(
                (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)))])

    def target(self, place: Vector, orientation: Quaternion, now: int) -> None:
        """Draw the target: an arrow."""
        m = self._m
        shaft, shaft_diameter, head, head_diameter = _ARROW
        self._draw('/target', now, arrows=[m.ArrowPrimitive(
            pose=self._pose(place, orientation), shaft_length=shaft,
            shaft_diameter=shaft_diameter, head_length=head, head_diameter=head_diameter,
            color=_colour(m, _COLOURS['/target']))], lifetime=m.Duration(sec=1, nsec=0))

    def _draw(self, topic: str, now: int, **primitives: Any) -> None:
        m = self._m
        self._scenes[topic].log(m.SceneUpdate(entities=[m.SceneEntity(
            timestamp=self._stamp(now), frame_id=_WORLD, id=topic.strip('/'), **primitives)]),
            log_time=now)

    def _shape(self, shape: Shape) -> Any:
        m = self._m
        pose, colour = self._pose(shape.position, shape.orientation), _colour(m, shape.colour)
        if shape.kind == 'box':
            x, y, z = shape.size
            return m.CubePrimitive(pose=pose, size=m.Vector3(x=x, y=y, z=z), color=colour)
        width = 2.0 * shape.size[0]
        if shape.kind == 'sphere':
            return m.SpherePrimitive(
                pose=pose, size=m.Vector3(x=width, y=width, z=width), color=colour)
        return m.CylinderPrimitive(
            pose=pose, size=m.Vector3(x=width, y=width, z=shape.size[1]), bottom_scale=1.0,
            top_scale=1.0, color=colour)

    def _transform(
        self, parent: str, child: str, place: Vector, rotation: Quaternion, now: int
    ) -> Any:
        m = self._m
        x, y, z = place
        w, i, j, k = rotation
        return m.FrameTransform(
            timestamp=self._stamp(now), parent_frame_id=parent, child_frame_id=child,
            translation=m.Vector3(x=x, y=y, z=z), rotation=m.Quaternion(x=i, y=j, z=k, w=w))

    def _pose(self, place: Vector, rotation: Quaternion) -> Any:
        m = self._m
        x, y, z = place
        w, i, j, k = rotation
        return m.Pose(position=m.Vector3(x=x, y=y, z=z),
                      orientation=m.Quaternion(x=i, y=j, z=k, w=w))

    def _stamp(self, now: int) -> Any:
        seconds, nanoseconds = divmod(now, SECOND_NS)
        return self._m.Timestamp(sec=seconds, nsec=nanoseconds)


def _colour(messages: Any, colour: tuple[float, float, float, float]) -> Any:
    red, green, blue, opacity = colour
    return messages.Color(r=red, g=green, b=blue, a=opacity)
