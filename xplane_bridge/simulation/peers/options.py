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

"""Types and options shared by all subcommands of the command ``simulator``."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
import ipaddress
import math
import socket
from typing import Any

from xplane_bridge.bridges.links.udp import LinkError, resolve
from xplane_bridge.common.command_line import number, subject, whole
from xplane_bridge.common.fields import LARGEST_SEED
from xplane_bridge.simulation.peers.endpoints import Address

LOOPBACK = '127.0.0.1'


def network(parser: ArgumentParser) -> Any:
    """Return the group of the options that say where others reach it."""
    return subject(parser, 'network')


def add_host(parser: ArgumentParser) -> None:
    """Add the address to listen on."""
    network(parser).add_argument(
        '--host', default=LOOPBACK,
        help='address to listen on; 0.0.0.0 for all of this machine (%(default)s)')


def add_beacon(parser: ArgumentParser) -> None:
    """Add the options of the beacon; beacon_interfaces() reads them."""
    group = network(parser)
    group.add_argument('--beacon-interface', type=interface, action='append', metavar='ADDRESS',
                       help='address of an interface to multicast the beacon on; repeat for '
                       'several (default: that of --host, and loopback)')
    group.add_argument('--no-beacon', action='store_true', help='do not send a beacon')


def beacon_interfaces(arguments: Namespace, host: str) -> tuple[str, ...]:
    """Return the interfaces to send the beacon on; ``host`` is the address listened on."""
    if arguments.no_beacon:
        return ()
    # Once if they are equal. Any address (0.0.0.0) is the default route's interface.
    return tuple(arguments.beacon_interface or dict.fromkeys((host, LOOPBACK)))


def probability(text: str) -> float:
    """Return a probability."""
    return number(text, 'a probability, 0..1', lambda value: 0.0 <= value <= 1.0)


def positive(text: str) -> float:
    """Return a number above 0."""
    return number(text, 'a number above 0', lambda value: 0.0 < value < math.inf)


def rate(text: str) -> float:
    """Return a rate in Hz."""
    return number(
        text, 'a rate, above 0 and at most 1000', lambda value: 0.0 < value <= 1000.0)


def seed(text: str) -> int:
    """Return a random seed."""
    return whole(text, f'a seed, 0..{LARGEST_SEED}', 0, LARGEST_SEED)


def port(text: str) -> int:
    """Return a port to listen on; 0 takes a free one."""
    return whole(text, 'a port, 0..65535', 0, 65535)


def first_port(text: str) -> int:
    """Return a port to listen on, the next one being used too; 0 takes free ones."""
    return whole(text, 'a port, 0..65534', 0, 65534)


def baud(text: str) -> int:
    """Return the speed of a serial port."""
    return whole(text, 'a baud rate, above 0', 1)


def address(text: str) -> Address:
    """Return an address and a port to send to; the host may be a name."""
    host, _, digits = text.rpartition(':')
    if not host or not digits.isdecimal() or not 0 < int(digits) < 65536:
        raise ArgumentTypeError(f'{text!r} is not an address and a port, like 127.0.0.1:49003')
    try:
        return resolve(host), int(digits)
    except LinkError as error:
        raise ArgumentTypeError(str(error)) from None


def interface(text: str) -> str:
    """Return the IPv4 address of one of this machine's interfaces, to multicast on."""
    try:
        found = str(ipaddress.IPv4Address(text))
    except ValueError:
        raise ArgumentTypeError(f'{text!r} is not an IPv4 address') from None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.setsockopt(
                socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(found))
        except OSError:
            raise ArgumentTypeError(
                f'{text!r} is not the address of an interface of this machine') from None
    return found
