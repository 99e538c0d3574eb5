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
docs/reference/conformance.md names files, classes, functions, tests and vectors that exist.

Whether a test proves its row is for the reader to judge; its existence is checked here, so that
the page cannot go stale.
"""

import ast
from functools import cache
import json
from pathlib import Path
import re

from conformance_proofs import SEEN, seen_real, with_proofs
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / 'docs' / 'reference' / 'conformance.md'
REFERENCE = re.compile(r'`([\w/]+\.(?:py|json)):([\w.-]+)`')
DOCUMENTS = ('X6', 'WEB', 'XPC', 'FDM', 'ULX', 'SIM')


def rows():
    """Return the five cells of each requirement that people write."""
    found = []
    for line in PAGE.read_text(encoding='utf-8').splitlines():
        if re.match(r'\| \w+-\d+ \|', line):
            cells = [cell.strip() for cell in re.split(r'(?<!\\)\|', line)[1:-1]]
            assert len(cells) == 8, cells[0]
            found.append(cells[:5])
    return found


ROWS = rows()


@cache
def names(path):
    """Return what a Python file defines (with methods and fields), or a file's vectors."""
    if path.suffix == '.json':
        return {vector['name'] for vector in json.loads(path.read_text(encoding='utf-8'))}
    found = set()

    def collect(body, prefix):
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(prefix + node.name)
                if isinstance(node, ast.ClassDef):
                    collect(node.body, f'{prefix}{node.name}.')
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found.update(prefix + one.id for one in targets if isinstance(one, ast.Name))

    collect(ast.parse(path.read_text(encoding='utf-8')).body, '')
    return found


def place(file):
    """Return the path of a file as the page names it."""
    if file.startswith('test_'):
        return next((ROOT / 'test').rglob(file), ROOT / 'test' / file)
    return ROOT / ('test' if file.startswith('vectors/') else 'xplane_bridge') / file


@pytest.mark.parametrize('row', ROWS, ids=lambda row: row[0])
def test_a_requirement_is_implemented_and_tested_or_says_why_not(row):
    assert len(row) == 5
    _, where_in_document, requirement, implemented, tested = row
    assert where_in_document
    assert requirement
    assert implemented
    references = REFERENCE.findall(implemented) + REFERENCE.findall(tested)
    for file, name in references:
        path = place(file)
        assert path.exists(), f'{file}: no such file'
        assert name in names(path), f'{file}: has no {name}'
    tests = [name for file, name in REFERENCE.findall(tested) if file.startswith('test_')]
    assert tests or tested.startswith('not '), 'neither a test nor a reason'
    assert all(name.startswith('test_') for name in tests)


@pytest.mark.parametrize('page', ['architecture', 'glossary'])
def test_what_a_page_about_the_package_names_exists(page):
    text = (ROOT / 'docs' / 'explanation' / f'{page}.md').read_text(encoding='utf-8')
    references = REFERENCE.findall(text)
    assert len(references) > 20
    for file, name in references:
        assert name in names(place(file)), f'{file}: has no {name}'
    for file in re.findall(r'`((?:\w+/)+\w+\.\w+)`', text):
        assert any((ROOT / folder / file).exists() for folder in ('', 'xplane_bridge')), file


def test_what_proves_each_requirement_is_said_as_it_is_today():
    text, page = PAGE.read_text(encoding='utf-8'), SEEN.read_text(encoding='utf-8')
    seen = seen_real(page)
    assert with_proofs(text, seen) == text, 'python3 tools/conformance_proofs.py'
    assert ('0 requirements were seen real' in page) == (not seen)
    assert ('`real` is 0 in each row' in text) == (not seen)


def test_a_report_that_was_taken_over_counts_for_its_requirements():
    row = '| X-Plane 12 | Cessna 172 | Linux | 1.0 | 2026-12-01 | {} | none |\n'
    page = '| program | aircraft |\n' + row.format('X6-02, 1.35') + row.format('X6-02, WEB-13')
    seen = seen_real(page)
    assert seen == {'X6-02': 2, 'WEB-13': 1}
    assert '| 2 |\n' in with_proofs(
        '| X6-02 | introduction | the protocol is UDP | here | not |\n', seen)


def test_each_document_has_its_requirements_numbered_without_a_gap():
    by_document = {document: [row[0] for row in ROWS if row[0].startswith(f'{document}-')]
                   for document in DOCUMENTS}
    assert sum(map(len, by_document.values())) == len(ROWS)
    text = PAGE.read_text(encoding='utf-8')
    for document, ids in by_document.items():
        assert ids == [f'{document}-{number:02d}' for number in range(1, len(ids) + 1)]
        assert f'| {ids[0]} to {ids[-1]} | {len(ids)} |' in text, f'{document}: summary differs'


def test_no_reference_on_the_page_is_overlooked():
    text = PAGE.read_text(encoding='utf-8')
    looks_like_one = re.findall(r'`[^`]*\.(?:py|json):[^`]*`', text)
    assert len(looks_like_one) == len(REFERENCE.findall(text)) > 200
