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

"""
That nobody else flies where a flight does: looked for before it starts anything, and later.

On this machine claims (bridges/links/claim.py) tell it at once. Others are found by their
publishers, and discovery has no end that could be awaited: one that is found late is told by the
checks after the start, before anything is commanded, and during the flight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
import time

from rclpy.node import Node

from xplane_bridge.bridges.links.claim import ADVICE, domain
from xplane_bridge.bridges.nodes.vehicle.controls import EXPERIMENT
from xplane_bridge.common.machine import MachineError
from xplane_bridge.laboratory.flights.analysis.quantities import ORDERED

CLOCK = '/clock'
FLYING = (EXPERIMENT, 'autopilot_node', 'policy_node')
"""The nodes of a flight that command, each once."""

# Of 40 new nodes 39 had found the publishers of another experiment so long after they were made
# (s), while 15 to 20 other processes ran on two cores; the slowest took 0.41 s. Those of a node
# with Fast DDS's own profile (simulation.py) were found up to 4 s later.
FOUND_WITHIN = 0.3
_TICK = 0.01
_UNKNOWN = '_NODE_NAME_UNKNOWN_'
_TELEMETRY = 'imu/data'
# Of routes and paths each message is flown once, and diagnostics say which; these go on.
_COMMANDS = ('command/controls', ORDERED, 'command/attitude', 'command/rates')


def check_free(
    node: Node, namespaces: Collection[str], commanded: bool = False, within: float = FOUND_WITHIN
) -> None:
    """
    Check that no other flies vehicles, by their namespaces, where ``node`` was just made.

    Takes ``within`` (s) if there is none; 0 for a namespace that nobody else has chosen. With
    ``commanded`` their controller is there already. Raises MachineError.
    """
    topics = [f'{namespace}/{name}' for namespace in namespaces
              for name in (_TELEMETRY, *(() if commanded else _COMMANDS))]
    if node.get_parameter('use_sim_time').value:
        topics.append(CLOCK)
    deadline = time.monotonic() + within
    while True:
        is_late = time.monotonic() >= deadline
        for topic in topics:
            names = _publishers(node, topic) if node.count_publishers(topic) else ()
            if names and (is_late or _UNKNOWN not in names):
                raise _error(topic, names, 'nobody before this flight')
        own = node.get_name(), node.get_namespace()
        if node.get_node_names_and_namespaces().count(own) > 1:
            raise MachineError(
                f'there is another {own[1]}/{own[0]} in ROS domain {domain()}: {ADVICE}')
        if is_late:
            return
        time.sleep(_TICK)


class Alone:
    """
    Whether only the nodes of a flight publish what they alone should, of one vehicle.

    ``commands`` are topics, and ``own`` the names of the nodes that may publish them, each once.
    ``external`` ones may be beside those, as a controller's: which of them is flown nobody knows.
    """

    def __init__(
        self, node: Node, namespace: str, commands: Collection[str], own: Sequence[str],
        external: bool,
    ) -> None:
        self._node = node
        self._own, self._external = own, external
        self._commands = {*commands, *(f'{namespace}/{name}' for name in _COMMANDS)}
        self._single = [f'{namespace}/{_TELEMETRY}']
        if node.get_parameter('use_sim_time').value:
            self._single.append(CLOCK)
        # How many publishers of each were found to be of the flight.
        self._known: dict[str, int] = {}

    def check(self) -> None:
        """Raise MachineError if not; it is cheap, so it is asked again and again."""
        for topic in self._single:
            if self._node.count_publishers(topic) > 1 and len(
                    names := _publishers(self._node, topic)) > 1:
                raise _error(topic, names, 'one')
        for topic in self._commands:
            count = self._node.count_publishers(topic)
            if count != self._known.get(topic, 0):
                names = _publishers(self._node, topic)
                if self._has_stranger(names):
                    raise _error(topic, names, f'only {" and ".join(self._own)}')
                if _UNKNOWN not in names:
                    self._known[topic] = count

    def _has_stranger(self, names: Sequence[str]) -> bool:
        """Return whether nodes publish that are none of the flight's, or one of them twice."""
        found = Counter(_short(names))
        # Their names come later than their publishers.
        unknown = found.pop(_UNKNOWN, 0)
        if self._external:
            return any(found[name] > 1 for name in self._own)
        beyond = found - Counter(self._own)
        return bool(beyond) or found.total() + unknown > len(self._own)


def _publishers(node: Node, topic: str) -> list[str]:
    """Return the full names of the nodes that publish a topic, one for each publisher."""
    return sorted(
        _UNKNOWN if one.node_name == _UNKNOWN
        else f'{one.node_namespace.rstrip("/")}/{one.node_name}'
        for one in node.get_publishers_info_by_topic(topic))


def _short(names: Sequence[str]) -> list[str]:
    return [name.rpartition('/')[2] for name in names]


def _error(topic: str, names: Sequence[str], expected: str) -> MachineError:
    shown = ', '.join(names).replace(_UNKNOWN, 'a node whose name is not known yet')
    return MachineError(
        f'{topic} in ROS domain {domain()} is published by {shown}, expected {expected}: {ADVICE}')
