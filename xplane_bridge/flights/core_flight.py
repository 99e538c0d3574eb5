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

"""The room ``core``: the simulated aircraft in this process, without ROS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xplane_bridge.aircraft.aircraft import Aircraft
from xplane_bridge.control.policy.action import Action
from xplane_bridge.control.policy.observation import Vector
from xplane_bridge.flights.analysis.verdict import Judgement
from xplane_bridge.flights.core import CoreRun
from xplane_bridge.flights.core_vehicle import Wire
from xplane_bridge.flights.flight import Start
from xplane_bridge.flights.laws import ActionLaw
from xplane_bridge.flights.rounding import make_wire
from xplane_bridge.flights.scenario.scenario import Scenario
from xplane_bridge.flights.scenario.start import scenario_of


class CoreFlight:
    """
    A scenario in this process, as CoreRun flies it; each reset is a new CoreRun.

    ``wire`` is the name of a simulator whose protocol rounds states and commands, or empty.
    Raises ValueError if there is none of that name.
    """

    def __init__(
        self, scenario: Scenario, action: Action, frames_per_step: int = 1, wire: str = ''
    ) -> None:
        self.scenario = self._given = scenario
        self._action = action
        self._frames = frames_per_step
        self._wire: Callable[[Aircraft], Wire] | None = (
            partial(make_wire, wire) if wire else None)
        self._run: CoreRun | None = None

    @property
    def time(self) -> float:
        """Return the time of the scenario in s."""
        return self._flown().vehicle.time

    @property
    def is_engaged(self) -> bool:
        """Return whether an action counts in the frame that waits."""
        return self._flown().engaged

    def reset(self, start: Start) -> Vector:
        """Trim a new aircraft, and fly on to the first frame in which the law is engaged."""
        self._run = None
        self.scenario = scenario_of(self._given, start)
        self._law = ActionLaw(self._action)
        run = CoreRun(self.scenario, start.seed, self._law, wire=self._wire)
        while run.look() and not run.engaged:
            run.fly_on()
        if run.is_over:
            raise ValueError(
                f'scenario {self.scenario.name} never engages a controller: an episode needs '
                'the event engage')
        self._run = run
        return self._observed(run)

    def step(self, action: Sequence[float]) -> tuple[Vector, bool]:
        """Fly on with an action; return the next observation, and whether the flight is over."""
        run = self._flown()
        if run.is_over:
            raise ValueError('the episode is over: reset() begins another')
        self._law.given = tuple(action)
        for _ in range(self._frames):
            run.fly_on()
            if not run.look():
                break
        return self._observed(run), run.is_over

    def _observed(self, run: CoreRun) -> Vector:
        observation = run.vehicle.observation()
        # The caller may change what it is given.
        self._truth = run.vehicle.truth() if run.vehicle.has_sensors else observation.copy()
        return observation

    def truth(self) -> Vector:
        """Return the last observation as it would be without sensors."""
        self._flown()
        return self._truth

    def judgements(self) -> list[Judgement]:
        """Return the judgements of the scenario's criteria on what has been flown."""
        return self._flown().evaluate().judgements

    def close(self) -> None:
        """Forget the flight."""
        self._run = None

    def _flown(self) -> CoreRun:
        if self._run is None:
            raise ValueError('no episode has begun: call reset() first')
        return self._run
