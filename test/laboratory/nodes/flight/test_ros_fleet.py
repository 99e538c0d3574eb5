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

"""Several aircraft through ROS in lockstep: as in one process, and equal each time."""

from dataclasses import replace
import os
from pathlib import Path
import signal
import sys

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
pytest.importorskip('rosbags', reason='flights are read from their recordings')

import numpy as np

from xplane_bridge.laboratory.control.policy.observation import SIZE
from xplane_bridge.laboratory.flights.flight import FlightState
from xplane_bridge.laboratory.flights.order import FlownBy, Link, Order
from xplane_bridge.laboratory.flights.scenario.scenario import parse
from xplane_bridge.laboratory.open_flight import open_flight

CONTENT = {
    'duration': 4.0, 'initial': {'altitude': 1500.0, 'airspeed': 50.0},
    'events': [{'at': 0.1, 'engage': True},
               {'at': 0.5, 'wind': [3.0, 4.0, 0.0]}, {'at': 0.5, 'turbulence': [15.0, 4]}],
    'vehicles': [
        {'name': 'lead', 'events': [{'at': 1.0, 'change': {'heading_deg': 30.0}}],
         'criteria': [{'quantity': 'roll_deg', 'statistic': 'max', 'at_least': 5.0}]},
        {'name': 'wing', 'initial': {
            'forward': -50.0, 'right': 40.0, 'up': 5.0, 'plant': {'mass': 1000.0}},
         'formation': {'leader': 'lead', 'begin': 1.0, 'forward': -40.0, 'right': 40.0}}],
    'criteria': [{'formation': 'wing', 'at_most': 60.0}],
    'midair': {'radius': 62.0, 'ends': False}}
IN_LOCKSTEP = Link(lockstep=True)
MINIMAL = Path(__file__).resolve().parents[4] / 'examples' / 'controllers' / 'minimal.py'


def flown(order):
    with open_flight(order) as flight:
        flight.fly()
        assert flight.state is FlightState.OVER, flight.why
        flight.close()
        return flight.histories(), flight.result(), flight.meetings


def bits(histories):
    return {(name, quantity): (history.series[quantity].times.tobytes(),
                               history.series[quantity].values.tobytes())
            for name, history in histories.items()
            for quantity in ('latitude', 'longitude', 'altitude', 'roll', 'command_aileron')}


def test_it_flies_as_in_one_process_and_each_time_to_the_last_bit():
    order = Order(parse('two', CONTENT), 'direct', seed=3, link=IN_LOCKSTEP)
    (first, result, meetings), (again, *_) = flown(order), flown(order)
    assert bits(first) == bits(again)
    core, of_core, met = flown(Order(parse('two', CONTENT), seed=3))
    assert [one.passed for one in result.judgements] == [one.passed for one in of_core.judgements]
    assert [one.criterion for one in result.judgements] == [
        one.criterion for one in of_core.judgements]
    assert [one.at for one in meetings] == pytest.approx([one.at for one in met], abs=0.02)
    assert meetings
    for name in ('lead', 'wing'):
        assert len(first[name].series['roll'].times) == 241
        # The leader has turned, and both have been in the same gusts.
        assert np.ptp(first[name].series['heading'].values) > 0.1
        for quantity, tolerance in (('latitude', 1e-6), ('altitude', 0.1), ('roll', 0.01)):
            assert np.abs(first[name].series[quantity].values
                          - core[name].series[quantity].values).max() < tolerance, (name, quantity)


def test_sensors_lead_followers_engines_fail_and_aircraft_are_trimmed_each_by_itself():
    lead, wing = CONTENT['vehicles']
    engages, fails = {'at': 0.1, 'engage': True}, {'at': 2.0, 'gnss_outage': True}
    content = {
        **CONTENT, 'duration': 3.0, 'sensors': 'consumer', 'events': CONTENT['events'][1:],
        'vehicles': [
            {**lead, 'events': [
                engages, *lead['events'], {'at': 1.5, 'engine_failed': True}, fails]},
            {**wing, 'events': [engages, fails]},
            {'name': 'other', 'initial': {'right': 300.0}, 'sensors': 'none', 'events': [
                {'at': 0.2, 'trim': {'airspeed': 55.0}}, {'at': 1.0, 'engine_failed': [0]},
                {'at': 1.5, 'engine_failed': False}]}]}
    found, *_ = flown(Order(parse('three', content), 'direct', seed=3, link=IN_LOCKSTEP))
    core, *_ = flown(Order(parse('three', content), seed=3))
    for name, history in found.items():
        speed, expected = history.series['airspeed'], core[name].series['airspeed']
        assert speed.values[-1] == pytest.approx(expected.values[-1], abs=0.1), name
    assert found['other'].series['airspeed'].values[20] == pytest.approx(55.0, abs=0.2)

    def altitude_told(histories):
        return histories['wing'].series['target_altitude'].values[-1]

    # The errors of the satellites are metres; led by the truth it would be told another one.
    assert altitude_told(found) == pytest.approx(altitude_told(core), abs=0.3)
    truth = found['lead'].series['altitude'].values[-1] + 5.0
    assert abs(altitude_told(found) - truth) > 0.5


def test_a_policy_flies_each_as_in_one_process_and_each_time_to_the_last_bit():
    order = Order(parse('two', {**CONTENT, 'duration': 3.0}), seed=3,
                  flown_by=FlownBy(policy='turbulence'))
    through_ros = replace(order, sim='direct', link=IN_LOCKSTEP)
    (found, result, _), (again, *_), (core, of_core, _) = map(
        flown, (through_ros, through_ros, order))
    assert bits(found) == bits(again)
    assert [one.passed for one in result.judgements if 'controller' not in one.criterion] == [
        one.passed for one in of_core.judgements]
    for name, history in found.items():
        # Through ROS it is told a frame later what to hold.
        for quantity, tolerance in (('latitude', 5e-6), ('altitude', 0.3), ('roll', 0.03)):
            assert np.abs(history.series[quantity].values
                          - core[name].series[quantity].values).max() < tolerance, (name, quantity)
        assert result.figures['vehicles'][name]['controller']['answered'] > 150


def test_a_controller_of_ones_own_flies_one_of_two_and_holds_its_slot():
    lead, wing = CONTENT['vehicles']
    content = {
        **CONTENT, 'duration': 6.0, 'vehicles': [lead, {
            **wing, 'controller': {'command': f'{sys.executable} -P {MINIMAL}', 'timeout': 60.0}}]}
    found, result, _ = flown(Order(parse('two', content), 'direct', seed=3, link=IN_LOCKSTEP))
    figures = result.figures['vehicles']
    assert 'controller' not in figures['lead']
    assert figures['wing']['controller']['answered'] > 300
    assert [one.criterion for one in result.judgements if not one.passed] == [
        'min of separation of any two at least 62']
    # Led by headings, ten times per second.
    for quantity in ('target_heading', 'target_airspeed'):
        assert len(np.unique(found['wing'].series[quantity].values)) > 20, quantity


def test_actions_fly_each_of_two_as_in_one_process():
    content = {**CONTENT, 'duration': 3.0, 'vehicles': [
        {**one, 'events': [{'at': at, 'engage': True}]}
        for one, at in zip(CONTENT['vehicles'], (0.1, 0.3), strict=True)], 'events': []}
    del content['vehicles'][1]['formation']
    content['criteria'] = []
    order = Order(parse('two', content), seed=3, flown_by=FlownBy(actions='target'))
    ends = []
    for one in (order, replace(order, sim='direct', link=IN_LOCKSTEP)):
        with open_flight(one) as flight:
            flight.start()
            assert flight.time == pytest.approx(0.3, abs=0.02)
            flight.step([1510.0, 1.6, 50.0, 1490.0, 1.4, 52.0], 60)
            assert flight.state is FlightState.READY, flight.why
            assert len(flight.observation()) == len(flight.truth()) == 2 * SIZE
            assert flight.offset('lead', 'wing') == pytest.approx((-50.0, -40.0, 5.0), abs=6.0)
            assert flight.step([1510.0]) is FlightState.FAILED
            ends.append(flight.histories())
    core, through_ros = ends
    for name, history in through_ros.items():
        for quantity, tolerance in (('latitude', 1e-7), ('altitude', 0.01), ('roll', 1e-3)):
            times, values = history.series[quantity]
            assert len(times) > 70
            expected = np.interp(times, *core[name].series[quantity])
            assert np.abs(values - expected).max() < tolerance, (name, quantity)


def test_agents_fly_through_ros_as_in_one_process():
    pytest.importorskip('pettingzoo', reason='episodes of several need pettingzoo')
    from xplane_bridge.laboratory.episodes.fleet import FleetEnv
    content = {**CONTENT, 'vehicles': [
        {'name': 'lead'}, {'name': 'wing', 'initial': {'right': 80.0}}],
        'criteria': [{'separation': 'all', 'at_least': 70.0}]}
    actions = {'lead': [1510.0, 1.6, 50.0], 'wing': [1490.0, 1.4, 52.0]}
    found = []
    for sim in ('core', 'direct'):
        env = FleetEnv(parse('two', content), sim=sim)
        env.reset(seed=5)
        for _ in range(10):
            seen, rewards, *_ = env.step(actions)
        found.append(np.concatenate([*seen.values(), list(rewards.values())]))
        env.close()
    assert found[1] == pytest.approx(found[0], rel=1e-4, abs=1e-3)


def test_an_autopilot_that_dies_is_named():
    order = Order(parse('two', {**CONTENT, 'duration': 600.0}), 'direct', link=IN_LOCKSTEP)
    with open_flight(order) as flight:
        flight.start()
        flight.step(frames=1)
        os.kill(flight.vehicles['wing'].autopilot.pid, signal.SIGKILL)
        flight.fly()
        assert flight.state is FlightState.FAILED
        assert 'wing.autopilot_node ended with code -9' in flight.why
