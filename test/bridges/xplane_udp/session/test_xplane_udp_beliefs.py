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

"""What a session believes about X-Plane is true or expires; each case was observed."""

import random
import struct

import pytest
from scripted_xplane import (
    drefs,
    LAT,
    NAMES,
    OVERRIDE,
    overrides,
    PAUSED,
    PEER,
    PLANEPATH,
    receive_beacon,
    Run,
    SOURCES,
    START,
    steer,
    XPlane,
)

from xplane_bridge.bridges.sessions.base import CommandDone, PeerAbsentError, PeerState
from xplane_bridge.bridges.xplane_udp import protocol as xp
from xplane_bridge.bridges.xplane_udp.session import (
    DataArrived,
    RowTelemetry,
    Telemetry,
    VersionFound,
    WatchedDatarefs,
    Wire,
    XplaneUdpSession,
)

STICK = 'sim/joystick/yoke_pitch_ratio'


def since(run, count, kind=Telemetry):
    return [event for event in run.events[count:] if isinstance(event, kind)]


def rate(run, seconds, kind=Telemetry):
    before = len(run.events)
    run.run(seconds)
    return len(since(run, before, kind)) / seconds


def freeze(run, seconds):
    """Stop X-Plane for some time; what is sent to it meanwhile is read when it resumes."""
    peer, waiting = run.peer, []
    handle, peer.handle = peer.handle, lambda *datagram: waiting.append(datagram)
    peer.on = False
    run.run(seconds)
    peer.on, peer.handle = True, handle
    for datagram in waiting:
        handle(*datagram)


def restart(run, seconds):
    run.peer.on = False
    run.run(seconds)
    run.peer.restart()
    run.peer.on = True


# A subscription is a lease

@pytest.mark.parametrize('seed', range(3))
def test_half_of_all_datagrams_lost_for_14_seconds_loses_nothing_for_good(seed):
    chance = random.Random(seed)
    lossy = [True]

    def lose(channel, data):
        return lossy[0] and chance.random() < 0.5

    run = Run(lose=lose, lose_reply=lose, version=12).start().run(14.0)
    lossy[0] = False
    run.run(12.0)
    before = len(run.events)
    assert 48 <= rate(run, 1.0) <= 52
    assert all(event.values.keys() == {*NAMES} and event.pose for event in since(run, before))
    assert run.session.missing(run.now) == {}


def test_watched_dataref_that_vanishes_stops_no_other_and_is_taken_up_again():
    run = Run(version=12)
    run.session.watch(['other', 'n1', 'n2'], 10.0, run.now)
    run.up()
    known = run.peer.values.pop('n1')
    for key in [key for key, entry in run.peer.rref.items() if entry[0] == 'n1']:
        del run.peer.rref[key]
    run.run(1.0)
    before = len(run.events)
    assert 9 <= rate(run, 1.0, WatchedDatarefs) <= 11
    assert since(run, before, WatchedDatarefs)[-1].values == (7.0, None, 2.0)
    assert list(run.session.missing(run.now)) == ['n1']
    run.peer.values['n1'] = known
    run.run(11.0)
    assert run.of(WatchedDatarefs)[-1].values == (7.0, 1.0, 2.0)


def test_rref_that_x_plane_forgets_is_asked_for_again_and_the_pose_goes_on():
    run = Run(version=12).up()
    for key in [key for key in run.peer.rref if key[0] == 'telemetry']:
        del run.peer.rref[key]
    before = len(run.events)
    run.run(0.8)
    alone = since(run, before)
    assert len(alone) > 20
    assert alone[-1].pose is not None
    assert not alone[-1].values
    run.run(2.0)
    assert run.of(Telemetry)[-1].values.keys() == {*NAMES}
    assert 48 <= rate(run, 1.0) <= 52


def test_rpos_that_x_plane_forgets_is_asked_for_again_and_the_datarefs_go_on():
    run = Run(version=12).up()
    run.peer.rpos.clear()
    before = len(run.events)
    run.run(0.8)
    alone = since(run, before)
    assert len(alone) > 20
    assert alone[-1].pose is None
    assert alone[-1].values.keys() == {*NAMES}
    run.run(2.0)
    assert run.of(Telemetry)[-1].pose is not None


@pytest.mark.parametrize('late', [b'RPOS', b'RREF'])
def test_after_a_silence_no_telemetry_is_published_in_halves(late):
    quiet = []
    run = Run(version=12, lose_reply=lambda channel, data: data[:4] in quiet).up()
    before = len(run.events)
    for _ in range(5):
        # As when a computer was busy: then one of the two arrives before the other.
        quiet[:] = b'RPOS', b'RREF'
        run.run(0.6)
        quiet[:] = [late]
        run.run(0.05)
        quiet.clear()
        run.run(0.3)
    assert len(since(run, before)) > 60
    assert all(event.pose and event.values.keys() == {*NAMES} for event in since(run, before))


@pytest.mark.parametrize('late', [b'RPOS', b'RREF'])
def test_a_slow_start_publishes_no_telemetry_in_halves(late):
    quiet = [b'RPOS', b'RREF']
    run = Run(version=12, lose_reply=lambda channel, data: data[:4] in quiet).start().run(0.9)
    quiet[:] = [late]
    run.run(0.2)
    quiet.clear()
    run.run(0.5)
    assert len(run.of(Telemetry)) > 20
    assert all(event.pose and event.values.keys() == {*NAMES} for event in run.of(Telemetry))


def test_watched_datarefs_in_several_datagrams_are_whole_after_a_silence():
    run = Run(version=12)
    run.session.watch(['n1', 'n2', 'n3'], 20.0, run.now)
    run.up()
    run.peer.most = 2
    run.run(1.0)
    before = len(run.events)
    run.peer.on = False
    run.run(0.6)
    run.peer.on = True
    run.run(0.5)
    watched = since(run, before, WatchedDatarefs)
    assert len(watched) > 5
    assert all(event.values == (1.0, 2.0, 3.0) for event in watched)


def test_row_that_the_user_deselects_stops_no_other_and_is_selected_again():
    run = Run(version=6).up()
    run.peer.rows.discard(17)
    before = len(run.events)
    run.run(2.0)
    assert [s.index for s in since(run, before, RowTelemetry)[-1].segments] == [18]
    assert run.session.missing_rows(run.now + 1.0) == (17,)
    run.run(2.0)
    assert [s.index for s in run.of(RowTelemetry)[-1].segments] == [17, 18]


# Two streams on timers of their own

@pytest.mark.parametrize('drift', [1e-4, 1e-3, 3e-3])
def test_streams_that_drift_are_joined_at_the_rate_asked_for(drift):
    run = Run(XPlane(12, drift=drift), version=12).up().run(3.0)
    before = len(run.events)
    assert rate(run, 20.0) >= 48.0
    for event in since(run, before):
        assert event.pose.lat == event.values[LAT]
        assert event.values.keys() == {*NAMES}


@pytest.mark.parametrize('rate_asked', [1.0, 10.0])
def test_slow_streams_that_drift_are_joined_too(rate_asked):
    run = Run(XPlane(12, drift=3e-3), version=12, rate=rate_asked).up().run(8.0)
    assert rate(run, 10.0) == pytest.approx(rate_asked, rel=0.11)


# Rows are given back as they were

@pytest.mark.parametrize('version', [6, 7, 9])
def test_rows_that_the_user_ticked_stay_ticked_and_the_next_run_finds_the_version(version):
    peer = XPlane(version)
    peer.tick(0, SOURCES.rows[version][0])
    peer.target = True
    run = Run(peer, version=version).start().run(3.0)
    assert run.of(RowTelemetry)
    assert peer.rows == {0, *SOURCES.rows[version]}
    run.session.stop(run.now)
    run.run(0.5)
    assert peer.rows == peer.ticked
    following = Run(peer).start().run(5.0)
    assert [event.version for event in following.of(VersionFound)] == [version]
    assert following.of(RowTelemetry)


def test_rows_of_an_x_plane_that_starts_after_us_stay_as_its_user_ticked_them():
    run = Run(version=6)
    run.peer.on = False
    run.start().run(4.0)
    run.peer.tick(0, 17)
    run.peer.on = True
    run.run(3.0)
    assert run.of(RowTelemetry)
    run.session.stop(run.now)
    run.run(0.5)
    assert run.peer.rows == {0, 17}


def test_rows_of_a_restarted_7_which_has_no_time_stay_as_its_user_ticked_them():
    run = Run(version=7)
    run.peer.tick(0)
    run.up().run(1.5)
    assert run.peer.rows == {0, *SOURCES.rows[7]}
    run.peer.on = False
    run.run(3.0)
    run.peer.restart()
    run.peer.tick(16)
    run.peer.on = True
    run.run(4.0)
    run.session.stop(run.now)
    run.run(0.5)
    assert run.peer.rows == {0, 16}


def test_rows_of_an_x_plane_that_starts_after_us_are_let_go_if_nobody_ticked_any():
    run = Run(version=6)
    run.peer.on = False
    run.start().run(4.0)
    run.peer.on = True
    run.run(3.0)
    assert run.peer.rows == {17, 18}
    run.session.stop(run.now)
    run.run(0.5)
    assert run.peer.rows == set()


def test_rows_that_were_ours_and_that_the_user_of_the_next_run_ticked_stay_ticked():
    run = Run(version=6)
    run.session.choose_rows([1], run.now)
    run.up()
    run.run(3.0)
    assert run.peer.rows == {1, 17, 18}
    run.peer.ticked = {0, 1, 17}
    restart(run, 3.0)
    run.run(4.0)
    assert run.peer.rows == {0, 1, 17, 18}
    run.session.stop(run.now)
    run.run(0.5)
    assert run.peer.rows == {0, 1, 17}


def test_chosen_row_that_the_user_ticked_stays_ticked():
    run = Run(version=6)
    run.peer.tick(33)
    run.up()
    run.session.choose_rows([33], run.now)
    run.run(1.0)
    run.session.choose_rows([], run.now)
    run.run(0.5)
    assert run.peer.rows == {17, 18, 33}
    assert any(s.index == 33 for s in run.of(DataArrived)[-1].segments)


@pytest.mark.parametrize('version', [9, 10, 12])
def test_output_target_is_never_ended(version):
    run = Run(version=version, by_rows=True).up().run(1.0)
    run.session.stop(run.now)
    run.run(1.0)
    targets = [data for data in (data for _, _, data in run.sent if data)
               if data[:4] in (b'ISE4', b'ISET')]
    assert targets
    assert {data[-4:] for data in targets} == {b'\1\0\0\0'}
    assert run.peer.rows == set()


# Which X-Plane it is: beacons

def beacon(**of):
    given = {'port': 49000, 'name': 'simpc', 'version': 121001, 'role': 1, 'host_id': 1} | of
    return xp.Becn(1, 2, given['host_id'], given['version'], given['role'], given['port'],
                   given['name'], 49010)


@pytest.mark.parametrize(('of', 'sentence'), [
    ({'port': 0}, 'BECN: port 0, expected 1 to 65535'),
    ({'version': -5}, 'BECN: version -5, expected a number like 121001'),
    ({'version': 12}, 'BECN: version 12, expected'),
])
@pytest.mark.parametrize('peer', [PEER, None])
def test_beacon_that_cannot_be_is_refused_and_counted(peer, of, sentence):
    session = XplaneUdpSession(SOURCES, rate=50.0, peer=peer)
    session.start(START)
    receive_beacon(session, beacon(**of), ('10.0.0.2', 49001), START)
    assert session.peer == peer
    assert session.beacon is None
    assert session.version is None
    assert session.statistics.malformed == {'BECN': 1}
    assert session.statistics.last_error.startswith(sentence)


@pytest.mark.parametrize('discovers', [False, True])
def test_forged_beacons_change_nothing(discovers):
    run = Run()
    run.session = XplaneUdpSession(SOURCES, rate=50.0, peer=None if discovers else PEER)
    run.start()
    receive_beacon(run.session, beacon(), (PEER[0], 49001), run.now)
    run.run(2.0)
    count = 0
    for second in range(10):
        before = len(run.events)
        for part in range(4):
            # From another port, version or name on the same host, more often than the true one.
            forged = beacon(version=115501) if part % 2 else beacon(version=115501, port=49500)
            receive_beacon(run.session, forged, (PEER[0], 49001), run.now)
            run.run(0.25)
        receive_beacon(run.session, beacon(), (PEER[0], 49001), run.now)
        count += len(since(run, before))
        assert (run.session.peer, run.session.version) == (PEER, 12), second
        assert run.session.beacon.version == 121001
    assert count / 10.0 >= 48.0
    assert [event.version for event in run.of(VersionFound)] == [12]


def test_forged_beacons_alone_do_not_move_from_a_peer_that_answers():
    run = Run()
    run.session = XplaneUdpSession(SOURCES, rate=50.0)
    run.start()
    receive_beacon(run.session, beacon(), (PEER[0], 49001), run.now)
    run.run(2.0)
    for _ in range(20):
        receive_beacon(run.session, beacon(port=49500), (PEER[0], 49001), run.now)
        run.run(0.5)
    assert run.session.peer == PEER
    assert 48 <= rate(run, 1.0) <= 52


def test_another_version_behind_the_same_address_is_found_without_a_beacon():
    run = Run(XPlane(12)).start().run(3.0)
    assert run.session.version == 12
    run.peer.on = False
    run.run(2.0)
    run.peer = XPlane(11)
    run.peer.restart()
    run.run(4.0)
    assert run.session.version == 11
    assert rate(run, 1.0) > 45


# A command has a lifetime

def commands(run):
    return [data for _, data in run.peer.received if data[:4] in (b'DREF', b'CMND', b'VEHX')]


def give_commands(run):
    """Send commands of each kind; all have to be refused, with the same reason."""
    session, reasons = run.session, set()
    for give in (
        lambda: session.set_controls({'elevator': 0.5}, run.now),
        lambda: session.pause(True, run.now),
        lambda: session.send(xp.Cmnd('sim/none/none'), run.now),
        lambda: session.send(xp.Vehx(0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0), run.now),
        lambda: session.send(xp.Data((xp.Segment(25, (0.5,) * 8),)), run.now),
        lambda: session.read_datarefs(['other'], run.now),
    ):
        with pytest.raises(PeerAbsentError) as caught:
            give()
        reasons.add(str(caught.value).partition(': ')[2])
    reason, = reasons
    return reason


def test_commands_are_refused_before_anything_was_heard():
    run = Run(version=12)
    assert give_commands(run) == 'not sent, the node is not active'
    assert give_commands(run.start()) == (
        'waiting for the first reply from X-Plane at 10.0.0.2:49000')


def test_commands_are_refused_before_one_was_discovered():
    run = Run(version=12)
    run.session = XplaneUdpSession(SOURCES, rate=50.0, version=12)
    run.session.start(run.now)
    assert give_commands(run) == 'no X-Plane was discovered yet'


@pytest.mark.parametrize(('beacons', 'reason'), [
    (False, 'nothing answers at 10.0.0.2:49000'),
    (True, 'X-Plane at 10.0.0.2:49000 is loading, or its data output is not set')])
def test_commands_to_an_x_plane_that_is_silent_are_refused_and_never_sent(beacons, reason):
    run = Run(version=12).up()
    run.peer.on = False
    run.run(2.0)
    for _ in range(3):
        if beacons:
            receive_beacon(run.session, beacon(), (PEER[0], 49001), run.now)
        run.run(1.0)
        assert give_commands(run) == reason
    run.peer.on = True
    run.run(12.0)
    assert commands(run) == []


def test_what_waits_when_x_plane_falls_silent_is_dropped_with_the_reason():
    run = Run(version=12, lifetime=5.0, wire_format=Wire(pacing=1.0))
    run.start().run(20.0)
    run.peer.on = False
    tickets = [run.session.send(xp.Cmnd('sim/none/none'), run.now, what='run_command',
                                awaited=True) for _ in range(4)]
    run.run(3.0)
    done = {event.ticket: event.error for event in run.of(CommandDone)}
    assert set(done) <= set(tickets)
    assert done[tickets[-1]] == (
        'not sent: nothing answers at 10.0.0.2:49000')
    run.peer.on = True
    run.peer.received.clear()
    run.run(10.0)
    assert commands(run) == []


@pytest.mark.parametrize('version', [6, 12])
def test_commands_that_wait_too_long_are_never_sent_and_say_so(version):
    run = Run(version=version, lifetime=0.5, wire_format=Wire(pacing=1.0))
    run.start().run(25.0)
    run.peer.received.clear()
    rows = xp.Data((xp.Segment(25, (0.5,) * 8),))
    tickets = [run.session.send(rows, run.now, what='command/data', awaited=True)
               for _ in range(3)]
    at = run.now
    run.run(5.0)
    sent = [when for when, _, data in run.sent if data and data[:4] == b'DATA' and when > at]
    assert len(sent) <= 1
    assert all(when - at <= 0.5 for when in sent)
    done = {event.ticket: event.error for event in run.of(CommandDone)}
    assert set(done) == set(tickets)
    assert done[tickets[-1]].startswith('not sent: it waited 0.5 s (command_lifetime): ')
    assert sum(not error for error in done.values()) == len(sent)


def test_controls_that_wait_too_long_are_never_sent_and_say_so():
    run = Run(version=6, lifetime=0.3, wire_format=Wire(pacing=1.0)).up()
    run.session.send(xp.Data((xp.Segment(25, (0.5,) * 8),)), run.now)
    run.run(0.05)
    run.session.set_controls({'elevator': 0.5}, run.now)
    run.run(0.0)
    run.session.set_controls({'elevator': 0.25}, run.now)
    run.run(3.0)
    ends = [event for event in run.of(CommandDone) if event.what == 'command/controls']
    moved = [data for _, data in run.peer.received
             if data[:4] == b'DATA' and struct.unpack_from('<i', data, 6)[0] == 12]
    assert len(ends) + len(moved) == 1
    if not moved:
        assert set(run.session.taken) == set()


def test_many_datarefs_of_one_command_leave_within_its_lifetime():
    run = Run(version=12).up()
    ticket = run.session.send(
        [xp.Dref(float(n), f'n{n}') for n in range(200)], run.now, what='set_datarefs',
        awaited=True)
    run.run(0.5)
    assert drefs(run) == [(f'n{n}', float(n)) for n in range(200)]
    assert run.of(CommandDone) == [CommandDone(ticket, 'set_datarefs')]


# What was taken is returned to the peer it was taken from

def test_gear_alone_centres_nothing():
    run = Run(version=12).up()
    steer(run, 0.3, gear=1.0)
    run.session.stop(run.now)
    run.run(0.3)
    assert {name for name, _ in drefs(run)} == {'sim/cockpit/switches/gear_handle_status'}


def test_a_run_of_x_plane_that_was_frozen_gets_back_what_was_taken_from_it():
    run = Run(version=12).up()
    steer(run, 0.5)
    run.session.pause(True, run.now)
    run.run(0.2)
    freeze(run, 5.0)
    run.run(2.0)
    assert set(run.session.taken) == {'elevator', 'joystick', 'pause'}
    run.session.stop(run.now)
    run.run(0.3)
    assert run.peer.written[OVERRIDE] == run.peer.written[STICK] == 0.0
    assert run.peer.written[PAUSED] == 0.0


@pytest.mark.parametrize('version', [6, 12])
def test_another_run_of_x_plane_gets_nothing_back(version):
    run = Run(version=version, row_kind='joystick')
    if version == 6:
        run.peer.tick(1)
    run.up()
    steer(run, 0.5)
    restart(run, 3.0)
    # Its new user has it to themselves.
    run.peer.written[OVERRIDE] = run.peer.written[STICK] = 1.0
    run.peer.received.clear()
    run.run(3.0)
    assert run.session.peer_state is PeerState.ANSWERING
    assert set(run.session.taken) == set()
    run.session.stop(run.now)
    run.run(0.5)
    assert not [data for _, data in run.peer.received if data[:4] in (b'DREF', b'CMND', b'DATA')]


@pytest.mark.parametrize('age', [500.0, 0.5])
def test_restart_too_fast_to_be_noticed_as_silence_is_noticed_by_the_time(age):
    run = Run(version=12)
    run.peer.time = age
    run.up()
    steer(run, 0.5)
    run.peer.restart()
    run.run(4.0)
    assert set(run.session.taken) == set()
    assert 45 <= rate(run, 1.0) <= 55


@pytest.mark.parametrize('silence', [freeze, 'unheard'])
def test_an_x_plane_that_runs_for_less_than_the_silence_is_still_the_same(silence):
    run = Run(version=12)
    run.peer.time = 0.0
    run.up()
    steer(run, 1.0)
    if silence is freeze:
        freeze(run, 20.0)
    else:
        run.lose = run.lose_reply = lambda channel, data: True
        run.run(20.0)
        run.lose = run.lose_reply = lambda channel, data: False
    run.run(2.0)
    assert set(run.session.taken) == {'elevator', 'joystick'}


def test_release_while_x_plane_is_away_is_made_up_for_when_the_same_one_returns():
    run = Run(version=12).up()
    steer(run, 0.5)
    run.peer.on = False
    run.run(2.0)
    run.session.release(run.now)
    run.run(1.0)
    assert run.peer.written[OVERRIDE] == 1.0
    run.peer.on = True
    run.run(1.5)
    assert run.peer.written[OVERRIDE] == 0.0
    assert set(run.session.taken) == set()


@pytest.mark.parametrize('times', [1, 3])
def test_pause_of_the_user_is_not_ended(times):
    run = Run(version=12)
    run.peer.written[PAUSED] = 1.0
    run.up()
    for _ in range(times):
        run.session.pause(True, run.now)
        run.run(0.1)
    run.run(1.0)
    assert set(run.session.taken) == set()
    run.session.stop(run.now)
    run.run(0.5)
    assert run.peer.written[PAUSED] == 1.0


def test_pause_that_the_user_ended_is_his_from_then_on():
    run = Run(version=12).up()
    run.session.pause(True, run.now)
    run.run(1.0)
    assert set(run.session.taken) == {'pause'}
    run.peer.written[PAUSED] = 0.0
    run.run(0.5)
    assert set(run.session.taken) == set()
    run.peer.written[PAUSED] = 1.0
    run.run(0.5)
    run.session.stop(run.now)
    run.run(0.5)
    assert run.peer.written[PAUSED] == 1.0


def test_flight_model_that_somebody_else_stopped_stays_stopped():
    run = Run(version=12)
    run.peer.written[PLANEPATH] = 1.0
    run.up()
    run.session.send(xp.Vehx(0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0), run.now)
    run.run(0.5)
    run.session.stop(run.now)
    run.run(0.5)
    assert run.peer.written[PLANEPATH] == 1.0


def test_override_is_not_set_for_a_new_run_before_somebody_commands_it():
    run = Run(version=11).up()
    steer(run, 0.5)
    restart(run, 3.0)
    run.run(2.0)
    assert overrides(run) == [1.0]
    steer(run, 0.5)
    assert overrides(run) == [1.0, 1.0]
    assert set(run.session.taken) == {'elevator', 'joystick'}


def test_release_that_waits_is_off_once_controls_are_commanded_again():
    run = Run(version=12).up()
    run.session.set_controls({'elevator': 0.5}, run.now)
    run.run(0.1)
    run.peer.on = False
    run.run(3.0)
    run.session.release(run.now)
    run.peer.on = True
    # The evidence that it is the same run arrives a little later.
    run.lose_reply = lambda channel, data: channel == 'reports'
    while run.session.peer_state is not PeerState.ANSWERING:
        run.run(0.001)
    run.session.set_controls({'elevator': 0.25}, run.now)
    run.lose_reply = lambda channel, data: False
    run.run(2.0)
    assert drefs(run)[-1] == (STICK, 0.25)
    assert 'elevator' in run.session.taken
