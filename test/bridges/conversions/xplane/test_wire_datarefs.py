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
Each dataref that a bridge names is on the wire page, is X-Plane's, and reaches a field.

The page is docs/wire/xplane_datarefs.md, section 9. Names are found as the values of all modules'
constants, as literals of the sources, and as what functions return that make them.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path
import re

import pytest

from xplane_bridge.bridges.conversions.vehicle import (
    Air,
    Controls,
    EngineControls,
    TrafficTarget,
    VehicleState,
)
from xplane_bridge.bridges.conversions.xplane import levers, others, state, traffic

ROOT = Path(__file__).resolve().parents[4]
PAGE = ROOT / 'docs' / 'wire' / 'xplane_datarefs.md'
BRIDGES = ROOT / 'xplane_bridge' / 'bridges'
FOLDERS = ('conversions/xplane', 'xpc', 'xplane_udp')

SHORT = {
    'P/': 'sim/flightmodel/position/', 'F/': 'sim/flightmodel/forces/',
    'T/': 'sim/cockpit2/tcas/targets/', 'W/': 'sim/weather/',
    'A/': 'sim/cockpit2/engine/actuators/', 'C/': 'sim/cockpit2/controls/',
    'M/': 'sim/multiplayer/position/plane1_'}
TYPES = {'f': 'float', 'd': 'double', 'i': 'int', 'b': 'byte'}
NAME = re.compile(r'(sim(?:/\w+){2,})(?:\[\d+\])?')
COMMANDS = ('sim/operation/pause_on', 'sim/operation/pause_off')

PLACE = (47.25, 8.75, 1500.0)
ATTITUDE = (90.0, 5.0, 10.0)
# Read by the session (the time, what is paused) or by LocalAxes.
NOT_OF_STATE = {*state.LOCAL_PLACE, *state.OWN_PLACE}


@dataclass(frozen=True)
class Row:
    """What the page says of a dataref; ``sizes`` are those before X-Plane 12, and there."""

    type: str
    sizes: tuple[int, int] | None
    since: int
    meaning: str


def expanded(text):
    """Return the names that are meant by one with ``{a,b}``."""
    parts = re.split(r'\{([^}]*)\}', text)
    names = (''.join(chosen) for chosen in product(*(
        part.split(',') if number % 2 else [part] for number, part in enumerate(parts))))
    return [SHORT.get(name[:2], name[:2]) + name[2:] for name in names]


@cache
def listed():
    """Return the rows of the page's last section by dataref."""
    found = {}
    _, _, section = PAGE.read_text(encoding='utf-8').partition('\n## 9. ')
    for names, kind, versions, meaning in re.findall(
            r'^\| (\S+/\S+) \| (\S[^|]*) \| (\d+)\+? \| ([^|]*) \|$', section, re.MULTILINE):
        letter, *sizes = re.findall(r'\w+', kind)
        sizes = [int(size) for size in sizes]
        row = Row(
            TYPES[letter] + ('[]' if sizes else ''), (sizes[0], sizes[-1]) if sizes else None,
            int(versions), meaning)
        for name in expanded(names):
            assert name not in found, f'{name} has two rows'
            found[name] = row
    return found


def texts(value):
    """Yield all text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for pair in value.items():
            yield from texts(pair)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from texts(one)


def said():
    """Yield all text that may name a dataref: of sources (of nodes too), constants, functions."""
    for path in (path for folder in FOLDERS for path in (BRIDGES / folder).rglob('*.py')):
        tree = ast.parse(path.read_text(encoding='utf-8'))
        parts = {id(part) for one in ast.walk(tree) if isinstance(one, ast.JoinedStr)
                 for part in one.values}
        yield from (one.value for one in ast.walk(tree) if isinstance(one, ast.Constant)
                    and isinstance(one.value, str) and id(one) not in parts)
        module = path.relative_to(ROOT).with_suffix('').parts
        if 'node' not in module:      # those need ROS
            yield from texts([*vars(import_module('.'.join(module))).values()])
    yield from others.other_datarefs(1, with_air=True)
    yield from traffic.target_datarefs(1)
    yield from traffic.flight_id_datarefs(1)


@cache
def named():
    """Return the datarefs that the bridges name."""
    found = {match[1] for match in map(NAME.fullmatch, said()) if match}
    # A beginning, which other names continue.
    return {name for name in found if not name.endswith('_')} - {*COMMANDS}


def test_the_wire_page_lists_each_dataref_that_a_bridge_names_and_no_other():
    assert len(named()) > 90
    assert {*listed()} == named(), 'docs/wire/xplane_datarefs.md, section 9'


def test_each_row_says_what_its_datarefs_mean():
    rows = set(re.findall(r'^\| (\d+\.\d+\w?) \|', PAGE.read_text(encoding='utf-8'), re.MULTILINE))
    for name, row in listed().items():
        assert row.meaning in rows or '`' in row.meaning, f'{name}: {row.meaning}'


@pytest.mark.parametrize('version', [9, 10, 11, 12])
def test_the_simulated_x_plane_has_each_dataref_of_its_version_with_type_and_size(version):
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    from xplane_bridge.simulation.aircraft.aircraft import Aircraft
    from xplane_bridge.simulation.peers.world import World
    from xplane_bridge.simulation.peers.xplane.datarefs import DatarefStore
    store = DatarefStore(World(Aircraft('c172p')), version)
    for name, row in listed().items():
        value = store.read(name)
        assert (value is None) == (version < row.since), f'{name}, X-Plane {version}'
        if value is not None:
            assert value.type.value == row.type, name
            if row.sizes is not None:
                assert len(value.values) == row.sizes[version >= 12], name


# None of them is requested in vain.

def changed(name, values, make):
    """Return whether what is made of all values differs with another one of this name."""
    return any(make(values) != make(values | {name: other})
               for other in (0.0, values[name] * 0.5 + 0.25))


def values_of(names):
    """Return values that differ from one another, of an aircraft that flies."""
    return {name: 0.25 + number / 256.0 for number, name in enumerate(names)} | {
        state.PAUSED: 0.0, state.CRASHED: 1.0}


def own(values, **given):
    """Return the state of the user's aircraft, and how much the two specific forces differ."""
    found = state.own_state(PLACE, ATTITUDE, values, **given)
    return found, state.force_difference(PLACE, found, values)


@pytest.mark.parametrize('name', [
    name for name in state.OWN_DATAREFS
    if name not in {*NOT_OF_STATE, *levers.ENGINES.values(), levers.ENGINE_COUNT}])
def test_the_answer_for_a_dataref_of_the_own_aircraft_reaches_a_field(name):
    values = values_of(state.OWN_DATAREFS)
    parked = values | {
        'sim/flightmodel/failures/onground_any': 1.0, state.OWN_PREFIX + 'groundspeed': 0.125}
    # The names of other versions, of which X-Plane has only one.
    without = [{}, *(dict.fromkeys(one) for pair in state._ALTERNATIVES
                     for one, instead in (pair, pair[::-1]) if name in instead)]
    assert any(
        changed(name, {key: value for key, value in given.items() if key not in absent}, own)
        for given in (values, parked) for absent in without)


def test_the_answers_for_arrays_of_engines_reach_theirs():
    values = values_of(state.OWN_DATAREFS) | {levers.ENGINE_COUNT: 2.0}
    given = dict.fromkeys(levers.ENGINES.values(), (0.25, 0.5))
    before = state.own_state(PLACE, ATTITUDE, values, arrays=given).engines
    for field, name in levers.ENGINES.items():
        after = state.own_state(
            PLACE, ATTITUDE, values, arrays=given | {name: (0.75, 1.0)}).engines
        assert getattr(after, field) == (0.75, 1.0) != getattr(before, field)
    one = state.own_state(PLACE, ATTITUDE, values | {levers.ENGINE_COUNT: 1.0}, arrays=given)
    assert one.engines.throttle == (0.25,)


@pytest.mark.parametrize('name', [
    name for name in others.other_datarefs(1, with_air=True)
    # LocalAxes reads them: test_conversions_xplane_local.py.
    if not re.search(r'plane1_([xyz]|lat|lon|el)$', name)])
def test_the_answer_for_a_dataref_of_another_aircraft_reaches_a_field(name):
    values = values_of(others.other_datarefs(1, with_air=True)) | {
        state.WEATHER[0]: 15.0, state.WEATHER[1]: 15.0}
    old = {key: value for key, value in values.items() if 'weather/aircraft' not in key}

    def make(given):
        return others.other_state(1, PLACE, ATTITUDE, given)

    assert any(name in given and changed(name, given, make) for given in (values, old))


def test_xpc_node_polls_what_states_are_made_of_and_nothing_else():
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
    from xplane_bridge.bridges.xpc.node.messages import polled
    asked = polled((0, 1), derive=True)
    assert asked[0].names == (*state.OWN_DATAREFS, *state.LOCAL_PLACE)
    assert asked[1].names == others.other_datarefs(1, with_air=True)


@pytest.mark.parametrize('name', traffic.target_datarefs(1)[3:])
def test_the_answer_for_a_target_s_dataref_reaches_a_field(name):
    values = values_of(traffic.target_datarefs(1)) | {
        'sim/cockpit2/tcas/targets/modeS_id[1]': 0x4B1234,
        'sim/cockpit2/tcas/targets/position/weight_on_wheels[1]': 0.0}
    assert changed(name, values, lambda given: traffic.read_targets(1, given, {}))


@cache
def fields_of(message):
    """Return the names of a message's fields, from its definition."""
    text = (ROOT / 'msg' / f'{message}.msg').read_text(encoding='utf-8')
    return set(re.findall(r'^[\w/]+(?:\[[^]]*\])? +([a-z]\w*)', text, re.MULTILINE))


def test_each_field_of_a_state_has_one_in_a_message_or_is_read_by_the_bridges():
    assert {field.name for field in fields(Air)} <= fields_of('AirData')
    assert {*Controls._fields} <= fields_of('FlightControls')
    assert {field.name for field in fields(EngineControls)} <= fields_of('EngineControls')
    read = {one.attr for path in BRIDGES.rglob('*.py')
            for one in ast.walk(ast.parse(path.read_text(encoding='utf-8')))
            if isinstance(one, ast.Attribute)}
    assert {field.name for field in (*fields(VehicleState), *fields(TrafficTarget))} <= read
