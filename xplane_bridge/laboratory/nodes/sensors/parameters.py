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

"""Parameters of sensors_node."""

from __future__ import annotations

from dataclasses import dataclass
import math

from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.bridges.nodes.vehicle.namespaces import NamespacesParameters
from xplane_bridge.common.fields import LARGEST_SEED


@dataclass(frozen=True)
class SensorsParameters(NamespacesParameters):
    """Parameters of sensors_node."""

    sensors: str = parameter(
        'consumer', 'The sensors: consumer, tactical, perfect, px4, ardupilot, or a file (.yaml).')
    seed: int = parameter(
        0, 'Random seed: equal ones give equal errors. Of several namespaces each has '
        'the next one.', low=0, high=LARGEST_SEED)
    lockstep: bool = parameter(
        False, 'For a simulator in lockstep: imu/data for each state, with its stamp, after all '
        'else that is delivered then; where the IMU has nothing new, its last values.')
    added_latency: float = parameter(
        0.0, 'Every sensor delivers so much later than its figures say, s.', low=0.0,
        high=5.0)
    base_frame: str = parameter('', 'Child frame of odom. Empty: the frame of imu/data.')
    ground_elevation: float = parameter(
        math.nan, 'Height of the ground (m above the WGS-84 ellipsoid), for the range finder. '
        'NaN: not known, range is not published.', live=True)
    range_frame: str = parameter(
        '', 'Frame of range, whose x axis leads down. Empty: range_finder, with the prefix of the '
        'frame of imu/data.')
    gnss_outage: bool = parameter(
        False, 'GNSS has no fix: fix without a position, no fix_velocity.', live=True)
    pitot_blocked: bool = parameter(
        False, 'The pitot tube and its drain are blocked: the airspeed follows the altitude.',
        live=True)
    static_blocked: bool = parameter(
        False, 'The static port is blocked: the static pressure stays.', live=True)
    range_finder_failed: bool = parameter(
        False, 'The range finder delivers nothing.', live=True)
