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

"""What commands take from X-Plane's user through the plugin, and the messages that return it."""

import pytest
from scripted_xpc import HELD, JOYSTICK, names_of, OVERRIDES, THROTTLE, World

from xplane_bridge.protocols import xpc
from xplane_bridge.protocols.xpc import SimulationOp
from xplane_bridge.sessions.base import PeerState
from xplane_bridge.sessions.xpc import XpcSession
from xplane_bridge.sessions.xpc.taken import Taken

NOBODY = (0.0,) * 20


def held(*aircraft):
    """Return which aircraft X-Plane reports as paused."""
    return tuple(float(number in aircraft) for number in range(20))


def taken(*messages, reported=None):
    """Return what is taken after these commands, given these earlier reports."""
    book = Taken()
    book.report(reported or {})
    for message in messages:
        book.note(message, 0.0)
    return book


@pytest.mark.parametrize(('before', 'given'), [
    # -2 is no override; 0 would close the throttle for good.
    (None, -2.0), ((-2.0,), -2.0), ((0.0,), -2.0), ((0.75,), 0.75)])
def test_the_throttle_is_given_back_as_it_was_unless_that_would_shut_it(before, given):
    book = taken(
        xpc.Controls(throttle=0.5), reported={} if before is None else {THROTTLE: before})
    assert book.names == ('throttle',)
    assert book.give_back() == [xpc.SetDatarefs(((THROTTLE, (given,)),))]
    assert not book
    assert book.give_back() == []


@pytest.mark.parametrize(('before', 'names'), [((-2.0,), ('throttle',)), ((0.5,), ())])
def test_the_throttles_own_dataref_takes_it_unless_somebody_else_has_it_so(before, names):
    write = xpc.SetDatarefs(((THROTTLE, (0.5,)),))
    book = taken(write, reported={THROTTLE: before})
    assert book.names == names
    book.note(xpc.SetDatarefs(((THROTTLE, (-2.0,)),)), 0.0)
    assert book.names == ()


BRAKE_OVERRIDE = 'sim/operation/override/override_toe_brakes'
LEFT_BRAKE = 'sim/cockpit2/controls/left_brake_ratio'


def test_brakes_are_released_before_they_are_given_back():
    braking = xpc.SetDatarefs(((BRAKE_OVERRIDE, (1.0,)), (LEFT_BRAKE, (0.5,))))
    assert taken().unread(braking) == (BRAKE_OVERRIDE,)
    book = taken(braking)
    assert book.names == (BRAKE_OVERRIDE, 'left brake')
    assert book.give_back() == [xpc.SetDatarefs((
        (LEFT_BRAKE, (0.0,)), (BRAKE_OVERRIDE, (0.0,))))]
    assert not book


def test_a_throttle_lever_releases_the_throttles_that_were_forced():
    levers = {'sim/flightmodel/engine/ENGN_thro': (0.25, 0.5)}
    assert taken().released_for(levers) == levers
    book = taken(xpc.Controls(throttle=0.5))
    assert book.released_for(levers) == {THROTTLE: (-2.0,), **levers}


def test_a_pause_of_all_is_over_when_the_last_aircraft_goes_on():
    book = taken(xpc.Simulation(SimulationOp.PAUSE), reported={HELD: NOBODY})
    book.report({HELD: (1.0,) * 20})
    book.report({HELD: held(7)})
    assert book
    book.report({HELD: NOBODY})
    assert not book


def test_a_pause_of_one_is_over_when_that_aircraft_goes_on():
    book = taken(xpc.Simulation(SimulationOp.PAUSE_AIRCRAFT + 3), reported={HELD: NOBODY})
    book.report({HELD: held(3, 5)})
    book.report({HELD: held(5)})
    assert not book


def test_ending_the_pause_of_all_leaves_what_others_and_other_commands_pause():
    book = taken(
        xpc.Simulation(SimulationOp.PAUSE_AIRCRAFT + 2), xpc.Simulation(SimulationOp.PAUSE),
        reported={HELD: held(5)})
    (given,) = book.give_back(0)
    assert given == xpc.SetDatarefs(((HELD, held(2, 5)),))
    assert book.give_back() == [xpc.Simulation(SimulationOp.RUN_AIRCRAFT + 2)]


def test_many_pauses_of_single_aircraft_end_by_one_datagram():
    """The plugin loses what exceeds 20 datagrams per frame."""
    pauses = [xpc.Simulation(SimulationOp.PAUSE_AIRCRAFT + number) for number in range(1, 6)]
    few = taken(*pauses[:4], reported={HELD: held(9)})
    assert few.give_back() == [
        xpc.Simulation(SimulationOp.RUN_AIRCRAFT + number) for number in range(1, 5)]
    many = taken(*pauses, reported={HELD: held(9)})
    many.report({HELD: held(1, 2, 3, 4, 5, 9)})
    assert many.give_back() == [xpc.SetDatarefs(((HELD, held(9)),))]
    alone = taken(*pauses, reported={HELD: NOBODY})
    alone.report({HELD: held(1, 2, 3, 4, 5)})
    assert alone.give_back() == [xpc.Simulation(SimulationOp.RUN)]


def test_surfaces_are_centred_before_the_joystick_is_given_back():
    book = taken(
        xpc.Controls(elevator=0.5, rudder=-0.5), xpc.Controls(aileron=0.25, aircraft=2),
        xpc.SetDatarefs(((JOYSTICK, (1.0,)),)))
    assert book.give_back() == [
        xpc.Controls(elevator=0.0, rudder=0.0),
        xpc.SetDatarefs((
            ('sim/multiplayer/position/plane2_yolk_roll', (0.0,)), (JOYSTICK, (0.0,))))]


# In a session.


def started(**options):
    session = XpcSession({0: names_of(0)}, rate=50.0)
    world = World(session, **options)
    world.call(session.start)
    world.run(0.5)
    return session, world


def test_nothing_is_asked_after_stop():
    session, world = started(datarefs=OVERRIDES)
    world.call(session.set_controls, {'elevator': 0.5})
    world.run(0.1)
    world.sent.clear()
    world.call(session.stop)
    world.run(3.0)
    assert [channel for _, channel, _ in world.sent] == ['command']
    assert session.peer_state is PeerState.UNKNOWN


def test_what_is_taken_waits_while_it_is_not_known_who_will_read_it():
    session, world = started(datarefs=OVERRIDES)
    world.call(session.set_controls, {'elevator': 0.5})
    world.run(0.1)
    world.freeze(0.6)
    world.run(0.5)
    # Silent long enough that it may be another one, but not long enough to be away.
    assert session.peer_state is PeerState.ANSWERING
    world.sent.clear()
    world.call(session.release)
    assert world.sent == []
    world.run(0.5)
    assert session.taken == ()
    assert 'command' in [channel for _, channel, _ in world.sent]


def test_answers_that_are_lost_leave_no_more_than_8_channels_open():
    """Old values are read before each write; of many pending reads the oldest are dropped."""
    session, world = started(datarefs=OVERRIDES)
    receive = session.receive
    session.receive = lambda channel, data, sender, now: (
        [] if channel.startswith('before') else receive(channel, data, sender, now))
    for number in range(12):
        name = f'sim/operation/override/override_{number}'
        world.call(session.send, xpc.SetDatarefs(((name, (1.0,)),)))
        world.run(0.1)
    waiting = [channel for channel in world.open if channel.startswith('before')]
    assert len(waiting) == 8
    assert len(session.taken) == 12
