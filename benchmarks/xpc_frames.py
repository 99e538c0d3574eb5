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

"""Consistency of xpc's states: the session's, beside those of a loop of blocking calls."""

import re
import socket
import subprocess
import time
from typing import Any

import numpy as np
from processes import executable
from shortest import usual
from tables import Goals, show

from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.links.loop import UdpLoop
from xplane_bridge.bridges.links.udp import UdpSocket
from xplane_bridge.bridges.protocols.base import Message
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.conversion import LocalAxes
from xplane_bridge.bridges.xpc.session import Polled, Telemetry, XpcSession

# Goals.
SHARE_OF_FRAMES = 0.96
FRAME_RATES = usual((60.0, 30.0), (60.0,))


class PolledStates:
    """The states that our session obtains from a peer, for as long as the context lasts."""

    def __init__(self, port: int, rate: float = 0.0) -> None:
        self.updates: list[Telemetry] = []
        polled = Polled(
            (*xplane.OWN_DATAREFS, *xplane.LOCAL_PLACE), xplane.OWN_PLACE,
            LocalAxes().make_pose_reader(0))
        session = XpcSession({0: polled}, rate=rate, hears_beacons=False)
        self._link = UdpLoop(
            session, lambda _: UdpSocket(peer=('127.0.0.1', port), sender='127.0.0.1'),
            self._take, lambda error: None)
        self._link.start()
        self._link.call(session.start)

    def _take(self, event: object, stamp_ns: int) -> None:
        if isinstance(event, Telemetry):
            self.updates.append(event)

    def __enter__(self) -> 'PolledStates':
        return self

    def __exit__(self, *_: object) -> None:
        self._link.close()


ATTITUDE = [f'sim/flightmodel/position/{name}' for name in ('theta', 'phi', 'psi')]


def same_frame(update: Telemetry) -> bool:
    """
    Return whether both replies of an update show the same attitude, to the last bit.

    The session compares positions; in flight the attitude changes with each frame as well.
    """
    pitch, roll, heading = (update.values[name] for name in ATTITUDE)
    position = update.pose
    return (pitch, roll, heading) == (position.pitch, position.roll, position.heading)


class BlockingClient:
    """A client that sends a request, waits for its reply, and only then sends the next."""

    def __init__(self, port: int, calls: int) -> None:
        where = 'sim/flightmodel/position/'
        timed = [xplane.TIME, where + 'local_vx', where + 'local_vy', where + 'local_vz']
        requests: list[xpc.Request] = [
            xpc.GetDatarefs(tuple(timed)), xpc.GetPosition(), xpc.GetControls(),
            xpc.GetDatarefs((where + 'P', where + 'Q', where + 'R')),
            xpc.GetDatarefs((xplane.TIME, 'sim/flightmodel/forces/g_nrml')),
        ]
        self._requests = [xpc.encode(message) for message in requests[:calls - 1] + requests[-1:]]
        self._port = port
        self.spreads_ms: list[float] = []
        self.timeouts = 0

    def run(self, seconds: float) -> None:
        """Request whole states, one call after the other, for a while."""
        end = time.monotonic() + seconds
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
            link.settimeout(0.1)
            link.connect(('127.0.0.1', self._port))
            while time.monotonic() < end:
                try:
                    first, *_, last = [self._call(link, request) for request in self._requests]
                except TimeoutError:
                    self.timeouts += 1
                    continue
                assert isinstance(first, xpc.Datarefs)
                assert isinstance(last, xpc.Datarefs)
                self.spreads_ms.append(1e3 * (last.rows[0][0] - first.rows[0][0]))

    @staticmethod
    def _call(link: socket.socket, request: bytes) -> Message:
        link.send(request)
        return xpc.decode(link.recv(4096), 'peer')


def simulator(frame_rate: float, *options: str) -> Any:
    """Run the package's simulator with an aircraft in flight."""
    return executable(
        'simulator', 'xpc', '--port', '0', '--no-beacon', '--frame-rate', f'{frame_rate:g}',
        *options, output=subprocess.PIPE)


def port_of(process: subprocess.Popen[str]) -> int:
    """Return the port that a simulator reports to listen on."""
    assert process.stdout
    line = process.stdout.readline()
    found = re.search(r':(\d+),', line)
    if found is None:
        raise RuntimeError(f'the simulator said: {line}')
    return int(found[1])


def consistency(goals: Goals, seconds: float = usual(2.0, 0.3)) -> None:
    """Measure how many states per second are complete, and the time skew of their parts."""
    rows: list[list[object]] = []
    for frame_rate in FRAME_RATES:
        with simulator(frame_rate) as process:
            port = port_of(process)
            with PolledStates(port) as states:
                time.sleep(0.5)
                first = len(states.updates)
                time.sleep(seconds)
                updates = states.updates[first:]
            rate = len(updates) / seconds
            whole = sum(map(same_frame, updates))
            spread = 0.0 if whole == len(updates) else 1e3 / frame_rate
            # Those that are not whole do not count.
            share = whole / seconds / frame_rate
            rows.append([
                f'{frame_rate:g} frames/s, this session', f'{rate:.1f}', f'{share:.2f}',
                goals.at_least(share, SHARE_OF_FRAMES), f'{spread:.0f}', f'{spread:.0f}',
                f'{whole} of {len(updates)}', 0])
            for calls in (4, 5):
                client = BlockingClient(port, calls)
                client.run(seconds / 2.0)
                spreads = client.spreads_ms
                rows.append([
                    f'{frame_rate:g} frames/s, loop of {calls} calls',
                    f'{2.0 * len(spreads) / seconds:.1f}', '', '', f'{np.median(spreads):.0f}',
                    f'{max(spreads):.0f}', f'{sum(s == 0.0 for s in spreads)} of {len(spreads)}',
                    client.timeouts])
    show(
        'Whole states (one update of all parts) and the simulated time between their parts, '
        "from the package's simulator",
        ('peer and client', 'updates/s', 'of frames, whole', f'goal >= {SHARE_OF_FRAMES:g}',
         'spread ms', 'worst ms', 'of one frame', 'timeouts'), rows)
