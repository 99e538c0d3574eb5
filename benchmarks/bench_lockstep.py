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
Lockstep through ROS: how many times real time, and where a frame's time goes.

Without a recording there are three processes: simulator, bridge and autopilot; with it also the
experiment and its recorder. The limit of each is a bare ring with the same
hops: one datagram there and back, four messages to the law and one back, in as many processes.
"""

from contextlib import ExitStack
from pathlib import Path
import re
import subprocess
import sys
from tempfile import TemporaryDirectory
import time

from diagnostic_msgs.msg import DiagnosticArray
from processes import cpu_seconds, executable, parameters
import rclpy
from rclpy.node import Node
from tables import Goals, show

from xplane_bridge.common.timing import FRAME
from xplane_bridge.nodes.flight.bridges import bridge_parameters, free_ports
from xplane_bridge.nodes.flight.processes import executable_path
from xplane_bridge.simulators.registry import SIMULATORS

SIMS = ('xpc', 'xplane12')
GOAL_THREE, GOAL_EXPERIMENT = 12.0, 8.0
SETTLING, SECONDS = 5.0, 6.0
NAMESPACE = '/bench'
_RING = Path(__file__).parent / 'lockstep_ring.py'
_CLOCK = 'ROS time, s'
_FACTOR = re.compile(r'([\d.]+) times real time')


def ring(recorded: bool) -> float:
    """Return the mean seconds of a round of the bare ring."""
    port = str(free_ports(1))
    roles = ['echo', 'law', *(['recorder'] if recorded else [])]
    others = [subprocess.Popen([sys.executable, str(_RING), role, port]) for role in roles]
    try:
        output = subprocess.run(
            [sys.executable, str(_RING), 'recorded_link' if recorded else 'link', port],
            stdout=subprocess.PIPE, text=True, timeout=60.0, check=True).stdout
    finally:
        for other in others:
            try:
                other.wait(5.0)
            except subprocess.TimeoutExpired:
                other.kill()
    return float(output)


class Watch:
    """The simulated time of a flight, by the bridge's diagnostics: one message per second."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._heard: list[tuple[float, float]] = []
        node.create_subscription(DiagnosticArray, '/diagnostics', self._hear, 10)

    def _hear(self, message: DiagnosticArray) -> None:
        self._heard += [
            (time.monotonic(), float(item.value)) for status in message.status
            for item in status.values if item.key == _CLOCK]

    def pass_by(self, seconds: float) -> None:
        """Hear everything for some seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            rclpy.spin_once(self._node, timeout_sec=left)

    def next(self) -> tuple[float, float]:
        """Return when a simulated time was reported next, and that time."""
        count, end = len(self._heard), time.monotonic() + 30.0
        while len(self._heard) == count and time.monotonic() < end:
            rclpy.spin_once(self._node, timeout_sec=0.5)
        return self._heard[count]


def fly_three(sim: str, watch: Watch) -> tuple[float, dict[str, float]]:
    """Return the seconds of a frame of three processes, and the CPU seconds of each."""
    simulator = SIMULATORS[sim]
    port, data_port = free_ports(simulator.ports), free_ports(1)
    given = {
        'simulator_node': {
            'sim': sim, 'port': port, 'data_port': data_port, 'lockstep': True, 'seed': 3,
            'publish_clock': False},
        simulator.protocol.node: bridge_parameters(
            simulator, '127.0.0.1', port, 1.0, True, True, data_port),
        'autopilot_node': {'lockstep': True, 'engage': True},
    }
    with ExitStack() as stack:
        pids = {name: stack.enter_context(executable(name, *parameters(NAMESPACE, values))).pid
                for name, values in given.items()}
        watch.next()
        watch.pass_by(SETTLING)
        begin, flown_from = watch.next()
        before = {name: cpu_seconds(pid) for name, pid in pids.items()}
        watch.pass_by(SECONDS)
        end, flown_to = watch.next()
        frames = (flown_to - flown_from) / FRAME
        return (end - begin) / frames, {
            name: (cpu_seconds(pid) - before[name]) / frames for name, pid in pids.items()}


def three(goals: Goals) -> None:
    """Benchmark simulator, bridge and autopilot."""
    rclpy.init(args=[])
    node = Node('bench_lockstep')
    watch = Watch(node)
    rows = []
    for sim in SIMS:
        bare = ring(recorded=False)
        frame, cpu = fly_three(sim, watch)
        rows.append((
            sim, f'{FRAME / frame:.1f}', goals.at_least(FRAME / frame, GOAL_THREE),
            f'{FRAME / bare:.1f}', *(f'{seconds * 1e3:.2f}' for seconds in (frame, bare)),
            *(f'{seconds * 1e3:.2f}' for seconds in cpu.values())))
    node.destroy_node()
    rclpy.shutdown()
    show('three processes in lockstep at 60 frames/s, and a bare ring of their hops; ms of wall '
         'time, and of CPU of each process, per frame',
         ('', 'x real time', f'goal {GOAL_THREE:g}', 'bare ring', 'frame', 'bare ring',
          'simulator', 'bridge', 'autopilot'), rows)


def experiment(goals: Goals) -> None:
    """Benchmark a whole experiment, recorded."""
    rows = []
    for sim in SIMS:
        bare = ring(recorded=True)
        with TemporaryDirectory() as folder:
            output = subprocess.run(
                [executable_path('experiment'), '--sim', sim, '--scenario', 'steps', '--lockstep',
                 '--output', f'{folder}/flight'],
                stdout=subprocess.PIPE, text=True, timeout=200.0, check=False).stdout
        found = _FACTOR.search(output)
        factor = float(found[1]) if found else 0.0
        rows.append((sim, f'{factor:.1f}', goals.at_least(factor, GOAL_EXPERIMENT),
                     f'{FRAME / bare:.1f}'))
    show('experiment --scenario steps --lockstep, recorded, five processes; and a bare ring with '
         'a recorder',
         ('', 'x real time', f'goal {GOAL_EXPERIMENT:g}', 'bare ring'), rows)


def main() -> int:
    """Run both."""
    goals = Goals()
    for figure in (three, experiment):
        figure(goals)
    return int(goals.missed > 0)


if __name__ == '__main__':
    sys.exit(main())
