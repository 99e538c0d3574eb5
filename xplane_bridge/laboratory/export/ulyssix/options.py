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

"""Options that several commands have."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
import re

from xplane_bridge.bridges.links.udp import RECEIVE_BUFFER
from xplane_bridge.bridges.ulyssix.protocol import WordOrder
from xplane_bridge.bridges.ulyssix.session import named_rate as checked
from xplane_bridge.common.command_line import peer_port

_UNITS = {'': 1, 'k': 10**3, 'M': 10**6, 'G': 10**9, 'T': 10**12}


def named_rate(text: str) -> tuple[str, float]:
    """Return the pattern and the rate in 'name=rate'. Raises ArgumentTypeError."""
    try:
        return checked(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def byte_count(text: str) -> int:
    """Return the bytes in a text such as 500M. Raises ArgumentTypeError."""
    found = re.fullmatch(r'(\d+(?:\.\d+)?)([kMGT]?)B?', text)
    if not found:
        raise ArgumentTypeError(f'got {text}, expected bytes, such as 500M or 2G')
    return round(float(found[1]) * _UNITS[found[2]])


def add_network(add: Callable[..., object]) -> None:
    """Add the options of receiving, called as ulyssix_node's parameters."""
    add('--port', type=peer_port, default=0, help='UDP port that the publisher sends to')
    add('--bind-address', default='', help='local address to listen on (all)')
    add('--group', default='', help='multicast group to join')
    add('--sender', default='', metavar='HOST[:PORT]', help='the only sender to listen to')
    add('--receive-buffer', type=int, default=RECEIVE_BUFFER, metavar='BYTES',
        help='how much the kernel is asked to buffer (%(default)s)')


def add_reading(add: Callable[..., object]) -> None:
    """Add the options of reading packets, called as ulyssix_node's parameters."""
    add('--parameter-names', '--names', nargs='+', default=[], metavar='NAME',
        help='names of the parameters in order, for packets without names')
    add('--sample-rates', '--rate', nargs='+', default=[], type=named_rate, metavar='NAME=RATE',
        help='rates of parameters without time tags; the name may be a pattern')
    add('--word-order', choices=['auto', *(order.value for order in WordOrder)], default='auto',
        help="which half of the packet's time comes first (%(default)s)")
    add('--day-base', choices=['auto', '1', '0'], default='auto',
        help='day number of 1 January (%(default)s)')
    add('--integer-width', choices=['auto', '8', '4'], default='auto',
        help='bytes of a value in integer mode (%(default)s)')
    add('--year', type=int, default=0, help='year of the first packet (nearest to reception)')
    add('--utc-offset', type=float, default=0.0, metavar='HOURS',
        help="how far the publisher's clock is ahead of UTC (0)")
