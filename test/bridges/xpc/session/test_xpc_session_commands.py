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

"""Commands to an X-Plane Connect plugin: what its version accepts, and what is released."""

from contextlib import suppress
from dataclasses import asdict

import pytest
from scripted_xpc import (
    BEACON,
    HELD,
    JOYSTICK,
    names_of,
    OVERRIDES,
    RUNNING_TIME,
    THROTTLE,
    World,
)

from xplane_bridge.bridges.sessions.base import CommandDone, PeerAbsentError, PeerState, ReadDone
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session import PeerReplaced, PluginVersion, XpcSession

# By hand from docs/wire/xpc.md, "2. Requests".
JOYSTICK_ITEM = b'\x28sim/operation/override/override_joystick\x01'
THROTTLE_ITEM = b'\x29sim/flightmodel/engine/ENGN_thro_override\x01'
TAKE_JOYSTICK = b'DREF\0' + JOYSTICK_ITEM + bytes.fromhex('0000803f')
GIVE_JOYSTICK = b'DREF\0' + JOYSTICK_ITEM + bytes.fromhex('00000000')
GIVE_THROTTLE = b'DREF\0' + THROTTLE_ITEM + bytes.fromhex('000000c0')
CENTRE_ELEVATOR = bytes.fromhex(
    '4354524c00' '00000000' '008079c4' '008079c4' '008079c4' 'ff' '008079c4' '00' '008079c4')
CLEAR_TEXT = bytes.fromhex('5445585400 00000000 00000000 00')
RUN_ALL = bytes.fromhex('53494d5500 00')
RUN_3 = bytes.fromhex('53494d5500 cb')


def centre_of(aircraft, *surfaces):
    """Return the DREF that centres the surfaces of another aircraft."""
    return b'DREF\0' + b''.join(
        bytes((len(name),)) + name.encode() + bytes.fromhex('01 00000000') for name in (
            f'sim/multiplayer/position/plane{aircraft}_{surface}' for surface in surfaces))


def given_of(controls):
    """Return what a message sets, by name."""
    return {name: value for name, value in asdict(controls).items()
            if name != 'aircraft' and value is not None}


def make(plugin_version=None, **options):
    return XpcSession(
        {0: names_of(0, RUNNING_TIME)}, rate=50.0, plugin_version=plugin_version, **options)


def started(session, **options):
    world = World(session, **options)
    world.call(session.start)
    world.run(0.5)
    return world


def commands_after(world, action, *arguments, seconds=0.2):
    """Return what reached the plugin because of an action, in order."""
    world.commands.clear()
    world.call(action, *arguments)
    world.run(seconds)
    return [data for _, data in world.commands]


# Plugin versions.

HOLD = (xpc.CommandBegin(('sim/x',)), xpc.CommandEnd(('sim/x',)))
SINCE_RC6 = (xpc.CommandOnce(('sim/x',)), xpc.GetTerrain(0), xpc.PlaceAndProbe(0, 1.0, 2.0, 3.0))
PAUSE_ONE = (xpc.Simulation(103), xpc.Simulation(203))
CAMERA = xpc.SetView(79, xpc.Camera((1.0, 2.0, 3.0), (4.0, 5.0, 6.0), 1.0))
CHASE_CAMERA = xpc.SetView(80, xpc.Camera((1.0, 2.0, 3.0), None, 1.0))
PLAIN_CAMERA = xpc.SetView(79, xpc.Camera((1.0, 2.0, 3.0), None, 1.0))


def refusals(plugin_version, messages):
    session = make(plugin_version)
    # A plugin that reveals too little to be identified.
    world = started(session, plugin_version='1.2.1')
    sentences = []
    for message in messages:
        try:
            session.send(message, world.now)
        except ValueError as error:
            sentences.append(str(error))
    return sentences


def first_command(session, message):
    """Return what a command becomes."""
    world = started(session)
    (data,) = commands_after(world, session.send, message)
    return data


@pytest.mark.parametrize(('plugin_version', 'messages', 'sentence'), [
    (PluginVersion.RC6, HOLD, "set the parameter plugin to 'develop'"),
    (None, HOLD, 'this plugin is not known yet'),
    (PluginVersion.RC5, SINCE_RC6, 'needs plugin 1.3-rc6 or later; this one is rc5'),
    (PluginVersion.V1_2_1, SINCE_RC6, 'needs plugin 1.3-rc6 or later; this one is 1.2.1'),
    (PluginVersion.RC5, (CHASE_CAMERA,), 'accepts a camera location with view 79 only'),
    (PluginVersion.V1_2_1, PAUSE_ONE, 'cannot pause a single aircraft'),
    (PluginVersion.V1_2_1, (CAMERA, PLAIN_CAMERA), 'without a camera'),
    (PluginVersion.RC5, (CAMERA,), 'without a direction'),
])
def test_what_a_plugin_version_cannot_do_is_refused(plugin_version, messages, sentence):
    sentences = refusals(plugin_version, messages)
    assert len(sentences) == len(messages)
    assert all(sentence in refused for refused in sentences)


@pytest.mark.parametrize(('plugin_version', 'messages'), [
    (PluginVersion.DEVELOP, (*HOLD, *SINCE_RC6, *PAUSE_ONE, CAMERA)),
    (PluginVersion.RC6, (*SINCE_RC6, *PAUSE_ONE, CAMERA, PLAIN_CAMERA)),
    (PluginVersion.RC5, (*PAUSE_ONE, PLAIN_CAMERA)),
    (PluginVersion.V1_2_1, (xpc.Simulation(0), xpc.Simulation(1), xpc.Simulation(2))),
    (None, (*SINCE_RC6, *PAUSE_ONE, CAMERA)),
])
def test_what_a_plugin_version_can_do_is_sent(plugin_version, messages):
    assert refusals(plugin_version, messages) == []


@pytest.mark.parametrize(('plugin_version', 'length'), [
    (PluginVersion.V1_2_1, 34), (PluginVersion.RC5, 46), (PluginVersion.RC6, 46),
    (PluginVersion.DEVELOP, 46)])
def test_position_has_the_form_that_the_plugin_version_reads(plugin_version, length):
    data = first_command(make(plugin_version), xpc.Position(0, 47.5, 8.5, 500.0))
    assert len(data) == length
    assert data.hex().startswith(
        '504f534900' '00' '00003e42' '00000841' '0000fa43' if length == 34
        else '504f534900' '00' '0000000000c04740' '0000000000002140' '0000000000407f40')


def test_position_for_a_plugin_not_known_yet_has_the_form_that_all_understand():
    session = make()
    world = started(session, plugin_version='1.2.1')
    assert session.plugin_version is None
    (data,) = commands_after(world, session.send, xpc.Position(0, 47.5, 8.5, 500.0))
    assert len(data) == 34


@pytest.mark.parametrize(('found', 'beacon', 'length'), [
    ('rc6', True, 46), ('rc5', True, 46), ('1.2.1', False, 34)])
def test_position_follows_the_plugin_version_found_out(found, beacon, length):
    session = make()
    world = World(session, plugin_version=found, beacon=beacon)
    world.call(session.start)
    world.run(4.0)
    (data,) = commands_after(world, session.send, xpc.Position(0, 47.5, 8.5, 500.0))
    assert len(data) == length


@pytest.mark.parametrize(('plugin_version', 'message', 'length'), [
    (PluginVersion.RC5, PLAIN_CAMERA, 37), (PluginVersion.RC6, PLAIN_CAMERA, 49),
    (PluginVersion.RC6, CAMERA, 49), (None, CAMERA, 49),
    (PluginVersion.V1_2_1, xpc.SetView(73), 9)])
def test_view_has_the_form_that_the_plugin_version_reads(plugin_version, message, length):
    assert len(first_command(make(plugin_version), message)) == length


def test_refused_command_takes_nothing_and_sends_nothing():
    session = make(PluginVersion.V1_2_1)
    world = started(session)
    with pytest.raises(ValueError, match='cannot pause a single aircraft'):
        session.send(xpc.Simulation(103), world.now)
    with pytest.raises(ValueError, match='throttle: expected 0 to 1, got 1.1'):
        session.set_controls({'throttle': 1.1}, world.now)
    with pytest.raises(ValueError, match='got 256'):
        session.send(xpc.Text(0, 0, 'x' * 256), world.now)
    world.run(0.5)
    assert session.taken == ()
    assert world.commands == []


# Releasing.

@pytest.mark.parametrize(('messages', 'taken', 'given'), [
    ([xpc.SetControls(throttle=0.5)], {'throttle'}, [GIVE_THROTTLE]),
    ([xpc.SetControls(elevator=0.5), xpc.SetControls(throttle=0.5, aircraft=1)], {'elevator'},
     [CENTRE_ELEVATOR]),
    # What is already centred, or was not moved, is left alone.
    ([xpc.SetControls(elevator=0.5), xpc.SetControls(elevator=0.0)], set(), []),
    ([xpc.SetControls(gear=1, flaps=0.5, speedbrake=0.5)], set(), []),
    ([xpc.SetControls(rudder=0.5, aircraft=19), xpc.SetControls(
        elevator=-0.5, gear=0, aircraft=1)],
     {'rudder of aircraft 19', 'elevator of aircraft 1'},
     [centre_of(19, 'yolk_yaw') + centre_of(1, 'yolk_pitch')[5:]]),
    ([xpc.Text(10, 20, 'hello')], {'text'}, [CLEAR_TEXT]),
    ([xpc.Text(10, 20, 'hello'), xpc.Text(10, 20, '')], set(), []),
    ([xpc.Simulation(1)], {'pause of all'}, [RUN_ALL]),
    ([xpc.Simulation(1), xpc.Simulation(0)], set(), []),
    ([xpc.Simulation(2)], {'pause of all'}, [RUN_ALL]),
    ([xpc.Simulation(2), xpc.Simulation(2)], set(), []),
    ([xpc.Simulation(103)], {'pause of aircraft 3'}, [RUN_3]),
    ([xpc.Simulation(103), xpc.Simulation(203)], set(), []),
    ([xpc.Simulation(103), xpc.Simulation(0)], set(), []),
    ([xpc.Simulation(103), xpc.Simulation(1)], {'pause of all'}, [RUN_ALL]),
    ([xpc.Simulation(100 + n) for n in range(20)],
     {'pause of all'}, [RUN_ALL]),
])
@pytest.mark.parametrize('datarefs', [{}, OVERRIDES])
def test_stop_gives_back_what_was_taken(messages, taken, given, datarefs):
    session = make(PluginVersion.RC6)
    world = started(session, datarefs=datarefs)
    for message in messages:
        if isinstance(message, xpc.SetControls):
            world.call(session.set_controls, given_of(message), vehicle=message.aircraft)
        else:
            world.call(session.send, message)
        world.run(0.1)
    # A text cannot be seen to be gone: it is cleared a few times.
    world.run(2.0)
    assert set(session.taken) == taken
    assert session.unconfirmed == ()
    assert list(dict.fromkeys(commands_after(world, session.stop, seconds=2.0))) == given
    assert session.taken == ()
    assert not session.leaving
    assert not session.left.unconfirmed
    assert world.datarefs == datarefs


def test_all_is_given_back_at_once_whatever_the_budget():
    session = make(budget=10.0, lifetime=9.0)
    world = started(session)
    world.call(session.take_joystick)
    world.call(session.set_controls, {'throttle': 0.5})
    world.call(session.send, xpc.Text(1, 2, 'x'))
    world.call(session.send, xpc.Simulation(1))
    while not any(data[:4] == b'SIMU' for _, data in world.commands):
        world.run(0.1)
    assert set(session.taken) == {'joystick', 'throttle', 'text', 'pause of all'}
    world.sent.clear()
    world.call(session.release)
    overrides, *rest = [data for at, channel, data in world.sent if channel == 'command']
    assert overrides.startswith(b'DREF')
    assert len(overrides) == (
        len(GIVE_JOYSTICK) + len(GIVE_THROTTLE) - 5)
    assert GIVE_JOYSTICK[5:] in overrides
    assert GIVE_THROTTLE[5:] in overrides
    assert rest == [CLEAR_TEXT, RUN_ALL]


def test_surfaces_of_all_aircraft_are_given_back_in_a_few_datagrams():
    session = make(budget=1000.0)
    world = started(session)
    for aircraft in range(20):
        world.call(session.set_controls, {'elevator': 0.5, 'aileron': -0.5, 'rudder': 0.25},
                   vehicle=aircraft)
    world.run(1.0)
    assert len(session.taken) == 60
    own, others = dict.fromkeys(commands_after(world, session.stop, seconds=2.0))
    assert own[:17] == b'CTRL\0' + bytes(12)
    assert len(others) <= 4096
    assert others.count(b'_yolk_') == 57


def test_commands_that_wait_do_not_take_again_what_is_given_back():
    session = make(budget=10.0)
    world = started(session)
    for number in range(20):
        world.call(session.send, xpc.Text(1, 2, str(number)))
    world.call(session.take_joystick)
    world.call(session.set_controls, {'throttle': 1.0})
    given = set(session.taken)
    assert given
    assert commands_after(world, session.release)
    assert session.taken == ()
    world.commands.clear()
    world.run(10.0)
    assert {data for _, data in world.commands} == {CLEAR_TEXT}
    assert len(world.commands) == 5


def test_release_of_one_aircraft_leaves_the_others_as_they_are():
    session = XpcSession({n: names_of(n) for n in (0, 3)}, rate=50.0)
    world = started(session, datarefs=OVERRIDES)
    world.call(session.take_joystick)
    world.call(session.set_controls, {'elevator': 0.5, 'aileron': 0.25, 'throttle': 0.75})
    world.call(session.set_controls, {'elevator': -0.5, 'throttle': 0.25}, vehicle=3)
    world.call(session.send, xpc.Simulation(1))
    world.run(0.2)
    before = dict(world.datarefs)

    def release_3(now):
        session.release(now, 3)

    assert commands_after(world, release_3) == [centre_of(3, 'yolk_pitch')]
    assert world.datarefs == before
    assert set(session.taken) == {'joystick', 'elevator', 'aileron', 'throttle', 'pause of all'}


def test_centring_leaves_throttle_and_what_was_not_moved():
    session = make()
    world = started(session)
    world.call(session.set_controls, {'elevator': 0.5, 'throttle': 0.5, 'gear': 1})
    world.run(0.1)
    assert commands_after(world, session.centre) == [CENTRE_ELEVATOR]
    world.call(session.set_controls, {'gear': 1})
    world.run(0.1)
    assert commands_after(world, session.centre) == []
    assert session.taken == ('throttle',)


# As before, going by X-Plane's reports.

def test_what_another_client_had_taken_before_is_unchanged():
    held = tuple(float(n == 7) for n in range(20))
    session = make()
    before = {JOYSTICK: (1.0,), THROTTLE: (0.375,), HELD: held}
    world = started(session, datarefs=before)
    world.call(session.take_joystick)
    world.call(session.set_controls, {'throttle': 0.5})
    world.call(session.send, xpc.Simulation(1))
    world.call(session.send, xpc.Simulation(107))
    world.run(0.2)
    assert world.datarefs[HELD] == (1.0,) * 20
    assert world.datarefs[THROTTLE] == (0.5,)
    world.call(session.stop)
    world.run(0.1)
    assert world.datarefs == before


def test_what_the_user_has_taken_back_is_not_given_back():
    session = make()
    world = started(session, datarefs=OVERRIDES)
    world.call(session.take_joystick)
    world.call(session.set_controls, {'throttle': 0.5})
    world.call(session.send, xpc.Simulation(1))
    world.run(0.2)
    assert set(session.taken) == {'joystick', 'throttle', 'pause of all'}
    world.datarefs.update(OVERRIDES)
    world.run(0.2)
    assert session.taken == ()
    # A pause by another client after ours has ended is theirs.
    world.datarefs[HELD] = (1.0,) * 20
    world.run(0.2)
    assert commands_after(world, session.stop) == []


def test_the_joystick_is_taken_again_when_xplane_reports_that_it_is_free():
    session = make()
    world = started(session, datarefs=OVERRIDES)
    assert commands_after(world, session.take_joystick) == [TAKE_JOYSTICK]
    assert commands_after(world, session.take_joystick) == []
    world.datarefs[JOYSTICK] = (0.0,)
    world.run(0.1)
    assert commands_after(world, session.take_joystick) == [TAKE_JOYSTICK]
    assert commands_after(world, session.release) == [GIVE_JOYSTICK]
    assert commands_after(world, session.take_joystick) == [TAKE_JOYSTICK]


def test_joystick_is_taken_once_where_xplane_does_not_report_it():
    session = make()
    world = started(session)
    assert commands_after(world, session.take_joystick) == [TAKE_JOYSTICK]
    assert commands_after(world, session.take_joystick) == []
    assert commands_after(world, session.release) == [GIVE_JOYSTICK]
    assert commands_after(world, session.take_joystick) == [TAKE_JOYSTICK]


def test_overrides_set_as_datarefs_are_given_back_as_they_were():
    ours, theirs = (
        f'sim/operation/override/override_{name}' for name in ('flightdir', 'gearbrake'))
    before = {**OVERRIDES, ours: (0.0,), theirs: (1.0,), 'sim/other': (3.0,)}
    session = make()
    world = started(session, datarefs=before)
    # In one frame, so that both are read before an answer arrives.
    session.send(xpc.SetDatarefs(((ours, (1.0,)),)), world.now)
    world.call(session.send, xpc.SetDatarefs(((theirs, (2.0,)), ('sim/other', (4.0,)))))
    world.run(0.1)
    assert not [channel for channel in world.open if channel.startswith('before')]
    assert session.taken == (ours, theirs)
    world.call(session.stop)
    world.run(0.1)
    # Other datarefs are settings, not takeovers.
    assert world.datarefs == {**before, 'sim/other': (4.0,)}


# The same X-Plane, or another one.

def test_an_xplane_that_was_frozen_gets_back_what_was_taken():
    session = make()
    world = started(session, datarefs=OVERRIDES)
    world.call(session.set_controls, {'elevator': 0.5, 'throttle': 0.5})
    world.run(0.1)
    world.freeze(9.0)
    world.run(5.0)
    assert commands_after(world, session.release) == []
    world.run(5.0)
    assert [data for _, data in world.commands] == [CENTRE_ELEVATOR, GIVE_THROTTLE]


@pytest.mark.parametrize('away', [0.1, 0.6, 1.9])
def test_another_xplane_is_not_given_back_what_it_does_not_know(away):
    session = make()
    world = started(session, datarefs=OVERRIDES)
    world.call(session.take_joystick)
    world.call(session.set_controls, {'elevator': 0.5, 'throttle': 0.5})
    world.run(0.1)
    world.restart(away)
    world.run(away / 2.0)
    if away > 1.0:
        world.call(session.release)
    world.run(away + 1.0)
    (replaced,) = [event for _, event in world.events if isinstance(event, PeerReplaced)]
    assert 'it has been running for' in replaced.reason
    world.commands.clear()
    assert session.taken == ()
    assert commands_after(world, session.stop) == []
    world.run(5.0)
    assert world.commands == []


@pytest.mark.parametrize('away', [0.1, 0.9, 1.9])
@pytest.mark.parametrize('tells_time', [True, False])
def test_a_plugin_of_another_plugin_version_is_spoken_to_as_that_at_once(away, tells_time):
    session = make()
    world = started(session, datarefs=OVERRIDES if tells_time else {})
    assert session.plugin_version is PluginVersion.RC6
    world.restart(away, '1.2.1')
    for _ in range(round((away + 1.5) / 0.02)):
        with suppress(PeerAbsentError):
            world.call(session.send, xpc.Position(0, 47.5, 8.5, 500.0))
        world.run(0.02)
    world.run(1.0)
    back = world.started
    lengths = [len(data) for at, data in world.commands if at > back + 0.03]
    assert lengths
    assert set(lengths) == {34}
    # It is known to be that old when no beacon has arrived.
    world.run(4.0)
    assert session.plugin_version is PluginVersion.V1_2_1
    with pytest.raises(ValueError, match='needs plugin 1.3-rc6'):
        session.send(xpc.CommandOnce(('sim/x',)), world.now)


def test_a_beacon_of_another_xplane_counts_when_it_comes_twice():
    other = BEACON.replace(b'\xea\x2e', b'\x1e\x2d')
    session = make()
    world = started(session, datarefs=OVERRIDES, beacon=True)
    assert session.beacon.xplane_version == 12010
    world.call(session.set_controls, {'throttle': 0.5})
    assert session.receive('beacon', other, None, world.now) == []
    world.run(1.5)
    assert session.taken
    assert session.beacon.xplane_version == 12010
    session.receive('beacon', other, None, world.now)
    assert session.receive('beacon', other, None, world.now + 0.5) == []
    (replaced,) = session.receive('beacon', other, None, world.now + 1.0)
    assert 'X-Plane 11550' in replaced.reason
    assert session.taken == ()


# Commands and the budget.


def test_controls_wait_for_the_budget_with_the_newest_value_of_each():
    session = make(budget=10.0, lifetime=5.0)
    world = started(session)
    for number in range(10):
        world.call(session.set_controls, {'aileron': number / 10.0}, vehicle=1)
    world.run(3.0)
    world.commands.clear()
    held_back = session.statistics.held_back
    while session.statistics.held_back < held_back + 12:
        world.call(session.set_controls, {'throttle': 0.25})
        world.call(session.set_controls, {'elevator': -0.5})
    world.call(session.set_controls, {'elevator': 0.5, 'gear': 1})
    world.run(4.0)
    # Elevator 0.5, throttle 0.25, gear 1; the rest -998: leave.
    assert bytes.fromhex(
        '4354524c00 0000003f 008079c4 008079c4 0000803e 01 008079c4 00 008079c4') in [
            data for _, data in world.commands]
    assert len(world.commands) < 10


def test_controls_of_aircraft_do_not_mix():
    session = make(lifetime=5.0)
    world = started(session)
    for _ in range(3):
        session.set_controls({'elevator': 0.5}, world.now)
        session.set_controls({'aileron': -0.5}, world.now, 7)
    world.call(lambda now: None)
    world.run(0.1)
    assert [data for _, data in world.commands] == [
        bytes.fromhex(
            '4354524c00 0000003f 008079c4 008079c4 008079c4 ff 008079c4 00 008079c4'),
        bytes.fromhex(
            '4354524c00 008079c4 000000bf 008079c4 008079c4 ff 008079c4 07 008079c4')]


def test_commands_keep_their_order():
    session = make(budget=20.0, lifetime=60.0)
    world = started(session)
    for number in range(60):
        world.call(session.send, xpc.Text(number, 2, ''))
    world.run(10.0)
    texts = [data[5] for _, data in world.commands if data[:4] == b'TEXT']
    assert texts == list(range(60))


def test_too_many_commands_are_refused_with_a_sentence():
    session = make()
    now = started(session).now
    for _ in range(64):
        session.send(xpc.Text(1, 2, 'x'), now)
    with pytest.raises(ValueError, match='TEXT: 64 commands are already waiting; the budget of'):
        session.send(xpc.Text(1, 2, 'x'), now)


def test_commands_of_one_kind_are_sent_all_or_none():
    session = make()
    world = started(session)
    with pytest.raises(ValueError, match='rows: 65 commands in addition to 0 waiting'):
        session.send([xpc.Text(1, 2, 'x')] * 65, world.now, what='rows')
    for _ in range(40):
        session.send(xpc.Text(1, 2, 'x'), world.now)
    with pytest.raises(ValueError, match='rows: 31 commands in addition to 40 waiting'):
        session.send([xpc.Text(1, 2, 'y')] * 31, world.now, what='rows')
    with pytest.raises(ValueError, match='got 300'):
        session.send([xpc.Text(1, 2, 'y'), xpc.Text(1, 2, 'z' * 300)], world.now)
    world.run(2.0)
    assert len([data for _, data in world.commands if data[:4] == b'TEXT']) == 40


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
    # It gets its turn among the later ones.
    assert b'GETD' in tags[31:50]
    assert len(tags) == 52


# Lifetimes.

ADDRESS = '192.168.1.20:49009'
CALLS = (
    lambda session, now: session.send(xpc.Simulation(1), now),
    lambda session, now: session.set_controls({'throttle': 0.5}, now),
    lambda session, now: session.read_datarefs(['n/1/1'], now),
    lambda session, now: session.read_terrain(xpc.PlaceAndProbe(0, 1.0, 2.0, 3.0), now),
)


def check_refused(world, session, sentence):
    """Check that everything is refused with a sentence."""
    for call in CALLS:
        with pytest.raises(PeerAbsentError) as caught:
            call(session, world.now)
        assert str(caught.value) == sentence
    with pytest.raises(PeerAbsentError):
        session.take_joystick(world.now)


def test_nothing_is_taken_for_a_peer_that_is_not_there_and_nothing_is_sent_later():
    session = make(address=ADDRESS)
    check_refused(World(session), session, 'the session is not started')
    world = World(session, beacon=True)
    world.freeze(3.0)
    world.call(session.start)
    check_refused(
        world, session, f'waiting for the first reply from X-Plane Connect at {ADDRESS}')
    world.run(2.0)
    assert session.peer_state is PeerState.LOADING
    check_refused(
        world, session, f'X-Plane at {ADDRESS} is loading or in a menu, and answers nothing')
    world.restart(6.0)
    world.run(5.0)
    assert session.peer_state is PeerState.AWAY
    check_refused(world, session, f'nothing answers at {ADDRESS}')
    world.run(3.0)
    assert session.peer_state is PeerState.ANSWERING
    assert world.commands == []
    assert not [data for _, _, data in world.sent if data[:4] not in (b'GETP', b'GETD')]
    world.call(session.send, xpc.Simulation(1))
    world.run(0.1)
    assert len(world.commands) == 1


@pytest.mark.parametrize('away', [0.3, 0.7, 3.0])
@pytest.mark.parametrize('how', ['freeze', 'restart'])
def test_no_command_is_read_later_than_it_may_wait(away, how):
    session = make(lifetime=0.5)
    world = started(session, datarefs=OVERRIDES, beacon=True)
    getattr(world, how)(away)
    given = {}
    for number in range(round((away + 1.0) / 0.05)):
        with suppress(PeerAbsentError):
            world.call(session.send, xpc.Text(number, 2, 'x'))
            given[number] = world.now
        world.run(0.05)
    world.run(1.0)
    read = {data[5]: at for at, data in world.commands if data[:4] == b'TEXT'}
    # One that was away is asked when its beacon comes again.
    assert len(read) >= 8
    # What was in transit when X-Plane stopped is out of reach: a quarter of a second of it.
    assert sum(at - given[number] > 0.52 for number, at in read.items()) <= 6
    late = [number for number, at in read.items() if at - given[number] > 0.52]
    assert all(given[number] < 1000.5 + 0.26 for number in late)


def test_in_lockstep_controls_go_on_to_a_simulator_that_waits_for_them():
    session = make(lockstep=True, budget=1000.0)
    world = started(session)
    # It answers nothing before it is commanded.
    world.freeze(1e6)
    world.run(3.0)
    assert session.peer_state is PeerState.AWAY
    world.sent.clear()
    world.call(session.take_joystick)
    world.call(session.set_controls, {'elevator': 0.5})
    assert [data[:4] for _, channel, data in world.sent if channel == 'command'] == [b'CTRL']
    with pytest.raises(PeerAbsentError):
        session.send(xpc.Simulation(1), world.now)


def test_a_command_that_waits_too_long_for_the_budget_ends_with_the_reason():
    session = make(budget=10.0, lifetime=0.5)
    world = started(session)
    tickets = [world.call(
        lambda now, n=n: session.send(xpc.Text(n, 2, ''), now, what='command/text'))
        for n in range(20)]
    for _ in range(30):
        world.call(session.set_controls, {'elevator': 0.5}, vehicle=7)
    world.run(3.0)
    done = [event for _, event in world.events if isinstance(event, CommandDone)]
    texts = [data for _, data in world.commands if data[:4] == b'TEXT']
    assert len(texts) + sum(event.ticket in tickets for event in done) == 20
    assert 'it waited 0.5 s (command_lifetime): the budget' in done[0].error
    assert max(at for at, data in world.commands if data[:4] == b'TEXT') < 1000.5 + 0.6


def send_and_await(session):
    def send(now):
        return session.send(xpc.Simulation(1), now, what='pause', awaited=True)

    return send


@pytest.mark.parametrize('rate', [50.0, 0.2])
def test_an_awaited_pause_is_reported_by_xplane_when_it_succeeds(rate):
    session = XpcSession({0: names_of(0)}, rate=rate)
    world = started(session, datarefs=OVERRIDES)
    ticket = world.call(send_and_await(session))
    world.run(0.001)
    assert not [event for _, event in world.events if isinstance(event, CommandDone)]
    world.run(0.1)
    (at, done), = [
        (at, event) for at, event in world.events if isinstance(event, CommandDone)]
    assert done == CommandDone(ticket, 'pause', message='X-Plane reports it')
    ((read_at, _),) = world.commands
    assert read_at <= at < read_at + 0.04


@pytest.mark.parametrize('how', ['freeze', 'restart'])
@pytest.mark.parametrize('later', [0.0, 0.3])
def test_an_awaited_command_fails_if_the_peer_goes_away(how, later):
    session = make(address=ADDRESS)
    world = started(session)
    getattr(world, how)(20.0)
    world.run(later)
    ticket = world.call(send_and_await(session))
    world.run(2.0)
    (done,) = [event for _, event in world.events if isinstance(event, CommandDone)]
    assert (done.ticket, done.what) == (ticket, 'pause')
    assert f'nothing answers at {ADDRESS}' in done.error or 'command_lifetime' in done.error


def test_placing_that_waits_behind_reads_is_not_done_late():
    session = make(lifetime=0.3)
    world = started(session)
    for number in range(60):
        world.call(session.read_datarefs, [f'n/{number}/1'])
    ticket = world.call(session.read_terrain, xpc.PlaceAndProbe(0, 40.0, 8.0, 100.0))
    world.run(3.0)
    done = {event.ticket: event for _, event in world.events if isinstance(event, ReadDone)}
    assert len(done) == 61
    assert done[ticket].error.startswith('not sent: it waited 0.3 s (command_lifetime)')
    assert not [data for _, _, data in world.sent if data[:4] == b'POST']


def test_beacon_is_kept_for_its_owner():
    session = make()
    session.receive('beacon', BEACON, None, 0.0)
    assert session.beacon == xpc.Beacon(49009, 12010, '1.3-rc.1', 8)
    session.receive('beacon', b'CONF\0\1', None, 0.0)
    assert session.statistics.unexpected == 1
