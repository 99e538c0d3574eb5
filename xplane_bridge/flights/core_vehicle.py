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

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cache
import math
from pathlib import Path
from typing import Protocol

import numpy as np

from xplane_bridge.aircraft.aircraft import Aircraft
from xplane_bridge.aircraft.initial import DEFAULT_MODEL, Initial
from xplane_bridge.aircraft.state import AircraftState
from xplane_bridge.aircraft.studies.trim_in_place import trim_in_place
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.timing import FRAME
from xplane_bridge.control import envelope, gains
from xplane_bridge.control.cascade import Cascade
from xplane_bridge.control.envelope import Envelope
from xplane_bridge.control.gains import Gains
from xplane_bridge.control.measurement import Measurement
from xplane_bridge.control.path import PathFollower
from xplane_bridge.control.policy.observation import Vector as Observation
from xplane_bridge.conversions.geodesy import LocalFrame
from xplane_bridge.conversions.geoid import msl_to_ellipsoid, undulation_source
from xplane_bridge.conversions.odom_frame import OdomFrame
from xplane_bridge.conversions.vehicle import Controls, VehicleState
from xplane_bridge.flights import observed
from xplane_bridge.flights.analysis.history import make_flight
from xplane_bridge.flights.analysis.quantities import EACH_FRAME, TARGET
from xplane_bridge.flights.analysis.series import Arrivals, History, Series
from xplane_bridge.flights.controller import ControlLaw, FlownByLaw
from xplane_bridge.flights.laws import ActionLaw
from xplane_bridge.flights.observed import Observed
from xplane_bridge.flights.script import ExperimentError
from xplane_bridge.flights.sensed import Sensed
from xplane_bridge.sensors.faults import SENSOR_FAULTS
from xplane_bridge.sensors.specification import Figures

_MEASURED = (
    'latitude', 'longitude', 'altitude', 'roll', 'pitch', 'heading', 'east', 'north', 'airspeed',
    'roll_rate', 'pitch_rate', 'yaw_rate', 'angle_of_attack', 'sideslip', *FLOWN)
_COLUMNS = {name: column for column, name in enumerate(_MEASURED, start=1)}
_COMMANDS = {f'command_{name}': column for column, name in enumerate(FLOWN, start=1)}
_TARGETS = ('target_altitude', 'target_heading', 'target_airspeed')
undulation = cache(undulation_source)

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
    is the truth, or what a ``rounding`` leaves of it.
    """

    def __init__(self, initial: Initial, seed: int = 0, law: ControlLaw | None = None,
                 model: str = DEFAULT_MODEL, aircraft_path: str = '',
                 sensors: Figures | None = None,
                 rounding: Callable[[Aircraft], Rounding] | None = None,
                 gains_named: str = '') -> None:
        """
        Trim the aircraft; ValueError if that is not possible.

        ``gains_named`` are used instead of its own (gains.chosen); of an aircraft without any
        nothing may be engaged that needs some.
        """
        self.aircraft = Aircraft(model, initial, seed=seed, aircraft_path=aircraft_path)
        self.law: ControlLaw = law or Cascade(*tuned(model, aircraft_path, gains_named))
        if isinstance(law, ActionLaw):
            law.place(self.observation, Cascade(*tuned(model, aircraft_path, gains_named)))
        self.time = 0.0
        self._wind: Sequence[float] = (0.0, 0.0, 0.0)
        self._turbulence: Sequence[float] = (0.0, 0.0)
        # As simulator_node does: JSBSim's turbulence has a state from the first frame on.
        self._set_weather()
        self._undulation = undulation()
        self._local: LocalFrame | None = None
        self._sensors, self._seed = sensors, seed
        self._sensed: Sensed | None = None
        self._rounding = None if rounding is None else rounding(self.aircraft)
        self._seen: VehicleState | None = None
        self._place = (math.nan, math.nan, math.nan)
        self._measured: list[tuple[float, ...]] = []
        self._commanded: list[tuple[float | None, ...]] = []
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
        state = self.aircraft.state
        seen = self._seen = None if self._rounding is None else self._rounding.state()
        if seen is None:
            lat_deg, lon_deg, altitude = state.lat_deg, state.lon_deg, state.altitude_msl
        else:
            lat_deg, lon_deg, altitude = seen.latitude_deg, seen.longitude_deg, seen.altitude_msl
        altitude = msl_to_ellipsoid(altitude, self._undulation.height_m(lat_deg, lon_deg))
        if self._local is None:
            self._local = LocalFrame(lat_deg, lon_deg, altitude)
            self._odom_frame = OdomFrame(self._local)
            if self._sensors is not None:
                self._sensed = Sensed(self._sensors, self._seed, self._local)
        self._place = lat_deg, lon_deg, altitude
        east, north, _ = self._local.geodetic_to_enu(lat_deg, lon_deg, altitude)
        if seen is None:
            self._measured.append((
                self.time, lat_deg, lon_deg, altitude, state.phi, state.theta, state.psi, east,
                north, state.cas, state.p, state.q, state.r, state.alpha, state.beta,
                state.elevator, state.aileron, state.rudder, _throttle(state)))
            now = observed.measurement_of_truth(state, altitude, east, north)
        else:
            now = observed.measurement_of(seen, altitude, east, north)
            self._measured.append((
                self.time, lat_deg, lon_deg, altitude, now.roll, now.pitch, now.heading, east,
                north, now.airspeed, now.roll_rate, now.pitch_rate, now.yaw_rate,
                *observed.flow_and_controls(seen)))
        if self._sensed is not None:
            now = self._sensed.measure(
                self.time, self._place, observed.motion_of(seen or state),
                observed.velocity_of(seen or state), observed.air_of(seen or state))
        self._now = now
        self.note_observation(self.time)

    def observation(self) -> Observation:
        """Return what a policy is told of the observed state (control.observation.FIELDS)."""
        if self._sensed is None:
            return self.truth()
        return self._sensed.observed().vector(self.law.target)

    def truth(self) -> Observation:
        """Return what it would be told without sensors."""
        about = self._seen or self.aircraft.state
        return Observed.of(
            observed.motion_of(about), self._place, self._odom_frame,
            observed.velocity_of(about), observed.air_of(about)).vector(self.law.target)

    def fly_on(self, command: Controls) -> None:
        """Fly a frame with a command."""
        self._commanded.append((
            self.time, command.elevator, command.aileron, command.rudder, command.throttle))
        if self._rounding is not None:
            self._rounding.fly_on(command, FRAME)
        else:
            self.aircraft.set_controls(**command.given())
            self.aircraft.advance(FRAME)
        self.time += FRAME

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

    def trim(self, values: Mapping[str, float]) -> dict[str, float]:
        """Trim the aircraft where it is; return the controls that hold it there."""
        try:
            steady = trim_in_place(
                self.aircraft, values.get('altitude_msl'), values.get('airspeed'),
                values.get('flight_path_angle', 0.0), values.get('bank', 0.0))
        except ValueError as error:
            raise ExperimentError(str(error)) from None
        held = steady.commands
        return held if math.isnan(steady.throttle) else held | {'throttle': steady.throttle}

    def freeze_autopilot(self, on: bool) -> None:
        """Refuse: without commands this simulation does not go on."""
        raise ExperimentError('autopilot_frozen works in real time only')

    def disturb(self, name: str, value: bool | Sequence[float]) -> None:
        """Set wind, turbulence, a sensor's fault, failed engines: all, none, or those listed."""
        if name in SENSOR_FAULTS:
            if self._sensed is None:
                raise ExperimentError(f'{name} needs sensors')
            setattr(self._sensed.faults, name, value)
            return
        if name == 'engine_failed':
            self.aircraft.set_failed(
                value if isinstance(value, bool) else tuple(map(int, value)))
            return
        if isinstance(value, bool):
            raise ExperimentError(f'{name} works in real time only')
        if name == 'wind':
            self._wind = value
        else:
            self._turbulence = value
        self._set_weather()

    def _set_weather(self) -> None:
        east, north, up = self._wind
        at_20_ft, severity = self._turbulence
        self.aircraft.set_wind(north, east, -up)
        self.aircraft.set_turbulence(at_20_ft, int(severity))

    def measurement(self) -> Measurement:
        """Return what the law knows of the observed state."""
        return self._now

    def reported_controls(self) -> Controls:
        """Return the controls that the observed state reports."""
        if self._seen is not None:
            return self._seen.controls or Controls()
        state = self.aircraft.state
        return Controls(
            state.elevator, state.aileron, state.rudder, _throttle(state), state.flaps,
            state.gear, state.speedbrake)

    def keep_target(self) -> None:
        """Note the target of the law, which is new."""
        target = self.law.target
        self._wanted.append((self.time, target.altitude, target.heading, target.airspeed))

    # What is known.

    def last(self, name: str) -> float:
        """Return the newest value of what is measured, commanded or wanted, NaN if none."""
        if name in _TARGETS:
            return self._wanted[-1][1 + _TARGETS.index(name)] if self._wanted else math.nan
        if name in _COMMANDS:
            value = self._commanded[-1][_COMMANDS[name]] if self._commanded else None
            return math.nan if value is None else value
        return self._measured[-1][_COLUMNS[name]] if self._measured else math.nan

    def since(self, name: str, start: float) -> tuple[Sequence[float], Sequence[float]]:
        """Return times and values of a measured quantity from ``start`` on."""
        rows = self._measured[bisect_left(self._measured, (start,)):]
        values = [row[_COLUMNS[name]] for row in rows]
        if name == 'heading':
            values = np.unwrap(values).tolist()
        return [row[0] for row in rows], values

    def history(self) -> History:
        """Return all that was measured, commanded and wanted, as a recording would have it."""
        series: dict[str, Series] = {}
        topics: dict[str, Arrivals] = {}
        for rows, names, of in (
            (self._measured, _MEASURED, EACH_FRAME),
            (self._commanded, tuple(f'command_{name}' for name in FLOWN),
             ('command/controls',)),
            (_last_of_each(self._wanted), _TARGETS, (TARGET,)),
        ):
            if rows:
                times, *columns = np.array(rows, dtype=np.float64).T
                series |= {
                    name: Series(times, column)
                    for name, column in zip(names, columns, strict=True)}
                never = np.full(len(times), math.nan)
                topics |= {topic: Arrivals(times, never) for topic in of}
        return make_flight('core', 0.0, series, topics)


def tuned(model: str, aircraft_path: str = '', named: str = '') -> tuple[Gains, Envelope]:
    """Return gains and envelope of a model, the defaults where none are known."""
    try:
        file = gains.chosen(model, aircraft_path, named)
    except ValueError:
        if named:
            raise
        return Gains(), Envelope()
    known = file.stat()
    return _read(file, known.st_mtime_ns, known.st_size)


@cache
def _read(file: Path, changed: int, size: int) -> tuple[Gains, Envelope]:
    """Return what is in a file as it was ``changed`` last."""
    return gains.load(file), envelope.load(file)


def _throttle(state: AircraftState) -> float:
    return state.engines[0].throttle if state.engines else 0.0


def _last_of_each(rows: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Return the last row of each time."""
    return list({row[0]: row for row in rows}.values())
