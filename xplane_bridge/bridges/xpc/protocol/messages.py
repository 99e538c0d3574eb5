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

"""Messages and constants of X-Plane Connect (XPC)."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

from xplane_bridge.bridges.protocols.base import (
    any_float32,
    any_float64,
    checked_float,
    checked_float32,
    checked_int,
    declared,
    float64,
    int8,
    int32,
    Message,
    Messages,
    messages,
    uint8,
    uint16,
    WireForm,
)
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.protocols.registry import PORTS

# docs/wire/xpc.md, section 1: where the plugin listens, and what its buffers hold.
PORT = PORTS['xpc']
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
"""Range of altitudes sent, in metres: from below any ground to above X-Plane's airspace."""

MAX_DATA_ROWS = 31
MAX_WAYPOINTS = 128

# Wire values for "leave unchanged".
LEAVE = -998.0

FORWARDED_TAGS = (
    'MOUS', 'CHAR', 'MENU', 'SOUN', 'FAIL', 'RECO', 'PAPT', 'VEHN', 'VEH1', 'VEHA', 'GSET',
    'OBJN', 'OBJL', 'ISET', 'BOAT')


class SimulationOp(IntEnum):
    """Operations of SIMU. The last two need an aircraft: ``SimulationOp.RUN_AIRCRAFT + 3``."""

    RUN = 0
    PAUSE = 1
    TOGGLE = 2
    PAUSE_AIRCRAFT = 100
    RUN_AIRCRAFT = 200


class View(IntEnum):
    """Codes of VIEW that select a view; 0..72 and 86..93 are other X-Plane command keys."""

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
    """Operations of WYPT."""

    ADD = 1
    REMOVE = 2
    CLEAR = 3


class TerrainStatus(IntEnum):
    """How a terrain probe ended (TERR); unless it hit, lat, lon and alt are -998."""

    HIT = 0
    ERROR = 1
    MISSED = 2


# Declarations of fields specific to this protocol.

def _is_leave(value: float) -> bool:
    # The open interval that the plugin takes for "leave".
    return -999.1 < value < -997.9


def _or_leave(
    code: str, low: float, high: float, is_leave: Callable[[float], bool] = _is_leave
) -> Any:
    """Declare a number in a range; None, the default, leaves the value unchanged."""
    return declared(WireForm(
        code,
        lambda what, value: LEAVE if value is None else checked_float(what, value, low, high),
        lambda what, raw: None if is_leave(raw) else raw), None)


def _state(
    code: str = 'f', pack: Callable[[str, Any], Any] = checked_float32,
    is_leave: Callable[[Any], bool] = _is_leave,
) -> Any:
    """Declare a value that the plugin reports, which is never "leave"."""
    def unpack(what: str, raw: float) -> float:
        if is_leave(raw):
            raise ProtocolError(f'{what}: got {raw} (leave), expected a state')
        return raw
    return declared(WireForm(code, pack, unpack))


def _aircraft() -> Any:
    """Declare the number of an aircraft, 0 for the user's."""
    return uint8(0, MAX_AIRCRAFT, default=0)


_SIMULATION_OPS = frozenset((0, 1, 2, *range(100, 120), *range(200, 220)))


def _simulation_op(what: str, value: object) -> int:
    if value not in _SIMULATION_OPS:
        raise ValueError(f'{what}: got {value!r}, expected 0, 1, 2, 100 to 119 or 200 to 219')
    return int(value)  # type: ignore[call-overload, no-any-return]


class Request(Message):
    """Base of requests from a client to the plugin."""

    __slots__ = ()


class Reply(Message):
    """Base of replies from the plugin to its clients."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class _Commands(Request):
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommandOnce(_Commands):
    """Press and release X-Plane commands, given by name (COMM)."""

    tag: ClassVar[str] = 'COMM'


@dataclass(frozen=True, slots=True)
class CommandBegin(_Commands):
    """Press X-Plane commands and hold them (BCOM; only in the develop branch)."""

    tag: ClassVar[str] = 'BCOM'


@dataclass(frozen=True, slots=True)
class CommandEnd(_Commands):
    """Release X-Plane commands (ECOM; only in the develop branch)."""

    tag: ClassVar[str] = 'ECOM'


@dataclass(frozen=True, slots=True)
class Connect(Request):
    """Request a ConnectReply at another UDP port, 1..65535 (CONN)."""

    tag: ClassVar[str] = 'CONN'

    port: int = uint16(1)


@dataclass(frozen=True, slots=True)
class ConnectReply(Reply):
    """The plugin's reply to Connect: the number of known connections, modulo 256 (CONF)."""

    tag: ClassVar[str] = 'CONF'

    id: int = uint8()


@dataclass(frozen=True, slots=True)
class SetControls(Request):
    """
    Set the controls of one aircraft (CTRL). None leaves a control unchanged.

    elevator, aileron and rudder are ratios in -1..1, throttle and flaps in 0..1, gear is 0 (up)
    or 1 (down), speedbrake is -0.5 (armed) to 1.5.
    """

    tag: ClassVar[str] = 'CTRL'

    elevator: float | None = _or_leave('f', -1.0, 1.0)
    aileron: float | None = _or_leave('f', -1.0, 1.0)
    rudder: float | None = _or_leave('f', -1.0, 1.0)
    throttle: float | None = _or_leave('f', 0.0, 1.0)
    gear: int | None = int8(0, 1, leave=-1, default=None)
    flaps: float | None = _or_leave('f', 0.0, 1.0)
    aircraft: int = _aircraft()
    speedbrake: float | None = _or_leave('f', -0.5, 1.5)


@dataclass(frozen=True, slots=True)
class ControlsReply(Reply):
    """
    The controls of one aircraft, requested by GetControls (CTRL). Units as in SetControls.

    For aircraft 1 and above the plugin always sends 0 for elevator, aileron and rudder
    (docs/wire/xpc.md, section 3).
    """

    tag: ClassVar[str] = 'CTRL'

    elevator: float = _state()
    aileron: float = _state()
    rudder: float = _state()
    throttle: float = _state()
    gear: int = _state(
        'b', lambda what, value: checked_int(what, value, -128, 127), lambda raw: raw == -1)
    flaps: float = _state()
    aircraft: int = uint8()
    speedbrake: float = _state()


@dataclass(frozen=True, slots=True)
class GetControls(Request):
    """Request a ControlsReply (GETC)."""

    tag: ClassVar[str] = 'GETC'

    aircraft: int = _aircraft()


@dataclass(frozen=True, slots=True)
class _Placement(Request):
    aircraft: int = _aircraft()
    lat: float | None = _or_leave('d', -90.0, 90.0)
    lon: float | None = _or_leave('d', -180.0, 180.0)
    alt: float | None = _or_leave('d', *ALTITUDE_RANGE)
    pitch: float | None = _or_leave('f', -90.0, 90.0)
    roll: float | None = _or_leave('f', -180.0, 180.0)
    heading: float | None = _or_leave('f', -360.0, 360.0)
    gear: float | None = _or_leave('f', 0.0, 1.0, lambda raw: raw < 0.0)
    precision: int = 64


@dataclass(frozen=True, slots=True)
class Position(_Placement):
    """
    Place an aircraft (POSI). None leaves a value unchanged.

    lat, lon, pitch, roll and heading are in degrees, alt in metres above mean sea level; gear is
    the fraction extended, 0..1. precision is that of lat, lon and alt on the wire in bits: 64
    for the 46-byte form, 32 for the 34-byte form, the only one that plugin 1.2 understands.
    """

    tag: ClassVar[str] = 'POSI'


@dataclass(frozen=True, slots=True)
class PlaceAndProbe(_Placement):
    """Place an aircraft as Position does, and request the Terrain there (POST)."""

    tag: ClassVar[str] = 'POST'


@dataclass(frozen=True, slots=True)
class PositionReply(Reply):
    """
    The position of an aircraft, requested by GetPosition (POSI). Units as in Position.

    It does not name the aircraft. gear_handle is 0 or 1, and always 0 for aircraft 1 and above
    (docs/wire/xpc.md, section 3).
    """

    tag: ClassVar[str] = 'POSI'

    gear_handle: int = uint8()
    lat: float = any_float64()
    lon: float = any_float64()
    alt: float = any_float64()
    pitch: float = any_float32()
    roll: float = any_float32()
    heading: float = any_float32()
    gear: float = any_float32()
    precision: int = 64


@dataclass(frozen=True, slots=True)
class GetPosition(Request):
    """Request a PositionReply (GETP)."""

    tag: ClassVar[str] = 'GETP'

    aircraft: int = _aircraft()


@dataclass(frozen=True, slots=True)
class SetDatarefs(Request):
    """
    Write datarefs (DREF): pairs of a name and its values, 1..255 of them.

    Values travel as float32 and are all literal: here -998 does not mean "leave".
    """

    tag: ClassVar[str] = 'DREF'

    items: tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True)
class GetDatarefs(Request):
    """Request Datarefs by name, 1..255 names (GETD)."""

    tag: ClassVar[str] = 'GETD'

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Datarefs(Reply):
    """The values of the requested datarefs, in order; none for an unknown one (RESP)."""

    tag: ClassVar[str] = 'RESP'

    rows: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Simulation(Request):
    """Freeze or run the physics of all or of one aircraft (SIMU); see SimulationOp."""

    tag: ClassVar[str] = 'SIMU'

    op: int = declared(WireForm('B', _simulation_op))


@dataclass(frozen=True, slots=True)
class Text(Request):
    """
    Draw a text on the screen, or clear it with an empty one (TEXT).

    x and y are in pixels from the lower left corner; a negative x means 10, a negative y 600.
    The protocol names no character set; UTF-8 is used, at most 255 bytes.
    """

    tag: ClassVar[str] = 'TEXT'

    x: int
    y: int
    text: str


@dataclass(frozen=True, slots=True)
class Camera:
    """
    Location and direction of the camera of View.RUNWAY or View.CHASE.

    For RUNWAY, loc is (lat, lon, alt) in degrees and metres, direction is (roll, pitch, heading)
    in degrees, and a None in the first position looks at the user's aircraft. For CHASE, loc is
    metres (back, right, up) in body axes, direction is added to the aircraft's attitude, and a
    None in any position keeps that angle 0. No direction at all is the 37-byte form of plugin 1.3
    rc1 to rc5.
    """

    loc: tuple[float, float, float]
    direction: tuple[float | None, float | None, float | None] | None
    zoom: float


@dataclass(frozen=True, slots=True)
class SetView(Request):
    """Press an X-Plane command key, 0..93; View names those that select a view (VIEW)."""

    tag: ClassVar[str] = 'VIEW'

    view: int = int32(0, 93)
    camera: Camera | None = None


@dataclass(frozen=True, slots=True)
class EditWaypoints(Request):
    """
    Add, remove or clear the waypoints drawn in the world (WYPT); op is a WaypointOp.

    Points are (lat, lon, alt), degrees and metres above mean sea level, as float32. The plugin
    stores 128, and removes only exact matches.
    """

    tag: ClassVar[str] = 'WYPT'

    op: int
    points: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class GetTerrain(Request):
    """
    Request the Terrain at a position, or at the aircraft if any of the three is None (GETT).

    lat and lon are in degrees; alt, metres above mean sea level, is where the probe starts.
    """

    tag: ClassVar[str] = 'GETT'

    aircraft: int = _aircraft()
    lat: float | None = float64(-90.0, 90.0, leave=LEAVE, default=None)
    lon: float | None = float64(-180.0, 180.0, leave=LEAVE, default=None)
    alt: float | None = float64(*ALTITUDE_RANGE, leave=LEAVE, default=None)


@dataclass(frozen=True, slots=True)
class Terrain(Reply):
    """
    The ground below a position (TERR): its height alt in metres above mean sea level.

    normal is a unit vector and velocity in metres per second, both in X-Plane's local axes
    (east, up, south). is_wet is 0 or 1; status is a TerrainStatus, and unless that is HIT,
    lat, lon and alt are -998. Without a velocity it is the 50-byte form, which is documented
    but not sent by any known plugin.
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
class DataRows(Request):
    """
    Write rows of X-Plane's data output table (DATA): a row number, 0..255, and eight values.

    Few rows work (docs/wire/xpc.md, section 2); prefer SetDatarefs.
    """

    tag: ClassVar[str] = 'DATA'

    rows: tuple[tuple[int, float, float, float, float, float, float, float, float], ...]


@dataclass(frozen=True, slots=True)
class _RowNumbers(Request):
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SelectRows(_RowNumbers):
    """Have X-Plane send rows of its data output over the network (DSEL, forwarded to it)."""

    tag: ClassVar[str] = 'DSEL'


@dataclass(frozen=True, slots=True)
class UnselectRows(_RowNumbers):
    """Have X-Plane stop sending rows of its data output (USEL, forwarded to it)."""

    tag: ClassVar[str] = 'USEL'


@dataclass(frozen=True, slots=True)
class SelectCockpitRows(_RowNumbers):
    """Have X-Plane show rows of its data output in the cockpit (DCOC, forwarded to it)."""

    tag: ClassVar[str] = 'DCOC'


@dataclass(frozen=True, slots=True)
class UnselectCockpitRows(_RowNumbers):
    """Have X-Plane stop showing rows of its data output (UCOC, forwarded to it)."""

    tag: ClassVar[str] = 'UCOC'


@dataclass(frozen=True, slots=True)
class Forwarded(Request):
    """Any other datagram that the plugin forwards to X-Plane: one of FORWARDED_TAGS."""

    tag: str  # type: ignore[misc]
    body: bytes


@dataclass(frozen=True, slots=True)
class Beacon(Reply):
    """
    The plugin's beacon, multicast once per second (BECN).

    port is where it listens, xplane_version is e.g. 12010. plugin_version does not distinguish
    releases: all that send a beacon say 1.3-rc.1. padding is the number of NUL bytes after it; the
    plugin sends as many as the text is long.
    """

    tag: ClassVar[str] = 'BECN'

    port: int
    xplane_version: int
    plugin_version: str = '1.3-rc.1'
    padding: int = 8


_OWN = messages(
    bridge=(
        CommandOnce, CommandBegin, CommandEnd, Connect, SetControls, GetControls, Position,
        PlaceAndProbe, GetPosition, SetDatarefs, GetDatarefs, Simulation, Text, SetView,
        EditWaypoints, GetTerrain, DataRows, SelectRows, UnselectRows, SelectCockpitRows,
        UnselectCockpitRows),
    peer=(ConnectReply, ControlsReply, PositionReply, Datarefs, Terrain, Beacon))
MESSAGES: Messages = {
    **_OWN, 'bridge': {**_OWN['bridge'], **dict.fromkeys(FORWARDED_TAGS, Forwarded)}}
