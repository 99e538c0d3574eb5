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
"""The actions take_off and land, and the services for the pattern and the go-around."""

from __future__ import annotations

from functools import partial
import math
from typing import Any

from xplane_bridge.action import FlyRunway
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.laboratory.control.runway.autopilot import Autopilot, LEFT, RIGHT
from xplane_bridge.laboratory.control.runway.charted import ChartedRunway, USUAL_HEIGHT
from xplane_bridge.laboratory.control.runway.runway import Runway
from xplane_bridge.laboratory.nodes.autopilot.goals import Ask, Asker, SingleGoalServer
from xplane_bridge.laboratory.nodes.autopilot.telemetry import AutopilotTelemetry
from xplane_bridge.laboratory.nodes.messages.runways import (
    charted,
    GO_AROUND,
    LAND,
    PATTERN,
    TAKE_OFF,
)
from xplane_bridge.srv import FlyPattern, GoAround

_LOWEST, _HIGHEST = 50.0, 3000.0
# Further away than this (m) it is another one that is meant.
_FURTHEST = 100e3
LEVEL_OFF = 'level-off'
"""What feedback says from the end of the climb until the height is reached."""


class Runways:
    """
    Offers ``take_off``, ``land``, ``autopilot/pattern`` and ``autopilot/go_around``.

    The autopilot refuses what cannot be flown; where a height above the ground is from is decided
    in ``_seen``.
    """

    def __init__(
        self, node: BridgeNode[Any], autopilot: Autopilot, telemetry: AutopilotTelemetry,
        asker: Asker,
    ) -> None:
        self._autopilot = autopilot
        self._telemetry = telemetry
        self._asker = asker
        self._warn = node.warn
        # How often it has gone around by itself, as far as it was said.
        self._broken_off = 0
        self._take_off = SingleGoalServer(
            node, asker, FlyRunway, TAKE_OFF, self._on_take_off, self._cancel_take_off)
        self._land = SingleGoalServer(
            node, asker, FlyRunway, LAND, self._on_land, autopilot.break_off_landing)
        node.make_service(FlyPattern, PATTERN, self._on_pattern)
        node.make_service(GoAround, GO_AROUND, self._on_go_around)

    def retire(self) -> None:
        """Destroy the action servers."""
        self._take_off.retire()
        self._land.retire()

    def advance(self, now: float) -> None:
        """Report how far it is, at a time (s), or that it has taken off, or stands."""
        autopilot = self._autopilot
        if len(autopilot.broken_off) > self._broken_off:
            self._warn('go around', f'it goes around: {autopilot.broken_off[-1]}')
        self._broken_off = len(autopilot.broken_off)
        if self._take_off.began and autopilot.is_at_height:
            self._take_off.end(
                f'it has taken off, and is {autopilot.height:.0f} m above the runway; '
                f'{f"the {autopilot.phase} is flown" if autopilot.phase else "that is held"}',
                success=True)
        elif self._take_off.began and not autopilot.takes_off:
            self._take_off.end('; '.join((
                'it has taken off, but has not been seen at its height', *autopilot.limits)))
        if self._land.began and autopilot.has_stopped:
            along, across = autopilot.place
            self._land.end(f'it stands on the runway, {along:.0f} m beyond the threshold and '
                           f'{across:+.1f} m to the right of the centreline', success=True)
        elif self._land.began and not autopilot.lands:
            why = autopilot.broken_off[-1:] or ('the range finder does not see the runway',)
            self._land.end(f'the landing is broken off: {why[0]}')
        for goals in (self._take_off, self._land):
            if goals.began and goals.is_due(now):
                feedback = goals.feedback
                feedback.phase, feedback.height = autopilot.phase or LEVEL_OFF, autopilot.height
                feedback.distance, feedback.cross_track = autopilot.place
                goals.goal.publish_feedback(feedback)

    def commanded(self, topic: str) -> None:
        """End the goals that a command has taken the flight from."""
        for goals, flies in ((self._take_off, self._autopilot.takes_off),
                             (self._land, self._autopilot.lands)):
            if goals.began and not flies:
                goals.end(f'{topic} has been commanded')

    def end(self, why: str) -> None:
        """End all goals."""
        self._take_off.end(why)
        self._land.end(why)

    # Commands.

    def _on_take_off(self, request: Any) -> None:
        runway, height = charted(request.runway), _height(request.height)

        def ask() -> list[str]:
            self._autopilot.take_off(self._seen(runway, stands=True), height)
            self._take_off.began = True
            return []

        self._take_off.pursue(request.runway, ask)

    def _on_land(self, request: Any) -> None:
        runway = charted(request.runway)

        def ask() -> list[str]:
            self._autopilot.land(self._seen(runway))
            self._land.began = True
            return []

        self._land.pursue(request.runway, ask)

    def _cancel_take_off(self) -> str:
        said = self._autopilot.break_off_take_off()
        self._land.end('the take-off has been cancelled')
        return said

    def _on_pattern(self, request: Any, response: Any) -> None:
        runway, height = charted(request.runway), _height(request.height)
        side = RIGHT if request.right else LEFT

        def ask() -> list[str]:
            self._autopilot.pattern(self._seen(runway), height, side)
            return []

        self._respond(response, PATTERN, request.runway, ask)

    def _on_go_around(self, request: Any, response: Any) -> None:
        ask = partial(self._go_around, _height(request.height))
        self._respond(response, GO_AROUND, request, ask)

    def _go_around(self, height: float) -> list[str]:
        self._autopilot.go_around(height)
        return []

    def _respond(self, response: Any, topic: str, message: Any, ask: Ask) -> None:
        """Command at the state of a message's stamp; ValueError if it is refused at once."""
        outcome: list[str] = []
        responds = True

        def begin() -> None:
            try:
                self._asker.ask(topic, ask)
            except ValueError as error:
                outcome.append(str(error))
                if not responds:
                    raise
            else:
                outcome.append('')

        self._asker.wait(topic, message, begin)
        responds = False
        if any(outcome):
            raise ValueError(outcome[0])
        response.success = True
        response.message = (f'the {self._autopilot.phase} is flown' if outcome
                            else 'it is flown from the state of its stamp on')

    # Heights.

    def _seen(self, runway: ChartedRunway, stands: bool = False) -> Runway:
        """
        Return a runway in the local frame. Raises ValueError if its height is not known.

        Its elevation is what the message says; or the height where the aircraft ``stands``.
        """
        frame, figures = self._telemetry.local, self._autopilot.performance
        if frame is None:
            raise ValueError('a runway needs the position, which fix has not reported yet')
        known = math.nan
        if stands and figures is not None:
            known = self._telemetry.altitude - figures.rest_height
        found = runway.seen_from(frame, known)
        if math.hypot(*found.threshold) > _FURTHEST:
            raise ValueError(
                f'its threshold is {math.hypot(*found.threshold) / 1000.0:.0f} km away: at most '
                f'{_FURTHEST / 1000.0:.0f} km')
        return found


def _height(given: float) -> float:
    height = given or USUAL_HEIGHT
    if not _LOWEST <= height <= _HIGHEST:
        raise ValueError(
            f'height is {given:g} m above the runway, expected {_LOWEST:g} .. {_HIGHEST:g}, or 0 '
            f'for {USUAL_HEIGHT:g}')
    return height
