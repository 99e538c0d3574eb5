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

"""The options of ``simulator xpc``, and the frontend they describe."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from xplane_bridge.bridges.xpc.protocol import PORT
from xplane_bridge.simulation.peers import options
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.faults import Faults
from xplane_bridge.simulation.peers.xpc.frontend import XpcFrontend
from xplane_bridge.simulation.peers.xpc.plugin_versions import PLUGIN_VERSIONS
from xplane_bridge.simulation.peers.xplane.datarefs import XPLANE_VERSIONS


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this frontend."""
    options.add_host(parser)
    options.network(parser).add_argument(
        '--port', type=options.port, default=PORT,
        help='UDP port; 0 takes a free one (%(default)s)')
    parser.add_argument('--plugin', choices=PLUGIN_VERSIONS, default='rc6',
                        help='version of the plugin (%(default)s)')
    parser.add_argument('--xplane-version', type=int, choices=XPLANE_VERSIONS, default=12,
                        help='version of X-Plane whose datarefs are available (%(default)s)')
    options.add_beacon(parser)


def make_frontend(arguments: Namespace, faults: Faults) -> XpcFrontend:
    """Return the frontend that the options describe."""
    endpoint = UdpEndpoint(arguments.host, arguments.port, faults)
    return XpcFrontend(
        endpoint, arguments.plugin, arguments.xplane_version,
        options.beacon_interfaces(arguments, endpoint.address[0]))
