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

"""policy_node: fly a vehicle by a policy, a Python callable or an ONNX file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
import math
import time
from typing import Any

from nav_msgs.msg import Odometry
import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu, NavSatFix

from xplane_bridge.bridges.conversions.masks import Mask
from xplane_bridge.bridges.conversions.message_numbers import NUMBERS
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.diagnostics import OK, STALE, Status, WARN
from xplane_bridge.bridges.nodes.common.running import run
from xplane_bridge.bridges.nodes.common.stamps import write_stamp
from xplane_bridge.bridges.nodes.common.waiting import StampedCommands
from xplane_bridge.bridges.nodes.vehicle.namespaces import make_vehicle_nodes, VehicleNode
from xplane_bridge.bridges.nodes.vehicle.updates import nanoseconds
from xplane_bridge.common.timing import ROUNDED_TIME
from xplane_bridge.laboratory.control.policy.action import ATTITUDE, CONTROLS, TARGET
from xplane_bridge.laboratory.control.policy.load import load
from xplane_bridge.laboratory.control.policy.observation import SIZE, SLICES, TOPICS, Vector
from xplane_bridge.laboratory.control.policy.traffic import PERIOD, TrafficReport, with_traffic
from xplane_bridge.laboratory.control.targets import Target, with_changes
from xplane_bridge.laboratory.nodes.messages.newest import NewestState, STATE
from xplane_bridge.laboratory.nodes.messages.targets import read_changes, TARGET_MASK
from xplane_bridge.laboratory.nodes.policy.parameters import PolicyParameters
from xplane_bridge.msg import (
    AirData,
    AttitudeCommand,
    AutopilotTarget,
    FlightControls,
    Traffic,
)

# What policy_node receives of the vehicle: an observation, from its common topics.

_KINDS = {'fix': NavSatFix, 'air_data': AirData, 'odom': Odometry, STATE: Imu}
_DEPTH = 10
# What is older than this is not used; the bridge's watchdog then acts.
_OLDEST = 0.5
TRAFFIC_TOPIC = 'traffic'
# Behind sensors: a receiver of 1 Hz may lose one.
_OLDEST_SENSED = 2.5


class NewestObservation:
    """
    The newest state of the vehicle, as an observation (control.observation.FIELDS).

    ``heard(stamp)`` is called for each imu/data; in lockstep when all messages of that stamp
    (nanoseconds) have arrived. ``used`` are the topics without which there is no action.
    """

    def __init__(
        self, node: BridgeNode[Any], lockstep: bool, sensors: bool, used: Collection[str],
        heard: Callable[[int], None],
    ) -> None:
        self.observation: Vector = np.zeros(SIZE)
        self._heard = heard
        self._used = [topic for topic in _KINDS if topic in used or topic == STATE]
        self._at = dict.fromkeys(_KINDS, -math.inf)
        # In lockstep nothing is late by the clock: the simulation waits.
        self._oldest = 3600.0 if lockstep else _OLDEST_SENSED if sensors else _OLDEST
        awaited = (STATE,) if sensors else tuple(_KINDS)
        self._newest = NewestState(
            partial(node.make_command, depth=_DEPTH, raw=True),
            {topic: (kind, partial(self._take, topic)) for topic, kind in _KINDS.items()},
            awaited if lockstep else ())

    @property
    def missing(self) -> list[str]:
        """Return which of the topics that are used have fallen silent."""
        since = time.monotonic() - self._oldest
        return [topic for topic in self._used if self._at[topic] < since]

    @property
    def waits_for(self) -> list[str]:
        """Return what the newest update still lacks, in lockstep."""
        return self._newest.waits_for

    def _take(self, topic: str, data: bytes, stamp: int) -> None:
        message = deserialize_message(data, _KINDS[topic])
        self.observation[SLICES[topic]] = NUMBERS[topic](message)
        self._at[topic] = time.monotonic()
        if topic == STATE:
            self._heard(stamp)


class NewestTraffic:
    """
    The newest reports of other aircraft, for a policy that sees traffic.

    ``heard()`` is called for each message. In lockstep the one that is due at a stamp is waited
    for, from the first one on: so equal flights are told equal things.
    """

    def __init__(self, node: BridgeNode[Any], lockstep: bool, heard: Callable[[], None]) -> None:
        self.reports: list[TrafficReport] = []
        self._heard = heard
        self._lockstep = lockstep
        self._due, self._at = math.inf, -math.inf
        node.make_command(Traffic, TRAFFIC_TOPIC, self._take, _DEPTH)

    def is_missing(self) -> bool:
        """Return whether it has fallen silent, in real time."""
        return not self._lockstep and self._at < time.monotonic() - _OLDEST

    def waits_at(self, stamp: float) -> bool:
        """Return whether a report is due at a stamp (s), and has not come."""
        return self._lockstep and stamp > self._due - ROUNDED_TIME

    def _take(self, message: Traffic) -> None:
        now = nanoseconds(message) * 1e-9
        self._due, self._at = now + PERIOD, time.monotonic()
        self.reports = [TrafficReport(
            (one.latitude, one.longitude, one.altitude),
            (one.velocity.x, one.velocity.y, one.velocity.z), now - one.age)
            for one in message.targets]
        self._heard()


AUTOPILOT_TARGET = 'policy/command/target'
"""Where autopilot_node receives what a policy, which itself holds command/target, targets."""
_COMMANDS = {
    CONTROLS.level: (FlightControls, 'command/controls'),
    ATTITUDE.level: (AttitudeCommand, 'command/attitude'),
    TARGET.level: (AutopilotTarget, AUTOPILOT_TARGET),
}


class PolicyNode(VehicleNode[PolicyParameters]):
    """
    Ask a policy for an action for each imu/data, once a target has engaged it.

    It keeps the contract of docs/reference/controllers.md. What a policy of a higher level
    commands goes to autopilot_node. An action that is none is counted, and nothing is commanded.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('policy_node', PolicyParameters, **options)

    def check(self, given: PolicyParameters) -> None:
        """Refuse to start without a policy."""
        super().check(given)
        if not given.policy:
            raise ValueError(
                'parameter policy: expected the name of a policy of this package, a file.onnx, '
                'a package.module:attribute or a file.py:attribute')

    def open(self) -> None:
        """Load the policy, create topics."""
        given = self.parameters
        self._policy = policy = load(given.policy)
        self._engaged = False
        self._target = Target()
        self._waiting = StampedCommands()
        # The stamps of the newest state, and of the one last answered.
        self._now: int | None = None
        self._answered: int | None = None
        self._actions = self._refused_actions = 0
        self._refusal = ''
        self._inference = self._longest = 0.0
        kind, topic = _COMMANDS[policy.action.level]
        # Not of yaw_damper, which is no number.
        self._mask = Mask(kind, {name.upper(): (name,) for name in policy.action.names})
        self._command = kind()
        self._publisher = self.make_publisher(kind, topic, 1)
        self._release_publisher = None if policy.action is CONTROLS else (
            self._publisher if policy.action is TARGET
            else self.make_publisher(AutopilotTarget, AUTOPILOT_TARGET, 1))
        # Before telemetry: what was heard together is handled in the order of creation.
        self.make_command(AutopilotTarget, 'command/target', self._on_target, 10, latched=True)
        used = {topic for topic in TOPICS if any(
            name.startswith(f'{topic}.') for name in policy.fields)}
        self._traffic = NewestTraffic(
            self, given.lockstep, self._on_traffic) if policy.sees_traffic else None
        self._telemetry = NewestObservation(
            self, given.lockstep, given.behind_sensors, used, self._on_state)
        self.get_logger().info(
            f'flying {policy.name} (sha256 {policy.digest[:12]}), which commands {topic}')

    def begin(self) -> None:
        """Wait for a target."""

    def end(self) -> None:
        """Stop commanding."""
        self._release()
        self._waiting.clear()

    def close(self) -> None:
        """Do nothing: only topics were opened."""

    # What is to be held.

    def _on_target(self, message: AutopilotTarget) -> None:
        changes = read_changes(message)
        self._waiting.add(
            nanoseconds(message), 'command/target',
            self._release if changes is None else partial(self._hold, changes), self._now)
        # The simulation waits at that state.
        if self.parameters.lockstep and self._now is not None:
            self._on_state(self._now)

    def _hold(self, changes: dict[str, float]) -> None:
        if not self._engaged:
            self._engaged, self._target = True, Target()
            self._policy.reset()
            self.get_logger().info('engaged')
        target = self._target = with_changes(self._target, changes)
        message = AutopilotTarget()
        TARGET_MASK.fill(message, target.fields())
        self._telemetry.observation[SLICES['target']] = NUMBERS['target'](message)

    def _release(self) -> None:
        if not self._engaged:
            return
        self._engaged = False
        if self._release_publisher is not None:
            self._release_publisher.publish(AutopilotTarget(fields=AutopilotTarget.RELEASE))
        self.get_logger().info('released')

    # The answer to a state.

    def _on_state(self, stamp: int) -> None:
        self._now = stamp
        for topic, do in self._waiting.due(stamp):
            try:
                do()
            except ValueError as error:
                self.refuse(topic, error)
        # A simulator that waits may repeat a state; none is answered until somebody subscribes.
        if self._engaged and stamp != self._answered and not self._missing() and (
                self._publisher.get_subscription_count()) and not (
                self._traffic is not None and self._traffic.waits_at(stamp * 1e-9)):
            self._answered = stamp
            self._answer(stamp)

    def _on_traffic(self) -> None:
        # The simulation may wait at that state.
        if self.parameters.lockstep and self._now is not None:
            self._on_state(self._now)

    def _missing(self) -> list[str]:
        """Return which of the topics that are used have fallen silent."""
        missing = self._telemetry.missing
        if self._traffic is not None and self._traffic.is_missing():
            return [*missing, TRAFFIC_TOPIC]
        return missing

    def _answer(self, stamp: int) -> None:
        begin = time.perf_counter()
        observation = self._telemetry.observation
        try:
            if self._traffic is not None:
                observation = with_traffic(observation, self._traffic.reports, stamp * 1e-9)
            action = self._policy.act(observation)
        except ValueError as error:
            self._refused_actions += 1
            self._refusal = str(error)
            self.warn('action', f'no command: {error}')
            return
        took = time.perf_counter() - begin
        self._inference += took
        self._longest = max(self._longest, took)
        self._actions += 1
        self._refusal = ''
        write_stamp(self._command, stamp)
        self._mask.fill(
            self._command, dict(zip(self._policy.action.names, action, strict=True)))
        self._publisher.publish(self._command)

    def diagnose(self) -> Sequence[Status]:
        """Return whether it flies, and what its policy does."""
        missing = self._missing()
        engaged = 'engaged' if self._engaged else 'not engaged: a target engages it'
        severity, text = OK, engaged
        if missing:
            severity = WARN if self._engaged else STALE
            text = f'{engaged}; no {", ".join(missing)} arrives'
        elif self._refusal:
            severity, text = WARN, f'{engaged}; no command: {self._refusal}'
        mean = self._inference / self._actions if self._actions else 0.0
        return (Status('policy', severity, text, (
            ('policy', self._policy.name),
            ('sha256', self._policy.digest),
            ('level', self._policy.action.level),
            ('updates', str(self._actions)),
            ('actions refused', str(self._refused_actions)),
            ('inference, mean, ms', f'{1e3 * mean:.3f}'),
            ('inference, longest, ms', f'{1e3 * self._longest:.3f}'),
            ('commands waiting for their stamp', str(len(self._waiting))),
            ('lockstep waits for', ', '.join(self._telemetry.waits_for)),
        )),)


def main(args: Sequence[str] | None = None) -> int:
    """Run policy_node, or one for each of ``namespaces``; return the process's exit code."""
    return run(lambda: make_vehicle_nodes(PolicyNode, 'policy_node'), PolicyParameters, args)
