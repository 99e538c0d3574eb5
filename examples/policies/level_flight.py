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
Hold altitude, heading and airspeed of a Cessna 172P in level flight: a proportional policy.

    experiment --policy examples/policies/level_flight.py:policy --sim core

It has no memory, so it does not hold its targets exactly. docs/reference/policies.md says how it
is flown.
"""

from math import asin, atan2, pi, remainder, tau


def policy(observation):
    """Return elevator, aileron, rudder and throttle for the fields below, in their order."""
    (x, y, z, w, roll_rate, left_rate, yaw_rate, altitude, indicated, true,
     wanted_altitude, wanted_heading, wanted_airspeed) = observation
    roll = atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = -asin(limited(2 * (w * y - z * x)))
    heading = pi / 2 - atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    # What a simulator does not report is 0.
    slow = wanted_airspeed - (indicated or true)
    bank = limited(1.6 * remainder(wanted_heading - heading, tau), 0.4)
    climb = limited(0.01 * (wanted_altitude - altitude), 0.15)
    return (
        2.0 * (climb + 0.02 - pitch) + 0.5 * left_rate,
        0.9 * (bank - roll) - 0.25 * roll_rate,
        0.5 * yaw_rate,
        0.75 + 0.2 * slow)


policy.fields = (
    'imu/data.orientation.x', 'imu/data.orientation.y', 'imu/data.orientation.z',
    'imu/data.orientation.w', 'imu/data.angular_velocity.x', 'imu/data.angular_velocity.y',
    'imu/data.angular_velocity.z', 'fix.altitude', 'air_data.indicated_airspeed',
    'air_data.true_airspeed', 'target.altitude', 'target.true_heading', 'target.airspeed')


def limited(value, limit=1.0):
    """Return a value within -limit..limit."""
    return max(-limit, min(limit, value))
