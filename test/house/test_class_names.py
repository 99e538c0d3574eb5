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
A class name stands for one thing in the package: it is defined once.

Only what each conversation has, docs/explanation/sessions.md, has the same name in each protocol.
"""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from xplane_bridge.bridges.protocols.registry import PROTOCOLS, UNBRIDGED

PACKAGE = Path(__file__).resolve().parents[2] / 'xplane_bridge'
# Names that each protocol may define once, with the part of its folder. What all of them derive
# from may have the name too, in a room of bridges/ that they share.
WORDS = {
    'Dialect': 'protocol',
    'Peer': 'session', 'Identity': 'session', 'SpokenDialect': 'session',
    'Requests': 'session', 'Reads': 'session', '_Read': 'session', 'Watch': 'session',
    'Outbox': 'session',
    'Overrides': 'session', 'Reports': 'session',
    'Telemetry': 'session', 'WatchedDatarefs': 'session', 'Statistics': 'session',
    'Publisher': 'node',
}
SHARED = {'protocols', 'sessions'}


def classes(file, text):
    """Yield each class of a file, nested ones included: its name, the file, and its bases."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            yield node.name, file, {
                ast.unparse(base).partition('[')[0].rpartition('.')[2] for base in node.bases}


@cache
def of_package():
    """Return all classes of the package."""
    return [
        found for path in sorted(PACKAGE.rglob('*.py'))
        for found in classes(path.relative_to(PACKAGE).as_posix(), path.read_text('utf-8'))]


def repeated(found):
    """Return the places of each name that is defined more often than it may be."""
    places = defaultdict(list)
    for name, file, bases in found:
        places[name].append((file, bases))
    return {
        name: [file for file, _ in there] for name, there in places.items()
        if len(there) > 1 and not is_word(name, there)}


def is_word(name, there):
    """Return whether these are what each protocol has, and what they derive from, if anything."""
    owners, shared = [], []
    for file, bases in there:
        match file.split('/'):
            case ['bridges', room, *_] if room in SHARED:
                shared.append(file)
            case ['bridges', protocol, part, _, *_] if (
                    protocol in {*PROTOCOLS, *UNBRIDGED} and part == WORDS.get(name)):
                owners.append((protocol, name in bases))
            case _:
                return False
    return (
        len({protocol for protocol, _ in owners}) == len(owners) and len(shared) <= 1
        and (not shared or all(derived for _, derived in owners)))


def test_a_class_name_is_defined_once():
    assert repeated(of_package()) == {}


def test_each_word_is_said_by_several_protocols():
    names = [name for name, _, _ in of_package()]
    assert [word for word in WORDS if names.count(word) < 2] == []


@pytest.mark.parametrize(('file', 'text', 'name'), [
    ('laboratory/control/other.py', 'class Cascade: pass', 'Cascade'),
    ('commands/other.py', 'class Outer:\n    class Cascade: pass', 'Cascade'),
    ('commands/other.py', 'def make():\n    class Cascade: pass', 'Cascade'),
    # Of a word: outside of bridges/, in another part, twice, in a room that protocols share, and
    # without what the others derive from.
    ('simulation/peers/xpc/outbox.py', 'class Outbox: pass', 'Outbox'),
    ('bridges/ulyssix/node/outbox.py', 'class Outbox: pass', 'Outbox'),
    ('bridges/xpc/session/other.py', 'class Outbox: pass', 'Outbox'),
    ('bridges/sessions/outbox.py', 'class Outbox: pass', 'Outbox'),
    ('bridges/nodes/outbox.py', 'class Outbox: pass', 'Outbox'),
    ('bridges/ulyssix/session/events.py', 'class Telemetry: pass', 'Telemetry'),
])
def test_a_name_that_is_taken_is_found(file, text, name):
    found = repeated([*of_package(), *classes(file, text)])
    assert list(found) == [name]
    assert file in found[name]


@pytest.mark.parametrize(('file', 'text'), [
    ('bridges/ulyssix/session/outbox.py', 'class Outbox: pass'),
    ('bridges/ulyssix/session/requests/reads.py', 'class Reads: pass'),
    ('bridges/ulyssix/session/events.py', 'class Telemetry(base.Telemetry): pass'),
    ('laboratory/control/other.py', 'class NobodyElse: pass'),
])
def test_what_another_protocol_has_too_is_fine(file, text):
    assert repeated([*of_package(), *classes(file, text)]) == {}
