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

"""Limits on the length of functions and files; exceptions carry a reason."""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ('xplane_bridge', 'benchmarks', 'examples', 'launch', 'tools', 'test')
# A file is a chapter; the licence is not counted.
MOST_LINES, LICENCE = 600, 14
MOST_LINES_OF_A_FUNCTION = 60

# Longer files, with reasons. Test files are exempt: tables of cases are long, and related tests
# belong together.
FILES = {
    'xplane_bridge/bridges/xpc/session/session.py':
        'What the bridge calls, what the link does, and how it is left; its parts have modules.',
    'xplane_bridge/bridges/xpc/session/overrides.py':
        'What is taken, from each command to the report that shows it given back.',
    'xplane_bridge/bridges/simpit/session/session.py':
        'Both what the bridge calls and what the serial link does; its parts have modules.',
}
# Longer functions, with reasons.
FUNCTIONS = {
    'test/bridges/fdmdata/node/test_fdmdata_node.py:test_hand_computed_case':
        'One attitude worked out by hand, compared in every topic.',
    'test/bridges/nodes/vehicle/test_simulator_time.py:'
    'test_ros_time_through_configuration_gap_new_flight_and_restart':
        'One life of one node, whose clock must never run backwards from the first to the last.',
    'test/bridges/xpc/node/test_xpc_node_telemetry.py:test_every_field_in_a_climbing_turn_is_jsbsims':
        'One moment of one flight, compared in every field.',
}


def functions(path):
    """Return the length of each function of a file, by name."""
    found = {}

    def measure(nodes):
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found[node.name] = max(
                    node.end_lineno - node.lineno + 1, found.get(node.name, 0))
            elif hasattr(node, 'body'):
                measure(node.body)

    measure(ast.parse(path.read_text()).body)
    return found


@cache
def sources():
    """Return all Python files, keyed by path in the repository."""
    return {
        path.relative_to(ROOT).as_posix(): path
        for folder in FOLDERS for path in sorted((ROOT / folder).rglob('*.py'))}


def test_a_file_has_at_most_600_lines():
    long = {
        name for name, path in sources().items() if not name.startswith('test/')
        and len(path.read_text().splitlines()) - LICENCE > MOST_LINES}
    assert long == FILES.keys()


@pytest.mark.slow
def test_a_function_has_at_most_60_lines():
    long = {
        f'{name}:{function}' for name, path in sources().items()
        for function, lines in functions(path).items() if lines > MOST_LINES_OF_A_FUNCTION}
    assert long == FUNCTIONS.keys()


def test_each_exception_says_why():
    assert all(reason.endswith('.') for reason in (FILES | FUNCTIONS).values())
