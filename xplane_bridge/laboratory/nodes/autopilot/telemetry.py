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

"""What autopilot_node receives of the vehicle, through its common topics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import math
import time
from typing import Any

from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu, NavSatFix, Range

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.axes import Quaternion, Vector
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.nodes.messages.newest import Handler, NewestState, STATE
from xplane_bridge.laboratory.nodes.messages.serialized import (
    air_data,
    attitude,
    body_velocity,
    controls,
    position,
)
from xplane_bridge.laboratory.sensors.altimeter import Altimeter
from xplane_bridge.laboratory.sensors.range_finder import below
from xplane_bridge.laboratory.sensors.topics import RANGE
from xplane_bridge.msg import AirData, FlightControls

# The velocity of a vehicle that reports none (Huginn), from its positions.

# Time constant (s) of the velocity.
_FILTER = 0.5
# A gap longer than this (s), or a velocity above this (m/s), is a jump.
_LONGEST_STEP = 1.0
_FASTEST = 1000.0


class PositionDerivative:
    """The filtered derivative of positions, such as east, north and up in metres."""

    def __init__(self) -> None:
        self._last: tuple[Vector, float] | None = None
        self._velocity: Vector | None = None

    def update(self, position: Vector, time: float) -> Vector | None:
        """Return the velocity at a position and its time (s); None if not known yet."""
        last, self._last = self._last, (position, time)
        if last is None:
            return None
        dt = time - last[1]
        if dt <= 0.0:
            return self._velocity
        x, y, z = (
            (after - before) / dt for after, before in zip(position, last[0], strict=True))
        # Also of what is not known.
        if dt > _LONGEST_STEP or not math.hypot(x, y, z) < _FASTEST:
            self._velocity = None
            return None
        if self._velocity is None:
            self._velocity = x, y, z
            return self._velocity
        share = dt / (_FILTER + dt)
        x0, y0, z0 = self._velocity
        self._velocity = x0 + share * (x - x0), y0 + share * (y - y0), z0 + share * (z - z0)
        return self._velocity


UPDATE = ('fix', 'air_data', 'controls', 'imu/data', 'odom')
"""Topics of one update of a vehicle, all of which lockstep waits for."""
# Behind sensors, which have rates of their own, these; of the others the newest counts.
_SENSED = ('controls', 'imu/data')
# Altitude and airspeed older than this are not used; the bridge's watchdog then acts.
_OLDEST = 0.5
# Behind sensors: a receiver of 1 Hz may lose one.
_OLDEST_SENSED = 2.5


class AutopilotTelemetry:
    """
    The newest state of the vehicle.

    ``heard(stamp)`` is called for each imu/data; in lockstep when all messages of that stamp
    (nanoseconds) have arrived, which are those then used. ``reported`` are the controls,
    ``local`` is the frame of the position, ``datum`` that of odom. They are None at first.
    Behind ``sensors`` the height above ground is that of a range finder.
    """

    def __init__(
        self, node: BridgeNode[Any], lockstep: bool, sensors: bool, heard: Callable[[int], None]
    ) -> None:
        self._heard = heard
        self._lockstep = lockstep
        self._place = (0.0, 0.0, 0.0)
        self._altimeter = Altimeter()
        self._located_at = 0.0
        self._airspeed = (math.nan, 0.0)
        # In lockstep nothing is late by the clock: the simulation waits.
        self._oldest = _OLDEST if not sensors else math.inf if lockstep else _OLDEST_SENSED
        self._true_airspeed = math.nan
        self._imu = self._odom = b''
        self._imu_stamp = self._odom_stamp = -1
        self._odom_at = 0.0
        # What the range finder has measured and not been used, its stamp, and the height by it.
        self._range: float | None = None
        self._range_at, self._range_stamp = 0.0, -1
        self._height = math.nan
        self._derivative = PositionDerivative()
        self.odom_frame = ''
        self.reported = Controls()
        self.local: LocalFrame | None = None
        self.datum: LocalFrame | None = None
        handlers: dict[str, tuple[type, Handler]] = {
            'fix': (NavSatFix, self._on_fix),
            'air_data': (AirData, self._on_air_data),
            'controls': (FlightControls, self._on_controls),
            STATE: (Imu, self._on_imu),
            'odom': (Odometry, self._on_odom),
        }
        if sensors:
            handlers[RANGE] = Range, self._on_range
        self._newest = NewestState(
            partial(node.make_command, depth=10, raw=True), handlers,
            () if not lockstep else _SENSED if sensors else UPDATE)
        node.make_command(NavSatFix, 'datum', self._on_datum, LATCHED)

    @property
    def is_fresh(self) -> bool:
        """Return whether altitude and airspeed are recent."""
        return time.monotonic() - min(self._located_at, self._airspeed[1]) < self._oldest

    @property
    def altitude(self) -> float:
        """Return the newest altitude (m above the ellipsoid), NaN if it is not known."""
        return self._altimeter.altitude

    @property
    def waits_for(self) -> list[str]:
        """Return what the newest update still lacks, in lockstep."""
        return self._newest.waits_for

    def measure(self) -> Measurement | None:
        """Return the control law's input, or None while something is missing or stale."""
        altitude, airspeed = self._altimeter.altitude, self._airspeed[0]
        found = attitude(self._imu)
        if found is None or not self.is_fresh or not math.isfinite(altitude + airspeed):
            return None
        orientation, rates = found
        roll, pitch, yaw = axes.quaternion_to_euler(orientation)
        roll_rate, pitch_rate, yaw_rate = axes.flu_to_frd(rates)
        east, north = self._position()
        velocity = self._velocity(orientation, (east, north, altitude))
        v_east, v_north, v_up = velocity or (math.nan, math.nan, math.nan)
        return Measurement(
            roll, -pitch, axes.yaw_to_heading(yaw), roll_rate, pitch_rate, yaw_rate, altitude,
            airspeed, self._true_airspeed, v_up, math.atan2(v_east, v_north),
            math.hypot(v_east, v_north), east, north, self._height_above_ground(orientation))

    def move_frame(self) -> None:
        """Let the local frame have its origin here."""
        self.local = LocalFrame(*self._place)

    def _position(self) -> tuple[float, float]:
        """Return where it is in the local frame."""
        latitude, longitude, _ = self._place
        if not math.isfinite(latitude + longitude):
            return math.nan, math.nan
        if self.local is None:
            self.move_frame()
        assert self.local is not None
        return self.local.geodetic_to_enu(*self._place)[:2]

    def _velocity(self, orientation: Quaternion, position: Vector) -> Vector | None:
        """Return the velocity over ground, east, north and up; None if it is not known."""
        if (self._odom_stamp >= self._imu_stamp if self._lockstep
                else time.monotonic() - self._odom_at < _OLDEST):
            velocity, self.odom_frame = body_velocity(self._odom)
            # What a simulator does not report is 0, and no aircraft in flight has that.
            if any(velocity):
                return axes.rotate(orientation, velocity)
        return self._derivative.update(position, self._imu_stamp * 1e-9)

    def _height_above_ground(self, orientation: Quaternion) -> float:
        """Return it by the range finder: infinity if out of range, NaN if it is not known."""
        if self._range is not None:
            self._height, self._range = below(self._range, orientation), None
        age = ((self._imu_stamp - self._range_stamp) * 1e-9 if self._lockstep
               else time.monotonic() - self._range_at)
        return self._height if age < _OLDEST else math.nan

    def _on_fix(self, data: bytes, stamp: int) -> None:
        is_valid, self._place = position(data)
        # Without a position too: then the barometer has the altitude.
        self._altimeter.take_fix(self._place[2] if is_valid else math.nan)
        self._located_at = time.monotonic()

    def _on_air_data(self, data: bytes, stamp: int) -> None:
        indicated, self._true_airspeed, pressure = air_data(data)
        self._altimeter.take_pressure(pressure)
        self._airspeed = (
            self._true_airspeed if math.isnan(indicated) else indicated, time.monotonic())

    def _on_controls(self, data: bytes, stamp: int) -> None:
        self.reported = controls(data)

    def _on_imu(self, data: bytes, stamp: int) -> None:
        self._imu, self._imu_stamp = data, stamp
        self._heard(stamp)

    def _on_odom(self, data: bytes, stamp: int) -> None:
        self._odom, self._odom_at, self._odom_stamp = data, time.monotonic(), stamp

    def _on_range(self, data: bytes, stamp: int) -> None:
        # A simulator in lockstep repeats a state until it is commanded.
        if stamp != self._range_stamp:
            self._range, self._range_stamp = deserialize_message(data, Range).range, stamp
            self._range_at = time.monotonic()

    def _on_datum(self, message: NavSatFix) -> None:
        self.datum = LocalFrame(message.latitude, message.longitude, message.altitude)
