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
"""The runway of a scenario, and the events that fly from it and to it."""

import math

from orders import flown
import pytest
import yaml

from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.laboratory.campaigns.plan import parameters
from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.laboratory.flights.scenario.scenario import ScenarioError

GOOD = """
duration: 100
initial: {parked: true}
runway: {heading_deg: 180, elevation_msl: 430, length: 1000, width: 30}
events:
  - {at: 1, engage: true}
  - {at: 1, take_off: {height: 120}}
  - {at: 2, pattern: {side: right}}
  - {at: 3, land: true}
criteria: [{figure: runway.sink, at_most: 2}]
"""


def parsed(text):
    return scenario.parse('mine', yaml.safe_load(text))


def test_events_have_heights_above_the_runway_and_say_what_they_are():
    found = parsed(GOOD)
    assert [(event.action, event.value) for event in found.events[1:]] == [
        ('take_off', {'height': 120.0}), ('pattern', {'height': 300.0, 'side': 'right'}),
        ('land', {})]
    assert [str(event) for event in found.events[1:]] == [
        'take-off to 120 m', 'pattern to 300 m, turns to the right', 'land']
    assert str(parsed(GOOD.replace('land: true', 'go_around: {}')).events[3]) == (
        'go around to 300 m')


def test_an_aircraft_that_is_parked_stands_on_the_centreline_in_its_direction():
    found = parsed(GOOD)
    seen = found.runway.seen_from(LocalFrame(47.4, 8.5, 477.0))
    east, north, _ = LocalFrame(47.4, 8.5, 477.0).geodetic_to_enu(
        found.initial['latitude_deg'], found.initial['longitude_deg'], found.runway.elevation)
    assert seen.locate(east, north) == pytest.approx((30.0, 0.0), abs=1e-3)
    assert found.initial['heading_deg'] == pytest.approx(180.0)
    # What the file says, it keeps.
    own = parsed(GOOD.replace('parked: true', 'parked: true, heading_deg: 175'))
    assert own.initial['heading_deg'] == 175.0
    assert 'latitude_deg' not in parsed(GOOD.replace('parked: true', 'parked: false')).initial


def test_an_elevation_is_above_mean_sea_level_and_altitudes_above_the_ellipsoid():
    # The geoid is about 47 m above the ellipsoid there.
    assert parsed(GOOD).runway.elevation == pytest.approx(477.3, abs=1.0)


def test_a_runway_without_an_elevation_has_that_of_the_ground_or_none_lands_there():
    unknown = parsed(GOOD.replace('elevation_msl: 430, ', '')).runway
    frame = LocalFrame(47.4, 8.5, 477.0)
    with pytest.raises(ValueError, match='the elevation of the runway is not known'):
        unknown.seen_from(frame)
    known = unknown.on_ground(612.0)
    assert known.seen_from(frame).elevation == pytest.approx(612.0 + 47.3, abs=1.0)
    # What the scenario says holds.
    assert known.on_ground(100.0) is known


@pytest.mark.parametrize(('length', 'aiming_point'), [
    (200, 100.0), (700, 150.0), (1000, 250.0), (1200, 300.0), (3000, 400.0)])
def test_the_aiming_point_is_that_of_runways_of_its_length(length, aiming_point):
    found = parsed(GOOD.replace('length: 1000', f'length: {length}'))
    assert found.runway.aiming_point == aiming_point
    assert math.degrees(found.runway.glide_path) == pytest.approx(3.0)


@pytest.mark.parametrize(('old', 'new', 'sentence'), [
    ('heading_deg: 180, ', '', 'runway: heading_deg is missing'),
    ('length: 1000, ', '', 'runway: length is missing'),
    ('length: 1000', 'length: 20', 'runway.length: expected 100 to 20000 m, got 20'),
    ('width: 30', 'width: 30, aiming_point: 1000', 'is beyond the runway of 1000 m'),
    ('width: 30', 'width: 30, slope: 1', "unknown name 'slope'"),
    ('heading_deg: 180', 'heading_deg: .nan', 'expected a finite number, got nan'),
    ('land: true', 'land: false', 'events[3].land: expected true, got False'),
    ('land: true', 'land: {height: 3}', 'events[3].land: expected true'),
    ('height: 120', 'height: 10', 'take_off.height: expected 50 to 3000 m, got 10'),
    ('height: 120', 'side: left', "unknown name 'side'"),
    ('side: right', 'side: up', 'pattern.side: expected'),
    ('- {at: 1, engage: true}', '- {at: 3, engage: true}',
     'take_off at 1 s: the autopilot is not engaged'),
    ('runway: {heading_deg: 180, elevation_msl: 430, length: 1000, width: 30}\n', '',
     'take_off at 1 s, pattern at 2 s, land at 3 s needs a runway: state heading_deg'),
])
def test_a_mistake_is_said_with_its_place(old, new, sentence):
    text = GOOD.replace(old, new)
    assert text != GOOD
    with pytest.raises(ScenarioError) as error:
        parsed(text)
    assert sentence in str(error.value)


def test_a_plan_varies_the_runway():
    content = parameters.apply(
        yaml.safe_load(GOOD), {'runway.elevation_msl': 1500.0, 'runway.heading_deg': 20.0})
    found = scenario.parse('mine', content)
    assert found.runway.elevation_msl == 1500.0
    assert found.initial['heading_deg'] == pytest.approx(20.0)


def test_no_target_is_held_from_runway_to_runway():
    pytest.importorskip('jsbsim', reason='the aircraft needs jsbsim')
    flight = flown(parsed(GOOD.replace('duration: 100', 'duration: 4')))
    held = flight.history().series['target_altitude']
    assert math.isnan(held.values[-1])
    assert math.isnan(flight.result().figures['tracking']['altitude']['rms'])
