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

"""The topics that command autopilot_node, each at its level of the cascade."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nav_msgs.msg import Path

from xplane_bridge.bridges.conversions.masks import Mask
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.targets import AttitudeTarget, check_targets, RateTarget
from xplane_bridge.laboratory.nodes.autopilot.goals import Ask
from xplane_bridge.laboratory.nodes.autopilot.route import (
    read_path,
    read_route,
    Waypoints,
)
from xplane_bridge.laboratory.nodes.autopilot.telemetry import AutopilotTelemetry
from xplane_bridge.laboratory.nodes.messages.targets import read_changes
from xplane_bridge.msg import AttitudeCommand, AutopilotTarget, RateCommand, Route

_ATTITUDE_MASK = Mask(AttitudeCommand)
_RATES_MASK = Mask(RateCommand)


class Levels:
    """
    Subscribes to ``command/`` ``path``, ``route``, ``target``, ``attitude`` and ``rates``.

    ``command(topic, message, ask)`` gets what each message asks of the cascade, and
    ``release(message)`` a target that releases. What cannot be flown is refused before.
    """

    def __init__(
        self, node: BridgeNode[Any], cascade: Cascade, telemetry: AutopilotTelemetry,
        command: Callable[[str, Any, Ask], None], release: Callable[[Any], None],
    ) -> None:
        self._cascade = cascade
        self._telemetry = telemetry
        self._command = command
        self._release = release
        node.make_command(Path, 'command/path', self._on_path)
        node.make_command(Route, 'command/route', self._on_route)
        # More than one may be on the way: some of it in each.
        node.make_command(AutopilotTarget, 'command/target', self._on_target, 10, latched=True)
        node.make_command(AttitudeCommand, 'command/attitude', self._on_attitude, 10)
        node.make_command(RateCommand, 'command/rates', self._on_rates, 10)

    def follow(self, waypoints: Waypoints) -> list[str]:
        """Follow a route from here. Raises ValueError if that is not possible."""
        if self._telemetry.local is None:
            raise ValueError('a route needs the position, which fix has not reported yet')
        return self._cascade.follow(
            waypoints.east_north(self._telemetry.local), waypoints.altitudes, waypoints.airspeed,
            waypoints.closed)

    def _on_path(self, message: Path) -> None:
        waypoints = read_path(
            message, self._telemetry.datum, self._telemetry.odom_frame)
        self._command('command/path', message, partial(self.follow, waypoints))

    def _on_route(self, message: Route) -> None:
        self._command('command/route', message, partial(self.follow, read_route(message)))

    def _on_target(self, message: AutopilotTarget) -> None:
        given = read_changes(message)
        if given is None:
            self._release(message)
            return
        self._command('command/target', message, partial(self._cascade.change_target, given))

    def _on_attitude(self, message: AttitudeCommand) -> None:
        given = _ATTITUDE_MASK.given(message)
        check_targets({name: value for name, value in given.items() if name != 'yaw_damper'})
        if 'throttle' in given and 'airspeed' in given:
            raise ValueError('it has a throttle and an airspeed: only one of them can be held')
        self._command('command/attitude', message, partial(
            self._cascade.hold_attitude, AttitudeTarget(**given)))

    def _on_rates(self, message: RateCommand) -> None:
        given = _RATES_MASK.given(message)
        check_targets(given)
        self._command('command/rates', message, partial(self._cascade.hold_rates, RateTarget(**{
            name.removesuffix('_rate'): value for name, value in given.items()})))
