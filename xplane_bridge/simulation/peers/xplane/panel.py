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
share it.
"""

from functools import partial
import math
from typing import NamedTuple

from xplane_bridge.simulation.aircraft.state import AircraftState, FOOT, KNOT
from xplane_bridge.simulation.peers.world import THROTTLE_COUNT, World
from xplane_bridge.simulation.peers.xplane.entries import DatarefTable, DatarefType, Read
from xplane_bridge.simulation.peers.xplane.units import INCH_OF_MERCURY, KELVIN

# The standard atmosphere below 11 km: temperature over lapse rate in m, and R L / (g M).
_SCALE = 288.15 / 0.0065
_EXPONENT = 0.190263
_STANDARD_PRESSURE = 101_325.0
_STANDARD_SETTING = 29.92
# What X-Plane's autopilot_mode calls "flight director and servos on".
_SERVOS = 2
_TAIL_NUMBER = 'sim/aircraft/view/acf_tailnum'
_ALTIMETER = 'sim/cockpit/misc/barometer_setting'

_COCKPIT, _COCKPIT2 = 'sim/cockpit/', 'sim/cockpit2/'
_GAUGES = 'sim/cockpit2/gauges/indicators/'
_OLD_RADIOS, _RADIOS = 'sim/cockpit/radios/', 'sim/cockpit2/radios/actuators/'
_OLD_DIALS, _DIALS = 'sim/cockpit/autopilot/', 'sim/cockpit2/autopilot/'


_PER_ENGINE = THROTTLE_COUNT


class _Setting(NamedTuple):
    """
    One setting: its names, the first of which is its key, and its value at the start.

    ``size`` is the number of elements of an array, 0 for a scalar; of _PER_ENGINE a version has
    as many as it has engines.
    """

    names: tuple[str, ...]
    start: float = 0
    size: int = 0


def _radios() -> list[_Setting]:
    """Return frequencies in 10 kHz, those of ADF in kHz."""
    settings = []
    for radio, frequency in (('com', 12_190), ('nav', 11_030), ('adf', 400)):
        for n in (1, 2):
            for old, new in (('', ''), ('stdby_', 'standby_')):
                settings.append(_Setting((f'{_OLD_RADIOS}{radio}{n}_{old}freq_hz',
                                          f'{_RADIOS}{radio}{n}_{new}frequency_hz'), frequency))
    return settings


_INTS = (
    *_radios(),
    _Setting((_OLD_RADIOS + 'transponder_code', _RADIOS + 'transponder_code'), 1200),
    _Setting((_OLD_RADIOS + 'transponder_mode', _RADIOS + 'transponder_mode'), 1),
    _Setting((_COCKPIT + 'switches/HSI_selector', _RADIOS + 'HSI_source_select_pilot')),
    # 6 is COM 1.
    _Setting((_RADIOS + 'audio_com_selection',), 6),
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
    _Setting((_COCKPIT2 + 'engine/actuators/carb_heat_ratio',), size=_PER_ENGINE),
)

# Later than X-Plane 9.
_SINCE = {
    _RADIOS + 'transponder_mode': 10,
    _DIALS + 'airspeed_dial_kts': 11,
    _COCKPIT2 + 'controls/brake_fan_on': 11,
}


def add_panel(t: DatarefTable, world: World) -> None:
    """Add instruments and settings."""
    for settings, scalar, array, number in (
            (_INTS, DatarefType.INT, DatarefType.INT_ARRAY, int),
            (_FLOATS, DatarefType.FLOAT, DatarefType.FLOAT_ARRAY, float)):
        for setting in settings:
            values = world.settings.setdefault(
                setting.names[0], [number(setting.start)] * max(setting.size, 1))
            for name in setting.names:
                t.setting(array if setting.size else scalar, name, values, _SINCE.get(name, 9),
                          t.engine_slots if setting.size == _PER_ENGINE else None)
    # The older name is that of the first of eight batteries.
    batteries = world.settings.setdefault('battery_on', [1, *([0] * 7)])
    t.setting(DatarefType.INT, _COCKPIT + 'electrical/battery_on', batteries)
    t.setting(DatarefType.INT_ARRAY, _COCKPIT2 + 'electrical/battery_on', batteries)
    tail_number = world.settings.setdefault(_TAIL_NUMBER, [*b'N172XB'.ljust(40, b'\0')])
    t.setting(DatarefType.BYTES, _TAIL_NUMBER, tail_number)
    _instruments(t, world)
    _attitude(t, world)
    t.int_(_DIALS + 'servos_on', lambda: int(
        world.settings[_OLD_DIALS + 'autopilot_mode'][0] == _SERVOS))
    t.int_('sim/graphics/view/view_type', lambda: world.view_type)


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
    t.float_(_GAUGES + 'sideslip_degrees', lambda: math.degrees(s().beta))
    t.float_(_GAUGES + 'wind_speed_kts', lambda: math.hypot(
        s().wind_north, s().wind_east) / KNOT)
    t.float_(_GAUGES + 'wind_heading_deg_mag', _magnetic(world, lambda: math.atan2(
        -s().wind_east, -s().wind_north)))
    t.float_(_COCKPIT2 + 'temperature/outside_air_temp_degc', lambda: s().temperature - KELVIN)


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
