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

"""The data of a Ulyssix packet: per parameter a count and its samples, decoded into columns."""

from dataclasses import dataclass
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.common.text import counted

COUNT = np.dtype('<u4')
_COUNT = struct.Struct('<I')


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
    counts, parts = _walk(view, start, end, layout.sample.itemsize)
    samples = np.ndarray((sum(counts),), layout.sample, b''.join(parts))
    return np.array(counts, np.int64), *copy_columns(samples, layout)


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
            f'{where}: '
            f'{counted(end - at, "byte")} left at offset {at}, need {_COUNT.size} for its count'
        )
    return ProtocolError(
        f'{where}: {counted(end - begin, "byte")} left at offset {begin}, '
        f'need {count * size} for {count} samples'
    )


def copy_columns(
    samples: NDArray[Any], layout: SampleLayout
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Copy values and times out of the samples, each into one contiguous array."""
    values, times = samples, None
    if layout.tagged:
        values, times = samples['value'], samples['time'].flatten()
    values = values.flatten()
    return values.astype(np.int64) if layout.narrow else values, times


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
