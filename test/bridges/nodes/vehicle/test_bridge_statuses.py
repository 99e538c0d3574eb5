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

"""What a bridge says of itself, and does with what it hears; without a peer, and without ROS."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from xplane_bridge.bridges.nodes.common.diagnostics import ERROR, OK, STALE, WARN
from xplane_bridge.bridges.nodes.common.faults import InternalErrors
from xplane_bridge.bridges.nodes.vehicle import bridge
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge
from xplane_bridge.bridges.sessions.base import CommandDone, Left, PeerChanged, PeerState

ANSWERING, AWAY, SILENT = PeerState.ANSWERING, PeerState.AWAY, PeerState.SILENT


class Logger:
    """A log that is kept."""

    def __init__(self):
        self.said = []

    def __getattr__(self, level):
        return lambda sentence: self.said.append((level, sentence))


class Stand(Bridge):
    """A bridge of which nothing but what a test needs was made."""

    peer = 'Peer'
    active = True

    def __new__(cls, **given):
        made = object.__new__(cls)
        made.__dict__ |= {
            'left': Left(), 'faults': InternalErrors(), 'gates': {}, 'plausibilities': {},
            'last_update': 0.0, 'has_crashed': False, 'simulator_clock': None, 'exit_code': 0,
            'quit': None, 'log': Logger(), 'told': [], 'counted': {},
            'link': SimpleNamespace(lock=nullcontext()), 'session': SimpleNamespace(
                peer_state=ANSWERING, unconfirmed=(), statistics=SimpleNamespace(updates={}),
                sentences={state: f'it is {state.value}' for state in PeerState},
                contradictions=lambda now: (), advise=lambda _: ''),
            '_rates': SimpleNamespace(per_second=lambda counts, now: {})} | given
        return made

    def __init__(self, **given):
        pass

    def get_logger(self):
        return self.log

    def warn(self, kind, sentence):
        self.told.append(('warn', kind, sentence))

    def inform(self, kind, sentence):
        self.told.append(('inform', kind, sentence))

    def peer_address(self):
        return '1.2.3.4:5'

    def resolve_topic_name(self, name):
        return f'/ns/{name}'

    def count_publishers(self, name):
        return self.counted.get(name, 1)

    def make_session(self):
        pass

    def make_link(self):
        pass

    def make_topics(self):
        pass

    def handlers(self):
        return {}


def watchdog(expired=False):
    return SimpleNamespace(expired=expired, timeouts=[], disarmed=[])


def gate(expired=False, rivalry='', commanders=()):
    """Return a gate of commands."""
    return SimpleNamespace(
        watchdog=watchdog(expired), rivalry=lambda: rivalry, commanders=lambda: [*commanders])


def told(status):
    """Return level and text of a status."""
    return status.level, status.message


@pytest.mark.parametrize(('state', 'given', 'expected'), [
    (ANSWERING, {}, (OK, 'it is answering')),
    (ANSWERING, {'peer_fault': lambda: 'it limps'}, (WARN, 'it limps')),
    (ANSWERING, {'active': False}, (STALE, 'not active')),
    (SILENT, {}, (WARN, 'it is silent')),
    (SILENT, {'peer_fault': lambda: 'it limps'}, (WARN, 'it is silent')),
    (SILENT, {'hint': lambda _: 'wait'}, (WARN, 'it is silent; wait')),
    (SILENT, {'hint': lambda _: 'it is silent, so wait'}, (WARN, 'it is silent, so wait')),
    (AWAY, {}, (WARN, 'it is away (looked for at 1.2.3.4:5)')),
    (AWAY, {'hint': lambda _: 'start it'}, (
        WARN, 'it is away (looked for at 1.2.3.4:5); start it'))])
def test_the_peers_state_is_said_with_what_can_be_done(state, given, expected):
    made = Stand(**given)
    made.session.peer_state = state
    status = made.diagnose_peer()
    assert told(status) == expected
    assert status.values == (('state', state.value),)


def test_a_new_state_of_the_peer_is_told_unless_nobody_asked():
    made = Stand()
    for state in (ANSWERING, PeerState.UNKNOWN, SILENT):
        made._on_peer_changed(PeerChanged(state), 0)
    assert made.told == [
        ('inform', 'answering', 'Peer answers at 1.2.3.4:5'), ('warn', 'silent', 'it is silent')]
    made.active, made.told = False, []
    made.tell(SILENT)
    assert made.told == []


@pytest.mark.parametrize(('last', 'publishers', 'expected', 'age'), [
    (0.0, {}, (STALE, 'nothing arrives'), 'none yet'),
    (100.0, {}, (OK, 'arriving'), '0.250'), (99.26, {}, (OK, 'arriving'), '0.990'),
    (99.25, {}, (STALE, 'nothing arrives'), '1.000'),
    (100.0, {'/ns/a/imu/data': 2}, (
        WARN, 'another node publishes /ns/a/imu/data too: is another bridge running?'), '0.250'),
    (100.0, {'/ns/imu/data': 1, '/ns/other/imu/data': 5}, (OK, 'arriving'), '0.250'),
    (90.0, {'/ns/a/imu/data': 2}, (STALE, 'nothing arrives'), '10.250')])
def test_telemetry_is_fresh_for_a_second_and_ours_alone(last, publishers, expected, age):
    made = Stand(last_update=last, counted=publishers, gates={'': gate(), 'a/': gate()})
    status = made.diagnose_telemetry(100.25)
    assert told(status) == expected
    assert dict(status.values)['age of the last, s'] == age


def commands(**given):
    """Return the status of commands."""
    status, = Stand(**given).diagnose_commands(1.0)
    return status


@pytest.mark.parametrize(('given', 'expected'), [
    ({}, (OK, 'watched')),
    ({'gates': {'': gate()}}, (OK, 'watched')),
    ({'gates': {'': gate(expired=True)}}, (WARN, 'commands stopped arriving')),
    ({'gates': {'': gate(), 'a/': gate(True), 'b/': gate(True), 'c/': gate()}}, (
        WARN, 'commands stopped arriving for a, b')),
    ({'gates': {'': gate(), 'a/': gate(rivalry='two of them')}}, (WARN, 'two of them')),
    ({'gates': {'': gate(expired=True), 'a/': gate(rivalry='two')}}, (
        WARN, 'commands stopped arriving')),
    ({'left': Left(('elevator', 'pause'), 'it is away')}, (
        WARN, 'may stay as it was left: elevator, pause; it is away')),
    ({'left': Left(('elevator',), 'too busy', True), 'gates': {'': gate(True)}}, (
        ERROR, 'may stay as it was left: elevator; too busy'))])
def test_commands_are_watched_and_the_worst_is_said(given, expected):
    assert told(commands(**given)) == expected


@pytest.mark.parametrize('active', [True, False])
def test_a_contradiction_is_said_while_active(active):
    made = Stand(active=active, gates={'': gate(True)})
    made.session.contradictions = lambda now: ('a is b', f'c is {now:g}')
    status, = made.diagnose_commands(2.0)
    assert told(status) == (WARN, 'a is b; c is 2' if active else 'commands stopped arriving')


def test_who_commands_and_what_is_owed_is_named():
    many = [f'/n{number}' for number in range(7)]
    made = Stand(gates={'': gate(commanders=many), 'a/': gate(commanders=['/x', '/y'])})
    made.session.unconfirmed = ('rudder', 'elevator')
    status, = made.diagnose_commands(1.0)
    assert dict(status.values) == {
        'publishers of command/controls': ', '.join([*many, '/x']),
        'given back, not yet shown': 'elevator, rudder'}
    assert dict(commands().values) == {
        'publishers of command/controls': 'none', 'given back, not yet shown': 'nothing'}


def test_a_crash_and_what_is_impossible_are_further_statuses():
    made = Stand()
    assert [*made.diagnose_more(1.0)] == []
    made.has_crashed = True
    status, = made.diagnose_more(1.0)
    assert told(status) == (ERROR, 'Peer reports that the aircraft has crashed')
    clock = SimpleNamespace(diagnose=lambda: 'the clock')
    made = Stand(simulator_clock=clock, plausibilities={'': SimpleNamespace(withheld={})})
    impossible, last = made.diagnose_more(1.0)
    assert (impossible.name, last) == ('plausibility', 'the clock')


@pytest.mark.parametrize('active', [True, False])
def test_requested_values_are_missing_only_while_active(active):
    made = Stand(active=active)
    made.session.wanted, made.session.missing = ('a', 'b'), lambda now: {'b': now - 7.0}
    status, = made.diagnose_values(50.0)
    assert told(status) == (
        (WARN, '1 of 2 values do not arrive: b (for 7 s)') if active else (OK, 'none requested'))


@pytest.mark.parametrize('is_error', [True, False])
def test_what_is_left_is_logged_and_an_error_is_the_process_s(is_error):
    made = Stand()
    made.tell_left(Left(('elevator', 'rudder'), 'why', is_error))
    assert made.log.said == [(
        'error' if is_error else 'warning', 'may stay as it was left: elevator, rudder; why')]
    assert made.exit_code == int(is_error)
    made.left = Left(('elevator',))
    made.all_is_given_back()
    assert (made.left, made.exit_code) == (Left(), 0)


def ending(waits, unconfirmed=(), **given):
    """Return a bridge that ends, and the seconds that it waits."""
    seconds = []
    made = Stand(gates={'': gate()}, **given)
    made.gates[''].watchdog.disarm = lambda: seconds.append('disarmed')
    made.session.stop, made.session.leaving = 'stop', False
    made.session.release_timeout, made.session.unconfirmed = 3.0, ('throttle',)
    made.session.left = Left(unconfirmed, 'late')

    def wait_for(is_over, limit):
        seconds.append(limit)
        assert is_over() is True
        return waits

    made.link = SimpleNamespace(
        lock=nullcontext(), call=seconds.append, wait_for=wait_for, watch_refusals=seconds.append)
    made.end()
    return made, seconds


def test_the_end_waits_for_what_is_given_back():
    made, seconds = ending(True)
    assert seconds == ['disarmed', True, 'stop', 4.0]
    assert (made.left, made.log.said) == (Left((), 'late'), [])
    made, _ = ending(True, ('pause',))
    assert made.log.said == [('warning', 'may stay as it was left: pause; late')]
    made, _ = ending(False)
    assert made.left == Left(('throttle',), 'the link was too busy to give it back', True)
    assert (made.exit_code, len(made.log.said)) == (1, 1)


def test_a_beginning_owes_nothing():
    made = Stand(left=Left(('pause',)))
    called = []
    made.session.start, made.link = 'start', SimpleNamespace(
        call=called.append, watch_refusals=called.append)
    made.begin()
    assert (made.left, called) == (Left(), [False, 'start'])


@pytest.mark.parametrize(('before', 'given', 'set_to'), [
    (1.0, {'command_timeout': 2.0}, [2.0]), (1.0, {'command_timeout': 1.0}, []), (1.0, {}, [])])
def test_a_new_time_out_is_that_of_all_watchdogs(before, given, set_to):
    made = Stand(gates={'': gate(), 'a/': gate()},
                 parameters=SimpleNamespace(command_timeout=before))
    timeouts = []
    for one in made.gates.values():
        one.watchdog.set_timeout = timeouts.append
    made.changed(SimpleNamespace(**given))
    assert timeouts == set_to * 2
    assert [*made.watchdogs()] == [one.watchdog for one in made.gates.values()]


def test_events_go_to_their_handlers():
    made, heard = Stand(), []
    made._handlers = {CommandDone: lambda event, stamp: heard.append((event, stamp))}
    done = CommandDone(1, 'what', '', '')
    made.on_event(done, 5)
    made.on_event(PeerChanged(AWAY), 6)
    assert heard == [(done, 5)]
    made.pending = SimpleNamespace(end=heard.append)
    made._on_done(done, 7)
    assert heard[1:] == [done]


@pytest.mark.parametrize(('clock', 'received', 'stamped'), [
    (None, 7_500_000_000, (7, 500_000_000)), (None, None, None),
    (SimpleNamespace(now_ns=3_000_000_001), 7, (3, 1)), (SimpleNamespace(now_ns=None), 7, None)])
def test_messages_are_stamped_once_there_is_a_time(clock, received, stamped):
    message = SimpleNamespace(header=SimpleNamespace(stamp=SimpleNamespace(sec=0, nanosec=0)))
    made = Stand(simulator_clock=clock, stamps=SimpleNamespace(received=lambda ns: received))
    assert made.stamp(message, 1) is (stamped is not None)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (stamped or (0, 0))


def test_all_statuses_are_in_one_order_and_faults_last():
    made = Stand(link=SimpleNamespace(lock=nullcontext(), counters=lambda: 'counters'))
    made.diagnose_link = lambda counters: counters
    made.session.wanted, made.session.missing = (), lambda now: {}
    names = [getattr(one, 'name', one) for one in made.diagnose()]
    assert names == ['counters', 'peer', 'values', 'telemetry', 'commands']
    try:
        raise IndexError('x')
    except IndexError as error:
        made.on_failure(error)
    assert [one.name for one in made.diagnose()[1:]][-1] == 'faults'
    assert made.log.said[0][0] == 'error'


def test_a_session_that_fails_ten_times_in_a_row_ends_the_node_once_asked():
    made, ended = Stand(), []
    for number in (9, 10, 11):
        cause = IndexError('x')
        try:
            raise cause
        except IndexError:
            made.on_failure(bridge.SessionError(cause, number))
        assert made.exit_code == int(number >= 10)
    assert [level for level, _ in made.log.said] == ['error', 'fatal']
    made = Stand(quit=lambda: ended.append(True))
    made.on_failure(bridge.SessionError(cause, 10))
    assert ended == [True]
    assert 'has failed 10 times in a row' in made.log.said[-1][1]
    assert bridge.FRESH == made.fresh_for() == 1.0


@pytest.mark.parametrize('fails', [True, False])
def test_a_node_that_cannot_make_its_topics_closes_its_link(fails):
    log = []

    class Opened(Stand):
        plays_capture = False

        def make_session(self):
            return SimpleNamespace()

        def make_link(self):
            return SimpleNamespace(start=lambda: log.append('start'),
                                   close=lambda: log.append('close'))

        def make_topics(self):
            if fails:
                raise ValueError('no topics')

    made = Opened(parameters=SimpleNamespace(release_timeout=2.5))
    if fails:
        with pytest.raises(ValueError, match='no topics'):
            made.open()
        assert log == ['close']
        return
    made.open()
    assert log == ['start']
    assert made.session.release_timeout == 2.5
    assert made._handlers.keys() == {
        PeerChanged, CommandDone, bridge.ReadDone}
    assert (made.last_update, made.has_crashed, made.left) == (0.0, False, Left())
