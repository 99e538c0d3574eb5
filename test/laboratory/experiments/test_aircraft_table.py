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

"""The aircraft that are shipped: their gains, how scenarios are stretched, and the table."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from aircraft_table import (
    AIRCRAFT,
    fly,
    misses,
    rows,
    scaled,
    true_airspeed_ratio,
)

from xplane_bridge.laboratory.control.envelope import load as load_envelope
from xplane_bridge.laboratory.control.gains import load as load_gains
from xplane_bridge.laboratory.flights.scenario.scenario import load

ROOT = Path(__file__).resolve().parents[3]
BY_MODEL = {each.model: each for each in AIRCRAFT}


def scenario(name: str):
    return load(str(ROOT / 'xplane_bridge/data/scenarios' / f'{name}.yaml'))


@pytest.mark.parametrize('aircraft', AIRCRAFT, ids=lambda each: each.model)
def test_each_file_is_of_the_flight_in_the_table_and_says_how_it_was_made(aircraft) -> None:
    gains = load_gains(aircraft.model)
    assert gains.airspeed == pytest.approx(aircraft.airspeed, abs=0.1)
    assert gains.has_engine == (aircraft.kind != 'glider')
    envelope = load_envelope(aircraft.model)
    assert envelope.airspeed_low < aircraft.airspeed < envelope.airspeed_high
    text = (ROOT / 'xplane_bridge/data/gains' / f'{aircraft.model}.yaml').read_text()
    assert f'#   tune --model {aircraft.model} --altitude-msl {aircraft.altitude:g} --air' in text
    assert '# roll_rate ' in text
    page = (ROOT / 'docs' / 'reference' / 'aircraft.md').read_text()
    assert f'| {aircraft.model} | {aircraft.kind} |' in page


def test_a_fast_aircraft_has_time_and_room_in_proportion() -> None:
    written, aircraft = scenario('steps'), BY_MODEL['T37']
    speed = aircraft.airspeed * true_airspeed_ratio(aircraft.altitude)
    assert speed == pytest.approx(128.0, abs=2.0)       # 110 m/s calibrated at 3000 m
    steps = scaled(written, aircraft, 0.8)
    assert steps.initial['model'] == 'T37'
    assert steps.initial['airspeed'] == 110.0
    assert steps.events[0].value['throttle'] == 0.8
    assert [each.at for each in steps.events[:2]] == [0.0, 1.6]
    stretch = speed / 55.0
    assert steps.events[2].at == pytest.approx(2.0 + 3.6 * stretch)
    assert steps.events[2].value == written.events[2].value
    assert steps.events[2].expect.settling == pytest.approx(20.0 * stretch)
    assert steps.events[2].expect.band == written.events[2].expect.band
    route = scaled(scenario('racetrack'), aircraft, 0.8)
    assert route.route.waypoints[0][0] == pytest.approx(2500.0 * stretch ** 2)
    assert route.duration == pytest.approx(2.0 + 178.0 * stretch)


def test_a_slow_aircraft_flies_the_steps_as_written_and_takes_longer_for_the_route() -> None:
    steps, written = scaled(scenario('steps'), BY_MODEL['J3Cub'], 0.6), scenario('steps')
    assert steps.duration == written.duration
    assert steps.events[1:] == written.events[1:]
    route = scaled(scenario('racetrack'), BY_MODEL['J3Cub'], 0.6)
    assert route.route.waypoints == scenario('racetrack').route.waypoints
    assert route.duration > 320.0


def test_a_jet_flies_the_steps_with_its_shipped_gains() -> None:
    found = fly(BY_MODEL['T37'], {'steps': scenario('steps')})
    everything = {BY_MODEL['T37']: {**found, 'racetrack': 'no time', 'turbulence': 'no time'}}
    assert misses(everything) == [
        '- T37, `racetrack`: not flown to its end: no time',
        '- T37, `turbulence`: not flown to its end: no time']
    row = rows(everything)[1]
    assert row[:6] == [
        'T37', 'jet trainer', '110 m/s, 3000 m', '7 of 7', 'not flown', 'not flown']
