"""
X-Plane's datarefs as the state of a vehicle.

Numbers such as 1.12 are rows of the dataref notes: what each dataref means, with its source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math

from xplane_bridge.conversions import air, frames
from xplane_bridge.conversions.frames import Quaternion, Vector
from xplane_bridge.conversions.units import (
    celsius_to_kelvin,
    DEGREE,
    INCH_OF_MERCURY,
    KNOT,
)
from xplane_bridge.conversions.vehicle import Air, Controls, VehicleState

_POSITION = 'sim/flightmodel/position/'
_FORCES = 'sim/flightmodel/forces/'
_WEATHER = 'sim/weather/'
_WEATHER_12 = 'sim/weather/aircraft/'
_YOKE = 'sim/cockpit2/controls/yoke_'

_VELOCITY = tuple(_POSITION + f'local_v{axis}' for axis in 'xyz')
_ACCELERATION = tuple(_POSITION + f'local_a{axis}' for axis in 'xyz')

LATITUDE = _POSITION + 'latitude'
LONGITUDE = _POSITION + 'longitude'
ELEVATION = _POSITION + 'elevation'
TIME = 'sim/time/total_running_time_sec'
PAUSED = 'sim/time/paused'
THROTTLE = 'sim/flightmodel/engine/ENGN_thro'

# Everything that own_state() reads, its position first.
OWN_DATAREFS: tuple[str, ...] = (
    LATITUDE,
    LONGITUDE,
    ELEVATION,
    *(_POSITION + name for name in (
        'true_psi', 'true_theta', 'true_phi', 'psi', 'theta', 'phi',
        'Prad', 'Qrad', 'Rrad', 'local_vx', 'local_vy', 'local_vz',
        'local_ax', 'local_ay', 'local_az', 'lat_ref', 'lon_ref',
        'groundspeed', 'indicated_airspeed', 'true_airspeed', 'alpha',
    )),
    *(_FORCES + name for name in ('g_axil', 'g_side', 'g_nrml')),
    'sim/flightmodel/failures/onground_any',
    _WEATHER_12 + 'temperature_ambient_deg_c',
    _WEATHER + 'temperature_ambient_c',
    _WEATHER_12 + 'barometer_current_pas',
    _WEATHER + 'barometer_current_inhg',
    *(_WEATHER_12 + f'wind_now_{axis}_msc' for axis in 'xyz'),
    *(_WEATHER + f'wind_now_{axis}_msc' for axis in 'xyz'),
    *(_YOKE + f'{axis}_ratio' for axis in ('pitch', 'roll', 'heading')),
    THROTTLE,
    'sim/flightmodel/controls/flaprqst',
    'sim/cockpit/switches/gear_handle_status',
    'sim/flightmodel/controls/sbrkrqst',
    TIME,
    PAUSED,
)

# The names of the weather changed in 12, which warns of the old ones in its log (2.13, 2.14).
_WEATHER_RENAMED = 12


def own_datarefs(version: int) -> tuple[str, ...]:
    """Return those of OWN_DATAREFS that X-Plane ``version`` (10 to 12) has, in their order."""
    def exists(name: str) -> bool:
        if not name.startswith(_WEATHER):
            return True
        return name.startswith(_WEATHER_12) == (version >= _WEATHER_RENAMED)

    return tuple(filter(exists, OWN_DATAREFS))


# Below this the parked aircraft's contact forces count as unreliable (6.6, Guard).
_PARKED_SPEED = 0.3

Rows = Sequence[Sequence[float]]


def other_datarefs(aircraft: int) -> tuple[str, ...]:
    """Return everything that other_state() reads of aircraft 1..19, its position first (4.31)."""
    plane = f'sim/multiplayer/position/plane{aircraft}_'
    return tuple(plane + name for name in (
        'lat', 'lon', 'el', 'psi', 'the', 'phi', 'v_x', 'v_y', 'v_z',
        'yolk_pitch', 'yolk_roll', 'yolk_yaw', 'throttle', 'flap_ratio', 'gear_deploy',
        'speedbrake_ratio',
    )) + (TIME, PAUSED)


class Values:
    """Values by dataref name, None where X-Plane has none or one that is not finite."""

    __slots__ = ('_rows', '_index')

    def __init__(self, index: Mapping[str, int], rows: Rows) -> None:
        self._index = index
        self._rows = rows

    def __getitem__(self, name: str) -> float | None:
        row = self._rows[self._index[name]]
        return row[0] if row and math.isfinite(row[0]) else None

    def vector(self, *names: str) -> Vector | None:
        """Return three values, or None if one is missing."""
        x, y, z = (self[name] for name in names)
        return None if x is None or y is None or z is None else (x, y, z)

    def first(self, *names: str) -> float | None:
        """Return the first of the values that exists."""
        return next((value for name in names if (value := self[name]) is not None), None)


OWN_INDEX: Mapping[str, int] = {name: number for number, name in enumerate(OWN_DATAREFS)}


def own_state(
    position: Vector, attitude_deg: Vector, rows: Rows, *, by_acceleration: bool = False
) -> VehicleState | None:
    """
    Return the state of the user's aircraft; None if its position is not finite.

    ``position`` is latitude and longitude in degrees and the altitude in metres above mean sea
    level, as doubles. ``attitude_deg`` (heading, pitch, roll) is used if the datarefs have none.
    ``rows`` are the values of OWN_DATAREFS. The specific force comes from the three g loads, or,
    ``by_acceleration``, from the acceleration along the local axes (6.5, 6.6).
    """
    if not all(math.isfinite(value) for value in position):
        return None
    values = Values(OWN_INDEX, rows)
    orientation = _orientation(
        values.vector(_POSITION + 'true_psi', _POSITION + 'true_theta', _POSITION + 'true_phi')
        or values.vector(_POSITION + 'psi', _POSITION + 'theta', _POSITION + 'phi')
        or attitude_deg
    )
    rates = values.vector(_POSITION + 'Prad', _POSITION + 'Qrad', _POSITION + 'Rrad')
    velocity = _local_to_enu(values, position, *_VELOCITY)
    return VehicleState(
        latitude_deg=position[0],
        longitude_deg=position[1],
        altitude_msl=position[2],
        orientation=orientation,
        angular_velocity=None if rates is None else frames.frd_to_flu(rates),
        specific_force=_specific_force(values, position, orientation, by_acceleration),
        velocity=velocity,
        air=_air(values, position, orientation, velocity),
        controls=Controls(
            elevator=values[_YOKE + 'pitch_ratio'],
            aileron=values[_YOKE + 'roll_ratio'],
            rudder=values[_YOKE + 'heading_ratio'],
            throttle=values[THROTTLE],
            flaps=values['sim/flightmodel/controls/flaprqst'],
            gear=values['sim/cockpit/switches/gear_handle_status'],
            speedbrake=values['sim/flightmodel/controls/sbrkrqst'],
        ),
        time=values[TIME],
        paused=bool(values[PAUSED]),
    )


def other_state(
    aircraft: int, position: Vector, attitude_deg: Vector, rows: Rows
) -> VehicleState | None:
    """
    Return the state of one of the aircraft 1..19; None if its position is not finite.

    ``rows`` are the values of other_datarefs(aircraft). Rates, forces and air data do not exist
    for these (4.31).
    """
    if not all(math.isfinite(value) for value in position):
        return None
    names = other_datarefs(aircraft)
    plane = names[0].removesuffix('lat')
    values = Values({name: number for number, name in enumerate(names)}, rows)
    velocity = values.vector(plane + 'v_x', plane + 'v_y', plane + 'v_z')
    return VehicleState(
        latitude_deg=position[0],
        longitude_deg=position[1],
        altitude_msl=position[2],
        orientation=_orientation(
            values.vector(plane + 'psi', plane + 'the', plane + 'phi') or attitude_deg
        ),
        velocity=None if velocity is None else frames.opengl_to_enu(velocity),
        controls=Controls(
            elevator=values[plane + 'yolk_pitch'],
            aileron=values[plane + 'yolk_roll'],
            rudder=values[plane + 'yolk_yaw'],
            throttle=values[plane + 'throttle'],
            flaps=values[plane + 'flap_ratio'],
            gear=values[plane + 'gear_deploy'],
            speedbrake=values[plane + 'speedbrake_ratio'],
        ),
        time=values[TIME],
        paused=bool(values[PAUSED]),
    )


def _orientation(attitude_deg: Vector) -> Quaternion | None:
    """Return body FLU to ENU of (heading, pitch, roll) in degrees (1.21, 6.1, 6.2)."""
    if not all(math.isfinite(angle) for angle in attitude_deg):
        return None
    heading, pitch, roll = (angle * DEGREE for angle in attitude_deg)
    return frames.ned_frd_to_enu_flu(frames.euler_to_quaternion(roll, pitch, heading))


def _local_to_enu(values: Values, position: Vector, *names: str) -> Vector | None:
    """
    Return a vector along X-Plane's local axes, by the datarefs' names, in ENU at the aircraft.

    The local axes are parallel to east, up and south only at their origin (1.8, 6.7).
    """
    local = values.vector(*names)
    if local is None:
        return None
    enu = frames.opengl_to_enu(local)
    latitude, longitude = values[_POSITION + 'lat_ref'], values[_POSITION + 'lon_ref']
    if latitude is None or longitude is None:
        return enu
    rotation = frames.enu_to_enu_rotation(latitude, longitude, position[0], position[1])
    return frames.rotate(rotation, enu)


def _specific_force(
    values: Values, position: Vector, orientation: Quaternion | None, by_acceleration: bool
) -> Vector | None:
    """Return the specific force in body FLU: what an accelerometer reads (6.5, 6.6)."""
    speed = values[_POSITION + 'groundspeed']
    on_ground = values['sim/flightmodel/failures/onground_any']
    if on_ground and speed is not None and speed < _PARKED_SPEED and orientation is not None:
        return frames.rest_specific_force(orientation)
    if by_acceleration:
        acceleration = _local_to_enu(values, position, *_ACCELERATION)
        if acceleration is None or orientation is None:
            return None
        return frames.acceleration_to_specific_force(acceleration, orientation)
    loads = values.vector(_FORCES + 'g_axil', _FORCES + 'g_side', _FORCES + 'g_nrml')
    return None if loads is None else frames.g_loads_to_specific_force(*loads)


def force_difference(position: Vector, state: VehicleState, rows: Rows) -> float | None:
    """
    Return how far the two ways to a specific force are apart, in m/s^2.

    A lasting difference of about one g says that this X-Plane's local_ay contains gravity (1.32).
    """
    if state.specific_force is None or state.orientation is None:
        return None
    values = Values(OWN_INDEX, rows)
    by_loads = _specific_force(values, position, state.orientation, False)
    by_acceleration = _specific_force(values, position, state.orientation, True)
    if by_loads is None or by_acceleration is None:
        return None
    return math.dist(by_loads, by_acceleration)


def _air(
    values: Values, position: Vector, orientation: Quaternion | None, velocity: Vector | None
) -> Air:
    """Return the air data, from the names of X-Plane 12 or of those before (2.9 to 2.22)."""
    indicated = values[_POSITION + 'indicated_airspeed']
    alpha = values[_POSITION + 'alpha']
    celsius = values.first(
        _WEATHER_12 + 'temperature_ambient_deg_c', _WEATHER + 'temperature_ambient_c'
    )
    pressure = values[_WEATHER_12 + 'barometer_current_pas']
    if pressure is None:
        inches = values[_WEATHER + 'barometer_current_inhg']
        pressure = None if inches is None else inches * INCH_OF_MERCURY
    wind = _wind(values, position)
    temperature = None if celsius is None else celsius_to_kelvin(celsius)
    sideslip = None
    if wind is not None and velocity is not None and orientation is not None:
        # The vendor's texts contradict each other about the sign of beta (2.6), so: 2.7.
        sideslip = air.sideslip(air.air_relative_velocity(velocity, wind, orientation))
    indicated_si = None if indicated is None else indicated * KNOT
    return Air(
        indicated_airspeed=indicated_si,
        true_airspeed=values[_POSITION + 'true_airspeed'],
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


def _wind(values: Values, position: Vector) -> Vector | None:
    """Return the velocity of the air in ENU (2.21 to 2.23)."""
    for prefix in (_WEATHER_12, _WEATHER):
        wind = _local_to_enu(
            values, position, *(f'{prefix}wind_now_{axis}_msc' for axis in 'xyz'))
        if wind is not None:
            return wind
    return None
