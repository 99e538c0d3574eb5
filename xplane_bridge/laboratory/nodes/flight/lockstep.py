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

"""Lockstep: each frame waits for a command, and some frames for what is due in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math

from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.nodes.flight.monitor import is_due, MEASURED
from xplane_bridge.laboratory.nodes.flight.vehicle import LONGEST_SILENCE, Vehicle
from xplane_bridge.msg import FlightControls

# How often the progress is shown, and a stall looked for.
_LOOK = 0.1
# A simulation in lockstep that has not advanced for this long, and has repeated its state this
# often, has lost its command. On a busy machine the time alone would not prove it.
_REPEAT_AFTER = 1.0
_REPEATED = 20
# What belongs to a state besides imu/data and controls, if the vehicle has it.
_COMPLETE = ('fix', 'air_data', 'odom', MEASURED)


class LockstepClient:
    """
    The frames of a simulation in lockstep, each of which ends with one command.

    Either from here, by command(), or from the autopilot, for all frames before a given stamp.
    ``stamp`` is that of the frame that waits.
    """

    def __init__(self, vehicle: Vehicle) -> None:
        self._vehicle = vehicle
        self._standing: dict[str, float] = {}
        self._command: FlightControls | None = None
        self.stamp = -math.inf

    def wait(
        self, due: float, show: Callable[[float], None] = lambda _: None,
        needed_from: float = -math.inf,
    ) -> float:
        """
        Wait for the first frame whose stamp is ``due`` or later; return its stamp.

        ``show`` is called with the newest stamp a few times per second. Until the stamp
        ``needed_from`` nothing but the attitude is needed of each frame. Raises what
        Vehicle.lost() returns if nothing advances.
        """
        monitor = self._vehicle.monitor
        stamps = monitor.stamps

        def complete() -> bool:
            newest = stamps['imu/data']
            return is_due(newest, due) and stamps.get('controls', -math.inf) >= newest and all(
                stamps.get(topic, newest) >= newest for topic in _COMPLETE)

        monitor.wait_only_for(due, needed_from)
        waited, last, heard = 0.0, stamps['imu/data'], monitor.counts['imu/data']
        while not monitor.wait_for_state(complete, _LOOK):
            newest = stamps['imu/data']
            show(newest)
            waited = 0.0 if newest > last else waited + _LOOK
            last = newest
            self._vehicle.check_controller()
            if waited >= LONGEST_SILENCE or self._vehicle.has_failed():
                raise self._vehicle.lost(f'lockstep has stalled; {self._vehicle.why()}')
            # A second command for one state would be taken for the next one's.
            if self._command is not None and newest <= self.stamp and (
                    waited >= _REPEAT_AFTER and monitor.counts['imu/data'] - heard > _REPEATED):
                self._vehicle.command(self._command)
                heard = monitor.counts['imu/data']
        self.stamp = stamps['imu/data']
        return self.stamp

    def command(self, changed: Mapping[str, float]) -> None:
        """Complete the frame that waits: keep the controls, with those ``changed``."""
        values = self._standing or {
            name: self._vehicle.monitor.last(name) for name in FLOWN}
        self._command = self._vehicle.make_command({
            name: 0.0 if math.isnan(value) else value
            for name, value in {**values, **changed}.items()})
        self._standing = {name: getattr(self._command, name) for name in FLOWN}
        self._vehicle.command(self._command)

    def let_autopilot_command(self, until: float) -> None:
        """Let the autopilot command for the frame that waits, and for those before ``until``."""
        self._command = None
        self._standing = {}
        self._vehicle.hold_autopilot(until)
