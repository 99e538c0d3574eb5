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
Several aircraft in this process, on one clock: a flight each, some frames at a time.

Each is flown by what flies one alone (flights.core), so that it flies as it would alone with the
same orders. Where all are in the same frame, followers are told their targets by the states that
all have then, and it is seen who meets: in which order they fly on makes no difference. Until
that is due again each flies some frames by itself, with its model in the processor's caches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math
import time

import numpy as np

from xplane_bridge.bridges.conversions.axes import Vector as Vector3
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.common.timing import FRAME
from xplane_bridge.laboratory.control.policy.action import LEVELS
from xplane_bridge.laboratory.control.policy.observation import Numbers, Vector
from xplane_bridge.laboratory.flights.core import CoreFlight, never_engaged, record
from xplane_bridge.laboratory.flights.fleet.members import CoreMember
from xplane_bridge.laboratory.flights.fleet.multi_flight import MultiFlight
from xplane_bridge.laboratory.flights.flight import Display, FlightState
from xplane_bridge.laboratory.flights.laws import ActionLaw
from xplane_bridge.laboratory.flights.order import FlownBy, Order

# Seconds that each flies by itself, at most; what a sum of frames may be wrong by, in frames.
_LONGEST_APART = 1.0
_ROUNDED = 1e-6


class FleetFlight(MultiFlight[CoreFlight]):
    """
    A flight of several aircraft in this process.

    ``flights`` are to be read, and given targets (``flights[name].vehicle.set_target``) between
    steps: only the fleet may step them. Observations, truths and actions are those of the
    aircraft, one after the other.
    """

    def __init__(self, order: Order, display: Display) -> None:
        super().__init__(order, display)
        self.flights = {
            name: _make_flight(one, self._news.of(name, number))
            for number, (name, one) in enumerate(order.of_vehicles().items())}
        self._used = 0.0

    @property
    def time(self) -> float:
        """Return the time of the scenario in s."""
        return self._first.time

    def observation(self) -> Vector:
        """Return what is observed of each aircraft, one after the other."""
        return np.concatenate([one.observation() for one in self.flights.values()])

    def truth(self) -> Numbers:
        """Return the same as it would be without sensors."""
        return tuple(number for one in self.flights.values() for number in one.truth())

    def offset(self, name: str, other: str) -> Vector3:
        """Return east, north and up in m from one aircraft to another, in truth."""
        return LocalFrame(*self.flights[name].vehicle.place).geodetic_to_enu(
            *self.flights[other].vehicle.place)

    def _start(self) -> FlightState:
        self._began = time.process_time()
        scenario = self.order.scenario
        for name, flight in self.flights.items():
            flight.start()
            self._check(name, flight)
        self.script, self.telemetry = self._first.script, self._first.telemetry
        self._bind({name: CoreMember(flight) for name, flight in self.flights.items()})
        self._display.begin(self)
        self._news.tell()
        going = self._look(is_over=self._first.state is not FlightState.READY)
        if self.order.flown_by.actions:
            while going and not all(one.script.engaged for one in self.flights.values()):
                going = self._fly((), 1)
            if not going and self.crash is None:
                raise never_engaged(scenario.name)
        return self._after(going)

    def _step(self, action: Sequence[float] | None, frames: int) -> FlightState:
        given = self._shares(action)
        while frames > 0:
            apart = min(frames, self._frames_apart())
            if not self._fly(given, apart):
                return self._after(going=False)
            given = ()
            frames -= apart
        return FlightState.READY

    def _frames_apart(self) -> int:
        """Return how many frames each can fly without regard to the others."""
        due = min(self._formation.due, self._watch.due) - self.time
        return max(1, math.ceil(min(due, _LONGEST_APART) / FRAME - _ROUNDED))

    def _shares(self, action: Sequence[float] | None) -> Sequence[Sequence[float]]:
        """Return the action of each aircraft, none without any."""
        if action is None or not self.order.flown_by.actions:
            return ()
        size = len(LEVELS[self.order.flown_by.actions].fields)
        if len(action) != size * len(self.flights):
            raise ValueError(
                f'action: got {len(action)} numbers, expected {size} for each of '
                f'{len(self.flights)} aircraft')
        return [action[at:at + size] for at in range(0, len(action), size)]

    def _fly(self, given: Sequence[Sequence[float]], frames: int) -> bool:
        """Fly frames, each by itself; return whether there is another to be flown."""
        for number, (name, flight) in enumerate(self.flights.items()):
            flight.step(given[number] if given else None, frames)
            if flight.error is not None:
                self._check(name, flight)
        self._news.tell()
        return self._look(is_over=self._first.state is not FlightState.READY)

    def _check(self, name: str, flight: CoreFlight) -> None:
        """Raise what made one fail."""
        if flight.error is not None:
            self._whose = name
            raise flight.error

    def _end(self) -> None:
        for flight in self.flights.values():
            flight.close()
        if self.state is not FlightState.CLOSED and self.flown and not self._used:
            record(self, {name: one.vehicle for name, one in self.flights.items()})
            self._used = time.process_time() - self._began
            self._display.say(
                f'{len(self.flights)} aircraft flown for {self.flown:.1f} s in '
                f'{self._used:.2f} s of processor time')


class _OfFleet(CoreFlight):
    """One aircraft of several: the fleet says when it is over."""

    def _end(self) -> None:
        """Do nothing."""


def _make_flight(order: Order, display: Display) -> CoreFlight:
    """Return the flight of one; it waits for none to be engaged, since all have one clock."""
    level = order.flown_by.actions
    if not level:
        return _OfFleet(order, display)
    return _OfFleet(replace(order, flown_by=FlownBy()), display, ActionLaw(LEVELS[level]))
