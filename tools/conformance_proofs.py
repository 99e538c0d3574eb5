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
Bring what proves each requirement into docs/reference/conformance.md: three cells at its end.

*vectors*: a test of the row reads test/vectors. *program*: these vectors are of a program that was
run for this package. *real*: on how many users' machines it was seen, by docs/reference/seen.md.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path
import re

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'docs' / 'reference' / 'conformance.md'
SEEN = ROOT / 'docs' / 'reference' / 'seen.md'
HEAD = '| ID | place | the document requires | implemented | tested | vectors | program | real |'
_LINE = '|---|---|---|---|---|---|---|---|'
_CELLS = re.compile(r'(?<!\\)\|')
_ROW = re.compile(r'\| (\w+)-\d+ \|')
_TEST = re.compile(r'`(test_\w+\.py):(test_\w+)`')
_LOADER = 'vector_files'

PROGRAMS = {'XPC', 'FDM', 'SIM'}
"""The documents whose programs were run for this package, as docs/wire says of each."""


@cache
def _reading(path: Path) -> frozenset[str]:
    """Return the functions of a test file that read vectors, themselves or by others."""
    tree = ast.parse(path.read_text(encoding='utf-8'))
    uses: dict[str, set[str]] = {}
    reading: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == _LOADER:
            reading |= {alias.asname or alias.name for alias in node.names}
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} | {
            argument.arg for one in ast.walk(node) if isinstance(one, ast.FunctionDef)
            for argument in one.args.args}
        if isinstance(node, ast.FunctionDef):
            uses[node.name] = names
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                uses |= {one.id: names for one in ast.walk(target) if isinstance(one, ast.Name)}
    size = -1
    while size != len(reading):
        size = len(reading)
        reading |= {name for name, used in uses.items() if used & reading}
    return frozenset(reading)


def reads_vectors(tested: str) -> bool:
    """Return whether a cell of tests names one that reads vectors."""
    return 'vectors/' in tested or any(
        name in _reading(path) for file, name in _TEST.findall(tested)
        for path in [next((ROOT / 'test').rglob(file), None)] if path is not None)


def seen_real(page: str) -> Counter[str]:
    """Return on how many machines each requirement was seen, by the page of reports."""
    rows = [cells for line in page.splitlines() if line.startswith('| ')
            and len(cells := _CELLS.split(line)) > 7]
    return Counter(number.strip() for row in rows for number in {*row[6].split(',')}
                   if _ROW.fullmatch(f'| {number.strip()} |'))


def with_proofs(text: str, seen: Counter[str]) -> str:
    """Return the page, each row with what proves it."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith('| ID |'):
            line = HEAD
        elif lines and lines[-1] == HEAD:
            line = _LINE
        elif found := _ROW.match(line):
            cells = [cell.strip() for cell in _CELLS.split(line)[1:-1]][:5]
            has_vectors = reads_vectors(cells[4])
            line = '| ' + ' | '.join((
                *cells, 'yes' if has_vectors else '-',
                'yes' if has_vectors and found[1] in PROGRAMS else '-',
                str(seen[cells[0]]))) + ' |'
        lines.append(line)
    return '\n'.join(lines) + '\n'


def main() -> None:
    """Write the page anew."""
    PAGE.write_text(with_proofs(
        PAGE.read_text(encoding='utf-8'), seen_real(SEEN.read_text(encoding='utf-8'))),
        encoding='utf-8')


if __name__ == '__main__':
    main()
