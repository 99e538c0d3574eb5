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

"""What may be spawned, and how aircraft join and leave a world, without ROS."""

from dataclasses import replace
import math

import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from xplane_bridge.common.controls import FLOWN
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.direct import Inbox
from xplane_bridge.simulation.peers.joining import join, part
from xplane_bridge.simulation.peers.lockstep import Lockstep
from xplane_bridge.simulation.peers.standard.control import RequestRefusedError
from xplane_bridge.simulation.peers.standard.entities import (
    Entities,
    EntityMotion,
    UnknownNameError,
)
from xplane_bridge.simulation.peers.standard.spawning import Spawning, SpawnRequest
from xplane_bridge.simulation.peers.world import World

HIGH = EntityMotion((1000.0, 200.0, 1500.0), (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)))
WING = SpawnRequest('wing', 'c172p', HIGH)
# Result.msg, and SpawnEntity.srv.
UNSUPPORTED, NOT_FOUND, FAILED = 0, 2, 4
NOT_UNIQUE, NAME_INVALID, FORMAT, NO_RESOURCE, NAMESPACE_INVALID = 101, 102, 103, 104, 105
POSE = 109
STEP = 1.0 / 120.0


@pytest.fixture
def world():
    return World(Aircraft())


@pytest.fixture
def entities(world):
    return Entities(world, (47.4, 8.5, 0.0), 'world', 1)


def test_it_starts_with_the_place_and_heading_of_its_pose(entities):
    joining = Spawning(entities, '').check(WING, [''])
    assert (joining.name, joining.namespace, joining.model) == ('wing', 'wing', 'c172p')
    # Half a right angle from x, east, to y, north.
    assert joining.initial.heading_deg == pytest.approx(0.0, abs=0.02)
    assert joining.initial.altitude_msl == pytest.approx(1500.0, abs=0.1)
    assert not joining.initial.parked
    # 6378 km and a bit: a metre north is 9e-6 degrees.
    assert joining.initial.lat_deg == pytest.approx(47.4 + 200.0 * 9e-6, abs=1e-5)
    ahead = Spawning(entities, '').check(
        replace(WING, motion=EntityMotion(
            (0.0, 100.0, 0.0), (1.0, 0.0, 0.0, 0.0)), frame='aircraft_0'),
        [''])
    # To the left of one that flies east.
    assert ahead.initial.heading_deg == pytest.approx(90.0, abs=0.01)
    assert ahead.initial.lat_deg == pytest.approx(47.4 + 100.0 * 9e-6, abs=1e-5)
    low = Spawning(entities, '').check(
        replace(WING, motion=EntityMotion((0.0, 0.0, 431.0), (1.0, 0.0, 0.0, 0.0))), [''])
    assert low.initial.parked


@pytest.mark.parametrize(('changes', 'result', 'sentence'), [
    ({'uri': ''}, NO_RESOURCE, 'uri is empty'),
    ({'uri': '', 'resource_string': '<sdf/>'}, UNSUPPORTED, 'resource_string'),
    ({'uri': 'file:///robot.sdf'}, FORMAT, 'name of a JSBSim aircraft'),
    ({'uri': '../c172p'}, FORMAT, 'name of a JSBSim aircraft'),
    ({'uri': 'c172q'}, NOT_FOUND, "there is no aircraft 'c172q'"),
    ({'name': ''}, NAME_INVALID, 'allow_renaming'),
    ({'name': 'a/b'}, NAME_INVALID, "'a/b'"),
    ({'name': 'a' * 65}, NAME_INVALID, 'at most 64'),
    ({'name': 'aircraft_0'}, NOT_UNIQUE, 'is taken'),
    ({'name': 'world'}, NOT_UNIQUE, 'is taken'),
    ({'namespace': '/uav/7'}, NAMESPACE_INVALID, "'/uav/7' is not possible: expected letters"),
    ({'namespace': 'uav/'}, NAMESPACE_INVALID, 'is not possible'),
    ({'namespace': 'uav//a'}, NAMESPACE_INVALID, 'is not possible'),
    ({'namespace': '/'}, NAMESPACE_INVALID, 'is not possible'),
    ({'namespace': '~/a'}, NAMESPACE_INVALID, 'is not possible'),
    ({'namespace': 'uäv'}, NAMESPACE_INVALID, 'is not possible'),
    ({'namespace': 'a' * 157}, NAMESPACE_INVALID, 'at most 160 characters'),
    ({'namespace': 'uav1/command'}, NAMESPACE_INVALID, 'below command others take'),
    ({'name': 'command'}, NAMESPACE_INVALID, 'below command others take'),
    ({'namespace': 'uav1'}, NAMESPACE_INVALID, 'that of another'),
    ({'namespace': '/sim/uav1'}, NAMESPACE_INVALID, 'that of another'),
    ({'namespace': '/fleet/uav2'}, NAMESPACE_INVALID, 'that of another'),
    ({'motion': EntityMotion((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))}, POSE, 'below the ground'),
    ({'motion': EntityMotion((0.0, 0.0, 1e3), (0.0, 0.0, 0.0, 0.0))}, POSE, 'norm'),
    ({'motion': EntityMotion((0.0, math.nan, 1e3), (1.0, 0.0, 0.0, 0.0))}, POSE, 'finite'),
])
def test_what_cannot_be_spawned_is_refused_by_its_number(entities, changes, result, sentence):
    with pytest.raises(RequestRefusedError, match=sentence) as refused:
        Spawning(entities, '', '/sim').check(
            replace(WING, **changes), ['', 'uav1', '/fleet/uav2'])
    assert refused.value.result == result


@pytest.mark.parametrize('namespace', [
    'fleet/uav7', '/fleet/uav7', '/uav1', '_a/_b', 'uav2', 'commander', 'command/uav1', 'a' * 155])
def test_a_namespace_is_what_ros_has_as_one(entities, namespace):
    joining = Spawning(entities, '', '/sim').check(
        replace(WING, namespace=namespace), ['', 'uav1', '/fleet/uav2'])
    assert joining.namespace == namespace


def test_names_are_made_where_that_is_allowed(entities):
    spawning = Spawning(entities, '')
    entities.names += ['aircraft_1', 'wing']
    for name, made in (('', 'aircraft_2'), ('wing', 'wing_1')):
        assert spawning.check(replace(WING, name=name, may_rename=True), []).name == made
    with pytest.raises(UnknownNameError, match='odom'):
        spawning.check(replace(WING, name='other', frame='odom'), [])


def test_ones_own_aircraft_come_first_beside_those_of_jsbsim(entities, tmp_path):
    for name in ('mine', 'c172p'):
        (tmp_path / name).mkdir()
        (tmp_path / name / f'{name}.xml').write_text('<fdm_config/>')
    spawning = Spawning(entities, str(tmp_path))
    assert list(spawning.spawnables())[:2] == ['c172p', 'mine']
    assert 'aircraft_path' in spawning.spawnables()['c172p']
    assert 'aircraft_path' not in spawning.spawnables()['T37']
    assert spawning.check(WING, []).path == str(tmp_path)
    assert spawning.check(replace(WING, uri='T37'), []).path == ''
    with pytest.raises(ValueError, match='cannot load'):
        spawning.check(WING, []).load(0, STEP)


def test_aircraft_join_and_leave_and_the_others_fly_on(entities, world):
    wing, third = (Spawning(entities, '').check(WING, []).load(seed, STEP) for seed in (1, 2))
    entities.add('wing', wing)
    entities.add('third', third)
    assert entities.names == ['aircraft_0', 'wing', 'third']
    assert 'spawned' in entities.info('third').tags
    assert 'spawned' not in entities.info('aircraft_0').tags
    world.advance(0.5)
    assert (wing.time, third.time) == (0.5, 0.5)
    assert entities.remove('wing') == 1
    assert (entities.names, world.flown[1]) == (['aircraft_0', 'third'], third)
    world.advance(0.5)
    assert (wing.time, third.time) == (0.5, 1.0)
    assert entities.motion('third').position[2] == pytest.approx(1500.0, abs=1.0)
    for name, sentence in (('aircraft_0', 'cannot be deleted'), ('wing', 'no entity')):
        with pytest.raises(ValueError, match=sentence):
            entities.remove(name)
    while len(world.flown) < 20:
        join(world, wing)
    with pytest.raises(RequestRefusedError, match='20 aircraft fly already') as refused:
        Spawning(entities, '').check(WING, [])
    assert refused.value.result == FAILED


def test_lockstep_waits_for_who_has_joined_once_it_was_commanded(world):
    lockstep = Lockstep(Inbox())
    wing = Aircraft(seed=1)

    def states_are_sent(count):
        lockstep.begin(world, count - 1)
        lockstep.note(world, lambda: count)

    def command(aircraft):
        aircraft.commanded.update(FLOWN)
        lockstep.note(world, lambda: count)

    count = 1
    states_are_sent(count)
    join(world, wing)
    lockstep.let_join(wing)
    command(world.aircraft)
    assert lockstep.is_complete(world)
    wing.commanded.add('elevator')
    lockstep.note(world, lambda: count)
    assert lockstep.missing(world) == {f'{name} of aircraft 1' for name in (
        'aileron', 'rudder', 'throttle')}
    command(wing)
    assert lockstep.is_complete(world)
    count = 2
    states_are_sent(count)
    command(world.aircraft)
    # It is one of them now.
    assert not lockstep.is_complete(world)
    part(world, 1)
    assert lockstep.is_complete(world)
