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

"""Brakes, trims and engines as X-Plane's datarefs, both directions, written by hand."""

import pytest

from xplane_bridge.bridges.conversions.vehicle import EngineControls
from xplane_bridge.bridges.conversions.xplane import levers
from xplane_bridge.bridges.conversions.xplane.state import own_state
from xplane_bridge.bridges.xplane_udp.conversion import rows_state
from xplane_bridge.bridges.xplane_udp.protocol import to_segments

C2 = 'sim/cockpit2/controls/'
ACTUATORS = 'sim/cockpit2/engine/actuators/'
PLACE = (47.0, 8.0, 500.0)


def test_brakes_are_taken_from_the_pedals_and_trims_are_written():
    assert levers.lever_datarefs({'brake_left': 0.5, 'rudder_trim': -0.25}) == {
        'sim/operation/override/override_toe_brakes': (1.0,),
        C2 + 'parking_brake_ratio': (0.0,),
        C2 + 'left_brake_ratio': (0.5,), C2 + 'rudder_trim': (-0.25,)}
    assert levers.lever_datarefs({'elevator_trim': 0.1}) == {C2 + 'elevator_trim': (0.1,)}


def test_one_value_is_written_for_every_engine_and_arrays_as_they_are():
    assert levers.engine_datarefs(EngineControls(
        throttle=(0.25, 0.75), mixture=(0.5,), propeller=(1.0,))) == {
        'sim/flightmodel/engine/ENGN_thro': (0.25, 0.75),
        ACTUATORS + 'mixture_ratio': (0.5,) * 8, ACTUATORS + 'prop_ratio': (1.0,) * 8}
    assert levers.flat(EngineControls(throttle=(0.25, 0.75), mixture=(0.5,))) == {
        'throttle[0]': 0.25, 'throttle[1]': 0.75, 'mixture': 0.5}


def test_x_plane_reports_brakes_trims_and_as_many_engines_as_there_are():
    given = {C2 + 'left_brake_ratio': 0.25, C2 + 'right_brake_ratio': 0.5,
             C2 + 'elevator_trim': 0.1, C2 + 'aileron_trim': -0.2, C2 + 'rudder_trim': 0.3,
             'sim/aircraft/engine/acf_num_engines': 2.0}
    arrays = {'sim/flightmodel/engine/ENGN_thro': (0.5, 0.75) + (0.0,) * 14,
              ACTUATORS + 'mixture_ratio': (1.0, 0.9, 0.0, 0.0)}
    state = own_state(PLACE, None, given, arrays=arrays)
    reported = state.controls
    assert (reported.brake_left, reported.brake_right) == (0.25, 0.5)
    assert (reported.elevator_trim, reported.aileron_trim, reported.rudder_trim) == (
        0.1, -0.2, 0.3)
    assert state.engines == EngineControls(throttle=(0.5, 0.75), mixture=(1.0, 0.9))


@pytest.mark.parametrize('count', [None, 0.0, 99.0, float('nan')])
def test_without_a_number_of_engines_nothing_is_known_of_them(count):
    given = {} if count is None else {'sim/aircraft/engine/acf_num_engines': count}
    state = own_state(
        PLACE, None, given, arrays={'sim/flightmodel/engine/ENGN_thro': (0.5,) * 8})
    assert state.engines is None


def test_elements_become_arrays_again():
    values = {f'{ACTUATORS}prop_ratio[{n}]': n / 4.0 for n in range(4)}
    assert list(levers.elements(ACTUATORS + 'prop_ratio')) == list(values)
    assert levers.elements(C2 + 'rudder_trim') == (C2 + 'rudder_trim',)
    assert levers.to_arrays(values)[ACTUATORS + 'prop_ratio'] == [0.0, 0.25, 0.5, 0.75]


@pytest.mark.parametrize('version', [6, 9, 12])
def test_rows_report_brakes_trims_and_throttles(version):
    state = rows_state(version, to_segments(version, {
        'left_toe_brake': 0.25, 'right_toe_brake': 0.5, 'elevator_trim': 0.1,
        'aileron_trim': -0.2, 'rudder_trim': 0.3, 'throttle': (0.5, 0.75)}))
    reported = state.controls
    assert (reported.brake_left, reported.brake_right, reported.elevator_trim,
            reported.aileron_trim, reported.rudder_trim) == (0.25, 0.5, 0.1, -0.2, 0.3)
    assert state.engines == EngineControls(throttle=(0.5, 0.75))
