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
from pathlib import Path
import re

import pytest

from xplane_bridge.protocols.registry import PROTOCOLS

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
    'nodes': {*BELOW_NODES, 'action', 'msg', 'srv'},
    'places': {'control', 'simulators', 'flights'},
    'experiments': {'conversions', 'control', 'sensors', 'simulators', 'flights', 'places'},
    'episodes': {'conversions', 'control', 'aircraft', 'flights', 'places'},
    'campaigns': {'control', 'simulators', 'flights', 'places', 'experiments'},
    'export': {'protocols', 'links', 'conversions', 'sessions', 'flights'},
    'commands': {
        *BELOW_NODES, 'nodes', 'places', 'experiments', 'episodes', 'campaigns', 'export'},
    # It imports a command by its name.
    '__main__': set(),
}
WITH_ROS = {'nodes'}
# What still stands on another floor than its own; ROS among them. Each must be needed.
EXCEPTIONS = {
    'campaigns/engines/isolated.py': {'nodes'},
    'episodes/reward.py': {'experiments'},
    'experiments/fly.py': {'ROS', 'nodes'},
    'flights/core.py': {'experiments', 'nodes'},
    'flights/scenario/start.py': {'experiments'},
    'flights/stepped.py': {'experiments'},
    'nodes/flight/display.py': {'experiments'},
    'nodes/flight/ros_flight.py': {'experiments'},
    'nodes/flight/simulation.py': {'experiments'},
    'nodes/flight/start.py': {'experiments'},
}
MOST_FILES = 15
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
            if node.module == 'xplane_bridge':
                yield from (f'xplane_bridge.{alias.name}' for alias in node.names)
            else:
                yield node.module


@cache
def rooms():
    """Return each package with its files."""
    found = {}
    for file in sorted(PACKAGE.rglob('*.py')):
        name = file.relative_to(PACKAGE).with_suffix('').parts[0]
        if name != '__init__':
            found.setdefault(name, []).append(file)
    return found


def test_each_room_has_its_rule():
    assert rooms().keys() == ALLOWED.keys()


def test_the_page_about_the_architecture_has_these_rules():
    text = (PACKAGE.parent / 'docs' / 'explanation' / 'architecture.md').read_text()
    rules = text.partition('## Who may import whom')[2].partition('\n## ')[0]
    assert {room: set(re.findall(r'`(\w+)`', others)) for room, others in re.findall(
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


def strangers(file, room):
    """Return the floors that a file imports and its floor does not allow, and ROS."""
    found = set()
    for name in imports(file):
        package, _, rest = name.partition('.')
        if package == 'xplane_bridge':
            found.add(rest.partition('.')[0])
        elif is_ros(name) and room not in WITH_ROS:
            found.add('ROS')
    return found - ALLOWED[room] - {room, 'common'}


@pytest.mark.parametrize('room', ALLOWED)
def test_a_room_imports_what_the_drawing_allows(room):
    found = {
        file.relative_to(PACKAGE).as_posix(): others
        for file in rooms()[room] if (others := strangers(file, room))}
    assert found == {
        name: others for name, others in EXCEPTIONS.items()
        if Path(name).with_suffix('').parts[0] == room}


def test_no_folder_is_a_hall():
    counts = {
        folder.relative_to(PACKAGE).as_posix(): sum(
            file.name != '__init__.py' for file in folder.glob('*.py'))
        for folder in {file.parent for files in rooms().values() for file in files}}
    assert {name: count for name, count in counts.items() if count > MOST_FILES} == {}


@pytest.mark.parametrize('room', ['protocols', 'sessions'])
def test_a_conversation_has_no_socket_and_no_clock(room):
    for file in rooms()[room]:
        met = {name.partition('.')[0] for name in imports(file)} & {
            'socket', 'time', 'threading', 'asyncio', 'select', 'serial', 'subprocess'}
        assert not met, f'{file.name} imports {met}'


@pytest.mark.parametrize('room', COLUMNS)
def test_no_protocol_knows_another(room):
    for file in rooms()[room]:
        own = file.relative_to(PACKAGE / room).with_suffix('').parts[0]
        if own not in PROTOCOLS:
            continue
        for name in imports(file):
            for part in name.split('.')[1:]:
                assert part == own or part not in PROTOCOLS, f'{file} imports {name}'
