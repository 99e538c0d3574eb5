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

"""A scenario for a controller that has its own goals: nobody sends it a target. No ROS."""

from __future__ import annotations

from dataclasses import replace

from xplane_bridge.laboratory.flights.scenario.criteria import Criterion
from xplane_bridge.laboratory.flights.scenario.events import ScenarioEvent
from xplane_bridge.laboratory.flights.scenario.quantities import TARGETS
from xplane_bridge.laboratory.flights.scenario.scenario import Scenario

_OF_TARGETS = (*(f'target_{name}' for name in TARGETS), *(f'{name}_error' for name in TARGETS))
# Figures about how well it was held.
_OF_FIGURES = ('steps', 'tracking')


def untargeted(scenario: Scenario) -> Scenario:
    """
    Return it without targets, and without the criteria that need them: see not_judged().

    The controller is engaged at its start. A route is kept: it is judged, but not sent.
    """
    return replace(
        scenario,
        events=(ScenarioEvent(0.0, 'engage', True), *(
            event for event in scenario.events
            if not _is_target(event) and (event.action, event.value) != ('engage', True))),
        criteria=tuple(one for one in scenario.criteria if not _needs_target(one)))


def not_judged(scenario: Scenario) -> list[str]:
    """Return what untargeted() leaves out, as phrases."""
    return [
        *(f'{event} at {event.at:g} s is not sent' for event in scenario.events
          if _is_target(event)),
        *(f'{one.statistic} of {one.name} is not judged' if one.statistic
          else f'{one.name} is not judged'
          for one in scenario.criteria if _needs_target(one))]


def at_the_controls(scenario: Scenario) -> list[str]:
    """Return the events by which a scenario has the controls itself, as phrases."""
    return [f'{event.action} at {event.at:g} s' for event in scenario.events
            if event.action in ('controls', 'trim') or event.is_open_loop
            or (event.action, event.value) == ('engage', False)]


def _is_target(event: ScenarioEvent) -> bool:
    return event.action in ('target', 'change')


def _needs_target(criterion: Criterion) -> bool:
    if not criterion.statistic:
        return criterion.name.split('.')[0] in _OF_FIGURES
    return any(name.removesuffix('_deg') in _OF_TARGETS for name in criterion.quantities)
