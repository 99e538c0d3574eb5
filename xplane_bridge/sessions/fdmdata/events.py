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

"""What the session with Huginn is asked for, and what it tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from xplane_bridge.protocols.fdmdata import Command, SensorReply
from xplane_bridge.protocols.foreign import Kinds


class PeerState(Enum):
    """How Huginn looks from here; the value says it to a person."""

    UNKNOWN = 'nothing heard yet'
    ANSWERING = 'answering'
    HELD = 'held: it answers, but its data stand still'
    BROKEN = 'its flight model holds NaN'
    AWAY = 'nothing there: Huginn is off or unreachable'


@dataclass(frozen=True, slots=True)
class Wanted:
    """Sensors to be asked together, and how many times per second."""

    commands: tuple[Command, ...]
    rate: float


@dataclass(frozen=True, slots=True)
class Sample:
    """
    The replies of one poll to one entry of the plan, by command.

    A sensor that does not answer is missing.
    """

    name: str
    replies: Mapping[Command, SensorReply]


@dataclass(frozen=True, slots=True)
class PeerChanged:
    """Huginn's state is another one now."""

    state: PeerState


@dataclass(frozen=True, slots=True)
class PeerRecognized:
    """After a silence it is known whether this is the ``same`` Huginn, that had stood still."""

    same: bool


Event = Sample | PeerChanged | PeerRecognized


@dataclass(slots=True)
class Statistics:
    """What happened so far; only ever grows."""

    requests: int = 0
    replies: int = 0
    lost: int = 0
    errors: int = 0
    unexpected: int = 0
    controls: int = 0
    malformed: Kinds = field(
        default_factory=lambda: Kinds(command.name.lower() for command in Command))
    last_error: str = ''
    updates: Counter[str] = field(default_factory=Counter)
