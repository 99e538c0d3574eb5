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

"""The aircraft of a script of JSBSim, which the script steers, in this process."""

from __future__ import annotations

from collections.abc import Mapping

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.common.timing import FRAME
from xplane_bridge.laboratory.flights.core_vehicle import CoreVehicle
from xplane_bridge.laboratory.flights.script import ExperimentError, Progress
from xplane_bridge.simulation.aircraft.runscript.scripted import ScriptedAircraft
from xplane_bridge.simulation.aircraft.studies.physics_rate import explained


class RunScriptVehicle(CoreVehicle):
    """
    An aircraft that its script steers: it is measured after each frame, and never commanded.

    A frame is as many whole steps of the script as are nearest to the usual one. The last has
    those that are left, so that it ends where JSBSim does.
    """

    aircraft: ScriptedAircraft

    def __init__(self, aircraft: ScriptedAircraft, display: Progress) -> None:
        """Take it in its initial state."""
        super().__init__(aircraft)
        self._display = display
        self._steps = max(1, round(FRAME / aircraft.dt))
        self._told = 0

    @property
    def is_open_loop(self) -> bool:
        """Return that it is measured in each frame."""
        return False

    def own_command(self, changed: Mapping[str, float]) -> Controls:
        """Return nothing: the script commands."""
        return Controls()

    def fly_on(self, command: Controls, frames: int = 1) -> None:
        """Fly a frame of the script."""
        aircraft = self.aircraft
        left = aircraft.steps_left
        try:
            aircraft.step(self._steps if left >= 2 * self._steps else left)
        except ValueError as error:
            raise ExperimentError(str(error)) from None
        self.time, self.has_ended = aircraft.time, aircraft.is_over
        if aircraft.crash is not None:
            self.crash = explained(aircraft)
        for notice in aircraft.told[self._told:]:
            self.script.note(notice)
        self._told = len(aircraft.told)
        if self.has_ended and aircraft.steps_left:
            self._display.say(f'{self.time:5.1f} s  the script has ended itself')
