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

"""Who imports whom: the wings and rooms of the package, and what needs ROS."""

import ast
from functools import cache
from graphlib import TopologicalSorter
import inspect
from pathlib import Path
import re
import subprocess
import sys

import pytest

from xplane_bridge.bridges.protocols.registry import PROTOCOLS, UNBRIDGED

PACKAGE = Path(__file__).resolve().parents[2] / 'xplane_bridge'

# The lowest first: each imports those below it.
WINGS = ('common', 'bridges', 'simulation', 'laboratory', 'commands')
# Any protocol's folder.
PROTOCOL = '<protocol>'
SHARED = {'links', 'protocols', 'conversions', 'sessions', 'nodes'}
# What each room may import of its own wing: the table of docs/explanation/architecture.md.
ROOMS = {
    'bridges': {
        'links': set(),
        'protocols': set(),
        'conversions': set(),
        'sessions': {'protocols'},
        'nodes': {'links', 'protocols', 'conversions', 'sessions'},
        PROTOCOL: SHARED,
    },
    'simulation': {
        'aircraft': set(),
        'peers': {'aircraft'},
        'node': {'aircraft', 'peers'},
    },
    'laboratory': {
        'control': set(),
        'sensors': set(),
        'envelope': {'control'},
        'flights': {'control', 'sensors'},
        'nodes': {'control', 'sensors', 'flights'},
        'open_flight': {'control', 'flights'},
        'identification': {'control', 'sensors', 'flights'},
        'experiments': {'control', 'sensors', 'flights', 'open_flight'},
        'episodes': {'control', 'flights', 'open_flight'},
        'campaigns': {'control', 'flights', 'open_flight', 'experiments'},
        'export': {'flights', 'sensors'},
        'verification': {'export'},
    },
}
# The parts of a protocol, with those that each imports.
PARTS = {
    'protocol': set(),
    'conversion': {'protocol'},
    'session': {'protocol'},
    'web': {'protocol'},
    'sockets': {'protocol', 'session'},
    'node': {'protocol', 'conversion', 'session', 'web', 'sockets'},
}
# The modules that each protocol has in each part, whatever else it adds.
FILES = {
    'protocol': {'messages', 'codec'},
    'session': {'session', 'events'},
    'node': {'parameters', 'node', 'messages'},
}
# Folders that may import ROS.
WITH_ROS = {'nodes', 'node'}
# Who needs ROS although it is in a folder without: it flies nothing but controllers through ROS.
NEED_ROS = {'commands.check_controller'}
# The folders within a room, the lowest first; '' is the room's own files, '*' any other folder:
# those do not import one another.
RANKS = {
    'laboratory/flights': (
        'scenario', 'recordings', 'logs', 'analysis', 'controller_checks', '', 'fleet'),
    'laboratory/campaigns': ('plan', 'table', 'engines', 'report', ''),
    'laboratory/verification': ('evidence', 'peers', ''),
    'bridges/nodes': ('managed', 'common', 'vehicle', '*', ''),
}
MOST_FILES = 17


@cache
def imports(file):
    """Return the full names of the modules that a file imports."""
    return tuple(imported(file))


def imported(file):
    """Yield the modules that a file imports, including those within functions."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f'{file}: a relative import'
            yield from (f'{node.module}.{alias.name}' for alias in node.names)


@cache
def files():
    """Return each module of the package by its name there, with its file."""
    return {
        '.'.join(file.relative_to(PACKAGE).with_suffix('').parts).removesuffix('.__init__'): file
        for file in sorted(PACKAGE.rglob('*.py')) if file.parent != PACKAGE}


@cache
def modules():
    """Return each module of the package, by its name there, with those that it imports."""
    found = {}
    for name, file in files().items():
        whole = {one.removeprefix('xplane_bridge.') for one in imports(file)}
        found[name] = {one if one in files() else one.rpartition('.')[0] for one in whole} & {
            *files()} - {name}
    return found


def place_of(name):
    """Return wing and room of a module; the room is empty where the wing has none."""
    wing, _, rest = name.partition('.')
    return wing, rest.partition('.')[0] if wing in ROOMS else ''


def is_protocol(room):
    """Return whether a room of the bridges is a protocol's."""
    return room in PROTOCOLS or room in UNBRIDGED


def arrows():
    """Yield each import between two places: the modules, and the places of both."""
    for name, others in modules().items():
        for other in others:
            yield name, other, place_of(name), place_of(other)


def test_there_are_these_wings_and_rooms():
    assert {*WINGS, 'data'} == {path.name for path in PACKAGE.iterdir() if (
        path.is_dir() and path.name not in ('__pycache__', 'msg', 'srv', 'action'))}
    for wing, rooms in ROOMS.items():
        found = {place_of(name)[1] for name in files() if name.startswith(f'{wing}.')}
        assert {PROTOCOL if is_protocol(room) else room for room in found} == rooms.keys()


def test_the_page_about_the_architecture_has_these_rules():
    text = (PACKAGE.parent / 'docs' / 'explanation' / 'architecture.md').read_text()
    rules = text.partition('## Who may import whom')[2].partition('\n## ')[0]
    found = {}
    for wing, room, others in re.findall(r'^\| `(\w+)/` \| `([\w<>]+)` \|(.*)\|$', rules, re.M):
        found.setdefault(wing, {})[room] = set(re.findall(r'`(\w+)`', others))
    assert found == ROOMS


def test_the_rules_have_no_circle():
    for rooms in (*ROOMS.values(), PARTS):
        assert {*TopologicalSorter(rooms).static_order()} >= rooms.keys()


def test_a_wing_imports_only_wings_below_it():
    above = {
        (name, other) for name, other, (wing, _), (its, _) in arrows()
        if wing in WINGS and its in WINGS and WINGS.index(its) > WINGS.index(wing)}
    assert above == set()


@pytest.mark.parametrize('wing', ROOMS)
def test_a_room_imports_what_the_table_allows(wing):
    others = {
        (name, other) for name, other, (own, room), (its, another) in arrows()
        if own == its == wing and room != another
        and another not in ROOMS[wing][PROTOCOL if is_protocol(room) else room]}
    assert others == set()


def test_parts_of_a_protocol_import_lower_ones():
    wrong = set()
    for name, other, (_, room), (_, another) in arrows():
        if is_protocol(room) and room == another:
            own, its = name.split('.')[2:3], other.split('.')[2:3]
            if own and its and own != its and its[0] not in PARTS[own[0]]:
                wrong.add((name, other))
    assert wrong == set()


@pytest.mark.parametrize('part', FILES)
@pytest.mark.parametrize('protocol', PROTOCOLS)
def test_each_protocol_has_the_same_files(protocol, part):
    found = {path.stem for path in (PACKAGE / 'bridges' / protocol / part).glob('*.py')}
    assert found >= FILES[part]


@pytest.mark.parametrize('protocol', PROTOCOLS)
def test_each_protocol_has_a_simulated_peer(protocol):
    assert (PACKAGE / 'simulation' / 'peers' / protocol / 'frontend.py').is_file()


def test_a_simulated_peer_knows_its_own_protocol_only():
    peers = {
        (name, other) for name, other, place, (its, another) in arrows()
        if place == ('simulation', 'peers') and is_protocol(own := name.split('.')[2])
        and its == 'bridges' and is_protocol(another) and another != own}
    assert peers == set()


def is_ros(name):
    """Return whether a module is ROS's."""
    package = name.partition('.')[0]
    return package != 'rosbags' and (
        package.startswith(('rclpy', 'ros', 'launch', 'ament'))
        or package.endswith(('_msgs', '_interfaces')))


GENERATED = {f'xplane_bridge.{name}' for name in ('action', 'msg', 'srv')}


def may_import_ros(name):
    """Return whether a module is in a folder that may import ROS."""
    return not WITH_ROS.isdisjoint(name.split('.'))


def test_ros_is_imported_in_its_folders_only():
    found = {
        (name, one) for name, file in files().items() if not may_import_ros(name)
        for one in imports(file)
        if is_ros(one) or '.'.join(one.split('.')[:2]) in GENERATED}
    assert found == set()


def test_no_circle_between_files():
    TopologicalSorter(modules()).prepare()


def room_and_folder(name):
    """Return the room of a module, wing included, and the folder in it, if it is in one."""
    wing, room, *inner = (*name.split('.'), '')[:3] if name.count('.') < 2 else name.split('.')
    is_folder = (PACKAGE / name.replace('.', '/')).is_dir()
    return f'{wing}/{room}', '/'.join((inner if is_folder else inner[:-1])[:1])


@pytest.mark.parametrize('room', RANKS)
def test_a_folder_imports_only_lower_ones_of_its_room(room):
    def rank(folder):
        ranks = RANKS[room]
        return ranks.index(folder if folder in ranks else '*')

    found = {
        (name, other) for name, others in modules().items() for other in others
        if (own := room_and_folder(name)) != (its := room_and_folder(other))
        and own[0] == its[0] == room and rank(own[1]) <= rank(its[1])}
    assert found == set()


def test_no_circle_between_the_folders_of_a_room():
    graph = {}
    for name, others in modules().items():
        for other in others:
            own, its = room_and_folder(name), room_and_folder(other)
            if own != its and own[0] == its[0]:
                graph.setdefault(own, set()).add(its)
    TopologicalSorter(graph).prepare()


def test_all_but_the_nodes_can_be_imported_without_ros():
    names = [f'xplane_bridge.{name}' for name in files() if not may_import_ros(name)]
    code = inspect.getsource(is_ros) + """
import importlib
import sys


class Refusing:
    def find_spec(self, name, path=None, target=None):
        if is_ros(name) or name in GENERATED:
            raise ModuleNotFoundError(name, name='ROS')


GENERATED = {f'xplane_bridge.{name}' for name in ('action', 'msg', 'srv')}
sys.meta_path.insert(0, Refusing())
for name in sys.stdin.read().split():
    try:
        importlib.import_module(name)
    except ImportError as error:
        # Another package that is missing here is no matter of this test.
        if (error.__cause__ or error).name == 'ROS':
            print(name.removeprefix('xplane_bridge.'))
"""
    found = subprocess.run(
        [sys.executable, '-P', '-c', code], input='\n'.join(names), capture_output=True, text=True,
        timeout=60)
    assert not found.returncode, found.stderr
    assert {*found.stdout.split()} == NEED_ROS


def test_an_experiment_declares_no_messages_of_a_protocol():
    """It takes as long as a sixth of its start, and a flight in one process has no wire."""
    found = subprocess.run(
        [sys.executable, '-P', '-c', 'import sys, xplane_bridge.commands.experiment; '
         'print(*(one for one in sys.modules if ".protocol." in one))'],
        stdout=subprocess.PIPE, text=True, check=True).stdout
    assert not found.strip()


def test_no_folder_is_a_hall():
    counts = {
        folder.relative_to(PACKAGE).as_posix(): sum(
            file.name != '__init__.py' for file in folder.glob('*.py'))
        for folder in {file.parent for file in files().values()}}
    assert {name: count for name, count in counts.items() if count > MOST_FILES} == {}


@pytest.mark.parametrize('part', ['protocol', 'session', 'protocols', 'sessions'])
def test_a_conversation_has_no_socket_and_no_clock(part):
    met = {
        (name, one) for name, file in files().items()
        if name.startswith('bridges.') and part in name.split('.')[1:3]
        for one in imports(file) if one.partition('.')[0] in {
            'socket', 'time', 'threading', 'asyncio', 'select', 'serial', 'subprocess'}}
    assert met == set()
