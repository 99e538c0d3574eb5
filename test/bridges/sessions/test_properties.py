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
Properties of every conversation, in worlds of mould.py.

What is told is true; tickets end, once; channels close; confirmed means read; no source of
commands starves another; and questions change nothing.
"""

from collections import Counter, deque
from contextlib import suppress
import random
from types import MappingProxyType

from mould import AT_ONCE, Incident, KINDS, NEVER, STEP, World
from mould_fdmdata import FdmdataAdapter
from mould_simpit import CHANNELS, SimpitAdapter
from mould_ulyssix import UlyssixAdapter
from mould_xpc import NUMBER, XpcAdapter
from mould_xplane_udp import NUMBER as UDP_NUMBER
from mould_xplane_udp import Xplane6Adapter, Xplane12Adapter
import pytest

from xplane_bridge.bridges.sessions.base import CommandDone, PeerChanged, PeerState, ReadDone
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xplane_udp import protocol as xplane_udp

ADAPTERS = {
    'xpc': XpcAdapter, 'fdmdata': FdmdataAdapter, 'xplane_udp 6': Xplane6Adapter,
    'xplane_udp 12': Xplane12Adapter, 'simpit': SimpitAdapter, 'ulyssix': UlyssixAdapter}
# A command that changes nothing else; not a number that mould.py gives.
COMMANDS = {
    'xpc': xpc.SetDatarefs(((NUMBER, (9999.0,)),)),
    'xplane_udp 12': xplane_udp.Dref(9999.0, UDP_NUMBER),
    'simpit': simpit.Rotation(9999, 0, 0, 1)}
# A command that the peer shows, and what its datagrams contain.
SHOWN = {
    'xpc': (lambda session, now: session.send(
        xpc.Simulation(xpc.SimulationOp.PAUSE), now, awaited=True), b'SIMU'),
    'xplane_udp 12': (lambda session, now: session.pause(True, now), b'pause_on')}


def each(protocols=ADAPTERS):
    """Parametrize a test of a property by protocol."""
    return pytest.mark.parametrize('protocol', list(protocols))


class Witness:
    """A session that checks what it tells."""

    def __init__(self, session):
        self._session = session
        self.told, self.is_started = PeerState.UNKNOWN, False
        self.given = []
        self.ended = Counter()
        self.done = []

    def __getattr__(self, name):
        return getattr(self._session, name)

    def start(self, now):
        """Start; from here on, each change of state is told."""
        self._session.start(now)
        self.told, self.is_started = self._session.peer_state, True

    def stop(self, now):
        """Stop; the owner knows that."""
        self._session.stop(now)
        self.is_started = False

    def receive(self, *given):
        """Receive."""
        return self._heard(self._session.receive(*given))

    def expired(self):
        """Return the events of poll(), after which the state is the one that was told."""
        events = self._heard(self._session.expired())
        assert not self.is_started or self.told is self._session.peer_state
        return events

    def read_datarefs(self, names, now):
        """Read, and keep the ticket."""
        self.given.append(self._session.read_datarefs(names, now))

    def send(self, message, now, **options):
        """Send; keep the ticket of a command that is awaited."""
        ticket = self._session.send(message, now, **options)
        if options.get('awaited'):
            assert ticket
            self.given.append(ticket)
        return ticket

    def _heard(self, events):
        events = list(events)
        for event in events:
            if isinstance(event, PeerChanged):
                self.told = event.state
            elif isinstance(event, CommandDone | ReadDone):
                self.ended[event.ticket] += 1
                self.done.append(event)
        return events


def make_world(protocol, seed=0):
    """Return a started world whose session is witnessed."""
    world = World(ADAPTERS[protocol](), seed)
    world.session = Witness(world.session)
    world.adapter.start(world.session, world.now)
    world.run(5.0)
    return world


def lives(protocol, seed, count=6):
    """Yield a world after each of several incidents, and the chance that chose them."""
    world = make_world(protocol, seed)
    chance = random.Random(seed)
    for _ in range(count):
        yield world, chance
        world.apply(Incident(
            chance.choice(KINDS), chance.randrange(10), chance.choice((0.0, 0.3, 2.0, 6.0))))
    world.calm()
    yield world, chance


SEEDS = range(3)


@each()
@pytest.mark.parametrize('seed', SEEDS)
def test_what_is_told_is_the_state(protocol, seed):
    for world, chance in lives(protocol, seed):
        if chance.random() < 0.3:
            world.session.stop(world.now)
            world.run(chance.choice((0.0, 0.2, 6.0)))
            world.adapter.start(world.session, world.now)


@each(('xpc', 'xplane_udp 12', 'simpit'))
@pytest.mark.parametrize('seed', SEEDS)
def test_each_ticket_ends_once(protocol, seed):
    command = COMMANDS[protocol]
    session = None
    for world, _chance in lives(protocol, seed):
        session = world.session
        for number in range(3):
            with suppress(ValueError):
                session.send(command, world.now, awaited=True)
            if protocol != 'simpit':
                with suppress(ValueError):
                    session.read_datarefs([f'test/{number}', 'test/roll'], world.now)
    # Some are still on their way.
    session.stop(world.now)
    world.run(12.0)
    assert len(session.given) > 10
    assert {ticket: session.ended[ticket] for ticket in session.given} == dict.fromkeys(
        session.given, 1)


@each(('xpc', 'xplane_udp 12'))
@pytest.mark.parametrize('trouble', ['none', 'lossy', 'gone'])
def test_channels_of_a_watch_close_whatever_was_lost(protocol, trouble):
    world = make_world(protocol)
    world.session.watch([f'test/{number}' for number in range(90)], 2.0, world.now)
    world.run(3.0)
    assert [channel for channel in world.open if channel.startswith('watch')]
    peer = world.peer
    if trouble == 'lossy':
        world.loss = 0.5
    world.session.watch([], 2.0, world.now)
    if trouble == 'gone':
        world.run(0.04)
        world.peer = None
        world.run(10.0)
    world.run(3.0)
    world.peer, world.loss = peer, 0.0
    world.run(40.0)
    assert not [channel for channel in world.open if channel.startswith('watch')]


@each(SHOWN)
def test_a_command_that_was_lost_is_not_confirmed(protocol):
    command, content = SHOWN[protocol]
    world = make_world(protocol)
    lost = []

    def loses(channel, data):
        if content in data:
            lost.append(data)
            return NEVER
        return AT_ONCE

    world.carries_sent = loses
    ticket = command(world.session, world.now)
    world.run(8.0)
    assert lost
    end, = [event for event in world.session.done if event.ticket == ticket]
    assert end.error


def test_controls_levers_and_other_commands_do_not_starve_each_other():
    # X-Plane Connect is the only one whose commands wait for a budget in several queues.
    world = make_world('xpc')
    world.adapter.repeats = True
    sent = []

    def note(channel, data):
        sent.append((world.now, data))
        return AT_ONCE

    world.carries_sent = note
    world.peer.cells.values |= {f'elevator of {aircraft}': 0.0 for aircraft in range(5)}
    lever = 'sim/cockpit2/controls/parking_brake_ratio'
    for step in range(100):
        for aircraft in range(5):
            world.session.set_controls({'elevator': step / 200.0}, world.now, aircraft)
        if step % 25 == 0:
            world.session.set_levers({lever: (step / 100.0,)}, world.now)
            world.session.send(xpc.Text(0, 0, str(step)), world.now)
        world.run(STEP)
    world.run(1.0)
    for content in (lever.encode(), b'TEXT', b'CTRL'):
        times = [at for at, data in sent if content in data]
        assert len(times) >= 4, content
        assert not [event for event in world.session.done if event.error]


# Questions change nothing.

SIMPLE = (int, float, str, bytes, bool, type(None), complex)


def shape(root):
    """Return the whole content of an object, in an order that does not depend on addresses."""
    seen, found = {}, []
    waiting = deque([root])
    while waiting:
        item = waiting.popleft()
        if isinstance(item, SIMPLE):
            found.append(item)
            continue
        if id(item) in seen:
            found.append(('again', seen[id(item)][0]))
            continue
        # Kept, so that no other object gets its address.
        seen[id(item)] = len(seen), item
        found.append(type(item).__name__)
        if isinstance(item, dict | MappingProxyType):
            found.append(len(item))
            waiting.extend(part for pair in item.items() for part in pair)
        elif isinstance(item, list | tuple | deque):
            found.append(len(item))
            waiting.extend(item)
        elif isinstance(item, set | frozenset):
            found.append(sorted(map(repr, item)))
        elif callable(item) or isinstance(item, type):
            found.append(getattr(item, '__qualname__', ''))
            waiting.append(getattr(item, '__self__', None))
        elif isinstance(item, random.Random):
            found.append(item.getstate())
        else:
            waiting.extend(attributes(item))
    return found


def attributes(item):
    """Return names and values of an object's attributes, also of those in slots."""
    parts = []
    for name in sorted({
            name for kind in type(item).__mro__
            for name in ([kind.__slots__] if isinstance(getattr(kind, '__slots__', ()), str)
                         else getattr(kind, '__slots__', ()))} | {
            *getattr(item, '__dict__', {})}):
        if name not in ('__weakref__', '__dict__') and hasattr(item, name):
            parts += [name, getattr(item, name)]
    return parts


def ask(session, now):
    """Ask a session everything that may be asked."""
    for name in dir(type(session)):
        if not name.startswith('_') and isinstance(getattr(type(session), name), property):
            getattr(session, name)
    session.missing(now)
    session.contradictions(now)
    session.next_deadline()


@each()
@pytest.mark.parametrize('seed', range(2))
def test_questions_change_nothing(protocol, seed):
    for world, _ in lives(protocol, seed):
        session = world.session._session
        for _ in range(6):
            world.run(STEP)
            before = shape(session)
            ask(session, world.now)
            assert shape(session) == before


def test_a_change_shows_in_a_shape():
    world = make_world('simpit')
    session = world.session._session
    before = shape(session)
    assert shape(session) == before
    session.set_channels(CHANNELS[3:], world.now)
    assert shape(session) != before
