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

from xplane_bridge.bridges.simpit.protocol import Framing, Profile, PROFILES
from xplane_bridge.bridges.simpit.session.events import Game, ProfileHint, ProfileKnown

AUTO = 'auto'
"""In place of a profile's name: detect it."""

# Plugins before 2.0 truncate an echo of 32 bytes (docs/wire/simpit.md, section 2.2).
LONG_ANSWER = 32
SHORT_ANSWER = 28

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


class SpokenDialect:
    """
    The profile in use, and the evidence that tells profiles apart.

    ``chosen`` is the user's, None for 'auto'. The framing tells cobs from the others. Among those,
    padded packets mean v1, an echo of 32 bytes that comes back whole means v2, one truncated to 28
    without altitude on 4 means v1, and altitude on 4 means v0. With cobs, an echo outside the
    flight scene or a vessel change means v2.3; nothing proves v2.2, and until it is known neither
    is sent anything harmful. ``hint`` is what the user should check while telemetry is missing.
    Times are in seconds.
    """

    def __init__(self, chosen: Profile | None) -> None:
        self.chosen = chosen
        self.forget()

    def forget(self) -> None:
        """Forget the evidence: the plugin is gone, or another one."""
        self.profile = self.chosen
        self.hint = ''
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

    @property
    def is_padded_once(self) -> bool:
        """Return whether one padded answer may mean v1, which a second one would show."""
        return not self.confirmed and self.padded == 1

    def on_message(self, name: str) -> list[ProfileKnown]:
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
        Return whether echoes outside the flight scene tell 2.3 from 2.2.

        ``streak`` is how many echoes in a row came back, ``since`` the time of the last telemetry.
        2.2 answers as long as its flight scene lives, whose telemetry does not stop before.
        """
        return (
            self.profile is PROFILES['cobs'] and game is Game.KSP1 and repeated
            and streak >= _ECHOES and now >= since + _OUTSIDE)

    def doubt(self) -> None:
        """Note that echoes are missing: the next may be from another plugin of this framing."""
        if self.profile is PROFILES['v2.3'] and self.chosen is not PROFILES['v2.3']:
            self.profile = PROFILES['cobs']

    def advise(self, answer_size: int | None) -> list[ProfileHint]:
        """Return the event if there is something new to check while telemetry is missing."""
        if self.profile is None:
            return []
        better, text = without_telemetry(
            self.profile, chosen=self.chosen is not None, padded=self.padded > 0,
            answer_size=answer_size)
        if text == self.hint:
            return []
        self.hint = text
        return [ProfileHint(better, text)]


def without_answer(chosen: Profile | None) -> str:
    """Return what may be wrong while no SYN is answered; ``chosen`` is None with 'auto'."""
    text = (
        'no answer to the handshake: is the game running with Kerbal Simpit, is the plugin '
        'configured for its end of this cable and the same baud rate, and was that port started?')
    if chosen is None:
        return text
    other = "'v2' or older" if chosen.framing == 'cobs' else "'cobs'"
    return (f'{text} Is the plugin {chosen.plugins}? If not, try {other}, or '
            "'auto', as profile.")


def without_telemetry(
    profile: Profile, *, chosen: bool, padded: bool, answer_size: int | None
) -> tuple[str, str]:
    """
    Return the profile to try while registered telemetry is missing, and a sentence about it.

    The profile is empty if nothing contradicts the present one. ``chosen`` says that the user
    named it; ``padded`` that the last answer to a SYN was padded; ``answer_size`` is how much of
    an echo of 32 bytes came back, None if nothing did.
    """
    name = profile.name
    start = f"no telemetry on the channels of profile '{name}' (plugins {profile.plugins}): "
    if profile.framing == 'aa50' and chosen:
        if answer_size == LONG_ANSWER and name != 'v2':
            return 'v2', (
                f"{start}the plugin echoes all 32 bytes like 2.0 and 2.1, set profile 'v2'")
        if padded and answer_size != LONG_ANSWER and name != 'v1':
            return 'v1', (
                f"{start}the plugin pads its packets like 1.2.1 to 1.4, set profile 'v1'")
        if answer_size == SHORT_ANSWER and not padded:
            other = 'v0' if name == 'v1' else 'v1'
            return other, (
                f'{start}the plugin echoes 28 of 32 bytes, as those before 2.0 do in flight, '
                f"try profile '{other}'")
    if profile.framing == 'aa50' and not chosen and name == 'v0':
        return '', (
            f'{start}only the flight scene shows which of the older plugins it is; to settle it '
            "now, set profile 'v2' (2.0 and 2.1), 'v1' (0.8 to 1.4) or 'v0'")
    return '', f'{start}is the game in the flight scene?'
