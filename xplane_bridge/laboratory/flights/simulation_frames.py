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

"""A scenario flown frame by frame by this process, which has the law or is given the actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from xplane_bridge.bridges.conversions.airframe_events import AirframeEvent
from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.common.timing import FRAME
from xplane_bridge.laboratory.flights.controller_checks.conduct import Account, Conduct
from xplane_bridge.laboratory.flights.script import Script, ScriptedVehicle


class SteppedVehicle(ScriptedVehicle, Protocol):
    """A vehicle that flies one frame at a time."""

    time: float
    crash: AirframeEvent | None
    has_ended: bool

    def observe(self) -> None:
        """Measure the current state."""

    def compute_law_command(self) -> Controls:
        """Return the command of the law, which is engaged, for the observed state."""

    def own_command(self, changed: Mapping[str, float]) -> Controls:
        """Return the last own command, at first the reported controls, with those ``changed``."""

    @property
    def is_open_loop(self) -> bool:
        """Return whether what its law commands is the same, whatever is observed meanwhile."""

    def fly_on(self, command: Controls, frames: int = 1) -> None:
        """Fly frames with a command; observe, but not the last one."""


class FrameStepper:
    """
    A script and the vehicle that flies it: ``look`` at the first state, then ``fly``.

    ``law`` is the name of somebody's own law, whose commands are judged as those of a controller
    through ROS; '' for one of this package.
    """

    def __init__(self, script: Script, vehicle: SteppedVehicle, law: str = '') -> None:
        self._script = script
        self._vehicle = vehicle
        self._conduct: Conduct | None = None
        self._passed: Controls | None = None
        if law:
            self._conduct = Conduct(lockstep=True)
            script.account = Account(law, self._conduct, vehicle.time)

    def look(self) -> bool:
        """Observe the state, and let happen what is due; return whether a frame is to be flown."""
        vehicle, script = self._vehicle, self._script
        if (crash := vehicle.crash) is not None:
            script.end_by(crash)
            return False
        vehicle.observe()
        script.act(vehicle.time)
        if script.account is not None:
            script.account = replace(script.account, now=vehicle.time)
        return not (script.is_over or vehicle.has_ended)

    def fly(self, frames: int) -> bool:
        """Fly frames from the observed state on; return whether there is another to be flown."""
        is_open_loop = frames > 1 and self._conduct is None and self._vehicle.is_open_loop
        while frames > 0:
            together = self._together(frames) if is_open_loop else 1
            self.command(together)
            frames -= together
            if not self.look():
                return False
        return True

    def _together(self, frames: int) -> int:
        """Return how many frames are flown with one command, as nothing is due in them."""
        script = self._script
        if not script.engaged or script.excitations:
            return 1
        return max(1, min(frames, int((script.due - self._vehicle.time) / FRAME)))

    def command(self, frames: int = 1) -> None:
        """Let the vehicle fly frames with the command for the observed state."""
        vehicle, script = self._vehicle, self._script
        if script.engaged:
            command = vehicle.compute_law_command()
            if self._conduct is not None:
                command = self._checked(self._conduct, command)
            if script.excitations:
                command = command._replace(**script.excited(command.given(), vehicle.time))
        else:
            if self._conduct is not None:
                self._conduct.release(vehicle.time, vehicle.time)
            command = vehicle.own_command(script.held_controls(vehicle.time) or {})
        vehicle.fly_on(command, frames)

    def _checked(self, conduct: Conduct, command: Controls) -> Controls:
        """Return a command of the law; what a bridge would refuse, as it was before."""
        if conduct.law(command.given(), self._vehicle.time):
            self._passed = command
        elif self._passed is None:
            self._passed = self._vehicle.own_command({})
        return self._passed
