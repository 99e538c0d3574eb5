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

"""Events that the session with a plugin reports to its owner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from xplane_bridge.bridges.sessions import base
from xplane_bridge.bridges.simpit.protocol import Packet, Profile, SimpitMessage


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
    One packet on a registered channel: its message, by the channel's name in the profile.

    An id that the profile lacks has no message; text in it is printable. ``packet`` is None for
    what silence implies (ActionSilence). ``beside`` holds related values that are still valid, by
    channel: the last ones from channels that are sent on change only.
    """

    packet: Packet | None
    beside: Mapping[str, SimpitMessage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lapsed:
    """
    What was last received on these channels may have changed unseen.

    It cannot be requested: plugins send them on change only.
    """

    channels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shared:
    """
    One packet, as received, on a channel that a cockpit wants.

    ``name`` is the channel's in the game's profile, empty if that has no such channel.
    """

    name: str
    packet: Packet


@dataclass(frozen=True, slots=True)
class Presence:
    """
    What a cockpit must know of the game.

    ``connected``: a plugin answers. ``profile`` is that in use, None while it is not known for
    certain. ``in_flight``: telemetry arrives.
    """

    connected: bool = False
    profile: Profile | None = None
    is_ksp2: bool = False
    in_flight: bool = False


@dataclass(frozen=True, slots=True)
class Connected:
    """
    The wanted channels are registered after a handshake; profile is the one in use.

    It is repeated if profile 'auto' finds that another one is right.
    """

    profile: str
    game: Game


@dataclass(frozen=True, slots=True)
class ProfileHint:
    """
    Registered telemetry does not arrive; text says why that may be.

    profile is the one to try instead, empty if nothing contradicts the present one.
    """

    profile: str
    text: str


@dataclass(frozen=True, slots=True)
class ProfileKnown:
    """Among 2.2 and later it is this one; text gives the evidence."""

    profile: str
    text: str


@dataclass(frozen=True, slots=True)
class EchoDone:
    """
    The end of one ping: what came back and after how many seconds, or None and the reason.

    Plugins before 2.0 truncate the answer to 28 bytes.
    """

    ticket: int
    payload: bytes
    round_trip: float | None
    error: str = ''


@dataclass(slots=True)
class Statistics(base.Statistics):
    """
    Monotonic counters.

    received counts bytes, drained those among them that arrived before the first SYN. handshakes
    counts completed ones, syns the attempts. updates counts telemetry by channel name, malformed
    packets of a wrong length by channel.
    """

    received: int = 0
    drained: int = 0
    syns: int = 0
    handshakes: int = 0
    echoes: int = 0
    echoes_lost: int = 0
    commands: int = 0
