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

"""
What a parameter can measure: the fields of the common topics, each with its unit in ROS.

Vectors have one quantity for each component. SI but for latitude and longitude, which are in
degrees as in sensor_msgs/NavSatFix.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

from xplane_bridge.common.quantities import AIR

_KINDS = {
    '': 'a ratio', 'rad': 'an angle', 'deg': 'an angle', 'm': 'a length', 'm/s': 'a speed',
    'rad/s': 'an angular velocity', 'm/s^2': 'an acceleration', 'Pa': 'a pressure',
    'K': 'a temperature', 'kg/m^3': 'a density'}


@dataclass(frozen=True, slots=True)
class MapQuantity:
    """
    One quantity: its unit in ROS.

    turn is the full turn of an angle that wraps, in its unit, or 0. body is whether the quantity
    is a component along a body axis, whose sign depends on the frame.
    """

    unit: str
    turn: float = 0.0
    body: bool = False

    @property
    def kind(self) -> str:
        """Return what the unit measures, in words."""
        return _KINDS.get(self.unit, f'a value in {self.unit}')


_ANGLE = MapQuantity('rad')
_WRAPS = MapQuantity('rad', math.tau)
_DEGREES = MapQuantity('deg', 360.0)
_LENGTH = MapQuantity('m')
_SPEED = MapQuantity('m/s')
_RATE = MapQuantity('rad/s', body=True)
_FORCE = MapQuantity('m/s^2', body=True)

AXES = 'xyz'
QUANTITIES: dict[str, MapQuantity] = {
    'latitude': _DEGREES, 'longitude': _DEGREES,
    'altitude_msl': _LENGTH, 'altitude_ellipsoid': _LENGTH,
    'roll': _WRAPS, 'pitch': _ANGLE, 'heading': _WRAPS,
    **{f'angular_velocity_{axis}': _RATE for axis in AXES},
    **{f'linear_acceleration_{axis}': _FORCE for axis in AXES},
    'velocity_east': _SPEED, 'velocity_north': _SPEED, 'velocity_up': _SPEED,
    **{one.field: MapQuantity(one.unit) for one in AIR},
}
"""By name: the names of the fields of the topics, and of what they are made from."""

FRAMES = ('frd', 'flu')
"""Body axes of angular velocity and acceleration: forward, right, down or forward, left, up."""


def flu_sign(name: str, frame: str) -> float:
    """Return the factor from a quantity given in a frame to the axes of ROS, flu."""
    return -1.0 if QUANTITIES[name].body and frame == 'frd' and not name.endswith('_x') else 1.0
