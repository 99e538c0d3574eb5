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

from processes import end, executable, parameters, Peer
from shortest import usual
from tables import Goals, show
from xpc_frames import BlockingClient, PolledStates, port_of, same_frame, simulator

from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.xpc import protocol as xpc

RELAY = Path(__file__).parent / 'relay.py'
FRAME_RATE = 60.0
# How long a session takes to know the slowest of these networks.
SETTLING = usual(12.0, 1.0)
# NASA's client waits 0.1 s for a reply, which is too short for most of these networks.
PATIENCE = 0.1
ROUND_TRIPS = 3.0


class Network(NamedTuple):
    """A network, what is asked of it (0 for each frame), and what share of it is the goal."""

    name: str
    delay: float
    jitter: float
    loss: float
    rate: float
    goal: float


NETWORKS = (
    Network('40 ms, 2 % loss each way', 0.0195, 0.001, 0.02, 0.0, 0.9),
    Network('240 ms', 0.120, 0.002, 0.0, 50.0, 0.95),
    Network('600 ms', 0.300, 0.002, 0.0, 50.0, 0.95),
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
        end(process)
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


class Client(NamedTuple):
    """What runs over one network: our node and session, and the blocking loop."""

    network: Network
    subscriber: Peer
    states: PolledStates
    loop: PositionAndDatarefs


def connected(network: Network, stack: ExitStack) -> Client:
    """Return clients of a simulator of their own behind a network, all of them at work."""
    port = stack.enter_context(relayed(
        port_of(stack.enter_context(simulator(FRAME_RATE))), network))
    topic = f'/bench{NETWORKS.index(network)}'
    values: dict[str, Any] = {'port': port, 'rate': network.rate, 'undulation': 0.0}
    stack.enter_context(executable('xpc_node', *parameters(topic, values)))
    states = stack.enter_context(PolledStates(port, network.rate))
    subscriber = stack.enter_context(Peer('subscriber'))
    subscriber.ask('open', topics={f'{topic}/fix': 'fix'})
    if not subscriber.ask('wait', topic=f'{topic}/fix'):
        raise RuntimeError(f'nothing came on {topic}/fix')
    return Client(network, subscriber, states, PositionAndDatarefs(
        port, max(PATIENCE, 2.0 * ROUND_TRIPS * network.delay)))


def distance(goals: Goals, seconds: float = usual(5.0, 0.3)) -> None:
    """Measure updates per second over networks, of all clients at the same time."""
    rows: list[list[object]] = []
    with ExitStack() as stack:
        clients = [connected(network, stack) for network in usual(NETWORKS, NETWORKS[:1])]
        time.sleep(SETTLING)
        for client in clients:
            client.subscriber.ask('report')
        firsts = [len(client.states.updates) for client in clients]
        begin = time.monotonic()
        threads = [threading.Thread(target=client.loop.run, args=(seconds,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        reports = [client.subscriber.ask('report') for client in clients]
        length = time.monotonic() - begin
        seen = [client.states.updates[first:]
                for client, first in zip(clients, firsts, strict=True)]
    for client, report, states in zip(clients, reports, seen, strict=True):
        network, loop = client.network, client.loop
        rate = sum(map(len, report.values())) / length
        share = rate / (network.rate or FRAME_RATE)
        asked = f'{network.rate:g}' if network.rate else f'each of {FRAME_RATE:g}'
        rows.append([
            f'{network.name}, xpc_node', asked, f'{rate:.1f}', f'{share:.2f}',
            f'>= {network.goal:g} {goals.at_least(share, network.goal)}',
            f'{sum(map(same_frame, states))} of {len(states)}', ''])
        rows.append([
            f'{network.name}, one call after the other', 'all it can',
            f'{loop.updates / length:.1f}', '', '', '', loop.timeouts])
    show(
        f'fix over a network (round trip; a relay with delay and loss), from the simulator at '
        f"{FRAME_RATE:g} frames/s, beside the\nloop of NASA's examples: getPOSI and getDREFs, "
        f'with a time-out of {PATIENCE:g} s as theirs, or three round trips if that is more',
        ('network and client', 'asked', 'updates/s', 'of asked', 'goal', 'of one frame',
         'timeouts'),
        rows)
