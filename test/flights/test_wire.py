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


"""What a wire leaves of the simulated aircraft's state, and of the commands to it."""

import math

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

import numpy as np

from xplane_bridge.aircraft.aircraft import Aircraft
from xplane_bridge.control.policy.action import LEVELS
from xplane_bridge.control.policy.observation import NAMES
from xplane_bridge.conversions.vehicle import Controls
from xplane_bridge.flights.core_flight import CoreFlight
from xplane_bridge.flights.flight import Start
from xplane_bridge.flights.rounding import make_wire
from xplane_bridge.flights.scenario.scenario import parse

FRAME = 1.0 / 60.0
SIMULATORS = ('xpc', 'xplane12', 'xplane6', 'fdmdata')
SCENARIO = parse('rough', {
    'duration': 9.0,
    # Where one of two conventions would turn the sign of the quaternion.
    'initial': {'heading_deg': 300.0},
    'events': [{'at': 0.0, 'engage': True}],
    'criteria': [{'quantity': 'roll_deg', 'statistic': 'max_abs', 'at_most': 90.0}]})
START = Start(seed=5, wind=(3.0, 4.0, 0.0), turbulence=(15.0, 4.0))

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


def fly(wire, actions):
    flight = CoreFlight(SCENARIO, LEVELS['controls'], wire=wire)
    return np.array([flight.reset(START), *(flight.step(action)[0] for action in actions)])


@pytest.fixture(scope='module')
def actions():
    """Return actions that float32 represents exactly: so all wires fly the same flight."""
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
    wire = make_wire(sim, aircraft)
    wire.fly_on(Controls(0.1, -0.2, 0.3, 0.7), FRAME)
    # JSBSim's own properties, with its signs: elevator + is nose down, rudder + is nose left.
    values = [aircraft.property_value(f'fcs/{name}') for name in (
        'elevator-cmd-norm', 'aileron-cmd-norm', 'rudder-cmd-norm', 'throttle-cmd-norm')]
    assert values == [
        -float(np.float32(0.1)), -float(np.float32(0.2)), -float(np.float32(0.3)),
        float(np.float32(0.7))]


def test_x_plane_has_a_position_in_doubles_and_the_rest_in_single_precision():
    aircraft = Aircraft()
    wire = make_wire('xpc', aircraft)
    wire.fly_on(Controls(0.05, 0.1, 0.0, 0.7), 1.0)
    state, own = wire.state(), aircraft.state
    assert (state.latitude_deg, state.longitude_deg) == (own.lat_deg, own.lon_deg)
    assert state.angular_velocity[0] == float(np.float32(own.p))
    assert state.angular_velocity[1] == -float(np.float32(own.q))
    assert state.air.static_pressure == float(np.float32(own.static_pressure))
    assert state.air.angle_of_attack == pytest.approx(
        float(np.float32(math.degrees(own.alpha))) * math.pi / 180.0, rel=1e-15)


def test_huginn_is_told_nothing_that_nobody_commanded():
    aircraft = Aircraft()
    throttle = aircraft.state.engines[0].throttle
    wire = make_wire('fdmdata', aircraft)
    wire.fly_on(Controls(), FRAME)
    assert aircraft.state.engines[0].throttle == throttle


def test_an_unknown_wire_is_refused():
    with pytest.raises(ValueError, match="wire: got 'dcs', expected one of xpc, xplane12"):
        make_wire('dcs', Aircraft())
