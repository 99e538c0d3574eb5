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

"""A map in ulyssix_node: values in SI, derived parameters, alarms, and the common topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
import os
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge import msg
from xplane_bridge.bridges.conversions.plausibility import Plausibility
from xplane_bridge.bridges.conversions.topics import AIR_TOPICS
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.diagnostics import ERROR, OK, STALE, Status, WARN
from xplane_bridge.bridges.nodes.vehicle.publisher import make_undulation, VehiclePublisher
from xplane_bridge.bridges.ulyssix.conversion import (
    AppliedMap,
    Derived,
    load,
    PacketSamples,
    ParameterMap,
)
from xplane_bridge.bridges.ulyssix.conversion.alarms import listed
from xplane_bridge.bridges.ulyssix.conversion.vehicle import fed_topics, states
from xplane_bridge.bridges.ulyssix.node.parameters import UlyssixParameters
from xplane_bridge.bridges.ulyssix.node.samples import DEPTH, SampleTopic
from xplane_bridge.bridges.ulyssix.session import PacketReceived, Placed
from xplane_bridge.common.text import counted

_LEVELS = (OK, WARN, ERROR, STALE)


class MappedTopics:
    """
    Publish what a map makes of packets.

    ``take`` runs in the link's thread, ``diagnose`` in the executor.
    """

    def __init__(self, node: BridgeNode[Any], given: UlyssixParameters) -> None:
        self.map = read_map(given.map)
        self._node = node
        self._announced = ''
        self._name = os.path.basename(given.map)
        self._applied = AppliedMap(self.map)
        self._lock = threading.Lock()
        self._names: tuple[str, ...] | None = None
        # How each parameter is converted, for diagnostics.
        self._lines: list[tuple[str, str]] = []
        self._without_times = False
        self.derived = tuple(one.pattern for one in self.map.derived)
        self._samples = {
            name: SampleTopic(node.make_publisher(msg.UlyssixSamples, f'samples/{name}', DEPTH),
                              name)
            for name in self.derived}
        self._vehicle: VehiclePublisher | None = None
        topics = fed_topics(self.map.quantities)
        if topics:
            self._undulation = make_undulation(given)
            node.get_logger().info(self._undulation.description)
            self._vehicle = VehiclePublisher(
                node, given, undulation=self._undulation,
                topics=(*topics, *(('datum',) if 'odom' in topics else ()),
                        *(topic for topic in AIR_TOPICS if topic in self.map.quantities)))
        # Transforms are published with these, whether or not somebody subscribes to them.
        self._always = {topic for topic, transform in (
            ('odom', given.publish_tf), ('imu/data', given.publish_enu_tf))
            if transform and topic in topics}

    @property
    def plausibility(self) -> Plausibility | None:
        """Return the gate for impossible values, if there are common topics."""
        return self._vehicle.plausibility if self._vehicle else None

    # In the link's thread.

    def to_si(self, number: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of a parameter of the last packet's names."""
        return self._applied.to_si(number, values)

    def follow(self, names: tuple[str, ...]) -> None:
        """Apply the map to parameters of these names, if they have changed."""
        if names is self._names:
            return
        if names != self._names:
            with self._lock:
                self._applied.follow(names)
                self._lines = [
                    (name, f'{entry.quantity or "-"}, {_unit(entry.symbol)} to '
                     f'{_unit(entry.unit.si)}')
                    for name, entry in zip(names, self._applied.entries, strict=True) if entry]
        self._names = names

    def settle(self) -> None:
        """Compare the packets that are kept with the limits."""
        with self._lock:
            self._applied.alarms.settle()

    def restart(self) -> None:
        """Forget the samples before a restart of the publisher."""
        self._applied.restart()

    def take(
        self, event: PacketReceived, placed: Placed, shift_ns: int, decimation: int
    ) -> Sequence[Derived]:
        """Check the limits, publish what this packet completes; return the derived samples."""
        packet, times = event.packet, placed.times
        self._without_times = times is None
        if times is None:
            times = np.full(len(packet.values), placed.first_ns)
        with self._lock:
            derived, quantities = self._applied.take(
                PacketSamples(packet.counts, packet.values, times), self._wanted(),
                time.monotonic())
        for one in derived:
            self._samples[one.name].publish(one.values, one.times, decimation, shift_ns)
        if self._vehicle is not None:
            for found in quantities:
                topics = ('odom', 'datum') if found.topic == 'odom' else (found.topic,)
                for time_ns, state in states(found.times, found.values, self._undulation):
                    self._vehicle.publish(state, max(time_ns + shift_ns, 1), topics)
        return derived

    def _wanted(self) -> set[str]:
        """Return the common topics that somebody wants."""
        if self._vehicle is None:
            return set()
        wanted = self._vehicle.subscribed() | self._always
        return wanted | ({'odom'} if 'datum' in wanted else set()) | (
            set() if wanted.isdisjoint(AIR_TOPICS) else {'air_data'})

    # In the executor.

    def diagnose(self, is_silent: bool) -> Iterator[Status]:
        """Yield the status of the map, and of each group; ``is_silent``: nobody sends now."""
        with self._lock:
            applied = self._applied
            groups = list(applied.alarms.report(time.monotonic(), is_silent))
            lines = self._lines
            unsent, chosen = applied.advice(), dict(applied.chosen)
            delays = applied.delays()
        level, text = OK, f'{len(lines)} of {len(applied.names)} parameters are in {self._name}'
        if self._names is None:
            text = 'no packet yet'
        elif not self._names:
            level, text = WARN, (
                'packets have no names, so the map applies to nothing: switch them on in the '
                'publisher, or set the parameter parameter_names')
        elif unsent:
            level, text = WARN, f'in {self._name}, but not sent: {listed(unsent)}'
            if text != self._announced:
                self._node.warn('map', text)
            self._announced = text
        elif self._without_times and self._vehicle is not None:
            level, text = WARN, (
                'packets have no sample times, so each parameter counts once per packet: switch '
                'on time tags in the publisher, or set the parameter sample_rates')
        yield Status('map', level, text, (
            *((f'{quantity} from', name) for quantity, name in chosen.items()),
            *((f'{name} waits for its slowest parameter, s', f'{delay:.3f}')
              for name, delay in delays.items()),
            *lines, *((name, 'not sent') for name in unsent)))
        for group in groups:
            yield Status(f'limits {group.name}', _LEVELS[group.level], group.sentence, (
                ('out of limits now', str(len(group.now))),
                ('silent', str(len(group.silent))),
                ('not watched', str(len(group.absent))),
                ('out of limits since the start', str(len(group.ever))),
                *((f'{name}, latched', f'{counted(alarm.samples, "sample")}, '
                   f'{counted(alarm.times, "time")}, the last '
                   f'{alarm.latest:g} {alarm.entry.symbol}'.rstrip())
                  for name, alarm in group.ever.items())))


def read_map(path: str) -> ParameterMap:
    """Return a map; ValueError says why it cannot be used."""
    try:
        return load(os.path.expanduser(path))
    except (ValueError, ImportError) as error:
        raise ValueError(f'parameter map: {error}') from None


def converter(mapped: MappedTopics | None) -> Callable[[int, Any], Any]:
    """Return what converts a parameter's values for its topic: to SI, or not at all."""
    return (lambda _, values: values) if mapped is None else mapped.to_si


def _unit(symbol: str) -> str:
    return symbol or '1'
