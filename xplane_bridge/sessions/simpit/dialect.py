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

"""Which profile the plugin at the other end has, from its behaviour on the wire."""

from __future__ import annotations

from typing import Any

from xplane_bridge.protocols.simpit import Framing, Profile, PROFILES
from xplane_bridge.sessions.simpit.events import Game, ProfileKnown
from xplane_bridge.sessions.simpit.reads import LONG_ANSWER, SHORT_ANSWER

AUTO = 'auto'
"""In place of a profile's name: detect it."""

# Spoken in each framing before more is known about the plugin.
FIRST_PROFILE: dict[Framing, Profile] = {'cobs': PROFILES['cobs'], 'aa50': PROFILES['v0']}

# Plugins 1.2.1 to 1.4 pad every packet to 32 bytes, the SYNACK with 26, in one write.
_PADDING = 20
_SETTLING = 0.1
# A later answer to a SYN says nothing about the bytes in between.
_PROMPT = 0.5
# An echo in flight, and for this long no altitude on the channel of v0: it is not v0.
_PATIENCE = 2.0
# This many echoes in a row without telemetry cannot be explained by a scene being loaded.
_ECHOES = 4
_OUTSIDE = 5.0


def chosen_profile(name: str) -> Profile | None:
    """Return the profile of this name, None for 'auto'; raise ValueError if it is unknown."""
    if name != AUTO and name not in PROFILES:
        raise ValueError(
            f"profile '{name}': must be auto, {', '.join(PROFILES)} (by plugin: "
            f"{', '.join(f'{p.name} {p.plugins}' for p in PROFILES.values())})")
    return PROFILES.get(name)


class ProfileFinder:
    """
    The profile in use, and the evidence that tells profiles apart.

    ``chosen`` is the user's, None for 'auto'. The framing tells cobs from the others. Among those,
    padded packets mean v1, an echo of 32 bytes that comes back whole means v2, one truncated to 28
    without altitude on 4 means v1, and altitude on 4 means v0. With cobs, an echo outside the
    flight scene or a vessel change means v2.3; nothing proves v2.2, and until it is known neither
    is sent anything harmful. Times are in seconds.
    """

    def __init__(self, chosen: Profile | None) -> None:
        self.chosen = chosen
        self.forget()

    def forget(self) -> None:
        """Forget the evidence: the plugin is gone, or another one."""
        self.profile = self.chosen
        # Whether commands mean to this plugin what they say.
        self.confirmed = self.chosen is not None
        # Whether the last answer to a SYN was padded, and how many in a row were.
        self.padded = 0
        self._prompt = False
        self._settled_at: float | None = None
        self._noise: dict[Framing, int] = {}
        self._asked_at = 0.0
        self._echo_at: float | None = None

    def asked(self, noise: dict[Framing, int], now: float) -> None:
        """Note a SYN, with the counts of bytes outside packets so far."""
        self._noise = noise
        self._asked_at = now

    def answered(self, framing: Framing, now: float) -> Profile:
        """Note a SYNACK; return the profile to speak."""
        if self.profile is None or self.profile.framing != framing:
            self.profile = FIRST_PROFILE[framing]
            self.confirmed = framing == 'cobs'
        self._prompt = framing == 'aa50' and now < self._asked_at + _PROMPT
        self._settled_at = now + _SETTLING
        return self.profile

    @property
    def deadline(self) -> float | None:
        """Return when settled() has a result."""
        return self._settled_at

    def settled(self, framing: Framing, noise: int, now: float) -> bool:
        """
        Consider the bytes behind a SYNACK; return whether they have all arrived.

        ``noise`` is the present count of bytes outside packets of this framing.
        """
        if self._settled_at is None or now < self._settled_at:
            return False
        self._settled_at = None
        padding = noise - self._noise.get(framing, noise)
        self.padded = self.padded + 1 if self._prompt and padding >= _PADDING else 0
        return True

    def telemetry(self, name: str) -> list[Any]:
        """Note telemetry on a channel of the profile; return the event if that identifies it."""
        self._echo_at = None
        if name:
            self.confirmed = True
        if name == 'vessel_change' and self.profile is PROFILES['cobs']:
            self.profile = PROFILES['v2.3']
            return [ProfileKnown(self.profile.name, 'it reports a vessel change')]
        return []

    def echo(self, now: float) -> None:
        """Note that an echo came back while there was no telemetry."""
        if self._echo_at is None:
            self._echo_at = now

    def candidate(self, *, answer_size: int | None, repeated: bool, now: float) -> Profile | None:
        """
        Return the profile that the evidence tells 'auto' to change to, if any.

        ``answer_size`` is how many of 32 bytes an echo brought back; ``repeated`` says that the
        channels were registered twice since telemetry arrived, so that not both were lost.
        """
        if self.confirmed or self.profile is not PROFILES['v0']:
            return None
        if answer_size == LONG_ANSWER:
            return PROFILES['v2']
        if self.padded >= 2:
            return PROFILES['v1']
        if (
            answer_size == SHORT_ANSWER and repeated
            and self._echo_at is not None and now >= self._echo_at + _PATIENCE
        ):
            return PROFILES['v1']
        return None

    def adopt(self, profile: Profile) -> None:
        """Speak this profile."""
        self.profile = profile
        self.confirmed = True

    def outside(
        self, *, streak: int, since: float, repeated: bool, game: Game | None, now: float
    ) -> bool:
        """
        Return whether echoes outside the flight scene have just told 2.3 from 2.2.

        ``streak`` is how many echoes in a row came back, ``since`` the time of the last telemetry.
        2.2 answers as long as its flight scene lives, whose telemetry does not stop before.
        """
        if (
            self.profile is not PROFILES['cobs'] or game is not Game.KSP1 or not repeated
            or streak < _ECHOES or now < since + _OUTSIDE
        ):
            return False
        self.profile = PROFILES['v2.3']
        return True

    def doubt(self) -> None:
        """Note that echoes are missing: the next may be from another plugin of this framing."""
        if self.profile is PROFILES['v2.3'] and self.chosen is not PROFILES['v2.3']:
            self.profile = PROFILES['cobs']
