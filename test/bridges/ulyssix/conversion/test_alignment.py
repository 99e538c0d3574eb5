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

"""Aligned samples: at which times, with which values, and what is waited for."""

import numpy as np
import pytest

from xplane_bridge.bridges.ulyssix.conversion import alignment
from xplane_bridge.bridges.ulyssix.conversion.alignment import Aligner, ParameterSeries

SECOND = 10**9


def series(times, values=None):
    """Return samples at times (s); without values, the times themselves."""
    stamps = np.round(np.asarray(times, float) * SECOND).astype(np.int64)
    return ParameterSeries(stamps, np.asarray(times if values is None else values, float))


NONE = series([])


def add(aligner, *some):
    """Add samples, and return times (s) and values."""
    times, values = aligner.add(some)
    assert values.shape == (len(some), len(times))
    return (times / SECOND).round(9).tolist(), values.round(9).tolist()


def test_samples_of_the_same_times_are_returned_at_once():
    aligner = Aligner([0.0, 0.0])
    times = series([1.0, 1.5])
    assert add(aligner, times, ParameterSeries(times.times, times.values * 2.0)) == (
        [1.0, 1.5], [[1.0, 1.5], [2.0, 3.0]])
    assert aligner.delay == 0.0
    assert add(aligner, series([2.0]), series([2.0], [7.0])) == ([2.0], [[2.0], [7.0]])


@pytest.mark.parametrize('wrong', [[2.0, 1.0], [1.0, 1.0], [0.5, 1.0]])
def test_samples_that_are_not_later_are_left_out_and_counted(wrong):
    aligner = Aligner([0.0, 0.0])
    add(aligner, series([0.0, 1.0]), series([0.0, 1.0]))
    times, _ = add(aligner, series(wrong), series(wrong))
    assert times == ([2.0] if 2.0 in wrong else [])
    assert aligner.late == (2 if 2.0 in wrong else 4)


def test_samples_out_of_order_are_sorted_and_the_first_of_equal_ones_counts():
    aligner = Aligner([0.0])
    assert add(aligner, series([3.0, 1.0, 2.0, 2.0], [30.0, 10.0, 20.0, 99.0])) == (
        [1.0, 2.0, 3.0], [[10.0, 20.0, 30.0]])
    assert aligner.late == 1


@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_samples_that_are_no_numbers_are_left_out_and_counted(bad):
    aligner = Aligner([0.0, 0.0])
    times, values = add(aligner, series([1.0, 2.0, 3.0]), series([1.0, 2.0, 3.0], [1.0, bad, 9.0]))
    assert aligner.late == 1
    # The one of fewer samples is the slower one.
    assert (times, values) == ([1.0, 3.0], [[1.0, 3.0], [1.0, 9.0]])


def test_values_in_between_are_on_straight_lines_and_nothing_is_beyond():
    aligner = Aligner([0.0, 0.0])
    slow, fast = series([0.0, 1.0, 2.0], [0.0, 10.0, 40.0]), series(np.arange(9) * 0.25 + 0.1)
    times, values = add(aligner, slow, fast)
    # From when both are known, to when both are.
    assert times == [1.0, 2.0]
    assert values == [[10.0, 40.0], [1.0, 2.0]]
    assert aligner.delay == pytest.approx(0.1)


def test_a_constant_rate_has_times_of_its_own():
    aligner = Aligner([0.0, 0.0], rate=4.0)
    times, values = add(aligner, series([0.1, 1.1], [1.0, 11.0]), series([0.0, 0.9], [0.0, 9.0]))
    assert times == [0.25, 0.5, 0.75]
    assert values == [[2.5, 5.0, 7.5], [2.5, 5.0, 7.5]]
    times, values = add(aligner, series([2.1], [21.0]), series([1.8], [18.0]))
    assert times == [1.0, 1.25, 1.5, 1.75]
    assert values == [[10.0, 12.5, 15.0, 17.5]] * 2
    exactly = Aligner([0.0], rate=2.0)
    assert add(exactly, series([0.0, 1.0]))[0] == [0.0, 0.5, 1.0]


def test_angles_go_the_shorter_way_round_and_stay_in_their_turn():
    from_zero = Aligner([360.0], rate=2.0)
    assert add(from_zero, series([0.0, 1.0, 2.0], [350.0, 10.0, 350.0]))[1] == [
        [350.0, 0.0, 10.0, 0.0, 350.0]]
    both = Aligner([360.0], rate=2.0)
    assert add(both, series([0.0, 1.0], [170.0, -170.0]))[1] == [[170.0, -180.0, -170.0]]
    # Also across packets.
    assert add(both, series([2.0], [170.0]))[1] == [[-180.0, 170.0]]


@pytest.mark.parametrize(('later', 'is_near'), [
    (3.4, True), (3.5, True), (3.6, False), (4.0, False)])
def test_over_more_than_three_and_a_half_periods_nothing_is_interpolated(later, is_near):
    aligner = Aligner([0.0], rate=2.0)
    add(aligner, series([0.0, 1.0, 2.0]))
    times, values = add(aligner, series([2.0 + later]))
    assert times == [at for at in (2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0) if at <= 2.0 + later]
    assert np.isfinite(values[0]).tolist() == [is_near or at == 2.0 + later for at in times]
    # The period follows by a tenth, unless it was a gap.
    assert aligner._buffers[0].period == pytest.approx(
        SECOND * (1.0 + 0.1 * (later - 1.0) * (later < 3.5)))


def test_a_silent_parameter_is_waited_for_a_second_and_three_periods():
    aligner = Aligner([0.0, 0.0])
    add(aligner, series([0.0, 0.5]), series([0.0, 0.5]))
    for now in (1.0, 1.5, 2.0, 2.5, 3.0):
        assert add(aligner, series([now]), NONE)[0] == []
    assert aligner.delay == 2.5
    times, values = add(aligner, series([3.1]), NONE)
    assert times == [1.0, 1.5, 2.0, 2.5, 3.0, 3.1]
    assert values[0] == times
    assert np.isnan(values[1]).all()
    # It is back: both count again.
    times, values = add(aligner, series([3.5, 4.0]), series([3.5, 4.0]))
    assert times[-1] == 4.0
    assert values[1][-1] == 4.0


def test_nobody_is_waited_for_longer_than_a_minute():
    aligner = Aligner([0.0, 0.0])
    add(aligner, series([0.0, 100.0]), series([0.0, 100.0]))
    assert add(aligner, series([160.0]), NONE)[0] == []
    assert add(aligner, series([161.0]), NONE)[0] == [160.0, 161.0]


def test_one_that_was_never_heard_is_waited_for_a_second():
    aligner = Aligner([0.0, 0.0])
    assert add(aligner, series([10.0, 11.0]), NONE)[0] == []
    assert aligner.delay == 1.0
    times, values = add(aligner, series([11.1]), NONE)
    assert times == [10.0, 11.0, 11.1]
    assert np.isnan(values[1]).all()


@pytest.mark.parametrize(('back', 'starts_over'), [(9.9, False), (10.1, True)])
@pytest.mark.parametrize('both', [False, True])
def test_a_clock_that_was_set_back_starts_all_over(back, starts_over, both):
    aligner = Aligner([0.0, 0.0])
    now = [100.0, 100.5]
    add(aligner, series(now), series(now))
    late = series([100.5 - back])
    add(aligner, late, late if both else NONE)
    assert (aligner.late == 0) is starts_over
    if starts_over and both:
        after = [101.0 - back, 101.5 - back]
        assert add(aligner, series(after), series(after))[0] == after


def test_of_a_faster_one_every_nth_sample_counts():
    aligner = Aligner([0.0], fastest=10.0)
    times = np.arange(1, 41) * 0.03
    # 33.3 Hz: every third.
    assert add(aligner, series(times))[0] == times[2::3].round(9).tolist()
    slow = Aligner([0.0], fastest=10.0)
    times = np.arange(1, 8) * 0.08
    assert add(slow, series(times))[0] == times.round(9).tolist()


def test_the_pace_is_the_slowest_ones_if_it_is_clearly_slower():
    alike = Aligner([0.0, 0.0])
    one, other = np.arange(10) * 1.0, np.arange(9) * 1.1
    assert add(alike, series(one), series(other))[0] == one[one <= other[-1]].tolist()
    slower = Aligner([0.0, 0.0])
    other = np.arange(8) * 1.3
    assert add(slower, series(one), series(other))[0] == other[other <= one[-1]].round(9).tolist()


def test_packets_without_the_slowest_wait_up_to_twenty(monkeypatch):
    aligner = Aligner([0.0, 0.0])
    add(aligner, series([0.0, 0.1, 0.2]), series([0.0, 0.2]))
    for n in range(20):
        assert add(aligner, series([0.21 + n / 100]), NONE)[0] == []
    assert len(aligner._waiting) == 20
    assert aligner.delay == pytest.approx(0.2)
    add(aligner, series([0.45]), NONE)
    assert not aligner._waiting
    times, values = add(aligner, series([0.5]), series([0.5]))
    assert (times, values) == ([0.5], [[0.5], [0.5]])


def test_of_one_parameter_so_much_is_kept(monkeypatch):
    monkeypatch.setattr(alignment, '_MOST_SAMPLES', 4)
    aligner = Aligner([0.0, 0.0])
    add(aligner, series([0.0, 0.4]), series([0.0, 0.4]))
    for n in range(5, 12):
        add(aligner, series([n / 10]), NONE)
    times, _ = add(aligner, series([1.2]), series([1.2]))
    assert times == [1.2]
    assert aligner._buffers[0].kept.times.tolist() == [1200000000]
