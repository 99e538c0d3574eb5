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

"""Uncertain plants in plans: normal draws, their bounds, and each flight again from its row."""

import math

import numpy as np
import pytest

from xplane_bridge.laboratory.campaigns.fly import fly
from xplane_bridge.laboratory.campaigns.plan import parameters
from xplane_bridge.laboratory.campaigns.plan.normal import parse
from xplane_bridge.laboratory.campaigns.plan.plan import load, PlanError

SHORT = """
duration: 1.0
initial: {altitude: 1500.0, airspeed: 50.0}
events: [{at: 0.0, engage: true}]
criteria: [{quantity: altitude, statistic: max, at_least: 0.0}]
"""
PLAN = """
scenarios: [short.yaml]
parameters:
  plant.mass: {truncated_normal: {mean: 900.0, sigma: 80.0, low: 750.0, high: 1000.0}}
  plant.cg: {normal: {mean: 0.0, sigma: 0.05}}
  plant.aero.Cmalpha: {from: 0.8, to: 1.2}
  plant.actuator_delay: [0.0, 0.1]
sampling: {method: random, seed: 4}
seeds: {first: 1, count: 6}
"""


@pytest.fixture
def plan(tmp_path):
    return written(tmp_path, PLAN)


def written(tmp_path, text):
    (tmp_path / 'short.yaml').write_text(SHORT)
    path = tmp_path / 'plan.yaml'
    path.write_text(text)
    return str(path)


def drawn(form, points):
    return np.array([parameters.parse('plant.mass', form).sample(point) for point in points])


POINTS = (np.arange(2_000) + 0.5) / 2_000


def test_normal_draws_are_the_inverse_of_the_distribution():
    found = drawn({'normal': {'mean': 3.0, 'sigma': 2.0}}, POINTS)
    assert found.mean() == pytest.approx(3.0, abs=1e-9)
    assert found.std() == pytest.approx(2.0, rel=1e-3)
    # The textbook's: 97.5 % lie below 1.959964 standard deviations.
    assert drawn({'normal': {'mean': 3.0, 'sigma': 2.0}}, [0.975])[0] == pytest.approx(
        3.0 + 2.0 * 1.959963984540054, rel=1e-12)


@pytest.mark.parametrize(('mean', 'low', 'high'), [
    (0.0, -1.0, 2.0), (0.0, 3.0, 4.5), (0.0, -4.5, -3.0), (1.0, 0.99, 1.01)])
def test_truncated_draws_have_the_density_within_the_bounds_only(mean, low, high):
    form = {'truncated_normal': {'mean': mean, 'sigma': 1.0, 'low': low, 'high': high}}

    def below(value):
        return 0.5 * math.erfc((mean - value) / math.sqrt(2.0))

    whole = below(high) - below(low)
    for point in (1e-12, 0.1, 0.5, 0.9, 1.0 - 1e-12):
        value, = drawn(form, [point])
        assert (below(value) - below(low)) / whole == pytest.approx(point, abs=1e-9)
    assert low <= drawn(form, POINTS).min() < drawn(form, POINTS).max() <= high


def test_an_extreme_draw_of_a_normal_is_bounded():
    normal = parse('normal', {'mean': 0.0, 'sigma': 1.0}, 'x')
    assert [normal.at(point) for point in (0.0, 1e-300, math.nextafter(1.0, 0.0))] == [-5, -5, 5]
    one = parameters.parse('plant.cg', {'normal': {'mean': 0.0, 'sigma': 1.0}})
    assert {-5.0, 5.0} <= set(one.extremes())


@pytest.mark.parametrize(('form', 'said'), [
    ('{normal: {mean: 1.0}}', 'plant.cg.normal: sigma is missing'),
    ('{normal: {mean: 1.0, sigma: 0.0}}', 'plant.cg.normal.sigma: expected above 0, got 0'),
    ('{normal: {mean: 1.0, sigma: 1.0}, from: 1.0}', "unknown name 'from', expected normal"),
    ('{truncated_normal: {mean: 0.0, sigma: 1.0, low: 1.0, high: 1.0}}', 'high: expected above 1'),
    ('{truncated_normal: {mean: 0.0, sigma: 0.1, low: 1.0, high: 2.0}}', 'hardly anything of it'),
    # The ends of a normal one are tried before the first flight.
    ('{normal: {mean: 0.0, sigma: 0.5}}', 'plant.cg: expected at most its mean chord, 1.49 m'),
])
def test_a_mistake_in_a_draw_is_said(tmp_path, form, said):
    if 'chord' in said:
        pytest.importorskip('jsbsim', reason='the model says it')
    text = PLAN.replace('{normal: {mean: 0.0, sigma: 0.05}}', form)
    with pytest.raises(PlanError) as caught:
        load(written(tmp_path, text))
    assert said in str(caught.value)


@pytest.mark.parametrize(('name', 'said'), [
    ('plant.masss', "initial.plant: there is no 'masss'; did you mean mass?"),
    ('plant.aero.Cmalph', 'did you mean Cmalpha'),
    ('plants.mass', "there is no parameter 'plants.mass'; expected initial.NAME, plant.NAME"),
])
def test_a_name_that_no_plant_has_is_said(tmp_path, name, said):
    if 'aero' in name:
        pytest.importorskip('jsbsim', reason='the model says it')
    with pytest.raises(PlanError) as caught:
        load(written(tmp_path, PLAN.replace(
            'plant.aero.Cmalpha' if 'aero' in name else 'plant.mass', name)))
    assert said in str(caught.value)


def test_each_flight_is_flown_again_from_its_number_in_any_order(plan):
    pytest.importorskip('jsbsim', reason='the flights need jsbsim')
    first = load(plan)
    forwards = {number: fly(first.task(number)) for number in range(6)}
    backwards = {number: fly(load(plan).task(number)) for number in reversed(range(6))}
    for number, row in forwards.items():
        assert row['trajectory'] == backwards[number]['trajectory']
        assert row['key'] == backwards[number]['key']
        values = {name: value for name, value in row.items() if name.startswith('parameter.')}
        assert 750.0 <= values['parameter.plant.mass'] <= 1000.0
        assert first.find_flight(row['key']) == number
    assert len({row['trajectory'] for row in forwards.values()}) == 6


def test_a_plants_parameters_have_units():
    units = {name: parameters.parameter_unit(f'plant.{name}') for name in (
        'mass', 'cg', 'ixx', 'aero.Clp', 'actuator_rate', 'sensor_delay')}
    assert units == {'mass': 'kg', 'cg': 'm', 'ixx': '', 'aero.Clp': '', 'actuator_rate': '1/s',
                     'sensor_delay': 's'}


def test_what_is_declared_in_a_scenario_has_its_unit():
    names = ('events.4.gust.amplitude', 'events.2.gust.length', 'events.2.chirp.f1',
             'events.3.expect.settling', 'events.3.expect.overshoot', 'runway.length',
             'initial.airspeed', 'events.0.change.altitude', 'route.bank_deg', 'events.1.at')
    assert [parameters.parameter_unit(name) for name in names] == [
        'm/s', 'm', 'Hz', 's', '', 'm', 'm/s', 'm', 'deg', 's']
