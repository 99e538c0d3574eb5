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

"""The standard simulator interface, with the real simulation_interfaces if installed."""

from contextlib import contextmanager, nullcontext
import math
import signal
import sys

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
pytest.importorskip(
    'simulation_interfaces', reason='simulation_interfaces, which no wheel has, is not installed')

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rosgraph_msgs.msg import Clock
from simulation_interfaces.action import SimulateSteps
from simulation_interfaces.msg import (
    Bounds,
    EntityCategory,
    EntityFilters,
    EntityState,
    Result,
    SimulationState,
    SimulatorFeatures,
    TagsFilter,
)
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
from std_srvs.srv import SetBool, Trigger

from harness import free_port, process
from xplane_bridge.simulation.node import SimulatorNode
from xplane_bridge.simulation.peers.standard import control as standard
from xplane_bridge.simulation.peers.standard import entities

STOPPED, PLAYING, PAUSED, QUITTING = (
    SimulationState.STATE_STOPPED, SimulationState.STATE_PLAYING, SimulationState.STATE_PAUSED,
    SimulationState.STATE_QUITTING)
OK = Result.RESULT_OK
FAILED = Result.RESULT_OPERATION_FAILED
FRAME = 1.0 / 60.0
# Longer than a test waits.
MANY = 10_000_000
HAS_FLAGS = hasattr(SetEntityState.Request(), 'set_pose')


@pytest.fixture
def sim(ros):
    """Return a harness with a simulator_node, and clients of the standard interface."""
    return start(ros)


def start(ros, **parameters):
    ros.node = ros.start(SimulatorNode, port=free_port(), **parameters)
    return ros


def ask(ros, kind, **request):
    name = ''.join(f'_{c.lower()}' if c.isupper() else c for c in kind.__name__)[1:]
    return ros.call(kind, f'/simulator/{name}', kind.Request(**request))


def get(ros):
    response = ask(ros, GetSimulationState)
    assert response.result.result == OK
    return response.state.state


def put(ros, state):
    return ask(ros, SetSimulationState, state=SimulationState(state=state)).result


def simulated(ros):
    return ros.node.server.call(lambda world: world.total_running_time)


def place(ros, name, state, **flags):
    if HAS_FLAGS:
        flags = {'set_pose': True, 'set_twist': True} | flags
    return ask(ros, SetEntityState, entity=name, state=state, **flags).result


def state_at(x=0.0, y=0.0, z=2000.0, east=50.0, frame=''):
    state = EntityState()
    state.header.frame_id = frame
    state.pose.position.x, state.pose.position.y, state.pose.position.z = x, y, z
    state.twist.linear.x = east
    return state


@contextmanager
def action_client(ros):
    """Create a client of the action."""
    client = ActionClient(ros.observer, SimulateSteps, '/simulator/simulate_steps')
    try:
        assert client.wait_for_server(10.0)
        yield client
    finally:
        ros.run_in(ros.observer, client.destroy)


@contextmanager
def stepping(ros, steps, client=None):
    """Send a goal; yield its handle, its feedback and a function that waits for its result."""
    with nullcontext(client) if client else action_client(ros) as client:
        feedback = []
        handle = done(ros, client.send_goal_async(
            SimulateSteps.Goal(steps=steps),
            feedback_callback=lambda message: feedback.append(message.feedback)))
        assert handle.accepted
        result = handle.get_result_async()
        yield handle, feedback, lambda: done(ros, result)


def done(ros, future):
    return ros.wait_for(lambda: [future.result()] if future.done() else None, 'an answer')[0]


# Names from the definitions


def test_numbers_are_those_of_the_definitions():
    for result in standard.ResultCode:
        owner = Result if result < 100 else SetSimulationState.Response
        name = f'RESULT_{result.name}' if result < 100 else result.name
        assert getattr(owner, name) == result
    for state in standard.StateCode:
        assert getattr(SimulationState, f'STATE_{state.name}') == state
    for feature in standard.FeatureCode:
        assert getattr(SimulatorFeatures, feature.name) == feature
    assert ResetSimulation.Request.SCOPE_STATE == standard.SCOPE_STATE
    assert SetEntityState.Response.INVALID_POSE == standard.INVALID_POSE
    assert (EntityCategory.CATEGORY_ROBOT, EntityCategory.CATEGORY_DYNAMIC_OBJECT) == (
        entities.ROBOT, entities.DYNAMIC_OBJECT)
    assert (Bounds.TYPE_EMPTY, Bounds.TYPE_BOX, Bounds.TYPE_CONVEX_HULL, Bounds.TYPE_SPHERE) == (
        0, 1, 2, 3)


def test_every_feature_is_said_and_what_is_offered_is_what_is_said(sim):
    features = ask(sim, GetSimulatorFeatures).features
    assert set(features.features) == {
        SimulatorFeatures.ENTITY_TAGS, SimulatorFeatures.ENTITY_BOUNDS_BOX,
        SimulatorFeatures.ENTITY_CATEGORIES, SimulatorFeatures.ENTITY_STATE_GETTING,
        SimulatorFeatures.ENTITY_STATE_SETTING, SimulatorFeatures.ENTITY_INFO_GETTING,
        SimulatorFeatures.SIMULATION_RESET, SimulatorFeatures.SIMULATION_RESET_STATE,
        SimulatorFeatures.SIMULATION_STATE_GETTING, SimulatorFeatures.SIMULATION_STATE_SETTING,
        SimulatorFeatures.SIMULATION_STATE_PAUSE, SimulatorFeatures.STEP_SIMULATION_SINGLE,
        SimulatorFeatures.STEP_SIMULATION_MULTIPLE, SimulatorFeatures.STEP_SIMULATION_ACTION}
    assert list(features.spawn_formats) == []
    assert '47.4, longitude 8.5' in features.custom_info
    offered = {
        kind for name, kinds in sim.node.get_service_names_and_types_by_node(
            'simulator_node', '/') for kind in kinds
        if kind.startswith('simulation_interfaces/') and '/_action/' not in name}
    assert offered == {f'simulation_interfaces/srv/{name}' for name in (
        'GetSimulatorFeatures', 'GetSimulationState', 'SetSimulationState', 'ResetSimulation',
        'StepSimulation', 'GetEntities', 'GetEntitiesStates', 'GetEntityInfo', 'GetEntityState',
        'SetEntityState')}


# Time


def test_states_over_the_same_world_as_its_own_services(sim):
    sim.subscribe(Clock, '/clock')
    assert get(sim) == PLAYING
    assert put(sim, PAUSED).result == OK
    assert put(sim, PAUSED).result == SetSimulationState.Response.ALREADY_IN_TARGET_STATE
    stood = simulated(sim)
    sim.next('/clock', 3)
    assert (get(sim), simulated(sim)) == (PAUSED, stood)
    assert sim.call(SetBool, '/simulator/pause', SetBool.Request(data=False)).success
    assert get(sim) == PLAYING
    assert put(sim, STOPPED).result == OK
    assert get(sim) == STOPPED
    refused = put(sim, SimulationState.STATE_NO_WORLD)
    assert refused.result == Result.RESULT_FEATURE_UNSUPPORTED
    assert 'state 4' in refused.error_message
    # The process is pytest's.
    assert put(sim, QUITTING).result == SetSimulationState.Response.STATE_TRANSITION_ERROR
    assert sim.call(Trigger, '/simulator/step', Trigger.Request()).success
    assert get(sim) == PAUSED


def test_a_reset_of_the_state(sim):
    put(sim, PAUSED)
    ask(sim, StepSimulation, steps=30)
    before = simulated(sim)
    assert ask(sim, ResetSimulation).result.result == Result.RESULT_FEATURE_UNSUPPORTED
    assert ask(sim, ResetSimulation, scope=ResetSimulation.Request.SCOPE_STATE).result.result == OK
    assert simulated(sim) == before
    assert sim.node.server.state().lon_deg == pytest.approx(8.5, abs=1e-9)


def test_steps_by_the_service(sim):
    refused = ask(sim, StepSimulation).result
    assert (refused.result, 'playing' in refused.error_message) == (FAILED, True)
    put(sim, PAUSED)
    before = simulated(sim)
    # One by default.
    assert ask(sim, StepSimulation).result.result == OK
    assert ask(sim, StepSimulation, steps=200).result.result == OK
    assert simulated(sim) - before == pytest.approx(201 * FRAME)
    assert get(sim) == PAUSED


def test_steps_by_the_action_are_told_one_by_one(sim):
    with stepping(sim, 3) as (_, _, result):
        refused = result()
        assert refused.status == GoalStatus.STATUS_ABORTED
        assert refused.result.result.result == FAILED
        assert 'playing' in refused.result.result.error_message
    put(sim, PAUSED)
    with action_client(sim) as client:
        # Feedback goes to subscribers that the server has discovered; the first may be lost.
        with stepping(sim, MANY, client) as (handle, feedback, result):
            sim.wait_for(lambda: feedback, 'feedback')
            done(sim, handle.cancel_goal_async())
            result()
        before = simulated(sim)
        told = []
        handle = done(sim, client.send_goal_async(
            SimulateSteps.Goal(steps=5), feedback_callback=lambda one: told.append(one.feedback)))
        sim.wait_for(lambda: len(told) == 5, 'feedback')
        # Not asked before: with the result rclpy forgets who wants the feedback that still waits.
        reached = done(sim, handle.get_result_async())
    assert reached.status == GoalStatus.STATUS_SUCCEEDED
    assert reached.result.result.result == OK
    assert [(f.completed_steps, f.remaining_steps) for f in told] == [
        (1, 4), (2, 3), (3, 2), (4, 1), (5, 0)]
    assert simulated(sim) - before == pytest.approx(5 * FRAME)


def test_steps_are_cancelled_and_the_rest_goes_on_meanwhile(sim):
    put(sim, PAUSED)
    with stepping(sim, MANY) as (handle, feedback, result):
        sim.wait_for(lambda: feedback, 'feedback')
        # The executor is free for others, who see it moving; and for a second goal.
        assert get(sim) == PLAYING
        with stepping(sim, 1) as (_, _, second):
            refused = second()
            assert refused.status == GoalStatus.STATUS_ABORTED
            assert 'other steps' in refused.result.result.error_message
        assert 'other steps' in ask(sim, StepSimulation).result.error_message
        assert not sim.call(Trigger, '/simulator/step', Trigger.Request()).success
        done(sim, handle.cancel_goal_async())
        ended = result()
    assert ended.status == GoalStatus.STATUS_CANCELED
    assert 'cancelled, after' in ended.result.result.error_message
    assert get(sim) == PAUSED
    assert ask(sim, StepSimulation).result.result == OK


@pytest.mark.parametrize('end', ['play', 'pause', 'own pause', 'deactivate', 'cleanup'])
def test_whatever_ends_steps_is_told_to_who_asked_for_them(sim, end):
    put(sim, PAUSED)

    def deactivate_and_clean_up():
        sim.node.trigger_deactivate()
        if end == 'cleanup':
            sim.node.trigger_cleanup()

    with stepping(sim, MANY) as (_, feedback, result):
        sim.wait_for(lambda: feedback, 'feedback')
        if end in ('play', 'pause'):
            assert put(sim, PLAYING if end == 'play' else PAUSED).result == OK
        elif end == 'own pause':
            assert sim.call(SetBool, '/simulator/pause', SetBool.Request(data=True)).success
        else:
            sim.run_in(sim.node, deactivate_and_clean_up)
        ended = result()
    assert ended.status == GoalStatus.STATUS_ABORTED
    assert ended.result.result.result == FAILED
    assert f'of {MANY} steps' in ended.result.result.error_message
    if end in ('play', 'pause', 'own pause'):
        assert get(sim) == (PLAYING if end == 'play' else PAUSED)
    elif end == 'deactivate':
        assert ask(sim, GetSimulationState).result.result == Result.RESULT_INCORRECT_STATE
        assert ask(sim, GetSimulatorFeatures).features.features
        with stepping(sim, 1) as (_, _, result):
            assert result().result.result.result == Result.RESULT_INCORRECT_STATE
        sim.run_in(sim.node, sim.node.trigger_activate)
        assert get(sim) == PAUSED
    else:
        for again in range(2):
            sim.run_in(sim.node, sim.node.trigger_configure)
            sim.run_in(sim.node, sim.node.trigger_activate)
            assert get(sim) == PLAYING
            put(sim, PAUSED)
            with stepping(sim, 2) as (_, _, result):
                assert result().status == GoalStatus.STATUS_SUCCEEDED
            if not again:
                sim.run_in(sim.node, deactivate_and_clean_up)


# Entities


def test_entities_are_found_by_filters(sim):
    put(sim, PAUSED)
    assert list(ask(sim, GetEntities).entities) == [f'aircraft_{n}' for n in range(20)]
    filters = EntityFilters(
        filter='aircraft_1?[0-9]', categories=[EntityCategory(category=4)],
        tags=TagsFilter(tags=['traffic', 'aircraft'], filter_mode=TagsFilter.FILTER_MODE_ALL))
    filters.bounds.type = Bounds.TYPE_SPHERE
    here = ask(sim, GetEntityState, entity='aircraft_0').state.pose.position
    for values in ((here.x, here.y, here.z), (160.0, 0.0, 0.0)):
        point = type(EntityState().twist.linear)()
        point.x, point.y, point.z = values
        filters.bounds.points.append(point)
    found = ask(sim, GetEntitiesStates, filters=filters)
    assert (list(found.entities), found.result.result) == (['aircraft_1', 'aircraft_2'], OK)
    assert [round(abs(state.pose.position.y - here.y)) for state in found.states] == [150, 150]
    filters.bounds.type = Bounds.TYPE_CONVEX_HULL
    assert ask(sim, GetEntities, filters=filters).result.result == (
        Result.RESULT_FEATURE_UNSUPPORTED)
    for bad in (EntityFilters(filter='a**'), EntityFilters(tags=TagsFilter(filter_mode=7))):
        assert ask(sim, GetEntities, filters=bad).result.result == FAILED


def test_an_entity_says_what_it_is_and_how_it_moves(sim):
    put(sim, PAUSED)
    info = ask(sim, GetEntityInfo, entity='aircraft_0').info
    assert (info.category.category, 'c172p' in info.tags) == (EntityCategory.CATEGORY_ROBOT, True)
    response = ask(sim, GetEntityState, entity='aircraft_0')
    state = response.state
    assert (response.result.result, state.header.frame_id) == (OK, 'world')
    stamp = state.header.stamp.sec + state.header.stamp.nanosec * 1e-9
    assert stamp == pytest.approx(simulated(sim), abs=1e-9)
    # Eastward at 100 kt calibrated, 1500 m above sea level; nose slightly up.
    assert state.pose.position.z == pytest.approx(1500.0, abs=0.1)
    assert state.twist.linear.x == pytest.approx(55.3, abs=0.1)
    assert state.pose.orientation.w == pytest.approx(1.0, abs=1e-4)
    assert math.isnan(ask(
        sim, GetEntityState, entity='aircraft_3').state.acceleration.angular.x)
    for kind in (GetEntityInfo, GetEntityState):
        response = ask(sim, kind, entity='tower')
        assert response.result.result == Result.RESULT_NOT_FOUND
        assert 'aircraft_19' in response.result.error_message


def test_an_aircraft_is_put_anywhere(ros):
    ros = start(ros, datum=[47.0, 8.0, 100.0], world_frame='map')
    put(ros, PAUSED)
    assert place(ros, 'aircraft_0', state_at(east=60.0, frame='map')).result == OK
    state = ros.node.server.state()
    assert (state.lat_deg, state.lon_deg, state.altitude_msl) == pytest.approx((47.0, 8.0, 2100.0))
    assert (state.v_east, state.psi, state.phi) == pytest.approx((60.0, math.pi / 2, 0.0))
    assert place(ros, 'aircraft_7', state_at(x=-100.0, z=0.0, frame='aircraft_0')).result == OK
    behind = ask(ros, GetEntityState, entity='aircraft_7').state
    assert behind.header.frame_id == 'map'
    assert behind.pose.position.x == pytest.approx(-100.0, abs=0.01)
    refusals = [
        ('tower', state_at(), Result.RESULT_NOT_FOUND, 'tower'),
        ('aircraft_0', state_at(frame='odom'), Result.RESULT_NOT_FOUND, "'map'"),
        ('aircraft_0', state_at(x=math.nan), 101, 'finite'),
        ('aircraft_0', state_at(z=-500.0), 101, 'ground'),
        ('aircraft_0', state_at(east=math.nan), FAILED, 'finite'),
        ('aircraft_0', state_at(east=1000.0), FAILED, '400'),
    ]
    for name, wrong, result, sentence in refusals:
        refused = place(ros, name, wrong)
        assert (refused.result, sentence in refused.error_message) == (result, True), refused
    assert ros.node.server.state().altitude_msl == state.altitude_msl


def test_it_is_trimmed_if_asked(sim):
    put(sim, PAUSED)
    assert sim.change(sim.node, trim_entities=True).successful
    assert place(sim, 'aircraft_0', state_at(east=50.0)).result == OK
    ask(sim, StepSimulation, steps=300)
    state = ask(sim, GetEntityState, entity='aircraft_0').state
    assert state.pose.position.z == pytest.approx(2000.0, abs=1.0)
    assert state.twist.linear.x == pytest.approx(50.0, abs=0.3)
    refused = place(sim, 'aircraft_0', state_at(east=0.0))
    assert (refused.result, 'trim' in refused.error_message) == (FAILED, True)


@pytest.mark.skipif(not HAS_FLAGS, reason='set_pose is in simulation_interfaces from 2.1 on')
def test_only_what_is_flagged_is_set(sim):
    put(sim, PAUSED)
    before = sim.node.server.state()
    assert place(sim, 'aircraft_0', state_at(x=math.nan, east=40.0), set_pose=False).result == OK
    state = sim.node.server.state()
    assert (state.v_east, state.lon_deg) == pytest.approx((40.0, before.lon_deg))
    assert place(sim, 'aircraft_0', state_at(x=500.0, east=math.nan), set_twist=False).result == OK
    state = sim.node.server.state()
    assert state.v_east == pytest.approx(40.0, abs=0.1)
    assert place(sim, 'aircraft_0', state_at(), set_pose=False, set_twist=False,
                 set_acceleration=True).result == FAILED


def test_huginn_has_one_aircraft(ros):
    start(ros, sim='fdmdata')
    assert list(ask(ros, GetEntities).entities) == ['aircraft_0']


# Processes


def test_quitting_answers_and_ends_the_process(ros):
    with process('simulator_node', '--ros-args', '-p', f'port:={free_port()}') as child:
        assert put(ros, QUITTING).result == OK
        assert child.wait(60) == 0
        assert 'Traceback' not in child.stdout.read()


def test_a_signal_during_a_goal_ends_it_quietly(ros):
    with process('simulator_node', '--ros-args', '-p', f'port:={free_port()}') as child:
        assert put(ros, PAUSED).result == OK
        with stepping(ros, MANY) as (_, feedback, _):
            ros.wait_for(lambda: feedback, 'feedback')
            child.send_signal(signal.SIGINT)
            assert child.wait(60) == 0
        said = child.stdout.read()
        assert 'Traceback' not in said
        assert 'xception' not in said


CLIENT = """
import rclpy
from rclpy.action import ActionClient
from simulation_interfaces.action import SimulateSteps
rclpy.init()
node = rclpy.create_node('client')
client = ActionClient(node, SimulateSteps, '/simulator/simulate_steps')
client.wait_for_server()
client.send_goal_async(
    SimulateSteps.Goal(steps=10_000_000), feedback_callback=lambda _: print('.', flush=True))
rclpy.spin(node)
"""


def test_a_client_that_dies_leaves_steps_that_another_can_end(sim):
    put(sim, PAUSED)
    with process(sys.executable, '-c', CLIENT) as child:
        assert child.stdout.readline()
        child.kill()
        child.wait()
    since = simulated(sim)
    sim.wait_for(lambda: simulated(sim) > since, 'steps to go on')
    assert put(sim, PAUSED).result == OK
    assert ask(sim, StepSimulation).result.result == OK
