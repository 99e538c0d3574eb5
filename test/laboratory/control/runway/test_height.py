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

"""The altitude by which a runway is flown, corrected by a range finder."""

import math

import pytest
from test_autopilot import engaged, flown, ON_APPROACH, PERFORMANCE, RUNWAY, STANDING

from xplane_bridge.laboratory.control.runway.autopilot import Height

STEP = 0.02
# 200 m before the threshold, 30 m above the runway; the altitude is 4 m too high.
SEEN = ON_APPROACH._replace(east=-200.0, altitude=434.0, height_above_ground=30.0)


def after(height, now, seconds, runway=RUNWAY):
    """Return the altitude after so long."""
    for _ in range(round(seconds / STEP)):
        altitude = height.corrected(now, runway, STEP).altitude
    return altitude


def test_what_the_range_finder_sees_is_approached_smoothly():
    height = Height()
    assert after(height, SEEN._replace(height_above_ground=math.inf), 1.0) == 434.0
    first = after(height, SEEN, STEP)
    assert 433.9 < first < 434.0
    assert after(height, SEEN, 2.0) == pytest.approx(430.0 + 4.0 / math.e, abs=0.1)
    assert after(height, SEEN, 20.0) == pytest.approx(430.0, abs=0.01)
    assert height.is_seen


@pytest.mark.parametrize('elsewhere', [
    {'east': -350.0}, {'north': 80.0}, {'east': 1300.0}, {'height_above_ground': math.inf},
    {'height_above_ground': math.nan}, {'north': math.nan}])
def test_elsewhere_the_altitude_keeps_its_correction_and_forgets_it_slowly(elsewhere):
    height = Height()
    after(height, SEEN, 30.0)
    away = SEEN._replace(**elsewhere)
    assert after(height, away, STEP) == pytest.approx(430.0, abs=0.02)
    assert not height.is_seen
    assert after(height, away, 60.0) == pytest.approx(434.0 - 4.0 / math.e, abs=0.05)
    # Back again there is no step either.
    assert after(height, SEEN, STEP) == pytest.approx(434.0 - 4.0 / math.e, abs=0.1)


def test_without_an_altitude_the_range_finder_alone_is_enough():
    height = Height()
    assert after(height, SEEN._replace(altitude=math.nan), STEP) == pytest.approx(430.0)
    assert after(height, SEEN, STEP) == pytest.approx(430.0)


def by_sensors(now):
    autopilot = engaged(now)
    autopilot.exact = False
    return autopilot


def test_what_it_measures_when_standing_is_the_height_at_rest():
    # Mounted 20 cm too low, and an altitude that is 5 m too high.
    standing = STANDING._replace(
        altitude=STANDING.altitude + 5.0, height_above_ground=PERFORMANCE.rest_height - 0.2)
    autopilot = by_sensors(standing)
    autopilot.take_off(RUNWAY, 100.0)
    flown(autopilot, standing, 5.0)
    assert autopilot.phase == 'take-off roll'
    # 5 m too high it would not roll, and its wheel would not be steered.
    aside = standing._replace(north=-4.0, airspeed=15.0, ground_speed=15.0)
    assert flown(autopilot, aside, 0.1).rudder < 0.0
    assert autopilot.phase == 'take-off roll'


def test_without_a_range_finder_nobody_lands_or_takes_off_by_sensors():
    with pytest.raises(ValueError, match='take_off: the height above the runway is not known'):
        by_sensors(STANDING).take_off(RUNWAY, 100.0)
    autopilot = by_sensors(ON_APPROACH)
    with pytest.raises(ValueError, match='land: .* not known to a metre: expected a range finder'):
        autopilot.land(RUNWAY)
    assert autopilot.phase == ''
    # With one it need not see the ground yet.
    far = by_sensors(ON_APPROACH._replace(height_above_ground=math.inf))
    far.land(RUNWAY)
    assert far.phase == 'approach'


def test_an_approach_that_does_not_see_the_runway_is_broken_off():
    far = ON_APPROACH._replace(height_above_ground=math.inf)
    autopilot = by_sensors(far)
    autopilot.land(RUNWAY)
    flown(autopilot, far._replace(east=-200.0, altitude=426.0), 1.0)
    near = far._replace(east=-100.0, altitude=421.0)
    flown(autopilot, near._replace(height_above_ground=22.0), 1.0)
    assert autopilot.phase == 'approach'
    controls = flown(autopilot, near, 1.0)
    assert (autopilot.phase, controls.throttle) == ('climb', 1.0)
