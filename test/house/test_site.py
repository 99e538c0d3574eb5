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

"""The site: its sidebar has each page once, its links lead somewhere, and users' pages are few."""

from functools import cache
from pathlib import Path
import re
import runpy
import subprocess
import sys
from xml.etree import ElementTree

import pytest

import xplane_bridge

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / 'docs'
CONF = runpy.run_path(str(DOCS / 'conf.py'))
# Of pages that are not for maintainers. A word has a letter or a digit: no bar of a table has.
MOST_WORDS = 90_000
WAYS = ('fly', 'study', 'telemetry', 'cockpit', 'fleet', 'from runway to runway',
        'from a flight to a model', 'train without ros', 'ardupilot and px4')


@cache
def sidebar():
    """Return the pages of each part of the sidebar, by its caption."""
    trees = re.findall(r'^```{toctree}\n(.*?)^```$', (DOCS / 'index.md').read_text(), re.M | re.S)
    return {re.search(':caption: (.+)', tree)[1]: tree.split('\n\n')[1].split() for tree in trees}


def test_each_page_is_in_the_sidebar_once():
    pages = [path.relative_to(DOCS).with_suffix('').as_posix() for path in DOCS.rglob('*.md')]
    assert sorted([*sum(sidebar().values(), []), 'index']) == sorted(pages)


def test_what_is_not_needed_to_use_the_package_is_a_part_of_its_own():
    wire = {f'wire/{page.stem}' for page in (DOCS / 'wire').glob('*.md')}
    assert {'reference/conformance', 'reference/performance', 'explanation/sessions',
            'explanation/architecture'} | wire <= {*sidebar()['For maintainers']}


def test_users_are_given_at_most_90_000_words():
    pages = {page for caption, pages in sidebar().items() for page in pages
             if caption != 'For maintainers'}
    words = {page: len(re.findall(r'\S*\w\S*', (DOCS / f'{page}.md').read_text(encoding='utf-8')))
             for page in [*pages, 'index']}
    assert sum(words.values()) <= MOST_WORDS, sorted(words.items(), key=lambda one: -one[1])[:10]


def test_the_readme_has_the_nine_ways_within_150_lines():
    text = (ROOT / 'README.md').read_text(encoding='utf-8')
    assert len(text.splitlines()) <= 150
    table = text.partition('\n## Nine ways')[2].partition('\n## ')[0]
    assert tuple(way.lower() for way in re.findall(r'^\| \*\*(.+?)\*\*', table, re.M)) == WAYS
    program = re.search(r'^```python.*?\n(.*?)^```$', text, re.M | re.S)[1]
    assert len(program.splitlines()) == 6


def test_the_api_page_has_what_is_public():
    page = (DOCS / 'reference' / 'api.md').read_text(encoding='utf-8')
    names = re.findall(r'^\.\. auto\w+:: (\w+)$', page, re.M)
    assert sorted(names) == sorted(xplane_bridge.PUBLIC)


def test_the_site_and_the_package_name_one_repository():
    package = ElementTree.parse(ROOT / 'package.xml')
    (address,) = (url.text for url in package.findall('url') if url.get('type') == 'repository')
    assert CONF['REPOSITORY'] == address


@pytest.mark.parametrize(('page', 'link', 'leads_to'), [
    ('how-to/live', '../reference/topics.md#commands', None),
    ('reference/peers/xpc', '../../images/frames.svg', None),
    ('index', '../examples/README.md', 'blob/main/examples/README.md'),
    ('how-to/live', '../../config', 'blob/main/config'),
    ('reference/conformance', '../wire', 'blob/main/docs/wire'),
    ('reference/peers/xpc', '../../../config/xpc.yaml', 'blob/main/config/xpc.yaml'),
    ('explanation/architecture', '../../CONTRIBUTING.md#tests', 'blob/main/CONTRIBUTING.md#tests'),
])
def test_what_is_no_page_is_linked_in_the_repository(page, link, leads_to):
    to = link if leads_to is None else f'{CONF["REPOSITORY"]}/{leads_to}'
    assert CONF['lead_out'](f'see [it]({link}), there', page) == f'see [it]({to}), there'


@pytest.mark.optional
@pytest.mark.slow
def test_sphinx_has_nothing_to_say_of_the_pages(tmp_path):
    """Without writing HTML, which takes twice as long: `make docs` does."""
    pytest.importorskip('sphinx', reason='Sphinx is not installed')
    built = subprocess.run(
        [sys.executable, '-m', 'sphinx', '-W', '--keep-going', '-q', '-b', 'dummy', DOCS,
         tmp_path], capture_output=True, text=True, timeout=300)
    assert built.returncode == 0, built.stderr
