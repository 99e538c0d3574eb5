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

"""Publishing of Huginn's sensors by fdmdata_node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math
from typing import Any

from sensor_msgs.msg import MagneticField

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.geoid import Undulation
from xplane_bridge.bridges.fdmdata import conversion as huginn
from xplane_bridge.bridges.fdmdata.node.parameters import FdmdataParameters
from xplane_bridge.bridges.fdmdata.protocol import Command, SensorReply
from xplane_bridge.bridges.fdmdata.session import PollEntry
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.subscribers import subscription_count
from xplane_bridge.bridges.nodes.vehicle.publisher import VehiclePublisher
from xplane_bridge.bridges.nodes.vehicle.templates import Template
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.common.units import DEGREE
from xplane_bridge.msg import Navigation

# Huginn says no wind.
_AIR = ('air_data', 'temperature', 'static_pressure', 'dynamic_pressure')


@dataclass(frozen=True, slots=True)
class _Entry:
    """Sensors polled together: the topics they feed, the sensors, their rate parameter."""

    topics: frozenset[str]
    commands: tuple[Command, ...]
    rate: str


ENTRIES = {
    'gps': _Entry(frozenset({'fix', 'gps'}), (Command.GPS,), 'gps_rate'),
    'ins': _Entry(
        frozenset({'odom', 'datum', 'ins'}), (Command.INS, Command.GYROSCOPE), 'ins_rate'),
    'imu': _Entry(
        frozenset({'imu/data'}), (Command.ACCELEROMETER, Command.GYROSCOPE, Command.INS),
        'imu_rate'),
    'air': _Entry(
        frozenset(_AIR),
        (Command.THERMOMETER, Command.PITOT_TUBE, Command.STATIC_PRESSURE, Command.GPS),
        'air_data_rate'),
    'magnetometer': _Entry(
        frozenset({'magnetic_field'}), (Command.MAGNETOMETER,), 'magnetometer_rate'),
}

TOPICS = frozenset[str]().union(*(entry.topics for entry in ENTRIES.values()))


# Of its own topics: the type, and the numbers that change.
_NAVIGATION = (
    'latitude', 'longitude', 'altitude_msl', 'true_airspeed', 'roll', 'pitch', 'true_heading')
_KINDS: Mapping[str, tuple[type, tuple[str, ...]]] = {
    'gps': (Navigation, _NAVIGATION), 'ins': (Navigation, _NAVIGATION),
    'magnetic_field': (MagneticField, ('magnetic_field',))}


def plan(given: FdmdataParameters, topics: frozenset[str]) -> dict[str, PollEntry]:
    """Return what to poll for these topics."""
    return {
        name: PollEntry(entry.commands, rate) for name, entry in ENTRIES.items()
        if entry.topics & topics and (rate := getattr(given, entry.rate))
    }


class Publisher:
    """Publish replies of Huginn's sensors, on the common topics and on its own."""

    def __init__(
        self, node: BridgeNode[Any], given: FdmdataParameters, undulation: Undulation
    ) -> None:
        self.vehicle = VehiclePublisher(
            node, given, undulation=undulation,
            topics=('fix', 'imu/data', 'odom', 'datum', *_AIR))
        self._reading = huginn.Interpretation(given.latitude, given.temperature_unit)
        self._transforms = given.publish_tf or given.publish_enu_tf
        self._publishers = {
            topic: node.make_publisher(kind, topic) for topic, (kind, _) in _KINDS.items()}
        self._counts = {
            topic: subscription_count(one) for topic, one in self._publishers.items()}
        self._templates: dict[str, Template] = {}
        for topic, (kind, changing) in _KINDS.items():
            message = kind()
            frame = {'gps': given.gps_frame, 'ins': given.imu_frame}.get(topic, given.base_frame)
            message.header.frame_id = given.frame_prefix + frame
            self._templates[topic] = Template(message, 'header.stamp', *changing)
        self._magnetic = False

    def subscribed(self) -> frozenset[str]:
        """Return the topics that have subscribers."""
        return frozenset(self.vehicle.subscribed().union(
            (topic for topic, count in self._counts.items() if count()),
            ('odom',) if self._transforms else ()))

    def publish(
        self, name: str, replies: Mapping[Command, SensorReply], stamp_ns: int
    ) -> bool:
        """Publish plausible replies to an entry of the plan; return whether any were."""
        if name == 'magnetometer':
            return self._publish_magnetic_field(replies[Command.MAGNETOMETER], stamp_ns)
        state = huginn.vehicle_state(replies, self._reading)
        if name == 'gps':
            self.vehicle.publish(state, stamp_ns, ('fix',))
            self._publish_navigation('gps', replies[Command.GPS], stamp_ns)
        elif name == 'imu':
            self.vehicle.publish(state, stamp_ns, ('imu/data',))
        elif name == 'ins' and Command.INS in replies:
            self.vehicle.publish(state, stamp_ns, ('odom',))
            self._publish_navigation('ins', replies[Command.INS], stamp_ns)
        elif name == 'air':
            self.vehicle.publish(state, stamp_ns, ('air_data',))
        return True

    def _publish_navigation(self, topic: str, reply: Any, stamp_ns: int) -> None:
        is_ins = topic == 'ins'
        self._publish(
            topic, stamp_ns, reply.latitude, reply.longitude, reply.altitude, reply.airspeed,
            reply.roll * DEGREE if is_ins else math.nan,
            reply.pitch * DEGREE if is_ins else math.nan, reply.heading * DEGREE)

    def _publish_magnetic_field(self, reply: Any, stamp_ns: int) -> bool:
        """Publish the field, unless Huginn has no magnetometer and sends zeros."""
        field = (reply.x, reply.y, reply.z)
        self._magnetic |= any(field)
        if self._magnetic:
            self._publish('magnetic_field', stamp_ns, *axes.frd_to_flu(field))
        return self._magnetic

    def _publish(self, topic: str, stamp_ns: int, *numbers: float) -> None:
        if self._counts[topic]():
            self._publishers[topic].publish(
                self._templates[topic].filled(*divmod(stamp_ns, SECOND_NS), *numbers))
