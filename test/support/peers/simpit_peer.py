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

"""Plugins for tests of simpit_node, each on its own pseudo-terminal."""

import threading

from xplane_bridge.bridges.links.serial import SerialLoop
from xplane_bridge.simulation.peers.simpit import (
    DeviceCommand,
    DeviceHandshake,
    PluginSession,
    Subscriptions,
)

SYNACK = {'aa50': bytes.fromhex('aa5002000137'), 'cobs': bytes.fromhex('010401373600')}


class _OnPty:
    """A session at the far end of a pseudo-terminal that a symbolic link points to."""

    def __init__(self, path, session):
        self.path = str(path)
        self.session = session
        self.failures = []
        self._open = threading.Event()
        self.loop = SerialLoop(
            session, f'pty:{path}', 115200, self._event, self.failures.append)
        self.loop.start()
        assert self._open.wait(60.0)

    def _event(self, event, stamp_ns):
        if hasattr(event, 'is_open'):
            self._open.set()
        else:
            self.heard(event)

    def heard(self, event):
        """Handle an event of the session."""

    def close(self):
        self.loop.close()
        assert not self.failures


class Plugin(_OnPty):
    """The measured behaviour of one version of the plugin, in the flight scene."""

    def __init__(self, path, profile, **options):
        self.events = []
        super().__init__(path, PluginSession(profile, **options))
        self.call(self.session.set_flight, True)

    def heard(self, event):
        self.events.append(event)

    def call(self, function, *arguments):
        return self.loop.call(function, *arguments)

    def say(self, *messages):
        for message in messages:
            self.call(self.session.provide, message)

    @property
    def commands(self):
        return [event.message for event in self.events if isinstance(event, DeviceCommand)]

    @property
    def channels(self):
        found = [event.channels for event in self.events if isinstance(event, Subscriptions)]
        return found[-1] if found else ()

    @property
    def handshakes(self):
        return [event.handshake for event in self.events if isinstance(event, DeviceHandshake)]


class _Tape:
    """Answer the first bytes with a SYNACK, and all later ones with the same recording."""

    rests = False

    def __init__(self, synack, recording):
        self._synack = synack
        self._recording = recording
        self._heard = False
        self._outgoing = []

    def opened(self, now):
        pass

    def lost(self, now):
        pass

    def receive(self, channel, data, sender, now):
        self._outgoing.append(self._recording if self._heard else self._synack)
        self._heard = True
        return []

    def poll(self, now):
        outgoing, self._outgoing = self._outgoing, []
        return [('serial', data) for data in outgoing]

    def next_deadline(self):
        return None

    def expired(self):
        return []


class RecordedPlugin(_OnPty):
    """Bytes written by a genuine plugin, whatever the device sends."""

    def __init__(self, path, framing, recording):
        super().__init__(path, _Tape(SYNACK[framing], recording))
