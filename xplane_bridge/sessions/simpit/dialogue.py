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

"""What the session itself says to a plugin, before all commands: handshake and registrations."""

from __future__ import annotations

from xplane_bridge.protocols import simpit
from xplane_bridge.protocols.simpit import Framing, Handshake, Message, Profile
from xplane_bridge.sessions.simpit.contact import Contact, Reunion
from xplane_bridge.sessions.simpit.events import Connected, Statistics
from xplane_bridge.sessions.simpit.flight import Flight
from xplane_bridge.sessions.simpit.outbox import Outbox
from xplane_bridge.sessions.simpit.reads import Echoes
from xplane_bridge.sessions.simpit.registration import Registration

# A plugin requests one echo at a time; no more answers than this are queued.
_MOST_ANSWERS = 32


class Dialogue:
    """
    Open and close a conversation: SYN, ACK, the wanted channels, what it is owed.

    ``reunion`` is about a plugin that stopped responding.
    """

    def __init__(
        self, contact: Contact, registration: Registration, flight: Flight, outbox: Outbox,
        echoes: Echoes, statistics: Statistics,
    ) -> None:
        self.reunion = Reunion()
        self._contact = contact
        self._registration = registration
        self._flight = flight
        self._outbox = outbox
        self._echoes = echoes
        self._statistics = statistics
        self._urgent: list[bytes] = []

    def say(self, *messages: Message) -> None:
        """Queue messages of the session."""
        profile = self._contact.profile
        if profile is not None:
            self.send(*(simpit.encode(message, 'bridge', profile) for message in messages))

    def send(self, *data: bytes) -> None:
        """Queue bytes after those already queued."""
        self._urgent += data

    def answer_echo(self, payload: bytes) -> bool:
        """Answer an echo request, unless too many are queued; return whether it was answered."""
        if len(self._urgent) >= _MOST_ANSWERS:
            return False
        self.say(simpit.EchoResponse(payload))
        return True

    def outgoing(self) -> list[bytes]:
        """Remove and return what is to be sent now."""
        urgent, self._urgent = self._urgent, []
        return urgent

    def part(self, *, away: bool = False) -> None:
        """Forget the plugin: the next one may be another; ``away``: it may also be the same."""
        self.reunion = Reunion(self._registration.ids if away else ())
        if not away:
            self._outbox.disown()
        self._contact.part()
        self._registration.forget()

    def ask(self, now: float) -> None:
        """Send the SYN that is due."""
        self.send(self._contact.syn(now))
        self._statistics.syns += 1

    def answer(self, framing: Framing, message: Handshake, now: float) -> Connected:
        """Answer a SYNACK: ACK, then the wanted channels."""
        contact = self._contact
        profile, ack = contact.answer(framing, message, now)
        if not contact.connected:
            self._meet(profile, now)
        self._statistics.handshakes += 1
        self.send(ack)
        return self.register(profile, now)

    def _meet(self, profile: Profile, now: float) -> None:
        """Begin with a plugin: give back what it is owed if it is the same, else nothing."""
        self._echoes.reset(now)
        self._contact.connected = True
        self._contact.hint = ''
        self._flight.meet(now)
        self.recognize(now)

    def recognize(self, now: float) -> bool:
        """Give back what it is owed if it is the same plugin, else nothing; return whether."""
        same = self.reunion.is_same
        if same:
            self._outbox.giving.restart(now)
        else:
            self._outbox.disown()
        self.reunion = Reunion()
        return same

    def register(self, profile: Profile, now: float) -> Connected:
        """Register everything wanted, as far as the profile has it."""
        self.say(*self._registration.begin(profile, now))
        self._flight.registered(now)
        assert self._contact.game is not None
        return Connected(profile.name, self._contact.game)

    def register_again(self, now: float) -> None:
        """Register everything once more: the first time may have been lost."""
        self.say(*self._registration.repeat())
        self._flight.registered(now)
