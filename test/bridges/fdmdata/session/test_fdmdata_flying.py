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

"""Huginns that fly: exchanged without a silence, reset or not, and slower than they are polled."""

from dataclasses import dataclass, field
from itertools import pairwise
import math
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
from xplane_bridge.bridges.sessions.base import CommandDone, PeerState

DEGREE = 111_195.0
IMU = PollEntry((Command.ACCELEROMETER, Command.GYROSCOPE, Command.INS), 50.0)
GPS = PollEntry((Command.GPS,), 20.0)
PLANS = [{}, {'imu': IMU}, {'gps': GPS}]


@dataclass
class Aircraft:
    """One Huginn: flies north-east from its initial conditions since ``began``, or is held."""

    north: float = 0.0
    east: float = 0.0
    speed: float = 50.0
    held: bool = False
    step: float = 1 / 60
    began: float = 1000.0
    controls: list = field(default_factory=list)

    def answer(self, command, now):
        """Return the reply to a request."""
        steps = 0 if self.held else math.floor((now - self.began) / self.step)
        way = self.speed * steps * self.step / math.sqrt(2.0)
        noise = math.sin(steps)
        latitude = 47.0 + (self.north + way) / DEGREE
        longitude = 11.0 + (self.east + way) / DEGREE / math.cos(math.radians(47.0))
        values = {
            Command.GPS: (latitude, longitude, 600.0, self.speed, 45.0),
            Command.INS: (noise, 0.0, 45.0, latitude, longitude, self.speed, 600.0),
            Command.THERMOMETER: (284.0,)}.get(command, (noise, 0.0, -9.8))
        return struct.pack(f'>BB{len(values)}f', 0, command, *values)

    def reset(self, now):
        """Return to the initial conditions."""
        self.began = now


class World:
    """A session and the Huginn that answers it, after a millisecond."""

    def __init__(self, plan, aircraft):
        self.session = FdmdataSession('there')
        self.now, self.aircraft = 1000.0, aircraft
        # How many copies of a reply come, and after how many seconds.
        self.carries = lambda command: (0.001,)
        self.under_way, self.events = [], []
        self.session.set_plan(plan, self.now)
        self.session.start(self.now)

    def run(self, seconds):
        """Let time pass; return what was told."""
        end, begin = self.now + seconds, len(self.events)
        while True:
            self.send()
            due = [self.session.next_deadline(), *(each[0] for each in self.under_way)]
            at = min((each for each in due if each is not None), default=end)
            if at > end:
                self.now = end
                return self.events[begin:]
            self.now = max(at, self.now + 1e-6)
            for each in sorted(self.under_way):
                if each[0] <= self.now:
                    self.under_way.remove(each)
                    self.events += self.session.receive(*each[1:], None, self.now)

    def send(self):
        """Let the session send."""
        for channel, data in self.session.poll(self.now):
            if channel == CONTROLS_CHANNEL:
                self.aircraft.controls.append(struct.unpack('>4f', data))
            elif data is None:
                self.under_way = [each for each in self.under_way if each[1] != channel]
            else:
                reply = self.aircraft.answer(Command(data[0]), self.now)
                self.under_way += [
                    (self.now + after, channel, reply) for after in self.carries(data[0])]
        self.events += self.session.expired()

    def recognized(self):
        """Return how often another Huginn was told."""
        return sum(isinstance(event, PeerRecognized) for event in self.events)


def flying(plan, seconds=4.0, **options):
    """Return a world in which an aircraft has flown, and was commanded."""
    world = World(plan, Aircraft(**options))
    world.run(seconds)
    world.session.set_controls({'elevator': 0.25, 'throttle': 0.75}, world.now)
    world.run(0.25)
    assert world.session.taken
    return world


# Exchanged.


@pytest.mark.parametrize('plan', PLANS)
@pytest.mark.parametrize('held', [True, False])
@pytest.mark.parametrize(('north', 'east'), [
    (189.0, 0.0), (0.0, -200.0), (190.0, 190.0), (2000.0, 0.0)])
def test_one_that_is_exchanged_without_a_silence_gets_nothing_of_the_former(
        plan, held, north, east):
    world = flying(plan)
    way = 50.0 * 4.25 / math.sqrt(2.0)
    world.aircraft = Aircraft(way + north, way + east, began=world.now, held=held)
    world.run(0.6)
    assert world.recognized() == 1
    assert world.session.taken == ()
    with pytest.raises(ValueError, match='throttle'):
        world.session.set_controls({'elevator': 0.5}, world.now)
    assert world.aircraft.controls == []
    world.run(5.0)
    assert world.recognized() == 1


@pytest.mark.parametrize('plan', PLANS)
@pytest.mark.parametrize('off', [-60.0, 30.0, 100.0])
def test_one_that_is_suddenly_held_a_little_off_is_another(plan, off):
    """As one that was just started is; one that was paused stands on the way that it flew."""
    world = flying(plan)
    way = 50.0 * 4.25 / math.sqrt(2.0)
    world.aircraft = Aircraft(way + off, way - off, held=True)
    world.run(1.2)
    assert world.recognized() == 1
    assert world.session.taken == ()


@pytest.mark.parametrize('plan', PLANS)
@pytest.mark.parametrize('step', [1 / 60, 0.1])
def test_one_that_is_paused_and_goes_on_is_the_same(plan, step):
    world = flying(plan, step=step)
    flown = world.now - world.aircraft.began
    way = 50.0 * math.floor(flown / step) * step / math.sqrt(2.0)
    controls = world.aircraft.controls
    world.aircraft = Aircraft(way, way, held=True, controls=controls)
    world.run(4.0)
    assert world.session.peer_state is PeerState.HELD
    world.aircraft = Aircraft(way, way, began=world.now, step=step, controls=controls)
    world.run(4.0)
    assert world.recognized() == 0
    assert 'elevator' in world.session.taken


@pytest.mark.parametrize('plan', PLANS)
@pytest.mark.parametrize('copies', [
    (0.001, 0.001), (0.001, 0.3), (0.001, 0.7), (0.001, 2.0), (0.05,), (0.25,), (0.45,), (1.2,)])
def test_a_late_reply_or_a_copy_makes_nobody_another(plan, copies):
    world = flying(plan, speed=120.0)
    for number in range(60):
        # One of each few, all sensors alike; not all for as long as a silence.
        world.carries = lambda command, odd=number % 6 == 0: copies if odd else (0.001,)
        world.run(0.17)
    world.carries = lambda command: (0.001,)
    world.run(3.0)
    assert world.recognized() == 0
    assert 'elevator' in world.session.taken


def test_a_single_reply_from_elsewhere_changes_no_belief():
    world = flying({})
    ours, other = world.aircraft, Aircraft(5000.0, 0.0)
    usual, asked = ours.answer, []

    def answer(command, now):
        if command == Command.INS:
            asked.append(now)
        return (other.answer if len(asked) % 3 == 0 else usual)(command, now)

    ours.answer = answer
    world.run(20.0)
    assert len(asked) > 50
    assert world.recognized() == 0
    assert 'elevator' in world.session.taken


# A silence.


@pytest.mark.parametrize('plan', PLANS)
@pytest.mark.parametrize('silence', [1.5, 3.0, 8.0])
def test_one_that_has_flown_on_through_a_silence_is_the_same(plan, silence):
    """The network was away: no request of before is answered, but the aircraft shows it."""
    world = flying(plan)
    world.carries = lambda command: ()
    world.run(silence)
    assert world.session.peer_state is PeerState.AWAY
    before = len(world.aircraft.controls)
    world.carries = lambda command: (0.001,)
    told = [each for each in world.run(0.8) if isinstance(each, PeerRecognized)]
    assert told == [PeerRecognized(same=True)]
    assert 'elevator' in world.session.taken
    assert len(world.aircraft.controls) == before
    # And what was released meanwhile is given back.
    world.session.set_controls({'elevator': 0.5}, world.now)
    world.run(0.1)
    assert world.aircraft.controls[-1] == (0.0, 0.5, 0.0, 0.75)


@pytest.mark.parametrize('plan', PLANS)
@pytest.mark.parametrize('silence', [1.5, 3.0, 8.0])
@pytest.mark.parametrize('flown', [1.0, 4.0, 60.0])
@pytest.mark.parametrize('held', [True, False])
def test_one_that_was_restarted_in_a_silence_is_another(plan, silence, flown, held):
    world = flying(plan, flown)
    world.carries = lambda command: ()
    world.run(silence)
    world.carries = lambda command: (0.001,)
    world.aircraft = Aircraft(held=held, began=world.now - 0.2)
    told = [each for each in world.run(0.8) if isinstance(each, PeerRecognized)]
    assert [each.same for each in told] == [False]
    assert world.session.taken == ()
    assert world.aircraft.controls == []


# Reset.


def reset(world, does):
    """Call the service's part of the session, with an XML-RPC that says that all is well."""
    world.session.expect_reset(world.now)
    world.run(0.05)
    if does:
        world.aircraft.reset(world.now)
    world.run(0.05)
    ticket = world.session.await_reset(world.now)
    done = [each for each in world.run(3.1) if isinstance(each, CommandDone)]
    world.session.end_reset(world.now)
    assert [each.ticket for each in done] == [ticket]
    return done[0]


@pytest.mark.parametrize('plan', PLANS)
@pytest.mark.parametrize('flown', [0.5, 2.0, 6.0, 60.0])
def test_a_reset_is_done_when_the_aircraft_is_seen_to_be_back(plan, flown):
    world = flying(plan, flown)
    done = reset(world, True)
    assert (done.error, done.message) == ('', 'back at the initial conditions')
    # Huginn has trimmed, and moved its controls itself.
    assert world.session.taken == ()
    world.run(5.0)
    assert world.recognized() == 0


@pytest.mark.parametrize('plan', PLANS)
@pytest.mark.parametrize('flown', [6.0, 60.0])
def test_a_reset_that_says_true_and_does_nothing_is_not_done(plan, flown):
    world = flying(plan, flown)
    done = reset(world, False)
    assert done.error == (
        'reset: sent; not shown within 3 s: the aircraft is not suddenly elsewhere')
    # What was commanded still holds, and is given back.
    assert 'elevator' in world.session.taken
    # One that shows late is still ours.
    world.run(1.0)
    world.aircraft.reset(world.now)
    world.run(1.2)
    assert world.session.taken == ()
    assert world.recognized() == 0


def test_a_reset_at_the_initial_conditions_shows_if_an_earlier_one_has_shown_them():
    world = flying({}, 6.0)
    world.aircraft.speed = 0.0
    world.aircraft.north = 5000.0
    assert reset(world, True).message == 'back at the initial conditions'
    assert reset(world, True).message == 'back at the initial conditions'
    parked = flying({}, speed=0.0)
    assert 'not shown' in reset(parked, True).error


def test_a_reset_long_after_another_is_no_longer_ours():
    world = flying({}, 20.0)
    reset(world, True)
    world.run(20.0)
    world.aircraft.reset(world.now)
    world.run(1.2)
    assert world.recognized() == 1


def test_a_reset_of_one_that_is_silent_is_not_shown():
    world = flying({}, 6.0)
    world.carries = lambda command: ()
    world.run(2.0)
    assert 'nothing answers' in reset(world, True).error


# Repeats.


@pytest.mark.parametrize(('step', 'published'), [(0.1, 40), (1 / 60, 200)])
def test_what_huginn_repeats_between_two_steps_is_not_published_again(step, published):
    """As with its option --dt 0.1: it makes 10 steps per second, and is polled 50 times."""
    world = World({'imu': IMU, 'gps': GPS}, Aircraft(step=step))
    # Until the first step is seen, it may be held.
    world.run(0.21)
    before = world.session.statistics.repeats
    events = [each for each in world.run(4.0) if isinstance(each, Telemetry)]
    imu, gps = ([each for each in events if each.name == name] for name in ('imu', 'gps'))
    assert len(imu) == pytest.approx(published, abs=1)
    assert len(gps) == pytest.approx(min(published, 80), abs=1)
    values = [each.values[Command.ACCELEROMETER].values for each in imu]
    assert all(one != other for one, other in pairwise(values))
    assert world.session.statistics.repeats - before == 280 - len(events)


@pytest.mark.parametrize('plan', [{'imu': IMU}, {'ins': PollEntry((Command.INS,), 20.0)}])
def test_an_aircraft_of_which_only_the_accelerometer_changes_is_published(plan):
    aircraft = Aircraft(speed=0.0)
    usual = aircraft.answer
    aircraft.answer = lambda command, now: usual(
        command, now if command == Command.ACCELEROMETER else aircraft.began)
    events = [each for each in World(plan, aircraft).run(4.0) if isinstance(each, Telemetry)]
    assert len(events) > 75


def test_a_parked_aircraft_has_a_fix_as_often_as_it_is_polled_while_the_simulation_runs():
    world = World({'gps': GPS}, Aircraft(speed=0.0))
    assert len([each for each in world.run(4.0) if isinstance(each, Telemetry)]) > 75


def test_one_that_is_held_is_published_as_it_is_and_told_to_be_held():
    world = World({'imu': IMU}, Aircraft(held=True))
    world.run(2.5)
    assert len([each for each in world.run(2.0) if isinstance(each, Telemetry)]) > 95
    assert world.session.peer_state is PeerState.HELD
    assert world.session.statistics.repeats == 0
