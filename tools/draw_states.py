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
Draw the tables of states of all conversations, as diagrams and as sentences.

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


def diagram(table):
    """Return the mermaid diagram of a table: an arrow between two states for each way."""
    ways = defaultdict(list)
    for state, row in table.items():
        for event, cell in row.items():
            ways[state, cell.state].append(event.name)
    first, *_ = table
    return '\n'.join([
        '```mermaid', 'stateDiagram-v2', f'    [*] --> {first.name}',
        *(f'    {state.name} --> {to.name}: {", ".join(happened)}'
          for (state, to), happened in ways.items() if state is not to),
        '```'])


def cells(table):
    """Return a table with a row for each cell; a state is named in its first one."""
    yield '| in | when | next | what is done |'
    yield '|---|---|---|---|'
    for state, row in table.items():
        shown = '' if state.shown == state.name.lower() else f', shown as *{state.shown}*'
        about = f'**{state.name}**: {state.sentence}{shown}'
        for event, cell in row.items():
            following = 'stays' if cell.state is state else f'**{cell.state.name}**'
            does = '; '.join(action.value for action in cell.actions) or 'nothing else'
            yield f'| {about} | {event.name}: {event.value} | {following} | {does} |'
            about = ''


def section(protocol):
    """Return the part of the page about one protocol."""
    file = f'bridges/{protocol}/session/states.py'
    source = ROOT / 'xplane_bridge' / file
    said = ast.get_docstring(ast.parse(source.read_text(encoding='utf-8')))
    # The first line of the docstring is the file's title.
    about = said.partition('\n')[2].strip() if said else ''
    table = import_module(f'xplane_bridge.bridges.{protocol}.session.states').TABLE
    link = f'[`{file}`](../../xplane_bridge/{file})'
    return '\n\n'.join([
        f'## {TITLES.get(protocol, protocol)}', f'{link}. {about}'.strip(), diagram(table),
        '\n'.join(cells(table))])


def page():
    """Return the part of the page that is made from the tables."""
    protocols = sorted(path.parts[-3] for path in BRIDGES.glob('*/session/states.py'))
    return '\n\n'.join(map(section, protocols)) + '\n'


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
