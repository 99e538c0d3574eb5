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

"""What the simulated aircraft's own state has beside the common topics, as a topic."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from xplane_bridge.bridges.conversions.geoid import msl_to_ellipsoid
from xplane_bridge.bridges.conversions.topics import AIRFRAME_TOPIC
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.diagnostics import ERROR, OK, WARN
from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.bridges.nodes.common.stamps import write_stamp
from xplane_bridge.bridges.nodes.vehicle.crash import EXCEEDANCES, to_status, TOPIC
from xplane_bridge.bridges.nodes.vehicle.publisher import make_undulation, TopicParameters
from xplane_bridge.common.quantities import AIRFRAME, fields_of, OF_ENGINES
from xplane_bridge.common.units import STANDARD_GRAVITY
from xplane_bridge.msg import Airframe as Message
from xplane_bridge.simulation.aircraft.loading.parameter_file import airframe_limits
from xplane_bridge.simulation.aircraft.sample import AIRFRAME_STATE, SURROUNDINGS
from xplane_bridge.simulation.node.parameters import SimulatorParameters
from xplane_bridge.simulation.peers.airframes import AirframeNews
from xplane_bridge.simulation.peers.world import World


class AirframeEventTopics:
    """Publishes ``crash`` and ``exceedances`` of each aircraft when they change; latched."""

    def __init__(self, node: BridgeNode[Any], names: Sequence[str]) -> None:
        self._crash, self._exceedances = ([
            node.make_publisher(kind, f'{name}/{topic}' if name else topic, LATCHED)
            for name in names] for kind, topic in (
                (DiagnosticStatus, TOPIC), (DiagnosticArray, EXCEEDANCES)))
        self._news, self._watches = AirframeNews(), False

    def publish(self, world: World) -> None:
        """Publish what has changed; at first, that nothing is exceeded yet."""
        if not self._watches:
            self._watches = True
            for publisher in self._exceedances:
                publisher.publish(DiagnosticArray())
        for number, crash in self._news.crashes(world):
            if number < len(self._crash):
                self._crash[number].publish(to_status(crash))
        for number, worst in self._news.exceedances(world):
            if number < len(self._exceedances):
                self._exceedances[number].publish(
                    DiagnosticArray(status=[to_status(event) for event in worst]))


class AirframeTopic:
    """
    Publishes ``airframe`` for each new state of the first aircraft, stamped with its time.

    Only while somebody subscribes. ``names`` are those of all aircraft, whose events it tells.
    """

    def __init__(
        self, node: BridgeNode[Any], given: TopicParameters, names: Sequence[str],
    ) -> None:
        self._events = AirframeEventTopics(node, names)
        self._publisher = node.make_publisher(Message, AIRFRAME_TOPIC, 10)
        self._undulation = make_undulation(given)
        self._message = Message()
        self._message.header.frame_id = given.frame_prefix + given.base_frame
        self._fields = [(one, *_place(self._message, one.field))
                        for one in fields_of(AIRFRAME) if one.state]
        self._told_at = -1.0

    def publish(self, world: World) -> None:
        """Publish the state, unless no time has passed; and what has happened to whom."""
        self._events.publish(world)
        now = world.total_running_time
        if now == self._told_at or not self._publisher.get_subscription_count():
            return
        self._told_at = now
        sampler, message = world.aircraft.sampler, self._message
        found = sampler.airframe()
        plain, engines = dict(zip(AIRFRAME_STATE, found, strict=False)), found[
            len(AIRFRAME_STATE):]
        plain |= zip(SURROUNDINGS, sampler.surroundings(), strict=True)
        latitude, longitude = sampler.sample()[:2]
        write_stamp(message, round(now * 1e9))
        for one, part, name in self._fields:
            setattr(part, name, one.sign * plain[one.state])
        message.load_factor = -(plain['force_z'] / plain['mass']) / STANDARD_GRAVITY
        message.ground_elevation = msl_to_ellipsoid(
            plain['terrain_msl'], self._undulation.height_m(latitude, longitude))
        for number, of in enumerate(OF_ENGINES):
            setattr(message, of.field, array('d', engines[number::len(OF_ENGINES)]))
        self._publisher.publish(message)


def _place(message: Any, path: str) -> tuple[Any, str]:
    """Return the part of a message that has a field, and the field's name there."""
    part, _, name = path.rpartition('.')
    return attrgetter(part)(message) if part else message, name


def take_limits(world: World, given: SimulatorParameters) -> None:
    """Give its aircraft the limits that are in files of gains. Raises ValueError."""
    for number, aircraft in enumerate(world.flown):
        aircraft.bear(airframe_limits(
            aircraft.model, given.aircraft_path, '' if number else given.gains))


def with_airframes(
    level: bytes, sentence: str, world: World, names: Sequence[str]
) -> tuple[bytes, str]:
    """Return level and sentence of a simulation, with what has happened to its airframes."""
    crashed: list[str] = []
    exceeded: list[str] = []
    for aircraft, name in zip(world.flown, names, strict=False):
        who = f'{name}: ' if name else ''
        if aircraft.crash is not None:
            crashed.append(f'{who}{aircraft.crash.outcome}')
        exceeded += [f'{who}{event.outcome}' for event in aircraft.exceedances.values()]
    if crashed and level != ERROR:
        return ERROR, '; '.join(crashed)
    if exceeded and level == OK:
        return WARN, '; '.join((sentence, *exceeded))
    return level, sentence
