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

"""Values of parameters as people write them: arguments of launch files."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args, get_type_hints

from xplane_bridge.bridges.nodes.managed.parameters import checked, parsed_number
from xplane_bridge.common import plain_yaml
from xplane_bridge.common.fields import FieldError, name_of
from xplane_bridge.common.text import abbreviated

_TRUE = ('true', '1', 'yes', 'on')
_FALSE = ('false', '0', 'no', 'off')


def parse(table: type[Any], texts: dict[str, str]) -> dict[str, Any]:
    """
    Return values written by people for parameters of ``table``, by name.

    Raises FieldError.
    """
    hints = get_type_hints(table)
    by_name = {name_of(item): item for item in fields(table)}
    values = {}
    for name, text in texts.items():
        item = by_name[name]
        value: Any = text
        if isinstance(item.default, bool):
            value = _parsed_boolean(text)
        elif isinstance(item.default, int | float):
            value = parsed_number(text)
        elif isinstance(item.default, tuple):
            value = _parsed_list(name, text, get_args(hints[item.name])[0])
        values[name] = checked(item, value)
    return values


def _parsed_boolean(text: str) -> bool | str:
    lower = text.strip().lower()
    return True if lower in _TRUE else False if lower in _FALSE else text


def _parsed_list(name: str, text: str, kind: type) -> list[Any]:
    try:
        found = plain_yaml.load(text) if text.strip().startswith('[') else [text]
    except ValueError:
        found = None
    if not isinstance(found, list) or any(isinstance(one, list | dict) for one in found):
        raise FieldError(
            f'parameter {name}: expected a list such as [a, "b[0]"], got {abbreviated(text)}')
    if kind is str:
        return [str(one) for one in found]
    values = [parsed_number(str(one)) for one in found]
    for value in values:
        if not isinstance(value, int | float) or kind is int and not isinstance(value, int):
            raise FieldError(
                f'parameter {name}: expected {"whole " if kind is int else ""}numbers, '
                f'got {abbreviated(value)}')
    return [kind(value) for value in values]
