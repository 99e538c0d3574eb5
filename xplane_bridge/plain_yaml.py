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

import reprlib
from typing import Any, cast

import yaml

MAX_SIZE = 64 * 1024
_MAX_DEPTH = 32
_LONGEST_NUMBER = 40
_NUMBERS = ('tag:yaml.org,2002:int', 'tag:yaml.org,2002:float')

_shown = reprlib.Repr()
_shown.maxstring = _shown.maxother = 60


def load(text: str | bytes, max_size: int = MAX_SIZE) -> Any:
    """Return the content of a single YAML document; ValueError says what is wrong with it."""
    if len(text) > max_size:
        raise ValueError(f'it has more than {max_size} bytes')
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f' in line {mark.line + 1}, column {mark.column + 1}' if mark else ''
        raise ValueError(f'{error.problem or error.context}{where}') from None
    except yaml.reader.ReaderError as error:
        raise ValueError(f'{error.reason} at position {error.position}') from None
    except (ValueError, KeyError, IndexError, AttributeError, TypeError, ArithmeticError) as error:
        # PyYAML passes on Python's errors for impossible dates, numbers or tags.
        raise ValueError(f'it has an invalid value ({type(error).__name__}: {error})') from None


def load_file(path: str) -> Any:
    """Return the content of a YAML file; ValueError if unusable, OSError if not readable."""
    with open(path, 'rb') as stream:
        return load(stream.read(MAX_SIZE + 1))


def shown(value: Any) -> str:
    """Return a value found in a file for use in an error message, abbreviated."""
    return _shown.repr(value)


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
