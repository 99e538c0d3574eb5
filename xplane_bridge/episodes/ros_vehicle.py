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

from collections.abc import Mapping
import math
from typing import Any

import numpy as np
from rclpy.node import Node

from xplane_bridge.control.observation import SIZE, SLICES, Vector
from xplane_bridge.conversions.message_numbers import NUMBERS
from xplane_bridge.experiments.controlled import LATCHED
from xplane_bridge.experiments.execution import ExperimentError
from xplane_bridge.experiments.lockstep import Lockstep
from xplane_bridge.experiments.monitor import Monitor
from xplane_bridge.experiments.processes import Processes
from xplane_bridge.experiments.quantities import ORDERED
from xplane_bridge.experiments.vehicle import LONGEST_SILENCE, Vehicle

# Less than what two stamps differ by, in seconds.
_STAMP_STEP = 0.5e-6
_START_TIMEOUT = 30.0
# How often a silence is looked at, in seconds.
_TICK = 0.1


class Observer(Monitor):
    """A monitor that also keeps the newest numbers of each topic, as an observation."""

    def __init__(self, node: Node, namespace: str, lockstep: bool) -> None:
        self._newest = np.zeros(SIZE)
        super().__init__(node, namespace, lockstep, ORDERED)

    def _take(self, topic: str, stamp: float, message: Any) -> None:
        if topic in NUMBERS:
            self._newest[SLICES[topic]] = NUMBERS[topic](message)
        super()._take(topic, stamp, message)

    def observation(self) -> Vector:
        """Return the newest observation, a copy; nothing is known there of the target."""
        with self.arrived:
            found = self._newest.copy()
        found[SLICES['target']] = 0.0
        return found


class PilotedVehicle(Vehicle):
    """
    A vehicle whose controller is this process: each frame waits for ``fly_on``.

    In lockstep a frame ends with its one command; in real time it lasts until the next state.
    Failures raise ExperimentError.
    """

    target_qos = LATCHED

    def __init__(
        self, node: Node, namespace: str, monitor: Observer, processes: Processes,
        lockstep: bool, simulated: bool,
    ) -> None:
        super().__init__(node, namespace, monitor, processes, None, lockstep, recorded=False)
        self._observer = monitor
        self._simulated = simulated
        self._lockstep = Lockstep(self) if lockstep else None
        self.stamp = -math.inf

    # Before the flight.

    def begin(self) -> None:
        """Wait for the first state."""
        self.wait_until_ready(self._simulated)
        stamps = self.monitor.stamps
        if not self.monitor.wait_for(lambda: 'odom' in stamps, _START_TIMEOUT):
            raise ExperimentError(f'no message on odom; {self.why()}')
        self._wait(-math.inf)

    def _wait_for_controller(self) -> None:
        """Wait for nobody: it is this process."""

    def _wait_for_listeners(self, needs_simulator: bool) -> None:
        if not self.monitor.wait_for(self._controls.get_subscription_count, _START_TIMEOUT):
            raise ExperimentError(f'no subscriber on {self._controls.topic_name}; {self.why()}')
        if needs_simulator:
            self._prepare_simulator()

    # A frame.

    def observation(self) -> Vector:
        """Return what is observed of the state that waits; a new array."""
        return self._observer.observation()

    def fly_on(self, values: Mapping[str, float]) -> None:
        """Command the vehicle, and wait for the next state."""
        if self._lockstep is not None:
            self._lockstep.command(values)
        else:
            self.command(self.make_command(values))
        self._wait(self.stamp + _STAMP_STEP)

    def _wait(self, due: float) -> None:
        if self._lockstep is not None:
            self.stamp = self._lockstep.wait(due)
            return
        stamps = self.monitor.stamps
        silent = 0.0
        while not self.monitor.wait_for(lambda: stamps['imu/data'] >= due, _TICK):
            silent += _TICK
            if silent >= LONGEST_SILENCE or self.has_failed():
                raise ExperimentError(f'telemetry stopped; {self.why()}')
        self.stamp = stamps['imu/data']
