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

"""What a policy is told of the aircraft around its own."""

import math

import numpy as np
import pytest

from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.laboratory.control.policy.load import LoadedPolicy
from xplane_bridge.laboratory.control.policy.observation import (
    INDEX,
    NEAREST,
    OTHERS,
    SIZE,
    TRAFFIC,
)
from xplane_bridge.laboratory.control.policy.traffic import TrafficReport, with_traffic

FIX = 47.0, 9.0, 1500.0
FRAME = LocalFrame(*FIX)


def observed(fix=FIX):
    """Return what is observed at a fix, flying north with 50 m/s."""
    found = np.zeros(SIZE)
    found[[INDEX[f'fix.{name}'] for name in ('latitude', 'longitude', 'altitude')]] = fix
    # Forward is north: a quarter of a turn from east, about up.
    found[[INDEX[f'imu/data.orientation.{axis}'] for axis in 'wz']] = math.sqrt(0.5)
    found[INDEX['odom.twist.twist.linear.x']] = 50.0
    return found


def report(*offset, velocity=(0.0, 0.0, 0.0), at=0.0):
    return TrafficReport(FRAME.enu_to_geodetic(offset), velocity, at)


def test_another_is_where_it_is_as_seen_from_here():
    found = with_traffic(observed(), [report(300.0, 400.0, 50.0, velocity=(60.0, 0.0, 1.0))], 0.0)
    assert found[:SIZE] == pytest.approx(observed())
    assert found[SIZE:SIZE + 7] == pytest.approx(
        [1.0, 300.0, 400.0, 50.0, 60.0, -50.0, 1.0], abs=1e-6)
    assert len(found) == SIZE + len(TRAFFIC)
    assert not found[SIZE + 7:].any()


def test_between_reports_it_flies_straight_on():
    found = with_traffic(
        observed(), [report(300.0, 400.0, 0.0, velocity=(60.0, 10.0, -2.0), at=1.0)], 1.5)
    assert found[SIZE + 1:SIZE + 4] == pytest.approx([330.0, 405.0, -1.0], abs=1e-6)
    unknown = report(300.0, 400.0, 0.0, velocity=(math.nan,) * 3)
    found = with_traffic(observed(), [unknown], 1.5)
    assert found[SIZE + 1:SIZE + 7] == pytest.approx(
        [300.0, 400.0, 0.0, 0.0, -50.0, 0.0], abs=1e-6)


def test_who_is_not_reported_any_more_is_forgotten():
    assert with_traffic(observed(), [report(300.0, 400.0, 0.0)], 10.0)[SIZE] == 1.0
    assert with_traffic(observed(), [report(300.0, 400.0, 0.0)], 10.1)[SIZE] == 0.0


def test_the_nearest_come_first_and_no_more_than_fit():
    distances = [900.0, 100.0, *(1000.0 + number for number in range(NEAREST)), 500.0]
    found = with_traffic(observed(), [report(one, 0.0, 0.0) for one in distances], 0.0)[SIZE:]
    assert found[0] == NEAREST
    assert found[1::len(OTHERS)] == pytest.approx(sorted(distances)[:NEAREST], abs=1e-6)


def test_without_a_fix_nobody_is_told_of():
    assert not with_traffic(observed((0.0, 0.0, 0.0)), [report(1.0, 1.0, 1.0)], 0.0)[SIZE:].any()


def test_a_policy_that_names_such_a_field_sees_traffic():
    def policy(observation):
        return 1500.0, 0.0, float(observation[0])

    policy.level, policy.fields = 'target', ('traffic.0.east',)
    found = LoadedPolicy(policy)
    assert found.sees_traffic
    told = with_traffic(observed(), [report(70.0, 0.0, 0.0)], 0.0)
    assert found.act(told)[2] == pytest.approx(70.0)
    with pytest.raises(ValueError, match=f'an observation has {SIZE + len(TRAFFIC)} numbers'):
        found.act(observed())
    # Who names none is told as ever.
    assert not LoadedPolicy(lambda observation: (0.0,) * 4).sees_traffic
