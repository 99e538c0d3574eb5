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
"""Take-offs and landings of a flight through ROS: the actions and services of autopilot_node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rclpy.action import ActionClient
from rclpy.node import Node

from xplane_bridge.action import FlyRunway
from xplane_bridge.common.machine import MachineError
from xplane_bridge.laboratory.control.runway.autopilot import RIGHT
from xplane_bridge.laboratory.control.runway.charted import ChartedRunway
from xplane_bridge.laboratory.flights.analysis.quantities import TARGET
from xplane_bridge.laboratory.flights.script import ExperimentError
from xplane_bridge.laboratory.nodes.flight.monitor import Monitor
from xplane_bridge.laboratory.nodes.messages.runways import (
    GO_AROUND,
    LAND,
    PATTERN,
    TAKE_OFF,
    to_message,
)
from xplane_bridge.srv import FlyPattern, GoAround

_FOUND_WITHIN = _ANSWERED_WITHIN = 10.0


class Procedures:
    """Clients of autopilot_node below a namespace; MachineError if it does not offer them."""

    def __init__(self, node: Node, namespace: str, monitor: Monitor) -> None:
        self._monitor = monitor
        self._actions: dict[str, Any] = {
            name: ActionClient(node, FlyRunway, f'{namespace}/{name}')
            for name in (TAKE_OFF, LAND)}
        self._pattern: Any = node.create_client(FlyPattern, f'{namespace}/{PATTERN}')
        self._go_around: Any = node.create_client(GoAround, f'{namespace}/{GO_AROUND}')

        for name, client in self._actions.items():
            _check(client.wait_for_server(_FOUND_WITHIN), name)
        _check(self._pattern.wait_for_service(_FOUND_WITHIN), PATTERN)
        _check(self._go_around.wait_for_service(_FOUND_WITHIN), GO_AROUND)

    def command(
        self, name: str, values: Mapping[str, Any], runway: ChartedRunway | None, stamp: Any
    ) -> None:
        """
        Command a procedure, from the state of a stamp on if there is one, and wait for it.

        Raises ExperimentError if it is refused, MachineError if nobody answers.
        """
        assert runway is not None
        counts, refused = self._monitor.counts, ['']

        def judge(result: Any) -> None:
            if not result.success:
                with self._monitor.arrived:
                    refused[0] = result.message
                    self._monitor.arrived.notify_all()

        with self._monitor.arrived:
            before = counts[TARGET]
        height = values.get('height', 0.0)
        if name in self._actions:
            goal = FlyRunway.Goal(runway=to_message(runway, stamp), height=height)
            self._actions[name].send_goal_async(goal).add_done_callback(
                lambda sent: sent.result().get_result_async().add_done_callback(
                    lambda done: judge(done.result().result)))
        else:
            client, request = self._go_around, GoAround.Request(height=height)
            if name == 'pattern':
                client, request = self._pattern, FlyPattern.Request(
                    runway=to_message(runway, stamp), height=height,
                    right=values['side'] == RIGHT)
            elif stamp is not None:
                request.header.stamp = stamp
            client.call_async(request).add_done_callback(lambda done: judge(done.result()))
        # The autopilot reports its target when it has taken a command.
        self._monitor.wait_for(
            lambda: counts[TARGET] > before or refused[0], _ANSWERED_WITHIN)
        if counts[TARGET] == before:
            if refused[0]:
                raise ExperimentError(refused[0])
            raise MachineError(f'autopilot_node does not respond to {name}')


def _check(is_offered: bool, name: str) -> None:
    if not is_offered:
        raise MachineError(f'autopilot_node does not offer {name}')
