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
What must be true in the end, on a link that loses, doubles and delays: see mould.py.

lose() drops the datagrams, or the replies, of one thing that must be true in the end, and checks
that it is, or that an error was told. disturb() lets single datagrams of either side come twice,
late or out of order, reconnect() old ones after an outage: then too, and nobody is called another
peer.
"""

from collections import deque
from contextlib import suppress
from copy import deepcopy
import copyreg
from dataclasses import dataclass
from functools import cache, partial
from struct import Struct

from mould import AT_ONCE, CALM, NEVER, STEP, World

from xplane_bridge.bridges.sessions.machine import Event

# What a lost datagram may need to be sent again and shown.
REPEATED = 6.0
# The longest that a datagram may be under way, and for how long the world is watched after it.
LATEST = 3.0
AFTER = 3.0
# How many replies of before an outage come after it, and how long the outage is.
OLD_REPLIES = 20
OUTAGE = 2.0


@dataclass
class Lost:
    """Drops one datagram whenever it is sent: a number of times, or for some seconds."""

    world: World
    victim: object
    times: float = float('inf')
    seconds: float = float('inf')
    count: int = 0
    since: float | None = None

    def __call__(self, channel, data):
        """Return when this one arrives."""
        if self.victim not in (data, channel):
            return AT_ONCE
        if self.since is None:
            self.since = self.world.now
        if self.count >= self.times or self.world.now >= self.since + self.seconds:
            return AT_ONCE
        self.count += 1
        return NEVER


LOSSES = {
    'once': {'times': 1}, 'five times': {'times': 5}, 'for 3 s': {'seconds': 3.0}}


# Codecs hold them.
copyreg.pickle(Struct, lambda one: (Struct, (one.format,)))


@cache
def _taken_by(make_adapter):
    """Return a world in which everything was taken, to be copied."""
    return _make_taken_world(make_adapter())


def _taken_world(adapter):
    """
    Return a world in which everything was taken, and all of it shown; its adapter is its own.

    It is a copy: to make each anew took half the time of all losses.
    """
    return deepcopy(_taken_by(type(adapter)))


def lives_of_copies(make_adapter, must):
    """Yield all that is sent and heard because of a must: in a new world, and in two copies."""
    for world in (_make_taken_world(make_adapter()), *(
            _taken_world(make_adapter()) for _ in range(2))):
        said = []

        def note(channel, data, said=said, world=world):
            said.append((world.now, channel, bytes(data)))
            return AT_ONCE

        world.carries_sent = world.carries_reply = note
        world.adapter.musts[must][0](world.session, world.now)
        world.run(REPEATED)
        yield said, world.told, world.peer.cells.values


def _make_taken_world(adapter, carries_sent=None, calm=CALM):
    world = World(adapter)
    adapter.start(world.session, world.now)
    world.run(5.0)
    if carries_sent:
        world.carries_sent = carries_sent
    adapter.take_all(world.session, world.now)
    world.run(calm)
    assert not world.told
    return world


def sent_for(adapter, must):
    """Return the datagrams sent because of one of ``musts``, and the channels of the replies."""
    world = _taken_world(adapter)
    adapter = world.adapter
    sent, replies, usual = [], [], set()

    def note(channel, data):
        if data not in usual and data not in sent and not adapter.is_chatter(data):
            sent.append(data)
        return AT_ONCE

    def know(channel, data):
        usual.add(data)
        return AT_ONCE

    def note_reply(channel, data):
        if channel not in replies:
            replies.append(channel)
        return AT_ONCE

    world.carries_sent = know
    world.run(2.0)
    world.carries_sent, world.carries_reply = note, note_reply
    adapter.musts[must][0](world.session, world.now)
    world.run(REPEATED)
    return sent, replies


def lose(adapter, must, victim, loss, *, reply=False):
    """
    Lose one datagram of what must be true in the end, or the replies on one channel.

    ``loss`` are the arguments of Lost. At the end it is true, or an error was told.
    """
    world = _taken_world(adapter)
    adapter = world.adapter
    lost = Lost(world, victim, **loss)
    if reply:
        world.carries_reply = lost
    else:
        world.carries_sent = lost
    before = dict(world.peer.cells.before)
    adapter.musts[must][0](world.session, world.now)
    world.run(REPEATED)
    assert lost.count, f'{victim} was not sent again'
    _check_true(world, must, before)


def _check_true(world, must, before):
    """Check that what must be true is, or that an error was told."""
    adapter, cells = world.adapter, world.peer.cells
    told = world.told or world.session.left.unconfirmed
    wrong = {
        name: cells.values[name] for name, value in adapter.musts[must][1].items()
        if cells.values[name] != (
            adapter.neutral(name, before[name]) if value is None else value)}
    assert told or not wrong, f'{must}: {wrong} although nothing was told'


# Copies, late ones and old ones.

@dataclass(frozen=True)
class Copies:
    """
    When the copies of one datagram arrive, or of some that follow one another.

    ``of`` is 'sent' for those that the session sends because of what must be true, 'reply' for
    those that it receives then, 'taking' for those that took what is given back; ``first`` and
    ``count`` say which of them. ``delays`` of 'taking' count from when the must is asked for.
    On a line a datagram may be ``cut`` in the middle: only the rest is late, or lost.
    """

    of: str
    first: int
    delays: tuple
    count: int = 1
    cut: bool = False

    def __str__(self):
        cut = ', cut' * self.cut
        return f'{self.count} {self.of} from {self.first} after {self.delays} s{cut}'


DOUBLED = ((0.0, 0.0), (0.0, 0.3), (0.0, 0.7), (0.0, 2.0))
DELAYED = ((0.05,), (0.25,), (0.6,), (1.2,), (LATEST,))
# The copies of what was taken, in seconds after the release: none is older than LATEST.
SINCE_TAKEN = 0.8
RETAKEN = ((0.1,), (0.6,), (LATEST - SINCE_TAKEN,))


class _Numbered:
    """Gives those datagrams their delays that come at a certain place since it began."""

    def __init__(self, copies, base=0.0, carry=None):
        self._copies, self._base, self._carry = copies, base, carry
        self.count = 0

    def __call__(self, channel, data):
        number, self.count = self.count, self.count + 1
        delays = AT_ONCE
        for each in self._copies:
            if each.first <= number < each.first + each.count:
                delays = tuple(delay + self._base for delay in each.delays)
                if each.of == 'taking':
                    delays = (*AT_ONCE, *delays)
                elif each.cut:
                    middle = len(data) // 2
                    self._carry(0.0, channel, data[:middle])
                    for delay in delays:
                        self._carry(delay, channel, data[middle:])
                    delays = NEVER
        return delays


def disturb(adapter, must, *copies):
    """
    Let copies of some datagrams arrive twice, or late, around one of ``musts``.

    At the end it is true, or an error was told; and nobody was called another peer. Without copies
    return how many datagrams of each kind there are.
    """
    chosen = {of: [each for each in copies if each.of == of] for of in ('sent', 'reply', 'taking')}
    taking = _Numbered(chosen['taking'], SINCE_TAKEN)
    calm = SINCE_TAKEN if chosen['taking'] else CALM
    world = _taken_world(adapter) if copies and not chosen['taking'] else _make_taken_world(
        adapter, taking, calm)
    adapter = world.adapter
    others = _note_others(world)
    before = dict(world.peer.cells.before)
    sent, replies = (
        _Numbered(chosen[of], carry=partial(world.carry, to_peer=of == 'sent'))
        for of in ('sent', 'reply'))
    world.carries_sent, world.carries_reply = sent, replies
    adapter.musts[must][0](world.session, world.now)
    world.run(REPEATED + AFTER)
    assert not others, f'called another peer: {others}'
    _check_true(world, must, before)
    return {'sent': sent.count, 'reply': replies.count, 'taking': taking.count}


def reconnect(adapter, must, *, of='reply', count=OLD_REPLIES):
    """Let old datagrams arrive at once after an outage, then ask for one of ``musts``."""
    world = _taken_world(adapter)
    adapter = world.adapter
    others = _note_others(world)
    old = deque(maxlen=count)

    def keep(channel, data):
        old.append((channel, data))
        return AT_ONCE

    carries = f'carries_{of}'
    usual = getattr(world, carries)
    setattr(world, carries, keep)
    world.run(LATEST - OUTAGE)
    before = dict(world.peer.cells.before)
    world.carries_sent = world.carries_reply = lambda channel, data: NEVER
    world.run(OUTAGE)
    world.carries_sent = world.carries_reply = usual
    for channel, data in old:
        world.carry(STEP, channel, data, to_peer=of == 'sent')
    world.run(STEP)
    with suppress(ValueError):
        adapter.musts[must][0](world.session, world.now)
        world.run(REPEATED + AFTER)
        _check_true(world, must, before)
    if adapter.known_dead_for > OUTAGE:
        assert not others, f'called another peer: {others}'


# How many of the last replies come again, and how much later.
BURSTS = ((2.0, (40, 20)), (0.7, (20,)))


def repeat(adapter, must, later, counts):
    """Let old replies come again, each before the one to a request, then ask for a must."""
    world = _taken_world(adapter)
    adapter = world.adapter
    others = _note_others(world)
    old, again = deque(maxlen=max(counts)), []

    def keep(channel, data):
        old.append((channel, data))
        return AT_ONCE

    def forestall(channel, data):
        copy = next((each for each in again if each[0] == channel), None)
        if copy is not None:
            again.remove(copy)
            world.carry(0.0, *copy, to_peer=False)
        return AT_ONCE

    world.carries_reply = keep
    world.run(LATEST)
    world.carries_reply, world.carries_sent = lambda channel, data: AT_ONCE, forestall
    before = dict(world.peer.cells.before)
    for count in counts:
        world.run(later)
        again[:] = list(old)[-count:]
    world.run(later)
    adapter.musts[must][0](world.session, world.now)
    world.run(REPEATED + AFTER)
    assert not others, f'called another peer: {others}'
    _check_true(world, must, before)


def _note_others(world):
    """Return a list that will hold each time when the session calls its peer another one."""
    peer, others = world.session._peer, []
    process = peer.process

    def noted(what, now):
        if what is Event.OTHER:
            others.append(f'{now:.2f}')
        return process(what, now)

    peer.process = noted
    return others
