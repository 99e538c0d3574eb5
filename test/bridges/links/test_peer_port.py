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

"""Which port of its computer is the peer: learnt, locked, and released when it is silent."""

import pytest
from scripted_xplane import PEER, receive_beacon, Run, SOURCES, XPlane

from xplane_bridge.bridges.links.peer import FixedPort, LearntPort
from xplane_bridge.bridges.xplane_udp import protocol as xp
from xplane_bridge.bridges.xplane_udp.session import XplaneUdpSession

TRUE, FORGED, AFTER_RESTART = 49001, 40404, 51515


class Session:
    """A session's view of its peer."""

    has_peer = had_peer = False


def heard(port, session, sender, meets=True):
    """Deliver a datagram; return whether it was accepted."""
    if not port.admits(sender):
        return False
    session.has_peer |= meets
    session.had_peer |= meets
    port.settle(sender)
    return True


def test_a_fixed_port_admits_itself_alone_and_0_admits_all():
    assert FixedPort(TRUE).admits(TRUE)
    assert not FixedPort(TRUE).admits(FORGED)
    assert FixedPort(0).admits(FORGED)


def test_the_port_that_answers_is_locked_until_silence():
    session = Session()
    port = LearntPort(session)
    assert port.only == 0
    # Malformed datagrams prove nothing, whoever sends them.
    assert heard(port, session, FORGED, meets=False)
    assert port.only == 0
    assert heard(port, session, TRUE)
    assert port.only == TRUE
    assert not heard(port, session, FORGED)
    assert heard(port, session, TRUE)
    session.has_peer = False
    assert port.only == 0
    assert heard(port, session, AFTER_RESTART)
    assert port.only == AFTER_RESTART
    assert not heard(port, session, TRUE)


def test_silence_between_two_datagrams_of_other_sockets_unlocks():
    session = Session()
    port = LearntPort(session)
    heard(port, session, TRUE)
    session.has_peer = False
    # A beacon's socket needs no admission, yet what it brings settles the peer.
    port.settle(FORGED)
    assert heard(port, session, AFTER_RESTART)
    assert port.only == AFTER_RESTART


def test_what_is_unasked_is_no_way_in_while_a_peer_that_answers_is_silent():
    session = Session()
    port = LearntPort(session)
    unasked = port.unasked
    assert unasked.admits(FORGED)
    assert unasked.admits(TRUE)
    heard(port, session, TRUE)
    assert unasked.admits(TRUE)
    assert not unasked.admits(FORGED)
    session.has_peer = False
    assert unasked.admits(TRUE)
    assert not unasked.admits(AFTER_RESTART)
    heard(port, session, AFTER_RESTART)
    assert unasked.admits(AFTER_RESTART)
    assert not unasked.admits(TRUE)


def test_unasked_from_a_peer_that_answers_nothing_comes_from_any_port_after_silence():
    session = Session()
    port = LearntPort(session)
    heard(port, session, TRUE)
    session.has_peer = session.had_peer = False
    assert port.unasked.admits(AFTER_RESTART)


@pytest.mark.parametrize('version', [6, 7, 8, 9, 10, 11, 12])
def test_x_plane_is_met_by_what_was_asked_and_left_by_silence(version):
    run = Run(version=version).start()
    assert not run.session.has_peer
    assert not run.session.had_peer
    run.run(2.0)
    assert run.session.has_peer
    assert run.session.had_peer is (version >= 10)
    run.peer.on = False
    run.run(2.5)
    assert not run.session.has_peer
    assert run.session.had_peer is (version >= 10)
    run.session.stop(run.now)
    run.run(1.0)
    assert not run.session.had_peer


def test_rows_that_nobody_asked_for_do_not_meet_x_plane():
    run = Run(version=12).start()
    rows = xp.Data((xp.Segment(20, (1.0,) * 8),), xp.default_layout(12, 'peer'))
    run.session.receive('data', xp.encode(rows), None, run.now)
    assert run.session.peer_state.name == 'ANSWERING'
    assert not run.session.has_peer


def test_a_restart_on_another_port_is_taken_within_the_silence():
    """The link drops the new port while the old one may still answer: for 1 s, and asking."""
    run = Run(version=12).start()
    port = LearntPort(run.session)
    run.run(1.0)
    port.settle(TRUE)
    assert not port.admits(AFTER_RESTART)
    # To the session that is silence: the new port's answers are dropped.
    run.peer.on = False
    restarted = run.now
    while not port.admits(AFTER_RESTART):
        run.run(0.05)
        assert run.now < restarted + 2.0
    assert 0.9 < run.now - restarted < 1.2
    run.peer.on = True
    run.peer.restart()
    run.run(1.2)
    assert run.session.has_peer
    port.settle(AFTER_RESTART)
    assert port.only == AFTER_RESTART
    assert not port.admits(FORGED)


def beacon():
    return xp.Becn(1, 2, 1, 121001, 1, PEER[1], 'simpc', 49010)


@pytest.mark.parametrize('discovers', [False, True])
def test_beacons_forged_on_another_port_do_not_keep_a_silent_x_plane_alive(discovers):
    """The very bytes of X-Plane's beacon, from another port of its computer."""
    run = Run(XPlane(12))
    run.session = XplaneUdpSession(
        SOURCES, rate=50.0, peer=None if discovers else PEER)
    run.start()
    receive_beacon(run.session, beacon(), (PEER[0], TRUE), run.now)
    run.run(2.0)
    assert run.session.peer_state.name == 'ANSWERING'
    run.peer.on = False
    for _ in range(2):
        receive_beacon(run.session, beacon(), (PEER[0], FORGED), run.now)
        run.run(2.0)
    assert run.session.peer_state.name == 'AWAY'
