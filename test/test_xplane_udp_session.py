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

"""The session with X-Plane's own UDP, against a scripted X-Plane in simulated time."""

import itertools
import math
import struct

import pytest

from xplane_bridge.protocols import xplane_udp as xp
from xplane_bridge.sessions.xplane_udp import (
    BeaconHeard,
    DataArrived,
    Needs,
    PeerState,
    ReadDone,
    RowTelemetry,
    Telemetry,
    VersionFound,
    WatchedDatarefs,
    Wire,
    XplaneUdpSession,
)

START = 1000.0
FRAME = 0.016
PEER = ('10.0.0.2', 49000)
NAMES = ('lat', 'lon', 'ele', 'frame', 'g')
NEEDS = Needs(
    dict.fromkeys((10, 11, 12), NAMES),
    {6: (17, 18), 7: (16, 18), 8: (18, 20), 9: (18, 20), 10: (17, 20), 11: (17, 20),
     12: (17, 20)})
INTERNAL = 'sim/version/xplane_internal_version'


def latitude(frame):
    """Return a latitude that tells the frame, also as a float32."""
    return 40.0 + (frame % 2**18) / 2**14


class XPlane:
    """What docs/wire/xplane_udp.md says of X-Plane, every byte packed here by hand."""

    def __init__(self, version=12, aligned=True):
        self.version = version
        self.aligned = aligned
        self.values = {'lat': lambda: latitude(self.frame), 'lon': lambda: 8.0,
                       'ele': lambda: 500.0, 'frame': lambda: float(self.frame),
                       'g': lambda: 1.0, 'sim/time/total_running_time_sec': lambda: 1.0,
                       'other': lambda: 7.0, 'array[2]': lambda: 2.0,
                       **{f'n{n}': lambda n=n: float(n) for n in range(200)}}
        if version >= 11:
            self.values[INTERNAL] = lambda: version * 10000.0 + 1
        self.on = True
        self.most = 183
        self.frame = 0
        self.received = []
        self.times = []
        self.restart()

    def restart(self):
        self.rref = {}
        self.rpos = {}
        self.rows = set()
        self.target = self.version < 9

    def handle(self, channel, data, now):
        if not self.on:
            return
        self.times.append(now)
        self.received.append((channel, data))
        tag, body = data[:4], data[5:]
        if tag == b'RREF' and self.version >= 10:
            assert len(data) == 413
            freq, index = struct.unpack_from('<ii', body)
            name = body[8:].split(b'\0')[0].decode()
            self.rref.pop((channel, index), None)
            if freq and name in self.values:
                self.rref[channel, index] = [name, freq, now]
        elif tag == b'RPOS' and self.version >= 10:
            rate = struct.unpack('<i', body)[0] if self.version == 10 else int(body[:-1])
            self.rpos[channel] = [rate, now]
        elif tag in (b'DSEL', b'USEL'):
            rows = {row for row, in struct.iter_unpack('<i', self._list(data))}
            self.rows = self.rows | rows if tag == b'DSEL' else self.rows - rows
        elif tag in (b'ISE4', b'ISET'):
            self.target = struct.unpack('<i', data[-4:])[0] == 1

    def _list(self, data):
        return data[6:-1] if self.version == 6 else data[5:]

    def due(self, entry, rate, now):
        """Tell whether it is time: all of a rate together, or each on its own."""
        if self.aligned:
            return math.floor(now * rate) != math.floor((now - FRAME) * rate)
        if now - entry[-1] < 1.0 / rate - 1e-9 and rate < 1000:
            return False
        entry[-1] = now
        return True

    def output(self, now):
        self.frame += 1
        if not self.on:
            return
        for channel, entry in self.rpos.items():
            if entry[0] and self.due(entry, entry[0], now):
                yield channel, b'RPOS4' + struct.pack(
                    '<3d10f', 8.0, latitude(self.frame), 500.0, *[0.0] * 10)
        for channel in {channel for channel, _ in self.rref}:
            values = [(index, self.values[entry[0]]())
                      for (owner, index), entry in self.rref.items()
                      if owner == channel and self.due(entry, entry[1], now)]
            for start in range(0, len(values), self.most):
                yield channel, b'RREF,' + b''.join(
                    struct.pack('<if', *value) for value in values[start:start + self.most])
        if self.rows and self.target and self.frame % 2:
            body = b''.join(
                struct.pack('<i8f', row, *[float(self.frame)] * 8) for row in sorted(self.rows))
            if self.version == 6:
                yield 'data', b'DATA\0' + b'0' + body + b'0'
            elif self.version == 7:
                yield 'data', b'DATA\0' + body + b'\0'
            else:
                yield 'data', b'DATA*' + body


class Run:
    """Session and X-Plane, a millisecond at a time; ``lose`` says which requests get lost."""

    def __init__(self, peer=None, lose=lambda channel, data: False, **session):
        self.peer = peer or XPlane(session.get('version') or 12)
        session.setdefault('rate', 50.0)
        session.setdefault('peer', PEER)
        session.setdefault('wire_format', Wire(data_target=lambda _: ('10.0.0.1', 49003)))
        self.session = XplaneUdpSession(NEEDS, **session)
        self.lose = lose
        self.now = START
        self.events = []
        self.sent = []
        self.steps = itertools.count()

    def run(self, seconds):
        for _ in range(round(seconds * 1000)):
            self.now += 0.001
            self.transmit()
            if next(self.steps) % 16 == 0:
                for channel, data in self.peer.output(self.now):
                    self.events += self.session.receive(channel, data, self.now)
            self.events += self.session.expired()
        return self

    def transmit(self):
        for channel, data in self.session.poll(self.now):
            self.sent.append((self.now, channel, data))
            if data is not None and not self.lose(channel, data):
                self.peer.handle(channel, data, self.now)

    def start(self):
        self.session.start(self.now)
        return self

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    def tags(self):
        return [data[:4] for _, _, data in self.sent if data is not None]


# Telemetry by datarefs

@pytest.mark.parametrize('version', [10, 11, 12])
def test_pose_and_datarefs_of_one_frame_become_telemetry(version):
    run = Run(version=version).start().run(2.0)
    telemetry = run.of(Telemetry)
    assert len(telemetry) > 80
    for event in telemetry:
        lat, lon, ele, frame, g = event.values
        assert event.pose.lat == lat == latitude(frame)
        assert (lon, ele, g) == (8.0, 500.0, 1.0)


def test_requests_leave_at_the_pace():
    run = Run(version=12).start().run(1.0)
    asked = run.peer.times
    assert len(asked) == 1 + len(NAMES)
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
    assert run.of(Telemetry)[-1].values[3] is not None
    assert run.session.statistics.asked_again == 1


def test_unknown_dataref_is_none_after_three_requests():
    run = Run(version=12)
    del run.peer.values['g']
    run.start().run(5.0)
    assert run.of(Telemetry)[-1].values[4] is None
    assert sum(b'g\0' in data[13:15] for _, _, data in run.sent) == 3


def test_datarefs_that_come_in_different_frames_are_asked_for_every_frame():
    run = Run(XPlane(12, aligned=False), version=12, rate=20.0).start().run(6.0)
    assert run.session.every_frame
    late = run.of(Telemetry)
    assert late
    for event in late:
        assert event.pose.lat == event.values[0] == latitude(event.values[3])
    # Still at the rate asked for.
    assert 15 <= len(late) / 4.0 <= 25


@pytest.mark.parametrize('most', [1, 3])
def test_peer_that_sends_few_datarefs_a_datagram_is_understood_at_the_rate_asked_for(most):
    peer = XPlane(12)
    peer.most = most
    run = Run(peer, version=12, rate=20.0).start().run(6.0)
    late = run.of(Telemetry)
    assert 60 <= len(late) <= 120
    for event in late:
        assert event.pose.lat == event.values[0] == latitude(event.values[3])
    assert not run.session.every_frame
    assert {rate for _, rate, _ in peer.rref.values()} == {20}
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
    assert None not in back[-1].values


def test_silent_x_plane_is_asked_little():
    run = Run(version=12)
    run.peer.on = False
    run.start().run(1.5)
    before = len(run.sent)
    run.run(5.0)
    assert len(run.sent) - before <= 12


def test_everything_is_cancelled_and_given_back_on_stop():
    run = Run(version=12).start().run(1.0)
    run.session.watch(['other'], 10.0, run.now)
    run.session.set_controls({'elevator': 0.5}, run.now)
    run.session.pause(True, run.now)
    run.run(0.5)
    assert run.session.taken == {'joystick', 'pause'}
    run.session.stop(run.now)
    run.run(1.0)
    assert run.peer.rref == {}
    assert run.peer.rpos == {'telemetry': [0, pytest.approx(run.now, abs=1.1)]}
    tail = [data for _, data in run.peer.received[-40:]]
    drefs = [(struct.unpack_from('<f', data, 5)[0], data[9:].split(b'\0')[0].decode())
             for data in tail if data[:4] == b'DREF']
    assert drefs[-4:] == [
        (0.0, 'sim/joystick/yoke_pitch_ratio'), (0.0, 'sim/joystick/yoke_roll_ratio'),
        (0.0, 'sim/joystick/yoke_heading_ratio'),
        (0.0, 'sim/operation/override/override_joystick')]
    assert b'CMND\0sim/operation/pause_off' in tail
    assert run.session.drained
    assert run.session.taken == set()


def test_flush_sends_what_is_owed_at_once():
    run = Run(version=12).start().run(1.0)
    run.session.stop(run.now)
    run.session.flush(run.now)
    run.now += 0.001
    run.transmit()
    assert run.peer.rref == {}


# Rows

@pytest.mark.parametrize('version', [6, 7, 8, 9])
def test_rows_are_selected_and_come(version):
    run = Run(version=version).start().run(1.0)
    events = run.of(RowTelemetry)
    assert len(events) > 25
    assert tuple(s.index for s in events[-1].segments) == NEEDS.rows[version]
    assert len({value for s in events[-1].segments for value in s.values}) == 1
    assert run.of(DataArrived)


def test_rows_by_choice_in_a_late_version():
    run = Run(version=12, by_rows=True).start().run(1.0)
    assert run.of(RowTelemetry)
    assert not run.of(Telemetry)
    # Where, then what: index 64, our address and port, use it.
    assert run.peer.received[0][1] == bytes.fromhex('49534534' '00' '40000000') + (
        b'10.0.0.1'.ljust(16, b'\0') + b'49003'.ljust(8, b'\0') + b'\1\0\0\0')
    assert run.peer.received[1][1] == b'DSEL\0' + struct.pack('<2i', 17, 20)


def test_x_plane_9_is_told_by_iset_and_6_not_at_all():
    assert Run(version=9).start().run(0.1).tags()[:2] == [b'ISET', b'DSEL']
    run = Run(version=6).start().run(0.1)
    assert run.sent[0][2] == b'DSEL\0' + b'0' + struct.pack('<2i', 17, 18) + b'0'
    assert set(run.tags()) == {b'DSEL'}


@pytest.mark.parametrize(('wire', 'expected'), [
    (Wire(byte_order='big'), b'DSEL\0' + b'1' + struct.pack('>2i', 17, 18) + b'1'),
    (Wire(trailer=False), b'DSEL\0' + b'0' + struct.pack('<2i', 17, 18)),
])
def test_layout_of_6_can_be_chosen(wire, expected):
    run = Run(version=6, wire_format=wire, lose=lambda channel, data: True).start()
    run.transmit()
    assert run.sent[0][2] == expected


def test_byte_order_is_learnt_from_what_comes():
    run = Run(version=6).start()
    run.session.receive(
        'data', b'DATA\0' + b'1' + struct.pack('>i8f', 33, *[1.0] * 8) + b'1', run.now)
    run.session.set_controls({'throttle': 0.5}, run.now)
    run.now += 1.0
    run.transmit()
    data = next(data for _, _, data in run.sent if data[:4] == b'DATA')
    assert data == b'DATA\0' + b'1' + struct.pack('>i8f', 23, *[0.5] * 8) + b'1'


def test_rows_are_selected_until_they_come():
    lost = []

    def lose(channel, data):
        lost.append(data[:4])
        return data[:4] == b'DSEL' and lost.count(b'DSEL') < 4

    run = Run(version=6, lose=lose).start().run(6.0)
    assert lost.count(b'DSEL') == 4
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
    run = Run(version=6).start().run(0.5)
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
    run.start().run(1.0)
    assert run.of(Telemetry)
    assert [s.index for s in run.of(DataArrived)[-1].segments] == [37]


def test_rows_of_two_frames_are_not_mixed():
    run = Run(version=12, by_rows=True).start()

    def data(*rows):
        return b'DATA*' + b''.join(
            struct.pack('<i8f', row, *[value] * 8) for row, value in rows)
    receive = run.session.receive
    assert not [e for e in receive('data', data((17, 1.0)), run.now)
                if isinstance(e, RowTelemetry)]
    assert not [e for e in receive('data', data((17, 2.0)), run.now)
                if isinstance(e, RowTelemetry)]
    event = receive('data', data((20, 2.0)), run.now)[-1]
    assert [s.values[0] for s in event.segments] == [2.0, 2.0]


# Which version

@pytest.mark.parametrize('version', [10, 11, 12])
def test_version_is_found_by_asking(version):
    run = Run(XPlane(version)).start().run(4.0)
    assert [event.version for event in run.of(VersionFound)] == [version]
    assert len(run.of(Telemetry)) > 50
    # The questions are cancelled, and their socket closed.
    assert not [key for key in run.peer.rref if key[0] == 'version']
    assert ('version', None) in [(channel, data) for _, channel, data in run.sent]


@pytest.mark.parametrize(('version', 'expected'), [(6, 6), (7, 7), (9, 9)])
def test_old_version_is_known_by_the_rows_it_sends(version, expected):
    run = Run(XPlane(version))
    run.peer.rows = {0}
    run.peer.target = True
    run.start().run(5.0)
    assert [event.version for event in run.of(VersionFound)] == [expected]
    assert run.of(RowTelemetry)


def test_beacon_tells_the_version():
    run = Run(version=None).start()
    beacon = xp.Becn(1, 2, 1, 115501, 1, 49000, 'simpc', 49010)
    run.session.hear(beacon, PEER[0], run.now)
    assert run.session.version == 11


def test_chosen_version_is_kept_whatever_the_beacon_says():
    run = Run(version=12).start()
    run.session.hear(xp.Becn(1, 1, 1, 115501, 1, 49000, 'simpc'), PEER[0], run.now)
    assert run.session.version == 12


# Discovery

def beacon(port=49000, name='simpc', role=1, host=1, version=121001):
    return xp.Becn(1, 1, host, version, role, port, name)


def test_beacon_bytes_become_an_event():
    run = Run(version=12, peer=XPlane())
    data = bytes.fromhex('4245434e0001010100000031ba010001000000') + struct.pack(
        '<H', 49000) + b'simpc\0'
    event, = run.session.receive('beacon', data, run.now)
    assert event == BeaconHeard(xp.Becn(1, 1, 1, 113201, 1, 49000, 'simpc'))


class Discovering(Run):

    def __init__(self, **session):
        super().__init__(**session)
        self.session = XplaneUdpSession(NEEDS, rate=50.0, **session)

    def hear(self, address, **of):
        self.session.hear(beacon(**of), address, self.now)


def test_nothing_is_sent_before_a_beacon():
    run = Discovering().start().run(2.0)
    assert run.session.peer_state is PeerState.SEARCHING
    assert run.sent == []
    with pytest.raises(ValueError, match='no X-Plane was discovered yet'):
        run.session.set_controls({'elevator': 0.0}, run.now)


def test_first_master_is_taken_and_others_are_not():
    run = Discovering().start()
    run.hear('10.0.0.9', role=2)
    run.hear('10.0.0.8', host=2)
    assert run.session.peer is None
    run.hear('10.0.0.2')
    run.hear('10.0.0.3', name='another')
    assert run.session.peer == ('10.0.0.2', 49000)
    run.run(1.5)
    assert run.of(Telemetry)


def test_x_plane_that_comes_back_elsewhere_is_followed():
    run = Discovering().start()
    run.hear('10.0.0.2')
    run.run(1.0)
    run.hear('10.0.0.7')
    assert run.session.peer == ('10.0.0.2', 49000), 'heard on two networks'
    run.run(2.5)
    run.hear('10.0.0.7')
    assert run.session.peer == ('10.0.0.7', 49000)
    run.transmit()
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


def test_read_ends_when_x_plane_is_gone():
    run = Run(version=12).start().run(0.5)
    run.peer.on = False
    run.session.read_datarefs(['other'], run.now)
    run.run(3.0)
    assert run.of(ReadDone)[0].error


def test_read_needs_a_name_and_a_version_with_datarefs():
    with pytest.raises(ValueError, match='at least one dataref'):
        Run(version=12).start().session.read_datarefs([], START)
    with pytest.raises(ValueError, match='knows only rows'):
        Run(version=9).start().session.read_datarefs(['other'], START)


# Commands

def drefs(run):
    return [(data[9:].split(b'\0')[0].decode(), struct.unpack_from('<f', data, 5)[0])
            for _, data in run.peer.received if data[:4] == b'DREF']


def test_controls_are_datarefs_after_the_override():
    run = Run(version=11).start()
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


def test_no_override_when_not_wanted_or_not_needed():
    run = Run(version=11, override_joystick=False).start()
    run.session.set_controls({'elevator': 0.25}, run.now)
    assert run.run(0.1) and [name for name, _ in drefs(run)] == ['sim/joystick/yoke_pitch_ratio']
    run = Run(version=11).start()
    run.session.set_controls({'throttle': 0.25}, run.now)
    assert run.run(0.1) and len(drefs(run)) == 1


def test_override_is_repeated_and_set_anew_after_a_restart():
    run = Run(version=11).start().run(0.5)
    for _ in range(25):
        run.session.set_controls({'elevator': 0.1}, run.now)
        run.run(0.1)
    count = [name for name, _ in drefs(run)].count('sim/operation/override/override_joystick')
    assert count == 3
    run.peer.on = False
    run.run(3.0)
    run.peer.restart()
    run.peer.on = True
    run.run(2.0)
    assert drefs(run)[-1] == ('sim/operation/override/override_joystick', 1.0)


@pytest.mark.parametrize(('version', 'kind', 'axis_row', 'throttle_row'), [
    (6, 'trim', 12, 23), (6, 'joystick', 8, 23), (7, 'joystick', 7, 23),
    (9, 'trim', 13, 25), (9, 'joystick', 8, 25)])
def test_controls_are_rows_before_10(version, kind, axis_row, throttle_row):
    run = Run(version=version, row_kind=kind).start()
    run.session.set_controls({'elevator': 0.25, 'rudder': -1.0, 'throttle': 0.5}, run.now)
    run.run(0.1)
    data = next(data for _, data in run.peer.received if data[:4] == b'DATA')
    leave = -999.0
    segments = (struct.pack('<i8f', axis_row, 0.25, leave, -1.0, *[leave] * 5)
                + struct.pack('<i8f', throttle_row, *[0.5] * 8))
    assert data == {6: b'DATA\0' + b'0' + segments + b'0'}.get(version, b'DATA\0' + segments)


def test_gear_of_7_travels_as_an_integer():
    run = Run(version=7).start()
    run.session.set_controls({'gear': 1.0}, run.now)
    run.run(0.1)
    data = next(data for _, data in run.peer.received if data[:4] == b'DATA')
    assert data == b'DATA\0' + struct.pack('<ii7f', 12, 1, *[-999.0] * 7)


def test_trims_of_the_user_come_back_on_release():
    run = Run(version=9, row_kind='trim').start()
    rows = b''.join(struct.pack('<i8f', row, *values) for row, values in (
        (13, (0.25, 0.125, -0.5, 0, 0, 0, 0, 0)),))
    run.session._feeds._needs = Needs({}, {9: (13,)})
    run.session.start(run.now)
    run.session.receive('data', b'DATA@' + rows, run.now)
    run.session.set_controls({'elevator': 0.75}, run.now)
    run.run(0.1)
    run.session.receive('data', b'DATA@' + rows.replace(
        struct.pack('<f', 0.25), struct.pack('<f', 0.75)), run.now)
    run.session.release(run.now)
    run.transmit()
    assert run.sent[-1][2] == b'DATA\0' + struct.pack(
        '<i8f', 13, 0.25, 0.125, -0.5, *[-999.0] * 5)


def test_joystick_is_centred_on_release():
    run = Run(version=6, row_kind='joystick').start()
    run.session.set_controls({'elevator': 0.75}, run.now)
    run.run(0.1)
    run.session.release(run.now)
    run.transmit()
    assert run.sent[-1][2] == b'DATA\0' + b'0' + struct.pack(
        '<i8f', 8, 0.0, 0.0, 0.0, *[-999.0] * 5) + b'0'


def test_newest_controls_win_when_they_come_too_fast():
    run = Run(version=12).start().run(1.0)
    run.session.set_controls({'throttle': 0.1}, run.now)
    for value in (0.2, 0.3, 0.4):
        run.session.set_controls({'throttle': value, 'flaps': 0.5}, run.now)
    run.session.set_controls({'throttle': 0.5}, run.now)
    run.run(0.2)
    assert drefs(run)[-1] == ('sim/flightmodel/controls/flaprqst', 0.5)
    assert ('sim/cockpit2/engine/actuators/throttle_ratio_all', 0.5) in drefs(run)
    assert run.session.statistics.held_back > 0


def test_controls_do_not_wait_behind_other_commands():
    run = Run(version=12).start().run(1.0)
    for _ in range(100):
        run.session.send(xp.Cmnd('sim/none/none'), run.now)
    run.session.set_controls({'throttle': 0.5}, run.now)
    run.run(0.03)
    assert drefs(run)


def test_too_many_waiting_commands_are_refused():
    run = Run(version=12).start()
    with pytest.raises(ValueError, match='datagrams wait already'):
        for _ in range(2000):
            run.session.send(xp.Cmnd('sim/none/none'), run.now)


@pytest.mark.parametrize('message', [
    xp.Cmnd('sim/none/none'), xp.Dref(1.0, 'a'), xp.Vehs(0, 1, 2, 3, 4, 5, 6)])
def test_old_versions_take_rows_only(message):
    with pytest.raises(ValueError, match='knows only rows'):
        Run(version=9).start().session.send(message, START)


def test_stopped_flight_model_is_released():
    run = Run(version=11).start()
    run.session.send(xp.Vehx(0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0), run.now)
    assert run.session.taken == {'flight model'}
    run.session.release(run.now)
    run.transmit()
    assert drefs(run) == [('sim/operation/override/override_planepath[0]', 0.0)]


def test_commands_need_to_know_the_version():
    run = Run(XPlane(12)).start()
    with pytest.raises(ValueError, match='version of X-Plane is not known yet'):
        run.session.set_controls({'elevator': 0.0}, run.now)


# Bad datagrams

@pytest.mark.parametrize('data', [
    b'', b'RREF', b'RREF,1234', b'RPOS4' + bytes(63), b'DATA*' + bytes(35), b'WHAT\0', bytes(99)])
def test_malformed_datagrams_are_counted(data):
    run = Run(version=12).start()
    assert run.session.receive('telemetry', data, run.now) == []
    assert sum(run.session.statistics.malformed.values()) == 1
    assert run.session.statistics.last_error


@pytest.mark.parametrize('options', [{'rate': 0.0}, {'rate': 1001.0}, {'rate': math.nan}])
def test_bad_rate_is_refused(options):
    with pytest.raises(ValueError, match='rate'):
        XplaneUdpSession(NEEDS, peer=PEER, **options)
