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


"""JSBSim's properties in ROS: topics, a parameter and services of simulator_node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import re
from typing import Any

from std_msgs.msg import Float64

from xplane_bridge.bridges.nodes.common.base import BaseParameters, BridgeNode
from xplane_bridge.bridges.nodes.common.lists import check_count, named
from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.common.text import counted
from xplane_bridge.simulation.aircraft.loading.properties import parse
from xplane_bridge.simulation.peers.server import Server
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.srv import GetProperties, ListProperties, SetProperties

_MOST_TOPICS = 200
_MOST_VALUES = 200
_MOST_NAMES = 1000
_BELOW = 'property/'
# Of JSBSim: each part begins with a letter, so each has a topic.
_NAME = re.compile(r'/?[A-Za-z][\w.\[\]-]*(/[A-Za-z][\w.\[\]-]*)*', re.ASCII)
_OTHER = re.compile(r'[^A-Za-z0-9]+')


@dataclass(frozen=True)
class PropertyParameters(BaseParameters):
    """Parameters of simulator_node about JSBSim's properties."""

    property_topics: tuple[str, ...] = parameter(
        (), "JSBSim's properties to publish in each frame, at most 200: 'fcs/elevator-pos-rad' as "
        'std_msgs/Float64 on property/fcs/elevator_pos_rad.')
    property_values: tuple[str, ...] = parameter(
        (), "JSBSim's properties to set, as 'name=value', at most 200: in the model before it is "
        'trimmed, and after each reset; a change at once.', live=True)

    def __post_init__(self) -> None:
        """Check the lists."""
        try:
            self._check_topics()
        except ValueError as error:
            raise ValueError(f'parameter property_topics: {error}') from error
        self.values()

    def _check_topics(self) -> None:
        check_count('names', len(self.property_topics), _MOST_TOPICS)
        of: dict[str, str] = {}
        for name in self.topics():
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise ValueError(f'expected names like fcs/elevator-pos-rad, got {name!r}')
            topic = to_topic(name)
            if topic in of:
                raise ValueError(f'{of[topic]} and {name} have the same topic, {topic}')
            of[topic] = name

    def topics(self) -> list[str]:
        """Return the names of the properties to publish; an empty one stands for none."""
        return [name for name in self.property_topics if name]

    def values(self) -> dict[str, float]:
        """Return the values to set by name. Raises ValueError."""
        items = [item for item in self.property_values if item]
        try:
            check_count('values', len(items), _MOST_VALUES)
            return parse(items)
        except ValueError as error:
            raise ValueError(f'parameter property_values: {error}') from error


def to_topic(name: str) -> str:
    """
    Return the topic of a property: what ROS does not allow in a name becomes an underscore.

    'propulsion/engine[0]/thrust-lbs' is property/propulsion/engine_0/thrust_lbs.
    """
    parts = name.strip('/').split('/')
    return _BELOW + '/'.join(_OTHER.sub('_', part).strip('_') for part in parts)


class PropertyTopics:
    """Publishes properties in each frame."""

    def __init__(self, node: BridgeNode[Any], names: Sequence[str]) -> None:
        self._names = names
        self._publishers = [node.make_publisher(Float64, to_topic(name)) for name in names]
        self._message = Float64()

    def check(self, world: World) -> None:
        """Raise ValueError for a name that the aircraft does not have."""
        if absent := world.aircraft.properties.missing(self._names):
            raise ValueError(f'parameter property_topics: {named(absent, "; ")}')

    def publish(self, world: World) -> None:
        """Publish the present values."""
        if self._names:
            values = world.aircraft.properties.read(self._names)
            for publisher, value in zip(self._publishers, values, strict=True):
                self._message.data = value
                publisher.publish(self._message)


def offer_properties(node: BridgeNode[Any], server: Server) -> None:
    """Offer the services, for as long as the node is configured."""

    def get(request: Any, response: Any) -> None:
        if not request.names:
            raise ValueError('no property given')
        check_count('names', len(request.names), _MOST_NAMES)

        def read(world: World) -> tuple[list[float], list[str]]:
            properties = world.aircraft.properties
            return properties.read(request.names), properties.missing(request.names)

        response.values, absent = server.call(read)
        response.success, response.message = not absent, named(absent, '; ')

    def put(request: Any, response: Any) -> None:
        names, values = request.names, request.values
        if not names:
            raise ValueError('no property given')
        check_count('names', len(names), _MOST_NAMES)
        if len(names) != len(values):
            raise ValueError(f'{len(names)} names and {len(values)} values do not match')
        if len(set(names)) != len(names):
            raise ValueError('a property is named twice')
        given = dict(zip(names, values, strict=True))
        server.call(lambda world: world.aircraft.set_properties(given))
        response.success = True

    def find(request: Any, response: Any) -> None:
        def look(world: World) -> None:
            properties = world.aircraft.properties
            response.names = properties.names(request.contains)
            response.writable = [properties.is_writable(name) for name in response.names]
            response.values = properties.read(response.names)

        server.call(look)
        response.success = True
        response.message = counted(len(response.names), 'property', 'properties')

    node.make_service(GetProperties, 'get_properties', get)
    node.make_service(SetProperties, 'set_properties', put)
    node.make_service(ListProperties, 'list_properties', find)


def set_properties(
    world: World, given: PropertyParameters, old: PropertyParameters
) -> None:
    """Write the values that are new, now and in each model loaded from now on."""
    before, values = old.values(), given.values()
    try:
        world.aircraft.set_properties({
            name: value for name, value in values.items() if before.get(name) != value})
    except ValueError as error:
        raise ValueError(f'parameter property_values: {error}') from error
    world.aircraft.settings = values
