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

"""Publishing of X-Plane's data by xplane_udp_node."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
import math
import time

from xplane_bridge.bridges.conversions.axes import Vector
from xplane_bridge.bridges.conversions.geoid import Undulation
from xplane_bridge.bridges.conversions.plausibility import NOWHERE, place_fault
from xplane_bridge.bridges.conversions.vehicle import VehicleState
from xplane_bridge.bridges.conversions.xplane import levers as xplane_levers
from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge, FRESH
from xplane_bridge.bridges.nodes.vehicle.publisher import VehiclePublisher
from xplane_bridge.bridges.xplane_udp.conversion import rows_state
from xplane_bridge.bridges.xplane_udp.node.parameters import XplaneUdpParameters
from xplane_bridge.bridges.xplane_udp.session import (
    DataArrived,
    RowTelemetry,
    Telemetry,
    WatchedDatarefs,
    XplaneUdpSession,
)
from xplane_bridge.msg import Datarefs, DataRows

_POSITION = (xplane.LATITUDE, xplane.LONGITUDE, xplane.ELEVATION)


class Publisher:
    """Publish telemetry, rows and datarefs; in the link's thread."""

    def __init__(
        self, node: Bridge[XplaneUdpParameters, XplaneUdpSession], undulation: Undulation
    ) -> None:
        given = node.parameters
        self.vehicle = VehiclePublisher(node, given, '', undulation)
        self._node = node
        self._by_acceleration = given.specific_force == 'acceleration'
        self._datarefs = node.make_publisher(Datarefs, 'datarefs')
        self._rows = node.make_publisher(DataRows, 'data_rows')
        self._last_state: VehicleState | None = None
        self._last_given: tuple[Vector, VehicleState, Mapping[str, float]] | None = None

    def flown(self) -> VehicleState | None:
        """Return the state of the aircraft, None if it is no longer known."""
        fresh = time.monotonic() - self._node.last_update < FRESH
        return self._last_state if fresh else None

    def force_difference(self) -> str:
        """Return the difference of the two specific force estimates."""
        if self._last_given is None:
            return ''
        difference = xplane.force_difference(*self._last_given)
        return '' if difference is None else f'{difference:.3f}'

    def publish_telemetry(self, event: Telemetry, stamp_ns: int) -> None:
        """Publish the aircraft from its datarefs."""
        pose, values = event.pose, event.values
        attitude: Vector | None = None
        position = NOWHERE
        if pose is not None:
            position = self.vehicle.plausibility.place(pose.lat, pose.lon, pose.ele_m)
            attitude = (pose.heading_true_deg, pose.pitch_deg, pose.roll_deg)
        elif values.keys() >= set(_POSITION):
            # The pose is missing: the datarefs contain the same as float32, like rows.
            position = self.vehicle.plausibility.place(*(values[name] for name in _POSITION))
        state = xplane.own_state(
            position, attitude, values, by_acceleration=self._by_acceleration,
            arrays=xplane_levers.to_arrays(values))
        self._last_given = position, state, values
        self._publish(state, stamp_ns)

    def publish_rows(self, event: RowTelemetry, stamp_ns: int) -> None:
        """Publish the aircraft from its rows."""
        self._publish(rows_state(event.version, event.segments), stamp_ns)

    def _publish(self, state: VehicleState, stamp_ns: int) -> None:
        node = self._node
        node.has_crashed = state.crashed
        clock = node.simulator_clock
        stamp = node.stamps.received(stamp_ns) if clock is None else clock.stamp(
            state.time, state.paused, (
                state.latitude_deg, state.longitude_deg, state.altitude_msl, state.orientation))
        if place_fault(state.latitude_deg, state.longitude_deg, state.altitude_msl) is None:
            self._last_state = state
        # Who receives it may ask at once for what needs it.
        node.last_update = time.monotonic()
        if stamp is not None:
            self.vehicle.publish(state, stamp)

    def publish_datarefs(self, event: WatchedDatarefs, stamp_ns: int) -> None:
        """Publish the datarefs selected by the user."""
        message = Datarefs()
        if not self._node.stamp(message, stamp_ns):
            return
        message.names = list(event.names)
        if None in event.values:
            message.sizes = array('I', [value is not None for value in event.values])
            message.values = array('f', [v for v in event.values if v is not None])
        else:
            message.sizes = array('I', [1]) * len(event.values)
            message.values = array('f', event.values)
        self._datarefs.publish(message)

    def publish_data(self, event: DataArrived, stamp_ns: int) -> None:
        """Publish rows as received."""
        message = DataRows()
        if not self._node.stamp(message, stamp_ns):
            return
        values = array('f')
        for segment in event.segments:
            values.extend([math.nan if v is None else v for v in segment.values])
        message.rows = array('I', [segment.index for segment in event.segments])
        message.values = values
        self._rows.publish(message)
