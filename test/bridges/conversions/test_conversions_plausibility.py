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

"""No impossible value passes the plausibility gate, and no possible one is stopped."""

from dataclasses import replace
import math

from hypothesis import given, strategies
import pytest

from xplane_bridge.bridges.conversions import plausibility
from xplane_bridge.bridges.conversions.plausibility import AIR_BOUNDS, NOWHERE, Plausibility
from xplane_bridge.bridges.conversions.vehicle import Air, Controls, EngineControls, VehicleState
from xplane_bridge.bridges.conversions.xplane import state as xplane

STATE = VehicleState(
    47.0, 8.0, 1500.0, orientation=(1.0, 0.0, 0.0, 0.0), velocity=(60.0, 3.0, 1.0),
    angular_velocity=(0.1, 0.2, 0.3), specific_force=(0.0, 0.0, 9.8),
    air=Air(60.0, 65.0, 0.05, 0.01, 9e4, 2000.0, 280.0, 1.1, (3.0, 4.0, 0.0)),
    controls=Controls(0.1, -0.2, 0.3, 0.9, 0.5, 1.0, -0.5))
ANY = strategies.floats(allow_nan=True, allow_infinity=True)
THREE = strategies.none() | strategies.tuples(ANY, ANY, ANY)


def figures(state):
    """Return all numbers of a state."""
    for value in (
            state.latitude_deg, state.longitude_deg, state.altitude_msl, state.orientation,
            state.velocity, state.angular_velocity, state.specific_force, state.air.wind,
            *(getattr(state.air, name) for name in AIR_BOUNDS),
            *(getattr(state.controls, name) for name in Controls._fields)):
        if value is not None:
            yield from value if isinstance(value, tuple) else (value,)


def test_what_is_possible_passes_as_it_is_and_the_same_object():
    gate = Plausibility()
    assert gate.state(STATE) is STATE
    assert gate.place(-90.0, 180.0, -430.0) == (-90.0, 180.0, -430.0)
    assert not gate.withheld


def test_the_bounds_are_those_that_nothing_in_this_world_exceeds():
    both, one, power = (-1.6, 1.6), (-0.1, 1.1), (-10.0, 10.0)
    speed, turn = (-1e5, 1e5), (-6.5, 6.5)
    assert {
        'indicated_airspeed': speed, 'true_airspeed': speed, 'angle_of_attack': turn,
        'sideslip': turn, 'static_pressure': (-1.0, 1e8), 'dynamic_pressure': (-1e5, 1e10),
        'temperature': (0.0, 1e5), 'density': (-1e-3, 1e4)} == AIR_BOUNDS
    assert {
        'elevator': both, 'aileron': both, 'rudder': both, 'throttle': power, 'flaps': one,
        'gear': one, 'speedbrake': both, 'brake_left': one, 'brake_right': one,
        'elevator_trim': both, 'aileron_trim': both, 'rudder_trim': both} == plausibility._CONTROLS
    assert dict(plausibility._VECTORS) == {
        'velocity': 1e5, 'angular_velocity': 1e3, 'specific_force': 1e5, 'orientation': 1.01}
    assert (plausibility._LOWEST, plausibility._HIGHEST, plausibility._ANGLE) == (
        -12e3, 1e9, 720.0)


def beyond(value):
    """Return the next number further from 0."""
    return math.nextafter(value, math.copysign(math.inf, value))


def with_air(**changes):
    return replace(STATE, air=replace(STATE.air, **changes))


def with_last(name, value):
    return replace(STATE, **{name: (*getattr(STATE, name)[:-1], value)})


# What is withheld, the state with a value, and its bounds.
BOUNDED = [
    *((name.replace('_', ' '), lambda value, name=name: with_air(**{name: value}), bounds)
      for name, bounds in AIR_BOUNDS.items()),
    *((name, lambda value, name=name: replace(
        STATE, controls=STATE.controls._replace(**{name: value})), bounds)
      for name, bounds in plausibility._CONTROLS.items()),
    *((name.replace('_', ' '), lambda value, name=name: with_last(name, value), (-limit, limit))
      for name, limit in plausibility._VECTORS),
    *((name.partition('_')[0], lambda value, name=name: replace(STATE, **{name: value}), bounds)
      for name, bounds in (
          ('latitude_deg', (-90.0, 90.0)), ('longitude_deg', (-360.0, 360.0)),
          ('altitude_msl', (plausibility._LOWEST, plausibility._HIGHEST)))),
    ('wind', lambda value: with_air(wind=(0.0, value, 0.0)), (-1e4, 1e4)),
    ('throttle of an engine', lambda value: replace(
        STATE, engines=EngineControls(throttle=(0.5, value))), (-10.0, 10.0))]


@pytest.mark.parametrize(('name', 'state', 'bounds'), BOUNDED, ids=[one[0] for one in BOUNDED])
def test_a_bound_itself_is_possible_and_the_next_number_is_not(name, state, bounds):
    for bound, outwards in zip(bounds, (-math.inf, math.inf), strict=True):
        gate, inside = Plausibility(), state(bound)
        assert gate.state(inside) is inside
        outside = state(math.nextafter(bound, outwards))
        assert gate.state(outside) != outside
        assert [*gate.withheld] == [name]


def test_a_number_is_passed_within_its_bounds():
    gate = Plausibility()
    assert [gate.number('n', value, -1.0, 2.0) for value in (-1.0, 2.0)] == [-1.0, 2.0]
    assert all(math.isnan(gate.number('n', value, -1.0, 2.0)) for value in (-1.01, 2.01))
    assert gate.withheld['n'].count == 2


@pytest.mark.parametrize('angle', [plausibility._ANGLE, -plausibility._ANGLE])
@pytest.mark.parametrize('place', range(3))
def test_an_angle_at_its_bound_is_an_attitude(place, angle):
    def angles(value):
        return tuple(value if at == place else 0.0 for at in range(3))

    assert plausibility.is_attitude(angles(angle))
    assert plausibility.attitude_fault(angles(angle)) == plausibility.attitude_fault(None) == ()
    assert not plausibility.is_attitude(angles(beyond(angle)))
    assert plausibility.attitude_fault(angles(beyond(angle))) == (('attitude', beyond(angle)),)


@pytest.mark.parametrize('place', [
    (91.0, 8.0, 0.0), (1e30, 8.0, 0.0), (47.0, 1e30, 0.0), (47.0, 1e300, 0.0),
    (47.0, -361.0, 0.0), (47.0, 8.0, 3e38), (47.0, 8.0, -20e3), (math.nan, 8.0, 0.0),
    (47.0, 8.0, math.inf)])
def test_an_impossible_position_is_nowhere_and_the_rest_passes(place):
    told = []
    gate = Plausibility(lambda *what: told.append(what), clock=lambda: 5.0)
    assert gate.place(*place) is NOWHERE
    ((name, value),) = told
    assert value in place or math.isnan(value)
    assert gate.withheld[name].count == 1
    assert gate.withheld[name].at == 5.0
    passed = Plausibility().state(replace(
        STATE, latitude_deg=place[0], longitude_deg=place[1], altitude_msl=place[2]))
    assert math.isnan(passed.latitude_deg)
    assert math.isnan(passed.longitude_deg)
    assert replace(
        passed, latitude_deg=47.0, longitude_deg=8.0, altitude_msl=1500.0) == STATE


@pytest.mark.parametrize(('change', 'names', 'lost'), [
    ({'velocity': (1e38, 0.0, 0.0)}, ['velocity'], {'sideslip'}),
    ({'angular_velocity': (0.0, math.inf, 0.0)}, ['angular velocity'], set()),
    ({'specific_force': (0.0, 0.0, -1e38)}, ['specific force'], set()),
    ({'orientation': (math.nan, 0.0, 0.0, 0.0)}, ['orientation'], {'sideslip'}),
    ({'impossible': (('attitude', 1e300),), 'orientation': None}, ['attitude'], set()),
])
def test_one_impossible_value_is_missing_alone(change, names, lost):
    gate = Plausibility()
    passed = gate.state(replace(STATE, **change))
    assert list(gate.withheld) == names
    expected = replace(STATE, **{
        name: () if name == 'impossible' else None for name in change})
    expected = replace(expected, air=replace(STATE.air, **dict.fromkeys(lost)))
    assert replace(passed, impossible=()) == expected


@pytest.mark.parametrize(('name', 'value', 'lost'), [
    ('true_airspeed', 1e38, set()), ('static_pressure', -5.0, {'density'}),
    ('temperature', 1e38, {'density'}), ('wind', (0.0, 1e30, 0.0), {'sideslip'})])
def test_what_follows_from_an_impossible_value_of_the_air_is_missing_too(name, value, lost):
    gate = Plausibility()
    passed = gate.state(replace(STATE, air=replace(STATE.air, **{name: value})))
    assert passed.air == replace(STATE.air, **dict.fromkeys({name} | lost))
    assert list(gate.withheld) == [name.replace('_', ' ')]


def test_an_impossible_control_is_not_known():
    passed = Plausibility().state(replace(STATE, controls=Controls(throttle=1e38, gear=1.0)))
    assert passed.controls == Controls(gear=1.0)

    gate = Plausibility()
    assert gate.state(replace(STATE, controls=Controls(flaps=7.0, gear=1.0))).controls == (
        Controls(gear=1.0))
    assert list(gate.withheld) == ['flaps']


def test_what_is_withheld_without_a_pause_is_one_fault():
    # The bound itself, 3 s, is a pause.
    times = iter((2.0, 5.0, 6.0, 7.5, 20.0))
    gate = Plausibility(clock=lambda: next(times))
    for _ in range(4):
        gate.withhold('flaps', 7.0)
    assert gate.withheld['flaps'].since == 5.0
    gate.withhold('flaps', 7.0)
    assert (gate.withheld['flaps'].since, gate.withheld['flaps'].count) == (20.0, 5)


def test_a_position_that_is_not_known_is_no_fault():
    gate = Plausibility()
    state = replace(STATE, **dict(zip(
        ('latitude_deg', 'longitude_deg', 'altitude_msl'), NOWHERE, strict=True)))
    assert gate.state(state) is state
    assert not gate.withheld


@given(strategies.builds(
    VehicleState, ANY, ANY, ANY,
    orientation=strategies.none() | strategies.tuples(ANY, ANY, ANY, ANY),
    velocity=THREE, angular_velocity=THREE, specific_force=THREE,
    air=strategies.builds(Air, *[strategies.none() | ANY] * 8, THREE),
    controls=strategies.builds(Controls, *[strategies.none() | ANY] * 7)))
def test_nothing_infinite_ever_passes(state):
    passed = Plausibility().state(state)
    assert all(abs(figure) <= 1e10 or math.isnan(figure) for figure in figures(passed))
    again = Plausibility()
    again.state(passed)
    assert not again.withheld


def test_x_plane_without_a_place_still_has_its_true_attitude_and_its_air():
    values = {
        'sim/flightmodel/position/true_psi': 90.0, 'sim/flightmodel/position/true_theta': 0.0,
        'sim/flightmodel/position/true_phi': 0.0, 'sim/flightmodel/position/local_vx': 50.0,
        'sim/flightmodel/position/local_vy': 0.0, 'sim/flightmodel/position/local_vz': 0.0,
        'sim/flightmodel/position/true_airspeed': 55.0}
    state = xplane.own_state(NOWHERE, (0.0, 0.0, 0.0), values)
    assert state.orientation == pytest.approx((1.0, 0.0, 0.0, 0.0))
    assert state.velocity is None
    assert state.air.true_airspeed == 55.0
    # Without the pose the attitude is unknown, which is not a fault.
    state = xplane.own_state((1.0, 2.0, 3.0), None, {})
    assert state.orientation is None
    assert not state.impossible
    state = xplane.own_state((1.0, 2.0, 3.0), (0.0, 1e38, 0.0), {})
    assert state.orientation is None
    assert state.impossible == (('attitude', 1e38),)
