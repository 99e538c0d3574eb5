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

"""The thread between a session and its sockets, through the kernel's loopback."""

import itertools
import os
import queue
import socket
import threading
import time

import pytest

from xplane_bridge.bridges.links.loop import UdpLoop
from xplane_bridge.bridges.links.udp import LinkError, UdpSocket

DEADLINE = 60.0


class Echo:
    """A peer that echoes what it receives, in a thread of its own."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(('127.0.0.1', 0))
        self.address = self.socket.getsockname()
        self.heard = queue.Queue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while True:
            data, sender = self.socket.recvfrom(65536)
            if data == b'end':
                return
            self.heard.put((data, sender))
            self.socket.sendto(data, sender)

    def close(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.sendto(b'end', self.address)
        self._thread.join(DEADLINE)
        self.socket.close()


class Session:
    """A session whose outgoing datagrams and deadline the test sets."""

    def __init__(self):
        self.outgoing = []
        self.events = []
        self.deadline = None
        self.rests = False
        self.polls = 0
        self.mistakes = 0
        self.received = []
        self.refusals = queue.Queue()

    def port_refused(self, now):
        self.refusals.put(now)

    def send(self, channel, data, now):
        self.outgoing.append((channel, data))

    def set_deadline(self, after, now):
        self.deadline = now + after
        return now

    def expire(self, event, now):
        self.events.append(event)

    def refuse(self, now):
        raise ValueError('not this')

    def receive(self, channel, data, sender, now):
        self.received.append((channel, data))
        if data == b'bad':
            raise KeyError('a mistake in the session')
        return [(channel, data)]

    def poll(self, now):
        self.polls += 1
        if self.mistakes:
            self.mistakes -= 1
            raise IndexError('a mistake in poll')
        if self.deadline is not None and now >= self.deadline:
            self.deadline = None
            self.events.append('due')
        outgoing, self.outgoing = self.outgoing, []
        return outgoing

    def next_deadline(self):
        return self.deadline

    def expired(self):
        events, self.events = self.events, []
        return events


class Rig:
    """A loop, its session and its peer; events and failures arrive in queues."""

    def __init__(self):
        self.echo = Echo()
        self.session = Session()
        self.events = queue.Queue()
        self.failures = queue.Queue()
        self.loop = UdpLoop(
            self.session, self.open, self.on_event, self.failures.put, name='test link')

    def open(self, channel):
        if channel == 'impossible':
            raise LinkError('UDP any address:1: Permission denied')
        return UdpSocket(('127.0.0.1', 0), peer=self.echo.address, sender='127.0.0.1')

    def on_event(self, event, stamp_ns):
        self.events.put((event, stamp_ns))
        if event == ('a', b'fail'):
            raise RuntimeError('a mistake in the node')

    def event(self):
        return self.events.get(timeout=DEADLINE)[0]


@pytest.fixture
def rig():
    made = Rig()
    yield made
    made.loop.close()
    made.echo.close()


def descriptors():
    return len(os.listdir('/proc/self/fd'))


def test_call_sends_at_once_and_the_answer_comes_as_an_event(rig):
    rig.loop.start()
    before = time.time_ns()
    rig.loop.call(rig.session.send, 'a', b'hello')
    assert rig.echo.heard.get(timeout=DEADLINE)[0] == b'hello'
    event, stamp_ns = rig.events.get(timeout=DEADLINE)
    assert event == ('a', b'hello')
    assert before <= stamp_ns <= time.time_ns()


def test_call_sends_before_the_thread_runs_and_returns_the_result(rig):
    before = time.monotonic()
    now = rig.loop.call(rig.session.set_deadline, 0.1)
    assert before <= now <= time.monotonic()
    rig.loop.call(rig.session.send, 'a', b'early')
    assert rig.echo.heard.get(timeout=DEADLINE)[0] == b'early'


def test_each_channel_has_a_socket_of_its_own(rig):
    rig.loop.start()
    for channel in ('a', 'b', 'a'):
        rig.loop.call(rig.session.send, channel, channel.encode())
    senders = {}
    for _ in range(3):
        data, sender = rig.echo.heard.get(timeout=DEADLINE)
        senders.setdefault(data, set()).add(sender)
    assert senders[b'a'] != senders[b'b']
    assert len(senders[b'a']) == len(senders[b'b']) == 1
    assert sorted(rig.event() for _ in range(3)) == [('a', b'a'), ('a', b'a'), ('b', b'b')]


def test_a_tap_is_told_of_each_datagram_both_ways(rig):
    told = []
    rig.loop.tap = lambda *given: told.append(given)
    rig.loop.start()
    rig.loop.call(rig.session.send, 'a', b'hello')
    assert rig.event() == ('a', b'hello')
    (sent, received) = told
    own = rig.echo.heard.get(timeout=DEADLINE)[1]
    assert sent[:4] == (b'hello', True, own, rig.echo.address)
    assert received[:4] == (b'hello', False, own, rig.echo.address)
    assert sent[4] <= received[4]


def test_call_wakes_a_loop_that_sleeps_for_longer(rig):
    rig.session.deadline = time.monotonic() + 3600.0
    rig.loop.start()
    begun = time.monotonic()
    rig.loop.call(rig.session.set_deadline, 0.05)
    assert rig.event() == 'due'
    assert 0.05 <= time.monotonic() - begun < DEADLINE


def test_call_wakes_a_loop_without_deadline(rig):
    rig.loop.start()
    rig.loop.call(rig.session.set_deadline, 0.01)
    assert rig.event() == 'due'


def test_call_hands_out_the_events_that_it_causes(rig):
    rig.loop.start()
    rig.loop.call(rig.session.expire, 'changed')
    assert rig.event() == 'changed'


def test_waiting_for_the_session_ends_when_a_poll_has_made_it_so(rig):
    rig.session.deadline = time.monotonic() + 0.05
    rig.loop.start()
    assert rig.loop.wait_for(lambda: rig.session.deadline is None, DEADLINE)
    assert not rig.loop.wait_for(lambda: False, 0.01)


@pytest.mark.parametrize('rests', [True, False])
def test_a_session_that_rests_is_not_polled_after_what_it_got(rig, rests):
    def poll(now):
        rig.session.rests = rests
        return type(rig.session).poll(rig.session, now)

    rig.session.poll = poll
    rig.loop.start()
    for _ in range(5):
        rig.loop.call(rig.session.send, 'a', b'hello')
        assert rig.event() == ('a', b'hello')
    # Each call polls, and the thread when it starts; the one after the last reply may be late.
    assert (rig.session.polls <= 6) is rests


def test_idle_loop_sleeps(rig):
    rig.loop.start()
    rig.loop.call(rig.session.send, 'a', b'x')
    rig.event()
    before = rig.session.polls
    with pytest.raises(queue.Empty):
        rig.events.get(timeout=0.3)
    assert rig.session.polls - before <= 2


def test_what_call_raises_reaches_the_caller(rig):
    rig.loop.start()
    with pytest.raises(ValueError, match='not this'):
        rig.loop.call(rig.session.refuse)
    rig.loop.call(rig.session.send, 'a', b'on')
    assert rig.event() == ('a', b'on')


def test_mistake_of_an_event_is_reported_and_ends_nothing(rig):
    rig.loop.start()
    rig.loop.call(rig.session.send, 'a', b'fail')
    assert isinstance(rig.failures.get(timeout=DEADLINE), RuntimeError)
    rig.loop.call(rig.session.send, 'a', b'on')
    assert [rig.event(), rig.event()] == [('a', b'fail'), ('a', b'on')]


def test_mistake_of_the_session_is_reported_and_ends_nothing(rig):
    rig.loop.start()
    rig.loop.call(rig.session.send, 'a', b'bad')
    assert isinstance(rig.failures.get(timeout=DEADLINE).__cause__, KeyError)
    rig.loop.call(rig.session.send, 'a', b'on')
    assert rig.event() == ('a', b'on')


def test_mistakes_in_a_row_are_counted_until_a_call_of_their_kind_returns(rig):
    rig.loop.start()
    counts = []
    for data in (b'bad', b'bad', b'bad', b'on', b'bad'):
        rig.loop.call(rig.session.send, 'a', data)
        if data == b'bad':
            counts.append(rig.failures.get(timeout=DEADLINE).in_a_row)
        else:
            assert rig.event() == ('a', data)
    assert counts == [1, 2, 3, 1]


def test_mistake_in_poll_is_reported_and_the_session_is_polled_again_soon(rig):
    rig.loop.start()
    rig.session.deadline = 0.0
    rig.session.mistakes = 2
    rig.loop.call(rig.session.send, 'a', b'later')
    for in_a_row in (1, 2):
        error = rig.failures.get(timeout=DEADLINE)
        assert isinstance(error.__cause__, IndexError)
        assert error.in_a_row == in_a_row
    assert {rig.event(), rig.event()} == {'due', ('a', b'later')}
    assert rig.session.polls < 20


def test_socket_that_cannot_be_opened_is_reported_and_counted(rig):
    failures = []
    # The owner may read the counters from there: the lock is free.
    rig.loop._on_failure = lambda error: failures.append((error, rig.loop.counters()))
    rig.loop.start()
    rig.loop.call(rig.session.send, 'impossible', b'x')
    ((error, counters),) = failures
    assert isinstance(error, LinkError)
    assert counters.send_errors == 1


def test_closed_channel_hears_nothing_and_is_opened_anew(rig):
    rig.loop.start()
    rig.loop.call(rig.session.send, 'a', b'1')
    _, first = rig.echo.heard.get(timeout=DEADLINE)
    assert rig.event() == ('a', b'1')
    rig.loop.call(rig.session.send, 'a', None)
    rig.echo.socket.sendto(b'late', first)
    rig.loop.call(rig.session.send, 'b', b'2')
    assert rig.event() == ('b', b'2')
    rig.loop.call(rig.session.send, 'a', b'3')
    assert rig.event() == ('a', b'3')


def test_counters_include_closed_channels(rig):
    rig.loop.start()
    for number in range(5):
        rig.loop.call(rig.session.send, f'channel {number}', b'x')
        rig.event()
        rig.loop.call(rig.session.send, f'channel {number}', None)
    counters = rig.loop.counters()
    assert (counters.sent, counters.received) == (5, 5)
    rig.loop.close()
    assert rig.loop.counters() == counters


def test_channels_that_come_and_go_leave_no_descriptor_open(rig):
    rig.loop.start()
    rig.loop.call(rig.session.send, 'a', b'x')
    rig.event()
    before = descriptors()
    for number in range(200):
        rig.loop.call(rig.session.send, f'channel {number}', b'x')
        rig.event()
        rig.loop.call(rig.session.send, f'channel {number}', None)
    assert descriptors() == before


def test_loops_that_come_and_go_leave_no_descriptor_and_no_thread():
    Rig().echo.close()
    before = descriptors(), threading.active_count()
    for _ in range(20):
        made = Rig()
        made.loop.start()
        made.loop.call(made.session.send, 'a', b'x')
        made.event()
        made.loop.close()
        made.echo.close()
        del made
    assert (descriptors(), threading.active_count()) <= before


def test_channel_given_from_the_start_is_heard():
    events = queue.Queue()
    link = UdpSocket(('127.0.0.1', 0), sender='127.0.0.1')
    loop = UdpLoop(
        Session(), lambda channel: link, lambda event, stamp: events.put(event), events.put,
        channels={'beacon': link})
    loop.start()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.sendto(b'here', link.local)
    assert events.get(timeout=DEADLINE) == ('beacon', b'here')
    loop.close()
    assert link.fileno() == -1


def test_what_arrives_meanwhile_is_handled_before_the_session_is_polled_again():
    """Otherwise a reply in two datagrams would wait for a poll between them."""
    links = {name: UdpSocket(('127.0.0.1', 0), sender='127.0.0.1') for name in ('one', 'other')}
    done = threading.Event()
    steps = []

    class TwoReplies(Session):
        def receive(self, channel, data, sender, now):
            steps.append(channel)
            if channel == 'one':
                peer.sendto(b'second half', links['other'].local)
            return ()

        def poll(self, now):
            steps.append('poll')
            if 'other' in steps:
                done.set()
            return ()

    loop = UdpLoop(TwoReplies(), None, lambda *_: None, lambda _: None, channels=links)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.sendto(b'first half', links['one'].local)
        loop.start()
        try:
            assert done.wait(DEADLINE)
        finally:
            loop.close()
    assert steps[:4] == ['poll', 'one', 'other', 'poll']


def test_a_flood_of_strangers_takes_no_more_than_its_turn():
    """After at most 64 strangers and 64 of the peer's datagrams, the session polls."""
    session = Session()
    polls = []
    session.poll = lambda now: polls.append(link.counters.dropped) or ()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as forger:
        for program in (peer, forger):
            program.bind(('127.0.0.1', 0))
        link = UdpSocket(
            ('127.0.0.1', 0), sender='127.0.0.1', sender_port=peer.getsockname()[1])
        events = queue.Queue()
        loop = UdpLoop(
            session, lambda channel: link, lambda event, stamp: events.put(event), events.put,
            channels={'data': link})
        # All of it is waiting when the loop begins: as much as the smallest buffer holds.
        for count in range(10):
            for _ in range(15):
                forger.sendto(b'forged', link.local)
            peer.sendto(b'%d' % count, link.local)
        loop.start()
        assert [events.get(timeout=DEADLINE)[1] for _ in range(10)] == [
            b'%d' % count for count in range(10)]
        loop.close()
    turns = [after - before for before, after in itertools.pairwise(polls)]
    assert loop.counters().other_ports == sum(turns) == 150
    # A turn ends with the first of the peer's datagrams after 64.
    assert max(turns) < 64 + 15


def test_after_a_flood_strangers_are_let_in_again_without_anybody_asking():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as forger:
        forger.bind(('127.0.0.1', 0))
        link = UdpSocket(('127.0.0.1', 0), sender='127.0.0.1', sender_port=9)
        reopened = queue.Queue()
        reopen = link.reopen
        link.reopen = lambda now: reopen(now) or reopened.put(link.shut_until)
        loop = UdpLoop(Session(), lambda channel: link, None, None, channels={'data': link})
        for _ in range(64):
            forger.sendto(b'forged', link.local)
        assert link.receive() is None
        if link.shut_until is None:
            pytest.skip('this kernel has no filters')
        loop.start()
        # The session has no deadline, and nothing else would wake the thread.
        while reopened.get(timeout=DEADLINE) is not None:
            pass
        assert loop.counters().other_ports == 64
        loop.close()


def test_descriptors_above_1023_are_fine(rig):
    resource = pytest.importorskip('resource')
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1200:
        pytest.skip(f'only {hard} files may be open here')
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    null = os.open(os.devnull, os.O_RDONLY)
    taken = []
    try:
        while not taken or taken[-1] < 1030:
            taken.append(os.dup(null))
        rig.loop.start()
        rig.loop.call(rig.session.send, 'a', b'high')
        assert rig.event() == ('a', b'high')
    finally:
        for descriptor in (null, *taken):
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# The end.


def test_close_waits_for_no_deadline_and_joins_the_thread(rig):
    rig.session.deadline = time.monotonic() + 3600.0
    rig.loop.start()
    rig.loop.close()
    assert 'test link' not in [thread.name for thread in threading.enumerate()]
    rig.loop.close()


def test_close_sends_what_is_owed_and_hands_out_what_is_left(rig):
    rig.loop.start()
    with rig.loop.lock:
        rig.session.outgoing.append(('a', b'given back'))
        rig.session.events.append('ended')
    rig.loop.close()
    assert rig.echo.heard.get(timeout=DEADLINE)[0] == b'given back'
    assert rig.event() == 'ended'


def test_close_before_start_is_fine(rig):
    rig.loop.call(rig.session.send, 'a', b'x')
    rig.loop.close()


def test_call_after_close_sends_nothing_and_opens_nothing(rig):
    rig.loop.start()
    rig.loop.close()
    before = descriptors()
    rig.loop.call(rig.session.send, 'a', b'x')
    assert descriptors() == before
    assert rig.echo.heard.empty()


def test_calls_from_several_threads_survive_a_close_in_between(rig):
    rig.loop.start()
    errors = []
    started = threading.Barrier(5)

    def hammer(name):
        started.wait(DEADLINE)
        try:
            for number in range(300):
                rig.loop.call(rig.session.send, f'{name} {number % 3}', b'x')
                rig.loop.call(rig.session.send, f'{name} {number % 3}', None)
                rig.loop.call(rig.session.set_deadline, 0.0)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=hammer, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    started.wait(DEADLINE)
    rig.event()
    rig.loop.close()
    for thread in threads:
        thread.join(DEADLINE)
    assert not errors
    assert rig.failures.empty()


def test_events_may_call_the_session(rig):
    def on_event(event, stamp_ns):
        if event == ('a', b'question'):
            rig.loop.call(rig.session.send, 'a', b'reply')
        rig.events.put((event, stamp_ns))

    rig.loop._on_event = on_event
    rig.loop.start()
    rig.loop.call(rig.session.send, 'a', b'question')
    assert [rig.event(), rig.event()] == [('a', b'question'), ('a', b'reply')]


def test_flood_on_one_channel_does_not_keep_others_or_deadlines_waiting(rig):
    rig.loop.start()
    rig.loop.call(rig.session.send, 'a', b'x')
    _, address = rig.echo.heard.get(timeout=DEADLINE)
    assert rig.event() == ('a', b'x')
    flooding = threading.Event()

    def flood():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            while not flooding.is_set():
                other.sendto(b'flood', address)

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        rig.loop.call(rig.session.send, 'b', b'x')
        rig.loop.call(rig.session.set_deadline, 0.05)
        wanted = {('b', b'x'), 'due'}
        deadline = time.monotonic() + DEADLINE
        while wanted and time.monotonic() < deadline:
            wanted.discard(rig.event())
        assert not wanted
    finally:
        flooding.set()
        thread.join(DEADLINE)


def test_a_session_hears_of_refusals_while_that_is_asked_for(rig):
    rig.loop.start()
    rig.loop.call(rig.session.send, 'a', b'x')
    assert rig.event() == ('a', b'x')
    rig.echo.close()
    rig.loop.watch_refusals(True)
    # Of a channel that was open, and of one that opens.
    for channel in 'ab':
        rig.loop.call(rig.session.send, channel, b'x')
        assert rig.session.refusals.get(timeout=DEADLINE) <= time.monotonic()
    rig.loop.watch_refusals(False)
    rig.echo = Echo()
    rig.loop.call(rig.session.send, 'c', b'x')
    assert rig.event() == ('c', b'x')
    assert rig.session.refusals.empty()
    assert rig.failures.empty()
