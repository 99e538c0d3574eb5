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

"""X-Plane's native UDP against the document's worked examples, recorded and hand-made bytes."""

from dataclasses import asdict
import math
import struct

from hypothesis import given
from hypothesis import strategies as st
import pytest
from vector_files import vectors

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.xplane_udp import protocol as xp

VECTORS = {
    vector['name']: vector
    for vector in vectors('xplane_udp')
}
DATAGRAMS = {n: v for n, v in VECTORS.items() if v['direction'] != 'value'}
VALID = {n: v for n, v in DATAGRAMS.items() if not v.get('invalid')}
INVALID = {n: v for n, v in DATAGRAMS.items() if v.get('invalid')}

LITTLE_6, BIG_6 = xp.DataLayout(6, 'little', True), xp.DataLayout(6, 'big', True)
LITTLE_8 = xp.DataLayout(8, 'little')

# The bytes of the version 6 document, as printed.
DOCUMENT_PACKET = bytes([68, 65, 84, 65, 0, 48, 33, 0, 0, 0, 76, 87, 67, 69] + [0] * 28 + [48])


def hex_of(name):
    return bytes.fromhex(VECTORS[name]['hex'])


def sender_of(vector):
    return 'bridge' if vector['direction'].startswith('client') else 'peer'


def version_of(name):
    """Return the version only where the bytes need it: see the documented ambiguity."""
    return 6 if name in ('v6_send_flight_controls_no_trailer_mac',) else None


def decoded(name):
    return xp.decode(hex_of(name), sender_of(VECTORS[name]), version_of(name))


# ------------------------------------------------------------ the document's worked examples

def test_document_packet_is_43_bytes_and_engine_rpm_3125_456():
    assert len(DOCUMENT_PACKET) == 43
    assert hex_of('v6_doc_sample_pc') == DOCUMENT_PACKET
    data = xp.decode(DOCUMENT_PACKET, 'peer')
    assert data == xp.Data(
        (xp.Segment(33, (3125.4560546875, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)),), LITTLE_6)
    assert round(data.segments[0].values[0], 3) == 3125.456
    assert xp.row_name(6, 33) == 'engine speed'
    assert xp.encode(data, 6) == DOCUMENT_PACKET


@pytest.mark.parametrize(('platform', 'order', 'index', 'four'), [
    (b'1', 'big', [0, 0, 0, 5], [66, 246, 64, 0]),
    (b'0', 'little', [5, 0, 0, 0], [0, 64, 246, 66]),
])
def test_document_123_125_on_mac_and_pc(platform, order, index, four):
    packet = b'DATA\0' + platform + bytes(index + four + [0] * 28) + platform
    data = xp.decode(packet, 'peer')
    assert data.layout == xp.DataLayout(6, order, True)
    assert data.segments[0].index == 5
    assert data.segments[0].values[0] == 123.125
    assert xp.encode(data, 6) == packet


def test_document_pc_bytes_read_in_the_wrong_order_are_not_3125():
    packet = b'DATA*' + bytes([33, 0, 0, 0, 76, 87, 67, 69] + [0] * 28)
    forced = xp.decode(packet, 'peer', layout=xp.DataLayout(8, 'big'))
    assert forced.segments[0].values[0] == 56429844.0
    assert forced.segments[0].index == 33 << 24


@pytest.mark.parametrize(('order', 'four'), [
    ('big', 'FFFFFFFD'), ('little', 'FDFFFFFF'),
])
def test_document_integer_minus_3(order, four):
    packet = b'USEL\0' + bytes.fromhex(four)
    assert xp.decode(packet, 'bridge', layout=xp.DataLayout(8, order)).indices == (-3,)


def test_label_in_lower_case_is_another_label():
    with pytest.raises(ProtocolError, match='data'):
        xp.decode(b'data' + DOCUMENT_PACKET[4:], 'peer')


def test_version_9_sample_of_a_big_endian_mac():
    packet = b'DATA@' + bytes([0, 0, 0, 37, 68, 151, 111, 166] + [0] * 28)
    data = xp.decode(packet, 'peer')
    assert data.layout == xp.DataLayout(8, 'big')
    assert data.segments[0].values[0] == 1211.489013671875


# ------------------------------------------------------------ every vector

@pytest.mark.parametrize('name', sorted(INVALID))
def test_invalid_vector_is_a_protocol_error(name):
    with pytest.raises(ProtocolError):
        xp.decode(hex_of(name), sender_of(VECTORS[name]))


@pytest.mark.parametrize('name', sorted(n for n, v in VALID.items() if 'segments' in v['fields']))
def test_data_vector_has_the_listed_rows(name):
    listed = VALID[name]['fields']['segments']
    got = decoded(name).segments
    assert [s.index for s in got] == [s['index'] for s in listed]
    for segment, expected in zip(got, listed, strict=True):
        assert list(segment.values) == [None if v == -999.0 else v for v in expected['values']]


@pytest.mark.parametrize(('name', 'layout'), [
    ('v6_doc_sample_pc', LITTLE_6),
    ('v6_multi_4_segments_pc', LITTLE_6),
    ('v6_multi_4_segments_mac', BIG_6),
    ('v6_send_flight_controls_with_trailer_pc', LITTLE_6),
    ('v6_send_trim_and_throttle_combined_pc', LITTLE_6),
    ('v6_send_flight_controls_no_trailer_pc', xp.DataLayout(6, 'little', False)),
    ('v6_send_flight_controls_no_trailer_mac', xp.DataLayout(6, 'big', False)),
    ('v6_usel_16_17_18_mac', BIG_6),
    ('v6_usel_16_17_18_no_trailer_mac', xp.DataLayout(6, 'big', False)),
    ('v7_41_two_segments_pc', xp.DataLayout(7, 'little', True)),
    ('v8plus_two_segments_v9_v10_at', LITTLE_8),
    ('v8plus_two_segments_v11_v12_star', LITTLE_8),
    ('v8plus_two_segments_documented_zero', LITTLE_8),
    ('v8plus_send_flight_controls_zero', LITTLE_8),
    ('v8plus_send_flight_controls_ascii0', LITTLE_8),
    ('USEL_3_17_20', LITTLE_8),
])
def test_layout_of_vector_is_recognised(name, layout):
    assert decoded(name).layout == layout


def test_every_data_vector_is_in_the_layout_test_or_invalid():
    named = {name for name, layout in test_layout_of_vector_is_recognised.pytestmark[0].args[1]}
    assert named == {n for n in VALID if hex_of(n)[:4] in (b'DATA', b'DSEL', b'USEL')}


@pytest.mark.parametrize('name', sorted(set(VALID) - {
    # Datagrams from peers with other padding than ours, or in the vendor's fixed-size form.
    'measured_pyxpudpserver_rref_subscribe', 'RPOS_request_padded10', 'BECN_1_2_fixed_500'}))
def test_vector_is_encoded_byte_for_byte(name):
    message = decoded(name)
    version = 10 if name in ('RPOS_request_v10_int',) else 12
    expected = hex_of(name)
    if name.startswith('RREF_reply') or name == 'RADR_reply_v12':
        # Ours have the fifth byte of real simulators; the vectors' fifth byte is not tested.
        expected = expected[:4] + xp.encode(message)[4:5] + expected[5:]
    assert xp.encode(message, version) == expected


NAMED_FIELDS = {
    'USEL_3_17_20': {'indices': (3, 17, 20)},
    'DCOC_3_17_20': {'indices': (3, 17, 20)},
    'UCOC_3_17_20': {'indices': (3, 17, 20)},
    'v6_usel_16_17_18_mac': {'indices': (16, 17, 18)},
    'v6_usel_16_17_18_no_trailer_mac': {'indices': (16, 17, 18)},
    'RREF_reply_two_documented_zero': {'values': ((7, 37.5), (8, 1234.5))},
    'RREF_reply_183_max': {'values': tuple((i, i / 2) for i in range(183))},
    'RPOS_request_padded10': {'rate': 60},
    'RPOS_stop': {'rate': 0},
    'RADR_request_10': {'points': 10},
    'RADR_reply_v12': {'points': ({
        'lon': 23.5, 'lat': 37.5, 'bases_m': 500.0, 'tops_m': 3000.0, 'clouds_ratio': 0.5,
        'precip_ratio': 0.25},)},
    'ISE4_data_output': {'index': 64, 'ip': '127.0.0.1', 'port': 49010, 'use': 1},
    'ISE6_data_output': {'index': 64, 'ip': '::1', 'port': 49010, 'use': 1},
    'ALRT': {'lines': ('bridge', 'lost link', '', '')},
    'FAIL_145': {'system': 145},
    'ACPR': {
        'aircraft': {
            'p': 0, 'path': 'Aircraft/Laminar Research/Cessna 172SP/Cessna_172SP.acf',
            'livery_index': 0},
        'start': {
            'type_start': 11, 'p_idx': 0, 'apt_id': 'LGAV', 'apt_rwy_idx': 1, 'apt_rwy_dir': 0,
            'lat': 0.0, 'lon': 0.0, 'ele_m': 0.0, 'psi_true': 0.0, 'speed_m_s': 0.0}},
    'LSND': {'index': 0, 'freq': 1.0, 'vol': 0.5, 'path': 'Resources/sounds/alert.wav'},
}
NOT_FIELDS = {'note', 'count', 'platform', 'trailer', 'header', 'zero', 'meaning', 'segments'}


@pytest.mark.parametrize('name', sorted(set(VALID) - {n for n in VALID if VECTORS[n][
    'hex'][:8] == 'DATA' or hex_of(n)[:4] == b'DATA'}))
def test_vector_has_the_listed_fields(name):
    expected = NAMED_FIELDS.get(name) or {
        k: v for k, v in VALID[name]['fields'].items() if k not in NOT_FIELDS}
    got = asdict(decoded(name))
    assert {k: got[k] for k in expected} == expected


# ------------------------------------------------------------ DATA: values, framing, recognition

def test_minus_999_is_none_both_ways_and_has_the_known_bytes():
    segment = xp.Segment(10, (0.25, -0.5) + (None,) * 6)
    pc = xp.encode(xp.Data((segment,), LITTLE_6))
    assert pc[18:22] == bytes.fromhex('00C079C4')
    assert pc == hex_of('v6_send_flight_controls_with_trailer_pc')
    assert xp.encode(xp.Data((segment,), BIG_6))[18:22] == bytes.fromhex('C479C000')
    assert xp.decode(pc, 'peer').segments == (segment,)


@pytest.mark.parametrize(('version', 'sender', 'length', 'start'), [
    (6, 'bridge', 43, b'DATA\x000'), (6, 'peer', 43, b'DATA\x000'), (7, 'bridge', 41, b'DATA\0'),
    (7, 'peer', 42, b'DATA\0'), (8, 'bridge', 41, b'DATA\0'), (12, 'peer', 41, b'DATA\0'),
])
def test_usual_layout_of_each_version(version, sender, length, start):
    layout = xp.default_layout(version, sender)
    packet = xp.encode(xp.Data((xp.Segment(3, (1.0,) * 8),), layout), version)
    assert len(packet) == length
    assert packet.startswith(start)


def test_layout_none_is_the_usual_one_of_the_version():
    data = xp.Data((xp.Segment(10, (0.25, -0.5) + (None,) * 6),))
    assert xp.encode(data, 6) == hex_of('v6_send_flight_controls_with_trailer_pc')
    assert len(xp.encode(data, 7)) == len(xp.encode(data, 12)) == 41


def test_mac_packet_without_trailer_reads_as_7_4_unless_the_version_is_known():
    # The one ambiguity: its last float ends in 00, and its '1' 00 00 00 is row 49.
    packet = hex_of('v6_send_flight_controls_no_trailer_mac')
    misread = xp.decode(packet, 'bridge')
    assert misread.layout == xp.DataLayout(7, 'little', True)
    assert misread.segments[0].index == 49
    right = xp.DataLayout(6, 'big', False)
    assert xp.decode(packet, 'bridge', 6).segments[0].index == 10
    assert xp.decode(packet, 'bridge', layout=right).segments[0].index == 10
    assert xp.decode(packet, 'bridge', previous=right).segments[0].index == 10


def test_row_0_keeps_the_byte_order_learnt_before():
    packet = b'DATA@' + bytes(4) + bytes([66, 246, 64, 0] + [0] * 28)
    assert xp.decode(packet, 'peer').layout == LITTLE_8
    learnt = xp.decode(packet, 'peer', previous=xp.DataLayout(8, 'big'))
    assert learnt.layout == xp.DataLayout(8, 'big')
    assert learnt.segments[0].values[0] == 123.125


@pytest.mark.parametrize(('packet', 'layout'), [
    (b'DATA\x0000', LITTLE_6), (b'DATA\x0011', BIG_6),
    (b'DATA\0\0', xp.DataLayout(7, 'little', True)), (b'DATA*', LITTLE_8),
])
def test_datagram_without_rows_is_read_in_its_framing(packet, layout):
    data = xp.decode(packet, 'peer')
    assert (data.segments, data.layout) == ((), layout)


@pytest.mark.parametrize('fifth', [0, ord('@'), ord('*'), ord('&'), ord('0'), ord('O'), 255])
def test_fifth_byte_is_shown_and_never_tested(fifth):
    packet = b'DATA' + bytes([fifth]) + struct.pack('<i8f', 17, *range(8))
    data = xp.decode(packet, 'peer')
    assert data.fifth_byte == fifth
    assert data.segments == (xp.Segment(17, tuple(range(8))),)
    assert xp.encode(data) == packet


def test_row_that_fits_no_byte_order_is_a_protocol_error_but_a_given_layout_shows_it():
    packet = b'DATA*' + struct.pack('<i8f', 0x01020304, *range(8))
    with pytest.raises(ProtocolError, match='row numbers'):
        xp.decode(packet, 'peer')
    assert xp.decode(packet, 'peer', layout=LITTLE_8).segments[0].index == 0x01020304


def test_version_excludes_the_framing_of_another():
    with pytest.raises(ProtocolError, match='X-Plane 12'):
        xp.decode(DOCUMENT_PACKET, 'peer', version=12)
    with pytest.raises(ProtocolError, match='X-Plane 6'):
        xp.decode(hex_of('v8plus_two_segments_v11_v12_star'), 'peer', version=6)


def test_gear_flag_of_7_4_is_an_int32_among_floats():
    # The public program's bytes: 41, no trailer, row 12, int32 1, seven floats -999.
    packet = b'DATA\0' + bytes.fromhex('0c000000' '01000000' + '00c079c4' * 7)
    segment = xp.Segment(12, (1,) + (None,) * 7, integers=(0,))
    assert xp.encode(xp.Data((segment,)), 7) == packet
    assert xp.decode(packet, 'bridge', 7).segments == (segment,)
    assert xp.to_segments(7, {'gear': 1.0}) == (segment,)
    # X-Plane 7.4 sends floats only.
    assert xp.decode(packet, 'peer', 7).segments[0].values[0] == pytest.approx(1.4e-45, abs=1e-45)


def test_int32_values_are_refused_outside_7_4_and_when_not_whole():
    with pytest.raises(ValueError, match='only X-Plane 7'):
        xp.encode(xp.Data((xp.Segment(12, (1,) + (None,) * 7, (0,)),)), 12)
    with pytest.raises(ValueError, match='not whole'):
        xp.encode(xp.Data((xp.Segment(12, (0.5,) + (None,) * 7, (0,)),)), 7)


def test_selection_is_never_padded_and_one_datagram_takes_many_rows():
    assert xp.encode(xp.Dsel((3,))) == b'DSEL\0\x03\0\0\0'
    assert len(xp.encode(xp.Dsel(tuple(range(139))))) == 5 + 4 * 139


@pytest.mark.parametrize(('layout', 'expected'), [
    (LITTLE_6, b'DSEL\x000' b'\x12\0\0\0' b'0'),
    (BIG_6, b'DSEL\x001' b'\0\0\0\x12' b'1'),
    (xp.DataLayout(6, 'little', False), b'DSEL\x000' b'\x12\0\0\0'),
])
def test_inferred_selection_of_version_6_can_be_laid_out(layout, expected):
    message = xp.Dsel((18,), layout)
    assert xp.encode(message) == expected
    assert xp.decode(expected, 'bridge') == message


# ------------------------------------------------------------ traps

def test_rpos_has_the_longitude_first_and_vehx_the_latitude():
    reply = xp.decode(hex_of('RPOS_reply_measured_4'), 'peer')
    assert struct.unpack_from('<dd', hex_of('RPOS_reply_measured_4'), 5) == (reply.lon, reply.lat)
    for name in ('VEHX', 'VEHS'):
        move = xp.decode(hex_of(name), 'bridge')
        assert struct.unpack_from('<dd', hex_of(name), 9) == (move.lat, move.lon)


def test_dref_is_509_bytes_of_path_nul_and_spaces():
    path = 'sim/cockpit/switches/anti_ice_surf_heat_left'
    packet = xp.encode(xp.Dref(1.0, path))
    assert len(packet) == 509
    assert packet[9:9 + len(path) + 1] == path.encode() + b'\0'
    assert set(packet[9 + len(path) + 1:]) == {ord(' ')}
    for wrong in (packet[:-1], packet + b' ', packet[:60]):
        with pytest.raises(ProtocolError, match='expected 509'):
            xp.decode(wrong, 'bridge')
        with pytest.raises(ProtocolError, match='expected 509'):
            xp.decode(wrong, 'bridge', 12)
    assert xp.decode(packet[:60], 'bridge', 11) == xp.Dref(1.0, path)


@pytest.mark.parametrize('pad', [b'\0', b' ', b'\0 '])
def test_rref_path_is_read_whatever_it_is_padded_with(pad):
    path = b'sim/aircraft/engine/acf_num_engines[3]'
    body = path + (pad * 400)[:400 - len(path)]
    request = xp.decode(b'RREF\0' + struct.pack('<ii', 20, 5) + body, 'bridge')
    assert request == xp.RrefRequest(20, 5, path.decode())


def test_rref_means_two_things_by_direction():
    packet = hex_of('RREF_subscribe')
    assert isinstance(xp.decode(packet, 'bridge'), xp.RrefRequest)
    reply = xp.decode(packet, 'peer')
    assert isinstance(reply, xp.RrefReply)
    assert len(reply.values) == 51


@pytest.mark.parametrize(('version', 'fifth'), [(10, b'O'), (11, b','), (12, b',')])
def test_rref_reply_has_the_fifth_byte_of_its_version_and_none_is_tested(version, fifth):
    packet = xp.encode(xp.RrefReply(((7, 37.5),)), version)
    assert packet == b'RREF' + fifth + bytes.fromhex('07000000' '00001642')
    for other in range(256):
        assert xp.decode(b'RREF' + bytes([other]) + packet[5:], 'peer').values == ((7, 37.5),)


def test_rpos_request_is_binary_up_to_10_and_a_string_after():
    assert xp.encode(xp.RposRequest(100), 11) == b'RPOS\x00100\0'
    assert xp.encode(xp.RposRequest(100), 9) == b'RPOS\0\x64\0\0\0'
    # Both are four bytes: the version tells, and without it what parses as a number is one.
    assert xp.decode(b'RPOS\x00100\0', 'bridge') == xp.RposRequest(100)
    # Clients send 9 and 10 the string, too; nobody means 3,158,065 Hz, nor 2 with three NULs.
    assert xp.decode(b'RPOS\x00100\0', 'bridge', 10) == xp.RposRequest(100)
    assert xp.decode(b'RPOS\x0060\0', 'bridge', 10) == xp.RposRequest(60)
    assert xp.decode(b'RPOS\x002\0\0\0', 'bridge', 10) == xp.RposRequest(50)
    assert xp.decode(b'RPOS\0\x64\0\0\0', 'bridge') == xp.RposRequest(100)
    with pytest.raises(ProtocolError):
        xp.decode(b'RPOS\0\x64\0\0\0', 'bridge', 12)


def test_radar_points_are_told_apart_by_length_and_by_version_where_it_is_common():
    point11 = struct.pack('<ffBf', 23.5, 37.5, 40, 3000.0)
    expected = xp.RadrPoint11(23.5, 37.5, 40, 3000.0)
    assert xp.decode(b'RADR5' + point11, 'peer').points == (expected,)
    common = b'RADR5' + point11 * 24
    assert len(xp.decode(common, 'peer').points) == 13
    assert xp.decode(common, 'peer', version=11).points == (expected,) * 24
    with pytest.raises(ProtocolError, match='24 n'):
        xp.decode(b'RADR5' + point11, 'peer', version=12)


def test_beacon_name_is_read_at_its_own_length_and_at_500():
    short, fixed = decoded('BECN_1_2_raknet'), decoded('BECN_1_2_fixed_500')
    assert short == fixed
    assert decoded('BECN_1_1').raknet_port is None
    longest = xp.Becn(1, 2, 1, 120000, 1, 49000, 'n' * 497, 49010)
    assert len(xp.encode(longest)) == 21 + 500
    assert xp.decode(xp.encode(longest), 'peer') == longest


@pytest.mark.parametrize('packet', [
    hex_of('BECN_1_1')[:-1], hex_of('BECN_1_1') + b'x', hex_of('BECN_1_2_raknet') + b'x',
    b'BECN\0\x02' + hex_of('BECN_1_1')[6:],
])
def test_beacon_with_no_end_with_a_rest_or_of_another_major_is_refused(packet):
    with pytest.raises(ProtocolError, match='BECN'):
        xp.decode(packet, 'peer')


@pytest.mark.parametrize(('version', 'length', 'offset'), [(9, 57, 9), (10, 61, 13)])
def test_veh1_is_packed_for_9_and_aligned_for_10_and_both_are_understood(version, length, offset):
    message = xp.Veh1(0, 37.9, 23.9, 600.0, 90.0, 1.5, -2.5, gear=1.0)
    packet = xp.encode(message, version)
    assert len(packet) == length
    assert struct.unpack_from('<ddd', packet, offset) == (37.9, 23.9, 600.0)
    assert packet[-8:] == bytes.fromhex('00c079c4' * 2)
    assert xp.decode(packet, 'bridge') == message


def test_messages_without_a_vector_have_the_documented_layout():
    pose = (37.926488, 23.93183, 609.6)
    assert xp.encode(xp.Objl(2, *pose, 45.0, 1.5, -2.5, 1, 3.0)) == (
        b'OBJL\0' + struct.pack('<i4xdddfffif4x', 2, *pose, 45.0, 1.5, -2.5, 1, 3.0))
    assert xp.encode(xp.Objn(2, 'a/b.obj')) == (
        b'OBJN\0' + struct.pack('<i500s', 2, b'a/b.obj'))
    assert xp.encode(xp.Soun(1.0, 0.5, 'a.wav')) == b'SOUN\0' + struct.pack(
        '<ff500s', 1.0, 0.5, b'a.wav')
    assert xp.encode(xp.Ssnd(4, 1.0, 0.5, 'a.wav')) == b'SSND\0' + struct.pack(
        '<iff500s', 4, 1.0, 0.5, b'a.wav')
    assert xp.encode(xp.Simo(1, 'Output/a.sit')) == b'SIMO\0' + struct.pack(
        '<i150s2x', 1, b'Output/a.sit')
    assert xp.encode(xp.Acfn(3, 'Aircraft/a.acf', 2)) == b'ACFN\0' + struct.pack(
        '<i150s2xi', 3, b'Aircraft/a.acf', 2)
    assert xp.encode(xp.Iset(60, '10.0.0.7', 49005), 9) == b'ISET\0' + struct.pack(
        '<i16s6s2xi', 60, b'10.0.0.7', b'49005', 1)
    assert xp.encode(xp.Reco(145)) == b'RECO\x00145\0'
    assert xp.encode(xp.Nfal('ATH')) == b'NFAL\0ATH\0'
    assert xp.encode(xp.Shut()) == b'SHUT\0'
    assert xp.encode(xp.Dcoc((3,))) == b'DCOC\0\x03\0\0\0'


@pytest.mark.parametrize(('message', 'length'), [
    (xp.RrefRequest(1, 0, 'a'), 413), (xp.Dref(0, 'a'), 509), (xp.Objl(0, 0, 0, 0, 0, 0, 0), 61),
    (xp.Objn(0, 'a'), 509), (xp.Soun(1, 1, 'a'), 513), (xp.Lsnd(0, 1, 1, 'a'), 517),
    (xp.Ssnd(0, 1, 1, 'a'), 517), (xp.Simo(0, 'a'), 161), (xp.Acfn(0, 'a'), 165),
    (xp.Prel(11), 69), (xp.Acpr(xp.Acfn(0, 'a'), xp.Prel(11)), 229),
    (xp.Ise4(64, '::', 1), 37), (xp.Ise6(64, '::', 1), 85), (xp.Iset(64, '::', 1), 37),
    (xp.Alrt(('', '', '', '')), 965), (xp.Vehx(0, 0, 0, 0, 0, 0, 0), 45),
])
def test_length_of_each_message_of_fixed_size(message, length):
    packet = xp.encode(message)
    assert len(packet) == length
    for wrong in (packet[:-1], packet + b'\0'):
        with pytest.raises(ProtocolError, match=message.tag):
            xp.decode(wrong, 'bridge')


# ------------------------------------------------------------ rejections

ROW = (0.0,) * 8
NAN, INF = math.nan, math.inf


@pytest.mark.parametrize('message', [
    xp.Data((xp.Segment(-1, ROW),)), xp.Data((xp.Segment(3, ROW[:7]),)),
    xp.Data((xp.Segment(3, (NAN,) + ROW[1:]),)), xp.Data((xp.Segment(3, (INF,) + ROW[1:]),)),
    xp.Data((xp.Segment(3, (1e39,) + ROW[1:]),)), xp.Data((), None, 256),
    xp.Dsel(()), xp.Usel((3, -1)),
    xp.RrefRequest(-1, 0, 'a'), xp.RrefRequest(1, 2**31, 'a'), xp.RrefRequest(1, 0, ''),
    xp.RrefRequest(1, 0, 'a' * 400), xp.RrefRequest(1, 0, 'sim/\u00e4'),
    xp.RrefRequest(1, 0, 'a b'), xp.RrefRequest(1, 0, 'a\0b'),
    xp.RrefReply(tuple((i, 0.0) for i in range(184))),
    xp.Dref(NAN, 'a'), xp.Dref(-INF, 'a'), xp.Dref(1e39, 'a'), xp.Dref(1.0, 'a' * 500),
    xp.Dref(1.0, 'a\n'), xp.Cmnd(''), xp.Cmnd('a b'), xp.Cmnd('\u00e9'),
    xp.RposRequest(-1), xp.RadrRequest(-1),
    xp.Vehx(20, 0, 0, 0, 0, 0, 0), xp.Vehx(0, 90.1, 0, 0, 0, 0, 0),
    xp.Vehx(0, 0, 180.1, 0, 0, 0, 0), xp.Vehx(0, 0, 0, NAN, 0, 0, 0),
    xp.Vehs(0, 0, 0, 0, INF, 0, 0), xp.Veh1(0, 0, 0, 0, 0, 0, 0, gear=2.0),
    xp.Prel(6, apt_id='TOOLONGX'), xp.Prel(6, apt_rwy_dir=2), xp.Acfn(0, 'a' * 150),
    xp.Simo(4, 'a'), xp.Ise4(64, '1' * 16, 1), xp.Ise4(64, '::', 65536), xp.Ise4(64, '::', 1, 2),
    xp.Alrt(('a', 'b')), xp.Alrt(('a' * 240, '', '', '')), xp.Fail(-1), xp.Nfal('TOOLONG'),
    xp.Lsnd(0, NAN, 1.0, 'a'), xp.Becn(2, 0, 1, 1, 1, 1, 'a'),
    xp.RadrReply((xp.RadrPoint11(0, 0, 101, 0),)),
    xp.RadrReply((xp.RadrPoint11(0, 0, 1, 0), xp.RadrPoint12(0, 0, 0, 0, 0, 0))),
], ids=str)
def test_what_must_not_be_sent_is_refused(message):
    with pytest.raises(ValueError, match='.'):
        xp.encode(message)


@pytest.mark.parametrize('message', [
    'DATA', xp.RrefRequest(1.0, 0, 'a'), xp.Dref('1', 'a'), xp.Dref(1.0, b'a'), xp.Fail('145'),
])
def test_wrong_type_is_a_type_error(message):
    with pytest.raises(TypeError):
        xp.encode(message)


@pytest.mark.parametrize('call', [
    lambda: xp.encode(xp.Quit(), 5), lambda: xp.decode(b'QUIT\0', 'peer', version=13),
    lambda: xp.decode(b'QUIT\0', 'nobody'), lambda: xp.DataLayout(8, 'little', True),
    lambda: xp.DataLayout(5), lambda: xp.DataLayout(8, 'middle'), lambda: xp.default_layout(13),
    lambda: xp.default_layout(12, trailer=True),
])
def test_wrong_version_layout_or_sender_is_a_value_error(call):
    with pytest.raises(ValueError, match='.'):
        call()


def test_longest_paths_fit():
    assert xp.decode(xp.encode(xp.RrefRequest(1, 0, 'a' * 399)), 'bridge').dataref == 'a' * 399
    assert xp.decode(xp.encode(xp.Dref(1.0, 'a' * 499)), 'bridge').dataref == 'a' * 499


def test_foreign_bytes_in_a_path_are_shown():
    packet = bytearray(xp.encode(xp.Cmnd('sim/abc')))
    packet[9] = 0xE4
    assert xp.decode(packet, 'bridge').command == r'sim/\xe4bc'


# ------------------------------------------------------------ properties and fuzz

f32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
f64 = st.floats(allow_nan=False, allow_infinity=False)
lat = st.floats(-90, 90)
lon = st.floats(-180, 180)
i32 = st.integers(-2**31, 2**31 - 1)
u31 = st.integers(0, 2**31 - 1)
plane = st.integers(0, 19)
word = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7e), min_size=1, max_size=60)
line = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7e), max_size=140)
path = line.filter(bool)
ratio = st.floats(0, 1, width=32)
gain = st.floats(0, 1e6, width=32)
port = st.integers(1, 65535)
layouts = st.sampled_from([
    xp.DataLayout(framing, order, trailer) for framing in (6, 7, 8) for order in ('little', 'big')
    for trailer in (False, True) if not (framing == 8 and trailer)])
values = st.tuples(*[f32.filter(lambda v: v != -999.0) | st.none()] * 8)
segments = st.lists(st.builds(xp.Segment, st.integers(0, 200), values), max_size=4).map(tuple)
indices = st.lists(st.integers(0, 200), min_size=1, max_size=9).map(tuple)
pose = (plane, lat, lon, f64, f32, f32, f32)
prel = st.builds(xp.Prel, u31, plane, word.map(lambda s: s[:7]) | st.just(''), u31,
                 st.integers(0, 1), lat, lon, f64, f64, f64)
acfn = st.builds(xp.Acfn, plane, path, u31)
lat32, lon32 = st.floats(-90, 90, width=32), st.floats(-180, 180, width=32)
SENT_BY_BRIDGE = st.one_of(
    st.builds(xp.RrefRequest, u31, i32, word), st.builds(xp.Dref, f32, word),
    st.builds(xp.Cmnd, word), st.builds(xp.RposRequest, u31), st.builds(xp.RadrRequest, u31),
    st.builds(xp.Vehx, *pose), st.builds(xp.Vehs, *pose),
    st.builds(xp.Veh1, *pose, *[ratio | st.none()] * 3), prel, acfn,
    st.builds(xp.Acpr, acfn, prel), st.builds(xp.Objn, u31, path),
    st.builds(xp.Objl, u31, lat, lon, f64, f32, f32, f32, st.integers(0, 1), gain),
    st.builds(xp.Simo, st.integers(0, 3), path),
    *[st.builds(t, u31, word.map(lambda s: s[:15]), port, st.integers(0, 1))
      for t in (xp.Ise4, xp.Ise6, xp.Iset)],
    st.builds(xp.Alrt, st.tuples(line, line, line, line)),
    st.builds(xp.Fail, u31), st.builds(xp.Reco, u31),
    *[st.builds(t, word.map(lambda s: s[:5])) for t in (xp.Nfal, xp.Nrec)],
    st.builds(xp.Quit), st.builds(xp.Shut), st.builds(xp.Rese),
    st.builds(xp.Soun, gain, gain, path), st.builds(xp.Lsnd, u31, gain, gain, path),
    st.builds(xp.Ssnd, u31, gain, gain, path))
SENT_BY_PEER = st.one_of(
    st.builds(xp.RrefReply, st.lists(st.tuples(i32, f32), max_size=20).map(tuple)),
    st.builds(xp.RposReply, lon, lat, f64, *[f32] * 10),
    st.builds(xp.Becn, st.just(1), st.integers(0, 255), i32, i32, st.integers(0, 2**32 - 1), port,
              line, st.none() | st.integers(0, 65535)))
VERSION = st.sampled_from(xp.VERSIONS)


@given(SENT_BY_BRIDGE, VERSION)
def test_decode_undoes_encode_towards_xplane(message, version):
    assert xp.decode(xp.encode(message, version), 'bridge', version) == message


@given(SENT_BY_PEER, VERSION)
def test_decode_undoes_encode_from_xplane(message, version):
    assert xp.decode(xp.encode(message, version), 'peer', version) == message


@given(st.lists(st.builds(xp.RadrPoint11, lon32, lat32, st.integers(0, 100), f32), max_size=30),
       st.lists(st.builds(xp.RadrPoint12, lon32, lat32, f32, f32, ratio, ratio), max_size=30))
def test_decode_undoes_encode_of_radar(points11, points12):
    for points, version in ((points11, 11), (points12, 12)):
        message = xp.RadrReply(tuple(points))
        assert xp.decode(xp.encode(message), 'peer', version) == message


@given(segments, layouts)
def test_decode_undoes_encode_of_data_in_every_layout(rows, layout):
    message = xp.Data(rows, layout)
    assert xp.decode(xp.encode(message), 'peer', layout=layout) == message


@given(segments.filter(lambda rows: any(s.index for s in rows)), st.sampled_from(
    [LITTLE_6, BIG_6, LITTLE_8, xp.DataLayout(8, 'big')]))
def test_layout_of_data_is_recognised(rows, layout):
    # Row 0 alone fits both byte orders; the platform byte settles it in 6 anyway.
    assert xp.decode(xp.encode(xp.Data(rows, layout)), 'peer') == xp.Data(rows, layout)


@given(segments, st.sampled_from(['little', 'big']), VERSION)
def test_with_a_version_and_the_last_layout_nothing_is_ambiguous(rows, order, version):
    layout = xp.default_layout(version, 'peer', byte_order=order)
    message = xp.Data(rows, layout)
    assert xp.decode(xp.encode(message), 'peer', version, previous=layout) == message


@given(indices, layouts, st.sampled_from([xp.Dsel, xp.Usel, xp.Dcoc, xp.Ucoc]))
def test_decode_undoes_encode_of_selections_in_every_layout(rows, layout, kind):
    message = kind(rows, layout)
    assert xp.decode(xp.encode(message), 'bridge', layout=layout) == message


LABELS = sorted({hex_of(n)[:4] for n in DATAGRAMS} | {
    b'DSEL', b'VEH1', b'ACFN', b'OBJN', b'OBJL', b'SIMO', b'ISET', b'RECO', b'NFAL', b'SHUT',
    b'SOUN', b'SSND'})
SENDERS = st.sampled_from(['peer', 'bridge'])


@given(st.one_of(
    st.binary(max_size=120),
    st.tuples(st.sampled_from(LABELS), st.binary(max_size=160)).map(b''.join)),
    SENDERS, st.none() | VERSION, st.none() | layouts)
def test_any_bytes_are_a_message_or_a_protocol_error(data, sender, version, layout):
    try:
        message = xp.decode(data, sender, version, layout=layout)
    except ProtocolError:
        return
    assert message.tag.encode() == data[:4]


@given(st.sampled_from(sorted(DATAGRAMS)), st.integers(0, 2000), st.integers(0, 255), SENDERS,
       st.none() | VERSION, st.booleans())
def test_damaged_vectors_are_a_message_or_a_protocol_error(name, at, byte, sender, version, cut):
    data = bytearray(hex_of(name))
    at %= len(data)
    data[at] = byte
    try:
        message = xp.decode(bytes(data[:at] if cut else data), sender, version)
    except ProtocolError:
        return
    assert len(message.tag) == 4


@pytest.mark.parametrize('kind', [bytes, bytearray, memoryview])
@pytest.mark.parametrize('name', sorted(VALID))
def test_any_buffer_will_do(name, kind):
    got = xp.decode(kind(hex_of(name)), sender_of(VALID[name]), version_of(name))
    assert got == decoded(name)
