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

"""What an aircraft of a fleet knows of itself by its sensors, from their topics, in lockstep."""

from __future__ import annotations

from functools import partial
import math
from typing import Any

from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu, NavSatFix, NavSatStatus

from xplane_bridge.bridges.conversions import frames
from xplane_bridge.bridges.conversions.frames import Vector
from xplane_bridge.bridges.nodes.common.spinning import handle_waiting
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.nodes.flight.monitor import stamp_of_bytes
from xplane_bridge.laboratory.sensors.altimeter import Altimeter
from xplane_bridge.msg import AirData

_DEPTH = 50
# So many messages (as of half a minute) wait for somebody who asks; then those that are older than
# any which may still come are taken.
_MOST_WAITING = 4000
_OLD = 1.0
_KINDS = {'fix': NavSatFix, 'air_data': AirData, 'odom': Odometry}


class Known:
    """
    The newest that the sensors of a vehicle below a namespace have delivered.

    That is what its autopilot has. Messages are taken in the order of their stamps when somebody
    asks, which is while the simulation waits: so equal flights know the same, however the messages
    were handled. All methods may be called while the node spins.
    """

    def __init__(self, node: Node, namespace: str, lock: Any) -> None:
        self._lock = lock
        self._waiting: list[tuple[float, int, str, bytes]] = []
        self._altimeter = Altimeter()
        self._place = (math.nan, math.nan)
        self._air = (math.nan, math.nan)
        self._imu = self._odom = b''
        self._before = [
            node.create_subscription(
                kind, f'{namespace}/{topic}', partial(self._keep, order, topic), _DEPTH, raw=True)
            for order, (topic, kind) in enumerate(_KINDS.items())]

    def take_imu(self, data: bytes) -> None:
        """Take what the sensors publish last: a serialised imu/data."""
        for subscription in self._before:
            handle_waiting(subscription)
        with self._lock:
            if not self._imu or stamp_of_bytes(data) >= stamp_of_bytes(self._imu):
                self._imu = data
            if len(self._waiting) > _MOST_WAITING:
                self._take(stamp_of_bytes(data) - _OLD)

    def place(self) -> Vector:
        """Return latitude and longitude (deg; NaN without a fix), m above the ellipsoid."""
        with self._lock:
            self._take()
            return (*self._place, self._altimeter.altitude)

    def measurement(self) -> Measurement:
        """Return what a control law knows by that; NaN is unknown."""
        with self._lock:
            self._take()
            imu, odom = self._imu, self._odom
        roll = pitch = heading = v_east = v_north = v_up = math.nan
        rates = (math.nan, math.nan, math.nan)
        if imu:
            message = deserialize_message(imu, Imu)
            turned, turning = message.orientation, message.angular_velocity
            # Imu.msg: -1 says that there is none.
            if message.angular_velocity_covariance[0] != -1.0:
                rates = frames.flu_to_frd((turning.x, turning.y, turning.z))
            if message.orientation_covariance[0] != -1.0:
                orientation = (turned.w, turned.x, turned.y, turned.z)
                roll, pitch, yaw = frames.quaternion_to_euler(orientation)
                heading = frames.yaw_to_heading(yaw)
                if odom and stamp_of_bytes(odom) >= stamp_of_bytes(imu):
                    body = deserialize_message(odom, Odometry).twist.twist.linear
                    v_east, v_north, v_up = frames.rotate(orientation, (body.x, body.y, body.z))
        indicated, true = self._air
        return Measurement(
            roll, -pitch, heading, *rates, self._altimeter.altitude, indicated, true, v_up,
            math.atan2(v_east, v_north), math.hypot(v_east, v_north), math.nan, math.nan)

    def _keep(self, order: int, topic: str, data: bytes) -> None:
        with self._lock:
            self._waiting.append((stamp_of_bytes(data), order, topic, data))

    def _take(self, until: float = math.inf) -> None:
        self._waiting.sort(key=lambda one: one[:2])
        later = []
        for one in self._waiting:
            stamp, _, topic, data = one
            if stamp >= until:
                later.append(one)
            elif topic == 'fix':
                fix = deserialize_message(data, NavSatFix)
                is_valid = fix.status.status != NavSatStatus.STATUS_NO_FIX
                self._place = (fix.latitude, fix.longitude) if is_valid else (math.nan, math.nan)
                self._altimeter.take_fix(fix.altitude if is_valid else math.nan)
            elif topic == 'air_data':
                air = deserialize_message(data, AirData)
                indicated, true = air.indicated_airspeed, air.true_airspeed
                self._air = (true if math.isnan(indicated) else indicated, true)
                self._altimeter.take_pressure(air.static_pressure)
            else:
                self._odom = data
        self._waiting = later
