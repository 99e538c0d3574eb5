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

"""The search for a plugin: SYN after SYN, in each framing that it may speak."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import (
    Framing,
    FramingCounters,
    Handshake,
    HandshakeType,
    Packet,
)
from xplane_bridge.bridges.simpit.session.dialect import FIRST_PROFILE

# The device libraries wait 1.1 s for an answer.
_SYN_PERIOD = 1.0
_TRIES = 2
# Plugins write a packet in one go: a gap inside one means that its end is lost.
_STALL = 0.05


class Search:
    """
    Send SYNs in all candidate framings in turn, and cut the stream into packets.

    ``at`` is when the next SYN is due, None while none is to be sent or outstanding; ``count`` is
    how many were sent since the search began, ``since`` when that was. Times are in seconds.
    """

    def __init__(self, framings: Iterable[Framing], id_bytes: bytes) -> None:
        self._decoders = {framing: simpit.make_decoder(framing) for framing in framings}
        self._id_bytes = id_bytes
        self._bytes_at = 0.0
        self.listening = tuple(self._decoders)
        self._counted = self.listening[-1]
        self.at: float | None = None
        self.since = 0.0
        self.count = 0

    @property
    def counters(self) -> FramingCounters:
        """Return the counts of the decoder of the framing in use."""
        return self._decoders[self._counted].counters

    @property
    def framing(self) -> Framing:
        """Return the framing in use, or the last of those being tried."""
        return self._counted

    @property
    def noise(self) -> dict[Framing, int]:
        """Return how many bytes were outside packets so far, by framing."""
        return {
            framing: decoder.counters.noise_bytes for framing, decoder in self._decoders.items()}

    @property
    def is_unanswered(self) -> bool:
        """Return whether enough SYNs were sent to conclude that nobody answers."""
        return self.count >= _TRIES * len(self.listening)

    def is_due(self, now: float) -> bool:
        """Return whether the next SYN is due."""
        return self.at is not None and now >= self.at

    def begin(self, at: float) -> None:
        """Send the first SYN at this time."""
        self.at = self.since = at

    def reset(self) -> None:
        """Stop, and listen to every framing again."""
        self.stop()
        self.listening = tuple(self._decoders)
        for decoder in self._decoders.values():
            decoder.expire()

    def stop(self) -> None:
        """Send no more SYNs, and expect no answer."""
        self.at = None
        self.count = 0

    def found(self, framing: Framing) -> None:
        """Stop: somebody has answered in this framing."""
        self.stop()
        self.listening = (framing,)
        self._counted = framing

    def syn(self, now: float) -> bytes:
        """Return the SYN that is due."""
        framing = self.listening[self.count % len(self.listening)]
        data = simpit.encode(
            Handshake(HandshakeType.SYN, self._id_bytes), 'bridge', FIRST_PROFILE[framing])
        if framing == 'aa50' and len(self.listening) > 1 and not data.endswith(b'\0'):
            # Also ends it for a plugin of the other framing, which would lose the next packet.
            data += b'\0'
        self.count += 1
        # Each framing in turn about once per second.
        self.at = now + _SYN_PERIOD / len(self.listening)
        return data

    # Reception.

    def feed(self, data: bytes, now: float) -> Iterable[tuple[Framing, Packet]]:
        """Return the packets that bytes complete."""
        self._bytes_at = now
        if len(self.listening) > 1:
            return self._feed_each(data)
        # No answer in these bytes can settle on another one.
        framing, = self.listening
        return [(framing, packet) for packet in self._decoders[framing].feed(data)]

    def _feed_each(self, data: bytes) -> Iterator[tuple[Framing, Packet]]:
        for framing in self.listening:
            yield from self._of(framing, self._decoders[framing].feed(data))

    def expire(self, now: float) -> Iterator[tuple[Framing, Packet]]:
        """Give up packets whose end is missing; yield those that they had swallowed."""
        if now < self._bytes_at + _STALL:
            return
        for framing in self.listening:
            if self._decoders[framing].waiting:
                yield from self._of(framing, self._decoders[framing].expire())

    @property
    def deadline(self) -> float | None:
        """Return when expire() has something to do."""
        waiting = any(self._decoders[framing].waiting for framing in self.listening)
        return self._bytes_at + _STALL if waiting else None

    def _of(
        self, framing: Framing, packets: Iterable[Packet]
    ) -> Iterator[tuple[Framing, Packet]]:
        for packet in packets:
            # A SYNACK earlier in the same bytes may have settled on the other framing.
            if framing not in self.listening:
                return
            yield framing, packet
