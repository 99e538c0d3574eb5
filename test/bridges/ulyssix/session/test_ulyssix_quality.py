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


"""Data quality of Ulyssix parameters: flights with one fault each, told from the good ones."""

import numpy as np
import pytest

from xplane_bridge.bridges.ulyssix.protocol import data_packet, PacketTime, WordOrder
from xplane_bridge.bridges.ulyssix.session import CONSTANT, MOVING, Placed, Quality, STUCK

SECOND = 1_000_000_000
BEGIN = 1_700_000_000 * SECOND
TIME = PacketTime(45, 12, 0, 0, 0, WordOrder.FIRST_WORD_HIGH)
NAMES = ('Fast', 'Slow', 'Switch', 'Still')
# 4 samples per packet of 10 ms, one per packet, one in 10 packets, one per packet.
RATES = (400, 100, 10, 100)


def flight(seconds, change=None, tagged=True, latency_ns=20_000_000):
    """Yield (packet, placed, received) at 100 Hz; change(number, samples, times) may alter it."""
    for number in range(round(seconds * 100)):
        at = BEGIN + number * SECOND // 100
        times = [np.arange(4) * SECOND // 400 + at, np.array([at]),
                 np.array([at] if number % 10 == 0 else [], np.int64), np.array([at])]
        values = [np.sin(times[0] / 1e9).astype('f4'), np.array([number % 97 + 0.5], 'f4'),
                  np.full(len(times[2]), number // 500, 'f4'), np.array([3.25], 'f4')]
        if change is not None and change(number, values, times) is False:
            continue
        packet = data_packet(number, number, TIME, values,
                             [each / 1e9 for each in times] if tagged else None)
        first = min(int(each[0]) for each in times if len(each))
        placed = Placed(first, np.concatenate(times) if tagged else None)
        yield packet, placed, at + latency_ns


def judged(packets, **options):
    quality = Quality(**options)
    for packet, placed, received in packets:
        quality.take(NAMES, packet, placed, received)
    return quality


def test_a_good_flight_has_no_fault_and_its_own_rates():
    quality = judged(flight(12.0), constant_after=10.0)
    found = quality.report(renew=False)
    assert found.names == NAMES
    assert found.samples.tolist() == [4800, 1200, 120, 1200]
    assert found.expected_rate == pytest.approx(RATES)
    assert found.rate == pytest.approx(RATES)
    for counts in (found.gaps, found.late, found.invalid, found.out_of_limits):
        assert not counts.any()
    assert not found.stopped.any()
    assert quality.time_jumps == 0
    # What has never changed is told from what has stopped to, and a switch may stay as it is.
    assert found.constant.tolist() == [MOVING, MOVING, MOVING, CONSTANT]
    assert found.unchanged[3] == pytest.approx(11.99)
    assert (found.minimum[1], found.maximum[1]) == (0.5, 96.5)


@pytest.mark.parametrize('tagged', [True, False])
def test_lost_packets_and_missing_samples_are_gaps(tagged):
    def lose(number, values, times):
        if number == 600:
            values[1], times[1] = values[1][:0], times[1][:0]
        return not 300 <= number < 320

    found = judged(flight(10.0, lose, tagged)).report()
    # One missing sample is within the jitter of packets, if it is only known when those are sent
    # and none of them is lost.
    assert found.gaps.tolist() == [80, 20 + tagged, 2, 20]


def test_a_packet_that_comes_late_closes_its_gap():
    packets = list(flight(5.0))
    packets.insert(205, packets.pop(200))
    found = judged(packets).report()
    assert not found.gaps.any()
    assert found.late.tolist() == [4, 1, 0, 1]


@pytest.mark.parametrize('tagged', [True, False])
@pytest.mark.parametrize('together', [1, 2, 4, 8])
def test_packets_in_another_order_change_neither_gaps_nor_the_usual_rate(tagged, together):
    """Of 500 packets 23 are lost: 92 samples of the first parameter, 23 of two others."""
    dice = np.random.default_rng(4)
    lost = set(dice.choice(np.arange(20, 480), 23, replace=False).tolist())
    packets = [each for each in flight(5.0, tagged=tagged) if each[0].counter not in lost]
    shuffled = [
        packets[begin + place] for begin in range(0, len(packets), together)
        for place in dice.permutation(min(together, len(packets) - begin))]
    found = judged(shuffled).report(renew=False)
    assert found.expected_rate == pytest.approx(RATES, rel=0.01)
    assert found.gaps.tolist()[0] == 92
    assert found.gaps.tolist()[1::2] == [23, 23]
    assert found.samples.tolist()[0] == 4 * 477


def test_a_parameter_that_stops_is_missing_while_the_others_continue():
    def stop(number, values, times):
        if number >= 300:
            values[1], times[1] = values[1][:0], times[1][:0]

    found = judged(flight(8.0, stop)).report()
    assert found.stopped.tolist() == [False, True, False, False]
    assert found.age[1] == pytest.approx(5.0, abs=0.02)
    assert found.gaps.tolist() == pytest.approx([0, 500, 0, 0], abs=1)


def test_a_value_that_stops_changing_is_stuck():
    def stick(number, values, times):
        if number >= 200:
            values[1][:] = 7.5

    found = judged(flight(10.0, stick), constant_after=5.0).report()
    assert found.constant.tolist() == [MOVING, STUCK, MOVING, CONSTANT]
    assert found.unchanged[1] == pytest.approx(8.0, abs=0.02)
    found = judged(flight(10.0, stick), constant_after=0.0).report()
    assert not found.constant.any()


def test_nan_infinity_and_limits_are_counted_by_sample():
    def spoil(number, values, times):
        if number == 100:
            values[0][1:3] = np.nan, -np.inf
        if number == 101:
            values[0][:] = np.nan

    def limits(names, derived):
        assert (names, derived) == (NAMES, ())
        return np.array([-np.inf, 1.0, -np.inf, 0.0]), np.array([np.inf, 90.0, np.inf, 10.0])

    found = judged(flight(0.97 * 2), limits=limits).report()
    assert found.out_of_limits.tolist() == [0, 2 * 8, 0, 0]
    found = judged(flight(2.0, spoil)).report()
    assert found.invalid.tolist() == [6, 0, 0, 0]
    assert np.isfinite(found.minimum).all()
    assert np.isfinite(found.maximum).all()


def test_derived_parameters_are_judged_like_those_that_are_sent():
    """They come after them, whenever their first sample does."""
    def limits(names, derived):
        return (np.full(len(names) + len(derived), -np.inf),
                np.array([*[np.inf] * len(names), *[1.0] * len(derived)]))

    quality = Quality(limits=limits)
    for number, (packet, placed, received) in enumerate(flight(2.0)):
        made = number >= 20 and number not in (100, 101)
        times = placed.first_ns + np.array([0, 5_000_000])
        quality.take(NAMES, packet, placed, received, [
            ('Twice', times, np.array([0.5, 2.0 if number == 50 else 1.0]))] * made)
    found = quality.report()
    assert found.names == (*NAMES, 'Twice')
    assert found.samples.tolist() == [800, 200, 20, 200, 356]
    assert found.out_of_limits.tolist() == [0, 0, 0, 0, 1]
    assert found.gaps.tolist() == [0, 0, 0, 0, 4]
    assert (found.minimum[4], found.maximum[4]) == (0.5, 2.0)
    # With other names they stay what they were.
    for packet, placed, received in flight(0.01):
        quality.take(('A', *NAMES[1:]), packet, placed, received, [
            ('Twice', placed.first_ns + np.array([0]), np.array([3.0]))])
    assert quality.report().samples[4] == 357
    assert quality.gone().names == ('Fast',)


@pytest.mark.parametrize('jump', [-3600, 3600])
def test_a_jump_of_the_clock_is_no_gap(jump):
    def moved():
        for packet, placed, received in flight(4.0):
            by = jump * SECOND if packet.counter >= 200 else 0
            yield packet, Placed(placed.first_ns + by, placed.times + by), received

    quality = judged(moved())
    found = quality.report()
    assert quality.time_jumps == 1
    assert not found.gaps.any()
    assert not found.late.any()


def test_a_network_that_holds_packets_back_is_no_jump():
    def held():
        for packet, placed, received in flight(6.0):
            if 200 <= packet.counter < 500:
                received = BEGIN + 5 * SECOND
            yield packet, placed, received

    quality = judged(held())
    assert quality.time_jumps == 0
    assert not quality.report().gaps.any()
    assert quality.latency_max == pytest.approx(3.0)


def test_other_names_keep_the_past_of_those_that_stay():
    quality = judged(flight(2.0))
    for packet, placed, received in flight(2.0):
        quality.take(('Fast', 'New', 'Switch', 'Still'), packet, placed, received)
        break
    found, gone = quality.report(), quality.gone()
    assert found.samples.tolist() == [804, 1, 21, 201]
    assert gone.names == ('Slow',)
    assert gone.samples.tolist() == [200]
