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
Meaning of the DATA rows: one table per version, with names, units and conversion to SI.

X-Plane renumbered its data output screen twice: version 6 has 93 rows, 7.4 has 113, 11 has 139
(docs/wire/xplane_udp.md, section 4; docs/wire/xplane_datarefs.md, section 5). For X-Plane 8 no
list was found: the table of 9 is used, which is an inference.

``Row.inferred`` marks a number, or columns and their units, that rely on neighbouring versions
only. That is most of 6 and 7: programs of their time give the numbers but no units, so those here
are the later versions'.

Two questions are open. The axial g load of row 4 is + forward for two programs that read it,
opposite to the dataref of the same quantity; so the three g loads are passed on unchanged, in g.
The sign of sideslip differs between two vendor documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
import math

from xplane_bridge.bridges.xplane_udp.protocol.data import check_version, VALUES_PER_ROW


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of the wire: SI value = factor * wire value + offset."""

    symbol: str
    factor: float = 1.0
    offset: float = 0.0


RATIO = Unit('')
FLAG = Unit('0 or 1')
SECOND = Unit('s')
HOUR = Unit('h', 3600.0)
KNOT = Unit('kt', 1852.0 / 3600.0)
MILE_PER_HOUR = Unit('mph', 0.44704)
METRE_PER_SECOND = Unit('m/s')
FOOT_PER_MINUTE = Unit('ft/min', 0.3048 / 60.0)
METRE = Unit('m')
FOOT = Unit('ft', 0.3048)
INCH_OF_MERCURY = Unit('inHg', 3386.389)
POUND_PER_SQUARE_FOOT = Unit('psf', 47.880259)
CELSIUS = Unit('degC', 1.0, 273.15)
DEGREE = Unit('deg', math.pi / 180.0)
KEPT_DEGREE = Unit('deg')
"""For latitude and longitude, which stay in degrees, as in NavSatFix."""
RADIAN_PER_SECOND = Unit('rad/s')
DEGREE_PER_SECOND = Unit('deg/s', math.pi / 180.0)
G_LOAD = Unit('g')
"""Stays in g: see the open question about its axes above."""


@dataclass(frozen=True, slots=True)
class Column:
    """
    One value of a row, or ``width`` of them from index on, one per engine.

    name includes the wire unit; quantity is the field of Quantities that it feeds, if any.
    """

    index: int
    name: str
    unit: Unit
    quantity: str | None = None
    width: int = 1


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the data output screen. inferred: no source for this version itself."""

    number: int
    name: str
    columns: tuple[Column, ...] = ()
    inferred: bool = False


# ---------------------------------------------------------------- the columns

_FRAME_RATE = (
    Column(0, 'frame_rate_hz', Unit('Hz')), Column(1, 'simulator_rate_hz', Unit('Hz')),
    Column(3, 'frame_time_s', SECOND), Column(4, 'cpu_time_s', SECOND),
    Column(5, 'gpu_time_s', SECOND))
_TIMES = (
    Column(0, 'time_since_start_s', SECOND, 'time_since_start'),
    Column(1, 'total_time_s', SECOND, 'total_time'),
    Column(2, 'mission_time_s', SECOND, 'mission_time'), Column(3, 'timer_s', SECOND),
    Column(5, 'zulu_time_h', HOUR), Column(6, 'local_time_h', HOUR),
    Column(7, 'hobbs_time_h', HOUR))
_SPEEDS = (
    Column(0, 'indicated_airspeed_kt', KNOT, 'indicated_airspeed'),
    Column(1, 'equivalent_airspeed_kt', KNOT, 'equivalent_airspeed'),
    Column(2, 'true_airspeed_kt', KNOT, 'true_airspeed'),
    Column(3, 'ground_speed_kt', KNOT, 'ground_speed'),
    Column(5, 'indicated_airspeed_mph', MILE_PER_HOUR, 'indicated_airspeed'),
    Column(6, 'true_airspeed_mph', MILE_PER_HOUR, 'true_airspeed'),
    Column(7, 'ground_speed_mph', MILE_PER_HOUR, 'ground_speed'))
_TRUE_MPH = (Column(0, 'true_airspeed_mph', MILE_PER_HOUR, 'true_airspeed'),)
_MACH_VVI_G = (
    Column(0, 'mach', RATIO, 'mach'),
    Column(2, 'vertical_speed_ft_min', FOOT_PER_MINUTE, 'vertical_speed'),
    Column(4, 'g_normal', G_LOAD, 'g_normal'), Column(5, 'g_axial', G_LOAD, 'g_axial'),
    Column(6, 'g_side', G_LOAD, 'g_side'))
_WEATHER = (
    Column(0, 'sea_level_pressure_inhg', INCH_OF_MERCURY, 'sea_level_pressure'),
    Column(1, 'sea_level_temperature_degc', CELSIUS, 'sea_level_temperature'),
    Column(3, 'wind_speed_kt', KNOT, 'wind_speed'),
    Column(4, 'wind_from_deg', DEGREE, 'wind_from'),
    Column(5, 'turbulence_ratio', RATIO), Column(6, 'precipitation_ratio', RATIO),
    Column(7, 'hail_ratio', RATIO))
_ATMOSPHERE = (
    Column(0, 'static_pressure_inhg', INCH_OF_MERCURY, 'static_pressure'),
    Column(1, 'static_temperature_degc', CELSIUS, 'static_temperature'),
    Column(2, 'leading_edge_temperature_degc', CELSIUS),
    Column(3, 'density_ratio', RATIO, 'density_ratio'),
    Column(4, 'speed_of_sound_kt', KNOT),
    Column(5, 'dynamic_pressure_psf', POUND_PER_SQUARE_FOOT, 'dynamic_pressure'),
    Column(7, 'gravity_ft_s2', Unit('ft/s2', 0.3048)))
_JOYSTICK = (
    Column(0, 'stick_elevator_ratio', RATIO, 'stick_elevator'),
    Column(1, 'stick_aileron_ratio', RATIO, 'stick_aileron'),
    Column(2, 'stick_rudder_ratio', RATIO, 'stick_rudder'))
_STABILITY = (
    Column(0, 'elevator_ratio', RATIO), Column(1, 'aileron_ratio', RATIO),
    Column(2, 'rudder_ratio', RATIO))
_FLIGHT_CONTROLS = (
    Column(0, 'elevator_ratio', RATIO, 'elevator'), Column(1, 'aileron_ratio', RATIO, 'aileron'),
    Column(2, 'rudder_ratio', RATIO, 'rudder'), Column(4, 'nosewheel_deg', DEGREE))
_TRIM_FLAPS = (
    Column(0, 'elevator_trim_ratio', RATIO, 'elevator_trim'),
    Column(1, 'aileron_trim_ratio', RATIO, 'aileron_trim'),
    Column(2, 'rudder_trim_ratio', RATIO, 'rudder_trim'),
    Column(3, 'flaps_request_ratio', RATIO, 'flaps_request'),
    Column(4, 'flaps_ratio', RATIO, 'flaps'), Column(5, 'slats_ratio', RATIO, 'slats'),
    Column(6, 'speedbrake_request_ratio', RATIO, 'speedbrake_request'),
    Column(7, 'speedbrake_ratio', RATIO, 'speedbrake'))
_GEAR_BRAKES = (
    Column(0, 'gear', FLAG, 'gear'), Column(1, 'wheel_brake_ratio', RATIO, 'wheel_brake'),
    Column(2, 'left_toe_brake_ratio', RATIO, 'left_toe_brake'),
    Column(3, 'right_toe_brake_ratio', RATIO, 'right_toe_brake'),
    Column(4, 'wheel_brake_actual_ratio', RATIO))
_MOMENTS = (
    Column(0, 'pitch_moment_ft_lb', Unit('ft lb', 1.3558179)),
    Column(1, 'roll_moment_ft_lb', Unit('ft lb', 1.3558179)),
    Column(2, 'yaw_moment_ft_lb', Unit('ft lb', 1.3558179)))
_RATES_QPR = (
    Column(0, 'pitch_rate_rad_s', RADIAN_PER_SECOND, 'pitch_rate'),
    Column(1, 'roll_rate_rad_s', RADIAN_PER_SECOND, 'roll_rate'),
    Column(2, 'yaw_rate_rad_s', RADIAN_PER_SECOND, 'yaw_rate'))
_RATES_PQR = (
    Column(0, 'roll_rate_deg_s', DEGREE_PER_SECOND, 'roll_rate'),
    Column(1, 'pitch_rate_deg_s', DEGREE_PER_SECOND, 'pitch_rate'),
    Column(2, 'yaw_rate_deg_s', DEGREE_PER_SECOND, 'yaw_rate'))
_ATTITUDE = (
    Column(0, 'pitch_deg', DEGREE, 'pitch'), Column(1, 'roll_deg', DEGREE, 'roll'),
    Column(2, 'true_heading_deg', DEGREE, 'true_heading'),
    Column(3, 'magnetic_heading_deg', DEGREE, 'magnetic_heading'))
_PATHS = (
    Column(0, 'angle_of_attack_deg', DEGREE, 'angle_of_attack'),
    Column(1, 'sideslip_deg', DEGREE, 'sideslip'),
    Column(2, 'ground_track_deg', DEGREE, 'ground_track'),
    Column(3, 'flight_path_angle_deg', DEGREE, 'flight_path_angle'),
    Column(7, 'slip_deg', DEGREE))
_COMPASS = (
    Column(0, 'magnetic_heading_deg', DEGREE), Column(1, 'magnetic_variation_deg', DEGREE))
_POSITION = (
    Column(0, 'latitude_deg', KEPT_DEGREE, 'latitude_deg'),
    Column(1, 'longitude_deg', KEPT_DEGREE, 'longitude_deg'),
    Column(2, 'altitude_ft_msl', FOOT, 'altitude_msl'),
    Column(3, 'altitude_ft_agl', FOOT, 'altitude_agl'), Column(4, 'on_runway', FLAG, 'on_runway'),
    Column(5, 'indicated_altitude_ft', FOOT, 'indicated_altitude'),
    Column(6, 'tile_latitude_deg', KEPT_DEGREE), Column(7, 'tile_longitude_deg', KEPT_DEGREE))
_LOCAL = (
    Column(0, 'local_x_m', METRE, 'local_x'), Column(1, 'local_y_m', METRE, 'local_y'),
    Column(2, 'local_z_m', METRE, 'local_z'),
    Column(3, 'velocity_east_m_s', METRE_PER_SECOND, 'velocity_east'),
    Column(4, 'velocity_up_m_s', METRE_PER_SECOND, 'velocity_up'),
    Column(5, 'velocity_south_m_s', METRE_PER_SECOND, 'velocity_south'),
    Column(6, 'distance_ft', FOOT), Column(7, 'distance_nmi', Unit('nmi', 1852.0)))
_THROTTLE = (Column(0, 'throttle_ratio', RATIO, 'throttle', VALUES_PER_ROW),)
_THROTTLE_ACTUAL = (Column(0, 'throttle_ratio', RATIO, 'throttle_actual', VALUES_PER_ROW),)
_ENGINE_RPM = (Column(0, 'engine_speed_rpm', Unit('rpm', math.pi / 30.0), None, VALUES_PER_ROW),)


# ---------------------------------------------------------------- the tables

_ROWS_6 = (
    Row(0, 'frame rate'),
    Row(1, 'times', _TIMES, True),
    # 7.4 has the true airspeed in mph here; the other seven values are not documented.
    Row(2, 'speeds, Mach, vertical speed, g loads', _TRUE_MPH, True),
    Row(8, 'joystick', _JOYSTICK, True),
    Row(9, 'artificial stability', _STABILITY, True),
    Row(10, 'flight controls', _FLIGHT_CONTROLS, True),
    Row(11, 'wing sweep, thrust vectoring'),
    Row(12, 'trim, flaps, slats, speedbrakes', _TRIM_FLAPS, True),
    Row(13, 'gear, brakes', _GEAR_BRAKES, True),
    Row(14, 'angular moments', _MOMENTS, True),
    Row(15, 'angular accelerations'),
    Row(16, 'angular velocities', _RATES_QPR, True),
    Row(17, 'pitch, roll, headings', _ATTITUDE, True),
    Row(18, 'latitude, longitude, altitude', _POSITION, True),
    Row(19, 'local position, velocity, distance travelled', _LOCAL, True),
    Row(23, 'throttle commanded', _THROTTLE, True),
    Row(24, 'engine mode'),
    Row(25, 'propeller setting'),
    Row(26, 'mixture setting'),
    Row(27, 'cowl flaps'),
    Row(31, 'engine thrust'),
    Row(33, 'engine speed', _ENGINE_RPM),
    Row(53, 'aerodynamic forces'),
    Row(83, 'NAV frequencies'),
    Row(84, 'NAV OBS'),
    Row(85, 'NAV deflections'),
    Row(88, 'GPS'),
)

# Rows 2, 12, 16, 18, 19 and 23 are sourced. Gear (13 -> 12) and attitude (17 -> 16) moved up by
# one from 6 to 7.4, so the rows between them did; that joystick to trim did too is a guess.
_ROWS_7 = (
    Row(0, 'frame rate'),
    Row(2, 'speeds', _TRUE_MPH),
    Row(7, 'joystick', _JOYSTICK, True),
    Row(8, 'artificial stability', _STABILITY, True),
    Row(9, 'flight controls', _FLIGHT_CONTROLS, True),
    Row(11, 'trim, flaps, slats, speedbrakes', _TRIM_FLAPS, True),
    Row(12, 'gear, brakes', _GEAR_BRAKES, True),
    Row(13, 'angular moments', _MOMENTS, True),
    Row(14, 'angular accelerations', (), True),
    Row(15, 'angular velocities', _RATES_QPR, True),
    Row(16, 'pitch, roll, headings', _ATTITUDE, True),
    Row(18, 'latitude, longitude, altitude', _POSITION, True),
    Row(19, 'local position, velocity, distance travelled', _LOCAL, True),
    Row(23, 'throttle commanded', _THROTTLE, True),
)

_ROWS_0_TO_15 = (
    Row(0, 'frame rate', _FRAME_RATE),
    Row(1, 'times', _TIMES),
    Row(2, 'simulator statistics'),
    Row(3, 'speeds', _SPEEDS),
    Row(4, 'Mach, vertical speed, g loads', _MACH_VVI_G),
    Row(5, 'weather', _WEATHER),
    Row(6, 'aircraft atmosphere', _ATMOSPHERE),
    Row(7, 'system pressures'),
    Row(8, 'joystick', _JOYSTICK),
    Row(9, 'other flight controls'),
    Row(10, 'artificial stability', _STABILITY),
    Row(11, 'flight controls', _FLIGHT_CONTROLS),
    Row(12, 'wing sweep, thrust vectoring'),
    Row(13, 'trim, flaps, slats, speedbrakes', _TRIM_FLAPS),
    Row(14, 'gear, brakes', _GEAR_BRAKES),
    Row(15, 'angular moments', _MOMENTS),
)
_ROWS_16_TO_19_OF_9 = (
    Row(16, 'angular accelerations'),
    Row(17, 'angular velocities', _RATES_QPR),
    Row(18, 'pitch, roll, headings', _ATTITUDE),
    Row(19, 'angle of attack, sideslip, paths', _PATHS),
)
_ROWS_17_TO_19 = (
    Row(17, 'pitch, roll, headings', _ATTITUDE),
    Row(18, 'angle of attack, sideslip, paths', _PATHS),
    Row(19, 'magnetic compass', _COMPASS),
)
_ROWS_20_TO_26 = (
    Row(20, 'latitude, longitude, altitude', _POSITION),
    Row(21, 'local position, velocity, distance travelled', _LOCAL),
    Row(22, 'all planes: latitude'),
    Row(23, 'all planes: longitude'),
    Row(24, 'all planes: altitude'),
    Row(25, 'throttle commanded', _THROTTLE),
    Row(26, 'throttle actual', _THROTTLE_ACTUAL),
)
_NAMES_27_TO_138 = (
    'engine mode', 'propeller setting', 'mixture setting', 'carburettor heat', 'cowl flaps',
    'magnetos', 'starter timeout', 'engine power', 'engine thrust', 'engine torque',
    'engine speed', 'propeller speed', 'propeller pitch', 'engine wash', 'N1', 'N2',
    'manifold pressure', 'engine pressure ratio', 'fuel flow', 'ITT', 'EGT', 'CHT',
    'oil pressure', 'oil temperature', 'fuel pressure', 'generator current', 'battery current',
    'battery voltage', 'fuel pumps', 'idle speed low or high', 'batteries', 'generators',
    'inverters', 'FADEC', 'igniters', 'fuel weights', 'payload, centre of gravity',
    'aerodynamic forces', 'engine forces', 'landing gear vertical forces',
    'landing gear deployment', 'lift over drag, coefficients', 'propeller efficiency',
    'aileron deflections 1', 'aileron deflections 2', 'roll spoiler deflections 1',
    'roll spoiler deflections 2', 'elevator deflections', 'rudder deflections',
    'yaw brake deflections', 'control forces', 'vertical thrust vectors',
    'lateral thrust vectors', 'cyclic pitch disc tilts', 'cyclic roll disc tilts',
    'cyclic pitch flapping', 'cyclic roll flapping', 'ground effect lift, wings',
    'ground effect drag, wings', 'ground effect wash, wings', 'ground effect lift, stabilisers',
    'ground effect drag, stabilisers', 'ground effect wash, stabilisers',
    'ground effect wash, rotors', 'vortex ring wash, rotors', 'wing lift', 'wing drag',
    'stabiliser lift', 'stabiliser drag', 'COM frequencies', 'NAV frequencies', 'NAV OBS',
    'NAV 1 deflections', 'NAV 2 deflections', 'ADF', 'DME', 'GPS', 'transponder', 'markers',
    'electrical switches', 'EFIS switches', 'autopilot, flight director, HUD switches',
    'anti-ice switches 1', 'anti-ice switches 2, fuel', 'clutch, artificial stability switches',
    'other switches', 'annunciators 1', 'annunciators 2', 'engine annunciators',
    'autopilot armed', 'autopilot modes', 'autopilot values', 'weapons', 'pressurisation',
    'APU, GPU', 'radar', 'hydraulics', 'electrics, solar', 'icing 1', 'icing 2', 'warnings',
    'flight plan legs', 'hardware options', 'camera location', 'ground location',
    'climb statistics', 'cruise statistics', 'landing gear steering', 'motion platform',
    'joystick raw axes', 'gear forces', 'servo controls')
_COLUMNS_27_TO_138 = {37: _ENGINE_RPM}


def _rows_27_to_138(inferred: bool) -> tuple[Row, ...]:
    return tuple(Row(n, name, _COLUMNS_27_TO_138.get(n, ()), inferred)
                 for n, name in enumerate(_NAMES_27_TO_138, start=27))


def _numbered(*parts: Iterable[Row]) -> Mapping[int, Row]:
    return {row.number: row for part in parts for row in part}


_TABLE_9 = _numbered(
    _ROWS_0_TO_15, _ROWS_16_TO_19_OF_9, _ROWS_20_TO_26,
    # Latitude (20), throttle (25) and engine speed (37) are the same as in 10 and later.
    _rows_27_to_138(inferred=True))
_TABLE_11 = _numbered(
    _ROWS_0_TO_15, (Row(16, 'angular velocities', _RATES_QPR),), _ROWS_17_TO_19, _ROWS_20_TO_26,
    _rows_27_to_138(inferred=False))
_TABLE_12 = _numbered(
    _ROWS_0_TO_15, (Row(16, 'angular velocities', _RATES_PQR),), _ROWS_17_TO_19, _ROWS_20_TO_26,
    _rows_27_to_138(inferred=False))

ROWS: Mapping[int, Mapping[int, Row]] = {
    6: _numbered(_ROWS_6),
    7: _numbered(_ROWS_7),
    8: _TABLE_9,
    9: _TABLE_9,
    10: _TABLE_11,
    11: _TABLE_11,
    12: _TABLE_12,
}
"""Version -> row number -> Row."""

ROW_COUNTS: Mapping[int, int] = {6: 93, 7: 113, 11: 139}
"""Version -> number of rows, if known; ROWS may not name them all."""


def row_name(version: int, number: int) -> str:
    """Return the name of a row, or 'row N' for one without a known name."""
    check_version(version)
    row = ROWS[version].get(number)
    return row.name if row else f'row {number}'
