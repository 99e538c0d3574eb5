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
Each citation of docs/wire in the source refers to what exists; a page has all messages.

Citations are ``docs/wire/xpc.md, section 1``, ``docs/wire/simpit.md, sections 2.1, 2.1b and 4``,
``docs/wire/ulyssix.md, section 2, rows 3 to 5 and 20``, ``docs/wire/xplane_datarefs.md, row 4.14``
and ``docs/wire/xpc.md, "Title of a section"``, which may continue on the next line.
"""

from importlib import import_module
from pathlib import Path
import re

import pytest

from xplane_bridge.bridges.protocols.registry import PROTOCOLS, UNBRIDGED

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / 'docs' / 'wire').glob('*.md'))
SUFFIXES = {'.py', '.md', '.msg', '.srv', '.yaml', '.rst'}
FOLDERS = ('xplane_bridge', 'test', 'benchmarks', 'examples', 'docs', 'msg', 'srv', 'config',
           'launch')

SPACE = r'(?:\s*\n\s*(?:# ?)?|\s+)'      # a space, or a line break within a comment
NUMBER = r'\d+(?:\.\d+)?b?'
NUMBERS = rf'{NUMBER}(?:(?:,{SPACE}|{SPACE}and{SPACE}|{SPACE}to{SPACE}){NUMBER})*'
CITATION = re.compile(
    rf'docs/wire/(\w+\.md)(?:,{SPACE}sections?{SPACE}({NUMBERS}))?(?:,{SPACE}"([^"]+)")?'
    rf'(?:,{SPACE}rows?{SPACE}({NUMBERS}))?')


def sources():
    """Yield the files that may contain citations."""
    yield from ROOT.glob('*.md')
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob('*')):
            if path.suffix in SUFFIXES and path != Path(__file__).resolve():
                yield path


def numbers(text):
    """Return the numbers of a list such as "3 to 5 and 20", with ranges expanded inclusively."""
    return re.findall(NUMBER, text or '')


def contents(page):
    """Return the numbers of a page's sections, their titles, and the numbers of its rows."""
    text = page.read_text(encoding='utf-8')
    titles = re.findall(r'^###? (.*)$', text, re.MULTILINE)
    sections = re.findall(rf'^###? ({NUMBER})\.? ', text, re.MULTILINE)
    rows = re.findall(rf'^\| ({NUMBER}) \|', text, re.MULTILINE)
    return set(sections), titles, set(rows)


def faults(text, pages):
    """Return a sentence for each citation in ``text`` that refers to something missing."""
    found = []
    for match in CITATION.finditer(text):
        name, sections, title, rows = match.groups()
        cited = ' '.join(match[0].split())
        if name not in pages:
            found.append(f'{cited}: there is no such page')
            continue
        known_sections, known_titles, known_rows = pages[name]
        found += [f'{cited}: no section {one}' for one in numbers(sections)
                  if one not in known_sections]
        found += [f'{cited}: no row {one}' for one in numbers(rows) if one not in known_rows]
        title = re.sub(SPACE, ' ', title or '')
        if not any(title in known for known in known_titles):
            found.append(f'{cited}: no such title')
    return found


# Messages that a page calls otherwise than by their names.
IN_OTHER_WORDS = {
    'apsides_time': 'times of apsides', 'attitude': '45 rotation', 'delta_v': '38 delta-v',
    'advanced_action_status': 'advanced status of action groups',
    'custom_action_group_status': '41 custom action groups',
    'delta_v_environment': 'delta-v by environment', 'navball_mode': '28 navball',
    'report': 'the state, back to sitl', 'request_message': '29 resend', 'sas_info': '35 sas',
    'servos': 'servo outputs', 'set_action_group': 'set one action group',
    'skipped': 'a type other than 0', 'vessel_name': 'name of the vessel'}


@pytest.fixture(scope='module')
def pages():
    return {page.name: contents(page) for page in PAGES}


def test_every_citation_names_what_exists(pages):
    cited = 0
    wrong = []
    for path in sources():
        text = path.read_text(encoding='utf-8')
        cited += len(CITATION.findall(text))
        wrong += [f'{path.relative_to(ROOT)}: {fault}' for fault in faults(text, pages)]
    assert not wrong, '\n'.join(wrong)
    assert cited > 50


@pytest.mark.parametrize(('text', 'fault'), [
    ('see docs/wire/xpc.md, section 1', None),
    ('# docs/wire/simpit.md, sections 2.1,\n# 2.1b and 4', None),
    ('docs/wire/ulyssix.md, section 2, rows 3 to\n    5 and 20', None),
    ('docs/wire/xplane_datarefs.md, row 4.14', None),
    ('docs/wire/xpc.md, "Later measurements"', None),
    ('docs/wire/xpc.md, "2. Requests"', None),
    ('docs/wire/xpc.md, section 1, "random timeouts"', None),
    ('docs/wire/xpc.md, sections 1 and 99', 'no section 99'),
    ('docs/wire/xplane_datarefs.md, rows 4.14 to 4.99', 'no row 4.99'),
    ('docs/wire/xpc.md, "Measured never"', 'no such title'),
    ('docs/wire/nothing.md', 'no such page'),
])
def test_a_citation_of_nothing_is_found(pages, text, fault):
    found = faults(text, pages)
    assert (not found) if fault is None else [one for one in found if fault in one]


def test_nobody_cites_notes_that_are_not_in_the_repository():
    pattern = re.compile(rf'\b(?:wire|dataref){SPACE}notes\b', re.IGNORECASE)
    wrong = [str(path.relative_to(ROOT)) for path in sources()
             if pattern.search(path.read_text(encoding='utf-8'))]
    assert not wrong, wrong


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_a_page_is_linked(page):
    assert f'(wire/{page.name})' in (ROOT / 'docs' / 'index.md').read_text(encoding='utf-8')
    for target in re.findall(r'\]\(([^)#]+\.md)', page.read_text(encoding='utf-8')):
        assert (page.parent / target).exists(), f'{page.name}: {target}'


@pytest.mark.parametrize('protocol', [*PROTOCOLS, *UNBRIDGED])
def test_a_page_has_each_message_of_its_protocol(protocol):
    text = (ROOT / 'docs' / 'wire' / f'{protocol}.md').read_text(encoding='utf-8')
    messages = import_module(f'xplane_bridge.bridges.{protocol}.protocol').MESSAGES
    missing = {
        name for sender in messages.values() for name in sender if not (
            re.search(rf'\b{name}\b', text) if name.isupper() else
            IN_OTHER_WORDS.get(name, name.replace('_', ' ')) in text.lower())}
    assert not missing, f'docs/wire/{protocol}.md'
