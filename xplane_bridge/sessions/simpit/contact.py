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

"""Whether a plugin answers on the line: the handshake, and silence."""

from __future__ import annotations

from collections.abc import Collection

from xplane_bridge.protocols import simpit
from xplane_bridge.protocols.simpit import Framing, Handshake, HandshakeType, Profile
from xplane_bridge.sessions.simpit.dialect import ProfileFinder
from xplane_bridge.sessions.simpit.events import Game
from xplane_bridge.sessions.simpit.registration import SILENCE
from xplane_bridge.sessions.simpit.search import Search

# Bytes waiting in drivers and adapters are older than our SYN: discarded before it.
_DRAIN = 0.05
# Without registered telemetry a SYN checks for a plugin; plugins answer it in every scene. While
# that is all they answer, the game is in a menu, and is asked less often.
_LONGEST_SILENCE = 12.0
# Between two packets of telemetry: a longer pause than this, and than twice the usual one, is
# evidence of a loss. The usual one is the longest of late; this part of it is forgotten with each.
_SHORTEST_GAP = 0.2
_FORGOTTEN = 0.1


class Contact:
    """
    The plugin at the other end: whether it answers, what it is, and since when it is silent.

    ``search`` sends SYNs and cuts the stream into packets, ``finder`` detects the profile.
    ``hint`` is what the user should check, empty while all is well. ``heard_at`` is when telemetry
    or a handshake was last received, ``usual_gap`` the longest pause in it of late. Times are in
    seconds.
    """

    def __init__(self, chosen: Profile | None, id_bytes: bytes) -> None:
        if len(id_bytes) >= simpit.MAX_PAYLOAD:
            raise ValueError(f'{len(id_bytes)} ID bytes, at most {simpit.MAX_PAYLOAD - 1} fit')
        self.search = Search((chosen.framing,) if chosen else ('cobs', 'aa50'), id_bytes)
        self.finder = ProfileFinder(chosen)
        self.connected = False
        self.game: Game | None = None
        self.hint = ''
        self.heard_at = 0.0
        self.usual_gap = 0.0
        self._ack = Handshake(HandshakeType.ACK, id_bytes)
        # Until when its silence does not matter.
        self._silence = SILENCE

    @property
    def profile(self) -> Profile | None:
        """Return the profile in use; None with 'auto' until a plugin has answered."""
        return self.finder.profile

    def begin(self, now: float) -> None:
        """Search from the start."""
        self.search.begin(now + _DRAIN)

    def part(self) -> None:
        """Forget the plugin: the next one may be another."""
        self.connected = False
        self.search.reset()
        self._silence = SILENCE
        self.usual_gap = 0.0
        self.hint = ''
        self.game = None
        self.finder.forget()

    def heard(self, now: float) -> bool:
        """Note that telemetry arrived; return whether the pause before it was unusually long."""
        gap, usual = now - self.heard_at, self.usual_gap
        if gap < SILENCE:
            self.usual_gap = max(gap, usual + _FORGOTTEN * (gap - usual))
        self.heard_at = now
        self._silence = SILENCE
        return gap > max(_SHORTEST_GAP, 2.0 * usual)

    def is_lost(self, now: float) -> bool:
        """Return whether enough SYNs remain unanswered, although one is due now."""
        # Telemetry that resumed meanwhile is an answer too, as long as it arrives.
        quiet = max(self.search.since, now - SILENCE)
        return self.search.is_unanswered and (not self.connected or self.heard_at < quiet)

    def syn(self, now: float) -> bytes:
        """Return the SYN that is due."""
        data = self.search.syn(now)
        self.finder.asked(self.search.noise, now)
        return data

    def answer(self, framing: Framing, message: Handshake, now: float) -> tuple[Profile, bytes]:
        """Accept a SYNACK; return the profile to speak, and the ACK."""
        profile = self.finder.answered(framing, now)
        self.search.found(framing)
        self.game = Game.KSP2 if message.rest[:1] == bytes((simpit.KSP2_ID,)) else Game.KSP1
        self.heard_at = now
        return profile, simpit.encode(self._ack, 'bridge', profile)

    def is_silent(self, now: float) -> bool:
        """Return whether it has just been silent for long; if so, ask for a sign of life."""
        # A missing echo says nothing: plugins before 2.3 echo in the flight scene only.
        if self.search.at is not None or not self.connected or (
                now < self.heard_at + self._silence):
            return False
        self._silence = min(_LONGEST_SILENCE, 2.0 * self._silence)
        self.search.begin(now)
        return True

    @property
    def deadline(self) -> float | None:
        """Return when to look again."""
        times = [self.search.deadline, self.search.at, self.finder.deadline]
        if self.connected and self.search.at is None:
            times.append(self.heard_at + self._silence)
        return min((at for at in times if at is not None), default=None)


class Reunion:
    """
    Whether a plugin that answers again is the one that stopped.

    ``channels`` are those that it had registered.
    """

    def __init__(self, channels: Collection[int] = ()) -> None:
        self._channels = frozenset(channels)
        self.is_same = False

    def hear(self, channel_id: int) -> None:
        """Note a packet received before the handshake."""
        # Only the plugin that we registered with has a reason to send this.
        self.is_same |= channel_id in self._channels
