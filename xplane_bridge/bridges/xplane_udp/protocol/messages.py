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
Messages of X-Plane's UDP except DATA and its selections.

The fields are those of the wire, in wire units (docs/wire/xplane_udp.md, section 5). Nothing is
checked here: a decoded message shows what was sent; codec.py refuses to send invalid values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xplane_bridge.bridges.protocols.base import (
    decimal_text,
    float32,
    float64,
    int32,
    Message,
    messages,
    text,
    uint8,
)
from xplane_bridge.bridges.protocols.registry import PORTS
from xplane_bridge.bridges.xplane_udp.protocol.data import Data, Dcoc, Dsel, NO_DATA, Ucoc, Usel

PORT = PORTS['xplane_udp']
"""Where X-Plane listens, all versions."""

BEACON_GROUP = '239.255.1.1'
BEACON_PORT = 49707
"""Where X-Plane 10 and later multicast BECN."""

DATA_OUTPUT_TARGET = {9: 60, 10: 64, 11: 64, 12: 64}
"""Version -> the index of ISET (9, 10) and ISE4 or ISE6 (10 to 12) that sets where the rows
of DSEL go (docs/wire/xplane_udp.md, section 3)."""


# ---------------------------------------------------------------- datarefs and commands

@dataclass(frozen=True, slots=True)
class RrefRequest(Message):
    """
    Request a dataref at a rate (RREF, 413 bytes). The replies go to the sender's port.

    freq is in Hz and 0 cancels; index is the caller's own number for it, which the replies
    repeat; dataref is a path, with ``[n]`` at the end for one element of an array. An unknown
    path is silently ignored.
    """

    tag: ClassVar[str] = 'RREF'

    freq: int = int32(0)
    index: int = int32()
    dataref: str = text(400, spaces=False)


@dataclass(frozen=True, slots=True)
class RrefReply(Message):
    """
    Values of datarefs (RREF), as (index of the request, value) pairs in wire order.

    Every value is a float32 on the wire, including integers and doubles.
    """

    tag: ClassVar[str] = 'RREF'

    values: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Dref(Message):
    """Write one dataref (DREF). X-Plane 12 drops a datagram that is not 509 bytes long."""

    tag: ClassVar[str] = 'DREF'

    value: float = float32()
    dataref: str = text(500, fill=b' ', spaces=False)


@dataclass(frozen=True, slots=True)
class Cmnd(Message):
    """Run a command once (CMND), by its path."""

    tag: ClassVar[str] = 'CMND'

    command: str


# ---------------------------------------------------------------- reports of X-Plane

@dataclass(frozen=True, slots=True)
class RposRequest(Message):
    """
    Request the aircraft's pose at a rate in Hz (RPOS); 0 stops it.

    A decimal string to X-Plane 11 and 12, a binary int32 to 9 and 10.
    """

    tag: ClassVar[str] = 'RPOS'

    rate: int


@dataclass(frozen=True, slots=True)
class RposReply(Message):
    """
    The pose of the user's aircraft (RPOS, 69 bytes), longitude first on the wire.

    lon, lat in degrees and ele_m, metres above mean sea level, are doubles. agl_m is the height
    above ground; the angles are degrees, nose up and right wing down positive; v_east, v_up,
    v_south are m/s; p, q, r are the roll, pitch and yaw rates in rad/s.
    """

    tag: ClassVar[str] = 'RPOS'

    lon: float = float64(-180.0, 180.0)
    lat: float = float64(-90.0, 90.0)
    ele_m: float = float64()
    agl_m: float = float32()
    pitch_deg: float = float32()
    heading_true_deg: float = float32()
    roll_deg: float = float32()
    v_east: float = float32()
    v_up: float = float32()
    v_south: float = float32()
    p_rad_s: float = float32()
    q_rad_s: float = float32()
    r_rad_s: float = float32()


@dataclass(frozen=True, slots=True)
class RadrRequest(Message):
    """Request this many points of weather radar per frame (RADR); 0 stops it."""

    tag: ClassVar[str] = 'RADR'

    points: int


@dataclass(frozen=True, slots=True)
class RadrPoint11(Message):
    """A point of X-Plane 11's radar: degrees, storm level 0..100, storm tops in metres MSL."""

    tag: ClassVar[str] = 'RADR'

    lon: float = float32(-180.0, 180.0)
    lat: float = float32(-90.0, 90.0)
    storm_level: int = uint8(0, 100)
    tops_m: float = float32()


@dataclass(frozen=True, slots=True)
class RadrPoint12(Message):
    """A point of X-Plane 12's radar: degrees, cloud bases and tops in metres, two ratios."""

    tag: ClassVar[str] = 'RADR'

    lon: float = float32(-180.0, 180.0)
    lat: float = float32(-90.0, 90.0)
    bases_m: float = float32()
    tops_m: float = float32()
    clouds_ratio: float = float32(0.0, 1.0)
    precip_ratio: float = float32(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class RadrReply(Message):
    """
    Points of weather radar (RADR): 13 bytes each in X-Plane 11, 24 in 12.

    The length distinguishes the two except for common multiples of 13 and 24 (24 points of 11 are
    as long as 13 of 12), which are read as X-Plane 12's unless the version is given.
    """

    tag: ClassVar[str] = 'RADR'

    points: tuple[RadrPoint11, ...] | tuple[RadrPoint12, ...]


@dataclass(frozen=True, slots=True)
class Becn(Message):
    """
    The beacon that X-Plane multicasts about once per second to 239.255.1.1:49707 (BECN).

    host_id is 1 for X-Plane, 2 for Plane Maker; version is like 115501; role is 1 master,
    2 external visual, 3 instructor's station; port is where that X-Plane listens; name is the
    computer's; raknet_port exists from beacon 1.2 on.
    """

    tag: ClassVar[str] = 'BECN'

    major: int
    minor: int
    host_id: int
    version: int
    role: int
    port: int
    name: str
    raknet_port: int | None = None


# ---------------------------------------------------------------- placing and loading

@dataclass(frozen=True, slots=True)
class Vehx(Message):
    """
    Place aircraft p (0 the user's, 1..19) and stop its flight model (VEHX, 45 bytes).

    Latitude first. lat, lon in degrees, ele_m metres above mean sea level, psi_true, theta and
    phi (heading, pitch, roll) in degrees.
    """

    tag: ClassVar[str] = 'VEHX'

    p: int = int32(0, 19)
    lat: float = float64(-90.0, 90.0)
    lon: float = float64(-180.0, 180.0)
    ele_m: float = float64()
    psi_true: float = float32()
    theta: float = float32()
    phi: float = float32()


@dataclass(frozen=True, slots=True)
class Vehs(Message):
    """Place aircraft p once, while its flight model continues (VEHS, X-Plane 12); like Vehx."""

    tag: ClassVar[str] = 'VEHS'

    p: int = int32(0, 19)
    lat: float = float64(-90.0, 90.0)
    lon: float = float64(-180.0, 180.0)
    ele_m: float = float64()
    psi_true: float = float32()
    theta: float = float32()
    phi: float = float32()


@dataclass(frozen=True, slots=True)
class Veh1(Message):
    """
    Place an aircraft in X-Plane 9 and 10 (VEH1); the first seven fields as in Vehx.

    gear, flap and vector are ratios 0..1; None leaves them unchanged. Public senders to X-Plane 9
    pack the body (57 bytes), later ones to 10 align the doubles to eight bytes (61): encoded by
    version, both understood; no vendor document was found for either.
    """

    tag: ClassVar[str] = 'VEH1'

    p: int = int32(0, 19)
    lat: float = float64(-90.0, 90.0, pad=4)
    lon: float = float64(-180.0, 180.0)
    ele_m: float = float64()
    psi_true: float = float32()
    theta: float = float32()
    phi: float = float32()
    gear: float | None = float32(0.0, 1.0, leave=NO_DATA, default=None)
    flap: float | None = float32(0.0, 1.0, leave=NO_DATA, default=None)
    vector: float | None = float32(0.0, 1.0, leave=NO_DATA, default=None)


@dataclass(frozen=True, slots=True)
class Prel(Message):
    """
    Start a flight at a given place (PREL, 69 bytes).

    type_start 6 starts at lat, lon (degrees), ele_m (m MSL), psi_true (degrees) with speed_m_s;
    10 on ramp and 11 on runway number apt_rwy_idx of airport apt_id, from its end apt_rwy_dir
    (0 or 1). p_idx is the aircraft, 0 the user's.
    """

    tag: ClassVar[str] = 'PREL'

    type_start: int = int32(0)
    p_idx: int = int32(0, 19, default=0)
    apt_id: str = text(8, spaces=False, empty=True, default='')
    apt_rwy_idx: int = int32(0, default=0)
    apt_rwy_dir: int = int32(0, 1, default=0)
    lat: float = float64(-90.0, 90.0, default=0.0)
    lon: float = float64(-180.0, 180.0, default=0.0)
    ele_m: float = float64(default=0.0)
    psi_true: float = float64(default=0.0)
    speed_m_s: float = float64(default=0.0)


@dataclass(frozen=True, slots=True)
class Acfn(Message):
    """Load an aircraft as number p: a path relative to X-Plane and a livery (ACFN, 165 bytes)."""

    tag: ClassVar[str] = 'ACFN'

    p: int = int32(0, 19)
    path: str = text(150)
    livery_index: int = int32(0, default=0, pad=2)


@dataclass(frozen=True, slots=True)
class Acpr(Message):
    """Load an aircraft and start a flight with it, in one message (ACPR, 229 bytes)."""

    tag: ClassVar[str] = 'ACPR'

    aircraft: Acfn
    start: Prel


@dataclass(frozen=True, slots=True)
class Objn(Message):
    """Load an object file as number index (OBJN, 509 bytes)."""

    tag: ClassVar[str] = 'OBJN'

    index: int = int32(0)
    path: str = text(500)


@dataclass(frozen=True, slots=True)
class Objl(Message):
    """
    Place the object with this index (OBJL, 61 bytes).

    lat, lon in degrees, ele_m in m MSL, psi_true, theta, phi in degrees; on_ground 1 puts it on
    the terrain; smoke_size adds smoke.
    """

    tag: ClassVar[str] = 'OBJL'

    index: int = int32(0)
    lat: float = float64(-90.0, 90.0, pad=4)
    lon: float = float64(-180.0, 180.0)
    ele_m: float = float64()
    psi_true: float = float32()
    theta: float = float32()
    phi: float = float32()
    on_ground: int = int32(0, 1, default=0)
    smoke_size: float = float32(0.0, default=0.0)


@dataclass(frozen=True, slots=True)
class Simo(Message):
    """Save (0) or load (1) a situation, save (2) or load (3) a movie (SIMO, 161 bytes)."""

    tag: ClassVar[str] = 'SIMO'

    action: int = int32(0, 3)
    path: str = text(150)


# ---------------------------------------------------------------- settings, sound, failures

@dataclass(frozen=True, slots=True)
class Ise4(Message):
    """Set, or with use 0 clear, an IPv4 output (ISE4, 37 bytes); see DATA_OUTPUT_TARGET."""

    tag: ClassVar[str] = 'ISE4'

    index: int = int32(0)
    ip: str = text(16, spaces=False)
    port: int = decimal_text(8, 1, 65535)
    use: int = int32(0, 1, default=1)


@dataclass(frozen=True, slots=True)
class Ise6(Message):
    """Set, or with use 0 clear, an IPv6 output (ISE6, 85 bytes)."""

    tag: ClassVar[str] = 'ISE6'

    index: int = int32(0)
    ip: str = text(65, spaces=False)
    port: int = decimal_text(6, 1, 65535)
    use: int = int32(0, 1, default=1, pad=1)


@dataclass(frozen=True, slots=True)
class Iset(Message):
    """Set, or with use 0 clear, an output of X-Plane 9 or 10 (ISET, 37 bytes)."""

    tag: ClassVar[str] = 'ISET'

    index: int = int32(0)
    ip: str = text(16, spaces=False)
    port: int = decimal_text(6, 1, 65535)
    use: int = int32(0, 1, default=1, pad=2)


@dataclass(frozen=True, slots=True)
class Alrt(Message):
    """Show four lines of up to 239 characters, some possibly empty (ALRT, 965 bytes)."""

    tag: ClassVar[str] = 'ALRT'

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fail(Message):
    """Fail a system by its number (FAIL)."""

    tag: ClassVar[str] = 'FAIL'

    system: int


@dataclass(frozen=True, slots=True)
class Reco(Message):
    """Recover a system by its number (RECO)."""

    tag: ClassVar[str] = 'RECO'

    system: int


@dataclass(frozen=True, slots=True)
class Nfal(Message):
    """Fail a navaid by its identifier (NFAL)."""

    tag: ClassVar[str] = 'NFAL'

    navaid: str


@dataclass(frozen=True, slots=True)
class Nrec(Message):
    """Recover a navaid by its identifier (NREC)."""

    tag: ClassVar[str] = 'NREC'

    navaid: str


@dataclass(frozen=True, slots=True)
class Quit(Message):
    """Quit X-Plane (QUIT)."""

    tag: ClassVar[str] = 'QUIT'


@dataclass(frozen=True, slots=True)
class Shut(Message):
    """Shut down the computer X-Plane runs on (SHUT)."""

    tag: ClassVar[str] = 'SHUT'


@dataclass(frozen=True, slots=True)
class Rese(Message):
    """Recover all failures (RESE)."""

    tag: ClassVar[str] = 'RESE'


@dataclass(frozen=True, slots=True)
class Soun(Message):
    """Play a sound file once (SOUN, 513 bytes); freq and vol are ratios."""

    tag: ClassVar[str] = 'SOUN'

    freq: float = float32(0.0)
    vol: float = float32(0.0)
    path: str = text(500)


@dataclass(frozen=True, slots=True)
class Lsnd(Message):
    """Play a sound file in a loop, as number index (LSND, 517 bytes); freq, vol are ratios."""

    tag: ClassVar[str] = 'LSND'

    index: int = int32(0)
    freq: float = float32(0.0)
    vol: float = float32(0.0)
    path: str = text(500)


@dataclass(frozen=True, slots=True)
class Ssnd(Message):
    """Stop the loop that LSND started (SSND, 517 bytes)."""

    tag: ClassVar[str] = 'SSND'

    index: int = int32(0)
    freq: float = float32(0.0)
    vol: float = float32(0.0)
    path: str = text(500)


_BOTH_WAYS = (
    Data, Dsel, Usel, Dcoc, Ucoc, RrefRequest, Dref, Cmnd, RposRequest, RadrRequest, Becn, Vehx,
    Vehs, Veh1, Prel, Acfn, Acpr, Objn, Objl, Simo, Ise4, Ise6, Iset, Alrt, Fail, Reco, Nfal, Nrec,
    Quit, Shut, Rese, Soun, Lsnd, Ssnd)

# X-Planes send each other everything that a client may send.
MESSAGES = messages(bridge=_BOTH_WAYS, peer=(*_BOTH_WAYS, RrefReply, RposReply, RadrReply))
