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

"""Approaches that are not stable go around by themselves, and are tried again."""

import math
import re

import pytest
from test_autopilot import engaged, flown, ON_APPROACH, PERFORMANCE, RUNWAY

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.laboratory.control.runway.phases import Approach

# m above the runway on the glide path, so far before the aiming point.
SLOPE = math.tan(RUNWAY.glide_path)
REST = RUNWAY.elevation + PERFORMANCE.rest_height


def on_path(before):
    """Return a stable approach so far (m) before the aiming point."""
    return ON_APPROACH._replace(
        east=RUNWAY.aiming_point - before, altitude=REST + before * SLOPE, pitch=0.0,
        airspeed=PERFORMANCE.approach_speed, ground_speed=PERFORMANCE.approach_speed)


@pytest.mark.parametrize('before', [1000.0, 500.0])
def test_a_stable_approach_is_flown_on(before):
    autopilot = engaged(on_path(1500.0))
    autopilot.land(RUNWAY)
    flown(autopilot, on_path(before), 1.0)
    assert (autopilot.phase, autopilot.broken_off) == ('approach', ())


@pytest.mark.parametrize(('changes', 'why'), [
    ({'altitude': on_path(800.0).altitude + 15.5}, 'm above the glide path'),
    ({'altitude': on_path(800.0).altitude - 20.0}, 'm below the glide path'),
    ({'north': 60.0}, '60 m beside the centreline'),
    ({'airspeed': 0.9 * PERFORMANCE.landing_stall_speed}, r'm/s fast, expected .* to .* m/s'),
    ({'airspeed': 1.6 * PERFORMANCE.approach_speed}, r'm/s fast, expected .* to .* m/s'),
    ({'ground_speed': 120.0}, r'1200 m of the runway are left, 2400 m are needed')])
def test_one_that_is_not_goes_around(changes, why):
    autopilot = engaged(on_path(1500.0))
    autopilot.land(RUNWAY)
    flown(autopilot, on_path(800.0)._replace(**changes), 0.1)
    assert autopilot.phase == 'climb'
    reason, = autopilot.broken_off
    assert re.search(why, reason)
    # It came from no pattern: the landing is over.
    assert not autopilot.lands


def test_from_a_pattern_it_is_tried_again_three_times():
    autopilot = engaged(ON_APPROACH)
    autopilot.pattern(RUNWAY, 200.0)
    autopilot.land(RUNWAY)
    aside = on_path(800.0)._replace(north=60.0)
    for number in range(4):
        # As on its final leg.
        autopilot._flies = Approach(autopilot._flies.setting, on_path(1500.0), Controls())
        flown(autopilot, aside, 0.1)
        assert (autopilot.phase, len(autopilot.broken_off)) == ('climb', number + 1)
        assert autopilot.lands is (number < 3)
    at_height = aside._replace(altitude=REST + 199.0, climb_rate=0.5)
    flown(autopilot, at_height, 2.0)
    assert autopilot.phase == 'pattern'
    autopilot.land(RUNWAY)
    assert autopilot.broken_off == ()


def test_a_flare_that_floats_too_far_goes_around():
    autopilot = engaged(on_path(1500.0))
    autopilot.land(RUNWAY)
    over = on_path(10.0)._replace(climb_rate=-1.5)
    flown(autopilot, over, 0.1)
    assert autopilot.phase == 'flare'
    flown(autopilot, over._replace(east=1000.0), 0.1)
    assert autopilot.phase == 'flare'
    flown(autopilot, over._replace(east=1150.0), 0.1)
    assert autopilot.phase == 'climb'
    assert autopilot.broken_off == ('50 m of the runway are left, 148 m are needed',)
