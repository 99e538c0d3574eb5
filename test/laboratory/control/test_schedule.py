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

"""Schedules: what is between their points, what is refused, and gains that have none."""

from __future__ import annotations

from dataclasses import asdict
import math
from pathlib import Path

import pytest

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.gains import (
    Gains,
    load,
    read_parameters,
    scaled,
    scaled_parameters,
    scheduled,
    ScheduledGains,
)
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.runway.autopilot import Autopilot
from xplane_bridge.laboratory.control.schedule import Schedule

LISTS = {
    'airspeed': [40.0, 60.0], 'altitude': [0.0, 1000.0, 3000.0],
    'roll_to_roll_rate': [1.0, 2.0, 3.0, 5.0, 6.0, 7.0]}


def measured(airspeed: float, altitude: float, roll: float = 0.0) -> Measurement:
    return Measurement(roll, 0.0, 0.0, 0.0, 0.0, 0.0, altitude, airspeed)


@pytest.mark.parametrize(('airspeed', 'altitude', 'value'), [
    (40.0, 0.0, 1.0), (60.0, 3000.0, 7.0), (50.0, 0.0, 3.0), (40.0, 2000.0, 2.5),
    (45.0, 500.0, 2.5),
    # Outside it is as at the nearest edge.
    (10.0, -50.0, 1.0), (90.0, 9000.0, 7.0), (90.0, 500.0, 5.5), (50.0, 9000.0, 5.0),
    (math.nan, 0.0, 1.0), (60.0, math.nan, 5.0),
])
def test_values_are_interpolated_and_held_at_the_edges(
        airspeed: float, altitude: float, value: float) -> None:
    found = Schedule.of(LISTS).at(airspeed, altitude)
    assert found == {'roll_to_roll_rate': pytest.approx(value)}


def test_scheduled_gains_are_scaled_only_beyond_their_airspeeds() -> None:
    gains = scheduled(Gains(airspeed=51.0, climb_limit=9.0), LISTS)
    assert gains.at(55.0, 0.0).airspeed == 55.0
    assert gains.at(30.0, 0.0).airspeed == 40.0
    assert gains.at(80.0, 0.0).airspeed == 60.0
    # What is not scheduled holds everywhere.
    assert gains.at(80.0, 0.0).climb_limit == 9.0


def test_factors_of_a_plant_hold_for_scheduled_gains_too(tmp_path: Path) -> None:
    factors = (('roll_to_roll_rate', 2.0), ('climb_limit', 0.5))
    gains = scaled(scheduled(Gains(climb_limit=9.0), LISTS), factors)
    assert gains.at(50.0, 2000.0).roll_to_roll_rate == pytest.approx(2.0 * 4.5)
    assert gains.at(50.0, 2000.0).climb_limit == 4.5
    file = written(tmp_path, '{airspeed: [40.0, 60.0], roll_to_roll_rate: [1.0, 2.0]}')
    found = scaled_parameters(file, factors)
    assert found['schedule.roll_to_roll_rate'] == [2.0, 4.0]
    assert found['gains.climb_limit'] == 4.5


def test_gains_without_a_schedule_are_the_same_object_everywhere() -> None:
    gains = Gains()
    assert scheduled(gains, {}) is gains
    assert gains.at(12.0, 345.0) is gains


@pytest.mark.parametrize('law', [Cascade, Autopilot])
def test_the_cascade_flies_with_the_gains_of_where_it_is(law: type[Cascade]) -> None:
    gains = scheduled(Gains(roll_rate_limit=10.0), LISTS)
    cascade = law(gains)
    cascade.engage(measured(50.0, 0.0), Controls(0.0, 0.0, 0.0, 0.5))
    assert cascade.gains.roll_to_roll_rate == pytest.approx(3.0)
    cascade.update(measured(50.0, 2000.0), 0.01)
    assert cascade.gains == gains.at(50.0, 2000.0)
    constant = law(gains.at(50.0, 2000.0))
    now = measured(50.0, 2000.0, roll=0.02)
    for each in (cascade, constant):
        each.engage(now, Controls(0.0, 0.0, 0.0, 0.5))
    assert cascade.update(now, 0.01) == constant.update(now, 0.01)


@pytest.mark.parametrize(('change', 'sentence'), [
    ({'airspeed': []}, 'airspeed has 0 values, expected 1 to 64'),
    ({'airspeed': [60.0, 40.0]}, 'airspeed: expected numbers that rise, got 60, 40'),
    ({'altitude': [0.0, 0.0, 1.0]}, 'altitude: expected numbers that rise'),
    ({'altitude': [0.0, 1.0, math.inf]}, 'altitude: expected numbers that rise'),
    ({'airspeed': [*map(float, range(65))]}, 'airspeed has 65 values, expected 1 to 64'),
    ({'roll_to_roll_rate': [1.0]},
     'roll_to_roll_rate has 1 value, expected 6: one for each of 2 airspeeds and 3 altitudes'),
    ({'roll_to_roll_rate': [1.0, 2.0, 3.0, 4.0, math.nan, 6.0]},
     'roll_to_roll_rate has no value at 60 m/s and 1000 m: a schedule may have no holes'),
    ({'rolling': [1.0] * 6}, 'rolling is unknown: expected one of airspeed, '),
    ({'airspeed_to_throttle': [0.1, 0.1, 0.0, 0.1, 0.1, 0.1]}, 'an engine everywhere or nowhere'),
])
def test_what_is_no_schedule_is_refused_with_a_sentence(
        change: dict[str, list[float]], sentence: str) -> None:
    with pytest.raises(ValueError, match='^schedule: ') as refused:
        scheduled(Gains(), LISTS | change)
    assert sentence in str(refused.value)


def test_a_schedule_has_something_to_schedule() -> None:
    with pytest.raises(ValueError, match='no values beside its airspeeds and altitudes'):
        scheduled(Gains(), {'airspeed': [40.0]})


FILE = """
/**:
  ros__parameters:
    gains: {{airspeed: 50.0, climb_limit: 9.0}}
    schedule: {schedule}
"""


def written(folder: Path, schedule: str) -> Path:
    file = folder / 'gains.yaml'
    file.write_text(FILE.format(schedule=schedule))
    return file


def test_a_file_has_a_schedule_and_passes_it_on_to_the_node(tmp_path: Path) -> None:
    file = written(tmp_path, '{airspeed: [40, 60.0], roll_to_roll_rate: [1.0, 2.0]}')
    gains = load(file)
    assert isinstance(gains, ScheduledGains)
    assert gains.at(50.0, 1234.0).roll_to_roll_rate == 1.5
    assert gains.climb_limit == 9.0
    assert read_parameters(file) == {
        'gains.airspeed': 50.0, 'gains.climb_limit': 9.0, 'schedule.airspeed': [40.0, 60.0],
        'schedule.roll_to_roll_rate': [1.0, 2.0]}
    plain = load(written(tmp_path, '{}'))
    assert type(plain) is Gains
    assert asdict(plain) == asdict(Gains(airspeed=50.0, climb_limit=9.0))


@pytest.mark.parametrize(('schedule', 'sentence'), [
    ('[1.0]', 'schedule: expected names with lists of numbers'),
    ('{rolling: [1.0]}', 'schedule.rolling is unknown: expected one of airspeed, altitude, roll'),
    ('{airspeed: 40.0}', 'schedule.airspeed: expected a list of numbers, got 40.0'),
    ('{airspeed: [fast]}', 'schedule.airspeed: expected a list of numbers'),
    ('{airspeed: [40.0, 60.0], roll_to_roll_rate: [1.0, .nan]}', 'may have no holes'),
])
def test_a_wrong_schedule_in_a_file_is_refused(
        schedule: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match='^schedule') as refused:
        load(written(tmp_path, schedule))
    assert sentence in str(refused.value)
