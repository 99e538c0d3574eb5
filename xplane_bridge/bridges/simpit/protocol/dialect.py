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

"""Kerbal Simpit for people: packets, from lines that hold any pieces of the stream."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from types import ModuleType

from xplane_bridge.bridges.protocols import dialect
from xplane_bridge.bridges.protocols.base import Message, Sender, SENDERS
from xplane_bridge.bridges.protocols.dialect import other_side
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.simpit.protocol.channels import PROFILES
from xplane_bridge.bridges.simpit.protocol.codec import decode, encode
from xplane_bridge.bridges.simpit.protocol.framing import make_decoder, MAX_PAYLOAD, Packet
from xplane_bridge.common.text import counted

_FAULTS = {
    'bad_version': 'another version', 'bad_size': 'no payload',
    'oversize': f'more than {MAX_PAYLOAD} bytes of payload',
    'bad_cobs': 'bad COBS', 'bad_checksum': 'wrong checksum'}


class Dialect(dialect.Dialect):
    """Kerbal Simpit of one profile: each side's bytes have a stateful decoder."""

    options = {'--profile': {
        'required': True, 'choices': tuple(PROFILES), 'help': 'plugins at the other end: '
        + ', '.join(f'{p.name} is {p.plugins}' for p in PROFILES.values())}}

    def __init__(self, protocol: ModuleType, arguments: Namespace) -> None:
        super().__init__(protocol, arguments)
        self._profile = PROFILES[arguments.profile]
        self._decoders = {sender: make_decoder(self._profile.framing) for sender in SENDERS}

    def decode(self, data: bytes, sender: Sender) -> Iterable[object]:
        """Return the messages that these bytes complete, or raise ProtocolError."""
        decoder = self._decoders[sender]
        before = replace(decoder.counters)
        packets = decoder.feed(data)
        noise = decoder.counters.noise_bytes - before.noise_bytes
        if noise and not packets:
            faults = ', '.join(
                text for name, text in _FAULTS.items()
                if getattr(decoder.counters, name) > getattr(before, name))
            raise ProtocolError(
                f'{counted(noise, "byte")} outside any packet{": " if faults else ""}{faults}')
        return self._understood(packets, sender)

    def finish(self) -> Iterable[object]:
        """Return what remains at the end of input, or raise ProtocolError."""
        for sender, decoder in self._decoders.items():
            if decoder.waiting:
                yield from self._understood(decoder.expire(), sender)
                raise ProtocolError('the input ends inside a packet')

    def messages(self, sender: Sender) -> Mapping[str, type[Message]]:
        """Return the messages that this side sends in the profile, by their tags."""
        rows = [row for row in self._profile.channels if row.sender == sender]
        return {row.message.tag: row.message for row in rows} | {Packet.tag: Packet}

    def encode(self, message: Message) -> bytes:
        """Return the bytes for a message, or raise ValueError or TypeError."""
        sender: Sender = self.arguments.sender or 'peer'
        if type(message) not in self.messages(sender).values():
            sender = other_side(sender)
        # Both are message types of this profile.
        return encode(message, sender, self._profile, agx=True)  # type: ignore[arg-type]

    def _understood(self, packets: Iterable[Packet], sender: Sender) -> Iterable[object]:
        # Not a generator: an error must not cost other packets of the line.
        return map(partial(decode, sender=sender, profile=self._profile), packets)
