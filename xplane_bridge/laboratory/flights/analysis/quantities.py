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
from typing import Any

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.masks import known_or_nan
from xplane_bridge.bridges.conversions.topics import AIRFRAME_TOPIC, CONTACTS_TOPIC
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.flights.scenario.quantities import AIRFRAME

EACH_FRAME = ('fix', 'imu/data', 'odom', 'air_data', 'controls')
"""Topics with a message for each state, as far as a simulator publishes them."""

MEASURED = (
    'latitude', 'longitude', 'altitude', 'roll', 'pitch', 'heading', 'east', 'north', 'airspeed',
    'roll_rate', 'pitch_rate', 'yaw_rate', 'angle_of_attack', 'sideslip', *FLOWN)
"""What is measured: SI, and latitude and longitude in degrees."""

TARGET = 'autopilot/active_target'
ORDERED = 'command/target'
"""The targets that a controller is given; those of an external one are complete."""
RELAYED = 'vehicle/command/controls'
"""In lockstep with an external controller: what reaches the bridge."""

MOVED = tuple(f'moved_{axis}' for axis in ('forward', 'left', 'up'))
"""Velocity over ground in body axes, as odom has it."""

_AIR = ('true_airspeed', 'static_pressure', 'dynamic_pressure', 'temperature', 'density')
_PLAIN_AIRFRAME = tuple(
    name for name in AIRFRAME if not name.startswith('turbulence') and '_acceleration' not in name)
OF_SIMULATOR = (CONTACTS_TOPIC, AIRFRAME_TOPIC)
"""Topics of a simulator itself, whose stamps may be of another clock than the bridge's."""

CONTACTS = ('wheels_on_ground', 'structure_on_ground', 'strut_compression')
"""
Series that only a simulated flight with a runway has: how many wheels and how many places of the
structure touch the ground, and the greatest compression of a strut as a multiple of that when
standing.
"""

POLICY_TARGET = 'policy/command/target'
"""Where the autopilot below a policy receives its targets: the policy holds command/target."""


def _read_fix(message: Any) -> dict[str, float]:
    return {'latitude': message.latitude, 'longitude': message.longitude,
            'altitude': message.altitude}


def _read_imu(message: Any) -> dict[str, float]:
    orientation = message.orientation
    roll, pitch, yaw = axes.quaternion_to_euler(
        (orientation.w, orientation.x, orientation.y, orientation.z))
    rates = message.angular_velocity
    return {'roll': roll, 'pitch': -pitch, 'heading': axes.yaw_to_heading(yaw),
            'roll_rate': rates.x, 'pitch_rate': -rates.y, 'yaw_rate': -rates.z}


def _read_odom(message: Any) -> dict[str, float]:
    position = message.pose.pose.position
    return {'east': position.x, 'north': position.y}


def _read_air_data(message: Any) -> dict[str, float]:
    speed = message.indicated_airspeed
    return {'airspeed': message.true_airspeed if math.isnan(speed) else speed,
            'angle_of_attack': message.angle_of_attack, 'sideslip': message.sideslip}


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
    return dict(zip(CONTACTS, map(float, (
        message.wheels, message.structure, message.strut_compression)), strict=True))


def _force(message: Any) -> dict[str, float]:
    force = message.linear_acceleration
    # Imu.msg: -1 marks what is not measured.
    scale = math.nan if message.linear_acceleration_covariance[0] == -1.0 else 1.0
    return {'specific_force_forward': scale * force.x, 'specific_force_left': scale * force.y,
            'specific_force_up': scale * force.z}


def _movement(message: Any) -> dict[str, float]:
    moved = message.twist.twist.linear
    return {'up': message.pose.pose.position.z,
            **dict(zip(MOVED, (moved.x, moved.y, moved.z), strict=True))}


def _air(message: Any) -> dict[str, float]:
    wind = message.wind
    return {**{name: getattr(message, name) for name in _AIR},
            'wind_north': wind.y, 'wind_east': wind.x, 'wind_down': -wind.z}


def _read_airframe(message: Any) -> dict[str, float]:
    turning, gusts = message.angular_acceleration, message.turbulence
    return {**{name: getattr(message, name) for name in _PLAIN_AIRFRAME},
            'roll_acceleration': turning.x, 'pitch_acceleration': -turning.y,
            'yaw_acceleration': -turning.z, 'turbulence_north': gusts.y,
            'turbulence_east': gusts.x, 'turbulence_down': -gusts.z}


# Topic, below the vehicle's namespace -> quantities in its messages, in SI units and radians.
EXTRACT: Mapping[str, Callable[[Any], dict[str, float]]] = {
    'fix': _read_fix,
    'imu/data': _read_imu,
    'odom': _read_odom,
    'air_data': _read_air_data,
    'controls': _read_controls,
    'command/controls': _read_command,
    TARGET: _read_target,
    ORDERED: _read_target,
    RELAYED: _read_command,
    CONTACTS_TOPIC: _read_contacts,
}

# The same, of what only a recording is asked for.
MORE: Mapping[str, Callable[[Any], dict[str, float]]] = {
    'imu/data': _force,
    'odom': _movement,
    'air_data': _air,
    AIRFRAME_TOPIC: _read_airframe,
}


def is_release(message: Any) -> bool:
    """Return whether a target ends what was held."""
    return bool(getattr(message, 'fields', 0) & getattr(message, 'RELEASE', 0))


def read_stamp(message: Any) -> float:
    """Return the stamp of a message's header in seconds."""
    stamp = message.header.stamp
    return float(stamp.sec + stamp.nanosec * 1e-9)
