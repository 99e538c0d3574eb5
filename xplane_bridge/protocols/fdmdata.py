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
measured). Everything is big-endian. Data are pulled: a one-byte request to the data port brings
one reply. Controls go to a port of their own and are never answered.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
import enum
import struct
from typing import ClassVar

from xplane_bridge.protocols.errors import ProtocolError

DATA_PORT = 10300
CONTROLS_PORT = 10301

_OK = 0x00
_ERROR = 0xFF
_CONTROLS = struct.Struct('>4f')  # the document's "12-16" for the throttle is 12-15


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
class Request:
    """Ask for one sensor's data."""

    tag: ClassVar[str] = 'request'

    command: Command


@dataclass(frozen=True, slots=True)
class Gps:
    """
    Position over the ground (22 bytes).

    latitude and longitude in degrees: the latitude of the measured Huginn is geocentric.
    altitude in m above sea level, airspeed the true airspeed in m/s, heading true in degrees,
    0..360.
    """

    tag: ClassVar[str] = 'gps'
    command: ClassVar[Command] = Command.GPS

    latitude: float
    longitude: float
    altitude: float
    airspeed: float
    heading: float


@dataclass(frozen=True, slots=True)
class Accelerometer:
    """Specific force at the pilot's eye in m/s2, axes forward, right, down (14 bytes)."""

    tag: ClassVar[str] = 'accelerometer'
    command: ClassVar[Command] = Command.ACCELEROMETER

    x: float
    y: float
    z: float


@dataclass(frozen=True, slots=True)
class Gyroscope:
    """Body rates in degrees/s about forward, right, down (14 bytes)."""

    tag: ClassVar[str] = 'gyroscope'
    command: ClassVar[Command] = Command.GYROSCOPE

    roll_rate: float
    pitch_rate: float
    yaw_rate: float


@dataclass(frozen=True, slots=True)
class Magnetometer:
    """Not implemented by Huginn: three zeros (14 bytes)."""

    tag: ClassVar[str] = 'magnetometer'
    command: ClassVar[Command] = Command.MAGNETOMETER

    x: float
    y: float
    z: float


@dataclass(frozen=True, slots=True)
class Thermometer:
    """Air temperature: Celsius in the document, kelvin from the measured Huginn (6 bytes)."""

    tag: ClassVar[str] = 'thermometer'
    command: ClassVar[Command] = Command.THERMOMETER

    temperature: float


@dataclass(frozen=True, slots=True)
class PitotTube:
    """Pressure in Pa: the measured Huginn sends dynamic, not total, pressure (6 bytes)."""

    tag: ClassVar[str] = 'pitot_tube'
    command: ClassVar[Command] = Command.PITOT_TUBE

    pressure: float


@dataclass(frozen=True, slots=True)
class StaticPressure:
    """Ambient static pressure in Pa (6 bytes)."""

    tag: ClassVar[str] = 'static_pressure'
    command: ClassVar[Command] = Command.STATIC_PRESSURE

    pressure: float


@dataclass(frozen=True, slots=True)
class Ins:
    """
    Attitude and position (30 bytes).

    Angles in degrees, roll positive right wing down, pitch positive nose up, heading true;
    airspeed in m/s comes before altitude in m here, the reverse of the GPS reply.
    """

    tag: ClassVar[str] = 'ins'
    command: ClassVar[Command] = Command.INS

    roll: float
    pitch: float
    heading: float
    latitude: float
    longitude: float
    airspeed: float
    altitude: float


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """
    The refusal of a request: the single byte 0xFF, without the command.

    Huginn sends it for an unknown command and for any data datagram that is not one byte long.
    """

    tag: ClassVar[str] = 'error'


@dataclass(frozen=True, slots=True)
class Controls:
    """
    Positions of the controls (16 bytes), held by Huginn until the next datagram.

    aileron positive rolls right, elevator positive pitches down, rudder positive yaws left, each
    -1..1; throttle 0..1 (the document says -1..1, Huginn makes 0 of what is negative).
    """

    tag: ClassVar[str] = 'controls'

    aileron: float
    elevator: float
    rudder: float
    throttle: float


SensorReply = (
    Gps
    | Accelerometer
    | Gyroscope
    | Magnetometer
    | Thermometer
    | PitotTube
    | StaticPressure
    | Ins
)
Reply = SensorReply | ErrorReply
Message = Request | Reply | Controls

REQUEST_CLASSES: dict[str, type[Request | Controls]] = {
    kind.tag: kind for kind in (Request, Controls)
}
REPLY_CLASSES: dict[str, type[Reply]] = {
    kind.tag: kind
    for kind in (
        Gps,
        Accelerometer,
        Gyroscope,
        Magnetometer,
        Thermometer,
        PitotTube,
        StaticPressure,
        Ins,
        ErrorReply,
    )
}


@dataclass(frozen=True, slots=True)
class _Layout:
    """What follows the response code and the command: one float32 a field, in field order."""

    make: Callable[..., SensorReply]
    names: tuple[str, ...]
    body: struct.Struct

    @classmethod
    def of(cls, reply: type[SensorReply]) -> '_Layout':
        names = tuple(field.name for field in fields(reply))
        return cls(reply, names, struct.Struct(f'>2x{len(names)}f'))


_LAYOUTS: dict[int, _Layout] = {
    reply.command: _Layout.of(reply)
    for reply in (
        Gps,
        Accelerometer,
        Gyroscope,
        Magnetometer,
        Thermometer,
        PitotTube,
        StaticPressure,
        Ins,
    )
}


def decode_request(data: bytes | bytearray | memoryview) -> Request:
    """
    Decode a datagram that came to the data port.

    Raises ProtocolError for anything but one byte 0x00..0x07: what Huginn answers with 0xFF.
    """
    if len(data) != 1:
        raise ProtocolError(f'request: {len(data)} bytes, expected 1')
    if data[0] not in _LAYOUTS:
        raise ProtocolError(f'request: unknown command 0x{data[0]:02x}, expected 0x00 to 0x07')
    return Request(Command(data[0]))


def decode_reply(data: bytes | bytearray | memoryview) -> Reply:
    """
    Decode a datagram that came from the data port.

    Values are passed on as they stand, NaN included: a Huginn that was once sent a NaN answers
    with nothing else. Raises ProtocolError for another response code, an unknown command or a
    length that is not the command's.
    """
    if len(data) == 0:
        raise ProtocolError('reply: empty datagram')
    if data[0] == _ERROR and len(data) == 1:
        return ErrorReply()
    if data[0] != _OK:
        raise ProtocolError(
            f'reply: response code 0x{data[0]:02x} in {len(data)} bytes, '
            'expected 0x00 or the single byte 0xff'
        )
    if len(data) < 2:
        raise ProtocolError('reply: 0 bytes left at offset 1, need the command')
    layout = _LAYOUTS.get(data[1])
    if layout is None:
        raise ProtocolError(f'reply: unknown command 0x{data[1]:02x}, expected 0x00 to 0x07')
    if len(data) != layout.body.size:
        raise ProtocolError(
            f'reply to command 0x{data[1]:02x}: {len(data)} bytes, expected {layout.body.size}'
        )
    return layout.make(*layout.body.unpack(data))


def decode_controls(data: bytes | bytearray | memoryview) -> Controls:
    """
    Decode a datagram that came to the controls port.

    Values are neither clamped nor refused here: what Huginn does with those out of range is the
    aircraft's affair. Raises ProtocolError unless there are 16 bytes; Huginn drops such datagrams
    without a reply.
    """
    if len(data) != _CONTROLS.size:
        raise ProtocolError(f'controls: {len(data)} bytes, expected {_CONTROLS.size}')
    return Controls(*_CONTROLS.unpack(data))


def encode(message: Message) -> bytes:
    """
    Encode any FDMData message.

    Raises ValueError for an unknown command, for controls that are not finite or out of range
    (NaN goes unclamped into Huginn's flight model and stays there: docs/wire/fdmdata.md, section
    3), and for a reply's value that float32 cannot hold. A reply may carry NaN, as Huginn's do.
    """
    if isinstance(message, Request):
        return bytes((Command(message.command),))
    if isinstance(message, ErrorReply):
        return bytes((_ERROR,))
    if isinstance(message, Controls):
        return _encode_controls(message)
    layout = _LAYOUTS[message.command]
    reply = bytearray(layout.body.size)
    try:
        layout.body.pack_into(reply, 0, *(getattr(message, name) for name in layout.names))
    except OverflowError:
        raise ValueError(f'{message}: a value is too large for float32') from None
    except struct.error as error:
        raise TypeError(f'{message}: {error}') from None
    reply[:2] = _OK, message.command
    return bytes(reply)


def _encode_controls(controls: Controls) -> bytes:
    for name, low in (('aileron', -1.0), ('elevator', -1.0), ('rudder', -1.0), ('throttle', 0.0)):
        value = getattr(controls, name)
        if not low <= value <= 1.0:  # False for NaN, too
            raise ValueError(f'{name} is {value}, expected {low:g} to 1')
    return _CONTROLS.pack(
        controls.aileron, controls.elevator, controls.rudder, controls.throttle
    )
