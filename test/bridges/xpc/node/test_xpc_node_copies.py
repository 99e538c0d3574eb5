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

"""xpc_node behind a network that doubles and delays, and with an X-Plane that stands still."""

import signal
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from relay import UdpRelay
from std_srvs.srv import Trigger
from xpc_peer import bridged, controls, given_back, node_process, take_everything

from xplane_bridge.msg import FlightControls, Traffic

TAKING = ('-p', 'override_joystick:=true', '-p', 'command_timeout:=0.0')
ELEVATOR = 'fcs/elevator-cmd-norm'


@pytest.fixture
def relayed(x_plane):
    peer = x_plane()
    with UdpRelay('xpc', ('127.0.0.1', peer.port)) as relay:
        yield peer, relay


def wait(ros, seconds, what):
    """Wait until a time has passed: what comes later shall be that old."""
    at = time.monotonic() + seconds
    ros.wait_for(lambda: time.monotonic() >= at, what)


def test_old_replies_that_come_again_leave_nothing_taken(ros, relayed):
    peer, relay = relayed
    with node_process(relay.port, *TAKING) as child:
        take_everything(ros, peer)
        for count, seconds in ((40, 2.0), (20, 0.7)):
            old = list(relay.replies)[-count:]
            wait(ros, seconds, 'the replies to be old')
            relay.old_replies = old
            # What comes again makes the node use other sockets, which the rest does not reach.
            ros.wait_for(lambda: len(relay.old_replies) < count, 'one to come')  # noqa: B023
            ros.next('/fix', 10)
        assert not given_back(peer)
        child.send_signal(signal.SIGINT)
        assert child.wait(60.0) == 0
        assert 'another X-Plane' not in child.stdout.read()
    assert given_back(peer)


def test_a_command_that_comes_again_after_the_node_was_told_to_end(ros, relayed):
    peer, relay = relayed
    with node_process(relay.port, *TAKING) as child:
        take_everything(ros, peer)
        child.send_signal(signal.SIGINT)
        ros.wait_for(lambda: given_back(peer), 'all to be given back')
        wait(ros, 0.6, 'the copy to be late')
        for tag in (b'CTRL', b'SIMU'):
            relay.send_again(tag)
        ros.wait_for(lambda: not given_back(peer), 'the copies to be read')
        assert child.wait(60.0) == 0
    assert given_back(peer)


def test_a_command_that_comes_again_after_the_neutral(ros, relayed):
    peer, relay = relayed
    node = bridged(ros, peer, port=relay.port, command_timeout=0.2)
    ros.publisher(FlightControls, '/command/controls').publish(controls(elevator=0.4))
    ros.wait_for(lambda: peer.jsbsim(ELEVATOR) == pytest.approx(-0.4), 'the elevator')
    ros.wait_for(
        lambda: peer.jsbsim(ELEVATOR) == 0.0 and not node.session.unconfirmed, 'the neutral')
    wait(ros, 2.0, 'the copy to be late')
    read = peer.received
    relay.send_again(b'CTRL')
    ros.wait_for(lambda: peer.received > read and peer.jsbsim(ELEVATOR) == 0.0, 'it to be undone')
    ros.wait_for(lambda: 'elevator' not in node.session.unconfirmed, 'that to be shown')


def test_what_a_confirmed_release_frees_is_no_error_at_the_end(ros, x_plane):
    peer = x_plane()
    node = bridged(ros, peer, command_timeout=0.0, override_joystick=True, release_timeout=2.0)
    take_everything(ros, peer)
    peer.server.freeze()
    ros.run_in(node, node.trigger_deactivate)
    assert (node.exit_code, node.left.is_error) == (1, True)
    peer.server.resume()
    ros.wait_for(lambda: given_back(peer), 'all to be given back')
    ros.run_in(node, node.trigger_activate)
    ros.next('/fix')
    assert ros.call(Trigger, '/release_all', Trigger.Request()).success
    assert (node.exit_code, node.left.unconfirmed) == (0, ())


def test_no_traffic_is_known_while_x_plane_does_not_respond(ros, x_plane):
    peer = x_plane()
    bridged(ros, peer, aircraft=[0, 1])
    ros.subscribe(Traffic, '/traffic')
    ros.wait_for(lambda: ros.next('/traffic').targets, 'the other aircraft')
    peer.server.freeze()
    ros.wait_for(lambda: not ros.messages['/traffic'][-1].targets, 'none to be known')
    peer.server.resume()
    ros.wait_for(lambda: ros.messages['/traffic'][-1].targets, 'it to be known again')
