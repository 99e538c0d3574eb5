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

"""What a session with X-Plane tells its owner."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from xplane_bridge.protocols.foreign import Kinds
from xplane_bridge.protocols.xplane_udp import Becn, RposReply, Segment
from xplane_bridge.sessions.base import CommandDone

# Of what X-Plane sends; malformed datagrams are counted by their labels, which may be any.
_LABELS = ('BECN', 'DATA', 'DREF', 'RADR', 'RPOS', 'RREF')


class PeerState(Enum):
    """How X-Plane's side looks from here; the value says it to a person."""

    SEARCHING = 'no beacon of an X-Plane heard yet'
    UNKNOWN = 'nothing heard yet'
    ANSWERING = 'answering'
    LOADING = 'X-Plane is there but sends nothing: it loads, or its data output is not set'
    AWAY = 'nothing comes: X-Plane is off, unreachable, or sends its data elsewhere'


@dataclass(frozen=True, slots=True)
class Telemetry:
    """
    The user's aircraft at one frame: its pose, and its datarefs in the order asked for.

    A dataref that does not come is None; so is the pose, if only the datarefs come.
    """

    pose: RposReply | None
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class RowTelemetry:
    """The rows that the telemetry needs, those of one frame."""

    version: int
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class DataArrived:
    """One DATA datagram, whatever rows it has."""

    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class WatchedDatarefs:
    """The datarefs chosen by the user, those of one frame; None does not come."""

    names: tuple[str, ...]
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class ReadDone:
    """The end of one read: a value or None (unknown) for each name, or none and the reason."""

    ticket: int
    values: tuple[float | None, ...]
    error: str = ''


@dataclass(frozen=True, slots=True)
class PeerChanged:
    """The peer's state is another one now."""

    state: PeerState


@dataclass(frozen=True, slots=True)
class VersionFound:
    """The version is known now, or another one."""

    version: int


@dataclass(frozen=True, slots=True)
class BeaconHeard:
    """
    A beacon came; who knows the address it came from tells the session by hear().

    The computer's name in it is printable.
    """

    beacon: Becn


Event = (
    Telemetry | RowTelemetry | DataArrived | WatchedDatarefs | ReadDone | CommandDone
    | PeerChanged | VersionFound | BeaconHeard)


@dataclass(slots=True)
class Statistics:
    """What happened so far; only ever grows."""

    updates: int = 0
    watched: int = 0
    rows: int = 0
    asked: int = 0
    asked_again: int = 0
    split: int = 0
    unexpected: int = 0
    held_back: int = 0
    malformed: Kinds = field(default_factory=lambda: Kinds(_LABELS))
    last_error: str = ''
