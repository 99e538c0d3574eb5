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
Whole sessions under mutants.

The peer talks, falls silent and is replaced, amid a stream of invalid datagrams. Nothing is
raised, nothing grows, no call becomes ever more expensive, and every text meant for people is
short and printable.

FUZZ_SEED and FUZZ_STEPS select other and longer runs.
"""

from collections import Counter
from contextlib import suppress
from dataclasses import fields
import os
import random

from fuzz import held, is_fit_for_people, Meter, Mutator, recorded, SEED, texts
from mould import Incident, STEP, World
from mould_fdmdata import FdmdataAdapter, PLAN, REPLIES
from mould_simpit import SimpitAdapter
from mould_xpc import XpcAdapter
from mould_xplane_udp import STATE, WATCHED, Xplane6Adapter, Xplane12Adapter
import pytest
from ulyssix_packets import bcd, datagram, NAMES, tagged

from xplane_bridge.bridges.fdmdata import protocol as fdmdata
from xplane_bridge.bridges.fdmdata.session import FdmdataListener
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.ulyssix.session import CHANNEL, PacketReceived, Timeline, UlyssixSession
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xplane_udp import protocol as wire
from xplane_bridge.bridges.xplane_udp.protocol import VERSIONS
from xplane_bridge.bridges.xplane_udp.session import BEACON_CHANNEL, Sources, XplaneUdpSession

pytestmark = pytest.mark.slow

STEPS = int(os.environ.get('FUZZ_STEPS', '400'))

# Limit on executed lines of Python per datagram, by its size, whatever it contains.
LINES_PER_BYTE = 30
LINES_PER_CALL = 10_000
# Kinds counted, and characters of text.
MOST_KINDS = 64
LONGEST_TEXT = 1000


class Fuzzed:
    """The fuzzing adapter of one protocol."""

    protocol = ''
    adapter = None
    # User calls besides the adapter's commands.
    calls = ()

    def start(self, now):
        """Return a session in conversation."""
        adapter = self.adapter()
        session = adapter.make_session()
        adapter.start(session, now)
        return session

    def seeds(self):
        """Return recorded datagrams of the peer."""
        return recorded(self.protocol)

    def invent(self, random):
        """Return a well-formed datagram with something that nobody requested."""
        raise NotImplementedError

    def make_peer(self, number, now):
        """Return the next peer."""
        adapter = self.adapter()
        return adapter.make_peer(adapter.versions[number % len(adapter.versions)], now)

    @property
    def commands(self):
        """Return all calls that a user may make."""
        return (*self.adapter.commands, *self.calls)

    @property
    def channels(self):
        """Return the channels that are open from the beginning."""
        return self.adapter.channels

    def heed(self, session, event, random, now):
        """Do what a node does with an event in the session's thread."""


class FuzzedXpc(Fuzzed):
    """X-Plane Connect."""

    protocol, adapter = 'xpc', XpcAdapter
    calls = (
        lambda s, n, now: s.read_datarefs([f'test/{n % 7}', 'test/two'], now),
        lambda s, n, now: s.watch(tuple(f'test/{n % 5}.{k}' for k in range(n % 9)), 2.0, now),
        lambda s, n, now: s.release(now))

    def invent(self, random):
        """Return a beacon of another X-Plane, or an unsolicited reply."""
        if random.random() < 0.3:
            return xpc.encode(xpc.Beacon(
                random.choice((49009, 1)), random.randrange(2**16), f'v{random.random()}'))
        return xpc.encode(xpc.Datarefs(tuple(
            (random.random(),) * random.randrange(9) for _ in range(random.randrange(9)))))


class FuzzedXplane12(Fuzzed):
    """X-Plane 10 and later."""

    protocol, adapter = 'xplane_udp', Xplane12Adapter
    sources = Sources(dict.fromkeys((10, 11, 12), STATE), dict.fromkeys(VERSIONS, (1, 3, 17)))
    peer = ('127.0.0.1', 49000)
    calls = (
        lambda s, n, now: s.read_datarefs([f'test/{n % 7}', 'test/two'], now),
        lambda s, n, now: s.watch(tuple(f'test/{n % 5}.{k}' for k in range(n % 9)), 2.0, now),
        lambda s, n, now: s.choose_rows((n % 20, 3), now),
        lambda s, n, now: s.release(now))
    channels = (BEACON_CHANNEL,)

    def start(self, now):
        """Return a session that accepts whatever version answers."""
        session = XplaneUdpSession(self.sources, rate=5.0, peer=self.peer)
        session.watch(WATCHED, 2.0, now)
        session.start(now)
        return session

    def invent(self, random):
        """Return values and rows with numbers that were never requested."""
        if random.random() < 0.5:
            return wire.encode(wire.RrefReply(tuple(
                (random.randrange(-2**31, 2**31), 1.0) for _ in range(50))), 12)
        version = random.choice((6, 7, 9, 12))
        return wire.encode(wire.Data(tuple(
            wire.Segment(random.choice((random.randrange(2**31), random.randrange(140))),
                         (0.0,) * 8) for _ in range(9)),
            wire.default_layout(version, 'peer')), version)


class FuzzedDiscovery(FuzzedXplane12):
    """X-Plane 10 and later, found by beacons that anybody can send."""

    peer = None


class FuzzedXplane6(FuzzedXplane12):
    """X-Plane 6."""

    adapter = Xplane6Adapter
    channels = Xplane6Adapter.channels
    calls = ()
    start = Fuzzed.start


class FuzzedFdmdata(Fuzzed):
    """Huginn."""

    protocol, adapter = 'fdmdata', FdmdataAdapter

    def invent(self, random):
        """Return a reply of any sensor."""
        kind = random.choice(list(REPLIES.values()))
        return fdmdata.encode(kind(*[random.random() for _ in kind.__slots__]))


# Channel of the sphere of influence, the only text that a plugin sends.
SPHERE = simpit.PROFILES['v2'].named('peer', 'sphere_of_influence').id


class FuzzedSimpit(Fuzzed):
    """A Simpit plugin on a serial line, whose bytes arrive in pieces."""

    protocol, adapter = 'simpit', SimpitAdapter
    calls = (
        lambda s, n, now: s.ping(b'ping %d' % (n % 100), now),
        lambda s, n, now: s.set_channels(('altitude', SPHERE, *range(3 + n % 20, 60, 9)), now),
        lambda s, n, now: s.release(now))

    def invent(self, random):
        """Return a packet on any channel, or an oversized text."""
        channel, payload = random.choice((
            (random.randrange(255), random.randbytes(random.randrange(1, 33))),
            (SPHERE, b'\x1b[2JMun\n[ERROR] forged'[:random.randrange(1, 33)])))
        return simpit.encode_frame(
            random.choice(('aa50', 'cobs')), simpit.Packet(channel, payload))


class Publisher:
    """A Ulyssix publisher: packets with and without names, times and integers."""

    def __init__(self, number):
        self._number = 1000 * number
        self._total = 0

    def receive(self, channel, data, now):
        """Hear nothing: a publisher is only listened to."""
        raise AssertionError('something was sent to a Ulyssix publisher')

    def frame(self, now):
        """Return a packet."""
        self._number += 1
        self._total += 1
        time = bcd(45, 12, 34, int(now) % 60, int(now % 1.0 * 1e6))
        yield CHANNEL, (
            datagram(self._number, self._total, time=time) if self._number % 3 else
            datagram(self._number, self._total, time=time, control=NAMES, names=b'"one"')
            if self._number % 2 else
            tagged((1.5, 3846896.0), time=time, counter=self._number, total=self._total))


class FuzzedUlyssix(Fuzzed):
    """A Ulyssix publisher."""

    protocol = 'ulyssix'
    commands = ()
    channels = (CHANNEL,)

    def start(self, now):
        """Return a session that listens."""
        session = UlyssixSession(Timeline(), rates=(('*', 100.0),))
        session.start(now)
        return session

    def invent(self, random):
        """Return a packet with another type, number or total."""
        return datagram(
            random.randrange(2**32), random.choice((1, random.randrange(2**64))),
            kind=random.choice((0, random.randrange(2**32))))

    def make_peer(self, number, now):
        """Return another publisher."""
        return Publisher(number)

    def heed(self, session, event, random, now):
        """Place a packet in time."""
        if isinstance(event, PacketReceived):
            session.timeline.place(event.packet, 1_800_000_000_000_000_000 + int(now * 1e9))


FUZZED = {
    'xpc': FuzzedXpc, 'xplane_udp 12': FuzzedXplane12, 'xplane_udp found': FuzzedDiscovery,
    'xplane_udp 6': FuzzedXplane6, 'fdmdata': FuzzedFdmdata, 'ulyssix': FuzzedUlyssix,
    'simpit': FuzzedSimpit}

# Settings that last for a while: whether the peer talks, mutants per step, length of a step.
SPELLS = (
    (True, 0, STEP), (True, 2, STEP), (True, 8, STEP), (True, 2, 0.3), (False, 4, STEP),
    (False, 1, 1.0), (False, 0, 0.5), (False, 0, 2.5))


class FuzzRun:
    """A session, its peers and the traffic between them."""

    def __init__(self, fuzzed, seed):
        self.random = random.Random(seed)
        self.meter = Meter()
        self.costs = []
        self.told = Counter()
        self.received = 0
        self._metered = True
        self._fuzzed = fuzzed
        self._mutator = Mutator(seed, fuzzed.seeds())
        self._now = 100.0
        self._channels = list(fuzzed.channels)
        self._peers = 0
        self._peer = fuzzed.make_peer(0, self._now)
        self.session = fuzzed.start(self._now)

    def run(self, steps):
        """Advance that many time steps."""
        while steps > 0:
            talks, mutants, step = self.random.choice(SPELLS)
            if self.random.random() < 0.2:
                self._peers += 1
                self._peer = self._fuzzed.make_peer(self._peers, self._now)
            for _ in range(self.random.randrange(1, 40)):
                self._now += step
                self._poll(talks)
                if self.random.random() < 0.3:
                    self._command()
                steps -= 1
                for _ in range(mutants):
                    self._receive(self._channel(), self._nonsense())
                if talks:
                    for channel, data in self._peer.frame(self._now):
                        self._mutator.learn(data)
                        if channel in self._channels:
                            self._receive(channel, data)

    def flood(self, mutants):
        """Inject that many mutants while the peer talks or is silent."""
        self._metered = False
        for number in range(mutants):
            self._now += 0.005
            talks = number // 500 % 3
            if number % 8 == 0:
                self._poll(talks)
                for channel, data in self._peer.frame(self._now) if talks else ():
                    if channel in self._channels:
                        self._receive(channel, data)
            self._receive(self._channel(), self._nonsense())
        self._metered = True

    def _nonsense(self):
        if self.random.random() < 0.1:
            return self._fuzzed.invent(self.random)
        return self._mutator.mutant()

    def _channel(self):
        return self.random.choice(self._channels) if self._channels else 'none'

    def _command(self):
        commands = self._fuzzed.commands
        if commands:
            # Refused while the peer is absent, or while too many are waiting.
            with suppress(ValueError):
                self.random.choice(commands)(
                    self.session, self.random.randrange(1, 500), self._now)

    def _poll(self, talks):
        outgoing = self._measured(0, self.session.poll, self._now)
        assert len(outgoing) < 500, f'{len(outgoing)} datagrams leave at once'
        for channel, data in outgoing:
            if data is None:
                if channel in self._channels:
                    self._channels.remove(channel)
                continue
            if channel not in self._channels:
                self._channels.append(channel)
            if talks and data:
                self._peer.receive(channel, data, self._now)
        assert len(self._channels) < 100
        self._heed(self.session.expired())
        self.session.next_deadline()

    def _receive(self, channel, data):
        self.received += 1
        # Beacons come from anywhere.
        sender = '127.0.0.1' if self.random.random() < 0.3 else (
            f'10.0.0.{self.random.randrange(256)}')
        self._heed(self._measured(
            len(data), self.session.receive, channel, data, (sender, 49001), self._now))
        if self.random.random() < 0.5:
            # The link polls after each burst of datagrams.
            self._poll(False)

    def _measured(self, size, function, *arguments):
        if not self._metered:
            return function(*arguments)
        before = self.meter.lines
        result = self.meter.call(function, *arguments)
        lines = self.meter.lines - before
        self.costs.append(lines)
        assert lines <= LINES_PER_CALL + LINES_PER_BYTE * size, (
            f'{function.__name__}() executed {lines} lines for {size} bytes: {arguments}')
        return result

    def _heed(self, events):
        for event in events:
            self.told[type(event).__name__] += 1
            # The names in the packet itself are unmodified.
            told = event.names if isinstance(event, PacketReceived) else event
            for text in texts(told):
                assert is_fit_for_people(text, LONGEST_TEXT), f'{event} has the text {text!r}'
            self._fuzzed.heed(self.session, event, self.random, self._now)


def check_statistics(statistics):
    """Assert that what a node writes into its diagnostics is short and printable."""
    for field in fields(statistics):
        value = getattr(statistics, field.name)
        if not isinstance(value, (int, float, str)):
            assert len(value) <= MOST_KINDS, f'{len(value)} kinds in {field.name}: {value}'
        for text in texts(value):
            assert is_fit_for_people(text, LONGEST_TEXT), f'{field.name} has the text {text!r}'


def check_bounded(storm, steps=STEPS):
    """Assert that neither memory nor the cost of a call grows with the traffic received."""
    storm.run(steps)
    cost = mean(storm.costs)
    storm.flood(steps * 4)
    elements, size = held(storm.session)
    storm.flood(steps * 8)
    more, larger = held(storm.session)
    assert more <= elements + 150, f'{elements} elements became {more}'
    assert larger <= size + 30_000, f'{size} bytes became {larger}'
    check_statistics(storm.session.statistics)
    storm.costs.clear()
    storm.run(steps // 2)
    assert mean(storm.costs) <= 2.0 * cost + 50.0


def mean(values):
    """Return the mean."""
    return sum(values) / len(values)


@pytest.mark.slow
@pytest.mark.parametrize('protocol', FUZZED)
def test_a_session_is_bounded_whatever_comes(protocol):
    check_bounded(FuzzRun(FUZZED[protocol](), SEED))


@pytest.mark.parametrize('protocol', ['xpc', 'xplane_udp 12', 'xplane_udp 6', 'fdmdata', 'simpit'])
@pytest.mark.parametrize('seed', [SEED, SEED + 3, SEED + 4])
def test_values_come_again_soon_after_a_flood_and_a_restart(protocol, seed):
    """Whatever was forged, none of it is believed for long."""
    fuzzed = FUZZED[protocol]()
    adapter = fuzzed.adapter()
    world = World(adapter, seed)
    mutator = Mutator(seed, fuzzed.seeds())
    adapter.start(world.session, world.now)
    world.run(8.0)
    for step in range(100):
        world.run(STEP)
        for channel in sorted(world.open):
            for _ in range(3):
                world.session.receive(channel, mutator.mutant(), None, world.now)
        if step == 50:
            world.apply(Incident('kill', seed % 10))
    world.calm()
    world.seen.clear()
    world.run(3.0)
    assert world.seen


def test_a_capture_of_any_number_of_askers_is_bounded():
    session = FdmdataListener()
    session.set_plan(PLAN, 0.0)
    session.start(0.0)
    reply = fdmdata.encode(fdmdata.GyroscopeReply(0.1, 0.2, 0.3))

    def measure(ports):
        for port in ports:
            session.receive(f'10.0.0.1:{port}', reply, None, port * 0.001)
        return held(session)

    elements, size = measure(range(2000))
    more, larger = measure(range(2000, 10_000))
    assert more <= 2 * elements + 100
    assert larger <= 2 * size
