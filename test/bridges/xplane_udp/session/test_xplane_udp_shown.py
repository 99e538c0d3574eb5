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

"""What was sent to X-Plane counts once X-Plane shows it: losses, silences, other hands."""

import math

import pytest
from scripted_xplane import (
    drefs,
    NAMES,
    OVERRIDE,
    PAUSED,
    PLANEPATH,
    Run,
    steer,
    TIME,
    XPlane,
    YOKES,
)

from xplane_bridge.bridges.sessions.base import CommandDone, PeerState
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.xplane_udp import protocol as xp
from xplane_bridge.bridges.xplane_udp.session import BEACON_CHANNEL, RowTelemetry, Telemetry, Wire

YOKE = YOKES[0]


def flown(**session):
    """Return a run in which the elevator is held at 0.5."""
    run = Run(version=12, **session).up()
    steer(run, 1.0, elevator=0.5)
    assert run.peer.written[YOKE] == 0.5
    return run


def stopped(run, seconds=4.0):
    """Stop, and return how that has ended."""
    run.session.stop(run.now)
    assert run.session.leaving
    run.run(seconds)
    assert not run.session.leaving
    return run.session.left


def beacon(run):
    run.session.receive(BEACON_CHANNEL, xp.encode(
        xp.Becn(1, 2, 1, 121001, 1, 49000, 'host', None)), ('10.0.0.2', 49001), run.now)


# How stop() ends.

def test_what_was_shown_is_not_owed_and_leaving_is_short_if_nothing_was_commanded_lately():
    run = flown().run(3.5)
    assert stopped(run, 1.8) == Left()
    assert (run.peer.written[YOKE], run.peer.written[OVERRIDE]) == (0.0, 0.0)
    assert run.peer.rref == {}


def test_x_plane_that_answers_and_does_not_show_it_is_an_error_that_says_how_to_undo_it():
    run = flown()
    run.lose = lambda channel, data: data[:4] == b'DREF'
    left = stopped(run)
    assert (set(left.unconfirmed), left.is_error) == ({'elevator', 'joystick'}, True)
    assert left.reason.startswith('X-Plane did not show within 3 s that it was given back; to')
    assert 'write 0 to the override_ datarefs with set_datarefs' in left.reason
    # It tells once.
    assert not run.of(CommandDone)


def test_x_plane_that_loads_is_an_error_and_reads_it_when_it_goes_on():
    run = flown()
    run.peer.on = False
    for _ in range(4):
        beacon(run)
        run.run(1.0)
    assert run.session.peer_state is PeerState.LOADING
    run.lose = lambda channel, data: unread.append((channel, data))
    unread = []
    left = stopped(run)
    assert (set(left.unconfirmed), left.is_error) == ({'elevator', 'joystick'}, True)
    assert left.reason.startswith('X-Plane is loading')
    run.peer.on = True
    # As many as its socket keeps.
    for channel, data in unread[:150]:
        run.peer.handle(channel, data, run.now)
    assert (run.peer.written[YOKE], run.peer.written[OVERRIDE]) == (0.0, 0.0)


def test_x_plane_that_is_away_already_is_no_error():
    run = flown()
    run.session.pause(True, run.now)
    run.run(1.0)
    run.peer.on = False
    run.run(2.0)
    left = stopped(run)
    assert (set(left.unconfirmed), left.is_error) == ({'elevator', 'joystick', 'pause'}, False)
    assert left.reason.startswith('X-Plane was already away; if it comes back as it was, to undo')
    assert 'resume X-Plane with the key P' in left.reason


def test_one_that_is_away_and_has_nothing_of_ours_is_left_soon():
    run = Run(version=12).up()
    run.peer.on = False
    run.run(2.0)
    assert stopped(run, 1.0) == Left()


def test_x_plane_that_goes_on_while_we_leave_gets_it_back():
    run = flown()
    run.peer.on = False
    run.run(2.0)
    run.session.stop(run.now)
    run.run(1.0)
    run.peer.on = True
    run.run(2.5)
    assert run.session.left == Left()
    assert run.peer.written[OVERRIDE] == 0.0


def test_stopped_before_the_first_report_after_a_silence_gives_back_too():
    run = flown()
    run.peer.on = False
    run.run(3.0)
    run.lose_reply = lambda channel, data: channel == 'reports'
    run.peer.on = True
    while run.session.peer_state is not PeerState.ANSWERING:
        run.run(0.001)
    run.lose_reply = lambda channel, data: False
    assert stopped(run, 2.0) == Left()
    assert (run.peer.written[YOKE], run.peer.written[OVERRIDE]) == (0.0, 0.0)


def test_another_run_that_answers_while_we_leave_is_left_alone():
    run = flown()
    run.peer.on = False
    run.run(2.0)
    run.peer.restart()
    run.peer.rref[('reports', 500)] = ['sim/time/total_running_time_sec', 10, run.now]
    run.lose = lambda channel, data: data[:4] == b'DREF'
    run.session.stop(run.now)
    run.run(0.1)
    run.peer.on, run.lose = True, lambda channel, data: False
    run.run(3.4)
    assert run.session.left == Left()
    assert YOKE not in run.peer.written


def test_started_again_while_it_leaves_it_talks_at_once():
    run = flown()
    run.lose = lambda channel, data: data[:4] == b'DREF'
    run.session.stop(run.now)
    run.run(0.2)
    run.lose = lambda channel, data: False
    run.start().run(2.5)
    assert run.session.peer_state is PeerState.ANSWERING
    assert {name for (channel, _), (name, *_) in run.peer.rref.items()
            if channel == 'telemetry'} == set(NAMES)


@pytest.mark.parametrize('kind', [b'RREF', b'RPOS', b'USEL'])
def test_what_goes_on_although_it_was_ended_is_ended_again(kind):
    run = Run(version=12)
    run.session.choose_rows([3], run.now)
    run.session.watch(['other'], 10.0, run.now)
    run.up().run(1.5)
    assert run.peer.rows
    lost = []

    def lose(channel, data):
        ends = data[:4] == kind and (kind == b'USEL' or data[5:9] in (b'\0\0\0\0', b'0\0'))
        if not ends or data in lost:
            return False
        lost.append(data)
        return True

    run.lose = lose
    assert stopped(run) == Left()
    assert lost
    assert (run.peer.rref, run.peer.rpos['telemetry'][0], run.peer.rows) == ({}, 0, set())


# While it is active.

def test_neutral_in_a_silence_comes_once_the_same_run_is_back():
    run = flown()
    run.peer.on = False
    run.run(2.0)
    run.session.centre(run.now)
    run.peer.on = True
    run.run(2.0)
    assert run.peer.written[YOKE] == 0.0
    assert run.peer.written[OVERRIDE] == 1.0


def test_neutral_that_a_silence_interrupts_goes_on_for_those_axes_and_no_longer_than_another():
    run = flown()
    steer(run, 0.5, elevator=0.5, aileron=0.25)
    # All but the override.
    run.lose = lambda channel, data: data[:4] == b'DREF' and b'yoke' in data
    run.session.centre(run.now)
    run.session.set_controls({'aileron': 0.25}, run.now)
    run.run(0.5)
    run.peer.on = False
    run.run(2.0)
    run.peer.on = True
    before = len(run.sent)
    run.run(5.0)
    written = [(at, data) for at, _, data in run.sent[before:] if b'yoke' in data and (
        data[:4] == b'DREF')]
    assert {data[9:].split(b'\0')[0].decode() for _, data in written} == {YOKE}
    # The patience of a session; then it is told.
    assert 2.0 < written[-1][0] - written[0][0] < 3.1
    assert [done.error for done in run.of(CommandDone) if done.what == 'neutral elevator'] == [
        'sent; not shown within 3 s']
    assert run.peer.written[YOKES[1]] == 0.25


def test_neutral_of_an_axis_that_x_plane_does_not_report_is_written_and_no_error():
    peer = XPlane(12)
    del peer.values[YOKE]
    run = Run(peer, version=12).up()
    steer(run, 1.0, elevator=0.5)
    run.session.centre(run.now)
    run.run(4.0)
    assert run.peer.written[YOKE] == 0.0
    assert not run.of(CommandDone)


def test_neutral_is_off_once_controls_are_commanded_again():
    run = flown()
    run.lose = lambda channel, data: data[:4] == b'DREF'
    run.session.centre(run.now)
    run.run(1.0)
    run.lose = lambda channel, data: False
    run.session.set_controls({'elevator': 0.25}, run.now)
    run.run(2.0)
    assert run.peer.written[YOKE] == 0.25


def test_neutral_of_a_silence_is_off_once_controls_are_commanded_again():
    run = flown()
    run.peer.on = False
    run.run(2.0)
    run.session.centre(run.now)
    # It answers, and does not say yet which run it is.
    run.peer.on, run.lose_reply = True, lambda channel, data: data[:4] == b'RREF'
    run.run(0.1)
    run.session.set_controls({'elevator': 0.25}, run.now)
    run.run(0.1)
    run.lose_reply = lambda channel, data: False
    run.run(2.0)
    assert run.peer.written[YOKE] == 0.25


def test_neutral_leaves_an_axis_to_another_hand():
    run = Run(version=12, override_joystick=False).up()
    steer(run, 1.0, elevator=0.5)
    run.session.centre(run.now)
    run.run(0.05)
    # The user's joystick, which nothing overrides.
    run.peer.written[YOKE] = 0.3
    before = len(drefs(run))
    run.run(3.0)
    assert run.peer.written[YOKE] == 0.3 or len(drefs(run)) <= before + 1
    assert not run.of(CommandDone)


def test_pause_is_successful_once_it_is_shown():
    run = Run(version=12).up()
    run.run(0.5)
    lost = []
    run.lose = lambda channel, data: (
        data[:4] == b'CMND' and len(lost) < 2 and not lost.append(data))
    ticket = run.session.pause(True, run.now)
    run.run(0.5)
    assert not run.of(CommandDone)
    run.run(1.0)
    assert run.of(CommandDone) == [CommandDone(ticket, 'pause', '', 'X-Plane shows it')]
    assert run.peer.written[PAUSED] == 1.0
    assert run.session.taken == ('pause',)


def test_what_was_just_resumed_counts_as_running_before_it_is_shown():
    run = Run(version=12).up()
    run.peer.written[PAUSED] = 1.0
    run.run(0.5)
    run.session.pause(False, run.now)
    run.session.pause(True, run.now)
    run.run(1.0)
    assert run.peer.written[PAUSED] == 1.0
    assert run.session.taken == ('pause',)


@pytest.mark.parametrize(('version', 'reported'), [(12, True), (10, False)])
def test_pause_that_is_not_shown_fails(version, reported):
    peer = XPlane(version)
    if not reported:
        del peer.values[PAUSED]
    run = Run(peer, version=version).up()
    run.lose = lambda channel, data: data[:4] == b'CMND'
    ticket = run.session.pause(True, run.now)
    run.run(3.2)
    assert run.of(CommandDone) == [
        CommandDone(ticket, 'pause', 'sent; not shown within 3 s')]


def test_release_that_is_not_shown_is_told_and_stays_owed():
    run = flown()
    run.lose = lambda channel, data: data[:4] == b'DREF'
    run.session.release(run.now)
    assert run.session.taken == ()
    run.run(3.2)
    assert {done.error for done in run.of(CommandDone)} == {
        f'{name}: sent; not shown within 3 s; it may stay as it was left'
        for name in ('elevator', 'joystick')}
    assert set(run.session.unconfirmed) == {'elevator', 'joystick'}
    run.lose = lambda channel, data: False
    assert stopped(run) == Left()


def test_release_in_a_silence_is_owed_and_given_back_at_the_reunion():
    run = flown()
    run.lose = lambda channel, data: data[:4] == b'DREF'
    run.session.release(run.now)
    run.run(0.2)
    run.peer.on, run.lose = False, lambda channel, data: False
    run.run(2.0)
    run.peer.on = True
    run.run(2.0)
    assert (run.peer.written[YOKE], run.peer.written[OVERRIDE]) == (0.0, 0.0)
    assert run.session.unconfirmed == ()


def test_flight_model_that_vehx_stopped_runs_again():
    run = Run(version=11).up()
    run.session.send(xp.Vehx(0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0), run.now)
    # What was reported before X-Plane has read it.
    run.run(0.1)
    run.peer.written[PLANEPATH] = 1.0
    run.run(1.0)
    lost = []
    run.lose = lambda channel, data: data[:4] == b'DREF' and not lost and not lost.append(data)
    assert stopped(run) == Left()
    assert run.peer.written[PLANEPATH] == 0.0


# What disagrees.

def test_a_running_time_that_is_no_number_is_not_another_run():
    run = flown()
    run.peer.values[TIME] = lambda: math.nan
    run.run(1.0)
    assert set(run.session.taken) == {'elevator', 'joystick'}
    assert run.session.peer_state is PeerState.ANSWERING


def test_an_axis_that_x_plane_reports_differently_contradicts():
    run = flown()
    assert run.session.contradictions(run.now) == ()
    run.peer.values[YOKE] = lambda: 0.125
    run.run(2.0)
    assert run.session.contradictions(run.now) == (
        f'{YOKE}: 0.5 was sent, X-Plane reports 0.125',)


def test_an_override_that_nobody_here_holds_contradicts():
    run = Run(version=12).up()
    run.peer.written[OVERRIDE] = 1.0
    run.run(1.0)
    assert [text[:56] for text in run.session.contradictions(run.now)] == [
        'X-Plane reports that the joystick is overridden, and not']


# Requests.

def test_silent_x_plane_finds_little_unread():
    run = flown()
    run.peer.on = False
    before = len(run.sent)
    run.run(600.0)
    # Of the some 150 that its socket keeps.
    assert len(run.sent) - before < 60


def test_x_plane_that_was_away_for_long_is_probed_often_once_its_beacon_is_heard():
    run = flown()
    run.peer.on = False
    run.run(400.0)
    run.peer.on = True
    run.peer.restart()
    beacon(run)
    # Nothing but its beacon makes the session look earlier.
    run.session.poll(run.now)
    run.run(2.0)
    assert run.session.peer_state is PeerState.ANSWERING


def test_every_frame_is_thinned_out_after_a_silence_too():
    run = Run(peer=XPlane(12, aligned=False)).up().run(5.0)
    assert run.session.source == 'datarefs, every frame'
    run.peer.on = False
    run.run(3.0)
    run.peer.on = True
    run.run(2.0)
    before = len(run.of(Telemetry))
    run.run(4.0)
    # X-Plane goes on with each of its 62.5 frames per second.
    assert len(run.of(Telemetry)) - before == pytest.approx(4 * 50, abs=4)


def test_ended_datarefs_do_not_go_on_after_a_silence():
    names = [f'n{n}' for n in range(150)]
    run = Run(version=12)
    run.session.watch(names, 10.0, run.now)
    run.up().run(4.0)
    watch = {channel for channel, _ in run.peer.rref if channel.startswith('watch')}
    run.session.watch([], 10.0, run.now)
    run.run(0.2)
    run.peer.on = False
    run.run(3.0)
    run.peer.on = True
    run.run(6.0)
    assert not [key for key in run.peer.rref if key[0].startswith('watch')]
    assert watch <= {channel for _, channel, data in run.sent if data is None}


def test_x_plane_of_another_version_after_a_stop_is_recognised():
    run = Run(peer=XPlane(12)).up()
    assert run.session.version == 12
    stopped(run)
    run.peer = XPlane(9)
    run.peer.tick(18, 20)
    run.peer.target = True
    run.start().run(8.0)
    assert run.session.version == 9
    assert run.of(RowTelemetry)


def test_rows_that_the_user_ticked_stay_where_only_requests_open_the_port():
    """As with discover: true and set_data_target: false, where the port opens with the peer."""
    run = Run(version=11, by_rows=True, wire_format=Wire())
    run.peer.target = True
    run.peer.tick(17)
    opened = set()
    run.lose_reply = lambda channel, data: channel == 'data' and 'data' not in opened
    poll = run.session.poll

    def polled(now):
        outgoing = poll(now)
        opened.update(channel for channel, data in outgoing if data is not None)
        return outgoing

    run.session.poll = polled
    run.up().run(3.0)
    assert run.peer.rows == {17, 20}
    stopped(run)
    assert run.peer.rows == {17}
