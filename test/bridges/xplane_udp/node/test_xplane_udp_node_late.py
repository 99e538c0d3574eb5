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

"""xplane_udp_node and the simulated X-Plane, over a link that delays and doubles datagrams."""

from contextlib import contextmanager
import signal
import threading

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='JSBSim is not installed')

from diagnostic_msgs.msg import DiagnosticStatus
from kept_ports import kept_endpoint
from masked import masked
from relay import UdpRelay
from std_srvs.srv import SetBool

from harness import free_port, process
from xplane_bridge.msg import FlightControls
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.xplane_udp import XplaneUdpFrontend

# RREF number of the running time, the first one of a report.
OF_REPORT = b'RREF,' + (500).to_bytes(4, 'little')


@contextmanager
def node_over_a_relay():
    """Run the simulated X-Plane 12, and the node's process behind a relay; yield all three."""
    frontend = XplaneUdpFrontend(kept_endpoint(), 12, sender=kept_endpoint())
    with running(frontend) as server, \
            UdpRelay('xplane_udp', frontend.endpoint.address) as relay, \
            process(
                'xplane_udp_node', '--ros-args', '-p', f'port:={relay.port}',
                '-p', f'data_port:={free_port()}', '-p', 'version:="12"') as child:
        yield server, relay, child


class Once:
    """Gives delays to the next datagram that is chosen; ``arrived`` is set when none is late."""

    def __init__(self, *delays, where):
        self._delays, self._where = delays, where
        self.chosen = threading.Event()

    def __call__(self, data, to_node):
        """Return after how many seconds the copies of this one arrive."""
        if self.chosen.is_set() or not self._where(data, to_node):
            return (0.0,)
        self.chosen.set()
        return self._delays


def is_report(data, to_node):
    return to_node and data.startswith(OF_REPORT)


def overridden(server):
    return server.call(lambda world: world.overrides['override_joystick'])


def steered(ros, server):
    """Command the elevator, and wait until it is centred as no more commands come."""
    def elevator():
        return server.call(lambda world: world.aircraft.property_value('fcs/elevator-cmd-norm'))

    commands = ros.publisher(FlightControls, 'command/controls')
    ros.diagnosed('peer', lambda level, message, values: level == DiagnosticStatus.OK)
    ros.wait_for(lambda: commands.publish(masked(FlightControls, elevator=0.4)) or (
        overridden(server) and elevator()), 'the override')
    ros.wait_for(lambda: elevator() == 0.0, 'neutral')
    taken(ros)


def taken(ros):
    """Check that diagnostics say what is taken, and that nothing contradicts it."""
    _, _, values = ros.diagnosed('peer')
    assert values['taken from the user'] == 'elevator, joystick'
    _, message, _ = ros.diagnosed('commands')
    assert message == 'commands stopped arriving'


def test_late_reports_in_neutral_leave_nobody_without_a_stick(ros):
    with node_over_a_relay() as (server, relay, child):
        steered(ros, server)
        for delays in ((0.25,), (0.0, 0.4)):
            relay.carries = Once(*delays, where=is_report)
            assert relay.carries.chosen.wait(30.0)
            # Twice: the first may have been made before it arrived.
            taken(ros)
            taken(ros)
        relay.carries = Once(0.25, where=is_report)
        assert relay.carries.chosen.wait(30.0)
        response = ros.call(SetBool, 'pause', SetBool.Request(data=True))
        assert (response.success, response.message) == (True, 'X-Plane shows it')
        child.send_signal(signal.SIGINT)
        assert child.wait(60.0) == 0
        assert overridden(server) == 0
        assert not server.call(lambda world: world.paused)


def test_a_late_copy_of_a_command_overrides_nobody_after_the_end(ros):
    with node_over_a_relay() as (server, relay, child):
        relay.carries = lambda data, to_node: (
            (0.0, 2.0) if not to_node and data.startswith(b'DREF') else (0.0,))
        commands = ros.publisher(FlightControls, 'command/controls')
        ros.diagnosed('peer', lambda level, message, values: level == DiagnosticStatus.OK)
        ros.wait_for(lambda: commands.publish(masked(FlightControls, elevator=0.4)) or (
            overridden(server)), 'the override')
        child.send_signal(signal.SIGINT)
        assert child.wait(60.0) == 0
        assert overridden(server) == 0
        assert server.call(
            lambda world: world.aircraft.property_value('fcs/elevator-cmd-norm')) == 0.0
