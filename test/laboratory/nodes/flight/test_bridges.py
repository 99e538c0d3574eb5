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

"""What launch files and flights give a bridge is accepted by it."""

from importlib import import_module

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from xplane_bridge.bridges.links.unused_ports import free_ports
from xplane_bridge.laboratory.nodes.flight.bridges import bridge_parameters, kept_by_bridge
from xplane_bridge.simulation.peers.registry import SIMULATORS


@pytest.mark.parametrize('simulated', [False, True])
@pytest.mark.parametrize('sim', ['xpc', 'xplane12', 'fdmdata'])
def test_a_bridge_that_is_recorded_publishes_all_that_it_is_to_keep(ros, sim, simulated):
    simulator = SIMULATORS[sim]
    protocol = simulator.protocol.name
    make = getattr(import_module(f'xplane_bridge.bridges.{protocol}.node.node'),
                   f'{protocol.title().replace("_", "")}Node')
    port = free_ports(3)
    node = ros.start(make, activate=False, namespace='/uav1', **bridge_parameters(
        simulator, '127.0.0.1', port, 1.0, simulated, False, port + 2,
    ) | kept_by_bridge(simulator, '/uav1', {}, simulated))
    assert node.failed == ''
    assert node.count_publishers('/clock') == (simulated and simulator.has_time)
