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

"""A node calls what docs/explanation/architecture.md says, in this order, for both ways."""

from pathlib import Path
import re
import threading

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from sensor_msgs.msg import Imu

from xplane_bridge.bridges.fdmdata.node import FdmdataNode
from xplane_bridge.bridges.sessions.base import PeerState
from xplane_bridge.msg import FlightControls
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.fdmdata import FdmdataFrontend
from xplane_bridge.simulation.peers.server import running

ROOT = Path(__file__).resolve().parents[2]
DATAGRAM, COMMAND = 'The way of a datagram', 'The way of a command'


def way(title):
    """Return the functions of a way, as file:name."""
    page = (ROOT / 'docs/explanation/architecture.md').read_text(encoding='utf-8')
    section = page.partition(f'\n## {title}\n')[2].partition('\n## ')[0]
    steps = [re.findall(r'`(\S+\.py:[\w.]+)`', row)
             for row in section.splitlines() if re.match(r'\| \d+ \|', row)]
    assert all(steps)
    return [name for names in steps for name in names]


@pytest.fixture
def called():
    """Return the calls of the package that threads make which are started meanwhile, by thread."""
    calls = {}

    def note(frame, event, _):
        # From the source tree, or from an install space.
        _, package, file = frame.f_code.co_filename.rpartition('/xplane_bridge/')
        if event == 'call' and package:
            calls.setdefault(threading.get_ident(), []).append(
                f'{file}:{frame.f_code.co_qualname}')

    threading.setprofile(note)
    yield calls
    threading.setprofile(None)


def is_of(call, name):
    """Return whether a call is one of a function or of what is in it, or of a class."""
    return call == name or call.startswith(f'{name}.')


def follows(calls, first, last):
    """Return the calls up to the first of ``last``, from the last of ``first`` before it."""
    end = next((n for n, call in enumerate(calls) if is_of(call, last)), None)
    if end is None:
        return None
    begin = max((n for n in range(end) if is_of(calls[n], first)), default=None)
    return None if begin is None else calls[begin:end + 1]


def test_both_ways_are_those_of_the_page(ros, called):
    frontend = FdmdataFrontend(UdpEndpoint(), UdpEndpoint())
    with running(frontend):
        ros.subscribe(Imu, 'imu/data')
        node = ros.start(
            FdmdataNode, data_port=frontend.data.address[1],
            controls_port=frontend.controls.address[1])
        ros.wait_for(lambda: node.session.peer_state is PeerState.ANSWERING, 'an answer')
        ros.next('imu/data', 3)
        command = FlightControls(fields=15, throttle=0.5)
        publisher = ros.publisher(FlightControls, 'command/controls')
        for title in DATAGRAM, COMMAND:
            steps = way(title)
            # Before it a datagram is received, which may be one of many.
            first = steps[1] if title == DATAGRAM else steps[0]

            def found(steps=steps, first=first):
                publisher.publish(command)
                return any(follows([*calls], first, steps[-1]) for calls in [*called.values()])

            ros.wait_for(found, title)
            taken = next(filter(None, (
                follows([*calls], first, steps[-1]) for calls in [*called.values()])))
            for step in steps[steps.index(first):]:
                assert any(is_of(call, step) for call in taken), f'{title}: {step} is not called'
                taken = taken[next(n for n, call in enumerate(taken) if is_of(call, step)):]
