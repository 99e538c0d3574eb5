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

"""The session with Huginn, in simulated time: polling, placing replies, silence, controls."""

import math
import random
import struct

import pytest

from xplane_bridge.protocols.fdmdata import Command
from xplane_bridge.sessions.fdmdata import (
    CONTROLS_CHANNEL,
    FdmdataSession,
    PeerChanged,
    PeerState,
    Sample,
    Wanted,
)

GPS, ACC, GYRO, MAG, THERMO, PITOT, STATIC, INS = Command
COUNTS = {GPS: 5, ACC: 3, GYRO: 3, MAG: 3, THERMO: 1, PITOT: 1, STATIC: 1, INS: 7}
DEFAULT = {
    'gps': Wanted((GPS,), 20.0),
    'ins': Wanted((INS, GYRO), 20.0),
    'imu': Wanted((ACC, GYRO, INS), 50.0),
    'air': Wanted((THERMO, PITOT, STATIC, GPS), 10.0),
}


class Huginn:
    """
    The other end (docs/wire/fdmdata.md): in order, echoed command, one byte 0xff for a refusal.

    All values of a reply are the number of its step, so what belongs together can be told.
    """

    def __init__(self, session, delay=0.0, step=0.0166):
        self.session = session
        self.delay = delay
        self.step = step
        self.now = 1000.0
        self.up = True
        self.held = False
        self.refuses = set()
        self.lose = lambda reply: False
        self.twice = lambda reply: False
        self.arriving = []
        self.events = []
        self.requests = []
        self.controls = []

    def answer(self, data):
        """Return the reply to a request."""
        command = data[0]
        if len(data) != 1 or command not in COUNTS or command in self.refuses:
            return b'\xff'
        number = 0.0 if self.held else math.floor(self.now / self.step)
        values = [0.0 if command == MAG else float(number)] * COUNTS[command]
        return struct.pack(f'>BB{COUNTS[command]}f', 0, command, *values)

    def call(self, function, *arguments, **named):
        result = function(*arguments, self.now, **named)
        self._transmit()
        return result

    def controlled(self, **controls):
        self.session.set_controls(self.now, **controls)
        self._transmit()

    def _transmit(self):
        for channel, data in self.session.poll(self.now):
            if channel == CONTROLS_CHANNEL:
                self.controls.append((self.now, struct.unpack('>4f', data)))
                continue
            if data is None:
                self.arriving = [item for item in self.arriving if item[1] != channel]
                continue
            self.requests.append((self.now, Command(data[0])))
            reply = self.answer(data)
            if self.up and not self.lose(reply):
                for _ in range(2 if self.twice(reply) else 1):
                    self.arriving.append((self.now + self.delay, channel, reply))
        self.events += self.session.expired()

    def run(self, seconds):
        """Let time pass; return the events of it."""
        end, start = self.now + seconds, len(self.events)
        while True:
            times = [at for at, _, _ in self.arriving[:1]]
            deadline = self.session.next_deadline()
            if deadline is not None:
                times.append(deadline)
            nearest = min(times, default=end)
            if nearest >= end:
                self.now = end
                return self.events[start:]
            self.now = max(self.now, nearest)
            while self.arriving and self.arriving[0][0] <= self.now:
                _, channel, reply = self.arriving.pop(0)
                self.events += self.session.receive(channel, reply, self.now)
            self._transmit()


def started(plan=None, refuses=(), up=True, **options):
    """Return a Huginn that a session talks to already."""
    huginn = Huginn(FdmdataSession(), **options)
    huginn.refuses, huginn.up = set(refuses), up
    huginn.call(huginn.session.set_plan, DEFAULT if plan is None else plan)
    huginn.call(huginn.session.start)
    return huginn


def samples(events, name):
    return [event for event in events if isinstance(event, Sample) and event.name == name]


def states(events):
    return [event.state for event in events if isinstance(event, PeerChanged)]


# Polling.


@pytest.mark.parametrize('delay', [0.0, 0.0005, 0.03, 0.2])
def test_each_entry_has_its_own_rate_whatever_the_distance(delay):
    huginn = started(delay=delay)
    huginn.run(1.0)
    events = huginn.run(10.0)
    for name, wanted in DEFAULT.items():
        assert len(samples(events, name)) == pytest.approx(10.0 * wanted.rate, abs=1)
    statistics = huginn.session.statistics
    assert statistics.lost == statistics.unexpected == statistics.errors == 0


def test_first_samples_come_with_the_first_replies():
    events = started(delay=0.001).run(0.002)
    assert {event.name for event in events if isinstance(event, Sample)} == set(DEFAULT)


def test_what_is_due_together_is_asked_once():
    huginn = started()
    huginn.requests.clear()
    huginn.run(10.0)
    # Accelerometer, gyroscope and INS 50 times; at 20 a second, every other falls together with
    # them, and so does what comes 10 times. Gyroscope and INS: 50 + 10; GPS: 20.
    counts = {command: sum(1 for _, c in huginn.requests if c == command) for command in Command}
    assert counts[ACC] == pytest.approx(500, abs=3)
    assert counts[GYRO] == counts[INS] == pytest.approx(600, abs=3)
    assert counts[GPS] == pytest.approx(200, abs=3)
    assert counts[THERMO] == counts[PITOT] == counts[STATIC] == pytest.approx(100, abs=2)
    assert counts[MAG] == 0


def test_without_a_plan_only_the_watch_asks():
    huginn = started({})
    assert not samples(huginn.run(10.0), '')
    assert {command for _, command in huginn.requests} == {ACC, GYRO}
    assert len(huginn.requests) == pytest.approx(40, abs=2)


def test_plan_changes_while_running():
    huginn = started({'gps': Wanted((GPS,), 20.0)})
    huginn.run(1.0)
    huginn.call(huginn.session.set_plan, {
        'gps': Wanted((GPS,), 20.0), 'air': Wanted((THERMO,), 5.0)})
    events = huginn.run(4.0)
    assert len(samples(events, 'gps')) == pytest.approx(80, abs=1)
    assert len(samples(events, 'air')) == pytest.approx(20, abs=1)
    huginn.call(huginn.session.set_plan, {'air': Wanted((THERMO,), 100.0)})
    events = huginn.run(1.0)
    assert len(samples(events, 'gps')) <= 1
    assert len(samples(events, 'air')) == pytest.approx(100, abs=1)


@pytest.mark.parametrize('wanted', [
    Wanted((), 20.0), Wanted((GPS,), 0.0), Wanted((GPS,), math.nan), Wanted((GPS,), math.inf)])
def test_plan_without_sense_is_refused(wanted):
    with pytest.raises(ValueError, match='gps'):
        FdmdataSession().set_plan({'gps': wanted}, 0.0)


# Loss, errors, duplicates.


def test_lost_replies_cost_their_samples_only():
    chance = random.Random(1)
    huginn = started(delay=0.002)
    huginn.lose = lambda reply: chance.random() < 0.1
    events = huginn.run(20.0)
    # 0.9 of the polls with one reply come through, 0.9 ** 3 of those with three.
    assert len(samples(events, 'gps')) == pytest.approx(360, abs=25)
    assert len(samples(events, 'imu')) == pytest.approx(729, abs=50)
    statistics = huginn.session.statistics
    assert statistics.lost == pytest.approx(0.1 * statistics.requests, rel=0.2)
    assert statistics.replies + statistics.lost == pytest.approx(statistics.requests, abs=8)
    assert statistics.unexpected == statistics.errors == 0
    assert states(events) == [PeerState.ANSWERING]


def together(sample):
    return len({
        sample.replies[ACC].x, sample.replies[GYRO].roll_rate, sample.replies[INS].roll}) == 1


@pytest.mark.parametrize('fault', ['lose', 'twice'])
def test_samples_are_complete_and_of_one_poll_whatever_the_network_does(fault):
    chance = random.Random(2)
    huginn = started(delay=0.05)
    setattr(huginn, fault, lambda reply: chance.random() < 0.5)
    found = samples(huginn.run(20.0), 'imu')
    assert len(found) > 100
    assert all(together(sample) for sample in found)


@pytest.mark.parametrize('refused', [GPS, GYRO, INS])
@pytest.mark.parametrize('delay', [0.0, 0.03])
def test_errors_are_placed_at_the_sensor_that_is_refused(refused, delay):
    huginn = started(delay=delay, refuses={refused})
    events = huginn.run(4.0)
    statistics = huginn.session.statistics
    assert huginn.session.refused == {refused}
    assert set(statistics.refused) == {refused}
    assert statistics.errors == statistics.refused[refused]
    assert statistics.lost == statistics.unexpected == 0
    # Only what was on its way when the first error came was asked in vain.
    assert statistics.errors <= 8
    imu = samples(events, 'imu')
    assert len(imu) == pytest.approx(200, abs=5)
    assert set(imu[-1].replies) == {ACC, GYRO, INS} - {refused}
    assert bool(samples(events, 'gps')) == (refused != GPS)


def test_refused_sensor_is_asked_again_after_a_while():
    huginn = started(refuses={INS})
    huginn.run(4.0)
    huginn.refuses = set()
    events = huginn.run(3.0)
    assert huginn.session.refused == frozenset()
    assert set(samples(events, 'imu')[-1].replies) == {ACC, GYRO, INS}
    assert states(events) == []


def test_error_between_losses_is_placed_where_errors_came_before():
    huginn = started(delay=0.001, refuses={INS})
    huginn.run(5.2)
    chance = random.Random(3)
    huginn.lose = lambda reply: chance.random() < 0.5
    huginn.run(30.0)
    assert set(huginn.session.statistics.refused) == {INS}


def test_error_to_nothing_is_counted():
    huginn = started({})
    huginn.run(0.2)
    assert not huginn.session.receive('data 0', b'\xff', huginn.now)
    assert huginn.session.statistics.unexpected == 1
    assert huginn.session.refused == frozenset()


@pytest.mark.parametrize(('data', 'kind'), [
    (b'', 'response code'), (b'\x00', 'response code'), (b'\x01\x00', 'response code'),
    (b'\x00\x08', 'command'), (b'\x00\x00\x00\x00', 'gps'), (b'\x00\x07' + bytes(27), 'ins'),
    (b'\xff\xff', 'response code'),
])
def test_malformed_datagrams_are_counted_by_kind(data, kind):
    huginn = started({})
    assert not huginn.session.receive('data 0', data, huginn.now)
    assert huginn.session.statistics.malformed == {kind: 1}
    assert 'reply' in huginn.session.statistics.last_error


# How Huginn seems.


def test_silence_is_noticed_and_probed_gently():
    huginn = started()
    assert states(huginn.run(1.0)) == [PeerState.ANSWERING]
    huginn.up = False
    assert states(huginn.run(1.5)) == [PeerState.AWAY]
    huginn.requests.clear()
    assert huginn.run(10.0) == []
    assert len(huginn.requests) == pytest.approx(20, abs=1)
    huginn.up = True
    events = huginn.run(2.0)
    assert states(events) == [PeerState.ANSWERING]
    # Within half a second of its return.
    assert len(samples(events, 'imu')) > 70


def test_nobody_there_from_the_start():
    huginn = started(up=False)
    assert huginn.run(0.9) == []
    assert states(huginn.run(0.3)) == [PeerState.AWAY]
    statistics = huginn.session.statistics
    assert statistics.lost >= statistics.requests - 2


def test_thaw_after_a_freeze_recovers():
    # A stopped process answers everything that waits in its socket, once it goes on.
    huginn = started(delay=0.001)
    huginn.run(1.0)
    waiting = []
    huginn.lose = lambda reply: waiting.append(reply) or True
    assert states(huginn.run(3.0)) == [PeerState.AWAY]
    huginn.lose = lambda reply: False
    # The last is the answer to a probe, on a socket that is still open.
    channel = next(iter(huginn.session._polls))
    huginn.arriving = [(huginn.now + 0.001, channel, reply) for reply in waiting]
    assert states(huginn.run(0.5)) == [PeerState.ANSWERING]
    events = huginn.run(5.0)
    assert len(samples(events, 'imu')) == pytest.approx(250, abs=3)
    assert huginn.session.peer_state is PeerState.ANSWERING


def test_requests_that_wait_fit_into_a_stock_receive_buffer():
    # Which holds 277 small datagrams; a reset takes Huginn a while.
    huginn = started({'all': Wanted(tuple(Command), 500.0)}, up=False)
    huginn.run(0.45)
    assert len(huginn.requests) == 16 * 8


@pytest.mark.parametrize('plan', [DEFAULT, {}, {'gps': Wanted((GPS,), 20.0)}])
def test_data_that_stand_still_are_held(plan):
    huginn = started(plan)
    assert states(huginn.run(10.0)) == [PeerState.ANSWERING]
    huginn.held = True
    assert huginn.run(1.9) is not None and huginn.session.peer_state is PeerState.ANSWERING
    assert states(huginn.run(1.2)) == [PeerState.HELD]
    assert states(huginn.run(5.0)) == []
    huginn.held = False
    assert states(huginn.run(0.6)) == [PeerState.ANSWERING]


def test_held_from_the_start():
    huginn = started()
    huginn.held = True
    assert states(huginn.run(3.0)) == [PeerState.ANSWERING, PeerState.HELD]


def test_zeros_of_the_magnetometer_are_not_held():
    huginn = started({'magnetometer': Wanted((MAG,), 10.0)})
    events = huginn.run(10.0)
    assert states(events) == [PeerState.ANSWERING]
    assert len(samples(events, 'magnetometer')) == pytest.approx(100, abs=1)


def test_nan_is_noticed():
    huginn = started()
    huginn.run(1.0)
    sound = huginn.answer
    # As recorded from a Huginn that was sent a NaN.
    huginn.answer = lambda data: (
        bytes.fromhex('00017fc00000ffc000007fc00000') if data[0] == ACC else sound(data))
    assert states(huginn.run(0.5)) == [PeerState.BROKEN]
    assert states(huginn.run(5.0)) == []
    huginn.answer = sound
    assert states(huginn.run(0.5)) == [PeerState.ANSWERING]


# Controls.


def test_controls_leave_at_once_and_none_repeats_the_last():
    huginn = started()
    huginn.controlled(aileron=0.25, elevator=-0.5, rudder=1.0, throttle=0.75)
    huginn.controlled(elevator=0.5)
    huginn.controlled()
    assert [values for _, values in huginn.controls] == [
        (0.25, -0.5, 1.0, 0.75), (0.25, 0.5, 1.0, 0.75), (0.25, 0.5, 1.0, 0.75)]
    assert all(at == huginn.now for at, _ in huginn.controls)


def test_surfaces_that_never_were_sent_are_centred():
    huginn = started()
    huginn.controlled(elevator=0.5, throttle=1.0)
    assert huginn.controls[0][1] == (0.0, 0.5, 0.0, 1.0)


def test_first_command_without_throttle_is_refused():
    huginn = started()
    with pytest.raises(ValueError, match='throttle'):
        huginn.controlled(aileron=0.5)
    assert not huginn.controls


@pytest.mark.parametrize('bad', [
    {'aileron': math.nan}, {'elevator': 1.1}, {'rudder': -math.inf}, {'throttle': -0.5}])
def test_what_would_harm_the_flight_model_never_leaves(bad):
    huginn = started()
    huginn.controlled(aileron=0.1, throttle=0.5)
    with pytest.raises(ValueError, match=next(iter(bad))):
        huginn.controlled(**bad)
    huginn.controlled()
    assert [values[3] for _, values in huginn.controls] == [0.5, 0.5]
    assert huginn.controls[1][1][0] == pytest.approx(0.1)


def test_stop_centres_the_surfaces_and_keeps_the_throttle():
    huginn = started()
    huginn.controlled(aileron=0.25, elevator=-0.5, rudder=1.0, throttle=0.75)
    huginn.call(huginn.session.stop)
    assert huginn.controls[-1][1] == (0.0, 0.0, 0.0, 0.75)
    huginn.requests.clear()
    huginn.run(5.0)
    assert not huginn.requests
    huginn.call(huginn.session.start)
    assert samples(huginn.run(1.0), 'imu')


def test_stop_sends_nothing_if_nothing_was_commanded():
    huginn = started()
    huginn.call(huginn.session.stop)
    assert not huginn.controls


def test_reply_after_stop_is_nobodys():
    huginn = started(delay=0.01)
    huginn.call(huginn.session.stop)
    assert huginn.session.receive('data 0', bytes.fromhex('0004438e1810'), huginn.now) == ()
    assert huginn.run(1.0) == []
    assert huginn.session.peer_state is PeerState.UNKNOWN
