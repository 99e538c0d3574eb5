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

"""Events of a session with X-Plane, in addition to those of all sessions."""

from __future__ import annotations

from dataclasses import dataclass, field

from xplane_bridge.bridges.protocols.kinds import Kinds
from xplane_bridge.bridges.sessions import base
from xplane_bridge.bridges.xplane_udp.protocol import RposReply, Segment

# X-Plane's own labels; malformed datagrams are counted by label, which may be anything.
_LABELS = ('BECN', 'DATA', 'DREF', 'RADR', 'RPOS', 'RREF')


@dataclass(frozen=True, slots=True)
class Telemetry(base.Telemetry):
    """
    The user's aircraft at one frame: its pose, and its datarefs by name.

    A dataref that does not arrive is missing; the pose is None if only the datarefs arrive.
    """

    pose: RposReply | None


@dataclass(frozen=True, slots=True)
class RowTelemetry:
    """The rows needed for telemetry, from one frame."""

    version: int
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class DataArrived:
    """One DATA datagram, with any rows."""

    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class WatchedDatarefs:
    """Datarefs that are watched for one of WATCHES, from one frame; None is missing."""

    names: tuple[str, ...]
    values: tuple[float | None, ...]
    watch: str


@dataclass(frozen=True, slots=True)
class VersionFound:
    """The version is now known, or has changed."""

    version: int


TELEMETRY, DATAREFS, TRAFFIC, FLIGHT_IDS = 'telemetry', 'datarefs', 'traffic', 'flight IDs'
"""Sources of updates: the aircraft, and the watched datarefs."""

WATCHES = (DATAREFS, TRAFFIC, FLIGHT_IDS)
"""For whom datarefs are watched: the user; TCAS targets, and what is seldom new of these."""


@dataclass(slots=True)
class Statistics(base.Statistics):
    """Monotonic counters: updates counts TELEMETRY, and each of WATCHES."""

    rows: int = 0
    asked_again: int = 0
    split: int = 0
    malformed: Kinds = field(default_factory=lambda: Kinds(_LABELS))
