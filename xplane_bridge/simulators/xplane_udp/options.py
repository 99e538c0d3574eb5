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

"""What ``simulator xplane`` can be told, and the face it makes of that."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace

from xplane_bridge.links.udp import resolve
from xplane_bridge.protocols.xplane_udp import PORT, VERSIONS
from xplane_bridge.simulators.endpoints import Address, UdpEndpoint
from xplane_bridge.simulators.faults import Faults
from xplane_bridge.simulators.xplane_udp.face import XplaneUdpFace

_LOOPBACK = '127.0.0.1'

# X-Plane 9 and later can be told by UDP where to send rows; before, only its settings say.
_FIRST_TO_BE_TOLD = 9
_SETTINGS = (_LOOPBACK, 49003)


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this face."""
    parser.add_argument('--host', default=_LOOPBACK,
                        help='address to listen at; 0.0.0.0 is any of this machine (%(default)s)')
    parser.add_argument('--port', type=_port, default=PORT,
                        help='UDP port; 0 takes a free one. 7 and later send from the next one '
                        '(%(default)s)')
    parser.add_argument('--version', type=int, choices=VERSIONS, default=12,
                        help='which X-Plane it is (%(default)s)')
    parser.add_argument('--byte-order', choices=('little', 'big'), default='little',
                        help='that of the computer: big is an old Mac (%(default)s)')
    parser.add_argument('--data-target', type=_address, metavar='ADDRESS:PORT',
                        help='where rows go as the settings say (default: '
                        f'{_SETTINGS[0]}:{_SETTINGS[1]} for 6 to 8, nowhere from 9 on, which '
                        'can be told by UDP)')
    parser.add_argument('--data-rate', type=_rate, default=50.0, metavar='HZ',
                        help='how often rows are sent, a second (%(default)s)')
    parser.add_argument('--beacon-interface', action='append', metavar='ADDRESS',
                        help='address of an interface to multicast the beacon on; may be given '
                        'more than once (default: that of --host, and loopback)')
    parser.add_argument('--no-beacon', action='store_true', help='send no beacon')


def make_face(arguments: Namespace, faults: Faults) -> XplaneUdpFace:
    """Return the face that the options describe."""
    version: int = arguments.version
    endpoint = UdpEndpoint(arguments.host, arguments.port, faults)
    sender = None
    if version >= 7:
        sender = UdpEndpoint(arguments.host, arguments.port and arguments.port + 1, faults)
    interfaces: tuple[str, ...] = ()
    if not arguments.no_beacon:
        interfaces = tuple(arguments.beacon_interface or dict.fromkeys(
            (endpoint.address[0], _LOOPBACK)))
    target = arguments.data_target
    if target is None and version < _FIRST_TO_BE_TOLD:
        target = _SETTINGS
    return XplaneUdpFace(
        endpoint, version, sender=sender, byte_order=arguments.byte_order, data_target=target,
        data_rate=arguments.data_rate, beacon_interfaces=interfaces)


def _port(text: str) -> int:
    # One is left for the port to send from.
    if text.isdecimal() and int(text) < 65535:
        return int(text)
    raise ArgumentTypeError(f'{text!r} is not a port, 0..65534')


def _address(text: str) -> Address:
    host, _, port = text.rpartition(':')
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ArgumentTypeError(f'{text!r} is not an address and a port, like 127.0.0.1:49003')
    return resolve(host), int(port)


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0.0 < rate <= 1000.0:
        raise ArgumentTypeError(f'{text!r} is not a rate, above 0 and at most 1000')
    return rate
