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

"""What the two ends of a KerbalSimpit conversation tell their owners."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from xplane_bridge.protocols.foreign import Kinds
from xplane_bridge.protocols.simpit import Message, Packet
from xplane_bridge.sessions.base import CommandDone

# What both ends name the one channel of a serial link.
CHANNEL = 'serial'


class PeerState(Enum):
    """How the plugin's side looks from here; the value says it to a person."""

    UNKNOWN = 'nothing heard yet'
    CLOSED = 'the serial port is not open'
    AWAY = 'no answer to the handshake'
    ANSWERING = 'connected, but no telemetry comes'
    STREAMING = 'telemetry comes'


class Game(Enum):
    """
    The game behind the plugin, by the second byte of its SYNACK.

    See docs/wire/simpit.md, section 2.3.
    """

    KSP1 = 'Kerbal Space Program'
    KSP2 = 'Kerbal Space Program 2'


@dataclass(frozen=True, slots=True)
class Telemetry:
    """
    One packet on a registered channel.

    name is the channel's in the profile, empty for an id that the profile has not; message is
    None then, and a text in it is printable. packet is None for what silence says (ActionSilence).
    """

    name: str
    packet: Packet | None
    message: Message | None


@dataclass(frozen=True, slots=True)
class Connected:
    """
    The wanted channels are registered after a handshake; profile is the one in use.

    It comes again when profile 'auto' finds out that another one is the right one.
    """

    profile: str
    game: Game


@dataclass(frozen=True, slots=True)
class PeerChanged:
    """The peer's state is another one now."""

    state: PeerState


@dataclass(frozen=True, slots=True)
class ProfileHint:
    """
    Registered telemetry stays away; text says why that may be.

    profile is the one to try instead, empty where nothing speaks against the present one.
    """

    profile: str
    text: str


@dataclass(frozen=True, slots=True)
class ProfileKnown:
    """Of 2.2 and later it is this one; text says what told."""

    profile: str
    text: str


@dataclass(frozen=True, slots=True)
class EchoDone:
    """
    The end of one ping: what came back and after how many seconds, or None and the reason.

    Plugins before 2.0 cut what comes back to 28 bytes.
    """

    ticket: int
    payload: bytes
    round_trip: float | None
    error: str = ''


Event = (
    Telemetry | Connected | PeerChanged | ProfileHint | ProfileKnown | EchoDone | CommandDone)


@dataclass(slots=True)
class Statistics:
    """
    What happened so far on the device's side; only ever grows.

    received counts bytes, drained those among them that came before the first SYN. handshakes
    counts those that were completed, syns the tries. updates counts telemetry by channel name.
    malformed counts packets of a wrong length by channel; unexpected those that nobody asked
    for. held_back counts axis values that a newer one replaced before they were sent.
    """

    received: int = 0
    drained: int = 0
    syns: int = 0
    handshakes: int = 0
    updates: Counter[str] = field(default_factory=Counter)
    malformed: Kinds = field(default_factory=Kinds)
    unexpected: int = 0
    last_error: str = ''
    echoes: int = 0
    echoes_lost: int = 0
    commands: int = 0
    held_back: int = 0


@dataclass(frozen=True, slots=True)
class Command:
    """
    What a device made the plugin do, one effect an event.

    An ActionGroups message holds what is left of all that came within one frame of the game;
    STAGE in it, activated or toggled, fires the next stage. A CustomActionGroups message names
    one group.
    """

    message: Message


@dataclass(frozen=True, slots=True)
class DeviceHandshake:
    """A device sent a SYN (0), SYNACK (1) or ACK (2), with these bytes behind it."""

    handshake: int
    rest: bytes


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """The channels that the device gets now; one that it gets n times is in there n times."""

    channels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PortDeaf:
    """The plugin does not read this port any more; text says what ended it."""

    text: str


PluginEvent = Command | DeviceHandshake | Subscriptions | PortDeaf


@dataclass(slots=True)
class PluginStatistics:
    """What happened so far on the plugin's side; only ever grows."""

    received: int = 0
    packets: int = 0
    ignored: int = 0
    malformed: Kinds = field(default_factory=Kinds)
    last_error: str = ''
    sent: Counter[int] = field(default_factory=Counter)
