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

"""What is known of a vehicle: of a state by its topics, and of its flight by its recording."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
import math
from typing import Any

from nav_msgs.msg import Odometry
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import Imu, NavSatFix

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.axes import Vector
from xplane_bridge.bridges.conversions.message_numbers import NUMBERS
from xplane_bridge.common.timing import ROUNDED_TIME, SECOND_NS
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.policy.observation import INDEX, SIZE, SLICES
from xplane_bridge.laboratory.control.policy.observation import Vector as Observation
from xplane_bridge.laboratory.flights.analysis import history as analysis
from xplane_bridge.laboratory.flights.analysis.quantities import ORDERED
from xplane_bridge.laboratory.flights.analysis.series import Arrivals, History
from xplane_bridge.laboratory.nodes.flight.monitor import Monitor
from xplane_bridge.laboratory.nodes.messages.newest import Handler, NewestState, STATE
from xplane_bridge.laboratory.nodes.messages.serialized import (
    air_data,
    attitude,
    body_velocity,
    position,
)
from xplane_bridge.laboratory.sensors.altimeter import Altimeter
from xplane_bridge.msg import AirData

# What a vehicle knows of itself by its sensors, from their topics, in lockstep.

_DEPTH = 50
# So many messages (as of half a minute) wait for somebody who asks; then those that are older than
# any which may still come are taken.
_MOST_WAITING = 4000
_OLD = SECOND_NS
_KINDS = {'fix': NavSatFix, 'air_data': AirData, 'odom': Odometry}


class NewestMeasurements:
    """
    The newest that the sensors of a vehicle below a namespace have delivered.

    That is what its autopilot has. Messages are taken in the order of their stamps when somebody
    asks, which is while the simulation waits: so equal flights know the same, however the messages
    were handled. All methods may be called while the node spins.
    """

    def __init__(
        self, node: Node, namespace: str, lock: Any, heard: Callable[[int], None]
    ) -> None:
        self._lock, self._heard = lock, heard
        self._waiting: list[tuple[int, int, str, bytes]] = []
        self._altimeter = Altimeter()
        self._place = (math.nan, math.nan)
        self._air = (math.nan, math.nan)
        self._imu = self._odom = b''
        self._imu_stamp = self._odom_stamp = -1
        handlers: dict[str, tuple[type, Handler]] = {
            topic: (kind, partial(self._keep, order, topic))
            for order, (topic, kind) in enumerate(_KINDS.items())}
        NewestState(
            lambda kind, topic, handler: node.create_subscription(
                kind, f'{namespace}/{topic}', handler, _DEPTH, raw=True),
            {**handlers, STATE: (Imu, self._on_imu)}, (STATE,))

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
            is_odom_new = self._odom_stamp >= self._imu_stamp
        roll = pitch = heading = v_east = v_north = v_up = math.nan
        rates = (math.nan, math.nan, math.nan)
        if imu and (found := attitude(imu)) is not None:
            orientation, turning = found
            rates = axes.flu_to_frd(turning)
            roll, pitch, yaw = axes.quaternion_to_euler(orientation)
            heading = axes.yaw_to_heading(yaw)
            if odom and is_odom_new:
                v_east, v_north, v_up = axes.rotate(orientation, body_velocity(odom)[0])
        indicated, true = self._air
        return Measurement(
            roll, -pitch, heading, *rates, self._altimeter.altitude, indicated, true, v_up,
            math.atan2(v_east, v_north), math.hypot(v_east, v_north), math.nan, math.nan)

    def _on_imu(self, data: bytes, stamp: int) -> None:
        """Take what the sensors publish last."""
        with self._lock:
            if stamp >= self._imu_stamp:
                self._imu, self._imu_stamp = data, stamp
            if len(self._waiting) > _MOST_WAITING:
                self._take(stamp - _OLD)
        # Who waits for the state finds all that is known of it.
        self._heard(stamp)

    def _keep(self, order: int, topic: str, data: bytes, stamp: int) -> None:
        with self._lock:
            self._waiting.append((stamp, order, topic, data))

    def _take(self, until: float = math.inf) -> None:
        self._waiting.sort(key=lambda one: one[:2])
        later = []
        for one in self._waiting:
            stamp, _, topic, data = one
            if stamp >= until:
                later.append(one)
            elif topic == 'fix':
                is_valid, (latitude, longitude, altitude) = position(data)
                self._place = (latitude, longitude) if is_valid else (math.nan, math.nan)
                self._altimeter.take_fix(altitude if is_valid else math.nan)
            elif topic == 'air_data':
                indicated, true, pressure = air_data(data)
                self._air = (true if math.isnan(indicated) else indicated, true)
                self._altimeter.take_pressure(pressure)
            else:
                self._odom, self._odom_stamp = data, stamp
        self._waiting = later


class Observer(Monitor):
    """
    A monitor that also keeps the newest numbers of each topic, as an observation.

    ``known`` is what sensors say, None without any.
    """

    def __init__(
        self, node: Node, namespace: str, lockstep: bool, target: str = ORDERED,
        sensors: bool = False,
    ) -> None:
        self._newest = np.zeros(SIZE)
        self.known: NewestMeasurements | None = None
        super().__init__(node, namespace, lockstep, target, sensors)

    def _take(self, topic: str, stamp: float, message: Any) -> None:
        if topic in NUMBERS:
            self._newest[SLICES[topic]] = NUMBERS[topic](message)
        super()._take(topic, stamp, message)

    def observation(self) -> Observation:
        """Return the newest numbers, a copy."""
        with self.arrived:
            return self._newest.copy()

    def measurement(self) -> Measurement:
        """Return what the vehicle knows of itself; NaN is unknown."""
        return (numbers_to_measurement(self.observation()) if self.known is None
                else self.known.measurement())

    def _observe_sensors(self, node: Node) -> None:
        self.known = NewestMeasurements(
            node, self._namespace, self.arrived, self._note_sensed)


def numbers_to_measurement(seen: Observation) -> Measurement:
    """Return what autopilot_node would know of an observation; NaN is unknown."""
    x, y, z, w, p, q, r, *_ = seen[SLICES['imu/data']].tolist()
    _, _, altitude = seen[SLICES['fix']].tolist()
    east, north, *_ = seen[SLICES['odom']].tolist()
    first = INDEX['odom.twist.twist.linear.x']
    v_x, v_y, v_z = seen[first:first + 3].tolist()
    indicated, true, *_ = seen[SLICES['air_data']].tolist()
    roll = pitch = yaw = v_east = v_north = v_up = math.nan
    if any((x, y, z, w)):
        roll, pitch, yaw = axes.quaternion_to_euler((w, x, y, z))
        if any((v_x, v_y, v_z)):
            v_east, v_north, v_up = axes.rotate((w, x, y, z), (v_x, v_y, v_z))
    return Measurement(
        roll, -pitch, axes.yaw_to_heading(yaw), *axes.flu_to_frd((p, q, r)), altitude,
        indicated or true, true or math.nan, v_up, math.atan2(v_east, v_north),
        math.hypot(v_east, v_north), east, north)


class RecordedHistory:
    """
    The history of a vehicle below a namespace, from a recording that is complete.

    It is read in a thread of its own. ``begin`` is the stamp at which the scenario began;
    ``heard`` has the newest stamp that was heard in flight of each topic.
    """

    def __init__(
        self, recording: str, namespace: str, begin: float, heard: Mapping[str, float]
    ) -> None:
        self._heard = heard
        reader = ThreadPoolExecutor(1, 'reader of the recording')
        self._loading = reader.submit(analysis.load, recording, namespace, begin)
        reader.shutdown(wait=False)

    def read(self) -> History:
        """Return it; ValueError, OSError or ImportError if it cannot be read."""
        return self._loading.result()

    def wait(self) -> None:
        """Wait until the recording is needed no more."""
        wait([self._loading])

    def lacking(self) -> str:
        """Return a sentence if it lacks what was heard in flight, or is cut."""
        history = self.read()
        if history.cut:
            return history.cut
        nothing = Arrivals(np.full(1, -math.inf), np.empty(0))
        missing = {topic: stamp - float(history.topics.get(topic, nothing).stamps.max())
                   for topic, stamp in self._heard.items()}
        found = ', '.join(f'{topic} ({seconds:.3f} s)' for topic, seconds in missing.items()
                          if seconds > ROUNDED_TIME)
        return f'the recording lacks the end of {found}' if found else ''
