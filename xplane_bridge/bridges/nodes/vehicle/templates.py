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
Messages of which only numbers change, serialised once: the numbers are written into the bytes.

rclpy converts a message attribute by attribute before the middleware serialises it, which costs
more than all the rest of publish(); ``publish(bytes)`` skips that. So are air data published, as
AirData and as standard messages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
import contextlib
from dataclasses import dataclass
from operator import attrgetter
import struct
from typing import Any

from geometry_msgs.msg import TwistWithCovarianceStamped
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import FluidPressure, Temperature

from xplane_bridge.bridges.conversions.covariances import diagonal, UNKNOWN_VARIANCE
from xplane_bridge.bridges.conversions.topics import AIR_TOPICS
from xplane_bridge.bridges.conversions.vehicle import Air
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.subscribers import subscription_count
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.common.units import kelvin_to_celsius

# The first bytes of a message serialised as plain CDR (OMG, DDS-XTypes 1.3, section 7.6.3.1.2),
# by byte order; alignment counts from behind them.
_ENCAPSULATION = 4
_BYTE_ORDERS = {b'\0\0\0\0': '>', b'\0\1\0\0': '<'}
# Codes of the struct module by type of field; a number is aligned to its size.
_CODES = {
    'int8': 'b', 'uint8': 'B', 'int16': 'h', 'uint16': 'H', 'int32': 'i', 'uint32': 'I',
    'int64': 'q', 'uint64': 'Q', 'float': 'f', 'double': 'd',
}


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of numbers, ``offset`` bytes from the start: an array of ``size``, or one (0)."""

    path: str
    code: str
    size: int
    offset: int

    @property
    def count(self) -> int:
        """Return how many numbers it has."""
        return self.size or 1

    @property
    def end(self) -> int:
        """Return the offset behind it."""
        return self.offset + self.count * struct.calcsize(self.code)


class Template:
    """
    A message that is published with other numbers each time; the rest of it never changes.

    ``slots`` are the fields that change, in the order of the message's definition, such as
    'latitude' or 'pose.covariance'; a message within the message stands for all its fields. A
    sequence of numbers, unless it is empty, is an array of that length.
    Reading a sample back verifies that each number is where it belongs. If not, because this
    middleware serialises otherwise, ``is_packed`` is False and messages are filled as usual.
    """

    def __init__(self, message: Any, *slots: str) -> None:
        self._message = message
        self._fields = _fields(message)
        if missing := [slot for slot in slots if not any(_is_in(f, slot) for f in self._fields)]:
            raise ValueError(f'{type(message).__name__}: no numbers in {", ".join(missing)}')
        self._fields = [
            field for field in self._fields if any(_is_in(field, slot) for slot in slots)]
        serialized = serialize_message(message)
        layout, self._values, self._places = _layout(serialized, self._fields)
        self._pack = layout.pack
        self.is_packed = True
        self.is_packed = self._is_verified()

    def filled(self, *numbers: float) -> Any:
        """Return the message with these numbers, one by one, for publish() before the next."""
        if not self.is_packed:
            _assign(self._message, self._fields, numbers)
            return self._message
        values = self._values
        for place, given in self._places:
            values[place] = numbers[given]
        return self._pack(*values)

    def _is_verified(self) -> bool:
        """Return whether a reader finds each number in its field, and the rest unchanged."""
        if not self._places:
            return False
        kind = type(self._message)
        expected = deserialize_message(serialize_message(self._message), kind)
        # All different, and exact in every type.
        sample = [
            (float if field.code in 'fd' else int)(number)
            for number, field in enumerate(
                (field for field in self._fields for _ in range(field.count)), 1)]
        _assign(expected, self._fields, sample)
        return bool(deserialize_message(self.filled(*sample), kind) == expected)


def _is_in(field: _Field, slot: str) -> bool:
    return f'{field.path}.'.startswith(f'{slot}.')


def _fields(message: Any) -> list[_Field]:
    """Return the numeric fields of a message in order, up to the first of another kind."""
    found: list[_Field] = []

    def walk(part: Any, path: str, offset: int) -> int:
        for name, kind in part.get_fields_and_field_types().items():
            value = getattr(part, name)
            if hasattr(value, 'get_fields_and_field_types'):
                offset = walk(value, f'{path}{name}.', offset)
            elif kind == 'string':
                # Its length, the text, and a NUL.
                offset = _aligned(offset, 4) + 4 + len(value.encode()) + 1
            else:
                # 'double', 'double[9]', or 'sequence<uint8>', whose length comes before it.
                base, _, size = kind.rstrip(']').partition('[')
                if kind.startswith('sequence<') and len(value):
                    base, size = kind[len('sequence<'):-1], len(value)
                    offset = _aligned(offset, 4) + 4
                code = _CODES[base]
                offset = _aligned(offset, struct.calcsize(code))
                found.append(_Field(path + name, code, int(size or 0), offset))
                offset = found[-1].end
        return offset

    # An empty sequence, one of messages, or another kind of string: what follows it is not found.
    with contextlib.suppress(KeyError):
        walk(message, '', _ENCAPSULATION)
    return found


def _aligned(offset: int, size: int) -> int:
    """Return the next offset for a number of this size."""
    return offset + (_ENCAPSULATION - offset) % size


def _layout(
    serialized: bytes, fields: Sequence[_Field]
) -> tuple[struct.Struct, list[Any], list[tuple[slice, slice]]]:
    """
    Return a message as one struct, what is in it, and where in that which of all numbers belong.

    Between adjacent numbers are bytes that never change. There are no places where the message is
    too short for its fields.
    """
    codes = _BYTE_ORDERS.get(serialized[:_ENCAPSULATION], '=')
    values: list[Any] = []
    places: list[tuple[slice, slice]] = []
    if fields[-1].end > len(serialized):
        return struct.Struct(codes), values, places
    end = begin = 0
    for field in fields:
        if not end or field.offset > end:
            values.append(serialized[end:field.offset])
            codes += f'{field.offset - end}s'
            places.append((slice(len(values), len(values)), slice(begin, begin)))
        codes += f'{field.count}{field.code}'
        values += [0] * field.count
        begin += field.count
        place, given = places[-1]
        places[-1] = slice(place.start, len(values)), slice(given.start, begin)
        end = field.end
    values.append(serialized[end:])
    return struct.Struct(f'{codes}{len(serialized) - end}s'), values, places


def _assign(message: Any, fields: Sequence[_Field], numbers: Sequence[float]) -> None:
    """Write numbers into the fields of a message."""
    begin = 0
    for field in fields:
        parents, _, name = field.path.rpartition('.')
        target = attrgetter(parents)(message) if parents else message
        given = numbers[begin:begin + field.count]
        setattr(target, name, list(given) if field.size else given[0])
        begin += field.count


# What air_data says, and parts of it as the standard messages.

# Who subscribes is looked at again after so long (ns of the stamps) without anybody.
_LOOK_AGAIN = SECOND_NS // 10

def _temperature(air: Air) -> tuple[float, ...] | None:
    # Unlike all others, Temperature is in degrees Celsius.
    return None if air.temperature is None else (kelvin_to_celsius(air.temperature),)


def _static_pressure(air: Air) -> tuple[float, ...] | None:
    return None if air.static_pressure is None else (air.static_pressure,)


def _dynamic_pressure(air: Air) -> tuple[float, ...] | None:
    return None if air.dynamic_pressure is None else (air.dynamic_pressure,)


def _wind(air: Air) -> tuple[float, ...] | None:
    return air.wind


# By topic: its type, which numbers of that change, and what these are.
_KINDS: Mapping[str, tuple[type, str, Callable[[Air], tuple[float, ...] | None]]] = dict(zip(
    AIR_TOPICS, (
        (Temperature, 'temperature', _temperature),
        (FluidPressure, 'fluid_pressure', _static_pressure),
        (FluidPressure, 'fluid_pressure', _dynamic_pressure),
        (TwistWithCovarianceStamped, 'twist.twist.linear', _wind)), strict=True))


class AirTopics:
    """
    Publishes those of AIR_TOPICS that are in ``topics``, each while somebody subscribes.

    ``counts`` say how many do.
    What is unknown is not published.
    """

    def __init__(
        self, node: BridgeNode[Any], prefix: str = '', topics: Collection[str] = AIR_TOPICS
    ) -> None:
        self._publishers: Mapping[str, Any] = {
            topic: node.make_publisher(kind, prefix + topic)
            for topic, (kind, *_) in _KINDS.items() if topic in topics}
        self.counts = {
            topic: subscription_count(one) for topic, one in self._publishers.items()}
        # Nobody subscribes, by the stamps: so long publish() does nothing.
        self._idle_from = self._idle_until = 0
        self._frames: tuple[str, str] | None = None
        self._templates: dict[str, Template] = {}

    def place(self, body: str, axes: str) -> None:
        """Set the frames: where the aircraft is, and the axes of the wind: east, north, up."""
        if (body, axes) == self._frames:
            return
        self._frames = body, axes
        for topic in self._publishers:
            kind, changing, _ = _KINDS[topic]
            message = kind()
            message.header.frame_id = body
            if isinstance(message, TwistWithCovarianceStamped):
                message.header.frame_id = axes
                message.twist.covariance = diagonal(*[UNKNOWN_VARIANCE] * 6)
            self._templates[topic] = Template(message, 'header.stamp', changing)

    def publish(self, air: Air, stamp_ns: int) -> None:
        """Publish what somebody subscribes to."""
        # A state that is repeated, as while a simulation waits, is also for who is new.
        if self._idle_from < stamp_ns < self._idle_until:
            return
        has_subscribers = False
        for topic, count in self.counts.items():
            if count():
                has_subscribers = True
                numbers = _KINDS[topic][2](air)
                if numbers is not None:
                    self._publishers[topic].publish(self._templates[topic].filled(
                        *divmod(stamp_ns, SECOND_NS), *numbers))
        self._idle_from = stamp_ns
        self._idle_until = stamp_ns if has_subscribers else stamp_ns + _LOOK_AGAIN
