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

"""Namespaces of the aircraft of a fleet, in one node or in one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import re
from typing import Any, TypeVar

from xplane_bridge.bridges.nodes.common.base import BaseParameters, BridgeNode
from xplane_bridge.bridges.nodes.common.several import given_at_start, in_namespace
from xplane_bridge.bridges.nodes.managed.parameters import parameter

# As in ROS, below that of the node.
_NAMESPACE = re.compile(r'[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*', re.ASCII)


def check_namespaces(names: Sequence[str], count: int, of: str) -> None:
    """
    Raise ValueError unless there is a namespace for each of ``count`` aircraft, all different.

    ``of`` says in the sentence which aircraft they are; no names at all are fine.
    """
    if not names:
        return
    if len(names) != count:
        raise ValueError(
            f'parameter namespaces: expected {count}, one for each {of}, got {len(names)}')
    for name in names:
        if not _NAMESPACE.fullmatch(name):
            raise ValueError(
                f'parameter namespaces: {name!r} is no namespace below that of the node: expected '
                'letters, digits and underscores, between slashes if it is nested, no part '
                'beginning with a digit')
        if name.rpartition('/')[2] == 'command':
            # Its controls would be on the topic of somebody's command/controls.
            raise ValueError(
                f'parameter namespaces: {name!r} is not possible: below command others take their '
                'commands')
        if names.count(name) > 1:
            raise ValueError(f'parameter namespaces: {name!r} is there more than once')


def default_namespaces(count: int) -> tuple[str, ...]:
    """Return uav1, uav2, ... for so many aircraft."""
    return tuple(f'uav{number + 1}' for number in range(count))


@dataclass(frozen=True)
class NamespacesParameters(BaseParameters):
    """Parameters of nodes for one aircraft, of which a process may have several."""

    namespaces: tuple[str, ...] = parameter(
        (), 'Several aircraft in one process: a node for each, in these namespaces below that of '
        'the process. Empty: one node. Parameters of one of them: a section '
        '"/uav2/autopilot_node" of the file, with the name of the node.')

    def __post_init__(self) -> None:
        """Check the namespaces."""
        check_namespaces(self.namespaces, len(self.namespaces), '')


Parameters = TypeVar('Parameters', bound=NamespacesParameters)


class VehicleNode(BridgeNode[Parameters]):
    """
    A node for one aircraft: of several in one process it is that of ``namespaces[number]``.

    Each has topics, services, parameters, diagnostics and a lifecycle of its own, as in a process
    of its own.
    """

    def __init__(
        self, name: str, table: type[Parameters], namespaces: Sequence[str] = (),
        number: int = 0, **options: Any,
    ) -> None:
        self._namespaces, self.number = tuple(namespaces), number
        super().__init__(name, table, **options)

    def check(self, given: Parameters) -> None:
        """Refuse other namespaces than those of the process."""
        if given.namespaces != self._namespaces:
            raise ValueError(
                'parameter namespaces: it is used only when the process starts, expected '
                f'{list(self._namespaces)}, got {list(given.namespaces)}')


Node = TypeVar('Node', bound=VehicleNode[Any])


def make_vehicle_nodes(kind: Callable[..., Node], name: str) -> list[Node]:
    """
    Return a node for each of the parameter ``namespaces``; without it, or with errors, one.

    ``name`` is that of all of them.
    """
    namespace, values = given_at_start(name, 'namespaces')
    given = values['namespaces'] or ()
    names = [given] if isinstance(given, str) else list(map(str, given))
    try:
        check_namespaces(names, len(names), '')
    except ValueError:
        names = []
    if not names:
        # It refuses what is wrong when it is configured.
        return [kind()]
    return [kind(namespaces=names, number=number, cli_args=in_namespace(f'{namespace}/{one}'))
            for number, one in enumerate(names)]
