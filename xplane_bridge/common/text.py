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
Text for people: untrusted text made printable, tables aligned, numbers that can be told apart.

Anybody who can reach a port, and whoever wrote a file, may write texts as long as they like:
printable() is used where they are taken over, before they reach a log, a diagnostic or a terminal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
import math
import reprlib
from typing import Any
import unicodedata

LONGEST_TEXT = 200
"""Maximum number of characters of untrusted text shown to people, by default."""

LONGEST_LINE = 1000
"""The same of a line of the log or of diagnostics, whose sentence may list what it speaks of."""

_abbreviation = reprlib.Repr()
_abbreviation.maxstring = _abbreviation.maxother = 60


def printable(text: str, limit: int = LONGEST_TEXT) -> str:
    r"""
    Return untrusted text in a form that is safe for logs, diagnostics and terminals.

    Unprintable characters (control characters, escape sequences, line breaks, bidirectional marks,
    lone surrogates, unassigned characters) become escapes like ``\x1b``; spaces of any width stay.
    If the text has more than ``limit`` characters, the rest is replaced by a note of its length. A
    printable text of that length is returned unchanged, including backslashes.
    """
    if len(text) <= limit and text.isprintable():
        return text
    # Only complete characters or complete escapes are shown.
    shown, room = [], limit
    for char in text[:limit]:
        piece = char if _may_be_printed(char) else char.encode('unicode_escape').decode('ascii')
        room -= len(piece)
        if room < 0:
            break
        shown.append(piece)
    cut = f'... ({len(text)} characters)' if len(shown) < len(text) else ''
    return ''.join(shown) + cut


def printable_lines(text: str) -> str:
    """Return text of any length with its line breaks and tabs, but otherwise as printable()."""
    if text.replace('\n', '').isprintable():
        return text
    return ''.join(
        char if char in '\n\t' or _may_be_printed(char) else
        char.encode('unicode_escape').decode('ascii') for char in text)


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """
    Return the lines of a table, each column as wide as its widest cell.

    All rows have the same number of cells. ``left`` are the columns that are flush left.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ['  '.join(
        cell.ljust(width) if number in left else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in rows]


def counted(number: int, noun: str, several: str = '') -> str:
    """Return a number and what it counts, as '1 sample' or '2 samples', or ``several``."""
    return f'{number} {noun}' if number == 1 else f'{number} {several or f"{noun}s"}'


def known(value: float, form: str, unknown: str = 'unknown') -> str:
    """Return a number in a form such as '{:.1f} m', or the word for one that is not known."""
    return form.format(value) if math.isfinite(value) else unknown


def nearest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return up to three known names that begin so, else the one that is nearest, if any."""
    names = {one.lower(): one for one in known}
    begun = [one for lower, one in names.items() if name and lower.startswith(name.lower())]
    return tuple(begun[:3] or (
        names[one] for one in get_close_matches(name.lower(), names, n=1)))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: the known ones it may mean, if any."""
    near = nearest(name, known)
    return f'; did you mean {" or ".join(near)}?' if near else ''


def _may_be_printed(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == 'Zs'


def two_numbers(least: float, most: float) -> tuple[str, str]:
    """Return two numbers with as many digits as tell them apart, at least four."""
    size, span = max(abs(least), abs(most)), abs(most - least)
    if not (math.isfinite(size) and size):
        return f'{least:g}', f'{most:g}'
    # Whole numbers in full, as far as single precision has them.
    digits = max(4, min(7, math.floor(math.log10(size)) + 1))
    if span:
        digits = min(9, max(digits, math.ceil(math.log10(size / span)) + 2))
    return f'{least:.{digits}g}', f'{most:.{digits}g}'


def abbreviated(value: Any) -> str:
    """Return a value found in a file for use in an error message, abbreviated."""
    return _abbreviation.repr(value)
