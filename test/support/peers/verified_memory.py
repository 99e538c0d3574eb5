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

"""A simulated peer and its network for verifications: in memory, in simulated time."""

from __future__ import annotations

from memory_endpoint import MemoryEndpoint
from verified_web import SimulatedWeb, web_verification

from xplane_bridge.bridges.links.udp import SocketCounters
from xplane_bridge.bridges.xplane_udp.session import DATA_CHANNEL
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.laboratory.verification.evidence.line import (
    Answer,
    Exchange,
    Heard,
    Line,
    PeerNetwork,
)
from xplane_bridge.laboratory.verification.peers.base import PeerTarget
from xplane_bridge.laboratory.verification.peers.fdmdata import VerifiedHuginn
from xplane_bridge.laboratory.verification.peers.simpit import VerifiedKerbal
from xplane_bridge.laboratory.verification.peers.xpc import VerifiedXpc
from xplane_bridge.laboratory.verification.peers.xplane_udp import VerifiedXplane
from xplane_bridge.laboratory.verification.walk import Settings, Verification
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.faults import Faults
from xplane_bridge.simulation.peers.fdmdata import Huginn
from xplane_bridge.simulation.peers.simpit import DeviceCommand, PluginSession
from xplane_bridge.simulation.peers.simpit.vessel import Vessel
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xpc import XpcFrontend
from xplane_bridge.simulation.peers.xplane_udp import XplaneUdpFrontend

FRAME = 1.0 / 40.0
OURS = '127.0.0.1'
_ASKS, _FIRST_PORT = 51000, 50000
BEACON = 'beacon'


class SimulatedPeer:
    """
    One simulated program at one endpoint; a test may plant a fault.

    ``tamper(data, to_peer)`` returns the datagrams that arrive instead of one.
    ``beacon_of(data)`` returns the beacon that is heard instead of one.
    """

    def __init__(self, make_frontend, faults=None, model='c172p'):
        aircraft = Aircraft(model, initial=Initial(heading_deg=47.0))
        aircraft.set_wind(4.0, -3.0, 0.0)
        self.world = World(aircraft)
        self.endpoint = MemoryEndpoint(faults or Faults())
        self.frontend = make_frontend(self.endpoint)
        self.now = 0.0
        # Those of the sockets at the other end.
        self.counters = SocketCounters()
        self.tamper = lambda data, to_peer: [data]
        self.beacon_of = lambda data: data
        # When it dies, and when the user of the verification presses Ctrl-C.
        self.dies_at = self.interrupted_at = float('inf')
        self.frontend.open(self.world, 0.0)

    @property
    def address(self):
        return self.endpoint.address

    def deliver(self, data, port):
        for one in self.tamper(data, True):
            self.endpoint.deliver(one, (OURS, port), self.now)

    def frame(self):
        """Advance by a frame; return what it has sent, each with the port that it goes to."""
        self.now += FRAME
        if self.now >= self.interrupted_at:
            self.interrupted_at = float('inf')
            raise KeyboardInterrupt
        if self.now >= self.dies_at:
            return []
        self.world.advance(FRAME)
        self.frontend.frame(self.now)
        self.endpoint.flush(self.now)
        return [(one, port) for data, (_, port) in self.endpoint.collect()
                for one in self.tamper(data, False)]

    def beacon(self):
        """Return the beacon that is due, if any."""
        if self.now >= self.dies_at:
            return None
        data = self.frontend.beacon.beacon(self.now)
        return None if data is None else self.beacon_of(data)


class SimulatedHuginn(SimulatedPeer):
    """Huginn, which answers between frames."""

    address = (OURS, 10300)

    def __init__(self, faults=None):
        super().__init__(lambda endpoint: self, faults)
        self._sent = []

    # As its own frontend.

    def open(self, world, now):
        self.huginn = Huginn(world)

    def deliver(self, data, port):
        for one in self.tamper(data, True):
            if len(one) > 1:
                self.huginn.control(one)
            else:
                self._sent.append((self.huginn.answer(one), port))

    def frame(self):
        self.now += FRAME
        if self.now >= self.interrupted_at:
            self.interrupted_at = float('inf')
            raise KeyboardInterrupt
        self.world.advance(FRAME)
        self.huginn.step()
        sent, self._sent = self._sent, []
        if self.now >= self.dies_at:
            return []
        return [(one, port) for data, port in sent for one in self.tamper(data, False)]

    def beacon(self):
        return None


class SimulatedKerbal(SimulatedPeer):
    """A game with the plugin, at the other end of a line that changes bytes by ``tamper``."""

    address = ('pty', 115200)

    def __init__(self, faults=None, profile='cobs'):
        super().__init__(lambda endpoint: self, faults)
        self.vessel = Vessel(self.world, load=True)
        self.plugin = PluginSession(profile)
        self.plugin.opened(0.0)
        self.plugin.set_flight(True, 0.0)
        self._port = 0
        # What the plugin says may be changed by a test.
        self.says = lambda message: message

    def open(self, world, now):
        pass

    def deliver(self, data, port):
        self._port = port
        self._obey(self.plugin.receive('serial', data, None, self.now))

    def _obey(self, events):
        for event in events:
            if isinstance(event, DeviceCommand):
                for message in self.tamper(event.message, True):
                    self.vessel.obey(message)

    def frame(self):
        self.now += FRAME
        if self.now >= self.interrupted_at:
            self.interrupted_at = float('inf')
            raise KeyboardInterrupt
        self.world.advance(FRAME)
        for message in self.vessel.telemetry():
            if message.channel in self.plugin.channels:
                self.plugin.provide(self.says(message), self.now)
        self._obey(self.plugin.expired())
        return [(data, self._port) for _, data in self.plugin.poll(self.now)]

    def beacon(self):
        return None


class MemoryLine(Line):
    """Runs a session with a simulated peer, frame by frame."""

    def __init__(self, session, peer, tap=None):
        super().__init__(session)
        self._peer = peer
        self._tap = tap
        self._ports = {DATA_CHANNEL: _FIRST_PORT}
        if hasattr(session, 'opened'):
            session.opened(peer.now)

    def now(self):
        return self._peer.now

    def call(self, function, *arguments):
        result = function(*arguments, self._peer.now)
        self._poll()
        return result

    def _poll(self):
        for channel, data in self.session.poll(self._peer.now):
            if data:
                port = self._ports.setdefault(channel, _FIRST_PORT + len(self._ports))
                self._note(data, True, port)
                self._peer.deliver(data, port)

    def listen(self, seconds, until=None):
        heard = []
        end = self._peer.now + seconds - 1e-9
        while self._peer.now < end and not (until is not None and until()):
            self._poll()
            names = {port: channel for channel, port in self._ports.items()}
            arrived = self._peer.frame()
            beacon = self._peer.beacon()
            if beacon is not None:
                arrived.append((beacon, BEACON))
            for data, port in arrived:
                channel = BEACON if port == BEACON else names.get(port)
                if channel is not None:
                    self._note(data, False, port)
                    heard += [Heard(self._peer.now, event) for event in self.session.receive(
                        channel, data, self._peer.address, self._peer.now)]
            self._poll()
            heard += [Heard(self._peer.now, event) for event in self.session.expired()]
        return heard

    def _note(self, data, is_ours, port):
        if self._tap is not None:
            self._tap(data, is_ours, (OURS, 0 if port == BEACON else port), self._peer.address,
                      round(self._peer.now * SECOND_NS))

    def counters(self):
        return self._peer.counters

    def close(self):
        pass


class MemoryNetwork(PeerNetwork):
    """The network between a verification and a simulated peer."""

    def __init__(self, peer, tap=None):
        self.peer = peer
        self.tap = tap

    def ask(self, question, to, times, closing=b''):
        peer, answers, trips, sent = self.peer, [], [], 0
        if to[1] != peer.address[1]:
            return Exchange(1, (OURS, _ASKS), (), ())
        for place in range(times):
            if place == 3 and not trips:
                break
            peer.deliver(question, _ASKS)
            sent += 1
            begun = peer.now
            got = []
            while not got and peer.now < begun + 0.5:
                got = [Answer(data, peer.address, peer.now - begun)
                       for data, port in peer.frame() if port == _ASKS]
            trips += [got[0].after] if got else []
            answers += got
        if closing:
            peer.deliver(closing, _ASKS)
        return Exchange(sent, (OURS, _ASKS), tuple(answers), tuple(trips))

    def stream(self, question, to, seconds, closing=b''):
        peer, answers = self.peer, []
        if to[1] != peer.address[1]:
            return Exchange(1, (OURS, _ASKS), (), ())
        begun, sent = peer.now, 0
        while peer.now < begun + seconds:
            if not answers and sent < 3 and peer.now >= begun + 0.5 * sent:
                peer.deliver(question, _ASKS)
                sent += 1
            answers += [Answer(data, peer.address, peer.now - begun)
                        for data, port in peer.frame() if port == _ASKS]
        if closing:
            peer.deliver(closing, _ASKS)
        return Exchange(
            sent, (OURS, _ASKS), tuple(answers), tuple(one.after for one in answers[:1]))

    def networks(self, host):
        return {}, ''

    def overhear(self, port, seconds, group='', towards=''):
        peer, found, begun = self.peer, [], self.peer.now
        while peer.now < begun + seconds:
            peer.frame()
            if (beacon := peer.beacon()) is not None:
                found.append(Answer(beacon, peer.address, peer.now - begun))
        return found

    def line(self, session, make_loop):
        return MemoryLine(session, self.peer, self.tap)


def simulated(name, faults=None, model='c172p', **options):
    """Return a simulated peer by its name: 'xpc', 'xplane12' ..."""
    if name == 'web_api':
        return SimulatedWeb(**options)
    if name == 'fdmdata':
        return SimulatedHuginn(faults)
    if name == 'simpit':
        return SimulatedKerbal(faults, **options)
    if name == 'xpc':
        return SimulatedPeer(lambda endpoint: XpcFrontend(endpoint, **options), faults, model)
    version = int(name.removeprefix('xplane'))
    return SimulatedPeer(lambda endpoint: XplaneUdpFrontend(
        endpoint, version, data_target=(OURS, _FIRST_PORT), **options), faults, model)


def verified(name):
    """Return a peer to be verified by its name."""
    version = int(name.removeprefix('xplane') or 0) if name.startswith('xplane') else 0
    if name == 'fdmdata':
        return VerifiedHuginn(PeerTarget(OURS, throttle=0.74))
    if name == 'simpit':
        return VerifiedKerbal(PeerTarget('', serial='pty:ksp'))
    target = PeerTarget(OURS, 49009, _FIRST_PORT, version=version)
    return VerifiedXpc(target) if name == 'xpc' else VerifiedXplane(target)


def verification(name, peer, *, seconds=6.0, read_only=False, tell=lambda _: None, others=None,
                 tap=None):
    """Return the verification of a simulated peer, to be run."""
    if name == 'web_api':
        # It moves nothing by itself, so it listens longer.
        return web_verification(peer, seconds=seconds + 4.0, read_only=read_only, tell=tell)
    return Verification(
        verified(name), MemoryNetwork(peer, tap), Settings(seconds, read_only), tell,
        lambda _: True, others or {})
