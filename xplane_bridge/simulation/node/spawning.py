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

"""
Aircraft that join and leave simulator_node by services of simulation_interfaces.

What may be asked for is in simulation/peers/standard/spawning.py. Importable only if
simulation_interfaces is installed; several at once need its release 2.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rclpy.task import Future
from simulation_interfaces import msg, srv
from simulation_interfaces.msg import Spawnable
from simulation_interfaces.srv import DeleteEntity, GetSpawnables, SpawnEntity

from xplane_bridge.common.text import counted, printable
from xplane_bridge.simulation.aircraft.geometry import Vector
from xplane_bridge.simulation.node.direct import Direct
from xplane_bridge.simulation.peers.standard.control import (
    FeatureCode,
    OF_SPAWNING,
    RequestRefusedError,
    result_of,
    ResultCode,
)
from xplane_bridge.simulation.peers.standard.entities import Entities, EntityMotion
from xplane_bridge.simulation.peers.standard.spawning import (
    Joining,
    MOST_AT_ONCE,
    Spawn,
    Spawning,
    SpawnRequest,
)
from xplane_bridge.simulation.peers.world import World

SpawnEntities: Any = getattr(srv, 'SpawnEntities', None)
SpawnResult: Any = getattr(msg, 'SpawnResult', None)

FEATURES = OF_SPAWNING if SpawnEntities is not None else OF_SPAWNING - {
    FeatureCode.SPAWNING_ENTITIES}
"""Those that are offered with this release of the interface."""

_MOST_SOURCES_SHOWN = 5


class Spawner:
    """Lets aircraft join and leave the fleet of a node; ``services`` are to be offered."""

    def __init__(self, node: Any, entities: Entities, aircraft_path: str) -> None:
        self._node = node
        self._entities = entities
        self._spawning = Spawning(entities, aircraft_path, node.get_namespace())
        # The number of all that ever flew.
        self._flown = len(node.vehicles)
        self.services: list[tuple[Any, str, Callable[[Any, Any], Any]]] = [
            (SpawnEntity, 'spawn_entity', self._spawn_entity),
            (DeleteEntity, 'delete_entity', self._delete_entity),
            (GetSpawnables, 'get_spawnables', self._get_spawnables)]
        if SpawnEntities is not None:
            self.services.append((SpawnEntities, 'spawn_entities', self._spawn_entities))

    def despawn(self) -> None:
        """Delete all that was spawned."""
        for name in sorted(self._entities.spawned):
            self._delete(name)

    def _get_spawnables(self, request: Any, response: Any) -> None:
        for name, description in self._spawning.spawnables().items():
            spawnable = Spawnable(description=description)
            # Before 2.0 there is no message for a resource.
            getattr(spawnable, 'entity_resource', spawnable).uri = name
            response.spawnables.append(spawnable)
        if request.sources:
            shown = ', '.join(map(printable, request.sources[:_MOST_SOURCES_SHOWN]))
            response.result.error_message = (
                f'{counted(len(request.sources), "source")} not searched: {shown}; the parameter '
                "aircraft_path names a folder of one's own")

    def _spawn_entity(self, request: Any, response: Any) -> None:
        response.entity_name = self._spawn(request)

    async def _spawn_entities(self, request: Any, response: Any) -> None:
        wanted = request.spawn_requests
        if len(wanted) > MOST_AT_ONCE:
            raise ValueError(f'{len(wanted)} aircraft in one request are too many; at most '
                             f'{MOST_AT_ONCE} are possible')
        failed = 0
        for one in wanted:
            result = SpawnResult()
            try:
                result.entity_name = self._spawn(one)
                result.result.result = int(ResultCode.OK)
            except ValueError as error:
                failed += 1
                result.result.result = int(result_of(error))
                result.result.error_message = str(error)
            response.results.append(result)
            # To load a model takes a while: others are answered in between.
            await pass_on(self._node)
        if failed:
            raise RequestRefusedError(
                Spawn.ENTITIES_SPAWN_FAILED, f'{failed} of {len(wanted)} were not spawned')

    def _spawn(self, request: Any) -> str:
        """Let an aircraft join; return its name. Raises ValueError."""
        asked, node = _request(request), self._node
        joining: Joining = node.server.call(lambda _: self._spawning.check(
            asked, [vehicle.name for vehicle in node.vehicles]))
        # While the flight goes on.
        given = node.parameters
        aircraft = joining.load(given.seed, node.server.simulation.world.aircraft.dt)
        vehicle = node.make_vehicle(self._flown, joining.namespace)
        vehicle.listen(node.server, aircraft)
        self._flown += 1

        def join(_: World) -> None:
            node.take_weather(aircraft)
            self._entities.add(joining.name, aircraft)
            node.vehicles = (*node.vehicles, vehicle)
            if (lockstep := node.server.simulation.lockstep) is not None:
                lockstep.let_join(aircraft)

        node.server.call(join)
        node.get_logger().info(
            f'{joining.name}, a {joining.model}, has joined below {joining.namespace}')
        return joining.name

    def _delete_entity(self, request: Any, _: Any) -> None:
        self._delete(request.entity)

    def _delete(self, name: str) -> None:
        node = self._node

        def leave(_: World) -> Direct:
            number = self._entities.remove(name)
            vehicle: Direct = node.vehicles[number]
            node.vehicles = (*node.vehicles[:number], *node.vehicles[number + 1:])
            return vehicle

        gone: Direct = node.server.call(leave)
        gone.leave()
        node.get_logger().info(f'{name} has left')


async def pass_on(node: Any) -> None:
    """Let the executor of a node do what else is due."""
    executor = node.executor
    future = Future(executor=executor)
    # A future without a callback would not wake the executor that awaits it.
    future.add_done_callback(lambda _: None)
    executor.create_task(future.set_result, None)
    await future


def vector(message: Any) -> Vector:
    """Return the numbers of a Point or Vector3."""
    return (message.x, message.y, message.z)


def to_motion(pose: Any, velocities: Sequence[Any] = ()) -> EntityMotion:
    """Return the motion that a Pose and, if given, linear and angular velocities stand for."""
    turn = pose.orientation
    return EntityMotion(vector(pose.position), (turn.w, turn.x, turn.y, turn.z),
                        *map(vector, velocities))


def _request(message: Any) -> SpawnRequest:
    # Before 2.0 the resource's fields are the request's own.
    resource = getattr(message, 'entity_resource', message)
    return SpawnRequest(
        message.name, resource.uri, to_motion(message.initial_pose.pose),
        message.initial_pose.header.frame_id, message.entity_namespace,
        resource.resource_string, message.allow_renaming)
