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

import numpy as np
import pytest
import synthetic

pytest.importorskip('scipy', reason='the synthetic aircraft need scipy')

from xplane_bridge.identification.checks import (
    check,
    check_condition,
    check_manoeuvre,
    check_regression,
)
from xplane_bridge.identification.estimation.equation_error import equation_error
from xplane_bridge.identification.identify import identify
from xplane_bridge.identification.manoeuvres import manoeuvres
from xplane_bridge.identification.motion.equations import LATERAL, Motion
from xplane_bridge.identification.motion.signals import Flight, IdentificationError, Manoeuvre


def flight(**changed):
    """Return a flight with an elevator input from 0.5 s on, some of its signals changed."""
    exact = synthetic.longitudinal().measured
    values = dict(exact.values)
    for name, change in changed.items():
        values[name] = change(values[name].copy(), exact.times)
    return Flight('flight.csv', exact.times, values)


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
    return Flight(whole.source, times, whole.values)


def test_an_elevator_input_is_found_by_itself():
    (found,) = manoeuvres(flight())
    assert found.begin == pytest.approx(0.0, abs=0.1)
    assert found.end == pytest.approx(9.96, abs=0.1)


def test_windows_of_a_scenario_count_if_something_moves():
    whole = flight()
    known = Flight(whole.source, whole.times, whole.values, (
        Manoeuvre('doublet_elevator', 0.5, 5.0), Manoeuvre('route', 5.0, 7.0),
        Manoeuvre('doublet_rudder', 7.0, 9.0)))
    assert [one.name for one in manoeuvres(known)] == ['doublet_elevator']


@pytest.mark.parametrize(('changed', 'said'), [
    ({'angle_of_attack': lambda values, _: 2.0 + np.degrees(values)}, 'angle_of_attack .* in deg'),
    ({'pitch_rate': lambda values, _: 60.0 + values}, 'pitch_rate .* in deg/s'),
    ({'elevator': lambda values, _: 100.0 * values}, 'elevator is 2 at .* s, .* in % or deg'),
    ({'true_airspeed': at(3.0, 4.0, 1e4)}, 'true_airspeed is 1e.04 at 3.00 s'),
    ({'specific_force_z': lambda values, _: values / 9.80665}, 'specific_force_z .* in g'),
    ({'density': at(0.0, 99.0, np.nan)}, 'nothing was measured of density'),
], ids=['degrees', 'degrees per second', 'percent', 'impossible', 'g', 'missing'])
def test_wrong_magnitudes_are_named(changed, said):
    with pytest.raises(IdentificationError, match=said):
        check(flight(**changed))


@pytest.mark.parametrize(('changed', 'said'), [
    ({'elevator': at(2.0, 3.0, 1.0)}, 'elevator is at its limit at 2.00 s'),
    ({'angle_of_attack': at(4.0, 6.0, np.nan)}, 'angle_of_attack has a gap of 2.04 s at 3.96 s'),
    ({'pitch_rate': lambda values, _: -values}, 'pitch_rate turns -1[.0-9]* times|-0.99'),
    ({'pitch_rate': lambda values, _: np.degrees(values)}, 'pitch_rate turns 57.[0-9]* times'),
], ids=['clipped', 'gap', 'sign', 'unit'])
def test_what_spoils_a_manoeuvre_is_named(changed, said):
    with pytest.raises(IdentificationError, match=said):
        check_manoeuvre(flight(**changed))


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
    motions = [Motion(one, one, synthetic.AIRFRAME) for one in (
        flight(), flight(true_airspeed=faster))]
    check_condition(LATERAL, motions[:1])
    with pytest.raises(IdentificationError, match='is 50 m/s in flight.csv and 70 m/s in flight'):
        check_condition(LATERAL, motions)


def test_more_than_fits_in_memory_is_refused():
    whole = flight()
    long = Flight(whole.source, np.arange(40.0 * len(whole.times)) * synthetic.STEP, {
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
    turning = Flight('flight.csv', flown.times, values, (Manoeuvre('inputs at 0.0 s', 0.0, 14.0),))
    motion = Motion(turning, turning, synthetic.AIRFRAME)
    with pytest.raises(IdentificationError, match=(
            'rudder follows states and attitude from 0.0 s .* explain 99 % of it')):
        check_regression(LATERAL, [motion], equation_error(LATERAL, [motion]))


def test_what_was_not_excited_is_said_beside_what_was():
    found = identify([flight()], synthetic.AIRFRAME)
    assert found.forms.keys() == {'longitudinal', 'speed'}
    assert found.refused.keys() == {'lateral'}
    assert 'no excitation' in found.refused['lateral']
