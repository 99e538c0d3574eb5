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

"""The other aircraft: flying straight takes a short way to the same place."""

import math

import pytest

from xplane_bridge.simulation.aircraft.terrain import Airfield
from xplane_bridge.simulation.peers.traffic import OtherAircraft


@pytest.mark.parametrize('heading', [0.01, 1.0, 3.0, 6.28])
@pytest.mark.parametrize('throttle', [0.2, 0.5])
def test_straight_flight_is_the_same_to_the_last_bit_as_any_other(heading, throttle):
    straight, any_other = (
        OtherAircraft(47.26, 11.34, 1500.0, heading, 50.0, throttle=[throttle]) for _ in range(2))
    # Too little to turn it, but not centred.
    any_other.yoke_yaw = 1e-300
    for _ in range(600):
        straight.advance(1.0 / 60.0)
        any_other.advance(1.0 / 60.0)
    any_other.yoke_yaw = 0.0
    assert straight == any_other
    assert straight.speed == pytest.approx(20.0 + 60.0 * throttle, abs=4.1)
    assert math.hypot(straight.lat_deg - 47.26, straight.lon_deg - 11.34) > 0.003


@pytest.mark.parametrize('elevation', [0.0, 1500.0])
@pytest.mark.parametrize('yoke_pitch', [0.0, -1.0])
def test_traffic_keeps_above_the_ground_of_another_airfield(elevation, yoke_pitch):
    other = OtherAircraft(
        47.4, 8.5, elevation + 3.0, 0.0, 50.0, airfield=Airfield(47.4, 8.5, elevation))
    other.yoke_pitch = yoke_pitch
    other.advance(1.0 / 60.0, 300)
    assert other.altitude_msl == elevation + (2.0 if yoke_pitch else 3.0)
    other.place(altitude_msl=elevation - 50.0)
    assert other.altitude_msl == elevation + 2.0
