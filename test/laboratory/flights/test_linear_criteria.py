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

"""Margins and handling qualities as criteria, and what a flight in core keeps for its criteria."""

from dataclasses import replace
import math

import numpy as np
from orders import flown
import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.laboratory.flights.analysis.history import quantity
from xplane_bridge.laboratory.flights.analysis.linear import linear_figures
from xplane_bridge.laboratory.flights.laws import make_autopilot
from xplane_bridge.laboratory.flights.order import FlownBy, Link, Order
from xplane_bridge.laboratory.flights.refusals import refusals
from xplane_bridge.laboratory.flights.scenario.quantities import AIRFRAME, DERIVED, MOTION
from xplane_bridge.laboratory.flights.scenario.scenario import parse

INITIAL = {'altitude': 1500.0, 'airspeed': 50.0}
MARGIN = {'figure': 'margins.elevator.delay', 'at_least': 0.01}
LEVEL = {'figure': 'handling.level', 'at_most': 1.0}


def scenario(*criteria, **initial):
    return parse('short', {
        'duration': 3.0, 'initial': {**INITIAL, **initial},
        'events': [{'at': 0.0, 'engage': True}, {'at': 0.5, 'change': {'altitude': 20.0}}],
        'criteria': [*criteria]})


def figures_of(found):
    return linear_figures(found, make_autopilot)


def test_a_delay_of_the_plant_is_taken_from_the_delay_margin():
    """However its margin was found: so much more, and no more, it may have."""
    whole = figures_of(scenario(MARGIN))['margins']
    late = figures_of(scenario(MARGIN, plant={'command_delay': 0.05}))['margins']
    assert 0.05 < whole['elevator']['delay'] < 1.0
    # Of the elevator's loop while those of the others are closed, whose delay grows as well.
    assert late['elevator']['delay'] == pytest.approx(whole['elevator']['delay'] - 0.05, abs=0.02)
    assert late['disk'] < whole['disk']
    assert not figures_of(scenario({'quantity': 'roll', 'statistic': 'max', 'at_most': 1.0}))


def test_more_gain_of_a_rate_loop_is_taken_from_its_gain_margin():
    """All gains of the elevator's inmost law by the same factor are a factor on its loop."""
    factor = 1.5
    plain, more = (figures_of(scenario(MARGIN, plant=plant))['margins']['elevator']['gain']
                   for plant in ({}, {'gains.pitch_rate_to_elevator': factor,
                                      'gains.pitch_rate_to_elevator_integral': factor}))
    assert plain - more == pytest.approx(20.0 * math.log10(factor), abs=1e-3)


def test_they_are_judged_beside_what_was_flown():
    from xplane_bridge.laboratory.flights.result import evaluate
    flight = flown(scenario(
        MARGIN, LEVEL, {'quantity': 'load_factor', 'statistic': 'max', 'at_most': 3.0},
        {'expression': 'energy_height - altitude', 'unit': 'm', 'statistic': 'min',
         'at_least': 50.0 ** 2 / 20.0}))
    result = evaluate(flight.script, flight.history())
    assert [one.passed for one in result.judgements] == [True] * 4
    assert result.figures['handling']['dutch_roll']['damping'] > 0.0
    seen = flight.history()
    for name in (*MOTION, *AIRFRAME, *DERIVED):
        found = quantity(seen, name)
        assert len(found.values) == 181, name
        assert np.isfinite(found.values).all(), name
    # The air moves with the aircraft, but for the wind, which is none.
    assert quantity(seen, 'true_airspeed').values == pytest.approx(np.sqrt(
        quantity(seen, 'ground_speed').values ** 2 + quantity(seen, 'climb_rate').values ** 2),
        rel=1e-6)


def test_a_flight_whose_criteria_need_no_more_keeps_no_more():
    seen = flown(scenario({'quantity': 'roll', 'statistic': 'max', 'at_most': 1.0})).history()
    assert not {*MOTION, *AIRFRAME} & {*seen.series}


@pytest.mark.parametrize(('made', 'sentence'), [
    (Order(scenario(MARGIN), flown_by=FlownBy(policy='turbulence')), 'another controller flies'),
    (Order(replace(scenario(LEVEL), initial={'parked': True})), 'state airspeed and altitude'),
    (Order(replace(scenario(LEVEL), initial={})), 'state airspeed and altitude'),
    (Order(scenario(LEVEL), 'xplane12', link=Link(host='192.0.2.7')), 'no linear model is known'),
    (Order(scenario({'quantity': 'mass', 'statistic': 'max', 'at_most': 1.0}), 'xplane12',
           link=Link(host='192.0.2.7')), 'mass: only simulators of this package say that'),
    (Order(scenario({'quantity': 'load_factor', 'statistic': 'max', 'at_most': 1.0}),
           rounding='xpc'), 'criteria on load_factor: flights in core are recorded without'),
])
def test_what_cannot_be_judged_is_said_before_the_flight(made, sentence):
    assert any(sentence in one for one in refusals(made)), refusals(made)
