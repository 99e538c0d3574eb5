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

"""Each cell of the table of states of a conversation with a Ulyssix publisher."""

from cells import cells, visited
from ulyssix_packets import datagram

from xplane_bridge.bridges.sessions.base import PeerChanged, PeerState
from xplane_bridge.bridges.ulyssix.session import (
    CHANNEL,
    PacketReceived,
    PublisherRestarted,
    Timeline,
    UlyssixSession,
)
from xplane_bridge.bridges.ulyssix.session.states import TABLE

STREAMING, SILENT = PeerChanged(PeerState.STREAMING), PeerChanged(PeerState.SILENT)


class Listener:
    """A session, and what it tells."""

    def __init__(self):
        self.session = UlyssixSession(Timeline())

    def receive(self, *numbers, at=0.0, total=0):
        """Receive packets with these numbers; return what is told, packets as their numbers."""
        return [
            event.packet.counter if isinstance(event, PacketReceived) else event
            for number in numbers
            for event in self.session.receive(CHANNEL, datagram(number, total + number), None, at)]

    def wait(self, until):
        """Let time pass; return what is told, with when."""
        told = []
        while (at := self.session.next_deadline()) is not None and at <= until:
            assert list(self.session.poll(at)) == []
            told += [(at, event) for event in self.session.expired()]
        self.session.poll(until)
        assert self.session.expired() == []
        return told

    @property
    def lost(self):
        """Return how many packets count as lost."""
        return self.session.statistics.lost


def started():
    """Return a session that listens since 0 s."""
    listener = Listener()
    listener.session.start(0.0)
    assert listener.session.peer_state is PeerState.UNKNOWN
    return listener


def streaming():
    """Return a session that has heard packets 5 and 7."""
    listener = started()
    assert listener.receive(5, 7) == [STREAMING, 5, 7]
    return listener


def silent():
    """Return a session whose publisher has stopped after packets 5 and 7."""
    listener = streaming()
    assert listener.wait(until=3.0) == [(2.0, SILENT)]
    return listener


def off(listener):
    """Check that a session is off, and hears nothing."""
    assert listener.session.peer_state is PeerState.UNKNOWN
    assert listener.session.next_deadline() is None
    assert listener.receive(100) == []
    assert listener.session.peer_state is PeerState.UNKNOWN


def test_nothing_is_heard_before_the_start():
    listener = Listener()
    off(listener)
    listener.session.start(0.0)
    assert listener.receive(5) == [STREAMING, 5]


def test_a_publisher_that_was_never_heard_is_told_once_after_two_seconds():
    assert started().wait(until=60.0) == [(2.0, PeerChanged(PeerState.UNKNOWN))]


def test_a_publisher_may_begin_after_that_was_told():
    listener = started()
    listener.wait(until=60.0)
    assert listener.receive(5, at=60.0) == [STREAMING, 5]
    assert listener.session.peer_state is PeerState.STREAMING


def test_it_ends_before_anything_was_heard():
    listener = started()
    listener.session.stop(1.0)
    off(listener)


def test_a_publisher_that_stops_is_silent_and_what_is_missing_is_lost():
    listener = streaming()
    assert listener.session.awaited == 1
    assert listener.lost == 0
    assert listener.wait(until=60.0) == [(2.0, SILENT)]
    assert (listener.session.awaited, listener.lost) == (0, 1)
    assert listener.session.peer_state is PeerState.SILENT


def test_a_publisher_that_goes_on_is_told_and_the_gap_is_a_loss():
    listener = silent()
    assert listener.receive(10, at=9.0) == [STREAMING, 10]
    assert listener.wait(until=60.0) == [(11.0, SILENT)]
    assert listener.lost == 3


def test_a_publisher_that_was_restarted_is_told():
    listener = streaming()
    listener.session.timeline.word_order = 'that of the publisher before'
    assert listener.receive(100, total=-99) == [PublisherRestarted(), 100]
    assert listener.session.timeline.word_order is None
    assert listener.session.peer_state is PeerState.STREAMING


def test_what_is_missing_at_the_end_is_lost_and_what_comes_after_a_start_is_the_first():
    listener = streaming()
    listener.session.stop(1.0)
    assert listener.lost == 1
    off(listener)
    listener.session.start(50.0)
    assert listener.receive(90, at=50.0) == [STREAMING, 90]
    listener.session.stop(51.0)
    assert listener.lost == 1


def test_from_the_end_in_a_silence_to_the_next_start_nothing_is_lost():
    listener = silent()
    listener.session.stop(3.0)
    off(listener)
    listener.session.start(50.0)
    assert listener.wait(until=51.0) == []
    assert listener.receive(90, at=51.0) == [STREAMING, 90]
    listener.session.stop(51.0)
    assert listener.lost == 1


def test_each_cell_that_does_something_is_visited():
    with visited() as found:
        for name, test in tuple(globals().items()):
            if name.startswith('test_') and 'each_cell' not in name:
                test()
    assert cells(TABLE) - found == set()
