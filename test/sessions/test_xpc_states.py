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
What each state of a conversation with X-Plane Connect does, seen from outside.

The situations are scripted, in simulated time: a plugin in memory, and a link that loses what the
test says.
"""

from fake_xpc import BEACON
from mould_xpc import CellPlugin, PLACE, STATE, THROTTLE
import pytest

from xplane_bridge.protocols import xpc
from xplane_bridge.sessions.base import PeerAbsentError
from xplane_bridge.sessions.xpc import BEACON_CHANNEL, Polled, XpcSession

STEP = 0.02
STARTED = 100.0


class Scene:
    """
    A started session, and a plugin that answers once per step, if there is one.

    ``lost`` says which datagrams to the plugin are lost, ``deaf`` that all replies are; ``sent``
    and ``events`` are what the session has sent and told, with times and channels.
    """

    def __init__(self, plugin='rc6', *, polled=True, **options):
        self.now = STARTED
        options = {'rate': 10.0, 'port': xpc.PORT, 'address': 'simpc'} | options
        self.session = XpcSession({0: Polled(STATE, PLACE)} if polled else {}, **options)
        self.plugin = plugin and CellPlugin(plugin, STARTED - 1.0)
        self.lost = lambda channel, request: False
        self.deaf = self.beacons = False
        self.beacon = BEACON
        self.sent, self.events, self.open = [], [], set()
        self._beacon_at = STARTED
        self.session.start(self.now)

    def run(self, seconds):
        """Let time pass."""
        for _ in range(round(seconds / STEP)):
            self.now += STEP
            self.poll()
            replies = self.plugin.frame(self.now) if self.plugin else []
            if self.beacons and self.now >= self._beacon_at:
                self._beacon_at = self.now + 1.0
                replies.append((BEACON_CHANNEL, self.beacon))
            for channel, data in replies:
                if channel == BEACON_CHANNEL and self.beacons or (
                        channel in self.open and not self.deaf):
                    self.events += self.session.receive(channel, data, None, self.now)
                    self.poll()
        return self

    def poll(self):
        """Let the session send and tell."""
        for channel, data in self.session.poll(self.now):
            if data is None:
                self.open.discard(channel)
                continue
            self.open.add(channel)
            request = xpc.decode(data, 'bridge')
            self.sent.append((self.now, channel, request))
            if self.plugin and not self.lost(channel, request):
                self.plugin.receive(channel, data, self.now)
        self.events += self.session.expired()

    def told(self, *kinds):
        """Return what the session has told of these kinds since the last call."""
        events, self.events = self.events, []
        return [event for event in events if isinstance(event, kinds)]

    def probes(self):
        """Return when the peer was probed, since the last call."""
        sent, self.sent = self.sent, []
        return [at for at, channel, _ in sent if channel == 'probe']


def test_a_start_after_silence_probes_as_the_first_one_does():
    scene = Scene(None).run(0.98)
    first = [round(at - STARTED, 2) for at in scene.probes()]
    assert len(first) == 2
    scene.run(20.0)
    scene.session.stop(scene.now)
    scene.run(1.0).probes()
    again = scene.now
    scene.session.start(scene.now)
    scene.run(0.98)
    assert [round(at - again, 2) for at in scene.probes()] == first


def test_controls_are_refused_after_the_end_also_in_lockstep():
    scene = Scene(lockstep=True).run(1.0)
    scene.session.set_controls({'elevator': 0.5}, scene.now)
    scene.run(1.0)
    scene.session.stop(scene.now)
    with pytest.raises(PeerAbsentError, match='not started'):
        scene.session.set_controls({'elevator': 0.5}, scene.now)
    with pytest.raises(PeerAbsentError, match='not started'):
        scene.session.set_levers({THROTTLE: (-2.0,)}, scene.now)
    scene.run(4.0)
    assert not scene.session.taken
    with pytest.raises(PeerAbsentError, match='not started'):
        scene.session.set_controls({'elevator': 0.5}, scene.now)
