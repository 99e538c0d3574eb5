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

"""Parameters of autopilot_node."""

from __future__ import annotations

from dataclasses import dataclass, fields, make_dataclass
import math

from xplane_bridge.control.gains import Gains
from xplane_bridge.nodes.base import BaseParameters
from xplane_bridge.nodes.parameters import parameter


@dataclass(frozen=True)
class OwnParameters(BaseParameters):
    """Parameters of autopilot_node, without those of the control law."""

    engage: bool = parameter(False, 'Engage as soon as telemetry arrives.')
    engage_at: float = parameter(
        math.nan, 'Stamp of imu/data, s, at which, or after which, it engages; NaN is never.',
        live=True)
    altitude: float = parameter(
        math.nan, 'Target when engaging: metres above the WGS-84 ellipsoid, as in fix; NaN holds '
        'the current altitude.')
    true_heading_deg: float = parameter(
        math.nan, 'Target when engaging: degrees clockwise from true north; NaN holds the '
        'current heading.')
    airspeed: float = parameter(
        math.nan, 'Target when engaging: indicated airspeed, m/s; NaN holds the current one.')
    lockstep: bool = parameter(
        False, 'Command once per stamp, when imu/data, fix, air_data and controls of that stamp '
        'have arrived: for a simulator in lockstep behind a bridge with stamp: simulator.')
    hold_at: float = parameter(
        math.nan, 'In lockstep: stamp of imu/data, s, from which on nothing is commanded until '
        'this is set to a later one; NaN is never.', live=True)
    subscribers: int = parameter(
        0, 'In lockstep: how many subscribers command/controls must have before the first '
        'command, so that none misses it; until then the simulation waits.', minimum=0, live=True)


AutopilotParameters = make_dataclass(
    'AutopilotParameters',
    [
        (f'gain_{gain.name}', float, parameter(
            gain.default, 'Gain of the cascade; see docs/control.md.', live=True,
            name=f'gains.{gain.name}'))
        for gain in fields(Gains)
    ],
    bases=(OwnParameters,), frozen=True)
