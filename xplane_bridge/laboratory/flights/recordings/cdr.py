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
Messages of one type and one size, serialised all at once: numbers are written as columns. No ROS.

Plain CDR, little-endian (OMG, DDS-XTypes 1.3, section 7.4.1), as rclpy has it. The types are those
that rosbags knows, and this package's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.data import folder
from xplane_bridge.laboratory.flights.recordings.message_types import ARRAY, BASE, NAME

# The first bytes of a message; alignment counts from behind them.
_ENCAPSULATION = b'\0\1\0\0'
_CODES = {
    'int8': 'i1', 'uint8': 'u1', 'octet': 'u1', 'int16': '<i2', 'uint16': '<u2', 'int32': '<i4',
    'uint32': '<u4', 'int64': '<i8', 'uint64': '<u8', 'float32': '<f4', 'float64': '<f8'}
_OWN = 'xplane_bridge/msg/'

OWN_TYPES = (
    'AirData', 'Airframe', 'AutopilotTarget', 'Contacts', 'EngineControls', 'FlightControls')
"""This package's types that recordings in core have."""

Numbers = Mapping[str, Any]
"""By the dotted names of fields: a number, or one for each message, shape (n,)."""


class CdrSlot(NamedTuple):
    """Where a number is in a message, and its numpy type."""

    offset: int
    code: str


class CdrLayout:
    """
    The messages of a type whose texts are all the same, and so are the lengths of its lists.

    ``texts`` and ``lengths`` are by the dotted names of fields; elements of arrays are called
    ``name[0]``. What is not given is empty, or 0. ``bytes`` is a message, and ``slots`` where the
    numbers are in it.
    """

    def __init__(
        self, kind: str, texts: Mapping[str, str] | None = None,
        lengths: Mapping[str, int] | None = None, constants: Mapping[str, float] | None = None,
    ) -> None:
        self._texts, self._lengths = texts or {}, lengths or {}
        self._data = bytearray(_ENCAPSULATION)
        self.slots: dict[str, CdrSlot] = {}
        self._walk(kind, '')
        for name, value in (constants or {}).items():
            offset, code = self.slots[name]
            content = np.array(value, code).tobytes()
            self._data[offset:offset + len(content)] = content
        self.bytes = bytes(self._data)

    def _walk(self, kind: str, prefix: str) -> None:
        for name, (what, of) in types().fielddefs[kind][1]:
            path = prefix + name
            if what == BASE and of[0] == 'string':
                text = self._texts.get(path, '').encode() + b'\0'
                self._put('<u4', len(text))
                self._data += text
            elif what == BASE:
                self._number(path, of[0])
            elif what == NAME:
                self._walk(of, f'{path}.')
            else:
                # Of all that is recorded these are of numbers.
                element, count = of[0][1][0], of[1]
                if what != ARRAY:
                    count = self._lengths.get(path, 0)
                    self._put('<u4', count)
                for index in range(count):
                    self._number(f'{path}[{index}]', element)

    def _number(self, path: str, kind: str) -> None:
        code = _CODES[kind]
        self.slots[path] = CdrSlot(self._put(code, 0), code)

    def _put(self, code: str, value: int) -> int:
        """Append a number where it is aligned; return its offset."""
        content = np.array(value, code).tobytes()
        self._data += bytes(-(len(self._data) - len(_ENCAPSULATION)) % len(content))
        self._data += content
        return len(self._data) - len(content)


def stamps(nanoseconds: NDArray[np.int64]) -> Numbers:
    """Return the numbers of a header's stamp."""
    seconds, rest = np.divmod(nanoseconds, 1_000_000_000)
    return {'header.stamp.sec': seconds, 'header.stamp.nanosec': rest}


@cache
def types() -> Any:
    """Return the types of messages, as rosbags has them."""
    from rosbags.typesys import get_types_from_msg, get_typestore, Stores
    store = get_typestore(Stores.ROS2_JAZZY)
    for name in OWN_TYPES:
        store.register(get_types_from_msg(_own_text(name), f'{_OWN}{name}'))
    return store


@cache
def definition(kind: str) -> tuple[str, str]:
    """Return the definition of a type as recordings have it, and its hash (RIHS01)."""
    store = types()
    text, _ = store.generate_msgdef(kind, ros_version=2)
    if kind.startswith(_OWN):
        # With its comments: they have the units.
        _, separator, rest = text.partition('=' * 80)
        text = _own_text(kind.removeprefix(_OWN)) + separator + rest
    return text, store.hash_rihs01(kind)


def _own_text(name: str) -> str:
    return (folder('msg') / f'{name}.msg').read_text(encoding='utf-8')
