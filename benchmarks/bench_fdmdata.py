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
Cost and performance of fdmdata_node, each figure beside its limit, measured alternately.

The peer answers immediately, as Huginn does, with canned replies, from a thread of this process;
nodes and bare rclpy run in separate processes. Figures: latency, commands, load, requests; all, or
those named on the command line.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import Any

from bench_xpc import (
    BARE,
    COMPARED,
    compared,
    latencies_us,
    NAMESPACE,
    QOS,
    round_seconds,
    ROUNDS,
    topic,
    wait,
)
import numpy as np
from peers import ELEVATOR_STEP
from processes import cpu_seconds, executable, memory_mb, parameters, Peer
from shortest import usual
from tables import Goals, show

from xplane_bridge.bridges.fdmdata.protocol import Command
from xplane_bridge.bridges.fdmdata.session import CONTROLS_CHANNEL, FdmdataSession, PollEntry
from xplane_bridge.bridges.links.loop import UdpLoop
from xplane_bridge.bridges.links.udp import UdpSocket

# Goals.
CPU_RATIO = 1.8
MEMORY_RATIO = 1.5
SHARE_OF_RATE = 0.98

RATES = usual((50, 100, 500), (50,))
COMMAND_RATES = usual((50, 100, 500), (50,))
# Polls of all eight sensors per second: an eighth of the requests.
POLL_RATES = usual((60, 250, 500), (60,))
TOPICS = ('fix', 'imu/data', 'odom', 'air_data')
# What the default rates make of fifty turns a second.
GROUPS = (('imu/data', 'fix', 'odom'), ('imu/data', 'air_data'), ('imu/data', 'fix', 'odom'),
          ('imu/data',), ('imu/data',))

_COUNTS = (5, 3, 3, 3, 1, 1, 1, 7)
_ALTITUDE_AT = 10
_ELEVATOR_AT = 4
_FLOAT = struct.Struct('>f')


class Huginn:
    """
    Answer each request at once; the GPS altitude is the reply's serial number.

    The elevator of controls is recorded on arrival.
    """

    def __init__(self) -> None:
        self.data = UdpSocket(('127.0.0.1', 0))
        self.controls = UdpSocket(('127.0.0.1', 0))
        self.answered = 0
        self.commands: list[tuple[int, int]] = []
        self._fixes = 0
        self._replies = [
            bytearray(struct.pack(f'>BB{count}f', 0, command, *[10.0] * count))
            for command, count in enumerate(_COUNTS)]
        self._running = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> 'Huginn':
        return self

    def __exit__(self, *_: object) -> None:
        self._running = False
        self._thread.join()
        self.data.close()
        self.controls.close()

    def _run(self) -> None:
        while self._running:
            select.select([self.data, self.controls], [], [], 0.05)
            while (received := self.data.receive()) is not None:
                reply = self._replies[received.data[0]]
                if received.data[0] == Command.GPS:
                    self._fixes += 1
                    _FLOAT.pack_into(reply, _ALTITUDE_AT, self._fixes)
                elif received.data[0] == Command.GYROSCOPE:
                    # Constant data would be taken for those of a held simulation.
                    reply[-1] ^= 1
                self.data.send(bytes(reply), received.sender)
                self.answered += 1
            while (received := self.controls.receive()) is not None:
                # Positive is nose down there.
                elevator, = _FLOAT.unpack_from(received.data, _ELEVATOR_AT)
                self.commands.append((round(-elevator / ELEVATOR_STEP), received.stamp_ns))


@contextmanager
def running_node(peer: Huginn, **others: Any) -> Iterator[subprocess.Popen[str]]:
    """Run fdmdata_node with the peer as its Huginn."""
    values = {
        'data_port': peer.data.local[1], 'controls_port': peer.controls.local[1],
        'undulation': 0.0, 'command_timeout': 0.0, **others}
    with executable('fdmdata_node', *parameters(NAMESPACE, values)) as process:
        yield process


def latency(goals: Goals, rounds: int = ROUNDS) -> None:
    """Measure the time from the kernel's receipt of a reply to its fix in another process."""
    rows = []
    fix, bare_fix = topic('fix'), topic('fix', namespace=BARE)
    with Peer('publisher') as publisher, Peer('subscriber') as subscriber:
        subscriber.ask('open', topics={fix: 'fix', bare_fix: 'fix'})
        publisher.ask('open', topics={bare_fix: 'fix'})
        for rate in RATES:
            seconds = round_seconds(rate)
            bridge, bare = [], []
            with Huginn() as peer, running_node(peer, gps_rate=float(rate)):
                wait(subscriber, fix)
                for _ in range(rounds):
                    subscriber.ask('report')
                    time.sleep(seconds)
                    bridge.append(latencies_us(subscriber.ask('report')[fix]))
                    publisher.ask('publish', groups=[[bare_fix]], rate=rate, seconds=seconds)
                    bare.append(latencies_us(subscriber.ask('report')[bare_fix]))
            # What the node sent last is not the next one's.
            subscriber.ask('report')
            rows.append(compared(f'{rate}/s', rate, bridge, bare, goals))
    show(
        'Reply (kernel receive time) to subscriber of another process: fix, beside a bare rclpy '
        f'hop of the same message\n({QOS}; in turn, {rounds} times; the node '
        'works on while the bare hop is measured)', ('updates', *COMPARED), rows)


def commands(goals: Goals, rounds: int = ROUNDS) -> None:
    """Measure the time from a command's publication to its datagram."""
    rows = []
    command, bare_command = topic('command/controls'), topic('controls', namespace=BARE)
    with (
        Huginn() as peer, Peer('publisher') as publisher, Peer('subscriber') as subscriber,
        running_node(peer),
    ):
        subscriber.ask('open', topics={bare_command: 'controls'}, depth=1)
        publisher.ask(
            'open', topics={command: 'controls', bare_command: 'controls'}, depth=1)
        for rate in COMMAND_RATES:
            seconds = round_seconds(rate)
            bridge, bare = [], []
            sent = received = 0
            for _ in range(rounds):
                subscriber.ask('report')
                publisher.ask('publish', groups=[[bare_command]], rate=rate, seconds=seconds)
                bare.append(latencies_us(subscriber.ask('report')[bare_command]))
                peer.commands.clear()
                stamps = dict(publisher.ask(
                    'publish', groups=[[command]], rate=rate, seconds=seconds))
                time.sleep(0.1)
                arrivals = peer.commands[:]
                bridge.append(np.array([
                    arrival - stamps[serial] for serial, arrival in arrivals
                    if serial in stamps]) / 1e3)
                sent += len(stamps)
                received += len(arrivals)
            rows.append([
                *compared(f'{rate}/s', rate, bridge, bare, goals), sent, sent - received])
    show(
        'command/controls (stamp at publish) to controls datagram (kernel receive time at the '
        'peer), beside a bare rclpy hop\nof the same message (reliable, keep last 1, both ends)',
        ('commands', *COMPARED, 'sent', 'lost'), rows)


def load(goals: Goals, seconds: float = usual(4.0, 0.5)) -> None:
    """Measure CPU time and memory at the default rates, common topics subscribed."""
    kinds = {topic(name): name for name in TOPICS}
    bare = {topic(name, namespace=BARE): name for name in TOPICS}
    with (
        Huginn() as peer, Peer('subscriber') as subscriber, running_node(peer) as node,
    ):
        subscriber.ask('open', topics=kinds | bare)
        wait(subscriber, *kinds)
        subscriber.ask('report')
        answered = peer.answered
        before, begin = cpu_seconds(node.pid), time.monotonic()
        time.sleep(seconds)
        length = time.monotonic() - begin
        cpu = 100.0 * (cpu_seconds(node.pid) - before) / length
        report = subscriber.ask('report')
        memory = memory_mb(node.pid)
        rows: list[list[object]] = [[
            'fdmdata_node', f'{(peer.answered - answered) / length:.0f}',
            *(f'{len(report[name]) / length:.1f}' for name in kinds), f'{cpu:.1f}', '', '',
            f'{memory:.0f}', '', '']]
    with Peer('subscriber') as subscriber, Peer('publisher') as publisher:
        subscriber.ask('open', topics=bare)
        publisher.ask('open', topics=bare)
        before, begin = cpu_seconds(publisher.process.pid), time.monotonic()
        publisher.ask('publish', groups=[
            [topic(name, namespace=BARE) for name in group] for group in GROUPS], rate=50.0,
            seconds=seconds)
        length = time.monotonic() - begin
        loop = 100.0 * (cpu_seconds(publisher.process.pid) - before) / length
        bare_memory = memory_mb(publisher.process.pid)
        report = subscriber.ask('report')
    rows.append([
        'plain loop', '', *(f'{len(report[name]) / length:.1f}' for name in bare), f'{loop:.1f}',
        f'{cpu / loop:.2f}', goals.at_most(cpu / loop, CPU_RATIO), f'{bare_memory:.0f}',
        f'{memory / bare_memory:.2f}', goals.at_most(memory / bare_memory, MEMORY_RATIO)])
    show(
        'Load at the default rates, with a subscriber of these topics in another process '
        f'({QOS}; plain loop: the same messages)',
        ('process', 'requests/s', *(f'{name}/s' for name in TOPICS), '% of a core',
         'fdmdata_node / this', f'goal <= {CPU_RATIO:g}', 'RSS MB', 'fdmdata_node / this, RSS',
         f'goal <= {MEMORY_RATIO:g}'), rows)


def requests(goals: Goals, seconds: float = usual(2.0, 0.3)) -> None:
    """Measure how many requests per second the session achieves, and what a bare loop does."""
    rows = []
    with Huginn() as peer:
        for rate in POLL_RATES:
            rows.append(_session_requests(peer, rate, seconds, goals))
        rows.append(_bare_requests(peer, seconds))
    show(
        f'Requests to all {len(_COUNTS)} sensors by the session, without ROS, and one after the '
        'other by a bare socket\n(peer in the same process)',
        ('polls', 'requests/s', 'sent', 'answered', 'lost', 'polls/s', 'of asked',
         f'goal >= {SHARE_OF_RATE:g}', '% of a core, with the peer'), rows)


def _session_requests(peer: Huginn, rate: float, seconds: float, goals: Goals) -> list[object]:
    session = FdmdataSession()

    def open_channel(channel: str) -> UdpSocket:
        link = peer.controls if channel == CONTROLS_CHANNEL else peer.data
        return UdpSocket(peer=link.local, sender='127.0.0.1')

    link = UdpLoop(session, open_channel, lambda *_: None, lambda error: None)
    link.start()
    try:
        link.call(session.set_plan, {'all': PollEntry(tuple(Command), float(rate))})
        link.call(session.start)
        begin, cpu = time.monotonic(), time.process_time()
        time.sleep(seconds)
        length = time.monotonic() - begin
        cpu = 100.0 * (time.process_time() - cpu) / length
        with link.lock:
            statistics = session.statistics
            sent, replies, lost = statistics.requests, statistics.replies, statistics.lost
            polls = statistics.updates['all'] / length
    finally:
        link.close()
    return [
        f'{rate}/s', f'{replies / length:.0f}', sent, replies, lost, f'{polls:.1f}',
        f'{polls / rate:.2f}', goals.at_least(polls / rate, SHARE_OF_RATE), f'{cpu:.0f}']


def _bare_requests(peer: Huginn, seconds: float) -> list[object]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.settimeout(1.0)
        link.connect(peer.data.local)
        count = 0
        begin, cpu = time.monotonic(), time.process_time()
        while time.monotonic() < begin + seconds:
            link.send(b'\0')
            link.recv(100)
            count += 1
        length = time.monotonic() - begin
        cpu = 100.0 * (time.process_time() - cpu) / length
    return ['bare, one by one', f'{count / length:.0f}', count, count, 0, '', '', '',
            f'{cpu:.0f}']


FIGURES = {function.__name__: function for function in (latency, commands, load, requests)}


def main(names: Sequence[str] = tuple(FIGURES)) -> int:
    """Print the figures; return 1 if a goal was missed."""
    goals = Goals()
    for name in names:
        FIGURES[name](goals)
    return int(goals.missed > 0)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:] or tuple(FIGURES)))
