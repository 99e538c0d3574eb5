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

"""Campaigns over scenarios of several aircraft: parameters of one, rows, pictures."""

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.laboratory.campaigns.fly import fly
from xplane_bridge.laboratory.campaigns.plan.plan import load, PlanError
from xplane_bridge.laboratory.campaigns.refly import draw
from xplane_bridge.laboratory.campaigns.table.criteria import criterion_unit, CriterionLimits
from xplane_bridge.laboratory.campaigns.table.rows import canonical

PAIR = """
duration: 3.0
initial: {altitude: 1200.0, airspeed: 48.0}
events:
  - {at: 0.1, engage: true}
  - {at: 0.1, turbulence: [15.0, 4]}
vehicles:
  - name: lead
    criteria: [{quantity: roll_deg, statistic: max_abs, at_most: 30.0}]
  - name: wing
    initial: {forward: -40.0, right: 40.0, up: 0.0}
    formation: {leader: lead, begin: 0.2, forward: -40.0, right: 40.0}
criteria:
  - {formation: wing, at_most: 10.0}
"""
PLAN = """
scenarios: [pair.yaml]
parameters: {vehicles.1.formation.right: [40.0, 60.0]}
seeds: [1, 2]
"""


def planned(folder, plan=PLAN, pair=PAIR):
    (folder / 'pair.yaml').write_text(pair)
    (folder / 'plan.yaml').write_text(plan)
    return load(str(folder / 'plan.yaml'))


def test_a_row_says_whose_a_figure_is(tmp_path):
    plan = planned(tmp_path)
    rows = [fly(plan.task(flight)) for flight in range(len(plan))]
    assert [row['outcome'] for row in rows] == ['passed', 'passed', 'missed', 'missed']
    assert rows[2]['parameter.vehicles.1.formation.right'] == 60.0
    assert rows[2]['reason'] == 'max of formation_error of wing at most 10'
    # It begins beside its slot.
    assert rows[2]['value.max of formation_error of wing at most 10'] == pytest.approx(20, abs=1)
    assert rows[0]['passed.lead: max_abs of roll_deg at most 30']
    assert rows[0]['figure.separation.wing.distance'] > 50.0
    assert rows[0]['figure.vehicles.wing.rates.fix.messages'] == 181
    assert len({row['trajectory'] for row in rows}) == 4
    # How busy the machine was belongs to none of them.
    assert not [name for name in rows[0] if '.load.' in name or '.latency' in name]
    assert canonical(rows[0]) == canonical(fly(plan.task(0)))


def test_a_table_of_several_is_refused(tmp_path):
    with pytest.raises(PlanError, match='record: it has several aircraft, and a table is of one'):
        planned(tmp_path, f'{PLAN}record: parquet\n')


def test_encounters_are_those_of_two_that_would_meet_and_remain_well_clear():
    plan = load('encounters')
    assert len(plan) == 200
    row = fly(plan.task(0))
    assert row['outcome'] == 'passed', row['reason']
    # Rather nearer than they need not to be.
    assert 400.0 < row['value.min of separation of own and other at least 300'] < 1000.0


def test_a_flight_is_drawn_with_all_of_them(tmp_path):
    pytest.importorskip('matplotlib', reason='drawing needs matplotlib')
    draw(planned(tmp_path).task(0), tmp_path / 'flight.svg')
    text = (tmp_path / 'flight.svg').read_text()
    assert 'pair, flown by autopilot, seed 1' in text
    assert text.count('<!-- lead -->') >= 4
    assert '<!-- lead, wing -->' in text


def test_an_aircraft_of_the_plan_is_flown_by_all(tmp_path):
    own = PAIR.replace('up: 0.0}', 'up: 0.0, model: c310}')
    plan = planned(tmp_path, pair=own)
    # The files of each aircraft are part of what a flight depends on.
    assert {'aircraft c172p', 'aircraft c310'} <= plan.parts.keys()
    plan = planned(tmp_path, f'{PLAN}aircraft: [J3Cub]', own)
    assert [one['initial']['model'] for one in plan.task(0).content['vehicles']] == [
        'J3Cub', 'J3Cub']
    assert 'aircraft c310' not in plan.parts


def test_a_mistake_in_one_is_named_before_anything_is_flown(tmp_path):
    with pytest.raises(PlanError, match='vehicle wing: .*ball'):
        planned(tmp_path, pair=PAIR.replace('up: 0.0}', 'up: 0.0, model: ball}'))
    with pytest.raises(PlanError, match="the scenario has no '2' there"):
        planned(tmp_path, PLAN.replace('vehicles.1', 'vehicles.2'))


def test_criteria_of_fleets_have_units_and_limits():
    assert criterion_unit('lead: max_abs of roll_deg at most 30') == 'deg'
    assert criterion_unit('min of separation of any two at least 10') == 'm'
    assert criterion_unit('max of formation_error of wing from 5 s at most 8') == 'm'
    assert criterion_unit('lead: altitude by +50 m: settles to +-5 m within 9 s') == 's'
    assert CriterionLimits.of('lead: max_abs of roll_deg at most 30').at_most == 30.0
