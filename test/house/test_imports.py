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

"""Who imports whom: the layers of the package, and what needs ROS."""

import ast
from functools import cache
from graphlib import TopologicalSorter
import inspect
from pathlib import Path
import re
import subprocess
import sys

import pytest

from xplane_bridge.bridges.protocols.registry import PROTOCOLS

PACKAGE = Path(__file__).resolve().parents[2] / 'xplane_bridge'

# What each floor may import of the others, besides ``common``: the table of
# docs/explanation/architecture.md.
BELOW_NODES = {
    'protocols': set(),
    'links': set(),
    'conversions': {'protocols'},
    'sessions': {'protocols'},
    'control': {'conversions'},
    'sensors': {'conversions'},
    'aircraft': {'control'},
    'simulators': {'protocols', 'links', 'aircraft'},
    'flights': {
        'protocols', 'conversions', 'sessions', 'control', 'sensors', 'aircraft', 'simulators'},
}
ALLOWED = {
    'common': set(),
    **BELOW_NODES,
    'identification': {'conversions', 'control', 'sensors', 'aircraft', 'flights'},
    'nodes': {*BELOW_NODES, 'action', 'msg', 'srv'},
    'places': {'control', 'simulators', 'flights'},
    'experiments': {'conversions', 'control', 'sensors', 'simulators', 'flights', 'places'},
    'episodes': {'conversions', 'control', 'aircraft', 'flights', 'places'},
    'campaigns': {'control', 'simulators', 'flights', 'places', 'experiments'},
    'export': {'protocols', 'links', 'conversions', 'sessions', 'flights'},
    'commands': {
        *BELOW_NODES, 'nodes', 'places', 'experiments', 'episodes', 'campaigns', 'export',
        'identification'},
    # It imports a command by its name.
    '__main__': set(),
}
WITH_ROS = {'nodes'}
# Who needs ROS although it is on a floor without: it flies nothing but controllers through ROS.
NEED_ROS = {'commands.check_controller'}
# The folders within a floor, the lowest first; '' is the floor's own files, '*' any other folder:
# those do not import one another.
RANKS = {
    'flights': ('scenario', 'recordings', 'analysis', 'conduct', '', 'fleet'),
    'campaigns': ('plan', 'table', 'engines', 'report', ''),
    'nodes': ('managed', 'common', 'vehicle', '*', ''),
}
MOST_FILES = 17
# The modules that each protocol has in each column, whatever else it adds.
COLUMNS = {
    'protocols': {'messages', 'codec'},
    'sessions': {'session', 'events'},
    'nodes': {'parameters', 'node', 'messages'},
    'simulators': {'frontend'},
}


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
def floors():
    """Return each package with its files."""
    found = {}
    for file in sorted(PACKAGE.rglob('*.py')):
        name = file.relative_to(PACKAGE).with_suffix('').parts[0]
        if name != '__init__':
            found.setdefault(name, []).append(file)
    return found


def test_each_room_has_its_rule():
    assert floors().keys() == ALLOWED.keys()


def test_the_page_about_the_architecture_has_these_rules():
    text = (PACKAGE.parent / 'docs' / 'explanation' / 'architecture.md').read_text()
    rules = text.partition('## Who may import whom')[2].partition('\n## ')[0]
    assert {floor: set(re.findall(r'`(\w+)`', others)) for floor, others in re.findall(
        r'^\| `(\w+)` \|(.*)\|$', rules, re.MULTILINE)} == ALLOWED


def test_the_rules_have_no_circle():
    assert {*TopologicalSorter(ALLOWED).static_order()} >= ALLOWED.keys()


@pytest.mark.parametrize('column', COLUMNS)
@pytest.mark.parametrize('protocol', PROTOCOLS)
def test_each_protocol_has_the_same_files_in_every_column(protocol, column):
    files = {path.stem for path in (PACKAGE / column / protocol).glob('*.py')}
    assert files >= COLUMNS[column]


def is_ros(name):
    """Return whether a module is ROS's."""
    package = name.partition('.')[0]
    return package != 'rosbags' and (
        package.startswith(('rclpy', 'ros', 'launch', 'ament'))
        or package.endswith(('_msgs', '_interfaces')))


@cache
def modules():
    """Return each module of the package, by its name there, with those that it imports."""
    files = {
        '.'.join(file.relative_to(PACKAGE).with_suffix('').parts).removesuffix('.__init__'): file
        for of_floor in floors().values() for file in of_floor}
    found = {}
    for name, file in files.items():
        whole = {one.removeprefix('xplane_bridge.') for one in imports(file)}
        found[name] = {one if one in files else one.rpartition('.')[0] for one in whole} & {
            *files} - {name}
    return found


def folder_of(name):
    """Return the floor of a module, and the folder in it; that of a protocol is not divided."""
    floor, *inner = name.split('.')
    is_folder = (PACKAGE / name.replace('.', '/')).is_dir()
    return floor, '/'.join((inner if is_folder else inner[:-1])[:1])


def strangers(file, floor):
    """Return the floors that a file imports and its floor does not allow, and ROS."""
    found = set()
    for name in imports(file):
        package, _, rest = name.partition('.')
        if package == 'xplane_bridge':
            found.add(rest.partition('.')[0])
        elif is_ros(name) and floor not in WITH_ROS:
            found.add('ROS')
    return found - ALLOWED[floor] - {floor, 'common'}


@pytest.mark.parametrize('floor', ALLOWED)
def test_a_floor_imports_what_the_drawing_allows(floor):
    found = {
        file.relative_to(PACKAGE).as_posix(): others
        for file in floors()[floor] if (others := strangers(file, floor))}
    assert found == {}


def test_no_circle_between_files():
    TopologicalSorter(modules()).prepare()


def test_no_circle_between_the_folders_of_a_floor():
    graph = {}
    for name, others in modules().items():
        # The list of protocols has to import them.
        for other in others if name != 'protocols.registry' else ():
            if folder_of(name) != folder_of(other):
                graph.setdefault(folder_of(name), set()).add(folder_of(other))
    TopologicalSorter({
        (floor, own): {other for other in others if other[0] == floor}
        for (floor, own), others in graph.items()}).prepare()


@pytest.mark.parametrize('floor', RANKS)
def test_a_folder_imports_only_lower_ones_of_its_floor(floor):
    def rank(folder):
        ranks = RANKS[floor]
        return ranks.index(folder if folder in ranks else '*')

    found = {
        (name, other) for name, others in modules().items() for other in others
        if (own := folder_of(name)) != (its := folder_of(other))
        and own[0] == its[0] == floor and rank(own[1]) <= rank(its[1])}
    assert found == set()


def test_all_but_the_nodes_can_be_imported_without_ros():
    names = [f'xplane_bridge.{name}' for name in modules() if folder_of(name)[0] not in WITH_ROS]
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


def test_no_folder_is_a_hall():
    counts = {
        folder.relative_to(PACKAGE).as_posix(): sum(
            file.name != '__init__.py' for file in folder.glob('*.py'))
        for folder in {file.parent for files in floors().values() for file in files}}
    assert {name: count for name, count in counts.items() if count > MOST_FILES} == {}


@pytest.mark.parametrize('floor', ['protocols', 'sessions'])
def test_a_conversation_has_no_socket_and_no_clock(floor):
    for file in floors()[floor]:
        met = {name.partition('.')[0] for name in imports(file)} & {
            'socket', 'time', 'threading', 'asyncio', 'select', 'serial', 'subprocess'}
        assert not met, f'{file.name} imports {met}'


@pytest.mark.parametrize('floor', COLUMNS)
def test_no_protocol_knows_another(floor):
    for file in floors()[floor]:
        own = file.relative_to(PACKAGE / floor).with_suffix('').parts[0]
        if own not in PROTOCOLS:
            continue
        for name in imports(file):
            for part in name.split('.')[1:]:
                assert part == own or part not in PROTOCOLS, f'{file} imports {name}'
