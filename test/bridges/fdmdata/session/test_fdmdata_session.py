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

"""The session with Huginn, in simulated time: polling, matching replies, silence, controls."""

import math
import random
import struct

import pytest

from xplane_bridge.bridges.fdmdata.protocol import Command
from xplane_bridge.bridges.fdmdata.session import (
    CONTROLS_CHANNEL,
    FdmdataSession,
    PeerRecognized,
    PollEntry,
    Telemetry,
)
from xplane_bridge.bridges.sessions.base import (
    CommandDone,
    PeerAbsentError,
    PeerChanged,
    PeerState,
)
from xplane_bridge.bridges.sessions.left import Left

GPS, ACC, GYRO, MAG, THERMO, PITOT, STATIC, INS = Command
COUNTS = {GPS: 5, ACC: 3, GYRO: 3, MAG: 3, THERMO: 1, PITOT: 1, STATIC: 1, INS: 7}
DEFAULT = {
    'gps': PollEntry((GPS,), 20.0),
    'ins': PollEntry((INS, GYRO), 20.0),
    'imu': PollEntry((ACC, GYRO, INS), 50.0),
    'air': PollEntry((THERMO, PITOT, STATIC, GPS), 10.0),
}


class Huginn:
    """
    The peer (docs/wire/fdmdata.md): in order, command echoed, single byte 0xff for a refusal.

    All values of a reply are its step number, so a test can tell what belongs together.
    """

    def __init__(self, session, delay=0.0, step=0.0166):
        self.session = session
        self.delay = delay
        self.step = step
        self.now = 1000.0
        self.up = True
        self.held = False
        self.stands_still = False
        self.unread = []
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
        self.session.set_controls(controls, self.now)
        self._transmit()

    def _transmit(self):
        for channel, data in self.session.poll(self.now):
            if channel == CONTROLS_CHANNEL:
                self.controls.append((self.now, struct.unpack('>4f', data)))
                continue
            if data is None:
                self.arriving = [item for item in self.arriving if item[1] != channel]
                self.unread = [item for item in self.unread if item[0] != channel]
                continue
            self.requests.append((self.now, Command(data[0])))
            if self.stands_still:
                self.unread.append((channel, data))
                continue
            reply = self.answer(data)
            if self.up and not self.lose(reply):
                for _ in range(2 if self.twice(reply) else 1):
                    self.arriving.append((self.now + self.delay, channel, reply))
        self.events += self.session.expired()

    def run(self, seconds):
        """Let time pass; return the events in it."""
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
                self.events += self.session.receive(channel, reply, None, self.now)
            self._transmit()


def started(plan=None, refuses=(), up=True, **options):
    """Return a Huginn that a session is already talking to."""
    huginn = Huginn(FdmdataSession(), **options)
    huginn.refuses, huginn.up = set(refuses), up
    huginn.call(huginn.session.set_plan, DEFAULT if plan is None else plan)
    huginn.call(huginn.session.start)
    return huginn


def met(*arguments, **options):
    """Return a Huginn that has answered."""
    huginn = started(*arguments, **options)
    huginn.run(0.1)
    return huginn


def samples(events, name):
    return [event for event in events if isinstance(event, Telemetry) and event.name == name]


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
    assert {event.name for event in events if isinstance(event, Telemetry)} == set(DEFAULT)


def test_what_is_due_together_is_asked_once():
    huginn = started()
    huginn.requests.clear()
    huginn.run(10.0)
    # Accelerometer, gyroscope and INS 50 times; at 20 per second, every other poll coincides with
    # them, as do those at 10. Gyroscope and INS: 50 + 10; GPS: 20.
    counts = {command: sum(1 for _, c in huginn.requests if c == command) for command in Command}
    assert counts[ACC] == pytest.approx(500, abs=3)
    assert counts[GYRO] == counts[INS] == pytest.approx(600, abs=3)
    assert counts[GPS] == pytest.approx(200, abs=3)
    assert counts[THERMO] == counts[PITOT] == counts[STATIC] == pytest.approx(100, abs=2)
    assert counts[MAG] == 0


def test_without_a_plan_only_the_watch_asks():
    huginn = started({})
    assert not samples(huginn.run(10.0), '')
    assert {command for _, command in huginn.requests} == {ACC, GYRO, INS}
    assert len(huginn.requests) == pytest.approx(60, abs=3)


def test_plan_changes_while_running():
    huginn = started({'gps': PollEntry((GPS,), 20.0)})
    huginn.run(1.0)
    huginn.call(huginn.session.set_plan, {
        'gps': PollEntry((GPS,), 20.0), 'air': PollEntry((THERMO,), 5.0)})
    events = huginn.run(4.0)
    assert len(samples(events, 'gps')) == pytest.approx(80, abs=1)
    assert len(samples(events, 'air')) == pytest.approx(20, abs=1)
    huginn.call(huginn.session.set_plan, {'air': PollEntry((THERMO,), 100.0)})
    events = huginn.run(1.0)
    assert len(samples(events, 'gps')) <= 1
    assert len(samples(events, 'air')) == pytest.approx(100, abs=1)


@pytest.mark.parametrize('wanted', [
    PollEntry((), 20.0), PollEntry((GPS,), 0.0), PollEntry((GPS,), math.nan),
    PollEntry((GPS,), math.inf)])
def test_plan_without_sense_is_refused(wanted):
    with pytest.raises(ValueError, match='gps'):
        FdmdataSession().set_plan({'gps': wanted}, 0.0)


# Loss, errors, duplicates.


def test_lost_replies_cost_their_samples_only():
    chance = random.Random(1)
    huginn = started(delay=0.002)
    huginn.lose = lambda reply: chance.random() < 0.1
    events = huginn.run(20.0)
    # An entry comes through if its last reply does.
    assert len(samples(events, 'gps')) == pytest.approx(360, abs=25)
    imu = samples(events, 'imu')
    assert len(imu) == pytest.approx(900, abs=50)
    # Other losses leave it incomplete; 0.9 ** 2 have none.
    assert sum(1 for sample in imu if len(sample.values) == 3) == pytest.approx(729, abs=50)
    assert not huginn.session.missing(huginn.now)
    statistics = huginn.session.statistics
    assert statistics.lost == pytest.approx(0.1 * statistics.requests, rel=0.2)
    assert statistics.replies + statistics.lost == pytest.approx(statistics.requests, abs=8)
    assert statistics.unexpected == statistics.errors == 0
    assert states(events) == [PeerState.ANSWERING]


def together(sample):
    names = {ACC: 'x', GYRO: 'roll_rate', INS: 'roll'}
    return len({
        getattr(reply, names[command]) for command, reply in sample.values.items()}) == 1


@pytest.mark.parametrize('fault', ['lose', 'twice'])
def test_samples_are_of_one_poll_whatever_the_network_does(fault):
    chance = random.Random(2)
    huginn = started(delay=0.05)
    setattr(huginn, fault, lambda reply: chance.random() < 0.5)
    found = samples(huginn.run(20.0), 'imu')
    assert len(found) > 100
    assert all(together(sample) for sample in found)


def test_no_sample_is_older_than_one_before_it():
    """Polls have sockets of their own, which a busy computer reads in any order."""
    huginn = met({'imu': PollEntry((ACC, GYRO, INS), 50.0)}, delay=0.09)
    newest = samples(huginn.run(0.5), 'imu')[-1].values[INS].roll
    waiting, huginn.arriving, events = huginn.arriving, [], []
    channels = list(dict.fromkeys(channel for _, channel, _ in waiting))
    assert len(channels) > 3
    # The third to arrive is read first, then those that were before it.
    for channel in (channels[2], *channels[:2], *channels[3:]):
        for _, answered, reply in waiting:
            if answered == channel:
                events += huginn.session.receive(channel, reply, None, huginn.now)
    rolls = [sample.values[INS].roll for sample in samples(events, 'imu')]
    assert len(rolls) == len(channels) - 2
    assert rolls == sorted(rolls)
    assert rolls[0] > newest
    assert huginn.session.statistics.unexpected == 0


@pytest.mark.parametrize('kind', ['refuses', 'silent'])
@pytest.mark.parametrize('absent', [GPS, GYRO, INS])
def test_one_sensor_that_does_not_answer_never_stops_the_others(absent, kind):
    huginn = started(delay=0.03)
    huginn.run(1.0)
    if kind == 'refuses':
        huginn.refuses = {absent}
    else:
        huginn.lose = lambda reply: reply[1] == absent
    gap = huginn.run(1.5)
    assert {c for e in samples(gap, 'imu') for c in e.values} >= {ACC, GYRO, INS} - {absent}
    assert list(huginn.session.missing(huginn.now)) == [absent.name.lower()]
    huginn.requests.clear()
    events = huginn.run(6.0)
    assert huginn.session.refused == ({absent} if kind == 'refuses' else set())
    imu = samples(events, 'imu')
    assert len(imu) == pytest.approx(300, abs=5)
    assert all(set(sample.values) == {ACC, GYRO, INS} - {absent} for sample in imu)
    assert bool(samples(events, 'gps')) == (absent != GPS)
    # It is asked again indefinitely, with pauses of up to five seconds.
    asked = [at for at, command in huginn.requests if command == absent]
    assert 1 <= len(asked) <= 4
    assert states(events) == []


def test_an_error_stands_for_one_request_and_the_others_without_reply_are_lost():
    huginn = started({'imu': PollEntry((ACC, GYRO, INS), 10.0)}, refuses=(ACC,))
    lost = [0]

    def lose(reply):
        away = reply[1:2] == bytes((INS,)) and huginn.now < 1001.0
        lost[0] += away
        return away

    huginn.lose = lose
    huginn.run(3.0)
    assert lost[0] > 3
    assert huginn.session.statistics.lost == lost[0]


def test_a_sensor_that_answers_again_is_back_within_the_longest_pause():
    huginn = started(refuses={INS})
    huginn.run(4.0)
    assert huginn.session.refused == {INS}
    huginn.refuses = set()
    huginn.run(5.1)
    assert huginn.session.refused == frozenset()
    assert not huginn.session.missing(huginn.now)
    imu = samples(huginn.run(1.0), 'imu')
    assert len(imu) == pytest.approx(50, abs=1)
    assert all(set(sample.values) == {ACC, GYRO, INS} for sample in imu)


def test_a_slow_sensor_is_not_missing_between_its_polls():
    huginn = started({'gps': PollEntry((GPS,), 0.2)})
    for _ in range(40):
        huginn.run(0.5)
        assert not huginn.session.missing(huginn.now)


@pytest.mark.parametrize(('delay', 'forged'), [(0.0005, 1), (0.03, 3)])
def test_forged_error_bytes_cost_no_sensor_its_rate(delay, forged):
    huginn = started(delay=delay)
    huginn.run(1.0)
    # One byte from Huginn's address to each of our sockets, faster than its own replies.
    answer = huginn.session.poll

    def poll(now):
        outgoing = answer(now)
        for channel in {channel for channel, data in outgoing if data is not None}:
            for _ in range(forged):
                huginn.arriving.insert(0, (now, channel, b'\xff'))
        return outgoing

    huginn.session.poll = poll
    events = huginn.run(5.0)
    for name, wanted in DEFAULT.items():
        assert len(samples(events, name)) == pytest.approx(5.0 * wanted.rate, abs=1)
    assert huginn.session.refused == frozenset()
    assert not huginn.session.missing(huginn.now)
    assert huginn.session.statistics.errors > 100
    assert huginn.session.statistics.lost == 0


def test_error_to_nothing_is_counted():
    huginn = started({})
    huginn.run(0.2)
    assert not huginn.session.receive('data 0', b'\xff', None, huginn.now)
    assert huginn.session.statistics.unexpected == 1
    assert huginn.session.refused == frozenset()


@pytest.mark.parametrize(('data', 'kind'), [
    (b'', 'response code'), (b'\x00', 'response code'), (b'\x01\x00', 'response code'),
    (b'\x00\x08', 'command'), (b'\x00\x00\x00\x00', 'gps'), (b'\x00\x07' + bytes(27), 'ins'),
    (b'\xff\xff', 'response code'),
])
def test_malformed_datagrams_are_counted_by_kind(data, kind):
    huginn = started({})
    assert not huginn.session.receive('data 0', data, None, huginn.now)
    assert huginn.session.statistics.malformed == {kind: 1}
    assert 'bytes' in huginn.session.statistics.last_error or 'reply' in (
        huginn.session.statistics.last_error)


# The state of Huginn.


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


def test_what_huginn_does_is_told_before_what_was_received_of_it():
    huginn = started(delay=0.001)
    assert [type(event) for event in huginn.run(0.002)][:2] == [PeerChanged, Telemetry]
    huginn.run(1.0)
    frozen(huginn, 3.0)
    events = huginn.run(0.1)
    assert [type(event) for event in events][:3] == [PeerChanged, PeerRecognized, Telemetry]
    sound = huginn.answer
    huginn.answer = lambda data: (
        bytes.fromhex('00017fc00000ffc000007fc00000') if data[0] == ACC else sound(data))
    events = huginn.run(0.5)
    broken = events.index(PeerChanged(PeerState.BROKEN))
    assert not [event for event in events[:broken] if isinstance(event, Telemetry) and any(
        math.isnan(value) for reply in event.values.values() for value in reply.values)]


def test_nobody_there_from_the_start():
    huginn = started(up=False)
    assert huginn.run(0.9) == []
    assert states(huginn.run(0.3)) == [PeerState.AWAY]
    statistics = huginn.session.statistics
    assert statistics.lost >= statistics.requests - 2


def frozen(huginn, seconds):
    """Stop the process: requests queue in its socket until it resumes."""
    huginn.stands_still = True
    events = huginn.run(seconds)
    huginn.stands_still = False
    # A socket of ours that was closed meanwhile receives nothing any more.
    huginn.arriving = [
        (huginn.now + 0.001, channel, huginn.answer(data)) for channel, data in huginn.unread]
    huginn.unread.clear()
    return events


def recognized(events):
    return [event.same for event in events if isinstance(event, PeerRecognized)]


def test_thaw_after_a_freeze_recovers_and_is_recognized():
    huginn = met(delay=0.001)
    huginn.controlled(elevator=0.5, throttle=0.75)
    assert states(frozen(huginn, 3.0)) == [PeerState.AWAY]
    events = huginn.run(0.5)
    assert states(events) == [PeerState.ANSWERING]
    assert recognized(events) == [True]
    assert not huginn.session.in_doubt
    assert len(samples(huginn.run(5.0), 'imu')) == pytest.approx(250, abs=3)
    # It holds what it was sent.
    huginn.controlled(elevator=0.25)
    huginn.call(huginn.session.stop)
    assert [values for _, values in huginn.controls[1:]] == [
        (0.0, 0.25, 0.0, 0.75), (0.0, 0.0, 0.0, 0.75)]


def test_stop_in_a_silence_centres_the_same_huginn_when_it_thaws():
    huginn = met(delay=0.001)
    huginn.controlled(elevator=0.5, throttle=0.75)
    huginn.stands_still = True
    huginn.run(3.0)
    huginn.call(huginn.session.stop)
    # In case it reads this after we have gone.
    assert [values for _, values in huginn.controls[1:]] == [(0.0, 0.0, 0.0, 0.75)]
    huginn.run(1.0)
    assert len(huginn.controls) == 2
    frozen(huginn, 0.0)
    huginn.run(2.5)
    assert not huginn.session.leaving
    assert len(huginn.controls) > 4
    assert huginn.session.left == Left()


@pytest.mark.parametrize('back', [False, True])
def test_stop_in_a_silence_says_what_a_huginn_that_stays_away_may_hold(back):
    huginn = met(delay=0.001)
    huginn.controlled(elevator=0.5, throttle=0.75)
    huginn.up = False
    huginn.run(2.0)
    huginn.call(huginn.session.stop)
    huginn.run(1.0)
    huginn.up = back
    huginn.run(2.5)
    assert not huginn.session.leaving
    # One that was restarted gets nothing, and owes nothing.
    assert len(huginn.controls) == 2
    assert huginn.session.left.unconfirmed == (() if back else ('elevator',))
    assert not huginn.session.left.is_error


def placed(huginn, latitude=47.0, longitude=11.0, altitude=600.0):
    """Let the INS report this position, at 50 m/s."""
    sound = type(huginn).answer
    huginn.answer = lambda data: (
        struct.pack('>BB7f', 0, INS, 0.0, 0.0, 90.0, latitude, longitude, 50.0, altitude)
        if data[0] == INS else sound(huginn, data))


@pytest.mark.parametrize('place', [
    {'latitude': 47.02}, {'longitude': -169.0}, {'altitude': 2600.0}])
def test_a_huginn_that_was_restarted_within_a_second_gets_no_old_controls(place):
    huginn = met({}, delay=0.001)
    placed(huginn)
    huginn.run(1.0)
    huginn.controlled(elevator=0.5, throttle=0.75)
    huginn.up = False
    huginn.run(0.6)
    placed(huginn, **place)
    huginn.up = True
    events = huginn.run(1.0)
    assert states(events) == []
    assert recognized(events) == [False]
    with pytest.raises(ValueError, match='throttle'):
        huginn.controlled(elevator=0.25)
    assert not huginn.session.taken
    huginn.call(huginn.session.stop)
    assert not huginn.session.leaving
    assert len(huginn.controls) == 1


def test_an_aircraft_that_flies_is_the_same_however_late_its_replies():
    huginn = met({'ins': PollEntry((INS,), 10.0)}, delay=0.001)
    huginn.controlled(elevator=0.5, throttle=0.75)
    for step in range(20):
        # 50 m/s through the air, 150 over the ground, and half of the replies lost.
        placed(huginn, longitude=179.99 + step * 0.0016)
        huginn.lose = lambda reply, lost=bool(step % 2): lost
        huginn.run(0.8)
    assert recognized(huginn.events) == []
    assert huginn.session.taken


def test_own_reset_is_no_restart():
    huginn = met({}, delay=0.001)
    placed(huginn)
    huginn.run(1.0)
    huginn.call(huginn.session.take_pause)
    huginn.call(huginn.session.expect_reset)
    placed(huginn, latitude=40.0)
    huginn.run(1.0)
    huginn.call(huginn.session.forget_controls)
    huginn.run(1.0)
    assert recognized(huginn.events) == []
    assert huginn.session.taken == ('pause',)


@pytest.mark.parametrize('plan', [DEFAULT, {}])
@pytest.mark.parametrize('works', [True, False])
def test_a_pause_counts_when_the_data_show_it(plan, works):
    huginn = met(plan, delay=0.001)
    huginn.run(2.0)
    for runs in (False, True):
        huginn.held = works and not runs
        if not works and runs:
            huginn.held = True
            huginn.run(1.0)
        ticket = huginn.call(lambda now, runs=runs: huginn.session.expect_motion(runs, 'it', now))
        done = [event for event in huginn.run(3.1) if isinstance(event, CommandDone)]
        assert [event.ticket for event in done] == [ticket]
        assert bool(done[0].error) is not works
        assert works or 'it: sent; not shown within 3 s: its data' in done[0].error


def test_a_pause_of_a_silent_huginn_is_not_shown():
    huginn = met()
    huginn.up = False
    huginn.run(2.0)
    huginn.call(lambda now: huginn.session.expect_motion(False, 'pause', now))
    assert [event.error for event in huginn.run(3.1) if isinstance(event, CommandDone)] == [
        'pause: sent; not shown within 3 s: nothing answers at its address']


@pytest.mark.parametrize('resumed', [True, False])
def test_stop_waits_until_the_data_show_that_the_pause_has_ended(resumed):
    huginn = met()
    huginn.call(huginn.session.take_pause)
    huginn.held = True
    huginn.run(3.0)
    assert huginn.session.taken == ('pause',)
    huginn.call(huginn.session.stop)
    huginn.run(0.5)
    assert huginn.session.unconfirmed == ('pause',)
    huginn.held = not resumed
    huginn.run(0.5 if resumed else 2.6)
    assert not huginn.session.leaving
    left = huginn.session.left
    assert (left.unconfirmed, left.is_error) == ((), False) if resumed else (('pause',), True)
    assert resumed or 'huginn_control.py resume' in left.reason


def test_a_pause_that_somebody_else_has_ended_is_a_contradiction():
    huginn = met()
    huginn.call(huginn.session.take_pause)
    huginn.run(1.0)
    assert huginn.session.contradictions(huginn.now) == ()
    huginn.run(2.0)
    assert 'somebody else has resumed it' in huginn.session.contradictions(huginn.now)[0]


def test_a_restarted_huginn_is_another_one_and_gets_nothing_of_the_former():
    huginn = met(delay=0.001)
    huginn.controlled(elevator=0.5, throttle=0.75)
    huginn.up = False
    huginn.run(12.0)
    huginn.up = True
    events = huginn.run(1.0)
    assert states(events) == [PeerState.ANSWERING]
    assert recognized(events) == [False]
    with pytest.raises(ValueError, match='throttle'):
        huginn.controlled(elevator=0.25)
    huginn.call(huginn.session.centre)
    huginn.call(huginn.session.stop)
    assert len(huginn.controls) == 1


def test_requests_that_wait_fit_into_a_stock_receive_buffer():
    # Which holds 277 small datagrams; a reset takes Huginn some time.
    huginn = started({'all': PollEntry(tuple(Command), 500.0)}, up=False)
    huginn.run(0.45)
    assert len(huginn.requests) == 16 * 8


@pytest.mark.parametrize('plan', [DEFAULT, {}, {'gps': PollEntry((GPS,), 20.0)}])
def test_data_that_stand_still_are_held(plan):
    huginn = started(plan)
    assert states(huginn.run(10.0)) == [PeerState.ANSWERING]
    huginn.held = True
    assert huginn.run(1.9) is not None
    assert huginn.session.peer_state is PeerState.ANSWERING
    assert states(huginn.run(1.2)) == [PeerState.HELD]
    assert states(huginn.run(5.0)) == []
    huginn.held = False
    assert states(huginn.run(0.6)) == [PeerState.ANSWERING]


def test_held_from_the_start():
    huginn = started()
    huginn.held = True
    assert states(huginn.run(3.0)) == [PeerState.ANSWERING, PeerState.HELD]


def test_zeros_of_the_magnetometer_are_not_held():
    huginn = started({'magnetometer': PollEntry((MAG,), 10.0)})
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
    huginn = met()
    huginn.controlled(aileron=0.25, elevator=-0.5, rudder=1.0, throttle=0.75)
    huginn.controlled(elevator=0.5)
    huginn.controlled()
    assert [values for _, values in huginn.controls] == [
        (0.25, -0.5, 1.0, 0.75), (0.25, 0.5, 1.0, 0.75), (0.25, 0.5, 1.0, 0.75)]
    assert all(at == huginn.now for at, _ in huginn.controls)


def test_surfaces_that_never_were_sent_are_centred():
    huginn = met()
    huginn.controlled(elevator=0.5, throttle=1.0)
    assert huginn.controls[0][1] == (0.0, 0.5, 0.0, 1.0)


def test_first_command_without_throttle_is_refused():
    huginn = met()
    with pytest.raises(ValueError, match='throttle'):
        huginn.controlled(aileron=0.5)
    assert not huginn.controls


@pytest.mark.parametrize('bad', [
    {'aileron': math.nan}, {'elevator': 1.1}, {'rudder': -math.inf}, {'throttle': -0.5}])
def test_what_would_harm_the_flight_model_never_leaves(bad):
    huginn = met()
    huginn.controlled(aileron=0.1, throttle=0.5)
    with pytest.raises(ValueError, match=next(iter(bad))):
        huginn.controlled(**bad)
    huginn.controlled()
    assert [values[3] for _, values in huginn.controls] == [0.5, 0.5]
    assert huginn.controls[1][1][0] == pytest.approx(0.1)


def test_commands_to_nobody_are_refused_at_once_and_never_arrive():
    huginn = started(up=False)
    with pytest.raises(PeerAbsentError, match='waiting for the first reply from Huginn at its'):
        huginn.controlled(throttle=0.5)
    huginn.run(2.0)
    with pytest.raises(PeerAbsentError, match='nothing answers at its address'):
        huginn.controlled(throttle=0.5)
    huginn.up = True
    huginn.run(2.0)
    assert not huginn.controls
    huginn.call(huginn.session.stop)
    with pytest.raises(PeerAbsentError, match='not started'):
        huginn.controlled(throttle=0.5)


def test_no_command_goes_to_a_huginn_of_which_it_is_not_known_yet_who_it_is():
    huginn = met(delay=0.001)
    huginn.controlled(elevator=0.5, throttle=0.75)
    huginn.up = False
    huginn.run(2.0)
    huginn.up = True
    while huginn.session.peer_state is PeerState.AWAY:
        huginn.run(0.01)
    with pytest.raises(PeerAbsentError, match='finding out'):
        huginn.controlled(throttle=0.5)
    huginn.call(huginn.session.stop)
    assert len(huginn.controls) == 1


def test_a_command_of_the_throttle_alone_gives_no_surface_back():
    huginn = met()
    huginn.controlled(throttle=0.75)
    assert huginn.session.taken == ('throttle',)
    huginn.call(huginn.session.stop)
    assert [values for _, values in huginn.controls] == [(0.0, 0.0, 0.0, 0.75)]


def test_what_was_commanded_before_a_reset_is_not_repeated_after_it():
    huginn = met()
    huginn.controlled(elevator=0.5, throttle=0.75)
    huginn.call(huginn.session.forget_controls)
    with pytest.raises(ValueError, match='throttle'):
        huginn.controlled(elevator=0.5)
    huginn.call(huginn.session.stop)
    assert len(huginn.controls) == 1


def test_surfaces_are_centred_for_release_timeout_and_a_command_ends_that():
    huginn = met()
    huginn.controlled(elevator=0.5, aileron=0.25, throttle=0.75)
    began = huginn.now
    huginn.call(huginn.session.centre)
    assert not huginn.session.taken[1:]
    assert sorted(huginn.session.unconfirmed) == ['aileron', 'elevator']
    huginn.run(1.0)
    huginn.controlled(elevator=0.125)
    assert huginn.session.unconfirmed == ('aileron',)
    huginn.run(5.0)
    assert not huginn.session.unconfirmed
    values = [values for _, values in huginn.controls[1:]]
    assert set(values) == {(0.0, 0.0, 0.0, 0.75), (0.0, 0.125, 0.0, 0.75)}
    assert len(values) == pytest.approx(14, abs=1)
    # The last one leaves at the end: a line that was cut for that long carries it.
    assert huginn.controls[-1][0] == pytest.approx(began + 3.0)


def test_a_sensor_that_is_asked_no_more_tells_nothing_of_the_flight_model():
    huginn = met()
    sound = huginn.answer
    huginn.answer = lambda data: (
        b'\0\4' + struct.pack('>f', math.nan) if data[0] == THERMO else sound(data))
    assert states(huginn.run(0.5)) == [PeerState.BROKEN]
    huginn.call(huginn.session.set_plan, {'gps': PollEntry((GPS,), 20.0)})
    assert states(huginn.run(1.0)) == [PeerState.ANSWERING]


def test_stop_centres_the_surfaces_and_keeps_the_throttle():
    huginn = met()
    huginn.controlled(aileron=0.25, elevator=-0.5, rudder=1.0, throttle=0.75)
    huginn.call(huginn.session.stop)
    assert huginn.controls[-1][1] == (0.0, 0.0, 0.0, 0.75)
    assert huginn.session.peer_state is PeerState.LEAVING
    with pytest.raises(PeerAbsentError, match='not started'):
        huginn.controlled(elevator=0.5)
    huginn.run(2.9)
    assert huginn.session.leaving
    huginn.run(0.2)
    assert not huginn.session.leaving
    assert huginn.session.left == Left()
    assert {values for _, values in huginn.controls[1:]} == {(0.0, 0.0, 0.0, 0.75)}
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
    assert huginn.session.receive('data 0', bytes.fromhex('0004438e1810'), None, huginn.now) == ()
    assert huginn.run(1.0) == []
    assert huginn.session.peer_state is PeerState.UNKNOWN
