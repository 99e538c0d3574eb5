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


"""simpit_node between a game and cockpits, through real pseudo-terminals."""

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('serial', reason='pyserial is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from masked import masked
from simpit_peer import Plugin

from harness import process
from xplane_bridge.bridges.links.serial import SerialLoop
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.node import SimpitNode
from xplane_bridge.bridges.simpit.protocol import ActionGroup, ActionGroups
from xplane_bridge.bridges.simpit.session import SimpitSession, Telemetry
from xplane_bridge.msg import (
    FlightControls,
    SimpitActionCommand,
    SimpitAltitude,
    SimpitPacket,
)

ALTITUDE = simpit.Altitude(1234.5, 67.25)


class Cockpit:
    """Our device at its end of a pseudo-terminal: `socat` in place of an Arduino."""

    def __init__(self, path, profile, channels, port='pty:{}'):
        self.path = str(path)
        self.session = SimpitSession(channels, profile=profile)
        self.heard = []
        self.failures = []
        self.loop = SerialLoop(
            self.session, port.format(path), 115200, self._event, self.failures.append)
        self.loop.start()
        self.loop.call(self.session.start)

    def _event(self, event, _):
        if isinstance(event, Telemetry):
            self.heard.append(event)

    def send(self, *messages):
        self.loop.call(self.session.send, messages)

    def close(self):
        self.loop.close()
        assert not self.failures


@pytest.fixture
def plugged():
    """Return a list of what is closed at the end."""
    ends = []
    yield ends
    for end in ends:
        end.close()


def heard(cockpit, message):
    return any(message in event.values.values() for event in cockpit.heard)


@pytest.mark.parametrize(('profile', 'game_profile'), [('v2', 'v2'), ('cobs', 'v2')])
def test_game_and_cockpit_survive_each_others_unplugging(
        ros, plugged, tmp_path, profile, game_profile):
    game = Plugin(tmp_path / 'ksp', game_profile)
    game.say(ALTITUDE)
    cockpit = Cockpit(tmp_path / 'arduino', profile, ['altitude'])
    ros.subscribe(FlightControls, 'cockpit/controls')
    ros.subscribe(SimpitActionCommand, 'cockpit/action_groups')
    ros.subscribe(SimpitPacket, 'cockpit/packets')
    node = ros.start(
        SimpitNode, port=game.path, profile=game_profile, channels=['velocities'],
        cockpits=[cockpit.path], command_timeout=0.0)
    name = f'cockpit {cockpit.path}'
    try:
        ros.wait_for(lambda: heard(cockpit, ALTITUDE), 'telemetry in the cockpit')
        _, text, told = ros.diagnosed(name, node=node)
        assert text.startswith('connected')
        assert (told['profile'], told['profile is']) == (profile, 'recognised')
        # The stack flies; the cockpit moves, and has the axis.
        ros.publisher(FlightControls, 'command/controls').publish(
            masked(FlightControls, elevator=0.25, rudder=0.25))
        ros.wait_for(lambda: simpit.Rotation(8192, 0, 8192, 5) in game.commands, 'the stack')
        cockpit.send(simpit.Rotation(0, 0, 0, 1))
        cockpit.send(ActionGroups('toggle', ActionGroup.LIGHT))
        ros.wait_for(lambda: ros.messages['cockpit/controls'], 'the stick at rest')
        cockpit.send(simpit.Rotation(16384, 0, 0, 1))
        ros.wait_for(lambda: simpit.Rotation(16384, 0, 0, 1) in game.commands, 'the cockpit')
        assert simpit.Rotation(0, 0, 0, 1) not in game.commands
        ros.wait_for(
            lambda: ActionGroups('toggle', ActionGroup.LIGHT) in game.commands, 'the lights')
        moved = ros.wait_for(lambda: ros.messages['cockpit/controls'][1:], 'the topic')[0]
        assert (moved.fields, moved.elevator) == (
            FlightControls.ELEVATOR, pytest.approx(0.5, abs=1e-4))
        assert moved.header.frame_id == cockpit.path
        groups = ros.wait_for(lambda: ros.messages['cockpit/action_groups'], 'groups')[0]
        assert (groups.verb, list(groups.groups)) == (
            SimpitActionCommand.TOGGLE, [SimpitActionCommand.LIGHT])
        assert 16 in {packet.channel for packet in ros.messages['cockpit/packets']}
        # The game is quit; the cockpit keeps its port, and is served by the next game.
        game.close()
        ros.diagnosed(name, lambda _, text, __: text == 'it waits for the game', node)
        del cockpit.heard[:]
        game = Plugin(tmp_path / 'ksp', game_profile)
        game.say(simpit.Altitude(5.0, 6.0))
        ros.wait_for(
            lambda: heard(cockpit, simpit.Altitude(5.0, 6.0)), 'telemetry of the next game')
        # The cockpit is unplugged; the game goes on, and its axis is released.
        ros.wait_for(lambda: not cockpit.session.absence, 'the flight')
        cockpit.send(simpit.Rotation(0, 0, 16384, 4))
        ros.wait_for(lambda: simpit.Rotation(0, 0, 16384, 4) in game.commands, 'the cockpit')
        cockpit.close()
        ros.wait_for(lambda: simpit.Rotation(0, 0, 0, 4) in game.commands, 'the release')
        ros.diagnosed(name, lambda _, text, told: told['state'] == 'closed', node)
        cockpit = Cockpit(tmp_path / 'arduino', profile, ['altitude'])
        ros.wait_for(
            lambda: heard(cockpit, simpit.Altitude(5.0, 6.0)), 'telemetry after plugging in')
    finally:
        plugged += [game, cockpit]


def test_a_cockpit_that_ends_on_a_pseudo_terminal_of_the_node_gives_its_axes_back(
        ros, plugged, tmp_path):
    game = Plugin(tmp_path / 'ksp', 'v2')
    plugged.append(game)
    game.say(ALTITUDE)
    path = tmp_path / 'panel'
    node = ros.start(
        SimpitNode, port=game.path, profile='v2', cockpits=[f'pty:{path}'], command_timeout=0.0)
    for value in (16384, 8192):
        cockpit = Cockpit(path, 'v2', ['altitude'], port='{}')
        ros.wait_for(lambda cockpit=cockpit: not cockpit.session.absence, 'the flight')
        moved = simpit.Rotation(0, 0, value, 4)
        cockpit.send(moved)
        ros.wait_for(lambda moved=moved: moved in game.commands, 'the cockpit')
        del game.events[:]
        # As if it was killed: it says nothing more.
        cockpit.close()
        ros.wait_for(lambda: simpit.Rotation(0, 0, 0, 4) in game.commands, 'the release')
        ros.diagnosed(
            f'cockpit pty:{path}', lambda _, text, told: told['axes that it holds'] == 'none'
            and text.startswith('waiting for its handshake'), node)


def test_one_process_serves_several_games_each_below_its_name(ros, plugged, tmp_path):
    plugged += [Plugin(tmp_path / 'one', 'v2'), Plugin(tmp_path / 'two', 'cobs')]
    cockpit = Cockpit(tmp_path / 'arduino', 'v2', ['altitude'])
    plugged.append(cockpit)
    for number, game in enumerate(plugged[:2]):
        game.say(simpit.Altitude(float(number), 0.0))
    file = tmp_path / 'games.yaml'
    file.write_text(f"""
/**:
  ros__parameters: {{ports: ['left={tmp_path}/one', 'right={tmp_path}/two']}}
/vessels/left/simpit_node:
  ros__parameters: {{profile: v2}}
/vessels/right/simpit_node:
  ros__parameters: {{cockpits: ['{cockpit.path}']}}
""")
    for name in ('left', 'right'):
        ros.subscribe(SimpitAltitude, f'/vessels/{name}/altitude')
    with process(
            'simpit_node', '--ros-args', '--params-file', str(file), '-r', '__ns:=/vessels'):
        assert ros.next('/vessels/left/altitude').sea_level == 0.0
        assert ros.next('/vessels/right/altitude').sea_level == 1.0
        ros.wait_for(lambda: heard(cockpit, simpit.Altitude(1.0, 0.0)), 'its game in the cockpit')
        assert ros.diagnosed(f'cockpit {cockpit.path}')[1].startswith('connected')


@pytest.mark.parametrize(('parameters', 'reason'), [
    ({'cockpits': ['/dev/ttyACM0=v9']}, "profile 'v9' is not one of auto"),
    ({'cockpits': ['/dev/ttyKSP']}, '/dev/ttyKSP is already used'),
    ({'cockpits': ['/dev/ttyACM0', '/dev/ttyACM1'], 'cockpit_bauds': [9600, 9600, 9600]},
     '3 baud rates for 2 cockpits'),
    ({'cockpits': ['nonsense://x']}, 'parameter cockpits: invalid URL, protocol'),
    ({'cockpits': ['']}, 'parameter cockpits: no serial port given'),
    ({'cockpits': ['pty:/tmp/panel'], 'cockpit_bauds': [0]}, '0 is not in 1 .. 4000000'),
    ({'ports': ['a__b=/dev/ttyUSB0']}, 'single underscores, and begins with a letter'),
    ({'cockpit_rule': 'first'}, "expected one of last, cockpit, stack, got 'first'"),
    ({'ports': ['left']}, "'left': expected name=port"),
    ({'ports': ['left=/dev/ttyUSB0']}, 'give either port or ports'),
])
def test_bad_cockpits_are_refused_with_a_sentence(ros, parameters, reason):
    node = ros.start(SimpitNode, activate=False, port='/dev/ttyKSP', **parameters)
    assert reason in node.failed
