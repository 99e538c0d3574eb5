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

"""What was commanded and is not shown yet."""

import pytest

from xplane_bridge.bridges.sessions.base import CommandDone
from xplane_bridge.bridges.sessions.pending import Pending, PendingTable


def table(**pending):
    """Return a table in which each has these times: when to send it, and until when to wait."""
    return PendingTable({
        name: Pending(name, 1.0, None, 0.0, again_at=again_at, until=until)
        for name, (again_at, until) in pending.items()})


def test_by_default_it_is_never_sent_shown_or_given_up_and_nobody_waits_for_it():
    pending = PendingTable({'gear': Pending('gear', True, None)})
    assert pending['gear'].ticket == 0
    assert pending['gear'].reported is None
    assert pending['gear'].since > 1e9
    assert pending.due(1e9) == pending.expire(1e9) == []
    assert pending.deadline is None
    with pytest.raises(AttributeError):
        pending['gear'].untli = 3.0


def test_who_waits_is_told_how_it_was_shown_or_why_not():
    pending = Pending('pause', 1.0, None, ticket=7)
    assert pending.done('the peer shows it') == CommandDone(7, 'pause', '', 'the peer shows it')
    assert pending.done(error='lost') == CommandDone(7, 'pause', 'lost', '')


def test_what_is_due_is_sent_in_the_order_of_the_commands_and_a_question_changes_nothing():
    pending = table(last=(3.0, 9.0), first=(1.0, 9.0), second=(2.0, 9.0))
    assert pending.due(0.99) == []
    assert pending.due(2.0) == pending.due(2.0) == ['first', 'second']
    assert pending.due(9.0) == ['last', 'first', 'second']
    pending['second'].again_at = 5.0
    assert pending.due(2.0) == ['first']


def test_what_is_not_shown_in_time_is_given_up_once():
    pending = table(long=(0.0, 8.0), short=(0.0, 2.0), shorter=(0.0, 1.0))
    assert pending.expire(0.99) == []
    assert [each.what for each in pending.expire(2.0)] == ['short', 'shorter']
    assert pending.expire(2.0) == []
    assert [*pending] == ['long']


def test_everything_is_given_up_at_once():
    pending = table(one=(0.0, 8.0), other=(1.0, 2.0))
    assert [each.what for each in pending.empty()] == ['one', 'other']
    assert not pending
    assert pending.empty() == pending.due(9.0) == pending.expire(9.0) == []
    assert pending.repeat(9.0, 3.0) == []


@pytest.mark.parametrize(('times', 'deadline'), [
    ({}, None), ({'a': (2.0, 5.0)}, 2.0), ({'a': (2.0, 1.0)}, 1.0),
    ({'a': (2.0, 5.0), 'b': (3.0, 4.0)}, 2.0), ({'a': (2.0, 5.0), 'b': (3.0, 1.5)}, 1.5)])
def test_the_deadline_is_when_something_is_due_or_late(times, deadline):
    assert table(**times).deadline == deadline


def times_of(pending, begin, seconds, end):
    """Return when each is sent, asked for at each deadline."""
    sent, at = {}, begin
    for _ in range(20):
        if at is None or at >= end:
            return sent
        for name in pending.repeat(at, seconds):
            sent.setdefault(name, []).append(at)
        at = pending.deadline
    raise AssertionError(f'this never ends: {sent}')


def repeated(**begin):
    return PendingTable({
        name: Pending(name, 0.0, None, at, again_at=at) for name, at in begin.items()})


def test_what_nothing_can_show_is_sent_four_times_a_second_and_once_more_when_time_is_up():
    pending = repeated(rudder=10.0, aileron=10.5)
    assert pending.repeat(9.9, 0.6) == []
    assert times_of(pending, 10.0, 0.6, 20.0) == {
        'rudder': [10.0, 10.25, 10.5, 10.6], 'aileron': [10.5, 10.75, 11.0, 11.1]}
    assert not pending


def test_it_is_repeated_from_when_it_was_first_sent_and_late_or_longer_makes_no_difference():
    pending = repeated(rudder=10.0)
    assert pending.repeat(12.0, 1.0) == ['rudder']
    assert pending['rudder'].until == 13.0
    assert pending.repeat(12.9, 5.0) == ['rudder']
    assert (pending['rudder'].again_at, pending.deadline) == (13.0, 13.0)
    assert pending.repeat(14.0, 5.0) == ['rudder']
    assert pending.repeat(14.0, 5.0) == []


def test_all_are_repeated_anew_if_the_peer_may_have_heard_none():
    pending = repeated(rudder=10.0, aileron=10.0)
    times_of(pending, 10.0, 0.6, 10.6)
    pending.restart(11.0)
    assert times_of(pending, 11.0, 0.3, 20.0) == {
        'rudder': [11.0, 11.25, 11.3], 'aileron': [11.0, 11.25, 11.3]}
