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
KerbalSimpit serial protocol: two framings, four profiles, every channel of both ends.

A session creates a decoder for its profile's framing, feeds it what the port receives, and calls
decode() on each packet; encode() does the reverse.
"""

from xplane_bridge.bridges.protocols.base import Sender
from xplane_bridge.bridges.simpit.protocol.axes import (
    AXES,
    Axes,
    axis_message,
    axis_messages,
    axis_values,
    THROTTLE,
)
from xplane_bridge.bridges.simpit.protocol.channels import (
    Channel,
    MESSAGES,
    Profile,
    PROFILES,
    RESERVED_CHANNELS,
    Sent,
)
from xplane_bridge.bridges.simpit.protocol.codec import (
    decode,
    encode,
    encode_packet,
    WARPS_UNTIL_2_3,
)
from xplane_bridge.bridges.simpit.protocol.commands import (
    ActionGroups,
    AutopilotMode,
    CAMERA_MODES,
    CameraMode,
    CameraRotation,
    CameraTranslation,
    ClosePort,
    CustomActionGroups,
    CustomAxes,
    Deregister,
    GroupSetting,
    Keyboard,
    KeyModifiers,
    Log,
    LogFlags,
    NavballMode,
    Register,
    RequestMessage,
    SasMode,
    SetActionGroup,
    StageEvent,
    TimeWarp,
    TimeWarpTo,
    WarpCommand,
    WarpInstant,
)
from xplane_bridge.bridges.simpit.protocol.dialect import Dialect
from xplane_bridge.bridges.simpit.protocol.framing import (
    Aa50Decoder,
    CobsDecoder,
    Decoder,
    encode_frame,
    FRAME_OVERHEAD,
    Framing,
    FramingCounters,
    make_decoder,
    MAX_CHANNEL,
    MAX_PAYLOAD,
    Packet,
)
from xplane_bridge.bridges.simpit.protocol.messages import (
    ActionGroup,
    AGX_CUSTOM_GROUPS,
    EchoRequest,
    EchoResponse,
    Handshake,
    HandshakeType,
    KSP1_ID,
    KSP2_ID,
    Rotation,
    STOCK_CUSTOM_GROUPS,
    Throttle,
    Translation,
    Verb,
    Wheel,
)
from xplane_bridge.bridges.simpit.protocol.payloads import SimpitMessage
from xplane_bridge.bridges.simpit.protocol.status import (
    ActionStatus,
    AdvancedActionStatus,
    CustomActionGroupStatus,
    CustomResources,
    FlightFlags,
    FlightStatus,
    GroupState,
    Resource,
    SasInfo,
    SceneChange,
    SphereOfInfluence,
    TacResources,
    TacWaste,
    VesselChange,
    VesselName,
)
from xplane_bridge.bridges.simpit.protocol.telemetry import (
    Airspeed,
    Altitude,
    Apsides,
    ApsidesTime,
    Atmosphere,
    AtmosphereFlags,
    Attitude,
    BurnTime,
    DeltaV,
    DeltaVEnvironment,
    Intersects,
    ManoeuvreInfo,
    Orbit,
    TargetInfo,
    Temperature,
    Velocities,
)

__all__ = [
    'Aa50Decoder', 'ActionGroup', 'ActionGroups', 'ActionStatus', 'AdvancedActionStatus',
    'AGX_CUSTOM_GROUPS', 'Airspeed', 'Altitude', 'Apsides', 'ApsidesTime', 'Atmosphere',
    'AtmosphereFlags', 'Attitude', 'AutopilotMode', 'AXES', 'Axes', 'axis_message',
    'axis_messages', 'axis_values', 'BurnTime', 'CAMERA_MODES', 'CameraMode', 'CameraRotation',
    'CameraTranslation', 'Channel', 'ClosePort', 'CobsDecoder', 'FramingCounters',
    'CustomActionGroups',
    'CustomActionGroupStatus', 'CustomAxes', 'CustomResources', 'decode', 'Decoder', 'DeltaV',
    'DeltaVEnvironment', 'Deregister', 'Dialect', 'EchoRequest', 'EchoResponse', 'encode',
    'encode_frame', 'encode_packet', 'FlightFlags', 'FlightStatus', 'FRAME_OVERHEAD', 'Framing',
    'GroupSetting', 'GroupState', 'Handshake', 'HandshakeType', 'Intersects', 'Keyboard',
    'KeyModifiers', 'KSP1_ID', 'KSP2_ID', 'Log', 'LogFlags', 'make_decoder', 'ManoeuvreInfo',
    'MAX_CHANNEL', 'MAX_PAYLOAD', 'SimpitMessage', 'MESSAGES', 'NavballMode', 'Orbit', 'Packet',
    'Profile', 'PROFILES', 'Register', 'RequestMessage', 'RESERVED_CHANNELS', 'Resource',
    'Rotation', 'SasInfo', 'SasMode', 'SceneChange', 'Sender', 'Sent', 'SetActionGroup',
    'SphereOfInfluence', 'StageEvent', 'STOCK_CUSTOM_GROUPS', 'TacResources', 'TacWaste',
    'TargetInfo',
    'Temperature', 'THROTTLE', 'Throttle', 'TimeWarp', 'TimeWarpTo', 'Translation', 'Velocities',
    'Verb', 'VesselChange', 'VesselName', 'WarpCommand', 'WarpInstant', 'WARPS_UNTIL_2_3', 'Wheel']
