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

"""Conclusions from a plugin's silence, and from its behaviour while no telemetry arrives."""

from __future__ import annotations

from xplane_bridge.protocols.simpit import Profile
from xplane_bridge.sessions.simpit.contact import Contact
from xplane_bridge.sessions.simpit.events import ProfileHint, ProfileKnown
from xplane_bridge.sessions.simpit.flight import Flight
from xplane_bridge.sessions.simpit.reads import Echoes, LONG_ANSWER, SHORT_ANSWER
from xplane_bridge.sessions.simpit.registration import SILENCE


class Recognition:
    """Infer from handshakes, echoes and silence which profile the plugin has."""

    def __init__(self, contact: Contact, echoes: Echoes, flight: Flight) -> None:
        self._contact = contact
        self._echoes = echoes
        self._flight = flight

    def profile(self, now: float) -> Profile | None:
        """Return another profile that the plugin turns out to have; it is now in use."""
        contact, finder = self._contact, self._contact.finder
        found = finder.candidate(
            answer_size=self._echoes.answer_size, repeated=self._flight.is_silent(now), now=now)
        if found is not None:
            finder.adopt(found)
            contact.hint = ''
            self._flight.meet(now)
        elif not finder.confirmed and finder.padded == 1 and contact.search.at is None:
            # Noise may look like it once, hardly twice.
            contact.search.begin(now)
        return found

    def events(self, now: float, *, answering: bool) -> list[ProfileKnown | ProfileHint]:
        """Return what is new to the user; ``answering`` says that no telemetry arrives."""
        contact, finder = self._contact, self._contact.finder
        events: list[ProfileKnown | ProfileHint] = []
        if finder.outside(
            streak=self._echoes.streak, since=self._flight.telemetry_at,
            repeated=self._flight.is_silent(now), game=contact.game, now=now,
        ):
            events.append(ProfileKnown('v2.3', 'it echoes outside the flight scene'))
        profile = contact.profile
        if answering and profile is not None and now >= self._flight.telemetry_at + SILENCE:
            better, text = without_telemetry(
                profile, chosen=finder.chosen is not None, padded=finder.padded > 0,
                answer_size=self._echoes.answer_size)
            if text != contact.hint:
                contact.hint = text
                events.append(ProfileHint(better, text))
        return events


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
