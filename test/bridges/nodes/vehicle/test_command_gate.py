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

"""command/controls in any node: checked, counted, supervised; without a simulator."""

import math
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.bridges.nodes.vehicle.controls import (
    checked_controls,
    CommandGate,
    control_numbers,
    CONTROLS_MASK,
)
from xplane_bridge.msg import FlightControls


def command(**given):
    """Return a command that sets these."""
    message = FlightControls()
    CONTROLS_MASK.fill(message, Controls(**given)._asdict())
    return message


class Node:
    """A node whose only command is called, and only timer fires, when a test wants it."""

    steady_clock = 'steady'

    def __init__(self, on_command_timeout='neutral', command_timeout=1.5):
        self.parameters = SimpleNamespace(
            on_command_timeout=on_command_timeout, command_timeout=command_timeout)
        self.warned, self.refused, self.said = [], [], []
        self.timer = None

    def make_command(self, kind, topic, take):
        assert kind is FlightControls
        self.topic, self.take = topic, take

    def create_timer(self, seconds, call, clock):
        assert clock == self.steady_clock
        self.timer = SimpleNamespace(seconds=seconds, call=call, runs=True)
        self.timer.cancel = lambda: setattr(self.timer, 'runs', False)
        self.timer.reset = lambda: setattr(self.timer, 'runs', True)
        self.timer.is_canceled = lambda: not self.timer.runs
        return self.timer

    def destroy_timer(self, timer):
        assert timer is self.timer
        self.timer = None

    def warn(self, kind, sentence):
        self.warned.append((kind, sentence))

    def refuse(self, topic, error):
        self.refused.append((topic, str(error)))

    def resolve_topic_name(self, topic):
        return f'/uav2/{topic}'

    def get_publishers_info_by_topic(self, topic):
        assert topic == '/uav2/command/controls'
        return [SimpleNamespace(node_namespace='/uav2', node_name=name)
                for name in self.publishers]


def gate(node, **options):
    """Return a gate and the log of its actions."""
    done = []
    options.setdefault('neutral', lambda: done.append('centred'))
    return CommandGate(node, done.append, lambda: done.append('released'), **options), done


# Checks.


def test_only_what_is_set_is_commanded():
    assert checked_controls(command(elevator=0.5, gear=0.0)) == Controls(elevator=0.5, gear=0.0)


@pytest.mark.parametrize(('name', 'low', 'high'), [
    ('elevator', -1.0, 1.0), ('aileron', -1.0, 1.0), ('rudder', -1.0, 1.0),
    ('throttle', 0.0, 1.0), ('flaps', 0.0, 1.0), ('gear', 0.0, 1.0), ('speedbrake', -0.5, 1.5)])
def test_the_ends_of_a_range_are_in_it_and_what_is_beyond_is_refused_or_clamped(name, low, high):
    for value, end in ((low, low), (high, high), (low - 0.25, low), (high + 0.25, high)):
        assert checked_controls(command(**{name: value}), clamp=True) == Controls(**{name: end})
        if value == end:
            assert checked_controls(command(**{name: value})) == Controls(**{name: value})
            continue
        with pytest.raises(ValueError, match=f'^{name} {value:g} is not in {low:g} .. {high:g}$'):
            checked_controls(command(**{name: value}))


def test_a_command_goes_on_and_arms_the_watchdog():
    node = Node()
    made, done = gate(node, prefix='aircraft_3/')
    assert node.topic == 'aircraft_3/command/controls'
    assert (node.timer.seconds, node.timer.runs, made.commands) == (1.5, False, 0)
    node.take(command(elevator=0.5))
    assert done == [Controls(elevator=0.5)]
    assert (node.timer.runs, made.commands) == (True, 1)


def test_a_command_out_of_range_does_nothing_unless_it_is_clamped():
    node = Node()
    made, done = gate(node)
    with pytest.raises(ValueError, match='elevator 2 is not'):
        node.take(command(elevator=2.0))
    assert (done, made.commands, node.timer.runs) == ([], 0, False)
    clamping = Node()
    _, done = gate(clamping, clamp=True)
    clamping.take(command(elevator=2.0))
    assert done == [Controls(elevator=1.0)]


def test_what_sets_only_controls_that_the_simulator_lacks_is_refused():
    node = Node()
    made, done = gate(node, takes=('elevator', 'throttle'))
    with pytest.raises(ValueError, match='supports only elevator, throttle; none of them is set'):
        node.take(command(flaps=0.5))
    assert (done, made.commands) == ([], 0)
    node.take(command(elevator=0.5, flaps=0.5))
    assert done == [Controls(elevator=0.5, flaps=0.5)]


# When commands stop.


def test_the_simulator_is_centred_each_time_that_commands_stop():
    node = Node()
    made, done = gate(node)
    node.take(command(elevator=0.5, throttle=0.75))
    node.take(command(rudder=-0.5))
    node.timer.call()
    assert done[2:] == ['centred']
    assert made.watchdog.expired
    assert not node.timer.runs
    assert node.warned == [(
        'timeout command/controls', 'command/controls: no command for 1.5 s: neutral')]
    node.take(command(flaps=0.5))
    assert not made.watchdog.expired
    node.timer.call()
    assert done[3:] == [Controls(flaps=0.5), 'centred']


@pytest.mark.parametrize(('choice', 'expected'), [('hold', []), ('release', ['released'])])
def test_controls_are_held_or_released_where_that_was_chosen(choice, expected):
    node = Node(on_command_timeout=choice)
    _, done = gate(node)
    node.take(command(elevator=0.5))
    node.timer.call()
    assert done[1:] == expected
    assert node.warned[0][1].endswith(f': {choice}')


def test_a_simulator_that_went_with_the_commander_is_no_failure():
    node = Node()

    def gone():
        raise ValueError('nothing answers')

    gate(node, neutral=gone)
    node.take(command(elevator=0.5))
    node.timer.call()
    assert node.refused == [('command/controls', 'nothing answers')]


def test_without_a_timeout_nothing_is_watched():
    node = Node(command_timeout=0.0)
    _, done = gate(node)
    node.take(command(elevator=0.5))
    assert node.timer is None
    assert done == [Controls(elevator=0.5)]


@pytest.mark.parametrize('commanded', [False, True])
def test_another_timeout_waits_anew_if_a_command_came(commanded):
    node = Node()
    made, _ = gate(node)
    if commanded:
        node.take(command(elevator=0.5))
    made.watchdog.set_timeout(0.5)
    assert (node.timer.seconds, node.timer.runs) == (0.5, commanded)
    assert made.watchdog.expired is False
    made.watchdog.set_timeout(0.0)
    assert node.timer is None
    made.watchdog.disarm()
    node.take(command(elevator=0.5))


@pytest.mark.parametrize(('publishers', 'sentence'), [
    (['mine'], ''),
    (['mine', 'experiment'], ''),
    (['other', 'mine'], '2 nodes publish command/controls: /uav2/mine, /uav2/other; each undoes '
                        'what the others command: stop all but one'),
    (['mine', 'other', 'mine'], '2 nodes publish command/controls: /uav2/mine, /uav2/other; each '
                                'undoes what the others command: stop all but one'),
    # As after a respawn: the middleware knows the killed one for its lease.
    (['mine', 'mine'], '2 publishers of command/controls are of nodes called /uav2/mine: stop all '
                       'but one; one that was killed is forgotten within 20 s'),
])
def test_nodes_that_command_at_once_are_told_apart_by_their_names(publishers, sentence):
    node = Node()
    node.publishers = publishers
    made, *_ = gate(node)
    assert made.rivalry() == ''
    node.take(command(throttle=0.5))
    assert made.rivalry() == sentence


def test_a_disarmed_watchdog_waits_for_the_next_command():
    node = Node()
    made, _ = gate(node)
    node.take(command(elevator=0.5))
    node.timer.call()
    made.watchdog.disarm()
    assert (made.watchdog.expired, node.timer.runs) == (False, False)
    node.take(command(elevator=0.5))
    made.watchdog.disarm()
    assert not node.timer.runs


# Who commands.


def rivals(node, *names):
    """Let these nodes publish the topic of a node's gate."""
    asked = []
    node.resolve_topic_name = lambda name: f'/ns/{name}'
    node.get_publishers_info_by_topic = lambda name: asked.append(name) or [
        SimpleNamespace(node_namespace=name.rpartition('/')[0] or '/',
                        node_name=name.rpartition('/')[2]) for name in names]
    return asked


def test_two_that_command_at_the_same_time_are_told():
    node = Node()
    made, _ = gate(node, prefix='a/')
    asked = rivals(node, '/b/pilot', '/autopilot')
    assert made.commanders() == ['/autopilot', '/b/pilot']
    assert asked == ['/ns/a/command/controls']
    # Nobody has commanded yet.
    assert made.rivalry() == ''
    node.take(command(elevator=0.5))
    assert made.rivalry() == (
        '2 nodes publish a/command/controls: /autopilot, /b/pilot; each undoes what the others '
        'command: stop all but one')
    node.timer.call()
    assert made.rivalry() == ''


@pytest.mark.parametrize('names', [(), ('/one',), ('/one', '/x/experiment')])
def test_one_that_commands_has_no_rival_and_an_experiment_is_none(names):
    node = Node()
    made, _ = gate(node)
    rivals(node, *names)
    node.take(command(elevator=0.5))
    assert made.rivalry() == ''
    rivals(node, *names, '/two', '/three')
    assert made.rivalry().startswith('2 nodes' if '/one' not in names else '3 nodes')


def test_what_is_not_sent_of_a_command_is_told():
    node = Node()
    gate(node, takes=('elevator', 'throttle'))
    node.take(command(elevator=0.5))
    assert node.warned == []
    node.take(command(elevator=0.5, flaps=0.5, gear=1.0))
    assert node.warned == [(
        'part of command/controls', 'command/controls: flaps, gear not sent: this simulator '
        'supports only elevator, throttle')]


def test_the_numbers_of_a_message_are_a_mask_and_nan_for_what_is_not_known():
    numbers = control_numbers(Controls(elevator=0.5, throttle=math.nan, gear=0.0, rudder_trim=1.0))
    assert numbers[0] == 1 + 32 + 2048
    assert [n for n, one in enumerate(numbers[1:]) if one == one] == [0, 5, 11]
    assert (numbers[1], numbers[6], numbers[12]) == (0.5, 0.0, 1.0)
