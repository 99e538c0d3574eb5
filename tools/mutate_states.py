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
Change each cell of a table of states, one at a time; print the changes that no test notices.

tools/mutate_states.py PROTOCOL [PART] [-- PYTEST_ARGS]

Each mutant removes a cell, drops one of its actions, or leads to another state. The tests are
those of the protocol's session, or PYTEST_ARGS; PART selects the mutants whose names contain it.
"""

import importlib
import os
from pathlib import Path
import subprocess
import sys

ROOT = Path(__file__).resolve().parents[1]
VARIABLE = 'STATES_MUTANT'
# Seconds for one test: some mutants make a conversation that never ends.
LONGEST_TEST = 20


def mutants(table):
    """Yield the name of each mutant, its state, what happens, and the cell, None to remove it."""
    from xplane_bridge.bridges.sessions.machine import Cell

    for state, row in table.items():
        for event, cell in row.items():
            name = f'{state.name} {event.name}'
            yield f'{name} does nothing', state, event, None
            for place, action in enumerate(cell.actions):
                rest = cell.actions[:place] + cell.actions[place + 1:]
                yield (f'{name} without {place + 1} {action.name}', state, event,
                       Cell(cell.state, rest))
            if cell.state is not state and cell.actions:
                yield f'{name} stays', state, event, Cell(state, cell.actions)
            others = [each for each in table if each not in (state, cell.state)]
            for other in others[:1]:
                yield f'{name} to {other.name}', state, event, Cell(other, cell.actions)


def table_of(protocol):
    """Return the table of a protocol."""
    return importlib.import_module(f'xplane_bridge.bridges.{protocol}.session.states').TABLE


def mutate():
    """Change the table in this process, as the variable says."""
    protocol, _, wanted = os.environ[VARIABLE].partition(': ')
    if not wanted:
        return
    table = table_of(protocol)
    state, event, cell = next(
        found for name, *found in mutants(table) if name == wanted)
    # Rows may be shared by states.
    row = dict(table[state])
    if cell is None:
        del row[event]
    else:
        row[event] = cell
    table[state] = row


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
    names = [name for name, *_ in mutants(table_of(protocol)) if part in name]
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
