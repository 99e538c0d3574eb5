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

"""The machine of states, and the base of sessions that obeys it."""

import pytest

from xplane_bridge.bridges.sessions.base import (
    PeerChanged,
    PeerState,
    Session,
    soonest,
    Statistics,
)
from xplane_bridge.bridges.sessions.machine import (
    Action,
    Cell,
    end,
    Event,
    leave,
    Machine,
    Peer,
    State,
    stay,
    Teardown,
    to,
    total,
)

TABLE = {
    State.OFF: {Event.START: to(State.WAITING, Action.BEGIN)},
    State.WAITING: {
        Event.HEARD: to(State.ANSWERING), Event.STOP: leave(State.AWAY, Action.LEAVE)},
    State.ANSWERING: {
        Event.STOP: leave(State.ANSWERING, Action.LEAVE),
        Event.GONE: to(State.AWAY, Action.DROP, Action.FORGET)},
    State.AWAY: {
        Event.HEARD: to(State.ANSWERING, Action.RESUME),
        Event.GONE: to(State.AWAY, Action.TELL_STATE, Action.HURRY)},
}
TEARDOWN = {
    Teardown.LEAVING: {
        Event.SHOWN: end(State.OFF), Event.OTHER: stay(Action.FORGET_TAKEN)},
    (Teardown.LEAVING, State.AWAY): {
        Event.HEARD: to(State.ANSWERING), Event.OTHER: stay(Action.TELL)},
}


class _Peer(Peer):
    absence = 'nobody is here'

    def __init__(self):
        super().__init__(TABLE, TEARDOWN)
        self.next = ()
        self.due = None
        self.is_held = False

    @property
    def shown(self):
        return 'held' if self.is_held else super().shown

    def check_timeouts(self, now):
        return self.next

    @property
    def deadline(self):
        return self.due


class _Session(Session):
    def __init__(self):
        super().__init__(Statistics())
        self._peer = self.peer = _Peer()
        self.done = []

    def start(self, now):
        self._happen([Event.START], now)

    def stop(self, now):
        self._happen([Event.STOP], now)

    def _decode(self, channel, data):
        return data

    def _kind(self, data, error):
        return ''

    def _on_datagram(self, channel, message, sender, now):
        return self._happen([Event.HEARD], now) + self._look_at_shown()

    def _do(self, action, reason, now):
        self.done.append((action, reason, self.peer.state))
        return [action]

    def _send(self, now):
        return [('channel', b'something')]

    def _deadlines(self, now):
        return 7.0, None


def test_what_a_row_does_not_name_changes_nothing():
    machine = Machine(TABLE, TEARDOWN)
    for event in Event:
        if event is not Event.START:
            assert machine.process(event) == ()
            assert machine.state is State.OFF


def test_a_cell_leads_to_the_next_state_and_says_what_to_do():
    machine = Machine(TABLE, TEARDOWN, State.ANSWERING)
    assert machine.process(Event.GONE) == (Action.DROP, Action.FORGET)
    assert machine.state is State.AWAY


def test_a_total_table_has_a_cell_for_each_happening():
    whole = total(TABLE, TEARDOWN)
    assert whole.keys() == {
        (state, teardown) for state in TABLE for teardown in (Teardown.NONE, Teardown.LEAVING)}
    assert all(row.keys() == set(Event) for row in whole.values())
    for teardown in (Teardown.NONE, Teardown.LEAVING):
        assert whole[State.AWAY, teardown][Event.MUTE] == Cell(State.AWAY, (), teardown)


def test_one_that_is_left_stands_where_it_did_until_its_own_cells_say_otherwise():
    machine = Machine(TABLE, TEARDOWN, State.ANSWERING)
    assert machine.process(Event.STOP) == (Action.LEAVE,)
    assert (machine.state, machine.teardown) == (State.ANSWERING, Teardown.LEAVING)
    for event in (Event.STOP, Event.GONE, Event.START):
        assert machine.process(event) == ()
        assert (machine.state, machine.teardown) == (State.ANSWERING, Teardown.LEAVING)
    assert machine.process(Event.OTHER) == (Action.FORGET_TAKEN,)
    assert machine.process(Event.SHOWN) == ()
    assert (machine.state, machine.teardown) == (State.OFF, Teardown.NONE)


def test_a_cell_for_one_state_comes_before_that_for_wherever_the_peer_stands():
    machine = Machine(TABLE, TEARDOWN, State.WAITING)
    machine.process(Event.STOP)
    assert machine.process(Event.OTHER) == (Action.TELL,)
    assert machine.process(Event.HEARD) == ()
    assert (machine.state, machine.teardown) == (State.ANSWERING, Teardown.LEAVING)
    assert machine.process(Event.OTHER) == (Action.FORGET_TAKEN,)


@pytest.mark.parametrize('state', State)
def test_each_state_is_shown_as_one_that_the_owner_knows(state):
    assert PeerState(state.shown) in PeerState
    assert state.sentence


@pytest.mark.parametrize('teardown', Teardown)
def test_one_that_is_left_is_shown_as_that_wherever_it_stands(teardown):
    assert teardown.shown == ('' if teardown is Teardown.NONE else PeerState.LEAVING.value)
    assert teardown.sentence


def test_a_change_of_state_comes_before_what_is_done_about_it():
    session = _Session()
    session.start(0.0)
    session.receive('channel', b'x', None, 0.0)
    session.peer.next = [Event.GONE]
    session.poll(0.0)
    assert session.expired() == [PeerChanged(PeerState.AWAY), Action.DROP, Action.FORGET]
    assert session.done[-2:] == [
        (Action.DROP, 'nobody is here', State.AWAY), (Action.FORGET, 'nobody is here', State.AWAY)]


def test_what_the_owner_asked_for_is_not_told():
    session = _Session()
    session.start(0.0)
    session.stop(0.0)
    session.peer.next = [Event.SHOWN]
    session.poll(0.0)
    assert session.peer_state is PeerState.UNKNOWN
    assert session.expired() == []


def test_a_state_that_stays_is_told_again_where_the_table_says_so():
    session = _Session()
    session.start(0.0)
    session.receive('channel', b'x', None, 0.0)
    session.peer.next = [Event.GONE, Event.GONE]
    session.poll(0.0)
    assert session.expired() == [
        PeerChanged(PeerState.AWAY), Action.DROP, Action.FORGET, PeerChanged(PeerState.AWAY),
        Action.HURRY]
    assert Action.TELL_STATE not in [action for action, *_ in session.done]


def test_a_peer_may_be_shown_as_more_than_its_state_and_that_is_told_once():
    session = _Session()
    session.start(0.0)
    session.peer.is_held = True
    held = [PeerChanged(PeerState.HELD)]
    assert session.receive('channel', b'x', None, 0.0) == held
    assert session.receive('channel', b'x', None, 0.0) == []
    session.peer.is_held = False
    assert session.receive('channel', b'x', None, 0.0) == [PeerChanged(PeerState.ANSWERING)]
    assert session.peer_state is PeerState.ANSWERING


def test_what_happens_is_taken_when_the_one_before_has_been_dealt_with():
    session = _Session()
    session.start(0.0)
    states = []

    def happenings():
        yield Event.HEARD
        states.append(session.peer.state)
        yield Event.GONE
        states.append(session.peer.state)

    session.peer.next = happenings()
    session.poll(0.0)
    assert states == [State.ANSWERING, State.AWAY]


def test_the_next_deadline_is_the_soonest_or_now_if_something_is_to_be_told():
    session = _Session()
    session.start(0.0)
    assert session.poll(1.0) == [('channel', b'something')]
    assert session.next_deadline() == 7.0
    session.peer.due = 3.0
    session.poll(1.0)
    assert session.next_deadline() == 3.0
    session.peer.next = [Event.HEARD]
    session.poll(2.0)
    assert session.next_deadline() == 2.0


def test_soonest_of_nothing_is_nothing():
    assert soonest() is None
    assert soonest(None, 3.0, 2.0) == 2.0
    assert soonest(None) is None


def test_an_owner_is_told_what_it_did_itself_only_if_others_follow_the_state():
    class Followed(_Session):
        unannounced = frozenset()

    for kind, told in ((_Session, []), (Followed, [PeerChanged(PeerState.UNKNOWN)])):
        session = kind()
        session.peer_state = PeerState.AWAY
        events = session._happen([Event.START], 0.0)
        assert [event for event in events if isinstance(event, PeerChanged)] == told
        assert session.peer_state is PeerState.UNKNOWN
