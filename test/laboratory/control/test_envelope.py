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

"""The envelope: what is clamped, what is refused, and what the aircraft does at a limit."""

import math

import pytest

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.envelope import Envelope, load
from xplane_bridge.laboratory.control.geofence import Fence
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.targets import AttitudeTarget, Level

LEVEL = Measurement(
    roll=0.0, pitch=0.02, heading=1.0, roll_rate=0.0, pitch_rate=0.0, yaw_rate=0.0,
    altitude=1000.0, airspeed=50.0, course=1.0, ground_speed=50.0, east=0.0, north=0.0)
SQUARE = ((-3000.0, -3000.0), (3000.0, -3000.0), (3000.0, 3000.0), (-3000.0, 3000.0))
# A U: the bay in the north does not belong to it.
BAY = ((-3000.0, -3000.0), (3000.0, -3000.0), (3000.0, 3000.0), (1000.0, 3000.0),
       (1000.0, 0.0), (-1000.0, 0.0), (-1000.0, 3000.0), (-3000.0, 3000.0))


def engaged(**limits):
    cascade = Cascade(envelope=Envelope(**limits))
    cascade.engage(LEVEL, Controls(0.0, 0.0, 0.0, 0.6))
    return cascade


def test_a_target_beyond_the_limits_is_clamped_with_a_sentence():
    cascade = engaged(altitude_floor=800.0)
    said = cascade.change_target({'altitude': 500.0, 'airspeed': 90.0})
    assert (cascade.target.altitude, cascade.target.airspeed) == (800.0, 70.0)
    assert said == ['altitude 500 m is limited to 800 m', 'airspeed 90 m/s is limited to 70 m/s']
    assert cascade.limits == tuple(said)
    assert cascade.change_target({'altitude': 900.0, 'airspeed': 50.0}) == []
    assert cascade.limits == ()


def test_an_attitude_beyond_the_limits_is_clamped_with_a_sentence():
    cascade = engaged()
    said = cascade.hold_attitude(AttitudeTarget(roll=-1.0, pitch=0.5, airspeed=20.0))
    assert [one.split()[0] for one in said] == ['roll', 'pitch', 'airspeed']
    assert 'roll -1 rad is limited to -0.44 rad' in said


def test_the_load_factor_limits_the_bank():
    # 1.05 g is 17.8 degrees.
    cascade = engaged(load_factor_limit=1.05)
    cascade.hold_attitude(AttitudeTarget(roll=1.0))
    assert cascade._attitude.roll == pytest.approx(math.acos(1.0 / 1.05))


def test_the_altitudes_of_a_route_stay_above_the_floor():
    cascade = engaged(altitude_floor=950.0)
    said = cascade.follow([(2000.0, 2000.0), (4000.0, 0.0)], [900.0, 1000.0])
    assert said == ['altitude 900 m is limited to 950 m']
    cascade.update(LEVEL, 0.02)
    assert cascade.target.altitude == 950.0


@pytest.mark.parametrize('waypoints', [
    [(4000.0, 0.0)], [(2900.0, 0.0), (2900.0, 2900.0), (2990.0, 0.0), (0.0, 0.0)]])
def test_a_route_that_leaves_the_geofence_is_refused_and_nothing_changes(waypoints):
    cascade = engaged(geofence=SQUARE)
    before = cascade.target
    with pytest.raises(ValueError, match='the geofence'):
        cascade.follow(waypoints)
    assert (cascade.level, cascade.target) == (Level.TARGET, before)


def test_a_leg_across_a_bay_of_the_geofence_is_refused():
    with pytest.raises(ValueError, match='crosses the geofence'):
        Fence(BAY).check([(-2000.0, 2000.0), (2000.0, 2000.0)])
    Fence(BAY).check([(-2000.0, 2000.0), (-2000.0, -1000.0), (2000.0, -1000.0)])


@pytest.mark.parametrize(('point', 'margin'), [
    ((0.0, -1000.0), 1000.0), ((0.0, 10.0), -10.0), ((2999.0, 2999.0), 1.0),
    ((4000.0, 0.0), -1000.0), ((-2000.0, 1000.0), 1000.0)])
def test_the_margin_to_a_fence(point, margin):
    assert Fence(BAY).margin(point) == pytest.approx(margin)


@pytest.mark.parametrize('limits', [
    {'bank_limit': 0.0}, {'pitch_limit_up': 2.0}, {'load_factor_limit': 1.0},
    {'airspeed_low': 80.0}, {'geofence': ((0.0, 0.0), (1.0, 0.0))}])
def test_an_impossible_envelope_is_refused(limits):
    with pytest.raises(ValueError, match=next(iter(limits))):
        Envelope(**limits)


def test_a_file_of_an_aircraft_has_an_envelope(tmp_path):
    path = tmp_path / 'own.yaml'
    path.write_text('/**: {ros__parameters: {envelope: {bank_limit: 0.3, altitude_floor: 100}}}')
    assert load(path) == Envelope(bank_limit=0.3, altitude_floor=100.0)


def test_turns_of_routes_leave_a_reserve_of_bank_unless_a_bank_is_given():
    assert Envelope(bank_limit=0.4).bank_of_turns == pytest.approx(0.3)
    assert Envelope(bank_limit=0.4, route_bank=0.2).bank_of_turns == 0.2
    assert Envelope(bank_limit=0.4, route_bank=0.5).bank_of_turns == 0.4
    with pytest.raises(ValueError, match='route_bank -1 rad is not above 0'):
        Envelope(route_bank=-1.0)
