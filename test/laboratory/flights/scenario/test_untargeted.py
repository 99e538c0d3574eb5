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

"""A scenario for a controller that has its own goals: what of it is flown and judged."""

import pytest

from xplane_bridge.laboratory.flights.order import FlownBy, Order
from xplane_bridge.laboratory.flights.refusals import refusals
from xplane_bridge.laboratory.flights.scenario.scenario import find, load, parse
from xplane_bridge.laboratory.flights.scenario.untargeted import (
    at_the_controls,
    not_judged,
    untargeted,
)

MIXED = parse('mixed', {
    'duration': 20.0,
    'route': {'begin': 2.0, 'waypoints': [[0.0, 500.0]]},
    'events': [
        {'at': 1.5, 'engage': True},
        {'at': 3.0, 'wind': [5.0, 0.0, 0.0]},
        {'at': 5.0, 'change': {'altitude': 50.0},
         'expect': {'until': 15.0, 'band': 2.5, 'settling': 9.0, 'overshoot': 0.1}},
        {'at': 6.0, 'target': {'airspeed': 50.0}}],
    'criteria': [
        {'quantity': 'roll_deg', 'statistic': 'max_abs', 'at_most': 30.0},
        {'quantity': 'heading_error_deg', 'statistic': 'rms', 'at_most': 3.0},
        {'quantity': 'target_altitude', 'statistic': 'max', 'at_most': 9999.0},
        {'figure': 'tracking.altitude.rms', 'at_most': 2.0},
        {'figure': 'route.cross_track', 'at_most': 40.0}]})


def test_targets_are_left_out_with_all_that_needs_them_and_that_is_said():
    flown = untargeted(MIXED)
    assert [(event.at, event.action) for event in flown.events] == [(0.0, 'engage'), (3.0, 'wind')]
    assert [one.name for one in flown.criteria] == ['roll_deg', 'route.cross_track']
    assert flown.route == MIXED.route
    assert not_judged(MIXED) == [
        'altitude by +50 m at 5 s is not sent', 'airspeed to +50 m/s at 6 s is not sent',
        'rms of heading_error_deg is not judged', 'max of target_altitude is not judged',
        'tracking.altitude.rms is not judged']
    assert not_judged(flown) == []
    assert untargeted(flown) == flown


@pytest.mark.parametrize(('name', 'taken'), [
    ('turbulence', []), ('racetrack', []), ('engine_out', []), ('steps', ['controls at 0 s'])])
def test_a_scenario_that_takes_the_controls_cannot_be_flown_so(name, taken):
    flown = untargeted(load(find(name)))
    assert at_the_controls(flown) == taken
    assert bool(taken) == bool(refusals(Order(flown, 'xpc', FlownBy('mine', targets=False))))
