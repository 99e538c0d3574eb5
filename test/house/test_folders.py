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

"""Where files lie: tests as the package does, pages by what they are for; names of pages hold."""

from pathlib import Path
import re

import pytest

from xplane_bridge.bridges.protocols.registry import PROTOCOLS, UNBRIDGED

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / 'docs'
GROUPS = {'tutorials', 'how-to', 'reference', 'explanation'}
# Folders of test/ that are no folders of the package.
OTHERS = {'examples', 'house', 'support', 'vectors'}
SUFFIXES = {
    '.py', '.md', '.rst', '.msg', '.srv', '.action', '.yaml', '.xml', '.cfg', '.ipynb', '.hpp',
    '.cpp', '.sh', '.rviz'}
# A page or a picture, named in a text; citations of docs/wire have a test of their own.
_NAMED = re.compile(r'(?<![\w/.])docs/(?!wire/)[\w/-]+\.(?:md|png|svg)\b')


def texts(folder=ROOT):
    """Yield the files of the repository that may name a page."""
    for path in folder.iterdir():
        if path.is_dir() and path.name[0] not in '._' and path != ROOT / 'build':
            yield from texts(path)
        elif path.suffix in SUFFIXES or path.name == 'Makefile':
            yield path


def test_tests_lie_in_the_folder_of_what_they_test():
    folders = {path.parent.relative_to(ROOT / 'test') for path in (
        ROOT / 'test').rglob('test_*.py')}
    strays = [
        str(folder) for folder in folders if folder.parts[:1] and folder.parts[0] not in OTHERS
        and not (ROOT / 'xplane_bridge' / folder).is_dir()
        # What is one module of a protocol has a folder of tests.
        and not (ROOT / 'xplane_bridge' / folder).with_suffix('.py').is_file()
        and not (folder.name in PROTOCOLS
                 and (ROOT / 'xplane_bridge' / folder.parent).is_dir())]
    assert not strays
    assert not list((ROOT / 'test').glob('test_*.py'))


def test_no_two_files_of_tests_have_one_name():
    # They are collected as modules of their name alone: one of two would end the run.
    names = [path.name for path in (ROOT / 'test').rglob('test_*.py')]
    assert sorted(names) == sorted(set(names))


def test_each_page_is_in_one_of_the_four_groups_or_about_the_wire():
    pages = {path.relative_to(DOCS) for path in DOCS.rglob('*.md')} - {Path('index.md')}
    assert {page.parts[0] for page in pages} == GROUPS | {'wire'}
    assert not [str(page) for page in pages if len(page.parts) == 1]


@pytest.mark.parametrize('way', ['Fly', 'Study', 'Telemetry', 'Cockpit'])
def test_the_index_has_a_few_pages_for_each_way_in(way):
    index = (DOCS / 'index.md').read_text(encoding='utf-8')
    section = index.partition(f'\n## {way}\n')[2].partition('\n## ')[0]
    assert len(re.findall(r'^\| \[', section, re.MULTILINE)) == 5


def test_the_drawing_and_the_page_of_the_architecture_have_each_room():
    rooms = {
        '/'.join(part.relative_to(ROOT / 'xplane_bridge').parts)
        for wing in ('bridges', 'simulation', 'laboratory')
        for part in (ROOT / 'xplane_bridge' / wing).iterdir()
        if part.name[0] not in '._' and (part.is_dir() or part.suffix == '.py')}
    protocols = {f'bridges/{name}' for name in (*PROTOCOLS, *UNBRIDGED)}
    page = (DOCS / 'explanation' / 'architecture.md').read_text(encoding='utf-8')
    drawing = (DOCS / 'images' / 'architecture.svg').read_text(encoding='utf-8')
    table = page.partition('| room | what it answers')[2].partition('\n\n')[0]
    listed = [
        name.rstrip('/') for name in re.findall(r'^\| `([\w./<>]+)` \|', table, re.MULTILINE)]
    assert {name for name in listed if '/' in name and '<p>' not in name} == rooms - protocols
    assert {name.partition('/')[0] for name in listed} == {
        path.name for path in (ROOT / 'xplane_bridge').iterdir()
        if path.is_dir() and path.name[0] not in '._'
        and path.name not in ('msg', 'srv', 'action')}
    drawn = re.findall(r'class="(?:name|head)"[^>]*>([\w./]+)<', drawing)
    assert {name.rstrip('/') for name in drawn} == {
        'xplane_bridge', 'commands', 'common', 'data', 'bridges', 'simulation', 'laboratory',
        *(name.rpartition('/')[2] for name in rooms)}
