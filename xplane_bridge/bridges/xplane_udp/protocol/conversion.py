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

"""Conversion between DATA rows and SI quantities, using the tables in rows.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TypeAlias

from xplane_bridge.bridges.xplane_udp.protocol.data import (
    check_version,
    INTEGER_INPUTS,
    Segment,
    VALUES_PER_ROW,
)
from xplane_bridge.bridges.xplane_udp.protocol.rows import Column, Row, ROWS, Unit

Value: TypeAlias = float | tuple[float | None, ...] | None


@dataclass(frozen=True, slots=True)
class RowQuantities:
    """
    Quantities in one set of rows, in SI units and radians; None is unknown.

    latitude_deg and longitude_deg stay in degrees, and g_normal, g_axial, g_side in g (see rows.py
    for their axes). Ratios: surfaces and trims -1..1 (+ nose up, right wing down, nose right),
    flaps, slats, speedbrakes, brakes and throttles 0..1, throttles negative in reverse. gear is 0
    up, 1 down. Rates are those of roll, pitch and yaw (right, up, right positive). local_x, y, z
    are metres east, up, south of a moving origin. throttle and throttle_actual have a value for
    each of eight engines.
    """

    time_since_start: float | None = None
    total_time: float | None = None
    mission_time: float | None = None
    indicated_airspeed: float | None = None
    equivalent_airspeed: float | None = None
    true_airspeed: float | None = None
    ground_speed: float | None = None
    mach: float | None = None
    vertical_speed: float | None = None
    g_normal: float | None = None
    g_axial: float | None = None
    g_side: float | None = None
    sea_level_pressure: float | None = None
    sea_level_temperature: float | None = None
    wind_speed: float | None = None
    wind_from: float | None = None
    static_pressure: float | None = None
    static_temperature: float | None = None
    density_ratio: float | None = None
    dynamic_pressure: float | None = None
    stick_elevator: float | None = None
    stick_aileron: float | None = None
    stick_rudder: float | None = None
    elevator: float | None = None
    aileron: float | None = None
    rudder: float | None = None
    elevator_trim: float | None = None
    aileron_trim: float | None = None
    rudder_trim: float | None = None
    flaps_request: float | None = None
    flaps: float | None = None
    slats: float | None = None
    speedbrake_request: float | None = None
    speedbrake: float | None = None
    gear: float | None = None
    wheel_brake: float | None = None
    left_toe_brake: float | None = None
    right_toe_brake: float | None = None
    roll_rate: float | None = None
    pitch_rate: float | None = None
    yaw_rate: float | None = None
    pitch: float | None = None
    roll: float | None = None
    true_heading: float | None = None
    magnetic_heading: float | None = None
    angle_of_attack: float | None = None
    sideslip: float | None = None
    ground_track: float | None = None
    flight_path_angle: float | None = None
    latitude_deg: float | None = None
    longitude_deg: float | None = None
    altitude_msl: float | None = None
    altitude_agl: float | None = None
    on_runway: float | None = None
    indicated_altitude: float | None = None
    local_x: float | None = None
    local_y: float | None = None
    local_z: float | None = None
    velocity_east: float | None = None
    velocity_up: float | None = None
    velocity_south: float | None = None
    throttle: tuple[float | None, ...] | None = None
    throttle_actual: tuple[float | None, ...] | None = None


_FIELD_NAMES = frozenset(f.name for f in fields(RowQuantities))


def rows_for(version: int, quantities: Iterable[str]) -> tuple[int, ...]:
    """
    Return the rows, in ascending order, that a version must send for these quantities.

    A quantity that the version does not have adds none. Raises ValueError for a name that is not a
    field of RowQuantities.
    """
    check_version(version)
    return tuple(sorted({place[0] for place in (_place(version, q) for q in quantities) if place}))


def quantities(version: int, segments: Iterable[Segment]) -> RowQuantities:
    """
    Convert rows of one version to SI quantities.

    Rows without a known meaning, and missing values, are left out. If two columns give the same
    quantity, knots have precedence over miles per hour.
    """
    check_version(version)
    table = ROWS[version]
    found: dict[str, Value] = {}
    for segment in segments:
        row = table.get(segment.index)
        for column in row.columns if row else ():
            if column.quantity is None or found.get(column.quantity) is not None:
                continue
            if column.width > 1:
                found[column.quantity] = tuple(
                    _to_si(v, column.unit)
                    for v in segment.values[column.index:column.index + column.width])
            else:
                found[column.quantity] = _to_si(segment.values[column.index], column.unit)
    return RowQuantities(**found)  # type: ignore[arg-type]


def to_segments(version: int, values: Mapping[str, Value],
                rows: Iterable[int] | None = None) -> tuple[Segment, ...]:
    """
    Convert SI quantities to rows of one version, the inverse of ``quantities``.

    values maps fields of RowQuantities to SI values; None ones are left out. With rows None each
    quantity goes into its own row, for a command to X-Plane, with the int32 inputs of 7.4 marked;
    otherwise exactly these rows are filled with whatever is known for them, as X-Plane fills the
    selected rows. Values not given are None, "leave unchanged" or "no data".
    Raises ValueError for a name that is not a field of RowQuantities or, with rows None, that has
    no row in this version.
    """
    check_version(version)
    given = {name: value for name, value in values.items() if value is not None}
    if rows is None:
        missing = sorted(name for name in given if _place(version, name) is None)
        if missing:
            raise ValueError(f'X-Plane {version} has no row for {", ".join(missing)}')
        integers = INTEGER_INPUTS.get(version, {})
        return tuple(replace(_filled(n, ROWS[version][n], given), integers=integers.get(n, ()))
                     for n in rows_for(version, given))
    for name in given.keys() - _FIELD_NAMES:
        _place(version, name)
    return tuple(_filled(n, ROWS[version].get(n), given) for n in rows)


def _place(version: int, quantity: str) -> tuple[int, Column] | None:
    if quantity not in _FIELD_NAMES:
        raise ValueError(f'{quantity!r} is not a field of Quantities')
    return _PLACES[version].get(quantity)


def _to_si(value: float | None, unit: Unit) -> float | None:
    return None if value is None else value * unit.factor + unit.offset


def _filled(number: int, row: Row | None, given: Mapping[str, Value]) -> Segment:
    values: list[float | None] = [None] * VALUES_PER_ROW
    for column in row.columns if row else ():
        value = given.get(column.quantity or '')
        if value is None:
            continue
        several = value if isinstance(value, tuple) else (value,)
        if len(several) > column.width:
            raise ValueError(f'{column.quantity}: {len(several)} values, at most {column.width}')
        for i, v in enumerate(several, start=column.index):
            values[i] = None if v is None else (v - column.unit.offset) / column.unit.factor
    return Segment(number, tuple(values))


def _places(table: Mapping[int, Row]) -> Mapping[str, tuple[int, Column]]:
    places: dict[str, tuple[int, Column]] = {}
    for row in table.values():
        for column in row.columns:
            if column.quantity is not None:
                places.setdefault(column.quantity, (row.number, column))
    return places


_PLACES = {version: _places(table) for version, table in ROWS.items()}
