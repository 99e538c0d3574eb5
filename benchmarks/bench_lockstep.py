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
Lockstep through ROS: which share of its limit it reaches, and where a frame's time goes.

The limit is a bare ring with the same hops, just before and just after: one datagram there and
back, four messages to the law and one back, in as many processes. Without a recording there are
three processes, simulator, bridge and autopilot (two if simulator_node has the topics itself);
with it also the experiment and its recorder, and it is flown by examples/controllers/minimal.py
too. There the first simulated second is compared with the others.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
import json
from pathlib import Path
import re
from statistics import median
import struct
import subprocess
import sys
from tempfile import TemporaryDirectory
import time
from typing import NamedTuple, TypeVar

from diagnostic_msgs.msg import DiagnosticArray
from mcap.reader import make_reader
from processes import cpu_seconds, executable, parameters
import rclpy
from rclpy.node import Node
from shortest import usual
from tables import Goals, show

from xplane_bridge.bridges.links.unused_ports import free_ports
from xplane_bridge.common.timing import FRAME
from xplane_bridge.laboratory.nodes.fleet import fleet as wanted_of_fleet
from xplane_bridge.laboratory.nodes.flight.bridges import bridge_parameters
from xplane_bridge.laboratory.nodes.flight.processes import executable_path
from xplane_bridge.simulation.peers.registry import SIMULATORS

DIRECT = 'direct'
SIMS = usual(('xpc', 'xplane12', DIRECT), ('xpc',))
FLEETS = usual((1, 2, 5), (1,))
# Shares of the ring, and seconds from the command to the prompt besides the flight.
GOAL_THREE, GOAL_RECORDED, GOAL_OWN, GOAL_BESIDES = 0.4, 0.35, 0.3, 3.0
# The first second, as a multiple of the median of the others.
GOAL_FIRST = 1.2
GOAL_FLEET = 0.3
SETTLING, SECONDS = usual((2.0, 4.0), (0.2, 0.5))
NAMESPACE = '/bench'
_ROOT = Path(__file__).resolve().parents[1]
_RING = _ROOT / 'benchmarks' / 'lockstep_ring.py'
_OWN = f'{sys.executable} {_ROOT / "examples" / "controllers" / "minimal.py"}'
_CLOCK = 'simulated time, s'
_FLOWN = re.compile(r'flown [\d.]+ s in ([\d.]+) s: ([\d.]+) times real time')

# Long enough for first_second().
_SHORT = """
duration: 4.0
events: [{at: 0.0, engage: true}]
criteria: [{figure: duration, at_least: 1.0}]
"""

_T = TypeVar('_T')


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
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
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
        count, end = len(self._heard), time.monotonic() + usual(30.0, 90.0)
        while len(self._heard) == count and time.monotonic() < end:
            rclpy.spin_once(self._node, timeout_sec=0.5)
        return self._heard[count]


def ring_of_fleet(count: int) -> float:
    """Return the mean seconds of a round of the bare ring of a fleet."""
    with ExitStack() as stack:
        others = [stack.enter_context(subprocess.Popen(
            [sys.executable, str(_RING), 'member', str(number)])) for number in range(count)]
        try:
            return float(subprocess.run(
                [sys.executable, str(_RING), 'fleet', str(count)],
                stdout=subprocess.PIPE, text=True, timeout=60.0, check=True).stdout)
        except subprocess.SubprocessError:
            for other in others:
                other.kill()
            raise


def beside_ring(measure: Callable[[], _T], bare: Callable[[], float]) -> tuple[float, _T]:
    """Return the mean seconds of a round of a ring before and after, and what was measured."""
    before = bare()
    found = measure()
    return (before + bare()) / 2.0, found


def nodes_of(sim: str) -> dict[str, dict[str, object]]:
    """Return the executables that fly on a simulator, with their parameters."""
    alike: dict[str, object] = {'lockstep': True, 'seed': 3, 'publish_clock': False}
    autopilot: dict[str, dict[str, object]] = {
        'autopilot_node': {'lockstep': True, 'engage': True}}
    if sim == DIRECT:
        return {'simulator_node': {
            **alike, 'telemetry': 'direct', 'command_timeout': 0.0}, **autopilot}
    simulator = SIMULATORS[sim]
    port, data_port = free_ports(simulator.ports), free_ports(1)
    return {
        'simulator_node': {**alike, 'sim': sim, 'port': port, 'data_port': data_port},
        simulator.protocol.node: bridge_parameters(
            simulator, '127.0.0.1', port, 1.0, True, True, data_port), **autopilot}


def fly_three(sim: str, watch: Watch) -> tuple[float, dict[str, float]]:
    """Return the seconds of a frame, and the CPU seconds of each process."""
    with ExitStack() as stack:
        pids = {name: stack.enter_context(executable(name, *parameters(NAMESPACE, values))).pid
                for name, values in nodes_of(sim).items()}
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
        bare, (frame, cpu) = beside_ring(
            partial(fly_three, sim, watch), partial(ring, recorded=False))
        of_bridge = [seconds for name, seconds in cpu.items()
                     if name not in ('simulator_node', 'autopilot_node')]
        rows.append((
            sim, f'{bare / frame:.2f}', goals.at_least(bare / frame, GOAL_THREE),
            f'{FRAME / frame:.1f}', *(f'{seconds * 1e3:.2f}' for seconds in (
                frame, bare, cpu['simulator_node'])),
            *([f'{seconds * 1e3:.2f}' for seconds in of_bridge] or ['']),
            f'{cpu["autopilot_node"] * 1e3:.2f}'))
    node.destroy_node()
    rclpy.shutdown()
    show('simulator, bridge and autopilot in lockstep at 60 frames/s, as a share of a bare ring '
         'of their hops; ms of wall time, and of CPU of each process, per frame',
         ('', 'of the ring', f'goal >= {GOAL_THREE:g}', 'x real time', 'frame', 'bare ring',
          'simulator', 'bridge', 'autopilot'), rows)


class Flown(NamedTuple):
    """A flight: seconds of a frame, all its seconds but the flight's, and first_second()."""

    frame: float
    besides: float
    first: float


def fly_fleet(count: int, watch: Watch) -> float:
    """Return the seconds of a frame of a fleet, as fleet.launch.py brings it up."""
    given = {'count': count, 'lockstep': True, 'publish_tf': False}
    with ExitStack() as stack:
        for one in wanted_of_fleet(given):
            values = {**one.defaults, **one.parameters}
            stack.enter_context(executable(one.executable, *parameters(
                f'{NAMESPACE}/{one.namespace}'.rstrip('/'),
                {name: value for name, value in values.items() if value != ()})))
        watch.next()
        watch.pass_by(SETTLING)
        begin, flown_from = watch.next()
        watch.pass_by(SECONDS)
        end, flown_to = watch.next()
        return (end - begin) * FRAME / (flown_to - flown_from)


def fleet(goals: Goals) -> None:
    """Benchmark fleets without a wire, as fleet.launch.py brings them up."""
    rclpy.init(args=[])
    node = Node('bench_lockstep')
    watch = Watch(node)
    rows: list[tuple[object, ...]] = []
    flown, before = 0, 0.0
    for count in FLEETS:
        bare, frame = beside_ring(
            partial(fly_fleet, count, watch), partial(ring_of_fleet, count))
        more = (frame - before) / (count - flown)
        flown, before = count, frame
        rows.append((
            count, f'{bare / frame:.2f}', goals.at_least(bare / frame, GOAL_FLEET),
            f'{FRAME / frame:.1f}', f'{frame * 1e3:.2f}', f'{bare * 1e3:.2f}',
            f'{more * 1e3:.2f}'))
    node.destroy_node()
    rclpy.shutdown()
    show('fleets in lockstep at 60 frames/s, simulator_node (telemetry: direct) and a process '
         'of their autopilots, as a share of a bare ring of their hops; ms of wall time per frame',
         ('aircraft', 'of the ring', f'goal >= {GOAL_FLEET:g}', 'x real time', 'frame',
          'bare ring', 'each further one'), rows)


def first_second(flight: str) -> float:
    """
    Return how long the first simulated second took, as a multiple of the others' median.

    It begins with the first command: the state before it waits until all are ready.
    """
    begin = json.loads(Path(f'{flight}.json').read_text(encoding='utf-8'))['begin']
    began: dict[int, float] = {}
    with open(f'{flight}.mcap', 'rb') as stream:
        for _, channel, message in make_reader(stream).iter_messages():
            if channel.topic.endswith('/command/controls'):
                # The stamp is what a serialised message begins with.
                seconds, nanoseconds = struct.unpack_from('<iI', message.data, 4)
                second = int((seconds + nanoseconds * 1e-9 - begin) // 1.0)
                began.setdefault(second, message.publish_time * 1e-9)
    took = [began[n + 1] - began[n] for n in range(max(began))]
    return took[0] / median(took[1:])


def fly_experiment(sim: str, *arguments: str) -> Flown:
    """Fly an experiment."""
    with TemporaryDirectory() as folder:
        scenario = usual('steps', f'{folder}/short.yaml')
        Path(f'{folder}/short.yaml').write_text(_SHORT, encoding='utf-8')
        begin = time.monotonic()
        output = subprocess.run(
            [executable_path('experiment'), '--sim', sim, '--scenario', scenario, '--lockstep',
             '--output', f'{folder}/flight', *arguments],
            stdout=subprocess.PIPE, text=True, timeout=200.0, check=False).stdout
        took = time.monotonic() - begin
        found = _FLOWN.search(output)
        if found is None:
            raise RuntimeError(f'the experiment on {sim} was not flown:\n{output}')
        return Flown(FRAME / float(found[2]), took - float(found[1]),
                     first_second(f'{folder}/flight'))


def flown_experiments(
    goals: Goals, sims: Sequence[str], goal: float, *arguments: str
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the columns and rows of a table of recorded experiments."""
    rows: list[tuple[str, ...]] = []
    for sim in sims:
        bare, flown = beside_ring(
            partial(fly_experiment, sim, *arguments), partial(ring, recorded=True))
        share = bare / flown.frame
        rows.append((
            sim, f'{share:.2f}', goals.at_least(share, goal),
            f'{FRAME / flown.frame:.1f}', f'{FRAME / bare:.1f}', f'{flown.first:.2f}',
            goals.at_most(flown.first, GOAL_FIRST), f'{flown.besides:.1f}',
            goals.at_most(flown.besides, GOAL_BESIDES)))
    return ('', 'of the ring', f'goal >= {goal:g}', 'x real time', 'bare ring', 'first second',
            f'goal <= {GOAL_FIRST:g}', 'besides, s', f'goal <= {GOAL_BESIDES:g}'), rows


def experiment(goals: Goals) -> None:
    """Benchmark whole experiments, recorded."""
    show('experiment --scenario steps --lockstep, recorded, as a share of a bare ring with a '
         'recorder; the first simulated second as a multiple of the others, and what the command '
         'takes besides the flight',
         *flown_experiments(goals, SIMS, GOAL_RECORDED))


def own_controller(goals: Goals) -> None:
    """Benchmark a controller of somebody else's, which rclpy spins."""
    show('the same, flown by examples/controllers/minimal.py',
         *flown_experiments(goals, SIMS[:1], GOAL_OWN, '--controller', _OWN))


def main() -> int:
    """Run all."""
    goals = Goals()
    # The shortest form flies one experiment: the other differs in its arguments.
    for figure in (three, fleet, *usual((experiment,), ()), own_controller):
        figure(goals)
    return int(goals.missed > 0)


if __name__ == '__main__':
    sys.exit(main())
