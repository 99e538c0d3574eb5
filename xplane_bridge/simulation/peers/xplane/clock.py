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
Datarefs of time and date: docs/wire/xplane_datarefs.md, section 3.

The local time is that of the nautical time zone of the user's aircraft (3.17). The year has 365
days. ground_speed is always 1, there is no replay.
"""

from functools import partial

from xplane_bridge.common.fields import DAY
from xplane_bridge.simulation.peers.world import DAYS_PER_YEAR, World
from xplane_bridge.simulation.peers.xplane.entries import DatarefTable

_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_CLOCK = 'sim/cockpit2/clock_timer/'


def add_clock(t: DatarefTable, world: World) -> None:
    """Add time, its speed, and the clock of the panel."""
    def set_zulu(value: float) -> None:
        world.zulu_time = value % DAY

    def actual_speed() -> float:
        return 0.0 if world.paused else float(world.sim_speed)

    t.float_('sim/time/total_running_time_sec', lambda: world.total_running_time)
    t.float_('sim/time/total_flight_time_sec', lambda: world.flight_time)
    t.float_('sim/network/misc/network_time_sec', lambda: world.network_time)
    t.float_('sim/time/zulu_time_sec', lambda: world.zulu_time, set_zulu)
    t.float_('sim/time/local_time_sec', lambda: world.local_time[1])
    t.int_('sim/time/local_date_days', lambda: world.local_time[0], world.set_local_date)
    t.int_('sim/time/paused', lambda: int(world.paused))
    t.int_('sim/time/sim_speed', lambda: world.sim_speed, world.set_sim_speed)
    t.float_('sim/time/sim_speed_actual', actual_speed, since=10)
    t.float_('sim/time/sim_speed_actual_ogl', actual_speed, since=11)
    t.int_('sim/time/ground_speed', lambda: 1)
    t.float_('sim/time/ground_speed_flt', lambda: 1.0, since=11)
    t.int_('sim/time/is_in_replay', lambda: 0, since=11)
    t.float_('sim/operation/misc/frame_rate_period', lambda: world.frame_period)

    for name, hand in (('hours', 0), ('minutes', 1), ('seconds', 2)):
        t.int_(f'{_CLOCK}zulu_time_{name}', partial(_zulu_hand, world, hand))
        t.int_(f'{_CLOCK}local_time_{name}', partial(_local_hand, world, hand))
    t.int_(_CLOCK + 'current_month', lambda: _month_and_day(world.local_time[0])[0])
    t.int_(_CLOCK + 'current_day', lambda: _month_and_day(world.local_time[0])[1])


def _zulu_hand(world: World, hand: int) -> int:
    return _hands(world.zulu_time)[hand]


def _local_hand(world: World, hand: int) -> int:
    return _hands(world.local_time[1])[hand]


def _hands(seconds: float) -> tuple[int, int, int]:
    """Return hours, minutes and seconds of a time of day."""
    whole = int(seconds)
    return whole // 3600, whole // 60 % 60, whole % 60


def _month_and_day(days: int) -> tuple[int, int]:
    """Return month and day, from 1, of the days since 1 January."""
    month, left = 0, days % DAYS_PER_YEAR
    while left >= _MONTHS[month]:
        left -= _MONTHS[month]
        month += 1
    return month + 1, left + 1
