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

"""The nodes of this package, and where each declares its parameters; imported when asked for."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class NodeEntry:
    """A node: its module in this folder, the dataclass of its parameters, and an example."""

    module: str
    table: str
    example: str


NODES = {
    'autopilot_node': NodeEntry('autopilot', 'AutopilotParameters', 'engage:=true'),
    'fdmdata_node': NodeEntry('fdmdata', 'FdmdataParameters', 'host:=192.168.1.20'),
    'simpit_node': NodeEntry('simpit', 'SimpitParameters', 'port:=/dev/ttyUSB0'),
    'simulator_node': NodeEntry('simulator', 'SimulatorParameters', 'face:=xplane12'),
    'ulyssix_node': NodeEntry('ulyssix', 'UlyssixNodeParameters', 'port:=5000'),
    'xpc_node': NodeEntry('xpc', 'XpcParameters', 'host:=192.168.1.20'),
    'xplane_udp_node': NodeEntry('xplane_udp', 'XplaneUdpParameters', 'host:=192.168.1.20'),
}


def parameter_table(executable: str) -> type[Any]:
    """Return the dataclass that declares the parameters of a node."""
    entry = NODES[executable]
    table: type[Any] = getattr(import_module(f'xplane_bridge.nodes.{entry.module}'), entry.table)
    return table


def declared_elsewhere(name: str) -> list[str]:
    """Return the executables of this package whose node has a parameter of that name."""
    found = []
    for executable in NODES:
        try:
            table = parameter_table(executable)
        except ImportError:
            # A node whose dependencies are not installed cannot be meant.
            continue
        if any(name == (item.metadata['name'] or item.name) for item in fields(table)):
            found.append(executable)
    return found
