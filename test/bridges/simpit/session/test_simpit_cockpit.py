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


"""Cockpits that share a game: what each hears, and what the game gets, in simulated time."""

import pytest
from vector_files import vectors

from xplane_bridge.bridges.sessions.base import PeerState
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import (
    ActionGroup,
    ActionGroups,
    CustomActionGroups,
    Handshake,
    HandshakeType,
    Packet,
    PROFILES,
)
from xplane_bridge.bridges.simpit.session import (
    CockpitCommand,
    CockpitLeft,
    CockpitSession,
    CockpitWants,
    Presence,
    Shared,
    SimpitSession,
)
from xplane_bridge.bridges.simpit.session.ownership import Ownership, STACK
from xplane_bridge.simulation.peers.simpit import DeviceCommand, PluginSession

ALTITUDE = simpit.Altitude(1234.5, 67.25)
FULL = 32767
# What the device libraries say behind SYN: 0.7, 1.1, 1.4.0 and 2.1.0, 2.4.0.
LIBRARY = {'v0': b'\x37', 'old v1': b'1.1.0\0', 'v1': b'1.3.0\0', 'v2': b'1.3.0\0',
           'cobs': b'2.4.0\0'}


class Board:
    """A cockpit: it speaks only when told to, and keeps what it hears."""

    def __init__(self, profile, version=None):
        self.profile = PROFILES[profile]
        self.version = LIBRARY[profile] if version is None else version
        self.heard = []
        self._decoder = simpit.make_decoder(self.profile.framing)

    def encoded(self, *messages):
        return b''.join(simpit.encode(message, 'bridge', self.profile) for message in messages)

    @property
    def greeting(self):
        return self.encoded(Handshake(HandshakeType.SYN, self.version))

    def receive(self, data):
        self.heard += self._decoder.feed(data)

    def telemetry(self):
        """Return the packets heard since the last call, by channel, without handshakes."""
        heard, self.heard = self.heard, []
        return {packet.channel: packet.payload for packet in heard if packet.channel}


class Desk:
    """A game, a node's session and its cockpits, wired as the node wires them."""

    def __init__(self, game='v2', boards=(), *, ask=None, **options):
        self.now = 100.0
        self.game = PluginSession(game)
        self.node = SimpitSession((), profile=game, **options)
        self.boards = list(boards)
        self.cockpits = [CockpitSession(profile=ask or 'auto') for _ in boards]
        self.commands = []
        self.left = []
        self.failed = []
        self._presence = Presence()
        for session in (self.game, self.node, *self.cockpits):
            session.opened(self.now)
            if session is not self.game:
                session.start(self.now)
        self.game.set_flight(True, self.now)
        self.game.provide(ALTITUDE, self.now)
        self.run(1.0)

    def settle_game(self, events):
        for event in events:
            if isinstance(event, Shared):
                for cockpit in self.cockpits:
                    cockpit.forward(event.name, event.packet, self.now)
        if self.node.presence != self._presence:
            self._presence = self.node.presence
            for cockpit in self.cockpits:
                cockpit.set_game(self._presence, self.now)

    def settle(self, name, events):
        for event in events:
            if isinstance(event, CockpitWants):
                self.node.share(name, event.channels, event.again, self.now)
            elif isinstance(event, CockpitLeft):
                self.left.append(name)
                self.node.let_go(name, 'neutral', self.now)
            elif isinstance(event, CockpitCommand):
                try:
                    self.node.send(event.message, self.now, source=name)
                except ValueError as error:
                    self.failed.append(str(error))

    def run(self, seconds):
        """Let time pass in steps of 10 ms."""
        for _ in range(round(seconds * 100)):
            self.now += 0.01
            for _, data in self.node.poll(self.now):
                self.commands += [
                    event.message for event in self.game.receive('serial', data, None, self.now)
                    if isinstance(event, DeviceCommand)]
            for _, data in self.game.poll(self.now):
                self.settle_game(self.node.receive('serial', data, None, self.now))
            self.commands += [
                event.message for event in self.game.expired() if isinstance(event, DeviceCommand)]
            self.settle_game(self.node.expired())
            for number, (cockpit, board) in enumerate(
                    zip(self.cockpits, self.boards, strict=True)):
                for _, data in cockpit.poll(self.now):
                    board.receive(data)
                self.settle(f'cockpit {number}', cockpit.expired())

    def say(self, number, *messages, seconds=0.1):
        """Have a cockpit send messages, and let that take effect."""
        data = self.boards[number].encoded(*messages)
        self.settle(f'cockpit {number}', self.cockpits[number].receive(
            'serial', data, None, self.now))
        self.run(seconds)

    def greet(self, number, *channels):
        """Have a cockpit shake hands and register channels."""
        board = self.boards[number]
        self.say(number, Handshake(HandshakeType.SYN, board.version))
        self.say(number, Handshake(HandshakeType.ACK, board.version))
        if channels:
            self.say(number, simpit.Register(bytes(channels)))

    def stack(self, seconds=0.1, **axes):
        """Have ROS command axes as shares of full scale."""
        self.node.set_controls(
            {name: round(value * FULL) for name, value in axes.items()}, self.now)
        self.run(seconds)

    def held(self, name):
        """Return what the game is made to hold on an axis."""
        for message in reversed(self.commands):
            if isinstance(message, simpit.Axes) and name in simpit.axis_values(message):
                return round(simpit.axis_values(message)[name] / FULL, 2)
        return None


def test_a_cockpit_gets_its_handshake_and_only_the_channels_that_it_registered():
    desk = Desk('v2', [Board('v2'), Board('v2')])
    desk.game.provide(simpit.Velocities(1.0, 2.0, 3.0), desk.now)
    desk.greet(0, 8)
    assert desk.boards[0].heard[0] == Packet(0, bytes((1, 0x37)))
    desk.greet(1, 22)
    desk.run(0.5)
    assert desk.boards[0].telemetry() == {8: bytes.fromhex('00509a4400808642')}
    assert desk.boards[1].telemetry().keys() == {22}
    assert desk.cockpits[0].peer_state is PeerState.STREAMING


@pytest.mark.parametrize(('game', 'board', 'recognised', 'altitude'), [
    ('v2.3', Board('v0'), 'v0', 4),
    ('v2', Board('v1', LIBRARY['old v1']), 'v1', 8),
    ('v1', Board('v2'), 'v1', 8),
    ('cobs', Board('v2'), 'v2', 8),
    ('v0', Board('cobs'), 'cobs', 8),
    ('v2.2', Board('cobs'), 'v2.2', 8)])
def test_a_cockpit_of_any_profile_gets_the_altitude_of_any_game(
        game, board, recognised, altitude):
    desk = Desk(game, [board])
    desk.greet(0, altitude)
    desk.run(0.5)
    assert board.telemetry()[altitude] == bytes.fromhex('00509a4400808642')
    assert desk.cockpits[0].profile.name == recognised


def test_numbers_are_translated_by_meaning_and_what_has_none_is_dropped():
    # A library 1.4: status on 23, SAS on 20, which its plugin does not hear but 28 does.
    desk = Desk('v2', [Board('v1')])
    desk.game.provide(simpit.ActionStatus(ActionGroup.GEAR), desk.now)
    desk.greet(0, 23)
    assert desk.cockpits[0].profile.name == 'v1'
    assert desk.boards[0].telemetry() == {23: b'\x02'}
    desk.say(0, simpit.SasMode(3), CustomActionGroups('toggle', (1, 2)), Packet(20, b'\x03'))
    desk.say(0, simpit.Register(bytes((200,))))
    assert desk.commands == [
        simpit.SasMode(3), CustomActionGroups('toggle', (1,)), CustomActionGroups('toggle', (2,))]
    assert desk.cockpits[0].statistics.dropped == {'sas_mode_library': 1}
    assert desk.cockpits[0].lacking == ('200',)


def test_longer_messages_are_cut_for_an_older_cockpit_and_shorter_ones_are_dropped():
    new = Desk('v2.3', [Board('v1', LIBRARY['old v1'])])
    new.game.provide(simpit.Airspeed(102.9, 0.31, 2.0), new.now)
    new.greet(0, 27)
    new.run(0.3)
    assert len(new.boards[0].telemetry()[27]) == 8
    old = Desk('v2', [Board('cobs')])
    old.game.provide(simpit.Airspeed(102.9, 0.31), old.now)
    old.greet(0, 27)
    old.run(0.3)
    assert old.boards[0].telemetry() == {}
    assert old.cockpits[0].statistics.dropped['airspeed'] > 0


def test_what_is_sent_on_change_is_sent_to_each_that_registers_it():
    desk = Desk('v2', [Board('v2'), Board('v2')])
    desk.game.provide(simpit.SphereOfInfluence('Kerbin'), desk.now)
    for number in (0, 1):
        desk.greet(number, 26)
        assert desk.boards[number].telemetry() == {26: b'Kerbin'}
    assert desk.game.subscriptions.count(26) == 1


def test_only_what_nobody_else_wants_is_deregistered():
    desk = Desk('v2', [Board('v2'), Board('v2')])
    desk.node.set_channels(['velocities'], desk.now)
    desk.greet(0, 8, 9, 22, 26)
    desk.greet(1, 26)
    assert desk.game.subscriptions == (3, 8, 9, 22, 26, 37)
    desk.say(0, simpit.Deregister(bytes((8, 9, 22, 26))))
    # 8 is the session's own, 22 is ROS's, 26 the other cockpit's.
    assert desk.game.subscriptions == (3, 8, 22, 26, 37)
    desk.cockpits[1].lost(desk.now)
    desk.run(0.1)
    assert desk.game.subscriptions == (3, 8, 22, 37)
    assert desk.left == ['cockpit 1']


def test_a_game_that_comes_back_is_registered_with_for_the_cockpits_too():
    desk = Desk('v2', [Board('v2')])
    desk.greet(0, 9)
    desk.game.provide(simpit.Apsides(1.0, 2.0), desk.now)
    desk.node.lost(desk.now)
    desk.game.restart(desk.now)
    desk.run(1.0)
    assert desk.cockpits[0].peer_state is PeerState.HELD
    desk.boards[0].telemetry()
    desk.node.opened(desk.now)
    desk.run(1.0)
    assert desk.boards[0].telemetry().keys() == {9}


def test_a_cockpit_waits_for_the_game_with_its_handshake_and_echo():
    desk = Desk('v2', [Board('v2')])
    desk.node.lost(desk.now)
    desk.run(0.1)
    desk.greet(0)
    desk.say(0, simpit.EchoRequest(b'abc'))
    assert desk.boards[0].heard == []
    assert desk.cockpits[0].peer_state is PeerState.HELD
    desk.node.opened(desk.now)
    desk.run(1.0)
    assert desk.boards[0].heard == [Packet(0, bytes((1, 0x37)))]
    desk.say(0, simpit.EchoRequest(b'abc'))
    assert desk.boards[0].heard[1:] == [Packet(2, b'abc')]


def test_closing_the_port_concerns_the_cockpit_only():
    desk = Desk('v2', [Board('v2')])
    desk.greet(0, 9)
    desk.say(0, simpit.Rotation(FULL, 0, 0, 1))
    desk.say(0, simpit.ClosePort())
    assert desk.game.port_open
    assert 9 not in desk.game.subscriptions
    assert desk.held('pitch') == 0.0
    desk.greet(0, 9)
    assert 9 in desk.game.subscriptions


def test_commands_outside_the_flight_are_not_kept_for_later():
    desk = Desk('v2', [Board('v2')])
    desk.greet(0)
    desk.game.set_flight(False, desk.now)
    desk.run(0.1)
    desk.say(0, ActionGroups('toggle', ActionGroup.GEAR))
    assert desk.failed[0].endswith('has left the flight scene')
    desk.game.set_flight(True, desk.now)
    desk.run(1.0)
    assert desk.commands == []


def test_a_slow_line_gets_the_newest_values():
    slow = CockpitSession(profile='v2', line_rate=120.0)
    slow.start(0.0)
    slow.opened(0.0)
    slow.set_game(Presence(True, PROFILES['v2'], False, True), 0.0)
    board = Board('v2')
    slow.receive('serial', board.encoded(simpit.Register(bytes((8, 26)))), None, 0.0)
    for step in range(1000):
        slow.forward('altitude', Packet(8, bytes((step % 256,)) * 8), step * 0.01)
        slow.forward('sphere_of_influence', Packet(26, b'Kerbin'), step * 0.01)
        for _, data in slow.poll(step * 0.01):
            board.receive(data)
    assert 60 <= len(board.heard) * 11 / 10.0 <= 130
    assert slow.statistics.held_back > 1500
    assert {packet.channel for packet in board.heard} == {8, 26}
    assert board.heard[-1].payload in (b'Kerbin', *(bytes((n,)) * 8 for n in range(224, 232)))


def test_any_bytes_at_all_are_survived():
    for profile in ('auto', 'v2', 'cobs'):
        cockpit = CockpitSession(profile=profile)
        cockpit.start(0.0)
        cockpit.opened(0.0)
        cockpit.set_game(Presence(True, PROFILES['v2'], False, True), 0.0)
        noise = bytes((7 * n * n + n // 3) % 256 for n in range(20000))
        for start in range(0, len(noise), 37):
            piece = noise[start:start + 37] + bytes.fromhex('aa500100ff' 'aa50010800')
            cockpit.receive('serial', piece, None, start * 0.01)
            cockpit.poll(start * 0.01)
            cockpit.expired()
        assert len(cockpit.registered) <= 255


@pytest.mark.parametrize(('profile', 'era'), [('v0', 'a'), ('v2', 'b2'), ('v2.3', 'c')])
def test_genuine_cockpits_get_the_answers_of_genuine_plugins(profile, era):
    answered = 0
    for vector in vectors('simpit'):
        frame = vector['fields'].get('frame')
        if vector['era'] != era or vector['direction'] != 'device->plugin' or (
                'reply_hex' not in vector['fields'] or not frame or frame['chan'] > 1
                or not 2 <= len(frame['payload']) <= 64):
            continue
        cockpit = CockpitSession(profile=profile)
        cockpit.opened(0.0)
        cockpit.start(0.0)
        cockpit.set_game(Presence(True, PROFILES[profile], False, True), 0.0)
        cockpit.receive('serial', bytes.fromhex(vector['hex']), None, 0.0)
        answer = b''.join(data for _, data in cockpit.poll(0.0))
        assert answer.hex() == vector['fields']['reply_hex'], vector['name']
        answered += bool(answer)
    assert answered > 3


@pytest.mark.parametrize(('name', 'profile'), [
    ('devout_a_init_syn', 'v0'), ('devout_b1_init_syn', 'v2'), ('b2_syn_library', 'v2'),
    ('c_syn_library', 'cobs')])
def test_genuine_cockpits_are_recognised(name, profile):
    (vector,) = (vector for vector in vectors('simpit') if vector['name'] == name)
    cockpit = CockpitSession()
    cockpit.opened(0.0)
    cockpit.start(0.0)
    cockpit.receive('serial', bytes.fromhex(vector['hex']), None, 0.0)
    # The library of 1.4 is the same one as that of 2.1, as far as it says.
    assert cockpit.profile.name == profile


# Who has an axis.

def test_a_cockpit_at_rest_does_not_disturb_the_stack():
    desk = Desk('v2', [Board('v2')])
    desk.greet(0)
    for _ in range(5):
        desk.stack(pitch=0.4)
        # The stick is at rest; a potentiometer has noise.
        desk.say(0, simpit.Rotation(0, 0, 0, 7))
        desk.say(0, simpit.Rotation(300, 0, 0, 7))
    assert desk.held('pitch') == 0.4
    assert desk.node.taken == ('pitch',)
    assert desk.node.withheld['cockpit 0'] == 10


@pytest.mark.parametrize(('rule', 'after_cockpit', 'after_stack', 'after_both'), [
    ('last', 0.5, -0.3, 0.8), ('cockpit', 0.5, 0.5, 0.8), ('stack', 0.2, -0.3, -0.3)])
def test_each_rule_says_who_wins_an_axis(rule, after_cockpit, after_stack, after_both):
    desk = Desk('v2', [Board('v2')])
    desk.node.configure_ownership(rule=rule, lease=2.0)
    desk.greet(0)
    desk.say(0, simpit.Rotation(0, 0, 0, 7))
    desk.stack(pitch=0.2)
    desk.say(0, simpit.Rotation(FULL // 2, 0, 0, 7))
    assert desk.held('pitch') == after_cockpit
    # The same command again is no move.
    desk.stack(pitch=0.2)
    assert desk.held('pitch') == after_cockpit
    desk.stack(pitch=-0.3)
    assert desk.held('pitch') == after_stack
    desk.say(0, simpit.Rotation(round(0.8 * FULL), 0, 0, 7))
    assert desk.held('pitch') == after_both
    # The stick is let go: the stack has the axis with its next command, whatever the rule.
    desk.say(0, simpit.Rotation(0, 0, 0, 7))
    desk.stack(pitch=-0.3)
    assert desk.held('pitch') == -0.3


def test_when_the_stack_stops_its_axes_are_released_and_not_those_of_the_cockpit():
    desk = Desk('v2', [Board('v2')])
    desk.greet(0)
    desk.say(0, simpit.Rotation(0, 0, FULL // 2, 7))
    desk.stack(pitch=0.4, roll=0.2)
    assert desk.node.taken == ('pitch', 'roll')
    # What the watchdog does.
    desk.node.centre(desk.now)
    desk.run(1.5)
    assert (desk.held('pitch'), desk.held('roll'), desk.held('yaw')) == (0.0, 0.0, 0.5)
    # Nobody holds the pitch now: a cockpit need not move it.
    desk.say(0, simpit.Rotation(3000, 0, FULL // 2, 7))
    assert desk.held('pitch') == 0.09


@pytest.mark.parametrize(('what', 'pitch'), [('neutral', 0.0), ('hold', 0.5)])
def test_an_unplugged_cockpit_gives_back_its_axes_but_not_those_of_the_stack(what, pitch):
    desk = Desk('v2', [Board('v2')])
    desk.greet(0)
    desk.say(0, simpit.Rotation(FULL // 2, 0, 0, 1), simpit.Throttle(FULL))
    desk.stack(yaw=0.3)
    desk.node.let_go('cockpit 0', what, desk.now)
    desk.run(0.1)
    assert (desk.held('pitch'), desk.held('yaw'), desk.held('throttle')) == (pitch, 0.3, 1.0)
    assert desk.node.held_by('cockpit 0') == ()


def test_a_game_that_was_silent_still_gets_back_what_an_unplugged_cockpit_held():
    desk = Desk('v2', [Board('v2')])
    desk.greet(0)
    desk.say(0, simpit.Rotation(FULL // 2, 0, 0, 1))
    desk.game.withdraw('altitude', desk.now)
    desk.run(3.0)
    assert desk.node.peer_state is PeerState.ANSWERING
    desk.cockpits[0].lost(desk.now)
    desk.run(0.1)
    assert desk.held('pitch') == 0.0


def test_a_game_that_may_be_another_gets_back_what_cockpits_held_until_they_take_it_again():
    desk = Desk('v2', [Board('v2')])
    desk.greet(0)
    desk.say(0, simpit.Rotation(FULL // 2, 0, 0, 1))
    desk.stack(roll=0.5)
    desk.node.lost(desk.now)
    desk.run(1.0)
    assert desk.node.taken == ('roll',)
    desk.node.opened(desk.now)
    desk.run(0.5)
    assert (desk.held('pitch'), desk.held('roll')) == (0.0, 0.0)
    assert desk.node.held_by('cockpit 0') == ()
    desk.say(0, simpit.Rotation(FULL // 4, 0, 0, 1))
    desk.run(2.0)
    assert desk.held('pitch') == 0.25
    assert desk.node.held_by('cockpit 0') == ('pitch',)


def test_stopping_gives_back_the_axes_of_cockpits_too():
    desk = Desk('v2', [Board('v2')])
    desk.greet(0)
    desk.say(0, simpit.Rotation(FULL // 2, 0, 0, 1))
    desk.node.stop(desk.now)
    desk.run(0.1)
    assert desk.held('pitch') == 0.0
    assert desk.node.held_by('cockpit 0') == ()


def test_the_throttle_is_nobodys_by_being_closed_but_by_being_moved():
    ownership = Ownership(lease=0.0)
    assert ownership.admit('lever', {'throttle': 0}, 0.0) == {'throttle': 0}
    assert ownership.admit(STACK, {'throttle': 20000}, 0.0) == {'throttle': 20000}
    assert ownership.admit('lever', {'throttle': 100}, 1.0) == {}
    assert ownership.admit('lever', {'throttle': 5000}, 2.0) == {'throttle': 5000}
    assert ownership.admit(STACK, {'throttle': 20000}, 3.0) == {}
    assert ownership.admit('lever', {'throttle': 0}, 4.0) == {'throttle': 0}
    assert ownership.admit('other lever', {'throttle': 9000}, 5.0) == {}
    assert ownership.admit('other lever', {'throttle': 0}, 6.0) == {'throttle': 0}
    with pytest.raises(ValueError, match='must be one of last, cockpit, stack'):
        Ownership('first')
