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
Several aircraft on one clock: their results, and what binds them while they fly.

Where they fly is a subclass's: in this process, or through ROS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
import math
import time
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.conversions.airframe_events import AirframeEvent
from xplane_bridge.bridges.conversions.axes import Vector
from xplane_bridge.bridges.conversions.geodesy import geodetic_to_ecef, LocalFrame
from xplane_bridge.common.timing import FRAME, ROUNDED_TIME
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.formation import target_in
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.policy.action import LEVELS
from xplane_bridge.laboratory.control.policy.observation import Numbers
from xplane_bridge.laboratory.control.policy.observation import Vector as Observation
from xplane_bridge.laboratory.flights.analysis import verdict
from xplane_bridge.laboratory.flights.analysis.series import History
from xplane_bridge.laboratory.flights.analysis.together import Tracks
from xplane_bridge.laboratory.flights.analysis.verdict import Judgement
from xplane_bridge.laboratory.flights.core import CoreFlight, never_engaged, record
from xplane_bridge.laboratory.flights.flight import Display, Flight, FlightState
from xplane_bridge.laboratory.flights.laws import ActionLaw
from xplane_bridge.laboratory.flights.order import FlownBy, Order
from xplane_bridge.laboratory.flights.result import FlightResult, Meeting
from xplane_bridge.laboratory.flights.scenario.fleet import Midair, Station


class Member(Protocol):
    """One aircraft of several; places are latitude, longitude (deg), m above the ellipsoid."""

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


class CoreMember:
    """An aircraft that is flown in this process."""

    def __init__(self, flight: CoreFlight) -> None:
        self._flight = flight

    @property
    def place(self) -> Vector:
        """Return where it is, in truth."""
        return self._flight.vehicle.place

    @property
    def known_place(self) -> Vector:
        """Return where it knows to be; NaN without a fix."""
        return self._flight.vehicle.known_place

    @property
    def engaged(self) -> bool:
        """Return whether its controller is engaged."""
        return self._flight.script.engaged

    @property
    def held_airspeed(self) -> float:
        """Return the airspeed that it holds."""
        return self._flight.vehicle.law.target.airspeed

    @property
    def gains(self) -> Gains | None:
        """Return the gains of its autopilot; None if another law flies it."""
        law = self._flight.vehicle.law
        return law.gains if isinstance(law, Cascade) else None

    def measurement(self) -> Measurement:
        """Return what it knows of itself."""
        return self._flight.vehicle.measurement()

    def set_target(self, values: Mapping[str, float]) -> None:
        """Tell it what to hold; SI."""
        self._flight.vehicle.set_target(values)


# Followers are told where their leader is, ten times per second, and hold their slots.

# As routes are led, and as often as a data link between aircraft may well be heard.
_PERIOD = 0.1


class Formation:
    """The followers of a fleet: ``stations`` by their names, as ``members`` has them."""

    def __init__(self, stations: Mapping[str, Station], members: Mapping[str, Member]) -> None:
        self._stations, self._members = stations, members
        self._due = {name: station.begin for name, station in stations.items()}

    @property
    def due(self) -> float:
        """Return when somebody is told something next, in s."""
        return min(self._due.values(), default=math.inf) - ROUNDED_TIME

    def lead(self, now: float) -> None:
        """
        Tell those who are due where they have to fly.

        By what all have observed at that time: so no order of theirs makes a difference. Who is
        not engaged is told nothing; nor is anybody while it is not known where it or its leader
        is. Raises ExperimentError for a target that cannot be flown.
        """
        targets = {}
        frames: dict[str, LocalFrame | None] = {}
        for name, station in self._stations.items():
            if now < self._due[name] - ROUNDED_TIME:
                continue
            while self._due[name] <= now + ROUNDED_TIME:
                self._due[name] += _PERIOD
            member = self._members[name]
            if not member.engaged:
                continue
            leader = self._members[station.leader]
            if station.leader not in frames:
                frames[station.leader] = _frame_at(leader.known_place)
            targets[name] = _wanted(station, frames[station.leader], leader, member)
        for name, values in targets.items():
            if values:
                self._members[name].set_target(values)


def _frame_at(place: Vector) -> LocalFrame | None:
    """Return axes at a place, None where it is not known."""
    return LocalFrame(*place) if math.isfinite(sum(place)) else None


def _wanted(
    station: Station, frame: LocalFrame | None, leader: Member, own: Member
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

    def __init__(self, vehicles: Mapping[str, Member], midair: Midair) -> None:
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
            self.due = now + min((least - self._radius) / closing, _LONGEST) - FRAME
        self._last = now, places
        near = {*np.flatnonzero(distances < self._radius).tolist()}
        for pair in sorted(near - self._near):
            yield Meeting(now, self._names[rows[pair]], self._names[columns[pair]],
                          float(distances[pair]))
        self._near = near


def _lengths(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.sqrt((vectors * vectors).sum(axis=1))
    return found


One = TypeVar('One', bound=Flight)


class MultiFlight(Flight, Generic[One]):
    """
    A flight of several aircraft: ``flights`` has one for each, by its name.

    ``script`` and ``telemetry`` are those of the first.
    """

    flights: dict[str, One]

    def __init__(self, order: Order, display: Display) -> None:
        super().__init__(order, display)
        self._news = FrameMessages(display, len(order.scenario.vehicles))
        self._whose = ''

    @property
    def vehicles(self) -> Mapping[str, Flight]:
        """Return the flight of each aircraft by its name."""
        return self.flights

    @property
    def why(self) -> str:
        """Return the sentence why it FAILED, and which aircraft, '' if it has not."""
        said = super().why
        return f'vehicle {self._whose}: {said}' if said and self._whose else said

    @property
    def crash(self) -> AirframeEvent | None:
        """Return the first crash of all, None if there is none."""
        return self.flights[who].crash if (who := self.crashed) else None

    @property
    def crashed(self) -> str:
        """Return who crashed first, '' if nobody has."""
        crashes = [(one.crash.at, name) for name, one in self.flights.items()
                   if one.crash is not None]
        return min(crashes)[1] if crashes else ''

    @property
    def crash_outcome(self) -> str:
        """Return the sentence of the first crash, and whose it is, or ''."""
        who = self.crashed
        said = self.flights[who].crash_outcome if who else ''
        return said.replace(' s: ', f' s: vehicle {who}: ', 1)

    @property
    def crash_verdict(self) -> str:
        """Return the same if nobody expects it of that aircraft, or ''."""
        who = self.crashed
        return self.crash_outcome if who and self.flights[who].crash_verdict else ''

    def histories(self) -> dict[str, History]:
        """Return the history of each aircraft by its name, until one of them crashed."""
        found = {name: one.history() for name, one in self.flights.items()}
        if (crash := self.crash) is None:
            return found
        return {name: history.until(crash.at) for name, history in found.items()}

    def tracks(self) -> Tracks:
        """Return where all have been."""
        fleet = self.order.scenario.fleet
        assert fleet is not None
        return Tracks(self.histories(), fleet)

    def history(self) -> History:
        """Return the histories as one: series, topics and counts are NAME.QUANTITY and so on."""
        self._check_began()
        found = self.histories()

        def named(part: Callable[[History], Mapping[str, Any]]) -> dict[str, Any]:
            return {f'{name}.{key}': value for name, history in found.items()
                    for key, value in part(history).items()}

        return replace(
            next(iter(found.values())), namespace='/', series=named(lambda one: one.series),
            topics=named(lambda one: one.topics), counts=named(lambda one: one.counts))

    def result(self, of_vehicles: Mapping[str, FlightResult] | None = None) -> FlightResult:
        """Return figures and judgements of all, and over two; KeyError for unknown figures."""
        results = self.results() if of_vehicles is None else of_vehicles
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
            judgements + self._over_two(over_two, figures))

    def _over_two(self, history: History, figures: Mapping[str, Any]) -> list[Judgement]:
        # That it ends by a crash is expected of one of them.
        scenario = replace(self.order.scenario, events=(), expect_crash=False)
        return verdict.judge(
            scenario, history, figures, self.flown, (), is_cut=bool(self.crash_verdict))

    @property
    def _first(self) -> One:
        return next(iter(self.flights.values()))

    def _bind(self, members: Mapping[str, Member]) -> None:
        """Let these be led, and be watched."""
        fleet = self.order.scenario.fleet
        assert fleet is not None
        self._formation = Formation(fleet.stations, members)
        self._watch = ProximityWatch(members, fleet.midair)

    def _look(self, is_over: bool) -> bool:
        """See who crashed or meets, and lead followers; return whether it goes on."""
        if (crash := self.crash) is not None:
            # Others have flown on meanwhile, each by itself.
            for one in self.flights.values():
                one.script.cut(crash.at)
            return False
        for meeting in self._watch.look(self.time):
            self.meetings.append(meeting)
            self._display.say(str(meeting))
        if is_over or (self.meetings and self._watch.ends):
            return False
        self._formation.lead(self.time)
        return True


class FrameMessages:
    """What the aircraft say in a frame: once, with the names of those who say it."""

    def __init__(self, display: Display, count: int) -> None:
        self._display, self._count = display, count
        self.phase = ''
        self._said: dict[str, list[str]] = {}

    def of(self, name: str, number: int) -> Display:
        """
        Return where the aircraft of a number is shown.

        The phase is that of the first, and shown when the last has flown as far.
        """
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
    """Where one aircraft of several is shown."""

    def __init__(
        self, news: FrameMessages, name: str, number: int, display: Display | None
    ) -> None:
        self._news, self._name, self._number, self._display = news, name, number, display

    def begin(self, flight: Flight) -> None:
        """Do nothing: the fleet is shown."""

    def end(self) -> None:
        """Do nothing."""

    def say(self, text: str) -> None:
        """Pass it on with the name."""
        self._news.note(self._name, text)

    def update(self, phase: str, progress: float) -> None:
        """Show the phase of the first, and the progress of the last."""
        if not self._number:
            self._news.phase = phase
        if self._display is not None:
            self._display.update(self._news.phase, progress)


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

    def observation(self) -> Observation:
        """Return what is observed of each aircraft, one after the other."""
        return np.concatenate([one.observation() for one in self.flights.values()])

    def truth(self) -> Numbers:
        """Return the same as it would be without sensors."""
        return tuple(number for one in self.flights.values() for number in one.truth())

    def offset(self, name: str, other: str) -> Vector:
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
