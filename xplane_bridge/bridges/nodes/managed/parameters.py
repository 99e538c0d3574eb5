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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, Field, fields
import math
from typing import Any, TypeVar

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
)
from rclpy.exceptions import ParameterException, ParameterUninitializedException
from rclpy.node import Node
from rclpy.parameter import Parameter
import yaml

from xplane_bridge.bridges.nodes.managed import qos, registry
from xplane_bridge.common.fields import (
    as_field,
    choice,
    Declaration,
    declaration_of,
    FieldError,
    name_of,
    number,
)
from xplane_bridge.common.text import did_you_mean

_HIGHEST = 1e300
# Maximum number of list elements and of characters in a string: more than the datarefs that can be
# watched, and the longest path of a file.
_MOST_ELEMENTS = 4096
_LONGEST_TEXT = 4096
ONLY_UNCONFIGURED = 'may be set only while the node is unconfigured'


def parameter(
    default: Any,
    description: str,
    *,
    unit: str = '',
    low: float | None = None,
    high: float | None = None,
    choices: Sequence[str] = (),
    live: bool = False,
    name: str = '',
    was: str = '',
    refused: Mapping[str, str] | None = None,
) -> Any:
    """
    Declare one parameter as a field of a frozen dataclass: see common.fields.Declaration.

    Its type is that of ``default``; lists are given as tuples. A ``live`` parameter may change
    in any state of the node, others only while it is unconfigured. ``was`` is the name that it had
    in an earlier release; ``refused`` has for a value that is no choice, or no longer, the reason
    to tell.
    """
    return as_field(
        Declaration(default, description, type(default), unit, low, high, None, tuple(choices),
                    name),
        live=live, was=was, refused=refused or {})


Table = TypeVar('Table')


def declare(node: Node, table: type[Any]) -> dict[str, str]:
    """
    Declare all fields of ``table`` as parameters of ``node``.

    Return a sentence for each given value that is invalid, by the parameter's name, so that
    configuring can refuse it; the parameter then has its default.
    """
    problems = {}
    for item in fields(table):
        name, default = name_of(item), _ros_value(item.default)
        given = node._parameter_overrides.get(name)
        if isinstance(item.default, tuple) and given is not None and given.value is None:
            # An empty list has no type in a file; without one it would be dumped as "null".
            node.declare_parameter(name, [], _descriptor(item), ignore_override=True)
            continue
        try:
            node.declare_parameter(name, default, _descriptor(item))
        except ParameterException as error:
            problems[name] = _problem(item, node._parameter_overrides, error)
            node.declare_parameter(name, default, _descriptor(item), ignore_override=True)
    return problems


def _problem(
    item: Field[Any], given: dict[str, Parameter], error: ParameterException
) -> str:
    name = name_of(item)
    try:
        checked(item, given[name].value)
    except FieldError as better:
        return str(better)
    return f'parameter {name}: {error.args[0]}'


def misspelt(node: Node, table: type[Any]) -> list[str]:
    """
    Return a sentence for each value given to a parameter that ``node`` does not have.

    ``table`` has its parameters, and the names that these had earlier.
    A parameter of another node of this package is not a mistake: one file may have a section for
    all nodes (``/**``), and at run time nothing tells which section a value came from.
    """
    problems, ignored = [], []
    renamed = renames(table)
    # rclpy has no public name for the values from files and the command line.
    for name in sorted(node._parameter_overrides):
        if node.has_parameter(name) or qos.is_override(name):
            continue
        owners = ', '.join(registry.declared_elsewhere(name))
        # If both are given, the old one is meant for another node that has it.
        if name in renamed and renamed[name] not in node._parameter_overrides:
            problems.append(f'parameter {name}: it is now called {renamed[name]}' + (
                f'; that of {owners} belongs in a section with the name of that node'
                if owners else ''))
        elif owners:
            ignored.append(f'{name} (of {owners})')
        else:
            known = node.list_parameters([], 0).names
            problems.append(
                f'parameter {name}: {node.get_name()} has no parameter of that name'
                + did_you_mean(name, known))
    if ignored:
        node.get_logger().info(f'parameters that this node does not have: {"; ".join(ignored)}')
    return problems


def renames(table: type[Any]) -> dict[str, str]:
    """Return the names that parameters of ``table`` had in an earlier release: {old: new}."""
    return {item.metadata['was']: name_of(item) for item in fields(table) if item.metadata['was']}


def read(node: Node, table: type[Table]) -> Table:
    """Return the parameters' values. Raises FieldError."""
    given = {}
    for item in fields(table):  # type: ignore[arg-type]
        try:
            given[item.name] = node.get_parameter(name_of(item)).value
        except ParameterUninitializedException:
            raise FieldError(
                f'parameter {name_of(item)}: the value given has no type') from None
    return build(table, given)


def build(table: type[Table], given: dict[str, Any]) -> Table:
    """Return ``table`` with the values of ``given``, checked. Raises FieldError."""
    values = {
        item.name: checked(item, given[item.name])
        for item in fields(table)  # type: ignore[arg-type]
    }
    try:
        return table(**values)
    except FieldError:
        raise
    except ValueError as error:
        raise FieldError(str(error)) from error


def change(table: Table, changes: Sequence[Parameter]) -> Table:
    """
    Return ``table`` with the values of ``changes``, which are of its parameters.

    Raises FieldError.
    """
    by_name = {name_of(item): item for item in fields(table)}  # type: ignore[arg-type]
    values = {item.name: getattr(table, item.name) for item in by_name.values()}
    for given in changes:
        values[by_name[given.name].name] = given.value
    return build(type(table), values)


class Declared:
    """The parameters of a table as a node has declared them: what may be set, and when."""

    def __init__(self, table: type[Any]) -> None:
        self._items = {name_of(item): item for item in fields(table)}

    def __contains__(self, name: str) -> bool:
        """Return whether the table has a parameter of that name."""
        return name in self._items

    def is_live(self, name: str) -> bool:
        """Return whether a parameter may change in any state."""
        return name in self and bool(self._items[name].metadata['live'])

    def check(self, given: Parameter) -> None:
        """Raise FieldError for a value that is invalid whatever the others are."""
        checked(self._items[given.name], given.value)

    def typed(self, given: Parameter) -> Parameter:
        """
        Return ``given`` with numbers where ``ros2 param load`` has made texts of them.

        It reads what Python prints as YAML 1.1, in which 1e-05 and nan are texts.
        """
        default = self._items[given.name].default if given.name in self else None
        if isinstance(default, float) and isinstance(given.value, str):
            number = parsed_number(given.value)
            if not isinstance(number, str):
                return Parameter(given.name, value=float(number))
        return given

    def are_equal(self, old: Parameter, new: Parameter) -> bool:
        """Return whether two values mean the same."""
        if new.name not in self:
            return bool(old.value == new.value)
        item = self._items[new.name]
        try:
            # NaN equals NaN here.
            return repr(checked(item, old.value)) == repr(checked(item, new.value))
        except FieldError:
            return False


@dataclass(frozen=True, slots=True)
class Described:
    """Description of a parameter: for --help, and for the arguments of launch files."""

    name: str
    default: str
    """In YAML."""
    text: str
    allowed: str
    """Choices or range, and unit; empty if there is none."""
    live: bool


def describe(table: type[Any]) -> list[Described]:
    """Return descriptions of the parameters of ``table``, the node's own ones first."""
    def shared(item: Field[Any]) -> bool:
        return '.' in name_of(item) or item.name not in table.__annotations__

    return [
        Described(name_of(item), _as_yaml(item.default), one.meaning,
                  ' '.join(filter(None, (one.allowed, one.unit))), item.metadata['live'])
        for item in sorted(fields(table), key=shared) for one in [declaration_of(item)]
    ]


def parsed_number(text: str) -> int | float | str:
    """Return the number that a text means, or the text itself."""
    bare = text.strip().lower().removeprefix('+')
    # As in YAML.
    if bare in ('.nan', '.inf', '-.inf'):
        bare = bare.replace('.', '')
    for kind in (int, float):
        try:
            number: int | float = kind(bare)
        except ValueError:
            continue
        # ROS integers have 64 bits: a larger number is kept as text.
        too_large = not -2**63 <= number < 2**63 if kind is int else (
            math.isinf(number) and not bare.endswith(('inf', 'infinity')))
        return text if too_large else number
    return text


def _as_yaml(default: Any) -> str:
    text: str = yaml.safe_dump(_ros_value(default), default_flow_style=True, width=1000)
    return text.removesuffix('...\n').strip()


def _ros_value(default: Any) -> Any:
    return list(default) if isinstance(default, tuple) else default


def _descriptor(item: Field[Any]) -> ParameterDescriptor:
    one = declaration_of(item)
    text = one.meaning
    if one.unit:
        text += f' In {one.unit}.'
    if one.choices:
        text += ' One of: ' + ', '.join(one.choices) + '.'
    descriptor = ParameterDescriptor(
        name=name_of(item),
        description=text,
        additional_constraints='' if item.metadata['live'] else ONLY_UNCONFIGURED,
        # A YAML file may say 50 for 50.0 or for the choice '50', and an empty list has no type;
        # types are checked in checked() instead.
        dynamic_typing=isinstance(item.default, float | tuple)
        or any(map(str.isdecimal, one.choices)),
    )
    low, high = one.low, one.high
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


def checked(item: Field[Any], value: Any) -> Any:
    """Return ``value`` converted to the type of the field's default. Raises FieldError."""
    one, default, where = declaration_of(item), item.default, f'parameter {name_of(item)}'
    if isinstance(default, tuple):
        return _checked_list(where, value)
    if isinstance(default, float):
        if math.isnan(default) and isinstance(value, float) and math.isnan(value):
            return value
        return number(value, where, one.low, one.high, unit=one.unit, largest=_HIGHEST)
    if one.choices:
        if (why := item.metadata['refused'].get(str(value))) is not None:
            raise FieldError(f"{where}: '{value}' {why}")
        return choice(str(value), where, one.choices)
    value = one.check(value, where)
    if isinstance(value, str):
        _check_length(where, value)
    return value


def _checked_list(where: str, value: Any) -> tuple[Any, ...]:
    if value is None:
        # An empty list has no type.
        value = ()
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        value = [value]
    if len(value) > _MOST_ELEMENTS:
        raise FieldError(
            f'{where}: {len(value)} elements, at most {_MOST_ELEMENTS} can be given')
    return tuple(_element(where, element) for element in value)
def _element(where: str, value: Any) -> Any:
    if isinstance(value, str):
        _check_length(where, value)
    if isinstance(value, float):
        return number(value, where, largest=_HIGHEST)
    return value


def _check_length(where: str, value: str) -> None:
    if len(value) > _LONGEST_TEXT:
        raise FieldError(
            f'{where}: {len(value)} characters, at most {_LONGEST_TEXT} can be given')
