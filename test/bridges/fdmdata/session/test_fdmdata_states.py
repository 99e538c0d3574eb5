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

"""Each cell of the table of states of a conversation with Huginn."""

import struct

from cells import cells, visited
import pytest

from xplane_bridge.bridges.fdmdata.protocol import Command
from xplane_bridge.bridges.fdmdata.session import (
    CONTROLS_CHANNEL,
    FdmdataListener,
    FdmdataSession,
    PeerRecognized,
    PollEntry,
    Telemetry,
)
from xplane_bridge.bridges.fdmdata.session.states import TABLE, TEARDOWN
from xplane_bridge.bridges.sessions.base import PeerChanged, PeerState
from xplane_bridge.bridges.sessions.left import Left

COUNTS = {
    Command.ACCELEROMETER: 3, Command.GYROSCOPE: 3, Command.INS: 7, Command.THERMOMETER: 1}
ALL = sorted(COUNTS)
UNKNOWN, ANSWERING, HELD, AWAY, LEAVING = (
    PeerState.UNKNOWN, PeerState.ANSWERING, PeerState.HELD, PeerState.AWAY, PeerState.LEAVING)
SAME = PeerRecognized(True)
RESTARTED = PeerRecognized(False, 'Huginn was silent, and counts as restarted')
ELSEWHERE = PeerRecognized(
    False, 'the aircraft is suddenly elsewhere, so Huginn was restarted or reset')
DEACTIVATED = 'pause: the node was deactivated'


class Huginn:
    """
    Huginn at 'there', and the session that talks with it; it answers at once.

    ``frozen`` is whether it leaves requests unread, ``up`` whether it runs.
    """

    def __init__(self):
        self.session = FdmdataSession('there')
        self.now = 100.0
        self.up, self.frozen, self.held = True, False, False
        self.latitude = 47.0
        # Channels on which a reply may still arrive.
        self.open = set()
        # When, what, and in which poll.
        self.requests = []
        self.polls = 0
        self.unread = []
        # The controls of each datagram: aileron, elevator, rudder, throttle.
        self.controls = []
        self.session.set_plan({'air': PollEntry((Command.THERMOMETER,), 4.0)}, self.now)

    def answer(self, data):
        """Return the reply to a request."""
        command = Command(data[0])
        values = [0.0 if self.held else self.now] * COUNTS[command]
        if command == Command.INS:
            # Position and airspeed, of an aircraft that stays where it is.
            values[3:] = self.latitude, 11.0, 50.0, 600.0
        return struct.pack(f'>BB{len(values)}f', 0, command, *values)

    def send(self):
        """Let the session send once."""
        self.polls += 1
        assert self.polls < 2000, 'it polls for ever'
        for channel, data in self.session.poll(self.now):
            if channel == CONTROLS_CHANNEL:
                self.controls.append(struct.unpack('>4f', data))
            elif data is None:
                self.open.discard(channel)
                self.unread = [item for item in self.unread if item[0] != channel]
            else:
                self.open.add(channel)
                self.requests.append((self.now, Command(data[0]), (self.polls, channel)))
                if self.up:
                    self.unread.append((channel, data))

    def poll(self):
        """Let the session send, and receive what is answered; return what is told."""
        told, again = [], True
        while again:
            self.send()
            again = bool(self.unread) and not self.frozen
            told += self.read() if again else []
            told += self.session.expired()
        return [event for event in told if not isinstance(event, Telemetry)]

    def read(self):
        """Answer what is unread; return what is told."""
        unread, self.unread = self.unread, []
        self.open -= {channel for channel, _ in unread}
        return [event for channel, data in unread for event in self.session.receive(
            channel, self.answer(data), None, self.now)]

    def run(self, seconds):
        """Let time pass; return what is told."""
        told, end = [], self.now + seconds
        while (at := self.session.next_deadline()) is not None and at <= end:
            self.now = max(at, self.now + 1e-6)
            told += self.poll()
        self.now = end
        return told + self.poll()

    def call(self, function, *given):
        """Call the session; return what is told at once."""
        function(*given, self.now)
        return self.poll()

    def start(self):
        """Start; return what is told."""
        return self.call(self.session.start)

    def stop(self):
        """Stop; return what is told."""
        return self.call(self.session.stop)

    def command(self, **controls):
        """Command controls."""
        self.session.set_controls(controls, self.now)
        self.poll()

    def expect(self):
        """Expect that a pause is shown."""
        self.session.expect_motion(False, 'pause', self.now)

    def asked_now(self):
        """Return what is asked at this time, poll by poll."""
        found = {}
        for at, command, poll in self.requests:
            if at == self.now:
                found.setdefault(poll, []).append(command)
        return [sorted(commands) for commands in found.values()]

    def thaw(self):
        """Read what is unread; return what is told."""
        self.frozen = False
        return [event for event in self.read() if not isinstance(event, Telemetry)] + self.poll()

    def answer_a_probe(self):
        """Let a silent one answer a probe, and nothing else; return what is told."""
        self.unread, self.frozen = [], False
        while not self.unread:
            self.now = self.session.next_deadline()
            self.send()
        told = self.read()
        self.frozen = True
        return told + self.poll()

    def run_until_told(self):
        """Let time pass until something is told; return it."""
        for _ in range(200):
            if told := self.run(0.01):
                return told
        raise AssertionError('nothing is told')

    @property
    def state(self):
        """Return the state of the conversation as its owner sees it."""
        return self.session.peer_state


def waiting():
    """Return a Huginn that does not answer, polled for 0.5 s."""
    huginn = Huginn()
    huginn.up = False
    assert huginn.start() == []
    assert huginn.run(0.5) == []
    assert huginn.state is UNKNOWN
    return huginn


def absent():
    """Return a Huginn that has never answered."""
    huginn = waiting()
    assert huginn.run(2.1) == [PeerChanged(AWAY)]
    return huginn


def answering():
    """Return a Huginn that has answered for 3.1 s, with elevator and throttle commanded."""
    huginn = Huginn()
    assert huginn.start() == [PeerChanged(ANSWERING)]
    assert huginn.run(3.1) == []
    huginn.command(elevator=0.5, throttle=0.75)
    huginn.controls.clear()
    return huginn


def away(taken=True):
    """Return a frozen Huginn."""
    huginn = answering()
    if not taken:
        huginn.session.forget_controls(huginn.now)
    huginn.frozen = True
    assert huginn.run(3.0) == [PeerChanged(AWAY)]
    return huginn


def doubted(taken=True):
    """Return a Huginn that has answered a probe after a silence, and is frozen again."""
    huginn = away(taken)
    assert huginn.answer_a_probe() == [PeerChanged(ANSWERING)]
    return huginn


def leaving_away():
    """Return a silent Huginn that is being left, and is owed its elevator."""
    huginn = away()
    assert huginn.stop() == []
    assert huginn.state is LEAVING
    return huginn


def ended(huginn):
    """Check that a conversation has ended: nothing is open, asked or heard."""
    assert huginn.state is UNKNOWN
    assert not huginn.session.leaving
    assert huginn.open == set()
    count = len(huginn.requests)
    assert huginn.run(9.0) == []
    assert len(huginn.requests) == count
    assert huginn.session.next_deadline() is None
    assert huginn.session.unconfirmed == ()


def polled_afresh(huginn):
    """Check that all sensors are asked for at once, together, and none is missing."""
    probe = [Command.THERMOMETER]
    assert next(asked for asked in huginn.asked_now() if asked != probe) == ALL
    assert huginn.session.missing(huginn.now) == {}


def expired(huginn, after):
    """Check that it ends at once when the time is over, this long after the stop."""
    huginn.run(after - 0.01)
    assert huginn.session.leaving
    huginn.now += 0.01
    huginn.send()
    assert huginn.session.expired() == []
    ended(huginn)


def started_again(huginn):
    """Start again while it is being left, and check that nothing of the former is left."""
    open_before = set(huginn.open)
    huginn.frozen, huginn.up, huginn.unread = True, True, []
    huginn.now += 0.001
    assert huginn.start() == []
    assert huginn.state is UNKNOWN
    assert not huginn.open & open_before
    assert huginn.asked_now() == [ALL]
    assert (huginn.session.taken, huginn.session.unconfirmed) == ((), ())
    # It is heard anew, and nothing is known of its throttle.
    assert huginn.thaw() == [PeerChanged(ANSWERING)]
    with pytest.raises(ValueError, match='throttle'):
        huginn.command(elevator=0.1)
    assert huginn.run(3.0) == []


# Off.


def test_a_start_polls_everything_and_knows_nothing():
    huginn = Huginn()
    huginn.session.take_pause(huginn.now)
    assert huginn.start() == [PeerChanged(ANSWERING)]
    assert huginn.asked_now() == [ALL]
    assert huginn.session.taken == ()
    huginn.command(throttle=0.75)
    huginn.stop()
    ended(huginn)
    huginn.run(100.0)
    assert huginn.start() == [PeerChanged(ANSWERING)]
    assert huginn.asked_now() == [ALL]
    assert huginn.session.missing(huginn.now) == {}
    with pytest.raises(ValueError, match='throttle'):
        huginn.command(elevator=0.1)


def test_a_stop_without_a_start_ends_what_is_expected():
    huginn = Huginn()
    huginn.expect()
    done, = huginn.stop()
    assert done.error == DEACTIVATED
    ended(huginn)


# Before anything was heard.


def test_it_ends_at_once_if_nothing_was_taken():
    for silent in (waiting, absent):
        huginn = silent()
        huginn.expect()
        done, = huginn.stop()
        assert done.error == DEACTIVATED
        ended(huginn)
        assert huginn.session.left == Left()


def test_a_huginn_that_never_answers_is_away_and_its_polls_are_lost():
    huginn = waiting()
    assert huginn.run_until_told() == [PeerChanged(AWAY)]
    # All polls were given up; a probe has just left.
    asked = len(huginn.requests)
    assert huginn.asked_now() == []
    assert huginn.session.statistics.lost == asked - 1
    assert len(huginn.open) == 1
    assert huginn.run(5.0) == []
    # Probed, with one small request.
    assert {command for _, command, _ in huginn.requests[asked:]} == {Command.THERMOMETER}
    assert len(huginn.requests) - asked == pytest.approx(10, abs=1)


def test_a_huginn_that_answers_late_is_no_other():
    huginn = absent()
    huginn.up = True
    huginn.now = huginn.session.next_deadline()
    assert huginn.poll() == [PeerChanged(ANSWERING)]
    assert huginn.session.absence == ''
    polled_afresh(huginn)
    assert huginn.run(3.0) == []


def test_a_pause_before_anything_was_heard_is_owed_until_the_data_show_its_end():
    for silent in (waiting, absent):
        huginn = silent()
        huginn.session.take_pause(huginn.now)
        huginn.expect()
        done, = huginn.stop()
        assert done.error == DEACTIVATED
        assert huginn.session.unconfirmed == ('pause',)
        assert huginn.state is LEAVING
        assert huginn.run(0.01) == []
        huginn.up = True
        huginn.now = huginn.session.next_deadline()
        assert huginn.poll() == []
        polled_afresh(huginn)
        assert huginn.run(1.0) == []
        ended(huginn)
        assert huginn.session.left == Left()


def test_a_pause_of_a_huginn_that_stays_absent_is_left():
    huginn = waiting()
    huginn.session.take_pause(huginn.now)
    huginn.stop()
    expired(huginn, after=3.0)
    left = huginn.session.left
    assert (left.unconfirmed, left.is_error) == (('pause',), False)
    assert left.reason.startswith('nothing answers at there. It gets nothing more')


def test_started_again_while_a_pause_of_one_that_was_never_heard_is_owed():
    huginn = waiting()
    huginn.session.take_pause(huginn.now)
    huginn.stop()
    huginn.run(0.6)
    started_again(huginn)


# Answering.


def test_stopped_while_it_answers_its_surfaces_are_centred_for_a_while():
    huginn = answering()
    huginn.expect()
    done, = huginn.stop()
    assert done.error == DEACTIVATED
    assert huginn.session.unconfirmed == ('elevator',)
    assert huginn.run(2.9) == []
    assert huginn.session.leaving
    huginn.run(0.2)
    ended(huginn)
    assert huginn.controls == 13 * [(0.0, 0.0, 0.0, 0.75)]
    assert huginn.session.left == Left()


def test_stopped_with_nothing_taken_it_ends_at_once_with_all_channels():
    huginn = answering()
    huginn.session.forget_controls(huginn.now)
    huginn.frozen = True
    huginn.run(0.6)
    huginn.stop()
    ended(huginn)
    assert huginn.controls == []


def test_what_was_known_of_its_data_is_forgotten_at_the_end():
    huginn = answering()
    huginn.held = True
    assert huginn.run(3.0) == [PeerChanged(HELD)]
    huginn.session.forget_controls(huginn.now)
    huginn.stop()
    assert huginn.start() == [PeerChanged(ANSWERING)]


def test_a_huginn_that_is_suddenly_elsewhere_is_another_and_owns_its_controls():
    huginn = answering()
    huginn.latitude = 48.0
    assert huginn.run(0.6) == [ELSEWHERE]
    assert huginn.session.taken == ()
    assert huginn.state is ANSWERING
    huginn.stop()
    ended(huginn)
    assert huginn.controls == []


def test_one_that_stops_answering_is_away_and_what_is_outstanding_is_lost():
    huginn = answering()
    huginn.held = True
    assert huginn.run(3.0) == [PeerChanged(HELD)]
    huginn.frozen = True
    before = huginn.session.statistics
    requests, lost = before.requests, before.lost
    assert huginn.run(0.9) == []
    assert huginn.run_until_told() == [PeerChanged(AWAY)]
    # All polls were given up, but for the one that is kept; a probe has just left.
    assert len(huginn.open) == 2
    statistics = huginn.session.statistics
    assert statistics.lost - lost == statistics.requests - requests - 1
    # What its data have shown before tells nothing of one that returns.
    huginn.held = True
    assert huginn.answer_a_probe() == [PeerChanged(ANSWERING)]


# A silence.


def test_one_that_was_only_frozen_is_the_same_and_what_is_owed_is_given_back_anew():
    huginn = answering()
    huginn.call(huginn.session.centre)
    huginn.frozen = True
    huginn.run(4.0)
    assert huginn.state is AWAY
    count = len(huginn.controls)
    assert huginn.thaw() == [PeerChanged(ANSWERING), SAME]
    assert huginn.session.absence == ''
    polled_afresh(huginn)
    assert huginn.run(4.0) == []
    assert len(huginn.controls) - count == 13
    assert huginn.open == set()


def test_one_that_does_not_answer_what_was_asked_before_is_another():
    huginn = doubted()
    assert huginn.session.taken == ('elevator', 'throttle')
    assert 'finding out if it was restarted' in huginn.session.absence
    before = set(huginn.open)
    assert huginn.run(0.3) == [RESTARTED]
    assert huginn.session.absence == ''
    assert before - huginn.open
    assert huginn.session.taken == ()
    huginn.frozen = False
    assert huginn.run(5.0) == []
    huginn.stop()
    ended(huginn)
    assert huginn.controls == []


def test_from_a_silence_on_it_is_in_doubt_until_it_is_known_who_answers():
    assert not answering().session.in_doubt
    assert not absent().session.in_doubt
    for silent in (away, leaving_away):
        huginn = silent()
        assert huginn.session.in_doubt
        huginn.answer_a_probe()
        assert huginn.session.in_doubt
        huginn.run(0.3)
        assert not huginn.session.in_doubt


def test_one_of_which_nothing_was_asked_before_a_silence_counts_as_restarted():
    listener = FdmdataListener()
    listener.start(100.0)
    temperature = bytes.fromhex('0004438e1810')
    assert listener.receive('a client', temperature, None, 100.0) == [PeerChanged(ANSWERING)]
    listener.poll(100.0)
    assert listener.next_deadline() == 101.0
    listener.poll(101.0)
    assert listener.expired() == [PeerChanged(AWAY)]
    assert listener.receive('a client', temperature, None, 105.0) == [PeerChanged(ANSWERING)]
    assert listener.in_doubt
    assert listener.poll(105.0) == []
    assert listener.expired() == [RESTARTED]
    assert not listener.in_doubt


def test_one_that_returns_is_polled_afresh():
    huginn = doubted()
    polled_afresh(huginn)
    assert huginn.session.absence


def test_a_frozen_one_that_is_stopped_is_sent_its_surfaces_once_and_again_when_it_thaws():
    huginn = away()
    huginn.expect()
    done, = huginn.stop()
    assert done.error == DEACTIVATED
    assert huginn.controls == [(0.0, 0.0, 0.0, 0.75)]
    assert huginn.run(1.1) == []
    assert len(huginn.controls) == 1
    assert huginn.session.unconfirmed == ('elevator',)
    assert huginn.thaw() == [SAME]
    polled_afresh(huginn)
    assert huginn.run(1.8) == []
    assert huginn.session.leaving
    huginn.run(0.2)
    ended(huginn)
    assert huginn.controls == 9 * [(0.0, 0.0, 0.0, 0.75)]
    assert huginn.session.left == Left()


def test_a_silent_one_that_is_stopped_with_nothing_taken_is_left_at_once():
    huginn = away(taken=False)
    huginn.stop()
    ended(huginn)
    assert huginn.controls == []


def test_one_that_stays_away_may_hold_what_was_taken():
    huginn = leaving_away()
    expired(huginn, after=3.0)
    left = huginn.session.left
    assert (left.unconfirmed, left.is_error) == (('elevator',), False)
    assert left.reason.startswith('nothing answers at there. It gets nothing more')


def test_one_that_is_another_gets_nothing_and_owes_nothing_while_being_left():
    huginn = leaving_away()
    assert huginn.answer_a_probe() == []
    assert huginn.run(0.3) == [RESTARTED]
    ended(huginn)
    assert len(huginn.controls) == 1
    assert huginn.session.left == Left()


def test_one_that_answers_just_before_the_time_is_over_may_hold_what_was_taken():
    huginn = away()
    # Until a tenth of a second after the next probe.
    huginn.session.release_timeout = huginn.session.next_deadline() - huginn.now + 0.1
    huginn.stop()
    assert huginn.answer_a_probe() == []
    polled_afresh(huginn)
    expired(huginn, after=0.1)
    assert len(huginn.controls) == 1
    left = huginn.session.left
    assert (left.unconfirmed, left.is_error) == (('elevator',), False)
    assert left.reason.startswith('Huginn answers again at there; finding out')


def test_one_whose_port_refuses_all_has_ended_and_is_owed_nothing():
    for make in (answering, away, doubted, absent):
        huginn = make()
        huginn.session.take_pause(huginn.now)
        huginn.frozen = True
        huginn.stop()
        for after in (0.0, 0.1, 0.4):
            assert huginn.session.leaving
            huginn.now += after
            huginn.session.port_refused(huginn.now)
            huginn.expect()
            told = huginn.poll()
        assert [event.what for event in told] == 3 * ['pause']
        ended(huginn)
        assert huginn.session.left == Left(has_ended=True)


def test_started_again_while_a_silent_one_is_left():
    started_again(leaving_away())


# In doubt.


def test_stopped_in_doubt_nothing_is_sent_until_it_is_known_who_answers():
    huginn = doubted()
    huginn.expect()
    done, = huginn.stop()
    assert done.error == DEACTIVATED
    assert huginn.session.unconfirmed == ('elevator',)
    assert huginn.controls == []
    assert huginn.run(0.3) == [RESTARTED]
    ended(huginn)
    assert huginn.controls == []


def test_stopped_in_doubt_with_nothing_taken_it_is_left_at_once():
    huginn = doubted(taken=False)
    huginn.stop()
    ended(huginn)


def test_started_again_while_one_in_doubt_is_left():
    huginn = doubted()
    huginn.stop()
    assert huginn.session.leaving
    started_again(huginn)


# While it is being left.


def test_started_again_while_one_that_answers_is_left():
    huginn = answering()
    huginn.stop()
    huginn.run(0.6)
    huginn.frozen = True
    huginn.run(0.51)
    started_again(huginn)


def test_a_pause_that_the_data_do_not_show_to_have_ended_is_left_as_an_error():
    huginn = answering()
    huginn.session.take_pause(huginn.now)
    huginn.held = True
    huginn.run(0.6)
    huginn.stop()
    huginn.run(2.4)
    huginn.frozen = True
    expired(huginn, after=0.6)
    left = huginn.session.left
    assert (left.unconfirmed, left.is_error) == (('pause',), True)
    assert left.reason.startswith('Huginn at there answers, but its data do not change')


def test_what_is_expected_while_it_is_left_ends_with_it():
    for begin in (waiting, answering, away, doubted):
        for shown in (True, False):
            huginn = begin()
            huginn.session.take_pause(huginn.now)
            huginn.session.release_timeout = 0.2
            huginn.stop()
            assert huginn.session.leaving
            huginn.expect()
            if shown:
                huginn.session.forget_controls(huginn.now)
                huginn.session.forget_pause(huginn.now)
            done, = huginn.run(0.21)
            assert done.error == DEACTIVATED
            ended(huginn)


def test_one_that_is_suddenly_elsewhere_while_being_left_gets_nothing_more():
    huginn = answering()
    huginn.stop()
    huginn.latitude = 48.0
    assert huginn.run(0.6) == [ELSEWHERE]
    ended(huginn)
    assert len(huginn.controls) < 5
    assert huginn.session.left == Left()


def test_one_that_freezes_while_being_left_is_recognized_when_it_thaws():
    huginn = answering()
    huginn.stop()
    huginn.frozen = True
    requests = len(huginn.requests)
    assert huginn.run(0.5) == []
    huginn.run(huginn.requests[requests][0] + 0.999 - huginn.now)
    assert len(huginn.open) > 2
    huginn.now += 0.001
    assert huginn.poll() == []
    # The one that is kept, and a probe.
    assert len(huginn.open) == 2
    assert huginn.asked_now() == [[Command.THERMOMETER]]
    count = len(huginn.controls)
    assert huginn.run(0.6) == []
    assert len(huginn.controls) == count
    assert huginn.thaw() == [SAME]
    huginn.run(3.0)
    ended(huginn)
    assert len(huginn.controls) > count


def test_each_cell_that_does_something_is_visited():
    with visited() as found:
        for name, test in tuple(globals().items()):
            if name.startswith('test_') and 'each_cell' not in name:
                test()
    assert cells(TABLE | TEARDOWN) - found == set()
