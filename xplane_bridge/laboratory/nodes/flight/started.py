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

"""A controller's process, and what it must have subscribed to or publish before it is flown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
import math
import time

from rclpy.node import Node, NodeNameNonExistentError

from xplane_bridge.bridges.nodes.vehicle.controls import EXPERIMENT
from xplane_bridge.common.machine import MachineError
from xplane_bridge.common.processes.supervised import Supervised
from xplane_bridge.common.text import printable
from xplane_bridge.laboratory.flights.analysis.quantities import ORDERED
from xplane_bridge.laboratory.flights.script import ExperimentError
from xplane_bridge.laboratory.nodes.flight import recorders
from xplane_bridge.laboratory.nodes.flight.vehicle import is_used_by_another

COMMAND = 'command/controls'
START_TIMEOUT = 60.0
"""Seconds that a controller may take until it is ready to fly."""
# What every node has.
_OF_EVERY_NODE = ('/rosout', '/parameter_events', '/clock')
# After these a user is told what is waited for (s).
_TOLD_AFTER = 5.0
_TICK = 0.05
_SHOWN_LINES = 10
_LONGEST_LINE = 300


@dataclass(frozen=True, slots=True)
class Ends:
    """The topics that a controller's nodes subscribe to and publish, by full names."""

    subscribed: frozenset[str] = frozenset()
    published: frozenset[str] = frozenset()


class NotReadyError(MachineError):
    """A controller without what it needs to be flown; ``ends`` is None if it has no node."""

    def __init__(self, text: str, ends: Ends | None) -> None:
        super().__init__(text)
        self.ends = ends


@dataclass
class Started:
    """A controller: its name, its process unless it runs elsewhere, and the file of its log."""

    name: str
    process: Supervised | None = None
    log: str = ''
    _code: int | None = field(default=None, init=False)

    @property
    def code(self) -> int | None:
        """Return the exit code if its process has ended, negative for a signal."""
        if self._code is None and self.process is not None:
            self._code = self.process.poll()
        return self._code

    def last_lines(self, most: int = _SHOWN_LINES) -> list[str]:
        """Return the end of its log."""
        if not self.log:
            return []
        with open(self.log, encoding='utf-8', errors='replace') as log:
            return [printable(line.rstrip(), _LONGEST_LINE) for line in log.readlines()[-most:]]

    def freeze(self, on: bool) -> None:
        """Stop all of its processes, or resume them."""
        if self.process is not None:
            self.process.freeze(on)


def wait_for(
    controller: Started, node: Node, namespace: str, targets: bool, say: Callable[[str], None],
    patience: float = math.inf,
) -> None:
    """
    Wait until the controller can be flown; for ever, if it is started elsewhere.

    It subscribes to its target, or without ``targets`` publishes commands. Raises ExperimentError
    if it ends instead, NotReadyError if it does neither in time, or within ``patience`` (s) of its
    node's appearance.
    """
    topic = f'{namespace}/{ORDERED if targets else COMMAND}'
    users = node.get_subscriptions_info_by_topic if targets else node.get_publishers_info_by_topic
    deadline = math.inf
    if controller.process is None:
        say(f'waiting for a controller that {"subscribes to" if targets else "publishes"} {topic}')
    else:
        deadline = time.monotonic() + START_TIMEOUT
    told_at = time.monotonic() + _TOLD_AFTER
    while not is_used_by_another(users(topic)):
        if controller.code is not None:
            raise ExperimentError('\n    '.join([
                f'the controller has ended with code {controller.code}; the end of its log:',
                *(controller.last_lines() or ['(empty)'])]))
        now = time.monotonic()
        if patience < math.inf and _nodes(node, namespace):
            deadline, patience = min(deadline, now + patience), math.inf
            told_at = math.inf
        if now > min(told_at, deadline):
            ends = ends_in(node, namespace)
            text = _lacking(topic, targets, ends)
            if now > deadline:
                raise NotReadyError(text, ends)
            say(text if deadline == math.inf
                else f'{text}; waiting up to {START_TIMEOUT:g} s for it')
            told_at = math.inf
        time.sleep(_TICK)


def ends_in(node: Node, namespace: str) -> Ends | None:
    """Return what the nodes in a namespace subscribe to and publish; None if there are none."""
    nodes = _nodes(node, namespace)
    if not nodes:
        return None
    found: tuple[set[str], set[str]] = (set(), set())
    for name, space in nodes:
        # It may just have gone.
        with suppress(NodeNameNonExistentError):
            for ends, topics in zip(found, (
                    node.get_subscriber_names_and_types_by_node(name, space),
                    node.get_publisher_names_and_types_by_node(name, space)), strict=True):
                ends |= {topic for topic, _ in topics if topic not in _OF_EVERY_NODE}
    return Ends(*map(frozenset, found))


def _nodes(node: Node, namespace: str) -> list[tuple[str, str]]:
    """Return the nodes in a namespace, but for those of an experiment."""
    return [(name, space) for name, space in node.get_node_names_and_namespaces()
            if f'{space}/'.startswith(f'{namespace}/')
            and name not in (EXPERIMENT, *recorders.NODES) and not name.startswith('_')]


def _lacking(topic: str, targets: bool, ends: Ends | None) -> str:
    if ends is None:
        return (f'nothing of the controller is where {topic} is: its namespace is in the ROS '
                'arguments at the end of its command line')
    text = (f'the controller does not {"subscribe to" if targets else "publish"} {topic}; it '
            f'subscribes to {_shown(ends.subscribed)}, and publishes {_shown(ends.published)}; '
            'use relative names')
    return text + ('; one that has its own goals is flown with --no-target'
                   if targets else '')


def _shown(topics: Iterable[str]) -> str:
    return ', '.join(sorted(topics)) or 'nothing'
