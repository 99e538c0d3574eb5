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
Cost and performance of the Kerbal Simpit bridge, each figure beside its limit.

Figures: decode, latency, load; all, or those named on the command line. The peer is a
pseudo-terminal in this process, filled with packets at the rate of a plugin.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
import math
import os
import select
import subprocess
import sys
import threading
import time
from timeit import timeit
import tty
from typing import Any

from bench_xpc import hop_goal, SLOW
import numpy as np
from processes import cpu_seconds, end, executable, memory_mb, parameters
from shortest import usual
from tables import Goals, show

from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import Packet, PROFILES

NAMESPACE = '/bench_simpit'
ALTITUDE = f'{NAMESPACE}/altitude'
BARE = f'{NAMESPACE}/bare'
BAUD = 115200
LINE = BAUD / 10

# Goals: a decoder of 50 lines already in use, and a loop that publishes the same.
DECODE_SHARE_OF_LINE = 20.0
CPU_RATIO = 1.8

PACKETS = usual(1000, 10)
PADDED = 32
ROUNDS = usual(10, 1)
# For the first message (s).
_PATIENCE = usual(15.0, 60.0)
_NS = 1_000_000_000


def stream(profile: str) -> bytes:
    """
    Return a thousand packets as a plugin of the profile sends them.

    They carry altitude, and orbit where the profile has it; v1 pads them.
    """
    table = PROFILES[profile]
    messages: list[simpit.SimpitMessage] = [simpit.Altitude(1234.5, 67.25)]
    if profile in ('v2', 'cobs'):
        messages.append(simpit.Orbit(0.01, 675e3, 1.5, 2.5, 3.5, 4.5, 5.5, 1950.0))
    once = b''.join(simpit.encode(message, 'peer', table) for message in messages)
    if profile == 'v1':
        once = once.ljust(PADDED, b'\0')
    return once * (PACKETS // len(messages))


def decode_all(profile: str, data: bytes, piece: int) -> int:
    """Decode a stream in pieces, payloads included; return the number of packets."""
    table = PROFILES[profile]
    decoder = simpit.make_decoder(table.framing)
    count = 0
    for begin in range(0, len(data), piece):
        for packet in decoder.feed(data[begin:begin + piece]):
            simpit.decode(packet, 'peer', table)
            count += 1
    return count


def decode(goals: Goals) -> None:
    """Measure how fast bytes are decoded, against copying them in the same pieces."""
    rows = []
    for profile in PROFILES:
        data = stream(profile)
        for piece in (len(data), 64, 1):
            def copy(data: bytes = data, piece: int = piece) -> None:
                for begin in range(0, len(data), piece):
                    bytearray(data[begin:begin + piece])

            assert decode_all(profile, data, piece) == PACKETS
            rounds = ROUNDS if piece > 1 else usual(5, 1)
            seconds = min(timeit(
                partial(decode_all, profile, data, piece), number=1) for _ in range(rounds))
            copied = min(timeit(copy, number=1) for _ in range(rounds))
            rate = len(data) / seconds
            rows.append([
                f'{profile}, {"whole" if piece == len(data) else f"{piece} bytes"} at a time',
                f'{rate / 1e6:.2f}', f'{len(data) / copied / 1e6:.2f}',
                f'{1e6 * seconds / PACKETS:.2f}', f'{rate / LINE:.0f}',
                goals.at_least(rate / LINE, DECODE_SHARE_OF_LINE)])
    show(
        'Bytes decoded, with their payloads, beside bytes copied in the same pieces',
        ('profile', 'MB/s', 'copied MB/s', 'us a packet', f'times {BAUD} baud',
         f'goal >= {DECODE_SHARE_OF_LINE:g}'), rows)


class Line:
    """The far end of a pseudo-terminal: answers the handshake, then sends what it is told to."""

    def __init__(self, profile: str) -> None:
        self._table = PROFILES[profile]
        self._master, slave = os.openpty()
        tty.setraw(slave)
        self.path = os.ttyname(slave)
        self._slave = slave
        self.registered = threading.Event()
        self._running = True
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()

    def _answer(self) -> None:
        decoder = simpit.make_decoder(self._table.framing)
        while self._running:
            if not select.select([self._master], [], [], 0.05)[0]:
                continue
            for packet in decoder.feed(os.read(self._master, 4096)):
                if packet.channel == 0 and packet.payload[0] == 0:
                    self.send(Packet(0, b'\1\x37'))
                elif packet.channel == 1:
                    self.send(Packet(2, packet.payload))
                elif packet.channel == self._table.named('bridge', 'register').id:
                    self.registered.set()

    def send(self, message: simpit.SimpitMessage | Packet) -> None:
        """Write one packet."""
        os.write(self._master, simpit.encode(message, 'peer', self._table))

    def write(self, data: bytes) -> None:
        """Write bytes."""
        os.write(self._master, data)

    def close(self) -> None:
        """Close both ends."""
        self._running = False
        self._thread.join()
        os.close(self._slave)
        os.close(self._master)


@contextmanager
def bridged(profile: str, **others: Any) -> Iterator[tuple[Line, Any]]:
    """Run simpit_node at the end of a pseudo-terminal, with altitude registered."""
    line = Line(profile)
    values = {'port': line.path, 'profile': profile, 'channels': ['altitude'], **others}
    try:
        with executable('simpit_node', *parameters(NAMESPACE, values)) as node:
            if not line.registered.wait(usual(10.0, 60.0)):
                raise RuntimeError('the node registers nothing')
            yield line, node
    finally:
        line.close()


class AltitudeSubscriber:
    """Receive altitudes in a node of this process, recording arrival times."""

    def __init__(self) -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.task import Future

        from xplane_bridge.bridges.nodes.common.spinning import spin_until
        from xplane_bridge.msg import SimpitAltitude
        rclpy.init()
        self.node = rclpy.create_node('bench_simpit')
        self.arrivals: dict[str, list[tuple[int, int]]] = {ALTITUDE: [], BARE: []}
        for topic, arrivals in self.arrivals.items():
            self.node.create_subscription(
                SimpitAltitude, topic, partial(self._take, arrivals), 10)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._stop = Future(executor=self._executor)
        self._thread = threading.Thread(
            target=spin_until, args=(self._executor, self._stop), daemon=True)
        self._thread.start()

    @staticmethod
    def _take(arrivals: list[tuple[int, int]], message: Any) -> None:
        arrivals.append((round(message.sea_level), time.time_ns()))

    def close(self) -> None:
        """Shut down."""
        import rclpy
        self._stop.set_result(None)
        self._thread.join()
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown()


# With an argument, the packet as such is published too.
BARE_PUBLISHER = f"""
import sys
import rclpy
from xplane_bridge.msg import SimpitAltitude, SimpitPacket
rclpy.init()
node = rclpy.create_node('bare')
publisher = node.create_publisher(SimpitAltitude, '{BARE}', 10)
packets = node.create_publisher(SimpitPacket, '{BARE}/packets', 10) if sys.argv[1:] else None
message, packet = SimpitAltitude(), SimpitPacket(payload=[0] * 8)
for line in sys.stdin.buffer:
    message.sea_level = float(line)
    publisher.publish(message)
    if packets is not None:
        packets.publish(packet)
"""


# Whoever asks for the messages of both: raw, so that it takes little of the machine.
SUBSCRIBER = f"""
import rclpy
from xplane_bridge.msg import SimpitAltitude, SimpitPacket
rclpy.init()
node = rclpy.create_node('asks')
topics = {{'{ALTITUDE}': SimpitAltitude, '{NAMESPACE}/packets': SimpitPacket,
          '{BARE}': SimpitAltitude, '{BARE}/packets': SimpitPacket}}
for topic, kind in topics.items():
    node.create_subscription(kind, topic, lambda _: None, 10, raw=True)
print(flush=True)
rclpy.spin(node)
"""


@contextmanager
def subscriber_of_both() -> Iterator[None]:
    """Subscribe to what the node and the plain loop publish, in another process."""
    with subprocess.Popen(
            [sys.executable, '-P', '-c', SUBSCRIBER], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        process.stdout.readline()
        try:
            yield
        finally:
            process.terminate()
            end(process)


@contextmanager
def bare_publisher(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a bare publisher that publishes with each line of its input."""
    process = subprocess.Popen(
        [sys.executable, '-P', '-c', BARE_PUBLISHER, *arguments], stdin=subprocess.PIPE,
        bufsize=0)
    assert process.stdin
    try:
        yield process
    finally:
        process.stdin.close()
        end(process)


def latency(goals: Goals, seconds: float = usual(2.0, 0.3)) -> None:
    """Measure the time from the last byte written to the subscriber, beside a bare rclpy hop."""
    subscriber = AltitudeSubscriber()
    rows = []
    try:
        with bare_publisher() as bare, bridged('v2') as (line, _):
            serial = 0

            def through(topic: str, send: Any, rate: float) -> np.ndarray[Any, Any]:
                """Send numbers at a rate; return how long each took, in microseconds."""
                nonlocal serial
                arrivals = subscriber.arrivals[topic]
                arrivals.clear()
                sent = {}
                begin = time.monotonic()
                for number in range(math.ceil(rate * seconds)):
                    time.sleep(max(0.0, begin + number / rate - time.monotonic()))
                    serial += 1
                    sent[serial] = time.time_ns()
                    send(serial)
                time.sleep(0.3)
                return np.array([at - sent[number] for number, at in arrivals]) / 1e3

            def by_line(number: int) -> None:
                line.send(simpit.Altitude(float(number), 0.0))

            def by_pipe(number: int) -> None:
                assert bare.stdin
                bare.stdin.write(b'%d\n' % number)

            for topic, send in ((ALTITUDE, by_line), (BARE, by_pipe)):
                begin = time.monotonic()
                while not subscriber.arrivals[topic]:
                    if time.monotonic() > begin + _PATIENCE:
                        raise RuntimeError(f'nothing arrives on {topic}')
                    send(0)
                    time.sleep(0.1)
            for rate in usual((8.0, 100.0, 500.0), (100.0,)):
                bare_us = through(BARE, by_pipe, rate)
                bridge_us = through(ALTITUDE, by_line, rate)
                expected = math.ceil(rate * seconds)
                median, bare_median = np.median(bridge_us), np.median(bare_us)
                goal = hop_goal(rate)
                rows.append([
                    f'{rate:g}/s', expected, expected - len(bridge_us),
                    expected - len(bare_us), f'{median:.0f}',
                    f'{bare_median:.0f}', f'{median / bare_median:.2f}',
                    f'<= {goal} {goals.at_most(median / bare_median, goal)}',
                    f'{np.percentile(bridge_us, 99):.0f}', f'{np.percentile(bare_us, 99):.0f}'])
    finally:
        subscriber.close()
    show(
        'Byte written to the pseudo-terminal to altitude in a subscriber of another process, '
        'beside\na line written to a pipe, published by bare rclpy (reliable, keep last 10)',
        ('packets', 'sent', 'lost', 'bare lost', 'median us', 'bare us', 'ratio',
         'goal', 'p99 us', 'bare p99 us'), rows)


def load(goals: Goals, seconds: float = usual(3.0, 0.2)) -> None:
    """Measure CPU time with the line saturated at its baud rate, and at a plugin's usual rate."""
    rows = []
    for profile in usual(('v2', 'cobs'), ('v2',)):
        packet = simpit.encode(simpit.Altitude(1234.5, 67.25), 'peer', PROFILES[profile])
        for label, rate in (('8 packets/s', 8.0), (f'{BAUD} baud, full', LINE / len(packet))):
            with subscriber_of_both(), bridged(profile) as (line, node):
                count, cpu = paced(node.pid, line.write, packet, rate, seconds)
                memory = memory_mb(node.pid)
            row = [f'{profile}, {label}', f'{count:.0f}', f'{count * len(packet):.0f}',
                   f'{cpu:.1f}']
            if rate <= SLOW:
                # So little that the clock which counts it can hardly show it.
                rows.append([*row, '', '', '', f'{memory:.0f}'])
                continue
            with subscriber_of_both(), bare_publisher('packets') as bare:
                assert bare.stdin
                _, loop = paced(bare.pid, bare.stdin.write, b'1234.5\n', rate, seconds)
            rows.append([*row, f'{loop:.1f}', f'{cpu / loop:.2f}',
                         goals.at_most(cpu / loop, CPU_RATIO), f'{memory:.0f}'])
    show(
        'simpit_node: altitude packets as fast as the line carries them, each published twice '
        '(altitude, packets)\nto a subscriber in another process; plain loop: the same messages, '
        'told to by a pipe',
        ('line', 'packets/s', 'bytes/s', '% of a core', 'plain loop', 'simpit_node / loop',
         f'goal <= {CPU_RATIO:g}', 'RSS MB'), rows)


def paced(
    pid: int, write: Callable[[bytes], object], packet: bytes, rate: float, seconds: float
) -> tuple[float, float]:
    """Write packets at a rate; return how many per second, and the CPU time of a process in %."""
    # Its start is not what is measured.
    write(packet)
    time.sleep(0.5)
    before, begin = cpu_seconds(pid), time.monotonic()
    count = 0
    while (now := time.monotonic()) < begin + seconds:
        due = math.floor((now - begin) * rate) + 1
        write(packet * (due - count))
        count = due
        # A saturated line delivers a few packets per read, as a driver does.
        time.sleep(max(1.0 / rate, 0.004))
    length = time.monotonic() - begin
    return count / length, 100.0 * (cpu_seconds(pid) - before) / length


FIGURES = {figure.__name__: figure for figure in (decode, latency, load)}


def main(names: Sequence[str] = tuple(FIGURES)) -> int:
    """Print the figures; return 1 if a goal was missed."""
    goals = Goals()
    for name in names:
        FIGURES[name](goals)
    return int(goals.missed > 0)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:] or tuple(FIGURES)))
