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

"""Nodes under forged telemetry from another program on the simulator's own computer."""

from contextlib import contextmanager
import math

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from forger import forged, Forger, LATITUDE
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, NavSatFix

from harness import free_port
from xplane_bridge.bridges.fdmdata.node import FdmdataNode
from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.bridges.xplane_udp.node import XplaneUdpNode
from xplane_bridge.msg import AirData, DataRows
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.fdmdata import FdmdataFrontend
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.xpc import XpcFrontend
from xplane_bridge.simulation.peers.xplane_udp import XplaneUdpFrontend

WARN = b'\x01'
TOPICS = {
    'fix': NavSatFix, 'imu/data': Imu, 'odom': Odometry, 'air_data': AirData,
    'data_rows': DataRows,
}
# Copies of each forged datagram sent to each socket in each frame.
TIMES = 8
CASES = {
    'xpc': ('xpc', None, {}),
    'xplane 6': ('xplane_udp', 6, {'version': '6'}),
    'xplane 9': ('xplane_udp', 9, {'version': '9'}),
    'xplane 11': ('xplane_udp', 11, {}),
    'xplane 12': ('xplane_udp', 12, {}),
    'xplane 12 by rows': ('xplane_udp', 12, {'version': '12', 'telemetry': 'rows'}),
    'fdmdata': ('fdmdata', None, {}),
}


@contextmanager
def simulated(protocol, version, on_frame):
    """Run a simulator; yield the node for it and the node's parameters."""
    if protocol == 'xpc':
        frontend = XpcFrontend(UdpEndpoint())
    elif protocol == 'fdmdata':
        frontend = FdmdataFrontend(UdpEndpoint(), UdpEndpoint(), ('127.0.0.1', 0), False)
    else:
        data_port = free_port()
        frontend = XplaneUdpFrontend(
            UdpEndpoint(), version, sender=UdpEndpoint() if version >= 7 else None,
            data_target=('127.0.0.1', data_port) if version < 9 else None)
    with running(frontend, on_frame=on_frame):
        if protocol == 'xpc':
            yield XpcNode, {'port': frontend.endpoint.address[1]}
        elif protocol == 'fdmdata':
            yield FdmdataNode, {
                'data_port': frontend.data.address[1],
                'controls_port': frontend.controls.address[1],
                'rpc_port': frontend.rpc_address[1]}
        else:
            yield XplaneUdpNode, {
                'port': frontend.endpoint.address[1], 'data_port': data_port}


def is_forged(message):
    """Return whether a message contains forged values."""
    if isinstance(message, NavSatFix):
        return abs(message.latitude - LATITUDE) < 0.1
    if isinstance(message, Imu):
        # The forger's attitude and rates are far from those of level flight.
        return abs(message.angular_velocity.x) > 0.9
    if isinstance(message, Odometry):
        place = message.pose.pose.position
        return math.hypot(place.x, place.y) > 1e5
    if isinstance(message, DataRows):
        return any(abs(value - LATITUDE) < 1e-3 for value in message.values)
    return abs(message.true_airspeed - LATITUDE) < 1e-3


@pytest.mark.parametrize('case', CASES)
def test_forged_telemetry_is_not_published_and_does_not_displace_the_true_one(ros, case):
    protocol, version, parameters = CASES[case]
    for topic, kind in TOPICS.items():
        ros.subscribe(kind, topic)
    with Forger(forged(protocol, version), times=TIMES) as forger, \
            simulated(protocol, version, forger.shoot) as (make_node, peer):
        node = ros.start(make_node, undulation=0.0, **peer, **parameters)
        ros.next('fix', 2)
        forger.node = node
        for topic in ('fix', 'odom', 'imu/data', 'air_data'):
            ros.next(topic, 20)
        _, text, _ = ros.diagnosed(
            'link', lambda level, _, values: level == WARN and int(
                values['from other ports of that address, dropped']) > 20 * TIMES, node=node)
        address, port = forger.address
        assert text.startswith(
            f'another program is sending here and is ignored, from {address}:{port}, which is not '
            "the simulator's port: stop it")
        assert node.session.peer_state.name == 'ANSWERING'
        forger.node = None
    assert not [message for topic in TOPICS for message in ros.messages[topic]
                if is_forged(message)]


def test_x_plane_that_is_restarted_with_another_port_is_taken_again(ros):
    """Its send port is a setting; the listening port stays where it was."""
    ros.subscribe(NavSatFix, 'fix')
    listens, first, second = UdpEndpoint(), UdpEndpoint(), UdpEndpoint()
    with running(XplaneUdpFrontend(listens, 12, sender=first)):
        node = ros.start(
            XplaneUdpNode, port=listens.address[1], data_port=free_port(), undulation=0.0)
        ros.next('fix', 2)
        ros.diagnosed('link', lambda _, __, values: values['X-Plane sends from port'] == str(
            first.address[1]), node=node)
    with running(XplaneUdpFrontend(UdpEndpoint(port=listens.address[1]), 12, sender=second)):
        ros.next('fix', 2)
        ros.diagnosed('link', lambda _, __, values: values['X-Plane sends from port'] == str(
            second.address[1]), node=node)


def test_the_port_that_a_parameter_names_is_the_only_one(ros):
    """Otherwise a forger that is there before X-Plane would be mistaken for it."""
    ros.subscribe(NavSatFix, 'fix')
    sends = UdpEndpoint()
    data_port = free_port()
    with Forger(forged('xplane_udp', 8), times=TIMES) as forger, \
            running(XplaneUdpFrontend(UdpEndpoint(), 8, sender=sends, data_target=(
                '127.0.0.1', data_port)), on_frame=forger.shoot) as server:
        server.freeze()
        listens = server.simulation.frontends[0].endpoint.address[1]
        node = ros.start(XplaneUdpNode, version='8', port=listens, data_port=data_port,
                         peer_port=sends.address[1], undulation=0.0)
        forger.node = node
        forger.shoot()
        ros.wait_for(lambda: node.link.counters().other_ports, 'the forger')
        server.resume()
        ros.next('fix', 5)
        forger.node = None
    assert not [fix for fix in ros.messages['fix'] if is_forged(fix)]
