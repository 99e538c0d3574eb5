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

"""Weather of the simulated X-Plane: what is said of the air is the air that is flown in."""

import math

from hypothesis import given, settings, strategies
import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from simulated_xplane import FRAME, Sim

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.weather import Shear
from xplane_bridge.simulation.peers.flown import beside, fly_beside
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane.datarefs import DatarefStore

OLD, AIRCRAFT, REGION = 'sim/weather/', 'sim/weather/aircraft/', 'sim/weather/region/'
KNOT = 1852.0 / 3600.0
# Metres of X-Plane 12's levels, as its documentation for Python prints them in feet.
FEET = (0.0, 1771.5, 3242.2, 6390.4, 9875.5, 13_797.5, 18_276.3, 23_558.0, 30_045.3, 33_990.3,
        38_990.0, 44_588.6, 53_068.4)

speeds = strategies.floats(-60.0, 60.0)


@pytest.fixture(scope='module')
def twelve() -> Sim:
    """Return the flight that properties change the weather of."""
    return Sim(version=12)


def air(sim: Sim) -> tuple[float, float]:
    """Return JSBSim's wind, north and east in m/s, after a frame of flight."""
    sim.world.advance(FRAME)
    return (sim.aircraft.property_value('atmosphere/total-wind-north-fps') * 0.3048,
            sim.aircraft.property_value('atmosphere/total-wind-east-fps') * 0.3048)


def velocity(direction: float, speed: float) -> tuple[float, float]:
    """Return north and east of a wind that comes from a direction, in deg."""
    return (-speed * math.cos(math.radians(direction)),
            -speed * math.sin(math.radians(direction)))


@settings(max_examples=20, deadline=None)
@given(north=speeds, east=speeds)
def test_all_layers_show_the_wind_that_there_is(twelve: Sim, north: float, east: float) -> None:
    twelve.aircraft.set_wind(north, east)
    direction, speed = (twelve.many(REGION + n) for n in (
        'wind_direction_degt', 'wind_speed_msc'))
    assert len(direction) == len(speed) == 13
    for one in zip(direction, speed, strict=True):
        assert velocity(*one) == pytest.approx((north, east), abs=1e-9)
    assert twelve.many(AIRCRAFT + 'wind_direction_degt') == direction
    assert [knots * KNOT for knots in twelve.many(AIRCRAFT + 'wind_speed_kts')] == pytest.approx(
        speed)
    assert air(twelve) == pytest.approx((north, east), abs=1e-6)


def test_layers_near_the_ground_show_the_wind_shear(twelve: Sim) -> None:
    twelve.aircraft.set_wind(0.0, 0.0)
    twelve.aircraft.set_shear(Shear(-5.0, 0.0, exponent=0.5))
    ground = twelve.aircraft.state.terrain_msl
    speeds_at = twelve.many(REGION + 'wind_speed_msc')
    # 20 ft above the ground it is 5 m/s, above 1000 ft as much as there.
    assert speeds_at[1] == pytest.approx(5.0 * math.sqrt((540.0 - ground) / 6.096), rel=1e-6)
    assert speeds_at[4] == pytest.approx(5.0 * math.sqrt(304.8 / 6.096), rel=1e-6)
    assert set(twelve.many(REGION + 'wind_direction_degt')) == {0.0}
    twelve.aircraft.set_shear(None)


@settings(max_examples=20, deadline=None)
@given(altitude=strategies.floats(600.0, 7000.0), low=speeds, high=speeds,
       directions=strategies.tuples(strategies.floats(0.0, 359.0), strategies.floats(0.0, 359.0)))
def test_layers_that_are_written_are_flown_in(
        twelve: Sim, altitude: float, low: float, high: float,
        directions: tuple[float, float]) -> None:
    low, high = abs(low), abs(high)
    twelve.put(REGION + 'update_immediately', 1)
    twelve.put(REGION + 'wind_altitude_msl_m', 1000.0, *[5000.0] * 12)
    twelve.put(REGION + 'wind_speed_msc', low, *[high] * 12)
    twelve.put(REGION + 'wind_direction_degt', directions[0], *[directions[1]] * 12)
    twelve.world.teleport(0, altitude_msl=altitude)
    twelve.world.advance(FRAME)
    height = twelve.aircraft.state.altitude_msl
    share = min(max((height - 1000.0) / 4000.0, 0.0), 1.0)
    expected = [a + (b - a) * share for a, b in zip(
        velocity(directions[0], low), velocity(directions[1], high), strict=True)]
    # Of the altitude before the frame.
    assert air(twelve) == pytest.approx(expected, abs=0.05)
    assert twelve.many(REGION + 'wind_speed_msc')[:2] == (low, high)
    x, _, z = (twelve.one(f'{AIRCRAFT}wind_now_{axis}_msc') for axis in 'xyz')
    assert math.hypot(x, z) == pytest.approx(math.hypot(*expected), abs=0.05)


def test_layers_change_at_the_next_minute_unless_told_at_once() -> None:
    sim = Sim(version=12)
    sim.world.freeze(0, True)
    sim.world.advance(130.0)
    assert sim.store.write(REGION + 'wind_speed_msc', [8.0] * 13)
    assert set(sim.many(REGION + 'wind_speed_msc')) == {8.0}
    assert set(sim.many(AIRCRAFT + 'wind_speed_kts')) == {0.0}
    sim.world.advance(49.0)
    assert sim.aircraft.wind == (0.0, 0.0, 0.0)
    sim.world.advance(1.0)
    assert sim.aircraft.wind == pytest.approx((-8.0, 0.0, 0.0))
    assert sim.many(AIRCRAFT + 'wind_speed_kts') == pytest.approx([8.0 / KNOT] * 13)
    sim.put(REGION + 'update_immediately', 1)
    sim.put(REGION + 'wind_speed_msc', *[3.0] * 13)
    assert sim.aircraft.wind == pytest.approx((-3.0, 0.0, 0.0))


def test_what_else_changes_the_air_ends_the_layers() -> None:
    sim = Sim(version=12)
    sim.put(REGION + 'update_immediately', 1)
    sim.put(REGION + 'wind_speed_msc', *[8.0] * 13)
    sim.aircraft.set_wind(0.0, 5.0)
    assert sim.many(AIRCRAFT + 'wind_direction_degt') == pytest.approx([270.0] * 13)
    sim.run(0.1)
    assert sim.aircraft.wind == (0.0, 5.0, 0.0)
    assert sim.many(REGION + 'wind_direction_degt') == pytest.approx([270.0] * 13)
    sim.put(REGION + 'turbulence', *[4.0] * 13)
    sim.commands.run('sim/operation/reset_flight')
    sim.run(0.1)
    assert sim.aircraft.wind == (0.0, 0.0, 0.0)
    assert not any(sim.many(REGION + 'turbulence'))


def test_undefined_layers_are_left_out_and_without_any_it_is_calm() -> None:
    sim = Sim(version=12)
    sim.put(REGION + 'update_immediately', 1)
    sim.put(REGION + 'wind_speed_msc', 20.0, *[6.0] * 12)
    sim.put(REGION + 'wind_altitude_msl_m', -1.0, -1.0, 4000.0, *[-1.0] * 10)
    assert sim.aircraft.wind == pytest.approx((-6.0, 0.0, 0.0))
    sim.put(REGION + 'wind_altitude_msl_m', *[-1.0] * 13)
    assert sim.aircraft.wind == (0.0, 0.0, 0.0)


def test_old_layers_are_in_knots_and_end_with_their_number_up_to_11() -> None:
    sim = Sim(version=11)
    sim.aircraft.set_wind(0.0, 10.0)
    for n in range(3):
        assert sim.one(f'{OLD}wind_speed_kt[{n}]') == pytest.approx(10.0 / KNOT)
        assert sim.one(f'{OLD}wind_direction_degt[{n}]') == pytest.approx(270.0)
    for n in range(3):
        sim.put(f'{OLD}wind_direction_degt[{n}]', 180.0)
    sim.put(OLD + 'wind_altitude_msl_m[0]', 1000.0)
    sim.put(OLD + 'wind_altitude_msl_m[1]', 2000.0)
    sim.put(OLD + 'wind_altitude_msl_m[2]', 3000.0)
    sim.put(OLD + 'wind_speed_kt[1]', 0.0)
    # It flies at 1500 m, between 10 m/s and none, then above the third.
    assert air(sim)[0] == pytest.approx(5.0, abs=0.01)
    sim.world.teleport(0, altitude_msl=6000.0)
    sim.world.advance(FRAME)
    assert air(sim)[0] == pytest.approx(10.0, abs=0.01)
    twelve = DatarefStore(sim.world, 12)
    shown = twelve.read(REGION + 'wind_speed_msc')
    assert shown is not None
    assert shown.values == pytest.approx([10.0, 0.0, *[10.0] * 11])
    old = twelve.read(OLD + 'wind_speed_kt[0]')
    assert old is not None
    assert old.values == pytest.approx((10.0,))
    assert not twelve.write(OLD + 'wind_speed_kt[0]', [1.0])


def test_all_who_have_a_flight_model_fly_in_the_layers_each_at_its_altitude() -> None:
    aircraft = Aircraft()
    world = World(aircraft, fleet=fly_beside(
        ['c172p'], beside(aircraft.initial, 1, [(0.0, 200.0, 1000.0)]), seed=0))
    store = DatarefStore(world, 12)
    store.write(REGION + 'update_immediately', [1])
    store.write(REGION + 'wind_altitude_msl_m', [1500.0, *[2500.0] * 12])
    store.write(REGION + 'wind_speed_msc', [0.0, *[10.0] * 12])
    assert [flown.wind[0] for flown in world.flown] == pytest.approx([0.0, -10.0], abs=0.01)


@pytest.mark.parametrize(('factor', 'at_20ft', 'severity'), [
    (0.0, 0.0, 0), (0.1, 0.23, 1), (5.0, 11.5, 3), (10.0, 23.0, 6), (99.0, 23.0, 6)])
def test_turbulence_is_jsbsims(twelve: Sim, factor: float, at_20ft: float,
                               severity: int) -> None:
    twelve.put(REGION + 'update_immediately', 1)
    twelve.put(REGION + 'turbulence', *[factor] * 13)
    model = 'atmosphere/turbulence/milspec/'
    assert twelve.aircraft.property_value(model + 'severity') == severity
    assert twelve.aircraft.property_value(
        model + 'windspeed_at_20ft_AGL-fps') * 0.3048 == pytest.approx(at_20ft)
    assert twelve.many(REGION + 'turbulence') == (min(factor, 10.0),) * 13
    # The same air, when nobody has written layers.
    twelve.aircraft.set_turbulence(0.0, 0)
    assert not any(twelve.many(REGION + 'turbulence'))
    twelve.aircraft.set_turbulence(at_20ft, severity)
    low, *_, high = twelve.many(REGION + 'turbulence')
    assert low == pytest.approx(min(factor, 10.0))
    assert high == pytest.approx(severity / 0.6)
    twelve.aircraft.set_turbulence(30.0, 7)
    assert set(twelve.many(REGION + 'turbulence')) == {10.0}


def test_temperatures_aloft_are_those_that_an_aircraft_meets_there(twelve: Sim) -> None:
    levels = twelve.many(REGION + 'atmosphere_alt_levels_m')
    assert levels == pytest.approx([feet * 0.3048 for feet in FEET], abs=1.0)
    aloft = twelve.many(REGION + 'temperatures_aloft_deg_c')
    assert twelve.many(AIRCRAFT + 'temperatures_aloft_deg_c') == aloft
    for level, expected in [*zip(levels, aloft, strict=True), (
            twelve.one(REGION + 'tropo_alt_m'), twelve.one(REGION + 'tropo_temp_c'))]:
        if level > twelve.aircraft.state.terrain_msl + 10.0:
            twelve.world.teleport(0, altitude_msl=level)
            twelve.world.advance(FRAME)
            assert twelve.one(AIRCRAFT + 'temperature_ambient_deg_c') == pytest.approx(
                expected, abs=0.1)
    assert aloft[0] == pytest.approx(twelve.one(REGION + 'sealevel_temperature_c'))


def test_nobody_but_the_user_makes_the_weather_which_is_the_same_everywhere(twelve: Sim) -> None:
    # Set by the user, static, and not real weather.
    for name, value in ((REGION + 'weather_source', 0), (REGION + 'change_mode', 3),
                        (REGION + 'variability_pct', 0.0), (OLD + 'use_real_weather_bool', 0),
                        (OLD + 'has_real_weather_bool', 0)):
        assert twelve.one(name) == value
        assert not twelve.store.is_writable(name)


def test_pressure_of_the_region_is_that_at_sea_level(twelve: Sim) -> None:
    pressure = twelve.aircraft.property_value('atmosphere/P-sl-psf') * 47.8803
    for name in ('sealevel_pressure_pas', 'qnh_pas'):
        assert twelve.one(REGION + name) == pytest.approx(pressure, rel=1e-6)
        assert not twelve.store.is_writable(REGION + name)
