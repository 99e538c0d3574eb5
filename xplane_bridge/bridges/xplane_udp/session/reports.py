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

"""X-Plane's reports about itself: its pause, its overrides, its controls."""

from __future__ import annotations

from collections.abc import Mapping

from xplane_bridge.bridges.xplane_udp.session.commands import BRAKES, STICKS, TOE_BRAKES
from xplane_bridge.bridges.xplane_udp.session.dialect import INTERNAL_VERSION, TIME

PAUSED = 'sim/time/paused'
OVERRIDE = 'sim/operation/override/override_joystick'

# Values travel as float32.
_TOLERANCE = 1e-5

# Reports older than this are stale.
_FRESH = 3.0

SETTLING = 0.5
"""Seconds after a write of ours: transit, a frame, and the return of the next report."""


def planepath(aircraft: int) -> str:
    """Return the dataref that stops the flight model of an aircraft (0 to 19)."""
    return f'sim/operation/override/override_planepath[{aircraft}]'


REPORTED = (
    TIME, PAUSED, OVERRIDE, planepath(0), INTERNAL_VERSION, *STICKS.values(), TOE_BRAKES,
    *BRAKES.values())
"""Datarefs that X-Plane 10 and later is asked to report: all that commands take."""


class Sieve:
    """
    Lets the reports pass that are of now.

    A late one that does not say so differs from those before and after it: one that differs counts
    once the next one differs too.
    """

    def __init__(self) -> None:
        self._last: dict[str, float] = {}
        self._odd: set[str] = set()

    def take(
        self, values: Mapping[str, float | None], *, dated: bool
    ) -> dict[str, float]:
        """Return what counts of these reports, by name; all, if their time shows it."""
        passed = {name: value for name, value in values.items() if value is not None}
        if not dated:
            odd = {name for name, value in passed.items()
                   if name in self._last and not is_close(value, self._last[name])}
            for name in odd - self._odd:
                del passed[name]
            self._odd = (self._odd - passed.keys()) | (odd - self._odd)
        elif self._odd:
            self._odd -= passed.keys()
        self._last.update(passed)
        return passed


class Reports:
    """
    The newest report of each value, as long as it is credible.

    After we have written a value, its reports are not until X-Plane had time to read it.
    """

    def __init__(self) -> None:
        self._values: dict[str, tuple[float, float]] = {}
        self._settled_at: dict[str, float] = {}
        self._written: dict[str, float] = {}
        self._known: set[str] = set()

    def on_reply(self, values: Mapping[str, float], now: float) -> None:
        """Handle reports, by name."""
        for name, value in values.items():
            if name not in self._known:
                self._known.add(name)
            if name not in self._settled_at or now >= self._settled_at[name]:
                self._values[name] = value, now

    def knows(self, name: str) -> bool:
        """Return whether this has ever been reported."""
        return name in self._known

    def get(self, name: str, now: float) -> float | None:
        """Return what was reported last, None if that is not credible."""
        value, at = self._values.get(name, (None, now))
        return value if now - at < _FRESH else None

    def before(self, name: str, now: float) -> float | None:
        """Return the current value: as reported, or as we have just written it."""
        if now < self._settled_at.get(name, now):
            return self._written[name]
        return self.get(name, now)

    def written(self, values: Mapping[str, float], now: float) -> None:
        """Record that we have just written these."""
        self._written.update(values)
        for name in values:
            self._values.pop(name, None)
            self._settled_at[name] = now + SETTLING

    def confirm(self, name: str, value: float, now: float) -> None:
        """Record that this report shows the effect of what we have written."""
        self._settled_at.pop(name, None)
        self._values[name] = value, now

    def clear(self) -> None:
        """Forget all reports."""
        self._values.clear()
        self._settled_at.clear()
        self._written.clear()


def is_close(value: float, other: float) -> bool:
    """Return whether two values are the same as float32."""
    return abs(value - other) < _TOLERANCE
