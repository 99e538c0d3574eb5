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

"""KerbalSimpit framing: recorded streams, any split, garbage anywhere, arbitrary bytes."""

import dataclasses
import itertools

from hypothesis import given
from hypothesis import strategies as st
import pytest
from vector_files import vectors

from xplane_bridge.bridges.simpit.protocol import (
    Aa50Decoder,
    CobsDecoder,
    encode_frame,
    Framing,
    make_decoder,
    Packet,
)

VECTORS = {
    vector['name']: vector
    for vector in vectors('simpit')}

GOOD_4 = (4, '00509a4400808642')
GOOD_8 = (8, '00509a4400808642')

# Where ours differs from the genuine parser that the vector was recorded from, and why.
BETTER = {
    # A size of 0 hangs or crashes the genuine parsers: here it is noise, and parsing resumes.
    'a_echo_zero_then_300_bytes': [*[(1, '112233')] * 43, (1, '44')],
    'b2_echo_zero_then_good': [(1, '11'), (1, '2233')],
    'dev_b1_payload_0_then_good': [GOOD_8],
    'dev_b2_payload_0_then_good': [GOOD_8],
    'dev_c_payload_0': [(2, '11')],
    # An AA in place of the second header byte is tested again as a first one.
    'a_garbage_aa_then_echo': [(1, '5a'), (1, '5b')],
    'b2_garbage_aa_then_echo': [(1, '5a'), (1, '5b')],
    'dev_a_garbage_aa_then_two_good': [GOOD_4, GOOD_4],
    # So is the byte in place of an impossible size: a lone AA 50 loses nothing.
    'b1_truncated_after_header_then_good': [(1, '5a'), (1, '5b')],
    'b2_truncated_after_header_then_good': [(1, '5a'), (1, '5b')],
    'dev_a_truncated_after_header_then_two': [GOOD_4, GOOD_4],
    'dev_b1_truncated_after_header_then_two': [GOOD_8, GOOD_8],
    'dev_b2_truncated_after_header_then_two': [GOOD_8, GOOD_8],
    # The 2017 library delivers 33 bytes beyond its buffer and crashes at 255.
    'dev_a_payload_33_then_good': [GOOD_4],
    'dev_a_payload_33_containing_header_then_good': [(2, '5a'), GOOD_4],
    'dev_a_payload_255_then_good': [GOOD_4],
    # No reader thread dies here of channel 255.
    'b2_channel_255': [(255, '01'), (1, '5a')],
    'c_channel_255': [(255, '01'), (1, '5a')],
    # The genuine library hands its stale buffer to the sketch for every lone delimiter.
    'dev_c_lone_zeros_then_good': [(2, '11')],
}

# The plugins accept payloads above the document's 32 bytes, and one library sent one.
OVERSIZE = {
    'a_echo_33', 'a_echo_64', 'b1_echo_33', 'b1_echo_254', 'b2_echo_64',
    'devout_b1_send_200_0102030405060708090a0b0c0d0e0f1'}

# During init() the recordings say what the library did, not what it parsed.
DURING_INIT = {
    'init_a_clean': [(0, '0137')],
    'init_a_telemetry_before_synack': [GOOD_4, (0, '0137')],
    'init_a_synack_ksp2_byte': [(0, '01c8')],
    'init_b1_garbage_before_synack': [(0, '0137')],
    'init_b1_synack_ksp2_byte': [(0, '01c8')],
    'init_b1_answer_after_1500ms': [(0, '0137')],
    'init_b2_clean': [(0, '0137')],
    'init_b2_garbage_before_synack': [(0, '0137')],
    'init_b2_synack_ksp2_byte': [(0, '01c8')],
    'init_c_telemetry_before_synack': [GOOD_8, (0, '0137')],
    'init_c_ksp2': [(0, '01c8')],
}

framings = st.sampled_from(['aa50', 'cobs'])
packets = st.builds(Packet, st.integers(0, 254), st.binary(min_size=1, max_size=32))
# Only the first byte of these frames can begin a header.
plain_packets = st.builds(
    Packet, st.integers(0, 100),
    st.binary(min_size=1, max_size=32).map(lambda data: data.replace(b'\xaa', b'\0')))
# Built from significant bytes, so that partial headers and tiny frames are common.
telling = st.lists(
    st.sampled_from([0x00, 0x01, 0x02, 0x03, 0x20, 0x21, 0x50, 0x51, 0xaa, 0xff]),
    max_size=60).map(bytes)
any_bytes = st.binary(max_size=120) | telling


def framing_of(vector: dict) -> Framing:
    return 'cobs' if vector['era'] == 'c' else 'aa50'


def as_pairs(found: list[Packet]) -> list[tuple[int, str]]:
    return [(packet.channel, packet.payload.hex()) for packet in found]


def recorded(vector: dict) -> list[tuple[int, str]]:
    """Return what the genuine parser delivered, or what the genuine sender sent."""
    fields = vector['fields']
    if 'delivered' in fields:
        frames = fields['delivered']
    else:
        frames = fields['frames'] if 'frames' in fields else [fields['frame']]
    return [(frame['chan'], frame['payload']) for frame in frames]


def encode_all(framing: Framing, sent: list[Packet]) -> bytes:
    return b''.join(encode_frame(framing, packet) for packet in sent)


def feed_in_pieces(decoder, stream: bytes, cuts: list[int]) -> list[Packet]:
    found = []
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    for begin, end in itertools.pairwise(edges):
        found += decoder.feed(stream[begin:end])
    return found


@pytest.mark.parametrize('name', VECTORS)
def test_recorded_stream_gives_the_packets_that_it_holds(name):
    vector = VECTORS[name]
    if name in DURING_INIT:
        expected = DURING_INIT[name]
    elif name in OVERSIZE:
        expected = []
    else:
        expected = BETTER.get(name) or recorded(vector)
        assert (name in BETTER) == (expected != recorded(vector))
    stream = bytes.fromhex(vector['hex'])

    decoder = make_decoder(framing_of(vector))
    assert as_pairs(decoder.feed(stream)) == expected
    assert decoder.counters.oversize >= (name in OVERSIZE)

    one_by_one = make_decoder(framing_of(vector))
    assert as_pairs([p for byte in stream for p in one_by_one.feed(bytes((byte,)))]) == expected
    assert one_by_one.counters == decoder.counters


@pytest.mark.parametrize('name', sorted(OVERSIZE))
def test_plugin_end_can_take_oversize_payloads_as_the_real_plugins_do(name):
    decoder = make_decoder('aa50', max_payload=255)
    assert as_pairs(decoder.feed(bytes.fromhex(VECTORS[name]['hex']))) == recorded(VECTORS[name])


@pytest.mark.parametrize('name', [
    name for name, vector in VECTORS.items()
    if ('frame' in vector['fields'] or 'frames' in vector['fields']) and name not in OVERSIZE])
def test_encoder_makes_the_recorded_bytes(name):
    vector = VECTORS[name]
    stream = bytes.fromhex(vector['hex'])
    made = encode_all(framing_of(vector), [
        Packet(channel, bytes.fromhex(payload)) for channel, payload in recorded(vector)])
    # Plugins 1.2.1 to 1.4 pad every write to 32 bytes.
    padding = 32 - len(made) if 'plugin v1.4.0' in str(vector['fields']) and (
        vector['direction'] == 'plugin->device') and 'fed_to' not in vector['fields'] else 0
    assert stream == made + bytes(max(0, padding))


@pytest.mark.parametrize('name', [
    name for name, vector in VECTORS.items() if vector['fields'].get('replies')])
def test_recorded_replies_are_decoded(name):
    fields = VECTORS[name]['fields']
    found = as_pairs(make_decoder(framing_of(VECTORS[name])).feed(
        bytes.fromhex(fields['reply_hex'])))
    expected = [(reply['chan'], reply['payload']) for reply in fields['replies']]
    if 'telemetry_packets_in_window' in fields:
        expected = expected[:len(found)]      # these reply_hex are truncated
        assert len(found) >= 2
    assert found == expected


@pytest.mark.parametrize(('stream', 'kind', 'noise'), [
    ('aa51010155', 'bad_version', 5),
    ('aa5f', 'bad_version', 2),
    ('aa500001', 'bad_size', 4),
    ('aa502101', 'oversize', 4),
    ('aaaaaa00', 'noise_bytes', 4),
])
def test_aa50_noise_is_counted_by_kind(stream, kind, noise):
    decoder = Aa50Decoder()
    assert decoder.feed(bytes.fromhex(stream)) == []
    assert not decoder.waiting
    assert getattr(decoder.counters, kind) == (1 if kind != 'noise_bytes' else noise)
    assert decoder.counters.noise_bytes == noise


@pytest.mark.parametrize(('stream', 'kind', 'noise'), [
    ('05010102030000', 'bad_checksum', 7),      # checksum 03 of 01 01 02 03 should be 01
    ('0901020300', 'bad_cobs', 5),
    ('03010100', 'bad_size', 4),
    ('01' * 36 + '00', 'oversize', 37),
    ('000000', 'noise_bytes', 3),
])
def test_cobs_noise_is_counted_by_kind(stream, kind, noise):
    decoder = CobsDecoder()
    assert decoder.feed(bytes.fromhex(stream)) == []
    assert not decoder.waiting
    assert getattr(decoder.counters, kind) == (1 if kind != 'noise_bytes' else noise)
    assert decoder.counters.noise_bytes == noise


def test_stalled_aa50_frame_gives_back_the_whole_frames_that_it_swallowed():
    decoder = Aa50Decoder()
    stream = bytes.fromhex('aa502001 0102 aa5001015a aa5001015b aa')
    assert decoder.feed(stream) == []
    assert decoder.waiting
    assert as_pairs(decoder.expire()) == [(1, '5a'), (1, '5b')]
    assert not decoder.waiting
    assert (decoder.counters.stalled, decoder.counters.noise_bytes) == (1, 7)
    assert as_pairs(decoder.feed(bytes.fromhex('aa5001015c'))) == [(1, '5c')]


def test_stalled_cobs_garbage_does_not_spoil_the_frame_after_the_silence():
    decoder = CobsDecoder()
    assert decoder.feed(bytes.fromhex('ff1337a5')) == []
    assert decoder.expire() == []
    assert as_pairs(decoder.feed(bytes.fromhex('04015a5b00'))) == [(1, '5a')]
    assert (decoder.counters.stalled, decoder.counters.noise_bytes) == (1, 4)


def test_endless_cobs_garbage_is_dropped_until_a_delimiter_or_silence():
    decoder = CobsDecoder()
    for _ in range(100):
        assert decoder.feed(b'\x55' * 100) == []
    assert decoder.waiting
    assert as_pairs(decoder.feed(bytes.fromhex('0004015a5b00'))) == [(1, '5a')]
    assert (decoder.counters.oversize, decoder.counters.noise_bytes) == (1, 10_001)

    decoder.feed(b'\x55' * 100)
    decoder.expire()
    assert not decoder.waiting
    assert as_pairs(decoder.feed(bytes.fromhex('04015a5b00'))) == [(1, '5a')]


def test_expiring_an_idle_decoder_does_nothing():
    for framing in ('aa50', 'cobs'):
        decoder = make_decoder(framing)
        assert decoder.expire() == []
        assert decoder.counters == make_decoder(framing).counters


def test_cobs_plugin_end_takes_up_to_250_bytes():
    # Channel 1, 250 bytes of 55, checksum 01 (an even number of 55 cancel out).
    frame = bytes((253, 1)) + b'\x55' * 250 + b'\x01\x00'
    assert CobsDecoder(250).feed(frame) == [Packet(1, b'\x55' * 250)]
    assert CobsDecoder().feed(frame) == []


@pytest.mark.parametrize('packet', [
    Packet(255, b'\1'), Packet(-1, b'\1'), Packet(1, b''), Packet(1, bytes(33))])
@pytest.mark.parametrize('framing', ['aa50', 'cobs'])
def test_what_wedges_or_ends_a_real_reader_is_not_encoded(framing, packet):
    with pytest.raises(ValueError, match='channel'):
        encode_frame(framing, packet)


@pytest.mark.parametrize(('framing', 'limit'), [
    ('aa50', 0), ('aa50', 256), ('cobs', 0), ('cobs', 251)])
def test_impossible_payload_limit_is_refused(framing, limit):
    with pytest.raises(ValueError, match='max_payload'):
        make_decoder(framing, limit)


@given(framings, st.lists(packets, max_size=8), st.lists(st.integers(0, 400), max_size=8))
def test_what_is_encoded_is_decoded_in_any_split(framing, sent, cuts):
    decoder = make_decoder(framing)
    assert feed_in_pieces(decoder, encode_all(framing, sent), cuts) == sent
    assert (decoder.counters.packets, decoder.counters.noise_bytes) == (len(sent), 0)
    assert not decoder.waiting


@given(
    framings, st.lists(packets.map(lambda p: p.payload) | any_bytes, max_size=4),
    st.lists(packets, max_size=3), st.lists(st.integers(0, 400), max_size=12))
def test_any_split_of_any_bytes_gives_the_same_packets_and_counts(framing, noise, sent, cuts):
    stream = b''.join(noise) + encode_all(framing, sent) + b''.join(reversed(noise))
    whole, pieces = make_decoder(framing), make_decoder(framing)
    assert feed_in_pieces(pieces, stream, cuts) == whole.feed(stream)
    assert pieces.waiting == whole.waiting
    assert pieces.expire() == whole.expire()
    assert pieces.counters == whole.counters


@given(framings, any_bytes, st.integers(1, 250))
def test_every_byte_becomes_part_of_a_packet_or_noise(framing, stream, max_payload):
    decoder = make_decoder(framing, max_payload)
    found = decoder.feed(stream) + decoder.expire()
    # Either framing adds four bytes to the payload.
    framed = sum(len(packet.payload) + 4 for packet in found)
    assert framed + decoder.counters.noise_bytes == len(stream)
    assert decoder.counters.packets == len(found)
    assert all(1 <= len(packet.payload) <= max_payload for packet in found)
    assert not decoder.waiting


@given(any_bytes.filter(lambda data: b'\xaa\x50' not in data), packets)
def test_aa50_garbage_without_a_header_loses_no_packet(noise, packet):
    decoder = Aa50Decoder()
    stream = noise + encode_frame('aa50', packet)
    assert decoder.feed(stream) == [packet]
    assert decoder.counters.noise_bytes == len(noise)


@given(plain_packets, st.integers(1, 35), st.lists(plain_packets, min_size=1, max_size=12))
def test_truncated_aa50_frame_eats_what_its_size_says_and_no_more(cut_off, keep, sent):
    frame = encode_frame('aa50', cut_off)
    keep = min(keep, len(frame) - 1)
    stream = encode_all('aa50', sent)
    # Truncated before its size byte, it swallows nothing: the AA behind it is tested again.
    missing = len(frame) - keep if keep > 2 else 0

    decoder = Aa50Decoder()
    found = decoder.feed(frame[:keep] + stream)
    starts = [sum(len(p.payload) + 4 for p in sent[:index]) for index in range(len(sent))]
    unharmed = [p for p, start in zip(sent, starts, strict=True) if start >= missing]
    if missing > len(stream):
        assert found == []
        assert decoder.expire()[-len(sent):] == sent
    else:
        assert found[bool(missing):] == unharmed


@given(packets, st.integers(1, 35), st.lists(packets, min_size=1, max_size=5))
def test_silence_after_a_truncated_aa50_frame_saves_all_that_follow(cut_off, keep, sent):
    frame = encode_frame('aa50', cut_off)
    decoder = Aa50Decoder()
    decoder.feed(frame[:min(keep, len(frame) - 1)])
    decoder.expire()
    assert decoder.feed(encode_all('aa50', sent)) == sent


@given(any_bytes, st.lists(packets, min_size=1, max_size=4))
def test_cobs_garbage_loses_at_most_the_packet_that_it_runs_into(noise, sent):
    found = CobsDecoder().feed(noise + encode_all('cobs', sent))
    assert found[len(found) - len(sent) + 1:] == sent[1:]

    found = CobsDecoder().feed(noise + b'\0' + encode_all('cobs', sent))
    assert found[-len(sent):] == sent


@given(packets, st.integers(0, 300), st.integers(1, 255))
def test_damaged_cobs_frame_never_passes_for_the_packet_that_was_sent(packet, place, flip):
    frame = bytearray(encode_frame('cobs', packet))
    frame[place % len(frame)] ^= flip
    assert packet not in CobsDecoder().feed(bytes(frame) + b'\0')


@given(st.lists(st.integers(1, 255), min_size=1, max_size=32), st.data())
def test_one_changed_cobs_payload_byte_fails_the_checksum(payload, data):
    place = data.draw(st.integers(0, len(payload) - 1))
    other = data.draw(st.integers(1, 255).filter(lambda value: value != payload[place]))
    frame = bytearray(encode_frame('cobs', Packet(1, bytes(payload))))
    frame[2 + place] = other
    decoder = CobsDecoder()
    assert decoder.feed(frame) == []
    assert decoder.counters.bad_checksum == 1


def test_bytearray_and_memoryview_are_fed_like_bytes():
    frame = bytes.fromhex('aa5001015a')
    for kind in (bytearray, memoryview):
        assert Aa50Decoder().feed(kind(frame)) == [Packet(1, b'\x5a')]
        assert CobsDecoder().feed(kind(bytes.fromhex('04015a5b00'))) == [Packet(1, b'\x5a')]


def test_packets_are_plain_values():
    packet = Packet(8, b'\1')
    assert dataclasses.asdict(packet) == {'channel': 8, 'payload': b'\1'}
    assert packet == Packet(8, b'\1')
