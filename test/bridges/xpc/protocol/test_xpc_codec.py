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

"""The X-Plane Connect codec: recorded datagrams, rejections, properties and fuzz."""

from dataclasses import asdict
from functools import partial
import math
import re
import struct

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from vector_files import vectors

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.xpc import protocol as xpc

VECTORS = {
    vector['name']: vector for vector in vectors('xpc')}
VALID = [name for name, vector in VECTORS.items() if vector['valid']]

# Sent by real clients and accepted by plugins, but not fit to be sent.
REFUSED = {
    'py3_GETD_name0': 'GETD name 1 is empty',
    'py3_POSI_08': 'POSI aircraft: expected 0 to 19, got 20',
}
INVALID = {
    'py3_WYPT_op1_badcount': 'WYPT: 31 bytes, expected 79',
    'py3_WYPT_op2_badcount': 'WYPT: 31 bytes, expected 79',
    'c-v1.2.1_POSI7_34': 'POSI: 40 bytes, expected 34 or 46',
}
INVALID_BUT_WELL_FORMED = {
    'java_POSI1_misaligned': 'POSI lon: expected -180 to 180, got -7.52628e+21',
}


decode_request = partial(xpc.decode, sender='bridge')
decode_reply = partial(xpc.decode, sender='peer')


def data_of(name):
    return bytes.fromhex(VECTORS[name]['hex'])


def decoder_of(name):
    from_plugin = VECTORS[name]['direction'] == 'plugin->client'
    return decode_reply if from_plugin else decode_request


def expected_fields(name):
    """Return a vector's fields as ours: -998 and gear -1 are None where they mean "leave"."""
    fields = {key: value for key, value in VECTORS[name]['fields'].items()
              if key not in ('type', 'b4')}
    tag = VECTORS[name]['fields']['type']
    if VECTORS[name]['direction'] == 'client->plugin':
        if tag in ('CTRL', 'POSI', 'GETT'):
            fields = {key: None if value == -998.0 else value for key, value in fields.items()}
        if tag == 'CTRL':
            fields = {'aircraft': 0, 'speedbrake': None, **fields}
            fields['gear'] = None if fields['gear'] == -1 else fields['gear']
        if tag == 'VIEW':
            fields.setdefault('camera', None)
            if fields['camera']:
                fields['camera']['direction'] = [
                    None if angle == -998.0 else angle
                    for angle in fields['camera']['direction']]
    return as_tuples(fields)


def as_tuples(value):
    if isinstance(value, list):
        return tuple(map(as_tuples, value))
    if isinstance(value, dict):
        return {key: as_tuples(item) for key, item in value.items()}
    return value


@pytest.mark.parametrize('name', VALID + list(INVALID_BUT_WELL_FORMED))
def test_recorded_datagram_decodes_to_its_recorded_fields(name):
    message = decoder_of(name)(data_of(name))
    assert message.tag == VECTORS[name]['fields']['type']
    assert asdict(message) == expected_fields(name)


@pytest.mark.parametrize('name', sorted(set(VALID) - set(REFUSED)))
def test_decoded_datagram_encodes_to_the_recorded_bytes(name):
    data = data_of(name)
    canonical = data[:4] + b'\0' + data[5:]
    if data[:4] == b'CTRL':
        canonical += {26: b'\0', 27: b'', 31: b''}[len(data)]
        canonical += b'' if len(data) == 31 else bytes.fromhex('008079c4')
    assert xpc.encode(decoder_of(name)(data)) == canonical


@pytest.mark.parametrize('name', list(INVALID))
def test_malformed_recorded_datagram_is_a_protocol_error(name):
    with pytest.raises(ProtocolError) as caught:
        decoder_of(name)(data_of(name))
    assert str(caught.value) == INVALID[name]


def test_every_invalid_vector_has_its_expectation():
    invalid = {name for name, vector in VECTORS.items() if not vector['valid']}
    assert invalid == {*INVALID, *INVALID_BUT_WELL_FORMED}
    assert len(VECTORS) == 124


@pytest.mark.parametrize('name', list(REFUSED | INVALID_BUT_WELL_FORMED))
def test_what_real_clients_should_not_send_is_refused(name):
    text = (REFUSED | INVALID_BUT_WELL_FORMED)[name]
    with pytest.raises(ValueError, match=f'^{re.escape(text)}$'):
        xpc.encode(decode_request(data_of(name)))


# Forms of which no recording exists, written out from the layout tables.

POSI_46 = data_of('java_POSI7')


def test_post_is_a_posi_that_asks_for_terrain():
    message = decode_request(b'POST' + POSI_46[4:])
    assert message == xpc.PlaceAndProbe(3, 37.5, -122.25, 1000.125, 1.0, 2.0, 3.0, 1.0)
    assert xpc.encode(message) == b'POST\0' + POSI_46[5:]


def test_view_of_37_bytes_has_no_direction():
    data = b'VIEW\0' + bytes.fromhex(
        '50000000' '0000000000003e40' '0000000000000000' '0000000000002440' '0000c03f')
    message = xpc.SetView(xpc.View.CHASE, xpc.Camera((30.0, 0.0, 10.0), None, 1.5))
    assert decode_request(data) == message
    assert xpc.encode(message) == data


def test_terr_of_50_bytes_as_documented_has_no_velocity():
    data = b'TERR\0\x02' + bytes.fromhex(
        '0000000000003e40' '0000000000002440' '000000000000f0bf'
        '00000000' '0000803f' '00000000' '0000803f' '00000040')
    message = xpc.Terrain(2, 30.0, 10.0, -1.0, (0.0, 1.0, 0.0), None, 1, 2)
    assert decode_reply(data) == message
    assert xpc.encode(message) == data


@pytest.mark.parametrize(('tag', 'kind'), [
    ('DSEL', xpc.SelectRows), ('USEL', xpc.UnselectRows),
    ('DCOC', xpc.SelectCockpitRows), ('UCOC', xpc.UnselectCockpitRows)])
def test_row_selections_are_lists_of_u32(tag, kind):
    data = tag.encode() + b'\0\x03\0\0\0\x14\0\0\0'
    assert decode_request(data) == kind((3, 20))
    assert xpc.encode(kind((3, 20))) == data


def test_other_forwarded_tags_keep_their_body():
    assert decode_request(b'MENU\0abc') == xpc.Forwarded('MENU', b'abc')
    assert xpc.encode(xpc.Forwarded('MENU', b'abc')) == b'MENU\0abc'


def test_dref_takes_several_items_and_literal_998():
    data = b'DREF\0\x03a/b\x02' + bytes.fromhex('008079c4' '0000803f') + b'\x01c\x01' + b'\0' * 4
    message = xpc.SetDatarefs((('a/b', (-998.0, 1.0)), ('c', (0.0,))))
    assert decode_request(data) == message
    assert xpc.encode(message) == data


def test_data_cells_may_be_998():
    row = (25, 0.75, -998.0, -998.0, -998.0, -998.0, -998.0, -998.0, -998.0)
    assert xpc.encode(xpc.DataRows((row,))) == (
        b'DATA\0\x19\0\0\0' + bytes.fromhex('0000403f' + '008079c4' * 7))


def test_byte_4_is_ignored():
    for byte in (0, 1, 0x2a, 0xff):
        assert decode_request(b'GETC' + bytes((byte, 7))) == xpc.GetControls(7)
        assert decode_reply(b'CONF' + bytes((byte, 7))) == xpc.ConnectReply(7)


@pytest.mark.parametrize('kind', [bytes, bytearray, memoryview])
def test_any_kind_of_buffer_decodes(kind):
    assert decode_request(kind(b'GETP\0\x03')) == xpc.GetPosition(3)
    assert decode_reply(kind(b'RESP\0\x01\0')) == xpc.Datarefs(((),))


@pytest.mark.parametrize(('wire', 'ours'), [
    (-998.0, None), (-997.95, None), (-999.05, None),
    (-997.85, np.float32(-997.85)), (-999.2, np.float32(-999.2))])
def test_leave_window_is_that_of_the_plugin(wire, ours):
    controls = b'CTRL\0' + struct.pack('<4fbf', 0, 0, wire, 0, 0, 0)
    assert decode_request(controls).rudder == ours
    position = b'POSI\0\0' + struct.pack('<3d4f', 0, 0, 0, 0, 0, wire, 0)
    assert decode_request(position).heading == ours


def test_no_window_but_equality_leaves_a_place_to_the_terrain_probe():
    message = decode_request(b'GETT\0\0' + struct.pack('<3d', -998.0, 5.0, -998.5))
    assert message == xpc.GetTerrain(0, None, 5.0, -998.5)


def test_negative_posi_gear_leaves_it_and_is_sent_as_998():
    message = decode_request(POSI_46[:42] + struct.pack('<f', -1.0))
    assert message.gear is None
    assert xpc.encode(message)[42:] == bytes.fromhex('008079c4')


def test_ctrl_gear_that_the_plugin_ignores_is_shown_and_refused():
    message = decode_request(b'CTRL\0' + bytes(16) + b'\x05' + bytes(9))
    assert message.gear == 5
    with pytest.raises(ValueError, match='CTRL gear: expected 0 to 1, got 5'):
        xpc.encode(message)


def test_camera_direction_below_minus_180_is_none():
    camera = struct.pack('<3d3ff', 0, 0, 0, -180.5, -180.0, -998.0, 1.0)
    message = decode_request(b'VIEW\0\x50\0\0\0' + camera)
    assert message.camera.direction == (None, -180.0, None)


def test_beacon_without_padding_and_version_of_another_length():
    data = b'BECN\0\x71\xbf\xea\x2e\0\0' b'1.4'
    beacon = xpc.Beacon(49009, 12010, '1.4', 0)
    assert decode_reply(data) == beacon
    assert xpc.encode(beacon) == data
    assert xpc.encode(xpc.Beacon(49009, 12010)) == (
        b'BECN\0\x71\xbf\xea\x2e\0\0' b'1.3-rc.1\0\0\0\0\0\0\0\0')


def test_beacon_of_x_plane_itself_is_rejected():
    # X-Plane 11: version 1.2, host 1, version 115501, role 1, port 49000, name, RakNet port.
    data = b'BECN\0' + struct.pack('<BBiiIH', 1, 2, 1, 115501, 1, 49000) + b'PC\0' + b'\x6c\xbf'
    with pytest.raises(ProtocolError, match='BECN plugin_version at offset 11'):
        decode_reply(data)


def test_text_cut_inside_a_character_shows_what_is_left():
    data = b'TEXT\0' + bytes(8) + b'\x03' + 'a\u00b0\u00b0'.encode()[:3]
    assert decode_request(data).text == 'a\u00b0'
    data = b'TEXT\0' + bytes(8) + b'\x02' + 'a\u00b0'.encode()[:2]
    assert decode_request(data).text == 'a\ufffd'
    assert xpc.encode(xpc.Text(0, 0, '5\u00b0'))[13:] == b'\x035\xc2\xb0'


@pytest.mark.parametrize(('decode', 'data', 'text'), [
    (decode_request, b'GET', 'header: 3 bytes left at offset 0, need 5'),
    (decode_request, b'RREF\0',
     "tag at offset 0: got b'RREF', expected that of an XPC request"),
    (decode_reply, b'GETC\0\0', "tag at offset 0: got b'GETC', expected that of an XPC reply"),
    (decode_request, b'CTRL\0', 'CTRL: 5 bytes, expected 26, 27 or 31'),
    (decode_reply, b'CTRL\0' + bytes(21), 'CTRL: 26 bytes, expected 31'),
    (decode_reply, b'CTRL\0' + bytes(16) + b'\xff' + bytes(9),
     'CTRL gear: got -1 (leave), expected a state'),
    (decode_reply, b'CTRL\0' + bytes(22) + bytes.fromhex('008079c4'),
     'CTRL speedbrake: got -998.0 (leave), expected a state'),
    (decode_request, b'DREF\0\x05a', 'DREF item 1 name: 1 byte left at offset 6, need 5'),
    (decode_request, b'DREF\0\x01a', 'DREF item 1 count: 0 bytes left at offset 7, need 1'),
    (decode_request, b'DREF\0\x01a\x03' + bytes(10),
     'DREF item 1 value 3: 2 bytes left at offset 16, need 4'),
    (decode_request, b'GETD\0\x02\x01a',
     'GETD name 2 of 2 length: 0 bytes left at offset 8, need 1'),
    (decode_request, b'GETD\0\x01\x01ab', 'GETD: 9 bytes, expected 8 for 1 names'),
    (decode_request, b'COMM\0\x01a\x03bc',
     'COMM command 2: 2 bytes left at offset 8, need 3'),
    (decode_request, b'TEXT\0' + bytes(8) + b'\x02a',
     'TEXT text: 1 byte left at offset 14, need 2'),
    (decode_request, b'TEXT\0' + bytes(9) + b'a',
     'TEXT: 15 bytes, expected 14 for a text of 0'),
    (decode_request, b'DATA\0' + bytes(40), 'DATA row 2: 4 bytes left at offset 41, need 36'),
    (decode_request, b'DSEL\0' + bytes(6), 'DSEL row 2: 2 bytes left at offset 9, need 4'),
    (decode_request, b'COMM\0' + b'\x01a' * 2046,
     'COMM: 4097 bytes, expected at most 4096: the plugin truncates longer ones'),
    (decode_reply, b'RESP\0', 'RESP count: 0 bytes left at offset 5, need 1'),
    (decode_reply, b'RESP\0\x02\x00',
     'RESP row 2 of 2 count: 0 bytes left at offset 7, need 1'),
    (decode_reply, b'RESP\0\x01\x02' + bytes(7),
     'RESP row 1 value 2: 3 bytes left at offset 11, need 4'),
    (decode_reply, b'RESP\0\x01\x00\x00', 'RESP: 8 bytes, expected 7 for 1 rows'),
    (decode_reply, b'TERR\0' + bytes(41) + struct.pack('<f', math.nan),
     'TERR status at offset 46: got nan, expected a whole number'),
    (decode_reply, b'BECN\0abc', 'BECN port and version: 3 bytes left at offset 5, need 6'),
])
def test_protocol_error_says_what_where_expected_and_got(decode, data, text):
    with pytest.raises(ProtocolError) as caught:
        decode(data)
    assert str(caught.value) == text


# Rejections (docs/wire/xpc.md, section 9).

NAME_256 = 'n' * 256
ROW = (0, *[0.0] * 8)


@pytest.mark.parametrize(('message', 'text'), [
    (xpc.GetPosition(20), 'GETP aircraft: expected 0 to 19, got 20'),
    (xpc.GetControls(-1), 'GETC aircraft: expected 0 to 19, got -1'),
    (xpc.SetControls(aircraft=255), 'CTRL aircraft: expected 0 to 19, got 255'),
    (xpc.Position(aircraft=21), 'POSI aircraft: expected 0 to 19, got 21'),
    (xpc.PlaceAndProbe(aircraft=21), 'POST aircraft: expected 0 to 19, got 21'),
    (xpc.GetTerrain(aircraft=20), 'GETT aircraft: expected 0 to 19, got 20'),
    (xpc.SetControls(elevator=1.01), 'CTRL elevator: expected -1 to 1, got 1.01'),
    (xpc.SetControls(aileron=-1.01), 'CTRL aileron: expected -1 to 1, got -1.01'),
    (xpc.SetControls(rudder=math.nan), 'CTRL rudder: expected a finite number, got nan'),
    (xpc.SetControls(throttle=-0.1), 'CTRL throttle: expected 0 to 1, got -0.1'),
    (xpc.SetControls(flaps=1.1), 'CTRL flaps: expected 0 to 1, got 1.1'),
    (xpc.SetControls(speedbrake=1.6), 'CTRL speedbrake: expected -0.5 to 1.5, got 1.6'),
    (xpc.SetControls(gear=-1), 'CTRL gear: expected 0 to 1, got -1'),
    (xpc.SetControls(gear=2), 'CTRL gear: expected 0 to 1, got 2'),
    (xpc.SetControls(elevator=-998.0), 'CTRL elevator: expected -1 to 1, got -998'),
    (xpc.Position(lat=90.1), 'POSI lat: expected -90 to 90, got 90.1'),
    (xpc.Position(lon=-180.1), 'POSI lon: expected -180 to 180, got -180.1'),
    (xpc.Position(lat=math.nan), 'POSI lat: expected a finite number, got nan'),
    (xpc.Position(alt=math.inf), 'POSI alt: expected a finite number, got inf'),
    (xpc.Position(alt=1e38), 'POSI alt: expected -900 to 200000, got 1e+38'),
    # The plugin would take it for "leave".
    (xpc.Position(alt=-998.5), 'POSI alt: expected -900 to 200000, got -998.5'),
    (xpc.Position(pitch=1e300), 'POSI pitch: expected -90 to 90, got 1e+300'),
    (xpc.Position(pitch=-90.5), 'POSI pitch: expected -90 to 90, got -90.5'),
    (xpc.Position(roll=181.0), 'POSI roll: expected -180 to 180, got 181'),
    (xpc.Position(heading=361.0), 'POSI heading: expected -360 to 360, got 361'),
    (xpc.PlaceAndProbe(alt=2e5 + 1.0), 'POST alt: expected -900 to 200000, got 200001'),
    (xpc.Position(pitch=math.nan), 'POSI pitch: expected a finite number, got nan'),
    (xpc.Position(heading=-math.inf), 'POSI heading: expected a finite number, got -inf'),
    (xpc.Position(gear=1.5), 'POSI gear: expected 0 to 1, got 1.5'),
    (xpc.Position(gear=-1.0), 'POSI gear: expected 0 to 1, got -1'),
    (xpc.Position(precision=16), 'POSI precision: got 16, expected 32 or 64'),
    (xpc.GetTerrain(lat=-90.5), 'GETT lat: expected -90 to 90, got -90.5'),
    (xpc.GetTerrain(lon=181), 'GETT lon: expected -180 to 180, got 181'),
    (xpc.GetTerrain(alt=math.nan), 'GETT alt: expected a finite number, got nan'),
    # The plugin would take it for the aircraft's position.
    (xpc.GetTerrain(alt=-998.0),
     'GETT alt: expected -900 to 200000, got -998'),
    (xpc.SetDatarefs(()), 'DREF items: got none, expected at least one'),
    (xpc.SetDatarefs((('', (1.0,)),)), 'DREF item 1 name is empty'),
    (xpc.SetDatarefs((('a', ()),)), 'DREF item 1 values: expected 1 to 255, got 0'),
    (xpc.SetDatarefs((('a', (0.0,) * 256),)), 'DREF item 1 values: expected 1 to 255, got 256'),
    (xpc.SetDatarefs((('a', (0.0, math.nan)),)),
     'DREF item 1 value 2: expected a finite number, got nan'),
    (xpc.SetDatarefs((('a', (1e39,)),)),
     'DREF item 1 value 1: expected -3.40282e+38 to 3.40282e+38, got 1e+39'),
    (xpc.SetDatarefs((('a', (0.0,) * 255),) * 4 + (('b', (0.0,) * 8),)),
     'DREF: 4132 bytes, expected at most 4096: the plugin truncates longer ones'),
    (xpc.GetDatarefs(()), 'GETD names: expected 1 to 255, got 0'),
    (xpc.GetDatarefs(('a',) * 256), 'GETD names: expected 1 to 255, got 256'),
    (xpc.GetDatarefs((NAME_256,)), 'GETD name 1: 256 characters, at most 255 fit'),
    (xpc.GetDatarefs(('a', 'caf\u00e9')),
     "GETD name 2: '\u00e9' cannot be sent, only printable ASCII"),
    (xpc.GetDatarefs(('a\0',)), "GETD name 1: '\\x00' cannot be sent, only printable ASCII"),
    (xpc.GetDatarefs(('n' * 16,) * 255),
     'GETD: 4341 bytes, expected at most 4096: the plugin truncates longer ones'),
    (xpc.CommandOnce(()), 'COMM commands: got none, expected at least one'),
    (xpc.CommandBegin(('',)), 'BCOM command 1 is empty'),
    (xpc.CommandEnd((NAME_256,)), 'ECOM command 1: 256 characters, at most 255 fit'),
    (xpc.Simulation(3), 'SIMU op: got 3, expected 0, 1, 2, 100 to 119 or 200 to 219'),
    (xpc.Simulation(120), 'SIMU op: got 120, expected 0, 1, 2, 100 to 119 or 200 to 219'),
    (xpc.Text(0, 0, 'a\0b'), "TEXT text: got 'a\\x00b', expected no NUL, which would end it"),
    (xpc.Text(0, 0, '\u00b0' * 128), 'TEXT length in bytes: expected 0 to 255, got 256'),
    (xpc.Text(0, 0, '\ud800'), "TEXT text: got '\\ud800', expected text encodable as UTF-8"),
    (xpc.Text(2**31, 0, 'a'), 'TEXT x: expected -2147483648 to 2147483647, got 2147483648'),
    (xpc.SetView(94), 'VIEW view: expected 0 to 93, got 94'),
    (xpc.SetView(-1), 'VIEW view: expected 0 to 93, got -1'),
    (xpc.SetView(79, xpc.Camera((91.0, 0.0, 0.0), None, 1.0)),
     'VIEW loc 1: expected -90 to 90, got 91'),
    (xpc.SetView(80, xpc.Camera((math.nan, 0.0, 0.0), None, 1.0)),
     'VIEW loc 1: expected a finite number, got nan'),
    (xpc.SetView(80, xpc.Camera((0.0, 0.0, 0.0), (0.0, -181.0, 0.0), 1.0)),
     'VIEW direction 2: expected -180 to 360, got -181'),
    (xpc.SetView(80, xpc.Camera((0.0, 0.0, 0.0), (None, None, None), math.inf)),
     'VIEW zoom: expected a finite number, got inf'),
    (xpc.SetView(80, xpc.Camera((0.0, 0.0, 0.0), None, 1e4)),
     'VIEW zoom: expected 0 to 1000, got 10000'),
    (xpc.SetView(80, xpc.Camera((0.0, 1e7, 0.0), None, 1.0)),
     'VIEW loc 2: expected -1e+06 to 1e+06, got 1e+07'),
    (xpc.EditWaypoints(1, ((0.0, 0.0, 1e6),)),
     'WYPT point 1 alt: expected -900 to 200000, got 1e+06'),
    (xpc.EditWaypoints(0), 'WYPT op: expected 1 to 3, got 0'),
    (xpc.EditWaypoints(1, ((0.0, 0.0, 0.0),) * 129), 'WYPT points: expected 0 to 128, got 129'),
    (xpc.EditWaypoints(1, ((0.0, 0.0, 0.0), (0.0, 200.0, 0.0))),
     'WYPT point 2 lon: expected -180 to 180, got 200'),
    # Equal as float32.
    (xpc.EditWaypoints(2, ((37.6, 0.0, 1.0), (0.0, 0.0, 1.0), (37.6000001, -0.0, 1.0))),
     'WYPT points: got one twice, expected each once: the plugin counts it twice, and also '
     'removes another one, or crashes'),
    (xpc.EditWaypoints(1, ((0.0, 0.0, math.inf),)),
     'WYPT point 1 alt: expected a finite number, got inf'),
    (xpc.Connect(0), 'CONN port: expected 1 to 65535, got 0'),
    (xpc.Connect(65536), 'CONN port: expected 1 to 65535, got 65536'),
    (xpc.DataRows((ROW,) * 32), 'DATA rows: expected 0 to 31, got 32'),
    (xpc.DataRows(((256, *ROW[1:]),)), 'DATA row 1 number: expected 0 to 255, got 256'),
    (xpc.DataRows(((8, math.nan, *ROW[2:]),)),
     'DATA row 1 v1: expected a finite number, got nan'),
    (xpc.DataRows((ROW[:8],)), 'DATA row 1: got 7 values, expected 8'),
    (xpc.SelectRows((3, 256)), 'DSEL row 2: expected 0 to 255, got 256'),
    (xpc.Forwarded('RREF', b''),
     "tag: got 'RREF', expected one that the plugin forwards: " + ', '.join(xpc.FORWARDED_TAGS)),
    (xpc.Forwarded('MENU', bytes(4092)),
     'MENU: 4097 bytes, expected at most 4096: the plugin truncates longer ones'),
    (xpc.PositionReply(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 48),
     'POSI precision: got 48, expected 32 or 64'),
    (xpc.Beacon(49009, 12010, '1\0'),
     "BECN plugin_version: '\\x00' cannot be sent, only printable ASCII"),
])
def test_refusal_says_what_would_be_good(message, text):
    with pytest.raises(ValueError, match=f'^{re.escape(text)}$'):
        xpc.encode(message)


@pytest.mark.parametrize('message', [
    xpc.Datarefs(((),) * 256),
    xpc.Datarefs(((0.0,) * 256,)),
])
def test_what_the_format_of_a_reply_cannot_hold_is_refused(message):
    # The words are struct's, and differ between Python versions.
    with pytest.raises(ValueError, match='^RESP: .* format requires 0 <= number <= 255'):
        xpc.encode(message)


@pytest.mark.parametrize(('message', 'text'), [
    (xpc.GetDatarefs('sim/x'), "GETD name: expected a sequence of texts, got 'sim/x'"),
    (xpc.CommandOnce('sim/x'), "COMM command: expected a sequence of texts, got 'sim/x'"),
    (xpc.GetDatarefs((b'sim/x',)), "GETD name 1: expected a text, got b'sim/x'"),
    (xpc.SetDatarefs((('a', ('1',)),)), "DREF item 1 value 1: expected a number, got '1'"),
    (xpc.SetControls(elevator='up'), "CTRL elevator: expected a number, got 'up'"),
    (xpc.SetControls(gear=0.5), 'CTRL gear: expected a whole number, got 0.5'),
    (xpc.SetControls(aircraft=None), 'CTRL aircraft: expected a whole number, got None'),
    (xpc.Text(0, 0, b'a'), "TEXT text: expected a text, got b'a'"),
    (b'GETC', "not a message of X-Plane Connect: b'GETC'"),
])
def test_value_of_the_wrong_kind_is_a_type_error(message, text):
    with pytest.raises(TypeError) as caught:
        xpc.encode(message)
    assert str(caught.value) == text


def test_largest_allowed_requests_are_made():
    assert len(xpc.encode(xpc.GetDatarefs(('n' * 15,) * 255))) == 4086
    assert len(xpc.encode(xpc.DataRows((ROW,) * 31))) == 5 + 31 * 36
    assert len(xpc.encode(xpc.EditWaypoints(1, ((0.0, 0.0, 0.0),) * 128))) == 7 + 12 * 128
    for op in (*range(3), *range(100, 120), *range(200, 220)):
        assert xpc.encode(xpc.Simulation(op)) == b'SIMU\0' + bytes((op,))
    assert xpc.encode(xpc.Simulation(xpc.SimulationOp.RUN_AIRCRAFT + 3)) == b'SIMU\0\xcb'


def test_numbers_of_numpy_are_numbers():
    assert xpc.encode(xpc.GetControls(np.int64(2))) == b'GETC\0\x02'
    message = xpc.SetDatarefs((('a', np.array([0.5, 1.0], np.float32)),))
    assert xpc.encode(message) == b'DREF\0\x01a\x02' + bytes.fromhex('0000003f' '0000803f')


def test_replies_are_not_judged():
    reply = xpc.ControlsReply(5.0, math.inf, -7.0, 2.0, 3, 9.0, 200, 4.0)
    assert decode_reply(xpc.encode(reply)) == reply
    assert math.isnan(decode_reply(xpc.encode(xpc.Datarefs(((math.nan,),)))).rows[0][0])


@pytest.mark.parametrize(('counts', 'name'), [
    ([], 'plugin-master_RESP_repeat_bug'), ([1], 'plugin-master_RESP_float'),
    ([1, 0, 4, 1], 'plugin-master_RESP_mixed4'), ([255] * 4, 'plugin-master_RESP_4x255')])
def test_resp_size_is_that_of_recorded_answers(counts, name):
    assert xpc.resp_size(counts) == len(data_of(name))


def test_answers_of_one_length_may_have_different_rows():
    first = ((1.0,), (2.0, 3.0))
    for rows in (first, ((1.0, 2.0), (3.0,)), first, ((), (1.0, 2.0, 3.0)), first):
        assert decode_reply(xpc.encode(xpc.Datarefs(rows))) == xpc.Datarefs(rows)


@given(st.lists(st.lists(st.floats(width=32, allow_nan=False), max_size=3), max_size=5))
def test_an_answer_is_read_in_the_same_way_again(rows):
    message = xpc.Datarefs(tuple(map(tuple, rows)))
    data = xpc.encode(message)
    assert decode_reply(data) == decode_reply(data) == message
    with pytest.raises(ProtocolError):
        decode_reply(data + b'\0')


def test_four_unknown_arrays_fit_an_answer_and_five_do_not():
    assert xpc.resp_size([xpc.MAX_VALUES] * 4) <= xpc.RESP_LIMIT
    assert xpc.resp_size([xpc.MAX_VALUES] * 5) > xpc.RESP_LIMIT


# Properties.

float32s = st.floats(width=32, allow_nan=False, allow_infinity=False)
not_leave = float32s.filter(lambda v: not -999.1 < v < -997.9)
doubles = st.floats(allow_nan=False, allow_infinity=False)
u8 = st.integers(0, 255)
aircraft = st.integers(0, 19)
lats = st.floats(-90, 90, width=32)
lons = st.floats(-180, 180, width=32)
ratio = st.none() | st.floats(0, 1, width=32)
deflection = st.none() | st.floats(-1, 1, width=32)
altitudes = st.floats(*xpc.ALTITUDE_RANGE, width=32)


def angle(largest):
    return st.none() | st.floats(-largest, largest, width=32)


names = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7e), min_size=1, max_size=40)
name_lists = st.lists(names, min_size=1, max_size=6).map(tuple)
row_numbers = st.lists(u8, max_size=20).map(tuple)
directions = st.none() | st.tuples(*[st.none() | st.floats(-180, 360, width=32)] * 3)
placement = (aircraft, st.none() | lats, st.none() | lons, st.none() | altitudes,
             angle(90), angle(180), angle(360), ratio, st.sampled_from((32, 64)))
i24 = st.integers(-2**24, 2**24)
vectors3 = st.tuples(float32s, float32s, float32s)

REQUESTS = [
    st.builds(xpc.CommandOnce, name_lists),
    st.builds(xpc.CommandBegin, name_lists),
    st.builds(xpc.CommandEnd, name_lists),
    st.builds(xpc.Connect, st.integers(1, 65535)),
    st.builds(xpc.SetControls, deflection, deflection, deflection, ratio,
              st.sampled_from((None, 0, 1)), ratio, aircraft,
              st.none() | st.floats(-0.5, 1.5, width=32)),
    st.builds(xpc.GetControls, aircraft),
    st.builds(xpc.Position, *placement),
    st.builds(xpc.PlaceAndProbe, *placement),
    st.builds(xpc.GetPosition, aircraft),
    st.builds(xpc.SetDatarefs, st.lists(st.tuples(
        names, st.lists(float32s, min_size=1, max_size=20).map(tuple)),
        min_size=1, max_size=5).map(tuple)),
    st.builds(xpc.GetDatarefs, name_lists),
    st.builds(xpc.Simulation, st.sampled_from((0, 1, 2, 100, 119, 200, 219))),
    st.builds(xpc.Text, st.integers(-2**31, 2**31 - 1), st.integers(-2**31, 2**31 - 1),
              st.text(st.characters(exclude_categories=('Cs',), exclude_characters='\0'),
                      max_size=60)),
    st.builds(xpc.SetView, st.integers(0, 93), st.none() | st.builds(
        xpc.Camera, st.tuples(lats, lons, altitudes), directions, st.floats(0, 1000, width=32))),
    st.builds(xpc.EditWaypoints, st.sampled_from(xpc.WaypointOp),
              st.lists(st.tuples(lats, lons, altitudes), max_size=10, unique=True).map(tuple)),
    st.builds(xpc.GetTerrain, aircraft, st.none() | lats, st.none() | lons,
              st.none() | altitudes),
    st.builds(xpc.DataRows, st.lists(st.tuples(u8, *[float32s] * 8), max_size=31).map(tuple)),
    st.builds(xpc.SelectRows, row_numbers),
    st.builds(xpc.UnselectRows, row_numbers),
    st.builds(xpc.SelectCockpitRows, row_numbers),
    st.builds(xpc.UnselectCockpitRows, row_numbers),
    st.builds(xpc.Forwarded, st.sampled_from(xpc.FORWARDED_TAGS), st.binary(max_size=50)),
]
REPLIES = [
    st.builds(xpc.ConnectReply, u8),
    st.builds(xpc.ControlsReply, not_leave, not_leave, not_leave, not_leave,
              st.integers(0, 127), not_leave, u8, not_leave),
    st.builds(xpc.PositionReply, u8, *[float32s] * 7, st.sampled_from((32, 64))),
    st.builds(xpc.Datarefs, st.lists(
        st.lists(float32s, max_size=12).map(tuple), max_size=12).map(tuple)),
    st.builds(xpc.Terrain, u8, doubles, doubles, doubles, vectors3, st.none() | vectors3,
              i24, i24),
    st.builds(xpc.Beacon, st.integers(0, 65535), st.integers(0, 2**32 - 1),
              st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7e), max_size=20),
              st.integers(0, 30)),
]
TAGS = sorted({*xpc.MESSAGES['bridge'], *xpc.MESSAGES['peer']})


def test_every_message_has_a_property():
    assert len(REQUESTS) == len(set(xpc.MESSAGES['bridge'].values()))
    assert len(REPLIES) == len(set(xpc.MESSAGES['peer'].values()))


@settings(max_examples=400, deadline=None)
@given(message=st.one_of(REQUESTS))
def test_request_survives_the_wire(message):
    assert decode_request(xpc.encode(message)) == message


@settings(max_examples=200, deadline=None)
@given(message=st.one_of(REPLIES))
def test_reply_survives_the_wire(message):
    assert decode_reply(xpc.encode(message)) == message


# Fuzz.

def decode_and_encode(data):
    """Decode as either sender and encode again, allowing only the permitted errors."""
    for decode in (decode_request, decode_reply):
        try:
            message = decode(data)
        except ProtocolError as error:
            assert str(error)
            continue
        try:
            xpc.encode(message)
        except ValueError as error:
            assert str(error)


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=80))
def test_any_bytes_give_a_message_or_a_protocol_error(data):
    decode_and_encode(data)


@settings(max_examples=500, deadline=None)
@given(tag=st.sampled_from(TAGS), rest=st.binary(max_size=70))
def test_any_bytes_after_a_tag_give_a_message_or_a_protocol_error(tag, rest):
    decode_and_encode(tag.encode() + rest)


@settings(max_examples=500, deadline=None)
@given(name=st.sampled_from(sorted(VECTORS)), data=st.data())
def test_mutated_recordings_give_a_message_or_a_protocol_error(name, data):
    mutated = bytearray(data_of(name))
    for bit in data.draw(st.lists(st.integers(0, 8 * len(mutated) - 1), max_size=3)):
        mutated[bit // 8] ^= 1 << bit % 8
    del mutated[data.draw(st.integers(0, len(mutated))):]
    decode_and_encode(bytes(mutated) + data.draw(st.binary(max_size=5)))


# A prefix of these is itself complete: items end where the datagram ends, or a shorter form
# exists.
SHORTER_IS_WHOLE = {'DREF', 'COMM', 'BCOM', 'ECOM', 'DATA', 'DSEL', 'CTRL', 'POSI', 'VIEW', 'BECN'}


@pytest.mark.parametrize('name', [
    name for name in VALID if VECTORS[name]['fields']['type'] not in SHORTER_IS_WHOLE])
def test_truncated_or_extended_recording_is_rejected(name):
    data = data_of(name)
    for length in range(max(0, len(data) - 40), len(data)):
        with pytest.raises(ProtocolError):
            decoder_of(name)(data[:length])
    with pytest.raises(ProtocolError):
        decoder_of(name)(data + b'\0')
