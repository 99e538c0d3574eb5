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

"""What a session with an X-Plane Connect plugin tells its owner."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from xplane_bridge.protocols.foreign import Kinds
from xplane_bridge.protocols.xpc import MESSAGES, PositionReply, Reply
from xplane_bridge.sessions.base import CommandDone


class PeerState(Enum):
    """How the plugin's side looks from here; the value says it to a person."""

    UNKNOWN = 'nothing heard yet'
    ANSWERING = 'answering'
    LOADING = 'X-Plane is there but not answering: a menu, or loading scenery'
    AWAY = 'nothing there: X-Plane is off, unreachable, or without the plugin'


class Generation(Enum):
    """Generations of the plugin (docs/wire/xpc.md, section 6); develop cannot be told from rc6."""

    V1_2_1 = '1.2.1'
    RC5 = 'rc5'
    RC6 = 'rc6'
    DEVELOP = 'develop'

    @property
    def has_commands(self) -> bool:
        """Tell whether COMM, GETT and POST exist."""
        return self in (Generation.RC6, Generation.DEVELOP)


@dataclass(frozen=True, slots=True)
class Telemetry:
    """
    One aircraft at one frame: its position, and its datarefs in the order they were asked for.

    A dataref that this X-Plane does not know is an empty tuple.
    """

    aircraft: int
    position: PositionReply
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class WatchedDatarefs:
    """
    The datarefs chosen by the user, all asked for at once.

    One that this X-Plane does not know, or whose reply was lost, is an empty tuple.
    """

    names: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class ReadDone:
    """The end of one read: its replies in order, or none and the reason."""

    ticket: int
    replies: tuple[Reply, ...]
    error: str = ''


@dataclass(frozen=True, slots=True)
class PeerChanged:
    """The peer's state is another one now."""

    state: PeerState


@dataclass(frozen=True, slots=True)
class PeerReplaced:
    """Another instance of X-Plane answers than before, for this reason."""

    reason: str


Event = Telemetry | WatchedDatarefs | ReadDone | PeerChanged | PeerReplaced | CommandDone


@dataclass(slots=True)
class Statistics:
    """What happened so far; only ever grows."""

    requests: int = 0
    replies: int = 0
    lost: int = 0
    split: int = 0
    repeated: int = 0
    unexpected: int = 0
    held_back: int = 0
    watched: int = 0
    malformed: Kinds = field(default_factory=lambda: Kinds(MESSAGES['peer']))
    last_error: str = ''
    updates: Counter[int] = field(default_factory=Counter)
