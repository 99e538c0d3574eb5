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

"""Execution of one scenario, by topics, services and parameters only."""

from __future__ import annotations

from collections import deque
import math

import numpy as np

from xplane_bridge.conversions.units import DEGREE
from xplane_bridge.experiments.analysis import Series
from xplane_bridge.experiments.guidance import Guidance
from xplane_bridge.experiments.lockstep import Lockstep
from xplane_bridge.experiments.scenario import Event, Scenario
from xplane_bridge.experiments.vehicle import ExperimentError, LONGEST_SILENCE, Vehicle
from xplane_bridge.experiments.verdict import flown_step, Occurrence
from xplane_bridge.experiments.view import View

# Events that a busy machine delays by more than this are reported as late.
_LATE = 0.5
# How long the flight waits for a message before it checks the time.
_TICK = 0.02
_SURFACES = ('elevator', 'aileron', 'rudder')
# A new heading target is sent when it differs by more.
_HEADING_STEP = 0.25 * DEGREE


class Run:
    """
    Fly a scenario with a vehicle.

    In lockstep the autopilot's commands are forwarded after all events due at their stamp: so each
    run does the same at the same frame, with one command for each.
    ``begin`` is the stamp of the scenario's time 0, ``flown`` how far it got (s), and
    ``occurrences`` the events that have happened.
    """

    def __init__(self, vehicle: Vehicle, scenario: Scenario, view: View) -> None:
        self._vehicle = vehicle
        self._monitor = vehicle.monitor
        self._scenario = scenario
        self._view = view
        self._lockstep = Lockstep(vehicle) if vehicle.lockstep else None
        self.begin = math.nan
        self.flown = 0.0
        self.occurrences: list[Occurrence] = []
        self._waiting: list[Occurrence] = []
        self.guidance: Guidance | None = None
        self._events = deque(scenario.events)
        self._held: tuple[Event, float, float] | None = None
        self._engaged = False
        self._silence_wanted = False
        self._heading = math.nan
        self._phase = scenario.name

    def fly(self) -> None:
        """Fly it to its end; raise ExperimentError if that is not possible."""
        arrived = self._vehicle.wait_until_ready(bool(self._scenario.needs_simulator()))
        self._view.say(f'receiving telemetry on {", ".join(arrived)}')
        try:
            if self._lockstep is not None:
                self._fly_in_lockstep(self._lockstep)
            else:
                self._fly_by_the_clock()
        finally:
            self._vehicle.thaw_autopilot()

    # Time.

    def _fly_by_the_clock(self) -> None:
        vehicle, monitor = self._vehicle, self._monitor
        self.begin = vehicle.now()
        heard, heard_at = -1, self.begin
        while (now := vehicle.now()) < self.begin + self._scenario.duration:
            with monitor.arrived:
                count = monitor.counts['imu/data']
            if count != heard or self._silence_wanted:
                heard, heard_at = count, now
            elif now - heard_at > LONGEST_SILENCE:
                raise ExperimentError(f'telemetry stopped; {vehicle.why()}')
            if vehicle.has_failed():
                raise ExperimentError(vehicle.why())
            self._act(now)
            if (held := self._held_controls(now)) is not None:
                vehicle.command(vehicle.make_command(held))
            with monitor.arrived:
                monitor.arrived.wait(_TICK)
        # Events due at the very end.
        self._act(now)

    def _fly_in_lockstep(self, lockstep: Lockstep) -> None:
        last = -math.inf
        while True:
            stamp, command = lockstep.next_turn(self._engaged)
            if math.isnan(self.begin):
                self.begin = stamp
            if stamp > last:
                last = stamp
                was_engaged = self._engaged
                self._act(stamp)
                if self.flown == self._scenario.duration:
                    return
                if self._engaged and not was_engaged:
                    # The autopilot then already commands at this stamp.
                    continue
            if command is None:
                command = lockstep.own_command(self._held_controls(stamp) or {})
            lockstep.hand_on(stamp, command)

    # What happens.

    def _act(self, now: float) -> None:
        """Execute all events that are due."""
        # Other publishers may appear, or be discovered, later than this started.
        self._vehicle.check_alone()
        over = now >= self.begin + self._scenario.duration
        self.flown = self._scenario.duration if over else now - self.begin
        while self._events and self._events[0].at <= self.flown:
            event = self._events.popleft()
            if self.flown - event.at > _LATE:
                self._view.say(
                    f'{self.flown:5.1f} s  {event}: {self.flown - event.at:.1f} s late')
            occurrence = Occurrence(event, self.flown, self._before(event))
            self._do(event, now)
            self.occurrences.append(occurrence)
            if event.expect is not None:
                self._waiting.append(occurrence)
        route = self._scenario.route
        if route is not None and self.flown >= route.begin:
            self._follow(now)
        self._judge_steps()
        self._view.update(self._phase, self.flown / self._scenario.duration)

    def _before(self, event: Event) -> float:
        if event.action != 'change' or len(event.value) != 1:
            return math.nan
        name, = event.value
        return self._monitor.last(f'target_{name}')

    def _do(self, event: Event, now: float) -> None:
        self._phase = str(event)
        if event.action == 'engage':
            self._vehicle.engage(event.value, now)
            self._engaged = event.value
        elif event.action == 'controls':
            self._held = event, now + event.lasts, self._monitor.last('pitch')
        elif event.action in ('target', 'change'):
            self._vehicle.set_target({
                name: value + (self._monitor.last(f'target_{name}')
                               if event.action == 'change' else 0.0)
                for name, value in event.value.items()})
        elif event.action == 'autopilot_frozen':
            self._vehicle.freeze_autopilot(event.value)
        else:
            self._vehicle.disturb(event.action, event.value)
            if event.action == 'link_down':
                self._silence_wanted = event.value
        if event.expect is None and event.action != 'controls':
            self._view.say(f'{self.flown:5.1f} s  {event}')

    def _held_controls(self, now: float) -> dict[str, float] | None:
        """Return the controls held by the scenario, centred at the end; None if none."""
        if self._held is None:
            return None
        event, end, _ = self._held
        if now < end:
            return dict(event.value)
        self._let_go()
        return {name: 0.0 for name in event.value if name in _SURFACES}

    def _let_go(self) -> None:
        assert self._held is not None
        event, end, pitch = self._held
        self._held = None
        with self._monitor.arrived:
            _, values = self._monitor.series['pitch'].since(end - event.lasts)
        risen = (max(values, default=math.nan) - pitch) / DEGREE
        self._view.say(f'{event} pitched the aircraft by {risen:+.1f} deg')

    def _follow(self, now: float) -> None:
        """Send the heading demanded by the route."""
        route = self._scenario.route
        assert route is not None
        east, north = self._monitor.last('east'), self._monitor.last('north')
        if math.isnan(east):
            raise ExperimentError('the route needs odom, which this simulator does not provide')
        if self.guidance is None:
            self.guidance = Guidance(route, east, north)
        passed = len(self.guidance.passed)
        self._phase = f'route, leg {passed + 1}'
        heading = self.guidance.heading(now - self.begin, east, north)
        if self.guidance.done:
            self._phase = 'route complete'
        if len(self.guidance.passed) > passed:
            _, across = self.guidance.passed[-1]
            self._view.say(
                f'{self.flown:5.1f} s  waypoint {len(self.guidance.passed)}, cross-track '
                f'{across:+.0f} m')
        if not abs(math.remainder(heading - self._heading, math.tau)) < _HEADING_STEP:
            self._heading = heading
            self._vehicle.set_target({'heading': heading})

    def _judge_steps(self) -> None:
        """Report how a step was flown when its time is over."""
        for occurrence in list(self._waiting):
            expect = occurrence.event.expect
            assert expect is not None
            if self.flown < occurrence.at + expect.until - occurrence.event.at:
                continue
            self._waiting.remove(occurrence)
            name, = occurrence.event.value
            with self._monitor.arrived:
                times, values = self._monitor.series[name].since(self.begin + occurrence.at)
            try:
                self._view.say(str(flown_step(
                    {name: Series(np.asarray(times) - self.begin, np.asarray(values))},
                    occurrence)))
            except ValueError as error:
                self._view.say(str(error))
