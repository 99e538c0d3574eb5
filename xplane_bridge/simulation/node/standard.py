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
The standard simulator interface of simulator_node: the ROS side of simulation_interfaces.

The semantics are in control.py and entities.py of simulation/peers/standard; here are the
services, the action, and the conversion of messages. Importable only if simulation_interfaces is
installed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulation_interfaces.action import SimulateSteps
from simulation_interfaces.msg import EntityFilters, EntityState, TagsFilter
from simulation_interfaces.srv import (
    GetEntities,
    GetEntitiesStates,
    GetEntityInfo,
    GetEntityState,
    GetSimulationState,
    GetSimulatorFeatures,
    ResetSimulation,
    SetEntityState,
    SetSimulationState,
    StepSimulation,
)

from xplane_bridge.bridges.nodes.common.services import NotActiveError
from xplane_bridge.simulation.node.direct import DIRECT
from xplane_bridge.simulation.node.spawning import FEATURES, pass_on, Spawner, to_motion, vector
from xplane_bridge.simulation.peers.registry import SIMULATORS
from xplane_bridge.simulation.peers.standard.control import (
    FeatureCode,
    make_bounds,
    OF_SPAWNING,
    result_of,
    ResultCode,
    StandardControl,
    Stepping,
)
from xplane_bridge.simulation.peers.standard.entities import Entities
from xplane_bridge.simulation.peers.standard.filters import Filters
from xplane_bridge.simulation.peers.standard.spawning import FORMAT
from xplane_bridge.simulation.peers.world import AIRCRAFT_COUNT, World

# Steps run in slices of this many seconds; between them the executor handles everything else.
_SLICE = 0.01


class StandardInterface:
    """Services and action below ``simulator/``, for as long as the node is configured."""

    def __init__(self, node: Any, given: Any) -> None:
        self._node = node
        self._server = node.server
        spawns = given.telemetry == DIRECT
        latitude, longitude, height = map(
            float, given.datum or (given.latitude_deg, given.longitude_deg, 0.0))
        has_traffic = not spawns and SIMULATORS[given.sim].has_traffic
        count = AIRCRAFT_COUNT if has_traffic else len(given.fleet) + 1
        self._entities = Entities(
            self._server.simulation.world, (latitude, longitude, height), given.world_frame, count)
        self._spawner = Spawner(node, self._entities, given.aircraft_path) if spawns else None
        self._control = StandardControl(
            node.server, node.reset, node.quit,
            self._spawner.despawn if self._spawner else None)
        self._about = (
            f"Entities are aircraft. Frame '{given.world_frame}' is east, north, up at latitude "
            f'{latitude:g}, longitude {longitude:g} degrees and {height:g} m above mean sea '
            'level. docs/reference/simulator.md of xplane_bridge has the rest.')
        self._features = frozenset(FeatureCode) - OF_SPAWNING | (
            FEATURES if self._spawner else frozenset())
        node.make_service(
            GetSimulatorFeatures, 'simulator/get_simulator_features', self._get_features,
            while_inactive=True)
        for kind, name, handler in (
            (GetSimulationState, 'get_simulation_state', self._get_state),
            (SetSimulationState, 'set_simulation_state', self._set_state),
            (ResetSimulation, 'reset_simulation', self._reset),
            (StepSimulation, 'step_simulation', self._step),
            (GetEntities, 'get_entities', self._get_entities),
            (GetEntitiesStates, 'get_entities_states', self._get_entities_states),
            (GetEntityInfo, 'get_entity_info', self._get_entity_info),
            (GetEntityState, 'get_entity_state', self._get_entity_state),
            (SetEntityState, 'set_entity_state', self._set_entity_state),
            *(self._spawner.services if self._spawner else ()),
        ):
            node.make_service(kind, f'simulator/{name}', _saying_ok(handler), _say_refused)
        node.make_action(
            SimulateSteps, 'simulator/simulate_steps', self._simulate_steps, _say_refused)

    @property
    def stepping(self) -> bool:
        """Return whether requested frames are being run."""
        return self._control.stepping is not None

    def end_stepping(self, reason: str) -> None:
        """Stop running frames, and tell the requester why."""
        self._control.end_stepping(reason)

    # The simulation.

    def _get_features(self, _: Any, response: Any) -> None:
        response.features.features = sorted(map(int, self._features))
        response.features.spawn_formats = [FORMAT] if self._spawner else []
        response.features.custom_info = self._about

    def _get_state(self, _: Any, response: Any) -> None:
        response.state.state = int(self._control.state)

    def _set_state(self, request: Any, _: Any) -> None:
        self._control.set_state(request.state.state)

    def _reset(self, request: Any, _: Any) -> None:
        self._control.reset(request.scope)

    async def _step(self, request: Any, _: Any) -> None:
        await self._advance(self._control.begin_steps(request.steps))

    async def _simulate_steps(self, goal: Any, result: Any) -> None:
        feedback = SimulateSteps.Feedback()

        def tell(stepping: Stepping) -> None:
            feedback.completed_steps = stepping.completed
            feedback.remaining_steps = stepping.wanted - stepping.completed
            goal.publish_feedback(feedback)

        stepping = self._control.begin_steps(goal.request.steps)
        await self._advance(stepping, tell, lambda: goal.is_cancel_requested)
        result.result.result = int(ResultCode.OK)

    async def _advance(self, stepping: Stepping, tell: Callable[[Stepping], None] | None = None,
                       is_cancelled: Callable[[], bool] = lambda: False) -> None:
        """Run steps in the executor, which works in between. Raises RefusedError."""
        while not stepping.done:
            if is_cancelled():
                self._control.end_stepping('the goal was cancelled')
                break
            self._control.advance(_SLICE, tell)
            if not stepping.done:
                await pass_on(self._node)
        self._control.finish(stepping)

    # Entities.

    def _call(self, function: Callable[[], Any]) -> Any:
        """Return the result of a function called between two frames."""
        return self._server.call(lambda _: function())

    def _get_entities(self, request: Any, response: Any) -> None:
        filters = _filters(request.filters)
        response.entities = self._call(lambda: self._entities.select(filters))

    def _get_entities_states(self, request: Any, response: Any) -> None:
        filters = _filters(request.filters)

        def look() -> None:
            response.entities = self._entities.select(filters)
            response.states = [self._state(name) for name in response.entities]

        self._call(look)

    def _get_entity_info(self, request: Any, response: Any) -> None:
        info = self._entities.info(request.entity)
        response.info.category.category = info.category
        response.info.description = info.description
        response.info.tags = list(info.tags)

    def _get_entity_state(self, request: Any, response: Any) -> None:
        response.state = self._call(lambda: self._state(request.entity))

    def _set_entity_state(self, request: Any, _: Any) -> None:
        self._control.check_running()
        # Before 2.1 there is no choice: both pose and twist are set.
        with_pose = getattr(request, 'set_pose', True)
        with_twist = getattr(request, 'set_twist', True)
        if not (with_pose or with_twist):
            raise ValueError('neither set_pose nor set_twist is true: there is nothing to set; an '
                             'acceleration follows from the forces')
        state = request.state
        motion = to_motion(state.pose, (state.twist.linear, state.twist.angular))
        trimmed = self._node.parameters.trim_entities

        def place(_: World) -> None:
            self._entities.place(request.entity, motion, state.header.frame_id, with_pose,
                                 with_twist, trimmed)

        self._call(lambda: self._server.simulation.change(place))

    def _state(self, name: str) -> EntityState:
        motion = self._entities.motion(name)
        state = EntityState()
        state.header.frame_id = self._entities.frame
        state.header.stamp = self._node.simulated_stamp()
        orientation = state.pose.orientation
        orientation.w, orientation.x, orientation.y, orientation.z = motion.orientation
        for field, values in (
            (state.pose.position, motion.position),
            (state.twist.linear, motion.velocity),
            (state.twist.angular, motion.angular_velocity),
            (state.acceleration.linear, motion.acceleration),
            (state.acceleration.angular, motion.angular_acceleration),
        ):
            field.x, field.y, field.z = values
        return state


def _saying_ok(handler: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    async def handle(request: Any, response: Any) -> None:
        done = handler(request, response)
        if hasattr(done, '__await__'):
            await done
        response.result.result = int(ResultCode.OK)

    return handle


def _say_refused(response: Any, error: ValueError) -> None:
    response.result.result = int(
        ResultCode.INCORRECT_STATE if isinstance(error, NotActiveError) else result_of(error))
    response.result.error_message = str(error)


def _filters(message: EntityFilters) -> Filters:
    """Convert filters to the simulator's. Raises ValueError for invalid ones."""
    if message.tags.filter_mode not in (
            TagsFilter.FILTER_MODE_ANY, TagsFilter.FILTER_MODE_ALL):
        raise ValueError(f'tags.filter_mode is {message.tags.filter_mode}, must be 0 (any) or 1 '
                         '(all)')
    return Filters(
        message.filter, [item.category for item in message.categories], list(message.tags.tags),
        message.tags.filter_mode == TagsFilter.FILTER_MODE_ALL,
        make_bounds(message.bounds.type, [vector(point) for point in message.bounds.points]))
