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

"""Test configuration: a private ROS domain, strict message checks, markers, node harness."""

import ast
from functools import cache
import gc
import os
from pathlib import Path
import re
import signal
import sys
from zlib import crc32

import pytest
import ros_tools

from xplane_bridge.laboratory.campaigns.engines import domain

# Tests start thousands of processes; OpenBLAS's threads cost each of them some 0.1 s.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

try:
    import hypothesis
except ImportError:
    import no_hypothesis as hypothesis
    sys.modules['hypothesis'] = hypothesis

# A shared machine stalls now and then; a slow example is not a failure.
hypothesis.settings.register_profile('xplane_bridge', deadline=None)
hypothesis.settings.load_profile('xplane_bridge')
# For hanging tests. Not in setup.cfg: without pytest-timeout that would be a warning.
os.environ.setdefault('PYTEST_TIMEOUT', '300')

# Test markers, by the packages without which a test is skipped.
NEEDS = {
    'ros': {'rclpy', 'xplane_bridge.msg'},
    'sim': {'jsbsim'},
    'ros_tools': {'launch_ros'},
}
# All that package.xml declares; whoever needs more needs optional packages.
DECLARED = set().union(*NEEDS.values()) - {'jsbsim'} | {'serial', 'resource'}

# Groups of tests that run one after the other for minutes.
LONGEST = ('docs', 'flights')

_LONGEST_NAME = 200

# What a file needs to be collected.
_WHOLE_FILE = re.compile(r"^(?:\w+ = )?pytest\.importorskip\(\s*'([\w.]+)'", re.MULTILINE)

# What a shell starts in the background ignores Ctrl-C (colcon in tools/test_sourced.sh), and so
# does what that starts: launch would respawn a node that was interrupted with it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Held as long as this process lives.
_DOMAIN = domain.claim()
os.environ['ROS_DOMAIN_ID'] = str(_DOMAIN.number)
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
os.environ['ROS_PYTHON_CHECK_FIELDS'] = '1'


@pytest.fixture
def ros():
    """Return a harness that spins nodes, collects messages and calls services."""
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
    from harness import Harness
    with Harness() as harness:
        yield harness


@cache
def _skipped_without(path):
    """Return the packages that a file's tests need, by function; key None is the file itself."""
    found = {None: set()}

    def collect(node, name):
        for child in ast.iter_child_nodes(node):
            inner = child.name if name is None and isinstance(child, ast.FunctionDef) else name
            if isinstance(child, ast.Call):
                called = _called(child)
                if called == 'importorskip' and isinstance(child.args[0], ast.Constant):
                    found.setdefault(inner, set()).add(child.args[0].value)
                elif called == 'find_spec':
                    found.setdefault(inner, set()).add('something')
            elif isinstance(child, ast.FunctionDef) and any(
                    isinstance(one, ast.Call) and _called(one) == 'given'
                    for one in child.decorator_list):
                found.setdefault(inner, set()).add('hypothesis')
            collect(child, inner)

    text = path.read_text()
    of_file = _WHOLE_FILE.findall(text)
    found[None].update(of_file)
    # Walking through all files takes each process seconds.
    if text.count('importorskip(') > len(of_file) or 'find_spec(' in text or 'given(' in text:
        collect(ast.parse(text), None)
    return found


def _file_skipped_without(path):
    """Return the packages without which all of a file is skipped, without parsing it."""
    return set(_WHOLE_FILE.findall(path.read_text()))


def _called(call):
    """Return the last name of the function that is called, '' if it has none."""
    return getattr(call.func, 'attr', getattr(call.func, 'id', ''))


def _possible_markers(path):
    """Return the markers that tests of a file may have, without importing it."""
    text = path.read_text()
    packages = set().union(
        *_skipped_without(path).values(),
        *(names for fixture, names in _skipped_without(Path(__file__)).items()
          if fixture and fixture in text))
    return {
        'pure', *(marker for marker, names in NEEDS.items() if packages & names),
        *(('optional',) if packages - DECLARED else ()), *re.findall(r'\bmark\.(\w+)', text)}


def pytest_make_parametrize_id(val, argname):
    """Return a short name for long text: a line of 64 KiB in its output stops colcon for ever."""
    if isinstance(val, str | bytes) and len(val) > _LONGEST_NAME:
        return f'{argname} of {len(val)}'
    return None


def pytest_ignore_collect(collection_path, config):
    """
    Leave out files without a test that ``-m 'pure ...'`` or ``-m 'ONE or ANOTHER'`` chooses.

    Importing all files, ROS among them, takes each process longer than most tests.
    """
    expression = config.option.markexpr
    if collection_path.name.startswith('test_') and collection_path.suffix == '.py':
        if expression.startswith('pure'):
            wanted = _file_skipped_without(collection_path)
            if any(wanted & packages for packages in NEEDS.values()):
                return True
        elif (re.fullmatch(r'\w+( or \w+)*', expression)
                and not _possible_markers(collection_path) & {*expression.split(' or ')}):
            return True
    return None


def pytest_itemcollected(item):
    """
    Mark a test as ros, sim or ros_tools by the packages it needs, or as pure if it needs none.

    Also as optional if it needs, or looks for, more than package.xml declares.
    """
    own, shared = _skipped_without(item.path), _skipped_without(Path(__file__))
    wanted = {*own[None], *own.get(item.originalname, ())}.union(
        *(names.get(fixture, ()) for names in (own, shared) for fixture in item.fixturenames))
    needs = {marker for marker, packages in NEEDS.items() if wanted & packages}
    needs |= {name for name in NEEDS if item.get_closest_marker(name)}
    for name in needs or {'pure'}:
        item.add_marker(name)
    if wanted - DECLARED:
        item.add_marker('optional')


def pytest_collection_modifyitems(config, items):
    """
    In several processes, first the two groups that take longest, then the files mixed.

    By their names those that compute come first, and at the end all processes wait for sockets.
    """
    if getattr(config.option, 'loadgroup', False):
        items.sort(key=lambda item: (
            all(group.args[0] not in LONGEST for group in item.iter_markers('xdist_group')),
            crc32(item.path.name.encode())))


def pytest_collection():
    """Look for garbage only when all tests are collected: until then there is hardly any."""
    gc.disable()


def pytest_collection_finish(session):
    """
    Refuse a pytest-xdist that splits groups: every test would repeat the setup.

    The tests that were collected are not garbage: looking through them cost each test with nodes
    a third of a second.
    """
    gc.enable()
    gc.collect()
    gc.freeze()
    if getattr(session.config.option, 'loadgroup', False):
        for item in session.items:
            if item.get_closest_marker('xdist_group') and '@' not in item.nodeid:
                pytest.exit('this pytest-xdist and this pytest do not group tests', 2)


def pytest_terminal_summary(terminalreporter):
    """Say which of ROS 2's own tools were genuine, which had stand-ins, and which were missing."""
    terminalreporter.write_line(ros_tools.used())


@pytest.fixture
def simulator():
    """
    Return a function that starts `simulator NAME ...` and returns its port, if it has one.

    If no port is among the arguments, a free one is used.
    """
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    from contextlib import ExitStack
    import re

    from harness import process
    with ExitStack() as stack:
        def start(protocol, *arguments):
            child = stack.enter_context(process('simulator', protocol, *(
                () if '--port' in arguments else ('--port', '0')), *arguments))
            line = child.stdout.readline()
            assert ' frames/s' in line or ' on ' in line, f'simulator printed: {line}'
            start.children.append(child)
            port = re.search(r':(\d+)', line)
            return int(port[1]) if port else None

        start.children = []
        yield start


@pytest.fixture
def x_plane():
    """Return a function that runs a simulated X-Plane with the plugin in this process."""
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    from contextlib import ExitStack

    from xpc_peer import flying
    with ExitStack() as stack:
        yield lambda *arguments, **options: stack.enter_context(flying(*arguments, **options))
