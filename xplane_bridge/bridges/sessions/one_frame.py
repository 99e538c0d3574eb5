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

"""Whether two datagrams of X-Plane are from the same frame: its position in both shows that."""

from collections.abc import Mapping
import struct

_FLOATS = struct.Struct('<3f')


def is_same_place(
    exact: tuple[float, float, float], names: tuple[str, ...], values: Mapping[str, float]
) -> bool:
    """
    Return whether a position in doubles is that of ``values``, to the last bit of a float32.

    ``names`` are those of its three parts there; what is missing, or is NaN in the doubles, counts
    as the same.
    """
    try:
        singles = _FLOATS.unpack(_FLOATS.pack(*exact))
    except OverflowError:
        return False
    for name, single in zip(names, singles, strict=False):
        if name in values and values[name] != single == single:
            return False
    return True
