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

"""A page of HTML in one file: its pictures are in it, and it refers to nothing else."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #22262b; max-width: 62rem; margin: 2rem auto;
       padding: 0 1rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #d8dce2; }
h3 { margin-bottom: .3rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .8rem; border-bottom: 1px solid #e6e9ee; text-align: left; }
th { background: #f3f5f8; } .number { text-align: right; }
td { white-space: nowrap; }
.wide { overflow-x: auto; } img { max-width: 100%; height: auto; }
pre { background: #f3f5f8; padding: .6rem .8rem; overflow-x: auto; }
.note { color: #5a616b; } .passed { color: #1f5fa8; } .bad { color: #b3263a; }
"""

# How a number begins, or where there is none.
_NUMBERS = ('', *'+-0123456789')


def page(title: str, parts: Iterable[str]) -> str:
    """Return a page of parts that are HTML already."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f'<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n'
        f'<h1>{escape(title)}</h1>\n' + '\n'.join(parts)
        + '\n</body>\n</html>\n')


def heading(text: str, level: int = 2) -> str:
    """Return a heading."""
    return f'<h{level}>{escape(text)}</h{level}>'


def paragraph(text: str, kind: str = '') -> str:
    """Return a paragraph; ``kind`` is note, passed, bad or nothing."""
    return f'<p{f" class={kind}" if kind else ""}>{escape(text)}</p>'


def code(text: str) -> str:
    """Return lines to copy."""
    return f'<pre><code>{escape(text)}</code></pre>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of texts; a column of numbers is flush right."""
    kinds = [
        ' class="number"' if all(row[column][:1] in _NUMBERS for row in rows) else ''
        for column in range(len(head))]
    cells = ''.join(
        f'<th{kind}>{escape(name)}</th>' for name, kind in zip(head, kinds, strict=True))
    lines = '\n'.join(
        '<tr>' + ''.join(f'<td{kind}>{escape(cell)}</td>'
                         for cell, kind in zip(row, kinds, strict=True)) + '</tr>'
        for row in rows)
    return (f'<div class="wide"><table>\n<thead><tr>{cells}</tr></thead>\n'
            f'<tbody>\n{lines}\n</tbody>\n</table></div>')


def picture(path: Path, text: str, width: float = 0.0) -> str:
    """
    Return a PNG file as part of the page; ``text`` is for who does not see it.

    ``width`` is that on paper, in inches, 0: as wide as it has pixels, if the page has them.
    """
    data = base64.b64encode(path.read_bytes()).decode()
    style = f' style="width: {width:g}in"' if width else ''
    return f'<p><img src="data:image/png;base64,{data}" alt="{escape(text)}"{style}></p>'
