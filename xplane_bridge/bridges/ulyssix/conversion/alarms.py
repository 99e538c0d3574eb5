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

"""Parameters out of their limits, now and since the start, and those that nobody hears."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.ulyssix.conversion.reading import MapEntry

WARN, ERROR, STALE = 1, 2, 3
"""Levels of a group, as those of /diagnostics: STALE is what is not received."""

_NO_GROUP = 'parameters'
# The usual interval of a parameter is that of this many arrivals.
_RECENT = 8
# Silent for longer than this (s) and this many usual intervals: nobody knows its value any more.
_SILENT, _SILENT_INTERVALS = 1.0, 3.0
# The same of a parameter of which one sample has arrived, so that its interval is not known (s).
_UNKNOWN = 10.0
# The names are the sender's: those that are gone are watched up to this number.
_MOST_WATCHED = 10_000

# Bytes of packets that are kept until they are checked.
_MOST_KEPT = 2**20
# What a kept packet takes beside its samples, in bytes.
_OVERHEAD = 512

MOST_NAMED = 5
"""Names in a sentence."""


@dataclass(slots=True)
class Alarm:
    """
    One parameter that was out of its limits.

    level is the worst since the last report, 0 if all is well again. latest is the last bad value,
    in the parameter's own unit. samples are all that were out of limits, times how often that
    began, worst the level of the worst. fresh is whether it was bad since the last report.
    """

    entry: MapEntry
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


class AlarmGroup(NamedTuple):
    """
    What is out of limits in one group.

    now has the parameters that are out of limits since the last report, and ever all that have
    been. guarded is how many have limits, silent for how long those have been silent that should
    have been heard (s; NaN: they never were), and absent those that nobody sends, with the reason.
    level is ERROR beyond limits, else STALE if one is silent, else WARN beyond warn or if one is
    absent, and 0 if all is well.
    """

    name: str
    level: int
    now: dict[str, str]
    ever: dict[str, Alarm]
    guarded: int
    silent: dict[str, float]
    absent: dict[str, str]

    @property
    def sentence(self) -> str:
        """Return what there is to say: of what is bad, else that all is well."""
        parts = []
        if self.now:
            parts.append('out of limits: ' + listed(
                [f'{name} {text}' for name, text in self.now.items()]))
        ages = [age for age in self.silent.values() if age == age]
        if ages:
            parts.append(f'no sample for {max(ages):.0f} s of ' + listed(
                [name for name, age in self.silent.items() if age == age]))
        if len(ages) < len(self.silent):
            parts.append('no sample yet of ' + listed(
                [name for name, age in self.silent.items() if age != age]))
        if self.absent:
            parts.append('not watched: ' + listed(
                [f'{name} {reason}' for name, reason in self.absent.items()]))
        return '; '.join(parts) or (
            '1 parameter within its limits' if self.guarded == 1 else
            f'{self.guarded} parameters within their limits')


def listed(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """Return the first names of many for a sentence, and how many more there are."""
    more = f' and {len(names) - most} more' if len(names) > most else ''
    return ', '.join(names[:most]) + more


@dataclass(slots=True)
class _Watched:
    """All parameters with limits that were ever followed: when their last samples arrived."""

    entries: dict[str, MapEntry] = field(default_factory=dict)
    times: NDArray[np.float64] = field(default_factory=lambda: np.full((0, _RECENT), np.nan))

    def rows(self, found: Sequence[tuple[str, MapEntry]]) -> NDArray[np.intp]:
        """Return the rows of these in ``times``; new ones are added."""
        if len(self.entries.keys() | dict(found).keys()) > _MOST_WATCHED:
            self.entries, self.times = {}, self.times[:0]
        self.entries |= dict(found)
        new = len(self.entries) - len(self.times)
        self.times = np.concatenate((self.times, np.full((new, _RECENT), np.nan)))
        row = {name: at for at, name in enumerate(self.entries)}
        return np.array([row[name] for name, _ in found], np.intp)

    def heard(
        self, rows: NDArray[np.intp], is_there: NDArray[np.bool_], now: NDArray[np.float64]
    ) -> None:
        """Note that samples arrived ``now``: ``is_there`` has the shape (arrivals, rows)."""
        always = is_there.all(axis=0)
        regular, new = rows[always], now[-_RECENT:]
        kept = _RECENT - len(new)
        if kept:
            self.times[regular, :kept] = self.times[regular, len(new):]
        self.times[regular, kept:] = new
        if always.all():
            return
        for each, at in zip(is_there & ~always, now, strict=True):
            chosen = rows[each]
            if len(chosen):
                self.times[chosen, :-1] = self.times[chosen, 1:]
                self.times[chosen, -1] = at

    def silent(self, now: float, is_silent: bool) -> dict[str, float]:
        """Return how long (s) those have been silent that should have been heard, or all."""
        age = now - self.times[:, -1]
        intervals = np.isfinite(self.times).sum(1) - 1
        usual = (self.times[:, -1] - np.fmin.reduce(self.times, 1, initial=np.inf)) / np.maximum(
            intervals, 1)
        allowed = np.where(
            intervals > 0, np.maximum(_SILENT_INTERVALS * usual, _SILENT), _UNKNOWN)
        # Written so that one that was never heard is silent.
        which = ~(age <= allowed) | is_silent
        return {name: float(one) for name, one, late in zip(self.entries, age, which, strict=True)
                if late}


class _Parts:
    """
    The samples of each parameter with limits in each packet, one after the other.

    entry: the number of its entry. least, most: of the samples, from ``low`` and ``high``.
    """

    def __init__(
        self, counts: NDArray[np.int64], index: NDArray[np.intp], low: NDArray[Any],
        high: NDArray[Any],
    ) -> None:
        chosen = counts[:, index]
        packet, self.entry = np.nonzero(chosen)
        self.ends = np.cumsum(counts).reshape(counts.shape)[:, index][packet, self.entry]
        self.begins = self.ends - chosen[packet, self.entry]
        if len(self.ends) and (self.begins[1:] == self.ends[:-1]).all():
            # There is nothing between them, as where all parameters have limits.
            end = self.ends[-1]
            self.least = np.minimum.reduceat(low[:end], self.begins)
            self.most = np.maximum.reduceat(high[:end], self.begins)
            return
        slices = np.empty(2 * len(self.ends), np.intp)
        slices[::2], slices[1::2] = self.begins, self.ends
        if len(slices) and slices[-1] == len(low):
            slices = slices[:-1]
        self.least = np.minimum.reduceat(low, slices)[::2]
        self.most = np.maximum.reduceat(high, slices)[::2]


class Alarms:
    """
    Compares samples with limits.

    ``check`` keeps packets, at most 1 MB of them; ``settle`` compares them, and a report does
    so first. A parameter is compared by its least and largest sample, so that only those out of
    limits cost more. A sample that is no number is out of limits. ``guarded`` are all entries of
    the map that have limits: each is watched, or the report says why it is not.
    """

    def __init__(self, given: Iterable[MapEntry] = ()) -> None:
        self._ever: dict[str, Alarm] = {}
        self._given = [entry for entry in given if entry.guarded]
        self._watched = _Watched()
        self._is_followed = False
        self._lacking: Mapping[str, str] = {}
        self._was_bad: set[str] = set()
        # Counts, values, and when they arrived, NaN if unknown.
        self._kept: list[tuple[NDArray[np.int64], NDArray[Any], float]] = []
        self._kept_derived: dict[str, list[tuple[NDArray[np.float64], float]]] = {}
        self._kept_bytes = 0
        self._set((), ())

    def follow(
        self, entries: Sequence[tuple[int, str, MapEntry]],
        derived: Sequence[tuple[str, MapEntry]], lacking: Mapping[str, str],
    ) -> None:
        """
        Check these from now on: (number in the packet, name, entry) if they have limits.

        ``lacking`` says of derived ones what they need that nobody sends.
        """
        self.settle()
        self._is_followed = True
        self._lacking = lacking
        self._set(entries, derived)

    def _set(
        self, entries: Sequence[tuple[int, str, MapEntry]],
        derived: Sequence[tuple[str, MapEntry]],
    ) -> None:
        guarded = [one for one in entries if one[2].guarded]
        self._derived = {name: entry for name, entry in derived if entry.guarded}
        self._entries = guarded
        self._index = np.array([index for index, _, _ in guarded], np.intp)
        # The narrower of limits and warn, as raw values.
        bounds = np.array([_raw_bounds(entry) for _, _, entry in guarded]).reshape(-1, 2)
        self._low, self._high = bounds.T
        self._low32, self._high32 = (each.astype(np.float32) for each in bounds.T)
        found = [*((name, entry) for _, name, entry in guarded), *self._derived.items()]
        rows = self._watched.rows(found)
        self._rows = rows[:len(guarded)]
        self._derived_rows = dict(zip(self._derived, rows[len(guarded):], strict=True))
        known = self._watched.entries
        self._ever = {name: alarm for name, alarm in self._ever.items() if name in known}
        self._was_bad &= known.keys()

    def check(
        self, counts: NDArray[np.int64], values: NDArray[Any], now: float = np.nan
    ) -> None:
        """Take a packet: the number of each parameter's samples, raw; ``now`` as in ``report``."""
        if not len(self._index):
            return
        self._kept.append((counts, values, now))
        self._keep(counts.nbytes + values.nbytes)

    def _keep(self, size: int) -> None:
        self._kept_bytes += size + _OVERHEAD
        if self._kept_bytes >= _MOST_KEPT:
            self.settle()

    def settle(self) -> None:
        """Compare all packets that are kept."""
        kept, self._kept, self._kept_bytes = self._kept, [], 0
        if kept:
            self._settle(kept)
        derived, self._kept_derived = self._kept_derived, {}
        for name, samples in derived.items():
            counts = np.array([len(values) for values, _ in samples])
            now = np.array([at for _, at in samples])
            if not np.isnan(now[-1]):
                self._watched.heard(
                    np.array([self._derived_rows[name]]), np.ones((len(now), 1), bool), now)
            self._take(name, self._derived[name], np.concatenate([one[0] for one in samples]),
                       counts, np.zeros(len(counts), bool))

    def _settle(self, kept: Sequence[tuple[NDArray[np.int64], NDArray[Any], float]]) -> None:
        every = np.array([counts for counts, _, _ in kept])
        counts = every[:, self._index]
        is_there = counts > 0
        now = np.array([at for *_, at in kept])
        if not np.isnan(now[-1]):
            self._watched.heard(self._rows, is_there, now)
        values = np.concatenate([each for _, each, _ in kept])
        if (every[1:] == every[0]).all() and not self._was_bad:
            # The least and largest of all packets, as if they were one.
            rows = values.reshape(len(kept), -1)
            parts = _Parts(every[:1], self._index, rows.min(axis=0), rows.max(axis=0))
            if self._is_good(parts).all():
                return
        parts = _Parts(every, self._index, values, values)
        good = self._is_good(parts)
        was_bad = [n for n, (_, name, _) in enumerate(self._entries) if name in self._was_bad] if (
            self._was_bad) else []
        for n in np.union1d(np.unique(parts.entry[~good]), np.array(was_bad, np.intp)):
            _, name, entry = self._entries[n]
            chosen = np.flatnonzero(parts.entry == n)
            if not len(chosen):
                continue
            raw = [values[parts.begins[at]:parts.ends[at]] for at in chosen]
            self._take(name, entry, np.concatenate(raw) * entry.scale + entry.offset,
                       np.array([len(each) for each in raw]), good[chosen])

    def _is_good(self, parts: _Parts) -> NDArray[np.bool_]:
        single = parts.least.dtype == np.float32
        low, high = (self._low32, self._high32) if single else (self._low, self._high)
        # Written so that NaN is out of limits.
        good: NDArray[np.bool_] = (
            parts.least >= low[parts.entry]) & (parts.most <= high[parts.entry])
        return good

    def check_derived(
        self, name: str, values: NDArray[np.float64], now: float = np.nan
    ) -> None:
        """Check a derived parameter's values of one packet, in its own unit."""
        if name in self._derived and len(values):
            self._kept_derived.setdefault(name, []).append((values, now))
            self._keep(values.nbytes)

    def _take(
        self, name: str, entry: MapEntry, values: NDArray[np.float64],
        counts: NDArray[np.int64], is_good: NDArray[np.bool_],
    ) -> None:
        """Take a parameter's values in packets with ``counts`` of them, some known as good."""
        starts = np.cumsum(counts) - counts
        error, warn = (
            # As sent: 0.1 of single precision is not above 0.1.
            ~((values >= low - _little(low)) & (values <= high + _little(high)))
            & ~np.repeat(is_good, counts) for low, high in (entry.limits, entry.warn))
        errors = np.logical_or.reduceat(error, starts)
        bad = np.where(np.repeat(errors, counts), error, warn)
        is_bad = np.logical_or.reduceat(bad, starts)
        before = np.concatenate(([name in self._was_bad], is_bad[:-1]))
        (self._was_bad.add if is_bad[-1] else self._was_bad.discard)(name)
        if not is_bad.any():
            return
        alarm = self._ever.setdefault(name, Alarm(entry))
        alarm.times += int((is_bad & ~before).sum())
        alarm.samples += int(bad.sum())
        alarm.latest = float(values[np.flatnonzero(bad)[-1]])
        level = ERROR if errors.any() else WARN
        alarm.level = max(alarm.level if alarm.fresh else 0, level)
        alarm.fresh = True
        alarm.worst = max(alarm.worst, level)

    def report(self, now: float, is_silent: bool = False) -> Iterator[AlarmGroup]:
        """
        Return what is out of limits since the last report, and ever, for each group of the map.

        ``now`` is in s of a monotonic clock; ``is_silent`` says that the publisher is silent.
        """
        self.settle()
        silent = self._watched.silent(now, is_silent)
        known = self._watched.entries
        patterns = {entry.pattern for entry in known.values()}
        absent = [one for one in self._given if one.pattern not in patterns]
        for group in sorted({_group(one) for one in self._given}):
            names = [name for name, entry in known.items() if _group(entry) == group]
            ever = {name: self._ever[name] for name in names if name in self._ever}
            for name, alarm in ever.items():
                # A slow parameter stays out of limits until it says otherwise.
                if not alarm.fresh and name not in self._was_bad:
                    alarm.level = 0
            bad = {name: str(alarm) for name, alarm in ever.items() if alarm.level}
            missing = [one.pattern for one in absent if _group(one) == group]
            unheard = {name: silent[name] for name in names if name in silent} | (
                {} if self._is_followed else dict.fromkeys(missing, np.nan))
            unsent = {
                name: f'needs {self._lacking[name]}, which is not sent'
                if name in self._lacking else 'is not sent'
                for name in missing if name not in unheard}
            level = max((alarm.level for alarm in ever.values()), default=0)
            if level != ERROR and unheard:
                level = STALE
            for alarm in ever.values():
                alarm.fresh = False
            yield AlarmGroup(group, level or WARN * bool(unsent), bad, ever,
                             len(names) + len(missing), unheard, unsent)


def _group(entry: MapEntry) -> str:
    return entry.group or _NO_GROUP


def _little(limit: float) -> float:
    return abs(limit) * 1e-7 if np.isfinite(limit) else 0.0


def _raw_bounds(entry: MapEntry) -> tuple[float, float]:
    return entry.raw(max(entry.limits[0], entry.warn[0]), min(entry.limits[1], entry.warn[1]))
