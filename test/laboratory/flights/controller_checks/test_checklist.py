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

"""The list of check_controller: each item from what was counted and measured, with what to do."""

import pytest

from xplane_bridge.laboratory.flights.controller_checks.checklist import (
    findings,
    not_flown,
    scenario,
    STEPS,
    TOPICS,
)
from xplane_bridge.laboratory.flights.controller_checks.conduct import Account, Conduct

GOOD = {'elevator': 0.1, 'aileron': 0.0, 'rudder': 0.0, 'throttle': 0.7}


def flown(lockstep=True, count=50, values=GOOD, stamp=lambda n: 1.0 + n, answer=0.001,
          period=0.02):
    conduct = Conduct(lockstep)
    conduct.engage(0.5, 0.0)
    for n in range(count):
        conduct.state(1.0 + n, n * period)
        if values is not None:
            conduct.command(stamp(n), values, n * period + answer)
    return conduct


def found(conduct, heard=TOPICS, end=10.5, change=(1.0, 1.0, 1.0), targets=True):
    def values(quantity, begin, end):
        (step,) = [one for one in STEPS if one.quantity == quantity]
        return [5.0, 5.0 + change[STEPS.index(step)] * 10.0 * step.factor]

    account = Account('mine', conduct, 1.0, 'a.log', ('the end',))
    return {one.name: one for one in findings(
        account, heard, 0.0, end, values, targets)}


def missed(*given, **named):
    return {name: one.sentence for name, one in found(*given, **named).items()
            if one.passed is False}


def test_the_scenario_steps_each_target_when_the_list_looks_at_it():
    events = [(event.at, event.action) for event in scenario().events]
    assert [(step.begin, 'change') for step in STEPS] == events[1:4]
    assert events[0][1] == events[-1][1] == 'engage'


def test_one_that_was_not_flown_is_told_what_it_lacks():
    found = {one.name: one for one in not_flown({'imu/data'}, {'command/controls'})}
    assert [name for name, one in found.items() if one.passed is False] == ['subscribes']
    assert found['subscribes'].sentence.endswith('or --no-target if it has its own goals')
    found = {one.name: one for one in not_flown((), ())}
    assert [name for name, one in found.items() if one.passed is False] == [
        'subscribes', 'publishes']
    assert found['subscribes'].sentence.startswith(
        'does not subscribe to imu/data, command/target: use')
    assert not any(one.passed for one in found.values())


def test_one_with_its_own_goals_is_told_nothing_and_judged_by_the_rest():
    events = [(event.at, event.action, event.value) for event in scenario(targets=False).events]
    assert events == [(0.0, 'engage', True)]
    items = found(flown(), TOPICS[:-1], targets=False)
    assert all(item.passed for name, item in items.items() if items[name].passed is not None)
    assert [name for name, item in items.items() if item.passed is None] == [
        'rate', 'airspeed', 'heading', 'altitude', 'releases']
    assert items['heading'].sentence == 'not tried: it has its own goals'
    assert 'target' not in items['subscribes'].sentence
    assert not found(flown(), {'fix'}, targets=False)['subscribes'].passed
    lacking = {one.name: one for one in not_flown({'imu/data'}, (), targets=False)}
    assert lacking['subscribes'].passed
    assert lacking['publishes'].sentence.endswith('for each imu/data')


@pytest.mark.parametrize('lockstep', [True, False])
def test_one_that_keeps_the_contract_is_told_what_was_not_tried(lockstep):
    assert not missed(flown(lockstep))
    not_tried = [name for name, one in found(flown(lockstep)).items() if one.passed is None]
    assert not_tried == (['rate'] if lockstep else ['lockstep'])
    assert str(found(flown())['subscribes']) == (
        '✓ subscribes imu/data, fix, odom, air_data, controls, command/target')


def test_the_state_at_which_a_flight_ends_need_not_be_answered_before_a_release():
    conduct = flown()
    conduct.state(51.0, 1.0)
    assert found(conduct)['lockstep'].sentence == 'each of 50 states was answered'
    conduct.release(52.0, 1.1)
    assert 'answered 50 of 51 states' in missed(conduct)['lockstep']


def test_each_fault_is_one_line_with_what_to_do():
    assert 'does not subscribe to imu/data: use relative names' in missed(
        flown(), heard={'command/target'})['subscribes']
    assert 'publish on command/controls' in missed(flown(values=None))['publishes']
    assert 'answered 0 of 50 states' in missed(flown(values=None))['lockstep']
    assert missed(flown(stamp=lambda n: 0.0))['stamps'] == (
        '50 commands without a stamp (stamp 0.000 s): copy header.stamp of the imu/data to that '
        'of the command')
    assert 'no rudder, throttle' in missed(
        flown(values={'elevator': 0.0, 'aileron': 0.0}))['controls']
    assert 'elevator is 1.2' in missed(flown(values=GOOD | {'elevator': 1.2}))['saturates']


def test_the_rate_counts_in_real_time():
    assert missed(flown(values=GOOD | {'elevator': 1.2}, count=1))['saturates'].startswith(
        '1 command out of range (elevator is 1.2')
    assert '10.' in missed(flown(False, count=10, period=0.1))['rate']
    assert '50 of them late: compute faster' in missed(flown(False, answer=0.2))['rate']


def test_the_wrong_direction_is_told_from_none():
    sentences = missed(flown(), change=(1.0, -1.0, 0.0))
    assert sentences.keys() == {'heading', 'altitude'}
    assert '-10.0 deg of bank in 2 s, the wrong way: aileron + is right wing' in (
        sentences['heading'])
    assert '+0.0 m in 2 s: it does not follow target; elevator + is nose up' in (
        sentences['altitude'])


def test_what_came_after_the_end_was_not_tried():
    conduct = flown()
    conduct.ended(3)
    items = found(conduct, end=5.0)
    assert [name for name, one in items.items() if one.passed is None] == [
        'rate', 'heading', 'altitude', 'saturates', 'releases']
    assert str(items['runs']).splitlines() == [
        '✗ runs       ended with exit code 3 at 50.0 s; the end of its log:',
        '             the end']
    conduct = flown()
    conduct.hangs(5.0)
    assert 'silent for 5.0 s; let no callback block' in missed(conduct, end=5.0)['runs']
