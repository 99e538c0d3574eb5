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

"""Commands to an X-Plane Connect plugin: what its generation takes, and what is given back."""

import pytest
from scripted_xpc import BEACON, names_of, World

from xplane_bridge.protocols import xpc
from xplane_bridge.sessions.xpc import Generation, XpcSession

# By hand from docs/wire/xpc.md, section 2.
JOYSTICK = b'DREF\0\x28sim/operation/override/override_joystick\x01'
TAKE_JOYSTICK = JOYSTICK + bytes.fromhex('0000803f')
GIVE_JOYSTICK = JOYSTICK + bytes.fromhex('00000000')
CENTRE = bytes.fromhex(
    '4354524c00' '00000000' '00000000' '00000000' '008079c4' 'ff' '008079c4' '00' '008079c4')
GIVE_THROTTLE = (
    b'DREF\0\x29sim/flightmodel/engine/ENGN_thro_override\x01' + bytes.fromhex('000000c0'))
CLEAR_TEXT = bytes.fromhex('5445585400 00000000 00000000 00')
RUN_ALL = bytes.fromhex('53494d5500 00')
RUN_3 = bytes.fromhex('53494d5500 cb')


def make(generation=None, **options):
    return XpcSession({0: names_of(0)}, rate=50.0, generation=generation, **options)


def started(session, **options):
    world = World(session, **options)
    world.call(session.start)
    world.run(0.5)
    return world


def commands_after(world, action, *arguments):
    """Return what reached the plugin because of an action."""
    world.commands.clear()
    world.call(action, *arguments)
    world.run(0.2)
    return [data for _, data in world.commands]


# Generations.

HOLD = (xpc.CommandBegin(('sim/x',)), xpc.CommandEnd(('sim/x',)))
SINCE_RC6 = (xpc.Command(('sim/x',)), xpc.GetTerrain(0), xpc.PlaceAndProbe(0, 1.0, 2.0, 3.0))
PAUSE_ONE = (xpc.Simulation(103), xpc.Simulation(203))
CAMERA = xpc.SetView(79, xpc.Camera((1.0, 2.0, 3.0), (4.0, 5.0, 6.0), 1.0))
CHASE_CAMERA = xpc.SetView(80, xpc.Camera((1.0, 2.0, 3.0), None, 1.0))
PLAIN_CAMERA = xpc.SetView(79, xpc.Camera((1.0, 2.0, 3.0), None, 1.0))


def refusals(generation, messages):
    session = make(generation)
    sentences = []
    for message in messages:
        try:
            session.send(message, 0.0)
        except ValueError as error:
            sentences.append(str(error))
    return sentences


@pytest.mark.parametrize(('generation', 'messages', 'sentence'), [
    (Generation.RC6, HOLD, "set the parameter plugin to 'develop'"),
    (None, HOLD, 'this plugin is not known yet'),
    (Generation.RC5, SINCE_RC6, 'needs plugin 1.3-rc6 or later; this one is rc5'),
    (Generation.V1_2_1, SINCE_RC6, 'needs plugin 1.3-rc6 or later; this one is 1.2.1'),
    (Generation.RC5, (CHASE_CAMERA,), 'takes the place of a camera with view 79 only'),
    (Generation.V1_2_1, PAUSE_ONE, 'cannot pause a single aircraft'),
    (Generation.V1_2_1, (CAMERA, PLAIN_CAMERA), 'without a camera'),
    (Generation.RC5, (CAMERA,), 'without a direction'),
])
def test_what_a_generation_cannot_do_is_refused_with_a_sentence(generation, messages, sentence):
    sentences = refusals(generation, messages)
    assert len(sentences) == len(messages)
    assert all(sentence in refused for refused in sentences)


@pytest.mark.parametrize(('generation', 'messages'), [
    (Generation.DEVELOP, (*HOLD, *SINCE_RC6, *PAUSE_ONE, CAMERA)),
    (Generation.RC6, (*SINCE_RC6, *PAUSE_ONE, CAMERA, PLAIN_CAMERA)),
    (Generation.RC5, (*PAUSE_ONE, PLAIN_CAMERA)),
    (Generation.V1_2_1, (xpc.Simulation(0), xpc.Simulation(1), xpc.Simulation(2))),
    (None, (*SINCE_RC6, *PAUSE_ONE, CAMERA)),
])
def test_what_a_generation_can_do_is_sent(generation, messages):
    assert refusals(generation, messages) == []


@pytest.mark.parametrize(('generation', 'length'), [
    (None, 34), (Generation.V1_2_1, 34), (Generation.RC5, 46), (Generation.RC6, 46),
    (Generation.DEVELOP, 46)])
def test_position_has_the_form_that_the_generation_reads(generation, length):
    session = make(generation)
    session.send(xpc.Position(0, 47.5, 8.5, 500.0), 0.0)
    ((_, data),) = session.poll(0.0)
    assert len(data) == length
    assert data.hex().startswith(
        '504f534900' '00' '00003e42' '00000841' '0000fa43' if length == 34
        else '504f534900' '00' '0000000000c04740' '0000000000002140' '0000000000407f40')


@pytest.mark.parametrize(('found', 'beacon', 'length'), [
    ('rc6', True, 46), ('rc5', True, 46), ('1.2.1', False, 34)])
def test_position_follows_the_generation_found_out(found, beacon, length):
    session = make()
    world = World(session, generation=found, beacon=beacon)
    world.call(session.start)
    world.run(4.0)
    (data,) = commands_after(world, session.send, xpc.Position(0, 47.5, 8.5, 500.0))
    assert len(data) == length


@pytest.mark.parametrize(('generation', 'message', 'length'), [
    (Generation.RC5, PLAIN_CAMERA, 37), (Generation.RC6, PLAIN_CAMERA, 49),
    (Generation.RC6, CAMERA, 49), (None, CAMERA, 49), (Generation.V1_2_1, xpc.SetView(73), 9)])
def test_view_has_the_form_that_the_generation_reads(generation, message, length):
    session = make(generation)
    session.send(message, 0.0)
    ((_, data),) = session.poll(0.0)
    assert len(data) == length


def test_refused_command_takes_nothing_and_sends_nothing():
    session = make(Generation.V1_2_1)
    with pytest.raises(ValueError):
        session.send(xpc.Simulation(103), 0.0)
    with pytest.raises(ValueError):
        session.set_controls(xpc.Controls(throttle=1.1), 0.0)
    with pytest.raises(ValueError):
        session.send(xpc.Text(0, 0, 'x' * 256), 0.0)
    assert session.taken == frozenset()
    assert session.poll(0.0) == []


# Giving back.


@pytest.mark.parametrize(('messages', 'taken', 'given'), [
    ([xpc.Controls(throttle=0.5)], {'throttle'}, [GIVE_THROTTLE]),
    ([xpc.Controls(elevator=0.5), xpc.Controls(throttle=0.5, aircraft=1)], {'surfaces'},
     [CENTRE]),
    ([xpc.Controls(elevator=0.0), xpc.Controls(elevator=0.5, aircraft=1)], set(), []),
    ([xpc.Text(10, 20, 'hello')], {'text'}, [CLEAR_TEXT]),
    ([xpc.Text(10, 20, 'hello'), xpc.Text(10, 20, '')], set(), []),
    ([xpc.Simulation(1)], {'pause'}, [RUN_ALL]),
    ([xpc.Simulation(1), xpc.Simulation(0)], set(), []),
    ([xpc.Simulation(2)], {'pause'}, [RUN_ALL]),
    ([xpc.Simulation(2), xpc.Simulation(2)], set(), []),
    ([xpc.Simulation(103)], {'pause 3'}, [RUN_3]),
    ([xpc.Simulation(103), xpc.Simulation(203)], set(), []),
    ([xpc.Simulation(103), xpc.Simulation(0)], set(), []),
    ([xpc.Simulation(103), xpc.Simulation(1)], {'pause', 'pause 3'}, [RUN_ALL]),
    ([xpc.Simulation(100 + n) for n in range(20)],
     {f'pause {n}' for n in range(20)}, [RUN_ALL]),
])
def test_stop_gives_back_what_was_taken(messages, taken, given):
    session = make(Generation.RC6)
    world = started(session)
    for message in messages:
        if isinstance(message, xpc.Controls):
            world.call(session.set_controls, message)
        else:
            world.call(session.send, message)
        world.run(0.1)
    assert session.taken == taken
    assert commands_after(world, session.stop) == given
    assert session.taken == frozenset()
    assert commands_after(world, session.release) == []


def test_all_is_given_back_at_once_whatever_the_budget():
    session = make(budget=10.0)
    world = started(session)
    world.call(session.take_joystick)
    world.run(1.0)
    world.call(session.set_controls, xpc.Controls(throttle=0.5))
    world.run(1.0)
    world.call(session.send, xpc.Text(1, 2, 'x'))
    world.call(session.send, xpc.Simulation(1))
    while not any(data[:4] == b'SIMU' for _, data in world.commands):
        world.run(0.1)
    assert session.taken == {'joystick', 'throttle', 'text', 'pause'}
    world.sent.clear()
    world.call(session.release)
    assert sorted(data for at, channel, data in world.sent if channel == 'command') == sorted(
        [GIVE_JOYSTICK, RUN_ALL, CLEAR_TEXT, GIVE_THROTTLE])


def test_commands_that_wait_do_not_take_again_what_is_given_back():
    session = make(budget=10.0)
    world = started(session)
    for number in range(20):
        world.call(session.send, xpc.Text(1, 2, str(number)))
    world.call(session.take_joystick)
    world.call(session.set_controls, xpc.Controls(throttle=1.0))
    assert commands_after(world, session.release)[-3:] == [
        GIVE_JOYSTICK, CLEAR_TEXT, GIVE_THROTTLE]
    world.commands.clear()
    world.run(10.0)
    assert world.commands == []


def test_joystick_is_taken_once_until_it_is_released():
    session = make()
    world = started(session)
    assert commands_after(world, session.take_joystick) == [TAKE_JOYSTICK]
    assert commands_after(world, session.take_joystick) == []
    assert commands_after(world, session.release) == [GIVE_JOYSTICK]
    assert commands_after(world, session.take_joystick) == [TAKE_JOYSTICK]


def test_joystick_is_taken_again_after_a_restart_of_xplane():
    session = make()
    world = started(session)
    world.call(session.take_joystick)
    world.restart(5.0)
    world.run(5.0)
    world.commands.clear()
    world.run(2.0)
    assert [data for _, data in world.commands] == [TAKE_JOYSTICK]


# Commands and the budget.


def test_controls_wait_for_the_budget_with_the_newest_value_of_each():
    session = make(budget=10.0)
    world = started(session)
    for number in range(10):
        world.call(session.set_controls, xpc.Controls(aileron=number / 10.0, aircraft=1))
    world.run(3.0)
    world.commands.clear()
    world.freeze(0.9)
    while session.statistics.held_back < 12:
        world.call(session.set_controls, xpc.Controls(throttle=0.25))
        world.call(session.set_controls, xpc.Controls(elevator=-0.5))
    world.call(session.set_controls, xpc.Controls(elevator=0.5, gear=1))
    world.run(4.0)
    # Elevator 0.5, throttle 0.25, gear 1; the rest -998: leave.
    assert world.commands[-1][1] == bytes.fromhex(
        '4354524c00 0000003f 008079c4 008079c4 0000803e 01 008079c4 00 008079c4')
    assert len(world.commands) < 10


def test_controls_of_aircraft_do_not_mix():
    session = make(budget=10.0)
    for _ in range(3):
        session.set_controls(xpc.Controls(elevator=0.5), 0.0)
        session.set_controls(xpc.Controls(aileron=-0.5, aircraft=7), 0.0)
    world = World(session)
    world.call(lambda now: None)
    world.run(0.1)
    assert [data for _, data in world.commands] == [
        bytes.fromhex(
            '4354524c00 0000003f 008079c4 008079c4 008079c4 ff 008079c4 00 008079c4'),
        bytes.fromhex(
            '4354524c00 008079c4 000000bf 008079c4 008079c4 ff 008079c4 07 008079c4')]


def test_commands_keep_their_order():
    session = make(budget=20.0)
    world = started(session)
    for number in range(60):
        world.call(session.send, xpc.Text(number, 2, ''))
    world.run(10.0)
    texts = [data[5] for _, data in world.commands if data[:4] == b'TEXT']
    assert texts == list(range(60))


def test_too_many_commands_are_refused_with_a_sentence():
    session = make()
    for _ in range(64):
        session.send(xpc.Text(1, 2, 'x'), 0.0)
    with pytest.raises(ValueError, match='TEXT: 64 commands wait already; the budget of 240'):
        session.send(xpc.Text(1, 2, 'x'), 0.0)


def test_write_goes_before_the_read_that_checks_it():
    session = make()
    world = started(session)
    world.call(session.send, xpc.SetDatarefs((('n/1/1', (5.0,)),)))
    world.call(session.read_datarefs, ['n/1/1'])
    tags = [data[:4] for _, channel, data in world.sent
            if channel == 'command' or channel.startswith('read')]
    assert tags == [b'DREF', b'GETD']


def test_write_goes_before_the_read_that_checks_it_also_when_the_budget_is_used_up():
    session = make()
    world = started(session)
    world.sent.clear()
    for n in range(30):
        world.call(session.send, xpc.Text(1, 2, f'{n}'))
    world.call(session.send, xpc.SetDatarefs((('n/1/1', (5.0,)),)))
    world.call(session.read_datarefs, ['n/1/1'])
    for n in range(20):
        world.call(session.send, xpc.Text(1, 2, f'{n}'))
    world.run(1.0)
    tags = [data[:4] for _, channel, data in world.sent
            if channel == 'command' or channel.startswith('read')]
    assert tags[:31] == [b'TEXT'] * 30 + [b'DREF']
    assert b'GETD' in tags[31:35]
    assert len(tags) == 52


def test_commands_of_a_silent_peer_are_few():
    session = make()
    world = started(session)
    world.restart(1e9)
    world.run(2.0)
    world.sent.clear()
    for _ in range(1000):
        world.call(session.set_controls, xpc.Controls(elevator=0.5))
        world.run(0.01)
    assert 5 <= len([data for _, channel, data in world.sent if channel == 'command']) <= 20


def test_commands_go_on_to_a_peer_that_never_answered():
    # A firewall may stop the replies only.
    session = make()
    world = World(session)
    world.silent_to_tags = {b'GETP', b'GETD'}
    world.call(session.start)
    world.run(2.0)
    world.commands.clear()
    for number in range(500):
        world.call(session.set_controls, xpc.Controls(elevator=number / 500.0))
        world.run(0.02)
    assert len(world.commands) == 500


def test_commands_work_without_polling():
    session = make()
    world = World(session)
    for number in range(100):
        world.call(session.set_controls, xpc.Controls(elevator=number / 100.0))
        world.run(0.02)
    assert len(world.commands) == 100


def test_beacon_is_kept_for_its_owner():
    session = make()
    session.receive('beacon', BEACON, 0.0)
    assert session.beacon == xpc.Beacon(49009, 12010, '1.3-rc.1', 8)
    session.receive('beacon', b'CONF\0\1', 0.0)
    assert session.statistics.unexpected == 1
