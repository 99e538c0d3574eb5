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
Fuzzing tools: mutants of real datagrams, and measures independent of the machine's load.

Cost is counted in executed lines of Python, memory in objects reachable from a root; a given
random seed yields the same figures everywhere.
"""

from collections import Counter, deque
from dataclasses import fields, is_dataclass
from enum import Enum
import gc
import os
import random
import struct
import sys
import types
import unicodedata

from vector_files import vectors

SEED = int(os.environ.get('FUZZ_SEED', '14'))
LARGEST_DATAGRAM = 65507

# Values that code may not expect in a field: floats, integers, lengths and counters.
_EXTREMES = (
    *(struct.pack('<f', value) for value in (
        float('nan'), float('inf'), float('-inf'), -0.0, 1e-45, 3.4e38, -999.0)),
    *(struct.pack('<d', value) for value in (
        float('nan'), float('inf'), float('-inf'), 1e308, -1e308, 5e-324)),
    *(struct.pack('<I', value) for value in (0, 1, 0x7fffffff, 0x80000000, 0xffffffff)),
    *(struct.pack('<H', value) for value in (0, 0x7fff, 0xffff)),
    *(bytes((value,)) for value in (0, 1, 0x7f, 0x80, 0xaa, 0xff)),
)
# Characters that a terminal, a log or another language does not treat as plain text.
_TEXTS = (b'\x1b[2J', b'\x1b]0;x\x07', b'\n[ERROR] [1.0] [node]: forged', b'\r', b'\0', b'\x9b31m',
          '\u202e\u2028'.encode(), b'%s%n{0}', b'\xed\xa0\x80', b'\xc3\x28', b'<b>')


def recorded(protocol, where=lambda vector: True):
    """Return the datagrams of a vectors file."""
    return [bytes.fromhex(vector['hex']) for vector in vectors(protocol) if where(vector)]


class Mutator:
    """Make mutants of ``seeds`` and of datagrams sent during the run."""

    def __init__(self, seed, seeds, largest=LARGEST_DATAGRAM):
        self.random = random.Random(seed)
        self._largest = largest
        self._seeds = [data for data in seeds if data]
        self._said = deque(maxlen=64)

    def learn(self, data):
        """Add a valid datagram to the seeds."""
        if data:
            self._said.append(data)

    def valid(self):
        """Return a datagram unchanged."""
        pool = self._said if self._said and self.random.random() < 0.5 else self._seeds
        return pool[self.random.randrange(len(pool))]

    def mutant(self):
        """Return a datagram with a few changes, or an entirely random one."""
        if self.random.random() < 0.05:
            return self.random.randbytes(self.random.choice((0, 1, 5, 41, 400, 1472)))
        data = self.valid()
        for _ in range(self.random.choice((1, 1, 1, 2, 4))):
            data = self.random.choice(self._CHANGES)(self, bytearray(data))
        return bytes(data[:self._largest])

    def _place(self, data):
        return self.random.randrange(len(data) + 1)

    def _flip(self, data):
        if data:
            data[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
        return data

    def _overwrite(self, data):
        value = self.random.choice(_EXTREMES)
        at = self._place(data)
        if self.random.random() < 0.5:
            at -= at % 4
        data[at:at + len(value)] = value
        return data

    def _count(self, data):
        """Write a number never used before: anything keyed by it grows without bound."""
        at = self._place(data)
        data[at:at + 4] = self.random.randbytes(4)
        return data

    def _label(self, data):
        """Replace the label by other letters."""
        data[:4] = bytes(self.random.randrange(65, 91) for _ in range(4))
        return data

    def _say(self, data):
        at = self._place(data)
        text = self.random.choice(_TEXTS)
        data[at:at + self.random.choice((0, len(text)))] = text
        return data

    def _cut(self, data):
        return data[:self._place(data)]

    def _lose(self, data):
        at = self._place(data)
        del data[at:at + self.random.randrange(1, 9)]
        return data

    def _repeat(self, data):
        """Repeat a part, sometimes often enough to fill a whole datagram."""
        at, end = sorted((self._place(data), self._place(data)))
        times = self.random.choice((1, 1, 1, 2, 40))
        return data[:end] + data[at:end] * times + data[end:]

    def _splice(self, data):
        other = self.valid()
        return data[:self._place(data)] + other[self._place(other):]

    _CHANGES = (_flip, _flip, _overwrite, _overwrite, _overwrite, _count, _label, _say, _cut,
                _lose, _repeat, _splice)


class Meter:
    """Count the Python lines that calls execute."""

    def __init__(self):
        self.lines = 0

    def call(self, function, *arguments):
        """Call the function and return its result."""
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            return function(*arguments)
        finally:
            sys.settrace(before)

    def _trace(self, frame, event, argument):
        if event == 'line':
            self.lines += 1
        return self._trace


# Not what an object holds, but what it is made of.
_CODE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType,
         types.GetSetDescriptorType, types.MemberDescriptorType)


def held(root):
    """
    Return how many container elements and bytes are reachable from an object.

    Globals of the package's modules, such as protocol tables, are not counted.
    """
    seen = set()
    for name, module in list(sys.modules.items()):
        if name.startswith('xplane_bridge'):
            _reach(vars(module), seen)
    return _reach(root, seen)


def _reach(root, seen):
    waiting = [root]
    elements = size = 0
    while waiting:
        found = waiting.pop()
        if id(found) in seen or isinstance(found, _CODE):
            continue
        seen.add(id(found))
        size += sys.getsizeof(found)
        if isinstance(found, (list, tuple, set, frozenset, dict, deque)):
            elements += len(found)
        waiting += gc.get_referents(found)
    return elements, size


def texts(value):
    """Yield every text in an event, message or statistics object, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Enum):
        return
    elif is_dataclass(value):
        for field in fields(value):
            yield from texts(getattr(value, field.name))
    elif isinstance(value, (dict, Counter)):
        for key, item in value.items():
            yield from texts(key)
            yield from texts(item)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from texts(item)


def is_fit_for_people(text, longest):
    """Return whether a text is short and free of control and direction characters."""
    return len(text) <= longest and not any(
        unicodedata.category(char) in ('Cc', 'Cf', 'Cs', 'Co', 'Cn', 'Zl', 'Zp') for char in text)
