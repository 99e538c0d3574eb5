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

"""The clock of the simulated X-Plane, against Python's calendar."""

from datetime import datetime, timedelta

from hypothesis import given, settings, strategies
import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from simulated_xplane import Sim

CLOCK = 'sim/cockpit2/clock_timer/'
# Of a year without a leap day, after another one.
NEW_YEAR = datetime(2002, 1, 1)


@pytest.fixture(scope='module')
def sim() -> Sim:
    """Return a flight whose clock is set."""
    return Sim(version=12)


def shown(sim: Sim, which: str) -> list[float]:
    return [sim.one(f'{CLOCK}{which}_time_{hand}') for hand in ('hours', 'minutes', 'seconds')]


@settings(max_examples=30, deadline=None)
@given(date=strategies.integers(0, 364), seconds=strategies.integers(0, 86_399),
       lon=strategies.floats(-179.9, 179.9))
def test_date_and_hands_are_the_calendars(sim: Sim, date: int, seconds: int, lon: float) -> None:
    sim.world.teleport(0, lon_deg=lon)
    sim.world.zulu_date = date
    sim.put('sim/time/zulu_time_sec', float(seconds))
    zulu = NEW_YEAR + timedelta(days=date, seconds=seconds)
    # Zones of 15 degrees, around 0, 15, 30 ...
    local = zulu + timedelta(hours=round(lon / 15.0))
    assert shown(sim, 'zulu') == [zulu.hour, zulu.minute, zulu.second]
    assert shown(sim, 'local') == [local.hour, local.minute, local.second]
    assert (sim.one(CLOCK + 'current_month'), sim.one(CLOCK + 'current_day')) == (
        local.month, local.day)
    assert sim.one('sim/time/local_date_days') == local.timetuple().tm_yday - 1
    assert sim.one('sim/time/local_time_sec') == (local - datetime(
        local.year, local.month, local.day)).total_seconds()
    # A local date leaves the time of day alone.
    sim.put('sim/time/local_date_days', 58)
    assert (sim.one(CLOCK + 'current_month'), sim.one(CLOCK + 'current_day')) == (2, 28)
    assert shown(sim, 'local') == [local.hour, local.minute, local.second]


def test_the_date_changes_at_midnight(sim: Sim) -> None:
    sim.world.teleport(0, lon_deg=0.0)
    sim.world.freeze(0, True)
    sim.put('sim/time/zulu_time_sec', 86_399.0)
    sim.put('sim/time/local_date_days', 364)
    sim.world.advance(0.5)
    assert sim.one(CLOCK + 'current_month') == 12
    sim.world.advance(1.0)
    assert sim.one('sim/time/local_date_days') == 0
    assert sim.one('sim/time/zulu_time_sec') == pytest.approx(0.5)
    sim.put('sim/time/local_date_days', -1)
    assert sim.one('sim/time/local_date_days') == 364
