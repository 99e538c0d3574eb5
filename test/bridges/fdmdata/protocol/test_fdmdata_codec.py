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

"""Requests, replies and controls of FDMData against recorded and hand-written bytes."""

import math
import struct

from hypothesis import given
from hypothesis import strategies as st
import pytest
from vector_files import vectors

from xplane_bridge.bridges.fdmdata import protocol as fdmdata
from xplane_bridge.bridges.protocols.errors import ProtocolError

VECTORS = {
    vector['name']: vector
    for vector in vectors('fdmdata')
}
REPLIES = [v for v in VECTORS.values() if v['direction'] == 'sim:10300_to_client']
REQUESTS = [v for v in VECTORS.values() if v['direction'] == 'client_to_sim:10300']
CONTROLS = [v for v in VECTORS.values() if v['direction'] == 'client_to_sim:10301']


def name_of(vector):
    return vector['name']


# Replies written by hand from the document's tables: 1.0 is 3f800000, 2.0 40000000, 3.0 40400000,
# 4.0 40800000, 5.0 40a00000, 6.0 40c00000, 7.0 40e00000, big-endian.
HAND_WRITTEN = [
    ('0000 3f800000 40000000 40400000 40800000 40a00000', fdmdata.GpsReply(1, 2, 3, 4, 5)),
    ('0001 3f800000 40000000 40400000', fdmdata.AccelerometerReply(1, 2, 3)),
    ('0002 3f800000 40000000 40400000', fdmdata.GyroscopeReply(1, 2, 3)),
    ('0003 00000000 00000000 00000000', fdmdata.MagnetometerReply(0, 0, 0)),
    ('0004 40400000', fdmdata.ThermometerReply(3)),
    ('0005 40400000', fdmdata.PitotTubeReply(3)),
    ('0006 40400000', fdmdata.StaticPressureReply(3)),
    (
        '0007 3f800000 40000000 40400000 40800000 40a00000 40c00000 40e00000',
        fdmdata.InsReply(1, 2, 3, 4, 5, 6, 7),
    ),
    ('ff', fdmdata.ErrorReply()),
]


def test_every_vector_is_used():
    assert len(REPLIES) + len(REQUESTS) + len(CONTROLS) == len(VECTORS) == 23


@pytest.mark.parametrize('vector', REQUESTS, ids=name_of)
def test_request_vector(vector):
    data = bytes.fromhex(vector['hex'])
    if vector['fields'].get('error'):
        with pytest.raises(ProtocolError):
            fdmdata.decode(data, 'bridge')
        return
    request = fdmdata.decode(data, 'bridge')
    assert request.command == vector['fields']['command']
    assert fdmdata.encode(request) == data


@pytest.mark.parametrize('vector', REPLIES, ids=name_of)
def test_reply_vector(vector):
    data, expected = bytes.fromhex(vector['hex']), vector['fields']
    reply = fdmdata.decode(data, 'peer')
    assert fdmdata.encode(reply) == data
    if expected['response_code'] == 0xFF:
        assert reply == fdmdata.ErrorReply()
        return
    assert reply.command == expected['command']
    assert len(data) == expected['length']
    values = {k: v for k, v in expected.items() if k not in ('response_code', 'command', 'length')}
    assert {name: getattr(reply, name) for name in values} == values
    assert reply == type(reply)(**values)


@pytest.mark.parametrize(
    'vector', [v for v in CONTROLS if 'sent' in v['fields']], ids=name_of
)
def test_controls_vector(vector):
    data, expected = bytes.fromhex(vector['hex']), vector['fields']
    if not expected['applied']:
        with pytest.raises(ProtocolError, match=f'{len(data)} bytes, expected 1 of a request or'):
            fdmdata.decode(data, 'bridge')
        return
    controls = fdmdata.decode(data, 'bridge')
    assert controls == fdmdata.ControlPositions(*expected['sent'])
    if expected['after'] == dict(
        zip(('aileron', 'elevator', 'rudder', 'throttle'), expected['sent'], strict=True)
    ):
        assert fdmdata.encode(controls) == data
    else:  # Huginn would clamp it
        with pytest.raises(ValueError, match='expected'):
            fdmdata.encode(controls)


def test_controls_with_nan_are_seen_but_never_sent():
    controls = fdmdata.decode(bytes.fromhex(VECTORS['controls_nan_aileron']['hex']), 'bridge')
    assert math.isnan(controls.aileron)
    assert controls.throttle == 0.5
    with pytest.raises(ValueError, match='aileron: expected a finite number, got nan'):
        fdmdata.encode(controls)


@pytest.mark.parametrize(
    ('name', 'kind', 'values'),
    [
        ('gps', fdmdata.GpsReply, 5),
        ('accelerometer', fdmdata.AccelerometerReply, 3),
        ('ins', fdmdata.InsReply, 7),
    ],
)
def test_replies_of_a_simulator_poisoned_with_nan_decode(name, kind, values):
    poisoned = VECTORS['controls_nan_aileron']['fields']['responses_1s_later'][name]
    reply = fdmdata.decode(bytes.fromhex(poisoned), 'peer')
    assert isinstance(reply, kind)
    body = fdmdata.encode(reply)[2:]
    assert all(math.isnan(value) for value in struct.unpack(f'>{values}f', body))


@pytest.mark.parametrize(('text', 'reply'), HAND_WRITTEN)
def test_hand_written_reply(text, reply):
    data = bytes.fromhex(text)
    assert fdmdata.decode(data, 'peer') == reply
    assert fdmdata.encode(reply) == data
    assert fdmdata.decode(memoryview(data), 'peer') == reply
    assert fdmdata.decode(bytearray(data), 'peer') == reply


def test_reply_lengths_are_those_measured():
    lengths = [len(bytes.fromhex(text)) for text, _ in HAND_WRITTEN]
    assert lengths == [22, 14, 14, 14, 6, 6, 6, 30, 1]


def test_ins_has_airspeed_before_altitude_and_gps_after():
    ins = fdmdata.decode(bytes.fromhex(HAND_WRITTEN[7][0]), 'peer')
    gps = fdmdata.decode(bytes.fromhex(HAND_WRITTEN[0][0]), 'peer')
    assert (ins.airspeed, ins.altitude) == (6, 7)
    assert (gps.airspeed, gps.altitude) == (4, 3)


@pytest.mark.parametrize('command', range(8))
def test_all_eight_requests_are_one_byte(command):
    assert fdmdata.encode(fdmdata.SensorRequest(fdmdata.Command(command))) == bytes((command,))
    assert fdmdata.decode(bytes((command,)), 'bridge').command == command


def test_controls_are_aileron_elevator_rudder_throttle_big_endian():
    data = bytes.fromhex('3f000000 be800000 3e000000 3f400000')
    controls = fdmdata.ControlPositions(aileron=0.5, elevator=-0.25, rudder=0.125, throttle=0.75)
    assert fdmdata.encode(controls) == data
    assert fdmdata.decode(data, 'bridge') == controls


@pytest.mark.parametrize(
    ('text', 'complaint'),
    [
        ('', 'empty'),
        ('00', '0 bytes left at offset 1'),
        ('01', 'response code 0x01'),
        ('ff00', 'response code 0xff in 2 bytes'),
        ('0008 3f800000', 'unknown command 0x08'),
        ('0004 3f8000', '5 bytes, expected 6'),
        ('0004 3f800000 00', '7 bytes, expected 6'),
        ('0000 3f800000 40000000 40400000 40800000', '18 bytes, expected 22'),
    ],
)
def test_malformed_reply_is_rejected(text, complaint):
    with pytest.raises(ProtocolError, match=complaint):
        fdmdata.decode(bytes.fromhex(text), 'peer')


@pytest.mark.parametrize('length', [0, 12, 15, 17, 20])
def test_controls_of_another_length_are_rejected(length):
    with pytest.raises(ProtocolError, match=f'{length} bytes, expected 1 of a request or 16'):
        fdmdata.decode(bytes(length), 'bridge')


@pytest.mark.parametrize('name', ['aileron', 'elevator', 'rudder', 'throttle'])
@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf, 1.001, -1.001])
def test_controls_that_harm_the_simulator_are_refused(name, value):
    values = {'aileron': 0.0, 'elevator': 0.0, 'rudder': 0.0, 'throttle': 0.0, name: value}
    with pytest.raises(ValueError, match=name):
        fdmdata.encode(fdmdata.ControlPositions(**values))


def test_negative_throttle_is_refused():
    with pytest.raises(ValueError, match='throttle: expected 0 to 1, got -0.5'):
        fdmdata.encode(fdmdata.ControlPositions(0.0, 0.0, 0.0, -0.5))


def test_unknown_command_is_refused():
    with pytest.raises(ValueError, match='8 is not a valid Command'):
        fdmdata.encode(fdmdata.SensorRequest(8))


def test_reply_value_beyond_float32_is_refused():
    with pytest.raises(ValueError, match='too large for float32'):
        fdmdata.encode(fdmdata.ThermometerReply(1e39))


def test_reply_value_that_is_no_number_is_refused():
    with pytest.raises(TypeError):
        fdmdata.encode(fdmdata.ThermometerReply('warm'))


float32 = st.floats(width=32, allow_nan=False)
surface = st.floats(-1, 1, width=32)


@given(
    st.one_of(
        st.builds(fdmdata.GpsReply, float32, float32, float32, float32, float32),
        st.builds(fdmdata.AccelerometerReply, float32, float32, float32),
        st.builds(fdmdata.GyroscopeReply, float32, float32, float32),
        st.builds(fdmdata.MagnetometerReply, float32, float32, float32),
        st.builds(fdmdata.ThermometerReply, float32),
        st.builds(fdmdata.PitotTubeReply, float32),
        st.builds(fdmdata.StaticPressureReply, float32),
        st.builds(fdmdata.InsReply, float32, float32, float32, float32, float32, float32, float32),
        st.builds(fdmdata.ErrorReply),
    )
)
def test_decoding_an_encoded_reply_returns_it(reply):
    assert fdmdata.decode(fdmdata.encode(reply), 'peer') == reply


@given(
    st.builds(fdmdata.ControlPositions, surface, surface, surface, st.floats(0, 1, width=32))
)
def test_decoding_encoded_controls_returns_them(controls):
    assert fdmdata.decode(fdmdata.encode(controls), 'bridge') == controls


@pytest.mark.parametrize(
    ('sender', 'kinds'),
    [('bridge', fdmdata.SensorRequest | fdmdata.ControlPositions), ('peer', fdmdata.Reply)],
)
@given(data=st.one_of(st.binary(max_size=40), st.binary(max_size=40).map(lambda b: b'\0' + b)))
def test_any_bytes_give_a_message_or_a_protocol_error(sender, kinds, data):
    try:
        message = fdmdata.decode(data, sender)
    except ProtocolError:
        return
    assert isinstance(message, kinds)
