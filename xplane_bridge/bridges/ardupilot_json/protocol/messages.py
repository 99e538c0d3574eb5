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
Messages of ArduPilot's JSON interface: SITL sends servo outputs, the physics a line of JSON.

Sources: docs/wire/ardupilot_json.md. The physics is the peer, which answers at its port.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xplane_bridge.bridges.protocols.base import Message, messages
from xplane_bridge.bridges.protocols.registry import PORTS

PORT = PORTS['ardupilot_json']
"""UDP port at which SITL expects the physics."""

Vector = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Servos(Message):
    """
    Servo outputs of one frame.

    rate is in frames per second, 1..65535; count is the number of the frame, 0 after SITL starts;
    pwm has 16 or 32 pulse widths in microseconds, 0 for no signal.
    """

    tag: ClassVar[str] = 'servos'

    rate: int
    count: int
    pwm: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Report(Message):
    """
    What the physics answers with: SI, radians, body axes FRD, world axes NED; None is not given.

    timestamp is the simulated time; accel_body the specific force; position is relative to the
    start's place on the ground; latitude and longitude are in degrees, altitude is above mean sea
    level; attitude is roll, pitch, yaw, and the quaternion (w, x, y, z) counts before it. airspeed
    is equivalent; velocity_wind is that of the air; wind_direction is that of the apparent wind, 0
    from ahead and positive from the right. rng_1 is the distance to the ground along the body's
    down. no_time_sync tells SITL to keep its own time, no_lockstep not to wait.
    """

    tag: ClassVar[str] = 'report'

    timestamp: float
    gyro: Vector
    accel_body: Vector
    velocity: Vector
    position: Vector | None = None
    attitude: Vector | None = None
    quaternion: tuple[float, float, float, float] | None = None
    latitude: float | None = None
    longitude: float | None = None
    altitude: float | None = None
    airspeed: float | None = None
    wind_direction: float | None = None
    wind_speed: float | None = None
    rng_1: float | None = None
    no_lockstep: bool = False
    no_time_sync: bool = False
    velocity_wind: Vector | None = None


MESSAGES = messages(bridge=(Servos,), peer=(Report,))
