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
Convert X-Plane's datarefs to the state of a vehicle.

Numbers such as 1.12 refer to rows of docs/wire/xplane_datarefs.md: the meaning of each dataref,
with its source.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
import math

from xplane_bridge.bridges.conversions import air, axes
from xplane_bridge.bridges.conversions.axes import Quaternion, Vector
from xplane_bridge.bridges.conversions.plausibility import attitude_fault, is_attitude, place_fault
from xplane_bridge.bridges.conversions.vehicle import Air, VehicleState
from xplane_bridge.bridges.conversions.xplane import levers as xplane_levers
from xplane_bridge.common.units import celsius_to_kelvin, DEGREE, INCH_OF_MERCURY, KNOT

OWN_PREFIX = 'sim/flightmodel/position/'
_FORCES = 'sim/flightmodel/forces/'
_WEATHER = 'sim/weather/'
_WEATHER_12 = 'sim/weather/aircraft/'

LATITUDE = OWN_PREFIX + 'latitude'
LONGITUDE = OWN_PREFIX + 'longitude'
ELEVATION = OWN_PREFIX + 'elevation'
TIME = 'sim/time/total_running_time_sec'
PAUSED = 'sim/time/paused'
# 3.14
CRASHED = 'sim/flightmodel2/misc/has_crashed'

# Names are built once: most of them are looked up for each update.
_TRUE_ATTITUDE = tuple(OWN_PREFIX + f'true_{angle}' for angle in ('psi', 'theta', 'phi'))
_ATTITUDE = tuple(OWN_PREFIX + angle for angle in ('psi', 'theta', 'phi'))
LOCAL_PLACE = tuple(OWN_PREFIX + f'local_{axis}' for axis in 'xyz')
_RATES = tuple(OWN_PREFIX + f'{axis}rad' for axis in 'PQR')
_VELOCITY = tuple(OWN_PREFIX + f'local_v{axis}' for axis in 'xyz')
_ACCELERATION = tuple(OWN_PREFIX + f'local_a{axis}' for axis in 'xyz')
_LATITUDE_OF_ORIGIN = OWN_PREFIX + 'lat_ref'
_LONGITUDE_OF_ORIGIN = OWN_PREFIX + 'lon_ref'
_GROUND_SPEED = OWN_PREFIX + 'groundspeed'
_INDICATED_AIRSPEED = OWN_PREFIX + 'indicated_airspeed'
_TRUE_AIRSPEED = OWN_PREFIX + 'true_airspeed'
_ALPHA = OWN_PREFIX + 'alpha'
_LOADS = tuple(_FORCES + f'g_{axis}' for axis in ('axil', 'side', 'nrml'))
_ON_GROUND = 'sim/flightmodel/failures/onground_any'
_TEMPERATURES = (_WEATHER_12 + 'temperature_ambient_deg_c', _WEATHER + 'temperature_ambient_c')
_PRESSURE_12 = _WEATHER_12 + 'barometer_current_pas'
_PRESSURE = _WEATHER + 'barometer_current_inhg'
_WIND_12 = tuple(_WEATHER_12 + f'wind_now_{axis}_msc' for axis in 'xyz')
_WIND = tuple(_WEATHER + f'wind_now_{axis}_msc' for axis in 'xyz')

OWN_PLACE = (LATITUDE, LONGITUDE, ELEVATION)
ORIGIN = (_LATITUDE_OF_ORIGIN, _LONGITUDE_OF_ORIGIN)
WEATHER = (*_TEMPERATURES, _PRESSURE_12, _PRESSURE, *_WIND_12, *_WIND)

# Everything that own_state() reads.
OWN_DATAREFS: tuple[str, ...] = (
    *OWN_PLACE,
    *_TRUE_ATTITUDE,
    *_ATTITUDE,
    *_RATES,
    *_VELOCITY,
    *_ACCELERATION,
    *ORIGIN,
    _GROUND_SPEED,
    _INDICATED_AIRSPEED,
    _TRUE_AIRSPEED,
    _ALPHA,
    *_LOADS,
    _ON_GROUND,
    *WEATHER,
    *xplane_levers.DATAREFS,
    TIME,
    PAUSED,
    CRASHED,
)

# The weather datarefs were renamed in 12, which warns about the old names in its log (2.13, 2.14).
_WEATHER_RENAMED = 12


def own_datarefs(version: int) -> tuple[str, ...]:
    """Return those of OWN_DATAREFS that X-Plane ``version`` (10 to 12) has, in order."""
    def exists(name: str) -> bool:
        return not name.startswith(_WEATHER) or (
            name.startswith(_WEATHER_12) == (version >= _WEATHER_RENAMED))

    return tuple(filter(exists, OWN_DATAREFS))


def observed_datarefs(version: int) -> tuple[str, ...]:
    """
    Return those of own_datarefs() that what is observed of a state needs, if all are finite.

    Without position, trims, brakes, time and pause; of engines the first throttle.
    """
    needless = {
        *OWN_PLACE, *_ATTITUDE, *_ACCELERATION, *xplane_levers.LEVERS.values(),
        *xplane_levers.ENGINES.values(), xplane_levers.ENGINE_COUNT, TIME, PAUSED,
        CRASHED}
    needed = (name for name in own_datarefs(version) if name not in needless)
    return (*needed, xplane_levers.THROTTLE)


# Equivalent datarefs, of different versions or relative to different axes: one group suffices.
_ALTERNATIVES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (_TRUE_ATTITUDE, _ATTITUDE),
    (_TEMPERATURES[:1], _TEMPERATURES[1:]),
    ((_PRESSURE_12,), (_PRESSURE,)),
    (_WIND_12, _WIND),
)


def missed(absent: Collection[str]) -> list[str]:
    """Return those of the missing datarefs without which a field of a state is empty."""
    # Without it no field is empty.
    spared = {CRASHED} | {
        name
        for one, other in _ALTERNATIVES
        for group, instead in ((one, other), (other, one))
        if not any(name in absent for name in instead)
        for name in group
    }
    return [name for name in absent if name not in spared and name not in LOCAL_PLACE]


# Below this speed a parked aircraft's contact forces are considered unreliable (6.6, Guard).
_PARKED_SPEED = 0.3


class Values(dict[str, float | None]):
    """
    Values by dataref name, None if X-Plane has none or it is not finite.

    ``not_finite`` are those: name and value.
    """

    def __init__(self, values: Mapping[str, float]) -> None:
        super().__init__(values)
        self.not_finite: tuple[tuple[str, float], ...] = ()
        # The sum of finite numbers is finite, unless they are huge.
        if not math.isfinite(sum(values.values())):
            self.not_finite = tuple(
                (name, value) for name, value in values.items() if not math.isfinite(value))
            for name, _ in self.not_finite:
                del self[name]

    def __missing__(self, name: str) -> None:
        return None

    def vector(self, names: Sequence[str]) -> Vector | None:
        """Return three values, or None if one is missing."""
        first, second, third = names
        x, y, z = self[first], self[second], self[third]
        return None if x is None or y is None or z is None else (x, y, z)

    def first(self, names: Sequence[str]) -> float | None:
        """Return the first of the values that exists."""
        for name in names:
            if (value := self[name]) is not None:
                return value
        return None


def running_time(given: Mapping[str, float]) -> tuple[float | None, bool]:
    """Return the simulator's time in seconds (None if unknown) and whether it is paused."""
    values = Values(given)
    return values[TIME], bool(values[PAUSED])


def own_state(
    position: Vector, attitude_deg: Vector | None, given: Mapping[str, float], *,
    by_acceleration: bool = False, arrays: Mapping[str, Sequence[float]] | None = None,
) -> VehicleState:
    """
    Return the state of the user's aircraft.

    ``position`` is latitude and longitude in degrees and the altitude in metres above mean sea
    level, as doubles, or NOWHERE: then nothing that involves X-Plane's local axes is known.
    ``attitude_deg`` (heading, pitch, roll; None if unknown) is used if the datarefs have none.
    ``given`` are the OWN_DATAREFS received; ``arrays`` are those of engines. The specific force
    comes from the three g loads, or, if ``by_acceleration``, from the acceleration along the local
    axes (6.5, 6.6).
    """
    values = Values(given)
    turn = turn_from_origin(values, position)
    true_attitude = values.vector(_TRUE_ATTITUDE)
    attitude = true_attitude or values.vector(_ATTITUDE) or attitude_deg
    orientation = (
        _orientation(attitude) if true_attitude is not None
        else local_orientation(attitude, turn))
    rates = values.vector(_RATES)
    velocity = local_to_enu(values.vector(_VELOCITY), turn)
    return VehicleState(
        latitude_deg=position[0],
        longitude_deg=position[1],
        altitude_msl=position[2],
        orientation=orientation,
        angular_velocity=None if rates is None else axes.frd_to_flu(rates),
        specific_force=_specific_force(values, turn, orientation, by_acceleration),
        velocity=velocity,
        air=_air(values, turn, orientation, velocity),
        controls=xplane_levers.reported_controls(values),
        engines=xplane_levers.engine_controls(
            values[xplane_levers.ENGINE_COUNT], arrays) if arrays else None,
        time=values[TIME],
        paused=bool(values[PAUSED]),
        crashed=values[CRASHED] == 1.0,
        impossible=(*values.not_finite, *attitude_fault(attitude)),
    )


def origin(given: Mapping[str, float]) -> tuple[float, float] | None:
    """Return latitude and longitude of the origin of X-Plane's local axes, in degrees (1.10)."""
    return _origin(Values(given))


def local_attitude(
    attitude: Vector, place: tuple[float, float], origin: tuple[float, float]
) -> Vector:
    """
    Return (roll, pitch, heading) relative to X-Plane's local axes, as psi, theta, phi are (1.11).

    ``attitude`` is relative to the earth below the aircraft, which is at ``place``; both in
    radians, ``place`` and ``origin`` are latitude and longitude in degrees.
    """
    turn = axes.enu_to_enu_rotation(*place, *origin)
    orientation = axes.ned_frd_to_enu_flu(axes.euler_to_quaternion(*attitude))
    return axes.quaternion_to_euler(
        axes.enu_flu_to_ned_frd(axes.multiply(turn, orientation)))


def local_orientation(
    attitude_deg: Vector | None, turn: Quaternion | None
) -> Quaternion | None:
    """Return body FLU to ENU of (heading, pitch, roll) relative to the local axes (1.11)."""
    orientation = _orientation(attitude_deg)
    return None if turn is None or orientation is None else axes.multiply(turn, orientation)


def _orientation(attitude_deg: Vector | None) -> Quaternion | None:
    """Return body FLU to ENU of (heading, pitch, roll) in degrees (1.21, 6.1, 6.2)."""
    if attitude_deg is None or not is_attitude(attitude_deg):
        return None
    heading, pitch, roll = attitude_deg
    return axes.ned_frd_to_enu_flu(
        axes.euler_to_quaternion(roll * DEGREE, pitch * DEGREE, heading * DEGREE))


def _origin(values: Values) -> tuple[float, float] | None:
    latitude, longitude = values[_LATITUDE_OF_ORIGIN], values[_LONGITUDE_OF_ORIGIN]
    if latitude is None or longitude is None or place_fault(latitude, longitude, 0.0):
        return None
    return latitude, longitude


def turn_from_origin(values: Values, position: Vector) -> Quaternion | None:
    """
    Return the rotation to ENU at the aircraft from ENU at the origin of X-Plane's local axes.

    The local axes are parallel to east, up and south only there (1.8, 6.7). None for NOWHERE.
    """
    if math.isnan(position[0]):
        return None
    origin = _origin(values)
    if origin is None:
        return 1.0, 0.0, 0.0, 0.0
    return axes.enu_to_enu_rotation(*origin, position[0], position[1])


def local_to_enu(local: Vector | None, turn: Quaternion | None) -> Vector | None:
    """Convert a vector along X-Plane's local axes to ENU at the aircraft."""
    if local is None or turn is None:
        return None
    return axes.rotate(turn, (local[0], -local[2], local[1]))


def _specific_force(
    values: Values, turn: Quaternion | None, orientation: Quaternion | None,
    by_acceleration: bool,
) -> Vector | None:
    """Return the specific force in body FLU: what an accelerometer reads (6.5, 6.6)."""
    speed = values[_GROUND_SPEED]
    on_ground = values[_ON_GROUND]
    if on_ground and speed is not None and speed < _PARKED_SPEED and orientation is not None:
        return axes.rest_specific_force(orientation)
    if by_acceleration:
        acceleration = local_to_enu(values.vector(_ACCELERATION), turn)
        if acceleration is None or orientation is None:
            return None
        return axes.acceleration_to_specific_force(acceleration, orientation)
    loads = values.vector(_LOADS)
    return None if loads is None else axes.g_loads_to_specific_force(*loads)


def force_difference(
    position: Vector, state: VehicleState, given: Mapping[str, float]
) -> float | None:
    """
    Return the difference of the two specific force estimates, in m/s^2.

    A lasting difference of about one g means that this X-Plane's local_ay contains gravity (1.32).
    """
    if state.specific_force is None or state.orientation is None:
        return None
    values = Values(given)
    turn = turn_from_origin(values, position)
    by_loads = _specific_force(values, turn, state.orientation, False)
    by_acceleration = _specific_force(values, turn, state.orientation, True)
    if by_loads is None or by_acceleration is None:
        return None
    return math.dist(by_loads, by_acceleration)


def weather(
    values: Values, turn: Quaternion | None
) -> tuple[float | None, float | None, Vector | None]:
    """
    Return temperature (K), static pressure (Pa) and wind at the user's aircraft (2.13 to 2.23).

    By the names of X-Plane 12 or of earlier versions; the wind is the velocity of the air, ENU.
    """
    celsius = values.first(_TEMPERATURES)
    pressure = values[_PRESSURE_12]
    if pressure is None:
        inches = values[_PRESSURE]
        pressure = None if inches is None else inches * INCH_OF_MERCURY
    wind = local_to_enu(values.vector(_WIND_12) or values.vector(_WIND), turn)
    return None if celsius is None else celsius_to_kelvin(celsius), pressure, wind


def _air(
    values: Values, turn: Quaternion | None, orientation: Quaternion | None,
    velocity: Vector | None,
) -> Air:
    """Return the air data, from the names of X-Plane 12 or of earlier versions (2.9 to 2.22)."""
    indicated = values[_INDICATED_AIRSPEED]
    alpha = values[_ALPHA]
    temperature, pressure, wind = weather(values, turn)
    sideslip = None
    if wind is not None and velocity is not None and orientation is not None:
        # The vendor's documents contradict each other about the sign of beta (2.6), hence 2.7.
        sideslip = air.sideslip(air.air_relative_velocity(velocity, wind, orientation))
    indicated_si = None if indicated is None else indicated * KNOT
    return Air(
        indicated_airspeed=indicated_si,
        true_airspeed=values[_TRUE_AIRSPEED],
        angle_of_attack=None if alpha is None else alpha * DEGREE,
        sideslip=sideslip,
        static_pressure=pressure,
        dynamic_pressure=(
            None if indicated_si is None
            else air.dynamic_pressure(indicated_si, air.SEA_LEVEL_DENSITY)
        ),
        temperature=temperature,
        density=(
            None if pressure is None or temperature is None
            else air.density(pressure, temperature)
        ),
        wind=wind,
    )
