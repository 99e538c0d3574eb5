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

"""What was measured, commanded and wanted in a flight, as numpy arrays over its time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.timing import ROUNDED_TIME

Array = NDArray[np.float64]


class Series(NamedTuple):
    """A quantity: times (s, shape (n,), increasing) and values (SI, radians, shape (n,))."""

    times: Array
    values: Array

    def between(self, begin: float, end: float) -> Series:
        """
        Return the part from ``begin`` to ``end``, both inclusive; NaN means no limit.

        A frame whose time is rounded to just before ``begin`` is part of it.
        """
        low = 0 if math.isnan(begin) else int(
            np.searchsorted(self.times, begin - ROUNDED_TIME, 'left'))
        high = len(self.times) if math.isnan(end) else int(
            np.searchsorted(self.times, end, 'right'))
        return Series(self.times[low:high], self.values[low:high])


class Arrivals(NamedTuple):
    """A topic: stamps and times of recording, seconds since the epoch of each, shape (n,)."""

    stamps: Array
    recorded: Array


@dataclass(frozen=True, slots=True)
class History:
    """
    The recorded data of one vehicle.

    ``series`` has each of quantities.QUANTITIES, empty where nothing was recorded, at seconds
    after ``begin``, a stamp; heading and target_heading are continuous. ``topics`` is by name
    below ``namespace``, ``counts`` by full name. ``diagnostics`` has the last value of each
    "node: status: key". ``log_time`` says what the recording time is: rosbag2.RECEIVED,
    rosbag2.HANDLED, or empty if unknown.
    """

    namespace: str
    begin: float
    series: Mapping[str, Series]
    topics: Mapping[str, Arrivals]
    counts: Mapping[str, int]
    diagnostics: Mapping[str, str] = field(default_factory=dict)
    log_time: str = ''
