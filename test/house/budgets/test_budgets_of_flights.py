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

"""Flights keep to their budgets: a frame in this process, a step, the simulator in lockstep."""

from functools import partial

from budgets import check, FLIGHT, measured, skip_elsewhere, table
import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')
pytest.importorskip('gymnasium', reason='needs gymnasium')

from memory_endpoint import MemoryEndpoint
import numpy as np

from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.common.timing import FRAME
from xplane_bridge.laboratory.episodes.environment import FlightEnv
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario.scenario import find, load
from xplane_bridge.laboratory.open_flight import open_flight
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.lockstep import Lockstep
from xplane_bridge.simulation.peers.server import SimulatedComputer
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xpc import XpcFrontend

CLIENT = ('127.0.0.1', 50000)


def core_frame(meter):
    """Fly a frame in this process: look, act, command, advance."""
    flight = open_flight(Order(load(find('steps')), seed=1))
    flight.start()
    going = True
    while going:
        with meter:
            flight.step()
        going = meter.lap()


def flight_v0(meter, frames):
    """Fly a step of an episode."""
    env = FlightEnv(frames_per_step=frames)
    env.reset(seed=1)
    action = np.array((0.0, 0.0, 0.0, 0.63))
    going = True
    while going:
        with meter:
            *_, terminated, truncated, _ = env.step(action)
        assert not terminated
        assert not truncated
        going = meter.lap()


def lockstep_simulator(meter):
    """Read the controls and what is asked after them, fly a frame, and answer."""
    endpoint = MemoryEndpoint()
    simulation = SimulatedComputer(
        [XpcFrontend(endpoint)], lambda: World(Aircraft()), lockstep=Lockstep(endpoint))
    simulation.open(0.0)
    asked = [xpc.encode(xpc.GetPosition(0)), xpc.encode(xpc.GetDatarefs(xplane.OWN_DATAREFS))]
    now = 0.0
    for data in asked:
        endpoint.deliver(data, CLIENT, now)
    simulation.listen(now)
    endpoint.collect()
    going = True
    while going:
        command = xpc.SetControls(elevator=0.01, aileron=0.0, rudder=0.0, throttle=0.6)
        for data in (xpc.encode(command), *asked):
            endpoint.deliver(data, CLIENT, now)
        with meter:
            simulation.listen(now)
            assert simulation.ready
            simulation.frame(now)
        assert len(endpoint.collect()) == 2
        now += FRAME
        going = meter.lap()


PATHS = {
    'core: a frame with the autopilot': (core_frame, {}),
    'Flight-v0: a step of one frame': (flight_v0, {'frames': 1}),
    'Flight-v0: a step of twelve frames': (flight_v0, {'frames': 12}),
    'lockstep: a frame of the simulator, XPC': (lockstep_simulator, {}),
}


@pytest.mark.parametrize('name', PATHS)
def test_a_flight_keeps_to_its_budget(name):
    skip_elsewhere('numpy', 'jsbsim', 'gymnasium')
    path, given = PATHS[name]
    check(name, FLIGHT, measured(partial(path, **given)))


def test_the_table_has_each_flight_and_no_other():
    assert {name for name, (where, *_) in table().items() if where == FLIGHT} == {*PATHS}
