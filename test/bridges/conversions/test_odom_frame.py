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

"""The frame of odom, and the names of topics, by hand."""

import math

import pytest

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.odom_frame import OdomFrame
from xplane_bridge.bridges.conversions.topics import topic_names

NORTH_UP = axes.euler_to_quaternion(0.1, 0.2, 0.3)


def test_the_first_position_is_the_datum():
    frame = OdomFrame()
    assert frame.datum is None
    position, orientation = frame.pose(47.0, 8.0, 500.0, NORTH_UP)
    assert position == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)
    assert orientation == pytest.approx(NORTH_UP)
    assert (frame.datum.latitude_deg, frame.datum.longitude_deg) == (47.0, 8.0)
    position, _ = frame.pose(47.0, 8.0, 650.0, NORTH_UP)
    assert position == pytest.approx((0.0, 0.0, 150.0), abs=1e-6)
    assert frame.start(1.0, 2.0, 3.0) is frame.datum


def test_elsewhere_up_is_another_way():
    """Two degrees east on the equator, up leans east by as much: so does all that stands there."""
    frame = OdomFrame(LocalFrame(0.0, 8.0, 0.0))
    turned = frame.turned(0.0, 10.0, (1.0, 0.0, 0.0, 0.0))
    angle = math.radians(2.0)
    assert axes.rotate(turned, (0.0, 0.0, 1.0)) == pytest.approx(
        (math.sin(angle), 0.0, math.cos(angle)), abs=1e-9)
    # An orientation there is turned as a whole.
    both = frame.turned(0.0, 10.0, NORTH_UP)
    assert both == pytest.approx(axes.multiply(turned, NORTH_UP))


@pytest.mark.parametrize(('latitude', 'longitude'), [
    (0.01, 0.0), (0.0, 0.01), (0.0014, 0.0), (0.0, 0.0014)])
def test_the_rotation_follows_in_steps_of_a_thousandth_of_a_degree(latitude, longitude):
    frame = OdomFrame(LocalFrame(47.0, 8.0, 0.0))
    here = frame.rotation(47.0, 8.0)
    assert frame.rotation(47.0004, 8.0004) is here
    there = frame.rotation(47.0 + latitude, 8.0 + longitude)
    assert there == axes.enu_to_enu_rotation(
        round(47.0 + latitude, 3), round(8.0 + longitude, 3), 47.0, 8.0)
    assert there != here


@pytest.mark.parametrize(('names', 'topics'), [
    (['A', 'a b', 'a-b'], ['A', 'a_b', 'a_b_2']),
    (['x', 'x', 'x', 'x_2'], ['x', 'x_2', 'x_3', 'x_2_2']),
    (['9', '', '__', 'é_'], ['p_9', 'p', 'p_2', 'e']),
    (['a' * 150, 'a' * 120], ['a' * 100, 'a' * 100 + '_2']),
    (['b' * 99 + '__c'], ['b' * 99])])
def test_topics_have_legal_names_of_their_own(names, topics):
    assert topic_names(names) == topics
