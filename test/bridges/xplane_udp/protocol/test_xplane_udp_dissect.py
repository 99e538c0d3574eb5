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

"""The dissector for X-Plane's native UDP."""

import json

from dissected import dissected
import pytest
from vector_files import vectors

VECTORS = {
    vector['name']: vector
    for vector in vectors('xplane_udp')
    if vector['direction'] != 'value' and 'error' not in vector['fields']}


@pytest.fixture
def run(monkeypatch, capsys):
    def run(text, *options):
        return [json.loads(line) if line.startswith('{') else line
                for line in dissected(monkeypatch, capsys, text, 'xplane_udp', *options)]

    return run


def test_the_documents_packet(run):
    packet = run(VECTORS['v6_doc_sample_pc']['hex'])[0]
    assert packet['message'] == 'DATA'
    assert packet['layout'] == {'framing': 6, 'byte_order': 'little', 'trailer': True}
    assert packet['segments'][0]['index'] == 33
    assert packet['segments'][0]['values'][0] == pytest.approx(3125.456, abs=1e-3)


@pytest.mark.parametrize('name', sorted(VECTORS))
def test_recorded_datagrams_come_back(run, name):
    vector = VECTORS[name]
    sender = 'bridge' if vector['direction'].startswith('client') else 'peer'
    version = {'6': '6', '7': '7'}.get(name[1], '12') if name.startswith('v') else '12'
    if 'v10' in name and 'RPOS' in name:
        version = '10'
    options = ('--from', sender, '--version', version)
    shown = run(vector['hex'], *options)[0]
    assert 'error' not in shown
    for field, expected in vector['fields'].items():
        if field in shown and isinstance(expected, int | float):
            assert shown[field] == pytest.approx(expected), field
    again = run(run(json.dumps(shown), '--encode', *options)[0], *options)[0]
    assert again == shown


def test_what_does_not_decode_says_why(run):
    assert 'DATA' in run('44415441003021')[0]['error']
