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

"""The altitude by which a runway is flown: corrected by a range finder where that sees it."""

from __future__ import annotations

import math

from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.runway.runway import Runway

# The ground is as high as the runway so far (m) before its threshold, and so far to each side of
# the extended centreline: ICAO, Annex 14, volume I, section 3.8, "Radio altimeter operating area".
_BEFORE, _BESIDE = 300.0, 60.0
# What altitude and range finder differ by at first is removed with this time constant (s), and
# what they differed by at last is forgotten with that one.
_BLENDS, _FORGETS = 2.0, 60.0
# Which steps of the altitude's updates are smoothed within (s).
_SMOOTHS = 1.0


class Height:
    """
    Correct the altitude of measurements, by the height above the ground near a runway.

    Over the runway and shortly before it, within reach of the range finder, the corrected altitude
    becomes the runway's elevation and the measured height. The first one that is seen in flight is
    approached smoothly; on the ground it holds at once. Elsewhere it is the altitude that was
    measured, with the last correction, which is slowly forgotten.
    """

    def __init__(self) -> None:
        self._correction = 0.0
        # Of what is seen now, what is still to be removed, once something has been seen.
        self._gap = 0.0
        self._standing = 0.0
        self.is_seen = False

    def stand(self, now: Measurement, height: float) -> None:
        """Stand on the runway, the centre of gravity at this height (m): take it for that."""
        self._standing = now.height_above_ground - height
        self._gap, self.is_seen = 0.0, True

    def corrected(self, now: Measurement, runway: Runway, dt: float) -> Measurement:
        """Return a measurement, ``dt`` seconds after the last, with the corrected altitude."""
        was_seen, self.is_seen = self.is_seen, _sees(now, runway)
        if not self.is_seen:
            self._correction *= math.exp(-dt / _FORGETS)
            if not self._correction:
                return now
            return now._replace(altitude=now.altitude + self._correction)
        seen = runway.elevation + now.height_above_ground - self._standing
        known = not math.isnan(now.altitude)
        if not was_seen:
            self._gap = now.altitude + self._correction - seen if known else 0.0
        self._gap *= math.exp(-dt / _BLENDS)
        altitude = seen + self._gap
        if known:
            share = 1.0 if not was_seen else 1.0 - math.exp(-dt / _SMOOTHS)
            self._correction += share * (altitude - now.altitude - self._correction)
        return now._replace(altitude=altitude)


def _sees(now: Measurement, runway: Runway) -> bool:
    """Return whether the range finder measures the height above the runway."""
    if not math.isfinite(now.height_above_ground):
        return False
    along, across = runway.locate(now.east, now.north)
    # Not known is not near.
    return -_BEFORE <= along <= runway.length and abs(across) <= _BESIDE
