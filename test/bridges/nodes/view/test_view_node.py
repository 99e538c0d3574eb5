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


"""view_node, through real topics: what viewers draw of a vehicle."""

import math
from xml.etree import ElementTree

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry, Path
from sensor_msgs.msg import JointState, NavSatFix
from std_msgs.msg import String

from xplane_bridge.bridges.nodes.common.diagnostics import OK, STALE
from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.bridges.nodes.view import node as view_module
from xplane_bridge.bridges.nodes.view import ViewNode
from xplane_bridge.msg import AutopilotTarget, FlightControls

AILERON, GEAR = FlightControls.AILERON, FlightControls.GEAR


class Transforms:
    """What would go to /tf: tf2_msgs has no wheel."""

    def __init__(self, node):
        self.published = {}

    def publish(self, header, child, translation, rotation):
        self.published[child] = (header.frame_id, translation, rotation)


class Viewed:
    """A vehicle that publishes what it is told to, and a viewer."""

    def __init__(self, ros, monkeypatch, **parameters):
        monkeypatch.setattr(view_module, 'TransformPublisher', Transforms)
        self.ros = ros
        for kind, topic, qos in ((JointState, 'joint_states', 10), (Path, 'view/path', LATCHED),
                                 (String, 'robot_description', LATCHED),
                                 (PoseStamped, 'view/target', 10)):
            ros.subscribe(kind, f'/{topic}', qos)
        # Each message is shown, however fast they come.
        self.node = ros.start(ViewNode, rate=1000.0, **parameters)
        self.odom = ros.publisher(Odometry, '/odom', 10)

    def fly_to(self, east, north, up):
        message = Odometry()
        message.header.frame_id, message.child_frame_id = 'uav1/odom', 'uav1/base_link'
        position = message.pose.pose.position
        position.x, position.y, position.z = east, north, up
        message.pose.pose.orientation.w = 1.0
        self.odom.publish(message)
        self.ros.wait_for(
            lambda: self.node._pose.pose.position.x == east, f'odom at {east}')

    def heard(self, topic):
        messages = self.ros.messages[f'/{topic}']
        return self.ros.wait_for(lambda: messages[-1:], topic)[0]

    def path(self, *easts):
        def there():
            newest = self.ros.messages['/view/path'][-1:]
            return newest and tuple(one.pose.position.x for one in newest[0].poses) == easts

        self.ros.wait_for(there, f'a path through {easts}')

    def joints(self):
        heard = self.heard('joint_states')
        return dict(zip(heard.name, heard.position, strict=True))


def test_the_aircraft_its_surfaces_and_its_frames(ros, monkeypatch):
    viewed = Viewed(ros, monkeypatch, frame_prefix='uav1/')
    description = ElementTree.fromstring(viewed.heard('robot_description').data)
    assert description.find('link').get('name') == 'uav1/base_link'
    assert ros.diagnosed('view', node=viewed.node)[0] == STALE
    controls = ros.publisher(FlightControls, '/controls', 10)
    controls.publish(FlightControls(fields=AILERON | GEAR, aileron=1.0, gear=1.0))
    joints = viewed.joints()
    assert joints['right_aileron'] == pytest.approx(math.radians(20.0), abs=1e-5)
    assert joints['left_aileron'] == pytest.approx(math.radians(15.0), abs=1e-5)
    # Nothing is known of the elevator: what its field says does not count.
    assert (joints['elevator'], joints['left_gear']) == (0.0, 0.0)
    viewed.fly_to(3.0, 4.0, 5.0)
    published = viewed.node._tf.published
    assert published['uav1/base_link'] == ('uav1/odom', (3.0, 4.0, 5.0), (1.0, 0.0, 0.0, 0.0))
    parent, place, rotation = published['uav1/right_aileron']
    assert (parent, place) == ('uav1/base_link', (-0.66, -4.1, 0.66))
    # About y, left: the trailing edge, which is aft, goes up.
    assert rotation == pytest.approx(
        (math.cos(math.radians(10.0)), 0.0, math.sin(math.radians(10.0)), 0.0), abs=1e-5)
    assert ros.diagnosed('view', lambda level, *_: level == OK, node=viewed.node)


def test_the_path_flown_and_the_target(ros, monkeypatch):
    monkeypatch.setattr(view_module, '_PATH_PERIOD', 0.0)
    viewed = Viewed(ros, monkeypatch, path_spacing=10.0, path_length=3)
    ros.observer.create_publisher(NavSatFix, '/datum', LATCHED).publish(
        NavSatFix(latitude=47.0, longitude=8.0, altitude=1000.0))
    ros.wait_for(lambda: viewed.node._datum, 'the datum')
    for east in (0.0, 4.0, 10.0, 20.0, 30.0):
        viewed.fly_to(east, 0.0, 100.0)
    # 4 m is too near, and three are kept.
    viewed.path(10.0, 20.0, 30.0)
    assert viewed.heard('view/path').header.frame_id == 'uav1/odom'
    # It is somewhere else at once: another flight.
    viewed.fly_to(5000.0, 0.0, 100.0)
    viewed.path(5000.0)
    assert not ros.messages['/view/target']
    target = ros.publisher(AutopilotTarget, '/autopilot/active_target', LATCHED)
    target.publish(AutopilotTarget(
        fields=AutopilotTarget.ALTITUDE | AutopilotTarget.TRUE_HEADING, altitude=1300.0,
        true_heading=0.0))
    ros.wait_for(lambda: viewed.node._target, 'the target')
    viewed.fly_to(0.0, 0.0, 100.0)
    shown = viewed.heard('view/target')
    position, turned = shown.pose.position, shown.pose.orientation
    # To the north, at 1300 m where the datum is at 1000 m.
    assert (position.x, position.y, position.z) == pytest.approx((0.0, 100.0, 300.0), abs=0.01)
    assert (turned.w, turned.z) == pytest.approx((math.sqrt(0.5), math.sqrt(0.5)))


def test_surfaces_may_follow_the_commands_and_the_urdf_be_another(ros, monkeypatch, tmp_path):
    path = tmp_path / 'own.urdf'
    path.write_text(
        '<robot><link name="a"/><link name="b"/><joint name="elevator"><parent link="a"/>'
        '<child link="b"/><axis xyz="0 1 0"/><limit lower="-1" upper="0.5"/></joint></robot>')
    viewed = Viewed(ros, monkeypatch, urdf=str(path), from_commands=True)
    ros.publisher(FlightControls, '/command/controls').publish(
        FlightControls(fields=FlightControls.ELEVATOR, elevator=-0.5))
    assert viewed.joints() == {'elevator': -0.5}
    failed = ros.start(ViewNode, urdf=str(tmp_path / 'none.urdf'))
    assert 'cannot be read as a URDF' in failed.failed
