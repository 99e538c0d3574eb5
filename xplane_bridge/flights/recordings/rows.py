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

"""Rows of plain numbers over time, kept while a flight goes on."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
import math
from struct import Struct

import numpy as np
from numpy.typing import NDArray


class Rows:
    """
    Rows of plain numbers, each with a time; ``width`` is how many a row has.

    ``append(pack(time, ...))`` is ``add`` of a row that is still in parts.

    They are kept in one array: objects that stay in memory drive JSBSim out of the cache.
    """

    def __init__(self, width: int) -> None:
        self._columns = 1 + width
        self._numbers = array('d')
        # A fifth of the time that array.extend takes.
        self.pack, self.append = Struct(f'{1 + width}d').pack, self._numbers.frombytes

    def add(self, time: float, row: Iterable[float]) -> None:
        """Keep the row of a time."""
        self.append(self.pack(time, *row))

    def __len__(self) -> int:
        return len(self._numbers) // self._columns

    @property
    def times(self) -> array[float]:
        """Return the time of each row."""
        return self._numbers[::self._columns]

    def last(self, column: int) -> float:
        """Return the newest value of a column, NaN if there is none."""
        return self._numbers[1 + column - self._columns] if self._numbers else math.nan

    def rows(self, first: int = 0) -> NDArray[np.float64]:
        """Return the rows from one on, each with its time in front."""
        return np.array(self._numbers[first * self._columns:]).reshape(-1, self._columns)
