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

"""Scenario files: valid ones are understood, mistakes are reported in a sentence."""

import math
from pathlib import Path

from orders import check, order_of
import pytest
import yaml

from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.laboratory.flights.scenario.scenario import ScenarioError

SHIPPED = sorted((Path(__file__).parents[4] / 'xplane_bridge/data/scenarios').glob('*.yaml'))
GOOD = """
duration: 20
events:
  - {at: 1, engage: true}
  - at: 2
    change: {heading_deg: 90}
    expect: {until: 12, band_deg: 3, settling: 9, overshoot: 0.1}
  - {at: 12, target: {altitude: 900, airspeed: 45}}
criteria:
  - {quantity: roll_deg, statistic: max_abs, from: 2, at_most: 30}
"""


def parsed(text):
    return scenario.parse('mine', yaml.safe_load(text))


def test_degrees_become_radians_and_events_are_in_order():
    found = parsed(GOOD.replace('at: 1,', 'at: 1.5,'))
    assert [event.at for event in found.events] == [1.5, 2.0, 12.0]
    assert found.events[1].value == {'heading': pytest.approx(math.pi / 2)}
    assert found.events[1].expect.band == pytest.approx(math.pi / 60)
    assert found.events[2].value == {'altitude': 900.0, 'airspeed': 45.0}
    assert str(found.events[1]) == 'heading by +90 deg'
    assert math.isnan(found.criteria[0].end)


@pytest.mark.parametrize(('old', 'new', 'sentence'), [
    ('duration: 20', 'duration: -1', 'duration: expected above 0 and at most 86400 s, got -1'),
    ('duration: 20', 'length: 20', "unknown name 'length', expected duration"),
    ('duration: 20\n', '', 'the file: duration is missing'),
    ('{at: 1, engage: true}', '{at: 1, engage: 1}', 'expected true or false, got 1'),
    ('{at: 1, engage: true}', '{at: 1}', 'expected one of engage, controls'),
    ('{at: 1, engage: true}', '{at: 3, engage: true}',
     'change at 2 s: the autopilot is not engaged then'),
    ('{at: 1, engage: true}', '{at: 99, engage: true}', 'events[0].at: 99 s is after the end'),
    ('heading_deg: 90', 'heading: 90', "unknown name 'heading'"),
    ('heading_deg: 90', 'heading_deg: 0', 'a change of 0 has no effect'),
    ('heading_deg: 90', 'heading_deg: .nan', 'expected a finite number, got nan'),
    ('heading_deg: 90', 'heading_deg: east', "expected a number, got 'east'"),
    ('heading_deg: 90', 'heading_deg: 1e300', "expected a number, got '1e300'"),
    ('heading_deg: 90', 'heading_deg: 1.0e+300', 'expected -1e+09 to 1e+09 deg, got 1e+300'),
    ('heading_deg: 90', f'heading_deg: {"9" * 40}', 'expected -1e+09 to 1e+09 deg, got 99999'),
    ('duration: 20', 'duration: 1.0e+8', 'expected above 0 and at most 86400 s, got 1e+08'),
    ('duration: 20', f'duration: {[[1] * 100] * 100}', 'expected a number, got [[1, 1, 1, 1, '),
    ('until: 12', 'until: 30', 'expect.until: 30 s is after the end, 20 s'),
    ('at: 12, target: {altitude: 900, airspeed: 45}', 'at: 12, wind: [1, 2]',
     'expected [east, north, up] in m/s, got [1, 2]'),
    *(('at: 12, target: {altitude: 900, airspeed: 45}', f'at: 12, {given}', sentence)
      for given, sentence in (
        ('wind: [0, 0, 101]', 'events[2].wind: 101 m/s is no wind, expected -100..100'),
        ('wind: [-100.5, 0, 0]', 'events[2].wind: -100.5 m/s is no wind'),
        ('turbulence: [15, 4.5]',
         'events[2].turbulence: severity 4.5, expected a whole number, 0..7'),
        ('turbulence: [15, 8]', 'severity 8, expected a whole number, 0..7'),
        ('turbulence: [15, -1]', 'severity -1, expected a whole number, 0..7'),
        ('turbulence: [101, 4]', 'wind at 20 ft of 101 m/s, expected 0..100'),
        ('turbulence: [15, 0]', 'severity 0 is calm at all heights'))),
    ('at: 12, target: {altitude: 900, airspeed: 45}', 'at: 12, controls: {elevator: 0.1}',
     'controls need "for"'),
    ('at: 12, target: {altitude: 900, airspeed: 45}',
     'at: 12, controls: {elevator: 0.1}, for: 1', 'the autopilot is engaged then'),
    ('at: 12, target: {altitude: 900, airspeed: 45}',
     'at: 0, controls: {elevator: 0.1}, for: 2', 'before they are released'),
    ('statistic: max_abs', 'statistic: biggest', "got 'biggest'"),
    (', at_most: 30', '', 'expected at_least, at_most or both'),
    ('quantity: roll_deg', 'figure: roll', '"statistic" belongs to a quantity'),
    ('quantity: roll_deg', 'quantity: rol_deg',
     "criteria[0].quantity: there is no quantity 'rol_deg'; did you mean roll_deg"),
    ('quantity: roll_deg', 'quantity: airspeed_deg', "'airspeed_deg' is no angle"),
    ('quantity: roll_deg', 'expression: roll_deg', "unit: '' is that of a ratio"),
    ('quantity: roll_deg', 'quantity: roll_deg, unit: deg', '"unit" belongs to an expression'),
    ('quantity: roll_deg', "expression: rol_deg * 2, unit: ''",
     "criteria[0].expression: there is no quantity 'rol_deg'; did you mean roll_deg"),
    ('quantity: roll_deg', "expression: open(roll), unit: ''", "there is no function 'open'"),
    ('quantity: roll_deg', "expression: 1 + 1, unit: ''", 'has no parameter in it'),
    ('quantity: roll_deg, statistic: max_abs, from: 2', 'figure: track.rms',
     "criteria[0].figure: there is no figure 'track.rms': expected one that begins"),
    ('from: 2, at_most', 'from: 8.0, to: 4.0, at_most',
     'criteria[0]: it ends at 4 s, but begins at 8 s'),
    ('from: 2, at_most', 'from: 25.0, at_most', 'criteria[0].from: expected 0 to 20'),
], ids=lambda value: value[:40])
def test_a_mistake_is_said_with_its_place(old, new, sentence):
    text = GOOD.replace(old, new)
    assert text != GOOD
    with pytest.raises(ScenarioError) as error:
        parsed(text)
    assert sentence in str(error.value)


def test_a_file_that_is_not_yaml_and_one_that_is_not_there(tmp_path):
    bad = tmp_path / 'bad.yaml'
    bad.write_text('duration: [')
    with pytest.raises(ScenarioError, match=r'bad\.yaml cannot be read as YAML: .* in line 1'):
        scenario.load(str(bad))
    with pytest.raises(ScenarioError, match='expected a file, or one of circuit, circuit_737'):
        scenario.find('good')


def test_without_criteria_it_proves_nothing():
    with pytest.raises(ScenarioError, match='proves nothing'):
        parsed('{duration: 3, events: [], criteria: []}')


@pytest.mark.parametrize(('expression', 'sentence'), [
    ('altitude + airspeed', 'altitude is in m, airspeed in m/s: they cannot be added'),
    ('airspeed * elevator', 'it is in m/s, and m measures something else'),
])
def test_units_that_do_not_fit_are_said(expression, sentence):
    pytest.importorskip('pint', reason='units are checked by pint')
    text = GOOD.replace('quantity: roll_deg', f'expression: {expression}, unit: m')
    with pytest.raises(ScenarioError, match=f'expression: .*{sentence}'):
        parsed(text)


@pytest.mark.parametrize('path', SHIPPED, ids=lambda path: path.stem)
def test_shipped_scenarios_are_understood(path):
    found = scenario.load(str(path))
    assert found.description
    check(order_of(
        found, sim='core' if found.vehicles or found.runway else 'xpc'))


def test_these_scenarios_ship():
    assert [path.stem for path in SHIPPED] == [
        'circuit', 'circuit_737', 'circuit_J3Cub', 'circuit_T37', 'circuit_calm',
        'circuit_light', 'crossing', 'encounter', 'engine_out', 'formation', 'frequency_response',
        'hand_launch', 'identification', 'identification_light', 'link_loss', 'multisine',
        'racetrack', 'robustness', 'steps', 'steps_light', 'turbulence']


BLOCKED = """
duration: 3.0
events: [{at: 1.0, pitot_blocked: true}, {at: 2.0, pitot_blocked: false}]
criteria: [{quantity: airspeed, statistic: max, at_most: 60.0}]
"""


def test_faults_of_sensors_need_sensors():
    found = parsed(BLOCKED)
    assert [str(event) for event in found.events] == ['pitot blocked', 'pitot blocked ends']
    with pytest.raises(ScenarioError, match='needs sensors, because of pitot_blocked at 1 s'):
        check(order_of(found))
    check(order_of(found, sensors='tactical'))
    found = parsed(BLOCKED + 'sensors: consumer')
    check(order_of(found))
    assert order_of(found).sensed_by == 'consumer'
    assert order_of(found, sensors='tactical').sensed_by == 'tactical'
    with pytest.raises(ScenarioError, match='needs sensors'):
        check(order_of(found, sensors='none'))
    with pytest.raises(ScenarioError, match="sensors: there are no sensors 'best'"):
        check(order_of(found, sensors='best'))
    with pytest.raises(ScenarioError, match='sensors: expected a text, got 3'):
        parsed(BLOCKED + 'sensors: 3')


@pytest.mark.parametrize(('given', 'name', 'sentence'), [
    ({'host': '10.0.0.2'}, 'turbulence', 'does not support wind at 15 s, turbulence at 15 s'),
    ({'host': '10.0.0.2'}, 'engine_out', 'does not support engine_failed at 10 s'),
    ({'host': '10.0.0.2'}, 'link_loss', 'does not support link_down at 6 s'),
    ({'host': '10.0.0.2', 'seed': 3, 'loss': 0.1}, 'steps', 'does not support seed, loss'),
    ({'host': '10.0.0.2', 'lockstep': True}, 'steps', 'does not support lockstep'),
    ({'host': '10.0.0.2', 'speed': 2.0}, 'steps', 'does not support speed'),
    ({'sim': 'fdmdata', 'lockstep': True}, 'steps', 'fdmdata has no time in its protocol'),
    ({'sim': 'fdmdata'}, 'link_loss',
     'fdmdata does not report its controls, so scenario link_loss cannot be evaluated by '
     'elevator, aileron, throttle'),
    ({'sim': 'fdmdata', 'speed': 2.0}, 'steps', 'fdmdata has no time in its protocol'),
    ({'lockstep': True}, 'link_loss', 'works in real time only, because of link_down'),
    ({'lockstep': True, 'speed': 2.0}, 'steps', 'omit speed'),
    ({'lockstep': True, 'loss': 0.1}, 'steps', 'omit loss'),
    ({'sim': 'msfs'}, 'steps', "no simulator 'msfs'"),
    ({'sim': 'xplane_udp'}, 'steps', 'xplane_udp is a protocol, not a version of X-Plane: choose'),
    ({'port': 5000}, 'steps', '--port and --web need --host'),
    ({'host': '10.0.0.2', 'port': 99999}, 'steps', '99999 is not a port'),
    ({'speed': 0.0}, 'steps', 'expected above 0'),
])
def test_what_cannot_be_had_is_refused_with_a_sentence(given, name, sentence):
    path, = (path for path in SHIPPED if path.stem == name)
    with pytest.raises(ScenarioError) as error:
        check(order_of(scenario.load(str(path)), **given))
    assert sentence in str(error.value)


def test_an_aircraft_of_the_scenario_or_of_the_command():
    found = parsed('{duration: 3, initial: {model: 737, aircraft_path: here}, events: [], '
                   'criteria: [{figure: duration, at_least: 0}]}')
    assert found.initial == {'model': '737', 'aircraft_path': 'here'}
    given = order_of(found, model='f16').scenario
    assert given.initial == {'model': 'f16', 'aircraft_path': 'here'}
    assert order_of(found).scenario.initial == found.initial
    with pytest.raises(ScenarioError, match='does not support model'):
        check(order_of(found, host='10.0.0.2', model='f16'))


@pytest.mark.parametrize('engines', ['[-1]', '[16]', '[left]', '1'])
def test_engines_that_fail_are_numbers(engines):
    text = ('{{duration: 3, events: [{{at: 1, engine_failed: {}}}], '
            'criteria: [{{figure: duration, at_least: 0}}]}}')
    assert parsed(text.format('[1, 0]')).events[0].value == (1, 0)
    with pytest.raises(ScenarioError, match='the numbers of the engines that fail'):
        parsed(text.format(engines))


def test_a_real_simulator_takes_what_its_wire_carries():
    path, = (path for path in SHIPPED if path.stem == 'racetrack')
    check(order_of(
        scenario.load(str(path)), sim='xplane12', host='10.0.0.2', port=49001))


def test_the_example_in_the_document_is_one():
    pages = Path(__file__).parents[4] / 'docs' / 'reference'
    first, inputs = (
        (pages / name).read_text().split('```yaml\n')[1].split('```')[0]
        for name in ('scenarios.md', 'test_inputs.md'))
    found = parsed(first)
    assert len(found.events) == 7
    assert found.route is not None
    found = parsed(inputs)
    assert [event.action for event in found.events if event.lasts] == [
        'doublet', '3211', 'chirp', 'multisine']
