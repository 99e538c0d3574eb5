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


"""A scenario flown frame by frame: in this process, or through ROS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from xplane_bridge.conversions.vehicle import Controls
from xplane_bridge.experiments import report
from xplane_bridge.flights.analysis.series import Flight
from xplane_bridge.flights.conduct.conduct import Account, Conduct
from xplane_bridge.flights.route import Telemetry
from xplane_bridge.flights.scenario.scenario import Scenario
from xplane_bridge.flights.script import Display, Execution, Flown


class SteppedVehicle(Flown, Protocol):
    """A vehicle that flies one frame at a time."""

    time: float

    def observe(self) -> None:
        """Measure the current state."""

    def command_of_law(self) -> Controls:
        """Return the command of the law, which is engaged, for the observed state."""

    def own_command(self, changed: Mapping[str, float]) -> Controls:
        """Return the last own command, at first the reported controls, with those ``changed``."""

    def fly_on(self, command: Controls) -> None:
        """Fly a frame with a command."""

    def flight(self) -> Flight:
        """Return all that was measured, commanded and wanted."""


class SteppedRun(Execution):
    """A scenario and the vehicle that flies it: ``look``, then ``fly_on``, frame by frame."""

    def __init__(
        self, scenario: Scenario, vehicle: SteppedVehicle, telemetry: Telemetry, display: Display
    ) -> None:
        super().__init__(scenario, vehicle, telemetry, display)
        self._flying = vehicle
        self._conduct: Conduct | None = None
        self._passed: Controls | None = None

    def look(self) -> bool:
        """Observe the state, and let happen what is due; return whether a frame is to be flown."""
        vehicle = self._flying
        vehicle.observe()
        self.act(vehicle.time)
        if self._conduct is not None:
            self.account = replace(self.account, now=vehicle.time) if self.account else None
        return not self.is_over

    def hold_to_contract(self, law: str) -> None:
        """Judge the commands of somebody's own law as those of a controller through ROS."""
        self._conduct = Conduct(lockstep=True)
        self.account = Account(law, self._conduct, self._flying.time)

    def fly_on(self) -> Controls:
        """Fly a frame from the observed state on; return the command that it was flown with."""
        vehicle = self._flying
        if self.engaged:
            command = self._checked(vehicle.command_of_law())
            if self.excitations:
                command = replace(command, **self.excited(command.given(), vehicle.time))
        else:
            if self._conduct is not None:
                self._conduct.release(vehicle.time, vehicle.time)
            command = vehicle.own_command(self.held_controls(vehicle.time) or {})
        vehicle.fly_on(command)
        return command

    def _checked(self, command: Controls) -> Controls:
        """Return a command of the law; what a bridge would refuse, as it was before."""
        if self._conduct is None:
            return command
        if self._conduct.law(command.given(), self._flying.time):
            self._passed = command
        elif self._passed is None:
            self._passed = self._flying.own_command({})
        return self._passed

    def evaluate(self) -> report.Result:
        """Return figures and criteria of what was flown. Raises KeyError for unknown figures."""
        return report.evaluate(self, self._flying.flight())
