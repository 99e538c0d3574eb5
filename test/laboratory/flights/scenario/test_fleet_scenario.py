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

"""Scenarios for several aircraft: what is understood of a file, and what is refused."""

import math

from orders import check, order_of
import pytest
import yaml

from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.laboratory.flights.scenario.fleet import Midair, Station
from xplane_bridge.laboratory.flights.scenario.scenario import ScenarioError
from xplane_bridge.laboratory.flights.scenario.start import fleet_start
from xplane_bridge.simulation.aircraft.terrain import HOME_LAT_DEG, HOME_LON_DEG

GOOD = """
duration: 20
initial: {altitude: 1500.0, heading_deg: 90.0, airspeed: 48.0}
sensors: consumer
events:
  - {at: 1, engage: true}
  - {at: 3, wind: [0, 5, 0]}
vehicles:
  - name: lead
    initial: {heading_deg: 180.0}
    events: [{at: 2, change: {altitude: 20}}]
    criteria: [{quantity: roll_deg, statistic: max_abs, at_most: 30}]
  - name: wing
    initial: {forward: -30, right: 40, up: 5, model: c310}
    formation: {leader: lead, begin: 2, forward: -30, right: 40}
  - name: far
    initial: {latitude_deg: 45.0, longitude_deg: 10.0}
    sensors: none
criteria:
  - {separation: [lead, wing], at_least: 25}
  - {separation: all, from: 5, to: 10, at_least: 20}
  - {formation: wing, statistic: rms, at_most: 4}
midair: {radius: 12, ends: false}
"""


def parsed(text):
    return scenario.parse('mine', yaml.safe_load(text))


def test_each_aircraft_has_a_whole_scenario():
    found = parsed(GOOD)
    lead, wing, far = found.vehicles
    assert [one.name for one in found.vehicles] == ['lead', 'wing', 'far']
    assert [event.action for event in lead.events] == ['engage', 'change', 'wind']
    assert [event.action for event in wing.events] == ['engage', 'wind']
    assert {one.duration for one in found.vehicles} == {20.0}
    assert lead.initial == {'altitude': 1500.0, 'heading_deg': 180.0, 'airspeed': 48.0}
    assert (far.initial['latitude_deg'], far.initial['heading_deg']) == (45.0, 90.0)
    assert [len(one.criteria) for one in found.vehicles] == [1, 0, 0]
    assert found.fleet.midair == Midair(12.0, ends=False)
    assert found.fleet.stations == {'wing': (Station('lead', (-30.0, 40.0, 0.0), 2.0),)}
    # The last is there without being asked for.
    assert [one.name for one in found.criteria] == [
        'separation of lead and wing', 'separation of any two', 'formation_error of wing',
        'separation of any two']
    assert [one.statistic for one in found.criteria] == ['min', 'min', 'rms', 'min']
    assert found.criteria[-1].at_least == 12.0


def test_a_place_may_be_from_the_first():
    wing = parsed(GOOD).vehicles[1].initial
    assert (wing['altitude'], wing['heading_deg'], wing['airspeed']) == (1505.0, 180.0, 48.0)
    assert wing['model'] == 'c310'
    home = order_of(parsed(GOOD)).of_vehicles()['lead'].scenario.initial
    assert 'latitude_deg' not in home
    place = LocalFrame(HOME_LAT_DEG, HOME_LON_DEG, 1500.0).geodetic_to_enu(
        wing['latitude_deg'], wing['longitude_deg'], wing['altitude'])
    # Towards the south: right is west.
    assert place == pytest.approx((-40.0, 30.0, 5.0), abs=1e-3)


def test_a_place_may_be_that_where_both_meet():
    content = yaml.safe_load(GOOD)
    content['vehicles'][1]['initial'] = {
        'encounter_at': 40.0, 'right': 100.0, 'up': 20.0, 'heading_deg': 270.0, 'airspeed': 60.0}
    lead, wing, _ = scenario.parse('mine', content).vehicles
    east, north, up = LocalFrame(HOME_LAT_DEG, HOME_LON_DEG, 1500.0).geodetic_to_enu(
        wing.initial['latitude_deg'], wing.initial['longitude_deg'], wing.initial['altitude'])
    # The first flies south for 40 s; its right is west, and the other comes from the east. At
    # 1500 m the air has 0.8638 of its density at sea level (ICAO Doc 7488): true is 1.076 times
    # calibrated.
    assert north == pytest.approx(-40.0 * 48.0 * 1.076, rel=2e-3)
    assert east == pytest.approx(40.0 * 60.0 * 1.077 - 100.0, rel=2e-3)
    assert up == pytest.approx(20.0, abs=1.0)
    assert (wing.initial['heading_deg'], wing.initial['airspeed']) == (270.0, 60.0)
    del content['initial']['airspeed']
    with pytest.raises(ScenarioError, match='encounter_at: how far both fly until then is not'):
        scenario.parse('mine', content)


def test_orders_are_those_of_each_with_one_weather_and_sensors_of_its_own():
    orders = order_of(parsed(GOOD), sim='core', seed=7).of_vehicles()
    assert {one.seed for one in orders.values()} == {orders['lead'].sensor_seed} == {7}
    assert len({one.sensor_seed for one in orders.values()}) == 3
    assert [one.sensed_by for one in orders.values()] == ['consumer', 'consumer', '']
    assert [one.model for one in orders.values()] == ['c172p', 'c310', 'c172p']
    replaced = order_of(parsed(GOOD), sim='core', model='J3Cub').of_vehicles()
    assert {one.model for one in replaced.values()} == {'J3Cub'}


def test_a_vehicle_may_name_its_controller_and_the_file_that_of_all():
    content = yaml.safe_load(GOOD)
    content['controller'] = {'command': 'python3 theirs.py', 'guidance': 'heading'}
    content['vehicles'][0]['controller'] = 'autopilot'
    content['vehicles'][1]['controller'] = 'python3 mine.py'
    content['vehicles'][2]['controller'] = {'command': 'python3 goals.py', 'target': False}
    content['vehicles'].append({'name': 'last'})
    found = scenario.parse('mine', content)

    def flown(**options):
        order = order_of(found, sim='direct', lockstep=True, **options)
        check(order)
        return {name: one.flown_by for name, one in order.of_vehicles().items()}

    own = flown()
    assert {name: one.command for name, one in own.items()} == {
        'lead': 'autopilot', 'wing': 'python3 mine.py', 'far': 'python3 goals.py',
        'last': 'python3 theirs.py'}
    assert [one.guidance for one in own.values()] == ['course', 'course', 'course', 'heading']
    assert [one.targets for one in own.values()] == [True, True, False, True]
    for command in ('autopilot', 'python3 other.py'):
        assert {one.command for one in flown(controller=command).values()} == {command}
    with pytest.raises(ScenarioError, match='vehicle wing, far, last: core flies without ROS'):
        check(order_of(found, sim='core'))


def test_who_has_its_own_goals_holds_no_slot():
    content = yaml.safe_load(GOOD)
    content['vehicles'][1]['controller'] = {'command': 'python3 goals.py', 'target': False}
    with pytest.raises(ScenarioError, match='vehicle wing holds a slot, and its controller has'):
        check(order_of(scenario.parse('mine', content), sim='direct', lockstep=True))


@pytest.mark.parametrize(('old', 'new', 'sentence'), [
    ('name: wing', 'name: lead',
     'vehicles[1].name: lead is the name of vehicles[0] already'),
    ('name: wing', 'name: Wing 2', 'vehicles[1].name: expected a lower-case letter, then'),
    ('name: wing', 'call: wing', 'vehicles[1]: expected a name with what belongs to it'),
    ('leader: lead', 'leader: boss',
     "vehicles[1].formation.leader: there is no vehicle 'boss': expected one of lead, far"),
    ('leader: lead', 'leader: wing', 'vehicles[1].formation.leader: wing cannot follow itself'),
    ('name: far', 'name: far\n    formation: {leader: far2, begin: 2}', "no vehicle 'far2'"),
    ('{leader: lead, begin: 2, forward: -30, right: 40}', '[]',
     'vehicles[1].formation: expected at least one slot'),
    ('{leader: lead, begin: 2, forward: -30, right: 40}',
     '[{leader: lead, begin: 2}, {leader: lead, begin: 2}]',
     'vehicles[1].formation[1].begin: 2 s is not after that of the slot before, 2 s'),
    ('begin: 2,', 'begin: 0.5,',
     'vehicle wing: formation: the autopilot is not engaged at 0.5 s'),
    ('    formation: {leader', '    events: [{at: 5, change: {altitude: 9}}]\n'
     '    formation: {leader',
     'vehicle wing: formation: change at 5 s would leave the slot; omit one of them'),
    ('    formation: {leader', '    route: {begin: 5, waypoints: [[1, 0]]}\n'
     '    formation: {leader', 'vehicle wing: formation: its route would leave the slot'),
    ('{at: 2, change: {altitude: 20}}', '{at: 2, wind: [1, 0, 0]}',
     'vehicle lead: wind at 2 s: there is one weather for all; put it in the events of the file'),
    ('{at: 2, change: {altitude: 20}}', '{at: 2, take_off: {height: 100}}',
     'vehicle lead: take_off at 2 s: aircraft of a fleet neither take off nor land'),
    ('{at: 2, change: {altitude: 20}}', '{at: 2, chnage: {altitude: 20}}',
     "vehicle lead: events[0]: unknown name 'chnage'"),
    ('{heading_deg: 180.0}', '{forward: 1}',
     'vehicles[0].initial: forward, right, up, encounter_at are from the first vehicle'),
    ('right: 40, up: 5,', 'right: 40, up: 5, altitude: 9,',
     'vehicles[1].initial: altitude and forward, right, up, encounter_at exclude each'),
    ('up: 5,', 'up: high,', "vehicles[1].initial.up: expected a number, got 'high'"),
    ('forward: -30, right: 40, up: 5', 'encounter_at: -1',
     'vehicles[1].initial.encounter_at: expected 0 to 3600 s, got -1'),
    ('altitude: 1500.0, ', '', 'whose initial state has no altitude; give it one'),
    ('[lead, wing]', '[lead, wong]', "criteria[0].separation: there is no vehicle 'wong'"),
    ('[lead, wing]', '[lead, lead]', 'criteria[0].separation: lead is named twice'),
    ('[lead, wing]', 'some', "expected the names of two vehicles, or all, got 'some'"),
    ('formation: wing,', 'formation: lead,',
     "criteria[2].formation: 'lead' holds no slot: expected one of wing"),
    ('formation: wing, statistic: rms', 'quantity: roll_deg, statistic: rms',
     "criteria[2]: unknown name 'quantity'"),
    ('formation: wing, ', '', 'what is about one aircraft belongs to the criteria of its vehicle'),
    ('radius: 12', 'radius: 0', 'midair.radius: expected above 0 m, got 0'),
    ('duration: 20', 'duration: 20\nroute: {begin: 1, waypoints: [[1, 0]]}',
     "the file: unknown name 'route'"),
])
def test_mistakes_are_named(old, new, sentence):
    assert GOOD.count(old) >= 1
    with pytest.raises(ScenarioError) as error:
        parsed(GOOD.replace(old, new, 1))
    assert sentence in str(error.value)


def test_none_or_too_many_are_refused():
    content = yaml.safe_load(GOOD)
    content['criteria'] = []
    for count, sentence in ((0, 'it has 0, expected 1 to 100'), (101, 'it has 101')):
        content['vehicles'] = [{'name': f'uav{number}'} for number in range(count)]
        with pytest.raises(ScenarioError, match=sentence):
            scenario.parse('mine', content)


def test_nobody_leads_a_circle():
    text = GOOD.replace('name: far', 'name: far\n    formation: {leader: wing, begin: 2}').replace(
        'leader: lead', 'leader: far')
    with pytest.raises(ScenarioError, match='wing, far follow one another in a circle'):
        parsed(text)
    # One after the other they may lead each other.
    content = yaml.safe_load(GOOD)
    lead, wing, _ = content['vehicles']
    lead |= {'events': [], 'formation': {'leader': 'wing', 'begin': 10.0}}
    wing['formation'] = [wing['formation'], {'leader': 'far', 'begin': 9.0, 'forward': -50.0}]
    assert [one.leader for one in scenario.parse('mine', content).fleet.stations['wing']] == [
        'lead', 'far']
    wing['formation'][1]['begin'] = 11.0
    with pytest.raises(ScenarioError, match='follow one another in a circle'):
        scenario.parse('mine', content)


def test_a_fleet_without_criteria_proves_nothing():
    content = yaml.safe_load(GOOD)
    content['criteria'] = []
    assert [one.name for one in scenario.parse('mine', content).criteria] == [
        'separation of any two']
    del content['vehicles'][0]['criteria']
    with pytest.raises(ScenarioError, match='a scenario without any proves nothing'):
        scenario.parse('mine', content)


@pytest.mark.parametrize(('given', 'sentence'), [
    ({'sim': 'xpc'}, 'scenario mine has 3 aircraft, and several are flown in core, or'),
    ({'sim': 'direct', 'sensors': 'none'}, 'which fly through ROS in --lockstep only'),
    ({'sim': 'core', 'sensors': 'none', 'controller': 'python3 mine.py'},
     'core flies without ROS, and a controller of your own is a ROS node'),
    ({'sim': 'direct', 'lockstep': True, 'sensors': 'bogus'}, "there are no sensors 'bogus'"),
    ({'sim': 'core', 'sensors': 'none', 'model': 'ball'}, 'ball'),
    ({'sim': 'core', 'sensors': 'bogus'}, "sensors: there are no sensors 'bogus'"),
    ({'sim': 'core', 'speed': 2.0}, 'omit speed'),
])
def test_what_holds_for_all_is_said_once(given, sentence):
    with pytest.raises(ScenarioError) as error:
        check(order_of(parsed(GOOD), **given))
    assert sentence in str(error.value)
    assert 'vehicle' not in str(error.value)
    said = [one for one in str(error.value).splitlines() if 'onnxruntime' not in one]
    assert len(said) == 1


def test_an_aircraft_without_gains_is_named():
    with pytest.raises(ScenarioError) as error:
        check(order_of(parsed(GOOD.replace('model: c310', 'model: ball')), sim='core'))
    assert str(error.value).startswith('vehicle wing: ')


def test_the_limits_of_a_window_hold_over_two_as_well():
    with pytest.raises(ScenarioError, match='it ends at 5 s, but begins at 10 s'):
        parsed(GOOD.replace('from: 5, to: 10', 'from: 10, to: 5'))
    assert math.isnan(parsed(GOOD).criteria[0].begin)


def test_simulator_node_is_given_places_from_the_first():
    vehicles = scenario.load(scenario.find('formation')).vehicles
    given = fleet_start({one.name: one.initial for one in vehicles})
    assert given['fleet'] == ['c172p', 'c172p']
    assert given['fleet_places'] == pytest.approx([-90, -70, 10, -110, 60, -10], abs=0.05)
    assert (given['fleet_headings_deg'], given['fleet_airspeeds']) == ([90.0] * 2, [48.0] * 2)
    assert given['heading_deg'] == 90.0
    assert 'fleet' not in fleet_start({'one': vehicles[0].initial})
    heavy = {'plant': {'mass': 1000.0, 'aero.Cmalpha': 0.9, 'gains.bank_to_aileron': 1.1}}
    given = fleet_start({'one': {}, 'two': heavy, 'three': heavy})
    assert given['fleet_plants'] == [
        'two:mass=1000.0', 'two:aero.Cmalpha=0.9', 'three:mass=1000.0', 'three:aero.Cmalpha=0.9']
