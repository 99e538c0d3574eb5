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

"""
dissect: show the datagrams of a protocol as JSON, or encode them from JSON.

Reads hexadecimal lines or a capture (pcap or pcapng, also gzipped) on standard input and writes
one JSON object per line:
``{"message": "GETC", "aircraft": 0}``, or ``{"error": "..."}`` for data that cannot be decoded.
What a capture holds besides UDP is counted on standard error; the exit code is 1 if nothing of a
capture, or of lines that were given, was decoded. With ``--expect`` it compares two captures, and
says which datagram is the first that differs, and in what: it then ends with status 1.
With ``--encode`` it reads such objects and writes hexadecimal lines. Empty lines and text after
a ``#`` are skipped. JSON has no infinities, NaN or bytes: they are written as the strings
``"inf"``, ``"-inf"``, ``"nan"``, and hexadecimal strings. ``null`` leaves a value unchanged.
"""

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from io import BufferedReader
from itertools import zip_longest
import json
import sys
from types import ModuleType
from typing import Any, BinaryIO, cast

from xplane_bridge.bridges.links.captures.capture import (
    CaptureError,
    Datagram,
    is_capture,
    read_datagrams,
    Tally,
)
from xplane_bridge.bridges.protocols.as_json import message_from_json, message_to_json
from xplane_bridge.bridges.protocols.base import Sender
from xplane_bridge.bridges.protocols.dialect import Dialect
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.protocols.registry import PROTOCOLS, UNBRIDGED
from xplane_bridge.common.command_line import CommandParser, program
from xplane_bridge.common.plain_files import open_regular
from xplane_bridge.common.text import counted


def _dialect(protocol: str) -> tuple[ModuleType, type[Dialect]]:
    """Return the module of a protocol, and its dialect."""
    module = import_module(f'xplane_bridge.bridges.{protocol}.protocol')
    return module, getattr(module, 'Dialect', Dialect)


def _refuse_constant(name: str) -> float:
    raise ValueError(f'{name} is not JSON; say "nan", "inf" or "-inf"')


# Lines in, lines out.

# The longest message of any protocol, as digits or as JSON, is shorter.
_MAX_LINE = 1024 * 1024
_TOO_LONG = f'the line has {_MAX_LINE} bytes or more'


def _lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """Yield the lines of a stream; None for one that is too long, which is skipped."""
    while line := stream.readline(_MAX_LINE):
        if len(line) < _MAX_LINE or line.endswith(b'\n'):
            yield line
            continue
        while line and not line.endswith(b'\n'):
            line = stream.readline(_MAX_LINE)
        yield None


def _decoded(decode: Callable[[], Iterable[object]]) -> Iterator[str]:
    try:
        messages = iter(decode())
    except ProtocolError as error:
        yield _error(error)
        return
    while True:
        try:
            message = next(messages)
        except StopIteration:
            return
        except ProtocolError as error:
            # Other messages on the same line may be valid.
            yield _error(error)
        else:
            yield json.dumps(message_to_json(message), allow_nan=False)


def _decoded_lines(
        dialect: Dialect, stream: BinaryIO, sender: Sender) -> Iterator[str]:
    for line in _lines(stream):
        if line is None:
            yield _error(_TOO_LONG)
            continue
        digits = b''.join(line.partition(b'#')[0].split())
        if not digits:
            continue
        try:
            data = bytes.fromhex(digits.decode('ascii'))
        except ValueError:
            yield _error('the line is not pairs of hexadecimal digits')
            continue
        yield from _decoded(partial(dialect.decode, data, sender))
    yield from _decoded(dialect.finish)


def _find_sender(datagram: Datagram, sender: Sender | None, peer_port: int | None) -> Sender:
    """Return who sent a datagram of a capture, unless it is said."""
    # Only the peer sends from its port, which tells the two sides of a capture apart.
    if sender is None and peer_port is not None and (
            datagram.destination[1] == peer_port and datagram.source[1] != peer_port):
        return 'bridge'
    return sender or 'peer'


def _decoded_capture(
        dialect: Dialect, stream: BufferedReader, sender: Sender | None,
        peer_port: int | None, tally: Tally) -> Iterator[str]:
    try:
        for datagram in read_datagrams(stream, tally):
            if datagram.missing:
                yield _error(datagram.incomplete)
            else:
                yield from _decoded(partial(
                    dialect.decode, datagram.data, _find_sender(datagram, sender, peer_port)))
    except CaptureError as error:
        yield _error(error)


# Two captures.

def _compared(
        dialect: Dialect, expected: BinaryIO, got: BinaryIO, sender: Sender | None,
        peer_port: int | None) -> dict[str, Any]:
    """Return what is different in the first datagram that differs, or that they are equal."""
    def read(datagram: Datagram) -> list[dict[str, Any]]:
        side = _find_sender(datagram, sender, peer_port)
        try:
            return [{'from': side, **message_to_json(message)}
                    for message in dialect.decode(datagram.data, side)]
        except ProtocolError as error:
            return [{'from': side, 'error': str(error), 'hex': datagram.data.hex()}]

    number, last = 0, None
    for number, (one, other) in enumerate(
            zip_longest(read_datagrams(expected), read_datagrams(got)), 1):
        if one is None or other is None:
            return {'datagram': number, 'expected': 'the end' if one is None else read(one),
                    'got': 'the end' if other is None else read(other)}
        if (one.data, one.source[1], one.missing) != (other.data, other.source[1], other.missing):
            before: dict[str, Any] = {} if last is None else {'after': {
                name: value for name, value in read(last)[0].items() if type(value) in (int, str)}}
            where, first, second = _difference(read(one), read(other))
            return {'datagram': number, **before, 'field': where, 'expected': first, 'got': second}
        last = one
    return {'equal': number}


def _difference(one: Any, other: Any, where: str = '') -> tuple[str, Any, Any]:
    """Return where two values differ first, and what they are there."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        pairs: Iterable[tuple[Any, Any, str]] = [
            (one[name], other[name], f'{where} {name}'.strip()) for name in one]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        only = len(one) == 1
        pairs = [(a, b, where if only else f'{where}[{n}]')
                 for n, (a, b) in enumerate(zip(one, other, strict=True))]
    else:
        return where, one, other
    for first, second, place in pairs:
        if first != second:
            return _difference(first, second, place)
    return where, 'these bytes', 'others, with the same values'


def _encoded_lines(
        dialect: Dialect, stream: BinaryIO, sender: Sender) -> Iterator[str]:
    for line in _lines(stream):
        if line is None:
            yield _error(_TOO_LONG)
            continue
        if not line.strip() or line.lstrip().startswith(b'#'):
            continue
        try:
            record = json.loads(line, parse_constant=_refuse_constant)
            yield dialect.encode(message_from_json(record, dialect, sender)).hex()
        except json.JSONDecodeError as error:
            yield _error(f'the line is not JSON: {error}')
        except (ValueError, TypeError, RecursionError) as error:
            yield _error(error)


_ERROR = '{"error": '
_MCAP = b'\x89MCAP'


def _error(error: object) -> str:
    return json.dumps({'error': str(error)})


def _output(
        arguments: Namespace, stream: BufferedReader, tally: Tally | None) -> Iterator[str]:
    """Yield the lines to print; with ``tally`` the input is a capture."""
    protocol, kind = _dialect(arguments.protocol)
    dialect = kind(protocol, arguments)
    sender: Sender = arguments.sender or 'peer'
    if arguments.encode:
        return _encoded_lines(dialect, stream, sender)
    if tally is not None:
        return _decoded_capture(
            dialect, stream, arguments.sender, (PROTOCOLS | UNBRIDGED)[arguments.protocol].port,
            tally)
    return _decoded_lines(dialect, stream, sender)


def _parser() -> ArgumentParser:
    parser = CommandParser(
        prog=program('dissect'), formatter_class=RawDescriptionHelpFormatter,
        description=(__doc__ or '').replace('dissect: show', 'Show').replace('``', ''))
    protocols = parser.add_subparsers(dest='protocol', required=True, metavar='protocol')
    for name, entry in (PROTOCOLS | UNBRIDGED).items():
        peer = entry.peer
        protocol = protocols.add_parser(name, help=peer, description=(
            f'Show the datagrams of {peer} as JSON, or encode them.'))
        protocol.add_argument(
            '--from', dest='sender', choices=('bridge', 'peer'),
            help='who sent it, as a message may have two meanings (default: peer; in a capture, '
                 'as the ports say)')
        protocol.add_argument(
            '--encode', action='store_true', help='read JSON and write hexadecimal lines')
        protocol.add_argument(
            '--expect', metavar='FILE', help='compare the capture that it reads with this one')
        for flag, option in _dialect(name)[1].options.items():
            protocol.add_argument(flag, **option)
    return parser


def _compare(arguments: Namespace) -> int:
    """Compare two captures; return the exit status."""
    protocol, kind = _dialect(arguments.protocol)
    try:
        with open_regular(arguments.expect) as expected:
            found = _compared(
                kind(protocol, arguments), expected, sys.stdin.buffer, arguments.sender,
                (PROTOCOLS | UNBRIDGED)[arguments.protocol].port)
    except (CaptureError, OSError) as error:
        print(_error(error))
        return 1
    print(json.dumps(found, allow_nan=False))
    return 0 if found.get('equal') else 1


def main(argv: list[str] | None = None) -> int:
    """Run the tool on standard input and output, and return the exit status."""
    arguments = _parser().parse_args(argv)
    if arguments.expect:
        return _compare(arguments)
    stream = cast(BufferedReader, sys.stdin.buffer)
    lines = shown = 0
    try:
        if stream.peek(4).startswith(_MCAP):
            print('dissect: this is a recording (MCAP), neither a capture nor hexadecimal lines; '
                  'export reads it', file=sys.stderr)
            return 1
        tally = None if arguments.encode or not is_capture(stream.peek(4)) else Tally()
        # Each line is flushed, so that it answers immediately when used interactively.
        for line in _output(arguments, stream, tally):
            print(line, flush=True)
            lines, shown = lines + 1, shown + (not line.startswith(_ERROR))
    except KeyboardInterrupt:
        return 0
    if tally is not None:
        return _account(arguments.protocol, tally, bool(shown))
    if lines and not shown:
        print(f'dissect: nothing of {arguments.protocol} in {counted(lines, "line")}',
              file=sys.stderr)
    return int(lines > 0 and not shown)


def _account(protocol: str, tally: Tally, shown: bool) -> int:
    """Say what a capture held besides what was shown; return 1 if nothing was."""
    if tally.skipped:
        print(f'dissect: {counted(tally.packets, "packet")}, '
              f'{counted(tally.datagrams, "datagram")} of UDP; skipped: {tally.skipped}',
              file=sys.stderr)
    if not shown:
        print(f'dissect: nothing of {protocol} in {counted(tally.packets, "packet")}',
              file=sys.stderr)
    return int(not shown)
