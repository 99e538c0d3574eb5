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

"""Layout of DATA rows to and from one X-Plane, and where it sends them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from xplane_bridge.protocols import xplane_udp as wire
from xplane_bridge.protocols.xplane_udp import Layout
from xplane_bridge.sessions.base import Address

# The last version that may have a trailer byte.
_WITH_TRAILER = 7


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


class RowFormat:
    """``layout`` is that of the last rows received, None before any."""

    def __init__(self, given: Wire) -> None:
        self.layout: Layout | None = None
        self._given = given
        # The byte orders of all rows received: 'little', 'big'.
        self._orders: set[str] = set()
        self._swapped = False

    def begin(self, version: int) -> None:
        """Expect the given layout, if any, from an X-Plane of this version."""
        if self._given.byte_order is not None:
            self.layout = wire.default_layout(version, 'peer', byte_order=self._given.byte_order)

    def hear(self, layout: Layout | None) -> None:
        """Record the layout of received rows."""
        self.layout = layout
        if layout is not None:
            self._orders.add(layout.byte_order)

    def own(self, version: int) -> Layout:
        """Return the framing of what we send: in the byte order of received rows, if any."""
        order = self._given.byte_order or (self.layout.byte_order if self.layout else 'little')
        trailer = self._given.trailer if version <= _WITH_TRAILER else None
        return wire.default_layout(version, 'bridge', byte_order=order, trailer=trailer)

    def probing(self, version: int) -> Layout:
        """Return how to probe a silent X-Plane: alternately if rows came in both orders."""
        layout = self.own(version)
        if self._given.byte_order is not None or len(self._orders) < 2:
            return layout
        # Some were forged or damaged; a peer that does not understand a request stays silent.
        self._swapped = not self._swapped
        return replace(layout, byte_order='big' if self._swapped else 'little')

    def target(self, version: int, host: str) -> list[bytes]:
        """Return the message that tells an X-Plane 9 or later at ``host`` where to send rows."""
        index = wire.DATA_OUTPUT_TARGET.get(version)
        if self._given.data_target is None or index is None:
            return []
        kind = wire.Iset if version <= 9 else wire.Ise4
        address, port = self._given.data_target(host)
        return [wire.encode(kind(index, address, port, 1), version)]
