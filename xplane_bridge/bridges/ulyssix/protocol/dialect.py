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

"""Ulyssix for people: samples by parameter, and the readings of the time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from xplane_bridge.bridges.protocols import dialect
from xplane_bridge.bridges.protocols.base import Message, Sender
from xplane_bridge.bridges.ulyssix.protocol.codec import decode, encode
from xplane_bridge.bridges.ulyssix.protocol.messages import (
    Control,
    DataPacket,
    Packet,
    PacketFlag,
    SkippedPacket,
)
from xplane_bridge.bridges.ulyssix.protocol.time import decode_bcd


@dataclass(frozen=True, slots=True)
class ReadablePacket(Message):
    """
    A DataPacket with lists instead of arrays, sorted by parameter.

    params: each parameter's samples, each a value or a value and its time. time: the possible
    meanings of the packet's time, derived from bcd_hex_on_wire.
    """

    tag: ClassVar[str] = DataPacket.tag

    counter: int
    control: int
    samples_in_payload: int
    total_samples: int
    bcd_hex_on_wire: str
    params: tuple[tuple[tuple[float, ...], ...], ...]
    names: tuple[str, ...] | None = None
    integer_width: int | None = None
    flags: tuple[PacketFlag, ...] = ()
    time: tuple[str, ...] = ()


def to_readable(packet: Packet) -> ReadablePacket | SkippedPacket:
    """Return a packet with its samples as lists."""
    if isinstance(packet, SkippedPacket):
        return packet
    columns = [packet.values.tolist()]
    if packet.times is not None:
        columns.append(packet.times.tolist())
    samples = list(zip(*columns, strict=True))
    ends = np.cumsum(packet.counts).tolist()
    return ReadablePacket(
        counter=packet.counter,
        control=packet.control,
        samples_in_payload=packet.samples_in_payload,
        total_samples=packet.total_samples,
        bcd_hex_on_wire=packet.bcd_hex_on_wire,
        params=tuple(
            tuple(samples[end - count:end])
            for end, count in zip(ends, packet.counts.tolist(), strict=True)),
        names=packet.names,
        integer_width=packet.integer_width,
        flags=packet.flags,
        time=tuple(
            f'{reading.word_order.value}: day {reading.doy} {reading.hour:02d}:'
            f'{reading.minute:02d}:{reading.second:02d}.{reading.microsecond:06d}'
            for reading in decode_bcd(bytes.fromhex(packet.bcd_hex_on_wire))),
    )


def from_readable(packet: ReadablePacket) -> DataPacket:
    """Return the packet to encode; time is ignored. Raises ValueError."""
    tagged = bool(packet.control & Control.TIME_TAGGED)
    samples = [sample for parameter in packet.params for sample in parameter]
    if any(len(sample) != 1 + tagged for sample in samples):
        raise ValueError(
            f'params: expected samples of {1 + tagged} numbers, as the control byte says')
    value_type: type[Any] = np.float32
    time_type: type[Any] = np.float64
    if packet.integer_width is not None:
        if not all(isinstance(number, int) for sample in samples for number in sample):
            raise ValueError('params: expected whole numbers, as integer_width is given')
        value_type, time_type = np.int64, np.uint64
    try:
        values = np.array([sample[0] for sample in samples], value_type)
        times = np.array([sample[1] for sample in samples], time_type) if tagged else None
    except OverflowError as error:
        raise ValueError(f'params: {error}') from None
    return DataPacket(
        counter=packet.counter,
        control=packet.control,
        names=packet.names,
        samples_in_payload=packet.samples_in_payload,
        total_samples=packet.total_samples,
        bcd_hex_on_wire=packet.bcd_hex_on_wire,
        integer_width=packet.integer_width,
        counts=np.array([len(parameter) for parameter in packet.params], np.int64),
        values=values,
        times=times,
        flags=packet.flags,
    )


class Dialect(dialect.Dialect):
    """Ulyssix with human-readable packets."""

    def decode(self, data: bytes, sender: Sender) -> Iterable[object]:
        """Return the packet in a datagram, whoever sent it: only a publisher does."""
        return (to_readable(decode(data, 'peer')),)

    def messages(self, sender: Sender) -> Mapping[str, type[Message]]:
        """Return the messages that this side sends, by their tags."""
        return {
            tag: ReadablePacket if kind is DataPacket else kind
            for tag, kind in super().messages(sender).items()}

    def encode(self, message: Message) -> bytes:
        """Return the datagram for a message, or raise ValueError or TypeError."""
        return encode(from_readable(message) if isinstance(message, ReadablePacket) else message)
