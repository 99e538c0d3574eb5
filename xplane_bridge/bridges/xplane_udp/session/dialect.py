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

"""What one X-Plane speaks: its version, and the layout of its rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from xplane_bridge.bridges.protocols.xplane_versions import FIRST_WITH_DATAREFS
from xplane_bridge.bridges.sessions.base import Address
from xplane_bridge.bridges.xplane_udp import protocol as wire
from xplane_bridge.bridges.xplane_udp.protocol import DataLayout, RrefRequest, VERSIONS

TIME = 'sim/time/total_running_time_sec'
INTERNAL_VERSION = 'sim/version/xplane_internal_version'

# The second exists only in 11 and 12 (docs/wire/xplane_datarefs.md, row 5.21), the other in all:
# so a reply to TIME alone is X-Plane 10.
_FIRST_INDEX = 900
_DATAREFS = {_FIRST_INDEX: INTERNAL_VERSION, _FIRST_INDEX + 1: TIME}
VERSION_NUMBERS = frozenset(_DATAREFS)
"""RREF numbers of the datarefs that show the version."""
VERSION_RATE = 2
"""How often they are sent, per second."""
_PERIOD = 1.0
_PATIENCE = 1.5
# After a silence it may be another version: how long to wait then for the first dataref.
_CHECKING = 5.0
# Rows with the framing of 8 and later, and no reply to RREF for this long: 8 or 9.
_ROWS_PATIENCE = 3.0
_SAME_FRAME_SINCE = 8

_NUMBERS = range(100_000, 1_000_000)

# The last version that may have a trailer byte.
_WITH_TRAILER = 7


def to_version(number: float | None) -> int | None:
    """Return the version, 10 to 12, for a number like 115501; later ones count as 12."""
    if number is None or not _NUMBERS.start <= number < _NUMBERS.stop:
        return None
    return min(int(number) // 10_000, VERSIONS[-1])


def ask_version(rate: int, numbers: Collection[Hashable] = VERSION_NUMBERS) -> list[bytes]:
    """Return the requests for the datarefs that show the version; rate 0 ends them."""
    return [wire.encode(RrefRequest(rate, number, name))
            for number, name in _DATAREFS.items() if number in numbers]


@dataclass(frozen=True, slots=True)
class Wire:
    """
    Layout of datagrams; None detects it, or uses the version's.

    ``data_target`` returns, for the peer's address, the address and port that X-Plane 9 and later
    should send rows to; None leaves that to its settings.
    """

    byte_order: Literal['little', 'big'] | None = None
    trailer: bool | None = None
    pacing: float = 0.01
    data_target: Callable[[str], Address] | None = None


class SpokenDialect:
    """
    The version of one X-Plane and the layout of its rows, as given or as seen from what it sends.

    ``version`` is None while it is not known; it is not searched if it is ``given``. ``layout`` is
    that of the last rows received, None before any.
    """

    def __init__(self, given: int | None, by_rows: bool, form: Wire) -> None:
        self.given = self.version = given
        self.layout: DataLayout | None = None
        self._by_rows = by_rows
        self._form = form
        # The byte orders of all rows received: 'little', 'big'.
        self._orders: set[str] = set()
        self._swapped = False
        self._searching = False
        self._patience = _PATIENCE
        self._ask_at = 0.0
        self.lose()

    @property
    def has_datarefs(self) -> bool:
        """Return whether it is known to have datarefs, commands and placing by UDP."""
        return self.version is not None and self.version >= FIRST_WITH_DATAREFS

    @property
    def sends_datarefs(self) -> bool:
        """Return whether telemetry comes as datarefs."""
        return self.has_datarefs and not self._by_rows

    def forget(self) -> None:
        """Forget a version that was detected: another X-Plane may be started."""
        self.version = self.given

    # The search for the version.

    def search(self, now: float) -> bool:
        """
        Start searching, if it was not given; return whether it is searched.

        If one is known, the dataref that only 11 and 12 have is given more time.
        """
        if self.given is None:
            self._searching = True
            self._patience = _PATIENCE if self.version is None else _CHECKING
            self._ask_at = now
            self.lose()
        return self._searching

    def lose(self) -> None:
        """Forget what came: nothing is concluded from a silence."""
        self._seen: int | None = None
        self._answered_at: float | None = None
        self._framing: int | None = None
        self._framed_at = 0.0

    def end_search(self) -> bool:
        """Stop searching; return whether it was."""
        searching, self._searching = self._searching, False
        return searching

    def ask(self, now: float) -> list[bytes]:
        """Return the requests that are due while searching."""
        if not self._searching or now < self._ask_at:
            return []
        self._ask_at = now + _PERIOD
        return ask_version(VERSION_RATE)

    @property
    def deadline(self) -> float | None:
        """Return when the search may have something new."""
        if not self._searching:
            return None
        if self._answered_at is None:
            return self._ask_at
        return min(self._ask_at, self._answered_at + self._patience)

    def found(self, now: float) -> int | None:
        """Return the version that the search has found."""
        if not self._searching:
            return None
        if self._seen is not None:
            return self._seen
        if self._framing is not None and self._framing < _SAME_FRAME_SINCE:
            return self._framing
        if self._answered_at is not None:
            return FIRST_WITH_DATAREFS if now - self._answered_at >= self._patience else None
        if self._framing is not None and now - self._framed_at >= _ROWS_PATIENCE:
            return FIRST_WITH_DATAREFS - 1
        return None

    def on_values(self, values: Mapping[int, float]) -> None:
        """Handle values of the datarefs that show the version."""
        self._seen = to_version(values.get(_FIRST_INDEX)) or self._seen

    def on_reply(self, now: float) -> None:
        """Record that a dataref or the pose arrived: it is 10 or later."""
        if self._answered_at is None:
            self._answered_at = now

    # The layout of rows.

    def begin(self, version: int) -> None:
        """Expect the given layout, if any, from an X-Plane of this version."""
        if self._form.byte_order is not None:
            self.layout = wire.default_layout(version, 'peer', byte_order=self._form.byte_order)

    def on_rows(self, layout: DataLayout | None, now: float) -> None:
        """Record the layout of received rows."""
        self.layout = layout
        if layout is None:
            return
        self._orders.add(layout.byte_order)
        if self._framing is None:
            self._framed_at = now
        self._framing = layout.framing

    def own(self, version: int) -> DataLayout:
        """Return the framing of what we send: in the byte order of received rows, if any."""
        order = self._form.byte_order or (self.layout.byte_order if self.layout else 'little')
        trailer = self._form.trailer if version <= _WITH_TRAILER else None
        return wire.default_layout(version, 'bridge', byte_order=order, trailer=trailer)

    def draw_probe(self, version: int) -> DataLayout:
        """Return how to probe a silent X-Plane: alternately if rows came in both orders."""
        layout = self.own(version)
        if self._form.byte_order is not None or len(self._orders) < 2:
            return layout
        # Some were forged or damaged; a peer that does not understand a request stays silent.
        self._swapped = not self._swapped
        return replace(layout, byte_order='big' if self._swapped else 'little')

    def target(self, version: int, host: str) -> list[bytes]:
        """Return the message that tells an X-Plane 9 or later at ``host`` where to send rows."""
        index = wire.DATA_OUTPUT_TARGET.get(version)
        if self._form.data_target is None or index is None:
            return []
        kind = wire.Iset if version <= 9 else wire.Ise4
        address, port = self._form.data_target(host)
        return [wire.encode(kind(index, address, port, 1), version)]
