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


"""A vehicle behind a bridge that is flown from Python, frame by frame: by topics and services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math

import numpy as np
from rclpy.node import Node

from xplane_bridge.bridges.conversions.airframe_events import AirframeEvent
from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.bridges.nodes.vehicle.controls import EXPERIMENT
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.timing import FRAME, HALF_STAMP
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.path import PathFollower
from xplane_bridge.laboratory.control.policy.observation import SIZE, SLICES, Vector
from xplane_bridge.laboratory.flights.analysis.series import History, Series
from xplane_bridge.laboratory.flights.controller import ControlLaw, FlownByLaw
from xplane_bridge.laboratory.flights.observed import target_numbers
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.script import ExperimentError
from xplane_bridge.laboratory.nodes.flight.lockstep import LockstepClient
from xplane_bridge.laboratory.nodes.flight.observer import numbers_to_measurement, Observer
from xplane_bridge.laboratory.nodes.flight.processes import Processes
from xplane_bridge.laboratory.nodes.flight.vehicle import LONGEST_SILENCE, Vehicle

# How often a silence is looked at, in seconds.
_TICK = 0.1


class LawVehicle(FlownByLaw, Vehicle):
    """
    A vehicle that this process flies frame by frame, as CoreVehicle is.

    ``observe`` takes the state that waits; then either ``command_of_law`` or ``own_command``
    returns what ``fly_on`` commands, and ``arrive`` waits for the next state. In lockstep a frame
    ends with its one command; in real time it lasts until the next state. ``time`` is, in
    lockstep, in seconds since the first state, not rounded as stamps are; in real time it is the
    stamp. ``began`` is that of the first state. Failures raise what Vehicle says.
    """

    target_qos = LATCHED

    def __init__(
        self, node: Node, order: Order, monitor: Observer, processes: Processes, law: ControlLaw,
        simulator: str = '', failures: dict[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__(
            node, order, monitor, processes, simulator, failures, own=[EXPERIMENT])
        self.law = law
        self.began = self.time = 0.0
        self._lockstep = LockstepClient(self) if self.lockstep else None
        self._stamp = -math.inf
        self._seen = np.zeros(SIZE)
        self._commanded: list[tuple[float, ...]] = []

    # Before the flight.

    def wait_until_ready(self, needs_simulator: bool) -> list[str]:
        """Wait until all participants are connected; return the topics that arrive."""
        arrived = super().wait_until_ready(needs_simulator)
        stamps = self.monitor.stamps
        if not self._has_started(lambda: 'odom' in stamps):
            raise self.lost(f'no message on odom; {self.why()}')
        return arrived

    def begin(self) -> None:
        """Wait for the first state."""
        self._wait(-math.inf)
        self._first = self._stamp
        self.began = self.time = 0.0 if self.lockstep else self._stamp

    def _wait_for_controller(self) -> None:
        """Wait for nobody: it is this process."""

    def _wait_for_listeners(self, needs_simulator: bool) -> None:
        if not self._has_started(self._controls.get_subscription_count):
            raise self.lost(f'no subscriber on {self._controls.topic_name}; {self.why()}')
        if needs_simulator:
            self._prepare_simulator()

    # A frame.

    def observe(self) -> None:
        """Take what was published of the state that waits."""
        self._seen = self._observer.observation()
        self.note_observation(self.time)

    def observation(self) -> Vector:
        """Return what a policy is told of the observed state (control.observation.FIELDS)."""
        found = self._seen.copy()
        found[SLICES['target']] = target_numbers(self.law.target)
        found[np.isnan(found)] = 0.0
        return found

    @property
    def is_open_loop(self) -> bool:
        """Return False: each frame is commanded."""
        return False

    def fly_on(self, command: Controls, frames: int = 1) -> None:
        """Command the vehicle for one frame."""
        self.check_alone()
        given = command.given()
        self._commanded.append((self._stamp, *(given.get(name, math.nan) for name in FLOWN)))
        if self._lockstep is not None:
            self._lockstep.command(given)
        elif given:
            self.command(self.make_command(given))

    @property
    def stamp(self) -> float:
        """Return the stamp of the state that waits."""
        return self._stamp

    def arrive(self) -> None:
        """Wait for the state that follows."""
        self._wait(self._stamp + HALF_STAMP)
        self.time = self.time + FRAME if self.lockstep else self._stamp
        self.crash = self.monitor.crashed(self._first, self._stamp)

    def _wait(self, due: float) -> None:
        if self._lockstep is not None:
            self._stamp = self._lockstep.wait(due)
            return
        stamps = self.monitor.stamps
        silent = 0.0
        while not self.monitor.wait_for(lambda: stamps['imu/data'] >= due, _TICK):
            silent += _TICK
            if silent >= LONGEST_SILENCE or self.has_failed():
                raise self.lost(f'telemetry stopped; {self.why()}')
        self._stamp = stamps['imu/data']

    def measurement(self) -> Measurement:
        """Return what the law knows of the observed state."""
        return numbers_to_measurement(self._seen)

    def reported_controls(self) -> Controls:
        """Return the controls that the observed state reports."""
        return Controls(**{
            name: value for name in FLOWN if not math.isnan(value := self.last(name))})

    def last(self, name: str) -> float:
        """Return the newest value of a measured quantity, NaN if there is none."""
        return self.monitor.last(name)

    @property
    def exceedances(self) -> Mapping[str, AirframeEvent] | None:
        """Return what was beyond the envelope of the airframe; None: not known."""
        return self.monitor.exceeded(self._first)

    # What events do.

    def follow(self, path: PathFollower) -> str:
        """Lead the law by headings."""
        return 'heading'

    def freeze_autopilot(self, on: bool) -> None:
        """Refuse: the controller is this process."""
        raise ExperimentError('autopilot_frozen needs autopilot_node')

    def keep_target(self) -> None:
        """Note the target of the law, which is new."""
        target = self.law.target
        with self.monitor.arrived:
            for name in ('altitude', 'heading', 'airspeed'):
                self.monitor.series[f'target_{name}'].add(self._stamp, getattr(target, name))

    def trim(self, values: Mapping[str, float]) -> dict[str, float]:
        """Trim the simulated aircraft where it is; return the controls that hold it there."""
        held = super().trim(values)
        if self.lockstep:
            # The trimmed state is sent too, and it is that which waits for a command.
            self._wait(self._stamp + HALF_STAMP)
        return held

    # What is known.

    def heard_here(self) -> History:
        """Return what was heard here, and commanded from here."""
        times, *columns = np.array(self._commanded).reshape(-1, 1 + len(FLOWN)).T
        return self.monitor.history(self.began, {
            f'command_{name}': Series(times - self.began, column)
            for name, column in zip(FLOWN, columns, strict=True) if len(times)})
