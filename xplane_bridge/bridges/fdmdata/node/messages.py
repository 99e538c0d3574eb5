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
from xplane_bridge.bridges.nodes.common.stamps import write_stamp
from xplane_bridge.bridges.nodes.vehicle.publisher import VehiclePublisher
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


_KINDS = {'gps': Navigation, 'ins': Navigation, 'magnetic_field': MagneticField}


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
            topic: node.make_publisher(kind, topic) for topic, kind in _KINDS.items()}
        self._messages = {topic: kind() for topic, kind in _KINDS.items()}
        for topic, message in self._messages.items():
            frame = {'gps': given.gps_frame, 'ins': given.imu_frame}.get(topic, given.base_frame)
            message.header.frame_id = given.frame_prefix + frame
        self._messages['gps'].roll = self._messages['gps'].pitch = math.nan
        self._magnetic = False

    def subscribed(self) -> frozenset[str]:
        """Return the topics that have subscribers."""
        return frozenset(self.vehicle.subscribed().union(
            (topic for topic, publisher in self._publishers.items()
             if publisher.get_subscription_count()),
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
        message = self._messages[topic]
        message.latitude = reply.latitude
        message.longitude = reply.longitude
        message.altitude_msl = reply.altitude
        message.true_airspeed = reply.airspeed
        message.true_heading = reply.heading * DEGREE
        if topic == 'ins':
            message.roll = reply.roll * DEGREE
            message.pitch = reply.pitch * DEGREE
        self._publish(topic, stamp_ns)

    def _publish_magnetic_field(self, reply: Any, stamp_ns: int) -> bool:
        """Publish the field, unless Huginn has no magnetometer and sends zeros."""
        field = (reply.x, reply.y, reply.z)
        self._magnetic |= any(field)
        if self._magnetic:
            vector = self._messages['magnetic_field'].magnetic_field
            vector.x, vector.y, vector.z = axes.frd_to_flu(field)
            self._publish('magnetic_field', stamp_ns)
        return self._magnetic

    def _publish(self, topic: str, stamp_ns: int) -> None:
        message = self._messages[topic]
        write_stamp(message, stamp_ns)
        self._publishers[topic].publish(message)
