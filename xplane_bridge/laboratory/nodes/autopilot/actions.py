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
"""The actions of autopilot_node: fly_route, take_off and land."""

from __future__ import annotations

from typing import Any

from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.laboratory.control.runway.autopilot import Autopilot
from xplane_bridge.laboratory.nodes.autopilot.fly_route import RouteAction
from xplane_bridge.laboratory.nodes.autopilot.goals import Asker
from xplane_bridge.laboratory.nodes.autopilot.levels import Levels
from xplane_bridge.laboratory.nodes.autopilot.newest import Newest
from xplane_bridge.laboratory.nodes.autopilot.runways import Runways


class Actions:
    """All action servers, and the goals that are flown."""

    def __init__(
        self, node: BridgeNode[Any], autopilot: Autopilot, telemetry: Newest, levels: Levels,
        asker: Asker,
    ) -> None:
        self._all: tuple[RouteAction | Runways, ...] = (
            RouteAction(node, autopilot, levels, asker),
            Runways(node, autopilot, telemetry, asker))

    def advance(self, now: float) -> None:
        """Report how far they are, at a time (s), and end those that are reached."""
        for one in self._all:
            one.advance(now)

    def commanded(self, topic: str) -> None:
        """End the goals that a command has taken the flight from."""
        for one in self._all:
            one.commanded(topic)

    def end(self, why: str) -> None:
        """End all goals."""
        for one in self._all:
            one.end(why)

    def retire(self) -> None:
        """Destroy the servers, now or once they have responded."""
        for one in self._all:
            one.retire()
