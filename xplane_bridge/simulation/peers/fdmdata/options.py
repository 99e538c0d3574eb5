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

"""The options of ``simulator fdmdata``, and the frontend they describe."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from xplane_bridge.bridges.fdmdata import protocol as fdmdata
from xplane_bridge.simulation.peers import options
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.faults import Faults
from xplane_bridge.simulation.peers.fdmdata.frontend import FdmdataFrontend

_RPC_PORT = 10500


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this frontend."""
    options.add_host(parser)
    for name, port, what in (
            ('--port', fdmdata.DATA_PORT, 'UDP port for requests'),
            ('--controls-port', fdmdata.CONTROLS_PORT, 'UDP port for controls'),
            ('--rpc-port', _RPC_PORT, 'TCP port for XML-RPC')):
        options.network(parser).add_argument(
            name, type=options.port, default=port,
            help=f'{what}; 0 takes a free one (%(default)s)')
    parser.add_argument('--held', action='store_true',
                        help='start paused, as the real one does, until XML-RPC resume')


def make_frontend(arguments: Namespace, faults: Faults) -> FdmdataFrontend:
    """Return the frontend that the options describe; without rpc_port it has no XML-RPC."""
    rpc_port: int | None = arguments.rpc_port
    return FdmdataFrontend(
        UdpEndpoint(arguments.host, arguments.port, faults),
        UdpEndpoint(arguments.host, arguments.controls_port, faults),
        None if rpc_port is None else (arguments.host, rpc_port), arguments.held)
