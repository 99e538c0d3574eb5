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
A flight: an order being flown, in this process or through ROS; ``places.open_flight`` makes one.

    with open_flight(Order(load(find('steps')))) as flight:
        flight.fly()
        print(flight.state, flight.result().judgements)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
import math
from types import TracebackType
from typing import Protocol, Self

from xplane_bridge.bridges.conversions.airframe_events import AirframeEvent
from xplane_bridge.common.fields import FieldError
from xplane_bridge.common.machine import is_at_fault
from xplane_bridge.laboratory.control.policy.observation import Numbers, Vector
from xplane_bridge.laboratory.flights.analysis.series import History
from xplane_bridge.laboratory.flights.order import Order
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

    It is CRASHED where the airframe ended it: ``crash`` says how. It is FAILED where it cannot go
    on: ``error`` says why, ``fault`` by whom. ``script`` has what has happened so far,
    ``telemetry`` the newest of what was measured, ``meetings`` the mid-airs. One thread owns it.
    Use it as a context manager.
    """

    script: Script
    telemetry: VehicleTelemetry

    def __init__(self, order: Order, display: Display) -> None:
        self.order = order
        self.state = FlightState.NEW
        self.error: Exception | None = None
        self.meetings: list[Meeting] = []
        self._display = display

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def why(self) -> str:
        """Return the sentence why it FAILED, '' if it has not."""
        return '' if self.error is None else _said(self.error)

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
        """Return what the airframe ended it by, None if it did not; see FlightState.CRASHED."""
        return self.script.crash if hasattr(self, 'script') else None

    @property
    def crashed(self) -> str:
        """Return the name of the aircraft that crashed, '' if it is alone or none has."""
        return ''

    @property
    def crash_outcome(self) -> str:
        """Return the sentence of its crash, or ''."""
        return '' if self.crash is None else self.crash.outcome

    @property
    def crash_verdict(self) -> str:
        """Return the sentence of a crash that its scenario does not expect, or ''."""
        return '' if self.order.scenario.expect_crash else self.crash_outcome

    @property
    def vehicles(self) -> Mapping[str, Flight]:
        """Return the flight of each of its vehicles by name: of one alone itself, by ''."""
        return {'': self}

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

    @abstractmethod
    def observation(self) -> Vector:
        """Return what whoever gives the actions is told (control.policy.observation.FIELDS)."""

    @abstractmethod
    def truth(self) -> Numbers:
        """Return the observation as it would be without sensors."""

    @abstractmethod
    def history(self) -> History:
        """
        Return all that was measured, commanded and wanted, with its times.

        Also of a flight that is closed. Raises ValueError if it has not begun, and ValueError,
        OSError or ImportError if it is in a recording that cannot be read.
        """

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
        return (self.results() if of_vehicles is None else of_vehicles)['']

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
