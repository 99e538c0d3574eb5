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

"""What a plugin's behaviour tells about it while no telemetry comes."""

from __future__ import annotations

from xplane_bridge.protocols.simpit import Profile
from xplane_bridge.sessions.simpit.advice import without_telemetry
from xplane_bridge.sessions.simpit.contact import Contact
from xplane_bridge.sessions.simpit.echo import Echoes
from xplane_bridge.sessions.simpit.events import ProfileHint, ProfileKnown
from xplane_bridge.sessions.simpit.flight import Flight
from xplane_bridge.sessions.simpit.registration import SILENCE


class Recognition:
    """Conclude from handshakes, echoes and silence which profile the plugin has."""

    def __init__(self, contact: Contact, echoes: Echoes, flight: Flight) -> None:
        self._contact = contact
        self._echoes = echoes
        self._flight = flight

    def profile(self, now: float) -> Profile | None:
        """Return another profile that the plugin turns out to have; it is the one in use now."""
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
        """Return what is new to the user; ``answering`` tells that no telemetry comes."""
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
