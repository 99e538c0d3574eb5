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

"""States of the simulator's own aircraft, of which no two values are the same."""

from types import SimpleNamespace

import pytest

from xplane_bridge.bridges.conversions import axes, covariances, simulated
from xplane_bridge.bridges.conversions.vehicle import Air, Controls, EngineControls


def state(engines=2, **changes):
    """Return a state."""
    return SimpleNamespace(**{
        'lat_deg': 47.0, 'lon_deg': 8.0, 'altitude_msl': 500.0, 'phi': 0.1, 'theta': 0.2,
        'psi': 0.3, 'p': 0.4, 'q': 0.5, 'r': 0.6, 'f_x': 1.0, 'f_y': 2.0, 'f_z': -9.0,
        'v_north': 40.0, 'v_east': 30.0, 'v_down': 5.0, 'cas': 50.0, 'tas': 55.0, 'alpha': 0.07,
        'beta': 0.08, 'static_pressure': 95e3, 'qbar': 1700.0, 'temperature': 285.0,
        'density': 1.16, 'wind_north': 3.0, 'wind_east': 4.0, 'wind_down': 0.5, 'elevator': 0.11,
        'aileron': 0.12, 'rudder': 0.13, 'flaps': 0.14, 'gear': 1.0, 'speedbrake': 0.15,
        'left_brake': 0.16, 'right_brake': 0.17, 'elevator_trim': 0.18, 'aileron_trim': 0.19,
        'rudder_trim': 0.21, 'wheels_on_ground': (False, False, False), 'engines': [
            SimpleNamespace(throttle=0.5 + n / 4, mixture=0.4 + n / 4, propeller=n / 4)
            for n in range(engines)], **changes})


def test_all_of_a_state_is_there():
    found = simulated.vehicle_state(state(), 12.5)
    assert (found.latitude_deg, found.longitude_deg, found.altitude_msl) == (47.0, 8.0, 500.0)
    assert found.orientation == axes.ned_frd_to_enu_flu(
        axes.euler_to_quaternion(0.1, 0.2, 0.3))
    assert found.angular_velocity == (0.4, -0.5, -0.6)
    assert found.specific_force == (1.0, -2.0, 9.0)
    assert found.velocity == (30.0, 40.0, -5.0)
    assert found.air == Air(
        50.0, 55.0, 0.07, 0.08, 95e3, 1700.0, 285.0, 1.16, (4.0, 3.0, -0.5))
    assert found.controls == Controls(
        0.11, 0.12, 0.13, 0.5, 0.14, 1.0, 0.15, 0.16, 0.17, 0.18, 0.19, 0.21)
    assert found.engines == EngineControls((0.5, 0.75), (0.4, 0.65), (0.0, 0.25))
    assert (found.time, found.paused, found.crashed, found.impossible) == (12.5, False, False, ())


def test_a_glider_has_no_engine_and_no_throttle():
    found = simulated.vehicle_state(state(engines=0), 0.0)
    assert found.engines is None
    assert found.controls.throttle == 0.0


@pytest.mark.parametrize(('wheels', 'on_ground'), [
    ((False, False, False), False), ((False, True, False), True), ((True, True, True), True)])
def test_traffic_is_on_the_ground_with_any_wheel(wheels, on_ground):
    found = simulated.traffic_target('N1', state(wheels_on_ground=wheels))
    assert (found.id, found.latitude_deg, found.longitude_deg, found.altitude_msl) == (
        'N1', 47.0, 8.0, 500.0)
    assert (found.velocity, found.on_ground) == ((30.0, 40.0, -5.0), on_ground)


def test_whoever_brakes_by_himself_needs_no_parking_brake():
    assert simulated.by_cockpit(Controls(elevator=0.5, gear=0.0)) == {
        'elevator': 0.5, 'gear': 0.0}
    assert simulated.by_cockpit(Controls(brake_left=0.4)) == {
        'left_brake': 0.4, 'parking_brake': 0.0}
    assert simulated.by_cockpit(Controls(brake_right=0.6, flaps=0.3)) == {
        'right_brake': 0.6, 'flaps': 0.3, 'parking_brake': 0.0}


def test_covariances_are_squares_and_none_is_certain():
    assert covariances.diagonal(1.0, 2.0, 3.0) == [1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0]
    assert [covariances.variance(one) for one in (0.0, 0.25)] == [1e6, 0.25]
