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

"""What xpc_node does when its commander, its peer or the node itself goes away."""

from contextlib import suppress
import gc
import os
from pathlib import Path
import random
import signal
import socket
import subprocess
import sys
import threading

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import Transition
from masked import masked
from rclpy.lifecycle import TransitionCallbackReturn
from sensor_msgs.msg import NavSatFix
from std_srvs.srv import Trigger
from xpc_peer import bridged, controls, given_back, node_process, RELEASED, take_everything

from harness import free_port, process
from xplane_bridge.bridges.conversions.geoid import undulation_source
from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.bridges.xpc.session import PluginVersion
from xplane_bridge.msg import AircraftPose, FlightControls

COMMANDER = str(Path(__file__).parents[3] / 'support' / 'ros' / 'commander.py')


def commander(topic, **controls):
    """Run a process that sends commands continuously."""
    return process(
        sys.executable, '-P', COMMANDER, topic,
        *(f'{name}={value}' for name, value in controls.items()))


def transition(ros, node, name):
    return ros.run_in(node, getattr(node, f'trigger_{name}'))


# The commander exits.

@pytest.mark.parametrize('action', ['neutral', 'hold', 'release'])
def test_a_commander_killed_in_flight(ros, x_plane, action):
    peer = x_plane()
    node = bridged(ros, peer, command_timeout=0.4, on_command_timeout=action)
    watchdog = node.gates[''].watchdog
    with commander('/command/controls', elevator=0.1, aileron=0.3, throttle=0.9) as child:
        ros.wait_for(lambda: peer.jsbsim('velocities/p-rad_sec') > 0.2, 'roll to the right')
        assert not watchdog.expired
        child.kill()
        ros.wait_for(lambda: watchdog.expired, 'the watchdog')
    # On a busy machine one more command may arrive only now, and is watched anew.
    ros.diagnosed('commands', lambda level, message, _: (level, message) == (
        DiagnosticStatus.WARN, 'commands stopped arriving'), node)
    ailerons, roll = 'fcs/aileron-cmd-norm', 'velocities/p-rad_sec'
    if action == 'hold':
        assert peer.jsbsim(ailerons) == pytest.approx(0.3)
        assert peer.jsbsim(roll) > 0.1
        assert peer.world('throttle_override') == pytest.approx(0.9)
        return
    ros.wait_for(lambda: peer.jsbsim(ailerons) == 0.0, 'the ailerons to be centred')
    assert peer.jsbsim('fcs/elevator-cmd-norm') == 0.0
    ros.wait_for(lambda: abs(peer.jsbsim(roll)) < 0.1, 'the roll to end')
    if action == 'neutral':
        assert peer.world('throttle_override') == pytest.approx(0.9)
    else:
        ros.wait_for(
            lambda: peer.world('throttle_override') == RELEASED, 'the throttle to be free')


def test_the_next_command_arms_the_watchdog_again(ros, x_plane):
    peer = x_plane()
    node = bridged(ros, peer, command_timeout=0.2)
    publisher = ros.publisher(FlightControls, '/command/controls')
    rudder = 'fcs/rudder-cmd-norm'
    for _ in range(2):
        publisher.publish(controls(rudder=0.5))
        ros.wait_for(lambda: peer.jsbsim(rudder) == -0.5, 'the rudder')
        ros.wait_for(lambda: peer.jsbsim(rudder) == 0.0, 'the rudder to be centred')
    assert node.gates[''].commands == 2


def test_surfaces_that_no_command_moved_are_not_centred(ros, x_plane):
    peer = x_plane()
    # From the user's own joystick.
    peer.server.call(lambda world: world.aircraft.set_controls(aileron=0.25))
    node = bridged(ros, peer, command_timeout=0.1)
    ros.publisher(FlightControls, '/command/controls').publish(controls(flaps=0.5))
    ros.wait_for(lambda: peer.jsbsim('fcs/flap-cmd-norm') == 0.5, 'the flaps')
    ros.wait_for(lambda: node.gates[''].watchdog.expired, 'the watchdog')
    peer.pause()
    assert peer.jsbsim('fcs/aileron-cmd-norm') == 0.25


def test_the_timeout_may_change_in_flight(ros, x_plane):
    peer = x_plane()
    node = bridged(ros, peer, command_timeout=1000.0)
    publisher = ros.publisher(FlightControls, '/command/controls')
    rudder = 'fcs/rudder-cmd-norm'
    publisher.publish(controls(rudder=0.5))
    ros.wait_for(lambda: peer.jsbsim(rudder) == -0.5, 'the rudder')
    # It applies to the preceding command, too.
    assert ros.change(node, command_timeout=0.1).successful
    ros.wait_for(lambda: peer.jsbsim(rudder) == 0.0, 'the rudder to be centred')
    assert ros.change(node, command_timeout=0.0).successful
    publisher.publish(controls(rudder=0.5))
    ros.wait_for(lambda: peer.jsbsim(rudder) == -0.5, 'the rudder')
    ros.diagnosed('commands', lambda level, message, values: message == 'watched', node)
    assert peer.jsbsim(rudder) == -0.5
    assert not ros.change(node, command_timeout=-1.0).successful
    assert not ros.change(node, on_command_timeout='panic').successful


def test_each_aircraft_has_a_watchdog_of_its_own(ros, x_plane):
    peer = x_plane()
    node = bridged(ros, peer, aircraft=[0, 1], command_timeout=0.2)
    publisher = ros.publisher(FlightControls, '/aircraft_1/command/controls')
    publisher.publish(controls(aileron=0.5, elevator=0.25))

    def yoke():
        other = peer.world('others')[0]
        return other.yoke_roll, other.yoke_pitch

    ros.wait_for(lambda: yoke() == (0.5, 0.25), 'the yoke')
    ros.wait_for(lambda: yoke() == (0.0, 0.0), 'the yoke to be centred')
    assert node.gates['aircraft_1/'].watchdog.expired
    assert not node.gates[''].watchdog.expired


def test_release_of_one_aircraft_takes_nothing_from_another_under_command(ros, x_plane):
    peer = x_plane()
    node = bridged(
        ros, peer, aircraft=[0, 3], command_timeout=0.5, on_command_timeout='release',
        override_joystick=True)
    with commander('/command/controls', elevator=0.25, throttle=0.75):
        ros.wait_for(lambda: peer.world('throttle_override') == 0.75, 'the throttle')
        ros.publisher(FlightControls, '/aircraft_3/command/controls').publish(
            controls(aileron=0.5, gear=1.0))
        ros.wait_for(lambda: peer.world('others')[2].yoke_roll == 0.5, 'the yoke')
        ros.wait_for(lambda: peer.world('others')[2].yoke_roll == 0.0, 'the yoke to be centred')
        assert node.gates['aircraft_3/'].watchdog.expired
        assert not node.gates[''].watchdog.expired
        assert set(node.session.taken) == {'joystick', 'elevator', 'throttle'}
        assert peer.world('throttle_override') == 0.75
        assert peer.world('overrides')['override_joystick'] == 1
        assert peer.jsbsim('fcs/elevator-cmd-norm') == -0.25


# The node exits.

def test_deactivation_gives_back_what_was_taken(ros, x_plane):
    peer = x_plane()
    node = bridged(ros, peer, command_timeout=0.0, override_joystick=True)
    for _ in range(2):
        take_everything(ros, peer)
        _, _, values = ros.diagnosed('peer', node=node)
        assert values['taken from the user'] == (
            'elevator, joystick, pause of all, text, throttle')
        assert transition(ros, node, 'deactivate') == TransitionCallbackReturn.SUCCESS
        ros.wait_for(lambda: given_back(peer), 'all to be given back')
        _, message, values = ros.diagnosed('peer', node=node)
        assert (message, values['taken from the user']) == ('not active', 'nothing')
        assert transition(ros, node, 'activate') == TransitionCallbackReturn.SUCCESS


def test_an_x_plane_that_loads_gets_it_back_when_it_goes_on(ros, x_plane):
    peer = x_plane()
    node = bridged(ros, peer, command_timeout=0.0, override_joystick=True)
    take_everything(ros, peer)
    peer.server.freeze()
    ros.diagnosed('peer', peer_says('not responding'), node)
    for name in ('deactivate', 'cleanup'):
        assert transition(ros, node, name) == TransitionCallbackReturn.SUCCESS
    assert not given_back(peer)
    peer.server.resume()
    ros.wait_for(lambda: given_back(peer), 'all to be given back')


def test_what_a_killed_node_held_is_named_and_freed(ros, x_plane):
    peer = x_plane()
    arguments = ('-p', 'override_joystick:=true', '-p', 'command_timeout:=0.0')
    with node_process(peer.port, *arguments) as child:
        take_everything(ros, peer)
        child.kill()
        child.wait(60.0)
    node = bridged(ros, peer)
    level, message, _ = ros.diagnosed('commands', peer_says('release_all'), node)
    assert level == DiagnosticStatus.WARN
    assert 'held, but not by this node: joystick, throttle, pause of all' in message
    response = ros.call(Trigger, '/release_all', Trigger.Request())
    assert (response.success, response.message) == (True, 'X-Plane reports it')
    assert given_back(peer)
    assert ros.diagnosed('commands', peer_says('watched'), node)


def test_only_what_was_taken_is_given_back(ros, x_plane):
    peer = x_plane()
    peer.server.call(lambda world: world.freeze(3, True))
    peer.server.call(lambda world: world.set_throttle_override(0.5))
    node = bridged(ros, peer)
    ros.subscribe(NavSatFix, '/fix')
    ros.next('/fix', 3)
    assert transition(ros, node, 'deactivate') == TransitionCallbackReturn.SUCCESS
    before = peer.received
    assert transition(ros, node, 'activate') == TransitionCallbackReturn.SUCCESS
    ros.next('/fix', 3)
    assert peer.received > before
    assert peer.world('planepath')[3] == 1
    assert peer.world('throttle_override') == 0.5


@pytest.mark.parametrize('numbers', [
    [signal.SIGTERM], [signal.SIGINT], [signal.SIGINT, signal.SIGINT, signal.SIGINT],
    [signal.SIGTERM, signal.SIGINT]])
def test_a_process_that_is_ended_gives_back_and_ends_well(ros, x_plane, numbers):
    peer = x_plane()
    arguments = ('-p', 'override_joystick:=true', '-p', 'command_timeout:=0.0')
    with node_process(peer.port, *arguments) as child:
        take_everything(ros, peer)
        for number in numbers:
            # A terminal and launch both send one. 30 ms later the node is in the middle of its
            # clean-up.
            child.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                child.wait(0.03)
        assert child.wait(60.0) == 0
        assert 'Traceback' not in child.stdout.read()
    ros.wait_for(lambda: given_back(peer), 'all to be given back', 1.0)


def test_it_is_configured_and_cleaned_up_again_and_again(ros, x_plane):
    peer = x_plane()
    node = ros.start(XpcNode, port=peer.port, configure=False)
    ros.subscribe(NavSatFix, '/fix')

    def links():
        return [thread for thread in threading.enumerate() if thread.name == 'xpc link']

    def descriptors():
        return len(os.listdir('/proc/self/fd'))

    assert not links()
    counts = []
    for _ in range(4):
        assert transition(ros, node, 'configure') == TransitionCallbackReturn.SUCCESS
        assert transition(ros, node, 'activate') == TransitionCallbackReturn.SUCCESS
        ros.next('/fix', 2)
        assert len(links()) == 1
        assert transition(ros, node, 'deactivate') == TransitionCallbackReturn.SUCCESS
        assert transition(ros, node, 'cleanup') == TransitionCallbackReturn.SUCCESS
        assert not links()
        counts.append(descriptors())
    # ROS opens some the first time.
    assert counts[-1] <= counts[1]


@pytest.mark.parametrize(('given', 'sentence'), [
    ({'host': 'no.such.host.invalid'}, "host 'no.such.host.invalid': no IPv4 address found"),
    ({'bind_address': '203.0.113.1'}, 'UDP 203.0.113.1:0'),
    ({'aircraft': [0, 20]}, 'parameter aircraft: 20 is not in 0..19; X-Plane crashes on others'),
    ({'aircraft': [2, 2]}, 'names one twice'),
    ({'aircraft': []}, 'parameter aircraft: at least one number is needed'),
    ({'aircraft': ['a']}, "parameter aircraft: 'a' is not in 0..19"),
    ({'plugin': 'rc9'},
     "parameter plugin: expected one of auto, 1.2.1, rc5, rc6, develop, got 'rc9'"),
    ({'datum': [47.0, 8.0]}, 'parameter datum: expected latitude, longitude and height'),
    ({'datum': [97.0, 8.0, 0.0]}, 'atitude'),
    ({'datarefs': ['sim/a', 'x' * 256]}, 'parameter datarefs: GETD name 1: 256 characters'),
    ({'datarefs': [1, 2]}, 'parameter datarefs: GETD name 1: expected a text, got 1'),
    ({'datarefs': ['sim/a'] * 3001}, 'parameter datarefs: 3001 datarefs, at most 3000 can be'),
    ({'datarefs': ['sim/a'] * 4097}, 'parameter datarefs: 4097 elements, at most 4096 can be'),
    ({'host': 'x' * 4097}, 'parameter host: 4097 characters, at most 4096 can be given'),
    ({'undulation': 'high'}, "parameter undulation: expected a number, got 'high'"),
    ({'geoid_grid': '/no/such/grid.tif'}, '/no/such/grid.tif'),
])
def test_a_node_that_cannot_be_configured_says_why_and_leaves_nothing(ros, given, sentence):
    # PROJ opens its database at its first use, for the rest of the process.
    with suppress(ValueError):
        undulation_source(grid='/no/such/grid.tif')
    node = ros.start(XpcNode, configure=False, **given)
    # Garbage from earlier tests.
    gc.collect()
    before = len(os.listdir('/proc/self/fd')), threading.active_count()
    assert transition(ros, node, 'configure') == TransitionCallbackReturn.FAILURE
    assert sentence in node.failed
    assert (len(os.listdir('/proc/self/fd')), threading.active_count()) == before


@pytest.mark.parametrize(('content', 'sentences'), [
    ('port: "often"\n    plugin: 7', ('parameter port', 'parameter plugin')),
    ('rate: fast', ("parameter rate: expected a number, got 'fast'",)),
    ('aircraft: [30]', ('parameter aircraft: 30 is not in 0..19',)),
])
def test_a_bad_parameter_file_ends_the_process_with_code_1(tmp_path, content, sentences):
    file = tmp_path / 'bad.yaml'
    file.write_text(f'/**:\n  ros__parameters:\n    {content}\n')
    with process('xpc_node', '--ros-args', '--params-file', str(file)) as child:
        assert child.wait(60.0) == 1
        output = child.stdout.read()
    assert 'cannot configure' in output
    assert 'Traceback' not in output
    for sentence in sentences:
        assert sentence in output


def test_without_autostart_a_manager_starts_the_process(ros, x_plane):
    # No node of another test asks at this port still.
    peer = x_plane(port=free_port())
    ros.subscribe(NavSatFix, '/fix')
    with node_process(peer.port, '-p', 'autostart:=false') as child:
        for number in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
            assert peer.received == 0
            assert ros.transition('/xpc_node', number)
        ros.next('/fix', 3)
        assert ros.transition('/xpc_node', Transition.TRANSITION_ACTIVE_SHUTDOWN)
        child.send_signal(signal.SIGTERM)
        assert child.wait(60.0) == 0


# The peer exits.

def peer_says(words):
    return lambda level, message, values: words in message


def test_nothing_there_and_then_a_simulator(ros, x_plane):
    port = free_port()
    ros.subscribe(NavSatFix, '/fix')
    node = ros.start(XpcNode, port=port)
    level, message, values = ros.diagnosed('peer', peer_says('not responding'), node)
    assert level == DiagnosticStatus.WARN
    assert 'its address and port' in message
    assert values['state'] == 'away'
    level, message, _ = ros.diagnosed('telemetry', node=node)
    assert (level, message) == (DiagnosticStatus.STALE, 'nothing arrives')
    peer = x_plane(port=port)
    ros.next('/fix')
    level, message, values = ros.diagnosed('peer', peer_says('answering'), node)
    assert (level, message) == (DiagnosticStatus.OK, 'answering')
    assert peer.port == port


def test_loading_is_told_from_being_away(ros, x_plane):
    peer = x_plane(beacon_interfaces=['127.0.0.1'])
    node = bridged(ros, peer)
    ros.subscribe(NavSatFix, '/fix')
    ros.wait_for(lambda: node.session.beacon, 'a beacon')
    _, _, values = ros.diagnosed('peer', node=node)
    assert values['X-Plane version'] == '12100'
    assert values['plugin version'] == 'rc6'
    ros.diagnosed(
        'telemetry', lambda level, message, values: level == DiagnosticStatus.OK, node)
    peer.server.freeze()
    level, message, values = ros.diagnosed(
        'telemetry', lambda level, message, values: level == DiagnosticStatus.STALE, node)
    assert float(values['age of the last, s']) >= 1.0
    level, message, values = ros.diagnosed('peer', peer_says('not answering'), node)
    assert level == DiagnosticStatus.WARN
    assert 'scenery' in message
    assert values['state'] == 'loading'
    peer.server.resume()
    ros.next('/fix')
    ros.diagnosed('peer', peer_says('answering'), node)


def test_the_beacon_of_another_x_plane_on_the_same_computer_is_not_its(ros, x_plane):
    x_plane(beacon_interfaces=['127.0.0.1'])
    node = ros.start(XpcNode, port=free_port())
    ros.diagnosed('peer', peer_says('not responding'), node)
    ros.wait_for(lambda: node.link.counters().strangers, 'a beacon')
    assert node.session.beacon is None
    ros.diagnosed('peer', peer_says('not responding'), node)


def test_telemetry_is_back_soon_after_a_restart_and_a_command_acts(ros, x_plane):
    peer = x_plane()
    ros.subscribe(NavSatFix, '/fix')
    node = bridged(ros, peer, command_timeout=0.0, override_joystick=True)
    ros.next('/fix', 3)
    publisher = ros.publisher(FlightControls, '/command/controls')
    publisher.publish(controls(throttle=0.5))
    ros.wait_for(lambda: peer.world('overrides')['override_joystick'], 'the override')
    peer.server.switch_off()
    ros.diagnosed('peer', peer_says('not responding'), node)
    # A commander keeps sending meanwhile; its commands do not pile up.
    for step in range(100):
        publisher.publish(controls(elevator=step / 100.0))
    peer.server.switch_on()
    ros.next('/fix')
    publisher.publish(controls(elevator=-0.5))
    ros.wait_for(
        lambda: peer.jsbsim('fcs/elevator-cmd-norm') == 0.5, 'the elevator')
    # The new X-Plane knows nothing of the override, so it is set again.
    ros.wait_for(lambda: peer.world('overrides')['override_joystick'], 'the override')
    assert transition(ros, node, 'deactivate') == TransitionCallbackReturn.SUCCESS
    ros.wait_for(lambda: not peer.world('overrides')['override_joystick'], 'its end')


def test_an_older_plugin_that_takes_over_at_once_is_spoken_to_as_that(ros, x_plane):
    peer = x_plane()
    node = bridged(ros, peer, command_timeout=0.0)
    ros.publisher(FlightControls, '/command/controls').publish(controls(throttle=0.5))
    ros.wait_for(lambda: node.session.taken == ('throttle',), 'the throttle')
    ros.wait_for(lambda: node.publisher.last_state(0), 'telemetry')
    peer.server.switch_off()
    other = x_plane(port=peer.port, plugin_version='1.2.1')
    ros.wait_for(
        lambda: node.session.taken == () and node.session.plugin_version is not PluginVersion.RC6,
        'the other to be noticed')
    # The newer plugins' form would put this one's aircraft at 0, 3.05.
    ros.publisher(AircraftPose, '/command/pose').publish(
        masked(AircraftPose, latitude=47.25, longitude=8.75))
    ros.wait_for(
        lambda: abs(other.jsbsim('position/lat-geod-deg') - 47.25) < 1e-4, 'the place')
    assert transition(ros, node, 'deactivate') == TransitionCallbackReturn.SUCCESS
    assert other.world('throttle_override') == RELEASED


def test_short_freezes_are_survived_without_a_word(ros, x_plane):
    peer = x_plane()
    ros.subscribe(NavSatFix, '/fix')
    node = bridged(ros, peer)
    for _ in range(3):
        ros.next('/fix', 3)
        peer.server.freeze()
        lost = node.session.statistics.lost
        ros.wait_for(lambda lost=lost: node.session.statistics.lost > lost + 3, 'losses')
        peer.server.resume()
        ros.next('/fix', 3)


# Somebody sends garbage.

def nonsense(generator):
    """Return a datagram that sometimes looks like a reply."""
    tag = generator.choice((b'POSI', b'RESP', b'TERR', b'CTRL', b'CONF', b'BECN', b'XXXX', b''))
    return tag + generator.randbytes(generator.choice((0, 1, 2, 27, 30, 42, 58, 200, 1400)))


def test_nonsense_from_the_peer_and_from_strangers_ends_nothing(ros, x_plane):
    peer = x_plane()
    ros.subscribe(NavSatFix, '/fix')
    node = bridged(ros, peer, datarefs=['sim/time/paused'])
    ros.next('/fix', 5)
    # The group of the beacons hears other simulators of this computer.
    with node.link.lock:
        links = [link for name, link in node.link._links.items() if name != 'beacon']
    addresses = [('127.0.0.1', link.local[1]) for link in links]
    assert len(addresses) >= 3

    def strangers():
        return sum(link.counters.strangers for link in links)

    generator = random.Random(7)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(('127.0.0.2', 0))
        for count in range(3000):
            datagram, address = nonsense(generator), generator.choice(addresses)
            if count % 3:
                peer.server.call(
                    lambda _, d=datagram, a=address: peer.frontend.endpoint.send(d, a, 0.0))
            else:
                stranger.sendto(datagram, address)
            if count % 100 == 99:
                # In step with the node, so that no socket buffer overflows.
                ros.wait_for(
                    lambda count=count: strangers() >= count // 3,
                    'the strangers to be counted')
    ros.wait_for(lambda: strangers() == 1000, 'all strangers')
    level, message, values = ros.diagnosed('link', node=node)
    assert level == DiagnosticStatus.WARN
    assert 'malformed datagrams' in message
    assert int(values['from other addresses, dropped']) >= 1000
    assert int(values['malformed POSI']) > 50
    assert int(values['malformed unknown tag']) > 50
    ros.next('/fix', 5, where=lambda fix: abs(fix.latitude - 47.4) < 0.1)
    assert node.link._thread.is_alive()
