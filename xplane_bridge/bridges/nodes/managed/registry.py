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

"""The nodes of this package, and where each declares its parameters; imported on demand."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any

from xplane_bridge.common.fields import name_of


@dataclass(frozen=True, slots=True)
class NodeEntry:
    """A node: its name, its module within the package, and an example of a parameter."""

    name: str
    module: str
    example: str

    def table(self) -> type[Any]:
        """Return the dataclass that declares its parameters, XplaneUdpParameters of xplane_udp."""
        name = ''.join(word.capitalize() for word in self.name.split('_')) + 'Parameters'
        table: type[Any] = getattr(import_module(f'xplane_bridge.{self.module}'), name)
        return table


def nodes() -> dict[str, NodeEntry]:
    """Return all nodes by executable: those of the protocols, and those without a peer."""
    # It imports all protocols, and a node has one: that is a tenth of its start.
    from xplane_bridge.bridges.protocols.registry import PROTOCOLS
    found = [
        NodeEntry('autopilot', 'laboratory.nodes.autopilot', 'engage:=true'),
        NodeEntry('policy', 'laboratory.nodes.policy', 'policy:=mine.onnx'),
        NodeEntry('sensors', 'laboratory.nodes.sensors', 'sensors:=tactical'),
        NodeEntry('simulator', 'simulation.node', 'sim:=xplane12'),
        NodeEntry('view', 'bridges.nodes.view', 'rate:=10.0'),
        *(NodeEntry(protocol.name, f'bridges.{protocol.name}.node', protocol.example)
          for protocol in PROTOCOLS.values()),
    ]
    return {f'{entry.name}_node': entry for entry in found}


def parameter_table(executable: str) -> type[Any]:
    """Return the dataclass that declares the parameters of a node."""
    return nodes()[executable].table()


def declared_elsewhere(name: str) -> list[str]:
    """Return the executables of this package whose node has a parameter of that name."""
    found = []
    for executable, entry in sorted(nodes().items()):
        try:
            table = entry.table()
        except ImportError:
            # A node whose dependencies are not installed does not count.
            continue
        if any(name == name_of(item) for item in fields(table)):
            found.append(executable)
    return found
