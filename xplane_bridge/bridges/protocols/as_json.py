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

"""Messages of any protocol as JSON objects, and from them."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, MISSING
from enum import Enum, IntFlag
import json
import math
from types import NoneType, UnionType
from typing import Any, cast, get_args, get_origin, get_type_hints, Literal, TypeVar, Union

from xplane_bridge.bridges.protocols.base import Message, Sender
from xplane_bridge.bridges.protocols.dialect import Dialect, other_side
from xplane_bridge.common.text import counted

_Kind = TypeVar('_Kind')
_NON_FINITE = {'nan': math.nan, 'inf': math.inf, '-inf': -math.inf}


# Messages to JSON.

def message_to_json(message: Any) -> dict[str, Any]:
    """Return a message for json.dumps: its tag as "message", then its fields."""
    return {'message': message.tag, **_fields_to_json(message)}


def _fields_to_json(value: Any) -> dict[str, Any]:
    return {field.name: _to_json(getattr(value, field.name))
            for field in fields(value) if field.name != 'tag'}


def _to_json(value: Any) -> Any:
    if is_dataclass(value):
        return _fields_to_json(value)
    if isinstance(value, tuple):
        return [_to_json(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


# JSON to messages.

def message_from_json(record: Any, dialect: Dialect, sender: Sender) -> Message:
    """
    Return the message that a decoded JSON object describes.

    If both sides have a message of that name, the sender's is preferred if the fields match it.
    Raises ValueError if they match neither.
    """
    if not isinstance(record, dict) or not isinstance(record.get('message'), str):
        raise ValueError('expected an object with a "message"')
    tag = record['message']
    values = {name: value for name, value in record.items() if name != 'message'}
    errors = []
    for side in (sender, other_side(sender)):
        kind = dialect.messages(side).get(tag)
        if kind is None:
            continue
        try:
            return _dataclass_from_json(kind, values, tag)
        except ValueError as error:
            errors.append(f'as sent by the {side}, {error}')
    if not errors:
        names = sorted({*dialect.messages('bridge'), *dialect.messages('peer')})
        raise ValueError(f'message: got {tag!r}, expected one of {", ".join(names)}')
    raise ValueError('; '.join(errors))


def _dataclass_from_json(kind: type[_Kind], values: dict[str, Any], where: str) -> _Kind:
    hints = get_type_hints(kind)
    known = {field.name: field for field in fields(cast(Any, kind)) if field.name != 'tag'}
    for name in values:
        if name not in known:
            raise ValueError(f'{where}: got a field {name!r}, expected {", ".join(known)}')
    arguments = {}
    for name, field in known.items():
        if name in values:
            arguments[name] = _from_json(hints[name], values[name], f'{where} {name}')
        elif field.default is MISSING:
            raise ValueError(f'{where} {name}: missing')
    if 'tag' in {field.name for field in fields(cast(Any, kind))}:
        arguments['tag'] = where
    return kind(**arguments)


def _from_json(hint: Any, value: Any, where: str) -> Any:
    """Convert a JSON value to a field's annotated type."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return _union_from_json(get_args(hint), value, where)
    if origin is Literal and value in get_args(hint):
        return value
    if origin is tuple and isinstance(value, list):
        return _tuple_from_json(get_args(hint), value, where)
    if isinstance(hint, type):
        if is_dataclass(hint) and isinstance(value, dict):
            return _dataclass_from_json(hint, value, where)
        if issubclass(hint, Enum):
            if value in [member.value for member in hint] or (
                    issubclass(hint, IntFlag) and isinstance(value, int)):
                return hint(value)
        elif hint in _SCALARS and (found := _SCALARS[hint](value)) is not None:
            return found
    name = hint.__name__ if isinstance(hint, type) else str(hint)
    raise ValueError(f'{where}: got {json.dumps(value)}, expected {name}')


def _number_from_json(value: Any) -> Any:
    if isinstance(value, str):
        return _NON_FINITE.get(value)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


# What a JSON value is as a field of these types; None if it fits none.
_SCALARS: dict[type, Callable[[Any], Any]] = {
    float: _number_from_json,
    int: lambda value: value if type(value) is int else None,
    str: lambda value: value if isinstance(value, str) else None,
    bool: lambda value: value if isinstance(value, bool) else None,
    bytes: lambda value: bytes.fromhex(value) if isinstance(value, str) else None,
}


def _union_from_json(hints: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and NoneType in hints:
        return None
    *kinds, last = (hint for hint in hints if hint is not NoneType)
    for kind in kinds:
        try:
            return _from_json(kind, value, where)
        except ValueError:
            continue
    return _from_json(last, value, where)


def _tuple_from_json(
        hints: tuple[Any, ...], values: list[Any], where: str) -> tuple[Any, ...]:
    if hints[-1] is Ellipsis:
        hints = (hints[0],) * len(values)
    if len(hints) != len(values):
        raise ValueError(f'{where}: got {counted(len(values), "item")}, expected {len(hints)}')
    return tuple(_from_json(hint, value, f'{where} {number}')
                 for number, (hint, value) in enumerate(zip(hints, values, strict=True), 1))
