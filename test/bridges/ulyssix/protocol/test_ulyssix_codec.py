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

"""
The Ulyssix packet against recorded vectors, the document's examples and its contradictions.

`datagram` builds packets with struct alone, so that decoder and encoder cannot share a mistake.
"""

import struct
import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from vector_files import vectors

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.ulyssix import protocol as ulyssix
from xplane_bridge.bridges.ulyssix.protocol import (
    layouts,
    PacketFlag,
    PacketLayouts,
    PacketTime,
    WordOrder,
)
from xplane_bridge.bridges.ulyssix.protocol.dialect import to_readable

VECTORS = {
    vector['name']: vector
    for vector in vectors('ulyssix')
}
FIRST_WORD_HIGH = WordOrder.FIRST_WORD_HIGH
TRUE_U64 = WordOrder.TRUE_U64

START = bytes.fromhex('0001020304050607')
END = bytes.fromhex('0706050403020100')
BCD = bytes.fromhex('3412450012907856')  # day 45, 12:34:56.789012, date sent first
TIME = PacketTime(45, 12, 34, 56, 789012, FIRST_WORD_HIGH)

# Delivered although the vectors call it invalid: the payload size has proved the counts.
DELIVERED_WITH_A_FLAG = {'wrong_samples_in_payload': PacketFlag.SAMPLE_COUNT_MISMATCH}
FLAGS = {
    'reserved_bits_set': (PacketFlag.RESERVED_BITS,),
    'trailing_bytes': (PacketFlag.TRAILING_BYTES,),
    # Without samples, 4 and 8 bytes per value look the same; no integer vector covers that.
}


def datagram(
    data,
    samples,
    *,
    control=0,
    names=None,
    counter=1,
    total=0,
    bcd=BCD,
    start=START,
    end=END,
    size=None,
    packet_type=0,
):
    """Return a packet around the bytes of its parameters."""
    header = struct.pack('<IB', counter, control)
    if names is not None:
        header += struct.pack('<H', len(names)) + names
    if size is None:
        size = 28 + len(data)
    payload = struct.pack('<IIIQ', size, packet_type, samples, total) + bcd
    return header + start + payload + data + end


def floats(*values):
    return struct.pack(f'<I{len(values)}f', len(values), *values)


def pairs(*samples, layout='<fd'):
    return struct.pack('<I', len(samples)) + b''.join(struct.pack(layout, *s) for s in samples)


def per_parameter(packet):
    """Return samples as in the vectors: [value, time] or [value], one list per parameter."""
    columns = [packet.values.tolist()]
    if packet.times is not None:
        columns.append(packet.times.tolist())
    samples = [list(sample) for sample in zip(*columns, strict=True)]
    ends = np.cumsum(packet.counts).tolist()
    return [samples[end - count:end] for end, count in zip(ends, packet.counts, strict=True)]


def micros_of(bcd, order, day_base=1):
    """Return the time in this word order as microseconds since 1 January; None if invalid."""
    for time in ulyssix.decode_bcd(bcd, order):
        return ulyssix.micros_since_jan1(
            time.doy, time.hour, time.minute, time.second, time.microsecond, day_base)
    return None


def assert_same(packet, expected):
    for name in (
        'counter',
        'control',
        'names',
        'samples_in_payload',
        'total_samples',
        'bcd_hex_on_wire',
        'integer_width',
        'flags',
    ):
        assert getattr(packet, name) == getattr(expected, name), name
    for name in ('counts', 'values', 'times'):
        got, want = getattr(packet, name), getattr(expected, name)
        assert (got is None) == (want is None)
        if want is not None:
            assert got.dtype == want.dtype
            assert got.tobytes() == want.tobytes()


# Vectors


@pytest.mark.parametrize('name', VECTORS)
def test_vector(name):
    vector = VECTORS[name]
    data, fields = bytes.fromhex(vector['hex']), vector['fields']
    assert len(data) == vector['length']
    if name in DELIVERED_WITH_A_FLAG:
        packet = ulyssix.decode(data, 'peer')
        assert packet.flags == (DELIVERED_WITH_A_FLAG[name],)
    elif not vector['valid']:
        with pytest.raises(ProtocolError):
            ulyssix.decode(data, 'peer')
        return
    else:
        packet = ulyssix.decode(data, 'peer')
        assert packet.flags == FLAGS.get(name, ())
    if fields['packet_type'] != 0:
        assert isinstance(packet, ulyssix.SkippedPacket)
        assert (packet.counter, packet.control) == (fields['counter'], fields['control'])
        assert packet.packet_type == fields['packet_type']
        assert len(packet.payload) + 8 == fields['payload_size']
        return
    for field in (
        'counter',
        'control',
        'samples_in_payload',
        'total_samples',
        'integer_width',
        'bcd_hex_on_wire',
    ):
        assert getattr(packet, field) == fields[field], field
    assert packet.names == (tuple(fields['names']) if fields['names'] else None)
    expected = [
        [[float(value) if isinstance(value, str) else value for value in sample] for sample in one]
        for one in fields['params']
    ]
    np.testing.assert_equal(per_parameter(packet), expected)
    assert packet.values.dtype == (np.int64 if fields['integer'] else np.float32)
    if fields['time_tagged']:
        assert packet.times.dtype == (np.uint64 if fields['integer'] else np.float64)
    else:
        assert packet.times is None


@pytest.mark.parametrize('name', [n for n, v in VECTORS.items() if 'bcd_order' in v['fields']])
def test_time_of_vector(name):
    vector = VECTORS[name]
    fields = vector['fields']
    bcd, order = bytes.fromhex(fields['bcd_hex_on_wire']), WordOrder(fields['bcd_order'])
    expected = PacketTime(**fields['time'], word_order=order)
    micros = fields['micros_since_jan1_day1_is_zero']
    readings = ulyssix.decode_bcd(bcd)
    candidates = vector.get('bcd_candidates', {order.value: list(fields['time'].values())})
    assert readings == tuple(
        PacketTime(*values, word_order=WordOrder(key)) for key, values in candidates.items()
    )
    assert ulyssix.decode_bcd(bcd, order) == (expected,)
    assert ulyssix.micros_since_jan1(*fields['time'].values()) == micros
    assert micros_of(bcd, order) == micros
    assert ulyssix.encode_bcd(expected) == bcd


@pytest.mark.parametrize(
    'name', [n for n, v in VECTORS.items() if v['valid'] and n != 'trailing_bytes']
)
def test_vector_is_encoded_byte_for_byte(name):
    data = bytes.fromhex(VECTORS[name]['hex'])
    assert ulyssix.encode(ulyssix.decode(data, 'peer')) == data


@pytest.mark.parametrize('name', ['example_1', 'names_time', 'integer8_no_time'])
@pytest.mark.parametrize('kind', [bytearray, memoryview])
def test_any_kind_of_buffer_is_decoded_and_may_be_used_again(name, kind):
    data = bytes.fromhex(VECTORS[name]['hex'])
    buffer = bytearray(data)
    packet = ulyssix.decode(kind(buffer), 'peer')
    buffer[:] = bytes(len(buffer))
    assert_same(packet, ulyssix.decode(data, 'peer'))


# The document's examples, laid out at the offsets of its tables


def at_offsets(length, *parts):
    """Return length bytes with each part at its offset; the parts must cover every byte once."""
    data, covered = bytearray(length), bytearray(length)
    for offset, part in parts:
        data[offset:offset + len(part)] = part
        for index in range(offset, offset + len(part)):
            covered[index] += 1
    assert covered == b'\1' * length
    return bytes(data)


def header_at_offsets(control, size, samples):
    return [
        (0x00, struct.pack('<I', 9)),
        (0x04, bytes((control,))),
        (0x05, START),
        (0x0D, struct.pack('<I', size)),
        (0x11, struct.pack('<I', 0)),
        (0x15, struct.pack('<I', samples)),
        (0x19, struct.pack('<Q', 100)),
        (0x21, BCD),
    ]


def u32(value):
    return struct.pack('<I', value)


def f32(value):
    return struct.pack('<f', value)


def f64(value):
    return struct.pack('<d', value)


def test_example_1_at_the_offsets_printed():
    data = at_offsets(
        129,
        *header_at_offsets(control=1, size=108, samples=6),
        (0x29, u32(4)),
        (0x2D, f32(1.0)),
        (0x31, f64(10.0)),
        (0x39, f32(2.0)),
        (0x3D, f64(20.0)),
        (0x45, f32(3.0)),
        (0x49, f64(30.0)),
        (0x51, f32(4.0)),
        (0x55, f64(40.0)),
        (0x5D, u32(2)),
        (0x61, f32(5.0)),
        (0x65, f64(50.0)),
        (0x6D, f32(6.0)),
        (0x71, f64(60.0)),
        (0x79, END),
    )
    packet = ulyssix.decode(data, 'peer')
    assert (packet.counter, packet.total_samples, packet.flags) == (9, 100, ())
    assert packet.counts.tolist() == [4, 2]
    assert packet.values.tolist() == [1, 2, 3, 4, 5, 6]
    assert packet.times.tolist() == [10, 20, 30, 40, 50, 60]
    assert ulyssix.encode(packet) == data


def test_example_2_at_the_offsets_printed():
    data = at_offsets(
        77,
        *header_at_offsets(control=0, size=56, samples=4),
        (0x29, u32(2)),
        (0x2D, f32(1.0)),
        (0x31, f32(2.0)),
        (0x35, u32(1)),
        (0x39, f32(3.0)),
        (0x3D, u32(1)),
        (0x41, f32(4.0)),
        (0x45, END),
    )
    packet = ulyssix.decode(data, 'peer')
    assert packet.counts.tolist() == [2, 1, 1]
    assert packet.values.tolist() == [1, 2, 3, 4]
    assert packet.times is None
    assert ulyssix.encode(packet) == data


def test_example_3_at_the_offsets_corrected():
    data = at_offsets(
        133,
        *header_at_offsets(control=1, size=112, samples=6),
        (0x29, u32(0)),
        (0x2D, u32(4)),
        (0x31, f32(1.0)),
        (0x35, f64(10.0)),
        (0x3D, f32(2.0)),
        (0x41, f64(20.0)),
        (0x49, f32(3.0)),
        (0x4D, f64(30.0)),
        (0x55, f32(4.0)),
        (0x59, f64(40.0)),
        (0x61, u32(2)),
        (0x65, f32(5.0)),
        (0x69, f64(50.0)),
        (0x71, f32(6.0)),
        (0x75, f64(60.0)),
        (0x7D, END),
    )
    packet = ulyssix.decode(data, 'peer')
    assert packet.counts.tolist() == [0, 4, 2]
    assert packet.values.tolist() == [1, 2, 3, 4, 5, 6]
    assert packet.times.tolist() == [10, 20, 30, 40, 50, 60]
    assert ulyssix.encode(packet) == data


# The table of contradictions (docs/wire/ulyssix.md, section 2), by row


def test_row_01_start_and_end_strings_may_be_mirrored_but_not_mixed():
    data = floats(1.5)
    assert ulyssix.decode(datagram(data, 1), 'peer').flags == ()
    mirrored = datagram(data, 1, start=END, end=START)
    packet = ulyssix.decode(mirrored, 'peer')
    assert packet.flags == (PacketFlag.MIRRORED_STRINGS,)
    assert packet.values.tolist() == [1.5]
    assert ulyssix.encode(packet) == mirrored
    for string in (START, END):
        with pytest.raises(ProtocolError, match='end string at offset 49'):
            ulyssix.decode(datagram(data, 1, start=string, end=string), 'peer')


@pytest.mark.parametrize('size', [8, 9, 35, 37, 36 + 8, 36 + 16, 0, 27, 2**31, 2**32 - 1])
def test_row_02_the_end_string_stands_where_the_payload_size_puts_it(size):
    assert ulyssix.decode(datagram(floats(1.5), 1, size=36), 'peer').flags == ()
    with pytest.raises(ProtocolError, match='payload size'):
        ulyssix.decode(datagram(floats(1.5), 1, size=size), 'peer')


def test_row_03_both_word_orders_are_tried_and_neither_is_guessed():
    clear = ulyssix.decode_bcd(BCD)
    assert clear == (TIME,)
    assert ulyssix.decode_bcd(BCD, TRUE_U64) == ()
    swapped = BCD[4:] + BCD[:4]
    assert [time.word_order for time in ulyssix.decode_bcd(swapped)] == [TRUE_U64]
    # Day 200 12:00:03.000000 one way, day 300 00:00:02.001200 the other.
    both = bytes.fromhex('0012000200000003')
    assert ulyssix.decode_bcd(both) == (
        PacketTime(200, 12, 0, 3, 0, FIRST_WORD_HIGH),
        PacketTime(300, 0, 0, 2, 1200, TRUE_U64),
    )
    assert len(ulyssix.decode_bcd(both, FIRST_WORD_HIGH)) == 1
    assert ulyssix.decode_bcd(both, TRUE_U64) == (PacketTime(300, 0, 0, 2, 1200, TRUE_U64),)


def test_row_03_few_times_fit_both_word_orders():
    random = np.random.default_rng(7)
    n = 20_000
    dates = list(zip(*(random.integers(low, high, n).tolist() for low, high in (
        (1, 367), (0, 24), (0, 60), (0, 60), (0, 1_000_000))), strict=True))
    text = [f'{c:02d}{d:06d}{h:04d}{i:02d}{j:02d}' for h, i, j, c, d in dates]
    bcd = [bytes.fromhex(digits)[::-1] for digits in text]
    assert [micros_of(each, FIRST_WORD_HIGH) for each in bcd] == [
        ulyssix.micros_since_jan1(*date) for date in dates]
    also_true_u64 = [micros_of(each, TRUE_U64) is not None for each in bcd]
    assert all(date[3] <= 3 for date, both in zip(dates, also_true_u64, strict=True) if both)
    assert 0.006 < sum(also_true_u64) / n < 0.012


@pytest.mark.parametrize(
    'bcd',
    [
        '3412450a12907856',  # a non-decimal nibble in the date
        '34124500129f7856',  # one in the clock
        '3412450012907861',  # second 61
        '3460450012907856',  # minute 0x60 in place of the hour: hour 60
        '6012450012907856',  # minute 60
        '3424450012907856',  # hour 24
        '3412000012907856',  # day 0
        '3412670312907856',  # day 367
        '3412451012907856',  # top nibble 1
        'ffffffffffffffff',
        '0000000000000000',
    ],
)
def test_row_03_bytes_that_are_no_time_have_no_reading(bcd):
    raw = bytes.fromhex(bcd)
    assert ulyssix.decode_bcd(raw) == ()
    assert [micros_of(raw, order) for order in WordOrder] == [None, None]
    packet = ulyssix.decode(datagram(floats(1.0), 1, bcd=raw), 'peer')
    assert packet.bcd_hex_on_wire == bcd


def test_row_04_days_and_hours_have_the_right_factors():
    assert ulyssix.MICROS_PER_SECOND == 1_000_000
    assert ulyssix.MICROS_PER_MINUTE == 60_000_000
    assert ulyssix.MICROS_PER_HOUR == 3_600_000_000
    assert ulyssix.MICROS_PER_DAY == 86_400_000_000
    assert ulyssix.micros_since_jan1(45, 12, 34, 56, 789012, day_base=0) == 3933296789012


def test_row_05_the_first_of_january_is_day_1_unless_told_otherwise():
    assert ulyssix.micros_since_jan1(45, 12, 34, 56, 789012) == 3846896789012
    assert ulyssix.micros_since_jan1(1, 0, 0, 0, 0, day_base=1) == 0
    assert micros_of(BCD, FIRST_WORD_HIGH, 1) == 3846896789012
    assert micros_of(BCD, FIRST_WORD_HIGH, 0) == 3933296789012
    with pytest.raises(ValueError, match='day_base is 2, expected 0 or 1'):
        ulyssix.micros_since_jan1(1, 0, 0, 0, 0, day_base=2)


def test_row_06_a_time_has_neither_year_nor_zone():
    last_day_of_a_leap_year = bytes.fromhex('5923660399999959')
    assert ulyssix.decode_bcd(last_day_of_a_leap_year) == (
        PacketTime(366, 23, 59, 59, 999999, FIRST_WORD_HIGH),
    )


TWO_8_BYTE_VALUES = struct.pack('<Iqq', 2, -1, 2**40)
TWO_4_BYTE_VALUES = struct.pack('<Iii', 2, -1, 2**31 - 1)


def test_row_07_the_width_of_integers_is_found_out():
    wide = ulyssix.decode(datagram(TWO_8_BYTE_VALUES, 2, control=4), 'peer')
    assert (wide.integer_width, wide.values.tolist()) == (8, [-1, 2**40])
    narrow = ulyssix.decode(datagram(TWO_4_BYTE_VALUES, 2, control=4), 'peer')
    assert (narrow.integer_width, narrow.values.tolist()) == (4, [-1, 2**31 - 1])
    assert wide.values.dtype == narrow.values.dtype == np.int64
    assert wide.flags == narrow.flags == ()


def test_row_07_a_width_that_is_given_is_kept():
    with pytest.raises(ProtocolError, match='parameter 1: 8 bytes left at offset 45, need 16'):
        ulyssix.decode(datagram(TWO_4_BYTE_VALUES, 2, control=4), 'peer', integer_width=8)
    # Two samples -1, a parameter without samples, and half of 2**40 as a count.
    with pytest.raises(ProtocolError, match='parameter 3: 0 bytes left at offset 61, need 1024'):
        ulyssix.decode(datagram(TWO_8_BYTE_VALUES, 2, control=4), 'peer', integer_width=4)
    with pytest.raises(ValueError, match='integer_width is 2, expected 4, 8 or None'):
        ulyssix.decode(datagram(TWO_8_BYTE_VALUES, 2, control=4), 'peer', integer_width=2)
    assert ulyssix.decode(datagram(floats(1.0), 1), 'peer', integer_width=8).integer_width is None


def test_row_07_a_width_that_both_readings_allow_is_8_and_flagged():
    # As 4-byte values: one sample 7, then a parameter without samples.
    data = struct.pack('<Iq', 1, 7)
    packet = ulyssix.decode(datagram(data, 1, control=4), 'peer')
    assert (packet.integer_width, packet.counts.tolist()) == (8, [1])
    assert packet.flags == (PacketFlag.INTEGER_WIDTH_AMBIGUOUS,)
    fixed = ulyssix.decode(datagram(data, 1, control=4), 'peer', integer_width=4)
    assert (fixed.counts.tolist(), fixed.flags) == ([1, 0], ())


def test_row_07_as_many_names_as_parameters_decide():
    data = struct.pack('<Iq', 1, 7)
    two = ulyssix.decode(datagram(data, 1, control=6, names=b'A\x1fB'), 'peer')
    assert (two.integer_width, two.counts.tolist(), two.flags) == (4, [1, 0], ())
    one = ulyssix.decode(datagram(data, 1, control=6, names=b'A'), 'peer')
    assert (one.integer_width, one.counts.tolist(), one.flags) == (8, [1], ())


def test_row_07_finding_out_needs_the_right_samples_in_payload():
    wrong = datagram(TWO_8_BYTE_VALUES, 3, control=4)
    with pytest.raises(ProtocolError, match='as 8-byte values, 2 samples, expected 3; as 4-byte'):
        ulyssix.decode(wrong, 'peer')
    fixed = ulyssix.decode(wrong, 'peer', integer_width=8)
    assert fixed.flags == (PacketFlag.SAMPLE_COUNT_MISMATCH,)


def test_row_08_sample_times_are_passed_on_as_they_stand():
    ten_times_too_small = 395216789012
    data = pairs((5, ten_times_too_small), layout='<qQ')
    packet = ulyssix.decode(datagram(data, 1, control=5), 'peer')
    assert packet.times.dtype == np.uint64
    assert packet.times.tolist() == [ten_times_too_small]


def test_row_09_a_parameter_without_samples_takes_only_its_count():
    data = u32(0) + pairs((1.0, 2.0))
    packet = ulyssix.decode(datagram(data, 1, control=1), 'peer')
    assert packet.counts.tolist() == [0, 1]


def test_row_10_the_last_group_of_example_3_is_a_third_parameter():
    packet = ulyssix.decode(bytes.fromhex(VECTORS['example_3']['hex']), 'peer')
    assert per_parameter(packet)[2] == [[100.0, 3846896.789012], [-100.5, 3846896.790012]]


def test_row_11_the_end_string_has_8_bytes():
    data = datagram(floats(1.5), 1)
    assert ulyssix.decode(data, 'peer').flags == ()
    assert ulyssix.decode(data + b'\0', 'peer').flags == (PacketFlag.TRAILING_BYTES,)
    with pytest.raises(ProtocolError, match='end string: 7 bytes left at offset 49'):
        ulyssix.decode(data[:-1], 'peer')


def test_row_12_bit_1_of_the_control_byte_announces_parameter_names():
    packet = ulyssix.decode(datagram(floats(1.5), 1, control=2, names=b'Mach'), 'peer')
    assert packet.names == ('Mach',)


def test_row_13_names_are_bytes_in_utf_8_or_latin_1():
    data = floats(1.0) + floats(2.0)
    utf8 = ulyssix.decode(datagram(data, 2, control=2, names='ΔP\x1fT°'.encode()), 'peer')
    assert utf8.names == ('ΔP', 'T°')
    latin = ulyssix.decode(datagram(data, 2, control=2, names='T°\x1fW'.encode('latin-1')), 'peer')
    assert latin.names == ('T°', 'W')


@pytest.mark.parametrize('strings', [(START, END), (END, START)])
def test_row_13_a_length_that_counts_characters_is_told_by_the_start_string(strings):
    start, end = strings
    data = floats(1.0) + floats(2.0)
    sound = datagram(data, 2, control=2, names='ΔP\x1fT°'.encode(), start=start, end=end)
    characters = sound[:5] + struct.pack('<H', 5) + sound[7:]
    packet = ulyssix.decode(characters, 'peer')
    assert packet.names == ('ΔP', 'T°')
    assert packet.values.tolist() == [1.0, 2.0]
    assert PacketFlag.NAMES_LENGTH_IN_CHARACTERS in packet.flags
    assert PacketFlag.NAMES_LENGTH_IN_CHARACTERS not in ulyssix.decode(sound, 'peer').flags
    for length in (4, 6, len(sound), 65535):
        with pytest.raises(ProtocolError, match='start string at offset|names: '):
            ulyssix.decode(sound[:5] + struct.pack('<H', length) + sound[7:], 'peer')


@pytest.mark.parametrize('names', [b'A', b'A\x1fB\x1fC', b'A\x1fB\x1f'])
def test_row_13_names_that_are_not_one_a_parameter_are_dropped(names):
    data = floats(1.0) + floats(2.0)
    packet = ulyssix.decode(datagram(data, 2, control=2, names=names), 'peer')
    assert packet.names is None
    assert packet.flags == (PacketFlag.NAME_COUNT_MISMATCH,)
    assert packet.values.tolist() == [1.0, 2.0]


def test_row_14_names_of_length_0_are_no_names():
    data = datagram(floats(1.0), 1, control=2, names=b'')
    packet = ulyssix.decode(data, 'peer')
    assert (packet.names, packet.flags, packet.values.tolist()) == (None, (), [1.0])
    assert ulyssix.encode(packet) == data


def test_row_15_counter_and_total_samples_are_unsigned():
    packet = ulyssix.decode(datagram(floats(1.0), 1, counter=2**32 - 1, total=2**64 - 1), 'peer')
    assert packet.counter == 0xFFFFFFFF
    assert packet.total_samples == 0xFFFFFFFFFFFFFFFF
    assert ulyssix.COUNTER_MODULUS == 2**32


def test_row_16_without_time_tags_there_are_no_sample_times():
    packet = ulyssix.decode(datagram(floats(1.0, 2.0), 2), 'peer')
    assert packet.times is None
    assert packet.values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize('control', [0, 1, 4, 5])
@pytest.mark.parametrize('parameters', [0, 1, 3])
def test_row_17_a_packet_without_samples_is_decoded(control, parameters):
    packet = ulyssix.decode(datagram(u32(0) * parameters, 0, control=control), 'peer')
    assert packet.counts.tolist() == [0] * parameters
    assert packet.values.shape == (0,)
    assert packet.values.dtype == (np.int64 if control & 4 else np.float32)
    assert (packet.times is not None) == bool(control & 1)
    assert packet.flags == ((PacketFlag.INTEGER_WIDTH_AMBIGUOUS,) if control & 4 else ())


@pytest.mark.parametrize('packet_type', [1, 2, 2**32 - 1])
def test_row_18_another_packet_type_is_skipped(packet_type):
    data = datagram(b'what ever', 3, control=2, names=b'A', packet_type=packet_type)
    packet = ulyssix.decode(data, 'peer')
    assert isinstance(packet, ulyssix.SkippedPacket)
    assert packet.packet_type == packet_type
    assert packet.names == ('A',)
    assert packet.payload.endswith(BCD + b'what ever')
    assert ulyssix.encode(packet) == data


def test_row_19_samples_keep_the_order_of_the_wire():
    data = pairs((1.0, 9.0), (2.0, 10.0)) + pairs((3.0, 8.5))
    packet = ulyssix.decode(datagram(data, 3, control=1), 'peer')
    assert packet.times.tolist() == [9.0, 10.0, 8.5]


def test_row_20_the_clock_is_seconds_milliseconds_microseconds_digit_by_digit():
    # The word 0x12345678 is 12 s 345 ms 678 us.
    assert ulyssix.decode_bcd(bytes.fromhex('0000010078563412')) == (
        PacketTime(1, 0, 0, 12, 345678, FIRST_WORD_HIGH),
    )


# Limits


def test_a_count_whose_bytes_overflow_32_bits_is_rejected():
    assert 0x15555556 * 12 % 2**32 == 8
    data = struct.pack('<I', 0x15555556) + bytes(8)
    with pytest.raises(ProtocolError, match='8 bytes left at offset 45, need 4294967304'):
        ulyssix.decode(datagram(data, 0x15555556, control=1), 'peer')


@pytest.mark.parametrize('control', range(8))
@pytest.mark.parametrize('count', [2**32 - 1, 2**31, 2**29])
def test_a_huge_count_allocates_nothing(control, count):
    names = b'A' if control & 2 else None
    data = datagram(u32(count) + bytes(64), count, control=control, names=names)
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError):
            ulyssix.decode(data, 'peer')
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_a_second_parameter_cut_short_is_rejected():
    data = floats(1.0) + struct.pack('<I2f', 3, 1.0, 2.0)
    with pytest.raises(ProtocolError, match='parameter 2: 8 bytes left at offset 53, need 12'):
        ulyssix.decode(datagram(data, 4), 'peer')
    with pytest.raises(ProtocolError, match='parameter 2: 2 bytes left at offset 49, need 4'):
        ulyssix.decode(datagram(floats(1.0) + b'\1\0', 1), 'peer')


def even_packet(parameters, each):
    return ulyssix.data_packet(
        7,
        10**10,
        TIME,
        [np.arange(each) + 1000 * parameter for parameter in range(parameters)],
        [np.arange(each) / 1000 + parameter for parameter in range(parameters)],
        names=[f'p{parameter}' for parameter in range(parameters)],
    )


@pytest.mark.parametrize(('parameters', 'each'), [(1, 5000), (10, 500), (50, 100), (500, 10)])
def test_equal_counts_are_copied_in_order(parameters, each):
    data, known = ulyssix.encode(even_packet(parameters, each)), PacketLayouts()
    for _ in range(3):
        packet = ulyssix.decode(data, 'peer', layouts=known)
    assert packet.counts.tolist() == [each] * parameters
    assert packet.values.reshape(parameters, each)[-1, :2].tolist() == [
        1000 * (parameters - 1),
        1000 * (parameters - 1) + 1,
    ]
    assert_same(packet, even_packet(parameters, each))
    for column in (packet.values, packet.times):
        assert column.flags['C_CONTIGUOUS']
        assert column.shape == (5000,)


def test_counts_that_only_seem_equal_are_walked():
    # As many bytes as three equal strides, split differently: counts 2, 1, 3.
    data = floats(1.0, 2.0) + floats(3.0) + floats(4.0, 5.0, 6.0)
    packet = ulyssix.decode(datagram(data, 6), 'peer')
    assert packet.counts.tolist() == [2, 1, 3]
    assert packet.values.tolist() == [1, 2, 3, 4, 5, 6]


def test_counts_that_come_again_are_read_each_anew():
    # All of one length; from the third of a kind on they are decoded by the known layout.
    first_kind, second_kind, even = (2, 1, 3), (3, 1, 2), (2, 2, 2)
    kinds = 3 * [first_kind] + 2 * [second_kind, first_kind] + 3 * [even] + [(6, 0, 0)]
    known = PacketLayouts()
    for number, counts in enumerate(3 * kinds):
        values = [100.0 * number + index for index in range(6)]
        first, second = counts[0], counts[0] + counts[1]
        data = floats(*values[:first]) + floats(*values[first:second]) + floats(*values[second:])
        packet = ulyssix.decode(datagram(data, 6), 'peer', layouts=known)
        assert packet.counts.tolist() == list(counts)
        assert packet.values.tolist() == values
        packet.counts[:] = 0  # the caller's own


@given(
    st.lists(st.permutations([0, 1, 1, 2, 3]), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=8, max_size=30),
    st.randoms(use_true_random=False),
)
def test_counts_in_any_order_are_decoded_as_if_new(kinds, order, random):
    packets = []
    for index, is_named in order:
        # Samples that may be taken for counts.
        data = b''.join(
            u32(count) + b''.join(u32(random.randrange(4)) for _ in range(count))
            for count in kinds[index % len(kinds)])
        name = random.choice((b'a', b'b')) if is_named else None
        packets.append(datagram(data, 7, control=0 if name is None else 2, names=name))
    known = PacketLayouts()
    for packet in packets:
        assert outcome(packet, known=known) == outcome(packet)


def test_what_is_remembered_takes_little_memory(monkeypatch):
    monkeypatch.setattr(layouts, '_MOST_KNOWN', 1000)
    monkeypatch.setattr(layouts, '_MOST_FRAMES', 4)
    random = np.random.default_rng(7)
    datagrams = [
        b''.join(u32(count) + bytes(4 * count) for count in random.permutation(40).tolist())
        for _ in range(200)]
    known = PacketLayouts()
    tracemalloc.start()
    for data in datagrams:
        for length in range(3):
            for _ in range(3):
                names = b'x' * (length + 1)
                outcome(datagram(data, 780, control=2, names=names), known=known)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_000_000  # of about 5 MB


def test_the_largest_datagram():
    # 7 + 36 + 8 bytes surround the data, which are one count and 16,363 values.
    values = np.arange(16_363, dtype=np.float32)
    data = datagram(u32(len(values)) + values.tobytes(), len(values), control=2, names=b'')
    assert len(data) == 65507
    packet = ulyssix.decode(data, 'peer')
    assert (packet.values == values).all()
    assert ulyssix.encode(packet) == data
    with pytest.raises(ValueError, match='65511 bytes, expected at most 65507'):
        ulyssix.encode(ulyssix.data_packet(1, 0, TIME, [np.zeros(16_364)], names=[]))


def test_16_thousand_empty_parameters():
    packet = ulyssix.decode(datagram(u32(0) * 16_364, 0), 'peer')
    assert packet.counts.shape == (16_364,)


# Encoder


def test_encoded_packet_is_that_written_by_hand():
    packet = ulyssix.data_packet(
        10,
        6,
        PacketTime(45, 12, 34, 56, 789012, TRUE_U64),
        [[], [1, -1]],
        [[], [7, 8]],
        names=['A', 'ΔB'],
        integer_width=4,
        mirrored=True,
        reserved_bits=0x80,
    )
    assert ulyssix.encode(packet) == bytes.fromhex(
        '0a000000 87 0500 41 1f ce94 42'
        '0706050403020100 3c000000 00000000 02000000 0600000000000000'
        '12907856 34124500'
        '00000000'
        '02000000 01000000 0700000000000000 ffffffff 0800000000000000'
        '0001020304050607'
    )


@pytest.mark.parametrize(
    ('arguments', 'error', 'complaint'),
    [
        ({'integer_width': 2}, ValueError, 'integer_width is 2'),
        ({'reserved_bits': 1}, ValueError, 'expected bits 3 to 7'),
        ({'reserved_bits': 256}, ValueError, 'expected bits 3 to 7'),
        ({'times': [[1.0, 2.0]]}, ValueError, 'times: expected as many'),
        ({'times': [[1.0], [2.0]]}, ValueError, 'times: expected as many'),
        ({'values': [[1e39]]}, ValueError, 'too large for float32'),
        ({'integer_width': 8}, TypeError, 'expected integers, got float64'),
        ({'integer_width': 8, 'values': [[2**63]]}, ValueError, 'out of the range of int64'),
        ({'integer_width': 4, 'values': [[2**31]]}, ValueError, 'out of the range of int32'),
        ({'integer_width': 8, 'values': [[1]], 'times': [[-1]]}, ValueError, 'range of uint64'),
        ({'names': ['A', 'B']}, ValueError, 'names: 2, expected 1'),
        ({'names': ['A\x1fB']}, ValueError, 'separator'),
        ({'names': ['']}, ValueError, 'one empty name'),
        ({'names': ['A' * 65536]}, ValueError, '65536'),
        ({'counter': 2**32}, ValueError, '4294967296'),
        ({'counter': -1}, ValueError, '-1'),
        ({'total_samples': 2**64}, ValueError, '18446744073709551616'),
        ({'time': PacketTime(0, 0, 0, 0, 0, TRUE_U64)}, ValueError, 'doy is 0, expected 1 to 366'),
        ({'time': PacketTime(1, 0, 0, 61, 0, TRUE_U64)}, ValueError, 'second is 61'),
        ({'time': PacketTime(1, 0, 0, 0, 10**6, TRUE_U64)}, ValueError, 'microsecond is 1000000'),
    ],
)
def test_what_does_not_fit_is_refused(arguments, error, complaint):
    good = {'counter': 1, 'total_samples': 1, 'time': TIME, 'values': [[1.5]]}
    assert ulyssix.encode(ulyssix.data_packet(**good))
    with pytest.raises(error, match=complaint):
        ulyssix.encode(ulyssix.data_packet(**{**good, **arguments}))


@pytest.mark.parametrize(
    ('field', 'value', 'complaint'),
    [
        ('control', 1, 'times and the control byte'),
        ('control', 4, 'integer_width and the control byte'),
        ('names', ('A',), 'the control byte announces none'),
        ('times', np.zeros(1), 'times and the control byte'),
        ('integer_width', 8, 'integer_width and the control byte'),
        ('counts', np.array([2]), 'expected a sum of 1, got 2'),
        ('counts', np.array([-1, 2]), 'expected a sum of 1'),
        ('bcd_hex_on_wire', '00', '1 byte, expected 8'),
    ],
)
def test_fields_that_contradict_each_other_are_refused(field, value, complaint):
    packet = ulyssix.data_packet(1, 1, TIME, [[1.5]])
    setattr(packet, field, value)
    with pytest.raises(ValueError, match=complaint):
        ulyssix.encode(packet)


def test_a_skipped_packet_that_none_would_skip_is_refused():
    with pytest.raises(ValueError, match='packet_type is 0'):
        ulyssix.encode(ulyssix.SkippedPacket(1, 0, None, 0, bytes(20)))
    with pytest.raises(ValueError, match='19 bytes, expected at least 20'):
        ulyssix.encode(ulyssix.SkippedPacket(1, 0, None, 1, bytes(19)))


# Properties


@st.composite
def packets(draw):
    width = draw(st.sampled_from([None, 4, 8]))
    counts = draw(st.lists(st.integers(0, 5), min_size=1, max_size=6))
    if draw(st.booleans()):
        counts = [counts[0]] * len(counts)
    limit = {None: 1, 4: 2**31, 8: 2**63}[width]
    value = st.floats(width=32) if width is None else st.integers(-limit, limit - 1)
    tag = st.floats(allow_nan=False) if width is None else st.integers(0, 2**64 - 1)

    def lists(elements, kind):
        return [np.array(draw(st.lists(elements, min_size=n, max_size=n)), kind) for n in counts]

    values = lists(value, 'f4' if width is None else 'i8')
    times = lists(tag, 'f8' if width is None else 'u8') if draw(st.booleans()) else None
    time = PacketTime(
        draw(st.integers(1, 366)),
        draw(st.integers(0, 23)),
        draw(st.integers(0, 59)),
        draw(st.integers(0, 60)),
        draw(st.integers(0, 999_999)),
        draw(st.sampled_from(WordOrder)),
    )
    name = st.text(st.characters(exclude_characters='\x1f', exclude_categories=['Cs']), min_size=1)
    names = st.lists(name, min_size=len(counts), max_size=len(counts))
    packet = ulyssix.data_packet(
        draw(st.integers(0, 2**32 - 1)),
        draw(st.integers(0, 2**64 - 1)),
        time,
        values,
        times,
        names=draw(st.none() | names),
        integer_width=width,
        mirrored=draw(st.booleans()),
    )
    return time, packet


@given(packets())
def test_decoding_an_encoded_packet_returns_it(made):
    time, packet = made
    for _ in range(3):  # the third time by the layout cached from the first two
        decoded = ulyssix.decode(
            ulyssix.encode(packet), 'peer', integer_width=packet.integer_width)
        assert_same(decoded, packet)
    raw = bytes.fromhex(decoded.bcd_hex_on_wire)
    assert time in ulyssix.decode_bcd(raw)
    assert ulyssix.decode_bcd(raw, time.word_order) == (time,)


def decodes_or_says_why(data):
    for width in (None, 4, 8):
        try:
            packet = ulyssix.decode(data, 'peer', integer_width=width)
        except ProtocolError as error:
            assert str(error)
            continue
        assert isinstance(packet, ulyssix.Packet)
        if isinstance(packet, ulyssix.DataPacket):
            assert packet.counts.sum() == len(packet.values)
            assert packet.times is None or len(packet.times) == len(packet.values)
            ulyssix.decode_bcd(bytes.fromhex(packet.bcd_hex_on_wire))


@given(st.binary(max_size=200))
def test_any_bytes_give_a_packet_or_a_protocol_error(data):
    decodes_or_says_why(data)


@given(
    st.integers(0, 255),
    st.integers(0, 100),
    st.one_of(
        st.binary(max_size=100),
        st.lists(st.integers(0, 3), max_size=25).map(lambda w: struct.pack(f'<{len(w)}I', *w)),
    ),
    st.none() | st.binary(max_size=20),
)
def test_any_data_in_a_sound_frame_give_a_packet_or_a_protocol_error(
    control, samples, data, names
):
    decodes_or_says_why(datagram(data, samples, control=control, names=names))


@settings(max_examples=200)
@given(
    st.sampled_from([bytes.fromhex(v['hex']) for v in VECTORS.values() if v['valid']]),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), min_size=1, max_size=4),
)
def test_mutated_packets_give_a_packet_or_a_protocol_error(data, changes):
    mutated = bytearray(data)
    for offset, byte in changes:
        mutated[offset % len(mutated)] = byte
    decodes_or_says_why(bytes(mutated))


def outcome(data, width=None, known=None):
    try:
        return to_readable(ulyssix.decode(data, 'peer', integer_width=width, layouts=known))
    except ProtocolError as error:
        return str(error)


@given(
    st.sampled_from([v['name'] for v in VECTORS.values() if v['valid']]),
    st.tuples(st.integers(0, 200), st.integers(0, 255)),
    st.sampled_from([None, 4, 8]),
)
def test_what_is_remembered_of_a_packet_changes_nothing_about_the_next(name, change, width):
    data = bytearray.fromhex(VECTORS[name]['hex'])
    known = PacketLayouts()
    for _ in range(3):
        outcome(data, width, known)
    data[change[0] % len(data)] = change[1]
    after_others = outcome(data, width, known)
    assert repr(after_others) == repr(outcome(data, width))  # repr: NaN does not equal itself


@pytest.mark.parametrize('name', ['example_3', 'names_time', 'integer8_no_time'])
def test_a_packet_cut_anywhere_is_rejected(name):
    data = bytes.fromhex(VECTORS[name]['hex'])
    for length in range(len(data)):
        with pytest.raises(ProtocolError):
            ulyssix.decode(data[:length], 'peer')
