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

"""A session's knowledge of its peer: lifetimes, leases, the ledger."""

import math

from fuzz import held
from hypothesis import given
from hypothesis import strategies as st
import pytest

from xplane_bridge.bridges.sessions.base import check_read, CommandDone, MOST_READ, Tickets
from xplane_bridge.bridges.sessions.leases import Leases
from xplane_bridge.bridges.sessions.ledger import Ledger
from xplane_bridge.bridges.sessions.lifetimes import CommandQueue, LatestValues


def make_queue(**options):
    return CommandQueue(Tickets(), **options)


def test_commands_leave_in_order_and_only_the_awaited_report_that_they_were_sent():
    queue = make_queue()
    queue.put('a', 'pause', 0.0)
    awaited = queue.put('b', 'run_command', 0.0, awaited=True)
    assert (queue.first, queue.take(), queue.take()) == ('a', 'a', 'b')
    assert queue.ended() == [CommandDone(awaited, 'run_command')]
    assert queue.ended() == []


def test_a_command_that_waits_longer_than_its_lifetime_is_never_sent():
    queue = make_queue(lifetime=0.5, why='the budget is used up')
    queue.put('old', 'command/pose', 10.0)
    queue.put('new', 'command/pose', 10.3)
    assert queue.deadline == 10.5
    queue.expire(10.5)
    assert [waiting.command for waiting in queue] == ['new']
    done, = queue.ended()
    assert done.error == (
        'not sent: it waited 0.5 s (command_lifetime): the budget is used up')


def test_dropping_tells_the_reason_to_all_that_wait():
    queue = make_queue()
    tickets = [queue.put(n, 'pause', 0.0, awaited=n == 1) for n in range(2)]
    queue.drop('nothing answers')
    assert queue.ended() == [
        CommandDone(ticket, 'pause', 'not sent: nothing answers') for ticket in tickets]
    assert queue.deadline is None


def test_a_full_queue_refuses_with_what_it_waits_for():
    queue = make_queue(limit=1, why='the line is slow')
    queue.put('a', 'pause', 0.0)
    with pytest.raises(ValueError, match=r'^stage: 1 commands are already waiting; the line'):
        queue.put('b', 'stage', 0.0)


def test_tickets_are_never_drawn_twice_and_a_queue_draws_from_them():
    tickets = Tickets()
    queue = CommandQueue(tickets)
    drawn = [tickets.draw(), queue.put('a', 'pause', 0.0), tickets.draw()]
    assert drawn == [1, 2, 3]
    assert [waiting.ticket for waiting in queue] == [2]


def test_a_queue_holds_64_commands_and_says_what_they_wait_for():
    queue = make_queue()
    for number in range(64):
        queue.put(number, 'pause', 0.0)
    with pytest.raises(ValueError, match='^pause: 64 commands .*; the budget of datagrams is use'):
        queue.put(64, 'pause', 0.0)


def test_the_newest_value_of_each_control_leaves_and_each_expires_by_itself():
    held = LatestValues(lifetime=0.5)
    assert not held.set({'elevator': 0.1, 'throttle': 0.2}, 0.0)
    assert held.set({'elevator': 0.3}, 0.4)
    assert held
    assert held.deadline == 0.5
    assert held.expire(0.5) == {'throttle': 0.2}
    assert held.take() == {'elevator': 0.3}
    assert not held
    assert held.deadline is None


def test_what_comes_is_asked_for_once_and_what_stops_again_with_back_off():
    leases = Leases(2.0, first=1.0, longest=4.0)
    leases.want(('a', 'b'), 0.0)
    assert leases.due(0.0) == ['a', 'b']
    leases.heard(('a',), 0.1)
    asked = []
    now = 0.0
    while now < 20.0:
        asked += [(now, key) for key in leases.due(now)]
        if now < 10.0:
            leases.heard(('a',), now)
        now += 0.5
    assert [at for at, key in asked if key == 'b'] == [1.0, 3.0, 7.0, 11.0, 15.0, 19.0]
    # Last received at 9.5, missed from 11.5 on, and requested with the same back-off.
    assert [at for at, key in asked if key == 'a'] == [11.5, 12.5, 14.5, 18.5]
    assert leases.missing(20.0) == {'a': 9.5, 'b': 0.0}


def test_what_came_back_after_long_and_is_lost_again_is_asked_for_soon():
    leases = Leases(1.0, first=1.0, longest=64.0)
    leases.want(('a',), 0.0)
    now = 0.0
    while now < 40.0:
        leases.due(now)
        now = leases.deadline
    leases.heard(('a',), now)
    assert leases.is_fresh('a', now + 0.9)
    assert leases.due(now + 1.0) == ['a']


def test_what_came_back_only_once_is_asked_for_soon():
    leases = Leases(2.0, first=1.0, longest=30.0)
    leases.want(('a',), 0.0)
    asked = [at for at in range(63) if leases.due(at)]
    assert asked == [0, 1, 3, 7, 15, 31, 61]
    leases.heard(('a',), 63.0)
    assert [at for at in range(63, 80) if leases.due(at)] == [65, 66, 68, 72]


def test_unknown_is_a_verdict_that_is_looked_at_again():
    leases = Leases(1.0, first=1.0, longest=8.0)
    leases.want(('a',), 0.0)
    leases.due(0.0)
    leases.unknown('a', 0.1)
    assert leases.due(8.0) == []
    assert leases.due(8.1) == ['a']


def test_a_value_of_endless_patience_stays_fresh_once_it_has_come_until_it_is_renewed():
    leases = Leases(1.0, first=1.0, longest=4.0)
    leases.want(['name', 'speed'], 0.0, {'name': math.inf})
    assert leases.due(0.0) == ['name', 'speed']
    assert leases.due(1.0) == ['name', 'speed']
    leases.heard(['name', 'speed'], 1.5)
    for now in (2.0, 2.5, 3.5, 5.5):
        assert 'name' not in leases.due(now)
    assert leases.is_fresh('name', 1000.0)
    assert not leases.is_fresh('speed', 1000.0)
    assert list(leases.missing(1000.0)) == ['speed']
    leases.renew(1000.0, ['name'])
    assert 'name' in leases.due(1000.0)
    assert 'name' in leases.missing(1001.0)


def test_by_default_the_back_off_goes_from_1_to_30_seconds():
    leases = Leases(2.0)
    assert leases.due(0.0) == []
    assert leases.deadline is None
    leases.want(('a',), 0.0)
    asked = [at for at in range(100) if leases.due(at)]
    assert asked == [0, 1, 3, 7, 15, 31, 61, 91]


@pytest.mark.parametrize(('first', 'longest'), [(0.0, 1.0), (-1.0, 1.0), (2.0, 1.0)])
def test_a_back_off_that_cannot_be_is_refused(first, longest):
    with pytest.raises(ValueError, match=f'first: got {first:g} s, expected above 0 and up to 1'):
        Leases(2.0, first=first, longest=longest)
    Leases(2.0, first=1.0, longest=1.0)


def test_what_is_wanted_still_keeps_its_back_off_and_new_ones_are_due_at_once():
    leases = Leases(2.0)
    leases.want(('a',), 0.0)
    assert (leases.due(0.0), leases.due(1.0)) == (['a'], ['a'])
    leases.want(('a', 'b'), 1.5)
    assert 'a' in leases
    assert 'c' not in leases
    assert leases.due(1.5) == ['b']
    assert leases.due(3.0) == ['a', 'b']


def test_only_what_is_named_is_renewed_whether_it_came_or_not():
    leases = Leases(2.0)
    leases.want(('a', 'b', 'c'), 0.0)
    leases.due(0.0)
    leases.heard(('a', 'b'), 0.1)
    leases.renew(0.5, ('a', 'c', 'never wanted'))
    assert [leases.has_come(key) for key in 'abc'] == [False, True, False]
    assert leases.due(0.5) == ['a', 'c']


def test_it_is_looked_again_when_what_came_would_be_missed():
    leases = Leases(2.0, first=4.0)
    leases.want(('a', 'b'), 0.0, {'a': 1.0})
    leases.due(0.0)
    leases.heard(('b',), 0.5)
    assert leases.deadline == 2.5
    leases.heard(('a',), 0.5)
    assert leases.deadline == 1.5
    assert leases.due(1.5) == ['a']
    assert leases.deadline == 2.5


def test_what_is_wanted_still_is_as_fresh_as_before_and_the_rest_is_forgotten():
    leases = Leases(2.0)
    leases.want(('a', 'b'), 0.0)
    leases.heard(('a', 'b'), 1.0)
    leases.want(('a', 'c'), 1.5)
    assert leases.is_fresh('a', 1.6)
    assert not leases.has_come('b')
    leases.want(('a', 'b'), 1.7)
    assert leases.is_fresh('a', 1.8)
    assert not leases.is_fresh('b', 1.8)


def test_when_a_value_came_last_is_known_until_the_peer_does_not_know_it():
    leases = Leases(2.0)
    leases.want(('a', 'b'), 0.0)
    leases.heard(('a',), 1.0)
    assert leases.has_come_since('a', 1.0)
    assert not leases.has_come_since('a', 1.1)
    assert not leases.has_come_since('b', 0.0)
    leases.unknown('a', 1.2)
    assert not leases.has_come('a')
    assert not leases.has_come_since('a', 0.0)
    assert not leases.is_fresh('a', 1.3)


def test_values_that_nobody_wants_are_not_kept():
    leases = Leases(1.0)
    leases.want('ab', 0.0)
    leases.heard('a', 0.5)
    elements, _ = held(leases)
    for number in range(100):
        leases.heard(range(10 * number, 10 * number + 10), 0.6)
    assert held(leases)[0] == elements
    assert list(leases.missing(1.4)) == ['b']


def test_missing_is_named_only_after_the_patience():
    leases = Leases(1.0)
    leases.want(('a',), 5.0)
    assert leases.missing(5.9) == {}
    assert leases.missing(6.0) == {'a': 5.0}
    leases.heard(('a', 'somebody else'), 6.0)
    assert leases.missing(6.5) == {}
    leases.renew(6.6)
    assert not leases.has_come('a')
    assert leases.due(6.6) == ['a']


def test_a_value_may_have_its_own_patience():
    leases = Leases(1.0, first=0.5)
    leases.want(('fast', 'slow'), 0.0, {'slow': 5.0})
    leases.due(0.0)
    leases.heard(('fast', 'slow'), 0.1)
    assert leases.due(2.0) == ['fast']
    assert leases.missing(2.0) == {'fast': 0.1}
    assert leases.is_fresh('slow', 5.0)
    assert not leases.is_fresh('slow', 5.1)
    assert 'slow' in leases.due(5.2)
    # A change of plan keeps what was received.
    leases.heard(('slow',), 6.0)
    leases.want(('slow',), 6.0)
    assert leases.missing(7.5) == {'slow': 6.0}


@given(
    lost=st.lists(st.tuples(st.floats(0.0, 60.0), st.floats(0.0, 20.0)), max_size=4),
    patience=st.sampled_from((0.5, 2.0)), longest=st.sampled_from((1.0, 8.0)))
def test_after_any_loss_every_value_is_fresh_again_within_the_longest_pause(
        lost, patience, longest):
    """A peer that answers each request for one second, over an intermittent link."""
    leases = Leases(patience, first=0.5, longest=longest)
    leases.want(('a', 'b'), 0.0)
    quiet = max((start + length for start, length in lost), default=0.0)
    until = {}
    now = 0.0
    while now < quiet + longest + patience + 1.0:
        up = not any(start <= now < start + length for start, length in lost)
        if up:
            until.update(dict.fromkeys(leases.due(now), now + 1.0))
            leases.heard([key for key, end in until.items() if now < end], now)
        else:
            leases.due(now)
        if now >= quiet + longest + patience:
            assert not leases.missing(now)
        now += 0.1


def test_a_ledger_with_entries_is_true_and_forgets_what_it_does_not_have():
    ledger = Ledger()
    assert not ledger
    ledger.take(0, 'elevator')
    ledger.forget(1, 'elevator')
    assert ledger
    assert (0, 'elevator') in ledger
    ledger.forget(0, 'elevator')
    assert not ledger


def test_the_ledger_gives_back_one_vehicle_and_keeps_what_was_before_the_first_time():
    ledger = Ledger()
    ledger.take(0, 'throttle', -2.0)
    ledger.take(0, 'throttle', 0.7)
    ledger.take(3, 'elevator')
    assert ledger.names == ('throttle', 'elevator of aircraft 3')
    assert [(entry.value, entry.before) for entry in ledger.give_back(0)] == [('throttle', -2.0)]
    assert (3, 'elevator') in ledger
    assert (0, 'throttle') not in ledger
    ledger.forget(3, 'elevator')
    assert not ledger


@pytest.mark.parametrize(('count', 'waiting', 'sentence'), [
    (0, 0, 'a read needs at least one dataref name'),
    (MOST_READ + 1, 0, '2001 datarefs, at most 2000 can be read at once'),
    (1, 2 * MOST_READ, '4000 datarefs are already waiting to be read; read less often'),
    (MOST_READ, MOST_READ + 1, '2001 datarefs are already waiting to be read'),
])
def test_reads_have_a_limit_each_and_together(count, waiting, sentence):
    with pytest.raises(ValueError, match=f'^{sentence}'):
        check_read(count, waiting)
    check_read(MOST_READ, MOST_READ)
    check_read(1, 2 * MOST_READ - 1)
