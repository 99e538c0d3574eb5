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
from scripted_xpc import (
    CENTRED,
    HELD,
    JOYSTICK,
    names_of,
    OVERRIDES,
    THROTTLE,
    World,
    YOKES,
)

from xplane_bridge.bridges.sessions.base import CommandDone, PeerState
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.protocol import SimulationOp
from xplane_bridge.bridges.xpc.session import XpcSession
from xplane_bridge.bridges.xpc.session.items import CONTROLS
from xplane_bridge.bridges.xpc.session.overrides import Overrides

NOBODY = (0.0,) * 20


def held(*aircraft):
    """Return which aircraft X-Plane reports as paused."""
    return tuple(float(number in aircraft) for number in range(20))


def taken(*messages, reported=None):
    """Return what is taken after these commands, given these earlier reports."""
    book = Overrides()
    book.report(reported or {})
    for message in messages:
        book.note(message, 0.0)
    return book


def given_back(book, *arguments):
    """Give back, and return the messages for it."""
    book.give_back(10.0, *arguments)
    return book.messages(book.due(10.0, urgent=True))


@pytest.mark.parametrize(('before', 'given'), [
    # -2 is no override; 0 would close the throttle for good.
    (None, -2.0), ((-2.0,), -2.0), ((0.0,), -2.0), ((0.75,), 0.75)])
def test_the_throttle_is_given_back_as_it_was_unless_that_would_shut_it(before, given):
    book = taken(
        xpc.SetControls(throttle=0.5), reported={} if before is None else {THROTTLE: before})
    assert book.names == ('throttle',)
    assert given_back(book) == [xpc.SetDatarefs(((THROTTLE, (given,)),))]
    assert book.names == ()
    assert book.unconfirmed == ('throttle',)
    book.sent(book.due(10.0, urgent=True), 10.0, 1, 0.0)
    # It is sent again until a report that was asked for afterwards shows it.
    book.report({THROTTLE: (given,)}, 10.1, 0)
    assert book.messages(book.due(10.2, urgent=True)) == [
        xpc.SetDatarefs(((THROTTLE, (given,)),))]
    book.report({THROTTLE: (0.5,)}, 10.1, 1)
    assert book.unconfirmed == ('throttle',)
    book.report({THROTTLE: (given,)}, 10.2, 1)
    assert not book
    assert book.pending.deadline is None


@pytest.mark.parametrize(('before', 'names'), [((-2.0,), ('throttle',)), ((0.5,), ())])
def test_the_throttles_own_dataref_takes_it_unless_somebody_else_has_it_so(before, names):
    write = xpc.SetDatarefs(((THROTTLE, (0.5,)),))
    book = taken(write, reported={THROTTLE: before})
    assert book.names == names
    assert book.names_held_by_others == (() if names else ('throttle',))
    book.note(xpc.SetDatarefs(((THROTTLE, (-2.0,)),)), 0.0)
    assert book.names == ()


BRAKE_OVERRIDE = 'sim/operation/override/override_toe_brakes'
LEFT_BRAKE = 'sim/cockpit2/controls/left_brake_ratio'


def test_brakes_are_released_before_they_are_given_back():
    braking = xpc.SetDatarefs(((BRAKE_OVERRIDE, (1.0,)), (LEFT_BRAKE, (0.5,))))
    assert taken().unread(braking) == (BRAKE_OVERRIDE,)
    book = taken(braking)
    assert book.names == (BRAKE_OVERRIDE, 'left brake')
    assert given_back(book) == [xpc.SetDatarefs((
        (LEFT_BRAKE, (0.0,)), (BRAKE_OVERRIDE, (0.0,))))]


def test_an_override_whose_value_before_is_unknown_is_not_given_back():
    name = 'sim/operation/override/override_flightdir'
    book = taken(xpc.SetDatarefs(((name, (1.0,)),)))
    assert book.names == (name,)
    assert given_back(book) == []
    assert not book
    book.read_before({name: (0.0,)})
    book.note(xpc.SetDatarefs(((name, (1.0,)),)), 0.0)
    assert given_back(book) == [xpc.SetDatarefs(((name, (0.0,)),))]


def test_a_throttle_lever_releases_the_throttles_that_were_forced():
    levers = {'sim/flightmodel/engine/ENGN_thro': (0.25, 0.5)}
    assert taken().released_for(levers) == levers
    book = taken(xpc.SetControls(throttle=0.5))
    assert book.released_for(levers) == {THROTTLE: (-2.0,), **levers}


def test_a_pause_of_all_is_over_when_the_last_aircraft_goes_on():
    book = taken(xpc.Simulation(SimulationOp.PAUSE), reported={HELD: NOBODY})
    assert book.names == ('pause of all',)
    book.report({HELD: (1.0,) * 20})
    for _ in range(2):
        assert book.names == ('pause of all',)
        book.report({HELD: held(7)})
    assert book.names == ('pause of aircraft 7',)
    for _ in range(2):
        assert book
        book.report({HELD: NOBODY})
    assert not book


def test_a_pause_of_one_is_over_when_that_aircraft_goes_on():
    book = taken(xpc.Simulation(SimulationOp.PAUSE_AIRCRAFT + 3), reported={HELD: NOBODY})
    book.report({HELD: held(3, 5)})
    assert book.names_held_by_others == ('pause of aircraft 5',)
    book.report({HELD: held(5)})
    book.report({HELD: held(5)})
    assert not book


def test_ending_the_pause_of_all_leaves_what_others_pause():
    book = taken(
        xpc.Simulation(SimulationOp.PAUSE_AIRCRAFT + 2), xpc.Simulation(SimulationOp.PAUSE),
        reported={HELD: held(5)})
    book.report({HELD: (1.0,) * 20})
    assert given_back(book) == [xpc.SetDatarefs(((HELD, held(5)),))]


@pytest.mark.parametrize('pause_all', [xpc.Simulation(SimulationOp.PAUSE),
                                       xpc.Simulation(SimulationOp.TOGGLE)])
def test_our_own_pause_of_one_is_not_taken_for_another_clients(pause_all):
    book = taken(xpc.Simulation(SimulationOp.PAUSE_AIRCRAFT + 3), reported={HELD: NOBODY})
    book.report({HELD: held(3)})
    book.note(xpc.Simulation(SimulationOp.RUN) if pause_all.op == SimulationOp.TOGGLE
              else pause_all, 0.0)
    book.note(xpc.Simulation(SimulationOp.PAUSE), 0.0)
    book.report({HELD: (1.0,) * 20})
    book.note(xpc.Simulation(SimulationOp.RUN_AIRCRAFT + 3), 0.0)
    book.report({HELD: tuple(float(number != 3) for number in range(20))})
    assert given_back(book) == [xpc.Simulation(SimulationOp.RUN)]


def test_toggling_pauses_sends_absolute_values_if_they_are_known():
    toggle = xpc.Simulation(SimulationOp.TOGGLE)
    assert taken().resolve(toggle) == toggle
    for before, sent in (
            (NOBODY, xpc.Simulation(SimulationOp.PAUSE)),
            ((1.0,) * 20, xpc.Simulation(SimulationOp.RUN)),
            (held(*range(10)), xpc.SetDatarefs(((HELD, held(*range(10, 20))),)))):
        assert taken(reported={HELD: before}).resolve(toggle) == sent


@pytest.mark.parametrize('row', [(0.0,), (0.0,) * 8])
def test_fewer_pauses_reported_than_there_are_aircraft_raise_nothing(row):
    pauses = [xpc.Simulation(SimulationOp.PAUSE_AIRCRAFT + number) for number in range(1, 7)]
    book = taken(*pauses, reported={HELD: row})
    assert given_back(book) == [xpc.Simulation(SimulationOp.RUN)]


def test_many_pauses_of_single_aircraft_end_by_one_datagram():
    """The plugin loses what exceeds 20 datagrams per frame."""
    pauses = [xpc.Simulation(SimulationOp.PAUSE_AIRCRAFT + number) for number in range(1, 6)]
    one = taken(pauses[0], reported={HELD: held(9)})
    assert given_back(one) == [xpc.Simulation(SimulationOp.RUN_AIRCRAFT + 1)]
    many = taken(*pauses, reported={HELD: held(9)})
    many.report({HELD: held(1, 2, 3, 4, 5, 9)})
    assert given_back(many) == [xpc.SetDatarefs(((HELD, held(9)),))]
    alone = taken(*pauses, reported={HELD: NOBODY})
    alone.report({HELD: held(1, 2, 3, 4, 5)})
    assert given_back(alone) == [xpc.Simulation(SimulationOp.RUN)]


def test_surfaces_are_centred_before_the_joystick_is_given_back():
    book = taken(
        xpc.SetControls(elevator=0.5, rudder=-0.5), xpc.SetControls(aileron=0.25, aircraft=2),
        xpc.SetDatarefs(((JOYSTICK, (1.0,)),)))
    assert given_back(book) == [
        xpc.SetControls(elevator=0.0, rudder=0.0),
        xpc.SetDatarefs((
            ('sim/multiplayer/position/plane2_yolk_roll', (0.0,)), (JOYSTICK, (0.0,))))]


def test_controls_of_one_aircraft_are_given_back_alone():
    book = taken(
        xpc.SetControls(elevator=0.5), xpc.Text(0, 0, 'x'), xpc.Simulation(SimulationOp.PAUSE),
        xpc.SetDatarefs(((JOYSTICK, (1.0,)),)), reported={HELD: NOBODY})
    book.give_back(1.0, 0, CONTROLS)
    assert book.names == ('text', 'pause of all')
    assert book.unconfirmed == ('elevator', 'joystick')


def test_an_elevator_that_the_user_moves_is_not_owed():
    book = taken(xpc.SetControls(elevator=0.5))
    assert given_back(book) == [xpc.SetControls(elevator=0.0)]
    book.sent(book.due(10.0, urgent=True), 10.0, 1, 0.0)
    book.report({YOKES['elevator']: (0.5,)}, 10.1, 1)
    assert book.unconfirmed == ('elevator',)
    book.report({YOKES['elevator']: (0.3,)}, 10.2, 1)
    assert not book


def test_what_nobody_known_holds_is_named_and_freed():
    book = taken(reported={HELD: held(4), JOYSTICK: (1.0,), THROTTLE: (0.5,)})
    assert book.names_held_by_others == ('joystick', 'throttle', 'pause of aircraft 4')
    sentence, = book.contradictions(0.0, 3.0)
    assert 'release_all' in sentence
    book.free(0.0)
    assert book.messages(book.due(0.0, urgent=True)) == [
        xpc.SetControls(elevator=0.0, aileron=0.0, rudder=0.0),
        xpc.SetDatarefs(((JOYSTICK, (0.0,)), (THROTTLE, (-2.0,)))), xpc.Text(0, 0, ''),
        xpc.Simulation(SimulationOp.RUN_AIRCRAFT + 4)]


def test_what_is_commanded_and_not_shown_is_a_contradiction():
    book = taken(reported={JOYSTICK: (0.0,)})
    book.note(xpc.SetDatarefs(((JOYSTICK, (1.0,)),)), 0.0, 1)
    book.report({JOYSTICK: (0.0,)}, 1.0, 1)
    assert book.contradictions(1.0, 3.0) == ()
    book.expire(3.0, 3.0)
    assert book.contradictions(3.0, 3.0) == (
        'joystick was commanded 1, X-Plane reports 0',)


# In a session.


def started(**options):
    session = XpcSession({0: names_of(0)}, rate=50.0)
    world = World(session, **options)
    world.call(session.start)
    world.run(0.5)
    return session, world


def test_nothing_is_asked_after_what_was_taken_is_shown_to_be_given_back():
    session, world = started(datarefs=OVERRIDES | CENTRED)
    world.call(session.set_controls, {'elevator': 0.5})
    world.run(3.0)
    world.sent.clear()
    world.call(session.stop)
    assert session.peer_state is PeerState.LEAVING
    assert session.unconfirmed == ('elevator',)
    world.run(0.1)
    assert [channel for _, channel, _ in world.sent] == ['command', 'check 1']
    assert session.peer_state is PeerState.UNKNOWN
    assert world.datarefs == OVERRIDES | CENTRED
    assert world.open == {'command', *(c for c in world.open if c[0] in 'ps')}


def test_each_loss_of_what_leaving_gives_back_is_told_or_mended():
    for times in (1, 5):
        session, world = started(datarefs=OVERRIDES | CENTRED)
        world.call(session.set_controls, {'elevator': 0.5, 'throttle': 0.5})
        world.call(session.send, xpc.Simulation(SimulationOp.PAUSE))
        world.run(0.5)
        world.lose_commands(times * 3)
        world.call(session.stop)
        world.run(4.0)
        assert not session.left.unconfirmed
        assert world.datarefs == OVERRIDES | CENTRED
    session, world = started(datarefs=OVERRIDES | CENTRED)
    world.call(session.set_controls, {'elevator': 0.5})
    world.run(0.5)
    world.lose_commands(1000)
    world.call(session.stop)
    world.run(2.9)
    assert session.leaving
    world.run(0.2)
    assert session.left.unconfirmed == ('elevator',)
    assert session.left.is_error
    assert 'release_all' in session.left.reason


@pytest.mark.parametrize('beacon', [True, False])
@pytest.mark.parametrize('loading', [0.2, 4.0, 40.0])
def test_stopped_while_xplane_loads_it_is_read_when_it_goes_on(loading, beacon):
    session, world = started(datarefs=OVERRIDES | CENTRED, beacon=beacon)
    world.run(1.5)
    world.call(session.take_joystick)
    world.call(session.send, xpc.Simulation(SimulationOp.PAUSE))
    for _ in range(30):
        world.call(session.set_controls, {'elevator': 0.5, 'throttle': 0.5})
        world.run(0.02)
    world.freeze(loading + 10.0)
    world.run(loading)
    world.call(session.stop)
    world.run(3.1)
    assert not session.leaving
    # Of more than 20 it would drop the last ones.
    assert len(world._queue) <= 19
    assert not [data for _, data in world._queue[15:] if data[:4] != b'GETD']
    assert set(session.left.unconfirmed) == {'joystick', 'elevator', 'throttle', 'pause of all'}
    assert session.left.is_error == (beacon or loading < 1.0)
    world.run(10.0)
    assert world.datarefs == OVERRIDES | CENTRED
    assert world.resets == 0


def test_one_lost_datagram_of_each_command_is_sent_again():
    session, world = started(datarefs=OVERRIDES | CENTRED | {LEFT_BRAKE: (0.0,)})
    for command, cells in (
            (lambda now: session.take_joystick(now), {JOYSTICK: (1.0,)}),
            (lambda now: session.set_controls({'elevator': 0.5, 'throttle': 0.25}, now),
             {YOKES['elevator']: (0.5,), THROTTLE: (0.25,)}),
            (lambda now: session.set_levers({LEFT_BRAKE: (0.75,)}, now), {LEFT_BRAKE: (0.75,)}),
            (lambda now: session.send(xpc.Simulation(SimulationOp.PAUSE), now),
             {HELD: (1.0,) * 20}),
            (lambda now: session.centre(now), {YOKES['elevator']: (0.0,)}),
            (lambda now: session.release(now), OVERRIDES | CENTRED | {LEFT_BRAKE: (0.0,)})):
        world.lose_commands(1)
        world.call(command)
        world.run(1.0)
        assert {name: world.datarefs[name] for name in cells} == cells


def test_a_pause_that_is_lost_is_not_a_success():
    session, world = started(datarefs=OVERRIDES)
    world.lose_commands(1000)
    ticket = world.call(lambda now: session.send(
        xpc.Simulation(SimulationOp.PAUSE), now, what='pause', awaited=True))
    world.run(2.9)
    assert not [event for _, event in world.events if isinstance(event, CommandDone)]
    world.run(0.2)
    assert [event for _, event in world.events if isinstance(event, CommandDone)] == [
        CommandDone(ticket, 'pause', 'sent; not shown within 3 s; it may still happen')]


def test_an_override_is_read_before_it_is_written_however_often_that_is_lost():
    name = 'sim/operation/override/override_flightdir'
    session, world = started(datarefs=OVERRIDES | {name: (0.0,)})
    receive, lost = session.receive, []

    def lose(channel, data, sender, now):
        if channel.startswith('before') and len(lost) < 2:
            lost.append(channel)
            return []
        return receive(channel, data, sender, now)

    session.receive = lose
    world.call(session.send, xpc.SetDatarefs(((name, (1.0,)),)))
    world.run(0.02)
    assert world.datarefs[name] == (0.0,)
    world.run(1.0)
    assert len(lost) == 2
    assert world.datarefs[name] == (1.0,)
    world.call(session.stop)
    world.run(1.0)
    assert world.datarefs[name] == (0.0,)


def test_release_of_the_users_aircraft_drops_a_joystick_that_waits_to_be_taken():
    session, world = started(datarefs=OVERRIDES)
    world.freeze(0.6)
    world.run(0.4)
    world.call(session.take_joystick)
    world.call(session.release, vehicle=0)
    world.run(2.0)
    assert world.datarefs == OVERRIDES
    assert session.taken == ()


def test_centring_into_silence_again_and_again_is_remembered_once():
    session, world = started(datarefs=OVERRIDES | CENTRED)
    world.call(session.set_controls, {'elevator': 0.5})
    world.run(0.2)
    world.freeze(0.8)
    world.run(0.5)
    for _ in range(1000):
        world.call(session.centre)
    world.sent.clear()
    world.run(1.0)
    assert [data[:4] for _, channel, data in world.sent if channel == 'command'] == [b'CTRL']
    assert world.datarefs == OVERRIDES | CENTRED


def test_brakes_get_their_turn_beside_a_stream_of_controls():
    session, world = started(datarefs=OVERRIDES | {LEFT_BRAKE: (0.0,)})
    for number in range(200):
        for aircraft in range(5):
            world.call(session.set_controls, {'elevator': 0.5}, vehicle=aircraft)
        if number % 10 == 0:
            world.call(session.set_levers, {LEFT_BRAKE: (number / 200.0,)})
        world.run(0.01)
    assert len([data for _, data in world.commands if LEFT_BRAKE.encode() in data]) >= 20


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
    assert session.unconfirmed == ()
    assert 'command' in [channel for _, channel, _ in world.sent]
