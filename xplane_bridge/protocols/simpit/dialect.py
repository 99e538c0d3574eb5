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

"""Kerbal Simpit for people: packets in whatever pieces the lines have them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from xplane_bridge.protocols import dialect
from xplane_bridge.protocols.base import Sender
from xplane_bridge.protocols.errors import ProtocolError

# TODO imports of simpit itself


class Dialect(dialect.Dialect):
    """Kerbal Simpit of one generation."""

    options = {'--profile': {
        'required': True, 'choices': tuple(simpit.PROFILES), 'help': 'generation of the plugin: '
        + ', '.join(f'{p.name} is {p.plugins}' for p in simpit.PROFILES.values())}}

    def __init__(self, arguments: Namespace) -> None:
        super().__init__(arguments)
        self._profile = simpit.PROFILES[arguments.profile]
        self._decoders: dict[Sender, simpit.Decoder] = {
            sender: simpit.make_decoder(self._profile.framing) for sender in _SENDERS}

    _FAULTS = {
        'bad_version': 'another version', 'bad_size': 'no payload',
        'oversize': f'more than {simpit.MAX_PAYLOAD} bytes of payload',
        'bad_cobs': 'bad COBS', 'bad_checksum': 'wrong checksum'}

    def decode(self, data: bytes, sender: Sender) -> Iterable[object]:
        decoder = self._decoders[sender]
        before = replace(decoder.counters)
        packets = decoder.feed(data)
        noise = decoder.counters.noise_bytes - before.noise_bytes
        if noise and not packets:
            faults = ', '.join(
                text for name, text in self._FAULTS.items()
                if getattr(decoder.counters, name) > getattr(before, name))
            raise ProtocolError(
                f'{noise} bytes belong to no packet{": " if faults else ""}{faults}')
        return self._understood(packets, sender)

    def finish(self) -> Iterable[object]:
        for sender, decoder in self._decoders.items():
            if decoder.waiting:
                yield from self._understood(decoder.expire(), sender)
                raise ProtocolError('the input ends inside a packet')

    def _understood(
            self, packets: Iterable[simpit.Packet], sender: Sender) -> Iterable[object]:
        return map(partial(simpit.decode_payload, self._profile, _end(sender)), packets)

    def classes(self, sender: Sender) -> Mapping[str, type]:
        rows = [row for row in self._profile.channels if row.sender == _end(sender)]
        return {row.message.tag: row.message for row in rows} | {
            simpit.Packet.tag: simpit.Packet}

    def encode(self, message: object) -> bytes:
        sender: Sender = self.arguments.sender or 'peer'
        if type(message) not in self.classes(sender).values():
            sender = _other(sender)
        return simpit.encode(
            self._profile, _end(sender), cast(simpit.Message | simpit.Packet, message), agx=True)
