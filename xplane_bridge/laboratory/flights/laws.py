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

"""
A policy as the control law of a flight in this process.

    flight = open_flight(Order(load(find('steps'))), law=PolicyLaw(policy))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.control import envelope, gains
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.envelope import Envelope
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.policy.action import ActionSpec
from xplane_bridge.laboratory.control.policy.observation import Vector
from xplane_bridge.laboratory.control.runway import performance
from xplane_bridge.laboratory.control.runway.autopilot import Autopilot
from xplane_bridge.laboratory.control.runway.performance import Performance
from xplane_bridge.laboratory.control.runway.runway import Runway
from xplane_bridge.laboratory.control.targets import AttitudeTarget, Target
from xplane_bridge.simulation.aircraft.loading import parameter_file

# What no action of this level commands.
_NO_OTHERS = (None,) * (len(Controls._fields) - len(FLOWN))


class Actor(Protocol):
    """What chooses actions, such as control.policy.LoadedPolicy."""

    @property
    def action(self) -> ActionSpec:
        """Return what it commands."""

    @property
    def sees_traffic(self) -> bool:
        """Return whether an observation has TRAFFIC too."""

    def reset(self) -> None:
        """Begin a flight."""

    def act(self, observation: Vector) -> tuple[float, ...]:
        """Return the action for an observation, within its bounds; ValueError if it has none."""


class ActionLaw:
    """
    A control law that is given its actions, at any level: the cascade flies what is commanded.

    ``target`` is what is to be held, and part of what is observed; what an action of level target
    commands is the cascade's alone. At level controls there is no cascade: then ``commanded`` is
    all (``is_direct``), and nothing need be measured.
    """

    def __init__(self, action: ActionSpec) -> None:
        self.action = action
        self.is_direct = action.level == 'controls'
        self.sees_traffic = False
        self.target = Target()
        self.given: tuple[float, ...] = ()
        self._commanded: tuple[tuple[float, ...], Controls] = (), Controls()
        self._cascade = Cascade()
        # What the cascade has been told to hold.
        self._held: tuple[float, ...] = ()

    def place(self, observe: Callable[[], Vector], cascade: Cascade) -> None:
        """Take it into a vehicle: where it observes, and the cascade below it."""
        self._observe, self._cascade = observe, cascade

    def engage(self, now: Measurement, controls: Controls, target: Target | None = None) -> None:
        """Begin a flight; without a target, the current state is to be held."""
        self.target = target or Target(now.altitude, now.heading, now.airspeed)
        self._cascade.engage(now, controls)
        self._held = ()

    def commanded(self) -> Controls:
        """Return the controls that it is given."""
        given, controls = self._commanded
        if given is not self.given:
            controls = Controls._make((*self.given, *_NO_OTHERS))
            self._commanded = self.given, controls
        return controls

    def update(self, now: Measurement, dt: float) -> Controls:
        """Return the controls for a measurement taken ``dt`` seconds after the last."""
        if self.action.level == 'controls':
            return self.commanded()
        # At a fence the cascade commands itself, until it is commanded.
        if self.given != self._held or self._cascade.envelope.geofence:
            self._hold(*self.given)
            self._held = self.given
        return self._cascade.update(now, dt)

    def _hold(self, first: float, second: float, third: float) -> None:
        """Tell the cascade what to hold from now on."""
        if self.action.level == 'attitude':
            self._cascade.hold_attitude(AttitudeTarget(first, second, third))
        else:
            self._cascade.change_target(
                {'altitude': first, 'heading': second, 'airspeed': third})


class PolicyLaw(ActionLaw):
    """A policy that flies: it chooses an action for what is observed in each frame."""

    def __init__(self, policy: Actor) -> None:
        super().__init__(policy.action)
        self.is_direct = False
        self.sees_traffic = policy.sees_traffic
        self.policy = policy

    def engage(self, now: Measurement, controls: Controls, target: Target | None = None) -> None:
        """Begin a flight."""
        super().engage(now, controls, target)
        self.policy.reset()

    def update(self, now: Measurement, dt: float) -> Controls:
        """Return the controls for the observed state."""
        self.given = self.policy.act(self._observe())
        return super().update(now, dt)


def make_autopilot(model: str, aircraft_path: str = '', named: str = '',
                 factors: Sequence[tuple[str, float]] = ()) -> Autopilot:
    """
    Return the autopilot of a model, with the defaults where no gains are known.

    ``factors`` are on its gains, by name. Raises ValueError for one that is not known.
    """
    file = _find_gains_file(model, aircraft_path, named)
    if file is None:
        return Autopilot(gains.scaled(Gains(), factors))
    known = file.stat()
    own, limits, runway = _read(file, known.st_mtime_ns, known.st_size)
    return Autopilot(gains.scaled(own, factors), limits, runway)


def fly_procedure(
    law: object, name: str, values: Mapping[str, Any], runway: Runway
) -> None:
    """
    Let the autopilot fly an event of scenario.runway.PROCEDURES.

    Raises ValueError if the law is another one, or where it cannot be flown.
    """
    if not isinstance(law, Autopilot):
        raise ValueError(f'{name} is flown by the autopilot only')
    if name == 'go_around':
        law.go_around(**values)
    else:
        getattr(law, name)(runway, **values)


def _find_gains_file(model: str, aircraft_path: str, named: str) -> Path | None:
    try:
        return parameter_file.chosen(model, aircraft_path, named)
    except ValueError:
        if named:
            raise
        return None


@cache
def _read(
    file: Path, changed: int, size: int
) -> tuple[Gains, Envelope, Performance | None]:
    """Return what is in a file as it was ``changed`` last."""
    return gains.load(file), envelope.load(file), performance.load(file)
