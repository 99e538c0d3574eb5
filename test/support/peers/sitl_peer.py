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
SITL and its physics on a bad line, in simulated time: no socket, no sleep, no flight model.

SITL here does what its source says (docs/wire/ardupilot_json.md, section 3): it sends a frame,
reads one answer from its queue, in order, whatever it is, and repeats the frame every 1.1 s
without.
"""

from collections import deque
import heapq
from itertools import count
import json
import struct
from types import SimpleNamespace

from memory_endpoint import MemoryEndpoint

from xplane_bridge.simulation.peers.ardupilot import ArdupilotFrontend

RATE = 120
REPEATS = 1.1
# Of the physics, for a frame.
COMPUTES = 3e-4
# Of the network, either way.
TRAVELS = 5e-5
ZEROS = dict.fromkeys((
    'lat_deg', 'lon_deg', 'altitude_msl', 'terrain_msl', 'altitude_agl', 'phi', 'theta', 'psi',
    'p', 'q', 'r', 'f_x', 'f_y', 'f_z', 'v_north', 'v_east', 'v_down',
    'wind_north', 'wind_east', 'wind_down', 'eas', 'tas', 'beta'), 0.0)


def frame(count, *pwm, rate=RATE):
    return struct.pack('<HHI16H', 18458, rate, count, *pwm, *(16 - len(pwm)) * (0,))


class StubWorld:
    """A world whose aircraft stands still; ``times`` is each time that it flew to."""

    def __init__(self):
        self.aircraft = SimpleNamespace(
            state=SimpleNamespace(**ZEROS), set_controls=lambda **_: None)
        self.paused = False
        self.flight_time = 0.0
        self.times = [0.0]

    def advance(self, seconds):
        if not self.paused:
            self.flight_time += seconds
            self.times.append(self.flight_time)

    def reset_flight(self):
        self.flight_time = 0.0
        self.times.append(0.0)


class Sitl:
    """One process of SITL at a port; ``pace`` is its time from an answer to the next frame."""

    def __init__(self, line, port=5501, pace=1e-3, begin=0):
        self.line, self.address, self.pace = line, ('127.0.0.1', port), pace
        self.count, self.queue, self.waits = begin, deque(), True
        self.alive, self.paused, self.read = True, False, []
        self._wait = count()
        self._turn = 0
        self.send()

    def send(self):
        """Send the frame; if an answer waits, read it at once, else wait."""
        if self.alive:
            self.line.carry('frames', frame(self.count), self.address)
            self.waits = True
            self.look()

    def look(self):
        if self.paused or not (self.alive and self.waits):
            return
        if self.queue:
            self.waits = False
            self.read.append(json.loads(self.queue.popleft())['timestamp'])
            self.count += 1
            # It keeps to real time only where time goes on.
            goes = len(self.read) < 2 or self.read[-1] > self.read[-2]
            self.line.after(self.pace if goes else 5e-5, self.send)
        else:
            self._turn = turn = next(self._wait)
            self.line.after(REPEATS, lambda: self.repeat(turn))

    def repeat(self, turn):
        if self.alive and not self.paused and self.waits and turn == self._turn:
            self.line.carry('frames', frame(self.count), self.address)
            self.look()

    def take(self, data):
        self.queue.append(data)
        self.look()

    def pause(self, seconds):
        self.paused = True

        def resume():
            self.paused = False
            self.look()

        self.line.after(seconds, resume)


class Line:
    """
    The line between them: ``faults`` says what happens to the datagrams of a side, by number.

    Each is a list of delays, one for each copy that arrives.
    """

    def __init__(self, faults=(), lockstep=True, computes=COMPUTES):
        self.now, self._computes = 0.0, computes
        self.faults = dict(faults)
        self.sent = {'frames': 0, 'answers': 0}
        self.kept = {'frames': [], 'answers': []}
        self.told = []
        self._events, self._numbers = [], count()
        self._computing = False
        self.world, self.endpoint = StubWorld(), MemoryEndpoint()
        self.frontend = ArdupilotFrontend(self.endpoint, lockstep=lockstep)
        self.frontend.report = self.told.append
        self.frontend.open(self.world, 0.0)
        self.sitl = {}
        if not lockstep:
            self.render()

    def start(self, **given):
        sitl = Sitl(self, **given)
        self.sitl[sitl.address] = sitl
        return sitl

    def after(self, seconds, do):
        heapq.heappush(self._events, (self.now + seconds, next(self._numbers), do))

    def until(self, time):
        while self._events and self._events[0][0] <= time:
            self.step()
        self.now = time

    def step(self):
        """Let the next event happen."""
        self.now, _, do = heapq.heappop(self._events)
        do()

    def carry(self, side, data, address):
        number = self.sent[side]
        self.sent[side] += 1
        if number < 1000:
            self.kept[side].append(data)
        for delay in self.faults.get((side, number), (0.0,)):
            self.after(TRAVELS + delay, lambda: self.arrive(side, data, address))

    def bring(self, seconds, side, datagrams, address):
        """Let such datagrams arrive later, at once."""
        for data in datagrams:
            self.after(seconds, lambda data=data: self.arrive(side, data, address))

    def arrive(self, side, data, address):
        if side == 'frames':
            self.endpoint.deliver(data, address, self.now)
            if self.frontend.lockstep and not self._computing:
                self._computing = True
                self.after(self._computes, self.compute)
        elif address in self.sitl:
            self.sitl[address].take(data)

    def compute(self):
        """Let the physics do what it does: it reads what has arrived meanwhile, too."""
        self._computing = False
        self.frontend.frame(self.now)
        for data, to in self.endpoint.collect():
            self.carry('answers', data, to)
        due = self.frontend.exchange.next_due()
        if due is not None and not self._computing:
            self.after(max(due - self.now, 0.0) + 1e-6, self.compute_if_idle)

    def compute_if_idle(self):
        if not self._computing:
            self.compute()

    def render(self):
        """Run the frames of a simulator in real time."""
        self.world.advance(1.0 / 60.0)
        self.compute()
        self.after(1.0 / 60.0, self.render)
