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
The data of a Ulyssix packet: per parameter a count and its samples, decoded into columns.

Only walking from count to count finds them, and for dozens of parameters that takes longer than
everything else. But a publisher's rates are constant, so its counts recur: a layout seen twice in
a row is cached, and one look at the places of all counts verifies it for the next packet.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.protocols.errors import ProtocolError

_COUNT = struct.Struct('<I')
_INT64 = np.dtype(np.int64)


@dataclass(frozen=True, slots=True)
class SampleLayout:
    """
    Layout of one sample on the wire.

    sample: the value's type, or with a time tag a structure of `value` and `time`; narrow: whether
    values are delivered in a wider type, int64.
    """

    sample: np.dtype[Any]
    tagged: bool
    narrow: bool


def _layouts(value: str, time: str) -> dict[bool, SampleLayout]:
    pair = np.dtype([('value', value), ('time', time)])
    narrow = value == '<i4'
    return {
        False: SampleLayout(np.dtype(value), False, narrow),
        True: SampleLayout(pair, True, narrow),
    }


# By integer width (None: floating point), then by time tag (docs/wire/ulyssix.md, section 1).
SAMPLE_LAYOUTS = {
    None: _layouts('<f4', '<f8'),
    8: _layouts('<i8', '<u8'),
    4: _layouts('<i4', '<u8'),
}

# Counts, values and times of a packet's parameters.
Columns = tuple[NDArray[np.int64], NDArray[Any], NDArray[Any] | None]


def read_columns(view: memoryview, start: int, end: int, layout: SampleLayout) -> Columns:
    """
    Copy the columns out of the data from start to end, where the last sample must end exactly.

    At least four more bytes must follow. Raises ProtocolError if a count does not fit.
    """
    size = layout.sample.itemsize
    memory = _remember(start, end, size)
    known = memory.division
    if known is not None and known.read_counts(view, start) == known.counts:
        memory.last = None  # a layout that is walked now and then is not worth caching
        if known.strides is None:
            samples = np.ndarray(known.shape, layout.sample, b''.join(known.parts(view)))
        else:
            samples = np.ndarray(
                known.shape, layout.sample, view, start + _COUNT.size, known.strides)
        return known.array.copy(), *_copy(samples, layout)
    counts, parts = _walk(view, start, end, size)
    if counts and counts == memory.last:
        memory.division = _divide(counts, start, size)
    memory.last = counts
    samples = np.ndarray((sum(counts),), layout.sample, b''.join(parts))
    return np.array(counts, _INT64), *_copy(samples, layout)


def _walk(view: memoryview, start: int, end: int, size: int) -> tuple[list[int], list[memoryview]]:
    """Return the counts and the samples of each parameter."""
    counts: list[int] = []
    parts = []
    at = start
    while at < end:
        (count,) = _COUNT.unpack_from(view, at)
        begin = at + _COUNT.size
        at = begin + count * size
        if at > end:
            raise _overrun(len(counts) + 1, count, size, begin, end)
        counts.append(count)
        parts.append(view[begin:at])
    return counts, parts


def _overrun(parameter: int, count: int, size: int, begin: int, end: int) -> ProtocolError:
    where = f'parameter {parameter}'
    if begin > end:
        at = begin - _COUNT.size
        return ProtocolError(
            f'{where}: {end - at} bytes left at offset {at}, need {_COUNT.size} for its count'
        )
    return ProtocolError(
        f'{where}: {end - begin} bytes left at offset {begin}, '
        f'need {count * size} for {count} samples'
    )


def _copy(
    samples: NDArray[Any], layout: SampleLayout
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Copy values and times out of the samples, each into one contiguous array."""
    values, times = samples, None
    if layout.tagged:
        values, times = samples['value'], samples['time'].flatten()
    values = values.flatten()
    return values.astype(_INT64) if layout.narrow else values, times


@dataclass(frozen=True, slots=True)
class _Division:
    """
    How counts divide the data.

    read_counts reads the values in the places of all counts; parts reads the samples of each
    parameter. shape, strides: of all samples in place, from the first one on, which requires equal
    counts; otherwise strides is None and shape is that of the joined parts.
    """

    counts: tuple[int, ...]
    array: NDArray[np.int64]
    read_counts: Callable[[memoryview, int], tuple[int, ...]]
    parts: Callable[[memoryview], tuple[memoryview, ...]]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None


def _divide(counts: list[int], start: int, size: int) -> _Division:
    places = struct.Struct('<' + ''.join([f'I{count * size}x' for count in counts]))
    parts = []
    at = start
    for count in counts:
        begin = at + _COUNT.size
        at = begin + count * size
        parts.append(slice(begin, at))
    shape: tuple[int, ...] = (sum(counts),)
    strides: tuple[int, ...] | None = None
    if len(counts) == 1:  # a single row copies faster
        strides = (size,)
    elif len(set(counts)) == 1:
        shape, strides = (len(counts), counts[0]), (_COUNT.size + counts[0] * size, size)
    return _Division(
        tuple(counts), np.array(counts, _INT64), places.unpack_from, itemgetter(*parts), shape,
        strides)


@dataclass(slots=True)
class _Memory:
    """
    The layout of counts seen twice in a row.

    last: the latest counts that differ from the layout's.
    """

    last: list[int] | None = None
    division: _Division | None = None


@lru_cache(maxsize=64)  # each combination of rates that are due makes data of another length
def _remember(start: int, end: int, size: int) -> _Memory:
    """Return the cached layouts of data at this offset, with samples of this size."""
    return _Memory()


def write_columns(
    counts: NDArray[np.int64], values: NDArray[Any], times: NDArray[Any] | None,
    layout: SampleLayout,
) -> bytes:
    """
    Return each parameter's count and samples.

    Raises ValueError if columns do not fit together or into their types, TypeError for non-integer
    values in integer mode.
    """
    samples = len(values)
    if counts.sum() != samples or (counts < 0).any():
        raise ValueError(f'counts: expected a sum of {samples}, got {counts.sum()}')
    records = np.empty(samples, layout.sample)
    if times is None:
        records[:] = fitted(values, layout.sample, 'values')
    else:
        if len(times) != samples:
            raise ValueError(f'times: {len(times)}, expected {samples}')
        records['value'] = fitted(values, layout.sample['value'], 'values')
        records['time'] = fitted(times, layout.sample['time'], 'times')
    raw = records.tobytes()
    parts = []
    at = 0
    for count in counts.tolist():
        after = at + count * layout.sample.itemsize
        parts += [_COUNT.pack(count), raw[at:after]]
        at = after
    return b''.join(parts)


def fitted(array: NDArray[Any], kind: np.dtype[Any], what: str) -> NDArray[Any]:
    """Return the array as that type; raise if a value would change by more than rounding."""
    if array.size == 0:
        return array.astype(kind)
    if kind.kind == 'f':
        with np.errstate(over='ignore'):
            result = array.astype(kind)
        if (np.isinf(result) & ~np.isinf(array)).any():
            raise ValueError(f'{what}: a value is too large for {kind.name}')
        return result
    if array.dtype.kind not in 'iu':
        raise TypeError(f'{what}: expected integers, got {array.dtype.name}')
    limits = np.iinfo(kind)
    if int(array.min()) < limits.min or int(array.max()) > limits.max:
        raise ValueError(f'{what}: a value is out of the range of {kind.name}')
    return array.astype(kind)
