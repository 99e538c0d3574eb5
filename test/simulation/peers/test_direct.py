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


"""The aircraft without a wire: in lockstep, and against xpc, which rounds to float32."""

from dataclasses import replace
import math
import struct

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.bridges.conversions import air, simulated
from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.laboratory.flights.rounding import make_rounding
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.direct import DirectFrontend
from xplane_bridge.simulation.peers.lockstep import Lockstep
from xplane_bridge.simulation.peers.server import SimulatedComputer
from xplane_bridge.simulation.peers.world import World

FRAME = 1.0 / 60.0
FRAMES = 300


def command_of(frame):
    """Return a command that moves all controls, with numbers that float32 rounds."""
    return {
        'elevator': 0.02 * math.sin(frame / 10.0), 'aileron': 0.05 * math.cos(frame / 40.0),
        'rudder': 0.01 * math.sin(frame / 60.0), 'throttle': 0.7 + 0.1 * math.sin(frame / 90.0)}


def float32(value):
    return struct.unpack('<f', struct.pack('<f', value))[0]


def aircraft():
    made = Aircraft()
    made.set_wind(3.0, -2.0)
    made.set_turbulence(7.6, 3)
    return made


def fly_direct(rounded):
    """Return the states of a flight in lockstep, each published before its command."""
    frontend = DirectFrontend()
    states = []

    def on_frame(_, state):
        states.append(state)
        frontend.count_sent()

    simulation = SimulatedComputer(
        [frontend], lambda: World(aircraft()), on_frame=on_frame,
        lockstep=Lockstep(frontend.endpoints[0]))
    simulation.open(0.0)
    # A frame without a command is told, and flies nowhere.
    simulation.frame(0.0)
    for frame in range(FRAMES):
        given = {name: float32(value) if rounded else value
                 for name, value in command_of(frame).items()}
        rest = {'throttle': given.pop('throttle')}
        for part in (given, rest):
            assert not simulation.ready
            frontend.send(lambda world, part=part: world.aircraft.set_controls(**part))
            simulation.listen(0.0)
        assert simulation.ready
        simulation.frame(0.0)
    assert len(states) == FRAMES + 1
    return states


def fly_through_xpc():
    """Return the states of the aircraft behind the wire, and what the bridge has of them."""
    flown = aircraft()
    rounding = make_rounding('xpc', flown)
    states, seen = [flown.state], [rounding.received()]
    for frame in range(FRAMES):
        rounding.fly_on(Controls(**command_of(frame)), FRAME)
        states.append(flown.state)
        seen.append(rounding.received())
    return states, seen


def numbers(state):
    """Return what the common topics have of a state, by name."""
    flow, controls = state.air, state.controls
    return {
        'latitude_deg': state.latitude_deg, 'longitude_deg': state.longitude_deg,
        'altitude_msl': state.altitude_msl,
        **{f'orientation.{n}': v for n, v in zip('wxyz', state.orientation, strict=True)},
        **{f'{vector}.{n}': v
           for vector in ('angular_velocity', 'specific_force', 'velocity')
           for n, v in zip('xyz', getattr(state, vector), strict=True)},
        **{name: getattr(flow, name) for name in (
            'indicated_airspeed', 'true_airspeed', 'angle_of_attack', 'sideslip',
            'static_pressure', 'dynamic_pressure', 'temperature', 'density')},
        **{name: getattr(controls, name) for name in ('elevator', 'throttle', 'elevator_trim')}}


# In the topics' own units: SI, and degrees for the position, which is a double on the wire. Seen
# were at most 3e-8 (orientation), 4e-9, 6e-7, 2e-6, 2e-6, 5e-10, 7e-8, 4e-3 and 2e-7.
BOUNDS = {
    'latitude_deg': 0.0, 'longitude_deg': 0.0, 'altitude_msl': 0.0, 'elevator': 0.0,
    'throttle': 3e-8, 'elevator_trim': 1e-9, 'orientation': 1e-7, 'angular_velocity': 1e-8,
    'specific_force': 2e-6, 'velocity': 5e-6, 'indicated_airspeed': 5e-6, 'true_airspeed': 5e-6,
    'angle_of_attack': 2e-9, 'sideslip': 2e-7, 'static_pressure': 4e-3, 'temperature': 1e-6,
    'density': 1e-7, 'dynamic_pressure': 2e-4}


def with_derived(state):
    """Return a state with what xpc_node derives, as X-Plane does not report it, so derived."""
    measured = state.air
    return replace(state, air=replace(
        measured, density=air.density(measured.static_pressure, measured.temperature),
        dynamic_pressure=air.dynamic_pressure(
            measured.indicated_airspeed, air.SEA_LEVEL_DENSITY)))


def test_a_flight_is_that_through_xpc_but_for_float32():
    states, seen = fly_through_xpc()
    # Commands rounded as CTRL rounds them: every number of every frame is the same.
    assert fly_direct(rounded=True) == states
    # As they are: the rounding of commands is all that drives the two flights apart.
    exact = fly_direct(rounded=False)
    apart = {
        'metres': max(math.hypot(
            (one.lat_deg - other.lat_deg) * 111e3, (one.lon_deg - other.lon_deg) * 75e3,
            one.altitude_msl - other.altitude_msl)
            for one, other in zip(exact, states, strict=True)),
        'radians': max(abs(getattr(one, name) - getattr(other, name))
                       for one, other in zip(exact, states, strict=True)
                       for name in ('phi', 'theta', 'psi'))}
    print(f'after {FRAMES} frames the flights are apart by at most', apart)
    assert 0.0 < apart['metres'] < 1e-7
    assert 0.0 < apart['radians'] < 1e-9
    # The same state: the topics differ by what float32 leaves of each value, and by the two that
    # the bridge derives.
    worst = dict.fromkeys(BOUNDS, 0.0)
    for state, through in zip(states, seen, strict=True):
        whole = simulated.vehicle_state(state, 0.0)
        assert math.isclose(whole.air.density, with_derived(whole).air.density, rel_tol=4e-6)
        assert math.isclose(
            whole.air.dynamic_pressure, with_derived(whole).air.dynamic_pressure, rel_tol=2e-3)
        own, wired = numbers(with_derived(whole)), numbers(through)
        for name, value in own.items():
            kind = name.partition('.')[0]
            worst[kind] = max(worst[kind], abs(value - wired[name]))
    print('the topics differ by at most', {name: f'{value:.1g}' for name, value in worst.items()})
    assert {name: value for name, value in worst.items() if value > BOUNDS[name]} == {}
