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

"""What the session with a plugin tells its owner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from xplane_bridge.protocols.simpit import Message, Packet
from xplane_bridge.sessions import base


class Game(Enum):
    """
    The game behind the plugin, by the second byte of its SYNACK.

    See docs/wire/simpit.md, section 2.3.
    """

    KSP1 = 'Kerbal Space Program'
    KSP2 = 'Kerbal Space Program 2'


@dataclass(frozen=True, slots=True)
class Telemetry(base.Telemetry):
    """
    One packet on a registered channel: its message by the channel's name in the profile.

    There is no message for an id that the profile has not; a text in it is printable. ``packet``
    is None for what silence says (ActionSilence). ``beside`` is what belongs with the message and
    still holds, by channel: the last values of channels that are sent on a change only.
    """

    packet: Packet | None
    beside: Mapping[str, Message] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Connected:
    """
    The wanted channels are registered after a handshake; profile is the one in use.

    It comes again when profile 'auto' finds out that another one is the right one.
    """

    profile: str
    game: Game


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


@dataclass(slots=True)
class Statistics(base.Statistics):
    """
    What happened so far; only ever grows.

    received counts bytes, drained those among them that came before the first SYN. handshakes
    counts those that were completed, syns the tries. updates counts telemetry by channel name,
    malformed packets of a wrong length by channel.
    """

    received: int = 0
    drained: int = 0
    syns: int = 0
    handshakes: int = 0
    echoes: int = 0
    echoes_lost: int = 0
    commands: int = 0
