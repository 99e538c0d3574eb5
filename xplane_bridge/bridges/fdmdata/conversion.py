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
Convert Huginn's sensors to the state of a vehicle, and controls to Huginn's.

The real meaning of the bytes, where it differs from the protocol document, is from
docs/wire/fdmdata.md, sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
import math
from typing import Any

from xplane_bridge.bridges.conversions import air, axes
from xplane_bridge.bridges.conversions.geodesy import geocentric_to_geodetic_latitude
from xplane_bridge.bridges.conversions.plausibility import AIR_BOUNDS, place_fault
from xplane_bridge.bridges.conversions.vehicle import Air, Controls, VehicleState
from xplane_bridge.bridges.fdmdata.protocol import (
    Command,
    InsReply,
    SENSOR_REPLIES,
    SensorReply,
)
from xplane_bridge.common.quantities import QUANTITY
from xplane_bridge.common.units import (
    celsius_or_kelvin_to_kelvin,
    celsius_to_kelvin,
    DEGREE,
)

_SIGNS = {'aileron': 1.0, 'elevator': -1.0, 'rudder': -1.0, 'throttle': 1.0}

LATITUDES = ('geodetic', 'geocentric')
TEMPERATURE_UNITS = ('auto', 'celsius', 'kelvin')

Replies = Mapping[Command, SensorReply]


@dataclass(frozen=True, slots=True)
class Interpretation:
    """
    How to interpret values on which document and program disagree.

    ``latitude`` is the kind of latitude on the wire, one of LATITUDES: Huginn sends JSBSim's
    geocentric one, and shows it to its users as if it were geodetic. ``temperature_unit`` is one
    of TEMPERATURE_UNITS; auto tells kelvin (as sent) from Celsius (as documented) by the value.
    """

    latitude: str = 'geodetic'
    temperature_unit: str = 'auto'

    def geodetic_latitude(self, latitude_deg: float, altitude_msl: float) -> float:
        """Return the geodetic latitude in degrees of a latitude from the wire."""
        if self.latitude == 'geodetic':
            return latitude_deg
        return geocentric_to_geodetic_latitude(latitude_deg, altitude_msl)

    def kelvin(self, temperature: float) -> float:
        """Return the temperature in kelvin of a temperature from the wire."""
        if self.temperature_unit == 'kelvin':
            return temperature
        if self.temperature_unit == 'celsius':
            return celsius_to_kelvin(temperature)
        return celsius_or_kelvin_to_kelvin(temperature)


# The plausible range of each field, in its own unit; the reasons are in plausibility.py of
# bridges/conversions.
_ANGLE = (-720.0, 720.0)
_SPEED = AIR_BOUNDS['true_airspeed']
_FORCE = QUANTITY['specific_force_up'].bounds
_RATE = (-5e4, 5e4)
_PLACE = ('latitude', 'longitude', 'altitude')
_PLACED = (Command.GPS, Command.INS)
_OF_AIR = frozenset({Command.THERMOMETER, Command.PITOT_TUBE, Command.STATIC_PRESSURE})
_BOUNDS: dict[Command, dict[str, tuple[float, float]]] = {
    Command.GPS: {'airspeed': _SPEED, 'heading': _ANGLE},
    Command.INS: {'airspeed': _SPEED, 'roll': _ANGLE, 'pitch': _ANGLE, 'heading': _ANGLE},
    Command.ACCELEROMETER: {'x': _FORCE, 'y': _FORCE, 'z': _FORCE},
    Command.GYROSCOPE: {'roll_rate': _RATE, 'pitch_rate': _RATE, 'yaw_rate': _RATE},
    # Gauss, tesla or nanotesla: unknown.
    Command.MAGNETOMETER: dict.fromkeys('xyz', (-1e6, 1e6)),
    # Celsius or kelvin.
    Command.THERMOMETER: {'temperature': (-273.15, AIR_BOUNDS['temperature'][1])},
    Command.PITOT_TUBE: {'pressure': AIR_BOUNDS['dynamic_pressure']},
    Command.STATIC_PRESSURE: {'pressure': AIR_BOUNDS['static_pressure']},
}
# Of all fields of a reply in order; those of a position are checked together.
_IN_ORDER = {
    kind.command: tuple(
        (name, *_BOUNDS[kind.command].get(name, (-math.inf, math.inf))) for name in kind.__slots__)
    for kind in SENSOR_REPLIES}


def plausible(replies: Replies, withhold: Callable[[str, float], None]) -> Replies:
    """
    Return the replies with NaN for impossible values, omitting replies with nothing left.

    A position is complete or NaN. ``withhold(name, value)`` is called for what was left out.
    """
    good: dict[Command, SensorReply] = {}
    for command in replies:
        reply: Any = replies[command]
        bad: dict[str, float] = {}
        if command in _PLACED:
            fault = place_fault(reply.latitude, reply.longitude, reply.altitude)
            if fault is not None:
                withhold(f'{reply.tag} {fault[0]}', fault[1])
                bad = dict.fromkeys(_PLACE, math.nan)
        for value, (name, low, high) in zip(reply.values, _IN_ORDER[command], strict=True):
            if not low <= value <= high and name not in _PLACE:
                withhold(f'{reply.tag} {name}', value)
                bad[name] = math.nan
        if not bad:
            good[command] = reply
        elif len(bad) < len(reply.__slots__):
            good[command] = replace(reply, **bad)
    return good


def vehicle_state(replies: Replies, reading: Interpretation) -> VehicleState:
    """
    Return the state of the aircraft from the plausible replies of one poll.

    NaN in them means unknown. The position is the GPS's, otherwise the INS's, otherwise NaN; so is
    the airspeed. The attitude, including the heading, is the INS's. There is no velocity on the
    wire.
    """
    # A reply is of its command's kind: none is asked for its type.
    ins: Any = replies.get(Command.INS)
    place: Any = replies.get(Command.GPS, ins)
    latitude = longitude = altitude = math.nan
    if place is not None:
        longitude, altitude = place.longitude, place.altitude
        latitude = reading.geodetic_latitude(place.latitude, altitude)
    rates = force = None
    if Command.GYROSCOPE in replies:
        turns: Any = replies[Command.GYROSCOPE]
        rates = _vector(
            (turns.roll_rate * DEGREE, turns.pitch_rate * DEGREE, turns.yaw_rate * DEGREE))
    if Command.ACCELEROMETER in replies:
        felt: Any = replies[Command.ACCELEROMETER]
        force = _vector((felt.x, felt.y, felt.z))
    return VehicleState(
        latitude, longitude, altitude, None if ins is None else _orientation(ins), rates, force,
        air=_air(replies, place, reading) if not _OF_AIR.isdisjoint(replies) else None)


def _orientation(ins: InsReply) -> axes.Quaternion | None:
    if math.isnan(ins.roll + ins.pitch + ins.heading):
        return None
    return axes.ned_frd_to_enu_flu(axes.euler_to_quaternion(
        ins.roll * DEGREE, ins.pitch * DEGREE, ins.heading * DEGREE))


def _vector(frd: axes.Vector) -> axes.Vector | None:
    x, y, z = frd
    return None if math.isnan(x + y + z) else axes.frd_to_flu(frd)


def _air(replies: Replies, place: Any, reading: Interpretation) -> Air:
    """Return the air data; the indicated airspeed follows from static and pitot pressure."""
    temperature = static = dynamic = indicated = density = None
    if Command.THERMOMETER in replies:
        thermometer: Any = replies[Command.THERMOMETER]
        temperature = reading.kelvin(thermometer.temperature)
    if Command.STATIC_PRESSURE in replies:
        port: Any = replies[Command.STATIC_PRESSURE]
        static = port.pressure
    if Command.PITOT_TUBE in replies:
        pitot: Any = replies[Command.PITOT_TUBE]
        dynamic = pitot.pressure
    if static is not None and temperature is not None:
        density = air.density(static, temperature)
    if static is not None and dynamic is not None:
        indicated = air.impact_pressure_to_calibrated_airspeed(
            air.dynamic_to_impact_pressure(dynamic, static))
    return Air(
        indicated_airspeed=indicated,
        true_airspeed=None if place is None or math.isnan(place.airspeed) else place.airspeed,
        static_pressure=static,
        dynamic_pressure=dynamic,
        temperature=temperature,
        density=density,
    )


def to_huginn(controls: Controls) -> dict[str, float]:
    """
    Return those of aileron, elevator, rudder and throttle that are set, with Huginn's signs.

    A positive elevator of Huginn pitches down, a positive rudder yaws left. Huginn has no flaps,
    gear or speedbrake on the wire: these are ignored.
    """
    return {
        name: sign * value for name, sign in _SIGNS.items()
        if (value := getattr(controls, name)) is not None}
