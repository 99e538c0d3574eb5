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

"""docs/how-to/troubleshooting.md has every diagnostics message that reports a problem."""

import ast
from importlib import import_module
from pathlib import Path
import re

import pytest

from xplane_bridge.bridges.links.causes import CAUSES
from xplane_bridge.bridges.protocols.registry import PROTOCOLS
from xplane_bridge.bridges.sessions.base import Session

ROOT = Path(__file__).resolve().parents[2]
RAW = (ROOT / 'docs' / 'how-to' / 'troubleshooting.md').read_text()
PAGE = re.sub(r'\s+', ' ', RAW)
# The method of a node that returns the problems of a responding peer.
FAULT = 'peer_fault'
PACKAGE = ROOT / 'xplane_bridge'
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob('*.py')
               if {'node', 'nodes'} & {*path.parts}
               and ('Status(' in path.read_text() or FAULT in path.read_text()))
# Where a status text is assembled before use.
NAMES = {'text', 'message', 'sentence'}
BAD = {'WARN', 'ERROR', 'STALE'}
# The other branch of a condition: all is well.
FINE = {'arriving', 'watched', 'published', 'engaged', 'not published here', 'playing a capture',
        'by /clock', 'nothing impossible', 'played to its end', 'being played',
        'no parameter yet', 'parameters within their limits', 'not used', 'web_port is 0'}
# Peer states in which all is well.
WELL = {'answering', 'telemetry arrives', 'sending'}


def names(tree):
    """Return the names within an expression."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def texts(tree, constants):
    """Return the fixed parts of an expression's strings that are long enough to search for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in constants:
            yield from texts(constants[node.id], {})
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            for part in re.split(r'[;:]', node.value):
                if len(part.strip(' .,;:')) > 5:
                    yield part.strip(' .,;:')


def assigned(node, constants):
    """Return what an assignment to a status's sentence says, if that is what it is."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        if names(target) & NAMES and names(node.value.elts[0]) & BAD:
            yield from texts(node.value.elts[1], constants)
    elif isinstance(target, ast.Name) and target.id in NAMES:
        yield from texts(node.value, constants)


def sentences(path):
    """Return the status messages of a module that report a problem."""
    module = ast.parse(path.read_text())
    constants = {
        node.targets[0].id: node.value for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)}
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) \
                and node.func.id == 'Status' and len(node.args) > 2:
            # With a condition the level has one of several names.
            if names(node.args[1]) & BAD:
                yield from texts(node.args[2], constants)
        elif isinstance(node, (ast.Assign, ast.AugAssign)):
            yield from assigned(node, constants)
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) \
                and len(node.value.elts) == 2 \
                and names(node.value.elts[0]) & BAD:
            yield from texts(node.value.elts[1], constants)
        elif isinstance(node, ast.FunctionDef) and node.name == FAULT:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Return) and inner.value is not None:
                    yield from texts(inner.value, constants)


def sessions(name):
    """Return the sessions of a protocol."""
    module = import_module(f'xplane_bridge.bridges.{name}.session')
    return [found for found in vars(module).values()
            if isinstance(found, type) and issubclass(found, Session)]


def states(name):
    """Return the names of a session's peer states that mean a problem."""
    for found in sessions(name):
        yield from set(found.sentences.values()) - WELL


def rows(text):
    """Return the first cells of the page's tables, where messages are."""
    return [line.split(' | ')[0] for line in text.splitlines() if line.startswith('| ')]


@pytest.mark.parametrize('file', FILES)
def test_each_sentence_of_a_node_is_there(file):
    absent = {text for text in sentences(PACKAGE / file)
              if text not in FINE and re.sub(r'\s+', ' ', text) not in PAGE}
    assert not absent, f'docs/how-to/troubleshooting.md does not say what to do about {absent}'


@pytest.mark.parametrize('cause', CAUSES, ids=lambda cause: cause.sentence[:30])
def test_each_cause_is_one_row_in_the_words_of_all_who_say_it(cause):
    words = [part.strip(' ,:;') for text in cause for part in re.split(r'\{\w+\}|: ', text)
             if 'sysctl' not in part]
    found = [row for row in rows(RAW) if all(part in row for part in words)]
    assert len(found) == 1, words


@pytest.mark.parametrize('name', PROTOCOLS)
def test_what_can_be_done_about_a_state_stands_behind_it(name):
    for session in sessions(name):
        for state, advice in session.advice.items():
            if not advice.startswith('waiting for'):
                assert any(session.sentences[state] in row and advice in row
                           for row in rows(RAW)), (state, advice)


@pytest.mark.parametrize('name', PROTOCOLS)
def test_each_state_of_a_peer_is_there(name):
    found = list(states(name))
    assert found
    absent = {text for text in found if text not in PAGE}
    assert not absent, f'docs/how-to/troubleshooting.md does not say what to do about {absent}'
