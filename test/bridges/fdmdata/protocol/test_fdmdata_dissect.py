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

"""``dissect fdmdata``: the recorded datagrams to JSON and back, with their senders."""

import json

from dissected import dissected
import pytest
from vector_files import vectors

VECTORS = vectors('fdmdata')
TAGS = ('gps', 'accelerometer', 'gyroscope', 'magnetometer', 'thermometer', 'pitot_tube',
        'static_pressure', 'ins')


@pytest.fixture
def run(monkeypatch, capsys):
    def run(text, *arguments):
        return dissected(monkeypatch, capsys, text, 'fdmdata', *arguments)
    return run


@pytest.mark.parametrize('vector', VECTORS, ids=lambda vector: vector['name'])
def test_vector(run, vector):
    from_peer = vector['direction'].startswith('sim')
    sender = ('--from', 'peer' if from_peer else 'bridge')
    if not vector['hex']:
        return
    line, = run(vector['hex'] + '\n', *sender)
    record = json.loads(line)
    fields = vector['fields']
    if from_peer and fields['response_code'] == 0:
        assert record['message'] == TAGS[fields['command']]
        for name in record.keys() - {'message'}:
            assert record[name] == fields[name]
    elif from_peer:
        assert record == {'message': 'error'}
    elif 'command' in fields:
        assert record == {'message': 'request', 'command': fields['command']}
    elif vector['name'].startswith('controls') and len(vector['hex']) == 32:
        assert record['message'] == 'controls'
        if 'sent' in fields:
            assert list(record.values())[1:] == fields['sent']
    elif vector['hex'] == 'ff':
        # Whoever sent it, it is the peer's reply to an unknown request.
        assert record == {'message': 'error'}
    else:
        assert 'error' in record
        assert 'message' not in record
    if record.get('message') in (*TAGS, 'request', 'error'):
        assert run(line + '\n', '--encode') == [vector['hex']]


def test_both_sides_are_told_apart_without_being_told(run):
    lines = run('07\n0005449ac000\n3f800000bf8000003f8000003f800000\n')
    assert [json.loads(line)['message'] for line in lines] == [
        'request', 'pitot_tube', 'controls']


@pytest.mark.parametrize('record', [
    {'message': 'controls', 'aileron': 0.0, 'elevator': 'nan', 'rudder': 0.0, 'throttle': 0.5},
    {'message': 'request', 'command': 8}, {'message': 'request', 'command': []},
    {'message': 'reply'}])
def test_what_must_not_be_sent_is_not_encoded(run, record):
    line, = run(json.dumps(record) + '\n', '--encode')
    assert 'error' in json.loads(line)
