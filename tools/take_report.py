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
Take the report of a verification into the page of what was seen, its capture into vectors.

tools/take_report.py REPORT.json --aircraft NAME --capture FILE.pcap. Both are a stranger's: they
are read within bounds, only printable text of the report gets into the page, and a few datagrams
of each kind into test/vectors/seen, where tests decode them.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import islice
import json
from pathlib import Path
import re
import subprocess
import sys
from typing import BinaryIO

from xplane_bridge.bridges.fdmdata import protocol as fdmdata
from xplane_bridge.bridges.links.captures.capture import read_datagrams
from xplane_bridge.bridges.protocols.base import Sender
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xplane_udp import protocol as xplane_udp
from xplane_bridge.common import plain_files
from xplane_bridge.common.text import printable
from xplane_bridge.laboratory.verification.capture import THEIRS
from xplane_bridge.laboratory.verification.evidence.findings import Outcome
from xplane_bridge.laboratory.verification.report import read, VerificationReport

PAGE = Path(__file__).resolve().parents[1] / 'docs' / 'reference' / 'seen.md'
_MARKED = re.compile(r'(<!-- seen begin -->\n).*?(<!-- seen end -->)', re.DOTALL)
_HEAD = ('| program | aircraft | machine | package | date | seen | differs |\n'
         '|---|---|---|---|---|---|---|\n')
_LONGEST = 80

# The columns of the conformance table follow the page.
PROOFS = Path(__file__).with_name('conformance_proofs.py')
VECTORS = PAGE.parents[2] / 'test' / 'vectors' / 'seen'
"""A file for each capture that was taken over, which test_verification_capture.py decodes."""

# Datagrams of one kind, one sender and one size, and in all; datagrams that are read.
_EACH, _MOST, _MOST_READ, _LARGEST = 2, 100, 100_000, 2048


def cell(text: str) -> str:
    """Return a stranger's text as the cell of a table: no markup of his takes effect."""
    return re.sub(r'([\\`*_{}\[\]<>|#!])', r'\\\1', printable(text, _LONGEST))


def row(report: VerificationReport, aircraft: str) -> str:
    """Return the row of a report."""
    def numbers(outcome: Outcome) -> str:
        found = sorted({one.requirement for one in report.findings
                        if one.outcome is outcome and one.requirement})
        return ', '.join(map(cell, found)) or 'none'

    return '| ' + ' | '.join((
        *map(cell, (report.program, aircraft, report.machine, report.package, report.date)),
        numbers(Outcome.SEEN), numbers(Outcome.DIFFERS))) + ' |\n'


def taken(page: str, new: str) -> str:
    """Return the page with one more row. Raises ValueError if it has it, or no such part."""
    marked = _MARKED.search(page)
    if marked is None:
        raise ValueError('the page has no part for reports')
    rows = [line + '\n' for line in marked[0].splitlines()
            if line.startswith('| ') and line + '\n' not in _HEAD.splitlines(keepends=True)]
    if new in rows:
        raise ValueError('the page has this report')
    rows.append(new)
    return page.replace(marked[0], marked[1] + _HEAD + ''.join(rows) + marked[2])


def chosen(stream: BinaryIO) -> list[tuple[Sender, bytes]]:
    """Return a few datagrams of each kind. Raises CaptureError."""
    kinds: Counter[tuple[Sender, bytes, int]] = Counter()
    found: list[tuple[Sender, bytes]] = []
    for one in islice(read_datagrams(stream), _MOST_READ):
        sender: Sender = 'peer' if one.source[0] == THEIRS else 'bridge'
        kind = sender, one.data[:4], len(one.data)
        if len(one.data) <= _LARGEST and kinds[kind] < _EACH and len(found) < _MOST:
            kinds[kind] += 1
            found.append((sender, one.data))
    if not found:
        raise ValueError('the capture has no datagram')
    return found


def vectors(report: VerificationReport, datagrams: Sequence[tuple[Sender, bytes]]) -> str:
    """Return the file of a report's datagrams."""
    return json.dumps({
        'peer': report.peer, 'program': printable(report.program, _LONGEST),
        'package': printable(report.package, _LONGEST), 'date': report.date,
        'datagrams': [{'sender': sender, 'hex': data.hex()} for sender, data in datagrams]},
        indent=1) + '\n'


def decoded(peer: str, program: str, sender: Sender, data: bytes) -> object:
    """Return the message of one of them. Raises ProtocolError."""
    if peer == 'xpc':
        return xpc.decode(data, sender)
    if peer == 'fdmdata':
        return fdmdata.decode(data, sender)
    version = re.search(r'X-Plane (\d{1,2})', program)
    return xplane_udp.decode(data, sender, int(version[1]) if version else None)


def slug(report: VerificationReport) -> str:
    """Return the name of a report's vectors."""
    return re.sub(r'[^a-z0-9]+', '_', f'{report.peer} {report.program} {report.date}'.lower())[:80]


def main() -> int:
    """Add a row to the page, and vectors; 2 for what is no report or capture."""
    parser = argparse.ArgumentParser(description='Take a report into docs/reference/seen.md.')
    parser.add_argument('report', type=Path)
    parser.add_argument('--aircraft', default='not said')
    parser.add_argument('--capture', type=Path, help='what verify --capture has written')
    parser.add_argument('--page', type=Path, default=PAGE)
    parser.add_argument('--vectors', type=Path, default=VECTORS)
    given = parser.parse_args()
    try:
        report = read(given.report)
        page = taken(given.page.read_text(encoding='utf-8'), row(report, given.aircraft))
        datagrams = []
        if given.capture is not None:
            with given.capture.open('rb') as stream:
                datagrams = chosen(stream)
    except (OSError, ValueError) as error:
        print(f'take_report: {error}', file=sys.stderr)
        return 2
    plain_files.write(given.page, page)
    if given.page == PAGE:
        subprocess.run([sys.executable, PROOFS], check=True)
    if datagrams:
        given.vectors.mkdir(exist_ok=True)
        path = given.vectors / f'{slug(report)}.json'
        plain_files.write(path, vectors(report, datagrams))
        print(f'{path} has {len(datagrams)} datagrams, which test_verification_capture.py decodes')
    return 0


if __name__ == '__main__':
    sys.exit(main())
