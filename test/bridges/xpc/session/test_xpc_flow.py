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

"""How much may be sent to a plugin, and when it is polled again, step by step."""

from dataclasses import replace

from fuzz import held
import pytest
from scripted_xpc import names_of, RUNNING_TIME, World

from xplane_bridge.bridges.sessions.base import PeerChanged, PeerState
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session import Polled, XpcSession
from xplane_bridge.bridges.xpc.session.events import Statistics
from xplane_bridge.bridges.xpc.session.flow import Flow, FRAME_GAP
from xplane_bridge.bridges.xpc.session.requests.telemetry import AircraftPoll

POSITION = xpc.PositionReply(
    gear_handle=0, lat=40.0, lon=8.0, alt=100.0, pitch=1.0, roll=2.0, heading=3.0, gear=1.0,
    precision=64)
NAMES = ('lat', 'lon', 'alt')
PLACE = ((40.0,), (8.0,), (100.0,))


# What is charged.


def test_urgent_datagrams_use_up_the_budget():
    flow = Flow(240.0)
    assert flow.when_command(0.0) == 0.0
    flow.charge(8, 0.0)
    assert not flow.take_command(0.0)
    assert not flow.take_poll(1, 0.0)
    at = flow.when_command(0.0)
    assert at is None, 'the plugin may not have read them'
    flow.ask('state')
    flow.answer('state', 0.001)
    at = flow.when_command(0.01)
    assert at is not None
    assert flow.take_command(at)


def test_a_frame_that_lasts_ends_although_copies_of_replies_come_without_end():
    flow, now, sent = Flow(1e5), 0.0, 0
    while flow.take_poll(1, now):
        flow.ask('position')
        flow.answer('position', now)
        flow.show_frame(7.0)
        now, sent = now + 2.0 * FRAME_GAP, sent + 1
    assert sent == 16
    end = now + 0.25
    while not flow.take_poll(1, now):
        assert now < end
        flow.answer('position', now)
        flow.show_frame(7.0)
        now += 0.01
    assert now > end - 0.1


def test_urgent_datagrams_are_among_those_that_the_plugin_has_not_read():
    flow = Flow(240.0)
    flow.charge(3, 0.0)
    flow.ask('state')
    # Long after, so that the budget is full again: one more may wait for the same frame.
    assert flow.sent_commands == 3
    assert flow.take_command(10.0)
    assert not flow.take_command(10.0)
    assert flow.when_command(10.0) is None
    assert flow.answer('state', 10.01) == 3
    assert flow.read_commands == 3
    # The frame that has answered may go on, and what is sent now count for it.
    assert not flow.take_command(10.01)
    assert flow.take_command(flow.when_command(10.01))


def test_in_lockstep_a_frame_is_over_when_it_has_answered():
    """A fast simulator was held back: its frames counted as one until it rested for 2 ms."""
    flow, now = Flow(1e5, frame_gap=0.0), 0.0
    for _ in range(50):
        now += 0.0005
        assert flow.when_command(now) == now
        assert flow.take_command(now)
        assert flow.take_poll(2, now)
        for channel in ('position', 'state'):
            flow.ask(channel)
        for channel in ('position', 'state'):
            flow.answer(channel, now + 0.0004)


def test_giving_back_is_saved_afterwards():
    session = XpcSession({0: names_of(0)}, rate=50.0, budget=20.0)
    world = World(session)
    world.call(session.start)
    world.run(2.0)
    world.call(session.send, xpc.Simulation(xpc.SimulationOp.PAUSE))
    world.call(session.set_controls, {'elevator': 0.5, 'throttle': 0.5})
    world.run(2.0)
    world.sent.clear()
    world.run(2.0)
    usual = len(world.sent)
    world.sent.clear()
    world.call(session.release)
    assert len(world.sent) >= 3
    world.run(2.0)
    assert len(world.sent) <= usual + 1


# When silence is judged.


def test_silence_counts_from_the_last_reply_while_others_are_outstanding():
    """A peer that answers one poll of two and stops is away a second later, not at the next."""
    session = XpcSession({n: names_of(n) for n in range(2)}, rate=1.0)
    session.start(0.0)
    assert [channel for channel, _ in session.poll(0.0)] == [
        'position 0 0', 'state 0 0', 'position 1 0', 'state 1 0']
    reply = b'POSI\0' + bytes(1) + bytes(40)
    assert session.receive('position 0 0', reply, None, 0.1)
    now = 0.1
    while session.peer_state is PeerState.ANSWERING and now < 3.0:
        session.poll(now)
        now = round(now + 0.01, 2)
    assert now == pytest.approx(1.1, abs=0.021)
    assert PeerChanged(PeerState.AWAY) in session.expired()


def test_peer_that_owes_nothing_is_not_waited_for():
    """Between two infrequent polls there is no silence: a command leaves at once."""
    session = XpcSession({0: names_of(0)}, rate=0.5)
    world = World(session)
    world.call(session.start)
    world.run(0.1)
    assert world.session.peer_state is PeerState.ANSWERING
    last = max(at for at, _, _ in world.sent)
    world.run(last + 0.45 - world.now)
    world.sent.clear()
    world.call(session.send, xpc.Text(1, 2, 'x'))
    assert [(at, channel) for at, channel, _ in world.sent] == [(world.now, 'command')]


# The next poll.


def polled(period=1.0):
    poll = AircraftPoll(0, Polled(NAMES, NAMES), period, Statistics())
    poll.suspend(0.0)
    poll.begin(0.0)
    poll.start(0.0)
    return poll


def test_replies_of_two_frames_are_asked_again_at_once():
    poll = polled()
    assert poll.receive('position 0 0', replace(POSITION, lat=41.0), 0.01) is None
    assert poll.receive('state 0 0', xpc.Datarefs(PLACE), 0.02) is None
    assert not poll.waiting
    assert poll.pace.due == 0.02 + FRAME_GAP


def test_replies_of_one_frame_keep_the_schedule():
    poll = polled()
    assert poll.receive('position 0 0', POSITION, 0.01) is None
    assert poll.receive('state 0 0', xpc.Datarefs(PLACE), 0.02) is not None
    assert poll.pace.due == 1.0


def test_frame_that_answers_twice_is_asked_again_at_once():
    poll = AircraftPoll(0, Polled((*NAMES, RUNNING_TIME), NAMES), 1.0, Statistics())
    poll.suspend(0.0)
    poll.begin(0.0)
    gaps = []
    for start in (0.0, 1.0, 2.0):
        poll.start(start)
        poll.receive('position 0 0', POSITION, start)
        time = 7.0 if start else 6.0
        update = poll.receive('state 0 0', xpc.Datarefs((*PLACE, (time,))), start + 0.01)
        gaps.append((update is not None, round(poll.pace.due - start - 0.01, 9)))
    # Two new frames, then the second again: the gap to the next is wider.
    assert gaps == [(True, 0.99), (True, 0.99), (False, pytest.approx(2.0 * FRAME_GAP, rel=0.01))]


def test_nothing_is_kept_of_what_has_arrived():
    flow = Flow(240.0)
    for now in range(1000):
        assert flow.take_poll(1, float(now))
        flow.ask('state 0')
        flow.answer('state 0', float(now))
    elements, _ = held(flow)
    assert elements < 50
