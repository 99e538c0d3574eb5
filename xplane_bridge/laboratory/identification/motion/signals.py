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
What identification takes of a flight: signals by name, on one time base, in SI units and radians.

Body axes are forward, right, down, as in laboratory/flights/analysis/quantities.py and
``linearize``: the topics' forward, left, up is turned where a flight is read. Controls have
FlightControls' signs: elevator + is nose up, aileron + is right wing down, rudder + is nose
right; full deflection is 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.controls import SURFACES
from xplane_bridge.common.quantities import QUANTITY, Quantity
from xplane_bridge.simulation.aircraft.plant import AS_IN_ITS_FILE, Plant

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class IdentificationError(ValueError):
    """Nothing is estimated; the text names the signal and the time."""


class Signal(NamedTuple):
    """
    A signal: ``sign`` times a quantity, and the largest magnitude that flights have.

    ``usual`` is the wrong unit that a larger magnitude is likely to be in. ``least`` is what it
    is at least, where it is never about zero, and ``small`` the unit of what is less.
    """

    quantity: Quantity
    largest: float
    usual: str = ''
    least: float = 0.0
    small: str = ''
    sign: float = 1.0

    @property
    def unit(self) -> str:
        """Return the unit of its quantity."""
        return self.quantity.unit


SIGNALS: Mapping[str, Signal] = {
    'roll': Signal(QUANTITY['roll'], 2.0 * math.pi, 'deg'),
    'pitch': Signal(QUANTITY['pitch'], math.pi, 'deg'),
    'roll_rate': Signal(QUANTITY['roll_rate'], 7.0, 'deg/s'),
    'pitch_rate': Signal(QUANTITY['pitch_rate'], 4.0, 'deg/s'),
    'yaw_rate': Signal(QUANTITY['yaw_rate'], 4.0, 'deg/s'),
    'specific_force_x': Signal(QUANTITY['specific_force_forward'], 100.0, 'ft/s^2'),
    'specific_force_y': Signal(QUANTITY['specific_force_left'], 100.0, 'ft/s^2', sign=-1.0),
    'specific_force_z': Signal(QUANTITY['specific_force_up'], 150.0, 'ft/s^2', sign=-1.0),
    'true_airspeed': Signal(
        QUANTITY['true_airspeed'], 900.0, 'kt', 3.0, 'Mach numbers or km/s'),
    'angle_of_attack': Signal(QUANTITY['angle_of_attack'], 1.6, 'deg'),
    'sideslip': Signal(QUANTITY['sideslip'], 1.6, 'deg'),
    'density': Signal(QUANTITY['density'], 1.5, 'g/m^3', 0.015, 'slug/ft^3'),
    **{name: Signal(QUANTITY[name], 1.0, '% or deg') for name in SURFACES},
    'throttle': Signal(QUANTITY['throttle'], 1.0, '%'),
    **{f'{name}_deflection': Signal(QUANTITY[f'{name}_deflection'], 1.6, 'deg')
       for name in SURFACES},
}
"""What is read. A flight may lack what is OPTIONAL; roll and pitch may wrap."""

DEFLECTIONS: Mapping[str, str] = {name: f'{name}_deflection' for name in SURFACES}
"""How the deflection of each control's surface is named; its sign is that of the control."""

COMMANDED = '_commanded'
"""The end of the name of what a control was commanded to be, beside its deflection."""

OPTIONAL = ('angle_of_attack', 'sideslip', 'throttle', *DEFLECTIONS.values())
CONTROLS = SURFACES
"""What moments come from. The throttle is beside them: nothing but the speed follows it."""


def fields_in(topic: str) -> dict[str, tuple[str, float]]:
    """Return the signals that are fields of a topic's messages: path, and factor to the signal."""
    return {name: (one.quantity.field, one.sign * one.quantity.sign)
            for name, one in SIGNALS.items() if one.quantity.topic == topic and one.quantity.field}


class Manoeuvre(NamedTuple):
    """A part of a flight: its name, and from when to when (s)."""

    name: str
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class FlightSignals:
    """
    The signals of a flight: ``values`` by name, each of the shape of ``times`` (n,).

    NaN: no sample at that time; a sensor may be slower than others. Controls are those that were
    in force until each time. ``manoeuvres`` are those that its scenario says, if any; ``model`` is
    the aircraft, '' if unknown, and ``plant`` in what it differs from that. ``surfaces`` are the
    controls whose values are deflections (rad), as they stood at each time. ``cut`` is a sentence
    if its recording was not finished.
    """

    source: str
    times: Array
    values: Mapping[str, Array]
    manoeuvres: tuple[Manoeuvre, ...] = ()
    model: str = ''
    plant: Plant = AS_IN_ITS_FILE
    surfaces: frozenset[str] = frozenset()
    cut: str = ''

    def part(self, manoeuvre: Manoeuvre) -> FlightSignals:
        """Return the part of a manoeuvre."""
        low, high = np.searchsorted(self.times, (manoeuvre.begin, manoeuvre.end))
        return replace(
            self, times=self.times[low:high], manoeuvres=(manoeuvre,),
            values={name: values[low:high] for name, values in self.values.items()})

    def has(self, name: str) -> bool:
        """Return whether anything was measured of a signal."""
        return bool(np.isfinite(self.values[name]).sum() > 1) if name in self.values else False

    def filled(self, name: str) -> Array:
        """Return a signal without gaps, by linear interpolation."""
        values = self.values[name]
        known = np.isfinite(values)
        found: Array = np.interp(self.times, self.times[known], values[known])
        return found
