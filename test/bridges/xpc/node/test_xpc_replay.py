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

"""A captured conversation with X-Plane Connect, replayed into xpc_node, yields the same topics."""

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulated aircraft needs jsbsim')

from captures import pcap
from closed_loops import BRIDGE, XpcLoop
from sensor_msgs.msg import NavSatFix

from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.node import XpcNode

PEER = ('127.0.0.1', xpc.PORT)
EPOCH = 1_700_000_000.0


class RecordedLoop(XpcLoop):
    """The conversation frame by frame, with everything on the wire recorded."""

    def __init__(self):
        super().__init__()
        self.datagrams = []
        deliver, collect = self.endpoint.deliver, self.endpoint.collect

        def recorded_deliver(data, sender, now):
            self.datagrams.append((EPOCH + now, sender, PEER, data))
            deliver(data, sender, now)

        def recorded_collect():
            replies = collect()
            self.datagrams.extend((EPOCH + self.now, PEER, to, data) for data, to in replies)
            return replies

        self.endpoint.deliver, self.endpoint.collect = recorded_deliver, recorded_collect


def test_a_capture_gives_the_positions_that_were_flown(ros, tmp_path):
    loop = RecordedLoop()
    flown = [state for _ in range(180) for state in loop.frame()]
    assert len(flown) > 80
    assert {sender[0] for _, sender, _, _ in loop.datagrams} == {BRIDGE[0]}
    path = tmp_path / 'flight.pcap'
    path.write_bytes(pcap(*loop.datagrams))
    ros.subscribe(NavSatFix, '/fix', 500)
    ros.start(XpcNode, capture_file=str(path), capture_speed=0.0, undulation=0.0)
    ros.wait_for(lambda: len(ros.messages['/fix']) >= len(flown) * 0.9, 'the flight')
    by_place = {(state.latitude_deg, state.longitude_deg): state for state in flown}
    stamps = []
    for message in ros.messages['/fix']:
        state = by_place[message.latitude, message.longitude]
        assert message.altitude == state.altitude_msl
        stamps.append(message.header.stamp.sec + message.header.stamp.nanosec * 1e-9)
    # The recorded times, not those of the replay.
    assert EPOCH < stamps[0] < EPOCH + 0.2
    assert stamps == sorted(stamps)
    assert stamps[-1] == pytest.approx(EPOCH + 3.0, abs=0.5)


def test_a_capture_that_is_none_stops_configuring_with_a_sentence(ros, tmp_path):
    path = tmp_path / 'flight.pcap'
    path.write_text('no capture')
    node = ros.start(XpcNode, capture_file=str(path))
    assert str(path) in node.failed
