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

"""Datagrams of either side that come late, or again."""

from collections import deque

import pytest
from scripted_xpc import (
    CENTRED,
    HELD,
    JOYSTICK,
    names_of,
    OVERRIDES,
    RUNNING_TIME,
    THROTTLE,
    World,
    YOKES,
)

from xplane_bridge.bridges.sessions.base import CommandDone, PeerState
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.protocol import SimulationOp
from xplane_bridge.bridges.xpc.session import PeerReplaced, Telemetry, XpcSession

FLIGHT_DIRECTOR = 'sim/operation/override/override_flightdir'
ALL = OVERRIDES | CENTRED | {FLIGHT_DIRECTOR: (0.0,)}


class CopyingWorld(World):
    """A world that keeps the last replies and commands, so that they can come again."""

    def __init__(self, session, **options):
        self.replies, self.given = deque(maxlen=40), []
        super().__init__(session, **options)

    def _receive(self, channel, data):
        self.replies.append((channel, data))
        super()._receive(channel, data)

    def _arrive(self, channel, data):
        if channel == 'command':
            self.given.append(data)
        super()._arrive(channel, data)

    def receive_again(self, replies, apart=0.004):
        """Let the session receive replies again, one after the other; let that time pass."""
        for number, (channel, data) in enumerate(replies):
            self.at(self.now + apart * number, self._receive_again, channel, data)
        self.run(apart * len(replies))

    def _receive_again(self, channel, data):
        if channel in self.open:
            World._receive(self, channel, data)

    def read_again(self, tag, *, after=0.0):
        """Let the plugin read the first command of that tag again, in some seconds."""
        data = next(data for data in self.given if data[:4] == tag)
        self.at(self.now + after, World._arrive, self, 'command', data)

    def told(self, kind):
        """Return the events of one kind."""
        return [event for _, event in self.events if isinstance(event, kind)]


def started(*, rate=50.0, **options):
    session = XpcSession({0: names_of(0, RUNNING_TIME)}, rate=rate)
    world = CopyingWorld(session, datarefs=ALL, **options)
    world.call(session.start)
    world.run(1.0)
    return session, world


def taking(**options):
    """Return a session that has taken what there is, all of it shown, and its world."""
    session, world = started(**options)
    world.call(session.take_joystick)
    world.call(session.set_controls, {'elevator': 0.4, 'throttle': 0.5})
    world.call(session.send, xpc.Simulation(SimulationOp.PAUSE))
    world.run(0.5)
    assert world.datarefs[HELD] == (1.0,) * 20
    return session, world


# Replies.

@pytest.mark.parametrize(('rate', 'apart'), [(0.0, 0.004), (50.0, 0.004), (10.0, 0.02)])
@pytest.mark.parametrize('bursts', [(40, 20), (20,)])
@pytest.mark.parametrize('later', [0.7, 2.0])
def test_old_replies_again_are_no_other_xplane(rate, bursts, apart, later):
    session, world = taking(rate=rate)
    taken = session.taken
    old = list(world.replies)
    world.run(later)
    for count in bursts:
        world.receive_again(old[-count:], apart)
    world.run(1.0)
    assert (world.told(PeerReplaced), session.taken) == ([], taken)
    assert session.peer_state is PeerState.ANSWERING
    world.call(session.stop)
    world.run(4.0)
    assert (session.left, world.datarefs) == (Left(), ALL)


def test_old_replies_after_an_outage_do_not_show_who_answers():
    session, world = taking()
    world.loss = 1.0
    old = list(world.replies)
    world.run(2.0)
    world.loss = 0.0
    world.call(session.release)
    world.receive_again(old)
    world.run(1.0)
    assert (world.told(PeerReplaced), session.unconfirmed, world.datarefs) == ([], (), ALL)


def test_old_replies_are_no_telemetry():
    _, world = taking()
    old = list(world.replies)
    world.run(2.0)
    world.events.clear()
    world.receive_again(old)
    world.run(0.5)
    frames = [event.values['plane0/frame'] for event in world.told(Telemetry)]
    assert frames == sorted(frames)


def test_an_xplane_that_was_started_again_is_known_once_though_old_replies_follow():
    session, world = taking()
    old = list(world.replies)
    world.restart(0.3)
    world.run(1.0)
    assert len(world.told(PeerReplaced)) == 1
    for _ in range(4):
        world.receive_again(old)
    world.run(1.0)
    assert len(world.told(PeerReplaced)) == 1
    assert session.taken == ()


def test_old_reports_neither_show_nor_take_away():
    session, world = started()
    old = list(world.replies)
    world.call(session.take_joystick)
    world.call(session.set_controls, {'throttle': 0.5})
    world.run(0.3)
    assert set(session.taken) == {'throttle', 'joystick'}
    # In these it was not taken yet.
    world.receive_again(old)
    assert set(session.taken) == {'throttle', 'joystick'}
    world.lose_commands(1000)
    world.call(session.release)
    world.receive_again(old)
    assert set(session.unconfirmed) == {'throttle', 'joystick'}


# Commands.

def test_a_command_that_comes_again_after_the_neutral_is_undone():
    session, world = taking()
    world.call(session.centre)
    world.run(0.2)
    assert session.unconfirmed == ()
    for later in (0.1, 0.6, 2.0, 8.0):
        world.read_again(b'CTRL', after=later)
        world.run(later + 0.2)
        assert (world.datarefs[YOKES['elevator']], session.unconfirmed) == ((0.0,), ())
    # What else it has set is taken, as it was.
    assert world.datarefs[THROTTLE] == (0.5,)


@pytest.mark.parametrize('later', [0.1, 0.6, 2.2])
@pytest.mark.parametrize('tag', [b'CTRL', b'SIMU', b'DREF'])
def test_a_command_that_comes_again_after_the_release_is_undone(tag, later):
    session, world = taking()
    world.run(0.2)
    world.call(session.release)
    world.read_again(tag, after=later)
    world.read_again(tag, after=later + 0.05)
    world.run(later + 0.5)
    assert (session.taken, session.unconfirmed, session.held_by_others) == ((), (), ())
    assert world.datarefs == ALL


@pytest.mark.parametrize('later', [0.02, 0.3, 2.3])
def test_a_command_that_comes_again_after_the_end_is_undone(later):
    session, world = taking()
    world.call(session.stop)
    for tag in (b'CTRL', b'SIMU', b'DREF'):
        world.read_again(tag, after=later)
    world.run(later + 0.01)
    assert session.leaving
    world.run(4.0)
    assert (session.leaving, session.left, world.datarefs) == (False, Left(), ALL)


def test_an_override_that_is_not_polled_is_given_back_again_too():
    session, world = started()
    world.call(session.send, xpc.SetDatarefs(((FLIGHT_DIRECTOR, (1.0,)),)))
    world.run(0.3)
    assert session.taken == (FLIGHT_DIRECTOR,)
    world.call(session.release)
    world.read_again(b'DREF', after=2.0)
    world.run(2.6)
    assert (session.unconfirmed, world.datarefs) == ((), ALL)
    # Nothing is asked about it any more.
    world.run(1.0)
    world.sent.clear()
    world.run(1.0)
    assert not [channel for _, channel, _ in world.sent if channel.startswith('check')]


def test_a_text_that_comes_again_is_cleared_again():
    session, world = started()
    world.call(session.send, xpc.Text(0, 0, 'hello'))
    world.run(0.3)
    world.call(session.release)
    world.run(2.0)
    assert session.unconfirmed == ()
    world.read_again(b'TEXT', after=0.5)
    world.run(1.0)
    texts = [data for _, data in world.commands if data[:4] == b'TEXT']
    assert b'hello' not in texts[-1]
    world.run(3.0)
    assert len([data for _, data in world.commands if data[:4] == b'TEXT']) == len(texts)


def test_an_old_command_that_comes_again_does_not_replace_a_newer_one():
    session, world = started()
    world.call(session.set_controls, {'elevator': 0.4, 'throttle': 0.5})
    world.run(0.3)
    world.call(session.set_controls, {'elevator': 0.1, 'throttle': 0.75})
    world.run(0.3)
    world.read_again(b'CTRL')
    world.run(0.5)
    assert world.datarefs[YOKES['elevator']] == (pytest.approx(0.1),)
    assert world.datarefs[THROTTLE] == (0.75,)
    assert set(session.taken) == {'elevator', 'throttle'}


def test_what_others_set_after_it_was_given_back_is_theirs():
    session, world = taking()
    world.call(session.release)
    world.run(0.3)
    world.datarefs[YOKES['elevator']], world.datarefs[THROTTLE] = (0.25,), (0.7,)
    world.run(4.0)
    # So much later a pause, or the joystick, is not ours either.
    world.datarefs[JOYSTICK], world.datarefs[HELD] = (1.0,), (1.0,) * 20
    world.run(2.0)
    assert world.datarefs[YOKES['elevator']] == (0.25,)
    assert (world.datarefs[THROTTLE], world.datarefs[JOYSTICK]) == ((0.7,), (1.0,))
    assert session.held_by_others == ('joystick', 'throttle', *session.held_by_others[2:])
    world.call(session.stop)
    world.run(0.1)
    assert not session.leaving


def test_a_stop_long_after_the_last_command_is_as_short_as_ever():
    session, world = taking()
    world.run(3.0)
    world.call(session.stop)
    world.run(0.1)
    assert (session.leaving, session.left, world.datarefs) == (False, Left(), ALL)


def test_one_that_shows_it_and_is_gone_is_told_without_an_error():
    session, world = taking()
    world.call(session.stop)
    world.run(0.3)
    assert (session.leaving, session.unconfirmed) == (True, ())
    world.restart(1e9)
    world.run(4.0)
    assert not session.leaving
    assert set(session.left.unconfirmed) == {'joystick', 'elevator', 'throttle', 'pause of all'}
    assert 'has shown that it was given back' in session.left.reason
    assert not session.left.is_error


def test_one_that_is_away_has_nothing_to_be_watched():
    session, world = taking()
    world.call(session.release)
    world.run(0.3)
    world.restart(1e9)
    world.run(1.5)
    assert session.peer_state is PeerState.AWAY
    world.call(session.stop)
    assert (session.leaving, session.left) == (False, Left())


def test_one_report_alone_does_not_show_that_others_have_it():
    session, world = taking()
    world.datarefs[JOYSTICK] = (0.0,)
    world.run(0.01)
    world.datarefs[JOYSTICK] = (1.0,)
    world.run(0.5)
    assert 'joystick' in session.taken
    world.datarefs[JOYSTICK] = (0.0,)
    world.run(0.1)
    assert 'joystick' not in session.taken


# What is not shown.

def test_a_stream_of_equal_commands_far_away_is_no_contradiction():
    session, world = started(rate=10.0, delay=(0.06, 0.06))
    for _ in range(250):
        world.call(session.set_controls, {'throttle': 0.5})
        world.run(0.02)
        assert session.contradictions(world.now) == ()
    assert session.taken == ('throttle',)


def test_a_pause_that_is_read_after_a_freeze_was_never_called_refused():
    session, world = started(beacon=True)
    world.freeze(7.0)
    ticket = world.call(lambda now: session.send(
        xpc.Simulation(SimulationOp.PAUSE), now, what='pause', awaited=True))
    world.run(2.0)
    done, = world.told(CommandDone)
    assert (done.ticket, done.was_sent) == (ticket, True)
    assert done.error.endswith('it may still happen')
    world.run(6.0)
    assert world.datarefs[HELD] == (1.0,) * 20
    assert session.taken == ('pause of all',)
    assert session.contradictions(world.now) == ()
    world.call(session.stop)
    world.run(0.1)
    assert world.datarefs == ALL


def test_a_command_that_a_silent_xplane_has_not_read_is_told_when_it_answers():
    session, world = started(beacon=True)
    world.lose_commands(1)
    world.call(session.set_controls, {'throttle': 0.5})
    world.freeze(3.0)
    world.run(4.0)
    assert session.contradictions(world.now) == (
        'throttle was commanded 0.5, X-Plane reports -2',)
    world.call(session.set_controls, {'throttle': 0.5})
    world.run(0.3)
    assert session.contradictions(world.now) == ()
