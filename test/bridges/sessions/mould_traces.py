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
Worlds whose whole conversation is compared between two commits: see tools/trace_sessions.py.

They use what sessions show to links and owners and nothing else of them, so that the same worlds
run on either commit. Each is a function of an adapter, a seed and a Tape, which records what a
session sends, tells, refuses and answers.
"""

from contextlib import suppress
import hashlib
import random

from mould import AT_ONCE, CALM, Incident, KINDS, NEVER, STEP, World
from mould_fdmdata import FdmdataAdapter
from mould_simpit import SimpitAdapter
from mould_ulyssix import UlyssixAdapter
from mould_xpc import CellPlugin, PLACE, STATE, XpcAdapter
import mould_xplane_udp
from mould_xplane_udp import Xplane6Adapter, Xplane12Adapter, Xplane12PausedAdapter

from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import Handshake, HandshakeType, PROFILES
from xplane_bridge.bridges.simpit.session import (
    CockpitCommand,
    CockpitLeft,
    CockpitSession,
    CockpitWants,
    Presence,
    Shared,
    SimpitSession,
)
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session import Polled, XpcSession
from xplane_bridge.bridges.xplane_udp import protocol as xplane_udp
from xplane_bridge.bridges.xplane_udp.session import BEACON_CHANNEL, Sources, XplaneUdpSession
from xplane_bridge.simulation.peers.simpit import PluginSession

# What a session is asked after each incident.
QUESTIONS = ('peer_state', 'taken', 'unconfirmed', 'leaving', 'left', 'wanted')
ENDS = ('stop', 'giving back at the end')


class Tape:
    """Everything that sessions send, tell, refuse and answer, as a hash and as lines."""

    def __init__(self, keep=False):
        self.hash, self.count = hashlib.sha256(), 0
        self.lines = [] if keep else None

    def note(self, *words):
        """Record one thing."""
        line = ' '.join(map(str, words))
        self.hash.update(line.encode() + b'\n')
        self.count += 1
        if self.lines is not None:
            self.lines.append(line)


class Recorded:
    """A session whose calls are recorded, but not those that it makes of itself."""

    def __init__(self, session, tape):
        self._session, self._tape = session, tape
        self._now = 0.0

    def __getattr__(self, name):
        found = getattr(self._session, name)
        if not callable(found):
            return found

        def call(*given, **options):
            self._now = max(self._now, *(each for each in given if isinstance(each, float)), 0.0)
            try:
                result = found(*given, **options)
            except ValueError as error:
                self._tape.note(f'{self._now:.2f}', name, type(error).__name__, error)
                raise
            if name in ('poll', 'receive', 'expired'):
                result = list(result)
                for item in result:
                    self._tape.note(f'{self._now:.2f}', name, repr(item))
            elif result is not None:
                self._tape.note(f'{self._now:.2f}', name, result)
            return result

        # From now on, it is found without this method.
        self.__dict__[name] = call
        return call

    def ask(self, now):
        """Record the answers to all questions."""
        for name in QUESTIONS:
            self._tape.note(f'{now:.2f}', name, getattr(self._session, name))
        for name in ('missing', 'contradictions'):
            self._tape.note(f'{now:.2f}', name, getattr(self._session, name)(now))


def begin(adapter, seed, tape, world_class=World):
    """Return a started world whose session is recorded."""
    world = world_class(adapter, seed)
    world.session = Recorded(world.session, tape)
    adapter.start(world.session, world.now)
    world.run(5.0)
    return world


def restart(world):
    """Start a session that was stopped."""
    world.adapter.start(world.session, world.now)
    world.run(3.0)


def incidents(adapter, seed, tape):
    """Let anything happen to a session, then stop it, start it and stop it again."""
    world = begin(adapter, seed, tape)
    chance = random.Random(seed)
    for _ in range(6):
        world.apply(Incident(
            chance.choice(KINDS), chance.randrange(10),
            chance.choice((0.0, 0.1, 0.3, 0.6, 2.0, 6.0))))
        world.session.ask(world.now)
    world.calm()
    world.run(5.0)
    world.session.stop(world.now)
    world.run(chance.choice((0.0, 0.2, 4.0)))
    restart(world)
    world.session.ask(world.now)
    world.session.stop(world.now)
    world.run(6.0)
    world.session.ask(world.now)


class Trouble:
    """What may be wrong with the link or the peer while something must become true."""

    def __init__(self, world, chance):
        self._world, self._chance = world, chance
        self.kind = chance.choice((
            'none', 'lossy', 'deaf', 'dumb', 'frozen', 'gone for a while', 'another run'))
        self._peer = world.peer
        if self.kind == 'lossy':
            world.loss = 0.6
        elif self.kind == 'deaf':
            world.carries_sent = lambda channel, data: NEVER
        elif self.kind == 'dumb':
            world.carries_reply = lambda channel, data: NEVER
        elif self.kind == 'frozen':
            world.frozen = True
        elif self.kind in ('gone for a while', 'another run'):
            world.peer, world.waiting = None, []

    def end(self):
        """Mend everything."""
        world = self._world
        world.loss, world.frozen = 0.0, False
        world.carries_sent = world.carries_reply = lambda channel, data: AT_ONCE
        if self.kind == 'another run':
            self._peer = world.adapter.make_peer(
                self._chance.choice(world.adapter.versions), world.now)
        world.peer = self._peer


def ask_more(world, chance):
    """Read, watch, or stop watching, if this session can."""
    session, now = world.session, world.now
    names = [f'test/{number}' for number in range(chance.choice((1, 3, 40)))]
    with suppress(ValueError, AttributeError):
        if chance.random() < 0.5:
            session.read_datarefs(names, now)
        else:
            session.watch(names if chance.random() < 0.6 else [], 2.0, now)


def musts(adapter, seed, tape):
    """Release, stop, pause ...: whatever must become true, in any trouble."""
    world = begin(adapter, seed, tape)
    chance = random.Random(f'musts {seed}')
    for _ in range(4):
        with suppress(ValueError):
            adapter.take_all(world.session, world.now)
        ask_more(world, chance)
        world.run(chance.choice((0.04, 0.5, CALM)))
        trouble = Trouble(world, chance)
        world.run(chance.choice((0.0, 0.3, 2.0, 7.0)))
        must = chance.choice(sorted(adapter.musts) or ['stop'])
        ask = adapter.musts[must][0] if adapter.musts else lambda s, now: s.stop(now)
        with suppress(ValueError):
            ask(world.session, world.now)
        ask_more(world, chance)
        world.run(chance.choice((0.0, 0.2, 1.0, 3.0, 12.0)))
        world.session.ask(world.now)
        ended = must in ENDS or not adapter.musts
        if ended and chance.random() < 0.5:
            restart(world)
            ended = False
        trouble.end()
        world.run(chance.choice((0.2, 4.0)))
        if ended:
            restart(world)
    world.session.ask(world.now)
    world.session.stop(world.now)
    world.run(6.0)
    world.session.ask(world.now)


class WaitingPlugin(CellPlugin):
    """A plugin whose X-Plane waits for controls before each frame."""

    def __init__(self, version, started):
        super().__init__(version, started)
        self._pending = []

    def receive(self, channel, data, now):
        """Keep the datagram for the next frame, which controls begin."""
        self._pending.append((channel, data))
        if data.startswith(b'CTRL'):
            pending, self._pending = self._pending, []
            for each in pending:
                super().receive(*each, now)


class LockstepAdapter(XpcAdapter):
    """X-Plane Connect in lockstep: controls advance the simulator."""

    make_plugin = CellPlugin

    def make_session(self):
        """Return a session in lockstep."""
        return XpcSession(
            {0: Polled(STATE, PLACE), 3: Polled((*PLACE, 'test/roll'), PLACE)}, rate=0.0,
            budget=1000.0, port=xpc.PORT, lockstep=True)

    def make_peer(self, version, started):
        """Return a plugin."""
        return self.make_plugin(version, started)


class WaitingAdapter(LockstepAdapter):
    """X-Plane Connect in lockstep, with an X-Plane that waits for controls."""

    make_plugin = WaitingPlugin


def lockstep(adapter, seed, tape):
    """Step a simulator by controls, with interruptions."""
    world = begin(adapter, seed, tape)
    chance = random.Random(f'lockstep {seed}')
    for _ in range(4):
        for step in range(chance.choice((5, 30))):
            with suppress(ValueError):
                world.session.take_joystick(world.now)
                world.session.set_controls(
                    {'elevator': step / 100.0, 'throttle': 0.5}, world.now,
                    chance.choice((0, 0, 0, 3)))
            world.run(chance.choice((STEP, STEP, 0.3)))
        trouble = Trouble(world, chance)
        world.run(chance.choice((0.3, 2.0, 7.0)))
        with suppress(ValueError):
            chance.choice((world.session.release, world.session.centre))(world.now)
        world.run(chance.choice((0.0, 2.0)))
        trouble.end()
        world.session.ask(world.now)
    world.session.stop(world.now)
    world.run(6.0)
    world.session.ask(world.now)


# Addresses that change.

ADDRESSES = (('10.0.0.1', 49000), ('10.0.0.2', 49000), ('10.0.0.1', 49010))


class MovingAdapter(Xplane12Adapter):
    """X-Plane 10 and later, found by its beacons."""

    def make_session(self):
        """Return a session that was given no address."""
        return XplaneUdpSession(
            Sources(
                dict.fromkeys((10, 11, 12), mould_xplane_udp.STATE),
                dict.fromkeys((10, 11, 12), ())),
            rate=5.0)


class MovingWorld(World):
    """Several X-Planes, of which a session talks to one; each sends beacons."""

    def __post_init__(self):
        super().__post_init__()
        self.peers, self.peer = {ADDRESSES[0]: self.peer}, None
        self.beacons_at = {}

    def run(self, seconds):
        """Let time pass; what is sent goes to the address that the session talks to."""
        end = self.now + seconds
        while self.now < end:
            super().run(STEP / 2)
            for address in list(self.peers):
                if self.now >= self.beacons_at.get(address, 0.0):
                    self.beacons_at[address] = self.now + 1.0
                    beacon = xplane_udp.encode(xplane_udp.Becn(
                        1, 2, 1, 121001, 1, address[1], 'simpc'))
                    self._note(self.session.receive(
                        BEACON_CHANNEL, beacon, (address[0], 49707), self.now))
                    self._send()
            peer = self.peers.get(self.session.peer)
            if peer is not self.peer:
                self.peer, self.waiting = peer, []


def moves(adapter, seed, tape):
    """Let X-Plane move to other addresses, while things are taken."""
    world = begin(adapter, seed, tape, MovingWorld)
    chance = random.Random(f'moves {seed}')
    for _ in range(4):
        with suppress(ValueError):
            adapter.take_all(world.session, world.now)
        with suppress(ValueError):
            world.session.pause(chance.random() < 0.5, world.now)
        ask_more(world, chance)
        world.run(chance.choice((0.04, 1.0, CALM)))
        # The one that leaves may still answer while it is no longer heard.
        old = world.session.peer
        new = chance.choice([each for each in ADDRESSES if each != old])
        silent = chance.choice((True, False))
        if silent:
            world.peers.pop(old, None)
        else:
            world.beacons_at[old] = world.now + 1000.0
        world.run(chance.choice((0.0, 1.0, 4.0)))
        world.peers[new] = adapter.make_peer(chance.choice(adapter.versions), world.now)
        world.run(chance.choice((1.0, 5.0, 12.0)))
        world.session.ask(world.now)
        if chance.random() < 0.3:
            world.session.stop(world.now)
            world.run(chance.choice((0.0, 2.0)))
            restart(world)
        for address in list(world.peers):
            if address != world.session.peer and chance.random() < 0.5:
                del world.peers[address]
    world.session.stop(world.now)
    world.run(6.0)
    world.session.ask(world.now)


# Ports that are unplugged, and cockpits.

def unplugged(adapter, seed, tape):
    """Unplug a serial port and plug it in, with things taken."""
    world = begin(adapter, seed, tape)
    chance = random.Random(f'unplugged {seed}')
    for _ in range(5):
        with suppress(ValueError):
            adapter.take_all(world.session, world.now)
        world.run(chance.choice((0.04, 1.0)))
        what = chance.choice(('unplugged', 'opened again', 'stopped', 'another run'))
        if what == 'unplugged':
            world.session.lost(world.now)
        if what == 'stopped':
            world.session.stop(world.now)
            world.run(chance.choice((0.0, 0.2)))
            world.session.lost(world.now)
        trouble = Trouble(world, chance)
        world.run(chance.choice((0.0, 0.5, 6.0)))
        with suppress(ValueError):
            world.session.send(simpit.Rotation(1, 2, 0, 3), world.now)
        world.session.ask(world.now)
        if what == 'stopped':
            world.session.start(world.now)
        world.session.opened(world.now)
        world.run(chance.choice((0.0, 0.5)))
        trouble.end()
        world.run(chance.choice((0.5, 5.0)))
    world.session.stop(world.now)
    world.run(6.0)


PROFILES_OF_BOARDS = {'v1': b'1.3.0\0', 'v2': b'1.3.0\0', 'cobs': b'2.4.0\0'}


class Desk:
    """A game, a session with it, and two cockpits that share it, as the node does."""

    def __init__(self, chance, tape):
        self.now = 100.0
        self.game = PluginSession(chance.choice(('v2.3', 'v1', 'v2', 'v0')))
        self.session = Recorded(SimpitSession((), line_rate=1000.0), tape)
        self.profiles = [chance.choice(sorted(PROFILES_OF_BOARDS)) for _ in range(2)]
        self.cockpits = [Recorded(CockpitSession(profile=chance.choice(('auto', profile))), tape)
                         for profile in self.profiles]
        self.frozen, self.running = False, True
        self._chance = chance
        self._presence = Presence()
        for session in (self.game, self.session, *self.cockpits):
            if session is not self.game:
                session.start(self.now)
            session.opened(self.now)
        self.game.set_flight(True, self.now)
        self.run(1.0)

    def run(self, seconds):
        """Let time pass."""
        end = self.now + seconds
        while self.now < end:
            self.now += STEP
            for _, data in self.session.poll(self.now):
                if data and not self.frozen:
                    self.game.receive('serial', data, None, self.now)
            if not self.frozen:
                for message in (simpit.Altitude(self.now, 2.0),
                                simpit.Apsides(1.0, self.now)):
                    # The oldest plugin has only the altitude.
                    with suppress(ValueError):
                        self.game.provide(message, self.now)
                for _, data in self.game.poll(self.now):
                    self._settle_game(self.session.receive('serial', data, None, self.now))
                self.game.expired()
            self._settle_game(self.session.expired())
            for number, cockpit in enumerate(self.cockpits):
                cockpit.poll(self.now)
                self._settle(number, cockpit.expired())

    def _settle_game(self, events):
        for event in events:
            if isinstance(event, Shared):
                for cockpit in self.cockpits:
                    cockpit.forward(event.name, event.packet, self.now)
        if self.session.presence != self._presence:
            self._presence = self.session.presence
            for cockpit in self.cockpits:
                cockpit.set_game(self._presence, self.now)

    def _settle(self, number, events):
        name = f'cockpit {number}'
        for event in events:
            with suppress(ValueError):
                if isinstance(event, CockpitWants):
                    self.session.share(name, event.channels, event.again, self.now)
                elif isinstance(event, CockpitLeft):
                    self.session.let_go(name, 'neutral', self.now)
                elif isinstance(event, CockpitCommand):
                    self.session.send(event.message, self.now, source=name)

    def say(self, number, *messages):
        """Have a cockpit send messages."""
        profile = PROFILES[self.profiles[number]]
        data = b''.join(simpit.encode(each, 'bridge', profile) for each in messages)
        self._settle(number, self.cockpits[number].receive('serial', data, None, self.now))

    def plug_again(self, number):
        """Unplug a cockpit, and plug it in again."""
        self.cockpits[number].lost(self.now)
        self.run(self._chance.choice((0.0, 1.0)))
        self.cockpits[number].opened(self.now)

    def greet(self, number):
        """Have a cockpit shake hands."""
        version = PROFILES_OF_BOARDS[self.profiles[number]]
        for kind in (HandshakeType.SYN, HandshakeType.ACK):
            self.say(number, Handshake(kind, version))
            self.run(0.1)

    def stop_or_start(self, number):
        """Stop the session, or start it again."""
        (self.session.stop if self.running else self.session.start)(self.now)
        self.running = not self.running


CHANNEL_IDS = range(8, 20)
# What may happen at a desk: functions of the desk, the number of a cockpit, and a random.Random.
AT_A_DESK = (
    lambda desk, number, chance: desk.greet(number),
    lambda desk, number, chance: desk.greet(number),
    lambda desk, number, chance: desk.greet(number),
    lambda desk, number, chance: desk.say(
        number, simpit.Register(bytes(chance.sample(CHANNEL_IDS, 2)))),
    lambda desk, number, chance: desk.say(
        number, simpit.Register(bytes(chance.sample(CHANNEL_IDS, 2)))),
    lambda desk, number, chance: desk.say(
        number, simpit.Deregister(bytes((chance.choice(CHANNEL_IDS),)))),
    lambda desk, number, chance: desk.say(
        number, simpit.Rotation(chance.randrange(-99, 99), 5, 0, 3)),
    lambda desk, number, chance: desk.say(
        number, simpit.Rotation(chance.randrange(-99, 99), 5, 0, 3)),
    lambda desk, number, chance: desk.plug_again(number),
    lambda desk, number, chance: setattr(desk, 'frozen', not desk.frozen),
    lambda desk, number, chance: desk.game.set_flight(chance.random() < 0.7, desk.now),
    lambda desk, number, chance: desk.session.set_controls({'pitch': 100, 'roll': -9}, desk.now),
    lambda desk, number, chance: desk.session.release(desk.now),
    lambda desk, number, chance: desk.stop_or_start(number),
)


def cockpits(adapter, seed, tape):
    """Let two cockpits and the stack share a game."""
    chance = random.Random(f'cockpits {seed}')
    desk = Desk(chance, tape)
    for _ in range(40):
        with suppress(ValueError):
            chance.choice(AT_A_DESK)(desk, chance.randrange(2), chance)
        desk.run(chance.choice((0.0, 0.1, 0.5, 3.0)))
        desk.session.ask(desk.now)
    desk.session.stop(desk.now)
    desk.run(6.0)


# Protocol, what is printed, the world, and its adapter.
TRACES = (
    ('fdmdata', 'FdmdataAdapter', incidents, FdmdataAdapter),
    ('fdmdata', 'FdmdataAdapter, musts', musts, FdmdataAdapter),
    ('simpit', 'SimpitAdapter', incidents, SimpitAdapter),
    ('simpit', 'SimpitAdapter, musts', musts, SimpitAdapter),
    ('simpit', 'SimpitAdapter, unplugged', unplugged, SimpitAdapter),
    ('simpit', 'SimpitAdapter, cockpits', cockpits, SimpitAdapter),
    ('xpc', 'XpcAdapter', incidents, XpcAdapter),
    ('xpc', 'XpcAdapter, musts', musts, XpcAdapter),
    ('xpc', 'XpcAdapter, lockstep', lockstep, LockstepAdapter),
    ('xpc', 'XpcAdapter, lockstep that waits', lockstep, WaitingAdapter),
    ('xplane_udp', 'Xplane6Adapter', incidents, Xplane6Adapter),
    ('xplane_udp', 'Xplane6Adapter, musts', musts, Xplane6Adapter),
    ('xplane_udp', 'Xplane12Adapter', incidents, Xplane12Adapter),
    ('xplane_udp', 'Xplane12Adapter, musts', musts, Xplane12Adapter),
    ('xplane_udp', 'Xplane12Adapter, paused', musts, Xplane12PausedAdapter),
    ('xplane_udp', 'Xplane12Adapter, moves', moves, MovingAdapter),
    ('ulyssix', 'UlyssixAdapter', incidents, UlyssixAdapter),
    ('ulyssix', 'UlyssixAdapter, musts', musts, UlyssixAdapter),
)


def trace(worlds, only='', keep=None):
    """Yield name, number of items and hash of each kind of world; ``keep`` gets the lines."""
    for protocol, name, play, adapter in TRACES:
        if only and only not in protocol and only.lower() not in name.lower():
            continue
        total, found = 0, hashlib.sha256()
        for seed in range(worlds):
            tape = Tape(keep is not None)
            play(adapter(), seed, tape)
            total += tape.count
            found.update(tape.hash.digest())
            if keep is not None:
                keep.extend(f'{name} {seed}: {line}' for line in tape.lines)
        yield name, total, found.hexdigest()[:12]
