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
What a KerbalSimpit plugin sends to a device (docs/wire/simpit.md, sections 2.7, 3.1 and 4).

Channel numbers and cadence of each profile are in channels.py.
"""

from dataclasses import dataclass
from enum import IntEnum, IntFlag
import struct
from typing import ClassVar

from xplane_bridge.protocols.simpit.payloads import (
    ActionGroup,
    Message,
    StructMessage,
    TextMessage,
)

_TWO_FLOATS = struct.Struct('<2f')
_FOUR_FLOATS = struct.Struct('<4f')
_SIX_FLOATS = struct.Struct('<6f')
_EIGHT_FLOATS = struct.Struct('<8f')


class FlightFlags(IntFlag):
    """Bits of FlightStatus.flags; the two control level bits make a number of 0 to 3."""

    IN_FLIGHT = 1
    EVA = 2
    RECOVERABLE = 4
    PHYSICAL_WARP = 8
    CONTROL_LEVEL_LOW = 16
    CONTROL_LEVEL_HIGH = 32
    HAS_TARGET = 64


class AtmosphereFlags(IntFlag):
    """Bits of Atmosphere.flags."""

    HAS_ATMOSPHERE = 1
    HAS_OXYGEN = 2
    VESSEL_INSIDE = 4


class GroupState(IntEnum):
    """State of one action group of KSP2."""

    UNAVAILABLE = 0
    ON = 1
    OFF = 2
    MIXED = 3


@dataclass(frozen=True, slots=True)
class SceneChange(Message):
    """
    The flight scene is ready (scene 0) or about to be left (1).

    One byte in the documents, a 32-bit number from every plugin that ever sent it; both are
    understood, four bytes are made.
    """

    tag: ClassVar[str] = 'scene_change'
    sizes: ClassVar = (1, 4)

    scene: int

    @classmethod
    def from_payload(cls, name: str, payload: bytes) -> 'SceneChange':
        """Return the message in 1 or 4 bytes."""
        return cls(int.from_bytes(payload, 'little', signed=len(payload) == 4))

    def to_payload(self) -> bytes:
        """Return the payload."""
        if self.scene not in (0, 1):
            raise ValueError(f'scene is {self.scene}, must be 0 (flight) or 1 (leaving it)')
        return struct.pack('<i', self.scene)


@dataclass(frozen=True, slots=True)
class Altitude(StructMessage):
    """Height above the body's sea level, and above the ground (radar altitude), metres."""

    tag: ClassVar[str] = 'altitude'
    layouts: ClassVar = (_TWO_FLOATS,)
    sizes: ClassVar = (8,)

    sea_level_m: float
    surface_m: float


@dataclass(frozen=True, slots=True)
class Apsides(StructMessage):
    """Heights of periapsis and apoapsis, metres."""

    tag: ClassVar[str] = 'apsides'
    layouts: ClassVar = (_TWO_FLOATS,)
    sizes: ClassVar = (8,)

    periapsis_m: float
    apoapsis_m: float


@dataclass(frozen=True, slots=True)
class ApsidesTime(StructMessage):
    """Time to periapsis and apoapsis, whole seconds, cut toward 0; negative when behind."""

    tag: ClassVar[str] = 'apsides_time'
    layouts: ClassVar = (struct.Struct('<2i'),)
    sizes: ClassVar = (8,)

    periapsis_s: int
    apoapsis_s: int


@dataclass(frozen=True, slots=True)
class Resource(Message):
    """
    Capacity and content of one resource, in the game's units of it.

    resource is the channel's name: liquid_fuel (methane in KSP2), oxidizer, ore...; a name
    ending in _stage counts the current stage only. KSP1 needs the mod Alternate Resource Panel.
    """

    tag: ClassVar[str] = 'resource'
    sizes: ClassVar = (8,)

    resource: str
    maximum: float
    available: float

    @property
    def channel(self) -> str:
        """Return the name of the channel that carries this message."""
        return self.resource

    @classmethod
    def from_payload(cls, name: str, payload: bytes) -> 'Resource':
        """Return the message in 8 bytes that came on channel ``name``."""
        return cls(name, *_TWO_FLOATS.unpack(payload))

    def to_payload(self) -> bytes:
        """Return the payload."""
        return _pack_floats(_TWO_FLOATS, self, self.maximum, self.available)


@dataclass(frozen=True, slots=True)
class TacResources(StructMessage):
    """Supplies of the mod TAC Life Support: current before maximum, in its units."""

    tag: ClassVar[str] = 'tac_resources'
    layouts: ClassVar = (_SIX_FLOATS,)
    sizes: ClassVar = (24,)

    food: float
    food_maximum: float
    water: float
    water_maximum: float
    oxygen: float
    oxygen_maximum: float


@dataclass(frozen=True, slots=True)
class TacWaste(StructMessage):
    """Waste of the mod TAC Life Support: current before maximum, in its units."""

    tag: ClassVar[str] = 'tac_waste'
    layouts: ClassVar = (_SIX_FLOATS,)
    sizes: ClassVar = (24,)

    waste: float
    waste_maximum: float
    liquid_waste: float
    liquid_waste_maximum: float
    carbon_dioxide: float
    carbon_dioxide_maximum: float


@dataclass(frozen=True, slots=True)
class CustomResources(Message):
    """
    Four resources that the plugin's configuration chose, current before maximum.

    bank is 1 or 2: channels custom_resources_1 and custom_resources_2. values are eight floats
    in the resources' units: current and maximum of the first, of the second...
    """

    tag: ClassVar[str] = 'custom_resources'
    sizes: ClassVar = (32,)

    bank: int
    values: tuple[float, ...]

    @property
    def channel(self) -> str:
        """Return the name of the channel that carries this message."""
        return f'custom_resources_{self.bank}'

    @classmethod
    def from_payload(cls, name: str, payload: bytes) -> 'CustomResources':
        """Return the message in 32 bytes that came on channel ``name``."""
        return cls(int(name[-1]), _EIGHT_FLOATS.unpack(payload))

    def to_payload(self) -> bytes:
        """Return the payload."""
        return _pack_floats(_EIGHT_FLOATS, self, *self.values)


@dataclass(frozen=True, slots=True)
class Velocities(StructMessage):
    """Orbital speed, speed over the surface and vertical speed (up positive), m/s."""

    tag: ClassVar[str] = 'velocities'
    layouts: ClassVar = (struct.Struct('<3f'),)
    sizes: ClassVar = (12,)

    orbital_mps: float
    surface_mps: float
    vertical_mps: float


@dataclass(frozen=True, slots=True)
class Airspeed(StructMessage):
    """Indicated airspeed m/s, Mach number, and from 2.2 on the load in standard gravities."""

    tag: ClassVar[str] = 'airspeed'
    layouts: ClassVar = (_TWO_FLOATS, struct.Struct('<3f'))
    sizes: ClassVar = (8, 12)

    ias_mps: float
    mach: float
    g_force: float | None = None


@dataclass(frozen=True, slots=True)
class ActionStatus(Message):
    """Standard action groups that are on."""

    tag: ClassVar[str] = 'action_status'
    sizes: ClassVar = (1,)

    action_bits: ActionGroup

    @classmethod
    def from_payload(cls, name: str, payload: bytes) -> 'ActionStatus':
        """Return the message in 1 byte."""
        return cls(ActionGroup(payload[0]))

    def to_payload(self) -> bytes:
        """Return the payload."""
        if not 0 <= self.action_bits <= 0x7f:
            raise ValueError(f'action_bits is {int(self.action_bits)}, must be 0..127')
        return bytes((self.action_bits,))


@dataclass(frozen=True, slots=True)
class CustomActionGroupStatus(Message):
    """Numbers (0..255) of the custom action groups that are on, in ascending order."""

    tag: ClassVar[str] = 'custom_action_group_status'
    sizes: ClassVar = (32,)

    active: tuple[int, ...]

    @classmethod
    def from_payload(cls, name: str, payload: bytes) -> 'CustomActionGroupStatus':
        """Return the message in 32 bytes: group n is bit n % 8 of byte n // 8."""
        bits = int.from_bytes(payload, 'little')
        return cls(tuple(n for n in range(256) if bits >> n & 1) if bits else ())

    def to_payload(self) -> bytes:
        """Return the payload."""
        if not all(0 <= number <= 255 for number in self.active):
            raise ValueError(f'{self}: custom action groups are 0..255')
        bits = 0
        for number in self.active:
            bits |= 1 << number
        return bits.to_bytes(32, 'little')


@dataclass(frozen=True, slots=True)
class Target(StructMessage):
    """
    The vessel's target: distance in metres, speed relative to it in m/s.

    From 2.1 on also heading and pitch to the target, and of the velocity relative to it, all in
    degrees; None before.
    """

    tag: ClassVar[str] = 'target'
    layouts: ClassVar = (_TWO_FLOATS, _SIX_FLOATS)
    sizes: ClassVar = (8, 24)

    distance_m: float
    speed_mps: float
    heading_deg: float | None = None
    pitch_deg: float | None = None
    velocity_heading_deg: float | None = None
    velocity_pitch_deg: float | None = None


@dataclass(frozen=True, slots=True)
class SphereOfInfluence(TextMessage):
    """Name of the body in whose sphere of influence the vessel is, 1..32 ASCII characters."""

    tag: ClassVar[str] = 'sphere_of_influence'

    text: str


@dataclass(frozen=True, slots=True)
class Manoeuvre(StructMessage):
    """
    The next manoeuvre: time to it s, its velocity change m/s, burn s; then of all of them m/s.

    From 2.1 on also its heading and pitch in degrees; None before.
    """

    tag: ClassVar[str] = 'manoeuvre'
    layouts: ClassVar = (_FOUR_FLOATS, _SIX_FLOATS)
    sizes: ClassVar = (16, 24)

    time_to_next_s: float
    dv_next_mps: float
    duration_next_s: float
    dv_total_mps: float
    heading_deg: float | None = None
    pitch_deg: float | None = None


@dataclass(frozen=True, slots=True)
class SasInfo(StructMessage):
    """SAS mode 0..9 as in SasMode, 255 for off; available has bit 1 << mode for each mode."""

    tag: ClassVar[str] = 'sas_info'
    layouts: ClassVar = (struct.Struct('<BH'),)
    sizes: ClassVar = (3,)

    mode: int
    available: int


@dataclass(frozen=True, slots=True)
class Orbit(StructMessage):
    """
    Orbital elements: semi-major axis in metres, angles in degrees, period in seconds.

    The two anomalies come in the game interface's own unit, believed to be radians.
    """

    tag: ClassVar[str] = 'orbit'
    layouts: ClassVar = (_EIGHT_FLOATS,)
    sizes: ClassVar = (32,)

    eccentricity: float
    semi_major_m: float
    inclination_deg: float
    lan_deg: float
    arg_pe_deg: float
    true_anomaly: float
    mean_anomaly: float
    period_s: float


@dataclass(frozen=True, slots=True)
class DeltaV(StructMessage):
    """Velocity change left in the current stage and in all of them, m/s."""

    tag: ClassVar[str] = 'delta_v'
    layouts: ClassVar = (_TWO_FLOATS,)
    sizes: ClassVar = (8,)

    stage_dv_mps: float
    total_dv_mps: float


@dataclass(frozen=True, slots=True)
class DeltaVEnvironment(StructMessage):
    """Velocity change left, stage and total, at sea level and in vacuum, m/s."""

    tag: ClassVar[str] = 'delta_v_environment'
    layouts: ClassVar = (_FOUR_FLOATS,)
    sizes: ClassVar = (16,)

    stage_dv_asl: float
    total_dv_asl: float
    stage_dv_vac: float
    total_dv_vac: float


@dataclass(frozen=True, slots=True)
class BurnTime(StructMessage):
    """Burn time left in the current stage and in all of them, seconds."""

    tag: ClassVar[str] = 'burn_time'
    layouts: ClassVar = (_TWO_FLOATS,)
    sizes: ClassVar = (8,)

    stage_burn_s: float
    total_burn_s: float


@dataclass(frozen=True, slots=True)
class Temperature(StructMessage):
    """Hottest part and hottest skin, in percent of what they bear, capped at 255."""

    tag: ClassVar[str] = 'temperature'
    layouts: ClassVar = (struct.Struct('<2B'),)
    sizes: ClassVar = (2,)

    temp_pct: int
    skin_temp_pct: int


@dataclass(frozen=True, slots=True)
class FlightStatus(StructMessage):
    """
    State of the flight, every field 0..255.

    flags are FlightFlags; situation and vessel_type are the game's own numbers; warp_index is
    the index of the time warp rate; comm_pct the signal strength in percent. stage and
    vessel_type came with 2.1 and are None before.
    """

    tag: ClassVar[str] = 'flight_status'
    layouts: ClassVar = (struct.Struct('<6B'), struct.Struct('<8B'))
    sizes: ClassVar = (6, 8)

    flags: int
    situation: int
    warp_index: int
    crew_capacity: int
    crew: int
    comm_pct: int
    stage: int | None = None
    vessel_type: int | None = None

    @property
    def control_level(self) -> int:
        """Return 0 none, 1 partial unmanned, 2 partial manned, 3 full control."""
        return self.flags >> 4 & 3


@dataclass(frozen=True, slots=True)
class Atmosphere(StructMessage):
    """Air around the vessel: AtmosphereFlags, density kg/m3, temperature K, pressure kPa."""

    tag: ClassVar[str] = 'atmosphere'
    layouts: ClassVar = (struct.Struct('<B3f'),)
    sizes: ClassVar = (13,)

    flags: int
    density_kgpm3: float
    temperature_k: float
    pressure_kpa: float


@dataclass(frozen=True, slots=True)
class Attitude(StructMessage):
    """
    Heading, pitch and roll of the vessel and directions of its two velocities, all in degrees.

    heading is 0..360, 90 due east; pitch -90..90, up positive; roll -180..180.
    """

    tag: ClassVar[str] = 'attitude'
    layouts: ClassVar = (struct.Struct('<7f'),)
    sizes: ClassVar = (28,)

    heading: float
    pitch: float
    roll: float
    orbital_vel_heading: float
    orbital_vel_pitch: float
    surface_vel_heading: float
    surface_vel_pitch: float


@dataclass(frozen=True, slots=True)
class VesselName(TextMessage):
    """Name of the vessel, cut at 32 characters, ``?`` for what is not ASCII."""

    tag: ClassVar[str] = 'vessel_name'

    text: str


@dataclass(frozen=True, slots=True)
class VesselChange(StructMessage):
    """The controlled vessel changed: 1 by switching, 2 by docking, 3 by undocking."""

    tag: ClassVar[str] = 'vessel_change'
    layouts: ClassVar = (struct.Struct('<B'),)
    sizes: ClassVar = (1,)

    change: int


@dataclass(frozen=True, slots=True)
class AdvancedActionStatus(Message):
    """
    States of the 16 standard or custom action groups of KSP2.

    custom tells which: channel advanced_action_status or advanced_custom_action_status. states
    holds 16 GroupStates; standard ones count stage, gear, light, RCS, SAS, brakes, abort, solar
    panels, radiators; custom ones are 1 to 10.
    """

    tag: ClassVar[str] = 'advanced_action_status'
    sizes: ClassVar = (4,)

    custom: bool
    states: tuple[GroupState, ...]

    @property
    def channel(self) -> str:
        """Return the name of the channel that carries this message."""
        return 'advanced_custom_action_status' if self.custom else 'advanced_action_status'

    @classmethod
    def from_payload(cls, name: str, payload: bytes) -> 'AdvancedActionStatus':
        """Return the message in 4 bytes that came on channel ``name``: two bits a group."""
        bits = int.from_bytes(payload, 'little')
        states = tuple(GroupState(bits >> 2 * index & 3) for index in range(16))
        return cls(name == 'advanced_custom_action_status', states)

    def to_payload(self) -> bytes:
        """Return the payload."""
        if len(self.states) != 16 or not all(0 <= state <= 3 for state in self.states):
            raise ValueError(f'{self}: states must be 16 numbers of 0..3')
        bits = 0
        for index, state in enumerate(self.states):
            bits |= state << 2 * index
        return bits.to_bytes(4, 'little')


@dataclass(frozen=True, slots=True)
class Intersects(StructMessage):
    """
    Two meetings with the target's orbit (KSP2): distance m, time s, relative speed m/s.

    A meeting that does not exist has negative values.
    """

    tag: ClassVar[str] = 'intersects'
    layouts: ClassVar = (struct.Struct('<fiffif'),)
    sizes: ClassVar = (24,)

    distance_1_m: float
    time_1_s: int
    speed_1_mps: float
    distance_2_m: float
    time_2_s: int
    speed_2_mps: float


def _pack_floats(layout: struct.Struct, message: Message, *values: float) -> bytes:
    """Return the packed floats; raise ValueError for too few, too many or too great ones."""
    try:
        return layout.pack(*values)
    except (struct.error, OverflowError) as error:
        raise ValueError(f'{message}: {error}') from None
