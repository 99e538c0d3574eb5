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

"""The options of ``simulator skylark``, and the simulator built from them."""

from argparse import ArgumentParser, Namespace

from xplane_bridge.bridges.skylark import protocol as skylark
from xplane_bridge.simulation.peers import options
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.faults import Faults
from xplane_bridge.simulation.peers.skylark.frontend import SkylarkFrontend


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this frontend."""
    options.add_host(parser)
    parser.add_argument('--port', type=options.port, default=skylark.PORT,
                        help='UDP port; 0 takes a free one (%(default)s)')


def make_frontend(arguments: Namespace, faults: Faults) -> SkylarkFrontend:
    """Return the simulator that the options describe."""
    return SkylarkFrontend(UdpEndpoint(arguments.host, arguments.port, faults))
