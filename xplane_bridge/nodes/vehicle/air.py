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

"""Air data as messages: AirData, and parts of it as the standard messages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
import math
from operator import attrgetter
from typing import Any

from geometry_msgs.msg import TwistWithCovarianceStamped
from sensor_msgs.msg import FluidPressure, Temperature

from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.common.units import kelvin_to_celsius
from xplane_bridge.conversions.covariances import diagonal, UNKNOWN_VARIANCE
from xplane_bridge.conversions.plausibility import NOWHERE
from xplane_bridge.conversions.topics import AIR, AIR_TOPICS
from xplane_bridge.conversions.vehicle import Air
from xplane_bridge.nodes.common.base import BridgeNode
from xplane_bridge.nodes.vehicle.templates import Template

# Who subscribes is looked at again after so long (ns of the stamps) without anybody.
_LOOK_AGAIN = SECOND_NS // 10
_air_values = attrgetter(*AIR)


def air_numbers(air: Air) -> tuple[float, ...]:
    """Return the numbers of AirData in order, NaN for what is unknown."""
    known = [math.nan if value is None else value for value in _air_values(air)]
    return (*known, *(air.wind or NOWHERE))


def _temperature(air: Air) -> tuple[float, ...] | None:
    # Unlike all others, Temperature is in degrees Celsius.
    return None if air.temperature is None else (kelvin_to_celsius(air.temperature),)


def _static_pressure(air: Air) -> tuple[float, ...] | None:
    return None if air.static_pressure is None else (air.static_pressure,)


def _dynamic_pressure(air: Air) -> tuple[float, ...] | None:
    return None if air.dynamic_pressure is None else (air.dynamic_pressure,)


def _wind(air: Air) -> tuple[float, ...] | None:
    return air.wind


# By topic: its type, which numbers of that change, and what these are.
_KINDS: Mapping[str, tuple[type, str, Callable[[Air], tuple[float, ...] | None]]] = dict(zip(
    AIR_TOPICS, (
        (Temperature, 'temperature', _temperature),
        (FluidPressure, 'fluid_pressure', _static_pressure),
        (FluidPressure, 'fluid_pressure', _dynamic_pressure),
        (TwistWithCovarianceStamped, 'twist.twist.linear', _wind)), strict=True))


class AirTopics:
    """
    Publishes those of AIR_TOPICS that are in ``topics``, each while somebody subscribes.

    What is unknown is not published.
    """

    def __init__(
        self, node: BridgeNode[Any], prefix: str = '', topics: Collection[str] = AIR_TOPICS
    ) -> None:
        self.publishers: Mapping[str, Any] = {
            topic: node.make_publisher(kind, prefix + topic)
            for topic, (kind, *_) in _KINDS.items() if topic in topics}
        # Nobody subscribes, by the stamps: so long publish() does nothing.
        self._idle_from = self._idle_until = 0
        self._frames: tuple[str, str] | None = None
        self._templates: dict[str, Template] = {}

    def place(self, body: str, axes: str) -> None:
        """Set the frames: where the aircraft is, and the axes of the wind: east, north, up."""
        if (body, axes) == self._frames:
            return
        self._frames = body, axes
        for topic in self.publishers:
            kind, changing, _ = _KINDS[topic]
            message = kind()
            message.header.frame_id = body
            if isinstance(message, TwistWithCovarianceStamped):
                message.header.frame_id = axes
                message.twist.covariance = diagonal(*[UNKNOWN_VARIANCE] * 6)
            self._templates[topic] = Template(message, 'header.stamp', changing)

    def publish(self, air: Air, stamp_ns: int) -> None:
        """Publish what somebody subscribes to."""
        # A state that is repeated, as while a simulation waits, is also for who is new.
        if self._idle_from < stamp_ns < self._idle_until:
            return
        is_heard = False
        for topic, publisher in self.publishers.items():
            if publisher.get_subscription_count():
                is_heard = True
                numbers = _KINDS[topic][2](air)
                if numbers is not None:
                    publisher.publish(self._templates[topic].filled(
                        *divmod(stamp_ns, SECOND_NS), *numbers))
        self._idle_from = stamp_ns
        self._idle_until = stamp_ns if is_heard else stamp_ns + _LOOK_AGAIN
