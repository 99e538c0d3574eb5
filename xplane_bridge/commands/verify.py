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

"""verify: whether a real simulator does what the bridge expects of it, step by step."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
import sys

from xplane_bridge.bridges.links.ports import check_port
from xplane_bridge.bridges.links.udp import LinkError, resolve
from xplane_bridge.bridges.xplane_udp.protocol.web_api import PORT as WEB_PORT
from xplane_bridge.bridges.xplane_udp.web.web_client import WebClient
from xplane_bridge.common import plain_files
from xplane_bridge.common.command_line import (
    add_force_option,
    CommandParser,
    count,
    number,
    peer_port,
    program,
    refuse_existing,
    seconds,
    subject,
    without_ros_arguments,
)
from xplane_bridge.common.signals import Interrupts
from xplane_bridge.common.text import counted
from xplane_bridge.laboratory.verification.capture import Traffic
from xplane_bridge.laboratory.verification.evidence.findings import counts, Outcome, worst
from xplane_bridge.laboratory.verification.evidence.line import UdpPeerNetwork
from xplane_bridge.laboratory.verification.evidence.places import Unplaced
from xplane_bridge.laboratory.verification.evidence.web_link import TcpWebLink
from xplane_bridge.laboratory.verification.peers.base import PeerTarget
from xplane_bridge.laboratory.verification.peers.registry import PEERS, QUESTIONS
from xplane_bridge.laboratory.verification.publisher import PublisherVerification
from xplane_bridge.laboratory.verification.reach import UnreachableError
from xplane_bridge.laboratory.verification.report import (
    FORMS,
    VerificationReport,
    without_names,
    write,
)
from xplane_bridge.laboratory.verification.walk import Settings, Verification, Walk
from xplane_bridge.laboratory.verification.web import WebVerification

_ALIKE, _DIFFERS, _NOT_REACHED, _INTERRUPTED = 0, 1, 2, 130
_LEAST, _MOST = 3.0, 600.0
PUBLISHER = 'ulyssix'
"""The peer that is only listened to."""

WEB_API = 'web_api'
"""The peer that is asked over TCP."""

_NO_CAPTURE = {
    PUBLISHER: 'nobody knows which of its parameters are places',
    WEB_API: 'it is asked over TCP, and a capture has datagrams',
    'simpit': 'it is a serial line, and a capture has datagrams'}


def main(argv: Sequence[str] | None = None) -> int:
    """Verify a peer; 0 if nothing differs, 1 if something does, 2 if it was not reached."""
    arguments = _parser().parse_args(without_ros_arguments(
        sys.argv[1:] if argv is None else argv))
    try:
        _check(arguments)
        traffic = Traffic()
        made, hosts, unplaced = _make(arguments, traffic)
    except (LinkError, OSError, ValueError) as error:
        print(f'verify: {error}', file=sys.stderr)
        return _NOT_REACHED
    code, ended = _run(made)
    if made.gave_back:
        print(f'Given back: {", ".join(made.gave_back)}.', flush=True)
    for left in made.left:
        print(f'NOT given back: {left}.', flush=True)
    print(f'\n{counts(made.findings)}.', flush=True)
    report = without_names(
        VerificationReport(
            arguments.peer, made.program, tuple(made.findings), made.left, ended), hosts)
    for path in arguments.report:
        write(path, report, made.record)
        print(f'{path} is written; it has no names, addresses or places.', flush=True)
    if arguments.capture is not None and (cleaner := unplaced()) is not None:
        kept, left_out = traffic.write(arguments.capture, cleaner)
        print(f'{arguments.capture} has {counted(kept, "datagram")} of the first minute, and '
              f'{left_out} are left out. Addresses and names of computers are replaced, places '
              'are moved.', flush=True)
    if arguments.map is not None and isinstance(made, PublisherVerification) and made.map:
        plain_files.write(arguments.map, made.map)
        print(f'{arguments.map} is a first map.', flush=True)
    return _DIFFERS if made.left and code == _ALIKE else code


def _check(arguments: argparse.Namespace) -> None:
    """Raise ValueError or OSError for arguments with which nothing should begin."""
    for report in arguments.report:
        if report.suffix not in FORMS:
            raise ValueError(f'{report}: a report ends in {", ".join(FORMS)}')
    if not _LEAST <= arguments.seconds <= _MOST:
        raise ValueError(f'--seconds {arguments.seconds:g} is not in {_LEAST:g}..{_MOST:g}')
    if arguments.peer == PUBLISHER and not arguments.port:
        raise ValueError(f'{PUBLISHER}: --port is where it sends to, and has no default')
    if arguments.capture is not None and arguments.peer in _NO_CAPTURE:
        raise ValueError(
            f'--capture: there is none of {arguments.peer}: {_NO_CAPTURE[arguments.peer]}')
    if arguments.peer == 'simpit':
        check_port(arguments.serial, arguments.baud)
    refuse_existing(
        [*arguments.report, *filter(None, (arguments.map, arguments.capture))], arguments.force,
        elsewhere='')


def _make(
    arguments: argparse.Namespace, traffic: Traffic
) -> tuple[Walk | PublisherVerification, tuple[str, ...], Callable[[], Unplaced | None]]:
    """
    Return the verification, names that are in no report, and what cleans ``traffic``.

    Raises LinkError.
    """
    network = UdpPeerNetwork(arguments.bind, traffic.note)
    if arguments.peer == PUBLISHER:
        return PublisherVerification(
            network, arguments.port, arguments.seconds, _tell, arguments.group), (), lambda: None
    host = resolve(arguments.host)
    settings = Settings(
        arguments.seconds, arguments.read_only,
        attended=not arguments.yes and sys.stdin.isatty())
    asks = (lambda _: True) if arguments.yes else _asks
    if arguments.peer == WEB_API:
        client, to = WebClient(), (host, arguments.port or WEB_PORT)
        return WebVerification(TcpWebLink(to, client.socket), client, to, settings, _tell, asks), (
            arguments.host, host), lambda: None
    peer = PEERS[arguments.peer](PeerTarget(
        host, arguments.port, arguments.data_port, arguments.bind, throttle=arguments.throttle,
        serial=arguments.serial, baud=arguments.baud))
    return Verification(peer, network, settings, _tell, asks, QUESTIONS), (
        arguments.host, host), peer.unplaced


def _tell(text: str) -> None:
    print(text, flush=True)


def _run(verification: Walk | PublisherVerification) -> tuple[int, str]:
    """Take the steps, and give back what was taken; return the exit code, and what ended it."""
    interrupts = Interrupts()
    try:
        with interrupts.allowed():
            verification.run()
    except UnreachableError as error:
        print(f'verify: {error}', file=sys.stderr)
        return _NOT_REACHED, str(error)
    except (LinkError, OSError) as error:
        print(f'verify: {error}', file=sys.stderr)
        return _NOT_REACHED, str(error)
    except KeyboardInterrupt:
        print('\nInterrupted: gives back what was taken.', flush=True)
        return _INTERRUPTED, 'interrupted'
    finally:
        verification.close()
    return (_DIFFERS if worst(verification.findings) is Outcome.DIFFERS else _ALIKE), ''


def _asks(_: str) -> bool:
    """Ask whether a step may be taken; no if nobody can answer."""
    if not sys.stdin.isatty():
        print('  nobody to ask: --yes does it unasked', flush=True)
        return False
    print('  Enter does it, s skips it: ', end='', flush=True)
    try:
        return not input().strip().lower().startswith(('s', 'n'))
    except EOFError:
        return False


def _ratio(text: str) -> float:
    return number(text, 'a throttle, 0..1', lambda value: 0.0 <= value <= 1.0)


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog=program('verify'),
        description='Verify, step by step, that a real simulator does what the bridge expects of '
        'it. Each step says before what it will do.')
    where, how, output = (subject(parser, title) for title in ('peer', 'steps', 'output'))
    parser.add_argument('peer', choices=(*PEERS, WEB_API, PUBLISHER), metavar='PEER',
                        help=', '.join((*PEERS, WEB_API, PUBLISHER)))
    where.add_argument('--host', default='127.0.0.1',
                       help="address or name of the simulator's computer (%(default)s)")
    where.add_argument('--port', type=peer_port, default=0,
                       help="port that it listens on (default: the protocol's), TCP for the "
                       'Web API; that a publisher of Ulyssix packets sends to')
    where.add_argument('--serial', default='', metavar='PORT',
                       help='serial port of Simpit, such as /dev/ttyUSB0')
    where.add_argument('--baud', type=count, default=115200,
                       help='rate of the serial port (%(default)s)')
    where.add_argument('--group', default='', metavar='ADDRESS',
                       help='multicast group that a publisher sends to')
    where.add_argument('--data-port', type=peer_port, default=0, metavar='PORT',
                       help='UDP port where rows of X-Plane 6 to 9 arrive here, or where Huginn '
                       'takes controls (default: theirs)')
    where.add_argument('--bind', default='', metavar='ADDRESS',
                       help='local address to send from and listen on (default: by routing)')
    how.add_argument('--read-only', action='store_true', help='change nothing')
    how.add_argument('--yes', action='store_true', help='ask nothing')
    how.add_argument('--seconds', type=seconds, default=30.0, metavar='S',
                     help='how long it is only listened to, in seconds (%(default)g)')
    how.add_argument('--throttle', type=_ratio, default=None, metavar='0..1',
                     help="where Huginn's throttle stands; without it nothing is commanded there")
    output.add_argument('--report', type=Path, action='append', default=[], metavar='FILE',
                        help=f'report without names and places, as {", ".join(FORMS)}')
    output.add_argument('--capture', type=Path, metavar='FILE',
                        help='the datagrams of the first minute, without names and places (.pcap)')
    output.add_argument('--map', type=Path, metavar='FILE',
                        help='a first map of the parameters of a publisher (.yaml)')
    add_force_option(output)
    return parser
