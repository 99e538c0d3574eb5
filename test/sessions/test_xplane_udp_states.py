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

"""
Situations of a conversation with X-Plane's native UDP, which visit each cell of its table.

Time is simulated; what is compared is what the owner and X-Plane see.
"""

import struct

from scripted_xplane import hear_beacon, PEER, Run, SOURCES, steer, XPlane

from xplane_bridge.protocols import xplane_udp as xp
from xplane_bridge.sessions.base import Left, PeerState
from xplane_bridge.sessions.xplane_udp import VersionFound, XplaneUdpSession


def off(run, seconds=2.0):
    """Let X-Plane be silent for some time."""
    run.peer.on = False
    return run.run(seconds)


def stray(run, channel='telemetry'):
    """Let one datagram arrive that tells nothing of which run of X-Plane it is."""
    run.events += run.session.receive(
        channel, b'RREF,' + struct.pack('<if', 0, 1.0), None, run.now)


def rows(run):
    """Return the rows that X-Plane was sent."""
    return [(channel, data) for channel, data in run.peer.received if data[:4] == b'DATA']


def test_another_run_that_shows_itself_while_we_leave_in_doubt_owes_nothing():
    run = Run(version=12).up()
    steer(run, 1.0, elevator=0.5)
    off(run)
    run.peer.restart()
    stray(run)
    run.lose = lambda channel, data: data[:4] == b'DREF'
    run.session.stop(run.now)
    run.peer.on = True
    run.run(3.6)
    assert run.session.left == Left()


def test_neutral_works_after_a_silence_of_7_whose_runs_cannot_be_told_apart():
    run = Run(version=7).up()
    off(run)
    run.peer.on = True
    run.run(1.0)
    steer(run, 0.5, elevator=0.5)
    run.run(1.0)
    written = len(rows(run))
    run.session.centre(run.now)
    run.run(0.1)
    assert len(rows(run)) > written
    assert struct.unpack_from('<f', rows(run)[-1][1], 9)[0] == 0.0


def test_rows_that_come_before_the_first_reply_of_12_do_not_make_it_9():
    run = Run(peer=XPlane(12))
    run.peer.tick(17, 20)
    run.peer.target = True
    off(run.start(), 10.2)
    run.peer.on = True
    run.run(3.0)
    assert run.session.version == 12
    assert [event.version for event in run.of(VersionFound)] == [12]


def test_no_version_is_concluded_from_a_silence():
    run = Run(peer=XPlane(12)).start()
    run.lose = lambda channel, data: b'internal_version' in data
    while not run.peer.received:
        run.run(0.001)
    run.run(0.6)
    off(run, 4.0)
    assert run.session.peer_state is PeerState.AWAY
    run.lose = lambda channel, data: False
    run.peer.on = True
    run.run(3.0)
    assert [event.version for event in run.of(VersionFound)] == [12]


def test_release_in_a_silence_is_off_if_another_version_is_there_then():
    run = Run(peer=XPlane(12)).up()
    steer(run, 1.0, elevator=0.5)
    off(run)
    run.session.release(run.now)
    run.peer = XPlane(9)
    run.peer.tick(18, 20)
    run.peer.target = True
    while run.session.version != 9:
        run.run(0.1)
    run.session.set_controls({'aileron': 0.5}, run.now)
    run.run(0.2)
    assert run.session.taken == ('aileron_trim',)
    run.peer.tick(1)
    run.run(3.0)
    assert run.session.taken == ('aileron_trim',)


NEW = ('10.0.0.3', 49000)


def beacon(run, address=PEER, sent_from=49001):
    """Let an X-Plane send a beacon."""
    hear_beacon(run.session, xp.Becn(1, 2, 1, 121001, 1, address[1], 'host'), (
        address[0], sent_from), run.now)
    run.events += run.session.expired()


def moved(run):
    """Let the beacons of the address stop, and come from another one."""
    run.run(2.5)
    for _ in range(3):
        beacon(run, NEW)


def test_started_again_while_it_moves_it_talks_to_the_new_address():
    run = Run(peer=XPlane(12))
    run.session = XplaneUdpSession(SOURCES, rate=50.0)
    run.start()
    beacon(run)
    run.run(0.3)
    steer(run, 0.5, elevator=0.5)
    off(run, 0.0)
    moved(run)
    run.session.stop(run.now)
    run.session.start(run.now)
    assert run.session.peer == NEW
    before = len(run.sent)
    run.run(0.1)
    closed = [channel for _, channel, data in run.sent[before:] if data is None]
    assert {'telemetry', 'reports', 'data', 'command', 'version'} == {*closed}
