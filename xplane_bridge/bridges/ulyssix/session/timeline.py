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

"""Ulyssix times to UTC: which reading of the packet's time is true, which year, which day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, UTC
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.ulyssix.protocol import (
    DataPacket,
    decode_bcd,
    MICROS_PER_DAY,
    micros_since_jan1,
    PacketTime,
    WordOrder,
)
from xplane_bridge.bridges.ulyssix.session.events import Statistics
from xplane_bridge.common.timing import SECOND_NS

_HOUR = 3600 * SECOND_NS
_DAY = 1000 * MICROS_PER_DAY
# A time without a year belongs to the year that brings it nearest, so it is never further off.
_HALF_YEAR = 183 * _DAY
# Sample times count from 1 January; one day more than a leap year has, for publishers that number
# days from 1 (docs/wire/ulyssix.md, section 2, row 5).
_LONGEST_SECONDS = 368 * 86_400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Placed:
    """
    When a packet's samples were taken, in ns since 1970-01-01 UTC.

    first_ns is the time of the first data point, as the packet says. times has the time of each
    sample, int64, in the order of the values; None if nothing is known beyond first_ns.
    """

    first_ns: int
    times: NDArray[np.int64] | None


@dataclass(slots=True)
class _Samples:
    """Sample times in ns since 1 January, with the first and last of them."""

    times: NDArray[np.int64]
    first: int
    last: int


class Timeline:
    """
    Infer from the stream how a publisher means its times, and place packets in UTC.

    word_order, day_base (the number of 1 January) and year are inferred if None. utc_offset_hours
    is how far the publisher's clock is ahead of UTC. ``periods_ns`` is the spacing of untagged
    samples, one per parameter, 0 if unknown; None for no parameter.

    Settled by inference, and kept until ``restart``:

    word_order is that of the last packet whose time made sense in only one order. day_base follows
    from sample times, which count from 1 January. If they are a day ahead of the packet's time,
    either the packet numbers days from 0, or the samples number them from 1; the receive time
    decides if it is within half a day of the latter, else it is the former. Without time tags it
    is 1, as IRIG counts. sample_days is how many whole days the sample times are ahead; they are
    shifted by it.

    For the last packet: latency_ns is from its time to its reception; readable is whether its time
    was valid.

    The year is the one that brings the time nearest to its reception; a given ``year`` is that of
    the first packet, and the following packets are placed near it. So New Year needs no special
    care, neither between packets nor within one. Source: docs/wire/ulyssix.md, section 2, rows 3
    to 8, 16 and 19.
    """

    def __init__(
        self,
        *,
        word_order: WordOrder | None = None,
        day_base: int | None = None,
        year: int | None = None,
        utc_offset_hours: float = 0.0,
        statistics: Statistics | None = None,
    ) -> None:
        self.periods_ns: NDArray[np.int64] | None = None
        self.statistics = statistics if statistics is not None else Statistics()
        self._fixed_order = word_order
        self._fixed_base = day_base
        self._fixed_year = year
        self._offset_ns = round(utc_offset_hours * _HOUR)
        self.restart()

    def restart(self) -> None:
        """Forget what was settled; it may be another publisher."""
        self.word_order = self._fixed_order
        self.day_base = self._fixed_base
        self.sample_days: int | None = None
        self.latency_ns: int | None = None
        self.readable = False
        self._year = self._fixed_year
        self._last: int | None = None

    @property
    def year(self) -> int | None:
        """Return the year of the last packet by the publisher's clock, None before the first."""
        return self._year

    def is_later(self, bcd_hex: str, than: str, by_ns: int) -> bool | None:
        """
        Return whether one packet's time is later than another's by more than that.

        None if one of them cannot be read, or both can be read either way.
        """
        order = self._fixed_order or self.word_order
        readings = decode_bcd(bytes.fromhex(bcd_hex), order)
        others = decode_bcd(bytes.fromhex(than), order)
        ahead = {
            (_since_day_0(reading) - _since_day_0(other) + _HALF_YEAR) % (2 * _HALF_YEAR)
            > _HALF_YEAR + by_ns
            for reading in readings for other in others
            if reading.word_order is other.word_order}
        return ahead.pop() if len(ahead) == 1 else None

    def place(self, packet: DataPacket, received_ns: int) -> Placed:
        """Return when the samples of a packet, received at received_ns (UTC), were taken."""
        received = received_ns + self._offset_ns
        samples = None if packet.times is None else self._since_jan1(packet.times)
        since = self._packet_time(packet.bcd_hex_on_wire, samples, received)
        times = None
        if since is None:
            if samples is None:
                return self._placed(received, None, packet, received)
            since = samples.first - (self.sample_days or 0) * _DAY
            start = self._find_year_start(since, received)
        else:
            since -= _DAY if self.day_base is None else self.day_base * _DAY
            start = self._find_year_start(since, received)
            if samples is not None:
                self._unwrap(samples, since)
                self._drop_strays(samples, since)
                since += self._compare(samples.first - since, start + since - received)
        if samples is not None:
            times = samples.times
            times += start - self._offset_ns - (self.sample_days or 0) * _DAY
        return self._placed(start + since, times, packet, received)

    def _placed(
        self, first: int, times: NDArray[np.int64] | None, packet: DataPacket, received: int
    ) -> Placed:
        self._last = first
        self.latency_ns = received - first
        first -= self._offset_ns
        if times is None and self.periods_ns is not None:
            times = _spaced(packet.counts, self.periods_ns, first)
        return Placed(first, times)

    def _since_jan1(self, times: NDArray[Any]) -> _Samples | None:
        """Return sample times as ns since 1 January, None if there are none that make sense."""
        if not len(times):
            return None
        seconds = times.dtype.kind == 'f'
        longest: int = _LONGEST_SECONDS * (1 if seconds else 1_000_000)
        first, last = times.min(), times.max()
        # Written so that NaN fails the test.
        if not (first >= 0 and last < longest):
            good = (times >= 0) & (times < longest)
            self.statistics.times_out_of_range += len(times) - int(good.sum())
            if not good.any():
                return None
            first, last = times[good].min(), times[good].max()
            times = np.where(good, times, first)
        if seconds:
            scaled = times * 1e9
            np.rint(scaled, out=scaled)
            return _Samples(scaled.astype(np.int64), round(first * 1e9), round(last * 1e9))
        return _Samples(times.astype(np.int64) * 1000, int(first) * 1000, int(last) * 1000)

    def _packet_time(
        self, bcd_hex: str, samples: _Samples | None, received: int
    ) -> int | None:
        """Return the packet's time in ns since 1 January as day 0; None if unreadable."""
        readings = decode_bcd(bytes.fromhex(bcd_hex), self._fixed_order)
        self.readable = bool(readings)
        if not readings:
            self.statistics.times_unreadable += 1
            return None
        if len(readings) == 1:
            self.word_order = readings[0].word_order
            return _since_day_0(readings[0])
        for reading in readings:
            if reading.word_order is self.word_order:
                return _since_day_0(reading)
        # Both make sense and none is settled. The samples, or else the receive time, are close to
        # one.
        self.statistics.times_guessed += 1
        near = samples.first if samples is not None else received - _start(_to_year(received))
        return min((_since_day_0(reading) for reading in readings),
                   key=lambda since: abs(since - _DAY - near))

    def _find_year_start(self, since: int, received: int) -> int:
        """Return the beginning of the year of a time since 1 January, in ns since 1970."""
        reference = received
        if self._fixed_year is not None:
            if self._last is None:
                return _start(self._fixed_year)
            reference = self._last
        if self._year is not None:
            start = _start(self._year)
            if abs(start + since - reference) < _HALF_YEAR - _DAY:
                return start
        year = _to_year(reference)
        self._year = min((year - 1, year, year + 1),
                         key=lambda year: abs(_start(year) + since - reference))
        return _start(self._year)

    def _unwrap(self, samples: _Samples, since: int) -> None:
        """Shift samples of the other year in a packet across New Year to this year's count."""
        if samples.first > since - _HALF_YEAR and samples.last < since + _HALF_YEAR:
            return
        year = self._year or _EPOCH.year
        before, begin, after = (_start(each) for each in (year - 1, year, year + 1))
        times = samples.times
        ahead = times - since
        times[ahead < -_HALF_YEAR] += after - begin
        times[ahead > _HALF_YEAR] -= begin - before
        samples.first, samples.last = int(times.min()), int(times.max())

    def _drop_strays(self, samples: _Samples, since: int) -> None:
        """Give samples an hour off their packet's time, unless all are, that of the first."""
        if samples.last - samples.first <= _HOUR:
            return
        times = samples.times
        near = np.abs(times - since - (self.sample_days or 0) * _DAY) <= _HOUR
        if near.any():
            self.statistics.times_out_of_range += len(times) - int(near.sum())
            samples.first, samples.last = int(times[near].min()), int(times[near].max())
            times[~near] = samples.first

    def _compare(self, ahead: int, early: int) -> int:
        """
        Compare the samples with the packet's time, and settle day base and sample days.

        ahead: how far the first sample is ahead of the packet's time; early: how far the packet's
        time is ahead of its reception. Returns the correction to the packet's time.
        """
        days = round(ahead / _DAY)
        if abs(days) > 1 or abs(ahead - days * _DAY) > _HOUR:
            # A publisher with the appendix's wrong factors (row 8), or a broken clock.
            self.statistics.times_disagreeing += 1
            return 0
        if self.day_base is None:
            self.day_base = 0 if days == 1 and abs(early) > _DAY // 2 else 1
            if self.day_base == 0:
                self.sample_days = 0
                return _DAY
        if self.sample_days is None:
            self.sample_days = days
        elif days != self.sample_days:
            self.statistics.times_disagreeing += 1
        return 0


def _since_day_0(time: PacketTime) -> int:
    return 1000 * micros_since_jan1(
        time.doy, time.hour, time.minute, time.second, time.microsecond, day_base=0)


@lru_cache(maxsize=16)
def _start(year: int) -> int:
    """Return the beginning of a year in ns since 1970, for the year's own zone."""
    return (datetime(year, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1) * 1000


def _to_year(ns: int) -> int:
    return (_EPOCH + timedelta(microseconds=ns // 1000)).year


def _spaced(
    counts: NDArray[np.int64], periods_ns: NDArray[np.int64], first_ns: int
) -> NDArray[np.int64] | None:
    """Return times of samples at constant spacing from first_ns on; None if they do not fit."""
    if len(counts) != len(periods_ns):
        return None
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    times: NDArray[np.int64] = number * np.repeat(periods_ns, counts) + first_ns
    return times
