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

"""The dissector on Kerbal Simpit bytes, including some from genuine plugins."""

import json

from dissected import dissected
import pytest
from vector_files import vectors

from xplane_bridge.commands import dissect

VECTORS = vectors('simpit')
PROFILE_OF_ERA = {'a': 'v0', 'b1': 'v1', 'b2': 'v2', 'c': 'cobs'}
TELEMETRY = [
    vector for vector in VECTORS if vector['name'].startswith('telemetry_')
    and vector['fields']['decoded']]


@pytest.fixture
def run(monkeypatch, capsys):
    """Return a function that runs the tool in this process and returns its output lines."""
    def run(profile, lines, *arguments):
        return dissected(
            monkeypatch, capsys, lines, 'simpit', '--profile', profile, *arguments)
    return run


@pytest.mark.parametrize('vector', TELEMETRY, ids=lambda vector: vector['name'])
def test_what_genuine_plugins_wrote(run, vector):
    (line,) = run(PROFILE_OF_ERA[vector['era']], vector['hex'])
    message = json.loads(line)
    for name, value in vector['fields']['decoded'].items():
        assert message[name] == value


def test_packets_are_found_across_lines(run):
    lines = run('v2', 'aa5008 # the head\n0800509a44\n00808642 aa50010b\n07\n')
    assert [json.loads(line) for line in lines] == [
        {'message': 'altitude', 'sea_level_m': 1234.5, 'surface_m': 67.25},
        {'error': 'v2 plugin channel 11 (liquid_fuel_stage): 1 payload byte, need 8'}]


def test_a_bad_packet_costs_no_other_of_its_line(run):
    lines = run('v2', 'aa50010801' 'aa50031a4d756e')
    assert [list(json.loads(line)) for line in lines] == [['error'], ['message', 'text']]


@pytest.mark.parametrize(('profile', 'line', 'reason'), [
    ('v2', '0102030405', '5 bytes outside any packet'),
    ('v2', 'aa500008', '4 bytes outside any packet: no payload'),
    ('v2', 'aa510108 07', '5 bytes outside any packet: another version'),
    ('cobs', '010401373700', '6 bytes outside any packet: wrong checksum'),
    ('cobs', '010901373600', '6 bytes outside any packet: bad COBS'),
])
def test_a_line_without_any_packet_says_so(run, profile, line, reason):
    assert [json.loads(said) for said in run(profile, line)] == [{'error': reason}]


def test_a_packet_without_its_end_is_said_and_costs_none_behind_it(run):
    said = [json.loads(line) for line in run('v1', 'aa5020ff' 'aa50080800509a4400808642')]
    assert said == [
        {'message': 'altitude', 'sea_level_m': 1234.5, 'surface_m': 67.25},
        {'error': 'the input ends inside a packet'}]


def test_sides_have_decoders_of_their_own(run):
    assert json.loads(*run('cobs', '040d02 0f00', '--from', 'bridge')) == {
        'message': 'action_groups', 'verb': 'activate', 'action_bits': 2}
    assert json.loads(*run('v1', 'aa5002c80102'))['message'] == 'packet'


@pytest.mark.parametrize(('profile', 'record', 'expected'), [
    ('v0', {'message': 'altitude', 'sea_level_m': 1234.5, 'surface_m': 67.25},
     'aa50080400509a4400808642'),
    ('v2', {'message': 'altitude', 'sea_level_m': 1234.5, 'surface_m': 67.25},
     'aa50080800509a4400808642'),
    ('v2', {'message': 'action_groups', 'verb': 'activate', 'action_bits': 34}, 'aa50010d22'),
    ('cobs', {'message': 'handshake', 'handshake': 1, 'rest': '37'}, '010401373600'),
    ('cobs', {'message': 'custom_action_groups', 'verb': 'toggle', 'groups': [3]}, '040c030f00'),
    ('cobs', {'message': 'set_action_group', 'custom': False, 'index': 7, 'setting': 1},
     '043a1d2700'),
])
def test_encodes_json(run, profile, record, expected):
    assert run(profile, json.dumps(record), '--encode') == [expected]


def test_the_sender_decides_where_both_ends_have_a_message(run):
    rotation = json.dumps({'message': 'rotation', 'pitch': 1, 'roll': 2, 'yaw': 3, 'mask': 7})
    assert run('cobs', rotation, '--encode')[0].startswith('032f')
    assert run('cobs', rotation, '--encode', '--from', 'bridge')[0].startswith('0310')


def test_what_a_profile_has_not_is_refused(run):
    (line,) = run('v0', '{"message": "orbit"}', '--encode')
    assert 'orbit' in json.loads(line)['error']


def test_profile_is_required(capsys):
    with pytest.raises(SystemExit):
        dissect.main(['simpit'])
    assert '--profile' in capsys.readouterr().err
