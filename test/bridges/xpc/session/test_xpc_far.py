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

"""The session with a plugin over a slow, lossy network, in simulated time."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest
from scripted_xpc import (
    busiest_second,
    check_telemetry,
    frame_of,
    latitude,
    names_of,
    RUNNING_TIME,
    telemetry,
    World,
)

from xplane_bridge.bridges.sessions.base import CommandDone, PeerChanged, PeerState, ReadDone
from xplane_bridge.bridges.sessions.round_trip import RoundTrip
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session import Polled, WatchedDatarefs, XpcSession

pytestmark = pytest.mark.slow

NAMES = names_of(0, RUNNING_TIME)


def pose_of(values):
    """Return the scripted plugin's pose, as LocalAxes does for X-Plane's."""
    lat = latitude(round(values['plane0/frame'])) + 1e-6
    return xpc.PositionReply(0, lat, 0.0, 100.0, 0.0, 0.0, 0.0, 0.0)


LOCATED = Polled(NAMES.names, NAMES.place, pose_of)


def started(rate, round_trip, settle, *, polled=NAMES, jitter=0.0, budget=240.0, **options):
    """Return a world with that round trip, whose session has found out what is possible."""
    session = XpcSession({0: polled}, rate=rate, budget=budget)
    world = World(
        session, delay=(round_trip / 2.0, round_trip / 2.0 + jitter), datarefs={'on': (1.0,)},
        **options)
    world.call(session.start)
    world.run(settle)
    world.polls.clear()
    return world


def frames_of(events):
    """Return the frames published, which must be in order, and each once."""
    check_telemetry(events)
    frames = [frame_of(update.pose.lat) for _, update in telemetry(events)]
    assert frames == sorted(set(frames))
    return frames


def requested_twice(world):
    return sum(count - 1 for (_, data), count in world.polls.items() if data[:4] == b'GETP')


@pytest.mark.parametrize(('round_trip', 'settle'), [
    (0.02, 4.0), (0.04, 4.0), (0.24, 8.0), (0.6, 15.0), (1.0, 35.0)])
def test_every_frame_comes_once_and_in_order_at_rate_0(round_trip, settle):
    world = started(0.0, round_trip, settle)
    frames = frames_of(world.run(10.0))
    assert len(frames) >= 10 * 57
    # Only to find out whether frames have become shorter.
    assert requested_twice(world) <= 20
    assert world.resets == 0
    assert busiest_second(world.sent) <= 240


@pytest.mark.parametrize(('round_trip', 'settle'), [(0.04, 4.0), (0.24, 6.0), (1.0, 12.0)])
def test_rate_50_is_reached(round_trip, settle):
    world = started(50.0, round_trip, settle)
    assert len(frames_of(world.run(10.0))) >= 10 * 49
    assert requested_twice(world) == 0


def test_55_of_60_frames_come_over_40_ms_and_2_percent_loss():
    world = started(0.0, 0.04, 4.0, polled=LOCATED, loss=0.02)
    assert len(frames_of(world.run(30.0))) >= 30 * 56


def test_48_of_50_come_over_240_ms_and_jitter():
    world = started(50.0, 0.24, 8.0, polled=LOCATED, jitter=0.008)
    assert len(frames_of(world.run(20.0))) >= 20 * 48


def test_a_lost_or_torn_position_is_taken_from_the_datarefs():
    world = started(0.0, 0.0002, 1.0, polled=LOCATED)
    world.silent_to_tags = {b'GETP'}
    assert len(frames_of(world.run(2.0))) == pytest.approx(120, abs=2)
    world.silent_to_tags = set()
    world.delay = (0.0, 0.02)
    assert len(frames_of(world.run(5.0))) > 5 * 30


@pytest.mark.parametrize('silent', [set(), {b'GETP'}])
def test_in_lockstep_the_pose_never_comes_from_the_datarefs(silent):
    """Check that chance does not decide by which of two precisions an aircraft is flown."""
    located = Polled(NAMES.names, NAMES.place, lambda values: replace(pose_of(values), alt=99.9))
    session = XpcSession({0: located}, rate=0.0, budget=1000.0, lockstep=True)
    world = World(session, delay=(0.0, 0.02))
    world.silent_to_tags = silent
    world.call(session.start)
    altitudes = {update.pose.alt for _, update in telemetry(world.run(5.0))}
    assert altitudes == (set() if silent else {100.0})


@pytest.mark.parametrize('fps', [20.0, 30.0, 45.0, 90.0])
def test_other_frame_rates_are_found(fps):
    world = started(0.0, 0.1, 6.0, fps=fps)
    assert len(frames_of(world.run(10.0))) >= 10 * 0.95 * min(fps, 110.0)
    assert requested_twice(world) <= 0.05 * 10 * fps


def test_a_frame_rate_that_changes_is_followed():
    world = started(0.0, 0.04, 5.0)
    for fps in (30.0, 75.0, 50.0):
        world.fps = fps
        world.run(11.0)
        assert len(frames_of(world.run(5.0))) >= 5 * 0.93 * fps


def test_a_network_that_becomes_slower_or_faster_is_followed():
    world = started(0.0, 0.0002, 3.0)
    for one_way in (0.12, 0.02, 0.0001):
        world.delay = (one_way, one_way)
        world.run(25.0)
        assert len(frames_of(world.run(5.0))) >= 5 * 56
    world.polls.clear()
    world.run(20.0)
    assert requested_twice(world) == 0


def test_nearby_no_frame_is_requested_twice_whatever_it_lasts():
    world = started(0.0, 0.0004, 1.0)
    for number in range(400):
        world.fps = (60.0, 35.0, 45.0, 100.0)[number * 7 % 4]
        world.run(0.1)
    assert requested_twice(world) == 0


def test_a_freeze_at_a_distance_leaves_room_for_what_follows():
    world = started(50.0, 0.04, 4.0)
    world.freeze(0.8)
    world.run(3.0)
    assert world.resets == 0
    assert len(frames_of(world.run(2.0))) >= 2 * 49


# Reads, watched datarefs and commands.


@pytest.mark.parametrize('round_trip', [0.6, 1.0])
def test_reads_and_commands_work(round_trip):
    world = started(20.0, round_trip, 6.0)
    assert world.session.peer_state is PeerState.ANSWERING
    world.events.clear()
    tickets = [world.call(world.session.read_datarefs, [f'n/{n}/1']) for n in range(5)]
    written = world.call(world.session.send, xpc.Text(1, 2, 'x'), awaited=True)
    events = [event for _, event in world.run(4.0)]
    read = {event.ticket: event for event in events if isinstance(event, ReadDone)}
    assert [read[ticket].values for ticket in tickets] == [((float(n),),) for n in range(5)]
    assert [event for event in events if isinstance(event, CommandDone)] == [
        CommandDone(written, 'TEXT', message='sent; this protocol cannot confirm it')]
    # Nothing was lost, so nothing was sent twice.
    assert len([data for _, channel, data in world.sent if channel.startswith('read')]) == 5
    assert not [event for event in events if isinstance(event, PeerChanged)]


def test_watched_datarefs_come_at_a_distance():
    world = started(20.0, 0.6, 6.0)
    lost = world.session.statistics.lost
    world.call(world.session.watch, ['sim/n/1/1'], 1.0)
    events = [event for _, event in world.run(8.0) if isinstance(event, WatchedDatarefs)]
    assert len(events) >= 6
    assert world.session.statistics.lost == lost


def test_a_slow_start_settles():
    """Before anything is known a second of silence counts as absence; the late reply corrects."""
    world = started(1.0, 1.0, 10.0)
    assert len(telemetry(world.run(10.0))) == pytest.approx(10, abs=1)
    assert not [event for _, event in world.run(10.0) if isinstance(event, PeerChanged)]


# Any network.


@settings(max_examples=25, deadline=None)
@given(
    round_trip=st.floats(0.0, 0.7), jitter=st.floats(0.0, 0.1), loss=st.floats(0.0, 0.2),
    duplication=st.floats(0.0, 0.2), rate=st.sampled_from([0.0, 20.0, 50.0]),
    fps=st.sampled_from([20.0, 30.0, 60.0]), seed=st.integers(0, 1000))
def test_on_any_network_frames_come_in_order_and_the_budget_is_kept(
        round_trip, jitter, loss, duplication, rate, fps, seed):
    world = started(
        rate, round_trip, 0.0, jitter=jitter, loss=loss, duplication=duplication, fps=fps,
        seed=seed, polled=LOCATED)
    assert frames_of(world.run(6.0))
    assert busiest_second(world.sent) <= 240
    assert world.resets == 0


# The time-out.


def make_trip():
    return RoundTrip(first=0.2, shortest=0.03, longest=3.0)


def test_the_timeout_follows_mean_and_variation():
    trip = make_trip()
    assert trip.timeout == 0.2
    # RFC 6298, section 2: R, then R + 4 R / 2, then smoothed.
    trip.learn(0.1, 0.0)
    assert trip.timeout == pytest.approx(0.1 + 4.0 * 0.05)
    trip.learn(0.2, 0.1)
    variation = 0.05 + (0.1 - 0.05) / 4.0
    assert trip.timeout == pytest.approx(0.1125 + 4.0 * variation)
    assert trip.shortest == 0.1


def test_the_timeout_doubles_once_a_flight_and_comes_back():
    trip = make_trip()
    trip.learn(0.02, 0.0)
    usual = trip.timeout
    for sent_at in (1.0, 1.01, 1.02):
        trip.back_off(sent_at, 1.1)
    assert trip.timeout == usual
    trip.back_off(1.2, 1.3)
    trip.back_off(1.4, 1.5)
    assert trip.timeout == pytest.approx(4.0 * usual)
    trip.learn(0.02, 2.0)
    assert trip.timeout < 1.1 * usual


def test_a_peer_that_had_stopped_is_no_further_away():
    trip = make_trip()
    for number in range(100):
        trip.learn(0.016, number / 60.0)
    trip.learn(0.9, 3.0)
    assert trip.timeout <= 0.5
