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
from dataclasses import replace
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus

from xplane_bridge.aircraft.airframe.events import AirframeEvent
from xplane_bridge.aircraft.sample import Airframe, ENGINE
from xplane_bridge.common.units import STANDARD_GRAVITY
from xplane_bridge.conversions.geoid import msl_to_ellipsoid
from xplane_bridge.flights.analysis.quantities import AIRFRAME_TOPIC
from xplane_bridge.msg import Airframe as Message
from xplane_bridge.nodes.common.base import BridgeNode
from xplane_bridge.nodes.common.latched import LATCHED
from xplane_bridge.nodes.common.stamps import write_stamp
from xplane_bridge.nodes.vehicle.crash import status_of, TOPIC
from xplane_bridge.nodes.vehicle.publisher import make_undulation, TopicParameters
from xplane_bridge.simulators.world import World


class CrashTopics:
    """Publishes ``crash`` of each aircraft when it crashes, and when it flies again; latched."""

    def __init__(self, node: BridgeNode[Any], names: Sequence[str]) -> None:
        self._publishers = [
            node.make_publisher(DiagnosticStatus, f'{name}/{TOPIC}' if name else TOPIC, LATCHED)
            for name in names]
        self._told: list[AirframeEvent | None] = [None] * len(names)

    def publish(self, world: World) -> None:
        """Publish what has changed."""
        for number, aircraft in enumerate(world.flown[:len(self._told)]):
            crash = aircraft.crash
            if crash is self._told[number]:
                continue
            self._told[number] = crash
            # The simulator's time goes on where a flight is begun anew.
            self._publishers[number].publish(status_of(None if crash is None else replace(
                crash, at=world.total_running_time - aircraft.time + crash.at)))


class AirframeTopic:
    """
    Publishes ``airframe`` for each new state of the first aircraft, stamped with its time.

    Only while somebody subscribes. ``names`` are those of all aircraft, whose crashes it tells.
    """

    def __init__(
        self, node: BridgeNode[Any], given: TopicParameters, names: Sequence[str],
    ) -> None:
        self._crashes = CrashTopics(node, names)
        self._publisher = node.make_publisher(Message, AIRFRAME_TOPIC, 10)
        self._undulation = make_undulation(given)
        self._message = Message()
        self._message.header.frame_id = given.frame_prefix + given.base_frame
        self._told_at = -1.0

    def publish(self, world: World) -> None:
        """Publish the state, unless no time has passed; and who has crashed."""
        self._crashes.publish(world)
        now = world.total_running_time
        if now == self._told_at or not self._publisher.get_subscription_count():
            return
        self._told_at = now
        sampler, message = world.aircraft.sampler, self._message
        found = sampler.airframe()
        plain, engines = Airframe._make(found[:len(Airframe._fields)]), found[
            len(Airframe._fields):]
        *_, mass, _, _, force_z = sampler.surroundings()[:8]
        latitude, longitude = sampler.sample()[:2]
        write_stamp(message, round(now * 1e9))
        for name in Airframe._fields[:6]:
            setattr(message, name, getattr(plain, name))
        message.load_factor = -(force_z / mass) / STANDARD_GRAVITY
        turning, gusts = message.angular_acceleration, message.turbulence
        turning.x, turning.y, turning.z = plain.p_dot, -plain.q_dot, -plain.r_dot
        gusts.x, gusts.y, gusts.z = (
            plain.turbulence_east, plain.turbulence_north, -plain.turbulence_down)
        message.mass, message.fuel = mass, plain.fuel
        message.ground_elevation = msl_to_ellipsoid(
            plain.terrain_msl, self._undulation.height_m(latitude, longitude))
        message.height_above_ground = plain.altitude_agl
        for number, name in enumerate(ENGINE):
            setattr(message, name, array('d', engines[number::len(ENGINE)]))
        self._publisher.publish(message)
