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

"""Publishing of a plugin's packets by simpit_node."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
import math
from typing import Any

from rclpy.qos import DurabilityPolicy

from xplane_bridge.bridges.conversions.masks import Mask
from xplane_bridge.bridges.conversions.plausibility import attitude_fault
from xplane_bridge.bridges.conversions.vehicle import Air
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.stamps import write_stamp
from xplane_bridge.bridges.nodes.common.subscribers import subscription_count
from xplane_bridge.bridges.nodes.vehicle.controls import CONTROLS_MASK
from xplane_bridge.bridges.nodes.vehicle.plausibility import make_gate
from xplane_bridge.bridges.nodes.vehicle.templates import AirTopics, Template
from xplane_bridge.bridges.simpit import conversion as conversions
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.node.topics import (
    AIR_DATA,
    AIR_PARTS,
    Copied,
    IN_FLIGHT,
    IN_FORCE,
    JOINED,
    MessageTopic,
    PACKETS,
    READ_BACK,
    topics_of,
    withdrawn,
)
from xplane_bridge.bridges.simpit.protocol import Profile, SimpitMessage
from xplane_bridge.bridges.simpit.session import registrable, Telemetry
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.msg import SimpitAxes

AXES_MASK = Mask(SimpitAxes)


@dataclass(frozen=True, slots=True)
class _MadeTopic:
    """
    A topic's publisher and its one message.

    ``count`` says how many subscribe; what is kept for those that subscribe later is published
    without any. Where only numbers change, ``template`` is the message serialised, and ``values``
    are these numbers.
    """

    publisher: Any
    message: Any
    has_header: bool
    count: Callable[[], int]
    is_kept: bool
    template: Template | None = None
    values: Callable[[SimpitMessage], list[Any]] | None = None


class Publisher:
    """
    Publishers of one simpit_node, in ``frame``, for the requested channels.

    What nobody subscribes to is neither converted nor published, unless it is kept.
    """

    def __init__(self, node: BridgeNode[Any], frame: str) -> None:
        self._node = node
        self._frame = frame
        # By topic.
        self._outputs: dict[str, _MadeTopic] = {}
        # Messages of raw packets, by the size of their payload.
        self._packets: dict[int, Template] = {}
        self._air_topics: AirTopics | None = None
        self._make(PACKETS)
        self.plausibility = make_gate(node)
        self._said: set[str] = set()
        self._held: dict[str, Telemetry] = {}
        # Names of the topics that each channel fills alone.
        self._topics: dict[str, frozenset[str]] = {}

    def forget(self) -> None:
        """Forget what waits to be published: the plugin is gone, or was replaced."""
        self._held.clear()

    def offer(self, names: Iterable[str | int], profiles: Iterable[Profile]) -> None:
        """Create the publishers for these channels, as far as these profiles have them."""
        wanted = set(names)
        for profile in profiles:
            for row in registrable(profile):
                if row.name not in wanted:
                    continue
                topics = topics_of(row.message, row.name)
                self._topics[row.name] = frozenset(topic.name for topic in topics)
                for topic in topics:
                    self._make(topic)
                if row.message in JOINED:
                    self._make(JOINED[row.message])
        if self._air_topics is None and {AIR_DATA.name, 'atmosphere'} <= self._outputs.keys():
            self._air_topics = AirTopics(self._node, topics=AIR_PARTS)
            self._air_topics.place(self._frame, self._frame)

    def publish(self, event: Telemetry, stamp_ns: int | None) -> None:
        """
        Publish one packet, converted and raw.

        While there is no ``stamp_ns`` the last packet of each channel waits for one: many are sent
        only on change.
        """
        if stamp_ns is None or self._held:
            key = next(iter(event.values), None) or str(event.packet and event.packet.channel)
            if stamp_ns is None:
                self._held[key] = event
                return
            self._held.pop(key, None)
            held, self._held = self._held, {}
            for earlier in held.values():
                self._publish_packet(earlier, stamp_ns)
        self._publish_packet(event, stamp_ns)

    def tell_flight(self, in_flight: bool) -> None:
        """Publish whether the game is in the flight scene, if that is requested and new."""
        if IN_FLIGHT.name not in self._outputs:
            return
        output = self._outputs[IN_FLIGHT.name]
        if IN_FLIGHT.name not in self._said or output.message.data != in_flight:
            output.message.data = in_flight
            self._said.add(IN_FLIGHT.name)
            output.publisher.publish(output.message)

    def withdraw(self, stamp_ns: int | None) -> None:
        """Reset latched topics of a vessel that is gone."""
        self.forget()
        self._reset(frozenset(self._said), stamp_ns)

    def lapse(self, channels: Iterable[str], stamp_ns: int | None) -> None:
        """Reset the latched topics of channels whose values are no longer known."""
        for channel in channels:
            self._held.pop(channel, None)
            self._reset(self._topics.get(channel, frozenset()), stamp_ns)

    def _reset(self, topics: Set[str], stamp_ns: int | None) -> None:
        """Publish these topics as unknown, as far as they have said anything."""
        said = self._said & topics
        self._said -= said
        if stamp_ns is None:
            return
        for name, fields in withdrawn().items():
            if name in said:
                for field, value in fields.items():
                    setattr(self._outputs[name].message, field, value)
                self._send(self._outputs[name], stamp_ns)

    def _publish_packet(self, event: Telemetry, stamp_ns: int) -> None:
        for name, message in event.values.items():
            self._publish_meaning(name, message, {**event.beside, name: message}, stamp_ns)
        output = self._outputs[PACKETS.name]
        if event.packet is not None and (output.is_kept or output.count()):
            channel, payload = event.packet.channel, event.packet.payload
            size = len(payload)
            if size not in self._packets:
                output.message.payload = array('B', payload)
                self._packets[size] = Template(
                    output.message, 'header.stamp', 'channel', *(('payload',) if size else ()))
            output.publisher.publish(self._packets[size].filled(
                *divmod(stamp_ns, SECOND_NS), channel, *payload))

    def _publish_meaning(
        self, name: str, message: SimpitMessage, joined: Mapping[str, SimpitMessage], stamp_ns: int
    ) -> None:
        """Publish a message, together with others of ``joined`` that belong to it."""
        if isinstance(message, simpit.SceneChange):
            self.tell_flight(message.scene == 0)
            return
        if isinstance(message, simpit.Attitude):
            for fault in attitude_fault((message.heading, message.pitch, message.roll)):
                self.plausibility.withhold(*fault)
        for topic in topics_of(type(message), name):
            self._publish_alone(topic, message, stamp_ns)
        topic_of_all = JOINED.get(type(message))
        if topic_of_all is None or topic_of_all.name not in self._outputs:
            return
        output = self._outputs[topic_of_all.name]
        out = output.message
        if isinstance(message, simpit.Airspeed):
            self._fill_air(out, message, joined.get('atmosphere'))
            if self._air_topics is not None:
                self._air_topics.publish(Air(
                    static_pressure=_known(out.static_pressure),
                    temperature=_known(out.temperature)), stamp_ns)
        else:
            mask = CONTROLS_MASK if topic_of_all is READ_BACK else AXES_MASK
            mask.fill(out, _axes_in_force(joined))
            self._said.add(topic_of_all.name)
        self._send(output, stamp_ns)

    def _publish_alone(self, topic: MessageTopic, message: SimpitMessage, stamp_ns: int) -> None:
        output = self._outputs.get(topic.name)
        if output is None or not (output.is_kept or output.count()):
            return
        if output.template is not None and output.values is not None:
            output.publisher.publish(output.template.filled(
                *divmod(stamp_ns, SECOND_NS), *output.values(message)))
            return
        try:
            topic.fill(message, output.message)
        except ValueError:
            return
        self._said.add(topic.name)
        self._send(output, stamp_ns)

    def _fill_air(self, out: Any, message: simpit.Airspeed, air: SimpitMessage | None) -> None:
        out.indicated_airspeed = self.plausibility.air('indicated_airspeed', message.ias_mps)
        out.true_airspeed = out.angle_of_attack = out.sideslip = out.dynamic_pressure = math.nan
        # There are no axes of a wind that is never known.
        out.header.frame_id = ''
        out.wind.x = out.wind.y = out.wind.z = math.nan
        out.static_pressure = out.temperature = out.density = math.nan
        if not isinstance(air, simpit.Atmosphere) or (
                simpit.AtmosphereFlags.HAS_ATMOSPHERE not in simpit.AtmosphereFlags(air.flags)):
            # Unknown or none at all, as at the Mun, and not impossible.
            return
        for name, value in zip(
                ('static_pressure', 'temperature', 'density'), conversions.air(air), strict=True):
            setattr(out, name, self.plausibility.air(name, value))

    def _make(self, topic: MessageTopic) -> None:
        """Create the publisher of a topic and its message, if there is none."""
        if topic.name in self._outputs:
            return
        publisher = self._node.make_publisher(topic.kind, topic.name, topic.qos)
        message = topic.kind()
        has_header = hasattr(message, 'header')
        template = values = None
        if has_header:
            message.header.frame_id = self._frame
            if isinstance(topic.fill, Copied):
                copied = topic.fill.in_order_of(message)
                template = Template(message, 'header.stamp', *copied.sources)
                values = copied.values
        self._outputs[topic.name] = _MadeTopic(
            publisher, message, has_header, subscription_count(publisher),
            publisher.qos_profile.durability != DurabilityPolicy.VOLATILE, template, values)

    def _send(self, output: _MadeTopic, stamp_ns: int) -> None:
        if output.has_header:
            write_stamp(output.message, stamp_ns)
        output.publisher.publish(output.message)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _axes_in_force(messages: Mapping[str, SimpitMessage]) -> dict[str, float]:
    return {
        name: conversions.axis_from_wire(getattr(message, source))
        for channel, message in messages.items()
        for name, source in IN_FORCE.get(channel, {}).items()}
