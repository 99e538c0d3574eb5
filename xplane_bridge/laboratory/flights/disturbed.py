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
An aircraft that another program flies, with what a scenario lets happen to it. No ROS.

Nobody engages a controller of this package here, or sends it a target: what is left of a scenario
is its start, its weather and what breaks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import Any

from xplane_bridge.bridges.conversions import axes, simulated
from xplane_bridge.bridges.conversions.air import true_to_equivalent_airspeed
from xplane_bridge.bridges.conversions.vehicle import Air
from xplane_bridge.common.timing import ROUNDED_TIME, SECOND_NS
from xplane_bridge.laboratory.flights.scenario.events import parse, ScenarioEvent
from xplane_bridge.laboratory.flights.scenario.scenario import find, load, Scenario, ScenarioError
from xplane_bridge.laboratory.flights.scenario.start import find_start, NO_SENSORS
from xplane_bridge.laboratory.flights.sensed import load_sensors
from xplane_bridge.laboratory.sensors.faults import SENSOR_FAULTS
from xplane_bridge.laboratory.sensors.imu import BodyMotion, ImuReading
from xplane_bridge.laboratory.sensors.specification import Figures
from xplane_bridge.laboratory.sensors.suite import Suite
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.weather_settings import set_weather, WEATHER
from xplane_bridge.simulation.peers.ardupilot import SensorReadings

# Who flies has a receiver of his own, which is given the true position.
_ELSEWHERE = 'gnss_outage'
_BREAK = tuple(name for name in SENSOR_FAULTS if name != _ELSEWHERE)
# Goals of a controller, which has its own here.
_GOALS = ('engage', 'target', 'change')
# A reading of the range finder is no longer one after this (s); then, and out of range, SITL gets
# these: its driver takes less than its minimum, and more than its maximum, for what they are.
_OLDEST_RANGE = 0.5
_NOTHING, _TOO_NEAR, _TOO_FAR = -1.0, 0.0, 1e4


class DisturbedAircraft(Aircraft):
    """
    An aircraft to which these events happen as its own time goes on, again after each reset.

    With ``figures`` it has sensors, and ``measured`` says what they deliver.
    """

    def __init__(self, events: Sequence[ScenarioEvent], figures: Figures | None, model: str,
                 initial: Initial, seed: int = 0, **loaded: Any) -> None:
        self._events, self._figures = tuple(events), figures
        super().__init__(model, initial, seed=seed, **loaded)
        self._arm()

    def _arm(self) -> None:
        self._waiting = deque(self._events)
        self._sensors = None if self._figures is None else _Sensors(self._figures, self.seed)

    def reset(self) -> None:
        """Return to the initial state; what happened happens again."""
        super().reset()
        self._arm()

    def advance(self, seconds: float) -> int:
        """Let happen what is due, then run all whole steps that fit; return their number."""
        while self._waiting and self._waiting[0].at <= self.time + ROUNDED_TIME:
            self._disturb(self._waiting.popleft())
        return super().advance(seconds)

    def measured(self) -> SensorReadings | None:
        """Return what the sensors deliver now, None without any."""
        return None if self._sensors is None else self._sensors.measured(self)

    def _disturb(self, event: ScenarioEvent) -> None:
        if event.action in WEATHER:
            set_weather(self, event.action, event.value)
        elif event.action == 'engine_failed':
            self.set_failed(event.value)
        else:
            assert self._sensors is not None
            self._sensors.break_down(event.action, event.value)


class _Sensors:
    """The sensors whose readings SITL takes; what the figures do not have is the truth."""

    def __init__(self, figures: Figures, seed: int) -> None:
        self._suite = Suite(figures, seed)
        self._imu: ImuReading | None = None
        self._air: Air | None = None
        self._measures_air = figures.air_data is not None
        self._measures_height = figures.measures_height
        self._range, self._range_at = _NOTHING, -math.inf

    def break_down(self, name: str, on: bool) -> None:
        """Let a fault of SENSOR_FAULTS begin or end."""
        setattr(self._suite.faults, name, on)

    def measured(self, aircraft: Aircraft) -> SensorReadings:
        """Return what they deliver of an aircraft, of each the newest."""
        s, time = aircraft.state, aircraft.time
        stamp = round(time * SECOND_NS)
        motion = BodyMotion(
            simulated.orientation(s), simulated.angular_velocity(s), simulated.specific_force(s))
        for imu in self._suite.show_motion(stamp, motion):
            self._imu = imu.reading
        for air in self._suite.show_air(stamp, simulated.air(s)):
            self._air = air.reading
        for found in self._suite.show_ground(stamp, s.altitude_agl, motion.orientation):
            self._range_at = found.stamp / SECOND_NS
            self._range = min(max(found.reading.distance, _TOO_NEAR), _TOO_FAR)
        read = motion if self._imu is None else self._imu.motion
        return SensorReadings(
            axes.flu_to_frd(read.angular_velocity or simulated.angular_velocity(s)),
            axes.flu_to_frd(read.specific_force or simulated.specific_force(s)),
            self._airspeed(s.eas),
            None if not self._measures_height else
            self._range if time - self._range_at < _OLDEST_RANGE else _NOTHING)

    def _airspeed(self, true: float) -> float:
        """Return the equivalent airspeed by what the air data computer says."""
        air = self._air
        if not self._measures_air or air is None or air.indicated_airspeed is None:
            return true
        if air.true_airspeed is None or air.density is None:
            return air.indicated_airspeed
        return true_to_equivalent_airspeed(air.true_airspeed, air.density)


@dataclass(frozen=True, slots=True)
class Happenings:
    """
    What happens to an aircraft that another program flies, and how it starts.

    ``left`` are phrases of what of a scenario is not flown; ``model`` and ``aircraft_path`` are
    empty where it says nothing.
    """

    events: tuple[ScenarioEvent, ...] = ()
    figures: Figures | None = None
    left: tuple[str, ...] = ()
    scenario: Scenario | None = None

    @property
    def model(self) -> str:
        """Return the model of the scenario."""
        return self._initial('model')

    @property
    def aircraft_path(self) -> str:
        """Return the folder of that."""
        return self._initial('aircraft_path')

    def _initial(self, name: str) -> str:
        return '' if self.scenario is None else str(self.scenario.initial.get(name, ''))

    def aircraft(self, model: str, initial: Initial, **given: Any) -> DisturbedAircraft:
        """Return the aircraft; ValueError as Aircraft has it."""
        return DisturbedAircraft(self.events, self.figures, model, initial, **given)

    def other(self, model: str, initial: Initial, **given: Any) -> DisturbedAircraft:
        """Return an aircraft beside it, in the same weather."""
        weather = [event for event in self.events if event.action in WEATHER]
        return DisturbedAircraft(weather, None, model, initial, **given)

    def start(self, default: Initial) -> Initial:
        """Return where it starts; what the scenario does not say is as in ``default``."""
        return default if self.scenario is None else find_start(
            self.scenario.initial, self.scenario.runway, default)


def happens(
    scenario: str = '', sensors: str | None = '', **weather: Sequence[float] | None
) -> Happenings:
    """
    Return what happens: of a scenario (name or file), and weather from the start on.

    ``sensors`` are a name, a file, 'none', or empty for the scenario's; None: nobody reads them.
    Raises FieldError for what cannot be read, and for what another program cannot be told.
    """
    given = None if not scenario else load(find(scenario), judged=False)
    kept = [parse({'at': 0.0, name: list(value)}, f'--{name}', 0.0)
            for name, value in weather.items() if value is not None]
    left = []
    for event in given.events if given is not None else ():
        if event.action in _GOALS:
            left.append(f'{event} at {event.at:g} s')
        else:
            kept.append(_possible(event, scenario))
    if given is not None and given.runscript is not None:
        raise ScenarioError(
            f'scenario {scenario}: it is a script of JSBSim, which steers the aircraft '
            'itself, and another program flies here')
    if given is not None and given.vehicles:
        raise ScenarioError(f'scenario {scenario}: it has several vehicles, and one is flown here')
    if given is not None and given.route is not None:
        left.append(f'its route from {given.route.begin:g} s on')
    name = sensors or ('' if given is None or sensors is None else given.sensors)
    figures = load_sensors(name) if name and name != NO_SENSORS else None
    if figures is None and (needed := [
            f'{event.action} at {event.at:g} s' for event in kept if event.action in _BREAK]):
        raise ScenarioError(f'scenario {scenario}: {", ".join(needed)} needs sensors: simulator '
                            'ardupilot has some with --sensors consumer')
    return Happenings(tuple(kept), figures, tuple(left), given)


def _possible(event: ScenarioEvent, scenario: str) -> ScenarioEvent:
    """Return an event that may happen here."""
    if event.action in (*WEATHER, 'engine_failed', *_BREAK):
        return event
    where = f'scenario {scenario}: {event.action} at {event.at:g} s'
    if event.action == _ELSEWHERE:
        raise ScenarioError(f'{where}: who flies has a receiver of his own, which can fail there: '
                            "SIM_GPS1_ENABLE of ArduPilot's SITL")
    raise ScenarioError(
        f'{where}: another program flies here, to which nothing can happen but '
        f'{", ".join((*WEATHER, "engine_failed", *_BREAK))}')
