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

"""Several aircraft on one clock: each as if alone, followers in their slots, who meets."""

from dataclasses import replace
import math

from orders import flown
import pytest
import yaml

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.common.timing import FRAME
from xplane_bridge.laboratory.campaigns.fly import trajectory
from xplane_bridge.laboratory.control.policy.observation import SIZE
from xplane_bridge.laboratory.flights.analysis import history as analysis
from xplane_bridge.laboratory.flights.flight import Fault, FlightState
from xplane_bridge.laboratory.flights.order import FlownBy, Keep, Link, Order
from xplane_bridge.laboratory.flights.recordings import parquet_file
from xplane_bridge.laboratory.flights.refusals import OrderError, refusals
from xplane_bridge.laboratory.flights.scenario.events import ScenarioEvent
from xplane_bridge.laboratory.flights.scenario.scenario import find, load, parse
from xplane_bridge.laboratory.open_flight import open_flight

ROUGH = """
duration: 8.0
initial: {altitude: 1200.0, heading_deg: 200.0, airspeed: 48.0}
events:
  - {at: 0.6, engage: true}
  - {at: 1.0, wind: [2.0, 3.0, 0.0]}
  - {at: 1.0, turbulence: [15.0, 4]}
vehicles:
  - name: lead
    events: [{at: 2.0, change: {heading_deg: 30.0}}]
  - name: wing
    initial: {forward: -60.0, right: 50.0, up: 5.0}
    formation: {leader: lead, begin: 1.0, forward: -40.0, right: 40.0}
  - name: other
    initial: {forward: 300.0, right: -300.0, airspeed: 51.0}
    events: [{at: 0.0, controls: {elevator: 0.05}, for: 0.5}]
criteria:
  - {separation: all, at_least: 30.0}
  - {formation: wing, at_most: 40.0}
"""


def fleet(text=ROUGH):
    return parse('mine', yaml.safe_load(text))


def bits(history):
    return {name: (series.times.tobytes(), series.values.tobytes())
            for name, series in history.series.items()}


@pytest.mark.parametrize('sensors', ['', 'consumer'])
def test_each_flies_exactly_as_it_flies_alone_with_the_same_orders(sensors):
    flight = open_flight(Order(fleet(), seed=7, sensors=sensors))
    told = []
    with flight:
        flight.start()
        wing = flight.vehicles['wing']
        by_law = wing.set_target
        wing.set_target = lambda values: (told.append((wing.time, values)), by_law(values))
        assert flight.fly() is FlightState.OVER
    assert 60 <= len(told) <= 71
    for name, order in Order(fleet(), seed=7, sensors=sensors).of_vehicles().items():
        if name == 'wing':
            order = replace(order, scenario=replace(order.scenario, events=(
                *order.scenario.events[:1], *sorted((
                    *order.scenario.events[1:],
                    *(ScenarioEvent(at, 'target', values) for at, values in told)),
                    key=lambda event: event.at))))
        alone = open_flight(order)
        assert alone.fly() is FlightState.OVER
        assert bits(alone.history()) == bits(flight.histories()[name]), name


def test_equal_seeds_give_equal_bits_and_others_do_not():
    first, again, other = (trajectory(flown(fleet(), seed).history()) for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_however_many_frames_are_flown_at_once_the_flight_is_the_same():
    whole, halting = flown(fleet(), 3), open_flight(Order(fleet(), seed=3))
    halting.start()
    for frames in (1, 7, 2, 60, 1, 1, 33) * 20:
        if halting.state is FlightState.READY:
            halting.step(frames=frames)
    assert halting.state is FlightState.OVER
    assert trajectory(halting.history()) == trajectory(whole.history())


def test_the_order_of_the_aircraft_makes_no_difference():
    content = yaml.safe_load(ROUGH)
    swapped = {**content, 'vehicles': [content['vehicles'][at] for at in (0, 2, 1)]}
    first, second = (flown(parse('mine', one)).histories() for one in (content, swapped))
    assert [*first] != [*second]
    assert {name: bits(one) for name, one in first.items()} == {
        name: bits(one) for name, one in second.items()}


def test_all_are_in_the_same_gusts_and_each_has_its_own_sensors():
    content = yaml.safe_load(ROUGH)
    content['vehicles'] = [{'name': name, 'initial': place} for name, place in (
        ('one', {}), ('two', {'right': 0.01}))]
    content['midair'] = {'ends': False}
    content['criteria'] = content['criteria'][:1]
    flight = flown(parse('mine', content), 3, sensors='consumer')
    one, two = flight.vehicles.values()
    # The sensors of each have made something else of it.
    assert one.measurement().roll != two.measurement().roll
    flight = flown(parse('mine', {**content, 'events': content['events'][1:]}), 3)
    one, two = (history.series['roll'].values for history in flight.histories().values())
    assert abs(one).max() > 0.005
    # Not equal: a hundredth of a metre apart. Other gusts would be 0.1 rad.
    assert abs(one - two).max() < 1e-3


def test_a_recording_has_each_as_it_flew_unrecorded(tmp_path):
    for needed in ('mcap', 'rosbags'):
        pytest.importorskip(needed, reason=f'{needed} is not installed')
    path = tmp_path / 'fleet.mcap'
    order = Order(fleet(), seed=3, keep=Keep(str(path)), link=Link(namespace='/team'))
    with open_flight(order) as flight:
        assert flight.fly() is FlightState.OVER
    assert trajectory(flight.history()) == trajectory(flown(fleet(), 3).history())
    for name, history in flight.histories().items():
        found = analysis.load(path, f'/team/{name}')
        for quantity in ('latitude', 'roll', 'airspeed', 'command_aileron', 'target_heading'):
            series = history.series[quantity]
            assert found.series[quantity].times == pytest.approx(series.times, abs=1e-9)
            assert found.series[quantity].values == pytest.approx(
                series.values, abs=1e-12, nan_ok=True), (name, quantity)


def test_each_may_be_recorded_to_a_table_of_its_own(tmp_path):
    pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    path = tmp_path / 'fleet.parquet'
    order = Order(replace(fleet(), duration=2.0), seed=3, keep=Keep(str(path)))
    with open_flight(order) as flight:
        assert flight.fly() is FlightState.OVER
    assert {path.name for path in tmp_path.iterdir()} == {
        'fleet.lead.parquet', 'fleet.wing.parquet', 'fleet.other.parquet'}
    for name, history in flight.histories().items():
        found = parquet_file.read(tmp_path / f'fleet.{name}.parquet')
        assert found.facts['vehicle'] == name
        assert found.columns['roll'] == pytest.approx(history.series['roll'].values, abs=1e-12)


def test_what_of_several_is_not_recorded_is_said_before():
    order = Order(replace(fleet(), duration=2500.0), keep=Keep('fleet.mcap'))
    assert refusals(order) == [
        'scenario mine lasts 2500 s and has 3 aircraft; in core they are '
        'recorded for at most 2400 s, as all are in memory until its end']


def test_a_formation_meets_its_criteria():
    flight = flown(load(find('formation')))
    assert flight.flown == 150.0
    assert [str(one) for one in flight.result().judgements if not one.passed] == []


RESHAPED = """
duration: 25.0
initial: {altitude: 1200.0, heading_deg: 90.0, airspeed: 48.0}
events: [{at: 0.5, engage: true}]
vehicles:
  - name: lead
  - name: wing
    initial: {forward: -40.0, right: 40.0}
    formation: {leader: lead, begin: 1.0, forward: -40.0, right: 40.0}
  - name: last
    initial: {forward: -80.0, right: 80.0}
    formation:
      - {leader: wing, begin: 1.0, forward: -40.0, right: 40.0}
      - {leader: lead, begin: 5.0, forward: -80.0, right: 40.0, up: 10.0}
criteria:
  - {formation: last, to: 4.9, at_most: 3.0}
  - {formation: last, from: 4.9, to: 5.1, at_least: 40.0}
  - {formation: last, from: 22.0, at_most: 7.0}
"""


def test_a_formation_changes_its_shape():
    flight = flown(parse('mine', yaml.safe_load(RESHAPED)))
    assert [str(one) for one in flight.result().judgements if not one.passed] == []
    east, north, up = flight.offset('lead', 'last')
    assert (east, north, up) == pytest.approx((-80.0, -40.0, 10.0), abs=4.0)


def test_judgements_and_figures_say_whose_they_are():
    content = yaml.safe_load(ROUGH)
    content['vehicles'][0]['criteria'] = [
        {'quantity': 'altitude', 'statistic': 'first', 'at_least': 1199.0}]
    flight = flown(parse('mine', content), 1)
    result = flight.result()
    criteria = [one.criterion for one in result.judgements]
    assert criteria[0] == 'lead: first of altitude at least 1199'
    assert criteria[1] == 'min of separation of any two at least 30'
    assert criteria[2] == 'max of formation_error of wing at most 40'
    assert all(one.passed for one in result.judgements)
    assert result.figures['vehicles'].keys() == {'lead', 'wing', 'other'}
    assert result.figures['separation']['wing']['nearest'] == 'lead'
    assert result.figures['separation']['wing']['distance'] == pytest.approx(
        result.judgements[1].value)
    assert result.figures['formation']['wing']['max'] == pytest.approx(
        result.judgements[2].value)
    # It begins 20 m behind its slot, 10 m to the right of it, and 5 m above.
    assert 20.0 < result.judgements[2].value < 25.0
    assert 'wing.roll' in flight.history().series


def test_one_is_judged_as_several_are():
    whole, alone = flown(fleet(), 1), next(iter(Order(fleet(), seed=1).of_vehicles().values()))
    single = flown(alone.scenario, 1)
    assert [*single.vehicles] == ['']
    assert single.vehicles[''] is single.vehicle
    assert (single.meetings, single.crashed, single.crash_outcome) == ([], '', '')
    found, of_lead = single.results(), whole.results()['lead']
    assert single.result(found) is found['']
    for name in ('tracking', 'activity', 'airframe'):
        assert found[''].figures[name] == of_lead.figures[name], name


def test_where_two_meet_the_flight_ends():
    scenario = load(find('crossing'))
    flight = flown(scenario)
    meeting, = flight.meetings
    assert (meeting.first, meeting.second) == ('own', 'intruder')
    assert 19.0 - 2.0 * 1.8 < meeting.distance < 20.0
    assert flight.flown == pytest.approx(meeting.at)
    assert 32.0 < flight.flown < 33.0
    passed = {one.criterion: one.passed for one in flight.result().judgements}
    assert not any(passed.values())


def test_a_mid_air_may_be_recorded_only():
    scenario = load(find('crossing'))
    said = []

    class Told:
        def begin(self, flight):
            pass

        def end(self):
            pass

        def say(self, text):
            said.append(text)

        def update(self, phase, progress):
            pass

    flight = open_flight(Order(replace(scenario, fleet=replace(
        scenario.fleet, midair=replace(scenario.fleet.midair, ends=False)))), Told())
    assert flight.fly() is FlightState.OVER
    assert flight.flown == 90.0
    assert len(flight.meetings) == flight.result().figures['midairs'] == 1
    assert said[0].strip() == '0.5 s  engage'
    assert [text for text in said if 'mid-air' in text] == [
        f'{flight.meetings[0].at:5.1f} s  mid-air: own and intruder are '
        f'{flight.meetings[0].distance:.1f} m apart']
    assert said[-1].startswith('2 aircraft, 90.0 s flown')
    nearest = flight.tracks().closest()[0]
    assert nearest.distance < 2.0
    failed = [one.criterion for one in flight.result().judgements if not one.passed]
    assert failed == ['min of separation of own and intruder at least 300',
                      'min of separation of any two at least 20']


def test_whoever_gives_way_solves_the_crossing():
    with open_flight(Order(load(find('crossing')))) as flight:
        flight.start()
        flight.step(frames=60)
        own = flight.vehicles['own']
        heading = own.law.target.heading
        while flight.state is FlightState.READY:
            east, north, _ = flight.offset('own', 'intruder')
            # To the right, behind the other, until that has passed.
            gives_way = north < 0.0 or math.hypot(east, north) < 400.0
            own.set_target({'heading': heading + math.radians(35.0) * gives_way})
            flight.step(frames=6)
        assert [str(one) for one in flight.result().judgements if not one.passed] == []


def test_who_is_not_heard_is_not_followed_and_joins_again_afterwards():
    content = yaml.safe_load(ROUGH)
    content |= {'duration': 25.0, 'events': content['events'][:1]}
    lead, wing, _ = content['vehicles']
    content['vehicles'] = [lead, wing]
    lead['events'] = [{'at': 3.0, 'change': {'altitude': 40.0}}]
    wing['events'] = [{'at': 2.0, 'data_link_down': True}, {'at': 12.0, 'data_link_down': False}]
    flight = flown(parse('mine', content))
    height = flight.histories()['wing'].series['target_altitude']
    # It is told nothing meanwhile, and holds what it was told last.
    assert not len(height.between(2.1, 11.9).times)
    assert height.between(12.0, 12.1).values[-1] > height.between(0.0, 2.1).values[-1] + 20.0
    error = flight.tracks().formation_error('wing')
    assert error.between(11.0, 12.0).values.max() > 25.0
    assert error.between(24.0, 25.0).values.max() < 8.0


def test_who_is_not_heard_is_in_no_traffic_after_a_while():
    content = yaml.safe_load(ROUGH) | {'duration': 12.0, 'events': [{'at': 0.5, 'engage': True}]}
    del content['vehicles'][1]['formation'], content['criteria'][1]
    for number, one in enumerate(content['vehicles']):
        one['initial'] = {'forward': 1500.0 * number} if number else {}
        one['events'] = [{'at': 1.0, 'data_link_down': True}] if one['name'] == 'other' else []
    with open_flight(Order(
            parse('mine', content), flown_by=FlownBy(policy='well_clear'))) as flight:
        flight.start()
        flight.step(frames=600)
        counts = {name: one.observation()[SIZE] for name, one in flight.vehicles.items()}
        assert counts == {'lead': 2.0, 'wing': 2.0, 'other': 2.0}
        flight.step(frames=100)
        counts = {name: one.observation()[SIZE] for name, one in flight.vehicles.items()}
        assert counts == {'lead': 1.0, 'wing': 1.0, 'other': 0.0}


def test_through_ros_a_policy_that_would_see_who_is_not_heard_is_refused():
    content = yaml.safe_load(ROUGH)
    content['vehicles'][1]['events'] = [{'at': 1.0, 'data_link_down': True}]
    several = parse('mine', content)
    first, *others = several.vehicles
    of_one = replace(several, vehicles=(
        replace(first, controller={'policy': 'well_clear'}), *others))
    for order in (Order(several, 'direct', flown_by=FlownBy(policy='well_clear'),
                        link=Link(lockstep=True)),
                  Order(of_one, 'direct', link=Link(lockstep=True))):
        assert [one for one in refusals(order) if one.startswith('data_link_down: ')] == [
            'data_link_down: through ROS the simulator tells policies of all the others: '
            '--sim core']
    assert not any('data_link_down' in one for one in refusals(
        Order(several, 'direct', link=Link(lockstep=True))))


def test_one_that_sees_gives_way_to_one_that_does_not():
    scenario = load(find('crossing'))
    own, intruder = scenario.vehicles
    flight = flown(replace(scenario, duration=40.0, vehicles=(
        replace(own, duration=40.0, criteria=(), controller={'policy': 'well_clear'}),
        replace(intruder, duration=40.0))))
    assert [str(one) for one in flight.result().judgements if not one.passed] == []
    assert abs(flight.histories()['intruder'].series['roll'].values).max() < 0.05


def test_who_sees_traffic_is_told_where_the_others_are_in_whichever_order_all_fly():
    content = yaml.safe_load(ROUGH)
    swapped = {**content, 'vehicles': [content['vehicles'][at] for at in (0, 2, 1)]}
    found = []
    for one, frames in ((content, 60), (swapped, 7)):
        with open_flight(Order(
                parse('mine', one), flown_by=FlownBy(policy='well_clear'))) as flight:
            flight.start()
            while flight.state is FlightState.READY:
                flight.step(frames=frames)
            assert flight.flown == 8.0
            found.append({name: bits(history) for name, history in flight.histories().items()})
            told = flight.vehicles['lead'].observation()[SIZE:]
            assert told[0] == 2.0
            assert told[1:4] == pytest.approx(flight.offset('lead', 'wing'), abs=0.05)
    assert found[0] == found[1]


def test_actions_are_given_to_all_on_one_clock():
    content = yaml.safe_load(ROUGH)
    # The others are engaged 0.3 s later: nobody flies on without them.
    content['events'] = []
    for one, at in zip(content['vehicles'], (0.6, 0.9, 0.9), strict=True):
        one['events'] = [{'at': at, 'engage': True}]
    del content['vehicles'][1]['formation']
    content['criteria'] = content['criteria'][:1]
    order = Order(parse('mine', content), flown_by=FlownBy(actions='target'))
    with open_flight(order) as flight:
        flight.start()
        assert flight.time == pytest.approx(0.9)
        size = len(flight.vehicles['lead'].observation())
        assert flight.observation().shape == (3 * size,)
        assert len(flight.truth()) == 3 * size
        flight.step([1250.0, 3.5, 50.0, 1150.0, 3.5, 50.0, 1200.0, 3.5, 50.0], 300)
        heights = [one.last('altitude') for one in flight.vehicles.values()]
        assert {one.time for one in flight.vehicles.values()} == {flight.time}
        assert heights[0] > 1205.0 > 1195.0 > heights[1]
        assert flight.step([0.0]) is FlightState.FAILED
        assert flight.why == 'action: got 1 numbers, expected 3 for each of 3 aircraft'


def test_who_fails_is_named():
    content = yaml.safe_load(ROUGH)
    content['vehicles'][2]['initial']['airspeed'] = 400.0
    flight = open_flight(Order(parse('mine', content)))
    assert flight.fly() is FlightState.FAILED
    assert flight.why.startswith('vehicle other: ')
    assert flight.fault is Fault.FLIGHT
    with pytest.raises(ValueError, match='has not begun'):
        flight.result()


def test_a_law_flies_one_aircraft():
    with pytest.raises(OrderError, match='a law of your own flies one aircraft, and scenario '
                       'mine has 3: give each its targets between steps'):
        flown(fleet(), law=object())


def test_a_frame_is_one_of_all():
    with open_flight(Order(fleet())) as flight:
        flight.start()
        flight.step(frames=5)
        assert flight.time == pytest.approx(5 * FRAME)
        assert {len(one.series['roll'].times) for one in flight.histories().values()} == {6}
