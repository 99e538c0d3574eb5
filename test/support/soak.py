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
Soak test: a node and a simulator for minutes or hours, with restarts, freezes, floods and loss.

``make soak MINUTES=10 [PROTOCOL=xpc]`` runs ``python3 test/support/soak.py 10 xpc``. For each
protocol it prints how long telemetry took to recover and what the node's process holds at start
and end. It exits with 1 if something grows, does not recover, or is reported without bound. The
simulator is killed and stopped by signals; relay.py, between the two, drops datagrams and adds
mutants. In place of a protocol, ``files`` reads mutants of strangers' files (fuzz_files.py), and
``programs`` runs programs on crafted tables, with links and on full disks (strange_runs.py).
"""

from collections import Counter
from contextlib import ExitStack, suppress
import os
from pathlib import Path
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

# As a script it has only its own folder on the path.
sys.path.extend(str(Path(__file__).resolve().with_name(name)) for name in ('peers', 'ros'))

from diagnostic_msgs.msg import DiagnosticArray
from fuzz import is_fit_for_people
import fuzz_files
from nav_msgs.msg import Odometry
import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.task import Future
from relay import PtyRelay, UdpRelay
import strange_runs
from trends import Figure, grew, percentile, slope_per_hour

from harness import free_port
from xplane_bridge.bridges.nodes.common.spinning import spin_until
from xplane_bridge.bridges.protocols.registry import PROTOCOLS
from xplane_bridge.laboratory.nodes.flight.processes import executable_path
from xplane_bridge.msg import SimpitAltitude, UlyssixPacket

INCIDENTS = ('restart', 'freeze', 'drop', 'half drop', 'flood')
# Duration of an incident and of the quiet time after it, in seconds.
SHORTEST, LONGEST = 0.5, 5.0
PEACE = 2.0
# Telemetry that is not back after this long will not come back.
PATIENCE = 45.0
FILES, PROGRAMS = 'files', 'programs'
SAMPLE_PERIOD = 1.0
# Mutants per second in a flood, from the peer's own port and from strangers.
MUTANTS, STRANGERS = 1000, 500
# The bounds of the node's log and diagnostics (base.py of bridges/nodes/common).
LINES_PER_SECOND, MOST_VALUES, LONGEST_TEXT = 11.0, 64, 1100
# Before this, a process is still growing to its working size.
SHORTEST_TREND = 60.0
# How much two quarters of a run may differ without counting as growth.
NOISE = {'resident memory, MB': 4.0, 'descriptors': 8.0, 'threads': 1.0}
_PAGE = os.sysconf('SC_PAGE_SIZE')


class Simulator:
    """A simulator's process, which can be killed, restarted, stopped and continued."""

    def __init__(self, arguments, leaves=None):
        # A link left behind by a killed one: the pseudo-terminal may be another's by then.
        self._leaves = leaves
        self._command = [executable_path('simulator'), *arguments]
        self._process = None

    def start(self):
        """Start the simulator and wait until it flies."""
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit('the simulator did not start')
        # It prints few more lines, and the pipe has room for them.

    def signal(self, number):
        """Send the process a signal."""
        self._process.send_signal(number)

    def kill(self):
        """Kill the process, as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()
            self._process = None
            if self._leaves is not None:
                self._leaves.unlink(missing_ok=True)


class Node:
    """A node's process, how much it holds and how much it writes."""

    def __init__(self, protocol, parameters):
        self.lines = 0
        self.said = Counter()
        self._process = subprocess.Popen(
            [executable_path(f'{protocol}_node'), '--ros-args', '-r', '__ns:=/soak', *(
                argument for name, value in parameters.items()
                for argument in ('-p', f'{name}:={value}'))],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors='replace')
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self.lines += 1
            # Without the time and the numbers.
            said = re.sub(r'[0-9][0-9.e+-]*', '#', line.partition(']: ')[2] or line).strip()
            if said in self.said or len(self.said) < 100:
                self.said[said[:150]] += 1

    @property
    def alive(self):
        """Return whether the process is running."""
        return self._process.poll() is None

    def holds(self):
        """Return what the process holds, by the names of NOISE."""
        process = Path(f'/proc/{self._process.pid}')
        resident = int((process / 'statm').read_text().split()[1]) * _PAGE / 1e6
        return dict(zip(NOISE, (
            resident, len(list((process / 'fd').iterdir())),
            len(list((process / 'task').iterdir()))), strict=True))

    def end(self):
        """Stop it as Ctrl-C does; return how long that took."""
        began = time.monotonic()
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        return time.monotonic() - began


class Listener:
    """Receive the node's telemetry and diagnostics."""

    def __init__(self, topic, kind):
        self.heard = 0
        self.most_values = self.longest_text = 0
        self.raw = ''
        self._condition = threading.Condition()
        self._node = rclpy.create_node('soak_listener')
        self._node.create_subscription(kind, f'/soak/{topic}', self._on_message, 10)
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._look, 10)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._stop = Future(executor=self._executor)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self):
        with suppress(ExternalShutdownException):
            spin_until(self._executor, self._stop)

    def _on_message(self, _):
        with self._condition:
            self.heard += 1
            self._condition.notify_all()

    def _look(self, array):
        for status in array.status:
            self.most_values = max(self.most_values, len(status.values))
            for text in (status.message, *(
                    text for value in status.values for text in (value.key, value.value))):
                self.longest_text = max(self.longest_text, len(text))
                if not is_fit_for_people(text, LONGEST_TEXT):
                    self.raw = text

    def wait(self, count, patience=PATIENCE):
        """Wait for that many new messages; return how long the first took, or None."""
        began = time.monotonic()
        first = None
        with self._condition:
            before = self.heard
            while self.heard < before + count:
                if not self._condition.wait(began + patience - time.monotonic()):
                    return None
                first = first or time.monotonic() - began
        return first

    def close(self):
        """Shut down."""
        self._stop.set_result(None)
        self._thread.join()
        self._executor.shutdown()
        self._node.destroy_node()


def set_up(protocol, folder, stack):
    """Return a simulator, a relay, the node's parameters and its telemetry topic."""
    port, other, third = free_port(), free_port(), free_port()
    local = '127.0.0.1'
    if protocol == 'simpit':
        far, near = folder / 'far', folder / 'near'
        return Simulator(['simpit', '--port', f'pty:{far}'], leaves=far), stack.enter_context(
            PtyRelay('simpit', far, near)), {'port': near}, ('altitude', SimpitAltitude)
    if protocol == 'ulyssix':
        relay = stack.enter_context(UdpRelay('ulyssix', (local, port), towards_node=True))
        return Simulator(['ulyssix', '--port', str(relay.port)]), relay, {
            'port': port, 'sender': local}, ('packets', UlyssixPacket)
    relay = stack.enter_context(UdpRelay(protocol, (local, port)))
    if protocol == 'fdmdata':
        return Simulator([
            'fdmdata', '--port', str(port), '--controls-port', str(other), '--rpc-port',
            str(third)]), relay, {
                'data_port': relay.port, 'controls_port': other, 'rpc_port': third}, (
                    'odom', Odometry)
    arguments = [protocol, '--port', str(port), '--no-beacon']
    parameters = {'port': relay.port}
    if protocol == 'xplane_udp':
        parameters['data_port'] = other
    return Simulator(arguments), relay, parameters, ('odom', Odometry)


class Soak:
    """One protocol's run."""

    def __init__(self, protocol, minutes, seed, folder, stack):
        self._random = random.Random(seed)
        self._protocol = protocol
        self._seconds = 60.0 * minutes
        self.simulator, self.relay, parameters, topic = set_up(protocol, folder, stack)
        stack.callback(self.simulator.kill)
        self.simulator.start()
        self.listener = Listener(*topic)
        stack.callback(self.listener.close)
        self.node = Node(protocol, parameters)
        stack.callback(self.node.end)
        self._next = []
        self.recoveries = []
        self.samples = []
        self.failures = []

    def run(self):
        """Trigger incidents until the time is up."""
        if self.listener.wait(5) is None:
            self.failures.append(f'no telemetry within {PATIENCE:g} s of the start')
            return
        self._began = time.monotonic()
        self._sample()
        while not self.failures and time.monotonic() - self._began < self._seconds:
            if not self._next:
                # Each as often as the others, in random order.
                self._next = self._random.sample(INCIDENTS, len(INCIDENTS))
            kind = self._next.pop()
            self._let_happen(kind, self._random.uniform(SHORTEST, LONGEST))
            came_back = self.listener.wait(5)
            if not self.node.alive:
                self.failures.append(f'the node ended in a {kind}')
            elif came_back is None:
                self.failures.append(
                    f'telemetry did not come back within {PATIENCE:g} s of a {kind}')
            else:
                self.recoveries.append((kind, came_back))
                self._pass(PEACE)

    def _let_happen(self, kind, seconds):
        if kind == 'restart':
            self.simulator.kill()
            self._pass(seconds)
            self.simulator.start()
        elif kind == 'freeze':
            self.simulator.signal(signal.SIGSTOP)
            self._pass(seconds)
            self.simulator.signal(signal.SIGCONT)
        elif kind == 'flood':
            self.relay.mutants, self.relay.strangers = MUTANTS, STRANGERS
            self._pass(seconds)
            self.relay.mutants = self.relay.strangers = 0.0
        else:
            self.relay.loss = 1.0 if kind == 'drop' else 0.5
            self._pass(seconds)
            self.relay.loss = 0.0

    def _pass(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            time.sleep(min(left, SAMPLE_PERIOD))
            if self.node.alive:
                self._sample()

    def _sample(self):
        self.samples.append((time.monotonic() - self._began, self.node.holds()))

    def report(self):
        """Print the figures; return what is wrong."""
        elapsed = self.samples[-1][0] if self.samples else 0.0
        print(f'\n=== {self._protocol}: {elapsed:.0f} s, {len(self.recoveries)} incidents, '
              f'{self.relay.added} mutants, {self.listener.heard} messages of telemetry')
        print(f'{"back after, s":24}{"count":>8}{"50 %":>8}{"95 %":>8}{"most":>8}')
        for kind in (*INCIDENTS, 'all'):
            times = [took for each, took in self.recoveries if kind in (each, 'all')]
            if times:
                print(f'{kind:24}{len(times):8}' + ''.join(
                    f'{percentile(times, part):8.2f}' for part in (50, 95, 100)))
        if self.samples:
            print(f'{"of the process":24}{"start":>8}{"end":>8}{"per hour":>10}')
        for name, noise in NOISE.items():
            figure = Figure([(at, holds[name]) for at, holds in self.samples])
            if not figure.values:
                continue
            print(f'{name:24}{figure.values[0]:8.1f}{figure.values[-1]:8.1f}'
                  f'{slope_per_hour(figure):+10.1f}')
            if elapsed >= SHORTEST_TREND and grew(figure, noise):
                self.failures.append(f'{name} grew from one quarter of the time to the next')
        self._judge_words(elapsed)
        return self.failures

    def _judge_words(self, elapsed):
        """Print the volume of log and diagnostics; record what was excessive."""
        print(f'{self.node.lines} log lines, {self.node.lines / max(elapsed, 1.0):.2f} per second;'
              f' at most {self.listener.most_values} values in a status, the longest text '
              f'{self.listener.longest_text} characters')
        for said, count in self.node.said.most_common(8):
            print(f'{count:6} x {said}')
        if self.node.lines > LINES_PER_SECOND * (elapsed + 10.0):
            self.failures.append('the log has too many lines')
        if self.listener.most_values > MOST_VALUES or self.listener.longest_text > LONGEST_TEXT:
            self.failures.append('the diagnostics are too large')
        if self.listener.raw:
            self.failures.append(f'the diagnostics have a raw text: {self.listener.raw!r}')


def soak(protocol, minutes, seed):
    """Run one protocol; return what is wrong."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        run = Soak(protocol, minutes, seed, folder, stack)
        run.run()
        failures = run.report()
        took = run.node.end() if run.node.alive else 0.0
        print(f'ended {took:.2f} s after Ctrl-C')
        for failure in failures:
            print(f'FAILED: {failure}')
        return failures


def soak_files(minutes):
    """Read mutants of every kind of file for that long; return the kinds that failed."""
    failures, seed, end = set(), 1, time.monotonic() + 60.0 * minutes
    while time.monotonic() < end:
        for kind in fuzz_files.KINDS:
            with tempfile.TemporaryDirectory() as folder:
                if fuzz_files.run_apart(kind, seed, 200, folder):
                    print(f'FAILED: fuzz_files.py {kind} {seed} 200', file=sys.stderr)
                    failures.add(kind)
        seed += 1
    return sorted(failures)


def main(arguments):
    """Run the named protocols, strangers' files or programs, by default all of them."""
    minutes = float(arguments[0]) if arguments else 10.0
    known = (*PROTOCOLS, FILES, PROGRAMS)
    seed = int(os.environ.get('SOAK_SEED', '1'))
    chosen = arguments[1:] or known
    if unknown := set(chosen) - set(known):
        print(f'no protocol {", ".join(unknown)}; there are: {", ".join(known)}',
              file=sys.stderr)
        return 2
    protocols = [name for name in chosen if name in PROTOCOLS]
    os.environ.setdefault('ROS_DOMAIN_ID', '98')
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    rclpy.init()
    try:
        load = ' '.join(f'{average:.2f}' for average in os.getloadavg())
        print(f'{minutes:g} minutes of each of {", ".join(chosen)}; load before: {load}')
        failures = [failure for protocol in protocols
                    for failure in soak(protocol, minutes, seed)]
        if FILES in chosen:
            failures += soak_files(minutes)
        if PROGRAMS in chosen and strange_runs.soak(minutes, seed):
            failures.append(PROGRAMS)
        return 1 if failures else 0
    finally:
        rclpy.try_shutdown()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
