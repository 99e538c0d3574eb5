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

"""Faults of sensors that come and go: outages, blocked pressure ports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.laboratory.sensors.specification import Figures, Interval

SENSOR_FAULTS = ('gnss_outage', 'pitot_blocked', 'static_blocked', 'range_finder_failed')
"""What can be broken at any time, and repaired."""


@dataclass(slots=True)
class SensorFaults:
    """
    What is broken: by these attributes, which may be set at any time, and by the file's intervals.

    The intervals count from the first stamp asked for.
    """

    gnss_outage: bool = False
    pitot_blocked: bool = False
    static_blocked: bool = False
    range_finder_failed: bool = False
    outages: tuple[Interval, ...] = ()
    pitot_intervals: tuple[Interval, ...] = ()
    static_intervals: tuple[Interval, ...] = ()
    range_finder_intervals: tuple[Interval, ...] = ()
    _begin: int | None = None

    @classmethod
    def of(cls, figures: Figures) -> SensorFaults:
        """Return the faults that the figures have."""
        gnss, air, ranges = figures.gnss, figures.air_data, figures.range_finder
        return cls(
            outages=gnss.outages if gnss is not None else (),
            pitot_intervals=air.pitot_blocked if air is not None else (),
            static_intervals=air.static_blocked if air is not None else (),
            range_finder_intervals=ranges.failed if ranges is not None else ())

    def has_no_gnss(self, stamp: int) -> bool:
        """Return whether there is no GNSS at a stamp (ns)."""
        return self.gnss_outage or self._within(self.outages, stamp)

    def has_pitot_blocked(self, stamp: int) -> bool:
        """Return whether the pitot tube is blocked at a stamp (ns)."""
        return self.pitot_blocked or self._within(self.pitot_intervals, stamp)

    def has_static_blocked(self, stamp: int) -> bool:
        """Return whether the static port is blocked at a stamp (ns)."""
        return self.static_blocked or self._within(self.static_intervals, stamp)

    def has_no_range(self, stamp: int) -> bool:
        """Return whether the range finder delivers nothing at a stamp (ns)."""
        return self.range_finder_failed or self._within(self.range_finder_intervals, stamp)

    def _within(self, intervals: Iterable[Interval], stamp: int) -> bool:
        if self._begin is None or stamp < self._begin:
            self._begin = stamp
        seconds = (stamp - self._begin) / SECOND_NS
        return any(begin <= seconds < end for begin, end in intervals)
