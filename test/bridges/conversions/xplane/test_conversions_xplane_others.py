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

"""What is derived of X-Plane's other aircraft, against the flight model that flies them."""

from dataclasses import replace
import math
import struct

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.bridges.conversions import axes, simulated
from xplane_bridge.bridges.conversions.vehicle import Controls, VehicleState
from xplane_bridge.bridges.conversions.xplane import others
from xplane_bridge.bridges.conversions.xplane.derived import Derivation, UNKNOWN_STDDEV
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.flown import beside, fly_beside
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane.datarefs import DatarefStore

PERIOD = 1.0 / 30.0
START = Initial()
LEVEL = (1.0, 0.0, 0.0, 0.0)


def as_float32(value):
    return struct.unpack('<f', struct.pack('<f', value))[0]


class Shown:
    """Aircraft 1, 300 m above the user's, as X-Plane shows it, and as it is."""

    def __init__(self, version=12):
        self.world = World(Aircraft(initial=START), fleet=fly_beside(
            ['c172p'], beside(START, 1, [(0.0, 500.0, 300.0)]), seed=0), traffic_flies=False)
        self.store = DatarefStore(self.world, version)

    def state(self):
        values = {}
        for name in others.other_datarefs(1, with_air=True):
            if (found := self.store.read(name)) is not None:
                values[name] = as_float32(found.values[0])
        there = self.truth
        return others.other_state(
            1, (there.lat_deg, there.lon_deg, there.altitude_msl), (0.0, 0.0, 0.0), values)

    @property
    def truth(self):
        return self.world.flown[1].state


@pytest.mark.parametrize('version', [9, 12])
def test_its_air_data_are_those_of_the_flight_model_in_a_steady_wind(version):
    shown = Shown(version)
    for aircraft in shown.world.flown:
        aircraft.set_wind(5.0, -3.0)
    for _ in range(30):
        shown.world.advance(PERIOD)
    air, truth = shown.state().air, simulated.air(shown.truth)
    assert air.wind == pytest.approx((-3.0, 5.0, 0.0), abs=1e-3)
    for name, within in (
            ('indicated_airspeed', 0.02), ('true_airspeed', 0.02), ('angle_of_attack', 1e-3),
            ('sideslip', 1e-3), ('static_pressure', 20.0), ('dynamic_pressure', 2.0),
            ('temperature', 0.05), ('density', 2e-4)):
        assert getattr(air, name) == pytest.approx(getattr(truth, name), abs=within), name


def test_without_the_air_at_the_users_aircraft_it_has_none():
    shown = Shown()
    values = {name: as_float32(shown.store.read(name).values[0])
              for name in others.other_datarefs(1)}
    assert others.other_state(1, (47.0, 8.0, 1500.0), (0.0, 0.0, 0.0), values).air is None


def test_its_rates_and_forces_are_as_good_as_their_deviations_say():
    shown, derivation = Shown(), Derivation()
    shown.world.flown[1].set_turbulence(15.0, 4)
    apart, whole, moving = [], [], []
    for frame in range(240):
        shown.world.flown[1].set_controls(
            elevator=0.1 * math.sin(frame / 8.0), aileron=0.3 * math.sin(frame / 12.0))
        shown.world.advance(PERIOD)
        state = derivation.complete(shown.state())
        if frame < 30:
            continue
        errors = (math.dist(state.angular_velocity, simulated.angular_velocity(shown.truth)),
                  math.dist(state.specific_force, simulated.specific_force(shown.truth)))
        apart.append([error / stddev for error, stddev in zip(
            errors, state.derived_stddev, strict=True)])
        whole.append(errors)
        moving.append(math.hypot(*state.angular_velocity))
    for number, largest in ((0, 0.05), (1, 1.5)):
        # Of three axes together: 2.8 standard deviations are exceeded by one in twenty.
        assert sum(one[number] > 2.8 for one in apart) < 0.1 * len(apart)
        assert math.sqrt(sum(one[number] ** 2 for one in whole) / len(whole)) < largest
    assert max(moving) > 0.3


def at(seconds, turned=0.0, **changes):
    """Return a state that has rolled right by an angle, with the time and other changes."""
    return replace(VehicleState(
        47.0, 8.0, 1500.0, (math.cos(turned / 2.0), math.sin(turned / 2.0), 0.0, 0.0),
        velocity=(50.0, 0.0, 0.0), time=seconds), **changes)


def test_a_roll_and_an_acceleration_are_what_they_are():
    derivation = Derivation()
    first = derivation.complete(at(8.0))
    assert (first.angular_velocity, first.derived_stddev) == (
        (0.0, 0.0, 0.0), (UNKNOWN_STDDEV, UNKNOWN_STDDEV))
    assert first.specific_force == axes.rest_specific_force(LEVEL)
    second = derivation.complete(at(8.125, 0.125, velocity=(50.25, 0.0, 0.0)))
    assert second.angular_velocity == pytest.approx((1.0, 0.0, 0.0))
    # Two states do not tell how steady they are.
    assert second.derived_stddev == (UNKNOWN_STDDEV, UNKNOWN_STDDEV)
    third = derivation.complete(at(8.25, 0.25, velocity=(50.5, 0.0, 0.0)))
    assert third.specific_force[0] == pytest.approx(2.0)
    # By hand: float32's steps of the time (9.5e-7 s), of the angles and of the speed.
    assert third.derived_stddev == pytest.approx((5.81e-6, 1.86e-5), rel=1e-2)
    # The same once more, as from a simulator that waits.
    assert derivation.complete(at(8.25, 0.25, velocity=(50.5, 0.0, 0.0))) == third


def test_the_newest_change_counts_for_a_tenth():
    """Rates of 1, 3 and 2 rad/s, accelerations of 2, 6 and 4 m/s^2."""
    derivation = Derivation()
    for seconds, turned, east in (
            (8.0, 0.0, 50.0), (8.125, 0.125, 50.25), (8.25, 0.5, 51.0), (8.375, 0.75, 51.5)):
        found = derivation.complete(at(seconds, turned, velocity=(east, 0.0, 0.0)))
    assert found.derived_stddev == pytest.approx((math.sqrt(0.925), math.sqrt(3.7)), rel=1e-6)


@pytest.mark.parametrize('then', [
    at(8.125, 3.0), at(8.125, velocity=(-50.0, 0.0, 0.0)), at(9.0), at(7.0), at(8.0, 0.5),
], ids=['turned at once', 'another velocity', 'a gap', 'time steps back', 'moved in a pause'])
def test_what_is_not_one_flight_tells_nothing(then):
    derivation = Derivation()
    derivation.complete(at(8.0))
    found = derivation.complete(then)
    assert found.angular_velocity == (0.0, 0.0, 0.0)
    assert found.derived_stddev == (UNKNOWN_STDDEV, UNKNOWN_STDDEV)


@pytest.mark.parametrize('unknown', ['orientation', 'velocity', 'time'])
def test_without_what_it_needs_nothing_is_derived(unknown):
    state = at(8.0, **{unknown: None})
    assert Derivation().complete(state) == state


def plane(**values):
    """Return datarefs of aircraft 1, by the ends of their names."""
    return {f'sim/multiplayer/position/plane1_{name}': value for name, value in values.items()}


def test_all_of_another_aircraft_by_hand():
    """At the origin, facing north, level."""
    given = plane(
        psi=0.0, the=0.0, phi=0.0, v_x=3.0, v_y=2.0, v_z=-40.0, yolk_pitch=0.1, yolk_roll=0.2,
        yolk_yaw=0.3, throttle=0.4, flap_ratio=0.5, gear_deploy=0.6, speedbrake_ratio=0.7) | {
        'sim/time/total_running_time_sec': 9.5, 'sim/time/paused': 1.0}
    state = others.other_state(1, (47.0, 8.0, 1500.0), (90.0, 1.0, 2.0), given)
    assert (state.latitude_deg, state.longitude_deg, state.altitude_msl) == (47.0, 8.0, 1500.0)
    root = math.sqrt(0.5)
    assert state.orientation == pytest.approx((root, 0.0, 0.0, root))
    assert state.velocity == (3.0, 40.0, 2.0)
    assert state.controls == Controls(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
    assert (state.time, state.paused, state.air, state.impossible) == (9.5, True, None, ())
    # Without its attitude the one of its position counts.
    del given['sim/multiplayer/position/plane1_psi']
    state = others.other_state(1, (47.0, 8.0, 1500.0), (90.0, 0.0, 0.0), given)
    assert state.orientation == pytest.approx((1.0, 0.0, 0.0, 0.0))
    wrong = others.other_state(1, (47.0, 8.0, 1500.0), (1e3, 0.0, 0.0), given)
    assert (wrong.orientation, wrong.impossible) == (None, (('attitude', 1e3),))


AIR_THERE = {
    'sim/flightmodel/position/elevation': 500.0,
    'sim/weather/aircraft/temperature_ambient_deg_c': 20.0,
    'sim/weather/aircraft/barometer_current_pas': 95e3,
    **{f'sim/weather/aircraft/wind_now_{axis}_msc': value
       for axis, value in (('x', 3.0), ('y', 0.0), ('z', 4.0))}}
MOVING = plane(psi=0.0, the=0.0, phi=0.0, v_x=0.0, v_y=0.0, v_z=-50.0)


def test_its_air_differs_by_the_standard_atmosphere():
    """1000 m above the user's aircraft; the wind is 3 m/s to the east and 4 to the south."""
    air = others.other_state(1, (47.0, 8.0, 1500.0), (0.0, 0.0, 0.0), MOVING | AIR_THERE).air
    assert air.temperature == pytest.approx(293.15 - 6.5)
    assert air.wind == pytest.approx((3.0, -4.0, 0.0))
    assert air.true_airspeed == pytest.approx(math.hypot(3.0, 54.0))
    # By the formula of the lowest layer.
    ratio = (95e3 / 101325.0) ** (1.0 / 5.25588) - 6.5 / 288.15
    assert air.static_pressure == pytest.approx(101325.0 * ratio ** 5.25588, rel=1e-5)
    assert air.density == pytest.approx(air.static_pressure / (287.053 * 286.65), rel=1e-5)
    assert air.dynamic_pressure == pytest.approx(
        0.5 * air.density * (3.0 ** 2 + 54.0 ** 2), rel=1e-9)
    assert air.sideslip == pytest.approx(-math.atan2(3.0, 54.0))
    assert air.angle_of_attack == pytest.approx(0.0)
    assert 0.9 * air.true_airspeed < air.indicated_airspeed < 0.98 * air.true_airspeed


@pytest.mark.parametrize('missing', [*AIR_THERE, *MOVING])
def test_without_any_of_what_its_air_needs_it_has_none(missing):
    given = MOVING | AIR_THERE
    del given[missing]
    attitude = None if missing in list(MOVING)[:3] else (0.0, 0.0, 0.0)
    assert others.other_state(1, (47.0, 8.0, 1500.0), attitude, given).air is None
    nowhere = (47.0, 8.0, math.nan)
    assert others.other_state(1, nowhere, (0.0, 0.0, 0.0), MOVING | AIR_THERE).air is None


@pytest.mark.parametrize(('then', 'is_one_flight'), [
    (at(8.5), True), (at(8.5001), False), (at(8.125, 20.0 * 0.1249), True),
    (at(8.125, 20.0 * 0.1251), False), (at(8.125, velocity=(50.0, 62.4, 0.0)), True),
    (at(8.125, velocity=(50.0, 62.6, 0.0)), False), (at(8.0, -0.1), False)])
def test_what_is_too_far_from_the_state_before_tells_nothing(then, is_one_flight):
    derivation = Derivation()
    for seconds in (7.5, 7.75, 8.0):
        derivation.complete(at(seconds))
    found = derivation.complete(then)
    assert (found.derived_stddev != (UNKNOWN_STDDEV, UNKNOWN_STDDEV)) is is_one_flight


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_of_the_two_ways_round_the_shorter_one_counts(sign):
    """A quaternion and its opposite are the same orientation."""
    derivation = Derivation()
    derivation.complete(at(8.0))
    state = at(8.125, 0.25)
    other = replace(state, orientation=tuple(sign * one for one in state.orientation))
    assert derivation.complete(other).angular_velocity == pytest.approx((2.0, 0.0, 0.0))
    # And a turn to the left is one.
    derivation.complete(at(8.25, 0.0))
    assert derivation.complete(at(8.375, -0.5)).angular_velocity == pytest.approx(
        (-4.0, 0.0, 0.0))
