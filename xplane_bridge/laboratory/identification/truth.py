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
The derivatives of an aircraft that is known: JSBSim's, by central differences at a trim.

They are those of all forces and moments together, as flight shows them, and of the flow as it
follows from the motion: C_m_q has C_m_alpha_dot in it. Where a flight moves a control or the angle
of attack so far that the slope there is another one, the derivative is a range. So is that by the
airspeed, which the speed of a propeller follows later.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
import math
from typing import Any, NamedTuple

import numpy as np

from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.identification.disturbances import (
    altitude_and_airspeed,
    collect_figures,
)
from xplane_bridge.laboratory.identification.identify import Identification
from xplane_bridge.laboratory.identification.manoeuvres import manoeuvres
from xplane_bridge.laboratory.identification.motion.airframe import Airframe, read_airframe
from xplane_bridge.laboratory.identification.motion.equations import (
    Derivative,
    FORMS,
    LONGITUDINAL,
    ModelStructure,
    RATES,
    SPEED,
)
from xplane_bridge.laboratory.identification.motion.signals import Array, FlightSignals
from xplane_bridge.simulation.aircraft.linear_model import LinearModel
from xplane_bridge.simulation.aircraft.plant import AS_IN_ITS_FILE, Plant
from xplane_bridge.simulation.aircraft.studies.linearize import bare
from xplane_bridge.simulation.aircraft.studies.modes import compute_modes
from xplane_bridge.simulation.aircraft.studies.spare import Spare
from xplane_bridge.simulation.aircraft.studies.steady_flight import in_steady_flight

_FELT_AT_ONCE = 'true_airspeed'


class Slope(NamedTuple):
    """A derivative at the trim, and the lowest and the highest of it where it was flown."""

    value: float
    low: float
    high: float

    def away(self, value: float) -> float:
        """Return how far a value is from the range, 0 within it."""
        return value - min(max(value, self.low), self.high)


class Truth(NamedTuple):
    """What is known of an aircraft: its derivatives, and figures of its modes by both names."""

    slopes: Mapping[Derivative, Slope]
    modes: Mapping[tuple[str, str], float]


class ReferenceAircraft:
    """
    A simulated aircraft in steady level flight: its airframe, and its own derivatives.

    ``true_airspeed`` in m/s, ``density`` in kg/m^3, ``plant`` in what it differs from its model;
    of delays and rates of actuators nothing is known. Raises ValueError for a model that does not
    exist or cannot fly so, and ImportError where JSBSim is missing.
    """

    def __init__(self, model: str, true_airspeed: float, density: float,
                 aircraft_path: str = '', plant: Plant = AS_IN_ITS_FILE) -> None:
        altitude, airspeed = altitude_and_airspeed(true_airspeed, density)
        self._spare, _ = in_steady_flight(
            model, altitude, airspeed, aircraft_path=aircraft_path,
            plant=plant.without_actuators())
        frame = read_airframe(self._spare.model())
        # Engines that turn make a yawing moment of a pitch rate.
        trimmed = bare(self._spare, ())
        by_pitch_rate = trimmed.a[:, trimmed.index('states', 'pitch_rate')]
        roll, yaw = (float(by_pitch_rate[trimmed.index('states', name)])
                     for name in ('roll_rate', 'yaw_rate'))
        self.airframe: Airframe = replace(
            frame, angular_momentum=frame.i_zz * yaw - frame.i_xz * roll)

    def truth(self, reached: Mapping[str, tuple[float, float]] | None = None,
              surfaces: Collection[str] = ()) -> Truth:
        """
        Return its derivatives and modes.

        ``reached`` are the lowest and highest deviations from the trim of angle_of_attack (rad)
        and controls, by name, where a flight got to. Of ``surfaces`` the derivatives are by their
        deflections (rad), without what a control system makes of states and commands.
        """
        at_trim = self._at({}, surfaces)
        # In the first moment a propeller keeps its speed, later it has another one.
        first = self._slopes(self._spare, bare(self._spare, surfaces, at_once=True))
        fast = {name: value for name, value in first.items() if name.regressor == _FELT_AT_ONCE}
        points = [at_trim, *(
            self._at({name: deviation}, surfaces) for name, both in (reached or {}).items()
            for deviation in both if deviation and name not in surfaces), at_trim | fast]
        return Truth({name: Slope(value, min(point[name] for point in points),
                                  max(point[name] for point in points))
                      for name, value in at_trim.items()},
                     collect_figures(compute_modes(bare(self._spare, surfaces))))

    def _at(self, deviations: Mapping[str, float],
            surfaces: Collection[str]) -> dict[Derivative, float]:
        state = self._spare.state
        moved: dict[str, Any] = {}
        for name, deviation in deviations.items():
            if name == 'angle_of_attack':
                moved['alpha'] = state.alpha + deviation
            elif name == 'throttle':
                moved['engines'] = tuple(one._replace(
                    throttle=min(max(one.throttle + deviation, 0.0), 1.0))
                    for one in state.engines)
            else:
                moved[name] = min(max(getattr(state, name) + deviation, -1.0), 1.0)
        spare = self._spare
        if moved:
            state = state._replace(**moved)
            spare = type(spare)(spare.name, spare.load, state, spare.propeller)
        return self._slopes(spare, bare(spare, surfaces))

    def _slopes(self, spare: Spare, linear: LinearModel) -> dict[Derivative, float]:
        state = spare.state
        pressure = 0.5 * state.density * state.tas ** 2 * self.airframe.wing_area
        found = {}
        for form in (*FORMS, SPEED):
            for name in (*form.states, *form.controls):
                if name in FLOWN and name not in [one.name for one in linear.inputs]:
                    continue
                column = _coefficients(linear, form, name, self.airframe, pressure)
                if name in RATES:
                    column = column * (2.0 * state.tas / self.airframe.length(name))
                if name == 'true_airspeed':
                    column = column * state.tas
                found.update({
                    one: float(value) for coefficient, value in zip(
                        form.coefficients, column, strict=True)
                    if (one := Derivative(coefficient, name)) not in form.omitted})
        return found


def flown_as(model: str, flight: FlightSignals, aircraft_path: str = '') -> ReferenceAircraft:
    """
    Return an aircraft in steady flight as fast and as high as it was in a flight's manoeuvres.

    Raises ValueError where that was not measured, or not possible; ImportError without JSBSim.
    """
    for name in ('true_airspeed', 'density'):
        if not flight.has(name):
            raise ValueError(f'{flight.source}: nothing was measured of {name}')
    parts = [flight.part(one) for one in manoeuvres(flight)] or [flight]
    airspeed, density = (
        float(np.nanmedian(np.concatenate([part.values[name] for part in parts])))
        for name in ('true_airspeed', 'density'))
    return ReferenceAircraft(model, airspeed, density, aircraft_path, flight.plant)


def reached(found: Identification) -> dict[str, tuple[float, float]]:
    """Return how far angle of attack and controls went from where each manoeuvre began."""
    far = {}
    motions = [motion for each in found.compatibility for motion in each.motions]
    for name in ('angle_of_attack', *FLOWN):
        if not all(name in motion.flight.values for motion in motions):
            continue
        both = np.concatenate([motion[name] - motion[name][0] for motion in motions])
        far[name] = (float(both.min()), float(both.max()))
    return far


def _coefficients(
    linear: LinearModel, form: ModelStructure, name: str, frame: Airframe, pressure: float
) -> Array:
    """Return the slopes of a form's coefficients by a state or control."""
    def slope(output: str) -> float:
        is_force = output.startswith('specific_force')
        row = linear.index('outputs' if is_force else 'states', output)
        column = linear.index('inputs' if name in FLOWN else 'states', name)
        matrix = {
            (True, True): linear.d, (True, False): linear.c,
            (False, True): linear.b, (False, False): linear.a}[is_force, name in FLOWN]
        return float(matrix[row, column])

    at = {signal.name: signal.value for signal in linear.outputs}
    sin_a, cos_a = math.sin(at['angle_of_attack']), math.cos(at['angle_of_attack'])
    if form.name in (LONGITUDINAL.name, SPEED.name):
        x, z = at['specific_force_x'], at['specific_force_z']
        drag = -slope('specific_force_x') * cos_a - slope('specific_force_z') * sin_a
        lift = slope('specific_force_x') * sin_a - slope('specific_force_z') * cos_a
        if name == 'angle_of_attack':
            drag, lift = drag + x * sin_a - z * cos_a, lift + x * cos_a + z * sin_a
        if name == 'true_airspeed':
            # What is left without the dynamic pressure.
            drag += 2.0 * (x * cos_a + z * sin_a) / at['true_airspeed']
            lift -= 2.0 * (x * sin_a - z * cos_a) / at['true_airspeed']
        forces = {'C_D': drag * frame.mass, 'C_L': lift * frame.mass,
                  'C_m': slope('pitch_rate') * frame.i_yy / frame.chord}
        return np.array([forces[one] for one in form.coefficients]) / pressure
    roll, yaw = slope('roll_rate'), slope('yaw_rate')
    over = 1.0 / (pressure * frame.wing_span)
    return np.array((
        slope('specific_force_y') * frame.mass / pressure,
        (frame.i_xx * roll - frame.i_xz * yaw) * over,
        (frame.i_zz * yaw - frame.i_xz * roll) * over))
