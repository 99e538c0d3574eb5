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
Convert X-Plane's datarefs to the state of one of the aircraft 1 to 19.

Numbers such as 4.31 refer to rows of docs/wire/xplane_datarefs.md, as in state.py.
"""

from __future__ import annotations

from collections.abc import Mapping
import math

from xplane_bridge.bridges.conversions import air
from xplane_bridge.bridges.conversions.axes import Quaternion, Vector
from xplane_bridge.bridges.conversions.plausibility import attitude_fault
from xplane_bridge.bridges.conversions.vehicle import Air, Controls, VehicleState
from xplane_bridge.bridges.conversions.xplane.state import (
    ELEVATION,
    local_orientation,
    local_to_enu,
    ORIGIN,
    PAUSED,
    TIME,
    turn_from_origin,
    Values,
    WEATHER,
    weather,
)


def other_place(aircraft: int) -> tuple[str, ...]:
    """Return latitude, longitude and elevation of aircraft 1..19."""
    plane = other_prefix(aircraft)
    return plane + 'lat', plane + 'lon', plane + 'el'


def other_datarefs(aircraft: int, with_air: bool = False) -> tuple[str, ...]:
    """
    Return what other_state() and LocalAxes read of aircraft 1..19 (4.31).

    ``with_air``: also of the air at the user's aircraft.
    """
    plane = other_prefix(aircraft)
    return other_place(aircraft) + tuple(plane + name for name in (
        'x', 'y', 'z', 'psi', 'the', 'phi', 'v_x', 'v_y', 'v_z',
        'yolk_pitch', 'yolk_roll', 'yolk_yaw', 'throttle', 'flap_ratio', 'gear_deploy',
        'speedbrake_ratio',
    )) + (*ORIGIN, TIME, PAUSED) + (
        (ELEVATION, *WEATHER) if with_air else ())


def other_prefix(aircraft: int) -> str:
    """Return what the datarefs of aircraft 1..19 begin with."""
    return f'sim/multiplayer/position/plane{aircraft}_'


def other_state(
    aircraft: int, position: Vector, attitude_deg: Vector, given: Mapping[str, float]
) -> VehicleState:
    """
    Return the state of one of the aircraft 1..19, as state.own_state() does.

    ``given`` are the other_datarefs(aircraft) received. Rates and forces do not exist for these,
    nor air data (4.31): with that of the user's aircraft they are derived from it.
    """
    plane = other_prefix(aircraft)
    values = Values(given)
    turn = turn_from_origin(values, position)
    attitude = values.vector((plane + 'psi', plane + 'the', plane + 'phi')) or attitude_deg
    orientation = local_orientation(attitude, turn)
    velocity = local_to_enu(values.vector((plane + 'v_x', plane + 'v_y', plane + 'v_z')), turn)
    return VehicleState(
        latitude_deg=position[0],
        longitude_deg=position[1],
        altitude_msl=position[2],
        orientation=orientation,
        velocity=velocity,
        air=_air_there(values, turn, orientation, velocity, position[2]),
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
        impossible=(*values.not_finite, *attitude_fault(attitude)),
    )


def _air_there(
    values: Values, turn: Quaternion | None, orientation: Quaternion | None,
    velocity: Vector | None, altitude_msl: float,
) -> Air | None:
    """
    Return air data of another aircraft, from the air at the user's: None if that is not known.

    The wind is the same; pressure and temperature differ by what they do in the standard
    atmosphere over that difference in height.
    """
    temperature, pressure, wind = weather(values, turn)
    elevation = values[ELEVATION]
    if (temperature is None or pressure is None or wind is None or elevation is None
            or velocity is None or orientation is None or math.isnan(altitude_msl)):
        return None
    here = air.pressure_to_pressure_altitude(pressure)
    there = here + altitude_msl - elevation
    temperature += air.standard_temperature(there) - air.standard_temperature(here)
    static = air.pressure_altitude_to_pressure(there)
    density = air.density(static, temperature)
    through = air.air_relative_velocity(velocity, wind, orientation)
    speed = math.hypot(*through)
    return Air(
        air.true_to_calibrated_airspeed(speed, static, temperature), speed,
        air.angle_of_attack(through), air.sideslip(through), static,
        air.dynamic_pressure(speed, density), temperature, density, wind)
