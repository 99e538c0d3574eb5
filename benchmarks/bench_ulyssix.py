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
Cost of Ulyssix packets, each figure beside its limit, measured alternately.

Figures: decode, latency, load, throughput, quality, rates; all, or those named on the command
line. The decoder's limit is numpy's copy of the two columns of 5,000 samples in place in a
datagram: the minimum for any decoder that delivers contiguous arrays. Even counts are those of
parameters of one rate; uneven ones lie at no constant distance; changing ones alternate; shuffled
ones are one of sixteen combinations each time, and new ones were never seen before. The node's
limit is a bare rclpy hop of the same message.

Quality and rates: the node without quality, with it, and with a map too, beside a reader that only
receives, all fed in turn by streams of an encoder of their own (ulyssix_streams.py).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, ExitStack
from functools import partial
from itertools import cycle
from pathlib import Path
import socket
import struct
import subprocess
import sys
from tempfile import TemporaryDirectory
import time
from timeit import timeit

from bench_xpc import COMPARED, compared, round_seconds
import numpy as np
from numpy.typing import NDArray
from processes import cpu_seconds, executable, memory_mb, parameters, Peer
from shortest import usual
from tables import Goals, show
from ulyssix_peers import DEPTH
from ulyssix_streams import KINDS, Stream

from xplane_bridge.bridges.protocols.base import Sender
from xplane_bridge.bridges.ulyssix import protocol as ulyssix

# Goals.
SHARE_OF_LIMIT = {1: 0.5, 10: 0.5, 50: 0.5, 500: 0.25}  # by parameters
WITHOUT_GOAL = ('shuffled', 'new')
SUSTAINED = 1000  # packets/s of LARGE samples without loss
WITH_QUALITY, WITH_MAP = 1.25, 1.5  # times the CPU of the node without
RATE_WITH_QUALITY = 0.9  # of the highest rate without loss

LARGE = 5_000  # samples in 60 kB
SMALL = 110  # in 1.4 kB
THROUGHPUTS = usual((1000, 3000, 5000), (1000,))  # packets/s
LATENCIES = usual(((SMALL, (100, 1000)), (LARGE, (100, 500))), ((SMALL, (100,)),))  # packets/s
# parameters, samples, packets/s
STREAMS = usual(((5, 22, 1000), (50, 2, 1000), (500, 10, 100)), ((5, 22, 100),))
RISING = usual((400, 800, 1600, 3000), (400,))  # packets/s of 500 parameters of 10 samples
MAP = """\
parameters:
  "P*": {limits: [-100, 100]}
"""
READERS = {'off': {'quality': False}, 'on': {}, 'map': {}}
ROUNDS = usual(50, 1)
IN_TURN = usual(2, 1)  # ours and the bare hop
NEW = usual(600, 10)  # packets, more than the decoder keeps in mind
CALLS = usual(20, 2)

FIRST_SAMPLE = 45  # its offset: header 5, payload header 36, count 4
SAMPLE = np.dtype([('value', '<f4'), ('time', '<f8')])

NAMESPACE, TOPIC, BARE = '/bench', '/bench/packets', '/bench/bare'
QOS = f'reliable, keep last {DEPTH}, both ends'
_PEERS = Path(__file__).parent / 'ulyssix_peers.py'
_READER = Path(__file__).parent / 'ulyssix_streams.py'
_COUNTER = struct.Struct('<I')
_TOTAL = struct.Struct('<Q')
_TOTAL_AT = 5 + 20


def packet(samples: int, parameter_count: int) -> bytes:
    """Return a datagram of that many samples, equally divided."""
    return divided([samples // parameter_count] * parameter_count)


def divided(counts: Sequence[int] | NDArray[np.int64]) -> bytes:
    """Return a datagram of parameters with these numbers of samples."""
    date = ulyssix.PacketTime(45, 12, 34, 56, 789012, ulyssix.WordOrder.FIRST_WORD_HIGH)
    values = [np.arange(count, dtype=np.float32) for count in counts]
    times = [3846896.789012 + 0.001 * np.arange(count) for count in counts]
    return ulyssix.encode(ulyssix.data_packet(1, sum(counts), date, values, times))


def streams(parameter_count: int) -> Iterator[tuple[str, list[bytes]]]:
    """Return by the kind of their counts the packets to decode in turn."""
    mean = LARGE // parameter_count
    yield 'even', [packet(LARGE, parameter_count)]
    if parameter_count == 1:
        return
    up, down = np.full(parameter_count, mean), np.full(parameter_count, mean)
    up[::2] += 1
    up[1::2] -= 1
    yield 'uneven', [divided(up)]
    down[::2] -= 2
    down[1::2] += 2
    yield 'changing', [divided(up), divided(down)]
    random = np.random.default_rng(16)

    def jittered() -> bytes:
        # What some gain, others lose.
        gains = random.integers(-4, 5, parameter_count // 2)
        return divided(mean + random.permutation(np.concatenate([gains, -gains])))

    known = [jittered() for _ in range(16)]
    yield 'shuffled', [known[index] for index in random.integers(0, 16, 997)]
    yield 'new', [jittered() for _ in range(NEW)]


def copy_columns(datagram: bytes) -> tuple[object, object]:
    """Copy both columns of a datagram without names as if it had one parameter: the limit."""
    samples = np.frombuffer(datagram, SAMPLE, LARGE, FIRST_SAMPLE)
    return samples['value'].copy(), samples['time'].copy()


def rounds_in_turn(*calls: Callable[[], object]) -> NDArray[np.float64]:
    """
    Time the calls in turn, so that changes in machine speed affect all of them alike.

    Returns seconds per call, shape (calls, ROUNDS).
    """
    rounds = [[timeit(call, number=CALLS) / CALLS for call in calls] for _ in range(ROUNDS)]
    return np.array(rounds).T


def _decode_next(decoded: Callable[[bytes, Sender], object], packets: Iterator[bytes]) -> None:
    decoded(next(packets), 'peer')


def _copy_next(packets: Iterator[bytes]) -> None:
    copy_columns(next(packets))


def decode(goals: Goals) -> None:
    """Benchmark the decoder."""
    rows = []
    for count, goal in SHARE_OF_LIMIT.items():
        for counts, stream in streams(count):
            decoded = partial(ulyssix.decode, layouts=ulyssix.PacketLayouts())
            for datagram in stream[:CALLS]:
                decoded(datagram, 'peer')
            packets, same = cycle(stream), cycle(stream)
            took, limit = rounds_in_turn(
                partial(_decode_next, decoded, packets), partial(_copy_next, same))
            share = float(np.median(limit / took))
            rate = LARGE / float(np.median(took))
            rows.append([
                count, counts, f'{1e6 * np.median(took):.1f}',
                f'{1e6 * np.median(limit):.1f}', f'{share:.2f}',
                '' if counts in WITHOUT_GOAL else f'>= {goal} {goals.at_least(share, goal)}',
                f'{rate / 1e6:.0f}'])
    show(f'Decode {LARGE} samples (float32, float64) a packet, beside the copy of both columns; '
         'medians', ('parameters', 'counts', 'us', 'limit us', 'share', 'goal',
                     'M samples/s'), rows)


class Source:
    """Send packets to the node, each with its number and send time."""

    def __init__(self, port: int) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # Not connected: it would raise while the node is not up yet.
        self._node = ('127.0.0.1', port)
        self._counter = 0

    def send(self, samples: int, rate: float, seconds: float) -> int:
        """Send ``rate`` packets per second; return how many there were."""
        datagram = bytearray(packet(samples, 10))
        count = round(rate * seconds)
        begin = time.monotonic()
        for number in range(count):
            time.sleep(max(0.0, begin + number / rate - time.monotonic()))
            self._counter += 1
            _COUNTER.pack_into(datagram, 0, self._counter)
            _TOTAL.pack_into(datagram, _TOTAL_AT, time.time_ns())
            self._socket.sendto(datagram, self._node)
        return count


@contextmanager
def bridge(role: str = 'subscriber') -> Iterator[tuple[subprocess.Popen[str], Source, Peer]]:
    """Run the node and a subscriber; yield the node, its feeder and the subscriber."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(('127.0.0.1', 0))
        port = probe.getsockname()[1]
    with (
        executable('ulyssix_node', *parameters(NAMESPACE, {'port': port})) as node,
        Peer(role, _PEERS) as subscriber,
    ):
        subscriber.ask('open', topics=[TOPIC, BARE])
        source = Source(port)
        for _ in range(usual(100, 400)):
            # Until both have discovered each other.
            source.send(SMALL, 10, 0.1)
            if subscriber.ask('wait', topic=TOPIC, timeout=0.1):
                break
        else:
            raise RuntimeError('nothing came through the node')
        yield node, source, subscriber


def latency(goals: Goals, rounds: int = IN_TURN) -> None:
    """Measure how long a packet takes from sendto() to the subscriber."""
    rows = []
    for samples, rates in LATENCIES:
        with bridge() as (_, source, subscriber), Peer('publisher', _PEERS) as publisher:
            publisher.ask('open', topic=BARE, samples=samples)
            for rate in rates:
                through, bare = [], []
                sent = 0
                for _ in range(rounds):
                    seconds = round_seconds(rate)
                    subscriber.ask('report')
                    publisher.ask('publish', rate=rate, seconds=seconds)
                    time.sleep(0.2)
                    bare.append(np.array(subscriber.ask('report')[BARE][0]) / 1e3)
                    sent += source.send(samples, rate, seconds)
                    time.sleep(0.2)
                    through.append(np.array(subscriber.ask('report')[TOPIC][0]) / 1e3)
                label = f'{len(packet(samples, 10)) / 1e3:.1f} kB, {rate}/s'
                received = sum(map(len, through))
                rows.append([
                    *compared(label, rate, through, bare, goals), sent, sent - received])
    show(f'sendto() to subscriber of another process, beside a bare rclpy hop of the same '
         f'message\n({QOS}; in turn, {rounds} times)',
         ('packets', *COMPARED, 'sent', 'lost'), rows)


def load(goals: Goals, seconds: float = usual(3.0, 0.2)) -> None:
    """Measure what the node costs at Altair's 100 packets per second."""
    rows = []
    with bridge() as (node, source, subscriber):
        for samples in (SMALL, LARGE):
            used, begin = cpu_seconds(node.pid), time.monotonic()
            source.send(samples, 100, seconds)
            percent = 100.0 * (cpu_seconds(node.pid) - used) / (time.monotonic() - begin)
            rows.append([f'{len(packet(samples, 10)) / 1e3:.1f} kB', f'{percent:.1f}',
                         f'{memory_mb(node.pid):.0f}'])
    show('ulyssix_node at 100 packets/s with one subscriber',
         ('packets', 'CPU, % of a core', 'memory, MB'), rows)


def throughput(goals: Goals, seconds: float = usual(2.0, 0.2)) -> None:
    """Measure where packets are lost, at rates up to more than the machine can carry."""
    rows = []
    size = len(packet(LARGE, 10)) / 1e3
    for role in usual(('subscriber', 'recorder'), ('recorder',)):
        with bridge(role) as (node, source, subscriber):
            for rate in THROUGHPUTS:
                rows.append(_one_rate(goals, rate, seconds, role, node.pid, source, subscriber))
    show(f'Packets of {size:.1f} kB, {LARGE} samples, into a subscriber of another process, by '
         f'which packets remain at each stage\n({QOS}; kernel buffer 4 MiB; {seconds:g} s each; '
         'CPU in % of a core)\n'
         'subscriber: a plain rclpy executor; recorder: takes serialised bytes, as record does',
         ('into', 'asked', 'packets/s', 'sent', 'received', 'published', 'heard',
          'M samples/s', 'CPU sender', 'node', 'other', 'heard of sent', 'goal'), rows)


def _one_rate(
    goals: Goals, rate: int, seconds: float, role: str, node: int, source: Source,
    subscriber: Peer,
) -> list[object]:
    """Send at one rate; return a row of the table of throughputs."""
    def used() -> NDArray[np.float64]:
        return np.array([time.process_time(), cpu_seconds(node),
                         cpu_seconds(subscriber.process.pid)])

    before = subscriber.ask('diagnostics')
    subscriber.ask('report')
    cpu, begin = used(), time.monotonic()
    sent = source.send(LARGE, rate, seconds)
    took = time.monotonic() - begin
    percent = 100.0 * (used() - cpu) / took
    after = subscriber.ask('diagnostics')
    heard = len(subscriber.ask('report')[TOPIC][0])
    received, published = (
        int(after[key]) - int(before[key]) for key in ('datagrams received', 'packets'))
    return [
        role, f'{rate}/s', f'{sent / took:.0f}', sent, received,
        published, heard, f'{LARGE * heard / took / 1e6:.1f}',
        *(f'{part:.0f}' for part in percent), f'{heard / sent:.3f}',
        f'>= 1 {goals.at_least(heard / sent, 1.0)}' if rate <= SUSTAINED else '']


@contextmanager
def readers() -> Iterator[dict[str, tuple[int, int]]]:
    """Run the bare reader and a node of each kind; yield the process and port of each."""
    with ExitStack() as stack:
        chart = Path(stack.enter_context(TemporaryDirectory())) / 'map.yaml'
        chart.write_text(MAP)
        found = {}
        for name in ('bare', *READERS):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.bind(('127.0.0.1', 0))
                port = probe.getsockname()[1]
            if name == 'bare':
                process = subprocess.Popen(
                    [sys.executable, str(_READER), str(port)], text=True)
                stack.callback(process.wait)
                stack.callback(process.terminate)
            else:
                given = {'port': port, 'map': str(chart) if name == 'map' else ''}
                process = stack.enter_context(executable(
                    'ulyssix_node', *parameters(f'/{name}', {**given, **READERS[name]})))
            found[name] = process.pid, port
        end = time.monotonic() + usual(20.0, 60.0)
        while not all(_socket_drops(port) is not None for _, port in found.values()):
            if time.monotonic() > end:
                raise RuntimeError('a reader did not start')
            time.sleep(0.05)
        yield found


def _socket_drops(port: int) -> int | None:
    """Return how many datagrams the kernel has dropped at a UDP port, None if it is not open."""
    for line in Path('/proc/net/udp').read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(f':{port:04X}'):
            return int(fields[-1])
    return None


def quality(goals: Goals, seconds: float = usual(0.4, 0.1), rounds: int = 1) -> None:
    """Measure what the quality of parameters costs, whatever the times of their samples are."""
    rows = []
    with readers() as found:
        for count, samples, rate in STREAMS:
            for kind in usual(tuple(KINDS), ('even',)):
                streams = {name: Stream(count, samples, kind) for name in found}
                used: dict[str, list[float]] = {name: [] for name in found}
                # In the first round names and intervals are learnt.
                for turn in range(rounds + 1):
                    for name, (pid, port) in found.items():
                        before = cpu_seconds(pid)
                        sent = streams[name].send(port, rate, seconds)
                        time.sleep(0.15)
                        if turn:
                            used[name].append((cpu_seconds(pid) - before) / sent * 1e6)
                bare, off, on, mapped = (float(np.median(each)) for each in used.values())
                rows.append([
                    f'{len(streams["on"].packet) / 1e3:.1f} kB, {count} x {samples}, {rate}/s',
                    kind, *(f'{each:.0f}' for each in (bare, off, on)), f'{on / off:.2f}',
                    goals.at_most(on / off, WITH_QUALITY), f'{mapped:.0f}', f'{mapped / off:.2f}',
                    goals.at_most(mapped / off, WITH_MAP)])
    show('CPU time of a packet in us: a bare reader; ulyssix_node without quality, with it, and '
         f'with it and limits of all parameters\n(no subscriber; in turn, median of {rounds})',
         ('packets', 'samples', 'bare', 'off', 'on', 'on / off', f'goal <= {WITH_QUALITY}', 'map',
          'map / off', f'goal <= {WITH_MAP}'), rows)


def rates(goals: Goals, seconds: float = usual(0.5, 0.1)) -> None:
    """Measure the highest rates of large packets at which the kernel drops none."""
    rows = []
    with readers() as found:
        for kind in usual(tuple(KINDS), ('even',)):
            highest = dict.fromkeys(found, 0)
            for name, (_, port) in found.items():
                stream = Stream(500, 10, kind)
                stream.send(port, 100, 0.5)
                for rate in RISING:
                    before = _socket_drops(port)
                    stream.send(port, rate, seconds)
                    if _socket_drops(port) != before:
                        break
                    highest[name] = rate
            share = highest['on'] / max(highest['off'], 1)
            rows.append([kind, *highest.values(), f'{share:.2f}',
                         goals.at_least(share, RATE_WITH_QUALITY)])
    show(f'Highest rate of packets of 62 kB, 500 parameters of 10 samples, without loss, of '
         f'{RISING[0]} to {RISING[-1]}/s\n(no subscriber; kernel buffer 4 MiB; {seconds:g} s '
         'each)',
         ('samples', 'bare', 'off', 'on', 'map', 'on / off', f'goal >= {RATE_WITH_QUALITY}'), rows)


FIGURES = {'decode': decode, 'latency': latency, 'load': load, 'throughput': throughput,
           'quality': quality, 'rates': rates}


def main(names: list[str] | None = None) -> int:
    """Print the figures; return 1 if a goal was missed."""
    goals = Goals()
    for name in names or FIGURES:
        FIGURES[name](goals)
    return int(goals.missed > 0)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
