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
A flight: an order being flown, in this process or through ROS; ``open_flight`` makes one.

It has vehicles on one clock, one or several. Each is flown by its script; what is over several is
their results together, and what binds them while they fly.

    with open_flight(Order(load(find('steps')))) as flight:
        flight.fly()
        print(flight.state, flight.result().judgements)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import chain
import math
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.airframe_events import AirframeEvent
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.common.fields import FieldError
from xplane_bridge.common.machine import is_at_fault
from xplane_bridge.laboratory.control.policy.observation import Numbers, Vector
from xplane_bridge.laboratory.flights.analysis import verdict
from xplane_bridge.laboratory.flights.analysis.series import History
from xplane_bridge.laboratory.flights.analysis.together import Tracks
from xplane_bridge.laboratory.flights.analysis.verdict import Judgement
from xplane_bridge.laboratory.flights.fleet import (
    FlownVehicle,
    Formation,
    FrameMessages,
    ProximityWatch,
)
from xplane_bridge.laboratory.flights.laws import ActionLaw
from xplane_bridge.laboratory.flights.order import Order, remarks
from xplane_bridge.laboratory.flights.result import evaluate, FlightResult, Meeting
from xplane_bridge.laboratory.flights.route import VehicleTelemetry
from xplane_bridge.laboratory.flights.script import ControllerError, Progress, Script

AT_ONCE = 60
"""Frames of a flight that nobody steps."""


class FlightState(StrEnum):
    """How far a flight is; see Flight."""

    NEW = 'new'
    READY = 'ready'
    OVER = 'over'
    CRASHED = 'crashed'
    FAILED = 'failed'
    CLOSED = 'closed'


class Fault(StrEnum):
    """What made a flight fail: its order, its controller, this machine, or else the flight."""

    ORDER = 'order'
    FLIGHT = 'flight'
    CONTROLLER = 'controller'
    MACHINE = 'machine'


class Display(Progress, Protocol):
    """Where a flight is shown."""

    def begin(self, flight: Flight) -> None:
        """Show this flight from now on; it has a script and telemetry."""

    def end(self) -> None:
        """Make use of the time in which what was started for the flight ends."""


class Silent:
    """Shows nothing of a flight."""

    def begin(self, flight: Flight) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""

    def say(self, text: str) -> None:
        """Do nothing."""

    def update(self, phase: str, progress: float) -> None:
        """Do nothing."""


class Flight(ABC):
    """
    An order being flown: NEW, by start() READY, by step() at last OVER, by close() CLOSED.

    It is CRASHED where the airframe of a vehicle ended it: ``crash`` says how. It is FAILED where
    it cannot go on: ``error`` says why, ``fault`` by whom. ``vehicles`` are by their names, one
    alone by ''. They are there once they have begun, and may be read, and given targets, between
    steps. ``script`` has what has happened to the first of them so far, ``telemetry`` the newest
    of what was measured of it; ``meetings`` are the mid-airs. Observations, truths and actions are
    those of the vehicles, one after the other. One thread owns it. Use it as a context manager.
    """

    script: Script
    telemetry: VehicleTelemetry
    vehicles: Mapping[str, FlownVehicle]
    ends_at_once = True
    """Whether what it holds has ended when it is over; if not, close() waits for that."""

    def __init__(self, order: Order, display: Display) -> None:
        self.order = order
        self.state = FlightState.NEW
        self.error: Exception | None = None
        self.meetings: list[Meeting] = []
        self.vehicles = {}
        self._orders = order.of_vehicles()
        self._news = FrameMessages(display, len(self._orders))
        # The vehicle that is being looked after: if it makes the flight fail, it is named.
        self._whose = ''
        self._display = display

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def jsbsim_time(self) -> float:
        """Return what JSBSim's steps have taken of this process's time in s; 0 if it has none."""
        return 0.0

    @property
    def why(self) -> str:
        """Return the sentence why it FAILED, and by which of several vehicles, or ''."""
        if self.error is None:
            return ''
        said = _said(self.error)
        return f'vehicle {self._whose}: {said}' if said and self._whose else said

    @property
    def fault(self) -> Fault | None:
        """Return what made it FAIL, None if nothing has."""
        if self.error is None:
            return None
        if is_at_fault(self.error):
            return Fault.MACHINE
        if isinstance(self.error, ControllerError):
            return Fault.CONTROLLER
        return Fault.ORDER if isinstance(self.error, FieldError) else Fault.FLIGHT

    @property
    def crash(self) -> AirframeEvent | None:
        """Return what an airframe ended it by first, None if none did; see CRASHED."""
        first = self._first_crashed()
        return None if first is None else first[1].script.crash

    @property
    def crashed(self) -> str:
        """Return the name of the vehicle that crashed first, '' if it is alone or none has."""
        first = self._first_crashed()
        return '' if first is None else first[0]

    @property
    def crash_outcome(self) -> str:
        """Return the sentence of the first crash, and whose it is of several, or ''."""
        first = self._first_crashed()
        if first is None:
            return ''
        name, vehicle = first
        assert vehicle.script.crash is not None
        said = vehicle.script.crash.outcome
        return said.replace(' s: ', f' s: vehicle {name}: ', 1) if name else said

    @property
    def crash_verdict(self) -> str:
        """Return the same if the scenario does not expect it of that vehicle, or ''."""
        first = self._first_crashed()
        expected = first is not None and first[1].order.scenario.expect_crash
        return '' if expected else self.crash_outcome

    def _first_crashed(self) -> tuple[str, FlownVehicle] | None:
        found, first = None, (math.inf, '')
        for name, vehicle in self.vehicles.items():
            # At the same time by its name: the order of the vehicles makes no difference.
            if (crash := vehicle.script.crash) is not None and (crash.at, name) < first:
                found, first = (name, vehicle), (crash.at, name)
        return found

    @property
    @abstractmethod
    def time(self) -> float:
        """Return the time of the scenario in s."""

    @property
    def began(self) -> bool:
        """Return whether its first state has been seen."""
        return hasattr(self, 'script') and not math.isnan(self.script.begin)

    @property
    def flown(self) -> float:
        """Return how much of the scenario has been flown (s)."""
        return self.script.flown if hasattr(self, 'script') else 0.0

    def start(self) -> FlightState:
        """
        Make it READY; FAILED if that is not possible.

        Flown by actions, it goes on to the first frame in which an action counts.
        """
        self._expect(FlightState.NEW)
        return self._go(self._start)

    def step(self, action: Sequence[float] | None = None, frames: int = 1) -> FlightState:
        """
        Fly on, at least so many frames unless it ends before: READY, OVER, CRASHED or FAILED.

        ``action`` is in the order of its level's fields; without one the last is held.
        """
        if self.state is not FlightState.READY:
            self._expect(FlightState.READY)
        return self._go(self._step, action, frames)

    def fly(self, at_once: int = AT_ONCE) -> FlightState:
        """Fly it to its end, so many frames at once: OVER, CRASHED or FAILED."""
        if self.state is FlightState.NEW:
            self.start()
        while self.state is FlightState.READY:
            self.step(frames=at_once)
        return self.state

    def observation(self) -> Vector:
        """Return what whoever gives the actions is told (control.policy.observation.FIELDS)."""
        if self.state is not FlightState.READY:
            self._check_began()
        if not self._are_several:
            return self._first.observation()
        return np.concatenate([one.observation() for one in self.vehicles.values()])

    def truth(self) -> Numbers:
        """Return the observation as it would be without sensors."""
        if self.state is not FlightState.READY:
            self._check_began()
        if not self._are_several:
            return self._first.truth()
        return tuple(chain.from_iterable([one.truth() for one in self.vehicles.values()]))

    def offset(self, name: str, other: str) -> axes.Vector:
        """Return east, north and up in m from one vehicle to another, in truth."""
        return LocalFrame(*self.vehicles[name].place).geodetic_to_enu(*self.vehicles[other].place)

    def histories(self) -> dict[str, History]:
        """Return the history of each vehicle by its name, until one of them crashed."""
        self._check_began()
        found = {name: one.history() for name, one in self.vehicles.items()}
        if (crash := self.crash) is None:
            return found
        return {name: history.until(crash.at) for name, history in found.items()}

    def tracks(self) -> Tracks:
        """Return where all have been."""
        return Tracks(self.histories(), self.order.scenario.fleet)

    def history(self) -> History:
        """
        Return all that was measured, commanded and wanted, with its times.

        Of several series, topics and counts are NAME.QUANTITY and so on. Also of a flight that is
        closed. Raises ValueError if it has not begun, and ValueError, OSError or ImportError if it
        is in a recording that cannot be read.
        """
        self._check_began()
        if self._is_of_one:
            return self.vehicles[''].history()
        found = self.histories()

        def named(part: Callable[[History], Mapping[str, Any]]) -> dict[str, Any]:
            return {f'{name}.{key}': value for name, history in found.items()
                    for key, value in part(history).items()}

        return replace(
            next(iter(found.values())), namespace='/', series=named(lambda one: one.series),
            topics=named(lambda one: one.topics), counts=named(lambda one: one.counts))

    def results(self) -> dict[str, FlightResult]:
        """
        Return figures and judged criteria of each vehicle so far; KeyError for unknown figures.

        Raises what history() raises.
        """
        self._check_began()
        return {name: evaluate(one.script, one.history()) for name, one in self.vehicles.items()}

    def result(self, of_vehicles: Mapping[str, FlightResult] | None = None) -> FlightResult:
        """
        Return the same of the flight, with what is over several vehicles.

        ``of_vehicles``, if they are there already, are results().
        """
        results = self.results() if of_vehicles is None else of_vehicles
        if self._is_of_one:
            return results['']
        scenario, tracks = self.order.scenario, self.tracks()
        over_two = replace(self.history(), series=tracks.series(scenario.criteria))
        judgements = [
            replace(judgement, criterion=f'{name}: {judgement.criterion}')
            for name, result in results.items() for judgement in result.judgements]
        figures = {
            'duration': self.flown, 'midairs': len(self.meetings),
            **tracks.figures(self.flown),
            'vehicles': {name: result.figures for name, result in results.items()}}
        return FlightResult(
            [step for result in results.values() for step in result.steps],
            [window for result in results.values() for window in result.windows], figures,
            judgements + self._judge_over_two(over_two, figures))

    def _judge_over_two(self, history: History, figures: Mapping[str, Any]) -> list[Judgement]:
        # That it ends by a crash is expected of one of them.
        scenario = replace(self.order.scenario, events=(), expect_crash=False)
        return verdict.judge(
            scenario, history, figures, self.flown, (), is_cut=bool(self.crash_verdict))

    @property
    def _is_of_one(self) -> bool:
        """Return whether its vehicle is alone: what is said of it is said of the flight."""
        return not self.order.scenario.vehicles

    def lacking(self) -> str:
        """Return a sentence if the history lacks what was heard in flight, or is cut."""
        return ''

    def traffic(self) -> tuple[Mapping[str, int], float]:
        """Return the messages so far by topic, and the newest latency (s), NaN if unknown."""
        return {}, math.nan

    def close(self) -> None:
        """End it; closing twice is fine."""
        if self.state is not FlightState.CLOSED:
            self._end()
            self.state = FlightState.CLOSED

    def retire(self) -> None:
        """
        Close it, and let a later flight of this process have its aircraft.

        What was measured can still be asked for: history() and result().
        """
        self.close()

    @abstractmethod
    def _start(self) -> FlightState:
        """Begin; return whether it is READY, OVER or CRASHED."""

    @abstractmethod
    def _step(self, action: Sequence[float] | None, frames: int) -> FlightState:
        """Fly on so many frames; return whether it is READY, OVER or CRASHED."""

    @abstractmethod
    def _end(self) -> None:
        """Give back what it holds, of whichever state; more than once is fine."""

    def _bind(self, vehicles: Mapping[str, FlownVehicle]) -> None:
        """Take vehicles that have their scripts: from now on they are led, and watched."""
        fleet = self.order.scenario.fleet
        self._formation = Formation(fleet.stations, vehicles)
        self._watch = ProximityWatch(vehicles, fleet.midair)
        first = self._first = next(iter(vehicles.values()))
        self.vehicles, self.script, self.telemetry = vehicles, first.script, first.telemetry
        self._are_several = len(vehicles) > 1

    def _give(self, action: Sequence[float], laws: Sequence[ActionLaw]) -> None:
        """Give the law of each vehicle its part of an action."""
        if not self._are_several:
            laws[0].given = tuple(action)
            return
        size = len(laws[0].action.fields)
        if len(action) != size * len(laws):
            raise ValueError(
                f'action: got {len(action)} numbers, expected {size} for each of '
                f'{len(laws)} aircraft')
        for law in laws:
            law.given, action = tuple(action[:size]), action[size:]

    def _look(self, going: bool) -> bool:
        """See who crashed or meets, and lead followers; return whether it goes on."""
        if not self._are_several:
            return going
        self._news.tell()
        if (crash := self.crash) is not None:
            # Others have flown on meanwhile, each by itself.
            for one in self.vehicles.values():
                one.script.cut(crash.at)
            return False
        for meeting in self._watch.look(self.time):
            self.meetings.append(meeting)
            self._display.say(str(meeting))
        if not going or (self.meetings and self._watch.ends):
            return False
        self._formation.lead(self.time)
        return True

    def _after(self, going: bool) -> FlightState:
        """Return the state by whether something is left to be flown."""
        if going:
            return FlightState.READY
        return FlightState.OVER if self.crash is None else FlightState.CRASHED

    def _go(self, do: Callable[..., FlightState], *arguments: object) -> FlightState:
        try:
            self.state = do(*arguments)
        except Exception as error:
            # The law of somebody else may raise anything.
            self.state, self.error = FlightState.FAILED, error
        except BaseException:
            self.close()
            raise
        if self.state is not FlightState.READY:
            self._display.end()
            self._end()
        return self.state

    def _say_remarks(self) -> None:
        """Say what is worth it of simulated aircraft of one's own."""
        for line in remarks(self.order):
            self._display.say(line)

    def _check_began(self) -> None:
        if not self.began:
            raise ValueError(
                f'the flight is {self.state}, and has not begun'
                + (f': {self.why}' if self.why else ''))

    def _expect(self, *states: FlightState) -> None:
        if self.state not in states:
            raise ValueError(
                f'the flight is {self.state}, expected {" or ".join(states)}'
                + (f': {self.why}' if self.why else ''))


def _said(error: Exception) -> str:
    if isinstance(error, KeyError) and error.args:
        return f'KeyError: {error.args[0]}'
    known = str(error) and type(error).__module__.startswith('xplane_bridge')
    if known or isinstance(error, ValueError | ImportError | OSError | RuntimeError):
        return str(error)
    return f'{type(error).__name__}: {error}'
