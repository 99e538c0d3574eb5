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
import struct

from hypothesis import given
from hypothesis import strategies as st
import pytest

from xplane_bridge.protocols.ardupilot_json import decode, encode, Report, Servos
from xplane_bridge.protocols.errors import ProtocolError

REPORT = Report(0.5, (0.1, 0.2, 0.3), (1.0, 2.0, -9.8), (3.0, 4.0, -5.0), (0.01, 0.02, 0.03),
                (20.0, 1.0, 0.5), 37.5, 23.75, 600.0, 21.0, 0.05, 22.0, 7.0)


def frame(rate, count, pwm):
    magic = {16: 18458, 32: 29569}[len(pwm)]
    return b''.join((magic.to_bytes(2, 'little'), rate.to_bytes(2, 'little'),
                     count.to_bytes(4, 'little'), *(one.to_bytes(2, 'little') for one in pwm)))


def test_a_frame_made_by_hand_is_read():
    data = bytes.fromhex('1a48 3200 07000000 dc05 e803 d007 0000' + 12 * 'dc05')
    assert decode(data) == Servos(50, 7, (1500, 1000, 2000, 0) + 12 * (1500,))


words = st.integers(0, 65535)


@given(st.integers(1, 65535), st.integers(0, 2**32 - 1), st.sampled_from((16, 32)).flatmap(
    lambda size: st.lists(words, min_size=size, max_size=size)))
def test_frames_of_both_sizes_are_read(rate, count, pwm):
    assert decode(frame(rate, count, pwm)) == Servos(rate, count, tuple(pwm))


@given(st.binary(max_size=80) | st.binary(max_size=80).map(lambda tail: b'\x1a\x48' + tail))
def test_any_bytes_are_a_frame_or_refused(data):
    try:
        servos = decode(data)
    except ProtocolError:
        return
    assert len(servos.pwm) in (16, 32)
    assert servos.rate > 0


@pytest.mark.parametrize(('data', 'sentence'), [
    (b'\x1a', 'servos: 1 byte, expected 40 or 72'),
    (struct.pack('<H38x', 18459), 'magic 18459 at offset 0, expected 18458 or 29569'),
    (frame(50, 0, [0] * 16)[:-1], 'magic 18458: 39 bytes, expected 40'),
    (frame(0, 0, [0] * 32), 'frame rate 0 at offset 2')])
def test_malformed_frames_are_refused_with_a_sentence(data, sentence):
    with pytest.raises(ProtocolError, match=sentence):
        decode(data)


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
    assert json.loads(encode(REPORT, lockstep=False))['no_lockstep'] == 1
