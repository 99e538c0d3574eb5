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

"""Brakes, trims and engines on X-Plane's native UDP: datarefs from 10 on, rows before."""

import pytest

from xplane_bridge.bridges.xplane_udp import protocol as wire
from xplane_bridge.bridges.xplane_udp.protocol import quantities
from xplane_bridge.bridges.xplane_udp.session.commands import control_datarefs, control_rows

C2 = 'sim/cockpit2/controls/'
ACTUATORS = 'sim/cockpit2/engine/actuators/'


def rows(version, kind='joystick', **controls):
    """Return what X-Plane reads from the rows of controls."""
    names = {name.replace('_at_', '[') + ']' if '_at_' in name else name: value
             for name, value in controls.items()}
    layout = wire.DataLayout(8)
    return quantities(version, control_rows(version, names, kind, layout).segments)


def test_datarefs_of_all_engines_and_of_one():
    given = {'throttle': 0.5, 'throttle[1]': 0.75, 'mixture[0]': 0.25, 'propeller': 1.0,
             'brake_left': 0.5, 'aileron_trim': -0.25}
    assert [(dref.dataref, dref.value) for dref in control_datarefs(given)] == [
        (ACTUATORS + 'throttle_ratio_all', 0.5), (ACTUATORS + 'throttle_ratio[1]', 0.75),
        (ACTUATORS + 'mixture_ratio[0]', 0.25), (ACTUATORS + 'prop_ratio_all', 1.0),
        (C2 + 'left_brake_ratio', 0.5), (C2 + 'aileron_trim', -0.25)]


@pytest.mark.parametrize('version', [8, 9])
def test_rows_of_single_throttles_leave_the_others(version):
    found = rows(version, throttle_at_1=0.75, brake_right=0.5, rudder_trim=-0.25)
    assert found.throttle[:3] == (None, 0.75, None)
    assert (found.left_toe_brake, found.right_toe_brake, found.rudder_trim) == (None, 0.5, -0.25)


def test_what_no_row_has_is_refused_with_a_sentence():
    with pytest.raises(ValueError, match='mixture: the rows of X-Plane 9 have no documented'):
        rows(9, mixture=0.5)
    with pytest.raises(ValueError, match='elevator_trim: with command_rows: trim the trims are'):
        rows(9, 'trim', elevator_trim=0.5)
