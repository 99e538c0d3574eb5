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
Cost and performance of xplane_udp_node, each figure beside its limit, measured alternately.

The peer sends canned RPOS and RREF in X-Plane 12's format, from a thread of this process; nodes
and bare rclpy run in separate processes. Figures: latency, commands, load, watch, startup; all, or
those named on the command line.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
    TOPICS,
    wait,
)
import numpy as np
from peers import ELEVATOR_STEP
from processes import cpu_seconds, executable, memory_mb, parameters, Peer
from shortest import usual
from starts import bare_start, STARTED, started, STARTS
from tables import Goals, show

from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.links.udp import UdpSocket

# Goals.
CPU_RATIO = 1.8
MEMORY_RATIO = 1.5
SHARE_OF_UPDATES = 0.98

RATES = usual((50, 100, 500, 1000), (50,))
COMMAND_RATES = usual((50, 100), (50,))
WATCHED = usual(200, 10)
WATCH_RATE = 50

_ELEVATOR = b'sim/joystick/yoke_pitch_ratio'
_LAT, _LON = 47.5, 11.25
_POSE = struct.Struct('<5s3d10f')
_VALUE = struct.Struct('<if')
_MOST_VALUES = 183
_VALUES = {
    xplane.LATITUDE: _LAT, xplane.LONGITUDE: _LON, xplane.PAUSED: 0.0,
    'sim/flightmodel/position/lat_ref': 47.0, 'sim/flightmodel/position/lon_ref': 11.0,
    'sim/flightmodel/position/local_vx': 60.0, 'sim/flightmodel/failures/onground_any': 0.0,
    'sim/weather/aircraft/barometer_current_pas': 95_000.0,
}


class XPlane:
    """
    Send pose and datarefs to all subscribers ``pace`` times per second, ignoring requested rates.

    The elevation is the frame number; the elevator of commands is recorded on arrival.
    """

    def __init__(self) -> None:
        self.link = UdpSocket(('127.0.0.1', 0))
        self.pace = 50.0
        self.frame = 0
        self.commands: list[tuple[int, int]] = []
        self._names: dict[tuple[str, int], dict[int, str]] = {}
        self._poses: set[tuple[str, int]] = set()
        self._datagrams: dict[tuple[str, int], list[bytearray]] = {}
        self._running = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> 'XPlane':
        return self

    def __exit__(self, *_: object) -> None:
        self._running = False
        self._thread.join()
        self.link.close()

    def _run(self) -> None:
        due = time.monotonic()
        while self._running:
            due = max(due + 1.0 / self.pace, time.monotonic() - 1.0 / self.pace)
            time.sleep(max(0.0, due - time.monotonic()))
            while (received := self.link.receive()) is not None:
                self._take(received.data, received.sender, received.stamp_ns)
            self._send()

    def _take(self, data: bytes, sender: tuple[str, int], stamp_ns: int) -> None:
        if data.startswith(b'RREF'):
            freq, index = struct.unpack_from('<ii', data, 5)
            names = self._names.setdefault(sender, {})
            names.pop(index, None)
            if freq:
                names[index] = data[13:].split(b'\0')[0].decode()
            self._datagrams.pop(sender, None)
        elif data.startswith(b'RPOS'):
            (self._poses.discard if data[5:6] == b'0' else self._poses.add)(sender)
        elif data[9:9 + len(_ELEVATOR)] == _ELEVATOR:
            value, = struct.unpack_from('<f', data, 5)
            self.commands.append((round(value / ELEVATOR_STEP), stamp_ns))

    def _send(self) -> None:
        self.frame += 1
        for client in self._poses:
            self.link.send(_POSE.pack(
                b'RPOS4', _LON, _LAT, self.frame, 100.0, 2.0, 90.0, 0.0, 60.0, 0.0, 0.0, 0.0, 0.0,
                0.0), client)
        for client, names in self._names.items():
            if client not in self._datagrams:
                self._datagrams[client] = _packed(names)
            for datagram in self._datagrams[client]:
                if names.get(2) == xplane.ELEVATION:
                    struct.pack_into('<f', datagram, 5 + 2 * _VALUE.size + 4, self.frame)
                self.link.send(bytes(datagram), client)


def _packed(names: dict[int, str]) -> list[bytearray]:
    values = [_VALUE.pack(index, _VALUES.get(names[index], 1.0)) for index in sorted(names)]
    return [bytearray(b'RREF,' + b''.join(values[start:start + _MOST_VALUES]))
            for start in range(0, len(values), _MOST_VALUES)]


@contextmanager
def running_node(peer: XPlane, rate: float, **others: Any) -> Iterator[subprocess.Popen[str]]:
    """Run xplane_udp_node with the peer as its X-Plane 12."""
    values = {'port': peer.link.local[1], 'version': '12', 'rate': float(rate),
              'undulation': 0.0, **others}
    with executable('xplane_udp_node', *parameters(NAMESPACE, values)) as process:
        yield process


def latency(goals: Goals, rounds: int = ROUNDS) -> None:
    """Measure the time from the kernel's receipt of a datagram to its fix in another process."""
    rows = []
    fix, bare_fix = topic('fix'), topic('fix', namespace=BARE)
    with Peer('publisher') as publisher, Peer('subscriber') as subscriber:
        subscriber.ask('open', topics={fix: 'fix', bare_fix: 'fix'})
        publisher.ask('open', topics={bare_fix: 'fix'})
        for rate in RATES:
            seconds = round_seconds(rate)
            bridge, bare = [], []
            sent = received = 0
            with XPlane() as peer, running_node(peer, rate):
                peer.pace = rate
                wait(subscriber, fix)
                for _ in range(rounds):
                    # The peer pauses while the bare hop is measured.
                    peer.pace = 5.0
                    subscriber.ask('report')
                    publisher.ask('publish', groups=[[bare_fix]], rate=rate, seconds=seconds)
                    bare.append(latencies_us(subscriber.ask('report')[bare_fix]))
                    peer.pace = rate
                    time.sleep(0.3)
                    subscriber.ask('report')
                    first = peer.frame
                    time.sleep(seconds)
                    sent += peer.frame - first
                    samples = subscriber.ask('report')[fix]
                    received += len(samples)
                    bridge.append(latencies_us(samples))
            # What the node sent last is not the next one's.
            subscriber.ask('report')
            rows.append([*compared(f'{rate}/s', rate, bridge, bare, goals), sent, received])
    show(
        'Datagram (kernel receive time) to subscriber of another process: fix, beside a bare '
        f'rclpy hop of the same message\n({QOS}; in turn, {rounds} times)',
        ('updates', *COMPARED, 'sent', 'received'), rows)


def commands(goals: Goals, rounds: int = ROUNDS) -> None:
    """Measure the time from a command's publication to its datagram."""
    rows = []
    command, bare_command = topic('command/controls'), topic('controls', namespace=BARE)
    with (
        XPlane() as peer, Peer('publisher') as publisher, Peer('subscriber') as subscriber,
        running_node(peer, 50),
    ):
        subscriber.ask('open', topics={bare_command: 'controls', topic('fix'): 'fix'}, depth=1)
        wait(subscriber, topic('fix'))
        publisher.ask('open', topics={command: 'controls', bare_command: 'controls'}, depth=1)
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
                time.sleep(0.2)
                arrivals = [(serial, at) for serial, at in peer.commands if serial in stamps]
                bridge.append(np.array([at - stamps[serial] for serial, at in arrivals]) / 1e3)
                sent += len(stamps)
                received += len(arrivals)
            rows.append([
                *compared(f'{rate}/s', rate, bridge, bare, goals), sent, sent - received])
    show(
        'command/controls (stamp at publish) to DREF (kernel receive time at the peer), beside a '
        'bare rclpy hop\nof the same message (reliable, keep last 1, both ends; pacing 10 ms, '
        'faster ones are merged)',
        ('commands', *COMPARED, 'sent', 'merged or lost'), rows)


def load(goals: Goals, seconds: float = usual(4.0, 0.5)) -> None:
    """Measure CPU time and memory at 50 updates/s, all topics subscribed elsewhere."""
    kinds = {topic(name): name for name in (*TOPICS, 'datum')}
    bare = {topic(name, namespace=BARE): name for name in TOPICS}
    rows = []
    with XPlane() as peer, Peer('subscriber') as subscriber:
        subscriber.ask('open', topics=kinds | bare)
        with running_node(peer, 50) as node:
            wait(subscriber, *kinds)
            cost, memory, cells = _cost(node, subscriber, seconds)
            rows.append(['xplane_udp_node', *cells, '', '', f'{memory:.0f}', '', ''])
        with Peer('publisher') as publisher:
            publisher.ask('open', topics=bare)
            before, begin = cpu_seconds(publisher.process.pid), time.monotonic()
            publisher.ask('publish', groups=[list(bare)], rate=50.0, seconds=seconds)
            cpu = cpu_seconds(publisher.process.pid) - before
            cpu *= 100.0 / (time.monotonic() - begin)
            bare_memory = memory_mb(publisher.process.pid)
        messages = sum(map(len, subscriber.ask('report').values())) / seconds
        rows.append([
            'plain loop', '50.0', f'{messages:.0f}', f'{cpu:.1f}', f'{cost / cpu:.2f}',
            goals.at_most(cost / cpu, CPU_RATIO), f'{bare_memory:.0f}',
            f'{memory / bare_memory:.2f}', goals.at_most(memory / bare_memory, MEMORY_RATIO)])
    show(
        f'Load at 50 updates/s, {len(kinds)} topics subscribed in another process '
        '(plain loop: the same messages)',
        ('process', 'updates/s', 'messages/s', '% of a core', 'xplane_udp_node / this',
         f'goal <= {CPU_RATIO:g}', 'RSS MB', 'xplane_udp_node / this, RSS',
         f'goal <= {MEMORY_RATIO:g}'), rows)


def _cost(
    node: subprocess.Popen[str], subscriber: Peer, seconds: float
) -> tuple[float, float, list[object]]:
    """Return what a node costs in % of a core and in MB, and the cells that say so."""
    subscriber.ask('report')
    before, begin = cpu_seconds(node.pid), time.monotonic()
    time.sleep(seconds)
    cpu = 100.0 * (cpu_seconds(node.pid) - before) / (time.monotonic() - begin)
    counts = {name: len(samples) for name, samples in subscriber.ask('report').items()}
    memory = memory_mb(node.pid)
    return cpu, memory, [
        f'{counts[topic("fix")] / seconds:.1f}', f'{sum(counts.values()) / seconds:.0f}',
        f'{cpu:.1f}']


def watch(goals: Goals, seconds: float = usual(4.0, 0.5)) -> None:
    """Measure many subscriptions beside the telemetry."""
    names = [f'sim/bench/value_{n}' for n in range(WATCHED)]
    watched = topic('datarefs')
    with XPlane() as peer, Peer('subscriber') as subscriber:
        peer.pace = WATCH_RATE
        subscriber.ask('open', topics={watched: 'datarefs', topic('fix'): 'fix'})
        begin = time.monotonic()
        with running_node(
                peer, WATCH_RATE, datarefs=names, datarefs_rate=float(WATCH_RATE)) as node:
            wait(subscriber, watched)
            settled = time.monotonic() - begin
            subscriber.ask('report')
            before, first, begin = cpu_seconds(node.pid), peer.frame, time.monotonic()
            time.sleep(seconds)
            report = subscriber.ask('report')
            frames = peer.frame - first
            cpu = 100.0 * (cpu_seconds(node.pid) - before) / (time.monotonic() - begin)
        rows = [[name, frames, len(report[name]), frames - len(report[name]),
                 f'{len(report[name]) / frames:.3f}',
                 goals.at_least(len(report[name]) / frames, SHARE_OF_UPDATES),
                 f'{cpu:.1f}', f'{settled:.1f}'] for name in (watched, topic('fix'))]
    show(
        f'{WATCHED} RREF subscriptions at {WATCH_RATE}/s beside the telemetry, two datagrams an '
        'update\n(until settled: from the start of the process, requests leave 10 ms apart)',
        ('topic', 'sent', 'received', 'lost', 'share received', f'goal >= {SHARE_OF_UPDATES:g}',
         '% of a core', 's until settled'), rows)


def startup(goals: Goals) -> None:
    """Measure the time from a process's start to its first message elsewhere."""
    times, bare = [], []
    fix, bare_fix = topic('fix'), topic('fix', namespace=BARE)
    with XPlane() as peer, Peer('subscriber') as subscriber:
        subscriber.ask('open', topics={fix: 'fix', bare_fix: 'fix'})
        for _ in range(STARTS):
            subscriber.ask('report')
            begin = time.time_ns()
            with running_node(peer, 50):
                wait(subscriber, fix)
                times.append((subscriber.ask('report')[fix][0][2] - begin) / 1e9)
            bare.append(bare_start(subscriber, bare_fix))
    show(
        f'Process start to first message at a waiting subscriber, of {STARTS} starts each',
        STARTED, started(goals, {'xplane_udp_node, first message': times}, bare))


FIGURES = {'latency': latency, 'commands': commands, 'load': load, 'watch': watch,
           'startup': startup}


def main(names: Sequence[str] = tuple(FIGURES)) -> int:
    """Print the figures; return 1 if a goal was missed."""
    goals = Goals()
    for name in names:
        FIGURES[name](goals)
    return int(goals.missed > 0)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:] or tuple(FIGURES)))
