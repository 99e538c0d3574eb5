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

"""What the recorder says of topics that nobody publishes."""

import pytest

from xplane_bridge.laboratory.nodes.record.absent import no_message, sentence

UAV1 = {'/uav1/imu/data': {'/uav1'}, '/uav1/fix': {'/uav1'}, '/map': {'/'}}


@pytest.mark.parametrize(('namespace', 'wanted', 'published', 'said'), [
    ('/uav1', (), UAV1, ''),
    ('/uav1', ('/uav1/fix', '/map'), UAV1, ''),
    ('/', (), {}, 'nothing publishes in / yet, nor anywhere else in this ROS domain'),
    ('/uav2', (), UAV1, 'nothing publishes in /uav2 yet; there are publishers in '
                        '/ (1 topic), /uav1 (2 topics)'),
    # A namespace that only begins like it is another one.
    ('/uav', (), UAV1, 'nothing publishes in /uav yet; there are publishers in '
                       '/ (1 topic), /uav1 (2 topics)'),
    ('/uav1', ('/uav1/imu', '/uav1/fix'), UAV1,
     'nothing publishes /uav1/imu yet; in /uav1 there are /uav1/imu/data'),
    ('/uav2', ('/uav2/fix',), UAV1, 'nothing publishes /uav2/fix yet; there are publishers in '
                                    '/ (1 topic), /uav1 (2 topics)'),
])
def test_what_has_no_publisher_is_named_with_what_there_is(namespace, wanted, published, said):
    assert sentence(namespace, wanted, published) == said


def test_a_crowded_domain_is_not_listed_whole():
    many = {f'/uav{n}/fix': {f'/uav{n}'} for n in range(100)}
    said = sentence('/boat', (), many)
    assert said.endswith(' and 92 more')
    assert len(said) < 300


@pytest.mark.parametrize(('types', 'said'), [
    (['sensor_msgs/msg/Imu'], ''),
    (['xplane_bridge/action/FlyRoute_FeedbackMessage'],
     'its type xplane_bridge/action/FlyRoute_FeedbackMessage is part of an action, and only '
     'messages are recorded'),
    (['std_srvs/srv/Trigger_Event'],
     'its type std_srvs/srv/Trigger_Event is part of a service, and only messages are recorded'),
    (['Hello\x1bWorld'],
     r'its type Hello\x1bWorld is not one of ROS, and only messages are recorded'),
    (['sensor_msgs/msg/Imu', 'std_msgs/msg/String'],
     'nodes do not agree on its type: sensor_msgs/msg/Imu, std_msgs/msg/String'),
])
def test_what_is_no_message_is_refused_with_the_reason(types, said):
    assert no_message(types) == said
