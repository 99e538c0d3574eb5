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

"""A Ulyssix publisher, as an adapter for mould.py."""

import random
import struct

from mould import Adapter, Peer
from ulyssix_packets import datagram, NAMES

from xplane_bridge.bridges.ulyssix.session import CHANNEL, PacketReceived, Timeline, UlyssixSession

PARAMETERS = ('speed', 'height')


class Publisher(Peer):
    """Publish two parameters; datagrams may overtake each other, come twice, or be damaged."""

    def __init__(self, version, started):
        super().__init__(version, started, {})
        self._chance = random.Random(started)
        self._counter = 2**32 - 40 if version == 'before a wrap' else 0
        self._samples = 0
        self._late = []

    def receive(self, channel, data, now):
        """Nothing is ever sent to a publisher."""
        raise AssertionError('a publisher was sent something')

    def frame(self, now):
        """Return the packets that arrive now."""
        number = self._counter % 2**32
        data = b''.join(struct.pack('<If', 1, now + place) for place in range(len(PARAMETERS)))
        self._samples += len(PARAMETERS)
        packet = datagram(
            number, self._samples, data, samples=len(PARAMETERS),
            **({'names': '\x1f'.join(PARAMETERS).encode(), 'control': NAMES}
               if self._counter % 25 == 0 or self.version == 'names each time' else {}))
        self._counter += 1
        dice = self._chance.random()
        late, self._late = self._late, []
        if dice < 0.05:
            self._late = [packet]
            packets = late
        else:
            packets = [packet, *late]
        if dice > 0.97:
            packets.append(packet)
        elif dice > 0.95:
            packets.append(packet[:self._chance.randrange(len(packet))])
        elif dice > 0.93:
            packets.append(datagram(self._counter % 2**32, self._samples, kind=7))
            self._counter += 1
        return [(CHANNEL, each) for each in packets]


class UlyssixAdapter(Adapter):
    """Ulyssix: a publisher is only listened to."""

    versions = ('', 'names each time', 'before a wrap')
    channels = (CHANNEL,)
    commands = (lambda session, number, now: session.set_controls({'elevator': 0.0}, now),)

    def make_session(self):
        """Return a session that knows the names."""
        return UlyssixSession(Timeline(), names=PARAMETERS)

    def make_peer(self, version, started):
        """Return a publisher."""
        return Publisher(version, started)

    def numbers_in(self, data):
        """Return nothing: nothing is sent."""
        return []

    def wanted(self, peer):
        """Return the parameters."""
        return set(PARAMETERS)

    def values_in(self, event):
        """Return the parameters of a packet."""
        return event.names if isinstance(event, PacketReceived) else ()
