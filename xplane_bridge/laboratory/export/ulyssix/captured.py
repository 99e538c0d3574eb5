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


"""A capture of a Ulyssix publisher to the table that ``ulyssix record`` makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xplane_bridge.bridges.links.captures.capture import Datagram
from xplane_bridge.bridges.ulyssix.conversion import ParameterMap
from xplane_bridge.bridges.ulyssix.session import (
    CONSTANT_AFTER,
    mixed,
    Timeline,
    UlyssixSession,
)
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.laboratory.export.captures import CapturedTables, Wanted
from xplane_bridge.laboratory.export.tables import RowBatch
from xplane_bridge.laboratory.export.ulyssix.blocks import Block, TABLE
from xplane_bridge.laboratory.export.ulyssix.recorder import UlyssixRecorder
from xplane_bridge.laboratory.export.ulyssix.sources import Arrival

# So many seconds are one batch.
_PERIOD = 10.0


class CapturedPackets(CapturedTables):
    """
    The parameters of a publisher, one table.

    Its ``recorder`` has their quality at the end. What packets may not say are ``names``,
    ``rates``, ``year`` and ``utc_offset``; ``chart`` is a map of the parameters.
    """

    def __init__(
        self, names: Sequence[str], rates: Sequence[tuple[str, float]], year: int | None,
        utc_offset: float, chart: ParameterMap | None,
    ) -> None:
        super().__init__()
        self._blocks: list[Block] = []
        self.recorder = UlyssixRecorder(
            UlyssixSession(Timeline(year=year, utc_offset_hours=utc_offset),
                           names=tuple(names), rates=tuple(rates)),
            self._blocks.append, _PERIOD, given=chart, constant_after=CONSTANT_AFTER,
            is_wide=True)
        self._has_started = False

    def take(self, datagram: Datagram, start_ns: int, wanted: Wanted) -> Iterator[RowBatch]:
        """Take a packet; yield those of some seconds, if they are over."""
        now = datagram.stamp_ns / SECOND_NS
        if not self._has_started:
            self._has_started = True
            self.recorder.start(now)
        self.recorder.take(
            Arrival(datagram.data, datagram.stamp_ns, now, datagram.source), now)
        yield from self._batches(wanted)

    def rest(self, wanted: Wanted) -> Iterator[RowBatch]:
        """Yield the last ones."""
        self.recorder.finish()
        yield from self._batches(wanted)

    def _batches(self, wanted: Wanted) -> Iterator[RowBatch]:
        for block in self._blocks:
            self.known.add(TABLE)
            if wanted(TABLE):
                yield block.wide()
        self._blocks.clear()

    def sentences(self) -> Iterator[str]:
        """Yield what was not exported, and what was lost before."""
        statistics = self.recorder.session.statistics
        yield from super().sentences()
        yield from self.recorder.warnings
        if found := self.recorder.mixed:
            yield mixed(found, 'for one alone, use ulyssix record with --sender')
        for count, text in (
                (statistics.malformed.total, f'datagrams are no packets: {statistics.last_error}'),
                (statistics.skipped.total, 'packets of other types are skipped'),
                (statistics.lost, 'packets are missing in the capture')):
            if count:
                yield f'{count} {text}'
