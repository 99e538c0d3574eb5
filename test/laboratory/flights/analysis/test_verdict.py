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

"""Figures and criteria on synthetic flights."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from xplane_bridge.bridges.conversions.expressions.expression import Expression
from xplane_bridge.common.quantities import COMPUTED, QUANTITY
from xplane_bridge.laboratory.flights.analysis import history as analysis
from xplane_bridge.laboratory.flights.analysis import motion, verdict
from xplane_bridge.laboratory.flights.analysis.history import (
    compute_error,
    compute_latency,
    figures,
    quantity,
    statistic,
)
from xplane_bridge.laboratory.flights.analysis.series import Arrivals, History, Series
from xplane_bridge.laboratory.flights.scenario.criteria import Criterion, STATISTICS
from xplane_bridge.laboratory.flights.scenario.events import Expectation, ScenarioEvent
from xplane_bridge.laboratory.flights.scenario.quantities import (
    DERIVED,
    known,
    QUANTITIES,
    unit_of,
)
from xplane_bridge.laboratory.flights.scenario.scenario import Scenario

NAN = math.nan
PAGE = Path(__file__).resolve().parents[4] / 'docs' / 'reference' / 'scenarios.md'


def flight(topics=None, begin=0.0, diagnostics=None, **series):
    empty = Series(np.empty(0), np.empty(0))
    return History('/uav', begin, dict.fromkeys(QUANTITIES, empty) | {
        name: Series(np.array(times, float), np.array(values, float))
        for name, (times, values) in series.items()}, topics or {}, {}, diagnostics or {})


def scenario(*criteria, events=()):
    return Scenario('mine', '', 10.0, {}, tuple(events), tuple(criteria))


def judged(found, *criteria, flown=10.0, numbers=None):
    return verdict.judge(scenario(*criteria), found, numbers or {}, flown, [])


def test_the_error_is_from_the_target_that_held():
    found = flight(
        altitude=([0, 1, 2, 3, 4], [100, 101, 102, 103, 104]),
        target_altitude=([1, 3], [100, 110]))
    error = compute_error(found, 'altitude')
    assert list(error.times) == [1, 2, 3, 4]
    assert list(error.values) == [1, 2, -7, -6]


@pytest.mark.parametrize('off', [-3e-3, -2e-13, 0.0, 2e-13, 3e-3])
def test_a_window_begins_with_its_first_frame_however_its_time_is_rounded(off):
    """A sum of 1500 frames is 24.99999999999986 s; what happens at 30 s is after the window."""
    found = flight(altitude=([24.98, 25.0 + off, 27.0, 30.0 + off], [1.0, 7.0, 2.0, 9.0]))
    one = Criterion('altitude', 'first', 25.0, 30.0, 7.0, 7.0)
    other = Criterion('altitude', 'max', 25.0, 30.0, 7.0, 7.0)
    assert all(one.passed for one in judged(found, one, other, flown=40.0))


def test_a_target_without_a_stamp_is_of_the_newest_state_when_it_was_recorded():
    """Recordings from before autopilot/active_target had a header have these."""
    rows = {'imu/data': analysis._Rows(('heading',)),
            'autopilot/active_target': analysis._Rows(('target_altitude',))}
    for n in range(4):
        rows['imu/data'].add(10.0 + n, 100.0 + n, {'heading': 0.0})
    for recorded, altitude in ((100.5, 1500.0), (102.9, 1550.0)):
        rows['autopilot/active_target'].add(NAN, recorded, {'target_altitude': altitude})
    found = analysis._flight('/uav', rows, {}, {}, None)
    assert list(found.series['target_altitude'].times) == [0.0, 2.0]
    assert list(found.series['target_altitude'].values) == [1500.0, 1550.0]


def test_the_heading_error_is_the_short_way_round():
    found = flight(
        heading=([0, 1], np.radians([355, 365])), target_heading=([0], np.radians([5])))
    assert np.degrees(compute_error(found, 'heading').values) == pytest.approx([-10, 0])
    assert quantity(found, 'heading_error_deg').values == pytest.approx([-10, 0])


STATISTIC = {
    'min': -4, 'max': 3, 'mean': 0, 'max_abs': 4, 'rms': math.sqrt(26 / 3),
    'std': math.sqrt(26 / 3), 'rise': 2, 'first': 1, 'last': -4, 'change': -5}


@pytest.mark.parametrize('kind', STATISTICS)
def test_statistics(kind):
    expected = STATISTIC[kind]
    assert statistic(Series(np.arange(3.0), np.array([1.0, 3.0, -4.0])), kind) == pytest.approx(
        expected)
    assert math.isnan(statistic(Series(np.empty(0), np.empty(0)), kind))


def test_each_quantity_that_follows_from_others_is_computed():
    formulas = {name: QUANTITY[name].formula for name in DERIVED}
    assert {name for name, text in formulas.items() if text == COMPUTED} == {*motion._COMPUTED}
    for text in {*formulas.values()} - {COMPUTED}:
        assert {*Expression(text).names} <= {*known()}, text


def test_the_page_of_scenarios_has_each_statistic_and_each_quantity():
    page = PAGE.read_text(encoding='utf-8')
    assert {name for name in (*STATISTICS, *known()) if f'`{name}`' not in page} == set()


@pytest.mark.parametrize(('name', 'unit'), [
    ('roll_deg', 'deg'), ('sensed_roll_rate', 'rad/s'), ('heading_error_deg', 'deg'),
    ('target_altitude', 'm'), ('command_elevator', ''), ('engine_0_fuel_flow', 'kg/s'),
    ('latitude', 'deg'), ('sensed_wind_up', 'm/s'), ('plant.mass', 'kg'), ('unknown', '')])
def test_a_columns_unit_is_that_of_the_quantity_at_its_end(name, unit):
    assert unit_of(name) == unit


def test_a_criterion_looks_at_its_window_and_its_limits_only():
    found = flight(roll=(range(11), np.radians([50, 1, 2, 3, 2, 1, 0, -1, -2, -60, 0])))
    assert [judgement.passed for judgement in judged(
        found,
        Criterion('roll_deg', 'max_abs', 1.0, 8.0, NAN, 3.0 + 1e-9),
        Criterion('roll_deg', 'max_abs', 1.0, 8.0, NAN, 2.9),
        Criterion('roll_deg', 'max_abs', 1.0, 8.0, 2.9, 3.1),
        Criterion('roll_deg', 'max_abs', NAN, NAN, NAN, 59.0),
        Criterion('roll_deg', 'max', 9.5, NAN, 0.0, 0.0),
    )] == [True, False, True, False, True]


def test_what_was_not_flown_or_not_measured_is_missed():
    found = flight(roll=([0, 1], [0, 0]))
    late, absent = judged(
        found, Criterion('roll', 'max', 0.0, 5.0, NAN, 1.0),
        Criterion('airspeed', 'max', NAN, NAN, NAN, 1.0), flown=2.0)
    assert not late.passed
    assert math.isnan(late.value)
    assert not absent.passed


def test_figures_are_criteria_by_name():
    numbers = {'route': {'reached': 4}, 'rates': {'imu/data': {'rate': 50.0}}}
    few, fast = judged(
        flight(), Criterion('route.reached', '', NAN, NAN, 5.0, NAN),
        Criterion('rates.imu/data.rate', '', NAN, NAN, 45.0, 55.0), numbers=numbers)
    assert (few.value, few.passed) == (4.0, False)
    assert fast.passed
    assert fast.criterion == 'rates.imu/data.rate at least 45 and at most 55'


@pytest.mark.parametrize(('name', 'kind', 'sentence'), [
    ('rol_deg', 'max', "no quantity 'rol_deg'"),
    ('route.height', '', 'expected one of reached'),
    ('route', '', "'route' is not a figure"),
])
def test_a_name_that_is_not_known_is_said(name, kind, sentence):
    with pytest.raises(KeyError, match=sentence):
        judged(flight(), Criterion(name, kind, NAN, NAN, 0.0, NAN),
               numbers={'route': {'reached': 1}})


def first_order(time_constant):
    """Return a step at 2 s from 100 to 150, followed by 1 - exp(-t/T)."""
    times = np.arange(0.0, 10.01, 0.01)
    values = np.where(times < 2.0, 100.0,
                      150.0 - 50.0 * np.exp(-np.maximum(times - 2.0, 0.0) / time_constant))
    return flight(altitude=(times, values))


def step(settling):
    return ScenarioEvent(
        2.0, 'change', {'altitude': 50.0}, 0.0, Expectation(10.0, 2.5, settling, 0.1))


@pytest.mark.parametrize(('settling', 'passed'), [(3.1, True), (2.9, False)])
def test_a_step_is_judged_by_its_response(settling, passed):
    # To 5 % of the step after T ln 20 = 2.996 s.
    event = step(settling)
    flown = verdict.flown_step(first_order(1.0).series, verdict.Occurrence(event, 2.0, 100.0))
    assert flown.response.settling == pytest.approx(math.log(20.0), abs=0.02)
    assert [judgement.passed for judgement in verdict.judge_step(event, flown)] == [passed, True]


def test_a_step_that_was_not_flown_to_its_end_is_missed():
    event = step(5.0)
    short = {'altitude': first_order(1.0).series['altitude'].between(0.0, 7.0)}
    with pytest.raises(ValueError, match='not flown to its end'):
        verdict.flown_step(short, verdict.Occurrence(event, 2.0, 100.0))
    judgement, = verdict.judge(scenario(events=[event]), flight(), {}, 7.0, [])
    assert not judgement.passed


def test_figures_of_a_flight():
    stamps = 1000.0 + np.array([0.0, 0.5, 1.0, 3.0])
    found = flight(
        {'fix': Arrivals(stamps, stamps + [0.001, 0.002, 0.003, 0.010]),
         'imu/data': Arrivals(stamps, stamps + 0.001)}, 1000.0,
        {'/uav/xpc_node: peer: lost': '3', '/uav/xpc_node: link': 'open',
         '/other/xpc_node: peer: lost': '9'},
        heading=([0, 0.5, 1, 3], [0, 0, 0, 0]),
        command_elevator=([0, 1, 2], [0.0, 0.1, -0.1]),
        airspeed=([0, 1], [50, 53]), target_airspeed=([0], [51]))
    numbers = figures(found)
    assert numbers['duration'] == 3.0
    assert numbers['rates']['fix'] == {'messages': 4, 'rate': 1.0, 'longest_gap': 2.0}
    assert numbers['latency']['telemetry']['median'] == pytest.approx(0.0025)
    assert numbers['latency']['telemetry']['max'] == pytest.approx(0.010)
    assert numbers['activity']['elevator']['travel'] == pytest.approx(0.3 / 2.0)
    assert numbers['tracking'] == {'airspeed': {
        'rms': pytest.approx(math.sqrt(2.5)), 'max_abs': 2.0}}
    assert numbers['link'] == {'lost': '3'}
    assert figures(found, 1.0)['rates']['fix']['messages'] == 3


def test_latency_of_commands_counts_only_what_a_controller_made_of_a_state():
    states = 1000.0 + 0.02 * np.arange(1000)
    # Before it is engaged the scenario commands by itself, in between; one is sent again later.
    own = 1000.003 + 0.02 * np.arange(100)
    made = np.append(states[100:], states[500])
    commands = Arrivals(
        np.concatenate((own, made)),
        np.concatenate((own + 0.015, made[:-1] + 0.002, made[-1:] + 0.5)))
    commands.recorded[-2] += 0.003
    found = flight({'imu/data': Arrivals(states, states + 0.001), 'command/controls': commands})
    loop = figures(found)['latency']['loop']
    assert loop == {
        'samples': 900, 'median': pytest.approx(0.002), 'p99': pytest.approx(0.002),
        'p999': pytest.approx(0.0023, abs=4e-4), 'max': pytest.approx(0.005)}
    assert list(compute_latency(found, 'command/controls').times) == list(states[100:])


def test_simulated_stamps_give_no_latency():
    found = flight({'fix': Arrivals(np.array([0.0, 1.0]), np.array([1.7e9, 1.7e9 + 1]))})
    assert figures(found)['latency'] == {}
    assert not len(compute_latency(found, 'fix').times)


def test_json_has_null_for_what_never_happened():
    text = json.dumps(verdict.plain(
        {'settling': NAN, 'rates': [np.float64(1.5), math.inf], 'ok': np.bool_(True)}),
        allow_nan=False)
    assert json.loads(text) == {'settling': None, 'rates': [1.5, None], 'ok': True}
