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


"""Commands that are held over X-Plane's WebSocket, on lines that lose, delay and close."""

import math
import random

import pytest

pytest.importorskip('jsbsim', reason='JSBSim is not installed')

from web_rig import BRAKES, Fault, FOREVER, RELEASED, Rig, WORLD

from xplane_bridge.bridges.xplane_udp.web.held import Ask, HeldCommands, LostHold
from xplane_bridge.bridges.xplane_udp.web.presses import MOST_HELD
from xplane_bridge.simulation.peers.xplane_udp.web_api import SimulatedWebApi

LAST = 30.0


def play(script, faults=()):
    """Run what users do, as (when, what); return the rig after a quiet time, and tickets."""
    rig = Rig(faults)
    tickets = []
    for at, do, *arguments in script:
        rig.run(at)
        tickets.append(getattr(rig, do)(*arguments))
    rig.run(rig.now + 0.5)
    while not rig.is_quiet and rig.now < LAST:
        rig.run(rig.now + 0.5)
    return rig, tickets


SCRIPTS = {
    'begin and end': ((0.0, 'begin'), (1.0, 'end')),
    'end at once': ((0.0, 'begin'), (0.05, 'end')),
    'end, begin at once, end': ((0.0, 'begin'), (1.0, 'end'), (1.0, 'begin'), (2.5, 'end')),
    'renewals': ((0.0, 'begin', 4.0), (1.0, 'begin', 4.0), (2.0, 'begin', 40.0), (3.0, 'end')),
    'a begin that waits': ((0.0, 'begin'), (1.0, 'begin'), (1.03, 'begin'), (2.0, 'end')),
}
FAULTS = [
    *(Fault('late', seconds) for seconds in (0.05, 0.3, 1.0, 3.0, 7.0)),
    *(Fault('overtaken', seconds) for seconds in (0.3, 2.0)),
    *(Fault('restart', seconds) for seconds in (0.1, 2.0)),
    *(Fault(kind, notices) for kind in ('lost', 'closed') for notices in (0.0, 0.5, 3.0, FOREVER)),
]


def places(script):
    """Return the messages of a script without faults, by what they are and their number."""
    rig, _ = play(script)
    return [(way, number) for way, count in rig.counts.items() for number in range(count)]


def check(script, faults):
    """Check what must be true whatever has befallen; the last who asks for something ends it."""
    rig, tickets = play(script, faults)
    faults = dict(faults)
    said = (script, faults, [rig.said(ticket) for ticket in tickets])
    assert not rig.unsaid, said
    assert set(rig.outcomes) == set(tickets), said
    if rig.is_active():
        # X-Plane holds it over a connection of which it never notices that it has ended.
        assert rig.held.unconfirmed(rig.now) == (BRAKES,), said
        assert rig.outcomes[tickets[-1]].error is not None, said
        assert any(fault.seconds == FOREVER for fault in faults.values()), said
    else:
        assert rig.is_quiet, said
    if rig.said(tickets[-1]).endswith('is not held'):
        assert rig.lost or rig.outcomes[tickets[-2]].error is not None, said
    return rig, tickets


@pytest.mark.parametrize('script', SCRIPTS.values(), ids=SCRIPTS)
def test_whatever_befalls_a_message_nothing_is_held_that_nobody_says_he_holds(script):
    for place in places(script):
        for fault in FAULTS + [Fault('refused')] * (place[0] != 'down'):
            check(script, [(place, fault)])


def test_whatever_befalls_two_messages():
    rng = random.Random(49)
    for _ in range(300):
        script = rng.choice(list(SCRIPTS.values()))
        rig, _ = play(script)
        faults = {}
        for _ in range(2):
            way = rng.choice(('ask', 'up', 'down'))
            # After a fault there are more.
            faults[way, rng.randrange(rig.counts[way] + 4)] = rng.choice(FAULTS)
        check(script, faults.items())


@pytest.mark.parametrize('script', list(SCRIPTS.values())[:1] + [SCRIPTS['renewals'][:2]])
def test_what_is_not_shown_when_the_node_is_deactivated_is_owed(script):
    for place in places(script):
        for fault in FAULTS:
            rig, tickets = Rig([(place, fault)]), []
            for at, do, *arguments in (*script[:-1], (1.0, 'begin'), (1.5, 'end_all')):
                rig.run(at)
                tickets.append(getattr(rig, do)(*arguments))
            rig.run(4.5)
            # What is owed now is an error, and the exit code 1.
            assert rig.held.unconfirmed(4.5) or not rig.is_active(), (place, fault)
            assert not rig.unsaid, (place, fault)


# What others do.


def holding(**more):
    rig = Rig()
    assert rig.begin(**more)
    rig.run(1.0)
    assert rig.held.names(1.0) == (BRAKES,)
    return rig


def test_a_release_needs_nothing_but_its_connection():
    rig = holding()
    # X-Plane was silent on UDP; REST answers nothing.
    rig.client.forget()
    asked = rig.counts['ask']
    rig.listening = False
    ticket = rig.end()
    rig.run(1.3)
    assert rig.said(ticket) == RELEASED
    assert rig.counts['ask'] == asked


def test_a_report_ends_a_hold_only_when_it_is_confirmed():
    rig = holding()
    number = rig.client.socket.connection
    rig.held.reported(BRAKES, False, number, rig.now)
    rig.run(3.0)
    assert rig.held.names(3.0) == (BRAKES,)
    # A report of an earlier connection is none of this one's.
    rig.held.reported(BRAKES, False, number - 1, rig.now)
    rig.held.reported(BRAKES, False, number - 1, rig.now)
    rig.run(5.0)
    assert (rig.held.names(5.0), rig.lost) == ((BRAKES,), [])
    # Somebody releases it.
    rig.xplane.store.release(rig.line.peer)
    rig.run(6.0)
    assert rig.lost == [LostHold(BRAKES, 'X-Plane or somebody else has released it')]
    assert rig.is_quiet


def test_what_somebody_else_holds_too_is_not_called_released():
    rig = holding()
    other = object()
    rig.xplane.store.hold(other, BRAKES)
    ticket = rig.end()
    rig.run(5.0)
    released = rig.counts['up']
    rig.run(7.0)
    assert 'somebody else may hold it; its lease ends in 5' in rig.said(ticket)
    assert rig.held.unconfirmed(7.0) == (BRAKES,)
    # X-Plane is not asked again and again to release what is not ours.
    assert rig.counts['up'] == released
    again = rig.begin()
    rig.run(7.5)
    assert rig.said(again) == 'held'
    rig.xplane.store.release(other)
    ticket = rig.end()
    rig.run(8.5)
    assert rig.said(ticket) == RELEASED
    assert rig.is_quiet


def test_of_a_restarted_xplane_it_is_asked_whether_a_lost_command_is_active():
    rig = holding()
    rig.close(rig.line, 0.0)
    rig.listening = False
    rig.run(4.0)
    assert [lost.why for lost in rig.lost] == ['the connection was lost']
    assert rig.held.unconfirmed(4.0) == (BRAKES,)
    ticket = rig.end()
    rig.start()
    rig.listening = True
    rig.run(6.0)
    assert rig.said(ticket) == RELEASED
    assert rig.is_quiet


def test_many_are_given_back_by_one_request():
    rig = Rig()
    names = sorted(rig.xplane.store.ids['commands'])[:MOST_HELD]
    for name in names:
        rig.begin(name=name)
    with pytest.raises(ValueError, match='20 commands are held already'):
        rig.begin()
    rig.run(5.0)
    assert sorted(rig.held.names(5.0)) == names
    asked = rig.counts['up']
    rig.held.end_all(rig.now)
    rig.run(5.5)
    assert rig.is_quiet
    assert rig.counts['up'] == asked + 1


def test_leases_end_by_themselves_and_impossible_ones_are_refused():
    held = HeldCommands()
    held.begin('a', 2.0, 0.0)
    step = held.due(0.0, 0)
    assert held.asked('a', 0, 0.5) == 1.5
    held.done(step, 0.75, None)
    # X-Plane was asked at some time between these.
    assert held.deadline() == 2.25
    assert held.names(2.2) == ('a',)
    assert held.names(2.25) == held.unconfirmed(2.25) == ()
    with pytest.raises(ValueError, match='a is not held'):
        held.end('a', 2.25)
    with pytest.raises(ValueError, match='is not in 0'):
        held.begin('a', math.nan, 0.0)
    # Nobody has asked X-Plane in time.
    held.begin('a', 1.0, 3.0, 7)
    assert held.due(4.0, 0) is None
    settled, = held.announced()
    assert settled.tickets == (7,)
    assert 'its time was over' in str(settled.error)


def test_a_step_that_is_unanswered_lets_others_have_their_turn():
    held = HeldCommands()
    for name in ('a', 'b'):
        held.begin(name, 60.0, 0.0)
        step = held.due(0.0, 0)
        held.asked(name, 0, 0.0)
        held.done(step, 0.0, None)
    # The connection is lost.
    look = held.due(1.0, 1)
    assert (look.ask, look.names) == (Ask.LOOK, ('a',))
    held.begin('c', 60.0, 1.5)
    held.done(look, 2.0, OSError('refused'), unanswered=True)
    assert held.due(2.0, 2).names == ('c',)


def test_a_hold_over_a_connection_that_xplane_keeps_is_owed_though_it_was_begun_anew():
    rig = holding()
    rig.close(rig.line, FOREVER)
    again = rig.begin(lease=2.0)
    rig.run(5.0)
    assert rig.said(again) == 'held'
    # That lease is over, the first one is not.
    ticket = rig.end()
    rig.run(12.0)
    assert rig.is_active()
    assert 'somebody else may hold it; its lease ends in 5' in rig.said(ticket)
    assert rig.held.unconfirmed(12.0) == (BRAKES,)
    assert 45.0 < rig.held.longest(12.0) < 50.0


def test_over_a_new_connection_it_is_asked_again_who_holds_what_is_owed():
    rig = holding()
    other = object()
    rig.xplane.store.hold(other, BRAKES)
    rig.end()
    rig.run(8.0)
    rig.close(rig.line, 0.0)
    rig.xplane.store.release(other)
    rig.run(9.0)
    assert rig.is_quiet


def test_a_command_that_has_gone_with_its_plugin_is_owed_no_more():
    rig = Rig()
    rig.xplane = SimulatedWebApi(WORLD)
    rig.begin()
    rig.run(1.0)
    store = rig.xplane.store
    del store._names[store.ids['commands'].pop(BRAKES)]
    rig.line.peer._commands.clear()
    ticket = rig.end()
    rig.run(3.0)
    assert rig.said(ticket) == 'this X-Plane does not know it'
