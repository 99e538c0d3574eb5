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

"""A hundred concurrent calls of a service: each is answered, or rejected with a sentence."""

from contextlib import contextmanager

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('serial', reason='pyserial is not installed')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from simpit_peer import Plugin
from std_srvs.srv import Trigger
from xpc_peer import flying as flying_xpc

from xplane_bridge.bridges.fdmdata.node import FdmdataNode
from xplane_bridge.bridges.simpit.node import SimpitNode
from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.bridges.xplane_udp.node import XplaneUdpNode
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.fdmdata import FdmdataFrontend
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane_udp import XplaneUdpFrontend
from xplane_bridge.srv import GetDatarefs, SimpitPing

AT_ONCE = 100
NAME = 'sim/time/paused'


@contextmanager
def xpc(_):
    with flying_xpc() as peer:
        yield XpcNode, {'port': peer.port}, GetDatarefs, 'get_datarefs', {'names': [NAME]}


@contextmanager
def xplane_udp(_):
    frontend = XplaneUdpFrontend(UdpEndpoint(), 12, sender=UdpEndpoint())
    with running(frontend):
        yield (XplaneUdpNode, {'port': frontend.endpoint.address[1], 'version': '12'}, GetDatarefs,
               'get_datarefs', {'names': [NAME]})


@contextmanager
def simpit(folder):
    plugin = Plugin(folder / 'ksp', 'v2.3')
    try:
        yield (SimpitNode, {'port': plugin.path, 'channels': ['altitude']}, SimpitPing, 'ping',
               {'payload': [1, 2, 3]})
    finally:
        plugin.close()


@contextmanager
def fdmdata(_):
    frontend = FdmdataFrontend(UdpEndpoint(), UdpEndpoint(), ('127.0.0.1', 0))
    with running(frontend, make_world=lambda: World(Aircraft())):
        yield (FdmdataNode, {
            'data_port': frontend.data.address[1], 'controls_port': frontend.controls.address[1],
            'rpc_port': frontend.rpc_address[1]}, Trigger, 'reset', {})


@pytest.mark.parametrize('bridge', [xpc, xplane_udp, simpit, fdmdata], ids=lambda b: b.__name__)
def test_a_hundred_calls_at_once_are_answered_or_refused(ros, tmp_path, bridge):
    with bridge(tmp_path) as (make_node, parameters, kind, service, request):
        node = ros.start(make_node, **parameters)
        ros.wait_for(lambda: node.session.peer_state.name == 'ANSWERING', 'the first answer')
        requests = [kind.Request(**request) for _ in range(AT_ONCE)]
        for clients in (1, 5):
            responses = ros.call_at_once(kind, service, requests, clients)
            assert all(response.success or response.message for response in responses)
            assert any(response.success for response in responses)
