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

"""What binds the vehicles of a flight: formations, mid-airs, and that all are shown together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.conversions.axes import Vector
from xplane_bridge.bridges.conversions.geodesy import geodetic_to_ecef, LocalFrame
from xplane_bridge.common.timing import FRAME, ROUNDED_TIME
from xplane_bridge.laboratory.control.formation import target_in
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.policy.observation import Numbers
from xplane_bridge.laboratory.control.policy.observation import Vector as Observation
from xplane_bridge.laboratory.flights.analysis.series import History
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.result import Meeting
from xplane_bridge.laboratory.flights.route import VehicleTelemetry
from xplane_bridge.laboratory.flights.scenario.fleet import Midair, Station, station_at
from xplane_bridge.laboratory.flights.script import Progress, Script


class FlownVehicle(Protocol):
    """
    A vehicle of a flight: its order, its script, and what is known of it.

    Places are latitude and longitude (deg), and m above the ellipsoid.
    """

    order: Order
    script: Script

    @property
    def telemetry(self) -> VehicleTelemetry:
        """Return the newest of what was measured."""

    def history(self) -> History:
        """Return all that was measured, commanded and wanted; see Flight.history."""

    def observation(self) -> Observation:
        """Return what whoever gives the actions is told; ValueError if nobody gives them."""

    def truth(self) -> Numbers:
        """Return the observation as it would be without sensors."""

    @property
    def place(self) -> Vector:
        """Return where it is, in truth."""

    @property
    def known_place(self) -> Vector:
        """Return where it knows to be; NaN without a fix."""

    @property
    def engaged(self) -> bool:
        """Return whether its controller is engaged."""

    @property
    def held_airspeed(self) -> float:
        """Return the airspeed that it holds (m/s, indicated), NaN if that is not known."""

    @property
    def gains(self) -> Gains | None:
        """Return the gains of its autopilot; None if another law flies it, led by headings."""

    def measurement(self) -> Measurement:
        """Return what it knows of itself."""

    def set_target(self, values: Mapping[str, float]) -> None:
        """Tell it what to hold; SI."""


# Followers are told where their leader is, ten times per second, and hold their slots.

# As routes are led, and as often as a data link between aircraft may well be heard.
_PERIOD = 0.1


class Formation:
    """The followers of a flight: ``stations`` by their names, as ``vehicles`` has them."""

    def __init__(
        self, stations: Mapping[str, tuple[Station, ...]], vehicles: Mapping[str, FlownVehicle]
    ) -> None:
        self._stations, self._vehicles = stations, vehicles
        self._due = {name: first.begin for name, (first, *_) in stations.items()}

    @property
    def due(self) -> float:
        """Return when somebody is told something next, in s."""
        return min(self._due.values(), default=math.inf) - ROUNDED_TIME

    def lead(self, now: float) -> None:
        """
        Tell those who are due where they have to fly.

        By what all have observed at that time: so no order of theirs makes a difference. Who is
        not engaged is told nothing; nor is anybody while it is not known where it or its leader
        is, or while one of them is unheard: it holds what it was told last. Raises
        ExperimentError for a target that cannot be flown.
        """
        targets = {}
        frames: dict[str, LocalFrame | None] = {}
        for name, stations in self._stations.items():
            station = station_at(stations, now)
            if station is None or now < self._due[name] - ROUNDED_TIME:
                continue
            while self._due[name] <= now + ROUNDED_TIME:
                self._due[name] += _PERIOD
            vehicle, leader = self._vehicles[name], self._vehicles[station.leader]
            if not vehicle.engaged or vehicle.script.is_unheard or leader.script.is_unheard:
                continue
            if station.leader not in frames:
                frames[station.leader] = _frame_at(leader.known_place)
            targets[name] = _wanted(station, frames[station.leader], leader, vehicle)
        for name, values in targets.items():
            if values:
                self._vehicles[name].set_target(values)


def _frame_at(place: Vector) -> LocalFrame | None:
    """Return axes at a place, None where it is not known."""
    return LocalFrame(*place) if math.isfinite(sum(place)) else None


def _wanted(
    station: Station, frame: LocalFrame | None, leader: FlownVehicle, own: FlownVehicle
) -> dict[str, float]:
    """Return the targets of a follower; {} if it is not known where it or its leader is."""
    place = own.known_place
    if frame is None or not math.isfinite(sum(place)):
        return {}
    east, north, up = frame.geodetic_to_enu(*place)
    now, gains = own.measurement(), own.gains
    target = target_in(
        station.slot, leader.measurement(), now, (-east, -north, -up),
        gains or Gains(), leader.held_airspeed)
    # A law of somebody else's is led by headings, as along a route.
    direction = ('course', target.course) if gains is not None else (
        'heading', (target.course - now.track + now.heading) % math.tau)
    return {
        'altitude': target.altitude, 'airspeed': target.airspeed, direction[0]: direction[1]}


# Who meets in the air.

# By this (m/s) an aircraft gets faster within a second, at 10 g: until two can be near, nobody
# looks, a second at most.
_FASTER = 100.0
_LONGEST = 1.0


class ProximityWatch:
    """Watch aircraft, by their names, for two that are too near one another."""

    def __init__(self, vehicles: Mapping[str, FlownVehicle], midair: Midair) -> None:
        self._vehicles, self._radius = vehicles, midair.radius
        self.ends = midair.ends
        self._names = tuple(vehicles)
        self._pairs = np.triu_indices(len(self._names), 1)
        # When to look next (s).
        self.due = 0.0 if len(self._names) > 1 else math.inf
        self._last: tuple[float, NDArray[np.float64]] | None = None
        # Those who are near one another: they have met once, until they part.
        self._near: set[int] = set()

    def look(self, now: float) -> Iterator[Meeting]:
        """Yield who has met since the last look, at a time (s) at which all are observed."""
        if now < self.due:
            return
        places = np.array([geodetic_to_ecef(*one.place) for one in self._vehicles.values()])
        rows, columns = self._pairs
        distances = _lengths(places[rows] - places[columns])
        # Whose position is not a number meets nobody.
        least = float(np.fmin.reduce(distances))
        if self._last is not None:
            moved = _lengths(places - self._last[1]) / (now - self._last[0])
            closing = 2.0 * (float(np.fmax.reduce(moved)) + _FASTER)
            self.due = now + min(_LONGEST, (least - self._radius) / closing) - FRAME
        self._last = now, places
        near = {*np.flatnonzero(distances < self._radius).tolist()}
        for pair in sorted(near - self._near):
            yield Meeting(now, self._names[rows[pair]], self._names[columns[pair]],
                          float(distances[pair]))
        self._near = near


def _lengths(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.sqrt((vectors * vectors).sum(axis=1))
    return found


class FrameMessages:
    """What the vehicles of a flight say in a frame: once, with the names of those who say it."""

    def __init__(self, display: Progress, count: int) -> None:
        self._display, self._count = display, count
        self.phase = ''
        self._said: dict[str, list[str]] = {}

    def of(self, name: str, number: int) -> Progress:
        """
        Return where the vehicle of a number is shown; one alone is shown as it is.

        The phase is that of the first, and shown when the last has flown as far.
        """
        if self._count == 1:
            return self._display
        return _Shown(self, name, number, self._display if number == self._count - 1 else None)

    def note(self, name: str, text: str) -> None:
        """Keep what one says."""
        self._said.setdefault(text, []).append(name)

    def tell(self) -> None:
        """Say what was said in a frame."""
        if self._said:
            for text, names in self._said.items():
                self._display.say(
                    text if len(names) == self._count else f'{", ".join(names)}: {text}')
            self._said.clear()


class _Shown:
    """Where one vehicle of several is shown."""

    def __init__(
        self, news: FrameMessages, name: str, number: int, display: Progress | None
    ) -> None:
        self._news, self._name, self._number, self._display = news, name, number, display

    def say(self, text: str) -> None:
        """Pass it on with the name."""
        self._news.note(self._name, text)

    def update(self, phase: str, progress: float) -> None:
        """Show the phase of the first, and the progress of the last."""
        if not self._number:
            self._news.phase = phase
        if self._display is not None:
            self._display.update(self._news.phase, progress)
