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

"""The datagrams of X-Plane Connect (XPC) as values, and the numbers around them."""

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, TypeAlias

# docs/wire/xpc.md, section 1: where the plugin listens, and what its buffers hold.
PORT = 49009
REQUEST_LIMIT = 4096
RESP_LIMIT = 4096
MAX_VALUES = 255

# docs/wire/xpc.md, section 3, BECN.
BEACON_GROUP = '239.255.1.1'
BEACON_PORT = 49710

# docs/wire/xpc.md, section 2. Number 20 indexes past the plugin's table, 21 and more crash it.
AIRCRAFT_COUNT = 20
MAX_AIRCRAFT = AIRCRAFT_COUNT - 1

ALTITUDE_RANGE = (-900.0, 200_000.0)
"""Altitudes that are sent, in metres: from below any ground to above what X-Plane flies in."""

MAX_DATA_ROWS = 31
MAX_WAYPOINTS = 128

# What the wire says for "leave as it is", and the open window in which the plugin hears it.
LEAVE = -998.0
LEAVE_ABOVE = -999.1
LEAVE_BELOW = -997.9

FORWARDED_TAGS = (
    'MOUS', 'CHAR', 'MENU', 'SOUN', 'FAIL', 'RECO', 'PAPT', 'VEHN', 'VEH1', 'VEHA', 'GSET',
    'OBJN', 'OBJL', 'ISET', 'BOAT')


class SimulationOp(IntEnum):
    """What SIMU does. The last two take an aircraft: ``SimulationOp.RUN_AIRCRAFT + 3``."""

    RUN = 0
    PAUSE = 1
    TOGGLE = 2
    PAUSE_AIRCRAFT = 100
    RUN_AIRCRAFT = 200


class View(IntEnum):
    """Codes of VIEW that choose a view; 0..72 and 86..93 are other X-Plane command keys."""

    FORWARD = 73
    DOWN = 74
    LEFT = 75
    RIGHT = 76
    BACK = 77
    TOWER = 78
    RUNWAY = 79
    CHASE = 80
    FOLLOW = 81
    FOLLOW_WITH_PANEL = 82
    SPOT = 83
    FULL_SCREEN_WITH_HUD = 84
    FULL_SCREEN = 85


class WaypointOp(IntEnum):
    """What WYPT does with its points."""

    ADD = 1
    REMOVE = 2
    CLEAR = 3


class TerrainStatus(IntEnum):
    """How a terrain probe ended (TERR); unless it hit, lat, lon and alt are -998."""

    HIT = 0
    ERROR = 1
    MISSED = 2


@dataclass(frozen=True, slots=True)
class _Commands:
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command(_Commands):
    """Press and release X-Plane commands, given by name (COMM)."""

    tag: ClassVar[str] = 'COMM'


@dataclass(frozen=True, slots=True)
class CommandBegin(_Commands):
    """Press X-Plane commands and hold them (BCOM; only the develop branch knows it)."""

    tag: ClassVar[str] = 'BCOM'


@dataclass(frozen=True, slots=True)
class CommandEnd(_Commands):
    """Release X-Plane commands (ECOM; only the develop branch knows it)."""

    tag: ClassVar[str] = 'ECOM'


@dataclass(frozen=True, slots=True)
class Connect:
    """Ask for a Connected at another UDP port, 1..65535 (CONN)."""

    tag: ClassVar[str] = 'CONN'
    port: int


@dataclass(frozen=True, slots=True)
class Connected:
    """The plugin's answer to Connect: how many connections it knew, modulo 256 (CONF)."""

    tag: ClassVar[str] = 'CONF'
    id: int


@dataclass(frozen=True, slots=True)
class Controls:
    """
    Set the controls of one aircraft (CTRL). None leaves a control as it is.

    elevator, aileron and rudder are ratios in -1..1, throttle and flaps in 0..1, gear is 0 (up)
    or 1 (down), speedbrake is -0.5 (armed) to 1.5.
    """

    tag: ClassVar[str] = 'CTRL'
    elevator: float | None = None
    aileron: float | None = None
    rudder: float | None = None
    throttle: float | None = None
    gear: int | None = None
    flaps: float | None = None
    aircraft: int = 0
    speedbrake: float | None = None


@dataclass(frozen=True, slots=True)
class ControlsReply:
    """
    The controls of one aircraft, as asked for by GetControls (CTRL). Units as in Controls.

    For aircraft 1 and above the plugin says 0 for elevator, aileron and rudder, whatever they
    are (docs/wire/xpc.md, section 3).
    """

    tag: ClassVar[str] = 'CTRL'
    elevator: float
    aileron: float
    rudder: float
    throttle: float
    gear: int
    flaps: float
    aircraft: int
    speedbrake: float


@dataclass(frozen=True, slots=True)
class GetControls:
    """Ask for a ControlsReply (GETC)."""

    tag: ClassVar[str] = 'GETC'
    aircraft: int = 0


@dataclass(frozen=True, slots=True)
class _Placement:
    aircraft: int = 0
    lat: float | None = None
    lon: float | None = None
    alt: float | None = None
    pitch: float | None = None
    roll: float | None = None
    heading: float | None = None
    gear: float | None = None
    precision: int = 64


@dataclass(frozen=True, slots=True)
class Position(_Placement):
    """
    Place an aircraft (POSI). None leaves a value as it is.

    lat, lon, pitch, roll and heading are in degrees, alt in metres above mean sea level; gear is
    the fraction extended, 0..1. precision is that of lat, lon and alt on the wire in bits: 64
    for the 46-byte form, 32 for the 34-byte form, the only one that plugin 1.2 understands.
    """

    tag: ClassVar[str] = 'POSI'


@dataclass(frozen=True, slots=True)
class PlaceAndProbe(_Placement):
    """Place an aircraft as Position does, and ask for the Terrain there (POST)."""

    tag: ClassVar[str] = 'POST'


@dataclass(frozen=True, slots=True)
class PositionReply:
    """
    Where an aircraft is, as asked for by GetPosition (POSI). Units as in Position.

    It does not say which aircraft. gear_handle is 0 or 1, and always 0 for aircraft 1 and above
    (docs/wire/xpc.md, section 3).
    """

    tag: ClassVar[str] = 'POSI'
    gear_handle: int
    lat: float
    lon: float
    alt: float
    pitch: float
    roll: float
    heading: float
    gear: float
    precision: int = 64


@dataclass(frozen=True, slots=True)
class GetPosition:
    """Ask for a PositionReply (GETP)."""

    tag: ClassVar[str] = 'GETP'
    aircraft: int = 0


@dataclass(frozen=True, slots=True)
class SetDatarefs:
    """
    Write datarefs (DREF): pairs of a name and its values, 1..255 of them.

    Values travel as float32 and are all literal: here -998 does not mean "leave".
    """

    tag: ClassVar[str] = 'DREF'
    items: tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True)
class GetDatarefs:
    """Ask for Datarefs by name, 1..255 names (GETD)."""

    tag: ClassVar[str] = 'GETD'
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Datarefs:
    """The values of the datarefs asked for, in that order; none for an unknown one (RESP)."""

    tag: ClassVar[str] = 'RESP'
    rows: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Simulation:
    """Freeze or run the physics of all or of one aircraft (SIMU); see SimulationOp."""

    tag: ClassVar[str] = 'SIMU'
    op: int


@dataclass(frozen=True, slots=True)
class Text:
    """
    Draw a text on the screen, or clear it with an empty one (TEXT).

    x and y are in pixels from the lower left corner; a negative x means 10, a negative y 600.
    The wire names no character set; UTF-8 is used, at most 255 bytes.
    """

    tag: ClassVar[str] = 'TEXT'
    x: int
    y: int
    text: str


@dataclass(frozen=True, slots=True)
class Camera:
    """
    Where the camera of View.RUNWAY or View.CHASE is and looks.

    For RUNWAY, loc is (lat, lon, alt) in degrees and metres, direction is (roll, pitch, heading)
    in degrees, and a None in its first place looks at the user's aircraft. For CHASE, loc is
    metres (back, right, up) in body axes, direction is added to the aircraft's attitude, and a
    None in any place keeps that angle 0. No direction at all is the 37-byte form of plugin 1.3
    rc1 to rc5.
    """

    loc: tuple[float, float, float]
    direction: tuple[float | None, float | None, float | None] | None
    zoom: float


@dataclass(frozen=True, slots=True)
class SetView:
    """Press an X-Plane command key, 0..93, of which View names those that choose a view (VIEW)."""

    tag: ClassVar[str] = 'VIEW'
    view: int
    camera: Camera | None = None


@dataclass(frozen=True, slots=True)
class Waypoints:
    """
    Add, remove or clear the waypoints drawn in the world (WYPT); op is a WaypointOp.

    Points are (lat, lon, alt), degrees and metres above mean sea level, as float32. The plugin
    stores 128, and removes only what is equal to the last bit.
    """

    tag: ClassVar[str] = 'WYPT'
    op: int
    points: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class GetTerrain:
    """
    Ask for the Terrain at a place, or at the aircraft if any of the three is None (GETT).

    lat and lon are in degrees; alt, metres above mean sea level, is where the probe starts.
    """

    tag: ClassVar[str] = 'GETT'
    aircraft: int = 0
    lat: float | None = None
    lon: float | None = None
    alt: float | None = None


@dataclass(frozen=True, slots=True)
class Terrain:
    """
    The ground below a place (TERR): its height alt in metres above mean sea level.

    normal is a unit vector and velocity metres a second, both in X-Plane's local axes (east, up,
    south). is_wet is 0 or 1; status is a TerrainStatus, and unless that is HIT, lat, lon and alt
    are -998. Without a velocity it is the 50-byte form, which is documented but which no
    plugin was seen to send.
    """

    tag: ClassVar[str] = 'TERR'
    aircraft: int
    lat: float
    lon: float
    alt: float
    normal: tuple[float, float, float]
    velocity: tuple[float, float, float] | None
    is_wet: int
    status: int


@dataclass(frozen=True, slots=True)
class DataRows:
    """
    Write rows of X-Plane's data output table (DATA): a row number, 0..255, and eight values.

    Few rows work (docs/wire/xpc.md, section 2); SetDatarefs is the better way.
    """

    tag: ClassVar[str] = 'DATA'
    rows: tuple[tuple[int, float, float, float, float, float, float, float, float], ...]


@dataclass(frozen=True, slots=True)
class _RowNumbers:
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SelectRows(_RowNumbers):
    """Have X-Plane send rows of its data output over the network (DSEL, forwarded to it)."""

    tag: ClassVar[str] = 'DSEL'


@dataclass(frozen=True, slots=True)
class UnselectRows(_RowNumbers):
    """Have X-Plane no longer send rows of its data output (USEL, forwarded to it)."""

    tag: ClassVar[str] = 'USEL'


@dataclass(frozen=True, slots=True)
class SelectCockpitRows(_RowNumbers):
    """Have X-Plane show rows of its data output in the cockpit (DCOC, forwarded to it)."""

    tag: ClassVar[str] = 'DCOC'


@dataclass(frozen=True, slots=True)
class UnselectCockpitRows(_RowNumbers):
    """Have X-Plane no longer show rows of its data output (UCOC, forwarded to it)."""

    tag: ClassVar[str] = 'UCOC'


@dataclass(frozen=True, slots=True)
class Forwarded:
    """Any other datagram that the plugin hands on to X-Plane: one of FORWARDED_TAGS."""

    tag: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Beacon:
    """
    The plugin's sign of life, multicast once a second (BECN).

    port is where it listens, xplane_version is such as 12010. plugin_version tells no two
    releases apart: all that send a beacon say 1.3-rc.1. padding is the number of NUL bytes
    after it; the plugin sends as many as the text is long.
    """

    tag: ClassVar[str] = 'BECN'
    port: int
    xplane_version: int
    plugin_version: str = '1.3-rc.1'
    padding: int = 8


Request: TypeAlias = (
    Command | CommandBegin | CommandEnd | Connect | Controls | GetControls | Position
    | PlaceAndProbe | GetPosition | SetDatarefs | GetDatarefs | Simulation | Text | SetView
    | Waypoints | GetTerrain | DataRows | SelectRows | UnselectRows | SelectCockpitRows
    | UnselectCockpitRows | Forwarded)
Reply: TypeAlias = Connected | ControlsReply | PositionReply | Datarefs | Terrain | Beacon

REQUEST_CLASSES: dict[str, type[Request]] = {
    'COMM': Command,
    'BCOM': CommandBegin,
    'ECOM': CommandEnd,
    'CONN': Connect,
    'CTRL': Controls,
    'GETC': GetControls,
    'POSI': Position,
    'POST': PlaceAndProbe,
    'GETP': GetPosition,
    'DREF': SetDatarefs,
    'GETD': GetDatarefs,
    'SIMU': Simulation,
    'TEXT': Text,
    'VIEW': SetView,
    'WYPT': Waypoints,
    'GETT': GetTerrain,
    'DATA': DataRows,
    'DSEL': SelectRows,
    'USEL': UnselectRows,
    'DCOC': SelectCockpitRows,
    'UCOC': UnselectCockpitRows,
    **dict.fromkeys(FORWARDED_TAGS, Forwarded),
}
REPLY_CLASSES: dict[str, type[Reply]] = {
    'CONF': Connected,
    'CTRL': ControlsReply,
    'POSI': PositionReply,
    'RESP': Datarefs,
    'TERR': Terrain,
    'BECN': Beacon,
}
