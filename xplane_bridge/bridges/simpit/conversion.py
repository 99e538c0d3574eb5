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
Meaning of Kerbal Simpit's numbers: axes, action groups, attitude.

Kerbal Space Program's control axes have the signs of this package: pitch + is nose up, yaw + is
nose right, roll + is left wing up. Its roll angle has the opposite sign: the plugin takes it
from Unity's Euler angles, which are left-handed, of the attitude with its nose forward, so that +
is right wing up.
"""

from __future__ import annotations

from collections.abc import Mapping
import math

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.plausibility import is_attitude
from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.common.units import DEGREE

_FULL = 32767
_KILO = 1000.0
# An infinite time as the plugin sends it: the apoapsis of an escape (docs/wire/simpit.md).
_NO_TIME = -2 ** 31

# The axis of each control.
_AXES = {'elevator': 'pitch', 'aileron': 'roll', 'rudder': 'yaw', 'throttle': 'throttle'}


def axis_to_wire(name: str, value: float) -> int:
    """
    Return an axis of -1..1 as the plugin expects it, -32767..32767.

    0 returns the axis to the game. Raises ValueError if it is out of range.
    """
    if not -1.0 <= value <= 1.0:
        raise ValueError(f'{name} {value:g} is not in -1 .. 1')
    return round(value * _FULL)


def axis_from_wire(value: int) -> float:
    """Return an axis reported by the plugin, -1..1."""
    return max(-1.0, value / _FULL)


def axes_from_wire(axes: Mapping[str, int]) -> tuple[dict[str, float], dict[str, float]]:
    """
    Return axes as on the wire as flight controls, and the others, by their names in ROS.

    A throttle below 0 is 0.
    """
    values = {axis: axis_from_wire(value) for axis, value in axes.items()}
    controls = {
        name: max(0.0, values[axis]) if name == 'throttle' else values[axis]
        for name, axis in _AXES.items() if axis in values}
    return controls, {
        axis: value for axis, value in values.items() if axis not in _AXES.values()}


def to_wire(controls: Controls) -> dict[str, float]:
    """
    Return flight controls as the plugin expects them: axes converted, the gear unchanged.

    Raises ValueError if a value is out of range.
    """
    wire: dict[str, float] = {
        axis: axis_to_wire(name, value) for name, axis in _AXES.items()
        if (value := getattr(controls, name)) is not None}
    if controls.gear is not None:
        wire['gear'] = controls.gear
    return wire


def seconds(value: int) -> float:
    """Return a time from the plugin in seconds, NaN if there is none."""
    return math.nan if value == _NO_TIME else float(value)


def air(message: simpit.Atmosphere) -> tuple[float, float, float]:
    """
    Return pressure in Pa, temperature in K and density in kg/m^3.

    NaN at a body without air, where the plugin keeps sending its last values.
    """
    if not message.flags & simpit.AtmosphereFlags.HAS_ATMOSPHERE:
        return math.nan, math.nan, math.nan
    return message.pressure_kpa * _KILO, message.temperature_k, message.density_kgpm3


def groups_in(bits: int) -> tuple[int, ...]:
    """Return the numbers of the bits that are set: standard action groups, SAS modes."""
    return tuple(number for number in range(bits.bit_length()) if bits >> number & 1)


def attitude(message: simpit.Attitude) -> tuple[float, float, float]:
    """Return heading, pitch and roll in radians, roll + is right wing down."""
    return message.heading * DEGREE, message.pitch * DEGREE, -message.roll * DEGREE


def orientation(message: simpit.Attitude) -> axes.Quaternion | None:
    """Return the orientation, body FLU to ENU; None if it is impossible."""
    if not is_attitude((message.heading, message.pitch, message.roll)):
        return None
    heading, pitch, roll = attitude(message)
    return axes.ned_frd_to_enu_flu(axes.euler_to_quaternion(roll, pitch, heading))
