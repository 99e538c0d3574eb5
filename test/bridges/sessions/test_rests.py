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
"""A session that rests needs no poll(): with and without it says and sends the same."""

import random

from mould_simpit import CHANNEL as SERIAL
from mould_simpit import Kerbal
import pytest
from steady_peers import huginn_reply

from xplane_bridge.bridges.fdmdata.protocol import Command
from xplane_bridge.bridges.fdmdata.session import FdmdataSession, PollEntry
from xplane_bridge.bridges.sessions.base import PeerState
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.session import SimpitSession

TICK = 0.001
PLAN = {
    'gps': PollEntry((Command.GPS,), 20.0),
    'imu': PollEntry((Command.ACCELEROMETER, Command.GYROSCOPE, Command.INS), 50.0),
    'air': PollEntry((Command.THERMOMETER, Command.PITOT_TUBE, Command.GPS), 10.0)}


def fly(seed, is_polled_always):
    """Talk to a Huginn for 8 s; return what was sent and told, when, and the number of polls."""
    world, session, now, polls = random.Random(seed), FdmdataSession(), 10.0, 0
    session.set_plan(PLAN, now)
    session.start(now)
    seen, arriving, heard = [], [], False
    while now < 18.0:
        at = session.next_deadline()
        if at is None or now >= at or not session.rests or (heard and is_polled_always):
            polls += 1
            sent = session.poll(now)
            seen += [(now, what) for what in (*sent, *session.expired())]
            # Silent for long enough to count as away, and as good as new after that.
            up = not 12.0 < now < 14.5
            arriving += [
                (now + world.choice((1, 2, 5)) * TICK, channel, huginn_reply(data, now))
                for channel, data in sent
                if data and len(data) == 1 and up and world.random() > 0.03]
        now += TICK
        heard = False
        for reply in [one for one in arriving if one[0] <= now]:
            arriving.remove(reply)
            _, channel, data = reply
            # Now and then it refuses, or a reply is damaged.
            fault = world.random()
            data = b'\xff' if fault < 0.01 else data[:-1] if fault < 0.02 else data
            seen += [(now, event) for event in session.receive(channel, data, None, now)]
            heard = True
    return seen, polls


@pytest.mark.parametrize('seed', range(3))
def test_huginn_is_polled_half_as_often_and_nothing_else_changes(seed):
    seen, polls = fly(seed, False)
    expected, more = fly(seed, True)
    assert seen == expected
    assert len(seen) > 1000
    assert polls < 0.7 * more


@pytest.fixture
def kerbal():
    """Return a session to which a game streams, and the time."""
    session, game, now = SimpitSession(profile='v2'), Kerbal('v2', 10.0), 10.0
    session.start(now)
    session.opened(now)
    while session.peer_state is not PeerState.STREAMING or now < 11.0:
        for channel, data in session.poll(now):
            game.receive(channel, data, now)
        session.expired()
        for channel, data in game.frame(now):
            session.receive(channel, data, None, now)
        now += 0.01
    session.poll(now)
    session.expired()
    return session, now


def say(session, message, now):
    """Let the plugin send a message."""
    return session.receive(
        SERIAL, simpit.encode(message, 'peer', simpit.PROFILES['v2']), None, now)


def test_telemetry_of_a_plugin_asks_for_no_poll_for_a_while(kerbal):
    session, now = kerbal
    for _ in range(5):
        now += TICK
        assert say(session, simpit.Altitude(now, 1.0), now)
        assert session.rests
        assert now < session.next_deadline()
    # What it changes besides, such as since when the plugin is silent, waits no longer than that.
    assert session.next_deadline() <= now + 0.02


def test_a_plugin_that_wants_an_echo_has_it_at_once(kerbal):
    session, now = kerbal
    say(session, simpit.EchoRequest(b'echo'), now + TICK)
    assert not session.rests
    (_, data), = session.poll(now + TICK)
    assert b'echo' in data


def test_a_game_that_leaves_the_flight_is_noticed_at_once(kerbal):
    session, now = kerbal
    say(session, simpit.SceneChange(1), now + TICK)
    assert not session.rests
