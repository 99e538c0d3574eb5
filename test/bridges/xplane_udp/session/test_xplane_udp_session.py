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

"""The session with X-Plane's native UDP, against a scripted X-Plane in simulated time."""

from collections import Counter
import itertools
import math
import struct

import pytest
from scripted_xplane import (
    drefs,
    ELE,
    LAT,
    latitude,
    LON,
    NAMES,
    OVERRIDE,
    overrides,
    PAUSED,
    PEER,
    PLANEPATH,
    receive_beacon,
    REPORTED,
    Run,
    SOURCES,
    START,
    steer,
    XPlane,
)

from xplane_bridge.bridges.conversions.xplane.traffic import (
    flight_id_datarefs,
    MOST_TARGETS,
    target_datarefs,
)
from xplane_bridge.bridges.sessions.base import CommandDone, PeerState, ReadDone
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.xplane_udp import protocol as xp
from xplane_bridge.bridges.xplane_udp.session import (
    DataArrived,
    DATAREFS,
    FLIGHT_IDS,
    RowTelemetry,
    Sources,
    Telemetry,
    TRAFFIC,
    VersionFound,
    WatchedDatarefs,
    Wire,
    XplaneUdpSession,
)

# Telemetry by datarefs


@pytest.mark.parametrize('version', [10, 11, 12])
def test_pose_and_datarefs_of_one_frame_become_telemetry(version):
    run = Run(version=version).start().run(2.0)
    telemetry = run.of(Telemetry)
    assert len(telemetry) > 80
    for event in telemetry:
        values = event.values
        assert event.pose.lat == values[LAT] == latitude(values['frame'])
        assert (values[LON], values[ELE], values['g']) == (8.0, 500.0, 1.0)


def test_controls_do_not_wait_once_a_frame_was_seen():
    """A simulator in lockstep, which draws a frame as soon as it is commanded, waited for 2 ms."""
    run = Run(version=12).start().run(2.0)
    session, now = run.session, run.now

    def sent(elevator):
        session.set_controls({'elevator': elevator}, now)
        return [data for _, data in session.poll(now) if data[:4] == b'DREF']

    assert sent(0.1)
    assert not sent(0.2), 'X-Plane reads it in the same frame'
    session.receive('telemetry', xp.encode(xp.RposReply(*[0.0] * 13)), PEER, now)
    assert sent(0.3)


def test_requests_leave_at_the_pace():
    run = Run(version=12).start().run(1.0)
    asked = run.peer.times
    assert len(asked) == 1 + len(NAMES) + REPORTED
    assert min(b - a for a, b in itertools.pairwise(asked)) >= 0.0099


def test_lost_requests_are_sent_again():
    lost = []

    def lose(channel, data):
        if data[:4] == b'RREF' and b'frame' in data and not lost:
            lost.append(data)
            return True
        return False

    run = Run(version=12, lose=lose).start().run(3.0)
    assert lost
    assert 'frame' in run.of(Telemetry)[-1].values
    assert run.session.statistics.asked_again == 1


def test_unknown_dataref_is_missing_and_asked_for_for_ever():
    run = Run(version=12)
    known = run.peer.values.pop('g')
    run.start().run(60.0)
    assert run.of(Telemetry)[-1].values.keys() == {*NAMES} - {'g'}
    asked = [at for at, _, data in run.sent if data and data[13:15] == b'g\0']
    pauses = [b - a for a, b in itertools.pairwise(asked)]
    assert 6 <= len(asked) <= 12
    assert pauses == sorted(pauses)
    assert pauses[-1] > 9.0
    assert 58.0 < run.now - run.session.missing(run.now)['g'] < 61.0
    # The plugin that provides it is loaded.
    run.peer.values['g'] = known
    run.run(11.0)
    assert run.of(Telemetry)[-1].values['g'] == 1.0
    assert run.session.missing(run.now) == {}


def test_datarefs_that_come_in_different_frames_are_asked_for_every_frame():
    run = Run(XPlane(12, aligned=False), version=12, rate=20.0).start().run(6.0)
    assert run.session.source == 'datarefs, every frame'
    late = run.of(Telemetry)
    assert late
    for event in late:
        assert event.pose.lat == event.values[LAT] == latitude(event.values['frame'])
    # Still at the requested rate.
    assert 15 <= len(late) / 4.0 <= 25


@pytest.mark.parametrize('most', [1, 3])
def test_peer_that_sends_few_datarefs_a_datagram_is_understood_at_the_rate_asked_for(most):
    peer = XPlane(12)
    peer.most = most
    run = Run(peer, version=12, rate=20.0).start().run(6.0)
    late = run.of(Telemetry)
    assert 60 <= len(late) <= 120
    for event in late:
        assert event.pose.lat == event.values[LAT] == latitude(event.values['frame'])
    assert run.session.source == 'datarefs'
    assert {entry[1] for (channel, _), entry in peer.rref.items()
            if channel == 'telemetry'} == {20}
    assert peer.rpos['telemetry'][0] == 20


def test_restarted_x_plane_is_subscribed_anew():
    run = Run(version=12).start().run(1.0)
    run.peer.on = False
    run.run(3.0)
    assert run.session.peer_state is PeerState.AWAY
    silent = len(run.events)
    run.peer.restart()
    run.peer.on = True
    run.run(2.5)
    assert run.session.peer_state is PeerState.ANSWERING
    back = [event for event in run.events[silent:] if isinstance(event, Telemetry)]
    assert len(back) > 40
    assert back[-1].values.keys() == {*NAMES}


def test_silent_x_plane_is_asked_little():
    run = Run(version=12)
    run.peer.on = False
    run.start().run(1.5)
    before = len(run.sent)
    run.run(5.0)
    assert len(run.sent) - before <= 15


def test_silent_x_plane_is_asked_at_once_and_then_once_a_second():
    run = Run(version=12).up().run(2.0)
    run.peer.on = False
    while run.session.peer_state is PeerState.ANSWERING:
        run.run(0.001)
    away, asked = run.now, -1.0
    run.run(4.5)
    questions = []
    for at, _, _ in run.sent:
        # The datagrams of one request leave at the pace.
        if at >= away and at > asked + 0.5:
            questions.append(at - away)
            asked = at
    assert questions == pytest.approx([0.0, 1.0, 2.0, 3.0, 4.0], abs=0.01)


def test_everything_is_cancelled_and_given_back_on_stop():
    run = Run(version=12).start().run(1.0)
    run.session.watch(['other'], 10.0, run.now)
    run.session.set_controls({'elevator': 0.5}, run.now)
    run.session.pause(True, run.now)
    run.run(0.5)
    assert set(run.session.taken) == {'joystick', 'elevator', 'pause'}
    run.session.stop(run.now)
    run.run(4.0)
    assert run.peer.rref == {}
    assert run.peer.rpos == {'telemetry': [0, pytest.approx(run.now, abs=4.1)]}
    tail = [data for _, data in run.peer.received[-40:]]
    drefs = [(struct.unpack_from('<f', data, 5)[0], data[9:].split(b'\0')[0].decode())
             for data in tail if data[:4] == b'DREF']
    # The other two axes were never moved: they are the user's.
    assert drefs[-2:] == [(0.0, 'sim/joystick/yoke_pitch_ratio'), (0.0, OVERRIDE)]
    assert b'CMND\0sim/operation/pause_off' in tail
    assert not run.session.leaving
    assert run.session.left == Left()
    assert set(run.session.taken) == set()


def test_many_requests_are_ended_within_the_time_of_leaving():
    run = Run(version=12, wire_format=Wire(pacing=0.1))
    run.session.watch([f'n{n}' for n in range(30)], 10.0, run.now)
    run.start().run(8.0)
    assert len(run.peer.rref) > 30
    run.session.stop(run.now)
    run.run(2.5)
    assert run.peer.rref == {}
    assert not run.session.leaving


# Rows

@pytest.mark.parametrize('version', [6, 7, 8, 9])
def test_rows_are_selected_and_come(version):
    run = Run(version=version).start().run(3.5)
    events = run.of(RowTelemetry)
    assert len(events) > 25
    assert tuple(s.index for s in events[-1].segments) == SOURCES.rows[version]
    assert len({value for s in events[-1].segments for value in s.values}) == 1
    assert run.of(DataArrived)


def test_rows_by_choice_in_a_late_version():
    run = Run(version=12, by_rows=True).start().run(2.0)
    assert run.of(RowTelemetry)
    assert not run.of(Telemetry)
    # Address first, then selection: index 64, our address and port, use it.
    received = [data for channel, data in run.peer.received if channel == 'data']
    assert received[0] == received[1] == bytes.fromhex('49534534' '00' '40000000') + (
        b'10.0.0.1'.ljust(16, b'\0') + b'49003'.ljust(8, b'\0') + b'\1\0\0\0')
    assert received[2] == b'DSEL\0' + struct.pack('<2i', 17, 20)


def test_x_plane_9_is_told_by_iset_and_6_not_at_all():
    run = Run(version=9)
    run.peer.tick(0)
    assert run.start().run(1.2).tags() == [b'ISET', b'ISET', b'DSEL']
    run = Run(version=6)
    run.peer.tick(0)
    run.start().run(1.2)
    assert run.sent[0][2] == b'DSEL\0' + b'0' + struct.pack('<2i', 17, 18) + b'0'
    assert set(run.tags()) == {b'DSEL'}


@pytest.mark.parametrize(('wire', 'expected'), [
    (Wire(byte_order='big'), b'DSEL\0' + b'1' + struct.pack('>i', 17) + b'1'),
    (Wire(trailer=False), b'DSEL\0' + b'0' + struct.pack('<i', 17)),
])
def test_layout_of_6_can_be_chosen(wire, expected):
    run = Run(version=6, wire_format=wire, lose=lambda channel, data: True).start().run(1.2)
    assert run.sent[0][2] == expected


def test_byte_order_is_learnt_from_what_comes():
    run = Run(version=6).start()
    run.session.receive(
        'data', b'DATA\0' + b'1' + struct.pack('>i8f', 33, *[1.0] * 8) + b'1', None, run.now)
    run.session.set_controls({'throttle': 0.5}, run.now)
    run.run(0.1)
    data = next(data for _, _, data in run.sent if data[:4] == b'DATA')
    assert data == b'DATA\0' + b'1' + struct.pack('>i8f', 23, *[0.5] * 8) + b'1'


def test_one_row_makes_a_silent_x_plane_show_what_its_user_ticked():
    run = Run(version=6).start().run(3.0)
    assert [data for _, _, data in run.sent] == [
        b'DSEL\0' + b'0' + struct.pack('<i', row) + b'0' for row in (17, 18)]
    run.session.stop(run.now)
    run.run(0.1)
    assert run.peer.rows == set()


def test_rows_are_selected_until_they_come():
    lost = []

    def lose(channel, data):
        lost.append(data[:4])
        return data[:4] == b'DSEL' and lost.count(b'DSEL') < 4

    run = Run(version=6, lose=lose).start().run(8.0)
    assert lost.count(b'DSEL') >= 4
    assert run.of(RowTelemetry)


def test_rows_are_selected_anew_after_a_restart():
    run = Run(version=6).start().run(1.0)
    run.peer.on = False
    run.run(2.0)
    run.peer.restart()
    run.peer.on = True
    before = len(run.events)
    run.run(2.5)
    assert any(isinstance(event, RowTelemetry) for event in run.events[before:])


def test_chosen_rows_come_beside_the_needed_ones_and_go():
    run = Run(version=6).start().run(1.5)
    run.session.choose_rows([33, 18], run.now)
    run.run(1.5)
    assert run.peer.rows == {17, 18, 33}
    assert [s.index for s in run.of(DataArrived)[-1].segments] == [17, 18, 33]
    run.session.choose_rows([], run.now)
    run.run(0.2)
    assert run.peer.rows == {17, 18}
    run.session.stop(run.now)
    run.run(0.2)
    assert run.peer.rows == set()


def test_chosen_rows_come_beside_datarefs():
    run = Run(version=12)
    run.session.choose_rows([37], run.now)
    run.start().run(2.0)
    assert run.of(Telemetry)
    assert [s.index for s in run.of(DataArrived)[-1].segments] == [37]


def test_rows_of_two_frames_are_not_mixed():
    run = Run(version=12, by_rows=True).start()

    def data(*rows):
        return b'DATA*' + b''.join(
            struct.pack('<i8f', row, *[value] * 8) for row, value in rows)
    receive = run.session.receive
    assert not [e for e in receive('data', data((17, 1.0)), None, run.now)
                if isinstance(e, RowTelemetry)]
    assert not [e for e in receive('data', data((17, 2.0)), None, run.now)
                if isinstance(e, RowTelemetry)]
    event = receive('data', data((20, 2.0)), None, run.now)[-1]
    assert [s.values[0] for s in event.segments] == [2.0, 2.0]


# Which version

@pytest.mark.parametrize('version', [10, 11, 12])
def test_version_is_found_by_asking(version):
    run = Run(XPlane(version)).start().run(4.0)
    assert [event.version for event in run.of(VersionFound)] == [version]
    assert len(run.of(Telemetry)) > 50
    # The requests are cancelled, and their socket closed.
    assert not [key for key in run.peer.rref if key[0] == 'version']
    assert ('version', None) in [(channel, data) for _, channel, data in run.sent]


@pytest.mark.parametrize(('version', 'expected'), [(6, 6), (7, 7), (9, 9)])
def test_old_version_is_known_by_the_rows_it_sends(version, expected):
    run = Run(XPlane(version))
    run.peer.tick(0)
    run.peer.target = True
    run.start().run(5.0)
    assert [event.version for event in run.of(VersionFound)] == [expected]
    assert run.of(RowTelemetry)


def test_beacon_does_not_tell_the_version_but_the_peer_itself():
    run = Run(version=None).start()
    beacon = xp.Becn(1, 2, 1, 115501, 1, 49000, 'simpc')
    receive_beacon(run.session, beacon, (PEER[0], 49001), run.now)
    assert run.session.beacon == beacon
    run.run(2.0)
    assert run.session.version == 12


def test_chosen_version_is_kept_whatever_the_beacon_says():
    run = Run(version=12).start()
    receive_beacon(
        run.session, xp.Becn(1, 1, 1, 115501, 1, 49000, 'simpc'), (PEER[0], 49001), run.now)
    assert run.session.version == 12


# Discovery

def beacon(port=49000, name='simpc', role=1, host=1, version=121001):
    return xp.Becn(1, 1, host, version, role, port, name)


def test_beacon_bytes_are_understood():
    run = Run(version=12, peer=XPlane())
    data = bytes.fromhex('4245434e0001010100000031ba010001000000') + struct.pack(
        '<H', 49000) + b'simpc\0'
    assert not run.session.receive('beacon', data, (PEER[0], 49001), run.now)
    assert run.session.beacon == xp.Becn(1, 1, 1, 113201, 1, 49000, 'simpc')


def test_the_name_in_a_beacon_is_printable():
    """Diagnostics and people see it."""
    run = Run(version=12, peer=XPlane())
    data = bytes.fromhex('4245434e0001010100000031ba010001000000') + struct.pack(
        '<H', 49000) + b'a\n\x1b[2J' + b'x' * 400 + b'\0'
    run.session.receive('beacon', data, (PEER[0], 49001), run.now)
    name = run.session.beacon.name
    assert name.startswith(r'a\n\x1b[2Jx')
    assert name.isprintable()
    assert len(name) < 230


class Discovering(Run):

    def __init__(self, **session):
        super().__init__(**session)
        self.session = XplaneUdpSession(SOURCES, rate=50.0, **session)

    def receive(self, address, **of):
        receive_beacon(self.session, beacon(**of), (address, 49001), self.now)


def test_nothing_is_sent_before_a_beacon():
    run = Discovering().start().run(2.0)
    assert run.session.peer_state is PeerState.SEARCHING
    assert run.sent == []
    with pytest.raises(ValueError, match='no X-Plane was discovered yet'):
        run.session.set_controls({'elevator': 0.0}, run.now)


def test_first_master_is_taken_and_others_are_not():
    run = Discovering().start()
    run.receive('10.0.0.9', role=2)
    run.receive('10.0.0.8', host=2)
    assert run.session.peer is None
    run.receive('10.0.0.2')
    run.receive('10.0.0.3', name='another')
    assert run.session.peer == ('10.0.0.2', 49000)
    run.run(1.5)
    assert run.of(Telemetry)


def test_x_plane_that_comes_back_elsewhere_is_followed():
    run = Discovering().start()
    run.receive('10.0.0.2')
    run.run(1.0)
    run.receive('10.0.0.7')
    assert run.session.peer == ('10.0.0.2', 49000), 'heard on two networks'
    run.session.set_controls({'elevator': 0.5}, run.now)
    run.run(0.2)
    run.receive('10.0.0.2')
    run.peer.on = False
    for _ in range(3):
        assert run.session.peer == ('10.0.0.2', 49000), 'not confirmed yet'
        run.run(1.0)
        run.receive('10.0.0.7')
    run.transmit()
    # What was taken is returned to the old one, on the old socket, for release_timeout.
    centre = xp.encode(xp.Dref(0.0, 'sim/joystick/yoke_pitch_ratio'))
    let_go = xp.encode(xp.Dref(0.0, OVERRIDE))
    assert [data for _, channel, data in run.sent if channel == 'command'][-2:] == [
        centre, let_go]
    assert run.session.peer_state is PeerState.LEAVING
    run.run(2.9)
    assert run.session.peer == ('10.0.0.2', 49000)
    run.run(0.6)
    commands = [data for _, channel, data in run.sent if channel == 'command']
    assert commands.count(centre) == commands.count(let_go) >= 5
    assert commands[-1] is None
    assert run.session.peer == ('10.0.0.7', 49000)
    assert [done.error[:36] for done in run.of(CommandDone)] == [
        'may stay as it was left at the old a']
    run.peer.on = True
    closed = {channel for _, channel, data in run.sent if data is None}
    assert {'telemetry', 'command', 'data'} <= closed
    before = len(run.of(Telemetry))
    run.peer.restart()
    run.run(1.5)
    assert len(run.of(Telemetry)) > before


# Watching and reading

def test_watched_datarefs_come_in_order_unknown_ones_as_none():
    run = Run(version=12)
    names = [f'n{n}' for n in range(199, -1, -1)] + ['nothing']
    run.session.watch(names, 50.0, run.now)
    run.start().run(9.0)
    event = run.of(WatchedDatarefs)[-1]
    assert event.names == tuple(names)
    assert event.values == (*map(float, range(199, -1, -1)), None)


def test_watch_can_be_changed_and_ended():
    run = Run(version=12).start().run(0.5)
    run.session.watch(['other'], 10.0, run.now)
    run.run(1.0)
    run.session.watch(['frame', 'g'], 10.0, run.now)
    run.run(1.0)
    assert run.of(WatchedDatarefs)[-1].names == ('frame', 'g')
    run.session.watch([], 10.0, run.now)
    before = len(run.of(WatchedDatarefs))
    run.run(1.0)
    assert len(run.of(WatchedDatarefs)) == before
    assert not [key for key in run.peer.rref if key[0].startswith('watch')]


def test_watches_for_different_purposes_keep_out_of_each_others_way():
    run = Run(version=12).start().run(0.5)
    run.session.watch(['other'], 10.0, run.now)
    run.session.watch(['n1', 'n2'], 5.0, run.now, TRAFFIC)
    run.session.watch(['n1', 'n3'], 1.0, run.now, FLIGHT_IDS)
    run.run(3.0)

    def last():
        return {event.watch: event.values for event in run.of(WatchedDatarefs)}

    assert last() == {DATAREFS: (7.0,), TRAFFIC: (1.0, 2.0), FLIGHT_IDS: (1.0, 3.0)}
    counts = Counter(event.watch for event in run.of(WatchedDatarefs))
    assert counts == {name: run.session.statistics.updates[name] for name in last()}
    assert counts[DATAREFS] > 1.5 * counts[TRAFFIC] > 2.0 * counts[FLIGHT_IDS] > 0
    assert len({key[0] for key in run.peer.rref if key[0].startswith('watch')}) == 3
    assert len({index for key, index in run.peer.rref if key.startswith('watch')}) == 5
    # The change of one leaves the others.
    run.session.watch([], 5.0, run.now, TRAFFIC)
    run.session.watch(['frame'], 10.0, run.now)
    before = len(run.events)
    run.run(2.0)
    late = {event.watch: event.names for event in run.events[before:]
            if isinstance(event, WatchedDatarefs)}
    assert late == {DATAREFS: ('frame',), FLIGHT_IDS: ('n1', 'n3')}
    run.session.stop(run.now)
    run.run(1.5)
    assert run.peer.rref == {}
    # They are wanted again after a restart.
    before = len(run.events)
    run.session.start(run.now)
    run.run(2.0)
    assert {event.watch for event in run.events[before:]
            if isinstance(event, WatchedDatarefs)} == {DATAREFS, FLIGHT_IDS}


def test_63_targets_are_watched_beside_telemetry_within_seconds():
    """947 requests at the pace take 9.5 s; telemetry goes on at its rate meanwhile."""
    run = Run(version=12).start().run(1.0)
    names = target_datarefs(MOST_TARGETS), flight_id_datarefs(MOST_TARGETS)
    for name in (name for group in names for name in group):
        run.peer.values.setdefault(name, lambda: 0.0)
    for group, rate, watch in zip(names, (5.0, 1.0), (TRAFFIC, FLIGHT_IDS), strict=True):
        run.session.watch(group, rate, run.now, watch)
    before = len(run.of(Telemetry))
    run.run(11.0)
    assert len(run.of(Telemetry)) - before > 11 * 45
    assert run.session.missing(run.now) == {}
    before = len(run.events)
    run.run(2.0)
    late = Counter(event.watch for event in run.events[before:]
                   if isinstance(event, WatchedDatarefs))
    assert 9 <= late[TRAFFIC] <= 11
    assert 1 <= late[FLIGHT_IDS] <= 3


def test_read_gives_values_and_none_for_silence():
    run = Run(version=12).start().run(0.5)
    ticket = run.session.read_datarefs(['other', 'nothing', 'array[2]'], run.now)
    run.run(3.0)
    assert run.of(ReadDone) == [ReadDone(ticket, (7.0, None, 2.0))]
    assert not [key for key in run.peer.rref if key[0].startswith('read')]


def test_read_of_known_datarefs_ends_at_once():
    run = Run(version=12).start().run(0.5)
    run.session.read_datarefs(['other'], run.now)
    run.run(0.2)
    assert [event.values for event in run.of(ReadDone)] == [(7.0,)]


def test_read_takes_no_value_that_it_did_not_ask_for():
    run = Run(version=12).start().run(0.5)
    run.session.read_datarefs(['nothing'], run.now)
    run.run(0.2)
    channel = next(channel for _, channel, _ in run.sent if channel.startswith('read'))
    run.session.receive(channel, xp.encode(xp.RrefReply(((-1, 1.0),)), 12), None, run.now)
    run.run(3.0)
    assert 'does not know' in run.of(ReadDone)[0].error


def test_read_ends_when_x_plane_is_gone():
    run = Run(version=12).start().run(0.5)
    run.peer.on = False
    run.session.read_datarefs(['other'], run.now)
    run.run(3.0)
    assert run.of(ReadDone)[0].error


@pytest.mark.slow
def test_one_name_beside_2000_comes_within_a_few_frames():
    run = Run(version=12, wire_format=Wire(pacing=0.002)).start().run(2.0)
    many = run.session.read_datarefs([f'n{n % 200}' for n in range(2000)], run.now)
    run.run(0.3)
    tickets = [run.session.read_datarefs([f'n{n}'], run.now) for n in range(3)]
    run.run(0.15)
    assert {event.ticket: event.values for event in run.of(ReadDone)} == {
        ticket: (float(n),) for n, ticket in enumerate(tickets)}
    before = len(run.of(Telemetry))
    run.run(8.0)
    done = run.of(ReadDone)[-1]
    assert (done.ticket, done.values) == (many, tuple(float(n % 200) for n in range(2000)))
    assert len(run.of(Telemetry)) - before == pytest.approx(400, abs=15)
    # All of them are cancelled in the end, and nothing more is received of them.
    run.run(5.0)
    assert not [key for key in run.peer.rref if key[0].startswith('read')]
    assert run.session.statistics.unexpected == 0


def test_a_read_that_names_what_does_not_exist_keeps_no_other_waiting():
    run = Run(version=12).start().run(0.5)
    run.session.read_datarefs(['nothing'], run.now)
    ticket = run.session.read_datarefs(['other'], run.now)
    run.run(0.15)
    assert run.of(ReadDone) == [ReadDone(ticket, (7.0,))]


def test_what_telemetry_asks_for_again_goes_before_what_is_watched():
    run = Run(version=12)
    run.session.watch([f'n{n % 200}' for n in range(1000)], 10.0, run.now)
    run.start().run(1.5)
    assert len(run.of(Telemetry)) > 20
    # The plugin of a dataref is unloaded and reloaded; it is requested again within the second.
    run.peer.rref = {key: entry for key, entry in run.peer.rref.items() if key[0] != 'telemetry'}
    run.run(1.5)
    assert len([key for key in run.peer.rref if key[0] == 'telemetry']) == len(NAMES)


def test_what_is_watched_has_its_turn_beside_an_x_plane_that_forgets_telemetry():
    run = Run(version=12, wire_format=Wire(pacing=0.2))
    run.session.watch(['other'], 10.0, run.now)
    run.start().run(0.3)
    requests = run.session._requests
    for _ in range(40):
        requests._queue.push('telemetry', requests.aircraft.datarefs.cancel(range(1000)))
    run.run(5.0)
    assert [key for key in run.peer.rref if key[0].startswith('watch')]


@pytest.mark.slow
def test_a_read_ends_after_a_minute_whatever_has_come():
    run = Run(version=12, wire_format=Wire(pacing=0.5)).start().run(5.0)
    run.session.read_datarefs(['other'] * 2000, run.now)
    run.run(59.9)
    assert not run.of(ReadDone)
    run.run(0.2)
    assert [event.error[:43] for event in run.of(ReadDone)] == [
        'not everything came within 60 s; read fewer']


def test_more_names_than_can_be_read_or_watched_are_refused():
    run = Run(version=12).up()
    with pytest.raises(ValueError, match='2001 datarefs, at most 2000 can be read at once'):
        run.session.read_datarefs(['other'] * 2001, run.now)
    for _ in range(2):
        run.session.read_datarefs(['other'] * 2000, run.now)
    with pytest.raises(ValueError, match='4000 datarefs are already waiting to be read'):
        run.session.read_datarefs(['other'], run.now)
    with pytest.raises(ValueError, match='1001 datarefs, at most 1000 can be watched'):
        run.session.watch(['other'] * 1001, 10.0, run.now)


def test_values_that_nobody_asked_for_are_not_kept():
    run = Run(version=12)
    run.session.watch(['other'], 10.0, run.now)
    run.start().run(2.5)
    run.session.read_datarefs(['other', 'nothing'], run.now)
    run.run(0.05)
    for channel in [channel for channel, _ in run.peer.rref]:
        for start in range(10**6, 10**6 + 10_000, 100):
            run.session.receive(channel, b'RREF,' + b''.join(
                struct.pack('<if', start + n, 1.0) for n in range(100)), None, run.now)
    feeds = run.session._requests
    watched = feeds._watches[DATAREFS].subscription
    kept = [feeds.aircraft.datarefs._group, watched._group, feeds._reports._group,
            watched._leases._heard,
            *(read.values for read in feeds._reads._reads.values())]
    assert max(map(len, kept)) < 20


def test_read_needs_a_name_and_a_version_with_datarefs():
    with pytest.raises(ValueError, match='at least one dataref'):
        Run(version=12).up().session.read_datarefs([], START)
    with pytest.raises(ValueError, match='has only data rows'):
        Run(version=9).start().session.read_datarefs(['other'], START)


# Commands

def test_controls_are_datarefs_after_the_override():
    run = Run(version=11).up()
    run.session.set_controls(
        {'elevator': 0.25, 'aileron': -0.5, 'rudder': 0.125, 'throttle': 0.75, 'flaps': 0.5,
         'gear': 1.0, 'speedbrake': -0.5}, run.now)
    run.run(0.1)
    assert drefs(run) == [
        ('sim/operation/override/override_joystick', 1.0),
        ('sim/joystick/yoke_pitch_ratio', 0.25),
        ('sim/joystick/yoke_roll_ratio', -0.5),
        ('sim/joystick/yoke_heading_ratio', 0.125),
        ('sim/cockpit2/engine/actuators/throttle_ratio_all', 0.75),
        ('sim/flightmodel/controls/flaprqst', 0.5),
        ('sim/cockpit/switches/gear_handle_status', 1.0),
        ('sim/flightmodel/controls/sbrkrqst', -0.5)]
    assert all(len(data) == 509 for _, data in run.peer.received if data[:4] == b'DREF')


def test_the_surfaces_that_were_moved_are_centred_once():
    run = Run(version=11, override_joystick=False).up()
    run.session.set_controls({'elevator': 0.5, 'throttle': 0.75}, run.now)
    run.session.set_controls({'rudder': -0.5}, run.now)
    run.run(0.1)
    before = len(drefs(run))
    run.session.centre(run.now)
    run.run(0.1)
    assert sorted(drefs(run)[before:]) == [
        ('sim/joystick/yoke_heading_ratio', 0.0), ('sim/joystick/yoke_pitch_ratio', 0.0)]
    # A command of flaps alone after that has moved no surface.
    run.session.set_controls({'flaps': 0.5}, run.now)
    run.run(0.1)
    before = len(drefs(run))
    run.session.centre(run.now)
    run.run(0.1)
    assert len(drefs(run)) == before


def test_no_override_when_not_wanted_or_not_needed():
    run = Run(version=11, override_joystick=False).up()
    run.session.set_controls({'elevator': 0.25}, run.now)
    assert run.run(0.1)
    assert [name for name, _ in drefs(run)] == ['sim/joystick/yoke_pitch_ratio']
    run = Run(version=11).up()
    run.session.set_controls({'throttle': 0.25}, run.now)
    assert run.run(0.1)
    assert len(drefs(run)) == 1


def test_override_is_set_once_where_x_plane_reports_it():
    run = Run(version=11).up()
    steer(run, 3.0)
    assert overrides(run) == [1.0]


def test_override_is_repeated_where_x_plane_does_not_report_it():
    run = Run(version=11)
    del run.peer.values[OVERRIDE]
    steer(run.up(), 2.5)
    assert overrides(run) == [1.0] * 5


def test_override_that_somebody_ended_is_set_again_by_the_next_command():
    run = Run(version=11).up()
    steer(run, 1.0)
    run.peer.written[OVERRIDE] = 0.0
    run.run(1.0)
    assert set(run.session.taken) == {'elevator'}
    assert overrides(run) == [1.0]
    steer(run, 0.5)
    assert overrides(run) == [1.0] * 2
    assert 'joystick' in run.session.taken


def test_override_of_somebody_else_is_left_as_it_is():
    run = Run(version=11)
    run.peer.written[OVERRIDE] = 1.0
    steer(run.up(), 0.5)
    run.session.stop(run.now)
    run.run(0.5)
    assert overrides(run) == []
    assert run.peer.written[OVERRIDE] == 1.0


@pytest.mark.parametrize(('version', 'kind', 'axis_row', 'throttle_row'), [
    (6, 'trim', 12, 23), (6, 'joystick', 8, 23), (7, 'joystick', 7, 23),
    (9, 'trim', 13, 25), (9, 'joystick', 8, 25)])
def test_controls_are_rows_before_10(version, kind, axis_row, throttle_row):
    run = Run(version=version, row_kind=kind).up()
    run.session.set_controls({'elevator': 0.25, 'rudder': -1.0, 'throttle': 0.5}, run.now)
    run.run(0.1)
    data = next(data for _, data in run.peer.received if data[:4] == b'DATA')
    leave = -999.0
    segments = (struct.pack('<i8f', axis_row, 0.25, leave, -1.0, *[leave] * 5)
                + struct.pack('<i8f', throttle_row, *[0.5] * 8))
    assert data == {6: b'DATA\0' + b'0' + segments + b'0'}.get(version, b'DATA\0' + segments)


def test_gear_of_7_travels_as_an_integer():
    run = Run(version=7).up()
    run.session.set_controls({'gear': 1.0}, run.now)
    run.run(0.1)
    data = next(data for _, data in run.peer.received if data[:4] == b'DATA')
    assert data == b'DATA\0' + struct.pack('<ii7f', 12, 1, *[-999.0] * 7)


def test_trims_of_the_user_come_back_on_release():
    run = Run(version=9, row_kind='trim')
    rows = b''.join(struct.pack('<i8f', row, *values) for row, values in (
        (13, (0.25, 0.125, -0.5, 0, 0, 0, 0, 0)),))
    run.session._requests._sources = Sources({}, {9: (13,)})
    run.up()
    run.session.receive('data', b'DATA@' + rows, None, run.now)
    run.session.set_controls({'elevator': 0.75}, run.now)
    run.run(0.1)
    run.session.receive('data', b'DATA@' + rows.replace(
        struct.pack('<f', 0.25), struct.pack('<f', 0.75)), None, run.now)
    run.session.release(run.now)
    run.transmit()
    # The other two were not moved.
    assert run.sent[-1][2] == b'DATA\0' + struct.pack('<i8f', 13, 0.25, *[-999.0] * 7)


def test_trim_that_the_user_has_moved_since_is_left_as_it_is():
    run = Run(version=9, row_kind='trim').up()

    def report(trim):
        run.run(1.0)
        run.session.receive('data', b'DATA@' + struct.pack(
            '<i8f', 13, trim, *[0.0] * 7), None, run.now)

    report(0.25)
    run.session.set_controls({'elevator': 0.75}, run.now)
    run.run(0.1)
    # The last report from before is not the user's doing.
    run.session.receive(
        'data', b'DATA@' + struct.pack('<i8f', 13, 0.25, *[0.0] * 7), None, run.now)
    for trim in (0.75, 0.75, -0.5, -0.5):
        assert run.session.taken
        report(trim)
    assert not run.session.taken
    sent = len(run.sent)
    run.session.release(run.now)
    run.transmit()
    assert not [data for *_, data in run.sent[sent:] if data[:4] == b'DATA']


def test_joystick_is_centred_on_release():
    run = Run(version=6, row_kind='joystick').up()
    run.session.set_controls({'elevator': 0.75}, run.now)
    run.run(0.1)
    run.session.release(run.now)
    run.transmit()
    assert run.sent[-1][2] == b'DATA\0' + b'0' + struct.pack(
        '<i8f', 8, 0.0, *[-999.0] * 7) + b'0'


def test_newest_controls_win_when_they_come_too_fast():
    run = Run(version=12).up()
    run.session.set_controls({'throttle': 0.1}, run.now)
    for value in (0.2, 0.3, 0.4):
        run.session.set_controls({'throttle': value, 'flaps': 0.5}, run.now)
    run.session.set_controls({'throttle': 0.5}, run.now)
    run.run(0.2)
    assert drefs(run)[-1] == ('sim/flightmodel/controls/flaprqst', 0.5)
    assert ('sim/cockpit2/engine/actuators/throttle_ratio_all', 0.5) in drefs(run)
    assert run.session.statistics.held_back > 0


def test_controls_leave_no_faster_than_any_frame():
    run = Run(version=12).up()
    run.session.set_controls({'throttle': 0.1}, run.now)
    assert len(run.session.poll(run.now)) == 1
    run.session.set_controls({'throttle': 0.2}, run.now)
    assert run.session.poll(run.now) == []
    assert run.session.next_deadline() <= run.now + 0.002
    assert len(run.session.poll(run.now + 0.002)) == 1


def test_controls_that_replace_waiting_ones_are_counted():
    run = Run(version=6).up()
    run.session.set_controls({'elevator': 0.1}, run.now)
    assert run.session.statistics.held_back == 0
    for value in (0.2, 0.3):
        run.session.set_controls({'elevator': value}, run.now)
    assert run.session.statistics.held_back == 2
    run.run(0.3)
    run.session.set_controls({'elevator': 0.4}, run.now)
    assert run.session.statistics.held_back == 2


def test_controls_do_not_wait_behind_other_commands():
    run = Run(version=12).up()
    for _ in range(50):
        run.session.send(xp.Cmnd('sim/none/none'), run.now)
    run.session.set_controls({'throttle': 0.5}, run.now)
    run.run(0.03)
    assert drefs(run)


def test_rows_and_values_have_a_bound():
    run = Run(version=12).up()
    rows = tuple(xp.Segment(row, (0.0,) * 8) for row in range(202))
    with pytest.raises(ValueError, match='DATA: 202 rows, at most 201 go into a datagram'):
        run.session.send(xp.Data(rows), run.now)
    with pytest.raises(ValueError, match='202 rows, at most 201 can be selected'):
        run.session.choose_rows(range(202), run.now)
    with pytest.raises(ValueError, match='row 201 is not in'):
        run.session.choose_rows([201], run.now)
    with pytest.raises(ValueError, match='DREF: 513 values, at most 512 can be set at once'):
        run.session.send([xp.Dref(1.0, 'a')] * 513, run.now)
    run.session.send([xp.Dref(1.0, 'a')] * 512, run.now)
    run.run(0.5)
    assert len(drefs(run)) == 512


def test_watching_others_all_the_time_is_refused_with_a_sentence():
    run = Run(version=12).up()
    with pytest.raises(ValueError, match='datagrams wait to be sent; change it less often'):
        for _ in range(20):
            run.session.watch(['other'] * 1000, 10.0, run.now)
            run.transmit()


def test_too_many_waiting_commands_are_refused():
    run = Run(version=12).up()
    with pytest.raises(ValueError, match='64 commands are already waiting'):
        for _ in range(2000):
            run.session.send(xp.Cmnd('sim/none/none'), run.now)


@pytest.mark.parametrize('message', [
    xp.Cmnd('sim/none/none'), xp.Dref(1.0, 'a'), xp.Vehs(0, 1, 2, 3, 4, 5, 6)])
def test_old_versions_take_rows_only(message):
    with pytest.raises(ValueError, match='has only data rows'):
        Run(version=9).start().session.send(message, START)


def test_stopped_flight_model_is_released():
    run = Run(version=11).up()
    run.session.send(xp.Vehx(0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0), run.now)
    run.run(0.1)
    assert set(run.session.taken) == {'flight model'}
    run.session.release(run.now)
    run.transmit()
    assert drefs(run) == [(PLANEPATH, 0.0)]


def test_commands_need_to_know_the_version():
    run = Run(XPlane(12)).start()
    with pytest.raises(ValueError, match='version of X-Plane at .* is not known yet'):
        run.session.set_controls({'elevator': 0.0}, run.now)


# Malformed datagrams

@pytest.mark.parametrize('data', [
    b'', b'RREF', b'RREF,1234', b'RPOS4' + bytes(63), b'DATA*' + bytes(35), b'WHAT\0', bytes(99)])
def test_malformed_datagrams_are_counted(data):
    run = Run(version=12).start()
    assert not run.session.receive('telemetry', data, None, run.now)
    assert sum(run.session.statistics.malformed.values()) == 1
    assert run.session.statistics.last_error


@pytest.mark.parametrize('options', [{'rate': 0.0}, {'rate': 1001.0}, {'rate': math.nan}])
def test_bad_rate_is_refused(options):
    with pytest.raises(ValueError, match='rate'):
        XplaneUdpSession(SOURCES, peer=PEER, **options)


def test_20_000_labels_are_counted_within_bounds():
    run = Run(version=12).start()
    for number in range(20_000):
        run.session.receive('telemetry', b'%04X\0' % number, None, run.now)
        run.session.receive('telemetry', b'RREF,1', None, run.now)
    malformed = run.session.statistics.malformed
    assert len(malformed) <= 20
    assert malformed.total == 40_000
    assert malformed['RREF'] == 20_000


# Messages and numbers for people and callers

def test_commands_are_named_in_what_becomes_of_them():
    run = Run(version=12).up()
    run.session.send(xp.Cmnd('sim/none/none'), run.now, what='run_command', awaited=True)
    run.session.send(xp.Cmnd('sim/none/none'), run.now, awaited=True)
    run.session.pause(True, run.now)
    run.run(0.3)
    assert {(done.what, done.error) for done in run.of(CommandDone)} == {
        ('run_command', ''), ('CMND', ''), ('pause', '')}
    assert run.peer.written[PAUSED] == 1.0


def test_refusals_begin_with_what_is_refused():
    old, away = Run(version=9).up(), Run(version=12)
    message = xp.Cmnd('sim/none/none')
    for what, refused in (
            ('command/x', lambda: old.session.send(message, old.now, what='command/x')),
            ('pause', lambda: old.session.pause(True, old.now)),
            ('reading datarefs', lambda: old.session.read_datarefs(['g'], old.now)),
            ('command/x', lambda: away.session.send(message, away.now, what='command/x')),
            ('pause', lambda: away.session.pause(True, away.now)),
            ('reading datarefs', lambda: away.session.read_datarefs(['g'], away.now))):
        with pytest.raises(ValueError, match=f'^{what}: '):
            refused()


def test_a_beacon_of_no_version_is_counted_with_a_sentence():
    run = Discovering().start()
    run.receive('10.0.0.2', version=12)
    assert run.session.peer is None
    assert run.session.statistics.malformed['BECN'] == 1
    assert run.session.statistics.last_error == (
        'BECN: version 12, expected a number like 121001')


@pytest.mark.parametrize(('data', 'kind'), [
    (b'RREF,\0', 'RREF'), (b'XYZ1\0', 'XYZ1'), (b'\xff\xfe\0\1', 'no label'), (b'RR', 'no label'),
    (b'A B \0', 'no label')])
def test_malformed_datagrams_are_named_by_their_label(data, kind):
    run = Run(version=12).up()
    assert not run.session.receive('telemetry', data, None, run.now)
    assert list(run.session.statistics.malformed) == [kind]


def test_what_is_missing_is_named_of_telemetry_and_of_what_is_watched():
    run = Run(version=12)
    del run.peer.values['g']
    run.session.watch(['other', 'unknown'], 10.0, run.now)
    run.up().run(3.0)
    assert set(run.session.missing(run.now)) == {'g', 'unknown'}


def test_x_plane_10_is_not_expected_to_say_a_version():
    run = Run(version=10).up().run(5.0)
    assert run.session.missing(run.now) == {}


@pytest.mark.parametrize(('value', 'sent'), [(0.75, 1.0), (0.25, 0.0)])
def test_the_gear_of_rows_is_up_or_down(value, sent):
    run = Run(version=8).up()
    run.session.set_controls({'gear': value}, run.now)
    run.run(0.2)
    row, gear = struct.unpack_from('<if', run.sent[-1][2], 5)
    assert gear == sent


def test_a_silent_x_plane_without_datarefs_is_asked_for_a_row():
    run = Run(version=8).up().run(3.0)
    run.peer.on = False
    run.run(2.0)
    run.sent.clear()
    run.run(2.0)
    assert {channel for _, channel, _ in run.sent} == {'data'}
    assert {data[:4] for _, _, data in run.sent} == {b'DSEL'}


def test_questions_for_the_version_end_with_the_session():
    run = Run(XPlane(10), version=None).start().run(0.3)
    asked = {(channel, entry) for channel, entry in run.peer.rref if channel == 'version'}
    assert asked
    run.session.stop(run.now)
    run.run(0.5)
    assert not [key for key in run.peer.rref if key[0] == 'version']
    assert ('version', None) in [(channel, data) for _, channel, data in run.sent]


def test_x_plane_10_is_known_by_the_dataref_that_does_not_come():
    run = Run(XPlane(10), version=None).start()
    run.run(1.0)
    assert run.session.version is None
    run.run(1.5)
    assert run.session.version == 10
