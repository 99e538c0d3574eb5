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
A session and its peer over a bad link, in simulated time: invariants common to all protocols.

An Adapter describes one protocol. Its peer is small and records, for each cell, who wrote it last.
play() runs a list of Incidents and checks that

- no command reaches the peer later than its lifetime after it was given;
- after a quiet time each requested value is fresh, or reported missing if the peer lacks it;
- after stop() the peer is as others left it.

What must be true in the end, whatever is lost, late or comes twice: mould_losses.py.
"""

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
import heapq
import itertools
import random

from xplane_bridge.bridges.sessions.base import CommandDone

STEP = 0.04
LIFETIME = 0.5
# Leases are renewed every 30 s at the latest.
QUIET = 40.0
# How long after the session's end its last datagrams may still be sent, at its own pace.
FAREWELL = 3.0
# Nobody else writes for this long before and after a takeover, so a session can tell who wrote.
CALM = 4.0
# After how many seconds the copies of a datagram arrive.
AT_ONCE = (0.0,)
NEVER = ()

OURS, THEIRS = 'the session', 'somebody else'


class Cells:
    """The cells of a peer that can be taken, by name, and who wrote each last."""

    def __init__(self, initial):
        self.values = dict(initial)
        self.before = {}
        self.writer = {}

    def write(self, name, value, writer=OURS):
        """Write a cell, keeping its value from before the session took it."""
        if writer == OURS and self.writer.get(name) != OURS:
            self.before[name] = self.values[name]
        self.values[name] = value
        self.writer[name] = writer

    def let_go(self, name, value):
        """Write a cell by a command that takes nothing: resuming after a pause."""
        self.values[name] = value
        self.writer.pop(name, None)


class Peer(ABC):
    """One run of a peer, in memory."""

    def __init__(self, version, started, cells):
        self.version = version
        self.started = started
        self.cells = Cells(cells)
        # Values that it currently lacks.
        self.hidden = set()

    @abstractmethod
    def receive(self, channel, data, now):
        """Handle one datagram."""

    def forget(self, number):  # noqa: B027
        """Forget one of the session's subscriptions, if there are any."""

    @abstractmethod
    def frame(self, now):
        """Return what is sent in this step of the world, by channel."""


class Adapter(ABC):
    """Everything specific to one protocol, much of it as tables."""

    versions = ('',)
    # Functions (session, number, now), each sending a command that carries the number.
    commands = ()
    # Name of a cell, and the value that others set it to.
    others = ()
    # Those that the peer reports, so that a session can tell when others have taken them.
    reported = frozenset()
    # Values that the peer may lack.
    optional = ()
    # Channels that are open from the beginning.
    channels = ()
    # The shortest restart, and how long the session then needs to learn what the peer has.
    restart_takes = settling_takes = 0.0
    # How long the link may drop all or half of the datagrams, and the peer be frozen, with the
    # session still able to tell that it is the same one.
    known_dead_for = known_lossy_for = known_frozen_for = float('inf')
    # Whether the session can tell its own writes to a previous run apart.
    known_after_restart = True
    # Whether its link is a line, on which nothing comes twice or overtakes: a late datagram delays
    # all that follow it.
    in_order = False
    # Whether a command has to repeat earlier commands.
    repeats = False
    # What must be true in the end, by name: a function (session, now) that asks for it, and the
    # values of cells that it leads to; None stands for what they were before they were taken.
    musts = {}

    @abstractmethod
    def make_session(self):
        """Return a session."""

    @abstractmethod
    def make_peer(self, version, started):
        """Return a freshly started peer."""

    def start(self, session, now):
        """Start the session and make its requests."""
        session.start(now)

    @abstractmethod
    def numbers_in(self, data):
        """Return the numbers that the commands in a datagram carry."""

    @abstractmethod
    def wanted(self, peer):
        """Return the names of all values requested of this peer."""

    @abstractmethod
    def values_in(self, event):
        """Return the names of the values in an event."""

    def release(self, session, now):
        """Release what was taken, as the user may request at any time."""
        session.release(now)

    def is_chatter(self, data):
        """Return whether a datagram is sent from time to time anyway: a heartbeat, a lease."""
        return False

    def take_all(self, session, now):  # noqa: B027
        """Take everything that can be taken, before one of ``musts``."""

    def missing(self, session, now):
        """Return the names that the session reports as missing."""
        return session.missing(now)

    def neutral(self, name, before):
        """Return the value that a cell should have once released."""
        return before


@dataclass(frozen=True)
class Incident:
    """One thing that happens: what, with which number, and how long it lasts."""

    kind: str
    number: int = 0
    seconds: float = 0.0


KINDS = (
    'command', 'command', 'command', 'burst', 'lossy', 'dead', 'freeze', 'kill', 'other', 'other',
    'hide', 'show', 'forget', 'release')
# How long a stopped peer is away; most restarts that matter are too short to notice.
AWAY = (0.0, 0.0, 0.0, 0.5, 1.5, 3.0, 6.0, 0.0, 3.0, 9.0)


@dataclass
class World:
    """A session, its peer and the link between them."""

    adapter: Adapter
    seed: int = 0
    now: float = 100.0
    loss: float = 0.0
    frozen: bool = False
    seen: dict = field(default_factory=dict)
    given: dict = field(default_factory=dict)

    def __post_init__(self):
        self._random = random.Random(self.seed)
        self.session = self.adapter.make_session()
        versions = self.adapter.versions
        self.peer = self.adapter.make_peer(versions[self.seed % len(versions)], self.now)
        self.waiting = []
        self.open = set(self.adapter.channels)
        self.lost_track = False
        self.sent = set()
        self._number = 0
        self.told = []
        # Called with each datagram to the peer, and each reply; returns after how many seconds its
        # copies arrive, none if it is lost.
        self.carries_sent = self.carries_reply = lambda channel, data: AT_ONCE
        # What is under way: when it arrives, whether to the peer, and the datagram.
        self._late = []
        self._order = itertools.count()
        self._line_free_at = {True: 0.0, False: 0.0}
        self._end = None
        self._ends_at = self._settled_at = 0.0

    # Time.

    def run(self, seconds):
        """Let time pass."""
        end = self.now + seconds
        while self.now < end:
            self.now += STEP
            if self._end is not None and self.now >= self._ends_at:
                end_trouble, self._end = self._end, None
                end_trouble()
            self._send()
            self._arrive_late()
            if self.peer is None or self.frozen:
                continue
            waiting, self.waiting = self.waiting, []
            for channel, data in waiting:
                self.peer.receive(channel, data, self.now)
            for channel, data in self.peer.frame(self.now):
                if channel in self.open and self._random.random() >= self.loss:
                    for delay in self.carries_reply(channel, data):
                        self.carry(delay, channel, data, to_peer=False)
        self._note(self.session.expired())

    def carry(self, delay, channel, data, *, to_peer):
        """Let a datagram arrive after ``delay`` seconds."""
        at = self.now + delay
        if self.adapter.in_order:
            at = self._line_free_at[to_peer] = max(at, self._line_free_at[to_peer])
        if at > self.now:
            heapq.heappush(self._late, (at, next(self._order), to_peer, channel, data))
        else:
            self._arrive(channel, data, to_peer=to_peer)

    def _arrive_late(self):
        while self._late and self._late[0][0] <= self.now:
            _, _, to_peer, channel, data = heapq.heappop(self._late)
            self._arrive(channel, data, to_peer=to_peer)

    def _arrive(self, channel, data, *, to_peer):
        if to_peer:
            if self.peer is not None:
                self.waiting.append((channel, data))
        elif channel in self.open:
            self._note(self.session.receive(channel, data, None, self.now))
            self._send()

    def _send(self):
        for channel, data in self.session.poll(self.now):
            if data is None:
                self.open.discard(channel)
                continue
            self.open.add(channel)
            if not data:
                continue
            numbers = set(self.adapter.numbers_in(data))
            if self.adapter.repeats:
                numbers -= self.sent
            self.sent |= numbers
            if self.peer is None or self._random.random() < self.loss:
                continue
            delays = self.carries_sent(channel, data)
            if not delays:
                continue
            for number in numbers:
                late = self.now - self.given.get(number, self.now)
                assert late <= LIFETIME + STEP, (
                    f'command {number} reached the peer {late:.2f} s after it was given')
            for delay in delays:
                self.carry(delay, channel, data, to_peer=True)
        self._note(self.session.expired())

    def _note(self, events):
        for event in events:
            if isinstance(event, CommandDone) and event.error:
                self.told.append(event.error)
            for name in self.adapter.values_in(event):
                self.seen[name] = self.now

    # Incidents.

    def apply(self, it):
        """Apply one incident and let time pass."""
        getattr(self, f'_{it.kind}')(it)
        self.run(it.seconds)

    def _command(self, it):
        if self.peer is not None and self.now < self._settled_at:
            self.run(self._settled_at - self.now)
        give = self.adapter.commands[it.number % len(self.adapter.commands)]
        self._number += 1
        self.given[self._number] = self.now
        try:
            give(self.session, self._number, self.now)
        except ValueError:
            # It was refused, so it must not arrive either.
            self.given[self._number] = -1e9
        self._send()

    def _burst(self, it):
        for _ in range(40):
            self._command(it)

    def _lossy(self, it):
        self._begin(it.number, lambda: setattr(self, 'loss', 0.0))
        self.loss = 0.5
        self.lost_track |= it.number >= self.adapter.known_lossy_for

    def _dead(self, it):
        self._begin(it.number, lambda: setattr(self, 'loss', 0.0))
        self.loss = 1.0
        self.lost_track |= it.number >= self.adapter.known_dead_for

    def _freeze(self, it):
        self._begin(it.number, lambda: setattr(self, 'frozen', False))
        self.frozen = True
        self.lost_track |= it.number >= self.adapter.known_frozen_for

    def _kill(self, it):
        """Stop the peer and start another version of it."""
        versions = self.adapter.versions
        self.lost_track |= not self.adapter.known_after_restart

        def come_up():
            self.peer = self.adapter.make_peer(versions[it.number % len(versions)], self.now)
            self._settled_at = self.now + self.adapter.settling_takes

        self._begin(max(AWAY[it.number], self.adapter.restart_takes), come_up)
        self.peer = None
        self.waiting = []

    def _begin(self, seconds, end):
        """Begin a disturbance of that duration, well after the previous one has ended."""
        if self._end is not None:
            self.calm()
        self._end, self._ends_at = end, self.now + seconds

    def calm(self):
        """Let time pass until all disturbances are over."""
        while self._end is not None:
            self.run(STEP)
        self.run(CALM)

    def _other(self, it):
        """Let another program write a cell that the session has not taken or can read back."""
        if not self.adapter.others:
            return
        self.calm()
        name, value = self.adapter.others[it.number % len(self.adapter.others)]
        cells = self.peer.cells
        if cells.values.get(name, value) == value:
            # Nobody could tell.
            return
        if cells.writer.get(name) == OURS and name not in self.adapter.reported:
            return
        cells.write(name, value, THEIRS)
        self.run(CALM)

    def _hide(self, it):
        self.calm()
        if self.adapter.optional:
            self.peer.hidden.add(self.adapter.optional[it.number % len(self.adapter.optional)])

    def _show(self, it):
        self.calm()
        self.peer.hidden.clear()

    def _forget(self, it):
        self.calm()
        self.peer.forget(it.number)
        self.run(CALM)

    def _release(self, it):
        # A release is sent once and unconfirmed: a bad link may lose it.
        self.calm()
        # Refused if the peer is absent.
        with suppress(ValueError):
            self.adapter.release(self.session, self.now)
        self.run(CALM)

    # Invariants.

    def check_values(self):
        """After a quiet time each value is fresh, or absent and reported missing."""
        missing = set(self.adapter.missing(self.session, self.now))
        wanted = set(self.adapter.wanted(self.peer))
        fresh = {name for name, at in self.seen.items() if at >= self.now - 3.0}
        silent = wanted - fresh
        assert silent == wanted & self.peer.hidden, (
            f'{sorted(silent)} are not received; the peer lacks '
            f'{sorted(wanted & self.peer.hidden)}')
        assert silent <= missing, f'{sorted(silent - missing)} not received, not reported missing'
        assert not fresh & missing & wanted, f'{sorted(fresh & missing)} fresh, reported missing'

    def check_given_back(self):
        """After stop() everything is as others left it."""
        cells = self.peer.cells
        for name, value in cells.values.items():
            writer = cells.writer.get(name)
            if writer == OURS:
                expected = self.adapter.neutral(name, cells.before[name])
                assert value == expected, (
                    f'{name} is left at {value}; it was {cells.before[name]} before, expected '
                    f'{expected}')


def play(adapter, incidents, away_at_end=False, seed=0):
    """Run all incidents on a session and a peer, and check the invariants."""
    world = World(adapter, seed)
    adapter.start(world.session, world.now)
    world.run(5.0)
    for incident in incidents:
        world.apply(incident)
    world.calm()
    world.run(QUIET)
    world.check_values()
    if away_at_end:
        world.peer, world.waiting = None, []
        world.run(5.0)
    theirs = {} if away_at_end else {
        name: value for name, value in world.peer.cells.values.items()
        if world.peer.cells.writer.get(name) != OURS}
    world.session.stop(world.now)
    world.run(FAREWELL)
    if away_at_end:
        # Another run, in which nothing was taken: nothing takes it. What lets go may reach it, as
        # a Simpit plugin that cannot be told from another run is sent zeros.
        world.peer = adapter.make_peer(adapter.versions[0], world.now)
        world.run(FAREWELL)
        assert not world.peer.cells.writer
    else:
        if not world.lost_track:
            world.check_given_back()
        for name, value in theirs.items():
            left = world.peer.cells.values[name]
            assert left == value, (
                f'{name} was set to {value} by others, and stop() left it at {left}')
