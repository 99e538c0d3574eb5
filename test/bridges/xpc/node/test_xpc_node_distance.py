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

"""xpc_node over a network of 600 ms, through a relay process: polls and reads in flight."""

from contextlib import contextmanager
from pathlib import Path
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.bridges.sessions.base import PeerState
from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.srv import GetDatarefs

RELAY = Path(__file__).parents[4] / 'benchmarks' / 'relay.py'
ONE_WAY = 0.3


@contextmanager
def relayed(port):
    """Run a relay to a port; yield the port to send to."""
    with subprocess.Popen(
            [sys.executable, str(RELAY), str(port), str(ONE_WAY), '0.005', '0.0'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield int(process.stdout.readline())
        process.stdin.close()


def test_many_polls_are_in_flight_and_reads_are_answered(ros, x_plane):
    peer = x_plane()
    with relayed(peer.port) as port:
        node = ros.start(XpcNode, port=port, rate=50.0)
        statistics = node.session.statistics
        ros.wait_for(lambda: node.session.peer_state is PeerState.ANSWERING, 'the first answer')
        # Two datagrams each: far more than the one poll that waits for its replies.
        ros.wait_for(
            lambda: statistics.requests - statistics.replies - statistics.lost >= 20,
            'ten polls in flight')
        response = ros.call(GetDatarefs, '/get_datarefs', GetDatarefs.Request(
            names=['sim/time/paused', 'sim/no/such']))
        assert (response.success, response.message) == (True, 'unknown datarefs: sim/no/such')
        assert list(response.values) == [0.0]
        before = statistics.updates[0]
        ros.wait_for(lambda: statistics.updates[0] > before + 20, 'updates')
        assert node.session.round_trip > 2.0 * ONE_WAY
        assert node.session.peer_state is PeerState.ANSWERING
