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


"""The aircraft that viewers draw: which way its surfaces move, computed by hand."""

import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from xplane_bridge.bridges.conversions import aircraft_model
from xplane_bridge.bridges.conversions.axes import euler_to_quaternion, rotate

URDF = Path(__file__).parents[3] / 'xplane_bridge/data/view/aircraft.urdf'
# REP-103: x forward, y left, z up.
UP, DOWN, RIGHT, AFT = (0, 0, 1), (0, 0, -1), (0, -1, 0), (-1, 0, 0)


@pytest.fixture(scope='module')
def model():
    return aircraft_model.load(URDF)


def moved(model, joint, controls, point):
    """Return how far a point of a joint's child moves from where it is without controls."""
    at = model.joints[joint]
    before = rotate(at.rotation(model.positions({})[joint]), point)
    after = rotate(at.rotation(model.positions(controls)[joint]), point)
    return [b - a for a, b in zip(before, after, strict=True)]


# The trailing edges are aft of their hinges; the foot of a leg is below.
@pytest.mark.parametrize(('joint', 'controls', 'point', 'towards'), [
    ('right_aileron', {'aileron': 1.0}, AFT, UP),
    ('left_aileron', {'aileron': 1.0}, AFT, DOWN),
    ('right_aileron', {'aileron': -1.0}, AFT, DOWN),
    ('left_aileron', {'aileron': -1.0}, AFT, UP),
    ('elevator', {'elevator': 1.0}, AFT, UP),
    ('elevator', {'elevator': -1.0}, AFT, DOWN),
    ('rudder', {'rudder': 1.0}, AFT, RIGHT),
    ('left_flap', {'flaps': 1.0}, AFT, DOWN),
    ('right_flap', {'flaps': 1.0}, AFT, DOWN),
    ('nose_gear', {'gear': 0.0}, DOWN, AFT),
    ('left_gear', {'gear': 0.0}, DOWN, AFT),
])
def test_a_surface_moves_as_its_control_says(model, joint, controls, point, towards):
    way = moved(model, joint, controls, point)
    assert sum(a * b for a, b in zip(way, towards, strict=True)) > 0.2
    name, value = next(iter(controls.items()))
    # Half of it is half the angle; what is not commanded does not move.
    assert model.positions({name: value / 2.0})[joint] == pytest.approx(
        model.positions(controls)[joint] / 2.0 if name != 'gear' else math.radians(85.0), abs=1e-5)
    others = {'aileron', 'elevator', 'rudder', 'flaps'} - {name}
    assert moved(model, joint, dict.fromkeys(others, 1.0), point) == [0.0, 0.0, 0.0]


def test_a_full_aileron_to_the_right_in_numbers(model):
    """20 degrees up: the trailing edge, 0.42 m behind the hinge, is 0.42 sin(20 deg) higher."""
    right = moved(model, 'right_aileron', {'aileron': 1.0}, (-0.42, 0.0, 0.0))
    assert right == pytest.approx([0.42 * (1 - math.cos(math.radians(20.0))), 0.0, 0.143648],
                                  abs=1e-5)
    left = moved(model, 'left_aileron', {'aileron': 1.0}, (-0.42, 0.0, 0.0))
    assert left[2] == pytest.approx(-0.42 * math.sin(math.radians(15.0)), abs=1e-5)
    assert model.joints['right_aileron'].position[1] < 0.0 < (
        model.joints['left_aileron'].position[1])


def test_what_is_unknown_or_beyond_the_limits(model):
    assert model.positions({'elevator': math.nan})['elevator'] == 0.0
    assert model.positions({'elevator': 3.0}) == model.positions({'elevator': 1.0})
    assert model.positions({})['left_gear'] == 0.0
    assert aircraft_model.PROPELLER not in model.positions({})


def test_the_propeller_turns_clockwise_seen_from_behind_and_stands_without_throttle(model):
    angle = aircraft_model.turned(0.0, 1.0, 1.0 / 16.0)
    tip = rotate(model.joints['propeller'].rotation(angle), (0.0, 0.0, 1.0))
    assert tip == pytest.approx((0.0, -1.0, 0.0), abs=1e-9)
    assert aircraft_model.turned(1.0, math.nan, 1.0) == aircraft_model.turned(1.0, 0.0, 1.0) == 1.0


def test_the_description_has_the_frames_of_the_vehicle(model):
    tree = ElementTree.fromstring(model.description('uav1/', 'body'))
    links = {link.get('name') for link in tree.findall('link')}
    assert {'uav1/body', 'uav1/elevator'} <= links
    assert len(links) == len(model.links)
    for joint in tree.findall('joint'):
        assert joint.find('parent').get('link') in links
        assert joint.find('child').get('link') in links
        # They are in the vehicle's namespace already.
        assert '/' not in joint.get('name')
    assert not tree.findall('.//mesh')


@pytest.mark.parametrize(('text', 'reason'), [
    ('<robot>', 'cannot be read as a URDF'),
    ('<robot/>', 'expected one link without a parent, got 0'),
    ('<robot><link name="a"/><link name="b"/></robot>', 'got 2: a, b'),
    ('<robot><link name="a"/><joint name="j"><parent link="a"/><child link="b"/></joint></robot>',
     'not there: b'),
    ('<robot><link name="a"/><link name="b"/><joint name="j"><axis xyz="0 0 0"/>'
     '<parent link="a"/><child link="b"/></joint></robot>', 'joint j has the axis 0 0 0'),
    ('<robot><link name="a"/><link name="b"/><joint name="j"><axis xyz="1 0"/>'
     '<parent link="a"/><child link="b"/></joint></robot>', "expected 3 numbers, got '1 0'"),
])
def test_a_bad_urdf_is_refused_with_a_reason(tmp_path, text, reason):
    path = tmp_path / 'bad.urdf'
    path.write_text(text)
    with pytest.raises(ValueError, match=reason):
        aircraft_model.load(path)
    with pytest.raises(ValueError, match='cannot be read as a URDF'):
        aircraft_model.load(tmp_path / 'none.urdf')


DRAWN = """<robot>
  <material name="red"><color rgba="1 0 0 0.5"/></material>
  <material name="plain"/>
  <link name="a">
    <visual><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><geometry><box size="4 5 6"/></geometry>
      <material name="red"/></visual>
    <visual><geometry><cylinder radius="7" length="8"/></geometry>
      <material name="green"><color rgba="0 1 0 1"/></material></visual>
    <visual><origin rpy="0.1 0 0"/><geometry><sphere radius="9"/></geometry></visual>
    <visual><geometry><mesh filename="x"/></geometry></visual>
    <visual><geometry><sphere radius="1"/></geometry><material name="other"/></visual>
  </link>
  <link name="b"/>
  <joint name="j"><parent link="a"/><child link="b"/><origin xyz="1 0 2"/><axis xyz="0 3 4"/>
    <limit lower="-0.5" upper="0.25"/></joint>
  <link name="c"/>
  <joint name="gear"><parent link="a"/><child link="c"/><limit upper="1.5"/></joint>
</robot>"""


def test_shapes_and_joints_are_those_of_the_urdf(tmp_path):
    path = tmp_path / 'drawn.urdf'
    path.write_text(DRAWN)
    model = aircraft_model.load(path)
    assert model.root == 'a'
    box, cylinder, sphere, other = model.links['a']
    assert (box.kind, box.size, box.position, box.colour) == (
        'box', (4.0, 5.0, 6.0), (1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 0.5))
    assert box.orientation == pytest.approx(euler_to_quaternion(0.1, 0.2, 0.3))
    assert (cylinder.kind, cylinder.size, cylinder.position, cylinder.orientation) == (
        'cylinder', (7.0, 8.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
    assert cylinder.colour == (0.0, 1.0, 0.0, 1.0)
    assert (sphere.kind, sphere.size, sphere.position, sphere.colour) == (
        'sphere', (9.0,), (0.0, 0.0, 0.0), (0.7, 0.7, 0.7, 1.0))
    assert sphere.orientation == pytest.approx((math.cos(0.05), math.sin(0.05), 0.0, 0.0))
    assert other.colour == (0.7, 0.7, 0.7, 1.0)
    assert model.links['b'] == ()
    joint = model.joints['j']
    assert (joint.parent, joint.child, joint.position, joint.axis) == (
        'a', 'b', (1.0, 0.0, 2.0), (0.0, 0.6, 0.8))
    assert (joint.lower, joint.upper) == (-0.5, 0.25)
    assert joint.rotation(0.4) == pytest.approx(
        (math.cos(0.2), 0.0, 0.6 * math.sin(0.2), 0.8 * math.sin(0.2)))
    gear = model.joints['gear']
    assert (gear.axis, gear.lower, gear.upper) == ((1.0, 0.0, 0.0), 0.0, 1.5)
    # No control moves these.
    assert model.positions({'gear': 0.0}) == {'j': 0.0, 'gear': 0.0}


@pytest.mark.parametrize(('value', 'angle'), [
    (1.0, 0.25), (0.5, 0.125), (0.0, 0.0), (-0.5, -0.25), (-1.0, -0.5), (-2.0, -0.5)])
def test_a_joint_with_limits_that_differ_uses_the_one_it_moves_to(tmp_path, value, angle):
    path = tmp_path / 'drawn.urdf'
    path.write_text(DRAWN.replace('"j"', '"elevator"').replace('"gear"', '"nose_gear"'))
    model = aircraft_model.load(path)
    assert model.positions({'elevator': value}) == {'elevator': angle, 'nose_gear': 0.0}
    assert model.positions({'gear': 0.25})['nose_gear'] == 1.125


def test_the_propeller_turns_four_times_a_second_at_most():
    for throttle, turns in ((1.0, 4.0), (0.5, 2.0), (3.0, 4.0), (-1.0, 0.0), (0.0, 0.0)):
        assert aircraft_model.turned(0.5, throttle, 0.1) == pytest.approx(
            (0.5 + math.tau * 0.1 * turns) % math.tau)
    assert aircraft_model.turned(0.5, 1.0, -1.0) == 0.5
