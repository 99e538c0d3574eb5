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
An aircraft flown in this process: what is observed of it, and what a control law commands.

A protocol in between may round both (``Rounding``), and sensors may stand before the law.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
import math
from typing import Any, Protocol

from xplane_bridge.bridges.conversions.axes import Vector
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.geoid import msl_to_ellipsoid, usual_undulation
from xplane_bridge.bridges.conversions.odom_frame import OdomFrame
from xplane_bridge.bridges.conversions.simulated import by_cockpit
from xplane_bridge.bridges.conversions.vehicle import Air, Controls, VehicleState
from xplane_bridge.common.controls import CONTROLS, FLOWN
from xplane_bridge.common.timing import FRAME, PHYSICS_RATE
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.path import PathFollower
from xplane_bridge.laboratory.control.policy.observation import Numbers, numbers, vector
from xplane_bridge.laboratory.control.policy.observation import Vector as Observation
from xplane_bridge.laboratory.control.policy.traffic import TrafficReport, with_traffic
from xplane_bridge.laboratory.control.runway.autopilot import Autopilot
from xplane_bridge.laboratory.control.runway.charted import ChartedRunway
from xplane_bridge.laboratory.control.targets import Target
from xplane_bridge.laboratory.flights import observed
from xplane_bridge.laboratory.flights.analysis.measured import (
    COMMANDS,
    Measured,
    Row,
    TARGETS,
    to_history,
    Touched,
)
from xplane_bridge.laboratory.flights.analysis.series import History
from xplane_bridge.laboratory.flights.controller import ControlLaw, FlownByLaw
from xplane_bridge.laboratory.flights.laws import ActionLaw, fly_procedure, make_autopilot
from xplane_bridge.laboratory.flights.observed import Observed
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.recordings.collected import Collected, Collector, TimedRows
from xplane_bridge.laboratory.flights.script import ExperimentError, Script
from xplane_bridge.laboratory.flights.sensed import Sensed
from xplane_bridge.laboratory.sensors.faults import SENSOR_FAULTS
from xplane_bridge.laboratory.sensors.imu import BodyMotion
from xplane_bridge.laboratory.sensors.specification import Figures
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import DEFAULT_MODEL, Initial
from xplane_bridge.simulation.aircraft.loading.parameter_file import airframe_limits
from xplane_bridge.simulation.aircraft.sample import SAMPLE, SampleRow
from xplane_bridge.simulation.aircraft.state import AircraftState
from xplane_bridge.simulation.aircraft.studies.physics_rate import explained
from xplane_bridge.simulation.aircraft.studies.standing import standing_compressions
from xplane_bridge.simulation.aircraft.studies.trim_in_place import trim_in_place
from xplane_bridge.simulation.aircraft.weather_settings import set_weather

# The controls that no law commands.
NO_OTHERS = (None,) * (len(CONTROLS) - len(FLOWN))
_UNKNOWN = (math.nan,) * 3


def make_aircraft(
    initial: Initial, seed: int = 0, model: str = DEFAULT_MODEL, aircraft_path: str = '',
    physics_rate: int = PHYSICS_RATE,
) -> Aircraft:
    """Return an aircraft of so many steps per second, trimmed; ValueError if it cannot be."""
    aircraft = Aircraft(model, initial, 1.0 / physics_rate, seed, aircraft_path=aircraft_path)
    # As simulator_node does: JSBSim's turbulence has a state from the first frame on.
    aircraft.set_turbulence(0.0, 0)
    return aircraft


class Rounding(Protocol):
    """An aircraft behind a simulator's protocol, which rounds its state and its commands."""

    def state(self) -> VehicleState:
        """Return its state as the bridge knows it."""

    def fly_on(self, command: Controls, seconds: float) -> None:
        """Command it; it then flies that long."""


class CoreVehicle(FlownByLaw):
    """
    An aircraft with its control law, and what was measured, commanded and wanted so far.

    ``observe`` measures the current state; then either ``command_of_law`` or ``own_command``
    returns what ``fly_on`` flies a frame with. ``state`` is the aircraft's, ``time`` in seconds
    since the initial state. With ``sensors`` the law knows only what they deliver; all else here
    is the truth, or what a ``rounding`` leaves of it. One of a flight has its ``order`` and
    ``script``.
    """

    order: Order
    script: Script
    # What is reported of others, to a law that sees traffic.
    reports: tuple[TrafficReport, ...] | None = None

    def __init__(self, aircraft: Aircraft, law: ControlLaw | None = None,
                 sensors: Figures | None = None,
                 rounding: Callable[[Aircraft], Rounding] | None = None,
                 gains_named: str = '', sensor_seed: int | None = None,
                 has_runway: bool = False) -> None:
        """
        Take an aircraft that nobody has flown yet, see make_aircraft().

        ``gains_named`` are used instead of its own (parameter_file.chosen); of an aircraft without
        any nothing may be engaged that needs some. ``sensor_seed`` is by default the same seed.
        With ``has_runway`` it is measured what touches the ground.
        """
        self.aircraft = aircraft
        aircraft.bear(airframe_limits(aircraft.model, aircraft.aircraft_path, gains_named))
        autopilot = partial(
            make_autopilot, aircraft.model, aircraft.aircraft_path, gains_named,
            aircraft.initial.plant.gains)
        self.law: ControlLaw = law or autopilot()
        if isinstance(law, ActionLaw):
            law.place(self.observation, autopilot())
            self.reports = () if law.sees_traffic else None
        if isinstance(self.law, Autopilot):
            self.law.exact = sensors is None
        self.time = 0.0
        self._undulation = usual_undulation()
        self._local: LocalFrame | None = None
        self._sensors = sensors
        self._sensor_seed = aircraft.seed if sensor_seed is None else sensor_seed
        self._sensed: Sensed | None = None
        # Set before the first state is observed, of a flight that is recorded.
        self.collector: Collector | None = None
        self._rounding = None if rounding is None else rounding(aircraft)
        self._seen: VehicleState | None = None
        # Of the observed state; None: nobody has asked yet.
        self._more: SampleRow | None = None
        self._known_place: tuple[Vector, Vector] | None = None
        self._now: Measurement | None = None
        self._truth: Numbers | None = None
        self._known_target: tuple[Target | None, tuple[float, ...]] = (None, ())
        self._measured = Measured(self._row, 0 if rounding else len(SAMPLE))
        self._touched = Touched(standing_compressions(aircraft)) if has_runway else None
        self._commanded = TimedRows(len(FLOWN))
        self._wanted: list[tuple[float, ...]] = []

    # A frame.

    @property
    def state(self) -> AircraftState:
        """Return the aircraft's state."""
        return self.aircraft.state

    @property
    def has_sensors(self) -> bool:
        """Return whether the law knows only what sensors deliver."""
        return self._sensors is not None

    def observe(self) -> None:
        """Measure the current state."""
        self._more = self._known_place = self._now = self._truth = None
        if self._rounding is None:
            self._sample = self.aircraft.sampler.sample()
        else:
            self._seen = self._rounding.state()
        kept = self._seen or self._sample
        if self._local is None:
            self._begin(kept)
        self._measured.add(self.time, kept)
        self.note_observation(self.time)
        if self.collector is not None:
            (_, _, altitude), position = self._place()
            self.collector.add(self.time, self._surroundings(), altitude, position)
        if self._touched is not None:
            self._touched.add(self.time, *self.aircraft.sampler.contacts())
        if self._sensed is not None:
            self._sensed.show(
                self.time, self._place()[0], *self._parts(),
                self.aircraft.sampler.height_above_ground())

    def observation(self) -> Observation:
        """Return what a policy is told of the observed state (control.observation.FIELDS)."""
        found = vector(self.truth()) if self._sensed is None else (
            self._sensed.observed().vector(self._target_numbers()))
        return found if self.reports is None else with_traffic(found, self.reports, self.time)

    def truth(self) -> Numbers:
        """Return what it would be told without sensors."""
        if self._truth is None:
            self._truth = self._true_numbers()
        return self._truth

    def _true_numbers(self) -> Numbers:
        place, position = self._place()
        if self._seen is None:
            return observed.truth_to_numbers(
                self._sample, self._surroundings(), place, position, self._odom_frame,
                self._target_numbers())
        return numbers(Observed.of(
            *self._parts(), place, position, self._odom_frame).vector(self._target_numbers()))

    def _begin(self, first: SampleRow | VehicleState) -> None:
        """Take the first position as that of the local frame."""
        lat_deg, lon_deg, altitude = self._height_of(first)
        self._local = LocalFrame(lat_deg, lon_deg, altitude)
        self._odom_frame = OdomFrame(self._local)
        if self._sensors is not None:
            self._sensed = Sensed(
                self._sensors, self._sensor_seed, self._local, self.collector)

    def _height_of(self, kept: SampleRow | VehicleState) -> Vector:
        """Return latitude and longitude (deg), and height above the ellipsoid (m)."""
        if isinstance(kept, tuple):
            lat_deg, lon_deg, altitude = kept[:3]
        else:
            lat_deg, lon_deg, altitude = (
                kept.latitude_deg, kept.longitude_deg, kept.altitude_msl)
        return lat_deg, lon_deg, msl_to_ellipsoid(
            altitude, self._undulation.height_m(lat_deg, lon_deg))

    def _place_of(self, kept: SampleRow | VehicleState) -> tuple[Vector, Vector]:
        """Return the same, and the position in the local frame (m)."""
        assert self._local is not None
        place = self._height_of(kept)
        return place, self._local.geodetic_to_enu(*place)

    def _place(self) -> tuple[Vector, Vector]:
        """Return where the aircraft was observed."""
        if self._known_place is None:
            self._known_place = self._place_of(self._seen or self._sample)
        return self._known_place

    @property
    def place(self) -> Vector:
        """Return latitude and longitude (deg), and height above the ellipsoid (m), in truth."""
        return self._place()[0]

    def report(self) -> TrafficReport:
        """Return what others are told of it: its place and velocity over ground, in truth."""
        return TrafficReport(self.place, self._parts()[1] or _UNKNOWN, self.time)

    @property
    def known_place(self) -> Vector:
        """Return the same as the law knows it; NaN without a fix."""
        if self._sensed is None:
            return self._place()[0]
        return (*self._sensed.observed().fix[:2], self.measurement().altitude)

    def _surroundings(self) -> SampleRow:
        if (more := self._more) is None:
            more = self._more = self.aircraft.sampler.surroundings()
        return more

    def _parts(self) -> tuple[BodyMotion, Vector | None, Air]:
        """Return what the common topics have of the observed state."""
        if self._seen is None:
            return observed.truth_to_parts(self._sample, self._surroundings())
        return observed.to_parts(self._seen)

    def _target_numbers(self) -> tuple[float, ...]:
        if self.law.target is not self._known_target[0]:
            self._known_target = self.law.target, observed.known_target(self.law.target)
        return self._known_target[1]

    def _row(self, kept: SampleRow | VehicleState) -> Row:
        """Return the quantities measured in a frame."""
        place, (east, north, _) = self._place_of(kept)
        if isinstance(kept, tuple):
            return (*place, east, north, *kept[3:])
        now = observed.to_measurement(kept, place[2], east, north)
        return (
            *place, east, north, now.roll, now.pitch, now.heading, now.roll_rate, now.pitch_rate,
            now.yaw_rate, now.airspeed, *observed.flow_and_controls(kept))

    @property
    def is_open_loop(self) -> bool:
        """Return whether what the law commands is the same, whatever is observed meanwhile."""
        return super().is_open_loop and self._rounding is None and self._sensed is None and (
            self.collector is None and self._touched is None)

    def fly_on(self, command: Controls, frames: int = 1) -> None:
        """Fly frames with a command; all but the last are measured, and a crash ends them."""
        aircraft, commanded, measure = self.aircraft, self._commanded.add, self._measured.add
        elevator, aileron, rudder, throttle = command[:len(FLOWN)]
        usual: tuple[float, float, float, float] | None = None
        if (elevator is not None and aileron is not None and rudder is not None
                and throttle is not None and command[len(FLOWN):] == NO_OTHERS):
            usual = elevator, aileron, rudder, throttle
        elif self.collector is not None:
            self.collector.command(command[len(FLOWN):])
        known = usual or [math.nan if value is None else value for value in command[:len(FLOWN)]]
        if self._rounding is None:
            if usual:
                aircraft.fly_by(*usual)
            else:
                aircraft.set_controls(**by_cockpit(command))
        for left in range(frames - 1, -1, -1):
            commanded(self.time, known)
            if self._rounding is not None:
                self._rounding.fly_on(command, FRAME)
            else:
                aircraft.advance(FRAME)
            self.time += FRAME
            if aircraft.crash is not None:
                self.crash = explained(aircraft)
                return
            if left:
                measure(self.time, aircraft.sampler.sample())

    # What events do.

    def follow(self, path: PathFollower) -> str:
        """Let the cascade follow a path; another law is led by headings."""
        if not isinstance(self.law, Cascade):
            return 'heading'
        try:
            # Where it is on it is its own.
            self.law.follow_path(copy(path))
        except ValueError as error:
            raise ExperimentError(f'the route cannot be flown: {error}') from None
        self.keep_target()
        return ''

    def fly_procedure(
        self, name: str, values: Mapping[str, Any], runway: ChartedRunway | None
    ) -> None:
        """Let the autopilot fly from a runway, or to it (scenario.runway.PROCEDURES)."""
        assert self._local is not None
        assert runway is not None
        try:
            fly_procedure(self.law, name, values, runway.seen_from(self._local))
        except ValueError as error:
            raise ExperimentError(str(error)) from None
        self.keep_target()

    def trim(self, values: Mapping[str, float]) -> dict[str, float]:
        """Trim the aircraft where it is; return the controls that hold it there."""
        # What was observed is of the state before; what is true is not.
        self.measurement()
        try:
            steady = trim_in_place(
                self.aircraft, values.get('altitude_msl'), values.get('airspeed'),
                values.get('flight_path_angle', 0.0), values.get('bank', 0.0))
        except ValueError as error:
            raise ExperimentError(str(error)) from None
        self._sample, self._more, self._truth = self.aircraft.sampler.sample(), None, None
        self._note_moved()
        held = steady.commands
        return held if math.isnan(steady.throttle) else held | {'throttle': steady.throttle}

    def freeze_autopilot(self, on: bool) -> None:
        """Refuse: without commands this simulation does not go on."""
        raise ExperimentError('autopilot_frozen works in real time only')

    def disturb(self, name: str, value: bool | Sequence[float]) -> None:
        """Set the weather, a sensor's fault, failed engines: all, none, or those listed."""
        if name in SENSOR_FAULTS:
            if self._sensed is None:
                raise ExperimentError(f'{name} needs sensors')
            setattr(self._sensed.faults, name, value)
            return
        if name == 'engine_failed':
            self.aircraft.set_failed(
                value if isinstance(value, bool) else tuple(map(int, value)))
            self._note_moved()
            return
        if isinstance(value, bool):
            raise ExperimentError(f'{name} works in real time only')
        set_weather(self.aircraft, name, value)

    def _note_moved(self) -> None:
        if self.collector is not None:
            self.collector.has_moved = True

    def measurement(self) -> Measurement:
        """Return what the law knows of the observed state."""
        if self._now is None:
            self._now = self._measure() if self._sensed is None else self._sensed.measurement()
        return self._now

    def _measure(self) -> Measurement:
        (_, _, altitude), (east, north, _) = self._place()
        if self._seen is not None:
            return observed.to_measurement(self._seen, altitude, east, north)
        return observed.truth_to_measurement(
            self._sample, self._surroundings(), altitude, east, north)

    def reported_controls(self) -> Controls:
        """Return the controls that the observed state reports."""
        if self._seen is not None:
            return self._seen.controls or Controls()
        return observed.reported_controls(self.aircraft.state)

    def keep_target(self) -> None:
        """Note the target of the law, which is new."""
        target, self._truth = self.law.target, None
        self._wanted.append((self.time, target.altitude, target.heading, target.airspeed))
        if self.collector is not None:
            self.collector.target(target)

    # What is known.

    @property
    def telemetry(self) -> CoreVehicle:
        """Return itself: it has the newest of what was measured."""
        return self

    def last(self, name: str) -> float:
        """Return the newest value of what is measured, commanded or wanted, NaN if none."""
        if name in TARGETS:
            return self._wanted[-1][1 + TARGETS.index(name)] if self._wanted else math.nan
        if name in COMMANDS:
            return self._commanded.last(COMMANDS[name])
        return self._measured.last(name)

    def since(self, name: str, start: float) -> tuple[Sequence[float], Sequence[float]]:
        """Return times and values of a measured quantity from ``start`` on."""
        return self._measured.since(name, start)

    def collected(self) -> Collected:
        """Return what the collector has, with all that was commanded and touched."""
        assert self.collector is not None
        return self.collector.collected(
            self._measured.rows, self._commanded,
            None if self._touched is None else self._touched.rows)

    def history(self) -> History:
        """Return all that was measured, commanded and wanted, as a recording would have it."""
        return to_history(
            self._measured, self._commanded, self._wanted,
            None if self._touched is None else self._touched.rows,
            None if self.collector is None else self.collected())
