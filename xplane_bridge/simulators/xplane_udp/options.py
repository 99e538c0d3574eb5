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

"""The options of ``simulator xplane_udp``, and the frontend they describe."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from xplane_bridge.protocols.xplane_udp import (
    FIRST_WITH_SENDER,
    FIRST_WITH_TARGETS,
    PORT,
    VERSIONS,
)
from xplane_bridge.simulators import options
from xplane_bridge.simulators.endpoints import UdpEndpoint
from xplane_bridge.simulators.faults import Faults
from xplane_bridge.simulators.xplane_udp.frontend import XplaneUdpFrontend

# Default destination of rows of the versions in which only the settings choose it.
_SETTINGS = (options.LOOPBACK, 49003)


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this frontend."""
    options.add_host(parser)
    parser.add_argument('--port', type=options.first_port, default=PORT,
                        help='UDP port; 0 takes a free one. 7 and later send from the next one '
                        '(%(default)s)')
    parser.add_argument('--version', type=int, choices=VERSIONS, default=12,
                        help='version of X-Plane (%(default)s)')
    parser.add_argument('--byte-order', choices=('little', 'big'), default='little',
                        help='byte order of the computer: big for an old Mac (%(default)s)')
    parser.add_argument('--data-target', type=options.address, metavar='ADDRESS:PORT',
                        help='destination of rows in the settings (default: '
                        f'{_SETTINGS[0]}:{_SETTINGS[1]} for 6 to 8, nowhere from 9 on, which '
                        'can be told it by UDP)')
    parser.add_argument('--data-rate', type=options.rate, default=50.0, metavar='HZ',
                        help='row packets per second (%(default)s)')
    parser.add_argument('--tick', type=int, action='append', default=[], metavar='ROW',
                        help='a row that the user has ticked in the data output screen; repeat '
                        'for several')
    parser.add_argument('--drift', type=options.probability, default=0.0, metavar='P',
                        help='maximum relative error of subscription timers, each with its own '
                        'phase; 0: all of one rate tick together (%(default)s)')
    options.add_beacon(parser)


def make_frontend(arguments: Namespace, faults: Faults) -> XplaneUdpFrontend:
    """Return the frontend that the options describe."""
    version: int = arguments.version
    endpoint = UdpEndpoint(arguments.host, arguments.port, faults)
    sender = None
    if version >= FIRST_WITH_SENDER:
        sender = UdpEndpoint(arguments.host, arguments.port and arguments.port + 1, faults)
    target = arguments.data_target
    if target is None and version < FIRST_WITH_TARGETS:
        target = _SETTINGS
    return XplaneUdpFrontend(
        endpoint, version, sender=sender, byte_order=arguments.byte_order, data_target=target,
        data_rate=arguments.data_rate, ticked=arguments.tick, drift=arguments.drift,
        beacon_interfaces=options.beacon_interfaces(arguments, endpoint.address[0]))
