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

"""Maps: what is read, refused, computed and brought to common times, compared by hand."""

import math
import re
import sys
import weakref

import numpy as np
import pytest

pytest.importorskip('pint', reason='units are converted by pint')

from xplane_bridge.bridges.conversions.expressions import dimensions, units
from xplane_bridge.bridges.conversions.expressions.expression import Expression, FUNCTIONS
from xplane_bridge.bridges.conversions.geoid import undulation_source
from xplane_bridge.bridges.ulyssix.conversion import (
    alignment,
    AppliedMap,
    load,
    MapError,
    PacketSamples,
)
from xplane_bridge.bridges.ulyssix.conversion.alarms import ERROR, STALE, WARN
from xplane_bridge.bridges.ulyssix.conversion.alignment import Aligner, ParameterSeries
from xplane_bridge.bridges.ulyssix.conversion.vehicle import states

MAP = """\
frame: frd
parameters:
  ALT_GPS: {quantity: altitude_msl, unit: ft, limits: [0, 45000], warn: [0, 40000], group: nav}
  "ACC_*": {unit: g}
  OAT: {quantity: temperature, unit: degC, scale: 0.1, offset: -50}
  N1: {unit: "%", limits: [null, 104]}
derived:
  G_TOTAL: {expression: "sqrt(ACC_X**2 + ACC_Y**2)", unit: g, limits: [-2, 6]}
common: {interpolated: 50, air_data: {rate: slowest}}
"""


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a map from a text."""
    def read(text):
        (tmp_path / 'map.yaml').write_text(text)
        return load(str(tmp_path / 'map.yaml'))
    return read


@pytest.mark.parametrize(('old', 'new', 'sentence'), [
    ('unit: ft', 'unit: furlong/s',
     "line 3: ALT_GPS: unit 'furlong/s' is not a length (quantity altitude_msl)"),
    ('altitude_msl', 'altitude_mls',
     "line 3: ALT_GPS: quantity 'altitude_mls' is unknown; did you mean altitude_msl?"),
    ('unit: g}', 'unit: frob}', "line 4: ACC_*: 'frob' is not a unit"),
    ('unit: g}', 'unit: 9**9**9}', "line 4: ACC_*: '9**9**9' is not a unit"),
    ('quantity: altitude_msl', 'quantity: altitude',
     "line 3: ALT_GPS: quantity 'altitude' is unknown; did you mean altitude_msl or "
     'altitude_ellipsoid?'),
    ('[0, 45000]', '[45000, 0]',
     'line 3: ALT_GPS: limits: 45000 is not below 0; expected [lowest, highest]'),
    ('[0, 45000]', '[0, high]', "line 3: ALT_GPS: limits: expected a number, got 'high'"),
    ('[0, 40000]', '[4, 3]', 'line 3: ALT_GPS: warn: 4 is not below 3'),
    ('[0, 40000]', '[0, 46000]',
     'line 3: ALT_GPS: warn: 46000 is beyond limits, so it would never warn'),
    ('unit: g}', 'unit: true}', 'line 4: ACC_*: unit: expected a text, got True'),
    ('scale: 0.1', 'scale: 0', 'line 5: OAT: scale: 0 makes every value the same'),
    ('group:', 'grp:', "line 3: ALT_GPS: unknown name 'grp', expected quantity, unit, scale, "),
    ('N1: {', 'N1: {frame: flu, ', 'line 6: N1: frame: only angular velocities and accel'),
    ('N1:', '1201:', 'line 6: 1201: the name 1201 is no text: put it into quotes'),
    ('N1:', 'OAT:', "'OAT' is there twice in line 6, column 3"),
    ('G_TOTAL', 'G TOTAL', 'line 8: G TOTAL: the name of a derived parameter is that of its topi'),
    ('ACC_X**2', 'G_TOTAL', 'line 8: G_TOTAL: expression: it needs its own result'),
    ('sqrt(', 'eval(', "line 8: G_TOTAL: expression: there is no function 'eval', expected one "),
    ('interpolated: 50', 'interpolated: 0',
     'line 9: interpolated: expected above 0 and at most 1000 Hz, got 0'),
    ('rate: slowest', 'rate: 5', 'line 9: air_data: rate: expected one of slowest, got 5'),
    ('frame: frd', 'frame: ned', "line 1: frame: expected one of frd, flu, got 'ned'"),
    ('unit: ft', 'unit: \x07', 'special characters are not allowed in line 3'),
])
def test_a_mistake_is_refused_with_file_line_and_name(read, old, new, sentence):
    with pytest.raises(MapError) as refused:
        read(MAP.replace(old, new, 1))
    assert str(refused.value).startswith(f'map.yaml {sentence}' if 'line' in sentence[:5] else (
        f'map.yaml: {sentence}'))


def test_a_file_in_another_encoding_is_refused_with_its_line(tmp_path):
    path = tmp_path / 'map.yaml'
    path.write_bytes('parameters:\n  "T °C": {unit: degC}\n'.encode('latin-1'))
    with pytest.raises(MapError, match=r'invalid start byte in line 2: save it as UTF-8$'):
        load(str(path))


def test_without_pint_a_sentence_says_what_to_install(read, monkeypatch):
    monkeypatch.setitem(sys.modules, 'pint', None)
    for cached in (units._registry, units.find_unit):
        cached.cache_clear()
    with pytest.raises(
            ImportError, match='the check of units needs the Python package pint: .*pip'):
        read(MAP)
    # The units of ROS need none.
    assert read('parameters: {A: {quantity: temperature, unit: K}}').entry('A').factor == 1.0


def packet(times, **values):
    """Return the names and a packet of samples at these times in seconds by parameter."""
    columns = [np.asarray(each, np.float32) for each in values.values()]
    stamps = [np.rint(np.asarray(times[name]) * 1e9).astype(np.int64) for name in values]
    return tuple(values), PacketSamples(
        np.array([len(each) for each in columns]), np.concatenate(columns),
        np.concatenate(stamps))


def test_units_limits_and_derived_parameters_by_hand(read):
    applied = AppliedMap(read(MAP))
    names, one = packet(
        {'ALT_GPS': [1.0, 1.1], 'ACC_X': [1.0, 1.1], 'ACC_Y': [1.0, 1.1], 'OAT': [1.0],
         'odd': [1.0], 'N1': [1.0]},
        ALT_GPS=[1000, 42000], ACC_X=[3, 6], ACC_Y=[4, 8], OAT=[650], odd=[7], N1=[math.nan])
    applied.follow(names)
    assert applied.unsent == ()
    derived, quantities = applied.take(one, now=0.9)
    assert applied.to_si(0, one.values[:2]).tolist() == pytest.approx([304.8, 12801.6])
    # 650 counts of 0.1 degC from -50 degC on: 15 degC.
    assert applied.to_si(3, one.values[6:7]).tolist() == pytest.approx([288.15])
    assert applied.to_si(4, one.values[7:8]).tolist() == [7]
    # 5 g and 10 g.
    assert derived[0].name == 'G_TOTAL'
    assert derived[0].values.tolist() == pytest.approx([49.03325, 98.0665])
    assert [(one.topic, one.times.tolist()) for one in quantities] == [
        ('air_data', [1_000_000_000])]
    assert quantities[0].values['temperature'].tolist() == pytest.approx([288.15])
    nav, rest = applied.alarms.report(1.0)
    assert (nav.name, nav.level, nav.now) == ('nav', 1, {'ALT_GPS': '42000 ft, above 40000'})
    assert rest.now == {'N1': 'not a number', 'G_TOTAL': '10 g, above 6'}
    names, good = packet(dict.fromkeys(('ALT_GPS', 'ACC_X', 'ACC_Y', 'OAT', 'odd', 'N1'), [2.0]),
                         ALT_GPS=[9], ACC_X=[1], ACC_Y=[1], OAT=[650], odd=[7], N1=[104])
    applied.take(good, now=1.0)
    nav, rest = applied.alarms.report(1.0)
    assert [nav.level, rest.level] == [0, 0]
    assert (nav.now, nav.ever['ALT_GPS'].samples, rest.ever['G_TOTAL'].times) == ({}, 1, 1)


GUARDED = """
parameters:
  ALT: {limits: [0, 9], group: nav}
  "T?S": {limits: [0, 9], group: nav}
  SLOW: {limits: [0, 9], group: slow}
derived:
  TWICE: {expression: 2 * ALT, limits: [0, 9]}
"""


def said(applied, now, is_silent=False):
    """Return what the groups nav, parameters and slow say."""
    return [(one.level, one.sentence) for one in applied.alarms.report(now, is_silent)]


def take(applied, one, now):
    """Take a packet with its samples at this time."""
    applied.take(one._replace(times=one.times + round(now * 1e9)), now=now)


def test_what_is_not_received_is_not_within_its_limits(read):
    applied = AppliedMap(read(GUARDED))
    # No packet yet.
    assert said(applied, 0.0) == [
        (STALE, 'no sample yet of ALT, T?S'), (STALE, 'no sample yet of TWICE'),
        (STALE, 'no sample yet of SLOW')]
    names, fast = packet({'ALT': [1.0], 'TAS': [1.0], 'SLOW': []}, ALT=[1], TAS=[1], SLOW=[])
    _, both = packet({'ALT': [1.0], 'TAS': [1.0], 'SLOW': [1.0]}, ALT=[1], TAS=[1], SLOW=[1])
    applied.follow(names)
    for n in range(100):
        # SLOW once in 2 s, the others ten times per second.
        take(applied, both if n % 20 == 10 else fast, n / 10)
        if n == 5:
            assert said(applied, 0.55)[2] == (STALE, 'no sample yet of SLOW')
    good = [(0, '2 parameters within their limits'), (0, '1 parameter within its limits'),
            (0, '1 parameter within its limits')]
    assert said(applied, 10.0) == said(applied, 10.9) == good
    # Silent: for a second at ten per second, for three intervals at one in 2 s.
    assert said(applied, 11.1) == [
        (STALE, 'no sample for 1 s of ALT, TAS'), (STALE, 'no sample for 1 s of TWICE'), good[2]]
    assert said(applied, 16.9)[2] == (STALE, 'no sample for 8 s of SLOW')
    # A publisher that is silent says nothing of slow ones either.
    assert said(applied, 10.5, is_silent=True)[2] == (STALE, 'no sample for 2 s of SLOW')
    take(applied, both, 17.0)
    assert said(applied, 17.0) == good


def test_one_that_falls_silent_out_of_its_limits_stays_an_error(read):
    applied = AppliedMap(read(GUARDED))
    names, bad = packet({'ALT': [1.0], 'SLOW': [1.0], 'TAS': [1.0]}, ALT=[12], SLOW=[1], TAS=[1])
    applied.follow(names)
    for n in range(3):
        take(applied, bad, n / 10)
    said(applied, 0.3)
    assert said(applied, 60.2)[0] == (
        ERROR, 'out of limits: ALT 12, above 9; no sample for 60 s of ALT, TAS')
    # Neither does it become good by no longer being in the packets.
    names, other = packet({'SLOW': [1.0], 'TAS': [1.0]}, SLOW=[1], TAS=[1])
    applied.follow(names)
    take(applied, other, 61.0)
    assert said(applied, 61.0) == [
        (ERROR, 'out of limits: ALT 12, above 9; no sample for 61 s of ALT'),
        (ERROR, 'out of limits: TWICE 24, above 9; no sample for 61 s of TWICE'),
        (0, '1 parameter within its limits')]


def test_a_name_that_nobody_sends_keeps_its_group_and_is_told_with_the_one_that_is_meant(read):
    applied = AppliedMap(read(GUARDED))
    names, one = packet({'ALTI': [1.0], 'SLOW': [1.0]}, ALTI=[12], SLOW=[1])
    applied.follow(names)
    take(applied, one, 1.0)
    assert said(applied, 1.0) == [
        (WARN, 'not watched: ALT is not sent, T?S is not sent'),
        (WARN, 'not watched: TWICE needs ALT, which is not sent'),
        (0, '1 parameter within its limits')]
    assert [str(each) for each in applied.unsent] == ['ALT', 'T?S', 'ALT (in TWICE)']
    assert applied.advice() == [
        'ALT (did you mean ALTI?)', 'T?S', 'ALT (in TWICE; did you mean ALTI?)']


@pytest.mark.parametrize('spread', [0.5, 6.0, 20.0])
def test_alarms_of_many_packets_at_once_are_those_of_one_after_the_other(read, spread):
    """Some parameters are good, some go in and out, one is not in each packet."""
    dice, given = np.random.default_rng(3), read(GUARDED)
    together, apart = AppliedMap(given), AppliedMap(given)
    for n in range(120):
        counts = {'ALT': 2, 'TAS': 2, 'SLOW': dice.integers(0, 2) if n > 60 else 1, 'TOS': 2}
        spoilt = 0.02 * (spread > 1.0)
        names, one = packet(
            {name: n + np.arange(count) / 4 for name, count in counts.items()},
            **{name: dice.choice([2.5, np.nan], p=[1 - spoilt, spoilt])
               + dice.uniform(-1, 1, count) * (spread if name != 'TOS' else 1)
               for name, count in counts.items()})
        if n % 5 == 0:
            one = one._replace(values=one.values.astype(np.float64))
        for applied in (together, apart):
            if n == 0:
                applied.follow(names)
            applied.take(one, now=n / 10)
        apart.alarms.settle()
        if n % 17 == 16:
            found, other = (list(each.alarms.report(n / 10)) for each in (together, apart))
            # As text, as NaN does not equal itself.
            assert repr(found) == repr(other)
            assert any(group.ever for group in found) == (spread > 1.0)


def test_packets_that_are_kept_are_compared_as_what_they_were_and_are_not_many(read):
    applied = AppliedMap(read(GUARDED))
    names, one = packet({'ALT': [1.0], 'SLOW': [1.0]}, ALT=[20], SLOW=[1])
    applied.follow(names)
    applied.take(one, now=1.0)
    applied.follow(names[::-1])
    nav, _, slow = applied.alarms.report(1.0)
    assert (nav.now, slow.now) == ({'ALT': '20, above 9'}, {})
    first = weakref.ref(one.values)
    applied.alarms.check(one.counts, one.values)
    del one
    # 24 B of each, and what arrays are: 2**20 B after 1957 of them.
    for number in (1900, 100):
        assert first() is not None
        for _ in range(number):
            applied.alarms.check(np.ones(2, np.int64), np.ones(2, np.float32))
    assert first() is None


@pytest.mark.parametrize('free', ['A', 'M', 'Z'])
@pytest.mark.parametrize('bad', [(), ('ALT',), ('SLOW',), ('ALT', 'SLOW')])
def test_what_has_no_limits_lies_before_between_and_behind_what_has(read, free, bad):
    applied = AppliedMap(read(GUARDED))
    values = {name: [20.0 if name in bad else 1.0] * 2 for name in ('ALT', 'SLOW')}
    values[free] = [-1000.0, 1000.0, 1000.0]
    names, one = packet({name: np.arange(len(each)) for name, each in values.items()},
                        **dict(sorted(values.items())))
    applied.follow(names)
    applied.take(one, now=1.0)
    found = {name: alarm.samples for group in applied.alarms.report(1.0)
             for name, alarm in group.ever.items() if name != 'TWICE'}
    assert found == dict.fromkeys(bad, 2)


def test_the_memory_of_names_that_are_gone_is_bounded(read):
    applied = AppliedMap(read('parameters: {"P*": {limits: [0, 9]}}'))
    for n in range(12):
        applied.follow([f'P{n}_{each}' for each in range(1000)])
    # Ten times fit; the eleventh begins anew.
    [only] = applied.alarms.report(1.0)
    assert only.guarded == 2000


def test_quantities_become_a_state_in_the_frames_of_ros(read):
    applied = AppliedMap(read("""
parameters:
  P: {quantity: angular_velocity_x, unit: deg/s}
  Q: {quantity: angular_velocity_y, unit: deg/s}
  R: {quantity: angular_velocity_z, unit: deg/s, frame: flu}
  NX: {quantity: linear_acceleration_x, unit: g}
  NY: {quantity: linear_acceleration_y, unit: g}
  NZ: {quantity: linear_acceleration_z, unit: g, frame: flu}
  LAT: {quantity: latitude}
  LON: {quantity: longitude}
  HAE: {quantity: altitude_ellipsoid, unit: ft}
"""))
    names, one = packet(
        {name: [5.0] for name in ('P', 'Q', 'R', 'NX', 'NY', 'NZ', 'LAT', 'LON', 'HAE')},
        P=[180], Q=[90], R=[18], NX=[0.5], NY=[0.25], NZ=[1], LAT=[47], LON=[8], HAE=[1000])
    applied.follow(names)
    found = {each.topic: [state for _, state in states(
        each.times, each.values, undulation_source(50.0, ''))] for each in applied.take(one)[1]}
    assert found.keys() == {'imu/data', 'fix'}
    imu, fix = found['imu/data'][0], found['fix'][0]
    # frd to flu: the second and third component change sign; those given as flu do not.
    assert imu.angular_velocity == pytest.approx((math.pi, -math.pi / 2, math.pi / 10))
    assert imu.specific_force == pytest.approx((4.903325, -2.4516625, 9.80665))
    assert imu.orientation is None
    assert (fix.latitude_deg, fix.longitude_deg, fix.altitude_msl) == pytest.approx(
        (47, 8, 304.8 - 50))


def series(times, values):
    return ParameterSeries(
        np.rint(np.array(times) * 1e9).astype(np.int64), np.array(values, float))


def test_samples_meet_at_the_times_of_the_slowest_and_angles_turn_the_short_way():
    aligner = Aligner([0.0, 360.0])
    slow, fast = [0.0, 0.1, 0.2], [0.05, 0.15, 0.25]
    times, values = aligner.add([series(slow, [0, 1, 2]), series(fast, [350, 10, 30])])
    assert (times / 1e9).tolist() == [0.1, 0.2]
    assert values[0].tolist() == [1, 2]
    assert values[1] % 360 == pytest.approx([0, 20], abs=1e-6)
    # The next packets: nothing is published twice, and nothing is missing.
    times, values = aligner.add([series([0.3, 0.4], [3, 4]), series([0.35], [350])])
    assert (times / 1e9).tolist() == [0.3]
    times, _ = aligner.add([series([], []), series([0.45], [350])])
    assert (times / 1e9).tolist() == [0.4]


def test_samples_before_those_that_are_interpolated_are_let_go():
    buffer = alignment._Buffer(0.0)
    buffer.kept = ParameterSeries(np.arange(10) * 100, np.arange(10.0))
    for before, begin in ((-1, 0), (0, 0), (499, 400), (500, 500), (5000, 900)):
        buffer.forget(before)
        assert buffer.kept.times.tolist() == [*range(begin, 1000, 100)]
        assert len(buffer.kept.values) == len(buffer.kept.times)


def test_samples_meet_at_a_given_rate_and_a_silent_parameter_is_not_waited_for():
    aligner = Aligner([0.0, 0.0], rate=100.0)
    count = 0
    for second in range(4):
        begin = 10.0 + second
        own = begin + np.arange(50) / 50
        other = own[::5] if second < 2 else own[:0]
        times, values = aligner.add([series(own, own), series(other, -other)])
        count += len(times)
        assert np.allclose(values[0], times / 1e9)
        if second == 1:
            assert np.allclose(values[1], -times / 1e9)
    assert np.isnan(values[1]).all()
    # 10.00 to 13.98, of which each moment once.
    assert count == 399


def test_of_a_fast_parameter_every_nth_sample_counts():
    aligner = Aligner([0.0], fastest=1000.0)
    at = 0.0
    count = 0
    for _ in range(10):
        # 20 kHz.
        own = at + np.arange(200) / 20_000
        at += 0.01
        times, values = aligner.add([series(own, own)])
        assert np.allclose(values[0], times / 1e9)
        count += len(times)
    assert count == 100


def test_a_gap_is_not_bridged_and_late_samples_are_left_out():
    aligner = Aligner([0.0, 0.0], rate=10.0)
    aligner.add([series([0.0, 0.1, 0.2], [0, 1, 2])] * 2)
    times, values = aligner.add([series([0.1, 0.9, 1.0], [5, 9, 10])] * 2)
    assert values[0][-2:].tolist() == pytest.approx([9, 10])
    assert np.isnan(values[0][:-2]).all()
    assert aligner.late == 2
    # A clock that was set back is no late packet.
    times, _ = aligner.add([series([-100.1, -100.0], [0, 1])] * 2)
    assert (times / 1e9).tolist() == [-100.1, -100.0]


def test_the_end_of_a_parameter_in_the_future_does_not_end_the_others():
    aligner = Aligner([0.0, 0.0])
    aligner.add([series([0.0, 0.1], [0, 1])] * 2)
    # One sample a month ahead, the last of this parameter.
    aligner.add([series([2.6e6], [2]), series([0.2], [2])])
    found = [aligner.add([series([], []), series([n / 10], [n])])[0] for n in range(3, 100)]
    assert np.concatenate(found)[-1] / 1e9 > 9.0


@pytest.mark.parametrize('text', [
    '__import__("os")', 'A.real', 'A[0]', 'lambda: A', '[A for A in B]', '"A"', 'A if B else A',
    'A and B', 'sqrt(A, B)', 'sqrt(x=A)', '1 < A < 2', '7', '', '(' * 300 + 'A' + ')' * 300,
    'A' + '+A' * 150, 'A := 3', 'True + A', 'A @ B', '1j * A', '-' * 499 + 'A', 'f"{A}"'])
def test_an_expression_is_arithmetic_and_nothing_else(text):
    with pytest.raises(ValueError, match='.'):
        Expression(text)


UNITS = {
    'AX': 'm/s^2', 'AY': 'm/s^2', 'GX': 'g', 'ALT': 'ft', 'GND': 'm', 'TAS': 'kt', 'V': 'm/s',
    'Q': 'deg/s', 'ROLL': 'deg', 'RHO': 'kg/m^3', 'PS': 'hPa', 'OAT': 'degC', 'RPM': 'rpm'}


@pytest.mark.parametrize(('expression', 'unit', 'sentence'), [
    ('sqrt(AX**2 + AY**2)', 'g', 'it is in m/s^2, not in g: divide it by 9.80665, or state the '
     'unit it has'),
    ('sqrt(AX**2 + AY**2) / 10', 'g', 'it is in m/s^2, not in g: divide it by 9.80665'),
    ('ALT - GND', 'm', 'ALT is in ft, GND in m: divide GND by 0.3048'),
    ('GND - ALT', 'm', 'GND is in m, ALT in ft: multiply ALT by 0.3048'),
    ('ALT * 0.3048 - GND', 'ft', 'it is in 3.28084 ft, not in ft: divide it by 0.3048'),
    ('max(ALT, TAS)', '', 'ALT is in ft, TAS in kt: they cannot be compared'),
    ('TAS', 'g', 'it is in kt, and g measures something else'),
    ('ROLL + 2.8', 'rad', 'it is in deg, not in rad: divide it by 57.2958'),
    ('sin(ROLL)', '', 'sin() takes rad, and ROLL is in deg: write radians() around it'),
    ('radians(atan2(AX, AY))', '', 'radians() takes deg, and atan2(AX, AY) is in rad'),
    ('V * Q', 'm/s^2', 'it is in deg*m/s^2, not in m/s^2: divide it by 57.2958'),
    ('0.5 * RHO * TAS**2', 'Pa', 'it is in kg*kt^2/m^3, not in Pa: divide it by 3.77853'),
    ('OAT', 'K', 'it is in degC, not in K: add 273.15'),
    ('OAT', 'degF', 'it is in degC, not in degF: multiply it by 1.8, and add 32'),
    ('where(GX > 1, GX, AX)', 'g', 'GX is in g, AX in m/s^2: divide AX by 9.80665'),
])
def test_an_expression_in_another_unit_is_refused_with_the_factor(expression, unit, sentence):
    with pytest.raises(ValueError, match=f'^{re.escape(sentence)}'):
        dimensions.check(Expression(expression).tree, UNITS, unit)


@pytest.mark.parametrize(('expression', 'unit'), [
    ('sqrt(AX**2 + AY**2) / 9.80665', 'g'), ('hypot(AX, AY) / 9.81', 'g'),
    ('ALT * 0.3048 - GND', 'm'), ('-abs(ALT - GND * 3.2808)', 'ft'), ('ROLL * pi / 180', 'rad'),
    ('0.5 * RHO * V**2', 'Pa'), ('0.5 * RHO * (TAS * 0.5144)**2', 'Pa'), ('V * 3.6', 'km/hour'),
    ('44330 * (1 - (PS / 1013.25)**0.19)', 'm'), ('OAT + 273.15', 'K'), ('RPM / 60', 'Hz'),
    ('degrees(atan2(AX, AY))', 'deg'), ('cos(radians(ROLL))', ''), ('UNKNOWN * TAS + ALT', 'ft'),
    ('where(ALT > 1000, GX, 0)', 'g'), ('log10(PS)', 'Pa'), ('2**ALT', 'm'), ('ALT % 7', 'ft'),
    ('V * radians(Q)', 'm/s^2'), ('RPM', 'Hz'), ('1 / V', 's/m'), ('0 * ALT', 'ft'),
])
def test_an_expression_whose_numbers_convert_it_passes(expression, unit):
    dimensions.check(Expression(expression).tree, UNITS, unit)


def test_units_of_all_functions_are_known():
    assert set(FUNCTIONS) == dimensions.RULED


def test_units_of_expressions_are_those_of_their_entries(read):
    text = MAP.replace('{unit: g}', '{unit: m/s^2}')
    with pytest.raises(MapError, match=re.escape(
            'map.yaml line 8: G_TOTAL: expression: it is in m/s^2, not in g: divide it by 9.8')):
        read(text)
    read(text.replace('Y**2)', 'Y**2) / 9.80665'))
    # One that is derived, by its unit; one with another name than its topic, by that.
    with pytest.raises(MapError, match=re.escape('line 9: HALF: expression: it is in g, not in')):
        read(MAP.replace('common:', '  HALF: {expression: G_TOTAL / 2, unit: m/s^2}\ncommon:'))
    with pytest.raises(MapError, match=re.escape('it is in %, and ft measures something else')):
        read('parameters: {"N 1 (%)": {unit: "%"}}\nderived: {X: {expression: N_1, unit: ft}}')


def test_expressions_are_computed_on_arrays():
    expression = Expression('where(A > 2, -(A > B) * 10 ** 400 ** 2, atan2(A, B) * 180 / pi)')
    assert expression.names == ('A', 'B')
    found = expression({'A': np.array([1.0, 3.0]), 'B': np.array([1.0, 0.0])})
    assert found.tolist() == [pytest.approx(45.0), -math.inf]


def test_a_slow_parameter_is_waited_for_a_minute_at_most_and_the_delay_is_told():
    aligner = Aligner([0.0, 0.0])

    def add(second, is_slow):
        slow = ParameterSeries(*(np.array([second * 10**9] if is_slow else [], kind)
                                 for kind in (np.int64, float)))
        return aligner.add([ParameterSeries(np.array([second * 10**9]), np.zeros(1)), slow])[0]

    for second in range(81):
        add(second, second % 40 == 0)
    assert aligner.delay == 0.0
    for second in range(81, 101):
        add(second, False)
    assert aligner.delay == 20.0
    # Three of its intervals would be two minutes.
    found = [second for second in range(101, 180) if len(add(second, False))]
    assert 80 + 60 < found[0] <= 80 + 60 + 21
    assert 0.0 <= aligner.delay < 21.0
