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

"""The arguments of the launch files, checked: for launch, and for what stands in for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

from xplane_bridge.bridges.nodes.managed.parameter_texts import parse
from xplane_bridge.bridges.nodes.managed.parameters import parameter, renames
from xplane_bridge.bridges.nodes.managed.registry import parameter_table
from xplane_bridge.bridges.nodes.vehicle.publisher import TopicParameters
from xplane_bridge.common.fields import FieldError, name_of
from xplane_bridge.common.text import did_you_mean
from xplane_bridge.laboratory.control.gains import Parameters, read_parameters
from xplane_bridge.laboratory.nodes.autopilot.parameters import AutopilotParameters

Given = Mapping[str, Any]
"""The given arguments by name; the others are absent."""


@dataclass(frozen=True)
class NodeArguments:
    """Arguments of every launch file that starts nodes."""

    namespace: str = parameter('', 'Namespace of the vehicle, such as uav1.')
    params_file: str = parameter(
        '', 'Parameter file; arguments given here override it. Empty: none.')
    use_sim_time: bool = parameter(False, 'Take the time from /clock.')
    log_level: str = parameter(
        'info', 'Least severe message to log.',
        choices=('debug', 'info', 'warn', 'error', 'fatal'))
    respawn: bool = parameter(False, 'Restart a node when it ends.')


@dataclass(frozen=True)
class SensorArguments:
    """Arguments of every launch file that starts a bridge of a vehicle."""

    sensors: str = parameter(
        '', 'Start sensors_node with these sensors: consumer, tactical, perfect, px4, ardupilot, '
        "or a file (.yaml); the bridge's topics go on below truth. Empty: none.")


@dataclass(frozen=True)
class AircraftArguments:
    """Arguments of launch files that start autopilot_node."""

    aircraft: str = parameter(
        '', 'Aircraft whose gains and limits autopilot_node has: a name in data/gains, or '
        'a parameter file. Empty: those of params_file, or of the c172p. A simulator of this '
        'package that is started too flies the aircraft of that name.')


def tables_of(executable: str) -> list[type[Any]]:
    """Return the arguments of a node's launch file: first its parameters, then all others."""
    table = parameter_table(executable)
    return [table, *([AircraftArguments] if issubclass(table, AutopilotParameters) else ()),
            NodeArguments, *([SensorArguments] if issubclass(table, TopicParameters) else ())]


def checked_arguments(
    file: str, texts: Mapping[str, str], tables: Sequence[type[Any]]
) -> dict[str, Any]:
    """
    Return arguments of a launch file, by name, converted to the types of the fields of ``tables``.

    They are in the order of ``tables``, whatever launch gives. An empty one counts as not given.
    Raises ValueError for an unknown argument, for one by the name that it had earlier, and for an
    invalid value.
    """
    known = [name_of(item) for item in chain.from_iterable(map(fields, tables))]
    renamed = {old: new for table in tables for old, new in renames(table).items()}
    for name in sorted(set(texts).difference(known)):
        if name in renamed:
            raise ValueError(f'launch argument {name}: it is now called {renamed[name]}')
        raise ValueError(
            f'launch argument {name}: {file} has no argument of that name'
            f'{did_you_mean(name, known)}')
    given: dict[str, Any] = {}
    for table in tables:
        names = map(name_of, fields(table))
        try:
            given |= parse(table, {name: texts[name] for name in names if texts.get(name)})
        except FieldError as error:
            raise ValueError(
                f'launch argument {str(error).removeprefix("parameter ")}') from error
    return given


def own_parameters(given: Given, others: Sequence[type[Any]]) -> dict[str, Any]:
    """Return those of the given arguments that are not of the other tables."""
    shared = {name_of(item) for item in chain.from_iterable(map(fields, others))}
    return {name: value for name, value in given.items() if name not in shared}


def gains_for(given: Given) -> Parameters:
    """Return autopilot_node's parameters for the argument ``aircraft``."""
    aircraft = given.get('aircraft', '')
    try:
        return read_parameters(aircraft) if aircraft else {}
    except ValueError as error:
        raise ValueError(f'launch argument aircraft: {error}') from None
