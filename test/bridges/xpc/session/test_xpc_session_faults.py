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

"""The session with an X-Plane Connect plugin under every fault of network and X-Plane."""

from contextlib import suppress
import random
from statistics import mean
import struct

import pytest
from scripted_xpc import (
    BEACON,
    check_telemetry,
    frame_of,
    JOYSTICK,
    names_of,
    OVERRIDES,
    RUNNING_TIME,
    telemetry,
    World,
)

from xplane_bridge.bridges.sessions.base import PeerAbsentError, PeerChanged, PeerState, ReadDone
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session import (
    PeerReplaced,
    PluginVersion,
    WatchedDatarefs,
    XpcSession,
)

pytestmark = pytest.mark.slow

FAULTS = {
    'loss': {'loss': 0.1},
    'duplication': {'duplication': 0.3},
    'jitter': {'delay': (0.0, 0.02)},
    'reordering': {'delay': (0.0, 0.1)},
    'all': {'loss': 0.05, 'duplication': 0.1, 'delay': (0.001, 0.06)},
}


def make(aircraft=1, rate=50.0, **options):
    return XpcSession({n: names_of(n) for n in range(aircraft)}, rate=rate, **options)


def started(session, settle=0.5, **options):
    world = World(session, **options)
    world.call(session.start)
    world.run(settle)
    return world


def states_of(events):
    return [event.state for _, event in events if isinstance(event, PeerChanged)]


class DatarefClient:
    """Read and watch datarefs whose values identify the request, and check what arrives."""

    def __init__(self, world):
        self.world = world
        self.asked = {}
        self.answered = self.failed = self.watched = 0

    def ask(self, number):
        """Request some values, always the same number: only the values tell whose they are."""
        ticket = self.world.call(self.world.session.read_datarefs, [f'n/{number}/1', 'x/frame'])
        self.asked[ticket] = number

    def check(self, events):
        for _, event in events:
            if isinstance(event, ReadDone):
                number = self.asked.pop(event.ticket)
                if event.error:
                    self.failed += 1
                else:
                    assert event.values[0] == (float(number),)
                    self.answered += 1
            elif isinstance(event, WatchedDatarefs):
                self.watched += 1
                for name, row in zip(event.names, event.values, strict=True):
                    *_, value, count = name.split('/')
                    # Empty where replies were lost for longer than a second.
                    assert row in ((), (float(value),) * int(count))
        check_telemetry(events)


@pytest.mark.parametrize('fault', FAULTS)
@pytest.mark.parametrize('rate', [50.0, 0.0])
def test_no_reply_is_taken_for_another_ones(fault, rate):
    session = make(3, rate)
    world = started(session, **FAULTS[fault])
    asker = DatarefClient(world)
    world.call(session.watch, [f'sim/n/{n}/{n + 1}' for n in range(7)], 20.0)
    for number in range(100):
        asker.ask(number)
        asker.check(world.run(0.2))
    asker.check(world.run(2.0))
    assert not asker.asked
    assert asker.answered > 0.9 * 100
    assert asker.watched > 100
    # Requests that a slow path spreads over different frames are sent again.
    least = 20 * 8 if world.delay[1] < 0.05 else 20
    assert min(session.statistics.updates[n] for n in range(3)) > least
    assert states_of(world.events) == [PeerState.ANSWERING]


@pytest.mark.parametrize(('fault', 'least'), [
    ('loss', 22.0), ('duplication', 49.0), ('jitter', 15.0)])
def test_rate_suffers_little_from_a_fault(fault, least):
    session = make()
    world = started(session, **FAULTS[fault])
    assert len(telemetry(world.run(20.0))) / 20.0 > least


def test_duplicates_do_not_make_updates_come_twice():
    session = make(rate=0.0)
    world = started(session, duplication=1.0)
    frames = [frame_of(update.pose.lat) for _, update in telemetry(world.run(5.0))]
    assert len(frames) == len(set(frames)) == pytest.approx(300, abs=3)


@pytest.mark.parametrize('length', [0.2, 0.9, 1.5, 30.0])
@pytest.mark.parametrize('rate', [50.0, 0.0])
@pytest.mark.parametrize('aircraft', [1, 20])
def test_recovers_from_a_freeze(length, rate, aircraft):
    session = make(aircraft, rate)
    world = started(session, settle=2.0)
    world.freeze(length)
    check_telemetry(world.run(length))
    back = world.now
    events = world.run(2.0)
    check_telemetry(events)
    for number in range(aircraft):
        assert telemetry(events, number)[0][0] - back < (0.7 if aircraft == 1 else 1.0)
    assert (states_of(events) == [PeerState.ANSWERING]) == (length > 1.0)
    before, after = len(telemetry(events)), len(telemetry(world.run(2.0)))
    # The answers to what was asked before come too.
    assert after >= 0.97 * before


@pytest.mark.parametrize('length', [0.1, 0.9, 1.5, 30.0])
@pytest.mark.parametrize('aircraft', [1, 20])
def test_recovers_from_a_restart(length, aircraft):
    session = make(aircraft)
    # Without a beacon, one that was away long is noticed late: it might be loading.
    world = started(session, settle=2.0, beacon=True)
    world.restart(length)
    world.run(length)
    back = world.now
    events = world.run(2.0)
    check_telemetry(events)
    for number in range(aircraft):
        assert telemetry(events, number)[0][0] - back < 0.8


def test_recovers_when_the_plugin_drops_its_queue():
    session = make()
    world = started(session)
    for _ in range(20):
        # Another client floods the plugin.
        for number in range(40):
            world.at(world.now + 0.001, world._arrive, f'other {number}', b'GETP\0\0')
        world.run(1.0)
    assert world.resets >= 20
    assert len(telemetry(world.run(1.0))) >= 49


def test_freeze_sends_no_more_than_the_plugin_can_read_afterwards():
    session = make(20)
    world = started(session, settle=2.0)
    world.freeze(0.95)
    for _ in range(10):
        world.call(session.set_controls, {'elevator': 0.5})
        world.run(0.1)
    world.run(1.0)
    assert world.resets == 0
    assert max(world.handled.values()) < 20


def test_plugin_without_its_beacon_is_asked_ever_more_seldom():
    session = make(20)
    world = started(session, settle=2.0, beacon=True)
    world.restart(1e9)
    world.run(6.0)
    count = len(world.sent)
    world.run(100.0)
    # It may only have been stopped, and would drop what exceeds 20 when it goes on.
    assert 2 <= len(world.sent) - count <= 6
    # Those on which nothing is expected any more are closed.
    assert len(world.open) <= 2 * 20 + 1


@pytest.mark.parametrize('beacon', [True, False])
def test_plugin_that_may_be_loading_is_asked_ever_more_seldom(beacon):
    session = make()
    world = started(session, settle=2.0, beacon=beacon)
    for _ in range(30):
        world.call(session.set_controls, {'elevator': 0.5})
        world.run(0.02)
    world.freeze(120.0)
    for _ in range(30):
        with suppress(PeerAbsentError):
            world.call(session.set_controls, {'elevator': world.now % 1.0})
        world.run(0.02)
    world.run(60.0)
    assert len(world._queue) <= 15, 'the plugin reads 20 in its first frame'
    world.run(70.0)
    assert session.peer_state is PeerState.ANSWERING
    assert world.resets == 0


def test_session_without_aircraft_recovers_too():
    session = make(0)
    world = started(session, settle=2.0, beacon=True)
    world.call(session.watch, ['n/1/1'], 10.0)
    world.restart(5.0)
    world.run(4.9)
    assert session.peer_state is PeerState.AWAY
    events = world.run(2.0)
    assert len([event for _, event in events if isinstance(event, WatchedDatarefs)]) > 12


# What the beacon tells.


def test_nothing_heard_is_away():
    session = make()
    world = World(session)
    world.restart(1e9)
    world.call(session.start)
    assert session.peer_state is PeerState.UNKNOWN
    assert states_of(world.run(1.1)) == [PeerState.AWAY]


def test_beacon_without_answers_is_loading():
    session = make()
    world = World(session, beacon=True)
    world.freeze(20.0)
    world.call(session.start)
    assert states_of(world.run(15.0)) == [PeerState.LOADING]
    assert session.beacon == xpc.Beacon(49009, 12010)
    assert states_of(world.run(10.0)) == [PeerState.ANSWERING]


def test_loading_becomes_away_when_the_beacon_ends_and_comes_back_with_it():
    session = make()
    world = started(session, beacon=True)
    world.freeze(9.0)
    world.run(5.0)
    world.restart(20.0)
    world.freeze(30.0)
    world.run(40.0)
    assert states_of(world.events) == [
        PeerState.ANSWERING, PeerState.LOADING, PeerState.AWAY, PeerState.LOADING,
        PeerState.ANSWERING]


def test_read_of_a_silent_peer_fails_at_once_and_says_why():
    session = make()
    world = started(session, beacon=True)
    world.freeze(20.0)
    world.run(0.9)
    world.call(session.read_datarefs, ['n/1/1'])
    world.run(1.1)
    (done,) = [event for _, event in world.events if isinstance(event, ReadDone)]
    sentence = 'X-Plane at its address is loading or in a menu, and answers nothing'
    assert done.error == sentence
    with pytest.raises(PeerAbsentError, match=sentence):
        session.read_datarefs(['n/1/1'], world.now)


def test_peer_state_is_unknown_again_after_stop():
    session = make()
    world = started(session)
    world.call(session.stop)
    assert session.peer_state is PeerState.UNKNOWN


# Plugin versions.


@pytest.mark.parametrize(('plugin_version', 'beacon', 'hears', 'expected'), [
    ('rc6', True, True, PluginVersion.RC6),
    ('develop', True, True, PluginVersion.RC6),
    ('rc6', False, False, PluginVersion.RC6),
    ('rc5', True, True, PluginVersion.RC5),
    ('rc5', False, False, PluginVersion.V1_2_1),
    ('1.2.1', False, True, PluginVersion.V1_2_1),
    ('1.2.1', False, False, PluginVersion.V1_2_1),
])
def test_plugin_version_is_found_out(plugin_version, beacon, hears, expected):
    session = make(hears_beacons=hears)
    world = World(session, plugin_version=plugin_version, beacon=beacon)
    assert session.plugin_version is None
    world.call(session.start)
    world.run(4.0)
    assert session.plugin_version is expected
    check_telemetry(world.events)
    assert len(telemetry(world.events)) > 190


def test_plugin_version_without_beacon_waits_for_one():
    session = make()
    world = started(session, settle=3.0, plugin_version='1.2.1')
    assert session.plugin_version is None
    world.run(1.0)
    assert session.plugin_version is PluginVersion.V1_2_1


def test_chosen_plugin_version_is_believed():
    session = make(plugin_version=PluginVersion.DEVELOP)
    started(session, plugin_version='1.2.1')
    assert session.plugin_version is PluginVersion.DEVELOP


@pytest.mark.parametrize(('before', 'after', 'expected'), [
    ('rc6', '1.2.1', PluginVersion.V1_2_1), ('rc5', '1.2.1', PluginVersion.V1_2_1),
    ('1.2.1', 'rc6', PluginVersion.RC6), ('1.2.1', 'rc5', PluginVersion.V1_2_1)])
def test_another_xplane_after_a_pause_is_judged_anew(before, after, expected):
    session = make()
    world = World(session, plugin_version=before)
    if before == 'rc5':
        session.receive('beacon', BEACON, None, world.now)
    world.call(session.start)
    world.run(4.0)
    world.restart(4.5)
    world.run(4.5)
    world.plugin_version = after
    world.run(2.0)
    # Until it is known, the form of POSI that no plugin misreads.
    assert session.plugin_version is (PluginVersion.RC6 if after == 'rc6' else None)
    world.run(3.0)
    assert session.plugin_version is expected


# Malformed datagrams.


def test_malformed_datagrams_are_counted_by_kind_and_change_nothing():
    session = make()
    world = started(session)
    for data in (b'', b'POS', b'POSI\0', b'POSI\0' + bytes(40), b'RESP\0\2\1', b'ABCD\0xxx',
                 b'\xff\xfe\xfd\xfc\0', b'GETP\0\0'):
        assert not session.receive('position 0 0', data, None, world.now)
    assert session.statistics.malformed == {
        'no tag': 2, 'POSI': 2, 'RESP': 1, 'unknown tag': 3}
    assert "b'GETP'" in session.statistics.last_error
    assert len(telemetry(world.run(1.0))) >= 49


def test_100000_random_and_mutated_datagrams_end_nothing():
    session = make(2)
    world = started(session, settle=0.1)
    world.call(session.watch, ['n/1/1', 'n/2/1'], 20.0)
    chance = random.Random(7)
    position = b'POSI\0' + struct.pack('<B3d4f', 0, 41.0, 0.0, 100.0, 1.0, 2.0, 3.0, 1.0)
    rows = b'RESP\0\5' + struct.pack('<BfBfBfBfBf', 1, 41.0, 1, 0.0, 1, 100.0, 1, 0.0, 1, 7.0)
    terrain = b'TERR\0' + struct.pack('<B3d3f3f2i', 0, 4.0, 8.0, 3.5, 0, 1, 0, 0, 0, 0, 1, 0)
    seeds = (position, rows, terrain, BEACON, b'CONF\0\1', position[:34])
    channels = ('position 0 0', 'state 0 0', 'position 1 0', 'state 1 0', 'beacon', 'command',
                'read 1.0', 'watch 1.0', 'nothing')
    for number in range(100_000):
        if number % 4 == 0:
            data = chance.randbytes(chance.randrange(80))
        else:
            mutated = bytearray(chance.choice(seeds))
            for _ in range(chance.randrange(3)):
                mutated[chance.randrange(len(mutated))] = chance.randrange(256)
            data = bytes(mutated[:chance.randrange(1, 2 * len(mutated))])
        session.receive(channels[number % len(channels)], data, None, world.now)
        if number % 100 == 0:
            world.run(0.001)
    assert set(session.statistics.malformed) <= {
        'no tag', 'unknown tag', *xpc.MESSAGES['peer']}
    world.run(2.0)
    events = world.run(1.0)
    check_telemetry(events)
    assert len(telemetry(events)) >= 98


# An hour.


def state_sizes(session):
    """Return how many objects the session holds, at any depth."""
    seen = set()

    def count(thing):
        if id(thing) in seen:
            return 0
        seen.add(id(thing))
        if isinstance(thing, dict):
            return len(thing) + sum(map(count, thing.values()))
        if isinstance(thing, bytes | str | int | float | None):
            return 0
        if isinstance(thing, tuple) or (
                hasattr(thing, '__len__') and hasattr(thing, '__iter__')):
            return len(thing) + sum(map(count, thing))
        names = [name for kind in type(thing).__mro__ for name in getattr(kind, '__slots__', ())]
        parts = [getattr(thing, name) for name in names] + list(vars(thing).values() if hasattr(
            thing, '__dict__') else ())
        return sum(map(count, parts)) if type(thing).__module__.startswith('xplane') else 0

    return count(session)


def test_lost_reads_leave_nothing_behind():
    session = make()
    world = started(session)
    world.silent_to_tags = {b'GETT'}
    sizes = []
    for _ in range(40):
        world.call(session.read_terrain, xpc.GetTerrain(0))
        world.run(1.1)
        sizes.append(state_sizes(session))
    assert sizes[-1] <= max(sizes[:20]) + 2
    assert len(world.open) <= 2 + 16
    assert session.statistics.lost == 80


def test_long_loss_jitter_freezes_and_restarts():
    """A quarter of an hour; whatever has grown by its end would grow without bound."""
    session = make(rate=20.0)
    world = started(
        session, fps=40.0, loss=0.05, duplication=0.01, delay=(0.0, 0.02), beacon=True, seed=3)
    world.keep_sent = False
    world.call(session.watch, [f'sim/n/{n}/3' for n in range(60)], 1.0)
    asker = DatarefClient(world)
    chance = random.Random(5)
    sizes = []
    updates = recoveries = 0
    seconds = 900.0
    end = world.now + seconds
    while world.now < end:
        for _ in range(chance.randrange(1, 6)):
            asker.ask(chance.randrange(100_000))
            asker.check(world.run(chance.uniform(1.0, 8.0)))
        length = chance.choice((0.3, 1.2, 6.0)) * chance.uniform(0.5, 1.5)
        (world.freeze if chance.random() < 0.5 else world.restart)(length)
        asker.check(world.run(length))
        back = world.now
        events = world.run(2.0)
        asker.check(events)
        assert telemetry(events), f'no recovery within 2 s at {back}'
        assert telemetry(events)[0][0] < back + 2.0
        recoveries += 1
        updates += len(telemetry(world.events))
        world.events.clear()
        world.handled.clear()
        world.polls.clear()
        sizes.append(state_sizes(session))
        # Polls that were lost within the last seconds keep their sockets for a late reply.
        assert len(world.open) <= 2 * 40 + 1 + 16 + 16 + 1
    assert recoveries > 25
    assert updates > seconds * 20 * 0.4
    assert asker.answered > 125 > asker.failed
    assert asker.watched > 250
    # On average: what is under way differs from one moment to the next.
    assert mean(sizes[len(sizes) // 2:]) <= mean(sizes[:len(sizes) // 2]) + 20
    assert len(asker.asked) <= 1


# What was learnt about another X-Plane.


def test_sizes_learnt_from_another_xplane_are_asked_again_after_any_doubt():
    """Twice as many values as were learnt overflow the plugin; fake_xpc.py checks that."""
    names = [f'sim/x{n}' for n in range(40)]
    session = make()
    world = started(session, datarefs=dict.fromkeys(names, (1.0,) * 20))
    world.call(session.watch, names, 10.0)
    world.run(3.0)
    assert events_with(world, 20)
    world._defaults = dict.fromkeys(names, (1.0,) * 40)
    world.restart(0.6)
    world.run(6.0)
    assert events_with(world, 40)


def events_with(world, size):
    """Return the watched datarefs that have this size."""
    return [event for _, event in world.events if isinstance(event, WatchedDatarefs)
            and all(len(row) == size for row in event.values)]


def test_another_xplane_that_runs_longer_is_recognised():
    session = XpcSession({0: names_of(0, RUNNING_TIME)}, rate=50.0)
    world = started(session, datarefs=OVERRIDES, settle=2.0)
    world.call(session.take_joystick)
    world.run(0.5)
    world.restart(0.6)
    world.started = 500.0
    world.datarefs[JOYSTICK] = (1.0,)
    world.run(3.0)
    assert [event.reason for _, event in world.events if isinstance(event, PeerReplaced)]
    assert session.taken == ()
    assert session.held_by_others == ('joystick',)
