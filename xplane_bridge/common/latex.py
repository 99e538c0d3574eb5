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

"""Tables for papers: LaTeX for the package booktabs."""

from __future__ import annotations

from collections.abc import Sequence
import math

_SPECIAL = {'\\': r'\textbackslash{}', '~': r'\textasciitilde{}', '^': r'\textasciicircum{}',
            **{char: f'\\{char}' for char in '&%$#_{}'}}
# With more, or fewer, a number has a power of ten.
_FEWEST_DECIMALS, _MOST_DECIMALS = -2, 5


def escaped(text: str) -> str:
    """Return anybody's text as LaTeX prints it, in one line."""
    return ''.join(_SPECIAL.get(char, char) for char in ' '.join(text.split()))


def tabular(
    columns: str, head: Sequence[str], groups: Sequence[Sequence[Sequence[str]]], note: str = '',
) -> str:
    """
    Return a table; its cells are LaTeX, and between the groups of its rows are rules.

    ``columns`` are their letters, as in ``lrr``. The ``note`` is a comment at its beginning.
    """
    lines = [f'% \\usepackage{{booktabs}}{note and f"; {note}"}',
             f'\\begin{{tabular}}{{{columns}}}', '\\toprule', _row(head)]
    for rows in groups:
        lines += ['\\midrule', *map(_row, rows)]
    return '\n'.join([*lines, '\\bottomrule', '\\end{tabular}', ''])


def with_interval(value: float, half: float) -> str:
    """Return a value and the half of its interval, which has two digits; a formula."""
    if not (math.isfinite(value) and math.isfinite(half) and half > 0.0):
        return f'${value:.4g}$'
    decimals = 1 - math.floor(math.log10(half))
    if _FEWEST_DECIMALS <= decimals <= _MOST_DECIMALS:
        decimals = max(decimals, 0)
        return f'${value:.{decimals}f} \\pm {half:.{decimals}f}$'
    exponent = math.floor(math.log10(max(abs(value), half)))
    scale, decimals = 10.0 ** exponent, max(decimals + exponent, 0)
    return (f'$({value / scale:.{decimals}f} \\pm {half / scale:.{decimals}f}) '
            f'\\times 10^{{{exponent}}}$')


def _row(cells: Sequence[str]) -> str:
    return ' & '.join(cells) + r' \\'
