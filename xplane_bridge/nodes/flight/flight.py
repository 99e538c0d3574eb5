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

"""A flight of one scenario through ROS: by topics, services and parameters only."""

from __future__ import annotations

import math
import time

from xplane_bridge.common.timing import HALF_STAMP
from xplane_bridge.flights.scenario.scenario import Scenario
from xplane_bridge.flights.script import Execution, ExperimentError
from xplane_bridge.nodes.flight.display import View
from xplane_bridge.nodes.flight.lockstep import Lockstep
from xplane_bridge.nodes.flight.vehicle import LONGEST_SILENCE, Vehicle

# How long the flight waits for a message before it checks the time.
_TICK = 0.02


class Run(Execution):
    """
    Fly a scenario with a vehicle.

    In lockstep the autopilot commands, except at a stamp at which something is due: there it holds
    its command until that is done. So each run does the same at the same frame.
    """

    def __init__(self, vehicle: Vehicle, scenario: Scenario, view: View) -> None:
        super().__init__(scenario, vehicle, vehicle.monitor, view)
        self._ros = vehicle
        self._view = view
        self._lockstep = Lockstep(vehicle) if vehicle.lockstep else None
        vehicle.excited = self.excited

    def fly(self) -> None:
        """Fly it to its end; raise ExperimentError if that is not possible."""
        arrived = self._ros.wait_until_ready(bool(self.scenario.needs_simulator()))
        self._view.say(f'receiving telemetry on {", ".join(arrived)}')
        try:
            if self._lockstep is not None:
                self._fly_in_lockstep(self._lockstep)
            else:
                self._fly_by_the_clock()
        finally:
            self.newest = self._ros.monitor.newest()
            self.account = self._ros.account()
            self._ros.thaw_autopilot()

    def act(self, now: float) -> None:
        """Execute all events that are due."""
        # Other publishers may appear, or be discovered, later than this started.
        self._ros.check_alone()
        super().act(now)

    def _fly_by_the_clock(self) -> None:
        vehicle, monitor = self._ros, self._ros.monitor
        self.begin = vehicle.now()
        heard, heard_at = -1, self.begin
        answered, commanded_at = -1, -math.inf
        while (now := vehicle.now()) < self.begin + self.scenario.duration:
            with monitor.arrived:
                count = monitor.counts['imu/data']
            if count != heard or self.silence_wanted:
                heard, heard_at = count, now
            elif now - heard_at > LONGEST_SILENCE:
                raise ExperimentError(f'telemetry stopped; {vehicle.why()}')
            if vehicle.has_failed():
                raise ExperimentError(vehicle.why())
            vehicle.check_controller()
            self.act(now)
            # Once for each state, and where they come slowly in between.
            if count != answered or now - commanded_at >= _TICK:
                answered, commanded_at = count, now
                if (held := self.held_controls(now)) is not None:
                    vehicle.command(vehicle.make_command(held))
            with monitor.arrived:
                monitor.arrived.wait(_TICK)
        # Events due at the very end.
        self.act(now)

    def _fly_in_lockstep(self, lockstep: Lockstep) -> None:
        self.begin = lockstep.wait(-math.inf)
        began = time.monotonic()
        while True:
            stamp, done = lockstep.stamp, len(self.occurrences)
            self.act(stamp)
            if any(one.event.action == 'trim' for one in self.occurrences[done:]):
                # The trimmed state is sent too, and it is that which waits for a command.
                stamp = lockstep.wait(stamp + HALF_STAMP)
            if self.is_over:
                took = time.monotonic() - began
                self._view.say(f'flown {self.flown:.1f} s in {took:.1f} s: '
                               f'{self.flown / took:.1f} times real time')
                return
            if self._ros.commands_itself(stamp, self.engaged):
                # Another controller than ours still answers the state at which it is released.
                due = self.due if self.engaged else stamp + HALF_STAMP
                lockstep.let_autopilot_command(due)
                lockstep.wait(due, self._show_progress)
            else:
                lockstep.command(self.held_controls(stamp) or {})
                lockstep.wait(stamp + HALF_STAMP)

    def _show_progress(self, stamp: float) -> None:
        self._ros.check_alone()
        self.show(stamp - self.begin)
