#!/usr/bin/env python3
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
Change each cell of the tables of states, one at a time; print the changes that no test notices.

tools/mutate_states.py PROTOCOL [PART] [-- PYTEST_ARGS]

Each mutant removes a cell, drops one of its actions, leads to another state, or neither begins nor
ends to leave the peer. The tests are those of the protocol's session, or PYTEST_ARGS; PART selects
the mutants whose names contain it.
"""

from dataclasses import replace
import importlib
import os
from pathlib import Path
import subprocess
import sys

ROOT = Path(__file__).resolve().parents[1]
VARIABLE = 'STATES_MUTANT'
# Seconds for one test: some mutants make a conversation that never ends.
LONGEST_TEST = 20


def mutants(tables):
    """Yield the name of each mutant, its row, what happens, and the cell, None to remove it."""
    from xplane_bridge.bridges.sessions.machine import Cell

    cells = [
        (key, event, cell) for table in tables
        for key, row in table.items() for event, cell in row.items()]
    for key, event, cell in cells:
        *words, state = key if isinstance(key, tuple) else (key,)
        name = ' '.join(word.name for word in (*words, state, event))
        yield f'{name} does nothing', key, event, None
        for place, action in enumerate(cell.actions):
            rest = cell.actions[:place] + cell.actions[place + 1:]
            yield (f'{name} without {place + 1} {action.name}', key, event,
                   replace(cell, actions=rest))
        if cell.state not in (state, None) and cell.actions:
            yield f'{name} stays', key, event, Cell(None, cell.actions)
        if cell.teardown is not None:
            yield f'{name} without {cell.teardown.name}', key, event, replace(cell, teardown=None)
        others = [each for each in tables[0] if each not in (state, cell.state)]
        for other in others[:1]:
            yield f'{name} to {other.name}', key, event, replace(cell, state=other)


def tables_of(protocol):
    """Return the tables of a protocol."""
    states = importlib.import_module(f'xplane_bridge.bridges.{protocol}.session.states')
    return states.TABLE, getattr(states, 'TEARDOWN', {})


def mutate():
    """Change the table in this process, as the variable says."""
    protocol, _, wanted = os.environ[VARIABLE].partition(': ')
    if not wanted:
        return
    tables = tables_of(protocol)
    key, event, cell = next(
        found for name, *found in mutants(tables) if name == wanted)
    table = next(each for each in tables if key in each)
    # Rows may be shared by states.
    row = dict(table[key])
    if cell is None:
        del row[event]
    else:
        row[event] = cell
    table[key] = row


def survives(protocol, name, arguments):
    """Return whether the tests pass with a mutant, or with none if it has no name."""
    environment = os.environ | {
        VARIABLE: f'{protocol}: {name}', 'PYTEST_TIMEOUT': str(LONGEST_TEST),
        'PYTHONPATH': os.pathsep.join((str(ROOT), str(ROOT / 'tools')))}
    return subprocess.run(
        [sys.executable, '-P', '-m', 'pytest', '-q', '-x', '-p', 'mutate_states', *arguments],
        cwd=ROOT, env=environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, check=False).returncode == 0


def main(arguments):
    """Run the tests with each mutant."""
    arguments, _, given = ' '.join(arguments).partition(' -- ')
    protocol, _, part = arguments.partition(' ')
    short = protocol.partition('_')[0]
    tests = given.split() or [
        '-k', short, *map(str, sorted((ROOT / 'test/bridges/sessions').rglob('test_*.py')))]
    sys.path.insert(0, str(ROOT))
    if not survives(protocol, '', tests):
        sys.exit('The tests fail, or there are none, without any mutant.')
    names = [name for name, *_ in mutants(tables_of(protocol)) if part in name]
    survivors = []
    for number, name in enumerate(names, 1):
        if survives(protocol, name, tests):
            survivors.append(name)
            print(f'{number}/{len(names)} survives: {name}', flush=True)
    print(f'{len(names)} mutants, {len(survivors)} survive')


if __name__ == '__main__':
    main(sys.argv[1:])
elif VARIABLE in os.environ:
    mutate()
