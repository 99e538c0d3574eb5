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


"""What ends a flight: an airframe that strikes the ground, or a model that diverges."""

from dataclasses import replace
import math
from pathlib import Path
import re

import pytest
from sick_aircraft import write

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from xplane_bridge.bridges.conversions.airframe_events import AirframeEventKind, EnvelopeLimits
from xplane_bridge.common.units import KNOT
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.studies.physics_rate import HIGHEST, physics_rate, rate_for
from xplane_bridge.simulation.aircraft.terrain import Airfield, elevation_m, HOME_ELEVATION

# m above the ground of the centre of gravity of a c172p that stands.
STANDS = 1.33
# Where the ground is the sea.
SEA = (47.4, 9.3)


def above(height: float, sink: float, pitch_deg: float = 3.0, speed: float = 30.0,
          model: str = 'c172p', **initial: float) -> Aircraft:
    """Return an aircraft so high above where it stands, and sinking so fast (m/s)."""
    aircraft = Aircraft(model, Initial(**initial))
    s = aircraft.state
    ground = elevation_m(s.lat_deg, s.lon_deg)
    aircraft.set_controls(throttle=0.0)
    aircraft.teleport(
        altitude_msl=ground + STANDS + height, pitch_deg=pitch_deg, roll_deg=0.0,
        velocity_ned=(0.0, speed, sink))
    return aircraft


def test_a_dive_ends_where_the_first_of_it_touches():
    aircraft = above(270.0, 0.0, speed=50.0)
    aircraft.set_controls(elevator=-0.6, throttle=0.7)
    while aircraft.crash is None:
        before = aircraft.state
        aircraft.advance(1.0 / 60.0)
    crash = aircraft.crash
    assert (crash.kind, crash.quantity, crash.surface) == (
        AirframeEventKind.STRUCK, 'sink_rate', 'ground')
    # Its nose, and no later than the last frame.
    assert 0.0 < before.altitude_agl < 4.0
    assert crash.value == pytest.approx(before.v_down, abs=0.5)
    assert before.time < crash.at <= before.time + 1.0 / 60.0 + 1e-9
    nose = round(math.degrees(-before.theta))
    assert str(crash) == f'struck the ground with {crash.value:.0f} m/s, {nose} deg nose down'
    assert crash.outcome == f'crashed at {crash.at:.1f} s: {crash}'


@pytest.mark.parametrize('sink', [0.5, 1.5, 2.5, 3.2])
def test_a_hard_landing_is_none(sink):
    # 14 CFR 23.473(d) for 11.6 lb/ft2: 8.1 ft/s is the limit, 12.2 ft/s the ultimate one.
    aircraft = above(0.3, sink)
    aircraft.set_controls(left_brake=1.0, right_brake=1.0)
    aircraft.advance(12.0)
    assert aircraft.crash is None
    assert all(aircraft.state.wheels_on_ground)


def test_beyond_the_sink_rate_that_its_gear_bears_it_collapses():
    aircraft = above(0.3, 5.0)
    aircraft.advance(2.0)
    assert aircraft.crash is not None
    assert aircraft.crash.value == pytest.approx(5.0, abs=0.4)
    assert aircraft.crash.limit == pytest.approx(1.5 * 0.3048 * 8.1, abs=0.1)
    assert str(aircraft.crash).endswith('deg nose up; its gear bears 3.6 m/s')


def test_a_strut_along_the_ground_is_no_faster_than_the_aircraft():
    aircraft = Aircraft('J3Cub', Initial(altitude_msl=520.0))
    aircraft.teleport(altitude_msl=432.5, pitch_deg=-84.0, velocity_ned=(0.0, 3.0, 30.0))
    aircraft.advance(2.0)
    assert aircraft.crash is not None
    assert aircraft.crash.value == pytest.approx(30.0, abs=2.0)


@pytest.mark.parametrize(('model', 'limit'), [('737', 4.57), ('J3Cub', 3.2), ('c310', 4.5)])
def test_what_a_gear_bears_comes_from_weight_and_wing(model, limit):
    watch = Aircraft(model, Initial(parked=True))._model.watch
    assert watch.bears == pytest.approx(limit, abs=0.05)


def test_a_wing_tip_that_touches_is_a_strike():
    aircraft = above(0.8, 0.5)
    aircraft.teleport(roll_deg=40.0, velocity_ned=(0.0, 30.0, 0.5))
    aircraft.advance(1.0)
    assert aircraft.crash is not None
    assert aircraft.crash.kind is AirframeEventKind.STRUCK
    # It hardly sinks: its speed along the ground is what it strikes with.
    assert aircraft.crash.quantity == 'ground_speed'
    assert aircraft.crash.value == pytest.approx(30.0, abs=3.0)
    assert re.match(r'struck the ground with (2|3)\d m/s over ground, ', str(aircraft.crash))


def test_without_its_gear_it_strikes_the_ground():
    # Its model has no contact point but the wheels, which are up.
    aircraft = above(3.0, 1.0, model='T37', speed=60.0)
    aircraft.set_controls(gear=0.0)
    aircraft.set_gear_position(0.0)
    aircraft.advance(6.0)
    assert aircraft.crash is not None
    assert 0.0 < aircraft.crash.value < 15.0


@pytest.mark.parametrize(('place', 'surface'), [
    (SEA, 'sea'), ((47.4, 8.9), 'ground')])
def test_it_strikes_the_ground_where_that_is(place, surface):
    lat_deg, lon_deg = place
    height = elevation_m(lat_deg, lon_deg)
    assert (height == 0.0) == (surface == 'sea')
    assert abs(height - HOME_ELEVATION) > 20.0
    aircraft = Aircraft(initial=Initial(lat_deg, lon_deg, altitude_msl=height + 120.0))
    aircraft.set_controls(elevator=-1.0)
    aircraft.advance(30.0)
    assert aircraft.crash is not None
    assert aircraft.crash.surface == surface
    assert f'struck the {surface}' in str(aircraft.crash)


def test_an_airfield_by_the_sea_is_ground():
    field = Airfield(*SEA, 0.0)
    aircraft = Aircraft(initial=Initial(*SEA, altitude_msl=100.0, airfield=field))
    aircraft.set_controls(elevator=-1.0)
    aircraft.advance(30.0)
    assert aircraft.crash is not None
    assert aircraft.crash.surface == 'ground'


@pytest.mark.parametrize('property_name', [
    'fcs/elevator-cmd-norm', 'fcs/throttle-cmd-norm', 'atmosphere/wind-north-fps'])
def test_a_state_that_is_no_number_has_diverged(property_name):
    aircraft = Aircraft()
    aircraft.advance(1.0)
    aircraft._model.set(property_name, math.nan)
    aircraft.advance(0.5)
    assert aircraft.crash is not None
    assert aircraft.crash.kind is AirframeEventKind.DIVERGED
    assert aircraft.crash.at == pytest.approx(1.0, abs=0.1)
    assert 'diverged: ' in aircraft.crash.outcome
    assert math.isfinite(sum(value for value in aircraft.state if isinstance(value, float)))


@pytest.mark.parametrize('rate', [120, 240])
def test_a_mode_that_is_too_fast_for_its_steps_diverges(tmp_path, rate):
    aircraft = Aircraft('sick', Initial(airspeed_kt=104.0), 1.0 / rate,
                        aircraft_path=write(tmp_path))
    aircraft.set_controls(elevator=0.1)
    aircraft.advance(2.0)
    if rate == 240:
        assert aircraft.crash is None
        return
    assert aircraft.crash is not None
    assert (aircraft.crash.kind, aircraft.crash.quantity) == (
        AirframeEventKind.DIVERGED, 'pitch_rate')
    assert aircraft.crash.at < 0.5
    assert 'diverged: its pitch rate was' in str(aircraft.crash)


@pytest.mark.parametrize(('inertia', 'rate'), [
    (3000.0, 120), (40.0, 240), (25.0, 480), (12.0, 960)])
def test_so_many_steps_are_chosen_that_the_fastest_mode_is_followed(tmp_path, inertia, rate):
    start = Initial(airspeed_kt=104.0)
    path = write(tmp_path, inertia=inertia)
    assert physics_rate('sick', start, path) == rate
    assert physics_rate('sick', replace(start, parked=True), path) == rate
    aircraft = Aircraft('sick', start, 1.0 / rate, aircraft_path=path)
    aircraft.set_controls(elevator=0.1)
    aircraft.advance(3.0)
    assert aircraft.crash is None
    # Another aircraft by the same name is another one.
    write(tmp_path / 'new', inertia=3000.0)
    (tmp_path / 'sick' / 'sick.xml').write_text(
        (tmp_path / 'new' / 'sick' / 'sick.xml').read_text())
    assert physics_rate('sick', start, path) == 120


def test_an_aircraft_of_jsbsims_keeps_its_steps():
    assert physics_rate('F450', Initial()) == 120
    assert rate_for(5000.0) == HIGHEST


def test_what_cannot_be_trimmed_is_left_to_its_flight(tmp_path):
    assert physics_rate('sick', Initial(airspeed_kt=400.0), write(tmp_path)) == 120


def test_what_has_crashed_stays_until_it_is_placed_anew():
    aircraft = above(0.3, 9.0)
    aircraft.advance(3.0)
    aircraft.advance(0.1)
    first, place = aircraft.crash, aircraft.state
    aircraft.set_controls(throttle=1.0, elevator=0.5, parking_brake=0.0)
    aircraft.advance(5.0)
    s = aircraft.state
    assert aircraft.crash is first
    assert (s.lat_deg, s.lon_deg, s.altitude_msl) == (
        place.lat_deg, place.lon_deg, place.altitude_msl)
    assert s.time == pytest.approx(8.1)
    assert not s.engines[0].running
    aircraft.teleport(altitude_msl=1500.0, pitch_deg=0.0, roll_deg=0.0, speed=50.0)
    assert aircraft.crash is None
    before = aircraft.state
    aircraft.advance(2.0)
    assert before.engines[0].running
    assert aircraft.crash is None
    assert abs(aircraft.state.lon_deg - before.lon_deg) > 1e-4
    aircraft.reset()
    assert aircraft.crash is None


def test_it_is_the_same_crash_each_time():
    def crash():
        aircraft = above(40.0, 10.0)
        aircraft.advance(10.0)
        return aircraft.crash

    assert crash() is not None
    assert crash() == crash()


# With no structure of its own on the ground, or with skids, tails and wing tips there.
@pytest.mark.parametrize('model', [
    'c172p', 'f16', 'c310', 'J3Cub', 'wrightFlyer1903', 'ah1s', 'sgs233', 'Concorde', 'ball'])
def test_what_stands_and_rolls_has_not_crashed(model):
    aircraft = Aircraft(model, Initial(parked=True))
    aircraft.set_wind(3.0, -3.0)
    aircraft.set_controls(parking_brake=0.0, throttle=0.2)
    aircraft.advance(5.0)
    assert aircraft.crash is None


def test_beyond_what_its_file_says_it_is_warned_of_once(tmp_path: Path):
    aircraft = Aircraft('sick', Initial(airspeed_kt=104.0), aircraft_path=write(
        tmp_path, inertia=3000.0, limits__vne=110.0, **{'limits__max-positive-g': 1.2}))
    aircraft.advance(1.0)
    assert aircraft.exceedances == {}
    aircraft.set_controls(elevator=0.3)
    aircraft.advance(1.5)
    load, = aircraft.exceedances.values()
    assert (load.quantity, load.limit) == ('load_factor', 1.2)
    assert load.value > 1.2
    aircraft.set_controls(elevator=-0.3)
    aircraft.advance(6.0)
    fast = aircraft.exceedances['never_exceed_speed']
    assert fast.value > fast.limit == pytest.approx(110.0 * KNOT)
    assert str(fast) == f'airspeed {fast.value:.1f} m/s, beyond {fast.limit:.1f} m/s'
    assert aircraft.crash is None
    # Limits that were given are of the next flight too.
    aircraft.bear(EnvelopeLimits(load_factor_low=-1.0))
    aircraft.reset()
    assert aircraft.exceedances == {}
    assert aircraft.envelope_limits == (pytest.approx(110.0 * KNOT), 1.2, -1.0)
