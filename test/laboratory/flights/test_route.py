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

"""A scenario's route: along which path, how far from it, and for whom as headings."""

import math
from pathlib import Path

from orders import flown
import pytest

from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.flights.route import RouteFlight
from xplane_bridge.laboratory.flights.scenario.scenario import load, parse, Route, ScenarioError
from xplane_bridge.laboratory.flights.scenario.start import apply_start, Start

ROOT = Path(__file__).resolve().parents[3]
SQUARE = ((2500.0, 0.0), (2500.0, 2200.0), (0.0, 2200.0), (0.0, 0.0))


class Moving:
    """Telemetry of an aircraft that flies straight on, 10 times per second, from (100, 20)."""

    def __init__(self, course=math.pi / 2.0, speed=50.0, heading=math.pi / 2.0):
        self.course, self.speed, self.heading_now, self.time = course, speed, heading, 10.0

    def at(self, name, time):
        distance = self.speed * (time - 10.0)
        return {'east': 100.0 + distance * math.sin(self.course),
                'north': 20.0 + distance * math.cos(self.course),
                'heading': self.heading_now}[name]

    def last(self, name):
        return self.at(name, self.time)

    def since(self, name, start):
        times = [self.time - 0.1 * n for n in range(100, -1, -1) if self.time - 0.1 * n >= start]
        return times, [self.at(name, time) for time in times]


def test_the_path_begins_with_the_course_and_has_turns_of_the_bank():
    flight = RouteFlight(Route(10.0, SQUARE, math.radians(20.0)), Moving(), 10.0)
    assert flight.waypoints[0] == (2600.0, 20.0)
    arc = next(one for one in flight.path._segments if one.curvature)
    # By hand: 50^2 / (9.80665 tan 20 deg) = 700.4 m.
    assert arc.radius == pytest.approx(700.4, abs=0.1)


def test_the_distance_is_that_from_the_path():
    moving = Moving()
    flight = RouteFlight(Route(10.0, SQUARE, math.radians(20.0)), moving, 10.0)
    for _ in range(450):
        flight.update()
        moving.time += 0.1
    # It flies straight on past the first corner: ever further from the arc.
    assert max(map(abs, flight.across[:300])) < 0.1
    assert max(map(abs, flight.across)) > 50.0
    assert flight.passed == []


def test_drift_is_held_against_the_wind():
    # The course is east, for which the heading is 10 degrees into the wind from the north.
    moving = Moving(heading=math.radians(80.0))
    flight = RouteFlight(Route(10.0, SQUARE, math.radians(20.0)), moving, 10.0)
    assert flight.heading(flight.update(), 10.0) == pytest.approx(math.radians(80.0), abs=1e-6)


def test_without_a_position_it_is_refused():
    moving = Moving()
    moving.last = lambda name: math.nan
    with pytest.raises(ValueError, match='needs odom'):
        RouteFlight(Route(10.0, SQUARE, 0.3), moving, 10.0)


def test_a_heading_during_the_route_is_refused():
    content = {
        'duration': 60.0, 'criteria': [{'figure': 'duration', 'at_least': 0.0}],
        'events': [{'at': 0.0, 'engage': True}, {'at': 20.0, 'change': {'heading_deg': 10.0}}],
        'route': {'begin': 10.0, 'waypoints': [[1000, 0]]}}
    with pytest.raises(ScenarioError, match='the heading at 20 s would leave it'):
        parse('flight', content)


class Foreign:
    """A controller that hears targets only."""

    def __init__(self):
        self._inner = Cascade()
        self.engage, self.update = self._inner.engage, self._inner.update

    @property
    def target(self):
        return self._inner.target

    @target.setter
    def target(self, target):
        self._inner.target = target


@pytest.mark.parametrize(('law', 'wind', 'most'), [
    (Cascade, (0.0, 0.0, 0.0), 3.0), (Cascade, (0.0, 8.0, 0.0), 15.0),
    (Foreign, (0.0, 0.0, 0.0), 30.0)])
def test_racetrack_is_flown_within_metres_of_its_path(law, wind, most):
    pytest.importorskip('jsbsim', reason='the simulated aircraft needs jsbsim')
    scenario = load(str(ROOT / 'xplane_bridge/data/scenarios' / 'racetrack.yaml'))
    result = flown(apply_start(scenario, Start(wind=wind)), law=law()).result()
    assert result.figures['route']['reached'] == 4
    assert result.figures['route']['cross_track'] < most
