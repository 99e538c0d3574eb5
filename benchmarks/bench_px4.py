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
Samples per second of the simulated X-Plane for PX4's module, beside what loopback gives.

The simulator runs in a process of its own, and this one subscribes to the sixteen values of PX4's
module (docs/wire/xplane_udp.md, section 9) and answers each sample with seven writes. The limit,
in turn with it, is a bare process that sends datagrams of the same size when they are due, and
none of those that it missed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
import itertools
import socket
import struct
import subprocess
import sys
import time

import numpy as np
from processes import cpu_seconds
from shortest import usual
from tables import Goals, show

ROUNDS = usual(3, 1)
SECONDS = usual(2.0, 0.2)
# Samples asked for per second, and frames per second.
RATES = usual(((100, 200), (250, 500)), ((100, 200),))
SHARE_OF_LIMIT = 0.95
_P, _F = 'sim/flightmodel/position/', 'sim/flightmodel/forces/'
_VALUES = (
    *(_P + name for name in ('Prad', 'Qrad', 'Rrad')),
    *(_F + name for name in ('g_axil', 'g_side', 'g_nrml')),
    *(_P + name for name in ('local_vx', 'local_vy', 'local_vz', 'latitude', 'longitude',
                             'elevation', 'theta', 'phi', 'psi')))
_WRITES = [b'DREF\0' + struct.pack('<f500s', value, name.encode()) for name, value in (
    ('sim/operation/override/override_flightcontrol', 1.0),
    ('sim/flightmodel/engine/ENGN_thro_use[0]', 0.7),
    ('sim/flightmodel/controls/wing1l_ail1def', 0.0),
    ('sim/flightmodel/controls/wing1r_ail1def', 0.0),
    ('sim/flightmodel/controls/hstab1_elv1def', -1.0),
    ('sim/flightmodel/controls/hstab2_elv1def', -1.0),
    ('sim/flightmodel/controls/vstab1_rud1def', 0.0))]
_SIZE = 5 + 8 * len(_VALUES)
# Sends to its own last correspondent; what comes back is read, as the simulator does.
_BARE = f"""
import socket, sys, time
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
link.bind(('127.0.0.1', 0))
print(link.getsockname()[1], flush=True)
_, to = link.recvfrom(600)
link.setblocking(False)
period = 1.0 / float(sys.argv[1])
due, count = time.monotonic() + period, 0
while True:
    time.sleep(max(0.0, due - time.monotonic()))
    # What is missed is not sent later: a simulator shows the present.
    due += period * (1 + int((time.monotonic() - due) / period))
    try:
        while True:
            link.recvfrom(600)
    except BlockingIOError:
        pass
    count += 1
    link.sendto(b'RREF,' + count.to_bytes({_SIZE - 5}, 'little'), to)
"""


class Client:
    """PX4's module: receives samples, answers each, and notes when it came."""

    def __init__(self) -> None:
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.bind(('127.0.0.1', 0))
        self.link.settimeout(10.0)

    def subscribe(self, port: int, rate: int) -> None:
        """Ask for all values from X-Plane."""
        for code, name in enumerate(_VALUES):
            self.link.sendto(b'RREF\0' + struct.pack('<II400s', rate, code, name.encode()),
                             ('127.0.0.1', port))

    def fly(self, port: int, seconds: float) -> tuple[list[float], int]:
        """Return the arrivals of ``seconds``, and how many samples differ from the one before."""
        arrivals: list[float] = []
        last, different = b'', 0
        begin = time.monotonic()
        while time.monotonic() < begin + seconds:
            data = self.link.recv(4096)
            if len(data) != _SIZE:
                continue
            arrivals.append(time.monotonic())
            different += data != last
            last = data
            for write in _WRITES:
                self.link.sendto(write, ('127.0.0.1', port))
        return arrivals, different


@contextmanager
def _process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, '-u', *arguments], stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline()


def rates(goals: Goals, rounds: int = ROUNDS) -> None:
    """Measure how many samples come, how evenly, how many are new, and what they cost."""
    rows = []
    for rate, frames in RATES:
        ours: list[list[float]] = []
        bare: list[list[float]] = []
        new = count = 0
        cost = 0.0
        with (
            _process('-m', 'xplane_bridge', 'simulator', 'xplane12', '--for', 'px4', '--port', '0',
                     '--send-port', '0', '--no-beacon', '--frame-rate', str(frames)) as simulator,
            _process('-c', _BARE, str(rate)) as sender,
        ):
            port = int(_line(simulator).split(':')[1].split(',')[0])
            other = int(_line(sender))
            # Each has a client of its own, so that neither's datagrams wait for the other's turn.
            client, beside = Client(), Client()
            client.subscribe(port, rate)
            beside.link.sendto(_WRITES[0], ('127.0.0.1', other))
            for _ in range(rounds):
                _drain(beside)
                bare.append(beside.fly(other, SECONDS)[0])
                _drain(client)
                before = cpu_seconds(simulator.pid)
                arrivals, different = client.fly(port, SECONDS)
                cost += cpu_seconds(simulator.pid) - before
                ours.append(arrivals)
                new, count = new + different, count + len(arrivals)
        ours_rate, bare_rate = (
            sum(map(len, one)) / rounds / SECONDS for one in (ours, bare))
        rows.append([
            f'{rate}/s of {frames} frames/s', f'{bare_rate:.1f}', f'{ours_rate:.1f}',
            f'{ours_rate / bare_rate:.3f}', goals.at_least(ours_rate / bare_rate, SHARE_OF_LIMIT),
            f'{new / count:.3f}', f'{_p99_ms(bare):.2f}', f'{_p99_ms(ours):.2f}',
            f'{100.0 * cost / rounds / SECONDS:.0f}'])
    show(
        f'Samples of {len(_VALUES)} values from the simulated X-Plane, each answered with '
        f'{len(_WRITES)} writes, beside a bare\nprocess that sends datagrams of the same size '
        f'({SECONDS:g} s each, in turn, {rounds} times)',
        ('asked for', 'bare, 1/s', 'simulator, 1/s', 'of bare', f'goal >= {SHARE_OF_LIMIT:g}',
         'new', 'bare, p99 gap ms', 'simulator, p99 gap ms', '% of a core'), rows)


def _drain(client: Client) -> None:
    client.link.setblocking(False)
    try:
        while True:
            client.link.recv(4096)
    except BlockingIOError:
        client.link.settimeout(10.0)


def _p99_ms(rounds: list[list[float]]) -> float:
    gaps = [later - earlier for one in rounds for earlier, later in itertools.pairwise(one)]
    return float(np.percentile(gaps, 99)) * 1e3


def main() -> int:
    """Print the figures; return 1 if a goal was missed."""
    goals = Goals()
    rates(goals)
    return int(goals.missed > 0)


if __name__ == '__main__':
    sys.exit(main())
