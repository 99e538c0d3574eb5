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
Cost and performance of xpc_node, each figure beside its limit, measured alternately.

The peer answers with canned replies in the plugin's format (peers.py), except where states are
compared in time, and for several aircraft: that is the package's simulator, in which they fly.
Figures: latency, commands, load, throughput, startup, fleet, consistency, distance; all, or those
named on the command line.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, ExitStack
from functools import partial
import subprocess
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from processes import cpu_percent, cpu_seconds, executable, memory_mb, parameters, Peer
from shortest import usual
from starts import bare_start, STARTED, started, STARTS
from tables import Goals, show
from xpc_distance import distance
from xpc_frames import consistency

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xpc import XpcFrontend

NAMESPACE = '/bench'
BARE = '/bench/bare'
DEPTH = 10
QOS = f'reliable, keep last {DEPTH}, both ends'

# Goals.
# The median latency over the bare hop: up to SLOW messages per second, and above.
MEDIAN_RATIO, FAST_MEDIAN_RATIO = 1.3, 1.7
SLOW = 100.0
P99_RATIO = 1.5
CPU_RATIO = 1.8
MEMORY_RATIO = 1.5
# Of what the budget of datagrams leaves for an aircraft.
FLEET_SHARE = 0.9

# Total rates, and the number of aircraft that share them: one aircraft is polled again 2 ms after
# its reply at the earliest, so that the plugin never meets two polls in one frame.
LATENCIES = usual(((50, 1), (100, 1), (500, 2), (1000, 4)), ((50, 1),))
COMMAND_RATES = usual((50, 100, 200), (50,))
THROUGHPUTS = usual((500, 1000, 1500, 2000, 3000), (500,))
THROUGHPUT_AIRCRAFT = 8
FLEETS = usual(((1, 240.0), (20, 240.0), (20, 480.0)), ((2, 240.0),))
# How many of the others fit into one request.
SHARED = 5
IDLE_RATE = 20.0

TOPICS = ('fix', 'fix_velocity', 'imu/data', 'odom', 'air_data', 'controls')
# How often ours and the bare hop are measured in turn.
ROUNDS = usual(2, 1)


@contextmanager
def running_node(
    peer: Peer | int, aircraft: Sequence[int] = (0,), rate: float = 0.0,
    budget: float = 100_000.0, **others: Any,
) -> Iterator[subprocess.Popen[str]]:
    """Run xpc_node with the peer, or the one at that port, as its X-Plane."""
    values = {
        'port': peer if isinstance(peer, int) else peer.ask('address'),
        'aircraft': list(aircraft), 'rate': rate,
        'max_datagrams_per_second': budget, 'undulation': 0.0, **others}
    with executable('xpc_node', *parameters(NAMESPACE, values)) as process:
        yield process


def topic(name: str, aircraft: int = 0, namespace: str = NAMESPACE) -> str:
    """Return the full name of an aircraft's topic."""
    prefix = f'aircraft_{aircraft}/' if aircraft else ''
    return f'{namespace}/{prefix}{name}'


def fix_topics(aircraft: int, namespace: str = NAMESPACE) -> list[str]:
    """Return the fix topics of that many aircraft."""
    return [topic('fix', number, namespace) for number in range(aircraft)]


def wait(subscriber: Peer, *topics: str) -> None:
    """Wait until messages arrive on all topics."""
    for name in topics:
        if not subscriber.ask('wait', topic=name):
            raise RuntimeError(f'nothing came on {name}')


def latencies_us(samples: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Return the latencies of samples in microseconds."""
    return np.array([latency for _, latency, _ in samples]) / 1e3


def median_p99(values: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    """Return median and 99th percentile of all values."""
    median, p99 = np.percentile(np.concatenate(values), (50, 99))
    return float(median), float(p99)


def round_seconds(rate: float) -> float:
    """Return how long a round lasts: 75 messages, and 0.8 s at least."""
    return usual(max(0.8, 75.0 / rate), 0.3)


def hop_goal(rate: float) -> float:
    """Return how many times longer than a bare hop the median may be at this rate."""
    return MEDIAN_RATIO if rate <= SLOW else FAST_MEDIAN_RATIO


def compared(
    label: str, rate: float, bridge: list[NDArray[np.float64]],
    bare: list[NDArray[np.float64]], goals: Goals,
) -> list[object]:
    """Return a row: the bridge's latencies, the bare hop's, their ratios, and the verdict."""
    median, p99 = median_p99(bridge)
    bare_median, bare_p99 = median_p99(bare)
    goal = hop_goal(rate)
    return [
        label, sum(map(len, bridge)), f'{median:.0f}', f'{bare_median:.0f}',
        f'{median / bare_median:.2f}',
        f'<= {goal} {goals.at_most(median / bare_median, goal)}',
        f'{p99:.0f}', f'{bare_p99:.0f}',
        f'{p99 / bare_p99:.2f}', goals.at_most(p99 / bare_p99, P99_RATIO),
    ]


COMPARED = (
    'samples', 'median us', 'bare us', 'median ratio', 'goal', 'p99 us',
    'bare p99 us', 'p99 ratio', f'goal <= {P99_RATIO}')


def latency(goals: Goals, rounds: int = ROUNDS) -> None:
    """Measure the time from the kernel's receipt of a datagram to its fix in another process."""
    rows = []
    with Peer('xpc') as peer, Peer('publisher') as publisher, ExitStack() as stack:
        at_work = 0
        for rate, aircraft in LATENCIES:
            fixes, bare_fixes = fix_topics(aircraft), fix_topics(aircraft, BARE)
            seconds = round_seconds(rate)
            if aircraft != at_work:
                at_work = aircraft
                stack.close()
                peer.ask('pace', frame_rate=IDLE_RATE, updates_per_frame=1)
                stack.enter_context(running_node(peer, range(aircraft)))
                subscriber = stack.enter_context(Peer('subscriber'))
                subscriber.ask('open', topics=dict.fromkeys(fixes + bare_fixes, 'fix'))
                publisher.ask('open', topics=dict.fromkeys(bare_fixes, 'fix'))
                wait(subscriber, *fixes)
            bridge, bare = [], []
            for _ in range(rounds):
                subscriber.ask('report')
                publisher.ask(
                    'publish', groups=[[name] for name in bare_fixes], rate=rate,
                    seconds=seconds)
                report = subscriber.ask('report')
                bare += [latencies_us(report[name]) for name in bare_fixes]
                peer.ask('pace', frame_rate=rate, updates_per_frame=1)
                # The first ones belong to the change of rate.
                time.sleep(0.2)
                subscriber.ask('report')
                time.sleep(seconds)
                report = subscriber.ask('report')
                bridge += [latencies_us(report[name]) for name in fixes]
                peer.ask('pace', frame_rate=IDLE_RATE, updates_per_frame=1)
            among = f' of {aircraft} aircraft' if aircraft > 1 else ''
            rows.append(compared(f'{rate}/s{among}', rate, bridge, bare, goals))
    show(
        'Datagram (kernel receive time) to subscriber of another process: fix, beside a bare '
        f'rclpy hop of the same message\n({QOS}; in turn, {rounds} times; above '
        '100/s several aircraft share the rate,\nfor each is asked again 2 ms after its reply at '
        'the earliest)',
        ('updates', *COMPARED), rows)


def commands(goals: Goals, rounds: int = ROUNDS) -> None:
    """Measure the time from a command's publication to its datagram."""
    rows = []
    command, bare_command = topic('command/controls'), topic('controls', namespace=BARE)
    with (
        Peer('xpc') as peer, Peer('publisher') as publisher, Peer('subscriber') as subscriber,
        running_node(peer, rate=50.0, budget=1200.0, command_timeout=0.0),
    ):
        peer.ask('pace', frame_rate=60.0)
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
                report = subscriber.ask('report')
                bare.append(latencies_us(report[bare_command]))
                peer.ask('report')
                stamps = dict(publisher.ask(
                    'publish', groups=[[command]], rate=rate, seconds=seconds))
                time.sleep(0.1)
                arrivals = peer.ask('report')['commands']
                bridge.append(np.array([
                    arrival - stamps[serial] for serial, arrival in arrivals]) / 1e3)
                sent += len(stamps)
                received += len(arrivals)
            rows.append([
                *compared(f'{rate}/s', rate, bridge, bare, goals), sent, sent - received])
    show(
        'command/controls (stamp at publish) to CTRL datagram (kernel receive time at the peer), '
        'beside a bare rclpy hop\nof the same message (reliable, keep last 1, both ends)',
        ('commands', *COMPARED, 'sent', 'merged or lost'), rows)


def load(goals: Goals, seconds: float = usual(4.0, 0.5)) -> None:
    """Measure CPU time and memory at 50 updates/s, all topics subscribed elsewhere."""
    extra = ['sim/time/zulu_time_sec', 'sim/cockpit2/gauges/indicators/altitude_ft_pilot']
    kinds = {topic(name): name for name in (*TOPICS, 'datum', 'datarefs')}
    bare = {topic(name, namespace=BARE): name for name in TOPICS}
    rows = []
    with Peer('xpc') as peer, Peer('subscriber') as subscriber:
        subscriber.ask('open', topics=kinds | bare)
        with running_node(peer, rate=50.0, budget=240.0, datarefs=extra) as node:
            peer.ask('pace', frame_rate=60.0)
            wait(subscriber, *kinds)
            subscriber.ask('report')
            cpu = cpu_percent(node.pid, lambda: time.sleep(seconds))
            counts = {name: len(samples) for name, samples in subscriber.ask('report').items()}
            memory = memory_mb(node.pid)
        rows.append([
            'xpc_node', f'{counts[topic("fix")] / seconds:.1f}',
            f'{sum(counts.values()) / seconds:.0f}', f'{cpu:.1f}', '', '', f'{memory:.0f}', '',
            ''])
        for what, port in (('plain loop', 0), ('the same, polls too', peer.ask('address'))):
            with Peer('publisher') as publisher:
                publisher.ask('open', topics=bare)
                loop = cpu_percent(publisher.process.pid, partial(
                    publisher.ask, 'publish', groups=[list(bare)], rate=50.0, seconds=seconds,
                    port=port))
                bare_memory = memory_mb(publisher.process.pid)
            messages = sum(map(len, subscriber.ask('report').values())) / seconds
            times = memory / bare_memory
            rows.append([
                what, '50.0', f'{messages:.0f}', f'{loop:.1f}', f'{cpu / loop:.2f}',
                '' if port else goals.at_most(cpu / loop, CPU_RATIO), f'{bare_memory:.0f}',
                f'{times:.2f}', '' if port else goals.at_most(times, MEMORY_RATIO)])
    show(
        f'Load at 50 updates/s, {len(kinds)} topics subscribed in another process '
        '(plain loop: the same messages)',
        ('process', 'updates/s', 'messages/s', '% of a core', 'xpc_node / this',
         f'goal <= {CPU_RATIO:g}', 'RSS MB', 'xpc_node / this, RSS', f'goal <= {MEMORY_RATIO:g}'),
        rows)


def throughput(_: Goals, seconds: float = usual(1.5, 0.5)) -> None:
    """Find how many updates per second arrive without loss."""
    rows = []
    fixes = fix_topics(THROUGHPUT_AIRCRAFT)
    bare_fixes = fix_topics(THROUGHPUT_AIRCRAFT, BARE)
    with (
        Peer('xpc') as peer, Peer('publisher') as publisher, Peer('subscriber') as subscriber,
        running_node(peer, range(THROUGHPUT_AIRCRAFT)) as node,
    ):
        peer.ask('pace', frame_rate=IDLE_RATE, updates_per_frame=1)
        subscriber.ask('open', topics=dict.fromkeys(fixes + bare_fixes, 'fix'))
        publisher.ask('open', topics=dict.fromkeys(bare_fixes, 'fix'))
        wait(subscriber, *fixes)
        for rate in THROUGHPUTS:
            subscriber.ask('report')
            begin = time.monotonic()
            bare_sent = len(publisher.ask(
                'publish', groups=[[name] for name in bare_fixes], rate=rate, seconds=seconds))
            bare_rate = bare_sent / (time.monotonic() - begin)
            time.sleep(0.2)
            report = subscriber.ask('report')
            bare_lost = bare_sent - sum(len(report[name]) for name in bare_fixes)
            updates_per_frame = -(-rate // 1000)
            peer.ask(
                'pace', frame_rate=rate / updates_per_frame, updates_per_frame=updates_per_frame)
            time.sleep(0.2)
            peer.ask('report')
            before, begin = cpu_seconds(node.pid), time.monotonic()
            time.sleep(seconds)
            answered = peer.ask('report')['updates']
            length = time.monotonic() - begin
            cpu = 100.0 * (cpu_seconds(node.pid) - before) / length
            peer.ask('pace', frame_rate=IDLE_RATE, updates_per_frame=1)
            time.sleep(0.2)
            report = subscriber.ask('report')
            arrived = {
                (aircraft, frame)
                for aircraft, name in enumerate(fixes) for frame, _, _ in report[name]}
            lost = sum((aircraft, frame) not in arrived for aircraft, frame in answered)
            rows.append([
                f'{rate}/s', f'{len(answered) / length:.0f}', len(answered),
                len(answered) - lost, lost, f'{cpu:.0f}', f'{bare_rate:.0f}',
                bare_sent, bare_lost])
    show(
        f'Highest rate without loss: fix of {THROUGHPUT_AIRCRAFT} aircraft in turn, from the '
        f"peer's replies to a subscriber of another process\n({QOS}; updates/s are what the "
        'session asked for, with 5 at a time in flight)',
        ('offered', 'updates/s', 'sent', 'received', 'lost', '% of a core', 'bare/s', 'bare sent',
         'bare lost'), rows)


def startup(goals: Goals) -> None:
    """Measure the time from a process's start to its first message elsewhere."""
    times, own_times, bare_times = [], [], []
    fix, bare_fix = topic('fix'), topic('fix', namespace=BARE)
    with Peer('xpc') as peer, Peer('subscriber') as subscriber:
        subscriber.ask('open', topics={fix: 'fix', bare_fix: 'fix'})
        for _ in range(STARTS):
            subscriber.ask('report')
            peer.ask('report')
            begin = time.time_ns()
            with running_node(peer, rate=50.0, budget=240.0):
                wait(subscriber, fix)
                times.append((subscriber.ask('report')[fix][0][2] - begin) / 1e9)
                own_times.append((peer.ask('report')['first_at'] - begin) / 1e9)
            bare_times.append(bare_start(subscriber, bare_fix))
    show(
        f'Process start to first message at a waiting subscriber, of {STARTS} starts each (what '
        'follows the first datagram\nis discovery by the middleware, which takes either a moment '
        'or 2 to 3 s)',
        STARTED, started(goals, {
            'xpc_node, first message': times,
            'xpc_node, first datagram to the peer': own_times}, bare_times))


def fleet(goals: Goals, frame_rate: float = 60.0, seconds: float = usual(2.0, 0.5)) -> None:
    """Measure how the cost grows with the number of aircraft, with the package's simulator."""
    rows = []
    frontend = XpcFrontend(UdpEndpoint())
    with running(frontend, make_world=lambda: World(Aircraft()), frame_rate=frame_rate):
        plugin = frontend.plugin.counters
        for aircraft, budget in FLEETS:
            fixes = fix_topics(aircraft)
            with (
                Peer('subscriber') as subscriber,
                running_node(frontend.endpoint.address[1], range(aircraft), 50.0, budget) as node,
            ):
                subscriber.ask('open', topics=dict.fromkeys(fixes, 'fix'))
                wait(subscriber, *fixes)
                time.sleep(1.0)
                resets = plugin.resets
                subscriber.ask('report')
                handled = plugin.handled
                before, begin = cpu_seconds(node.pid), time.monotonic()
                time.sleep(seconds)
                report = subscriber.ask('report')
                handled, length = plugin.handled - handled, time.monotonic() - begin
                cpu = 100.0 * (cpu_seconds(node.pid) - before) / length
                memory = memory_mb(node.pid)
            first, *others = (len(report[name]) / length for name in fixes)
            limit = min(50.0, (budget - 100.0) / -(-(aircraft - 1) // SHARED)) if others else 0.0
            share = min(others) / limit if others else 0.0
            rows.append([
                aircraft, f'{budget:g}', f'{handled / length:.0f}', f'{first:.1f}',
                f'{np.mean(others):.1f}' if others else '', f'{min(others):.1f}' if others else '',
                f'{limit:.1f}' if others else '', f'{share:.2f}' if others else '',
                goals.at_least(share, FLEET_SHARE) if others else '',
                f'{min(50.0, budget / 2 / aircraft):.1f}',
                f'{cpu:.1f}', f'{10 * cpu / (first + sum(others)):.2f}', f'{memory:.0f}',
                plugin.resets - resets])
    show(
        f'Aircraft at rate 50, simulator of {frame_rate:g} frames/s (limit: rate, or the budget '
        f'that the first leaves, at {SHARED} aircraft\nper datagram; one by one: a GETP and a '
        'GETD each, as clients do)',
        ('aircraft', 'datagrams/s allowed', 'used', 'first, updates/s', 'others each', 'slowest',
         'limit', 'of limit', f'goal >= {FLEET_SHARE:g}', 'one by one', '% of a core',
         'ms an update', 'RSS MB', 'resets'), rows)


FIGURES = {
    figure.__name__: figure
    for figure in (latency, commands, load, throughput, startup, fleet, consistency, distance)}


def main(names: Sequence[str] = tuple(FIGURES)) -> int:
    """Print the figures; return 1 if a goal was missed."""
    goals = Goals()
    for name in names:
        FIGURES[name](goals)
    return int(goals.missed > 0)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:] or tuple(FIGURES)))
