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

"""An aircraft flies with its own gains, or with those that somebody named: never with others."""

from pathlib import Path
import shutil

from orders import check, order_of
import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.laboratory.campaigns.plan import plan as plans
from xplane_bridge.laboratory.campaigns.plan.plan import PlanError
from xplane_bridge.laboratory.control import gains
from xplane_bridge.laboratory.flights.flight import FlightState
from xplane_bridge.laboratory.flights.laws import make_autopilot
from xplane_bridge.laboratory.flights.order import FlownBy, Order
from xplane_bridge.laboratory.flights.scenario.scenario import parse, ScenarioError
from xplane_bridge.laboratory.open_flight import open_flight
from xplane_bridge.simulation.aircraft.loading import parameter_file

SENTENCE = (
    'no gains are known for navion, and the autopilot flies no aircraft with those of another '
    r'one unless they are named: find its own \(tune --model navion\), or name a file or one of '
    '737, .*c172p.* with (--gains|gains: in aircraft:)')
FLIGHT = {
    'duration': 2.0, 'initial': {'model': 'navion', 'altitude': 1500.0, 'airspeed': 53.64},
    'events': [{'at': 0.5, 'engage': True}],
    'criteria': [{'quantity': 'roll', 'statistic': 'max_abs', 'at_most': 1.0}]}


@pytest.fixture
def untuned(tmp_path):
    """Return a folder with an aircraft that has no gains beside it."""
    shutil.copytree(
        Path(__file__).resolve().parents[3] / 'xplane_bridge/data/aircraft/navion',
        tmp_path / 'aircraft' / 'navion', ignore=shutil.ignore_patterns('*.yaml'))
    return tmp_path / 'aircraft'


def flight(untuned, events=None, **initial):
    return parse('mine', {
        **FLIGHT, 'initial': {
            **FLIGHT['initial'], 'aircraft_path': str(untuned), **initial},
        **({} if events is None else {'events': events})})


def law(scenario):
    """Return the law that flies a scenario."""
    flown = open_flight(Order(scenario))
    assert flown.start() is FlightState.READY
    return flown.vehicle.law


def test_it_is_refused_in_core_and_through_ros_before_the_flight(untuned):
    for sim in ('core', 'xpc', 'xplane12'):
        with pytest.raises(ScenarioError, match=SENTENCE):
            check(order_of(flight(untuned), sim=sim))
        with pytest.raises(ValueError, match=SENTENCE):
            open_flight(Order(flight(untuned), sim))


def test_a_campaign_refuses_it_with_its_plan(untuned):
    plan = untuned.parent / 'plan.yaml'
    plan.write_text("""
scenarios: [steps]
aircraft: [{model: navion, aircraft_path: aircraft}]
""")
    with pytest.raises(PlanError, match=SENTENCE):
        plans.load(str(plan))
    plan.write_text(plan.read_text().replace('path: aircraft', 'path: aircraft, gains: c172p'))
    assert plans.load(str(plan)).task(0).content['initial']['gains'] == 'c172p'


def test_an_episode_above_the_controls_refuses_it(untuned):
    with pytest.raises(ValueError, match=SENTENCE):
        open_flight(Order(flight(untuned), flown_by=FlownBy(actions='attitude')))
    episode = open_flight(Order(flight(untuned), flown_by=FlownBy(actions='controls')))
    assert episode.start() is FlightState.READY
    assert episode.observation().size


def test_gains_that_are_named_fly_it(untuned):
    assert law(flight(untuned, gains='c310')).gains == gains.load('c310')
    own = untuned.parent / 'own.yaml'
    shutil.copy(parameter_file.find_file('c310'), own)
    assert law(flight(untuned, gains=str(own))).gains == gains.load('c310')
    for sim in ('core', 'xpc'):
        check(order_of(flight(untuned), sim=sim, gains='c172p'))
        with pytest.raises(ScenarioError, match='there are no gains none: expected a file'):
            check(order_of(flight(untuned), sim=sim, gains='none'))


@pytest.mark.parametrize('model', ['f15', 'MD11', 'A320'])
def test_no_aircraft_of_jsbsims_flies_with_the_cessnas(model):
    found = parse('mine', FLIGHT | {'initial': {'model': model}})
    sentence = SENTENCE.replace('navion', model)
    for sim in ('core', 'xpc'):
        with pytest.raises(ScenarioError, match=sentence):
            check(order_of(found, sim=sim))
    with pytest.raises(ValueError, match=sentence):
        open_flight(Order(found, flown_by=FlownBy(actions='target')))
    with pytest.raises(ValueError, match=rf'find its own \(tune --model {model}\), or name a'):
        gains.read_parameters(model)


def test_a_parameter_file_for_bringup_brings_the_gains_of_its_aircraft(tmp_path, untuned):
    file = tmp_path / 'mine.yaml'

    def given(text):
        file.write_text(text)
        return gains.read_simulated(str(file))

    for node in ('/**', 'simulator_node', '/uav1/simulator_node', '/**/simulator_node'):
        assert given(f'{node}: {{ros__parameters: {{model: c310}}}}') == gains.read_parameters(
            'c310')
    read = gains.read_parameters
    assert given("simulator_node: {ros__parameters: {model: '737'}}") == read('737')
    with pytest.raises(ValueError, match=r'no gains are known for f15: .*tune --model f15'):
        given('simulator_node: {ros__parameters: {model: f15}}')
    own = f'model: navion, aircraft_path: {untuned}'
    with pytest.raises(ValueError, match='no gains are known for navion'):
        given(f'simulator_node: {{ros__parameters: {{{own}}}}}')
    shutil.copy(parameter_file.find_file('c310'), untuned / 'navion' / 'navion.yaml')
    assert given(f'simulator_node: {{ros__parameters: {{{own}}}}}') == read('c310')
    # Nothing said, another node's, or gains that somebody gave.
    for text in ('', '{}', '[]', '/**: {ros__parameters: {rate: 20.0}}', '/**: 3',
                 'xpc_node: {ros__parameters: {model: f15}}',
                 '/**: {ros__parameters: {model: f15, gains: {airspeed: 150.0}}}',
                 '/**: {ros__parameters: {model: f15, gains.airspeed: 150.0}}'):
        assert given(text) == {}


def test_where_no_autopilot_flies_none_are_needed(untuned):
    released = flight(untuned, [{'at': 0.5, 'doublet': {'axis': 'elevator', 'amplitude': 0.02},
                                 'for': 1.0}])
    assert open_flight(Order(released)).start() is FlightState.READY
    for sim in ('core', 'xpc'):
        check(order_of(released, sim=sim))
    check(order_of(flight(untuned), sim='xpc', controller='mine'))


def test_gains_that_were_changed_are_read_again(untuned):
    own = untuned / 'navion' / 'navion.yaml'
    shutil.copy(parameter_file.find_file('c310'), own)
    assert make_autopilot('navion', str(untuned)).gains == gains.load('c310')
    shutil.copy(parameter_file.find_file('f16'), own)
    assert make_autopilot('navion', str(untuned)).gains == gains.load('f16')
