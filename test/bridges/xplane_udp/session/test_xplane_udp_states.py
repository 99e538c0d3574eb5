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

"""
Situations of a conversation with X-Plane's native UDP, which visit each cell of its table.

Time is simulated; what is compared is what the owner and X-Plane see.
"""

import struct

from cells import cells, visited
import pytest
from scripted_xplane import (
    OVERRIDE,
    overrides,
    PEER,
    receive_beacon,
    Run,
    SOURCES,
    steer,
    TIME,
    XPlane,
    YOKES,
)

from xplane_bridge.bridges.sessions.base import CommandDone, PeerChanged, PeerState, ReadDone
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.xplane_udp import protocol as xp
from xplane_bridge.bridges.xplane_udp.session import (
    Telemetry,
    VersionFound,
    Wire,
    XplaneUdpSession,
)
from xplane_bridge.bridges.xplane_udp.session.states import TABLE, TEARDOWN

YOKE = YOKES[0]
NEW = ('10.0.0.3', 49000)
CHANNELS = {'telemetry', 'reports', 'data', 'command', 'version'}
TAKEN = ('elevator', 'joystick')


# What happens to X-Plane.

def off(run, seconds=2.0):
    """Let X-Plane be silent for some time."""
    run.peer.on = False
    return run.run(seconds)


def on(run, seconds=1.0):
    """Let X-Plane be heard again."""
    run.peer.on = True
    return run.run(seconds)


def stray(run, channel='telemetry'):
    """Let one datagram arrive that tells nothing of which run of X-Plane it is."""
    run.events += run.session.receive(
        channel, b'RREF,' + struct.pack('<if', 0, 1.0), None, run.now)


def beacon(run, address=PEER, sent_from=49001):
    """Let an X-Plane send a beacon."""
    receive_beacon(run.session, xp.Becn(1, 2, 1, 121001, 1, address[1], 'host'), (
        address[0], sent_from), run.now)
    run.events += run.session.expired()


def loading(run, seconds=2.0):
    """Let X-Plane send its beacon, and nothing else."""
    beacon(run)
    off(run, seconds)
    assert run.session.peer_state is PeerState.LOADING


def moved(run, seconds=2.1):
    """Let the beacons of the address stop, and come from another one."""
    run.run(seconds)
    for _ in range(4):
        beacon(run, NEW)


def deaf(run):
    """Let X-Plane read no commands."""
    run.lose = lambda channel, data: data[:4] in (b'DREF', b'CMND', b'DATA')


# What is seen.

def rows(run):
    """Return the rows that X-Plane was sent."""
    return [(channel, data) for channel, data in run.peer.received if data[:4] == b'DATA']


def sent(run, since=0):
    """Return what was sent since so many datagrams, by channel and label, with the rate."""
    return {
        (channel, data[:4], struct.unpack_from('<i', data, 5)[0] if data[:4] == b'RREF' else 0)
        for _, channel, data in run.sent[since:] if data}


def closed(run, since):
    """Return the channels that were closed since so many datagrams."""
    return {channel for _, channel, data in run.sent[since:] if data is None}


def errors(run):
    """Return how commands have ended, by what they were."""
    return {done.what: done.error for done in run.of(CommandDone)}


def states(run):
    """Return the states that were told."""
    return [event.state for event in run.of(PeerChanged)]


def flown(run=None):
    """Return a run in which the elevator is held at 0.5."""
    run = (run or Run(version=12)).up()
    steer(run, 1.0, elevator=0.5)
    assert run.session.taken == TAKEN
    return run


def discovered(**session):
    """Return a run with an X-Plane that was found by its beacon."""
    run = Run(peer=XPlane(session.get('version') or 12))
    run.session = XplaneUdpSession(SOURCES, rate=50.0, **session)
    run.start()
    beacon(run)
    return run


def doubted(run):
    """Let X-Plane be silent, and then heard, but not by its time."""
    off(run)
    stray(run)
    assert run.session.peer_state is PeerState.ANSWERING
    return run


def wait(run):
    """Let a read, a command and a pause wait for X-Plane, which does not read."""
    deaf(run)
    run.session.pause(True, run.now)
    run.session.read_datarefs(['nothing'], run.now)
    run.run(0.05)
    # So late that it cannot have left: its turn comes after those of many requests.
    run.session.watch([f'n{n}' for n in range(100)], 1.0, run.now)
    for _ in range(40):
        run.session.send(xp.Dref(1.0, 'test/late'), run.now, what='late')


def ended(run, reason, pause):
    """Check that what waits has ended for that reason."""
    assert errors(run)['late'] == f'not sent: {reason}'
    assert [done.error for done in run.of(ReadDone)] == [reason]
    assert errors(run)['pause'] == f'sent; {pause}'


# Start and search.

def test_without_an_address_it_searches_until_it_is_stopped():
    run = Run()
    run.session = XplaneUdpSession(SOURCES, rate=50.0)
    run.start().run(0.1)
    assert states(run) == [PeerState.SEARCHING]
    with pytest.raises(ValueError, match='no X-Plane was discovered yet'):
        run.session.pause(True, run.now)
    run.session.stop(run.now)
    assert run.session.leaving
    run.run(0.1)
    assert (run.session.leaving, run.session.left) == (False, Left())
    assert states(run) == [PeerState.SEARCHING, PeerState.LEAVING, PeerState.UNKNOWN]
    assert run.sent == []


def test_one_that_is_found_is_asked_for_its_version_and_heard():
    run = discovered()
    run.run(2.0)
    assert states(run) == [PeerState.SEARCHING, PeerState.UNKNOWN, PeerState.ANSWERING]
    assert [event.version for event in run.of(VersionFound)] == [12]
    assert run.of(Telemetry)


@pytest.mark.parametrize('beacons', [False, True])
def test_what_waits_for_one_that_was_never_heard_is_forgotten(beacons):
    run = Run(version=12, wire_format=Wire(pacing=0.2))
    run.peer.on = False
    run.start()
    if beacons:
        beacon(run)
    run.run(1.5)
    assert run.session.peer_state is (PeerState.LOADING if beacons else PeerState.AWAY)
    before = len(run.sent)
    run.run(2.0)
    assert {channel for _, channel, _ in run.sent[before:]} == {'reports'}
    assert run.session.taken == ()


def test_stopped_before_one_was_heard_it_ends_what_it_asked():
    run = Run(peer=XPlane(12))
    run.peer.on = False
    run.start().run(0.5)
    before = len(run.sent)
    run.session.stop(run.now)
    run.run(0.1)
    assert ('version', b'RREF', 0) in sent(run, before)
    assert states(run) == [PeerState.LEAVING, PeerState.UNKNOWN]


def test_one_that_moves_before_it_was_heard_is_asked_no_more():
    run = discovered()
    run.peer.on = False
    run.session.receive('beacon', b'', None, run.now)
    for _ in range(3):
        # Nothing is expected yet: the silence has not begun.
        run.run(0.3)
    before = len(run.sent)
    run.session._peer.expect(run.now + 3.0)
    moved(run)
    assert run.session.peer == PEER
    run.run(0.5)
    assert run.session.peer == NEW
    assert ('version', b'RREF', 0) in sent(run, before)
    assert closed(run, before) == CHANNELS
    assert ('version', b'RREF', 2) in sent(run, before)
    assert states(run)[-2:] == [PeerState.LEAVING, PeerState.UNKNOWN]


# Answering.

def test_stopped_while_things_wait_it_ends_them_and_gives_back():
    run = flown(Run(version=12, wire_format=Wire(pacing=0.05)))
    wait(run)
    run.session.stop(run.now)
    run.lose = lambda channel, data: False
    run.events += run.session.expired()
    run.run(3.6)
    reason = 'the node was deactivated'
    ended(run, reason, 'replaced by a later command before X-Plane showed it')
    assert run.session.left == Left()
    assert (run.peer.written[YOKE], run.peer.written[OVERRIDE]) == (0.0, 0.0)
    assert run.session.version == 12
    assert run.session.taken == ()


def test_restarted_within_the_silence_it_loses_all_that_was_for_the_former():
    run = flown(Run(version=12, wire_format=Wire(pacing=0.05), lifetime=9.0))
    wait(run)
    run.peer.restart()
    run.peer.rref['reports', 500] = [TIME, 10, run.now]
    run.lose = lambda channel, data: False
    run.run(0.6)
    assert errors(run)['late'] == 'not sent: X-Plane was restarted'
    assert errors(run)['pause'] == 'sent; X-Plane was restarted before it showed it'
    assert run.session.taken == ()
    run.run(0.5)
    # All is requested again, not only what is missing by now.
    assert any(name == OVERRIDE for name, *_ in run.peer.rref.values())
    off(run)
    on(run)
    assert run.session.taken == ()


def late_12(run):
    """Let a 12 reply that it is 12 only when it is taken for a 10."""
    run.lose = lambda channel, data: (
        b'internal_version' in data and channel == 'version'
        or data[:4] in (b'RPOS', b'CMND') and run.session.version == 10)
    run.start()
    while run.session.version != 10:
        run.run(0.01)
    run.run(0.02)
    return run


def test_another_version_that_answers_is_asked_anew_and_owes_nothing():
    run = late_12(Run(peer=XPlane(12), wire_format=Wire(pacing=0.02)))
    run.session.pause(True, run.now)
    run.run(0.02)
    for _ in range(40):
        run.session.send(xp.Dref(1.0, 'test/late'), run.now, what='late')
    run.run(2.0)
    assert [event.version for event in run.of(VersionFound)] == [10, 12]
    assert errors(run)['late'] == 'not sent: X-Plane now has a different version'
    assert errors(run)['pause'] == 'sent; X-Plane was restarted before it showed it'
    assert run.of(Telemetry)[-1].pose


@pytest.mark.parametrize('beacons', [False, True])
def test_silence_ends_what_waits_and_keeps_what_was_taken(beacons):
    run = flown(Run(version=12, wire_format=Wire(pacing=0.3), lifetime=9.0))
    wait(run)
    if beacons:
        beacon(run)
    off(run, 1.5)
    reason = ('X-Plane at 10.0.0.2:49000 is loading, or its data output is not set' if beacons
              else 'nothing answers at 10.0.0.2:49000')
    ended(run, reason, 'X-Plane fell silent before it showed it')
    assert run.session.taken == ()
    before = len(run.sent)
    run.run(1.5)
    assert sent(run, before) == {('reports', b'RREF', 10)}
    run.lose = lambda channel, data: False
    on(run, 4.0)
    assert set(TAKEN) <= set(run.session.taken)


# In doubt.

def test_the_same_run_gets_what_was_asked_in_the_silence():
    run = flown()
    off(run)
    run.session.centre(run.now)
    on(run)
    assert run.session.taken == TAKEN
    assert run.peer.written[YOKE] == 0.0
    # It is known again: if it is restarted now, nothing of it is ours.
    run.peer.restart()
    run.peer.rref['reports', 500] = [TIME, 10, run.now]
    run.run(0.6)
    assert run.session.taken == ()


def test_another_run_after_a_silence_has_nothing_of_ours():
    run = flown()
    off(run)
    run.peer.restart()
    on(run, 2.5)
    assert run.session.peer_state is PeerState.ANSWERING
    off(run)
    on(run)
    assert run.session.taken == ()


def test_stopped_in_doubt_it_ends_what_waits_and_gives_back():
    run = doubted(flown(Run(version=12, wire_format=Wire(pacing=0.05))))
    wait(run)
    run.session.stop(run.now)
    run.events += run.session.expired()
    run.lose = lambda channel, data: False
    on(run, 3.6)
    reason = 'the node was deactivated'
    ended(run, reason, 'replaced by a later command before X-Plane showed it')
    assert run.session.left == Left()
    assert (run.peer.written[YOKE], run.peer.written[OVERRIDE]) == (0.0, 0.0)


@pytest.mark.parametrize('beacons', [False, True])
def test_silence_in_doubt_ends_what_waits_and_keeps_what_was_taken(beacons):
    run = doubted(Run(version=12, wire_format=Wire(pacing=0.3), lifetime=9.0).start().run(6.0))
    run.session.set_controls({'elevator': 0.5}, run.now)
    run.run(0.05)
    assert run.session.taken == TAKEN
    wait(run)
    if beacons:
        beacon(run)
    run.run(1.5)
    reason = ('X-Plane at 10.0.0.2:49000 is loading, or its data output is not set' if beacons
              else 'nothing answers at 10.0.0.2:49000')
    ended(run, reason, 'X-Plane fell silent before it showed it')
    assert run.session.taken == ()
    before = len(run.sent)
    run.run(1.5)
    assert sent(run, before) == {('reports', b'RREF', 10)}
    run.lose = lambda channel, data: False
    on(run, 4.0)
    # The override was not read: X-Plane reports that.
    assert run.session.taken == ('elevator',)


def test_another_version_in_doubt_has_nothing_of_ours():
    run = flown(Run(peer=XPlane(12), wire_format=Wire(pacing=0.02), lifetime=9.0))
    off(run)
    run.session.centre(run.now)
    run.lose = lambda channel, data: channel in ('reports', 'command')
    run.peer = XPlane(11)
    stray(run)
    for _ in range(64):
        run.session.send(xp.Dref(1.0, 'test/late'), run.now, what='late')
    run.run(1.5)
    assert [event.version for event in run.of(VersionFound)] == [12, 11]
    assert errors(run)['late'] == 'not sent: X-Plane now has a different version'
    assert YOKE not in run.peer.written
    # It is known, so a neutral need not wait for its next report.
    run.session.set_controls({'aileron': 0.5}, run.now)
    run.run(0.05)
    before = len(run.sent)
    run.session.centre(run.now)
    run.run(0.05)
    assert ('command', b'DREF', 0) in sent(run, before)
    run.lose = lambda channel, data: False
    run.run(5.0)
    assert run.of(Telemetry)[-1].pose
    off(run)
    on(run, 2.5)
    assert run.session.peer_state is PeerState.ANSWERING
    assert run.session.taken == ('aileron', 'joystick')


# Silent.

@pytest.mark.parametrize('beacons', [False, True])
def test_one_that_goes_on_is_asked_again_and_for_its_version(beacons):
    run = Run(peer=XPlane(12)).up()
    run.run(1.0)
    if beacons:
        loading(run)
    else:
        off(run)
    run.peer.rref.clear()
    run.peer.rpos.clear()
    before = len(run.sent)
    on(run, 1.6)
    asked = sent(run, before)
    assert ('version', b'RREF', 2) in asked
    assert ('telemetry', b'RREF', 50) in asked


def test_beacons_tell_one_that_loads_from_one_that_is_away():
    run = Run(version=12).up()
    loading(run)
    run.run(3.6)
    assert run.session.peer_state is PeerState.AWAY
    beacon(run)
    run.run(0.1)
    assert run.session.peer_state is PeerState.LOADING


# Leaving.

@pytest.mark.parametrize('beacons', [False, True])
def test_one_that_is_silent_and_stays_so_is_owed_what_was_taken(beacons):
    run = flown()
    if beacons:
        loading(run)
    else:
        off(run)
    before = len(run.sent)
    run.session.stop(run.now)
    run.run(3.6)
    assert set(run.session.left.unconfirmed) == set(TAKEN)
    assert run.session.left.is_error is beacons
    assert run.session.left.reason.startswith(
        'X-Plane is loading' if beacons else 'X-Plane was already away')
    assert [channel for _, channel, data in run.sent[before:] if data[:4] == b'DREF']
    assert (run.session.unconfirmed, run.session.taken, run.session.leaving) == ((), (), False)
    # It is over, for good.
    run.run(1.5)
    assert run.session.peer_state is PeerState.UNKNOWN


@pytest.mark.parametrize('silence', ['none', 'loading', 'away'])
def test_one_whose_port_refuses_all_has_ended_and_is_owed_nothing(silence):
    run = flown()
    if silence == 'loading':
        loading(run)
    elif silence == 'away':
        off(run)
    run.session.stop(run.now)
    off(run, 0.0)
    for _ in range(3):
        assert run.session.leaving
        run.session.port_refused(run.now)
        run.run(0.26)
    assert (run.session.leaving, run.session.left) == (False, Left(has_ended=True))
    assert (run.session.unconfirmed, run.session.taken) == ((), ())
    before = len(run.sent)
    run.run(1.5)
    assert (run.session.peer_state, len(run.sent)) == (PeerState.UNKNOWN, before)


@pytest.mark.parametrize('beacons', [False, True])
def test_one_that_is_silent_and_has_nothing_of_ours_is_left_soon(beacons):
    run = Run(peer=XPlane(12)).up()
    run.run(1.0)
    if beacons:
        loading(run)
    else:
        off(run)
    run.session.stop(run.now)
    run.run(0.5)
    assert (run.session.leaving, run.session.left) == (False, Left())
    assert run.session.version is None
    # It is over, for good.
    run.run(1.5)
    assert run.session.peer_state is PeerState.UNKNOWN


@pytest.mark.parametrize('beacons', [False, True])
def test_one_that_goes_on_while_it_is_left_but_does_not_show_it_is_an_error(beacons):
    run = flown()
    if beacons:
        loading(run)
    else:
        off(run)
    deaf(run)
    run.session.stop(run.now)
    on(run, 3.6)
    assert run.session.left.is_error
    assert run.session.left.reason.startswith('X-Plane did not show within 3 s')
    assert (run.session.unconfirmed, run.session.leaving) == ((), False)


@pytest.mark.parametrize('silence', ['none', 'loading', 'away'])
def test_started_again_while_it_is_left_nothing_is_owed_any_more(silence):
    run = flown()
    if silence == 'loading':
        loading(run)
    elif silence == 'away':
        off(run)
    deaf(run)
    run.session.stop(run.now)
    run.run(0.3)
    assert set(run.session.unconfirmed) == set(TAKEN)
    run.session.start(run.now)
    assert (run.session.unconfirmed, run.session.leaving, run.session.left) == ((), False, Left())
    assert run.session.peer_state is PeerState.UNKNOWN
    before = len(run.sent)
    on(run, 1.0)
    assert run.session.peer_state is PeerState.ANSWERING
    assert not [data for _, _, data in run.sent[before:] if data and data[:4] == b'DREF']


def test_what_is_shown_is_owed_no_more_and_the_version_is_forgotten():
    run = flown(Run(peer=XPlane(12))).run(3.5)
    run.session.stop(run.now)
    run.run(1.8)
    assert (run.session.left, run.session.leaving) == (Left(), False)
    assert run.session.version is None


def test_another_run_that_shows_itself_while_we_leave_in_doubt_owes_nothing():
    run = Run(version=12).up()
    steer(run, 1.0, elevator=0.5)
    off(run)
    run.peer.restart()
    # Its user holds the yoke, and another program overrides it.
    run.peer.written |= {YOKE: 0.25, OVERRIDE: 1.0}
    stray(run)
    run.lose = lambda channel, data: data[:4] == b'DREF'
    run.session.stop(run.now)
    on(run, 0.6)
    before = len(run.sent)
    run.run(3.0)
    assert run.session.left == Left()
    assert not [data for _, _, data in run.sent[before:] if data and data[:4] == b'DREF']
    assert run.peer.rref == {}


def test_neutral_works_after_a_silence_of_7_whose_runs_cannot_be_told_apart():
    run = Run(version=7).up()
    off(run)
    run.peer.on = True
    run.run(1.0)
    steer(run, 0.5, elevator=0.5)
    run.run(1.0)
    written = len(rows(run))
    run.session.centre(run.now)
    run.run(0.1)
    assert len(rows(run)) > written
    assert struct.unpack_from('<f', rows(run)[-1][1], 9)[0] == 0.0


def test_rows_that_come_before_the_first_reply_of_12_do_not_make_it_9():
    run = Run(peer=XPlane(12))
    run.peer.tick(17, 20)
    run.peer.target = True
    off(run.start(), 10.2)
    run.peer.on = True
    run.run(3.0)
    assert run.session.version == 12
    assert [event.version for event in run.of(VersionFound)] == [12]


def test_no_version_is_concluded_from_a_silence():
    run = Run(peer=XPlane(12)).start()
    run.lose = lambda channel, data: b'internal_version' in data
    while not run.peer.received:
        run.run(0.001)
    run.run(0.6)
    off(run, 4.0)
    assert run.session.peer_state is PeerState.AWAY
    run.lose = lambda channel, data: False
    run.peer.on = True
    run.run(3.0)
    assert [event.version for event in run.of(VersionFound)] == [12]


def test_release_in_a_silence_is_off_if_another_version_is_there_then():
    run = Run(peer=XPlane(12)).up()
    steer(run, 1.0, elevator=0.5)
    off(run)
    run.session.release(run.now)
    run.peer = XPlane(9)
    run.peer.tick(18, 20)
    run.peer.target = True
    while run.session.version != 9:
        run.run(0.1)
    run.session.set_controls({'aileron': 0.5}, run.now)
    run.run(0.2)
    assert run.session.taken == ('aileron_trim',)
    run.peer.tick(1)
    run.run(3.0)
    assert run.session.taken == ('aileron_trim',)


# Moving.

def moving(silence, version=None):
    """Return a run whose X-Plane leaves its address, with the elevator held."""
    run = flown(discovered(version=version))
    off(run, 0.0)
    if silence == 'loading':
        beacon(run)
    moved(run, 2.1 if silence == 'loading' else 3.6)
    assert run.session.peer_state is PeerState.LEAVING
    assert not run.session.leaving
    return run


REASONS = {'loading': 'X-Plane is loading', 'away': 'X-Plane was already away'}


@pytest.mark.parametrize('silence', REASONS)
def test_what_stays_at_the_old_address_is_told(silence):
    run = moving(silence)
    before = len(run.sent)
    run.run(3.6)
    assert [channel for _, channel, data in run.sent[before:] if data and data[:4] == b'DREF']
    assert run.session.peer == NEW
    told = errors(run)['release']
    assert told.startswith('may stay as it was left at the old address of X-Plane: ')
    assert REASONS[silence] in told
    assert closed(run, before) == CHANNELS
    # Once.
    assert len([data for _, _, data in run.sent[before:] if data is None]) == len(CHANNELS)
    assert ('version', b'RREF', 2) in sent(run, before)
    assert (run.session.unconfirmed, run.session.taken, run.session.left) == ((), (), Left())
    on(run, 2.0)
    assert run.session.peer_state is PeerState.ANSWERING
    assert run.session.taken == ()


@pytest.mark.parametrize('silence', REASONS)
def test_one_that_goes_on_at_the_old_address_gets_it_back(silence):
    run = moving(silence)
    before = len(run.sent)
    on(run, 2.5)
    assert run.peer.written[YOKE] == 0.0
    assert overrides(run)[-1] == 0.0
    assert 'release' not in errors(run)
    assert run.session.peer == NEW
    assert closed(run, before) == CHANNELS
    assert states(run)[-2:] == [PeerState.UNKNOWN, PeerState.ANSWERING]
    assert [event.version for event in run.of(VersionFound)] == [12, 12]


@pytest.mark.parametrize('silence', REASONS)
def test_one_that_goes_on_at_the_old_address_and_does_not_show_it_is_told(silence):
    run = moving(silence)
    deaf(run)
    before = len(run.sent)
    on(run, 3.45)
    assert 'X-Plane did not show within 3 s' in errors(run)['release']
    assert run.session.peer == NEW
    assert run.session.unconfirmed == ()
    assert closed(run, before) == CHANNELS
    on(run, 1.0)
    assert run.session.peer_state is PeerState.ANSWERING


@pytest.mark.parametrize('silence', REASONS)
def test_one_that_has_nothing_of_ours_is_left_soon_for_the_new_address(silence):
    run = discovered()
    run.run(1.0)
    off(run, 0.0)
    if silence == 'loading':
        beacon(run)
    moved(run, 2.1 if silence == 'loading' else 3.6)
    before = len(run.sent)
    run.run(0.8)
    assert run.session.peer == NEW
    assert run.session.version is None
    assert closed(run, before) == CHANNELS
    assert ('version', b'RREF', 2) in sent(run, before)
    on(run, 1.0)
    assert run.session.peer_state is PeerState.ANSWERING


def test_another_run_at_the_old_address_is_left_alone():
    run = moving('away')
    deaf(run)
    run.peer.restart()
    run.peer.rref['reports', 500] = [TIME, 10, run.now]
    on(run, 0.3)
    since = len(run.sent)
    run.run(1.5)
    assert not [data for _, _, data in run.sent[since:] if data and data[:4] == b'DREF']
    assert 'release' not in errors(run)
    assert run.session.peer == NEW
    assert run.session.peer_state is PeerState.ANSWERING


@pytest.mark.parametrize('silence', ['none', *REASONS])
def test_stopped_while_it_moves_it_ends_at_the_old_address(silence):
    run = moving('away' if silence == 'none' else silence)
    if silence == 'none':
        deaf(run)
        on(run, 1.0)
    run.session.stop(run.now)
    assert run.session.leaving
    before = len(run.sent)
    run.run(3.6)
    assert (run.session.leaving, run.session.peer) == (False, NEW)
    assert set(run.session.left.unconfirmed) == set(TAKEN)
    assert run.session.left.reason.startswith(
        REASONS.get(silence, 'X-Plane did not show within 3 s'))
    assert run.session.peer_state is PeerState.UNKNOWN
    assert closed(run, before) == CHANNELS


def test_one_that_moves_after_the_end_is_found_at_its_new_address():
    run = discovered()
    run.run(1.0)
    run.session.stop(run.now)
    run.run(2.0)
    before = len(run.sent)
    moved(run)
    run.run(0.1)
    assert run.session.peer == NEW
    assert closed(run, before) == CHANNELS
    assert run.session.peer_state is PeerState.UNKNOWN


def test_started_again_while_it_moves_it_talks_to_the_new_address():
    run = moving('away')
    run.session.stop(run.now)
    before = len(run.sent)
    run.session.start(run.now)
    assert run.session.peer == NEW
    on(run, 0.3)
    assert closed(run, before) == CHANNELS
    assert ('version', b'RREF', 2) in sent(run, before)
    assert run.session.peer_state is PeerState.ANSWERING


# The table.

def scripts():
    """Yield each test above, with each of its arguments."""
    for name, test in list(globals().items()):
        if name.startswith('test_') and name != 'test_each_cell_is_visited':
            marks = getattr(test, 'pytestmark', ())
            for value in marks[0].args[1] if marks else (None,):
                yield (lambda test=test, value=value: test(value)) if marks else test


def test_each_cell_is_visited():
    with visited() as found:
        for script in scripts():
            script()
    assert cells(TABLE | TEARDOWN) - found == set()
