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

"""A capture has no names and places, and becomes vectors; those of real programs are decoded."""

import json

import pytest

pytest.importorskip('jsbsim', reason='the simulated aircraft needs JSBSim')

import full_disk
import take_report
from verified_memory import simulated, verification

from xplane_bridge.bridges.links.captures.capture import read_datagrams
from xplane_bridge.common.plain_files import WriteError
from xplane_bridge.laboratory.verification.capture import OURS, THEIRS, Traffic
from xplane_bridge.laboratory.verification.evidence.flight_record import FlightRecord
from xplane_bridge.laboratory.verification.report import VerificationReport, write

NAME = 'ada-s-computer'
TAKEN = sorted(take_report.VECTORS.glob('*.json'))


def captured(name, path):
    """Capture a verification that only listens; return it, what was kept, what was left out."""
    peer = simulated(name, **({'computer': NAME} if name == 'xplane12' else {}))
    traffic = Traffic()
    made = verification(name, peer, seconds=3.0, read_only=True, tap=traffic.note)
    made.run()
    made.close()
    return made, *traffic.write(path, made._peer.unplaced())


@pytest.mark.parametrize('name', ['xpc', 'xplane12', 'xplane9', 'fdmdata'])
def test_a_capture_has_no_names_and_places_and_becomes_vectors(name, tmp_path, monkeypatch):
    path, report = tmp_path / 'minute.pcap', tmp_path / 'found.json'
    made, kept, left_out = captured(name, path)
    assert kept > 50
    assert left_out <= kept // 20
    with path.open('rb') as stream:
        datagrams = list(read_datagrams(stream))
    assert {one.source[0] for one in datagrams} == {OURS, THEIRS}
    assert not any(NAME.encode() in one.data for one in datagrams)
    messages = [take_report.decoded(name, made.program, 'peer', one.data)
                for one in datagrams if one.source[0] == THEIRS]
    # The simulated flight is at 47.4 N, 0 E; it was moved.
    places = [(message.lat, message.lon) if hasattr(message, 'lat') else (
        message.latitude, message.longitude) for message in messages
        if hasattr(message, 'lat') or hasattr(message, 'latitude')]
    assert places or name == 'xplane9'
    assert all(abs(latitude - 47.0) < 0.1 and abs(longitude - 8.0) < 0.1
               for latitude, longitude in places)

    write(report, VerificationReport(name, made.program, tuple(made.findings)), FlightRecord([]))
    page = tmp_path / 'seen.md'
    page.write_text(take_report.PAGE.read_text())
    monkeypatch.setattr('sys.argv', [
        'take_report', str(report), '--capture', str(path), '--page', str(page), '--vectors',
        str(tmp_path / 'seen')])
    assert take_report.main() == 0
    taken, = (tmp_path / 'seen').glob('*.json')
    found = json.loads(taken.read_text())
    assert 2 <= len(found['datagrams']) <= 100
    for one in found['datagrams']:
        decodes(found, one)


def decodes(found, one):
    take_report.decoded(
        found['peer'], found['program'], one['sender'], bytes.fromhex(one['hex']))


def test_a_row_of_positions_is_moved_too(tmp_path):
    path = tmp_path / 'minute.pcap'
    made, _, _ = captured('xplane9', path)
    with path.open('rb') as stream:
        rows = [segment.values for one in read_datagrams(stream) if one.source[0] == THEIRS
                for segment in take_report.decoded('xplane9', made.program, 'peer', one.data)
                .segments if segment.index == 20]
    assert rows
    assert all(values[:2] == pytest.approx((47.0, 8.0), abs=0.1) for values in rows)


def test_what_cannot_be_read_is_left_out(tmp_path):
    traffic = Traffic()
    for data in (b'RREF', b'BECN\0broken', b'whoami ada', b''):
        traffic.note(data, False, (OURS, 1), (THEIRS, 2), 0)
    unplaced = verification('xplane12', simulated('xplane12'))._peer.unplaced()
    assert traffic.write(tmp_path / 'none.pcap', unplaced) == (0, 4)


@pytest.mark.parametrize('size', [1000, 100_000])
def test_a_full_disk_leaves_no_half(size, tmp_path):
    path = tmp_path / 'minute.pcap'
    with full_disk.room(size), pytest.raises(WriteError, match=r'minute\.pcap cannot be written'):
        captured('xpc', path)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not TAKEN, reason='no capture of a real program was taken over yet')
def test_what_real_programs_have_sent_is_decoded():
    for path in TAKEN:
        found = json.loads(path.read_text())
        for one in found['datagrams']:
            decodes(found, one)
