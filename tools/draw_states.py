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
Draw the tables of states of all conversations: their words, a diagram and the cells of each.

tools/draw_states.py docs/explanation/sessions.md writes them into the page, below its mark.
"""

import ast
from collections import defaultdict
from importlib import import_module
from pathlib import Path
import sys

ROOT = Path(__file__).resolve().parents[1]
BRIDGES = ROOT / 'xplane_bridge/bridges'
MARK = '<!-- Below, all is written by tools/draw_states.py: make states-page -->\n'
# By name of the protocol; any other has its own name.
TITLES = {
    'fdmdata': 'FDMData (Huginn)', 'simpit': 'KerbalSimpit', 'ulyssix': 'Ulyssix',
    'xpc': 'X-Plane Connect', 'xplane_udp': "X-Plane's own UDP"}


def diagram(table, teardowns):
    """
    Return the mermaid diagram of both tables: an arrow between two states for each way.

    Where a peer stands while it is left is not drawn.
    """
    ways = defaultdict(list)
    for key, row in (table | teardowns).items():
        here = key[0] if isinstance(key, tuple) else key
        for event, cell in row.items():
            if key in table or cell.teardown is not None:
                is_left = cell.teardown is not None and cell.teardown.shown
                ways[here, cell.teardown if is_left else cell.state or here].append(event.name)
    first, *_ = table
    return '\n'.join([
        '```mermaid', 'stateDiagram-v2', f'    [*] --> {first.name}',
        *(f'    {state.name} --> {to.name}: {", ".join(dict.fromkeys(happened))}'
          for (state, to), happened in ways.items() if state is not to),
        '```'])


def about(key):
    """Return what is said of a row in its first cell."""
    if isinstance(key, tuple):
        teardown, state = key
        return f'{teardown.name}, in **{state.name}**'
    shown = '' if key.shown == key.name.lower() else f', shown as *{key.shown}*'
    return f'**{key.name}**: {key.sentence}{shown}'


def following(key, cell):
    """Return where a cell of this row leads."""
    if cell.teardown is not None and not cell.teardown.shown:
        return f'ends in **{cell.state.name}**'
    here = key[1] if isinstance(key, tuple) else key
    names = [each.name for each in (cell.teardown, cell.state) if each not in (None, here)]
    return ' in '.join(f'**{name}**' for name in names) or 'stays'


def cells(table):
    """Return a table with a row for each cell, equal ones as one; a state is named once."""
    yield '| in | when | next | what is done |'
    yield '|---|---|---|---|'
    for key, row in table.items():
        said = about(key)
        happened = defaultdict(list)
        for event, cell in row.items():
            happened[cell].append(event.name)
        for cell, names in happened.items():
            does = ', '.join(action.name for action in cell.actions)
            yield f'| {said} | {", ".join(names)} | {following(key, cell)} | {does} |'
            said = ''


def words():
    """Return what the words of the tables mean: what happens, and what is done."""
    machine = import_module('xplane_bridge.bridges.sessions.machine')
    return '\n\n'.join(
        '\n'.join([f'| {title} | |', '|---|---|',
                   *(f'| {word.name} | {word.value} |' for word in kind)])
        for title, kind in (('when', machine.Event), ('what is done', machine.Action)))


def section(protocol):
    """Return the part of the page about one protocol."""
    file = f'bridges/{protocol}/session/states.py'
    source = ROOT / 'xplane_bridge' / file
    said = ast.get_docstring(ast.parse(source.read_text(encoding='utf-8')))
    # The first line of the docstring is the file's title.
    told = said.partition('\n')[2].strip() if said else ''
    states = import_module(f'xplane_bridge.bridges.{protocol}.session.states')
    table, teardowns = states.TABLE, getattr(states, 'TEARDOWN', {})
    link = f'[`{file}`](../../xplane_bridge/{file})'
    return '\n\n'.join([
        f'## {TITLES.get(protocol, protocol)}', f'{link}. {told}'.strip(),
        diagram(table, teardowns), '\n'.join(cells(table | teardowns))])


def page():
    """Return the part of the page that is made from the tables."""
    protocols = sorted(path.parts[-3] for path in BRIDGES.glob('*/session/states.py'))
    return '\n\n'.join([words(), *map(section, protocols)]) + '\n'


def put(text):
    """Return a page's text with its part that is made from the tables made anew."""
    head, mark, _ = text.partition(MARK)
    if not mark:
        raise ValueError(f'the page has no line {MARK.strip()}')
    return f'{head}{mark}\n{page()}'


def main(name):
    """Write the page."""
    path = Path(name)
    path.write_text(put(path.read_text(encoding='utf-8')), encoding='utf-8')


if __name__ == '__main__':
    sys.path.insert(0, str(ROOT))
    main(*sys.argv[1:])
