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
"""Approach, flare and roll-out of faster aircraft, and of those on a tail wheel."""

import math

import pytest
from test_autopilot import ON_APPROACH, RUNWAY

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.laboratory.control import gains
from xplane_bridge.laboratory.control.runway import performance
from xplane_bridge.laboratory.control.runway.laws import flare_height, touch_down_sink
from xplane_bridge.laboratory.control.runway.phases import Approach, RollOut
from xplane_bridge.laboratory.control.runway.setting import Setting


def setting(model):
    return Setting(gains.load(model), performance.load(model), RUNWAY, 0.5, 0.3, -0.3)


@pytest.mark.parametrize(('model', 'lags'), [
    ('c172p', False), ('J3Cub', False), ('T37', False), ('737', True)])
def test_the_pitch_answers_the_path_sooner_where_that_lags(model, lags):
    given = gains.load(model)

    def raised(error):
        """Return by how much the nose is higher if it sinks faster by this (m/s)."""
        now = ON_APPROACH._replace(climb_rate=-1.0, airspeed=60.0, true_airspeed=60.0)
        first, again = (Approach(setting(model), now, Controls()) for _ in range(2))
        return (again.fly(now._replace(climb_rate=-1.0 - error), 0.0, Controls()).pitch
                - first.fly(now, 0.0, Controls()).pitch)

    by_gain = given.path_angle_to_pitch * 0.1 / 60.0
    assert (raised(0.1) > 1.3 * by_gain) is lags
    assert lags or raised(0.1) == pytest.approx(by_gain)


@pytest.mark.parametrize(('model', 'descent', 'sink'), [
    ('c172p', 1.5, 0.5), ('T37', 2.4, 0.32 * 2.4), ('737', 4.0, 1.55)])
def test_a_faster_aircraft_touches_down_with_more_sink(model, descent, sink):
    found = touch_down_sink(setting(model), descent)
    assert found == pytest.approx(sink, abs=0.01)
    assert flare_height(setting(model), descent) == pytest.approx(
        2.5 * (descent - found) + 0.8 * descent)


@pytest.mark.parametrize(('model', 'least', 'most'), [('c172p', 5.0, 30.0), ('737', 15.0, 22.0)])
def test_the_throttle_closes_early_only_with_speed_to_spare(model, least, most):
    place = setting(model)
    speed = place.performance.approach_speed
    sink = speed * math.tan(RUNWAY.glide_path)

    def throttle(height):
        now = ON_APPROACH._replace(
            altitude=RUNWAY.elevation + place.performance.rest_height + height,
            airspeed=speed, true_airspeed=speed, climb_rate=-sink)
        phase = Approach(place, now, Controls(throttle=0.5))
        for _ in range(60):
            wanted = phase.fly(now, 0.01, Controls(throttle=0.5))
        return wanted.throttle

    assert throttle(least) < 0.8 * throttle(most)


def test_on_a_tail_wheel_the_mains_are_held_down_while_it_is_fast():
    place = setting('J3Cub')
    now = ON_APPROACH._replace(
        altitude=RUNWAY.elevation + place.performance.rest_height, pitch=0.0, airspeed=22.0,
        true_airspeed=22.0, ground_speed=22.0, east=400.0)
    phase = RollOut(place, now)
    for _ in range(200):
        wanted = phase.fly(now, 0.01, Controls())
    assert math.degrees(wanted.pitch) == pytest.approx(-3.0)
