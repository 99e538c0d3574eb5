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
Convert X-Plane's data rows to the state of a vehicle.

Numbers such as 5.10 refer to rows of docs/wire/xplane_datarefs.md. Rows are float32, so latitude
and longitude have steps of up to 1.7 m (1.2), and velocities are along axes that are east, up and
south at a point unknown from rows, up to 0.4 degrees off (1.13). The g loads of row 4 are not
used: two sources contradict each other about the sign of the axial one (5.10).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
import math
from operator import attrgetter

from xplane_bridge.bridges.conversions import air, axes
from xplane_bridge.bridges.conversions.axes import Quaternion, Vector
from xplane_bridge.bridges.conversions.plausibility import attitude_fault, NOWHERE
from xplane_bridge.bridges.conversions.vehicle import Air, Controls, EngineControls, VehicleState
from xplane_bridge.bridges.xplane_udp.protocol import quantities, RowQuantities, rows_for, Segment
from xplane_bridge.common.units import DEGREE

# Everything that rows_state() reads.
QUANTITIES: tuple[str, ...] = (
    'total_time', 'indicated_airspeed', 'true_airspeed', 'wind_speed', 'wind_from',
    'static_pressure', 'static_temperature', 'stick_elevator', 'stick_aileron', 'stick_rudder',
    'elevator_trim', 'aileron_trim', 'rudder_trim', 'flaps_request', 'speedbrake_request', 'gear',
    'left_toe_brake', 'right_toe_brake', 'roll_rate', 'pitch_rate', 'yaw_rate', 'pitch', 'roll',
    'true_heading', 'angle_of_attack', 'latitude_deg', 'longitude_deg', 'altitude_msl',
    'velocity_east', 'velocity_up', 'velocity_south', 'throttle',
)
_all_of = attrgetter(*QUANTITIES)


def telemetry_rows(version: int) -> tuple[int, ...]:
    """Return the rows that rows_state() reads, for X-Plane ``version`` (6 to 12)."""
    return rows_for(version, QUANTITIES)


def rows_state(version: int, segments: Iterable[Segment]) -> VehicleState:
    """
    Return the state of the user's aircraft from rows of one frame.

    Values that have not arrived, that have no row in this version, that are -999 or not finite are
    None; a position is NOWHERE. ``impossible`` names those that are not finite.
    """
    given = quantities(version, segments)
    not_finite = tuple(
        (name, value) for name, value in zip(QUANTITIES, _all_of(given), strict=True)
        if isinstance(value, float) and not math.isfinite(value))
    if not_finite:
        given = replace(given, **dict.fromkeys((name for name, _ in not_finite), None))
    latitude, longitude, altitude = (
        given.latitude_deg, given.longitude_deg, given.altitude_msl)
    place = NOWHERE
    if latitude is not None and longitude is not None and altitude is not None:
        place = latitude, longitude, altitude
    angles = _finite(given.roll, given.pitch, given.true_heading)
    rates = _finite(given.roll_rate, given.pitch_rate, given.yaw_rate)
    local = _finite(given.velocity_east, given.velocity_up, given.velocity_south)
    angles_deg = None if angles is None else (
        angles[0] / DEGREE, angles[1] / DEGREE, angles[2] / DEGREE)
    fault = attitude_fault(angles_deg)
    orientation = None if angles is None or fault else axes.ned_frd_to_enu_flu(
        axes.euler_to_quaternion(*angles))
    velocity = None if local is None else axes.opengl_to_enu(local)
    throttles = given.throttle or (None,)
    return VehicleState(
        latitude_deg=place[0],
        longitude_deg=place[1],
        altitude_msl=place[2],
        orientation=orientation,
        angular_velocity=None if rates is None else axes.frd_to_flu(rates),
        velocity=velocity,
        air=_air(given, orientation, velocity),
        controls=Controls(
            elevator=given.stick_elevator,
            aileron=given.stick_aileron,
            rudder=given.stick_rudder,
            throttle=throttles[0],
            flaps=given.flaps_request,
            gear=given.gear,
            speedbrake=given.speedbrake_request,
            brake_left=given.left_toe_brake,
            brake_right=given.right_toe_brake,
            elevator_trim=given.elevator_trim,
            aileron_trim=given.aileron_trim,
            rudder_trim=given.rudder_trim,
        ),
        engines=_engines(given),
        time=given.total_time,
        impossible=(*not_finite, *fault),
    )


def _engines(given: RowQuantities) -> EngineControls | None:
    """Return the throttles: the columns of the other levers are not documented."""
    throttles = tuple(value for value in given.throttle or () if value is not None)
    return EngineControls(throttle=throttles) if throttles else None


def _air(
    given: RowQuantities, orientation: Quaternion | None, velocity: Vector | None
) -> Air:
    """Return the air data; sideslip by 2.7, as the sign of X-Plane's own is unsettled (2.6)."""
    indicated = given.indicated_airspeed
    pressure, temperature = given.static_pressure, given.static_temperature
    wind = _wind(given)
    sideslip = None
    if wind is not None and velocity is not None and orientation is not None:
        sideslip = air.sideslip(air.air_relative_velocity(velocity, wind, orientation))
    return Air(
        indicated_airspeed=indicated,
        true_airspeed=given.true_airspeed,
        angle_of_attack=given.angle_of_attack,
        sideslip=sideslip,
        static_pressure=pressure,
        dynamic_pressure=(
            None if indicated is None
            else air.dynamic_pressure(indicated, air.SEA_LEVEL_DENSITY)
        ),
        temperature=temperature,
        density=(
            None if pressure is None or temperature is None
            else air.density(pressure, temperature)
        ),
        wind=wind,
    )


def _wind(given: RowQuantities) -> Vector | None:
    """Return the velocity of the air in ENU: the row gives where the wind comes from."""
    speed, direction = given.wind_speed, given.wind_from
    if speed is None or direction is None or not math.isfinite(direction):
        return None
    return -speed * math.sin(direction), -speed * math.cos(direction), 0.0


def _finite(*values: float | None) -> Vector | None:
    """Return three values, or None if one is missing or not finite."""
    x, y, z = values
    if x is None or y is None or z is None:
        return None
    return (x, y, z) if all(map(math.isfinite, (x, y, z))) else None
