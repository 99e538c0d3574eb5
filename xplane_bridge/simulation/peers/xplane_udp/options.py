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

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import dataclass

from xplane_bridge.bridges.protocols.xplane_versions import (
    FIRST_WITH_SENDER,
    FIRST_WITH_TARGETS,
    HIGHEST_PLAUSIBLE_ROW,
)
from xplane_bridge.bridges.xplane_udp.protocol import PORT, VERSIONS
from xplane_bridge.bridges.xplane_udp.protocol.web_api import FIRST_WITH_WEB_API
from xplane_bridge.bridges.xplane_udp.protocol.web_api import PORT as WEB_PORT
from xplane_bridge.common.command_line import subject
from xplane_bridge.simulation.peers import options
from xplane_bridge.simulation.peers.endpoints import Address, UdpEndpoint
from xplane_bridge.simulation.peers.faults import Faults
from xplane_bridge.simulation.peers.xplane_udp.frontend import XplaneUdpFrontend
from xplane_bridge.simulation.peers.xplane_udp.web_api import APIS, DISABLED
from xplane_bridge.simulation.peers.xplane_udp.web_server import WebServer
from xplane_bridge.simulation.peers.xplane_udp.xplane import COMPUTER, RREF_LABELS

# Default destination of rows of the versions in which only the settings choose it.
_SETTINGS = (options.LOOPBACK, 49003)
_DATA_RATE = 50.0


@dataclass(frozen=True, slots=True)
class Preset:
    """What the user of a program sets in X-Plane's screens before that program works."""

    rows: tuple[int, ...]
    data_target: Address
    send_port: int
    data_rate: float
    frame_rate: float | None = None


PRESETS = {
    # Its X-Plane backend reads rows at 49001, which it binds itself, on all interfaces. It asks
    # for what it misses only once a row has arrived, and crashes if it misses more than eight.
    'ardupilot': Preset((1, 3, 4, 13, 16, 17, 20, 21, 37, 38, 39, 136),
                        (options.LOOPBACK, 49001), 49002, 99.0),
    # Its X-Plane module reads rows at 49005, which it binds, beside values that it subscribes to
    # at 100 Hz: with every second of 200 frames all come evenly.
    'px4': Preset((1, 4, 16, 17), (options.LOOPBACK, 49005), 49001, 99.0, 200.0),
}


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this frontend."""
    options.add_host(parser)
    network, rows = options.network(parser), subject(parser, 'rows')
    network.add_argument('--port', type=options.first_port, default=PORT,
                         help='UDP port to listen on; 0 takes a free one (%(default)s)')
    parser.add_argument('--version', type=int, choices=VERSIONS, default=12,
                        help='version of X-Plane (%(default)s)')
    network.add_argument('--send-port', type=options.port, default=None, metavar='PORT',
                         help='UDP port to send from; 0 takes a free one (default: --port for 6, '
                         'else the next one)')
    rows.add_argument('--byte-order', choices=('little', 'big'), default='little',
                      help='byte order of the computer: big for an old Mac (%(default)s)')
    rows.add_argument('--data-target', type=options.address, metavar='ADDRESS:PORT',
                      help='destination of rows in the settings (default: '
                      f'{_SETTINGS[0]}:{_SETTINGS[1]} for 6 to 8, nowhere from 9 on, which '
                      'can be told it by UDP)')
    rows.add_argument('--data-rate', type=options.rate, default=None, metavar='HZ',
                      help='row packets per second, at most one per frame (default: '
                      f'{_DATA_RATE:g})')
    rows.add_argument('--rows', type=row_numbers, default=None, metavar='ROWS',
                      help='rows that the user has ticked in the data output screen, such as '
                      '3,16-21 (default: none)')
    rows.add_argument('--for', choices=PRESETS, dest='preset', metavar='PROGRAM',
                      help='--rows, --data-target, --data-rate, --send-port and --frame-rate as '
                      f'that program needs them: {", ".join(PRESETS)}')
    parser.add_argument('--rref-label', choices=RREF_LABELS, default=None,
                        help='how replies to RREF begin (default: RREFO for 10, else RREF,)')
    parser.add_argument('--computer', default=COMPUTER, metavar='NAME',
                        help="name of X-Plane's computer in its beacon (%(default)s)")
    parser.add_argument('--drift', type=options.probability, default=0.0, metavar='P',
                        help='maximum relative error of subscription timers, each with its own '
                        'phase; 0: all of one rate tick together (%(default)s)')
    network.add_argument('--web-port', type=options.port, default=None, metavar='PORT',
                         help="TCP port of X-Plane 12's Web API, on loopback only; X-Plane's is "
                         f'{WEB_PORT}, 0 takes a free one (default: none)')
    network.add_argument('--web-api', choices=(*APIS, DISABLED), default=None,
                         help='v3: as X-Plane 12.4, which can start flights; v2: as 12.1.4; '
                         'disabled: as when its settings disable incoming traffic (default: v3)')
    options.add_beacon(parser)


def row_numbers(text: str) -> tuple[int, ...]:
    """Return the rows of a list of numbers and ranges, such as ``3,16-21``, in ascending order."""
    rows: set[int] = set()
    for part in text.split(','):
        first, dash, last = part.strip().partition('-')
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ArgumentTypeError(f'{part!r} is not a row or a range of rows, like 3,16-21')
        low, high = int(first), int(last if dash else first)
        if not low <= high <= HIGHEST_PLAUSIBLE_ROW:
            raise ArgumentTypeError(
                f'{part!r} is not within the rows 0-{HIGHEST_PLAUSIBLE_ROW}, lower one first')
        rows.update(range(low, high + 1))
    return tuple(sorted(rows))


def make_frontend(arguments: Namespace, faults: Faults) -> XplaneUdpFrontend:
    """Return the frontend that the options describe."""
    version: int = arguments.version
    preset = PRESETS.get(arguments.preset)
    send_port, target, rows = arguments.send_port, arguments.data_target, arguments.rows
    data_rate = arguments.data_rate
    if preset is not None:
        send_port = preset.send_port if send_port is None else send_port
        target = target or preset.data_target
        rows = preset.rows if rows is None else rows
        data_rate = data_rate or preset.data_rate
    if target is None and version < FIRST_WITH_TARGETS:
        target = _SETTINGS
    if send_port is None and version >= FIRST_WITH_SENDER:
        send_port = arguments.port and arguments.port + 1
    if send_port and send_port == arguments.port:
        raise ValueError(f'--send-port: X-Plane listens on {send_port} (--port) already')
    endpoint = UdpEndpoint(arguments.host, arguments.port, faults)
    sender = None if send_port is None else UdpEndpoint(arguments.host, send_port, faults)
    frontend = XplaneUdpFrontend(
        endpoint, version, sender=sender, byte_order=arguments.byte_order, data_target=target,
        data_rate=data_rate or _DATA_RATE, ticked=rows or (), drift=arguments.drift,
        rref_label=arguments.rref_label, computer=arguments.computer, web=_web(arguments),
        beacon_interfaces=options.beacon_interfaces(arguments, endpoint.address[0]))
    if preset is not None:
        frontend.frame_rate = preset.frame_rate
    return frontend


def _web(arguments: Namespace) -> WebServer | None:
    """Return the Web API, which X-Plane serves to its own computer only."""
    if arguments.web_port is None:
        if arguments.web_api is not None:
            raise ValueError(f'--web-api: give --web-port as well, {WEB_PORT} for example')
        return None
    if arguments.version < FIRST_WITH_WEB_API:
        raise ValueError(
            f'--web-port: X-Plane {arguments.version} has no Web API, {FIRST_WITH_WEB_API} has')
    return WebServer((options.LOOPBACK, arguments.web_port), arguments.web_api or 'v3')
