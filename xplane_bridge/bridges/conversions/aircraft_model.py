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
The aircraft's model for people's eyes: a URDF, its joints moved by the controls. Pure.

Of a URDF it knows joints, and boxes, cylinders and spheres in up to one material each; meshes are
for viewers. Joints are moved by their names, so those of another aircraft's own URDF move too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math
from pathlib import Path
from xml.etree import ElementTree

from xplane_bridge.bridges.conversions.axes import (
    euler_to_quaternion,
    multiply,
    Quaternion,
    Vector,
)

CONTROL_OF = {
    'left_aileron': 'aileron', 'right_aileron': 'aileron', 'elevator': 'elevator',
    'rudder': 'rudder', 'left_flap': 'flaps', 'right_flap': 'flaps', 'nose_gear': 'gear',
    'left_gear': 'gear', 'right_gear': 'gear'}
"""The control that moves a joint; the others stay."""

PROPELLER = 'propeller'
# Turns per second at full throttle: slow enough to be seen at 30 pictures per second.
_SEEN_TURNS = 4.0
_GREY = (0.7, 0.7, 0.7, 1.0)
_ORIGIN = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Shape:
    """
    A box (x, y, z), a cylinder along z (radius, length) or a sphere (radius,), in metres.

    ``position`` and ``orientation`` are in its link's frame; ``colour`` is red, green, blue and
    opacity, 0..1.
    """

    kind: str
    size: tuple[float, ...]
    position: Vector
    orientation: Quaternion
    colour: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Joint:
    """A joint: where its child is in the frame of its parent, axis, and limits (rad)."""

    name: str
    parent: str
    child: str
    position: Vector
    orientation: Quaternion
    axis: Vector
    lower: float
    upper: float

    def rotation(self, angle: float) -> Quaternion:
        """Return q_parent_child when the joint is at ``angle`` (rad)."""
        x, y, z = self.axis
        sine = math.sin(angle / 2.0)
        return multiply(
            self.orientation, (math.cos(angle / 2.0), x * sine, y * sine, z * sine))


@dataclass(frozen=True, slots=True)
class AircraftModel:
    """Shapes by link, joints by name; ``root`` is the link that has no parent."""

    root: str
    links: Mapping[str, tuple[Shape, ...]]
    joints: Mapping[str, Joint]
    text: str

    def positions(self, controls: Mapping[str, float]) -> dict[str, float]:
        """
        Return the angle of each joint but the propeller (rad), for FlightControls by name.

        Where a control is absent or NaN the joint is at 0: centred, flaps up, gear down.
        """
        found = {}
        for name, joint in self.joints.items():
            if name == PROPELLER:
                continue
            value = controls.get(CONTROL_OF.get(name, ''), math.nan)
            if math.isnan(value):
                found[name] = 0.0
                continue
            if CONTROL_OF[name] == 'gear':
                value = 1.0 - value
            value = min(max(value, -1.0), 1.0)
            found[name] = value * joint.upper if value >= 0.0 else -value * joint.lower
        return found

    def description(self, prefix: str, base_frame: str) -> str:
        """Return the URDF with the prefix on each link, and its root named ``base_frame``."""
        tree = ElementTree.fromstring(self.text)
        for element in tree.iter():
            for name in ('link',) if element.tag in ('parent', 'child') else (
                    ('name',) if element.tag == 'link' else ()):
                element.set(name, frame_of(self, element.get(name, ''), prefix, base_frame))
        return ElementTree.tostring(tree, encoding='unicode')


def frame_of(model: AircraftModel, link: str, prefix: str, base_frame: str) -> str:
    """Return the frame of a link."""
    return prefix + (base_frame if link == model.root else link)


def turned(angle: float, throttle: float, seconds: float) -> float:
    """Return the propeller's angle (rad) after a time; its speed is for the eye only."""
    share = 0.0 if math.isnan(throttle) else min(max(throttle, 0.0), 1.0)
    return (angle + math.tau * _SEEN_TURNS * share * max(seconds, 0.0)) % math.tau


def load(path: str | Path) -> AircraftModel:
    """Read a URDF; ValueError says what is wrong with it."""
    try:
        text = Path(path).read_text(encoding='utf-8')
        tree = ElementTree.fromstring(text)
        colours = {one.get('name', ''): _colour(one) for one in tree.findall('material')
                   if one.find('color') is not None}
        links = {one.attrib['name']: tuple(
            shape for visual in one.findall('visual') if (shape := _shape(visual, colours)))
            for one in tree.findall('link')}
        joints = {one.attrib['name']: _joint(one) for one in tree.findall('joint')}
    except (OSError, ElementTree.ParseError, KeyError, AttributeError) as error:
        raise ValueError(f'{path} cannot be read as a URDF: {error!r}') from None
    except ValueError as error:
        raise ValueError(f'{path}: {error}') from None
    children = {joint.child for joint in joints.values()}
    roots = [name for name in links if name not in children]
    if len(roots) != 1:
        raise ValueError(f'{path}: expected one link without a parent, got {len(roots)}: '
                         f'{", ".join(roots) or "none"}')
    if missing := sorted({name for joint in joints.values() for name in (
            joint.parent, joint.child)} - set(links)):
        raise ValueError(f'{path}: joints name links that are not there: {", ".join(missing)}')
    return AircraftModel(roots[0], links, joints, text)


def _numbers(text: str | None, count: int, default: tuple[float, ...]) -> tuple[float, ...]:
    if text is None:
        return default
    found = tuple(map(float, text.split()))
    if len(found) != count or not all(map(math.isfinite, found)):
        raise ValueError(f'expected {count} numbers, got {text!r}')
    return found


def _vector(text: str | None, default: Vector = _ORIGIN) -> Vector:
    x, y, z = _numbers(text, 3, default)
    return x, y, z


def _pose(element: ElementTree.Element) -> tuple[Vector, Quaternion]:
    origin = element.find('origin')
    if origin is None:
        return _ORIGIN, (1.0, 0.0, 0.0, 0.0)
    # Fixed axes x, y, z, which is the same as yaw, pitch, roll about turned ones.
    return _vector(origin.get('xyz')), euler_to_quaternion(*_vector(origin.get('rpy')))


def _colour(material: ElementTree.Element) -> tuple[float, float, float, float]:
    element = material.find('color')
    red, green, blue, opacity = _numbers(
        None if element is None else element.get('rgba'), 4, _GREY)
    return red, green, blue, opacity


def _shape(
    visual: ElementTree.Element, colours: Mapping[str, tuple[float, float, float, float]]
) -> Shape | None:
    position, orientation = _pose(visual)
    material = visual.find('material')
    colour = _GREY if material is None else (
        _colour(material) if material.find('color') is not None
        else colours.get(material.get('name', ''), _GREY))
    for kind, names in (('box', ()), ('cylinder', ('radius', 'length')), ('sphere', ('radius',))):
        element = visual.find(f'geometry/{kind}')
        if element is not None:
            size = tuple(float(element.attrib[name]) for name in names) or _numbers(
                element.attrib['size'], 3, ())
            return Shape(kind, size, position, orientation, colour)
    return None


def _joint(element: ElementTree.Element) -> Joint:
    position, orientation = _pose(element)
    axis, limit = element.find('axis'), element.find('limit')
    ends = {'lower': 0.0, 'upper': 0.0} if limit is None else {
        name: float(limit.get(name, '0')) for name in ('lower', 'upper')}
    x, y, z = _vector(None if axis is None else axis.get('xyz'), (1.0, 0.0, 0.0))
    length = math.hypot(x, y, z)
    if length == 0.0:
        raise ValueError(f"joint {element.attrib['name']} has the axis 0 0 0")
    parent, child = (element.find(name) for name in ('parent', 'child'))
    if parent is None or child is None:
        raise ValueError(f"joint {element.attrib['name']} needs a parent and a child")
    return Joint(element.attrib['name'], parent.attrib['link'], child.attrib['link'], position,
                 orientation, (x / length, y / length, z / length), **ends)
