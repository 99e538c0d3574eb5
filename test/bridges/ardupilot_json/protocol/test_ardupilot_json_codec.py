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

"""ArduPilot's JSON interface: frames made by hand and by an encoder of this file's own."""

import json

from dissected import dissected
from hypothesis import given
from hypothesis import strategies as st
import pytest
from vector_files import vectors

from xplane_bridge.bridges.ardupilot_json.protocol import (
    decode,
    decode_servos,
    encode,
    Report,
    Servos,
)
from xplane_bridge.bridges.protocols.errors import ProtocolError

REPORT = Report(
    0.5, (0.1, 0.2, 0.3), (1.0, 2.0, -9.8), (20.0, 1.0, 0.5), (3.0, 4.0, -5.0), (0.01, 0.02, 0.03),
    latitude=37.5, longitude=23.75, altitude=600.0, airspeed=21.0, wind_direction=0.05,
    wind_speed=22.0, rng_1=7.0)
VECTORS = vectors('ardupilot_json')
VALID = [vector for vector in VECTORS if 'fields' in vector]
words = st.integers(0, 65535)
finite = st.floats(allow_nan=False, allow_infinity=False)
three = st.tuples(finite, finite, finite)


def side(vector):
    return 'bridge' if vector['direction'].startswith('sitl') else 'peer'


def frame(rate, count, pwm):
    magic = {16: 18458, 32: 29569}[len(pwm)]
    return b''.join((magic.to_bytes(2, 'little'), rate.to_bytes(2, 'little'),
                     count.to_bytes(4, 'little'), *(one.to_bytes(2, 'little') for one in pwm)))


@pytest.mark.parametrize('vector', VECTORS, ids=lambda vector: vector['name'])
def test_frames_made_by_hand_are_read_or_refused_with_a_sentence(vector):
    data = bytes.fromhex(vector['hex'])
    if 'error' in vector:
        with pytest.raises(ProtocolError) as refused:
            decode(data, side(vector))
        assert str(refused.value) == vector['error']
        return
    message = decode(data, side(vector))
    assert {name: list(value) if isinstance(value, tuple) else value
            for name in vector['fields'] for value in [getattr(message, name)]
            } == vector['fields']


def test_dissect_shows_both_sides_and_encodes_them_again(monkeypatch, capsys):
    shown = dissected(
        monkeypatch, capsys, '\n'.join([vector['hex'] for vector in VALID]), 'ardupilot_json')
    tags = {'bridge': 'servos', 'peer': 'report'}
    assert [json.loads(line) for line in shown] == [
        {'message': tags[side(vector)], **vector['fields']} for vector in VALID]
    again = dissected(
        monkeypatch, capsys, '\n'.join(shown), 'ardupilot_json', '--encode')
    assert [decode(bytes.fromhex(line), side(vector))
            for line, vector in zip(again, VALID, strict=True)] == [
        decode(bytes.fromhex(vector['hex']), side(vector)) for vector in VALID]


@given(st.integers(1, 65535), st.integers(0, 2**32 - 1), st.sampled_from((16, 32)).flatmap(
    lambda size: st.lists(words, min_size=size, max_size=size)))
def test_frames_of_both_sizes_are_read_and_written(rate, count, pwm):
    servos = Servos(rate, count, tuple(pwm))
    assert decode_servos(frame(rate, count, pwm)) == servos
    assert encode(servos) == frame(rate, count, pwm)


@given(st.builds(Report, finite, three, three, three, three, three, st.none() | st.tuples(
    finite, finite, finite, finite), *[st.none() | finite] * 7, st.booleans()))
def test_a_report_is_read_as_it_was_written(report):
    assert decode(encode(report), 'peer') == report


keys = st.sampled_from(('timestamp', 'imu', 'gyro', 'windvane'))
any_json = st.recursive(
    finite | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner), max_leaves=6)


@given(st.binary(max_size=80) | st.binary(max_size=80).map(lambda tail: b'\x1a\x48' + tail)
       | any_json.map(lambda value: json.dumps(value).encode()),
       st.sampled_from(('bridge', 'peer')))
def test_any_bytes_are_a_message_or_refused(data, sender):
    try:
        message = decode(data, sender)
    except ProtocolError:
        return
    assert isinstance(message, Servos if sender == 'bridge' else Report)


@pytest.mark.parametrize('data', [b'[' * 60_000, b'9' * 6000, b'{}' + b' ' * 70_000,
                                  b'{"timestamp":1' + b'0' * 400 + b'}'])
def test_what_would_take_too_much_is_refused(data):
    with pytest.raises(ProtocolError):
        decode(data, 'peer')


@pytest.mark.parametrize(('message', 'sentence'), [
    (Servos(0, 0, (0,) * 16), 'servos rate: expected 1 to 65535, got 0'),
    (Servos(50, 0, (0,) * 15), 'servos pwm: 15 values, expected 16 or 32'),
    (Servos(50, 0, (70_000,) * 16), 'servos pwm: expected 0 to 65535, got 70000'),
    (Report(float('nan'), *[(0.0, 0.0, 0.0)] * 5), 'not JSON compliant')])
def test_what_cannot_be_sent_is_refused(message, sentence):
    with pytest.raises(ValueError, match=sentence):
        encode(message)


def test_a_report_is_one_line_between_line_feeds():
    data = encode(REPORT)
    assert data[:1] == data[-1:] == b'\n'
    assert data.count(b'\n') == 2
    assert b' ' not in data
    assert json.loads(data) == {
        'timestamp': 0.5, 'imu': {'gyro': [0.1, 0.2, 0.3], 'accel_body': [1.0, 2.0, -9.8]},
        'position': [3.0, 4.0, -5.0], 'attitude': [0.01, 0.02, 0.03],
        'velocity': [20.0, 1.0, 0.5], 'latitude': 37.5, 'longitude': 23.75, 'altitude': 600.0,
        'airspeed': 21.0, 'rng_1': 7.0, 'windvane': {'direction': 0.05, 'speed': 22.0}}
