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

"""Lockstep: the world waits for a command at each frame, and each command for all that is due."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
import math

from xplane_bridge.experiments.quantities import stamp_of
from xplane_bridge.experiments.vehicle import ExperimentFailure, LONGEST_SILENCE, Vehicle
from xplane_bridge.msg import FlightControls

# A world in lockstep that has not gone on for so long, and has said so as often, has lost its
# command. Time alone does not tell: on a busy machine the command may still be under way.
_REPEAT_AFTER = 1.0
_REPEATED = 20
# What the world waits for.
_AWAITED = ('elevator', 'aileron', 'rudder', 'throttle')


class Lockstep:
    """
    The turns of a world in lockstep, each of which ends with one command.

    The autopilot's commands come on autopilot/controls; hand_on() gives them, or others, to the
    bridge.
    """

    def __init__(self, vehicle: Vehicle) -> None:
        self._vehicle = vehicle
        self._commands: deque[FlightControls] = deque()
        self._standing: dict[str, float] = {}
        self._handed_on: tuple[float, FlightControls] | None = None
        vehicle.on_command_of_autopilot(self._on_command)

    def next_turn(self, engaged: bool) -> tuple[float, FlightControls | None]:
        """
        Wait for what the world waits for; return its stamp.

        With it comes the autopilot's command, or None while it is not ``engaged``. Raises
        ExperimentFailure if nothing goes on.
        """
        monitor = self._vehicle.monitor
        stamps = monitor.stamps
        done, command = self._handed_on or (-math.inf, None)

        def autopilot() -> bool:
            # A command that was repeated has been handed on already.
            while self._commands and stamp_of(self._commands[0]) <= done:
                self._commands.popleft()
            return bool(self._commands) and (
                'odom' not in stamps or stamps['odom'] >= stamp_of(self._commands[0]))

        def vehicle() -> bool:
            return stamps['imu/data'] > done and (
                stamps.get('controls', -math.inf) >= stamps['imu/data'])

        waited, heard = 0.0, monitor.counts['imu/data']
        while not monitor.wait_for(autopilot if engaged else vehicle, _REPEAT_AFTER):
            waited += _REPEAT_AFTER
            if waited >= LONGEST_SILENCE or self._vehicle.has_failed():
                raise ExperimentFailure(f'lockstep has stalled; {self._vehicle.why()}')
            # A second command for one state would be taken as one for the next.
            repeated = monitor.counts['imu/data'] - heard
            if command is not None and stamps['imu/data'] <= done and repeated > _REPEATED:
                self._vehicle.command(command)
                heard = monitor.counts['imu/data']
        with monitor.arrived:
            if engaged:
                command = self._commands.popleft()
                return stamp_of(command), command
            return stamps['imu/data'], None

    def hand_on(self, stamp: float, command: FlightControls) -> None:
        """End the turn of this stamp with a command."""
        self._standing = {name: getattr(command, name) for name in _AWAITED}
        self._handed_on = stamp, command
        self._vehicle.command(command)

    def own_command(self, changed: Mapping[str, float]) -> FlightControls:
        """Return the controls as they stand, but for those ``changed``."""
        values = self._standing or {
            name: self._vehicle.monitor.last(name) for name in _AWAITED}
        return self._vehicle.make_command({
            name: 0.0 if math.isnan(value) else value
            for name, value in {**values, **changed}.items()})

    def _on_command(self, command: FlightControls) -> None:
        with self._vehicle.monitor.arrived:
            self._commands.append(command)
            self._vehicle.monitor.arrived.notify_all()
