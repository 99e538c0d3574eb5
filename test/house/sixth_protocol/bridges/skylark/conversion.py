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

"""Skylark's values as the state of a vehicle."""

from collections.abc import Mapping

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.vehicle import VehicleState
from xplane_bridge.common.units import DEGREE


def vehicle_state(values: Mapping[str, float]) -> VehicleState:
    """Return what a report says about the aircraft."""
    return VehicleState(
        values['latitude'], values['longitude'], values['altitude'],
        orientation=axes.ned_frd_to_enu_flu(axes.euler_to_quaternion(
            *(values[name] * DEGREE for name in ('roll', 'pitch', 'heading')))))
