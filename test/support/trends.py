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

"""Statistics for the soak test: percentiles, slopes, and whether a figure grows."""

from dataclasses import dataclass
import math
from statistics import linear_regression, median


@dataclass(frozen=True)
class Figure:
    """A figure over time, as chronological (seconds, value) pairs."""

    samples: list

    @property
    def values(self):
        """Return the values alone."""
        return [value for _, value in self.samples]


def percentile(values, part):
    """Return the ``part``th percentile (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part / 100.0 * len(ordered)) - 1)]


def slope_per_hour(figure):
    """Return the slope of a figure in the second half of its run, in units per hour."""
    half = figure.samples[len(figure.samples) // 2:]
    if len({at for at, _ in half}) < 2:
        return 0.0
    return 3600.0 * linear_regression(*zip(*half, strict=True)).slope


def grew(figure, noise):
    """
    Return whether a figure grows: each quarter of its run is above the one before.

    The first quarter does not count, since a process grows to its working size; medians ignore
    peaks. ``noise`` is how far the last quarter may exceed the second without being growth.
    """
    quarter = len(figure.values) // 4
    if not quarter:
        return False
    second, third, fourth = (
        median(figure.values[begin * quarter:(begin + 1) * quarter]) for begin in (1, 2, 3))
    return fourth - second > noise and second < third < fourth
