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
How conversations are built, read from their sources: one table, one director.

Only the table changes a state, only the base tells it, and no part of a conversation knows another
of its rank: the table of docs/explanation/architecture.md.
"""

import ast
from importlib import import_module
from pathlib import Path
import re

import pytest

from xplane_bridge.bridges.sessions.machine import Action, Event, State, Teardown, total

ROOT = Path(__file__).resolve().parents[2]
BRIDGES = ROOT / 'xplane_bridge/bridges'
SESSIONS = BRIDGES / 'sessions'
PROTOCOLS = ('fdmdata', 'simpit', 'ulyssix', 'xpc', 'xplane_udp')
# Rules that a protocol does not obey yet, with the reason. What it obeys must not be here.
# Rows of the table in docs/explanation/architecture.md; OTHERS stands for the files that are not
# named there.
ROW = re.compile(r'^\| ([1-9]) \| (`.*?) \|', re.MULTILINE)
OTHERS = 'any other'
# Actions that bridges/sessions/base.py does for all.
TOLD_BY_BASE = {'TELL_STATE'}


def ranks():
    """Return the rank of each file by its name, 1 for the highest."""
    text = (ROOT / 'docs/explanation/architecture.md').read_text(encoding='utf-8')
    part = text.split('## Ranks within a conversation', 1)[1].split('\n## ', 1)[0]
    return {
        name: int(rank) for rank, names in ROW.findall(part)
        for name in re.findall(r'`([\w ]+)`', names)}


RANKS = ranks()
CHILDREN = RANKS[OTHERS]


def parsed(path):
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding='utf-8'))


def files(protocol):
    """Return the files of a conversation by their dotted names in it, without its face."""
    folder = BRIDGES / protocol / 'session'
    found = {}
    for path in sorted(folder.rglob('*.py')):
        parts = path.relative_to(folder).with_suffix('').parts
        if parts[-1] == '__init__':
            parts = parts[:-1]
        if parts:
            found['.'.join(parts)] = path
    return found


def rank(name):
    """Return the rank of a file."""
    return RANKS.get(name.rpartition('.')[2], CHILDREN)


def assigned(tree, attribute):
    """Return the lines that assign this attribute."""
    return [
        node.lineno for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for part in ast.walk(target)
        if isinstance(part, ast.Attribute) and part.attr == attribute
        and isinstance(part.ctx, ast.Store)]


def called(tree, name):
    """Return the lines that call this."""
    return [
        node.lineno for node in ast.walk(tree)
        if isinstance(node, ast.Call) and name in (
            getattr(node.func, 'id', ''), getattr(node.func, 'attr', ''))]


def imports(protocol, tree):
    """Return the files of its conversation that a file imports, by name, with what."""
    prefix = f'xplane_bridge.bridges.{protocol}.session'
    known = files(protocol)
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and (
                node.module == prefix or node.module.startswith(prefix + '.')):
            name = node.module[len(prefix) + 1:]
            for alias in node.names:
                part = f'{name}.{alias.name}'.lstrip('.')
                found.setdefault(part if part in known else name, set()).add(alias.name)
    return found


def states(protocol):
    """Return the tables of a conversation: where the peer stands, and while it is left."""
    found = import_module(f'xplane_bridge.bridges.{protocol}.session.states')
    return found.TABLE, getattr(found, 'TEARDOWN', {})


def cells(protocol):
    """Return the cells of both tables."""
    return [
        cell for table in states(protocol) for row in table.values() for cell in row.values()]


def values(tree):
    """Return the names of classes that hold values only."""
    return {
        node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and (
            any('frozen=True' in ast.unparse(each) for each in node.decorator_list)
            or {ast.unparse(base) for base in node.bases} & {
                'NamedTuple', 'Enum', 'IntEnum', 'Flag', 'IntFlag', 'Protocol'})}


# Each rule gives the places that break it.

def table(protocol):
    """Check that it has a table."""
    return [] if (BRIDGES / protocol / 'session/states.py').exists() else ['no states.py']


def state(protocol):
    """Check that only machine.py changes a state."""
    return [f'{name}:{line}' for name, path in files(protocol).items()
            for word in ('state', 'teardown') for line in assigned(parsed(path), word)]


def told(protocol):
    """Check that only base.py makes PeerChanged, and changes the state that is shown."""
    return [f'{name}:{line}' for name, path in files(protocol).items()
            for line in (*assigned(parsed(path), 'peer_state'),
                         *called(parsed(path), 'PeerChanged'))]


def actions(protocol):
    """Check that the session has a branch for each action of its table, and for no other."""
    wanted = {
        action.name for cell in cells(protocol) for action in cell.actions} - TOLD_BY_BASE
    done, has_default = set(), False
    for node in ast.walk(parsed(BRIDGES / protocol / 'session/session.py')):
        if isinstance(node, ast.match_case):
            text = ast.unparse(node.pattern)
            has_default |= text == '_' and 'super()._do(' in ast.unparse(node)
            done |= {text.removeprefix('Action.')} if text.startswith('Action.') else set()
    return [*sorted(wanted ^ done), *(() if has_default else ['an unknown action passes'])]


def rank_of_imports(protocol):
    """Check that imports go down; children, and what is below them, also import their own."""
    return [
        f'{name} imports {other}' for name, path in files(protocol).items()
        for other in imports(protocol, parsed(path))
        if rank(other) < rank(name) or (rank(other) == rank(name) < CHILDREN)]


def rank_of_parts(protocol):
    """Check that no constructor is given a part of its own rank or a higher one."""
    known, found = files(protocol), []
    for name, path in known.items():
        tree = parsed(path)
        parts = {
            each for other, names in imports(protocol, tree).items()
            if other in known and rank(other) <= rank(name)
            for each in names - values(parsed(known[other]))}
        parts |= {node.name for node in tree.body if isinstance(node, ast.ClassDef)} - values(tree)
        found += [
            f'{name}: {node.name} is given {part}'
            for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
            for function in node.body
            if isinstance(function, ast.FunctionDef) and function.name == '__init__'
            for argument in (*function.args.args, *function.args.kwonlyargs)
            if argument.annotation is not None
            for part in parts & set(re.findall(r'\w+', ast.unparse(argument.annotation)))]
    return found


def reached(protocol):
    """Check that each row is of a state that both tables lead to, and each of these has one."""
    table, teardowns = states(protocol)
    rows = total(table, teardowns)
    found, new = set(), {(State.OFF, Teardown.NONE)}
    while new:
        found |= new
        new = {
            (cell.state, cell.teardown)
            for here in new for cell in rows.get(here, {}).values()} - found
    named = {(state, Teardown.NONE) for state in table}
    named |= {(state, teardown) for teardown, state in (
        key for key in teardowns if isinstance(key, tuple))}
    return [*sorted(map(str, found - rows.keys())), *sorted(map(str, named - found))]


def ends(protocol):
    """Check that being left ends when it is over, and in a state that can be left again."""
    _, teardowns = states(protocol)
    over = {Event.START, Event.SHOWN, Event.EXPIRED, Event.ENDED, Event.UNPLUGGED}
    return [
        f'{key} {event}: {cell}' for key, row in teardowns.items() for event, cell in row.items()
        if (event in over) is not (cell.teardown is Teardown.NONE) or (event in over) is not (
            cell.state is not None
            and cell.state.shown in ('unknown', 'searching', 'closed'))]


RULES = {rule.__name__: rule for rule in (
    table, state, told, actions, reached, ends, rank_of_imports, rank_of_parts)}


@pytest.mark.parametrize('protocol', PROTOCOLS)
@pytest.mark.parametrize('rule', RULES)
def test_a_conversation_obeys(rule, protocol):
    assert RULES[rule](protocol) == []


def test_shared_files_change_no_state_but_the_machine_and_tell_none_but_the_base():
    trees = {path.stem: parsed(path) for path in SESSIONS.glob('*.py')}
    for word in ('state', 'teardown'):
        assert {name for name, tree in trees.items() if assigned(tree, word)} == {'machine'}
    assert {name for name, tree in trees.items() if assigned(tree, 'peer_state')} == {'base'}
    assert {name for name, tree in trees.items() if called(tree, 'PeerChanged')} == {'base'}


def test_each_word_of_the_machine_is_in_a_table():
    used = set()
    for protocol in PROTOCOLS:
        for table in states(protocol):
            for found, row in table.items():
                used |= {*(found if isinstance(found, tuple) else (found,)), *row}
        for cell in cells(protocol):
            used |= {cell.state, cell.teardown, *cell.actions}
    assert used - {None} == {*State, *Teardown, *Event, *Action}


def test_each_protocol_is_here():
    assert set(PROTOCOLS) == {
        path.name for path in BRIDGES.iterdir() if (path / 'session/session.py').exists()}


def test_the_session_is_above_all_and_data_below_all():
    assert RANKS['session'] < RANKS['peer'] == RANKS['outbox'] < CHILDREN < RANKS['states']
