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

"""In lockstep exactly one command passes for each state, when the experiment is done with it."""

import math

import pytest

from xplane_bridge.laboratory.flights.controller_checks.conduct import Conduct
from xplane_bridge.laboratory.flights.controller_checks.relay import Relay

GOOD = {'elevator': 0.1, 'aileron': 0.0, 'rudder': -0.2, 'throttle': 0.7}


def engaged(stamp=0.5):
    passed = []
    relay = Relay(Conduct(True), lambda stamp, values: passed.append((stamp, dict(values))))
    relay.start_from(GOOD | {'throttle': 0.3})
    relay.conduct.engage(stamp, 0.0)
    relay.hold(math.inf, 0.0)
    return relay, passed


def test_an_answer_passes_once():
    relay, passed = engaged()
    relay.state(1.0, 0.0)
    relay.command(1.0, GOOD, 0.0)
    relay.command(1.0, GOOD, 0.0)
    assert passed == [(1.0, GOOD)]
    assert relay.conduct.counts['duplicate'] == 1


@pytest.mark.parametrize(('times', 'mistakes'), [(9, 1), (10, 0), (25, 0)])
def test_the_same_answer_may_come_again_to_a_state_that_is_sent_again_and_again(times, mistakes):
    relay, passed = engaged()
    relay.hold(1.0, 0.0)
    relay.state(1.0, 0.0)
    relay.command(1.0, GOOD, 0.0)
    for again in range(times):
        relay.state(1.0, 0.1 * again)
    relay.command(1.0, GOOD, 3.0)
    assert relay.conduct.counts['duplicate'] == mistakes
    # Another answer is a mistake all the same.
    relay.command(1.0, GOOD | {'elevator': 0.2}, 3.0)
    assert relay.conduct.counts['duplicate'] == mistakes + 1
    relay.hold(2.0, 3.0)
    assert passed == [(1.0, GOOD)]
    # The next state begins anew.
    relay.state(2.0, 4.0)
    relay.command(2.0, GOOD, 4.0)
    relay.command(2.0, GOOD, 4.0)
    assert relay.conduct.counts['duplicate'] == mistakes + 2


def test_an_answer_waits_for_what_is_due_at_its_stamp():
    relay, passed = engaged()
    relay.hold(2.0, 0.0)
    for stamp in (1.0, 2.0):
        relay.state(stamp, 0.0)
        relay.command(stamp, GOOD, 0.0)
    assert [stamp for stamp, _ in passed] == [1.0]
    assert relay.conduct.unanswered_for(9.0) == 0.0
    relay.hold(2.0, 0.0)
    assert len(passed) == 1
    relay.hold(3.0, 0.0)
    assert [stamp for stamp, _ in passed] == [1.0, 2.0]


def test_a_command_that_overtakes_its_state_waits_for_it():
    relay, passed = engaged()
    relay.command(1.0, GOOD, 0.0)
    assert not passed
    relay.state(1.0, 0.0)
    assert passed == [(1.0, GOOD)]
    assert not relay.conduct.counts['unknown']


def test_a_command_that_is_sent_twice_before_its_state_is_a_duplicate():
    relay, passed = engaged()
    for _ in range(3):
        relay.command(1.0, GOOD, 0.0)
    relay.state(1.0, 0.0)
    assert passed == [(1.0, GOOD)]
    assert (relay.conduct.counts['duplicate'], relay.conduct.counts['unknown']) == (2, 0)


def test_commands_that_wait_for_a_state_are_few():
    relay, passed = engaged()
    for _ in range(100):
        relay.command(1.0, GOOD, 0.0)
    relay.state(1.0, 0.0)
    assert relay.conduct.counts['unknown'] == 96
    assert passed == [(1.0, GOOD)]


def test_stamps_of_no_state_neither_pass_nor_keep_the_right_ones_from_passing():
    relay, passed = engaged()
    relay.command(1795366061.5, GOOD, 0.0)
    relay.command(1.0, GOOD, 0.0)
    relay.state(1.0, 0.0)
    relay.command(1795366061.6, GOOD, 0.0)
    relay.finish(1.0)
    assert passed == [(1.0, GOOD)]
    assert relay.conduct.counts['unknown'] == 2


def test_what_a_bridge_would_refuse_keeps_the_controls():
    relay, passed = engaged()
    for n, values in enumerate((
        GOOD | {'aileron': math.nan}, GOOD, GOOD | {'throttle': 2.0}, {'elevator': 0.4}), 1):
        relay.state(float(n), 0.0)
        relay.command(float(n), values, 0.0)
    assert [values for _, values in passed] == [
        GOOD | {'throttle': 0.3}, GOOD, GOOD, GOOD | {'elevator': 0.4}]


def test_nothing_passes_for_states_that_are_not_its_own():
    relay, passed = engaged(2.5)
    for stamp in (1.0, 2.0, 3.0):
        relay.state(stamp, 0.0)
        relay.command(stamp, GOOD, 0.0)
    relay.conduct.release(3.5, 0.0)
    relay.state(4.0, 0.0)
    relay.command(4.0, GOOD, 0.0)
    assert [stamp for stamp, _ in passed] == [3.0]
    assert relay.conduct.counts['unasked'] == 3


def test_an_answer_that_was_lost_is_passed_on_again():
    relay, passed = engaged()
    relay.state(1.0, 0.0)
    relay.command(1.0, GOOD, 0.0)
    for n in range(30):
        relay.state(1.0, 0.02 * n)
    assert len(passed) == 1
    for n in range(30, 60):
        relay.state(1.0, 0.02 * n)
    assert passed == [(1.0, GOOD)] * 2
