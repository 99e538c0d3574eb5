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

"""Parameters of a node: one frozen dataclass, each field declared once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, field, fields
import math
from typing import Any, TypeVar

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter

_HIGHEST = 1e300


def parameter(
    default: Any,
    description: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: Sequence[str] = (),
    live: bool = False,
    name: str = '',
) -> Any:
    """
    Declare one parameter as a field of a frozen dataclass.

    Its type is that of ``default``; lists are given as tuples. ``live`` ones may change while the
    node runs, the others are read-only. ``name`` is the parameter's, if it is not the field's.
    """
    metadata = {
        'description': description,
        'minimum': minimum,
        'maximum': maximum,
        'choices': tuple(choices),
        'live': live,
        'name': name,
    }
    return field(default=default, metadata=metadata)


class BadParameterError(ValueError):
    """A parameter has a value that it must not have; the text is a sentence for the user."""


Table = TypeVar('Table')


def declare(node: Node, table: type[Any]) -> list[str]:
    """
    Declare all fields of ``table`` as parameters of ``node``.

    Return a sentence for each value that was given but cannot be taken, so that configuring can
    refuse it; the parameter then has its default.
    """
    complaints = []
    for item in fields(table):
        try:
            node.declare_parameter(_name(item), _ros_value(item.default), _descriptor(item))
        except ParameterException as error:
            complaints.append(f'parameter {_name(item)}: {error.args[0]}')
            node.declare_parameter(
                _name(item), _ros_value(item.default), _descriptor(item), ignore_override=True
            )
    return complaints


def read(node: Node, table: type[Table]) -> Table:
    """Return the parameters' values. Raises BadParameterError with a sentence."""
    given = {
        item.name: node.get_parameter(_name(item)).value
        for item in fields(table)  # type: ignore[arg-type]
    }
    return build(table, given)


def build(table: type[Table], given: dict[str, Any]) -> Table:
    """Return ``table`` with the values of ``given``, checked. Raises BadParameterError."""
    values = {
        item.name: _checked(item, given[item.name])
        for item in fields(table)  # type: ignore[arg-type]
    }
    try:
        return table(**values)
    except BadParameterError:
        raise
    except ValueError as error:
        raise BadParameterError(str(error)) from error


def change(table: Table, changes: Sequence[Parameter]) -> tuple[Table, SetParametersResult]:
    """
    Return ``table`` with live parameters changed, and what to answer.

    Parameters of others are accepted and ignored; a bad value is refused with a sentence.
    """
    by_name = {_name(item): item for item in fields(table)}  # type: ignore[arg-type]
    values = {item.name: getattr(table, item.name) for item in by_name.values()}
    for given in changes:
        if given.name in by_name:
            values[by_name[given.name].name] = given.value
    try:
        return build(type(table), values), SetParametersResult(successful=True)
    except BadParameterError as error:
        return table, SetParametersResult(successful=False, reason=str(error))


def _name(item: Field[Any]) -> str:
    return str(item.metadata['name'] or item.name)


def _ros_value(default: Any) -> Any:
    return list(default) if isinstance(default, tuple) else default


def _descriptor(item: Field[Any]) -> ParameterDescriptor:
    meta = item.metadata
    text = meta['description']
    if meta['choices']:
        text += ' One of: ' + ', '.join(meta['choices']) + '.'
    descriptor = ParameterDescriptor(
        name=_name(item),
        description=text,
        read_only=not meta['live'],
        # A YAML file says 50 where it means 50.0 or the choice '50', and an empty list has no
        # type; types are checked in _checked() instead.
        dynamic_typing=isinstance(item.default, float | tuple)
        or any(map(str.isdecimal, meta['choices'])),
    )
    low, high = meta['minimum'], meta['maximum']
    if low is not None or high is not None:
        if isinstance(item.default, float):
            descriptor.floating_point_range = [FloatingPointRange(
                from_value=-_HIGHEST if low is None else float(low),
                to_value=_HIGHEST if high is None else float(high),
            )]
        elif isinstance(item.default, int):
            descriptor.integer_range = [IntegerRange(
                from_value=-(2**63) if low is None else int(low),
                to_value=2**63 - 1 if high is None else int(high),
            )]
    return descriptor


def _checked(item: Field[Any], value: Any) -> Any:
    """Return ``value`` in the type of the field's default. Raises BadParameterError."""
    name, meta, default = _name(item), item.metadata, item.default
    if isinstance(default, tuple):
        if value is None:
            # Nothing tells the type of an empty list.
            value = ()
        if isinstance(value, str | bytes) or not isinstance(value, Sequence):
            value = [value]
        return tuple(_element(name, element) for element in value)
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise BadParameterError(f'parameter {name}: expected true or false, got {value!r}')
        return value
    if isinstance(default, float):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadParameterError(f'parameter {name}: expected a number, got {value!r}')
        value = float(value)
        if math.isinf(value) or (math.isnan(value) and not math.isnan(default)):
            raise BadParameterError(f'parameter {name}: {value} is not a finite number')
    elif isinstance(default, int):
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadParameterError(f'parameter {name}: expected a whole number, got {value!r}')
    elif str(value) in meta['choices']:
        value = str(value)
    elif not isinstance(value, str) and not meta['choices']:
        raise BadParameterError(f'parameter {name}: expected a text, got {value!r}')
    if meta['choices'] and value not in meta['choices']:
        raise BadParameterError(
            f"parameter {name}: '{value}' is none of {', '.join(meta['choices'])}"
        )
    low, high = meta['minimum'], meta['maximum']
    if (low is not None and value < low) or (high is not None and value > high):
        raise BadParameterError(
            f'parameter {name}: {value} is not in '
            f'{"" if low is None else low} .. {"" if high is None else high}'
        )
    return value


def _element(name: str, value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise BadParameterError(f'parameter {name}: {value} is not a finite number')
    return value
