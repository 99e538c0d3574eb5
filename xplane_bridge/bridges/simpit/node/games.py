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


"""simpit_node: Kerbal Space Program with Kerbal Simpit, over serial ports, one game or several."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.parameter import Parameter

from xplane_bridge.bridges.nodes.common.running import run
from xplane_bridge.bridges.nodes.common.several import given_at_start, in_namespace
from xplane_bridge.bridges.simpit.node.node import SimpitNode
from xplane_bridge.bridges.simpit.node.parameters import (
    read_games,
    SimpitParameters,
    split_cockpit,
)


def main(args: Sequence[str] | None = None) -> int:
    """Run simpit_node, or one for each of ``ports``; return the process's exit code."""
    return run(make_nodes, SimpitParameters, args)


def make_nodes() -> list[SimpitNode]:
    """
    Return a node for each game in the parameter ``ports``; without it, or with errors, one node.

    Their names are the same, in sub-namespaces; so a parameter file has a section for each.
    """
    namespace, values = given_at_start('simpit_node', 'port', 'ports')
    port, ports = values['port'], values['ports']
    try:
        games = read_games([ports] if isinstance(ports, str) else ports or ())
    except ValueError:
        games = {}
    if port or not games:
        # It refuses what is wrong when it is configured.
        return [SimpitNode()]
    nodes = [
        SimpitNode(
            cli_args=in_namespace(f'{namespace}/{name}'),
            parameter_overrides=[
                Parameter('port', value=port),
                Parameter('ports', Parameter.Type.STRING_ARRAY, [])])
        for name, port in games.items()]
    for node in nodes:
        node.elsewhere = {*games.values()} | {
            split_cockpit(str(entry))[0] for other in nodes if other is not node
            for entry in other.get_parameter('cockpits').value or ()}
    return nodes
