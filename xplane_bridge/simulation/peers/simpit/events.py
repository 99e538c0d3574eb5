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

"""Events that the simulated plugin reports to its owner."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from xplane_bridge.bridges.protocols.kinds import Kinds
from xplane_bridge.bridges.simpit.protocol import SimpitMessage


@dataclass(frozen=True, slots=True)
class DeviceCommand:
    """
    What a device made the plugin do, one effect per event.

    An ActionGroups message holds what remains of all that arrived within one frame of the game;
    STAGE in it, activated or toggled, fires the next stage. A CustomActionGroups message names
    one group.
    """

    message: SimpitMessage


@dataclass(frozen=True, slots=True)
class DeviceHandshake:
    """A device sent a SYN (0), SYNACK (1) or ACK (2), followed by these bytes."""

    handshake: int
    rest: bytes


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """The channels that the device now gets; one that it gets n times is listed n times."""

    channels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PortDeaf:
    """The plugin no longer reads this port: ``text`` says why, ``remedy`` what revives it."""

    text: str
    remedy: str


PluginEvent = DeviceCommand | DeviceHandshake | Subscriptions | PortDeaf


@dataclass(slots=True)
class PluginStatistics:
    """Counts since the start; they never decrease."""

    received: int = 0
    packets: int = 0
    ignored: int = 0
    malformed: Kinds = field(default_factory=Kinds)
    last_error: str = ''
    sent: Counter[int] = field(default_factory=Counter)
