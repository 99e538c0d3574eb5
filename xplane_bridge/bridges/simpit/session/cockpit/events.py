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

"""Events and counters of the plugin's side towards a cockpit."""

from __future__ import annotations

from dataclasses import dataclass, field

from xplane_bridge.bridges.protocols.kinds import Kinds
from xplane_bridge.bridges.sessions import base
from xplane_bridge.bridges.simpit.protocol import Packet, SimpitMessage


@dataclass(frozen=True, slots=True)
class CockpitWants:
    """
    The channels that a cockpit wants from now on, by name, or by id if its profile has no name.

    Those ``again`` it has just requested: values that are sent on change only are due anew.
    """

    channels: tuple[str | int, ...]
    again: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class CockpitCommand:
    """A command of a cockpit: its packet as received, and what it means, or the packet itself."""

    message: SimpitMessage | Packet
    packet: Packet


@dataclass(frozen=True, slots=True)
class CockpitLeft:
    """A cockpit is unplugged, has started anew, or has closed its port: its axes are released."""

    why: str


@dataclass(slots=True)
class CockpitStatistics(base.Statistics):
    """
    Monotonic counters of the line to a cockpit.

    received and sent count packets, held_back packets of telemetry that were replaced by newer
    ones because the line is slow. refused counts commands, by name, that nobody obeyed, dropped
    what the other side has no channel for or could not take.
    """

    received: int = 0
    sent: int = 0
    handshakes: int = 0
    refused: Kinds = field(default_factory=Kinds)
    dropped: Kinds = field(default_factory=Kinds)
