"""FDMData, the protocol of the Huginn flight simulator."""

from xplane_bridge.protocols.fdmdata.codec import decode, encode
from xplane_bridge.protocols.fdmdata.messages import (
    Accelerometer,
    Command,
    Controls,
    CONTROLS_PORT,
    DATA_PORT,
    ErrorReply,
    Gps,
    Gyroscope,
    Ins,
    Magnetometer,
    MESSAGES,
    PitotTube,
    Reply,
    Request,
    SENSOR_REPLIES,
    SensorReply,
    StaticPressure,
    Thermometer,
)

__all__ = [
    'Accelerometer', 'Command', 'Controls', 'CONTROLS_PORT', 'DATA_PORT', 'decode', 'encode',
    'ErrorReply', 'Gps', 'Gyroscope', 'Ins', 'Magnetometer', 'MESSAGES', 'PitotTube', 'Reply',
    'Request', 'SENSOR_REPLIES', 'SensorReply', 'StaticPressure', 'Thermometer']
