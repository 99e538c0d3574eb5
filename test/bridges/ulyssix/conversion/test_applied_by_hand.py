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

"""Expressions and maps at their bounds, and what is made of packets, by hand."""

import ast
import math

import numpy as np
import pytest

pytest.importorskip('pint', reason='units are converted by pint')

from xplane_bridge.bridges.conversions.expressions.expression import Expression
from xplane_bridge.bridges.conversions.geoid import undulation_source
from xplane_bridge.bridges.conversions.topics import STATE
from xplane_bridge.bridges.conversions.vehicle import Air
from xplane_bridge.bridges.ulyssix.conversion import AppliedMap, MapError, PacketSamples, parse
from xplane_bridge.bridges.ulyssix.conversion.vehicle import fed_topics, states


def computed(text, **values):
    """Return the results of an expression."""
    arrays = {name: np.array(each, float) for name, each in values.items()}
    return Expression(text)(arrays).tolist()


@pytest.mark.parametrize(('text', 'result'), [
    ('A + B', 4.5), ('A - B', -1.5), ('A * B', 4.5), ('A / B', 0.5), ('A ** B', 1.5 ** 3),
    ('B % A', 0.0), ('-A', -1.5), ('+A', 1.5), ('A < B', 1.0), ('A <= 1.5', 1.0), ('A > B', 0.0),
    ('A >= 1.5', 1.0), ('A == B', 0.0), ('A != B', 1.0), ('A < 1.5', 0.0), ('A > 1.5', 0.0),
    ('sqrt(A)', math.sqrt(1.5)), ('exp(A)', math.exp(1.5)), ('log(A)', math.log(1.5)),
    ('log10(A)', math.log10(1.5)), ('sin(A)', math.sin(1.5)), ('cos(A)', math.cos(1.5)),
    ('tan(A)', math.tan(1.5)), ('abs(-A)', 1.5), ('sign(-A)', -1.0), ('floor(A)', 1.0),
    ('radians(A)', math.radians(1.5)), ('degrees(A)', math.degrees(1.5)),
    ('asin(A / B)', math.asin(0.5)), ('acos(A / B)', math.acos(0.5)),
    ('atan(A)', math.atan(1.5)), ('atan2(A, B)', math.atan2(1.5, 3.0)),
    ('hypot(A, B)', math.hypot(1.5, 3.0)), ('min(A, B)', 1.5), ('max(A, B)', 3.0),
    ('clip(B, A, 2)', 2.0), ('where(A > B, 1, 2)', 2.0), ('A * pi', 1.5 * math.pi)])
def test_each_operation_is_what_it_is_called(text, result):
    assert computed(text, A=[1.5, 1.5], B=[3.0, 3.0]) == pytest.approx([result] * 2)


def test_an_expression_has_a_length_and_a_size():
    longest = 'A' + ' ' * 498 + 'B'
    with pytest.raises(ValueError, match='is not an expression'):
        Expression(longest)
    with pytest.raises(ValueError, match='expected at most 500 characters, got 501'):
        Expression(longest + ' ')
    assert computed('A' + ' ' * 499, A=[2.0]) == [2.0]
    # Each sum adds a node, its operator, a name and its context, and there is one of all.
    sums = next(n for n in range(30, 80) if not fits('A' + '+A' * n))
    assert not fits('A' + '+A' * sums)
    nodes = sum(1 for _ in ast.walk(ast.parse('A' + '+A' * (sums - 1), mode='eval')))
    assert nodes <= 200 < nodes + 4


def fits(text):
    """Return whether an expression is short enough."""
    try:
        Expression(text)
    except ValueError as error:
        assert 'split it into several' in str(error)
        return False
    return True


def test_a_result_has_the_shape_of_its_parameters():
    assert computed('0 * A + 7', A=[1.0, 2.0, 3.0]) == [7.0, 7.0, 7.0]
    assert computed('A / 0', A=[1.0, -1.0]) == [math.inf, -math.inf]
    assert Expression('B + A * B').names == ('B', 'A')


@pytest.mark.parametrize(('limits', 'fault'), [
    ('[1, 2]', None), ('[null, null]', None), ('[1, 2, 3]', 'expected [lowest, highest]'),
    ('[1]', 'expected [lowest, highest]'), ('5', 'expected [lowest, highest]'),
    ('ab', 'expected [lowest, highest]'), ('{a: 1, b: 2}', 'expected [lowest, highest]'),
    ('[2, 2]', '2 is not below 2'), ('[2, 1]', '2 is not below 1')])
def test_limits_are_two_numbers_in_order(limits, fault):
    text = f'parameters: {{A: {{limits: {limits}}}}}'
    if fault is None:
        assert parse(text, 'm').entry('A').guarded is ('null' not in limits)
        return
    with pytest.raises(MapError, match=r'm line 1: A: limits: ') as caught:
        parse(text, 'm')
    assert fault in str(caught.value)


@pytest.mark.parametrize(('warn', 'fits_in'), [
    ('[1, 5]', True), ('[0.99, 5]', False), ('[1, 5.01]', False), ('[null, 5]', True)])
def test_a_warning_at_the_limit_itself_is_one(warn, fits_in):
    text = f'parameters: {{A: {{limits: [1, 5], warn: {warn}}}}}'
    if fits_in:
        parse(text, 'm')
    else:
        with pytest.raises(MapError, match='is beyond limits, so it would never warn'):
            parse(text, 'm')


def test_entries_are_those_of_the_exact_name_else_of_the_first_pattern():
    given = parse('parameters: {"A*": {scale: 2}, "A?": {scale: 3}, AB: {scale: 4}}', 'm')
    assert [given.entry(name).scale for name in ('ABC', 'AC', 'AB', 'A*')] == [2.0, 2.0, 4.0, 2.0]
    assert given.entry('B') is None
    assert parse('parameters: {A: {}}', 'm').quantities == frozenset()


def test_raw_values_and_si_by_hand():
    entry = parse('parameters: {T: {quantity: temperature, unit: degC, scale: -0.5, offset: 20, '
                  'limits: [0, 30]}}', 'm').entry('T')
    assert (entry.factor, entry.addend) == (-0.5, pytest.approx(293.15))
    assert entry.raw(0.0, 30.0) == (-20.0, 40.0)
    assert entry.si(0.0, 30.0) == pytest.approx((273.15, 303.15))
    entry = parse('parameters: {H: {quantity: altitude_msl, unit: ft, scale: 0.1, offset: 100}}',
                  'm').entry('H')
    assert (entry.factor, entry.addend) == pytest.approx((0.03048, 30.48))
    given = parse('parameters: {A: {scale: 2, limits: [2, 8]}, B: {}}\nderived: {D: {expression: '
                  'A + 1, unit: km, limits: [1, 2]}}', 'm')
    low, high = given.good(('A', 'B', 'C'), ('D',))
    assert low.tolist() == [1.0, -math.inf, -math.inf, 1000.0]
    assert high.tolist() == [4.0, math.inf, math.inf, 2000.0]


def packet(times, *columns):
    """Return a packet in which each parameter has a sample at each time (s)."""
    stamps = np.round(np.array(times) * 1e9).astype(np.int64)
    return PacketSamples(np.array([len(times)] * len(columns)), np.array(columns, float).ravel(),
                         np.tile(stamps, len(columns)))


TURNING = """
parameters:
  HDG: {quantity: heading, unit: deg}
  ALT: {quantity: altitude_msl, unit: ft}
  OTHER: {quantity: altitude_msl}
  LAT: {quantity: latitude}
  LON: {quantity: longitude}
derived:
  SUM: {expression: HDG + 0 * ALT, unit: deg}
  TWICE: {expression: 2 * SUM, unit: deg}
  NEVER: {expression: GONE + HDG, unit: deg}
common: {fix: {interpolated: 4}}
"""
NAMES = ('HDG', 'ALT', 'LAT', 'LON', 'OTHER', 'free')


def applied():
    """Return a map that is applied to NAMES."""
    found = AppliedMap(parse(TURNING, 'm'))
    found.follow(NAMES)
    return found


def test_what_a_map_is_applied_to_is_told():
    found = applied()
    assert [one.pattern for one in found.derived] == ['SUM', 'TWICE']
    assert found.chosen == {'heading': 'HDG', 'altitude_msl': 'ALT', 'latitude': 'LAT',
                            'longitude': 'LON'}
    assert [str(one) for one in found.unsent] == ['GONE (in NEVER)']
    assert found.advice() == ['GONE (in NEVER)']
    assert found.advice() is found.advice()
    assert found.delays() == {'SUM': 0.0, 'TWICE': 0.0, 'fix': 0.0}
    values = np.array([1000.0])
    assert found.to_si(1, values).tolist() == pytest.approx([304.8])
    assert found.to_si(5, values) is values
    assert found.to_si(6, values) is values


def test_derived_ones_turn_the_short_way_and_need_what_is_above_them():
    one = PacketSamples(np.array([3, 2, 0, 0, 0, 0]), np.array([350.0, 30.0, 70.0, 9.0, 9.0]),
                        np.array([0, 1000, 2000, 500, 2000]) * 10**6)
    samples = {each.name: (each.times.tolist(), np.degrees(each.values).tolist())
               for each in applied().take(one)[0]}
    # Half a second after 350 degrees, towards 30.
    assert samples['SUM'] == ([5 * 10**8, 2 * 10**9], pytest.approx([10.0, 70.0]))
    assert samples['TWICE'] == ([5 * 10**8, 2 * 10**9], pytest.approx([20.0, 140.0]))


def test_topics_are_made_of_packets_of_the_known_size_and_those_wanted():
    found = applied()
    assert found.take(packet([0.0], *[[1.0]] * 5)) == ([], [])
    derived, quantities = found.take(packet(
        [0.0, 0.5, 1.0], [0.0] * 3, [1000.0, 1000.0, 1100.0], [47.0, 47.0, 48.0], [8.0] * 3,
        [5.0] * 3, [0.0] * 3))
    assert [one.name for one in derived] == ['SUM', 'TWICE']
    fix, = quantities
    assert fix.topic == 'fix'
    assert fix.times.tolist() == [0, 250_000_000, 500_000_000, 750_000_000, 10**9]
    assert fix.values['latitude'].tolist() == pytest.approx([47.0, 47.0, 47.0, 47.5, 48.0])
    assert fix.values['altitude_msl'].tolist() == pytest.approx(
        [304.8, 304.8, 304.8, 320.04, 335.28])
    later = packet([1.5], *[[1.0]] * 6)
    assert found.take(later, wanted=['odom'])[1] == []
    found.restart()
    assert found.take(packet([0.25], *[[1.0]] * 6))[1][0].times.tolist() == [250_000_000]


@pytest.mark.parametrize(('given', 'topics'), [
    ((), ()), (('latitude', 'longitude'), ()),
    (('latitude', 'longitude', 'altitude_ellipsoid'), ('fix',)),
    (('roll', 'pitch', 'heading', 'density'), ('imu/data', 'air_data')),
    (('latitude', 'longitude', 'altitude_msl', 'roll', 'pitch', 'heading'),
     ('fix', 'imu/data', 'odom')),
    (('velocity_east', 'velocity_north', 'velocity_up'), ('fix_velocity',))])
def test_a_topic_needs_one_of_its_sets(given, topics):
    assert fed_topics(given) == topics


def test_states_have_what_is_known_at_each_time():
    nan = math.nan
    columns = {
        'latitude': [47.0, 47.0, nan], 'longitude': [8.0, 8.0, 8.0],
        'altitude_msl': [500.0, nan, 500.0], 'altitude_ellipsoid': [9.0, 650.0, 9.0],
        'velocity_east': [1.0, 1.0, nan], 'velocity_north': [2.0] * 3, 'velocity_up': [3.0] * 3,
        'angular_velocity_x': [0.1] * 3, 'angular_velocity_y': [0.2] * 3,
        'angular_velocity_z': [0.3, nan, 0.3], 'density': [1.2, nan, 1.1],
        'temperature': [280.0, nan, nan], 'roll': [nan, 0.0, 0.0], 'pitch': [0.0] * 3,
        'heading': [0.0] * 3}
    found = [*states(np.array([5, 6, 7]), {
        name: np.array(values) for name, values in columns.items()}, undulation_source(50.0, ''))]
    assert [time for time, _ in found] == [5, 6, 7]
    first, second, third = (state for _, state in found)
    assert (first.latitude_deg, first.longitude_deg, first.altitude_msl) == (47.0, 8.0, 500.0)
    assert second.altitude_msl == 600.0
    assert all(map(math.isnan, (third.latitude_deg, third.longitude_deg, third.altitude_msl)))
    assert (first.velocity, third.velocity) == ((1.0, 2.0, 3.0), None)
    assert (first.angular_velocity, second.angular_velocity) == ((0.1, 0.2, 0.3), None)
    assert (first.orientation, first.specific_force) == (None, None)
    root = math.sqrt(0.5)
    assert second.orientation == pytest.approx((root, 0.0, 0.0, root))
    assert first.air == Air(density=1.2, temperature=280.0)
    assert (second.air, third.air) == (None, Air(density=1.1))


@pytest.mark.parametrize(('common', 'rates'), [
    ('{}', {}), ('{rate: slowest}', {}), ('{interpolated: 50}', dict.fromkeys(STATE, 50.0)),
    ('{interpolated: 50, fix: {rate: slowest}, odom: {interpolated: 9}}',
     dict.fromkeys(STATE, 50.0) | {'fix': 0.0, 'odom': 9.0})])
def test_topics_have_the_common_rate_or_one_of_their_own(common, rates):
    given = parse(f'parameters: {{A: {{}}}}\ncommon: {common}', 'm')
    assert given.rates == dict.fromkeys(STATE, 0.0) | rates


@pytest.mark.parametrize(('common', 'fault'), [
    ('{rate: slowest, interpolated: 50}', 'expected either "rate: slowest" or "interpolated"'),
    ('{fix: {rate: slowest, interpolated: 50}}', 'expected either "rate: slowest" or'),
    ('{rate: fastest}', 'rate'), ('{interpolated: 0}', 'interpolated'),
    ('{fix: {odom: {}}}', 'odom'), ('{interpolated: 1e9}', 'interpolated')])
def test_a_rate_that_is_none_is_refused(common, fault):
    with pytest.raises(MapError, match=fault):
        parse(f'parameters: {{A: {{}}}}\ncommon: {common}', 'm')


@pytest.mark.parametrize(('derived', 'fault'), [
    ('{ONE: {expression: TWO + A}, TWO: {expression: A}}',
     'line 2: ONE: expression: TWO has to be above it'),
    ('{ONE: {expression: ONE + A}}', 'line 2: ONE: expression: it needs its own result'),
    ('{A: {expression: A + 1}}', 'line 2: A: a parameter has this name too'),
    ('{"A-B": {expression: A}}', 'the name of a derived parameter is that of its topic: A_B'),
    ('{ONE: {expression: A, unit: dB}}', 'cannot be converted|is not linear'),
    ('{ONE: {}}', 'expression'), ('{ONE: {expression: A, scale: 2}}', 'scale')])
def test_derived_parameters_that_cannot_be_are_refused(derived, fault):
    with pytest.raises(MapError, match=fault):
        parse(f'parameters: {{A: {{}}}}\nderived: {derived}', 'm')


def test_derived_parameters_in_order_are_read():
    given = parse('parameters: {A: {}}\n'
                  'derived: {TWO: {expression: A}, ONE: {expression: TWO + A}}', 'm')
    assert [one.pattern for one in given.derived] == ['TWO', 'ONE']
