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

"""The conduct of a controller is judged from what was heard and when, with time passed in."""

import math

import pytest

from xplane_bridge.laboratory.campaigns.table import rows
from xplane_bridge.laboratory.flights.controller_checks.conduct import (
    Account,
    Conduct,
    SAYS,
    Tolerances,
)

GOOD = {'elevator': 0.1, 'aileron': 0.0, 'rudder': -0.2, 'throttle': 0.7}
PERIOD = 0.02


def at(n):
    """Return the n-th stamp."""
    return 5.0 + n * PERIOD


def flown(count=100, lockstep=False, answer=0.002, commands=lambda n, stamp: [(stamp, GOOD)]):
    """Return the conduct of ``count`` states that are answered so many seconds after them."""
    conduct = Conduct(lockstep)
    conduct.state(5.0, 0.0)
    conduct.engage(5.0 + PERIOD / 2, 0.0)
    for n in range(1, count + 1):
        stamp, now = at(n), n * PERIOD
        conduct.state(stamp, now)
        for given, values in commands(n, stamp):
            conduct.command(given, values, now + answer)
    return conduct


def missed(conduct, now=2.0):
    return [str(one) for one in conduct.judgements(5.0, now) if not one.passed]


def wrong(conduct):
    return {name: conduct.counts[name] for name in SAYS if conduct.counts[name]}


def test_a_campaign_tells_no_flights_apart_by_how_busy_the_machine_was():
    """Its table has a hash: of the flights in lockstep, not of latencies."""
    quick, slow = (
        rows.flatten_figures({'controller': flown(lockstep=True, answer=answer).figures(5.0, now)})
        for answer, now in ((0.002, 2.0), (0.019, 3.0)))
    assert quick == slow
    assert quick['figure.controller.commands'] == 100.0


@pytest.mark.parametrize('lockstep', [True, False])
def test_one_command_a_state_keeps_the_contract(lockstep):
    conduct = flown(lockstep=lockstep)
    assert not missed(conduct)
    figures = conduct.figures(5.0, 2.0)
    assert (figures['commands'], figures['states'], figures['answered']) == (100, 100, 100)
    assert figures['rate'] == pytest.approx(50.0)
    assert figures['latency']['p99'] == pytest.approx(0.002)
    assert figures['longest_gap']['seconds'] == pytest.approx(0.022)


@pytest.mark.parametrize('lockstep', [True, False])
@pytest.mark.parametrize(('name', 'value', 'kind', 'what'), [
    ('aileron', math.nan, 'not_finite', 'aileron is nan'),
    ('throttle', math.inf, 'not_finite', 'throttle is inf'),
    ('elevator', -1.01, 'out_of_range', 'elevator is -1.01'),
    ('throttle', -0.1, 'out_of_range', 'throttle is -0.1'),
])
def test_values_that_a_bridge_refuses_are_counted(lockstep, name, value, kind, what):
    conduct = flown(lockstep=lockstep, commands=lambda n, stamp: [
        (stamp, GOOD | {name: value} if n == 50 else GOOD)])
    assert wrong(conduct) == {kind: 1}
    (sentence,) = missed(conduct)
    assert sentence.startswith(f'controller: {SAYS[kind]} at most 0: 1, first at 1.0 s ({what}); ')
    # As the bridge does: nothing of such a command is used.
    assert conduct.command(at(101), GOOD | {name: value}, 2.1)[1] == {}


@pytest.mark.parametrize('lockstep', [True, False])
def test_commands_that_set_nothing_are_against_the_contract(lockstep):
    conduct = flown(lockstep=lockstep, commands=lambda n, stamp: [(stamp, {})])
    assert wrong(conduct) == {'mask': 100}
    (sentence,) = missed(conduct)
    assert sentence.startswith(
        'controller: commands whose fields are 0 or undefined at most 0: 100, first at 0.0 s '
        '(nothing is set); add the constants of FlightControls')


def test_a_frame_in_lockstep_needs_all_four_controls():
    def commands(_, stamp):
        return [(stamp, {'elevator': 0.0, 'aileron': 0.0})]

    (sentence,) = missed(flown(lockstep=True, commands=commands))
    assert 'without all of elevator, aileron, rudder, throttle at most 0: 100' in sentence
    conduct = flown(commands=commands)
    assert conduct.counts['incomplete'] == 100
    assert not missed(conduct)


@pytest.mark.parametrize(('given', 'kind'), [
    (lambda n, stamp: [(0.0, GOOD)], 'unstamped'),
    (lambda n, stamp: [(stamp + 1795366061.5, GOOD)], 'unknown'),
    (lambda n, stamp: [(stamp, GOOD), (stamp, GOOD)], 'duplicate'),
    (lambda n, stamp: [(stamp, GOOD), (at(n - n // 2), GOOD)], 'duplicate'),
    (lambda n, stamp: [(stamp, GOOD)] if n % 2 else [], ''),
    (lambda n, stamp: [(stamp, GOOD)] if n != 8 else [(at(9 - 2), GOOD)], 'duplicate'),
    (lambda n, stamp: [] if n == 8 else [(stamp, GOOD), *([(at(8), GOOD)] if n == 9 else ())],
     'backwards'),
])
def test_wrong_stamps_are_told_apart(given, kind):
    found = wrong(flown(count=20, lockstep=True, commands=given))
    assert found.keys() == ({kind} if kind else set())


def test_a_stamp_that_is_heard_before_its_state_is_right():
    """Topics overtake each other."""
    conduct = flown(count=10)
    stamp = at(11)
    assert conduct.command(stamp, GOOD, 0.21)[0] == 'unknown'
    conduct.state(stamp, 0.22)
    assert not wrong(conduct)
    assert conduct.counts['answered'] == 11


def test_late_answers_are_a_matter_of_their_share():
    slow = Tolerances().latency + 0.01
    conduct = flown(answer=slow)
    assert conduct.counts['late'] == 100
    assert 'late commands at most 5% of all: 100, first at 0.0 s (after 0.110 s); ' in (
        missed(conduct)[0])
    conduct = flown()
    conduct.state(9.0, 2.0)
    conduct.command(9.0, GOOD, 2.0 + slow)
    assert conduct.counts['late'] == 1
    assert not missed(conduct, 2.0 + slow)
    # Simulated time waits.
    assert not wrong(flown(lockstep=True, answer=slow))


def test_an_old_stamp_is_late():
    conduct = flown(commands=lambda n, stamp: [(at(n - 20), GOOD)] if n > 20 else [])
    assert conduct.counts['late'] == 80


def test_silence_is_measured_to_the_next_command_or_to_the_end():
    conduct = flown(commands=lambda n, stamp: [] if 20 < n <= 80 else [(stamp, GOOD)])
    (sentence,) = missed(conduct)
    assert 'silent for at most 1 s while engaged: 1.22 s until 1.6 s' in sentence
    conduct = flown(commands=lambda n, stamp: [(stamp, GOOD)] if n < 10 else [])
    assert conduct.silent_for(2.0) == pytest.approx(1.818)
    assert 'silent for at most 1 s while engaged: 1.82 s until 2.0 s' in missed(conduct)[0]
    # Nobody waits for one that is released, or stopped on purpose.
    conduct = flown(count=10)
    conduct.pause(True, 0.21)
    assert conduct.silent_for(9.0) == 0.0
    conduct.pause(False, 9.0)
    conduct.release(5.21, 9.1)
    assert conduct.silent_for(20.0) == 0.0
    assert not missed(conduct, 20.0)


def test_who_never_commands_is_told_so():
    sentences = missed(flown(commands=lambda n, stamp: []))
    assert sentences[1] == 'controller: commands: no command was heard'


def test_how_it_ended_is_said_with_the_time():
    for code, text in ((3, 'exit code 3'), (-11, 'signal 11')):
        conduct = flown()
        conduct.ended(code)
        conduct.ended(0)
        assert f'ended with {text} at 2.0 s' in missed(conduct)[0]
        account = Account('mine', conduct, 2.0, 'a.log', ('the last words',))
        assert account.wrong(5.0) == f'ended with {text} at 2.0 s'
        assert account.figures(5.0)['ended'] == {'code': code, 'at': pytest.approx(2.0)}
        assert account.figures(5.0)['last_lines'] == ['the last words']


def test_one_that_was_given_up_hangs():
    conduct = flown(lockstep=True)
    conduct.state(9.0, 2.0)
    assert conduct.unanswered_for(7.5) == pytest.approx(5.5)
    conduct.hangs(5.5)
    (sentence,) = missed(conduct, 7.5)
    assert 'hung at 4.0 s: given up after 5.5 s of silence' in sentence
    assert Account('mine', conduct, 7.5).wrong(5.0) == 'hung at 4.0 s'


@pytest.mark.parametrize('lockstep', [True, False])
def test_before_and_after_it_is_engaged_it_says_nothing(lockstep):
    conduct = Conduct(lockstep)
    for n in range(4):
        conduct.state(1.0 + n, float(n))
        conduct.command(1.0 + n, GOOD, n + 0.1)
    assert wrong(conduct) == {'unasked': 4}
    conduct.engage(4.5, 4.0)
    conduct.state(5.0, 4.1)
    assert conduct.command(5.0, GOOD, 4.2) == ('', GOOD)
    conduct.release(5.5, 4.3)
    conduct.state(6.0, 4.4)
    # In real time a command may be under way when it is released.
    assert conduct.command(6.0, GOOD, 4.5)[0] == ('unasked' if lockstep else '')
    conduct.state(7.0, 5.4)
    assert conduct.command(7.0, GOOD, 5.5)[0] == 'unasked'
    assert 'while released at most 3' in missed(conduct, 6.0)[0]


def test_the_line_of_the_summary():
    account = Account('mine', flown(), 2.0, 'a.controller.log')
    assert account.line(5.0) == (
        'controller: 100 commands, 100 of 100 states answered after 2.00 ms (p99 2.00 ms, longest '
        '2.0 ms); nothing against its contract; log: a.controller.log')
    assert [str(one) for one in account.judgements(5.0)] == [
        'controller keeps its contract: yes']
