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
JSBSim's XML as people write it, of scripts and initial states, checked before JSBSim reads it.

JSBSim ignores what it does not know, and of some mistakes it dies. So each element and attribute
has to be one of those that it reads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from io import BytesIO
import math
from pathlib import Path
import re
from typing import NamedTuple
from xml.etree import ElementTree

from xplane_bridge.common.fields import FieldError
from xplane_bridge.common.text import abbreviated, did_you_mean, LONGEST_TEXT, printable

LARGEST_FILE = 1024 * 1024
"""Size of a script, and of an initial state, in bytes, beyond which it is refused."""

_DEEPEST = 50
# What both JSBSim and Python take for a number.
_NUMBER = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?')


class Allowed(NamedTuple):
    """The attributes and the elements that an element may have."""

    attributes: tuple[str, ...] = ()
    elements: tuple[str, ...] = ()


def read_xml(file: Path, root: str, what: str) -> ElementTree.Element:
    """
    Return the root of a file; ``what`` it has to be, with such a ``root``.

    Raises FieldError for one that is too large or too deep, no XML, or something else.
    """
    try:
        with file.open('rb') as stream:
            text = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise FieldError(f'cannot be read: {error.strerror}') from None
    if len(text) > LARGEST_FILE:
        raise FieldError(f'has more than {LARGEST_FILE} bytes')
    try:
        depth = 0
        for event, _ in ElementTree.iterparse(BytesIO(text), ('start', 'end')):
            depth += 1 if event == 'start' else -1
            if depth > _DEEPEST:
                raise FieldError(f'has elements within more than {_DEEPEST} others')
        found = ElementTree.fromstring(text)
    except (ElementTree.ParseError, LookupError) as error:
        raise FieldError(f'is no XML: {error}') from None
    if found.tag != root:
        raise FieldError(f'expected {what}, whose root is <{root}>, got <{shown(found.tag)}>')
    return found


def check_form(
    element: ElementTree.Element, where: str, allowed: Allowed, required: Collection[str] = (),
) -> None:
    """Raise FieldError for what an element may not have, and for attributes that it lacks."""
    for name in element.attrib:
        # Of a schema.
        if not name.startswith('{') and name not in allowed.attributes:
            raise FieldError(_unknown(where, 'attribute', name, allowed.attributes))
    for name in required:
        if not element.get(name, '').strip():
            raise FieldError(f'{where}: the attribute {name} is missing')
    for child in element:
        if child.tag not in allowed.elements:
            raise FieldError(_unknown(where, 'element', child.tag, allowed.elements))


def _unknown(where: str, what: str, name: str, known: tuple[str, ...]) -> str:
    given = f'<{shown(name)}>' if what == 'element' else shown(name)
    expected = ', '.join(known) or 'none'
    return f'{where}: unknown {what} {given}, expected {expected}{did_you_mean(name[:100], known)}'


def read_number(text: str | None, where: str) -> float:
    """Return a finite number. Raises FieldError."""
    given = (text or '').strip()
    if not _NUMBER.fullmatch(given) or not math.isfinite(value := float(given)):
        raise FieldError(f'{where}: expected a finite number, got {abbreviated(given)}')
    return value


def read_attribute(element: ElementTree.Element, name: str, where: str) -> float:
    """Return a number that is an attribute. Raises FieldError."""
    return read_number(element.get(name), f'{where}: {name}')


def read_choice(
    element: ElementTree.Element, name: str, where: str, known: Mapping[str, object],
) -> None:
    """Raise FieldError for an attribute that is there, but none of those that are known."""
    value = element.get(name)
    if value is not None and value not in known:
        raise FieldError(
            f'{where}: {name}: expected one of {", ".join(known)}, got {abbreviated(value)}')


def text_of(element: ElementTree.Element) -> str:
    """Return the text that is an element's own, as JSBSim reads it."""
    return '\n'.join((element.text or '', *(child.tail or '' for child in element)))


def shown(name: object) -> str:
    """Return a name of a file for people."""
    return printable(str(name).strip(), LONGEST_TEXT)
