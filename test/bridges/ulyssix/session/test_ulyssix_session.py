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
Following a Ulyssix publisher: counting, names, and its times in UTC.

Datagrams are packed with struct here; expectations are worked out by hand from the calendar.
"""

import struct

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from ulyssix_packets import (
    bcd,
    datagram,
    DAY,
    DAY_45,
    INTEGER,
    NAMES,
    SECOND,
    SINCE_JAN1,
    START,
    TAGGED,
    tagged,
    utc,
)
from vector_files import vectors

from xplane_bridge.bridges.conversions.topics import topic_names
from xplane_bridge.bridges.sessions.base import PeerChanged, PeerState
from xplane_bridge.bridges.ulyssix import protocol as ulyssix
from xplane_bridge.bridges.ulyssix.protocol import WordOrder
from xplane_bridge.bridges.ulyssix.session import (
    CHANNEL,
    mixed,
    NamesChanged,
    PacketReceived,
    PublisherRestarted,
    Reminder,
    Sender,
    Statistics,
    Timeline,
    UlyssixSession,
)

VECTORS = {
    vector['name']: vector
    for vector in vectors('ulyssix')
}

SENDER = ('10.0.0.1', 4000)


def session(**options):
    made = UlyssixSession(Timeline(), **options)
    made.start(0.0)
    return made


def receive(made, *datagrams):
    return [event for each in datagrams for event in made.receive(CHANNEL, each, SENDER, 1.0)]


def packets(events):
    return [event.packet.counter for event in events if isinstance(event, PacketReceived)]


def place(timeline, data, received):
    return timeline.place(ulyssix.decode(data, 'peer'), received)


# Counting


def count(*numbers, total_step=1, skipped=()):
    """
    Return final statistics and events of a session that received packets of these numbers.

    Each has one sample, except those in ``skipped``, which are of another type.
    """
    made = session()
    events = receive(made, *(
        datagram(number % 2**32, 100 + number * total_step, kind=1 if number in skipped else 0)
        for number in numbers))
    made.stop(1.0)
    return made.statistics, events


def test_consecutive_packets_are_all_delivered_and_none_is_lost():
    statistics, events = count(7, 8, 9)
    assert packets(events) == [7, 8, 9]
    assert (statistics.packets, statistics.samples) == (3, 3)
    assert (statistics.lost, statistics.restarts, statistics.total_mismatches) == (0, 0, 0)


def test_a_gap_is_a_loss_of_packets_and_of_samples_by_the_total():
    statistics, _ = count(0, 1, 5)
    assert (statistics.lost, statistics.late, statistics.missing_samples) == (3, 0, 3)


def test_the_counter_wraps():
    statistics, events = count(2**32 - 2, 2**32 - 1, 2**32, 2**32 + 2)
    assert packets(events) == [2**32 - 2, 2**32 - 1, 0, 2]
    assert (statistics.lost, statistics.restarts) == (1, 0)


def test_a_duplicate_is_dropped():
    statistics, events = count(0, 1, 1, 2, 0)
    assert packets(events) == [0, 1, 2]
    assert (statistics.duplicates, statistics.lost, statistics.restarts) == (2, 0, 0)


def test_a_short_recording_played_in_a_loop_is_no_duplicate():
    """That it is played again shows when it goes on, while nothing newer comes."""
    made = session()
    heard = []
    for second in range(5):
        for number in range(3):
            heard += packets(made.receive(
                CHANNEL, datagram(number, 1 + number), SENDER, 2.0 + second))
        assert len(heard) == 3 * max(second, 1)
    assert heard == 4 * [0, 1, 2]
    assert (made.statistics.restarts, made.statistics.duplicates) == (3, 0)
    made.stop(7.0)
    assert made.statistics.duplicates == 3


def test_a_recording_played_again_is_told_after_half_a_second_and_all_of_it_delivered():
    made = session()
    heard = []
    for at, number in enumerate((*range(200), *range(200))):
        heard += packets(made.receive(
            CHANNEL, datagram(number, number), SENDER, at / 100))
    assert heard == 2 * [*range(200)]
    assert (made.statistics.restarts, made.statistics.lost) == (1, 0)


def test_packets_in_another_order_are_delivered_and_not_lost():
    statistics, events = count(0, 3, 2, 1, 4)
    assert packets(events) == [0, 3, 2, 1, 4]
    assert (statistics.lost, statistics.late, statistics.restarts) == (0, 2, 0)


def test_the_first_two_packets_swapped_are_neither_a_loss_nor_a_restart():
    statistics, events = count(1, 0, 2, 3)
    assert packets(events) == [1, 0, 2, 3]
    assert (statistics.lost, statistics.late, statistics.restarts) == (0, 1, 0)


@pytest.mark.parametrize('late', [0.01, 5.0])
def test_a_duplicate_a_hundred_packets_late_is_a_duplicate(late):
    made = session()
    for number in [*range(150), 50, *range(150, 160)]:
        made.receive(CHANNEL, datagram(number, number), SENDER, number * late / 100)
    made.stop(1.0)
    statistics = made.statistics
    assert (statistics.duplicates, statistics.lost, statistics.restarts) == (1, 0, 0)
    assert statistics.packets == 160


def test_one_packet_eighty_late_is_late_alone():
    statistics, events = count(*range(10), *range(11, 91), 10, *range(91, 100))
    assert (statistics.lost, statistics.late, statistics.restarts) == (0, 1, 0)
    assert len(packets(events)) == 100


def test_a_packet_later_than_the_window_is_lost_and_dropped():
    statistics, events = count(*range(10), *range(11, 300), 10, *range(300, 310))
    assert (statistics.lost, statistics.too_late, statistics.restarts) == (1, 1, 0)
    assert 10 not in packets(events)


def test_a_number_used_by_a_skipped_packet_is_not_lost():
    statistics, events = count(0, 1, 2, 3, 5, 4, 6, skipped={2, 4})
    assert packets(events) == [0, 1, 3, 5, 6]
    assert (statistics.lost, statistics.restarts, statistics.missing_samples) == (0, 0, 0)
    assert statistics.skipped == {'1': 2}


def test_packets_that_are_skipped_and_numbered_for_themselves_cost_nothing():
    made = session()
    for number in range(200):
        receive(made, datagram(1000 + number, number), datagram(number // 10, 0, kind=1))
    made.stop(1.0)
    assert (made.statistics.lost, made.statistics.restarts) == (0, 0)
    assert made.statistics.packets == 200


def test_what_may_still_come_is_not_lost_yet():
    made = session()
    receive(made, datagram(0, 0), datagram(3, 3), datagram(2, 2))
    assert (made.awaited, made.statistics.lost) == (1, 0)
    # Nothing more arrives: it was.
    made.poll(made.next_deadline())
    assert (made.awaited, made.statistics.lost) == (0, 1)


@pytest.mark.parametrize('before', [3, 40, 500, 2**31 + 5])
def test_a_restart_is_no_loss_however_few_packets_there_were(before):
    made = session()
    receive(made, *(datagram(number, 1 + number) for number in range(before - 3, before)))
    # The new measurement has the same numbers and totals at another time.
    later = bcd(45, 12, 40, 0)
    events = receive(made, datagram(0, 1, time=later), datagram(1, 2, time=later))
    assert [type(event) for event in events] == [
        PublisherRestarted, PacketReceived, PacketReceived]
    made.stop(1.0)
    assert (made.statistics.restarts, made.statistics.lost) == (1, 0)


def test_a_restart_seen_late_is_told_by_the_falling_total():
    made = session()
    events = receive(made, datagram(10, 1000), datagram(500, 900))
    assert isinstance(events[-2], PublisherRestarted)
    made.stop(1.0)
    assert made.statistics.lost == 0


def test_a_restart_of_which_no_time_tells_is_told_by_the_next_packet():
    made = session()
    unknown = {'time': b'\xff' * 8}
    receive(made, *(datagram(number, number, **unknown) for number in range(300, 320)))
    events = receive(made, *(datagram(number, number, **unknown) for number in range(3)))
    assert [type(event) for event in events] == [PublisherRestarted] + 3 * [PacketReceived]
    assert packets(events) == [0, 1, 2]
    made.stop(1.0)
    assert (made.statistics.restarts, made.statistics.lost) == (1, 0)


def test_one_packet_of_a_number_far_ahead_is_not_believed():
    made = session()
    events = receive(made, datagram(5, 5), datagram(2**30, 10**6), datagram(6, 6))
    assert packets(events) == [5, 6]
    made.stop(1.0)
    statistics = made.statistics
    assert (statistics.lost, statistics.restarts, statistics.too_late) == (0, 0, 1)


def test_outages_add_up():
    statistics, _ = count(0, 1000, 1001, 3000)
    assert statistics.lost == 999 + 1998


def stream(*packets):
    """Return statistics of (number, total, seconds) received at those times, in this order."""
    made = session()
    for number, total, at in packets:
        made.receive(CHANNEL, datagram(number, total), SENDER, at)
    made.stop(10.0)
    return made.statistics


def test_a_packet_sent_again_after_a_second_is_a_duplicate_unless_the_next_comes_again_too():
    order = [(0, 100, 1.0), (1, 101, 1.0), (2, 102, 1.0)]
    once = stream(*order, (1, 101, 3.0), (3, 103, 3.1))
    assert (once.duplicates, once.too_late, once.restarts) == (1, 0, 0)
    twice = stream(*order, (1, 101, 3.0), (3, 103, 3.1), (2, 102, 5.0), (4, 104, 5.1))
    assert (twice.duplicates, twice.restarts) == (2, 0)
    looped = stream(*order, (1, 101, 3.0), (2, 102, 3.5))
    assert (looped.duplicates, looped.restarts, looped.packets) == (0, 1, 5)


def test_two_stragglers_far_apart_are_no_restart():
    """The successor of the held packet must be within the window after it."""
    order = [(n, 100 + n, 1.0) for n in range(1000, 1003)]
    late = stream(*order, (100, 200, 1.0), (229, 329, 1.0), (1003, 1103, 1.0))
    assert (late.too_late, late.restarts, late.lost) == (2, 0, 0)
    near = stream(*order, (100, 200, 1.0), (228, 328, 2.0), (229, 329, 2.1))
    assert near.restarts == 0
    dense = stream(*order, (100, 200, 1.0), (102, 202, 1.4), (103, 203, 1.6))
    assert (dense.too_late, dense.restarts, dense.lost) == (0, 1, 1)


@pytest.mark.parametrize(('bcd_hex', 'than', 'later'), [
    (bcd(45, 12, 0, 0), bcd(45, 11, 0, 0), True), (bcd(45, 11, 0, 0), bcd(45, 12, 0, 0), False),
    # Across the end of a year.
    (bcd(2, 0, 0, 0), bcd(364, 0, 0, 0), True), (bcd(364, 0, 0, 0), bcd(2, 0, 0, 0), False),
    (bcd(45, 12, 0, 0), bcd(45, 12, 0, 0), False),
    (b'\xff' * 8, bcd(45, 12, 0, 0), None), (bcd(45, 12, 0, 0), b'\xff' * 8, None),
])
def test_a_time_is_later_also_in_the_next_year_and_unknown_if_it_cannot_be_read(
        bcd_hex, than, later):
    timeline = Timeline(word_order='first_word_high')
    assert timeline.is_later(bcd_hex.hex(), than.hex(), SECOND) is later


def test_an_outage_is_a_loss_of_all_that_was_sent_meanwhile():
    statistics, events = count(*range(10), *range(5000, 5005))
    assert (statistics.lost, statistics.missing_samples, statistics.restarts) == (4990, 4990, 0)
    assert len(packets(events)) == 15


@pytest.mark.parametrize('includes_itself', [True, False])
def test_totals_fit_whether_or_not_they_include_their_own_packet(includes_itself):
    made = session()
    total = 0
    for counter, samples in enumerate((2, 5, 1, 4)):
        data = struct.pack(f'<I{samples}f', samples, *range(samples))
        stated = total + samples if includes_itself else total
        receive(made, datagram(counter, stated, data, samples))
        total += samples
    assert made.statistics.total_mismatches == 0
    receive(made, datagram(4, total + 1000))
    assert made.statistics.total_mismatches == 1


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.lists(st.booleans(), min_size=1, max_size=120), st.data())
def test_what_is_lost_is_what_never_came_in_whatever_order_the_others_did(first, arrives, data):
    numbers = [number for number, comes in enumerate([True, *arrives, True]) if comes]
    order = data.draw(st.permutations(numbers))
    again = data.draw(st.lists(st.sampled_from(numbers), max_size=10))
    made = session()
    events = receive(made, *(
        datagram((first + number) % 2**32, number) for number in [*order, *again]))
    assert packets(events) == [(first + number) % 2**32 for number in order]
    made.stop(1.0)
    statistics = made.statistics
    assert statistics.lost == arrives.count(False)
    assert (statistics.restarts, statistics.duplicates) == (0, len(again))
    # One sample each, with matching totals.
    assert statistics.missing_samples == arrives.count(False)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.lists(
    st.tuples(st.booleans(), st.integers(0, 120)), min_size=2, max_size=600))
def test_in_a_long_stream_each_packet_may_be_overtaken_by_as_many_as_the_window(first, sent):
    # Each is delayed by less than the window, or dropped.
    order = sorted(
        (number + delay, number) for number, (comes, delay) in enumerate(sent) if comes)
    made = session()
    events = receive(made, *(datagram((first + n) % 2**32, n) for _, n in order))
    made.stop(1.0)
    assert packets(events) == [(first + number) % 2**32 for _, number in order]
    came = sorted(number for _, number in order)
    lost = came[-1] - came[0] + 1 - len(came) if came else 0
    assert (made.statistics.lost, made.statistics.restarts) == (lost, 0)


# Other packets


@pytest.mark.parametrize(('data', 'kind'), [
    (b'', 'header'),
    (b'GETC\0', 'payload header'),
    (datagram()[:-1], 'end string'),
    (datagram().replace(START, bytes(8)), 'start string'),
    (datagram(control=NAMES, names=b'')[:6], 'names length'),
    (datagram(data=struct.pack('<If', 9, 1.5)), 'parameter'),
    (datagram(data=bytes(2)), 'parameter'),
    (datagram(data=struct.pack('<Iq', 2, 3), samples=3, control=INTEGER), 'integer values'),
])
def test_malformed_datagrams_are_counted_by_kind_and_end_nothing(data, kind):
    made = session()
    assert receive(made, data) == []
    assert dict(made.statistics.malformed) == {kind: 1}
    assert made.statistics.last_error
    assert packets(receive(made, datagram())) == [0]


def test_other_packet_types_are_skipped_and_counted():
    made = session()
    other = bytes.fromhex(VECTORS['packet_type_1']['hex'])
    assert packets(receive(made, other)) == []
    assert made.statistics.skipped == {'1': 1}


@pytest.mark.parametrize('name', [n for n, v in VECTORS.items() if v['valid']])
def test_every_valid_vector_passes(name):
    made = session()
    events = receive(made, bytes.fromhex(VECTORS[name]['hex']))
    for event in events:
        if isinstance(event, PacketReceived):
            placed = made.timeline.place(event.packet, utc(2026, 2, 14))
            assert placed.times is None or len(placed.times) == len(event.packet.values)
    assert not made.statistics.malformed


def test_an_empty_packet_is_counted_and_not_delivered():
    made = session()
    assert packets(receive(made, datagram(data=struct.pack('<I', 0), samples=0))) == []
    assert made.statistics.packets == 1


def test_nothing_counts_before_start_and_after_stop():
    made = UlyssixSession(Timeline())
    assert receive(made, datagram(0)) == []
    made.start(0.0)
    assert packets(receive(made, datagram(1))) == [1]
    made.stop(1.0)
    assert receive(made, datagram(2)) == []
    made.start(2.0)
    assert packets(receive(made, datagram(90, 90))) == [90]
    assert made.statistics.lost == 0


def test_a_reminder_comes_once_and_is_counted_from_the_packet_before():
    made = session()
    made.receive(CHANNEL, datagram(0, 1), None, 5.0)
    made.remind(0.1)
    assert len(made.receive(CHANNEL, datagram(1, 2), None, 5.03)) == 1
    made.remind(0.1)
    assert made.next_deadline() == pytest.approx(5.1)
    told = []
    for now in (5.05, made.next_deadline(), 5.2):
        made.poll(now)
        told.append([event for event in made.expired() if isinstance(event, Reminder)])
    assert told == [[], [Reminder()], []]
    # Then only silence is awaited.
    assert made.next_deadline() == pytest.approx(7.03)


def test_a_reminder_that_is_due_before_the_next_packet_comes_with_this_one():
    made = session()
    told = []
    for number in range(21):
        events = made.receive(CHANNEL, datagram(number, number + 1), None, 5.0 + number / 100)
        made.remind(0.1)
        if Reminder() in events:
            # What it is for has been handled before.
            assert isinstance(events[-2], PacketReceived)
            told.append(number)
    assert told == [9, 18]
    assert made.expired() == []


def test_silence_and_return_are_told_once_each():
    made = session()
    assert made.next_deadline() == 2.0
    made.poll(1.9)
    assert made.expired() == []
    made.poll(2.0)
    assert made.expired() == [PeerChanged(PeerState.UNKNOWN)]
    assert (made.expired(), made.next_deadline()) == ([], None)
    assert made.receive(CHANNEL, datagram(0), SENDER, 5.0)[0] == PeerChanged(PeerState.STREAMING)
    assert packets(made.receive(CHANNEL, datagram(1), SENDER, 5.1)) == [1]
    assert made.next_deadline() == 7.1
    made.poll(7.1)
    assert made.expired() == [PeerChanged(PeerState.SILENT)]
    assert (made.expired(), made.next_deadline()) == ([], None)


# The width of integers


def test_the_width_of_integers_is_kept_and_found_out_anew():
    made = session()
    # One sample with a high word of 0 reads as 8 bytes, or as 4 bytes and an empty parameter.
    both = datagram(0, 1, struct.pack('<Iq', 1, 5), control=INTEGER)
    narrow = datagram(1, 3, struct.pack('<Iii', 2, -1, -2), 2, INTEGER)
    wide = datagram(2, 5, struct.pack('<Iqq', 2, -1, -2), 2, INTEGER)
    receive(made, both)
    assert made.integer_width is None
    for data, width in ((narrow, 4), (wide, 8)):
        event = receive(made, data)[-1]
        assert event.packet.values.tolist() == [-1, -2]
        assert made.integer_width == width
    again = datagram(3, 6, struct.pack('<Iq', 1, 5), control=INTEGER)
    assert receive(made, again)[-1].packet.counts.tolist() == [1]


@pytest.mark.parametrize(('before', 'counts', 'values'), [
    # No parameter count, or the one that 8 bytes imply: 8 bytes are preferred.
    (0, [1], [5]), (1, [1], [5]),
    # The count that 4 bytes imply: those were right.
    (2, [1, 0], [5]),
    # A count that neither reading implies.
    (3, [1], [5]),
])
def test_an_ambiguous_width_is_decided_by_the_parameters_of_the_packet_before(
        before, counts, values):
    made = session()
    if before:
        receive(made, datagram(0, before, struct.pack('<If', 1, 1.5) * before, before))
        assert made.parameter_count == before
    both = datagram(1, before + 1, struct.pack('<Iq', 1, 5), control=INTEGER)
    packet = receive(made, both)[-1].packet
    assert (packet.counts.tolist(), packet.values.tolist()) == (counts, values)
    # It proves nothing, so the next one is examined afresh.
    assert made.integer_width is None


def test_a_fixed_width_is_not_doubted():
    made = session(integer_width=4)
    event = receive(made, datagram(0, 1, struct.pack('<Iq', 1, 5), control=INTEGER))[-1]
    assert (event.packet.counts.tolist(), event.packet.values.tolist()) == ([1, 0], [5])
    receive(made, datagram(1, 3, struct.pack('<Iqq', 2, -1, -2), 2, INTEGER))
    assert made.statistics.malformed['parameter'] == 1


# Names


def two(counter, names=None):
    data = struct.pack('<IfIff', 1, 1.5, 2, 2.5, 3.5)
    control = 0 if names is None else NAMES
    return datagram(counter, 3 * counter, data, 3, control, names)


def test_names_are_told_when_they_come_and_when_they_change():
    made = session()
    events = receive(made, two(0, b'A\x1fB'), two(1, b'A\x1fB'), two(2), two(3, b'A\x1fC'))
    assert [event.names for event in events if isinstance(event, NamesChanged)] == [
        ('A', 'B'), ('A', 'C')]
    assert [event.names for event in events if isinstance(event, PacketReceived)] == [
        ('A', 'B'), ('A', 'B'), ('A', 'B'), ('A', 'C')]


def test_given_names_serve_packets_without_names():
    made = session(names=('X', 'Y'))
    events = receive(made, two(0))
    assert NamesChanged(('X', 'Y')) in events
    assert events[-1].names == ('X', 'Y')


def test_given_names_that_are_too_many_are_not_used():
    made = session(names=('X', 'Y', 'Z'))
    assert receive(made, two(0))[-1].names == ()
    assert (made.names, made.statistics.unnamed) == ((), 1)


def test_topic_names_are_legal_and_never_collide():
    names = ['Eng 1/RPM (%)', 'Eng_1_RPM', 'Eng 1 RPM_2', 'Höhe', '1st', '', '温度', 'a__b',
             'x' * 300, 'x' * 301, 'p', '_hidden', 'A', 'a']
    topics = topic_names(names)
    assert topics[:8] == [
        'Eng_1_RPM', 'Eng_1_RPM_2', 'Eng_1_RPM_2_2', 'Hohe', 'p_1st', 'p', 'p_2', 'a_b']
    assert topics[10:] == ['p_3', 'hidden', 'A', 'a']
    assert len(set(topics)) == len(names)
    assert max(map(len, topics)) <= 110


@given(st.lists(st.text(max_size=20), max_size=20))
def test_topic_names_of_any_text_are_legal(names):
    topics = topic_names(names)
    assert len(set(topics)) == len(names)
    for topic in topics:
        assert topic.isascii()
        assert topic.replace('_', 'a').isalnum()
        assert topic[0].isalpha()
        assert '__' not in topic
        assert topic[-1] != '_'


# Times: what the document leaves open


def test_tagged_samples_and_packet_time_are_utc():
    timeline = Timeline()
    data = tagged((1.0, SINCE_JAN1), (2.0, SINCE_JAN1 + 0.5), time=DAY_45)
    placed = place(timeline, data, utc(2026, 2, 14, 12, 35))
    first = utc(2026, 2, 14, 12, 34, 56, ns=789_012_000)
    assert placed.first_ns == first
    assert placed.times.dtype == np.int64
    assert abs(placed.times - [first, first + SECOND // 2]).max() <= 1  # rounding of a double
    assert (timeline.word_order, timeline.day_base) == (WordOrder.FIRST_WORD_HIGH, 1)
    assert (timeline.sample_days, timeline.year) == (0, 2026)
    assert timeline.latency_ns == 3_210_988_000


def test_integer_times_are_exact():
    micros = 3846896789012
    data = tagged((-7, micros), (8, micros + 1), time=DAY_45, layout='<qQ',
                  control=INTEGER | TAGGED)
    placed = place(Timeline(), data, utc(2026, 2, 14))
    first = utc(2026, 2, 14, 12, 34, 56, ns=789_012_000)
    assert placed.times.tolist() == [first, first + 1000]


def test_untagged_samples_have_the_packets_time_only():
    timeline = Timeline()
    placed = place(timeline, datagram(), utc(2026, 2, 14))
    assert (placed.first_ns, placed.times) == (
        utc(2026, 2, 14, 12, 34, 56, ns=789_012_000), None)
    assert timeline.day_base is None


def test_untagged_samples_are_spaced_where_the_rate_is_known():
    made = session(rates=(('Slow', 10.0), ('Acc*', 1000.0), ('Acc*', 5.0)))
    data = struct.pack('<IffIfffIf', 2, 1, 2, 3, 3, 4, 5, 1, 6)
    packet = receive(made, datagram(
        0, 6, data, 6, NAMES, b'Slow\x1fAcc[1]\x1fOther'))[-1].packet
    placed = made.timeline.place(packet, utc(2026, 2, 14))
    t = placed.first_ns
    assert (placed.times - t).tolist() == [0, 100_000_000, 0, 1_000_000, 2_000_000, 0]


@pytest.mark.parametrize('order', ['first_word_high', 'true_u64'])
def test_the_word_order_is_settled_by_the_first_clear_time(order):
    timeline = Timeline()
    expected = utc(2026, 7, 19, 12, 0, 4)
    placed = place(timeline, datagram(time=bcd(200, 12, 0, 4, order=order)), expected)
    assert placed.first_ns == expected
    assert timeline.word_order is WordOrder(order)
    # Day 200 12:00:03.000000 one way, day 300 00:00:02.001200 the other: the settled order counts.
    unclear = bytes.fromhex('0012000200000003')
    date = (7, 19, 12, 0, 3) if order == 'first_word_high' else (10, 27, 0, 0, 2)
    ns = 0 if order == 'first_word_high' else 1_200_000
    placed = place(timeline, datagram(time=unclear), expected)
    assert placed.first_ns == utc(2026, *date, ns=ns)
    assert timeline.statistics.times_guessed == 0


def test_an_unclear_time_that_comes_first_is_read_as_the_samples_say():
    unclear = bytes.fromhex('0012000200000003')
    for since, date in ((199 * 86400.0 + 43203, (7, 19, 12, 0, 3)),
                        (299 * 86400.0 + 2.0012, (10, 27, 0, 0, 2))):
        timeline = Timeline()
        # Received at a date that would suggest the other order.
        placed = place(timeline, tagged((1.0, since), time=unclear), utc(2026, 9, 6))
        assert placed.first_ns // SECOND * SECOND == utc(2026, *date)
        assert timeline.word_order is None
        assert timeline.statistics.times_guessed == 1


def test_an_unclear_time_without_samples_is_the_one_nearer_to_its_reception():
    unclear = datagram(time=bytes.fromhex('0012000200000003'))
    assert place(Timeline(), unclear, utc(2026, 7, 20)).first_ns == utc(2026, 7, 19, 12, 0, 3)
    assert place(Timeline(), unclear, utc(2026, 10, 26)).first_ns // SECOND * SECOND == utc(
        2026, 10, 27, 0, 0, 2)


def test_a_word_order_that_is_given_is_not_doubted():
    timeline = Timeline(word_order=WordOrder.TRUE_U64)
    received = utc(2026, 2, 14, 1, 2, 3)
    assert place(timeline, datagram(), received).first_ns == received
    assert timeline.statistics.times_unreadable == 1
    swapped = DAY_45[4:] + DAY_45[:4]
    assert place(timeline, datagram(time=swapped), received).first_ns == utc(
        2026, 2, 14, 12, 34, 56, ns=789_012_000)


def test_a_time_that_cannot_be_read_is_replaced_by_the_samples():
    data = tagged((1.0, SINCE_JAN1 + 1), (1.0, SINCE_JAN1), time=b'\xff' * 8)
    placed = place(Timeline(), data, utc(2026, 2, 14))
    assert abs(placed.first_ns - utc(2026, 2, 14, 12, 34, 56, ns=789_012_000)) <= 1
    assert placed.times[1] == placed.first_ns


# Day base: the samples are a day ahead of the packet's day if that is counted from 1.

AHEAD = tagged((1.0, SINCE_JAN1 + 86400), time=DAY_45)


def test_samples_a_day_ahead_tell_that_days_count_from_0():
    timeline = Timeline()
    # A recording, so the time of reception says nothing.
    placed = place(timeline, AHEAD, utc(2026, 6, 1))
    assert placed.first_ns == utc(2026, 2, 15, 12, 34, 56, ns=789_012_000)
    assert abs(placed.times[0] - placed.first_ns) <= 1
    assert (timeline.day_base, timeline.sample_days) == (0, 0)


def test_samples_a_day_ahead_are_moved_when_the_packet_is_of_now():
    timeline = Timeline()
    placed = place(timeline, AHEAD, utc(2026, 2, 14, 12, 34, 57))
    assert placed.first_ns == utc(2026, 2, 14, 12, 34, 56, ns=789_012_000)
    assert abs(placed.times[0] - placed.first_ns) <= 1
    assert (timeline.day_base, timeline.sample_days) == (1, 1)


@pytest.mark.parametrize(('base', 'day'), [(1, 14), (0, 15)])
def test_a_day_base_that_is_given_rules_samples_too(base, day):
    for samples in (AHEAD, tagged((1.0, SINCE_JAN1), time=DAY_45)):
        placed = place(Timeline(day_base=base), samples, utc(2026, 6, 1))
        assert placed.first_ns == utc(2026, 2, day, 12, 34, 56, ns=789_012_000)
        assert abs(placed.times[0] - placed.first_ns) <= 1


def test_day_base_0_without_samples():
    placed = place(Timeline(day_base=0), datagram(), utc(2026, 2, 15))
    assert placed.first_ns == utc(2026, 2, 15, 12, 34, 56, ns=789_012_000)


def test_what_was_settled_is_kept_and_forgotten_at_a_restart():
    timeline = Timeline()
    place(timeline, AHEAD, utc(2026, 6, 1))
    place(timeline, tagged((1.0, SINCE_JAN1), time=DAY_45), utc(2026, 6, 1))
    assert (timeline.day_base, timeline.statistics.times_disagreeing) == (0, 1)
    timeline.restart()
    assert (timeline.day_base, timeline.word_order) == (None, None)
    place(timeline, tagged((1.0, SINCE_JAN1), time=DAY_45), utc(2026, 6, 1))
    assert timeline.day_base == 1


@pytest.mark.parametrize('off', [-20 * 86400, -4000, 4000, 300 * 86400])
def test_a_sample_dated_far_off_its_packet_gets_the_time_of_the_first(off):
    timeline = Timeline()
    good = SINCE_JAN1, SINCE_JAN1 + 0.5
    data = tagged(*((1.0, each) for each in (*good, SINCE_JAN1 + off)), time=DAY_45)
    placed = place(timeline, data, utc(2026, 2, 14))
    ahead = (placed.times - placed.first_ns) / 1e9
    assert ahead.tolist() == pytest.approx([0.0, 0.5, 0.0], abs=1e-6)
    assert (timeline.statistics.times_out_of_range, timeline.day_base) == (1, 1)


def test_times_with_the_appendix_factors_are_trusted_and_counted():
    # Row 4: days * 8640000000, hours * 360000000 give 395216789012 us for the same moment.
    timeline = Timeline()
    data = tagged((1, 395216789012), time=DAY_45, layout='<qQ', control=INTEGER | TAGGED)
    placed = place(timeline, data, utc(2026, 2, 14))
    assert placed.first_ns == utc(2026, 2, 14, 12, 34, 56, ns=789_012_000)
    assert placed.times.tolist() == [utc(2026, 1, 1) + 395216789012000]
    assert timeline.statistics.times_disagreeing == 1


# Year and zone


def test_the_year_is_the_one_nearest_to_the_reception():
    last, first = datagram(time=bcd(365, 23, 59, 59)), datagram(time=bcd(1, 0, 0, 0))
    assert place(Timeline(), last, utc(2026, 1, 1)).first_ns == utc(2025, 12, 31, 23, 59, 59)
    assert place(Timeline(), first, utc(2025, 12, 31, 23, 59)).first_ns == utc(2026, 1, 1)
    assert place(Timeline(), last, utc(2025, 12, 31, 23)).first_ns == utc(
        2025, 12, 31, 23, 59, 59)
    leap = datagram(time=bcd(366, 12, 0, 0))
    assert place(Timeline(), leap, utc(2025, 1, 1)).first_ns == utc(2024, 12, 31, 12)


def test_a_second_60_is_the_next_minute():
    leap = datagram(time=bcd(181, 23, 59, 60, 5))
    assert place(Timeline(), leap, utc(2026, 6, 30)).first_ns == utc(2026, 7, 1, ns=5000)


@pytest.mark.parametrize('year', [2024, 2025])
@pytest.mark.parametrize('given_year', [False, True])
def test_time_goes_on_across_new_year(year, given_year):
    timeline = Timeline(year=year if given_year else None)
    days = 366 if year == 2024 else 365
    end = days * 86400.0
    steps = (
        ((days, 23, 59, 59, 980_000), [end - 0.02, end - 0.01]),
        # The first sample is of the old year and the others of the new one; counted on, or from
        # zero.
        ((days, 23, 59, 59, 995_000), [end - 0.005, 0.005, 0.015]),
        ((1, 0, 0, 0, 20_000), [0.02, 0.03]),
        ((1, 0, 0, 0, 40_000), [0.04]),
    )
    new_year = utc(year + 1, 1, 1)
    times = []
    for number, (moment, samples) in enumerate(steps):
        # A recording is read years later.
        received = utc(2031, 5, 5) if given_year else new_year + number * SECOND // 100
        placed = place(timeline, tagged(*((1.0, s) for s in samples), time=bcd(*moment)), received)
        assert abs(placed.first_ns - placed.times[0]) < 10
        times.extend(np.round((placed.times - new_year) / 1e6).astype(int).tolist())
    assert times == [-20, -10, -5, 5, 15, 20, 30, 40]
    assert timeline.statistics.times_disagreeing == 0


def test_samples_may_be_counted_on_across_new_year():
    end = 365 * 86400.0
    placed = place(Timeline(), tagged(
        (1.0, end - 0.5), (1.0, end + 0.5), time=bcd(365, 23, 59, 59, 500_000)), utc(2026, 1, 1))
    assert np.round((placed.times - utc(2026, 1, 1)) / 1e8).tolist() == [-5, 5]


def test_a_packet_time_of_the_new_year_may_come_with_a_sample_of_the_old_one():
    end = 365 * 86400.0
    placed = place(Timeline(), tagged(
        (1.0, end - 0.5), (1.0, 0.0), time=bcd(1, 0, 0, 0)), utc(2026, 1, 1))
    assert np.round((placed.times - utc(2026, 1, 1)) / 1e8).tolist() == [-5, 0]


def test_the_zone_is_taken_off():
    timeline = Timeline(utc_offset_hours=-5.0)
    data = tagged((1.0, SINCE_JAN1), time=DAY_45)
    placed = place(timeline, data, utc(2026, 2, 14, 17, 34, 57))
    assert placed.first_ns == utc(2026, 2, 14, 17, 34, 56, ns=789_012_000)
    assert abs(placed.times[0] - placed.first_ns) <= 1
    assert timeline.latency_ns == 210_988_000
    # On New Year's Eve in that zone it is January in UTC.
    placed = place(Timeline(utc_offset_hours=-5.0), datagram(time=bcd(365, 20, 0, 0)),
                   utc(2026, 1, 1, 1))
    assert placed.first_ns == utc(2026, 1, 1, 1)


# Nonsense


@pytest.mark.parametrize('bad', [float('nan'), float('inf'), -1.0, 1e300, 4e7])
@pytest.mark.filterwarnings('error')
def test_sample_times_out_of_range_become_the_first_good_one(bad):
    timeline = Timeline()
    data = tagged((1.0, bad), (2.0, SINCE_JAN1 + 1), (3.0, SINCE_JAN1), time=DAY_45)
    placed = place(timeline, data, utc(2026, 2, 14))
    assert placed.times[0] == placed.times[2]
    assert timeline.statistics.times_out_of_range == 1
    only_bad = place(Timeline(), tagged((1.0, bad), time=DAY_45), utc(2026, 2, 14))
    assert only_bad.times is None
    assert only_bad.first_ns == utc(2026, 2, 14, 12, 34, 56, ns=789_012_000)


@settings(max_examples=150)
@given(
    st.binary(min_size=8, max_size=8) | st.just(DAY_45) | st.just(bcd(1, 0, 0, 0)),
    st.lists(st.floats(), max_size=4) | st.lists(st.floats(0, 3.2e7), max_size=4),
    st.integers(0, 2**33 * SECOND),
    st.sampled_from([None, 0, 1]),
    st.none() | st.integers(1970, 2200),
)
@pytest.mark.filterwarnings('error')
def test_any_times_are_placed_without_complaint(time, samples, received, base, year):
    timeline = Timeline(day_base=base, year=year, statistics=Statistics())
    for _ in range(2):
        data = tagged(*((1.0, sample) for sample in samples), time=time)
        placed = place(timeline, data, received)
        assert isinstance(placed.first_ns, int)
        if placed.times is not None:
            assert abs(placed.times - placed.first_ns).max() < 370 * DAY


def test_20_000_packet_types_are_counted_within_bounds():
    """Packet types are 32 bits that anybody may choose."""
    made = session()
    for kind in range(1, 20_001):
        made.receive(CHANNEL, datagram(kind=kind), SENDER, 0.0)
    skipped = made.statistics.skipped
    assert len(skipped) <= 20
    assert skipped.total == sum(skipped.values()) == 20_000


def test_names_are_printable_in_events_and_short():
    """The packet keeps them unmodified."""
    made = session()
    raw = b'A\nB\x1b[2J\x1f' + b'x' * 1000
    data = struct.pack('<IfIf', 1, 1.5, 1, 2.5)
    event, = [event for event in receive(made, datagram(data=data, samples=2, control=NAMES,
                                                        names=raw))
              if isinstance(event, PacketReceived)]
    assert event.names == (r'A\nB\x1b[2J', 'x' * 200 + '... (1000 characters)') == made.names
    assert event.packet.names == ('A\nB\x1b[2J', 'x' * 1000)


def test_changes_of_names_are_counted():
    made = session()
    for number in range(6):
        receive(made, datagram(number, number + 1, control=NAMES, names=b'AB'[number % 2:][:1]))
    assert made.statistics.renamed == 6


def test_packets_of_other_types_leave_nothing_behind():
    """Also after a silence, when everything before the newest is settled."""
    made = session()
    for silence in range(20):
        receive(made, datagram(100 * silence, 1 + silence))
        made.poll(100.0 + silence)
        for step in range(-127, 128):
            receive(made, datagram(100 * silence + step & 0xffffffff, kind=1))
    assert len(made._senders.current.counting._others) <= 256


def test_thousands_of_names_that_become_one_topic_name_take_no_time():
    assert len(set(topic_names(['-'] * 20_000))) == 20_000


def test_a_year_that_is_given_stays_and_one_that_was_found_is_forgotten():
    given, found = Timeline(year=2019), Timeline()
    assert (given.year, found.year) == (2019, None)
    for timeline in (given, found):
        place(timeline, datagram(), utc(2026, 2, 14, 13))
        assert timeline.readable
    assert (given.year, found.year) == (2019, 2026)
    for timeline in (given, found):
        timeline.restart()
        assert not timeline.readable
    assert (given.year, found.year) == (2019, None)


def test_a_time_that_cannot_be_read_is_told_until_one_can():
    timeline = Timeline()
    told = []
    for time in (DAY_45, b'\xff' * 8, DAY_45):
        place(timeline, datagram(time=time), utc(2026, 2, 14, 13))
        told.append(timeline.readable)
    assert told == [True, False, True]


def test_samples_out_of_the_range_of_times_add_up():
    timeline = Timeline()
    for _ in range(2):
        place(timeline, tagged((1.0, SINCE_JAN1), (2.0, -1.0), time=DAY_45), utc(2026, 2, 14, 13))
    assert timeline.statistics.times_out_of_range == 2


# Several senders


def receive_from(made, sender, number, at, total=None, **options):
    return made.receive(
        CHANNEL, datagram(number % 2**32, number + 1 if total is None else total, **options),
        sender, at)


def test_two_publishers_on_one_port_are_counted_each_by_itself():
    made = session()
    events = []
    for n in range(100):
        if n != 50:
            events += receive_from(made, SENDER, n, n / 100)
        events += receive_from(made, (SENDER[0], 4001), 70_000 + n, n / 100)
    made.poll(1.0)
    assert len(packets(events)) == 199
    # Whoever comes second may be the first one, restarted.
    assert events.count(PublisherRestarted()) == made.statistics.restarts == 1
    assert (made.statistics.lost, made.statistics.too_late, made.awaited) == (0, 0, 1)
    assert made.statistics.alternations > 190
    made.stop(1.0)
    assert made.statistics.lost == 1


def test_senders_are_named_while_they_send():
    made = session()
    for n in range(300):
        receive_from(made, SENDER, n, n / 100)
        if n < 150 and n != 5:
            receive_from(made, ('10.0.0.2', 4000), 9000 + n, n / 100)
        if n == 149:
            found = made.senders
    assert found == (('10.0.0.1:4000', 150, 0), ('10.0.0.2:4000', 149, 1))
    assert mixed(found, 'record one with --sender') == (
        '2 senders are mixed: 10.0.0.1:4000 (150 packets, 0 lost) and 10.0.0.2:4000 (149 '
        'packets, 1 lost); record one with --sender 10.0.0.1')
    # By their ports where these differ only.
    assert mixed([Sender('10.0.0.1:4000', 7, 0), Sender('10.0.0.1:4001', 7, 0)], 'set') == (
        '2 senders are mixed: 10.0.0.1:4000 (7 packets, 0 lost) and 10.0.0.1:4001 (7 packets, 0 '
        'lost); set 10.0.0.1:4000')
    receive_from(made, SENDER, 300, 4.0)
    assert made.senders == (('10.0.0.1:4000', 301, 0),)


def test_a_publisher_restarted_on_another_port_is_not_a_second_one():
    made = session()
    for n in range(50):
        receive_from(made, SENDER, n, n / 100)
    for n in range(300):
        receive_from(made, (SENDER[0], 4001), n, 0.6 + n / 100)
    assert (made.statistics.restarts, made.statistics.alternations) == (1, 0)
    assert made.statistics.lost == 0
    assert made.senders == (('10.0.0.1:4001', 300, 0),)


def test_a_publisher_with_a_new_socket_for_each_packet_is_one():
    made = session()
    for n in (*range(50), *range(55, 100)):
        receive_from(made, (SENDER[0], 4000 + n), n, n / 100)
    assert (made.statistics.restarts, made.statistics.alternations) == (0, 0)
    made.stop(2.0)
    assert made.statistics.lost == 5


def test_senders_are_bounded():
    made = session()
    for n in range(1000):
        receive_from(made, (f'10.0.{n // 250}.{n % 250}', 4000), 1000 * n, n / 1000)
    assert len(made.senders) == 8
    made.stop(1.0)
    assert made.senders == ()


def test_a_packet_of_another_type_counts_for_its_sender():
    made = session()
    for n in range(20):
        receive_from(made, SENDER, n, n / 100, kind=7 * (n == 10))
        receive_from(made, ('10.0.0.2', 4000), 500 + n, n / 100)
    receive_from(made, ('10.0.0.3', 4000), 3, 0.2, kind=7)
    assert len(made.senders) == 2
    made.stop(1.0)
    assert (made.statistics.lost, made.statistics.skipped.total) == (0, 2)
