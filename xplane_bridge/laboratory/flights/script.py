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

"""What happens in a scenario, and when: for flights through ROS and in this process. No ROS."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
import math
from typing import Any, Protocol

import numpy as np

from xplane_bridge.bridges.conversions.airframe_events import AirframeEvent
from xplane_bridge.bridges.conversions.geoid import ellipsoid_to_msl, usual_undulation
from xplane_bridge.common.controls import SURFACES
from xplane_bridge.common.text import known
from xplane_bridge.common.timing import ROUNDED_TIME
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.control.path import PathFollower
from xplane_bridge.laboratory.control.runway.charted import ChartedRunway
from xplane_bridge.laboratory.flights.analysis.series import Series
from xplane_bridge.laboratory.flights.analysis.verdict import flown_step, Occurrence
from xplane_bridge.laboratory.flights.controller_checks.conduct import Account
from xplane_bridge.laboratory.flights.route import RouteFlight, VehicleTelemetry
from xplane_bridge.laboratory.flights.scenario.events import DATA_LINK_DOWN, ScenarioEvent
from xplane_bridge.laboratory.flights.scenario.excitation import AXES, Excitation
from xplane_bridge.laboratory.flights.scenario.runway import PROCEDURES
from xplane_bridge.laboratory.flights.scenario.scenario import Scenario
from xplane_bridge.simulation.aircraft.runscript.script import MOST_TOLD, ScriptNotice

# A little less: what is executed at this time is due then, however the sum is rounded.
_DUE_BEFORE = ROUNDED_TIME - 1e-6
# Events that a busy machine delays by more than this are reported as late.
_LATE = 0.5
# A new course or heading along a route is sent when it differs by more.
_DIRECTION_STEP = 0.1 * DEGREE
# How often (s) it is looked whether an aircraft stands that is to land: it does if it has moved by
# less (m) twice in a row, after it was faster than the second (m/s).
_STANDS_PERIOD, _STANDS, _ROLLED = 1.0, 0.05, 15.0
# How often a route is looked at, and the heading along it computed, in seconds.
_ROUTE_PERIOD = 0.1


class ExperimentError(Exception):
    """The experiment cannot go on; the text says why."""


class ControllerError(ExperimentError):
    """The controller no longer does its part: the flight ends, and this is its result."""


class ScriptedVehicle(Protocol):
    """The vehicle that a scenario is flown with."""

    def engage(self, on: bool, now: float) -> None:
        """Engage the controller at the time ``now``, or disengage it."""

    def set_target(self, values: Mapping[str, float]) -> None:
        """Change the controller's targets: altitude, heading or course, airspeed; SI."""

    def follow(self, path: PathFollower) -> str:
        """Let the controller follow a path; else return by which target to lead it."""

    def trim(self, values: Mapping[str, float]) -> dict[str, float]:
        """
        Trim the simulated aircraft where it is; return the controls that hold it there.

        What is given is not as it is, or 0: altitude_msl (m), airspeed (m/s),
        flight_path_angle and bank (rad).
        """

    def fly_procedure(
        self, name: str, values: Mapping[str, Any], runway: ChartedRunway | None
    ) -> None:
        """Let the autopilot take off, fly the pattern, land or go around (PROCEDURES)."""

    def freeze_autopilot(self, on: bool) -> None:
        """Stop the controller's commands, or resume them."""

    def disturb(self, name: str, value: bool | Sequence[float]) -> None:
        """Set what only a simulator of this package can: weather, failures, the link."""


class Progress(Protocol):
    """Where the progress of a flight is shown."""

    def say(self, text: str) -> None:
        """Print a permanent line."""

    def update(self, phase: str, progress: float) -> None:
        """Show ``phase`` and the overall progress (0..1)."""


class Script:
    """
    The events and the route of a scenario, executed as their time comes.

    ``begin`` is the time of the scenario's time 0, ``flown`` how far it got (s), and
    ``occurrences`` the events that have happened; ``route`` is its route once it has begun.
    ``notices`` are events of a script of JSBSim. ``account`` is of an external controller.
    ``crash`` is what ended it before its end, and ``exceedances`` what was beyond the envelope of
    the airframe, by the name of the limit; None where nobody knows. It ``is_cut`` if a crash ended
    it, be it that of another aircraft.
    """

    def __init__(
        self, scenario: Scenario, vehicle: ScriptedVehicle, telemetry: VehicleTelemetry,
        display: Progress
    ) -> None:
        self.scenario = scenario
        self.begin = math.nan
        self.flown = 0.0
        self.occurrences: list[Occurrence] = []
        self.notices: list[ScriptNotice] = []
        self.route: RouteFlight | None = None
        self.account: Account | None = None
        self.crash: AirframeEvent | None = None
        self.is_cut = False
        # Steps per second of the simulated aircraft, NaN if that is not known.
        self.physics_rate = math.nan
        self.exceedances: Mapping[str, AirframeEvent] | None = None
        self.engaged = False
        self.silence_wanted = False
        # Whether other aircraft and it do not hear of each other.
        self.is_unheard = False
        # Those in progress and their start; over ones are removed by the next.
        self.excitations: list[tuple[Excitation, float]] = []
        self._vehicle = vehicle
        self._telemetry = telemetry
        self._display = display
        self._waiting: list[Occurrence] = []
        self._events = deque(scenario.events)
        self._held: tuple[ScenarioEvent, float, float] | None = None
        # Since an excitation without the controller: the controls at its start.
        self._base: dict[str, float] | None = None
        self._direction = math.nan
        self._guidance = ''
        self._follow_at = scenario.route.begin if scenario.route is not None else math.inf
        self._phase = scenario.name
        # When to look next whether it stands; where it was then, whether it had rolled, and how
        # often it has stood since.
        self._look_at = math.inf
        self._was_at = (math.nan, math.nan)
        self._has_rolled, self._stood = False, 0

    @property
    def due(self) -> float:
        """Return the time at which act() has something to do next, if no controls are held."""
        at = self._events[0].at if self._events else math.inf
        return self.begin + min(
            at, self._follow_at, self._look_at, self.scenario.duration) - _DUE_BEFORE

    @property
    def is_over(self) -> bool:
        """Return whether it has been flown to its end: that of a landing, if nothing follows."""
        return self.flown == self.scenario.duration or self.has_landed

    @property
    def has_landed(self) -> bool:
        """Return whether it stands after its landing, and nothing is to follow."""
        return self._stood > 1 and self.flown >= self.scenario.last_asked_for()

    def act(self, now: float) -> None:
        """Execute all events that are due."""
        duration = self.scenario.duration
        over = now >= self.begin + duration - ROUNDED_TIME
        self.flown = duration if over else now - self.begin
        while self._events and self._events[0].at <= self.flown + ROUNDED_TIME:
            event = self._events.popleft()
            if self.flown - event.at > _LATE:
                self._display.say(
                    f'{self.flown:5.1f} s  {event}: {self.flown - event.at:.1f} s late')
            occurrence = Occurrence(event, self.flown, self._before(event))
            self._do(event, now)
            self.occurrences.append(occurrence)
            if event.expect is not None:
                self._waiting.append(occurrence)
        if self.flown >= self._look_at - ROUNDED_TIME:
            self._see_whether_it_stands()
        if self.flown >= self._follow_at - ROUNDED_TIME:
            while self._follow_at <= self.flown + ROUNDED_TIME:
                self._follow_at += _ROUTE_PERIOD
            self._follow(now)
        self.show(self.flown)

    def note(self, notice: ScriptNotice) -> None:
        """Take it that a script of JSBSim has executed one of its events."""
        self.notices.append(notice)
        self._display.say(f'{notice.at:5.1f} s  {notice}')
        if len(self.notices) == MOST_TOLD:
            self._display.say(f'       more than {MOST_TOLD} events are not told')

    def end_by(self, crash: AirframeEvent) -> None:
        """Take it that the flight has ended by a crash."""
        self.crash = crash
        self.cut(crash.at)
        self._display.say(f'{crash.at:5.1f} s  {crash}')

    def cut(self, at: float) -> None:
        """Take it that nothing was flown after a time (s)."""
        self.is_cut, self.flown = True, min(at, self.scenario.duration)

    def show(self, flown: float) -> None:
        """Show how far it has been flown, and how the steps that are over were."""
        if self._waiting:
            self._judge_steps(flown)
        self._display.update(self._phase, flown / self.scenario.duration)

    def held_controls(self, now: float) -> dict[str, float] | None:
        """
        Return the controls held by the scenario; None if none.

        Those of a ``controls`` event are centred at its end; those of an excitation are held from
        its start until something else commands.
        """
        if self._held is None:
            return None if self._base is None else self.excited(self._base, now)
        event, end, _ = self._held
        if now < end - ROUNDED_TIME:
            return dict(event.value)
        self._let_go()
        return {name: 0.0 for name in event.value if name in SURFACES}

    def excited(self, controls: Mapping[str, float], now: float) -> dict[str, float]:
        """Return controls with the excitations in progress added to them."""
        found = dict(controls)
        for excitation, start in self.excitations:
            axis = excitation.axis
            if axis in found:
                found[axis] = min(max(
                    found[axis] + excitation.value(now - start), AXES[axis]), 1.0)
        return found

    def _before(self, event: ScenarioEvent) -> float:
        if event.action != 'change' or len(event.value) != 1:
            return math.nan
        name, = event.value
        return self._telemetry.last(f'target_{name}')

    def _do(self, event: ScenarioEvent, now: float) -> None:
        self._phase = str(event)
        if event.action == 'engage':
            self._engage(event.value, now)
        elif isinstance(event.value, Excitation):
            self._excite(event.value, now)
        elif event.action == 'controls':
            self._base = None
            self._held = event, now + event.lasts, self._telemetry.last('pitch')
        elif event.action == 'target':
            self._set_target(event.value)
        elif event.action == 'change':
            self._set_target({name: value + self._telemetry.last(f'target_{name}')
                              for name, value in event.value.items()})
        elif event.action == 'trim':
            self._trim(event.value)
        elif event.action in PROCEDURES:
            self._fly_procedure(event)
        elif event.action == 'autopilot_frozen':
            self._vehicle.freeze_autopilot(event.value)
        else:
            self._disturb(event.action, event.value)
        if event.expect is None and event.action != 'controls':
            self._display.say(f'{self.flown:5.1f} s  {event}')

    def _fly_procedure(self, event: ScenarioEvent) -> None:
        self._vehicle.fly_procedure(event.action, event.value, self.scenario.runway)
        if event.action == 'land' and not self.scenario.is_one_of_many:
            self._look_at = event.at + _STANDS_PERIOD

    def _engage(self, on: bool, now: float) -> None:
        self._vehicle.engage(on, now)
        self.engaged = on
        if on:
            self._base = None

    def _disturb(self, name: str, value: Any) -> None:
        if name == DATA_LINK_DOWN:
            self.is_unheard = value
            return
        self._vehicle.disturb(name, value)
        if name == 'link_down':
            self.silence_wanted = value

    def _trim(self, values: Mapping[str, float]) -> None:
        """Trim, and hold the trimmed controls."""
        given = dict(values)
        if 'altitude' in given:
            undulation = usual_undulation().height_m(
                self._telemetry.last('latitude'), self._telemetry.last('longitude'))
            given['altitude_msl'] = ellipsoid_to_msl(given.pop('altitude'), undulation)
        found = self._vehicle.trim(given)
        self._held = None
        self.excitations = []
        self._base = self._controls() | {
            axis: value for axis, value in found.items() if axis in AXES}

    def _excite(self, excitation: Excitation, now: float) -> None:
        """Start an excitation: unless it is in closed loop, the controller is released."""
        self.excitations = [
            (one, start) for one, start in self.excitations if now < start + one.lasts]
        self.excitations.append((excitation, now))
        if excitation.closed_loop:
            return
        if self._base is None:
            self._base = self._controls()
        # A glider has no throttle.
        unknown = [axis for axis in AXES if axis not in self._base and (
            axis != 'throttle' or axis == excitation.axis)]
        if unknown:
            raise ExperimentError(
                f'it is not known where {", ".join(unknown)} is held: this simulator does not '
                'report it; engage the autopilot before, or command it with "controls"')
        if self.engaged:
            self._vehicle.engage(False, now)
            self.engaged = False

    def _controls(self) -> dict[str, float]:
        """Return where the controls are: as reported, else as commanded last, as far as known."""
        found = {}
        for axis in AXES:
            value = self._telemetry.last(axis)
            if math.isnan(value):
                value = self._telemetry.last(f'command_{axis}')
            if not math.isnan(value):
                found[axis] = value
        return found

    def _set_target(self, values: Mapping[str, float]) -> None:
        given = dict(values)
        # After many changes a heading may have more turns than a target may.
        if abs(given.get('heading', 0.0)) > math.tau:
            given['heading'] = math.remainder(given['heading'], math.tau)
        self._vehicle.set_target(given)

    def _let_go(self) -> None:
        assert self._held is not None
        event, end, pitch = self._held
        self._held = None
        _, values = self._telemetry.since('pitch', end - event.lasts)
        risen = (max(values, default=math.nan) - pitch) / DEGREE
        # At a high speed of simulation, or on a busy machine, no state may have come in time.
        self._display.say(f'{event} pitched the aircraft by {risen:+.1f} deg' if risen == risen
                          else f'{event}: its effect was not seen, as no state came in that time')

    def _see_whether_it_stands(self) -> None:
        while self._look_at <= self.flown + ROUNDED_TIME:
            self._look_at += _STANDS_PERIOD
        place = self._telemetry.last('east'), self._telemetry.last('north')
        moved = math.dist(place, self._was_at)
        self._was_at = place
        self._has_rolled |= moved > _ROLLED * _STANDS_PERIOD
        self._stood = self._stood + 1 if self._has_rolled and moved < _STANDS else 0
        if self.has_landed:
            self._display.say(f'{self.flown:5.1f} s  it stands: the flight is over')

    def _follow(self, now: float) -> None:
        """See how the route is flown; a controller that takes targets only is led by them."""
        given = self.scenario.route
        assert given is not None
        route = self.route
        if route is None:
            try:
                route = self.route = RouteFlight(given, self._telemetry, now)
            except ValueError as error:
                raise ExperimentError(str(error)) from None
            self._guidance = self._vehicle.follow(route.path)
        passed = len(route.passed)
        at = route.update()
        self._phase = f'route, leg {at.leg + 1}' if not route.path.done else 'route complete'
        for number, across in enumerate(route.passed[passed:], start=passed + 1):
            self._display.say(
                f'{self.flown:5.1f} s  waypoint {number}, cross-track '
                + known(across, 'at most {:.1f} m', 'not measured'))
        if self._guidance:
            wanted = route.course(at, now) if self._guidance == 'course' else (
                route.heading(at, now))
            if not abs(math.remainder(wanted - self._direction, math.tau)) < _DIRECTION_STEP:
                self._direction = wanted
                self._set_target({self._guidance: wanted})

    def _judge_steps(self, flown: float) -> None:
        """Report how a step was flown when its time is over."""
        for occurrence in list(self._waiting):
            expect = occurrence.event.expect
            assert expect is not None
            if flown < occurrence.at + expect.until - occurrence.event.at - ROUNDED_TIME:
                continue
            self._waiting.remove(occurrence)
            name, = occurrence.event.value
            times, values = self._telemetry.since(name, self.begin + occurrence.at)
            try:
                self._display.say(str(flown_step(
                    {name: Series(np.asarray(times) - self.begin, np.asarray(values))},
                    occurrence)))
            except ValueError as error:
                self._display.say(str(error))
