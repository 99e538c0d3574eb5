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


"""What no aircraft has is refused, with the unit or sign that is probably another one."""

from dataclasses import replace
import math

import pytest
import synthetic

from xplane_bridge.laboratory.identification.estimation import plausibility
from xplane_bridge.laboratory.identification.estimation.output_error import Estimate
from xplane_bridge.laboratory.identification.estimation.plausibility import (
    check_derivatives,
    check_sizes,
    Condition,
    lift_slope,
)
from xplane_bridge.laboratory.identification.motion.equations import LATERAL, LONGITUDINAL, SPEED
from xplane_bridge.laboratory.identification.motion.signals import IdentificationError

FRAME = synthetic.AIRFRAME
LOW = Condition('flight.csv', 50.0, 1.225)
NAMES = {str(one): one for form in (LONGITUDINAL, LATERAL, SPEED) for one in form.derivatives}


def check(frame=FRAME, deviation=0.0, **values):
    """Check derivatives, whose values are given by name."""
    check_derivatives({NAMES[name]: Estimate(value, deviation) for name, value in values.items()},
                      frame, LOW)


def refusal(**given):
    """Return the sentence with which it is refused."""
    with pytest.raises(IdentificationError, match=r'^flight\.csv: ') as caught:
        check(**given)
    return str(caught.value)


@pytest.mark.parametrize(('speed', 'density', 'slope'), [
    # By hand: aspect ratio 7.5625; Mach 0.147, 0.791 at 11 km, above 1, 0.209 in thin cold air.
    (50.0, 1.225, 4.877), (236.0, 0.4, 6.749), (600.0, 1.225, 7.569), (50.0, 0.00237, 4.918)])
def test_lift_slope_is_helmbolds_with_the_air_compressed(speed, density, slope):
    assert lift_slope(FRAME, Condition('', speed, density)) == pytest.approx(slope, rel=1e-3)


def test_what_aircraft_have_passes():
    check(**synthetic.LONGITUDINAL, **synthetic.LATERAL, C_D_delta_t=-0.08)
    # Of a glider's elevator, and of a jet's.
    for small in (0.05, 1.8):
        check(C_m_delta_e=small, C_l_delta_a=0.1 * small, C_n_delta_r=0.1 * small)
    check(C_m_alpha=0.05, C_l_beta=0.02, C_n_p=0.1, C_n_r=0.01, C_n_delta_a=0.02)


@pytest.mark.parametrize(('name', 'value', 'said'), [
    ('C_m_delta_e', -0.6, ', expected 0 to 10 of any aircraft: is the sign turned of elevator: + '
     'is nose up?'),
    ('C_l_delta_a', -0.12, ': is the sign turned of aileron: + is right wing down?'),
    ('C_n_delta_r', -0.06, ': is the sign turned of rudder: + is nose right?'),
    ('C_m_delta_e', 34.0, ': is it in another unit, or of another sign, elevator?'),
    ('C_m_q', 5.0, ', expected -250 to 0 of any aircraft: is it in another unit, or of another '
     'sign, pitch_rate, chord or i_yy?'),
    ('C_l_p', 0.48, ', or of another sign, an angular rate, wing_span or a moment of inertia?'),
    ('C_Y_beta', 0.45, 'sign, sideslip or specific_force_y?'),
    ('C_D_delta_t', 0.08, 'sign, throttle or specific_force_x?')])
def test_what_no_aircraft_has_is_refused(name, value, said):
    sentence = refusal(**{name: value})
    assert sentence.startswith(f'flight.csv: {name} is {value:g} +- 0, expected ')
    assert sentence.endswith(said)


def test_the_limits_of_all_derivatives():
    limits = {
        'C_L_q': (-40, 80), 'C_L_delta_e': (-5, 5), 'C_m_alpha': (-15, 5), 'C_m_q': (-250, 0),
        'C_m_delta_e': (0, 10), 'C_Y_beta': (-5, 0), 'C_Y_delta_r': (-3, 3), 'C_l_beta': (-2, 1),
        'C_l_p': (-2, 0), 'C_l_r': (-1.5, 3), 'C_l_delta_a': (0, 2), 'C_l_delta_r': (-1, 1),
        'C_n_beta': (-1, 2), 'C_n_p': (-2, 2), 'C_n_r': (-4, 0.2), 'C_n_delta_a': (-1, 1),
        'C_n_delta_r': (0, 2), 'C_D_delta_t': (-20, 0)}
    for name, (low, high) in limits.items():
        check(**{name: low})
        check(**{name: high})
        for value in (low - 0.01, high + 0.01):
            assert f', expected {low:g} to {high:g} of any aircraft: ' in refusal(**{name: value})


def test_what_is_not_certain_is_not_refused():
    for value in (-0.39, 10.39):
        check(C_m_delta_e=value, deviation=0.1)
    for value in (-0.41, 10.41):
        assert f' is {value:g} +- 0.2, ' in refusal(C_m_delta_e=value, deviation=0.1)


@pytest.mark.parametrize(('name', 'factor'), [
    ('mass in lb', 2.2046), ('mass in slug', 0.06852), ('density in slug/ft^3', 515.38),
    ('density in lb/ft^3', 16.018), ('true_airspeed in kt', 1.0 / 1.9438 ** 2),
    ('true_airspeed in ft/s', 1.0 / 3.2808 ** 2), ('true_airspeed in km/h', 1.0 / 3.6 ** 2),
    ('specific_force_z in ft/s^2', 3.2808), ('specific_force_z in g', 1.0 / 9.80665),
    ('angle_of_attack in deg', math.radians(1.0)), ('wing_area in ft^2', 1.0 / 10.764)])
def test_a_lift_slope_says_which_unit_is_another_one(name, factor):
    wide = replace(FRAME, wing_area=10.764 * FRAME.wing_area)
    sentence = refusal(frame=wide if name == 'wing_area in ft^2' else FRAME,
                       C_L_alpha=factor * lift_slope(FRAME, LOW))
    assert f': is {name}' in sentence
    assert ', expected 0.5 to 12 of any aircraft, and ' in sentence


def test_a_lift_slope_is_compared_with_the_wings_and_its_own_deviation():
    wing = lift_slope(FRAME, LOW)
    for ratio, deviation in ((0.42, 0.0), (1.75, 0.0), (0.35, 0.1), (1.9, 0.3)):
        check(C_L_alpha=ratio * wing, deviation=deviation)
    for ratio in (0.38, 1.85, -1.0, 0.0):
        assert ' and 2 to 8.8 of a wing with this aspect ratio' in refusal(C_L_alpha=ratio * wing)
    # Of none, however little is known of it.
    assert ', expected 0.5 to 12 of any aircraft' in refusal(C_L_alpha=0.4, deviation=0.5)


@pytest.mark.parametrize(('wrong', 'said'), [
    ({'wing_area': 16.0 * 10.764}, ': is wing_area in ft^2?'),
    ({'wing_span': 11.0 * 3.2808}, ': is wing_span in ft, or chord in ft?'),
    ({'chord': 1.5 * 3.2808}, ': is wing_span in ft, or chord in ft?'),
    ({'wing_span': 11.0 * 3.2808, 'chord': 1.5 * 3.2808}, ': is wing_span and chord in ft?'),
    ({'wing_area': 1600.0}, ', expected about 1')])
def test_a_wing_whose_area_is_not_span_times_chord_is_refused(wrong, said):
    check_sizes(FRAME)
    for ratio in (0.46, 1.79):
        check_sizes(replace(FRAME, wing_area=ratio * 16.5))
    with pytest.raises(IdentificationError, match=r'wing_area is .* m\^2, and ') as caught:
        check_sizes(replace(FRAME, **wrong))
    assert str(caught.value).endswith(said)


@pytest.fixture
def exact(monkeypatch):
    """Let the bounds be numbers that are exact, of a wing of 8 m by 1 m with a mass of 4 kg."""
    for name, value in (('_LEAST_AREA', 0.5), ('_MOST_AREA', 2.0), ('_MOST_INERTIA', 2.0),
                        ('_LEAST_RADIUS', 0.0625), ('_MOST_RADIUS', 0.5)):
        monkeypatch.setattr(plausibility, name, value)
    return replace(FRAME, wing_area=8.0, wing_span=8.0, chord=1.0, mass=4.0, i_xz=0.0, i_xx=16.0,
                   i_yy=16.0, i_zz=16.0)


@pytest.mark.parametrize(('name', 'bounds', 'said'), [
    ('wing_area', (4.0, 16.0), 'times wing_span times chord (8 m, 1 m), expected about 1'),
    ('i_xx', (1.0, 64.0), 'times wing_span, expected 0.0625 to 0.5')])
def test_a_size_at_its_bound_is_one(exact, name, bounds, said):
    others = {} if name == 'wing_area' else {'i_yy': 64.0, 'i_zz': 64.0}
    for bound, beyond in zip(bounds, (1.0 - 1e-12, 1.0 + 1e-12), strict=True):
        check_sizes(replace(exact, **others | {name: bound}))
        with pytest.raises(IdentificationError) as caught:
            check_sizes(replace(exact, **others | {name: beyond * bound}))
        assert said in str(caught.value)


@pytest.mark.parametrize('name', ['i_xx', 'i_yy', 'i_zz'])
def test_a_moment_is_at_most_twice_those_of_the_others(exact, name):
    check_sizes(replace(exact, **{name: 64.0}))
    with pytest.raises(IdentificationError, match=f'^{name} is 64 kg m.2, more than both others'):
        check_sizes(replace(exact, **{name: math.nextafter(64.0, 99.0)}))


@pytest.mark.parametrize(('i_xx', 'asked'), [
    (0.5, ': is wing_span in ft, or mass in lb?'),
    (80.0, ': are moments of inertia in lb ft^2, or is mass in slug?')])
def test_a_radius_of_gyration_asks_for_the_unit_that_would_make_it_so(exact, i_xx, asked):
    with pytest.raises(IdentificationError) as caught:
        check_sizes(replace(exact, i_xx=i_xx, i_yy=64.0, i_zz=64.0))
    assert str(caught.value).endswith(asked)


def test_the_sizes_of_aircraft_are_these():
    assert (plausibility._LEAST_AREA, plausibility._MOST_AREA, plausibility._MOST_INERTIA,
            plausibility._LEAST_RADIUS, plausibility._MOST_RADIUS) == (0.45, 1.8, 2.0, 0.05, 0.45)


@pytest.mark.parametrize('ratio', [0.47, 1.4])
@pytest.mark.parametrize(('names', 'factors'), [
    (('wing_area in ft^2',), {'wing_area': 10.764}),
    (('wing_span in ft', 'chord in ft'), {'wing_span': 3.2808}),
    (('wing_span in ft', 'chord in ft'), {'chord': 3.2808}),
    (('wing_span and chord in ft',), {'wing_span': 3.2808, 'chord': 3.2808})])
def test_a_wing_in_feet_is_recognised_of_any_that_there_is(ratio, names, factors):
    """Of a small and a large area beside span times chord; a larger one might be one in metres."""
    wing = {'wing_area': ratio * 16.5, 'wing_span': 11.0, 'chord': 1.5}
    with pytest.raises(IdentificationError) as caught:
        check_sizes(replace(FRAME, **{
            name: value * factors.get(name, 1.0) for name, value in wing.items()}))
    said = str(caught.value)
    assert all(name in said for name in names)
    feet = math.prod(factor if name == 'wing_area' else 1.0 / factor
                     for name, factor in factors.items())
    assert f', and {ratio * feet:.2g} times wing_span times chord' in said
