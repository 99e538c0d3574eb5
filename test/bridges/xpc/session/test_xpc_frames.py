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

"""A frame of the simulator that is answered twice is published once."""

import pytest

from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session.events import Polled, Statistics
from xplane_bridge.bridges.xpc.session.flow import FRAME_GAP
from xplane_bridge.bridges.xpc.session.requests.telemetry import AircraftPoll

NAMES = ('lat', 'lon', 'el', 'sim/time/total_running_time_sec', 'sim/time/paused')
POLLED = Polled(NAMES, NAMES[:3])


def make():
    return AircraftPoll(0, POLLED, 0.0, Statistics())


def answer(poll, now, time, latitude=47.5, paused=0.0):
    """Poll, and answer after 10 ms; return the telemetry and the gap to the next poll."""
    poll.start(now)
    now += 0.010
    place = xpc.PositionReply(1, latitude, 8.0, 1500.0, 0.0, 0.0, 90.0, 1.0)
    assert poll.receive('position 0 0', place, now) is None
    rows = ((latitude,), (8.0,), (1500.0,), (time,), (paused,))
    telemetry = poll.receive('state 0 0', xpc.Datarefs(rows), now)
    return telemetry, poll.pace.gap


def test_a_frame_answered_twice_is_dropped_and_the_gap_widens():
    poll = make()
    telemetry, gap = answer(poll, 1.0, 10.0)
    assert telemetry is not None
    assert gap == pytest.approx(FRAME_GAP)
    telemetry, gap = answer(poll, 1.1, 10.0)
    assert telemetry is None
    assert gap == pytest.approx(2 * FRAME_GAP)
    telemetry, gap = answer(poll, 1.2, 10.017, 47.75)
    assert telemetry is not None
    assert FRAME_GAP < gap <= 2 * FRAME_GAP + 1e-9


def test_the_gap_stays_below_a_frame_and_comes_back():
    poll = make()
    for n in range(20):
        answer(poll, 1.0 + n, 10.0 + n // 2, 47.5 + n // 2)
    _, widest = answer(poll, 30.0, 50.0)
    assert widest <= 0.012 + 1e-9
    for n in range(3000):
        _, gap = answer(poll, 40.0 + n, 60.0 + n)
    assert gap == pytest.approx(FRAME_GAP)


def test_a_simulator_whose_time_stands_still_goes_on_being_published():
    poll = make()
    published = [answer(poll, 1.0 + n, 10.0, paused=1.0)[0] is not None for n in range(10)]
    assert published == [True] + [False] * 3 + [True] * 6
    _, gap = answer(poll, 20.0, 10.0, paused=1.0)
    assert gap == pytest.approx(FRAME_GAP)


def test_an_aircraft_that_moves_while_the_time_seems_to_stand_is_published():
    # After many hours a float32 of seconds has steps longer than a frame.
    poll = make()
    assert all(answer(poll, 1.0 + n, 300000.0, 47.5 + n / 8)[0] for n in range(10))


def test_without_the_running_time_every_answer_is_taken():
    poll = AircraftPoll(0, Polled(NAMES[:3], NAMES[:3]), 0.0, Statistics())
    for n in range(3):
        poll.start(n)
        place = xpc.PositionReply(1, 47.5, 8.0, 1500.0, 0.0, 0.0, 90.0, 1.0)
        poll.receive('position 0 0', place, n + 0.01)
        rows = ((47.5,), (8.0,), (1500.0,))
        assert poll.receive('state 0 0', xpc.Datarefs(rows), n + 0.01) is not None


def test_time_that_stands_still_without_a_pause_does_not_widen_the_gap():
    poll = make()
    published = [answer(poll, 1.0 + n, 10.0)[0] is not None for n in range(10)]
    assert published == [True] + [False] * 3 + [True] * 6
    _, gap = answer(poll, 20.0, 10.017, 47.75)
    assert gap == pytest.approx(FRAME_GAP)


def test_a_poll_asked_for_is_due_at_once_and_the_next_a_period_later():
    poll = AircraftPoll(0, POLLED, 0.1, Statistics())
    poll.pace.due = 1.0
    answer(poll, 1.0, 10.0)
    assert poll.pace.due == pytest.approx(1.1)
    poll.poll_now(1.02)
    answer(poll, 1.02, 10.017, 47.75)
    assert poll.pace.due == pytest.approx(1.12)
