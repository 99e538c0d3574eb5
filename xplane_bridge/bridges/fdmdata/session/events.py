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

"""Requests to the session with Huginn, and its events."""

from __future__ import annotations

from dataclasses import dataclass, field

from xplane_bridge.bridges.fdmdata.protocol import Command
from xplane_bridge.bridges.protocols.kinds import Kinds
from xplane_bridge.bridges.sessions import base


@dataclass(frozen=True, slots=True)
class PollEntry:
    """Sensors to poll together, and how many times per second."""

    commands: tuple[Command, ...]
    rate: float


@dataclass(frozen=True, slots=True)
class Telemetry(base.Telemetry):
    """
    The replies of one poll for the entry ``name`` of the plan, by sensor.

    Sensors that do not answer are missing.
    """

    name: str


@dataclass(frozen=True, slots=True)
class PeerRecognized:
    """
    Whether this is the ``same`` Huginn, which was only frozen.

    ``why`` says, of another one, how that is known.
    """

    same: bool
    why: str = ''


@dataclass(slots=True)
class Statistics(base.Statistics):
    """
    Monotonic counters: updates counts by entry of the plan.

    repeats are polls of an entry that have brought what the one before had: Huginn has made no
    step meanwhile.
    """

    requests: int = 0
    replies: int = 0
    lost: int = 0
    errors: int = 0
    controls: int = 0
    repeats: int = 0
    malformed: Kinds = field(
        default_factory=lambda: Kinds(command.name.lower() for command in Command))
