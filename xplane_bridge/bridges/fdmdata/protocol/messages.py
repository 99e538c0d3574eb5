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
FDMData, the datagrams of the Huginn flight simulator: sensors out, controls in.

Sources: the FDMData protocol document and docs/wire/fdmdata.md (Huginn at commit 5a89099,
measured). Everything is big-endian. Data are polled: a one-byte request to the data port brings
one reply. Controls go to a separate port and are never answered.
"""

from collections.abc import Callable
from dataclasses import dataclass
import enum
from operator import attrgetter
from typing import Any, ClassVar, TYPE_CHECKING, TypeAlias

from xplane_bridge.bridges.protocols.base import any_float32, float32, Message, messages
from xplane_bridge.bridges.protocols.registry import PORTS

DATA_PORT = PORTS['fdmdata']
CONTROLS_PORT = 10301


class Command(enum.IntEnum):
    """The request byte, echoed in the reply (protocol document, table of command codes)."""

    GPS = 0
    ACCELEROMETER = 1
    GYROSCOPE = 2
    MAGNETOMETER = 3
    THERMOMETER = 4
    PITOT_TUBE = 5
    STATIC_PRESSURE = 6
    INS = 7


@dataclass(frozen=True, slots=True)
class SensorRequest(Message):
    """Request one sensor's data."""

    tag: ClassVar[str] = 'request'

    command: Command


class SensorReply(Message):
    """Base of the sensor replies: after two bytes, one float32 per field."""

    __slots__: tuple[str, ...] = ()

    command: ClassVar[Command]

    if TYPE_CHECKING:
        @property
        def values(self) -> tuple[float, ...]:
            """Return the values of all fields in order."""


@dataclass(frozen=True, slots=True)
class GpsReply(SensorReply):
    """
    Position over the ground (22 bytes).

    latitude and longitude in degrees; the measured Huginn sends a geocentric latitude. altitude in
    m above sea level, airspeed is true airspeed in m/s, heading is true, in degrees, 0..360.
    """

    tag: ClassVar[str] = 'gps'
    command: ClassVar[Command] = Command.GPS

    latitude: float = any_float32()
    longitude: float = any_float32()
    altitude: float = any_float32()
    airspeed: float = any_float32()
    heading: float = any_float32()


@dataclass(frozen=True, slots=True)
class AccelerometerReply(SensorReply):
    """Specific force at the pilot's eye in m/s2, axes forward, right, down (14 bytes)."""

    tag: ClassVar[str] = 'accelerometer'
    command: ClassVar[Command] = Command.ACCELEROMETER

    x: float = any_float32()
    y: float = any_float32()
    z: float = any_float32()


@dataclass(frozen=True, slots=True)
class GyroscopeReply(SensorReply):
    """Body rates in degrees/s about forward, right, down (14 bytes)."""

    tag: ClassVar[str] = 'gyroscope'
    command: ClassVar[Command] = Command.GYROSCOPE

    roll_rate: float = any_float32()
    pitch_rate: float = any_float32()
    yaw_rate: float = any_float32()


@dataclass(frozen=True, slots=True)
class MagnetometerReply(SensorReply):
    """Not implemented by Huginn: three zeros (14 bytes)."""

    tag: ClassVar[str] = 'magnetometer'
    command: ClassVar[Command] = Command.MAGNETOMETER

    x: float = any_float32()
    y: float = any_float32()
    z: float = any_float32()


@dataclass(frozen=True, slots=True)
class ThermometerReply(SensorReply):
    """Air temperature: Celsius in the document, kelvin from the measured Huginn (6 bytes)."""

    tag: ClassVar[str] = 'thermometer'
    command: ClassVar[Command] = Command.THERMOMETER

    temperature: float = any_float32()


@dataclass(frozen=True, slots=True)
class PitotTubeReply(SensorReply):
    """Pressure in Pa: the measured Huginn sends dynamic, not total, pressure (6 bytes)."""

    tag: ClassVar[str] = 'pitot_tube'
    command: ClassVar[Command] = Command.PITOT_TUBE

    pressure: float = any_float32()


@dataclass(frozen=True, slots=True)
class StaticPressureReply(SensorReply):
    """Ambient static pressure in Pa (6 bytes)."""

    tag: ClassVar[str] = 'static_pressure'
    command: ClassVar[Command] = Command.STATIC_PRESSURE

    pressure: float = any_float32()


@dataclass(frozen=True, slots=True)
class InsReply(SensorReply):
    """
    Attitude and position (30 bytes).

    Angles in degrees, roll positive right wing down, pitch positive nose up, heading true. Here
    airspeed in m/s comes before altitude in m, the reverse of the GPS reply.
    """

    tag: ClassVar[str] = 'ins'
    command: ClassVar[Command] = Command.INS

    roll: float = any_float32()
    pitch: float = any_float32()
    heading: float = any_float32()
    latitude: float = any_float32()
    longitude: float = any_float32()
    airspeed: float = any_float32()
    altitude: float = any_float32()


@dataclass(frozen=True, slots=True)
class ErrorReply(Message):
    """
    Refusal of a request: the single byte 0xFF, without the command.

    Huginn sends it for an unknown command and for any data datagram that is not one byte long.
    """

    tag: ClassVar[str] = 'error'


@dataclass(frozen=True, slots=True)
class ControlPositions(Message):
    """
    Control positions (16 bytes), held by Huginn until the next datagram.

    aileron positive rolls right, elevator positive pitches down, rudder positive yaws left, each
    -1..1; throttle 0..1 (the document says -1..1, but Huginn clamps negative values to 0).
    """

    tag: ClassVar[str] = 'controls'

    aileron: float = float32(-1.0, 1.0)
    elevator: float = float32(-1.0, 1.0)
    rudder: float = float32(-1.0, 1.0)
    throttle: float = float32(0.0, 1.0)


SENSOR_REPLIES: tuple[type[SensorReply], ...] = (
    GpsReply, AccelerometerReply, GyroscopeReply, MagnetometerReply, ThermometerReply,
    PitotTubeReply, StaticPressureReply, InsReply)

Reply: TypeAlias = SensorReply | ErrorReply


def _reader(kind: type[SensorReply]) -> Callable[[Any], tuple[float, ...]]:
    every: Callable[[Any], Any] = attrgetter(*kind.__slots__)
    return every if len(kind.__slots__) > 1 else lambda reply: (every(reply),)


# Some hundred times per second: all of a reply at once, mostly without a function of Python.
for _kind in SENSOR_REPLIES:
    _kind.values = property(_reader(_kind))  # type: ignore[method-assign, assignment]

MESSAGES = messages(bridge=(SensorRequest, ControlPositions), peer=(*SENSOR_REPLIES, ErrorReply))
