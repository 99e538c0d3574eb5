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

"""Publishing of the plugin's data by xpc_node."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
import time
from typing import Any

from xplane_bridge.bridges.conversions.geoid import Undulation
from xplane_bridge.bridges.conversions.plausibility import NOWHERE
from xplane_bridge.bridges.conversions.topics import AIR_TOPICS
from xplane_bridge.bridges.conversions.vehicle import VehicleState
from xplane_bridge.bridges.conversions.xplane import levers as xplane_levers
from xplane_bridge.bridges.conversions.xplane import others
from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.conversions.xplane.derived import Derivation
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge
from xplane_bridge.bridges.nodes.vehicle.publisher import ALL_BUT_FIX, TOPICS, VehiclePublisher
from xplane_bridge.bridges.nodes.vehicle.transforms import make_map_frame
from xplane_bridge.bridges.xpc.conversion import LocalAxes
from xplane_bridge.bridges.xpc.node.parameters import XpcParameters
from xplane_bridge.bridges.xpc.node.traffic import OthersTraffic
from xplane_bridge.bridges.xpc.session import Polled, Telemetry, WatchedDatarefs, XpcSession
from xplane_bridge.msg import Datarefs

# X-Plane has no mixture of the others, and no air data: these may be derived.
_OTHER_TOPICS = tuple(topic for topic in TOPICS if topic != 'engines')
_REPORTED_TOPICS = tuple(
    topic for topic in _OTHER_TOPICS if topic not in ('air_data', *AIR_TOPICS))

# X-Plane 12 has 16 throttles of another aircraft and 10 legs of its gear, earlier ones have fewer.
# A longer reply than expected crashes X-Plane, so more is allowed for: as much as costs nothing.
_LARGEST_ARRAY = 64


def polled(aircraft: Sequence[int], derive: bool = False) -> dict[int, Polled]:
    """
    Return what to poll for each aircraft, first of all for the user's.

    To ``derive`` air data the air at the user's is polled with each.
    """
    axes = LocalAxes()

    def other(number: int) -> Polled:
        plane = others.other_prefix(number)
        return Polled(
            others.other_datarefs(number, with_air=derive), others.other_place(number),
            axes.make_pose_reader(number),
            {plane + name: _LARGEST_ARRAY for name in ('throttle', 'gear_deploy')})

    return {
        number: other(number) if number else Polled(
            (*xplane.OWN_DATAREFS, *xplane.LOCAL_PLACE), xplane.OWN_PLACE,
            axes.make_pose_reader(number),
            arrays=tuple(xplane_levers.ENGINES.values()))
        for number in sorted(aircraft, key=bool)}


class Publisher:
    """Publish telemetry of all aircraft, and datarefs; remembers their states."""

    def __init__(
        self, node: Bridge[XpcParameters, XpcSession], undulation: Undulation
    ) -> None:
        self._node = node
        given = node.parameters
        of_others = _OTHER_TOPICS if given.derive else _REPORTED_TOPICS
        map_frame = make_map_frame(node, given)
        self.vehicles = {
            number: VehiclePublisher(
                node, given, given.prefix_of(number), undulation,
                of_others if number else TOPICS, map_frame)
            for number in given.aircraft}
        self._derivations = {
            number: Derivation() for number in given.aircraft if number and given.derive}
        self._datarefs = node.make_publisher(Datarefs, 'datarefs')
        self._traffic = OthersTraffic(node, undulation)
        self._last: dict[int, tuple[VehicleState, Telemetry]] = {}

    def last_state(self, aircraft: int) -> VehicleState | None:
        """Return the last state of one of the bridged aircraft."""
        last = self._last.get(aircraft)
        return None if last is None else last[0]

    def local_origin(self) -> tuple[float, float] | None:
        """Return latitude and longitude (deg) of the origin of X-Plane's local axes."""
        for _, event in self._last.values():
            return xplane.origin(event.values)
        return None

    def force_difference(self) -> float | None:
        """Return the difference of the two specific forces of the user's aircraft."""
        if 0 not in self._last:
            return None
        state, event = self._last[0]
        pose = event.pose
        return xplane.force_difference((pose.lat, pose.lon, pose.alt), state, event.values)

    def publish(self, event: Telemetry, stamp_ns: int) -> None:
        """Publish one aircraft's telemetry."""
        node, pose = self._node, event.pose
        vehicle = self.vehicles[event.vehicle]
        position = vehicle.plausibility.place(pose.lat, pose.lon, pose.alt)
        attitude = (pose.heading, pose.pitch, pose.roll)
        clock = node.simulator_clock
        stamp = node.stamps.received(stamp_ns) if clock is None else clock.stamp(
            *xplane.running_time(event.values), (position, attitude), event.vehicle)
        # Computing the state takes about as long as publishing: fix, the first, need not wait. In
        # lockstep all are waited for, and are published in a quarter of the time one after the
        # other: who receives them wakes once.
        fix_first = stamp is not None and not node.parameters.lockstep
        if stamp is not None and fix_first:
            vehicle.publish_fix(*position, stamp)
        if event.vehicle == 0:
            state = xplane.own_state(
                position, attitude, event.values,
                by_acceleration=node.parameters.specific_force == 'acceleration',
                arrays=event.arrays)
            node.has_crashed = state.crashed
        else:
            state = others.other_state(event.vehicle, position, attitude, event.values)
            if event.vehicle in self._derivations:
                state = self._derivations[event.vehicle].complete(state)
        if position is not NOWHERE:
            self._last[event.vehicle] = state, event
        if stamp is not None:
            vehicle.publish(state, stamp, ALL_BUT_FIX if fix_first else TOPICS)
            if position is not NOWHERE:
                self._traffic.publish(event.vehicle, state, stamp)
        node.last_update = time.monotonic()

    def fall_silent(self, stamp_ns: int) -> None:
        """Publish what is no longer known."""
        self._traffic.end(stamp_ns)

    def publish_datarefs(self, event: WatchedDatarefs, stamp_ns: int) -> None:
        """Publish the datarefs selected by the user."""
        message: Any = Datarefs()
        if not self._node.stamp(message, stamp_ns):
            return
        message.names = list(event.names)
        message.sizes = array('I', map(len, event.values))
        message.values = array('f', [value for row in event.values for value in row])
        self._datarefs.publish(message)
