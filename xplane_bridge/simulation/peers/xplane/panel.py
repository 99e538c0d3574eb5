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
Datarefs of the user's panel: instruments that show the flight, and settings that stay as written.

Instruments have no error and no lag; the altimeter follows its setting as a real one does. Radios,
the autopilot's dials and switches are settings: they keep what is written and move nothing. At the
start they are at 0, or at what an aircraft with its engines running may have: X-Plane's own start
values depend on the aircraft. Names and types follow Laminar's lists; several names of one setting
share it. Commands turn some of them: knobs.py.
"""

from functools import partial
import math
from typing import NamedTuple

from xplane_bridge.simulation.aircraft.state import AircraftState, FOOT, KNOT
from xplane_bridge.simulation.peers.world import THROTTLE_COUNT, VIEW_TYPES, World
from xplane_bridge.simulation.peers.xplane.entries import DatarefTable, DatarefType, Read
from xplane_bridge.simulation.peers.xplane.units import INCH_OF_MERCURY, KELVIN

# The standard atmosphere below 11 km: temperature over lapse rate in m, and R L / (g M).
_SCALE = 288.15 / 0.0065
_EXPONENT = 0.190263
_STANDARD_PRESSURE = 101_325.0
_STANDARD_SETTING = 29.92
_LAPSE_RATE, _GAS_CONSTANT = 0.0065, 287.05
# No air that flows past, in m/s.
_STANDING = 1.0
# What X-Plane's autopilot_mode calls "flight director and servos on".
_SERVOS = 2
_TAIL_NUMBER = 'sim/aircraft/view/acf_tailnum'
_ALTIMETER = 'sim/cockpit/misc/barometer_setting'

_COCKPIT, _COCKPIT2 = 'sim/cockpit/', 'sim/cockpit2/'
_GAUGES = 'sim/cockpit2/gauges/indicators/'
_OLD_RADIOS, _RADIOS = 'sim/cockpit/radios/', 'sim/cockpit2/radios/actuators/'
_OLD_DIALS, _DIALS = 'sim/cockpit/autopilot/', 'sim/cockpit2/autopilot/'
BATTERIES = 'sim/cockpit2/electrical/battery_on'


_PER_ENGINE = THROTTLE_COUNT
# Of instrument lights a version has as many as X-Plane 12, or half of them.
_LIGHTS = 32


class _Setting(NamedTuple):
    """
    One setting: its names, the first of which is its key, and its value at the start.

    ``size`` is the number of elements of an array, 0 for a scalar; of _PER_ENGINE a version has
    as many as it has engines.
    """

    names: tuple[str, ...]
    start: float = 0
    size: int = 0


def _frequency(radio: str, n: int, kind: str) -> tuple[str, str]:
    """Return both names of a frequency, which is in use ('') or the standby's."""
    old, new = ('stdby_', 'standby_') if kind else ('', '')
    return f'{_OLD_RADIOS}{radio}{n}_{old}freq_hz', f'{_RADIOS}{radio}{n}_{new}frequency_hz'


def _radios() -> list[_Setting]:
    """Return frequencies in kHz, those of navigation radios in 10 kHz; and power switches."""
    settings = [_Setting((f'{_RADIOS}{radio}_power',), 1)
                for radio in ('com1', 'com2', 'nav1', 'nav2', 'adf1', 'adf2', 'dme')]
    for n in (1, 2):
        for kind in ('', 'standby'):
            settings += [_Setting((_frequency('com', n, kind)[1] + '_833',), 121_900),
                         _Setting(_frequency('nav', n, kind), 11_030),
                         _Setting(_frequency('adf', n, kind), 400)]
    return settings


_INTS = (
    *_radios(),
    _Setting((_OLD_RADIOS + 'transponder_code', _RADIOS + 'transponder_code'), 1200),
    _Setting((_OLD_RADIOS + 'transponder_mode', _RADIOS + 'transponder_mode'), 1),
    _Setting((_COCKPIT + 'switches/HSI_selector', _RADIOS + 'HSI_source_select_pilot')),
    # 6 is COM 1.
    _Setting((_RADIOS + 'audio_com_selection',), 6),
    _Setting((_RADIOS + 'dme_frequency_hz',), 11_030),
    _Setting((_OLD_DIALS + 'autopilot_mode', _DIALS + 'flight_director_mode')),
    _Setting((_OLD_DIALS + 'airspeed_is_mach', _DIALS + 'airspeed_is_mach')),
    _Setting((_DIALS + 'autothrottle_enabled',)),
    _Setting((_COCKPIT + 'electrical/avionics_on', _COCKPIT2 + 'switches/avionics_power_on'), 1),
    _Setting((_COCKPIT + 'switches/pitot_heat_on', _COCKPIT2 + 'ice/ice_pitot_heat_on_pilot')),
    _Setting((_COCKPIT + 'switches/anti_ice_surf_heat_left',)),
    _Setting((_COCKPIT + 'switches/anti_ice_surf_heat_right',)),
    _Setting((_COCKPIT + 'switches/fasten_seat_belts',
              _COCKPIT2 + 'switches/fasten_seat_belts')),
    _Setting((_COCKPIT2 + 'controls/brake_fan_on',)),
    # 4 is all tanks.
    _Setting((_COCKPIT2 + 'fuel/fuel_tank_selector',), 4),
    _Setting(('sim/physics/metric_press',)),
    _Setting((_COCKPIT + 'engine/fuel_pump_on', _COCKPIT2 + 'engine/actuators/fuel_pump_on'),
             size=_PER_ENGINE),
    # 0 is a propeller of fixed pitch.
    _Setting(('sim/aircraft/prop/acf_prop_type',), size=_PER_ENGINE),
    _Setting((_COCKPIT + 'electrical/generator_on', _COCKPIT2 + 'electrical/generator_on'), 1,
             size=_PER_ENGINE),
)
_FLOATS = (
    _Setting(('sim/test/test_float',)),
    _Setting((_OLD_RADIOS + 'nav1_obs_degm', _RADIOS + 'nav1_obs_deg_mag_pilot')),
    _Setting((_OLD_RADIOS + 'nav2_obs_degm', _RADIOS + 'nav2_obs_deg_mag_pilot')),
    _Setting((_RADIOS + 'hsi_obs_deg_mag_pilot',)),
    _Setting((_RADIOS + 'hsi_obs_deg_mag_copilot',)),
    _Setting((_OLD_DIALS + 'heading_mag', _DIALS + 'heading_dial_deg_mag_pilot')),
    _Setting((_OLD_DIALS + 'heading_mag2', _DIALS + 'heading_dial_deg_mag_copilot')),
    _Setting((_OLD_DIALS + 'heading',)),
    _Setting((_OLD_DIALS + 'altitude', _DIALS + 'altitude_dial_ft')),
    _Setting((_OLD_DIALS + 'vertical_velocity', _DIALS + 'vvi_dial_fpm')),
    _Setting((_OLD_DIALS + 'airspeed', _DIALS + 'airspeed_dial_kts_mach')),
    _Setting((_DIALS + 'airspeed_dial_kts',)),
    _Setting((_DIALS + 'sync_hold_pitch_deg',)),
    _Setting((_DIALS + 'sync_hold_roll_deg',)),
    _Setting((_ALTIMETER, _COCKPIT2 + 'gauges/actuators/barometer_setting_in_hg_pilot'),
             _STANDARD_SETTING),
    _Setting((_ALTIMETER + '2', _COCKPIT2 + 'gauges/actuators/barometer_setting_in_hg_copilot'),
             _STANDARD_SETTING),
    _Setting((_COCKPIT2 + 'switches/panel_brightness_ratio',), size=4),
    _Setting((_COCKPIT2 + 'switches/instrument_brightness_ratio',), size=_LIGHTS),
    _Setting((_COCKPIT2 + 'engine/actuators/carb_heat_ratio',), size=_PER_ENGINE),
)

# Later than X-Plane 9.
_SINCE = {
    _RADIOS + 'transponder_mode': 10,
    _DIALS + 'airspeed_dial_kts': 11,
    _COCKPIT2 + 'controls/brake_fan_on': 11,
    **{f'{_RADIOS}com{n}_{kind}frequency_hz_833': 10 for n in (1, 2) for kind in ('', 'standby_')},
}


_BY_NAME = {name: (setting, number) for settings, number in ((_INTS, int), (_FLOATS, float))
            for setting in settings for name in setting.names}
# One that is on, and others.
_BATTERIES = [1, *([0] * 7)]


def values_of(world: World, name: str) -> list[float]:
    """Return the values of a setting, by one of its names: as written, or at the start."""
    if name == BATTERIES:
        return world.settings.setdefault(name, list(_BATTERIES))
    setting, number = _BY_NAME[name]
    return world.settings.setdefault(
        setting.names[0], [number(setting.start)] * max(setting.size, 1))


def add_panel(t: DatarefTable, world: World) -> None:
    """Add instruments and settings."""
    sizes = {_PER_ENGINE: t.engine_slots, _LIGHTS: _LIGHTS if t.version >= 12 else _LIGHTS // 2}
    for name, (setting, number) in _BY_NAME.items():
        scalar, array = (DatarefType.INT, DatarefType.INT_ARRAY) if number is int else (
            DatarefType.FLOAT, DatarefType.FLOAT_ARRAY)
        t.setting(array if setting.size else scalar, name, values_of(world, name),
                  _SINCE.get(name, 9), sizes.get(setting.size))
    for n in (1, 2):
        for kind in ('', 'standby'):
            _communication(t, world, *_frequency('com', n, kind))
    # The oldest name is that of the first of eight batteries.
    batteries = values_of(world, BATTERIES)
    t.setting(DatarefType.INT, _COCKPIT + 'electrical/battery_on', batteries)
    for name in (BATTERIES, _COCKPIT + 'electrical/battery_array_on'):
        t.setting(DatarefType.INT_ARRAY, name, batteries)
    tail_number = world.settings.setdefault(_TAIL_NUMBER, [*b'N172XB'.ljust(40, b'\0')])
    t.setting(DatarefType.BYTES, _TAIL_NUMBER, tail_number)
    _instruments(t, world)
    _attitude(t, world)
    t.int_(_DIALS + 'servos_on', lambda: int(
        world.settings[_OLD_DIALS + 'autopilot_mode'][0] == _SERVOS))
    t.int_('sim/graphics/view/view_type', lambda: world.view_type)
    t.int_('sim/graphics/view/view_is_external', lambda: int(
        world.view_type == VIEW_TYPES['chase']))


def _communication(t: DatarefTable, world: World, old: str, new: str) -> None:
    """Add one frequency in 10 kHz, that of a channel of 25 kHz in full (4.35)."""
    values = values_of(world, new + '_833')

    def write(value: int) -> None:
        values[0] = value * 10 + (5 if value % 10 in (2, 7) else 0)

    for name in (old, new):
        t.int_(name, lambda: int(values[0]) // 10, write)


def _instruments(t: DatarefTable, world: World) -> None:
    """Add altimeters, airspeed and wind indicators, compass and thermometer."""
    def s() -> AircraftState:
        return world.aircraft.state

    def altitude_ft(setting: str) -> float:
        ratio = max(world.settings[setting][0], 0.0) * INCH_OF_MERCURY / _STANDARD_PRESSURE
        return (s().pressure_altitude + _SCALE * (math.pow(ratio, _EXPONENT) - 1.0)) / FOOT

    for name, side in (('h_ind', ''), ('h_ind2', ''), ('h_ind_copilot', '2'),
                       ('h_ind_copilot2', '2')):
        t.float_(f'sim/flightmodel/misc/{name}', partial(altitude_ft, _ALTIMETER + side))
    for pilot, side in (('pilot', ''), ('copilot', '2')):
        t.float_(_GAUGES + f'altitude_ft_{pilot}', partial(altitude_ft, _ALTIMETER + side))
        t.float_(_GAUGES + f'airspeed_kts_{pilot}', lambda: s().cas / KNOT)
        t.float_(_GAUGES + f'vvi_fpm_{pilot}', lambda: -s().v_down / FOOT * 60.0)
        t.float_(_GAUGES + f'radio_altimeter_height_ft_{pilot}', lambda: s().altitude_agl / FOOT)
        t.float_(_GAUGES + f'true_airspeed_kts_{pilot}', lambda: s().tas / KNOT, since=11)
        t.float_(_GAUGES + f'mach_{pilot}', lambda: s().mach, since=11)
        t.float_(_GAUGES + f'ground_track_mag_{pilot}',
                 _magnetic(world, lambda: s().track), since=11)
        t.float_(_GAUGES + f'calibrated_airspeed_kts_{pilot}', lambda: s().cas / KNOT, since=11)
        t.float_(_GAUGES + f'airspeed_acceleration_kts_sec_{pilot}',
                 lambda: _acceleration(s())[1] / KNOT, since=10)
    for name in ('ground_speed_kt', 'ground_speed_kt_copilot'):
        t.float_(_GAUGES + name, lambda: s().ground_speed / KNOT, since=12)
    t.float_(_GAUGES + 'total_energy_fpm', lambda: (
        -s().v_down + s().tas * _acceleration(s())[0] / s().gravity) / FOOT * 60.0, since=10)
    t.float_(_GAUGES + 'sideslip_degrees', lambda: math.degrees(s().beta))
    t.float_(_GAUGES + 'wind_speed_kts', lambda: math.hypot(
        s().wind_north, s().wind_east) / KNOT)
    t.float_(_GAUGES + 'wind_heading_deg_mag', _magnetic(world, lambda: math.atan2(
        -s().wind_east, -s().wind_north)))
    t.float_(_COCKPIT2 + 'temperature/outside_air_temp_degc', lambda: s().temperature - KELVIN)


def _acceleration(s: AircraftState) -> tuple[float, float]:
    """
    Return the rates of the true and of the indicated airspeed, in m/s2.

    In steady wind, and without compressibility: the latter is as the root of the density.
    """
    if s.tas < _STANDING:
        return 0.0, 0.0
    true = sum(a * (v - wind) for a, v, wind in (
        (s.a_north, s.v_north, s.wind_north), (s.a_east, s.v_east, s.wind_east),
        (s.a_down, s.v_down, s.wind_down))) / s.tas
    # Of the density, in a standard atmosphere, by the height.
    thinning = (s.gravity / _GAS_CONSTANT - _LAPSE_RATE) / s.temperature
    return true, s.cas * (true / s.tas + thinning * s.v_down / 2.0)


def _attitude(t: DatarefTable, world: World) -> None:
    """Add gyros of all kinds, which all show the same, and the compass."""
    def s() -> AircraftState:
        return world.aircraft.state

    def pitch() -> float:
        return math.degrees(s().theta)

    def roll() -> float:
        return math.degrees(s().phi)

    heading = _magnetic(world, lambda: s().psi)
    gyros = _COCKPIT + 'gyros/'
    for old, new in (('vac', 'vacuum'), ('elec', 'electric'), ('ahars', 'AHARS')):
        for pilot in ('pilot', 'copilot'):
            t.float_(f'{gyros}the_ind_{old}_{pilot}_deg', pitch, since=10)
            t.float_(f'{gyros}phi_ind_{old}_{pilot}_deg', roll, since=10)
            t.float_(f'{gyros}psi_ind_{old}_{pilot}_degm', heading, since=10)
            t.float_(f'{_GAUGES}pitch_{new}_deg_{pilot}', pitch)
            t.float_(f'{_GAUGES}roll_{new}_deg_{pilot}', roll)
            t.float_(f'{_GAUGES}heading_{new}_deg_mag_{pilot}', heading)
    for kind in ('vac', 'ele'):
        t.float_(f'{gyros}the_{kind}_ind_deg', pitch)
        t.float_(f'{gyros}phi_{kind}_ind_deg', roll)
        t.float_(f'{gyros}psi_{kind}_ind_degm', heading)
    t.float_(_GAUGES + 'compass_heading_deg_mag', heading)
    t.float_(_COCKPIT + 'misc/compass_indicated', heading)


def _magnetic(world: World, true: Read) -> Read:
    """Return a reader in degrees magnetic, 0..360, of a true direction in rad."""
    return lambda: (math.degrees(true()) + world.magnetic_variation_deg) % 360.0
