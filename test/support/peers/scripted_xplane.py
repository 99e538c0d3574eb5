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

"""A scripted X-Plane and a session with it, in simulated time."""

import itertools
import math
import struct

from xplane_bridge.bridges.sessions.base import PeerState
from xplane_bridge.bridges.xplane_udp.session import (
    BEACON_CHANNEL,
    Sources,
    Wire,
    XplaneUdpSession,
)
from xplane_bridge.bridges.xplane_udp.session.requests.aircraft import POSITION

START = 1000.0
FRAME = 0.016
PEER = ('10.0.0.2', 49000)
LAT, LON, ELE = POSITION
NAMES = (LAT, LON, ELE, 'frame', 'g')
SOURCES = Sources(
    dict.fromkeys((10, 11, 12), NAMES),
    {6: (17, 18), 7: (16, 18), 8: (18, 20), 9: (18, 20), 10: (17, 20), 11: (17, 20),
     12: (17, 20)})
INTERNAL = 'sim/version/xplane_internal_version'
TIME = 'sim/time/total_running_time_sec'
PAUSED = 'sim/time/paused'
OVERRIDE = 'sim/operation/override/override_joystick'
PLANEPATH = 'sim/operation/override/override_planepath[0]'
YOKES = tuple(f'sim/joystick/yoke_{axis}_ratio' for axis in ('pitch', 'roll', 'heading'))
TOE_BRAKES = 'sim/operation/override/override_toe_brakes'
BRAKES = tuple(f'sim/cockpit2/controls/{side}_brake_ratio' for side in ('left', 'right'))
WRITTEN = (PAUSED, OVERRIDE, PLANEPATH, *YOKES, TOE_BRAKES, *BRAKES)
# Besides its time and its version.
REPORTED = 2 + len(WRITTEN)


def latitude(frame):
    """Return a latitude that encodes the frame, even as a float32."""
    return 40.0 + (frame % 2**18) / 2**14


class XPlane:
    """X-Plane as docs/wire/xplane_udp.md describes it, every byte packed here by hand."""

    def __init__(self, version=12, aligned=True, drift=0.0):
        self.version = version
        self.aligned = aligned
        self.drift = drift
        self.values = {LAT: lambda: latitude(self.frame), LON: lambda: 8.0,
                       ELE: lambda: 500.0, 'frame': lambda: float(self.frame),
                       'g': lambda: 1.0, TIME: lambda: self.time,
                       **{name: lambda name=name: self.written.get(name, 0.0)
                          for name in WRITTEN},
                       'other': lambda: 7.0, 'array[2]': lambda: 2.0,
                       **{f'n{n}': lambda n=n: float(n) for n in range(200)}}
        if version >= 11:
            self.values[INTERNAL] = lambda: version * 10000.0 + 1
        self.on = True
        self.most = 183
        self.frame = 0
        self.ticked = set()
        self.received = []
        self.times = []
        self.restart()
        self.time = 500.0

    def restart(self):
        """Start another run, with the rows that its user has ticked."""
        self.rref = {}
        self.rpos = {}
        self.rows = set(self.ticked)
        self.target = self.version < 9
        self.written = {}
        self.time = 0.0

    def tick(self, *rows):
        """Let the user tick rows, in this run and later ones."""
        self.ticked |= set(rows)
        self.rows |= set(rows)

    def handle(self, channel, data, now):
        if not self.on:
            return
        self.times.append(now)
        self.received.append((channel, data))
        tag, body = data[:4], data[5:]
        if tag == b'RREF' and self.version >= 10:
            assert len(data) == 413
            freq, index = struct.unpack_from('<ii', body)
            name = body[8:].split(b'\0')[0].decode()
            self.rref.pop((channel, index), None)
            if freq and name in self.values:
                self.rref[channel, index] = [name, freq, now]
        elif tag == b'RPOS' and self.version >= 10:
            rate = struct.unpack('<i', body)[0] if self.version == 10 else int(body[:-1])
            self.rpos[channel] = [rate, now]
        elif tag in (b'DSEL', b'USEL'):
            rows = {row for row, in struct.iter_unpack('<i', self._list(data))}
            self.rows = self.rows | rows if tag == b'DSEL' else self.rows - rows
        elif tag == b'DREF':
            self.written[body[4:].split(b'\0')[0].decode()], = struct.unpack_from('<f', body)
        elif tag == b'CMND' and body.startswith(b'sim/operation/pause_o'):
            self.written[PAUSED] = float(body.endswith(b'on'))
        elif tag in (b'ISE4', b'ISET'):
            self.target = struct.unpack('<i', data[-4:])[0] == 1

    def _list(self, data):
        return data[6:-1] if self.version == 6 else data[5:]

    def due(self, entry, rate, now):
        """Return whether it is time: all of a rate together, or each on its own."""
        if self.drift:
            return self._is_due(now, rate, entry)
        if self.aligned:
            return math.floor(now * rate) != math.floor((now - FRAME) * rate)
        if now - entry[-1] < 1.0 / rate - 1e-9 and rate < 1000:
            return False
        entry[-1] = now
        return True

    def _is_due(self, now, rate, entry):
        """Run the pose and the datarefs on timers that drift against each other."""
        speed = rate * (1.0 + self.drift) if len(entry) == 2 else rate
        return math.floor(now * speed + 0.4) != math.floor((now - FRAME) * speed + 0.4)

    def output(self, now):
        self.frame += 1
        if not self.on:
            return
        self.time += FRAME
        for channel, entry in self.rpos.items():
            if entry[0] and self.due(entry, entry[0], now):
                yield channel, b'RPOS4' + struct.pack(
                    '<3d10f', 8.0, latitude(self.frame), 500.0, *[0.0] * 10)
        for channel in {channel for channel, _ in self.rref}:
            values = [(index, self.values[entry[0]]())
                      for (owner, index), entry in self.rref.items()
                      if owner == channel and self.due(entry, entry[1], now)]
            for start in range(0, len(values), self.most):
                yield channel, b'RREF,' + b''.join(
                    struct.pack('<if', *value) for value in values[start:start + self.most])
        if self.rows and self.target and self.frame % 2:
            # Row 1 has the running time, where a version has it.
            body = b''.join(
                struct.pack('<i8f', row, *[self.time if row == 1 else float(self.frame)] * 8)
                for row in sorted(self.rows))
            if self.version == 6:
                yield 'data', b'DATA\0' + b'0' + body + b'0'
            elif self.version == 7:
                yield 'data', b'DATA\0' + body + b'\0'
            else:
                yield 'data', b'DATA*' + body


class Run:
    """
    Session and X-Plane in steps of one millisecond.

    ``lose`` selects requests to drop, ``lose_reply`` datagrams from X-Plane.
    """

    def __init__(self, peer=None, lose=lambda channel, data: False,
                 lose_reply=lambda channel, data: False, **session):
        self.peer = peer or XPlane(session.get('version') or 12)
        session.setdefault('rate', 50.0)
        session.setdefault('peer', PEER)
        session.setdefault('wire_format', Wire(data_target=lambda _: ('10.0.0.1', 49003)))
        self.session = XplaneUdpSession(SOURCES, **session)
        self.lose = lose
        self.lose_reply = lose_reply
        self.now = START
        self.events = []
        self.sent = []
        self.steps = itertools.count()

    def run(self, seconds):
        polls = True    # as a link does: after calls, on reception, and at deadlines
        for _ in range(round(seconds * 1000)):
            self.now += 0.001
            deadline = self.session.next_deadline()
            if polls or (deadline is not None and self.now >= deadline):
                self.transmit()
                self.events += self.session.expired()
                polls = False
            if next(self.steps) % 16 == 0:
                for channel, data in self.peer.output(self.now):
                    if self.lose_reply(channel, data):
                        continue
                    self.events += self.session.receive(channel, data, None, self.now)
                    polls = True
        return self

    def transmit(self):
        for channel, data in self.session.poll(self.now):
            if data != b'':
                self.sent.append((self.now, channel, data))
            if data and not self.lose(channel, data):
                self.peer.handle(channel, data, self.now)

    def start(self):
        self.session.start(self.now)
        return self

    def up(self):
        """Start, and let X-Plane be heard."""
        self.start().run(0.3)
        if self.session.peer_state is not PeerState.ANSWERING:
            self.run(2.4)
        return self

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    def tags(self):
        return [data[:4] for _, _, data in self.sent if data]


def receive_beacon(session, beacon, sender, now):
    """Deliver a beacon, including one that cannot be sent."""
    session.receive(BEACON_CHANNEL, b'BECN\0' + struct.pack(
        '<BBiiIH', beacon.major, beacon.minor, beacon.host_id, beacon.version, beacon.role,
        beacon.port) + beacon.name.encode() + b'\0', sender, now)


def drefs(run):
    return [(data[9:].split(b'\0')[0].decode(), struct.unpack_from('<f', data, 5)[0])
            for _, data in run.peer.received if data[:4] == b'DREF']


def overrides(run):
    return [value for name, value in drefs(run) if name == OVERRIDE]


def steer(run, seconds, **controls):
    """Send controls ten times per second."""
    for _ in range(round(10 * seconds)):
        run.session.set_controls(controls or {'elevator': 0.1}, run.now)
        run.run(0.1)
