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
Motion of the vessel as a KerbalSimpit plugin reports it.

See docs/wire/simpit.md, sections 2.7, 3.1 and 4. The plugin's other messages are in status.py;
channel numbers and cadence of each profile are in channels.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import ClassVar

from xplane_bridge.bridges.protocols.base import any_float32, int32, uint8
from xplane_bridge.bridges.simpit.protocol.payloads import SimpitMessage


class AtmosphereFlags(IntFlag):
    """Bits of Atmosphere.flags."""

    HAS_ATMOSPHERE = 1
    HAS_OXYGEN = 2
    VESSEL_INSIDE = 4


@dataclass(frozen=True, slots=True)
class Altitude(SimpitMessage):
    """Height above the body's sea level, and above the ground (radar altitude), metres."""

    tag: ClassVar[str] = 'altitude'

    sea_level_m: float = any_float32()
    surface_m: float = any_float32()


@dataclass(frozen=True, slots=True)
class Apsides(SimpitMessage):
    """Heights of periapsis and apoapsis, metres."""

    tag: ClassVar[str] = 'apsides'

    periapsis_m: float = any_float32()
    apoapsis_m: float = any_float32()


@dataclass(frozen=True, slots=True)
class ApsidesTime(SimpitMessage):
    """Time to periapsis and apoapsis, whole seconds, truncated toward 0; negative when past."""

    tag: ClassVar[str] = 'apsides_time'

    periapsis_s: int = int32()
    apoapsis_s: int = int32()


@dataclass(frozen=True, slots=True)
class Velocities(SimpitMessage):
    """Orbital speed, speed over the surface and vertical speed (up positive), m/s."""

    tag: ClassVar[str] = 'velocities'

    orbital_mps: float = any_float32()
    surface_mps: float = any_float32()
    vertical_mps: float = any_float32()


@dataclass(frozen=True, slots=True)
class Airspeed(SimpitMessage):
    """Indicated airspeed m/s, Mach number, and from 2.2 on the load factor in g."""

    tag: ClassVar[str] = 'airspeed'
    older: ClassVar = (2,)

    ias_mps: float = any_float32()
    mach: float = any_float32()
    g_force: float | None = any_float32(default=None)


@dataclass(frozen=True, slots=True)
class TargetInfo(SimpitMessage):
    """
    The vessel's target: distance in metres, speed relative to it in m/s.

    From 2.1 on also heading and pitch to the target, and those of the velocity relative to it, all
    in degrees; None before.
    """

    tag: ClassVar[str] = 'target'
    older: ClassVar = (2,)

    distance_m: float = any_float32()
    speed_mps: float = any_float32()
    heading_deg: float | None = any_float32(default=None)
    pitch_deg: float | None = any_float32(default=None)
    velocity_heading_deg: float | None = any_float32(default=None)
    velocity_pitch_deg: float | None = any_float32(default=None)


@dataclass(frozen=True, slots=True)
class ManoeuvreInfo(SimpitMessage):
    """
    The next manoeuvre: time to it in s, its delta-v in m/s, burn time in s; total delta-v in m/s.

    From 2.1 on also its heading and pitch in degrees; None before.
    """

    tag: ClassVar[str] = 'manoeuvre'
    older: ClassVar = (4,)

    time_to_next_s: float = any_float32()
    dv_next_mps: float = any_float32()
    duration_next_s: float = any_float32()
    dv_total_mps: float = any_float32()
    heading_deg: float | None = any_float32(default=None)
    pitch_deg: float | None = any_float32(default=None)


@dataclass(frozen=True, slots=True)
class Orbit(SimpitMessage):
    """
    Orbital elements: semi-major axis in metres, angles in degrees, period in seconds.

    The two anomalies are in the unit of the game's API, believed to be radians.
    """

    tag: ClassVar[str] = 'orbit'

    eccentricity: float = any_float32()
    semi_major_m: float = any_float32()
    inclination_deg: float = any_float32()
    lan_deg: float = any_float32()
    arg_pe_deg: float = any_float32()
    true_anomaly: float = any_float32()
    mean_anomaly: float = any_float32()
    period_s: float = any_float32()


@dataclass(frozen=True, slots=True)
class DeltaV(SimpitMessage):
    """Remaining delta-v of the current stage and of all stages, m/s."""

    tag: ClassVar[str] = 'delta_v'

    stage_dv_mps: float = any_float32()
    total_dv_mps: float = any_float32()


@dataclass(frozen=True, slots=True)
class DeltaVEnvironment(SimpitMessage):
    """Remaining delta-v, stage and total, at sea level and in vacuum, m/s."""

    tag: ClassVar[str] = 'delta_v_environment'

    stage_dv_asl: float = any_float32()
    total_dv_asl: float = any_float32()
    stage_dv_vac: float = any_float32()
    total_dv_vac: float = any_float32()


@dataclass(frozen=True, slots=True)
class BurnTime(SimpitMessage):
    """Remaining burn time of the current stage and of all stages, seconds."""

    tag: ClassVar[str] = 'burn_time'

    stage_burn_s: float = any_float32()
    total_burn_s: float = any_float32()


@dataclass(frozen=True, slots=True)
class Temperature(SimpitMessage):
    """Hottest part and hottest skin, in percent of their limits, capped at 255."""

    tag: ClassVar[str] = 'temperature'

    temp_pct: int = uint8()
    skin_temp_pct: int = uint8()


@dataclass(frozen=True, slots=True)
class Atmosphere(SimpitMessage):
    """Air around the vessel: AtmosphereFlags, density kg/m3, temperature K, pressure kPa."""

    tag: ClassVar[str] = 'atmosphere'

    flags: int = uint8()
    density_kgpm3: float = any_float32()
    temperature_k: float = any_float32()
    pressure_kpa: float = any_float32()


@dataclass(frozen=True, slots=True)
class Attitude(SimpitMessage):
    """
    Heading, pitch and roll of the vessel and directions of its two velocities, all in degrees.

    heading is 0..360, 90 due east; pitch -90..90, up positive; roll -180..180.
    """

    tag: ClassVar[str] = 'attitude'

    heading: float = any_float32()
    pitch: float = any_float32()
    roll: float = any_float32()
    orbital_vel_heading: float = any_float32()
    orbital_vel_pitch: float = any_float32()
    surface_vel_heading: float = any_float32()
    surface_vel_pitch: float = any_float32()


@dataclass(frozen=True, slots=True)
class Intersects(SimpitMessage):
    """
    Two encounters with the target's orbit (KSP2): distance m, time s, relative speed m/s.

    An encounter that does not exist has negative values.
    """

    tag: ClassVar[str] = 'intersects'

    distance_1_m: float = any_float32()
    time_1_s: int = int32()
    speed_1_mps: float = any_float32()
    distance_2_m: float = any_float32()
    time_2_s: int = int32()
    speed_2_mps: float = any_float32()
