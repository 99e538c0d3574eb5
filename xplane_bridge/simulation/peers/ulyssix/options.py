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

"""The options of ``simulator ulyssix``, and the frontend they describe."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import datetime, timedelta, UTC
import ipaddress

from xplane_bridge.bridges.links.udp import resolve
from xplane_bridge.bridges.ulyssix.protocol import WordOrder
from xplane_bridge.common.command_line import peer_port
from xplane_bridge.simulation.peers import options
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.faults import Faults
from xplane_bridge.simulation.peers.ulyssix.frontend import UlyssixFrontend, utc_ns
from xplane_bridge.simulation.peers.ulyssix.publisher import (
    DEFAULT_PARAMETERS,
    PACKET_PERIODS,
    QUANTITIES,
    RESOLUTION,
    Stream,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this frontend."""
    network = options.network(parser)
    network.add_argument('--host', default=options.LOOPBACK,
                         help='address or multicast group to send to (%(default)s)')
    network.add_argument('--port', type=peer_port, required=True,
                         help='UDP port to send to')
    network.add_argument('--interface', type=options.interface, default=options.LOOPBACK,
                         metavar='ADDRESS',
                         help='address of the interface to multicast on (%(default)s)')
    parser.add_argument('--program', choices=PACKET_PERIODS, default='altair',
                        help='sending program: a packet every 10 ms, or every 40 ms (%(default)s)')
    parser.add_argument('--parameter', action='append', type=_parameter, metavar='NAME=RATE',
                        help='a quantity to send and its samples per second; repeat for several '
                        '(default: ' + ' '.join(
                            f'{name}={rate:g}' for name, rate in DEFAULT_PARAMETERS) + ')')
    parser.add_argument('--no-names', action='store_true', help='do not send names')
    parser.add_argument('--no-times', action='store_true', help='do not send time tags')
    parser.add_argument('--integer-width', type=int, choices=(8, 4),
                        help=f'send integers of this many bytes, in units of {RESOLUTION:g}')
    parser.add_argument('--word-order', choices=[order.value for order in WordOrder],
                        default=WordOrder.FIRST_WORD_HIGH.value,
                        help="which half of the packet's time comes first (%(default)s)")
    parser.add_argument('--start-time', type=_time, metavar='TIME',
                        help='UTC time of the clock at the start, such as '
                        '2025-12-31T23:59:55 (default: the current time)')


def make_frontend(arguments: Namespace, faults: Faults) -> UlyssixFrontend:
    """Return the frontend that the options describe."""
    host = resolve(arguments.host)
    start = arguments.start_time
    return UlyssixFrontend(
        UdpEndpoint('', 0, faults),
        (host, arguments.port),
        Stream(
            tuple(arguments.parameter or DEFAULT_PARAMETERS), arguments.program,
            not arguments.no_names, not arguments.no_times, arguments.integer_width,
            WordOrder(arguments.word_order)),
        interface=arguments.interface if ipaddress.ip_address(host).is_multicast else None,
        clock=utc_ns if start is None else lambda _: start,
    )


def _parameter(text: str) -> tuple[str, float]:
    name, _, number = text.partition('=')
    try:
        rate = float(number)
    except ValueError:
        rate = 0.0
    if name not in QUANTITIES or not 0.0 < rate <= 1e6:
        raise ArgumentTypeError(f'{text!r} is not like altitude_msl=50')
    return name, rate


def _time(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        raise ArgumentTypeError(f'{text!r} is not like 2025-12-31T23:59:55') from None
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000
