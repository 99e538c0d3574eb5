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

"""X-Plane's datarefs as a state when some of them are missing."""

from dataclasses import replace
import math

import pytest

from xplane_bridge.conversions.xplane.rows import rows_state
from xplane_bridge.conversions.xplane.state import (
    force_difference,
    missed,
    OWN_DATAREFS,
    own_state,
)
from xplane_bridge.protocols.xplane_udp import to_segments

POSITION = 'sim/flightmodel/position/'
PLACE = (47.0, 8.0, 1500.0)
ATTITUDE = (90.0, 0.0, 0.0)


def values_without(*absent):
    """Return 0.5 for each dataref except the missing ones."""
    assert set(absent) <= set(OWN_DATAREFS)
    return dict.fromkeys((name for name in OWN_DATAREFS if name not in absent), 0.5)


def test_one_dataref_that_does_not_come_empties_its_own_field_only():
    full = own_state(PLACE, ATTITUDE, values_without())
    assert None not in (full.angular_velocity, full.specific_force, full.velocity)
    lacking = own_state(PLACE, ATTITUDE, values_without(POSITION + 'Prad'))
    assert lacking.angular_velocity is None
    assert (lacking.specific_force, lacking.velocity, lacking.air, lacking.controls) == (
        full.specific_force, full.velocity, full.air, full.controls)
    lacking = own_state(PLACE, ATTITUDE, values_without(POSITION + 'indicated_airspeed'))
    assert (lacking.air.indicated_airspeed, lacking.air.dynamic_pressure) == (None, None)
    assert (lacking.air.true_airspeed, lacking.air.wind) == (
        full.air.true_airspeed, full.air.wind)


@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_none_and_named(value):
    name = POSITION + 'Prad'
    state = own_state(PLACE, ATTITUDE, values_without() | {name: value})
    assert state.impossible == ((name, value),)
    assert replace(state, impossible=()) == (
        own_state(PLACE, ATTITUDE, values_without(name)))


@pytest.mark.parametrize('value', [math.nan, math.inf])
@pytest.mark.parametrize('name', ['pitch', 'wind_from', 'static_pressure', 'velocity_up'])
def test_a_row_s_value_that_is_not_finite_is_none_and_named(name, value):
    given = {'pitch': 0.1, 'roll': 0.2, 'true_heading': 1.0, 'static_pressure': 9e4,
             'wind_speed': 3.0, 'wind_from': 1.0,
             'velocity_east': 1.0, 'velocity_up': 2.0, 'velocity_south': 3.0}
    state = rows_state(10, to_segments(10, given | {name: value}))
    (named, got), = state.impossible
    assert named == name
    assert math.isnan(got) or got == value
    del given[name]
    assert replace(state, impossible=()) == rows_state(10, to_segments(10, given))


def test_huge_values_whose_sum_is_infinite_are_values():
    huge = values_without() | dict.fromkeys((POSITION + 'Prad', POSITION + 'Qrad'), 1e308)
    assert own_state(PLACE, ATTITUDE, huge).angular_velocity == (1e308, -1e308, -0.5)


@pytest.mark.parametrize(('up', 'difference'), [(2.0, 0.0), (2.0 + 9.80665, 9.80665)])
def test_accelerations_that_contain_gravity_differ_by_it_from_the_loads(up, difference):
    """Level, heading north, at the origin: 1 m/s^2 forwards, 2 upwards, and gravity's load."""
    forces = 'sim/flightmodel/forces/g_'
    given = {
        POSITION + 'lat_ref': 47.0, POSITION + 'lon_ref': 8.0,
        **{POSITION + f'true_{axis}': 0.0 for axis in ('psi', 'theta', 'phi')},
        POSITION + 'local_ax': 0.0, POSITION + 'local_ay': up, POSITION + 'local_az': -1.0,
        forces + 'axil': -1.0 / 9.80665, forces + 'side': 0.0, forces + 'nrml': 1 + 2 / 9.80665}
    state = own_state(PLACE, (0.0, 0.0, 0.0), given)
    assert force_difference(PLACE, state, given) == pytest.approx(difference, abs=1e-9)
    for name in (forces + 'side', POSITION + 'local_ax'):
        less = {key: value for key, value in given.items() if key != name}
        assert force_difference(PLACE, state, less) is None
    assert force_difference(PLACE, replace(state, orientation=None), given) is None
    assert force_difference(PLACE, replace(state, specific_force=None), given) is None


def test_without_any_dataref_the_attitude_of_the_position_is_left():
    state = own_state(PLACE, ATTITUDE, {})
    assert state.orientation is not None
    assert (state.angular_velocity, state.specific_force, state.velocity) == (None, None, None)


@pytest.mark.parametrize(('absent', 'expected'), [
    ((), []),
    # X-Plane 9 has no true attitude, and nothing before 12 has the new weather names.
    (tuple(POSITION + f'true_{axis}' for axis in ('psi', 'theta', 'phi')), []),
    (tuple(name for name in OWN_DATAREFS if 'weather/aircraft/' in name), []),
    # Each of the two ways of giving the attitude lacks one of its three datarefs.
    ((POSITION + 'true_psi', POSITION + 'phi'), [POSITION + 'true_psi', POSITION + 'phi']),
    ((POSITION + 'Prad', POSITION + 'true_psi'), [POSITION + 'Prad']),
])
def test_missed_is_what_no_other_dataref_says(absent, expected):
    assert missed(absent) == expected
