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

"""Aircraft join and leave simulator_node by the real simulation_interfaces, if installed."""

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
pytest.importorskip(
    'simulation_interfaces', reason='simulation_interfaces, which no wheel has, is not installed')

from masked import masked
from sensor_msgs.msg import NavSatFix
from simulation_interfaces import msg, srv
from simulation_interfaces.msg import Result, SimulatorFeatures
from simulation_interfaces.srv import (
    DeleteEntity,
    GetEntities,
    GetEntityInfo,
    GetSimulatorFeatures,
    GetSpawnables,
    ResetSimulation,
    SpawnEntity,
)

from xplane_bridge.msg import FlightControls
from xplane_bridge.simulation.node import SimulatorNode
from xplane_bridge.simulation.peers.standard.spawning import Spawn

OK, NOT_FOUND, FAILED = (
    Result.RESULT_OK, Result.RESULT_NOT_FOUND, Result.RESULT_OPERATION_FAILED)
COMMAND = {'elevator': 0.0, 'aileron': 0.0, 'rudder': 0.0, 'throttle': 0.7}


def ask(ros, kind, **request):
    name = ''.join(f'_{c.lower()}' if c.isupper() else c for c in kind.__name__)[1:]
    return ros.call(kind, f'/simulator/{name}', kind.Request(**request))


def asked(kind, name='', model='c172p', left=100.0, frame='aircraft_0', **more):
    request = kind(name=name, **more)
    getattr(request, 'entity_resource', request).uri = model
    request.initial_pose.header.frame_id = frame
    request.initial_pose.pose.position.y = left
    return request


def spawn(ros, **request):
    return ros.call(SpawnEntity, '/simulator/spawn_entity', asked(SpawnEntity.Request, **request))


def test_numbers_are_those_of_the_definitions():
    for result in Spawn:
        owner = SpawnEntity if result < 150 else getattr(srv, 'SpawnEntities', None)
        assert owner is None or getattr(owner.Response, result.name) == result


def test_spawnables_and_refusals_are_those_of_the_standard(ros):
    ros.start(SimulatorNode, telemetry='direct')
    features = ask(ros, GetSimulatorFeatures).features
    assert {SimulatorFeatures.SPAWNING, SimulatorFeatures.DELETING,
            SimulatorFeatures.SPAWNABLES} <= set(features.features)
    assert list(features.spawn_formats) == ['jsbsim']
    spawnables = ask(ros, GetSpawnables, sources=['/models'])
    assert 'T37' in [getattr(one, 'entity_resource', one).uri for one in spawnables.spawnables]
    assert (spawnables.result.result, '/models' in spawnables.result.error_message) == (OK, True)
    refused = spawn(ros, name='aircraft_0')
    assert refused.result.result == SpawnEntity.Response.NAME_NOT_UNIQUE
    assert 'aircraft_0' in refused.result.error_message
    assert spawn(ros, name='lost', frame='odom').result.result == NOT_FOUND
    assert spawn(ros, name='ball', model='ball').result.result == FAILED
    assert ask(ros, DeleteEntity, entity='ball').result.result == NOT_FOUND
    assert ask(ros, DeleteEntity, entity='aircraft_0').result.result == FAILED
    assert list(ask(ros, GetEntities).entities) == ['aircraft_0']


def test_aircraft_join_with_their_topics_and_leave_cleanly(ros):
    node = ros.start(SimulatorNode, telemetry='direct', lockstep=True, command_timeout=0.0,
                     undulation=0.0)
    for topic in ('/wing/fix', '/uav7/fix'):
        ros.subscribe(NavSatFix, topic, 1000)
    first = ros.publisher(FlightControls, '/command/controls')

    def time():
        return node.server.call(lambda world: world.total_running_time)

    def fly(frames, *publishers):
        for _ in range(frames):
            since = time()
            for publisher in publishers:
                publisher.publish(masked(FlightControls, **COMMAND))
            ros.wait_for(lambda since=since: time() > since, 'a frame')

    spawned = spawn(ros, name='wing')
    assert (spawned.result.result, spawned.entity_name) == (OK, 'wing'), spawned
    assert ros.next('/wing/fix').latitude == pytest.approx(47.4 + 100.0 * 9e-6, abs=1e-5)
    assert {'flown', 'spawned', 'c172p'} <= set(ask(ros, GetEntityInfo, entity='wing').info.tags)
    # Nobody has commanded it: nobody waits for it.
    fly(3, first)
    wing = ros.publisher(FlightControls, '/wing/command/controls')
    fly(3, first, wing)
    since = time()
    first.publish(masked(FlightControls, **COMMAND))
    ros.diagnosed('simulation', lambda _, message, __: 'throttle of wing' in message, node)
    assert time() == since

    # It leaves, and the frame that waited for it goes on.
    assert ask(ros, DeleteEntity, entity='wing').result.result == OK
    ros.wait_for(lambda: time() > since, 'a frame')
    fly(3, first)
    ros.wait_for(lambda: not node.count_publishers('/wing/fix'), 'its publishers to go')
    assert not node.count_subscribers('/wing/command/controls')

    # Another goes with all that was spawned.
    assert spawn(ros, allow_renaming=True, entity_namespace='uav7').entity_name == 'aircraft_1'
    ros.next('/uav7/fix')
    # A nested namespace, and one that is not below the node's; frames begin with no slash.
    for name, namespace in (('nested', 'fleet/uav8'), ('absolute', '/fleet/uav9')):
        ros.subscribe(NavSatFix, f'/fleet/{namespace[-4:]}/fix', 1000)
        spawned = spawn(ros, name=name, entity_namespace=namespace)
        assert (spawned.result.result, spawned.entity_name) == (OK, name), spawned
        assert ros.next(f'/fleet/{namespace[-4:]}/fix').header.frame_id == (
            f'fleet/{namespace[-4:]}/base_link')
    if hasattr(srv, 'SpawnEntities'):
        both = ask(ros, srv.SpawnEntities, spawn_requests=[
            asked(msg.SpawnEntity, 'wing'), asked(msg.SpawnEntity, 'wing')])
        assert both.result.result == srv.SpawnEntities.Response.ENTITIES_SPAWN_FAILED
        assert [one.result.result for one in both.results] == [
            OK, SpawnEntity.Response.NAME_NOT_UNIQUE]
    assert ask(ros, ResetSimulation, scope=ResetSimulation.Request.SCOPE_SPAWNED
               ).result.result == OK
    assert list(ask(ros, GetEntities).entities) == ['aircraft_0']
    fly(1, first)
