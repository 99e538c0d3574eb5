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

"""The meaning of X-Plane's data output rows, by version, against hand-written numbers."""

from dataclasses import asdict, fields
import math

from hypothesis import given
from hypothesis import strategies as st
import pytest
from vector_files import vectors

from xplane_bridge.bridges.xplane_udp import protocol as xp

VECTORS = {
    vector['name']: vector
    for vector in vectors('xplane_udp')
}


def rows(name, version=None):
    return xp.decode(bytes.fromhex(VECTORS[name]['hex']), 'peer', version=version).segments


def row(index, *values):
    return xp.Segment(index, values + (None,) * (8 - len(values)))


def known(quantities):
    return {k: v for k, v in asdict(quantities).items() if v is not None}


ATTITUDE = {
    'pitch': math.radians(2.5), 'roll': math.radians(-10), 'true_heading': math.radians(271.25),
    'magnetic_heading': math.radians(275.5)}
PLACE = {
    'latitude_deg': 37.92648696899414, 'longitude_deg': 23.93182945251465,
    'altitude_msl': 609.6, 'altitude_agl': 457.2, 'on_runway': 0.0, 'indicated_altitude': 0.0}


@pytest.mark.parametrize(('name', 'version', 'expected'), [
    ('v6_multi_4_segments_pc', 6,
     {'pitch_rate': 0.01, 'roll_rate': 0.02, 'yaw_rate': -0.03, **ATTITUDE, **PLACE}),
    ('v6_multi_4_segments_mac', 6,
     {'pitch_rate': 0.01, 'roll_rate': 0.02, 'yaw_rate': -0.03, **ATTITUDE, **PLACE}),
    ('v7_41_two_segments_pc', 7, {**ATTITUDE, **PLACE}),
    ('v8plus_two_segments_v9_v10_at', 10, {**ATTITUDE, **PLACE}),
    ('v8plus_two_segments_v11_v12_star', 11, {**ATTITUDE, **PLACE}),
    ('v8plus_two_segments_v11_v12_star', 12, {**ATTITUDE, **PLACE}),
])
def test_vector_in_si(name, version, expected):
    assert known(xp.quantities(version, rows(name))) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize('version', [10, 11])
def test_rates_are_q_p_r_in_rad_s_in_row_16_up_to_11(version):
    got = xp.quantities(version, [row(16, 0.1, 0.2, 0.3)])
    assert (got.roll_rate, got.pitch_rate, got.yaw_rate) == (0.2, 0.1, 0.3)


@pytest.mark.parametrize('version', [8, 9])
def test_rates_and_attitude_are_one_row_later_in_9(version):
    got = xp.quantities(version, [row(17, 0.1, 0.2, 0.3), row(18, 10.0, 30.0, 90.0, 86.0)])
    assert (got.roll_rate, got.pitch_rate, got.yaw_rate) == (0.2, 0.1, 0.3)
    assert got.roll == pytest.approx(0.5235987756)
    assert got.true_heading == pytest.approx(1.5707963268)
    assert known(xp.quantities(version, [row(16, 1.0, 2.0, 3.0)])) == {}


def test_rates_are_p_q_r_in_deg_s_in_row_16_of_12():
    got = xp.quantities(12, [row(16, 18.0, 9.0, -4.5)])
    assert got.roll_rate == pytest.approx(0.3141592654)
    assert got.pitch_rate == pytest.approx(0.1570796327)
    assert got.yaw_rate == pytest.approx(-0.0785398163)


def test_every_row_that_feeds_a_topic_of_version_11():
    got = known(xp.quantities(11, [
        row(1, 10.0, 20.0, 30.0),
        row(3, 100.0, 99.0, 110.0, 120.0, None, 115.0, 126.0, 138.0),
        row(4, 0.5, None, 600.0, None, 1.1, -0.2, 0.05),
        row(5, 29.92, 15.0, None, 10.0, 270.0, 0.0, 0.0, 0.0),
        row(6, 28.0, -5.0, 0.0, 0.9, 650.0, 20.0, None, 32.2),
        row(8, 0.1, 0.2, 0.3), row(11, 0.4, 0.5, 0.6, None, 1.0),
        row(13, 0.01, 0.02, 0.03, 0.5, 0.4, 0.1, 0.6, 0.7),
        row(14, 1.0, 0.2, 0.3, 0.4),
        row(18, 3.0, -2.0, 45.0, 1.0),
        row(21, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 700.0, 8.0),
        row(25, 0.7, 0.6), row(26, 0.69),
    ]))
    assert got.pop('throttle') == (0.7, 0.6) + (None,) * 6
    assert got.pop('throttle_actual') == (0.69,) + (None,) * 7
    assert got == pytest.approx({
        'time_since_start': 10.0, 'total_time': 20.0, 'mission_time': 30.0,
        'indicated_airspeed': 51.444444, 'equivalent_airspeed': 50.93, 'true_airspeed': 56.588889,
        'ground_speed': 61.733333, 'mach': 0.5, 'vertical_speed': 3.048,
        'g_normal': 1.1, 'g_axial': -0.2, 'g_side': 0.05,
        'sea_level_pressure': 101320.76, 'sea_level_temperature': 288.15,
        'wind_speed': 5.144444, 'wind_from': 4.712389,
        'static_pressure': 94818.892, 'static_temperature': 268.15, 'density_ratio': 0.9,
        'dynamic_pressure': 957.60518,
        'stick_elevator': 0.1, 'stick_aileron': 0.2, 'stick_rudder': 0.3,
        'elevator': 0.4, 'aileron': 0.5, 'rudder': 0.6,
        'elevator_trim': 0.01, 'aileron_trim': 0.02, 'rudder_trim': 0.03, 'flaps_request': 0.5,
        'flaps': 0.4, 'slats': 0.1, 'speedbrake_request': 0.6, 'speedbrake': 0.7,
        'gear': 1.0, 'wheel_brake': 0.2, 'left_toe_brake': 0.3, 'right_toe_brake': 0.4,
        'angle_of_attack': 0.05235988, 'sideslip': -0.03490659, 'ground_track': 0.78539816,
        'flight_path_angle': 0.01745329,
        'local_x': 1.0, 'local_y': 2.0, 'local_z': 3.0,
        'velocity_east': 4.0, 'velocity_up': 5.0, 'velocity_south': 6.0,
    }, rel=1e-6)


def test_knots_come_before_miles_per_hour_which_serve_alone():
    both = row(3, 100.0, None, None, None, None, 999.0)
    assert xp.quantities(12, [both]).indicated_airspeed == pytest.approx(51.4444444)
    alone = row(3, None, None, None, None, None, 100.0)
    assert xp.quantities(12, [alone]).indicated_airspeed == pytest.approx(44.704)


def test_no_data_and_unknown_rows_are_unknown():
    assert known(xp.quantities(12, [row(20), row(131, 1.0), row(200, 1.0), row(-1, 1.0)])) == {}


@pytest.mark.parametrize(('version', 'expected'), [
    (6, (16, 17, 18, 19, 23)), (7, (15, 16, 18, 19, 23)), (9, (17, 18, 20, 21, 25)),
    (10, (16, 17, 20, 21, 25)), (12, (16, 17, 20, 21, 25)),
])
def test_rows_needed_for_pose_rates_velocity_and_throttle(version, expected):
    assert xp.rows_for(
        version, ['roll_rate', 'pitch', 'latitude_deg', 'velocity_up', 'throttle']) == expected


def test_what_a_version_lacks_needs_no_row():
    assert xp.rows_for(6, ['g_normal', 'angle_of_attack']) == ()
    with pytest.raises(ValueError, match='not a field'):
        xp.rows_for(6, ['airspeed'])


@pytest.mark.parametrize(('version', 'expected'), [
    (6, (row(8, -0.5, 0.25), row(12, 0.1), row(23, 0.75, 0.5))),
    (7, (row(7, -0.5, 0.25), row(11, 0.1), row(23, 0.75, 0.5))),
    (9, (row(8, -0.5, 0.25), row(13, 0.1), row(25, 0.75, 0.5))),
    (12, (row(8, -0.5, 0.25), row(13, 0.1), row(25, 0.75, 0.5))),
])
def test_commands_leave_every_other_value_alone(version, expected):
    assert xp.to_segments(version, {
        'throttle': (0.75, 0.5), 'stick_elevator': -0.5, 'stick_aileron': 0.25,
        'stick_rudder': None, 'elevator_trim': 0.1}) == expected


def test_trim_and_throttle_of_version_6_are_the_vector():
    segments = xp.to_segments(6, {'elevator_trim': 0.1, 'throttle': (0.75,)})
    expected = bytes.fromhex(VECTORS['v6_send_trim_and_throttle_combined_pc']['hex'])
    assert xp.encode(xp.Data(segments), 6) == expected


def test_selected_rows_are_filled_in_the_units_of_the_wire():
    quantities = {'true_airspeed': 51.4444444, 'roll_rate': math.pi / 10, 'mach': 0.5}
    speeds, rates, unnamed = xp.to_segments(12, quantities, rows=[3, 16, 150])
    assert speeds.values == (None, None, pytest.approx(100.0), None, None, None,
                             pytest.approx(115.077945), None)
    assert rates.values == (pytest.approx(18.0),) + (None,) * 7
    assert unnamed == row(150)


@pytest.mark.parametrize(('values', 'asked'), [
    ({'airspeed': 1.0}, None), ({'airspeed': 1.0}, [3]), ({'mach': 1.0}, None),
    ({'throttle': (1.0,) * 9}, None),
])
def test_what_has_no_place_in_version_6_is_refused(values, asked):
    with pytest.raises(ValueError, match='.'):
        xp.to_segments(6, values, asked)


NAMES = sorted(f.name for f in fields(xp.RowQuantities) if not f.name.startswith('throttle'))


@given(st.sampled_from(xp.VERSIONS), st.dictionaries(st.sampled_from(NAMES), st.floats(-500, 500)))
def test_quantities_undoes_to_segments(version, values):
    values = {n: v for n, v in values.items() if xp.rows_for(version, [n])}
    got = known(xp.quantities(version, xp.to_segments(version, values)))
    assert got == pytest.approx(values, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize('version', xp.VERSIONS)
def test_tables_are_in_order_and_within_their_version(version):
    table = xp.ROWS[version]
    assert list(table) == sorted(table)
    assert max(table) < xp.ROW_COUNTS.get(version, 139)
    for number, entry in table.items():
        assert entry.number == number
        taken = [i for c in entry.columns for i in range(c.index, c.index + c.width)]
        assert len(taken) == len(set(taken))
        assert set(taken) <= set(range(8))


@pytest.mark.parametrize(('number', 'name'), [
    (27, 'engine mode'), (31, 'cowl flaps'), (34, 'engine power'), (35, 'engine thrust'),
    (36, 'engine torque'), (37, 'engine speed'), (38, 'propeller speed'),
    (39, 'propeller pitch'), (41, 'N1'), (42, 'N2'), (45, 'fuel flow'), (47, 'EGT'), (48, 'CHT'),
    (49, 'oil pressure'), (64, 'aerodynamic forces'), (96, 'COM frequencies'),
    (97, 'NAV frequencies'), (98, 'NAV OBS'), (100, 'NAV 2 deflections'), (103, 'GPS'),
    (104, 'transponder'), (135, 'motion platform'), (138, 'servo controls'), (150, 'row 150'),
])
def test_names_stand_at_the_numbers_of_10_to_12(number, name):
    for version in (10, 11, 12):
        assert xp.row_name(version, number) == name


def test_all_139_rows_of_11_are_named_and_those_of_6_not():
    assert set(xp.ROWS[11]) == set(range(139))
    assert len(xp.ROWS[6]) < xp.ROW_COUNTS[6] == 93


def test_8_uses_the_table_of_9():
    assert xp.ROWS[8] is xp.ROWS[9]


def test_inference_is_marked():
    assert xp.ROWS[6][16].inferred
    assert not xp.ROWS[6][33].inferred
    assert xp.ROWS[9][64].inferred
    assert not any(r.inferred for r in xp.ROWS[11].values())
