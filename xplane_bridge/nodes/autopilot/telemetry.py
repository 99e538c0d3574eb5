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

"""What autopilot_node hears of the vehicle, through its common topics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import math
import time
from typing import Any

from sensor_msgs.msg import Imu, NavSatFix

from xplane_bridge.control.measurement import Measurement
from xplane_bridge.conversions import frames
from xplane_bridge.conversions.vehicle import Controls
from xplane_bridge.msg import AirData, FlightControls
from xplane_bridge.nodes.base import BridgeNode
from xplane_bridge.nodes.controls import CONTROLS_MASK

# Topics of one update of a vehicle, all of which lockstep waits for.
_UPDATE = ('fix', 'air_data', 'controls', 'imu/data')
# Updates that may be incomplete at any time: messages of different topics overtake each other.
_INCOMPLETE = 8
# Altitude and airspeed older than this are not used; the bridge's watchdog then acts.
_OLDEST = 0.5


class Telemetry:
    """
    The newest state of the vehicle.

    ``heard(stamp)`` is called for each imu/data; in lockstep only when the other messages of that
    stamp (nanoseconds) have arrived, which are those then used. ``reported`` are the controls.
    """

    def __init__(
        self, node: BridgeNode[Any], lockstep: bool, heard: Callable[[int], None]
    ) -> None:
        self._heard = heard
        self._incomplete: dict[int, dict[str, Any]] = {}
        self._altitude = self._airspeed = (math.nan, 0.0)
        self._imu = Imu()
        self.reported = Controls()
        handlers = {
            'fix': (NavSatFix, self._on_fix),
            'air_data': (AirData, self._on_air_data),
            'controls': (FlightControls, self._on_controls),
            'imu/data': (Imu, self._on_imu),
        }
        self._handlers = {topic: handler for topic, (_, handler) in handlers.items()}
        for topic, (kind, handler) in handlers.items():
            node.make_command(
                kind, topic, partial(self._gather, topic) if lockstep else handler, 10)

    @property
    def is_fresh(self) -> bool:
        """Return whether altitude and airspeed are recent."""
        return time.monotonic() - min(self._altitude[1], self._airspeed[1]) < _OLDEST

    def measure(self) -> Measurement | None:
        """Return the control law's input, or None while something is missing or stale."""
        message = self._imu
        altitude, airspeed = self._altitude[0], self._airspeed[0]
        if (
            message.orientation_covariance[0] == -1.0
            or message.angular_velocity_covariance[0] == -1.0
            or not self.is_fresh
            or not math.isfinite(altitude + airspeed)
        ):
            return None
        orientation = message.orientation
        roll, pitch, yaw = frames.quaternion_to_euler(
            (orientation.w, orientation.x, orientation.y, orientation.z))
        rates = message.angular_velocity
        roll_rate, pitch_rate, yaw_rate = frames.flu_to_frd((rates.x, rates.y, rates.z))
        return Measurement(
            roll=roll, pitch=-pitch, heading=frames.yaw_to_heading(yaw), roll_rate=roll_rate,
            pitch_rate=pitch_rate, yaw_rate=yaw_rate, altitude=altitude, airspeed=airspeed)

    def _gather(self, topic: str, message: Any) -> None:
        """Handle the messages of one update when the last of them has arrived."""
        stamp = nanoseconds(message)
        update = self._incomplete.setdefault(stamp, {})
        update[topic] = message
        if len(update) < len(_UPDATE):
            if len(self._incomplete) > _INCOMPLETE:
                del self._incomplete[next(iter(self._incomplete))]
            return
        self._incomplete = {
            at: others for at, others in self._incomplete.items() if at > stamp}
        for name in _UPDATE:
            self._handlers[name](update[name])

    def _on_fix(self, message: NavSatFix) -> None:
        self._altitude = (message.altitude, time.monotonic())

    def _on_air_data(self, message: AirData) -> None:
        speed = message.indicated_airspeed
        if math.isnan(speed):
            speed = message.true_airspeed
        self._airspeed = (speed, time.monotonic())

    def _on_controls(self, message: FlightControls) -> None:
        self.reported = Controls(**CONTROLS_MASK.known(message))

    def _on_imu(self, message: Imu) -> None:
        self._imu = message
        self._heard(nanoseconds(message))


def nanoseconds(message: Any) -> int:
    """Return the stamp of a message."""
    stamp = message.header.stamp
    return int(stamp.sec * 1_000_000_000 + stamp.nanosec)
