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
Hand-written YAML, read within bounds: any unusable file gives a one-sentence error.

Bounds: 64 KiB of text (about a second for PyYAML), 32 levels, 40 characters per number, and no
aliases, which let a short text expand to a huge one (rcl refuses them in parameter files, too).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, TypeAlias

import yaml

from xplane_bridge.common import plain_files
from xplane_bridge.common.fields import FieldError
from xplane_bridge.common.text import abbreviated

MAX_SIZE = 64 * 1024
_MAX_DEPTH = 32
_LONGEST_NUMBER = 40
_NUMBERS = ('tag:yaml.org,2002:int', 'tag:yaml.org,2002:float')

Lines: TypeAlias = Mapping[tuple[Any, ...], int]
"""The line of each value, counted from 1, by the names and numbers that lead to it."""


def load(text: str | bytes, max_size: int = MAX_SIZE) -> Any:
    """Return the content of a single YAML document; ValueError says what is wrong with it."""
    return _load(text, max_size, None)


def load_with_lines(text: str | bytes, max_size: int = MAX_SIZE) -> tuple[Any, Lines]:
    """Return the content and its lines; ValueError as ``load``, and for a name that is twice."""
    lines: dict[tuple[Any, ...], int] = {}
    return _load(text, max_size, lines), lines


def _load(text: str | bytes, max_size: int, lines: dict[tuple[Any, ...], int] | None) -> Any:
    if len(text) > max_size:
        raise ValueError(f'it has more than {max_size} bytes')
    try:
        loader: Any = _Loader(text)
        try:
            node = loader.get_single_node()
            content = None if node is None else loader.construct_document(node)
            if node is not None and lines is not None:
                _find_lines(loader, node, (), lines)
            return content
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f' in line {mark.line + 1}, column {mark.column + 1}' if mark else ''
        raise ValueError(f'{error.problem or error.context}{where}') from None
    except yaml.reader.ReaderError as error:
        before = text[:error.position]
        line = 1 + (before.count('\n') if isinstance(before, str) else before.count(b'\n'))
        hint = ': save it as UTF-8' if error.encoding == 'utf-8' else ''
        raise ValueError(f'{error.reason} in line {line}{hint}') from None
    except (ValueError, KeyError, IndexError, AttributeError, TypeError, ArithmeticError) as error:
        # PyYAML passes on Python's errors for impossible dates, numbers or tags.
        raise ValueError(f'it has an invalid value ({type(error).__name__}: {error})') from None


def load_file(path: str) -> Any:
    """Return the content of a YAML file; ValueError if unusable, OSError if not readable."""
    return load(plain_files.read(path, MAX_SIZE))


def load_named(path: str) -> Any:
    """Return the content of a YAML file; FieldError, with its name, for whatever is wrong."""
    try:
        return load_file(path)
    except OSError as error:
        raise FieldError(f'{path}: {error.strerror}') from None
    except ValueError as error:
        raise FieldError(f'{path} cannot be read as YAML: {error}') from None


def load_texts(text: bytes, max_size: int) -> Any:
    """
    Return the content of a document that a program wrote, with all values as texts.

    Twenty times as fast as ``load``, where PyYAML has libyaml, and with the same other bounds.
    """
    if len(text) > max_size:
        raise ValueError(f'it has more than {max_size} bytes')
    try:
        events = yaml.parse(text, Loader=getattr(yaml, 'CBaseLoader', yaml.BaseLoader))
        return _texts(events, next((one for one in events if not isinstance(
            one, yaml.StreamStartEvent | yaml.DocumentStartEvent)), None), 0)
    except yaml.YAMLError as error:
        mark = getattr(error, 'problem_mark', None)
        where = f' in line {mark.line + 1}' if mark else ''
        raise ValueError(f'{getattr(error, "problem", "it is not YAML")}{where}') from None


def _texts(events: Any, event: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise ValueError(f'more than {_MAX_DEPTH} levels')
    if isinstance(event, yaml.AliasEvent):
        raise ValueError('an alias, which is not supported')
    if isinstance(event, yaml.SequenceStartEvent):
        found = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            found.append(_texts(events, event, depth + 1))
        return found
    if isinstance(event, yaml.MappingStartEvent):
        named = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            key = _texts(events, event, depth + 1)
            if not isinstance(key, str):
                raise ValueError('a name that is none')
            named[key] = _texts(events, next(events), depth + 1)
        return named
    return event.value if isinstance(event, yaml.ScalarEvent) else None


def _find_lines(
    loader: Any, node: Any, path: tuple[Any, ...], lines: dict[tuple[Any, ...], int]
) -> None:
    lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            at = (*path, loader.construct_object(key, deep=True))
            if at in lines:
                raise yaml.constructor.ConstructorError(
                    None, None, f'{abbreviated(at[-1])} is there twice', key.start_mark)
            _find_lines(loader, value, at, lines)
            # A name stands above what belongs to it.
            lines[at] = key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for n, value in enumerate(node.value):
            _find_lines(loader, value, (*path, n), lines)


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with bounds, which it lacks."""

    _depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        # PyYAML is only partly typed.
        event: Any = cast(Any, self).peek_event()
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(
                None, None, 'an alias, which is not supported: write the value itself',
                event.start_mark)
        if self._depth == _MAX_DEPTH:
            raise yaml.composer.ComposerError(
                None, None, f'more than {_MAX_DEPTH} levels', event.start_mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_scalar(self, node: Any) -> Any:
        value = super().construct_scalar(node)
        if node.tag in _NUMBERS and len(value) > _LONGEST_NUMBER:
            raise yaml.constructor.ConstructorError(
                None, None, f'a number of {len(value)} characters', node.start_mark)
        return value
