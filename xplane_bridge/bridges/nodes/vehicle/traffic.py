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

"""The topic traffic: the other aircraft around one, for detect-and-avoid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
import math
from typing import Any

from geometry_msgs.msg import Vector3

from xplane_bridge.bridges.conversions.geoid import msl_to_ellipsoid, Undulation
from xplane_bridge.bridges.conversions.vehicle import TrafficTarget
from xplane_bridge.bridges.nodes.common.base import BaseParameters, BridgeNode
from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.bridges.nodes.vehicle.publisher import TopicParameters
from xplane_bridge.msg import Traffic
from xplane_bridge.msg import TrafficTarget as Message

_STATES = {None: Message.UNKNOWN, False: Message.AIRBORNE, True: Message.ON_GROUND}
# Of a period: frames are never spaced exactly.
_ROUNDING = 1e-3


@dataclass(frozen=True)
class TrafficParameters(BaseParameters):
    """Parameters of every node that publishes traffic."""

    traffic_rate: float = parameter(
        5.0, 'Messages on traffic per second, by their stamps.', low=1.0, high=100.0,
        live=True)


class TrafficTopic:
    """Publishes ``traffic`` of one aircraft below ``prefix``, while somebody subscribes."""

    def __init__(
        self, node: BridgeNode[Any], given: TopicParameters, undulation: Undulation,
        prefix: str = '',
    ) -> None:
        self._publisher = node.make_publisher(Traffic, f'{prefix}traffic')
        self._undulation = undulation
        self._frame = given.frame_prefix + prefix.lstrip('/') + given.enu_frame
        self._told_at = -math.inf

    @property
    def has_subscribers(self) -> bool:
        """Return whether somebody subscribes."""
        return bool(self._publisher.get_subscription_count())

    def is_due(self, now: float, rate: float) -> bool:
        """
        Return whether to publish at this time (s), ``rate`` times per second, to somebody.

        A time before the last one begins anew.
        """
        if 0.0 <= now - self._told_at < (1.0 - _ROUNDING) / rate or not self.has_subscribers:
            return False
        self._told_at = now
        return True

    def message(self, reports: Iterable[tuple[TrafficTarget, float]]) -> Traffic:
        """Return the message with these targets and their ages in seconds, without a stamp."""
        message = Traffic()
        message.header.frame_id = self._frame
        message.targets = [self._target(target, age) for target, age in reports]
        return message

    def publish(self, message: Traffic) -> None:
        """Publish what message() has returned."""
        self._publisher.publish(message)

    def _target(self, target: TrafficTarget, age: float) -> Message:
        latitude, longitude = target.latitude_deg, target.longitude_deg
        east, north, up = target.velocity or (math.nan, math.nan, math.nan)
        return Message(
            id=target.id, icao_address=target.address, callsign=target.callsign,
            latitude=latitude, longitude=longitude,
            altitude=msl_to_ellipsoid(
                target.altitude_msl, self._undulation.height_m(latitude, longitude)),
            velocity=Vector3(x=east, y=north, z=up),
            air_ground_state=_STATES[target.on_ground], age=age)
