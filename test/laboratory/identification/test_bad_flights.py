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

"""Flights of which nothing can be said: a sentence with the signal and the time, no estimate."""

from dataclasses import replace
import re

import numpy as np
import pytest
import synthetic

pytest.importorskip('scipy', reason='the synthetic aircraft need scipy')

from xplane_bridge.laboratory.identification.checks import (
    check,
    check_condition,
    check_magnitudes,
    check_manoeuvre,
    check_regression,
)
from xplane_bridge.laboratory.identification.estimation.equation_error import equation_error
from xplane_bridge.laboratory.identification.identify import identify
from xplane_bridge.laboratory.identification.manoeuvres import manoeuvres
from xplane_bridge.laboratory.identification.motion.equations import CheckedManoeuvre, LATERAL
from xplane_bridge.laboratory.identification.motion.signals import (
    FlightSignals,
    IdentificationError,
    Manoeuvre,
)


def flight(**changed):
    """Return a flight with an elevator input from 0.5 s on, some of its signals changed."""
    exact = synthetic.longitudinal().measured
    values = dict(exact.values)
    for name, change in changed.items():
        values[name] = change(values[name].copy(), exact.times)
    return FlightSignals('flight.csv', exact.times, values)


def at(begin, end, value):
    """Return a change to a value between two times."""
    def change(values, times):
        values[(times >= begin) & (times < end)] = value
        return values
    return change


def times_with(change):
    whole = flight()
    times = whole.times.copy()
    change(times)
    return FlightSignals(whole.source, times, whole.values)


def test_an_elevator_input_is_found_by_itself():
    (found,) = manoeuvres(flight())
    assert found.begin == pytest.approx(0.0, abs=0.1)
    assert found.end == pytest.approx(9.96, abs=0.1)


def test_windows_of_a_scenario_count_if_something_moves():
    whole = flight()
    known = FlightSignals(whole.source, whole.times, whole.values, (
        Manoeuvre('doublet_elevator', 0.5, 5.0), Manoeuvre('route', 5.0, 7.0),
        Manoeuvre('doublet_rudder', 7.0, 9.0)))
    assert [one.name for one in manoeuvres(known)] == ['doublet_elevator']


@pytest.mark.parametrize(('changed', 'said'), [
    ({'angle_of_attack': lambda values, _: 2.0 + np.degrees(values)}, 'angle_of_attack .* in deg'),
    ({'pitch_rate': lambda values, _: 60.0 + values}, 'pitch_rate .* in deg/s'),
    ({'elevator': lambda values, _: 100.0 * values}, 'elevator is 2 at .* s, .* in % or deg'),
    ({'true_airspeed': at(3.0, 4.0, 1e4)}, 'true_airspeed is 1e.04 at 3.00 s'),
    ({'specific_force_z': lambda values, _: values / 9.80665}, 'specific_force_z .* in g'),
    ({'specific_force_z': lambda values, _: values / 0.3048}, 'specific_force_z .* in ft/s'),
    ({'specific_force_z': lambda values, _: -values},
     r'specific_force_z is 9\.8\d? m/s.* expected about -9.8: is its axis up'),
    ({'density': at(0.0, 99.0, np.nan)}, 'nothing was measured of density'),
    ({'density': lambda values, _: values / 515.379}, 'density is 0.0021.* in slug/ft'),
    ({'true_airspeed': lambda values, _: values / 340.0}, 'true_airspeed is 0.147. .* Mach'),
], ids=['degrees', 'degrees per second', 'percent', 'impossible', 'g', 'ft/s^2', 'axis up',
        'missing', 'slug/ft^3', 'Mach'])
def test_wrong_magnitudes_are_named(changed, said):
    with pytest.raises(IdentificationError, match=said):
        check(flight(**changed))
        check_magnitudes(flight(**changed))


@pytest.mark.parametrize(('changed', 'said'), [
    ({'elevator': at(2.0, 3.0, 1.0)}, 'elevator is at its limit at 2.00 s'),
    ({'angle_of_attack': at(4.0, 6.0, np.nan)}, 'angle_of_attack has a gap of 2.04 s at 3.96 s'),
    ({'pitch_rate': lambda values, _: -values}, 'pitch_rate turns -1[.0-9]* times|-0.99'),
    ({'pitch_rate': lambda values, _: np.degrees(values)}, 'pitch_rate turns 57.[0-9]* times'),
], ids=['clipped', 'gap', 'sign', 'unit'])
def test_what_spoils_a_manoeuvre_is_named(changed, said):
    with pytest.raises(IdentificationError, match=said):
        check_manoeuvre(flight(**changed))


def test_what_an_aircraft_does_after_its_manoeuvres_is_not_looked_at():
    spun = flight(pitch_rate=at(9.0, 99.0, 6.0))
    found = identify([replace(spun, manoeuvres=(Manoeuvre('3211_elevator', 0.0, 8.9),))],
                     synthetic.AIRFRAME)
    assert 'longitudinal' in found.forms


def test_a_manoeuvre_in_which_the_aircraft_broke_is_left_out():
    once = flight()
    later = 10.0 + once.times
    spun = {name: np.concatenate((values, 6.0 + values if name == 'pitch_rate' else values))
            for name, values in once.values.items()}
    found = identify([FlightSignals(once.source, np.concatenate((once.times, later)), spun, (
        Manoeuvre('3211_elevator', 0.0, 9.9), Manoeuvre('doublet_elevator', 10.0, 19.9)))],
        synthetic.AIRFRAME)
    assert len(found.forms['longitudinal'].motions) == 1
    assert re.search('doublet_elevator is left out, unlike other .* pitch_rate is 6.* in deg/s',
                     found.refused['doublet_elevator'])


def test_an_attitude_in_degrees_is_named():
    with pytest.raises(IdentificationError, match='pitch_rate turns 0.017.* is pitch in deg'):
        check_manoeuvre(flight(pitch=lambda values, _: np.degrees(values)))


def test_a_time_in_milliseconds_is_named():
    with pytest.raises(IdentificationError, match='0.025 samples per second, .*: is time in s'):
        check(times_with(lambda times: times.__imul__(1e3)))


@pytest.mark.parametrize(('sizes', 'said'), [
    ({'mass': 2.2046}, 'C_L_alpha is 1[01].[0-9]+ .* aspect ratio: is mass in lb'),
    ({'mass': 0.06852}, 'C_L_alpha is 0.3[0-9]+ .*: is mass in slug'),
    ({'wing_area': 10.764}, 'wing_area is 172.* expected about 1: is wing_area in ft'),
    ({'chord': 3.2808}, 'expected about 1: is .*chord in ft'),
    ({'wing_area': 10.764, 'wing_span': 3.2808, 'chord': 3.2808},
     'radius of gyration of 0.03 .*: is wing_span in ft'),
    ({'i_zz': 23.73}, 'i_zz is 6.17e.04 kg m.2, more than both .* no body has: is it in lb ft'),
    ({'i_xx': 23.73, 'i_yy': 23.73, 'i_zz': 23.73}, 'i_xx .* radius of gyration .* in lb ft'),
    ({'i_xx': 0.1, 'i_yy': 0.1, 'i_zz': 0.1}, 'radius of gyration of 0.031 times wing_span'),
], ids=['lb', 'slug', 'ft^2', 'ft', 'all in feet', 'lb ft^2 about an axis', 'lb ft^2', 'small'])
def test_sizes_in_another_unit_are_named(sizes, said):
    frame = replace(synthetic.AIRFRAME, **{
        name: factor * getattr(synthetic.AIRFRAME, name) for name, factor in sizes.items()})
    with pytest.raises(IdentificationError, match=said):
        identify([flight()], frame)


@pytest.mark.parametrize(('changed', 'said'), [
    ({'elevator': lambda values, _: -values}, 'C_m_delta_e is -0.[56].*sign turned of elevator'),
    ({'density': lambda values, _: values / 16.018}, 'C_L_alpha is .*: is density in lb/ft'),
], ids=['elevator', 'lb/ft^3'])
def test_derivatives_of_no_aircraft_are_refused_with_the_signal(changed, said):
    with pytest.raises(IdentificationError, match=said):
        identify([flight(**changed)], synthetic.AIRFRAME)


def test_a_gap_of_everything_is_named():
    def late(times):
        times[times > 5.0] += 0.4
    with pytest.raises(IdentificationError, match=r'a gap of 0.44 s in all signals at 5.00 s'):
        check_manoeuvre(times_with(late))


def test_a_clock_that_jumps_back_is_named():
    def back(times):
        times[times > 5.0] -= 2.0
    with pytest.raises(IdentificationError, match=r'the clock goes from 5.000 s to 3.040 s'):
        check(times_with(back))


def test_without_excitation_there_is_no_estimate():
    with pytest.raises(IdentificationError, match='hardly move from 0.0 s to 10.0 s: no excita'):
        identify([flight(elevator=at(0.0, 99.0, 0.0))], synthetic.AIRFRAME)


def test_another_flight_condition_is_refused():
    def faster(values, times):
        return values * np.where(times < 5.0, 1.0, 1.4)
    motions = [CheckedManoeuvre(one, one, synthetic.AIRFRAME) for one in (
        flight(), flight(true_airspeed=faster))]
    check_condition(LATERAL, motions[:1])
    with pytest.raises(IdentificationError, match='is 50 m/s in flight.csv and 70 m/s in flight'):
        check_condition(LATERAL, motions)


def test_more_than_fits_in_memory_is_refused():
    whole = flight()
    long = FlightSignals(whole.source, np.arange(40.0 * len(whole.times)) * synthetic.STEP, {
        name: np.tile(values, 40) for name, values in whole.values.items()}, tuple(
            Manoeuvre('doublet_elevator', 10.0 * n + 0.5, 10.0 * n + 9.0) for n in range(31)))
    with pytest.raises(IdentificationError, match='31 manoeuvres with .* expected at most 30'):
        identify([long], synthetic.AIRFRAME)


def test_without_a_vane_there_is_no_estimate():
    with pytest.raises(IdentificationError, match='nothing was measured of angle_of_attack'):
        identify([flight(angle_of_attack=at(0.0, 99.0, np.nan))], synthetic.AIRFRAME)


def test_an_elevator_that_follows_the_pitch_rate_tells_nothing():
    def followed(_, times):
        return 0.4 * synthetic.longitudinal().measured.values['pitch_rate']
    with pytest.raises(IdentificationError, match='pitch_rate and elevator move alike from'):
        identify([flight(elevator=followed)], synthetic.AIRFRAME)


def test_an_autopilot_in_turns_tells_nothing():
    flown = synthetic.lateral()
    # A yaw damper, beside ailerons that bank as they like.
    values = dict(flown.flight.values)
    values['rudder'] = (0.3 * values['sideslip'] - 0.2 * values['yaw_rate']
                        - 0.1 * values['roll'] + 0.05 * values['rudder'])
    turning = FlightSignals(
        'flight.csv', flown.times, values, (Manoeuvre('inputs at 0.0 s', 0.0, 14.0),))
    motion = CheckedManoeuvre(turning, turning, synthetic.AIRFRAME)
    with pytest.raises(IdentificationError, match=(
            'rudder follows states and attitude from 0.0 s .* explain 99 % of it')):
        check_regression(LATERAL, [motion], equation_error(LATERAL, [motion]))


def test_what_was_not_excited_is_said_beside_what_was():
    found = identify([flight()], synthetic.AIRFRAME)
    assert found.forms.keys() == {'longitudinal'}
    assert found.refused.keys() == {'lateral', 'speed'}
    assert 'no excitation' in found.refused['lateral']
    # Within seconds an airspeed hardly changes, unless the throttle does.
    assert found.refused['speed'].startswith(
        'speed: the throttle hardly moves, and no manoeuvre is as long as 15 s (the longest: '
        '9.9 s)')


def test_a_long_glide_shows_what_the_airspeed_does():
    glide = synthetic.longitudinal(seconds=16.0).measured
    found = identify([FlightSignals('flight.csv', glide.times, glide.values, (
        Manoeuvre('3211_elevator', 0.0, 16.0),))], synthetic.AIRFRAME)
    assert 'the throttle hardly moves' not in found.refused.get('speed', '')
