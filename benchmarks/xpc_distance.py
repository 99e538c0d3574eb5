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

"""Updates of xpc_node over a network with delay and loss, beside a blocking client."""

from collections.abc import Iterator
from contextlib import contextmanager, ExitStack
from pathlib import Path
import socket
import subprocess
import sys
import threading
import time
from typing import Any, NamedTuple

from processes import executable, parameters, Peer
from tables import Goals, show
from xpc_frames import BlockingClient, PolledStates, port_of, same_frame, simulator

from xplane_bridge.conversions.xplane import state as xplane
from xplane_bridge.protocols import xpc

RELAY = Path(__file__).parent / 'relay.py'
FRAME_RATE = 60.0
TOPIC = '/bench/fix'
# NASA's client waits 0.1 s for a reply, which is too short for most of these networks.
PATIENCE = 0.1
ROUND_TRIPS = 3.0


class Network(NamedTuple):
    """A network, what is asked of it, the goal, and how long the node takes to know it."""

    name: str
    delay: float
    jitter: float
    loss: float
    rate: float
    goal: float
    settling: float


NETWORKS = (
    Network('40 ms, 2 % loss each way', 0.0195, 0.001, 0.02, 0.0, 55.0, 5.0),
    Network('240 ms', 0.120, 0.002, 0.0, 50.0, 48.0, 6.0),
    Network('600 ms', 0.300, 0.002, 0.0, 50.0, 48.0, 12.0),
)


@contextmanager
def relayed(port: int, network: Network) -> Iterator[int]:
    """Run the relay to a port; yield the port to send to."""
    process = subprocess.Popen(
        [sys.executable, str(RELAY), str(port), str(network.delay), str(network.jitter),
         str(network.loss)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin
    assert process.stdout
    try:
        yield int(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


class PositionAndDatarefs(BlockingClient):
    """The loop of NASA's examples: getPOSI and getDREFs, one after the other."""

    def __init__(self, port: int, patience: float) -> None:
        super().__init__(port, 2)
        self._patience = patience
        self._requests = [
            xpc.encode(xpc.GetPosition()),
            xpc.encode(xpc.GetDatarefs((xplane.TIME, *xplane.OWN_PLACE)))]
        self.updates = 0

    def run(self, seconds: float) -> None:
        """Ask for states, one call after the other, for a while."""
        end = time.monotonic() + seconds
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
            link.settimeout(self._patience)
            link.connect(('127.0.0.1', self._port))
            while time.monotonic() < end:
                try:
                    for request in self._requests:
                        self._call(link, request)
                except TimeoutError:
                    self.timeouts += 1
                    continue
                self.updates += 1


def distance(goals: Goals, seconds: float = 5.0) -> None:
    """Measure updates per second over networks, all clients at the same time."""
    rows: list[list[object]] = []
    for network in NETWORKS:
        with ExitStack() as stack:
            port = stack.enter_context(relayed(
                port_of(stack.enter_context(simulator(FRAME_RATE))), network))
            values: dict[str, Any] = {'port': port, 'rate': network.rate, 'undulation': 0.0}
            stack.enter_context(executable('xpc_node', *parameters('/bench', values)))
            states = stack.enter_context(PolledStates(port, network.rate))
            subscriber = stack.enter_context(Peer('subscriber'))
            subscriber.ask('open', topics={TOPIC: 'fix'})
            if not subscriber.ask('wait', topic=TOPIC):
                raise RuntimeError(f'nothing came on {TOPIC}')
            time.sleep(network.settling)
            loop = PositionAndDatarefs(port, max(PATIENCE, 2.0 * ROUND_TRIPS * network.delay))
            subscriber.ask('report')
            first = len(states.updates)
            begin = time.monotonic()
            client = threading.Thread(target=loop.run, args=(seconds,))
            client.start()
            client.join()
            updates = len(subscriber.ask('report')[TOPIC])
            seen = states.updates[first:]
            length = time.monotonic() - begin
            whole = sum(map(same_frame, seen))
        rate = updates / length
        asked = f'{network.rate:g}' if network.rate else f'each of {FRAME_RATE:g}'
        rows.append([
            f'{network.name}, xpc_node', asked, f'{rate:.1f}',
            f'{network.goal:g} {goals.at_least(rate, network.goal)}',
            f'{whole} of {len(seen)}', ''])
        rows.append([
            f'{network.name}, one call after the other', 'all it can',
            f'{loop.updates / length:.1f}', '', '', loop.timeouts])
    show(
        f'fix over a network (round trip; a relay with delay and loss), from the simulator at '
        f"{FRAME_RATE:g} frames/s, beside the\nloop of NASA's examples: getPOSI and getDREFs, "
        f'with a time-out of {PATIENCE:g} s as theirs, or three round trips if that is more',
        ('network and client', 'asked', 'updates/s', 'goal', 'of one frame', 'timeouts'),
        rows)
