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
"""What an aircraft's take-offs and landings need to know of it, found by trims and by standing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
import math

from xplane_bridge.common.units import POUND
from xplane_bridge.laboratory.control.runway.performance import Performance
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.model import Model, TrimError
from xplane_bridge.simulation.aircraft.state import KNOT
from xplane_bridge.simulation.aircraft.steady import usual_airspeeds
from xplane_bridge.simulation.aircraft.studies.physics_rate import physics_rate
from xplane_bridge.simulation.aircraft.terrain import HOME_ELEVATION, HOME_LAT_DEG, HOME_LON_DEG
from xplane_bridge.simulation.aircraft.trim import Steady, trim

# Trims are looked for this high (m) above the home airfield.
_ABOVE_GROUND = 300.0
# Of the stall speed in that configuration (FAR 23.51, 23.73).
_ROTATION, _APPROACH, _PATTERN = 1.1, 1.3, 1.5
# Heavier (kg) it is a large aeroplane (CS 23.2005), whose approach is slower (CS 25.125).
_LARGE, _APPROACH_OF_LARGE = 8618.0, 1.23
_LEAST_CLIMB = 1.3
_SWEEP = 0.98
_IN_A_ROW = 3
# Nothing with an engine glides slower than this (m/s).
_SLOWEST = 5.0
_TRIALS = 12
_GLIDE_PATH = math.radians(3.0)
# Where no part but the wheels would touch the ground, the nose is raised no further (rad).
_HIGHEST = math.radians(12.0)
_STEEPEST_CLIMB = math.radians(15.0)
# A wheel within this (m) of the plane of symmetry is not one of two.
_IN_THE_MIDDLE = 0.1
# Then a steered wheel has turned (s).
_TURNS_WITHIN = 2.0
_INCH = 0.0254


@dataclass(frozen=True, slots=True)
class Flaps:
    """Positions of the flaps, 0..1."""

    take_off: float = 0.0
    landing: float = 1.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f'{name}-flaps is {getattr(self, name):g}, expected 0 .. 1')


def runway_performance(
    name: str, flaps: Flaps, aircraft_path: str = '', controls: str = ''
) -> Performance:
    """
    Return the speeds, attitudes and dimensions of an aircraft's take-offs and landings.

    Stall speeds are the slowest trims with the engines idling, near sea level. ``controls`` is the
    file that says what moves it, if not the one beside it. Raises ValueError
    for an aircraft that has no engine, does not stand, or cannot be trimmed so.
    """
    start = Initial(parked=True, controls=controls)
    rate = physics_rate(name, start, aircraft_path)
    standing = Aircraft(name, start, 1.0 / rate, aircraft_path=aircraft_path)
    if not standing.engine_count:
        raise ValueError(f'{name} has no engine to take off with')
    if not all(standing.state.wheels_on_ground) or not standing.state.wheels_on_ground:
        raise ValueError(f'{name} does not stand on all its wheels')
    wheels_forward, wheels_down = _main_wheels(_contacts(standing, 'gear'))
    rest = standing.state
    touch_down_pitch, highest_pitch = _touch_down_pitch(standing), _highest_pitch(standing)
    # It rolls; and it may have none, which takes no trims to find.
    steering = _steering(standing)
    trims = _Trims(name, aircraft_path, rate, controls)
    stall = trims.stall(flaps.take_off, 1.0)
    landing_stall = trims.stall(flaps.landing, 1.0)
    climb_speed, climb = trims.best_climb(flaps.take_off, _LEAST_CLIMB * stall, _PATTERN * stall)
    is_large = standing.property_value('inertia/weight-lbs') * POUND > _LARGE
    approach_speed = (_APPROACH_OF_LARGE if is_large else _APPROACH) * landing_stall
    # There must be one.
    trims.at(approach_speed, flaps.landing, 1.0, path_angle=-_GLIDE_PATH)
    return Performance(
        rest_height=rest.altitude_agl, wheels_forward=wheels_forward,
        wheels_down=wheels_down, rest_pitch=rest.theta,
        touch_down_pitch=touch_down_pitch, highest_pitch=highest_pitch, steering=steering,
        stall_speed=stall, landing_stall_speed=landing_stall,
        rotation_speed=_ROTATION * stall, climb_speed=climb_speed,
        pattern_speed=max(_PATTERN * stall, approach_speed), approach_speed=approach_speed,
        climb_pitch=min(climb.pitch, _STEEPEST_CLIMB),
        take_off_flaps=flaps.take_off, landing_flaps=flaps.landing)


class _Trims:
    """Trims of a model in the configurations of take-off and landing."""

    def __init__(self, name: str, aircraft_path: str, rate: int, controls: str) -> None:
        self._name, self._load = name, partial(
            Model, name, 1.0 / rate, 0, aircraft_path, controls=controls)

    def at(self, airspeed: float, flaps: float, gear: float, path_angle: float = 0.0,
           throttle: float | None = None) -> Steady:
        """Return the steady flight at a calibrated airspeed (m/s); ValueError if there is none."""
        model = self._load()
        model.set_initial_conditions(
            HOME_LAT_DEG, HOME_LON_DEG, HOME_ELEVATION, HOME_ELEVATION + _ABOVE_GROUND, 0.0)
        model.set('ic/vc-kts', airspeed / KNOT)
        model.initialise()
        for node, value in (
                ('fcs/flap-cmd-norm', flaps), ('fcs/flap-pos-norm', flaps),
                ('gear/gear-cmd-norm', gear), ('gear/gear-pos-norm', gear)):
            model.set(node, value)
        for number in range(model.reader.engine_count):
            for lever in ('mixture', 'advance'):
                model.set(f'fcs/{lever}-cmd-norm[{number}]', 1.0)
            model.engines.start(number)
        try:
            return trim(model, path_angle, 0.0, throttle)
        except TrimError as error:
            raise ValueError(
                f'{self._name} cannot be trimmed at {airspeed:.1f} m/s with flaps {flaps:g}: '
                f'{error}') from None

    def stall(self, flaps: float, gear: float) -> float:
        """Return the slowest airspeed (m/s) with a steady glide, the engines idling."""
        model = self._load()
        fastest = usual_airspeeds(model)[0] * KNOT
        slowest = -1
        # The farthest first: three slower ones in a row that do not fly end it.
        while (slower := next((
                number for number in range(slowest + _IN_A_ROW, slowest, -1)
                if self._glides(fastest * _SWEEP ** number, flaps, gear)), None)) is not None:
            slowest = slower
        if slowest < 0:
            raise ValueError(f'{self._name} has no steady glide with flaps {flaps:g}')
        return fastest * _SWEEP ** slowest

    def _glides(self, airspeed: float, flaps: float, gear: float) -> bool:
        if airspeed < _SLOWEST:
            return False
        try:
            self.at(airspeed, flaps, gear, throttle=0.0)
        except ValueError:
            return False
        return True

    def best_climb(self, flaps: float, low: float, high: float) -> tuple[float, Steady]:
        """Return the airspeed (m/s) of the fastest climb with full throttle, and its trim."""
        found: list[tuple[float, float, Steady]] = []
        why = ''
        for number in range(_TRIALS):
            speed = low + (high - low) * number / (_TRIALS - 1)
            try:
                steady = self.at(speed, flaps, 1.0, throttle=1.0)
            except ValueError as error:
                why = str(error)
            else:
                rate = steady.true_airspeed * math.sin(steady.flight_path_angle)
                found.append((rate, speed, steady))
        if not found:
            raise ValueError(why)
        rate, speed, steady = max(found, key=lambda one: one[0])
        if not rate > 0.0:
            raise ValueError(f'{self._name} does not climb with full throttle')
        return speed, steady


def _contacts(aircraft: Aircraft, kind: str) -> list[tuple[float, float, float]]:
    """Return forward, right and down (m) from the centre of gravity of what touches the ground."""
    count = int(aircraft.property_value('gear/num-units'))
    centre = aircraft.properties.read(['inertia/cg-x-in', 'inertia/cg-z-in'])
    found = []
    for number in range(count):
        x, y, z = aircraft.properties.read(
            [f'{kind}/unit[{number}]/{axis}-position' for axis in 'xyz'])
        # Its coordinates are back, right and up; those of other kinds are not there.
        if not math.isnan(x):
            found.append(((centre[0] - x) * _INCH, y * _INCH, (centre[1] - z) * _INCH))
    return found


def _main_wheels(wheels: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Return forward and down (m) of the main wheels: those beside the plane of symmetry."""
    main = [wheel for wheel in wheels if abs(wheel[1]) > _IN_THE_MIDDLE]
    if not main:
        raise ValueError('it has no main wheels beside one another')
    return (sum(wheel[0] for wheel in main) / len(main),
            sum(wheel[2] for wheel in main) / len(main))


def _touch_down_pitch(aircraft: Aircraft) -> float:
    """Return the pitch (rad) at which all its wheels touch the ground together, unloaded."""
    wheels = _contacts(aircraft, 'gear')
    forward, down = _main_wheels(wheels)
    third = max(wheels, key=lambda wheel: abs(wheel[0] - forward))
    return math.atan((third[2] - down) / (third[0] - forward))


def _highest_pitch(aircraft: Aircraft) -> float:
    """Return the pitch (rad) at which it would touch the ground behind its main wheels."""
    wheels = _contacts(aircraft, 'gear')
    forward, down = _main_wheels(wheels)
    behind = [*_contacts(aircraft, 'contact'), *(wheel for wheel in wheels if wheel[0] < forward)]
    angles = [math.atan2(down - z, forward - x) for x, _, z in behind if x < forward - 0.2]
    return min([_HIGHEST, *angles])


def _steering(aircraft: Aircraft) -> float:
    """Return the yaw rate per ground speed (1/m) with the steered wheel fully turned."""
    wheels = _contacts(aircraft, 'gear')
    forward, _ = _main_wheels(wheels)
    base = max((abs(x - forward) for x, y, _ in wheels if abs(y) < _IN_THE_MIDDLE), default=0.0)
    aircraft.set_controls(rudder=1.0)
    aircraft.step(round(_TURNS_WITHIN / aircraft.dt))
    angle = math.radians(aircraft.property_value('fcs/steer-pos-deg'))
    if not (base > 0.0 and angle):
        raise ValueError(f'{aircraft.model} has no wheel that steers')
    return abs(math.tan(angle)) / base
