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


"""What a vehicle that this process flies does with its law and with commands of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
import math
from typing import Protocol

from xplane_bridge.bridges.conversions.airframe_events import AirframeEvent
from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.targets import check_targets, Target, with_changes
from xplane_bridge.laboratory.flights.laws import ActionLaw
from xplane_bridge.laboratory.flights.script import ExperimentError


class ControlLaw(Protocol):
    """A control law, such as control.cascade.Cascade."""

    target: Target

    def engage(self, now: Measurement, controls: Controls, target: Target | None = None) -> None:
        """Start from ``controls``; without a target, hold the current state."""

    def update(self, now: Measurement, dt: float) -> Controls:
        """Return the controls for a measurement taken ``dt`` seconds after the last."""


class FlownByLaw(ABC):
    """
    A vehicle with a law: either that commands it, or events do.

    The vehicle tells what is measured (``measurement``, ``last``) and what is commanded
    (``reported_controls``), and notes each new target (``keep_target``).
    """

    law: ControlLaw
    # What has ended its flight, if something has.
    crash: AirframeEvent | None = None
    # Whether it flies no further by itself.
    has_ended = False
    engaged = False
    _standing: Mapping[str, float] = {}
    _observed_at = math.nan
    _elapsed = 0.0

    @abstractmethod
    def measurement(self) -> Measurement:
        """Return what the law knows of the observed state."""

    @abstractmethod
    def reported_controls(self) -> Controls:
        """Return the controls that the observed state reports."""

    @abstractmethod
    def last(self, name: str) -> float:
        """Return the newest value of a measured quantity or a target, NaN if there is none."""

    @abstractmethod
    def keep_target(self) -> None:
        """Note the target of the law, which is new."""

    @property
    def held_airspeed(self) -> float:
        """Return the airspeed that its law holds (m/s, indicated)."""
        return self.law.target.airspeed

    @property
    def gains(self) -> Gains | None:
        """Return the gains of its autopilot; None if another law flies it."""
        return self.law.gains if isinstance(self.law, Cascade) else None

    @property
    def is_open_loop(self) -> bool:
        """Return whether what the law commands is the same, whatever is observed meanwhile."""
        return isinstance(self.law, ActionLaw) and self.law.is_direct

    def note_observation(self, time: float) -> None:
        """Note when the state was observed."""
        self._elapsed, self._observed_at = time - self._observed_at, time

    def compute_law_command(self) -> Controls:
        """Return the command of the law, which is engaged, for the observed state."""
        self._standing = {}
        law = self.law
        if isinstance(law, ActionLaw) and law.is_direct:
            return law.commanded()
        return law.update(self.measurement(), self._elapsed)

    def own_command(self, changed: Mapping[str, float]) -> Controls:
        """Return the last own command, at first the reported controls, with those ``changed``."""
        values = {**(self._standing or {name: self.last(name) for name in FLOWN}), **changed}
        # What is not reported is left as it is.
        known = {name: value for name, value in values.items() if not math.isnan(value)}
        self._standing = {name: value for name, value in known.items() if name in FLOWN}
        return Controls(**known)

    def engage(self, on: bool, now: float) -> None:
        """Engage the law at the observed state, or disengage it."""
        if on and not self.engaged:
            self.law.engage(self.measurement(), self.reported_controls())
            self.keep_target()
            self._elapsed = 0.0
        self.engaged = on

    def set_target(self, values: Mapping[str, float]) -> None:
        """Change the law's targets; its next command follows them."""
        try:
            check_targets(values)
        except ValueError as error:
            raise ExperimentError(f'the target cannot be flown: {error}') from None
        if isinstance(self.law, Cascade):
            self.law.change_target(values)
        else:
            self.law.target = with_changes(self.law.target, values)
        self.keep_target()
