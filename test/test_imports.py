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

from xplane_bridge.simulators.registry import PROTOCOLS

PACKAGE = Path(__file__).resolve().parent.parent / 'xplane_bridge'

# What each package may import from the others: the table of docs/architecture.md, and no more.
ALLOWED = {
    'protocols': set(),
    'links': {'plain_files'},
    'conversions': {'protocols'},
    'sessions': {'protocols'},
    'simulators': {'control', 'protocols', 'links', 'command_line', 'optional'},
    'control': {'conversions', 'optional', 'plain_yaml'},
    'sensors': {'conversions', 'command_line', 'optional', 'plain_yaml'},
    'maps': {'conversions', 'optional', 'plain_files', 'plain_yaml'},
    'dissect': {'protocols', 'links', 'simulators', 'command_line'},
    'nodes': {
        'sessions', 'conversions', 'maps', 'links', 'protocols', 'simulators', 'sensors',
        'control', 'command_line', 'plain_yaml', 'spinning', 'action', 'msg', 'srv'},
    'episodes': {
        'experiments', 'simulators', 'sensors', 'control', 'conversions', 'sessions', 'protocols',
        'links', 'command_line', 'optional', 'plain_yaml', 'spinning', 'msg', 'srv'},
    'campaigns': {
        'episodes', 'experiments', 'simulators', 'sensors', 'control', 'conversions', 'links',
        'protocols', 'command_line', 'optional', 'plain_files', 'plain_yaml'},
    'export': {
        'experiments', 'conversions', 'maps', 'links', 'protocols', 'sessions', 'simulators',
        'command_line', 'optional', 'plain_files'},
    'experiments': {
        'control', 'conversions', 'links', 'protocols', 'simulators', 'sensors',
        'command_line', 'optional', 'plain_files', 'plain_yaml', 'spinning', 'msg', 'srv'},
    'command_line': {'protocols'},
    'optional': set(),
    'plain_files': set(),
    'plain_yaml': {'plain_files'},
    'spinning': set(),
}
WITH_ROS = {'nodes', 'experiments', 'episodes', 'spinning'}
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
    text = (PACKAGE.parent / 'docs' / 'architecture.md').read_text()
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


@pytest.mark.parametrize('room', ALLOWED)
def test_a_room_imports_what_the_drawing_allows(room):
    for file in rooms()[room]:
        for name in imports(file):
            package, _, rest = name.partition('.')
            if package == 'xplane_bridge':
                other = rest.partition('.')[0]
                assert other in ALLOWED[room] | {room}, f'{file.name} imports {name}'


@pytest.mark.parametrize('room', sorted(set(ALLOWED) - WITH_ROS))
def test_nothing_below_the_nodes_needs_ros(room):
    for file in rooms()[room]:
        for name in imports(file):
            package = name.partition('.')[0]
            assert package == 'rosbags' or not package.startswith(
                ('rclpy', 'ros', 'launch', 'ament')), f'{file.name} imports {name}'
            assert not package.endswith(('_msgs', '_interfaces')), f'{file.name} imports {name}'


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
