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

"""Faults of the network and of the simulator, in simulated time."""

import pytest

from xplane_bridge.simulation.peers.faults import Faults, Outages, Path


def arrivals(faults, count=1000, direction='in', spacing=0.01):
    """Send numbers at fixed times; return (number, time) as they arrive, in steps of 1 ms."""
    path = Path(faults, direction)
    seen = []
    sent = 0
    for step in range(int((count * spacing + 1.0) * 1000)):
        now = step / 1000
        while sent < count and sent * spacing <= now:
            path.put(sent, now)
            sent += 1
        while (item := path.take(now)) is not None:
            seen.append((item, now))
    assert path.next_arrival() is None
    return seen


def test_without_faults_all_arrive_at_once_and_in_order():
    path = Path(Faults(), 'in')
    for n in range(5):
        path.put(n, 7.0)
    assert path.next_arrival() == 7.0
    assert [path.take(7.0) for _ in range(6)] == [0, 1, 2, 3, 4, None]


def test_loss_is_as_frequent_as_asked():
    lost = 1000 - len(arrivals(Faults(loss=0.1)))
    assert 60 < lost < 140
    assert arrivals(Faults(loss=1.0), 50) == []


def test_duplicates_are_as_frequent_as_asked():
    seen = [n for n, _ in arrivals(Faults(duplicate=0.2))]
    assert 140 < len(seen) - 1000 < 260
    assert set(seen) == set(range(1000))
    assert len(arrivals(Faults(duplicate=1.0), 50)) == 100


def test_a_delay_keeps_the_order():
    seen = arrivals(Faults(delay=0.05), 100)
    assert [n for n, _ in seen] == list(range(100))
    assert all(time - n * 0.01 == pytest.approx(0.05, abs=0.0011) for n, time in seen)


def test_jitter_comes_on_top_and_changes_the_order():
    seen = arrivals(Faults(delay=0.02, jitter=0.05))
    late = [time - n * 0.01 for n, time in seen]
    assert min(late) > 0.0199
    assert max(late) < 0.0711
    assert sum(late) / len(late) == pytest.approx(0.045, abs=0.004)
    numbers = [n for n, _ in seen]
    assert numbers != sorted(numbers)
    assert sorted(numbers) == list(range(1000))


def test_the_same_seed_gives_the_same_faults():
    faults = Faults(loss=0.1, delay=0.01, jitter=0.05, duplicate=0.1, seed=5)
    other = Faults(loss=0.1, delay=0.01, jitter=0.05, duplicate=0.1, seed=6)
    assert arrivals(faults) == arrivals(faults) != arrivals(other)
    assert arrivals(faults) != arrivals(faults, direction='out')


def test_a_cleared_path_is_empty():
    path = Path(Faults(delay=1.0), 'in')
    path.put(1, 0.0)
    path.clear()
    assert path.take(2.0) is None


@pytest.mark.parametrize('bad', [
    {'loss': 1.1}, {'loss': -0.1}, {'duplicate': float('nan')}, {'delay': -1.0},
    {'jitter': float('inf')}, {'freeze_every': -1.0}, {'restart_for': float('nan')}])
def test_values_out_of_range_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Faults(**bad)


def spells(outages, seconds):
    """Return [begin, length] of each outage, at a resolution of 1/64 s."""
    found = []
    was = False
    for step in range(seconds * 64):
        away = outages.active(100.0 + step / 64)
        if away and not was:
            found.append([step / 64, 0.0])
        if away:
            found[-1][1] += 1 / 64
        was = away
    return found


def test_outages_come_at_random_and_last_as_long_as_asked():
    found = spells(Outages(10.0, 2.0, 'seed'), 1200)
    assert 85 < len(found) < 115            # 1200 / (10 + 2) = 100
    assert all(length == pytest.approx(2.0, abs=0.02) for _, length in found[:-1])
    gaps = [b[0] - a[0] - 2.0 for a, b in zip(found, found[1:], strict=False)]
    assert min(gaps) > 4.98
    assert max(gaps) < 15.02
    assert found == spells(Outages(10.0, 2.0, 'seed'), 1200)
    assert found != spells(Outages(10.0, 2.0, 'other'), 1200)


def test_no_outages_by_default():
    assert spells(Faults().freezes(), 100) == spells(Faults().restarts(), 100) == []


def test_outages_outlast_a_long_pause_of_the_caller():
    outages = Outages(1.0, 1.0, 'seed')
    outages.active(0.0)
    assert {outages.active(1000.0 + n / 8) for n in range(40)} == {True, False}
