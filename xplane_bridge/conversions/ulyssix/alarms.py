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

"""Parameters out of their limits: now, and since the start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.conversions.ulyssix.reading import Parameter

WARN, ERROR = 1, 2
_NO_GROUP = 'parameters'


@dataclass(slots=True)
class Alarm:
    """
    One parameter that was out of its limits.

    level is the worst since the last report, 0 if all is well again. latest is the last bad value,
    in the parameter's own unit. samples are all that were out of limits, times how often that
    began, worst the level of the worst. fresh is whether it was bad since the last report.
    """

    entry: Parameter
    level: int = 0
    latest: float = 0.0
    samples: int = 0
    times: int = 0
    worst: int = 0
    fresh: bool = False

    def __str__(self) -> str:
        low, high = self.entry.limits if self.level == ERROR else self.entry.warn
        unit = f' {self.entry.symbol}' if self.entry.symbol else ''
        if self.latest > high:
            return f'{self.latest:g}{unit}, above {high:g}'
        if self.latest < low:
            return f'{self.latest:g}{unit}, below {low:g}'
        return 'not a number'


class Group(NamedTuple):
    """
    What is out of limits in one group.

    level is that of the worst since the last report, 0 if all is well; now has those parameters,
    and ever all that have been out of limits. guarded is how many have limits.
    """

    name: str
    level: int
    now: dict[str, str]
    ever: dict[str, Alarm]
    guarded: int


class Alarms:
    """
    Compares samples with limits.

    A parameter is checked by its least and largest sample in a packet, so that only those out of
    limits cost more. A sample that is no number is out of limits.
    """

    def __init__(self) -> None:
        self._ever: dict[str, Alarm] = {}
        self._groups: dict[str, int] = {}
        self.follow((), ())

    def follow(
        self, entries: Sequence[tuple[int, str, Parameter]],
        derived: Sequence[tuple[str, Parameter]],
    ) -> None:
        """Check these from now on: (number in the packet, name, entry) if they have limits."""
        guarded = [one for one in entries if one[2].guarded]
        self._derived = {name: entry for name, entry in derived if entry.guarded}
        self._entries = guarded
        self._index = np.array([index for index, _, _ in guarded], np.intp)
        # The narrower of limits and warn, as raw values.
        bounds = np.array([_raw_bounds(entry) for _, _, entry in guarded]).reshape(-1, 2)
        self._low, self._high = bounds.T
        self._low32, self._high32 = (each.astype(np.float32) for each in bounds.T)
        self._was_bad: set[str] = set()
        self._groups = {}
        for entry in (*(one[2] for one in guarded), *self._derived.values()):
            group = entry.group or _NO_GROUP
            self._groups[group] = self._groups.get(group, 0) + 1

    def check(self, counts: NDArray[np.int64], ends: NDArray[np.int64],
              values: NDArray[Any]) -> None:
        """Check a packet: the samples and the end of each parameter in the raw ``values``."""
        if not len(self._index):
            return
        some = np.flatnonzero(counts[self._index])
        if not len(some):
            return
        chosen = self._index[some]
        slices = np.empty(2 * len(chosen), np.intp)
        slices[1::2] = ends[chosen]
        slices[::2] = slices[1::2] - counts[chosen]
        if slices[-1] == len(values):
            slices = slices[:-1]
        least = np.minimum.reduceat(values, slices)[::2]
        most = np.maximum.reduceat(values, slices)[::2]
        single = values.dtype == np.float32
        low, high = (self._low32, self._high32) if single else (self._low, self._high)
        # Written so that NaN is out of limits.
        good = (least >= low[some]) & (most <= high[some])
        if good.all() and not self._was_bad:
            return
        for n, fine in zip(some, good, strict=True):
            index, name, entry = self._entries[n]
            if fine:
                self._was_bad.discard(name)
                continue
            end = int(ends[index])
            raw = values[end - int(counts[index]):end]
            self._take(name, entry, raw * entry.scale + entry.offset)

    def check_derived(self, name: str, values: NDArray[np.float64]) -> None:
        """Check a derived parameter's values, in its own unit."""
        entry = self._derived.get(name)
        if entry is not None and len(values):
            self._take(name, entry, values)

    def _take(self, name: str, entry: Parameter, values: NDArray[np.float64]) -> None:
        level = 0
        for each, (low, high) in ((ERROR, entry.limits), (WARN, entry.warn)):
            # As sent: 0.1 of single precision is not above 0.1.
            bad = ~((values >= low - _little(low)) & (values <= high + _little(high)))
            if bad.any():
                level = each
                break
        if not level:
            self._was_bad.discard(name)
            return
        alarm = self._ever.setdefault(name, Alarm(entry))
        alarm.times += name not in self._was_bad
        self._was_bad.add(name)
        alarm.samples += int(bad.sum())
        alarm.latest = float(values[np.flatnonzero(bad)[-1]])
        alarm.level = max(alarm.level if alarm.fresh else 0, level)
        alarm.fresh = True
        alarm.worst = max(alarm.worst, level)

    def report(self) -> Iterator[Group]:
        """Return what is out of limits since the last report, and ever, for each group."""
        for group, guarded in sorted(self._groups.items()):
            ever = {name: alarm for name, alarm in self._ever.items()
                    if (alarm.entry.group or _NO_GROUP) == group}
            for name, alarm in ever.items():
                # A slow parameter stays out of limits until it says otherwise.
                if not alarm.fresh and name not in self._was_bad:
                    alarm.level = 0
            now = {name: str(alarm) for name, alarm in ever.items() if alarm.level}
            level = max((alarm.level for alarm in ever.values()), default=0)
            for alarm in ever.values():
                alarm.fresh = False
            yield Group(group, level, now, ever, guarded)


def _little(limit: float) -> float:
    return abs(limit) * 1e-7 if np.isfinite(limit) else 0.0


def _raw_bounds(entry: Parameter) -> tuple[float, float]:
    return entry.raw(max(entry.limits[0], entry.warn[0]), min(entry.limits[1], entry.warn[1]))
