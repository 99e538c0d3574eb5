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
The quantities that an experiment extracts from the common topics' messages.

Works with messages of rclpy and of rosbags: both have the fields of the definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
from operator import attrgetter
from typing import Any

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.masks import known_or_nan
from xplane_bridge.bridges.conversions.topics import AIRFRAME_TOPIC, CONTACTS_TOPIC
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.quantities import AIR_DATA, fields_of, KEPT, OF_CONTACTS

EACH_FRAME = ('fix', 'imu/data', 'odom', 'air_data', 'controls')
"""Topics with a message for each state, as far as a simulator publishes them."""

MEASURED = tuple(one.name for one in KEPT)
"""What is measured: SI, and latitude and longitude in degrees."""

TARGET = 'autopilot/active_target'
ORDERED = 'command/target'
"""The targets that a controller is given; those of an external one are complete."""
RELAYED = 'vehicle/command/controls'
"""In lockstep with an external controller: what reaches the bridge."""

MOVED = tuple(f'moved_{axis}' for axis in ('forward', 'left', 'up'))
"""Velocity over ground in body axes, as odom has it."""

OF_SIMULATOR = (CONTACTS_TOPIC, AIRFRAME_TOPIC)
"""Topics of a simulator itself, whose stamps may be of another clock than the bridge's."""

CONTACTS = tuple(one.name for one in OF_CONTACTS)
"""
Series that only a simulated flight with a runway has: how many wheels and how many places of the
structure touch the ground, and the greatest compression of a strut as a multiple of that when
standing.
"""

POLICY_TARGET = 'policy/command/target'
"""Where the autopilot below a policy receives its targets: the policy holds command/target."""

_Read = Callable[[Any], dict[str, float]]


def _reader(topic: str, is_kept: bool) -> _Read:
    """Return what reads the quantities that are fields of a topic's messages."""
    found = [one for one in fields_of(topic) if one.is_kept is is_kept and not one.formula]
    vectors = [(one.name, one.sign, attrgetter(one.field)) for one in found if '.' in one.field]
    numbers = [(one.name, one.field) for one in found if '.' not in one.field]
    # Messages of older recordings may lack a number.
    return lambda message: {
        **{name: getattr(message, field, math.nan) for name, field in numbers},
        **{name: sign * get(message) for name, sign, get in vectors}}


_read_rates, _read_flow = _reader('imu/data', True), _reader(AIR_DATA, True)
_read_force, _read_up = _reader('imu/data', False), _reader('odom', False)


def _read_imu(message: Any) -> dict[str, float]:
    orientation = message.orientation
    roll, pitch, yaw = axes.quaternion_to_euler(
        (orientation.w, orientation.x, orientation.y, orientation.z))
    return {'roll': roll, 'pitch': -pitch, 'heading': axes.yaw_to_heading(yaw),
            **_read_rates(message)}


def _read_air_data(message: Any) -> dict[str, float]:
    found = _read_flow(message)
    if math.isnan(found['airspeed']):
        found['airspeed'] = message.true_airspeed
    return found


def _read_controls(message: Any) -> dict[str, float]:
    return {name: known_or_nan(message, name) for name in FLOWN}


def _read_command(message: Any) -> dict[str, float]:
    return {f'command_{name}': known_or_nan(message, name) for name in FLOWN}


def _read_target(message: Any) -> dict[str, float]:
    # Recordings of 0.1 have a heading.
    heading = 'true_heading' if hasattr(message, 'true_heading') else 'heading'
    return {'target_altitude': known_or_nan(message, 'altitude'),
            'target_heading': known_or_nan(message, heading),
            'target_airspeed': known_or_nan(message, 'airspeed')}


def _read_contacts(message: Any) -> dict[str, float]:
    return {one.name: float(getattr(message, one.field)) for one in OF_CONTACTS}


def _force(message: Any) -> dict[str, float]:
    # Imu.msg: -1 marks what is not measured.
    scale = math.nan if message.linear_acceleration_covariance[0] == -1.0 else 1.0
    return {name: scale * value for name, value in _read_force(message).items()}


def _movement(message: Any) -> dict[str, float]:
    moved = message.twist.twist.linear
    return {**_read_up(message), **dict(zip(MOVED, (moved.x, moved.y, moved.z), strict=True))}


# Topic, below the vehicle's namespace -> quantities in its messages, in SI units and radians.
EXTRACT: Mapping[str, _Read] = {
    'fix': _reader('fix', True),
    'imu/data': _read_imu,
    'odom': _reader('odom', True),
    AIR_DATA: _read_air_data,
    'controls': _read_controls,
    'command/controls': _read_command,
    TARGET: _read_target,
    ORDERED: _read_target,
    RELAYED: _read_command,
    CONTACTS_TOPIC: _read_contacts,
}

# The same, of what only a recording is asked for.
MORE: Mapping[str, _Read] = {
    'imu/data': _force,
    'odom': _movement,
    AIR_DATA: _reader(AIR_DATA, False),
    AIRFRAME_TOPIC: _reader(AIRFRAME_TOPIC, False),
}


def is_release(message: Any) -> bool:
    """Return whether a target ends what was held."""
    return bool(getattr(message, 'fields', 0) & getattr(message, 'RELEASE', 0))


def read_stamp(message: Any) -> float:
    """Return the stamp of a message's header in seconds."""
    stamp = message.header.stamp
    return float(stamp.sec + stamp.nanosec * 1e-9)
