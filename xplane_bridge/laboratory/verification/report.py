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

"""The report of a verification: Markdown, HTML with a picture, or JSON; nobody's names in it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime, UTC
import getpass
from importlib.metadata import PackageNotFoundError, version
import json
from pathlib import Path
import platform
import re
import socket
import tempfile
from typing import Any

import numpy as np

from xplane_bridge.common import html_page, plain_files
from xplane_bridge.common.text import abbreviated, printable
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.verification.evidence.findings import CheckResult, counts, Outcome
from xplane_bridge.laboratory.verification.evidence.flight_record import FlightRecord

FORMS = ('.md', '.json', '.html')
"""What a report can be written as, by the ending of its name."""

FORMAT = 1
"""The format of the JSON; a reader refuses another one."""

_PLACES = ('latitude', 'longitude', 'altitude')
_ADDRESS = re.compile(r'\b\d{1,3}(?:\.\d{1,3}){3}\b')
# What everybody has.
_COMMON = ('127.0.0.1', '239.255.1.1')
_SHORTEST_NAME = 2
# Of a report that is read: a verification has about a hundred findings.
_MOST_BYTES, _MOST_FINDINGS, _LONGEST_TEXT = 1_000_000, 2000, 400


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """
    What a verification has found, and of whom.

    ``peer`` is its name for the command, ``program`` what answered. ``left`` did not come back.
    ``ended`` says why it ended early, '' if it did not.
    """

    peer: str
    program: str
    findings: tuple[CheckResult, ...]
    left: tuple[str, ...] = ()
    ended: str = ''
    package: str = field(default_factory=lambda: _package())
    machine: str = field(
        default_factory=lambda: f'{platform.system()}, Python {platform.python_version()}')
    date: str = field(default_factory=lambda: datetime.now(UTC).strftime('%Y-%m-%d'))

    @property
    def title(self) -> str:
        """Return its heading."""
        return f'Verification of {self.program}'

    @property
    def rows(self) -> list[list[str]]:
        """Return the findings as cells of a table."""
        return [[one.step, one.requirement, one.outcome.value, one.sentence, one.expected, one.got]
                for one in self.findings]


_HEAD = ['step', 'requirement', 'outcome', 'what', 'expected', 'got']


def _package() -> str:
    try:
        return version('xplane_bridge')
    except PackageNotFoundError:
        return 'of a checkout'


def without_names(report: VerificationReport, hosts: Sequence[str]) -> VerificationReport:
    """Return a report without the user's name, names of computers, addresses and places."""
    names = [*hosts, socket.gethostname(), str(Path.home())]
    with suppress(OSError, KeyError):
        names.append(getpass.getuser())
    wanted = sorted({name for name in names if len(name) >= _SHORTEST_NAME and (
        name not in ('localhost', *_COMMON))}, key=len, reverse=True)

    def clean(text: str) -> str:
        for name in wanted:
            text = re.sub(rf'(?<!\w){re.escape(name)}(?!\w)', '(removed)', text)
        text = _ADDRESS.sub(
            lambda found: found[0] if found[0] in _COMMON else '(address)', text)
        return printable(text, 400)

    def cleaned(finding: CheckResult) -> CheckResult:
        is_place = finding.subject in _PLACES and 'impossible' in finding.sentence
        return CheckResult(
            finding.step, finding.subject, finding.outcome, clean(finding.sentence),
            finding.requirement, clean(finding.expected),
            '(a place)' if is_place else clean(finding.got), finding.wire)

    return VerificationReport(
        report.peer, clean(report.program), tuple(map(cleaned, report.findings)),
        tuple(map(clean, report.left)), clean(report.ended), report.package, report.machine,
        report.date)


def write(path: Path, report: VerificationReport, record: FlightRecord) -> None:
    """
    Write a report, in the format of its name's ending.

    Raises WriteError; ValueError for another ending.
    """
    if path.suffix == '.json':
        plain_files.write(path, as_json(report))
    elif path.suffix == '.md':
        plain_files.write(path, as_markdown(report))
    elif path.suffix == '.html':
        plain_files.write(path, as_html(report, record))
    else:
        raise ValueError(f'{path}: a report ends in {", ".join(FORMS)}')


def as_json(report: VerificationReport) -> str:
    """Return a report for programs."""
    found: dict[str, Any] = asdict(report)
    found['findings'] = [
        {name: value.value if isinstance(value, Outcome) else value
         for name, value in asdict(one).items()} for one in report.findings]
    return json.dumps({'format': FORMAT, **found}, indent=1) + '\n'


def read(path: Path) -> VerificationReport:
    """
    Return a report that was written as JSON, by anybody.

    Raises OSError, and ValueError with a sentence for what is none. At most 1 MB is read.
    """
    try:
        found = json.loads(plain_files.read(path, _MOST_BYTES))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f'{path.name} is no JSON: {error}') from None
    if not isinstance(found, dict) or found.get('format') != FORMAT:
        raise ValueError(
            f'{path.name} is no report of format {FORMAT}: its format is '
            f'{abbreviated(found.get("format") if isinstance(found, dict) else None)}')
    listed = found.get('findings')
    if not isinstance(listed, list) or len(listed) > _MOST_FINDINGS:
        raise ValueError(f'{path.name}: findings is no list of at most {_MOST_FINDINGS}')
    return VerificationReport(
        _text(found, 'peer', path), _text(found, 'program', path),
        tuple(_finding(one, path) for one in listed),
        ended=_text(found, 'ended', path), package=_text(found, 'package', path),
        machine=_text(found, 'machine', path), date=_text(found, 'date', path))


def _text(found: Any, name: str, path: Path) -> str:
    """Return a text of a report that may be anybody's."""
    value = found.get(name, '') if isinstance(found, dict) else None
    if not isinstance(value, str):
        raise ValueError(f'{path.name}: {name} is {abbreviated(value)}, expected a text')
    return printable(value, _LONGEST_TEXT)


def _finding(found: Any, path: Path) -> CheckResult:
    outcome = _text(found, 'outcome', path)
    if outcome not in {one.value for one in Outcome}:
        raise ValueError(f'{path.name}: outcome is {abbreviated(outcome)}, expected one of '
                         f'{", ".join(one.value for one in Outcome)}')
    step, subject, sentence, requirement, expected, got, wire = (
        _text(found, name, path) for name in (
            'step', 'subject', 'sentence', 'requirement', 'expected', 'got', 'wire'))
    return CheckResult(
        step, subject, Outcome(outcome), sentence, requirement, expected, got, wire)


def as_markdown(report: VerificationReport) -> str:
    """Return a report for an issue."""
    def line(cells: Sequence[str]) -> str:
        return '| ' + ' | '.join(cell.replace('|', '\\|') for cell in cells) + ' |'

    return '\n'.join((
        f'# {report.title}', '', *_summary(report), '',
        line(_HEAD), line(['---'] * len(_HEAD)), *map(line, report.rows), ''))


def _summary(report: VerificationReport) -> list[str]:
    return [
        f'`verify {report.peer}`, xplane_bridge {report.package}, {report.machine}, '
        f'{report.date}: {counts(report.findings)}.',
        *([f'It ended early: {report.ended}.'] if report.ended else []),
        *(f'Not given back: {left}.' for left in report.left)]


def as_html(report: VerificationReport, record: FlightRecord) -> str:
    """Return a report as a page, with a picture of the flight."""
    differing = [row for row in report.rows if row[2] == Outcome.DIFFERS.value]
    parts = [
        *map(html_page.paragraph, _summary(report)),
        *([html_page.heading('What differs'), html_page.table(_HEAD, differing)]
          if differing else []),
        html_page.heading('The flight'), _picture(record),
        html_page.heading('All that was looked at'), html_page.table(_HEAD, report.rows)]
    return html_page.page(report.title, parts)


_PANELS = (
    (('roll', 'pitch'), 'deg', 1.0 / DEGREE),
    (('roll_rate', 'pitch_rate', 'yaw_rate'), 'deg/s', 1.0 / DEGREE),
    (('true_airspeed', 'climb_rate'), 'm/s', 1.0),
    (('specific_force_forward', 'specific_force_left', 'specific_force_up'), 'm/s²', 1.0))


def _picture(record: FlightRecord) -> str:
    """Return the picture of the flight, or why there is none."""
    if len(record) < 2:
        return html_page.paragraph('No flight was recorded.', 'note')
    try:
        from xplane_bridge.common import drawing
        pyplot = drawing.pyplot()
    except ImportError as error:
        return html_page.paragraph(f'There is no picture: {error}', 'note')
    figure, panels = pyplot.subplots(
        len(_PANELS), 1, sharex=True, figsize=(9.0, 9.0), layout='constrained')
    for axes, (names, unit, factor) in zip(panels, _PANELS, strict=True):
        for name, colour in zip(
                names, (drawing.BLUE, drawing.GREEN, drawing.ORANGE), strict=False):
            if np.isfinite(record[name]).any():
                # Pauses and jumps are gaps.
                gaps = np.where(np.diff(record.at, prepend=record.at[0]) > 1.0, np.nan, 0.0)
                axes.plot(record.at - record.at[0], factor * record[name] + gaps, color=colour,
                          linewidth=1.0, label=name.replace('_', ' '))
        axes.set_ylabel(unit)
        axes.grid(alpha=0.3)
        drawing.legend_above(axes)
    panels[-1].set_xlabel('time, s')
    with tempfile.TemporaryDirectory(prefix='verify_') as folder:
        file = Path(folder) / 'flight.png'
        drawing.save(figure, [file])
        return html_page.picture(file, 'Attitude, rates, speeds and specific force')
