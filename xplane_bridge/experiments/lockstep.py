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

"""Lockstep: each frame waits for a command, and each command for all events that are due."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
import math

from xplane_bridge.experiments.execution import ExperimentError
from xplane_bridge.experiments.quantities import stamp_of
from xplane_bridge.experiments.vehicle import LONGEST_SILENCE, Vehicle
from xplane_bridge.msg import FlightControls

# A simulation in lockstep that has not advanced for this long, and has repeated its state this
# often, has lost its command. On a busy machine the time alone would not prove it.
_REPEAT_AFTER = 1.0
_REPEATED = 20
# Topics that a frame waits for.
_AWAITED = ('elevator', 'aileron', 'rudder', 'throttle')


class Lockstep:
    """
    The frames of a simulation in lockstep, each of which ends with one command.

    The autopilot's commands arrive on autopilot/controls; hand_on() forwards them, or others, to
    the bridge.
    """

    def __init__(self, vehicle: Vehicle) -> None:
        self._vehicle = vehicle
        self._commands: deque[FlightControls] = deque()
        self._standing: dict[str, float] = {}
        self._handed_on: tuple[float, FlightControls] | None = None
        vehicle.on_command_of_autopilot(self._on_command)

    def next_turn(self, engaged: bool) -> tuple[float, FlightControls | None]:
        """
        Wait until the frame waits for its command; return its stamp.

        Also returns the autopilot's command, or None while it is not ``engaged``. Raises
        ExperimentError if nothing advances.
        """
        monitor = self._vehicle.monitor
        stamps = monitor.stamps
        done, command = self._handed_on or (-math.inf, None)

        def autopilot() -> bool:
            # A repeated command has already been forwarded.
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
                raise ExperimentError(f'lockstep has stalled; {self._vehicle.why()}')
            # A second command for one state would be taken for the next one's.
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
        """Complete the frame of this stamp with a command."""
        self._standing = {name: getattr(command, name) for name in _AWAITED}
        self._handed_on = stamp, command
        self._vehicle.command(command)

    def own_command(self, changed: Mapping[str, float]) -> FlightControls:
        """Return the current controls with those ``changed``."""
        values = self._standing or {
            name: self._vehicle.monitor.last(name) for name in _AWAITED}
        return self._vehicle.make_command({
            name: 0.0 if math.isnan(value) else value
            for name, value in {**values, **changed}.items()})

    def _on_command(self, command: FlightControls) -> None:
        with self._vehicle.monitor.arrived:
            self._commands.append(command)
            self._vehicle.monitor.arrived.notify_all()
