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

"""
Nodes in a flood of mutants from the peer's own port and from strangers, beside a simulator.

The node survives, its telemetry continues, and its log, diagnostics, topics and memory stay
bounded. relay.py adds the mutants; test_session_fuzz.py does the same for sessions without
sockets.
"""

from contextlib import contextmanager
import gc
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('serial', reason='pyserial is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from fuzz import held, is_fit_for_people, SEED
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Log
from rclpy.qos import QoSProfile
from relay import PtyRelay, UdpRelay

from harness import free_port
from xplane_bridge.bridges.fdmdata.node import FdmdataNode
from xplane_bridge.bridges.simpit.node import SimpitNode
from xplane_bridge.bridges.ulyssix.node import UlyssixNode
from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.bridges.xplane_udp.node import XplaneUdpNode
from xplane_bridge.msg import SimpitAltitude, UlyssixPacket
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.fdmdata import FdmdataFrontend
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.simpit import SimpitFrontend
from xplane_bridge.simulation.peers.ulyssix import UlyssixFrontend
from xplane_bridge.simulation.peers.xpc import XpcFrontend
from xplane_bridge.simulation.peers.xplane_udp import XplaneUdpFrontend

# Mutants per second, and how many arrive before and after memory is first measured.
RATE = 2000
WARM_UP, FLOOD = 1500, 3000
MOST_STATUSES, MOST_VALUES = 20, 64
LONGEST_TEXT = 1100


@contextmanager
def xpc(seed, folder):
    """Fly X-Plane with the plugin."""
    frontend = XpcFrontend(UdpEndpoint())
    with running(frontend), UdpRelay('xpc', frontend.endpoint.address, seed=seed) as relay:
        yield relay, XpcNode, {'port': relay.port}, ('odom', Odometry)


@contextmanager
def xplane_udp(seed, folder):
    """Fly X-Plane 12."""
    frontend = XplaneUdpFrontend(UdpEndpoint(), 12, sender=UdpEndpoint())
    with running(frontend), UdpRelay('xplane_udp', frontend.endpoint.address, seed=seed) as relay:
        yield relay, XplaneUdpNode, {'port': relay.port, 'data_port': free_port()}, (
            'odom', Odometry)


@contextmanager
def fdmdata(seed, folder):
    """Fly Huginn."""
    frontend = FdmdataFrontend(UdpEndpoint(), UdpEndpoint(), ('127.0.0.1', 0))
    with running(frontend), UdpRelay('fdmdata', frontend.data.address, seed=seed) as relay:
        yield relay, FdmdataNode, {
            'data_port': relay.port, 'controls_port': frontend.controls.address[1]}, (
                'odom', Odometry)


@contextmanager
def ulyssix(seed, folder):
    """Publish packets of an aircraft."""
    port = free_port()
    with UdpRelay('ulyssix', ('127.0.0.1', port), towards_node=True, seed=seed) as relay, \
            running(UlyssixFrontend(UdpEndpoint(), ('127.0.0.1', relay.port))):
        yield relay, UlyssixNode, {
            'port': port, 'sender': '127.0.0.1', 'sample_topics': ['*']}, (
            'packets', UlyssixPacket)


@contextmanager
def simpit(seed, folder):
    """Fly Kerbal Space Program."""
    far, near = folder / 'far', folder / 'near'
    with running(SimpitFrontend(ports=[f'pty:{far}'])), \
            PtyRelay('simpit', far, near, seed=seed) as relay:
        yield relay, SimpitNode, {'port': str(near)}, ('altitude', SimpitAltitude)


@pytest.mark.parametrize('fly', [xpc, xplane_udp, fdmdata, ulyssix, simpit])
def test_a_node_in_a_flood_flies_on_within_its_bounds(ros, fly, tmp_path):
    with fly(SEED, tmp_path) as (relay, make_node, parameters, (topic, kind)):
        began = time.monotonic()
        ros.subscribe(Log, '/rosout', QoSProfile(depth=1000))
        ros.subscribe(kind, f'/{topic}')
        node = ros.start(make_node, **parameters)
        ros.next(f'/{topic}', 3)
        topics = len(node.get_publisher_names_and_types_by_node(node.get_name(), '/'))
        relay.mutants, relay.strangers = RATE, RATE / 4
        ros.wait_for(lambda: relay.added > WARM_UP, 'some mutants')
        ros.next(f'/{topic}', 3)
        objects, (elements, size) = look(ros, node)
        ros.wait_for(lambda: relay.added > WARM_UP + FLOOD, 'more mutants')
        ros.next(f'/{topic}', 3)
        relay.mutants = relay.strangers = 0.0
        ros.next(f'/{topic}', 3)
        ros.diagnosed('link', node=node)
        check_diagnostics(ros)
        more_objects, (more, larger) = look(ros, node)
        lines = [line for line in ros.messages['/rosout'] if line.name == node.get_name()]
        more_topics = len(node.get_publisher_names_and_types_by_node(node.get_name(), '/'))
        assert more <= elements + 1000, f'{elements} elements in the session became {more}'
        assert larger <= size + 200_000, f'{size} bytes in the session became {larger}'
        # The log lines themselves are kept here.
        allowed = objects + 1500 + 10 * len(ros.messages['/rosout'])
        assert more_objects <= allowed, f'{objects} objects became {more_objects}'
        assert more_topics <= topics + 100
        assert len(lines) <= 20 + 11 * (time.monotonic() - began)
        for line in lines:
            assert is_fit_for_people(line.msg, LONGEST_TEXT), repr(line.msg)
            assert 'Traceback' not in line.msg


def look(ros, node):
    """Return the total number of objects, and what the node's session holds."""
    with node.link.lock:
        session = held(node.session)
    with ros.changed:
        for topic, messages in ros.messages.items():
            if topic != '/rosout':
                messages.clear()
    gc.collect()
    return len(gc.get_objects()), session


def check_diagnostics(ros):
    """Assert that there are only a few, all short and printable."""
    with ros.changed:
        arrays = list(ros.messages['/diagnostics'])
    for array in arrays:
        assert len(array.status) <= MOST_STATUSES
        for status in array.status:
            assert len(status.values) <= MOST_VALUES, status
            for text in (status.name, status.message, *(
                    text for value in status.values for text in (value.key, value.value))):
                assert is_fit_for_people(text, LONGEST_TEXT), repr(text)
