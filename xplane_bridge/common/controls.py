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

"""The names of an aircraft's controls, and their ranges: see conversions.vehicle.Controls."""

from __future__ import annotations

from collections.abc import Mapping

SURFACES = ('elevator', 'aileron', 'rudder')
"""What is centred when nobody flies."""

FLOWN = (*SURFACES, 'throttle')
"""What a law commands in each frame: in lockstep a frame waits for a command with all of them."""

LIMITS: Mapping[str, tuple[float, float]] = {
    'elevator': (-1.0, 1.0),
    'aileron': (-1.0, 1.0),
    'rudder': (-1.0, 1.0),
    'throttle': (0.0, 1.0),
    'flaps': (0.0, 1.0),
    'gear': (0.0, 1.0),
    'speedbrake': (-0.5, 1.5),
    'brake_left': (0.0, 1.0),
    'brake_right': (0.0, 1.0),
    'elevator_trim': (-1.0, 1.0),
    'aileron_trim': (-1.0, 1.0),
    'rudder_trim': (-1.0, 1.0),
}
"""The lowest and the highest value of each control that can be commanded."""

CONTROLS = tuple(LIMITS)
"""Their names."""

BRAKES: Mapping[str, str] = {'brake_left': 'left_brake', 'brake_right': 'right_brake'}
"""The wheel brakes, and how the simulated aircraft's cockpit calls them."""
