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

"""The simulated aircraft against JSBSim's own properties and hand-made expectations."""

from collections.abc import Callable
import math
from pathlib import Path
import random
import subprocess
import sys

from hypothesis import example, given
from hypothesis import strategies as some
import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from xplane_bridge.common.fields import LARGEST_SEED
from xplane_bridge.simulation.aircraft import model_pool, terrain
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.geometry import ecef_to_geodetic, geodetic_to_ecef
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.model import MOVED_SEEDS

PARKED = Initial(parked=True, heading_deg=90.0)


def finite(state: object) -> bool:
    """Return whether every number of a state is finite."""
    def numbers(value: object) -> list[float]:
        if isinstance(value, tuple):
            return [n for item in value for n in numbers(item)]
        return [value] if isinstance(value, float) else []
    return all(map(math.isfinite, numbers(state)))


# Initial states


def test_ten_seconds_hands_off_stay_level_and_at_altitude() -> None:
    aircraft = Aircraft()
    aircraft.advance(10.0)
    s = aircraft.state
    assert s.altitude_msl == pytest.approx(1500.0, abs=5.0)
    assert math.degrees(s.phi) == pytest.approx(0.0, abs=0.5)
    assert s.cas == pytest.approx(51.44, abs=0.5)               # 100 kt
    assert math.degrees(s.psi) == pytest.approx(90.0, abs=0.5)
    assert s.engines[0].running
    assert s.engines[0].rpm is not None
    assert 2000.0 < s.engines[0].rpm < 2700.0
    assert s.wheels_on_ground == (False, False, False)


def test_centred_controls_are_the_trimmed_ones() -> None:
    s = Aircraft().state
    assert (s.elevator, s.aileron, s.rudder) == (0.0, 0.0, 0.0)
    assert s.elevator_trim != 0.0


def test_parked_aircraft_stands_still_on_its_wheels_with_the_engine_idling() -> None:
    aircraft = Aircraft(initial=PARKED)
    before = aircraft.state
    aircraft.advance(30.0)
    s = aircraft.state
    assert s.wheels_on_ground == (True, True, True)
    assert s.ground_speed < 0.001
    assert s.lat_deg == pytest.approx(before.lat_deg, abs=1e-7)
    assert s.lon_deg == pytest.approx(before.lon_deg, abs=1e-7)
    assert s.terrain_msl == pytest.approx(430.0, abs=0.01)
    assert s.altitude_msl == pytest.approx(430.0 + 1.33, abs=0.1)
    assert s.altitude_agl == pytest.approx(1.33, abs=0.1)
    assert s.engines[0].running
    assert s.engines[0].throttle == 0.0
    assert s.engines[0].rpm is not None
    assert 500.0 < s.engines[0].rpm < 1000.0
    assert s.parking_brake == 1.0


def test_nothing_is_printed() -> None:
    code = ('from xplane_bridge.simulation.aircraft.aircraft import Aircraft\n'
            'from xplane_bridge.simulation.aircraft.initial import Initial\n'
            'Aircraft().advance(1.0)\n'
            'for model, kt in (("nonesuch", 100.0), ("c172p", 20.0)):\n'
            '    try:\n'
            '        Aircraft(model, Initial(airspeed_kt=kt))\n'
            '    except ValueError:\n'
            '        pass\n')
    run = subprocess.run([sys.executable, '-c', code], capture_output=True, check=False,
                         cwd=Path(__file__).parents[3])
    assert (run.returncode, run.stdout, run.stderr) == (0, b'', b'')


def test_impossible_initial_states_are_refused_with_a_sentence() -> None:
    with pytest.raises(ValueError, match='cannot be trimmed at 10.3 m/s'):
        Aircraft(initial=Initial(airspeed_kt=20.0))
    with pytest.raises(ValueError, match="no aircraft 'nonesuch'"):
        Aircraft('nonesuch')
    with pytest.raises(ValueError, match='above the ground'):
        Aircraft(initial=Initial(altitude_msl=100.0))
    with pytest.raises(ValueError, match='latitude is nan'):
        Aircraft(initial=Initial(lat_deg=math.nan))
    with pytest.raises(ValueError, match='dt is'):
        Aircraft(dt=0.1)
    for seed in (-1, LARGEST_SEED + 1):
        with pytest.raises(ValueError, match=rf'seed is {seed}, must be in 0\.\.2147483645'):
            Aircraft(seed=seed)


def test_missing_jsbsim_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    # A model that is kept from another test needs no JSBSim any more.
    model_pool._kept.clear()
    monkeypatch.setitem(sys.modules, 'jsbsim', None)
    with pytest.raises(ImportError, match='pip install jsbsim'):
        Aircraft()


# Time


def test_advance_runs_whole_steps_and_keeps_the_rest() -> None:
    aircraft = Aircraft(dt=0.01)
    assert aircraft.advance(0.025) == 2
    assert aircraft.time == pytest.approx(0.02)
    assert aircraft.advance(0.005) == 1
    assert aircraft.time == pytest.approx(0.03)


def test_sixty_frames_a_second_lose_no_step() -> None:
    aircraft = Aircraft()
    assert sum(aircraft.advance(1.0 / 60.0) for _ in range(600)) == 1200
    assert aircraft.time == pytest.approx(10.0)


@pytest.mark.parametrize('seconds', [-0.1, math.nan, math.inf])
def test_time_does_not_run_backward_or_nowhere(seconds: float) -> None:
    with pytest.raises(ValueError, match='cannot advance'):
        Aircraft().advance(seconds)


def fly(seed: int) -> Aircraft:
    aircraft = Aircraft(seed=seed)
    aircraft.set_turbulence(15.0, 4)
    for k in range(10):
        aircraft.set_controls(aileron=0.2 * (-1) ** k, elevator=0.05, throttle=0.5 + 0.05 * k)
        aircraft.advance(1.0)
    return aircraft


def test_same_seed_and_commands_give_the_same_flight() -> None:
    first, second, other = fly(1), fly(1), fly(2)
    assert first.state == second.state
    assert abs(first.state.altitude_msl - other.state.altitude_msl) > 0.1


def gust(seed: int) -> tuple[float, float, float]:
    """Return the turbulence (m/s) after its first steps."""
    aircraft = Aircraft(seed=seed)
    aircraft.set_turbulence(15.0, 4)
    aircraft.advance(0.1)
    return aircraft.state.wind_north, aircraft.state.wind_east, aircraft.state.wind_down


def test_different_seeds_give_different_turbulence() -> None:
    numbers = {0, 1, 2, 3, *MOVED_SEEDS, *MOVED_SEEDS.values(), LARGEST_SEED}
    seeds = sorted(number for number in numbers if number <= LARGEST_SEED)
    gusts = {seed: gust(seed) for seed in seeds}
    assert len({*gusts.values()}) == len(seeds) == 6
    # Nor is one the opposite of the other: so are those of JSBSim's numbers n and 2**31 - 1 - n.
    for seed in (1, 2, 3):
        assert max(abs(a + b) for a, b in zip(gusts[0], gusts[seed], strict=True)) > 1e-3


@given(seeds=some.sets(some.integers(0, LARGEST_SEED), min_size=2, max_size=9))
@example(seeds={0, 1, *MOVED_SEEDS, LARGEST_SEED})
def test_jsbsim_tells_all_seeds_apart(seeds: set[int]) -> None:
    numbers = {MOVED_SEEDS.get(seed, seed) % (2**31 - 1) for seed in seeds}
    assert len(numbers - {0}) == len(seeds)


def test_reset_repeats_the_flight_and_clears_weather_and_faults() -> None:
    aircraft = Aircraft(seed=3)
    beginning = aircraft.state
    aircraft.advance(5.0)
    calm = aircraft.state
    aircraft.set_wind(10.0, 0.0)
    aircraft.set_turbulence(15.0, 4)
    aircraft.fail_engine()
    aircraft.advance(5.0)
    aircraft.reset()
    assert aircraft.time == 0.0
    assert aircraft.state == beginning
    aircraft.advance(5.0)
    assert aircraft.state == calm


# State against JSBSim, conversion factors by hand

FACTORS = [
    ('lat_deg', 'position/lat-geod-deg', 1.0),
    ('lat_geocentric_deg', 'position/lat-gc-deg', 1.0),
    ('lon_deg', 'position/long-gc-deg', 1.0),
    ('altitude_msl', 'position/h-sl-ft', 0.3048),
    ('altitude_agl', 'position/h-agl-ft', 0.3048),
    ('phi', 'attitude/phi-deg', math.pi / 180.0),
    ('theta', 'attitude/theta-deg', math.pi / 180.0),
    ('psi', 'attitude/psi-deg', math.pi / 180.0),
    ('p', 'velocities/p-rad_sec', 1.0),
    ('q', 'velocities/q-rad_sec', 1.0),
    ('r', 'velocities/r-rad_sec', 1.0),
    ('v_north', 'velocities/v-north-fps', 0.3048),
    ('v_east', 'velocities/v-east-fps', 0.3048),
    ('v_down', 'velocities/v-down-fps', 0.3048),
    ('u', 'velocities/u-fps', 0.3048),
    ('v', 'velocities/v-fps', 0.3048),
    ('w', 'velocities/w-fps', 0.3048),
    ('alpha', 'aero/alpha-deg', math.pi / 180.0),
    ('beta', 'aero/beta-deg', math.pi / 180.0),
    ('tas', 'velocities/vtrue-kts', 0.514444),
    ('cas', 'velocities/vc-kts', 0.514444),
    ('eas', 'velocities/ve-kts', 0.514444),
    ('mach', 'velocities/mach', 1.0),
    ('static_pressure', 'atmosphere/P-psf', 47.8803),
    ('temperature', 'atmosphere/T-R', 5.0 / 9.0),
    ('density', 'atmosphere/rho-slugs_ft3', 515.379),
    ('qbar', 'aero/qbar-psf', 47.8803),
    ('mass', 'inertia/weight-lbs', 0.45359237),
    ('f_eye_z', 'accelerations/n-pilot-z-norm', 9.80665),
    ('flaps_position', 'fcs/flap-pos-norm', 1.0),
    ('gear_position', 'gear/gear-pos-norm', 1.0),
]


@pytest.fixture(scope='module')
def manoeuvring() -> Aircraft:
    """Return an aircraft in a climbing turn with some flap and wind."""
    aircraft = Aircraft()
    aircraft.set_wind(3.0, -4.0, 0.5)
    aircraft.set_controls(aileron=0.15, elevator=0.1, rudder=0.1, flaps=0.5)
    aircraft.advance(3.0)
    return aircraft


@pytest.mark.parametrize(('field', 'name', 'factor'), FACTORS)
def test_state_equals_jsbsim(manoeuvring: Aircraft, field: str, name: str,
                             factor: float) -> None:
    value = getattr(manoeuvring.state, field)
    assert value != 0.0
    assert value == pytest.approx(manoeuvring.property_value(name) * factor, rel=2e-5)


def test_engine_equals_jsbsim(manoeuvring: Aircraft) -> None:
    engine = manoeuvring.state.engines[0]
    get = manoeuvring.property_value
    assert engine.rpm == get('propulsion/engine/engine-rpm')
    assert engine.manifold_pressure == pytest.approx(
        get('propulsion/engine/map-inhg') * 3386.39, rel=1e-4)
    assert engine.fuel_flow == pytest.approx(
        get('propulsion/engine/fuel-flow-rate-pps') * 0.45359, rel=1e-4)
    assert engine.thrust == pytest.approx(get('propulsion/engine/thrust-lbs') * 4.44822, rel=1e-4)
    assert engine.power == pytest.approx(get('propulsion/engine/power-hp') * 745.7, rel=1e-4)
    assert engine.oil_temperature == pytest.approx(
        (get('propulsion/engine/oil-temperature-degF') - 32.0) / 1.8 + 273.15)
    assert engine.n1 is None
    assert manoeuvring.state.fuel[0] == pytest.approx(
        get('propulsion/tank/contents-lbs') * 0.45359, rel=1e-4)


def test_calm_air_at_1500_m_is_the_standard_atmosphere() -> None:
    s = Aircraft().state
    assert s.temperature == pytest.approx(278.4, abs=0.1)
    assert s.static_pressure == pytest.approx(84_556.0, abs=20.0)
    assert s.density == pytest.approx(1.058, abs=0.001)
    assert s.qbar == pytest.approx(0.5 * s.density * s.tas ** 2, rel=1e-6)
    # 1/2 rho0 IAS^2 and a little for compressibility.
    assert s.qbar == pytest.approx(0.5 * 1.225 * 51.444 ** 2, rel=2e-3)


# Specific force and acceleration


def test_parked_specific_force_is_one_g_up_split_by_attitude() -> None:
    s = Aircraft(initial=PARKED).state
    assert math.degrees(s.theta) == pytest.approx(2.4, abs=0.2)     # it sits nose up
    assert s.f_x == pytest.approx(s.gravity * math.sin(s.theta), abs=0.005)
    assert s.f_y == pytest.approx(-s.gravity * math.sin(s.phi), abs=0.005)
    assert s.f_z == pytest.approx(-s.gravity * math.cos(s.theta), abs=0.005)
    assert s.gravity == pytest.approx(9.807, abs=0.001)             # normal gravity at 47 N, 430 m
    assert s.f_eye_x == pytest.approx(s.f_x, abs=0.005)
    assert s.f_eye_z == pytest.approx(s.f_z, abs=0.005)
    assert (s.a_north, s.a_east, s.a_down) == pytest.approx((0.0, 0.0, 0.0), abs=0.005)


def test_level_flight_carries_one_g() -> None:
    s = Aircraft().state
    assert s.f_z == pytest.approx(-9.8, abs=0.02)
    assert s.n_z == pytest.approx(1.0, abs=0.002)


def test_specific_force_is_acceleration_less_gravity(manoeuvring: Aircraft) -> None:
    s = manoeuvring.state
    force = math.sqrt(s.f_x ** 2 + s.f_y ** 2 + s.f_z ** 2)
    expected = math.sqrt(s.a_north ** 2 + s.a_east ** 2 + (s.a_down - s.gravity) ** 2)
    # Coriolis is left out of the hand formula: 2 x 7.3e-5 x 55 m/s.
    assert force == pytest.approx(expected, abs=0.01)


def test_acceleration_is_the_derivative_of_velocity() -> None:
    aircraft = Aircraft()
    aircraft.set_controls(aileron=0.3, elevator=0.2)
    aircraft.advance(1.0)
    before = aircraft.state
    aircraft.step()
    middle = aircraft.state
    aircraft.step()
    after = aircraft.state
    for axis in ('north', 'east', 'down'):
        slope = (getattr(after, f'v_{axis}') - getattr(before, f'v_{axis}')) / (2.0 / 120.0)
        assert getattr(middle, f'a_{axis}') == pytest.approx(slope, abs=0.05)


def test_take_off_run_pushes_forward_and_braking_pulls_back() -> None:
    aircraft = Aircraft(initial=PARKED)
    aircraft.set_controls(throttle=1.0, parking_brake=0.0)
    aircraft.advance(5.0)
    s = aircraft.state
    tilt = s.gravity * math.sin(s.theta)
    assert s.f_x - tilt > 1.0
    assert s.a_east > 1.0                               # heading east
    aircraft.set_controls(throttle=0.0, left_brake=1.0, right_brake=1.0)
    aircraft.advance(0.5)
    s = aircraft.state
    assert s.f_x - s.gravity * math.sin(s.theta) < -1.0
    assert s.a_east < -1.0


def test_eye_point_feels_pitch_acceleration() -> None:
    # The eye is ahead of the centre of gravity, so a pitch-up presses the pilot down first.
    aircraft = Aircraft()
    aircraft.set_controls(elevator=0.5)
    aircraft.advance(2.0 / 120.0)
    s = aircraft.state
    assert s.q_dot > 0.5
    assert s.f_eye_z < s.f_z


# Signs


def response(**controls: float) -> tuple[Aircraft, Aircraft]:
    """Return an aircraft half a second after a command, and one without it."""
    moved, still = Aircraft(), Aircraft()
    moved.set_controls(**controls)
    moved.advance(0.5)
    still.advance(0.5)
    return moved, still


@pytest.mark.parametrize(('control', 'rate', 'angle'), [
    ('elevator', 'q', 'theta'), ('aileron', 'p', 'phi'), ('rudder', 'r', 'psi')])
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_controls_have_xplanes_signs(control: str, rate: str, angle: str, sign: float) -> None:
    moved, still = response(**{control: 0.3 * sign})
    assert sign * getattr(moved.state, rate) > 0.02
    assert sign * (getattr(moved.state, angle) - getattr(still.state, angle)) > 0.005
    assert getattr(moved.state, control) == pytest.approx(0.3 * sign)


@pytest.mark.parametrize(('trim', 'rate'), [
    ('elevator_trim', 'q'), ('aileron_trim', 'p'), ('rudder_trim', 'r')])
def test_trims_have_the_signs_of_their_controls(trim: str, rate: str) -> None:
    aircraft = Aircraft()
    aircraft.set_controls(**{trim: getattr(aircraft.state, trim) + 0.2})
    aircraft.advance(0.5)
    assert getattr(aircraft.state, rate) > 0.01


def test_jsbsims_elevator_and_rudder_are_the_other_way_round() -> None:
    aircraft = Aircraft()
    aircraft.set_controls(elevator=0.25, aileron=0.25, rudder=0.25)
    assert aircraft.property_value('fcs/elevator-cmd-norm') == -0.25
    assert aircraft.property_value('fcs/aileron-cmd-norm') == 0.25
    assert aircraft.property_value('fcs/rudder-cmd-norm') == -0.25


def test_right_bank_turns_right() -> None:
    aircraft = Aircraft(initial=Initial(heading_deg=0.0))
    aircraft.teleport(roll_deg=30.0)
    aircraft.advance(1.0)
    s = aircraft.state
    assert s.phi > 0.3
    assert 0.02 < s.psi < 0.5
    assert s.a_east > 3.0


def test_rudder_steers_the_nose_wheel_right() -> None:
    aircraft = Aircraft(initial=PARKED)
    aircraft.set_controls(throttle=0.5, parking_brake=0.0, rudder=1.0)
    aircraft.advance(8.0)
    assert math.degrees(aircraft.state.psi) > 100.0


def test_throttle_flaps_and_mixture_act() -> None:
    aircraft = Aircraft()
    cruise = aircraft.state.engines[0].thrust
    aircraft.set_controls(throttle=0.1, flaps=1.0)
    aircraft.advance(5.0)
    s = aircraft.state
    assert s.engines[0].thrust < 0.5 * cruise
    assert s.flaps_position == pytest.approx(1.0)
    aircraft.set_controls(throttle=1.0, mixture=0.0)
    aircraft.advance(5.0)
    assert not aircraft.state.engines[0].running


def test_brakes_hold_against_power() -> None:
    aircraft = Aircraft(initial=PARKED)
    aircraft.set_controls(throttle=0.3)
    aircraft.advance(5.0)
    assert aircraft.state.ground_speed < 0.01
    aircraft.set_controls(parking_brake=0.0)
    aircraft.advance(5.0)
    assert aircraft.state.ground_speed > 1.0


def test_gear_of_a_jet_retracts_and_that_of_the_c172p_does_not() -> None:
    jet = Aircraft('737', Initial(altitude_msl=3000.0, airspeed_kt=250.0))
    jet.set_controls(gear=0.0)
    jet.advance(15.0)
    assert jet.state.gear_position == 0.0
    assert jet.state.engines[1].n1 is not None
    assert jet.state.engines[1].n1 > 50.0
    assert jet.state.engines[1].rpm is None
    cessna = Aircraft()
    cessna.set_controls(gear=0.0)
    cessna.advance(15.0)
    assert cessna.state.gear == 0.0
    assert cessna.state.gear_position == 1.0


# Validation


def test_none_leaves_and_out_of_range_is_clamped() -> None:
    aircraft = Aircraft()
    throttle = aircraft.state.engines[0].throttle
    aircraft.set_controls(elevator=7.0, aileron=-3.0, speedbrake=9.0)
    s = aircraft.state
    assert (s.elevator, s.aileron, s.rudder) == (1.0, -1.0, 0.0)
    assert s.speedbrake == 1.5
    assert s.engines[0].throttle == throttle
    aircraft.set_controls(throttle=[0.25, 0.5, None], speedbrake=-0.5)
    assert aircraft.state.engines[0].throttle == 0.25
    assert aircraft.state.speedbrake == -0.5


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize('command', [
    lambda a, v: a.set_controls(elevator=v),
    lambda a, v: a.set_controls(aileron=0.5, throttle=v),
    lambda a, v: a.set_controls(throttle=[v]),
    lambda a, v: a.set_controls(mixture=v),
    lambda a, v: a.set_controls(speedbrake=v),
    lambda a, v: a.set_controls(rudder_trim=v),
    lambda a, v: a.set_gear_position(v),
    lambda a, v: a.set_wind(v, 0.0),
    lambda a, v: a.set_turbulence(v, 3),
    lambda a, v: a.set_fuel(0, v),
    lambda a, v: a.teleport(lat_deg=v),
    lambda a, v: a.teleport(heading_deg=v),
    lambda a, v: a.teleport(velocity_ned=(v, 0.0, 0.0)),
    lambda a, v: a.teleport(rates=(0.0, v, 0.0)),
])
def test_numbers_that_are_none_are_refused_and_change_nothing(
        manoeuvring: Aircraft, command: Callable[[Aircraft, float], None], bad: float) -> None:
    before = manoeuvring.state
    with pytest.raises(ValueError, match='must be finite'):
        command(manoeuvring, bad)
    assert manoeuvring.state == before


def test_engines_and_tanks_that_are_not_there_are_refused() -> None:
    aircraft = Aircraft()
    with pytest.raises(ValueError, match='engine is 1, must be in 0..0'):
        aircraft.fail_engine(1)
    with pytest.raises(ValueError, match='engine is -1'):
        aircraft.restore_engine(-1)
    with pytest.raises(ValueError, match='tank is 2, must be in 0..1'):
        aircraft.set_fuel(2, 10.0)
    glider = Aircraft('SGS', initial=Initial(airspeed_kt=48.6))
    with pytest.raises(ValueError, match='engine is 0, but the aircraft has none'):
        glider.fail_engine(0)
    with pytest.raises(ValueError, match='tank is 0, but the aircraft has none'):
        glider.set_fuel(0, 10.0)


@pytest.mark.parametrize(('given', 'sentence'), [
    ((5.0, 8), 'severity 8, expected a whole number, 0..7'),
    ((5.0, -1), 'severity -1, expected'), ((5.0, 4.5), 'severity 4.5, expected'),
    ((101.0, 4), 'wind at 20 ft of 101 m/s, expected 0..100'), ((-1.0, 4), 'expected 0..100'),
    ((15.0, 0), 'severity 0 is calm at all heights'),
    ((0.0, 101.0, 0.0), '101 m/s is no wind, expected -100..100')])
def test_weather_that_is_not_simulated_is_refused_and_changes_nothing(
        given: tuple[float, ...], sentence: str) -> None:
    aircraft = Aircraft()
    aircraft.set_wind(1.0, 2.0)
    with pytest.raises(ValueError, match=sentence):
        (aircraft.set_wind if len(given) == 3 else aircraft.set_turbulence)(*given)
    assert aircraft.wind == (1.0, 2.0, 0.0)


# Faults and weather


def test_failed_engine_stops_and_the_aircraft_descends_until_it_is_restored() -> None:
    aircraft = Aircraft()
    aircraft.fail_engine()
    aircraft.set_controls(mixture=1.0, throttle=1.0)    # no effect
    aircraft.advance(20.0)
    s = aircraft.state
    assert not s.engines[0].running
    assert s.engines[0].fuel_flow == 0.0
    assert s.altitude_msl < 1480.0
    assert aircraft.failed_engines == {0}
    aircraft.restore_engine()
    aircraft.advance(2.0)
    s = aircraft.state
    assert s.engines[0].running
    assert s.engines[0].thrust > 500.0
    assert aircraft.failed_engines == frozenset()


def test_one_engine_of_two_fails() -> None:
    jet = Aircraft('737', Initial(altitude_msl=3000.0, airspeed_kt=250.0))
    jet.fail_engine(1)
    jet.advance(5.0)
    left, right = jet.state.engines
    assert left.running
    assert not right.running
    assert left.thrust > 10_000.0 > right.thrust
    assert jet.state.r > 0.0                            # the live left engine yaws it right


def test_engine_stops_without_fuel() -> None:
    aircraft = Aircraft()
    for tank in range(aircraft.tank_count):
        aircraft.set_fuel(tank, -5.0)
    assert aircraft.state.fuel == (0.0, 0.0)
    aircraft.advance(5.0)
    assert aircraft.state.engines[0].fuel_flow == 0.0


def test_tail_wind_lowers_airspeed_and_head_wind_raises_it() -> None:
    aircraft = Aircraft()                               # heading east
    aircraft.set_wind(0.0, 10.0)                        # the air moves east
    aircraft.step()
    s = aircraft.state
    assert (s.wind_north, s.wind_east, s.wind_down) == pytest.approx((0.0, 10.0, 0.0), abs=1e-6)
    assert s.ground_speed - s.tas == pytest.approx(10.0, abs=0.2)
    aircraft.set_wind(0.0, -10.0)
    aircraft.step()
    assert aircraft.state.tas - aircraft.state.ground_speed == pytest.approx(10.0, abs=0.2)


def test_wind_from_the_right_is_positive_sideslip() -> None:
    aircraft = Aircraft()                               # heading east, so right is south
    aircraft.set_wind(10.0, 0.0)                        # blowing from the south
    aircraft.step()
    assert math.degrees(aircraft.state.beta) == pytest.approx(
        math.degrees(math.atan2(10.0, 55.3)), abs=0.5)


def test_turbulence_shakes_and_stops() -> None:
    aircraft = Aircraft(seed=5)
    aircraft.set_turbulence(15.0, 4)
    aircraft.advance(10.0)
    assert abs(aircraft.state.wind_down) + abs(aircraft.state.wind_north) > 0.05
    aircraft.set_turbulence(0.0, 0)
    aircraft.advance(1.0)
    assert abs(aircraft.state.wind_down) + abs(aircraft.state.wind_north) < 1e-6


def test_the_height_that_rules_turbulence_is_above_sea_level() -> None:
    """At 1640 ft both figures count by MIL-F-8785C; above this ground they are 230 ft."""
    found = []
    for wind_at_20ft in (5.0, 25.0):
        aircraft = Aircraft(initial=Initial(altitude_msl=500.0), seed=1)
        aircraft.set_turbulence(wind_at_20ft, 3)
        aircraft.advance(1.0)
        found.append(aircraft.state.wind_down)
    # 0.1 of the wind, and 6.9 ft/s of severity 3 at 1750 ft, which are 36 % and 64 % here.
    low, high = (0.36 * 0.1 * wind / 0.3048 + 0.64 * 6.87 for wind in (5.0, 25.0))
    assert found[1] / found[0] == pytest.approx(high / low, rel=0.02)


def test_turbulence_grows_from_calm_within_seconds() -> None:
    squares = {0.1: 0.0, 7.0: 0.0}
    for seed in range(20):
        aircraft = Aircraft(seed=seed)
        aircraft.set_turbulence(15.0, 4)
        before = 0.0
        for seconds in squares:
            aircraft.advance(seconds - before)
            before = seconds
            now = aircraft.state
            squares[seconds] += now.wind_north ** 2 + now.wind_east ** 2 + now.wind_down ** 2
    begun, grown = squares.values()
    # An episode of a second has hardly any.
    assert begun < 0.15 * grown


# Placement


def test_teleport_moves_turns_and_flies_on() -> None:
    aircraft = Aircraft()
    aircraft.advance(1.0)
    before = aircraft.state
    aircraft.teleport(lat_deg=48.0, lon_deg=9.5, altitude_msl=2500.0, heading_deg=180.0)
    s = aircraft.state
    assert (s.lat_deg, s.lon_deg, s.altitude_msl) == pytest.approx((48.0, 9.5, 2500.0), abs=1e-6)
    assert math.degrees(s.psi) == pytest.approx(180.0)
    assert s.tas == pytest.approx(before.tas, rel=1e-4)
    assert s.alpha == pytest.approx(before.alpha, abs=1e-4)
    assert s.v_north == pytest.approx(-before.ground_speed, abs=0.05)
    assert s.engines[0].rpm == pytest.approx(before.engines[0].rpm, rel=0.01)
    assert s.terrain_msl == pytest.approx(terrain.elevation_m(48.0, 9.5))
    aircraft.advance(10.0)
    s = aircraft.state
    assert s.lat_deg == pytest.approx(48.0 - 10.0 * 55.3 / 111_200.0, abs=2e-4)
    assert s.altitude_msl == pytest.approx(2500.0, abs=40.0)
    assert s.engines[0].running
    assert aircraft.time == pytest.approx(11.0)


def test_teleport_of_attitude_only_keeps_the_place_and_its_speed() -> None:
    aircraft = Aircraft()
    before = aircraft.state
    aircraft.teleport(pitch_deg=10.0, roll_deg=-20.0)
    s = aircraft.state
    assert (math.degrees(s.theta), math.degrees(s.phi)) == pytest.approx((10.0, -20.0))
    assert s.psi == pytest.approx(before.psi)
    assert (s.lat_deg, s.lon_deg) == pytest.approx((before.lat_deg, before.lon_deg), abs=1e-9)
    assert s.tas == pytest.approx(before.tas, rel=1e-4)
    assert s.v_down == pytest.approx(-s.tas * math.sin(math.radians(9.6)), abs=0.5)


def test_teleport_in_wind_keeps_the_airspeed() -> None:
    aircraft = Aircraft()
    aircraft.set_wind(0.0, 10.0)
    aircraft.advance(1.0)
    before = aircraft.state
    aircraft.teleport(heading_deg=270.0)
    s = aircraft.state
    assert s.tas == pytest.approx(before.tas, rel=1e-3)
    assert s.ground_speed == pytest.approx(s.tas - 10.0, abs=0.3)
    assert s.wind_east == pytest.approx(10.0)


def test_teleport_with_speed_velocity_and_rates() -> None:
    aircraft = Aircraft()
    aircraft.teleport(speed=40.0)
    assert aircraft.state.tas == pytest.approx(40.0, abs=0.01)
    aircraft.teleport(velocity_ned=(30.0, 40.0, -2.0), rates=(0.1, -0.2, 0.3))
    s = aircraft.state
    assert (s.v_north, s.v_east, s.v_down) == pytest.approx((30.0, 40.0, -2.0), abs=1e-3)
    assert (s.p, s.q, s.r) == pytest.approx((0.1, -0.2, 0.3), abs=1e-3)


def test_teleport_to_the_ground_parks() -> None:
    aircraft = Aircraft()
    aircraft.teleport(lat_deg=47.42, altitude_msl=0.0, pitch_deg=0.0, roll_deg=0.0, speed=0.0)
    aircraft.set_controls(throttle=0.0, parking_brake=1.0)
    aircraft.advance(5.0)
    s = aircraft.state
    assert s.wheels_on_ground == (True, True, True)
    assert s.ground_speed < 0.02
    assert s.altitude_msl == pytest.approx(431.3, abs=0.2)
    assert s.lat_deg == pytest.approx(47.42, abs=1e-5)


def test_teleport_beyond_the_possible_is_clamped() -> None:
    aircraft = Aircraft()
    aircraft.teleport(lat_deg=123.0, lon_deg=540.0, altitude_msl=1e9, pitch_deg=400.0,
                      velocity_ned=(1e9, 0.0, 0.0), rates=(1e9, 0.0, 0.0))
    s = aircraft.state
    assert s.lat_deg == pytest.approx(89.9)
    assert abs(s.lon_deg) == pytest.approx(180.0)
    assert s.altitude_msl == pytest.approx(25_000.0, rel=1e-5)
    aircraft.advance(2.0)
    assert finite(aircraft.state)


# Terrain


def test_height_above_ground_follows_the_terrain() -> None:
    aircraft = Aircraft()
    aircraft.teleport(lat_deg=47.6, lon_deg=8.2)
    for _ in range(20):
        aircraft.advance(1.0)
        s = aircraft.state
        ground = terrain.elevation_m(s.lat_deg, s.lon_deg)
        assert s.terrain_msl == pytest.approx(ground, abs=0.01)
        assert s.altitude_agl == pytest.approx(s.altitude_msl - ground, abs=0.05)
    assert abs(ground - terrain.elevation_m(47.6, 8.2)) > 1.0


def test_the_ground_is_flat_around_another_airfield() -> None:
    airfield = terrain.Airfield(46.0, 7.0, 1500.0)
    assert terrain.elevation_around(airfield, 46.0, 7.0) == 1500.0
    assert terrain.elevation_around(airfield, 46.05, 7.05) == 1500.0
    # Far from it, and from home, nothing has changed.
    assert terrain.elevation_around(airfield, 44.0, 7.0) == terrain.elevation_m(44.0, 7.0)
    aircraft = Aircraft(initial=Initial(46.0, 7.0, parked=True, airfield=airfield))
    aircraft.step(60)
    assert aircraft.state.terrain_msl == pytest.approx(1500.0, abs=0.01)
    assert aircraft.state.altitude_agl == pytest.approx(1.33, abs=0.05)


def test_what_touches_the_ground_is_told_wheels_from_structure() -> None:
    standing = Aircraft(initial=Initial(parked=True))
    wheels, structure, compressions = standing.sampler.contacts()
    assert (wheels, structure) == (3, 0)
    # The struts of the c172p by its weight: springs of 1800 and twice 5400 lb/ft.
    assert compressions == pytest.approx((0.072, 0.043, 0.039), abs=0.002)
    flying = Aircraft()
    assert flying.sampler.contacts() == (0, 0, (0.0, 0.0, 0.0))
    standing.teleport(roll_deg=60.0, altitude_msl=430.0)
    assert standing.sampler.contacts().structure > 0


def test_terrain_is_flat_at_home_hilly_beyond_and_wet_at_sea() -> None:
    assert terrain.elevation_m(47.4, 8.5) == 430.0
    assert terrain.elevation_m(47.45, 8.55) == 430.0
    assert terrain.normal(47.4, 8.5) == (0.0, 0.0, 1.0)
    assert terrain.elevation_m(47.53, 8.5) > 500.0
    assert not terrain.is_wet(47.4, 8.5)
    assert terrain.is_wet(47.4, 9.4)
    assert terrain.elevation_m(47.4, 9.4) == 0.0
    assert terrain.elevation_m(47.6, 180.0) == pytest.approx(terrain.elevation_m(47.6, -180.0))


def test_no_hill_reaches_the_height_above_which_nobody_looks_for_the_ground() -> None:
    heights = [terrain.elevation_m(lat / 10.0, lon / 10.0)
               for lat in range(-890, 900, 7) for lon in range(-1800, 1800, 7)]
    assert 600.0 < max(heights) < terrain.HIGHEST


def test_terrain_normal_leans_downhill() -> None:
    # North of home the ground rises toward the north, so the normal leans south.
    assert terrain.elevation_m(47.511, 8.5) > terrain.elevation_m(47.509, 8.5)
    east, north, up = terrain.normal(47.51, 8.5)
    slope = (terrain.elevation_m(47.511, 8.5) - terrain.elevation_m(47.509, 8.5)) / 222.4
    assert north < 0.0
    assert -north / up == pytest.approx(slope, rel=0.05)
    assert east ** 2 + north ** 2 + up ** 2 == pytest.approx(1.0)


# Never NaN


@pytest.mark.parametrize('seed', range(3))
def test_no_finite_commands_lead_to_numbers_that_are_none(seed: int) -> None:
    rng = random.Random(seed)
    aircraft = Aircraft(initial=Initial(altitude_msl=600.0))
    for _ in range(40):
        aircraft.set_controls(
            elevator=rng.choice([-9.0, 0.0, 9.0]), aileron=rng.uniform(-1e6, 1e6),
            rudder=rng.choice([-1.0, 1.0]), throttle=rng.uniform(-2.0, 2.0),
            flaps=rng.random())
        aircraft.advance(0.5)
        assert finite(aircraft.state)


def test_diving_into_the_ground_leaves_a_finite_aircraft_above_it() -> None:
    aircraft = Aircraft(initial=Initial(altitude_msl=700.0))
    aircraft.teleport(pitch_deg=-80.0, speed=150.0)
    for _ in range(20):
        aircraft.advance(0.5)
        assert finite(aircraft.state)
        assert aircraft.state.altitude_agl > -100.0


def test_a_model_that_diverged_lies_on_the_ground_with_its_engine_stopped() -> None:
    aircraft = Aircraft()
    aircraft.advance(1.0)
    before = aircraft.state
    # What an impact occasionally does to JSBSim.
    aircraft._model.set('fcs/elevator-cmd-norm', math.nan)
    aircraft.advance(0.5)
    s = aircraft.state
    assert aircraft.crash is not None
    assert finite(s)
    assert all(s.wheels_on_ground)
    assert not s.engines[0].running
    assert s.lat_deg == pytest.approx(before.lat_deg, abs=1e-4)
    assert aircraft.time == pytest.approx(1.5)


# The simulators' own geometry, by hand


@pytest.mark.parametrize(('place', 'ecef'), [
    ((0.0, 0.0, 0.0), (6_378_137.0, 0.0, 0.0)),
    ((0.0, 90.0, 100.0), (0.0, 6_378_237.0, 0.0)),
    ((90.0, 0.0, 0.0), (0.0, 0.0, 6_356_752.314245)),
    ((-90.0, 0.0, 1000.0), (0.0, 0.0, -6_357_752.314245)),
    # N(45 deg) = 6388838.2901 m, so x = N cos 45 and z = N (1 - e2) sin 45.
    ((45.0, 0.0, 0.0), (4_517_590.8788, 0.0, 4_487_348.4088)),
])
def test_earth_centred_coordinates(place: tuple[float, float, float],
                                   ecef: tuple[float, float, float]) -> None:
    assert geodetic_to_ecef(*place) == pytest.approx(ecef, abs=1e-3)
    lat, lon, height = ecef_to_geodetic(ecef)
    assert lat == pytest.approx(place[0], abs=1e-8)
    assert height == pytest.approx(place[2], abs=1e-3)
    if abs(place[0]) < 90.0:
        assert lon == pytest.approx(place[1], abs=1e-8)


def test_wheels_hang_below_the_aircraft_before_it_ever_stood() -> None:
    def rest_height(aircraft: Aircraft) -> float:
        aircraft.teleport(altitude_msl=0.0)
        state = aircraft.state
        return state.altitude_msl - terrain.elevation_m(state.lat_deg, state.lon_deg)

    hanging = rest_height(Aircraft())
    standing = rest_height(Aircraft(initial=Initial(parked=True)))
    # The struts compress by a few centimetres.
    assert 0.5 < standing <= hanging < standing + 0.3
