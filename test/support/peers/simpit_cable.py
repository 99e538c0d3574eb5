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

"""Both ends of a KerbalSimpit conversation and the bytes between them, without a port."""

import random

from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import PROFILES
from xplane_bridge.bridges.simpit.session import ProfileHint, SimpitSession, Telemetry
from xplane_bridge.simulation.peers.simpit import DeviceCommand, PluginSession

ALTITUDE = simpit.Altitude(1234.5, 67.25)      # 00509a4400808642 in the recordings
# What the session registers for itself: altitude, scene change, action status, vessel change.
OWN = {'v0': (4,), 'v1': (8,), 'v2': (3, 8, 37), 'v2.2': (3, 8, 37), 'v2.3': (3, 8, 37, 51),
       'cobs': (3, 8, 37, 51)}
LATENCY = 0.004


def of_kind(events, kind):
    return [event for event in events if isinstance(event, kind)]


class Cable:
    """Two sessions and the bytes between them, in simulated time."""

    def __init__(self, device, plugin, *, seed=None, latency=LATENCY):
        self.ends = {'device': device, 'plugin': plugin}
        self.now = 100.0
        self.events = {'device': [], 'plugin': []}
        self.sent = {'device': bytearray(), 'plugin': bytearray()}
        self.frames = {'device': [], 'plugin': []}
        # Transforms bytes on their way from an end; unchanged by default.
        self.spoil = {'device': lambda data: data, 'plugin': lambda data: data}
        self.latency = latency
        self._random = random.Random(seed) if seed is not None else None
        self._under_way = []
        for end in self.ends.values():
            end.opened(self.now)

    @property
    def device(self):
        return self.ends['device']

    @property
    def plugin(self):
        return self.ends['plugin']

    def call(self, function, *arguments):
        result = function(*arguments, self.now)
        self._settle()
        return result

    def _settle(self):
        """Let both ends send what they have now."""
        for name, end in self.ends.items():
            for channel, data in end.poll(self.now):
                assert channel == 'serial'
                self.sent[name] += data
                self.frames[name].append((self.now, data))
                self._put_on_cable(name, self.spoil[name](data))
            self.events[name] += end.expired()

    def _put_on_cable(self, name, data):
        at = max([self.now + self.latency] + [at for at, who, _ in self._under_way if who == name])
        while data:
            size = len(data) if self._random is None else self._random.randint(1, len(data))
            self._under_way.append((at, name, data[:size]))
            data = data[size:]
            at += 0.001 if self._random else 0.0

    def run(self, seconds):
        """Let time pass."""
        end = self.now + seconds
        while True:
            self._settle()
            times = [at for at, _, _ in self._under_way]
            for session in self.ends.values():
                if session.next_deadline() is not None:
                    times.append(session.next_deadline())
            at = max(self.now, min(times, default=end))
            if at >= end:
                self.now = end
                return
            self.now = at
            due = [item for item in self._under_way if item[0] <= self.now]
            self._under_way = [item for item in self._under_way if item[0] > self.now]
            for _, name, data in due:
                other = 'plugin' if name == 'device' else 'device'
                self.events[other] += self.ends[other].receive('serial', data, None, self.now)

    def telemetry(self, name='altitude', clear=True):
        """Return the telemetry received since the last call."""
        found = [event.values[name] for event in of_kind(self.events['device'], Telemetry)
                 if name in event.values]
        if clear:
            self.events['device'].clear()
        return found

    def commands(self):
        found = [event.message for event in of_kind(self.events['plugin'], DeviceCommand)]
        self.events['plugin'].clear()
        return found

    def hints(self):
        return of_kind(self.events['device'], ProfileHint)

    def lose_device(self):
        """Unplug the device: bytes in transit are lost."""
        self._under_way.clear()
        self.device.lost(self.now)
        self._settle()


def connect(plugin='v1', device=None, channels=('altitude',), flight=True, run=1.0, **options):
    """Return a cable with a plugin in flight and a device that has completed its handshake."""
    seed = options.pop('seed', None)
    cable = Cable(
        SimpitSession(channels, profile=device or plugin, **options), PluginSession(plugin),
        seed=seed)
    if flight:
        cable.call(cable.plugin.set_flight, True)
    cable.call(cable.plugin.provide, ALTITUDE)
    cable.call(cable.device.start)
    cable.run(run)
    return cable


def packets(profile, data):
    decoder = simpit.make_decoder(PROFILES[profile].framing)
    return decoder.feed(bytes(data))
