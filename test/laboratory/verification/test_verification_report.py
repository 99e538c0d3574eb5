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

"""The report of a verification: three forms, no names in them, and read again within bounds."""

import getpass
import json
from pathlib import Path
import socket

import pytest
import take_report

from xplane_bridge.laboratory.verification.evidence.findings import CheckResult, Outcome
from xplane_bridge.laboratory.verification.evidence.flight_record import FlightRecord
from xplane_bridge.laboratory.verification.report import (
    read,
    VerificationReport,
    without_names,
    write,
)

FINDINGS = (
    CheckResult('Reach', 'answers', Outcome.SEEN,
                'sent to simulator-of-ada:49000 from 10.1.2.3:50000; back from 10.1.2.4:49001',
                'X6-02'),
    CheckResult('Telemetry', 'roll_rate', Outcome.DIFFERS, 'roll rate | has the other sign',
                '1.35', 'the sign of the change of roll', 'the other one', 'sim/x/Prad'),
    CheckResult('Telemetry', 'latitude', Outcome.DIFFERS, 'latitude is impossible, 3 times', '',
                'a possible value', '412.5'))
REPORT = VerificationReport('xplane12', 'X-Plane 12', FINDINGS, ('pause: resume it by hand',))
EMPTY = FlightRecord([])


def test_names_addresses_and_places_are_removed():
    user, home, here = getpass.getuser(), str(Path.home()), socket.gethostname()
    spoken = CheckResult('Reach', 'program', Outcome.SEEN, f'{home}/x of {user} on {here}')
    found = without_names(
        VerificationReport('xpc', 'X-Plane', (*FINDINGS, spoken)), ('simulator-of-ada',))
    text = str(found)
    for name in ('ada', '10.1.2.3', '10.1.2.4', '412.5', here):
        assert name not in text
    assert '(removed)/x of (removed) on (removed)' in text
    # What everybody has stays.
    assert found.findings[1] == FINDINGS[1]


@pytest.mark.parametrize('ending', ['md', 'html', 'json'])
def test_each_form_says_what_differs(tmp_path, ending):
    path = tmp_path / f'found.{ending}'
    write(path, REPORT, EMPTY)
    text = path.read_text()
    assert 'Verification of X-Plane 12' in text or ending == 'json'
    assert 'has the other sign' in text
    assert 'the sign of the change of roll' in text
    assert 'resume it by hand' in text
    if ending == 'md':
        assert 'roll rate \\| has' in text
        assert '1 seen, 0 not seen, 2 differs, 0 skipped' in text


def test_json_is_read_again(tmp_path):
    path = tmp_path / 'found.json'
    write(path, REPORT, EMPTY)
    found = read(path)
    assert found.findings == FINDINGS
    assert (found.peer, found.program, found.date) == ('xplane12', 'X-Plane 12', REPORT.date)


@pytest.mark.parametrize(('content', 'sentence'), [
    ('{', 'is no JSON'), ('[]', 'is no report of format 1'), ('{"format": 2}', 'its format is 2'),
    ('{"format": 1, "findings": 3}', 'findings is no list of at most 2000'),
    ('{"format": 1, "findings": [], "program": 3}', 'program is 3, expected a text'),
    ('{"format": 1, "findings": [4]}', 'outcome is None, expected a text'),
    ('{"format": 1, "findings": [{"outcome": "good"}]}', "outcome is 'good', expected one of"),
    ('[' * 100_000, 'is no JSON'),
    (' ' * 1_000_001, 'has more than 1000000 bytes')])
def test_what_is_no_report_is_refused_with_a_sentence(tmp_path, content, sentence):
    path = tmp_path / 'found.json'
    path.write_text(content)
    with pytest.raises(ValueError, match=sentence):
        read(path)


def test_a_report_becomes_a_row_of_the_page_once(tmp_path, monkeypatch):
    report, page = tmp_path / 'found.json', tmp_path / 'seen.md'
    write(report, REPORT, EMPTY)
    given = json.loads(report.read_text())
    given['program'] = 'X-Plane <script>|[x](y)\n# 12'
    report.write_text(json.dumps(given))
    page.write_text(take_report.PAGE.read_text())
    monkeypatch.setattr('sys.argv', [
        'take_report', str(report), '--aircraft', 'Cessna 172', '--page', str(page)])
    assert take_report.main() == 0
    rows = [line for line in page.read_text().splitlines() if line.startswith('| ')]
    assert len(rows) == 2
    assert rows[1].startswith(
        '| X-Plane \\<script\\>\\|\\[x\\](y)\\\\n\\# 12 | Cessna 172 | ')
    assert rows[1].endswith(' | X6-02 | 1.35 |')
    assert '0 requirements' not in page.read_text()
    before = page.read_text()
    assert take_report.main() == 2
    assert page.read_text() == before
