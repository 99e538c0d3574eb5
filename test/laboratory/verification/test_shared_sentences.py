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

"""Of one cause, verify says before any node runs what a node says on /diagnostics."""

import math

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from xplane_bridge.bridges.links.udp import SocketCounters
from xplane_bridge.bridges.nodes.common.datagrams import LinkReport
from xplane_bridge.laboratory.verification.reach import elsewhere


@pytest.mark.parametrize('counters', [
    SocketCounters(received=9, other_ports=4, dropped_from=('127.0.0.1', 6), dropped_at=math.inf),
    SocketCounters(strangers=4, stranger=('127.0.0.2', 6)),
    SocketCounters(received=9, kernel_drops=4), SocketCounters(strangers=9, kernel_drops=4)])
def test_a_node_says_of_a_cause_what_verify_says(counters):
    found, = elsewhere(counters)
    assert LinkReport().status(counters, {}, '').message == found.sentence
