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

"""A flight that waits for actions: what every room of episodes offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from xplane_bridge.control.policy.observation import Vector
from xplane_bridge.flights.analysis.verdict import Judgement
from xplane_bridge.flights.scenario.events import Event
from xplane_bridge.flights.scenario.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Start:
    """
    How an episode begins; what is not given is the scenario's.

    ``initial`` as in a scenario's file. ``wind`` (east, north, up, m/s) and ``turbulence`` (wind
    at 20 ft in m/s, severity) hold from time 0 on. ``failures`` are events, of engines and
    sensors. ``aircraft`` is a model of JSBSim's, ``sensors`` a name or file, or 'none'.
    """

    seed: int = 0
    initial: Mapping[str, Any] = field(default_factory=dict)
    wind: tuple[float, ...] | None = None
    turbulence: tuple[float, ...] | None = None
    failures: tuple[Event, ...] | None = None
    aircraft: str = ''
    sensors: str = ''


class Flight(Protocol):
    """
    A scenario that is flown by actions.

    ``scenario`` is the one that is flown, with what its start has changed; ``time`` is its time
    (s). ``is_engaged``: whether actions count now; else the scenario's own controls fly.
    """

    @property
    def scenario(self) -> Scenario:
        """Return the scenario as it is flown."""

    @property
    def time(self) -> float:
        """Return the time of the scenario in s."""

    @property
    def is_engaged(self) -> bool:
        """Return whether an action counts in the frame that waits."""

    def reset(self, start: Start) -> Vector:
        """
        Trim a new aircraft and fly on to the first frame that waits for an action.

        Returns its observation. Raises ValueError if that is not possible.
        """

    def step(self, action: Sequence[float]) -> tuple[Vector, bool]:
        """Fly on with an action; return the next observation, and whether the flight is over."""

    def truth(self) -> Vector:
        """Return the last observation as it would be without sensors."""

    def judgements(self) -> list[Judgement]:
        """Return the judgements of the scenario's criteria on what has been flown."""

    def close(self) -> None:
        """End the flight."""
