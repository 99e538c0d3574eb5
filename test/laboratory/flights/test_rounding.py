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


"""What a protocol's rounding leaves of the simulated aircraft's state, and of its commands."""

import dataclasses
import math

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

import numpy as np

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.laboratory.control.policy.observation import NAMES
from xplane_bridge.laboratory.flights.order import FlownBy, Order
from xplane_bridge.laboratory.flights.rounding import make_rounding
from xplane_bridge.laboratory.flights.scenario.scenario import parse
from xplane_bridge.laboratory.flights.scenario.start import apply_start, Start
from xplane_bridge.laboratory.open_flight import open_flight
from xplane_bridge.simulation.aircraft.aircraft import Aircraft

FRAME = 1.0 / 60.0
SIMULATORS = ('xpc', 'xplane12', 'xplane6', 'fdmdata')
SCENARIO = parse('rough', {
    'duration': 9.0,
    # Where one of two conventions would turn the sign of the quaternion.
    'initial': {'heading_deg': 300.0},
    'events': [{'at': 0.0, 'engage': True}],
    'criteria': [{'quantity': 'roll_deg', 'statistic': 'max_abs', 'at_most': 90.0}]})
START = Start(wind=(3.0, 4.0, 0.0), turbulence=(15.0, 4.0))

# The largest differences from the aircraft's own state, as docs/reference/episodes.md states them.
# 0: it is in doubles on the wire. None: it is not on the wire, or is something else there.
ROUNDED = {
    'imu/data.orientation.z': (2e-7, 2e-7, 2e-7, 2e-7),
    'imu/data.angular_velocity.x': (1e-7, 1e-7, 1e-7, 1e-7),
    'imu/data.linear_acceleration.z': (2e-6, 2e-6, None, None),
    'fix.latitude': (0.0, 0.0, 2e-6, None),
    'fix.longitude': (0.0, 0.0, 5e-7, 5e-7),
    'fix.altitude': (0.0, 0.0, 4e-4, None),
    'odom.pose.pose.position.y': (0.0, 0.0, 0.5, None),
    'odom.twist.twist.linear.x': (2e-5, 2e-5, 0.05, None),
    'air_data.true_airspeed': (4e-6, 4e-6, 8e-6, 4e-6),
    'air_data.static_pressure': (4e-3, 4e-3, None, 4e-3),
    'air_data.angle_of_attack': (1e-8, 1e-8, None, None),
}


def fly(rounding, actions):
    flight = open_flight(Order(
        apply_start(SCENARIO, START), flown_by=FlownBy(actions='controls'), seed=5,
        rounding=rounding))
    flight.start()
    seen = [flight.observation()]
    for action in actions:
        flight.step(action)
        seen.append(flight.observation())
    return np.array(seen)


@pytest.fixture(scope='module')
def actions():
    """Return actions that float32 represents exactly: so all roundings fly the same flight."""
    random = np.random.default_rng(2)
    return [(*(random.integers(-400, 400, 3) / 4096.0).tolist(), 0.6875) for _ in range(120)]


@pytest.fixture(scope='module')
def truth(actions):
    return fly('', actions)


@pytest.mark.parametrize('place', range(len(SIMULATORS)), ids=SIMULATORS)
def test_a_state_is_rounded_as_on_the_wire_and_no_more(place, actions, truth):
    differences = dict(zip(
        NAMES, np.abs(fly(SIMULATORS[place], actions) - truth).max(axis=0), strict=True))
    for name, bounds in ROUNDED.items():
        if (bound := bounds[place]) is not None:
            assert differences[name] <= bound, name
            assert bool(differences[name]) == bool(bound), name


@pytest.mark.parametrize('sim', [*SIMULATORS, 'xplane9'])
def test_a_command_reaches_the_aircraft_as_single_precision(sim):
    aircraft = Aircraft()
    make_rounding(sim, aircraft).fly_on(Controls(0.1, -0.2, 0.3, 0.7), FRAME)
    # JSBSim's own properties, with its signs: elevator + is nose down, rudder + is nose left.
    values = [aircraft.property_value(f'fcs/{name}') for name in (
        'elevator-cmd-norm', 'aileron-cmd-norm', 'rudder-cmd-norm', 'throttle-cmd-norm')]
    assert values == [
        -float(np.float32(0.1)), -float(np.float32(0.2)), -float(np.float32(0.3)),
        float(np.float32(0.7))]


@pytest.mark.parametrize('sim', ['xpc', 'xplane12', 'xplane11'])
@pytest.mark.parametrize('model', ['c172p', 'c310'])
def test_a_frame_skips_the_datagrams_and_has_their_bits(sim, model):
    short, long = Aircraft(model), Aircraft(model)
    direct, by_datagrams = make_rounding(sim, short), make_rounding(sim, long)
    random = np.random.default_rng(1)
    for aircraft in (short, long):
        aircraft.set_wind(3.0, -4.0, 0.5)
        aircraft.set_turbulence(15.0, 4)
    for count in range(1, 120):
        stick = random.uniform(-1.0, 1.0, 3) * (0.1 if count % 10 else 1.0)
        command = Controls(*stick.tolist(), float(random.uniform()))
        if count % 7 == 0:
            command = command._replace(flaps=float(random.uniform()), gear=1.0)
        direct.fly_on(command, FRAME)
        by_datagrams.send(command)
        by_datagrams.fly_on(Controls(), FRAME)
        assert short.state == long.state
        seen, received = direct.state(), by_datagrams.received()
        # Of the controls, what is reported of a flight without rounding.
        controls = Controls(*received.controls[:7])
        assert seen == dataclasses.replace(
            received, engines=None, time=None, controls=controls), count


def test_a_state_that_is_not_finite_is_received(monkeypatch):
    aircraft = Aircraft()
    rounding = make_rounding('xpc', aircraft)
    for name in ('state', 'seen'):
        broken = getattr(aircraft, name)._replace(phi=math.nan, tas=math.inf)
        monkeypatch.setattr(type(aircraft), name, property(lambda self, broken=broken: broken))
    state = rounding.state()
    assert repr(state) == repr(rounding.received())
    assert state.air.true_airspeed is None
    assert state.impossible


def test_x_plane_has_a_position_in_doubles_and_the_rest_in_single_precision():
    aircraft = Aircraft()
    rounding = make_rounding('xpc', aircraft)
    rounding.fly_on(Controls(0.05, 0.1, 0.0, 0.7), 1.0)
    state, own = rounding.state(), aircraft.state
    assert (state.latitude_deg, state.longitude_deg) == (own.lat_deg, own.lon_deg)
    assert state.angular_velocity[0] == float(np.float32(own.p))
    assert state.angular_velocity[1] == -float(np.float32(own.q))
    assert state.air.static_pressure == float(np.float32(own.static_pressure))
    assert state.air.angle_of_attack == pytest.approx(
        float(np.float32(math.degrees(own.alpha))) * math.pi / 180.0, rel=1e-15)


def test_huginn_is_told_nothing_that_nobody_commanded():
    aircraft = Aircraft()
    throttle = aircraft.state.engines[0].throttle
    make_rounding('fdmdata', aircraft).fly_on(Controls(), FRAME)
    assert aircraft.state.engines[0].throttle == throttle


def test_an_unknown_rounding_is_refused():
    sentence = "rounding: there is no simulator 'dcs': expected one of xpc, xplane12"
    with pytest.raises(ValueError, match=sentence):
        make_rounding('dcs', Aircraft())
    with pytest.raises(ValueError, match=sentence):
        open_flight(Order(SCENARIO, rounding='dcs'))
