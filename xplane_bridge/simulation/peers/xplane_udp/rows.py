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

"""Data rows of the simulated aircraft: filled for sending, applied when received."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
import math
from operator import attrgetter
from typing import Any

from xplane_bridge.bridges.xplane_udp.protocol import (
    quantities,
    RowQuantities,
    Segment,
    to_segments,
    Value,
    VALUES_PER_ROW,
)
from xplane_bridge.simulation.aircraft.state import STANDARD_GRAVITY
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane.entries import padded

# Rows that sources give for the engine speed (docs/wire/xplane_udp.md, section 4).
_ENGINE_SPEED_ROW = {6: 33, 8: 37, 9: 37, 10: 37, 11: 37, 12: 37}
_PROPELLER_SPEED_ROW = 38
# Six axes of the joystick, 0 to 1, and its buttons as bits. There is no joystick: it is centred.
# No data (-999) would move the stick of programs that fly by this row.
_JOYSTICK_ROW = 136
_CENTRED_JOYSTICK = (0.5,) * 6 + (0.0, 0.0)
_FIRST_WITH_JOYSTICK_ROW = 10

# Quantity -> control of Aircraft.set_controls. Writing the joystick or the flight controls after
# it moves the yoke: there is no hardware that would move it back.
_CONTROLS = {
    'stick_elevator': 'elevator', 'stick_aileron': 'aileron', 'stick_rudder': 'rudder',
    'elevator': 'elevator', 'aileron': 'aileron', 'rudder': 'rudder',
    'elevator_trim': 'elevator_trim', 'aileron_trim': 'aileron_trim', 'rudder_trim': 'rudder_trim',
    'flaps_request': 'flaps', 'speedbrake_request': 'speedbrake', 'gear': 'gear',
    'left_toe_brake': 'left_brake', 'right_toe_brake': 'right_brake',
    'wheel_brake': 'parking_brake',
}

_NAMES = tuple(field.name for field in fields(RowQuantities))
_all_of = attrgetter(*_NAMES)


def filled_rows(world: World, version: int, rows: Iterable[int]) -> tuple[Segment, ...]:
    """Return rows with the values that the simulation has; the rest is -999."""
    segments = to_segments(version, _quantities(world), rows)
    others = _other_rows(world, version)
    return tuple(
        replace(segment, values=others[segment.index]) if segment.index in others else segment
        for segment in segments)


def apply_rows(world: World, version: int, segments: Iterable[Segment]) -> None:
    """Move the controls that rows have values for; other rows are not modelled."""
    for segment in segments:
        found = quantities(version, [segment])
        given = {name: value for name, value in zip(_NAMES, _all_of(found), strict=True)
                 if value is not None and _is_finite(value)}
        controls: Any = {_CONTROLS[name]: value for name, value in given.items()
                         if name in _CONTROLS}
        if controls:
            world.aircraft.set_controls(**controls)
        if 'throttle' in given:
            world.set_throttle_handles(given['throttle'])


def _is_finite(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(v is None or math.isfinite(v) for v in value) and any(
            v is not None for v in value)
    return math.isfinite(value)


def _other_rows(world: World, version: int) -> Mapping[int, tuple[float | None, ...]]:
    """Return the rows of values that are not among RowQuantities."""
    engines = world.aircraft.state.engines
    rows = {}
    if version in _ENGINE_SPEED_ROW:
        rows[_ENGINE_SPEED_ROW[version]] = _filled(engine.rpm for engine in engines)
    if version >= _FIRST_WITH_JOYSTICK_ROW:
        rows[_PROPELLER_SPEED_ROW] = _filled(engine.propeller_rpm for engine in engines)
        rows[_JOYSTICK_ROW] = _CENTRED_JOYSTICK
    return rows


def _filled(values: Iterable[float | None]) -> tuple[float | None, ...]:
    return tuple(padded(values, VALUES_PER_ROW, None))


def _quantities(world: World) -> Mapping[str, Value]:
    return {**_air_data(world), **_controls(world), **_motion(world)}


def _air_data(world: World) -> Mapping[str, Value]:
    s = world.aircraft.state
    wind_from = math.atan2(-s.wind_east, -s.wind_north) % math.tau
    return {
        'time_since_start': world.network_time,
        'total_time': world.total_running_time,
        'mission_time': world.flight_time,
        'indicated_airspeed': s.cas,
        'equivalent_airspeed': s.eas,
        'true_airspeed': s.tas,
        'ground_speed': s.ground_speed,
        'mach': s.mach,
        'vertical_speed': -s.v_down,
        'g_normal': -s.f_z / STANDARD_GRAVITY,
        # In a row + is forward, unlike the dataref (docs/wire/xplane_datarefs.md, row 5.10).
        'g_axial': s.f_x / STANDARD_GRAVITY,
        'g_side': s.f_y / STANDARD_GRAVITY,
        'sea_level_pressure': s.sea_level_pressure,
        'sea_level_temperature': s.sea_level_temperature,
        'wind_speed': math.hypot(s.wind_north, s.wind_east),
        'wind_from': wind_from,
        'static_pressure': s.static_pressure,
        'static_temperature': s.temperature,
        'density_ratio': s.density_ratio,
        'dynamic_pressure': s.qbar,
    }


def _controls(world: World) -> Mapping[str, Value]:
    s = world.aircraft.state
    return {
        'stick_elevator': s.elevator,
        'stick_aileron': s.aileron,
        'stick_rudder': s.rudder,
        'elevator': s.elevator_position,
        'aileron': s.aileron_position,
        'rudder': s.rudder_position,
        'elevator_trim': s.elevator_trim,
        'aileron_trim': s.aileron_trim,
        'rudder_trim': s.rudder_trim,
        'flaps_request': s.flaps,
        'flaps': s.flaps_position,
        'speedbrake_request': s.speedbrake,
        'speedbrake': s.speedbrake_position,
        'gear': s.gear,
        'wheel_brake': s.parking_brake,
        'left_toe_brake': s.left_brake,
        'right_toe_brake': s.right_brake,
        'throttle': world.throttle_handles[:VALUES_PER_ROW],
        'throttle_actual': world.throttle_use[:VALUES_PER_ROW],
    }


def _motion(world: World) -> Mapping[str, Value]:
    s = world.aircraft.state
    local = world.local
    return {
        'roll_rate': s.p,
        'pitch_rate': s.q,
        'yaw_rate': s.r,
        'pitch': s.theta,
        'roll': s.phi,
        'true_heading': s.psi,
        'magnetic_heading': (
            s.psi + math.radians(world.magnetic_variation_deg)) % math.tau,
        'angle_of_attack': s.alpha,
        'sideslip': s.beta,
        'ground_track': s.track,
        'flight_path_angle': math.atan2(-s.v_down, s.ground_speed),
        'latitude_deg': s.lat_deg,
        'longitude_deg': s.lon_deg,
        'altitude_msl': s.altitude_msl,
        'altitude_agl': s.altitude_agl,
        'local_x': local.position[0],
        'local_y': local.position[1],
        'local_z': local.position[2],
        'velocity_east': local.velocity[0],
        'velocity_up': local.velocity[1],
        'velocity_south': local.velocity[2],
    }
