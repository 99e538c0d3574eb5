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

"""Kerbal Space Program with a Simpit plugin, as an adapter for mould.py."""

from mould import Adapter, Peer

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import PROFILES
from xplane_bridge.bridges.simpit.session import SimpitSession, Telemetry
from xplane_bridge.simulation.peers.simpit import DeviceCommand, PluginSession

CHANNEL = 'serial'
AXES = ('pitch', 'roll', 'x')
# The requested channels and what the game sends on them; 'flight_status' only when it changes.
CHANNELS = ('altitude', 'velocities', 'apsides', 'orbit', 'atmosphere')


def says(name, seconds):
    """Return what the game sends on a channel."""
    kind = {'altitude': simpit.Altitude, 'velocities': simpit.Velocities,
            'apsides': simpit.Apsides}.get(name)
    if kind is not None:
        return kind(*[float(seconds)] * len(kind.__slots__))
    return None


class Kerbal(Peer):
    """A game in flight with one version of the plugin; it keeps the values forced on its axes."""

    def __init__(self, version, started):
        super().__init__(version, started, dict.fromkeys(AXES, 0))
        self._plugin = PluginSession(version)
        self._plugin.opened(started)
        self._plugin.set_flight(True, started)
        self._waiting = []

    def receive(self, channel, data, now):
        """Handle bytes from the device."""
        self._keep(self._plugin.receive(channel, data, None, now))

    def forget(self, number):
        """Forget one registration, as between scenes, or all: the player reopens the port."""
        if number >= 7:
            self._plugin.close(0.0)
            self._plugin.reopen(0.0)
            return
        registered = self._plugin.subscriptions
        if registered:
            channel = registered[number % len(registered)]
            self._plugin.receive(CHANNEL, simpit.encode(
                simpit.Deregister(bytes((channel,))), 'bridge', self._plugin.profile), None, 0.0)

    def frame(self, now):
        """Send what is due."""
        for name in CHANNELS:
            message = says(name, now)
            if message is None or name not in self._plugin.channels:
                continue
            if name in self.hidden:
                self._plugin.withdraw(name, now)
            else:
                self._plugin.provide(message, now)
        sent = self._plugin.poll(now)
        self._keep(self._plugin.expired())
        return sent

    def _keep(self, events):
        for event in events:
            if not isinstance(event, DeviceCommand):
                continue
            message = event.message
            if isinstance(message, simpit.Rotation):
                self._force(message.mask, pitch=message.pitch, roll=message.roll)
            elif isinstance(message, simpit.Translation):
                self._force(message.mask, x=message.x)

    def _force(self, mask, **values):
        for bit, (name, value) in enumerate(values.items()):
            if mask >> bit & 1 and value:
                self.cells.write(name, value)
            elif mask >> bit & 1:
                # It forces nothing, on no plugin.
                self.cells.let_go(name, value)


class SimpitAdapter(Adapter):
    """Simpit: a serial line, registered channels, axes that are forced until 0 is sent."""

    versions = ('v2.3', 'v1', 'v2', 'v0', 'v2.2')
    channels = (CHANNEL,)
    in_order = True
    commands = (
        lambda s, n, now: s.send(simpit.Rotation(n, 0, 0, 1), now),
        lambda s, n, now: s.send(simpit.Rotation(0, n, 0, 2), now),
        lambda s, n, now: s.send(simpit.Translation(n, 0, 0, 1), now),
        lambda s, n, now: s.send(simpit.Throttle(n), now),
        lambda s, n, now: s.send(simpit.Log(0, str(n)), now),
    )
    optional = ('velocities', 'apsides')
    # The game loads for a minute, then all state is gone.
    restart_takes = 9.0
    musts = {
        'release': (lambda session, now: session.release(now), dict.fromkeys(AXES)),
        'neutral': (lambda session, now: session.centre(now), dict.fromkeys(('pitch', 'roll'))),
        'stop': (lambda session, now: session.stop(now), dict.fromkeys(AXES))}

    def is_chatter(self, data):
        """Return whether this is an echo request, or a channel that is registered again."""
        return any(packet.channel in (1, 8, 9)
                   for packet in simpit.make_decoder('cobs').feed(data))

    def take_all(self, session, now):
        """Force all axes."""
        session.send((simpit.Rotation(5, 6, 0, 3), simpit.Translation(7, 0, 0, 1)), now)

    def make_session(self):
        """Return a session that detects the profile."""
        return SimpitSession(('altitude', 'velocities', 'apsides'), line_rate=240.0)

    def start(self, session, now):
        """Open the port."""
        session.start(now)
        session.opened(now)

    def make_peer(self, version, started):
        """Return a game with that plugin."""
        return Kerbal(version, started)

    def numbers_in(self, data):
        """Return the numbers in packets."""
        numbers = []
        for profile in (PROFILES['v2'], PROFILES['cobs']):
            for item in simpit.make_decoder(profile.framing).feed(data):
                try:
                    message = simpit.decode(item, 'bridge', profile)
                except (ProtocolError, AttributeError):
                    continue
                if isinstance(message, simpit.Rotation):
                    numbers += [message.pitch, message.roll]
                elif isinstance(message, simpit.Translation):
                    numbers.append(message.x)
                elif isinstance(message, simpit.Throttle):
                    numbers.append(message.throttle)
                elif isinstance(message, simpit.Log):
                    numbers.append(int(message.text.rstrip('\0')))
        return [number for number in numbers if number]

    def wanted(self, peer):
        """Return the requested channels."""
        names = {row.name for row in PROFILES[peer.version].channels if row.sender == 'peer'}
        return {'altitude', 'velocities', 'apsides'} & names

    def values_in(self, event):
        """Return the channel of the message."""
        return [*event.values] if isinstance(event, Telemetry) else []

    def neutral(self, name, before):
        """Return 0, which gives an axis back to the player."""
        return 0
