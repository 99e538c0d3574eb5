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

"""A capture in place of sockets: order, time, stamps, and whole conversations."""

import re
import threading
import time

from captures import pcap
import pytest

from xplane_bridge.bridges.links.captures.replay import ANY_PORT, ReplayLoop
from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.bridges.sessions.base import PeerChanged, PeerState
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session import Polled, Telemetry, XpcSession
from xplane_bridge.bridges.xpc.session.items import REPORTED

DEADLINE = 60.0
PUBLISHER, RECEIVER = ('10.0.0.1', 4000), ('10.0.0.2', 5000)
BEGIN = 1_700_000_000


class Listener:
    """A session that records what it receives and asks to be polled every ``period`` seconds."""

    rests = False

    def __init__(self, period=None):
        self.got = []
        self.polled = []
        self._period = period
        self._events = []

    def start(self, now):
        self.started = now

    def receive(self, channel, data, sender, now):
        self.got.append((channel, data, round(now, 6)))
        return [data]

    def poll(self, now):
        if self._period is not None and now >= len(self.polled) * self._period:
            self.polled.append(round(now, 6))
            self._events.append('polled')
        return []

    def next_deadline(self):
        return None if self._period is None else len(self.polled) * self._period

    def expired(self):
        events, self._events = self._events, []
        return events


@pytest.fixture
def play(tmp_path):
    """Return a function that replays datagrams to a session until the end."""
    loops = []

    def play(datagrams, session, fails=None, cut=None, **options):
        path = tmp_path / 'capture.pcap'
        path.write_bytes(
            datagrams if isinstance(datagrams, bytes) else pcap(*datagrams)[:cut])
        events, failures, ended = [], [], threading.Event()

        def on_event(event, stamp_ns):
            events.append((event, stamp_ns))
            if event == fails:
                raise ValueError('no good')

        options = {'speed': 0.0, 'channels': {5000: 'packets'}, **options}
        loop = ReplayLoop(
            str(path), session, on_event, failures.append, on_end=lambda _: ended.set(), **options)
        loops.append(loop)
        loop.start()
        loop.call(session.start)
        assert ended.wait(DEADLINE)
        assert loop.finished
        loop.close()
        return events, failures, loop

    yield play
    for loop in loops:
        loop.close()


def packets(count, step=0.01):
    return [(BEGIN + number * step, PUBLISHER, RECEIVER, bytes((number,)))
            for number in range(count)]


def test_datagrams_come_in_order_with_their_recorded_stamps(play):
    session = Listener()
    events, failures, loop = play(packets(5), session)
    assert events == [
        (bytes((number,)), BEGIN * 10**9 + number * 10_000_000) for number in range(5)]
    assert session.got == [
        ('packets', bytes((number,)), number * 0.01) for number in range(5)]
    assert failures == []
    assert loop.counters().received == 5


def test_other_ports_are_passed_over_unless_all_are_asked_for(play):
    other = (BEGIN + 1, PUBLISHER, ('10.0.0.2', 5001), b'other')
    events, *_ = play([*packets(1), other], Listener())
    assert [event for event, _ in events] == [b'\0']
    events, *_ = play([*packets(1), other], Listener(), channels={ANY_PORT: 'packets'})
    assert [event for event, _ in events] == [b'\0', b'other']


def test_all_datagrams_of_a_source_port_are_handed_over_by_where_they_went(play):
    session = Listener()
    replies = [(BEGIN, ('10.0.0.1', 10300), ('10.0.0.2', port), b'reply') for port in (1, 2)]
    request = (BEGIN, ('10.0.0.2', 1), ('10.0.0.1', 10300), b'request')
    play([request, *replies], session, channels={}, source_port=10300)
    assert [data for _, data, _ in session.got] == [b'reply', b'reply']
    assert len({channel for channel, *_ in session.got}) == 2


def test_only_the_sender_is_heard(play):
    stranger = (BEGIN + 1, ('10.0.0.9', 4000), RECEIVER, b'stranger')
    events, _, loop = play([*packets(1), stranger], Listener(), sender='10.0.0.1')
    assert [event for event, _ in events] == [b'\0']
    assert loop.counters().strangers == 1


def test_only_the_port_of_the_sender_is_heard_if_one_is_given(play):
    forger = (BEGIN + 1, (PUBLISHER[0], PUBLISHER[1] + 1), RECEIVER, b'forged')
    events, _, loop = play(
        [*packets(1), forger], Listener(), sender=PUBLISHER[0], sender_port=PUBLISHER[1])
    assert [event for event, _ in events] == [b'\0']
    assert (loop.counters().strangers, loop.counters().other_ports) == (0, 1)


def test_at_full_speed_the_session_lives_in_the_captures_time(play):
    # A day between two datagrams, polled every hour.
    session = Listener(period=3600.0)
    events, *_ = play(packets(2, step=86_400.0), session)
    assert session.polled == [hour * 3600.0 for hour in range(25)]
    stamps = [stamp for event, stamp in events if event == 'polled']
    assert stamps == [BEGIN * 10**9 + hour * 3600 * 10**9 for hour in range(25)]


def test_at_recorded_speed_time_passes_as_it_did(play):
    session = Listener()
    play(packets(11), session, speed=1.0)
    assert all(number * 0.01 <= now for number, (_, _, now) in enumerate(session.got))
    assert len(session.got) == 11


def test_a_multiple_of_the_speed_is_that_much_faster(play):
    session = Listener()
    begin = time.monotonic()
    play(packets(11, step=10.0), session, speed=1000.0)
    elapsed = time.monotonic() - begin
    # Never early; a loaded machine decides how late, but a session's second is a millisecond.
    assert all(now >= 10.0 * number for number, (_, _, now) in enumerate(session.got))
    assert len(session.got) == 11
    assert session.got[-1][2] <= elapsed * 1000.0


def test_nothing_is_played_before_the_first_call(tmp_path):
    path = tmp_path / 'capture.pcap'
    path.write_bytes(pcap(*packets(3)))
    session = Listener()
    loop = ReplayLoop(str(path), session, lambda *_: None, lambda _: None, speed=0.0,
                      channels={5000: 'packets'})
    loop.start()
    loop.close()
    assert session.got == []


@pytest.mark.parametrize('speed', [0.0, 1000.0])
def test_a_replay_that_is_held_stands_still(play, speed):
    session = Listener()
    asked = []

    def holds():
        asked.append(len(session.got))
        # Three times before the first datagram, and after each event.
        return len(asked) % 4 != 0

    events, *_ = play(packets(5, step=1.0), session, speed=speed, holds=holds)
    assert [event for event, _ in events] == [bytes((number,)) for number in range(5)]
    assert asked == [number for number in range(6) for _ in range(4)]


def test_time_stands_still_meanwhile(play):
    session = Listener()
    real = []

    def holds():
        if len(session.got) != 1:
            return False
        real.append(time.monotonic())
        return real[-1] < real[0] + 0.05

    # In real time the hold takes as long as 50 s of the capture.
    begin = time.monotonic()
    play(packets(3, step=1.0), session, speed=1000.0, holds=holds)
    elapsed = time.monotonic() - begin
    assert session.got[1][2] <= (elapsed - (real[-1] - real[0])) * 1000.0


def test_a_replay_that_is_held_can_be_closed(tmp_path):
    path = tmp_path / 'capture.pcap'
    path.write_bytes(pcap(*packets(3)))
    session, held = Listener(), threading.Event()
    loop = ReplayLoop(str(path), session, lambda *_: None, lambda _: None,
                      channels={5000: 'packets'}, holds=lambda: held.set() or True)
    loop.start()
    loop.call(session.start)
    assert held.wait(DEADLINE)
    loop.close()
    assert session.got == []


def test_a_failure_while_handling_ends_nothing(play):
    events, failures, _ = play(packets(3), Listener(), fails=b'\1')
    assert [event for event, _ in events] == [b'\0', b'\1', b'\2']
    assert [str(error) for error in failures] == ['no good']


def test_a_capture_that_is_cut_off_is_played_so_far(play):
    events, failures, loop = play(packets(3), Listener(), cut=-1)
    assert [event for event, _ in events] == [b'\0', b'\1']
    assert failures == []
    assert re.fullmatch(
        r'capture .*/capture.pcap: packet 3 at offset 114: the file is truncated at offset 158, '
        'expected 1 more bytes', loop.progress().error)


def test_a_datagram_captured_in_part_is_not_played_and_only_ours_are_said(play):
    datagrams = packets(3)
    data = pcap(*datagrams)
    # The last byte of two was not captured; the second is another program's.
    cut = bytearray(data[:24])
    for number in range(3):
        record = bytearray(data[24 + 45 * number:69 + 45 * number])
        if number != 2:
            record[8:12] = (28).to_bytes(4, 'little')
            record = record[:-1]
        if number == 1:
            record[16 + 22:16 + 24] = (7000).to_bytes(2, 'big')
        cut += record
    events, failures, loop = play(bytes(cut), Listener())
    assert [event for event, _ in events] == [b'\2']
    assert failures == []
    progress = loop.progress()
    assert (progress.incomplete, progress.tally.cut, progress.error) == (1, 2, '')
    assert progress.fault == (
        'packet 1 at offset 24: 0 of 1 bytes captured; capture whole packets (tcpdump -s 0)')


def test_times_that_ros_cannot_say_are_not_played_and_said(play):
    late = (2**31, PUBLISHER, RECEIVER, b'late')
    events, _, loop = play([*packets(1), late, *packets(2)[1:]], Listener())
    assert [event for event, _ in events] == [b'\0', b'\1']
    progress = loop.progress()
    assert progress.untimely == 1
    assert '2038-01-18' in progress.fault


@pytest.mark.parametrize('jump', [90_000.0, 10 * 365 * 86_400.0, -3600.0])
def test_a_jump_of_the_recorded_time_is_not_waited_for(play, jump):
    later = [(seconds + jump, *rest) for seconds, *rest in packets(3)]
    session = Listener(period=1.0)
    events, _, loop = play([*packets(2), *later], session)
    assert loop.progress().jumps == 1
    # Stamps remain as recorded; the session's time continues as if nothing had happened.
    assert [stamp for event, stamp in events if event != 'polled'] == [
        round(seconds * 1e3) * 10**6 for seconds, *_ in [*packets(2), *later]]
    assert [now for *_, now in session.got] == [0.0, 0.01, 0.01, 0.02, 0.03]
    assert len(session.polled) == 1


def test_a_replay_can_be_closed_while_nothing_is_for_its_session(tmp_path):
    """Otherwise a capture with gigabytes of other programs' traffic would be read to its end."""
    path = tmp_path / 'capture.pcap'
    path.write_bytes(pcap(*packets(1)) + bytes(16) * 100_000)
    reading, loop = threading.Event(), None

    class Blocking(Listener):
        def receive(self, channel, data, sender, now):
            loop._running = False
            reading.set()
            return []

    loop = ReplayLoop(str(path), Blocking(), lambda *_: None, lambda _: None, speed=0.0,
                      channels={5000: 'packets'})
    session = loop._session
    loop.start()
    loop.call(session.start)
    assert reading.wait(DEADLINE)
    loop._thread.join(DEADLINE)
    assert not loop._thread.is_alive()
    assert loop.progress().tally.packets == 1


def test_a_call_after_the_end_gets_time_that_goes_on(tmp_path):
    path = tmp_path / 'capture.pcap'
    path.write_bytes(pcap(*packets(2, step=50.0)))
    ended, polled = threading.Event(), threading.Event()
    session = Listener()
    loop = ReplayLoop(str(path), session, lambda *_: None, lambda _: None, speed=0.0,
                      channels={5000: 'packets'}, on_end=lambda _: ended.set())
    loop.start()
    loop.call(session.start)
    assert ended.wait(DEADLINE)

    def ask(now):
        session.next_deadline = lambda: None if polled.is_set() else now + 0.01
        session.poll = lambda time: (polled.set() if time >= now + 0.01 else None) or []
        return now

    assert loop.call(ask) >= 50.0
    assert polled.wait(DEADLINE)
    loop.close()


@pytest.mark.parametrize(('data', 'text'), [
    (None, 'No such file'), (b'\x0a\x0d\x0d\x0a' + bytes(30), 'the byte order'),
    (b'', 'not a capture'),
])
def test_a_file_that_cannot_be_played_says_why(tmp_path, data, text):
    path = tmp_path / 'capture.pcap'
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(LinkError, match=f'capture .*: .*{text}'):
        ReplayLoop(str(path), Listener(), lambda *_: None, lambda _: None)


@pytest.mark.parametrize('speed', [0.0, 20.0])
def test_a_recorded_conversation_is_followed(play, speed):
    """X-Plane Connect: each of the session's channels gets the reply to its own request."""
    names = ('lat', 'lon', 'alt', 'further')
    plugin, position_port, state_port = (
        ('10.0.0.1', xpc.PORT), ('10.0.0.2', 6001), ('10.0.0.2', 6002))
    ask_position = xpc.encode(xpc.GetPosition(0))
    ask_state = xpc.encode(xpc.GetDatarefs((*names, *REPORTED)))
    recorded = []
    for number in range(20):
        at = BEGIN + 0.05 * number
        place = (47.0 + number, 8.0, 500.0)
        recorded += [
            (at, position_port, plugin, ask_position),
            (at + 0.0001, state_port, plugin, ask_state),
            (at + 0.015, plugin, position_port, xpc.encode(xpc.PositionReply(
                0, *place, 0.0, 0.0, 0.0, 0.0, precision=64))),
            (at + 0.0152, plugin, state_port, xpc.encode(xpc.Datarefs(
                tuple((value,) for value in (*place, float(number), *[0.0] * len(REPORTED)))))),
        ]
    session = XpcSession({0: Polled(names, names[:3])}, rate=20.0, hears_beacons=False)
    events, failures, _ = play(recorded, session, speed=speed, channels={}, peer_port=xpc.PORT)
    assert failures == []
    assert (PeerChanged(PeerState.ANSWERING) in [event for event, _ in events])
    flown = [event for event, _ in events if isinstance(event, Telemetry)]
    # The first request goes out before the capture begins; one pair may be seen in halves. With
    # pacing, a loaded machine sees fewer.
    assert len(flown) >= (1 if speed else 15)
    for telemetry in flown:
        assert telemetry.pose.lat - 47.0 == telemetry.values['further']
