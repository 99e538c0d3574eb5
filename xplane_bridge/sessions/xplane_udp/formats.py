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

"""How rows of DATA look on their way to and from one X-Plane, and where it sends them."""

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
    How datagrams look and travel; None finds out, or takes what the version has.

    ``data_target`` tells, for the peer's address, the address and port that X-Plane 9 and later
    shall send rows to; None leaves that to its settings.
    """

    byte_order: Literal['little', 'big'] | None = None
    trailer: bool | None = None
    pacing: float = 0.01
    data_target: Callable[[str], Address] | None = None


class RowFormat:
    """``layout`` is how the rows look that came last, None before any came."""

    def __init__(self, given: Wire) -> None:
        self.layout: Layout | None = None
        self._given = given
        # The byte orders of all rows that came: 'little', 'big'.
        self._orders: set[str] = set()
        self._swapped = False

    def begin(self, version: int) -> None:
        """Expect what is given, if it is, of an X-Plane of this version."""
        if self._given.byte_order is not None:
            self.layout = wire.default_layout(version, 'peer', byte_order=self._given.byte_order)

    def hear(self, layout: Layout | None) -> None:
        """Note how rows look that came."""
        self.layout = layout
        if layout is not None:
            self._orders.add(layout.byte_order)

    def own(self, version: int) -> Layout:
        """Return how what we send is framed: in the order of what came, if anything did."""
        order = self._given.byte_order or (self.layout.byte_order if self.layout else 'little')
        trailer = self._given.trailer if version <= _WITH_TRAILER else None
        return wire.default_layout(version, 'bridge', byte_order=order, trailer=trailer)

    def probing(self, version: int) -> Layout:
        """Return how a silent X-Plane is asked: rows of both orders came, so in both by turns."""
        layout = self.own(version)
        if self._given.byte_order is not None or len(self._orders) < 2:
            return layout
        # Some were forged or damaged; what does not understand a request stays silent for ever.
        self._swapped = not self._swapped
        return replace(layout, byte_order='big' if self._swapped else 'little')

    def target(self, version: int, host: str) -> list[bytes]:
        """Return what tells an X-Plane 9 or later at ``host`` where to send rows."""
        index = wire.DATA_OUTPUT_TARGET.get(version)
        if self._given.data_target is None or index is None:
            return []
        kind = wire.Iset if version <= 9 else wire.Ise4
        address, port = self._given.data_target(host)
        return [wire.encode(kind(index, address, port, 1), version)]
