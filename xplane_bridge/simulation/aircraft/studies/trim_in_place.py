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

"""Trimming a flying aircraft where it is."""

from __future__ import annotations

import math

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.geometry import matrix_ned_body, transform
from xplane_bridge.simulation.aircraft.limits import check_finite, MAX_ALTITUDE
from xplane_bridge.simulation.aircraft.model import TrimError
from xplane_bridge.simulation.aircraft.state import KNOT
from xplane_bridge.simulation.aircraft.studies.spare import make_spare, Spare
from xplane_bridge.simulation.aircraft.trim import hold, Steady, trim, velocity_through_air

_STEEPEST_BANK = math.radians(75.0)
_STEEPEST_PATH = math.radians(60.0)


def trim_in_place(aircraft: Aircraft, altitude_msl: float | None = None,
                  cas: float | None = None, flight_path_angle: float = 0.0,
                  bank: float = 0.0) -> Steady:
    """
    Move an aircraft into steady flight where it is, and return what was found.

    altitude_msl in m and cas, the calibrated airspeed, in m/s: None keeps a value. Angles in rad;
    with a bank it is a level turn, and a glider chooses its own flight path angle. Raises
    ValueError, changing nothing, if there is no such flight: it says what could not be trimmed.
    """
    steady = find_trim(make_spare(aircraft), altitude_msl, cas, flight_path_angle, bank)
    fly_steadily(aircraft, steady, altitude_msl)
    return steady


def find_trim(spare: Spare, altitude_msl: float | None = None, cas: float | None = None,
              flight_path_angle: float = 0.0, bank: float = 0.0) -> Steady:
    """Return the steady flight of an aircraft, for fly_steadily; see trim_in_place."""
    state = spare.state
    altitude_msl = state.altitude_msl if altitude_msl is None else altitude_msl
    cas = state.cas if cas is None else cas
    _check(spare, altitude_msl, cas, flight_path_angle, bank)
    model = spare.model()
    model.set_initial_conditions(
        state.lat_deg, state.lon_deg, state.terrain_msl, altitude_msl, math.degrees(state.psi))
    model.set('ic/vc-kts', cas / KNOT)
    model.initialise()
    try:
        return hold(model, trim(model, flight_path_angle, bank))
    except TrimError as error:
        raise ValueError(
            f'{spare.name} cannot be trimmed at {cas:.1f} m/s and {altitude_msl:.0f} m: {error}'
        ) from None


def fly_steadily(aircraft: Aircraft, steady: Steady, altitude_msl: float | None = None) -> None:
    """
    Move an aircraft into a steady flight that was found, keeping place and heading.

    Stick and pedals are centred where trim wheels hold the flight; throttles are set, and engines
    have their speed. Wind and turbulence stay.
    """
    aircraft.set_controls(
        **steady.commands, **steady.trims,
        throttle=None if math.isnan(steady.throttle) else steady.throttle)
    through_air = transform(
        matrix_ned_body(steady.roll, steady.pitch, aircraft.state.psi), velocity_through_air(
            steady.true_airspeed, steady.angle_of_attack, steady.sideslip))
    north, east, down = (
        a + b for a, b in zip(through_air, aircraft.wind, strict=True))
    aircraft.teleport(
        altitude_msl=altitude_msl, pitch_deg=math.degrees(steady.pitch),
        roll_deg=math.degrees(steady.roll), velocity_ned=(north, east, down),
        rates=steady.rates, settled=True)


def _check(spare: Spare, altitude_msl: float, cas: float, path_angle: float,
           bank: float) -> None:
    check_finite(
        altitude_msl=altitude_msl, airspeed=cas, flight_path_angle=path_angle, bank=bank)
    ground = spare.state.terrain_msl
    if not ground < altitude_msl <= MAX_ALTITUDE:
        raise ValueError(f'altitude_msl is {altitude_msl} m, must be above the ground '
                         f'({ground:.0f} m) and at most {MAX_ALTITUDE:.0f} m')
    if not cas > 0.0:
        raise ValueError(f'airspeed is {cas} m/s, must be above 0')
    for name, value, most in (('flight_path_angle', path_angle, _STEEPEST_PATH),
                              ('bank', bank, _STEEPEST_BANK)):
        if abs(value) > most:
            raise ValueError(f'{name} is {value} rad, must be within {most:.2f} rad')
    if not all(engine.running for engine in spare.state.engines):
        raise ValueError(f'{spare.name} cannot be trimmed with an engine stopped')
