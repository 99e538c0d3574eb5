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

"""Ulyssix packets as JSON, and back."""

import json

from dissected import dissected
import pytest
from vector_files import vectors

VECTORS = vectors('ulyssix')
VALID = [vector for vector in VECTORS if vector['valid']]


@pytest.fixture
def run(monkeypatch, capsys):
    """Return a function that runs the tool in this process and returns its output lines."""
    def run(arguments, text):
        return dissected(monkeypatch, capsys, text, 'ulyssix', *arguments)
    return run


@pytest.mark.parametrize('vector', VALID, ids=lambda vector: vector['name'])
def test_a_vector_shows_its_fields(run, vector):
    shown = json.loads(run([], vector['hex'])[0])
    fields = vector['fields']
    if fields['packet_type']:
        assert (shown['message'], shown['packet_type']) == ('skipped', fields['packet_type'])
        return
    assert shown['message'] == 'data'
    for name in ('counter', 'control', 'samples_in_payload', 'total_samples', 'integer_width',
                 'bcd_hex_on_wire', 'names', 'params'):
        assert shown[name] == fields[name], name
    if 'time' in fields:
        time = fields['time']
        assert (f'{fields["bcd_order"]}: day {time["doy"]} {time["hour"]:02d}:'
                f'{time["minute"]:02d}:{time["second"]:02d}.{time["microsecond"]:06d}'
                ) in shown['time']


def test_json_goes_back_to_the_bytes_it_came_from(run):
    data = [vector['hex'] for vector in VALID if vector['name'] != 'trailing_bytes']
    assert run(['--encode'], '\n'.join(run([], '\n'.join(data)))) == data


def test_what_is_odd_is_said(run):
    line = next(v['hex'] for v in VECTORS if v['name'] == 'reserved_bits_set')
    assert json.loads(run([], line)[0])['flags'] == ['unused bits of the control byte are set']


@pytest.mark.parametrize(('change', 'text'), [
    ({'params': [[[1.5, 2.0]]]}, 'params: expected samples of 1 numbers'),
    ({'params': [[[1.5]]], 'integer_width': 8}, 'params: expected whole numbers'),
    ({'params': [[[2**63]]], 'integer_width': 8, 'control': 4}, 'params: '),
    ({'params': [[['x']]]}, 'params 1 1 1: got "x", expected float'),
    ({'flags': ['odd']}, 'flags 1: got "odd", expected PacketFlag'),
    ({'counter': -1}, 'data counter: expected 0 to 4294967295, got -1'),
])
def test_json_that_makes_no_packet_says_why(run, change, text):
    good = {'message': 'data', 'counter': 1, 'control': 0, 'samples_in_payload': 1,
            'total_samples': 1, 'bcd_hex_on_wire': '3412450012907856', 'params': [[[1.5]]]}
    assert len(run(['--encode'], json.dumps(good))[0]) == 2 * 57
    error = json.loads(run(['--encode'], json.dumps({**good, **change}))[0])['error']
    assert text in error
